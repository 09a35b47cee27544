# SPDX-License-Identifier: BSD-2-Clause
"""test_json_against_log - `pmem report --json` and the log of the same run say the same, call stack by call stack.

What each output promises by itself is checked while it is read: by pmem_report (live = alloc - free in
bytes and blocks, sums over call stacks are the totals, sizes add up) and by pmem_log.
"""
import copy
import pathlib
import shutil

import pytest

import pmem_log
import pmem_names
import pmem_report
import pmem_run
import pmem_tool

# Only the final snapshot, and all of it.
WHOLE = {"PMEM_CHURN_THRESH": "1000g", "PMEM_LOG_SNAPSHOT_MAX": "0", "PMEM_LOG_MAX": "0"}
SCRIPT = """
x=$(for i in $(seq 300); do echo $((i * i % 97)); done | sort -n | uniq -c | awk '{print $2}')
(read y <<<"$x"; echo $y)"""
# name -> source and compiler flags, or a program that is installed; its arguments; it runs threads
PROGRAMS = {
    "tree": (("tree.c", "-O2"), (3000, 1), False),
    "tree-8-threads": (("tree.c", "-O2"), (3000, 8), True),
    "moments": (("moments.c",), (1,), False),
    "moments-8-threads": (("moments.c",), (8,), True),
    "churn": (("churn.c",), (5000,), False),
    "edges": (("edges.c",), (), False),
    "threads-in-c++": (("threads.cpp",), (), True),
    "forks": (("forks.c",), (), False),
    "shell": ("bash", ("-c", SCRIPT), False),
}


class Pair:
    """The log and the report of one process image."""

    def __init__(self, log, report):
        self.log, self.report = log, report

    def logged(self):
        return self.log.state()

    def reported(self):
        return self.report.state()


def pairs(folder, tool):
    """Those of all images that ended with a final snapshot; an image that executes another has no such end."""
    found = []
    for paths in pmem_log.find(folder):
        log = pmem_log.parse(paths, "last")
        report = pmem_report.read(tool, pathlib.Path(paths[-1]).with_suffix(".prof"))
        assert (log.pid, log.exe) == (report.pid, report.exe)
        assert (report.process["state"] == "ended") == bool(log.last), log.paths
        if log.last:
            found.append(Pair(log, report))
    return found


@pytest.fixture(scope="module")
def ran(lib, programs, tmp_path_factory):
    """ran(name) -> the pairs of a program of PROGRAMS, which runs at the first call."""
    runner = pmem_run.Runner(lib, tmp_path_factory.mktemp("pairs"))
    tool = pmem_tool.Tool(lib, tmp_path_factory.mktemp("tool"))
    done = {}

    def run(name):
        if name not in done:
            program, arguments, _ = PROGRAMS[name]
            if isinstance(program, str):
                argv = [shutil.which(program) or pytest.skip("%s is not installed" % program)]
            else:
                argv = [programs(*program, out=name)]
            result = runner(argv + list(arguments), WHOLE)
            assert result.code == 0, result.err
            done[name] = pairs(result.folder, tool)
            assert done[name]
        return done[name]
    return run


@pytest.fixture(params=PROGRAMS)
def name(request):
    return request.param


def test_same_call_stacks_with_the_same_bytes(ran, name):
    for pair in ran(name):
        want, have = pair.logged(), pair.reported()
        assert pair.log.last.rest is None and len(pair.log.snapshots) == 1
        assert want.keys() <= have.keys()
        for key, e in want.items():
            mine = have[key]
            assert (mine.live, mine.alloc_total, mine.free_total) == (e.live, e.alloc_total, e.free_total), key
        for key in have.keys() - want.keys():
            assert have[key].alloc_total == 0, "%s has bytes, and no entry in the log" % key


def test_same_totals(ran, name):
    for pair in ran(name):
        totals, last = pair.report.totals, pair.log.last
        assert totals["live_bytes"] == last.figure("live")
        assert totals["peak_live_bytes"] == last.figure("peak")
        assert totals["alloc_bytes"] == sum(e.alloc_total for e in pair.logged().values())
        assert totals["free_bytes"] == sum(e.free_total for e in pair.logged().values())
        assert pair.report.losses["complete"]


def same_place(logged, reported):
    """A log counts from the symbol, a report from the file's beginning."""
    assert pmem_names.function(logged) == pmem_names.function(reported)
    assert pmem_names._address_in_object(logged) in (None, reported.offset - 1), (logged, reported)


