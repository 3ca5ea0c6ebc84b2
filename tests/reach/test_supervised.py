# SPDX-License-Identifier: MIT
"""unstall run cures programs that a preload cannot reach: under a seccomp supervisor, without a privilege."""

import contextlib
import errno
import json
import os
import select
import shutil
import signal
import socket
import statistics
import subprocess
from pathlib import Path

import pytest

from harness import (AS_NOBODY, COMMAND, LIB, NOBODY, PROGRAMS, WARM, AnsweringPeer, bare_env,
                     command_of_everybody, compile_c, compile_go, compile_rust, descriptors_of, need_root,
                     patiently, pattern, program, run, wait_for)

HERE = Path(__file__).parent / "programs"
EXCHANGES = 12
BARE_MS, CURED_MS = 40, 5  # the medians that docs/reach.md promises
TRIES = 5
GUARD = "unstall-guard"
PYTHON = ["/usr/bin/python3", "-S", "-c"]


# ---- the programs ------------------------------------------------------------

def own(name, *flags, **options):
    return compile_c(HERE / f"{name}.c", f"-I{PROGRAMS}", *flags, **options)


def with_musl():
    """Debian's musl folder lacks the kernel's headers: they come from the system's, searched last."""
    return own("raw", "-static", "-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu",
               cc="musl-gcc")


def ring(*flags):
    return own("ring_connects", *flags, libraries=["uring"])


# name -> the program, its words behind ADDRESS PORT EXCHANGES, and the words of unstall run
SUBJECTS = {
    "static": (lambda: own("raw", "-static"), [], []),
    "raw system calls": (lambda: own("raw"), [], ["--how", "seccomp"]),
    "static musl": (with_musl, [], []),
    "Rust with raw system calls": (lambda: compile_rust(HERE / "client.rs"), [], ["--how", "seccomp"]),
    "Go": (lambda: compile_go(HERE / "client.go", "reach-go"), [], []),  # its own resolver: static
    "ring, socket made before": (ring, ["before"], ["--how=seccomp"]),
    "ring, socket made after": (ring, ["after"], ["--how", "seccomp"]),
    "static ring": (lambda: ring("-static"), ["after"], []),
}


@pytest.fixture(name="folder", scope="module")
def _folder():
    """The command and its library where everybody may run them, which is not so below tmp_path."""
    with command_of_everybody(LIB) as command:
        yield command.parent


@pytest.fixture(name="unprivileged")
def _unprivileged(folder):
    """unprivileged(WORD...) runs `unstall WORD...` as the user nobody; a Path among the
    words is copied first."""
    user = AS_NOBODY if os.geteuid() == 0 else {"cwd": "/"}

    def command(*words, env=None, check=True, **popen):
        words = [shutil.copy(word, folder) if isinstance(word, Path) and word.is_file() else word
                 for word in words]
        return run([folder / COMMAND.name, *words], env or bare_env(), check=check, **user, **popen)
    return command


def median(done):
    return statistics.median(json.loads(done.stdout.splitlines()[-1])["us"][WARM:]) / 1000


def medians(start):
    """Of several runs: on a busy machine a bare exchange may pass, and a cured one wait for a processor."""
    return (median(start()) for _ in range(TRIES))


def stalls(start):
    return any(ms > BARE_MS for ms in medians(start))


def is_cured(start):
    return any(ms < CURED_MS for ms in medians(start))


# ---- cured -------------------------------------------------------------------

@pytest.mark.parametrize("name", SUBJECTS)
def test_it_stalls_bare_and_is_cured_for_a_user_without_privileges(name, unprivileged):
    make, more, how = SUBJECTS[name]
    binary = make()

    def under_the_supervisor():
        done = unprivileged("run", *how, binary, *words)
        assert done.stderr == ""
        return done

    with AnsweringPeer() as peer:
        words = [*peer.target, EXCHANGES, *more]
        assert stalls(lambda: run([binary, *words], bare_env()))
        assert is_cured(under_the_supervisor)
    sent = len(peer.connections[-1].received)
    assert sent == EXCHANGES * 300 and (name == "Go" or peer.connections[-1].received == pattern(sent))


def test_a_server_is_cured_by_its_listener(unprivileged):
    """Accepted connections have the TCP_NODELAY of their listener."""
    done = unprivileged("run", own("many", "-static"), "sockets", 3)
    assert done.stdout == "3\n"
    assert run([own("many", "-static"), "sockets", 3], bare_env()).stdout == "0\n"


