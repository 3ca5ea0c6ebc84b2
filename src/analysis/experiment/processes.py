# SPDX-License-Identifier: MIT
"""Programs under test: started in a process group of their own, waited for, measured, ended.

No process stays behind.  When the program has ended, its group is killed by its id.  A process that had
left the group becomes our child (PR_SET_CHILD_SUBREAPER) and is killed by itself.  If we are killed, the
guard kills the groups.
"""

import atexit
import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from record.arms import BARE

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
OWN_VARIABLES = ("UNSTALL_MODE", "UNSTALL_STATS", "UNSTALL_ARMS", "UNSTALL_ASSIGN", "UNSTALL_SEED")
TICK = os.sysconf("SC_CLK_TCK")
STDERR_KEPT = 4096
GRACE_S = 10.0  # from SIGTERM to SIGKILL
LOOK_S = 1.0  # from one look at a program that runs to the next one
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
IGNORED = [int(number) for number in sys._xoptions.get("ignored", "").split()]  # by the caller, from ab.c

_libc = ctypes.CDLL(None, use_errno=True)


class Interrupted(Exception):
    """A signal has asked us to stop."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number


class Failed(Exception):
    """The program under test has failed; the message says how."""


class CannotRun(Exception):
    """There is no such program, or it may not be run."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


class _Asked:
    """What the signals have written: Python writes each one's number into `pipe`, which the waits read, until
    one of them has raised Interrupted.  A handler that raised it would do so anywhere: in a destructor, where
    Python prints it and goes on, or between the start of a program and the note of its number."""
    pipe = None
    held = 0


def _noted(_number, _frame):
    """A handler, so that Python writes the signal's number, and of one that is to be ignored too: of one that
    has come just before SIG_IGN it would print a traceback ("ignored due to race condition")."""


def catch_signals():
    """From now on the first of SIGINT, SIGTERM and SIGHUP makes a wait raise Interrupted; later ones, and one
    after the last wait, are ignored, while we clean up and report.  Orphans become our children."""
    _Asked.pipe, end = os.pipe()
    os.set_blocking(end, False)
    signal.set_wakeup_fd(end, warn_on_full_buffer=False)
    for number in STOPPING:
        if signal.getsignal(number) != signal.SIG_IGN or number == signal.SIGTERM:
            signal.signal(number, _noted)
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextlib.contextmanager
def uninterrupted():
    """The waits in this context raise no Interrupted; the first one after it does."""
    _Asked.held += 1
    try:
        yield
    finally:
        _Asked.held -= 1


def wait_for(what, seconds):
    """Wait so many seconds at most; True when the process of this pidfd has ended, which need not be a child,
    or this file can be read.  Interrupted when a signal has come since catch_signals()."""
    poll = select.poll()
    poll.register(what, select.POLLIN)
    asked = None if _Asked.held else _Asked.pipe
    if asked is not None:
        poll.register(asked, select.POLLIN)
    ready = [fd for fd, _ in poll.poll(max(0, seconds * 1000))]
    if asked in ready:
        _Asked.pipe = None
        raise Interrupted(os.read(asked, 1)[0])
    return bool(ready)


def ignore_signals():
    """For the end of the command.  Python itself gives the signals their default back when it ends, and a
    later signal ended the command by that signal, in place of its exit code."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # those that have come are handled now
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def _in_child(parent):
    for number in STOPPING:
        if signal.getsignal(number) == _noted:
            signal.signal(number, signal.SIG_DFL)
    for number in IGNORED:  # we, or Python, may not ignore it
        signal.signal(number, signal.SIG_IGN)
    os.setpgid(0, 0)
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before this, so no signal comes
        os._exit(1)


def preload_entry(unstall, library, program):
    """How LD_PRELOAD names the library for this program: as `unstall run` does, so that ld.so has nothing to
    say about programs of the other word size that it starts.  None: there is no such library, which the
    command has said."""
    made = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([unstall, "ab", "--preload-entry", library or "", program], check=False, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=made)
    return done.stdout.rstrip("\n") or None


def _locale():
    """LC_CTYPE as the caller has set it, if so.  In the locale C, Python sets it for all that it starts."""
    with open("/proc/self/environ", "rb") as file:
        return {"LC_CTYPE": os.fsdecode(entry.partition(b"=")[2]) for entry in file.read().split(b"\0")
                if entry.startswith(b"LC_CTYPE=")}


def environment(arm, library, stats=None, arms=None):
    """The environment of a program in one arm.  `bare` has no library and none of its variables; the
    other arms keep the caller's variables (UNSTALL_PORTS, UNSTALL_WINDOW_US, ...)."""
    made = {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}
    made.pop("LC_CTYPE", None)
    made.update(_locale())
    preloads = [entry for entry in made.pop("LD_PRELOAD", "").replace(":", " ").split()
                if os.path.basename(entry) != "libunstall.so"]
    if arm == BARE:
        made = {name: value for name, value in made.items() if not name.startswith("UNSTALL_")}
    else:
        preloads.append(library)
        made.setdefault("UNSTALL_STACKS", "0")
        made.update(arms or {"UNSTALL_MODE": arm})
        if stats:
            made["UNSTALL_STATS"] = stats
    if preloads:
        made["LD_PRELOAD"] = ":".join(preloads)
    return made


