# SPDX-License-Identifier: BSD-2-Clause
"""pmem_cases - builds and runs the programs of tests/cases, each once for all the tests that look at it.

A case is copied first: its build.sh and run.sh write beside themselves.  run.sh LIB exits 0 if the
program behaved as it does without a profiler, 77 if something is missing here.
"""
import os
import pathlib
import re
import shutil
import subprocess

import pmem_log
import pmem_run
import pmem_truth

CASES = pathlib.Path(__file__).resolve().parent / "cases"

# Cases whose log must hold more than the defaults allow, or that need another trigger.
ENVIRONMENT = {
    # 100,000 call stacks: a default snapshot would sum most of them up in "# rest"
    "62-100000-call-sites": {"PMEM_LOG_SNAPSHOT_MAX": "0", "PMEM_LOG_MAX": "0", "PMEM_CHURN_THRESH": "1g"},
    # 50,000 bytes before the kill: the default threshold would need a longer run
    "53-kill-9-mid-run": {"PMEM_CHURN_THRESH": "64k", "PMEM_SNAPSHOT_SHARE": "100"},
}
# How many processes of a case end with the state that its lines without a selector describe.
ENDINGS = {"49-closes-all-descriptors": 2, "55-exits-without-atexit": 4, "75-python-ctypes-truth": 2}
# Their sandbox lets nobody read symbol tables: the log holds module and offset, which we name here.
NAMELESS = {"50-chdir-chroot-drop-privileges", "57-seccomp-errno"}
THREADED = {
    "01-ctor-calloc-dlsym", "05-fork-while-threads-allocate", "11-tls-key-destructors", "13-thread-churn",
    "14-producer-consumer", "15-small-thread-stacks", "29-signal-storm", "48-loader-lock-order",
    "55-exits-without-atexit", "75-python-ctypes-truth", "77-overhead-benchmark", "78-attach-target",
}
OURS = re.compile(r"^pmem\.\d+(\.\d+)?\.(log(\.1)?|prof)$")


def names():
    return sorted(p.name for p in CASES.iterdir() if (p / "run.sh").exists())


def claims(name):
    return pmem_truth.read((CASES / name / "expect.md").read_text())


class Outcome:
    """One run of a case: exit status, stderr, and the folder with the logs."""

    def __init__(self, name, process, folder):
        self.name, self.code, self.err, self.folder = name, process.returncode, process.stderr, folder
        self._logs = None

    def logs(self):
        if self._logs is None:
            totals = "last" if self.name in THREADED else "all"
            self._logs = [pmem_log.parse(p, totals) for p in pmem_log.find(self.folder)]
        return self._logs

    def views(self):
        return [pmem_truth.View(log) for log in self.logs()]

    def strangers(self):
        return sorted(n for n in os.listdir(self.folder) if not OURS.match(n))


class Cases:
    def __init__(self, lib, tmp):
        self.lib, self.tmp, self.done = lib, tmp, {}

    def build(self, name):
        copy = self.tmp / "cases" / name
        if not copy.exists():
            shutil.copytree(CASES / name, copy)
            done = subprocess.run([copy / "build.sh"], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            if name in NAMELESS:
                shutil.copy(copy / "bin" / "prog", copy / "bin" / "prog.debug")
        return copy

    def outcome(self, name, repeat=0):
        """Runs the case at the first call; repeat numbers further runs of threaded cases."""
        if (name, repeat) not in self.done:
            copy = self.build(name)
            folder = self.tmp / "runs" / ("%s.%d" % (name, repeat))
            folder.mkdir(parents=True)
            env = pmem_run.environment(None, ENVIRONMENT.get(name))
            process = subprocess.run([copy / "run.sh", self.lib], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                                     capture_output=True, text=True, errors="replace", timeout=300)
            self.done[name, repeat] = Outcome(name, process, folder)
        return self.done[name, repeat]


def _best(views, claims_, count):
    """The count views that satisfy most claims: the processes that the block speaks of."""
    return sorted(views, key=lambda v: -sum(v.holds(c) for c in claims_))[:count]


def _images(logs):
    """The logs of successive images of one process, by the suffix of their names."""
    def suffix(log):
        match = re.match(r"pmem\.\d+\.(\d+)\.log", pathlib.Path(log.paths[-1]).name)
        return int(match.group(1)) if match else 1
    return sorted(logs, key=suffix)


def views_for(outcome, claim):
    """The views in which claim must hold; an empty list with a reason if only the profile can tell."""
    same = [c for c in pmem_truth.checkable(claims(outcome.name)) if c.selector == claim.selector]
    kind, value = claim.selector or (None, None)
    if kind == "run":
        return outcome.views()[int(value) - 1:int(value)], "no such run"
    if kind == "image":
        last = max(int(c.selector[1]) for c in claims(outcome.name))
        images = _images(outcome.logs())
        if int(value) == last:
            return [pmem_truth.View(images[-1])] if images else [], "no log"
        if len(images) == last and images[int(value) - 1].last:
            return [pmem_truth.View(images[int(value) - 1])], ""
        return [], "issue 3: an image that ends by exec leaves its state to the profile"
    return _best(outcome.views(), same, ENDINGS.get(outcome.name, 1)), "no log"
