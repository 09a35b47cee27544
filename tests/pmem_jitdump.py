# SPDX-License-Identifier: BSD-2-Clause
"""pmem_jitdump - writes logs of just-in-time compilers, by the kernel's tools/perf/Documentation/jitdump-specification.txt.

    log = Jitdump(pid=4711)
    log.lines(0x1000, [(0x1000, 3, "/srv/shop.js"), (0x1008, 4, None)])    # None: the file of the entry before
    log.load(0x1000, 0x100, "order", index=1)
    path.write_bytes(bytes(log))
"""
import struct

MAGIC, VERSION, HEADER_SIZE, MACHINE = 0x4A695444, 1, 40, 62
LOAD, MOVE, LINES, CLOSE = 0, 1, 2, 3


class Jitdump:
    def __init__(self, pid, magic=MAGIC, version=VERSION, header_size=HEADER_SIZE):
        self.pid = pid
        self.out = struct.pack("<IIIIIIQQ", magic, version, header_size, MACHINE, 0, pid, 0, 0)
        self.out += bytes(header_size - len(self.out))

    def record(self, kind, content, time=0):
        self.out += struct.pack("<IIQ", kind, 16 + len(content), time) + content

    def load(self, address, size, name, index, code=b""):
        self.record(LOAD, struct.pack("<IIQQQQ", self.pid, self.pid, address, address, size, index) +
                    name.encode() + b"\0" + code)

    def move(self, old, new, size, index):
        self.record(MOVE, struct.pack("<IIQQQQQ", self.pid, self.pid, new, old, new, size, index))

    def lines(self, address, entries):
        content = struct.pack("<QQ", address, len(entries))
        for at, line, file in entries:
            content += struct.pack("<QII", at, line, 0) + (b"\xff" if file is None else file.encode()) + b"\0"
        self.record(LINES, content)

    def __bytes__(self):
        return self.out
