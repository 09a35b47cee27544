# SPDX-License-Identifier: BSD-2-Clause
"""test_export - what readers made from the formats' descriptions find in exports is what `pmem report --json` says.

Other programs read them in test_viewers.
"""
import json
import os
import re
import shutil
import subprocess
import time
from collections import Counter

import pytest

import pmem_export
import pmem_profile
import pmem_report
from pmem_export import SUMS, clean, expected
from pmem_viewers import PPROF, Case, case, compile_symbols, each, heaptrack_sum, ms_print, run_reader, tool  # noqa: F401 (fixtures)

VALUES = {"live": "live_bytes", "live_blocks": "live_blocks", "alloc": "alloc_bytes", "alloc_blocks": "alloc_blocks",
          "peak": "peak_bytes", "temporary": "temporary_blocks"}
FORMATS = ("log", "collapsed", "pprof", "speedscope", "massif", "dhat", "firefox", "heaptrack", "csv", "json")


# -- against readers of our own -----------------------------------------------------------------------
@pytest.mark.parametrize("value", VALUES)
def test_collapsed(each, value):
    rows = pmem_export.read_collapsed(each.export("collapsed", "--value", value))
    assert rows == expected(each.document, VALUES[value], ";")
    if value != "peak":
        assert sum(rows.values()) == each.totals[VALUES[value]] > 0


def test_collapsed_is_of_live_bytes_if_nothing_is_said(each):
    assert each.export("collapsed") == each.export("collapsed", "--value", "live")


def nameless_of(document):
    """Names what pprof leaves to whoever has symbols: from the module's bias, the address of the call is offset - 1."""
    biases = {(m["path"], m["start"]): m["bias"] for m in document["modules"]}

    def name(profile):
        def of(location, mapping):
            path = profile.strings[mapping[5][0]]
            return "%s+0x%x" % (path.rpartition("/")[2], location[3][0] + 1 - biases[path, mapping[2][0]])
        return of
    return name


def test_pprof(each):
    profile = pmem_export.Pprof(each.export("pprof"))
    rows = profile.rows(nameless_of(each.document)(profile))
    assert profile.types == [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes"),
                             ("mmap_calls", "count"), ("mmap_space", "bytes")]
    assert not rows["mmap_calls"] and not rows["mmap_space"]
    for kind, value in PPROF.items():
        assert rows[kind] == expected(each.document, value), kind
        assert sum(rows[kind].values()) == each.totals[value]
    process = each.document["process"]
    assert (profile.time, profile.duration) == (process["start_realtime_ns"], process["duration_ns"])
    assert (profile.default, profile.period) == ("inuse_space", 1)
    assert "program: " + process["exe"] in profile.comments


def test_pprof_has_modules_with_build_ids_lines_and_system_names(each):
    profile = pmem_export.Pprof(each.export("pprof"))
    modules = {m["path"]: m for m in each.document["modules"]}
    first = next(iter(profile.mappings.values()))
    assert profile.strings[first[5][0]] == each.document["process"]["exe"], "the program comes first"
    for mapping in profile.mappings.values():
        module = modules[profile.strings[mapping[5][0]]]
        assert (mapping[2][0], mapping[3][0]) == (module["start"], module["end"])
        assert profile.strings[mapping.get(6, [0])[0]] == (module["build_id"] or "")
    seen = {(f["raw_name"], f["file"] or "", f["line"] or 0) for s in each.document["stacks"] for f in s["frames"] if f["raw_name"]}
    have = {(system, file, line) for l in profile.locations.values() for (_, system, file), line in profile.lines(l)}
    assert {(clean(r), clean(f), n) for r, f, n in seen} <= have
    assert any(line for _, _, line in have)
    entries = Counter(s["entry"] for s in each.document["stacks"])
    assert profile.labels() == Counter({("entry", e): n for e, n in entries.items() if e})


def test_pprof_has_inlined_functions_in_one_location(case):
    profile = pmem_export.Pprof(case("c").export("pprof"))
    chains = {tuple(name for (name, _, _), _ in profile.lines(l)) for l in profile.locations.values()}
    assert {("take", "keep"), ("take", "waste")} <= chains


def test_speedscope(each):
    found = pmem_export.read_speedscope(each.export("speedscope"))
    assert found == {"live bytes": expected(each.document, "live_bytes"), "allocated bytes": expected(each.document, "alloc_bytes")}


