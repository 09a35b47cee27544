# SPDX-License-Identifier: BSD-2-Clause
"""printed - programs that measure themselves and print "name=value": memory by threads and call stacks, short commands.

The figure of a row is what the tool adds to the same program's bare figure of the same round."""
import shutil
import statistics
import subprocess

from runner import spread
import table
import workloads
from usage import BENCH, environment

MIB, GIB = 1 << 20, 1 << 30


class Printed(workloads.Workload):
    def same(self, text, expected):
        return True  # figures

    def figures(self, text):
        return {name: float(value) * self.scale for name, value in (word.split("=") for word in text.split())}

    def handles(self, tool):
        """Peers with a second process or a wrapper of their own would not be measured by what the program says."""
        return hasattr(tool, "library") or tool.name == "bare"


class Memory(Printed):
    """bench/many_stacks.c."""
    kind, figure, scale = "memory", "rss", 1024

    def __init__(self, threads, stacks, per_thread, target):
        super().__init__("memory:%d:%d:%d" % (threads, stacks, per_thread),
                         "%s thread%s, each with %s of %s call stacks" % (
                             format(threads, ","), "s"[: threads > 1], format(per_thread, ","), format(stacks, ",")))
        self.counts, self.target = (threads, stacks, per_thread), target

    def make(self, folder, part):
        out = workloads.build(workloads.cc(), BENCH / "many_stacks.c", folder / "many_stacks", "-O2", "-pthread")
        threads, stacks, per_thread = map(part, self.counts)
        return [out, threads, stacks, min(stacks, per_thread)]


class Startup(Printed):
    """A command that is over at once, by bench/repeat.c."""
    kind, figure, scale = "startup", "cpu_us", 1

    def __init__(self, name, command, target=None):
        super().__init__("startup:" + name, "`%s`" % " ".join(command))
        self.command, self.target = command, target

    def make(self, folder, part):
        if not shutil.which(self.command[0]):
            raise workloads.Missing("%s is not installed" % self.command[0])
        out = workloads.build(workloads.cc(), BENCH / "repeat.c", folder / "repeat", "-O2")
        return [out, part(200), *self.command]


class Repository(Startup):
    """In a repository of a hundred files."""

    def make(self, folder, part):
        argv = super().make(folder, part)
        for i in range(100):
            path = folder / "repository" / ("folder%d" % (i % 4)) / ("file%d" % i)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("%d\n" % i)
        who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        for arguments in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "files"]):
            subprocess.run(["git", *arguments], cwd=folder / "repository", env=environment(folder), check=True)
        return [argv[0], argv[1], "git", "-C", folder / "repository", *self.command[1:]]


def memory():
    return [Memory(1000, 100000, 200, GIB), Memory(64, 100000, 100000, GIB),
            # 4 MiB for the process, 58 bytes for each call stack, 64 KiB for each thread.
            Memory(1, 100000, 100000, 4 * MIB + 58 * 100000 + 64 * 1024),
            Memory(1000, 10, 10, 4 * MIB + 1000 * 64 * 1024)]


def startup():
    return [Startup("true", ["true"], 2000), Startup("sh", ["sh", "-c", ":"]), Repository("git", ["git", "status"])]


def row(workload, all_series):
    """The JSON of one row: each tool's figures, and what it adds to its baseline's."""
    cells = {}
    for name, series in all_series.items():
        base = all_series.get(series.tool.baseline)
        cell = {"error": series.error, "rounds": len(series.rounds), "written": series.written, **series.extra}
        values, others = series.extra.get(workload.figure), base and base.extra.get(workload.figure)
        if values and others:
            middle = statistics.median(others)
            cell["added"] = spread([value - middle for value in values])
        cells[name] = cell
    return {"name": workload.name, "title": workload.title, "target": workload.target, "tools": cells}


def missed(rows, text_of):
    """Sentences about rows in which pmem misses its target."""
    found = []
    for one in rows:
        cell = one["tools"].get("pmem") or {}
        if cell.get("error"):
            found.append("%s: pmem failed: %s" % (one["name"], cell["error"]))
        elif one["target"] and cell.get("added") and cell["added"]["median"] > one["target"]:
            found.append("%s: %s, target %s" % (one["name"], text_of(cell["added"]["median"]), text_of(one["target"])))
    return found


def microseconds(value):
    return "%.0f us" % value


def behind(data):
    return missed(data["memory"], table.size) + missed(data["startup"], microseconds)


def median(cell, name):
    return statistics.median(cell[name]) if cell.get(name) else None


def rows_of(rows, text_of, figure, details):
    """The lines of a table: program, tool, bare, added, details, target."""
    lines = []
    for one in rows:
        for tool, cell in one["tools"].items():
            if not cell.get("added") or tool == "bare":
                continue
            added = cell["added"]["median"]
            lines.append([one["title"], tool, text_of(median(cell, figure) - added), text_of(added), *details(cell, added),
                          text_of(one["target"]) if one["target"] else ""])
    return lines


def tables(data):
    lines = []
    if data["memory"]:
        lines += ["Resident memory (`bench/many_stacks.c`) when all threads are done, before any of them ends; files are the mapped"
                  " profile, and code:", ""]
        lines += table.table(
            ["program", "tool", "bare", "added", "private", "of files", "on disk", "target"],
            rows_of(data["memory"], table.size, "rss",
                    lambda cell, added: [table.size(median(cell, name)) for name in ("private", "file", "written")]))
    if data["startup"]:
        lines += ["CPU time of a command that is over at once (`bench/repeat.c`), median of 200 runs:", ""]
        lines += table.table(
            ["command", "tool", "bare", "added", "ratio", "elapsed", "target"],
            rows_of(data["startup"], microseconds, "cpu_us",
                    lambda cell, added: ["%.2f" % (median(cell, "cpu_us") / (median(cell, "cpu_us") - added)),
                                         microseconds(median(cell, "wall_us"))]))
    return lines
