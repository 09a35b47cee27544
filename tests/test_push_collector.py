# SPDX-License-Identifier: BSD-2-Clause
"""test_push_collector - `pmem push` against a real OpenTelemetry collector: PMEM_TEST_COLLECTOR, as script/push-servers makes one.

Its receiver is OTLP over HTTP, and its file exporter writes what it got as JSON, each request before it answers.
"""
import json
import os
import pathlib
import socket
import subprocess

import pytest

import pmem_export
import pmem_push
import pmem_run
import pmem_tool
from pmem_push import TYPES, Program, report

PROGRAM = os.environ.get("PMEM_TEST_COLLECTOR")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="PMEM_TEST_COLLECTOR names no collector: see script/push-servers")

CONFIG = """
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:%d"}}}}
exporters: {file: {path: "%s", rotation: {max_megabytes: 1000}}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [file]}}
"""


class Collector:
    def __init__(self, folder):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.url, self.output = "http://127.0.0.1:%d" % self.port, folder / "profiles.json"
        self.config, self.log = folder / "config.yaml", folder / "log"
        self.config.write_text(CONFIG % (self.port, self.output))
        self.process = None

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([PROGRAM, "--config", self.config, "--feature-gates=service.profilesSupport"], stdout=log, stderr=log)
        pmem_run.wait_for(self.is_up, "the collector's start: %s" % self.log)

    def is_up(self):
        assert self.process.poll() is None, self.log.read_text()
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()

    def pushed(self):
        """All that has arrived, in its order."""
        if not self.output.exists():
            return []
        return [read(json.loads(line)) for line in self.output.read_text().splitlines(keepends=True) if line.endswith("\n")]


class Dictionary:
    def __init__(self, tables):
        self.strings = tables["stringTable"]
        self.functions, self.locations, self.stacks = tables["functionTable"], tables["locationTable"], tables["stackTable"]

    def text(self, row, name):
        return self.strings[row.get(name, 0)]

    def names(self, stack):
        lines = [line for i in self.stacks[stack]["locationIndices"] for line in self.locations[i].get("lines", [])]
        return tuple(self.text(self.functions[line["functionIndex"]], "nameStrindex") for line in lines)


def read(document):
    dictionary = Dictionary(document["dictionary"])
    resource, = document["resourceProfiles"]
    labels = {}
    for attribute in resource["resource"]["attributes"]:
        key = attribute.get("key") or dictionary.text(attribute, "keyStrindex")
        value = attribute["value"]
        labels[key] = value.get("stringValue") or value.get("intValue") or dictionary.text(value, "stringValueStrindex")
    scope, = resource["scopeProfiles"]
    rows = {}
    for profile in scope["profiles"]:
        rows[dictionary.text(profile["sampleType"], "typeStrindex")] = kind = pmem_export.Counter()
        for sample in profile.get("samples", []):
            kind[dictionary.names(sample["stackIndex"])] += sum(map(int, sample["values"]))
    times = {int(p["timeUnixNano"]) for p in scope["profiles"]}
    assert set(rows) == set(TYPES) and len(times) == 1
    return pmem_push.Pushed(labels, rows, times.pop(), None, frozenset(p["profileId"] for p in scope["profiles"]))


@pytest.fixture
def collector(tmp_path):
    there = Collector(tmp_path)
    there.start()
    yield there
    there.kill()


@pytest.fixture(scope="module")
def tool(lib, tmp_path_factory):
    return pmem_tool.Tool(lib, tmp_path_factory.mktemp("tool"))


def test_a_collector_has_the_reports_call_stacks_and_totals(collector, tool, run, programs):
    program = programs("threads.cpp")
    assert run([program]).code == 0
    path, = pathlib.Path(run.tmp).rglob("pmem.*.prof")
    document = report(tool, path)
    done = tool("push", "--to", "otlp", "--label", "env=test", collector.url, path)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    found, = collector.pushed()
    for kind in TYPES:
        assert found.rows[kind] == pmem_export.expected(document, pmem_push.TOTALS[kind]), kind
    assert found.totals() == pmem_push.expected(document["totals"])
    process = document["process"]
    assert found.labels == {"service.name": "threads", "process.pid": str(process["pid"]), "host.name": os.uname().nodename, "env": "test"}


def test_nothing_is_lost_when_the_collector_is_killed(collector, tool, run, programs):
    program = Program(run, programs("commands.c"))
    push = tool.start("push", "--every", 1, "--to", "otlp", "--spool", run.tmp / "spool", collector.url, program.pid, stdout=-1, stderr=-1)
    pmem_run.wait_for(collector.pushed, "the first profile")
    collector.kill()
    program.command("kkc")
    assert b"it is tried again" in push.stderr.readline()
    program.command("fck")
    push.kill()
    push.communicate()
    push = tool.start("push", "--every", 1, "--to", "otlp", "--spool", run.tmp / "spool", collector.url, program.pid, stdout=-1, stderr=-1)
    assert b"it is tried again" in push.stderr.readline()
    program.command("c")
    collector.start()
    program.end()
    out, err = push.communicate(timeout=pmem_run.TIMEOUT_S)
    assert push.returncode == 0 and b"takes profiles again" in err, err
    found = collector.pushed()
    assert len(found) >= 3 and len({p.identity for p in found}) == len(found)
    assert [p.time for p in found] == sorted(p.time for p in found)
    assert pmem_push.sums(found) == pmem_push.expected(report(tool, program.profile())["totals"])
