# SPDX-License-Identifier: BSD-2-Clause
"""test_run_summary - `pmem run`: the names of its profiles, the processes it lists, and what its summary says."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import pytest

import pmem_tool
from test_run import lines, only, public, tool  # noqa: F401 (fixtures)


# -- with profiles --------------------------------------------------------------------------------------
def test_the_default_name(tool, programs):
    result = tool("run", programs("holder.c"))
    profile = only(result.folder)
    assert profile.name == "pmem.%d.prof" % profile.pid
    assert (result.folder / ("pmem.%d.log" % profile.pid)).is_file()
    assert profile.run_id


def test_no_log(tool, programs):
    result = tool("run", "--no-log", programs("holder.c"))
    assert os.listdir(result.folder) == [only(result.folder).name]


def test_patterns(tool, programs):
    folder = tool.folder()
    (folder / "100%h").mkdir()
    began = int(time.time())
    tool("run", "-q", "-o", "100%h/x-%p-%h-%e-%t-%%.prof", programs("holder.c"), cwd=folder)
    profile = only(folder / "100%h")
    found = re.fullmatch(r"x-(\d+)-(.*)-holder-(\d+)-%\.prof", profile.name)
    assert int(found.group(1)) == profile.pid
    assert found.group(2) == os.uname().nodename.replace("/", "_")
    assert began - 1 <= int(found.group(3)) <= int(time.time()) + 1


def test_a_name_without_pid_is_the_first_images(tool, programs):
    result = tool("run", "-o", "out.prof", programs("holder.c"), "children", "2")
    assert [p.name for p in pmem_tool.profiles(result.folder)] == ["out.2.prof", "out.3.prof", "out.prof"]
    by_name = {p.name: p for p in pmem_tool.profiles(result.folder)}
    assert {by_name["out.2.prof"].parent_pid, by_name["out.3.prof"].parent_pid} == {by_name["out.prof"].pid}
    assert len({p.run_id for p in by_name.values()}) == 1


def test_quiet(tool, programs):
    result = tool("run", "-q", programs("holder.c"))
    assert (result.stdout, result.stderr) == (b"", b"")
    only(result.folder)


def test_summary(tool, programs):
    result = tool("run", programs("holder.c"))
    profile, told = only(result.folder), lines(result)
    assert len(told) <= 15
    assert re.fullmatch(r"pmem: holder \(pid %d\), .*, exit status 0" % profile.pid, told[0])
    heap = next(l for l in told if l.startswith("  heap "))
    assert re.match(r"  heap     3\.0 MiB live at exit, peak 5\.0 MiB at .*, 5\.0 MiB allocated in \S+ calls$", heap)
    verdict = next(l for l in told if l.startswith("  verdict  "))
    assert re.search(r"hold_mebibytes \(\S+\) holds 3\.0 MiB, (>99|100) %", verdict)
    assert any(l.startswith("  cost     ") and "nothing lost" in l for l in told)
    assert told[-1] == "  next     pmem report %s    pmem html %s" % (profile.name, profile.name)


def test_a_short_run_says_what_can_be_said(tool, programs):
    """And with the distance of points that it names, the next one says more."""
    program = programs("retained.c")
    result = tool("run", "-o", "it.prof", "--", program, "short", 1)
    line, = [line for line in result.stderr.decode().splitlines() if line.startswith("  verdict  ")]
    found = re.search(r"holds .*, \d+ %; ran (\d+(?:\.\d)?) (ms|s), too short for a verdict on growth: that takes 2 s, or PMEM_TIMELINE_MS=(\d+)$", line)
    assert found, line
    page = " ".join(tool("report", result.folder / "it.prof").stdout.decode().split())
    assert "It ran %s %s, too short for a verdict on growth: that takes 2 s, or PMEM_TIMELINE_MS=%s. " % found.groups() in page
    finer = tool("run", "-o", "it.prof", "--", program, "short", 1, env={"PMEM_TIMELINE_MS": found[3]}).stderr.decode()
    assert "too short" not in finer and "steady" in finer, finer
    none = tool("run", "-o", "it.prof", "--", program, "short", 1, env={"PMEM_TIMELINE_MS": "0"}).stderr.decode()
    assert "; was recorded without a timeline, which would tell growth" in none


def test_the_start_of_libraries_is_nobodys_fault(tool, programs):
    """libstdc++'s reserve for exceptions is larger than what this program keeps."""
    result = tool("run", "-o", "x.prof", programs("small.cpp", "-g", "-O0"))
    verdict = next(l for l in lines(result) if l.startswith("  verdict  "))
    assert re.search(r"main \(small\.cpp:\d+\) holds 1000 B, \d+ %;", verdict), verdict
    report = " ".join(tool("report", "x.prof", cwd=result.folder).stdout.decode().split())
    assert re.search(r"main \(small\.cpp:\d+\) holds 1000 B, ", report), report


