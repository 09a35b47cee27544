# SPDX-License-Identifier: BSD-2-Clause
"""test_cases - every program of tests/cases: it behaves as without the library; log and profile tell the truth.

One test per key of a truth block and source (the log, or `pmem report --json` of the profile); a key that
nothing answers yet is skipped by itself, with the number of the issue.  PMEM_TEST_REPEAT=N runs the threaded
cases N times (default 1).
"""
import os

import pytest

import pmem_cases
import pmem_truth

REPEAT = int(os.environ.get("PMEM_TEST_REPEAT") or 1)


def runs():
    for name in pmem_cases.names():
        for k in range(REPEAT if name in pmem_cases.THREADED else 1):
            yield name, k


def claim_params():
    for name, k in runs():
        for i, c in enumerate(pmem_cases.claims(name)):
            label = "%s:%s%s.%s" % (name, "-".join(c.selector) + "-" if c.selector else "", c.name or c.subject, c.key)
            label += ".%d" % k if k else ""
            if c.key in pmem_truth.LATER:
                later = pytest.mark.skip(reason=pmem_truth.LATER[c.key])
                yield pytest.param(name, k, c, pmem_truth.PROFILE, id=label, marks=[later])
            for source in pmem_cases.sources(name, c):
                yield pytest.param(name, k, c, source, id="%s-%s" % (label, source))


@pytest.fixture(scope="session")
def cases(lib, tmp_path_factory):
    tmp = tmp_path_factory.mktemp("cases")
    for folder in (tmp, tmp.parent):
        folder.chmod(0o755)
    return pmem_cases.Cases(lib, tmp)


@pytest.mark.parametrize("name,k", [pytest.param(n, k, id="%s.%d" % (n, k) if k else n) for n, k in runs()])
def test_program_behaves_as_without_the_library(cases, name, k):
    outcome = cases.outcome(name, k)
    if outcome.code == 77:
        pytest.skip(outcome.err.strip().splitlines()[-1] if outcome.err.strip() else "run.sh says 77")
    assert outcome.code == 0, outcome.err[-2000:]
    assert not outcome.strangers(), "files that are not ours"
    noise = [l for l in outcome.err.splitlines() if "pmem" in l.lower() or "ld.so" in l]
    if name == "74-static-and-musl-programs":  # the loader of musl complains; the case prints what it said
        noise = [l for l in noise if "dynamic musl program" not in l]
    # They go to their limits, the second one faster than that is looked at on most machines: last words, tests/test_last_words.py
    if name in ("59-address-space-limit", "variant-limits-lowered"):
        noise = [l for l in noise if not l.startswith("pmem[")]
    assert not noise


@pytest.mark.parametrize("name,k", [pytest.param(n, k, id="%s.%d" % (n, k) if k else n) for n, k in runs()])
def test_logs_are_well_formed(cases, name, k):
    outcome = cases.outcome(name, k)
    for log in outcome.logs():
        killed = name in ("53-kill-9-mid-run", "54-abort-and-segv")
        assert killed or not log.torn, log.paths
        for snapshot in log.snapshots:
            assert snapshot.threshold > 0


@pytest.mark.parametrize("name,k", [pytest.param(n, k, id="%s.%d" % (n, k) if k else n) for n, k in runs()])
def test_profiles_are_whole(cases, name, k):
    """pmem_report checks the sums of each; here: each log has its profile, undamaged and of the same process."""
    outcome = cases.outcome(name, k)
    for report in outcome.reports():
        assert report.losses["damage_count"] == 0, (report.paths, report.losses["damage"])
        assert report.losses["internal"] == 0, report.paths
        # Where the program uses up its address space, the recorder may lose events too: it says so.
        assert report.losses["complete"] or name == "59-address-space-limit", (report.paths, report.losses)
    for image in outcome.images():
        assert image.report, "no profile beside %s" % image.log.paths
        if image.log:
            assert (image.log.exe, image.log.pid) == (image.report.exe, image.report.pid)
            assert image.report.process["image"] == image.suffix
            assert image.report.start <= image.log.start, "the profile is there first"


@pytest.mark.parametrize("name,k,claim,source", list(claim_params()))
def test_truth(cases, name, k, claim, source):
    outcome = cases.outcome(name, k)
    if outcome.code == 77:
        pytest.skip("run.sh says 77")
    images = pmem_cases.images_for(outcome, claim, source)
    assert len(images) == pmem_cases.endings(name, claim, source)
    for image in images:
        view = image.view(source)
        assert view, "%s has no %s" % (image.stem, source)
        value = view.value(claim)
        assert value is not None, "%s %s is in no call stack of %s" % (claim.subject, claim.name, view.source.paths)
        assert claim.low <= value <= claim.high, "%s: %s says %d" % (claim.text, claim.key, value)
