# SPDX-License-Identifier: BSD-2-Clause
"""test_memory - what the recorder's memory may cost for each call stack and each thread (bench/many_stacks.c, which says what is resident).

The rows of bench/run are a hundred times as large; the bounds here have a third of room or more."""
import subprocess

import pytest


KIB, MIB = 1 << 10, 1 << 20
BLOCK, PASSES = 24, 2
# Small programs' share: the library itself, the log's buffers, the first 256 KiB of the profile.
BASE = 2 * MIB
CHUNK = 64 * 32  # counters that a thread gets at once: struct format_counter [FORMAT_CHUNK]


@pytest.fixture(scope="module")
def many_stacks(root, tmp_path_factory):
    out = tmp_path_factory.mktemp("bench") / "many_stacks"
    subprocess.run(["gcc", "-O2", "-pthread", "-o", out, root / "bench" / "many_stacks.c"], check=True)
    return out


class Memory:
    """One run under the library, and a bare one."""

    def __init__(self, run, program, threads, stacks, per_thread):
        words = [program, threads, stacks, per_thread]
        self.result = run(words, env={"PMEM_LOG_SNAPSHOT_MAX": "0", "PMEM_LOG_MAX": "0"})
        self.figures = self.of(self.result)
        bare = self.of(run(words, lib=False))
        self.added = self.figures["rss"] - bare["rss"]
        self.added_private = self.figures["private"] - bare["private"]
        self.log = self.result.log_of("many_stacks")

    @staticmethod
    def of(result):
        assert result.code == 0, result.err[-2000:]
        return {name: int(value) * KIB for name, value in (word.split(b"=") for word in result.out.split()) for name in [name.decode()]}

    def file_size(self):
        (path,) = self.result.folder.glob("*.prof")
        return path.stat().st_size

    def counted(self):
        """(call stacks of the threads' blocks, bytes allocated there)"""
        totals = [entry.alloc_total for entry in self.log.state().values() if any("step_" in str(f) for f in entry.frames)]
        return len(totals), sum(totals)


def test_each_call_stack(run, many_stacks):
    memory = Memory(run, many_stacks, 1, 20000, 20000)
    assert memory.counted() == (20000, 20000 * PASSES * BLOCK)
    # 58 bytes for a node, its call stack and its counter, and what the log remembers of it.
    assert memory.added < BASE + 20000 * 110


def test_each_thread(run, many_stacks):
    few, more = (Memory(run, many_stacks, threads, 10, 10) for threads in (100, 400))
    assert more.counted() == (10, 400 * 10 * PASSES * BLOCK)
    assert (more.added - few.added) / 300 < 64 * KIB


def test_threads_with_some_of_many_call_stacks(run, many_stacks):
    memory = Memory(run, many_stacks, 100, 10000, 20)
    stacks, allocated = memory.counted()
    assert allocated == 100 * 20 * PASSES * BLOCK and 1000 < stacks <= 2000
    assert memory.added_private < BASE + 100 * 64 * KIB
    assert memory.added < BASE + 100 * (64 * KIB + 20 * CHUNK) + stacks * 110


def test_a_thousand_threads_do_not_each_grow_the_profile(run, many_stacks):
    memory = Memory(run, many_stacks, 1000, 2000, 100)
    assert memory.counted() == (2000, 1000 * 100 * PASSES * BLOCK)
    assert memory.file_size() < 2 * MIB + 1000 * (2000 // 64 + 2) * CHUNK