def test_same_frames(ran, name):
    """Names only of the program's own functions: libraries have aliases, of which either is right."""
    for pair in ran(name):
        have = pair.reported()
        for key, e in pair.logged().items():
            mine = have[key].frames
            assert e.frames[0].symbol == mine[0].symbol, "entry point of %s" % key
            assert [(f.object, f.addr, f.mark) for f in e.frames[1:]] == [(f.object, f.addr, f.mark) for f in mine[1:]]
            for logged, reported in zip(e.frames[1:], mine[1:]):
                if logged.object == pair.log.exe and not logged.mark:
                    same_place(logged, reported)


def test_threads_add_up(ran, name):
    for pair in ran(name):
        for key in pmem_report.SUMS[2:]:
            assert sum(t[key] for t in pair.report.document["threads"]) == pair.report.totals[key], key


def test_shares_of_the_peak_add_up(ran, name):
    """To the byte if one thread allocates, else within the peak's tolerance (src/libpmem/peak.c)."""
    for pair in ran(name):
        peak, shares = pair.report.totals["peak_live_bytes"], [e.peak_bytes for e in pair.reported().values()]
        assert min(shares) >= 0
        slack = max(8192, peak >> 10) if PROGRAMS[name][2] else 0
        assert peak - slack <= sum(shares) <= peak


def test_blocks_by_size_are_shown(ran, name):
    for pair in ran(name):
        assert all(e.sizes for e in pair.reported().values() if e.alloc_blocks)


# -- programs/moments.c: (bytes and blocks live, allocations, temporary, at the peak), by thread ---------------
MOMENTS = {
    "keep": (7000, 10, 10, 0, 7000, 10),
    "fleeting": (0, 0, 500, 500, 0, 0),
    "hold": (0, 0, 40, 1, 1000000, 40),    # the last block of all is the first thing freed after it
    "late": (60000, 200, 200, 0, 0, 0),
}


@pytest.mark.parametrize("run_name,threads", [("moments", 1), ("moments-8-threads", 8)])
def test_moments_are_known(ran, run_name, threads):
    pair, = ran(run_name)
    sites = {}
    for e in pair.reported().values():
        site = pmem_names.function(e.frames[1])
        row = (e.live, e.live_blocks, e.alloc_blocks, e.temporary, e.peak_bytes, e.peak_blocks)
        sites[site] = [a + b for a, b in zip(sites.get(site, [0] * len(row)), row)]
    for site, row in MOMENTS.items():
        assert sites[site] == [threads * n for n in row], site
    # Another thread's free is no temporary allocation; alone, only the last block's is.
    assert sites["pass_on"] == [0, 0, 30 * threads, 1 if threads == 1 else 0, 0, 0]


# -- the checker itself ------------------------------------------------------------------------------------------
GOOD = {
    "totals": {"live_bytes": 3, "live_blocks": 1, "alloc_bytes": 8, "alloc_blocks": 2, "free_bytes": 5, "free_blocks": 1,
               "temporary_blocks": 1},
    "stacks": [
        {"id": "0" * 16, "live_bytes": 3, "live_blocks": 1, "alloc_bytes": 3, "alloc_blocks": 1, "free_bytes": 0,
         "free_blocks": 0, "temporary_blocks": 0, "sizes": [1] + [0] * 23},
        {"id": "1" * 16, "live_bytes": 0, "live_blocks": 0, "alloc_bytes": 5, "alloc_blocks": 1, "free_bytes": 5,
         "free_blocks": 1, "temporary_blocks": 1, "sizes": None},
    ],
}


@pytest.mark.parametrize("where,key,value,why", [
    ("totals", "live_bytes", 4, "alloc - free"), ("totals", "free_blocks", 2, "alloc - free"),
    (0, "live_blocks", 2, "alloc - free"),
    (1, "temporary_blocks", 2, "more temporary"), (1, "temporary_blocks", 0, "temporary_blocks: totals"),
    (0, "sizes", [2] + [0] * 23, "by size"), (0, "sizes", [1], "by size"), (0, "id", "1" * 16, "twice"),
])
def test_a_broken_promise_is_seen(where, key, value, why):
    pmem_report.check("x", GOOD)
    bad = copy.deepcopy(GOOD)
    (bad["totals"] if where == "totals" else bad["stacks"][where])[key] = value
    with pytest.raises(pmem_report.ReportError, match=why):
        pmem_report.check("x", bad)


def test_a_call_stack_left_out_is_seen():
    bad = copy.deepcopy(GOOD)
    del bad["stacks"][1]
    with pytest.raises(pmem_report.ReportError, match="totals say 8, call stacks 3"):
        pmem_report.check("x", bad)
    pmem_report.check("x", bad, whole=False)
