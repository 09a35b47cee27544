# SPDX-License-Identifier: BSD-2-Clause
"""test_push_failures - servers that are away, busy, slow, hostile or strict, and pushers that are killed: nothing is lost but what is
said to be, and nothing secret is shown.
"""
import contextlib
import pathlib
import signal
import socket
import threading

import pytest

import pmem_push
import pmem_run
from pmem_push import Answer, Program, Server, certificate, expected, read, report, sums, commands, ended, tool  # noqa: F401 (fixtures)

SECRET = "t0ken-of-the-test"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def says(process, words):
    """Reads the process's messages until one has these words; returns all."""
    lines, limit = [], threading.Timer(30, process.kill)
    limit.start()
    for line in iter(process.stderr.readline, b""):
        lines.append(line)
        if words in line:
            limit.cancel()
            return lines
    raise AssertionError("%r is not in %r" % (words, lines))


@contextlib.contextmanager
def pushing(tool, *arguments, **options):
    """A pusher that is killed in the end, if it still runs."""
    process = tool.start("push", "--to", "pyroscope", *arguments, stdout=-1, stderr=-1, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def same(requests):
    return len({r.body for r in requests}) == 1


# -- tried again ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("first", [
    Answer(500), Answer(503, b"later"), Answer(408), Answer(429, headers={"Retry-After": "1"}), Answer(0), Answer(0, read=100)],
    ids=["500", "503", "408", "429", "no answer", "in the middle"])
def test_the_same_bytes_come_again(tool, ended, first):
    with Server(first) as there:
        done = tool("push", "--to", "pyroscope", there.url, ended)
        assert done.returncode == 0
        assert done.stderr.count(b"it is tried again") == 1 and done.stderr.count(b"takes profiles again") == 1, done.stderr
        assert len(there.requests) == 2
        whole = there.requests[1]
        assert whole.body.startswith(there.requests[0].body)
    assert read("pyroscope", whole).totals() == expected(report(tool, ended)["totals"])


def test_a_server_that_does_not_answer_in_time(tool, ended):
    with Server(Answer(silent=True)) as there:
        done = tool("push", "--to", "pyroscope", "--timeout", "300ms", there.url, ended)
        assert done.returncode == 0 and b"it is tried again" in done.stderr
        assert len(there.requests) == 2 and same(there.requests)


def test_a_server_that_comes_later(tool, ended):
    port = free_port()
    with pushing(tool, "http://127.0.0.1:%d" % port, ended) as push:
        says(push, b"it is tried again")
        with Server(port=port) as there:
            there.wait(1)
            out, err = push.communicate(timeout=pmem_run.TIMEOUT_S)
    assert push.returncode == 0 and b"takes profiles again" in err and out.startswith(b"pushed 1 profile, ")


def test_what_is_not_there_is_given_up_and_leaves_nothing(tool, ended, tmp_path):
    done = tool("push", "--to", "pyroscope", "--give-up", "200ms", "http://127.0.0.1:%d" % free_port(), ended, env={"TMPDIR": str(tmp_path)})
    assert done.returncode == 1
    assert b"it is tried again" in done.stderr and b"1 profile not delivered" in done.stderr and b"--drain" not in done.stderr
    assert list(tmp_path.iterdir()) == []


# -- refused ----------------------------------------------------------------------------------------------
def test_a_profile_that_is_never_taken_is_dropped_and_said_once(tool, run, commands):
    program = Program(run, commands)
    with Server(default=Answer(400, b'{"message":"label \x1b[31m too long"}\nmore')) as there:
        with pushing(tool, "--every", 1, there.url, program.pid) as push:
            there.wait(2)
            program.end()
            out, err = push.communicate(timeout=pmem_run.TIMEOUT_S)
        count = len(there.requests)
    assert push.returncode == 1 and out.startswith(b"pushed 0 profiles, ")
    assert err.count(b"the server says 400") == 1 and b'{"message":"label ?[31m too long"}; the profile was dropped' in err
    assert b"%d profiles dropped: the server does not take them" % count in err and b"more" not in err


def call(code, message=None, **options):
    """An answer that is only the status of a call."""
    return Answer(headers={"grpc-status": str(code), **({"grpc-message": message} if message else {})}, body=b"", **options)


