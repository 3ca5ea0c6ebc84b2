# SPDX-License-Identifier: MIT
"""The seccomp supervisor judges a call by its registers only, never by memory of the program.

Another thread may change an address or a value between the supervisor's look and the kernel's call.  So the
supervisor reads no memory at all: its decision holds for each content, and the kernel reads the memory
once, as it does bare.
"""

import re
import subprocess
from pathlib import Path

import pytest

from harness import COMMAND, bare_env, compile_c, run

TRIES = 2000
RUNS = 5
BARE_RUNS = 100  # of a few milliseconds, in which the other thread may not run at all
UNDER = [COMMAND, "run", "--how", "seccomp"]
HERE = Path(__file__).parent / "programs"


def counted(under, what):
    binary = compile_c(HERE / "flips.c", "-static")
    return [int(n) for n in run([*under, binary, TRIES, what], bare_env()).stdout.split()]


def test_an_address_that_changes_meanwhile_leads_to_where_the_kernel_reads_it_and_each_connection_is_cured():
    """The program fails if a connection does not arrive at the peer that it has."""
    assert counted([], "connect")[-1] == 0
    all_flipped = 0
    for _ in range(RUNS):
        *by_port, flipped, with_nodelay = counted(UNDER, "connect")
        assert (sum(by_port), with_nodelay) == (TRIES, TRIES)
        all_flipped += flipped
        if all_flipped:
            return
    raise AssertionError("no address has changed during a call")


def test_a_value_that_changes_meanwhile_leaves_nodelay_on():
    flips = any(min(counted([], "setsockopt")) > 0 for _ in range(BARE_RUNS))
    assert flips, "no value has changed"
    assert counted(UNDER, "setsockopt") == [0, TRIES]


@pytest.mark.parametrize("what", ["connect", "setsockopt"])
def test_the_supervisor_reads_no_memory_of_the_program(what, tmp_path):
    binary = compile_c(HERE / "flips.c", "-static")
    calls = tmp_path / "calls"
    traced = "ioctl,open,openat,ptrace,process_vm_readv,process_vm_writev,pidfd_getfd"
    subprocess.run(["strace", "-f", "-o", calls, "-e", f"trace={traced}", *UNDER, binary, "20", what],
                   check=True, env=bare_env(), stdout=subprocess.DEVNULL, timeout=60)
    lines = calls.read_text(encoding="utf-8", errors="replace").splitlines()
    supervisors = {line.split()[0] for line in lines if "SECCOMP_IOCTL_NOTIF_RECV" in line}
    made = [line for line in lines if line.split()[0] in supervisors]
    assert sum("pidfd_getfd(" in line for line in made) >= 20
    assert not [line for line in made
                if re.search(r" (ptrace|process_vm_\w+)\(|/proc/[^\"]*/(mem|syscall)\"", line)]
