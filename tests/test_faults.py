# SPDX-License-Identifier: BSD-2-Clause
"""The recorder's own system calls fail, one at a time and all from one on: the program does not notice, and no loss is silent.

tests/programs/inject.c lets them fail (ptrace).  Here a spread of all points is tried; PMEM_TEST_ALL_FAULTS=1 tries each call of each
name with each of its errors, and prints how many these were.
"""
import collections
import concurrent.futures
import errno
import json
import os
import platform
import re
import shutil
import signal
import subprocess

import pytest

import pmem_log
import pmem_run
import pmem_tool

ALL = os.environ.get("PMEM_TEST_ALL_FAULTS") == "1"
SPREAD = 3          # of the calls of one name; of the shortest program all
TIMEOUT_S = 30
NO_TRACE, NO_FILTER = 99, 98
BLOCKS_BEFORE_SANDBOX = 1025  # of faults.c

# Small enough for snapshots and rotations of the log in a short run.
SETTINGS = {"PMEM_CHURN_THRESH": "500k", "PMEM_LOG_MAX": "100k", "PMEM_SNAPSHOT_SHARE": "1000", "PMEM_LOG_RATE": "0"}

# name -> (source, arguments, settings)
PROGRAMS = {
    "heap": ("heap.c", [], {}),
    "edges": ("edges.c", [], {"PMEM_CHURN_THRESH": "300m"}),
    "faults": ("faults.c", [], SETTINGS),
    "sandbox": ("faults.c", ["sandbox"], SETTINGS),
    "threads": ("raw_exit_threads.c", ["80"], SETTINGS),
}

# What a call can fail with; EPERM as from seccomp comes on top of each.
ERRORS = {
    "mmap": ["ENOMEM", "ENODEV"], "mremap": ["ENOMEM"], "madvise": ["EINVAL"], "mincore": ["ENOMEM"],
    "openat": ["EMFILE", "ENOENT", "EACCES"], "close": ["EIO"], "read": ["EIO", "EINTR"], "pread64": ["EIO"],
    "write": ["ENOSPC", "EINTR", "SHORT"], "pwrite64": ["ENOSPC", "EINTR", "SHORT"], "pwritev": ["ENOSPC", "EINTR", "SHORT"],
    "fallocate": ["EOPNOTSUPP"], "fstat": ["EBADF"], "newfstatat": ["ENOENT"], "fstatfs": ["ENOSYS"], "fcntl": ["EMFILE"],
    "renameat": ["EACCES"], "unlinkat": ["EACCES"], "readlinkat": ["ENOENT"], "getcwd": ["ENOENT"], "uname": ["EFAULT"],
    "prlimit64": ["ENOSYS"], "getrlimit": ["ENOSYS"], "membarrier": ["ENOSYS"], "process_vm_readv": ["ENOSYS"], "rt_sigprocmask": ["EFAULT"],
    "ppoll": ["EINTR"], "prctl": ["EINVAL"], "nanosleep": ["EINTR"], "sched_yield": ["ENOSYS"],
    "tgkill": ["EINVAL"],
}
NEVER_FAIL = {"munmap", "getpid", "gettid", "getppid", "exit_group"}

Clean = collections.namedtuple("Clean", "out code calls sandboxed totals")
Point = collections.namedtuple("Point", "program mode name error number")
TOTALS = ("alloc_bytes", "alloc_blocks", "free_bytes", "free_blocks", "live_bytes", "live_blocks")


class Injector:
    def __init__(self, lib, tool, programs, folder):
        self.lib, self.tool, self.folder, self.count = lib, tool, folder, 0
        self.paths = {name: programs(source) for name, (source, _, _) in PROGRAMS.items()}
        self.program = programs("inject.c")

    def run(self, number, name, words):
        """(finished process, its folder, [what the report says])"""
        folder = self.folder / ("%s-%d" % (name, number))
        folder.mkdir(mode=0o755)
        report = self.folder / ("%s-%d.report" % (name, number))
        env = pmem_run.environment(None, {**PROGRAMS[name][2], "INJECT_PRELOAD": self.lib})
        process = subprocess.run([self.program, report, *words, self.paths[name], *PROGRAMS[name][1]], cwd=folder, env=env,
                                 stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)
        return process, folder, [line.split() for line in report.read_text().splitlines()] if report.exists() else []

    def report(self, path):
        """What the tool says of a profile; None: that it is none."""
        result = subprocess.run([self.tool, "info", "--json", path], capture_output=True, env=pmem_run.environment(None))
        return json.loads(result.stdout) if result.returncode == 0 else None


@pytest.fixture(scope="module")
def injector(lib, programs, tmp_path_factory):
    if platform.machine() != "x86_64":
        pytest.skip("tests/programs/inject.c knows the registers of x86_64 only")
    made = Injector(lib, pmem_tool.find(lib), programs, tmp_path_factory.mktemp("faults"))
    probe = subprocess.run([made.program, os.devnull, "list", "true"], capture_output=True)
    if probe.returncode == NO_TRACE:
        pytest.skip("ptrace is not permitted here: %s" % probe.stderr.decode().strip())
    return made


