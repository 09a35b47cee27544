# SPDX-License-Identifier: BSD-2-Clause
"""test_page_intervals - the brush on a page that compares: an interval of each side, by pointer, keys, fields and address.

What is live is what `pmem diff A@END B@END` says, growth and allocated bytes are those that the samples of each side have in its interval, whose
ends are the nearest points.
"""
import json
import re

import pytest

import pmem_page
import pmem_tool
from pmem_page import moment
from test_page import large  # noqa: F401 (fixture)

WHY_NOT = pmem_page.missing()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason="the page is not tested: %s" % WHY_NOT)
S = 10 ** 9


class Pair:
    """Two runs of shop.c, and a page of both; another page of two moments of the second."""

    def __init__(self, tool, program, folder):
        self.tool, self.paths = tool, (folder / "before.prof", folder / "after.prof")
        for path, steps in zip(self.paths, (40, 90)):
            assert tool("run", "-q", "-o", path, "--", program, steps).returncode == 0
        self.documents = [json.loads(tool("report", "--json", path).stdout) for path in self.paths]
        self.durations = [document["process"]["duration_ns"] for document in self.documents]
        self.page = self.make(folder / "pair.html", *self.paths)
        self.moments = self.make(folder / "moments.html", "%s@500ms" % self.paths[1], "%s@1s" % self.paths[1])

    def make(self, page, *names):
        made = self.tool("html", *names, "-o", page)
        assert (made.returncode, made.stderr) == (0, b"")
        return page

    def difference(self, a, b):
        return json.loads(self.tool("diff", "--json", a, b).stdout)