def test_dhat(each):
    document, rows = pmem_export.read_dhat(each.export("dhat"))
    for value in pmem_export.DHAT:
        assert rows[value] == expected(each.document, value), value
    process = each.document["process"]
    assert (document["pid"], document["te"]) == (process["pid"], process["duration_ns"] // 1000)
    assert document["cmd"] == clean(" ".join(process["cmdline"]))


def test_firefox(each):
    found = pmem_export.Firefox(each.export("firefox"))
    live = expected(each.document, "live_bytes")
    allocated, retained = found.allocations()
    assert found.live() == retained == live
    assert allocated == expected(each.document, "alloc_bytes")
    assert found.document["meta"]["preprocessedProfileVersion"] == 48
    timeline = each.document["timeline"]
    assert [sum(c["samples"]["count"]) for c in found.document["counters"]] == [timeline[-1]["live_bytes"], timeline[-1]["rss_bytes"] or 0]
    build_ids = {m["path"]: m["build_id"] for m in each.document["modules"]}
    assert {lib["path"]: lib["codeId"] for lib in found.document["libs"]} == build_ids


def test_massif(each):
    snapshots = pmem_export.read_massif(each.export("massif"))
    kinds = Counter(kind for _, _, kind, _ in snapshots)
    assert kinds["peak"] == 1 and kinds["peak"] + kinds["detailed"] <= 2
    assert [s[0] for s in snapshots] == sorted(s[0] for s in snapshots)
    peak, = (s for s in snapshots if s[2] == "peak")
    assert (peak[1], peak[3][0]) == (max(each.totals["peak_live_bytes"], sum(expected(each.document, "peak_bytes").values())),) * 2
    last = snapshots[-1]
    assert (last[1], last[3][0]) == (each.totals["live_bytes"],) * 2


def test_massif_shows_who_called(case):
    last = pmem_export.read_massif(case("c").export("massif"))[-1][3]
    kept, = (child for child in last[2] if re.match(r"0x[0-9A-F]+: take \(heap\.c:\d+\)$", child[1]))
    inner, = kept[2]
    assert re.match(r"0x[0-9A-F]+: keep \(heap\.c:\d+\)$", inner[1]) and "main" in inner[2][0][1]
    assert kept[0] == inner[0] == sum(range(101, 140))


def test_heaptrack(each):
    found = pmem_export.Heaptrack(each.export("heaptrack"))
    assert found.leaked == each.totals["live_bytes"]
    assert found.peak == max(sum(expected(each.document, "peak_bytes").values()), found.leaked)
    assert found.allocations == each.totals["alloc_blocks"]
    assert found.temporary <= each.totals["temporary_blocks"]


def test_heaptrack_counts_temporary_allocations_that_are_not_of_the_peak(case):
    found = pmem_export.Heaptrack(case("c").export("heaptrack"))
    assert 2000 <= found.temporary <= case("c").totals["temporary_blocks"]


@pytest.mark.parametrize("name", ["csv", "json"])
def test_same_document_as_report(each, name):
    assert each.export(name) == each.tool("report", "--" + name, each.path).stdout


# -- names that nobody would give ---------------------------------------------------------------------
HOSTILE = {
    "quotes": b'say "hi" \\ <b>&amp;</b> \'x\'',
    "control": b"a\nb\tc\x01d\x7fe\x1b[31mf\r",
    "separators": b"a;b; c #d%s {e} [f] 12",
    "bytes": b"\xff\xfe\xc0\x80 \xed\xa0\x80 \xc2\x85 \xe2\x82",
    "text": "Größe ☃ \U0001f600".encode(),
    "long": b"x" * 5999 + b";",
}


@pytest.fixture(scope="module")
def hostile(tool, lib, tmp_path_factory):
    """A program whose symbol table has such names: those of the compiler are overwritten, byte by byte."""
    import pmem_run
    folder = tmp_path_factory.mktemp("hostile")
    holes = {key: ("hole_%s_" % key).ljust(len(name), "_") for key, name in HOSTILE.items()}
    source = "#include <stdlib.h>\nvoid *volatile p;\n"
    for size, hole in enumerate(holes.values(), 10):
        source += "void __attribute__((noinline)) %s(void) { p = malloc(%d); p = 0; }\n" % (hole, size)
    source += "int main(void) { %s return 0; }\n" % " ".join("%s();" % h for h in holes.values())
    (folder / "names.c").write_text(source)
    program = folder / "a b\";\nc"
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-o", program, folder / "names.c"], check=True)
    image = program.read_bytes()
    for key, name in HOSTILE.items():
        assert len(name) == len(holes[key]), "the name is too short for its hole"
        image = image.replace(b"\0%s\0" % holes[key].encode(), b"\0%s\0" % name)
    program.write_bytes(image)
    done = pmem_run.Runner(lib, folder)([program])
    assert done.code == 0
    path, = pmem_report.find(done.folder)
    return Case(tool, path)


def test_hostile_names_are_there(hostile):
    names = {f["function"] for s in hostile.document["stacks"] for f in s["frames"] if f["function"]}
    assert {n.decode(errors="replace") for n in HOSTILE.values() if n.isascii()} <= names


def test_hostile_names(hostile):
    live = expected(hostile.document, "live_bytes")
    assert pmem_export.read_collapsed(hostile.export("collapsed")) == expected(hostile.document, "live_bytes", ";")
    profile = pmem_export.Pprof(hostile.export("pprof"))
    assert profile.rows(nameless_of(hostile.document)(profile))["inuse_space"] == live
    assert pmem_export.read_speedscope(hostile.export("speedscope"))["live bytes"] == live
    assert pmem_export.Firefox(hostile.export("firefox")).live() == live
    assert pmem_export.Heaptrack(hostile.export("heaptrack")).leaked == hostile.totals["live_bytes"]
    assert pmem_export.read_massif(hostile.export("massif"))[-1][1] == hostile.totals["live_bytes"]
    document, rows = pmem_export.read_dhat(hostile.export("dhat"))
    assert sum(rows["live_bytes"].values()) == hostile.totals["live_bytes"]


@pytest.mark.parametrize("name", [f for f in FORMATS if f not in ("csv", "json")])
def test_no_export_of_hostile_names_has_control_characters(hostile, name):
    data = hostile.export(name)
    if name == "pprof":
        data = "".join(pmem_export.Pprof(data).strings).encode()
    text = data.decode()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", text)


def test_programs_read_hostile_names(hostile):
    if shutil.which("go"):
        raw = run_reader("go", "tool", "pprof", "-symbolize=none", "-raw", hostile.file("pprof"))
        rows = re.findall(r"^ *(\d+) +(\d+) +(\d+) +(\d+) +0 +0: [\d ]+$", raw, re.M)
        assert [sum(map(int, column)) for column in zip(*rows)] == [hostile.totals[v] for v in SUMS]
    if shutil.which("ms_print"):
        assert ms_print(hostile.file("massif"))[0][-1][2] == hostile.totals["live_bytes"]
    if shutil.which("heaptrack_print"):
        assert heaptrack_sum(hostile.file("heaptrack"), "leaked") == hostile.totals["live_bytes"]


# -- profiles without anything, and with much ---------------------------------------------------------
@pytest.fixture(scope="module")
def empty(tool, tmp_path_factory):
    path = tmp_path_factory.mktemp("empty") / "pmem.1.prof"
    pmem_profile.Profile().save(path)
    return Case(tool, path)


def test_empty_profile(empty):
    assert empty.totals["alloc_blocks"] == 0
    assert empty.export("collapsed") == b""
    profile = pmem_export.Pprof(empty.export("pprof"))
    assert profile.samples == [] and len(profile.types) == 6
    assert pmem_export.read_speedscope(empty.export("speedscope")) == {"live bytes": Counter(), "allocated bytes": Counter()}
    assert pmem_export.read_dhat(empty.export("dhat"))[0]["pps"] == []
    assert pmem_export.Firefox(empty.export("firefox")).live() == Counter()
    assert [s[1] for s in pmem_export.read_massif(empty.export("massif"))] == [0, 0]
    assert pmem_export.Heaptrack(empty.export("heaptrack")).allocations == 0


def test_programs_read_an_empty_profile(empty):
    if shutil.which("go"):
        run_reader("go", "tool", "pprof", "-symbolize=none", "-raw", empty.file("pprof"))
    if shutil.which("ms_print"):
        assert ms_print(empty.file("massif"))[0][-1][2] == 0
    if shutil.which("heaptrack_print"):
        assert heaptrack_sum(empty.file("heaptrack"), "allocations") == 0


def test_frames_without_names_or_modules_or_code(tool, tmp_path):
    profile = pmem_profile.Profile()
    module = profile.module("/srv/lib;1#2.so", b"\1\2\3")
    profile.count(0, profile.stack([], hook=1), alloc_count=1, alloc_bytes=7)
    profile.count(0, profile.stack([3, (module, 0x10)]), alloc_count=2, alloc_bytes=70)
    profile.count(0, profile.stack([(0, 0x4321), (module, 0x20)]), alloc_count=3, alloc_bytes=700)
    path = tmp_path / "pmem.1.prof"
    profile.save(path)
    case = Case(tool, path)
    live = expected(case.document, "live_bytes")
    assert sum(live.values()) == 777 and ("[truncated]",) in live and ("lib;1#2.so+0x20", "[anonymous]+0x4321") in live
    assert pmem_export.read_collapsed(case.export("collapsed")) == expected(case.document, "live_bytes", ";")
    found = pmem_export.Pprof(case.export("pprof"))
    assert found.rows(nameless_of(case.document)(found))["inuse_space"] == live
    assert pmem_export.Firefox(case.export("firefox")).live() == live
    assert pmem_export.read_speedscope(case.export("speedscope"))["live bytes"] == live
    assert pmem_export.Heaptrack(case.export("heaptrack")).leaked == 777
    assert sum(pmem_export.read_dhat(case.export("dhat"))[1]["live_bytes"].values()) == 777


def test_heaptrack_of_more_blocks_than_it_lists(tool, tmp_path):
    profile = pmem_profile.Profile()
    module = profile.module("/srv/server", b"")
    profile.count_wide(0, profile.stack([(module, 0x10)]), alloc_count=1 << 40, alloc_bytes=(1 << 43) + 5, free_count=1 << 39,
                       free_bytes=1 << 42)
    profile.count_wide(0, profile.stack([(module, 0x20)]), alloc_count=1 << 60, alloc_bytes=1 << 60, free_count=1 << 60, free_bytes=1 << 60)
    path, out = tmp_path / "pmem.1.prof", tmp_path / "out"
    profile.save(path)
    done = tool("export", "--format", "heaptrack", "-o", out, path)
    assert done.returncode == 0
    assert re.fullmatch(rb"pmem export: the file lists about 20000000 of \d+ blocks: .* bytes live and at the peak are exact\n", done.stderr)
    if shutil.which("heaptrack_print"):
        assert heaptrack_sum(out, "leaked") == (1 << 42) + 5
        assert 19000000 < heaptrack_sum(out, "allocations") < 21000000


@pytest.fixture(scope="module")
def many(tool, root, lib, tmp_path_factory):
    """131,072 call stacks."""
    import pmem_run
    folder = tmp_path_factory.mktemp("many")
    program = compile_symbols("gcc", root / "tests" / "programs" / "paths.c", folder / "paths")
    done = pmem_run.Runner(lib, folder)([program, "17"])
    assert done.code == 0
    return pmem_report.find(done.folder)[0]


@pytest.mark.parametrize("name,seconds", [("collapsed", 3), ("pprof", 3), ("massif", 10), ("dhat", 10), ("speedscope", 10),
                                          ("firefox", 10), ("heaptrack", 10)])
def test_many_call_stacks(tool, many, tmp_path, name, seconds):
    out = tmp_path / "out"
    start = time.monotonic()
    done = tool("export", "--format", name, "-o", out, many)
    taken = time.monotonic() - start
    assert (done.returncode, done.stderr) == (0, b"") and taken < seconds
    blocks = range(1 << 17, 1 << 18)
    if name == "collapsed":
        rows = out.read_text().splitlines()
        assert len(rows) >= len(blocks) // 2
        assert sum(int(r.rpartition(" ")[2]) for r in rows if "leaf" in r) == sum(p % 100 + 1 for p in blocks if p % 2 == 0)
    if name == "pprof":
        samples = pmem_export.Pprof(out.read_bytes()).samples
        assert len(samples) >= len(blocks)
        assert sum(pmem_export.packed(s[2])[0] for s in samples) >= len(blocks)


# -- the command --------------------------------------------------------------------------------------
def test_list_formats(tool):
    done = tool("export", "--list-formats")
    assert done.returncode == 0
    assert tuple(line.split()[0] for line in done.stdout.decode().splitlines()) == FORMATS


@pytest.mark.parametrize("argv,message", [
    (["--format", "pprof", "--value", "live"], "--value: the format pprof has all that it can hold"),
    (["--format", "collapsed", "--value", "weight"], "--value weight: no such value; there are live, live_blocks, alloc, alloc_blocks, peak and temporary"),
    (["--value", "live"], "no --format; there are: log, collapsed, pprof"),
    (["--format", "collapsed", "--value"], "--value needs an argument"),
])
def test_wrong_arguments(tool, argv, message):
    done = tool("export", *argv)
    assert (done.returncode, done.stdout) == (2, b"") and message in done.stderr.decode()


def test_binary_formats_are_not_written_to_a_terminal(tool, case):
    leader, follower = os.openpty()
    try:
        done = subprocess.run([tool.program, "export", "--format", "pprof", case("c").path], stdout=follower, stderr=subprocess.PIPE)
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == 2 and b"pprof is nothing for a terminal: use -o FILE" in done.stderr


@pytest.mark.parametrize("name", FORMATS)
def test_a_full_disk_is_a_failure(case, name):
    each = case("c")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([each.tool.program, "export", "--format", name, each.path], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b"No space left on device" in done.stderr


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_profile_gives_the_same_bytes(case, name):
    each = case("threads")
    assert each.tool("export", "--format", name, each.path).stdout == each.export(name)
