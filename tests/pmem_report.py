# SPDX-License-Identifier: BSD-2-Clause
"""pmem_report - what `pmem report --json` says of a profile, in the terms of pmem_log.

read() runs the tool and checks what doc/JSON.md promises of every output; the first broken promise
raises ReportError.  Entries have the names of pmem_log's, and what a log does not hold beside them.
Frames are the physical ones: inlined functions are left out.  Frame 0 is the allocator's function, as in a log; names are those of the tool, demangled.  Offsets are
those of the module's file, whether or not there is a name.

The output of a large profile is hundreds of megabytes: frames become shared tuples while it is parsed.
"""
import json
import pathlib
from collections import namedtuple

import pmem_log

Entry = namedtuple("Entry", "hash live alloc_total free_total frames live_blocks alloc_blocks free_blocks peak_bytes "
                            "peak_blocks temporary sizes inexact")
SUMS = ("live_bytes", "live_blocks", "alloc_bytes", "alloc_blocks", "free_bytes", "free_blocks", "temporary_blocks")


class ReportError(Exception):
    """The tool failed, or its output breaks a promise."""


class _Frames:
    """Hook of the JSON parser: the objects of frames become pmem_log.Frame."""

    def __init__(self):
        self.known = {}

    def __call__(self, row):
        if "raw_name" not in row:
            return row
        if row.get("inlined"):
            return None
        key = row["module"], row["offset"], row["function"]
        if key not in self.known:
            mark = row["function"] if row["offset"] is None else None
            self.known[key] = pmem_log.Frame(row["module"] or "", "" if mark else row["function"] or "",
                                             row["offset"] or 0, row["address"] or 0, mark)
        return self.known[key]


class Report:
    """The output for one profile: .document as parsed, the rest as tests ask for it."""

    def __init__(self, path, document):
        self.paths = [str(path)]
        self.document = document
        self.process, self.totals, self.losses = (document[k] for k in ("process", "totals", "losses"))
        self.exe, self.pid, self.start = (self.process[k] for k in ("exe", "pid", "start"))
        self._state = None

    def state(self):
        """The entry of every call stack, by hash."""
        if self._state is None:
            self._state = {s["id"]: _entry(s) for s in self.document["stacks"]}
        return self._state


def _entry(stack):
    entry = pmem_log.Frame("libpmem.so", stack["entry"] or "", 0, 0, None)
    return Entry(stack["id"], stack["live_bytes"], stack["alloc_bytes"], stack["free_bytes"],
                 [entry] + stack["frames"], stack["live_blocks"], stack["alloc_blocks"], stack["free_blocks"], stack["peak_bytes"],
                 stack["peak_blocks"], stack["temporary_blocks"], stack["sizes"], stack["inexact"])


def _require(true, path, what):
    if not true:
        raise ReportError("%s: %s" % (path, what))


def _check_row(path, row, label):
    for unit in ("bytes", "blocks"):
        _require(row["live_" + unit] == row["alloc_" + unit] - row["free_" + unit], path,
                 "%s: live_%s is not alloc - free" % (label, unit))
    _require(row["free_blocks"] >= row["temporary_blocks"], path, "%s: more temporary than freed" % label)


def _check_stack(path, stack):
    _check_row(path, stack, stack["id"])
    sizes = stack["sizes"]
    if sizes is not None:
        _require(len(sizes) == 24 and sum(sizes) == stack["alloc_blocks"], path,
                 "%s: %d blocks by size, %d allocated" % (stack["id"], sum(sizes), stack["alloc_blocks"]))


def check(path, document, whole=True):
    """The promises about figures, in any state of the process; whole: no call stack was left out."""
    stacks, totals = document["stacks"], document["totals"]
    _check_row(path, totals, "totals")
    for stack in stacks:
        _check_stack(path, stack)
    for key in SUMS:
        have = sum(s[key] for s in stacks)
        _require(have == totals[key] or not whole and have < totals[key], path,
                 "%s: totals say %d, call stacks %d" % (key, totals[key], have))
    _require(len({s["id"] for s in stacks}) == len(stacks), path, "call stack twice")


def read(tool, path, *focus):
    """The report on a profile; with patterns of --focus only of the call stacks that they choose."""
    done = tool("report", "--json", *("--focus=" + f for f in focus), path)
    _require(done.returncode == 0 and not done.stderr, path, done.stderr[-2000:])
    document = json.loads(done.stdout, object_hook=_Frames())
    for stack in document["stacks"]:
        stack["frames"] = [f for f in stack["frames"] if f]
    _require(document["schema"] == 1, path, "schema %r" % document["schema"])
    check(path, document, whole=not focus)
    return Report(path, document)


def find(folder):
    return sorted(p for p in pathlib.Path(folder).glob("*.prof") if not p.is_symlink())
