# SPDX-License-Identifier: BSD-2-Clause
"""test_first_screen - what `pmem report` says first of programs whose optimizer has inlined the function that is to blame."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import pmem_run
import pmem_tool

MARK = re.compile(r"(?://|/\*) LINE (\w+)")


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def lines_of(path):
    """{name: number} of the lines marked with LINE."""
    return {m[1]: n for n, text in enumerate(path.read_text().split("\n"), 1) for m in [MARK.search(text)] if m}


@pytest.fixture
def screen(root, run, tool):
    """screen(SOURCE, COMPILER...) -> text of the first screen, marked lines, and a function for other reports."""
    def make(name, *compiler):
        if not shutil.which(compiler[0]):
            pytest.skip("no " + compiler[0])
        source = root / "tests" / "programs" / name
        folder = run.folder("build")
        subprocess.run([*compiler, "-o", folder / "program", source], check=True, capture_output=True)
        result = run([folder / "program"])
        assert result.code == 0, result.err

        def report(*argv):
            done = tool("report", *argv, result.folder)
            assert done.returncode == 0 and done.stderr == b"", done.stderr
            return done.stdout.decode()
        return report(), lines_of(source), report
    return make


def first_row(text):
    return re.search(r"  site\n(.*)\n", text).group(1)


def heaviest(text):
    return re.search(r"The heaviest call stack.*:\n((?:    .*\n)+)", text).group(1).strip().split("\n")


def assert_page(text):
    lines = text.split("\n")
    assert len(lines) <= 24 and max(map(len, lines)) <= 80


def test_c(screen):
    text, lines, report = screen("inlined.c", "gcc", "-g", "-O2")
    assert_page(text)
    assert "remember (inlined.c:%d) holds 3.8 MiB, >99 %%" % lines["remember"] in text
    assert re.search(r"remember +inlined\.c:%d$" % lines["remember"], first_row(text))
    shown = [" ".join(l.split()) for l in heaviest(text)]
    assert shown[0] == "remember inlined.c:%d (inlined)" % lines["remember"]
    assert shown[1] == "handle_rare_request inlined.c:%d" % lines["handle_rare_request"]
    assert shown[2].startswith("main inlined.c:")


def test_cxx(screen):
    text, lines, report = screen("inlined.cpp", "g++", "-g", "-O2", "-pthread")
    assert_page(text)
    assert "app::Session::remember (inlined.cpp:%d) holds" % lines["remember"] in text
    assert re.search(r"inlined.*:%d$" % lines["remember"], first_row(text))
    shown = [" ".join(l.split()) for l in heaviest(text)]
    assert shown[0] == "app::Session::remember inlined.cpp:%d (inlined)" % lines["remember"]
    assert shown[1] == "app::handle_rare_request inlined.cpp:%d" % lines["handle_rare_request"]
    # What the standard library's functions inlined into it are, is said when it is asked for.
    assert "std::" not in text
    full = report("--all-frames")
    assert re.search(r"^    std::.*\(inlined\)$", full, re.M)
    # Own code inlined into the standard library's: the thread's.
    sites = {(f["function"] or "", f["line"]) for f in sites_of(report)}
    assert ("main::{lambda}::operator()", lines["thread"]) in {(re.sub(r"main\(\)", "main", f), n) for f, n in sites}


def sites_of(report):
    document = json.loads(report("--json"))
    return [s["frames"][s["site"]] for s in document["stacks"]]


@pytest.mark.parametrize("options", [("-O", "-g"), ("-O", "-C", "debuginfo=1")])
def test_rust(screen, options):
    text, lines, report = screen("inlined.rs", "rustc", *options)
    assert_page(text)
    assert re.search(r"Session(<\.\.\.>)?::remember \(inlined\.rs:%d\) holds" % lines["remember"], text), text
    shown = [" ".join(l.split()) for l in heaviest(text)]
    assert re.match(r".*Session>?::remember inlined\.rs:%d \(inlined\)$" % lines["remember"], shown[0])
    assert shown[1] == "inlined::handle_rare_request inlined.rs:%d" % lines["handle_rare_request"]
    assert any(f["line"] == lines["thread"] and "closure" in f["function"] for f in sites_of(report))


def test_python_with_a_c_library(root, run, tool, programs):
    """The interpreter's frames are nobody's: what is to blame is the library that the script calls."""
    library = programs("inlined.c", "-O2", "-shared", "-fPIC", out="inlined.so")
    script = "import ctypes, os\nlib = ctypes.CDLL(%r)\nfor i in range(2000): lib.handle_rare_request(b'text')\nos._exit(0)\n"
    result = run([sys.executable, "-c", script % str(library)])
    assert result.code == 0, result.err
    lines = lines_of(root / "tests" / "programs" / "inlined.c")
    folder = max((p.parent for p in result.folder.glob("*.prof")), key=str)
    profiles = [p.path for p in pmem_tool.profiles(folder)]
    texts = [tool("report", p).stdout.decode() for p in profiles]
    assert any("remember (inlined.c:%d) holds" % lines["remember"] in t for t in texts), texts
    text = next(t for t in texts if "remember (inlined.c" in t)
    assert " ".join(heaviest(text)[0].split()) == "remember inlined.c:%d (inlined)" % lines["remember"]
    full = tool("report", "--all-frames", next(p for p, t in zip(profiles, texts) if t == text)).stdout.decode()
    assert re.search(r"^    handle_rare_request  inlined\.c:%d$" % lines["handle_rare_request"], full, re.M)


def test_source_lines_with_their_bytes(screen, root):
    _, lines, report = screen("inlined.c", "gcc", "-g", "-O2")
    text = report("--source")
    number = lines["remember"]
    source = (root / "tests" / "programs" / "inlined.c").read_text().split("\n")
    assert re.search(r"^ +live  allocated$", text, re.M)
    assert re.search(r"^ +3\.8 MiB +3\.8 MiB > +%d +struct entry \*entry = xmalloc" % number, text, re.M), text
    for near in (number - 2, number - 1, number + 2):
        shown = re.search(r"^ {22}  +%d (.*)$" % near, text, re.M).group(1)
        assert shown.strip() == source[near - 1].strip()
    assert len(re.findall(r"^.{22} > +%d " % number, text, re.M)) == 1


def test_source_that_is_gone_says_where_it_was(run, tool, root):
    folder = run.folder("build")
    source = folder / "gone.c"
    shutil.copy(root / "tests" / "programs" / "inlined.c", source)
    subprocess.run(["gcc", "-g", "-O2", "-o", folder / "program", source], check=True)
    result = run([folder / "program"])
    source.unlink()
    text = tool("report", "--source", result.folder).stdout.decode()
    assert "No source lines: No such file or directory: %s\n" % source in text


def test_raw_names(screen):
    _, lines, report = screen("inlined.cpp", "g++", "-g", "-O2", "-pthread")
    text = report("--raw-names")
    assert "_ZN3app7Session8rememberEi" in text and "app::Session" not in text


def test_names_after_the_program_was_stripped(run, tool, root):
    """As a package is made: the debug file lies elsewhere, and is found by build-id; without it there is no name, and no wrong one."""
    folder = run.folder("build")
    program, debug = folder / "program", folder / "debug"
    subprocess.run(["gcc", "-g", "-O2", "-Wl,--build-id", "-o", program, root / "tests" / "programs" / "inlined.c"], check=True)
    result = run([program])
    before = tool("report", result.folder).stdout.decode()
    digits = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", program], capture_output=True, text=True).stdout)[1]
    (debug / ".build-id" / digits[:2]).mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug / ".build-id" / digits[:2] / (digits[2:] + ".debug")],
                   check=True)
    subprocess.run(["strip", program], check=True)
    assert tool("report", "--debug-dir", debug, result.folder).stdout.decode() == before
    bare = tool("report", result.folder).stdout.decode()
    assert "NO NAMES: program is stripped: it has no symbols. Pass --debug-dir with the folder" in " ".join(bare.split())
    assert "remember" not in bare and "no names for" not in bare
    # There is room for the call stack.
    assert_page(bare)
    assert len([l for l in heaviest(bare) if "program+0x" in l]) >= 2
    program.write_bytes(pmem_run.pathlib.Path("/bin/sh").read_bytes())
    replaced = tool("report", result.folder).stdout.decode()
    assert "NO NAMES: program was replaced since." in " ".join(replaced.split()) and "remember" not in replaced
    # The debug file has all that names need.
    assert tool("report", "--debug-dir", debug, result.folder).stdout.decode() == before


def test_names_below_a_sysroot(run, tool, root):
    folder = run.folder("build")
    program = folder / "program"
    subprocess.run(["gcc", "-g", "-O2", "-Wl,--build-id", "-o", program, root / "tests" / "programs" / "inlined.c"], check=True)
    result = run([program])
    before = tool("report", result.folder).stdout.decode()
    below = folder / "image" / str(program)[1:]
    below.parent.mkdir(parents=True)
    shutil.move(program, below)
    assert "remember" not in tool("report", result.folder).stdout.decode()
    names = re.compile(r"^    (?:remember|handle_rare_request|main) .*", re.M)
    assert names.findall(tool("report", "--sysroot", folder / "image", result.folder).stdout.decode()) == names.findall(before)


def test_a_sysroot_does_not_hide_the_right_files(run, tool, root):
    """`pmem diff --sysroot` is for one of two profiles: the other's files are where they were."""
    folder = run.folder("build")
    program = folder / "program"
    subprocess.run(["gcc", "-g", "-O2", "-Wl,--build-id", "-o", program, root / "tests" / "programs" / "inlined.c"], check=True)
    result = run([program])
    before = tool("report", result.folder).stdout.decode()
    image = folder / "image"
    other = image / str(program)[1:]
    other.parent.mkdir(parents=True)
    assert tool("report", "--sysroot", image, result.folder).stdout.decode() == before
    shutil.copy("/bin/true", other)
    assert tool("report", "--sysroot", image, result.folder).stdout.decode() == before


