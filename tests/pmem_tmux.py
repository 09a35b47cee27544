# SPDX-License-Identifier: BSD-2-Clause
"""pmem_tmux - a program in a terminal: what tmux shows of it, keys, size.

Each terminal has a tmux server of its own, without the user's configuration.
"""
import os
import shutil
import subprocess

import pmem_run

# Modes before and after; the output stays until the terminal is closed.
SCRIPT = 'stty -g >"$0.before"; "$@"; echo "code=$?"; stty -g >"$0.after"; echo "over"; cat >/dev/null'


def is_there():
    return shutil.which("tmux") is not None


class Terminal:
    """argv in a terminal of width x height; env is added to the test's environment.  name: for files in folder."""

    def __init__(self, argv, folder, size=(80, 24), env=None, script=SCRIPT, name="terminal"):
        self.folder, self.name = folder, name
        self.socket = os.path.join(folder, name + ".tmux")
        environment = pmem_run.environment(None, env)
        environment.pop("TMUX", None)
        environment.setdefault("TERM", "xterm")
        if "TERM" in (env or {}):  # tmux has one of its own for what it starts
            script = "export TERM=%s; %s" % (env["TERM"], script)
        given = [a for key, value in (env or {}).items() for a in ("-e", "%s=%s" % (key, value))]
        subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", "-u", "new-session", "-d", "-s", "s", "-x", str(size[0]),
                        "-y", str(size[1]), *given, "bash", "-c", script, os.path.join(folder, name),
                        *map(str, argv)], env=environment, cwd=folder, check=True)

    def _tmux(self, *argv):
        return subprocess.run(["tmux", "-S", self.socket, *argv], capture_output=True, text=True)

    def lines(self, *options):
        """What stands on the screen now."""
        return self._tmux("capture-pane", "-p", "-t", "s", *options).stdout.rstrip("\n").split("\n")

    def text(self, *options):
        return "\n".join(self.lines(*options))

    def press(self, *keys):
        """Keys by tmux's names: "Down", "C-c", "q"."""
        self._tmux("send-keys", "-t", "s", *keys)

    def type(self, text):
        self._tmux("send-keys", "-t", "s", "-l", text)

    def resize(self, width, height):
        self._tmux("resize-window", "-t", "s", "-x", str(width), "-y", str(height))

    def wait(self, *texts):
        """Until all texts are on the screen; returns its lines."""
        def shown():
            lines = self.lines()
            return lines if all(any(t in line for line in lines) for t in texts) else None
        try:
            return pmem_run.wait_for(shown, texts)
        except AssertionError:
            raise AssertionError("no %s on the screen:\n%s" % (texts, self.text())) from None

    def modes(self, when):
        with open(os.path.join(self.folder, "%s.%s" % (self.name, when))) as f:
            return f.read()

    def close(self):
        self._tmux("kill-server")
