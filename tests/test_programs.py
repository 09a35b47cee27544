# SPDX-License-Identifier: BSD-2-Clause
"""test_programs - real programs give the same stdout and exit code as without the library, and a log per process.

Servers are in test_servers.  PMEM_TEST_REPEAT=N repeats the threaded ones.
"""
import os
import shutil
import subprocess
import sys

import pytest

import pmem_run

REPEAT = range(int(os.environ.get("PMEM_TEST_REPEAT") or 1))


def need(*names):
    for name in names:
        if not shutil.which(name):
            pytest.skip("%s is not installed" % name)
    return [os.path.realpath(shutil.which(n)) for n in names]


# Their children replace themselves by exec, which leaves the state to the profile: such a log may have no snapshot.
LAUNCHERS = ("bash", "dash", "sh", "env", "make", "gdb", "git", "perl", "node")


def is_launcher(name):
    return name in LAUNCHERS or name.startswith(("python3", "x86_64-linux-gnu-g"))


def names(result, totals="all"):
    """The program names of all logs with a snapshot; none is torn, and only an image that ended by exec has none."""
    found = []
    for log in result.logs(totals):
        name = os.path.basename(log.exe)
        assert not log.torn, log.paths
        assert log.last or is_launcher(name), "no snapshot in %s" % log.paths
        found += [name] if log.last else []
    return found


def test_bash_pipelines(run):
    need("bash", "seq", "sort", "awk", "tr", "tail")
    script = r"""
x=$(for i in $(seq 100); do echo $((i * i % 97)); done | sort -n | awk '{s += $1} END {print s, NR}')
echo "$x"; (mkdir sub && cd sub && ls -d ../sub) | tr a-z A-Z
declare -A a; for i in {1..2000}; do a[key$i]=$(( i * 3 )); done; echo ${#a[@]} ${a[key77]}
seq 10000 | tail -3 | cat; diff <(seq 5) <(seq 6); exit 3
"""
    found = names(run.both(["bash", "-c", script]))
    assert found.count("bash") >= 3 and {"seq", "sort", "tr", "tail"} <= set(found)


def test_sqlite3(run):
    need("sqlite3")
    sql = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
insert into t select i, printf('row %d %s', i, hex(i * 7919)), i / 3.0 from n;
create index tb on t(b);
select count(*), sum(a), max(b), total(c) from t;
select substr(b, 1, 6) k, count(*) from t group by k order by 2 desc, 1 limit 5;
delete from t where a % 3 = 0; vacuum; select count(*) from t where b like '%7%';
"""
    assert names(run.both(["sqlite3", ":memory:"], input=sql.encode())) == ["sqlite3"]
    assert names(run.both(["sqlite3", "file.db"], input=sql.encode())) == ["sqlite3"]


def test_jq(run):
    need("jq")
    program = "[range(20000) | {id: ., name: \"n\\(. % 100)\"}] | group_by(.name) | map({k: .[0].name, n: length, s: (map(.id) | add)})"
    assert names(run.both(["jq", "-n", "-S", program])) == ["jq"]


def test_xmllint(run, tmp_path):
    need("xmllint")
    document = tmp_path / "in.xml"
    document.write_text("<r>%s</r>" % "".join("<i n='%d'>text %d<b/></i>" % (i, i) for i in range(5000)))
    assert names(run.both(["xmllint", "--format", document])) == ["xmllint"]
    assert names(run.both(["xmllint", "--xpath", "count(//i[@n mod 7 = 0])", document])) == ["xmllint"]


PYTHON = r"""
import json, re, subprocess, sys, threading, zlib
d = {str(i): {'list': list(range(i % 50)), 'text': 'x' * (i % 300)} for i in range(5000)}
s = json.dumps(d, sort_keys=True)
sums = []
def work(k): sums.append((k, zlib.crc32(zlib.compress(s.encode()[k * 1000:]))))
ts = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[t.start() for t in ts]; [t.join() for t in ts]
print(sorted(sums), len(re.findall('x{7}', s)), json.loads(s) == d)
print(subprocess.run([sys.executable, '-S', '-c', 'print(6 * 7)'], capture_output=True, text=True).stdout)
class A:
    def __init__(self): self.me = self
for i in range(1000): A()
sys.exit(4)
"""


def pythons():
    found = {os.path.realpath(sys.executable)}
    if os.path.exists("/usr/bin/python3"):
        found.add(os.path.realpath("/usr/bin/python3"))
    return sorted(found)


@pytest.mark.parametrize("repeat", REPEAT)
@pytest.mark.parametrize("allocator", ["pymalloc", "malloc"])
@pytest.mark.parametrize("python", pythons())
def test_python(run, python, allocator, repeat):
    result = run.both([python, "-c", PYTHON], {"PYTHONMALLOC": allocator, "PYTHONHASHSEED": "1"})
    assert result.code == 4 and names(result) == [os.path.basename(python)] * 2


def test_perl(run):
    need("perl")
    program = ('my %h; $h{$_ % 997} .= "$_," for 1..100000; my $s = join ";", map {"$_=" . length $h{$_}} sort keys %h;'
               'print length($s), " ", unpack("%32C*", $s), "\\n"; print `echo child`; my @a = map {[1..$_ % 20]} 1..5000;'
               'print scalar(grep {@$_ > 10} @a), "\\n"; exit 6')
    found = names(run.both(["perl", "-e", program]))
    assert "perl" in found


def test_git(run):
    need("git")
    script = r"""set -e
