# SPDX-License-Identifier: BSD-2-Clause
"""test_serve_hostile - `pmem serve` and those who should not ask, ask too much, or have names that lie."""
import concurrent.futures
import http.client
import json
import os
import re
import socket
import subprocess

import pytest

import pmem_profile
import pmem_run
import pmem_serve
from pmem_serve import served, server, tool  # noqa: F401 (fixtures)


# -- who may ask --------------------------------------------------------------------------------------
def test_without_the_token_there_is_nothing(server):
    other = ("0" if server.token[0] != "0" else "1") + server.token[1:]
    for path in ("/", "/metrics", "/%s/" % other, "/%s/metrics" % other, "/%s/" % server.token[:-1], "/%sa/" % server.token, "//", "/*",
                 "/%s/../%s/" % (other, server.token), "/x/%s/list" % server.token):
        answer = server.ask(path)
        assert (answer.status, answer.body) == (404, b"Not found.\n"), path
    assert server.ask("/" + server.token).headers["Location"] == server.base


def test_two_servers_have_two_tokens(tool, server, tmp_path):
    with pmem_serve.Server(tool, cwd=tmp_path) as other:
        assert re.fullmatch("[0-9a-f]{32}", other.token) and other.token != server.token


def test_only_its_own_names_are_answered(server):
    def ask(*hosts, version="HTTP/1.1"):
        lines = "".join("Host: %s\r\n" % host for host in hosts)
        return raw(server, "GET %slist %s\r\n%sConnection: close\r\n\r\n" % (server.base, version, lines)).split(b" ")[1]

    for host in ("127.0.0.1:%d", "localhost:%d", "LocalHost:%d", "[::1]:%d"):
        assert ask(host % server.port) == b"200", host
    for host in ("evil.example:%d" % server.port, "127.0.0.1", "127.0.0.1:80", "127.0.0.1:%d1" % server.port, "127.0.0.2:%d" % server.port,
                 "localhost.evil.example:%d" % server.port, "localhost:%dx" % server.port, "[::1]", "", ":%d" % server.port,
                 "a" * 300, "[::1:%d" % server.port):
        assert ask(host) in (b"403", b"400"), host
    assert ask() in (b"403", b"400")
    assert ask(version="HTTP/1.0") == b"403"
    mine = "127.0.0.1:%d" % server.port
    assert ask(mine, "evil.example") in (b"403", b"400") and ask("evil.example", mine) in (b"403", b"400")


def raw(server, text):
    """All that is answered to some bytes."""
    with socket.create_connection((server.host, server.port), timeout=60) as connection:
        connection.sendall(text.encode() if isinstance(text, str) else text)
        answer = b""
        while True:
            some = connection.recv(65536)
            if not some:
                return answer
            answer += some


@pytest.mark.parametrize("path", ["p/../../../../etc/passwd/", "p/..%2f..%2f..%2fetc%2fpasswd/", "p/%2e%2e/data", "p//etc/passwd", "p//",
                                  "p/%2fetc%2fpasswd/data", "p/" + "a" * 5000 + "/", "../../etc/passwd",
                                  "p/0/", "p/-1/", "p/99999999999999999999/", "no", "p/pmem.prof/no", "debug/pprof/", "debug/pprof/profile"])
def test_no_path_leads_elsewhere(server, path):
    assert server.get(path).status == 404
    assert b"root:" not in raw(server, "GET %s%s HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n" % (server.base, path, server.port))


def test_methods(server, served):
    page = "p/%d/" % served.pid
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "NONSENSE"):
        answer = server.get(page, method=method)
        assert answer.status in (405, 400, 404) and "POST" in answer.headers.get("Allow", "POST"), method
    assert server.get(page, method="POST").status == 405
    assert server.get(page + "remember").status == 405 and server.get(page + "forget").status == 405
    head = server.get(page, method="HEAD")
    assert head.status == 200 and head.body == b"" and int(head.headers["Content-Length"]) > 50000
    assert server.get("p/0/", method="HEAD").status == 404


def test_arguments_of_pprof(server, served):
    for seconds in ("-1", "x", "601", "1e3", "", "99999999999999999999"):
        assert server.get("p/%d/debug/pprof/heap?seconds=%s" % (served.pid, seconds)).status == 400, seconds
    assert server.get("debug/pprof/heap?pid=0").status == 404
    assert server.get("debug/pprof/heap?pid=%d&gc=1&other" % served.pid).status == 200


def test_headers_that_protect(server, served):
    for path in ("", "list", "metrics", "p/%d/" % served.pid, "p/%d/data" % served.pid, "none", "debug/pprof/heap"):
        headers = server.get(path).headers
        assert headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff", path
        assert headers["Referrer-Policy"] == "no-referrer" and headers["X-Frame-Options"] == "DENY", path
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], path
        assert "Access-Control-Allow-Origin" not in headers and "Set-Cookie" not in headers
    page = server.get("p/%d/" % served.pid).body.decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', page).group(1)
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and policy.endswith("; form-action 'none'; connect-src 'self'")
    file = subprocess.run([server.process.args[0], "html", "-o", "-", served.path], capture_output=True, check=True).stdout.decode()
    assert "connect-src" not in file and 'id="live"' not in file and "needs no network" in file


