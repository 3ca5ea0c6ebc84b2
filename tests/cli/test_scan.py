# SPDX-License-Identifier: MIT
"""unstall scan names the processes that stall, and no others; nothing is touched."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest
from stats_files import PROGRAMS, line_with
from test_top import Terminal

from harness import (AS_NOBODY, COMMAND, VERDICT_CODES, AnsweringPeer, bare_env, cgroup, command_of_everybody,
                     need_root, patiently, podman_env, remove_cgroups, run, skip, spawned, started,
                     two_namespaces, unstall, within)
from harness.capture import captured

ACTOR = PROGRAMS / "actor.py"
SELDOM = ("lost", "lost-behind")  # an exchange takes as long as the timeouts of a loss
WELL_BEHAVED = ("single", "nodelay", "thinks", "bulk", "slow-reader", "corked", "paced", *SELDOM)
SOURCES = ("sampled", "exact")


def need(source):
    """Skip where the source cannot be used; the reason is one clear sentence."""
    if source == "exact":
        done = unstall("scan", "--source", "exact", "--time", "0.1")
        if done.returncode == 125:
            assert done.stderr.count("\n") == 1
            skip(done.stderr.strip())


class Actor:
    """A program with both ends of a connection: see programs/actor.py.  As a context it ends with it."""

    def __init__(self, kind, seconds=600, rate=0, waits=False, python="/usr/bin/python3"):
        words = [python, "-S", ACTOR, kind, seconds, rate, "waits" if waits else ""]
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=bare_env())
        self.pid = self.process.pid
        self.port = int(self.process.stdout.readline().split()[1])

    def begin(self):
        """Of one that waits."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def exchanges(self):
        """Waits for its end; how many exchanges it made."""
        count = int(self.process.stdout.readline().split()[1])
        self.process.communicate()
        assert self.process.returncode == 0
        return count

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


