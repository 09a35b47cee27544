# SPDX-License-Identifier: BSD-2-Clause
"""test_recovery - recording goes on, at its usual speed, after what the recorder cannot prevent."""
import subprocess

import pytest

import pmem_report
import pmem_tool

# process_vm_readv, getpid, tgkill, membarrier, prlimit64 of x86_64
CALLS = {"process_vm_readv": 310, "getpid": 39, "tgkill": 234, "membarrier": 324, "prlimit64": 302}


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def read(tool, result):
    return pmem_report.read(tool, pmem_report.find(result.folder)[0])


def live(report, function):
    stacks = [s for s in report.document["stacks"] if any(function in (f.symbol, f.mark) for f in s["frames"])]
    return sum(s["live_bytes"] for s in stacks), sum(s["live_blocks"] for s in stacks)


@pytest.mark.parametrize("jumps", [0, 3, 30, 300])
def test_handlers_that_jump_out_of_the_recorder_do_not_end_recording(run, tool, programs, jumps):
    result = run([programs("jumps_out.c"), jumps], timeout=60)
    assert (result.code, result.err) == (0, b"")
    report = read(tool, result)
    # About one in ten thousand leaves a lock behind: new call stacks of the thread have no name of their own then, which is counted.
    if live(report, "known") != (300000, 100):
        assert jumps and report.losses["short_stacks"] and live(report, "[signal handler]") >= (300000, 100)
    # What was interrupted is lost, and counted.
    assert report.losses["events"] <= 2 * jumps


@pytest.mark.parametrize("call", [*CALLS, "all"])
def test_a_refused_system_call_does_not_slow_the_program_down(run, tool, programs, tmp_path, call):
    """A look at the modules that fails each time would be made at each event from the first dlopen() on: minutes, not a second."""
    (tmp_path / "plugin.c").write_text("int plugin(void) { return 1; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "plugin.so", tmp_path / "plugin.c"], check=True)
    numbers = ",".join(map(str, CALLS.values())) if call == "all" else CALLS[call]
    result = run([programs("refuse_call.c"), numbers, "env", "LD_PRELOAD=%s" % run.lib, programs("opens.c"), tmp_path / "plugin.so"],
                 lib=False, timeout=30)
    if result.code == 99:
        pytest.skip("no seccomp filters here")
    assert (result.code, result.err) == (0, b"")
    report = read(tool, result)
    assert live(report, "keep") == (50000, 1000)
    assert report.losses["complete"] is True
