#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_cfi.py - compares cfi_rule_at() with readelf for every row of real objects.

    check_cfi.py CFI_DUMP OBJECT...

CFI_DUMP is the helper program cfi_dump.  For each row that `readelf --debug-dump=frames-interp` prints
the first and the last address are looked up, and for each entry the address just past its end.  Rows
with expressions are judged by the text of `readelf --debug-dump=frames`.  Prints how many rules of each
kind were compared; exit code 1 at the first object with a difference, 77 if no object could be read.
"""
import collections
import os
import re
import subprocess
import sys

ENTRY = re.compile(r"^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (CIE|FDE)(.*)$")
RANGE = re.compile(r"cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")
PLT = re.compile(r"^DW_OP_breg7 \(rsp\): 8; DW_OP_breg16 \(rip\): 0; DW_OP_lit15; DW_OP_and; "
                 r"DW_OP_lit(\d+); DW_OP_ge; DW_OP_lit3; DW_OP_shl; DW_OP_plus$")
DEREF = re.compile(r"^DW_OP_breg(6|7) \(r[bs]p\): (-?\d+); DW_OP_deref$")

UNSUPPORTED = ("unsupported", 0, 0)


class Entry:
    """A CIE or an FDE: rows are (address, {column: text})."""

    def __init__(self, offset, kind, rest):
        self.offset = offset
        self.rows = []
        self.cie = None
        self.signal = '"zRS"' in rest
        self.start = self.end = 0
        if kind == "FDE":
            cie, start, end = RANGE.search(rest).groups()
            self.cie = int(cie, 16)
            self.start, self.end = int(start, 16), int(end, 16)


def readelf(what, path):
    # Its exit code is 1 where a note or a debug link is odd: the answers count, see check().
    return subprocess.run(["readelf", "--wide", f"--debug-dump={what}", path], text=True,
                          capture_output=True, env={**os.environ, "LC_ALL": "C"}).stdout


def eh_frame(text):
    """The lines about .eh_frame; readelf also prints .debug_frame."""
    inside = False
    for line in text.splitlines():
        if line.startswith("Contents of the "):
            inside = ".eh_frame section" in line
        elif inside:
            yield line


def read_rows(path):
    entries = {}
    columns = []
    entry = None
    for line in eh_frame(readelf("frames-interp", path)):
        head = ENTRY.match(line)
        words = re.sub(r"(r\d+) \(\w+\)", r"\1", line).split()
        if head:
            entry = Entry(int(head[1], 16), head[2], head[3])
            entries[entry.offset] = entry
        elif words[:1] == ["LOC"]:
            columns = words[1:]
        elif entry and len(words) == len(columns) + 1 and re.fullmatch("[0-9a-f]{16}", words[0]):
            entry.rows.append((int(words[0], 16), dict(zip(columns, words[1:]))))
    return entries


def read_expressions(path):
    """{entry offset: (set of CFA expressions, set of the frame pointer's, of the return address's)}"""
    found = collections.defaultdict(lambda: (set(), set(), set()))
    offset = None
    for line in eh_frame(readelf("frames", path)):
        head = ENTRY.match(line)
        if head:
            offset = int(head[1], 16)
        for which, start in enumerate(("DW_CFA_def_cfa_expression (", "DW_CFA_expression: r6 (rbp) (",
                                       "DW_CFA_expression: r16 (rip) (")):
            if line.strip().startswith(start):
                found[offset][which].add(line.strip()[len(start):-1])
    return found


def frame_pointer(text):
    """The fp_offset that readelf's column means, None if no rule can say it."""
    if text in ("u", "s"):
        return 0
    saved = re.fullmatch(r"c(-\d+)", text)
    return int(saved[1]) if saved and int(saved[1]) % 8 == 0 else None


def expected_expression(row, expressions):
    cfa, fp, ra = expressions
    if len(cfa) != 1:
        return None
    text = next(iter(cfa))
    plt, deref = PLT.match(text), DEREF.match(text)
    offset = frame_pointer(row.get("rbp", "u"))
    if plt and row["ra"] == "c-8" and offset is not None:
        return ("plt", int(plt[1]), offset)
    if deref and deref[1] == "6" and row["ra"] == "c-8" and row.get("rbp") == "exp":
        return ("fp_deref", int(deref[2]), 0) if fp == {"DW_OP_breg6 (rbp): 0"} else UNSUPPORTED
    if text == "DW_OP_breg7 (rsp): 160; DW_OP_deref" and fp == {"DW_OP_breg7 (rsp): 120"} and \
            ra == {"DW_OP_breg7 (rsp): 168"}:
        return ("signal", 0, 0)
    return UNSUPPORTED


def expected(row, expressions):
    """The rule for a row; None if readelf does not tell enough."""
    if row["ra"] == "u":
        return ("end", 0, 0)
    if row["CFA"] == "exp":
        return expected_expression(row, expressions)
    cfa = re.fullmatch(r"(r\w+)([+-]\d+)", row["CFA"])
    offset = frame_pointer(row.get("rbp", "u"))
    if not cfa or cfa[1] not in ("rsp", "rbp") or int(cfa[2]) % 8 or row["ra"] != "c-8" or \
            offset is None:
        return UNSUPPORTED
    return ("sp" if cfa[1] == "rsp" else "fp", int(cfa[2]), offset)


def questions(path):
    """[(address, expected rule)]"""
    entries = read_rows(path)
    expressions = read_expressions(path)
    fdes = [e for e in entries.values() if e.cie is not None and e.end > e.start]
    starts = {e.start for e in fdes}
    asked = []
    for entry in fdes:
        rows = entry.rows or [(entry.start, entries[entry.cie].rows[0][1])]
        bounds = [address for address, _ in rows[1:]] + [entry.end]
        for (address, row), past in zip(rows, bounds):
            rule = expected(row, expressions[entry.offset])
            if rule and entries[entry.cie].signal and rule[0] not in ("signal", "end"):
                rule = UNSUPPORTED
            if rule and past > address:
                asked += [(address, rule)] + [(past - 1, rule)] * (past - 1 > address)
        if entry.end not in starts:
            asked.append((entry.end, ("none", 0, 0)))
    return asked


def check(helper, path):
    asked = questions(path)
    lines = "".join(f"{address:x}\n" for address, _ in asked)
    answers = subprocess.run([helper, path], input=lines, check=True, text=True,
                             capture_output=True).stdout.splitlines()
    assert len(answers) == len(asked) > 0, f"{path}: {len(asked)} questions, {len(answers)} answers"
    kinds = collections.Counter()
    different = 0
    for (address, rule), answer in zip(asked, answers):
        kinds[rule[0]] += 1
        if answer != "%s %d %d" % rule:
            different += 1
            if different <= 10:
                print(f"{path}: {address:x}: expected {rule}, got {answer}")
    print(f"{path}: {len(asked)} addresses, {different} differences;",
          ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
    return different == 0


def main():
    helper, *paths = sys.argv[1:]
    present = [path for path in paths if os.path.exists(path)]
    for path in sorted(set(paths) - set(present)):
        print(f"{path}: not on this machine")
    if not present:
        sys.exit(77)
    results = [check(helper, path) for path in present]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