def test_sockets_that_the_program_inherits_are_cured(unprivileged):
    with AnsweringPeer() as peer:
        with socket.create_connection(("127.0.0.1", peer.port)) as sock:
            unprivileged("run", own("many", "-static"), "sockets", 1, pass_fds=[sock.fileno()])
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_what_the_library_sees_is_left_to_it(unprivileged):
    """It sets TCP_NODELAY only where a stall begins, and makes one segment of a message's two writes."""
    assert unprivileged("run", "--how", "seccomp", own("many"), "sockets", 3).stdout == "0\n"
    binary = program("put_write")

    def under_the_supervisor():
        done = unprivileged("run", "--how", "seccomp", binary, *peer.target, 60)
        facts = json.loads(done.stdout)
        assert facts["loaded"] and facts["segments"] < 60 + 30
        return done

    with AnsweringPeer() as peer:
        assert is_cured(under_the_supervisor)


def by_shell(unprivileged, peer, *how, flags=()):
    """`unstall run` of a shell that starts a client."""
    words = " ".join(map(str, [*peer.target, EXCHANGES]))
    client = program("put_write", *flags)
    done = unprivileged("run", *how, "sh", "-c", f'"$0" {words}; exit 7', client, check=False)
    assert done.returncode == 7
    return done


def test_a_tree_of_both_kinds_gets_both(unprivileged):
    """A shell, which the preload reaches, starts a static program, which it does not."""
    with AnsweringPeer() as peer:
        assert is_cured(lambda: by_shell(unprivileged, peer, "--how", "seccomp"))
        assert is_cured(lambda: by_shell(unprivileged, peer, "--how", "seccomp", flags=["-static"]))


def test_without_a_choice_a_tree_gets_the_preload_alone(unprivileged):
    """The supervisor would take the rights of every setuid program in the tree (docs/decisions.md)."""
    with AnsweringPeer() as peer:
        assert is_cured(lambda: by_shell(unprivileged, peer))
        assert stalls(lambda: by_shell(unprivileged, peer, flags=["-static"]))
    assert unprivileged("run", "grep", "NoNewPrivs", "/proc/self/status").stdout.split()[-1] == "0"


@pytest.mark.parametrize("what, count", [("sockets", 5000), ("threads", 16), ("forks", 1000)])
def test_many(what, count, unprivileged):
    done = unprivileged("run", own("many", "-static"), what, count)
    assert done.stdout == f"{count * 50 if what == 'threads' else count}\n"


# ---- the program's own ---------------------------------------------------------

OPTIONS = """
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
value = ctypes.c_int(0)
def call(fd, pointer, size):
    result = libc.setsockopt(fd, 6, 1, pointer, size)
    return "done" if result == 0 else errno.errorcode[ctypes.get_errno()]
tcp, udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
print(call(tcp.fileno(), ctypes.byref(value), 4), call(tcp.fileno(), None, 4),
      call(tcp.fileno(), ctypes.byref(value), 1), call(999, ctypes.byref(value), 4),
      call(0, ctypes.byref(value), 4), call(udp.fileno(), ctypes.byref(value), 4))
"""


def test_wrong_calls_get_the_kernels_own_errors(unprivileged):
    env = bare_env(UNSTALL_PROGRAMS="")
    bare = run([*PYTHON, OPTIONS], bare_env())
    assert bare.stdout.split()[:4] == ["done", "EFAULT", "EINVAL", "EBADF"]
    assert unprivileged("run", "--how", "seccomp", *PYTHON, OPTIONS, env=env).stdout == bare.stdout


def test_exit_code_signal_process_and_children_are_the_programs_own(unprivileged):
    """The program has the process id that its caller started, and no child that it did not make."""
    words = "import os; print(os.getpid(), os.getppid(), os.getsid(0), flush=True)\ntry: os.wait()\nexcept " \
            "ChildProcessError: os.kill(os.getpid(), 9)"
    done = unprivileged("run", "--how", "seccomp", *PYTHON, words, check=False)
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split()[1:] == [str(os.getpid()), str(os.getsid(0))]
    assert unprivileged("run", "--how", "seccomp", "sh", "-c", "exit 42", check=False).returncode == 42


def test_a_process_that_may_not_be_inspected_works_as_before(unprivileged):
    words = ("import ctypes, socket; ctypes.CDLL(None).prctl(4, 0);"
             "s = socket.create_server(('127.0.0.1', 0));"
             "print(socket.create_connection(s.getsockname()).getsockopt(6, 1))")
    assert unprivileged("run", "--how", "seccomp", *PYTHON, words).stdout == "0\n"


