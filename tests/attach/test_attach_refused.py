# SPDX-License-Identifier: MIT
"""What unstall attach and detach refuse: one line says why, and nothing is changed."""

import os
import resource
import subprocess

import pytest
from attachments import attached
from unreached import PINS, is_cured, stalls, talking

from harness import COMMAND, NOBODY, bare_env, command_of_everybody, run, second_thread, spawned, unstall


def test_a_second_attach_to_the_same_is_refused_and_changes_nothing():
    with talking() as talker, attached(talker.pid):
        done = unstall("attach", talker.pid)
        assert done.returncode == 125 and "attached already" in done.stderr
        assert is_cured(talker)


def test_a_second_attach_that_cannot_be_loaded_changes_nothing_either():
    """It ended the first one, which has the same name."""
    with talking() as talker, attached(talker.pid):
        done = unstall("attach", talker.pid,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10)))
        assert done.returncode == 125 and "attached already" not in done.stderr
        assert is_cured(talker) and f"pid-{talker.pid}" in unstall("attach", "--list").stdout


@pytest.mark.parametrize("words, why", [
    (["2147483647"], "2147483647: no such process; give the id of a running one"),
    (["--cgroup", "/no/such"], "no such cgroup"),
    (["--unit", "no-such-unit"], "no-such-unit.service: no such unit runs"),
    (["--container", "no-such-container"], "no such container runs"),
    (["nginx"], "nginx: expected the id of a process, or a target by an option; try --help"),
    (["1", "2"], "2: one PID at a time; try --help"),
    ([], "give one target"),
    (["1", "--all"], "give one target"),
    (["--list", "--all"], "--list shows all that is attached; give it no target"),
    (["--port", "70000"], "--port"),
    (["--mode", "fast", "1"], "--mode fast: expected proof or always"),
    (["--mode", "late", "1"], "--mode late: there is no such mode any more; use --mode always, which cures "),
])
def test_one_clear_line_says_what_is_wrong(words, why):
    done = unstall("attach", *words)
    assert done.returncode == 125 and done.stderr.count("\n") == 1 and why in done.stderr
    assert not PINS.exists()


def test_detach_of_nothing_says_so():
    done = unstall("detach", str(os.getpid()))
    assert done.returncode == 125 and "nothing is attached there" in done.stderr
    done = unstall("detach", "nginx")
    assert done.returncode == 125
    assert done.stderr == ("unstall detach: nginx: expected the id of a process, or a name that "
                           "`unstall attach --list` shows\n")


def in_own_mounts(script):
    return subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False)


def test_a_kernel_without_its_types():
    done = in_own_mounts(f"mount -t tmpfs none /sys/kernel/btf && exec {COMMAND} attach --port 1")
    assert done.returncode == 125 and done.stderr.count("\n") == 1 and "CONFIG_DEBUG_INFO_BTF" in done.stderr


def test_a_missing_bpf_file_system_is_mounted():
    """Nothing was cured: the command asked for it, or fell back to looking each second."""
    done = in_own_mounts(f"mount -t tmpfs none /sys/fs/bpf && {COMMAND} attach --detach --port 1 && "
                         f"stat -f -c %T /sys/fs/bpf && {COMMAND} attach --list && {COMMAND} detach --all")
    assert done.returncode == 0
    assert done.stderr.startswith("unstall attach: no BPF file system was at /sys/fs/bpf, so one is mounted "
                                  "there now\n")
    assert "unstall attach: port 1: TCP_NODELAY " in done.stderr
    assert done.stdout.startswith("bpf_fs\nport-1 ") and "detached" in done.stdout


def test_where_none_can_be_mounted_it_says_why():
    """In a container /sys is read-only, and has no such folder."""
    done = in_own_mounts(f"mount -t tmpfs none /sys/fs && mount -o remount,ro /sys/fs && "
                         f"exec {COMMAND} attach --port 1")
    assert done.returncode == 125
    assert done.stderr == ("unstall attach: no BPF file system is at /sys/fs/bpf, and none can be mounted "
                           "here (Read-only file system); give a container that of its host: docker run "
                           "-v /sys/fs/bpf:/sys/fs/bpf\n")


