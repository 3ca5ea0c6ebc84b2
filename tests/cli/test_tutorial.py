# SPDX-License-Identifier: MIT
"""docs/tutorial.md: its blocks behave as the text says."""

import re
import shutil
import statistics
import subprocess

import pytest

from harness import COMMAND, SOURCE_ROOT, bare_env, free_port, patiently

PAGE = SOURCE_ROOT / "docs" / "tutorial.md"
SECONDS = 600  # for a block that hangs
WARM = 3  # the first exchanges of a connection do not stall


def blocks(port):
    """The commands of the page, with a port that is free here."""
    found = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [block.replace("8080", str(port)) for block in found]


def run_all(folder):
    """The output of the whole page; each block must end, and its processes with it."""
    (folder / "bin").mkdir()
    (folder / "bin" / "unstall").symlink_to(COMMAND)
    (folder / "bin" / "python3").symlink_to("/usr/bin/python3")
    env = bare_env(LC_ALL="C.UTF-8", PATH=f"{folder}/bin:/usr/bin:/bin", HOME=folder, no_proxy="*")
    shell = subprocess.Popen(["bash", "-c", "\n".join(blocks(free_port()))], cwd=folder, env=env, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        return shell.communicate(timeout=SECONDS)[0]
    finally:
        if shell.poll() is None:
            subprocess.run(["kill", "--", f"-{shell.pid}"], check=False)
            shell.communicate()


def median(path):
    """Of the exchanges, in ms."""
    times = [1e3 * float(line) for line in path.read_text("utf-8").splitlines()]
    assert len(times) == 20
    return statistics.median(times[WARM:])


@pytest.mark.no_library
def test_the_page_cures_and_proves_it(tmp_path):
    def attempt():
        folder = tmp_path / "page"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        printed = run_all(folder)
        assert median(folder / "before") > 30, printed
        assert median(folder / "after") < 5, printed
        assert median(folder / "switchable") < 5, printed
        assert median(folder / "off") > 30, printed
        assert median(folder / "mended") < 5, printed
        report = " ".join((folder / "report.txt").read_text("utf-8").split())
        assert "it sends each answer in two small writes and Nagle holds the second" in report
        assert "unstall run --mode auto -- python3 server.py" in report
        assert re.search(r"auto wins|auto is \d", printed), printed

    patiently(attempt)
