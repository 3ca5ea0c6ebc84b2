# SPDX-License-Identifier: MIT
"""unstall doctor: its advice on a preload for a program or a process, and on other cures."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
import specimens
from specimens import script
from talkers import started_talker

from harness import (AS_NOBODY, COMMAND, LIB, NOBODY, bare_env, cgroup, command_of_everybody, compile_c,
                     need_namespaces, need_root, on_terminal, run, spawned, unstall, wait_for)

ELSEWHERE = ("cure from the other side: ", "on the receiving host, for all programs: ",
             "to see which processes of this host stall: unstall scan")


def told(word, code=0, **popen):
    """The output of `unstall doctor --json WORD`."""
    done = unstall("doctor", "--json", word, **popen)
    assert (done.returncode, done.stderr) == (code, "")
    return json.loads(done.stdout)


def kinds(said):
    return [obstacle["kind"] for obstacle in said["obstacles"] if obstacle["forbids"]]


# ---- programs --------------------------------------------------------------

@pytest.mark.parametrize("specimen, libc", [(specimens.plain, "glibc"), (specimens.musl, "musl")])
def test_a_program_that_a_preload_works_in(specimen, libc, tmp_path):
    binary = specimen(tmp_path)
    said = told(binary)
    assert said["works"] is True and said["verdict"] == "a preload works here"
    assert said["library"] == str(LIB)
    assert said["obstacles"] == [] and said["remarks"] == []
    assert said["file"]["path"] == str(binary) and said["file"]["libc"] == libc
    assert said["advice"][0] == f"cure: unstall run -- {binary}"
    assert "as a service: unstall enable SERVICE" in said["advice"]


SUPERVISED = "cure: unstall run -- {}: under a seccomp supervisor"
IF_ASKED = "cure: unstall run --how seccomp -- {}: under a seccomp supervisor"

# specimen -> its obstacles, and the begin of the first advice
FORBIDDEN = {
    specimens.static: (["static"], SUPERVISED),
    specimens.static_pie: (["static"], SUPERVISED),
    specimens.go_by_note: (["go"], SUPERVISED),
    specimens.go_by_section: (["go"], SUPERVISED),
    specimens.other_machine: (["machine"], "build the library for "),
    specimens.of_32_bits: (["machine"], "build the library for 32-bit x86 "),
    specimens.of_another_libc: (["libc"], IF_ASKED),
    specimens.without_its_linker: (["no-linker"], "install the libc that it was made for"),
    specimens.setuid: (["privileges"], "start it as nobody already "),
    specimens.setgid: (["privileges"], "start it as nogroup already "),
    specimens.sanitized: (["sanitizer"], IF_ASKED),
}


@pytest.mark.parametrize("specimen", FORBIDDEN, ids=lambda specimen: specimen.__name__)
def test_a_program_that_a_preload_cannot_work_in(specimen, tmp_path):
    binary = specimen(tmp_path)
    expected, first = FORBIDDEN[specimen]
    said = told(binary, code=1)
    assert said["works"] is False and said["verdict"] == "a preload cannot work here"
    if specimen is not specimens.of_32_bits:  # its linker may be there or not
        assert kinds(said) == expected
    assert set(expected) <= set(kinds(said))
    assert said["advice"][0].startswith(first.format(binary))
    for obstacle in said["obstacles"]:  # what the first advice says is not said again
        assert (obstacle["instead"] in said["advice"]) is (obstacle["kind"] not in ("go", "static"))
    for begin in ELSEWHERE:
        assert any(way.startswith(begin) for way in said["advice"])
    assert len(set(said["advice"])) == len(said["advice"])


def test_a_script_is_judged_by_what_runs_it(tmp_path):
    path = script(tmp_path, "tool", "#!/usr/bin/env perl\n")
    said = told(path)
    assert said["file"]["script"] == str(path)
    assert Path(said["file"]["path"]).name == "perl"


def test_what_may_not_be_read_is_a_remark(tmp_path):
    need_root(specimens.SETUID)
    binary = specimens.copy(tmp_path, "secret")
    binary.chmod(0o711)
    with command_of_everybody(LIB, binary) as command:
        words = [command, "doctor", "--json", command.parent / "secret"]
        said = json.loads(run(words, bare_env(), check=False, **AS_NOBODY).stdout)
        assert said["works"] is True
        assert said["remarks"] == ["it may be run but not read, so nothing is known about it: "
                                   "ask as a user who may read it"]


def test_without_an_installed_library_it_says_what_to_do_first(tmp_path):
    copy = shutil.copy(COMMAND, tmp_path / "unstall")
    said = json.loads(run([copy, "doctor", "--json", "/bin/true"], bare_env()).stdout)
    if said["library"] is None:
        assert said["works"] is True
        assert "first install libunstall.so: meson install" in said["advice"]


# ---- processes -------------------------------------------------------------

def test_a_process_with_the_library():
    with started_talker("--mode", "cork") as talker:
        talker.talk()
        said = told(talker.pid)
        process = said["process"]
        assert said["works"] is True and said["verdict"] == "the library is loaded"
        assert process["library"] == str(LIB) and process["mode"] == "cork"
        assert process["stats_file"] is None
        assert process["program"] == os.readlink(f"/proc/{talker.pid}/exe")
        assert process["user"] == os.geteuid()
        assert (process["secure"], process["own_files"]) == (False, False)
        assert said["advice"][0] == f"see whether it still stalls: unstall observe {talker.pid}"


def test_a_process_with_statistics_tells_the_mode_in_force(folder):
    with started_talker("--mode", "cork", "--stats", folder) as talker:
        talker.talk()
        unstall("set", talker.pid, "nodelay", "--wait", "0", check=True)
        talker.talk()
        said = told(talker.pid)
        stats_file, = folder.glob("*.unstall")
        assert (said["process"]["mode"], said["process"]["stats_file"]) == ("nodelay", str(stats_file))
        words = unstall("doctor", talker.pid, check=True).stdout.split()
        assert words[words.index("statistics") + 1] == str(stats_file)  # they were printed without a space
        assert said["advice"][0].startswith(f"see what it does: unstall report {talker.pid}, ")
        assert (f"turn it off: unstall set {talker.pid} off; on again: unstall set {talker.pid} nodelay"
                in said["advice"])  # "started": cork, or observe
        for mode in ("off", "observe"):
            unstall("set", talker.pid, mode, "--wait", "0", check=True)
            talker.talk()
            advice = told(talker.pid)["advice"]
            assert f"cure it as it runs: unstall set {talker.pid} auto" in advice  # "turn it off"


def test_a_process_without_the_library_and_its_sockets():
    with started_talker(bare=True) as talker:
        talker.talk()
        said = told(talker.pid)
        assert said["verdict"] == "runs without the library; a preload works if it is restarted"
        assert said["advice"][0] == f"cure it without a restart: unstall attach {talker.pid}"
        assert f"look first: unstall observe {talker.pid}" in said["advice"]
        assert f"measure what the cure gains: unstall ab --live {talker.pid}" in said["advice"]
        assert said["process"]["library"] is None and said["process"]["mode"] is None
        connection, = said["process"]["sockets"]
        assert connection["state"] == "established"
        assert connection["local"].startswith("127.0.0.1:") and connection["peer"].startswith("127.0.0.1:")
        assert (connection["nodelay"], connection["cork"]) == (False, False)


SOCKETS = """
import socket, sys
listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
client = socket.create_connection(listener.getsockname()[:2])
server, _ = listener.accept()
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
other = socket.socket(socket.AF_UNIX)
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(listener.fileno(), client.fileno(), server.fileno(), listener.getsockname()[1], flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def waiting(*words, **popen):
    """A process that says one line and waits for the end of its input."""
    with spawned(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **popen) as child:
        yield child.pid, child.stdout.readline().split()


def test_sockets_of_each_kind():
    with waiting("/usr/bin/python3", "-S", "-c", SOCKETS) as (pid, line):
        listener, client, server, port = map(int, line)
        sockets = {entry["fd"]: entry for entry in told(pid)["process"]["sockets"]}
        assert set(sockets) == {listener, client, server}
        assert sockets[listener]["state"] == "listening" and sockets[listener]["peer"] is None
        assert sockets[listener]["local"] == f"[::1]:{port}"
        assert sockets[client]["peer"] == f"[::1]:{port}"
        assert (sockets[client]["nodelay"], sockets[server]["nodelay"]) == (True, False)
        assert (sockets[client]["cork"], sockets[server]["cork"]) == (False, True)
        text = unstall("doctor", pid, check=True).stdout
        for number, word in ((listener, "-"), (client, "off"), (server, "corked")):
            line, = [line for line in text.splitlines()
                     if line.startswith("  ") and line.split()[0] == str(number)]
            assert line.split()[-1] == word and len(line) <= 80


def test_a_program_has_the_name_by_which_it_was_started(tmp_path):
    """Of Debian's redis-server, a link, `doctor` advised to start redis-check-rdb, and `scan` named that."""
    for file, link, name in (("check-rdb", "server", "server"), ("shell3.11", "shell3", "shell3.11")):
        shutil.copy("/bin/cat", tmp_path / file)
        (tmp_path / link).symlink_to(file)
        with waiting("sh", "-c", 'echo; exec "$0"', tmp_path / link) as (pid, _):
            wait_for(lambda pid=pid, link=link: Path(f"/proc/{pid}/comm").read_text("ascii") == f"{link}\n")
            assert told(pid)["process"]["program"] == str(tmp_path / name)


def test_the_command_to_type_has_the_arguments():
    """It named the program alone: `unstall run -- /usr/bin/python3.11`."""
    script = "import sys; print(1, flush=True); sys.stdin.read()"
    with waiting("/usr/bin/python3", "-S", "-c", script, "it's") as (pid, _):
        ways = told(pid)["advice"]
    words = f"/usr/bin/python3 -S -c '{script}' 'it'\\''s'"
    assert f"cure it from its next start on: unstall run -- {words}" in ways
    with waiting("bash", "-c", "exec -a 'title of it' sh -c 'echo 1; read line'") as (pid, _):
        way, = [way for way in told(pid)["advice"] if "next start" in way]
    assert re.search(r": unstall run -- /\S+ \.\.\.$", way)  # its arguments are not to be known


def test_looking_changes_nothing():
    with started_talker(bare=True) as talker:
        talker.talk()
        before = sorted(os.listdir(f"/proc/{talker.pid}/fd"))
        told(talker.pid)
        assert sorted(os.listdir(f"/proc/{talker.pid}/fd")) == before
        assert talker.stalls()


WAITS = Path(__file__).parent / "programs/waits.c"
CAT = ("/bin/sh", "-c", "echo there; cat")


RING = "it uses io_uring, and the library does not see writes by it: use unstall run --how seccomp"


def test_a_process_that_a_preload_cannot_work_in():
    with waiting(compile_c(WAITS, "-static")) as (pid, _):
        ways = told(pid, code=1)["advice"]
        assert ways[0] == f"cure it without a restart: unstall attach {pid}"
        assert ways[1].startswith("cure it from its next start on: unstall run -- ")
        assert not any(way.startswith("unstall run cures it") for way in ways)  # it was said twice


def test_a_ring_without_the_library_of_rings():
    """Only a program that links liburing.so was recognised, not one that has liburing's code in itself."""
    program = compile_c(WAITS, "-DRING")
    assert told(program)["obstacles"] == []
    with waiting(program) as (pid, _):
        said = told(pid)
        assert [obstacle["kind"] for obstacle in said["obstacles"]] == ["io-uring"]
        assert said["remarks"][0].startswith(RING)
        assert said["advice"][0] == f"cure it without a restart: unstall attach {pid}"


def test_a_process_of_a_service():
    unit = f"unstall-doctor-{os.getpid()}.service"
    with cgroup(unit) as (_, enter):
        with waiting(*CAT, preexec_fn=enter) as (pid, _):
            ways = told(pid)["advice"]
            assert ways[:2] == [f"cure: unstall enable --restart {unit}",
                                f"cure it without a restart: unstall attach --unit {unit}"]
            assert f"measure what the cure gains: unstall ab --live --unit {unit}" in ways
        with waiting(compile_c(WAITS, "-static"), preexec_fn=enter) as (pid, _):
            ways = told(pid, code=1)["advice"]
            assert ways[0] == f"cure it without a restart: unstall attach --unit {unit}"
            assert ways[1].startswith("cure it from its next start on: ExecStart=unstall run -- ")


# A place where the unit $1 is transient; the command $2 tells of the process $3 there.
TRANSIENT = """mount -t tmpfs none /run && mkdir -p /run/systemd/transient &&
    : >"/run/systemd/transient/$1" && exec "$2" doctor --json "$3"
"""


def test_a_process_of_a_transient_service_is_started_again_by_its_command():
    """At its next start there is no unit any more: of a static program it was advised to change its
    ExecStart=."""
    unit = f"unstall-doctor-{os.getpid()}.service"
    with cgroup(unit) as (_, enter):
        for program in (CAT, [compile_c(WAITS, "-static")]):
            with waiting(*program, preexec_fn=enter) as (pid, _):
                words = ["unshare", "-m", "sh", "-c", TRANSIENT, "sh", unit, COMMAND, str(pid)]
                done = run(words, bare_env(), check=False)
                assert done.stderr == ""
                ways = json.loads(done.stdout)["advice"]
                assert ways[0] == f"cure it without a restart: unstall attach --unit {unit}"
                assert ways[1].startswith("cure it from its next start on: unstall run -- ")


def test_a_library_that_was_asked_for_and_is_not_loaded():
    with waiting(*CAT, env=bare_env(LD_PRELOAD="/nonexistent/libunstall.so"),
                 stderr=subprocess.DEVNULL) as (pid, _):
        said = told(pid)
        assert said["process"]["library"] is None
        assert said["remarks"] == ["LD_PRELOAD named libunstall.so at its start, but the library is not "
                                   "loaded: "
                                   "ld.so wrote the reason to its stderr"]


def test_a_library_that_was_replaced_since(tmp_path):
    copy = shutil.copy(LIB, tmp_path / "libunstall.so")
    with waiting(*CAT, env=bare_env(LD_PRELOAD=copy)) as (pid, _):
        (tmp_path / "libunstall.so").unlink()
        said = told(pid)
        assert said["process"]["library_replaced"] is True
        assert "has been replaced since its start" in said["remarks"][0]


def test_a_process_of_rights_gained(tmp_path):
    need_root(specimens.SETUID)
    binary = tmp_path / "cat"
    shutil.copy("/bin/cat", binary)
    os.chown(binary, NOBODY, 0)
    binary.chmod(0o4755)
    with waiting("/bin/sh", "-c", f"echo there; exec {binary}", env=bare_env(LD_PRELOAD=LIB)) as (pid, _):
        wait_for(lambda: os.readlink(f"/proc/{pid}/exe") == str(binary))
        said = told(pid, code=1)
        assert said["process"]["secure"] is True
        assert "AT_SECURE" in said["remarks"][0]
        assert said["advice"][0] == f"cure it without a restart: unstall attach {pid}"
        assert any("AmbientCapabilities=" in way for way in said["advice"])


def test_rights_are_told():
    with waiting("setpriv", "--no-new-privs", *CAT) as (pid, _):
        assert told(pid)["process"]["no_new_privs"] is True
    with waiting(*CAT) as (pid, _):
        assert told(pid)["process"]["no_new_privs"] is False


def test_a_container_is_told(tmp_path):
    need_namespaces("--mount", "--net")
    shutil.copy(compile_c(WAITS, "-static"), tmp_path / "waits")
    with waiting("unshare", "--mount", "--net", f"--root={tmp_path}", "/waits") as (pid, _):
        said = told(pid, code=1)  # it is static
        assert (said["process"]["own_files"], said["process"]["own_network"]) == (True, True)
        assert said["process"]["program"].endswith("/waits")
        assert said["remarks"] == []  # it would not load the library, also where it saw it
        assert said["advice"][1].startswith("cure it from its next start on, in its container: "
                                                 "unstall run -- ")


def test_a_container_that_a_preload_works_in(tmp_path):
    need_namespaces("--mount")
    linker = [word for word in run(["ldd", compile_c(WAITS)], bare_env()).stdout.split()
              if word.startswith("/")]
    for file in linker:
        (tmp_path / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, tmp_path / file[1:])
    # its dynamic linker lies where there is none outside
    loader, = [path for path in linker if "/ld-" in path]
    (tmp_path / "inside").mkdir()
    shutil.copy(loader, tmp_path / "inside/ld-linux.so")
    shutil.copy(compile_c(WAITS, "-Wl,--dynamic-linker=/inside/ld-linux.so"), tmp_path / "waits")
    with waiting("unshare", "--mount", f"--root={tmp_path}", "/waits") as (pid, _):
        assert any(f"docker run -v {LIB}:{LIB}:ro -e LD_PRELOAD={LIB}" in way for way in told(pid)["advice"])


def test_a_mount_namespace_alone_is_no_container():
    """Most services have one (PrivateTmp=)."""
    need_namespaces("--mount")
    with waiting("unshare", "--mount", *CAT) as (pid, _):
        said = told(pid)
        assert said["process"]["own_files"] is False
        assert said["remarks"] == [] and not any("docker" in way for way in said["advice"])


def test_sockets_in_another_network_are_found():
    need_namespaces("--net")
    listen = ("import socket, sys; s = socket.create_server(('', 0)); "
              "print(s.getsockname()[1], flush=True); sys.stdin.read()")
    with waiting("unshare", "--net", "/usr/bin/python3", "-S", "-c", listen) as (pid, line):
        entry, = told(pid)["process"]["sockets"]
        assert entry["local"] == f"0.0.0.0:{line[0]}"


def test_a_process_of_somebody_else():
    need_root(specimens.SETUID)
    with command_of_everybody() as command:
        done = run([command, "doctor", os.getpid()], bare_env(), check=False, **AS_NOBODY)
    assert done.returncode == 125
    assert done.stderr == (f"unstall doctor: {os.getpid()}: cannot be inspected: Permission denied; "
                           "run this as its user or as root\n")


def test_many_sockets_are_cut_in_the_text_and_whole_in_json():
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(30)]
    try:
        mine = [entry for entry in told(os.getpid())["process"]["sockets"]]
        assert len(mine) >= 30
        assert f"  ... and {len(mine) - 20} more (--json lists all)" in unstall("doctor", os.getpid()).stdout
    finally:
        for sock in sockets:
            sock.close()


