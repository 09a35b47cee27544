# SPDX-License-Identifier: BSD-2-Clause
"""tools - bare, pmem and its peers: how each records a program, what it leaves behind, how that is read.

A tool's ratios are to its baseline: the program on the same allocator without profiling.  A peer is measured if it
is installed; find() says what is missing otherwise."""
import glob
import os
import pathlib
import shutil
import subprocess

from usage import BENCH, Process


class Tool:
    """One way to run a program.  pairs: how many malloc + free pairs one round of bench/pair.c has, so that a slow
    peer is done in a second too."""
    baseline = "bare"
    pairs = 200000
    files = ()
    slow = False
    exact = False
    # How much of the time until runs are stopped this tool has.
    patience = 1

    def __init__(self, name, title):
        self.name, self.title = name, title

    def variables(self, folder):
        return {}

    def wrap(self, command, folder):
        return command

    def handles(self, workload):
        return True

    def start_helper(self, measure, folder):
        """A process beside the program, which ends by itself after it; its cost is part of the tool's."""
        return None

    def left(self, folder):
        return [path for pattern in self.files for path in folder.glob(pattern)]

    def post(self, program, recordings):
        """The command that shows the recording's first page; None if there is no such command."""
        return None


class Preload(Tool):
    """A shared library with variables; {} in a value is the run's folder."""

    def __init__(self, name, title, library, **options):
        super().__init__(name, title)
        self.library, self.values = str(library), options.pop("variables", {})
        self.reader = options.pop("reader", None)
        for key, value in options.items():
            setattr(self, key, value)

    def variables(self, folder):
        return {"LD_PRELOAD": self.library, **{k: v.format(folder) for k, v in self.values.items()}}

    def post(self, program, recordings):
        return self.reader and self.reader(program, recordings[-1])


class Heaptrack(Tool):
    """What the script heaptrack starts, as single processes, so that the client's share is known."""
    pairs, files, exact = 100000, ("heaptrack.data",), True

    def __init__(self, base):
        super().__init__("heaptrack", "heaptrack, client and interpreter")
        self.base = base

    def variables(self, folder):
        return {"LD_PRELOAD": self.base / "libheaptrack_preload.so", "DUMP_HEAPTRACK_OUTPUT": folder / "heaptrack.pipe"}

    def start_helper(self, measure, folder):
        pipe = folder / "heaptrack.pipe"
        os.mkfifo(pipe)
        compress = "zstd" if shutil.which("zstd") else "gzip"
        script = '"$0" <"$1" | %s -c >"$2"' % compress
        command = ["sh", "-c", script, self.base / "libexec" / "heaptrack_interpret", pipe, folder / "heaptrack.data"]
        return Process(measure, command, folder, name="helper")

    def post(self, program, recordings):
        named = recordings[-1].with_suffix(".zst" if shutil.which("zstd") else ".gz")
        if not named.exists():
            named.symlink_to(recordings[-1])
        return ["heaptrack_print", named]


class Memray(Tool):
    files, exact = ("memray.bin",), True

    def wrap(self, command, folder):
        return [command[0], "-m", "memray", "run", "-q", "-o", folder / "memray.bin", *command[1:]]

    def handles(self, workload):
        return workload.name == "python"

    def post(self, program, recordings):
        return [program, "-m", "memray", "summary", recordings[-1]]


class Valgrind(Tool):
    slow = exact = True

    def __init__(self, name):
        super().__init__(name, "valgrind --tool=%s" % name)
        self.files = (name + ".out",)

    def wrap(self, command, folder):
        return ["valgrind", "-q", "--tool=" + self.name, "--%s-out-file=%s" % (self.name, folder / (self.name + ".out")),
                *command]

    def handles(self, workload):
        return workload.under_valgrind

    def post(self, program, recordings):
        return ["ms_print", recordings[-1]] if self.name == "massif" else None


def pmem(library, tool):
    return Preload("pmem", "pmem", library, files=("pmem.*.prof", "pmem.*.log*"), exact=True,
                   reader=lambda program, path: [tool, "report", path.parent])


