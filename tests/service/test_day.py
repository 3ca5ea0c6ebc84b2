# SPDX-License-Identifier: MIT
"""A newcomer's day: the verbs one after the other, on servers of four kinds under a real systemd. What each
says is compared with what tcpdump, /proc and the servers' own logs say (witnesses.py), never with the
command's own JSON: no wrong name, no stall uncounted or counted twice.

scripts/day runs the whole; in a usual run there are two servers, and the longer verbs are left out.  The
cases are the hours of one day, in one container: each leaves the services as it found them.
"""

import contextlib
import os
import re
import shutil
import signal
import statistics
import sys
from pathlib import Path

import pytest
from container import UNSTALL, Container
from witnesses import CLIENT, LISTENS, Process, Server, lines_of, owner, process, processes, sockets, talk

from harness import BUILD_ROOT, SOURCE_ROOT, patiently, run, skip, wait_for, wait_until
from harness.capture import captured, read_packets

sys.path[:0] = [str(SOURCE_ROOT / "tests/cli"), str(SOURCE_ROOT / "tests/victims")]

from runner import small_server  # noqa: E402
from test_top import Terminal  # noqa: E402

WHOLE = os.environ.get("UNSTALL_TESTS_DAY") == "1"

JVM = ("-Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "
       "-Djava.util.logging.config.file=/opt/day/logging.properties")
APP = Server("app", 8301, "/usr/bin/python3 -S /opt/programs/web.py 8301 log", "/var/log/app.log", '"GET /')
WEB = Server("nginx", 8304, "", "/var/log/nginx/day.log", "POST 200", "post")
SHOP = Server("shop", 8302, f"/usr/bin/java {JVM} -cp /opt/day SmallServer 8302", "/var/log/shop.log",
              "GET / HTTP/1.1 [200")
GO = Server("gosrv", 8303, "/opt/day/web 8303", "/var/log/gosrv.log", " GET /")
SERVERS = [APP, WEB, SHOP, GO] if WHOLE else [APP, WEB]
PRELOADED = [server for server in SERVERS if server is not GO]
GUILTY = [server for server in SERVERS if server.ask == "get"]  # they stall themselves
COUNT = 40


def only_in_whole(case):
    """Else it is no case at all: a test that is skipped fails a merge."""
    return case if WHOLE else None


LIMIT_MS = 20  # half of a stall
DROPIN = "/etc/systemd/system/{}.service.d/50-unstall.conf"

NGINX = """user www-data;
worker_processes 2;
pid /run/nginx.pid;
events {}
http {
    log_format day '$request_method $status $request_time';
    access_log /var/log/nginx/day.log day;
    server { listen 127.0.0.1:8304; location / { proxy_pass http://unix:/run/back; } }
    server { listen unix:/run/back; access_log off; location / { return 200 ok; } }
}
"""
JAVA_LOGS = """handlers=java.util.logging.ConsoleHandler
java.util.logging.ConsoleHandler.level=ALL
com.sun.net.httpserver.level=ALL
"""


def go_server():
    binary = BUILD_ROOT / "test-bin/day-web"
    binary.parent.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "CGO_ENABLED": "0", "GO111MODULE": "off"}
    run(["go", "build", "-o", binary, Path(__file__).parent / "programs/web.go"], env, timeout=300)
    return binary


