# SPDX-License-Identifier: BSD-2-Clause
"""test_own_malloc - programs whose allocator is not the C library's: summary, report and log say what was not seen, and why."""
import json
import os
import shutil
import subprocess

import pytest

import pmem_run
import pmem_tool

ADVICE = " (do this instead: link that allocator as a shared library, or leave it out)"
HIDDEN = '-DHIDDEN=__attribute__((visibility("hidden")))'
FLAGS = ("-fno-builtin", "-fno-inline")


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def one_line(result):
    return " ".join(line.strip() for line in result.stderr.decode().splitlines())


def last_line(result):
    log, = result.folder.glob("pmem.*.log")
    return log.read_text().splitlines()[-1]


def document(tool, result):
    profile, = pmem_tool.profiles(result.folder)
    return json.loads(tool("report", "--json", profile.path).stdout)


def strip(path):
    out = path.with_name(path.name + "-stripped")
    subprocess.run(["strip", "-o", out, path], check=True)
    return out


@pytest.fixture
def local(programs, tmp_path):
    """malloc is no dynamic symbol of it: a version script keeps it local."""
    script = tmp_path / "local.map"
    script.write_text("{ local: *; };\n")
    return programs("own_malloc.c", *FLAGS, "-Wl,--version-script=%s" % script, out="own-local")


@pytest.fixture
def own(programs, local):
    made = {
        "exported": programs("own_malloc.c", *FLAGS, out="own-exported"),
        "hidden": programs("own_malloc.c", *FLAGS, HIDDEN, out="own-hidden"),
        "local": local,
        "prefix": programs("own_malloc.c", *FLAGS, "-DPREFIX=mi_", out="own-prefix"),
        "pass-on": programs("own_malloc.c", *FLAGS, "-DPASS_ON", out="own-pass-on"),
    }
    made["exported-stripped"] = strip(made["exported"])
    return made


# bytes seen: what of 1,000 + 100 + 2,000 by the own malloc, 77 by strdup() and 4,096 by stdio passes us
@pytest.mark.parametrize("kind,names,seen", [
    ("exported", "malloc, calloc, free", 0),
    ("exported-stripped", "malloc, calloc, free", 0),
    ("hidden", "malloc, calloc, free", 77),
    ("local", "malloc, calloc, free", 77),
    ("prefix", "mi_malloc", 77),
    ("pass-on", "malloc, free", 1000 + 100 + 2000 + 77),
])
def test_what_the_programs_own_malloc_serves_is_said_to_be_unseen(tool, own, kind, names, seen):
    program = own[kind]
    result = tool("run", program)
    assert result.returncode == 0 and result.stdout == b"ok\n"
    found = document(tool, result)
    sentence = "what %s serves by its own %s is not seen%s" % (program.name, names, ADVICE)
    assert found["losses"]["unseen"] == sentence
    assert found["totals"]["alloc_bytes"] - (4096 if seen else 0) == seen
    assert one_line(result).startswith("pmem: seen ") and sentence in one_line(result)
    assert max(len(line) for line in result.stderr.decode().splitlines()[:3]) <= 80
    assert last_line(result) == "# unseen: %s defines %s itself: what it serves by these is not here" % (program, names)
    report = " ".join(tool("report", cwd=result.folder).stdout.decode().split())
    assert "UNSEEN: %s." % sentence in report


def test_the_profile_alone_tells_of_an_exported_malloc(tool, own, tmp_path):
    program = shutil.copy(own["exported"], tmp_path / "gone")
    result = tool("run", "-q", program)
    os.unlink(program)
    assert document(tool, result)["losses"]["unseen"] == "what gone serves by its own malloc is not seen" + ADVICE


def test_a_file_that_was_replaced_since_tells_nothing(tool, programs, own, tmp_path):
    """The program that ran has no allocator of its own; what lies there now has one, and another build-id."""
    program = tmp_path / "replaced"
    shutil.copy(programs("holder.c"), program)
    result = tool("run", "-q", program)
    assert document(tool, result)["losses"]["unseen"] is None
    os.unlink(program)
    shutil.copy(own["prefix"], program)
    assert document(tool, result)["losses"]["unseen"] is None


