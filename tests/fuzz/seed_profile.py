#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""seed_profile.py - makes seeds for fuzz_profile: small profiles, each with something of its own.

    seed_profile.py FOLDER

A seed is the header and then, for each block, directory entry (4 bytes), 2 bytes of 0 (where its content begins), the
content's length (2 bytes), and the content without the zeros at its end.
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from pmem_profile import F, Profile  # noqa: E402


def seed(profile):
    profile.finish()
    out = bytes(profile.first)
    for (kind, index), content in profile.blocks.items():
        content = bytes(content).rstrip(b"\0")
        out += (kind << F["INDEX_BITS"] | index).to_bytes(4, "little") + bytes(2) + \
            len(content).to_bytes(2, "little") + content
    return out


def tree():
    profile = Profile()
    program = profile.module("/usr/bin/server", b"0123456789abcdefghij", bias=0x5000, load_ns=3)
    library = profile.module("/lib/libx.so", instance=1)
    profile.header(program="/usr/bin/server", command="server\0-v\0", directory="/", host="box", cgroup="/a",
                   refused_setting="A=1", pid=4711, peak_bytes=900)
    stacks = [profile.stack([(program, 0x1000), (library, 0x2000 + 16 * i), (0, 0x300000 * i + 1)], hook=i)
              for i in range(4)]
    stacks.append(profile.stack([F["SPECIAL_TRUNCATED"], (program, 0x99)], hook=8))
    for number, stack in enumerate(stacks + [1, 2]):
        profile.count(number % 2, stack, alloc_count=3, alloc_bytes=300, free_count=number % 3, free_bytes=100,
                      epoch=number % 2, peak_bytes=50, peak_count=1)
    return profile


def numbers():
    profile = Profile()
    library = profile.module("l")
    for number in range(3):
        stack = profile.stack([(library, 0x10 + number)], sizes=[0, 5, F["SIZES_MANY"] | 1 << 24 | 1][number],
                              lifetimes=2 if number == 1 else 0)
        profile.count_wide(number, stack, alloc_count=1 << 33, alloc_bytes=1 << 40, free_count=1 << 32,
                           free_bytes=1 << 39, temporary_count=5, peak_bytes=1 << 38, epoch=number)
    profile.counts["histogram"] = 3
    profile.put("HISTOGRAMS", "format_histogram", 1, counts=bytes(range(1, 9)))
    profile.put("HISTOGRAMS", "format_histogram", 2, counts=bytes(range(1, 9)))
    return profile


def timeline():
    profile = Profile()
    stack = profile.stack([(0, 0x1234)])
    profile.count(0, stack, alloc_count=1, alloc_bytes=1)
    for number in range(3):
        profile.put("POINTS", "format_point", profile.take("point"), time_ns=30 - number, live_bytes=1, rss_bytes=9)
        sample = (7 + number).to_bytes(8, "little") + bytes(range(16))
        profile.put("SERIES", "format_series", profile.take("series"), stack_id=stack, samples=sample)
        profile.put("MARKS", "format_mark", profile.take("mark"), time_ns=5 - number, text=b"here")
    return profile


def mappings():
    """Beside a heap, one of them with samples."""
    profile = Profile()
    library = profile.module("l")
    profile.count(0, profile.stack([(library, 0x10)]), alloc_count=1, alloc_bytes=1)
    profile.header(mapped_peak_bytes=1 << 20)
    for number in range(3):
        stack = profile.stack([(library, 0x20 + number)], hook=F["HOOK_MMAP"] + number)
        profile.mapping(stack, call_count=2, mapped_bytes=8192 + number, unmapped_bytes=number, peak_bytes=8192)
    sample = (7).to_bytes(8, "little") + bytes(range(16))
    profile.put("SERIES", "format_series", profile.take("series"), stack_id=stack, samples=sample)
    profile.put("POINTS", "format_point", profile.take("point"), time_ns=30, live_bytes=1, mapped_bytes=9)
    return profile


def failures():
    """Of a call stack without an event, twice, and of nobody."""
    profile = Profile()
    stack = profile.stack([(0, 0x1234)])
    for number, stack_id in enumerate((stack, stack, 0, 99)):
        profile.put("FAILURES", "format_failure", profile.take("failure"), stack_id=stack_id, count=1, bytes=5 + number, first_ns=9 - number)
    return profile


def pins():
    profile = Profile()
    stack = profile.stack([(0, 0x1234)])
    profile.count(0, stack, alloc_count=1, alloc_bytes=1)
    # time_ns, total and one line.
    profile.header(rss=b"".join(n.to_bytes(8, "little") for n in (1, 99, 0, 0, 70)), pin_count=3)
    for number, stack_id in enumerate((stack, 0, (1 << 32) - 2)):
        profile.put("PINS", "format_pin", number, stack_id=stack_id, pages=1, bytes=20 + number)
    return profile


def directory():
    """With a further part of the directory, in block 2."""
    profile = Profile()
    profile.put("DIRECTORY", "format_chunk", 0, owner=F["POINTS"] << F["INDEX_BITS"])
    number = 1 + list(profile.blocks).index((F["DIRECTORY"], 0))
    profile.header(directories=number.to_bytes(4, "little"))
    return profile


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for make in (Profile, tree, numbers, timeline, mappings, failures, pins, directory):
        with open(os.path.join(folder, make.__name__.lower()), "wb") as file:
            file.write(seed(make()))


if __name__ == "__main__":
    main()