def start_servers(c):
    for name in ("/var/log/nginx", "/var/lib/nginx", "/opt/day"):
        c.path(name).mkdir(exist_ok=True)
    c.write("/etc/nginx/nginx.conf", NGINX)
    if WHOLE:
        c.copy(go_server(), "/opt/day/web")
        for file in small_server().iterdir():
            c.copy(file, f"/opt/day/{file.name}")
        for place in Path("/etc").glob("java-*-openjdk"):  # the JDK's own settings
            shutil.copytree(place, c.path(str(place)))
        c.write("/opt/day/logging.properties", JAVA_LOGS)
        for part in ("analysis", "pages"):
            shutil.copytree(SOURCE_ROOT / "src" / part, c.path(f"/opt/libexec/unstall/{part}"))
    for server in SERVERS:
        if server.start:
            c.unit(f"{server.unit}.service",
                   f"[Service]\nExecStart={server.start}\nStandardError=append:{server.log}\n")
    # systemd mounts this at the boot of a machine, but not in a container
    c.run("sh", "-c", "mount -o remount,rw /sys && mkdir /sys/fs/bpf && mount -t bpf bpf /sys/fs/bpf")
    c.systemctl("daemon-reload")
    c.systemctl("start", *(server.unit for server in SERVERS))
    talk(c, 5, *SERVERS)  # they are up, and warm


@pytest.fixture(name="c", scope="module")
def a_machine():
    if not Container.possible():
        skip("systemd-nspawn needs root")
    for command in ("nginx", "tcpdump", "tmux", "strace", *(("go", "javac") if WHOLE else ())):
        if not shutil.which(command):
            skip(f"{command} is missing; scripts/setup --test installs it")
    with Container() as c:
        start_servers(c)
        yield c


# ---- what the command says ---------------------------------------------------------

UNITS_MS = {"ns": 1e-6, "µs": 1e-3, "us": 1e-3, "ms": 1, "s": 1000}
TIME = r"[\d.]+ (?:ns|µs|us|ms|s)"


def ms(text):
    number, unit = text.split()
    return float(number) * UNITS_MS[unit]


def close(said_ms, seen_ms):
    """Not half, and not twice."""
    assert 2 / 3 < said_ms / seen_ms < 3 / 2, (said_ms, seen_ms)


def same_number(said, one):
    """Each stall, and none twice."""
    assert len(one.stalls) - one.doubtful <= int(said) <= len(one.stalls), (said, one.stalls, one.felt)


def on_one_line(text):
    return " ".join(text.split())


def rows_of(text, first="sender"):
    """The table that begins with this heading, as dictionaries."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(f"{first} "))
    names = re.split(r"\s{2,}", lines[begin].rstrip())
    end = lines.index("", begin) if "" in lines[begin:] else len(lines)
    return [dict(zip(names, re.split(r"\s{2,}", line.rstrip()))) for line in lines[begin + 1:end]]


def at_port(rows, port, column="endpoint"):
    return [row for row in rows if row.get(column, "").endswith(f":{port}")]


@contextlib.contextmanager
def terminal(c, columns, *words):
    inside = [*c.entered, "env", "TERM=screen", "LANG=C.UTF-8", UNSTALL, *map(str, words)]
    with Terminal(*inside, columns=columns, lines=50) as screen:
        yield screen


def in_sight(c):
    """Waits until the command that has just begun has its programs in the kernel, if it uses any."""
    def is_there():
        for pid in processes(c.leader):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/exe") == UNSTALL and any(
                        "bpf_link" in os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()):
                    return True
        return False
    return wait_until(is_there, 10)


def agrees(row, one, server):
    """A row of a scan with what was witnessed."""
    assert row["sender"] == str(one.sender)
    assert row["endpoint"] == server.endpoint
    same_number(row["stalls"], one)
    close(ms(row["lost"]), one.lost_ms)
    if "each" in row:
        close(ms(row["each"]), one.lost_ms / len(one.stalls))
    if "receiver" in row:
        assert row["receiver"] == str(one.receiver)
    if "unit or container" in row:
        assert row["unit or container"] == (f"{server.unit}.service" if server.ask == "get" else "-")


def interrupt(c):
    """Ctrl-C for each command of unstall that runs in the container."""
    for pid in processes(c.leader):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/exe") == UNSTALL:
                os.kill(pid, signal.SIGINT)


def processes_of(c, unit):
    """The ids on the host of the processes of a unit, from /proc."""
    for pid in processes(c.leader):
        with contextlib.suppress(OSError):
            if f"/{unit}.service" in Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8"):
                yield pid


def threads_of(pid):
    """The ids in the container of the threads of a process, which has its id on the host."""
    return {int(re.search(r"^NSpid:.*\t(\d+)$", (place / "status").read_text(encoding="utf-8"), re.M)[1])
            for place in Path(f"/proc/{pid}/task").iterdir()}


def loses(text):
    """What a report says of a program that stalls: (who, ms each, stalls, exchanges, where, ms in all).  A
    stall that the peer's end follows makes it count messages, of which the last has no answer."""
    found = re.search(rf"(\S+ \(pid \d+\)) loses ({TIME}) in (\d+) of (\d+) (?:exchanges|messages) (at|with) "
                      r"(\S+): it sends each \w+ in two small writes and Nagle holds the second\. "
                      rf"({TIME}) lost\.",
                      on_one_line(text))
    assert found, text
    who, each, stalls, exchanges, role, endpoint, lost = found.groups()
    return who.replace("pid ", ""), ms(each), int(stalls), int(exchanges), f"{role} {endpoint}", ms(lost)


