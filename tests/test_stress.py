# SPDX-License-Identifier: BSD-2-Clause
"""test_stress - all that is hard for a recorder at once (programs/stress.c): nothing is lost, to the byte.

The program keeps its own truth about a few functions.  Only an event inside a signal handler that interrupted the recorder
may go without its call stack; its bytes stand at [signal handler].

PMEM_TEST_STRESS_SECONDS: how long it runs (default 4).
"""
import json
import os

import pytest

import pmem_names
import pmem_report
import pmem_tool
import pmem_truth

SECONDS = int(os.environ.get("PMEM_TEST_STRESS_SECONDS") or 4)
PARTS = ["stress_%s" % n for n in ("truth.c", "threads.c", "signals.c", "processes.c", "throw.cpp")]
# The whole truth is in the log's last snapshots too.
WHOLE = {"PMEM_LOG_SNAPSHOT_MAX": "0", "PMEM_LOG_MAX": "0"}
FIELDS = ("alloc_total", "alloc_blocks", "free_total", "free_blocks")
CHILD = {  # what every child does: allocated and freed bytes and blocks
    "child_keeps": [10000, 10, 0, 0],
    "child_frees": [5050, 100, 5050, 100],
    "child_grows": [500, 1, 500, 1],
}
ALLOWED_LOSSES = {"short_stacks", "truncated"}


class Stress:
    """One run, and what it says of itself."""

    def __init__(self, run, programs, root, seconds, *options):
        plugin = programs("stress_plugin.c", "-shared", "-fPIC", out="libstress.so")
        parts = [root / "tests" / "programs" / p for p in PARTS]
        program = programs("stress.c", *parts, "-lstdc++")
        self.result = run([program, seconds, plugin, *options], env=WHOLE, timeout=60 + 3 * seconds)
        assert self.result.code == 0, self.result.err[-2000:]
        self.truth = json.loads(self.result.out)
        self.tool = pmem_tool.Tool(run.lib, run.tmp)

    def reports(self):
        """Of the program itself, and of its children."""
        paths = pmem_report.find(self.result.folder)
        reports = [pmem_report.read(self.tool, p) for p in paths]
        mine = [r for r in reports if "at_plain" in pmem_truth.ReportView(r).sites]
        assert len(mine) == 1
        return mine[0], [r for r in reports if r is not mine[0]]


@pytest.fixture(scope="module")
def stress(lib, programs, root, tmp_path_factory):
    import pmem_run
    return Stress(pmem_run.Runner(lib, tmp_path_factory.mktemp("stress")), programs, root, SECONDS)


@pytest.fixture(scope="module")
def reports(stress):
    return stress.reports()


def sums(entries):
    return [sum(getattr(e, f) for e in entries) for f in FIELDS]


def in_handlers(view):
    """Events that interrupted the recorder, without their call stacks."""
    return [e for e, frames in view.entries if frames[0].mark]


def elsewhere(view, sites):
    """What stands at none of the program's sites, nor in a library's function that they call: entry point, innermost and outermost
    frame, bytes and blocks."""
    return [(frames[0].object, e.frames[0].symbol, pmem_names.function(frames[0]), pmem_names.function(frames[-1]), sums([e]))
            for e, frames in view.entries if pmem_names.function(frames[0]) not in sites]


def test_profile_tells_the_truth_of_every_site(stress, reports):
    view = pmem_truth.ReportView(reports[0])
    wrong = {}
    for site, truth in stress.truth["sites"].items():
        have = view.site(site)
        if site == "at_handler":
            have = have + in_handlers(view)
        if sums(have) != truth:
            wrong[site] = sums(have), truth
    # An event that is missing at its site may stand elsewhere.
    assert not wrong, (wrong, reports[0].losses, elsewhere(view, stress.truth["sites"]))


def test_nothing_is_lost(stress, reports):
    for report in (reports[0], *reports[1]):
        lost = {k for k, v in report.losses.items() if isinstance(v, int) and not isinstance(v, bool) and v}
        assert lost <= ALLOWED_LOSSES, (report.paths, report.losses)


def test_each_child_has_a_profile_of_its_own(stress, reports):
    children = reports[1]
    assert len(children) == stress.truth["forked"] + stress.truth["others"] > 0
    for report in children:
        view = pmem_truth.ReportView(report)
        for site, truth in CHILD.items():
            assert sums(view.site(site)) == truth, (site, report.paths)
        assert not in_handlers(view)


def test_logs_tell_the_same(stress, reports):
    logs = {log.pid: log for log in stress.result.logs("last")}
    assert set(logs) == {r.pid for r in (reports[0], *reports[1])}
    for report in (reports[0], *reports[1]):
        log = logs[report.pid]
        assert log.snapshots and not log.torn and not log.lost, log.paths
        log_view, view = pmem_truth.LogView(log), pmem_truth.ReportView(report)
        for site in (stress.truth["sites"] if report is reports[0] else CHILD):
            have = [sum(getattr(e, f) for e in log_view.site(site)) for f in ("alloc_total", "free_total")]
            assert have == [sum(getattr(e, f) for e in view.site(site)) for f in ("alloc_total", "free_total")], site
