# SPDX-License-Identifier: BSD-2-Clause
"""test_profile_file - the profile as a file: whatever the program does, it behaves as without, and what can be read is right."""
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess

import pytest

import pmem_log
import pmem_report
import pmem_run
import pmem_tool

# No log: its snapshots would only take time.
QUIET = {"PMEM_LOG": "0"}

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


@pytest.fixture
def public(tmp_path_factory):
    """A folder that every user can reach and write; pytest's own are private."""
    folder = pathlib.Path("/tmp") / ("pmem-test-%d-%d" % (os.getpid(), random.getrandbits(32)))
    folder.mkdir()
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def only(folder):
    (path,) = pmem_report.find(folder)
    return path


def live(report, function):
    return sum(s["live_bytes"] for s in report.document["stacks"]
               if any(f.symbol == function for f in s["frames"]))


def is_recorded(folder):
    """A complete header is there."""
    found = pmem_report.find(folder)
    return len(found) == 1 and found[0].read_bytes()[:8] == pmem_tool.MAGIC and found[0]


# -- whatever the program does ----------------------------------------------------------------------------
BEFORE, AFTER = 256 * 100, 4096 * 100


def adverse(run, programs, act, **options):
    """Bare and recorded: the same output and exit code; nothing on stderr."""
    program = programs("adverse.c")
    bare = run([program, act], lib=False, **options)
    mine = run([program, act], **options)
    assert (mine.code, mine.out) == (bare.code, bare.out), mine.err
    pmem_run.assert_silent(mine.err)
    return mine


def assert_partial(tool, path):
    """Something is missing, and this is said; what is there is right."""
    done = tool("report", "--json", path)
    assert (done.returncode, done.stderr) == (0, b"")
    document = json.loads(done.stdout)
    losses, totals = document["losses"], document["totals"]
    assert not losses["complete"] and losses["memory_blocks"] > 0, losses
    # Each call stack has one block of 100 bytes, or two parts of one whose callers are not known.
    assert all((s["alloc_bytes"], s["live_bytes"]) == (100 * s["alloc_blocks"], 100 * s["live_blocks"])
               for s in document["stacks"] if s["alloc_bytes"])
    assert totals["live_bytes"] == sum(s["live_bytes"] for s in document["stacks"])
    assert BEFORE <= totals["live_bytes"] <= BEFORE + AFTER
    assert b"nothing lost" not in tool("info", path).stdout
    assert b"PARTIAL" in tool("report", path).stdout
    return document


@pytest.mark.parametrize("act", ["nothing", "close", "reuse", "chdir", "seccomp-fails",
                                 pytest.param("chroot", marks=root_only), pytest.param("setuid", marks=root_only)])
def test_the_profile_is_whole_whatever_the_program_does(run, tool, programs, act):
    mine = adverse(run, programs, act)
    assert mine.code == 7
    report = pmem_report.read(tool, only(mine.folder))
    assert (live(report, "keep_before"), live(report, "keep_after")) == (BEFORE, AFTER)
    assert report.losses["complete"] and report.losses["memory_blocks"] == 0 and report.process["state"] == "ended"
    if act == "reuse":
        assert (mine.folder / "mine").read_bytes() == b"mine\n"


@pytest.mark.parametrize("act", ["no-new-privs", "seccomp"])
def test_in_a_sandbox_the_profile_goes_on(run, tool, programs, act):
    mine = adverse(run, programs, act)
    assert mine.code == 7
    report = pmem_report.read(tool, only(mine.folder))
    assert (live(report, "keep_before"), live(report, "keep_after")) == (BEFORE, AFTER)
    assert report.losses["complete"]


def test_a_sandbox_that_is_refused_many_times_takes_one_reserve(run, programs):
    assert only(adverse(run, programs, "seccomp-fails").folder).stat().st_size < 12 << 20


def test_a_file_size_limit_set_by_the_program(run, tool, programs):
    mine = adverse(run, programs, "limit")
    path = only(mine.folder)
    document = assert_partial(tool, path)
    assert path.stat().st_size <= 300 * 1024 and document["losses"]["profile_bytes"] > 0


@root_only
def test_another_root_without_descriptors(run, tool, programs):
    assert_partial(tool, only(adverse(run, programs, "chroot-close").folder))