@contextlib.contextmanager
def scanning(*words, command=(COMMAND,)):
    """A scan without an end; .told() ends it and gives its output."""
    process = subprocess.Popen([*map(str, command), "scan", "--json", "--time", "60", *map(str, words)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bare_env())

    def told():
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert err == "", err
        report = json.loads(out)
        assert process.returncode == VERDICT_CODES[report["verdict"]["kind"]]
        assert (report["verdict"]["kind"] == "stalls") == bool(report["rows"])
        return report

    try:
        yield told
    finally:
        process.kill()
        process.communicate()


def row_of(report, pid):
    """The rows of one sender."""
    rows = [row for row in report["rows"] if row["process"] and row["process"]["pid"] == pid]
    assert len(rows) <= 1
    return rows[0] if rows else None


def scan_until_told(scan, told=lambda done: done.returncode == 1):
    """`scan(seconds)` until it has `told` of a stall.  The source sampled lists the sockets of a host with
    twenty thousand once in two seconds, and may miss a stall between its lists."""
    for seconds in (2, 6, 18):
        done = scan(seconds)
        if told(done):
            break
    return done


@pytest.fixture(name="crowd", scope="module")
def programs_of_all_kinds():
    """The findings of both sources on one program that stalls and on others that do not, at the same time."""
    need("exact")
    for _ in range(3):
        with scanning("--source", "exact") as exact, scanning("--source", "sampled") as sampled:
            actors = {kind: Actor(kind, 3) for kind in ("stall", "one-way", *WELL_BEHAVED)}
            made = {kind: actor.exchanges() for kind, actor in actors.items()}
            reports = {"exact": exact(), "sampled": sampled()}
        estimates = {kind: row_of(reports["sampled"], actor.pid) for kind, actor in actors.items()}
        if estimates["stall"] and not estimates["one-way"]:  # on a busy machine samples may miss it, or guess
            break
    return actors, made, reports


@pytest.mark.parametrize("source", SOURCES)
def test_the_program_that_stalls_is_named(crowd, source):
    actors, made, reports = crowd
    stalls, exchanges = actors["stall"], made["stall"]
    assert reports[source]["source"] == source
    row = row_of(reports[source], stalls.pid)
    assert row["endpoint"] == f"127.0.0.1:{stalls.port}" and row["role"] == "destination"
    assert row["process"]["program"].startswith("python3") and "actor.py stall" in row["process"]["command"]
    assert row["receiver"]["pid"] == stalls.pid
    # the first exchanges of a connection do not stall, nor do exchanges that a busy machine delays otherwise
    assert row["stalls_low"] <= exchanges and row["stalls_high"] >= exchanges // 2
    if source == "exact":
        assert row["stalls_low"] == row["stalls"] == row["stalls_high"] == row["stalls_seen"]
        assert row["thread"].startswith("python3")
    assert 25 < row["mean_ms"] < 200


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", [*WELL_BEHAVED, "one-way"])
def test_a_program_that_does_not_stall_is_not_named(crowd, source, kind):
    actors, made, reports = crowd
    assert made[kind] > (1 if kind in SELDOM else 10)
    assert row_of(reports[source], actors[kind].pid) is None


def seen_by_both(rate):
    """A program that stalls: its rows in both sources, and its stalls on the wire."""
    with scanning("--source", "exact") as exact, scanning("--source", "sampled") as sampled:
        actor = Actor("stall", 3, rate, waits=True)
        with captured(actor.port) as capture:
            actor.begin()
            actor.exchanges()
        return row_of(exact(), actor.pid), row_of(sampled(), actor.pid), capture.stalls()


@pytest.mark.parametrize("rate", [0, 4], ids=["always", "now and then"])
def test_it_agrees_with_what_went_over_the_wire(rate):
    need("exact")

    def attempt():
        exact, sampled, truth = seen_by_both(rate)
        assert len(truth) >= 8
        assert abs(exact["stalls"] - len(truth)) <= 0.02 * len(truth) + 1
        assert abs(exact["mean_ms"] - sum(truth) / len(truth) / 1e6) <= 0.02 * 44 + 1
        # Samples may miss a stall where stalls fill a sixth of the time.
        right = sampled["stalls_low"] <= len(truth) <= sampled["stalls_high"] if sampled else rate > 0
        assert right, f"{sampled}, on the wire {len(truth)}"

    # a busy machine stops the program between its writes, and samples may miss a stall
    patiently(attempt, tries=12)


def test_it_says_how_much_it_took_itself():
    """For eight seconds: in less, the start (12 ms and more beside other work) is a large part."""
    def attempt():
        told = json.loads(unstall("scan", "--json", "--time", "8", "--source", "sampled").stdout)
        assert told["dumps"] >= 2 and told["seconds"] >= 7.9
        assert 0 < told["share_of_a_core"] < 0.02

    patiently(attempt)  # on a busy machine a dump takes long, and the next one is later


@pytest.mark.parametrize("kind, code", [("stall", 1), ("single", 0)])
def test_the_exit_code_tells_whether_something_stalls(kind, code):
    with Actor(kind) as actor:
        def scan(seconds):
            return unstall("scan", "--time", seconds, "--port", actor.port)
        done = scan_until_told(scan) if code else scan(1.2)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.startswith(f"Scanned port {actor.port} for ")
    if code:
        assert f"to 127.0.0.1:{actor.port}" in done.stdout
        may_attach = os.geteuid() == 0 and "source exact" in " ".join(done.stdout.split())
        attach = f"or cure it as it runs: unstall attach {actor.pid}\n" if may_attach else ""
        assert done.stdout.endswith(f"Next: unstall doctor {actor.pid}\n{attach}")
    else:
        assert re.search("^No stall in about [1-9][0-9 ]* exchanges on connections that\\s", done.stdout,
                         re.MULTILINE)


@pytest.mark.parametrize("source", SOURCES)
def test_a_signal_that_comes_as_it_begins_ends_it_with_its_report(source):
    """The signal ended it without a word."""
    need(source)
    slowly = ("strace", "-D", "-qq", "-o", "/dev/null", "-e", "inject=socket:delay_enter=2s:when=1", COMMAND)
    with scanning("--source", source, command=slowly) as told:
        time.sleep(1)
        told()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("behaviour", ["idle", "one exchange", "many exchanges"])
def test_no_stall_is_claimed_only_where_enough_exchanges_were_seen(source, behaviour):
    """Of a host without any traffic it said "No stall was seen", with the exit code 0."""
    need(source)

    def attempt():
        with AnsweringPeer() as peer, socket.create_connection(peer.target) as connection:
            with scanning("--source", source, "--port", peer.port) as told:
                time.sleep(0.5)
                for _ in range({"idle": 0, "one exchange": 1, "many exchanges": 300}[behaviour]):
                    connection.sendall(b"q" * 300)
                    connection.recv(1000)
                time.sleep(0.5)
                verdict = told()["verdict"]
        if behaviour == "many exchanges":
            assert verdict["kind"] == "none" and 250 <= verdict["exchanges"] <= 350, verdict
        else:
            assert verdict["kind"] == "too-few" and verdict["exchanges"] <= 2, verdict
            assert verdict["sentence"].startswith("Too few exchanges to tell: ")

    patiently(attempt)  # on a busy machine the sampled source needs more exchanges


def test_the_exchanges_of_one_process_are_counted_alone():
    need("exact")
    with Actor("single") as actor, subprocess.Popen(["sleep", "60"]) as idle:
        talks, silent = (json.loads(unstall("scan", "--json", "--time", "1.5", "--pid", pid).stdout)
                         ["verdict"] for pid in (actor.pid, idle.pid))
        idle.kill()
    # of the master of nginx, whose workers had thousands, it said that the sender may be elsewhere
    assert silent["notes"] == ["Connections of its workers, if it has some, are not its own: --port or "
                               "--unit looks at all."]
    assert talks["notes"][0].startswith("A stall is seen at its sender only")
    assert (talks["kind"], silent["kind"], silent["exchanges"]) == ("none", "too-few", 0), (talks, silent)


def test_one_process_can_be_asked_for():
    with Actor("stall") as first, Actor("stall"):
        told = json.loads(scan_until_told(lambda seconds: unstall(
            "scan", "--json", "--time", seconds, "--pid", first.pid)).stdout)
    assert told["scope"] == f"process {first.pid}"
    assert [row["process"]["pid"] for row in told["rows"]] == [first.pid]


def test_a_process_is_read_once_however_many_sockets_it_has(tmp_path):
    """With 9000 connections of one process, /proc of it was read for each: a tenth of a core for 10 s."""
    log = tmp_path / "log"
    with socket.create_server(("127.0.0.1", 0)) as listener, contextlib.ExitStack() as ends:
        for _ in range(60):
            ends.enter_context(socket.create_connection(listener.getsockname()))
            ends.enter_context(listener.accept()[0])
        subprocess.run(["strace", "-f", "-o", log, "-e", "trace=openat", COMMAND, "scan", "--time", "0.2",
                        "--source", "sampled", "--pid", str(os.getpid())],
                       stdout=subprocess.DEVNULL, timeout=60, check=False)
    assert log.read_text(encoding="utf-8").count(f'"/proc/{os.getpid()}/cmdline"') < 60


AUTHORS = PROGRAMS / "two_authors.c"


@contextlib.contextmanager
def authors_at_work(tmp_path, *flags):
    """A program that stalls, without frame pointers; its process."""
    program = tmp_path / "authors"
    subprocess.run(["cc", "-g", "-O2", "-fomit-frame-pointer", *flags, "-o", program, AUTHORS], check=True)
    with AnsweringPeer() as peer:
        with spawned([program, *peer.target, "100000"], stdout=subprocess.PIPE, text=False) as process:
            yield process


@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["dynamic", "static"])
def test_the_two_places_that_write_are_named(tmp_path, flags):
    need("exact")

    def looked(*words):
        """Until a place is named: on a busy machine two seconds may pass without a stall."""
        return scan_until_told(lambda seconds: unstall("scan", "--source", "exact", "--time", str(seconds),
                                                       "--pid", process.pid, *words),
                               lambda done: "send_body" in done.stdout).stdout

    with authors_at_work(tmp_path, *flags) as process:
        told = json.loads(looked("--json"))
        text = "" if flags else looked()
    place, = told["places"]
    assert (place["pid"], place["program"]) == (process.pid, "authors")
    pattern, = place["patterns"]
    row, = told["rows"]
    assert pattern["stalls"] == row["stalls"] and abs(pattern["stall_ns"] / 1e6 - row["lost_ms"]) < 1
    first, second = pattern["occurrences"][0]
    assert (first["bytes"], second["bytes"]) == (200, 100)
    assert (first["author"]["function"], second["author"]["function"]) == ("send_header", "send_body")
    assert [call["author"]["line"] for call in (first, second)] == [
        line_with(AUTHORS.name, f"LINE {mark} */") for mark in ("header", "body")]
    assert flags or re.search(r"Who wrote the pieces\n.*send_header.*send_body", text, re.DOTALL)


