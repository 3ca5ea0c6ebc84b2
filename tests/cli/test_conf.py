# SPDX-License-Identifier: MIT
"""unstall.conf(5): the settings of a machine, for each program; bad lines are named."""

import os
import re

import pytest

from harness import COMMAND, LIB, SOURCE_ROOT, bare_env, run, skip, unstall

ENV = "/usr/bin/env"  # prints the program's environment


def settings(text, folder, *words, env=None, program=ENV):
    """UNSTALL_ variables that the program gets, by a file of this text."""
    file = folder / "unstall.conf"
    file.write_text(text)
    done = unstall("run", "--conf", file, *words, "--", program, env=env, check=True)
    assert done.stderr == ""
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith("UNSTALL_"))


def test_each_line_becomes_a_variable(tmp_path):
    assert settings("# all programs\n\nUNSTALL_MODE=cork\n  UNSTALL_PORTS = 80,!443 \r\n; another comment\n"
                    f"UNSTALL_REPORT={tmp_path}/a b#c.%p.json", tmp_path) == {
        "UNSTALL_MODE": "cork", "UNSTALL_PORTS": "80,!443", "UNSTALL_REPORT": f"{tmp_path}/a b#c.%p.json"}


@pytest.mark.parametrize("section, applies", [
    ("[env]", True), ("[e*]", True), ("[?nv]", True), ("[*]", True), (" [env] ", True),
    ("[nginx]", False), ("[ENV]", False), ("[en]", False), ("[env.service]", False),
])
def test_a_section_is_for_programs_of_its_name(section, applies, tmp_path):
    found = settings(f"UNSTALL_MODE=cork\n{section}\nUNSTALL_MODE=nodelay\n", tmp_path)
    assert found == {"UNSTALL_MODE": "nodelay" if applies else "cork"}


def test_a_script_has_its_own_name_and_its_interpreters(tmp_path):
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\nexec env\n")
    script.chmod(0o755)
    for section, mode in (("job.sh", "cork"), ("sh", "cork"), ("bash", None)):
        found = settings(f"[{section}]\nUNSTALL_MODE=cork\n", tmp_path, program=script)
        assert found.get("UNSTALL_MODE") == mode


def test_the_last_line_wins(tmp_path):
    assert settings("[env]\nUNSTALL_MODE=cork\n[*]\nUNSTALL_MODE=off\n[env]\nUNSTALL_SMALL=9\n",
                    tmp_path) == {"UNSTALL_MODE": "off", "UNSTALL_SMALL": "9"}


def test_options_come_before_the_environment_and_that_before_the_file(tmp_path):
    text = "UNSTALL_MODE=off\nUNSTALL_SMALL=9\nUNSTALL_PORTS=80\n"
    env = bare_env(UNSTALL_MODE="observe", UNSTALL_SMALL="8")
    assert settings(text, tmp_path, "--mode", "cork", env=env) == {
        "UNSTALL_MODE": "cork", "UNSTALL_SMALL": "8", "UNSTALL_PORTS": "80"}


SECTION = (": expected the name of a program without its path, or of a unit, as in [nginx] or "
           "[nginx.service]")

UNKNOWN = ": no such variable; expected one of libunstall(7), as in UNSTALL_MODE=cork"

# a line -> the warning about it
BAD = {
    "UNSTALL_MODE=fast": "UNSTALL_MODE=fast: expected off, observe, nodelay, cork, coalesce or auto",
    "UNSTALL_MODE=": "UNSTALL_MODE=: expected off, observe, nodelay, cork, coalesce or auto",
    "UNSTALL_PORTS=0": "UNSTALL_PORTS=0: expected up to 32 ports or ranges, as in 80,8000-8999,!8443",
    "UNSTALL_LOG=log": "UNSTALL_LOG=log: expected stderr or the whole path of a file",
    "UNSTALL_FAST=1": "UNSTALL_FAST" + UNKNOWN,
    "mode=cork": "mode" + UNKNOWN,
    "LD_PRELOAD=/x.so": "LD_PRELOAD" + UNKNOWN,
    "=cork": UNKNOWN,
    "UNSTALL_MODE": "UNSTALL_MODE: expected [SECTION], VARIABLE=VALUE or # COMMENT",
    "[]": "[]" + SECTION,
    "[nginx": "[nginx" + SECTION,
    "[nginx] x": "[nginx] x" + SECTION,
    "[/usr/sbin/nginx]": "[/usr/sbin/nginx]" + SECTION,
    "[a b]": "[a b]" + SECTION,
    "UNSTALL_LOG=/a\x1bb": "has a control character; expected text",
    "UNSTALL_LOG=/a\0b": "has a control character; expected text",
}


