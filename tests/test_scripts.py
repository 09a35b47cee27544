# SPDX-License-Identifier: BSD-2-Clause
"""test_scripts - what script/* and compile.sh say and return: reports of known logs, and refusals.

script/demo runs in a copy of the scripts whose build is a stub: nothing is built in the tree.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

import pmem_run
import pmem_tool

TOP = "# pmem log of /bin/prog, pid 7, start 2026-01-02T03:04:05.000Z, version 0.1.0\n"
LIBPMEM = "/opt/libpmem.so(malloc+0x0) [0x7f0000000100]"


def entry(number, live, *frames):
    lines = ["{%016x} live:%d, alloc:0/%d, free:0/%d" % (number, live, live + 1000, 1000)]
    lines += ["  {%d} %s" % (i, f) for i, f in enumerate((LIBPMEM,) + frames)]
    return live, "\n".join(lines) + "\n\n"


def snapshot(number, peak, *entries, end=True, rest=""):
    live = sum(e[0] for e in entries)
    text = "# time=2026-01-02T03:04:%02d.000Z uptime_s=%d.000 live=%d peak=%d rss=0 own=0 lost=0\n" % (
        6 + number, 1 + number, live, peak)
    text += "[%3d]%s\nchurn=1/1\n\n" % (number, "=" * 57)
    text += "".join(e[1] for e in sorted(entries, key=lambda e: -e[0])) + rest
    return text + ("# end [%3d]\n" % number if end else "")


def prog(symbol):
    return "/bin/prog(%s+0x10) [0x550000000010]" % symbol


@pytest.fixture
def show(root, tmp_path):
    """show(text, option...): runs show-log on a log with this text; the result has .log."""
    def run(text, *options, log="pmem.7.log", more=()):
        if text is not None:
            (tmp_path / log).write_text(text)
        result = subprocess.run([root / "script" / "show-log", *options, log, *more], cwd=tmp_path,
                                capture_output=True, text=True, timeout=60)
        return result
    return run


def entries_of(out):
    """[(first line of an entry, [its frames])]"""
    found = []
    for line in out.splitlines():
        if re.match(r" *\d+\. ", line):
            found.append((line, []))
        elif line.startswith("      ") and found:
            found[-1][1].append(line.strip())
    return found


def whos(out):
    return [re.search(r" from (.*?); ", first).group(1) for first, _ in entries_of(out)]


# -- show-log: which snapshot -------------------------------------------------------------------------
def test_default_view_is_the_last_complete_snapshot(show):
    text = TOP + snapshot(0, 900, entry(1, 900, prog("a"))) + snapshot(1, 900, entry(1, 500, prog("a"))) + \
        snapshot(2, 2000, entry(1, 2000, prog("a")), end=False)
    result = show(text)
    assert result.returncode == 0 and result.stderr == ""
    assert "snapshot 1 of 2026-01-02T03:04:07.000Z" in result.stdout
    assert [e[0] for e in entries_of(result.stdout)] == [
        " 1. 500 B live (100.0 %) from a (prog); allocated 1.5 KiB, freed 1000 B"]


def test_after_teardown_the_fullest_snapshot_is_shown_and_said_so(show):
    text = TOP + snapshot(0, 600, entry(1, 600, prog("a"))) + \
        snapshot(1, 1000, entry(1, 600, prog("a")), entry(2, 400, prog("b"))) + \
        snapshot(2, 1000, entry(1, 499, prog("a")), entry(2, 0, prog("b")))
    out = show(text).stdout
    assert "snapshot 1 of" in out and "the snapshot with the most live bytes" in out
    assert "In the last snapshot, 2, only 499 B of the peak of 1000 B is live." in out
    assert whos(out) == ["a (prog)", "b (prog)"]


def test_half_of_the_peak_is_enough_for_the_last_snapshot(show):
    text = TOP + snapshot(0, 1000, entry(1, 1000, prog("a"))) + snapshot(1, 1000, entry(1, 500, prog("a")))
    out = show(text).stdout
    assert "snapshot 1 of" in out and "most live bytes" not in out


def test_entries_without_live_bytes_are_left_out(show):
    out = show(TOP + snapshot(0, 10, entry(1, 10, prog("a")), entry(2, 0, prog("b")))).stdout
    assert whos(out) == ["a (prog)"]
    out = show(TOP + snapshot(0, 0, entry(2, 0, prog("b")))).stdout
    assert entries_of(out) == [] and "No call stack in this snapshot holds memory." in out


def test_the_count_limits_the_entries(show):
    text = TOP + snapshot(0, 60, *[entry(i, i, prog("f%d" % i)) for i in range(1, 9)])
    assert whos(show(text, more=["2"]).stdout) == ["f8 (prog)", "f7 (prog)"]
    assert len(whos(show(text).stdout)) == 5


def test_the_rotated_generation_is_read_too(show, tmp_path):
    (tmp_path / "pmem.7.log.1").write_text(TOP + snapshot(0, 5000, entry(1, 5000, prog("a"))))
    text = TOP + snapshot(1, 5000, entry(1, 100, prog("a")), entry(2, 9, prog("b")))
    assert "snapshot 0 of" in show(text).stdout


def test_a_refused_setting_is_shown(show):
    line = "# refused setting, default used: PMEM_LOG_MAX=lots\n"
    assert line in show(TOP + line + snapshot(0, 1, entry(1, 1, prog("a")))).stdout
    result = show(TOP + line)
    assert result.returncode == 1 and line in result.stderr


# -- show-log: growth ---------------------------------------------------------------------------------
def test_growth_is_last_minus_first_appearance(show, tmp_path):
    (tmp_path / "pmem.7.log.1").write_text(
        TOP + snapshot(0, 99999, entry(1, 1024, prog("slow")), entry(2, 5000, prog("steady"))))
    text = TOP + snapshot(1, 99999, entry(1, 2048, prog("slow")), entry(3, 10, prog("late")),
                          entry(2, 9000, prog("steady"))) + \
        snapshot(2, 99999, entry(1, 14131, prog("slow")), entry(3, 30000, prog("late")),
                 entry(2, 5000, prog("steady")), entry(4, 70000, prog("once"))) + \
        snapshot(3, 99999, entry(2, 80000, prog("steady")), end=False)
    result = show(text, "--growth")
    assert result.returncode == 0
    first = [e[0] for e in entries_of(result.stdout)]
    assert first == [
        " 1. +29.3 KiB since snapshot 1 (2026-01-02T03:04:07.000Z) from late (prog); 29.3 KiB live, "
        "allocated 30.3 KiB, freed 1000 B",
        " 2. +12.8 KiB since snapshot 0 (2026-01-02T03:04:06.000Z) from slow (prog); 13.8 KiB live, "
        "allocated 14.8 KiB, freed 1000 B"]
    assert whos(show(None, "--growth", more=["1"]).stdout) == ["late (prog)"]


def test_growth_does_not_take_an_entry_for_current_that_the_rest_covers(show):
    text = TOP + snapshot(0, 900, entry(1, 10, prog("a")), entry(2, 10, prog("b"))) + \
        snapshot(1, 900, entry(1, 800, prog("a")), entry(2, 20, prog("b"))) + \
        snapshot(2, 900, entry(2, 30, prog("b")), rest="# rest: 1 call stacks, live 0, alloc 0/800, free 800/800\n")
    out = show(text, "--growth").stdout
    assert whos(out) == ["b (prog)"] and "+20 B since snapshot 0" in out
    assert "Not compared: 1 call stacks" in out


def test_growth_says_when_there_is_none(show):
    one = snapshot(0, 5, entry(1, 5, prog("a")))
    assert "nothing to compare" in show(TOP + one, "--growth").stdout
    two = one + snapshot(1, 5, entry(1, 4, prog("a")))
    assert "No call stack holds more" in show(TOP + two, "--growth").stdout


# -- show-log: names ----------------------------------------------------------------------------------
@pytest.mark.parametrize("symbol", [
    "_Znwm", "_ZnamSt11align_val_t", "_ZNSt6vectorIiE", "_ZNKSt3mapE", "_ZSt4copy", "_ZNSs4_RepE",
    "_ZN9__gnu_cxx13new_allocatorIcE8allocateEmPKv",
    "_ZN5alloc7raw_vec11finish_grow17h0123456789abcdefE", "_ZN4core3ops17h0123456789abcdefE",
    "_ZN9hashbrown3raw13reserve_rehash17h0123456789abcdefE.llvm.42",
    "_ZN50_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$x$GT$5clone17h0123456789abcdefE",
    "_RNvMs4_NtCslNYArtu3iFV_5alloc7raw_vecNtB5_11RawVecInner11finish_growCsjrHSEGnQ3l9_3std"])
def test_runtime_frames_are_not_to_blame(show, symbol):
    assert whos(show(TOP + snapshot(0, 9, entry(1, 9, prog(symbol), prog("mine")))).stdout) == ["mine (prog)"]


@pytest.mark.parametrize("symbol", ["_ZN4core4makeEv", "_ZN8Standard3newEv", "_ZN1r4main17h0123456789abcdefE",
                                    "stdin_read", "_RNvCs1_1r4main", "allocate"])
def test_names_that_look_like_the_runtime_are_the_program(show, symbol):
    who, = whos(show(TOP + snapshot(0, 9, entry(1, 9, prog(symbol), prog("outer")))).stdout)
    assert who != "outer (prog)" and "runtime" not in who


def test_a_stack_of_the_runtime_only_says_so(show):
    libc = "/lib/libc.so.6(strdup+0x1a) [0x7f0000000200]"
    assert whos(show(TOP + snapshot(0, 9, entry(1, 9, libc))).stdout) == ["strdup (libc.so.6, runtime)"]
    assert whos(show(TOP + snapshot(0, 9, entry(1, 9))).stdout) == ["malloc (runtime)"]


def test_frames_are_short_and_demangled(show):
    long_name = "x" * 300
    text = TOP + snapshot(0, 9, entry(1, 9, prog("_ZN1r4main17h0123456789abcdefE"), prog(long_name),
                                      "/lib/libc.so.6(+0x2724a) [0x7f0000000300]"))
    frames = entries_of(show(text).stdout)[0][1]
    assert frames[0] == "malloc" and frames[3] == "libc.so.6+0x2724a"
    assert frames[2] == "x" * 97 + "...+0x10  (prog)"
    if shutil.which("c++filt"):
        assert frames[1] == "r::main+0x10  (prog)"


# -- show-log: refusals -------------------------------------------------------------------------------
@pytest.mark.parametrize("count", ["0", "x", "-1", "1.5", "00", "9999999999"])
def test_a_bad_count_is_refused(show, count):
    result = show(TOP + snapshot(0, 1, entry(1, 1, prog("a"))), more=[count])
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr == "show-log: N must be a number from 1, not %s\n" % count


def test_what_is_no_log_is_refused_in_one_line(show, tmp_path):
    (tmp_path / "folder").mkdir()
    assert show("hello\n").stderr == "show-log: pmem.7.log is not a pmem log\n"
    assert show("").stderr == "show-log: pmem.7.log is not a pmem log\n"
    assert show(None, log="folder").stderr == "show-log: folder is not a pmem log\n"
    result = show(None, log="missing")
    assert (result.returncode, result.stderr) == (1, "show-log: missing: no such file\n")


def test_a_log_without_a_complete_snapshot_is_explained(show):
    for text in TOP, TOP + snapshot(0, 1, entry(1, 1, prog("a")), end=False):
        result = show(text)
        assert result.returncode == 1 and result.stdout == ""
        assert result.stderr == (
            "show-log: pmem.7.log has no complete snapshot: the program is still below PMEM_CHURN_THRESH, "
            "was ended by a signal, or called exec; try PMEM_CHURN_THRESH=64k\n")


@pytest.mark.parametrize("name", ["demo", "build", "test", "soak", "verify", "show-log"])
def test_help_is_the_text_at_the_top(root, name):
    result = subprocess.run([root / "script" / name, "--help"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0 and result.stderr == ""
    assert result.stdout.startswith(name + " - ") and "\n  " + name in result.stdout
    assert "set -" not in result.stdout and "#" not in result.stdout


# -- demo ---------------------------------------------------------------------------------------------
@pytest.fixture
def public():
    """A folder that other users can reach."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="pmem-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def demo(root, lib, public):
    """demo(argument...): in the folder demo.here; the stub of script/build notes PMEM_TARGETS."""
    copy = public / "copy"
    (copy / "script").mkdir(parents=True)
    (copy / "build" / "examples").mkdir(parents=True)
    (copy / "examples").mkdir()
    for path in lib, pmem_tool.find(lib):
        shutil.copy(path, copy / "build")
    shutil.copy(root / "script" / "demo", copy / "script")
    shutil.copy(root / "examples" / "CULPRIT", copy / "examples")
    for name, text in (("build", 'echo "$PMEM_TARGETS" >"%s"' % (copy / "targets")), ("install-missing", ":")):
        (copy / "script" / name).write_text("#!/bin/sh\n%s\n" % text)
        (copy / "script" / name).chmod(0o755)
    here = public / "here"
    here.mkdir()

    def run(*arguments, env=None, **options):
        return subprocess.run([copy / "script" / "demo", *map(str, arguments)], cwd=here, capture_output=True,
                              text=True, timeout=60, env=pmem_run.environment(None, env), **options)
    run.here, run.copy = here, copy
    return run


