# SPDX-License-Identifier: MIT
"""Programs that we are not in, come into late, or may not touch."""

import os
import re
import shutil
import subprocess
import tempfile

import pytest

from clients import EXCHANGES, binary, checking_peer
from harness import CURING_MODES, LIB, MODES, bare_env, mode_env, preload_env, run, skip

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


# ---- programs with more rights than their user -----------------------------

@pytest.fixture(scope="module", name="set_user_id")
def fixture_set_user_id():
    """A program that runs as root with any caller.  It lies in a folder of its own: each pytest that starts
    closes the one above tmp_path for other users."""
    as_root = [] if ROOT else ["sudo", "-n"]
    if as_root and subprocess.run([*as_root, "true"], check=False, capture_output=True).returncode != 0:
        skip("neither root nor sudo without a password")
    with tempfile.TemporaryDirectory(prefix="unstall-setuid-") as folder:
        os.chmod(folder, 0o755)
        program = shutil.copy(binary("put_write"), folder)
        subprocess.run([*as_root, "chown", "root:root", program], check=True)
        subprocess.run([*as_root, "chmod", "4755", program], check=True)
        yield program


def as_nobody():
    """Start as another user than root."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] if ROOT else []


@pytest.mark.parametrize("mode", ["cork", "auto"])
def test_set_user_id_by_a_path(set_user_id, mode, tmp_path):
    """ld.so(8) leaves a library with a path in its name out."""
    tmp_path.chmod(0o777)
    env = [f"LD_PRELOAD={LIB}", f"UNSTALL_MODE={mode}", f"UNSTALL_REPORT={tmp_path}/report"]
    with checking_peer() as peer:
        done = run([*as_nobody(), "env", *env, set_user_id, *peer.target, EXCHANGES], bare_env())
    assert '"loaded": false' in done.stdout
    assert "UNSTALL" not in done.stderr and not (tmp_path / "report").exists()


def in_the_standard_folder(folder):
    """A command that runs the next one where the library lies, set-user-ID, in the linker's own folder."""
    lower = "/usr/lib"
    options = f"lowerdir={lower},upperdir={folder}/upper,workdir={folder}/work"
    script = (f'mount -t overlay overlay -o "{options}" {lower} && '
              'exec "$@"')
    return ["unshare", "--mount", "--", "/bin/sh", "-c", script, "sh"]


@pytest.mark.parametrize("variables", [
    {"UNSTALL_MODE": "cork"}, {"UNSTALL_MODE": "nonsense"},
    {"UNSTALL_NODELAY": "always", "UNSTALL_VERBOSE": "2"},
], ids=str)
def test_set_user_id_with_the_library_loaded(set_user_id, variables, tmp_path):
    """There it is loaded, ignores every variable and passes all through: no report, no warning, no cure."""
    if not ROOT:
        skip("an overlay over the linker's own folder needs root")
    (tmp_path / "upper").mkdir()
    (tmp_path / "work").mkdir()
    tmp_path.chmod(0o777)
    shutil.copy(LIB, tmp_path / "upper/libunstall.so")
    (tmp_path / "upper/libunstall.so").chmod(0o4755)
    env = [f"{name}={value}"
           for name, value in {"LD_PRELOAD": "libunstall.so", "UNSTALL_LOG": f"{tmp_path}/log",
                                                 "UNSTALL_REPORT": f"{tmp_path}/report", **variables}.items()]
    with checking_peer() as peer:
        done = run([*in_the_standard_folder(tmp_path), *as_nobody(), "env", *env, set_user_id, *peer.target,
                    EXCHANGES],
                   bare_env())
    assert '"loaded": true' in done.stdout
    assert done.stderr == ""
    assert {path.name for path in tmp_path.iterdir()} == {"upper", "work"}