@pytest.mark.parametrize("words, needs", [
    (["attach", "--port", "1"], "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"),
    (["attach", "--detach", "--all"], "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"),
    (["scan", "--source", "exact"], "CAP_BPF and CAP_PERFMON"),
])
def test_in_a_rootless_container_what_is_missing_is_said(words, needs):
    """Root of a user namespace has CAP_SYS_ADMIN, within: it was told to mount a BPF file system, or that
    the kernel refuses the programs for reasons which --verbose 2 shows."""
    with command_of_everybody() as command:
        done = run(["unshare", "-Ur", command, *words], bare_env(), check=False, user=NOBODY, cwd="/")
    assert done.returncode == 125 and done.stderr.count("\n") == 1
    assert (f"it needs {needs} of the host, and a user namespace, as that of a rootless container, gives "
            "none of them") in done.stderr
    assert "mount" not in done.stderr and "verbose" not in done.stderr


def test_without_privilege_an_end_without_a_cure_says_so():
    """It was "0 connections had been cured" with exit code 0, as after a success."""
    with spawned(["sleep", "300"], user=NOBODY) as idle:
        with attached(idle.pid, user=NOBODY) as a:
            code = a.end()
    assert code == 1
    assert f"process {idle.pid}: nothing was cured: it has made no connection that lasted a second" in a.said


def without_cgroup_v2(*words):
    script = "umount -l $(awk '$9 == \"cgroup2\" || $10 == \"cgroup2\" {print $5}' /proc/self/mountinfo) && "
    return run(["unshare", "-m", "sh", "-c", f'{script} exec "$@"', "sh", *words], bare_env(), check=False)


def test_without_cgroup_v2():
    done = without_cgroup_v2(COMMAND, "attach", "--port", "1")
    assert done.returncode == 125 and done.stderr.count("\n") == 1
    assert "cgroup v2 is not mounted" in done.stderr


def test_without_cgroup_v2_a_process_is_cured_as_without_privilege():
    """In `ip netns exec`, which hides it, root was told to mount it, and one without rights needs none."""
    with talking() as talker:
        done = without_cgroup_v2("timeout", "--signal=INT", "2", COMMAND, "attach", talker.pid)
    assert "cannot be loaded: cgroup v2 is not mounted here; " in done.stderr
    assert f"process {talker.pid}: put back; 1 connection had been cured" in done.stderr


def test_a_refusal_of_the_kernel_is_one_line_and_its_log_is_for_verbose_2():
    """RLIMIT_NOFILE leaves no descriptor for the programs."""
    def refused(*words):
        return run(["prlimit", "--nofile=5", COMMAND, "attach", "--port", "1", *words], bare_env(),
                   check=False)
    done = refused()
    assert done.returncode == 125 and done.stderr.count("\n") == 1 and "--verbose 2" in done.stderr
    assert "libbpf" not in done.stderr and "libbpf" in refused("--verbose", "2").stderr
    assert not PINS.exists()


def test_without_privilege_nothing_else():
    with talking() as talker:
        done = unstall("attach", talker.pid, user=NOBODY)
        assert done.returncode == 125 and done.stderr.count("\n") == 1 and "CAP_BPF" in done.stderr
        done = unstall("attach", "--port", "1", user=NOBODY)
        assert done.returncode == 125 and "it needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN" in done.stderr
        done = unstall("attach", talker.pid, "--quickack", user=NOBODY)
        assert done.returncode == 125 and "CAP_BPF" in done.stderr and done.stderr.count("\n") == 1
        assert stalls(talker)


def test_without_privilege_a_process_with_more_rights_is_refused():
    """Its descriptors may be listed and not be read: it was told that its connections are cured, and at the
    end that it has made none."""
    with talking() as talker:
        done = subprocess.run(["setpriv", "--bounding-set=-all", "--inh-caps=-all", COMMAND, "attach",
                               str(talker.pid)], capture_output=True, text=True, check=False, timeout=20)
        assert done.returncode == 125
        assert f"{talker.pid}: its sockets may not be taken (Operation not permitted); BPF" in done.stderr


def test_without_privilege_the_id_of_a_thread_is_refused_too():
    """It was `its sockets may not be taken (No such file or directory)`."""
    with second_thread() as thread:
        done = unstall("attach", thread, user=NOBODY)
    assert done.returncode == 125
    assert done.stderr == (f"unstall attach: {thread}: is a thread of process {os.getpid()}; give the id of "
                           "the process\n")