def test_next_command_is_quoted(tool, programs):
    result = tool("run", "-o", "my 'new' run.prof", programs("holder.c"))
    assert lines(result)[-1] == r"  next     pmem report 'my '\''new'\'' run.prof'    pmem html 'my '\''new'\'' run.prof'"


def test_children_are_listed(tool, programs):
    result = tool("run", programs("holder.c"), "children", "2")
    children = [p for p in pmem_tool.profiles(result.folder) if p.parent_pid != os.getpid()]
    told = [l for l in lines(result) if l.startswith("  + ")]
    assert len(told) == 2
    for line in told:
        found = re.fullmatch(r"  \+ child holder \(pid (\d+)\): 1\.0 MiB live at exit, peak 1\.0 MiB, (pmem\.\d+\.prof)", line)
        assert found and found.group(2) == "pmem.%s.prof" % found.group(1)
        assert int(found.group(1)) in {p.pid for p in children}


def test_many_children_are_counted(tool, programs):
    result = tool("run", programs("holder.c"), "children", "8")
    told = lines(result)
    assert len(told) <= 15
    assert len([l for l in told if l.startswith("  + ")]) == 5
    assert told[-1] == "  and 3 more in %s; --only NAME records the program NAME alone" % result.folder


def test_no_children(tool, programs):
    result = tool("run", "--no-children", programs("holder.c"), "children", "3")
    only(result.folder)
    assert not [l for l in lines(result) if l.startswith("  + ")]


def test_the_image_that_was_executed_last_is_the_process(tool, programs):
    second = shutil.copy(programs("holder.c"), programs("holder.c").parent / "second")
    result = tool("run", programs("holder.c"), "exec", second)
    first, = {p.pid for p in pmem_tool.profiles(result.folder)}
    told = lines(result)
    assert told[0].startswith("pmem: second (pid %d), " % first)
    assert [l for l in told if l.startswith("  + before: holder (pid %d): 5.0 MiB live at the end, peak 5.0 MiB, pmem.%d.prof" % (first, first))]


def test_only_matching_programs(tool, programs):
    result = tool("run", "--only", "hold*", "sh", "-c", '"$0" children 1; exit 3', programs("holder.c"))
    told = lines(result)
    assert result.returncode == 3
    assert told[0] == "pmem: sh was not recorded: --only hold* does not match its name"
    assert told[1].startswith("pmem: sh (pid ")
    assert len([l for l in told if l.startswith("  + child holder ")]) == 2
    assert len(pmem_tool.profiles(result.folder)) == 2


def test_killed_program(tool, programs):
    result = tool("run", sys.executable, "-c", "import os; x = bytearray(9 << 20); os.kill(os.getpid(), 9)")
    told = lines(result)
    assert result.returncode == -signal.SIGKILL
    assert told[0].endswith("killed by signal 9 (Killed)")
    live = re.match(r"  heap     ([\d.]+) MiB live when killed, ", told[1])
    assert 9 <= float(live.group(1)) < 30


def test_a_program_that_allocates_nothing(tool, tmp_path):
    source = tmp_path / "empty.c"
    source.write_text("int main(void) { return 3; }\n")
    subprocess.run(["gcc", "-o", tmp_path / "empty", source], check=True)
    result = tool("run", tmp_path / "empty")
    assert result.returncode == 3
    if pmem_tool.profiles(result.folder):
        assert re.match(r"  heap     0 B live at exit, peak 0 B at 0 s, 0 B allocated in 0 calls$", lines(result)[1])
    else:
        assert lines(result)[0].startswith("pmem: nothing was recorded: empty left no profile in %s (" % result.folder)


