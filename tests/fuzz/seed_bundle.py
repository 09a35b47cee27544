#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""seed_bundle.py - makes seeds for fuzz_bundle: unpacked sections, and a whole bundle.

    seed_bundle.py FOLDER
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from pmem_bundle import Content, bundle  # noqa: E402
from pmem_profile import Profile  # noqa: E402


def names():
    content = Content(was_live=1)
    content.place(0, 0x7000, ("jit", "JS:*jit /a.js:1:1", 5), [("jit", "JS:*jit /a.js:1:1", "/a.js", 1, 0, 5)])
    content.place(1, 0x1000, ("main", "main", 4), [("f", "_Z1fv", "a.c", 7, 1, 4), ("main", "main", "a.c", 9, 0, 4)])
    content.place(1, 0x1010, (None, None, 0x1010), [(None, None, None, 0, 0, 0x1010)])
    content.place(2, 0x2000, ("g", "g", 2), [("g", "g", None, 0, 0, 2)])
    content.modules = [None, "was replaced since", None]
    content.source("a.c", 5, ["", "  x = 1;", "}"])
    content.source("a.c", 20, ["y"])
    content.source("b.c", 1, ["z", "z"])
    return content


def whole():
    profile = Profile()
    program = profile.module("/bin/a")
    profile.count(0, profile.stack([(program, 0x1000), (program, 0x1010), (0, 0x7000)]), alloc_count=1, alloc_bytes=9)
    return bundle(profile.image(), names())


def parts(content):
    return b"".join(bytes([kind]) + len(text).to_bytes(2, "little") + text for kind, text in content.sections().items())


def main():
    folder = pathlib.Path(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    (folder / "names").write_bytes(parts(names()))
    (folder / "empty").write_bytes(parts(Content()))
    (folder / "whole").write_bytes(whole())


if __name__ == "__main__":
    main()
