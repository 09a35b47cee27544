# SPDX-License-Identifier: BSD-2-Clause
"""test_html - `pmem html` as a command: files, errors, exit codes.  tests/test_page.py looks at the page."""
import os
import re
import subprocess

import pytest

import pmem_page
import pmem_profile
import pmem_tool


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


@pytest.fixture
def profile(tmp_path):
    made = pmem_profile.Profile()
    made.header(pid=4711, program="/srv/server")
    module = made.module("/srv/server", b"id")
    stack = made.stack([(module, 0x1234)], hook=0)
    made.count_wide(thread=0, stack=stack, alloc_count=3, alloc_bytes=1 << 50)
    path = tmp_path / "pmem.4711.prof"
    made.save(path)
    return path


def test_the_page_is_named_after_the_profile(tool, profile):
    result = tool("html", profile)
    page = result.folder / "pmem.4711.html"
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.startswith(b"pmem.4711.html: ") and b"; open it in a browser\n" in result.stdout
    assert page.read_bytes().startswith(b"<!DOCTYPE html>\n")
    assert os.listdir(result.folder) == ["pmem.4711.html"]


def test_numbers_are_whole(tool, profile):
    """Also large ones, up to where a script's numbers end."""
    head, columns = pmem_page.read_data(tool("html", "-o", "-", profile).stdout)
    assert columns["0.alloc_bytes"] == (float(1 << 50),) and columns["0.alloc_blocks"] == (3,)
    assert columns["node_depth"] == (0, 1) and len(columns["frame_name"]) == 2
    assert head["sides"][0]["pid"] == 4711


def test_the_page_is_as_private_as_the_profile(tool, profile):
    for mode in (0o600, 0o644):
        profile.chmod(mode)
        result = tool("html", "-q", profile)
        assert result.stdout == b""
        assert (result.folder / "pmem.4711.html").stat().st_mode & 0o777 == mode


def test_a_page_is_replaced_and_nothing_else(tool, profile, tmp_path):
    page, other, empty = tmp_path / "page.html", tmp_path / "mine.html", tmp_path / "empty"
    other.write_text("<!DOCTYPE html>\n<p>mine")
    empty.write_text("")
    for path in (page, page, empty):
        assert tool("html", profile, "-o", path).returncode == 0, path
    for path in (other, profile):
        before = path.read_bytes()
        result = tool("html", profile, "-o", path)
        assert result.returncode == 1 and b"is there, and no page of pmem; choose another name with -o, or replace it with --force" in result.stderr
        assert path.read_bytes() == before


def test_what_is_no_page_is_replaced_if_that_is_asked_for_but_no_profile(tool, profile, tmp_path):
    other = tmp_path / "mine.html"
    other.write_text("<p>mine")
    result = tool("html", profile, "--force", "-o", other)
    assert (result.returncode, result.stderr) == (0, b"") and other.read_bytes().startswith(b"<!DOCTYPE html>\n<!-- A heap profile by pmem.")
    before = profile.read_bytes()
    result = tool("html", profile, "--force", "-o", profile)
    assert (result.returncode, result.stderr) == (1, b"pmem html: %s: is a profile: not overwritten\n" % str(profile).encode())
    assert profile.read_bytes() == before


def compare(tool, folder, *sides):
    """What `pmem html A B` writes in the folder: the names of files that are new, or changed."""
    before = {p: p.stat().st_ino for p in folder.glob("*.html")}
    result = tool("html", *sides, cwd=folder)
    assert (result.returncode, result.stderr) == (0, b"")
    after = {p: p.stat().st_ino for p in folder.glob("*.html")}
    written = [p.name for p in after if before.get(p) != after[p]]
    assert len(written) == 1 and result.stdout.startswith(written[0].encode() + b": ")
    return written[0]


def test_a_comparison_has_a_name_of_its_own(tool, profile, tmp_path):
    """It does not take the place of the page of one of the two."""
    folder = tool.folder()
    after = tmp_path / "after.prof"
    after.write_bytes(profile.read_bytes())
    assert compare(tool, folder, after) == "after.html"
    assert compare(tool, folder, profile, after) == "pmem.4711..after.html"
    assert compare(tool, folder, after, profile) == "after..pmem.4711.html"
    assert compare(tool, folder, "%s@0s" % after, "%s@end" % after) == "after@0s..after@end.html"
    assert compare(tool, folder, "%s@0s" % after, profile) == "after@0s..pmem.4711.html"
    assert compare(tool, folder, profile, after) == "pmem.4711..after.html"