def test_nothing_seen_comes_first(tool, programs):
    result = tool("run", programs("holder.c"), env={"PMEM_PROFILE": "0"})
    assert result.returncode == 0 and not pmem_tool.profiles(result.folder)
    assert lines(result)[0] == "pmem: nothing was recorded: PMEM_PROFILE=0 is set: no profile of holder"
    assert re.fullmatch(r"pmem: holder \(pid \d+\), .*, exit status 0", lines(result)[1])


def test_a_program_that_loses_its_preload(tool, programs):
    """Executed through something that cleans the environment: the first image is seen, the rest is not."""
    result = tool("run", "--only", "holder", "env", "-i", programs("holder.c"))
    assert lines(result)[0] == "pmem: env was not recorded: --only holder does not match its name"
    assert not pmem_tool.profiles(result.folder)


def test_a_profile_that_had_to_go_elsewhere(tool, programs, tmp_path):
    """The folder was taken away meanwhile: the recorder goes to $TMPDIR, and the summary finds it there."""
    (tmp_path / "other").mkdir()
    folder = tool.folder()
    (folder / "gone").mkdir()
    script = 'rmdir "$1"; exec "$0"'
    result = tool("run", "--only", "holder", "-o", "gone/x.prof", "sh", "-c", script, programs("holder.c"), "gone",
                  cwd=folder, env={"TMPDIR": str(tmp_path / "other")})
    profile = only(tmp_path / "other")
    assert result.returncode == 0
    assert lines(result)[-1].startswith("  next     pmem report %s " % profile.path)


def test_growth_that_ended_in_freeing_is_not_called_growth(tool):
    """A ramp of 3 s, and all freed at the end."""
    code = "import time\nkept = []\nfor i in range(30):\n    kept.append(bytearray(1 << 20)); time.sleep(0.1)"
    ramp = tool("run", os.path.realpath(sys.executable), "-c", code)
    freed = next(l for l in lines(ramp) if l.startswith("  verdict  "))
    assert re.match(r"  verdict  grew \S+ MiB/min until \d\d:\d\d:\d\d, then freed most of it: "
                    r"\S.* made (>99|\d+) % of the growth and held (2[5-9]|30)\.\d MiB$", freed), freed
    rate = float(re.search(r"grew (\S+) MiB", freed).group(1))
    assert 300 < rate < 700  # 600 if sleeping took no longer than asked
    killed = tool("run", os.path.realpath(sys.executable), "-c", code + "\nimport os; os.kill(os.getpid(), 9)")
    verdict = next(l for l in lines(killed) if l.startswith("  verdict  "))
    assert re.match(r"  verdict  growing \S+ MiB/min since \d\d:\d\d:\d\d: \S.* makes (>99|\d+) % of it, "
                    r"holds 3\d\.\d MiB, steady \(p < 0\.001\); none of its \d+ blocks was freed$",
                    verdict), verdict


# -- a slow leak, and what may hide it: 960 KiB in 3 s -----------------------------------------------------
def verdict_and_report(tool, programs, how):
    """The verdict, and the report's words and table on the same file as one line."""
    result = tool("run", "-o", "x.prof", programs("grower.c"), how)
    verdict = next(l for l in lines(result) if l.startswith("  verdict  "))
    report = tool("report", "x.prof", cwd=result.folder)
    assert report.returncode == 0
    return verdict, " ".join(report.stdout.decode().split())


def rate_is_right(text):
    """19.2 MiB/min, less what sleeping takes longer than asked."""
    return 8 < float(re.search(r"(?:growing|grew) (\S+) MiB/min", text).group(1)) < 21


@pytest.mark.parametrize("how", ["leak", "cache"])
def test_the_grower_is_named_not_the_largest(tool, programs, how):
    verdict, report = verdict_and_report(tool, programs, how)
    assert re.fullmatch(r"  verdict  growing \S+ MiB/min since \d\d:\d\d:\d\d: "
                        r"note_timeout \(grower\.c:\d+\) makes 100 % of it, holds 960\.0 KiB, "
                        r"steady \(p < 0\.001\); none of its 60 blocks was freed", verdict)
    assert rate_is_right(verdict) and rate_is_right(report)
    share = "2 %" if how == "cache" else "100 %"
    assert re.search(r"note_timeout \(grower\.c:\d+\) makes 100 %% of the growth and holds 960\.0 KiB, %s, "
                     r"steady \(p < 0\.001\); none of its 60 blocks was freed\." % share, report)


