# SPDX-License-Identifier: BSD-2-Clause
"""pmem_bundle - writes bundles (doc/BUNDLE.md), with zstd frames that hold their content as it is (RFC 8878).

    content = Content()
    content.place(module=1, offset=0x1000, fast=("main", "main", 4), frames=[("main", "main", "a.c", 7, 0, 4)])
    data = bundle(profile_bytes, content)
"""
import re
import struct

FRAME, MAGIC, VERSION = 0x184D2A5B, b"pmembndl", 1
PROFILE, STRINGS, FACTS, NAMES, MODULES, SOURCES = range(1, 7)
BLOCK_MAX = 128 * 1024


def uleb(*values):
    out = b""
    for value in values:
        while value > 0x7f:
            out += bytes([value & 0x7f | 0x80])
            value >>= 7
        out += bytes([value])
    return out


def block(kind, size, content, last=False):
    return (int(last) | kind << 1 | size << 3).to_bytes(3, "little") + content


def zstd(content, size=None):
    """A frame.  size: the content's size that it claims."""
    out = struct.pack("<IBQ", 0xFD2FB528, 3 << 6 | 1 << 5, len(content) if size is None else size)
    for piece in re.findall(rb"\0{64,%d}|(?:[^\0]|\0(?!\0{63})){1,1024}" % BLOCK_MAX, content, re.S):
        zeros = piece[:64] == bytes(64)
        out += block(1, len(piece), b"\0") if zeros else block(0, len(piece), piece)
    return out + block(0, 0, b"", last=True)


def container(sections, version=VERSION):
    """sections: (kind, unpacked size, frame)"""
    size = 16 + 24 * len(sections)
    out = struct.pack("<II8sII", FRAME, size, MAGIC, version, len(sections))
    for kind, unpacked, frame in sections:
        out += struct.pack("<IIQQ", kind, 0, len(frame), unpacked)
    return out + b"".join(frame for _, _, frame in sections)


class Content:
    """All sections but the profile."""

    def __init__(self, was_live=0, duration_ns=10**9):
        self.numbers, self.strings = {}, b""
        self.facts = uleb(was_live, duration_ns)
        self.places, self.place_count, self.symbols = b"", 0, 0
        self.last = (0, 0)
        self.modules, self.sources, self.source_count = [], b"", 0

    def string(self, text):
        if text is None:
            return 0
        if text not in self.numbers:
            self.numbers[text] = len(self.numbers) + 1
            self.strings += text.encode() + b"\0"
        return self.numbers[text]

    def place(self, module, offset, fast, frames):
        """fast: (function, raw name, offset); frames: (function, raw name, file, line, inlined, offset)"""
        last = self.last[1] if module == self.last[0] else 0
        self.places += uleb(module - self.last[0], offset - last, len(frames))
        self.places += uleb(self.string(fast[0]), self.string(fast[1]), fast[2])
        for function, raw_name, file, line, inlined, start in frames:
            self.places += uleb(self.string(function), self.string(raw_name), self.string(file), line, inlined, start)
        self.last = (module, offset)
        self.place_count += 1
        self.symbols += 1 + len(frames)

    def source(self, file, first, lines):
        self.sources += uleb(self.string(file), first, len(lines), *(self.string(line) for line in lines))
        self.source_count += 1

    def sections(self):
        modules = uleb(len(self.modules), *(self.string(text) for text in self.modules))
        return {STRINGS: self.strings, FACTS: self.facts, NAMES: uleb(self.place_count, self.symbols) + self.places,
                MODULES: modules, SOURCES: uleb(self.source_count) + self.sources}


def bundle(profile, content):
    sections = {PROFILE: profile, **content.sections()}
    return container([(kind, len(text), zstd(text)) for kind, text in sections.items()])
