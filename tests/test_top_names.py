# SPDX-License-Identifier: BSD-2-Clause
"""test_top_names - `pmem top`: names that are longer than the terminal is wide."""
import subprocess

import pytest

import pmem_run
from pmem_top import needs_tmux, table, top  # noqa: F401 (a fixture)

LONG = """
#include <stdio.h>
#include <stdlib.h>
namespace warehouse { namespace inventory {
struct Registry {
    static void *remember_the_session_of_a_user_until_it_expires_or_is_revoked(int n);
    static void *load_index(int n);
};
static void *volatile kept;
void *Registry::remember_the_session_of_a_user_until_it_expires_or_is_revoked(int n) { while (n--) kept = malloc(1024); return kept; }
void *Registry::load_index(int n) { while (n--) kept = malloc(4096); return kept; }
void serve_all_requests_of_the_day(int n) {
    Registry::remember_the_session_of_a_user_until_it_expires_or_is_revoked(n); Registry::load_index(10); }
} }
int main() { warehouse::inventory::serve_all_requests_of_the_day(3000); puts("ok"); fflush(stdout); return getchar() & 1; }
"""
# What is on the screen for one call stack, expanded, without figures.
NARROW = ["- remember_the_s...evoked  long.cc:10", "  - malloc by serve_all_..._day, main",
          "                    remember_the_session_of_a_user...s_or_is_revoked  long.cc:10",
          "                    warehouse::...::serve_all_requests_of_the_day  long.cc:13", "                    main  long.cc:15"]
WIDE = ["- warehouse::...::remember_the_session_of_a_user_until_it_expires_or_is_revoked  long.cc:10",
        "  - malloc by warehouse::inventory::serve_all_requests_of_the_day, main",
        "                    warehouse::inventory::Registry::remember_the_session_of_a_user_until_it_expires_or_is_revoked  long.cc:10",
        "                    warehouse::inventory::serve_all_requests_of_the_day  long.cc:13", "                    main  long.cc:15"]


@pytest.fixture
def long_names(lib, tmp_path):
    """The process id of a program with long names, which waits."""
    (tmp_path / "long.cc").write_text(LONG)
    subprocess.run(["g++", "-g", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-o", "long", "long.cc"], cwd=tmp_path, check=True)
    process = subprocess.Popen([tmp_path / "long"], cwd=tmp_path, env=pmem_run.environment(lib, {"PMEM_LOG": "0"}),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ok\n"
    yield process.pid
    process.communicate(b"")


def expand_the_first(terminal):
    """The first row, and its first call stack."""
    terminal.wait("LIVE  growth/min", "main")
    terminal.press("Enter")
    terminal.wait("malloc by")
    terminal.press("Down", "Enter")


def names_of(terminal, columns):
    """The first lines of the table without the figures, which take so many columns; every line is within the screen."""
    lines = terminal.lines()
    rows = table(lines)[:5]
    return [row[columns:] for row in rows[:2]] + rows[2:]


@needs_tmux
@pytest.mark.parametrize("size,head,names", [
    ((80, 24), "      LIVE  growth/min    alloc/s   blocks site", NARROW),
    ((160, 50), "      LIVE  growth/min    alloc/s   blocks   allocated   temporary site", WIDE)], ids=["80x24", "160x50"])
def test_long_names_use_the_width_that_there_is(long_names, top, size, head, names):
    terminal = top(long_names, size=size)
    expand_the_first(terminal)
    lines = terminal.wait("main  long.cc:15")
    assert head in lines and len(lines) == size[1]
    assert all(len(line) <= size[0] for line in lines)
    assert names_of(terminal, len(head) - len("site")) == names
    assert lines[0].endswith("  every 200 ms") and len(lines[0]) == size[0]


@needs_tmux
def test_the_size_changes_while_it_runs(long_names, top):
    terminal = top(long_names)
    expand_the_first(terminal)
    terminal.wait(NARROW[3])
    heads = {80: "   blocks site", 160: "   temporary site"}
    for size, names in (((160, 50), WIDE), ((80, 24), NARROW), ((160, 50), WIDE)):
        terminal.resize(*size)
        pmem_run.wait_for(lambda: any(line.endswith(heads[size[0]]) for line in terminal.lines()) and names[2] in terminal.lines()
                          and len(terminal.lines()) == size[1], "the screen of %d columns" % size[0])
        head = next(line for line in terminal.lines() if line.endswith(heads[size[0]]))
        assert names_of(terminal, len(head) - len("site")) == names
    terminal.press("q")
    terminal.wait("code=0")
