# SPDX-License-Identifier: BSD-2-Clause
"""What a program maps itself (tests/programs/mappings.c): exact bytes for each call stack, beside the heap and no part of it."""
import collections
import csv
import json
import re
import shutil
import subprocess

import pytest

import pmem_export
import pmem_log
import pmem_run
import pmem_tool

P = 4096
Counts = collections.namedtuple("Counts", "entry calls mapped all")

# By the function that calls: entry point, calls, bytes that stay, bytes in all.
EACH = {
    "plain": Counts("mmap", 2, 20 * P, 20 * P),
    "shared": Counts("mmap", 1, 3 * P, 3 * P),
    "reserved": Counts("mmap", 1, 7 * P, 7 * P),
    "middle": Counts("mmap", 1, 6 * P, 8 * P),
    "first": Counts("mmap", 1, 2 * P, 4 * P),
    "second": Counts("mmap", 1, 2 * P, 4 * P),
    "fixed_old": Counts("mmap", 1, 4 * P, 6 * P),
    "fixed_new": Counts("mmap", 1, 2 * P, 2 * P),
    "file_old": Counts("mmap", 1, 2 * P, 4 * P),
    "grown_old": Counts("mmap", 1, 0, 2 * P),
    "grown_new": Counts("mremap", 1, 20 * P, 20 * P),
    "shrunk_old": Counts("mmap", 1, 0, 10 * P),
    "shrunk_new": Counts("mremap", 1, 4 * P, 4 * P),
    "moved_old": Counts("mmap", 1, 0, 3 * P),
    "target_old": Counts("mmap", 1, 2 * P, 5 * P),
    "moved_new": Counts("mremap", 1, 3 * P, 3 * P),
    "part_old": Counts("mmap", 1, 4 * P, 6 * P),
    "part_new": Counts("mremap", 1, 4 * P, 4 * P),
    "dont_old": Counts("mmap", 1, 2 * P, 2 * P),
    "dont_new": Counts("mremap", 1, 2 * P, 2 * P),
    "copied_old": Counts("mmap", 1, 2 * P, 2 * P),
    "copied_new": Counts("mremap", 1, 2 * P, 2 * P),
    "failing": Counts("mmap", 1, 3 * P, 4 * P),
    "unseen_end": Counts("mmap", 1, 0, 5 * P),
    "taken_over": Counts("mmap", 1, 5 * P, 5 * P),
    "in_handler": Counts("mmap", 1, 2 * P, 2 * P),
    "churned": Counts("mmap", 1000, 0, 3000 * P),
    "by_sbrk": Counts("sbrk", 2, 2500, 3000),
    "by_brk": Counts("brk", 1, 1000, 3000),
}


def by_function(mappings):
    """The figures of each calling function; its call stacks together."""
    sums = {}
    for stack in mappings["stacks"]:
        function = stack["frames"][0]["function"]
        old = sums.get(function, Counts(stack["entry"], 0, 0, 0))
        assert stack["entry"] == old.entry and stack["mapped_bytes"] <= stack["peak_bytes"] <= stack["mapped_in_all_bytes"]
        assert stack["mapped_bytes"] + stack["unmapped_bytes"] == stack["mapped_in_all_bytes"]
        sums[function] = Counts(old.entry, old.calls + stack["calls"], old.mapped + stack["mapped_bytes"],
                                old.all + stack["mapped_in_all_bytes"])
    return sums


@pytest.fixture(scope="module")
def tool(lib, tmp_path_factory):
    return pmem_tool.Tool(lib, tmp_path_factory.mktemp("mappings"))


def report(tool, profile, *options):
    result = tool("report", *options, profile)
    assert result.returncode == 0, result.stderr
    return result.stdout.decode()


def document(tool, profile):
    return json.loads(report(tool, profile, "--json"))


def only_profile(folder):
    found, = pmem_tool.profiles(folder)
    return found.path


