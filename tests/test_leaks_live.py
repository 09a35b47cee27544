# SPDX-License-Identifier: BSD-2-Clause
"""test_leaks_live - pmem leaks PID: a process is looked at, and goes on as if nothing had been.

The programs say themselves whether they noticed: calls that end with EINTR, children that are not theirs, lists that are broken.
"""
import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

import pmem_run
import pmem_tool
from pmem_run import children, status

LOST_BYTES, LOST_BLOCKS = 10000, 1000  # by churn.c
ROUNDS = int(os.environ.get("PMEM_TEST_LEAKS_ROUNDS", "10"))
WAITS = """epoll epoll_timeout semaphore receive read poll poll_timeout select futex condition signal suspend sleep""".split()


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def look(tool, pid):
    result = tool("leaks", "--json", "-q", pid)
    assert (result.returncode, result.stderr) == (0, b"")
    return json.loads(result.stdout)


def test_waiting_threads_go_on_waiting(tool, begun, programs):
    process = begun(programs("leaks/waits.c"))
    for _ in range(3):
        # The one that sleeps may be over.
        assert look(tool, process.pid)["threads"] in (len(WAITS), len(WAITS) + 1)
    out = process.communicate("\n", timeout=30)[0].splitlines()
    expected = {"signal": (signal.SIGUSR1, 0), "suspend": (-1, 4), "futex": (0, 0), "condition": (0, 0), "semaphore": (0, 0), "sleep": (0, 0)}
    assert out == ["%s %d %d" % (name, *expected.get(name, (1, 0))) for name in WAITS] + ["wait -1 10"]


def semaphores(pid):
    """System V semaphores on which that process was the last to succeed."""
    getpid = 11  # of semctl(2)
    ids = [int(line.split()[1]) for line in pathlib.Path("/proc/sysvipc/sem").read_text().splitlines()[1:]]
    return [number for number in ids if ctypes.CDLL(None).semctl(number, 0, getpid) == pid]


@pytest.mark.skipif(not os.path.exists("/proc/sysvipc/sem"), reason="no System V semaphores")
@pytest.mark.parametrize("end", ["by itself", "killed"])
def test_no_semaphore_is_left(begun, programs, end):
    process = begun(programs("leaks/waits.c"))
    assert len(semaphores(process.pid)) == 1
    if end == "killed":
        process.kill()
    process.communicate("" if end == "killed" else "\n", timeout=30)
    pmem_run.wait_for(lambda: not semaphores(process.pid), "the semaphore's end")


def test_a_signal_with_a_handler_still_interrupts(tool, begun, tmp_path):
    """A call that was begun anew for us ends with EINTR when the program's own signal comes."""
    source = tmp_path / "interrupted.c"
    source.write_text("""#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
static void nothing(int number) { (void)number; }
int main(void)
{
	struct sigaction action = {.sa_handler = nothing};
	struct epoll_event event;
	sigaction(SIGUSR1, &action, NULL);
	puts("ready");
	fflush(stdout);
	int result = epoll_wait(epoll_create1(0), &event, 1, -1);
	printf("%d %d\\n", result, errno == EINTR);
	return 0;
}
""")
    subprocess.run(["gcc", "-o", tmp_path / "interrupted", source], check=True)
    process = begun(tmp_path / "interrupted")
    pmem_run.wait_for(lambda: status(process.pid, "State") == "S", "sleep")
    look(tool, process.pid)
    look(tool, process.pid)
    process.send_signal(signal.SIGUSR1)
    assert process.communicate(timeout=30)[0] == "-1 1\n"


def test_a_busy_program_is_not_disturbed(tool, begun, programs):
    """Threads and children come and go; blocks are inside realloc() when it is stopped; only what was lost is told."""
    process = begun(programs("leaks/churn.c"), "0")
    for _ in range(ROUNDS):
        report = look(tool, process.pid)
        assert (report["lost_bytes"], report["lost_blocks"]) == (LOST_BYTES, LOST_BLOCKS), report["stacks"]
        assert report["direct_blocks"] == LOST_BLOCKS
    assert process.communicate("\n", timeout=60)[0] == "sum 0 errors 0\n"
    assert process.returncode == 0


@pytest.mark.parametrize("allocator,how", [(None, "alone"), (None, "signals"), ("libjemalloc.so.2", "alone"), ("libjemalloc.so.2", "signals"),
                                           ("libtcmalloc_minimal.so.4", "alone"), ("libmimalloc.so.2", "alone")])
