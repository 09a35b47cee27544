# SPDX-License-Identifier: BSD-2-Clause
"""test_governor - PMEM_MAX_OVERHEAD: call stacks are thinned when their capture takes too much time, totals never, and it is said."""
import json
import subprocess

import pytest

import pmem_run
import pmem_tool

SETTINGS = {"PMEM_LOG": "0", "PMEM_TIMELINE_MS": "0"}


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


@pytest.fixture
def record(lib, tool, programs, tmp_path):
    """Runs many_walks, or another program, with these settings: (its own bookkeeping, the report)."""
    def recorded(rounds, settings, program="many_walks.c"):
        result = pmem_run.Runner(lib, tmp_path)([programs(program, "-O1", "-g"), str(rounds)], {**SETTINGS, **settings})
        assert result.code == 0, result.err
        report = tool("report", "--json", "--all-frames", next(iter(result.folder.glob("pmem.*.prof"))))
        assert report.returncode == 0, report.stderr
        return json.loads(result.out), json.loads(report.stdout)
    return recorded


def functions(stack):
    return [frame["function"] for frame in stack["frames"]]


def sums(report, site):
    """(allocated bytes, blocks, live bytes) of the call stacks that have a function of that name, and how many there are."""
    stacks = [stack for stack in report["stacks"] if site in functions(stack)]
    return (sum(stack["alloc_bytes"] for stack in stacks), sum(stack["alloc_blocks"] for stack in stacks),
            sum(stack["live_bytes"] for stack in stacks)), stacks


def test_totals_stay_exact_while_call_stacks_are_thinned(record):
    truth, report = record(300, {"PMEM_MAX_OVERHEAD": "1"})
    figures, stacks = sums(report, "leaf_site")
    assert figures == (truth["bytes"], truth["blocks"], truth["kept"])
    alone = [stack for stack in stacks if "[not taken]" in functions(stack)]
    assert len(alone) == 1 and functions(alone[0])[-1] == "[not taken]"
    assert report["losses"]["not_taken"] == sum(stack["alloc_blocks"] for stack in report["stacks"]
                                                if "[not taken]" in functions(stack))
    # Far more than half: a walk takes longer than the program needs for a leaf.
    assert truth["blocks"] / 2 < alone[0]["alloc_blocks"] < truth["blocks"]


def test_what_comes_again_is_always_recorded_whole(record):
    truth, report = record(300, {"PMEM_MAX_OVERHEAD": "1"})
    figures, stacks = sums(report, "calm")
    assert figures == (truth["calm"], 1000, truth["calm"])
    assert len(stacks) == 1 and "main" in functions(stacks[0])


def test_the_first_moments_are_recorded_whole(record):
    """The start of a program, without a walk over the tree: less than the credit that each thread has at first."""
    truth, report = record(0, {"PMEM_MAX_OVERHEAD": "1"})
    assert report["losses"]["not_taken"] == 0
    assert truth["blocks"] == 0


def test_without_a_bound_all_call_stacks_are_whole(record):
    truth, report = record(2, {})
    figures, stacks = sums(report, "leaf_site")
    assert figures == (truth["bytes"], truth["blocks"], truth["kept"])
    assert len(stacks) == 2 ** 12
    assert report["losses"]["not_taken"] == 0
    assert not any("[not taken]" in functions(stack) for stack in report["stacks"])


def test_a_bound_that_is_not_reached_thins_nothing(record):
    truth, report = record(1, {"PMEM_MAX_OVERHEAD": "1000"})
    figures, stacks = sums(report, "leaf_site")
    assert figures == (truth["bytes"], truth["blocks"], truth["kept"])
    assert len(stacks) == 2 ** 12


def mapped(report):
    """((mapped bytes, calls, bytes that stay), the call stacks) of what map_site() mapped."""
    stacks = [stack for stack in report["mappings"]["stacks"] if "map_site" in functions(stack)]
    return tuple(sum(stack[key] for stack in stacks) for key in ("mapped_in_all_bytes", "calls", "mapped_bytes")), stacks


def test_mappings_are_thinned_too_and_their_totals_exact(record):
    truth, report = record(600, {"PMEM_MAX_OVERHEAD": "1"}, "many_maps.c")
    figures, stacks = mapped(report)
    assert figures == (truth["bytes"], truth["calls"], truth["kept"])
    alone, = [stack for stack in stacks if "[not taken]" in functions(stack)]
    assert functions(alone)[-1] == "[not taken]"
    assert report["losses"]["not_taken"] == alone["calls"] + sum(stack["alloc_blocks"] for stack in report["stacks"]
                                                                if "[not taken]" in functions(stack))
    assert 0 < alone["calls"] < truth["calls"]
    assert report["losses"]["mappings"] == 0


