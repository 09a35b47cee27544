#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""seed_cfi.py - makes seeds for fuzz_cfi from the .eh_frame sections of real objects.

    seed_cfi.py FOLDER OBJECT...

One seed per distinct sequence of opcodes (up to 200 an object), each a section of its own: a header with
a search table of one entry, the CIE and the FDE.  Objects whose pointers are not pc-relative with 4 bytes
are left out.
"""
import os
import struct
import sys

CODE = 0x10000  # distance from the section to the code
PER_OBJECT = 200


def section(data, wanted):
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3a)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    for name, _, _, _, start, length in headers:
        at = headers[names][4] + name
        if data[at:data.index(b"\0", at)] == wanted:
            return data[start:start + length]
    return b""


def records(frames):
    """(offset of the id, bytes from the id on) of each CIE and FDE"""
    at = 0
    while at + 4 <= len(frames):
        length, = struct.unpack_from("<I", frames, at)
        if length in (0, 0xffffffff):
            return
        yield at + 4, frames[at + 4:at + 4 + length]
        at += 4 + length


def seed(cie, fde):
    size, = struct.unpack_from("<I", fde, 8)
    cie_at = 20
    fde_at = cie_at + 4 + len(cie)
    hdr = struct.pack("<BBBBiIii", 1, 0x1b, 3, 0x3b, 16, 1, CODE, fde_at)
    body = struct.pack("<IiI", fde_at + 4 - cie_at, CODE - (fde_at + 8), size) + fde[12:]
    return struct.pack("<Ii", 0, CODE) + hdr + struct.pack("<I", len(cie)) + cie + \
        struct.pack("<I", len(body)) + body + bytes(4)


def seeds(path):
    with open(path, "rb") as file:
        data = file.read()
    known = {}
    seen = set()
    for at, body in records(section(data, b".eh_frame")):
        distance, = struct.unpack_from("<I", body)
        if distance == 0:
            known[at - 4] = body
            continue
        cie = known[at - distance]
        shape = (cie, bytes(byte & 0xc0 or byte for byte in body[13:40]))
        if b"\x1b" in cie[8:24] and shape not in seen and len(seen) < PER_OBJECT:
            seen.add(shape)
            yield seed(cie, body)


def main():
    folder, *paths = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for path in paths:
        for number, content in enumerate(seeds(path)):
            name = f"{os.path.basename(path)}.{number}"
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)


if __name__ == "__main__":
    main()