@pytest.mark.parametrize("answer,words", [
    (call(3, "invalid%20profile:%0A%1b[31m x"), b"the server says gRPC status 3: invalid profile:??[31m x; the profile was dropped"),
    (Answer(body=pmem_push.trailers(b"Grpc-Message:no such %%41 label\r\nGrpc-Status:3\r\n")),
     b"the server says gRPC status 3: no such %A label; the profile was dropped"),
    (call(16, "who are you"), b"the server says gRPC status 16: who are you"),
    (call(12), b"the server says gRPC status 12"),
    (Answer(body=b"<html>welcome</html>"), b"the server's answer is not one of gRPC: is it Parca?"),
    (Answer(body=b""), b"the server's answer is not one of gRPC"),
    (Answer(404), b"the server says 404"),
], ids=["headers", "trailers", "login", "no such call", "page", "empty", "not found"])
def test_what_parca_does_not_take(tool, ended, answer, words):
    with Server(answer) as there:
        done = tool("push", "--to", "parca", there.url, ended)
        assert len(there.requests) == 1
    assert done.returncode == 1 and words in done.stderr, done.stderr


@pytest.mark.parametrize("code", [2, 8, 13, 14])
def test_parca_is_tried_again(tool, ended, code):
    with Server(call(code, "not now")) as there:
        done = tool("push", "--to", "parca", there.url, ended)
        assert b"the server says gRPC status %d: not now; it is tried again" % code in done.stderr, done.stderr
        assert done.returncode == 0 and len(there.requests) == 2 and same(there.requests)
    assert read("parca", there.requests[1]).totals() == expected(report(tool, ended)["totals"])


@pytest.mark.parametrize("words,again", [(b"pushing failed invalid_argument: outside of ingestion window", False),
                                         (b"pushing failed at least 1 live replicas required, could only find 0", True)])
def test_ingest_says_422_to_all_that_goes_wrong(tool, ended, words, again):
    with Server(Answer(422, b'{"code":"unknown","message":"%s"}' % words)) as there:
        done = tool("push", "--to", "pyroscope-ingest", there.url, ended)
        assert len(there.requests) == (2 if again else 1)
    assert done.returncode == (0 if again else 1) and (b"it is tried again" if again else b"the profile was dropped") in done.stderr, done.stderr


def test_a_collector_that_takes_not_all(tool, ended):
    """ExportProfilesServiceResponse: 1 partial_success: 1 rejected_profiles, 2 error_message."""
    for body, words in [(b"\x0a\x07\x08\x04\x12\x03\x1bno", b"the server has rejected profiles: ?no; the profile was dropped"),
                        (b"\x0a\x02\x08\x01", b"the server has rejected profiles; the profile was dropped"),
                        (b"\x0a\x05\x12\x03yes", b""), (b"", b""), (b"{}", b""), (b"\x0a\x7f\x08\x01", b"")]:
        with Server(Answer(body=body)) as there:
            done = tool("push", "--to", "otlp", there.url, ended)
        assert len(there.requests) == 1
        assert (done.returncode, words in done.stderr) == (1 if words else 0, True), done.stderr
        assert bool(done.stderr) == bool(words)


@pytest.mark.parametrize("status", [301, 401, 403, 404, 501])
def test_a_server_that_takes_nothing_is_not_asked_again(tool, ended, tmp_path, status):
    spool = tmp_path / "spool"
    with Server(Answer(status, headers={"Location": "http://127.0.0.1:1/elsewhere"})) as there:
        done = tool("push", "--to", "pyroscope", "--spool", spool, there.url, ended)
        assert done.returncode == 1 and len(there.requests) == 1
        assert done.stderr.count(b"the server says %d" % status) == 1
        assert b"1 profile not delivered; to go on: --spool %s --drain" % bytes(spool) in done.stderr
        assert (b"it is at http://127.0.0.1:1/elsewhere" in done.stderr) == (status == 301)
        done = tool("push", "--to", "pyroscope", "--spool", spool, "--drain", there.url)
        assert (done.returncode, done.stderr) == (0, b"") and same(there.requests)


