# SPDX-License-Identifier: BSD-2-Clause
"""test_debug_info - functions, inlined calls and lines from DWARF, against eu-addr2line; and where debug files are found.

Asks the helper symbol_at, as tests/test_symbols.py does.
"""
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import time

import pytest

import pmem_run
from conftest import library
from test_symbols import NO_FILE, OK, OTHER_FILE, STRIPPED, build_id, functions, output

ROOT = pathlib.Path(__file__).resolve().parent
ADDRESSES = 300
needs_elfutils = pytest.mark.skipif(not shutil.which("eu-addr2line"), reason="no eu-addr2line")


class Frame:
    def __init__(self, line):
        self.raw, _, self.function, self.short, self.blame, self.file, number = line.split("\t")
        self.line = int(number)

    def where(self):
        return os.path.basename(self.file) if self.line else "?", self.line


@pytest.fixture(scope="session")
def frames_at():
    tool = library().parent / "tests" / "unit" / "tool" / "symbol_at"
    if not tool.is_file():
        pytest.skip("no symbol_at in this build: it was made without tests")

    def ask(path, addresses, *more, env=None):
        """Problem, and for each return address its Frames, innermost first."""
        done = subprocess.run([tool, "-i", path, *more], input="".join("%x\n" % a for a in addresses), text=True,
                              capture_output=True, timeout=120, errors="surrogateescape", env={**os.environ, **(env or {})})
        assert done.returncode == 0, done.stderr[-2000:]
        problem, _, rest = done.stdout.partition("\n")
        blocks = [[Frame(l) for l in b.split("\n")] for b in rest.split("\n\n")[:-1]]
        assert len(blocks) == len(addresses)
        return int(problem), blocks

    ask.tool = tool
    return ask


def compiled(folder, source, *argv):
    out = folder / ("%s-%s" % (source, "".join(re.findall(r"\w", argv[0] + "".join(argv[1:])))[:60]))
    if not shutil.which(argv[0]):
        pytest.skip("no " + argv[0])
    if not out.exists():
        libraries = ["-lpthread"] if argv[0] != "rustc" else []
        subprocess.run([*argv, "-o", out, ROOT / "programs" / source, *libraries], check=True, capture_output=True)
    return out


BINARIES = {
    "C": ("inlined.c", "gcc", "-g", "-O2"),
    "C, not position independent": ("inlined.c", "gcc", "-g", "-O2", "-no-pie"),
    "C, DWARF 4, compressed": ("inlined.c", "gcc", "-gdwarf-4", "-gz", "-O3"),
    "C library": ("tree.c", "gcc", "-g", "-O2", "-shared", "-fPIC"),
    "C++": ("inlined.cpp", "g++", "-g", "-O2"),
    "C++, not inlined": ("inlined.cpp", "g++", "-g", "-O0"),
    "C++, clang": ("inlined.cpp", "clang++", "-g", "-O2", "-gdwarf-aranges"),
    "Rust": ("inlined.rs", "rustc", "-C", "debuginfo=1", "-O"),
    "Rust, all debug information": ("inlined.rs", "rustc", "-g", "-O"),
}


@pytest.fixture(scope="session")
def binary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("binaries")
    return lambda name: compiled(folder, *BINARIES[name])


def random_addresses(path):
    """In functions that have a size: assembly of the C runtime has none.  Rust's own come precompiled, with the names of other folders."""
    known = [f for f in functions(path) if f[1] > 8 and not re.match(r"_start$|_init$|_fini$", f[2])]
    chosen = random.Random(1)
    picked = [chosen.choice(known) for _ in range(ADDRESSES)]
    return [address + chosen.randrange(size) for address, size, _ in picked]


def eu_addr2line(path, addresses):
    """For each address [(function, file's name, line)], innermost first."""
    text = subprocess.run(["eu-addr2line", "-i", "-f", "-a", "-e", path], input="".join("%#x\n" % a for a in addresses),
                          capture_output=True, text=True).stdout
    found = []
    for block in re.split(r"^0x[0-9a-f]+\n", text, flags=re.M)[1:]:
        lines = block.strip().split("\n")
        assert len(lines) % 2 == 0, block
        found.append([(re.sub(r" inlined (at|from) .*", "", name), *where(at)) for name, at in zip(lines[::2], lines[1::2])])
    assert len(found) == len(addresses)
    return found


def where(text):
    path, line = text.split(" ")[0].split(":")[:2]
    return (os.path.basename(path), int(line)) if line.isdigit() and int(line) else ("?", 0)


