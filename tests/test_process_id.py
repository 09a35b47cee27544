# SPDX-License-Identifier: BSD-2-Clause
"""test_process_id - a process id that leads to no profile: every command says why, and what to do, and nothing that is not so."""
import os
import shutil
import subprocess
import threading

import pytest

import pmem_run
import pmem_tool

COMMANDS = [("report", "PID"), ("info", "PID"), ("html", "PID"), ("serve", "PID"), ("bundle", "PID"), ("export", "--format", "csv", "PID"),
            ("top", "-b", "-n", "1", "PID"), ("leaks", "-q", "PID"), ("diff", "PID", "PID"), ("push", "--to", "parca", "http://127.0.0.1:9", "PID")]
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="not root")


@pytest.fixture(scope="module")
def tool(lib, tmp_path_factory):
    return pmem_tool.Tool(lib, tmp_path_factory.mktemp("tool"))


@pytest.fixture
def sleeper():
    """A process that is not recorded."""
    process = subprocess.Popen(["sleep", "1000"], env=pmem_run.environment(None))
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def zombie():
    """One that has ended, and is not waited for yet."""
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    yield process.pid
    process.wait()


def said(tool, pid, command=COMMANDS[0], before=()):
    """The one line on standard error of a command that fails, without its beginning."""
    argv = [str(pid) if word == "PID" else word for word in command]
    result = subprocess.run([*before, tool.program, *argv], cwd=tool.folder(), env=pmem_run.environment(None, {"PMEM_LIB": tool.lib}),
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1 and result.stdout == "", result
    begin = "pmem %s: " % command[0]
    assert result.stderr.startswith(begin) and result.stderr.count("\n") == 1, result.stderr
    return result.stderr[len(begin):-1]


def kernel_thread():
    """The id of one; None: /proc shows none, as in a container."""
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and int(open("/proc/%s/stat" % name).read().rpartition(")")[2].split()[6]) & 0x200000:
                return int(name)
        except OSError:
            pass
    return None


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_every_command_says_the_same(tool, sleeper, zombie, command):
    assert said(tool, sleeper.pid, command) == ("process %d is not recorded by pmem: that begins with the program's start: "
                                                "pmem run -- PROGRAM" % sleeper.pid)
    assert said(tool, zombie, command) == ("process %d has ended (its parent has not waited for it yet), and it left no profile in "
                                           "this folder" % zombie)
    assert said(tool, 2000000000, command) == "2000000000: there is no such file and no such process, and it left no profile in this folder"


def test_a_thread_of_the_kernel(tool):
    pid = kernel_thread()
    if pid is None:
        pytest.skip("no kernel thread is shown here")
    assert said(tool, pid) == "process %d is a thread of the kernel: it has no heap to record" % pid


def test_a_thread_is_no_process(tool):
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        assert said(tool, thread.native_id) == "%d is a thread of process %d: name the process" % (thread.native_id, os.getpid())
    finally:
        ended.set()
        thread.join()


needs_setpriv = pytest.mark.skipif(not shutil.which("setpriv"), reason="no setpriv here")


AS_NOBODY = ["setpriv", "--reuid", str(NOBODY), "--clear-groups"]


def check_nobody_can(tool):
    if subprocess.run([*AS_NOBODY, tool.program, "--version"], capture_output=True).returncode != 0:
        pytest.skip("nobody may not execute the tool where it lies")


@needs_root
@needs_setpriv
def test_a_process_of_another_user(tool, sleeper):
    check_nobody_can(tool)
    assert said(tool, sleeper.pid, before=AS_NOBODY) == "process %d is of another user (0): run pmem as that user or as root" % sleeper.pid


def unreadable_for_root():
    """(a process id, what makes it so): as in a container."""
    before = ["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"]
    for pid in (1, os.getpid()):
        for wrapper in ([], before):
            if subprocess.run([*wrapper, "cat", "/proc/%d/maps" % pid], capture_output=True).returncode != 0:
                return pid, wrapper
    return None


@needs_root
@needs_setpriv
def test_root_is_not_told_to_be_root(tool):
    found = unreadable_for_root()
    if not found:
        pytest.skip("root may look at everything here")
    pid, before = found
    assert said(tool, pid, before=before) == (
        "process %d may not be looked at, though pmem runs as root: it is of another container or sandbox, or has privileges that pmem has "
        "not (CAP_SYS_PTRACE)" % pid)


@needs_root
@needs_setpriv
def test_a_process_of_the_same_user_that_forbids_it(tool):
    check_nobody_can(tool)
    script = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print(flush=True); input()"  # PR_SET_DUMPABLE
    process = subprocess.Popen([*AS_NOBODY, "python3", "-c", script], cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        assert said(tool, process.pid, before=AS_NOBODY) == (
            "process %d may not be looked at, though it is of the same user: it has privileges, or has forbidden it (PR_SET_DUMPABLE); run "
            "pmem as root" % process.pid)
    finally:
        process.communicate(b"\n")
