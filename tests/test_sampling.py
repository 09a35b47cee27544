# SPDX-License-Identifier: BSD-2-Clause
"""test_sampling - PMEM_SAMPLE: estimates have no bias and the stated intervals hold the truth; programs behave as without.

programs/sampled.c knows its bytes by site.  PMEM_TEST_SAMPLES=N repeats the runs N times with other seeds."""
import collections
import csv
import io
import json
import math
import os
import re

import pytest

import pmem_run
import pmem_tool

RUNS = int(os.environ.get("PMEM_TEST_SAMPLES") or 60)
MEAN = 4096
SETTINGS = {"PMEM_SAMPLE": "4k", "PMEM_LOG": "0", "PMEM_TIMELINE_MS": "0"}


def report_of(tool, folder):
    profiles = list(folder.glob("pmem.*.prof"))
    assert len(profiles) == 1
    result = tool("report", "--json", profiles[0])
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def sums(report):
    """{site: {figure: sum over its call stacks}}"""
    found = collections.defaultdict(collections.Counter)
    for stack in report["stacks"]:
        names = [frame["function"] for frame in stack["frames"]]
        site = next((name for name in names if name and name.endswith("_site")), None)
        for key in ("alloc_bytes", "live_bytes", "live_blocks", "temporary_blocks"):
            found[site][key] += stack[key]
    return found


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


@pytest.fixture(scope="module")
def runs(lib, programs, tmp_path_factory):
    tool = pmem_tool.Tool(lib, tmp_path_factory.mktemp("tool"))
    run = pmem_run.Runner(lib, tmp_path_factory.mktemp("sampled"))
    program = programs("sampled.c", "-O1", "-g", "-pthread")
    done = []
    for seed in range(1, RUNS + 1):
        result = run([program], {**SETTINGS, "PMEM_SAMPLE_SEED": str(7919 * seed)})
        assert result.code == 0, result.err
        done.append((json.loads(result.out), report_of(tool, result.folder)))
    return done


def test_the_mean_of_many_samples_is_the_truth(runs):
    for site, (allocated, live) in runs[0][0].items():
        mean = sum(sums(report)[site]["alloc_bytes"] for _, report in runs) / len(runs)
        # Four standard errors: of each run's draws, allocated / MEAN, over all runs.
        assert abs(mean / allocated - 1) < 4 / (allocated / MEAN * len(runs)) ** 0.5, site
        mean = sum(sums(report)[site]["live_bytes"] for _, report in runs) / len(runs)
        assert abs(mean - live) <= 4 * (live * MEAN / len(runs)) ** 0.5, site


def test_the_intervals_hold_the_truth(runs):
    inside = total = 0
    for truth, report in runs:
        totals = report["totals"]
        assert report["recorder"]["sample_bytes"] == MEAN
        for figure, index in (("alloc_bytes", 0), ("live_bytes", 1)):
            want = sum(site[index] for site in truth.values())
            inside += totals[figure + "_low"] <= want <= totals[figure + "_high"]
            total += 1
        for stack in report["stacks"]:
            assert stack["live_bytes_low"] <= stack["live_bytes"] <= stack["live_bytes_high"]
    # 95 %, less four standard deviations of that share.
    assert inside >= total * (0.95 - 4 * (0.95 * 0.05 / total) ** 0.5), "%d of %d" % (inside, total)


def test_temporary_blocks_are_told_from_others(runs):
    temporary = sum(sums(report)["temporary_site"]["temporary_blocks"] for _, report in runs)
    assert temporary / len(runs) == pytest.approx(6000, rel=0.05)
    assert sum(sums(report)["large_site"]["live_blocks"] for _, report in runs) > 0


def test_a_seed_gives_the_same_sample(run, tool, programs):
    program = programs("sampled.c", "-O1", "-g", "-pthread")
    first, second, other = (report_of(tool, run([program], {**SETTINGS, "PMEM_SAMPLE_SEED": seed}).folder)
                            for seed in ("17", "17", "18"))
    assert first["totals"]["alloc_bytes"] == second["totals"]["alloc_bytes"] != other["totals"]["alloc_bytes"]