def second_opinion(path, addresses):
    """[(file's name, line)] for each address by LLVM, else by binutils: both look into namespaces."""
    if shutil.which("llvm-symbolizer"):
        argv = ["llvm-symbolizer", "--inlines", "--no-demangle", "-a", "--output-style=GNU", "-f=none"]
    else:
        argv = ["addr2line", "-i", "-a"]
    text = output(*argv, "-e", path, *["%#x" % a for a in addresses])
    blocks = re.split(r"^0x[0-9a-f]+\n", text, flags=re.M)[1:]
    assert len(blocks) == len(addresses)
    return [[where(l) for l in block.strip().split("\n")] for block in blocks]


def same_function(frame, name, aliases):
    """eu-addr2line prints what DWARF has: the linker's name, or without one the last part of the name."""
    if name in ("??", frame.raw) or name in aliases.get(frame.raw, ()):
        return True
    suffix = r"\.(part|isra|constprop|cold|lto_priv|llvm)\b.*"
    raw, name = re.sub(suffix, "", frame.raw), re.sub(suffix, "", name)
    if raw == name:
        return True
    if name.startswith(("_Z", "_R")):
        return name.replace("C4E", "C2E").replace("D4E", "D2E") == raw.replace("C1E", "C2E").replace("D1E", "D2E")
    # A demangled name has parameters and may have a return type; types are spelled in more than one way.
    plain = re.sub(r"<.*", "", name)
    return re.search(r"(^|[\s:*&])%s($|[<(\[])" % re.escape(plain), frame.function) is not None


def compare_with_eu_addr2line(frames_at, path, sees_all):
    """What was found, after it proved to be what eu-addr2line says."""
    addresses = random_addresses(path)
    # A return address lies one byte behind the call.
    problem, mine = frames_at(path, [a + 1 for a in addresses])
    assert problem == OK
    by_address = {}
    for address, _, function in functions(path):
        by_address.setdefault(address, set()).add(function)
    aliases = {f: group for group in by_address.values() for f in group}
    doubtful = []
    for address, frames, theirs in zip(addresses, mine, eu_addr2line(path, addresses)):
        if [t[1:] for t in theirs] == [f.where() for f in frames]:
            context = hex(address), [(f.raw, *f.where()) for f in frames], theirs
            assert all(same_function(f, t[0], aliases) for f, t in zip(frames, theirs)), context
        else:
            doubtful.append((address, [f.where() for f in frames], theirs))
    # It does not look into namespaces, where clang and Rust put functions, and misses some of gcc's: there another one must agree.
    assert len(doubtful) < ADDRESSES / 20 or not sees_all
    others = second_opinion(path, [a for a, _, _ in doubtful]) if doubtful else []
    wrong = [(hex(a), frames, theirs, other) for (a, frames, theirs), other in zip(doubtful, others) if frames != other]
    assert len(wrong) <= ADDRESSES / 100, wrong[:5]
    return mine


@needs_elfutils
@pytest.mark.parametrize("name", BINARIES)
def test_functions_inlines_and_lines_are_those_of_eu_addr2line(frames_at, binary, name):
    mine = compare_with_eu_addr2line(frames_at, binary(name), "clang" not in name and "Rust" not in name)
    if name not in ("C++, not inlined", "C library"):
        assert sum(len(f) > 1 for f in mine) > ADDRESSES / 20


def test_units_without_aranges(frames_at, tmp_path):
    """Of clang, which leaves them out; the code is the same."""
    with_them = compiled(tmp_path, "inlined.cpp", "clang++", "-g", "-O2", "-gdwarf-aranges")
    without = compiled(tmp_path, "inlined.cpp", "clang++", "-g", "-O2")
    assert ".debug_aranges" in output("readelf", "-SW", with_them) and ".debug_aranges" not in output("readelf", "-SW", without)
    addresses = [a + 1 for a in random_addresses(with_them)]
    assert answers(frames_at, without, addresses) == answers(frames_at, with_them, addresses)


def test_split_files(frames_at, tmp_path):
    whole = compiled(tmp_path, "inlined.cpp", "g++", "-g", "-O2")
    (tmp_path / "apart").mkdir()
    apart = compiled(tmp_path / "apart", "inlined.cpp", "g++", "-g", "-O2", "-gsplit-dwarf")
    assert list((tmp_path / "apart").glob("*.dwo"))
    addresses = [a + 1 for a in random_addresses(whole)]
    expected = answers(frames_at, whole, addresses)
    assert answers(frames_at, apart, addresses) == expected
    for file in (tmp_path / "apart").glob("*.dwo"):
        file.unlink()
        os.mkfifo(file)
    # Nobody waits for what a pipe in its place would say.
    problem, found = frames_at(apart, addresses)
    assert problem == OK
    suffix = r"\.(cold|isra|part|constprop)\b.*"
    assert [re.sub(suffix, "", f[-1].raw) for f in found] == [re.sub(suffix, "", b[-1][0]) for b in expected[1]]


