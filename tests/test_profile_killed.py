# SPDX-License-Identifier: BSD-2-Clause
"""test_profile_killed - a busy program whose heap is known (kill_truth.c), killed at random moments, or read while it runs.

PMEM_TEST_REPEAT=N kills N times as often, and watches N times as long.
"""
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import time

import pytest

import pmem_report
import pmem_run
import pmem_tool

REPEAT = int(os.environ.get("PMEM_TEST_REPEAT") or 1)
KILLS, EARLY_KILLS = 30, 10
WATCH_S, WATCH_PERIOD_S = 5, 0.1
# No log: its snapshots would only take time.
QUIET = {"PMEM_LOG": "0"}


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def only(folder):
    (path,) = pmem_report.find(folder)
    return path


def is_recorded(folder):
    """A complete header is there."""
    found = pmem_report.find(folder)
    return len(found) == 1 and found[0].read_bytes()[:8] == pmem_tool.MAGIC


# -- killed -----------------------------------------------------------------------------------------------
ALLOCATES, FREES = 1, 2
FIELDS = ("alloc_bytes", "free_bytes", "alloc_blocks", "free_blocks")


class Truth:
    """What kill_truth.c wrote into its file: by call stack, the counts and what each thread was about to do."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        _, threads, self.key_count, self.bits = struct.unpack_from("<4Q", data)
        slot_size = (8 + 4 * self.key_count) * 8
        self.counts = [[0] * 4 for _ in range(self.key_count)]
        self.doing, self.events = {}, 0
        for thread in range(threads):
            at = 64 + thread * slot_size
            doing, key, size, events = struct.unpack_from("<4Q", data, at)
            self.events += events
            if doing:
                self.doing.setdefault((key, doing), []).append(size)
            words = struct.unpack_from("<%dQ" % (4 * self.key_count), data, at + 64)
            for i, word in enumerate(words):
                self.counts[i // 4][i % 4] += word

    def key_of(self, stack):
        """The call stack's key, from the names of its frames; None: not one of take()'s."""
        names = [f.symbol for f in stack["frames"]]
        if "take" not in names:
            return None
        names = names[:names.index("take")]
        assert re.fullmatch(r"site_[0-3]", names[0]) and len(names) == self.bits + 2, names
        ways = [int(n[-1]) for n in names[1:-1]]  # innermost first: the lowest bit
        return sum(way << (2 + i) for i, way in enumerate(ways)) | int(names[0][-1])

    def check(self, stacks, lost=0):
        """Each figure is what was counted, or more by what was being done just then; but for so many lost events."""
        have, missing = {}, 0
        for stack in stacks:
            key = self.key_of(stack)
            if key is not None:
                sums = have.setdefault(key, [0] * 4)
                for i, field in enumerate(FIELDS):
                    sums[i] += stack[field]
        for key, low in enumerate(self.counts):
            sums = have.get(key, [0] * 4)
            for i, field in enumerate(FIELDS):
                sizes = self.doing.get((key, ALLOCATES if i % 2 == 0 else FREES), [])
                slack = sum(sizes) if i < 2 else len(sizes)
                missing += max(0, low[i] - sums[i]) if i >= 2 else 0
                assert (lost or low[i] <= sums[i]) and sums[i] <= low[i] + slack, (key, field, low[i], sums[i], sizes)
        assert missing <= lost
        total = sum(s[0] - s[1] for s in have.values())
        low = sum(c[0] - c[1] for c in self.counts)
        taken, freed = (sum(sum(sizes) for (_, did), sizes in self.doing.items() if did == what) for what in (ALLOCATES, FREES))
        assert (lost or low - freed <= total) and total <= low + taken


def check_killed(tool, folder, least_events=1):
    report = pmem_report.read(tool, only(folder))
    truth = Truth(folder / "truth")
    assert truth.events >= least_events
    assert report.process["state"] == "killed"
    assert report.losses["complete"] and report.losses["damage_count"] == 0, report.losses
    truth.check(report.document["stacks"])
    return report


def has_begun(folder, events):
    path = folder / "truth"
    try:
        return path.stat().st_size > 0 and Truth(path).events >= events
    except (FileNotFoundError, struct.error):
        return False


def test_a_killed_process_leaves_its_heap_to_the_block(run, tool, programs):
    program = programs("kill_truth.c")
    moments = random.Random(4711)
    for number in range(KILLS * REPEAT):
        process = run.start([program, "truth"], QUIET if number % 3 else {"PMEM_CHURN_THRESH": "200k"},
                            stdout=subprocess.DEVNULL)
        pmem_run.wait_for(lambda: has_begun(process.folder, 1000), "eight busy threads")
        time.sleep(moments.choice((0.01, 0.1, 0.3)) * moments.random())
        process.kill()
        process.wait()
        check_killed(tool, process.folder, 1000)
        shutil.rmtree(process.folder)


def test_a_process_killed_at_its_start_leaves_nothing_wrong(run, tool, programs):
    program = programs("kill_truth.c")
    whole = 0
    for number in range(EARLY_KILLS * REPEAT):
        process = run.start([program, "truth"], QUIET, stdout=subprocess.DEVNULL)
        time.sleep(0.004 * (number % EARLY_KILLS))
        process.kill()
        process.wait()
        # Before its first event, or between making the file and its header's end, there is no profile yet.
        if is_recorded(process.folder) and (process.folder / "truth").is_file() and (process.folder / "truth").stat().st_size:
            check_killed(tool, process.folder, 0)
            whole += 1
        shutil.rmtree(process.folder)
    assert whole > 0


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def test_a_process_that_runs_out_of_addresses_leaves_its_heap(run, tool, programs):
    def limit():
        no_core()
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    process = run.start([programs("kill_truth.c"), "truth", "hold", 100000], QUIET, preexec_fn=limit)
    assert process.wait(pmem_run.TIMEOUT_S) == -signal.SIGABRT
    report = pmem_report.read(tool, only(process.folder))
    # There was no memory for threads of the recorder, either.
    Truth(process.folder / "truth").check(report.document["stacks"], report.losses["events"])
    assert report.losses["damage_count"] == 0
    assert report.document["host"]["address_limit_bytes"] == 2 << 30
    assert report.process["state"] == "killed" and report.totals["live_bytes"] > 100 << 20


@pytest.fixture
def cgroup():
    """A memory cgroup of 100 MB without swap: (folder, what to do in the child)."""
    for base, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        folder = pathlib.Path(base) / ("pmem-test-%d" % os.getpid())
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / limit).write_text("100000000")
            (folder / "cgroup.procs").exists()
        except OSError:
            folder.rmdir()
            continue
        for swap, value in (("memory.memsw.limit_in_bytes", "100000000"), ("memory.swap.max", "0")):
            if (folder / swap).exists():
                (folder / swap).write_text(value)
        yield folder, lambda: (folder / "cgroup.procs").write_text(str(os.getpid()))
        pmem_run.wait_for(lambda: not (folder / "cgroup.procs").read_text(), "the end of the cgroup's processes")
        folder.rmdir()
        return
    pytest.skip("no memory cgroup can be made here")


def test_a_process_killed_by_its_cgroups_limit_leaves_its_heap(run, tool, programs, cgroup):
    folder, enter = cgroup
    process = run.start([programs("kill_truth.c"), "truth", "hold", 20000], QUIET, preexec_fn=enter)
    assert process.wait(pmem_run.TIMEOUT_S) == -signal.SIGKILL
    report = check_killed(tool, process.folder, 1000)
    assert 50 << 20 < report.totals["live_bytes"] < 100000000
    assert 0 < report.document["host"]["cgroup_limit_bytes"] <= 100000000
    assert report.document["host"]["cgroup"].endswith("/" + folder.name)


# -- watched while it runs --------------------------------------------------------------------------------
def monotonic_fields(document):
    return {s["id"]: (s["alloc_bytes"], s["alloc_blocks"], s["free_bytes"], s["free_blocks"]) for s in document["stacks"]}


def test_a_running_process_is_read_consistently_and_does_not_notice(run, tool, programs):
    # So that eight threads leave the reader some time.
    process = run.start([programs("kill_truth.c"), "truth"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        preexec_fn=lambda: os.nice(10))
    pmem_run.wait_for(lambda: has_begun(process.folder, 10000), "eight busy threads")
    before, readings, end = {}, 0, time.monotonic() + WATCH_S * REPEAT
    path = only(process.folder)
    try:
        while time.monotonic() < end:
            low = Truth(process.folder / "truth")
            report = pmem_report.read(tool, path if readings % 2 else process.pid)
            after = monotonic_fields(report.document)
            assert report.process["state"] == "running" and report.losses["damage_count"] == 0, report.losses
            assert report.losses["complete"]
            for stack_id, fields in before.items():
                assert all(new >= old for new, old in zip(after[stack_id], fields)), stack_id
            # At least what was counted before the reading began.
            sums = [sum(c) for c in zip(*low.counts)]
            for i, field in enumerate(FIELDS):
                assert report.totals[field] >= sums[i]
            before, readings = after, readings + 1
            time.sleep(WATCH_PERIOD_S)
        with open(process.folder / "truth", "r+b") as truth:
            truth.write(b"\1")
        out, err = process.communicate(timeout=pmem_run.TIMEOUT_S)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (0, b"8 threads, 0 blocks damaged\n", b"")
    assert readings >= 5 * REPEAT
    report = pmem_report.read(tool, path)
    truth = Truth(process.folder / "truth")
    assert report.process["state"] == "ended" and not truth.doing
    truth.check(report.document["stacks"])
