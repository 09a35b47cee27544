# SPDX-License-Identifier: BSD-2-Clause
"""test_servers - redis, nginx and postgres under load on loopback answer as without the library, and leave logs."""
import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import urllib.request

import pytest

import pmem_run
from test_programs import REPEAT, need


@pytest.fixture
def place():
    """A short path that other users can reach: names of unix sockets are limited."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="pmem-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def started(run, argv, lib, folder, **options):
    """A server that is gone at the end, whatever happens."""
    with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
        process = run.start(argv, lib=lib, folder=folder, stdout=out, stderr=err, stdin=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def whole_logs(run, folder, name):
    logs = [log for log in pmem_run.Result(Ended, folder).logs("last") if os.path.basename(log.exe) == name]
    for log in logs:
        assert log.last and not log.torn, log.paths
    return logs


class Ended:
    """Stands for a process of which only the folder counts."""
    returncode, stdout, stderr = 0, b"", b""


def client(argv, **options):
    """A client without the library."""
    return subprocess.run([str(a) for a in argv], env=pmem_run.environment(None), capture_output=True, timeout=120, **options)


# -- redis -----------------------------------------------------------------------------------------
def redis(run, place, lib):
    folder = place / ("mine" if lib else "bare")
    folder.mkdir()
    sock = folder / "s"
    server = ["redis-server", "--port", "0", "--unixsocket", sock, "--save", "", "--appendonly", "no", "--dir", folder]
    with started(run, server, lib, folder) as process:
        pmem_run.wait_for(lambda: client(["redis-cli", "-s", sock, "ping"]).stdout == b"PONG\n", "redis start")
        load = client(["redis-benchmark", "-s", sock, "-n", "10000", "-c", "20", "-q", "-t", "set,get,lpush,lrange_100,mset"])
        assert load.returncode == 0, load.stderr
        script = "".join("SET k%d %s\nRPUSH l v%d\n" % (i, "x" * (i % 200), i) for i in range(500))
        answers = client(["redis-cli", "-s", sock], input=(script + "STRLEN k77\nLRANGE l 490 -1\nDBSIZE\n").encode())
        client(["redis-cli", "-s", sock, "shutdown", "nosave"])
        code = process.wait(30)
    return code, answers.stdout, folder


@pytest.mark.parametrize("repeat", REPEAT)
def test_redis_under_benchmark(run, place, repeat):
    need("redis-server", "redis-benchmark", "redis-cli")
    bare, mine = redis(run, place, False), redis(run, place, True)
    assert mine[0] == bare[0] == 0 and mine[1] == bare[1]
    pmem_run.assert_silent((mine[2] / "err").read_bytes())
    log, = whole_logs(run, mine[2], os.path.basename(os.path.realpath(shutil.which("redis-server"))))
    # How many there are depends on how busy the machine is.
    assert len(log.snapshots) >= 2 and log.last.figure("lost") == 0


# -- nginx -----------------------------------------------------------------------------------------
NGINX = """
daemon off; pid %(folder)s/pid; error_log stderr; worker_processes 2; %(user)s
events { worker_connections 64; }
http {
  access_log off; client_body_temp_path %(folder)s/body; proxy_temp_path %(folder)s/proxy;
  fastcgi_temp_path %(folder)s/fastcgi; uwsgi_temp_path %(folder)s/uwsgi; scgi_temp_path %(folder)s/scgi;
  gzip on; gzip_types text/plain; gzip_min_length 1;
  server { listen 127.0.0.1:%(port)d; root %(folder)s/www; location /sub { return 200 "$request_uri $arg_x\\n"; } }
}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def fetch(port, path):
    request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=20) as reply:
        return reply.status, reply.read()


