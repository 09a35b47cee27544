# SPDX-License-Identifier: BSD-2-Clause
"""test_symbols - names of addresses in real and in broken ELF files, against nm and addr2line.

Asks the helper symbol_at of the build that the library under test comes from.
"""
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import time

import pytest

from conftest import library

SEQUENCE = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
OK, NO_FILE, OTHER_FILE, NOT_ELF, STRIPPED = range(5)
ROOT = pathlib.Path(__file__).resolve().parent
LIBC = "/lib/x86_64-linux-gnu/libc.so.6"


class Found:
    def __init__(self, line):
        raw, offset, function, short, blame = line.split("\t")
        self.raw, self.offset, self.function, self.short, self.blame = raw, int(offset, 16), function, short, blame


@pytest.fixture(scope="session")
def symbol_at():
    tool = library().parent / "tests" / "unit" / "tool" / "symbol_at"
    if not tool.is_file():
        pytest.skip("no symbol_at in this build: it was made without tests")

    def ask(path, addresses, build_id=None):
        """Problem and a Found for each return address."""
        argv = [tool, path] + ([build_id] if build_id else [])
        process = subprocess.run(argv, input="".join("%x\n" % a for a in addresses), capture_output=True, text=True,
                                 timeout=60, errors="surrogateescape")
        assert process.returncode == 0, process.stderr[-2000:]
        lines = process.stdout.split("\n")
        assert len(lines) == len(addresses) + 2
        return int(lines[0]), [Found(l) for l in lines[1:-1]]

    return ask


def output(*argv):
    return subprocess.run([str(a) for a in argv], check=True, capture_output=True, text=True).stdout


def functions(path, *flags):
    """(address, size, name) of each function that nm shows with a size."""
    found = re.findall(r"^([0-9a-f]{16}) ([0-9a-f]{16}) [TtWwi] ([^@\n]*)", output("nm", "-S", "--defined-only", *flags, path),
                       re.M)
    assert found
    return [(int(a, 16), int(s, 16), n) for a, s, n in found]


def build_id(path):
    return re.search(r"Build ID: ([0-9a-f]+)", output("readelf", "-n", path)).group(1)


