# SPDX-License-Identifier: MIT
"""Programs that we are not in, come into late, or may not touch."""

import os
import re
import shutil

import pytest

from clients import EXCHANGES, binary, checking_peer
from harness import CURING_MODES, LIB, MODES, bare_env, mode_env, preload_env, run

ALL = ("bare", *MODES)
ROOT = os.geteuid() == 0

# ---- where no preload reaches ----------------------------------------------


@pytest.mark.parametrize("mode", CURING_MODES)
@pytest.mark.parametrize("flags", [("-static",), ("-static-pie", "-fPIE")], ids=["static", "static-pie"])
def test_a_static_program_does_not_notice(flags, mode):
    with checking_peer() as peer:
        done = run([binary("put_write", *flags), *peer.target, EXCHANGES], preload_env(mode))
    assert '"loaded": false' in done.stdout
    assert done.stderr == ""


# ---- loaded late -----------------------------------------------------------

@pytest.mark.parametrize("mode", MODES)
def test_loaded_late_and_let_go(mode):
    """Its names held bytes and started the window's thread: dlclose unmaps nothing that the thread needs."""
    with checking_peer() as peer:
        run([binary("late"), *peer.target, EXCHANGES, 0, LIB], bare_env(UNSTALL_MODE=mode), timeout=20)


@pytest.mark.parametrize("mode", MODES)
def test_loaded_late_though_it_is_there(mode):
    with checking_peer() as peer:
        run([binary("late_again"), *peer.target, EXCHANGES, 0, LIB], preload_env(mode), timeout=20)


# ---- a root without /proc, with nothing but the libraries ------------------

def files_of(program):
    """The program and all that the dynamic linker loads for it, us included."""
    listed = run(["ldd", program], bare_env()).stdout + run(["ldd", LIB], bare_env()).stdout
    return {str(program), str(LIB), *re.findall(r"(/[^\s()]+)", listed)}


@pytest.mark.parametrize("mode", ALL)
def test_in_a_root_of_its_own(mode, tmp_path):
    program = binary("put_write")
    for path in files_of(program):
        target = tmp_path / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    room = (["/usr/sbin/chroot", tmp_path] if ROOT else
            ["unshare", "--map-root-user", "--root", tmp_path, "--"])
    env = [f"{name}={value}" for name, value in mode_env(mode, UNSTALL_REPORT="stderr").items()
           if name.startswith(("UNSTALL_", "LD_PRELOAD"))]
    # env is not in there: it sets the variables for chroot itself, which is left at once
    with checking_peer() as peer:
        done = run(["env", *env, *room, program, *peer.target, EXCHANGES], bare_env(), timeout=20)
    assert ("put_write" in done.stderr) is (mode != "bare")
