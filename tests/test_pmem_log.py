# SPDX-License-Identifier: BSD-2-Clause
"""test_pmem_log - the parser of the log accepts a good log and refuses each kind of broken one."""
import pytest

import pmem_log

TOP = "# pmem log of /bin/prog, pid 7, start 2024-05-05T10:00:00Z, version 0.1.0\n"
TIME = "# time=2024-05-05T10:00:0%dZ uptime_s=%d.5 live=%d peak=9000 rss=4096 own=100 lost=0\n"


def snapshot(seq, live, body, end=None, churn="10/20"):
    return (TIME % (seq, seq, live) + "[%3d]%s\nchurn=%s\n\n" % (seq, "=" * 57, churn) + body
            + ("# end [%3d]\n" % seq if end is None else end))


def entry(letter, numbers, frames="  {0} /bin/prog(main+0x1c) [0x40001c]\n"):
    return "{%s} live:%s, alloc:%s/%s, free:%s/%s\n%s\n" % ((letter * 16,) + numbers + (frames,))


GOOD = TOP + snapshot(0, 30, entry("a", (20, 20, 20, 0, 0)) + entry("b", (10, 15, 15, 5, 5))) + \
    snapshot(1, 28, entry("a", (25, 5, 25, 0, 0)) + "# rest: 1 call stacks, live 3, alloc 3/3, free 0/0\n")


@pytest.fixture
def parse(tmp_path):
    def call(*texts, totals="all"):
        paths = []
        for i, text in enumerate(texts):
            paths.append(tmp_path / ("log%d" % i))
            paths[-1].write_text(text)
        return pmem_log.parse(paths, totals)
    return call


def test_good_log(parse):
    log = parse(GOOD)
    assert (log.exe, log.pid, [s.seq for s in log.snapshots], log.torn) == ("/bin/prog", 7, [0, 1], False)
    assert log.state()["a" * 16].live == 25 and log.state()["b" * 16].free_total == 5
    assert log.last.rest.live == 3 and log.snapshots[0].churn == 10 and log.last.figure("rss") == 4096
    frame = log.state()["a" * 16].frames[0]
    assert (frame.object, frame.symbol, frame.offset, frame.addr) == ("/bin/prog", "main", 0x1c, 0x40001c)


def test_frames_without_symbol_with_odd_paths_and_marks(parse):
    frames = "  {0} /a b/(c)/prog(+0x1c) [0x40001c]\n  {1} /x.so(_ZN1aC1Ev+0x0) [0x9]\n  {2} [truncated]\n"
    log = parse(TOP + snapshot(0, 20, entry("a", (20, 20, 20, 0, 0), frames)))
    found = log.state()["a" * 16].frames
    assert (found[0].object, found[0].symbol) == ("/a b/(c)/prog", "") and found[2].mark == "[truncated]"


def test_log_that_was_cut_is_torn_and_keeps_what_was_whole(parse):
    first = len(TOP + snapshot(0, 30, entry("a", (20, 20, 20, 0, 0)) + entry("b", (10, 15, 15, 5, 5))))
    for end in range(first + 3, len(GOOD) - 1):
        if GOOD[end - 1] != "\n":  # a cut inside a line
            log = parse(GOOD[:end])
            assert log.torn and [s.seq for s in log.snapshots] == [0]


def test_rotated_generations_are_one_log(parse):
    log = parse(GOOD, TOP + snapshot(2, 4, entry("b", (4, 0, 15, 6, 11))))
    assert [s.seq for s in log.snapshots] == [0, 1, 2] and log.state()["b" * 16].live == 4


def test_log_that_lost_text_goes_on_with_a_complete_snapshot(parse):
    first = TOP + snapshot(0, 30, entry("a", (20, 20, 20, 0, 0)) + entry("b", (10, 15, 15, 5, 5)))
    second = snapshot(1, 28, entry("a", (25, 5, 25, 0, 0)) + "# rest: 1 call stacks, live 3, alloc 3/3, free 0/0\n")
    again = snapshot(1, 30, entry("a", (26, 6, 26, 0, 0)) + entry("b", (4, 0, 15, 6, 11)))
    for end in range(0, len(second)):
        log = parse(first + second[:end] + "\n# lost 77 bytes of log here\n" + again)
        assert [s.seq for s in log.snapshots] == [0, 1] and log.state()["b" * 16].live == 4
        assert (log.lost, log.cut, log.torn) == (77, 1 if end > second.index("\n") else 0, False), end
    log = parse(first + second[:200], TOP + "\n# lost 77 bytes of log here\n" + again)  # rotated meanwhile
    assert (log.last.seq, log.cut, log.torn) == (1, 1, False)


