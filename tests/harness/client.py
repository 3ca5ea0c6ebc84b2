# SPDX-License-Identifier: MIT
"""Runs a client program of tests/preload/programs and reads the facts it prints at its end."""

import json
import re
import statistics
from dataclasses import dataclass

from .library import CURING_MODES, SOURCE_ROOT, mode_env
from .compile import compile_c
from .patience import TRIES
from .peers import AnsweringPeer, pattern
from .process import run

PROGRAMS = SOURCE_ROOT / "tests/preload/programs"

# Files of many programs.
_OF_MANY = ("exchanges", "servers", "plain", "stdio", "habits", "tasks", "connections", "defects",
            "defects_tasks")

# The first exchanges of a connection never stall: the receiver acknowledges at once.
WARM = 3

# A median above it is that of exchanges which stall, for 40 ms each. Where the end of the window lets bytes
# go, a busy machine takes 8 ms.
STALL_MS = 20


@dataclass
class ClientRun:
    """The measurements that a program made of itself."""
    facts: dict
    stdout: str
    stderr: str

    @property
    def median_ms(self):
        """The median exchange after the warm-up, in milliseconds."""
        return statistics.median(self.facts["us"][WARM:]) / 1000

    @property
    def stalls(self):
        """Whether the exchanges stall."""
        return self.median_ms > STALL_MS

    @property
    def segments(self):
        """Data segments an exchange after the warm-up, without retransmissions."""
        return (self.facts["segments"] - self.facts["sent_again"]) / (len(self.facts["us"]) - WARM)


def _defines(source, name):
    return re.search(rf"^(static void |[A-Z_]+\(){name}\b", source.read_text("utf-8"), re.MULTILINE)


def program(name, *flags, **options):
    """The compiled binary of programs/<name>.c, or that of the function <name> in a file of many."""
    source = PROGRAMS / f"{name}.c"
    if not source.exists():
        many = [PROGRAMS / f"{each}.c" for each in _OF_MANY]
        source = next((each for each in many if _defines(each, name)), many[0])
        flags = (f"-DPROGRAM={name}", *flags)
    return compile_c(source, *flags, name=name, **options)


def run_client(binary, mode, *arguments, timeout=60, preloaded=None, **variables):
    """Run a program that ends with report() of client.h; `mode` may be `bare`.

    Upper-case keywords are environment variables, the others go to subprocess.

    Asserts that the library was loaded in the child, or was not in the bare one.
    """
    popen = {key: variables.pop(key) for key in list(variables) if not key.isupper()}
    done = run([binary, *arguments], mode_env(mode, **variables), timeout=timeout, **popen)
    facts = json.loads(done.stdout.splitlines()[-1])
    expected = mode != "bare" if preloaded is None else preloaded
    assert facts["loaded"] is expected, f"loaded: {facts['loaded']}, expected: {expected}"
    return ClientRun(facts, done.stdout, done.stderr)


def refuses(call, where, value, error=None):
    """A program that runs another one, whose call fails, or ends it, where it has this argument."""
    action = f"SECCOMP_RET_ERRNO|{error}" if error else "SECCOMP_RET_KILL_PROCESS"
    return compile_c(SOURCE_ROOT / "tests/company/programs/refuses.c", f"-DCALL=SYS_{call}",
                     f"-DWHERE={where}", f"-DVALUE={value}", f"-DACTION={action}")


def run_with_peer(name, mode, *arguments, received=None, **variables):
    """run_client of such a program with a peer of its own, which is brought these bytes if they are given."""
    with AnsweringPeer() as peer:
        done = run_client(program(name), mode, *peer.target, *arguments, **variables)
    assert received is None or bytes(peer.connections[0].received) == received
    return done


def judged(measure, cured, tries=TRIES):
    """The run that measure() gives; one that is not as it shall be, `cured` or stalling, is measured again.

    A busy machine makes a median of more than 20 ms now and then (3 of 19 431 cured runs under a load of 15).
    It also takes stalls away: after a pause of 200 ms the peer's kernel acknowledges at once for a while.  A
    program that stalls, or that is cured, does so every time.
    """
    for _ in range(tries - 1):
        done = measure()
        if done.stalls is not cured:
            return done
    return measure()


def run_judged(binary, mode, count, *more, received=None, cured=None, peer=AnsweringPeer, **variables):
    """run_client with a peer of its own, judged(): it shall be cured in the modes that cure.

    Each run must bring the peer these bytes, by default those of so many exchanges.
    """
    def measure():
        with peer() as its_peer:
            done = run_client(binary, mode, *its_peer.target, count, *more, **variables)
        assert bytes(its_peer.connections[0].received) == (received or pattern(count * 300))
        return done

    return judged(measure, mode in CURING_MODES if cured is None else cured)