def test_without_the_kernels_types_and_on_an_old_kernel_one_sentence_says_so(tmp_path):
    need("exact")
    (tmp_path / "old.c").write_text("int old; void *f(void) { return &old; }\n", encoding="ascii")
    subprocess.run(["clang", "-g", "--target=bpf", "-c", "-o", "old.o", "old.c"], cwd=tmp_path, check=True)
    sections = run(["readelf", "-SW", tmp_path / "old.o"], bare_env()).stdout
    found = re.search(r"\.BTF +PROGBITS +\w+ (\w+) (\w+)", sections)
    offset, size = (int(word, 16) for word in found.groups())
    (tmp_path / "old.btf").write_bytes((tmp_path / "old.o").read_bytes()[offset:offset + size])
    types = "/sys/kernel/btf"
    for hide, reason in (
            (f"mount -t tmpfs none {types}",
             "the kernel does not describe its types (/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF)"),
            (f"mount --bind {tmp_path}/old.btf {types}/vmlinux",
             "the kernel has no tracepoint sock_send_length; Linux 6.3 has it")):
        done = run(["unshare", "-m", "sh", "-c", f'{hide} && exec "$@"', "sh", COMMAND, "scan", "--source",
                    "exact"], bare_env(), check=False)
        assert (done.returncode, done.stdout) == (125, "")
        assert done.stderr == f"unstall scan: --source exact: {reason}; --source sampled needs no privilege\n"


