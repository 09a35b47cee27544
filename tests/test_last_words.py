# SPDX-License-Identifier: BSD-2-Clause
"""test_last_words - who grew, said once when a limit is near: in the log, on stderr where that can do no harm, and on the timeline."""
import json
import os
import pathlib
import re
import socket
import subprocess

import pytest

import pmem_log
import pmem_run
import pmem_tool

MIB = 1 << 20
LIMIT_MIB = 128
FIRST = re.compile(r"^memory reached (\d+) % of (.+): (\d+\.\d [KMG]iB) of (\d+\.\d [KMG]iB), live blocks are (\d+\.\d [KMG]iB); (.*)$")
GROWER = re.compile(r"^  \+(\d+\.\d [KMG]iB), live (\d+\.\d [KMG]iB) \{([0-9a-f]{16})\} (.*)$")
MARK = "# last words: "
DATA = ["data", LIMIT_MIB, LIMIT_MIB - 10]  # what libpmem.so and the program's library map counts too


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


def text_of(size):
    """As the recorder writes sizes: a tenth, rounded down."""
    unit, shift = next(p for p in (("KiB", 10), ("MiB", 20), ("GiB", 30)) if size >> p[1] < 1024)
    return "%d.%d %s" % (size >> shift, (size & ((1 << shift) - 1)) * 10 >> shift, unit)


def words_in_log(path):
    return [line[len(MARK):] for line in path.read_text().splitlines() if line.startswith(MARK)]


def words_on(err):
    lines = err.decode().splitlines()
    assert all(re.match(r"^pmem\[\d+\]: ", line) for line in lines), lines
    return [line.partition(": ")[2] for line in lines]


def log_with_words(folder):
    path, = [p for p in pathlib.Path(folder).iterdir() if p.suffix == ".log" and words_in_log(p)]
    return path


def check_words(words, kind, path, leaks=("leak_much", "leak_little")):
    """They name who grew, most first, and what the snapshot that follows them has."""
    first = FIRST.match(words[0])
    assert first and first.group(2) == kind, words
    growers = [GROWER.match(line) for line in words[1:-1]]
    assert [g.group(4).split(" < ")[0] for g in growers] == list(leaks), words
    assert all(" < grow < " in g.group(4) for g in growers)
    log = pmem_log.parse([path])
    snapshot, = [s for s in log.snapshots if s.figures.get("last_words") == "1"]
    entries = {e.hash: e for e in snapshot.entries}
    assert [g.group(2) for g in growers] == [text_of(entries[g.group(3)].live) for g in growers]
    assert first.group(5) == text_of(snapshot.figure("live"))
    assert words[-1] == "all of them: %s" % path
    return first, growers


@pytest.mark.parametrize("resource, kind", [("data", "RLIMIT_DATA"), ("as", "RLIMIT_AS")])
def test_who_grew_is_said_once(run, tool, programs, resource, kind):
    limit, grows = (LIMIT_MIB, LIMIT_MIB - 10) if resource == "data" else (256, 230)
    mine = run([programs("brink.c"), "main", resource, limit, grows])
    assert mine.code == 0
    path = log_with_words(mine.folder)
    words = words_on(mine.err)
    assert words == words_in_log(path)
    first, growers = check_words(words, kind, path)
    assert first.group(1) == "90" and first.group(4) == text_of(limit * MIB)
    used = float(first.group(3).split()[0])
    # A look is due at the latest after a quarter of what was left.
    assert 0.9 * limit - 0.1 <= used <= 0.97 * limit
    # What they grew since half of it was used is less than what they hold, and shared as they grow.
    grown = [float(g.group(1).split()[0]) for g in growers]
    held = [float(g.group(2).split()[0]) for g in growers]
    assert grown[0] < held[0] and 6.5 <= grown[0] / grown[1] <= 7.5
    profile = path.with_suffix(".prof")
    marks = [m["text"] for m in json.loads(tool("report", "--json", profile).stdout)["marks"]]
    assert marks == ["last words: %s of %s" % (first.group(3), first.group(4))]


@pytest.mark.parametrize("how", ["thread", "fork"])
def test_threads_and_children(run, programs, how):
    mine = run([programs("brink.c"), how, *DATA])
    assert mine.code == 0
    path = log_with_words(mine.folder)
    check_words(words_on(mine.err), "RLIMIT_DATA", path)
    if how == "fork":
        assert len(list(path.parent.glob("*.log"))) == 2


def test_another_share_and_none(run, programs):
    mine = run([programs("brink.c"), "main", "data", 512, 310], {"PMEM_LAST_WORDS": "50"})
    assert words_on(mine.err)[0].startswith("memory reached 50 % of RLIMIT_DATA: 25")
    for env in {"PMEM_LAST_WORDS": "0"}, {}:
        mine = run([programs("brink.c"), "main", "data", LIMIT_MIB if env else 512, DATA[2]], env)
        assert mine.code == 0 and mine.err == b"" and not any(words_in_log(p) for p in mine.folder.glob("*.log"))


