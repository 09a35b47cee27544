# SPDX-License-Identifier: BSD-2-Clause
"""The story pmem is for: a server of many threads builds up memory under a rare request, and the first screen says who, how fast and since when.

The server (programs/server) is written as such servers are, with tokio and hyper.  The driver asks for thousands of pages; some seconds later it
begins to send a rare request as well, at an even pace, and knows what each brings.  One server ends by itself, the other is killed from outside.
"""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

import pytest

import pmem_run
import pmem_tool

RUST_MIN = (1, 63)
ALONE_S = 2.5  # common requests only
RARE_S = 6
RARE_EVERY_S = 0.05
NOTES = 16384  # bytes that a rare request brings
WORKERS = 4  # as in main.rs
FUNCTION = "server::Sessions::remember"
ENDS = ("end", "kill")


def toolchains():
    """cargo and rustc of one folder, the newest first."""
    found = set()
    for folder in os.environ["PATH"].split(os.pathsep) + [os.path.expanduser("~/.cargo/bin"), "/usr/bin"]:
        cargo, rustc = os.path.join(folder, "cargo"), os.path.join(folder, "rustc")
        if os.access(cargo, os.X_OK) and os.access(rustc, os.X_OK):
            said = subprocess.run([rustc, "-vV"], capture_output=True, text=True)
            version = re.search(r"^release: (\d+)\.(\d+)", said.stdout, re.M)
            if version:
                found.add((tuple(map(int, version.groups())), cargo, rustc, re.search(r"^host: (\S+)", said.stdout, re.M).group(1)))
    return sorted(found, reverse=True)


def lock(source, resolve):
    """Cargo.lock in source, from Cargo.lock.in and the name of the index that cargo itself writes."""
    file, known = source / "Cargo.lock", source / "index"
    if not known.exists():
        file.unlink(missing_ok=True)
        resolve()
        known.write_text(re.search(r'^source = "(.*)"', file.read_text(), re.M).group(1))
    file.write_text((source / "Cargo.lock.in").read_text().replace("@INDEX@", known.read_text()))


def build(source, target):
    """The server's program; skips where there is no cargo, or where it cannot have the crates."""
    found = toolchains()
    if not found:
        pytest.skip("no cargo with a rustc beside it")
    version, cargo, rustc, host = found[0]
    if version < RUST_MIN:
        pytest.skip("rustc %d.%d is older than 1.63" % version)
    env = dict(pmem_run.environment(None), RUSTC=rustc, CARGO_TARGET_DIR=str(target), CARGO_NET_RETRY="1")
    source = shutil.copytree(source, target / "source", dirs_exist_ok=True)
    options = ["--locked", "--manifest-path", source / "Cargo.toml"]

    def with_or_without_network(*command):
        for network in ["--offline"], []:
            done = subprocess.run([cargo, *command, *network], env=env, capture_output=True, text=True)
            if not done.returncode:
                return
        pytest.skip("cargo cannot have the crates: " + done.stderr.strip().splitlines()[-1].strip())

    lock(source, lambda: with_or_without_network("generate-lockfile", "--manifest-path", source / "Cargo.toml"))
    with_or_without_network("fetch", "--target", host, *options)
    subprocess.run([cargo, "build", "--release", "--offline", *options], env=env, check=True)
    return target / "release" / "server"


class Driver:
    """Asks one server: page after page, and from a time on one rare request each RARE_EVERY_S."""

    def __init__(self, process):
        self.pid, self.port = map(int, process.stdout.readline().split())
        self.pages, self.rare = 0, []
        self.done = threading.Event()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=pmem_run.TIMEOUT_S)

    def ask(self, connection, method, path, body=None):
        connection.request(method, path, body)
        answer = connection.getresponse()
        assert answer.status == 200, path
        return answer.read()

    def ask_pages(self):
        connection = self.connect()
        while not self.done.is_set():
            self.ask(connection, "GET", "/page/%d" % self.pages)
            self.pages += 1

    def ask_rarely(self):
        connection = self.connect()
        self.done.wait(ALONE_S)
        start = time.time()
        while time.time() < start + RARE_S:
            self.rare.append(time.time())
            self.ask(connection, "POST", "/session/%d" % len(self.rare), b"n" * NOTES)
            self.done.wait(max(start + len(self.rare) * RARE_EVERY_S - time.time(), 0))
        self.done.set()

    def run(self):
        others = [threading.Thread(target=self.ask_pages) for _ in range(2)]
        for thread in others:
            thread.start()
        try:
            self.ask_rarely()
        finally:
            self.done.set()
            for thread in others:
                thread.join()

    def end(self, how):
        if how == "kill":
            os.kill(self.pid, signal.SIGKILL)
            return
        try:
            self.ask(self.connect(), "POST", "/end")
        except (http.client.HTTPException, ConnectionError):
            pass

    def rate(self):
        return (len(self.rare) - 1) * NOTES / (self.rare[-1] - self.rare[0])