# -- what is too much ---------------------------------------------------------------------------------
def test_large_headers_and_bodies_are_refused(server, served):
    answer = raw(server, "GET %s HTTP/1.1\r\nHost: localhost:%d\r\nX: %s\r\n\r\n" % (server.base, server.port, "a" * 100000))
    assert answer.split(b" ")[1] in (b"431", b"413") if answer else True
    answer = raw(server, "GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % ("a" * 100000))
    assert answer.split(b" ")[1] in (b"414", b"431") if answer else True
    with pytest.raises((http.client.HTTPException, OSError)):
        server.post("p/%d/remember" % served.pid, body=b"x" * 1000000)
    assert server.post("p/0/remember", body=b"x" * 100).status == 404
    for nonsense in (b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00" + b"a" * 500 + b"\r\n\r\n"):
        raw(server, nonsense + b"Connection: close\r\n\r\n")
    assert server.get("list").status == 200


def test_who_is_too_slow_is_cut_off(server):
    """A byte now and then is no request; others are answered meanwhile."""
    slow = [socket.create_connection((server.host, server.port), timeout=60) for _ in range(40)]
    for connection in slow:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: loc")
    open_ones = list(slow)

    def drip():
        for connection in list(open_ones):
            try:
                connection.sendall(b"a")
                connection.setblocking(False)
                if connection.recv(1) == b"":
                    open_ones.remove(connection)
            except BlockingIOError:
                pass
            except OSError:
                open_ones.remove(connection)
        return not open_ones

    assert server.get("list").status == 200
    pmem_run.wait_for(drip, "being cut off", 40)
    for connection in slow:
        connection.close()
    assert server.get("list").status == 200


def test_a_hundred_clients_cost_what_one_does(server, served):
    def made():
        return server.metrics()["pmem_serve_renderings_total"][()]

    def client(number):
        connection = server.connect()
        found = set()
        for _ in range(5):
            answer = server.ask("%sp/%d/%s" % (server.base, served.pid, "data" if number % 2 else ""), connection=connection)
            found.add(answer.status)
        connection.close()
        return found

    before, began = made(), os.times().elapsed
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        clients = [pool.submit(client, i) for i in range(100)]
        for _ in range(50):
            served.tell("t 100")
        assert {status for c in clients for status in c.result()} == {200}
    seconds = os.times().elapsed - began
    # Two documents, of which each is made once a second at most; and the metrics.
    assert made() - before <= 2 * (seconds + 2) + 3 < 500


def test_it_does_not_grow(tool, served):
    def round_of_requests(server):
        """The bytes that it has after each of them."""
        for i in range(60):
            for path in ("p/%d/data" % served.pid, "p/%d/" % served.pid, "list", "metrics", "none-%d" % i, "p/none-%d/" % i,
                         "debug/pprof/heap?pid=%d" % served.pid):
                server.get(path)
                yield server.resident()
        for _ in range(10):
            moment = json.loads(server.post("p/%d/remember" % served.pid).body)
            assert server.post("p/%s/forget" % moment["id"]).status == 200
            yield server.resident()
        socket.create_connection((server.host, server.port)).close()

    # The C library gives back what was freed, and does not keep 14 MiB at one time and not at another.
    with pmem_serve.Server(tool, served.path.parent, env={"MALLOC_TRIM_THRESHOLD_": "131072"}) as server:
        list(round_of_requests(server))
        descriptors = server.descriptors()
        before, after = min(round_of_requests(server)), min(round_of_requests(server))
        pmem_run.wait_for(lambda: server.descriptors() <= descriptors + 2, "connections closed")
        assert after < before + (2 << 20)


def test_a_client_that_goes_does_no_harm(server, served):
    for path in ("p/%d/data" % served.pid, "p/%d/debug/pprof/heap?seconds=1" % served.pid, "p/%d/" % served.pid):
        connection = server.connect()
        connection.request("GET", server.base + path)
        connection.close()
    pmem_run.wait_for(lambda: server.get("list").status == 200, "an answer")


def test_no_more_than_some_wait_for_seconds(tool, served):
    with pmem_serve.Server(tool, served.pid) as server, concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = [pool.submit(server.get, "p/%d/debug/pprof/heap?seconds=2" % served.pid) for _ in range(20)]
        found = [a.result().status for a in answers]
    assert found.count(200) == 8 and found.count(503) == 12


# -- names that lie -----------------------------------------------------------------------------------
def test_hostile_names_are_text(tool, tmp_path):
    made = pmem_profile.Profile()
    made.header(pid=66, program="/srv/" + pmem_serve.HOSTILE)
    module = made.module("/srv/" + pmem_serve.HOSTILE, b"id")
    for i in range(30):
        stack = made.stack([(module, 0x1000 + 64 * i)], hook=0)
        made.count_wide(thread=0, stack=stack, alloc_count=1, alloc_bytes=100 + i)
    made.save(tmp_path / "hostile.prof")
    with pmem_serve.Server(tool, tmp_path / "hostile.prof", "--sites", 7) as server:
        found = server.metrics()
        (labels, live), = found["pmem_heap_live_bytes"].items()
        assert live == sum(range(100, 130)) and dict(labels)["program"] == pmem_serve.HOSTILE.replace("\n", "?")
        assert len(found["pmem_site_live_bytes"]) == 7
        page = server.get("p/hostile.prof/").body.decode()
        assert "<img" not in page and page.count("<script") == 2
    with pmem_serve.Server(tool, tmp_path / "hostile.prof", "--sites", 0) as server:
        assert not server.metrics()["pmem_site_live_bytes"]


def test_a_damaged_profile_is_an_answer(tool, server, served):
    path = served.path.parent / "damaged.prof"
    for content in (b"", b"pmemprof", served.path.read_bytes()[:5000], b"pmemprof" + b"\xff" * 40000):
        path.write_bytes(content)
        pmem_run.wait_for(lambda: server.get("list").status == 200, "the list")
        assert server.get("p/damaged.prof/").status in (200, 404, 500)
    path.unlink()
