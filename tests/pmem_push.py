# SPDX-License-Identifier: BSD-2-Clause
"""pmem_push - a server that takes what `pmem push` sends, answers as it is told to, and readers of the requests, made from the servers'
own descriptions (doc/PUSH.md), not from the code that writes them.
"""
import email.parser
import email.policy
import gzip
import http.server
import json
import ssl
import struct
import subprocess
import threading
import urllib.parse

import pytest

import pmem_export
import pmem_run
import pmem_tool

TYPES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
TOTALS = {"alloc_objects": "alloc_blocks", "alloc_space": "alloc_bytes", "inuse_objects": "live_blocks", "inuse_space": "live_bytes"}
PATHS = {"pyroscope": "/push.v1.PusherService/Push", "pyroscope-ingest": "/ingest", "parca": "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
         "otlp": "/v1development/profiles"}


def frame(body, flags=0):
    """Of gRPC-Web."""
    return struct.pack(">BI", flags, len(body)) + body


def trailers(text):
    return frame(text, 0x80)


class Answer:
    """status 0: the connection is closed without an answer, after at most read bytes of the body; silent: no answer ever comes.
    body None: what the server says when all is well."""

    def __init__(self, status=200, body=None, headers=(), read=None, silent=False):
        self.status, self.body, self.headers, self.read, self.silent = status, body, dict(headers), read, silent


class Request:
    def __init__(self, handler, body, answer, number):
        self.method, self.target, self.headers = handler.command, handler.path, handler.headers
        self.body, self.answer, self.number = body, answer, number
        self.path, _, self.query = handler.path.partition("?")
        self.taken = 200 <= answer.status < 300 and not answer.silent and "grpc-status" not in answer.headers