CONTAINER = "".join(f"{number:08x}" for number in (0xf00d, os.getpid(), *range(6)))


@pytest.fixture(name="group")
def cgroup_of_a_container():
    """With the name that docker gives one."""
    with cgroup(f"docker-{CONTAINER}.scope") as (folder, _):
        yield folder


@pytest.fixture(name="unit")
def cgroup_of_a_unit():
    """As systemd makes one."""
    with cgroup(f"unstall{os.getpid()}.slice/web{os.getpid()}.service") as (folder, _):
        yield folder


@pytest.mark.parametrize("wanted", ["path", "container"])
def test_the_processes_of_a_cgroup_or_container_can_be_asked_for(group, wanted):
    words = {"path": ["--cgroup", group], "container": ["--container", CONTAINER[:14]]}[wanted]
    with Actor("stall") as member, Actor("stall"):
        (group / "cgroup.procs").write_text(f"{member.pid}\n", encoding="ascii")
        told = json.loads(scan_until_told(lambda seconds: unstall(
            "scan", "--json", "--time", seconds, *words)).stdout)
    row, = told["rows"]
    assert row["process"]["pid"] == member.pid
    assert row["process"]["container"] == CONTAINER[:12] and row["process"]["unit"] == group.name[:63]


def test_a_unit_may_be_named_without_its_ending(unit):
    """`--cgroup NAME` and a part of the path looked at nothing and told that all is well."""
    name = unit.name.removesuffix(".service")
    with Actor("stall") as member:
        (unit / "cgroup.procs").write_text(f"{member.pid}\n", encoding="ascii")
        for words in (["scan", "--unit", name], ["scan", "--cgroup", name], ["scan", "--cgroup", unit.name],
                      ["scan", "--cgroup", f"{unit.parent.name}/{unit.name}"], ["observe", name],
                      ["observe", unit.name]):
            done = scan_until_told(lambda seconds, words=words: unstall(
                words[0], "--json", "--time", seconds, *words[1:]))
            assert [row["process"]["pid"] for row in json.loads(done.stdout)["rows"]] == [member.pid], words
        missed = unstall("scan", "--unit", f"{name}x", "--time", "600")
        assert missed.returncode == 125 and missed.stderr.endswith(f"; the nearest is {unit.name}\n")


@pytest.fixture(name="podman")
def podman_with_a_store_of_its_own(tmp_path):
    """The environment for it."""
    if os.geteuid() != 0 or not shutil.which("podman"):
        skip("only root may run such a container, and there must be podman")
    return podman_env(tmp_path)


