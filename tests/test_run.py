# SPDX-License-Identifier: BSD-2-Clause
"""test_run - `pmem run`: the program does not notice, what cannot be recorded is refused, and the summary says what was seen."""
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

import pmem_run
import pmem_tool


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


@pytest.fixture(scope="module")
def public():
    """A folder that other users can reach, and where setuid bits count."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="pmem-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def lines(result):
    return result.stderr.decode().splitlines()


def only(folder):
    found = pmem_tool.profiles(folder)
    assert len(found) == 1, [p.name for p in found]
    return found[0]


# -- the program as without pmem ----------------------------------------------------------------------
@pytest.mark.parametrize("code", [0, 1, 7, 125, 255])
def test_exit_code_is_the_programs(tool, code):
    assert tool("run", "--", "sh", "-c", "exit %d" % code).returncode == code


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGABRT, signal.SIGINT])
def test_a_signal_that_kills_the_program_kills_pmem_too(tool, number):
    result = tool("run", "--", "sh", "-c", "kill -%d $$" % number)
    assert result.returncode == -number
    assert "killed by signal %d" % number in result.stderr.decode()
    assert not list(result.folder.glob("core*"))


def test_bare_words_are_a_program(tool):
    assert tool("sh", "-c", "exit 5").returncode == 5
    assert tool("-q", "--", "sh", "-c", "exit 6").returncode == 6


def test_arguments_pass_unchanged(tool):
    given = ["", "a b", "-q", "--", "--help", "'\"$x*", "ä\udcff", ""]
    result = tool("run", "-q", "--", sys.executable, "-c", "import sys; sys.stdout.buffer.write(ascii(sys.argv[1:]).encode())", *given)
    assert result.stdout.decode() == ascii(given)
    assert tool("-q", "echo", "--no-log", "-o", "x").stdout == b"--no-log -o x\n"


def test_stdin_and_stdout_are_untouched(tool):
    data = bytes(range(256)) * 5000
    result = tool("run", "cat", input=data)
    assert result.stdout == data


def test_a_closed_stdin_stays_closed(tool):
    code = "import os\ntry: os.fstat(0)\nexcept OSError: print('closed')"
    shell = 'exec "$0" run -q "$1" -c "$2" <&-'
    env = pmem_run.environment(None, {"PMEM_LIB": tool.lib})
    result = subprocess.run(["sh", "-c", shell, tool.program, sys.executable, code], cwd=tool.folder(), env=env, capture_output=True)
    assert result.stdout == b"closed\n"


def test_signals_and_descriptors_are_as_without_pmem(tool, programs, run):
    show = programs("signals.c")

    def prepare():
        signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR1, signal.SIGWINCH})
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    bare = run([show, "show"], lib=False, preexec_fn=prepare)
    mine = tool("run", "-q", show, "show", preexec_fn=prepare)
    assert b"SigBlk" in bare.out and b"fd 2" in bare.out
    assert (mine.returncode, mine.stdout) == (0, bare.out)


def test_what_only_a_shell_can_run_is_run_by_one(tool, tmp_path):
    script = tmp_path / "script"
    script.write_text("echo \"$0 $#\"\nexit 4\n")
    script.chmod(0o755)
    result = tool("run", "-q", script, "a", "")
    assert (result.returncode, result.stdout.decode()) == (4, "%s 2\n" % script)


def test_scripts_are_recorded_by_their_interpreter(tool, tmp_path):
    script = tmp_path / "script"
    script.write_text("#! /bin/sh -e\nfalse\necho not here\n")
    script.chmod(0o755)
    result = tool("run", "-q", script)
    assert (result.returncode, result.stdout) == (1, b"")


# -- signals --------------------------------------------------------------------------------------------
def waiting(tool, programs, **options):
    process = tool.start("run", "-q", programs("signals.c"), "wait", stdout=subprocess.PIPE, **options)
    assert process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT, signal.SIGQUIT,
                                    signal.SIGALRM, signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT, signal.SIGRTMIN + 3])
def test_signals_sent_to_pmem_reach_the_program(tool, programs, number):
    process = waiting(tool, programs)
    process.send_signal(number)
    assert process.stdout.readline() == b"%d\n" % number
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == b"%d\n" % signal.SIGTERM
    assert process.wait(20) == 9


def state(pid):
    return pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0]


def child_of(pid):
    return int(pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()[0])


def test_stop_and_continue(tool, programs):
    """In a process group of its own, as a shell with job control starts it: both stop, both go on."""
    process = waiting(tool, programs, preexec_fn=lambda: os.setpgid(0, 0))
    child = child_of(process.pid)
    os.kill(child, signal.SIGSTOP)
    pmem_run.wait_for(lambda: state(process.pid) == "T", "pmem stopped")
    assert state(child) == "T"
    process.send_signal(signal.SIGCONT)
    pmem_run.wait_for(lambda: state(child) != "T", "the program goes on")
    assert process.stdout.readline() == b"%d\n" % signal.SIGCONT
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 9


def test_without_job_control_pmem_does_not_stop(tool, programs):
    """Nobody would continue it."""
    process = waiting(tool, programs, start_new_session=True)
    child = child_of(process.pid)
    os.kill(child, signal.SIGSTOP)
    pmem_run.wait_for(lambda: state(child) == "T", "the program stopped")
    process.send_signal(signal.SIGUSR1)  # when it has been passed on, the stop has been seen
    pmem_run.wait_for(lambda: pending(child, signal.SIGUSR1), "the signal was passed on")
    assert state(process.pid) != "T"
    os.kill(child, signal.SIGCONT)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 9


def pending(pid, number):
    text = pathlib.Path("/proc/%d/status" % pid).read_text()
    mask = int(re.search(r"^ShdPnd:\s*(\w+)", text, re.M).group(1), 16)
    return mask >> (number - 1) & 1


def test_interrupt_key_reaches_the_program_once(tool, programs):
    """On a terminal of its own: ^C goes to the whole process group, and pmem passes nothing on."""
    main, end = pty.openpty()

    def own_terminal():
        os.setsid()
        import fcntl
        import termios
        fcntl.ioctl(end, termios.TIOCSCTTY, 0)

    process = waiting(tool, programs, stdin=end, preexec_fn=own_terminal)
    os.write(main, b"\x03")
    assert process.stdout.readline() == b"%d\n" % signal.SIGINT
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == b"%d\n" % signal.SIGUSR1, "a second SIGINT"
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 9
    os.close(main)
    os.close(end)


# -- usage ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("argv,message", [
    (["run", "--frobnicate", "true"], "pmem run: unknown option --frobnicate"),
    (["run", "-qx", "true"], "pmem run: unknown option -x"),
    (["run", "--quiet=3", "true"], "pmem run: --quiet=3 takes no argument"),
    (["run", "-o"], "pmem run: -o needs an argument"),
    (["run", "--only", "x" * 256, "true"], "pmem run: --only: the pattern is too long"),
    (["run"], "pmem run: which program?"),
    (["run", "--only"], "pmem run: --only needs an argument"),
    (["run", "--no-log=1", "true"], "pmem run: --no-log=1 takes no argument"),
    (["run", "--sample=x", "true"], "pmem run: --sample=x is not a size from 1k to 1g (0: record all)"),
    (["run", "--sample=2g", "true"], "pmem run: --sample=2g is not a size from 1k to 1g (0: record all)"),
    (["run", "--sample=", "true"], "pmem run: --sample= is not a size from 1k to 1g (0: record all)"),
    (["run", "--max-overhead", "x", "true"], "pmem run: --max-overhead=x is not a percentage like 3% or 0.5%"),
])
def test_wrong_use(tool, argv, message):
    result = tool(*argv)
    assert result.returncode == 125
    assert lines(result) == [message, "To see how it is used: pmem help run"]


def test_overview_version_and_help(tool):
    bare = tool()
    assert (bare.returncode, bare.stdout) == (2, b"")
    assert len(lines(bare)) <= 22  # of 24, with the prompt
    assert tool("--help").stdout == tool("help").stdout == bare.stderr
    assert re.fullmatch(rb"pmem \d+\.\d+\.\d+\n", tool("--version").stdout)
    for verb in ["run", "report", "info", "export", "help"]:
        assert re.search(r"^  %s " % verb, bare.stderr.decode(), re.M)
        told = tool("help", verb)
        assert told.returncode == 0 and told.stdout.decode().startswith("pmem %s - " % verb)
        asked = tool(verb, "--help")
        assert asked.returncode == 0 and told.stdout.startswith(asked.stdout.partition(b"All options: ")[0])
    wrong = tool("help", "nothing")
    assert wrong.returncode == 2
    assert lines(wrong) == ["pmem help: nothing is not a command of pmem", "To see how it is used: pmem help help"]


def test_the_programs_own_help_is_its_own(tool):
    assert tool("run", "-q", "sh", "-c", "echo $1", "x", "--help").stdout == b"--help\n"


def test_output_that_cannot_be_written_is_a_failure(tool):
    with open("/dev/full", "w") as full:
        env = pmem_run.environment(None)
        result = subprocess.run([tool.program, "help"], stdout=full, stderr=subprocess.PIPE, env=env)
    assert result.returncode == 1
    assert result.stderr == b"pmem: standard output: No space left on device\n"


# -- refusals -------------------------------------------------------------------------------------------
def refused(tool, *argv, code=126, **options):
    """The message, which takes lines of 80 columns."""
    result = tool("run", *argv, **options)
    assert result.returncode == code, result.stderr
    assert result.stdout == b""
    for line in lines(result):
        assert len(line) <= 80 or max(len(word) for word in line.split()) > 40, "only a path may be wider"
    for line in lines(result)[1:]:
        assert re.match(r" {6}\S", line)
    assert not [p for p in result.folder.iterdir() if p.suffix == ".prof"]
    return " ".join(line.strip() for line in lines(result))


@pytest.mark.parametrize("flag", ["-static", "-static-pie"])
def test_static_programs_are_refused(tool, programs, flag):
    program = programs("holder.c", flag, out="holder" + flag)
    message = refused(tool, program)
    assert message.startswith("pmem: nothing was recorded: %s is statically linked (" % program)
    assert "do this instead: " in message


def test_a_script_of_a_static_interpreter_is_refused(tool, programs, tmp_path):
    program = programs("holder.c", "-static", out="holder-static")
    script = tmp_path / "script"
    script.write_text("#!%s\n" % program)
    script.chmod(0o755)
    assert refused(tool, script).startswith(
        "pmem: nothing was recorded: %s's interpreter %s is statically linked (" % (script, program))


def test_the_loader_as_a_program_is_no_static_program(tool, programs):
    loader = subprocess.run(["readelf", "-p", ".interp", programs("holder.c")], capture_output=True, text=True, check=True)
    loader = re.search(r"/\S+", loader.stdout[loader.stdout.index("]"):]).group()
    assert tool("run", "-q", loader, programs("holder.c")).returncode == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("kind,mode,owner", [("setuid", 0o4755, (1, -1)), ("setgid", 0o2755, (-1, 1))])
def test_programs_with_other_rights_are_refused(tool, programs, public, kind, mode, owner):
    program = shutil.copy(programs("holder.c"), public / kind)
    os.chown(program, *owner)
    os.chmod(program, mode)
    message = refused(tool, program)
    assert message.startswith("pmem: nothing was recorded: %s is %s (its loader ignores LD_PRELOAD; do this instead: " % (program, kind))
    # The same program as the user that it is for, and where setuid bits do not count.
    if kind == "setuid":
        os.chown(program, 0, -1)
        os.chmod(program, mode)
        assert tool("run", "-q", program).returncode == 0
    os.chown(program, *owner)
    os.chmod(program, mode)
    env = pmem_run.environment(None, {"PMEM_LIB": tool.lib})
    assert subprocess.run(["setpriv", "--no-new-privs", tool.program, "run", "-q", program], cwd=tool.folder(), env=env).returncode == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give capabilities")
def test_programs_with_file_capabilities_are_refused(tool, programs, public):
    program = shutil.copy(programs("holder.c"), public / "capable")
    os.setxattr(program, "security.capability", bytes.fromhex("0000000200040000000000000000000000000000"))
    assert tool("run", "-q", program).returncode == 0, "root gains nothing"
    folder = public / "of-user"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    lib = shutil.copy(tool.lib, public / "libpmem.so")
    own = shutil.copy(tool.program, public / "pmem")
    result = subprocess.run([own, "run", program], cwd=folder, capture_output=True, user=65534, group=65534, extra_groups=[],
                            env=pmem_run.environment(None, {"PMEM_LIB": str(lib)}))
    assert result.returncode == 126
    assert " ".join(result.stderr.decode().split()).startswith("pmem: nothing was recorded: %s has file capabilities (" % program)


def test_another_machines_program_is_refused(tool, programs, tmp_path):
    content = bytearray(pathlib.Path(programs("holder.c")).read_bytes())
    content[18:20] = (243).to_bytes(2, "little")
    program = tmp_path / "riscv"
    program.write_bytes(content)
    program.chmod(0o755)
    assert re.search(r"riscv is a 64-bit program for RISC-V \(libpmem.so is 64-bit for ", refused(tool, program))
    content[4] = 1
    program.write_bytes(content)
    assert "riscv is a 32-bit program for RISC-V" in refused(tool, program)


def test_not_found_and_not_executable(tool, tmp_path):
    assert refused(tool, "no-such-program", code=127) == "pmem run: no-such-program: not found in PATH"
    assert refused(tool, "./no-such-program", code=127) == "pmem run: ./no-such-program: No such file or directory"
    assert refused(tool, "", code=127) == "pmem run: a program without a name: not found in PATH"
    assert refused(tool, "/etc") == "pmem run: /etc: is a folder, not a program"
    plain = tmp_path / "plain"
    plain.write_text("x")
    assert refused(tool, plain) == "pmem run: %s: cannot be executed: Permission denied" % plain
    assert refused(tool, "plain", env={"PATH": "/nowhere:%s" % tmp_path}).endswith("cannot be executed: Permission denied")
    result = tool("reprot")
    assert result.returncode == 127
    assert lines(result) == ["pmem run: reprot: not found in PATH, and no command of pmem either (pmem help lists them)"]


def test_a_distance_that_is_not_part_of_its_option(tool):
    for argv, end in ((["--sample", "64k"], "; did you mean --sample=64k?"), (["--sample", "64x"], ""), (["--sample=1m", "64k"], ""), (["64k"], "")):
        result = tool("run", *argv, "true")
        assert result.returncode == 127
        assert lines(result) == ["pmem run: %s: not found in PATH%s" % (argv[-1], end)]


def test_an_interpreter_that_is_missing(tool, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert refused(tool, script, code=127) == (
        "pmem: nothing was run: %s needs the interpreter /no/such/interpreter, which does not exist" % script)


def test_path_is_searched_as_execvp_does(tool, tmp_path):
    (tmp_path / "b").mkdir()
    program = tmp_path / "b" / "prog"
    program.write_text("#!/bin/sh\necho \"$0\"\n")
    program.chmod(0o755)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "prog").mkdir()  # a folder is no program
    env = {"PATH": "%s:%s:/bin" % (tmp_path / "a", tmp_path / "b")}
    assert tool("run", "-q", "prog", env=env).stdout.decode() == "%s\n" % program
    assert tool("run", "-q", "prog", env={"PATH": ""}, cwd=tmp_path / "b").returncode == 0, "empty: the current folder"


# -- the library ----------------------------------------------------------------------------------------
def test_the_library_is_searched_in_three_places(tool, programs, tmp_path):
    holder = programs("holder.c")
    assert refused(tool, holder, code=125, env={"PMEM_LIB": "/no/such.so"}) == \
        "pmem run: PMEM_LIB=/no/such.so: No such file or directory"
    alone = shutil.copy(tool.program, tmp_path / "pmem")
    env = pmem_run.environment(None)
    result = subprocess.run([alone, "run", "-q", holder], cwd=tool.folder(), env=env, capture_output=True)
    if result.returncode:  # none is installed
        assert result.returncode == 125
        assert re.fullmatch(r"pmem run: libpmem.so was not found: PMEM_LIB is not set, and there is no %s/libpmem.so and no /\S+/libpmem.so\n"
                            % re.escape(str(tmp_path)), result.stderr.decode())
    shutil.copy(tool.lib, tmp_path / "libpmem.so")
    result = subprocess.run([alone, "run", "-q", "sh", "-c", "echo $LD_PRELOAD"], cwd=tool.folder(), env=env, capture_output=True)
    assert result.stdout.decode() == "%s/libpmem.so\n" % tmp_path


@pytest.mark.parametrize("name", ["a b", "a:b", "a$LIB"])
def test_a_library_that_cannot_be_preloaded(tool, programs, tmp_path, name):
    (tmp_path / name).mkdir()
    lib = shutil.copy(tool.lib, tmp_path / name / "libpmem.so")
    message = refused(tool, programs("holder.c"), code=125, env={"PMEM_LIB": str(lib)})
    assert message.startswith("pmem run: %s: cannot be preloaded, because its path has a blank, a colon or a $" % lib)


def test_what_is_no_library(tool, programs, tmp_path):
    (tmp_path / "text.so").write_text("no ELF")
    assert refused(tool, programs("holder.c"), code=125, env={"PMEM_LIB": str(tmp_path / "text.so")}) == \
        "pmem: %s: is no library" % (tmp_path / "text.so")


# -- the environment ------------------------------------------------------------------------------------
def environment_of(tool, *options, env=None):
    code = "import os; print(ascii({k: v for k, v in os.environ.items() if k == 'LD_PRELOAD' or k.startswith('PMEM_')}))"
    result = tool("run", "-q", *options, "--", sys.executable, "-c", code, env=env)
    assert result.returncode == 0, result.stderr
    found = eval(result.stdout)
    found.pop("PMEM_LIB")
    return found, result.folder


def test_environment_of_the_program(tool):
    found, folder = environment_of(tool)
    run_id = found.pop("PMEM_RUN_ID")
    assert re.fullmatch("[0-9a-f]{16}", run_id) and int(run_id, 16)
    assert found == {"LD_PRELOAD": tool.lib, "PMEM_OUT": "%s/pmem.%%p.prof" % folder}
    again, _ = environment_of(tool)
    assert again["PMEM_RUN_ID"] != run_id


def test_options_in_the_environment(tool, lib):
    other = "/lib/libpmem-other.so"
    found, folder = environment_of(tool, "--no-log", "--no-children", "--only", "serv*", "-o", "x.%e.%%.prof",
                                   env={"LD_PRELOAD": other})
    found.pop("PMEM_RUN_ID")
    assert found == {"LD_PRELOAD": "%s:%s" % (lib, other), "PMEM_OUT": "%s/x.%%e.%%%%.prof" % folder, "PMEM_LOG": "0",
                     "PMEM_ONLY": "serv*", "PMEM_CHILDREN": "0"}


def test_a_misspelled_variable_is_noticed(tool):
    words = b"pmem: PMEM_LOGMAX means nothing to pmem; did you mean"
    loud = tool("run", "true", env={"PMEM_LOGMAX": "1m", "PMEM_LOG_MAX": "1m"})
    assert loud.returncode == 0 and loud.stderr.startswith(words) and loud.stderr.count(b"means nothing") == 1
    assert tool("run", "-q", "true", env={"PMEM_LOGMAX": "1m"}).stderr == b""


def test_a_relative_library_is_made_absolute(tool):
    folder = tool.folder()
    shutil.copy(tool.lib, folder / "mine.so")
    result = tool("run", "-q", "sh", "-c", "echo $LD_PRELOAD", env={"PMEM_LIB": "mine.so"}, cwd=folder)
    assert result.stdout.decode() == "%s/mine.so\n" % folder


# -- where profiles go ----------------------------------------------------------------------------------
@pytest.mark.parametrize("name,message", [
    ("", "-o: the file's name is empty"),
    ("a%z", "-o a%z: %z is not known; %p %h %e %t and %% are"),
    ("a%", "-o a%: a percent sign at the end; %% means one"),
    ("no/such.prof", "{}/no: profiles cannot be written there: No such file or directory"),
    ("file/x.prof", "{}/file: profiles cannot be written there: Not a directory"),
    ("folder", "-o folder: is a folder; -o folder/pmem.%p.prof writes there"),
    ("folder/", "-o folder/: is a folder; -o folder/pmem.%p.prof writes there"),
    ("file.prof", "{}/file.prof: exists and is no profile of pmem: not overwritten"),
    ("x" * 250, "-o: the file's name is longer than 200 bytes"),
])
def test_places_where_no_profile_can_be_written(tool, programs, name, message):
    folder = tool.folder()
    (folder / "folder").mkdir()
    (folder / "file").write_text("text")
    (folder / "file.prof").write_text("text")
    result = tool("run", "-o", name, programs("holder.c"), cwd=folder)
    assert result.returncode == 125
    assert lines(result) == ["pmem run: " + message.format(folder)]
    assert (folder / "file.prof").read_text() == "text"


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_a_folder_of_somebody_else(tool, public, programs):
    folder = public / "of-root"
    folder.mkdir()
    for source, name in [(tool.lib, "libpmem.so"), (tool.program, "pmem")]:
        shutil.copy(source, public / name)
    result = subprocess.run([public / "pmem", "run", "true"], cwd=folder, capture_output=True, user=65534, group=65534, extra_groups=[],
                            env=pmem_run.environment(None))
    assert result.returncode == 125
    assert result.stderr.decode() == \
        "pmem run: %s: profiles cannot be written there; -o FILE names another place: Permission denied\n" % folder


def test_an_older_profile_is_moved(tool, programs):
    folder = tool.folder()
    (folder / "out.prof").write_bytes(pmem_tool.MAGIC + b"older")
    (folder / "out.log").write_text("# pmem log of older")
    result = tool("run", "-o", "out", "true", cwd=folder)
    assert result.returncode == 0
    assert lines(result)[0] == "pmem: an older profile of that name is now out.prof.old"
    assert (folder / "out.prof.old").read_bytes() == pmem_tool.MAGIC + b"older"
    assert (folder / "out.log.old").read_text() == "# pmem log of older"
    (folder / "out.prof").write_bytes(pmem_tool.MAGIC + b"newer")
    assert tool("run", "-q", "-o", "out.prof", "true", cwd=folder).stderr == b""
    assert (folder / "out.prof.old").read_bytes() == pmem_tool.MAGIC + b"newer"


def test_what_is_no_profile_is_not_replaced_by_an_older_one(tool):
    folder = tool.folder()
    (folder / "out.prof").write_bytes(pmem_tool.MAGIC + b"older")
    (folder / "out.prof.old").write_text("mine")
    result = tool("run", "-o", "out.prof", "true", cwd=folder)
    assert result.returncode == 125
    assert (folder / "out.prof.old").read_text() == "mine"
    assert (folder / "out.prof").read_bytes() == pmem_tool.MAGIC + b"older"


def test_a_refused_program_moves_nothing(tool, programs):
    folder = tool.folder()
    (folder / "out.prof").write_bytes(pmem_tool.MAGIC + b"older")
    assert tool("run", "-o", "out.prof", programs("holder.c", "-static", out="holder-static"), cwd=folder).returncode == 126
    assert sorted(os.listdir(folder)) == ["out.prof"]