@pytest.fixture(scope="module")
def each(lib, tool, programs, tmp_path_factory):
    result = pmem_run.Runner(lib, tmp_path_factory.mktemp("each"))([programs("mappings.c"), "each"])
    assert (result.code, result.err) == (0, b"")
    if b"dontunmap 0" in result.out:
        pytest.skip("no MREMAP_DONTUNMAP here (Linux 5.7)")
    result.profile = only_profile(result.folder)
    result.document = document(tool, result.profile)
    return result


def test_each_way_to_map_is_charged_to_its_call_stack(each):
    assert by_function(each.document["mappings"]) == EACH


def test_the_document_names_its_keys(each, root):
    page = (root / "doc" / "JSON.md").read_text().partition("\n# The JSON of `pmem diff --json`")[0]
    documented = set(re.findall(r"^\| `mappings\.([\w.\[\]]+)`", page, re.M))
    mappings = each.document["mappings"]
    keys = {key + ("[]" if isinstance(value, list) else "") for key, value in mappings.items()}
    # Of some that held much; the others have no samples.
    keys |= {"stacks[].%s%s" % (key, "[]" if isinstance(value, list) else "") for key, value in mappings["stacks"][0].items()}
    assert keys == documented


def test_the_sums_are_those_of_the_call_stacks(each):
    mappings = each.document["mappings"]
    for key, field in (("mapped_bytes", "mapped"), ("mapped_in_all_bytes", "all"), ("calls", "calls")):
        assert mappings[key] == sum(getattr(c, field) for c in EACH.values())
    assert mappings["unmapped_bytes"] == mappings["mapped_in_all_bytes"] - mappings["mapped_bytes"]
    assert mappings["mapped_bytes"] <= mappings["peak_bytes"] < mappings["mapped_bytes"] + 10 * P
    assert each.document["losses"]["mappings"] == 0


def test_the_heap_has_nothing_of_it(each):
    """printf()'s buffer is all that the program allocates."""
    document = each.document
    assert [(s["entry"], s["alloc_bytes"]) for s in document["stacks"]] == [("malloc", document["totals"]["alloc_bytes"])]
    assert document["totals"]["alloc_bytes"] == document["totals"]["live_bytes"] == document["totals"]["peak_live_bytes"] <= P
    assert all(point["live_bytes"] <= P for point in document["timeline"])
    assert document["timeline"][-1]["mapped_bytes"] == document["mappings"]["mapped_bytes"]


def test_the_log_says_it_in_one_line(each):
    log = pmem_log.parse(pmem_log.find(each.folder)[0])
    mappings = each.document["mappings"]
    assert int(log.snapshots[-1].figures["live"]) == each.document["totals"]["live_bytes"]
    assert re.findall(r"^# mappings: .*$", pmem_log.find(each.folder)[0][0].read_text(), re.M)[-1] == (
        "# mappings: %d mapped now, %d in all, %d unmapped, calls %d" %
        tuple(mappings[k] for k in ("mapped_bytes", "mapped_in_all_bytes", "unmapped_bytes", "calls")))


def test_info_and_the_exported_log_say_it_too(each, tool):
    mappings = each.document["mappings"]
    info = tool("info", each.profile).stdout.decode()
    assert re.search(r"^ +mapped +415\.4 KiB by the program itself \(mmap\), peak 416\.0 KiB, 12\.3 MiB in all in 1,030 calls; "
                     "no part of the heap$", info, re.M), info
    facts = json.loads(tool("info", "--json", each.profile).stdout)["mappings"]
    assert facts == {**{k: mappings[k] for k in facts if k != "stacks"}, "stacks": len(mappings["stacks"])}
    log = tool("export", "--format", "log", each.profile)
    assert log.stderr == b"" and "# mappings: %d mapped now, " % mappings["mapped_bytes"] in log.stdout.decode()
    collapsed = tool("export", "--format", "collapsed", each.profile)
    assert collapsed.stderr == b"" and sum(int(line.rsplit(b" ", 1)[1]) for line in collapsed.stdout.splitlines()) == P