@pytest.fixture
def demo_server(demo, root):
    """The bundled server and its client, compiled where script/demo has them."""
    for name in "server", "client":
        subprocess.run(["gcc", "-O1", "-o", demo.copy / "build" / "examples" / name, root / "examples" / (name + ".c"),
                        "-lpthread"], check=True)
    return demo


def test_demo_names_the_planted_problem(demo_server, root, public):
    culprit = (root / "examples" / "CULPRIT").read_text().strip()
    result = demo_server(env={"TMPDIR": str(public)})
    assert result.returncode == 0, result.stderr
    assert (demo_server.copy / "targets").read_text() == "libpmem.so pmem examples/server examples/client\n"
    assert re.search(r"^  verdict  growing [\d.]+ MiB/min since .*: %s \(server[^)]*\) makes" % culprit, result.stderr, re.M)
    answer = re.search(r"\$ pmem report\nserver \(pid \d+\).*?\n\n(.*?)\n\n", result.stdout, re.S).group(1)
    assert re.search(r", growing [\d.]+\s+MiB/min", answer) and " %s makes" % culprit in answer
    # Eight connections, of 21,000 requests each every 200th.
    site = re.search(r"^ +\S+ MiB +(\S+) .* %s(?: +server\.c:\d+)?$" % culprit, result.stdout, re.M)
    assert site.group(1) == "1,680"
    folder, = public.glob("pmem-demo.*")
    assert "To look around:  cd %s && %s report --tree\n" % (folder, demo_server.copy / "build" / "pmem") in result.stdout


