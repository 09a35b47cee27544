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
import pmem_report
import pmem_run
import pmem_tool
import pmem_truth

CASES = pathlib.Path(__file__).resolve().parent / "cases"

# Cases whose log must hold more than the defaults allow, or that need another trigger.
ENVIRONMENT = {
    # 100,000 call stacks: a default snapshot would sum most of them up in "# rest"
    "62-100000-call-sites": {"PMEM_LOG_SNAPSHOT_MAX": "0", "PMEM_LOG_MAX": "0", "PMEM_CHURN_THRESH": "1g"},
    # likewise: an interpreter's objects one by one
    "variant-languages-python-subinterpreters": {"PMEM_LOG_SNAPSHOT_MAX": "0", "PMEM_LOG_MAX": "0", "PMEM_CHURN_THRESH": "1g"},
    # 50,000 bytes before the kill: the default threshold would need a longer run
    "53-kill-9-mid-run": {"PMEM_CHURN_THRESH": "64k", "PMEM_SNAPSHOT_SHARE": "100", "PMEM_LOG_RATE": "0"},
}
# Cases with a profile whose whole report is hundreds of megabytes: the call stacks that their truth is about.
FOCUS = {
    "75-python-ctypes-truth": ("ffi",),
    "variant-languages-java-jni": ("Java_Known",),
    "variant-languages-python-subinterpreters": ("known_",),
}
# How many images of a case end with the state that its lines without a selector describe, in their logs and in their
# profiles: a signal, exit_group(2) and execve(2) leave it to the profile.
ENDINGS = {
    "49-closes-all-descriptors": {pmem_truth.LOG: 2, pmem_truth.PROFILE: 2},
    "54-abort-and-segv": {pmem_truth.LOG: 1, pmem_truth.PROFILE: 5},
    "55-exits-without-atexit": {pmem_truth.LOG: 4, pmem_truth.PROFILE: 6},
    "75-python-ctypes-truth": {pmem_truth.LOG: 2, pmem_truth.PROFILE: 2},
}
# Their sandbox lets nobody read symbol tables: the log holds module and offset, which we name here.
NAMELESS = {"50-chdir-chroot-drop-privileges", "57-seccomp-errno"}
THREADED = {
    "01-ctor-calloc-dlsym", "05-fork-while-threads-allocate", "11-tls-key-destructors", "13-thread-churn",
    "14-producer-consumer", "15-small-thread-stacks", "29-signal-storm", "48-loader-lock-order",
    "55-exits-without-atexit", "75-python-ctypes-truth", "77-overhead-benchmark", "78-attach-target",
    "variant-fork-atfork-allocates", "variant-languages-java-jni", "variant-own-allocators-two-in-one",
    "variant-threads-detached-at-exit", "variant-threads-event-in-last-round",
}
OURS = re.compile(r"^pmem\.\d+(\.\d+)?\.(log(\.1)?|prof)$")


def names():
    return sorted(p.name for p in CASES.iterdir() if (p / "run.sh").exists())


def claims(name):
    return pmem_truth.read((CASES / name / "expect.md").read_text())


def sources(name, claim):
    """Who must confirm a claim of the case, see pmem_truth.sources().  An image that executes another one leaves its
    state to its profile (doc/LOG.md, "What an end leaves")."""
    found = pmem_truth.sources(claim)
    if claim.selector and claim.selector[0] == "image" and int(claim.selector[1]) < _last_image(name):
        found = tuple(s for s in found if s == pmem_truth.PROFILE)
    return found


class Image:
    """One process image: its log and its profile have one name but for the ending.  Either may be missing."""

    def __init__(self, stem):
        self.stem, self.suffix = stem, int(stem.split(".")[2]) if stem.count(".") == 2 else 1
        self.log = self.report = None
        self._views = {}

    def view(self, source):
        """The image in the words of the truth blocks, or None."""
        found = self.log if source == pmem_truth.LOG else self.report
        if found is not None and source not in self._views:
            kind = pmem_truth.LogView if source == pmem_truth.LOG else pmem_truth.ReportView
            self._views[source] = kind(found)
        return self._views.get(source)

    def score(self, asked):
        """How many of the (claim, source) pairs hold."""
        return sum(self.view(source) is not None and self.view(source).holds(claim) for claim, source in asked)


class Outcome:
    """One run of a case: exit status, stderr, and the folder with the logs and profiles."""

    def __init__(self, name, process, folder, tool):
        self.name, self.code, self.err, self.folder, self.tool = name, process.returncode, process.stderr, folder, tool
        self._logs = self._images = self._reports = None

    def logs(self):
        if self._logs is None:
            totals = "last" if self.name in THREADED else "all"
            self._logs = [pmem_log.parse(p, totals) for p in pmem_log.find(self.folder)]
        return self._logs

    def reports(self):
        if self._reports is None:
            focus = FOCUS.get(self.name, ())
            self._reports = [pmem_report.read(self.tool, p, *focus) for p in pmem_report.find(self.folder)]
        return self._reports

    def images(self):
        """In the order of their start."""
        if self._images is None:
            found = {}
            for kind, sources_ in (("log", self.logs()), ("report", self.reports())):
                for source in sources_:
                    stem = pathlib.Path(source.paths[-1]).stem
                    setattr(found.setdefault(stem, Image(stem)), kind, source)
            self._images = sorted(found.values(), key=lambda i: ((i.report or i.log).start, i.stem))
        return self._images

    def views(self, source=pmem_truth.LOG):
        return [i.view(source) for i in self.images() if i.view(source)]

    def strangers(self):
        return sorted(n for n in os.listdir(self.folder) if not OURS.match(n))


class Cases:
    def __init__(self, lib, tmp):
        self.lib, self.tmp, self.done = lib, tmp, {}
        self.tool = pmem_tool.Tool(lib, tmp / "tool")
        self.tool.tmp.mkdir()

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
            self.done[name, repeat] = Outcome(name, process, folder, self.tool)
        return self.done[name, repeat]


def _last_image(name):
    return max(int(c.selector[1]) for c in claims(name) if c.selector and c.selector[0] == "image")


def endings(name, claim, source):
    """In how many images the claim must hold."""
    return ENDINGS[name][source] if name in ENDINGS and not claim.selector else 1


def images_for(outcome, claim, source):
    """The images in which claim must hold: those that its line names or, of all, those that fit its block best."""
    kind, value = claim.selector or (None, None)
    if kind == "run":
        return outcome.images()[int(value) - 1:int(value)]
    if kind == "image":
        return [i for i in outcome.images() if i.suffix == int(value)]
    block = [(c, s) for c in claims(outcome.name) if c.selector == claim.selector for s in sources(outcome.name, c)]
    return sorted(outcome.images(), key=lambda i: -i.score(block))[:endings(outcome.name, claim, source)]
