# SPDX-License-Identifier: BSD-2-Clause
"""pmem_run - runs programs with and without the library, and finds their logs.

Each run has an empty current directory of its own, where the logs of all its processes land.  PMEM_*
variables of the caller are removed, so that only what a test sets counts.
"""
import glob
import os
import pathlib
import subprocess
import time

import pmem_log

TIMEOUT_S = 120


def environment(lib, extra=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PMEM_") and k != "LD_PRELOAD"}
    env["LC_ALL"] = "C.UTF-8"
    if lib:
        env["LD_PRELOAD"] = str(lib)
    env.update(extra or {})
    return env


class Result:
    """A finished process and what it left in its folder."""

    def __init__(self, process, folder):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr
        self.folder = folder

    def logs(self, totals="all"):
        return [pmem_log.parse(p, totals) for p in pmem_log.find(self.folder)]

    def log_of(self, name, totals="all"):
        """The only log of programs whose file name is name."""
        logs = [l for l in self.logs(totals) if os.path.basename(l.exe) == name]
        assert len(logs) == 1, "%d logs of %s in %s" % (len(logs), name, sorted(os.listdir(self.folder)))
        return logs[0]


class Runner:
    def __init__(self, lib, tmp):
        self.lib, self.tmp, self.count = lib, pathlib.Path(tmp), 0

    def folder(self, label):
        self.count += 1
        path = self.tmp / ("%02d-%s" % (self.count, label))
        path.mkdir()
        path.chmod(0o755)
        return path

    def __call__(self, argv, env=None, lib=True, folder=None, **options):
        """Runs argv to its end; lib=False for a bare run.  Output is bytes."""
        folder = folder or self.folder("with" if lib else "bare")
        options.setdefault("timeout", TIMEOUT_S)
        options.setdefault("stdin", None if "input" in options else subprocess.DEVNULL)
        if "input" in options:
            del options["stdin"]
        process = subprocess.run([str(a) for a in argv], cwd=folder, env=environment(self.lib if lib else None, env),
                                 capture_output=True, **options)
        return Result(process, folder)

    def start(self, argv, env=None, lib=True, folder=None, **options):
        """Starts argv; the caller ends it.  .folder of the result is its current directory."""
        folder = folder or self.folder("with" if lib else "bare")
        process = subprocess.Popen([str(a) for a in argv], cwd=folder, env=environment(self.lib if lib else None, env),
                                   **options)
        process.folder = folder
        return process

    def both(self, argv, env=None, **options):
        """Bare and with the library: same exit code and stdout, or the test fails.  Returns the second."""
        bare = self(argv, env, lib=False, **options)
        mine = self(argv, env, **options)
        assert mine.code == bare.code, mine.err[-2000:]
        assert mine.out == bare.out
        assert_silent(mine.err)
        return mine


def installed(name):
    """Path of a shared library of the system, or None."""
    found = glob.glob("/usr/lib/*/" + name) + glob.glob("/lib/*/" + name)
    return found[0] if found else None


def assert_silent(err):
    """Nothing of ours on stderr, and no complaint of the loader about the preload."""
    for line in err.decode(errors="replace").splitlines():
        assert "pmem" not in line.lower() and "LD_PRELOAD" not in line, line


def wait_for(true, what, seconds=20):
    """Waits for an event that only polling shows."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = true()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("%s did not happen in %d s" % (what, seconds))


def children(pid):
    """Children of all threads of a process, dead ones too."""
    found = []
    for task in pathlib.Path("/proc/%d/task" % pid).iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def status(pid, field):
    """First word of a field in /proc/PID/status; None: there is no such field."""
    for line in pathlib.Path("/proc/%d/status" % pid).read_text().splitlines():
        if line.startswith(field + ":"):
            return line.split()[1]
    return None


class Compiler:
    """Compiles a program of the source folder at its first use."""

    def __init__(self, source, folder):
        self.source, self.folder = source, folder

    def __call__(self, name, *flags, out=None):
        source = self.source / name
        out = self.folder / pathlib.Path(name).parent / (out or source.stem)
        if not out.exists():
            out.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            cc = "g++" if source.suffix == ".cpp" else "gcc"
            subprocess.run([cc, "-g", "-O1", "-fno-optimize-sibling-calls", "-Wall", "-Wno-unused-result", "-o", out,
                            source, *flags, "-lpthread", "-ldl"], check=True)
        return out
