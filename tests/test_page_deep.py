# SPDX-License-Identifier: BSD-2-Clause
"""test_page_deep - a page of a call stack of thousands of frames."""
import pytest

import pmem_page
import pmem_profile
import pmem_tool

WHY_NOT = pmem_page.missing()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason="the page is not tested: %s" % WHY_NOT)
DEPTH = 5000


@pytest.fixture(scope="module")
def deep(lib, tmp_path_factory):
    """A page of one call stack of DEPTH frames, each of a function of its own."""
    folder = tmp_path_factory.mktemp("deep")
    made = pmem_profile.Profile()
    made.header(pid=11, program="/srv/server")
    module = made.module("/srv/server", b"id")
    stack = made.stack([(module, 0x1000 + 16 * i) for i in range(DEPTH)], hook=0)
    made.count_wide(thread=0, stack=stack, alloc_count=1, alloc_bytes=100)
    made.save(folder / "deep.prof")
    assert pmem_tool.Tool(lib, folder)("html", folder / "deep.prof", "-o", folder / "deep.html").returncode == 0
    return folder / "deep.html"


def test_a_deep_call_stack_opens_in_parts(browser, deep):
    browser.open(deep, "#row=" + str(opened_row(browser, deep)))
    items = "[...document.querySelectorAll('#detail li')].map(li => li.innerText.split('\\n')[0].trim())"
    shown = browser.eval(items)
    assert shown[50] == "\u22ef {:,} more frames".format(DEPTH - 70) and len(shown) == 71
    browser("click", selector="#detail li button.more")
    more = browser.eval(items)
    assert more[:50] == shown[:50] and more[-20:] == shown[-20:] and len(set(more)) == len(more) == 141
    assert more[100] == "\u22ef {:,} more frames".format(DEPTH - 140)
    assert browser("heard") == []


def opened_row(browser, path):
    """The number of the first row's group."""
    browser.open(path)
    browser("click", selector="#table .row")
    return browser.eval("State.state.row")


def test_every_frame_of_a_deep_call_stack_can_be_zoomed_to(browser, deep):
    browser.open(deep)
    seen, rounds = set(), 0
    while True:
        seen |= set(browser.eval("Flame.labels()"))
        last = browser.eval("Flame.where(Flame.labels().at(-1).replace('  \u22ef more below', ''))")
        if not browser.eval("Flame.labels().at(-1)").endswith("more below"):
            break
        rounds += 1
        assert rounds < DEPTH / 200
        browser("at", selector="#flame", x=last["x"], y=last["y"])
        assert browser.eval("document.getElementById('flame-box').scrollTop") < 21 * 25
    names = {label.split("  ")[0] for label in seen if label.startswith("server+")}
    assert len(names) == DEPTH
    assert browser.eval("Flame.labels()[1]") == "\u22ef {:,} frames above".format(browser.eval("State.state.zoom.split('.').length") - 21)
    assert browser("heard") == []
