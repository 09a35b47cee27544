# SPDX-License-Identifier: BSD-2-Clause
"""test_thread_sizes - threads that allocate blocks of many sizes at the same places: the sizes are exact, of a process that runs, in a
bundle made of it, after its end and after SIGKILL.
"""
import json

import pytest

import pmem_report
import pmem_run
import pmem_tool

THREADS = [1, 2, 9]
COUNT = 30000
OVER_TIME = ("samples", "growth_bytes", "growth_over_ns")  # the last point may come in between


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


@pytest.fixture(params=THREADS)
def process(request, begun, programs):
    made = begun(programs("thread_sizes.c"), request.param, COUNT)
    made.truth = json.loads(made.stdout.readline())
    made.threads = request.param
    return made


def sizes(report):
    """By function, the number of blocks of each class."""
    found = {"at_one": [0] * 24, "at_other": [0] * 24}
    for stack in report.document["stacks"]:
        function = stack["frames"][0].symbol
        if function in found:
            found[function] = [a + b for a, b in zip(found[function], stack["sizes"])]
    return found


def profile_of(process):
    path, = pmem_report.find(process.folder)
    return path


def test_of_a_process_that_runs(tool, process):
    assert sum(map(sum, process.truth.values())) == process.threads * COUNT
    assert sizes(pmem_report.read(tool, process.pid)) == process.truth


def test_after_its_end(tool, process):
    process.stdin.close()
    assert process.wait() == 0
    assert sizes(pmem_report.read(tool, profile_of(process))) == process.truth


def test_after_it_was_killed(tool, process):
    process.kill()
    process.wait()
    assert sizes(pmem_report.read(tool, profile_of(process))) == process.truth


def test_a_bundle_of_a_process_that_runs_has_all_of_it(tool, process, tmp_path):
    bundle = tmp_path / "made.bundle"
    done = tool("bundle", "-o", bundle, process.pid)
    assert done.returncode == 0, done.stderr
    mine, now = pmem_report.read(tool, bundle).document, pmem_report.read(tool, process.pid).document
    assert mine["losses"]["damage_count"] == 0
    for document in (mine, now):
        for stack in document["stacks"] + document["mappings"]["stacks"]:
            for key in OVER_TIME:
                stack.pop(key, None)
    for key in ("totals", "stacks", "failures", "mappings", "advice"):
        assert mine[key] == now[key], key
    assert now["failures"]["count"] == 1 and now["mappings"]["mapped_bytes"] == 123 * 4096


def test_a_bundle_of_a_busy_process_is_whole(run, tool, programs, tmp_path):
    process = run.start([programs("thread_sizes.c"), 4, 10**10], env={"PMEM_LOG": "0"})
    try:
        pmem_run.wait_for(lambda: list(process.folder.glob("*.prof")), "a profile")
        for i in range(10):
            bundle = tmp_path / ("%d.bundle" % i)
            done = tool("bundle", "-o", bundle, process.pid)
            assert done.returncode == 0, done.stderr
            found = pmem_report.read(tool, bundle)
            assert found.losses["damage_count"] == 0, found.losses
    finally:
        process.kill()
        process.wait()
