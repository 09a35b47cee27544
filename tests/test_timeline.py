# SPDX-License-Identifier: BSD-2-Clause
"""test_timeline - the process over time, and moments that it names, from pmemprof.h to `pmem report`."""
import itertools
import json
import re
import shutil
import subprocess

import pytest

import pmem_report
import pmem_tool

STEP = 64 * 1024
STEPS = 110
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
CUT = "0123456789" * 5 + "01" + "\u00e4"  # 55 bytes would end inside the next character


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def compile_program(root, out, compiler, *flags):
    """tests/programs/timeline.c, without anything of pmem to link to."""
    if not shutil.which(compiler):
        pytest.skip("no %s" % compiler)
    subprocess.run([compiler, "-g", "-O1", *WARNINGS, "-I", root / "include", *flags, "-o", out,
                    root / "tests" / "programs" / "timeline.c"], check=True)
    return out


@pytest.fixture(scope="module")
def program(root, tmp_path_factory):
    return compile_program(root, tmp_path_factory.mktemp("timeline") / "timeline", "gcc")


def said(result):
    """Whether the program found pmemprof_mark(), and its (time, live bytes)."""
    lines = result.out.decode().split("\n")
    return lines[0] == "mark yes", [tuple(map(int, line.split())) for line in lines[1:] if line]


def report(tool, run, *options):
    path, = pmem_report.find(run.folder)
    result = tool("report", "--json", *options, path)
    assert (result.returncode, result.stderr) == (0, b"")
    document = json.loads(result.stdout)
    pmem_report.check(path, document)
    return document


def stack_of(document, function):
    """The only call stack whose site is that function."""
    stack, = (s for s in document["stacks"] if s["frames"][s["site"]]["function"] == function)
    return stack


# -- the header ---------------------------------------------------------------------------------------
LANGUAGES = [("gcc", "-std=c99"), ("gcc", "-std=gnu11"), ("clang", "-std=c99"), ("clang", "-std=gnu11"), ("g++", "-std=c++98"),
             ("g++", "-std=c++17"), ("clang++", "-std=c++11"), ("clang++", "-std=c++20")]