def numbers(report):
    return [int(words[1]) for words in report if words[0] == "process"]


def totals_of(report):
    return {key: report["totals"][key] for key in TOTALS}


@pytest.fixture(scope="module")
def clean(injector):
    """name -> what happens when nothing fails."""
    found = {}
    for name, (_, arguments, _) in PROGRAMS.items():
        bare = subprocess.run([injector.paths[name], *arguments], capture_output=True, stdin=subprocess.DEVNULL,
                              cwd=injector.folder, env=pmem_run.environment(None))
        process, folder, report = injector.run(0, name, ["list"])
        assert (process.returncode, process.stdout, process.stderr) == (bare.returncode, bare.stdout, bare.stderr), name
        calls, sandboxed, totals = collections.Counter(), set(), []
        for words in report:
            if words[0] not in ("process", "injected"):
                calls[words[1]] += int(words[2])
                if words[0] == "sandbox":
                    sandboxed.add(words[1])
        for pid in numbers(report):
            path = folder / ("pmem.%d.prof" % pid)
            if path.exists():
                seen = injector.report(path)
                assert seen["losses"]["events"] == seen["losses"]["short_stacks"] == 0, (name, seen["losses"])
                totals.append(totals_of(seen))
        found[name] = Clean(bare.stdout, bare.returncode, calls, sandboxed, totals)
    return found


# --- one point ----------------------------------------------------------------------------------

def says_loss(report):
    """The profile says that something is missing which makes its figures wrong."""
    losses, file = report["losses"], report["file"]
    return any(losses[key] for key in ("events", "memory", "internal", "profile_bytes")) or file["partial"] or \
        file["memory_blocks"] > 0 or report["recording"]["state"] != "ended"


def check_profile(injector, path, totals):
    """What the tool says of the profile if there is one: that is right, or says that it is not."""
    report = injector.report(path) if path.exists() else None
    if report and not says_loss(report):
        assert totals_of(report) == totals, "silent loss in %s" % path.name
    return report


def check_log(folder, pid, totals, lost, dead):
    """True if there is a log that is right, or says that it is not; lost: the profile says so, dead: an empty file may not go away."""
    pattern = re.compile(r"pmem\.%d(?:\.(\d+))?\.log" % pid)
    found = [(int(match.group(1) or 1), path) for path in folder.iterdir() if (match := pattern.fullmatch(path.name))]
    path = max(found)[1] if found else None
    if not path or (dead and path.stat().st_size == 0):
        return False
    old = path.with_name(path.name + ".1")
    log = pmem_log.parse([old, path] if old.exists() else [path])
    says = lost or log.cut or log.torn or log.lost or "final snapshot missing, see profile" in log.notes + log.top or \
        log.last and log.last.figure("lost")
    if not says:
        assert log.last and log.last.figure("live") == totals["live_bytes"], "silent loss in %s" % path.name
    return True


def check_warnings(stderr):
    lines = stderr.decode(errors="replace").splitlines()
    assert len(lines) <= 1 and all(line.startswith("pmem: ") for line in lines), stderr
    return bool(lines)


def check(injector, clean, point, number):
    """Runs the program with the fault.  Returns whether the fault happened."""
    want = clean[point.program]
    fault = point.error if point.error == "SHORT" else str(getattr(errno, point.error))
    words = [point.mode] + ([point.name] if point.name else []) + [fault, str(point.number)]
    process, folder, report = injector.run(number, point.program, words)
    assert (process.returncode, process.stdout) == (want.code, want.out), process.stderr[-300:]
    warned = check_warnings(process.stderr)
    recorded = numbers(report)[:1] + [pid for pid in numbers(report)[1:] if len(want.totals) > 1]
    for index, (pid, totals) in enumerate(zip(recorded, want.totals)):
        profile = check_profile(injector, folder / ("pmem.%d.prof" % pid), totals)
        lost = not profile or profile["losses"]["log_bytes"]
        log = check_log(folder, pid, totals, lost, point.mode != "fail")
        # Where not even a warning can be written there is nothing that could be taken for a profile.  A child never warns.
        assert profile or log or warned or point.mode != "fail" or index > 0, "nothing of %d, and no word" % pid
    shutil.rmtree(folder)
    return int(report[-1][1]) > 0


