# SPDX-License-Identifier: BSD-2-Clause
"""test_leaks - pmem leaks --at-exit: what cannot be reached any more, compared with LeakSanitizer byte by byte.

Each case of tests/programs/leaks runs twice: as it is under pmem, and compiled with -fsanitize=leak alone.
"""
import json
import re
import subprocess

import pytest

import pmem_run
import pmem_tool

KINDS = ("direct", "indirect")
C_CASES = """none lost_one lost_many lost_list lost_head lost_ring lost_ring_with_tail lost_list_to_ring lost_tree lost_self
shared_tail shared_with_kept kept_tree overwritten only_in_freed interior last_byte behind unaligned hidden in_global
in_thread_local in_specific in_environment in_stack in_mapping in_shared_mapping in_thread_stack in_thread_variable
in_thread_argument in_register in_vector thread_ended other_arena reallocated moved_with_pointers whole_family large large_kept
strings long_list wide""".split()
CPP_CASES = """lost_vector kept_vector lost_string kept_string shared_cycle shared_kept released lost_map kept_list kept_table
kept_function second_base array_with_cookie empty_array lost_array vector_of_pointers cleared""".split()
# A few whose numbers follow from their source: LeakSanitizer is no proof of these.
KNOWN = {"none": (0, 0, 0, 0), "lost_one": (100, 1, 0, 0), "lost_list": (64, 1, 4 * 64, 4), "lost_ring": (0, 0, 7 * 64, 7),
         "lost_tree": (64, 1, 254 * 64, 254), "interior": (0, 0, 0, 0), "behind": (100, 1, 0, 0), "in_register": (0, 0, 0, 0),
         "in_vector": (0, 0, 0, 0), "in_mapping": (0, 0, 0, 0), "thread_ended": (100, 1, 0, 0),
         "lost_many": (500 * 501 // 2, 500, 0, 0), "shared_tail": (128, 2, 192, 3)}


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


@pytest.fixture(scope="module")
def built(programs):
    """built("cases.c") -> (as it is, with LeakSanitizer or None)."""
    def build(source):
        stem = "cases-" + source.rpartition(".")[2]
        plain = programs("leaks/" + source, out=stem)
        try:
            return plain, programs("leaks/" + source, "-fsanitize=leak", out=stem + "-lsan")
        except subprocess.CalledProcessError:
            return plain, None
    return build


def test_lists_are_complete(built):
    for source, cases in (("cases.c", C_CASES), ("cases.cpp", CPP_CASES)):
        assert subprocess.run([built(source)[0]], capture_output=True, text=True).stdout.split() == cases
    assert len(C_CASES) + len(CPP_CASES) >= 30


def look(tool, *argv, options=()):
    """(exit code, the report) of a run."""
    folder = tool.folder()
    result = tool("leaks", "--at-exit", "--json", "-o", folder / "leaks.json", *options, "--", *argv)
    return result.returncode, json.loads((folder / "leaks.json").read_text())


def figures(report):
    return tuple(report["%s_%s" % (kind, what)] for kind in KINDS for what in ("bytes", "blocks"))


def sanitizer(program, case):
    result = subprocess.run([program, case], capture_output=True, text=True, env=pmem_run.environment(None), timeout=60)
    if "LeakSanitizer has encountered a fatal error" in result.stderr:
        return None
    found = {kind: [0, 0] for kind in KINDS}
    for kind, size, count in re.findall(r"(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object", result.stderr):
        found[kind.lower()][0] += int(size)
        found[kind.lower()][1] += int(count)
    return tuple(found["direct"] + found["indirect"])


@pytest.mark.parametrize("source,case", [("cases.c", c) for c in C_CASES] + [("cases.cpp", c) for c in CPP_CASES])
def test_agrees_with_leaksanitizer(tool, built, source, case):
    plain, sanitized = built(source)
    code, report = look(tool, plain, case)
    assert code == 0
    mine = figures(report)
    if case in KNOWN:
        assert mine == KNOWN[case]
    theirs = sanitizer(sanitized, case) if sanitized else None
    if theirs is None:
        pytest.skip("LeakSanitizer cannot run here")
    assert mine == theirs


def test_sums_by_call_stack_are_the_totals(tool, built):
    _, report = look(tool, built("cases.c")[0], "moved_with_pointers")
    _, report = look(tool, built("cases.c")[0], "lost_tree")
    assert sum(s["lost_bytes"] for s in report["stacks"]) == report["lost_bytes"] == 255 * 64
    assert sum(s["direct_blocks"] for s in report["stacks"]) == report["direct_blocks"] == 1
    assert {s["site"] for s in report["stacks"]} == {"make"}
    assert any(f["function"] == "lost_tree" and f["file"].endswith("cases.c") for s in report["stacks"] for f in s["frames"])


def test_a_block_of_no_bytes_is_counted(tool, programs, tmp_path):
    source = tmp_path / "zero.c"
    source.write_text("#include <stdlib.h>\nint main(void) { char *p = malloc(0); __asm__ volatile(\"\" :: \"r\"(p) : \"memory\");"
                      "p = NULL; __asm__ volatile(\"\" :: \"r\"(p) : \"rax\", \"memory\"); return 0; }\n")
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "zero", source], check=True)
    _, report = look(tool, tmp_path / "zero")
    assert figures(report) == (0, 1, 0, 0)


