# SPDX-License-Identifier: BSD-2-Clause
"""pmem_top - `pmem top` on a terminal, for its tests."""
import re

import pytest

import pmem_tmux
import pmem_tool

needs_tmux = pytest.mark.skipif(not pmem_tmux.is_there(), reason="no tmux here")


@pytest.fixture
def top(lib, tmp_path):
    """top(arguments...) -> Terminal in which `pmem top -d 0.2` runs."""
    opened = []

    def top(*argv, **options):
        opened.append(pmem_tmux.Terminal([pmem_tool.find(lib), "top", "-d", "0.2", *argv], tmp_path,
                                         name="terminal%d" % len(opened), **options))
        return opened[-1]
    yield top
    for terminal in opened:
        terminal.close()


def table(lines):
    """The rows below the head, without the blank lines and keys that follow."""
    head = next(i for i, line in enumerate(lines) if re.search(r"(live|mapped).*(site|function|module)$", line, re.I))
    rows = [line.rstrip() for line in lines[head + 1:]]
    return rows[:rows.index("")] if "" in rows else rows[:-1]
