# SPDX-License-Identifier: BSD-2-Clause
"""conftest - the library under test: PMEM_TEST_LIB, or build/libpmem.so under the repository's root.

Nothing is built here.  Tests that need the library ask for the fixture lib; the others (parsers, bare
runs) work without it.
"""
import os
import pathlib
import signal
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

# A shell lets its background jobs ignore these, and so would all that is tested.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def library():
    return pathlib.Path(os.environ.get("PMEM_TEST_LIB") or ROOT / "build" / "libpmem.so").resolve()


@pytest.fixture(scope="session")
def lib():
    path = library()
    if not path.is_file():
        pytest.fail("%s does not exist: build it first (script/build) or set PMEM_TEST_LIB" % path, pytrace=False)
    return str(path)


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="module")
def browser():
    """For pages; without one the test is skipped."""
    import pmem_page
    why_not = pmem_page.missing()
    if why_not:
        pytest.skip("no page is tested: %s" % why_not)
    made = pmem_page.Browser()
    yield made
    made.close()


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """Compiles tests/programs/NAME into a temporary folder, once: programs("edges.c") -> path."""
    import pmem_run
    folder = tmp_path_factory.mktemp("programs")
    folder.chmod(0o755)
    return pmem_run.Compiler(ROOT / "tests" / "programs", folder)


@pytest.fixture
def run(lib, tmp_path):
    """Runs a command with the library in an empty folder of its own: see pmem_run.Runner."""
    import pmem_run
    return pmem_run.Runner(lib, tmp_path)


@pytest.fixture
def begun(run):
    """begun(argv) -> a recorded process that has said "ready", with pipes to and from it."""
    import subprocess
    started = []

    def begin(*argv, env=None, **options):
        process = run.start(argv, env={"PMEM_LOG": "0", **(env or {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
