# SPDX-License-Identifier: BSD-2-Clause
"""test_forks - forks where a recorder is easily taken in (tests/programs/forked.c, unoptimized: each call stack is new)."""
import pmem_log


def live(log, function):
    return sum(e.live for e in log.state().values() if any(f.symbol == function for f in e.frames))


def logs_in(folder):
    return [pmem_log.parse(paths) for paths in pmem_log.find(folder)]


def test_a_child_whose_parent_had_only_loader_events_is_a_process_of_its_own(run, programs):
    result = run([programs("forked.c", "-O0", "-pthread"), "quiet"])
    assert result.code == 0
    logs = logs_in(result.folder)
    assert len(logs) == 2
    assert sorted(live(log, "child_keeps") for log in logs) == [0, 1000 * 1000]


def test_a_child_forked_by_a_handler_inside_the_recorder_goes_on(run, programs):
    result = run([programs("forked.c", "-O0", "-pthread"), "handler"])
    assert (result.code, result.out) == (0, b"0\n")


def test_a_vfork_child_in_a_sandbox_does_not_end_the_log(run, programs):
    result = run([programs("forked.c", "-O0", "-pthread"), "sandbox"])
    assert result.code == 0
    assert live(result.log_of("forked"), "parent_keeps") == 5000000
