# SPDX-License-Identifier: BSD-2-Clause
"""pmem_log - strict parser of the recorder's text log (doc/LOG.md).

parse() reads the generations of one log, oldest first, and checks every rule of the format while it
reads; the first broken rule raises LogError with the file, the line and the reason.  The state of a
call stack is its last entry anywhere in the log.  A last snapshot without its "# end" line is the mark
of a process that was killed: it is dropped and Log.torn is set.  One that is cut by a "# lost" line is
dropped and counted in Log.cut; the line in front of a "# lost" line is empty or half a line.
"""
import re
from collections import namedtuple

RULER = "=" * 57

HEADER = re.compile(r"^\[ *(\d+)\]" + RULER + "$")
CHURN = re.compile(r"^churn=(\d+)/(\d+)$")
ENTRY = re.compile(r"^\{([0-9a-f]{16})\} live:(\d+), alloc:(\d+)/(\d+), free:(\d+)/(\d+)$")
FRAME = re.compile(r"^  \{(\d+)\} (.*)\(([^()\s]*)\+0x([0-9a-f]+)\) \[0x([0-9a-f]+)\]$")
MARK = re.compile(r"^  \{(\d+)\} (\[[a-z ]+\])$")
REST = re.compile(r"^# rest: (\d+) call stacks?, live (\d+), alloc (\d+)/(\d+), free (\d+)/(\d+)$")
END = re.compile(r"^# end \[ *(\d+)\]( .*)?$")
FIGURE = re.compile(r"(\w+)=(\S+)")
LOST = re.compile(r"^# lost (\d+) bytes of log here$")
MARKS = ("[truncated]", "[beyond budget]", "[signal handler]", "[unknown module]")
TOP = re.compile(r"^# pmem log of (.+), pid (\d+), start (\d{4}-\S+), version (\S+)$")

Frame = namedtuple("Frame", "object symbol offset addr mark")
Entry = namedtuple("Entry", "hash live alloc alloc_total free free_total frames")
Rest = namedtuple("Rest", "stacks live alloc alloc_total free free_total")


class LogError(Exception):
    """The log breaks its format or one of its invariants."""


class Snapshot:
    """One snapshot: its "# time" figures, its entries in the log's order, and what was left out."""

    def __init__(self, seq, figures):
        self.seq = seq
        self.figures = figures
        self.churn = self.threshold = None
        self.entries = []
        self.rest = None
        self.final = False

    def figure(self, name):
        return int(self.figures[name])

    def live_sum(self):
        return sum(e.live for e in self.entries) + (self.rest.live if self.rest else 0)


class Log:
    """All generations of one process image's log."""

    def __init__(self, paths):
        self.paths = paths
        self.exe = self.pid = self.start = None
        self.top = []       # the lines before the first snapshot, without "# "
        self.notes = []     # other # lines, e.g. losses and rotation
        self.snapshots = []
        self.torn = False
        self.cut = 0        # snapshots cut by lost text
        self.lost = 0       # bytes of it

    @property
    def last(self):
        return self.snapshots[-1] if self.snapshots else None

    def state(self):
        """The last entry of every call stack, by hash."""
        return {e.hash: e for s in self.snapshots for e in s.entries}


def _same_place(a, b):
    """A symbol may become known later, and the offset is then relative to it."""
    return (a.object, a.mark) == (b.object, b.mark) and (a.symbol != b.symbol or a.offset == b.offset)


