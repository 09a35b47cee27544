# SPDX-License-Identifier: BSD-2-Clause
"""test_golden - profiles of every version of the format that was ever written are read as they were.

Names are left out: they depend on the machine's own files.
"""
import json
import pathlib

import pytest

import pmem_tool

GOLDEN = pathlib.Path(__file__).parent / "golden"
COUNTS = ("live_bytes", "live_blocks", "alloc_bytes", "alloc_blocks", "free_bytes", "free_blocks", "peak_bytes", "peak_blocks",
          "temporary_blocks")


def figures(document):
    """All that does not depend on the machine that reads."""
    stacks = sorted([s["id"], s["entry"], [s[k] for k in COUNTS],
                     [[f["module"], f["offset"]] for f in s["frames"] if not f["inlined"]]] for s in document["stacks"])
    process = {k: document["process"][k] for k in ("pid", "exe", "cmdline", "start", "duration_ns", "state")}
    return {"process": process, "totals": document["totals"], "losses": document["losses"], "stacks": stacks,
            "marks": document["marks"], "points": len(document["timeline"]), "threads": len(document["threads"])}


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.prof")), ids=lambda p: p.stem)
def test_golden_profile_reads_as_it_did(tool, path):
    result = tool("report", "--json", path)
    assert result.returncode == 0, result.stderr
    assert figures(json.loads(result.stdout)) == json.loads(path.with_suffix(".json").read_text())


def test_golden_figures_are_the_programs():
    """The expected figures follow from what the program does, not from what pmem once said."""
    golden = json.loads((GOLDEN / "version1.json").read_text())
    kept = sum(range(10, 410))
    freed = sum(range(10, 210))
    own = [s for s in golden["stacks"] if s[3] and s[3][0][0].endswith("/golden")]
    assert sum(s[2][2] for s in own) == kept + 400 * 100
    assert sum(s[2][0] for s in own) == kept - freed
    assert sum(s[2][8] for s in own) == 400  # temporary
    assert [m["text"] for m in golden["marks"]] == ["loaded"]