def test_names_are_demangled_and_whole(frames_at, binary):
    _, mine = frames_at(binary("C++"), [a + 1 for a in random_addresses(binary("C++"))])
    shown = {f.short for frames in mine for f in frames}
    assert "app::sorted_sum::{lambda}::operator()" in shown, sorted(shown)
    assert "app::Cache<...>::at" in shown and "std::vector<...>::emplace_back<...>" in shown
    assert not any(f.function.startswith("_Z") for frames in mine for f in frames)
    assert all(f.file.startswith("/") for frames in mine for f in frames if f.line)


# --- separate debug files -----------------------------------------------------------------------

def answers(frames_at, path, addresses, *more, env=None):
    problem, frames = frames_at(path, addresses, *more, env=env)
    return problem, [[(f.raw, f.function, f.file, f.line) for f in b] for b in frames]


class Split:
    """A program with debug information, what it answers, and the two files that it is stripped into."""

    def __init__(self, frames_at, folder, flags=("-g", "-O2")):
        self.full, self.bare, self.debug = folder / "full", folder / "program", folder / "program.debug"
        subprocess.run(["g++", *flags, "-Wl,--build-id", "-o", self.full, ROOT / "programs" / "inlined.cpp", "-lpthread"],
                       check=True)
        self.id = build_id(self.full)
        self.addresses = [a + 1 for a in random_addresses(self.full)]
        self.expected = answers(frames_at, self.full, self.addresses)
        assert self.expected[0] == OK and any(len(b) > 2 for b in self.expected[1])
        subprocess.run(["objcopy", "--only-keep-debug", self.full, self.debug], check=True)
        subprocess.run(["strip", "-o", self.bare, self.full], check=True)

    def link(self):
        subprocess.run(["objcopy", "--add-gnu-debuglink=" + self.debug.name, self.bare.name], check=True, cwd=self.bare.parent)

    def by_build_id(self, folder):
        path = folder / ".build-id" / self.id[:2] / (self.id[2:] + ".debug")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(self.debug, path)
        return path


@pytest.fixture
def split(frames_at, tmp_path):
    return Split(frames_at, tmp_path)


def assert_nothing(result, problem):
    assert result[0] == problem
    assert all(b[0][0] == "-" and b[0][3] == 0 for b in result[1])


def test_a_stripped_program_without_its_debug_file(frames_at, split):
    split.debug.unlink()
    assert_nothing(answers(frames_at, split.bare, split.addresses, split.id), STRIPPED)


@pytest.mark.parametrize("folder", [".", ".debug"])
def test_debuglink(frames_at, split, folder):
    split.link()
    (split.bare.parent / folder).mkdir(exist_ok=True)
    shutil.move(split.debug, split.bare.parent / folder / "moved")
    (split.bare.parent / folder / "moved").rename(split.bare.parent / folder / split.debug.name)
    assert answers(frames_at, split.bare, split.addresses, split.id) == split.expected


def test_debuglink_to_the_debug_file_of_another_build_is_refused(frames_at, split, tmp_path):
    split.link()
    subprocess.run(["g++", "-g", "-O1", "-Wl,--build-id", "-o", split.full, ROOT / "programs" / "inlined.cpp", "-lpthread"],
                   check=True)
    subprocess.run(["objcopy", "--only-keep-debug", split.full, split.debug], check=True)
    assert build_id(split.debug) != split.id
    assert_nothing(answers(frames_at, split.bare, split.addresses, split.id), STRIPPED)


def test_build_id_folder(frames_at, split, tmp_path):
    split.by_build_id(tmp_path / "debug")
    assert answers(frames_at, split.bare, split.addresses, split.id, tmp_path / "debug") == split.expected
    assert_nothing(answers(frames_at, split.bare, split.addresses, split.id), STRIPPED)


def test_build_id_folder_of_a_program_that_is_gone_or_replaced(frames_at, split, tmp_path):
    split.by_build_id(tmp_path / "debug")
    split.bare.unlink()
    assert answers(frames_at, split.bare, split.addresses, split.id, tmp_path / "debug") == split.expected
    assert_nothing(answers(frames_at, split.bare, split.addresses, split.id), NO_FILE)
    shutil.copy("/bin/sh", split.bare)
    assert answers(frames_at, split.bare, split.addresses, split.id, tmp_path / "debug") == split.expected
    assert_nothing(answers(frames_at, split.bare, split.addresses, split.id), OTHER_FILE)


def test_a_wrong_file_in_the_build_id_folder_is_refused(frames_at, split, tmp_path):
    path = split.by_build_id(tmp_path / "debug")
    subprocess.run(["g++", "-g", "-O1", "-Wl,--build-id", "-o", path, ROOT / "programs" / "inlined.cpp", "-lpthread"], check=True)
    split.bare.unlink()
    assert_nothing(answers(frames_at, split.bare, split.addresses, split.id, tmp_path / "debug"), NO_FILE)


