# SPDX-License-Identifier: BSD-2-Clause
"""test_debug_forms - the forms that debug information comes in: compressed, split, packaged, shared out, or only a table of functions.

Against eu-addr2line, and against the same program with plain debug information.
"""
import lzma
import re
import shutil
import subprocess
import sys

import pytest

from test_debug_info import ROOT, answers, compare_with_eu_addr2line, frames_at, needs_elfutils, random_addresses  # noqa: F401
from test_symbols import OK, OTHER_FILE, STRIPPED, build_id, functions, output

SECTION = ".gnu_debugdata"
UNPACKED_MAX = 128 << 20  # src/symbol/mini_debug.c


def build(folder, *argv):
    """A C++ program with inlined functions, compiled in a folder of its own, where its split files stay."""
    if not shutil.which(argv[0]):
        pytest.skip("no " + argv[0])
    folder.mkdir()
    source = ROOT / "programs" / "inlined.cpp"
    done = subprocess.run([*argv, "-Wl,--build-id", "-o", "program", source, "-lpthread"], cwd=folder, capture_output=True,
                          text=True)
    if done.returncode != 0 and "-gz" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return folder / "program"


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    """plain("g++", "-g", "-O2") -> the program, compiled once."""
    built = {}

    def get(*argv):
        if argv not in built:
            built[argv] = build(tmp_path_factory.mktemp("plain") / "form", *argv)
        return built[argv]

    return get


def sections(path):
    return output("readelf", "-SW", path)


def outermost(result):
    """The functions that were not inlined, without the suffixes of their parts."""
    return [re.sub(r"\.(cold|isra|part|constprop)\b.*", "", frames[-1][0]) for frames in result[1]]


# --- compressed, split, shared out --------------------------------------------------------------

FORMS = {
    "compressed": ("g++", "-g", "-O2", "-gz=zlib"),
    "split": ("g++", "-g", "-O2", "-gsplit-dwarf"),
    "split, DWARF 4": ("g++", "-gdwarf-4", "-O2", "-gsplit-dwarf"),
    "split and compressed": ("g++", "-g", "-O2", "-gsplit-dwarf", "-gz=zlib"),
    "split, clang": ("clang++", "-g", "-O2", "-gsplit-dwarf"),
}


@needs_elfutils
@pytest.mark.parametrize("form", FORMS)
def test_compressed_and_split_forms(frames_at, plain, tmp_path, form):  # noqa: F811
    compiler, *flags = FORMS[form]
    path = build(tmp_path / "form", compiler, *flags)
    usual = plain(compiler, *[f for f in flags if f not in ("-gsplit-dwarf", "-gz=zlib")])
    assert bool(list(path.parent.glob("*.dwo"))) == ("split" in form)
    assert bool(re.search(r"\.debug_line .* C ", sections(path))) == ("compressed" in form)
    # Into split units it does not look for inlined functions: there another tool must agree.
    mine = compare_with_eu_addr2line(frames_at, path, "clang" not in form and "split" not in form)
    addresses = [a + 1 for a in random_addresses(usual)]
    assert answers(frames_at, path, addresses) == answers(frames_at, usual, addresses)
    assert sum(len(f) > 1 for f in mine) > len(mine) / 20


@needs_elfutils
@pytest.mark.parametrize("shared", [False, True])
def test_what_dwz_left_and_shared_out(frames_at, plain, tmp_path, shared):  # noqa: F811
    if not shutil.which("dwz"):
        pytest.skip("no dwz")
    (tmp_path / "form").mkdir()
    path = shutil.copy(plain("g++", "-g", "-O2"), tmp_path / "form" / "program")
    addresses = [a + 1 for a in random_addresses(path)]
    expected = answers(frames_at, path, addresses)
    if shared:
        shutil.copy(path, tmp_path / "other")
        subprocess.run(["dwz", "-m", "common", "-M", "common", path, tmp_path / "other"], check=True, cwd=path.parent)
        assert ".gnu_debugaltlink" in sections(path)
    else:
        size = path.stat().st_size
        subprocess.run(["dwz", path], check=True)
        assert path.stat().st_size < size
    compare_with_eu_addr2line(frames_at, path, True)
    assert answers(frames_at, path, addresses) == expected
    if shared:
        (path.parent / "common").unlink()
        found = answers(frames_at, path, addresses)
        # What was shared out is missing; functions that were not inlined have the symbol table's names.
        assert found[0] == OK and outermost(found) == outermost(expected)


