# SPDX-License-Identifier: BSD-2-Clause
"""test_pmem_truth - the truth-block reader and checker: exact, and loud about what they do not know."""
import json
import types

import pytest

import pmem_log
import pmem_names
import pmem_report
import pmem_truth


def read(*lines):
    return pmem_truth.read("# x\n\n```truth\n" + "\n".join(lines) + "\n```\n")


def log(*stacks):
    made = pmem_log.Log(["x"])
    made.exe = "/p/prog"
    snap = pmem_log.Snapshot(0, {"live": "0", "peak": "10005500"})
    for i, (live, total, names) in enumerate(stacks):
        frames = [pmem_log.Frame("/lib/libpmem.so", "malloc", 28, 1, None)]
        frames += [pmem_log.Frame("/p/prog", n, 28 + i, 1, None) for n in names.split()]
        snap.entries.append(pmem_log.Entry("%016x" % i, live, 0, total, 0, total - live, frames))
    made.snapshots.append(snap)
    return pmem_truth.LogView(made)


def report(*stacks):
    """The same heap as a report tells it; each stack also with blocks live, allocated, temporary and its peak's."""
    rows = []
    for i, (live, total, blocks, calls, temporary, peak, peak_blocks, names) in enumerate(stacks):
        frames = [{"function": n, "raw_name": n, "module": "/p/prog", "offset": 28 + i, "address": 1} for n in names.split(";")]
        rows.append({"id": "%016x" % i, "entry": "malloc", "inexact": False, "live_bytes": live, "live_blocks": blocks,
                     "alloc_bytes": total, "alloc_blocks": calls, "free_bytes": total - live, "free_blocks": calls - blocks,
                     "peak_bytes": peak, "peak_blocks": peak_blocks, "temporary_blocks": temporary, "sizes": None,
                     "frames": frames})
    totals = dict({key: sum(r[key] for r in rows) for key in pmem_report.SUMS}, peak_live_bytes=10005500)
    document = {"schema": 1, "process": {"exe": "/p/prog", "pid": 1, "start": ""}, "totals": totals, "losses": {}, "stacks": rows}
    path = "x.prof"
    done = types.SimpleNamespace(returncode=0, stderr=b"", stdout=json.dumps(document).encode())
    return pmem_truth.ReportView(pmem_report.read(lambda *argv: done, path))


VIEW = log((30, 40, "leaf mid main _start"), (5, 5, "leaf other main _start"), (7, 7, "_Znwm leaf2 main"))
REPORT = report((30, 40, 3, 4, 1, 20, 2, "leaf;mid;main;_start"), (5, 5, 1, 1, 0, 5, 1, "leaf;other;main;_start"),
                (7, 7, 1, 1, 0, 0, 0, "operator new(unsigned long);leaf2;main"))


@pytest.mark.parametrize("line,true", [
    ("site leaf live_bytes=35 bytes=45", True), ("site leaf live_bytes=34", False), ("site leaf live_bytes=30..40", True),
    ("site leaf bytes=44", False), ("site leaf2 live_bytes=7", True), ("site mid live_bytes=0", False),
    ("caller mid live_bytes=30", True), ("caller main live_bytes=42", True), ("caller absent live_bytes=0", False),
    ("stack main;mid;leaf live_bytes=30", True), ("stack main>other>leaf live_bytes=5", True),
    ("stack main;leaf live_bytes=0", False), ("live_total_of_program bytes=42", True),
    ("peak_bytes=10005000 tolerance=8192", True), ("peak_bytes=10005000 tolerance=100", False),
    ("distinct_call_sites=3", True),
])
@pytest.mark.parametrize("view", [VIEW, REPORT], ids=["log", "profile"])
def test_claims_are_compared_exactly(view, line, true):
    assert all(view.holds(c) for c in read(line)) == true