def test_threads(run, tool, programs):
    result = run([programs("sampled.c", "-O1", "-g", "-pthread"), "8"], SETTINGS)
    assert result.code == 0, result.err
    truth, report = json.loads(result.out), report_of(tool, result.folder)
    allocated = sum(site[0] for site in truth.values())
    assert abs(report["totals"]["alloc_bytes"] / allocated - 1) < 6 / (allocated / MEAN) ** 0.5
    assert report["totals"]["unknown_freed_blocks"] == 0


def test_what_is_read_says_that_it_is_an_estimate(run, tool, programs):
    result = run([programs("sampled.c", "-O1", "-g", "-pthread")], {"PMEM_SAMPLE": "64k"})
    log = result.log_of("sampled")
    assert "\n# sampled: one byte in 65536 on average; all figures are estimates\n" in open(log.paths[0]).read()
    text = tool("report", *result.folder.glob("*.prof")).stdout.decode()
    assert "SAMPLED: one byte in 64.0 KiB was drawn; all figures are estimates." in " ".join(text.split())
    assert " +-95% " in text and max(len(line) for line in text.splitlines()) <= 80


def test_run_samples(tool, programs, tmp_path):
    program = programs("sampled.c", "-O1", "-g", "-pthread")
    for option, mean in (("--sample", 524288), ("--sample=8k", 8192), ("--sample=0", None)):
        folder = tmp_path / ("x" + option)
        folder.mkdir()
        result = tool("run", "--no-log", option, program, cwd=folder)
        assert result.returncode == 0, result.stderr
        assert report_of(tool, folder)["recorder"]["sample_bytes"] == mean


@pytest.mark.parametrize("wrong", ["", "512", "2g", "12x", "-1", "8kk", "99999999999999999999"])
def test_run_refuses(tool, wrong):
    result = tool("run", "--sample=%s" % wrong, "true")
    assert result.returncode == 125
    assert b"is not a size from 1k to 1g" in result.stderr
    assert not list(result.folder.iterdir())


@pytest.fixture
def sampled(tool, programs):
    """Records a sample with this seed: (path of the profile, the summary)."""
    def record(seed):
        result = tool("run", "--no-log", "--sample=8k", "-o", "%s.prof" % seed, programs("sampled.c", "-O1", "-g", "-pthread"),
                      env={"PMEM_SAMPLE_SEED": str(seed)})
        assert result.returncode == 0, result.stderr
        return result.folder / ("%s.prof" % seed), result.stderr.decode()
    return record


def page(tool, *words):
    result = tool(*words)
    assert result.returncode == 0, result.stderr
    return result.stdout.decode()


BYTES = r"[\d.]+ (?:[KMG]i)?B"


def test_the_summary_says_that_figures_are_estimates(sampled):
    _, summary = sampled(3)
    assert "\n  sampled  one byte in 8.0 KiB: estimates, right within +- in 95 of 100\n" in summary
    assert re.search(r"\n  heap     %s \+-%s live at exit, peak %s \+-%s at " % ((BYTES,) * 4), summary)
    assert re.search(r"\n  verdict  .* holds %s \+-%s, " % (BYTES, BYTES), summary)


@pytest.mark.parametrize("view", [[], ["--tree"], ["--callers"], ["--leaks"], ["--peak"], ["--by", "alloc"]])
def test_each_view_has_the_errors_beside_its_figures(tool, sampled, view):
    profile, _ = sampled(3)
    text = page(tool, "report", *view, profile)
    assert "SAMPLED: " in text
    body = text.split("SAMPLED: ")[1].split("\n\n", 1)[1]
    assert re.search(r"\+-(\d+ %%|%s)" % BYTES, body)
    assert max(map(len, text.splitlines())) <= 80


def test_tables_have_the_bounds(tool, sampled):
    profile, _ = sampled(3)
    rows = list(csv.DictReader(io.StringIO(page(tool, "report", "--csv", profile), newline="")))
    document = json.loads(page(tool, "report", "--json", profile))
    assert [[int(row["live_bytes_" + end]) for end in ("low", "high")] for row in rows] == [
        [stack["live_bytes_" + end] for end in ("low", "high")] for stack in document["stacks"]]


