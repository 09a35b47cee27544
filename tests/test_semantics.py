# SPDX-License-Identifier: BSD-2-Clause
"""test_semantics - the malloc family does the same with the library as without it: random sequences of all calls.

programs/differ.c and programs/news.cpp print what they observed, as digests, and what they allocated and freed at each of their
functions.  The outputs of both runs are equal to the byte; log and report agree with the sums to the byte.

PMEM_TEST_DIFFER_OPERATIONS: how many operations all settings of glibc together run (default 1,000,000).
"""
import collections
import os

import pytest

import pmem_names
import pmem_report
import pmem_run
import pmem_tool

OPERATIONS = int(os.environ.get("PMEM_TEST_DIFFER_OPERATIONS") or 1000000)
SEEDS = [int(s) for s in (os.environ.get("PMEM_TEST_DIFFER_SEEDS") or "1").split(",")]
# The whole truth is in the final snapshot; no other is needed.
WHOLE = {"PMEM_CHURN_THRESH": "1000g", "PMEM_LOG_SNAPSHOT_MAX": "0", "PMEM_LOG_MAX": "0"}
NO_CACHE = "glibc.malloc.tcache_count=0"

Setting = collections.namedtuple("Setting", "name share options env")
GLIBC = [
    Setting("alone", 0.25, "", {}),
    Setting("threads-in-turn", 0.15, "threads=4", {}),
    Setting("threads-at-once", 0.15, "threads=4 turns=0 usable=0", {}),
    Setting("odd-alignments", 0.1, "far=1 usable=0", {}),
    Setting("born-past-the-hooks", 0.05, "odd=1", {}),
    Setting("freed-past-the-hooks", 0.05, "odd=2", {}),
    Setting("threads-freed-past-the-hooks", 0.05, "odd=2 threads=4 turns=0 usable=0", {}),
    Setting("one-arena", 0.05, "threads=4", {"MALLOC_ARENA_MAX": "1"}),
    Setting("top-pad", 0.04, "", {"MALLOC_TOP_PAD_": "1234567"}),
    Setting("no-cache", 0.04, "", {"GLIBC_TUNABLES": NO_CACHE}),
    Setting("perturb", 0.04, "fresh=170", {"GLIBC_TUNABLES": NO_CACHE + ":glibc.malloc.perturb=85"}),
    Setting("perturb-by-mallopt", 0.03, "fresh=90 perturb=165", {"GLIBC_TUNABLES": NO_CACHE}),
]
ALLOCATORS = ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"]
# Requests below 9 bytes are raised: their usable sizes differ.  pvalloc() is not every allocator's.
OTHERS = [
    Setting("usable", 0.02, "least=9 far=-1", {}),
    Setting("small", 0.02, "far=-1 usable=0", {}),
    Setting("small-threads", 0.02, "far=-1 usable=0 threads=4 turns=0", {}),
]


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def by_function(view):
    """{the program's innermost function: its entries}"""
    found = collections.defaultdict(list)
    for entry in view.state().values():
        own = [f for f in entry.frames if f.object == view.exe]
        if own:
            found[pmem_names.function(own[0])].append(entry)
    return found


def sums(entries):
    return sum(e.alloc_total for e in entries), sum(e.free_total for e in entries)


def block_sums(entries):
    return sum(e.alloc_blocks for e in entries), sum(e.free_blocks for e in entries)


def truth(out):
    """{function: (bytes allocated, blocks allocated, bytes freed, blocks freed)}"""
    rows = [l.split() for l in out.decode().splitlines() if l.startswith("site ")]
    return {r[1]: tuple(map(int, r[2:])) for r in rows}


def check_site(view, have, name, want):
    alloc, alloc_blocks, free, free_blocks = want
    if name == "by_asprintf":  # grows a block in its own ways
        assert sums(have)[0] - sums(have)[1] == alloc - free, name
    else:
        assert sums(have) == (alloc, free), (name, view.paths)
    if isinstance(view, pmem_report.Report) and name != "by_asprintf":
        assert block_sums(have) == (alloc_blocks, free_blocks), name


def check_sums(view, out):
    functions = by_function(view)
    wanted = truth(out)
    assert wanted.pop("past_hooks", None) is not None and len(wanted) == 11
    for name, want in wanted.items():
        check_site(view, functions[name], name, want)
    for name, entries in functions.items():
        if name == "play_generation":  # creates threads, whose tables libc keeps
            continue
        assert name in wanted or sums(entries)[0] == sums(entries)[1], "%s has something live" % name


def check_allocated(view, out):
    """Where blocks are freed past the hooks, what was freed is an estimate."""
    functions = by_function(view)
    for name, want in truth(out).items():
        if name not in ("past_hooks", "by_asprintf"):
            alloc, free = sums(functions[name])
            assert alloc == want[0] and 0 <= free <= alloc, name
    if isinstance(view, pmem_report.Report):
        assert view.losses["damage_count"] == 0, view.losses["damage"]
        for stack in view.document["stacks"]:
            assert all(s["live_bytes"] <= s["alloc_bytes"] for s in stack["samples"] or ()), stack["samples"]


