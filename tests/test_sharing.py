# SPDX-License-Identifier: BSD-2-Clause
"""test_sharing - no two threads write to one cache line on the fast path, and what all read there has no writer beside it.

By sizes and places: perf c2c needs memory events that virtual machines do not have."""
import shutil
import subprocess

import pytest

LINE = 64
# Read at each event by all threads.
HOT = ["peak_epoch_now", "process_page", "live_map", "unwind_mappings"]
# May lie beside them: written once, at the start or by fork().
CALM = {"inherited_count", "inherited_top_pages", "suffix_now"}

LAYOUT = r"""
#include <stddef.h>
#include "libpmem/thread.h"
#define LINE 64
#define LINE_OF(field) (offsetof(struct thread, field) / LINE)
/* A chunk is one thread's: whole lines of a block that begins on a page. */
_Static_assert(FORMAT_CHUNK * sizeof(struct format_counter) % LINE == 0, "counters");
_Static_assert(FORMAT_BLOCK_SIZE % (FORMAT_CHUNK * sizeof(struct format_counter)) == 0, "a chunk lies in one block");
_Static_assert(sizeof(struct format_counter_wide) % LINE == 0, "wide counters");
_Static_assert(sizeof(struct format_thread) % LINE == 0, "what the profile says of threads");
/* Other threads write these, under lock: not where each event of the owner writes. */
_Static_assert(LINE_OF(peak.high) != LINE_OF(ready) && LINE_OF(peak.high) != LINE_OF(churn_left) &&
	       LINE_OF(peak.high) != LINE_OF(last_alloc), "the window's bounds");
int main(void) { return 0; }
"""


def symbols(lib):
    """[(address, size, name)] of variables."""
    text = subprocess.run(["nm", "-S", "--defined-only", lib], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return [(int(row[0], 16), int(row[1], 16), row[3]) for row in rows if len(row) == 4 and row[2] in "bBdD"]


def test_layout_of_what_threads_have_each(root, tmp_path):
    source = tmp_path / "layout.c"
    source.write_text(LAYOUT)
    subprocess.run(["gcc", "-std=gnu11", "-I", root, "-I", root / "src", "-fsyntax-only", source], check=True)


@pytest.mark.skipif(not shutil.which("nm"), reason="no nm here")
@pytest.mark.parametrize("name", HOT)
def test_what_all_threads_read_has_no_writer_beside_it(lib, name):
    found = symbols(lib)
    (start, size), = [(a, s) for a, s, n in found if n == name]
    first, last = start // LINE, (start + size - 1) // LINE
    beside = {n for a, s, n in found if n != name and a // LINE <= last and (a + s - 1) // LINE >= first}
    assert beside <= CALM