def agrees_in_report(text, one, server):
    who, each, stalls, exchanges, where, lost = loses(text)
    assert who == str(one.sender) and where == server.endpoint.replace("to ", "with ")
    same_number(stalls, one)
    assert len(one.felt) - 1 <= exchanges <= len(one.felt)
    close(each, one.lost_ms / len(one.stalls))
    close(lost, one.lost_ms)


# ---- morning: do I have it? --------------------------------------------------------


def test_scan_of_the_host_names_each_program_that_stalls_once_and_counts_its_stalls(c):
    def attempt():
        with terminal(c, 80, "scan", "--time", "60") as screen:
            screen.wait_for("^unstall scan: looking at this host for 60 s; Ctrl-C ends it and reports$")
            in_sight(c)
            seen = talk(c, COUNT, *SERVERS)
            interrupt(c)  # C-c would end nsenter too
            said = screen.wait_for(r"^ended with \d+$")
        assert said.rstrip().endswith("ended with 1"), said
        rows = rows_of(said)
        for server in SERVERS:
            one = seen[server.port]
            assert len(one.stalls) > COUNT / 2 and one.backward == 0
            if not at_port(rows, server.port) and "more (--json" in said:
                continue  # others of this machine stall more
            (row,) = at_port(rows, server.port)
            agrees(row, one, server)
    patiently(attempt, tries=3)  # a busy machine stops a program between two writes


@pytest.mark.parametrize("server", GUILTY, ids=lambda server: server.unit)
def test_scan_of_a_unit_tells_its_stalls_and_no_others(c, server):
    def attempt():
        # Output that is no terminal has all columns.
        with open(c.path("/root/scan"), "w", encoding="utf-8") as file:
            scan = c.popen(UNSTALL, "scan", "--time", "60", "--unit", server.unit, stdout=file)
        in_sight(c)
        seen = talk(c, COUNT, *SERVERS)
        interrupt(c)
        assert scan.wait(20) == 1
        said = c.path("/root/scan").read_text(encoding="utf-8")
        one = seen[server.port]
        (row,) = rows_of(said)
        assert {"a second", "each", "receiver", "unit or container"} <= set(row)
        agrees(row, one, server)
        headline = re.search(rf"(\d+) stalls of ({TIME}) cost ({TIME}) in ({TIME}), all of it (\S+ \(\d+\)) "
                             r"at 127\.0\.0\.1:(\d+)\.", on_one_line(said))
        assert headline.group(1, 5, 6) == (row["stalls"], str(one.sender), str(server.port))
        close(ms(headline[2]), one.lost_ms / len(one.stalls))
        close(ms(headline[3]), one.lost_ms)
        assert re.search(r"^Next: unstall doctor (\d+)$", said, re.M)[1] == str(one.sender.pid)
    patiently(attempt, tries=3)