def check_against_nm(ask, path, *flags):
    """First, middle and last return address of each function."""
    known = functions(path, *flags)
    names = {}
    for address, _, name in known:
        names.setdefault(address, set()).add(name)
    wanted = [(at, address, size) for address, size, _ in known for at in (address + 1, address + size // 2 + 1, address + size)]
    problem, found = ask(path, [at for at, _, _ in wanted])
    assert problem == OK
    for (at, address, _), symbol in zip(wanted, found):
        start = at - symbol.offset
        name = symbol.raw.split("@")[0]
        assert name in names[start], (hex(at), symbol.raw, names[address])
        # A function inside of another is the better answer.
        assert address <= start < at
    return known, found


@pytest.fixture(scope="session")
def cxx(programs):
    return programs("symbols.cpp", "-g0", "-O0", "-Wl,--build-id")


def test_each_function_of_a_cxx_program_has_nms_name(symbol_at, cxx):
    check_against_nm(symbol_at, cxx)


def test_each_function_of_the_c_library_has_nms_name(symbol_at):
    if not os.path.exists(LIBC):
        pytest.skip("no " + LIBC)
    _, found = check_against_nm(symbol_at, LIBC, "-D")
    # In the symbol table of a debug file names have versions.
    shown = {f.raw.split("@")[0] for f in found}
    # Of aliases the one that programs call.
    assert {"malloc", "calloc", "free", "printf", "getenv", "write", "fopen"} <= shown
    assert not {"__libc_malloc", "_IO_printf", "__libc_calloc", "__write"} & shown
    assert {f.blame for f in found if f.raw in ("malloc", "calloc", "realloc", "memalign")} == {"allocator"}
    assert {f.blame for f in found if f.raw in ("printf", "getenv", "qsort")} == {"C library"}


def test_names_are_those_of_addr2line(symbol_at, cxx):
    known = functions(cxx)
    addresses = [address + size for address, size, _ in known]
    wanted = output("addr2line", "-f", "-e", cxx, *[hex(a - 1) for a in addresses]).split("\n")[0:-1:2]
    _, found = symbol_at(cxx, addresses)
    aliases = {}
    for address, _, name in known:
        aliases.setdefault(address, set()).add(name)
    assert len(wanted) == len(found)
    for address, name, symbol in zip(addresses, wanted, found):
        assert any({name, symbol.raw} <= group for group in aliases.values()), (hex(address), name, symbol.raw)


def test_cxx_names_in_full_and_short(symbol_at, cxx):
    _, found = symbol_at(cxx, [address + size for address, size, _ in functions(cxx)])
    shown = {f.function: f for f in found}
    expected = {
        "main": "main",
        "shop::Item::operator std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >() const":
            "shop::Item::operator std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
        "shop::Item::operator bool() const": "shop::Item::operator bool",
        "shop::Item::operator<(shop::Item const&) const": "shop::Item::operator<",
        "shop::Item::operator<<(int)": "shop::Item::operator<<",
        "shop::Item::operator()(int) const": "shop::Item::operator()",
        "shop::Item::operator[](unsigned long) const": "shop::Item::operator[]",
        "shop::Item::operator->()": "shop::Item::operator->",
        "shop::Item::operator new(unsigned long)": "shop::Item::operator new",
        "(anonymous namespace)::reveal((anonymous namespace)::Hidden*)": "(anonymous namespace)::reveal",
        "main::{lambda(int)#1}::operator()(int) const": "main::{lambda#1}::operator()",
        "int shop::apply<main::{lambda(int)#1}>(main::{lambda(int)#1})": "shop::apply<...>",
        "std::vector<int, std::allocator<int> > shop::repeat<int>(int const&, int)": "shop::repeat<...>",
        "std::vector<int, std::allocator<int> >::push_back(int const&)": "std::vector<...>::push_back",
    }
    for function, short in expected.items():
        assert function in shown, (function, sorted(shown))
        assert shown[function].short == short
    own = {"main", "shop::apply<...>", "shop::repeat<...>", "(anonymous namespace)::reveal", "main::{lambda#1}::operator()",
           "shop::Item::operator<<"}
    blames = {f.short: f.blame for f in found}
    assert {blames[name] for name in own} == {"own"}
    assert blames["std::vector<...>::push_back"] == "C++"
    assert blames["shop::Item::operator new"] == "allocator"
    assert blames["_start"] == "start"


def rust(folder, mangling):
    out = folder / ("rust-" + mangling)
    source = ROOT / "cases" / "46-rust-v0-mangling" / "prog.rs"
    if not shutil.which("rustc"):
        pytest.skip("no rustc")
    env = dict(os.environ, RUSTC_BOOTSTRAP="1")
    subprocess.run(["rustc", "-C", "opt-level=0", "-Z", "unstable-options", "-C", "symbol-mangling-version=" + mangling,
                    "-o", out, source], check=True, env=env, capture_output=True)
    return out


@pytest.mark.parametrize("mangling", ["legacy", "v0"])
def test_rust_names(symbol_at, tmp_path, mangling):
    program = rust(tmp_path, mangling)
    known, found = check_against_nm(symbol_at, program)
    mangled = [f for f in found if f.raw.startswith(("_R", "_ZN"))]
    assert len(mangled) > 300
    assert sum(f.raw.startswith("_R") for f in mangled) > (0 if mangling == "legacy" else 100)
    for symbol in mangled:
        assert symbol.function != symbol.raw
        assert not re.search(r"::h[0-9a-f]{16}", symbol.function), symbol.function
    # Rust's libraries are in the program's file here; all that is left is the program's own.
    closure = "{{closure}}" if mangling == "legacy" else "{closure#0}"
    assert {f.short for f in found if f.blame == "own" and f.raw.startswith(("_R", "_ZN"))} == {
        "prog::main", "prog::call", "prog::main::" + closure, "prog::outer::Gen<...>::leak_generic",
        "<core::option::Option<...> as prog::Speak>::leak_trait"}
    assert {f.blame for f in found if f.short.startswith("alloc::raw_vec::")} == {"allocator"}
    assert {f.blame for f in found if f.short.startswith(("alloc::vec::", "core::", "std::rt::"))} == {"Rust"}


def test_a_stripped_library_has_its_dynamic_names(symbol_at, programs, tmp_path):
    full = programs("symbols.cpp", "-g0", "-O0", "-shared", "-fPIC", "-Wl,--build-id", out="symbols.so")
    stripped = tmp_path / "stripped.so"
    subprocess.run(["strip", "-o", stripped, full], check=True)
    check_against_nm(symbol_at, stripped, "-D")
    local = [(a, s) for a, s, n in functions(full) if n.startswith("_ZN12_GLOBAL__N_1")]
    assert local
    assert symbol_at(full, [local[0][0] + 1])[1][0].function.startswith("(anonymous namespace)::")
    # A local function's name is gone; that of another is never shown in its place.
    assert symbol_at(stripped, [local[0][0] + 1])[1][0].raw == "-"


def test_a_stripped_program_says_so(symbol_at, programs, tmp_path):
    program = tmp_path / "stripped"
    subprocess.run(["strip", "-o", program, programs("flow.c")], check=True)
    assert symbol_at(program, [0x1234]) [0] == STRIPPED


def test_no_names_from_another_file(symbol_at, cxx, tmp_path):
    right = build_id(cxx)
    address = functions(cxx)[0][0] + 1
    assert symbol_at(cxx, [address], right)[0] == OK
    for wrong in (right[:-2] + "%02x" % (int(right[-2:], 16) ^ 1), right[:-2], "00" * 20):
        problem, found = symbol_at(cxx, [address], wrong)
        assert problem == OTHER_FILE and found[0].raw == "-" and found[0].offset == address
    without = tmp_path / "without"
    subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", cxx, without], check=True)
    assert symbol_at(without, [address], right)[0] == OTHER_FILE
    # Nothing to compare on either side.
    assert symbol_at(without, [address])[0] == OK


def test_labels_of_assembly(symbol_at, tmp_path):
    if os.uname().machine != "x86_64":
        pytest.skip("x86-64 code")
    out = tmp_path / "labels.so"
    subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,--build-id", "-o", out, ROOT / "programs" / "symbols.s"], check=True)
    at = {n: int(a, 16) for a, n in re.findall(r"^([0-9a-f]{16}) . (\S+)", output("nm", out), re.M)}
    first, big, twin, last = at["first"], at["big"], at["twin"], at["last"]
    expected = {first: "-", first + 1: "first", first + 4: "first", first + 5: "second", first + 8: "second", big + 1: "big",
                big + 3: "big", at["inner"] + 1: "inner", at["inner"] + 2: "inner", at["inner"] + 3: "big", big + 16: "big",
                big + 17: "-", twin + 1: "twin", at["__under"] + 1: "under_but_longer", last + 1: "last", last + 2: "last",
                at["other"] + 1: "other", at["datum"] + 1: "-", 0: "-", 2**64 - 1: "-"}
    # An address is that of the return: behind the call.
    problem, found = symbol_at(out, list(expected))
    assert problem == OK
    assert {a: f.raw for a, f in zip(expected, found)} == expected
    assert [f.offset for a, f in zip(expected, found) if a == first + 4] == [4]


def test_files_that_are_none(symbol_at, tmp_path):
    text = tmp_path / "text"
    text.write_text("no ELF\n" * 100)
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    for path, problem in ((text, NOT_ELF), (tmp_path / "empty", NOT_ELF), (tmp_path, NO_FILE), (tmp_path / "pipe", NO_FILE),
                          (tmp_path / "missing", NO_FILE), ("/dev/zero", NO_FILE), ("[vdso]", NO_FILE), ("", NO_FILE)):
        found_problem, found = symbol_at(path, [0x1234])
        assert (found_problem, found[0].raw, found[0].offset) == (problem, "-", 0x1234), path


def test_damaged_files_do_no_harm(symbol_at, cxx, tmp_path):
    whole = cxx.read_bytes()
    addresses = [a + 1 for a, _, _ in functions(cxx)[:20]]
    damaged = tmp_path / "damaged"
    choose = random.Random(1)
    sections = struct.unpack_from("<Q", whole, 40)[0]
    problems = set()
    for i in range(150):
        content = bytearray(whole)
        if i % 3 == 0:
            del content[choose.randrange(len(content)):]
        for _ in range(0 if i % 3 == 0 else 8):
            start = choose.choice([0, sections, sections])
            at = start + choose.randrange(min(2048, len(content) - start))
            content[at] = choose.choice([0, 1, 0x7f, 0x80, 0xff])
        damaged.write_bytes(content)
        problems.add(symbol_at(damaged, addresses)[0])
    assert STRIPPED in problems and OK in problems
    no_sections = bytearray(whole)
    no_sections[40:48] = bytes(8)
    damaged.write_bytes(no_sections)
    assert symbol_at(damaged, addresses)[0] == STRIPPED


def made_elf(path, symbols, strings, text_size):
    """An ELF file of one section of code, a symbol table and its strings."""
    offset = 64 + 4 * 64
    sections = [(0, 0, 0, 0, 0, 0, 0, 0, 0, 0), (0, 1, 6, 0x1000, 0, text_size, 0, 0, 1, 0),
                (0, 2, 0, 0, offset, len(symbols), 3, 0, 8, 24), (0, 3, 0, 0, offset + len(symbols), len(strings), 0, 0, 1, 0)]
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64, 0, 64, 56, 0, 64, 4, 0)
    path.write_bytes(header + b"".join(struct.pack("<IIQQQQIIQQ", *s) for s in sections) + symbols + strings)


def test_a_million_symbols(symbol_at, tmp_path):
    count = 1000000
    order = list(range(count))
    random.Random(2).shuffle(order)
    strings = b"".join(b"f%06d\0" % i for i in range(count))
    symbols = b"".join(struct.pack("<IBBHQQ", 8 * i, 0x12, 0, 1, 0x1000 + 16 * i, 16) for i in order)
    path = tmp_path / "million"
    made_elf(path, symbols, strings, 16 * count)
    asked = [0, 1, 499999, 777777, count - 1]
    start = time.monotonic()
    problem, found = symbol_at(path, [0x1000 + 16 * i + 5 for i in asked])
    # 0.3 s on an idle machine.
    assert time.monotonic() - start < 3
    assert problem == OK and [f.raw for f in found] == ["f%06d" % i for i in asked]


def test_nested_symbols_without_end_take_no_time(symbol_at, tmp_path):
    count = 200000
    # Each inside of the one before; behind the last one only the first covers.
    symbols = b"".join(struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x1000 + i, max(1, 2 * (count - i) - 4)) for i in range(count))
    path = tmp_path / "nested"
    made_elf(path, symbols, b"\0f\0", 4 * count)
    start = time.monotonic()
    problem, found = symbol_at(path, [0x1000 + count + 3 + i % 5 for i in range(20000)] + [0x1000 + 2 * count - 6])
    assert time.monotonic() - start < 5
    assert problem == OK and found[0].raw == "f"