@pytest.mark.parametrize("flags", [("-no-pie", "-fno-pie"), ("-pie",)], ids=["no-pie", "pie"])
def test_a_program_that_takes_mallocs_address_has_none_of_its_own(tool, programs, tmp_path, flags):
    """Without PIC that address is a stub in the program itself."""
    source = tmp_path / "taker.c"
    source.write_text("#include <stdlib.h>\nvoid *(*volatile taken)(size_t);\nint main(void) { taken = malloc; return !taken(10); }\n")
    program = tmp_path / "taker"
    subprocess.run(["gcc", *flags, "-o", program, source], check=True)
    result = tool("run", program)
    found = document(tool, result)
    assert found["losses"]["unseen"] is None and found["totals"]["alloc_bytes"] == 10
    assert "unseen" not in last_line(result) and "seen " not in result.stderr.decode()


@pytest.mark.parametrize("kind", ["exported", "hidden"])
def test_a_killed_programs_allocator_is_named_too(tool, programs, kind):
    flags = () if kind == "exported" else (HIDDEN,)
    program = programs("own_malloc.c", *FLAGS, *flags, "-DKILLED", out="own-killed-" + kind)
    result = tool("run", program)
    assert result.returncode == -9
    assert "what %s serves by its own malloc, calloc, free is not seen" % program.name in one_line(result)


JEMALLOC = pmem_run.installed("libjemalloc.so.2")


@pytest.mark.skipif(not JEMALLOC, reason="no libjemalloc.so.2 here (Debian: libjemalloc2)")
def test_a_library_that_was_loaded_before_is_named(tool, programs, run):
    result = run([programs("holder.c")], {"LD_PRELOAD": "%s:%s" % (JEMALLOC, tool.lib)}, lib=False)
    assert result.code == 0
    assert document(tool, result)["losses"]["unseen"] == (
        "what libjemalloc.so.2 serves is not seen, as it was loaded first (do this instead: name libpmem.so first in LD_PRELOAD)")
    assert last_line(result) == ("# unseen: %s defines malloc, calloc, free, mallocx itself: what it serves by these is not here"
                                 % os.path.realpath(JEMALLOC))
    after = run([programs("holder.c")], {"LD_PRELOAD": "%s:%s" % (tool.lib, JEMALLOC)}, lib=False)
    assert document(tool, after)["losses"]["unseen"] is None


# -- Go ---------------------------------------------------------------------------------------------------
GO = """package main

// #include <stdio.h>
// #include <stdlib.h>
import "C"
import "unsafe"

var block unsafe.Pointer
var kept []byte

func main() {
	block = C.malloc(4321)
	kept = make([]byte, 1000000)
	text := C.CString("ok")
	C.puts(text)
	C.fflush(C.stdout)
}
"""


@pytest.fixture(scope="module")
def go_program(tmp_path_factory):
    """With the caller's cache: without one Go compiles its runtime first."""
    folder = tmp_path_factory.mktemp("go")
    (folder / "go.mod").write_text("module x\n")
    (folder / "main.go").write_text(GO)
    env = {**os.environ, "GOPROXY": "off", "GOFLAGS": "-mod=mod", "CGO_ENABLED": "1", "GOTOOLCHAIN": "local"}
    subprocess.run(["go", "build", "-o", "mixed", "."], cwd=folder, env=env, check=True)
    return folder / "mixed"


@pytest.mark.skipif(not shutil.which("go"), reason="no go here (Debian: golang-go)")
@pytest.mark.parametrize("stripped", [False, True])
def test_of_a_go_program_c_code_is_seen_and_go_is_not(tool, go_program, stripped):
    program = strip(go_program) if stripped else go_program
    result = tool("run", program)
    assert result.returncode == 0 and result.stdout == b"ok\n"
    found = document(tool, result)
    assert found["losses"]["unseen"].startswith("what Go code in %s allocates is not seen, only what C code does (" % program.name)
    assert found["losses"]["unseen"] in one_line(result)
    # Call stacks end where Go called C: the block and the copy of "ok" are on one.
    assert [s["alloc_bytes"] for s in found["stacks"]].count(4321 + 3) == 1
    assert found["totals"]["alloc_bytes"] < 1000000
    assert last_line(result) == "# unseen: %s has Go's own heap: only what C code allocates is here" % program


# -- sanitizers -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("compiler,kind,name", [
    ("gcc", "address", "AddressSanitizer"), ("clang", "address", "AddressSanitizer"), ("gcc", "leak", "LeakSanitizer"),
    ("clang", "memory", "MemorySanitizer"), ("clang", "thread", "ThreadSanitizer"),
])
def test_sanitizers_that_replace_malloc_are_refused(tool, root, tmp_path, compiler, kind, name):
    program = tmp_path / "sanitized"
    source = root / "tests" / "programs" / "holder.c"
    if not shutil.which(compiler) or subprocess.run([compiler, "-fsanitize=" + kind, "-w", "-o", program, source],
                                                    capture_output=True).returncode:
        pytest.skip("no %s -fsanitize=%s here" % (compiler, kind))
    result = tool("run", program)
    assert result.returncode == 126 and result.stdout == b""
    assert one_line(result) == (
        "pmem: nothing was recorded: %s is built with %s (its runtime replaces malloc and must be loaded first; do this instead: "
        "record a build without -fsanitize)" % (program, name))
    assert not pmem_tool.profiles(result.folder)


