# SPDX-License-Identifier: BSD-2-Clause
"""test_push - what `pmem push` sends: every protocol's request, byte for byte, with the totals of `pmem report --json`; differences
between pushes; processes that end; folders; labels; and what it must refuse.
"""
import os
import signal

import pytest

import pmem_export
import pmem_push
import pmem_run
import pmem_tool
from pmem_push import PATHS, TYPES, Program, Server, read, report, commands, ended, tool  # noqa: F401 (fixtures)

SECRET = "pa55-w0rd-of-the-test"


def pushed(done, count=1):
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    assert done.stdout.startswith(b"pushed %d profile%s, " % (count, b"s" if count > 1 else b"")), done.stdout


# -- requests -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("server", PATHS)
def test_a_profile_has_the_reports_call_stacks_and_totals(tool, ended, server):
    document = report(tool, ended)
    with Server() as there:
        pushed(tool("push", "--to", server, there.url, ended))
        request, = there.requests
    found = read(server, request, document)
    for kind in TYPES:
        assert found.rows[kind] == pmem_export.expected(document, pmem_push.TOTALS[kind]), kind
    assert found.totals() == pmem_push.expected(document["totals"])
    assert found.totals()["alloc_space"] > found.totals()["inuse_space"] > 0
    assert found.labels == {"service_name": "commands", "pid": str(document["process"]["pid"]), "host": os.uname().nodename}
    start = document["process"]["start_realtime_ns"]
    assert found.time == start + document["process"]["duration_ns"]
    assert found.duration == (0 if server == "parca" else document["process"]["duration_ns"])


@pytest.mark.parametrize("server", ["pyroscope", "otlp"])
def test_a_bundle_is_pushed_with_its_own_names(tool, ended, tmp_path, server):
    bundle = tmp_path / "moved.bundle"
    assert tool("bundle", "-o", bundle, ended).returncode == 0
    document = report(tool, bundle)
    with Server() as there:
        pushed(tool("push", "--to", server, there.url, bundle))
        found = read(server, there.requests[0], document)
    for kind in TYPES:
        assert found.rows[kind] == pmem_export.expected(document, pmem_push.TOTALS[kind]), kind
    assert found.total("inuse_space") > 0


@pytest.mark.parametrize("url,server", [(path, server) for server, path in PATHS.items()] + [
    ("/below/it/ingest", "pyroscope-ingest"), ("/below/push.v1.PusherService/Push", "pyroscope")])
def test_the_path_tells_what_server_it_is(tool, ended, url, server):
    with Server() as there:
        pushed(tool("push", there.url + url, ended))
        request, = there.requests
    assert request.path == url
    assert pmem_push.READERS[server](request, None).labels["service_name"] == "commands"


def test_a_prefix_stays_before_the_path(tool, ended):
    with Server() as there:
        pushed(tool("push", "--to", "parca", there.url + "/profiles/", ended))
        assert there.requests[0].path == "/profiles" + PATHS["parca"]


def test_labels_replace_and_remove_defaults(tool, ended):
    with Server() as there:
        pushed(tool("push", there.url, "--to", "pyroscope", "--label", "service_name=näme/1", "--label", "env=a b,{c}=d", "--label", "pid=",
                    "--label", "_x9=y", ended))
        pushed(tool("push", there.url, "--to", "pyroscope-ingest", "--label", "service_name=n me/1", "--label", "env=a b,{c}=d",
                    "--label", "host=", ended))
        first, second = there.requests
    host, pid = os.uname().nodename, str(pmem_tool.Profile(ended).pid)
    assert read("pyroscope", first).labels == {"service_name": "näme/1", "env": "a b,{c}=d", "_x9": "y", "host": host}
    assert read("pyroscope-ingest", second).labels == {"service_name": "n_me/1", "env": "a b__c_=d", "pid": pid}


