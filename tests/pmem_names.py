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
RUST_ALLOCATOR = re.compile(r"^(__rust_alloc|__rust_realloc|__rdl_|__rg_|__rustc::|_?<?(alloc|core)::|std::alloc)")
RUST_RUNTIME = re.compile(r"^[_<]*&?(mut )?(std|core|alloc)::")
CLONE = re.compile(r"(\.(constprop|part|isra|cold|lto_priv|llvm|localalias)(\.\d+)*)+$")


@functools.lru_cache(maxsize=None)
def demangle(symbol):
    symbol = symbol.split("@")[0]
    if not symbol.startswith(("_Z", "_R")) or not shutil.which("c++filt"):
        return symbol
    return subprocess.run(["c++filt", CLONE.sub("", symbol)], capture_output=True, text=True).stdout.strip()


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
    return bool(frame.symbol) and bool(RUST_RUNTIME.match(demangle(frame.symbol)))


def stack(entry):
    """The entry's frames outside the allocator, leaf first."""
    frames = list(entry.frames)
    while len(frames) > 1 and is_allocator(frames[0]):
        frames.pop(0)
    return frames