def test_a_comparison_has_the_error_of_each_change(tool, sampled):
    a, b = sampled(3)[0], sampled(4)[0]
    text = page(tool, "diff", a, b)
    assert re.search(r"^live  \S+( .i?B)? \+-%s \(" % BYTES, text, re.M) or "live  unchanged" in text
    document = json.loads(page(tool, "diff", "--json", a, b))
    for row in document["stacks"] + document["sites"]:
        errors = [(row[side]["live_bytes_high"] - row[side]["live_bytes_low"]) / 2 for side in ("a", "b")]
        assert row["live_change_error"] == pytest.approx(math.hypot(*errors), abs=2)


def test_exports_say_that_they_are_estimates(tool, sampled):
    profile, _ = sampled(3)
    assert "\n# sampled: one byte in 8192 on average; all figures are estimates\n" in page(tool, "export", "--format", "log", profile)
    assert page(tool, "export", "--format", "massif", profile).startswith("desc: pmem, estimates from a sample, one byte in 8192\n")
    assert json.loads(page(tool, "export", "--format", "dhat", profile))["mode"] == "pmem, estimates from a sample, one byte in 8192"
    speedscope = json.loads(page(tool, "export", "--format", "speedscope", profile))
    assert [p["name"] for p in speedscope["profiles"]] == ["live bytes (estimates)", "allocated bytes (estimates)"]


def test_exact_recordings_have_no_errors(tool):
    result = tool("run", "--no-log", "-o", "exact.prof", "true")
    exact, other = result.folder / "exact.prof", tool("run", "--no-log", "-o", "other.prof", "true").folder / "other.prof"
    for words in (["report"], ["report", "--tree"], ["report", "--csv"], ["report", "--json"], ["info"], ["export", "--format", "massif"]):
        text = page(tool, *words, exact)
        assert "+-" not in text and "estimates" not in text and "_low" not in text, words
    assert "+-" not in page(tool, "diff", exact, other)
    assert "live_change_error" not in page(tool, "diff", "--json", exact, other)


@pytest.mark.parametrize("size", [0, 100, 4000, 6000])
def test_a_buffer_that_comes_again_at_its_place_is_counted_right(run, tool, programs, size):
    """What a block stands for is rounded to whole blocks; not the same way each time because the address is the same."""
    count = 1000000 if size < 4000 else 20000
    result = run([programs("same_place.c"), str(size), str(count)], {**SETTINGS, "PMEM_SAMPLE_SEED": "5"})
    found = [stack for stack in report_of(tool, result.folder)["stacks"] if stack["frames"][0]["function"] == "same_site"]
    draws = count * (1 - math.exp(-max(size, 1) / MEAN))
    for figure in ("alloc_blocks", "free_blocks", "temporary_blocks"):
        assert sum(stack[figure] for stack in found) == pytest.approx(count, rel=5 / draws ** 0.5), figure
    assert sum(stack["alloc_bytes"] for stack in found) == pytest.approx(count * size, rel=5 / draws ** 0.5)
    # Each block of the sample tells of the lifetimes of those that it stands for.
    assert sum(sum(stack["lifetimes"]) for stack in found) == sum(stack["free_blocks"] for stack in found)


def test_a_block_over_the_end_of_a_page_is_seen_to_be_freed(run, tool, programs):
    """Where it reaches the next page another block was sampled, whose allocator took it back without a word: that one's page is told of it, and this
    one's must be too."""
    allocator = programs("place_malloc.c", "-shared", "-fPIC", "-fno-builtin", "-Wl,-Bsymbolic", out="place_malloc.so")
    result = run([programs("across_pages.c", str(allocator)), "200"], {**SETTINGS, "PMEM_SAMPLE": "1k"})
    assert result.code == 0, result.err
    found = sums(report_of(tool, result.folder))
    assert found["freed_site"]["alloc_bytes"] == 200 * 40000
    assert {site: counts["live_blocks"] for site, counts in found.items() if site} == {"kept_site": 0, "freed_site": 0}
