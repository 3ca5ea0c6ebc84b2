# SPDX-License-Identifier: MIT
"""Real servers and clients under the same load: bare, with TCP_NODELAY, and under each mode."""

import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from .configurations import Configuration
from .machine import LIB, PROGRAMS, ROOT, found, free_port, pinned, run
from .rounds import paired

# A real server sends in its own way; only the preloaded library differs.
BARE = Configuration("bare", "")
NODELAY = Configuration("preload: TCP_NODELAY", "", PROGRAMS / "bench-always_nodelay.so")
MODES = [Configuration(f"unstall {mode}", "", LIB, mode) for mode in ("auto", "coalesce", "cork", "nodelay")]
STALLING = [NODELAY, BARE, *MODES]  # the first one divides: the stalled one would make every ratio tiny
WELL = [BARE, Configuration("bare, again", ""), NODELAY, *MODES]


def wait_for(port, process, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None:
            raise RuntimeError(f"{process.args[0]} has ended")
        time.sleep(0.05)
    raise RuntimeError(f"{process.args[0]} does not listen")


@contextmanager
def serving(argv, port, env, **options):
    process = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, **options)
    try:
        wait_for(port, process)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class KeptUp:
    """A server for each configuration, all up at the same time, so that the slices of load in turn can be
    short and many: other load then falls on all alike.  Each is started anew after some slices,
    because a process may be lucky with its addresses.  `serve(configuration)` gives a context
    with the port in it, `load(port)` one slice."""

    def __init__(self, serve, load, slices=6):
        self.serve, self.load, self.slices = serve, load, slices
        self.running = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for stack, _, _ in self.running.values():
            stack.close()

    def __call__(self, configuration):
        stack, port, done = self.running.pop(configuration.name, (None, None, self.slices))
        if done == self.slices:
            if stack:
                stack.close()
            stack, done = ExitStack(), 0
            port = stack.enter_context(self.serve(configuration))
            self.load(port)  # warm
        self.running[configuration.name] = (stack, port, done + 1)
        return self.load(port)


def kept_serving(argv_of, **options):
    @contextmanager
    def serve(configuration):
        port = free_port()
        with serving(argv_of(port), port, configuration.env(), **options):
            yield port
    return serve


UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}


def wrk(port, connections, seconds):
    """Requests a second, milliseconds at p50 and p99; `ns` is the time of a request."""
    said = run(["wrk", "--latency", "-t1", f"-c{connections}", f"-d{seconds}s",
                f"http://127.0.0.1:{port}/"], timeout=seconds + 30)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said).group(1))
    result = {"ns": 1e9 / max(rate, 1e-9), "rate": rate}
    for mark in ("50", "99"):
        value, unit = re.search(rf"\s{mark}%\s+([\d.]+)(\w+)", said).groups()
        result[f"p{mark} ms"] = float(value) * UNITS[unit]
    return result


def under_wrk(argv_of, connections, seconds, **options):
    def once(configuration):
        port = free_port()
        with serving(argv_of(port), port, configuration.env(), **options):
            wrk(port, connections, 1)
            return wrk(port, connections, seconds)
    return once


def jdk(folder):
    source = ROOT / "tests/victims/jdk-httpserver/SmallServer.java"
    run(["javac", "-d", folder, str(source)])
    return lambda port: ["java", "-XX:+UseSerialGC", "-Xmx256m", "-cp", folder, "SmallServer", str(port)]


PYTHON_SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "12")
        self.end_headers()
        self.wfile.write(b"Hello world\\n")
    def log_message(self, *a): pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def python(_folder):
    return lambda port: ["/usr/bin/python3", "-c", PYTHON_SERVER, str(port)]


def nginx(folder):
    def argv(port):
        configuration = Path(folder, f"nginx-{port}.conf")
        Path(folder, "index.html").write_text("x" * 600, encoding="ascii")
        os.chmod(folder, 0o755)
        configuration.write_text(f"""
worker_processes 1; daemon off; master_process off; pid {folder}/nginx-{port}.pid; error_log /dev/null;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 1000000000;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{port}; root {folder}; }} }}
""", encoding="ascii")
        return ["nginx", "-c", str(configuration)]
    return argv


def redis(port):
    return ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"]


def redis_gets(port):
    said = run(["redis-benchmark", "-p", str(port), "-t", "get", "-c", "10", "-n", "15000", "--csv"])
    rate = float(re.search(r'"GET","([\d.]+)"', said).group(1))
    return {"ns": 1e9 / rate, "rate": rate}


