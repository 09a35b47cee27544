# SPDX-License-Identifier: BSD-2-Clause
"""pmem diff, as a user runs it, on profiles of programs whose heap is known."""
import csv
import io
import json
import re
import shutil
import subprocess

import pytest

import pmem_run
import pmem_tool

FLAGS = ["-g", "-O1", "-fno-optimize-sibling-calls", "-Wall"]
DOCUMENTED = re.compile(r"^\| `([^`]+)` \|", re.M)
LAYERS, WIDTH = 3, 6

# A program of LAYERS x WIDTH functions, each of which calls all of the next layer: 6 + 36 + 216 call stacks.  What lies
# between them is up to the test: %(before)s moves lines, %(order)s functions, %(leak)s is one more site.
HEAD = """
#include <stdlib.h>
extern void *volatile kept[];
extern volatile int count;
#define KEEP(size) (kept[count++] = malloc(size))
"""
MAIN = """
int main(void)
{
%s	return 0;
}
"""


def function(layer, number, static=""):
    """Allocates 10 * layer + number + 1 bytes and calls the next layer; a frame of its own unless static is inline."""
    calls = "".join("\tf%d_%d();\n" % (layer + 1, i) for i in range(WIDTH)) if layer + 1 < LAYERS else ""
    return "%svoid f%d_%d(void)\n{\n\tKEEP(%d);\n%s\t__asm__ volatile (\"\");\n}\n" % (
        static, layer, number, 10 * layer + number + 1, calls)


def sources(gap="", backwards=False, leak="", static=""):
    """The program's two files: layers 0 and 1 with main(), layer 2."""
    upper = [function(layer, i) for layer in (1, 0) for i in range(WIDTH)]
    lower = [function(2, i, static) for i in range(WIDTH)]
    declared = "".join("void f%d_%d(void);\n" % (layer, i) for layer in range(LAYERS) for i in range(WIDTH))
    if backwards:
        upper, lower = upper[::-1], lower[::-1]
    calls = "".join("\tf0_%d();\n" % i for i in range(WIDTH)) + ("\tleak();\n" if leak else "")
    storage = "void *volatile kept[4096];\nvolatile int count;\n"
    return (HEAD + storage + declared + gap + leak + gap.join(upper) + MAIN % calls,
            HEAD + gap + gap.join(lower))


STACKS = WIDTH + WIDTH ** 2 + WIDTH ** 3
LEAK = """__attribute__((noinline)) void leak(void)
{
	for (int i = 0; i < 700; i++)
		KEEP(100);
	__asm__ volatile ("");
}
"""


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


@pytest.fixture
def profile(lib, tmp_path):
    """profile(NAME, files, flags by file) -> profile of a program built from these; the program stays where it is."""
    def run(name, files, *flags, program="prog", argv=()):
        folder = tmp_path / name
        folder.mkdir()
        objects = []
        for i, text in enumerate(files):
            (folder / ("part%d.c" % i)).write_text(text)
            objects.append(folder / ("part%d.o" % i))
            extra = flags[i] if i < len(flags) else []
            subprocess.run(["gcc", *FLAGS, *extra, "-c", "-o", objects[-1], folder / ("part%d.c" % i)], check=True)
        subprocess.run(["gcc", "-g", "-Wl,--build-id", "-o", folder / program, *objects], check=True)
        return record(lib, folder, program, argv)
    return run


def record(lib, folder, program="prog", argv=(), env=None):
    before = set(folder.glob("*.prof"))
    subprocess.run([folder / program, *argv], cwd=folder, env=pmem_run.environment(lib, env), check=True, capture_output=True,
                   timeout=pmem_run.TIMEOUT_S)
    path, = set(folder.glob("*.prof")) - before
    return path


def output(result, code=0):
    assert result.returncode == code, result.stderr
    assert result.stderr == b"" or code != 0
    return result.stdout.decode()


def compare(tool, *argv):
    return json.loads(output(tool("diff", "--json", *argv)))


def changed(document):
    return [s for s in document["stacks"] if s["live_change"] or s["alloc_change"] or s["state"] != "matched"]


def assert_all_matched(document, stacks=STACKS):
    match = document["match"]
    assert (match["matched_stacks"], match["new_stacks"], match["gone_stacks"]) == (stacks, 0, 0)
    assert match["new_bytes"] == match["gone_bytes"] == 0


