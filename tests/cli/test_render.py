# SPDX-License-Identifier: MIT
"""--html of each verb: Python draws the page from the JSON that --json prints, and nothing else; where it
cannot, the verb says so before any work."""

import base64
import html
import json
import os
import re
import shutil
import subprocess

import pytest
from stats_files import STALLING, make_stats_file
from test_explain_capture import published

from harness import COMMAND, SOURCE_ROOT, bare_env, run, skip, unstall

# Runs the words behind it where Python cannot be run, in a mount namespace of its own.
NO_PYTHON = 'mount --bind /dev/null /usr/bin/python3 && exec "$@"'
VERBS = ("scan", "report", "observe", "explain")


def words_of(verb, folder):
    """What the verb is to report, without its form."""
    if verb == "report":
        return [make_stats_file(folder / "1-2.unstall", STALLING)]
    if verb == "explain":
        (folder / "a.pcap").write_bytes(published().pcap())
        return [folder / "a.pcap"]
    return ["--time", "60"] if verb == "scan" else ["--", "touch", folder / "ran"]


@pytest.mark.parametrize("verb", VERBS)
def test_without_python_a_page_is_refused_before_any_work(tmp_path, verb):
    page = tmp_path / "page.html"
    done = run(["unshare", "--mount", "sh", "-c", NO_PYTHON, "sh", COMMAND, verb, "--html", page,
                *words_of(verb, tmp_path)], bare_env(), check=False)
    if "unshare failed" in done.stderr:
        skip("no mount namespace can be made here")
    assert (done.returncode, done.stdout, done.stderr) == (
        125, "", f"unstall {verb}: --html {page}: /usr/bin/python3 draws the page: Permission denied; "
        "install python3, or take --json\n")
    assert not page.exists() and not (tmp_path / "ran").exists()


@pytest.fixture(name="elsewhere")
def the_command_elsewhere(tmp_path):
    """A copy of the command in a folder of its own, without its parts."""
    (tmp_path / "bin").mkdir()
    return shutil.copy(COMMAND, tmp_path / "bin/unstall")


@pytest.mark.parametrize("verb", VERBS)
def test_likewise_without_the_part_that_draws(tmp_path, elsewhere, verb):
    page = tmp_path / "page.html"
    done = run([elsewhere, verb, "--html", page, *words_of(verb, tmp_path)], bare_env(), check=False)
    assert done.returncode == 125 and not page.exists() and not (tmp_path / "ran").exists()
    assert re.fullmatch(rf"unstall {verb}: --html {page}: what draws the page is not in \S+/pages, relative "
                        r"to the folder of this command; install it, or take --json\n", done.stderr)


def test_a_page_that_could_not_be_drawn_takes_the_place_of_none(tmp_path, elsewhere):
    """Half a page was written, then the renderer failed."""
    page = tmp_path / "page.html"
    page.write_text("an older page", "utf-8")
    (tmp_path / "bin/pages").mkdir()
    (tmp_path / "bin/pages/__main__.py").write_text("print('<!DOCTYPE html>')\nraise SystemExit(3)\n")
    done = run([elsewhere, "report", "--html", page, *words_of("report", tmp_path)], bare_env(), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        125, "", f"unstall report: --html {page}: the page could not be drawn\n")
    assert page.read_text("utf-8") == "an older page"
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "bin", "1-2.unstall"}


def test_the_environment_of_a_program_is_not_that_of_the_renderer(tmp_path):
    """It would be preloaded, or take modules from elsewhere.  The linker complains once, of the command."""
    page = tmp_path / "page.html"
    done = unstall("report", "--html", page, *words_of("report", tmp_path), check=True,
                   env=bare_env(PYTHONPATH=tmp_path, LD_PRELOAD="/no/such/library.so", PYTHONHOME=tmp_path))
    assert page.exists() and done.stderr.count("/no/such/library.so") == 1


def kept_in(page):
    """The JSON that a page has in it."""
    return json.loads(base64.b64decode(
        re.search(r'<a download="unstall-\w+\.json" href="data:application/json;base64,([^"]*)">', page)[1]))


@pytest.mark.parametrize("verb", ["scan", "report", "explain"])
def test_the_json_is_all_that_a_page_is_drawn_from(tmp_path, verb):
    """The same page comes from what --json has printed; and the page has that in it."""
    words = ["--time", "0.2", "--port", "1"] if verb == "scan" else words_of(verb, tmp_path)
    page = unstall(verb, "--html", "-", *words).stdout
    told = json.dumps(kept_in(page))
    drawn = subprocess.run(["/usr/bin/python3", "-B", SOURCE_ROOT / "src/pages"], input=told, check=True,
                           capture_output=True, text=True, encoding="utf-8").stdout
    assert drawn == page and page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n")
    made = kept_in(page)[0] if verb == "explain" else kept_in(page)
    kernel, host = os.uname().release, os.uname().nodename  # a page in a ticket said neither where nor when
    origin = re.search(rf"<p>(\S+ \S+) \S+ on {host}, Linux {re.escape(kernel)}, by unstall \S+: (.*)</p>",
                       page)
    assert origin[1] == made["made"]["at"][:19].replace("T", " ")
    assert f"unstall {verb} --html - " in html.unescape(origin[2])
    if verb != "scan":  # another scan has other numbers
        first = kept_in(page)
        second = json.loads(unstall(verb, "--json", *words).stdout)
        for one in (first, second):
            (one[0] if verb == "explain" else one).pop("made")
        for one in (first, second) if verb == "report" else ():
            one.pop("taken_monotonic_ns")
        assert first == second
