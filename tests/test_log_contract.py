# SPDX-License-Identifier: BSD-2-Clause
"""test_log_contract - what the log promises: threshold, bounds, names, ends, places and permissions."""
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import tempfile

import pytest

import pmem_log
import pmem_names
import pmem_run

CHURN_COUNT = 10000   # 80 MB allocated and freed
# On a busy machine a snapshot takes longer, and of a share of the time fewer are left.
UNBOUNDED = {"PMEM_SNAPSHOT_SHARE": "1000", "PMEM_LOG_RATE": "0"}
CHURN_WORK = 4000     # passes over each block: about 1 s, of which snapshots may take their share


def live(log, function):
    return sum(e.live for e in log.state().values() if pmem_names.function(pmem_names.stack(e)[0]) == function)


@pytest.fixture(scope="module")
def churn_default(lib, programs, tmp_path_factory):
    run = pmem_run.Runner(lib, tmp_path_factory.mktemp("churn"))
    result = run([programs("churn.c"), CHURN_COUNT, CHURN_WORK])
    assert result.code == 0
    return result.log_of("churn")


@pytest.fixture
def public(tmp_path_factory):
    """A folder that other users can reach, which those of pytest are not."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="pmem-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


# -- when ------------------------------------------------------------------------------------------
def test_default_threshold_is_one_mebibyte_of_churn(churn_default):
    for s in churn_default.snapshots[:-1]:
        assert s.threshold == 1 << 20 and s.churn >= s.threshold
    assert 40 <= len(churn_default.snapshots) <= 90
    assert sum(s.churn for s in churn_default.snapshots) >= 2 * 4096 * CHURN_COUNT


def test_environment_lowers_the_threshold(churn_default, run, programs):
    often = run([programs("churn.c"), CHURN_COUNT, CHURN_WORK], {"PMEM_CHURN_THRESH": "65536", **UNBOUNDED}).log_of("churn")
    assert {s.threshold for s in often.snapshots} == {65536}
    assert len(often.snapshots) >= 8 * len(churn_default.snapshots)
    assert often.last.figure("live") == churn_default.last.figure("live")


def test_sizes_take_suffixes(run, programs):
    log = run([programs("churn.c"), 2000, 50], {"PMEM_CHURN_THRESH": "3m"}).log_of("churn")
    assert {s.threshold for s in log.snapshots} == {3 << 20}


def test_editing_config_h_lowers_the_threshold(churn_default, root, lib, programs, tmp_path):
    copy = tmp_path / "source"
    copy.mkdir()
    for name in ("config.h", "compile.sh"):
        shutil.copy(root / name, copy)
    shutil.copytree(root / "src", copy / "src")
    config = (copy / "config.h").read_text()
    edited = config.replace("#define PMEM_CHURN_THRESH (1024 * 1024)", "#define PMEM_CHURN_THRESH 65536")
    assert edited != config
    (copy / "config.h").write_text(edited)
    (copy / "build").mkdir()
    subprocess.run(["bash", "../compile.sh"], cwd=copy / "build", env=dict(os.environ, PREFIX=".."), check=True, capture_output=True)
    run = pmem_run.Runner(copy / "build" / "libpmem.so", tmp_path)
    log = run([programs("churn.c"), CHURN_COUNT, CHURN_WORK], UNBOUNDED).log_of("churn")
    assert {s.threshold for s in log.snapshots} == {65536}
    assert len(log.snapshots) >= 8 * len(churn_default.snapshots)


def test_refused_settings_leave_the_default_and_are_named(run, programs):
    result = run([programs("churn.c"), 100], {"PMEM_CHURN_THRESH": "many"})
    log = result.log_of("churn")
    assert log.last.threshold == 1 << 20 and any("PMEM_CHURN_THRESH" in line for line in log.top)
    pmem_run.assert_silent(result.err)


# -- how much --------------------------------------------------------------------------------------
def test_log_is_bounded_by_two_generations(run, programs):
    bound = 100 * 1024
    result = run([programs("churn.c"), 20000, 200],
                 {"PMEM_LOG_MAX": str(bound), "PMEM_CHURN_THRESH": "64k", "PMEM_SNAPSHOT_SHARE": "1000", "PMEM_LOG_RATE": "0"})
    (paths,) = pmem_log.find(result.folder)
    assert len(paths) == 2 and paths[0].name == paths[1].name + ".1"
    assert len(os.listdir(result.folder)) == 2 or all(n.startswith("pmem.") for n in os.listdir(result.folder))
    assert sum(p.stat().st_size for p in paths) <= 2 * bound
    log = pmem_log.parse(paths)
    assert log.snapshots[0].seq > 0 and not log.torn
    new = pmem_log.parse(paths[-1:])
    assert new.snapshots[0].live_sum() == new.snapshots[0].figure("live"), "the first one of a file is complete"


def test_rest_makes_up_what_a_snapshot_leaves_out(run, programs):
    tree = programs("tree.c", "-O2", out="tree-rest")
    settings = {"PMEM_CHURN_THRESH": "1000g", "PMEM_LOG_MAX": "0"}
    whole = run([tree, 2000, 1], dict(settings, PMEM_LOG_SNAPSHOT_MAX="0")).log_of(tree.name).last
    result = run([tree, 2000, 1], dict(settings, PMEM_LOG_SNAPSHOT_MAX="20000"))
    part = result.log_of(tree.name).last
    assert not whole.rest or not whole.rest.stacks
    assert part.rest.stacks > 1000 and 0 < len(part.entries) < 100
    assert len(part.entries) + part.rest.stacks == len(whole.entries)
    (path,), = pmem_log.find(result.folder)
    assert path.stat().st_size < 20000 + 2000
    for field in ("live", "alloc_total", "free_total"):
        assert sum(getattr(e, field) for e in part.entries) + getattr(part.rest, field) == \
            sum(getattr(e, field) for e in whole.entries)
    assert part.entries[-1].live >= 0 and [e.hash for e in part.entries] == [e.hash for e in whole.entries[:len(part.entries)]]


def test_log_can_be_switched_off(run, programs):
    result = run([programs("churn.c"), 1000], {"PMEM_LOG": "0"})
    assert result.code == 0 and not list(result.folder.glob("*.log*"))


# -- ends ------------------------------------------------------------------------------------------
def test_kill_leaves_what_was_written(run, programs):
    process = run.start([programs("churn.c"), 0, 10], stdout=subprocess.DEVNULL)
    try:
        path = process.folder / ("pmem.%d.log" % process.pid)
        pmem_run.wait_for(lambda: path.exists() and path.read_bytes().count(b"\n# end [") >= 3, "three snapshots")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    log = pmem_log.parse(path)
    assert len(log.snapshots) >= 3 and log.pid == process.pid


@pytest.mark.parametrize("how", ["return", "exit", "_exit", "quick_exit"])
def test_final_snapshot_comes_after_destructors(run, programs, how):
    library = programs("dtor_lib.c", "-shared", "-fPIC", out="libdtor.so")
    main = programs("dtor_main.c", str(library), "-Wl,-rpath," + str(library.parent))
    result = run([main, how])
    assert result.code == 5
    log = result.log_of("dtor_main")
    ran = how in ("return", "exit")
    assert live(log, "dtor_lib_take") == (0 if ran else 50 * 1000)
    assert live(log, "main_take") == (77 if how == "_exit" else 0)
    assert len(log.snapshots) == 1


def test_vfork_children_give_no_false_final_snapshot(run, programs):
    result = run([programs("vforks.c")])
    assert result.code == 0
    log = result.log_of("vforks")
    assert len(log.snapshots) == 1 and live(log, "parent_leak") == 100 * 100


def test_blocks_freed_in_a_signal_handler_are_no_leak(run, programs):
    result = run([programs("sigfree.c")])
    assert result.code == 0
    log = result.log_of("sigfree")
    assert live(log, "main_take") == 0 and live(log, "handler_take") == 0
    assert sum(e.alloc_total for e in log.state().values()) > 100000


# -- which processes -------------------------------------------------------------------------------
def test_each_image_of_a_process_has_its_own_log(run, programs):
    result = run([programs("images.c"), 2])
    assert result.out == b"3\n"
    (pid,) = {p.name.split(".")[1] for p in result.folder.glob("*.log")}
    names = ["pmem.%s%s.log" % (pid, suffix) for suffix in ("", ".2", ".3")]
    assert sorted(p.name for p in result.folder.glob("*.log")) == sorted(names)
    for number, name in enumerate(names, 1):
        log = pmem_log.parse(result.folder / name)
        assert live(log, "image_keep") == number * 1000 and len(log.snapshots) >= 5


def test_forked_children_start_from_zero(run, programs):
    result = run([programs("forks.c")])
    assert result.code == 0
    pids = dict(line.split() for line in result.out.decode().splitlines())
    logs = {log.pid: log for log in result.logs()}
    for number, kind in enumerate(("fork", "_Fork", "clone"), 1):
        log = logs.pop(int(pids[kind]))
        assert live(log, "child_keep") == number * 1000
        assert live(log, "parent_keep") == 0 and log.last.figure("live") == number * 1000, kind
    assert int(pids["idle"]) not in logs, "a child without events leaves no file"
    (parent,) = logs.values()
    assert live(parent, "parent_keep") == 7000 and live(parent, "child_keep") == 0


def test_only_chooses_by_program_name(run):
    command = "seq 3 | sort -rn | cat"
    assert {os.path.basename(l.exe) for l in run(["bash", "-c", command]).logs()} == {"bash", "seq", "sort", "cat"}
    assert {os.path.basename(l.exe) for l in run(["bash", "-c", command], {"PMEM_ONLY": "s*"}).logs()} == {"seq", "sort"}
    assert not run(["bash", "-c", command], {"PMEM_ONLY": "nothing"}).logs()


def test_children_can_be_left_out(run):
    result = run(["bash", "-c", "seq 3 | sort -rn; true"], {"PMEM_CHILDREN": "0"})
    assert result.out == b"3\n2\n1\n"
    assert [os.path.basename(l.exe) for l in result.logs()] == ["bash"]


def test_children_can_be_left_out_after_fork(run, programs):
    result = run([programs("forks.c")], {"PMEM_CHILDREN": "0"})
    assert result.code == 0 and len(result.logs()) == 1


# -- where -----------------------------------------------------------------------------------------
def test_log_is_private_whatever_the_umask(run, programs):
    for umask in (0, 0o077):
        result = run([programs("churn.c"), 10], umask=umask)
        (path,) = result.folder.glob("*.log")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_ISREG(path.stat().st_mode)


@pytest.mark.parametrize("make", ["echo mine >pmem.$$.log", "ln -s victim pmem.$$.log", "echo victim >victim; ln -s victim pmem.$$.log",
                                  "mkdir pmem.$$.log", "mkfifo pmem.$$.log"],
                         ids=["file", "dangling-link", "link", "folder", "fifo"])
def test_what_is_there_is_never_written(run, programs, make):
    folder = run.folder("taken")
    script = "%s; exec env LD_PRELOAD=%s %s 1000" % (make, run.lib, programs("churn.c"))
    result = run(["bash", "-c", script], lib=False, folder=folder)
    assert result.code == 0, result.err
    (log,) = folder.glob("pmem.*.2.log")
    assert pmem_log.parse(log).last
    for path, text in (("victim", "victim\n"), ("pmem.*.log", "mine\n")):
        for found in folder.glob(path):
            if found != log and found.is_file() and not found.is_symlink():
                assert found.read_text() == text


def test_logs_stay_where_the_program_began(run, programs):
    result = run(["bash", "-c", "mkdir sub; cd sub; seq 100 >x; exit 0"])
    assert "bash" in {os.path.basename(l.exe) for l in result.logs()}
    assert [os.path.basename(pmem_log.parse(p).exe) for p in pmem_log.find(result.folder / "sub")] == ["seq"]


def as_nobody():
    return {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}


def unwritable(public):
    folder = public / "unwritable"
    folder.mkdir(mode=0o555)
    return folder


@pytest.fixture
def public_run(lib, programs, public):
    """A runner whose library and program every user can read."""
    copy, program = public / "libpmem.so", public / "churn"
    shutil.copy(lib, copy)
    shutil.copy(programs("churn.c"), program)
    for path in (copy, program):
        path.chmod(0o755)
    return pmem_run.Runner(copy, public), program


def test_unwritable_folder_gives_a_log_in_tmpdir(public_run, public):
    run, program = public_run
    tmp = public / "tmp"
    tmp.mkdir()
    tmp.chmod(0o777)
    folder = unwritable(public)
    result = run([program, 1000], {"TMPDIR": str(tmp)}, folder=folder, **as_nobody())
    assert result.code == 0 and result.out.endswith(b"done\n") and not list(folder.iterdir())
    (path,) = tmp.glob("pmem.*.log")
    assert pmem_log.parse(path).last and stat.S_IMODE(path.stat().st_mode) == 0o600
    pmem_run.assert_silent(result.err)


def test_no_place_for_a_log_is_said_once(public_run, public):
    run, program = public_run
    folder = unwritable(public)
    result = run([program, 1000], {"TMPDIR": str(folder)}, folder=folder, **as_nobody())
    assert result.code == 0 and result.out.endswith(b"done\n")
    (line,) = result.err.decode().splitlines()
    assert line.startswith("pmem: cannot write a log in %s" % folder)


# -- whoever is in its way -------------------------------------------------------------------------
TOTAL = 2 * 40000 * 100 + 1234


def in_the_way(run, programs, how):
    """The folder in which the program ran, whatever it holds now."""
    result = run([programs("log_in_the_way.c"), how], {"PMEM_SNAPSHOT_SHARE": "1000", "PMEM_LOG_RATE": "0"})
    assert result.code == 0
    pmem_run.assert_silent(result.err)
    return result.folder


def assert_whole(log):
    """The log stands for itself: its first snapshot is complete, its last one right."""
    first = log.snapshots[0]
    assert log.top[0].startswith("pmem log of ") and not log.torn and log.lost == 0
    assert {pmem_names.function(pmem_names.stack(e)[0]) for e in first.entries} >= {"keep", "take"}
    assert live(log, "keep") == 1234 and sum(e.alloc_total for e in log.state().values()) >= TOTAL
    assert len(log.snapshots) > 2


@pytest.mark.parametrize("how", ["nothing", "delete", "truncate"])
def test_log_that_is_deleted_or_truncated_begins_anew_under_its_name(run, programs, how):
    folder = in_the_way(run, programs, how)
    (path,) = folder.glob("*.log")
    log = pmem_log.parse(path)
    assert_whole(log)
    assert (log.snapshots[0].seq > 0) == (how != "nothing")


def test_log_that_is_moved_begins_anew(run, programs):
    folder = in_the_way(run, programs, "move")
    new, = folder.glob("*.log")
    assert_whole(pmem_log.parse(new))
    both = pmem_log.parse([folder / "moved", new])
    assert [s.seq for s in both.snapshots] == list(range(len(both.snapshots)))


@pytest.mark.parametrize("how", ["replace", "replace-by-link"])
def test_file_in_place_of_the_log_is_never_written(run, programs, how):
    folder = in_the_way(run, programs, how)
    (log,) = folder.glob("*.2.log")
    (other,) = set(folder.glob("*.log")) - {log}
    assert_whole(pmem_log.parse(log))
    assert other.is_symlink() if how == "replace-by-link" else other.read_text() == "mine\n"


def test_lost_text_is_marked_once_and_a_complete_snapshot_follows(run, programs):
    folder = in_the_way(run, programs, "limit-files")
    (path,) = folder.glob("*.log")
    text = path.read_text()
    assert text.count("\n# lost ") == 1
    after = text[text.index("\n# lost "):].split("\n", 2)[2]
    assert after.startswith("# time=") and "log_bytes=" in after.split("\n")[0]
    log = pmem_log.parse(path)
    assert live(log, "keep") == 1234 and log.lost == int(log.last.figures["log_bytes"]) == log.last.figure("lost")
    assert sum(s.churn for s in log.snapshots) >= 2 * 3 * 40000 * 100


def test_address_space_limit_leaves_the_final_snapshot(run, programs):
    folder = in_the_way(run, programs, "limit-memory")
    (path,) = folder.glob("*.log")
    assert pmem_log.parse(path).last.live_sum() >= 1234


def test_sandbox_is_noted(run, programs):
    folder = in_the_way(run, programs, "sandbox")
    (path,) = folder.glob("*.log")
    log = pmem_log.parse(path)
    assert log.notes == ["sandbox: no more files are opened; children forked from here on are not recorded"]
    assert live(log, "keep") == 1234


# -- descriptors -----------------------------------------------------------------------------------
def test_program_sees_the_descriptors_it_would_see(run, programs):
    mine = run.both([programs("descriptors.c")])
    assert mine.out.startswith(b"first 3 second 4\n")
    assert mine.log_of("descriptors").snapshots


def test_descriptor_limit_of_the_program_is_not_used_up(run, programs):
    """With only a few descriptors allowed the program still opens its own."""
    script = "ulimit -n 12; exec %s" % programs("descriptors.c")
    bare = run(["bash", "-c", script], lib=False)
    mine = run(["bash", "-c", "ulimit -n 12; exec env LD_PRELOAD=%s %s" % (run.lib, programs("descriptors.c"))], lib=False)
    assert (mine.code, mine.out) == (bare.code, bare.out)
