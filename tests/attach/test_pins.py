# SPDX-License-Identifier: MIT
"""The folder of what is pinned: another user's is refused, and a pin that was removed is made again."""

import shutil

import pytest
from attachments import attached
from unreached import PINS, is_cured, stalls, talking

from harness import AS_NOBODY, COMMAND, NOBODY, bare_env, run, unstall

AS_NOBODY = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups"
MAY_ATTACH = "--inh-caps=+bpf,+perfmon,+net_admin --ambient-caps=+bpf,+perfmon,+net_admin"


# ---- its owner ------------------------------------------------------------------


def elsewhere(*lines):
    """Output and errors of a shell with a BPF file system of its own, which all users may write to."""
    script = "\n".join([f"mount -t bpf bpf {PINS.parent}", f"pins={PINS}", f"unstall={COMMAND}", *lines])
    done = run(["unshare", "-m", "sh", "-c", script], bare_env(), check=False, timeout=120)
    return done.stdout, done.stderr


# what makes the folder -> what the refusal has
OTHERS = {
    f"{AS_NOBODY} mkdir -m 700 $pins": f"{PINS} belongs to user {NOBODY}, who may change what is pinned",
    f"{AS_NOBODY} mkdir -m 1777 $pins": f"{PINS} belongs to user {NOBODY}, who may change",
    "mkdir -m 755 $pins": f"{PINS} has mode 755, so other users may change what is pinned there",
    f"{AS_NOBODY} ln -s /root $pins": f"{PINS}: Not a directory",
}


@pytest.mark.parametrize("made", OTHERS)
@pytest.mark.parametrize("words", ["attach --detach --port 1", "attach --list", "detach --all",
                                   "detach --port 1"])
def test_a_folder_that_another_user_may_change_is_refused(made, words):
    """It was taken: its owner could hold the lock for ever, or rename what was pinned."""
    out, err = elsewhere(made, f"timeout 30 $unstall {words}; echo $?", "test -L $pins || ls -A $pins")
    assert out == "125\n" and err.count("\n") == 1 and OTHERS[made] in err, (out, err)


def test_a_user_with_the_capabilities_has_a_folder_of_his_own():
    """While it is there, all others are refused, also root."""
    user = f"{AS_NOBODY} {MAY_ATTACH} $unstall"
    out, err = elsewhere(f"{user} attach --detach --port 1 2>/dev/null; stat -c '%u %a' $pins",
                         "$unstall attach --detach --port 2; echo $?",
                         f"{user} attach --list | cut -d ' ' -f 1",
                         f"{user} detach --port 1 2>/dev/null; echo $?; ls -d $pins 2>/dev/null")
    assert out == (f"{NOBODY} 700\n125\nport-1\n"
                   "port 1: detached; all other connections have their own values back\n0\n"), (out, err)
    assert err.count("\n") == 1 and f"belongs to user {NOBODY}" in err


# ---- the way back is not there ------------------------------------------------------


@pytest.mark.parametrize("by", ["detach", "Ctrl-C"])
def test_a_removed_walk_back_is_made_again(by):
    """The end took its absence for `nothing was set`: it succeeded, and TCP_NODELAY stayed."""
    with talking() as talker, attached(talker.pid, "--mode", "always") as a:
        assert is_cured(talker)
        (PINS / f"pid-{talker.pid}/restore").unlink()
        if by == "detach":
            done = unstall("detach", talker.pid)
            assert (done.returncode, done.stderr) == (0, "")
        else:
            assert a.end() == 0 and "1 connection had been cured" in a.said
        assert not PINS.exists()
        assert stalls(talker) and talker.reads_back() == {0}


def test_without_the_record_of_the_sockets_the_rest_stays_and_one_line_says_so():
    with talking() as talker:
        folder = PINS / f"pid-{talker.pid}"
        assert unstall("attach", "--detach", talker.pid, "--mode", "always").returncode == 0
        try:
            for pin in ("restore", "sockets"):
                (folder / pin).unlink()
            for _ in range(2):
                done = unstall("detach", talker.pid)
                assert done.returncode == 125 and done.stderr.count("\n") == 1
                assert f"{folder}/restore is missing and cannot be made again" in done.stderr
                assert (folder / "events").exists() and folder.name in unstall("attach", "--list").stdout
        finally:
            shutil.rmtree(PINS)


def test_a_kernel_without_the_iterator_is_named():
    """It said `0: the process has ended meanwhile`."""
    types = "/sys/kernel/btf/vmlinux"
    _, err = elsewhere("types=$(mktemp)", f"LC_ALL=C sed -z s/^bpf_iter_tcp$/bpf_iter_tcq/ {types} > $types",
                       f"mount --bind $types {types}; rm $types", "$unstall attach --detach --port 1")
    assert err == ("unstall attach: the kernel has no iterator over TCP sockets (bpf_iter_tcp); --verbose 2 "
                   "shows more; nothing is changed\n")