@pytest.mark.parametrize("kind", ["undefined", "thread"])
def test_other_sanitizers_of_gcc_are_recorded(tool, root, tmp_path, kind):
    program = tmp_path / "sanitized"
    source = root / "tests" / "programs" / "holder.c"
    if subprocess.run(["gcc", "-fsanitize=" + kind, "-w", "-o", program, source], capture_output=True).returncode:
        pytest.skip("no gcc -fsanitize=%s here" % kind)
    result = tool("run", program)
    assert result.returncode == 0
    assert document(tool, result)["totals"]["alloc_bytes"] > 0


# -- what is not seen of other programs -------------------------------------------------------------------
def test_a_program_in_an_empty_environment_is_missed_with_a_word(tool, programs):
    result = tool("run", "env", "-i", programs("holder.c"))
    assert result.returncode == 0
    profile, = pmem_tool.profiles(result.folder)
    assert "partial  it did not pass exit: it executed a program that was not recorded" in one_line(result)


def test_chains_of_scripts_are_followed_to_their_end(tool, programs, tmp_path):
    static = programs("holder.c", "-static", out="holder-static")
    previous = static
    for depth in range(4):
        script = tmp_path / ("script%d" % depth)
        script.write_text("#!%s\n" % previous)
        script.chmod(0o755)
        previous = script
    result = tool("run", previous)
    assert result.returncode == 126
    assert one_line(result).startswith("pmem: nothing was recorded: %s's interpreter %s is statically linked (" % (previous, static))


@pytest.fixture
def own_new(programs):
    return programs("own_new.c", "-shared", "-fPIC", "-fno-builtin", "-Wl,-soname,libjemalloc.so.2", out="libjemalloc.so.2")


def big(found):
    """Blocks of 100 bytes or 77 that are live: libstdc++ has its own besides."""
    return sum(s["live_bytes"] for s in found["stacks"] if any(f.get("function", "") == "main" for f in s["frames"]))


def test_an_allocator_with_its_own_operator_new_is_named(tool, programs, run, own_new):
    program = programs("by_new.cpp", "-O0")
    result = run([program], {"LD_PRELOAD": "%s:%s" % (tool.lib, own_new)}, lib=False)
    assert result.code == 0
    found = document(tool, result)
    assert big(found) == 77
    assert found["losses"]["unseen"] == (
        "what C++ code allocates by new is not seen, as libjemalloc.so.2 has its own operator new "
        "(do this instead: LD_PRELOAD=libpmem.so:libstdc++.so.6:libjemalloc.so.2, in this order)")
    assert last_line(result) == (
        "# unseen: %s has its own operator new: what C++ code allocates by new is not here, "
        "unless libstdc++.so.6 comes before it in LD_PRELOAD" % own_new)
    after = run([program], {"LD_PRELOAD": "%s:libstdc++.so.6:%s" % (tool.lib, own_new)}, lib=False)
    assert big(document(tool, after)) == 100 * 1000 + 77
    assert document(tool, after)["losses"]["unseen"] is None


def test_run_puts_the_cxx_library_before_such_an_allocator(tool, programs, own_new):
    preloaded = tool("run", "-q", programs("by_new.cpp", "-O0"), env={"LD_PRELOAD": str(own_new)})
    linked = tool("run", "-q", programs("by_new.cpp", "-O0", str(own_new), "-Wl,-rpath,%s" % own_new.parent, out="linked"))
    for result in (preloaded, linked):
        assert result.returncode == 0, result.stderr
        assert big(document(tool, result)) == 100 * 1000 + 77
        assert document(tool, result)["losses"]["unseen"] is None


def test_a_c_program_misses_nothing_over_such_an_allocator(tool, programs, run, own_new):
    result = run([programs("holder.c")], {"LD_PRELOAD": "%s:%s" % (tool.lib, own_new)}, lib=False)
    assert result.code == 0
    assert document(tool, result)["losses"]["unseen"] is None
    assert "# unseen" not in last_line(result)
