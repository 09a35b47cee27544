# SPDX-License-Identifier: BSD-2-Clause
"""test_viewers - what the programs that people have show of exports is what `pmem report --json` says.  doc/VIEWERS.md lists them.

What is not here is skipped; `script/install-missing programs` installs all but inferno.
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import urllib.request
from collections import Counter

import pytest

import pmem_export
import pmem_page
import pmem_run
from pmem_export import SUMS, expected
from pmem_viewers import PPROF, case, each, heaptrack_sum, ms_print, need, run_reader, tool  # noqa: F401 (fixtures)

FLAME_GRAPHS = ("inferno-flamegraph", "flamegraph.pl", "/usr/share/perl5/Devel/NYTProf/flamegraph.pl")
DHAT_PAGES = ("/usr/libexec/valgrind/dh_view.html", "/usr/lib/valgrind/dh_view.html")


def named(stack):
    """Without the frames that only have a module and an offset: pprof leaves their names to whoever has symbols."""
    return tuple(name for name in stack if not re.search(r"\+0x[0-9a-f]+$", name))


def by_function(rows):
    """{function: (itself, with what it calls)}; a function that is on a call stack twice counts once."""
    own, whole = Counter(), Counter()
    for stack, amount in rows.items():
        own[stack[0]] += amount
        for name in set(stack):
            whole[name] += amount
    return {name: (own[name], amount) for name, amount in whole.items()}


# -- programs -----------------------------------------------------------------------------------------
def test_go_tool_pprof(each):
    need("go")
    path = each.file("pprof")
    raw = run_reader("go", "tool", "pprof", "-symbolize=none", "-raw", path)
    assert "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes[dflt] mmap_calls/count mmap_space/bytes" in raw
    rows = re.findall(r"^ *(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+): [\d ]+$", raw, re.M)
    assert [sum(map(int, column)) for column in zip(*rows)] == [each.totals[v] for v in SUMS] + [0, 0]
    for kind, value in PPROF.items():
        unit = "B" if kind.endswith("space") else "count"
        top = run_reader("go", "tool", "pprof", "-symbolize=none", "-unit=" + unit, "-sample_index=" + kind, "-top", path)
        assert re.search(r" of (\d+)(?:B)? total", top).group(1) == str(each.totals[value])


def test_go_tool_pprof_svg(case):
    need("go")
    need("dot")
    for kind, value in PPROF.items():
        unit = "B" if kind.endswith("space") else "count"
        picture = run_reader("go", "tool", "pprof", "-symbolize=none", "-unit=" + unit, "-sample_index=" + kind, "-nodefraction=0", "-svg",
                             case("c").file("pprof"))
        assert picture.rstrip().endswith("</svg>") and ">take<" in picture
        total = case("c").totals[value]
        assert re.search(r"Showing nodes accounting for (\d+)B?, 100% of (\d+)B? total", picture).groups() == (str(total), str(total))


def listens(address):
    with socket.socket() as one:
        return one.connect_ex(address) == 0


@pytest.fixture
def pprof_pages(case):
    """The address of `go tool pprof -http` of the case "c++"."""
    need("go")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        address = one.getsockname()
    where = "%s:%d" % address
    process = subprocess.Popen(["go", "tool", "pprof", "-symbolize=none", "-nodefraction=0", "-no_browser", "-http=" + where, case("c++").file("pprof")],
                               stderr=subprocess.PIPE)
    try:
        assert b"Serving web UI" in process.stderr.readline()
        pmem_run.wait_for(lambda: listens(address), "pprof, which says so before it does")
        yield "http://" + where
    finally:
        process.terminate()
        process.communicate()


def test_go_tool_pprof_http(case, pprof_pages):
    each = case("c++")
    for kind, value in PPROF.items():
        page = urllib.request.urlopen(pprof_pages + "/ui/top?si=" + kind, timeout=pmem_run.TIMEOUT_S).read().decode()
        total, table = re.search(r"\n *makeTopTable\( ?(\d+) ?, (\[.*\])\)", page).groups()
        assert int(total) == each.totals[value], kind
        shown = {row["Name"]: (row["Flat"], row["Cum"]) for row in json.loads(table)}
        wanted = by_function(expected(each.document, value))
        for name, sums in wanted.items():
            assert not named((name,)) or shown[name] == sums, (kind, name)
        page = urllib.request.urlopen(pprof_pages + "/ui/flamegraph?si=" + kind, timeout=pmem_run.TIMEOUT_S).read().decode()
        assert "shop::Store" in page


def test_ms_print(each):
    need("ms_print")
    rows, roots, peak = ms_print(each.file("massif"))
    assert rows[-1][2] == roots[-1] == each.totals["live_bytes"]
    assert rows[peak][2] == roots[0] >= each.totals["peak_live_bytes"]


def test_heaptrack_print(each):
    need("heaptrack_print")
    path = each.file("heaptrack")
    assert heaptrack_sum(path, "leaked") == each.totals["live_bytes"]
    assert heaptrack_sum(path, "allocations") == each.totals["alloc_blocks"]
    assert heaptrack_sum(path, "peak") == sum(expected(each.document, "peak_bytes").values())


def test_flame_graph(each):
    """With each of those that are here."""
    programs = list(filter(shutil.which, FLAME_GRAPHS))
    if not programs:
        pytest.skip("neither inferno nor flamegraph.pl here")
    for program in programs:
        check_flame_graph(each, run_reader(program, "--countname", "bytes", each.file("collapsed")))


def check_flame_graph(each, picture):
    assert "all (%s bytes, 100%%)" % format(each.totals["live_bytes"], ",") in picture
    drawn = {}
    for name, amount in re.findall(r"<title>([^<]*) \(([\d,]+) bytes, [\d.]+%\)</title>", picture):
        drawn[name] = drawn.get(name, 0) + int(amount.replace(",", ""))
    wanted = by_function(expected(each.document, "live_bytes", ";"))
    for name in ("main", "_start"):
        assert drawn.get(name) == wanted.get(name, (None, None))[1], name


# -- Firefox Profiler, by its command line ------------------------------------------------------------
PROFILER = pmem_page.FOLDER / "node_modules" / "@firefox-devtools" / "profiler-cli" / "dist" / "profiler-cli.js"


@pytest.fixture
def profiler(tmp_path):
    """Runs profiler-cli: a process of its own keeps the profile between two calls, until the end."""
    need("node")
    if not PROFILER.is_file():
        pytest.skip("no @firefox-devtools/profiler-cli in tests/page/node_modules")
    sessions = pathlib.Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp") / ("pmem-test.%d" % os.getpid())  # a short path: it is a socket's
    sessions.mkdir(mode=0o700)

    def call(*arguments):
        return run_reader("node", PROFILER, *arguments, env={**os.environ, "PROFILER_CLI_SESSION_DIR": str(sessions)}, cwd=tmp_path)
    try:
        yield call
    finally:
        call("stop", "--all")
        shutil.rmtree(sessions)


def load(profiler, path, attempts=20):
    """On a busy machine the process that is to keep the profile is given up after half a second: another one then."""
    for left in reversed(range(attempts)):
        try:
            return profiler("load", path)
        except AssertionError as error:
            if not left or "did not become ready" not in str(error):
                raise
            profiler("stop", "--all")


def tree_rows(node, below=()):
    """{call stack: what is its own}, of a tree of calls."""
    rows = Counter()
    for child in node["children"]:
        assert "childrenTruncated" not in child
        stack = (child["name"],) + below
        rows[stack] += child["selfSamples"]
        rows += tree_rows(child, stack)
    return pmem_export.without_zeros(rows)


@pytest.mark.parametrize("name", ["c", "c++", "threads"])
def test_firefox_profiler(case, profiler, name):
    each = case(name)
    load(profiler, each.file("firefox"))
    for strategy, value in (("timing", "live_bytes"), ("native-retained-allocations", "live_bytes"), ("native-allocations", "alloc_bytes")):
        profiler("strategy", strategy)
        found = json.loads(profiler("thread", "samples-top-down", "--json", "--include-idle", "--max-lines", "1000000"))
        assert (found["callTreeSummaryStrategy"], found["weightType"]) == (strategy, "bytes")
        assert found["regularCallTree"]["totalSamples"] == each.totals[value] > 0
        assert tree_rows(found["regularCallTree"]) == expected(each.document, value), strategy


# -- pages --------------------------------------------------------------------------------------------
SPEEDSCOPE = pmem_page.FOLDER / "node_modules" / "speedscope" / "dist" / "release" / "index.html"


def complaints(browser):
    """What went wrong, and what was asked for from elsewhere."""
    return [line for line in browser("heard") if re.match("error|dialog|request: (?!file:)", line)]


def read_evented(profile, frames):
    """{call stack: sum} of a profile that speedscope wrote: what passes between two events belongs to the call stack that is open."""
    rows, open_frames, at = Counter(), (), profile["startValue"]
    for event in profile["events"]:
        rows[tuple(frames[i]["name"] for i in open_frames)] += event["at"] - at
        at = event["at"]
        if event["type"] == "O":
            open_frames = (event["frame"],) + open_frames
        else:
            assert open_frames[0] == event["frame"]
            open_frames = open_frames[1:]
    assert not open_frames and at == profile["endValue"]
    return pmem_export.without_zeros(rows)


def open_in_speedscope(browser, path):
    """{profile: rows}, as speedscope exports what it imported, and the rows of its view of functions: (whole, itself, name)."""
    browser.open(SPEEDSCOPE, plain=True)
    browser("wait", script="document.querySelector('input[type=file]')")
    browser("give", selector="input[type=file]", path=str(path))
    browser("wait", script="document.title.endsWith(' - speedscope')")
    browser.key("3")
    browser("wait", script="document.body.innerText.includes('Symbol Name')")
    shown = browser.eval("[...document.querySelectorAll('tr')].map(row => [...row.cells].map(cell => cell.innerText.trim()))")
    document = json.loads(pathlib.Path(browser("download", key="Control+s")).read_text())
    assert complaints(browser) == []
    rows = {p["name"]: read_evented(p, document["shared"]["frames"]) for p in document["profiles"]}
    return rows, [row for row in shown if re.search("%\\)$", row[0])]


def speedscope_shows(text, amount):
    """Whether it shows an amount of bytes so: it calls 1,024 bytes KB."""
    number, unit = re.fullmatch(r"([\d.]+) (B|KB|MB) \(.*\)", text).groups()
    return abs(float(number) - amount / {"B": 1, "KB": 1 << 10, "MB": 1 << 20}[unit]) <= 0.005


@pytest.mark.parametrize("name", ["c", "c++", "threads"])
def test_speedscope(browser, case, name):
    if not SPEEDSCOPE.is_file():
        pytest.skip("no speedscope in tests/page/node_modules")
    each = case(name)
    rows, shown = open_in_speedscope(browser, each.file("speedscope"))
    assert rows == {"live bytes": expected(each.document, "live_bytes"), "allocated bytes": expected(each.document, "alloc_bytes")}
    assert sum(rows["live bytes"].values()) == each.totals["live_bytes"] and sum(rows["allocated bytes"].values()) == each.totals["alloc_bytes"]
    wanted = by_function(expected(each.document, "live_bytes"))
    names = Counter(f["name"] for f in json.loads(each.export("speedscope"))["shared"]["frames"])
    once = [row for row in shown if names[row[2]] == 1]
    assert len(once) >= 4
    for whole, own, function in once:
        assert speedscope_shows(own, wanted[function][0]) and speedscope_shows(whole, wanted[function][1]), (whole, own, function)


def outermost_rows(profile, kind):
    """What speedscope makes of pprof: a location without names is left out, and one with several has only its outermost function."""
    rows, number = Counter(), [name for name, _ in profile.types].index(kind)
    for sample in profile.samples:
        lines = [profile.lines(profile.locations[i]) for i in pmem_export.packed(sample[1])]
        rows[tuple(found[-1][0][0] for found in lines if found)] += pmem_export.packed(sample[2])[number]
    return pmem_export.without_zeros(rows)


def test_speedscope_reads_other_formats(browser, case):
    if not SPEEDSCOPE.is_file():
        pytest.skip("no speedscope in tests/page/node_modules")
    each = case("c++")
    rows, _ = open_in_speedscope(browser, each.file("collapsed"))
    assert list(rows.values()) == [expected(each.document, "live_bytes", ";")]
    rows, _ = open_in_speedscope(browser, each.file("pprof"))
    assert list(rows.values()) == [outermost_rows(pmem_export.Pprof(each.export("pprof")), "inuse_space")]
    assert sum(map(sum, map(Counter.values, rows.values()))) == each.totals["live_bytes"]



def test_dh_view(browser, each):
    page = next(filter(os.path.exists, DHAT_PAGES), None)
    if not page:
        pytest.skip("no dh_view here")
    browser.open(page, plain=True)
    browser("give", selector="input[type=file]", path=str(each.file("dhat")))
    browser("wait", script="document.body.innerText.includes('t-end:')")
    text = browser.eval("document.body.innerText")
    total, blocks = re.search(r"^\W*PP 1/1 .*\n *Total: +([\d,]+) bytes .* in ([\d,]+) blocks", text, re.M).groups()
    live, live_blocks = re.search(r"^    At t-end: +([\d,]+) bytes .* in ([\d,]+) blocks", text, re.M).groups()
    assert [int(n.replace(",", "")) for n in (blocks, total, live_blocks, live)] == [each.totals[v] for v in SUMS]
    assert complaints(browser) == []