class _Parser:
    def __init__(self, log, totals):
        self.log, self.totals = log, totals
        self.path, self.number = None, 0
        self.snapshot = self.entry = self.figures = None
        self.known = {}     # hash -> Entry
        self.frames = {}    # line -> (number, Frame): most lines come again in each snapshot
        self.skipped = False  # changes have been summed up in a "# rest"
        self.gone = False     # older generations were deleted
        self.open_end = False  # the generation before ends inside a snapshot

    def fail(self, why, line=""):
        raise LogError("%s:%d: %s%s" % (self.path, self.number, why, ": %r" % line if line else ""))

    def check(self, true, why, line=""):
        if not true:
            self.fail(why, line)

    # -- lines -----------------------------------------------------------------------------------
    def comment(self, line):
        rest, end = REST.match(line), END.match(line)
        if rest:
            self.check(self.snapshot is not None, "rest outside a snapshot", line)
            self.check(self.snapshot.rest is None, "second rest of a snapshot", line)
            self.close_entry()
            self.snapshot.rest = Rest(*map(int, rest.groups()))
        elif end:
            self.close_snapshot(int(end.group(1)), end.group(2) or "")
        elif LOST.match(line):
            self.cut_snapshot(int(LOST.match(line).group(1)))
        elif line.startswith(("# rest", "# end", "# lost")):
            self.fail("malformed line", line)
        elif line.startswith("# time="):
            self.check(self.snapshot is None, "snapshot without its end line", line)
            self.figures = self.read_figures(line)
        elif line.startswith("# pmem log of "):
            self.check(self.snapshot is None, "top line inside a snapshot", line)
            self.top_line(line)
        elif not self.log.snapshots and self.snapshot is None and self.figures is None:
            self.log.top.append(line[2:])
        else:
            self.log.notes.append(line[2:])

    def cut_snapshot(self, lost):
        if self.snapshot is not None or self.figures is not None or self.open_end:
            self.log.cut += 1
        self.snapshot = self.entry = self.figures = None
        self.open_end = False
        self.log.lost += lost

    def top_line(self, line):
        match = TOP.match(line)
        self.check(match, "malformed top line", line)
        identity = (match.group(1), int(match.group(2)), match.group(3))
        self.check(self.log.exe is None or identity == (self.log.exe, self.log.pid, self.log.start),
                   "log of two programs", line)
        self.log.exe, self.log.pid, self.log.start = identity
        self.log.top.append(line[2:])

    def read_figures(self, line):
        figures = dict(FIGURE.findall(line))
        for name in ("time", "uptime_s", "live", "peak", "rss", "own", "lost"):
            self.check(name in figures, "no %s= in" % name, line)
        self.check(re.match(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", figures["time"]), "time is not ISO 8601", line)
        float(figures["uptime_s"])
        for name in ("live", "peak", "rss", "own", "lost"):
            self.check(figures[name].isdigit(), "%s is no count" % name, line)
        self.check(int(figures["peak"]) >= int(figures["live"]), "peak below live", line)
        return figures

    def header(self, line):
        match = HEADER.match(line)
        self.check(match, "malformed snapshot header", line)
        self.check(not self.open_end, "torn snapshot before a rotation", line)
        self.check(self.figures is not None, "header without a # time line", line)
        seq = int(match.group(1))
        self.check(line.startswith("[%3u]" % seq), "sequence number is not %3u", line)
        if self.log.snapshots:
            self.check(seq == self.log.last.seq + 1, "sequence does not follow %d" % self.log.last.seq, line)
        else:
            self.gone = seq > 0
        self.snapshot, self.figures = Snapshot(seq, self.figures), None

    def begin_entry(self, line):
        match = ENTRY.match(line)
        self.check(match, "malformed entry", line)
        self.check(self.snapshot.churn is not None, "entry before churn=", line)
        self.check(self.snapshot.rest is None, "entry after rest", line)
        self.close_entry()
        self.entry = Entry(match.group(1), *map(int, match.groups()[1:]), [])

    def frame(self, line):
        self.check(self.entry is not None, "frame without an entry", line)
        known = self.frames.get(line)
        if known is None:
            known = self.frames[line] = self.read_frame(line)
        index, frame = known
        self.check(index == len(self.entry.frames), "frame number out of order", line)
        self.entry.frames.append(frame)

    def read_frame(self, line):
        match = FRAME.match(line)
        if match:
            return int(match.group(1)), Frame(match.group(2), match.group(3), int(match.group(4), 16),
                                              int(match.group(5), 16), None)
        match = MARK.match(line)
        self.check(match, "malformed frame", line)
        self.check(match.group(2) in MARKS, "unknown mark", line)
        return int(match.group(1)), Frame("", "", 0, 0, match.group(2))

    # -- ends ------------------------------------------------------------------------------------
    def close_entry(self):
        e, self.entry = self.entry, None
        if e is None:
            return
        self.check(e.frames, "entry without frames", e.hash)
        self.check(e.alloc_total - e.free_total == e.live, "alloc - free is not live", e.hash)
        self.check(e.alloc <= e.alloc_total and e.free <= e.free_total, "more than since start", e.hash)
        self.snapshot.entries.append(e)

    def follow(self, e):
        """e against what the log said about the same call stack before."""
        before = self.known.get(e.hash)
        if before is None:
            if not self.skipped and not self.gone:
                self.check(e.alloc == e.alloc_total, "first entry, yet earlier allocations", e.hash)
            return
        self.check(e.alloc_total >= before.alloc_total, "allocated bytes shrink", e.hash)
        self.check(e.free_total >= before.free_total, "freed bytes shrink", e.hash)
        if not self.skipped:
            self.check(e.alloc_total - e.alloc == before.alloc_total, "alloc: is not the difference", e.hash)
            self.check(e.free_total - e.free == before.free_total, "free: is not the difference", e.hash)
        if e.frames != before.frames:
            self.check(len(e.frames) == len(before.frames) and all(map(_same_place, e.frames, before.frames)),
                       "one hash, two stacks", e.hash)

    def close_snapshot(self, seq, tail):
        self.close_entry()
        s, self.snapshot = self.snapshot, None
        self.check(s is not None and s.seq == seq, "end of another snapshot", str(seq))
        self.check(s.churn is not None, "snapshot without churn=")
        hashes = [e.hash for e in s.entries]
        self.check(len(set(hashes)) == len(hashes), "call stack twice in one snapshot")
        for e in s.entries:
            self.follow(e)
            self.known[e.hash] = e
        self.skipped |= bool(s.rest and (s.rest.alloc or s.rest.free))
        lives = [e.live for e in s.entries]
        self.check(lives == sorted(lives, reverse=True), "entries are not sorted by live bytes")
        if s.rest and lives and s.rest.stacks:
            self.check(s.rest.alloc_total - s.rest.free_total == s.rest.live, "rest: alloc - free is not live")
        if self.totals == "all":
            self.check_total(s)
        s.final = "final" in tail
        self.log.snapshots.append(s)

    def check_total(self, s):
        want, have = s.figure("live"), s.live_sum()
        if want != have:
            raise LogError("%s: snapshot %d: live= says %d, entries and rest %d"
                           % (self.path, s.seq, want, have))

    # -- file ------------------------------------------------------------------------------------
    def line(self, line):
        if line.startswith("  ") and self.snapshot is not None:
            self.frame(line)
        elif line.startswith("#"):
            self.comment(line)
        elif line == "":
            self.close_entry()
        elif line.startswith("["):
            self.check(self.snapshot is None, "snapshot without its end line", line)
            self.header(line)
        elif self.snapshot is None:
            self.fail("text outside a snapshot", line)
        elif line.startswith("churn="):
            match = CHURN.match(line)
            self.check(match and self.snapshot.churn is None, "malformed churn", line)
            self.snapshot.churn, self.snapshot.threshold = map(int, match.groups())
        elif line.startswith("{"):
            self.begin_entry(line)
        else:
            self.fail("stray text", line)

    def file(self, path):
        self.path, self.number = str(path), 0
        with open(path, "rb") as f:
            text = f.read().decode("utf-8", "surrogateescape")
        lines = text.split("\n")
        tail = lines.pop()  # what follows the last newline
        for text_line, following in zip(lines, lines[1:] + [""]):
            self.number += 1
            if not LOST.match(following):  # else it is empty or half a line
                self.line(text_line)
        if tail or self.snapshot is not None or self.figures is not None:
            self.log.torn = True

    def next_generation(self):
        self.open_end, self.log.torn = self.log.torn, False
        self.snapshot = self.entry = self.figures = None


def parse(paths, totals="all"):
    """Reads one log; paths is a path or the generations of one log, oldest first.

    totals: "all" compares the sum of live bytes with the # time line in every snapshot, "last" in the
    last one only, "none" in none."""
    paths = [paths] if not isinstance(paths, (list, tuple)) else list(paths)
    log = Log(paths)
    parser = _Parser(log, totals)
    for path in paths:
        if path != paths[0]:
            parser.next_generation()
        parser.file(path)
    if log.exe is None:
        raise LogError("%s: no '# pmem log of' line" % paths[0])
    if totals == "last" and log.snapshots:
        parser.check_total(log.last)
    return log


def find(folder):
    """The generations of every log in folder: a list of lists of paths, oldest generation first."""
    logs = sorted((p for p in folder.glob("pmem.*.log") if not p.is_symlink()), key=lambda p: (p.stat().st_mtime_ns, p.name))
    found = []
    for path in logs:
        old = path.with_name(path.name + ".1")
        found.append([old, path] if old.exists() else [path])
    return found
