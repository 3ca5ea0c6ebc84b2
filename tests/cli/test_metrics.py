# SPDX-License-Identifier: MIT
"""unstall metrics: Prometheus's view of it, and a server that no client can occupy."""

import contextlib
import re
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from harness import COMMAND, free_port, preload_env, spawned, unstall
from stats_files import STALLING, make_stats_file
from talkers import STALLER

LABELS = 'pid="4711",program="python3",endpoint="127.0.0.1:8080",role="destination",arm="",mode="observe"'


def samples(text):
    """Name and labels -> value."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            series, value = line.rsplit(" ", 1)
            assert series not in found, f"twice: {series}"
            found[series] = float(value)
    return found


@contextlib.contextmanager
def served(folder, where="0"):
    """The server; gives (process, URL)."""
    with spawned([COMMAND, "metrics", "--listen", where, folder], stderr=subprocess.PIPE) as process:
        line = process.stderr.readline()
        yield process, re.search(r"http://\S+", line).group()


OPEN = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"


def get(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
        return answer.headers, answer.read().decode()


def test_the_form_is_openmetrics(tmp_path):
    make_stats_file(tmp_path / "1.unstall", STALLING)
    with served(tmp_path) as (_, url):
        headers, text = get(url, Accept=OPEN)
    assert headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert text.endswith("\n# EOF\n") and text.count("# EOF") == 1
    assert ("# TYPE unstall_stall_seconds counter\n# UNIT unstall_stall_seconds seconds\n"
            "# HELP unstall_stall") in text
    found = samples(text)
    assert found[f"unstall_stalls_proved_total{{{LABELS}}}"] == 96
    assert found[f"unstall_stall_seconds_total{{{LABELS}}}"] == 4.2
    assert found[f"unstall_exchange_seconds_count{{{LABELS}}}"] == 100
    assert found[f"unstall_exchange_seconds_sum{{{LABELS}}}"] == pytest.approx(96 * 0.044 + 4 * 60e-6)
    state = 'unstall_process_info{pid="4711",program="python3",mode="observe",state="ended",library="0.1.0"}'
    assert found[state] == 1


def test_families_are_whole_and_named_once(tmp_path):
    make_stats_file(tmp_path / "1.unstall",
                 STALLING + "row 2 1 2 5 6 ::1 80\nexchange 2 100 1\ncount 2 writes 1\n")
    order, types = [], {}
    with served(tmp_path) as (_, url):
        _, text = get(url, Accept=OPEN)
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split()
            assert name not in types
            types[name] = kind
        elif not line.startswith("#"):
            sample = line.split("{")[0].split(" ")[0]
            family = re.sub(r"_(total|bucket|sum|count|info)$", "", sample)
            assert family in types, line
            if not order or order[-1] != family:
                order.append(family)
    assert len(order) == len(set(order))


def test_histograms_are_cumulative_and_tell_a_stall_from_none(tmp_path):
    make_stats_file(tmp_path / "1.unstall", STALLING)
    found = samples(unstall("metrics", tmp_path, check=True).stdout)
    buckets = [(float(re.search(r',le="([^"]+)"', name).group(1)), value) for name, value in found.items()
               if name.startswith("unstall_exchange_seconds_bucket")]
    assert buckets == sorted(buckets)
    assert [value for _, value in buckets] == sorted(value for _, value in buckets)
    assert max(value for bound, value in buckets if bound < 0.03) == 4
    assert min(value for bound, value in buckets if bound > 0.05) == 100
    assert buckets[-1] == (float("inf"), 100)


def test_two_lives_of_one_id_are_one_series(tmp_path):
    make_stats_file(tmp_path / "1.unstall", STALLING)
    make_stats_file(tmp_path / "2.unstall", STALLING + "header started 1767225700000000000\n")
    found = samples(unstall("metrics", tmp_path, check=True).stdout)
    assert found[f"unstall_stalls_proved_total{{{LABELS}}}"] == 192


def many(folder, count, lines=""):
    """So many statistics files of processes that are gone."""
    made = make_stats_file(folder / "0.unstall", STALLING + lines).read_bytes()
    for number in range(1, count):
        with open(folder / f"{number}.unstall", "wb") as file:
            for at in range(0, len(made), 4096):  # with the holes of the first
                file.seek(at)
                if made[at:at + 4096].strip(b"\0"):
                    file.write(made[at:at + 4096])
            file.truncate(len(made))


def test_files_of_processes_that_are_gone_take_little_memory(tmp_path):
    """From the second time on, the room of each was touched: 450 KB a file, and 1 MB a file in top."""
    many(tmp_path, 200)
    with served(tmp_path) as (process, url):
        for _ in range(4):
            get(url)
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
            peak = int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1])
    assert peak < 32 * 1024


def test_files_of_killed_processes_do_not_each_walk_through_proc(tmp_path):
    """2000 files beside 500 processes took 10 s of a processor, at each scrape."""
    many(tmp_path, 40, "header ended 0\nheader pid 9999999\n")
    log = tmp_path / "strace.log"
    done = subprocess.run(["strace", "-o", log, "-e", "trace=openat", COMMAND, "metrics", tmp_path],
                          capture_output=True, text=True, timeout=60, check=True)
    assert 'state="killed"' in done.stdout
    assert log.read_text(encoding="utf-8").count('"/proc", ') <= 2


def test_labels_cannot_be_broken_out_of(tmp_path):
    make_stats_file(tmp_path / "1.unstall", STALLING + 'program /tmp/a"b\\c\nd"} 1\n'.replace("\nd", "\033d"))
    text = unstall("metrics", tmp_path, check=True).stdout
    assert 'program="a\\"b\\\\c?d\\"} 1"' in text


def test_counters_grow_while_processes_come_and_go(peer, folder):
    before, steps = {}, 0
    running = []
    for turn in range(10):
        if turn in (0, 2, 4):
            running.append(subprocess.Popen(["/usr/bin/python3", STALLER, *peer.target, "12"],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            env=preload_env("observe", UNSTALL_STATS=folder)))
        if turn == 3:
            running[0].kill()
        now = samples(unstall("metrics", folder, check=True).stdout)
        for series, value in before.items():
            if re.match(r"unstall_\w+_(total|bucket|count|sum)", series):
                assert now[series] >= value, series
                steps += now[series] > value
        before = now
        time.sleep(0.1)
    for process in running:
        process.wait(20)
    now = samples(unstall("metrics", folder, check=True).stdout)
    done = [value for series, value in now.items() if series.startswith("unstall_exchange_seconds_count")]
    assert done.count(12) >= 2  # the first one was killed, perhaps before it had begun
    assert steps > 0


def test_promtool_finds_nothing_to_say(tmp_path):
    """Once on standard output it was OpenMetrics, which promtool and the textfile collector refuse: "unknown
    metric type info"."""
    make_stats_file(tmp_path / "1.unstall", STALLING)
    with served(tmp_path) as (_, url):
        headers, text = get(url)
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert text == unstall("metrics", tmp_path, check=True).stdout
    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True,
                          check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@contextlib.contextmanager
