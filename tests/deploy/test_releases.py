# SPDX-License-Identifier: MIT
"""scripts/releases: what it refuses it refuses in one line before any work, whatever ends it leaves nothing,
and its table keeps the last runs.  What it finds on a release is for .ci/run and for the runs by hand."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from made import run

from harness import SOURCE_ROOT, bare_env, need_root

SCRIPT = SOURCE_ROOT / "scripts/releases"
RELEASE = "bookworm"
PATIENCE_S = 300

pytestmark = pytest.mark.no_library


@pytest.fixture(autouse=True)
def root_only():
    need_root("may make a root")


def readable(path):
    with contextlib.suppress(OSError):  # a process that has just ended
        return path.read_text(encoding="utf-8", errors="replace")
    return ""


def left_of(folder, pid):
    """What a run whose temporary folder this is, and whose id that was, has left: mounts, also in namespaces
    of processes that go on, cgroups and files."""
    mounts = [f"process {path.parent.name} has it mounted" for path in Path("/proc").glob("[0-9]*/mountinfo")
              if str(folder) in readable(path)]
    groups = [path for top in {line.split()[4] for line in readable(Path("/proc/self/mountinfo")).splitlines()
                               if " - cgroup2 " in line}
              for path in Path(top).rglob(f"unstall-releases-{pid}")]
    return [*mounts, *groups, *folder.iterdir()]


def users():
    return [Path(name).read_text(encoding="utf-8") for name in ("/etc/passwd", "/etc/group")]


# What is missing -> the words before the script, the release, a word of its line.
REFUSED = {
    "a release": ([], "no-such-release", "has no release no-such-release"),
    "a name": ([], "../bookworm", "'../bookworm' is no name of a release"),
    "a network": (["unshare", "--net"], RELEASE, "no way to the package source"),
    "root's rights": (["setpriv", "--reuid=65534", "--clear-groups"], RELEASE, "only root"),
    "the right to mount": (["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"], RELEASE,
                           "no right to make a root here"),
    "mmdebstrap": (["env", "PATH=OTHERS"], RELEASE, "mmdebstrap is missing; apt-get install mmdebstrap"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_without_it_one_line_says_so_before_any_work(what, tmp_path):
    before, release, words = REFUSED[what]
    place, others = tmp_path / "place", tmp_path / "others"
    place.mkdir()
    others.mkdir()
    for path in Path("/usr/bin").iterdir():
        if path.name != "mmdebstrap":
            (others / path.name).symlink_to(path)
    known = users()
    with subprocess.Popen([word.replace("OTHERS", str(others)) for word in before] + [SCRIPT, release],
                          env=bare_env(TMPDIR=place), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as script:
        said, complaint = script.communicate(timeout=PATIENCE_S)
    assert (script.returncode, said) == (1, "")
    assert words in complaint and complaint.count("\n") == 1 and complaint.startswith("releases: ")
    assert left_of(place, script.pid) == [] and users() == known


# A root at once: this machine's programs.  The clone, the user, the build and nginx are those of each run.
AS_THIS_MACHINE = """#!/bin/bash
set -euo pipefail
root=${@: -2:1}
mkdir -p "$root"/{usr,proc,sys,dev,home,run,var} "$root/tmp"
chmod 1777 "$root/tmp"
cp -a /etc "$root"
for name in bin sbin lib lib32 lib64 libx32; do
    [[ ! -L /$name ]] || cp -a "/$name" "$root"
done
for name in usr var; do
    mount --bind "/$name" "$root/$name"
    mount -o remount,bind,ro "$root/$name"