def first_difference(bare, mine):
    for a, b in zip(bare.splitlines(), mine.splitlines()):
        if a != b:
            return "%r, with the library %r" % (a, b)
    return "one output is longer"


def compare(run, argv, env, before=None, after=None):
    """Runs argv without the library (before: what is preloaded instead) and with it; after it: the allocator."""
    preload = {"LD_PRELOAD": str(before)} if before else {}
    bare = run(argv, {**env, **preload}, lib=False)
    with_lib = {"LD_PRELOAD": "%s:%s" % (run.lib, after)} if after else {}
    mine = run(argv, {**env, **WHOLE, **with_lib})
    assert bare.code == 0, (bare.out[-500:], bare.err[-500:])
    assert mine.out == bare.out, first_difference(bare.out, mine.out)
    assert mine.code == 0
    pmem_run.assert_silent(mine.err)
    return mine


def command(program, setting, seed, operations):
    return [program, "seed=%d" % seed, "operations=%d" % (operations * setting.share / len(SEEDS)), *setting.options.split()]


@pytest.fixture(scope="session")
def differ(programs, root):
    parts = [root / "tests" / "programs" / name for name in ("differ_player.c", "differ_calls.c")]
    return programs("differ.c", "-fno-builtin", *parts)


@pytest.fixture(scope="session")
def neutral(programs):
    return programs("neutral.c", "-shared", "-fPIC", out="neutral.so")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("setting", GLIBC, ids=lambda s: s.name)
def test_glibc_random_sequences(run, tool, differ, neutral, setting, seed):
    before = neutral if "threads" in setting.options else None
    mine = compare(run, command(differ, setting, seed, OPERATIONS), setting.env, before)
    report, = (pmem_report.read(tool, p) for p in pmem_report.find(mine.folder))
    log = mine.log_of("differ", "last")
    check = check_allocated if "odd=2" in setting.options else check_sums
    for view in (report, log):
        check(view, mine.out)
    assert (report.losses["stale_blocks"] > 0) == ("odd=2" in setting.options)


@pytest.mark.parametrize("setting", OTHERS, ids=lambda s: s.name)
@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_other_allocators_random_sequences(run, tool, differ, allocator, setting):
    path = pmem_run.installed(allocator)
    if not path:
        pytest.skip("no %s here" % allocator)
    mine = compare(run, command(differ, setting, 1, OPERATIONS), {}, path, path)
    report, = (pmem_report.read(tool, p) for p in pmem_report.find(mine.folder))
    check_sums(report, mine.out)


@pytest.mark.parametrize("allocator", [None, *ALLOCATORS])
def test_blocks_shrunk_to_nothing_stay_apart(run, tool, programs, allocator):
    path = allocator and pmem_run.installed(allocator)
    if allocator and not path:
        pytest.skip("no %s here" % allocator)
    mine = compare(run, [programs("to_zero.c")], {}, path, path)
    report, = (pmem_report.read(tool, p) for p in pmem_report.find(mine.folder))
    returned = int(mine.out)
    assert returned in (0, 4000)
    shrunk = by_function(report)["shrink"]
    assert block_sums(shrunk) == (returned, returned * 3 // 4) and sums(shrunk) == (0, 0)
    assert report.losses["complete"], report.losses


@pytest.mark.parametrize("options", ["far=-1", "far=1 usable=0", "far=-1 usable=0 turns=0"])
def test_checking_malloc_stays_in_force(run, tool, differ, options):
    """libc_malloc_debug.so defines the family in versions of its own; with checking each block's usable size is the requested one.
    In one thread: with four glibc's checking malloc breaks its own lists now and then, with nothing of ours about."""
    path = pmem_run.installed("libc_malloc_debug.so.0")
    if not path:
        pytest.skip("no libc_malloc_debug.so.0 here")
    setting = Setting("check", 0.02, options + " checked=1", {"GLIBC_TUNABLES": "glibc.malloc.check=3"})
    mine = compare(run, command(differ, setting, 1, OPERATIONS), setting.env, path, path)
    report, = (pmem_report.read(tool, p) for p in pmem_report.find(mine.folder))
    check_sums(report, mine.out)


def test_cfree_of_old_programs_is_a_free(run, programs):
    log = run.both([programs("old_names.c")], WHOLE).log_of("old_names")
    assert sums(by_function(log)["make"]) == (sum(i for i in range(1000) if i % 10) + 77, sum(i for i in range(1000) if i % 10))


def is_exception(entry):
    return any(pmem_names.function(f) == "__cxa_allocate_exception" for f in entry.frames)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_form_of_new_and_delete(run, tool, programs, seed):
    """Also those that fail: std::bad_alloc, null, the new handler, a constructor that throws."""
    mine = compare(run, [programs("news.cpp", "-std=c++17", "-fno-builtin"), seed, OPERATIONS // 10 // len(SEEDS)], {})
    report, = (pmem_report.read(tool, p) for p in pmem_report.find(mine.folder))
    wanted = truth(mine.out)
    assert len(wanted) == 6 and all(w[1] > 1000 for w in wanted.values())
    for view in (report, mine.log_of("news", "last")):
        functions = by_function(view)
        for name, want in wanted.items():
            check_site(view, [e for e in functions[name] if not is_exception(e)], name, want)
