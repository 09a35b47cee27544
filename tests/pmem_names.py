# SPDX-License-Identifier: BSD-2-Clause
"""pmem_names - function names of log frames, as truth blocks spell them.

The log names functions by their ELF symbols (mangled) or, without a symbol, by module and offset.  Where
the module has no symbols but PROGRAM.debug lies beside it, its table names the offset: so a wrong offset
in the log shows.  Addresses are return addresses: a name is looked up one byte before.
"""
import bisect
import functools
import os
import re
import shutil
import subprocess

ALLOCATOR = {
    "malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", "memalign", "valloc",
    "pvalloc", "__libc_malloc", "__libc_calloc", "__libc_realloc", "__libc_memalign", "operator new",
    "operator new[]",
}
RUST_ALLOCATOR = re.compile(r"^(__rust_alloc|__rust_realloc|__rdl_|__rg_|__rustc::)")
RUST_CRATE_HASH = re.compile(r"(?<=\w)\[[0-9a-f]{16}\]")
CLONE = re.compile(r"(\.(constprop|part|isra|cold|lto_priv|llvm|localalias)(\.\d+)*)+$")


@functools.lru_cache(maxsize=None)
def demangle(symbol):
    symbol = symbol.split("@")[0]
    if not symbol.startswith(("_Z", "_R")) or not shutil.which("c++filt"):
        return symbol
    name = subprocess.run(["c++filt", CLONE.sub("", symbol)], capture_output=True, text=True).stdout.strip()
    return RUST_CRATE_HASH.sub("", name)


def _strip_generics(name):
    """Drops <...> and (...) groups, but keeps the type of a leading <T as Trait>::method apart."""
    out, depth = [], 0
    for c in name.replace("operator<", "operatorLT").replace("->", "  "):
        depth += c in "<(["
        if depth == 0:
            out.append(c)
        depth -= c in ">)]"
    return "".join(out)


@functools.lru_cache(maxsize=None)
def plain(symbol):
    """The last component of a function's name: no scope, arguments, generics, hash or clone suffix."""
    name = demangle(CLONE.sub("", symbol))
    if name.startswith("operator new"):
        return "operator new[]" if name.startswith("operator new[]") else "operator new"
    name = re.sub(r"::h[0-9a-f]{16}$", "", name)
    name = _strip_generics(name).strip()
    parts = [p for p in name.split("::") if p]
    last = parts[-1] if parts else name
    return "closure" if last.startswith("{closure") or last.startswith("{{closure") else last.split(" ")[-1]


def _rust_crates(name):
    """The crates that a demangled Rust name speaks of: of the type and, if any, the trait, or of the path."""
    inner = name
    while inner.startswith("<"):
        inner = inner[1:]
    parts = [inner] + ([name.split(" as ", 1)[1]] if name.startswith("<") and " as " in name else [])
    return {re.split(r"::|<|>", part.lstrip("&*").replace("mut ", "").lstrip("["))[0] for part in parts}


def _of_rust_runtime(symbol):
    """A function of std, core or alloc, also a trait of theirs for a type of theirs."""
    name = demangle(symbol)
    return "::" in name and _rust_crates(name) <= {"std", "core", "alloc"}


@functools.lru_cache(maxsize=None)
def _table(path):
    """Sorted (address, size, name) of the functions in the .symtab of path."""
    out = subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True).stdout
    rows = []
    for line in out.splitlines():
        part = line.split()
        if len(part) == 4 and part[2] in "tTwWi":
            rows.append((int(part[0], 16), int(part[1], 16), part[3]))
    return sorted(rows)


def _from_debug_file(frame):
    path = frame.object + ".debug"
    if not frame.object or not os.path.exists(path):
        return None
    rows = _table(path)
    i = bisect.bisect_right(rows, (frame.offset - 1, float("inf"), "")) - 1
    if i >= 0 and rows[i][0] <= frame.offset - 1 < rows[i][0] + rows[i][1]:
        return rows[i][2]
    return None


def _address_in_object(frame):
    """The call's address as in the object's own symbol table; None if the symbol is not there or not unique."""
    if not frame.symbol:
        return frame.offset - 1
    values = {row[0] for row in _table(frame.object) if row[2].split("@")[0] == frame.symbol.split("@")[0]}
    return values.pop() + frame.offset - 1 if len(values) == 1 else None


@functools.lru_cache(maxsize=None)
def _functions_at(path, address):
    out = subprocess.run(["addr2line", "-f", "-i", "-e", path, hex(address)], capture_output=True, text=True).stdout
    return tuple(plain(name) for name in out.splitlines()[::2] if not _of_rust_runtime(name))


def inlined(frame):
    """All functions that the call is inlined into, from debug information; the log itself names the outermost."""
    if frame.mark or not os.path.exists(frame.object) or not shutil.which("addr2line"):
        return ()
    address = _address_in_object(frame)
    return _functions_at(frame.object, address) if address is not None else ()


def function(frame):
    """Plain name of the frame's function; "" if unknown, the mark itself for a mark."""
    if frame.mark:
        return frame.mark
    return plain(frame.symbol or _from_debug_file(frame) or "")


def is_allocator(frame):
    if os.path.basename(frame.object).startswith("libpmem"):
        return True
    if not frame.symbol:
        return False
    return plain(frame.symbol) in ALLOCATOR or bool(RUST_ALLOCATOR.match(demangle(frame.symbol)))


def is_runtime(frame):
    """Frames of the Rust runtime around main: their closures are nobody's."""
    return bool(frame.symbol) and _of_rust_runtime(frame.symbol)


def stack(entry):
    """The entry's frames outside the allocator, leaf first."""
    frames = list(entry.frames)
    while len(frames) > 1 and is_allocator(frames[0]):
        frames.pop(0)
    return frames
