# SPDX-License-Identifier: BSD-2-Clause
"""test_bundle - `pmem bundle`: one file that opens on any machine, in every command; damaged and hostile ones are refused."""
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import time

import pytest

import pmem_bundle
import pmem_tool
from pmem_profile import Profile
from pmem_run import wait_for

SOURCE = """#include <stdlib.h>
#include <unistd.h>
#include <stdio.h>
void *volatile keep[10000];
static unsigned count;
__attribute__((noinline)) static void fill_cache(unsigned n)
{
	keep[count++ % 10000] = malloc(n);
}
__attribute__((noinline)) static void serve(unsigned n)
{
	fill_cache(n);
	__asm__ volatile("");
}
int main(int argc, char **argv)
{
	for (unsigned i = 0; i < 5000; i++)
		serve(100 + i % 7);
	setbuf(stdin, NULL);
	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		while (getchar() != EOF)
			serve(50);
	}
	return 0;
}
"""


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


@pytest.fixture
def program(tmp_path):
    (tmp_path / "server.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-o", tmp_path / "server", tmp_path / "server.c"],
                   check=True)
    return tmp_path / "server"


@pytest.fixture
def profile(tool, program):
    result = tool("run", "-q", "--no-log", "--", program)
    assert result.returncode == 0, result.stderr
    return pmem_tool.profiles(result.folder)[0].path


def bundle(tool, what, *options):
    result = tool("bundle", *options, what)
    assert result.returncode == 0, result.stderr
    path = result.folder / re.match(r"(.*?): ", result.stdout.decode()).group(1)
    assert path.is_file()
    return path


def shown(tool, verb, *options):
    """What is printed, without the file's own name and size."""
    result = tool(verb, *options)
    assert result.returncode == 0, result.stderr
    text = re.sub(r"[\w./-]*pmem\.\d+\.(prof|bundle)|\S*\.(bundle|prof)\b", "FILE", result.stdout.decode())
    return re.sub(r" +FILE", " FILE", text)


VIEWS = [("report",), ("report", "--tree", "--all-frames"), ("report", "--callers", "--raw-names"), ("report", "--leaks"),
         ("report", "--peak"), ("report", "--sizes"), ("report", "--lifetimes"), ("report", "--threads"), ("report", "--csv"),
         ("export", "--format", "log")]


def test_every_command_reads_it(tool, profile, program):
    made = bundle(tool, profile)
    assert made.name == profile.name.replace(".prof", ".bundle")
    assert made.stat().st_mode & 0o777 == profile.stat().st_mode & 0o777
    before = [shown(tool, *view, profile) for view in VIEWS]
    assert "fill_cache" in before[0] and "server.c:8" in before[0]
    program.unlink()  # from now on only the bundle has names
    assert [shown(tool, *view, made) for view in VIEWS] == before
    assert "fill_cache" not in shown(tool, "report", profile)


def test_json_is_the_same(tool, profile, program):
    made = bundle(tool, profile)
    before = json.loads(tool("report", "--json", profile).stdout)
    info = json.loads(tool("info", "--json", profile).stdout)
    program.unlink()
    assert json.loads(tool("report", "--json", made).stdout) == before
    after = json.loads(tool("info", "--json", made).stdout)
    changed = {key for key in info if info[key] != after[key]}
    assert set(info) == set(after)
    assert changed <= {"file", "path", "file_bytes", "files", "profile"}, changed


def test_two_profiles_of_which_one_is_a_bundle(tool, profile):
    made = bundle(tool, profile)
    result = tool("diff", profile, made)
    assert result.returncode == 0, result.stderr
    assert tool("diff", "--fail-over", "0", profile, made).returncode == 0


def test_module_problems_go_along(tool, profile, program):
    program.unlink()
    made = bundle(tool, profile)
    shutil.copy("/bin/true", program)
    assert "NO NAMES: server is not there" in " ".join(shown(tool, "report", made).split())
    assert "NO NAMES: server was replaced since" in " ".join(shown(tool, "report", profile).split())


def test_source_lines_go_along(tool, profile, program):
    plain, made = bundle(tool, profile, "-o", "plain.bundle"), bundle(tool, profile, "--source")
    before = shown(tool, "report", "--source", profile)
    assert "= malloc(n);" in before
    program.with_name("server.c").unlink()
    assert shown(tool, "report", "--source", made) == before
    assert "= malloc(n);" not in shown(tool, "report", "--source", plain)