def test_the_same_program_twice(lib, tool, profile):
    """Other addresses, nothing else: every call stack matches, nothing changed."""
    a = profile("one", sources())
    b = record(lib, a.parent)
    document = compare(tool, a, b)
    assert_all_matched(document)
    assert changed(document) == []
    assert document["a"]["live_bytes"] == document["b"]["live_bytes"] > 0
    text = output(tool("diff", a, b))
    assert re.match(r"live  unchanged \(\d+\.\d KiB\)    allocated unchanged    calls unchanged\n  Nothing changed\.\n", text)
    assert "All %d call stacks are in both." % STACKS in " ".join(text.split())


def unchanged_share(document):
    """Of the call stacks that both programs have, how many match."""
    match = document["match"]
    assert match["matched_stacks"] + max(match["new_stacks"], match["gone_stacks"]) >= STACKS
    return match["matched_stacks"] / STACKS


REBUILDS = {
    "other lines": ((sources(gap="\n/* moved */\n\n"),), {}),
    "moved functions": ((sources(gap="\n", backwards=True),), {}),
    "other flags": ((sources(), [], ["-O2", "-fno-omit-frame-pointer"]), {}),
    "O2 for all": ((sources(gap="\n"), ["-O2", "-fno-inline"], ["-O2"]), {}),
    "O0": ((sources(), ["-O0"], ["-O0"]), {}),
    "another name": ((sources(gap="\n"),), {"program": "prog-2"}),
}


@pytest.mark.parametrize("how", REBUILDS)
def test_a_rebuilt_program(tool, profile, how):
    """Every call stack is unchanged: at least 95 % of them must match, and those must not have changed."""
    argv, options = REBUILDS[how]
    a = profile("one", sources())
    b = profile("two", *argv, **options)
    document = compare(tool, a, b)
    assert unchanged_share(document) >= 0.95
    assert_all_matched(document)
    assert changed(document) == []
    assert (b"DIFFERENT PROGRAMS" in tool("diff", a, b).stdout) == (how == "another name")


def test_inlined_functions_match(tool, profile):
    """Layer 2 is functions in one build, inlined in the other: the names on the call stacks are the same."""
    upper, lower = sources()
    apart = upper + lower[len(HEAD):]
    moved, inline = sources(static="static inline __attribute__((always_inline)) ")
    declared = re.sub(r"void f2_\d\(void\);\n", "", moved)
    at = declared.index("void f1_0(void)\n{")
    inlined = declared[:at] + inline[len(HEAD):] + declared[at:]
    a = profile("one", [apart], ["-fno-inline"])
    b = profile("two", [inlined])
    names = subprocess.run(["nm", b.parent / "prog"], capture_output=True, text=True, check=True).stdout
    assert "f1_0" in names and "f2_0" not in names
    document = compare(tool, a, b)
    assert unchanged_share(document) >= 0.95
    assert changed(document) == []


def test_one_more_leak(tool, profile):
    """It is on top, with the exact bytes, and the only change."""
    a = profile("before", sources())
    b = profile("after", sources(gap="\n\n", leak=LEAK))
    shutil.copy(a, a.parent / "before.prof")
    shutil.copy(b, b.parent / "after.prof")
    document = compare(tool, a, b)
    assert document["match"]["matched_stacks"] == STACKS
    assert document["match"]["new_stacks"] == 1
    assert document["match"]["new_bytes"] == 70000
    site = document["sites"][0]
    assert (site["function"], site["state"], site["live_change"], site["alloc_change"]) == ("leak", "new", 70000, 70000)
    assert (site["a"]["stacks"], site["b"]["live_blocks"], site["b"]["alloc_blocks"]) == (0, 700, 700)
    assert [s["frames"][0]["function"] for s in changed(document)] == ["leak"]
    assert document["b"]["live_bytes"] - document["a"]["live_bytes"] == 70000
    text = output(tool("diff", a.parent / "before.prof", b.parent / "after.prof"))
    assert re.match(r"live  \+68\.4 KiB \(\d+\.\d( KiB)? -> \d+\.\d( KiB)?\)    allocated (x |\+)\d+.*    calls (x |\+)\d+", text)
    assert re.search(r"^ +\+68\.4 KiB  100 B x 700 more  leak .* new in `after`$", text.partition("\n")[2], re.M)
    assert max(map(len, text.splitlines())) <= 80
    stacks = output(tool("diff", "--stacks", a, b))
    assert re.search(r"\+68\.4 KiB  100 B x 700 more.*\n    leak\b.*\n    main\b", stacks)


