# SPDX-License-Identifier: BSD-2-Clause
"""test_standard_output - output that cannot be written is one line that says why and exit code 1, in every verb."""
import subprocess

import pytest

import pmem_push
import pmem_run
import pmem_serve
import pmem_tool

# Enough call stacks that every verb's output is larger than a buffer of stdio, so that an early write fails, and not the last.
SOURCE = """
#include <stdlib.h>
void *volatile kept;
#define F(name, next) __attribute__((noinline)) void name(int left) \\
{ kept = malloc(10); if (left > 0) { next(left - 1); __asm__ volatile (""); other(left - 1); } __asm__ volatile (""); }
void other(int left);
F(first, first)
F(other, first)
int main(void) { first(%d); return 0; }
"""
SMALL, BIG = 1, 9
BIG_VERBS = [("report", "--json"), ("report", "--csv"), ("diff", "--json", "self"),
             ("export", "--format", "log"), ("export", "--format", "log", "-o", "-"), ("export", "--format", "pprof"),
             ("export", "--format", "json"), ("bundle", "-o", "-")]
VERBS = [("report",), ("report", "--tree"), ("diff", "self"), ("info",), ("info", "--json"), *BIG_VERBS]


@pytest.fixture(scope="module")
def tool(lib, tmp_path_factory):
    return pmem_tool.Tool(lib, tmp_path_factory.mktemp("tool"))


@pytest.fixture(scope="module")
def profile(tool):
    def make(depth):
        folder = tool.folder()
        (folder / "calls.c").write_text(SOURCE % depth)
        subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-o", folder / "calls", folder / "calls.c"], check=True)
        result = tool("run", "-q", "--no-log", "--", folder / "calls")
        assert result.returncode == 0, result.stderr
        path = pmem_tool.profiles(result.folder)[0].path
        (folder / "calls").rename(path.parent / "calls")
        return path

    made = {depth: make(depth) for depth in (SMALL, BIG)}
    return made.get


def shell(tool, redirection, *argv):
    env = pmem_run.environment(None, {"PMEM_LIB": tool.lib})
    return subprocess.run(["sh", "-c", '"$@" ' + redirection, "sh", tool.program, *map(str, argv)], cwd=tool.folder(), env=env,
                          stdin=subprocess.DEVNULL, capture_output=True)


def of(verb, path):
    return [path if word == "self" else word for word in verb] + [path]


@pytest.mark.parametrize("redirection,reason", [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device"),
                                                ("<&- >&-", "Bad file descriptor")])
@pytest.mark.parametrize("depth", [SMALL, BIG])
@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_it_is_a_failure_with_one_line(tool, profile, verb, depth, redirection, reason):
    result = shell(tool, redirection, *of(verb, profile(depth)))
    assert result.returncode == 1
    said = result.stderr.decode().splitlines()
    assert said in (["pmem %s: standard output: %s" % (verb[0], reason)], ["pmem: standard output: %s" % reason])


# All the others.  PID: of a recorded process that runs; SELF: a profile; PROGRAM: one that ends.
OTHERS = [("help",), ("help", "report"), ("--help",), ("--version",), ("report", "--help"), ("run", "--help"),
          ("export", "--list-formats"), ("top", "-b", "-n", "1", "PID"), ("top", "-b", "SELF"), ("leaks", "-q", "PID"),
          ("leaks", "-q", "--json", "PID"), ("leaks", "-q", "--at-exit", "PROGRAM"), ("serve", "SELF"), ("html", "-o", "-", "SELF"),
          ("html", "SELF"), ("bundle", "SELF"), ("report", "PID"), ("info", "PID"), ("export", "--format", "dhat", "SELF"),
          ("report", "--rss", "--json", "PID"), ("report", "--csv", "SELF")]


@pytest.fixture(scope="module")
def words(tool, profile, programs, tmp_path_factory):
    """words(command) -> command with what its words in capitals stand for."""
    running = pmem_serve.Served(tool, programs("served.c"), tmp_path_factory.mktemp("running"))
    running.tell("k 10")
    stand = {"PID": running.pid, "SELF": profile(SMALL), "PROGRAM": profile(SMALL).parent / "calls"}
    yield lambda command: [stand.get(word, word) for word in command]
    running.end()


@pytest.mark.parametrize("redirection,reason", [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device"),
                                                ("<&- >&-", "Bad file descriptor")])
@pytest.mark.parametrize("command", OTHERS, ids=" ".join)
def test_it_is_a_failure_with_one_line_everywhere(tool, words, command, redirection, reason):
    result = shell(tool, redirection, *words(command))
    verb = "" if command[0].startswith("-") else " " + command[0]
    said = result.stderr.decode().splitlines()
    assert result.returncode == (125 if "--at-exit" in command else 1), said
    assert said in (["pmem%s: standard output: %s" % (verb, reason)], ["pmem: standard output: %s" % reason])


