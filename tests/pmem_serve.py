# SPDX-License-Identifier: BSD-2-Clause
"""pmem_serve - starts `pmem serve`, asks it, and has a program at hand whose heap does as it is told.

    with pmem_serve.Server(tool, folder) as server:
        server.get("metrics").body
"""
import collections
import http.client
import os
import re
import signal
import subprocess

import pytest

import pmem_run
import pmem_tool

HOSTILE = 'a"b\\c\n<img src=x onerror=hit()>{}'  # a program's name
Answer = collections.namedtuple("Answer", "status headers body")


class Server:
    """`pmem serve` with arguments; .host, .port, .token, .base ("/TOKEN/")."""

    def __init__(self, tool, *argv, env=None, **options):
        # What AddressSanitizer keeps of freed memory must not pass for growth.
        asan = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"
        self.process = tool.start("serve", *argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env={"ASAN_OPTIONS": asan.strip(":"), **(env or {})}, **options)
        line = self.process.stdout.readline().decode()
        found = re.fullmatch(r"pmem serve: http://(\S+):(\d+)/([\w-]+)/\n", line)
        if not found:
            raise AssertionError("%r %r" % (line, self.process.communicate()[1]))
        self.host, self.port, self.token = found[1].strip("[]"), int(found[2]), found[3]
        self.base = "/%s/" % self.token
        self.url = line.split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, number=signal.SIGTERM):
        """(exit status, standard error)."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            error = self.process.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, error.decode()

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=60)

    def ask(self, path, method="GET", headers=None, body=None, connection=None):
        """path: from the root on."""
        mine = connection or self.connect()
        mine.request(method, path, body=body, headers=headers or {})
        answer = mine.getresponse()
        result = Answer(answer.status, dict(answer.getheaders()), answer.read())
        if not connection:
            mine.close()
        return result

    def get(self, path="", **options):
        """path: behind the token."""
        return self.ask(self.base + path, **options)

    def post(self, path, **options):
        return self.ask(self.base + path, method="POST", **options)

    def metrics(self):
        return read_metrics(self.get("metrics").body.decode())

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def open_moments(self):
        """How many of them are moments.  Others come and go: connections, and processes that somebody else records."""
        count, folder = 0, "/proc/%d/fd" % self.process.pid
        for name in os.listdir(folder):
            try:
                count += "/moment.bundle" in os.readlink(os.path.join(folder, name))
            except FileNotFoundError:
                pass
        return count

    def resident(self):
        """Bytes that are its own."""
        with open("/proc/%d/status" % self.process.pid) as file:
            return int(re.search(r"RssAnon:\s+(\d+) kB", file.read()).group(1)) * 1024


def read_metrics(text):
    """{name: {labels: value}} with labels as a tuple of pairs; checks the format (prometheus.io, "Exposition formats")."""
    found, types, helped = {}, {}, set()
    last = None
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        comment = re.fullmatch(r"# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)", line)
        if comment and comment[1] == "HELP":
            assert comment[2] not in helped, line
            helped.add(comment[2])
        elif comment:
            assert comment[2] not in types and comment[3] in ("gauge", "counter"), line
            types[comment[2]] = comment[3]
            found[comment[2]] = {}
            last = comment[2]
        else:
            sample = re.fullmatch(r'(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)', line)
            assert sample, line
            name = sample[1]
            assert name == last and name in helped, line
            assert name.endswith("_total") == (types[name] == "counter"), line
            labels = tuple((k, re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], v))
                           for k, v in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample[2] or ""))
            assert labels not in found[name], line
            found[name][labels] = float(sample[3])
    return found


class Served:
    """tests/programs/served.c under the recorder."""

    def __init__(self, tool, program, folder, name="pmem.prof"):
        self.process = tool.start("run", "-q", "--no-log", "-o", name, "--", program, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, cwd=folder)
        self.path = folder / name
        self.tell("t 1")
        self.pid = int.from_bytes(self.path.read_bytes()[64:68], "little")

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        assert self.process.stdout.read(1) == b"."

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.write(b"q\n")
            self.process.stdin.flush()
        self.process.stdin.close()
        self.process.wait(timeout=pmem_run.TIMEOUT_S)
        self.process.stdout.close()


# -- fixtures, for tests that import them ---------------------------------------------------------------
@pytest.fixture(scope="module")
def tool(lib, tmp_path_factory):
    return pmem_tool.Tool(lib, tmp_path_factory.mktemp("tool"))


@pytest.fixture(scope="module")
def served(tool, programs, tmp_path_factory):
    """A program that does as it is told, in a folder of its own."""
    made = Served(tool, programs("served.c"), tmp_path_factory.mktemp("served"))
    yield made
    made.end()


@pytest.fixture(scope="module")
def server(tool, served):
    """Serves the folder of the program, and whatever else runs."""
    with Server(tool, served.path.parent) as made:
        yield made
    assert made.process.returncode == 0
