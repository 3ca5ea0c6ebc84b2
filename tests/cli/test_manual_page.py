# SPDX-License-Identifier: MIT
"""unstall(1) and --help name the same verbs and options, both ways."""

import os
import re
import subprocess

import pytest
from test_command import VERBS

from harness import COMMAND, SOURCE_ROOT, bare_env, filled_manual, run, skip, unstall

MANUAL = (SOURCE_ROOT / "docs/unstall.1.scd").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## unstall (\w+)\n(.*?)(?=^## |^# )", MANUAL, re.MULTILINE | re.DOTALL))

# verbs that start a program take the options of run, which are explained there
LAUNCHING = {"observe", "ab"}


def help_of(verb):
    return unstall(verb, "--help").stdout


def options_in_help(verb):
    return set(re.findall(r"^  (--[a-z-]+)", help_of(verb), re.MULTILINE)) - {"--help"}


def options_in_manual(verb):
    """The terms of a section: "*--mode* _mode_" lines."""
    terms = re.findall(r"^\*-.*$", SECTIONS.get(verb, ""), re.MULTILINE)
    return set(re.findall(r"\*(--[a-z-]+)\*", "\n".join(terms)))


def test_the_manual_has_a_section_for_each_verb_and_no_other():
    assert set(SECTIONS) == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_manual_and_help_have_the_same_options_and_the_usage(verb):
    explained = options_in_manual(verb) | (options_in_manual("run") if verb in LAUNCHING else set())
    assert options_in_help(verb) - explained == set()
    assert options_in_manual(verb) - options_in_help(verb) == set()
    assert f"*unstall {verb}*" in SECTIONS[verb] or f"*unstall* *{verb}*" in SECTIONS[verb]


def test_the_manual_becomes_a_page_without_complaint():
    page = subprocess.run(["scdoc"], input=filled_manual("unstall.1"), check=True, capture_output=True,
                          text=True)
    assert page.stderr == ""
    assert not re.search(r"@[A-Z]+@", page.stdout)


def test_the_example_that_switches_a_server_works_as_it_is_typed(tmp_path):
    """The folder was not made: `run --stats` refused it."""
    if os.geteuid() != 0:
        skip("only root may have another /dev/shm")
    (tmp_path / "unstall").symlink_to(COMMAND)
    server = tmp_path / "server"
    server.write_text("#!/usr/bin/python3\nimport socket, time\n"
                      "s = socket.create_server(('127.0.0.1', 0))\nopen('ready', 'w')\ntime.sleep(60)\n",
                      encoding="ascii")
    server.chmod(0o755)
    example = MANUAL.partition("Turn the cure off in a running server, and on again:\n")[2].partition("#")[0]
    lines = example.replace("./server", "./server & until test -e ready; do sleep 0.1; done")
    script = f"mount -t tmpfs none /dev/shm && PATH=.:$PATH\n{lines}\nkill $!"
    done = run(["unshare", "-m", "sh", "-c", script], bare_env(), cwd=tmp_path)
    assert done.stdout.count("written; it takes effect when the next message begins\n") == 2