def test_the_other_way_round(tool, profile):
    a = profile("before", sources(leak=LEAK))
    b = profile("after", sources())
    document = compare(tool, a, b)
    site = document["sites"][-1]
    assert (site["function"], site["state"], site["live_change"]) == ("leak", "gone", -70000)
    assert document["match"]["gone_bytes"] == 70000


RECURSIVE = HEAD + """
void *volatile kept[64];
volatile int count;
void walk(int depth)
{
	if (depth > 0)
		walk(depth - 1);
	else
		KEEP(50);
	__asm__ volatile ("");
}
int main(int argc, char **argv)
{
	(void)argc;
	walk(atoi(argv[1]));
	return 0;
}
"""


def test_recursion_folds_if_asked(lib, tool, profile):
    a = profile("one", [RECURSIVE], argv=["3"])
    b = record(lib, a.parent, argv=["9"])
    document = compare(tool, a, b)
    assert [document["match"][key] for key in ("matched_stacks", "new_stacks", "gone_stacks")] == [0, 1, 1]
    assert document["sites"][0]["state"] == "matched"
    assert_all_matched(compare(tool, "--fold-recursion", a, b), 1)


def test_a_rebuilt_program_in_the_same_place(lib, tool, profile):
    """The first profile's program is gone: it says so first, and guesses no names."""
    a = profile("one", sources())
    kept = a.rename(a.parent / "before.prof")
    text = "\n" + sources()[0]
    (a.parent / "part0.c").write_text(text)
    subprocess.run(["gcc", *FLAGS, "-Wl,--build-id", "-o", a.parent / "prog", a.parent / "part0.c", a.parent / "part1.c"], check=True)
    b = record(lib, a.parent)
    shown = output(tool("diff", kept, b))
    assert shown.lstrip().startswith("NO NAMES: the program of `before` ")
    document = compare(tool, kept, b)
    assert document["match"]["matched_stacks"] == 0
    assert document["match"]["new_stacks"] == STACKS


# --- moments -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def growing(lib, tmp_path_factory):
    """Profile of a program that keeps 100,000 bytes every 20 ms for 3 s, and 10 bytes in a call stack that is too small."""
    folder = tmp_path_factory.mktemp("growing")
    (folder / "prog.c").write_text(HEAD + """
#include <unistd.h>
void *volatile kept[4096];
volatile int count;
void grow(void) { KEEP(100000); __asm__ volatile (""); }
void small(void) { KEEP(10); __asm__ volatile (""); }
int main(void)
{
	small();
	for (int i = 0; i < 150; i++) {
		grow();
		usleep(20000);
	}
	return 0;
}
""")
    subprocess.run(["gcc", *FLAGS, "-o", folder / "prog", folder / "prog.c"], check=True)
    return record(lib, folder, env={"PMEM_TIMELINE_MS": "100"})


def test_two_moments_of_one_profile(tool, growing):
    report = json.loads(output(tool("report", "--json", growing)))
    samples, = [s["samples"] for s in report["stacks"] if s["frames"][0]["function"] == "grow"]
    complete = [p["time_ns"] for p in report["timeline"] if p["alloc_blocks"]]

    def nearest(time_ns):
        """The moment that stands for one: all call stacks were looked at then."""
        return min(complete, key=lambda t: abs(t - time_ns))

    def live_at(time_ns):
        return max((s["live_bytes"] for s in samples if s["time_ns"] <= nearest(time_ns)), default=0)

    document = compare(tool, "%s@1s" % growing, "%s@2s" % growing)
    site, = document["sites"]
    assert site["function"] == "grow"
    assert site["a"]["live_bytes"] == live_at(10 ** 9) > 2000000
    assert site["b"]["live_bytes"] == live_at(2 * 10 ** 9) > site["a"]["live_bytes"]
    assert site["live_change"] == live_at(2 * 10 ** 9) - live_at(10 ** 9)
    assert site["a"]["live_blocks"] is None and document["a"]["alloc_blocks"] is None
    assert document["match"]["left_out_stacks"] == 1
    assert document["match"]["left_out_bytes"] == 10
    assert (document["a"]["time_ns"], document["b"]["time_ns"]) == (nearest(10 ** 9), nearest(2 * 10 ** 9))
    # What the rows do not have is small: nothing is made up.
    assert abs(document["b"]["live_bytes"] - document["a"]["live_bytes"] - site["live_change"]) < 100000
    text = " ".join(output(tool("diff", "%s@1s" % growing, "%s@2s" % growing)).split())
    assert re.search(r"In (\d+(\.\d)?) (s|ms), per minute: live \+.* MiB in \1 \3 grow ", text)
    assert "small call stacks are not in the series: 1 of them, with 10 B at the end, is left out" in text