class Story:
    def __init__(self, tool, process, how):
        self.driver = Driver(process)
        self.thread = threading.Thread(target=self.driver.run)
        self.tool, self.process, self.how = tool, process, how

    def finish(self):
        self.thread.join()
        self.driver.end(self.how)
        self.summary = self.process.communicate(timeout=pmem_run.TIMEOUT_S)[1].decode()
        self.screen = self.report()
        self.document = json.loads(self.report("--json"))

    def report(self, *options):
        result = self.tool("report", *options, "x.prof", cwd=self.process.folder)
        assert result.returncode == 0, result.stderr
        return result.stdout.decode()


@pytest.fixture(scope="module")
def stories(lib, root, tmp_path_factory):
    """Both at the same time."""
    program = build(root / "tests" / "programs" / "server", pathlib.Path(lib).parent / "cargo")
    tool = pmem_tool.Tool(lib, tmp_path_factory.mktemp("story"))
    processes = {how: tool.start("run", "-o", "x.prof", program, env={"PMEM_TIMELINE_MS": "40"}, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for how in ENDS}
    found = {how: Story(tool, process, how) for how, process in processes.items()}
    for story in found.values():
        story.thread.start()
    for story in found.values():
        story.finish()
    return found


@pytest.fixture(params=ENDS)
def story(stories, request):
    return stories[request.param]


def begin_ns(story):
    """When the first rare request was sent, in the profile's time."""
    return story.driver.rare[0] * 1e9 - story.document["process"]["start_realtime_ns"]


def seconds_between(clock, time_s):
    """Of a clock's HH:MM:SS and a time."""
    hours, minutes, seconds = map(int, clock.split(":"))
    local = time.localtime(time_s)
    apart = abs(hours * 3600 + minutes * 60 + seconds - local.tm_hour * 3600 - local.tm_min * 60 - local.tm_sec)
    return min(apart, 86400 - apart)


def test_rare_requests_are_rare(story):
    assert len(story.driver.rare) >= 0.9 * RARE_S / RARE_EVERY_S
    assert story.driver.pages > 10 * len(story.driver.rare)


def test_the_process_ended_as_the_story_says(story):
    assert story.document["process"]["state"] == {"end": "ended", "kill": "killed"}[story.how]
    assert len(story.document["threads"]) > WORKERS


def test_one_site_is_to_blame_at_its_rate_since_its_begin(story):
    leak, = [v for v in story.document["verdicts"] if v["class"] == "leak" and v["function"]]
    assert leak["function"] == FUNCTION
    assert abs(leak["rate_bytes_per_s"] / story.driver.rate() - 1) < 0.05
    assert abs(leak["since_ns"] - begin_ns(story)) < 0.5e9


def test_the_process_grows_since_then(story):
    process, = [v for v in story.document["verdicts"] if not v["function"]]
    assert process["class"] == "leak"
    assert abs(process["since_ns"] - begin_ns(story)) < 1e9


@pytest.mark.parametrize("where", ["screen", "summary"])
def test_the_first_words_name_function_rate_and_begin(story, where):
    """Of the report its first ten lines."""
    text = " ".join(" ".join(getattr(story, where).splitlines()[:10]).split())
    named = re.search(re.escape(FUNCTION) + r" \(main\.rs:\d+\) makes .*? of (?:it|the growth)", text)
    assert named, text
    said = re.findall(r"(?:growing|grows) (\d+\.\d) MiB/min since (\d\d:\d\d:\d\d)", text.split("steady (p < 0.001)")[0])
    assert said, text
    assert abs(float(said[-1][0]) * 2**20 / 60 / story.driver.rate() - 1) < 0.05
    assert seconds_between(said[-1][1], story.driver.rare[0]) <= 1
    blocks, = re.findall(r"none of its (\d+) blocks was freed", text)
    assert len(story.driver.rare) <= int(blocks) <= 3 * len(story.driver.rare)
