# SPDX-License-Identifier: BSD-2-Clause
"""pmem report and pmem export, as a user runs them, on profiles of programs whose heap is known."""
import csv
import datetime
import io
import json
import re
import subprocess

import pytest

import pmem_log
import pmem_profile
import pmem_run
import pmem_tool

# What the truth programs are built with, see their build.sh: every function stays a function.
PLAIN = ["-O1", "-fno-inline", "-w"]
DOCUMENTED = re.compile(r"^\| `([^`]+)` \|", re.M)


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


@pytest.fixture(scope="session")
def case(lib, tmp_path_factory):
    """case(NAME) -> folder in which the program of tests/cases/NAME ran, with its profile and log; each runs once."""
    done = {}

    def run(name):
        if name not in done:
            folder = tmp_path_factory.mktemp("case")
            source = pmem_run.pathlib.Path(__file__).parent / "cases" / name / "prog.c"
            subprocess.run(["gcc", "-g", "-fno-optimize-sibling-calls", *PLAIN, "-o", folder / "prog", source, "-lpthread"],
                           check=True)
            subprocess.run([folder / "prog"], cwd=folder, env=pmem_run.environment(lib), check=True, capture_output=True)
            done[name] = folder
        return done[name]
    return run


def output(result):
    assert result.returncode == 0, result.stderr
    assert result.stderr == b""
    return result.stdout.decode()


def by_site(document):
    """{function: sums} over the call stacks of each site."""
    sites = {}
    for stack in document["stacks"]:
        sums = sites.setdefault(stack["frames"][stack["site"]]["function"], {})
        for key, value in stack.items():
            if key.endswith(("_bytes", "_blocks")) and value is not None:
                sums[key] = sums.get(key, 0) + value
    return sites


def has(sums, **wanted):
    assert {key: sums[key] for key in wanted} == wanted


def test_peak_composition(case, tool):
    document = json.loads(output(tool("report", "--json", case("65-peak-truth"))))
    sites = by_site(document)
    has(sites["peak_site"], live_bytes=0, live_blocks=0, alloc_bytes=10000000, alloc_blocks=1000, peak_bytes=10000000,
        peak_blocks=1000)
    has(sites["later_site"], live_bytes=800000, live_blocks=100, alloc_bytes=8000000, alloc_blocks=1000, peak_bytes=0,
        peak_blocks=0)
    has(sites["leak_site"], live_bytes=5000, live_blocks=100, alloc_bytes=5000, alloc_blocks=100)
    assert 10005000 <= document["totals"]["peak_live_bytes"] <= 10005000 + 8192
    assert document["losses"]["complete"] is True


def test_temporary_allocations(case, tool):
    sites = by_site(json.loads(output(tool("report", "--json", case("67-temporary-allocations")))))
    has(sites["temp_site"], alloc_blocks=5000, alloc_bytes=160000, temporary_blocks=5000, live_blocks=0)
    has(sites["pair_site"], alloc_blocks=600, alloc_bytes=9000, temporary_blocks=300)
    assert sites["short_site"]["temporary_blocks"] <= 1
    assert sites["short_site"]["alloc_blocks"] == 4000


def test_reallocation(case, tool):
    document = json.loads(output(tool("report", "--json", case("21-realloc-chain"))))
    sites = by_site(document)
    has(sites["start"], live_bytes=0, alloc_blocks=1001, alloc_bytes=64064)
    has(sites["grow"], live_bytes=0, alloc_blocks=5020)
    has(sites["shrink"], live_bytes=1000, live_blocks=1, alloc_blocks=1)
    assert {s["entry"] for s in document["stacks"] if s["frames"][0]["function"] in ("grow", "shrink")} == {"realloc"}
    assert 67108864 <= document["totals"]["peak_live_bytes"] <= 67108864 + 8192