def test_the_processes_of_a_container_of_podman_can_be_asked_for_by_its_name(peer, podman, tmp_path):
    root, name = tmp_path / "root", f"unstall-{os.getpid()}"
    root.mkdir()
    subprocess.run(["cc", "-O2", "-static", "-o", root / "authors", AUTHORS], check=True)
    without = Actor("stall", 3)
    try:
        done = run(["podman", "run", "--detach", "--name", name, "--network", "host", "--cgroup-parent",
                    f"/{name}", "--rootfs", root, "/authors", *peer.target, "1000"], podman, check=False)
        assert done.returncode == 0, done.stderr
        container = done.stdout.strip()
        told = scan_until_told(lambda seconds: run([COMMAND, "scan", "--json", "--time", str(seconds),
                                                    "--container", name], podman, check=False))
    finally:
        subprocess.run(["podman", "rm", "--force", "--time", "0", name], env=podman, capture_output=True,
                       check=False, timeout=60)
        remove_cgroups(name)
    without.exchanges()
    assert told.stderr == "" and told.returncode == 1
    row, = json.loads(told.stdout)["rows"]
    assert row["process"]["container"] == container[:12] and row["process"]["program"] == "authors"


@pytest.mark.parametrize("source", SOURCES)
def test_a_process_in_another_network_namespace_is_seen(source):
    need(source)
    need_root("may make a network namespace")
    words = f"ip link set lo up && exec /usr/bin/python3 -S {ACTOR} stall 60"
    with subprocess.Popen(["unshare", "-n", "sh", "-c", words], stdout=subprocess.PIPE, text=True) as actor:
        port = int(actor.stdout.readline().split()[1])
        done = scan_until_told(lambda seconds: unstall("scan", "--json", "--source", source,
                                                       "--time", seconds, "--pid", actor.pid))
        assert actor.poll() is None
        actor.kill()
    row, = json.loads(done.stdout)["rows"]
    assert row["endpoint"] == f"127.0.0.1:{port}" and row["receiver"]["pid"] == actor.pid


def test_a_connection_with_the_same_addresses_in_another_network_namespace_is_not_its_receiver():
    """The receiver was looked up by its addresses, also where ours are another connection."""
    need("exact")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(listener.getsockname()) as ours, listener.accept()[0]:
            words = (f"ip link set lo up && "
                     f"exec /usr/bin/python3 -S {ACTOR} stall 600 0 0 {port} {ours.getsockname()[1]}")
            with spawned(["unshare", "-n", "sh", "-c", words], stdout=subprocess.PIPE, text=False) as actor:
                assert actor.stdout.readline() == f"port {port}\n".encode()
                told = json.loads(scan_until_told(
                    lambda seconds: unstall("scan", "--json", "--source", "exact", "--time", seconds),
                    lambda done: row_of(json.loads(done.stdout), actor.pid)).stdout)
    row = row_of(told, actor.pid)
    assert row["endpoint"] == f"127.0.0.1:{port}"
    assert row["receiver"] is None and row["receiver_on_this_host"], "its address at both ends tells that"


RECEIVER = """
import socket
with socket.create_server(("10.77.0.2", 7000)) as listener:
    print("listens", flush=True)
    while True:
        with listener.accept()[0] as s:
            while s.recv(300, socket.MSG_WAITALL):
                s.sendall(b"r" * 200)
"""
# The kernel takes the congestion window of the route from what it remembers of an earlier connection.
SENDER = """
import socket
with socket.create_connection(("10.77.0.2", 7000)) as s:
    s.send(b"p" * 300)
    s.recv(200)
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
s = socket.create_connection(("10.77.0.2", 7000))
while True:
    s.send(b"p" * 200)
    s.send(b"p" * 100)
    s.recv(200)
"""


@contextlib.contextmanager
def far_apart(*route):
    """A sender that stalls and its receiver, in network namespaces of their own: their processes.  `route` is
    for ip-route(8) at the sender."""
    with contextlib.ExitStack() as stack:
        near, far = two_namespaces(stack, "10.77.0")
        subprocess.run(within(near, "ip", "route", "change", "10.77.0.0/24", "dev", "uns0",
                              *map(str, route)), check=True)
        receiver = started(stack, *within(far, "/usr/bin/python3", "-S", "-c", RECEIVER))
        assert receiver.stdout.readline() == "listens\n"
        yield started(stack, *within(near, "/usr/bin/python3", "-S", "-c", SENDER)), receiver