def postgres_program(name):
    there = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(there[-1]) if there else shutil.which(name)


@contextmanager
def postgres_data():
    """An empty cluster of its own; the server refuses to run as root."""
    folder = tempfile.mkdtemp(prefix="unstall-pg-")
    who = {}
    try:
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            who = {"user": nobody.pw_uid, "group": nobody.pw_gid}
        subprocess.run([postgres_program("initdb"), "-D", f"{folder}/data", "-A", "trust", "-U", "bench",
                        "--no-sync"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       cwd=folder, **who)
        yield folder, who
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def postgres(folder, who):
    """Each server has a copy of the data."""
    @contextmanager
    def serve(configuration):
        port = free_port()
        data = f"{folder}/{configuration.name.replace(' ', '-')}"
        subprocess.run(["cp", "-a", f"{folder}/data", data], check=True)
        argv = [postgres_program("postgres"), "-D", data, "-p", str(port), "-k", folder,
                "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "autovacuum=off"]
        try:
            with serving(argv, port, configuration.env(), cwd=folder, **who):
                run([*pgbench(port), "-i", "-q", "postgres"])
                yield port
        finally:
            shutil.rmtree(data, ignore_errors=True)
    return serve


def pgbench(port):
    return ["pgbench", "-h", "127.0.0.1", "-p", str(port), "-U", "bench"]


def selects(port):
    said = run([*pgbench(port), "-S", "-n", "-c", "4", "-t", "2000", "postgres"], timeout=60)
    rate = float(re.search(r"tps = ([\d.]+)", said).group(1))
    return {"ns": 1e9 / rate, "rate": rate}


def iperf(seconds):
    def once(configuration):
        port = free_port()
        with serving(["iperf3", "-s", "-p", str(port)], port, configuration.env()):
            for _ in range(5):  # the server is busy for a moment with our look whether it listens
                time.sleep(0.3)
                with suppress(RuntimeError):
                    said = run(["iperf3", "-c", "127.0.0.1", "-p", str(port), "-t", str(seconds), "-J"],
                               configuration.env(), timeout=seconds + 30)
                    found_rates = re.findall(r'"bits_per_second":\s*([\d.e+]+)', said)
                    if found_rates:
                        break
            else:
                raise RuntimeError("iperf3 measured nothing")
            rate = float(found_rates[-1]) / 8
            return {"ns": 1e9 / rate * 65536, "rate": rate / 1e6}
    return once


def measure(rounds, seconds, connections, progress):
    """name -> rows, and name -> reason for what is not there.  Those that are well must show one per cent:
    many more rounds, each of a moment."""
    results, skipped = {}, {}

    def measured(name, programs, configurations, once, times=rounds):
        missing = found(*programs)
        if missing:
            skipped[name] = "not installed: " + ", ".join(missing)
            return
        progress(name)
        try:
            results[name] = paired(configurations, once, times)
        except (RuntimeError, subprocess.SubprocessError, OSError, AttributeError, IndexError) as error:
            skipped[name] = str(error)

    def well(name, programs, serve, load, times):
        with KeptUp(serve, load) as servers:
            measured(name, programs, WELL, servers, times)

    with pinned(), tempfile.TemporaryDirectory(prefix="unstall-bench-") as folder:
        if not found("javac", "wrk"):
            argv = jdk(folder)
            for count in connections:
                measured(f"JDK HttpServer, wrk, {count} connections", ["java", "wrk"], STALLING,
                         under_wrk(argv, count, seconds))
        for count in connections:
            measured(f"Python http.server, wrk, {count} connections", ["wrk"], STALLING,
                     under_wrk(python(folder), count, seconds))
        well("nginx, wrk, 10 connections", ["nginx", "wrk"], kept_serving(nginx(folder)),
             lambda port: wrk(port, 10, 1), 6 * rounds)
        well("redis, redis-benchmark GET, 10 connections", ["redis-server", "redis-benchmark"],
             kept_serving(redis), redis_gets, 12 * rounds)
        if postgres_program("initdb"):
            with postgres_data() as (data, who):
                well("PostgreSQL, pgbench -S, 4 connections", ["pgbench"], postgres(data, who), selects,
                     12 * rounds)
        else:
            skipped["PostgreSQL"] = "not installed"
        measured("iperf3, one stream (MB/s)", ["iperf3"], WELL, iperf(1), 2 * rounds)
    return results, skipped
