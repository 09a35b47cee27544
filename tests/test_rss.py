# SPDX-License-Identifier: BSD-2-Clause
"""test_rss - what the resident set consists of: programs that are large for a known reason, real ones, and refusals.

The kernel's figure is that of /proc/PID/smaps_rollup at the same moment.  rss.c knows what its own lines must be.
"""
import json
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile

import pytest

import pmem_run
import pmem_tool
from test_programs import need

MIB = 1 << 20
SIZE_MIB = 64
LINES = ("live", "rounding", "fragments", "kept", "inherited", "stacks", "files", "shared", "mapped", "own")
OF_GLIBC = ("live", "fragments", "arenas", "stacks", "mapped", "shared", "large")
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "mimalloc": "libmimalloc.so.2", "tcmalloc": "libtcmalloc.so.4"}
ELSEWHERE = 3 * MIB // 2  # of other threads' and libraries' memory in lines that a mode speaks of

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def rollup(pid):
    for line in pathlib.Path("/proc/%d/smaps_rollup" % pid).read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) * 1024


def measure(tool, name):
    result = tool("report", "--rss", "--json", name)
    assert result.returncode == 0, result.stderr
    rss = json.loads(result.stdout)["rss"]
    sums = sum(rss[line + "_bytes"] for line in LINES) + rss["unexplained_bytes"]
    assert sums == rss["total_bytes"]
    assert abs(rss["unexplained_bytes"]) <= rss["total_bytes"] // 20
    return rss


def near(mine, kernels):
    return abs(mine - kernels) <= kernels * 2 // 100