def scan_beside(process, *words, seconds=2):
    """A scan in the network namespace of this process."""
    return run(within(process, COMMAND, "scan", "--time", str(seconds), *words), bare_env(), check=False)


def test_a_receiver_in_another_network_namespace_is_elsewhere_and_there_exact_names_both():
    """A stall is seen at its sender.  The source sampled sees one network namespace, exact sees all."""
    need("exact")
    with far_apart() as (sender, receiver):
        both = json.loads(scan_beside(receiver, "--source", "exact", "--json").stdout)
        nothing = scan_beside(receiver, "--source", "sampled")
        at_sender = [scan_until_told(lambda seconds, source=source: scan_beside(
            sender, "--source", source, "--json", seconds=seconds)) for source in SOURCES]
    row = row_of(both, sender.pid)
    assert row["endpoint"] == "10.77.0.2:7000" and row["receiver"]["pid"] == receiver.pid
    assert nothing.returncode in (0, 2) and "A stall is seen at its sender only" in nothing.stdout
    for done in at_sender:
        row = row_of(json.loads(done.stdout), sender.pid)
        assert row["stalls"] and row["receiver"] is None and not row["receiver_on_this_host"]


def test_in_a_container_with_process_ids_of_its_own_the_right_process_is_named(tmp_path):
    """The BPF program has the ids of the host: the process that had this id in the container was named."""
    need("exact")

    def scan(seconds):
        port = tmp_path / f"port-{seconds}"
        script = (f"/usr/bin/python3 -S {ACTOR} stall 600 >{port} & echo $! && "
                  f"until [ -s {port} ]; do sleep 0.01; done && "
                  f"exec {COMMAND} scan --json --source exact --time {seconds}")
        return run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script], bare_env(),
                   check=False)

    def row_in(done):
        pid, report = done.stdout.split("\n", 1)
        return int(pid), row_of(json.loads(report), int(pid))

    pid, row = row_in(scan_until_told(scan, lambda done: row_in(done)[1]))
    assert "actor.py stall" in row["process"]["command"] and row["receiver"]["pid"] == pid


def test_root_in_a_container_is_not_told_to_become_root():
    """The processes outside have no name there, and not for want of rights."""
    need("exact")

    def scan(seconds):
        words = ["scan", "--source", "exact", "--time", str(seconds)]
        return run(["unshare", "--pid", "--fork", "--mount-proc", COMMAND, *words], bare_env(), check=False)

    with Actor("stall"):
        said = scan_until_told(scan).stdout
    assert "a process of user " in said and "Next: " in said
    assert "as root" not in said


def test_a_receiver_on_this_host_that_has_ended_is_not_elsewhere():
    """Of connections to 127.0.0.1 it said that their receiver is elsewhere."""
    need("exact")

    def attempt():
        with scanning("--source", "exact") as told:
            actors = [Actor("stall", 0.4) for _ in range(4)]
            for actor in actors:
                actor.exchanges()
            report = told()
        rows = [row_of(report, actor.pid) for actor in actors]
        assert any(rows)
        assert all(row["receiver_on_this_host"] for row in rows if row)
    patiently(attempt)  # a busy machine may be too slow for a stall in this time


def test_the_report_can_be_a_page(tmp_path):
    path = tmp_path / "page.html"
    with Actor("stall") as actor:
        done = scan_until_told(lambda seconds: unstall("scan", "--time", seconds, "--port", actor.port,
                                                       "--html", path))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    page = path.read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>") and f"({actor.pid})" in page
    assert f"unstall doctor {actor.pid}" in page and "of it python3" in page


@pytest.mark.parametrize("columns, headings", [
    (40, None), (60, None), (80, "sender endpoint stalls lost"),
    (100, "sender endpoint stalls a second lost each"),
    (140, "sender endpoint stalls a second lost each receiver"),
])
def test_the_report_fits_the_terminal(columns, headings):
    """The table had 108 columns and more, and words were wrapped for 80: the terminal broke each line again,
    in the midst of a word."""
    with Actor("stall") as actor, \
         Terminal(COMMAND, "scan", "--time", "3", "--port", actor.port, columns=columns,
                  lines=50) as terminal:
        lines = terminal.wait_for("^ended with 1$", 30).splitlines()
        whole = terminal.see("-J")  # a line that the terminal has broken is one
    if headings:
        (at,) = [n for n, line in enumerate(lines) if line.startswith("sender")]
        assert " ".join(lines[at].split()) == headings
        assert lines[at + 1].startswith("python3") and lines[at + 2] == ""
    for begin, end in ("Scanned", "\n\nsender"), ("Who wrote", "\n\nNext:"):
        if begin in whole:  # the source sampled names no places
            told = whole[whole.index(begin):whole.index(end)]
            assert max(map(len, told.splitlines())) <= columns, told


