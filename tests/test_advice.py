# SPDX-License-Identifier: BSD-2-Clause
"""test_advice - what to change, with the numbers of programs that know them: now, and from the profile that they leave."""
import json
import subprocess

import pytest

import pmem_run
import pmem_tool

KINDS = {"temporaries": ("temporaries", "temporary"), "realloc": ("realloc", "grow"), "slack": ("slack", "keep"), "foreign": ("foreign_frees", "produce")}
KEYS = {"kind", "function", "stack_id", "gain_calls", "gain_bytes", "share", "blocks", "mean_bytes", "lifetime_ns", "grown_blocks", "realloc_calls"}


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


class Program:
    """advice.c, when it has done its work."""

    def __init__(self, run, program, mode, env=None):
        self.process = run.start([program, mode], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.says = {}
        for line in self.process.stdout:
            name, number = line.split()
            if name == "ready":
                break
            self.says[name] = int(number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()

    def end(self):
        self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0
        return self.process.folder / ("pmem.%d.prof" % self.process.pid)


def advice(tool, *argv):
    result = tool("report", "--advice", "--json", *argv)
    assert result.returncode == 0, result.stderr
    items = json.loads(result.stdout)["advice"]
    assert all(set(item) == KEYS for item in items)
    shares = [item["share"] for item in items]
    assert shares == sorted(shares, reverse=True)
    return items


def check(item, says):
    gain = item["gain_bytes"] if item["gain_calls"] is None else item["gain_calls"]
    found = {**item, "gain": gain}
    assert {name: found[name] for name in says if name != "whole"} == {name: says[name] for name in says if name != "whole"}
    if "whole" in says:
        assert item["share"] == round(gain / says["whole"], 6)


@pytest.mark.parametrize("mode", KINDS)
def test_the_numbers_are_the_programs_own(run, tool, programs, mode):
    kind, function = KINDS[mode]
    with Program(run, programs("advice.c"), mode) as program:
        now = advice(tool, program.process.pid)
        screen = tool("report", "--advice", program.process.pid).stdout.decode()
        profile = program.end()
    at_end = advice(tool, profile)
    for items in now, at_end:
        assert [(item["kind"], item["function"]) for item in items] == [(kind, function)]
        says = dict(program.says)
        # At the end of a larger process a sample of its pages is looked at.
        if mode == "slack" and items is at_end:
            assert abs(items[0]["gain_bytes"] - says.pop("gain")) <= program.says["gain"] // 50
        check(items[0], says)
    assert json.loads(tool("report", "--json", profile).stdout)["advice"] == at_end
    assert function + " (advice.c:" in screen and "What to change" in screen
    assert all(len(line) <= 80 for line in screen.splitlines())


def test_temporaries_say_how_short_they_live(run, tool, programs):
    with Program(run, programs("advice.c"), "temporaries") as program:
        item, = advice(tool, program.process.pid)
    assert item["mean_bytes"] == 48 and 1024 <= item["lifetime_ns"] <= 1 << 20


def test_pages_that_are_moved_are_no_copies(run, tool, programs):
    with Program(run, programs("advice.c"), "mremap") as program:
        profile = program.end()
    assert advice(tool, profile) == []
    assert "Nothing is worth a change" in " ".join(tool("report", "--advice", profile).stdout.decode().split())


@pytest.mark.parametrize("allocator", ["libjemalloc.so.2", "libtcmalloc.so.4"])
def test_realloc_over_other_allocators(run, tool, programs, lib, allocator):
    library = pmem_run.installed(allocator)
    if not library:
        pytest.skip("no " + allocator)
    with Program(run, programs("advice.c"), "realloc", {"LD_PRELOAD": "%s:%s" % (lib, library)}) as program:
        now = [item for item in advice(tool, program.process.pid) if item["kind"] == "realloc"]
    check(now[0], program.says)


def test_the_first_page_has_what_is_large(run, tool, programs):
    pages, html = {}, {}
    for mode in "foreign", "realloc":
        with Program(run, programs("advice.c"), mode) as program:
            profile = program.end()
            pages[mode] = " ".join(tool("report", profile).stdout.decode().split())
            html[mode] = tool("html", "-o", "-", profile).stdout.decode()
    assert "at least 20,000 of 20,000 freed blocks were freed by other threads" in pages["foreign"]
    assert "More: --advice." in pages["foreign"]
    # Who reads it in a browser has no options.
    assert "More: pmem report --advice." in html["foreign"]
    # Four percent of all bytes are not.
    assert "realloc()" not in pages["realloc"]


def test_part_of_the_time_or_another_view(run, tool, programs):
    with Program(run, programs("advice.c"), "foreign") as program:
        profile = program.end()
    for argv, words, code in (["--since", "0s"], b"--since", 1), (["--tree"], b"one view", 2), (["--rss", "--json"], b"one view", 2):
        result = tool("report", "--advice", *argv, profile)
        assert result.returncode == code and words in result.stderr and not result.stdout
    assert advice(tool, "--focus", "produce", profile) and not advice(tool, "--ignore", "produce", profile)


def test_a_sample_knows_no_slack(run, tool, programs):
    with Program(run, programs("advice.c"), "temporaries", {"PMEM_SAMPLE": "1024", "PMEM_SAMPLE_SEED": "1"}) as program:
        profile = program.end()
    item, = advice(tool, profile)
    assert abs(item["gain_calls"] - program.says["gain"]) <= program.says["gain"] // 10
    assert "What size classes waste is not known" in " ".join(tool("report", "--advice", profile).stdout.decode().split())


def test_a_child_counts_its_own(run, tool, tmp_path):
    """The parent's counts of realloc() are not the child's."""
    source = tmp_path / "child.c"
    source.write_text("""#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void *grow(void *block, size_t size) { return realloc(block, size); }
static void work(int count) {
	for (int i = 0; i < count; i++) {
		char *block = NULL;
		for (size_t size = 4096; size <= 16 * 4096; size += 4096) {
			block = memset(grow(block, size), 1, size);
			*(void *volatile *)&(void *){malloc(100)};
		}
		free(block);
	}
}
int main(void) { work(200); if (fork() == 0) { work(100); _exit(0); } wait(NULL); return 0; }
""")
    program = tmp_path / "child"
    subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-o", program, source], check=True)
    mine = run([program])
    found = sorted(advice(tool, path)[0]["grown_blocks"] for path in mine.folder.glob("*.prof"))
    assert found == [100, 200]