@only_in_whole
def test_the_intervals_of_a_sampled_scan_hold_the_number_of_the_stalls(c):
    def attempt():
        with open(c.path("/root/scan"), "w", encoding="utf-8") as file:
            scan = c.popen(UNSTALL, "scan", "--time", "60", "--source", "sampled", stdout=file)
        seen = talk(c, 2 * COUNT, *SERVERS)
        interrupt(c)
        assert scan.wait(20) == 1
        rows = rows_of(c.path("/root/scan").read_text(encoding="utf-8"))
        assert {row["sender"] for row in rows} == {str(seen[server.port].sender) for server in SERVERS}
        for server in SERVERS:
            one, (row,) = seen[server.port], at_port(rows, server.port)
            _, least, most = map(int, re.fullmatch(r"(\d+) \((\d+)[–-](\d+)\)", row["stalls"]).groups())
            assert 0.9 * least <= len(one.stalls) <= 1.1 * most
            close(ms(row["lost"]), one.lost_ms)
    patiently(attempt, tries=3)


@pytest.mark.parametrize("server", GUILTY, ids=lambda server: server.unit)
def test_observe_of_a_running_server_counts_its_stalls(c, server):
    def attempt():
        with terminal(c, 80, "observe", "--time", "60", c.main_pid(server.unit)) as screen:
            in_sight(c)
            seen = talk(c, COUNT, *SERVERS)
            interrupt(c)  # C-c would end nsenter too
            said = screen.wait_for(r"^ended with \d+$")
        assert said.rstrip().endswith("ended with 1"), said
        (row,) = rows_of(said)
        agrees(row, seen[server.port], server)
    patiently(attempt, tries=3)


def test_observe_of_a_program_counts_its_stalls(c):
    def attempt():
        observed = (UNSTALL, "observe", "--report", "/root/observed", "--", *CLIENT)
        seen = talk(c, COUNT, WEB, client=observed)
        agrees_in_report(c.path("/root/observed").read_text(encoding="utf-8"), seen[WEB.port], WEB)
    patiently(attempt, tries=3)


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.unit)
def test_doctor_knows_a_process_as_proc_does(c, server):
    (pid,) = (pid for pid in processes_of(c, server.unit) if process(pid).pid == c.main_pid(server.unit))
    one, path = process(pid), os.readlink(f"/proc/{pid}/exe")
    done = c.unstall("doctor", one.pid, check=False)
    said = on_one_line(done.stdout)
    works = server is not GO
    assert done.returncode == (0 if works else 1)
    assert said.startswith(f"{one.pid} ({one.name}): " + (
        "runs without the library; a preload works" if works else "a preload cannot work here"))
    assert f"program {path}, x86-64, {'dynamically' if works else 'statically'} linked" in said
    assert f" service {server.unit}.service " in said
    own = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()}
    count = sum(f"socket:[{inode}]" in own for *_, inode in sockets(c.leader))
    assert f" {count} TCP socket{'' if count == 1 else 's'}: " in said
    assert (f"unstall enable --restart {server.unit}.service" in said) is works
    assert ("it is written in Go" in said) is (server is GO)


# ---- what a capture and a log of strace tell ---------------------------------------


def test_explain_of_a_capture_tells_each_stall_of_the_wire(c):
    seen = talk(c, COUNT, *SERVERS, copy=c.path("/root/day.pcap"))
    done = c.unstall("explain", "/root/day.pcap", check=False)
    assert done.returncode == 1
    rows = re.findall(rf"^(\S+) +(its clients|\S+) +(\d+) +(\d+) +({TIME}) +({TIME})$", done.stdout, re.M)
    told = {int((to if server == "127.0.0.1" else server).rpartition(":")[2]):
            (to != "its clients", int(stalls), int(messages), ms(lost))
            for server, to, stalls, messages, _, lost in rows}
    assert len(rows) == len(told) == len(SERVERS)
    for server in SERVERS:
        one = seen[server.port]
        assert told[server.port][:3] == (server.ask == "post", len(one.stalls), COUNT)
        close(told[server.port][3], one.lost_ms)
    count = sum(len(one.stalls) for one in seen.values())
    assert re.search(rf"^{count} stalls of mostly ", done.stdout, re.M)
    first, ack, rest = (read_packets(c.path("/root/day.pcap"))[int(number) - 1] for number in re.search(
        r"packets (\d+), (\d+) and (\d+):$", done.stdout, re.M).groups())
    assert (first.source, first.target) == (rest.source, rest.target) == (ack.target, ack.source)
    assert ack.payload == 0 and first.payload and rest.payload
    close(ms(re.search(rf" ({TIME}) later: the peer's bare acknowledgement", done.stdout)[1]),
          (rest.when - first.when) / 1e6)


