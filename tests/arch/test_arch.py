# SPDX-License-Identifier: MIT
"""The library of another architecture builds without a warning and cures in each mode that is to cure, but on
an unknown processor in none; the 64-bit command reads the counts of a 32-bit program."""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest
from architectures import SCRIPT, judged

from harness import SOURCE_ROOT, bare_env, patiently, unstall

pytestmark = pytest.mark.no_library

MODES = ("off", "observe", "nodelay", "cork", "coalesce", "auto")


@pytest.mark.parametrize("architecture", ["i386", "unknown"])
def test_it_builds_and_cures_as_promised(architecture):
    times = patiently(lambda: judged(architecture), 3)
    assert set(times) == {"bare", *MODES}


def test_the_library_of_an_unknown_processor_only_passes_and_the_build_says_so():
    judged("unknown")
    build = SOURCE_ROOT / "build-unknown"
    done = subprocess.run(["nm", "-D", "--defined-only", build / "src/preload/libunstall.so"], check=True,
                          text=True, capture_output=True)
    names = {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}
    assert "write" in names and "fork" in names
    assert names & {"vfork", "__vfork", "syscall"} == set()
    log = (build / "meson-logs/meson-log.txt").read_text(encoding="utf-8")
    assert re.search(r"WARNING: jump\.S has no part for \w+: the library passes every call through", log)


def test_the_command_reads_the_statistics_of_a_32_bit_program():
    judged("i386")
    build = SOURCE_ROOT / "build-i386"
    assert (build / "exchange").read_bytes()[4] == 1, "no 32-bit program"
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.chmod(folder, 0o700)
        subprocess.run([build / "exchange"], check=True, timeout=60, stdout=subprocess.DEVNULL,
                       env=bare_env(LD_PRELOAD=build / "src/preload/libunstall.so", UNSTALL_MODE="observe",
                                    UNSTALL_STATS=folder))
        assert list(Path(folder).iterdir())
        said = json.loads(unstall("report", "--json", folder, check=True).stdout)
    assert said["verdict"]["kind"] == "stalls", said["verdict"]
    assert "in two small writes" in said["verdict"]["sentence"]


def test_an_architecture_that_there_is_not():
    done = subprocess.run([SCRIPT, "vax"], env=bare_env(), check=False, text=True, capture_output=True)
    assert done.returncode == 1
    assert "no architecture vax; there are: i386 " in done.stderr


def test_an_option_of_another_architecture():
    done = subprocess.run([SCRIPT, "--unit", "i386"], env=bare_env(), check=False, text=True,
                          capture_output=True)
    assert done.returncode == 1 and " is for " in done.stderr