def test_no_new_privs_is_set_only_without_privileges_and_said(unprivileged):
    words = ["--verbose", "1", own("raw", "-static"), "127.0.0.1", "1", "1"]
    said = "it is statically linked, so nothing can be preloaded; it runs under the seccomp supervisor"
    rights = "setuid programs that it starts gain no rights (no_new_privs)"
    done = unprivileged("run", *words, check=False)
    already = "NoNewPrivs:\t1" in Path("/proc/self/status").read_text("ascii")
    assert said in done.stderr and (rights in done.stderr) is not already
    status = ["--how", "seccomp", "grep", "NoNewPrivs", "/proc/self/status"]
    assert unprivileged("run", *status).stdout.split()[-1] == "1"
    if os.geteuid() == 0:
        assert run([COMMAND, "run", *status], bare_env()).stdout.split()[-1] == "0"


# ---- refused -------------------------------------------------------------------

@pytest.mark.parametrize("words, said", [
    (["--how", "preload"], "nothing can be preloaded; unstall run cures it under a seccomp supervisor "),
    (["--how", "bogus"], "unstall run: --how bogus: expected preload or seccomp"),
    (["--how", "bpf"], "unstall run: --how bpf: there is no such way any more; leave it out, and where run "),
    (["--mode", "observe"], "the seccomp supervisor cures and has no mode observe; leave the mode out"),
    (["--ports", "80"], "cannot obey UNSTALL_PORTS=80; unset it, or start the program without unstall and "
                        "cure one port as root: unstall attach --port PORT PID (--force"),
    (["--peers", "::1"], "cures all connections and cannot obey UNSTALL_PEERS=::1; unset it (--force"),
])
def test_what_cannot_be_done_is_refused(words, said, unprivileged):
    done = unprivileged("run", *words, own("raw", "-static"), "127.0.0.1", "1", "1", check=False)
    assert (done.returncode, done.stdout) == (125, "")
    assert said in done.stderr


def test_an_old_kernel_is_named():
    binary = own("raw", "-static")
    old = ["setarch", "--uname-2.6", COMMAND, "run", binary, "127.0.0.1", "1", "1"]
    done = run(old, bare_env(), check=False)
    assert done.returncode == 125
    assert done.stderr.endswith("; the seccomp supervisor needs Linux 5.9\n")


def test_a_setuid_program_is_refused_where_it_would_lose_its_rights(folder, unprivileged):
    need_root("can make a program of somebody else's rights")
    binary = folder / "setuid"
    shutil.copy("/usr/bin/id", binary)
    binary.chmod(0o4755)
    words = ["run", "--how", "seccomp", str(binary), "-u"]
    done = unprivileged(*words, check=False)
    assert done.returncode == 125 and "by which it would lose these rights" in done.stderr
    assert unprivileged("run", "--force", *words[1:]).stdout == f"{NOBODY}\n"
    assert run([COMMAND, *words], bare_env()).stdout == "0\n"


def test_one_supervisor_in_another(folder, unprivileged):
    """The kernel allows one; the outer one cures."""
    binary = shutil.copy(own("raw", "-static"), folder)

    def one_in_another():
        done = unprivileged("run", "--how", "seccomp", str(folder / COMMAND.name), "run",
                            "--verbose", "1", binary, *peer.target, EXCHANGES)
        assert "it runs under the seccomp supervisor of an outer unstall run" in done.stderr
        return done

    with AnsweringPeer() as peer:
        assert is_cured(one_in_another)


# A filter with a listener, which answers nothing: it notifies of call 1000 only.  Then the program.
OTHER_SUPERVISOR = """
import ctypes, os, struct, sys
code = struct.pack("=HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, 1000,
                   6, 0, 0, 0x7fc00000, 6, 0, 0, 0x7fff0000)
room = ctypes.create_string_buffer(code)
program = struct.pack("=HxxxxxxQ", 4, ctypes.addressof(room))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
os.set_inheritable(libc.syscall(317, 1, 8, program), True)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def test_another_user_of_seccomp_is_a_refusal_that_names_attach(folder):
    """The bug: it ran uncured, with a remark and exit code 0."""
    binary = shutil.copy(own("raw", "-static"), folder)
    words = [*PYTHON, OTHER_SUPERVISOR, COMMAND, "run", binary, "127.0.0.1", "1", "1"]
    done = run(words, bare_env(), check=False)
    assert (done.returncode, done.stderr.count("\n")) == (125, 1)
    assert ("another program supervises this process by seccomp already, and the kernel allows one; start it "
            "without unstall and cure it as root: unstall attach PID") in done.stderr


# ---- the supervisor is killed ----------------------------------------------------

CONNECTING = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
for line in sys.stdin:
    try:
        client = socket.create_connection(server.getsockname())
        print(client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), flush=True)
    except OSError as error:
        print(error.errno, flush=True)
"""