def test_the_unit_of_the_sender_has_a_heading(unit):
    """It stood behind the receiver in brackets, as if it were the receiver's."""
    with Actor("stall") as member:
        (unit / "cgroup.procs").write_text(f"{member.pid}\n", encoding="ascii")
        lines = scan_until_told(lambda seconds: unstall("scan", "--time", seconds, "--port", member.port)
                                ).stdout.splitlines()
    (at,) = [n for n, line in enumerate(lines) if line.startswith("sender")]
    begin = lines[at].index("unit or container")
    assert lines[at + 1][begin - 1:] == f" {unit.name}"


def test_the_share_of_the_worst_is_told_and_long_names_move_no_column(tmp_path):
    """A process with a quarter of the lost time had "most of it"."""
    long = tmp_path / "containerd-shim-runc-v2"
    shutil.copy(os.path.realpath("/usr/bin/python3"), long)
    with cgroup(f"unstall-{os.getpid()}") as (folder, _), contextlib.ExitStack() as stack:
        for python in ["/usr/bin/python3"] * 3 + [long]:
            member = stack.enter_context(Actor("stall", python=python))
            (folder / "cgroup.procs").write_text(f"{member.pid}\n", encoding="ascii")

        def attempt():
            told = unstall("scan", "--time", "1.5", "--cgroup", folder).stdout
            assert re.search(r",\s[0-9.]+\sm?s\sof\sit\sby\s(python3|containerd-shim-runc-v2)", told), told
            rows = [line for line in told.splitlines() if " to 127.0.0.1:" in line]
            assert len(rows) == 4 and len({line.index(" to 127") for line in rows}) == 1, told

        patiently(attempt)  # on a busy machine one of the four may take most of the time


def test_the_table_can_be_watched():
    with Actor("stall") as actor:
        done = scan_until_told(lambda seconds: unstall("scan", "--watch", "--time", seconds + 0.3,
                                                       "--port", actor.port))
    assert done.stdout.count("Scanned port") >= 2 and done.returncode == 1
    assert "\033[H" not in done.stdout  # no terminal


def test_without_privilege_it_tells_the_connection_and_its_user():
    need_root("may become another user")
    with Actor("stall") as actor, command_of_everybody() as command:
        done = scan_until_told(lambda seconds: run([command, "scan", "--json", "--time", seconds, "--port",
                                                    actor.port], bare_env(), check=False, **AS_NOBODY))
    assert done.returncode == 1 and done.stderr == ""
    told = json.loads(done.stdout)
    assert told["source"] == "sampled"
    assert re.search("CAP_BPF and CAP_PERFMON|this build has no BPF programs", told["not_exact"])
    row, = told["rows"]
    assert row["process"] is None and row["user"] == 0
    assert row["endpoint"] == f"127.0.0.1:{actor.port}"


def test_the_exact_source_is_refused_in_one_sentence_without_its_capabilities():
    need_root("can give up capabilities")
    done = run(["setpriv", "--bounding-set=-all", "--inh-caps=-all", COMMAND, "scan", "--source", "exact"],
               bare_env(), check=False)
    assert done.returncode == 125 and done.stdout == ""
    assert re.fullmatch(r"unstall scan: --source exact: "
                        r"(it needs CAP_BPF and CAP_PERFMON, for instance as root|"
                        r"this build has no BPF programs; .*); --source sampled needs no privilege\n",
                        done.stderr)


def test_a_terminal_is_told_at_once_what_goes_on():
    """It was silent for ten seconds."""
    with Terminal(COMMAND, "scan", "--time", "60") as terminal:
        terminal.wait_for("^unstall scan: looking at this host for 60 s; Ctrl-C ends it and reports$")
        terminal.type("C-c")
        terminal.wait_for("^ended with [012]$")
