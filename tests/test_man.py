# SPDX-License-Identifier: BSD-2-Clause
"""test_man - the man pages know the verbs, options and variables that there are, and no others."""
import re
import shutil
import subprocess

import pytest

import pmem_tool

OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*(?![\w-])")


@pytest.fixture(scope="module")
def folder(root):
    return root / "doc" / "man"


@pytest.fixture(scope="module")
def ask(lib):
    program = pmem_tool.find(lib)

    def ask(*argv):
        return subprocess.run([program, *argv], capture_output=True, text=True, check=True).stdout
    return ask


@pytest.fixture(scope="module")
def verbs(ask):
    found = re.findall(r"^  (\w+) +\S", ask("help").partition("Commands:\n")[2], re.M)
    assert {"run", "report", "info", "export", "help"} <= set(found)
    return found


def sections(text):
    """{heading: text} of a page."""
    parts = re.split(r"^# (.*)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def told_by_help(text):
    """Options where a line of help begins with them, and where another name of one is told."""
    listed = re.findall(r"^ +(-.*?)(?:  |$)", text, re.M) + re.findall(r"; also (--\S+)", text)
    return set(OPTION.findall("\n".join(listed)))


def told_by_page(text):
    """Options that head an entry of the page: lines such as "*-o*, *--output* _FILE_" in the first column."""
    found = set()
    for line in re.findall(r"^(\*-.*)$", text, re.M):
        found |= set(OPTION.findall(line.replace("*", " ").replace("_", " ")))
    return found


def test_the_reader_of_pages_reads():
    assert told_by_page("*-o*, *--output* _FILE_\n\tText *--not-this*.\n*--no-log*\n") == {"-o", "--output", "--no-log"}
    assert told_by_help("  -o, --output F  text --not\n      --tree    b; also --up\n") == {"-o", "--output", "--tree", "--up"}


def test_each_verb_has_a_page(verbs, folder):
    pages = {p.name[len("pmem-"):-len(".1.scd")] for p in folder.glob("pmem-*.1.scd")}
    assert pages == set(verbs)
    for verb in verbs:
        text = (folder / ("pmem-%s.1.scd" % verb)).read_text()
        assert text.startswith("pmem-%s(1)\n" % verb)
        assert re.search(r"^pmem-%s - \S" % verb, sections(text)["NAME"], re.M)


def test_pages_and_help_have_the_same_options(verbs, folder, ask):
    for verb in verbs:
        page = told_by_page((folder / ("pmem-%s.1.scd" % verb)).read_text())
        assert page == told_by_help(ask("help", verb)), verb
        assert "--help" in page, verb


def test_help_fits_on_a_screen(verbs, ask):
    """80 columns everywhere; 24 lines for what a person asks for first, which is the beginning of all there is."""
    assert max(map(len, ask("help").split("\n"))) <= 80 and ask("help") == ask("--help")
    for verb in verbs:
        short, full = ask(verb, "--help"), ask("help", verb)
        for text in (short, full):
            assert text.startswith("pmem %s - " % verb) and max(map(len, text.split("\n"))) <= 80, verb
        assert short.count("\n") <= 24, verb
        if short == full:
            continue
        rest = "All options: pmem help %s, or man pmem-%s\n" % (verb, verb)
        before, found, after = short.partition(rest)
        assert found and full.startswith(before) and full.endswith(after), verb
        assert told_by_help(short) < told_by_help(full), verb


def test_the_first_page_has_all_verbs(verbs, folder):
    parts = sections((folder / "pmem.1.scd").read_text())
    for verb in verbs:
        assert "*pmem %s*" % verb in parts["SYNOPSIS"], verb
        assert "*pmem-%s*(1)" % verb in parts["SEE ALSO"], verb
    assert set(re.findall(r"^\*(?:-h\*, \*)?(--\w+)\*$", parts["OPTIONS"], re.M)) == {"--help", "--version"}


def documented_variables(folder):
    """{NAME: text} of the entries under ENVIRONMENT."""
    found = {}
    for heading, text in sections((folder / "pmem.1.scd").read_text()).items():
        if not heading.startswith("ENVIRONMENT"):
            continue
        for names, entry in re.findall(r"^(\*[A-Z].*)\n((?:\t.*\n|\n(?=\t))+)", text, re.M):
            for name in re.findall(r"\*([A-Z_]+)\*", names):
                found[name] = entry
    return found


def test_each_variable_of_the_recorder_is_documented(root, folder):
    config = (root / "config.h").read_text()
    options = re.findall(r"/\*((?:(?!\*/).)*)\*/\n#ifndef (PMEM_\w+)\n#define \2 ", config, re.S)
    settable = {name for comment, name in options if "(env)" in comment}
    assert len(settable) >= 11
    read = set(re.findall(r'"(PMEM_\w+)"', (root / "src" / "libpmem" / "settings.c").read_text()))
    assert settable <= read
    tool = set()
    for path in (root / "src").glob("*/*.c"):
        if path.parent.name != "libpmem":
            tool |= set(re.findall(r'getenv\("(PMEM_\w+)"\)', path.read_text()))
    documented = {name for name in documented_variables(folder) if name.startswith("PMEM_")}
    assert documented == read | tool


def defaults(config):
    found = {}
    for name, value in re.findall(r"^#define (PMEM_\w+) +([\d(][\d* ()]*)$", config, re.M):
        number = 1
        for factor in re.findall(r"\d+", value):
            number *= int(factor)
        found[name] = number
    return found


def test_documented_defaults_are_those_of_config_h(root, folder):
    checked = 0
    numbers = defaults((root / "config.h").read_text())
    for name, text in documented_variables(folder).items():
        told = re.search(r"Default\s+(\d+)([kmg]?)\b", text)
        if name not in numbers:
            continue
        assert told, name
        assert int(told.group(1)) << {"": 0, "k": 10, "m": 20, "g": 30}[told.group(2)] == numbers[name], name
        checked += 1
    assert checked >= 10


def test_pages_refer_to_pages_that_exist(folder):
    own = {p.name[:-len(".scd")] for p in folder.glob("*.scd")}
    for path in folder.glob("*.scd"):
        for name, section in re.findall(r"\*(pmem[\w-]*)\*\((\d)\)", path.read_text()):
            assert "%s.%s" % (name, section) in own, path.name


def test_meson_builds_all_pages(folder):
    listed = re.findall(r"^  '(.*)',$", (folder / "meson.build").read_text(), re.M)
    assert sorted(listed) == sorted(p.name[:-len(".scd")] for p in folder.glob("*.scd"))


@pytest.mark.skipif(not shutil.which("scdoc"), reason="no scdoc")
def test_pages_build_without_a_warning(folder):
    for path in sorted(folder.glob("*.scd")):
        result = subprocess.run(["scdoc"], stdin=path.open(), capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, ""), path.name
        assert result.stdout.count(".SH ") >= 5, path.name
        if shutil.which("man"):
            shown = subprocess.run(["man", "--warnings=w", "-E", "UTF-8", "-l", "-"], input=result.stdout, capture_output=True,
                                   text=True)
            assert shown.stderr == "", path.name