def test_a_moved_profile_goes_on(run, tool, programs):
    mine = adverse(run, programs, "move")
    report = pmem_report.read(tool, mine.folder / "moved.prof")
    assert live(report, "keep_after") == AFTER and report.losses["complete"]
    assert [p.name for p in pmem_report.find(mine.folder)] == ["moved.prof"]


def test_a_deleted_or_replaced_profile_is_not_made_again(run, programs):
    assert pmem_report.find(adverse(run, programs, "delete").folder) == []
    assert only(adverse(run, programs, "replace").folder).read_bytes() == b"mine\n"


def test_a_removed_folder(run, programs):
    bare = run([programs("adverse.c"), "nothing"], lib=False)
    mine = run([programs("adverse.c"), "remove"])
    assert (mine.code, mine.out, mine.err) == (bare.code, bare.out, b"") and not mine.folder.exists()


def test_errors_of_our_own_never_reach_errno(run, programs):
    for limit in (20000, 300 * 1024):
        mine = run([programs("adverse.c"), "nothing"],
                   preexec_fn=lambda size=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (size, -1)))
        assert (mine.code, mine.out) == (7, b"25600 before, 409600 after, errno 4711\n")


# -- where there is no room -------------------------------------------------------------------------------
class Disk:
    """A folder on a file system of its own."""

    def __init__(self, folder, size):
        self.folder = folder
        folder.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "none", folder], capture_output=True)
        if done.returncode != 0:
            pytest.skip("no file system can be mounted here")

    def grow(self, size):
        subprocess.run(["mount", "-o", "remount,size=" + size, self.folder], check=True)


@pytest.fixture
def disk(tmp_path):
    made = []

    def make(size):
        made.append(Disk(tmp_path / ("disk-%d" % len(made)), size))
        return made[-1]
    yield make
    for one in made:
        subprocess.run(["umount", "-l", one.folder], check=True)


def no_profile_line(folder):
    (line,) = [l for p in folder.glob("*.log") for l in p.read_text().splitlines() if "profile: " in l]
    return line


@root_only
def test_a_disk_full_from_the_start_is_noted(run, programs, disk):
    small = disk("100k")
    mine = run([programs("adverse.c"), "nothing"], folder=small.folder)
    assert mine.code == 7 and mine.out.startswith(b"25600 before")
    pmem_run.assert_silent(mine.err)
    assert pmem_report.find(small.folder) == []
    assert no_profile_line(small.folder) == "# no profile: ENOSPC (no space left)"


@root_only
def test_a_disk_full_from_the_start_and_another_folder(run, tool, programs, disk, tmp_path):
    small, other = disk("100k"), tmp_path / "other"
    other.mkdir()
    run([programs("adverse.c"), "nothing"], {"TMPDIR": str(other)}, folder=small.folder)
    report = pmem_report.read(tool, only(other))
    assert live(report, "keep_after") == AFTER and report.losses["complete"]
    assert pmem_report.find(small.folder) == []


@root_only
@pytest.mark.parametrize("act", ["nothing", "fill"])
def test_a_disk_full_in_the_middle_is_told(run, tool, programs, disk, act):
    """fill: by the program; it gets as much as it would get, but for what we hold."""
    small = disk("420k")
    mine = run([programs("adverse.c"), act], QUIET, folder=small.folder)
    assert mine.code == 7 and mine.out.startswith(b"25600 before")
    pmem_run.assert_silent(mine.err)
    assert assert_partial(tool, only(small.folder))["losses"]["profile_bytes"] > 0
    if act == "fill":
        held = only(small.folder).stat().st_blocks * 512 + (small.folder / "filler").stat().st_size
        assert held >= 420 * 1024 - 4096


@root_only
def test_what_found_no_room_is_in_the_file_if_there_is_room_at_the_end(run, tool, programs, disk):
    small = disk("300k")
    process = run.start([programs("family.c"), "watch"], QUIET, folder=small.folder, stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE)
    pmem_run.wait_for(lambda: is_recorded(small.folder), "the parent's profile")
    process.stdin.write(b"g")
    process.stdin.flush()
    assert process.stdout.readline() == b"child\n"
    small.grow("8m")
    process.stdin.write(b"g")
    process.stdin.close()
    assert process.stdout.readline() == b"parent\n" and process.wait() == 0
    report = pmem_report.read(tool, small.folder / ("pmem.%d.prof" % process.pid))
    assert live(report, "parent_keep") == 301000 and report.losses["profile_bytes"] == 0


