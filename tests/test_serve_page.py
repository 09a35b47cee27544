# SPDX-License-Identifier: BSD-2-Clause
"""test_serve_page - the pages that `pmem serve` shows, in a real browser: they follow their processes, and keep the view."""
import json

import pmem_profile
import pmem_serve
from pmem_serve import served, server, tool  # noqa: F401 (fixtures)


def updates(browser):
    return int(browser.eval("document.getElementById('live').dataset.updates || 0"))


def test_the_page_follows_its_process_and_keeps_the_view(browser, tool, programs, tmp_path):
    program = pmem_serve.Served(tool, programs("served.c"), tmp_path)
    program.tell("k 10")
    with pmem_serve.Server(tool, program.pid) as server:
        browser.open(server.url + "p/%d/" % program.pid, "#key=alloc")
        assert browser.text("#live-state") == "Live"
        browser("click", selector="#groups [data-value=function]")
        cell = browser.eval("Flame.where('keep')")
        browser("at", selector="#flame", x=cell["x"], y=cell["y"])
        browser("fill", selector="#search", text="eep")
        browser("fill", selector="#filter", text="keep")
        browser("click", selector="#table .row")
        browser("click", selector="#detail li button")
        view = "JSON.stringify([State.state.key, State.state.group, State.state.search, State.state.filter, document.querySelector('#detail h3').innerText," \
               "document.querySelectorAll('#detail li').length, document.getElementById('trail').innerText, Flame.where('keep').row])"
        before = browser.eval(view)
        assert browser.eval("State.state.zoom") and '"keep"' in before
        # A function that is new, and whose allocations come first, has other numbers move.
        program.tell("t 5000")
        program.tell("k 90")
        browser("wait", script="Page.measures().totals.alloc === %d" % (100 * 1000 + 5001 * 100))
        assert browser.eval(view) == before
        assert browser.column("live") == ["97.7 KiB"] and "97.7 KiB" in browser.text("#detail")
        assert browser.text("#figures .figure").startswith("97.7 KiB") and "97.7 KiB" in browser.text("#answer")
        browser("wait", script="location.hash.includes('zoom=')")
        browser("click", selector="#live-pause")
        assert browser.text("#live-state") == "Paused"
        paused = updates(browser)
        program.tell("k 100")
        browser("click", selector="#live-remember")
        browser("wait", script="document.querySelector('#live-moments a')")
        program.tell("k 100")
        assert updates(browser) == paused
        browser("click", selector="#live-pause")
        browser("wait", script="Page.measures().totals.live === 300000")
        link = browser.eval("document.querySelector('#live-moments a').href")
        assert browser("axe") == []
        program.end()
        browser("wait", script="document.getElementById('live').dataset.state === 'ended'")
        assert browser.text("#live-state") == "Ended" and browser.eval("document.getElementById('live-pause').hidden")
        assert browser("heard") == []
        browser.open(link)
        rows = dict(zip(browser.column("name"), zip(browser.column("live"), browser.column("before"), browser.column("after"))))
        assert rows["keep"] == ("+97.7 KiB", "195.3 KiB", "293.0 KiB")
        assert browser("heard") == []


def test_the_list_follows_too(browser, tool, served, server):
    moment = json.loads(server.post("p/%d/remember" % served.pid).body)
    browser("open", path=server.url + "list", plain=True)
    browser("click", selector="input[name=before][value=%s]" % moment["id"])
    browser("click", selector="input[name=after][value='pmem.prof']")
    made = pmem_profile.Profile()
    made.header(pid=78, program="/srv/another")
    made.save(served.path.parent / "another.prof")
    try:
        browser("wait", script="document.body.innerText.includes('another (pid 78)')")
    finally:
        (served.path.parent / "another.prof").unlink()
    checked = browser.eval("[...document.querySelectorAll('input:checked')].map(i => [i.name, i.value])")
    assert sorted(checked) == [["after", "pmem.prof"], ["before", moment["id"]]]
    assert browser("axe") == []
    browser("click", selector="[data-forget='p/%s/forget']" % moment["id"])
    browser("wait", script="!document.querySelector('[data-forget]')")
    assert browser("heard") == []


def test_the_form_of_the_list_compares(browser, server, served):
    moment = json.loads(server.post("p/%d/remember" % served.pid).body)
    browser("open", path=server.url + "list", plain=True)
    browser("click", selector="input[name=before][value=%s]" % moment["id"])
    browser("click", selector="input[name=after][value='pmem.prof']")
    browser("click", selector="#compare")
    browser("wait", script="document.body.dataset.readyMs")
    assert browser.eval("Page.model().sides.map(side => side.label)") == [moment["label"], "now"]
    assert browser("heard") == []
    server.post("p/%s/forget" % moment["id"])
