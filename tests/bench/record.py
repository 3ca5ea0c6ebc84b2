#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Records real programs for the simulator: runs each under strace against a small peer and writes
recordings/NAME.txt.  Not part of the tests; run it again when a program is to be added.

Usage: record.py [NAME...]
"""

import http.server
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from measure import recording  # noqa: E402
from measure.machine import child_of, free_port  # noqa: E402

VICTIMS = HERE.parent / "victims"
BODY = "order=" + "x" * 94
EXCHANGES = 30


class Peer(http.server.BaseHTTPRequestHandler):
    """Answers each request whole."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")

    def log_message(self, *_):
        pass


def straced(argv, during=None, **options):
    """The trace of a program that ends by itself, or (with `during`) is ended when that returns."""
    with tempfile.NamedTemporaryFile("r") as out:
        process = subprocess.Popen(["strace", "-f", "-yy", "-T", "-s", "0", "-e", f"trace={recording.TRACED}",
                                    "-o", out.name, *argv], stdout=subprocess.DEVNULL, **options)
        if during:
            try:
                during()
            finally:
                os.kill(child_of(process.pid), signal.SIGTERM)
        process.wait(60)
        time.sleep(0.2)
        return out.read()


def ask(port, request=b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"):
    """Exchanges on one connection, as soon as the server listens."""
    for _ in range(200):
        try:
            s = socket.create_connection(("127.0.0.1", port), 10)
            break
        except OSError:
            time.sleep(0.1)
    with s:
        for _ in range(EXCHANGES):
            s.sendall(request)
            answer = b""
            while not (b"\r\n\r\n" in answer and answer.rstrip().endswith((b"/", b"world"))):
                answer += s.recv(65536) or sys.exit("the server hung up")


def with_peer(argv_of):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        return straced(argv_of(server.server_address[1]))
    finally:
        server.shutdown()


def wget():
    return with_peer(lambda port: ["wget", "--no-config", "--no-proxy", "-q", "-O-", f"--post-data={BODY}",
                                   *[f"http://127.0.0.1:{port}/order"] * EXCHANGES])


def perl_http_tiny():
    return with_peer(lambda port: ["perl", str(VICTIMS / "perl-http-tiny/client.pl"), str(port),
                                   str(EXCHANGES), BODY])


def python_httplib():
    client = ("import http.client,sys; c=http.client.HTTPConnection('127.0.0.1',int(sys.argv[1]))\n"
              f"for i in range({EXCHANGES}):\n"
              f" c.request('POST','/',body=b'{BODY}'); c.getresponse().read()\n")
    return with_peer(lambda port: ["/usr/bin/python3", "-c", client, str(port)])


def python_http_server():
    from measure.real import PYTHON_SERVER
    port = free_port()
    return straced(["/usr/bin/python3", "-c", PYTHON_SERVER, str(port)], lambda: ask(port))


def jdk_http_server():
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["javac", "-d", folder, str(VICTIMS / "jdk-httpserver/SmallServer.java")], check=True)
        return straced(["java", "-cp", folder, "SmallServer", str(port)], lambda: ask(port))


def git_ls_remote():
    folder = tempfile.mkdtemp()
    daemon = None
    try:
        repository = f"{folder}/repository"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(["git", "init", "--bare", repository], check=True, **quiet)
        Path(repository, "git-daemon-export-ok").touch()
        git = ["git", f"--git-dir={repository}", "-c", "user.name=a", "-c", "user.email=a@localhost"]
        tree = subprocess.run([*git, "hash-object", "-t", "tree", "-w", "/dev/null"], check=True,
                              capture_output=True, text=True).stdout.strip()
        commit = subprocess.run([*git, "commit-tree", "-m", "first", tree], check=True,
                                capture_output=True, text=True).stdout.strip()
        for number in range(8):
            subprocess.run([*git, "update-ref", f"refs/tags/v{number}", commit], check=True)
        port = free_port()
        daemon = subprocess.Popen(["git", "daemon", "--listen=127.0.0.1", f"--port={port}", "--reuseaddr",
                                   f"--base-path={folder}"], **quiet)
        time.sleep(1)
        return "".join(straced(["git", "ls-remote", f"git://127.0.0.1:{port}/repository"]) for _ in range(6))
    finally:
        if daemon:
            daemon.terminate()
            daemon.wait()
        shutil.rmtree(folder)


PROGRAMS = {"wget-post": wget, "perl-http-tiny": perl_http_tiny, "python-http-client": python_httplib,
            "python-http-server": python_http_server, "jdk-httpserver": jdk_http_server,
            "git-ls-remote": git_ls_remote}


def main():
    os.environ.pop("LD_PRELOAD", None)
    for name in sys.argv[1:] or PROGRAMS:
        lines = recording.events(PROGRAMS[name]())
        if not any(line.startswith("write") for line in lines):
            sys.exit(f"{name}: no write to a TCP socket was seen")
        text = f"# {name}, recorded with strace (record.py)\n" + "\n".join(lines) + "\n"
        (HERE / "recordings" / f"{name}.txt").write_text(text, encoding="ascii")
        print(f"{name}: {len(lines)} events")


if __name__ == "__main__":
    main()