def test_a_file_size_limit_from_the_start(run, programs):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
    mine = adverse(run, programs, "nothing", preexec_fn=limit)
    assert mine.code == 7 and pmem_report.find(mine.folder) == []
    assert no_profile_line(mine.folder) == "# no profile: EFBIG (file size limit)"


@pytest.mark.parametrize("act", ["nothing", "kill"])
def test_a_file_system_that_cannot_map_files(run, tool, programs, act):
    mine = run([programs("refuse.c"), "env", "LD_PRELOAD=" + run.lib, programs("adverse.c"), act], QUIET, lib=False)
    if mine.code == 99:
        pytest.skip("no filter of system calls can be set here")
    assert mine.code == (7 if act == "nothing" else -signal.SIGKILL)
    pmem_run.assert_silent(mine.err)
    document = json.loads(tool("report", "--json", only(mine.folder)).stdout)
    assert document["process"]["exe"].endswith("/adverse") and document["losses"]["memory_blocks"] > 0
    assert not document["losses"]["complete"]
    if act == "nothing":
        # At the end all of it is written.
        assert document["totals"]["live_bytes"] == BEFORE + AFTER and document["losses"]["damage_count"] == 0


def test_without_addresses_for_the_recorder_no_empty_file_stays(run, programs):
    started = 0
    for megabytes in range(16, 64, 4):
        size = megabytes << 20
        mine = run(["bash", "-c", "ulimit -v %d; exec env LD_PRELOAD=%s %s nothing" % (size >> 10, run.lib, programs("adverse.c"))],
                   QUIET, lib=False)
        # Or it got fewer addresses than it wanted, and said so.
        assert (mine.code, mine.out) in ((7, b"25600 before, 409600 after, errno 4711\n"), (-signal.SIGABRT, b"")), megabytes
        for path in pmem_report.find(mine.folder):
            assert path.read_bytes()[:8] == pmem_tool.MAGIC, megabytes
            started += 1
    assert started > 0


def test_a_broken_stderr_under_a_data_limit(run, programs):
    """It is said there that nothing is recorded: without SIGPIPE."""
    reader, writer = os.pipe()
    os.close(reader)
    process = run.start([programs("adverse.c"), "nothing"], QUIET, stdout=subprocess.PIPE, stderr=writer,
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (60 << 20, 60 << 20)))
    os.close(writer)
    assert process.communicate(timeout=pmem_run.TIMEOUT_S)[0].endswith(b"errno 4711\n") and process.returncode == 7


# -- folders ----------------------------------------------------------------------------------------------
@pytest.fixture
def nobody(lib, programs, public):
    """Runs adverse.c as a user who owns nothing."""
    copy, program = public / "libpmem.so", public / "adverse"
    shutil.copy(lib, copy)
    shutil.copy(programs("adverse.c"), program)
    for path in (copy, program):
        path.chmod(0o755)
    runner = pmem_run.Runner(copy, public)

    def start(folder, env=None):
        options = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        return runner([program, "nothing"], env, folder=folder, **options)
    return start


def test_an_unwritable_folder(nobody, tool, public):
    closed, other = public / "closed", public / "other"
    closed.mkdir(mode=0o555)
    other.mkdir()
    other.chmod(0o777)
    mine = nobody(closed, {"TMPDIR": str(other)})
    assert (mine.code, mine.err) == (7, b"") and not list(closed.iterdir())
    report = pmem_report.read(tool, only(other))
    assert live(report, "keep_after") == AFTER and report.losses["complete"]
    mine = nobody(closed, {"TMPDIR": str(closed), **QUIET})
    assert mine.code == 7
    assert mine.err.decode() == "pmem: cannot write a profile in %s: EACCES (no permission)\n" % closed


def test_the_folder_named_by_pmem_out(run, tool, programs):
    folder = run.folder("out")
    (folder / "sub").mkdir()
    mine = run([programs("adverse.c"), "chdir"], {"PMEM_OUT": "sub/x.%e.%p.prof"}, folder=folder)
    assert mine.code == 7 and sorted(p.suffix for p in (folder / "sub").iterdir()) == [".log", ".prof"]
    report = pmem_report.read(tool, only(folder / "sub"))
    assert report.paths[0].endswith("/sub/x.adverse.%d.prof" % report.pid) and live(report, "keep_after") == AFTER