def test_hostile_names_end_soon(symbol_at, tmp_path):
    # Substitutions that double: a few hundred bytes that stand for more text than there are atoms.
    doubling = b"_Z1fSt4pairIiiE" + b"".join(b"S_IS%s_S%s_E" % ((SEQUENCE[i:i + 1],) * 2) for i in range(36))
    names = [doubling, b"_Z" + b"1a" * 30000, b"_Z1f" + b"P" * 60000 + b"i", b"_Z1f" + b"P" * 8000 + b"i", b"_Z" + b"N" * 8000,
             b"_Z1fI" + b"XaaLb1E" * 1100, b"_R" + b"NvC" * 20000, b"_RINvC1a1f" + b"TTTT" * 500 + b"E", b"x" * 200000,
             b"_Z1f" + b"DpT_" * 2000, b"_ZN" + b"1aI" * 2000 + b"i" + b"E" * 2001 + b"v"]
    strings, symbols = b"\0", b""
    for i, name in enumerate(names):
        symbols += struct.pack("<IBBHQQ", len(strings), 0x12, 0, 1, 0x1000 + 16 * i, 16)
        strings += name + b"\0"
    # The last one has no end in the table.
    symbols += struct.pack("<IBBHQQ", len(strings), 0x12, 0, 1, 0x1000 + 16 * len(names), 16)
    strings += b"unterminated"
    path = tmp_path / "hostile"
    made_elf(path, symbols, strings, 16 * (len(names) + 1))
    start = time.monotonic()
    problem, found = symbol_at(path, [0x1000 + 16 * i + 1 for i in range(len(names) + 1)])
    assert time.monotonic() - start < 10
    assert problem == OK and found[-1].raw == "unterminated"
    assert found[0].function.startswith("_Z1fSt4pair") and found[8].raw == "-"
    assert all(len(f.function) <= 65536 for f in found)


def test_long_names_of_real_programs_are_demangled(symbol_at, tmp_path):
    # More than 1,024 bytes: nested expression templates have such names.
    name = b"_ZN3sum" + b"I3sum" * 400 + b"IiE" + b"E" * 400 + b"3runEv"
    path = tmp_path / "long"
    made_elf(path, struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x1000, 16), b"\0" + name + b"\0", 16)
    found = symbol_at(path, [0x1008])[1][0]
    assert found.raw == name.decode() and found.function.startswith("sum<sum<sum<") and found.short == "sum<...>::run"