def test_the_first_page_answers(case, tool):
    """What the peak was, what is left, who did it; at most 80 x 24, the shell's prompt included."""
    text = output(tool("report", case("65-peak-truth")))
    lines = text.splitlines()
    assert len(lines) <= 23 and max(map(len, lines)) <= 80
    assert re.match(r"prog \(pid \d+\), ", lines[0])
    words = " ".join(text.split())
    assert re.search(r"Live heap at the end 786\.\d KiB in 2\d\d blocks", words)
    assert re.search(r"later_site \(prog\.c:19\) holds 781\.3 KiB", words)
    assert re.search(r"Peak 9\.5 MiB after [^:]*: >?99 % peak_site", words)
    assert re.search(r"^ +9\.5 MiB +1,000 +0 B +9\.5 MiB +(<1|0) % +peak_site  +prog\.c:18$", text, re.M)
    assert "nothing lost" in words
    assert re.search(r"More: .*--tree", words)


VIEWS = {
    "tree": r"%  +\d.* main",
    "callers": r"781\.3 KiB, \S+ % of live: later_site \(prog\.c:19\)\n 100 % +781\.3 KiB +main  prog\.c:\d+",
    "leaks": r"781\.3 KiB, \S+ %, in 100 blocks: later_site",
    "peak": r"9\.5 MiB +1,000 .*peak_site",
    "sizes": r"up to 16\.0 KiB +1,000 .*peak_site  prog\.c:18\n",
    "threads": r" 17\.\d MiB +2,\d\d\d .* prog\b|MiB.*prog",
    "lifetimes": r"[Ll]ifetimes",
}


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_views(case, tool, view):
    text = output(tool("report", "--" + view, case("65-peak-truth")))
    assert re.search(VIEWS[view], text), text
    assert max(map(len, text.splitlines())) <= 80


def test_order_and_number_of_rows(case, tool):
    for key, first in [("live", "later_site"), ("peak", "peak_site"), ("alloc", "peak_site"), ("count", "peak_site")]:
        text = output(tool("report", "--by", key, "--top", "1", case("65-peak-truth")))
        rows = text[text.index(" site\n"):].splitlines()[1:3]
        if key != "count":  # two sites have as many calls
            assert re.search(first + r"  +prog\.c:\d+$", rows[0]), text
        assert re.search(r"in \d+ other sites?$", rows[1])


def test_focus_and_ignore(case, tool):
    def sites(*options):
        return set(by_site(json.loads(output(tool("report", "--json", *options, case("65-peak-truth"))))))

    assert sites("--focus", "peak_site") == {"peak_site"}
    assert sites("--focus", "*_site", "--ignore", "later") == {"peak_site", "leak_site"}
    assert "peak_site" not in sites("--ignore", "prog")
    assert sites("--focus", "nowhere_at_all") == set()


