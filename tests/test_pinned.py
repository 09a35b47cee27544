# SPDX-License-Identifier: BSD-2-Clause
"""test_pinned - whose live blocks keep pages: of programs that say where their blocks lie, to the byte, now and at the end."""
import collections
import json
import struct
import subprocess

import pytest

import pmem_run
import pmem_tool

PAGE = 4096
WINDOW = 16384
PIN_COUNT = 996  # struct format_header
ALLOCATORS = {"glibc": None, "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc.so.4"}
FUNCTIONS = "keep_small", "keep_large"


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


class Pins:
    """pins.c, when its blocks are there."""

    def __init__(self, run, program, mode="", env=None, lib=True):
        argv = [program] + ([mode] if mode else [])
        self.process = run.start(argv, env=env, lib=lib, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.blocks = []
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "ready":
                self.pid = int(words[1])
                break
            self.blocks.append((words[0], int(words[1]), int(words[2])))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()

    def end(self):
        self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0
        return self.process.folder / ("pmem.%d.prof" % self.pid)


def expect(blocks, header):
    """What each function pins by the rule: pages, and free bytes shared out by bytes in the page; of inherited blocks last."""
    pages = collections.defaultdict(list)
    for who, address, usable in sorted(blocks, key=lambda block: (block[0] == "inherited", block[1])):
        # A block's header is looked for in the block's own window.
        begin, end = address - (header if address % WINDOW else 0), address + usable
        for page in range(begin // PAGE, (end + PAGE - 1) // PAGE):
            pages[page].append((who, min(end, (page + 1) * PAGE) - max(begin, page * PAGE)))
    pins, counts = collections.Counter(), collections.Counter()
    for parts in pages.values():
        used, seen, given = sum(size for _, size in parts), 0, 0
        for who, size in parts:
            seen += size
            pins[who] += (PAGE - used) * seen // used - given
            given = (PAGE - used) * seen // used
        if used < PAGE:
            counts.update({who for who, _ in parts})
    return pins, counts


def pinned(tool, name):
    result = tool("report", "--pinned", "--json", name)
    assert result.returncode == 0, result.stderr
    whole = json.loads(result.stdout)
    found, rss = whole["pinned"], whole["rss"]
    sums = sum(stack["pinned_bytes"] for stack in found["stacks"]) + found["inherited_bytes"] + found["other_bytes"]
    assert sums == found["pinned_bytes"] == rss["fragments_bytes"]
    assert found["free_pages_bytes"] == rss["kept_bytes"]
    order = [stack["pinned_bytes"] for stack in found["stacks"]]
    assert order == sorted(order, reverse=True)
    return found


def by_function(found, key):
    sums = collections.Counter()
    for stack in found["stacks"]:
        sums[stack["function"]] += stack[key]
    return sums


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_free_bytes_are_charged_to_the_survivors(run, tool, programs, lib, allocator):
    library = ALLOCATORS[allocator] and pmem_run.installed(ALLOCATORS[allocator])
    if ALLOCATORS[allocator] and not library:
        pytest.skip("no " + ALLOCATORS[allocator])
    preload = {"LD_PRELOAD": "%s:%s" % (lib, library)} if library else None
    with Pins(run, programs("pins.c"), env=preload) as program:
        now = pinned(tool, program.pid)
        at_end = pinned(tool, program.end())
    pins, pages = expect(program.blocks, 0 if library else 8)
    # At the end of a larger process a sample of its pages is looked at.
    assert library or now["stacks"] == at_end["stacks"]
    assert now["inherited_bytes"] == 0
    for function in FUNCTIONS:
        # Slices of other allocators hold one size each: the shares of one function's blocks are rounded otherwise.
        assert abs(by_function(now, "pinned_bytes")[function] - pins[function]) <= (pages[function] if library else 0)
        assert by_function(now, "pages")[function] >= pages[function]
    if not library:
        assert by_function(now, "pages")["keep_large"] == pages["keep_large"]
        assert now["free_pages_bytes"] >= 10 * PAGE
        assert by_function(now, "live_bytes") == {"keep_small": 40 * 201, "keep_large": 200 * 86}


def test_a_childs_and_its_parents_blocks(run, tool, programs):
    with Pins(run, programs("pins.c"), "fork") as program:
        now = pinned(tool, program.pid)
        at_end = pinned(tool, program.end())
    pins, _ = expect(program.blocks, 8)
    for found in now, at_end:
        assert found["inherited_bytes"] == pins["inherited"] > 0
        assert {f: by_function(found, "pinned_bytes")[f] for f in FUNCTIONS} == {f: pins[f] for f in FUNCTIONS}


def test_the_screen_and_the_words(run, tool, programs):
    with Pins(run, programs("pins.c")) as program:
        now = tool("report", "--pinned", program.pid).stdout.decode()
        profile = program.end()
    at_end = tool("report", "--pinned", profile).stdout.decode()
    for text in now, at_end:
        words = " ".join(text.split())
        assert " holds 7.9 KiB live and pins " in words and "keep_small (pins.c:" in words
        assert "The call stack that pins most" in words and "Nobody pins the " in words
        assert all(len(line) <= 80 for line in text.splitlines())
    rows = [line.split() for line in at_end.splitlines() if "keep_" in line and "KiB" in line and "pins.c:" in line]
    assert [row[5] for row in rows if len(row) > 6] == ["keep_small", "keep_large"]
    # Too few bytes to matter elsewhere.
    assert "pins" not in tool("report", "--rss", profile).stdout.decode().replace("pins.c", "").replace("pins (pid", "")


def test_considerable_pins_are_named_on_the_first_page(run, tool, programs):
    process = run.start([programs("rss.c"), "fragments", 64], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while process.stdout.readline() != "ready\n":
        pass
    pages = [tool("report", *more, process.pid).stdout.decode() for more in ([], ["--rss"])]
    process.communicate("\n")
    profile = process.folder / ("pmem.%d.prof" % process.pid)
    pages += [tool("report", *more, profile).stdout.decode() for more in ([], ["--rss"])]
    for page in pages:
        assert "filled (rss.c:" in page and " live and pins 6" in " ".join(page.split()), page
    found = json.loads(tool("report", "--json", profile).stdout)["pinned"]
    assert found["pinned_bytes"] == sum(stack["pinned_bytes"] for stack in found["stacks"])


def test_older_and_damaged_files(run, tool, programs, tmp_path):
    with Pins(run, programs("pins.c")) as program:
        profile = program.end()
    data = bytearray(profile.read_bytes())
    count, = struct.unpack_from("<I", data, PIN_COUNT)
    assert count >= 2
    copy = tmp_path / "copy.prof"
    for wrong, words in (0, "its pmem was older"), (1 << 30, "damaged"):
        struct.pack_into("<I", data, PIN_COUNT, wrong)
        copy.write_bytes(data)
        result = tool("report", "--pinned", copy)
        assert words in " ".join((result.stdout + result.stderr).decode().split())
        assert (result.returncode == 1) == (wrong == 0)
    assert json.loads(tool("report", "--json", copy).stdout)["pinned"]["pinned_bytes"] > 0


def test_refusals(run, tool, programs):
    with Pins(run, programs("pins.c"), env={"PMEM_SAMPLE": "4096"}) as program:
        profile = program.end()
    for argv, words, code in (["--pinned"], b"--sample", 1), (["--pinned", "--since", "0s"], b"--since", 1), \
            (["--pinned", "--rss", "--json"], b"one view", 2):
        result = tool("report", *argv, profile)
        assert result.returncode == code and words in result.stderr and not result.stdout
