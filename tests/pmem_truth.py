# SPDX-License-Identifier: BSD-2-Clause
"""pmem_truth - the truth blocks of tests/cases/*/expect.md, and what a log or a report says about them.

A block line is [SELECTOR] SUBJECT NAME key=value...; every key becomes one Claim.  Claims about bytes are
asked of the log and of the profile's report, the others of the report only: sources() tells.  Nothing
answers those in LATER.  An unknown word anywhere is an error, never ignored.
"""
import collections
import functools
import re

import pmem_names

# key -> the issue that brings an answer
LATER = {
    "mmap_live_of_program": "issue 7: mappings made by the program itself are not heap (optional in the case)",
}
LOG, PROFILE = "log", "profile"
# What a log has no word for: it holds bytes, of the last moment.
PROFILE_ONLY = {"live_blocks", "calls", "blocks", "temp", "at_peak_bytes", "at_peak_blocks"}
# key of a claim about call stacks -> field of their entries
FIELDS = {
    "live_bytes": "live", "bytes": "alloc_total", "live_blocks": "live_blocks", "calls": "alloc_blocks",
    "temp": "temporary", "at_peak_bytes": "peak_bytes", "at_peak_blocks": "peak_blocks",
}
SUBJECTS = ("site", "caller", "stack")
KEYS = {"live_bytes", "bytes", "live_blocks", "calls", "temp"}
FLAGS = {"preload-only"}

# silent: a site without bytes, of which the log has no entry (doc/LOG.md); the profile has one
Claim = collections.namedtuple("Claim", "selector subject name key low high text silent")


class TruthError(Exception):
    """A truth block that this checker does not understand."""


def _range(value, text):
    match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", value)
    if not match:
        raise TruthError("no number or range: %r in %r" % (value, text))
    low = int(match.group(1))
    return low, int(match.group(2)) if match.group(2) else low


def _pairs(words, allowed, text):
    for word in words:
        if word in FLAGS:
            continue
        key, eq, value = word.partition("=")
        if not eq or key not in allowed:
            raise TruthError("unknown key %r in %r" % (word, text))
        yield (key,) + _range(value, text)


def _selector(words, text):
    if words[0] not in ("proc", "image", "run"):
        return None, words
    if len(words) < 4 or (words[0] != "proc" and not words[1].isdigit()):
        raise TruthError("malformed selector in %r" % text)
    return (words[0], words[1]), words[2:]


def _line(text):
    selector, words = _selector(text.split(), text)
    subject = words[0]
    if subject in SUBJECTS:
        silent = "bytes=0" in words
        for key, low, high in _pairs(words[2:], KEYS, text):
            yield Claim(selector, subject, words[1], key, low, high, text, silent)
    elif subject == "at_peak":
        for key, low, high in _pairs(words[2:], {"bytes", "blocks"}, text):
            yield Claim(selector, "site", words[1], "at_peak_" + key, low, high, text, False)
    elif subject == "live_total_of_program":
        for key, low, high in _pairs(words[1:], {"bytes", "blocks"}, text):
            yield Claim(selector, subject, "", key, low, high, text, False)
    elif subject.startswith("peak_bytes="):
        pairs = dict((k, v) for k, v, _ in _pairs(words, {"peak_bytes", "tolerance"}, text))
        low, slack = pairs["peak_bytes"], pairs.get("tolerance", 0)
        yield Claim(selector, "peak_bytes", "", "peak_bytes", low - slack, low + slack, text, False)
    elif subject.startswith("distinct_call_sites="):
        (_, low, high), = _pairs(words, {"distinct_call_sites"}, text)
        yield Claim(selector, "distinct_call_sites", "", "distinct_call_sites", low, high, text, False)
    elif subject == "blocks_of_size":
        (_, low, _), = _pairs(words[2:], {"live"}, text)
        size = int(words[1])
        yield Claim(selector, subject, words[1], "live", low * size, low * size, text, False)
    elif subject == "mmap_live_of_program" and words[-1] == "optional":
        (_, low, high), = _pairs(words[1:-1], {"bytes"}, text)
        yield Claim(selector, subject, "", "mmap_live_of_program", low, high, text, False)
    else:
        raise TruthError("unknown line %r" % text)


def read(expect):
    """All claims of an expect.md text, in order."""
    blocks = re.findall(r"^```truth\n(.*?)^```$", expect, re.M | re.S)
    lines = [l for b in blocks for l in b.splitlines() if l.strip()]
    return [claim for line in lines for claim in _line(line)]