def keys(value, path=""):
    """Every key of a document, as doc/JSON.md writes it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            name = "%s.%s" % (path, key) if path else key
            is_objects = isinstance(inner, list) and inner and isinstance(inner[0], dict)
            yield name + "[]" if is_objects else name
            yield from keys(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, path + "[]")


def test_the_document_names_the_keys_of_the_json(case, tool, root):
    page = (root / "doc" / "JSON.md").read_text().partition("\n# The JSON of `pmem diff --json`")[0]
    documented = set(DOCUMENTED.findall(page))
    assert len(documented) > 100
    found = set(keys(json.loads(output(tool("report", "--json", case("65-peak-truth"))))))
    # An array that is empty or null here has no keys to compare.
    empty = {name for name in found if name + "[]" in documented}
    assert {name for name in found - empty if name not in documented} == set()
    # test_mappings.py has a program that maps memory, test_retained.py one that is mostly free memory.
    unseen = {name for name in documented - found
              if not any(name.startswith(e + "[]") for e in empty) and not name.startswith(("mappings.", "retained."))}
    assert unseen == set()
    assert not any(e in empty for e in ("stacks", "stacks[].frames", "modules", "threads"))


def test_json_frames(case, tool):
    document = json.loads(output(tool("report", "--json", case("65-peak-truth"))))
    paths = {m["path"] for m in document["modules"]}
    for stack in document["stacks"]:
        assert re.fullmatch("[0-9a-f]{16}", stack["id"])
        assert stack["live_bytes"] == stack["alloc_bytes"] - stack["free_bytes"]
        assert not any((f["module"] or "").endswith("/libpmem.so") for f in stack["frames"])
        assert all(f["module"] is None or f["module"] in paths for f in stack["frames"])
    stack, = [s for s in document["stacks"] if s["frames"][0]["function"] == "peak_site"]
    assert [f["function"] for f in stack["frames"][:2]] == ["peak_site", "main"]
    assert stack["entry"] == "malloc"
    assert stack["frames"][0]["module"].endswith("/prog")


def test_csv_says_what_the_json_says(case, tool):
    document = json.loads(output(tool("report", "--json", case("67-temporary-allocations"))))
    text = output(tool("report", "--csv", case("67-temporary-allocations")))
    assert text.count("\r\n") == text.count("\n") == len(document["stacks"]) + 1
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row, stack in zip(rows, document["stacks"]):
        assert row["id"] == stack["id"] and row["entry"] == (stack["entry"] or "")
        for key in ("live_bytes", "live_blocks", "alloc_bytes", "alloc_blocks", "free_bytes", "free_blocks", "peak_bytes",
                    "peak_blocks", "temporary_blocks"):
            assert int(row[key]) == stack[key]


def test_export_log_equals_the_log_of_the_recorder(case, tool, tmp_path):
    """Same call stacks, hashes, sums and names as in the final snapshot that the process wrote itself."""
    folder = case("65-peak-truth")
    out = tmp_path / "exported.log"
    assert output(tool("export", "--format", "log", "-o", out, folder)) == ""
    mine = pmem_log.parse(out)
    theirs, = [pmem_log.parse(p) for p in pmem_log.find(folder)]
    assert (mine.exe, mine.pid) == (theirs.exe, theirs.pid)
    # The recorder reads the clock once for each of the two.
    starts = [datetime.datetime.strptime(log.start, "%Y-%m-%dT%H:%M:%S.%fZ") for log in (mine, theirs)]
    assert abs(starts[0] - starts[1]) < datetime.timedelta(seconds=1)
    assert set(mine.state()) == set(theirs.state())
    for key, entry in theirs.state().items():
        other = mine.state()[key]
        assert (other.live, other.alloc_total, other.free_total) == (entry.live, entry.alloc_total, entry.free_total)
        # The tool may know more names: from separate debug files, as libc6-dbg has.
        assert all(a[:3] == b[:3] or (a.object == b.object and not b.symbol)
                   for a, b in zip(other.frames[1:], entry.frames[1:], strict=True))
        assert [f.addr for f in other.frames[1:]] == [f.addr for f in entry.frames[1:]]
        assert other.frames[0].symbol == entry.frames[0].symbol


def test_show_log_reads_an_exported_log(case, tool, root, tmp_path):
    out = tmp_path / "exported.log"
    output(tool("export", "--format", "log", "--output", out, case("65-peak-truth")))
    shown = subprocess.run([root / "script" / "show-log", out, "1"], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"1\. 781\.[23] KiB live \(\d+\.\d %\) from later_site", shown.stdout)


def test_a_running_process(lib, tool, programs, run):
    """Of a process that runs, by its pid: consistent, and the process goes on."""
    process = run.start([programs("flow.c"), "60", "20"], stdout=subprocess.DEVNULL)
    try:
        pmem_run.wait_for(lambda: tool("report", str(process.pid)).returncode == 0, "a profile")
        for _ in range(5):
            document = json.loads(output(tool("report", "--json", str(process.pid))))
            assert document["process"]["state"] == "running"
            for stack in document["stacks"] + [document["totals"]]:
                assert stack["live_bytes"] == stack["alloc_bytes"] - stack["free_bytes"]
                assert stack["live_bytes"] >= 0
        assert "so far" in output(tool("report", str(process.pid))).splitlines()[0]
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    text = output(tool("report", process.folder))
    assert "The process was killed or executed another program" in " ".join(text.split()[:60])


def test_a_cut_off_profile_says_so_first(case, tool, tmp_path):
    """Half of the file is gone: the report begins with what is missing.  Of half a header there is an error only."""
    whole, = case("65-peak-truth").glob("*.prof")
    data = whole.read_bytes()
    cut = tmp_path / "cut.prof"
    cut.write_bytes(data[:len(data) // 2])
    result = tool("report", cut)
    text = output(result)
    assert re.search(r"PARTIAL: the file is cut off: \d+ blocks? (is|are) missing", "\n".join(text.splitlines()[:4]))
    assert text.count("missing, with what") == 1 and "damaged" not in text
    cut.write_bytes(data[:pmem_profile.HEADER_SIZE // 2])
    result = tool("report", cut)
    assert (result.returncode, result.stdout, result.stderr.count(b"\n")) == (1, b"", 1)
    assert result.stderr.startswith(b"pmem report: ")


INLINED = """#include <stdlib.h>
void *kept[64];
#define INLINED static inline __attribute__((always_inline)) void
INLINED leaf_with_a_name_of_some_length(int i) { kept[i] = malloc(50000); }
INLINED middle(int i) { leaf_with_a_name_of_some_length(i); }
INLINED serve(int i) { middle(i); }
int main(void) {
	for (volatile int i = 0; i < 40; i++)
		serve(i);
	return 0;
}
"""


@pytest.fixture
def inlined(run, tmp_path):
    """The program above, all of it inlined into main(), and what it recorded."""
    (tmp_path / "inlined.c").write_text(INLINED)
    subprocess.run(["gcc", "-O2", "-g", "-Wl,--build-id", "-o", tmp_path / "inlined", tmp_path / "inlined.c"], check=True)
    result = run([tmp_path / "inlined"])
    assert result.code == 0
    return tmp_path / "inlined", result.folder


def branches(text):
    """[(indent, function, where)] of the lines with shares."""
    found = re.findall(r"^ *\S+ %  +[\d.]+ \S+  ( *)(\S+)(?:  (\S+))?$", text, re.M)
    return [(len(indent), function, where) for indent, function, where in found]


def test_inlined_callers(inlined, tool):
    """Each function that was inlined is a caller, as if it were not."""
    leaf = "leaf_with_a_name_of_some_length"
    assert branches(output(tool("report", "--tree", inlined[1]))) == [
        (0, "main", "inlined.c:9"), (1, "serve", "inlined.c:6"), (2, "middle", "inlined.c:5"), (3, leaf, "inlined.c:4")]
    text = output(tool("report", "--callers", inlined[1]))
    assert branches(text) == [(0, "middle", "inlined.c:5"), (1, "serve", "inlined.c:6"), (2, "main", "inlined.c:9")]
    assert leaf + " (inlined.c:4)" in " ".join(text.split())
    everything = branches(output(tool("report", "--tree", "--all-frames", inlined[1])))
    assert [function for _, function, _ in everything][-4:] == ["main", "serve", "middle", leaf]


def test_line_numbers_are_whole(inlined, tool):
    text = output(tool("report", "--sizes", inlined[1]))
    assert re.search(r"leaf_\S*\.\.\.\S+  inlined\.c:4$", text, re.M), text
    assert max(map(len, text.splitlines())) <= 80
    for view in ("--sizes", "--tree", "--peak", "--leaks"):
        narrow = subprocess.run([tool.program, "report", view, inlined[1]], capture_output=True, check=True,
                                env=pmem_run.environment(None, {"COLUMNS": "40"})).stdout.decode()
        assert re.search(r"  \S+:4(  \(inlined\))?$", narrow, re.M), narrow


def test_a_replaced_program_is_named_first(inlined, tool):
    program, folder = inlined
    assert "NO NAMES" not in output(tool("report", folder))
    program.unlink()
    (program.parent / "inlined.c").write_text(INLINED.replace("50000", "60000"))
    subprocess.run(["gcc", "-O2", "-g", "-Wl,--build-id", "-o", program, program.parent / "inlined.c"], check=True)
    for view in ("--tree", "--leaks", "--peak", "--threads", "--by=live"):
        lines = output(tool("report", view, folder)).splitlines()
        assert lines[1:3] == ["  NO NAMES: inlined was replaced since. Keep the old file and pass --sysroot, or",
                              "  run pmem bundle before you rebuild."]


def test_nothing_matches(case, tool):
    text = output(tool("report", "--focus", "nomatch*", case("65-peak-truth")))
    assert "no call stack matches" in text and "\n\n\n" not in text


USAGE = [
    (["report", "--by", "size"], "no such key; there are live, peak, alloc, count, temporary and growth"),
    (["report", "--top", "0"], "--top 0: no number"),
    (["report", "--top", "-1"], "--top -1: no number"),
    (["report", "--top", "7x"], "--top 7x: no number"),
    (["report", "--top"], "--top needs an argument"),
    (["report", "--nonsense"], "unknown option --nonsense"),
    (["report", "--tree", "--leaks"], "--tree and --leaks: one view at a time"),
    (["report", "--focus", ""], "an empty pattern"),
    (["report", "--by", "peak", "--since", "1s"], "the timeline has live, alloc and growth only"),
    (["report", "--since", "foo"], "--since foo: no time such as 90s, 10m, -10m or 10:42:13"),
    (["report", "--since", "25:00:00"], "--since 25:00:00: no time"),
    (["report", "--until", "-foo"], "--until -foo: no time"),
    (["report", "a.prof", "b.prof"], "one profile at a time"),
    (["export", "a.prof"], "no --format; there are: log"),
    (["export", "--format", "pdf", "a.prof"], "--format pdf: no such format; there are: log"),
    (["export", "--format", "log", "a.prof", "b.prof"], "one profile at a time"),
    (["export", "--format"], "--format needs an argument"),
]


@pytest.mark.parametrize("argv, message", USAGE, ids=lambda v: "_".join(v) if isinstance(v, list) else "")
def test_usage_errors(tool, argv, message):
    result = tool(*argv)
    assert result.returncode == 2
    assert result.stdout == b""
    assert message in result.stderr.decode()
    assert result.stderr.decode().startswith("pmem %s: " % argv[0])


@pytest.mark.parametrize("argv", [["report"], ["export", "--format", "log"]], ids=["report", "export"])
def test_failures(case, tool, tmp_path, argv):
    nothing = tool(*argv)
    assert (nothing.returncode, nothing.stdout) == (1, b"")
    other = tmp_path / "other.prof"
    other.write_text("no profile\n" * 10000)
    for name in (other, tmp_path / "missing.prof"):
        result = tool(*argv, name)
        assert (result.returncode, result.stdout) == (1, b"")
        assert result.stderr.decode().startswith("pmem %s: " % argv[0])
        assert str(name) in result.stderr.decode()
    full = subprocess.run([tool.program, *argv, case("65-peak-truth")], stdout=open("/dev/full", "wb"), stderr=subprocess.PIPE,
                          env=pmem_run.environment(None))
    assert full.returncode == 1
    assert b"No space left on device" in full.stderr


def test_unwritable_output(case, tool, tmp_path):
    result = tool("export", "--format", "log", "-o", tmp_path / "no" / "folder.log", case("65-peak-truth"))
    assert result.returncode == 1
    assert b"No such file or directory" in result.stderr


def test_times(case, tool):
    folder = case("65-peak-truth")
    for option in ("--since", "--until"):
        result = tool("report", option, "1h", folder)
        assert result.returncode == 1
        assert "%s 1h: the profile ends " % option in result.stderr.decode()
    for since in ("1s", "-1s", "00:00"):
        assert b"no time such as" not in tool("report", "--since", since, folder).stderr
    text = output(tool("report", "--since", "-10m", folder))
    assert "the live bytes changed by" in " ".join(text.split())
    result = tool("report", "--leaks", "--since", "-1s", folder)
    assert result.returncode == 1
    assert b"leave out --since and --until" in result.stderr


def test_source_without_lines_says_so(case, tool):
    text = output(tool("report", "--source", case("65-peak-truth")))
    assert "No source lines" in text or re.search(r"^ *>? +\d+ ", text, re.M)


def test_the_only_call_and_what_the_loader_mapped(lib, tool, tmp_path):
    """One of anything is not many of it, and what the program did not map itself is not said to be its own."""
    source = tmp_path / "one.c"
    source.write_text("#include <stdlib.h>\nint main(void)\n{\n\tchar *volatile p = malloc(10);\n\n\tfree(p);\n\treturn 0;\n}\n")
    subprocess.run(["gcc", "-o", tmp_path / "one", source], check=True)
    subprocess.run([tmp_path / "one"], cwd=tmp_path, env=pmem_run.environment(lib), check=True)
    text = output(tool("report", tmp_path))
    assert "Seen: 1 allocation and its free; nothing lost." in text and "temporary" not in text.partition("Seen:")[0], text
    assert "mapped no memory itself" in output(tool("report", "--mappings", tmp_path))
    assert "other anonymous memory\n" in output(tool("report", "--rss", tmp_path))