@pytest.mark.parametrize("compiler,standard", LANGUAGES)
def test_the_header_compiles_alone_and_without_a_warning(root, tmp_path, compiler, standard):
    if not shutil.which(compiler):
        pytest.skip("no %s" % compiler)
    source = tmp_path / ("mark.cpp" if "++" in compiler else "mark.c")
    source.write_text('#include <pmemprof.h>\nvoid f(void);\nvoid f(void)\n{\n\tif (pmemprof_mark)\n'
                      '\t\tpmemprof_mark("here");\n}\n')
    subprocess.run([compiler, standard, *WARNINGS, "-I", root / "include", "-c", source, "-o", tmp_path / "mark.o"], check=True)
    symbols = subprocess.run(["nm", tmp_path / "mark.o"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"^ +w pmemprof_mark$", symbols, re.M), symbols


BUILDS = [("gcc", []), ("gcc", ["-O0"]), ("gcc", ["-fno-pie", "-no-pie"]), ("gcc", ["-fPIE", "-pie", "-Wl,-z,now"]),
          ("clang", ["-fPIE", "-pie"]), ("clang", ["-fno-plt", "-fno-pie", "-no-pie"]), ("g++", ["-x", "c++"]),
          ("clang++", ["-x", "c++", "-fPIE", "-pie"])]


@pytest.mark.parametrize("compiler,flags", BUILDS, ids=lambda v: v if isinstance(v, str) else "".join(v) or "plain")
def test_marks_are_made_where_pmem_is_and_nowhere_else(root, tool, run, tmp_path, compiler, flags):
    built = compile_program(root, tmp_path / "built", compiler, *flags)
    bare = run([built, 1], lib=False)
    assert (bare.code, said(bare)[0], bare.err) == (0, False, b"")
    mine = run([built, 1])
    assert (mine.code, said(mine)[0], mine.err) == (0, True, b"")
    marks = report(tool, mine)["marks"]
    assert [m["text"] for m in marks] == ["begin", CUT, "end"]
    times = [m["time_ns"] for m in marks]
    assert times == sorted(times) and times[0] > 0
    # 20 pauses of 1 ms lie between the last two.
    assert times[2] - times[1] >= 20 * 1000000


def test_a_static_program_has_no_marks(root, run, tmp_path):
    built = compile_program(root, tmp_path / "static", "gcc", "-static")
    assert said(run([built, 1], lib=False))[0] is False


# -- the timeline -------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def grown(lib, program, tmp_path_factory):
    """The run of more than 2 s that all tests below look at, with a point every 50 ms."""
    import pmem_run
    runner = pmem_run.Runner(lib, tmp_path_factory.mktemp("grown"))
    result = runner([program, STEPS], env={"PMEM_TIMELINE_MS": "50"})
    assert result.code == 0 and result.err == b""
    return result


def live_at(steps, time_ns):
    """What grow() had allocated, as the program said."""
    return max([live for when, live in steps if when <= time_ns], default=0)


def shift(document, steps):
    """Program's clock - profile's clock, known to within the time between two calls: the first line stands between marks."""
    first, second = (m["time_ns"] for m in document["marks"][:2])
    return steps[0][0] - second, steps[0][0] - first


def test_points_are_what_the_program_held(grown, tool):
    found, steps = said(grown)
    document = report(tool, grown)
    points = document["timeline"]
    duration = document["process"]["duration_ns"]
    assert found and len(steps) == STEPS + 1 and duration >= 2.2e9
    times = [p["time_ns"] for p in points]
    assert all(a < b for a, b in itertools.pairwise(times))
    # One for each 50 ms of the program's time, but for those that nobody came by for.
    assert 0.6 * duration / 50e6 <= len(points) <= duration / 50e6 + 2
    first, last = shift(document, steps)
    other = [p for p in points if times[0] < p["time_ns"]]
    begin = document["marks"][0]["time_ns"]
    for point in other:
        if point["time_ns"] < begin:
            continue
        # What else the program holds: the array of pointers, and the C library's buffers.
        low = live_at(steps, point["time_ns"] + first - 5000000)
        high = live_at(steps, point["time_ns"] + last + 5000000) + STEP + 64 * 1024
        assert low <= point["live_bytes"] <= high, point
        assert point["rss_bytes"] >= point["live_bytes"] and point["lost_events"] == 0
    assert all(a["live_bytes"] <= b["live_bytes"] + 200 for a, b in itertools.pairwise(points))
    assert points[-1]["live_bytes"] >= STEPS * STEP


def test_the_series_of_the_growing_stack_rises(grown, tool):
    document = report(tool, grown)
    growing = stack_of(document, "grow")
    assert (growing["live_bytes"], growing["live_blocks"]) == (STEPS * STEP, STEPS)
    samples = growing["samples"]
    assert len(samples) >= 20
    for one, next_one in itertools.pairwise(samples):
        assert one["time_ns"] < next_one["time_ns"] and one["live_bytes"] < next_one["live_bytes"]
    assert all(s["live_bytes"] % STEP == 0 and s["alloc_bytes"] == s["live_bytes"] for s in samples)
    assert samples[-1]["live_bytes"] == STEPS * STEP
    temporary = stack_of(document, "work")
    assert temporary["alloc_blocks"] == 20 * STEPS and not [s for s in temporary["samples"] or [] if s["live_bytes"] > 100]


def test_growth_is_said_with_its_rate_and_its_site(grown, tool):
    steps = said(grown)[1]
    document = report(tool, grown)
    rate = STEPS * STEP * 60e9 / (steps[-1][0] - steps[0][0])
    assert document["growth"]["kind"] == "growing"
    assert 0.8 * rate <= document["growth"]["bytes_per_minute"] <= 1.2 * rate
    growing = stack_of(document, "grow")
    # All that came since then, where what is half a distance of points later counts as before; on a busy machine the first points may come late.
    since = document["interval"]["since_ns"] + 25e6
    before = max((s["live_bytes"] for s in growing["samples"] if s["time_ns"] <= since), default=0)
    assert growing["growth_bytes"] == STEPS * STEP - before
    # A machine that stood still in the midst of it leaves a gap, behind which the interval may begin.
    stood_still = max(b[0] - a[0] for a, b in zip(steps, steps[1:])) > 100e6
    assert before <= STEPS * STEP // 5 or stood_still
    text = " ".join(tool("report", pmem_report.find(grown.folder)[0]).stdout.decode().split())
    said_rate = re.search(r"growing (\d+(?:\.\d)?) MiB/min since \d\d:\d\d:\d\d\. grow \(timeline\.c:\d+\) makes (>99|100) % of the growth and holds 6\.9 MiB", text)
    assert said_rate and abs(float(said_rate[1]) * 2**20 - document["growth"]["bytes_per_minute"]) <= 0.06 * 2**20 + 0.01 * rate


def test_an_interval_has_its_share_of_the_growth(grown, tool):
    """From a second after the start to one second later: a known number of steps."""
    steps = said(grown)[1]
    document = report(tool, grown, "--since", "1s", "--until", "2s")
    first, last = shift(document, steps)
    growing = stack_of(document, "grow")
    interval = document["interval"]
    since, until = interval["since_ns"], interval["until_ns"]
    assert (interval["asked_since_ns"], interval["asked_until_ns"]) == (10 ** 9, 2 * 10 ** 9)
    complete = [p["time_ns"] for p in document["timeline"] if p["alloc_blocks"]]
    assert since == min(complete, key=lambda t: abs(t - 10 ** 9)) and until == min(complete, key=lambda t: abs(t - 2 * 10 ** 9))
    low = live_at(steps, until + first - 20e6) - live_at(steps, since + last + 20e6)
    high = live_at(steps, until + last + 20e6) - live_at(steps, since + first - 20e6)
    assert low <= growing["growth_bytes"] <= high
    assert growing["live_bytes"] == STEPS * STEP
    assert growing["growth_over_ns"] == until - since


def test_the_latest_of_many_samples_is_there(run, tool, program, lib):
    """More points than a call stack has room for samples: of the last moments each is kept, of others it is said over how long a change was."""
    result = run([program, 150], env={"PMEM_TIMELINE_MS": "5"})
    assert result.code == 0
    whole = report(tool, result)
    duration = whole["process"]["duration_ns"]
    samples = stack_of(whole, "grow")["samples"]
    points = [p["time_ns"] for p in whole["timeline"] if p["alloc_blocks"]]
    assert len(points) > 150 > len(samples) and any(s["gap"] for s in samples)
    assert not any(s["gap"] for s in samples[-5:])
    for milliseconds in (100, 400, 1600):
        document = report(tool, result, "--since", "-%dms" % milliseconds)
        growing = stack_of(document, "grow")
        asked = duration - document["interval"]["since_ns"]
        assert abs(growing["growth_over_ns"] - asked) <= 0.15 * asked
        since = duration - growing["growth_over_ns"]
        before = max((s for s in samples if s["time_ns"] <= since), key=lambda s: s["time_ns"])
        assert growing["growth_bytes"] == growing["live_bytes"] - before["live_bytes"]
    text = " ".join(tool("report", pmem_report.find(result.folder)[0], "--since", "-400ms").stdout.decode().split())
    assert re.search(r"From \S+ to \S+, in the last \d+(\.\d+)? ms, the live bytes changed by \+", text)


def test_a_buffer_that_only_grows_is_never_seen_freed(run, tool, programs):
    """A point in the middle of realloc(), when the old block is gone and the new one is not counted, would be one of no bytes."""
    result = run([programs("realloc_grows.c")], {"PMEM_TIMELINE_MS": "20"})
    assert result.code == 0
    live = [point["live_bytes"] for point in report(tool, result)["timeline"]]
    assert len(live) > 10
    assert live == sorted(live)


def test_no_timeline_where_none_is_wanted(run, tool, program):
    result = run([program, 20], env={"PMEM_TIMELINE_MS": "0"})
    document = report(tool, result)
    assert document["timeline"] == [] and all(s["samples"] is None for s in document["stacks"])
    assert document["growth"] == {"kind": "unknown", "bytes_per_minute": None, "since_ns": None}
    assert all(s["growth_bytes"] is None for s in document["stacks"])
    assert [m["text"] for m in document["marks"]] == ["begin", CUT, "end"]
    assert document["losses"]["timeline"] == 0 and document["losses"]["complete"] is True
    growing = stack_of(document, "grow")
    assert growing["live_bytes"] == 20 * STEP
    text = tool("report", pmem_report.find(result.folder)[0]).stdout.decode()
    assert re.search(r"grow \(timeline\.c:\d+\) holds 1\.3 MiB", text) and "growing" not in text


# -- silence ------------------------------------------------------------------------------------------
LARGE, MIDDLE = 64 << 20, 100000
AFTER = {"exit": 0, "malloc": 3 * LARGE, "again": MIDDLE, "free": -LARGE, "realloc": 2 * LARGE, "mmap": 0}


@pytest.mark.parametrize("end", AFTER)
def test_what_a_burst_left_is_seen_in_the_silence_after_it(run, tool, programs, end):
    """All of the burst lies between two points, and nobody comes by in the 2 s after it: at both moments in there it is as it was left."""
    result = run([programs("burst_silence.c"), end], {"PMEM_TIMELINE_MS": "1000"})
    assert result.code == 0
    document = report(tool, result)
    points = document["timeline"]
    at = next(p for p in reversed(points) if p["time_ns"] < 10 ** 9)
    left = LARGE + 8 * MIDDLE + 12500 * 24
    assert (at["live_bytes"], at["alloc_bytes"], at["alloc_blocks"]) == (left, left + 100000 * 500, 112509)
    assert at["mapped_bytes"] == 0 and points[-1]["mapped_bytes"] == (LARGE if end == "mmap" else 0)
    assert points[-1]["live_bytes"] == left + AFTER[end]
    path, = pmem_report.find(result.folder)
    compared = tool("diff", "--json", "%s@700ms" % path, "%s@1s" % path)
    assert compared.returncode == 0
    document = json.loads(compared.stdout)
    assert [document[side]["live_bytes"] for side in "ab"] == [left, left]
    text = tool("report", path).stdout.decode()
    assert AFTER[end] or ("shrinking" not in text and "growing" not in text)