# -- exports: apart from the heap, with the sums of the report --------------------------------------------------------------------------
def export(tool, profile, *options):
    result = tool("export", "--format", *options, profile)
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout


@pytest.mark.parametrize("value, key", [("live", "mapped_bytes"), ("alloc", "mapped_in_all_bytes"), ("alloc_blocks", "calls")])
def test_collapsed_call_stacks_of_it(each, tool, value, key):
    rows = pmem_export.read_collapsed(export(tool, each.profile, "collapsed", "--mappings", "--value", value))
    assert rows == pmem_export.expected(each.document["mappings"], key, ";")
    assert sum(rows.values()) == each.document["mappings"][key]


def test_pprof_has_it_in_types_of_its_own(each, tool):
    profile = pmem_export.Pprof(export(tool, each.profile, "pprof"))
    biases = {m["path"]: m["bias"] for m in each.document["modules"]}

    def nameless(location, mapping):
        path = profile.strings[mapping[5][0]]
        return "%s+0x%x" % (path.rpartition("/")[2], location[3][0] + 1 - biases[path])

    rows = profile.rows(nameless)
    for kind, key in (("mmap_calls", "calls"), ("mmap_space", "mapped_bytes")):
        assert rows[kind] == pmem_export.expected(each.document["mappings"], key)
        assert sum(rows[kind].values()) == each.document["mappings"][key]
    for kind, key in (("alloc_objects", "alloc_blocks"), ("alloc_space", "alloc_bytes"), ("inuse_objects", "live_blocks"), ("inuse_space", "live_bytes")):
        assert rows[kind] == pmem_export.expected(each.document, key)
    for sample in profile.samples:
        values = pmem_export.packed(sample[2])
        assert not any(values[:4]) or not any(values[4:])
    entries = profile.labels()
    assert entries["entry", "mremap"] and entries["entry", "malloc"] == 1
    assert profile.default == "inuse_space"


def test_go_s_pprof_reads_it(each, tool):
    if not shutil.which("go"):
        pytest.skip("no go here")
    path = tool.folder() / "mapped.pb.gz"
    path.write_bytes(export(tool, each.profile, "pprof"))
    for kind, key, unit in (("mmap_calls", "calls", "count"), ("mmap_space", "mapped_bytes", "B")):
        done = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-unit=" + unit, "-sample_index=" + kind, "-top", path],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert re.search(r" of (\d+)(?:B)? total", done.stdout).group(1) == str(each.document["mappings"][key])
        assert ("churned" if kind == "mmap_calls" else "grown_new") in done.stdout


def test_speedscope_has_it_as_profiles_of_their_own(each, tool):
    found = pmem_export.read_speedscope(export(tool, each.profile, "speedscope"))
    assert found == {"live bytes": pmem_export.expected(each.document, "live_bytes"),
                     "allocated bytes": pmem_export.expected(each.document, "alloc_bytes"),
                     "mapped bytes (mmap)": pmem_export.expected(each.document["mappings"], "mapped_bytes"),
                     "bytes mapped in all (mmap)": pmem_export.expected(each.document["mappings"], "mapped_in_all_bytes")}