def test_tenant_headers_and_login_are_sent(tool, ended, tmp_path):
    (tmp_path / "headers").write_text("X-Api-Key: %s\n\nX-Second: 2\n" % SECRET)
    (tmp_path / "token").write_text(SECRET + "\n")
    (tmp_path / "password").write_text("secret of a file\nmore\n")
    with Server() as there:
        url = there.url + "/ingest"
        pushed(tool("push", url, "--tenant", "team-a", "--header", "X-Plain: yes", "--header", "@%s" % (tmp_path / "headers"), ended))
        pushed(tool("push", url, "--bearer-file", tmp_path / "token", ended))
        pushed(tool("push", url, ended, env={"PMEM_PUSH_TOKEN": "token of the environment"}))
        pushed(tool("push", url, "--user", "me", ended, env={"PMEM_PUSH_PASSWORD": "pass", "PMEM_PUSH_TOKEN": "not this"}))
        pushed(tool("push", url, "--user", "me", "--password-file", tmp_path / "password", ended))
        plain, token, variable, user, file = (r.headers for r in there.requests)
    assert (plain["X-Scope-OrgID"], plain["X-Plain"], plain["X-Api-Key"], plain["X-Second"]) == ("team-a", "yes", SECRET, "2")
    assert "Authorization" not in plain
    assert token["Authorization"] == "Bearer " + SECRET
    assert variable["Authorization"] == "Bearer token of the environment"
    assert user["Authorization"] == "Basic bWU6cGFzcw=="
    assert file["Authorization"] == "Basic bWU6c2VjcmV0IG9mIGEgZmlsZQ=="


def test_smaller_call_stacks_go_as_one_and_totals_stay(tool, lib, run, programs):
    program = programs("threads.cpp")
    assert run([program]).code == 0
    path, = [p for p in run.tmp.rglob("*.prof")]
    document = report(tool, path)
    assert len(document["stacks"]) > 3
    with Server() as there:
        done = tool("push", "--to", "otlp", "--max-stacks", 3, there.url, path)
        found = read("otlp", there.requests[0], document)
    assert done.returncode == 0 and b"smaller call stacks go as one" in done.stderr and b"\n" == done.stderr[-1:]
    assert found.totals() == pmem_push.expected(document["totals"])
    stacks = {stack for kind in TYPES for stack in found.rows[kind]}
    assert len(stacks) == 3 and (pmem_export.UNKNOWN,) in stacks


def test_now_is_the_time_of_the_push(tool, ended):
    with Server() as there:
        pushed(tool("push", "--to", "pyroscope", there.url, ended))
        pushed(tool("push", "--to", "pyroscope", "--now", there.url, ended))
        first, second = (read("pyroscope", r) for r in there.requests)
    assert second.time > first.time and second.totals() == first.totals()
    assert second.identity != first.identity


# -- again and again --------------------------------------------------------------------------------------
@pytest.mark.parametrize("server", ["pyroscope", "otlp", "parca"])
def test_pushes_of_a_process_add_up_to_the_report(tool, run, commands, server):
    program = Program(run, commands)
    with Server() as there:
        push = tool.start("push", "--every", 1, "--to", server, there.url, program.pid, stdout=-1, stderr=-1)
        there.wait(1)
        program.command("kkcf")
        seen = len(there.requests)
        there.wait(seen + 2)  # one of them was taken after the command
        program.command("ck")
        program.end()
        out, err = push.communicate(timeout=pmem_run.TIMEOUT_S)
        assert (push.returncode, err) == (0, b"")
        found = [read(server, r) for r in there.requests]
    assert out.startswith(b"pushed %d profiles, " % len(found))
    document = report(tool, program.profile())
    want = pmem_push.expected(document["totals"])
    assert [p.time for p in found] == sorted(p.time for p in found) and len({p.identity for p in found}) == len(found)
    assert len({frozenset(p.labels.items()) for p in found}) == 1
    if server == "parca":
        assert found[-1].totals() == want
        assert found[0].total("alloc_space") < want["alloc_space"]
    else:
        assert pmem_push.sums(found) == want
        assert all(p.time - p.duration == before.time for before, p in zip(found, found[1:]))
        assert found[0].time - found[0].duration == document["process"]["start_realtime_ns"]
    assert [p for p in found if p.total("inuse_space") == 15000]  # after "kkcf": 10 blocks of 1000, one of 5000