class Server:
    """Answers with each of answers in turn, then with the default.  port 0: any that is free."""

    def __init__(self, *answers, default=Answer(), port=0, tls=None):
        self.answers, self.default, self.requests = list(answers), default, []
        self.changed, self.closing = threading.Condition(), threading.Event()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def do_POST(self):
                server.handle(self)

            do_GET = do_PUT = do_POST

            def log_message(self, *_):
                pass

        class Threads(http.server.ThreadingHTTPServer):
            daemon_threads, allow_reuse_address = True, True

            def handle_error(self, *_):
                pass

        self.http = Threads(("127.0.0.1", port), Handler)
        if tls:
            self.http.socket = tls.wrap_socket(self.http.socket, server_side=True)
        self.port = self.http.server_address[1]
        self.url = "%s://127.0.0.1:%d" % ("https" if tls else "http", self.port)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def handle(self, handler):
        with self.changed:
            answer = self.answers.pop(0) if self.answers else self.default
        length = int(handler.headers["Content-Length"])
        body = handler.rfile.read(length if answer.read is None else min(length, answer.read))
        with self.changed:
            self.requests.append(Request(handler, body, answer, len(self.requests)))
            self.changed.notify_all()
        if answer.silent:
            self.closing.wait(60)
        if answer.silent or answer.status == 0:
            handler.close_connection = True
            return
        content = answer.body
        if content is None:
            content = frame(b"") + trailers(b"grpc-status: 0\r\n") if handler.path.endswith(PATHS["parca"]) else b"{}"
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def wait(self, count, seconds=30):
        """The first count requests, when they have come."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.requests) >= count, seconds), \
                "%d requests instead of %d" % (len(self.requests), count)
            return list(self.requests[:count])

    def wait_taken(self, count, seconds=30):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.taken()) >= count, seconds), \
                "%d profiles instead of %d" % (len(self.taken()), count)
            return self.taken()

    def taken(self):
        return [r for r in self.requests if r.taken]

    def close(self):
        self.closing.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def certificate(folder, name="server"):
    """Paths of a certificate for 127.0.0.1 that vouches for itself, and of its key."""
    cert, key = folder / (name + ".pem"), folder / (name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1", "-out", cert, "-keyout", key],
                   check=True, capture_output=True)
    return cert, key


def tls(cert, key, client=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    if client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client)
    return context


# -- requests -------------------------------------------------------------------------------------------
class Pushed:
    """What a request says: labels, {type: {call stack: sum}}, times in nanoseconds, and what makes the profile another one."""

    def __init__(self, labels, rows, time, duration, identity, query=None):
        self.labels, self.rows, self.time, self.duration, self.identity, self.query = labels, rows, time, duration, identity, query

    def total(self, kind):
        return sum(self.rows[kind].values())

    def totals(self):
        return {kind: self.total(kind) for kind in TYPES}


def nameless_of(profile, document):
    """Names functions that have none, if the document says where modules lie; the address of a call is its return address - 1."""
    biases = {(m["path"], m["start"]): m["bias"] for m in document["modules"]} if document else {}

    def of(location, mapping):
        path, start = profile.strings[mapping[5][0]], mapping[2][0]
        return "%s+0x%x" % (path.rpartition("/")[2], location[3][0] + 1 - biases.get((path, start), start))
    return of


def of_pprof(data, document):
    profile = pmem_export.Pprof(data)
    assert profile.types == [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]
    rows = profile.rows(nameless_of(profile, document))
    used = {i for s in profile.samples for i in pmem_export.packed(s[1])}
    assert set(profile.locations) - used <= {max(profile.locations)}  # the last is that of call stacks without frames
    return rows, profile.time, profile.duration


def read_pyroscope(request, document):
    assert request.headers["Content-Type"] == "application/proto" and request.headers["Connect-Protocol-Version"] == "1"
    assert not request.query
    push = pmem_export.message(request.body)
    assert set(push) == {1} and len(push[1]) == 1
    series = pmem_export.message(push[1][0])
    assert set(series) == {1, 2} and len(series[2]) == 1
    pairs = [tuple(pmem_export.message(l)[n][0].decode() for n in (1, 2)) for l in series[1]]
    labels = dict(pairs)
    assert len(labels) == len(pairs)
    assert (labels.pop("__name__"), labels.pop("__delta__")) == ("memory", "false")
    sample = pmem_export.message(series[2][0])
    assert set(sample) == {1, 2}
    uuid = sample[2][0].decode()
    assert [len(part) for part in uuid.split("-")] == [8, 4, 4, 4, 12] and uuid[14] == "4" and uuid[19] in "89ab"
    return Pushed(labels, *of_pprof(sample[1][0], document), uuid)


def read_ingest(request, document):
    query = urllib.parse.parse_qs(request.query, strict_parsing=True)
    assert set(query) == {"name", "from", "until", "spyName"} and query["spyName"] == ["pmem"]
    service, brace, rest = query["name"][0].partition("{")
    assert brace and rest.endswith("}")
    labels = dict(pair.split("=", 1) for pair in rest[:-1].split(",") if pair)
    labels["service_name"] = service
    head = b"Content-Type: " + request.headers["Content-Type"].encode() + b"\r\n\r\n"
    parts = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + request.body)
    found = {p.get_param("name", header="content-disposition"): p.get_payload(decode=True) for p in parts.iter_parts()}
    assert set(found) == {"profile", "sample_type_config"}
    config = json.loads(found["sample_type_config"])
    assert set(config) == set(TYPES) and not any(c["cumulative"] for c in config.values())
    assert {k: c.get("aggregation") for k, c in config.items()} == {
        "alloc_objects": None, "alloc_space": None, "inuse_objects": "average", "inuse_space": "average"}
    rows, time, duration = of_pprof(found["profile"], document)
    assert (int(query["from"][0]), int(query["until"][0])) == (time - duration, time)
    return Pushed(labels, rows, time, duration, parts.get_boundary())


def read_parca(request, document):
    assert request.headers["Content-Type"] == "application/grpc-web+proto" and request.headers["X-Grpc-Web"] == "1" and not request.query
    flags, size = struct.unpack_from(">BI", request.body)
    assert (flags, size) == (0, len(request.body) - 5)
    write = pmem_export.message(request.body[5:])
    assert set(write) == {2} and len(write[2]) == 1
    series = pmem_export.message(write[2][0])
    assert set(series) == {1, 2} and len(series[1]) == len(series[2]) == 1
    pairs = [tuple(pmem_export.message(l)[n][0].decode() for n in (1, 2)) for l in pmem_export.message(series[1][0])[1]]
    labels = dict(pairs)
    assert len(labels) == len(pairs) and labels.pop("__name__") == "memory"
    sample = pmem_export.message(series[2][0])
    assert set(sample) == {1}
    rows, time, duration = of_pprof(sample[1][0], document)
    assert duration == 0
    return Pushed(labels, rows, time, duration, sample[1][0])


def fields_of(data):
    """As pmem_export.message(), with fixed64."""
    found, at = {}, 0
    while at < len(data):
        tag, at = pmem_export.varint(data, at)
        if tag & 7 == 1:
            value, = struct.unpack_from("<Q", data, at)
            at += 8
        else:
            assert tag & 7 in (0, 2)
            value, at = pmem_export.varint(data, at)
            if tag & 7 == 2:
                assert at + value <= len(data)
                value, at = data[at:at + value], at + value
        found.setdefault(tag >> 3, []).append(value)
    return found


class Dictionary:
    """ProfilesDictionary: 1 mappings, 2 locations, 3 functions, 4 links, 5 strings, 6 attributes, 7 stacks."""

    def __init__(self, data):
        tables = fields_of(data)
        assert set(tables) == {1, 2, 3, 4, 5, 6, 7}
        self.strings = [s.decode() for s in tables[5]]
        assert self.strings[0] == "" and len(set(self.strings)) == len(self.strings)
        assert all(tables[n][0] == b"" for n in (1, 2, 3, 4, 6, 7)) and len(tables[4]) == 1
        self.mappings, self.locations, self.functions, self.attributes, self.stacks = (
            [fields_of(row) for row in tables[n]] for n in (1, 2, 3, 6, 7))
        assert all(0 <= l.get(1, [0])[0] < len(self.mappings) for l in self.locations)

    def attribute(self, index):
        row = self.attributes[index]
        return self.strings[row[1][0]], fields_of(row[2][0])[1][0].decode()

    def names(self, stack):
        """The functions of a call stack, the innermost first."""
        found = []
        for location in pmem_export.packed(self.stacks[stack][1]):
            assert 0 < location < len(self.locations)
            for line in self.locations[location].get(3, []):
                function = self.functions[fields_of(line)[1][0]]
                found.append(self.strings[function[1][0]])
        return tuple(found)


def any_value(data):
    value = fields_of(data)
    return value[1][0].decode() if 1 in value else str(value[3][0])


def read_otlp(request, document):
    assert request.headers["Content-Type"] == "application/x-protobuf" and request.headers["Content-Encoding"] == "gzip"
    export = fields_of(gzip.decompress(request.body))
    assert set(export) == {1, 2} and len(export[1]) == len(export[2]) == 1
    dictionary = Dictionary(export[2][0])
    resource = fields_of(export[1][0])
    names = {"service.name": "service_name", "process.pid": "pid", "host.name": "host"}
    labels = {}
    for attribute in map(fields_of, fields_of(resource[1][0])[1]):
        key = attribute[1][0].decode()
        labels[names.get(key, key)] = any_value(attribute[2][0])
    scope = fields_of(resource[2][0])
    assert fields_of(scope[1][0])[1] == [b"pmem"]
    rows, times, durations, identities = {}, set(), {}, set()
    for profile in map(fields_of, scope[2]):
        kind, unit = (dictionary.strings[fields_of(profile[1][0])[n][0]] for n in (1, 2))
        assert unit == ("bytes" if kind.endswith("space") else "count") and kind not in rows
        rows[kind] = pmem_export.Counter()
        for sample in map(fields_of, profile.get(2, [])):
            value, = pmem_export.packed(sample[4])
            assert value > 0
            rows[kind][dictionary.names(sample[1][0])] += value
            assert all(dictionary.attribute(i)[0] == "entry" for i in pmem_export.packed(sample.get(2, [])))
        times.add(profile[3][0])
        durations[kind] = profile.get(4, [0])[0]
        identities.add(profile[7][0])
    assert set(rows) == set(TYPES) and len(times) == 1 and len(identities) == 4 and {len(i) for i in identities} == {16}
    assert durations["inuse_space"] == durations["inuse_objects"] == 0 and durations["alloc_space"] == durations["alloc_objects"]
    return Pushed(labels, rows, times.pop(), durations["alloc_space"], frozenset(identities))


READERS = {"pyroscope": read_pyroscope, "pyroscope-ingest": read_ingest, "parca": read_parca, "otlp": read_otlp}


def read(server, request, document=None):
    assert (request.method, request.path) == ("POST", PATHS[server])
    assert request.headers["User-Agent"].startswith("pmem/") and "Expect" not in request.headers
    return READERS[server](request, document)


def sums(pushed):
    """What a server that adds up alloc_* has of a process, and its last state."""
    return {kind: sum(p.total(kind) for p in pushed) if kind.startswith("alloc") else pushed[-1].total(kind) for kind in TYPES}


def expected(totals):
    return {kind: totals[TOTALS[kind]] for kind in TYPES}


# -- programs -------------------------------------------------------------------------------------------
class Program:
    """tests/programs/commands.c, recorded; each letter is done when command() returns."""

    def __init__(self, run, program, folder=None, env=None):
        self.process = run.start([program], folder=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid, self.folder = self.process.pid, self.process.folder
        assert self.process.stdout.readline() == b"ready\n"

    def command(self, letters):
        self.process.stdin.write(letters.encode())
        self.process.stdin.flush()
        for _ in letters:
            assert self.process.stdout.readline() == b"done\n"

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(pmem_run.TIMEOUT_S) == 0
        self.process.stdout.close()

    def profile(self):
        return self.folder / ("pmem.%d.prof" % self.pid)


def report(tool, path):
    done = tool("report", "--json", path)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


# -- fixtures of both test files ------------------------------------------------------------------------
@pytest.fixture(scope="module")
def tool(lib, tmp_path_factory):
    return pmem_tool.Tool(lib, tmp_path_factory.mktemp("tool"))


@pytest.fixture(scope="module")
def commands(programs):
    return programs("commands.c")


@pytest.fixture(scope="module")
def ended(lib, programs, tmp_path_factory):
    """The profile of a process that has ended."""
    program = Program(pmem_run.Runner(lib, tmp_path_factory.mktemp("ended")), programs("commands.c"))
    program.command("kcf")
    program.end()
    return program.profile()
