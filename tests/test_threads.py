# SPDX-License-Identifier: BSD-2-Clause
"""test_threads - what threads cost the recorder."""
import json

import pytest

import pmem_tool


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def test_threads_without_events_leave_nothing(tool, programs):
    """glibc ends each thread with a free(NULL) after the last destructors, too late to hand a struct over."""
    result = tool("run", "-q", "-o", "idle.prof", "--", programs("idle_threads.c", "-pthread"))
    assert result.returncode == 0, result.stderr
    document = json.loads(tool("report", "--json", result.folder / "idle.prof").stdout)
    assert len(document["threads"]) <= 2


def test_threads_that_end_by_a_raw_system_call_leave_little_behind(programs, tool):
    result = tool("run", "-q", "-o", "raw.prof", "--", programs("raw_exit_threads.c", "-pthread"))
    assert result.returncode == 0, result.stderr
    document = json.loads(tool("report", "--json", result.folder / "raw.prof").stdout)
    assert len(document["threads"]) <= 130
    leaks = [s for s in document["stacks"] if any("leave" in f.get("function", "") for f in s["frames"])]
    assert sum(s["live_bytes"] for s in leaks) == 1000 * 1000
    assert sum(s["live_blocks"] for s in leaks) == 1000