def test_demo_fails_where_the_problem_does_not_stand_out(demo_server, public):
    (demo_server.copy / "examples" / "CULPRIT").write_text("nobody\n")
    (demo_server.copy / "build" / "examples" / "client").rename(demo_server.copy / "build" / "examples" / "true_client")
    client = demo_server.copy / "build" / "examples" / "client"
    client.write_text('#!/bin/sh\nexec "$0/../true_client" "$1" 100\n'.replace("$0/..", "${0%/*}"))
    client.chmod(0o755)
    result = demo_server(env={"TMPDIR": str(public)})
    assert result.returncode == 1
    assert "the planted problem, nobody, does not stand out" in result.stderr
    client.write_text("#!/bin/sh\nexit 3\n")
    result = demo_server(env={"TMPDIR": str(public)})
    assert result.returncode == 1 and "demo: the client failed\n" in result.stderr


@pytest.mark.parametrize("dashes", [[], ["--"]])
def test_demo_runs_any_program_and_passes_its_exit_code_on(demo, dashes):
    result = demo(*dashes, "perl", "-e", "my @a = map { q(x) x 99 } 1..40000; exit 3")
    assert result.returncode == 3
    assert (demo.copy / "targets").read_text() == "libpmem.so pmem\n"
    profile, = demo.here.glob("pmem.*.prof")
    assert [p.name for p in demo.here.glob("pmem.*.log")] == [profile.stem + ".log"]
    assert re.search(r"^pmem: perl \(pid \d+\), .*, exit status 3$", result.stderr, re.M)
    assert "\n$ pmem report %s\nperl (pid " % profile.name in result.stdout
    assert "To look around:  %s report --tree %s\n" % (demo.copy / "build" / "pmem", profile.name) in result.stdout
    assert "other profiles" not in result.stdout