@pytest.mark.parametrize("redirection,reason", [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")])
def test_what_was_pushed_cannot_be_said(tool, words, redirection, reason):
    with pmem_push.Server() as server:
        result = shell(tool, redirection, *words(["push", "--to", "parca", server.url, "SELF"]))
        assert len(server.taken()) == 1
    assert (result.returncode, result.stderr.decode()) == (1, "pmem: standard output: %s\n" % reason)


@pytest.mark.parametrize("redirection", ["<&-", "2>&-", "<&- 2>&-", "2>/dev/full"])
@pytest.mark.parametrize("command", [c for c in OTHERS if c[0] != "serve"], ids=" ".join)
def test_standard_input_and_error_are_not_needed(tool, words, command, redirection):
    result = shell(tool, redirection, *words(command))
    expected = tool(*words(command))
    assert (result.returncode, result.stderr) == (0, b"") and expected.returncode == 0
    assert (len(result.stdout) > 0) == (len(expected.stdout) > 0)


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command,code", [(("report", "none.prof"), 1), (("diff", "none.prof", "none.prof"), 1), (("info", "--no-such"), 2),
                                          (("top", "-b", "none.prof"), 1), (("leaks", "2000000000"), 1), (("serve", "none.prof"), 1),
                                          (("html", "none.prof"), 1), (("bundle", "none.prof"), 1), (("push", "nothing:"), 2),
                                          (("export", "--format", "none"), 2), (("run", "--", "sh", "-c", "exit 9"), 9),
                                          (("run", "--no-such"), 125), ((), 2)], ids=str)
def test_exit_codes_do_not_depend_on_who_listens(tool, command, code, redirection):
    assert shell(tool, redirection, *command).returncode == code


@pytest.mark.parametrize("verb", BIG_VERBS, ids=" ".join)
def test_a_big_one_is_written_in_pieces(tool, profile, verb):
    """So the test above sees a write fail long before the end."""
    assert len(tool(*of(verb, profile(BIG))).stdout) > 4096


@pytest.mark.parametrize("name", ["pprof", "log", "json", "heaptrack"])
@pytest.mark.parametrize("depth", [SMALL, BIG])
def test_a_file_that_cannot_be_written(tool, profile, name, depth):
    result = tool("export", "--format", name, "-o", "/dev/full", profile(depth))
    assert (result.returncode, result.stderr) == (1, b"pmem export: /dev/full: No space left on device\n")


@pytest.mark.parametrize("redirection", ["<&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_files_do_not_take_the_place_of_a_closed_one(tool, profile, redirection):
    path = profile(BIG)
    expected = tool("export", "--format", "collapsed", path).stdout
    output = tool.folder() / "out"
    result = shell(tool, redirection, "export", "--format", "collapsed", "-o", output, path)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert output.read_bytes() == expected


def test_the_name_of_standard_output_is_closed_too(tool, profile):
    result = shell(tool, ">&-", "export", "--format", "collapsed", "-o", "/dev/stdout", profile(BIG))
    assert result.returncode == 1 and result.stderr.startswith(b"pmem export: /dev/stdout: ")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_program_has_the_descriptors_that_pmem_had(tool, number):
    """It is told by what is opened next."""
    redirection = ("<&-", ">&-", "2>&-")[number]
    result = shell(tool, redirection, "run", "-q", "--no-log", "--", "sh", "-c", "test ! -e /proc/self/fd/%d && exit 7" % number)
    assert result.returncode == 7, result.stderr


def test_a_reader_that_has_seen_enough_is_no_failure(tool, profile):
    command = 'trap "" PIPE; { "$@"; echo "rc $?" >&2; } | true'
    for verb in [*VERBS[:-1], ("top", "-b", "-d", "0.1")]:
        result = subprocess.run(["sh", "-c", command, "sh", tool.program, *map(str, of(verb, profile(BIG)))], cwd=tool.folder(),
                                env=pmem_run.environment(None), capture_output=True)
        assert result.stderr == b"rc 0\n", verb


def test_a_bundle_whose_name_has_control_characters(tool, profile):
    """A terminal would obey them."""
    result = tool("bundle", "-o", "a\033[31m\nb\u202ec.bundle", profile(SMALL))
    assert result.returncode == 0, result.stderr
    assert result.stdout.decode().startswith("a?[31m?b?c.bundle: ")
    assert result.stdout.count(b"\n") == 1
