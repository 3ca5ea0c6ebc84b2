# SPDX-License-Identifier: MIT
"""git ls-remote writes its command in small packets, to a dup of the socket that it reads."""

import time
from dataclasses import replace

from harness import run
from runner import BARE, Affected, CountingRelay, Daemon, Victim, whole_runs

COUNTED = 5
# Nothing of the machine's own settings.
SETTINGS = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@localhost",
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@localhost"}


def repository(scratch):
    """A bare repository with one commit and some refs; returns the expected output of ls-remote."""
    env = BARE.env(**SETTINGS)
    home = scratch / "repository"

    def git(*words):
        return run(["git", f"--git-dir={home}", *words], env).stdout.strip()

    run(["git", "init", "--quiet", "--bare", "--initial-branch=main", home], env)
    (home / "git-daemon-export-ok").touch()
    tree = git("hash-object", "-t", "tree", "-w", "/dev/null")
    commit = git("commit-tree", "-m", "first", tree)
    refs = ["refs/heads/main", *[f"refs/tags/v{number}" for number in range(1, 4)]]
    for ref in refs:
        git("update-ref", ref, commit)
    return "".join(f"{commit}\t{ref}\n" for ref in ["HEAD", *refs])


def ls_remote(port, env, expected):
    """One run, in milliseconds."""
    begin = time.monotonic_ns()
    done = run(["git", "ls-remote", f"git://127.0.0.1:{port}/repository"], env, timeout=20)
    took = (time.monotonic_ns() - begin) / 1e6
    assert done.stdout == expected, done
    return took


def count(port, env, expected):
    """The client's data segments in some runs more, seen by a relay before the daemon; on average."""
    with CountingRelay(port) as relay:
        for _ in range(COUNTED):
            ls_remote(relay.port, env, expected)
    assert len(relay.counts) == COUNTED, relay.counts
    return sum(relay.counts) / COUNTED


def measure(treatment, scratch):
    expected = repository(scratch)

    def command(port):
        return ["git", "daemon", "--listen=127.0.0.1", f"--port={port}", "--reuseaddr",
                f"--base-path={scratch}"]

    with Daemon(command, BARE.env(**SETTINGS), scratch, "git-daemon") as daemon:
        found, env = whole_runs(treatment, scratch, "git", lambda env: ls_remote(daemon.port, env, expected),
                                **SETTINGS)
        return replace(found, segments=count(daemon.port, env, expected))


VICTIM = Victim(
    sick="client",
    needs=("git",),
    measure=measure,
    segments={"nodelay": 11, "cork": 3, "coalesce": 3, "auto": 11},
    whole_run=True,
    affected=Affected(
        software="Git, the protocol git://",
        package="git",
        source="Collect the packet lines of a request before the write.",
        observe="git ls-remote URL",
        programs=("git",),
    ),
)
