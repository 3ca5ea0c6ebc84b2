# SPDX-License-Identifier: MIT
"""unstall attach --all, in a container: what it has for the whole host is one cgroup of this host.

On the host itself --all would cure the connections of all tests that run beside.
"""

import contextlib
import os
import re
import subprocess

from unreached import is_cured, stalls, talking

from harness import COMMAND, bare_env, cgroup, cgroup_mount


@contextlib.contextmanager
def container(enter):
    """run(WORD...) runs `unstall WORD...` in a namespace whose root cgroup is the one that `enter` enters."""
    there = cgroup_mount()
    mounts = f"umount -l {there} && mount -t cgroup2 none {there} && mount -t bpf none /sys/fs/bpf"
    words = ["unshare", "--mount", "--cgroup", "sh", "-c", f"{mounts} && echo up && cat"]
    with subprocess.Popen(words, preexec_fn=enter, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as inside:
        assert inside.stdout.readline() == b"up\n"

        def run(*words):
            entered = ["nsenter", "--target", str(inside.pid), "--mount", "--cgroup", COMMAND, *words]
            return subprocess.run(entered, capture_output=True, text=True, check=False, env=bare_env())
        try:
            yield run
        finally:
            inside.stdin.close()


def test_all_connections_are_cured_and_detach_all_puts_them_back():
    with cgroup(f"unstall-{os.getpid()}") as (_, enter), container(enter) as run, \
            talking(before=enter) as one, talking(before=enter) as two, talking() as outside:
        assert stalls(one) and stalls(two)
        done = run("attach", "--all", "--mode", "always", "--detach")
        assert done.returncode == 0
        assert done.stderr.endswith("unstall attach: this host: TCP_NODELAY on every connection that lacks "
                                    "it; `unstall detach all` puts all back\n")
        assert is_cured(one) and is_cured(two) and stalls(outside)
        two.say("new")
        assert is_cured(two)
        listed = run("attach", "--list").stdout
        assert re.fullmatch(r"all +this host, mode always, since \S+, 3 cured; detached\n", listed)
        done = run("detach", "--all")
        assert done.returncode == 0
        assert run("attach", "--list").stdout == ""
        assert run("detach", "--all").stdout == "nothing is attached\n"  # it said nothing
        assert stalls(one) and stalls(two)
        assert one.reads_back() == two.reads_back() == {0}