# The supervisor looks at all its descriptors before it lets the call go on: that takes some time.
RING_BEHIND_MANY = """
import ctypes, os, resource, socket, sys
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
first = socket.socket()
for _ in range(min(20000, most - 100)):
    os.dup(first.fileno())
print(1, flush=True)
sys.stdin.readline()
sys.stdin.readline()
ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(120))
print("made", flush=True)
"""


def guards():
    """Process id -> parent, of all guards and workers."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            facts = dict(line.split(":", 1) for line in status.read_text("utf-8").splitlines() if ":" in line)
            if facts["Name"].strip() == GUARD:
                found[int(facts["Pid"])] = int(facts["PPid"])
    return found


class Supervised:
    """A Python program without the library under a supervisor, which answers a line for each line."""

    def __init__(self, text=CONNECTING):
        self.known = set(guards())
        self.text = f"{text}# of {os.getpid()}, for another run of the tests has the same text\n"
        words = [COMMAND, "run", "--how", "seccomp", "env", "-u", "LD_PRELOAD", *PYTHON, self.text]
        self.process = subprocess.Popen(words, env=bare_env(), text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        assert self.ask() == "1"

    def tell(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def ask(self):
        self.tell()
        return self.answer()

    def answer(self):
        assert select.select([self.process.stdout], [], [], 20)[0], "it hangs"
        return self.process.stdout.readline().strip()

    def is_in(self, call):
        return Path(f"/proc/{self.process.pid}/syscall").read_text("utf-8").startswith(f"{call} ")

    def runs(self, pid):
        """Whether the process was started for the text; it may be gone."""
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().endswith(self.text.encode() + b"\0")
        return False

    def pair(self):
        """Guard and worker; other tests may run others at the same time."""
        all_of = guards()
        mine = {pid for pid in all_of if pid not in self.known and self.runs(pid)}
        return next(((all_of[pid], pid) for pid in mine if all_of[pid] in mine), None)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.stdin.close()
        if kind:
            self.process.kill()
        assert self.process.wait(10) == 0 or kind
        self.process.stdout.close()


@pytest.mark.parametrize("which", ["guard", "worker"])
def test_a_killed_half_of_the_supervisor_is_replaced(which):
    with Supervised() as program:
        for _ in range(3):
            guard, worker = wait_for(program.pair)
            os.kill(guard if which == "guard" else worker, signal.SIGKILL)
            assert program.ask() == "1"
            wait_for(lambda old=(guard, worker): program.pair() not in (None, old))
        guard, worker = wait_for(program.pair)
    wait_for(lambda: not {guard, worker} & set(guards()))


def test_without_the_whole_supervisor_calls_fail_and_never_hang():
    with Supervised() as program:
        guard, worker = wait_for(program.pair)
        os.kill(guard, signal.SIGSTOP)
        os.kill(worker, signal.SIGKILL)
        os.kill(guard, signal.SIGKILL)
        wait_for(lambda: not {guard, worker} & set(guards()))
        assert program.ask() == str(errno.ENOSYS)


def test_a_call_that_waits_for_a_killed_worker_is_answered_by_the_next():
    with Supervised() as program:
        _, worker = wait_for(program.pair)
        os.kill(worker, signal.SIGSTOP)
        program.tell()
        wait_for(lambda: program.is_in(41))  # socket(2)
        os.kill(worker, signal.SIGKILL)
        assert program.answer() == "1"


def test_a_call_in_the_hands_of_a_killed_worker_goes_on():
    def attempt():
        with Supervised(RING_BEHIND_MANY) as program:
            _, worker = wait_for(program.pair)
            program.tell()
            looking = f"/proc/{program.process.pid}/fd"
            wait_for(lambda: looking in descriptors_of(worker).values())
            os.kill(worker, signal.SIGKILL)
            assert program.answer() == "made"
    patiently(attempt)  # on a busy machine the look at 20 000 descriptors may end before it is seen


def test_the_supervisor_ends_with_the_program_and_keeps_no_pipe():
    with Supervised() as program:
        pair = wait_for(program.pair)
        held = [target for pid in pair for target in descriptors_of(pid).values()]
        assert not [target for target in held if target.startswith(("pipe:", "socket:"))]
    wait_for(lambda: not set(pair) & set(guards()))