done
"""

# When -> the words that it has said by then.
MOMENTS = {"mmdebstrap works": "making a root", "a user builds": "building"}


@pytest.mark.parametrize("number, whole_group", [(signal.SIGINT, True), (signal.SIGTERM, False)],
                         ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_ends_it_and_nothing_is_left(moment, number, whole_group, tmp_path):
    place, tools = tmp_path / "place", tmp_path / "tools"
    place.mkdir()
    tools.mkdir()
    if moment == "a user builds":
        (tools / "mmdebstrap").write_text(AS_THIS_MACHINE, encoding="utf-8")
        (tools / "mmdebstrap").chmod(0o755)
    env = bare_env(TMPDIR=place, PATH=f"{tools}:{os.environ['PATH']}")
    known, results = users(), run("git", "-C", SOURCE_ROOT, "status", "--porcelain", "docs")
    with open(tmp_path / "said", "w+", encoding="utf-8") as said, \
            subprocess.Popen([SCRIPT, RELEASE], env=env, stdin=subprocess.DEVNULL, stdout=said,
                             stderr=subprocess.STDOUT, start_new_session=True) as script:
        end = time.monotonic() + PATIENCE_S
        while MOMENTS[moment] not in readable(tmp_path / "said") or not list(place.glob("*/root/*")):
            assert script.poll() is None and time.monotonic() < end, readable(tmp_path / "said")
            time.sleep(0.05)
        assert len(left_of(place, script.pid)) >= 2  # else nothing below would be found
        (os.killpg if whole_group else os.kill)(script.pid, number)
        assert script.wait(PATIENCE_S) == 128 + number, readable(tmp_path / "said")
    assert left_of(place, script.pid) == [] and users() == known
    assert "unshare" not in readable(tmp_path / "said")
    assert run("git", "-C", SOURCE_ROOT, "status", "--porcelain", "docs") == results


@pytest.fixture
def small_tree(tmp_path):
    """A committed tree with these scripts, where a stand-in for the root leaves a sum and a row each time."""
    tree = tmp_path / "tree"
    shutil.copytree(SOURCE_ROOT / "scripts", tree / "scripts")
    (tree / "docs/results").mkdir(parents=True)
    git = ["git", "-C", tree, "-c", "user.name=a", "-c", "user.email=a"]
    run("git", "init", "--quiet", tree)
    run(*git, "commit", "--quiet", "--allow-empty", "-m", "one")

    def runs(*outcomes, release=RELEASE, code=0):
        for cases, row in outcomes:
            text = f"#!/bin/bash\n{cases and f'echo {cases} >$2/sum'}\nprintf '{row}' >$2/row\nexit {code}\n"
            (tree / "scripts/lib/in-release.sh").write_text(text, encoding="utf-8")
            done = subprocess.run([tree / "scripts/releases", release], env=bare_env(TMPDIR=tmp_path),
                                  check=False, capture_output=True, text=True, timeout=PATIENCE_S)
        table = (tree / "docs/results/releases.md").read_text(encoding="utf-8").splitlines()
        return done, table, [line.split(" | ")[2:] for line in table if line.startswith("| 2")]
    return runs


def test_the_table_keeps_the_last_three_runs_of_each_release(small_tree):
    small_tree(("5 0", "system\\ndemo\\ntest\\n1\\n"), release="trixie")
    done, table, rows = small_tree(*[("5 0", f"system\\ndemo\\nrun {number}\\n9\\n") for number in range(4)])
    assert table[0] == "<!-- scripts/releases RELEASE... has made this file: each run adds a row. -->"
    assert rows == [["trixie", "system", "demo", "test", "1 |"],
                    *[[RELEASE, "system", "demo", f"run {number}", "9 |"] for number in (1, 2, 3)]]
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "5 passed, 0 failed")


# The sum that the run in the root has, its exit code -> the last line.
SUMS = {"a failure": ("4 1", 0, "4 passed, 1 failed"), "no sum": ("", 0, "0 passed, 1 failed"),
        "an error behind a good sum": ("4 0", 1, "4 passed, 1 failed"),
        "nothing": ("0 0", 0, "0 passed, 0 failed")}


@pytest.mark.parametrize("what", SUMS)
def test_what_went_wrong_in_a_root_is_in_the_sum(what, small_tree):
    cases, code, last = SUMS[what]
    done, _, _ = small_tree((cases, "system\\ndemo\\ntest\\n1\\n"), code=code)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, last)
