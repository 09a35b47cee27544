# SPDX-License-Identifier: BSD-2-Clause
"""test_blame_file - the user's rules of blame: in every command that names sites, from every place where they may stand."""
import json
import subprocess

import pytest

import pmem_tool

SOURCE = """#include <stdlib.h>
void *volatile keep;
__attribute__((noinline)) void *pool_take(unsigned n) { void *p = malloc(n); keep = p; return p; }
__attribute__((noinline)) void order(void) { pool_take(1000); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 50; i++) order(); return 0; }
"""


@pytest.fixture
def tool(lib, tmp_path):
    return pmem_tool.Tool(lib, tmp_path)


@pytest.fixture
def profile(tool, tmp_path):
    (tmp_path / "shop.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-o", tmp_path / "shop", tmp_path / "shop.c"], check=True)
    result = tool("run", "-q", "--no-log", "--", tmp_path / "shop")
    assert result.returncode == 0, result.stderr
    return pmem_tool.profiles(result.folder)[0].path


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "config" / "pmem" / "blame"
    path.parent.mkdir(parents=True)
    path.write_text("# ours\nruntime function:pool_*\n")
    return path


def site(result):
    assert result.returncode == 0, result.stderr
    stack = max(json.loads(result.stdout)["stacks"], key=lambda s: s["live_bytes"])
    return stack["frames"][stack["site"]]["function"]


def test_where_rules_come_from(tool, profile, rules):
    config = {"XDG_CONFIG_HOME": str(rules.parent.parent), "HOME": "/nowhere"}
    other = rules.with_name("other")
    other.write_text("runtime function:pool_*\nown function:pool_take\nruntime function:order\n")
    third = rules.with_name("third")
    third.write_text("runtime function:pool_*\nruntime module:shop function:order\n")
    ask = ["report", "--json"]
    assert site(tool(*ask, profile, env={"HOME": "/nowhere"})) == "pool_take"
    assert site(tool(*ask, profile, env=config)) == "order"
    assert site(tool(*ask, profile, env={**config, "PMEM_BLAME": str(other)})) == "pool_take"  # a later rule wins
    assert site(tool(*ask, profile, env={**config, "PMEM_BLAME": ""})) == "pool_take"
    assert site(tool(*ask, "--blame", third, profile, env={**config, "PMEM_BLAME": str(other)})) == "main"
    assert site(tool(*ask, "--blame", "", profile, env=config)) == "pool_take"


def test_all_commands_know_them(tool, profile, rules):
    for verb in ["report", "bundle", "export", "diff"]:
        assert b"--blame FILE" in tool("help", verb).stdout, verb
    result = tool("run", "--no-log", "--", profile.parent.parent / "shop", env={"PMEM_BLAME": str(rules)})
    assert b"order" in result.stderr and b"pool_take" not in result.stderr


def test_mistakes_are_told_with_file_and_line(tool, profile, rules):
    rules.write_text("own function:x\nowns function:y\n")
    for options, env in [(["--blame", rules], {}), ([], {"PMEM_BLAME": str(rules)})]:
        for verb in ["report", "bundle"]:
            result = tool(verb, *options, profile, env=env)
            assert result.returncode == 1 and not result.stdout
            assert result.stderr.decode() == "pmem %s: %s:2: a rule begins with own or runtime, not \"owns function:y\"\n" % (verb, rules)
    result = tool("report", "--blame", "/nowhere/rules", profile)
    assert result.returncode == 1 and result.stderr == b"pmem report: /nowhere/rules: No such file or directory\n"
    # The program has run; what it returns counts.
    result = tool("run", "--no-log", "--", "sh", "-c", "exit 3", env={"PMEM_BLAME": str(rules)})
    assert result.returncode == 3 and b"blame:2: " in result.stderr