def test_the_file_that_has_the_names_is_said(run, tool, root):
    folder = run.folder("build")
    program = folder / "program"
    subprocess.run(["gcc", "-g", "-O2", "-o", program, root / "tests" / "programs" / "inlined.c"], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, folder / "program.debug"], check=True)
    subprocess.run(["strip", program], check=True)
    subprocess.run(["objcopy", "--add-gnu-debuglink=program.debug", program], cwd=folder, check=True)
    result = run([program])
    named = tool("report", result.folder).stdout.decode()
    assert "NO NAMES" not in named and "remember" in named
    made = tool("bundle", result.folder, cwd=result.folder)
    assert made.returncode == 0, made.stderr
    profile, = result.folder.glob("*.prof")
    (folder / "program.debug").rename(folder / "elsewhere")
    said = "NO NAMES: program is stripped: its symbols are in program.debug. "
    bare = " ".join(tool("report", profile).stdout.decode().split())
    assert said + "The bundle beside the profile may have them: name that file instead." in bare
    profile.with_suffix(".bundle").unlink()
    bare = " ".join(tool("report", profile).stdout.decode().split())
    assert said + "Pass --debug-dir with the folder of its debug file, or see doc/HOWTO-symbols.md." in bare


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_deleted_profile_keeps_its_name(run, tool, programs):
    process = run.start([programs("jit.c"), "none", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        profile, = process.folder.glob("*.prof")
        profile.unlink()
        title = tool("report", process.pid).stdout.decode().split("\n")[0]
        assert title.split()[-1] == profile.name or title.endswith(profile.name + " (deleted)"), title
    finally:
        process.communicate(b"", timeout=20)


PLUGIN = """#include <stdlib.h>
void *%(name)s(int size);
void *%(name)s(int size)
{
	void *block = malloc(size);

	return block;
}
"""
HOST = """#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *addresses[2];

	for (int i = 1; i < argc; i += 2) {
		void *plugin = dlopen(argv[i], RTLD_NOW);
		void *(*call)(int) = (void *(*)(int))dlsym(plugin, argv[i + 1]);

		addresses[i / 2] = (void *)call;
		for (int n = 0; n < 100; n++)
			call(10000 * i);
		dlclose(plugin);
	}
	printf("%d\\n", addresses[0] == addresses[1]);
	fflush(stdout);
	_exit(0);
}
"""


def test_plugins_that_were_closed_one_at_the_address_of_the_other(run, tool):
    folder = run.folder("build")
    argv = []
    (folder / "host.c").write_text(HOST)
    subprocess.run(["gcc", "-g", "-O1", "-o", folder / "host", folder / "host.c", "-ldl"], check=True)
    for name in ("first_load", "other_load"):
        (folder / (name + ".c")).write_text(PLUGIN % {"name": name})
        subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id", "-o", folder / (name + ".so"),
                        folder / (name + ".c")], check=True)
        argv += [folder / (name + ".so"), name]
    result = run([folder / "host", *argv])
    assert result.out == b"1\n"
    rows = json.loads(tool("report", "--json", result.folder).stdout)["stacks"]
    found = {(r["frames"][0]["function"], r["frames"][0]["file"], r["frames"][0]["line"]): r["alloc_bytes"] for r in rows}
    assert found[("first_load", str(folder / "first_load.c"), 5)] == 100 * 10000
    assert found[("other_load", str(folder / "other_load.c"), 5)] == 100 * 30000


def test_options_about_debug_files_that_are_wrong(tool, tmp_path):
    for argv, message in (((("--sysroot", "/nowhere")), b"--sysroot /nowhere: No such file"),
                          (("--debug-dir", "/etc/passwd"), b"--debug-dir /etc/passwd: Not a directory"),
                          (("--sysroot", "/", "--sysroot", "/"), b"one at a time"),
                          (("--debuginfod",), b"$DEBUGINFOD_URLS names no server")):
        done = tool("report", *argv, env={"DEBUGINFOD_URLS": ""})
        assert done.returncode == 2 and message in done.stderr, argv
    (tmp_path / "a:b").mkdir()
    assert b"no colon" in tool("report", "--debug-dir", tmp_path / "a:b").stderr
    assert b"more than 16" in tool("report", *["--debug-dir", str(tmp_path)] * 17).stderr
