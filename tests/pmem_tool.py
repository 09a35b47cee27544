# SPDX-License-Identifier: BSD-2-Clause
"""pmem_tool - runs the tool: PMEM_TEST_TOOL, or the program pmem beside the library under test.

Each run has an empty current directory of its own; PMEM_* of the caller are removed.
"""
import os
import pathlib
import struct
import subprocess

import pmem_run

MAGIC = b"pmemprof"


def find(lib):
    path = pathlib.Path(os.environ.get("PMEM_TEST_TOOL") or pathlib.Path(lib).parent / "pmem").resolve()
    assert path.is_file(), "%s does not exist: build it first (script/build) or set PMEM_TEST_TOOL" % path
    return str(path)


class Profile:
    """What the header's fixed fields say (core/format.h)."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.name = self.path.name
        head = self.path.read_bytes()[:96]
        assert head[:8] == MAGIC, path
        self.pid, self.parent_pid, self.image, _, self.run_id = struct.unpack_from("<IIIIQ", head, 64)


def ancestor_first(profiles):
    """Those of one program and of what it forked, its own first: numbers of processes begin again at the largest one."""
    pids = {p.pid for p in profiles}
    return sorted(profiles, key=lambda p: (p.parent_pid in pids, p.pid))


class Tool:
    def __init__(self, lib, tmp):
        self.lib, self.program, self.tmp, self.count = lib, find(lib), pathlib.Path(tmp), 0

    def folder(self):
        self.count += 1
        path = self.tmp / ("%02d-tool" % self.count)
        path.mkdir()
        path.chmod(0o755)
        return path

    def _options(self, env, options):
        options.setdefault("cwd", self.folder())
        env = pmem_run.environment(None, {"PMEM_LIB": self.lib, **(env or {})})
        return {**options, "env": env}

    def __call__(self, *argv, env=None, **options):
        """Runs `pmem argv` to its end.  Output is bytes; .folder is its current directory."""
        options = self._options(env, options)
        options.setdefault("timeout", pmem_run.TIMEOUT_S)
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        result = subprocess.run([self.program, *map(str, argv)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        result.folder = pathlib.Path(options["cwd"])
        return result

    def start(self, *argv, env=None, **options):
        options = self._options(env, options)
        process = subprocess.Popen([self.program, *map(str, argv)], **options)
        process.folder = pathlib.Path(options["cwd"])
        return process


def profiles(folder):
    return sorted((Profile(p) for p in pathlib.Path(folder).iterdir() if p.suffix == ".prof"), key=lambda p: p.name)
