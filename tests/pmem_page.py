# SPDX-License-Identifier: BSD-2-Clause
"""pmem_page - a browser for what `pmem html` writes.

    browser.open(path, hash="#key=peak")
    browser("click", selector="#invert")
    browser.eval("State.state.key")

Each command returns when the page has drawn what follows from it.
"""
import base64
import json
import pathlib
import re
import shutil
import struct
import subprocess
import zlib

FOLDER = pathlib.Path(__file__).resolve().parent / "page"
NAMES = ("chromium", "chromium-browser", "google-chrome")


def missing():
    """Why no browser can be had; None if one can."""
    if not shutil.which("node"):
        return "no node"
    if not any(map(shutil.which, NAMES)):
        return "no Chromium"
    if not (FOLDER / "node_modules" / "playwright-core").is_dir() or not (FOLDER / "node_modules" / "axe-core").is_dir():
        return "no playwright-core or axe-core in tests/page/node_modules"
    return None


def read_data(page):
    """(head, {name: values}) of the block of data, as src/page/columns.h describes it."""
    packed = re.search(rb'<script type="text/plain" id="data">([A-Za-z0-9+/=]*)</script>', page).group(1)
    block = zlib.decompress(base64.b64decode(packed, validate=True))
    size, = struct.unpack_from("<I", block)
    head = json.loads(block[8:8 + size])
    first = 8 + (size + 7) // 8 * 8
    formats = {"u1": "B", "u2": "H", "u4": "I", "f8": "d"}
    columns = {c["name"]: struct.unpack_from("<%d%s" % (c["count"], formats[c["type"]]), block, first + c["offset"])
               for c in head["columns"]}
    return head, columns


def moment(document, time):
    """The nearest point at which all call stacks were looked at, as `pmem diff` takes it of a program that is never quiet."""
    end = document["process"]["duration_ns"]
    points = [0, *(p["time_ns"] for p in document["timeline"] if p["alloc_blocks"]), end]
    before, after = max(p for p in points if p <= time), min((p for p in points if p > time), default=end)
    return before if time - before <= after - time else after


class Failed(Exception):
    """A command did not work."""


class Browser:
    def __init__(self):
        program = next(filter(None, map(shutil.which, NAMES)))
        self.process = subprocess.Popen(["node", FOLDER / "browser.mjs", program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __call__(self, what, **arguments):
        self.process.stdin.write(json.dumps({"do": what, **arguments}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failed("the browser is gone")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed("%s %s: %s" % (what, arguments, answer["error"]))
        return answer["value"]

    def open(self, path, hash="", **options):
        """Milliseconds until the page was ready."""
        return self("open", path=str(path), hash=hash, **options)

    def eval(self, script):
        return self("eval", script=script)

    def text(self, selector):
        return self.eval("document.querySelector(%s).innerText" % json.dumps(selector)).replace("\u00a0", " ")

    def key(self, *keys):
        for key in keys:
            self("key", key=key)

    def rows(self):
        """Of the table, as far as they are in the document: lists of texts."""
        return [[text.replace("\u00a0", " ") for text in row] for row in self.eval(
            "[...document.querySelectorAll('#table .row')].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)"
            ".map(row => [...row.children].map(cell => cell.textContent))")]

    def headings(self):
        return [text.strip(" \u25b4\u25be") for text in
                self.eval("[...document.querySelectorAll('#table [role=columnheader]')].map(cell => cell.textContent)")]

    def column(self, heading):
        at = self.headings().index(heading)
        return [row[at] for row in self.rows()]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()
