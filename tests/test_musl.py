# SPDX-License-Identifier: BSD-2-Clause
"""test_musl - programs of musl: the same exact bytes, with a library that musl-gcc built and with the one built for glibc."""
import collections
import os
import shutil
import subprocess

import pytest

import pmem_log
import pmem_names
import pmem_tool

pytestmark = pytest.mark.skipif(not shutil.which("musl-gcc"), reason="no musl-gcc here (Debian: musl-tools)")

MIB = 1 << 20


@pytest.fixture(scope="module")
def musl_lib(root, tmp_path_factory):
    """compile.sh with musl-gcc, as doc/HOWTO-unseen.md says; no warnings."""
    folder = tmp_path_factory.mktemp("musl-lib")
    env = {**os.environ, "CC": "musl-gcc", "PREFIX": str(root), "CFLAGS": "-Wall -Wextra -Werror"}
    done = subprocess.run([root / "compile.sh"], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return str(folder / "libpmem.so")


@pytest.fixture(params=["built by musl-gcc", "built for glibc"])
def either_lib(request, lib):
    return request.getfixturevalue("musl_lib") if "musl" in request.param else lib


@pytest.fixture(scope="module")
def built(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("musl-programs")
    source = root / "tests" / "programs"
    flags = ["-g", "-O1", "-fno-optimize-sibling-calls", "-fno-builtin", "-Wl,--eh-frame-hdr"]
    subprocess.run(["musl-gcc", *flags, "-o", folder / "musl", source / "musl.c"], check=True)
    subprocess.run(["musl-gcc", *flags[:-1], "-o", folder / "no-index", source / "musl.c"], check=True)
    subprocess.run(["musl-gcc", *flags, "-shared", "-fPIC", "-o", folder / "plugin.so", source / "musl_plugin.c"], check=True)
    return folder


@pytest.fixture
def record(run, built, either_lib):
    """Runs the program bare and recorded: same output.  The second result."""
    def both(*arguments):
        bare = run([built / "musl", *arguments], lib=False)
        mine = run([built / "musl", *arguments], {"LD_PRELOAD": either_lib}, lib=False)
        assert (mine.code, mine.out, mine.err) == (bare.code, bare.out, bare.err) == (0, b"ok\n", b"")
        return mine
    return both


def sites(log):
    """{function that called the allocator: (live, allocated, freed)}."""
    found = collections.defaultdict(lambda: (0, 0, 0))
    for entry in log.state().values():
        name = pmem_names.function(pmem_names.stack(entry)[0])
        found[name] = tuple(a + b for a, b in zip(found[name], (entry.live, entry.alloc_total, entry.free_total)))
    return dict(found)


def test_every_entry_point_to_the_byte(record):
    log = record("entries").log_of("musl")
    want = {
        "by_malloc": (1000 + 8 + 8, 1000 + 8 + 8 + 10, 10),
        "by_calloc": (640 + 3 * MIB, 640 + 3 * MIB, 0),
        "by_realloc": (MIB, 5000 + MIB, 5000),
        "by_reallocarray": (666, 666, 0),
        "by_posix_memalign": (333, 333, 0),
        "by_aligned_alloc": (3200, 3200, 0),
        "by_memalign": (444, 444, 0),
        "by_valloc": (555, 555, 0),
        "entries": (0, 640, 640),
    }
    assert sites(log) == want
    assert log.last.figure("live") == sum(live for live, _, _ in want.values())
    assert "stale_blocks" not in log.last.figures, "no block is seen twice"
    assert log.last.figure("lost") == 0


def test_large_zeroed_blocks_take_no_memory(record):
    """Of calloc(3 MiB) only what is written becomes resident: the program reads it, which maps the kernel's page of zeros."""
    assert record("entries").log_of("musl").last.figure("rss") < 3 * MIB


def test_threads_to_the_byte(record):
    log = record("threads").log_of("musl", "last")
    allocated, freed = 4 * 1000 * 1001 // 2, 4 * 500 * 500
    assert sites(log)["in_thread"] == (allocated - freed, allocated, freed)


def test_a_forked_child_has_a_log_of_its_own(record):
    logs = record("fork").logs()
    assert len(logs) == 2
    child, = (l for l in logs if "inherited_freed" in l.last.figures)
    parent, = (l for l in logs if l is not child)
    assert sites(parent)["by_malloc"] == (1000, 1000, 0)
    assert sites(child)["by_malloc"] == (4242, 4242, 0)
    assert child.last.figure("inherited_freed") == 1


def test_a_library_loaded_meanwhile_is_on_the_call_stack(record, built):
    log = record("plugin", built / "plugin.so").log_of("musl")
    entry, = [e for e in log.state().values() if e.live == 1234]
    frames = pmem_names.stack(entry)
    assert [pmem_names.function(f) for f in frames[:3]] == ["plugin_allocate", "plugin", "main"]
    assert frames[0].object.endswith("/plugin.so")


def test_call_stacks_end_where_musl_called_the_program(record):
    """musl has no unwind information of its own."""
    entry, = record("threads").log_of("musl", "last").state().values()
    frames = pmem_names.stack(entry)
    assert pmem_names.function(frames[0]) == "in_thread"
    assert [f.object.endswith("/libc.so") for f in frames] == [False, True]


def test_without_an_index_of_unwind_information_bytes_are_exact_all_the_same(run, built, either_lib):
    """musl-gcc makes none unless told --eh-frame-hdr."""
    log = run([built / "no-index", "fork"], {"LD_PRELOAD": either_lib}, lib=False).logs()[0]
    entry, = log.state().values()
    assert [f.mark or pmem_names.function(f) for f in pmem_names.stack(entry)] == ["by_malloc", "[truncated]"]
    assert log.last.figure("truncated") == 1


@pytest.mark.parametrize("how,freed", [("exit", 300), ("quick_exit", 200), ("_exit", 0)])
def test_the_final_snapshot_comes_after_handlers_and_destructors(run, built, either_lib, how, freed):
    result = run([built / "musl", how], {"LD_PRELOAD": either_lib}, lib=False)
    assert (result.code, result.out, result.err) == (0, b"ok\n", b"")
    log = result.log_of("musl")
    assert not log.torn
    live, allocated, gone = sites(log)["by_malloc"]
    assert (allocated, gone, live) == (600, freed, 600 - freed)


def test_the_library_needs_nothing_but_musl(musl_lib):
    needed = subprocess.run(["readelf", "-dW", musl_lib], capture_output=True, text=True, check=True).stdout
    assert [l.split("[")[1].rstrip("]") for l in needed.splitlines() if "(NEEDED)" in l] == ["libc.so"]


# -- the tool -------------------------------------------------------------------------------------------
def test_pmem_run_records_a_musl_program(lib, tmp_path, built, either_lib):
    tool = pmem_tool.Tool(lib, tmp_path)
    result = tool("run", built / "musl", "fork", env={"PMEM_LIB": either_lib})
    assert result.returncode == 0 and result.stdout == b"ok\n"
    assert "  heap     1000 B live at exit" in result.stderr.decode().replace("1,000", "1000")
    assert len(pmem_tool.profiles(result.folder)) == 2


def test_a_musl_library_is_refused_for_a_glibc_program(lib, tmp_path, programs, musl_lib):
    tool = pmem_tool.Tool(lib, tmp_path)
    result = tool("run", programs("holder.c"), env={"PMEM_LIB": musl_lib})
    assert result.returncode == 126
    message = " ".join(line.strip() for line in result.stderr.decode().splitlines())
    assert message == ("pmem: nothing was recorded: %s uses glibc (%s was built for musl; do this instead: build libpmem.so by gcc, which "
                       "works with both, and name it in PMEM_LIB)" % (programs("holder.c"), musl_lib))


def test_a_missing_loader_is_named(lib, tmp_path, built):
    program = tmp_path / "strange"
    content = (built / "musl").read_bytes()
    loader = b"/lib/ld-musl-x86_64.so.1"
    assert content.count(loader + b"\0") == 1
    program.write_bytes(content.replace(loader, b"/lib/ld-none-x86_64.so.1"))
    program.chmod(0o755)
    result = pmem_tool.Tool(lib, tmp_path)("run", program)
    assert result.returncode == 127
    message = " ".join(line.strip() for line in result.stderr.decode().splitlines())
    assert message == "pmem: nothing was run: %s needs the loader /lib/ld-none-x86_64.so.1, which does not exist" % program