def test_a_folder_has_all_its_processes_each_last_state_once(tool, run, commands):
    folder = run.folder("watched")
    old = Program(run, commands, folder)
    old.end()
    first = Program(run, commands, folder)
    with Server() as there:
        spool = run.tmp / "spool"
        options = ("push", "--every", 1, "--to", "pyroscope", "--spool", spool, there.url, folder)
        push = tool.start(*options, stdout=-1, stderr=-1)
        there.wait(1)
        second = Program(run, commands, folder)
        second.command("ks")  # its child lives for a moment
        second.end()
        pids = {str(first.pid), str(second.pid)}
        pmem_run.wait_for(lambda: len({read("pyroscope", r).labels["pid"] for r in list(there.requests)} - pids) == 1, "the child's push")
        pmem_run.wait_for(lambda: str(second.pid) in {read("pyroscope", r).labels["pid"] for r in list(there.requests)}, "the second's push")
        first.command("c")
        push.send_signal(signal.SIGTERM)
        out, err = push.communicate(timeout=pmem_run.TIMEOUT_S)
        assert (push.returncode, err) == (0, b"")
        first.end()
        count = len(there.requests)
        push = tool.start(*options, stdout=-1, stderr=-1)
        there.wait(count + 1)
        third = Program(run, commands, folder)
        there.wait(count + 2)
        push.send_signal(signal.SIGINT)
        assert push.communicate(timeout=pmem_run.TIMEOUT_S)[1] == b"" and push.returncode == 0
        third.end()
        by_pid = {}
        for request in there.requests:
            found = read("pyroscope", request)
            by_pid.setdefault(found.labels["pid"], []).append(found)
        assert len([p for r in there.requests[count:] for p in [read("pyroscope", r)] if p.labels["pid"] == str(first.pid)]) == 1
    assert str(old.pid) not in by_pid and len(by_pid) == 4
    assert str(third.pid) in by_pid
    for pid in set(by_pid) - {str(third.pid)}:
        path, = folder.glob("pmem.%s.prof" % pid)
        assert pmem_push.sums(by_pid[pid]) == pmem_push.expected(report(tool, path)["totals"]), pid
    assert len(by_pid[str(second.pid)]) <= 2
    child, = set(by_pid) - {str(p.pid) for p in (first, second, third)}
    assert len(by_pid[child]) == 1


def test_with_a_spool_once_is_what_came_since(tool, run, commands):
    program, spool = Program(run, commands), run.tmp / "spool"
    with Server() as there:
        options = ("push", "--to", "pyroscope", "--spool", spool, there.url)
        pushed(tool(*options, program.pid))
        program.command("ckk")
        pushed(tool(*options, program.pid))
        pushed(tool(*options, program.pid))
        program.end()
        pushed(tool(*options, program.profile()))
        done = tool(*options, program.profile())
        assert (done.returncode, done.stdout, done.stderr) == (0, b"nothing new: it was pushed before\n", b"")
        found = [read("pyroscope", r) for r in there.requests]
    assert len(found) == 4
    assert [p.total("inuse_space") for p in found[:3]] == [10000, 20000, 20000]
    assert found[1].total("alloc_space") == 10700 and found[2].total("alloc_space") == 0
    assert pmem_push.sums(found) == pmem_push.expected(report(tool, program.profile())["totals"])
    assert sorted(p.suffix or p.name for p in spool.iterdir()) == [".base", "lock"]