def prometheus(tmp_path, url):
    """A real one that scrapes `url` each second; gives its own address."""
    address = f"127.0.0.1:{free_port()}"
    target = urllib.parse.urlsplit(url).netloc
    (tmp_path / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\n"
        f"scrape_configs: [{{job_name: unstall, static_configs: [{{targets: ['{target}']}}]}}]\n",
        encoding="utf-8")
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(["prometheus", f"--config.file={tmp_path}/prometheus.yml",
                                    f"--storage.tsdb.path={tmp_path}/data",
                                    f"--web.listen-address={address}"],
                                   stdout=log, stderr=log)
        try:
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait(30)


@pytest.mark.parametrize("request_line, status", [
    ("GET / HTTP/1.1", "200"), ("HEAD /metrics HTTP/1.0", "200"), ("GET /metrics?x=1 HTTP/1.1", "200"),
    ("GET /etc/passwd HTTP/1.1", "404"), ("GET /metricsandmore HTTP/1.1", "404"),
    ("POST /metrics HTTP/1.1", "405"),
    ("nonsense", "405"), ("GET /" + "x" * 9000, "431"),
])
def test_requests(tmp_path, request_line, status):
    with served(tmp_path) as (_, url), socket.create_connection(split(url), timeout=20) as sock:
        sock.sendall(f"{request_line}\r\n\r\n".encode())
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := sock.recv(65536):
                answer += piece
        assert answer.split()[1].decode() == status
        if request_line.startswith("HEAD"):
            assert answer.endswith(b"\r\n\r\n")


def split(url):
    parts = urllib.parse.urlsplit(url)
    return parts.hostname, parts.port


def test_idle_clients_do_not_keep_others_out(tmp_path):
    make_stats_file(tmp_path / "1.unstall", STALLING)
    with served(tmp_path) as (_, url), contextlib.ExitStack() as stack:
        for _ in range(40):
            sock = stack.enter_context(socket.create_connection(split(url), timeout=20))
            sock.sendall(b"GET /met")
        assert "unstall_stalls_proved" in get(url)[1]


def test_a_reader_that_stops_does_not_stop_the_others(tmp_path):
    for n in range(30):
        make_stats_file(tmp_path / f"{n}.unstall", STALLING + f"header pid {n + 1}\n")
    with served(tmp_path) as (_, url):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(split(url))
        with sock:
            sock.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            assert "# TYPE" in get(url)[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly(tmp_path, number):
    with served(tmp_path) as (process, url):
        get(url)
        process.send_signal(number)
        assert process.wait(10) == 0


def test_it_listens_on_loopback_unless_told(tmp_path):
    for where, host in (("0", "127.0.0.1"), ("0.0.0.0:0", "0.0.0.0"), ("[::1]:0", "::1")):
        with served(tmp_path, where) as (_, url):
            assert split(url)[0] == host
            assert "unstall_unreadable_files 0" in get(url)[1]


def test_a_taken_port_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = unstall("metrics", "--listen", str(server.getsockname()[1]), tmp_path)
    assert done.returncode == 125
    assert "Address already in use" in done.stderr