git init -q -b main repo; cd repo; echo 'pmem.*' >.git/info/exclude
for i in $(seq 30); do echo "line $i" >>file; seq $((i * 50)) >other$i; git add -A; git commit -q -m "commit $i"; done
git checkout -q -b side HEAD~5; seq 7 >file; git commit -q -a -m side; git checkout -q main
git merge -q side -m merge -X ours || true; git gc -q; git log --stat --oneline | tail -20; git fsck; git rev-parse HEAD
"""
    env = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": "/nonexistent"}
    for role in ("AUTHOR", "COMMITTER"):
        env.update({"GIT_%s_NAME" % role: "n", "GIT_%s_EMAIL" % role: "e@x", "GIT_%s_DATE" % role: "2020-01-01T00:00:00Z"})
    result = run.both(["bash", "-c", script], env)
    result.folder = result.folder / "repo"
    found = names(result, "last")
    assert found.count("git") >= 60


def test_gcc_with_its_child_processes(run, programs):
    need("gcc", "g++")
    source = programs.source / "threads.cpp"
    script = "g++ -O2 -c -o threads.o %s && g++ -o threads threads.o -lpthread && cksum threads.o && ./threads" % source
    found = names(run.both(["bash", "-c", script]))
    for child in ("cc1plus", "collect2"):
        assert child in found, found
    assert any(n.endswith("as") for n in found) and any("ld" in n.split(".")[0] or n.endswith("gold") for n in found)


@pytest.mark.parametrize("repeat", REPEAT)
def test_cxx_with_exceptions_and_threads(run, programs, repeat):
    assert names(run.both([programs("threads.cpp", "-std=c++17")]), "last") == ["threads"]


@pytest.fixture(scope="module")
def rust_program(tmp_path_factory, programs):
    need("rustc")
    out = tmp_path_factory.mktemp("rust") / "threads_rs"
    subprocess.run(["rustc", "-O", "-g", "-o", out, programs.source / "threads.rs"], check=True)
    return out


@pytest.mark.parametrize("repeat", REPEAT)
def test_rust(run, rust_program, repeat):
    assert names(run.both([rust_program]), "last") == ["threads_rs"]


NODE = r"""
const zlib = require('zlib'), crypto = require('crypto');
const jobs = [];
for (let i = 0; i < 20; i++) jobs.push(new Promise(r => zlib.gzip(Buffer.alloc(50000, i), (e, b) => r(b.length))));
const big = {}; for (let i = 0; i < 50000; i++) big['k' + i] = [i, 'v'.repeat(i % 30)];
Promise.all(jobs).then(l => { console.log(l.join(), crypto.createHash('sha256').update(JSON.stringify(big)).digest('hex'));
  console.log(require('child_process').execFileSync('echo', ['child']).toString().trim()); process.exitCode = 5; });
"""


@pytest.mark.parametrize("repeat", REPEAT)
def test_node(run, repeat):
    node, = need("node")
    result = run.both([node, "-e", NODE])
    assert result.code == 5 and os.path.basename(node) in names(result, "last")


@pytest.fixture(scope="module")
def java_classes(tmp_path_factory, programs):
    need("java", "javac")
    folder = tmp_path_factory.mktemp("java")
    subprocess.run(["javac", "-d", folder, programs.source / "Heap.java"], check=True)
    return folder


@pytest.mark.parametrize("repeat", REPEAT)
def test_java(run, java_classes, repeat):
    assert "java" in names(run.both(["java", "-Xmx256m", "-cp", java_classes, "Heap"]), "last")


def test_gdb(run, programs):
    need("gdb")
    churn = programs("churn.c")
    fixed = ["gdb", "-batch", "-nx", "-ex", "set confirm off", "-ex", "ptype main", "-ex", "info line one", "-ex", "list use"]
    assert "gdb" in names(run.both(fixed + [churn]), "last")


def test_gdb_with_a_profiled_program(run, programs):
    """gdb and the program it runs both have the library; the backtrace is the program's."""
    need("gdb")
    command = ["gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "break two", "-ex", "run 10", "-ex",
               "bt", "-ex", "delete", "-ex", "continue", "--args", programs("churn.c"), "10"]
    bare = run(command, lib=False)
    if b"ptrace" in bare.err or b"#1" not in bare.out:
        pytest.skip("no ptrace here")
    mine = run(command)

    def interesting(out):
        return [l for l in out.decode().splitlines() if l.startswith(("#", "done", "40960"))]
    assert mine.code == bare.code and interesting(mine.out) == interesting(bare.out)
    assert "churn" in names(mine, "last")


def test_a_program_that_ignores_its_environment(run):
    """env -i drops the preload: such a child runs bare and undisturbed."""
    assert names(run.both(["bash", "-c", "env -i /bin/echo hello; echo $?"])).count("echo") == 0


def test_every_process_of_make_has_a_log(run, tmp_path):
    need("make")
    makefile = tmp_path / "Makefile"
    makefile.write_text("all: $(foreach i,1 2 3 4 5 6 7 8,t$(i))\nt%:\n\t@seq $* | sort -n >$@; cat $@ >/dev/null\n")
    script = "make -s -j4 -f %s && cat t*" % makefile
    found = names(run.both(["bash", "-c", script]), "last")
    assert found.count("sort") == 8 and "make" in found


def test_pmem_env_does_not_leak_into_output(run):
    result = run.both(["bash", "-c", "compgen -v | grep -c PMEM"])
    assert result.code == 1 and result.out == b"0\n"


def test_runner_compares_with_a_bare_run(run):
    """The comparison itself can fail: a program that prints its preload differs."""
    with pytest.raises(AssertionError):
        run.both(["bash", "-c", 'echo "$LD_PRELOAD"'])
