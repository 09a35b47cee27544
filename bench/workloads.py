# SPDX-License-Identifier: BSD-2-Clause
"""workloads - the programs that are measured: how each is built or found, what it reads, how it is driven.

prepare() runs once, in a folder of its own, and raises Missing where the program is not on this machine.  command()
is then run by each tool in turn; what it prints must not depend on the tool.  target is the ratio of CPU time that
is aimed at."""
import os
import pathlib
import shutil
import subprocess
import time

import inputs
from usage import BENCH, Failed, environment


class Missing(Exception):
    """Why a workload cannot run here."""


def find(name):
    path = shutil.which(name)
    if not path:
        raise Missing("%s is not installed" % name)
    return elf(path)


def elf(path):
    """path, if it is a program and not a script in front of one (a version manager's shim starts 30 processes)."""
    path = pathlib.Path(os.path.realpath(path))
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            raise Missing("%s is a script; the program itself is needed" % path)
    return path


def build(compiler, source, out, *flags):
    if not shutil.which(compiler):
        raise Missing("%s is not installed" % compiler)
    result = subprocess.run([compiler, *flags, "-o", out, source], stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        raise Missing("%s could not compile %s: %s" % (compiler, source.name, result.stderr.strip()[-200:]))
    return out


class Workload:
    target = None
    under_valgrind = False
    variables = {}

    def __init__(self, name, title, **options):
        self.name, self.title = name, title
        for key, value in options.items():
            setattr(self, key, value)

    def prepare(self, folder, scale):
        """scale: 1, or less for a run that only shows that everything works."""
        self.argv = self.make(folder, lambda full: max(1, int(full * scale)))

    def drive(self, process, folder, deadline):
        """Called while the command runs; may give it work.  Returns figures to keep, by name."""
        return {}

    def same(self, text, expected):
        return text == expected

    def figures(self, text):
        """Figures to keep, by name, of what the command printed."""
        return {}

    def handles(self, tool):
        return True


def cc():
    return os.environ.get("CC", "cc")


def make_factor(threads, count):
    def make(folder, part):
        out = build(cc(), BENCH / "factor.c", folder / "factor", "-O2", "-pthread")
        return [out, "-t", threads, part(count)]
    return make


def make_cubes(folder, part):
    return [build(cc(), BENCH / "cubes.c", folder / "cubes", "-O2"), part(10000)]


def make_stacks(folder, part):
    return [build("rustc", BENCH / "stacks.rs", folder / "stacks", "-O"), part(50000)]


def make_sites(folder, part):
    inputs.many_sites(folder / "sites.c", part(1000), 100)
    return [build(cc(), folder / "sites.c", folder / "sites", "-O0"), 50]


def make_paths(folder, part):
    inputs.many_paths(folder / "paths.c", part(1000), part(100000))
    return [build(cc(), folder / "paths.c", folder / "paths", "-O1")]


def make_jq(folder, part):
    program = find("jq")
    inputs.people(folder / "people.json", part(55000))
    query = ("group_by(.at.zone) | map({zone: .[0].at.zone, n: length, best: (max_by(.score).name),"
             " tags: ([.[].tags[]] | unique | length)})")
    return [program, "-c", query, folder / "people.json"]


def make_sqlite(folder, part):
    program = find("sqlite3")
    inputs.queries(folder / "queries.sql", part(150000))
    return [program, ":memory:", ".read %s" % (folder / "queries.sql")]


def make_perl(folder, part):
    program = find("perl")
    inputs.perl_script(folder / "words.pl", part(100000))
    return [program, folder / "words.pl"]


def make_xmllint(folder, part):
    program = find("xmllint")
    inputs.document(folder / "list.xml", part(120000))
    return [program, "--xpath", "count(//item[size>500]) + count(//item[@kind='jade'])", folder / "list.xml"]


def make_node(folder, part):
    program = find("node")
    inputs.node_script(folder / "items.js", part(20000))
    return [program, folder / "items.js"]


def make_compiler(folder, part):
    if not shutil.which("g++"):
        raise Missing("g++ is not installed")
    name = subprocess.run(["g++", "-print-prog-name=cc1plus"], stdout=subprocess.PIPE, text=True, check=True).stdout
    program = elf(shutil.which(name.strip()) or find("cc1plus"))
    inputs.templates(folder / "fill.ii", part(6), "g++")
    return [program, "-quiet", "-std=c++17", "-O1", folder / "fill.ii", "-o", "-"]


class Python(Workload):
    """The interpreter is the one that runs the benchmark, or --python's."""
    variables = {"PYTHONMALLOC": "malloc"}
    interpreter = None

    def make(self, folder, part):
        elf(self.interpreter)
        return [self.interpreter, BENCH / "objects.py", part(60)]


class Redis(Workload):
    """The server's CPU time, while redis-benchmark puts load on it through a socket in the run's folder."""
    tests = "set,get,incr,lpush,lpop,sadd,hset,zadd,mset"

    def make(self, folder, part):
        server = find("redis-server")
        self.client, self.control = find("redis-benchmark"), find("redis-cli")
        self.requests = part(60000)
        if server.name != "redis-server":
            # One program under several names, which it looks at: a link keeps the name.
            link = folder / "redis-server"
            link.symlink_to(server)
            server = link
        return [server, "--port", "0", "--unixsocket", "redis.sock", "--save", "", "--appendonly", "no", "--daemonize",
                "no", "--loglevel", "warning"]

    def drive(self, process, folder, deadline):
        socket = folder / "redis.sock"
        while not socket.exists():
            if process.popen.poll() is not None or time.monotonic() > deadline:
                raise Failed("redis-server does not listen")
            time.sleep(0.01)
        load = [self.client, "-s", socket, "-t", self.tests, "-n", str(self.requests), "-r", "50000", "-P", "8", "-d", "64",
                "--csv"]
        rows = self.ask(load, folder, deadline).splitlines()[1:]
        seconds = sum(self.requests / float(row.split('","')[1].strip('"')) for row in rows)
        if len(rows) != len(self.tests.split(",")):
            raise Failed("redis-benchmark gave %d results" % len(rows))
        self.ask([self.control, "-s", socket, "shutdown", "nosave"], folder, deadline)
        return {"requests_per_s": len(rows) * self.requests / seconds}

    def ask(self, command, folder, deadline):
        try:
            result = subprocess.run(command, cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                    timeout=max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Failed("%s: no answer" % command[0].name) from None
        if result.returncode != 0:
            raise Failed("%s returned %d" % (command[0].name, result.returncode))
        return result.stdout

    def same(self, text, expected):
        # The server's own messages carry its pid and the time.
        return True


def programs(python):
    """All of them, in the table's order."""
    return [
        Python("python", "python3, PYTHONMALLOC=malloc: objects, dictionaries, JSON", interpreter=python, target=1.15),
        Workload("sqlite", "sqlite3 in memory: insert, index, join, group, sort", make=make_sqlite, target=1.07,
                 under_valgrind=True),
        Workload("jq", "jq: groups a 12 MB JSON file", make=make_jq, target=1.10, under_valgrind=True),
        Workload("perl", "perl: hashes and regular expressions", make=make_perl, target=1.08, under_valgrind=True),
        Workload("cc1plus", "cc1plus -O1 on preprocessed templates", make=make_compiler, target=1.20),
        Workload("xmllint", "xmllint: XPath on a 13 MB document", make=make_xmllint, under_valgrind=True),
        Workload("node", "node: maps, strings, zlib", make=make_node),
        Redis("redis", "redis-server under redis-benchmark", target=1.10),
        Workload("factor", "factor.c: bignums of a few words, malloc-bound", make=make_factor(1, 60), target=1.8,
                 under_valgrind=True),
        Workload("factor-2", "factor.c in two threads", make=make_factor(2, 40), target=1.5),
        Workload("cubes", "cubes.c: sets of cubes, recursive, malloc-bound", make=make_cubes, target=1.8,
                 under_valgrind=True),
        Workload("stacks", "stacks.rs: 600,000 deep call stacks, 40 M allocations", make=make_stacks, target=2.2),
        Workload("paths", "many_paths.py: 100,000 call stacks, each used once", make=make_paths),
        Workload("sites", "100,000 call sites, each used 50 times", make=make_sites),
    ]


class Pair:
    """One row of the table of bench/pair.c."""

    def __init__(self, pattern, depth, threads, target=None):
        self.pattern, self.depth, self.threads, self.target = pattern, depth, threads, target
        self.name = "pair:%s:%d:%d" % (pattern, depth, threads)
        self.title = "%s, depth %d, %d thread%s" % (pattern, depth, threads, "s"[: threads > 1])


def pairs():
    targets = {("same", 5): 9, ("same", 20): 14, ("same", 60): 25, ("tree", 20): 50}
    patterns = ("same", "leaves", "sizes", "tree", "handover")
    single = [Pair(p, d, 1, targets.get((p, d))) for p in patterns for d in (5, 20, 60)]
    return single + [Pair(p, 20, t) for p in patterns for t in (2, 8, 64)]
