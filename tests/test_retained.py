# SPDX-License-Identifier: BSD-2-Clause
"""test_retained - processes that are mostly free memory are told so on the first screen, and others are not."""
import json
import re
import subprocess

import pytest

import pmem_tool

MIB = 1 << 20
SIZE = 100  # MiB


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def recorded(tool, program, mode, interval_ms=20):
    """The verdict's lines of the summary by their names, the first page, and the JSON."""
    result = tool("run", "-o", "it.prof", "--", program, mode, SIZE, env={"PMEM_TIMELINE_MS": str(interval_ms)})
    assert result.returncode == 0
    lines = dict(line[2:].split(None, 1) for line in result.stderr.decode().splitlines() if line.startswith("  "))
    profile = result.folder / "it.prof"
    page = " ".join(tool("report", profile).stdout.decode().split())
    return lines, page, json.loads(tool("report", "--json", profile).stdout)["retained"]


def test_fragments(tool, programs, root):
    lines, page, retained = recorded(tool, programs("retained.c"), "fragments")
    documented = re.findall(r"^\| `retained\.(\w+)`", (root / "doc" / "JSON.md").read_text(), re.M)
    assert set(documented) == set(retained)
    assert re.match(r"not a leak: of \d+\.\d MiB resident (9|10)\d\.\d MiB are free memory, 5\.\d times what live blocks take\. "
                    r".* \(fragmentation\): .* filled \(retained\.c:\d+\) holds 10\.0 MiB live and pins (9|10)\d\.\d MiB$", lines["verdict"])
    assert "holds 10.0 MiB, 56 %" in lines["live"]
    assert re.search(r"Not a leak: of .* \(fragmentation\): .* filled \(retained\.c:\d+\) holds 10\.0 MiB live and pins \d+\.\d MiB\. ", page)
    # Who holds most and pins most is named once.
    assert len(re.findall(r"filled \(retained\.c:\d+\) holds", page)) == 1
    assert abs(retained["free_bytes"] - 100 * MIB) < 5 * MIB and abs(retained["used_bytes"] - 19 * MIB) < MIB
    assert retained["bytes_per_minute"] is None and retained["given_back"] is False


def test_pages_that_the_allocator_keeps(tool, programs):
    lines, page, retained = recorded(tool, programs("retained.c"), "shrunk")
    assert lines["verdict"].startswith("not a leak: of ") and "malloc_trim(0) would return about 1" in lines["verdict"]
    assert "pins" not in lines["verdict"] and "freed but kept by glibc" in page
    assert retained["free_bytes"] > 100 * MIB


def test_a_heap_that_is_freed_at_the_end(tool, programs):
    lines, page, retained = recorded(tool, programs("retained.c"), "healthy")
    assert "free memory" not in page and "a leak" not in lines["verdict"] and "live" not in lines and retained is None


def test_a_program_that_rests(tool, programs):
    """Without events it has no points of the timeline but the first and the last one, and where it was made slowly some before."""
    lines, page, retained = recorded(tool, programs("retained.c"), "rests", 250)
    assert re.match(r"(mostly free memory|not a leak): of ", lines["verdict"]) and "(fragmentation)" in lines["verdict"]
    assert re.search("(Mostly free memory|Not a leak): of ", page) and abs(retained["free_bytes"] - 100 * MIB) < 5 * MIB


def test_a_program_that_rests_with_a_full_heap(tool, programs):
    lines, page, retained = recorded(tool, programs("retained.c"), "holds", 250)
    assert "ree memory" not in page and "ree memory" not in lines["verdict"] and retained is None


def test_what_grows_comes_first(tool, programs):
    lines, page, retained = recorded(tool, programs("retained.c"), "leaks")
    assert "keep (retained.c:" in lines["verdict"] and "grow" in lines["verdict"]
    assert lines["retained"].startswith("beside that: of ") and retained
    assert page.index("keep (retained.c:") < page.index("Beside that: of ")


def test_a_process_that_runs(run, tool, programs):
    process = run.start([programs("retained.c"), "fragments", SIZE, "wait"], env={"PMEM_TIMELINE_MS": "20"}, stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        page = " ".join(tool("report", process.pid).stdout.decode().split())
    finally:
        process.communicate(b"\n")
    assert re.search(r"Not a leak: of .* are free memory, 5\.\d times what live blocks take\. .* pins (9|10)\d\.\d MiB\.", page)


@pytest.mark.parametrize("code", ["x = [str(i) for i in range(300000)]", "x = {i: str(i) for i in range(300000)}; x.clear()",
                                  "import json; x = [json.dumps(list(range(100))) for i in range(5000)]"])
def test_healthy_programs(tool, code):
    result = tool("run", "-o", "it.prof", "--", "python3", "-c", code, env={"PMEM_TIMELINE_MS": "20"})
    assert result.returncode == 0 and b"free memory" not in result.stderr
    assert b"free memory" not in tool("report", result.folder / "it.prof").stdout
