# SPDX-License-Identifier: BSD-2-Clause
"""test_top_low - `pmem top` on a low terminal: who grows stands there, though others hold more and the table is sorted by that."""
import re
import subprocess

import pytest

import pmem_run
from pmem_top import needs_tmux, table, top  # noqa: F401 (a fixture)

HOLDERS = 9
PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void *volatile kept;
#define HOLDER(n) __attribute__((noinline, noclone)) static void hold_##n(void) { kept = malloc((size_t)(n + 1) * 10 << 20); }
""" + "".join("HOLDER(%d)\n" % n for n in range(HOLDERS)) + """
__attribute__((noinline, noclone)) static void grow(void) { kept = malloc(1000); }
int main(void)
{
	kept = memset(mmap(NULL, 50 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 1 << 20);
""" + "".join("\thold_%d();\n" % n for n in range(HOLDERS)) + """
	for (;;) {
		grow();
		usleep(1000);
	}
}
"""


@pytest.fixture
def growing(lib, tmp_path):
    """The process id of a program in which nine functions hold 10 to 90 MiB, and a tenth one grows by a little."""
    (tmp_path / "growing.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-o", "growing", "growing.c"], cwd=tmp_path, check=True)
    process = subprocess.Popen([tmp_path / "growing"], cwd=tmp_path,
                               env=pmem_run.environment(lib, {"PMEM_LOG": "0", "PMEM_TIMELINE_MS": "50"}))
    yield process.pid
    process.kill()
    process.wait()


@needs_tmux
@pytest.mark.parametrize("size, rows", [((60, 12), 5), ((80, 12), 5), ((60, 8), 2)])
def test_who_grows_is_on_a_low_screen(growing, top, size, rows):  # noqa: F811
    terminal = top(growing, size=size)
    lines = terminal.wait("  grow (growing.c:", "h help")
    assert len(lines) == size[1] and lines[0].startswith("growing (pid %d)" % growing)
    assert re.match("  Live heap [0-9.]+ MiB in [0-9,]+ blocks, ", lines[1])
    found = table([*lines, ""])
    assert [row.split(" + ")[1].split()[0] for row in found[:rows]] == ["hold_%d" % (HOLDERS - 1 - i) for i in range(rows)]
    assert len(found) == rows + 1 and found[rows].startswith("h help")
