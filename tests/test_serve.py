# SPDX-License-Identifier: BSD-2-Clause
"""test_serve - `pmem serve`: what it answers is what `pmem report` says, as the processes go on; how it begins and ends."""
import concurrent.futures
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse

import pytest

import pmem_export
import pmem_page
import pmem_profile
import pmem_run
import pmem_serve
import pmem_tool
from pmem_serve import served, server, tool  # noqa: F401 (fixtures)


def report(tool, path):
    return json.loads(tool("report", "--json", path).stdout)


def eventually(ask, expected):
    """What was made lately may be given once more: for a second."""
    pmem_run.wait_for(lambda: ask() == expected, "%r, but %r" % (expected, ask()))


def state(server, served):
    """(live bytes, blocks, allocated bytes, calls, temporary) of the page's data."""
    head, columns = pmem_page.read_data(server.get("p/%d/data" % served.pid).body)
    return tuple(int(sum(columns["0." + name])) for name in ("live_bytes", "live_blocks", "alloc_bytes", "alloc_blocks", "temporary_blocks"))


def totals(document):
    return tuple(document["totals"][name] for name in ("live_bytes", "live_blocks", "alloc_bytes", "alloc_blocks", "temporary_blocks"))


METRICS = {"pmem_heap_live_bytes": "live_bytes", "pmem_heap_live_blocks": "live_blocks", "pmem_heap_allocated_bytes_total": "alloc_bytes",
           "pmem_heap_freed_bytes_total": "free_bytes", "pmem_heap_allocations_total": "alloc_blocks",
           "pmem_heap_frees_total": "free_blocks", "pmem_heap_temporary_allocations_total": "temporary_blocks",
           "pmem_heap_peak_bytes": "peak_live_bytes"}


def heap_metrics(server, pid):
    found = server.metrics()
    return {name: value for name in METRICS for labels, value in found[name].items() if dict(labels)["pid"] == str(pid)}


# -- what it says -------------------------------------------------------------------------------------
def test_everything_says_what_the_report_says_and_follows_the_program(tool, server, served):
    for command in ("k 100", "t 1000", "d 30"):
        served.tell(command)
        document = report(tool, served.pid)
        eventually(lambda: state(server, served), totals(document))
        eventually(lambda: heap_metrics(server, served.pid), {name: document["totals"][key] for name, key in METRICS.items()})
    page = server.get("p/%d/" % served.pid)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"served (pid %d)" % served.pid in page.body and b'data-state="running"' in page.body
    assert server.get("p/pmem.prof/").status == 200


def test_sites_in_the_metrics(tool, server, served):
    document = report(tool, served.pid)
    sums = {}
    for stack in document["stacks"]:
        frame = stack["frames"][stack["site"]]
        name = frame["function"]
        sums[name] = [a + b for a, b in zip(sums.get(name, (0, 0)), (stack["live_bytes"], stack["alloc_bytes"]))]

    def sites():
        found = server.metrics()
        return {re.sub(r" \(.*", "", dict(labels)["site"]): [value, found["pmem_site_allocated_bytes_total"][labels]]
                for labels, value in found["pmem_site_live_bytes"].items() if dict(labels)["pid"] == str(served.pid)}

    eventually(sites, sums)
    assert set(sums) == {"keep", "throw_away"}


def test_what_the_program_maps_is_apart_in_the_metrics(tool, server, served):
    names = {"pmem_mapped_bytes": "mapped_bytes", "pmem_mapped_peak_bytes": "peak_bytes", "pmem_mapped_bytes_total": "mapped_in_all_bytes",
             "pmem_unmapped_bytes_total": "unmapped_bytes", "pmem_mapping_calls_total": "calls"}
    served.tell("m 10")
    served.tell("u 4")
    document = report(tool, served.pid)
    mappings = document["mappings"]
    assert (mappings["calls"], mappings["mapped_bytes"], mappings["peak_bytes"]) == (10, 6 * 4096, 10 * 4096)

    def mapped():
        found = server.metrics()
        return {name: value for name in [*names, "pmem_site_mapped_bytes"] for labels, value in found[name].items()
                if dict(labels)["pid"] == str(served.pid)}

    eventually(mapped, {**{name: mappings[key] for name, key in names.items()}, "pmem_site_mapped_bytes": 6 * 4096})
    site, = (dict(labels)["site"] for labels in server.metrics()["pmem_site_mapped_bytes"] if dict(labels)["pid"] == str(served.pid))
    assert re.fullmatch(r"map_page \(served\.c:\d+\)", site)
    assert heap_metrics(server, served.pid) == {name: document["totals"][key] for name, key in METRICS.items()}


