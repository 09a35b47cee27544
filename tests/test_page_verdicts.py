# SPDX-License-Identifier: BSD-2-Clause
"""test_page_verdicts - what kind of growth sites have, on the page: the same as `pmem report --json` says."""
import json
import re
import subprocess

import pytest

import pmem_page
import pmem_tool

WHY_NOT = pmem_page.missing()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason="the page is not tested: %s" % WHY_NOT)
SECONDS = 3
KINDS = ("leak", "filling", "sawtooth", "step", "plateau")


class Run:
    def __init__(self, tool, process, folder, kind):
        process.wait(timeout=60)
        process.stderr.close()
        self.profile = process.folder / "x.prof"
        self.document = json.loads(tool("report", "--json", self.profile).stdout)
        self.page = folder / (kind + ".html")
        made = tool("html", self.profile, "-o", self.page)
        assert (made.returncode, made.stderr) == (0, b"")
        self.sites = [verdict for verdict in self.document["verdicts"] if verdict["stack_id"]]

    def stack(self, verdict):
        stack, = [s for s in self.document["stacks"] if s["id"] == verdict["stack_id"]]
        return stack

    def held(self, verdict):
        """[(time, bytes)] of the site of a verdict at the points of the process."""
        frame = lambda s: {k: s["frames"][s["site"]][k] for k in ("function", "file", "line", "module")}
        site = frame(self.stack(verdict))
        series = [s["samples"] for s in self.document["stacks"] if s["samples"] and frame(s) == site]
        at = lambda samples, time: next((s["live_bytes"] for s in reversed(samples) if s["time_ns"] <= time), 0)
        return [(p["time_ns"], sum(at(samples, p["time_ns"]) for samples in series)) for p in self.document["timeline"]]


