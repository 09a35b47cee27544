#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""serve.py - CPU time of an answer of `pmem serve`, of several builds in turn.

    bench/serve.py [-r ROUNDS] BUILD [BUILD...]     default 10 rounds

Two programs are recorded, and wait: python3 with some extension modules (60 files or so, names from symbol tables), and bench/many_paths.py's,
built with -g, whose sites are inlined functions.  A server of each build serves each of them.  In each round every server is asked for the
page's data, the pprof profile and the metrics once, when what it has made is too old to be given again.  Prints the first answer's time and the
median of the others, in ms, and each build's share of the first build's.  The last build records."""
import argparse
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
WHAT = {"page": "p/%d/data", "pprof": "p/%d/debug/pprof/heap", "metrics": "metrics"}
PYTHON = "import ssl, sqlite3, json, decimal, ctypes, curses, lzma, bz2, asyncio; " \
    "kept = [str(i) * 20 for i in range(200000)]; print(flush=True); input()"


def many_paths(folder):
    """A program with 20,000 call stacks that waits in the end."""
    source = subprocess.run([sys.executable, HERE + "/many_paths.py", "2000", "20000"], check=True, capture_output=True, text=True).stdout
    with open(folder + "/paths.c", "w") as file:
        file.write(source.replace("\treturn 0;", "\textern int puts(const char *), getchar(void), fflush(void *);\n"
                                  '\tputs("");\n\tfflush(0);\n\treturn getchar() & 1;'))
    subprocess.run(["gcc", "-g", "-O1", "-o", folder + "/paths", folder + "/paths.c"], check=True)
    return [folder + "/paths"]


def record(build, argv, folder):
    """(process, the recorded process's id)"""
    process = subprocess.Popen([build + "/pmem", "run", "-q", "--no-log", "-o", "pmem.prof", "--", *argv], cwd=folder, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env={**os.environ, "PMEM_LIB": build + "/libpmem.so"})
    process.stdout.readline()
    with open(folder + "/pmem.prof", "rb") as file:
        return process, int.from_bytes(file.read(68)[64:68], "little")


class Server:
    def __init__(self, build, pid):
        self.pid = pid
        self.process = subprocess.Popen([build + "/pmem", "serve", str(pid)], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.times = {what: [] for what in WHAT}

    def cpu_ms(self):
        total = 0
        for path in glob.glob("/proc/%d/task/*/schedstat" % self.process.pid):
            with open(path) as file:
                total += int(file.read().split()[0])
        return total / 1e6

    def ask(self, what):
        before = self.cpu_ms()
        path = WHAT[what]
        with urllib.request.urlopen(self.url + (path % self.pid if "%" in path else path)) as answer:
            answer.read()
        self.times[what].append(self.cpu_ms() - before)

    def end(self):
        self.process.terminate()
        self.process.wait()


def measure(name, builds, argv, rounds):
    with tempfile.TemporaryDirectory() as folder:
        process, pid = record(builds[-1], argv, folder)
        servers = [Server(build, pid) for build in builds]
        try:
            for i in range(rounds + 1):
                for what in WHAT:
                    for server in servers if i % 2 else reversed(servers):
                        server.ask(what)
                # What was made is given again for a second, or five times the time that it took.
                time.sleep(max(1.1, 6 * max(t[-1] for s in servers for t in s.times.values()) / 1000))
            show(name, servers)
        finally:
            for server in servers:
                server.end()
            process.communicate(b"\n")


def show(name, servers):
    for what in WHAT:
        first = statistics.median(servers[0].times[what][1:])
        print("| %s, %s | %s |" % (name, what, " | ".join("%.1f, %.1f (%.2f)" % (
            s.times[what][0], statistics.median(s.times[what][1:]), statistics.median(s.times[what][1:]) / first) for s in servers)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-r", dest="rounds", type=int, default=10)
    parser.add_argument("builds", nargs="+", metavar="BUILD")
    given = parser.parse_args()
    builds = [os.path.abspath(build) for build in given.builds]
    measure("python3", builds, [sys.executable, "-c", PYTHON], given.rounds)
    with tempfile.TemporaryDirectory() as folder:
        measure("many_paths", builds, many_paths(folder), given.rounds)


if __name__ == "__main__":
    main()