def test_a_package_of_split_files(frames_at, tmp_path):  # noqa: F811
    """elfutils reads packages since 0.192; older ones leave the skeleton's functions and lines."""
    if not shutil.which("dwp") or not shutil.which("eu-readelf"):
        pytest.skip("no dwp, or no elfutils")
    path = build(tmp_path / "form", "g++", "-gdwarf-4", "-O2", "-gsplit-dwarf")
    addresses = [a + 1 for a in random_addresses(path)]
    expected = answers(frames_at, path, addresses)
    # Of binutils, which knows DWARF 4.
    subprocess.run(["dwp", "-e", "program"], check=True, cwd=path.parent, timeout=60)
    for file in path.parent.glob("*.dwo"):
        file.unlink()
    found = answers(frames_at, path, addresses)
    version = [int(n) for n in re.findall(r"\d+", output("eu-readelf", "--version").split("\n")[0])]
    if version >= [0, 192]:
        assert found == expected
    assert found[0] == OK
    # The innermost line is the skeleton's, and the function is the symbol table's.
    assert [f[0][2:] for f in found[1]] == [f[0][2:] for f in expected[1]]
    assert outermost(found) == outermost(expected)


# --- .gnu_debugdata -----------------------------------------------------------------------------

class Mini:
    """A stripped program whose section .gnu_debugdata has the functions that its .dynsym leaves out, as gdb's manual makes it."""

    def __init__(self, folder, full):
        self.folder, self.full, self.bare = folder, full, folder / "program"
        debug, keep, self.inner = folder / "debug", folder / "keep", folder / "inner"
        exported = {name for _, _, name in functions(self.full, "-D")}
        self.hidden = [f for f in functions(self.full) if f[2] not in exported]
        assert len(self.hidden) > 10 and len(exported) > 10
        keep.write_text("".join(name + "\n" for _, _, name in self.hidden))
        subprocess.run(["objcopy", "--only-keep-debug", self.full, debug], check=True)
        subprocess.run(["objcopy", "-S", "--remove-section", ".comment", "--keep-symbols=%s" % keep, debug, self.inner], check=True)
        subprocess.run(["strip", "--strip-all", "-o", self.bare, self.full], check=True)
        self.id = build_id(self.full)
        self.addresses = [a + 1 for a, _, _ in functions(self.full)]

    def put(self, content):
        packed = self.folder / "packed"
        packed.write_bytes(content)
        subprocess.run(["objcopy", "--add-section", "%s=%s" % (SECTION, packed), self.bare], check=True)


@pytest.fixture
def mini(plain, tmp_path):
    return Mini(tmp_path, plain("g++", "-g", "-O1", "-rdynamic"))


def names(frames_at, path, addresses, *more):  # noqa: F811
    problem, found = answers(frames_at, path, addresses, *more)
    assert all(len(frames) == 1 and frames[0][3] == 0 for frames in found)
    return problem, [frames[0][0] for frames in found]


def table_only(frames_at, mini):  # noqa: F811
    """The names of a file with .symtab and without DWARF."""
    without_lines = mini.folder / "without-lines"
    subprocess.run(["strip", "-g", "-o", without_lines, mini.full], check=True)
    return names(frames_at, without_lines, mini.addresses, mini.id)


def same_names(found):
    """Constructors and destructors have two names for one address, which are equally good."""
    return [re.sub(r"([CD])[12](I?E)", r"\1x\2", name) for name in found]


def test_functions_of_a_stripped_program_from_its_gnu_debugdata(frames_at, mini):  # noqa: F811
    exported_only = names(frames_at, mini.bare, mini.addresses, mini.id)
    mini.put(subprocess.run(["xz", "-c", mini.inner], check=True, capture_output=True).stdout)
    assert ".symtab" not in sections(mini.bare)
    problem, found = names(frames_at, mini.bare, mini.addresses, mini.id)
    assert problem == OK and same_names(found) == same_names(table_only(frames_at, mini)[1])
    named = dict(zip(mini.addresses, same_names(found)))
    before = dict(zip(mini.addresses, exported_only[1]))
    for address, _, name in mini.hidden:
        assert [named[address + 1]] == same_names([name]) and before[address + 1] == "-"