def test_blocks_inside_realloc_are_not_lost(tool, begun, programs, lib, allocator, how):
    """Four threads do nothing else: at any moment some block is where no live table shows it, and it has the only pointers to others."""
    library = pmem_run.installed(allocator) if allocator else None
    if allocator and not library:
        pytest.skip("%s is not installed" % allocator)
    process = begun(programs("leaks/reallocs.c", "-O1"), how, env={"LD_PRELOAD": "%s:%s" % (lib, library)} if library else None)
    for _ in range(max(1, ROUNDS // (5 if allocator else 2))):
        report = look(tool, process.pid)
        assert (report["lost_bytes"], report["lost_blocks"]) == (0, 0), report["stacks"]
    assert process.communicate("\n", timeout=60)[0] == "errors 0\n"


def test_results_are_those_of_an_undisturbed_run(tool, run, begun, programs):
    program = programs("leaks/churn.c")
    bare = run([program, "20000"], lib=False)
    process = begun(program, "20000")
    looked = 0
    while process.poll() is None and looked < 100:
        result = tool("leaks", "-q", process.pid)
        assert result.returncode in (0, 1)
        looked += result.returncode == 0
    assert looked > 0
    assert b"ready\n" + process.communicate(timeout=60)[0].encode() == bare.out
    assert process.returncode == 0


def test_the_pause_is_announced_and_told(tool, begun, programs):
    process = begun(programs("leaks/churn.c"), "0")
    result = tool("leaks", process.pid)
    assert re.fullmatch(r"pmem leaks: process %d will be stopped for about \d.*s\n" % process.pid, result.stderr.decode())
    assert re.search(r"the process was stopped for [\d.]+ (us|ms|s)", " ".join(result.stdout.decode().split()))
    report = look(tool, process.pid)
    assert 0 < report["pause_ns"] and 0 < report["expected_pause_ns"]


def test_nothing_stays(tool, begun, programs):
    process = begun(programs("leaks/waits.c"))
    masks = {field: status(process.pid, field) for field in ("SigBlk", "SigCgt", "SigPnd", "Threads")}
    look(tool, process.pid)
    assert children(process.pid) == []
    assert status(process.pid, "TracerPid") == "0"
    assert {field: status(process.pid, field) for field in masks} == masks


def test_error_exitcode(tool, begun, programs):
    process = begun(programs("leaks/churn.c"), "0")
    assert tool("leaks", "-q", process.pid, "--error-exitcode=3").returncode == 3
    process = begun(programs("leaks/waits.c"))
    assert tool("leaks", "-q", process.pid, "--error-exitcode=3").returncode == 0


def test_a_process_without_its_main_thread(tool, begun, programs):
    """It is no zombie, though the kernel calls its main thread one: reports are of a process that runs, with its memory."""
    process = begun(programs("leaks/headless.c"))
    report = look(tool, process.pid)
    assert (report["lost_bytes"], report["lost_blocks"], report["threads"]) == (4321, 1, 1)
    assert json.loads(tool("report", "--json", process.pid).stdout)["process"]["state"] == "running"
    result = tool("report", "--rss", process.pid)
    assert (result.returncode, result.stderr) == (0, b"")
    assert children(process.pid) == []
    assert process.communicate("\n", timeout=30)[0] == ""
    assert process.returncode == 3


def test_a_main_thread_that_ends_first_is_not_the_end(tool, programs):
    result = tool("leaks", "--at-exit", "--json", programs("leaks/headless.c"), stdin=subprocess.DEVNULL)
    assert (result.returncode, result.stderr) == (3, b"")
    assert json.loads(result.stdout.decode().removeprefix("ready\n"))["lost_bytes"] == 4321


def test_a_stopped_process_stays_stopped(tool, begun, programs):
    process = begun(programs("leaks/waits.c"))
    process.send_signal(signal.SIGSTOP)
    pmem_run.wait_for(lambda: status(process.pid, "State") == "T", "stop")
    look(tool, process.pid)
    assert status(process.pid, "State") == "T" and children(process.pid) == []
    process.send_signal(signal.SIGCONT)
    out = process.communicate("\n", timeout=30)[0]
    assert "wait -1 10\n" in out


def test_what_the_parent_left_is_in_use(tool, run, tmp_path):
    """A forked child: blocks of before the fork are never told, and what they point to is in use."""
    source = tmp_path / "forked.c"
    source.write_text("""#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void **kept;
static __attribute__((noinline)) void begin(void)
{
	kept = calloc(10, sizeof(*kept));
	char *block = malloc(50);
	__asm__ volatile("" : : "r"(block) : "memory");
}
static __attribute__((noinline)) void go_on(void)
{
	kept[3] = malloc(77);
	char *block = malloc(33);
	__asm__ volatile("" : : "r"(block) : "memory");
	block = malloc(44);
	free(block);
}
int main(void)
{
	begin();
	if (fork())
		_exit(0);
	go_on();
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
""")
    subprocess.run(["gcc", "-O0", "-o", tmp_path / "forked", source], check=True)
    process = run.start([tmp_path / "forked"], env={"PMEM_LOG": "0"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.wait()
    child = [p.pid for p in pmem_tool.profiles(process.folder) if p.pid != process.pid]
    report = look(tool, child[0])
    process.communicate("\n", timeout=30)
    assert (report["lost_bytes"], report["lost_blocks"]) == (33, 1)


# --- ends in the middle -------------------------------------------------------------------------


@pytest.fixture
def large(begun, tmp_path, root):
    """A heap that takes a while to be searched."""
    program = tmp_path / "large"
    subprocess.run(["gcc", "-O1", "-o", program, root / "bench" / "leaks.c", "-lpthread"], check=True)
    return begun(program, "64", "32", "2")


def snapshot_of(pid):
    found = pmem_run.wait_for(lambda: children(pid), "the snapshot")
    assert len(found) == 1 and status(found[0], "State") in "tR"
    return found[0]


def end_large(process):
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline()
    assert process.communicate(timeout=30)[0] == ""
    assert process.returncode == 0


def test_the_tool_is_killed(tool, large):
    looking = tool.start("leaks", "-q", large.pid, stdout=subprocess.DEVNULL)
    snapshot_of(large.pid)
    looking.kill()
    assert looking.wait() == -signal.SIGKILL
    pmem_run.wait_for(lambda: not children(large.pid) and status(large.pid, "TracerPid") == "0", "the snapshot's end", 60)
    end_large(large)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_tool_is_interrupted(tool, large, number):
    looking = tool.start("leaks", "-q", large.pid, stdout=subprocess.DEVNULL)
    snapshot_of(large.pid)
    looking.send_signal(number)
    assert looking.wait(timeout=60) == -number
    assert children(large.pid) == [] and status(large.pid, "TracerPid") == "0"
    end_large(large)


def test_the_worker_is_killed(tool, large):
    looking = tool.start("leaks", "-q", large.pid, stdout=subprocess.DEVNULL)
    snapshot = snapshot_of(large.pid)
    pmem_run.wait_for(lambda: status(large.pid, "TracerPid") == "0", "the program's going on")
    os.kill(int(status(snapshot, "TracerPid")), signal.SIGKILL)
    assert looking.wait(timeout=60) == -signal.SIGKILL
    assert children(large.pid) == []
    end_large(large)


def test_the_process_ends_meanwhile(tool, large):
    looking = tool.start("leaks", "-q", "--json", large.pid, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    snapshot = snapshot_of(large.pid)
    large.kill()
    large.wait()
    out, err = looking.communicate(timeout=60)
    assert looking.returncode in (0, 1)
    assert (json.loads(out)["lost_blocks"] > 0) if looking.returncode == 0 else re.fullmatch(rb"pmem leaks: .*\n", err)
    pmem_run.wait_for(lambda: not pathlib.Path("/proc/%d" % snapshot).exists(), "the snapshot's end")


# --- refusals -----------------------------------------------------------------------------------


def refused(tool, pid, words):
    result = tool("leaks", "-q", pid)
    assert (result.returncode, result.stdout) == (1, b"")
    assert re.fullmatch(r"pmem leaks: .*\n", result.stderr.decode()), result.stderr
    assert words in result.stderr.decode()


def test_a_process_that_is_not_recorded(tool, run):
    process = run.start(["sleep", "100"], lib=False)
    refused(tool, process.pid, "is not recorded by pmem")
    process.kill()
    process.wait()


def test_a_process_that_is_traced(tool, begun, programs):
    process = begun(programs("leaks/waits.c"))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    tracer = os.fork()
    if tracer == 0:
        libc.ptrace(0x4206, process.pid, 0, 0)  # PTRACE_SEIZE
        time.sleep(100)
        os._exit(0)
    pmem_run.wait_for(lambda: status(process.pid, "TracerPid") == str(tracer), "seizing")
    refused(tool, process.pid, "is traced by process %d" % tracer)
    os.kill(tracer, signal.SIGKILL)
    os.waitpid(tracer, 0)
    look(tool, process.pid)


def test_a_process_in_a_sandbox(tool, begun, tmp_path):
    source = tmp_path / "sandbox.c"
    source.write_text("""#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
int main(void)
{
	struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, all};
	free(malloc(1));
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
""")
    subprocess.run(["gcc", "-o", tmp_path / "sandbox", source], check=True)
    process = begun(tmp_path / "sandbox")
    refused(tool, process.pid, "in a sandbox of its own")
    assert children(process.pid) == []
    process.communicate("\n", timeout=30)
    result = tool("leaks", "--at-exit", "--", tmp_path / "sandbox", input=b"\n")
    assert b"No leaks" in result.stdout and result.returncode == 0


def test_a_sampled_process(tool, begun, programs):
    process = begun(programs("leaks/waits.c"), env={"PMEM_SAMPLE": "512k"})
    refused(tool, process.pid, "recorded with --sample")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_process_of_another_user(tool, begun, programs):
    process = begun(programs("leaks/waits.c"))
    env = pmem_run.environment(None, {"PMEM_LIB": tool.lib})
    result = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", tool.program, "leaks", str(process.pid)],
                            env=env, cwd="/", capture_output=True)
    if result.returncode == 127:
        pytest.skip("the tool lies where others cannot reach it")
    assert result.returncode == 1 and result.stdout == b""
    assert re.fullmatch(r"(pmem leaks: .*\n)+", result.stderr.decode())
    assert children(process.pid) == []
