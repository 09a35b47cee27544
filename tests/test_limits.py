# SPDX-License-Identifier: BSD-2-Clause
"""test_limits - what the recorder takes of addresses, disk and limits, and what it says where it gets nothing."""
import os
import pathlib
import resource

import pytest

import pmem_log
import pmem_report
import pmem_run
import pmem_tool

CHILDREN = 5
STACKS = 4096
BLOCK = 100
KIB = 1024
DATA = 128 << 20

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def taken(path):
    """Bytes of disk."""
    return path.stat().st_blocks * 512


def live(report, function):
    return sum(e.live for e in report.state().values() if any(function in f.symbol for f in e.frames))


# -- disk -------------------------------------------------------------------------------------------------

def test_a_child_with_one_event_leaves_a_small_profile(run, tool, programs):
    mine = run.both([programs("limits.c"), "children", CHILDREN])
    profiles = [p for p in pathlib.Path(mine.folder).iterdir() if p.suffix == ".prof"]
    assert len(profiles) == CHILDREN + 1
    reports = {path: pmem_report.read(tool, path) for path in profiles}
    assert [live(r, "child_keeps") for r in reports.values()].count(BLOCK) == CHILDREN
    for path, report in reports.items():
        assert report.losses["complete"] and report.losses["damage_count"] == 0 and report.process["state"] == "ended"
        assert taken(path) <= 80 * KIB, path


def test_a_profile_that_grew_is_whole_after_its_end(run, tool, programs):
    mine = run.both([programs("limits.c"), "stacks"], {"PMEM_LOG": "0"})
    path, = pmem_report.find(mine.folder)
    report = pmem_report.read(tool, path)
    assert live(report, "keep") == STACKS * BLOCK and report.losses["complete"] and report.losses["damage_count"] == 0


# -- limits -----------------------------------------------------------------------------------------------

def inject(run, programs, words, env=None, **options):
    """Calls of the recorder fail: see inject.c."""
    folder = run.folder("inject")
    mine = run([programs("inject.c"), folder.parent / (folder.name + ".report"), *words], {"INJECT_PRELOAD": run.lib, **(env or {})},
               lib=False, folder=folder, **options)
    if mine.code == 99:
        pytest.skip("ptrace is not permitted here")
    return mine


@pytest.mark.parametrize("number", [1, 2, 5, 10])
@pytest.mark.parametrize("limit", [0, 100000, 262144])
def test_a_file_size_limit_that_may_not_be_asked_for_is_kept(run, programs, limit, number):
    """SIGXFSZ would end the program."""
    words = ["fail-from", "prlimit64", "1", number, programs("limits.c"), "fsize", limit, "stacks"]
    mine = inject(run, programs, words, {"PMEM_CHURN_THRESH": "20k", "PMEM_SNAPSHOT_SHARE": "1000", "PMEM_LOG_RATE": "0"})
    assert mine.code == 0, mine.err


def test_where_no_limit_may_be_asked_for_no_file_is_made(run, programs):
    words = ["fail-all", "1", "1", programs("limits.c"), "fsize", "0", "stacks"]
    assert inject(run, programs, words).code == 0


def sizes(run, programs, lib):
    return [int(n) for n in run([programs("limits.c"), "size"], lib=lib).out.split()]


def test_few_addresses_are_taken(run, programs):
    bare, mine = sizes(run, programs, False), sizes(run, programs, True)
    assert mine[0] - bare[0] <= 29 * KIB and mine[1] - bare[1] <= 29 * KIB


@pytest.mark.parametrize("how", ["from the start", "by itself"])
def test_a_data_limit_leaves_the_program_its_memory(run, tool, programs, how):
    """The limit counts private writable maps: of ours, once it is there, only small ones are that."""
    def blocks(lib):
        options = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_DATA, (DATA, DATA))} if how == "from the start" else {}
        return run([programs("limits.c"), "data", DATA], {"PMEM_LAST_WORDS": "0"}, lib=lib, **options)
    bare, mine = blocks(False), blocks(True)
    assert (bare.code, mine.code, mine.err) == (0, 0, b"")
    # Of 1 MiB each.  What was mapped before the program set a limit counts: 16 MiB of the live table's upper level, 8 of its first part.
    assert int(bare.out) - int(mine.out) <= (6 if how == "from the start" else 30)
    report = pmem_report.read(tool, pmem_report.find(mine.folder)[0])
    assert report.losses["complete"] and report.totals["alloc_blocks"] >= int(mine.out)


# -- what others see --------------------------------------------------------------------------------------

def test_an_executed_program_inherits_nothing_but_the_variable(run, tmp_path):
    """Descriptors, maps and variables of a program that a recorded one executes without the library."""
    script = "unset LD_PRELOAD; exec /bin/sh -c 'env; ls -l /proc/self/fd; cat /proc/self/maps'"
    mine = run(["/bin/sh", "-c", script])
    assert mine.code == 0 and b"libpmem" not in mine.out and b"pmem." not in mine.out
    assert not [line for line in mine.out.decode().splitlines() if line.startswith("PMEM")]


def shared_memory():
    return {p.name for p in pathlib.Path("/dev/shm").iterdir()} if os.path.isdir("/dev/shm") else set()


def test_nothing_is_left_but_profiles_and_logs(run, programs, tmp_path):
    before = shared_memory()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    mine = run.both([programs("limits.c"), "children", 3], {"TMPDIR": str(temporary)})
    assert list(temporary.iterdir()) == []
    names = sorted(p.name for p in pathlib.Path(mine.folder).iterdir())
    assert len(names) == 8 and all(n.startswith("pmem.") and n.endswith((".log", ".prof")) for n in names)
    assert not [n for n in shared_memory() - before if "pmem" in n]


# -- where nothing can be written -------------------------------------------------------------------------

@root_only
def test_children_that_can_write_nowhere_are_counted_by_their_parent(run, tool, programs):
    mine = run.both([programs("limits.c"), "lost"], {"TMPDIR": ""})
    path, = pmem_report.find(mine.folder)
    report = pmem_report.read(tool, path)
    assert report.losses["children"] == 3 and live(report, "parent_keeps") == 10 * BLOCK
    assert b"3 forked children without a profile" in b" ".join(tool("report", path).stdout.split())
    log, = pmem_log.find(mine.folder)
    assert pmem_log.parse(log).last.figure("children") == 3
