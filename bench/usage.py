# SPDX-License-Identifier: BSD-2-Clause
"""usage - runs commands through bench/measure.c and collects what they used.

Times are in seconds, sizes in bytes.  Every command has an empty current directory and an environment without
the caller's variables, so that two runs differ only in what is measured."""
import os
import pathlib
import signal
import subprocess
import time

BENCH = pathlib.Path(__file__).resolve().parent


class Failed(Exception):
    """A command that did not do what it should; the message is for the table."""


class Slow(Failed):
    """A command that was stopped because it took too long."""


class Usage:
    """Of one command and its children: status, wall, CPU, largest resident set."""

    def __init__(self, text):
        status, wall_ns, cpu_ns, rss_kib = (int(word) for word in text.split())
        self.code = os.waitstatus_to_exitcode(status)
        self.wall, self.cpu, self.rss = wall_ns / 1e9, cpu_ns / 1e9, rss_kib * 1024


def environment(home):
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(home), "LC_ALL": "C.UTF-8",
            "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def compile_measure(folder):
    out = folder / "measure"
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", out, BENCH / "measure.c"], check=True)
    return out


class Process:
    """A command that runs under measure; end() waits for it and gives its Usage."""

    def __init__(self, measure, command, folder, variables=(), name="main"):
        self.result = folder / (".usage." + name)
        self.out, self.err = folder / (".out." + name), folder / (".err." + name)
        names = ["%s=%s" % pair for pair in dict(variables).items()]
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.popen = subprocess.Popen([measure, self.result, *names, *map(str, command)], cwd=folder,
                                          env=environment(folder), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                          start_new_session=True)

    def end(self, deadline):
        try:
            code = self.popen.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
            raise Slow("too slow") from None
        if code != 0:
            raise Failed("measure returned %d" % code)
        return Usage(self.result.read_text())

    def kill(self):
        """Ends the command with all of its session."""
        if self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)
            self.popen.wait()


def output_of(process, limit=300):
    return process.err.read_text(errors="replace")[-limit:].strip().replace("\n", " | ")