def test_a_moment_and_the_end(tool, growing):
    for end in ("@end", ""):
        document = compare(tool, "%s@-1s" % growing, "%s%s" % (growing, end))
        site, = document["sites"]
        assert site["b"]["live_bytes"] == 15000000
        assert 0 < site["live_change"] < 15000000
        assert document["b"]["live_bytes"] == 15000010
    whole = compare(tool, "%s@0s" % growing, growing)
    assert (whole["sites"][0]["state"], whole["sites"][0]["live_change"]) == ("new", 15000000)
    same = compare(tool, "%s@end" % growing, growing)
    assert_all_matched(same, 2)
    assert changed(same) == [] and same["b"]["alloc_blocks"] == 151


def test_a_name_with_an_at_wins(tool, growing, tmp_path):
    shutil.copy(growing, tmp_path / "x@1s")
    document = compare(tool, tmp_path / "x@1s", growing)
    assert document["match"]["matched_stacks"] == 2
    assert document["a"]["alloc_blocks"] == 151
    assert compare(tool, "%s@1s" % (tmp_path / "x@1s"), growing)["a"]["time_ns"] < 15 * 10 ** 8


def test_a_folder_and_a_process(lib, tool, growing, programs, run):
    assert changed(compare(tool, growing.parent, growing)) == []
    process = run.start([programs("flow.c"), "60", "20"], stdout=subprocess.DEVNULL)
    try:
        pmem_run.wait_for(lambda: tool("report", str(process.pid)).returncode == 0, "a profile")
        document = compare(tool, "%d@0s" % process.pid, process.pid)
        assert document["a"]["pid"] == document["b"]["pid"] == process.pid
        assert document["b"]["running"] is True
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


# --- views ---------------------------------------------------------------------------------------


def keys(value, path=""):
    """Every key of a document, as doc/JSON.md writes it; those of b are those of a."""
    if isinstance(value, dict):
        for key, inner in value.items():
            name = "%s.%s" % (path, key) if path else key
            is_objects = isinstance(inner, list) and inner and isinstance(inner[0], dict)
            yield name + "[]" if is_objects else name
            yield from keys(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, path + "[]")


def test_the_document_names_the_keys_of_the_json(tool, profile, root):
    page = (root / "doc" / "JSON.md").read_text().partition("\n# The JSON of `pmem diff --json`")[2].partition("\n# ")[0]
    documented = {name for name in DOCUMENTED.findall(page) if not name.startswith("mappings.")}
    assert len(documented) > 50
    found = set(keys(compare(tool, profile("a", sources()), profile("b", sources(leak=LEAK)))))
    for side in ("b", "sites[].b", "stacks[].b"):
        mirrored = {name for name in found if name.startswith(side + ".")}
        assert {side[:-1] + "a" + name[len(side):] for name in mirrored} <= found and mirrored
        found -= mirrored
    # Rows of call stacks have what those of sites have.
    shared = {name.replace("sites[]", "stacks[]") for name in documented if name.startswith("sites[].")}
    assert {name for name in found if name not in documented} <= shared
    assert {name for name in documented if name not in found} == set()


def test_csv_says_what_the_json_says(tool, profile):
    a, b = profile("a", sources()), profile("b", sources(leak=LEAK))
    document = compare(tool, a, b)
    for options, rows in (([], document["sites"]), (["--stacks"], document["stacks"])):
        text = output(tool("diff", "--csv", *options, a, b))
        assert text.count("\r\n") == text.count("\n") == len(rows) + 1
        for row, wanted in zip(csv.DictReader(io.StringIO(text, newline="")), rows):
            assert row["state"] == wanted["state"]
            for key in ("live_bytes", "alloc_bytes", "live_blocks", "alloc_blocks", "temporary_blocks", "peak_bytes"):
                assert (int(row[key + "_a"]), int(row[key + "_b"])) == (wanted["a"][key], wanted["b"][key])
            if options:
                assert row["frames"] == ";".join(f["function"] for f in wanted["frames"])


