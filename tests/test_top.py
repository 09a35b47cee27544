# SPDX-License-Identifier: BSD-2-Clause
"""test_top - `pmem top`: on a terminal (tmux), and as plain text, over a program whose heap is known between two lines of its input."""
import os
import re
import shutil
import signal
import subprocess

import pytest

import pmem_run
import pmem_tmux
import pmem_tool
from pmem_top import needs_tmux, table, top  # noqa: F401 (a fixture)

# keep 3000, load 10, pass 500, deep 30
LIVE = 3000 * 1024 + 10 * 4096 + 10
FIRST = ["keep 3000", "load 10", "pass 500", "deep 30"]


class Steps:
    """tests/programs/steps.c, recorded, in a folder of its own."""

    def __init__(self, program, lib, folder):
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.process = subprocess.Popen([program], cwd=folder, env=pmem_run.environment(lib, {"PMEM_LOG": "0"}),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid

    def tell(self, *lines):
        for line in lines:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == b"ok\n"

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(20) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def start(programs, lib, tmp_path):
    """start() -> Steps that have made FIRST; start("a") in the folder a; name: that of the program."""
    started = []

    def start(folder="steps", name=None):
        program = programs("steps.c")
        if name:
            program = shutil.copy(program, tmp_path / name)
        steps = Steps(program, lib, tmp_path / folder)
        started.append(steps)
        steps.tell(*FIRST)
        return steps
    yield start
    for steps in started:
        steps.kill()


@pytest.fixture
def line_of(root):
    """The number of the line of steps.c with a text."""
    lines = (root / "tests" / "programs" / "steps.c").read_text().split("\n")
    return lambda text: 1 + next(i for i, line in enumerate(lines) if text in line)


@pytest.fixture
def batch(lib, tmp_path):
    """batch(arguments...) -> subprocess.CompletedProcess of `pmem top`."""
    def batch(*argv, env=None):
        return subprocess.run([pmem_tool.find(lib), "top", *map(str, argv)], cwd=tmp_path, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env=pmem_run.environment(None, env), timeout=60)
    return batch


def figures(rows):
    """Rows without the growth per minute, which depends on the time."""
    return [re.sub(r"^(.{10}) .{11}", r"\1", row) for row in rows]


# -- what the program maps itself ---------------------------------------------------------------------
@pytest.fixture
def mapping(run, programs):
    """A process of mappings.c that maps 84 MiB by four functions, and waits."""
    process = run.start([programs("mappings.c"), "resident"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.communicate(b"")


def test_mappings_as_plain_text(mapping, batch):
    text = batch("--batch", "-n", "1", mapping.pid).stdout
    assert "\n  mapped 84.0 MiB by the program itself (mmap), no part of the heap: --mappings\n" in text
    assert "untouched" not in text
    text = batch("--batch", "-n", "1", "--mappings", "--by", "alloc", mapping.pid).stdout
    lines = text.split("\n")
    rows = [re.sub(r"^( +\S+ \S+) .{11} ", r"\1 ", row) for row in lines[lines.index("") + 2:]]
    names = [re.search(r"(\w+)  mappings\.c:\d+$", row).group(1) for row in rows if "mappings.c" in row]
    assert (names[0], sorted(names)) == ("untouched", ["half_touched", "shared_touched", "touched", "untouched"])
    assert "  mapped 84.0 MiB in 4 calls since the start\n" in text and "live" not in text.lower().replace("lives", "")


@needs_tmux
def test_mappings_on_the_terminal(mapping, top):
    terminal = top(mapping.pid)
    terminal.wait("key v")
    terminal.press("v")
    assert "untouched" in table(terminal.wait("MAPPED", "v heap"))[0]
    terminal.press("v")
    terminal.wait("LIVE", "key v")


# -- on the terminal --------------------------------------------------------------------------------
@needs_tmux
def test_totals_and_rows_are_those_of_the_program(start, top, line_of):
    steps = start()
    terminal = top(steps.pid)
    lines = terminal.wait("alloc 0 B/s in 0 calls/s, free 0 B/s, churn 0 B/s")
    assert re.match(r"steps \(pid %d\), running for .* every 200 ms$" % steps.pid, lines[0])
    assert "Live heap 3.0 MiB in 3,011 blocks" in lines[1]
    assert "remember (steps.c:%d) holds 2.9 MiB, 99 %%" % line_of("malloc(1024)") in terminal.text()
    assert figures(table(lines)) == [
        "   2.9 MiB        0 B    3,000 + remember  steps.c:%d" % line_of("malloc(1024)"),
        "  40.0 KiB        0 B       10 + load_index  steps.c:%d" % line_of("malloc(4096)"),
        "      10 B        0 B        1 + walk  steps.c:%d" % line_of("malloc(10)"),
        "       0 B        0 B        0 + parse  steps.c:%d" % line_of("malloc(100)"),
    ]
    assert re.search(r"  live 3.0 MiB [▁-█ ]+  rss \d+\.\d MiB [▁-█ ]+$", terminal.text(), re.M)
    assert len(terminal.lines()) == 24
    steps.tell("drop 3000", "load 90")
    assert figures(table(terminal.wait(" 400.0 KiB "))) [0].startswith(" 400.0 KiB")


@needs_tmux
def test_sort_and_reverse(start, top):
    terminal = top(start().pid)

    def names(*wanted):
        rows = [re.search(r"\+ (\w+)", row).group(1) for row in table(terminal.wait(*wanted))]
        return rows
    terminal.wait("LIVE  growth/min")
    terminal.press("T")
    assert names("TEMPORARY") == ["parse", "remember", "load_index", "walk"]
    terminal.press("r")
    assert names("TEMPORARY^")[-1] == "parse"
    terminal.press("<")
    assert names("ALLOCATED")[0] == "remember"
    terminal.press(">", ">")
    assert names("LIVE  growth/min") == ["remember", "load_index", "walk", "parse"]


@needs_tmux
def test_expand_a_site_and_a_call_stack(start, top, line_of):
    terminal = top(start().pid)
    terminal.wait("+ walk")
    terminal.press("Down", "Down", "Enter")
    lines = terminal.wait("- walk", "+ malloc by")
    assert re.search(r"^      10 B .* 1   \+ malloc by obey, main$", "\n".join(lines), re.M)
    terminal.press("Down", "Enter")
    terminal.wait("frames of the runtime hidden")
    rows = [row.strip() for row in table(terminal.lines())]
    # walk() was called at two places of its own.
    at = next(i for i, row in enumerate(rows) if "- malloc by" in row) + 1
    assert rows[at:at + 3] == ["walk  steps.c:%d  (30 times)" % line_of("malloc(10)"),
                               "obey  steps.c:%d  (inlined)" % line_of("walk(count)"),
                               "main  steps.c:%d" % line_of("obey(line);")]
    terminal.press("a")
    terminal.wait("_start")
    terminal.press("x")
    pmem_run.wait_for(lambda: "malloc by" not in terminal.text(), "closing all")


@needs_tmux
def test_many_call_stacks(start, top):
    steps = start()
    steps.tell(*("deep %d" % depth for depth in range(1, 101) if depth != 30))
    terminal = top(steps.pid, "--filter", "walk", size=(80, 100))
    terminal.wait("100 + walk")
    terminal.press("Enter")
    lines = terminal.wait("... 50 other call stacks")
    assert sum("+ malloc by" in line for line in lines) == 50


@needs_tmux
def test_filter(start, top):
    terminal = top(start().pid)
    terminal.wait("+ walk")
    terminal.press("/")
    terminal.type("HAND")
    terminal.wait("filter: HAND_")
    rows = pmem_run.wait_for(lambda: [r for r in [table(terminal.lines())] if len(r) == 2], "the filter")[0]
    assert "remember" in rows[0] and "parse" in rows[1]
    terminal.press("Enter")
    terminal.wait("filter: HAND  (2.9 MiB live, 99 %; Esc drops it)")
    terminal.press("Escape")
    terminal.wait("+ walk", "h help")


@needs_tmux
def test_pause(start, top):
    steps = start()
    terminal = top(steps.pid)
    terminal.wait("10 B", "every 200 ms")
    terminal.press("p")
    terminal.wait("paused")
    before = table(terminal.lines())
    steps.tell("drop 3000")
    terminal.press("T", "L", "h")  # it goes on with keys, but not with reading
    terminal.wait("pmem top: keys")
    terminal.press("h")
    assert table(terminal.wait("paused")) == before
    terminal.press("u")
    assert figures(table(terminal.wait("paused", "  live 40.0 KiB ")))[0].startswith("  40.0 KiB")
    steps.tell("keep 1")
    terminal.press("p")
    terminal.wait("every 200 ms", "  live 41.0 KiB ")


@needs_tmux
def test_mark(start, top):
    steps = start()
    terminal = top(steps.pid)
    terminal.wait("3,000 +")
    terminal.press("m")
    terminal.wait("since mark", "+live")
    steps.tell("keep 5", "drop 2", "pass 7")
    lines = terminal.wait("blocks +3, alloc 5.7 KiB in 12 calls")
    assert re.search(r"  since mark .* ago: live \+3.0 KiB, blocks \+3, alloc 5.7 KiB in 12 calls", "\n".join(lines))
    rows = table(lines)
    assert re.match(r"   2.9 MiB    \+3.0 KiB .*       \+3 \+ remember", rows[0])
    assert re.match(r"  40.0 KiB           0 .*        0 \+ load_index", rows[1])
    terminal.press("M")
    terminal.wait("growth/min")


@needs_tmux
def test_sizes(start, top):
    terminal = top(start().pid)
    terminal.wait("+ walk")
    terminal.resize(130, 30)
    wide = ("allocated   temporary site", "48.8 KiB         500 + parse")
    pmem_run.wait_for(lambda: [l for l in [terminal.lines()] if len(l) == 30 and l[29].startswith("h help")
                               and all(any(text in line for line in l) for text in wide)], "the wide screen")
    for size in ((20, 5), (7, 2), (1, 1), (300, 90)):
        terminal.resize(*size)
    # The screen before has that text too: the next size comes when this one was drawn, its last line at the end.
    pmem_run.wait_for(lambda: [l for l in [terminal.lines()] if len(l) == 90 and l[89].startswith("h help")
                               and any("allocated   temporary site" in line for line in l)], "the large screen")
    terminal.resize(20, 5)
    lines = pmem_run.wait_for(lambda: [l for l in [terminal.lines()] if len(l) == 5 and "site" in l[2]], "the small screen")[0]
    assert lines[2].split() == ["LIVE", "site"]
    assert lines[3].startswith("   2.9 MiB + ")
    terminal.press("q")
    terminal.wait("code=0")


@needs_tmux
def test_groups_and_the_columns_that_are_asked_for(start, top):
    terminal = top(start().pid, "--group", "module", "--by", "growth")
    lines = terminal.wait("GROWTH/MIN", "blocks module")
    assert re.match(r"   3.0 MiB .* 3,011 \+ steps$", table(lines)[0])
    terminal.press("g", "g")
    terminal.wait("blocks function", "+ load_index")


@needs_tmux
@pytest.mark.parametrize("how", ["as it is", "deleted"])
def test_the_process_ends(start, top, how):
    steps = start()
    terminal = top(steps.pid)
    terminal.wait("3,000 +")
    if how == "deleted":
        for profile in steps.folder.glob("*.prof"):
            profile.unlink()
    steps.tell("keep 1000")
    steps.end()
    lines = terminal.wait("The process has ended: this is its final state.", "4,000 +")
    assert re.match(r"steps \(pid %d\), ended after .* ended$" % steps.pid, lines[0])
    assert "Live heap at the end 3.9 MiB in 4,011 blocks" in "\n".join(lines)
    terminal.press("T")
    terminal.wait("TEMPORARY")
    terminal.press("q")
    terminal.wait("code=0")


@needs_tmux
def test_quitting_restores_the_terminal(start, top):
    terminal = top(start().pid, script="echo before; " + pmem_tmux.SCRIPT)
    terminal.wait("+ walk")
    terminal.press("q")
    lines = terminal.wait("over")
    assert [line for line in lines if line] == ["before", "code=0", "over"]
    assert terminal.modes("after") == terminal.modes("before")


def child_of(terminal):
    shell = int(terminal._tmux("list-panes", "-F", "#{pane_pid}").stdout)
    return int(subprocess.run(["ps", "-o", "pid=", "--ppid", str(shell)], capture_output=True, text=True).stdout.split()[0])


@needs_tmux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV, signal.SIGABRT])
def test_signals_restore_the_terminal(start, top, number):
    # What the keyboard sends the shell gets too.
    terminal = top(start().pid, script="trap : INT; ulimit -c 0; echo before; " + pmem_tmux.SCRIPT)
    terminal.wait("+ walk")
    if number == signal.SIGINT:
        terminal.press("C-c")
    else:
        os.kill(child_of(terminal), number)
    lines = terminal.wait("over")
    assert lines[0] == "before"
    assert "code=%d" % (128 + number) in lines
    assert terminal.modes("after") == terminal.modes("before")


STOPPED = 'set -m; stty -g >"$0.before"; "$@"; stty -g >"$0.after"; echo "stopped=$?"; read -r line; fg >/dev/null; echo "code=$?"; cat'


@needs_tmux
def test_stopping_and_coming_back(start, top):
    terminal = top(start().pid, script=STOPPED)
    terminal.wait("+ walk")
    terminal.press("C-z")
    terminal.wait("stopped=")
    assert terminal.modes("after") == terminal.modes("before")
    terminal.press("Enter")
    terminal.wait("+ walk")
    terminal.press("T")
    terminal.wait("TEMPORARY")
    terminal.press("q")
    terminal.wait("code=0")


@needs_tmux
def test_several_processes(start, top):
    first, second = start("a"), start("a")
    second.tell("load 1000")
    order = sorted([first.pid, second.pid])
    terminal = top(first.folder)
    lines = terminal.wait("2 recorded processes", str(first.pid), str(second.pid))
    rows = [line.split() for line in lines if re.match(r" *\d+ +\d", line)]
    assert [int(row[0]) for row in rows] == order
    assert [row[1:3] for row in rows] == [["3.0", "MiB"] if pid == first.pid else ["6.9", "MiB"] for pid in order]
    terminal.press("Down", "Enter")
    terminal.wait("(pid %d)" % order[1], "+ remember")
    terminal.press("q")
    terminal.wait("code=0")


@needs_tmux
def test_the_list_without_an_argument_has_all(start, top):
    pids = [start("a").pid, start("b").pid]
    terminal = top(size=(80, 300))
    terminal.wait("recorded processes: which one?", *("%7d    3.0 MiB" % pid for pid in pids))
    terminal.press("Escape")
    terminal.wait("code=0")


@needs_tmux
def test_one_process_of_a_folder_is_no_choice(start, top):
    steps = start("a")
    start("b")
    top(steps.folder).wait("(pid %d)" % steps.pid, "+ remember")


@needs_tmux
def test_without_utf8_and_colours(start, top):
    terminal = top(start().pid, env={"LC_ALL": "C", "TERM": "vt100"})
    terminal.wait("+ walk", "alloc 0 B/s")
    assert terminal.text().isascii()
    assert re.search(r"  live 3.0 MiB [_.:=+*# -]*[_.:=+*#-]  rss", terminal.text())


@needs_tmux
@pytest.mark.parametrize("locale, name", [("C.UTF-8", "stépś\u4f60"), ("C", "st?p??")])
def test_names_in_other_scripts(start, top, locale, name):
    terminal = top(start(name="stépś\u4f60").pid, env={"LC_ALL": locale})
    assert terminal.wait("+ walk", "h help")[0].startswith(name + " (pid ")
    if locale == "C.UTF-8":
        terminal.press("/")
        terminal.type("é\u4f60")
        terminal.wait("filter: é\u4f60_", "Nothing matches")
        terminal.press("BSpace", "BSpace")
        terminal.wait("filter: _", "+ walk")


@needs_tmux
def test_names_that_would_steer_the_terminal(start, top):
    name = "st\x1b]0;title\x07\x1b[2J\u009bps"
    terminal = top(start(name=name).pid)
    assert terminal.wait("+ walk", "h help")[0].startswith("st?]0;title??[2J?ps (pid ")


@needs_tmux
@pytest.mark.parametrize("no_color, wanted", [("", True), ("1", False)])
def test_colours(start, top, no_color, wanted):
    steps = start()
    terminal = top(steps.pid, env={"NO_COLOR": no_color, "TERM": "xterm-256color"})
    terminal.wait("+ walk")
    steps.end()
    terminal.wait("The process has ended")
    assert ("\x1b[33m" in terminal.text("-e")) == wanted


@needs_tmux
def test_a_terminal_that_cannot_do_it(start, top):
    steps = start()
    for term in ("dumb", "no-such-terminal"):
        terminal = top(steps.pid, env={"TERM": term})
        lines = terminal.wait("code=1", "over")
        assert "TERM=%s: no terminal whose cursor can be moved; use --batch" % term in "".join(lines)
        assert terminal.modes("after") == terminal.modes("before")


# -- plain text -------------------------------------------------------------------------------------
def test_batch(start, batch, line_of):
    steps = start()
    result = batch("--batch", "-n", "2", "-d", "100ms", steps.pid)
    assert (result.returncode, result.stderr) == (0, "")
    readings = re.split(r"^(?=steps \()", result.stdout, flags=re.M)[1:]
    assert len(readings) == 2
    for reading, rate in zip(readings, ("  -", "0 B")):
        lines = reading.split("\n")
        assert "Live heap 3.0 MiB in 3,011 blocks" in lines[1]
        assert figures(table(lines)) == [
            "   2.9 MiB        %s    3,000   remember  steps.c:%d" % (rate, line_of("malloc(1024)")),
            "  40.0 KiB        %s       10   load_index  steps.c:%d" % (rate, line_of("malloc(4096)")),
            "      10 B        %s        1   walk  steps.c:%d" % (rate, line_of("malloc(10)")),
            "       0 B        %s        0   parse  steps.c:%d" % (rate, line_of("malloc(100)")),
        ]
        assert not re.search(r" $", reading, re.M)
    assert "  allocated 3.0 MiB in 3,511 calls since the start, 14 % temporary\n" in readings[0]
    assert "  alloc 0 B/s in 0 calls/s, free 0 B/s, churn 0 B/s\n" in readings[1]


def test_batch_is_as_wide_as_columns_and_has_as_many_rows_as_asked(start, batch):
    steps = start()
    result = batch("-b", "-n", "1", "--top", "2", "--by", "alloc", steps.pid, env={"COLUMNS": "130"})
    rows = table(result.stdout.split("\n"))
    assert len(rows) == 3
    assert re.match(r"   2.9 MiB .*    3,000     2.9 MiB           0   remember  steps.c:\d+$", rows[0])
    # load_index has 40 KiB and parse 48.8
    assert re.match(r"       0 B .*        0    48.8 KiB         500   parse  steps.c:\d+$", rows[1])
    assert re.match(r"  40.0 KiB .*       11    40.0 KiB           0   in 2 other sites$", rows[2])


def test_batch_ends_with_the_process(start, batch, lib, tmp_path):
    steps = start()
    process = subprocess.Popen([pmem_tool.find(lib), "top", "-b", "-d", "0.1", "--filter", "walk", str(steps.pid)], cwd=tmp_path,
                               env=pmem_run.environment(None), stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("steps (pid %d), running" % steps.pid)
    steps.tell("deep 5")
    steps.end()
    out = process.communicate(timeout=20)[0]
    assert process.returncode == 0
    last = re.split(r"^(?=steps \()", out, flags=re.M)[-1]
    assert last.startswith("steps (pid %d), ended after " % steps.pid)
    assert "The process has ended: this is its final state." in last
    assert [row.split()[0:2] for row in table(last.split("\n"))] == [["20", "B"]]


def test_a_profile_of_an_ended_process(start, batch):
    steps = start()
    steps.end()
    for name in (steps.folder, next(steps.folder.glob("*.prof"))):
        result = batch("-b", name)
        assert result.returncode == 0
        assert len(re.findall(r"^steps \(pid %d\), ended after" % steps.pid, result.stdout, re.M)) == 1


def test_several_and_no_terminal(start, batch):
    first, second = start("a"), start("a")
    result = batch("-b", "-n", "1", first.folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert "2 processes are recorded: name one of them" in result.stderr
    assert str(first.pid) in result.stderr and str(second.pid) in result.stderr


@pytest.mark.parametrize("arguments, code, words", [
    ((), 2, "standard output is no terminal; --batch prints plain text"),
    (("-b", "2000000000"), 1, "no such process"),
    (("-b", "missing"), 1, "missing: No such file or directory"),
    (("-b", "1", "2"), 2, "one process at a time"),
    (("-b", "--by", "peak"), 2, "no such key"),
    (("-b", "--group", "file"), 2, "there are site, function and module"),
    (("-b", "-n", "0"), 2, "-n 0: no number"),
    (("-b", "--top", "x"), 2, "--top x: no number"),
    (("-b", "-d", "0"), 2, "-d 0: no time"),
    (("-b", "-d"), 2, "needs an argument"),
    (("-b", "--filter", ""), 2, "--filter"),
    (("-n", "1"), 2, "-n goes with --batch"),
    (("--nonsense",), 2, "--nonsense"),
])
def test_errors(batch, arguments, code, words):
    result = batch(*arguments)
    assert (result.returncode, result.stdout) == (code, "")
    assert words in result.stderr


def test_nothing_is_written_to_the_profile(start, batch):
    steps = start()
    profile = next(steps.folder.glob("*.prof"))
    before = profile.stat()
    content = profile.read_bytes()
    assert batch("-b", "-n", "3", "-d", "0.1", steps.pid).returncode == 0
    assert profile.read_bytes() == content
    assert profile.stat().st_mtime_ns == before.st_mtime_ns