def test_with_a_deleted_current_folder_no_other_is_taken(run, programs):
    """tmp/x is not /tmp/x."""
    folder = run.folder("gone")
    script = "mkdir gone; cd gone; rmdir ../gone; exec env LD_PRELOAD=%s PMEM_OUT=tmp/pmem-gone-%%p %s nothing"
    mine = run(["bash", "-c", script % (run.lib, programs("adverse.c"))], lib=False, folder=folder)
    assert mine.code == 7 and not list(folder.iterdir())
    assert not list(pathlib.Path("/tmp").glob("pmem-gone-*"))


# -- fork and exec ----------------------------------------------------------------------------------------
def test_a_childs_profile_and_its_parents_are_apart(run, tool, programs):
    process = run.start([programs("family.c"), "watch"], QUIET, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    path = process.folder / ("pmem.%d.prof" % process.pid)
    pmem_run.wait_for(lambda: len(list(pathlib.Path("/proc/%d/task/%d" % (process.pid, process.pid)).glob("children"))) and
                      pathlib.Path("/proc/%d/task/%d/children" % (process.pid, process.pid)).read_text(), "the child")
    before = path.read_bytes()
    assert [p.name for p in pmem_report.find(process.folder)] == [path.name], "a child without events has no file"
    process.stdin.write(b"g")
    process.stdin.flush()
    assert process.stdout.readline() == b"child\n"
    pmem_run.wait_for(lambda: not pathlib.Path("/proc/%d/task/%d/children" % (process.pid, process.pid)).read_text(),
                      "the child's end")
    assert path.read_bytes() == before, "no byte of the parent's is the child's"
    process.stdin.write(b"g")
    process.stdin.close()
    assert process.stdout.readline() == b"parent\n" and process.wait() == 0

    parent = pmem_report.read(tool, path)
    (other,) = [p for p in pmem_report.find(process.folder) if p != path]
    child = pmem_report.read(tool, other)
    assert not parent.process["forked"] and child.process["forked"]
    assert child.process["parent_pid"] == parent.pid and child.process["image"] == 1
    assert (live(parent, "parent_keep"), live(parent, "child_keep")) == (300000 + 1000, 0)
    assert (live(child, "parent_keep"), live(child, "child_keep")) == (100 * 100, 3000 * 200)
    assert parent.totals["free_blocks"] == 0 and child.totals["inherited_freed_blocks"] == 3000
    assert child.totals["unknown_freed_blocks"] == 0
    for report in (parent, child):
        assert report.losses["complete"] and report.process["state"] == "ended"


def test_children_by_any_system_call(run, tool, programs):
    result = run([programs("forks.c")], QUIET)
    pids = dict(line.split() for line in result.out.decode().splitlines())
    reports = {r.pid: r for r in (pmem_report.read(tool, p) for p in pmem_report.find(result.folder))}
    for number, kind in enumerate(("fork", "_Fork", "clone"), 1):
        report = reports.pop(int(pids[kind]))
        assert report.totals["live_bytes"] == number * 1000 == live(report, "child_keep"), kind
        assert report.totals["alloc_blocks"] == 1 and report.totals["inherited_freed_blocks"] == 1
    assert int(pids["idle"]) not in reports, "a child without events leaves no file"
    (parent,) = reports.values()
    assert live(parent, "parent_keep") == 7000 and live(parent, "child_keep") == 0


def test_a_child_in_a_sandbox_does_not_touch_its_parents_profile(run, tool, programs):
    result = run([programs("family.c"), "sandboxed"], QUIET)
    assert (result.code, result.out) == (-signal.SIGKILL, b"child\n")
    report = pmem_report.read(tool, only(result.folder))
    assert live(report, "parent_keep") == 300000 and live(report, "child_keep") == 0
    assert report.process["state"] == "killed" and report.losses["complete"]


def test_a_child_forked_by_a_handler_inside_the_recorder(run, tool, programs):
    result = run([programs("forked.c", "-O0", "-pthread"), "handler"])
    assert (result.code, result.out) == (0, b"0\n")
    profiles = pmem_tool.ancestor_first(pmem_tool.profiles(result.folder))
    # 59,000 call stacks: only the totals.
    reports = [pmem_report.read(tool, p.path, "no_such_function") for p in profiles[:4]]
    assert [r.process["forked"] for r in reports] == [False] + [True] * 3
    assert all(r.losses["damage_count"] == 0 and r.process["state"] == "ended" for r in reports)
    assert reports[0].losses["complete"]


def test_each_image_of_a_process_has_its_own_profile(run, tool, programs):
    result = run([programs("images.c"), 2])
    assert (result.code, result.out) == (0, b"3\n")
    reports = [pmem_report.read(tool, p) for p in pmem_report.find(result.folder)]
    reports.sort(key=lambda r: r.process["image"])
    pid = reports[0].pid
    names = ["pmem.%d%s" % (pid, s) for s in ("", ".2", ".3")]
    assert [os.path.basename(r.paths[0]) for r in reports] == [n + ".prof" for n in names]
    assert sorted(p.name for p in result.folder.glob("*.log")) == sorted(n + ".log" for n in names)
    for number, report in enumerate(reports, 1):
        assert report.pid == pid and report.process["image"] == number and not report.process["forked"]
        assert live(report, "image_keep") == number * 1000
        assert report.process["state"] == ("ended" if number == 3 else "killed")
        log = pmem_log.parse(result.folder / (names[number - 1] + ".log"))
        assert "# profile: %s" % report.paths[0] in log.paths[0].read_text()


def test_vfork_children_count_for_nobody_else(run, tool, programs):
    result = run([programs("vforks.c")], QUIET)
    report = pmem_report.read(tool, only(result.folder))
    assert result.code == 0 and live(report, "parent_leak") == 100 * 100 and report.process["state"] == "ended"


def test_children_that_are_not_followed_leave_no_profile(run, tool, programs):
    result = run([programs("forks.c")], {"PMEM_CHILDREN": "0", **QUIET})
    report = pmem_report.read(tool, only(result.folder))
    assert live(report, "parent_keep") == 7000 and live(report, "child_keep") == 0


def test_programs_are_chosen_by_name(run, tool):
    result = run(["bash", "-c", "seq 3 | sort -rn | cat; true"], {"PMEM_ONLY": "sor?", **QUIET})
    assert (result.code, result.out, result.err) == (0, b"3\n2\n1\n", b"")
    assert os.path.basename(pmem_report.read(tool, only(result.folder)).exe) == "sort"


def test_the_profile_can_be_switched_off(run, programs):
    result = run([programs("forks.c")], {"PMEM_PROFILE": "0", **QUIET})
    assert (result.code, result.err) == (0, b"") and not list(result.folder.iterdir())
    result = run([programs("forks.c")], {"PMEM_PROFILE": "0"})
    assert result.err == b"" and not pmem_report.find(result.folder) and len(result.logs()) == 4
    assert "profile" not in "".join(p.read_text() for p in result.folder.glob("*.log"))


def test_what_is_there_is_never_written(run, programs):
    """Under the first names there are other things already."""
    script = "echo mine >pmem.$$.prof; ln -s victim pmem.$$.2.prof; mkdir pmem.$$.3.prof; mkfifo pmem.$$.4.prof; " \
             "exec env LD_PRELOAD=%s %s nothing"
    result = run(["bash", "-c", script % (run.lib, programs("adverse.c"))], lib=False)
    assert result.code == 7
    names = sorted(p.name.split(".", 2)[2] for p in result.folder.iterdir())
    assert names == ["2.prof", "3.prof", "4.prof", "5.log", "5.prof", "6.log", "6.prof", "prof"] or \
        names == ["2.prof", "3.prof", "4.prof", "5.log", "5.prof", "prof"]
    (first,) = [p for p in result.folder.iterdir() if re.fullmatch(r"pmem\.\d+\.prof", p.name)]
    assert first.read_bytes() == b"mine\n"


# -- cost -------------------------------------------------------------------------------------------------
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_an_event_makes_no_system_call_once_warm(run, tool, programs):
    result = run(["strace", "-f", "-o", "calls", "-E", "LD_PRELOAD=" + run.lib, programs("warm.c")], QUIET, lib=False)
    if result.code != 0 and not (result.folder / "calls").read_text().count("getsid"):
        pytest.skip("strace may not trace here")
    assert result.code == 0
    calls = re.split(r".*getsid\(.*\n", (result.folder / "calls").read_text())
    assert len(calls) == 3
    # 800,000 events; the timeline may look at the resident set once a second.
    assert len(calls[1].splitlines()) <= 8, calls[1]
    report = pmem_report.read(tool, only(result.folder))
    assert report.totals["alloc_blocks"] >= 400000