def fetch_many(port, count):
    answers = {}

    def some(k):
        for i in range(k, count, 8):
            answers[i] = fetch(port, "/sub/%d?x=%d" % (i, i * i) if i % 2 else "/file%d.txt" % (i % 5))
    threads = [threading.Thread(target=some, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return answers


def nginx(run, place, lib):
    folder = place / ("mine" if lib else "bare")
    (folder / "www").mkdir(parents=True)
    for i in range(5):
        (folder / "www" / ("file%d.txt" % i)).write_text("line of text\n" * (i * 1000 + 1))
    port = free_port()
    user = "user root root;" if os.geteuid() == 0 else ""
    (folder / "conf").write_text(NGINX % {"folder": folder, "port": port, "user": user})
    with started(run, [shutil.which("nginx") or "/usr/sbin/nginx", "-c", folder / "conf", "-p", folder], lib, folder) as process:
        def up():
            with contextlib.suppress(OSError):
                return fetch(port, "/file0.txt")[0] == 200
        pmem_run.wait_for(up, "nginx start")
        answers = fetch_many(port, 600)
        process.send_signal(signal.SIGQUIT)
        code = process.wait(30)
    return code, answers, folder


def test_nginx_under_load(run, place):
    if not (shutil.which("nginx") or os.path.exists("/usr/sbin/nginx")):
        pytest.skip("nginx is not installed")
    bare, mine = nginx(run, place, False), nginx(run, place, True)
    assert mine[0] == bare[0] == 0 and len(mine[1]) == 600 and mine[1] == bare[1]
    pmem_run.assert_silent((mine[2] / "err").read_bytes())
    assert len(whole_logs(run, mine[2], "nginx")) == 3, "master and two workers"


# -- postgres --------------------------------------------------------------------------------------
def postgres_bin():
    """Where initdb and postgres themselves lie, not a wrapper."""
    for folder in sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    found = shutil.which("postgres")
    return pathlib.Path(found).resolve().parent if found else None


def postgres_user():
    """Server programs refuse to run as root."""
    if os.geteuid() != 0:
        return {}, os.getuid()
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}, user.pw_uid
    pytest.skip("no user to run postgres as")


def postgres(run, place, bin_folder, lib):
    options, uid = postgres_user()
    folder = place / ("mine" if lib else "bare")
    folder.mkdir()
    os.chown(folder, uid, -1)
    data = folder / "d"
    initdb = run([bin_folder / "initdb", "-D", data, "-A", "trust", "-U", "test", "--no-sync", "--locale=C", "-E", "UTF8"],
                 lib=lib, folder=folder, **options)
    assert initdb.code == 0, initdb.err
    pmem_run.assert_silent(initdb.err)
    server = [bin_folder / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c",
              "shared_buffers=16MB", "-c", "max_connections=20"]
    sql = [bin_folder / "psql", "-h", folder, "-U", "test", "-d", "postgres", "-At", "-c"]
    with started(run, server, lib, folder, **options) as process:
        pmem_run.wait_for(lambda: client(sql + ["select 1"]).stdout == b"1\n", "postgres start")
        bench = shutil.which("pgbench", path="%s:%s" % (bin_folder, os.environ["PATH"]))
        assert client([bench, "-h", folder, "-U", "test", "-i", "-q", "-s", "1", "postgres"]).returncode == 0
        load = client([bench, "-h", folder, "-U", "test", "-c", "4", "-j", "2", "-t", "200", "postgres"])
        assert load.returncode == 0, load.stderr
        answer = client(sql + ["select count(*), sum(length(filler)) from pgbench_accounts; select count(*) from pgbench_history;"
                               "select md5(string_agg(i::text, ',' order by i)) from generate_series(1, 100000) i"]).stdout
        process.send_signal(signal.SIGINT)
        code = process.wait(60)
    out = initdb.out.replace(str(folder).encode(), b"")
    return code, answer, out, folder


def test_postgres_initdb_and_pgbench(run, place, lib):
    bin_folder = postgres_bin()
    if not bin_folder or not shutil.which("pgbench", path="%s:%s" % (bin_folder, os.environ["PATH"])):
        pytest.skip("postgres or pgbench is not installed")
    shutil.copy(lib, place / "libpmem.so")  # readable for another user
    (place / "libpmem.so").chmod(0o755)
    run.lib = str(place / "libpmem.so")
    bare, mine = postgres(run, place, bin_folder, False), postgres(run, place, bin_folder, True)
    assert mine[:3] == bare[:3] and mine[0] == 0
    assert b"pmem:" not in (mine[3] / "err").read_bytes()
    assert len(whole_logs(run, mine[3], "initdb")) >= 1
    servers = whole_logs(run, mine[3], "postgres")
    assert len(servers) >= 10, "the first processes of initdb, the server, its helpers and backends"
    assert any(log.last.figure("live") > 0 for log in servers)