def test_a_renewed_token_is_read_and_nothing_was_dropped(tool, run, commands, tmp_path):
    token, program = tmp_path / "token", Program(run, commands)
    token.write_text("old-" + SECRET)
    with Server(default=Answer(401, b"bad token old-%s" % SECRET.encode())) as there:
        with pushing(tool, "--every", 1, "--bearer-file", token, there.url, program.pid) as push:
            there.wait(2)
            token.write_text("new-" + SECRET)
            with there.changed:
                there.default = Answer()
            program.command("kc")
            there.wait_taken(2)
            program.end()
            out, err = push.communicate(timeout=pmem_run.TIMEOUT_S)
        found = [read("pyroscope", r) for r in there.taken()]
        assert {r.headers["Authorization"] for r in there.taken()} == {"Bearer new-" + SECRET}
    assert push.returncode == 0 and err.count(b"the server says 401: bad token ***") == 1 and SECRET.encode() not in err + out
    assert sums(found) == expected(report(tool, program.profile())["totals"])


# -- secrets ----------------------------------------------------------------------------------------------
def test_what_a_server_says_of_secrets_is_not_shown(tool, ended, tmp_path):
    (tmp_path / "token").write_text(SECRET)
    (tmp_path / "headers").write_text("Authorization: Basic " + SECRET)
    for options, env in [(["--bearer-file", tmp_path / "token"], {}), (["--user", "me"], {"PMEM_PUSH_PASSWORD": SECRET}),
                         ([], {"PMEM_PUSH_TOKEN": SECRET}), (["--header", "@%s" % (tmp_path / "headers")], {})]:
        with Server() as there:
            handle = there.handle

            def echo(handler):
                there.answers.append(Answer(403, b"you sent %s, that is %s" % (handler.headers["Authorization"].encode(), SECRET.encode())))
                handle(handler)
            there.handle = echo
            done = tool("push", "--to", "pyroscope", *options, there.url, ended, env=env)
            sent = there.requests[0].headers["Authorization"]
        assert done.returncode == 1 and b"the server says 403: you sent" in done.stderr and done.stderr.count(b"***") == 2
        for secret in (SECRET, sent.partition(" ")[2]):
            assert secret.encode() not in done.stderr + done.stdout


def test_secrets_are_not_in_the_list_of_processes(tool, ended, tmp_path):
    (tmp_path / "token").write_text(SECRET)
    with Server(Answer(silent=True)) as there:
        with pushing(tool, "--bearer-file", tmp_path / "token", there.url, ended) as push:
            there.wait(1)
            assert SECRET.encode() not in pathlib.Path("/proc/%d/cmdline" % push.pid).read_bytes()
            spool, = [p for p in pathlib.Path("/proc/%d/fd" % push.pid).iterdir() if p.resolve().name == "lock"]
            for path in spool.resolve().parent.iterdir():
                assert SECRET.encode() not in path.read_bytes() and path.stat().st_mode & 0o77 == 0


# -- TLS --------------------------------------------------------------------------------------------------
def test_certificates(tool, ended, tmp_path):
    cert, key = certificate(tmp_path)
    client, client_key = certificate(tmp_path, "client")
    with Server(tls=pmem_push.tls(cert, key)) as there:
        done = tool("push", "--to", "pyroscope", there.url, ended)
        assert done.returncode == 1 and b"certificate" in done.stderr and b"it is tried again" not in done.stderr
        assert there.requests == []
        for options in (["--cacert", cert], ["--insecure"]):
            done = tool("push", "--to", "pyroscope", *options, there.url, ended)
            assert (done.returncode, done.stderr) == (0, b""), done.stderr
        done = tool("push", "--to", "pyroscope", "--cacert", client, there.url, ended)
        assert done.returncode == 1 and b"certificate" in done.stderr
        assert len(there.requests) == 2
    with Server(tls=pmem_push.tls(cert, key, client)) as there:
        done = tool("push", "--to", "pyroscope", "--cacert", cert, "--give-up", "100ms", there.url, ended)
        assert done.returncode == 1 and there.requests == []
        done = tool("push", "--to", "pyroscope", "--cacert", cert, "--cert", client, "--key", client_key, there.url, ended)
        assert (done.returncode, done.stderr) == (0, b"") and len(there.requests) == 1


# -- the spool --------------------------------------------------------------------------------------------
def waiting(spool):
    return sorted(p for p in spool.iterdir() if p.suffix == ".pyroscope")