@pytest.mark.parametrize("how", ["freed", "cache-freed"])
def test_what_grew_is_named_though_it_was_freed_at_exit(tool, programs, how):
    """cache-freed: 50 MiB stay, so the heap as a whole hardly falls."""
    verdict, report = verdict_and_report(tool, programs, how)
    held = r"note_timeout \(grower\.c:\d+\) made 100 % of the growth and held 9\d\d\.0 KiB"
    assert re.fullmatch(r"  verdict  grew \S+ MiB/min until \d\d:\d\d:\d\d, then freed most of it: " + held, verdict)
    assert re.search(r"Live heap at the end \S+ \S+ in \d+ blocks?, grew \S+ MiB/min until \d\d:\d\d:\d\d, "
                     r"then freed most of it\. " + held, report)
    assert rate_is_right(verdict) and rate_is_right(report)


def test_when_growth_reaches_a_limit(tool, programs):
    """4 GiB of address space, of which the program has some MiB: (4096 - some) / 19.2 minutes or a little more."""
    program = programs("grower.c")
    for how, growing in (("leak", True), ("freed", False)):
        result = tool("run", "-o", "x.prof", program, how,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)))
        told = [l for l in lines(result) if l.startswith("  limit ")]
        document = json.loads(tool("report", "--json", "x.prof", cwd=result.folder).stdout)
        assert document["host"]["address_limit_bytes"] == 4 << 30
        assert bool(told) == (document["limit"]["kind"] is not None) == growing
        if not growing:
            continue
        limit = document["limit"]
        assert (limit["kind"], limit["bytes"]) == ("address", 4 << 30)
        assert 1 << 20 < limit["used_bytes"] < 1 << 30
        rate = document["verdicts"][0]["rate_bytes_per_s"]
        assert abs(limit["left_ns"] / 1e9 * rate / (limit["bytes"] - limit["used_bytes"]) - 1) < 1e-3
        assert re.fullmatch(r"  limit    at this rate the address space's limit \(RLIMIT_AS\) of 4\.0 GiB would have been reached in "
                            r"\d h( \d+ min)?", told[0])
        text = " ".join(tool("report", "x.prof", cwd=result.folder).stdout.decode().split())
        assert "At this rate" + told[0].split("at this rate")[1] + "." in text


@pytest.mark.parametrize("how, kind", [("leak", "growing"), ("freed", "grew")])
def test_the_json_tells_growth_that_was_freed(tool, programs, how, kind):
    result = tool("run", "-o", "x.prof", programs("grower.c"), how)
    document = json.loads(tool("report", "--json", "x.prof", cwd=result.folder).stdout)
    assert document["growth"]["kind"] == kind and document["growth"]["bytes_per_minute"] > 0


def test_a_child_that_grows_is_named_and_next(tool, programs):
    result = tool("run", programs("grower.c"), "fork")
    child, = [p for p in pmem_tool.profiles(result.folder) if p.parent_pid != os.getpid() and ".%d." % p.pid in p.name
              and "(pid %d), " % p.pid not in lines(result)[0]]
    told = lines(result)
    line, = [l for l in told if l.startswith("  + ")]
    assert re.fullmatch(r"  \+ child grower \(pid %d\): growing \S+ MiB/min: note_timeout \(grower\.c:\d+\), %s"
                        % (child.pid, re.escape(child.name)), line)
    assert rate_is_right(line)
    assert "  next     pmem report %s    pmem html %s" % (child.name, child.name) in told


def test_a_refused_setting_is_told(tool, programs):
    refused = tool("run", programs("holder.c"), env={"PMEM_MAX_NODES": "foo"})
    assert "  setting  not understood, default used: PMEM_MAX_NODES=foo" in lines(refused)
    assert not [l for l in lines(tool("run", programs("holder.c"))) if l.startswith("  setting ")]
