# SPDX-License-Identifier: BSD-2-Clause
"""test_jit - names of code compiled at run time: from maps and logs of compilers, kept in the profile, and those of real languages."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import pmem_tool

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="its code is for x86_64")


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def only(folder):
    found = pmem_tool.profiles(folder)
    assert len(found) == 1, [p.name for p in found]
    return found[0]


def forget_maps(profile):
    for path in [pathlib.Path("/tmp/perf-%d.map" % profile.pid), pathlib.Path("/tmp/jit-%d.dump" % profile.pid),
                 *profile.path.parent.glob("jit-*.dump")]:
        path.unlink(missing_ok=True)


def report(tool, what):
    result = tool("report", "--json", what)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def is_compiled(frame):
    return frame["module"] is None and frame["address"] is not None


def compiled(data):
    """{function: (file, line, live bytes of the call stacks that it is on)} of code outside of modules"""
    found = {}
    for stack in data["stacks"]:
        for name, file, line in {(f["function"], f["file"], f["line"]) for f in stack["frames"]
                                 if is_compiled(f)}:
            live = found.get(name, (None, None, 0))[2]
            found[name] = file, line, live + stack["live_bytes"]
    return found


def site_of(stack):
    return stack["frames"][stack["site"]] if stack["frames"] else {"function": None}


def sum_of(data, function, key="alloc_bytes"):
    """Of a site."""
    return sum(s[key] for s in data["stacks"] if site_of(s)["function"] == function)


MAP = {"inner": (None, None, 1000), "second function; with blanks": (None, None, 500), "outer": (None, None, 1500)}
LOG = {"inner": ("/srv/made-up.jit", 10, 1000), "second function; with blanks": ("/srv/made-up.jit", 30, 500),
       "outer": ("/srv/made-up.jit", 20, 1500)}


@pytest.mark.parametrize("kind,expected", [("map", MAP), ("log", LOG)])
def test_names_are_kept_in_the_profile(tool, programs, kind, expected):
    result = tool("run", "-q", "--", programs("jit.c"), kind)
    assert result.returncode == 0, result.stderr
    profile = only(result.folder)
    forget_maps(profile)
    data = report(tool, profile.path)
    assert compiled(data) == expected
    assert data.get("damage") is None
    # Nothing was put into the file twice, and nothing is left over.
    assert profile.path.stat().st_size % 16384 == 0


@pytest.mark.parametrize("kind,expected", [("map", MAP), ("log", LOG)])
def test_without_run_the_report_looks_itself(tool, run, programs, kind, expected):
    result = run([programs("jit.c"), kind])
    profile = only(result.folder)
    before = profile.path.read_bytes()
    assert compiled(report(tool, profile.path)) == expected
    assert profile.path.read_bytes() == before
    forget_maps(profile)
    assert set(compiled(report(tool, profile.path))) == {None}


@pytest.mark.parametrize("name,shown", [
    ("LazyCompile:*foo bar /srv/my app/file.js:12", "LazyCompile:*foo bar /srv/my app/file.js:12"), ("get size", "get size"),
    ("js;fn with blanks", "js;fn with blanks"), ("JS:~<anonymous> /srv/index.js:1", "JS:~<anonymous> /srv/index.js:1"),
    ("JS:*get size /srv/index.js:1:2", "get size"), ("py::make.<locals>.run:/srv/shop.py", "make.<locals>.run"),
    ("vector<int> shop(int)", "vector<int> shop(int)"), ("void shop.Order.add(int)", "shop.Order.add"),
    ("int[] shop.Order.add(int[], long)", "shop.Order.add"), ("get shop.size", "get shop.size"),
    ("_Z4shopIiEvT_", "shop<...>")])
def test_names_are_shown_as_they_were_given(tool, run, programs, name, shown):
    """Blanks and brackets are not those of C++; what was mangled is C++."""
    result = run([programs("jit.c"), "none"])
    profile = only(result.folder)
    starts = {f["address"] & ~0xff for s in report(tool, profile.path)["stacks"] for f in s["frames"] if is_compiled(f)}
    path = pathlib.Path("/tmp/perf-%d.map" % profile.pid)
    path.write_text("".join("%x 100 %s\n" % (start, name) for start in sorted(starts)))
    try:
        page = tool("report", "--callers", profile.path, env={"COLUMNS": "200"}).stdout.decode()
        made = tool("bundle", profile.path, "-o", "x.bundle")
    finally:
        path.unlink()
    pattern = re.compile(r"(?<!\S)%s(?!\S)" % re.escape(shown))
    assert pattern.search(page), page
    bundled = tool("report", "--callers", made.folder / "x.bundle", env={"COLUMNS": "200"}).stdout.decode()
    assert pattern.search(bundled), bundled


@pytest.mark.parametrize("kind,expected", [("map", MAP), ("log", LOG)])
def test_a_process_that_runs(tool, run, programs, kind, expected):
    process = run.start([programs("jit.c"), kind, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        profile = only(process.folder)
        assert compiled(report(tool, process.pid)) == expected
        result = tool("bundle", process.pid, "-o", "live.bundle")
        assert result.returncode == 0, result.stderr
    finally:
        process.communicate(b"", timeout=20)
    forget_maps(profile)
    assert compiled(report(tool, result.folder / "live.bundle")) == expected


def test_nothing_is_added_without_a_map(tool, programs):
    result = tool("run", "-q", "--", programs("jit.c"), "none")
    assert set(compiled(report(tool, only(result.folder).path))) == {None}


def test_a_map_of_an_earlier_process_is_not_believed(tool, run, programs):
    process = run.start([programs("jit.c"), "none", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    path = pathlib.Path("/tmp/perf-%d.map" % process.pid)
    try:
        assert process.stdout.readline() == b"ready\n"
        path.write_text("1 ffffffffff wrong\n1000 10000000 wrong\n7f0000000000 10000000 wrong\n")
        os.utime(path, (1, 1))
        assert set(compiled(report(tool, process.pid))) == {None}
    finally:
        process.communicate(b"", timeout=20)
        path.unlink()


def test_case_40(tool, run, root, tmp_path):
    """Code without unwind tables and without a map: no names, no trouble.  With a map, the names that it tells."""
    program = tmp_path / "prog"
    subprocess.run(["gcc", "-g", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-w", "-o", program,
                    root / "tests/cases/40-jit-code-without-cfi/prog.c"], check=True)
    result = tool("run", "-q", "--", program)
    assert result.returncode == 0 and result.stdout == b"OK\n"
    profile = only(result.folder)
    data = report(tool, profile.path)
    assert set(compiled(data)) == {None}
    addresses = sorted({f["address"] for s in data["stacks"] for f in s["frames"] if is_compiled(f)})
    start = addresses[0] & ~4095
    path = pathlib.Path("/tmp/perf-%d.map" % profile.pid)
    path.write_text("".join("%x 100 routine %d\n" % (start + 256 * i, i) for i in range(3)))
    try:
        names = compiled(report(tool, profile.path))
    finally:
        path.unlink()
    assert names and set(names) <= {"routine 0", "routine 1", "routine 2"} and "routine 0" in names
    assert sum_of(data, "jit_cb_leak", "live_bytes") == 3000


def test_what_a_runtime_compiled_without_a_map(tool, root, tmp_path):
    """Summary and report say the same; and what to do, if the program is node."""
    said = []
    for name in ("node", "prog"):
        subprocess.run(["gcc", "-g", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-w", "-o", tmp_path / name,
                        root / "tests/cases/40-jit-code-without-cfi/prog.c"], check=True)
        result = tool("run", "-o", "x.prof", "--", tmp_path / name)
        summary = result.stderr.decode()
        text = " ".join(tool("report", "x.prof", cwd=result.folder).stdout.decode().split())
        losses = re.search(r"; (nothing lost; [1-9]\d* call stacks cut for want of unwind information)\n", summary)
        assert losses and losses.group(1) in text, summary
        verdict = re.search(r"  verdict  (.* holds [^,]+), ", summary)
        assert verdict and verdict.group(1) in text, summary
        said.append("NO NAMES of JavaScript: node tells them if it is started as `node --perf-basic-prof`." in text)
        assert name == "prog" or verdict.group(1).startswith("[anonymous]+0x")
    assert said == [True, False]


# -- real languages -----------------------------------------------------------------------------------
NODE = """const keep = [];
function leakSome(n) { for (let i = 0; i < n; i++) keep.push(Buffer.allocUnsafeSlow(50000 + i)); return keep.length; }
class Shop { order(n) { return leakSome(n); } }
const shop = new Shop();
for (let i = 0; i < 3000; i++) shop.order(1);
"""

PYTHON = """keep = []
def leak_some(n):
    for i in range(n):
        keep.append(bytearray(5000 + i))