def test_names_that_were_there_when_it_was_made_stay(tool, program, profile):
    """Another program at the same path must not lend its names."""
    made = bundle(tool, profile)
    before = shown(tool, "report", made)
    program.write_bytes(pathlib.Path("/bin/true").read_bytes())
    assert shown(tool, "report", made) == before


def test_a_second_bundle_keeps_what_the_first_one_knew(tool, program, profile):
    """Files go; names that a bundle has do not."""
    folder = tool.folder()
    first = tool("bundle", "-o", "made.bundle", profile, cwd=folder)
    names = re.search(r"(\d+) places with names", first.stdout.decode()).group(1)
    before = [shown(tool, *view, folder / "made.bundle") for view in VIEWS]
    assert "fill_cache" in before[0] and b"kept" not in first.stdout
    program.unlink()
    second = tool("bundle", "-o", "made.bundle", profile, cwd=folder)
    assert second.returncode == 0, second.stderr
    assert re.search(r" %s places with names.*, [1-9]\d* kept from the bundle that was there\n" % names, second.stdout.decode())
    assert [shown(tool, *view, folder / "made.bundle") for view in VIEWS] == before


def test_a_bundle_of_another_process_lends_no_names(tool, program, profile):
    folder = tool.folder()
    other = pmem_tool.profiles(tool("run", "-q", "--no-log", "--", program).folder)[0].path
    assert tool("bundle", "-o", "made.bundle", other, cwd=folder).returncode == 0
    program.unlink()
    result = tool("bundle", "-o", "made.bundle", profile, cwd=folder)
    assert result.returncode == 0 and b"kept" not in result.stdout
    assert "fill_cache" not in shown(tool, "report", folder / "made.bundle")


# -- arguments and files ------------------------------------------------------------------------------
def test_standard_output(tool, profile):
    result = tool("bundle", "-o", "-", profile)
    assert result.returncode == 0 and result.stdout[8:16] == b"pmembndl"
    (result.folder / "copy").write_bytes(result.stdout)
    assert shown(tool, "report", result.folder / "copy").splitlines()[3:] == shown(tool, "report", profile).splitlines()[3:]


def test_it_is_a_zstd_stream(tool, profile):
    if not shutil.which("zstd"):
        pytest.skip("no zstd")
    made = bundle(tool, profile)
    content = subprocess.run(["zstd", "-dc"], stdin=open(made, "rb"), check=True, capture_output=True).stdout
    assert content.startswith(profile.read_bytes())


@pytest.mark.parametrize("given", [False, True])
def test_only_a_bundle_is_replaced(tool, profile, given):
    folder = tool.folder()
    name = folder / profile.name.replace(".prof", ".bundle")
    name.write_text("mine")
    argv = ["bundle", *(["-o", name] if given else []), profile]
    result = tool(*argv, cwd=folder)
    assert result.returncode == 1 and b"is there, and no bundle" in result.stderr
    assert name.read_text() == "mine"
    # Nothing is lost with an empty file, as mktemp makes.
    name.write_text("")
    assert tool(*argv, cwd=folder).returncode == 0
    assert name.stat().st_size > 0
    assert tool(*argv, cwd=folder).returncode == 0
    assert sorted(os.listdir(folder)) == [name.name]  # no temporary file is left


def test_failures(tool, profile):
    made = bundle(tool, profile)
    folder = tool.folder()
    for arguments, code, message in [((made,), 1, b"is a bundle already"), (("/dev/null",), 1, b"not a regular file"),
                                     (("nothing",), 1, b"No such file"), ((profile, profile), 2, b"one profile at a time"),
                                     (("--sorce", profile), 2, b"unknown option"),
                                     (("-o", "/nowhere/x", profile), 1, b"/nowhere/x: No such"),
                                     (("-o", "/dev/full", profile), 1, b"No space left")]:
        result = tool("bundle", *arguments, cwd=folder)
        assert (result.returncode, message in result.stderr) == (code, True), (arguments, result.stderr)
    assert not os.listdir(folder)


def test_one_that_is_killed_leaves_the_old_bundle(tool, profile):
    folder = tool.folder()
    old = bundle(tool, profile, "-o", folder / "x.bundle")
    content = old.read_bytes()

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    result = tool("bundle", "-o", old, profile, cwd=folder, preexec_fn=limit)
    assert result.returncode == 1 and b"File too large" in result.stderr
    assert old.read_bytes() == content and os.listdir(folder) == ["x.bundle"]


