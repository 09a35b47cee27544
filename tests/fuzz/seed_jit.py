#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""seed_jit.py - makes seeds for fuzz_perf_map: a perf map, and a log of a just-in-time compiler.

    seed_jit.py FOLDER
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from pmem_jitdump import Jitdump  # noqa: E402

MAP = b"""1000 100 JS:*order /srv/shop.js:3:19
0x1000 0x20 LazyCompile:~ /srv/a b.js:7:1
7f0000001000 b py::Shop.order:/srv/shop.py
1800 100 Lshop/Order;::add
1100 80 _ZN3foo3barEv
2000 2 Builtin:ArrayPush
"""


def dump():
    log = Jitdump(pid=4711)
    log.lines(0x1000, [(0x1000, 3, "/srv/a.js"), (0x1008, 4, None), (0x1010, 9, "b.js")])
    log.load(0x1000, 0x100, "order", index=1)
    log.load(0x7f0000001000, 0x80, "other", index=2, code=bytes(8))
    log.move(0x1000, 0x1800, 0x100, index=1)
    log.record(3, b"")
    log.load(0x2000, 0x10, "late", index=3)
    return bytes(log)


def main():
    folder = pathlib.Path(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    (folder / "map").write_bytes(MAP)
    (folder / "dump").write_bytes(dump())


if __name__ == "__main__":
    main()