def sources(claim):
    """Who must confirm the claim: LOG, PROFILE, both or, with an issue in LATER, none."""
    if claim.key in LATER:
        return ()
    return (PROFILE,) if claim.key in PROFILE_ONLY else (LOG, PROFILE)


class View:
    """The final state of one log or report, asked in the words of the truth blocks."""

    def __init__(self, source):
        self.source = source  # a pmem_log.Log or pmem_report.Report
        self.entries = [(e, pmem_names.stack(e)) for e in source.state().values()]

    @functools.cached_property
    def sites(self):
        """Function that calls the allocator -> its entries."""
        found = collections.defaultdict(list)
        for e, frames in self.entries:
            found[pmem_names.function(frames[0])].append(e)
        return found

    def site(self, name):
        return self.sites.get(name, [])

    def caller(self, name):
        found = [e for e, frames in self.entries
                 if any(pmem_names.function(f) == name and not pmem_names.is_runtime(f) for f in frames)]
        return found or [e for e, frames in self.entries
                         if any(name in self.inlined(f) for f in frames if self.is_own(f))]

    def stack(self, path):
        names = re.split(r"[;>]+", path)
        return [e for e, frames in self.entries if self.below(frames, names[0]) == names]

    @staticmethod
    def below(frames, root):
        """Function names from the outermost root down to the leaf."""
        names = [pmem_names.function(f) for f in reversed(frames)]
        return names[names.index(root):] if root in names else None

    @staticmethod
    def inlined(frame):
        return pmem_names.inlined(frame)

    @functools.cached_property
    def program_entries(self):
        """Call stacks whose site lies in the program itself, not in libc or the loader."""
        return [(e, f) for e, f in self.entries if self.is_own(f[0])]

    def is_own(self, frame):
        return frame.object == self.source.exe

    def foreign(self):
        """Call stacks through a foreign-function call."""
        return [e for e, frames in self.entries
                if any("ffi" in f.object or "ctypes" in f.object or "ffi" in f.symbol for f in frames)]

    def value(self, claim):
        """What the source says; None if it knows nothing of the subject."""
        if claim.subject in SUBJECTS:
            entries = getattr(self, claim.subject)(claim.name)
            if not entries:
                return self.of_nothing(claim)
            return sum(getattr(e, FIELDS[claim.key]) for e in entries)
        if claim.subject == "live_total_of_program":
            field = "live" if claim.key == "bytes" else "live_blocks"
            return sum(getattr(e, field) for e, _ in self.program_entries)
        if claim.subject == "distinct_call_sites":
            return len({(f[0].object, f[0].symbol, f[0].offset) for _, f in self.program_entries})
        if claim.subject == "peak_bytes":
            return self.peak()
        if claim.subject == "blocks_of_size":
            return self.blocks_of_size(int(claim.name))
        raise TruthError("no way to check %r" % (claim,))

    def holds(self, claim):
        value = self.value(claim)
        return value is not None and claim.low <= value <= claim.high


class LogView(View):
    """A log: bytes only."""

    @staticmethod
    def of_nothing(claim):
        return 0 if claim.silent else None

    def peak(self):
        return self.source.last.figure("peak") if self.source.last else None

    def rss(self):
        return [s.figure("rss") for s in self.source.snapshots]

    def stale_blocks(self):
        return int(self.source.last.figures.get("stale_blocks", 0))

    def blocks_of_size(self, size):
        """Live bytes of the foreign call stacks that may hold whole blocks of size."""
        return sum(e.live for e in self.foreign() if e.live % size == 0)


class ReportView(View):
    """A report on a profile: it knows every key."""

    @staticmethod
    def of_nothing(claim):
        return None

    @staticmethod
    def inlined(frame):
        return pmem_names.inlined(frame._replace(symbol=""))  # the offset is the file's already

    def peak(self):
        return self.source.totals["peak_live_bytes"]

    def rss(self):
        return [p["rss_bytes"] for p in self.source.document["timeline"] if p["rss_bytes"] is not None]

    def stale_blocks(self):
        return self.source.losses["stale_blocks"]

    def blocks_of_size(self, size):
        """Live bytes of the foreign call stacks whose live blocks have size on average."""
        return sum(e.live for e in self.foreign() if e.live_blocks and e.live == e.live_blocks * size)