class Large:
    """rss.c when it is as large as it gets."""

    def __init__(self, run, program, mode, size=SIZE_MIB, env=None, lib=True):
        self.process = run.start([program, mode, size], env=env, lib=lib, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.says = {}
        for line in self.process.stdout:
            if line == "ready\n":
                break
            name, value = line.split()
            self.says[name] = int(value)
        self.pid = self.says.get("pid", self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()

    def end(self):
        """The profile that it leaves."""
        self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0
        return self.process.folder / ("pmem.%d.prof" % self.pid)


def check_lines(rss, says):
    for name in set(says) & set(LINES):
        assert abs(rss[name + "_bytes"] - says[name]) <= says[name] // 50 + ELSEWHERE, (name, rss, says)
    for name in {"arenas", "stack_count"} & set(says):
        assert rss[name] == says[name], name
    # What a mode does not speak of is small.
    large = {"live", "rounding", "fragments", "kept", "stacks", "shared", "mapped", "inherited"} - set(says)
    assert all(rss[name + "_bytes"] <= ELSEWHERE for name in large), (rss, says)


@pytest.mark.parametrize("mode", OF_GLIBC)
def test_the_cause_is_found_now_and_at_the_end(run, tool, programs, mode):
    with Large(run, programs("rss.c"), mode) as large:
        now = measure(tool, large.pid)
        assert near(now["total_bytes"], rollup(large.pid))
        profile = large.end()
    at_end = measure(tool, profile)
    assert near(at_end["total_bytes"], large.says["rss"])
    for rss in now, at_end:
        assert rss["allocator"] == "glibc"
        check_lines(rss, large.says)


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("mode", ["live", "arenas", "large"])
def test_other_allocators(run, tool, programs, lib, mode, allocator):
    library = pmem_run.installed(ALLOCATORS[allocator])
    if not library:
        pytest.skip("no " + ALLOCATORS[allocator])
    with Large(run, programs("rss.c"), mode, env={"LD_PRELOAD": "%s:%s" % (lib, library)}) as large:
        now = measure(tool, large.pid)
        assert near(now["total_bytes"], rollup(large.pid))
        at_end = measure(tool, large.end())
    for rss in now, at_end:
        assert rss["allocator"] == allocator
        assert near(rss["live_bytes"] if mode != "arenas" else 0, large.says.get("live", 0)) or mode == "arenas"
        assert rss["mapped_bytes"] <= ELSEWHERE and rss["stacks_bytes"] <= ELSEWHERE
    if mode == "arenas":
        assert now["kept_bytes"] >= now["total_bytes"] // 2 and now["live_bytes"] <= MIB


def test_what_malloc_trim_returns_is_what_was_said(run, tool, programs):
    with Large(run, programs("rss.c"), "arenas") as large:
        kept = measure(tool, large.pid)["kept_bytes"]
    with Large(run, programs("rss.c"), "trim-arenas") as trimmed:
        returned = trimmed.says["rss"] - trimmed.says["trimmed"]
        assert measure(tool, trimmed.pid)["kept_bytes"] <= kept // 20
    assert abs(returned - kept) <= kept // 20


def test_a_forked_child_has_its_parents_blocks(run, tool, programs):
    with Large(run, programs("rss.c"), "fork-live") as large:
        now = measure(tool, large.pid)
        assert near(now["total_bytes"], rollup(large.pid))
        at_end = measure(tool, large.end())
    block = 1000 * (SIZE_MIB * MIB // 1000)
    for rss in now, at_end:
        assert near(rss["live_bytes"], block) and near(rss["inherited_bytes"], block * 1008 // 1000)


def test_words_and_screen(run, tool, programs):
    with Large(run, programs("rss.c"), "arenas") as large:
        now = tool("report", "--rss", large.pid).stdout.decode()
        at_end = tool("report", "--rss", large.end()).stdout.decode()
    for text in now, at_end:
        assert "Not a leak: " in text and " freed but kept by glibc in 9 arenas; malloc_trim(0) would" in " ".join(text.split())
        assert "MALLOC_ARENA_MAX=2" in text and "resident set (RSS)" in text
        assert all(len(line) <= 80 for line in text.splitlines())
    assert "(RSS) is " in now and "(RSS) was " in at_end


def test_the_summary_adds_up(tool, programs):
    result = tool("run", "--", programs("rss.c"), "live", SIZE_MIB, input=b"\n")
    line, = [l for l in result.stderr.decode().splitlines() if l.startswith("  rss ")]
    words = line.split()
    assert words[2] == "MiB" and words[3] == "=" and words[5] == "live"
    numbers = [int(word) for word in words if word.isdigit()]
    assert numbers[0] == sum(numbers[1:]) and abs(numbers[1] - SIZE_MIB) <= 1, line


# -- real programs ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("allocator", ["pymalloc", "malloc"])
def test_python(run, tool, allocator):
    """Python's own allocator maps its pools itself."""
    code = "a = [str(i) * 10 for i in range(200000)]; d = {i: [i] for i in range(100000)}; print('ready', flush=True); input()"
    process = run.start([sys.executable, "-c", code], {"PYTHONMALLOC": allocator}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    now = measure(tool, process.pid)
    assert near(now["total_bytes"], rollup(process.pid))
    assert now["live_bytes" if allocator == "malloc" else "mapped_bytes"] >= 20 * MIB
    process.communicate(b"\n")
    assert measure(tool, process.folder / ("pmem.%d.prof" % process.pid))["total_bytes"] > 0


def test_redis(run, tool, tmp_path):
    need("redis-server", "redis-cli", "redis-benchmark")
    sock = tmp_path / "s"
    server = ["redis-server", "--port", "0", "--unixsocket", sock, "--save", "", "--appendonly", "no"]
    process = run.start(server, stdout=subprocess.DEVNULL)
    client = ["redis-cli", "-s", sock]
    try:
        pmem_run.wait_for(lambda: subprocess.run(client + ["ping"], capture_output=True).stdout == b"PONG\n", "redis start")
        load = ["redis-benchmark", "-s", sock, "-n", "100000", "-r", "1000000", "-d", "200", "-t", "set", "-P", "32", "-q"]
        subprocess.run(load, capture_output=True, check=True)
        now = measure(tool, process.pid)
        assert near(now["total_bytes"], rollup(process.pid)) and now["live_bytes"] >= 20 * MIB
        assert now["mapped_bytes"] <= now["total_bytes"] // 20
    finally:
        process.terminate()
        process.wait(30)
    at_end, = [p for p in process.folder.iterdir() if p.suffix == ".prof"]
    assert measure(tool, at_end)["allocator"] == now["allocator"]


def test_rust_server(run, tool, root, tmp_path):
    if not shutil.which("rustc"):
        pytest.skip("no rustc")
    program = tmp_path / "keeper"
    subprocess.run(["rustc", "-O", "-o", program, root / "tests" / "programs" / "keeper.rs"], check=True)
    process = run.start([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready 41943040\n"
    now = measure(tool, process.pid)
    assert near(now["total_bytes"], rollup(process.pid)) and near(now["live_bytes"], 40 * MIB)
    # The main one and the four servers'; those of clients may be kept for threads to come.
    assert 5 <= now["stack_count"] <= 9
    process.communicate(b"\n")
    assert near(measure(tool, process.folder / ("pmem.%d.prof" % process.pid))["live_bytes"], 40 * MIB)


# -- refusals ---------------------------------------------------------------------------------------------

def refused(tool, *argv, code=1, **options):
    result = tool("report", *argv, **options)
    assert result.returncode == code and not result.stdout, result.stdout
    return result.stderr.decode()


def test_a_process_without_a_profile(tool):
    process = subprocess.Popen(["sleep", "60"])
    try:
        assert "is not recorded" in refused(tool, "--rss", process.pid)
    finally:
        process.kill()
        process.wait()


def test_a_process_that_has_ended(tool):
    process = subprocess.Popen(["true"])
    process.wait()
    assert str(process.pid) in refused(tool, "--rss", process.pid)


def test_a_killed_process_has_no_measurement(run, tool, programs):
    with Large(run, programs("rss.c"), "live", 1) as large:
        large.process.kill()
        large.process.wait()
    profile = large.process.folder / ("pmem.%d.prof" % large.pid)
    assert "the process was killed" in refused(tool, "--rss", profile)
    assert json.loads(tool("report", "--json", profile).stdout)["rss"] is None


def test_json_of_an_ended_process(run, tool, programs):
    with Large(run, programs("rss.c"), "live", 1) as large:
        profile = large.end()
    whole, part = (json.loads(tool("report", "--json", *more, profile).stdout) for more in ([], ["--rss"]))
    assert whole["rss"] == part["rss"] and "stacks" in whole and "stacks" not in part


@root_only
def test_memory_that_may_not_be_read(run, tool, programs):
    user = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(prefix="pmem-") as place, Large(run, programs("rss.c"), "live", 1) as large:
        program, profile = pathlib.Path(place) / "pmem", pathlib.Path(place) / ("pmem.%d.prof" % large.pid)
        os.chmod(place, 0o755)
        shutil.copy(tool.program, program)
        os.rename(large.process.folder / profile.name, profile)
        os.chmod(profile, 0o644)
        result = subprocess.run([program, "report", "--rss", profile], cwd="/", user=user.pw_uid, group=user.pw_gid, extra_groups=[],
                                env=pmem_run.environment(None), capture_output=True)
    assert result.returncode == 1 and b"its memory may not be read" in result.stderr, result.stderr


def test_a_sample_does_not_know_all_blocks(run, tool, programs):
    with Large(run, programs("rss.c"), "live", 1, env={"PMEM_SAMPLE": "4096"}) as large:
        assert "--sample" in refused(tool, "--rss", large.pid)
        profile = large.end()
    assert "--sample" in refused(tool, "--rss", profile)
    assert json.loads(tool("report", "--json", profile).stdout)["rss"] is None


def test_part_of_the_time_or_of_the_stacks(run, tool, programs):
    with Large(run, programs("rss.c"), "live", 1) as large:
        profile = large.end()
    assert "--since" in refused(tool, "--rss", "--since", "0s", profile)
    assert "--focus" in refused(tool, "--rss", "--focus", "main", profile)
    assert "one view" in refused(tool, "--rss", "--tree", profile, code=2)