def test_massif_and_firefox_have_it_instead_of_the_heap(each, tool):
    mappings = each.document["mappings"]
    _, size, kind, tree = pmem_export.read_massif(export(tool, each.profile, "massif", "--mappings"))[-1]
    assert (size, kind, tree[0], tree[1]) == (mappings["mapped_bytes"], "detailed", mappings["mapped_bytes"],
                                              "(page allocation syscalls) mmap/mremap/brk")
    if shutil.which("ms_print"):
        path = tool.folder() / "mapped.massif"
        path.write_bytes(export(tool, each.profile, "massif", "--mappings"))
        done = subprocess.run(["ms_print", path], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "({:,}B) (page allocation syscalls)".format(mappings["mapped_bytes"]) in done.stdout
    firefox = pmem_export.Firefox(export(tool, each.profile, "firefox", "--mappings"))
    assert firefox.live() == pmem_export.expected(mappings, "mapped_bytes")
    assert firefox.allocations()[0] == pmem_export.expected(mappings, "mapped_in_all_bytes")
    for options, names in (((), ["malloc", "RSS", "mmap"]), (("--mappings",), ["RSS", "mmap"])):
        counters = pmem_export.Firefox(export(tool, each.profile, "firefox", *options)).document["counters"]
        assert [c["name"] for c in counters] == names
        assert sum(counters[-1]["samples"]["count"]) == mappings["mapped_bytes"]


def test_csv_is_that_of_the_report_and_other_formats_say_where_it_is(each, tool):
    assert export(tool, each.profile, "csv", "--mappings") == report(tool, each.profile, "--mappings", "--csv").encode()
    for options, words in ((("dhat",), "the format dhat is of blocks of the heap only"), (("heaptrack",), "the format heaptrack is of blocks"),
                           (("pprof", "-o", "x"), "the format pprof has what the program maps beside the heap"),
                           (("json",), "beside the heap, without this option"), (("collapsed", "--value", "temporary"), "mapped in all")):
        result = tool("export", "--mappings", "--format", *options, each.profile)
        assert result.returncode == 2 and words in result.stderr.decode(), result.stderr


def test_a_bundle_has_it_with_names(each, tool):
    made = tool("bundle", "-o", "x.bundle", each.profile)
    assert made.returncode == 0, made.stderr
    assert document(tool, made.folder / "x.bundle")["mappings"] == each.document["mappings"]
    assert "x.bundle" in report(tool, made.folder / "x.bundle", "--mappings").splitlines()[0]


def test_the_view_and_the_table_for_programs(each, tool):
    text = report(tool, each.profile, "--mappings", "--top", "100")
    rows = re.findall(r"^ +([\d.]+ [KM]?i?B) +([\d,]+) +- +([\d.]+ [KM]iB)  (\w+) +mappings\.c:\d+$", text, re.M)
    assert ("80.0 KiB", "2", "80.0 KiB", "plain") in rows and ("0 B", "1,000", "11.7 MiB", "churned") in rows
    assert "no part of the heap. 415.4 KiB, at most 416.0 KiB at one time; 12.3 MiB in all, in 1,030 calls." in " ".join(text.split())
    rows = list(csv.DictReader(report(tool, each.profile, "--mappings", "--csv").splitlines()))
    sums = collections.Counter()
    for row in rows:
        sums[row["function"]] += int(row["live_bytes"])
    assert sums == collections.Counter({name: counts.mapped for name, counts in EACH.items()})
    alone = json.loads(report(tool, each.profile, "--mappings", "--json"))
    assert alone["mappings"] == each.document["mappings"] and "stacks" not in alone


@pytest.mark.parametrize("name", ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_what_an_allocator_maps_is_not_the_program_s(lib, tool, programs, tmp_path, name):
    path = pmem_run.installed(name)
    if not path:
        pytest.skip("no %s here" % name)
    result = pmem_run.Runner("%s:%s" % (lib, path), tmp_path)([programs("mappings.c"), "each"])
    assert result.code == 0, result.err
    assert by_function(document(tool, only_profile(result.folder))["mappings"]) == EACH


def test_a_sample_of_the_blocks_has_all_of_it(run, tool, programs):
    result = run([programs("mappings.c"), "each"], env={"PMEM_SAMPLE": "512k"})
    assert (result.code, result.err) == (0, b"")
    assert by_function(document(tool, only_profile(result.folder))["mappings"]) == EACH


def test_a_child_counts_from_zero_and_knows_what_it_inherited(run, tool, programs):
    result = run([programs("mappings.c"), "fork"])
    assert (result.code, result.err) == (0, b"")
    parent, child = (document(tool, p.path) for p in pmem_tool.ancestor_first(pmem_tool.profiles(result.folder)))
    assert by_function(parent["mappings"]) == {"inherited": Counts("mmap", 1, 5 * P, 5 * P),
                                               "inherited_too": Counts("mmap", 1, 3 * P, 3 * P)}
    assert by_function(child["mappings"]) == {"child_grows": Counts("mremap", 1, 6 * P, 6 * P),
                                              "child_maps": Counts("mmap", 1, 2 * P, 2 * P)}
    assert child["mappings"]["peak_bytes"] == 8 * P


def test_threads_that_take_over_each_other_s_addresses(run, tool, programs):
    result = run([programs("mappings.c"), "threads"])
    assert (result.code, result.err) == (0, b"")
    profile = document(tool, only_profile(result.folder))
    sums = by_function(profile["mappings"])
    assert profile["mappings"]["mapped_bytes"] == int(result.out.split()[1])
    assert sums["thread_maps"].calls == 8 * 2000 and sums["thread_maps"].all == 8 * 2000 * 2 * P
    assert sums["thread_grows"].all == sums["thread_grows"].calls * 5 * P
    assert profile["losses"]["mappings"] == 0


def test_what_moved_counts_though_another_thread_maps_where_it_was(run, tool, programs):
    result = run([programs("mappings.c"), "moved"])
    assert (result.code, result.err) == (0, b"")
    # Who has nothing mapped any more has a line too.
    assert re.search(r"^ +0 B +[\d,]+ +- +[\d.]+ MiB  thread_maps +mappings\.c:\d+$",
                     report(tool, only_profile(result.folder), "--mappings"), re.M)
    profile = document(tool, only_profile(result.folder))
    assert profile["mappings"]["mapped_bytes"] == int(result.out.split()[1])
    assert by_function(profile["mappings"])["moves"].calls == 8 * 4000
    assert profile["losses"]["mappings"] == 0


def test_a_handler_that_interrupts_the_recorder_does_not_wait_for_it(run, tool, programs):
    result = run([programs("mappings.c"), "signals"])
    assert (result.code, result.err) == (0, b"")
    profile = document(tool, only_profile(result.folder))
    sums, lost = by_function(profile["mappings"]), profile["losses"]["mappings"]
    assert sums["thread_maps"] == Counts("mmap", 20000, 0, 40000 * P)
    # What is lost is counted: of a pair the first half (nothing is there), or the second (two pages stay).
    assert profile["mappings"]["mapped_bytes"] <= 2 * P * lost


def test_a_program_that_maps_nothing_says_so(run, tool, programs):
    result = run([programs("to_zero.c")])
    profile = only_profile(result.folder)
    assert document(tool, profile)["mappings"] is None
    assert "The program mapped no memory itself." in report(tool, profile, "--mappings")
    assert "--mappings" not in report(tool, profile)
    assert list(csv.DictReader(report(tool, profile, "--mappings", "--csv").splitlines())) == []
    assert not any(line.startswith("# mappings") for line in pmem_log.find(result.folder)[0][0].read_text().splitlines())


MIB = 1 << 20
RESIDENT = {"touched": 8 * MIB, "half_touched": 4 * MIB, "untouched": 0, "shared_touched": 4 * MIB}


def test_what_is_resident_of_it_now_and_at_the_end(run, tool, programs):
    process = run.start([programs("mappings.c"), "resident"], stdin=-1, stdout=-1)
    assert process.stdout.readline() == b"ready\n"
    now = json.loads(report(tool, process.pid, "--rss", "--json"))["rss"]
    process.communicate(b"", timeout=pmem_run.TIMEOUT_S)
    profile = only_profile(process.folder)
    end = document(tool, profile)
    of_each = {stack["frames"][0]["function"]: stack["resident_bytes"] for stack in end["mappings"]["stacks"]}
    assert of_each == RESIDENT and end["mappings"]["resident_bytes"] == 16 * MIB
    for rss in (now, end["rss"]):
        assert rss["mapped_known_bytes"] == 12 * MIB  # shared memory has a line of its own
        assert 14 * MIB <= rss["mapped_bytes"] <= 15 * MIB and rss["shared_bytes"] == 4 * MIB
        assert abs(rss["unexplained_bytes"]) <= 64 << 10
    text = report(tool, profile, "--rss")
    assert re.search(r"^ +12\.0 MiB +\d+ %  mapped by the program itself \(mmap\): --mappings$", text, re.M)
    assert re.search(r"^ +2\.\d MiB +\d+ %  other anonymous memory$", text, re.M)
    words = "Mapped by the program itself: 8.0 MiB by touched (mappings.c:%s), 4.0 MiB by half_touched (mappings.c:%s), 4.0 MiB by"
    line = r"\d+"
    assert re.search(re.escape(words).replace("%s", line), " ".join(text.split())), text


@pytest.mark.parametrize("sample", ["0", "512k"])
def test_what_of_each_call_stack_is_resident_now(run, tool, programs, sample):
    """Of a sample too: mappings are not sampled."""
    process = run.start([programs("mappings.c"), "resident"], stdin=-1, stdout=-1, env={"PMEM_SAMPLE": sample})
    assert process.stdout.readline() == b"ready\n"
    alone = json.loads(report(tool, process.pid, "--mappings", "--json"))["mappings"]
    text = " ".join(report(tool, process.pid, "--mappings").split())
    whole = document(tool, process.pid)["mappings"]
    process.communicate(b"", timeout=pmem_run.TIMEOUT_S)
    assert {stack["frames"][0]["function"]: stack["resident_bytes"] for stack in alone["stacks"]} == RESIDENT
    assert alone["resident_bytes"] == 16 * MIB
    assert re.search(r"16\.0 MiB of it is resident: 8\.0 MiB by touched \(mappings\.c:\d+\), 4\.0 MiB by (half|shared)_touched \(mappings\.c:\d+\), "
                     r"4\.0 MiB by (half|shared)_touched", text), text
    # That takes its time: only where nothing else is asked for.
    assert whole["resident_bytes"] is None and {stack["resident_bytes"] for stack in whole["stacks"]} == {None}


def test_the_first_page_says_it_where_it_matters(run, tool, programs):
    result = run([programs("mappings.c"), "resident"], input=b"")
    profile = only_profile(result.folder)
    text = " ".join(report(tool, profile).split())
    assert re.search(r"Not heap: 84\.0 MiB of the program's own mappings \(mmap\), 16\.0 MiB of it resident, "
                     r"8\.0 MiB by touched \(mappings\.c:\d+\): --mappings\.", text), text
    assert re.search(r"More: .* --mappings ", text), text
    # A page has a switch, not options.
    sentence, = re.findall(r">(Not heap: [^<]*)<", tool("html", "-o", "-", profile).stdout.decode())
    assert re.search(r" 8\.0 MiB by touched \(mappings\.c:\d+\)\.$", sentence) and "--" not in sentence
    exported = tool("export", "--format", "collapsed", profile)
    assert exported.returncode == 0
    assert exported.stderr == b"pmem export: what the program mapped itself, 84.0 MiB by mmap, is not in it: --mappings\n"
    exported = tool("export", "--format", "dhat", profile)
    assert exported.stderr == b"pmem export: what the program mapped itself, 84.0 MiB by mmap, is not in it: pmem report --mappings\n"
    exported = tool("export", "--format", "speedscope", profile)
    assert exported.returncode == 0 and exported.stderr == b""


def test_a_killed_program_s_mappings_may_be_more_than_is_resident(run, tool, programs):
    process = run.start([programs("mappings.c"), "resident"], stdin=-1, stdout=-1)
    assert process.stdout.readline() == b"ready\n"
    process.kill()
    process.communicate()
    profile = only_profile(process.folder)
    assert document(tool, profile)["mappings"]["resident_bytes"] is None
    text = " ".join(report(tool, profile, "--mappings").split())
    assert "What of it was resident is not known: that is measured at the end of a process, and was not here." in text
    text = " ".join(report(tool, profile).split())
    assert re.search(r"Not heap: 84\.0 MiB of the program's own mappings \(mmap\), more than is resident, 64\.0 MiB by untouched ", text), text