def test_the_page_says_it_in_words_first(tool, built):
    result = tool("leaks", "--at-exit", "--", built("cases.c")[0], "lost_list")
    text = result.stdout.decode()
    words = " ".join(text.split())
    assert "320 B in 5 blocks cannot be reached any more: no pointer to them is left." in words
    assert "make (cases.c:" in words and "lost 320 B, 100 %." in words
    assert re.search(r"^ +320 B +5 +64 B +256 B +make", text, re.M)
    assert "64 B in 1 block directly, 256 B in 4 blocks indirectly, allocated by" in text
    assert text.index("cannot be reached") < text.index("indirect  site")
    assert result.stderr == b""
    # No profile is left that a name could lead to.
    assert ".prof" not in text and "pmem report" not in text and not list(result.folder.glob("*.prof"))


def test_no_leaks_are_said_so(tool, built):
    text = " ".join(tool("leaks", "--at-exit", "--", built("cases.c")[0], "kept_tree").stdout.decode().split())
    assert "No leaks: all of the 255 live blocks (15.9 KiB) can still be reached." in text


def test_top_limits_the_table(tool, built):
    _, report = look(tool, built("cases.c")[0], "whole_family", options=("--top", "2"))
    assert len(report["stacks"]) == 2
    assert report["lost_blocks"] == 4


# --- exit codes ---------------------------------------------------------------------------------


def test_exit_status_is_the_programs(tool, built):
    program = built("cases.c")[0]
    assert tool("leaks", "--at-exit", "--", "sh", "-c", "exit 7").returncode == 7
    assert tool("leaks", "--at-exit", "--", program, "no_such_case").returncode == 2
    assert tool("leaks", "--at-exit", "--", "sh", "-c", "kill -9 $$").returncode == -9
    assert tool("leaks", "--at-exit", "--", program, "lost_one").returncode == 0


def test_error_exitcode(tool, built):
    program = built("cases.c")[0]
    assert tool("leaks", "--at-exit", "--error-exitcode=9", "--", program, "lost_one").returncode == 9
    assert tool("leaks", "--at-exit", "--error-exitcode", "9", "--", program, "kept_tree").returncode == 0
    assert tool("leaks", "--at-exit", "--error-exitcode=9", "--", program, "no_such_case").returncode == 2


def test_a_program_that_could_not_be_looked_at_does_not_pass_for_one_without_leaks(tool, built):
    result = tool("leaks", "--at-exit", "--", built("cases.c")[0], "lost_one", env={"PMEM_SAMPLE": "512k"})
    assert result.returncode == 125 and b"recorded with --sample" in result.stderr


@pytest.mark.parametrize("argv,code,words", [
    (["--at-exit"], 125, "which program?"), ([], 2, "which process?"), (["1", "2"], 2, "one process at a time"),
    (["x.prof"], 2, "pmem report --leaks"), (["--error-exitcode=256", "1"], 2, "no number from 0 to 255"),
    (["--top", "0", "1"], 2, "no number from 1"), (["--no-such", "1"], 2, "unknown option"),
    (["999999999"], 1, "no such process"), (["--at-exit", "--", "/no/such/program"], 127, "No such file"),
    (["--suppressions", "/no/such/file", "1"], 1, "/no/such/file")])
def test_what_is_wrong_is_said(tool, argv, code, words):
    result = tool("leaks", *argv)
    assert result.returncode == code
    assert words in result.stderr.decode()
    assert result.stdout == b""


@pytest.mark.parametrize("where", ["behind", "before", "short"])
@pytest.mark.parametrize("options,words", [
    (["--suppressions", "/no/such/file"], "/no/such/file: No such file"), (["--suppressions", "/"], "Is a directory"),
    (["--suppressions", "no-colon"], "does not begin with leak:"), (["--suppressions"], "needs an argument"),
    (["--error-exitcode=x"], "no number from 0 to 255"), (["--error-exitcode=-1"], "no number from 0 to 255"),
    (["--top=0"], "no number from 1"), (["--top="], "no number from 1"), (["--json=1"], "takes no argument"),
    (["--no-such"], "unknown option"), (["-x"], "unknown option"), (["--blame", "/no/such/file"], "/no/such/file"),
    (["--sysroot", "/no/such/folder"], "No such file"), (["--debug-dir", "/dev/null"], "Not a directory"),
    (["--debuginfod"], "names no server"), (["-o", "/no/such/folder/file"], "No such file")])
