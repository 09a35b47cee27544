# SPDX-License-Identifier: BSD-2-Clause
"""test_leaks_killed - pmem leaks PID is killed in the middle: the program goes on with its registers, signal masks and system calls.

PMEM_TEST_LEAKS_KILLS: how often at random moments, each way.
"""
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import pytest

import pmem_run
import pmem_tool
from pmem_run import children, status

KILLS = int(os.environ.get("PMEM_TEST_LEAKS_KILLS", "15"))
ERRANDS = ["busy", "poll", "sleep", "read", "futex", "suspend", "timer"]


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


@pytest.fixture(scope="module")
def die(programs):
    """A library that kills the tool's worker at a chosen system call."""
    return programs("leaks/die.c", "-shared", "-fPIC", "-ldl")


def is_as_it_was(pid):
    """Nobody traces a thread, none has signals blocked for us, and no child is left."""
    masks = {(task / "status").read_text().partition("SigBlk:")[2].split()[0] for task in pathlib.Path("/proc/%d/task" % pid).iterdir()}
    return status(pid, "TracerPid") == "0" and "ffffffffffffffff" not in masks and \
        not any(int(mask, 16) & 1 << signal.SIGTERM - 1 for mask in masks) and children(pid) == []


def end_errand(process):
    out = process.communicate("\n", timeout=60)[0]
    assert re.fullmatch(r"errors 0 of [1-9]\d*\n", out), out
    assert process.returncode == 0


@pytest.mark.parametrize("what", ERRANDS)
def test_the_worker_dies_at_any_call(tool, begun, programs, die, what):
    """Before and behind each call that touches the program: its threads come back with their registers, signal masks and system calls."""
    process = begun(programs("leaks/errand.c", "-O1"), what)
    for after in ({}, {"DIE_AFTER": "1"}) if what == "busy" else ({},):
        at, result = 0, None
        while result != 0:
            at += 1
            looked = tool("leaks", "-q", process.pid, env={"LD_PRELOAD": str(die), "DIE_AT": str(at), **after})
            result = looked.returncode
            assert result in (0, -signal.SIGKILL), (at, after, looked.stderr)
            pmem_run.wait_for(lambda: is_as_it_was(process.pid), "the return of %s, killed at %d %s" % (what, at, after))
            assert at < 300
        assert at > 30
    assert b"No leaks" in tool("leaks", "-q", process.pid).stdout
    end_errand(process)


def test_all_of_the_tool_dies_at_any_call(tool, begun, programs, die):
    """Nobody is left who could have the snapshot reaped: at most it stays as a zombie, which wait(2) does not see."""
    process = begun(programs("leaks/errand.c", "-O1"), "busy")
    at, result = 0, None
    while result != 0:
        at += 1
        result = tool("leaks", "-q", process.pid, env={"LD_PRELOAD": str(die), "DIE_AT": str(at), "DIE_ALL": "1"}).returncode
        assert result in (0, -signal.SIGKILL), at
        pmem_run.wait_for(lambda: status(process.pid, "TracerPid") == "0" and all(status(c, "State") == "Z" for c in children(process.pid)),
                          "the snapshot's end")
    end_errand(process)


@pytest.mark.parametrize("whom", ["worker", "tool", "both"])
def test_ends_at_random_moments(tool, begun, programs, whom):
    """A busy program with threads, children and a heap that is copied for a while."""
    process = begun(programs("leaks/churn.c"), "0")
    chance = random.Random(whom)
    killed = 0
    for _ in range(KILLS):
        looking = tool.start("leaks", "-q", process.pid, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        worker = pmem_run.wait_for(lambda: children(looking.pid) or looking.poll() is not None, "the worker")
        time.sleep(chance.random() * 0.04)
        if worker is not True and whom != "tool":
            try:
                os.kill(worker[0], signal.SIGKILL)
            except ProcessLookupError:
                pass
        if whom != "worker":
            looking.kill()
        killed += looking.wait(timeout=60) < 0
        pmem_run.wait_for(lambda: status(process.pid, "TracerPid") == "0", "the program's going on")
    assert killed > 0
    assert process.communicate("\n", timeout=60)[0] == "sum 0 errors 0\n"
    assert process.returncode == 0