@pytest.mark.parametrize("line,true", [
    ("site leaf live_blocks=4 calls=5 temp=1", True), ("site leaf live_blocks=3", False), ("site leaf calls=4", False),
    ("site leaf temp=0", False), ("site leaf2 live_blocks=1 calls=1 temp=0..1", True), ("caller main live_blocks=5", True),
    ("stack main;mid;leaf live_blocks=3", True), ("stack main;leaf live_blocks=0", False), ("site absent calls=0 bytes=0", False),
    ("at_peak leaf bytes=25 blocks=3", True), ("at_peak leaf bytes=24", False), ("at_peak leaf blocks=2", False),
    ("at_peak leaf2 bytes=0 blocks=0", True), ("live_total_of_program bytes=42 blocks=5", True),
    ("live_total_of_program blocks=4", False),
])
def test_claims_that_only_a_profile_answers(line, true):
    assert all(REPORT.holds(c) for c in read(line)) == true


@pytest.mark.parametrize("line", [
    "sight leaf live_bytes=1", "site leaf livebytes=1", "site leaf live_bytes=x", "site leaf live_bytes=1 maybe",
    "proc", "run one site leaf live_bytes=1", "image x site a bytes=1", "peak_bytes=1 slack=2",
    "live_total_of_program live=3", "blocks_of_size 3 dead=4", "distinct_call_sites=many",
])
def test_unknown_words_are_errors(line):
    with pytest.raises(pmem_truth.TruthError):
        read(line)


def test_selectors_and_sources():
    claims = read("image 2 site a live_bytes=1 calls=2", "proc child caller b live_blocks=1", "at_peak s bytes=1 blocks=1",
                  "mmap_live_of_program bytes=3 optional")
    assert [c.selector for c in claims] == [("image", "2")] * 2 + [("proc", "child")] + [None] * 3
    assert [len(pmem_truth.sources(c)) for c in claims] == [2, 1, 1, 1, 1, 0]
    assert all(c.key in pmem_truth.LATER for c in claims if not pmem_truth.sources(c))


def test_only_mappings_are_left_for_later():
    assert list(pmem_truth.LATER) == ["mmap_live_of_program"] and "issue 7" in pmem_truth.LATER["mmap_live_of_program"]


@pytest.mark.parametrize("symbol,name", [
    ("main", "main"), ("leak_zero.constprop.0", "leak_zero"), ("_ZL8new_leakv", "new_leak"), ("_Znwm", "operator new"),
    ("_ZN9__gnu_cxx13new_allocatorIcE8allocateEmPKv", "allocate"), ("_Z4fillv", "fill"), ("_Znam", "operator new[]"),
    ("_RNvMNtCs1234_4prog5outerINtB2_3GenmE12leak_genericB4_", "leak_generic"),
    ("_RNCNvCs1234_4prog4main0B3_", "closure"), ("_ZN4prog5outer12leak_generic17h0123456789abcdefE", "leak_generic"),
])
def test_plain_names(symbol, name):
    if symbol.startswith(("_Z", "_R")) and pmem_names.demangle("_Z4fillv") != "fill()":
        pytest.skip("no c++filt here")
    assert pmem_names.plain(symbol) == name


@pytest.mark.parametrize("name,runtime", [
    ("std::rt::lang_start::{closure#0}", True), ("<alloc::vec::Vec<u8>>::push", True), ("prog::main", False), ("main", False),
    ("<core::option::Option<u16> as prog::Speak>::leak_trait", False), ("<prog::S as core::clone::Clone>::clone", False),
    ("<alloc::vec::Vec<u8> as core::clone::Clone>::clone", True), ("<prog::outer::Gen<u32>>::leak_generic", False),
    ("<&mut core::str::Chars as core::iter::Iterator>::next", True),
])
def test_rust_runtime_frames(name, runtime):
    assert pmem_names._of_rust_runtime(name) == runtime


def test_names_of_a_rust_trait_method():
    name = "<core::option::Option<u16> as prog::Speak>::leak_trait"
    assert pmem_names._strip_generics(name).split("::")[-1] == "leak_trait"
