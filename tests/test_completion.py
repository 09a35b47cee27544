# SPDX-License-Identifier: BSD-2-Clause
"""test_completion - the completions know the verbs and options that `pmem help` lists, and no others."""
import re
import shutil
import subprocess

import pytest

import pmem_tool


@pytest.fixture(scope="module")
def told(lib):
    """Options by verb, as `pmem help VERB` lists them."""
    program = pmem_tool.find(lib)

    def ask(*argv):
        return subprocess.run([program, "help", *argv], capture_output=True, text=True, check=True).stdout

    verbs = re.findall(r"^  (\w+) +\S", ask().partition("Commands:\n")[2], re.M)
    options = {verb: set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*(?![\w-])", listed(ask(verb)))) for verb in verbs}
    assert set(options) == {"run", "report", "leaks", "diff", "info", "top", "html", "serve", "bundle", "export", "push", "help"}
    assert {"-o", "--output", "--no-children"} <= options["run"]
    return options


def listed(text):
    """What stands where options do, and where other names of one are told."""
    return "\n".join(re.findall(r"^ +(-.*?)(?:  |$)", text, re.M) + re.findall(r"; also (--\S+)", text))


def function_body(text, name):
    return re.search(r"^%s\(\) \{\n(.*?)^\}" % name, text, re.M | re.S).group(1)


@pytest.fixture(scope="module")
def folder(root):
    return root / "share" / "completion"


def words(text):
    return set(re.findall(r"(?<![\w\[-])--?[a-z][a-z-]*(?![\w-])", text))


def test_bash(told, folder):
    text = (folder / "pmem.bash").read_text()
    for verb, options in told.items():
        if verb == "run":
            part = re.search(r"_pmem_words '(-o .*?)'", function_body(text, "_pmem_run")).group(1)
        else:
            part = re.search(r"^\t%s\)(.*?);;" % verb, text, re.M | re.S).group(1)
        assert words(part) - {"-f"} == options, verb
    assert re.search(r"verbs='(.*)'", text).group(1).split() == list(told)


def test_zsh(told, folder):
    text = (folder / "_pmem").read_text()
    for verb, options in told.items():
        specs = re.findall(r"^\t\t('.*)", function_body(text, "_pmem_" + verb), re.M)
        specs += re.findall(r"_arguments -S ('.*)", function_body(text, "_pmem_" + verb))
        names = set()
        for spec in specs:
            names |= set(re.findall(r"'\*?(--[a-z-]+)[=\[]", spec))
            names |= {n for pair in re.findall(r"\{(.*?)\}", spec) for n in re.sub(r"[+=]", "", pair).split(",")}
        assert names == options, verb
    assert re.findall(r"^\t\t'(\w+):", function_body(text, "_pmem_verbs"), re.M) == list(told)


def test_fish(told, folder):
    text = (folder / "pmem.fish").read_text()
    for verb, options in told.items():
        found = re.findall(r"^complete -c pmem (?:-f )?-n \$%s (?:-s (\w) )?(?:-l ([a-z-]+) )?" % verb, text, re.M)
        names = {"-" + s for s, _ in found if s} | {"--" + l for _, l in found if l}
        assert names == options, verb
    assert re.search(r"^set -l verbs (.*)", text, re.M).group(1).split() == list(told)


@pytest.mark.parametrize("shell,name", [("bash", "pmem.bash"), ("zsh", "_pmem"), ("fish", "pmem.fish")])
def test_no_syntax_error(folder, shell, name):
    if not shutil.which(shell):
        pytest.skip("no %s here" % shell)
    result = subprocess.run([shell, "-n", folder / name], capture_output=True)
    assert (result.returncode, result.stderr) == (0, b"")


def complete_in_bash(folder, *words_so_far):
    script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pmem; printf "%s\\n" "${COMPREPLY[@]}"'
    result = subprocess.run(["bash", "--norc", "-c", script, folder / "pmem.bash", *words_so_far], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.split()


def test_bash_completes(told, folder, tmp_path):
    assert complete_in_bash(folder, "pmem", "rep") == ["report"]
    assert complete_in_bash(folder, "pmem", "--v") == ["--version"]
    assert set(complete_in_bash(folder, "pmem", "report", "-")) == told["report"]
    assert complete_in_bash(folder, "pmem", "report", "--by", "t") == ["temporary"]
    assert set(complete_in_bash(folder, "pmem", "run", "--no-")) == {"--no-log", "--no-children"}
    assert complete_in_bash(folder, "pmem", "export", "--format", "") == [
        "log", "collapsed", "pprof", "speedscope", "massif", "dhat", "firefox", "heaptrack", "csv", "json"]
    assert complete_in_bash(folder, "pmem", "help", "in") == ["info"]
    assert "mkfifo" in complete_in_bash(folder, "pmem", "run", "-q", "mkfif")
    assert "mkfifo" in complete_in_bash(folder, "pmem", "mkfif")
    (tmp_path / "data.prof").write_text("")
    assert complete_in_bash(folder, "pmem", "report", "%s/da" % tmp_path) == ["%s/data.prof" % tmp_path]
    assert complete_in_bash(folder, "pmem", "run", "-o", "x", "cat", "%s/da" % tmp_path) == ["%s/data.prof" % tmp_path]
