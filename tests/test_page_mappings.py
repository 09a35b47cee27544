# SPDX-License-Identifier: BSD-2-Clause
"""test_page_mappings - what a program maps itself, on the page: apart from the heap, with the figures of `pmem report --json`."""
import json
import os
import signal
import subprocess

import pytest

import pmem_page
import pmem_run
import pmem_serve
import pmem_tool
from test_page import flame_cell, near, site

WHY_NOT = pmem_page.missing()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason="the page is not tested: %s" % WHY_NOT)
SECONDS = 4
PAGE = 4096


class Recorded:
    def __init__(self, tool, profile, page):
        self.profile, self.page = profile, page
        self.document = json.loads(tool("report", "--json", profile).stdout)
        self.mappings = self.document["mappings"]
        made = tool("html", profile, "-o", page)
        assert (made.returncode, made.stderr) == (0, b"")

    def sums(self, *keys):
        """{(function, "file:line"): [sums over call stacks]}"""
        found = {}
        for stack in self.mappings["stacks"]:
            sums = found.setdefault(site(stack), [0] * len(keys))
            for i, key in enumerate(keys):
                sums[i] += stack[key] or 0
        return found


@pytest.fixture(scope="module")
def tool(lib, tmp_path_factory):
    return pmem_tool.Tool(lib, tmp_path_factory.mktemp("tool"))


@pytest.fixture(scope="module")
def each(lib, tool, programs, tmp_path_factory):
    """A program that maps memory in every way, and has a heap too."""
    folder = tmp_path_factory.mktemp("each")
    result = pmem_run.Runner(lib, folder)([programs("mappings.c"), "each"])
    profile, = pmem_tool.profiles(result.folder)
    return Recorded(tool, profile.path, folder / "each.html")


@pytest.fixture(scope="module")
def grown(tool, programs, tmp_path_factory):
    """4,000 pages in SECONDS, past malloc."""
    folder = tmp_path_factory.mktemp("grown")
    result = tool("run", "-q", "-o", folder / "grown.prof", "--", programs("verdicts.c"), "mapped", SECONDS, env={"PMEM_TIMELINE_MS": "40"})
    assert result.returncode == 0, result.stderr
    return Recorded(tool, folder / "grown.prof", folder / "grown.html")


def totals(browser):
    return browser.eval("Page.measures().totals")


def test_the_heap_is_as_without_them(browser, each):
    browser.open(each.page)
    assert browser.eval("Page.model().kind") == "heap"
    heap = each.document["totals"]
    assert [totals(browser)[key] for key in ("live", "alloc", "blocks", "calls")] == [
        heap[key] for key in ("live_bytes", "alloc_bytes", "live_blocks", "alloc_blocks")]
    amount, = browser.eval("[...document.querySelectorAll('#figures .figure')].filter(f => f.innerText.includes('mapped by the program itself'))"
                           ".map(f => f.querySelector('b').textContent)")
    assert near(each.mappings["mapped_bytes"], amount.replace("\u00a0", " "))


def test_totals_are_those_of_the_report(browser, each):
    browser.open(each.page)
    browser("click", selector="#memory [data-value=mapped]")
    assert browser.eval("State.state.memory") == "mapped"
    found, mappings = totals(browser), each.mappings
    assert [found[key] for key in ("live", "alloc", "calls", "resident", "blocks", "temporary")] == [
        mappings["mapped_bytes"], mappings["mapped_in_all_bytes"], mappings["calls"], mappings["resident_bytes"], None, None]
    assert mappings["mapped_bytes"] > 0 and mappings["mapped_in_all_bytes"] > mappings["mapped_bytes"]
    assert browser.eval("Page.model().sides[0].totals.peak_bytes") == mappings["peak_bytes"]
    assert browser.eval("[...Page.model().sides[0].points.live]") == [p["mapped_bytes"] for p in each.document["timeline"]]
    browser.key("m")
    assert browser.eval("State.state.memory") == "" and totals(browser)["live"] == each.document["totals"]["live_bytes"]
    assert browser("heard") == []


def test_sites_are_those_of_the_report(browser, each):
    browser.open(each.page, "#memory=mapped")
    expected = each.sums("mapped_bytes", "resident_bytes", "peak_bytes", "mapped_in_all_bytes")
    assert browser.headings()[:6] == ["mapped", "growth", "resident", "at most", "in all", "calls"]
    browser.eval("document.querySelector('#table .rows').style.height = '4000px'")
    browser.eval("document.querySelector('#table .rows').dispatchEvent(new Event('scroll'))")
    browser.eval("0")
    rows = {(name, where): texts for name, where, *texts in zip(*(browser.column(heading) for heading in (
        "name", "where", "mapped", "resident", "at most", "in all")))}
    assert len(rows) >= 10
    for key, texts in rows.items():
        assert all(map(near, expected[key], texts)), (key, texts)
    assert set(rows) == set(expected)
    assert set(browser.eval("[...document.querySelectorAll('#groups button:not([hidden])')].map(b => b.dataset.value)")) == {
        "site", "function", "file", "module"}
    for tab in ("function", "file", "module"):
        browser("click", selector="#groups [data-value=%s]" % tab)
        assert browser.column("name")
    assert browser("heard") == []