# ---- the text --------------------------------------------------------------

def in_terminal(env, columns, *words):
    """What the command shows on a terminal of so many columns."""
    code, shown = on_terminal(env, columns, *words)
    assert code in (0, 1)
    return shown


@pytest.mark.parametrize("variables, coloured", [
    ({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": ""}, True),
    ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    ({"TERM": "dumb"}, False)])
def test_colours_only_on_a_terminal_that_wants_them(variables, coloured):
    env = {name: value for name, value in bare_env().items() if name != "NO_COLOR"} | variables
    assert ("\x1b[" in in_terminal(env, 80, "doctor", "/bin/true")) is coloured
    assert "\x1b" not in unstall("doctor", "/bin/true", env=env).stdout


def test_the_text_is_as_wide_as_the_terminal(tmp_path):
    env = bare_env(TERM="dumb")
    binary = specimens.static(tmp_path)
    for columns in (50, 80, 120):
        widths = [len(line) for line in in_terminal(env, columns, "doctor", binary).splitlines()[1:]
                  if "/" not in line]
        assert columns - 20 < max(widths) <= columns


def test_names_of_any_kind_make_valid_json(tmp_path):
    for name in (b"quo\"te\\", b"tab\there", b"\xff\xfe", "Grüße €".encode(), b"\x1b[31m\n"):
        path = os.path.join(os.fsencode(tmp_path), name)
        shutil.copy("/bin/true", path)
        done = subprocess.run([COMMAND, "doctor", "--json", path], env=bare_env(), capture_output=True,
                              check=True)
        said = json.loads(done.stdout.decode("utf-8"))
        assert said["target"] == path.decode("utf-8", errors="replace")


def test_the_terminal_obeys_no_name(tmp_path):
    """The text passed the path of the program on as it was: another user's program could clear the screen."""
    program = tmp_path / "evil\x1b[2J\x07name"
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen([program, "60"]) as process:
        said = [unstall("doctor", word).stdout for word in (program, process.pid)]
        process.kill()
    for text in said:
        assert "evil?[2J?name" in text
        assert "\x1b" not in text and "\x07" not in text


def test_the_text_fits_eighty_columns(tmp_path):
    # except a path, which cannot be folded
    for binary in (specimens.plain(tmp_path), specimens.static(tmp_path), specimens.setuid(tmp_path)):
        text = unstall("doctor", binary).stdout
        assert [line for line in text.splitlines()[1:] if len(line) > 80 and "/" not in line] == []
        assert text.splitlines()[0].startswith(f"{binary}: a preload ")


# ---- software that is known to stall -----------------------------------------------------------------------

KNOWN = "known to stall: {}. Without the library: "


def script_of(folder, text):
    path = folder / "script"
    path.write_text(f"#!/usr/bin/python3\n{text}\n", "utf-8")
    path.chmod(0o755)
    return path


def test_a_program_that_is_known_to_stall_by_its_name(tmp_path):
    program = tmp_path / "wget"
    shutil.copy(specimens.plain(tmp_path), program)
    (remark,) = told(program)["remarks"]
    assert remark.startswith(KNOWN.format("GNU Wget, --post-data"))
    assert KNOWN.format("GNU Wget, --post-data") in " ".join(unstall("doctor", program).stdout.split())


@pytest.mark.parametrize("text, software", [
    ("import http.server", "CPython, http.server with HTTP/1.1"),
    ("use Net::SMTP;", "Perl, Net::SMTP"),
    ("exec 3<>/dev/tcp/localhost/80", "Bash, /dev/tcp"),
    ("import http.client", None),  # no sign; with the cure
    ("import http.server\nsock.setsockopt(6, TCP_NODELAY, 1)", None),
    ("import http.server\nclass H:\n disable_nagle_algorithm = True", None),
])
def test_a_script_that_is_known_to_stall_by_its_text(tmp_path, text, software):
    remarks = told(script_of(tmp_path, text))["remarks"]
    assert len(remarks) == (1 if software else 0)
    assert not software or remarks[0].startswith(KNOWN.format(software))


def test_a_program_that_is_known_to_stall_by_a_library(tmp_path):
    network = tmp_path / "libQt5Network.so.5"
    empty = tmp_path / "empty.c"
    empty.touch()
    subprocess.run(["gcc", "-shared", "-Wl,-soname," + network.name, "-o", network, empty], check=True)
    program = compile_c(specimens.HELLO, "-Wl,--no-as-needed", network)
    (remark,) = told(program)["remarks"]
    assert remark.startswith(KNOWN.format("Qt 5, QNetworkAccessManager, post"))


def test_a_script_of_any_bytes_is_read(tmp_path):
    path = script_of(tmp_path, "")
    path.write_bytes(b"#!/usr/bin/python3\n\0\xff" * 100_000)
    assert told(path)["remarks"] == []