def test_a_default_name_costs_nobody_a_file(tool, profile, tmp_path):
    for arguments, name in (([profile], "pmem.4711.html"), ([profile, profile], "pmem.4711..pmem.4711.html")):
        folder = tool.folder()
        (folder / name).write_text("mine")
        result = tool("html", *arguments, cwd=folder)
        assert result.returncode == 1 and result.stderr.startswith(b"pmem html: %s: is there, and no page of pmem" % name.encode())
        assert (folder / name).read_text() == "mine" and len(os.listdir(folder)) == 1


def test_what_cannot_be_written_is_said(tool, profile, tmp_path):
    result = tool("html", profile, "-o", tmp_path / "none" / "page.html")
    assert result.returncode == 1 and result.stderr.endswith(b"none/page.html: No such file or directory\n")
    result = tool("html", profile, "-o", "/dev/full")
    assert result.returncode == 1 and result.stderr == b"pmem html: /dev/full: No space left on device\n"


def test_what_is_no_profile_is_said(tool, tmp_path):
    result = tool("html", tmp_path / "none.prof")
    assert result.returncode == 1 and b"none.prof" in result.stderr and not os.listdir(result.folder)
    (tmp_path / "text.prof").write_text("text")
    assert tool("html", tmp_path / "text.prof").returncode == 1


def test_a_damaged_profile_is_shown_and_said(tool, profile):
    content = profile.read_bytes()
    profile.write_bytes(content[:-16384])
    result = tool("html", profile, "-o", "-")
    assert result.returncode == 0
    assert re.search(rb'<p class="warning">PARTIAL: ', result.stdout)


def test_mistakes_in_the_arguments(tool, profile):
    for arguments, words in ((["--no-such"], b"unknown option --no-such"), (["-o"], b"-o needs an argument"),
                             ([profile, profile, profile], b"not 3"), ([str(profile) + "@soon"], b"pmem.4711.prof@soon: no time such as 90s"),
                             ([profile, str(profile) + "@9x"], b"pmem.4711.prof@9x: no time such as 90s")):
        result = tool("html", *arguments)
        assert result.returncode == 2 and words in result.stderr and not list(result.folder.glob("*.html"))
    for arguments, words in (([str(profile) + "@1s"], b"pmem.4711.prof@1s: a moment is compared with another one: give two"),
                             ([profile, str(profile) + "@9h"], b"@9h: the profile ends")):
        result = tool("html", *arguments)
        assert result.returncode == 1 and words in result.stderr and not list(result.folder.glob("*.html"))


def test_a_profile_without_allocations(tool, tmp_path):
    made = pmem_profile.Profile()
    made.header(pid=12)
    made.save(tmp_path / "none.prof")
    result = tool("html", "-o", "-", tmp_path / "none.prof")
    assert result.returncode == 0 and b"No allocation was recorded." in result.stdout


def test_source_lines_are_of_the_profile_or_left_out(tool, tmp_path):
    """A bundle's files are another machine's: only lines that came with it are shown."""
    code = tmp_path / "kept.c"
    code.write_text("#include <stdlib.h>\nvoid *volatile kept;\nint main(void)\n{\n\tkept = malloc(1000);\n\treturn 0;\n}\n")
    subprocess.run(["gcc", "-g", "-o", tmp_path / "kept", code], check=True)
    profile, = pmem_tool.profiles(tool("run", "-q", "--", tmp_path / "kept").folder)
    assert tool("bundle", "-q", profile.path, "-o", tmp_path / "bare.pmem").returncode == 0
    assert tool("bundle", "-q", "--source", profile.path, "-o", tmp_path / "whole.pmem").returncode == 0

    def text(*arguments):
        return bytes(pmem_page.read_data(tool("html", "-o", "-", *arguments).stdout)[1]["source_text"]).decode()
    line = "    kept = malloc(1000);\n"
    assert line in text(profile.path) and text("--no-source", profile.path) == "" and text(tmp_path / "bare.pmem") == ""
    assert line in text(profile.path, profile.path) and text(profile.path, tmp_path / "bare.pmem") == ""
    code.unlink()
    assert line in text(tmp_path / "whole.pmem") and text(profile.path) == ""