def test_mistakes_do_not_look_like_an_exit_code_of_the_program(tool, where, options, words):
    """1 and 2 are what programs use; 125 is ours."""
    folder = tool.folder()
    (folder / "no-colon").write_text("leak\n")
    argv = {"behind": ["--at-exit", *options], "before": [*options, "--at-exit"], "short": ["--at", *options]}[where]
    result = tool("leaks", *argv, *([] if options == ["--suppressions"] else ["--", "echo", "begun"]), cwd=folder)
    if where == "before" and options == ["--suppressions"]:
        words = "--at-exit"
    assert result.returncode == 125
    assert words in result.stderr.decode()
    assert result.stdout == b"" or options[0] == "-o"


def test_nothing_is_left(tool, built, tmp_path):
    folder = tmp_path / "tmp"
    folder.mkdir()
    result = tool("leaks", "--at-exit", "--", built("cases.c")[0], "lost_one", env={"TMPDIR": str(folder)})
    assert list(folder.iterdir()) == [] and list(result.folder.iterdir()) == []


def test_input_output_and_arguments_are_the_programs(tool):
    result = tool("leaks", "--at-exit", "-o", "/dev/null", "--", "sh", "-c", 'cat; echo "$1"', "x", "--at-exit", input=b"in\n")
    assert result.stdout == b"in\n--at-exit\n"


def test_another_image_is_followed(tool, built):
    _, report = look(tool, "sh", "-c", 'exec "$0" lost_list', built("cases.c")[0])
    assert figures(report) == (64, 1, 256, 4)


def test_children_are_not_looked_at(tool, built):
    program = built("cases.c")[0]
    code, report = look(tool, "sh", "-c", '"$0" lost_list; "$0" lost_ring; exit 3', program)
    assert code == 3 and report["exe"].endswith("sh")


# --- suppressions -------------------------------------------------------------------------------


def suppressed(tool, tmp_path, rules, *argv):
    path = tmp_path / "known.supp"
    path.write_text(rules)
    return look(tool, *argv, options=("--suppressions", path, "--error-exitcode=5"))


@pytest.mark.parametrize("rule", ["lost_tree", "lost_*ee", "^lost_tree$", "cases.c", "/cases-c", "^main"])
def test_a_rule_that_matches(tool, built, tmp_path, rule):
    code, report = suppressed(tool, tmp_path, "# known\n\nleak:%s\n" % rule, built("cases.c")[0], "lost_tree")
    assert (code, figures(report)) == (0, (0, 0, 0, 0))
    assert report["suppressions"] == [{"pattern": rule, "bytes": 255 * 64, "blocks": 255}]
    assert (report["suppressed_bytes"], report["suppressed_blocks"]) == (255 * 64, 255)


@pytest.mark.parametrize("rule", ["ost_tree_", "^ost_tree", "lost_tre$", "lost*x"])
def test_a_rule_that_does_not_match(tool, built, tmp_path, rule):
    code, report = suppressed(tool, tmp_path, "leak:%s\n" % rule, built("cases.c")[0], "lost_tree")
    assert (code, report["lost_blocks"]) == (5, 255)
    assert report["suppressions"] == [{"pattern": rule, "bytes": 0, "blocks": 0}]


def test_what_a_known_leak_leads_to_is_known(tool, built, tmp_path):
    """As LeakSanitizer: the strings hang in an array that is suppressed; their own call stacks have strdup()."""
    code, report = suppressed(tool, tmp_path, "leak:no_such\nleak:calloc*main\nleak:^strdup$\n", built("cases.c")[0], "strings")
    assert report["lost_blocks"] == 1 and report["lost_bytes"] == 168
    assert [r["blocks"] for r in report["suppressions"]] == [0, 0, 20]


def test_rules_are_shown_with_their_use(tool, built, tmp_path):
    path = tmp_path / "known.supp"
    path.write_text("leak:unused\nleak:lost_list\n")
    text = tool("leaks", "--at-exit", "--suppressions", path, "--", built("cases.c")[0], "lost_list").stdout.decode()
    assert re.search(r"^ +320 B +5  leak:lost_list$", text, re.M) and "unused" not in text


@pytest.mark.parametrize("rules,words", [("leak:\n", "known.supp:1: an empty pattern"), ("\nrace:x\n", "known.supp:2: ")])
def test_a_broken_rule_is_named(tool, built, tmp_path, rules, words):
    path = tmp_path / "known.supp"
    path.write_text(rules)
    result = tool("leaks", "--at-exit", "--suppressions", path, "--", built("cases.c")[0], "none")
    assert result.returncode == 125 and words in result.stderr.decode()