def test_a_deleted_and_replaced_program_is_refused(frames_at, split):
    subprocess.run(["g++", "-g", "-O1", "-Wl,--build-id", "-o", split.full, ROOT / "programs" / "inlined.cpp", "-lpthread"],
                   check=True)
    assert_nothing(answers(frames_at, split.full, split.addresses, split.id), OTHER_FILE)


def test_what_dwz_shared_out(frames_at, split, tmp_path):
    if not shutil.which("dwz"):
        pytest.skip("no dwz")
    other = tmp_path / "other.debug"
    shutil.copy(split.debug, other)
    common = tmp_path / "common"
    done = subprocess.run(["dwz", "-m", common, "-M", str(common), split.debug, other], capture_output=True, text=True)
    if done.returncode != 0 or not common.exists():
        pytest.skip("dwz: " + done.stderr)
    split.link()
    assert b".gnu_debugaltlink" in split.debug.read_bytes()
    assert answers(frames_at, split.bare, split.addresses, split.id) == split.expected


@pytest.fixture
def server(tmp_path):
    """server(FOLDER) -> URL of a debuginfod for its files."""
    if not shutil.which("debuginfod"):
        pytest.skip("no debuginfod")
    started = []

    def start(folder):
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            port = chosen.getsockname()[1]
        log = tmp_path / "debuginfod.log"
        argv = ["debuginfod", "-v", "-v", "-F", "-d", tmp_path / "db.sqlite", "-p", str(port), "-t", "0", "-g", "0", folder]
        env = {k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"}
        started.append(subprocess.Popen([str(a) for a in argv], stdout=open(log, "wb"), stderr=subprocess.STDOUT, env=env))
        pmem_run.wait_for(lambda: re.search(rb"(?i)fdcache|scanned", log.read_bytes()) and b"started http server" in log.read_bytes(),
                          "the server's start")
        start.log = log
        return "http://127.0.0.1:%d" % port

    yield start
    for process in started:
        process.terminate()
        process.wait()


def test_debuginfod_is_asked_only_with_leave(frames_at, split, server, tmp_path):
    served = tmp_path / "served"
    served.mkdir()
    shutil.move(split.debug, served / "program.debug")
    shutil.copy(split.bare, served / "program")
    split.bare.unlink()
    env = {"DEBUGINFOD_URLS": server(served), "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
    assert_nothing(answers(frames_at, split.bare, split.addresses, split.id, env=env), NO_FILE)
    assert b"GET" not in server.log.read_bytes()
    assert not (tmp_path / "cache").exists()

    def fetched():
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        return answers(frames_at, split.bare, split.addresses, split.id, "debuginfod", env=env) == split.expected

    # The server lists its files after it has started.
    pmem_run.wait_for(fetched, "the answer")
    assert list((tmp_path / "cache").glob(split.id + "/*"))


def test_a_server_that_never_answers_is_given_up(frames_at, split):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        env = {"DEBUGINFOD_URLS": "http://127.0.0.1:%d" % silent.getsockname()[1], "DEBUGINFOD_TIMEOUT": "1",
               "DEBUGINFOD_CACHE_PATH": str(split.bare.parent / "cache")}
        split.bare.unlink()
        start = time.monotonic()
        assert_nothing(answers(frames_at, split.bare, split.addresses[:3], split.id, "debuginfod", env=env), NO_FILE)
        assert time.monotonic() - start < 20


# --- damage -------------------------------------------------------------------------------------

def test_damaged_debug_information_does_no_harm(frames_at, split, tmp_path):
    whole = split.full.read_bytes()
    sections = {m[1]: (int(m[2], 16), int(m[3], 16)) for m in re.finditer(
        r"\] (\.debug_\w+)\s+PROGBITS\s+[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", output("readelf", "-SW", split.full))}
    assert {".debug_info", ".debug_line", ".debug_abbrev", ".debug_str"} <= set(sections)
    damaged = tmp_path / "damaged"
    chosen = random.Random(1)
    known = 0
    for i in range(60):
        content = bytearray(whole)
        offset, size = chosen.choice(list(sections.values()))
        for _ in range(chosen.choice([1, 10, 100])):
            content[offset + chosen.randrange(size)] = chosen.choice([0, 1, 0x7f, 0x80, 0xff, chosen.randrange(256)])
        if i % 10 == 9:
            del content[offset + chosen.randrange(size):]
        damaged.write_bytes(content)
        start = time.monotonic()
        _, frames = frames_at(damaged, split.addresses[:50])
        assert time.monotonic() - start < 30
        known += sum(b[0].line != 0 for b in frames)
    assert known > 100