class Guard:
    """A shell that outlives us by a moment.  When we are killed, the kernel ends a program that we have
    started (PR_SET_PDEATHSIG), but not its children: the shell reads of the groups that are left, and kills
    them.  A program says itself that it begins, before its first instruction: we may be killed before we know
    its number."""
    WORDS = ("trap '' HUP INT TERM; begun= groups=; while read -r what group; do case $what in "
             "begins) begun=$group ;; none) begun= ;; lives) begun= groups=\"$groups $group\" ;; "
             "ended) left=; for each in $groups; do [ $each = $group ] || left=\"$left $each\"; done; "
             "groups=$left ;; esac; done; for group in $groups $begun; do kill -s KILL -- \"-$group\"; done")

    def __init__(self):
        self.shell = None

    def start(self):
        """Before the first program, whose own children the shell is none of."""
        if self.shell:
            return
        self.shell = subprocess.Popen(["/bin/sh", "-c", self.WORDS], env={}, stdin=subprocess.PIPE,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                      start_new_session=True)
        atexit.register(self._end)

    def tell(self, what, group=0):
        """A group begins, lives, or has ended: its number may be another's soon; or none has begun."""
        with contextlib.suppress(OSError):  # somebody has killed it
            os.write(self.shell.stdin.fileno(), b"%s %d\n" % (what.encode(), group))

    def _end(self):
        with contextlib.suppress(OSError):
            self.shell.stdin.close()
        self.shell.wait()


GUARD = Guard()


@dataclass
class Usage:
    """The time that a program took, its status and its output."""
    wall_s: float = 0.0
    user_s: float = 0.0
    system_s: float = 0.0
    status: int = 0
    output: str = None

    @property
    def how(self):
        """The failure in words; empty for exit code 0."""
        if os.WIFSIGNALED(self.status):
            number = os.WTERMSIG(self.status)  # of most real-time signals, Python has no name
            known = number in set(signal.Signals)
            return f"was ended by {signal.Signals(number).name if known else f'signal {number}'}"
        code = os.WEXITSTATUS(self.status)
        return f"ended with exit code {code}" if code else ""