class Shop:
    def order(self, n):
        leak_some(n)
for i in range(200):
    Shop().order(10)
"""

JAVA = """import java.nio.ByteBuffer;
import java.util.*;
public class Leak {
    static List<ByteBuffer> keep = new ArrayList<>();
    static void leakSome(int n) { keep.add(ByteBuffer.allocateDirect(n)); }
    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 40000; i++) {
            leakSome(1000);
            if (i == 20000) Thread.sleep(1000);
        }
    }
}
"""


def heaviest(data):
    """By bytes allocated: runtimes may free all at the end, and write their maps only if they end well."""
    return site_of(max(data["stacks"], key=lambda s: s["alloc_bytes"]))


def test_node(tool, tmp_path):
    if not shutil.which("node"):
        pytest.skip("no node")
    script = tmp_path / "shop.js"
    script.write_text(NODE)
    result = tool("run", "-q", "--no-log", "--", "node", "--perf-basic-prof", script)
    assert result.returncode == 0, result.stderr
    profile = only(result.folder)
    forget_maps(profile)
    data = report(tool, profile.path)
    site = heaviest(data)
    assert (site["function"], site["file"], site["line"]) == ("leakSome", str(script), 2)
    assert sum_of(data, "leakSome") > 3000 * 50000 * 0.9
    first = tool("report", "--by", "alloc", profile.path).stdout.decode()
    assert re.search(r"leakSome +shop\.js:2", first), first


def pythons():
    """A Python with -X perf, and one with -X perf_jit: where there are any."""
    names = ["python3", "python3.12", "python3.13", "python3.14"]
    return [p for p in map(shutil.which, names) if p] + sorted(map(str, (pathlib.Path.home() / ".pyenv/versions").glob("*/bin/python3")))


def python_with(option):
    for python in pythons():
        probe = subprocess.run([python, "-X", option, "-c", "import os, sys; print(os.getpid(), sys.is_stack_trampoline_active())"],
                               capture_output=True, text=True)
        if probe.returncode == 0 and probe.stdout.split()[1:] == ["True"]:
            pid = probe.stdout.split()[0]
            for path in "/tmp/perf-%s.map" % pid, "/tmp/jit-%s.dump" % pid:
                if os.path.exists(path):
                    os.unlink(path)
            return python
    return None


@pytest.mark.parametrize("option", ["perf", "perf_jit"])
def test_python(tool, tmp_path, option):
    python = python_with(option)
    if not python:
        pytest.skip("no Python that knows -X " + option)
    script = tmp_path / "shop.py"
    script.write_text(PYTHON)
    result = tool("run", "-q", "--no-log", "--", python, "-X", option, script)
    assert result.returncode == 0, result.stderr
    profile = only(result.folder)
    forget_maps(profile)
    data = report(tool, profile.path)
    site = heaviest(data)
    assert (site["function"], site["file"]) == ("leak_some", str(script))
    assert sum_of(data, "leak_some") >= 2000 * 5000
    assert re.search(r"leak_some +shop\.py", tool("report", "--by", "alloc", profile.path).stdout.decode())


def test_java(tool, tmp_path):
    if not shutil.which("javac") or not shutil.which("java"):
        pytest.skip("no java")
    (tmp_path / "Leak.java").write_text(JAVA)
    subprocess.run(["javac", "-d", tmp_path, tmp_path / "Leak.java"], check=True)
    options = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:+PreserveFramePointer"]
    result = tool("run", "-q", "--no-log", "--", "java", *options, "-cp", tmp_path, "Leak")
    if b"Unrecognized" in result.stderr + result.stdout:
        pytest.skip("this java writes no map")
    assert result.returncode == 0, result.stderr
    profile = only(result.folder)
    forget_maps(profile)
    data = report(tool, profile.path)
    # What runs before the function is compiled has no name of its own.
    assert heaviest(data)["function"].endswith("Leak.leakSome(int)")
    assert sum_of(data, heaviest(data)["function"]) > 10000 * 1000