@pytest.mark.parametrize("server", [server for server in GUILTY if server is not GO],
                         ids=lambda server: server.unit)
def test_explain_of_a_log_of_strace_names_the_process(c, server):
    def attempt():
        (pid,) = (pid for pid in processes_of(c, server.unit) if process(pid).pid == c.main_pid(server.unit))
        log = f"/root/{server.unit}.strace"
        strace = c.popen("strace", "-f", "-tt", "-T", "-yy", "-o", log, "-p", process(pid).pid)
        assert wait_until(lambda: "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text("utf-8"))
        seen = talk(c, COUNT, server)[server.port]
        for tracer in processes(c.leader):
            if process(tracer).name == "strace":
                os.kill(tracer, signal.SIGINT)
        strace.wait(20)
        done = c.unstall("explain", log, check=False)
        said = re.search(rf"Likely (\d+) stalls of ({TIME}) cost {TIME}: (process|thread) (\d+)(?:'s process)"
                         rf"? writes its answers on \S+:{server.port} in pieces\.", on_one_line(done.stdout))
        assert done.returncode == 1 and said, done.stdout
        # The log has the ids of threads: strace tells which process one belongs to only if it sees it made.
        assert int(said[4]) in (threads_of(pid) if said[3] == "thread" else {seen.sender.pid})
        assert len(seen.stalls) / 2 <= int(said[1]) <= len(seen.stalls)  # likely ones
        close(ms(said[2]), seen.lost_ms / len(seen.stalls))
    patiently(attempt, tries=3)


# ---- noon: the cure ----------------------------------------------------------------


def nothing_of_it(c, *servers):
    """No file, no folder, no process with the library, and systemd knows of no drop-in."""
    for server in servers:
        assert not c.path(DROPIN.format(server.unit)).parent.exists()
        shown = c.systemctl("show", "-p", "DropInPaths", "-p", "Environment", server.unit).stdout
        assert "unstall" not in shown
        assert not any(loaded(pid) for pid in processes_of(c, server.unit))
        assert c.run("ls", f"/run/unstall/{server.unit}", check=False).returncode != 0


def loaded(pid):
    return "libunstall" in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")


@contextlib.contextmanager
def enabled(c, *servers, mode="auto"):
    """These services with the library and statistics; as before afterwards."""
    for server in servers:
        said = c.unstall("enable", "--stats", "--restart", "--mode", mode, server.unit).stdout
        assert f"enabled for {server.unit}.service, and restarted where it ran\n" in said
    try:
        for server in servers:
            wait_for(lambda server=server: listens(c, server.port))
        yield
    finally:
        for server in servers:
            said = c.unstall("disable", "--restart", server.unit).stdout
            assert f"removed {DROPIN.format(server.unit)}" in said
        nothing_of_it(c, *servers)
        for server in servers:
            wait_for(lambda server=server: listens(c, server.port))


def listens(c, port):
    """The inode of the socket that listens there, or None."""
    return next((inode for ours, _, state, inode in sockets(c.leader)
                 if (ours, state) == (port, LISTENS)), None)


def status_of(c, server):
    """What status says, its lines by their first words."""
    done = c.unstall("status", server.unit, check=False)
    lines = {}
    for line in done.stdout.splitlines()[1:]:
        name = line[:13].strip() or name
        lines[name] = f"{lines.get(name, '')} {line[13:].strip()}".strip()
    assert done.stdout.startswith(f"{server.unit}.service\n")
    return done.returncode, lines


def test_the_machine_is_as_before(c):
    assert on_one_line(c.unstall("status").stdout).startswith("nothing is cured here by unstall: ")
    nothing_of_it(c, *PRELOADED)


def observed(c, server, one):
    """What status and report say of an enabled service in mode observe."""
    code, status = status_of(c, server)
    pids = list(processes_of(c, server.unit))
    assert all(map(loaded, pids)) and code == 0
    assert status["drop-in"].startswith(DROPIN.format(server.unit)) and status["mode"] == "observe"
    plural = "process" if len(pids) == 1 else "processes"
    assert status["runs"].endswith(f"the library is loaded in {len(pids)} of {len(pids)} {plural}")
    report = c.unstall("report", server.unit, check=False)
    assert report.returncode == 1
    if server.ask == "get":
        agrees_in_report(report.stdout, one, server)
        agrees_in_report(status["stalls"], one, server)
        assert status["seen"].endswith(f" exchanges, {loses(report.stdout)[2]} stalls")
        return
    for said in (on_one_line(report.stdout), status["stalls"]):
        told = re.search(rf"The peer stalls: from the clients of 127\.0\.0\.1:{server.port} the rest of (\d+)"
                         rf" messages came a delayed acknowledgement late, ({TIME}) each", said)
        # it sees no packet, and tells those only that are surely late
        assert len(one.stalls) / 2 <= int(told[1]) <= len(one.stalls)
        close(ms(told[2]), one.lost_ms / len(one.stalls))


def test_enabled_services_report_their_stalls_and_lose_them_when_they_are_cured(c):
    def attempt():
        with enabled(c, *PRELOADED, mode="observe"):
            seen = talk(c, COUNT, *SERVERS)
            for server in PRELOADED:
                observed(c, server, seen[server.port])
            c.unstall("set", APP.unit, "auto")
            cured = talk(c, COUNT, *SERVERS)
            _, status = status_of(c, APP)
        assert not cured[APP.port].stalls and len(cured[WEB.port].stalls) > COUNT / 2
        assert status["now"] == "mode auto"
        # So many had stalled as it was: the first exchange of a connection does not.
        would_have = re.search(rf"Cured: up to (\d+) messages at 127\.0\.0\.1:{APP.port} would have stalled",
                               status["stalls"])
        assert COUNT - 1 - cured[APP.port].doubtful <= int(would_have[1]) <= COUNT - 1
    patiently(attempt, tries=3)


def test_exchanges_that_never_stall_are_not_told_as_cured(c):
    """The first exchange of a connection does not stall; status said that each would have."""
    bare = [talk(c, 1, APP)[APP.port] for _ in range(3)]
    assert not any(one.stalls for one in bare)
    with enabled(c, APP):
        for _ in range(3):
            talk(c, 1, APP)
        assert "would have stalled" not in status_of(c, APP)[1]["stalls"]
        assert "would have stalled" not in on_one_line(c.unstall("report", APP.unit, check=False).stdout)


def test_a_client_that_is_run_by_unstall_does_not_stall(c):
    seen = talk(c, COUNT, WEB, client=(UNSTALL, "run", "--", *CLIENT))[WEB.port]
    assert seen.stalls == [] and seen.backward == 0
    nothing_of_it(c, WEB)


@only_in_whole
def test_a_server_that_no_preload_reaches_is_refused_run_and_attached(c):
    done = c.unstall("enable", "--stats", "--restart", GO.unit, check=False)
    assert done.returncode == 125 and "it is written in Go" in done.stderr
    nothing_of_it(c, GO)

    again = Server("again", 8313, "", GO.log, GO.line)
    c.unit("again.service", f"[Service]\nExecStart={UNSTALL} run -- /opt/day/web 8313\n"
           f"StandardError=append:{GO.log}\n")
    c.systemctl("daemon-reload")
    c.systemctl("start", "again")
    wait_for(lambda: listens(c, again.port))
    is_cured = talk(c, COUNT, again)[again.port].stalls == []
    web = owner(c.leader, listens(c, again.port))
    said = re.search(r"web \(pid (\d+)\) run under the seccomp supervisor \(process (\d+)\), since \S+ \S+"
                     r" UTC; TCP_NODELAY on each connection(, but those on which the program sets it)?",
                     on_one_line(c.unstall("status").stdout))
    assert int(said[1]) == web.pid
    assert Process("unstall", int(said[2])) in map(process, processes_of(c, "again"))
    # A filter of systemd-nspawn may blind the supervisor: then all say so.
    told = c.path(GO.log).read_text(encoding="utf-8")
    assert (said[3] is None) == is_cured == ("forbids the supervisor to look at sockets" not in told)
    assert c.unstall("doctor", web.pid, check=False).returncode == (0 if is_cured else 1)
    c.systemctl("stop", "again")

    c.unstall("attach", "--detach", "--unit", GO.unit)
    seen = talk(c, COUNT, GO)[GO.port]
    assert len(seen.stalls) <= 2  # a connection is cured once a stall of it is proved
    assert re.search(rf"unit {GO.unit}.service\n +attached since .*; 1 connection cured\n",
                     c.unstall("status").stdout)
    c.unstall("detach", "--unit", GO.unit)
    assert len(talk(c, COUNT, GO)[GO.port].stalls) > COUNT / 2
    assert c.run("sh", "-c", "ls /sys/fs/bpf/unstall 2>/dev/null", check=False).stdout == ""


# ---- afternoon: watching and proving -----------------------------------------------


@only_in_whole
@pytest.mark.parametrize("columns", [80, 60])
def test_top_shows_the_stalls_of_each_second(c, columns):
    def attempt():
        with enabled(c, APP, mode="observe"), terminal(c, columns, "top", APP.unit) as screen:
            screen.wait_for("^ *PID PROGRAM")
            shown = []

            def look():
                for row in re.findall(rf"^ *(\d+) (\S+) +at 127\.0\.0\.1:{APP.port} (.*)$", screen.see(),
                                      re.M):
                    shown.append((Process(row[1], int(row[0])), row[2].split()))
            seen = talk(c, 4 * COUNT, APP, meanwhile=look)[APP.port]
            screen.type("q")
            screen.wait_for("^ended with 0$")
        rates = [float(words[-2]) for who, words in shown if float(words[-2])]
        assert {who for who, _ in shown} == {seen.sender}
        close(statistics.median(rates), 1000 * len(seen.stalls) / sum(seen.felt))
    patiently(attempt, tries=3)


@only_in_whole
def test_ab_tells_what_the_client_felt_and_nginx_logged(c):
    before = lines_of(c, WEB)
    with captured(WEB.port, within=["nsenter", "--target", str(c.leader), "--net"]) as capture:
        done = c.run(UNSTALL, "ab", "--quiet", "--arms", "off,auto", "--rounds", "12", "--warmup", "0", "--",
                     *CLIENT, WEB.port, 10, "post", 20, check=False, timeout=120)
    rows = {words[0]: words[1:] for words in map(str.split, done.stdout.splitlines()) if len(words) == 9}
    stalls = capture.stalls(sender=(0, WEB.port))
    exchanges, slow, off_ms, auto_ms = (int(rows["off"][4]), int(rows["off"][5]), float(rows["off"][1]),
                                        float(rows["auto"][1]))
    wins = re.search(rf"^auto wins: ({TIME}) -> ({TIME})\. ", done.stdout, re.M)
    assert done.returncode == 0 and lines_of(c, WEB) - before == 2 * exchanges == 2 * 12 * 20
    assert 0.9 * len(stalls) <= slow <= 1.1 * len(stalls)
    close(off_ms, statistics.median(stalls) / 1e6)
    assert auto_ms < 5 and wins and ms(wins[1]) > LIMIT_MS > ms(wins[2])
