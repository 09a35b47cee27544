# SPDX-License-Identifier: BSD-2-Clause
"""test_page_samples - an interval on the page has the numbers of `pmem report --since --until`, also where a long run has dropped samples.

The terminal gives them exactly in two places: growth by call stack in `report --json`, what is live and was allocated in `diff --json` of the ends.
"""
import json

import pytest

import pmem_page
import pmem_tool
from test_page_intervals import function, shown

WHY_NOT = pmem_page.missing()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason="the page is not tested: %s" % WHY_NOT)
MS = 10 ** 6


class Thinned:
    """Two runs of verdicts.c, up and down beside a leak, with more points than a call stack has room for samples; a page of the first one, one of both."""

    def __init__(self, tool, program, folder):
        self.tool, self.paths = tool, (folder / "one.prof", folder / "two.prof")
        for path, seconds in zip(self.paths, (2, 1.5)):
            assert tool("run", "-q", "-o", path, "--", program, "hidden", seconds, env={"PMEM_TIMELINE_MS": "5"}).returncode == 0
        for page, names in (("one.html", self.paths[:1]), ("both.html", self.paths)):
            made = tool("html", *names, "-o", folder / page)
            assert (made.returncode, made.stderr) == (0, b"")
        self.page, self.pair = folder / "one.html", folder / "both.html"
        self.document = self.report(0)

    def report(self, number, *options):
        return json.loads(self.tool("report", "--json", *options, self.paths[number]).stdout)

    def growth(self, number, *options):
        """{function: bytes} of the call stacks that the timeline has."""
        found = {}
        for stack in self.report(number, *options)["stacks"]:
            if stack["samples"] is not None:
                found[function(stack)] = found.get(function(stack), 0) + stack["growth_bytes"]
        return found

    def interval(self, number, since, until):
        """{function: [live, growth, allocated]}"""
        path, options = self.paths[number], ("--since", "%dns" % since, "--until", "%dns" % until)
        found = {name: [0, bytes, 0] for name, bytes in self.growth(number, *options).items()}
        ends = json.loads(self.tool("diff", "--json", "%s@%dns" % (path, since), "%s@%dns" % (path, until)).stdout)
        for site in ends["sites"]:
            found[site["function"]][0] = site["b"]["live_bytes"]
            found[site["function"]][2] = site["b"]["alloc_bytes"] - site["a"]["alloc_bytes"]
        return found


@pytest.fixture(scope="module")
def thinned(lib, programs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("thinned")
    return Thinned(pmem_tool.Tool(lib, folder), programs("verdicts.c"), folder)


def times(thinned):
    """Ends of intervals for which the sample before is not the nearest: just before a point, and in the last part of a gap."""
    stack, = (stack for stack in thinned.document["stacks"] if function(stack) == "serve" and stack["samples"])
    gaps = [(a["time_ns"], b["time_ns"]) for a, b in zip(stack["samples"], stack["samples"][1:]) if b["gap"]]
    assert gaps
    (first, second), (third, fourth) = gaps[len(gaps) // 3], gaps[-1]
    points = [p["time_ns"] for p in thinned.document["timeline"] if p["alloc_blocks"]]
    some, other = points[len(points) // 4], points[len(points) // 2]
    return [(second - (second - first) // 4, fourth - (fourth - third) // 4), (second - (second - first) // 4, 1200 * MS),
            (some - 1000, other - 1000), (some + 1000, fourth - 1000)]


def test_an_interval_has_the_numbers_of_the_report(browser, thinned):
    for since, until in times(thinned):
        browser.open(thinned.page, "#since=%d&until=%d" % (since, until))
        expected = thinned.interval(0, since, until)
        found = shown(browser)
        assert {name: found[name] for name in expected} == expected and expected["remember"][1] > 0
    assert browser("heard") == []


def test_the_whole_time_has_the_growth_of_the_report(browser, thinned):
    browser.open(thinned.page)
    found, growth = shown(browser), thinned.growth(0)
    assert {name: found[name][1] for name in growth} == growth and growth["remember"] > 0


def test_intervals_of_two_are_those_of_the_reports(browser, thinned):
    ends = thinned.report(1)["process"]["duration_ns"]
    for since, until in times(thinned):
        until = min(until, ends - MS)
        browser.open(thinned.pair, "#since=%d&until=%d" % (since, until))
        a, b = (thinned.interval(number, since, until) for number in (0, 1))
        found = shown(browser)
        expected = {name: [y - x for x, y in zip(a.get(name, [0] * 3), b.get(name, [0] * 3))] for name in {*a, *b}}
        assert {name: found[name] for name in expected} == expected
    assert browser("heard") == []