class Program:
    """A started program, as a context manager: when the context ends, no process of the program is left."""

    def __init__(self, argv, env, show=False, keep_output=False):
        self.argv, self.env, self.show = argv, env, show
        self.pid = None
        self.fd = None
        self.usage = None
        self.stopping = False
        self._errors = tempfile.TemporaryFile()
        self._output = tempfile.TemporaryFile() if keep_output else None

    def __enter__(self):
        GUARD.start()
        self.before = set(children())  # of another program: not ended here
        # For the child, until it has the handlers of the program.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        try:
            self._start(mask)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return self

    def _start(self, mask):
        here = os.getpid()

        def in_child():
            _in_child(here)
            GUARD.tell("begins", os.getpid())
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        self.began = time.monotonic()
        with contextlib.ExitStack() as files:
            null = files.enter_context(open(os.devnull, "r+b"))
            out = None if self.show else self._output or null
            try:
                child = subprocess.Popen(
                    self.argv, env=self.env, stdin=null, stdout=out,
                    stderr=None if self.show else self._errors, preexec_fn=in_child)
            except OSError as error:
                GUARD.tell("none")
                if isinstance(error, FileNotFoundError) or not self.argv[0]:  # that is each folder of $PATH
                    raise CannotRun(f"{self.argv[0]}: no such program; give its path, or check $PATH",
                                    127) from error
                raise CannotRun(f"{self.argv[0]}: cannot be run: {error.strerror}", 126) from error
        child.returncode = 0  # Popen must not wait: ended() takes the status by wait4
        self.pid = child.pid
        GUARD.tell("lives", self.pid)
        self.fd = os.pidfd_open(self.pid)

    def __exit__(self, *_):
        try:
            with uninterrupted():
                self.stop()
        finally:
            os.close(self.fd)
            self._errors.close()
            if self._output:
                self._output.close()

    def ended(self, timeout=None):
        """Wait `timeout` seconds at most; True when it has ended."""
        if self.usage:
            return True
        end = time.monotonic() + (float("inf") if timeout is None else timeout)
        while not wait_for(self.fd, min(LOOK_S, end - time.monotonic())):
            self._look_at_terminal()
            if time.monotonic() >= end:
                return False
        ended = time.monotonic()
        _, status, used = os.wait4(self.pid, 0)
        self.usage = Usage(ended - self.began, used.ru_utime, used.ru_stime, status)
        self._clear()
        if self._output:
            self._output.seek(0)
            self.usage.output = self._output.read().decode(errors="replace")
        return True

    def _look_at_terminal(self):
        """Failed where the kernel has stopped it, because its group is not the terminal's foreground."""
        seen = None
        with contextlib.suppress(ChildProcessError):  # it has just ended
            seen = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        if seen and seen.si_status in (signal.SIGTTIN, signal.SIGTTOU) and not self.stopping:
            raise Failed(f"{self.argv[0]}: was stopped by {signal.Signals(seen.si_status).name}, because it "
                         "asks for the terminal and runs in the background; let it ask for nothing, as under "
                         "cron")

    def _clear(self):
        """Kill the processes that the program has left behind, and add their processor time."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        GUARD.tell("ended", self.pid)
        end = time.monotonic() + GRACE_S
        while time.monotonic() < end:
            orphans = [pid for pid in children() if pid not in self.before]
            if not orphans:
                return
            for orphan in orphans:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(orphan, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    pid, _, used = os.wait4(orphan, os.WNOHANG)
                    if pid:
                        self.usage.user_s += used.ru_utime
                        self.usage.system_s += used.ru_stime
            time.sleep(0.005)

    def stop(self, gently=True):
        """End it by SIGTERM to its group, then by SIGKILL."""
        if self.usage:
            return
        self.stopping = True
        if gently:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGTERM)
                os.killpg(self.pid, signal.SIGCONT)  # one that is stopped ends too
            if self.ended(GRACE_S):
                return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.ended(GRACE_S)

    def complaint(self):
        """The last lines of its stderr."""
        if self.show:
            return ""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - STDERR_KEPT))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return "".join("\n  | " + line for line in lines[-5:])


def run(argv, env, timeout=None, show=False, keep_output=False):
    """Run to the end.  Failed after `timeout` seconds, or with its last lines if it ends with an error."""
    with Program(argv, env, show, keep_output) as program:
        if not program.ended(timeout):
            program.stop()
            raise Failed(f"{argv[0]}: has not ended after {timeout:g} s (--timeout) and was stopped")
        if program.usage.how:
            raise Failed(f"{argv[0]}: {program.usage.how}{program.complaint()}")
        return program.usage


def children(pid="self"):
    """The process ids of the children of all threads of a process."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children",
                                                    encoding="ascii") as file:
                found += map(int, file.read().split())
    return found


def with_descendants(pid):
    """A process and all its descendants."""
    found, ahead = [], [pid]
    while ahead:
        found.append(ahead.pop())
        ahead += children(found[-1])
    return found


def cpu_of(pid):
    """Seconds of processor time of a process and its descendants so far, those that have ended included."""
    used = 0.0
    for member in with_descendants(pid):
        with contextlib.suppress(OSError, IndexError):
            # The clock of a whole process (CPUCLOCK_SCHED).  /proc/PID/stat counts in ticks of 10 ms.
            used += time.clock_gettime((~member << 3) | 2)
            with open(f"/proc/{member}/stat", encoding="utf-8", errors="replace") as file:
                words = file.read().rpartition(")")[2].split()
            used += (int(words[13]) + int(words[14])) / TICK  # children that it has waited for
    return used


def listens(port):
    """True where a socket listens on this port, by /proc: a trial connection would be one of those
    measured."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError), open(table, encoding="ascii") as file:
            for line in file.readlines()[1:]:
                words = line.split()
                if words[3] == "0A" and int(words[1].rpartition(":")[2], 16) == port:
                    return True
    return False


def wait_until_listening(server, port, timeout):
    """Wait until the server listens; Failed if it ends before that or takes too long."""
    end = time.monotonic() + timeout
    while not listens(port):
        if server.ended(0.02):
            raise Failed(f"{server.argv[0]}: {server.usage.how or 'ended'} before it listened on "
                         f"port {port}{server.complaint()}")
        if time.monotonic() > end:
            raise Failed(f"{server.argv[0]}: does not listen on port {port} after {timeout:g} s"
                         f"{server.complaint()}")


def end(pid):
    """End one process by SIGTERM."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGTERM)
