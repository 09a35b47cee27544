# SPDX-License-Identifier: BSD-2-Clause
"""test_push_servers - `pmem push` against Pyroscope and Parca themselves: PMEM_TEST_PYROSCOPE and PMEM_TEST_PARCA are their programs, as
script/push-servers builds them.  What they answer to queries is what `pmem report --json` says, also when they were away meanwhile.
"""
import gzip
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import time
import urllib.error
import urllib.request
from collections import Counter

import pytest

import pmem_export
import pmem_profile
import pmem_push
import pmem_run
import pmem_serve
import pmem_tool
from pmem_push import TYPES, Program, report

UNITS = {kind: "bytes" if kind.endswith("space") else "count" for kind in TYPES}


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def post(url, kind, body):
    """(headers, body) of the answer."""
    request = urllib.request.Request(url, body, {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=pmem_run.TIMEOUT_S) as answer:
        return answer.headers, answer.read()


def field(number, value):
    """Of a message: an integer, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    data = b""
    while value > 127:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def rows_of(profile):
    """{call stack: sum} of a pprof of one type; functions without names are left out."""
    top = pmem_export.message(profile)
    strings = [s.decode() for s in top[6]]
    functions = {f[1][0]: strings[f[2][0]] for f in map(pmem_export.message, top.get(5, []))}
    lines = {l[1][0]: [pmem_export.message(line)[1][0] for line in l.get(4, [])] for l in map(pmem_export.message, top.get(4, []))}
    rows = Counter()
    for sample in map(pmem_export.message, top.get(2, [])):
        value, = pmem_export.packed(sample[2])
        rows[tuple(functions[f] for l in pmem_export.packed(sample.get(1, [])) for f in lines[l])] += value
    return pmem_export.without_zeros(rows)


class Running:
    """A server with its data in a folder, which it finds again when it is started again."""
    variable = None

    def __init__(self, folder):
        self.folder, self.log, self.process = folder, folder / "log", None
        self.ports = free_ports(3)
        self.url = "http://127.0.0.1:%d" % self.ports[0]

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([os.environ[self.variable], *self.arguments()], cwd=self.folder, stdout=log, stderr=log)
        pmem_run.wait_for(self.is_up, "the server's start: %s" % self.log, seconds=120)

    def end(self):
        self.process.send_signal(self.ending)
        self.process.wait(timeout=pmem_run.TIMEOUT_S)


class Pyroscope(Running):
    variable = "PMEM_TEST_PYROSCOPE"
    adds_up = True
    ending = signal.SIGTERM  # what it has taken it keeps in memory for a while

    def arguments(self):
        http, grpc, members = self.ports
        owners = ("compactor.ring.instance-addr", "distributor.ring.instance-addr", "ingester.lifecycler.addr",
                  "overrides-exporter.ring.instance-addr", "query-frontend.instance-addr", "query-scheduler.ring.instance-addr",
                  "store-gateway.sharding-ring.instance-addr", "server.http-listen-address", "server.grpc-listen-address",
                  "memberlist.bind-addr", "memberlist.advertise-addr")
        return ["-%s=127.0.0.1" % owner for owner in owners] + [
            "-server.http-listen-port=%d" % http, "-server.grpc-listen-port=%d" % grpc, "-memberlist.bind-port=%d" % members,
            "-pyroscopedb.data-path=data", "-storage.backend=filesystem", "-storage.filesystem.dir=blocks", "-usage-stats.enabled=false",
            "-self-profiling.disable-push=true", "-ingester.min-ready-duration=0s"]

    def is_up(self):
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        try:
            return urllib.request.urlopen(self.url + "/ready", timeout=5).read().strip() == b"ready"
        except (urllib.error.URLError, OSError):
            return False

    def query(self, labels, kind, since_ms, until_ms):
        """querier.v1.QuerierService/SelectMergeProfile (api/querier/v1/querier.proto): the sum of all profiles of a time."""
        selector = "{%s}" % ",".join('%s="%s"' % pair for pair in labels.items())
        asked = field(1, b"memory:%s:%s:space:bytes" % (kind.encode(), UNITS[kind].encode())) + field(2, selector.encode())
        _, answer = post(self.url + "/querier.v1.QuerierService/SelectMergeProfile", "application/proto",
                         asked + field(3, since_ms) + field(4, until_ms))
        return rows_of(answer)


class Parca(Running):
    variable = "PMEM_TEST_PARCA"
    adds_up = False
    ending = signal.SIGKILL
    scraped = ()  # configurations of what it asks itself

    def arguments(self):
        (self.folder / "parca.yaml").write_text(json.dumps(
            {"object_storage": {"bucket": {"type": "FILESYSTEM", "config": {"directory": "blocks"}}}, "scrape_configs": self.scraped}))
        return ["--config-path=parca.yaml", "--http-address=127.0.0.1:%d" % self.ports[0], "--storage-active-memory=134217728",
                "--enable-persistence", "--storage-enable-wal", "--debuginfod-upstream-servers=", "--debuginfo-cache-dir=cache"]

    def is_up(self):
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.ports[0])) == 0

    def query(self, labels, kind, since_ms, until_ms):
        """parca.query.v1alpha1.QueryService/Query (proto/parca/query/v1alpha1/query.proto), by gRPC-Web: a merge, as pprof."""
        def moment(ms):
            return field(1, ms // 1000) + field(2, ms % 1000 * 1000000)
        query = "memory:%s:%s:space:bytes{%s}" % (kind, UNITS[kind], ",".join('%s="%s"' % pair for pair in labels.items()))
        merge = field(1, query.encode()) + field(2, moment(since_ms)) + field(3, moment(until_ms))
        headers, answer = post(self.url + "/parca.query.v1alpha1.QueryService/Query", "application/grpc-web+proto",
                               pmem_push.frame(field(1, 2) + field(3, merge) + field(5, 1)))
        if headers["grpc-status"] == "5":
            return Counter()
        assert "grpc-status" not in headers, headers["grpc-message"]
        flags, size = struct.unpack_from(">BI", answer)
        assert flags == 0 and answer[5 + size:] == pmem_push.trailers(b"grpc-status: 0\r\n")
        return rows_of(gzip.decompress(pmem_export.message(answer[5:5 + size])[6][0]))


SERVERS = {"pyroscope": Pyroscope, "pyroscope-ingest": Pyroscope, "parca": Parca}
_running = {}


@pytest.fixture(params=SERVERS)
def to(request):
    return request.param


@pytest.fixture
def server(to, tmp_path_factory):
    """One for all tests, but it may have been started again."""
    kind = SERVERS[to]
    if kind.variable not in os.environ:
        pytest.skip("%s names no server: see script/push-servers" % kind.variable)
    if kind not in _running:
        _running[kind] = kind(tmp_path_factory.mktemp(kind.__name__))
        _running[kind].start()
    return _running[kind]


@pytest.fixture(scope="module", autouse=True)
def ended_servers():
    yield
    for server in _running.values():
        server.process.kill()
        server.process.wait()
    _running.clear()


@pytest.fixture(scope="module")
def tool(lib, tmp_path_factory):
    return pmem_tool.Tool(lib, tmp_path_factory.mktemp("tool"))


def end_ms(document):
    process = document["process"]
    return (process["start_realtime_ns"] + process["duration_ns"]) // 1000000


def named(rows):
    """Without functions that have no names: a server leaves those to whoever has symbols."""
    found = Counter()
    for stack, amount in rows.items():
        found[tuple(name for name in stack if "+0x" not in name)] += amount
    return found


def test_a_query_has_the_reports_call_stacks_and_totals(to, server, tool, run, programs):
    program = programs("threads.cpp")
    assert run([program]).code == 0
    path, = pathlib.Path(run.tmp).rglob("pmem.*.prof")
    document = report(tool, path)
    labels = {"service_name": "threads", "env": to.replace("-", "_")}
    done = tool("push", "--to", to, "--label", "env=" + labels["env"], server.url, path)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    for kind in TYPES:
        rows = server.query(labels, kind, end_ms(document) - 1000, end_ms(document) + 1000)
        assert sum(rows.values()) == document["totals"][pmem_push.TOTALS[kind]] > 0, kind
        assert named(rows) == named(pmem_export.expected(document, pmem_push.TOTALS[kind])), kind
    assert not server.query({**labels, "env": "other"}, "alloc_space", end_ms(document) - 1000, end_ms(document) + 1000)


def test_nothing_is_lost_when_the_server_and_the_pusher_are_ended(to, server, tool, run, programs):
    program = Program(run, programs("commands.c"))
    options = ("push", "--every", 1, "--to", to, "--spool", run.tmp / "spool", server.url, program.pid)
    push = tool.start(*options, stdout=-1, stderr=-1)
    pmem_run.wait_for(lambda: list((run.tmp / "spool").glob("*.base")) and not list((run.tmp / "spool").glob("*." + to)), "the first push")
    server.end()
    program.command("kkc")
    assert b"it is tried again" in push.stderr.readline()
    program.command("fck")
    push.kill()
    push.communicate()
    push = tool.start(*options, stdout=-1, stderr=-1)
    assert b"it is tried again" in push.stderr.readline()
    program.command("c")
    server.start()
    program.end()
    out, err = push.communicate(timeout=pmem_run.TIMEOUT_S)
    assert push.returncode == 0 and b"takes profiles again" in err, err
    document = report(tool, program.profile())
    labels, end = {"service_name": "commands", "pid": str(program.pid)}, end_ms(document)
    for kind in TYPES:
        since = document["process"]["start_realtime_ns"] // 1000000 if server.adds_up and kind.startswith("alloc") else end
        rows = server.query(labels, kind, since, end + 1)
        assert sum(rows.values()) == document["totals"][pmem_push.TOTALS[kind]] > 0, kind


def test_an_old_profile_is_not_taken_and_dropped(to, server, tool, tmp_path):
    if not server.adds_up:
        pytest.skip("Parca takes profiles of any time")
    made = pmem_profile.Profile()
    made.header(pid=11, program="/srv/old", start_realtime_ns=10 ** 18)
    module = made.module("/srv/old", b"id")
    made.count_wide(0, made.stack([(module, 0x10)]), alloc_count=1, alloc_bytes=100)
    made.save(tmp_path / "old.prof")
    done = tool("push", "--to", to, server.url, tmp_path / "old.prof")
    assert done.returncode == 1 and b"invalid_argument" in done.stderr and b"the profile was dropped" in done.stderr, done.stderr


def test_parca_scrapes_what_pmem_serve_has(tool, programs, tmp_path):
    if Parca.variable not in os.environ:
        pytest.skip("%s names no server: see script/push-servers" % Parca.variable)
    program = pmem_serve.Served(tool, programs("served.c"), tmp_path)
    program.tell("k 10")
    parca = Parca(tmp_path)
    with pmem_serve.Server(tool, program.pid) as serve:
        kinds = {"memory": {"enabled": True, "path": "/debug/pprof/heap"}}
        kinds.update({kind: {"enabled": False} for kind in ("block", "goroutine", "mutex", "process_cpu")})
        parca.scraped = [{"job_name": "pmem", "scrape_interval": "1s", "scrape_timeout": "2s",
                          "static_configs": [{"targets": ["127.0.0.1:%d" % serve.port]}],
                          "profiling_config": {"path_prefix": "/" + serve.token, "pprof_config": kinds}}]
        begin = int(time.time() * 1000)
        parca.start()
        try:
            def seen(kind):
                return parca.query({"job": "pmem"}, kind, begin - 1000, int(time.time() * 1000) + 1000)
            pmem_run.wait_for(lambda: seen("inuse_space"), "the scrape")
            scrapes = 0
            for kind, amount in (("inuse_space", 10000), ("inuse_objects", 10), ("alloc_objects", 11), ("alloc_space", 10100)):
                times, rest = divmod(sum(seen(kind).values()), amount)
                assert rest == 0 and times >= max(scrapes, 1), kind  # the merge adds up what it was given each time
                scrapes = times
        finally:
            parca.end()
    program.end()
