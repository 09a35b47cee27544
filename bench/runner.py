# SPDX-License-Identifier: BSD-2-Clause
"""runner - runs workloads under tools in turn, and keeps what each run used.

A round is one run of each tool, one after the other, so that a machine that slows down slows all of them.  The first
round warms caches and is dropped, except for a peer whose single run uses up its budget: that run is all there is."""
import functools
import hashlib
import os
import shutil
import statistics
import time

from usage import Failed, Process, Slow, output_of
import usage
import workloads


class Limits:
    """Seconds.  budget: for all runs of one exact peer on one workload; run: until a run or a reader is stopped."""

    def __init__(self, rounds, budget, run):
        self.rounds, self.budget, self.run = rounds, budget, run

    def run_of(self, tool):
        return self.run * tool.patience

    def rounds_of(self, tool, spent):
        """How many rounds there are after one that took spent seconds."""
        if tool.name == "pmem" or not tool.exact:
            return self.rounds
        return min(self.rounds, int(self.budget / max(spent, 1e-3)))


class Series:
    """The runs of one tool on one workload: lists with one value for each round."""

    def __init__(self, tool):
        self.tool = tool
        self.cpu, self.client_cpu, self.wall, self.rss, self.written, self.extra = [], [], [], [], [], {}
        self.spent, self.rounds_left, self.error, self.post, self.rounds = 0, 0, None, None, []

    def add(self, number, run):
        self.rounds.append(number)
        for name in ("cpu", "client_cpu", "wall", "rss", "written"):
            getattr(self, name).append(run[name])
        for name, value in run["extra"].items():
            self.extra.setdefault(name, []).append(value)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Runner:
    def __init__(self, scratch, measure, limits, progress):
        self.scratch, self.measure, self.limits, self.progress = scratch, measure, limits, progress

    def fresh(self, tool):
        folder = self.scratch / ("run-" + tool.name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def run(self, tool, workload, argv):
        """One run of argv in a new folder.  Returns what it used; raises Failed."""
        folder = self.fresh(tool)
        deadline = time.monotonic() + self.limits.run_of(tool)
        variables = {**workload.variables, **tool.variables(folder)}
        started = time.monotonic()
        helper = tool.start_helper(self.measure, folder)
        process = Process(self.measure, tool.wrap(argv, folder), folder, variables)
        try:
            extra = workload.drive(process, folder, deadline)
            used = process.end(deadline)
            helper_used = helper.end(deadline) if helper else None
        finally:
            process.kill()
            if helper:
                helper.kill()
        if used.code != 0:
            raise Failed("status %d: %s" % (used.code, output_of(process)))
        extra = {**extra, **workload.figures(process.out.read_text(errors="replace"))}
        return {"cpu": used.cpu + (helper_used.cpu if helper else 0), "client_cpu": used.cpu,
                "wall": time.monotonic() - started if helper else used.wall,
                "rss": used.rss + (helper_used.rss if helper else 0),
                "written": sum(path.stat().st_size for path in tool.left(folder)), "extra": extra,
                "out": process.out, "folder": folder}

    def program(self, workload, tools, scale):
        """Measures a program; {tool name: Series}.  Raises workloads.Missing."""
        folder = self.scratch / "input"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        workload.prepare(folder, scale)
        argv = [str(word) for word in workload.argv]
        all_series = {tool.name: Series(tool) for tool in tools
                      if tool.handles(workload) and workload.handles(tool)}
        expected = None
        for number in range(self.limits.rounds + 1):
            for series in all_series.values():
                if series.error or (number > 0 and series.rounds_left <= 0):
                    continue
                self.progress("%s: %s, round %d" % (workload.name, series.tool.name, number))
                expected = self.one(series, workload, argv, number, expected)
        for series in all_series.values():
            if series.rounds:
                self.read(series, argv)
        return all_series

    def one(self, series, workload, argv, number, expected):
        """A run that counts, or the warm-up round.  Returns the digest that outputs must have."""
        started = time.monotonic()
        try:
            run = self.run(series.tool, workload, argv)
            found = digest(run["out"])
            if expected and not workload.same(found, expected):
                raise Failed("the program's output differs from the bare run's")
        except Slow:
            series.error = "more than %g s" % self.limits.run_of(series.tool)
            return expected
        except (Failed, OSError) as error:
            series.error = str(error)
            return expected
        spent = time.monotonic() - started
        if number == 0:
            series.rounds_left = self.limits.rounds_of(series.tool, spent)
        else:
            series.rounds_left -= 1
        if number > 0 or series.rounds_left <= 0:
            series.add(number, run)
        return expected or found

    def read(self, series, argv):
        """Post-processing of the last run's recording."""
        folder = self.scratch / ("run-" + series.tool.name)
        recordings = sorted((p for p in series.tool.left(folder) if ".log" not in p.name), key=lambda p: p.stat().st_mtime)
        command = series.tool.post(argv[0], recordings) if recordings else None
        if not command:
            return
        self.progress("%s: reading" % series.tool.name)
        process = Process(self.measure, command, folder, name="post")
        try:
            used = process.end(time.monotonic() + self.limits.run)
            series.post = {"command": " ".join(os.path.basename(str(word)) for word in command[:-1]),
                           "wall_s": used.wall, "cpu_s": used.cpu, "rss": used.rss,
                           "error": None if used.code == 0 else "status %d: %s" % (used.code, output_of(process, 120))}
        except Failed:
            series.post = {"command": str(command[0]), "wall_s": None, "cpu_s": None, "rss": None,
                           "error": "more than %g s" % self.limits.run}


# Blocks of one tree of bench/pair.c, which never stops within one.
TREE = 13529


class PairWorkload(workloads.Workload):
    """bench/pair.c as a workload: what it prints is a time, so it is not compared."""


def pair_counts(tool, pair, scale):
    """(pairs in a round and thread, rounds) of bench/pair.c: enough to measure, and a second or so of a slow peer."""
    count, rounds = tool.pairs, 9
    if pair.threads > 2:
        count, rounds = count // 4, 3
        if tool.pairs < 200000:
            count = max(500, 8 * count // pair.threads)
    if pair.pattern == "handover":
        count = max(500, count // 4)
    count = max(100, int(count * scale))
    if pair.pattern == "tree":
        count = -(-count // TREE) * TREE
    return count, rounds


class Pairs:
    """Measures rows of bench/pair.c."""

    def __init__(self, runner):
        self.runner = runner
        self.binary = workloads.build(workloads.cc(), usage.BENCH / "pair.c", runner.scratch / "pair", "-O2", "-pthread")

    @functools.cache
    def helper_start(self, tool):
        """CPU seconds of a tool's second process when there is next to nothing to do: no part of a pair's cost."""
        argv = [str(self.binary), "-n", "1", "-r", "1", "5"]
        used = [self.runner.run(tool, PairWorkload("start", "start"), argv) for _ in range(3)]
        return statistics.median(run["cpu"] - run["client_cpu"] for run in used)

    def measure(self, pair, tools, scale):
        """{tool name: {"ns": [...], "helper_ns": [...]} or {"error": text}}, each list with a value for a round."""
        rows = {tool.name: {"ns": [], "helper_ns": []} for tool in tools if not tool.slow and tool.name != "memray"}
        for number in range(self.runner.limits.rounds + 1):
            for tool in tools:
                row = rows.get(tool.name)
                if row is None or "error" in row or row.get("left") == 0:
                    continue
                self.runner.progress("%s: %s, round %d" % (pair.name, tool.name, number))
                self.one(pair, tool, scale, (number, row))
        return rows

    def one(self, pair, tool, scale, place):
        number, row = place
        count, rounds = pair_counts(tool, pair, scale)
        argv = [str(self.binary), "-p", pair.pattern, "-t", str(pair.threads), "-n", str(count), "-r", str(rounds),
                str(pair.depth)]
        try:
            row["start"] = self.helper_start(tool)
            started = time.monotonic()
            run = self.runner.run(tool, PairWorkload(pair.name, pair.title), argv)
        except Failed as error:
            row["error"] = str(error)
            return
        spent = time.monotonic() - started
        if number == 0:
            row["left"] = self.runner.limits.rounds_of(tool, 2 * spent)
        else:
            row["left"] -= 1
        if number > 0 or row["left"] == 0:
            row["ns"].append(float(run["out"].read_text().split()[0]))
            helper = max(0, run["cpu"] - run["client_cpu"] - row["start"])
            row["helper_ns"].append(helper * 1e9 / count / rounds / pair.threads)


def spread(values):
    """{"median", "min", "max"} of numbers."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)} if values else None
