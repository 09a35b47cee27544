# SPDX-License-Identifier: BSD-2-Clause
"""doc/FORMAT.md and src/core/format.h say the same: every structure's offsets and sizes, every number's value.

The tables are read from the document, the truth comes from a C program that is made from them.
"""
import re
import subprocess

import pytest

COUNTS = {"FORMAT_KINDS", "FORMAT_RSS_KINDS", "FORMAT_LOSS_KINDS", "FORMAT_HOOK_COUNT"}  # ends of enums
STRINGS = {"FORMAT_MAGIC"}


class Document:
    def __init__(self, text):
        self.structs, self.values = {}, {}
        current = None
        for line in text.splitlines():
            heading = re.match(r"#+ (?:struct (\w+), (\d+) bytes)?", line)
            if heading:
                current = heading.group(1)
                if current:
                    self.structs[current] = (int(heading.group(2)), [])
            field = re.match(r"\| (\d+) \| (\d+) \| `(\w+)` \|", line)
            if field:
                self.structs[current][1].append((field.group(3), int(field.group(1)), int(field.group(2))))
            value = re.match(r"\| (\d+) \| `(\w+)` \|", line)
            if value:
                self.values[value.group(2)] = int(value.group(1))


@pytest.fixture(scope="module")
def document(root):
    return Document((root / "doc" / "FORMAT.md").read_text())


@pytest.fixture(scope="module")
def header(root):
    return re.sub(r"/\*.*?\*/", "", (root / "src" / "core" / "format.h").read_text(), flags=re.S)


@pytest.fixture(scope="module")
def ask(root, tmp_path_factory):
    """The values of C expressions, with format.h included."""
    def values(expressions):
        folder = tmp_path_factory.mktemp("format")
        source = folder / "ask.c"
        source.write_text('#include <stddef.h>\n#include <stdio.h>\n#include "core/format.h"\nint main(void)\n{\n' +
                          "".join('\tprintf("%%llu\\n", (unsigned long long)(%s));\n' % e for e in expressions) + "}\n")
        subprocess.run(["cc", "-std=gnu11", "-I", root / "src", "-o", folder / "ask", source], check=True)
        out = subprocess.run([folder / "ask"], check=True, capture_output=True, text=True).stdout
        return [int(line) for line in out.split()]
    return values


def test_fields(document, ask):
    rows = [(name, field) for name, (_, fields) in document.structs.items() for field in fields]
    expressions = []
    for name, (field, _, _) in rows:
        expressions += ["offsetof(struct %s, %s)" % (name, field), "sizeof(((struct %s *)0)->%s)" % (name, field)]
    truth = iter(ask(expressions))
    for name, (field, offset, size) in rows:
        assert (name, field, offset, size) == (name, field, next(truth), next(truth))


def test_structures_are_complete(document, ask):
    """No gaps: a field that is missing in the document would leave one."""
    sizes = ask(["sizeof(struct %s)" % name for name in document.structs])
    for (name, (size, fields)), truth in zip(document.structs.items(), sizes):
        assert (name, size) == (name, truth)
        end = 0
        for field, offset, length in fields:
            assert (name, field, offset) == (name, field, end)
            end = offset + length
        assert (name, end) == (name, size)


def test_every_structure_is_there(document, header):
    assert set(re.findall(r"^struct (\w+) \{", header, flags=re.M)) == set(document.structs)


def test_values(document, ask):
    names = list(document.values)
    assert ask(names) == [document.values[name] for name in names]


def test_every_value_is_there(document, header):
    names = set(re.findall(r"^#define (FORMAT_\w+)", header, flags=re.M))
    for body in re.findall(r"enum \w*\s*\{(.*?)\}", header, flags=re.S):
        names |= set(re.findall(r"(?:^|,)\s*(FORMAT_\w+)", body))
    assert len(names) > 60
    assert names - COUNTS - STRINGS == set(document.values)


def test_magic(document, header, root):
    magic = re.search(r'#define FORMAT_MAGIC "(\w{8})"', header).group(1)
    assert "`%s`" % magic in (root / "doc" / "FORMAT.md").read_text()