def test_without_a_bound_all_mappings_are_whole(record):
    truth, report = record(2, {}, "many_maps.c")
    figures, stacks = mapped(report)
    assert figures == (truth["bytes"], truth["calls"], truth["kept"])
    assert len(stacks) == 2 ** 10 and report["losses"]["not_taken"] == 0


HELPER = """#include <sys/mman.h>
#include <stddef.h>
__attribute__((noinline)) void *map_for_anybody(size_t size)
{
	void *made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__asm__ volatile("");
	return made;
}
"""
ALLOCATOR = """#include <stddef.h>
#include <string.h>
void *map_for_anybody(size_t size);
static char *at, *end;
void *malloc(size_t size)
{
	size = (size + 31) & ~(size_t)15;
	if ((size_t)(end - at) < size) {
		at = map_for_anybody(size + 8192);
		end = at + size + 8192;
	}
	*(size_t *)at = size - 16;
	at += size;
	return at - size + 16;
}
void free(void *block) { (void)block; }
size_t malloc_usable_size(void *block) { return block ? ((size_t *)block)[-2] : 0; }
void *calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }
void *realloc(void *block, size_t size)
{
	void *made = malloc(size);
	size_t old = malloc_usable_size(block);
	return block ? memcpy(made, block, old < size ? old : size) : made;
}
"""
BOTH = """#include <stdio.h>
#include <stdlib.h>
void *map_for_anybody(size_t size);
static __attribute__((noinline)) int walk(int depth, int path)
{
	if (depth)
		return walk(depth - 1, path << 1) + walk(depth - 1, path << 1 | 1);
	__asm__ volatile("" : : "r"(malloc(100)) : "memory");
	map_for_anybody(4096);
	return 1;
}
int main(void)
{
	int calls = 0;
	for (int i = 0; i < 800; i++)
		calls += walk(9, 0);
	printf("%d", calls);
	return 0;
}
"""


def test_a_caller_that_maps_for_the_allocator_too_is_walked_each_time(lib, tool, tmp_path):
    """Only its call stack tells whose a mapping is."""
    for name, text in ("helper", HELPER), ("allocator", ALLOCATOR), ("both", BOTH):
        (tmp_path / (name + ".c")).write_text(text)
        output = ["-o", tmp_path / "both"] if name == "both" else ["-shared", "-fPIC", "-o", tmp_path / ("lib%s.so" % name)]
        subprocess.run(["gcc", "-O1", "-fno-builtin", tmp_path / (name + ".c"), *output, *([] if name == "helper" else [
            "-L", tmp_path, "-lhelper", "-Wl,-rpath,%s" % tmp_path])], check=True)
    env = {**SETTINGS, "PMEM_MAX_OVERHEAD": "1", "LD_PRELOAD": "%s:%s" % (lib, tmp_path / "liballocator.so")}
    result = pmem_run.Runner(lib, tmp_path)([tmp_path / "both"], env)
    assert result.code == 0, result.err
    report = json.loads(tool("report", "--json", "--all-frames", next(iter(result.folder.glob("pmem.*.prof")))).stdout)
    assert int(result.out) == report["mappings"]["calls"] == 800 * 2 ** 9
    assert report["losses"]["not_taken"] > 0


def test_run_says_what_was_thinned(tool, programs, tmp_path):
    program = programs("many_walks.c", "-O1", "-g")
    result = tool("run", "--no-log", "--max-overhead", "0.1%", "--", program)
    assert result.returncode == 0
    assert "allocations without a call stack, to keep the overhead down" in result.stderr.decode()
    info = tool("info", next(iter(tmp_path.glob("**/pmem.*.prof"))))
    assert "0.1 % of the CPU time for capturing call stacks" in info.stdout.decode()


@pytest.mark.parametrize("text,tenths", [("3%", "30"), ("3", "30"), ("0.5%", "5"), ("100%", "1000"), ("0", "0")])
def test_run_takes_percentages(tool, text, tenths):
    result = tool("run", "-q", "--no-log", "--max-overhead=" + text, "--", "sh", "-c", "echo $PMEM_MAX_OVERHEAD")
    assert (result.returncode, result.stdout) == (0, tenths.encode() + b"\n")


@pytest.mark.parametrize("text", ["", "%", "3%%", "-3", "101", "100.1%", "0.55%", "3 %", "x", "1e1", "999999999999999999999"])
def test_run_refuses_what_is_no_percentage(tool, text):
    result = tool("run", "--max-overhead=" + text, "--", "true")
    assert result.returncode == 125
    assert b"is not a percentage" in result.stderr


def test_a_setting_that_is_none_is_told(tool, record):
    _, report = record(0, {"PMEM_MAX_OVERHEAD": "1001"})
    assert report["recorder"]["refused_setting"] == "PMEM_MAX_OVERHEAD=1001"
