# SPDX-License-Identifier: BSD-2-Clause
"""Why a resident set is large, of processes drawn by lot (tests/programs/causes.c): the cause, and who or how many, in the words of `pmem report --rss`.

PMEM_CAUSE_SEEDS: so many of each kind, 4 by default.  What 1,000 give is in doc/VERDICT.md.
"""
import os
import re

import pytest

import pmem_run
import pmem_tool

SEEDS = int(os.environ.get("PMEM_CAUSE_SEEDS", "4"))
WORDS = {
    "stacks": r"Not the heap: \S+ MiB are %s stacks of threads\.",
    "arenas": r"Not a leak: \S+ MiB freed but kept by glibc in %s arenas; malloc_trim\(0\) would return about \S+ MiB, MALLOC_ARENA_MAX=2 ",
    "fragments": r"Not a leak: \S+ MiB are free, but in pages that live blocks hold \(fragmentation\):.* fragments \(causes\.c:\d+\)",
    "mapped": r"Not the heap: \S+ MiB were mapped by the program itself \(mmap\), past malloc\..*"
              r"Mapped by the program itself: \S+ MiB by map_more \(causes\.c:\d+\)",
}


def said(tool, run, program, kind, seed):
    """What is said of one process, and what must be."""
    result = run([program, kind, str(seed)], env={"PMEM_LOG": "0"})
    assert (result.code, result.err) == (0, b"")
    profile, = pmem_tool.profiles(result.folder)
    report = tool("report", "--rss", profile.path)
    assert report.returncode == 0, report.stderr
    profile.path.unlink()
    wanted = WORDS[kind]
    return " ".join(report.stdout.decode().split()), wanted % result.out.decode().strip() if "%s" in wanted else wanted


@pytest.mark.parametrize("kind", WORDS)
def test_the_cause_in_words(run, lib, programs, tmp_path, kind):
    tool, program, wrong = pmem_tool.Tool(lib, tmp_path), programs("causes.c"), {}
    for seed in range(1, SEEDS + 1):
        text, wanted = said(tool, run, program, kind, seed)
        if not re.search(wanted, text):
            wrong[seed] = text
    print("%s: %d of %d right" % (kind, SEEDS - len(wrong), SEEDS))
    assert len(wrong) * 20 <= SEEDS, wrong