# -- running processes --------------------------------------------------------------------------------
def test_a_process_that_runs(tool, run, program):
    process = run.start([program, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        before = json.loads(tool("report", "--json", process.pid).stdout)
        made = bundle(tool, process.pid)
        # The process of a bundle may be another machine's.
        rss = tool("report", "--rss", made)
        assert rss.returncode == 1 and b"a bundle of a process that ran" in rss.stderr
    finally:
        process.communicate(b"", timeout=20)
    program.unlink()
    after = json.loads(tool("report", "--json", made).stdout)
    assert after["process"]["state"] == "running" == before["process"]["state"]
    assert after["totals"] == before["totals"] and after["totals"]["live_bytes"] > 500000
    assert after.get("damage") is None
    first = shown(tool, "report", made)
    assert " so far" in first and "fill_cache" in first


def test_a_process_that_is_busy_meanwhile(tool, run, programs):
    """The copy is consistent: no more is freed than was allocated, nothing is missing."""
    process = run.start([programs("churn.c"), "0"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: tool("info", process.pid).returncode == 0, "a profile")
        for number in range(5):
            if process.poll() is not None:
                pytest.skip("the program is over")
            made = bundle(tool, process.pid, "-o", "%d.bundle" % number)
            data = json.loads(tool("report", "--json", made).stdout)
            assert data.get("damage") is None
            totals = data["totals"]
            assert totals["alloc_blocks"] >= totals["free_blocks"] and totals["alloc_bytes"] >= totals["free_bytes"]
            for stack in data["stacks"]:
                assert stack["alloc_bytes"] >= stack["free_bytes"]
                assert stack["live_bytes"] == stack["alloc_bytes"] - stack["free_bytes"]
    finally:
        process.kill()
        process.wait()


# -- size ---------------------------------------------------------------------------------------------
def large_profile(path, program, stacks=10000, depth=50):
    """500,000 nodes: every call stack with frames of its own from the second on."""
    note = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    build_id = bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", note).group(1))
    symbols = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    functions = [int(line.split()[0], 16) for line in symbols.splitlines() if line.split()[1] in "tT"]
    profile = Profile()
    module = profile.module(program, build_id)
    profile.header(program=program, command=program + "\0", pid=4711, end_ns=10**9)
    for number in range(stacks):
        frames = [(module, functions[(number * 31 + level * 7) % len(functions)] + 1 + number % 4) for level in range(depth)]
        profile.count(0, profile.stack(frames), alloc_count=2, alloc_bytes=100 + number)
    profile.save(path)
    return stacks * depth


def in_chroot(folder, tool, files):
    """The tool with its libraries and nothing else."""
    listed = subprocess.run(["ldd", tool.program], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(/\S+) \(0x", listed):
        target = folder / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    shutil.copy(tool.program, folder / "pmem")
    for file in files:
        shutil.copy(file, folder / file.name)

    def ask(*arguments):
        chroot = shutil.which("chroot", path=os.environ["PATH"] + ":/usr/sbin")
        return subprocess.run([chroot, folder, "/pmem", *arguments], capture_output=True, text=True, timeout=60,
                              env={"LC_ALL": "C.UTF-8", "TZ": "UTC"})
    return ask


def test_half_a_million_nodes_in_a_bare_chroot(tool, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("chroot(2) needs root")
    if is_sanitized(tool):
        pytest.skip("sanitizers need /proc")
    path = tmp_path / "large.prof"
    assert large_profile(path, tool.program) == 500000
    before = time.monotonic()
    result = tool("bundle", path)
    took = time.monotonic() - before
    assert result.returncode == 0, result.stderr
    made = result.folder / "large.bundle"
    assert took < 30, took
    assert made.stat().st_size < path.stat().st_size
    print("%d bytes of profile, %d of bundle, %.1f s" % (path.stat().st_size, made.stat().st_size, took))
    root = tmp_path / "root"
    root.mkdir()
    ask = in_chroot(root, tool, [made, path])
    outside = tool("report", path, env={"TZ": "UTC"}).stdout.decode()
    before = time.monotonic()
    inside = ask("report", "/large.bundle")
    took = time.monotonic() - before
    assert inside.returncode == 0, inside.stderr
    assert took < 5, took

    def body(text):
        return text.splitlines()[1:]  # the first line names the file
    assert body(inside.stdout) == body(outside)
    assert body(ask("report", "/large.prof").stdout) != body(outside)  # without the bundle there are no names
    for view in ["--tree", "--callers", "--leaks"]:
        outside = tool("report", view, path, env={"TZ": "UTC"}).stdout.decode()
        assert body(ask("report", view, "/large.bundle").stdout) == body(outside)


# -- hostile files ------------------------------------------------------------------------------------
def small_image():
    profile = Profile()
    program = profile.module("/bin/a")
    profile.count(0, profile.stack([(program, 0x1000), (0, 0x7000)]), alloc_count=1, alloc_bytes=9)
    return profile.image()


def content():
    made = pmem_bundle.Content()
    made.place(0, 0x7000, ("jit", "jit", 1), [("jit", "jit", "/j.js", 5, 0, 1)])
    made.place(1, 0x1000, ("outer", "outer", 8), [("inner", "_Z5innerv", "/a.cc", 7, 1, 8),
                                                 ("outer", "outer", "/a.cc", 9, 0, 8)])
    return made


def is_sanitized(tool):
    return b"__asan_init" in pathlib.Path(tool.program).read_bytes()


def opened(tool, tmp_path, data):
    path = tmp_path / "x.bundle"
    path.write_bytes(data)

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    # The sanitizers' shadow does not fit into a limit.
    return tool("report", "--json", path, preexec_fn=None if is_sanitized(tool) else limit)


def test_written_by_the_document(tool, tmp_path):
    """A bundle that was written from doc/BUNDLE.md alone."""
    result = opened(tool, tmp_path, pmem_bundle.bundle(small_image(), content()))
    assert result.returncode == 0, result.stderr
    frames = json.loads(result.stdout)["stacks"][0]["frames"]
    assert [(f["function"], f["raw_name"], f["file"], f["line"], f["inlined"]) for f in frames] == [
        ("jit", "jit", "/j.js", 5, False), ("inner", "_Z5innerv", "/a.cc", 7, True), ("outer", "outer", "/a.cc", 9, False)]


def test_unknown_sections_are_skipped(tool, tmp_path):
    sections = {pmem_bundle.PROFILE: small_image(), **content().sections(), 40: b"of a later version"}
    data = pmem_bundle.container([(kind, len(text), pmem_bundle.zstd(text)) for kind, text in sections.items()])
    assert opened(tool, tmp_path, data).returncode == 0


def bomb(size):
    """A frame of zeros: 4 bytes for 128 KiB."""
    whole, rest = divmod(size, pmem_bundle.BLOCK_MAX)
    blocks = pmem_bundle.block(1, pmem_bundle.BLOCK_MAX, b"\0") * whole
    return struct.pack("<IBQ", 0xFD2FB528, 3 << 6 | 1 << 5, size) + blocks + pmem_bundle.block(1, rest, b"\0", last=True)


@pytest.mark.parametrize("kind", range(1, 7))
def test_bombs_are_refused(tool, tmp_path, kind):
    for size, claimed in [(1 << 30, 1 << 30), (1 << 30, 100), (100, 1 << 30), (1 << 20, 1 << 62), (20 << 20, 20 << 20)]:
        sections = {pmem_bundle.PROFILE: small_image(), **content().sections()}
        made = [(k, len(text), pmem_bundle.zstd(text)) for k, text in sections.items()]
        made = [(k, claimed, bomb(size)) if k == kind else (k, n, frame) for k, n, frame in made]
        result = opened(tool, tmp_path, pmem_bundle.container(made))
        assert result.returncode == 1 and result.stderr.startswith(b"pmem report: "), (size, claimed, result)


def test_random_damage(tool, tmp_path):
    """Every result is a report or a message, never a crash."""
    good = pmem_bundle.bundle(small_image(), content())
    for number in range(60):
        data = bytearray(good)
        digest = hashlib.sha256(b"%d" % number).digest()
        for at, value in zip(digest[::2], digest[1::2]):
            data[at * 7 % len(data)] = value
        result = opened(tool, tmp_path, bytes(data))
        assert result.returncode in (0, 1), result
        if result.returncode == 1:
            assert re.match(rb"pmem report: .+\n$", result.stderr), result.stderr


def test_a_profile_with_the_magic_of_a_bundle_only(tool, tmp_path):
    for data in [struct.pack("<II8s", pmem_bundle.FRAME, 16, pmem_bundle.MAGIC), pmem_bundle.container([]),
                 pmem_bundle.container([], version=2)]:
        result = opened(tool, tmp_path, data)
        assert result.returncode == 1, result