# -- what is refused --------------------------------------------------------------------------------------
@pytest.mark.parametrize("arguments,words", [
    ([], b"no URL"),
    (["http://127.0.0.1:1/x", "x"], b"the URL does not tell what server it is"),
    (["--to", "gopher", "http://127.0.0.1", "x"], b"--to gopher: no such protocol"),
    (["--to", "otlp", "ftp://127.0.0.1", "x"], b"the URL must begin with http:// or https://"),
    (["--to", "otlp", "127.0.0.1", "x"], b"the URL must begin with http:// or https://"),
    (["--to", "otlp", "nonsense://127.0.0.1", "x"], b"the URL must begin with http:// or https://"),
    (["--to", "otlp", "http://127.0.0.1/?a=1", "x"], b"without ? or #"),
    (["--to", "otlp", "not a url", "x"], b"the URL must begin with http:// or https://"),
    (["--to", "otlp", "http://127.0.0.1:none", "x"], b"the URL:"),
    (["--to", "otlp", "http://127.0.0.1", "x", "y"], b"one profile at a time"),
    (["--every", "soon", "http://127.0.0.1:4318"], b"--every soon: no duration"),
    (["--every", "100ms", "http://127.0.0.1:4318"], b"once a second is the most"),
    (["--spool-max", "much", "http://127.0.0.1:4318"], b"--spool-max much: no size"),
    (["--max-stacks", "-1", "http://127.0.0.1:4318"], b"--max-stacks -1: no number"),
    (["--label", "novalue", "http://127.0.0.1:4318"], b"'novalue' is not NAME=VALUE"),
    (["--label", "9a=b", "http://127.0.0.1:4318"], b"'9a' is no name of a label"),
    (["--label", "a.b=c", "http://127.0.0.1:4318"], b"'a.b' is no name of a label"),
    (["--label", "__name__=c", "http://127.0.0.1:4318"], b"names that begin with __ are the server's own"),
    (["--label", "a=b\tc", "http://127.0.0.1:4318"], b"a control character in its value"),
    (["--label", b"a=\xff", "http://127.0.0.1:4318"], b"its value is no UTF-8"),
    (["--label", "a=" + 2049 * "x", "http://127.0.0.1:4318"], b"2048 is the most"),
    (["--label", "a=b", "--label", "a=c", "http://127.0.0.1:4318"], b"a is there twice"),
    (["--drain", "http://127.0.0.1:4318"], b"--drain takes a --spool"),
    (["--key", "k", "http://127.0.0.1:4318"], b"--key goes with --cert"),
    (["--user", "me", "http://127.0.0.1:4318"], b"its password is not there"),
    (["--user", "me", "--bearer-file", "f", "http://127.0.0.1:4318"], b"do not go together"),
    (["--password-file", "f", "http://127.0.0.1:4318"], b"--password-file goes with --user"),
    (["--header", "no colon", "http://127.0.0.1:4318"], b"it must be NAME: VALUE"),
    (["--header", "A: b\nC: d", "http://127.0.0.1:4318"], b"it must be NAME: VALUE"),
    (["--bearer-file", "f", "http://192.0.2.1:4318"], b"would go to http://192.0.2.1:4318/v1development/profiles unencrypted"),
])
def test_wrong_arguments(tool, arguments, words):
    done = tool("push", *[os.fsdecode(a) if isinstance(a, bytes) else a for a in arguments])
    assert done.returncode == 2 and words in done.stderr and b"pmem help push" in done.stderr, done.stderr
    assert done.stdout == b""


@pytest.mark.parametrize("arguments", [
    ["http://me:%s@127.0.0.1:4318" % SECRET],
    ["--user", "me:" + SECRET, "http://127.0.0.1:4318"],
    ["--header", "Authorization: Bearer " + SECRET, "http://127.0.0.1:4318"],
    ["--header", "X-Api-Key: " + SECRET, "http://127.0.0.1:4318"],
    ["--header", "Cookie: session=" + SECRET, "http://127.0.0.1:4318"],
])
def test_secrets_are_no_arguments(tool, arguments):
    done = tool("push", *arguments)
    assert done.returncode == 2 and b"seen in the list of processes" in done.stderr
    assert SECRET.encode() not in done.stderr + done.stdout


def test_files_that_are_not_there(tool, ended, tmp_path):
    url = "http://127.0.0.1:1/ingest"
    (tmp_path / "empty").write_text("")
    (tmp_path / "file").write_text("")
    for options, words in [
            (["--header", "@nothere", ended], b"nothere: No such file"),
            (["--user", "me", "--password-file", tmp_path / "empty", ended], b"its first line is empty"),
            (["--spool", tmp_path / "file", ended], b"Not a directory"),
            (["--spool", tmp_path / "no" / "folder", ended], b"No such file or directory"),
            (["nothere.prof"], b"nothere.prof: No such file"),
            (["--every", "1", tmp_path / "nothere"], b"No such file"),
            (["--cacert", "nothere", ended], b"")]:
        done = tool("push", "--give-up", "100ms", url, *options)
        assert done.returncode == 1 and words in done.stderr, done.stderr