def test_the_flame_graph_is_of_them(browser, each):
    browser.open(each.page, "#memory=mapped&key=alloc&invert=1&colour=name")
    whole, width = each.mappings["mapped_in_all_bytes"], browser.eval("document.getElementById('flame').clientWidth")
    for name in ("plain", "middle"):
        (bytes,), = [sums for (function, _), sums in each.sums("mapped_in_all_bytes").items() if function == name]
        assert flame_cell(browser, name)["width"] == pytest.approx(width * bytes / whole)
    browser.key("i")
    cell = flame_cell(browser, "plain")
    browser("at", selector="#flame", x=cell["x"], y=cell["y"])
    zoom = browser.eval("State.state.zoom")
    browser.key("m")
    # Functions are the same in both.
    assert zoom and browser.eval("State.state.zoom") == zoom and browser.eval("Flame.where('plain')") is None
    browser.key("m")
    assert flame_cell(browser, "plain")["width"] == pytest.approx(width)
    assert browser("heard") == []


def test_growth_and_verdicts_are_those_of_the_report(browser, grown):
    browser.open(grown.page, "#memory=mapped")
    verdicts = grown.mappings["verdicts"]
    assert browser.eval("Page.model().sides[0].verdicts.map(v => [v.class, v.stack_id, v.rate_bytes_per_s, v.since_ns])") == [
        [v[key] for key in ("class", "stack_id", "rate_bytes_per_s", "since_ns")] for v in verdicts]
    assert totals(browser)["growth"] == sum(s["growth_bytes"] or 0 for s in grown.mappings["stacks"])
    assert dict(zip(browser.column("name"), browser.column("verdict")))["map_more"] == "leak"
    browser("click", selector="#table .row")
    assert "mappings was unmapped" in browser.text("#detail p.verdict")
    assert "calls, 15.6 MiB mapped in all" in browser.text("#detail .stack p")
    browser.eval("new Promise(done => setTimeout(done, 400))")
    hash, row = browser.eval("location.hash"), browser.eval("State.state.row")
    browser.open(grown.page, hash)
    assert browser.eval("Page.model().kind") == "mapped" and browser.eval("State.state.row") == row and "map_more" in browser.text("#detail h3")
    # The heap's rows are others.
    browser.key("m")
    assert browser.eval("State.state.row") == "" and "map_more" not in browser.column("name")
    assert browser("heard") == []


def test_the_brush_cuts_them_too(browser, tool, grown):
    browser.open(grown.page, "#memory=mapped&since=1000000000&until=3000000000")
    document = json.loads(tool("report", "--json", "--since", "1s", "--until", "3s", grown.profile).stdout)
    growth = sum(s["growth_bytes"] or 0 for s in document["mappings"]["stacks"])
    assert totals(browser)["growth"] == growth > 1000 * PAGE
    assert "the mapped bytes changed by +" in browser.text("#interval-note") and browser.headings()[:3] == ["mapped", "growth", "in all"]
    browser.key("3")
    assert "whole time" in browser.text("#what-note")


def test_two_profiles_are_compared(browser, tool, each, grown, tmp_path):
    made = tool("html", each.profile, grown.profile, "-o", tmp_path / "pair.html")
    assert (made.returncode, made.stderr) == (0, b"")
    browser.open(tmp_path / "pair.html", "#memory=mapped")
    keys = {"live": "mapped_bytes", "alloc": "mapped_in_all_bytes", "calls": "calls", "resident": "resident_bytes"}
    assert {key: totals(browser)[key] for key in keys} == {key: grown.mappings[name] - each.mappings[name] for key, name in keys.items()}
    assert (totals(browser)["before"], totals(browser)["after"]) == (each.mappings["mapped_bytes"], grown.mappings["mapped_bytes"])
    rows = dict(zip(browser.column("name"), zip(browser.column("mapped"), browser.column("before"), browser.column("after"))))
    assert rows["map_more"][1] == "0 B" and near(grown.sums("mapped_bytes").popitem()[1][0], rows["map_more"][2])
    assert flame_cell(browser, "map_more")["tone"] == "up3"
    browser.key("m")
    assert totals(browser)["live"] == grown.document["totals"]["live_bytes"] - each.document["totals"]["live_bytes"]
    browser.key("m")
    browser("drag", selector="#timeline", **{"from": 400, "to": 800, "y": 60})
    assert totals(browser)["growth"] > 500 * PAGE and browser("axe") == [] and browser("heard") == []


def test_moments_of_one_are_compared(browser, tool, grown, tmp_path):
    assert tool("html", "%s@1s" % grown.profile, "%s@3s" % grown.profile, "-o", tmp_path / "moments.html").returncode == 0
    browser.open(tmp_path / "moments.html", "#memory=mapped")
    assert browser.headings() == ["mapped", "before", "after", "in all", "name", "where"]
    assert totals(browser)["live"] > 1000 * PAGE and browser("heard") == []


