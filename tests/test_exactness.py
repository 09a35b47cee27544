# SPDX-License-Identifier: BSD-2-Clause
"""test_exactness - programs/tree.c knows its allocated and freed bytes per call path: the log agrees to the byte."""
import collections
import json
import os

import pytest

import pmem_log
import pmem_names
import pmem_run
import pmem_tool

# Only the final snapshot, and all of it: thousands of call stacks.
WHOLE = {"PMEM_CHURN_THRESH": "1000g", "PMEM_LOG_SNAPSHOT_MAX": "0", "PMEM_LOG_MAX": "0"}


def truth(text):
    """{(site, return addresses leaf first): [allocated, freed]}, added up over threads."""
    sums = collections.defaultdict(lambda: [0, 0])
    for row in json.loads(text):
        total = sums[row["site"], tuple(row["path"])]
        total[0] += row["alloc"]
        total[1] += row["free"]
    return dict(sums)


def logged(log):
    """The same from the log: of each stack with a root, the site and the addresses up to root."""
    sums = collections.defaultdict(lambda: [0, 0])
    for entry in log.state().values():
        frames = pmem_names.stack(entry)
        names = [pmem_names.function(f) for f in frames]
        if "root" in names:
            path = tuple(f.addr for f in frames[1:names.index("root") + 1])
            total = sums[names[0], path]
            total[0] += entry.alloc_total
            total[1] += entry.free_total
    return dict(sums)


def differences(want, have):
    missing = [k for k in want if k not in have]
    invented = [k for k in have if k not in want]
    unequal = [(k, want[k], have[k]) for k in want if k in have and want[k] != have[k]]
    return missing, invented, unequal


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("flags", [("-O2", "-fomit-frame-pointer"), ("-O0",), ("-O2", "-fno-omit-frame-pointer")],
                         ids=["O2", "O0", "frame-pointer"])
@pytest.mark.parametrize("repeat", range(int(os.environ.get("PMEM_TEST_REPEAT") or 1)))
def test_every_call_path_to_the_byte(run, programs, flags, threads, repeat):
    tree = programs("tree.c", *flags, out="tree" + "".join(flags))
    result = run([tree, 20000, threads], WHOLE)
    assert result.code == 0, result.err
    want, have = truth(result.out), logged(result.log_of(tree.name, "all" if threads == 1 else "last"))
    assert len(want) > 1500
    missing, invented, unequal = differences(want, have)
    assert not missing and not invented and not unequal, "%d missing, %d invented, %d unequal of %d; first: %r" % (
        len(missing), len(invented), len(unequal), len(want), (missing[:1], invented[:1], unequal[:1]))


@pytest.mark.parametrize("allocator", ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_every_call_path_over_another_allocator(run, programs, allocator):
    other = pmem_run.installed(allocator)
    if not other:
        pytest.skip("no %s here" % allocator)
    tree = programs("tree.c", "-O2", out="tree-other")
    result = run([tree, 20000, 1], {**WHOLE, "LD_PRELOAD": "%s:%s" % (run.lib, other)})
    assert result.code == 0, result.err
    assert differences(truth(result.out), logged(result.log_of(tree.name))) == ([], [], [])


def hill(run, lib, programs, tmp_path, *words):
    """(stacks of the site, totals) of the report on programs/hill.c, without the snapshots and points that put a peak right."""
    result = run([programs("hill.c", "-O1", "-g", "-pthread"), *words], {"PMEM_LOG": "0", "PMEM_TIMELINE_MS": "0"})
    assert result.code == 0, result.err
    report = json.loads(pmem_tool.Tool(lib, tmp_path)("report", "--json", *result.folder.glob("*.prof")).stdout)
    return [s for s in report["stacks"] if any(f["function"] == "climb" for f in s["frames"])], report["totals"]


@pytest.mark.parametrize("size", [24, 1000])
def test_the_peak_to_the_byte(run, lib, programs, tmp_path, size):
    (climb,), totals = hill(run, lib, programs, tmp_path, 10007, size)
    assert (climb["peak_bytes"], climb["peak_blocks"]) == (10007 * size, 10007)
    assert totals["peak_live_bytes"] == 10007 * (size + 8)


def test_the_peak_of_threads_is_never_too_low_and_hardly_too_high(run, lib, programs, tmp_path):
    """The reported one lies in [true, true + 1/1024] (peak.h)."""
    threads, count, size = 4, 10007, 1000
    climbs, totals = hill(run, lib, programs, tmp_path, count, size, threads)
    least = threads * count * (size + 8)
    assert least <= totals["peak_live_bytes"] <= least * (1 + 1 / 512) + 8192
    assert sum(s["peak_bytes"] for s in climbs) >= threads * count * size * 1023 // 1024


def test_many_snapshots_agree_with_one(run, programs):
    """The same program with and without intermediate snapshots: the same last state of every call stack."""
    tree = programs("tree.c", "-O2", out="tree-snapshots")
    often = dict(WHOLE, PMEM_CHURN_THRESH="25m", PMEM_SNAPSHOT_SHARE="1000", PMEM_LOG_RATE="0")
    result = run([tree, 20000, 1], often)
    log = result.log_of(tree.name)
    assert len(log.snapshots) > 3
    assert differences(truth(result.out), logged(log)) == ([], [], [])


def test_hashes_are_equal_across_runs(run, programs):
    """Address-space randomization moves everything; the hash of a call stack stays."""
    tree = programs("tree.c", "-O2", out="tree-hashes")
    states = []
    for _ in range(2):
        log = run([tree, 2000, 1], WHOLE).log_of(tree.name)
        states.append({e.hash: (e.live, e.alloc_total) for e in log.state().values()
                       if any(pmem_names.function(f) == "root" for f in e.frames)})
    assert states[0] and states[0] == states[1]


def test_the_truth_program_is_consistent(programs):
    """Bare: the addresses it prints lie in its own functions and nothing is freed twice."""
    import subprocess
    tree = programs("tree.c", "-O2", out="tree-bare")
    rows = json.loads(subprocess.run([tree, "2000", "8"], capture_output=True, check=True).stdout)
    assert {r["site"] for r in rows} == {"take_malloc", "take_calloc", "take_aligned", "take_realloc"}
    assert all(r["alloc"] >= r["free"] for r in rows) and any(r["free"] for r in rows)
    assert pmem_log.FRAME.match("  {0} %s(root+0x1) [0x%x]" % (tree, rows[0]["path"][0]))
