# SPDX-License-Identifier: BSD-2-Clause
"""test_instructions - how many instructions the recorder adds to a malloc + free pair: a budget, as time cannot be tested.

Counted by callgrind, which gives the same number each time, but for one choice: with AVX2 a group of four checks takes nine
instructions, without it fifteen, and the recorder chooses by a trial of time, which goes wrong once in some hundred times under
valgrind.  So each count is the least of two, and without AVX2 a budget is six more for each group."""
import os
import pathlib
import re
import shutil
import subprocess

import pmem_run
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEW, MANY = 20000, 60000
AVX2 = re.search(r"^flags\b.*\bavx2\b", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
JEMALLOC = pmem_run.installed("libjemalloc.so.2")

pytestmark = pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind here")


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    program = tmp_path_factory.mktemp("pair") / "pair"
    subprocess.run(["gcc", "-O2", "-pthread", "-o", program, ROOT / "bench" / "pair.c"], check=True)
    return program


def count(pair, folder, preload, pairs, options, settings=()):
    """Instructions in measure(), with all that it calls."""
    folder.mkdir()
    # Not for valgrind itself; and no snapshots, which come by the clock.
    environment = {**os.environ, "PMEM_CHURN_THRESH": str(10**12), "PMEM_TIMELINE_MS": "0", **dict(settings)}
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--trace-children=yes", "--toggle-collect=measure",
                    "--callgrind-out-file=%s/out.%%p" % folder, "env", "LD_PRELOAD=%s" % preload, pair, "-r", "1", "-n", str(pairs), *options],
                   cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    found = [re.search(r"^(?:summary|totals): (\d+)", path.read_text(), re.M) for path in folder.glob("out.*")]
    return max(int(match[1]) for match in found if match)


def each(pair, folder, preload, options, settings=(), counts=(FEW, MANY)):
    folder.mkdir()
    few, many = (min(count(pair, folder / ("%d-%d" % (n, turn)), preload, n, options, settings) for turn in range(2)) for n in counts)
    return (many - few) / (counts[1] - counts[0])


@pytest.mark.parametrize("options,budget,groups", [(["5"], 252, 3), (["20"], 306, 8), (["-p", "leaves", "20"], 312, 8),
                                                   (["-p", "sizes", "20"], 342, 8)])
def test_a_repeating_call_site_costs_no_more_than(pair, lib, tmp_path, options, budget, groups):
    added = each(pair, tmp_path / "mine", lib, options) - each(pair, tmp_path / "bare", "", options)
    assert 100 < added <= budget + (0 if AVX2 else 6 * groups)


def test_a_call_stack_that_is_not_remembered_costs_no_more_than(pair, lib, tmp_path):
    """A walk, which joins the last call stack; 60,000 pairs in, all of the tree's call stacks were seen before."""
    counts, options = (60000, 120000), ["-p", "tree", "20"]
    mine, bare = (each(pair, tmp_path / name, preload, options, counts=counts) for name, preload in (("mine", lib), ("bare", "")))
    assert 500 < mine - bare <= 1140


def whole(folder, preload, command):
    """Instructions of a command from its start to its end."""
    folder.mkdir()
    environment = {**os.environ, "PMEM_OUT": str(folder) + "/", "PMEM_TIMELINE_MS": "0"}
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=%s/out" % folder, "--trace-children=yes",
                    "env", "LD_PRELOAD=%s" % preload, *command], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return int(re.search(r"^totals: (\d+)", (folder / "out").read_text(), re.M)[1])


def test_a_program_that_does_nothing_costs_no_more_than(lib, tmp_path):
    """dladdr() alone once took two million.  Most of what is left reads /proc/self/smaps at the end."""
    true = [os.path.realpath(shutil.which("true"))]
    assert whole(tmp_path / "mine", lib, true) - whole(tmp_path / "bare", "", true) <= 1500000


def calls(text, function):
    """How often callgrind saw a function called."""
    names, callee, sum_ = {}, None, 0
    for line in text.splitlines():
        if line.startswith(("fn=", "cfn=")):
            number, name = re.match(r"c?fn=\((\d+)\)(?: (.*))?", line).groups()
            names.setdefault(number, name)
            callee = names[number]
        elif line.startswith("calls=") and callee.split("'")[0] == function:
            sum_ += int(line[6:].split()[0])
    return sum_


@pytest.mark.parametrize("pattern", ["same", "sizes"])
def test_threads_that_keep_to_themselves_hardly_meet(pair, lib, tmp_path, pattern):
    """What an event writes for others to see: the lock of the peak, the sum of what was moved, and histograms (doc/SCALING.md)."""
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--trace-children=yes", "--callgrind-out-file=%s/out" % tmp_path, "env",
                    "LD_PRELOAD=%s" % lib, pair, "-p", pattern, "-t", "4", "-n", "20000", "-r", "2", "20"], cwd=tmp_path, check=True,
                   env={**os.environ, "PMEM_LOG": "0"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text, pairs = (tmp_path / "out").read_text(), 4 * 20000 * 2
    assert calls(text, "malloc") >= pairs
    assert calls(text, "peak_settle") < pairs / 500
    assert 0 < calls(text, "churn_tell") < pairs / (60 if pattern == "same" else 20)
    assert (0 if pattern == "same" else 1) <= calls(text, "recent_sizes_missed") < pairs / 100


@pytest.mark.skipif(not JEMALLOC, reason="no libjemalloc.so.2 here (Debian: libjemalloc2)")
def test_over_another_allocator_it_costs_little_more(pair, lib, tmp_path):
    both = "%s:%s" % (lib, JEMALLOC)
    added = each(pair, tmp_path / "mine", both, ["20"]) - each(pair, tmp_path / "bare", JEMALLOC, ["20"])
    assert 100 < added <= 352


def test_sampling_costs_less_than_half(pair, lib, tmp_path):
    sampled = each(pair, tmp_path / "mine", lib, ["20"], {"PMEM_SAMPLE": "512k"})
    assert 40 < sampled - each(pair, tmp_path / "bare", "", ["20"]) <= 58