def test_demo_refuses_what_cannot_be_executed(demo):
    (demo.here / "text").write_text("")
    for name, status in ("nosuchprog", 127), ("./nosuch", 127), (demo.here, 126), ("./text", 126):
        result = demo("--", name)
        assert (result.returncode, result.stdout) == (status, "")
        assert result.stderr.splitlines()[1].startswith("pmem run: %s: " % name)
    (demo.here / "static.c").write_text("int main(void) { return 4; }")
    subprocess.run(["gcc", "-static", "-o", "static", "static.c"], cwd=demo.here, check=True)
    result = demo("./static")
    assert result.returncode == 126 and "./static is statically linked" in result.stderr


@pytest.mark.parametrize("arguments", [[""], ["--"], ["--", "-x"], ["-x"]])
def test_demo_without_a_program_says_how(demo, arguments):
    result = demo(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "usage: demo [[--] PROGRAM ARGS]\n"
    assert not (demo.copy / "targets").exists()


def test_demo_reports_the_process_with_the_largest_peak(demo):
    work = 'for i in 1 2 3 4 5 6 7 8; do /bin/ls >/dev/null; done; perl -e "my @a = map { q(x) x 99 } 1..40000"; :'
    result = demo("sh", "-c", work)
    profiles = list(demo.here.glob("pmem.*.prof"))
    assert len(profiles) == 10
    name = re.search(r"^\$ pmem report (pmem\.\d+\.prof)\nperl \(pid", result.stdout, re.M).group(1)
    assert demo.here / name in profiles
    assert "This is the process with the largest peak; 9 other profiles of this run are here.\n" in result.stdout


def test_demo_explains_why_there_is_no_profile(demo):
    result = demo("true", env={"PMEM_PROFILE": "0"})
    assert "PMEM_PROFILE=0 is set" in result.stderr and result.stdout == ""
    result = demo("perl", "-e", "1", env={"PMEM_ONLY": "x*"})
    assert "nothing was recorded" in result.stderr and result.stdout == ""


# -- install-missing ----------------------------------------------------------------------------------
def test_install_missing_wants_nothing_optional(root, tmp_path):
    """No scdoc, and an apt-get that fails: nothing is missing, so that apt-get is not asked."""
    table = re.search(r"^table='\n(.*?)^'", (root / "script" / "install-missing").read_text(), re.M | re.S).group(1)
    needed = [line.split()[2] for line in table.splitlines() if line.startswith("build ")]
    texts = {**{name: ":" for name in needed if name != "test"}, "apt-get": "echo asked; exit 1", "sudo": 'exec "$@"'}
    for name, text in texts.items():
        (tmp_path / name).write_text("#!/bin/sh\n%s\n" % text)
        (tmp_path / name).chmod(0o755)
    for name in "sh", "id":
        (tmp_path / name).symlink_to(shutil.which(name))
    result = subprocess.run([root / "script" / "install-missing", "build"], env={"PATH": str(tmp_path)},
                            capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert not shutil.which("scdoc", path=str(tmp_path))
    (tmp_path / "meson").unlink()
    result = subprocess.run([root / "script" / "install-missing", "build"], env={"PATH": str(tmp_path)},
                            capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert result.stdout == "Installing with apt: meson\nasked\n"
    assert result.stderr == "apt-get failed; needed are: meson\n"


# -- build and compile.sh -----------------------------------------------------------------------------
def test_build_of_some_targets_leaves_the_rest(root, tmp_path):
    folder = tmp_path / "out"
    subprocess.run([root / "script" / "build"], check=True, capture_output=True, timeout=300,
                   env=dict(os.environ, PMEM_BUILD_DIR=str(folder), PMEM_TARGETS="examples/client"))
    assert (folder / "examples" / "client").exists()
    assert not (folder / "examples" / "server").exists() and not (folder / "libpmem.so").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_build_in_a_folder_of_another_user_fails_in_one_line(root, public):
    copy = public / "copy"
    shutil.copytree(root / "script", copy / "script")
    (copy / "build").mkdir()
    result = subprocess.run([copy / "script" / "build"], capture_output=True, text=True, user="nobody", timeout=60)
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr == \
        "build: build cannot be written to; set PMEM_BUILD_DIR to build in another folder\n"


def test_compile_sh_works_from_a_plain_sh(root, tmp_path):
    result = subprocess.run(["sh", root / "compile.sh"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                            env=dict(os.environ, PREFIX=str(tmp_path)))
    assert result.returncode == 1
    assert result.stderr == "compile.sh: %s/config.h is missing: set PREFIX to the root of the pmem sources\n" % tmp_path