@pytest.fixture(scope="module")
def pair(lib, programs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    return Pair(pmem_tool.Tool(lib, folder), programs("shop.c"), folder)


def function(stack):
    return stack["frames"][stack["site"]]["function"]


def at(stack, time, end):
    """(live, allocated) of a call stack at a time."""
    if time >= end:
        return stack["live_bytes"], stack["alloc_bytes"]
    past = [s for s in stack["samples"] if s["time_ns"] <= time] if time else []
    return (past[-1]["live_bytes"], past[-1]["alloc_bytes"]) if past else (0, 0)


def sums(document, since, until):
    """{function: [live, growth, allocated]} in an interval, of the call stacks that the timeline has."""
    found, end = {}, document["process"]["duration_ns"]
    since, until = (moment(document, time) for time in (since, until))
    for stack in document["stacks"]:
        if stack["samples"] is None:
            continue
        (live_0, alloc_0), (live_1, alloc_1) = at(stack, since, end), at(stack, until, end)
        of = found.setdefault(function(stack), [0, 0, 0])
        for i, value in enumerate((live_1, live_1 - live_0, max(0, alloc_1 - alloc_0))):
            of[i] += value
    return found


def shown(browser):
    """{function: [live, growth, allocated]} by call stack, second less first, as the page has it, before it is rounded."""
    return browser.eval("""(() => {
        const {stacks, functions} = Page.model(), {live, growth, alloc} = Page.measures(), found = {};
        live.forEach((_, i) => {
            const name = functions.name[functions.of[stacks.site[i]]], of = found[name] = found[name] || [0, 0, 0];
            [live, growth, alloc].forEach((values, j) => of[j] += values[i]);
        });
        return found;
    })()""")


def expected(pair, *intervals):
    before, after = (sums(document, *interval) for document, interval in zip(pair.documents, intervals))
    return {name: [b - a for a, b in zip(before.get(name, [0] * 3), after.get(name, [0] * 3))] for name in {*before, *after}}


def differences(values):
    return {name: of for name, of in values.items() if any(of)}


def state(browser):
    return {name: browser.eval("State.state." + name) for name in ("since", "until", "since_before", "until_before", "link")}


def intervals(browser):
    return [(i["since"], i["until"]) for i in browser.eval("Intervals.all()")]


def test_one_brush_cuts_both_from_their_starts(browser, pair):
    browser.open(pair.page)
    assert browser.headings()[:3] == ["live", "before", "after"] and "peak" in browser.headings()
    browser("drag", selector="#timeline-before", **{"from": 200, "to": 400, "y": 60})
    chosen = intervals(browser)
    assert chosen[0] == chosen[1] and 0 < chosen[0][0] < chosen[0][1] < pair.durations[0]
    assert differences(shown(browser)) == differences(expected(pair, *chosen))
    assert browser.headings() == ["live", "before", "after", "growth", "allocated", "name", "where"]
    assert browser.eval("[...document.querySelectorAll('#what button:not([hidden])')].map(b => b.dataset.value)") == ["live", "growth", "alloc"]
    browser.key("2")
    rows = dict(zip(browser.column("name"), zip(browser.column("growth"), browser.column("before"), browser.column("after"))))
    assert browser.eval("State.state.key") == "growth" and set(rows) >= {"remember"}
    assert browser.eval("Flame.where('remember')") or differences(shown(browser))["remember"][1] == 0
    said = browser.text("#interval-note")
    assert re.match("\u201cbefore\u201d from .* after its start .* live at its end, .* \u201cafter\u201d from ", said) and "one length" not in said
    browser("click", selector="#interval-clear")
    assert state(browser) == {"since": "", "until": "", "since_before": "", "until_before": "", "link": ""}
    assert browser.eval("State.state.key") == "live" and "peak" in browser.headings()
    assert browser("heard") == []


@pytest.mark.parametrize("ends", [(700, 700), (1, 700), (700, 1), (None, 1000), (500, None)])
def test_live_is_what_diff_says_of_the_ends(browser, pair, ends):
    """In milliseconds; None: the end."""
    until = [duration if end is None else end * 10 ** 6 for end, duration in zip(ends, pair.durations)]
    names = ["%s@%dms" % (path, end) if end else path for path, end in zip(pair.paths, ends)]
    browser.open(pair.page, "#link=apart&since_before=1000&until_before=%d&since=1000&until=%d" % tuple(until))
    change = {s["function"]: s["b"]["live_bytes"] - s["a"]["live_bytes"] for s in pair.difference(*names)["sites"]}
    live = {name: of[0] for name, of in shown(browser).items()}
    assert {name: live[name] for name in change} == change
    assert browser.eval("Page.measures().totals.live") == sum(change.values())


def test_past_its_end_the_shorter_side_does_nothing_more(browser, pair):
    since = pair.durations[0] + S // 10
    browser.open(pair.page, "#since=%d&until=%d&key=growth" % (since, pair.durations[1]))
    assert intervals(browser)[0] == (pair.durations[0], pair.durations[0])
    before, after = browser.eval("Page.measures().sides")
    assert (before["growth"], before["alloc"]) == (0, 0) and after["alloc"] > 0
    assert before["live"] == sum(s["live_bytes"] for s in pair.documents[0]["stacks"])
    assert "not of one length" in browser.text("#interval-note") and browser("heard") == []


def test_each_side_has_its_own(browser, pair):
    browser.open(pair.page, "#since=100000000&until=600000000")
    browser("click", selector="#link")
    assert intervals(browser) == [(S // 10, 6 * S // 10)] * 2 and state(browser)["link"] == "apart"
    browser("fill", selector="#from-before", text="300ms")
    browser.key("Tab")
    browser("focus", selector="#timeline")
    browser.key("ArrowRight", "Shift+ArrowRight")
    (a, b), (c, d) = intervals(browser)
    assert (a, b) == (3 * S // 10, 6 * S // 10) and c > S // 10 and d - c > S // 2
    assert differences(shown(browser)) == differences(expected(pair, (a, b), (c, d)))
    browser.eval("new Promise(done => setTimeout(done, 400))")
    browser.open(pair.page, browser.eval("location.hash"))
    assert intervals(browser) == [(a, b), (c, d)] and not browser.eval("document.getElementById('link').checked")
    assert browser.eval("document.getElementById('from-before').value") == "0.3\u00a0s"
    browser("focus", selector="#timeline-before")
    browser.key("Escape")
    assert intervals(browser)[0] == (0, pair.durations[0])
    browser("click", selector="#link")
    assert intervals(browser) == [(min(c, pair.durations[0]), min(d, pair.durations[0])), (c, d)]
    assert browser("axe") == [] and browser("heard") == []


def test_moments_are_moved(browser, pair):
    """A page of two moments of one process: each side's end may be another one, and its beginning too."""
    document = pair.documents[1]
    half, whole = moment(document, S // 2), moment(document, S)
    browser.open(pair.moments)
    assert browser.eval("document.getElementById('link-label').hidden")
    assert intervals(browser) == [(0, half), (0, whole)] and browser.text("#interval-note") == ""
    browser("fill", selector="#to-before", text="700ms")
    browser.key("Tab")
    difference = pair.difference("%s@700ms" % pair.paths[1], "%s@1s" % pair.paths[1])
    change = {s["function"]: [s["b"][k] - s["a"][k] for k in ("live_bytes", "alloc_bytes")] for s in difference["sites"]}
    found = {name: [of[0], of[2]] for name, of in shown(browser).items()}
    assert {name: found[name] for name in change} == change
    assert browser.headings() == ["live", "before", "after", "allocated", "name", "where"]
    browser("fill", selector="#from", text="700ms")
    browser.key("Tab")
    assert intervals(browser) == [(0, 7 * S // 10), (7 * S // 10, whole)] and "growth" in browser.headings()
    before, after = sums(document, 0, 7 * S // 10), sums(document, 7 * S // 10, whole)
    assert shown(browser)["remember"] == [b - a for a, b in zip(before["remember"], after["remember"])]
    browser("click", selector="#interval-clear")
    browser("click", selector="#interval-clear-before")
    assert intervals(browser) == [(0, half), (0, whole)]
    assert browser("axe") == [] and browser("heard") == []


@pytest.mark.parametrize("hash", ["#since=x&until=1&link=apart&since_before=9e99&until_before=-1", "#since=5e99&until=6e99",
                                  "#since=1e99&until=2e99&link=apart&since_before=3e99&until_before=4e99&key=peak"])
def test_an_address_that_means_nothing_does_no_harm(browser, pair, hash):
    for page in (pair.page, pair.moments):
        browser.open(page, hash)
        assert browser.column("name") and browser.eval("document.querySelectorAll('#what [aria-checked=true]').length") == 1
        assert browser("heard") == []


def test_the_strips_fit_a_small_window(browser, pair):
    for width in (1366, 700):
        browser.open(pair.page, "#since=200000000&until=700000000&link=apart", width=width, height=768)
        assert browser.eval("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_two_strips_keep_nobody_out(browser, pair, scheme):
    browser.open(pair.page, "#since=200000000&until=700000000&link=apart&since_before=1&until_before=700000000", scheme=scheme)
    assert browser("axe") == []


# -- large ones -----------------------------------------------------------------------------------------
INTERACTIONS = {
    "one interval for both": "State.set({since: '1', until: String(Page.model().sides[0].duration_ns / 2)})",
    "one of each": "State.set({link: 'apart', since_before: '1000', until_before: String(Page.model().sides[0].duration_ns / 3)})",
    "growth": "State.set({key: 'growth'})",
    "functions": "State.set({group: 'function'})",
    "whole time": "Intervals.clearAll()",
}


def test_a_large_comparison_stays_quick(browser, lib, large, capsys, tmp_path):  # noqa: F811
    """Of two copies, as `test_a_large_profile_stays_quick` prints it."""
    profile, = large.parent.glob("*/*.prof")
    tool, copy = pmem_tool.Tool(lib, tmp_path), tmp_path / "copy.prof"
    copy.write_bytes(profile.read_bytes())
    assert tool("html", copy, profile, "-o", tmp_path / "pair.html").returncode == 0
    ready = browser.open(tmp_path / "pair.html", "#key=alloc")
    took = {name: browser("time", script=script) for name, script in INTERACTIONS.items()}
    assert browser("heard") == [] and [browser.eval("Page.measures().totals." + key) for key in ("live", "alloc")] == [0, 0]
    with capsys.disabled():
        print("\n%d nodes twice: ready in %d ms; %s" % (browser.eval("Page.model().tree.count"), ready, ", ".join(
            "%s %.0f ms, CPU %.0f" % (name, *times) for name, times in took.items())))