def test_the_oldest_make_room_and_their_loss_is_said(tool, run, commands):
    program, spool, port = Program(run, commands), run.tmp / "spool", free_port()
    url = "http://127.0.0.1:%d" % port
    with pushing(tool, "--every", 1, "--spool", spool, "--spool-max", 2500, url, program.pid) as push:
        says(push, b"full (--spool-max): 1 of the oldest profiles dropped so far")
        left = waiting(spool)
        assert 0 < sum(p.stat().st_size for p in left) <= 2500
        program.end()
        push.send_signal(signal.SIGTERM)
        out, err = push.communicate(timeout=pmem_run.TIMEOUT_S)
    assert push.returncode == 1 and b"dropped: the spool was full (--spool-max)" in err and b"not delivered; to go on" in err
    left = waiting(spool)
    with Server(port=port) as there:
        done = tool("push", "--to", "pyroscope", "--spool", spool, "--drain", url)
        assert (done.returncode, done.stderr) == (0, b"")
        assert len(there.requests) == len(left) and waiting(spool) == []
        times = [read("pyroscope", r).time for r in there.requests]
    assert times == sorted(times)


def test_a_killed_pusher_is_gone_on_from(tool, run, commands):
    program, spool = Program(run, commands), run.tmp / "spool"
    with Server(Answer(), Answer(silent=True)) as there:
        options = ("--every", 1, "--spool", spool, there.url, program.pid)
        with pushing(tool, *options) as push:
            there.wait(1)
            program.command("kc")
            there.wait(2)  # the second is on its way, without an answer
            done = tool("push", "--to", "pyroscope", "--spool", spool, there.url, program.pid)
            assert done.returncode == 1 and b"another pmem push (process %d) uses this spool" % push.pid in done.stderr
            push.send_signal(signal.SIGKILL)
            push.wait()
        half = spool / "00000000000000000099.pyroscope.abcdef"
        half.write_bytes(b"pmem-push 1")
        program.command("kkc")
        with pushing(tool, *options) as push:
            there.wait(4)
            program.command("c")
            program.end()
            out, err = push.communicate(timeout=pmem_run.TIMEOUT_S)
        assert (push.returncode, err) == (0, b"")
        assert there.requests[1].body == there.requests[2].body
        found = [read("pyroscope", r) for r in there.taken()]
        assert len({p.identity for p in found}) == len(found)
    assert sums(found) == expected(report(tool, program.profile())["totals"])
    assert not half.exists() and waiting(spool) == []


def test_a_killed_pusher_that_had_not_completed_a_profile(tool, run, commands):
    """The state after a kill between the new base and its profile: the old base counts."""
    program, spool = Program(run, commands), run.tmp / "spool"
    with Server() as there:
        options = ("push", "--to", "pyroscope", "--spool", spool, there.url)
        assert tool(*options, program.pid).returncode == 0
        base, = spool.glob("*.base")
        kept = base.read_bytes()
        program.command("kc")
        assert tool(*options, program.pid).returncode == 0
        newer, = spool.glob("*.base")
        base.write_bytes(kept)
        with there.changed:
            there.requests.pop()  # as if it had never been
        program.end()
        assert tool(*options, program.profile()).returncode == 0
        assert not newer.exists() or newer == next(spool.glob("*.base"))
        found = [read("pyroscope", r) for r in there.requests]
    assert sums(found) == expected(report(tool, program.profile())["totals"])


def test_what_does_not_belong_into_a_spool(tool, ended, tmp_path):
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / "notes").write_text("not ours")
    (spool / "00000000000000000003.pyroscope").write_bytes(b"no profile at all\n")
    (spool / "00000000000000000004.pyroscope").write_bytes(b"")
    with Server() as there:
        done = tool("push", "--to", "pyroscope", "--spool", spool, there.url, ended)
        assert done.returncode == 1 and b"a file that is no profile was taken out" in done.stderr and b"2 profiles dropped" in done.stderr
        assert len(there.requests) == 1 and (spool / "notes").read_text() == "not ours"
        base, = spool.glob("*.base")
        base.write_bytes(b"damaged")
        done = tool("push", "--to", "pyroscope", "--spool", spool, there.url, ended)
        assert done.returncode == 0 and b": damaged" in done.stderr and len(there.requests) == 2
    (spool / "00000000000000000005.parca").write_bytes(b"pmem-push 1\tapplication/grpc-web+proto\t\t\n{}\n")
    done = tool("push", "--to", "pyroscope", "--spool", spool, "http://127.0.0.1:1", ended)
    assert done.returncode == 1 and b"has profiles for parca; push them first, with --drain" in done.stderr
