# SPDX-License-Identifier: BSD-2-Clause
"""test_instructions - how many instructions the recorder adds to a malloc + free pair: a budget, as time cannot be tested.

Counted by callgrind, which gives the same number each time.  With AVX2 a group of four checks takes nine instructions, without it
fifteen; the budgets hold for both."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEW, MANY = 20000, 60000

pytestmark = pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind here")


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    program = tmp_path_factory.mktemp("pair") / "pair"
    subprocess.run(["gcc", "-O2", "-pthread", "-o", program, ROOT / "bench" / "pair.c"], check=True)
    return program


def count(pair, folder, lib, pairs, options):
    """Instructions in measure(), with all that it calls."""
    folder.mkdir()
    # Not for valgrind itself; and no snapshots, which come by the clock.
    preload = ["env", "LD_PRELOAD=%s" % lib] if lib else ["env"]
    environment = {**os.environ, "PMEM_CHURN_THRESH": str(10**12), "PMEM_TIMELINE_MS": "0"}
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--trace-children=yes", "--toggle-collect=measure",
                    "--callgrind-out-file=%s/out.%%p" % folder, *preload, pair, "-r", "1", "-n", str(pairs), *options],
                   cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    found = [re.search(r"^(?:summary|totals): (\d+)", path.read_text(), re.M) for path in folder.glob("out.*")]
    return max(int(match[1]) for match in found if match)


def each(pair, folder, lib, options):
    few, many = (count(pair, folder / str(n), lib, n, options) for n in (FEW, MANY))
    return (many - few) / (MANY - FEW)


@pytest.mark.parametrize("options,budget", [(["5"], 252), (["20"], 306), (["-p", "leaves", "20"], 312)])
def test_a_repeating_call_site_costs_no_more_than(pair, lib, tmp_path, options, budget):
    bare, mine = tmp_path / "bare", tmp_path / "mine"
    bare.mkdir()
    mine.mkdir()
    added = each(pair, mine, lib, options) - each(pair, bare, None, options)
    assert 100 < added <= budget