def spread(count):
    """Numbers from 1 to count: all, or SPREAD of them with the first and the last."""
    if ALL or count <= SPREAD:
        return range(1, count + 1)
    return sorted({1 + (count - 1) * i // (SPREAD - 1) for i in range(SPREAD)})


def points_of(program, calls):
    for name in sorted(calls):
        if name in NEVER_FAIL:
            continue
        for error in ["EPERM"] + ERRORS[name] if ALL else ERRORS[name][:1]:
            for number in range(1, calls[name] + 1) if program == "heap" else spread(calls[name]):
                yield Point(program, "fail", name, error, number)
            if error != "EINTR":
                for number in spread(calls[name])[:: 1 if ALL else 2]:
                    yield Point(program, "fail-from", name, error, number)
        if "SHORT" in ERRORS[name] and not ALL:
            yield Point(program, "fail", name, "SHORT", 1)
    for error in ["EPERM", "ENOSYS", "ENOMEM"] if ALL else ["EPERM"]:
        for number in spread(sum(calls.values())):
            yield Point(program, "fail-all", "", error, number)


@pytest.mark.parametrize("program", [name for name in PROGRAMS if ALL or name != "edges"])
def test_faults_do_not_reach_the_program(injector, clean, program):
    points = list(points_of(program, clean[program].calls))
    failures, happened = [], 0

    def one(item):
        number, point = item
        try:
            return check(injector, clean, point, number), None
        except (AssertionError, pmem_log.LogError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
            return True, "%s: %s" % (" ".join(map(str, point)), str(error)[:160].replace('\n', ' '))

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for did, failure in pool.map(one, enumerate(points, 1)):
            happened += did
            failures += [failure] if failure else []
    print("%s: %d points, %d happened" % (program, len(points), happened))
    assert happened > len(points) // 2
    assert not failures, "%d of %d points:\n%s" % (len(failures), len(points), "\n".join(failures[:200]))


# --- doc/SYSTEM-CALLS.md ------------------------------------------------------------------------

@pytest.fixture(scope="module")
def documented(root):
    """name -> text of the column "when"."""
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \|", (root / "doc" / "SYSTEM-CALLS.md").read_text(), re.M)
    assert len(rows) == len(dict(rows)) > 20
    return dict(rows)


def test_the_list_of_system_calls_is_true(clean, documented):
    observed = set().union(*(run.calls for run in clean.values()))
    sandboxed = set().union(*(run.sandboxed for run in clean.values()))
    assert observed - set(documented) == set(), "made, but not in the list"
    assert {name for name, when in documented.items() if "rare" not in when} - observed == set(), "in the list, but not made"
    assert sandboxed - {name for name, when in documented.items() if "sandbox" in when} == set()
    assert {"mmap", "write"} <= sandboxed


def numbers_of(injector, names):
    table = subprocess.run([injector.program, "names"], capture_output=True, text=True, check=True).stdout.split()
    numbers = dict(zip(table[1::2], table[::2]))
    return [numbers[name] for name in names]


def run_filtered(injector, lib, folder, words):
    folder.mkdir()
    return subprocess.run([injector.paths["faults"], *words], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL,
                          env=pmem_run.environment(lib, SETTINGS), timeout=TIMEOUT_S)


@pytest.mark.parametrize("action", ["errno", "kill"])
def test_only_the_listed_calls_are_made_in_a_sandbox(injector, clean, documented, lib, tmp_path, action):
    names = [name for name, when in documented.items() if "sandbox" in when and "exit" not in name]
    process = run_filtered(injector, lib, tmp_path / "all", [action, *numbers_of(injector, names)])
    if process.returncode == NO_FILTER:
        pytest.skip("seccomp filters are not permitted here")
    want = clean["faults"]
    assert (process.returncode, process.stdout, process.stderr) == (want.code, want.out, b"")
    profile, = (tmp_path / "all").glob("*.prof")
    report = injector.report(profile)
    assert report["recording"]["state"] == "ended"
    assert report["totals"]["live_bytes"] == want.totals[0]["live_bytes"]
    assert (report["losses"]["events"], report["losses"]["memory"], report["file"]["partial"]) == (0, 0, False)
    # That the filter is one: without write(2).
    process = run_filtered(injector, lib, tmp_path / "none", [action, *numbers_of(injector, ["mmap", "munmap", "madvise"])])
    assert process.returncode == (-signal.SIGSYS if action == "kill" else want.code)
    if action == "errno":
        profile, = (tmp_path / "none").glob("*.prof")
        assert process.stdout == want.out and injector.report(profile)["losses"]["log_bytes"] > 0


def test_what_cannot_be_mapped_is_copied_before_a_sandbox(injector):
    process, folder, report = injector.run(9, "sandbox", ["fail-from", "pwritev", str(errno.EPERM), "1"])
    assert process.returncode == 3 and int(report[-1][1]) >= 1
    found = injector.report(folder / ("pmem.%d.prof" % numbers(report)[0]))
    assert found["recording"]["state"] != "ended"
    assert found["file"]["damage_count"] == 0 and found["file"]["memory_blocks"] > 0
    assert found["totals"]["alloc_blocks"] >= BLOCKS_BEFORE_SANDBOX
