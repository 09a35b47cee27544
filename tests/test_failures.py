# SPDX-License-Identifier: BSD-2-Clause
"""test_failures - allocations that the system refused: counted by call stack, and told by summary, report, JSON and log."""
import json
import re

import pytest

import pmem_run
import pmem_tool

GIB = 1 << 30
LARGE = 2 * GIB
FUNCTIONS = {"parse_header": 3, "by_calloc": 1, "by_realloc": 1, "by_alignment": 2, "by_mmap": 1}


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def recorded(tool, program, *arguments, env=None):
    result = tool("run", "-o", "it.prof", "--", program, *arguments, env=env)
    profile = result.folder / "it.prof"
    return result, profile, json.loads(tool("report", "--json", profile).stdout)


def test_all_ways_to_ask(tool, programs):
    result, profile, document = recorded(tool, programs("fails.c"))
    assert result.returncode == 0
    failures = document["failures"]
    assert "%d %d\n" % (failures["count"], failures["bytes"]) == result.stdout.decode() == "8 %d\n" % (8 * LARGE + 3)
    by_function = {}
    for stack in failures["stacks"]:
        assert stack["first_ns"] <= stack["last_ns"] <= document["process"]["duration_ns"]
        function = stack["frames"][stack["site"]]["function"]
        by_function[function] = by_function.get(function, 0) + stack["count"]
    assert by_function == FUNCTIONS
    first = failures["stacks"][0]
    assert (first["entry"], first["count"], first["bytes"], first["first_bytes"], first["largest_bytes"]) == \
        ("malloc", 3, 3 * LARGE + 3, LARGE, LARGE + 2)
    assert {s["entry"] for s in failures["stacks"]} == {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "mmap"}
    # Nothing of it is in the heap's figures, and what realloc() left is freed.
    assert document["totals"]["alloc_bytes"] < 10 ** 6 and not document["losses"]["failures"]
    words = r"8 allocations failed, 16\.0 GiB in all; the first, 2\.0 GiB, in parse_header \(fails\.c:\d+\) at \d\d:\d\d:\d\d"
    assert re.search("^  failed   %s$" % words, result.stderr.decode(), re.M)
    assert re.search(words + r"\.", " ".join(tool("report", profile).stdout.decode().split()))


def test_the_log_has_them(run, programs):
    result = run([programs("fails.c")])
    assert result.code == 0
    log, = result.folder.glob("pmem.*.log")
    line, = {line for line in log.read_text().splitlines() if line.startswith("# failed: 8 ")}
    assert re.fullmatch(r"# failed: 8 allocations, bytes %d, first %d at uptime_s=\d+\.\d{3} \{[0-9a-f]{16}\} parse_header < main < .*"
                        % (8 * LARGE + 3, LARGE), line)


def test_a_program_that_gives_up(tool, programs):
    """The profile has them, whatever the end."""
    result, profile, document = recorded(tool, programs("fails.c"), "abort")
    assert document["failures"]["count"] == 3
    assert b"  failed   3 allocations failed, 6.0 GiB in all; the first, 2.0 GiB, in parse_header" in result.stderr


def test_nothing_failed(tool, programs):
    result, profile, document = recorded(tool, programs("fails.c"), "none")
    assert document["failures"] == {"count": 0, "bytes": 0, "stacks": []}
    assert b"failed" not in result.stderr and b"failed" not in tool("report", profile).stdout


def test_sampled(tool, programs):
    """Large ones are never between two samples."""
    document = recorded(tool, programs("fails.c"), env={"PMEM_SAMPLE": "512k"})[2]
    assert document["failures"]["count"] == 8


@pytest.mark.parametrize("allocator", ["libjemalloc.so.2", "libtcmalloc.so.4", "libmimalloc.so.2"])
def test_other_allocators_fail_once(run, tool, lib, programs, allocator):
    """What they ask the system for is not the program's."""
    library = pmem_run.installed(allocator)
    if not library:
        pytest.skip("no " + allocator)
    result = run([programs("fails.c"), "abort"], env={"LD_PRELOAD": "%s:%s" % (lib, library)})
    profile, = result.folder.glob("pmem.*.prof")
    failures = json.loads(tool("report", "--json", profile).stdout)["failures"]
    assert failures["count"] == 3 and {s["entry"] for s in failures["stacks"]} == {"malloc"}
