# SPDX-License-Identifier: MIT
"""Completion in bash, zsh and fish offers the options of --help, and the words that fit,
in the real shells."""

import os
import re

import pytest
import shells
from test_command import VERBS

from harness import COMMAND, stats_directory, unstall

MODES = {"off", "observe", "nodelay", "cork", "coalesce", "auto"}


def options_of(verb):
    """The options of `unstall VERB --help`."""
    return set(re.findall(r"^  (--[a-z-]+)", unstall(verb, "--help").stdout, re.MULTILINE)) | {"--help"}


def zsh_offers(line):
    """The options that zsh lists for a line."""
    _, listed = shells.zsh_typed(line)
    return set(re.findall(r"^(--[a-z-]+)  ", listed, re.MULTILINE))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("complete", [shells.bash, shells.fish])
def test_the_options_of_help_are_offered_and_no_others(complete, verb):
    assert set(complete(f"unstall {verb} --")) == options_of(verb)


def test_zsh_offers_the_options_of_help_and_no_others():
    for verb in ("run", "doctor", "set"):
        assert zsh_offers(f"unstall {verb} --") == options_of(verb)


@pytest.mark.parametrize("complete", [shells.bash, shells.fish])
def test_verbs(complete):
    assert set(complete("unstall ")) >= set(VERBS)
    assert set(complete("unstall --")) == {"--help", "--version"}
    assert complete("unstall help doc") == ["doctor"]


# the typed line -> all words that must be offered
OFFERED = {
    "unstall run --mode ": MODES,
    "unstall run --mode co": {"cork", "coalesce"},
    "unstall run --force --nodelay ": {"late", "always"},
    "unstall run --quickack al": {"always"},
    "unstall run --verbose ": {"0", "1", "2"},
    "unstall run --mode cork --overr": {"--override"},
    "unstall run --stats /dev/sh": {"/dev/shm/"},
    "unstall run /usr/bin/hostnamect": {"/usr/bin/hostnamectl"},
    "unstall run -- hostnamect": {"hostnamectl"},
    "unstall run --mode cork hostnamect": {"hostnamectl"},
    "unstall run --no-such-optio": set(),
    "unstall set 1 obs": {"observe"},
    "unstall set obs": set(),  # a mode came before what it is for
    "unstall ab --arms off,c": {"off,cork", "off,coalesce"},
    "unstall ab --metric p": {"p90", "p99"},
    "unstall set 1 --unk": {"--unkill"},
    "unstall doctor hostnamect": {"hostnamectl"},
}


@pytest.mark.parametrize("line", OFFERED)
@pytest.mark.parametrize("complete", [shells.bash, shells.fish])
def test_offered(complete, line):
    if "hostnamect" in line and not os.path.exists("/usr/bin/hostnamectl"):
        line = line.replace("hostnamect", "run-part")
        expected = {word.replace("hostnamectl", "run-parts")
                    for word in OFFERED[line.replace("run-part", "hostnamect")]}
    else:
        expected = OFFERED[line]
    # a folder's closing slash is readline's affair
    assert {word.rstrip("/") for word in complete(line)} == {word.rstrip("/") for word in expected}


@pytest.mark.parametrize("complete", [shells.bash, shells.fish])
def test_processes_and_files_are_offered_where_they_fit(complete):
    number = str(os.getpid())
    assert number in complete(f"unstall doctor {number}")
    assert number in complete(f"unstall set {number}")
    assert "README.md" in complete("unstall explain READ")
    with stats_directory() as folder:
        assert f"{folder}" in [word.rstrip("/") for word in complete(f"unstall set {str(folder)[:-2]}")]


# Commands that stand in for those of a machine with a service, a container and an attachment.
STAND_INS = {
    "systemctl": "echo 'shop.service enabled'",
    "docker": "echo carts",
    "podman": "true",
    "unstall": f"""[ "$1" != attach ] || [ "$2" != --list ] || {{ echo 'port-77  port 77, mode'; exit; }}
exec {COMMAND} "$@\"""",
}


@pytest.fixture(name="stand_ins")
def commands_of_another_machine(tmp_path):
    for name, script in STAND_INS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n", "ascii")
        (tmp_path / name).chmod(0o755)
    return tmp_path


NAMED = {
    "unstall attach --unit sh": "shop.service", "unstall ab --unit sh": "shop.service",
    "unstall attach --container ca": "carts", "unstall scan --container ca": "carts",
    "unstall detach po": "port-77",
}


@pytest.mark.parametrize("line", NAMED)
@pytest.mark.parametrize("complete", [shells.bash, shells.fish])
def test_units_containers_and_attachments_are_offered(complete, line, stand_ins):
    """Nothing was offered for them."""
    assert complete(line, first=stand_ins) == [NAMED[line]]


def test_zsh_offers_units_containers_arms_and_attachments(stand_ins):
    for line, word in {**NAMED, "unstall ab --arms off,cor": "off,cork"}.items():
        became, _ = shells.zsh_typed(line, first=stand_ins)
        assert became.rstrip(" ,").split(" ")[-1] == word


@pytest.mark.parametrize("complete", [shells.bash, shells.fish])
def test_a_process_with_statistics_comes_before_a_mode(complete):
    with stats_directory() as folder:
        for pid in (os.getpid(), 4194301):  # one of them has ended
            (folder / f"{pid}-1.unstall").touch()
        offered = complete("unstall set ", UNSTALL_STATS=folder)
    assert str(os.getpid()) in offered and "4194301" not in offered and not MODES & set(offered)


def test_behind_the_program_its_own_completion_is_asked():
    assert "--almost-all" in shells.fish("unstall run -- ls --almos")
    assert shells.fish("unstall run --mode cork git cherry-p") == ["cherry-pick"]
    assert "README.md" in shells.bash("unstall run --mode cork cat READ")
    assert "--mode" not in shells.bash("unstall run cat --")
    became, _ = shells.zsh_typed("unstall run --mode cork cat READ")
    assert became == "unstall run --mode cork cat README.md "


# ---- typed in a terminal ---------------------------------------------------

TYPED = {
    "unstall ru": "unstall run ",
    "unstall run --mod": "unstall run --mode",
    "unstall run --mode cor": "unstall run --mode cork ",
    "unstall run --mode=coal": "unstall run --mode=coalesce ",
    "unstall set 1 star": "unstall set 1 started ",
    "unstall help doc": "unstall help doctor ",
}


@pytest.mark.parametrize("typed", [shells.bash_typed, shells.zsh_typed])
def test_typed(typed):
    for line, expected in TYPED.items():
        became, _ = typed(line)
        assert became.rstrip(" =") == expected.rstrip(" =")
