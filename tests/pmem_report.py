# SPDX-License-Identifier: BSD-2-Clause
"""pmem_report - what `pmem report --json` says of a profile, in the terms of pmem_log.

read() runs the tool and checks what doc/JSON.md promises of every output; the first broken promise
raises ReportError.  Entries have the names of pmem_log's, and what a log does not hold beside them.
Frame 0 is the allocator's function, as in a log; names are those of the tool, demangled.  Offsets are
those of the module's file, whether or not there is a name.
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


class Report:
    """The whole output for one profile: .document as it is, the rest as tests ask for it."""

    def __init__(self, path, document):
        self.paths = [str(path)]
        self.document = document
        self.process, self.totals, self.losses = (document[k] for k in ("process", "totals", "losses"))
        self.exe, self.pid, self.start = (self.process[k] for k in ("exe", "pid", "start"))
        self._state, self._frames = None, {}

    def state(self):
        """The entry of every call stack, by hash."""
        if self._state is None:
            self._state = {s["id"]: self._entry(s) for s in self.document["stacks"]}
        return self._state

    def _entry(self, stack):
        entry = pmem_log.Frame("libpmem.so", stack["entry"] or "", 0, 0, None)
        return Entry(stack["id"], stack["live_bytes"], stack["alloc_bytes"], stack["free_bytes"],
                     [entry] + [self._frame(f) for f in stack["frames"]], stack["live_blocks"], stack["alloc_blocks"],
                     stack["free_blocks"], stack["peak_bytes"], stack["peak_blocks"], stack["temporary_blocks"],
                     stack["sizes"], stack["inexact"])

    def _frame(self, frame):
        key = frame["module"], frame["offset"], frame["function"]
        if key not in self._frames:
            mark = frame["function"] if frame["offset"] is None else None
            self._frames[key] = pmem_log.Frame(frame["module"] or "", "" if mark else frame["function"] or "",
                                               frame["offset"] or 0, frame["address"] or 0, mark)
        return self._frames[key]


def _require(true, path, what):
    if not true:
        raise ReportError("%s: %s" % (path, what))


def check(path, document):
    """The promises about sums, in any state of the process."""
    stacks, totals = document["stacks"], document["totals"]
    for row in [totals] + stacks:
        for unit in ("bytes", "blocks"):
            _require(row["live_" + unit] == row["alloc_" + unit] - row["free_" + unit], path,
                     "live is not alloc - free: %s %s" % (row.get("id", "totals"), unit))
        _require(row["free_blocks"] >= row["temporary_blocks"], path, "more temporary than freed")
    for key in SUMS:
        have = sum(s[key] for s in stacks)
        _require(have == totals[key], path, "%s: totals say %d, call stacks %d" % (key, totals[key], have))
    _require(len({s["id"] for s in stacks}) == len(stacks), path, "call stack twice")
    for stack in stacks:
        if stack["sizes"] is not None:
            _require(len(stack["sizes"]) == 24 and sum(stack["sizes"]) == stack["alloc_blocks"], path,
                     "%s: %d blocks by size, %d allocated" % (stack["id"], sum(stack["sizes"]), stack["alloc_blocks"]))


def read(tool, path):
    done = tool("report", "--json", path)
    _require(done.returncode == 0 and not done.stderr, path, done.stderr[-2000:])
    document = json.loads(done.stdout)
    _require(document["schema"] == 1, path, "schema %r" % document["schema"])
    check(path, document)
    return Report(path, document)


def find(folder):
    return sorted(p for p in pathlib.Path(folder).glob("*.prof") if not p.is_symlink())
