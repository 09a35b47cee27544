# SPDX-License-Identifier: BSD-2-Clause
"""pmem info on profiles that were written here: what it prints, its errors and exit codes."""
import json
import os
import re

import pytest

from pmem_profile import F, Profile


@pytest.fixture
def info(root, tmp_path):
    """Runs `pmem info` in an empty folder: info("a.prof", "--json") -> subprocess.CompletedProcess."""
    import subprocess
    program = os.environ.get("PMEM_TEST_TOOL") or root / "build" / "pmem"
    if not os.path.exists(program):
        pytest.skip("%s does not exist: build it first (script/build) or set PMEM_TEST_TOOL" % program)

    def run(*arguments):
        return subprocess.run([program, "info", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    return run


def example():
    profile = Profile()
    program = profile.module("/usr/bin/server", b"0123456789")
    profile.header(program="/usr/bin/server", command="server\0--port\0" + "80\0", directory="/srv", host="box",
                   refused_setting="PMEM_LOG_MAX=lots", pid=4711, parent_pid=12, end_ns=2_000_000_000, peak_bytes=4096,
                   own_bytes=1 << 20, snapshot_count=3, snapshot_ns=20_000_000, lifetime_sample=64)
    stack = profile.stack([(program, 0x1000), (program, 0x2000)])
    profile.count(0, stack, alloc_count=10, alloc_bytes=4096)
    profile.count(1, stack, free_count=4, free_bytes=1024, temporary_count=1)
    return profile


def test_text(info, tmp_path):
    example().save(tmp_path / "a.prof")
    result = info("a.prof")
    assert (result.returncode, result.stderr) == (0, "")
    for words in ("server (pid 4711)", "nothing lost", "3.0 KiB live", "peak 4.0 KiB", "by pmem 0.0.test", "ended",
                  "1 call stack,", "2 nodes", "2 threads", "PMEM_LOG_MAX=lots", "server --port 80", "3 snapshots, 1 %",
                  "1.0 MiB of memory"):
        assert words in result.stdout
    assert "partial" not in result.stdout
    assert "\x1b" not in result.stdout
    assert info().stdout == result.stdout  # the newest one here


def test_json(info, tmp_path):
    profile = example()
    profile.loss("EVENTS", 7)
    profile.header(unknown_freed=5, inherited_freed=6)
    profile.save(tmp_path / "a.prof")
    result = info("--json", "a.prof")
    assert (result.returncode, result.stderr) == (0, "")
    facts = json.loads(result.stdout)
    assert facts["totals"] == dict(live_bytes=3072, live_blocks=6, alloc_bytes=4096, alloc_blocks=10, free_bytes=1024,
                                   free_blocks=4, peak_live_bytes=4096, temporary_blocks=1)
    assert facts["process"]["cmdline"] == ["server", "--port", "80"]
    assert facts["process"]["duration_ns"] == 2_000_000_000
    assert facts["losses"]["events"] == 7 and facts["losses"]["internal"] == 0
    assert facts["coverage"]["unknown_freed"] == 5 and facts["coverage"]["inherited_freed"] == 6
    assert facts["counts"]["stacks"] == 1 and facts["counts"]["nodes"] == 2
    assert facts["recording"]["state"] == "ended"
    assert facts["file"]["partial"] is False and facts["file"]["damage"] is None
    assert facts["file"]["bytes"] == os.path.getsize(tmp_path / "a.prof")


def test_names_cannot_reach_the_terminal(info, tmp_path):
    profile = example()
    profile.header(program="/bin/\x1b[31mred")
    profile.save(tmp_path / "a.prof")
    assert "\x1b" not in info("a.prof").stdout


def test_killed_and_partial(info, tmp_path):
    profile = example()
    profile.header(state=F["STATE_RECORDING"], end_ns=0, update_ns=5, memory_blocks=2, file_error=28)
    profile.save(tmp_path / "a.prof")
    text = info("a.prof").stdout
    assert "cut off: the process was killed" in text
    assert "32.0 KiB found no room in the file (No space left on device) and is missing" in text
    facts = json.loads(info("--json", "a.prof").stdout)
    assert facts["recording"]["state"] == "cut off" and facts["file"]["partial"] is True


def test_cut_off(info, tmp_path):
    content = example().image()
    (tmp_path / "a.prof").write_bytes(content[:len(content) // 2 + 3])
    result = info("a.prof")
    assert result.returncode == 0
    assert re.search(r"the file is cut off: \d+ blocks are missing", result.stdout)
    assert "damaged" not in result.stdout


@pytest.mark.parametrize("arguments, code, words", [
    ((), 1, "no profile (*.prof) in this folder; make one with: pmem run -- PROGRAM"),
    (("missing.prof",), 1, "missing.prof: No such file or directory"),
    (("2000000000",), 1, "no such process"),
    (("text",), 1, "text: not a profile"),
    (("empty",), 1, "empty: not a profile"),
    (("version",), 1, "format version 99"),
    (("--nonsense",), 2, "--nonsense"),
    (("a", "b"), 2, "one profile at a time"),
])
def test_errors(info, tmp_path, arguments, code, words):
    if arguments:
        (tmp_path / "text").write_text("Not what you think.")
        (tmp_path / "empty").write_text("")
        profile = Profile()
        profile.header(version=99)
        profile.save(tmp_path / "version")
    result = info(*arguments)
    assert (result.returncode, result.stdout) == (code, "")
    assert words in result.stderr
    assert len(result.stderr.splitlines()) <= 2


def test_help(info):
    result = info("--help")
    assert result.returncode == 0 and "--json" in result.stdout