@pytest.fixture(scope="module")
def runs(lib, programs, tmp_path_factory):
    """All at the same time: they sleep most of it."""
    folder = tmp_path_factory.mktemp("verdicts")
    tool, program = pmem_tool.Tool(lib, folder), programs("verdicts.c")
    processes = {kind: tool.start("run", "-q", "-o", "x.prof", program, kind, SECONDS, env={"PMEM_TIMELINE_MS": "40"}, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for kind in KINDS}
    return {kind: Run(tool, process, folder, kind) for kind, process in processes.items()}


def rate_text(rate):
    """Bytes per second as the table has it."""
    value, units = abs(rate) * 60, ["B", "KiB", "MiB", "GiB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    text = "%d" % round(value) if units[0] == "B" else "%.1f" % value
    return ("+" if rate > 0 else "\u2212") + text + " " + units[0] + "/min" if rate else "\u2013"


def table(browser):
    """{(name, where): (verdict, rate, since)}"""
    columns = [browser.column(heading) for heading in ("name", "where", "verdict", "rate", "since")]
    return {(name, where): tuple(texts) for name, where, *texts in zip(*columns)}


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_has_the_verdicts_of_the_report(browser, runs, kind):
    run = runs[kind]
    browser.open(run.page)
    assert browser.eval("Page.model().sides[0].verdicts.map(v => ({class: v.class, stack_id: v.stack_id, function: v.function, confidence: v.confidence,"
                        "rate_bytes_per_s: v.rate_bytes_per_s, since_ns: v.since_ns}))") == run.document["verdicts"]
    rows, expected = table(browser), {}
    for verdict in run.sites:
        frame = run.stack(verdict)["frames"][run.stack(verdict)["site"]]
        key = frame["function"], "verdicts.c:%d" % frame["line"]
        clock = browser.eval("Units.clock(Page.model().sides[0], %d)" % verdict["since_ns"])
        expected[key] = verdict["class"], rate_text(verdict["rate_bytes_per_s"]), clock
    assert kind in [v[0] for v in expected.values()]
    assert {key: rows[key] for key in expected} == expected
    assert {texts for key, texts in rows.items() if key not in expected} <= {("none", "\u2013", "\u2013")}
    assert browser("heard") == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_says_its_verdict_and_shows_the_line(browser, runs, kind):
    run = runs[kind]
    verdict = next(v for v in run.sites if v["class"] == kind)
    browser.open(run.page, "#verdict=" + kind)
    browser("click", selector="#table .row")
    words = {"leak": r"leak\s*Grows \S+ MiB/min since \S+, steady \(p < 0\.001\); none of its \S+ blocks was freed\.",
             "filling": r"filling\s*(Grows \S+ \S+/min since \S+, ever slower, as a cache fills|Filled until \S+, as a cache does; steady since)\.",
             "sawtooth": r"sawtooth\s*Up and down between \S+ \S+ and \S+ \S+; its lows do not rise\.",
             "step": r"step\s*Up by a step at \S+; steady since\.", "plateau": r"plateau\s*Rose at the start; steady since \S+\."}
    assert re.fullmatch(words[kind], browser.text("#detail p.verdict").replace("\n", " "))
    shown, = browser.eval("Verdicts.shown()")
    held = run.held(verdict)
    assert shown["values"] == [bytes for _, bytes in held]
    for (t0, y0), (t1, y1) in shown["lines"]:
        slope = verdict["rate_bytes_per_s"] / 1e9
        assert y1 - y0 == pytest.approx(slope * (t1 - t0), abs=1)
    most = max(bytes for _, bytes in held)
    ends = [y for line in shown["lines"] for _, y in line]
    if kind == "step":
        assert [round(y) for y in ends] == [1000 * 1024] * 2 + [2000 * 1024] * 2
    if kind == "leak":
        assert abs(ends[1] - held[-1][1]) < 0.05 * most and abs(ends[0]) < 0.05 * most
    assert browser.eval("document.querySelector('#detail .fitted canvas').width > 0")
    assert browser("axe") == [] and browser("heard") == []


def test_rows_are_sorted_and_filtered_by_verdict(browser, runs):
    for kind in KINDS:
        browser.open(runs[kind].page)
        at = browser.headings().index("verdict") + 1
        browser("click", selector="#table [role=columnheader]:nth-child(%d) button" % at)
        assert browser.column("verdict")[0] == kind and browser.column("name")[0] != "turn"
        browser("click", selector="#table [role=columnheader]:nth-child(%d) button" % at)
        assert browser.column("verdict")[0] == "none" and browser.column("verdict")[-1] == kind
        count = len(browser.column("name"))
        browser.eval("new Promise(done => { const s = document.getElementById('verdict'); s.value = 'none'; s.dispatchEvent(new Event('change')); done(); })")
        assert browser.eval("State.state.verdict") == "none" and 0 < len(browser.column("name")) < count
        assert set(browser.column("verdict")) == {"none"} and " of %d sites" % count in browser.text("#table-count")


def test_functions_have_those_of_their_own_sites(browser, runs):
    browser.open(runs["leak"].page, "#group=function&row=0")
    rows = dict(zip(browser.column("name"), browser.column("verdict")))
    assert rows["remember"] == "leak" and rows["main"] == "none"
    browser("click", selector="#groups [data-value=file]")
    assert "verdict" not in browser.headings() and browser.eval("document.getElementById('verdict').hidden")


def test_an_interval_leaves_verdicts_what_they_are(browser, runs):
    browser.open(runs["leak"].page, "#since=500000000&until=1000000000")
    assert browser.headings() == ["live", "growth", "allocated", "verdict", "rate", "since", "name", "where"]
    assert "leak" in browser.column("verdict") and "whole time" in browser.text("#table-note")


def test_two_profiles_have_both(browser, lib, runs, tmp_path):
    tool = pmem_tool.Tool(lib, tmp_path)
    assert tool("html", runs["plateau"].profile, runs["leak"].profile, "-o", tmp_path / "pair.html").returncode == 0
    browser.open(tmp_path / "pair.html")
    rows = dict(zip(browser.column("name"), browser.column("verdict")))
    assert rows["remember"] == "none \u2192 leak" and rows["load"] == "plateau \u2192 none"
    browser("click", selector="#table .row")
    said = browser.eval("[...document.querySelectorAll('#detail p.verdict')].map(p => p.textContent)")
    assert len(said) == 2 and "none" in said[0] and "Grows" in said[1]
    browser.open(tmp_path / "pair.html", "#verdict=leak&group=function", scheme="dark")
    assert browser.column("name") == ["remember"]
    assert browser("axe") == [] and browser("heard") == []


def test_the_table_fits(browser, runs):
    for width in (1366, 1280):
        browser.open(runs["leak"].page, width=width, height=768)
        assert browser.eval("[...document.querySelectorAll('#table .row, #table .head')].every(row => row.scrollWidth <= row.clientWidth)")
        # No figure is cut.
        assert browser.eval("[...document.querySelectorAll('#table .number, #table .verdict')].filter(c => c.scrollWidth > c.clientWidth).map(c => c.textContent)") == []