def pmem_sampling(library, tool):
    return Preload("pmem-sampling", "pmem, PMEM_SAMPLE=512k", library, files=("pmem.*.prof", "pmem.*.log*"),
                   variables={"PMEM_SAMPLE": "512k"}, reader=lambda program, path: [tool, "report", path.parent])


def library_path(*names):
    """The first of these libraries that is installed, or None."""
    for name in names:
        for folder in ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"):
            found = sorted(glob.glob(folder + "/" + name))
            if found:
                return found[0]
    return None


def find_forward(folder):
    """What any preloaded library costs that does nothing."""
    library = folder / "forward.so"
    compiler = os.environ.get("CC", "cc")
    if not shutil.which(compiler):
        return [], "forward: %s is not installed" % compiler
    subprocess.run([compiler, "-O2", "-fPIC", "-shared", "-fno-builtin", "-o", library, BENCH / "forward.c"], check=True)
    return [Preload("forward", "a library that only calls the next malloc", library)], None


def find_heaptrack():
    script = shutil.which("heaptrack")
    if not script:
        return [], "heaptrack is not installed"
    base = pathlib.Path(script).resolve().parent.parent / "lib" / "heaptrack"
    if not (base / "libheaptrack_preload.so").exists():
        return [], "heaptrack: %s has no libheaptrack_preload.so" % base
    return [Heaptrack(base)], None


def text_reader(*names):
    """The command of such a name prints a profile's first page."""
    found = next((path for path in map(shutil.which, names) if path), None)
    return (lambda program, path: [found, "--text", program, path]) if found else None


def profiling_compiled_in(library, folder):
    """Whether this jemalloc can profile: a build without ignores the option."""
    env = {"PATH": os.environ.get("PATH", ""), "LD_PRELOAD": library,
           "MALLOC_CONF": "prof:true,prof_final:true,prof_prefix:probe"}
    subprocess.run(["true"], cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = list(folder.glob("probe*"))
    for path in found:
        path.unlink()
    return bool(found)


def find_jemalloc(folder):
    library = library_path("libjemalloc.so.2")
    if not library:
        return [], "libjemalloc.so.2 is not installed"
    if not profiling_compiled_in(library, folder):
        return [], "this libjemalloc has no profiling"
    options = {"baseline": "jemalloc", "files": ("jeprof.*",), "reader": text_reader("jeprof")}
    exact = {"MALLOC_CONF": "prof:true,lg_prof_sample:0,prof_final:true"}
    sampling = {"MALLOC_CONF": "prof:true,prof_final:true"}
    return [Preload("jemalloc", "jemalloc without profiling", library),
            Preload("jemalloc-exact", "jemalloc, every allocation", library, variables=exact, pairs=20000, exact=True,
                    **options),
            Preload("jemalloc-sampling", "jemalloc, default sampling", library, variables=sampling, **options)], None


def find_gperftools():
    library = library_path("libtcmalloc.so.4", "libtcmalloc.so")
    if not library:
        return [], "libtcmalloc.so.4 (google-perftools) is not installed"
    return [Preload("tcmalloc", "tcmalloc without profiling", library),
            Preload("gperftools", "gperftools heap profiler", library, variables={"HEAPPROFILE": "{}/heap"}, exact=True,
                    baseline="tcmalloc", pairs=2000, patience=0.4, files=("heap.*",), reader=text_reader("google-pprof", "pprof"))], None


def find_memray(python):
    code = subprocess.run([python, "-c", "import memray"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    return ([Memray("memray", "memray")], None) if code == 0 else ([], "memray: the interpreter cannot import it")


def find_valgrind():
    if not shutil.which("valgrind"):
        return [], "valgrind is not installed"
    return [Valgrind("dhat"), Valgrind("massif")], None


def find_peers(python, folder):
    """([tools], [reasons why others are missing])"""
    parts = [find_forward(folder), find_heaptrack(), find_jemalloc(folder), find_gperftools(), find_memray(python), find_valgrind()]
    return [tool for tools, _ in parts for tool in tools], [reason for _, reason in parts if reason]