def test_log_that_was_truncated_and_begun_again(parse):
    log = parse(TOP + "\n# lost 77 bytes of log here\n" + snapshot(4, 4, entry("b", (4, 0, 15, 6, 11))))
    assert log.last.seq == 4 and log.lost == 77


def test_note_inside_a_snapshot(parse):
    note = "# sandbox: no more files are opened; children forked from here on are not recorded\n"
    log = parse(GOOD.replace("{" + "b" * 16, note + "{" + "b" * 16, 1))
    assert [s.seq for s in log.snapshots] == [0, 1] and log.notes == [note[2:-1]]


BROKEN = {
    "sequence gap": GOOD.replace("[  1]", "[  2]"),
    "sequence width": GOOD.replace("[  1]=", "[1]="),
    "short ruler": GOOD.replace("=" * 57, "=" * 56),
    "live is not alloc - free": GOOD.replace("live:20, alloc:20/20", "live:20, alloc:20/21"),
    "not sorted": TOP + snapshot(0, 30, entry("b", (10, 15, 15, 5, 5)) + entry("a", (20, 20, 20, 0, 0))),
    "twice in a snapshot": TOP + snapshot(0, 40, entry("a", (20, 20, 20, 0, 0)) * 2),
    "total": GOOD.replace("live=30", "live=31"),
    "total with rest": GOOD.replace("live=28", "live=25"),
    "shrinking alloc": GOOD.replace("live:25, alloc:5/25", "live:15, alloc:5/15").replace("live=28", "live=18"),
    "difference": GOOD.replace("alloc:5/25", "alloc:6/25"),
    "frame order": GOOD.replace("{0} /bin", "{1} /bin", 1),
    "frame without offset": GOOD.replace("(main+0x1c)", "(main)", 1),
    "two stacks of one hash": GOOD[:-200] + GOOD[-200:].replace("(main+0x1c)", "(main+0x2c)"),
    "no frames": TOP + snapshot(0, 20, entry("a", (20, 20, 20, 0, 0), "")),
    "no time line": GOOD.replace("# time=2024-05-05T10:00:01Z", "# when=", 1),
    "time without peak": GOOD.replace(" peak=9000", "", 1),
    "peak below live": GOOD.replace("peak=9000", "peak=29", 1),
    "no churn": GOOD.replace("churn=10/20\n", "", 1),
    "no end between snapshots": GOOD.replace("# end [  0]\n", ""),
    "end of another": GOOD.replace("# end [  0]", "# end [  3]"),
    "malformed rest": GOOD.replace("live 3, alloc", "live -3, alloc"),
    "negative live": GOOD.replace("live:20,", "live:-20,"),
    "stray text": GOOD.replace("churn=10/20\n\n", "churn=10/20\n\nhello\n", 1),
    "malformed lost": GOOD + "# lost some bytes\n",
    "two lines in front of lost": GOOD + "half\nhalf\n# lost 7 bytes of log here\n",
    "number of a lost snapshot used up": TOP + snapshot(0, 0, "")[:150] + "\n# lost 7 bytes of log here\n" + GOOD[len(TOP):]
        .replace("[  1]", "[  3]"),
    "stray text at the end": GOOD + "hello\n",
    "unknown mark": GOOD.replace("{0} /bin/prog(main+0x1c) [0x40001c]", "{0} [whatever]", 1),
    "no top line": GOOD[len(TOP):],
    "short hash": GOOD.replace("a" * 16, "a" * 15),
}


def test_generation_torn_without_loss_is_refused(parse):
    with pytest.raises(pmem_log.LogError):
        parse(GOOD[:-20], TOP + snapshot(2, 4, entry("b", (4, 0, 15, 6, 11))))


@pytest.mark.parametrize("name", BROKEN)
def test_broken_log_is_refused(parse, name):
    assert BROKEN[name] != GOOD
    with pytest.raises(pmem_log.LogError):
        parse(BROKEN[name])