def pprof(answer):
    assert answer.status == 200, answer
    made = pmem_export.Pprof(answer.body)
    rows = made.rows(lambda location, mapping: "?")
    return made, [sum(rows[kind].values()) for kind in ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")]


@pytest.mark.parametrize("where", ["debug/pprof/%s?pid=PID", "p/PID/debug/pprof/%s"])
def test_pprof(tool, server, served, where):
    sums = [report(tool, served.pid)["totals"][key] for key in pmem_export.SUMS]
    where = where.replace("PID", str(served.pid))
    eventually(lambda: pprof(server.get(where % "heap"))[1], sums)
    made, _ = pprof(server.get(where % "heap?debug=0" if "?" not in where else where % "heap"))
    assert made.default == "inuse_space"
    made, found = pprof(server.get(where % "allocs"))
    assert made.default == "alloc_space" and found == sums
    served.tell("m 3")
    mappings = report(tool, served.pid)["mappings"]
    eventually(lambda: [sum(pprof(server.get(where % "heap"))[0].rows(lambda *_: "?")[kind].values()) for kind in ("mmap_calls", "mmap_space")],
               [mappings["calls"], mappings["mapped_bytes"]])


def test_pprof_says_whose_it_is(tool, programs, tmp_path):
    """Without ?pid= that of the process that was started last, though its number be the smallest."""
    started = []
    try:
        for name in ("first process.prof", "second.prof"):
            if started and os.geteuid() == 0 and started[0].pid > 2000:
                with open("/proc/sys/kernel/ns_last_pid", "w") as file:
                    file.write("1000")
            started.append(pmem_serve.Served(tool, programs("served.c"), tmp_path, name))
        first, second = started
        with pmem_serve.Server(tool, tmp_path) as server:
            whose = "second.prof; pid=%d" % second.pid
            for path in ("debug/pprof/heap", "debug/pprof/allocs", "debug/pprof/heap?seconds=1", "p/second.prof/debug/pprof/heap"):
                assert server.get(path).headers["Pmem-Profile"] == whose, path
            named = server.get("debug/pprof/heap?pid=%d" % first.pid)
            assert named.headers["Pmem-Profile"] == "first%%20process.prof; pid=%d" % first.pid
            assert "Pmem-Profile" not in server.get("metrics").headers
            second.end()
            eventually(lambda: server.get("debug/pprof/heap").headers["Pmem-Profile"], named.headers["Pmem-Profile"])
    finally:
        for process in started:
            process.end()


def test_labels_of_the_metrics_are_bounded(tool, tmp_path):
    """And cut between two characters."""
    made = pmem_profile.Profile()
    made.header(pid=4711, program="/srv/" + "a" + "\u00e9" * 1000)
    module = made.module("/srv/" + "lib" * 50 + ".so", b"id")
    for i in range(120):
        made.count_wide(thread=0, stack=made.stack([(module, 0x1000 + 16 * i)], hook=0), alloc_count=1, alloc_bytes=100 + i)
    made.save(tmp_path / "long.prof")
    for options, count in (([], 10), (["--sites", 100], 100)):
        with pmem_serve.Server(tool, *options, tmp_path / "long.prof") as server:
            found = server.metrics()
        labels = list(found["pmem_site_live_bytes"])
        assert len(labels) == count
        for label in labels:
            assert [name for name, _ in label] == ["pid", "program", "site"]
            assert all(len(value.encode()) <= 200 for _, value in label)
            assert dict(label)["program"] == "a" + "\u00e9" * 99
    result = tool("serve", "--sites", 101)
    assert (result.returncode, result.stderr.splitlines()[0]) == (2, b"pmem serve: --sites 101: no number up to 100")


# -- what it costs ------------------------------------------------------------------------------------
COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void count(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char line[300];
	int fd = syscall(2, getenv("COUNTED"), O_WRONLY | O_CREAT | O_APPEND, 0600);
	snprintf(line, sizeof(line), "%s\n", name);
	if (write(fd, line, strlen(line)) < 0)
		abort();
	close(fd);
}
#define WRAP(open) int open(const char *path, int flags, ...) \
{ static int (*next)(const char *, int, ...); va_list a; va_start(a, flags); int mode = flags & O_CREAT ? va_arg(a, int) : 0; va_end(a); \
  if (!next) next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #open); count(path); return next(path, flags, mode); }
WRAP(open)
WRAP(open64)
"""


def test_what_is_known_is_not_looked_up_again(tool, programs, tmp_path):
    """Names, in the files of modules: once for all answers.  What the resident set consists of: each five seconds at most."""
    (tmp_path / "counter.c").write_text(COUNTER)
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-o", tmp_path / "counter.so", tmp_path / "counter.c", "-ldl"], check=True)
    counted = tmp_path / "counted"
    program = shutil.copy(programs("served.c"), tmp_path / "countable")
    served = pmem_serve.Served(tool, program, tmp_path)
    paths = ["p/%d/data", "p/%d/debug/pprof/heap", "p/%d/", "p/%d/debug/pprof/allocs", "metrics"]
    try:
        served.tell("k 10")
        preload = ":".join(filter(None, [os.environ.get("LD_PRELOAD"), str(tmp_path / "counter.so")]))
        # AddressSanitizer would be first.
        env = {"LD_PRELOAD": preload, "COUNTED": str(counted), "ASAN_OPTIONS": "verify_asan_link_order=0"}
        with pmem_serve.Server(tool, served.pid, env=env) as server:
            began, opened = time.monotonic(), []
            for path in paths:
                assert server.get(path % served.pid if "%" in path else path).status == 200
                opened.append(counted.read_text().split("\n"))
            took = time.monotonic() - began
            assert 1 <= opened[-1].count("smaps") <= 1 + took / 5
            assert opened[0].count("countable") >= 1
            served.tell("k 10")
            eventually(lambda: state(server, served), totals(report(tool, served.pid)))
            assert counted.read_text().split("\n").count("countable") == opened[0].count("countable")
    finally:
        served.end()


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def test_pprof_of_some_seconds(server, served):
    """What happened in them: what was freed of what had been there before is negative."""
    served.tell("k 50")
    served.tell("m 3")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        before = server.metrics()["pmem_serve_renderings_total"][()]
        later = pool.submit(server.get, "p/%d/debug/pprof/heap?seconds=3" % served.pid)
        # Another one is answered after it, and so tells that the first one has begun.
        assert server.get("p/%d/debug/pprof/heap?seconds=0" % served.pid).status == 200
        pmem_run.wait_for(lambda: server.metrics()["pmem_serve_renderings_total"][()] > before, "a rendering")
        served.tell("d 20")
        served.tell("t 7")
        served.tell("u 2")
        made, _ = pprof(later.result())
    rows = made.rows(lambda location, mapping: "?")
    sums = {kind: {stack[0 if stack[0] in ("keep", "throw_away", "map_page") else 1]: signed(value % (1 << 64)) for stack, value in found.items()}
            for kind, found in rows.items()}
    assert sums == {"alloc_objects": {"throw_away": 7}, "alloc_space": {"throw_away": 700}, "inuse_objects": {"keep": -20},
                    "inuse_space": {"keep": -20000}, "mmap_calls": {}, "mmap_space": {"map_page": -2 * 4096}}
    assert 3 * 10 ** 9 <= made.duration and not later.result().headers.get("Location")


def test_pprof_is_of_a_moment(tool, server, served):
    """A profile with a duration would be a difference to Parca, and one with the start's time would always be the same."""
    process = report(tool, served.pid)["process"]
    made, _ = pprof(server.get("p/%d/debug/pprof/heap" % served.pid))
    assert made.duration == 0
    assert process["start_realtime_ns"] < made.time <= time.time_ns()
    time_before = made.time
    served.tell("k 1")
    pmem_run.wait_for(lambda: pprof(server.get("p/%d/debug/pprof/heap" % served.pid))[0].time > time_before, "a later state")


def test_go_tool_pprof(tool, server, served, tmp_path):
    if not shutil.which("go"):
        pytest.skip("no go here")
    live = report(tool, served.pid)["totals"]["live_bytes"]
    result = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-unit=B", "-top", server.url + "debug/pprof/heap?pid=%d" % served.pid],
                            capture_output=True, text=True, timeout=60, env={**os.environ, "PPROF_TMPDIR": str(tmp_path)})
    assert result.returncode == 0, result.stderr
    assert re.search(r" of (\d+)B? total", result.stdout).group(1) == str(live) and "keep" in result.stdout


# -- moments ------------------------------------------------------------------------------------------
def test_two_moments_are_compared(tool, server, served):
    before = report(tool, served.pid)
    made = server.post("p/%d/remember" % served.pid)
    assert made.status == 201
    moment = json.loads(made.body)
    served.tell("k 11")
    after = report(tool, served.pid)
    link = urllib.parse.urljoin("/x/p/y/", moment["compare"])[3:]

    def sides():
        answer = server.get(link)
        assert answer.status == 200
        head, columns = pmem_page.read_data(answer.body)
        assert [side["label"] for side in head["sides"]] == [moment["label"], "now"]
        return [sum(columns["%d.live_bytes" % i]) for i in (0, 1)]

    eventually(sides, [before["totals"]["live_bytes"], after["totals"]["live_bytes"]])
    data = server.get(link.replace("compare/?", "compare/data?"))
    assert b'data-state="running"' in data.body and b"+10.7 KiB" in data.body
    kept = server.get("p/%s/" % moment["id"])
    assert b'data-state="kept"' in kept.body
    _, columns = pmem_page.read_data(kept.body)
    assert sum(columns["0.live_bytes"]) == before["totals"]["live_bytes"]
    assert server.post("p/%s/forget" % moment["id"]).status == 200
    pmem_run.wait_for(lambda: server.get("p/%s/" % moment["id"]).status == 404, "forgetting")
    assert server.post("p/%s/forget" % moment["id"]).status == 404
    assert server.post("p/%d/forget" % served.pid).status == 409


def test_moments_are_bounded(server, served):
    made = [server.post("p/%d/remember" % served.pid) for _ in range(17)]
    assert [answer.status for answer in made] == [201] * 16 + [409]
    assert b"16 moments are remembered" in made[-1].body
    assert server.open_moments() == 16
    for answer in made[:-1]:
        assert server.post("p/%s/forget" % json.loads(answer.body)["id"]).status == 200
    assert server.open_moments() == 0


def test_a_comparison_needs_two(server, served):
    assert server.get("compare/").status == 400
    assert server.get("compare").headers["Location"] == "compare/"
    assert server.get("compare/?before=%d&after=none" % served.pid).status == 404
    assert server.get("compare/?before=%d&after=pmem.prof" % served.pid).status == 200


# -- what is served -----------------------------------------------------------------------------------
def test_the_list(tool, server, served):
    old = pmem_profile.Profile()
    old.header(pid=77, program="/srv/" + pmem_serve.HOSTILE)
    old.save(served.path.parent / 'old "&<b>.prof')
    try:
        pmem_run.wait_for(lambda: b"pid 77)" in server.get("list").body, "the new profile's row")
        text = server.get().body.decode()
        assert "<img" not in text and "onerror=hit()&gt;{}" in text
        assert '<a href="p/old%20%22%26%3Cb%3E.prof/">' in text
        assert '<a href="p/pmem.prof/">served (pid %d)' % served.pid in text
        assert text.index("served (pid") < text.index("Remembered moments") < text.index("pid 77)")
        assert server.get("p/old%20%22%26%3Cb%3E.prof/").status == 200
        assert server.get("p/77/").status == 200
    finally:
        (served.path.parent / 'old "&<b>.prof').unlink()
    pmem_run.wait_for(lambda: b"pid 77)" not in server.get("list").body, "the end of the row")


def test_what_did_not_change_is_not_sent_again(tool, tmp_path):
    made = pmem_profile.Profile()
    made.header(pid=5)
    made.save(tmp_path / "five.prof")
    with pmem_serve.Server(tool, tmp_path / "five.prof") as server:
        first = server.get("p/five.prof/data")
        again = server.get("p/five.prof/data", headers={"If-None-Match": first.headers["ETag"]})
        assert (first.status, again.status, again.body) == (200, 304, b"")
        assert again.headers["ETag"] == first.headers["ETag"]
        assert server.get("p/five.prof/data", headers={"If-None-Match": '"other"'}).status == 200
        assert server.get().headers["Location"] == "p/five.prof/"
        assert server.get("p/five.prof").headers["Location"] == "five.prof/"
        assert b"five.prof" in server.get("list").body


@pytest.mark.parametrize("deleted", [False, True])
def test_a_process_that_ends_stays_with_its_last_state(tool, programs, tmp_path, deleted):
    """Also when its file has no name any more."""
    program = pmem_serve.Served(tool, programs("served.c"), tmp_path)
    with pmem_serve.Server(tool, program.pid) as server:
        program.tell("k 5")
        assert server.get("p/%d/" % program.pid).status == 200
        if deleted:
            program.path.unlink()
        program.tell("k 6")
        program.end()

        def last():
            answer = server.get("p/%d/data" % program.pid)
            return b'data-state="ended"' in answer.body and sum(pmem_page.read_data(answer.body)[1]["0.live_bytes"])

        eventually(last, 11000)
        assert pmem_run.wait_for(lambda: server.metrics()["pmem_process_running"].values(), "metrics")
        eventually(lambda: list(server.metrics()["pmem_process_running"].values()), [0])


def test_a_killed_process_stays(tool, programs, tmp_path):
    program = pmem_serve.Served(tool, programs("served.c"), tmp_path)
    program.tell("k 3")
    with pmem_serve.Server(tool, tmp_path) as server:
        pmem_run.wait_for(lambda: b'data-state="running"' in server.get("p/%d/data" % program.pid).body, "finding it")
        os.kill(program.pid, signal.SIGKILL)
        program.process.wait(timeout=60)
        pmem_run.wait_for(lambda: b'data-state="ended"' in server.get("p/%d/data" % program.pid).body, "its end")
        _, columns = pmem_page.read_data(server.get("p/%d/data" % program.pid).body)
        assert sum(columns["0.live_bytes"]) == 3000
        assert not heap_metrics(server, program.pid)
    program.process.stdin.close()
    program.process.stdout.close()


# -- begin and end ------------------------------------------------------------------------------------
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(tool, served, number):
    server = pmem_serve.Server(tool, served.pid)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waits = pool.submit(server.get, "debug/pprof/heap?seconds=600")
        pmem_run.wait_for(lambda: server.get("metrics").status == 200 and server.descriptors() > 0, "an answer")
        assert server.stop(number) == (0, "")
        try:
            assert waits.result().status == 503
        except (http.client.HTTPException, OSError):
            pass


def test_a_port_in_use_is_said(tool, server):
    result = tool("serve", "--port", server.port)
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr.decode() == "pmem serve: 127.0.0.1 port %d: Address already in use\n" % server.port


def test_mistakes(tool, tmp_path):
    (tmp_path / "no.prof").write_text("no")
    for arguments, code, words in ((["--port", "x"], 2, "--port x: no number up to 65535"), (["--port", "65536"], 2, "no number"),
                                   (["--listen", "example.org"], 1, "example.org: no IP address"),
                                   (["--sites", "101"], 2, "no number up to 100"), (["a", "b"], 2, "not 2"), (["--no"], 2, "unknown option"),
                                   ([tmp_path / "none.prof"], 1, "none.prof"), ([tmp_path / "no.prof"], 1, "no.prof"),
                                   (["--listen", "192.0.2.1"], 1, "192.0.2.1 port 0: Cannot assign requested address")):
        result = tool("serve", *arguments)
        assert result.returncode == code and words in result.stderr.decode(), arguments


def test_other_machines_only_when_asked(tool, tmp_path):
    with pmem_serve.Server(tool, "--listen", "0.0.0.0", cwd=tmp_path) as server:
        for host, status in (("192.0.2.7", 200), ("[2001:db8::1]", 200), ("evil.example", 403), ("[x]", 403)):
            answer = server.get("list", headers={"Host": "%s:%d" % (host, server.port)})
            assert answer.status == status, host
        code, said = server.stop()
        assert code == 0 and said.startswith("pmem serve: other machines can reach this address.")


def test_ipv6(tool, tmp_path):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    with pmem_serve.Server(tool, "--listen", "::1", cwd=tmp_path) as server:
        assert server.host == "::1" and server.get("list").status == 200
        assert server.stop() == (0, "")


def test_a_token_that_stays(tool, tmp_path):
    file = tmp_path / "token"
    tokens = set()
    for _ in range(2):
        with pmem_serve.Server(tool, "--token-file", file, cwd=tmp_path) as server:
            tokens.add(server.token)
            assert server.get("list").status == 200
    assert tokens == {file.read_text().strip()} and file.stat().st_mode & 0o777 == 0o600
    for wrong in ("short", "a" * 129, "with a blank in the middle", "", "../../../../../etc/passwd"):
        file.write_text(wrong + "\n")
        result = tool("serve", "--token-file", file)
        assert result.returncode == 1 and b"no token" in result.stderr, wrong


def test_nothing_is_left_behind(tool, served, tmp_path):
    with pmem_serve.Server(tool, served.pid, env={"TMPDIR": str(tmp_path)}) as server:
        assert server.post("p/%d/remember" % served.pid).status == 201
        server.process.kill()
        server.process.communicate()
    assert os.listdir(tmp_path) == [] and os.listdir(server.process.folder) == []


def test_an_address_that_cannot_be_printed_is_an_error(lib, tmp_path):
    with open("/dev/full", "w") as full:
        result = subprocess.run([pmem_tool.find(lib), "serve", tmp_path], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert result.returncode == 1 and b"standard output: No space left on device" in result.stderr