def test_without_any_nothing_is_offered(browser, tool, programs, tmp_path):
    assert tool("run", "-q", "-o", tmp_path / "none.prof", "--", programs("shop.c"), 5).returncode == 0
    assert tool("html", tmp_path / "none.prof", "-o", tmp_path / "none.html").returncode == 0
    browser.open(tmp_path / "none.html", "#memory=mapped")
    assert browser.eval("Page.model().kind") == "heap" and browser.eval("document.getElementById('memory').hidden")
    browser.key("m")
    assert browser.eval("Page.model().kind") == "heap" and browser("heard") == []


def test_a_page_that_is_open_goes_on_showing_them(browser, tool, programs, tmp_path):
    program = tool.start("run", "-q", "-o", tmp_path / "live.prof", "--", programs("verdicts.c"), "mapped", 1000, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL)
    try:
        while not (tmp_path / "live.prof").exists() or not json.loads(tool("report", "--json", tmp_path / "live.prof").stdout or "{}").get("mappings"):
            assert program.poll() is None
        with pmem_serve.Server(tool, tmp_path / "live.prof") as server:
            browser.open(server.url + "p/live.prof/", "#memory=mapped&group=function")
            browser("click", selector="#table .row")
            first, row = totals(browser)["live"], browser.text("#detail h3")
            browser("wait", script="Page.measures().totals.live > %d" % first)
            assert browser.eval("Page.model().kind") == "mapped" and browser.text("#detail h3") == row
            assert browser.eval("document.querySelector('#memory [aria-checked=true]').textContent") == "Mappings"
            assert browser("heard") == []
    finally:
        os.kill(pmem_tool.Profile(tmp_path / "live.prof").pid, signal.SIGKILL)
        program.wait(timeout=60)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out(browser, each, scheme):
    browser.open(each.page, "#memory=mapped", scheme=scheme, width=1366, height=768)
    browser("focus", selector="#memory [aria-checked=true]")
    browser.key("ArrowRight")
    assert browser.eval("Page.model().kind") == "heap" and browser.eval("document.activeElement.dataset.value") == "heap"
    browser.key("ArrowRight")
    assert browser.eval("Page.model().kind") == "mapped"
    browser("click", selector="#table .row")
    assert browser("axe") == [] and browser.eval("document.documentElement.scrollWidth") <= 1366


# -- nothing but mappings -------------------------------------------------------------------------------
ONLY = """
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) static void pool(void)
{
	memset(mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 4096);
	__asm__ volatile("");
}
int main(void) { pool(); pool(); return 0; }
"""


@pytest.fixture(scope="module")
def only(tool, tmp_path_factory):
    """A program without a heap: 16 MiB are mapped."""
    folder = tmp_path_factory.mktemp("only")
    (folder / "only.c").write_text(ONLY)
    subprocess.run(["gcc", "-g", "-O1", "-o", folder / "only", folder / "only.c"], check=True)
    assert tool("run", "-q", "-o", folder / "only.prof", "--", folder / "only").returncode == 0
    recorded = Recorded(tool, folder / "only.prof", folder / "only.html")
    assert recorded.document["stacks"] == [] and recorded.mappings["mapped_bytes"] == 16 << 20
    return recorded


def test_without_a_heap_the_page_opens_on_the_mappings(browser, only):
    browser.open(only.page)
    assert browser.eval("Page.model().kind") == "mapped" and browser.eval("State.state.memory") == ""
    assert totals(browser)["live"] == 16 << 20 and browser.column("name")[0] == "pool"
    assert browser.eval("document.querySelector('#memory [aria-checked=true]').dataset.value") == "mapped"
    assert browser.text("#what-note") == "The heap is empty: no allocation was recorded."
    figures = browser.text("#figures")
    assert "0 B\nlive: no allocation was recorded" in figures and "16.0 MiB\nmapped by the program itself" in figures and "calls" not in figures
    # The heap can be looked at, and the address says so.
    browser.key("m")
    assert browser.eval("Page.model().kind") == "heap" and browser.text("#what-note") == "The heap is empty: no allocation was recorded."
    browser.eval("new Promise(done => setTimeout(done, 400))")
    browser.open(only.page, browser.eval("location.hash"))
    assert browser.eval("Page.model().kind") == "heap" and browser.eval("State.state.memory") == "heap"
    browser.key("m")
    assert browser.eval("Page.model().kind") == "mapped" and browser.eval("State.state.memory") == ""
    assert browser("axe") == [] and browser("heard") == []


def test_one_heap_of_two_is_a_heap(browser, tool, only, each, tmp_path):
    for names, kind in (((only.profile, only.profile), "mapped"), ((only.profile, each.profile), "heap")):
        assert tool("html", "--force", *names, "-o", tmp_path / "pair.html").returncode == 0
        browser.open(tmp_path / "pair.html")
        assert browser.eval("Page.model().kind") == kind and browser("heard") == []