def test_without_a_log_and_without_a_timeline(run, programs):
    mine = run([programs("brink.c"), "main", *DATA], {"PMEM_LOG": "0", "PMEM_TIMELINE_MS": "0"})
    words = words_on(mine.err)
    assert FIRST.match(words[0]) and [GROWER.match(w).group(4).split(" < ")[0] for w in words[1:]] == ["leak_much", "leak_little"]


# -- stderr is the program's ------------------------------------------------------------------------------

def silent(mine):
    assert mine.code == 0 and mine.err == b"", mine.err


@pytest.mark.parametrize("how", ["closed", "replaced"])
def test_nothing_on_a_stderr_that_is_another_one(run, programs, how):
    mine = run([programs("brink.c"), how, *DATA])
    silent(mine)
    assert mine.out.startswith(b"fd2 ") and b"pmem" not in mine.out
    assert words_in_log(log_with_words(mine.folder))


def test_nothing_in_a_sandbox(run, programs):
    mine = run([programs("brink.c"), "sandbox", *DATA])
    silent(mine)
    assert not any(words_in_log(p) for p in mine.folder.glob("*.log"))


def start(run, programs, how, stderr, env=None):
    process = run.start([programs("brink.c"), how, *DATA], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
    return process


def test_a_full_pipe_is_not_waited_for(run, programs):
    reader, writer = os.pipe()
    own = os.open("/proc/self/fd/%d" % writer, os.O_WRONLY | os.O_NONBLOCK)
    try:
        while True:
            os.write(own, b"x" * 65536)
    except BlockingIOError:
        pass
    process = start(run, programs, "main", writer)
    out, _ = process.communicate(timeout=60)
    # The description that the program shares with others still waits.
    assert process.returncode == 0 and int(out.split()[-1]) & os.O_NONBLOCK == 0
    assert words_in_log(log_with_words(process.folder))
    for fd in reader, writer, own:
        os.close(fd)


def test_a_pipe_that_nobody_reads_is_no_signal(run, programs):
    reader, writer = os.pipe()
    process = start(run, programs, "late-pipe", writer)
    os.close(reader)
    os.close(writer)
    process.communicate(b"\n", timeout=60)
    assert process.returncode == 0 and words_in_log(log_with_words(process.folder))


@pytest.mark.parametrize("is_journal", [False, True])
def test_of_sockets_only_the_journal(run, programs, is_journal):
    mine, its = socket.socketpair()
    status = os.fstat(its.fileno())
    env = {"JOURNAL_STREAM": "%d:%d" % (status.st_dev, status.st_ino + (not is_journal))}
    process = start(run, programs, "main", its.fileno(), env)
    its.close()
    process.communicate(timeout=60)
    text = b""
    while chunk := mine.recv(65536):
        text += chunk
    mine.close()
    path = log_with_words(process.folder)
    assert process.returncode == 0 and (words_on(text) == words_in_log(path) if is_journal else text == b"")


def test_a_file(run, programs, tmp_path):
    with open(tmp_path / "err", "wb") as err:
        process = start(run, programs, "main", err)
        process.communicate(timeout=60)
    assert words_on((tmp_path / "err").read_bytes()) == words_in_log(log_with_words(process.folder))


# -- cgroups ----------------------------------------------------------------------------------------------

class FakeCgroup:
    """A library that looks for cgroups in a folder."""

    def __init__(self, root, folder):
        self.folder, self.lib = folder / "cgroups", folder / "libpmem.so"
        flags = '-g0 -DPMEM_CGROUP_ROOT="%s" -DPMEM_CGROUP_FILE="%s"' % (self.folder, self.folder / "self")
        subprocess.run([root / "compile.sh"], cwd=folder, env={**os.environ, "PREFIX": str(root), "CFLAGS": flags}, check=True)

    def make(self, own, **files):
        """The line of /proc/self/cgroup; files by path, with _ for /."""
        subprocess.run(["rm", "-rf", self.folder], check=True)
        self.folder.mkdir()
        (self.folder / "self").write_text(own + "\n")
        for name, text in files.items():
            path = self.folder / name.replace("__", "/").replace("_DOT_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(str(text) + "\n")


@pytest.fixture(scope="module")
def cgroup(root, tmp_path_factory):
    return FakeCgroup(root, tmp_path_factory.mktemp("cgroup"))


def words_in(run, programs, cgroup, grows=40):
    mine = run([programs("brink.c"), "main", "none", 0, grows], {"LD_PRELOAD": str(cgroup.lib)})
    assert mine.code == 0
    return words_on(mine.err)


def test_the_cgroups_use_counts(run, programs, cgroup):
    cgroup.make("0::/a/b", a__memory_DOT_max=64 * MIB, a__memory_DOT_current=60 * MIB, a__b__memory_DOT_max="max")
    words = words_in(run, programs, cgroup)
    assert words[0].startswith("memory reached 90 % of the cgroup's limit: 60.0 MiB of 64.0 MiB, live blocks are ")


def test_pages_of_files_do_not_count(run, programs, cgroup):
    stat = "anon 5\ninactive_file %d\nactive_file 9" % (10 * MIB)
    cgroup.make("0::/a", a__memory_DOT_max=64 * MIB, a__memory_DOT_current=60 * MIB, a__memory_DOT_stat=stat)
    assert words_in(run, programs, cgroup) == []


def test_without_it_the_resident_set_counts(run, programs, cgroup):
    cgroup.make("0::/", memory_DOT_max=64 * MIB)
    words = words_in(run, programs, cgroup, 52)
    first = FIRST.match(words[0])
    assert first.group(2) == "the cgroup's limit" and 57.6 <= float(first.group(3).split()[0]) <= 62.5
    assert [GROWER.match(w).group(4).split(" < ")[0] for w in words[1:3]] == ["leak_much", "leak_little"]


def test_version_1(run, programs, cgroup):
    files = {"memory__x__memory_DOT_limit_in_bytes": 64 * MIB, "memory__x__memory_DOT_usage_in_bytes": 60 * MIB,
             "memory__x__memory_DOT_stat": "cache 7\ntotal_inactive_file %d" % MIB}
    cgroup.make("0::/other\n5:cpu,memory:/x", **files)
    assert words_in(run, programs, cgroup)[0].startswith("memory reached 90 % of the cgroup's limit: 59.0 MiB of 64.0 MiB, ")


# -- the kernel's own ---------------------------------------------------------------------------------------

def own_groups():
    """(folder of this process's group, whether it is the first of what is mounted) in each hierarchy that may limit memory."""
    groups = dict(line.split(":", 2)[1:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines())
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        root, place = fields.split()[3:5]
        kind, _, options = rest.split()[:3]
        names = [name for name in groups if (not name if kind == "cgroup2" else kind == "cgroup" and "memory" in name.split(","))]
        if names and (kind == "cgroup2" or "memory" in options.split(",")):
            path = groups[names[0]]
            inside = os.path.relpath(path, root) if (path + "/").startswith(root.rstrip("/") + "/") else "."
            yield pathlib.Path(place, inside), inside == "."


def is_delegated(folder):
    """systemd's mark for a group whose processes may make groups below."""
    for name in "trusted.delegate", "user.delegate":
        try:
            if os.getxattr(folder, name) == b"1":
                return True
        except OSError:
            pass
    return False


def make_group(folder, is_ours):
    """A group below that one which may limit memory, or why there is none."""
    if not is_ours and not is_delegated(folder):
        return None, "%s belongs to whoever started us: PMEM_TEST_CGROUP may name it" % folder
    if (folder / "cgroup.controllers").exists() and "memory" not in (folder / "cgroup.subtree_control").read_text().split():
        return None, "%s does not hand memory on to groups below" % folder
    made = folder / ("pmem-test-%d" % os.getpid())
    try:
        made.mkdir()
    except OSError as e:
        return None, "%s: %s" % (folder, e.strerror)
    if not any((made / name).exists() for name in LIMITS):
        made.rmdir()
        return None, "%s: no limit of memory there" % folder
    return made, None


LIMITS = ("memory.max", "memory.limit_in_bytes")


@pytest.fixture
def real_cgroup():
    """In the folder that PMEM_TEST_CGROUP names, or below our own group, where that is a container's first or was delegated to us."""
    named = os.environ.get("PMEM_TEST_CGROUP")
    reasons = []
    for folder, is_ours in [(pathlib.Path(named), True)] if named else own_groups():
        made, reason = make_group(folder, is_ours)
        if made:
            break
        reasons.append(reason)
    else:
        pytest.skip("; ".join(reasons) or "no cgroup hierarchy of memory is mounted here")
    yield made
    made.rmdir()


def test_a_real_cgroup(run, programs, real_cgroup):
    limit, = [real_cgroup / name for name in LIMITS if (real_cgroup / name).exists()]
    limit.write_text(str(96 * MIB))
    mine = run([programs("brink.c"), "main", "none", 0, 75],
               preexec_fn=lambda: (real_cgroup / "cgroup.procs").write_text(str(os.getpid())))
    assert mine.code == 0
    check_words(words_on(mine.err), "the cgroup's limit", log_with_words(mine.folder))
