# SPDX-License-Identifier: BSD-2-Clause
"""test_frame_table - `pmem report --json --frame-table`: each frame once, so that deep call stacks do not repeat what they share."""
import json
import subprocess

import pytest

import pmem_tool

DEPTH, EACH = 3000, 30
PROGRAM = """
#include <stdlib.h>
#include <sys/mman.h>
static void *volatile kept;
static inline __attribute__((always_inline)) void take(size_t size) { kept = malloc(size); }
__attribute__((noinline)) static void down(int left)
{
	if (left %% %d == 0)
		take(16 + left);
	if (left > 0)
		down(left - 1);
	else
		kept = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__asm__ volatile("");
}
int main(void) { down(%d); return 0; }
""" % (EACH, DEPTH)


class Deep:
    """The output with frames in each call stack, and with a table of them."""

    def __init__(self, tool, profile):
        self.tool, self.profile = tool, profile
        self.plain, self.shared = self.print(), self.print("--frame-table")

    def print(self, *options):
        done = self.tool("report", "--json", *options, self.profile)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout


@pytest.fixture(scope="module")
def deep(lib, tmp_path_factory):
    folder = tmp_path_factory.mktemp("deep")
    (folder / "deep.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-o", folder / "deep", folder / "deep.c"], check=True)
    tool = pmem_tool.Tool(lib, folder)
    assert tool("run", "-q", "-o", folder / "deep.prof", "--", folder / "deep").returncode == 0
    return Deep(tool, folder / "deep.prof")


def frames_of(document, node):
    """What doc/JSON.md says: from a node to the root, the frames of each one's location."""
    found = []
    while node:
        found += document["locations"][document["nodes"][node]["location"]]["frames"]
        node = document["nodes"][node]["parent"]
    return found


def test_it_says_the_same(deep):
    plain, shared = json.loads(deep.plain), json.loads(deep.shared)
    assert shared["nodes"][0] == {"parent": None, "location": None}
    assert len(shared["stacks"]) == DEPTH // EACH + 1 and len(shared["mappings"]["stacks"]) == 1
    for stack in shared["stacks"] + shared["mappings"]["stacks"]:
        stack["frames"] = frames_of(shared, stack.pop("node"))
    del shared["nodes"], shared["locations"]
    assert shared == plain
    assert max(len(s["frames"]) for s in plain["stacks"]) > DEPTH
    assert any(frame["inlined"] for frame in plain["stacks"][0]["frames"])


def test_it_is_as_large_as_the_tree(deep):
    """Here 100 call stacks of 1,500 frames on average."""
    assert len(deep.shared) < len(deep.plain) / 50 and len(deep.shared) < 1 << 20


def test_mappings_alone_have_it_too(deep):
    plain, shared = json.loads(deep.print("--mappings")), json.loads(deep.print("--mappings", "--frame-table"))
    plain_stack, = plain["mappings"]["stacks"]
    stack, = shared["mappings"]["stacks"]
    assert frames_of(shared, stack["node"]) == plain_stack["frames"] and "frames" not in stack and "node" not in plain_stack


def test_it_is_for_json(tool, deep):
    for view in ([], ["--csv"], ["--tree"]):
        done = tool("report", "--frame-table", *view, deep.profile)
        assert (done.returncode, done.stdout) == (2, b"") and b"--frame-table: goes with --json" in done.stderr


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)