def test_gnu_debugdata_of_a_program_without_exported_functions(frames_at, plain, tmp_path):  # noqa: F811
    full = tmp_path / "full"
    subprocess.run(["strip", "-g", "-o", full, plain("g++", "-g", "-O2")], check=True)
    bare, inner = tmp_path / "program", tmp_path / "inner"
    subprocess.run(["objcopy", "--only-keep-debug", full, inner], check=True)
    subprocess.run(["strip", "-o", bare, full], check=True)
    addresses = [a + 1 for a, _, _ in functions(full)]
    assert names(frames_at, bare, addresses, build_id(full)) == (STRIPPED, ["-"] * len(addresses))
    (tmp_path / "packed").write_bytes(lzma.compress(inner.read_bytes()))
    subprocess.run(["objcopy", "--add-section", SECTION + "=packed", bare], check=True, cwd=tmp_path)
    assert names(frames_at, bare, addresses, build_id(full)) == names(frames_at, full, addresses, build_id(full))


def test_a_debug_file_is_better_than_gnu_debugdata(frames_at, plain, mini):  # noqa: F811
    expected = answers(frames_at, mini.full, mini.addresses, mini.id)
    # A table that is wrong for it: whatever came from there would show.
    mini.put(lzma.compress(plain("g++", "-g", "-O2").read_bytes()))
    subprocess.run(["objcopy", "--add-gnu-debuglink=debug", "program"], check=True, cwd=mini.folder)
    assert answers(frames_at, mini.bare, mini.addresses, mini.id) == expected


def test_gnu_debugdata_of_another_build_is_refused(frames_at, mini):  # noqa: F811
    mini.put(lzma.compress(mini.inner.read_bytes()))
    other = build_id("/bin/sh")
    assert names(frames_at, mini.bare, mini.addresses, other) == (OTHER_FILE, ["-"] * len(mini.addresses))


def test_damaged_gnu_debugdata_gives_no_names(frames_at, mini):  # noqa: F811
    exported_only = names(frames_at, mini.bare, mini.addresses, mini.id)
    good = lzma.compress(mini.inner.read_bytes())
    flipped = bytearray(good)
    flipped[len(flipped) // 2] ^= 0xff
    for content in (good[:-20], good[: len(good) // 2], bytes(flipped), b"\0" * 100, b"x", lzma.compress(b"no ELF file"),
                    lzma.compress(mini.inner.read_bytes()[:100]), lzma.compress(b""), lzma.compress(mini.bare.read_bytes())):
        shutil.copy(mini.bare, mini.folder / "before")
        mini.put(content)
        assert names(frames_at, mini.bare, mini.addresses, mini.id) == exported_only
        shutil.move(mini.folder / "before", mini.bare)


def peak_memory(*argv):
    """Of a process, in bytes.  A child starts with the peak of the process that it was forked from: that must be small."""
    script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, check=True, "
              "stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    return int(output(sys.executable, "-c", script, *argv)) * 1024


def test_too_large_gnu_debugdata_gives_no_names(frames_at, mini):  # noqa: F811
    exported_only = names(frames_at, mini.bare, mini.addresses, mini.id)
    content = mini.inner.read_bytes()
    largest = content + bytes(UNPACKED_MAX - len(content))
    shutil.copy(mini.bare, mini.folder / "before")
    mini.put(lzma.compress(largest, preset=0))
    found = names(frames_at, mini.bare, mini.addresses, mini.id)[1]
    assert same_names(found) == same_names(table_only(frames_at, mini)[1])
    shutil.move(mini.folder / "before", mini.bare)
    mini.put(lzma.compress(largest + b"\0", preset=0))
    assert names(frames_at, mini.bare, mini.addresses, mini.id) == exported_only
    assert peak_memory(frames_at.tool, mini.bare, mini.id) < UNPACKED_MAX / 2
