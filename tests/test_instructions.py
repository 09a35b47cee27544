# SPDX-License-Identifier: BSD-2-Clause
"""test_instructions - how many instructions the recorder adds to a malloc + free pair: a budget, as time cannot be tested.

Counted by callgrind, which gives the same number each time.  With AVX2 a group of four checks takes nine instructions, without it
fifteen; the budgets hold for both."""
import os
import pathlib
import re
import shutil
import subprocess

import pmem_run
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEW, MANY = 20000, 60000
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


def each(pair, folder, preload, options, settings=()):
    folder.mkdir()
    few, many = (count(pair, folder / str(n), preload, n, options, settings) for n in (FEW, MANY))
    return (many - few) / (MANY - FEW)


@pytest.mark.parametrize("options,budget", [(["5"], 252), (["20"], 306), (["-p", "leaves", "20"], 312)])
def test_a_repeating_call_site_costs_no_more_than(pair, lib, tmp_path, options, budget):
    added = each(pair, tmp_path / "mine", lib, options) - each(pair, tmp_path / "bare", "", options)
    assert 100 < added <= budget


@pytest.mark.skipif(not JEMALLOC, reason="no libjemalloc.so.2 here (Debian: libjemalloc2)")
def test_over_another_allocator_it_costs_little_more(pair, lib, tmp_path):
    both = "%s:%s" % (lib, JEMALLOC)
    added = each(pair, tmp_path / "mine", both, ["20"]) - each(pair, tmp_path / "bare", JEMALLOC, ["20"])
    assert 100 < added <= 352


def test_sampling_costs_less_than_half(pair, lib, tmp_path):
    sampled = each(pair, tmp_path / "mine", lib, ["20"], {"PMEM_SAMPLE": "512k"})
    assert 50 < sampled - each(pair, tmp_path / "bare", "", ["20"]) <= 125