@pytest.mark.parametrize("line", BAD)
def test_a_bad_line_is_refused_with_its_place(line, tmp_path):
    """Also in a section of another program: the operator hears of it at once."""
    file = tmp_path / "bad.conf"
    for before in ("# fine\n", "[other]\n"):
        file.write_text(f"{before}{line}\n")
        done = unstall("run", "--conf", file, ENV)
        assert (done.returncode, done.stdout) == (125, "")
        assert done.stderr == f"unstall run: {file}:2: {BAD[line]}\n"


def test_all_bad_lines_are_named_but_not_without_end(tmp_path):
    file = tmp_path / "bad.conf"
    file.write_text("UNSTALL_MODE=cork\nbad\n" * 100)
    said = unstall("run", "--conf", file, ENV).stderr.splitlines()
    assert [line.split(": ")[1] for line in said[:20]] == [f"{file}:{n}" for n in range(2, 42, 2)]
    assert said[20:] == ["unstall run: 80 more bad lines"]


def test_files_that_cannot_be_read_are_named(tmp_path):
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    large.write_text("# x\n" * 300000)
    for file, said in ((tmp_path / "none", "No such file or directory"),
                       (pipe, "is no regular file; expected the settings of unstall.conf(5)"),
                       (tmp_path, "is no regular file; expected the settings of unstall.conf(5)"),
                       (large, "is larger than 1 MiB; expected the settings of unstall.conf(5)")):
        assert unstall("run", "--conf", file, ENV).stderr == f"unstall run: {file}: {said}\n"
    assert "UNSTALL_" not in unstall("run", "--conf", "/dev/null", ENV, check=True).stdout


# Runs the words behind it with another /etc, in a mount namespace of its own.
WITH_ETC = 'mount --bind "$1" /etc && shift && exec "$@"'


def test_the_files_of_the_machine_in_their_order(tmp_path):
    """/etc/unstall.conf, then unstall.conf.d by name; other names there are no settings."""
    folder = tmp_path / "unstall.conf.d"
    folder.mkdir()
    for name, text in {"10-a.conf": "UNSTALL_MODE=cork\nUNSTALL_SMALL=1\n", "9-b.conf": "UNSTALL_SMALL=2\n",
                       "note.txt": "no settings", ".hidden.conf": "no settings",
                       "10-a.conf.dpkg-old": "no settings"}.items():
        (folder / name).write_text(text)
    (tmp_path / "unstall.conf").write_text("UNSTALL_MODE=off\nUNSTALL_WINDOW_US=600\n")
    (tmp_path / "ld.so.cache").write_bytes(b"")

    def started(*words):
        done = run(["unshare", "--mount", "sh", "-c", WITH_ETC, "sh", tmp_path, COMMAND, "run", "--library",
                    LIB, *words, ENV], bare_env(), check=False)
        if "unshare: unshare failed" in done.stderr:
            skip("no mount namespace can be made here")
        return done

    found = started().stdout
    for line in ("UNSTALL_MODE=cork", "UNSTALL_SMALL=2", "UNSTALL_WINDOW_US=600"):
        assert f"{line}\n" in found
    assert "UNSTALL_SMALL=7\n" in started("--small", "7").stdout
    (folder / "20-bad.conf").write_text("UNSTALL_MODE=fast\n")
    assert started().stderr.startswith("unstall run: /etc/unstall.conf.d/20-bad.conf:1: UNSTALL_MODE=fast: ")
    assert "UNSTALL_" not in started("--conf", "/dev/null").stdout, "the files in /etc are not read"


def test_the_example_of_the_manual(tmp_path):
    page = (SOURCE_ROOT / "docs/unstall.conf.5.scd").read_text()
    example = re.search(r"^# EXAMPLE\n+```\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    assert settings(example, tmp_path) == {"UNSTALL_PEERS": "10.0.0.0/8"}
    assert settings(example.replace("[python3]", "[env]"), tmp_path)["UNSTALL_MODE"] == "nodelay"
