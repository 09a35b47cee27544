# SPDX-License-Identifier: BSD-2-Clause
"""test_log_rate - the text of a program that does little but allocate is bounded by time, and exact all the same."""
import re
import subprocess

import pytest

import pmem_log
import pmem_run

RATE, CREDIT = 256 * 1024, 1 << 20
OFTEN = {"PMEM_CHURN_THRESH": "128k", "PMEM_SNAPSHOT_SHARE": "1000"}


@pytest.fixture(scope="module")
def factor(root, tmp_path_factory):
    """150 MB allocated and freed in 0.3 s."""
    program = tmp_path_factory.mktemp("bench") / "factor"
    subprocess.run(["gcc", "-O2", "-o", program, root / "bench" / "factor.c", "-lpthread"], check=True)
    return program


@pytest.fixture(scope="module")
def unbounded(lib, factor, tmp_path_factory):
    """Of as many snapshots as are due."""
    run = pmem_run.Runner(lib, tmp_path_factory.mktemp("unbounded"))
    return run([factor], dict(OFTEN, PMEM_LOG_RATE="0"))


def figures(log):
    return {h: (e.live, e.alloc_total, e.free_total) for h, e in log.state().items()}


def assert_exact(log, unbounded):
    """It says the same at its end as a log of many snapshots, and each byte is in the differences of one snapshot."""
    assert figures(log) == figures(unbounded)
    assert not log.torn and log.lost == 0
    for of_entry, total in ((lambda e: e.alloc, "alloc_total"), (lambda e: e.free, "free_total")):
        assert sum(of_entry(e) for s in log.snapshots for e in s.entries) == sum(getattr(e, total) for e in log.state().values())
    assert sum(s.churn for s in log.snapshots) == sum(e.alloc_total + e.free_total for e in log.state().values())


def assert_in_time(folder):
    """No snapshot but the last was begun before there was time for the text of those before.  Returns how many there are."""
    ((path,),) = pmem_log.find(folder)
    snapshots = path.read_bytes().split(b"# time=")[1:]
    written = 0
    for text in snapshots[:-1]:
        uptime_s = float(re.search(rb" uptime_s=([0-9.]+) ", text)[1]) + 0.001
        assert written <= CREDIT + RATE * uptime_s
        written += len(b"# time=" + text)
    return len(snapshots)


def test_a_malloc_bound_program_leaves_two_megabytes(run, factor, unbounded):
    result = run([factor])
    log = result.log_of("factor")
    assert_in_time(result.folder)
    assert_exact(log, unbounded.log_of("factor"))
    # As long as it takes no more than 2 s.
    assert float(log.last.figures["uptime_s"]) > 2 or sum(path.stat().st_size for path in result.folder.iterdir()) <= 2000000


def test_snapshots_that_are_due_wait_for_their_time(run, factor, unbounded):
    result = run([factor], OFTEN)
    log = result.log_of("factor")
    count = assert_in_time(result.folder)
    assert count == len(log.snapshots) < len(unbounded.log_of("factor").snapshots) / 2
    assert max(s.churn for s in log.snapshots) > 2 * 128 * 1024
    assert {s.churn >> 10 for s in log.snapshots[:20]} == {128}, "the first ones come as they are due"
    assert_exact(log, unbounded.log_of("factor"))


def test_at_rate_0_all_are_taken_that_are_due(unbounded):
    log = unbounded.log_of("factor")
    assert {s.churn >> 10 for s in log.snapshots[:-1]} == {128}
    assert sum(path.stat().st_size for path in unbounded.folder.glob("*.log")) > 5 * CREDIT
    assert_exact(log, log)
