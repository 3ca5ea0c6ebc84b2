# SPDX-License-Identifier: MIT
"""unstall attach with three capabilities and no other right."""

import os
import re
import subprocess

import pytest
from attachments import ACTOR, attached
from unreached import PINS, is_cured, stalls, talking

from harness import COMMAND, NOBODY, bare_env, command_of_everybody, run, spawned, with_capabilities

THREE = ("bpf", "perfmon", "net_admin")


@pytest.mark.parametrize("mode", ["always", "proof"])
def test_root_with_three_capabilities_cures_and_puts_back(mode):
    with talking() as talker:
        assert stalls(talker)
        with attached(talker.pid, "--mode", mode, command=(*with_capabilities(*THREE, user=0), COMMAND)) as a:
            assert is_cured(talker)
            talker.say("new")
            assert is_cured(talker)
            assert a.end() == 0
        assert "put back; 2 connections had been cured" in a.said
        assert stalls(talker) and talker.reads_back() == {0}


def test_nobody_with_three_capabilities_cures_an_own_process():
    nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    with command_of_everybody() as command, talking(under=nobody) as talker:
        with attached(talker.pid, "--mode", "always", command=(*with_capabilities(*THREE), command)) as a:
            assert "could not be entered" not in a.said and "pidfd_getfd" not in a.said
            assert is_cured(talker)
            talker.say("new")
            assert is_cured(talker)
            assert a.end() == 0
        assert "put back; 2 connections had been cured" in a.said
        assert stalls(talker)


@pytest.mark.parametrize("missing", THREE)
def test_with_two_of_them_one_line_names_all_three(missing):
    two = [name for name in THREE if name != missing]
    done = run([*with_capabilities(*two, user=0), COMMAND, "attach", "--port", "1"], bare_env(), check=False,
               timeout=20)
    assert (done.returncode, done.stderr) == (
        125, "unstall attach: it needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, for instance as root\n")
    assert not PINS.exists()


LEFT_ALONE = ("connections that exist there are left alone; to reach them too, attach with CAP_SYS_ADMIN and "
              "CAP_SYS_PTRACE, as root has them")


def test_of_a_port_the_namespaces_that_may_not_be_entered_are_named():
    """They were processes of "the target", without a name."""
    listening = ("import socket; s = socket.create_server(('', 0)); "
                 "print(s.getsockname()[1], flush=True); input()")
    limited = with_capabilities(*THREE, user=0)
    with spawned(["unshare", "-n", *limited, "/usr/bin/python3", "-S", "-c", listening],
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        port = other.stdout.readline().strip()
        namespace = os.readlink(f"/proc/{other.pid}/ns/net")
        with attached("--port", port, "--mode", "always", command=(*limited, COMMAND)) as a:
            assert a.end() == 0
    assert re.match(r"unstall attach: \d+ network namespaces? could not be entered "
                    rf"\(.*{re.escape(namespace)} of python3 \({other.pid}\)", a.said)
    assert LEFT_ALONE in a.said


def test_a_network_namespace_that_may_not_be_entered_is_told_and_the_connection_there_keeps_its_stall():
    shell = f"ip link set lo up && exec /usr/bin/python3 -S {ACTOR} stall 1.5 0 waits"
    actor = subprocess.Popen(["unshare", "-n", "sh", "-c", shell], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    three = (*with_capabilities(*THREE, user=0), COMMAND)
    try:
        assert actor.stdout.readline().startswith("port")
        with attached(actor.pid, "--mode", "always", command=three) as a:
            assert a.said.startswith("unstall attach: 1 process may be in network namespaces that "
                                     f"are not known (python3 ({actor.pid})): {LEFT_ALONE}\n")
            actor.stdin.write("\n")
            actor.stdin.flush()
            assert int(actor.stdout.readline().split()[1]) < 100  # 35, with stalls
    finally:
        actor.kill()
        actor.communicate()