MAPS = """
#include <stdlib.h>
#include <sys/mman.h>
void *volatile kept;
__attribute__((noinline)) void *map(int pages)
{
	kept = mmap(NULL, pages * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return kept;
}
__attribute__((noinline)) void more(void) { map(600); kept = malloc(100); }
__attribute__((noinline)) void same(void) { map(7); }
__attribute__((noinline)) void gone(void) { munmap(map(5), 3 * 4096); }
__attribute__((noinline)) void fresh(void) { map(2); }
int main(void) { same(); %s return 0; }
"""


@pytest.fixture
def maps(profile):
    return (profile("a", [MAPS % "more(); gone();"]), profile("b", [MAPS % "for (int i = 0; i < 3; i++) more(); fresh();"]))


def test_what_the_programs_map_is_compared_apart(tool, maps, root):
    document = compare(tool, *maps)
    mappings, page = document["mappings"], 4096
    reports = [json.loads(output(tool("report", "--json", path))) for path in maps]
    assert [(mappings[s]["mapped_bytes"], mappings[s]["mapped_in_all_bytes"], mappings[s]["calls"]) for s in "ab"] == \
        [(609 * page, 612 * page, 3), (1809 * page, 1809 * page, 5)] == \
        [tuple(r["mappings"][key] for key in ("mapped_bytes", "mapped_in_all_bytes", "calls")) for r in reports]
    changes = {s["frames"][1]["function"]: (s["state"], s["mapped_change"] // page, s["mapped_in_all_change"] // page, s["b"]["calls"])
               for s in mappings["stacks"]}
    assert changes == {"more": ("matched", 1200, 1200, 3), "fresh": ("new", 2, 2, 1), "gone": ("gone", -2, -5, 0), "same": ("matched", 0, 0, 1)}
    # The heap's own figures: malloc() in more().
    assert [document[s]["live_bytes"] for s in "ab"] == [r["totals"]["live_bytes"] for r in reports] == [100, 300]
    assert [s["frames"][0]["function"] for s in document["stacks"]] == ["more"]
    text = (root / "doc" / "JSON.md").read_text().partition("\n# The JSON of `pmem diff --json`")[2].partition("\n# ")[0]
    documented = {name for name in DOCUMENTED.findall(text) if name.startswith("mappings.")}
    assert documented <= set(keys({"mappings": mappings}))


def test_mappings_on_the_page_as_csv_and_as_a_limit(tool, maps):
    text = output(tool("diff", *maps))
    assert "Not heap: +4.7 MiB of the programs' own mappings (mmap; 2.4 MiB -> 7.1 MiB):" in text and "more" in text
    text = output(tool("diff", "--mappings", *maps))
    assert re.match(r"mapped  \+4\.7 MiB \(2\.4 -> 7\.1\)    mapped in all \+195 %    calls \+66 %\n", text.lstrip()), text
    assert re.search(r"^ +\+4\.7 MiB  map  prog", text, re.M) or re.search(r"^ +\+4\.7 MiB  map +part0\.c:\d+$", text, re.M), text
    assert "Not heap" not in text
    rows = list(csv.DictReader(io.StringIO(output(tool("diff", "--mappings", "--csv", "--stacks", *maps)), newline="")))
    assert {row["frames"].split(";")[1]: int(row["live_bytes_b"]) - int(row["live_bytes_a"]) for row in rows} == \
        {"more": 1200 * 4096, "fresh": 2 * 4096, "gone": -2 * 4096, "same": 0}
    assert tool("diff", "--mappings", "--fail-over", "5m", *maps).returncode == 0
    result = tool("diff", "--mappings", "--fail-over", "4m", *maps)
    assert result.returncode == 1 and result.stderr == b"pmem diff: mapped bytes grew by 4.7 MiB, more than 4.0 MiB\n"
    assert tool("diff", "--fail-over", "4m", *maps).returncode == 0


def test_programs_that_map_nothing(tool, profile):
    path = profile("a", sources())
    assert compare(tool, path, path)["mappings"] is None
    assert "Neither program mapped memory itself." in output(tool("diff", "--mappings", path, path))


def test_focus_top_and_keys(tool, profile):
    a, b = profile("a", sources()), profile("b", sources(leak=LEAK))
    assert [s["function"] for s in compare(tool, "--focus", "leak", a, b)["sites"]] == ["leak"]
    assert_all_matched(compare(tool, "--ignore", "leak", a, b))
    assert len(compare(tool, "--top", "3", a, b)["stacks"]) == 3
    for key in ("live", "alloc", "count", "peak"):
        document = compare(tool, "--by", key, a, b)
        assert (document["sorted_by"], document["sites"][0]["function"]) == (key, "leak")
    assert re.search(r"^ +\+700 +\+68\.4 KiB  leak ", output(tool("diff", "--by", "count", a, b)), re.M)


def test_fail_over(tool, profile):
    a, b = profile("a", sources()), profile("b", sources(leak=LEAK))
    assert tool("diff", "--fail-over", "70000", a, b).returncode == 0
    assert tool("diff", "--fail-over", "0", b, a).returncode == 0
    result = tool("diff", "--fail-over", "69999", a, b)
    assert result.returncode == 1
    assert b"leak" in result.stdout
    assert result.stderr == b"pmem diff: live bytes grew by 68.4 KiB, more than 68.4 KiB\n"
    assert tool("diff", "--fail-over", "1", "--ignore", "leak", a, b).returncode == 0


USAGE = [
    ([], "two profiles, not 0"),
    (["a.prof"], "two profiles, not 1"),
    (["a.prof", "b.prof", "c.prof"], "two profiles, not 3"),
    (["--by", "growth", "a", "b"], "--by growth: no such key; there are live, peak, alloc, count and temporary"),
    (["--top", "0", "a", "b"], "--top 0: no number"),
    (["--fail-over", "much", "a", "b"], "--fail-over much: no size"),
    (["--fail-over"], "--fail-over needs an argument"),
    (["--nonsense", "a", "b"], "unknown option --nonsense"),
    (["--json", "--csv", "a", "b"], "one at a time"),
    (["--json", "--mappings", "a", "b"], "JSON has both"),
    (["--by", "temporary", "--mappings", "a", "b"], "live, peak, alloc and count"),
    (["--focus", "", "a", "b"], "an empty pattern"),
    (["a@1x", "b"], "a@1x: no time such as 90s, 10m, -10m, 10:42:13 or end"),
    (["a", "b@25:00"], "b@25:00: no time such as"),
    (["@soon", "b"], "@soon: no time such as"),
]


@pytest.mark.parametrize("argv, message", USAGE, ids=lambda v: "_".join(v) if isinstance(v, list) else "")
def test_usage_errors(tool, argv, message):
    result = tool("diff", *argv)
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.decode().startswith("pmem diff: ")
    assert message in result.stderr.decode()


def test_failures(tool, growing, tmp_path):
    other = tmp_path / "other.prof"
    other.write_text("no profile\n" * 10000)
    for argv, message in [((growing, other), "other.prof"), ((other, growing), "other.prof"),
                          ((growing, tmp_path / "missing@host.prof"), "missing@host.prof: No such file"),
                          (("%s@1h" % growing, growing), "@1h: the profile ends"),
                          (("@1s", growing), "no profile (*.prof) in this folder")]:
        result = tool("diff", *argv)
        assert (result.returncode, result.stdout) == (1, b"")
        assert result.stderr.decode().startswith("pmem diff: ") and message in result.stderr.decode()
    for moment in ("soon", "-soon", "1s2", "24:00", ""):
        result = tool("diff", "%s@%s" % (growing, moment), growing)
        assert (result.returncode, result.stdout) == (2, b"")
        assert result.stderr.decode().startswith("pmem diff: %s@%s: no time such as 90s, 10m, -10m, 10:42:13 or end\n" % (growing, moment))
    result = tool("diff", "--by", "count", "%s@1s" % growing, growing)
    assert (result.returncode, result.stdout) == (2, b"")
    assert b"of a moment only live and alloc are known" in result.stderr
    full = subprocess.run([tool.program, "diff", growing, growing], stdout=open("/dev/full", "wb"), stderr=subprocess.PIPE,
                          env=pmem_run.environment(None))
    assert full.returncode == 1
    assert b"No space left on device" in full.stderr


def test_a_cut_off_profile_says_so_first(tool, growing, tmp_path):
    """Half of the file is gone: an error, or a page that begins with what is missing."""
    data = growing.read_bytes()
    cut = tmp_path / "cut.prof"
    cut.write_bytes(data[:len(data) // 2])
    result = tool("diff", cut, growing)
    assert result.returncode in (0, 1)
    if result.returncode == 0:
        assert result.stdout.lstrip().startswith(b"INCOMPLETE: in `cut` the file is cut off: ")
    else:
        assert result.stderr.startswith(b"pmem diff: ")
