# SPDX-License-Identifier: BSD-2-Clause
"""test_pmem_truth - the truth-block reader and checker: exact, and loud about what they do not know."""
import pytest

import pmem_log
import pmem_names
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
    return pmem_truth.View(made)


VIEW = log((30, 40, "leaf mid main _start"), (5, 5, "leaf other main _start"), (7, 7, "_Znwm leaf2 main"))


@pytest.mark.parametrize("line,true", [
    ("site leaf live_bytes=35 bytes=45", True), ("site leaf live_bytes=34", False), ("site leaf live_bytes=30..40", True),
    ("site leaf bytes=44", False), ("site leaf2 live_bytes=7", True), ("site mid live_bytes=0", False),
    ("caller mid live_bytes=30", True), ("caller main live_bytes=42", True), ("caller absent live_bytes=0", False),
    ("stack main;mid;leaf live_bytes=30", True), ("stack main>other>leaf live_bytes=5", True),
    ("stack main;leaf live_bytes=0", False), ("live_total_of_program bytes=42", True),
    ("peak_bytes=10005000 tolerance=8192", True), ("peak_bytes=10005000 tolerance=100", False),
    ("distinct_call_sites=3", True),
])
def test_claims_are_compared_exactly(line, true):
    assert all(VIEW.holds(c) for c in read(line)) == true


@pytest.mark.parametrize("line", [
    "sight leaf live_bytes=1", "site leaf livebytes=1", "site leaf live_bytes=x", "site leaf live_bytes=1 maybe",
    "proc", "run one site leaf live_bytes=1", "image x site a bytes=1", "peak_bytes=1 slack=2",
    "live_total_of_program live=3", "blocks_of_size 3 dead=4", "distinct_call_sites=many",
])
def test_unknown_words_are_errors(line):
    with pytest.raises(pmem_truth.TruthError):
        read(line)


def test_selectors_and_keys_of_later_issues():
    claims = read("image 2 site a live_bytes=1 calls=2", "proc child caller b live_blocks=1", "at_peak s bytes=1 blocks=1")
    assert [c.selector for c in claims] == [("image", "2")] * 2 + [("proc", "child")] + [None] * 2
    assert [c.key for c in pmem_truth.checkable(claims)] == ["live_bytes"]
    assert all("issue" in pmem_truth.NOT_IN_LOG[c.key] for c in claims[1:])


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
