# SPDX-License-Identifier: BSD-2-Clause
"""Verdicts on programs of each kind of growth, compressed into seconds: the class, the culprit, and what is said of it."""
import json
import re
import subprocess

import pytest

import pmem_run
import pmem_tool

SECONDS = 5
KIB = 1024
FUNCTIONS = {"leak": "remember", "filling": "look_up", "sawtooth": "collect", "step": "load", "plateau": "load", "hidden": "remember"}


class Run:
    def __init__(self, tool, process):
        self.summary = process.communicate(timeout=pmem_run.TIMEOUT_S)[1].decode()
        assert process.returncode == 0, self.summary
        self.document = json.loads(self.report(tool, process.folder, "--json"))
        self.text = " ".join(self.report(tool, process.folder).split())
        self.process, *self.sites = self.document["verdicts"]
        self.verdict = re.search(r"^  verdict  (.*)$", self.summary, re.M).group(1)

    def report(self, tool, folder, *options):
        result = tool("report", *options, "x.prof", cwd=folder)
        assert result.returncode == 0, result.stderr
        return result.stdout.decode()

    def site(self, function):
        found, = [v for v in self.sites if v["function"] == function]
        return found


@pytest.fixture(scope="module")
def runs(lib, programs, tmp_path_factory):
    """All at the same time: they sleep most of it."""
    tool = pmem_tool.Tool(lib, tmp_path_factory.mktemp("verdicts"))
    program = programs("verdicts.c")
    processes = {kind: tool.start("run", "-o", "x.prof", program, kind, SECONDS, env={"PMEM_TIMELINE_MS": "40"},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                 for kind in [*FUNCTIONS, "mapped"]}
    return {kind: Run(tool, process) for kind, process in processes.items()}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_each_kind_has_its_class_and_its_culprit(runs, kind):
    run = runs[kind]
    wanted = "leak" if kind == "hidden" else kind
    verdict = run.site(FUNCTIONS[kind])
    assert verdict["class"] == wanted
    assert 0.5 <= verdict["confidence"] <= 1
    stack, = [s for s in run.document["stacks"] if s["id"] == verdict["stack_id"]]
    assert stack["frames"][stack["site"]]["function"] == FUNCTIONS[kind]
    leaks = [v["function"] for v in run.sites if v["class"] == "leak"]
    assert leaks == ([FUNCTIONS[kind]] if wanted == "leak" else [])


@pytest.mark.parametrize("kind", ["leak", "filling", "sawtooth", "step", "plateau"])
def test_one_site_alone_makes_the_process_what_it_is(runs, kind):
    assert runs[kind].process["class"] == kind
    assert (runs[kind].process["stack_id"], runs[kind].process["function"]) == (None, None)
    moves = {"leak": "growing", "sawtooth": "varying", "step": "steady", "plateau": "steady"}
    if kind in moves:
        assert runs[kind].document["growth"]["kind"] == moves[kind]


def test_the_leak_in_words(runs):
    """4,000 KiB in 5 s, from the start."""
    run = runs["leak"]
    rate = 4000 * KIB / SECONDS
    assert abs(run.site("remember")["rate_bytes_per_s"] / rate - 1) < 0.05
    assert run.site("remember")["since_ns"] < 1e9
    words = r"steady \(p < 0\.001\); none of its [34],\d{3} blocks was freed"
    assert re.search(r", growing 4\d\.\d MiB/min since \d\d:\d\d:\d\d\. remember \(verdicts\.c:\d+\) makes (>99|100|9\d) % of the growth "
                     r"and holds \S+ MiB, (>99|9\d|100) %, " + words + r"\.", run.text), run.text
    assert re.fullmatch(r"growing 4\d\.\d MiB/min since \d\d:\d\d:\d\d: remember \(verdicts\.c:\d+\) makes (>99|100|9\d) % of it, "
                        r"holds \S+ MiB, " + words, run.verdict), run.verdict


def test_a_slow_leak_beside_a_large_heap_in_words(runs):
    """80 KiB/s; what comes and goes beside it is MiB."""
    run = runs["hidden"]
    assert abs(run.site("remember")["rate_bytes_per_s"] / (400 * KIB / SECONDS) - 1) < 0.05
    words = r"remember \(verdicts\.c:\d+\) grows 4\.\d MiB/min since \d\d:\d\d:\d\d, steady \(p < 0\.001\); none of its [34]\d\d blocks was freed"
    assert re.search(words + r"\. serve \(verdicts\.c:\d+\) holds", run.text), run.text
    # The site first: that the heap as a whole is steady is no comfort.
    assert re.match(words + "; the heap as a whole: (steady since|rising and falling)", run.verdict), run.verdict


def test_when_it_happened(runs):
    """The step is in the middle; the plateau is reached after an eighth."""
    assert abs(runs["step"].site("load")["since_ns"] / 1e9 - SECONDS / 2) < 0.3
    assert runs["plateau"].site("load")["since_ns"] / 1e9 < SECONDS / 4
    assert "up by a step and steady since" in runs["step"].text
    assert "up and down between" in runs["sawtooth"].text


def test_other_kinds_are_not_blamed(runs):
    for kind in ("sawtooth", "step", "plateau"):
        assert "(p < " not in runs[kind].text and "grow" not in runs[kind].verdict, runs[kind].verdict
    assert "(p < " not in runs["filling"].text


def test_growth_by_mmap_is_not_the_heap_s(runs):
    """4,000 pages in 5 s, past malloc."""
    run = runs["mapped"]
    assert run.process["class"] in ("none", "plateau", "step") and not [v for v in run.sites if v["class"] == "leak"]
    mappings = run.document["mappings"]
    whole, culprit = mappings["verdicts"]
    rate = 4000 * 4 * KIB / SECONDS
    for verdict in (whole, culprit):
        assert verdict["class"] == "leak" and abs(verdict["rate_bytes_per_s"] / rate - 1) < 0.05
    assert culprit["function"] == "map_more"
    stack, = [s for s in mappings["stacks"] if s["id"] == culprit["stack_id"]]
    assert (stack["entry"], stack["calls"], stack["mapped_bytes"]) == ("mmap", mappings["calls"], mappings["mapped_bytes"])
    words = r"1\d\d\.\d MiB/min since \d\d:\d\d:\d\d, steady \(p < 0\.001\); none of its [34],\d{3} mappings was unmapped"
    assert re.search(r"Not heap: 15\.\d MiB of the program's own mappings \(mmap\), 15\.\d MiB of it resident, 15\.\d MiB by map_more "
                     r"\(verdicts\.c:\d+\): --mappings\. map_more \(verdicts\.c:\d+\) grows " + words, run.text), run.text
    # The site first: that the heap does not grow is no comfort.
    assert re.match(r"map_more \(verdicts\.c:\d+\) maps " + words + "; the heap: (steady since|everything was freed|rising and falling|no allocation)", run.verdict), run.verdict
    assert re.search(r"^  mapped   15\.\d MiB by the program itself \(mmap\)$", run.summary, re.M)
