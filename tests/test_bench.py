# SPDX-License-Identifier: BSD-2-Clause
"""test_bench - bench/run works: its lists, a quick run's figures, its table in a document, refusals."""
import json
import os
import subprocess
import sys

import pytest

import pmem_tool

SPREAD = {"median", "min", "max"}


@pytest.fixture
def bench(root, tmp_path):
    """bench(option...): runs bench/run with an empty folder for what it builds and records."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def run(*options):
        command = [sys.executable, root / "bench" / "run", "--scratch", scratch, *options]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert os.listdir(scratch) == [], "something is left behind"
        return result
    return run


@pytest.fixture
def built(lib):
    return ["--library", lib, "--tool", str(pmem_tool.find(lib))]


def test_list_names_every_kind_of_workload_and_measures_nothing(bench):
    result = bench("--list")
    assert result.returncode == 0, result.stderr
    names = [line.split()[0] for line in result.stdout.splitlines() if line.startswith("  ")]
    for name in ("pair:same:20:1", "pair:leaves:5:1", "pair:sizes:20:8", "pair:tree:60:1", "pair:handover:20:64", "python", "sqlite", "jq", "perl",
                 "cc1plus", "xmllint", "node", "redis", "factor", "factor-2", "cubes", "stacks", "paths", "sites", "memory:1000:100000:200", "memory:64:100000:100000", "startup:true",
                 "startup:git"):
        assert names.count(name) == 1, name


def test_quick_run_measures_a_pair_and_a_program(bench, built, tmp_path):
    document = tmp_path / "page.md"
    document.write_text("before\n<!-- bench/run: begin; what follows is written by it -->\nold\n<!-- bench/run: end -->\nafter\n")
    result = bench("--quick", "-w", "pair:same:5:1", "-w", "cubes", "--json", tmp_path / "out.json", "--doc", document, *built)
    assert result.returncode == 0, result.stderr
    data = json.loads((tmp_path / "out.json").read_text())
    assert set(data) == {"version", "machine", "date", "rounds", "seconds", "scale", "load_average", "other_cpu_share", "tools",
                         "pairs", "programs", "memory", "startup", "skipped", "behind"}
    assert set(data["machine"]) == {"cpu", "cores", "kernel", "libc"}
    assert [tool["name"] for tool in data["tools"]] == ["bare", "pmem", "pmem-sampling"]
    assert (data["rounds"], data["scale"]) == (1, "small")

    (pair,), (program,) = data["pairs"], data["programs"]
    assert (pair["pattern"], pair["depth"], pair["threads"]) == ("same", 5, 1)
    assert len(pair["tools"]["bare"]["ns"]) == len(pair["tools"]["pmem"]["ns"]) == 1
    mine = pair["tools"]["pmem"]
    assert mine["added_ns"]["median"] == pytest.approx(mine["ns"][0] - pair["tools"]["bare"]["ns"][0])

    bare, mine = program["tools"]["bare"], program["tools"]["pmem"]
    assert (program["name"], bare["error"], mine["error"]) == ("cubes", None, None)
    assert mine["cpu_ratio"] == {key: pytest.approx(mine["cpu_s"][0] / bare["cpu_s"][0]) for key in SPREAD}
    assert mine["rss_added"] == mine["rss"][0] - bare["rss"][0]
    assert bare["written"] == [0]
    assert mine["written"][0] >= 64 * 1024
    assert mine["post"]["error"] is None
    assert mine["post"]["rss"] > 1024 * 1024

    text = document.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n")
    assert "old" not in text
    assert result.stdout.strip() in text
    assert "| cubes | pmem | 1 |" in text


def test_memory_and_start_are_measured_by_what_the_program_says(bench, built, tmp_path):
    result = bench("--quick", "-w", "memory:1000:100000:200", "-w", "startup:true", "--json", tmp_path / "out.json", *built)
    assert result.returncode == 0, result.stderr
    data = json.loads((tmp_path / "out.json").read_text())
    (memory,), (start,) = data["memory"], data["startup"]
    bare, mine = memory["tools"]["bare"], memory["tools"]["pmem"]
    assert (bare["error"], mine["error"], memory["target"]) == (None, None, 1 << 30)
    assert mine["rss"][0] == mine["private"][0] + mine["file"][0]
    assert mine["added"]["median"] == mine["rss"][0] - bare["rss"][0] > 0
    assert bare["written"] == [0] < mine["written"]
    mine = start["tools"]["pmem"]
    assert mine["least_us"][0] <= mine["cpu_us"][0]
    assert mine["added"]["median"] == mine["cpu_us"][0] - start["tools"]["bare"]["cpu_us"][0]
    assert "1,000 threads, each with 200 of 100,000 call stacks | pmem |" in result.stdout
    assert "| `true` | pmem |" in result.stdout


def test_output_that_differs_from_bare_is_an_error(bench, root, tmp_path, built):
    """The library under test is one that makes the program print something else."""
    source, library = tmp_path / "prints.c", tmp_path / "prints.so"
    source.write_text("#include <unistd.h>\n__attribute__((constructor)) static void f(void)\n"
                      "{\n\tif (write(1, \"x\", 1) < 0)\n\t\t_exit(1);\n}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    result = bench("--quick", "-w", "cubes", "--json", tmp_path / "out.json", "--library", library, *built[2:])
    assert result.returncode == 0, result.stderr
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["programs"][0]["tools"]["pmem"]["error"] == "the program's output differs from the bare run's"
    assert data["behind"] == ["cubes: pmem failed: the program's output differs from the bare run's"]


@pytest.mark.parametrize("options, words", [
    (["--no-such-option"], "unrecognized arguments"),
    (["-w", "nothing*"], "no workload is called nothing*"),
    (["-w", "cubes", "-p", "nothing"], "no peer that is installed is called nothing"),
    (["-r", "0"], "must be positive"),
    (["--library", "/x.so"], "belong together"),
])
def test_bad_options_are_refused(bench, options, words):
    result = bench(*options)
    assert result.returncode == 2
    assert words in result.stderr
    assert result.stdout == ""
