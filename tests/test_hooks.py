# SPDX-License-Identifier: BSD-2-Clause
"""test_hooks - the malloc family answers like bare glibc, for ordinary and for extreme arguments."""
import difflib

import pytest

import pmem_names
import pmem_run


def test_every_entry_point_and_edge_as_in_bare_glibc(run, programs):
    edges = programs("edges.c", "-fno-builtin")
    bare, mine = run([edges], lib=False), run([edges])
    assert bare.code == 0 and len(bare.out.splitlines()) > 5000
    different = [l for l in difflib.unified_diff(bare.out.decode().splitlines(), mine.out.decode().splitlines(), lineterm="", n=0)]
    assert not different, "\n".join(different[:40])
    assert mine.code == 0
    pmem_run.assert_silent(mine.err)


def test_edges_leave_nothing_live(run, programs):
    """Every block of the transcript program is freed, failing calls are no allocations, realloc(p, 0) is a free."""
    edges = programs("edges.c", "-fno-builtin")
    log = run([edges]).log_of("edges")
    own = [e for e in log.state().values() if pmem_names.stack(e)[0].object.endswith("edges")]
    assert own and {e.live for e in own} == {0}
    assert max(e.alloc_total for e in own) < 1 << 40, "a failing call was counted"


def test_usable_bytes_are_the_programs(run, programs):
    """A program may write malloc_usable_size() bytes; the live size stays the requested one."""
    usable = programs("usable.c")
    log = run([usable]).log_of("usable")
    own = [e for e in log.state().values() if pmem_names.function(pmem_names.stack(e)[0]) == "make"]
    assert sum(e.live for e in own) == sum(range(1, 2001))


@pytest.mark.parametrize("allocator", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"])
def test_the_next_allocator_is_profiled(run, programs, allocator):
    """LD_PRELOAD=libpmem.so:other.so profiles other.so."""
    import glob
    found = glob.glob("/usr/lib/*/" + allocator)
    if not found:
        pytest.skip("no %s here" % allocator)
    usable = programs("usable.c")
    result = run([usable], {"LD_PRELOAD": "%s:%s" % (run.lib, found[0])})
    bare = run([usable], {"LD_PRELOAD": found[0]}, lib=False)
    assert result.code == bare.code == 0, result.err
    own = [e for e in result.log_of("usable").state().values()
           if pmem_names.function(pmem_names.stack(e)[0]) == "make"]
    assert sum(e.live for e in own) == sum(range(1, 2001))
