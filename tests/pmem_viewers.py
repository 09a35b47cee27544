# SPDX-License-Identifier: BSD-2-Clause
"""pmem_viewers - profiles with what `pmem report --json` says of them and their exports, and the programs that read those."""
import json
import re
import shutil
import subprocess

import pytest

import pmem_report
import pmem_tool

PPROF = {"alloc_objects": "alloc_blocks", "alloc_space": "alloc_bytes", "inuse_objects": "live_blocks", "inuse_space": "live_bytes"}


@pytest.fixture(scope="module")
def tool(lib, tmp_path_factory):
    return pmem_tool.Tool(lib, tmp_path_factory.mktemp("tool"))


class Case:
    """A profile, what report says of it, and its exports."""

    def __init__(self, tool, path):
        self.tool, self.path, self.exports = tool, path, {}
        done = tool("report", "--json", path)
        assert (done.returncode, done.stderr) == (0, b"")
        self.document = json.loads(done.stdout)
        self.totals = self.document["totals"]

    def export(self, name, *options):
        key = (name, *options)
        if key not in self.exports:
            done = self.tool("export", "--format", name, *options, self.path)
            assert (done.returncode, done.stderr) == (0, b"")
            self.exports[key] = done.stdout
        return self.exports[key]

    def file(self, name):
        path = self.tool.folder() / ("profile." + name)
        path.write_bytes(self.export(name))
        return path


def compile_symbols(compiler, source, out, *flags):
    subprocess.run([compiler, "-g", "-O1", "-fno-optimize-sibling-calls", "-o", out, source, *flags, "-lpthread"], check=True)
    return out


@pytest.fixture(scope="module")
def case(tool, root, lib, tmp_path_factory):
    """The case of a program, run once."""
    import pmem_run
    folder, known = tmp_path_factory.mktemp("cases"), {}
    run = pmem_run.Runner(lib, folder)
    sources = {"c": ["gcc", "heap.c"], "c++": ["g++", "stl.cpp"], "threads": ["g++", "threads.cpp"]}

    def get(name):
        if name not in known:
            compiler, source = sources[name]
            if not shutil.which(compiler):
                pytest.skip("no " + compiler)
            program = compile_symbols(compiler, root / "tests" / "programs" / source, folder / name)
            done = run([program])
            assert done.code == 0
            path, = pmem_report.find(done.folder)
            known[name] = Case(tool, path)
        return known[name]
    return get


@pytest.fixture(params=["c", "c++", "threads"])
def each(request, case):
    return case(request.param)


def run_reader(*argv, **options):
    done = subprocess.run([str(a) for a in argv], capture_output=True, timeout=120, **options)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.decode()


def need(program):
    if not shutil.which(program):
        pytest.skip("no %s here" % program)


def ms_print(path):
    """Rows of the table, and bytes of the roots of the trees."""
    text = run_reader("ms_print", path)
    number = r" +([\d,]+)"
    rows = [[int(n.replace(",", "")) for n in row] for row in re.findall("^%s$" % (number * 6), text, re.M)]
    roots = [int(n.replace(",", "")) for n in re.findall(r"^[\d.]+% \(([\d,]+)B\) \(heap allocation functions\)", text, re.M)]
    peak = re.search(r"(\d+) \(peak\)", text)
    return rows, roots, int(peak.group(1)) if peak else None


def heaptrack_sum(path, cost):
    out = path.parent / ("stacks." + cost)
    run_reader("heaptrack_print", "-f", path, "-F", out, "--flamegraph-cost-type", cost)
    return sum(int(line.rpartition(" ")[2]) for line in out.read_text(errors="replace").splitlines())
