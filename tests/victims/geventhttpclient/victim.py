# SPDX-License-Identifier: MIT
"""geventhttpclient 1.3.1, before its change 85, calls sendall for the head and sendall for the body."""

from dataclasses import replace
from pathlib import Path

from runner import BARE, Affected, Nginx, Victim, build, in_turns, made, on_one_core, run_client
from runner.qnam import servers

HERE = Path(__file__).parent
VERSIONS = HERE / "versions.txt"
EXCHANGES = 25
ROUNDS = 2000
BODY = "order=" + "x" * 94


def interpreter():
    """A Python with the package in it; it cannot be moved once it is made."""
    def make(draft):
        # Environments know their own path: this folder's name only marks the installed version.
        home = Path(draft).parent / "python-geventhttpclient"
        build(["/usr/bin/python3", "-m", "venv", "--clear", home])
        build([home / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "-r", VERSIONS],
              seconds=200)

    return made(VERSIONS, make).parent / "python-geventhttpclient" / "bin" / "python3"


def measure(treatment, scratch):
    python = interpreter()

    def command(port, *more):
        return [python, HERE / "client.py", port, EXCHANGES, BODY, *more]

    found = run_client(treatment, scratch, command, BODY.encode(), EXCHANGES)
    # Where it stalls, a ten takes half a second; it is compared with nothing.
    return replace(found, once=tens(treatment, scratch, python)) if treatment.expects == "cured" else found


def tens(treatment, scratch, python):
    """The story's own client, ten requests to nginx: treated, and bare as it sends once, in turns."""
    def command(*more):
        return [python, HERE / "client.py", nginx.port, 0, BODY, "tens", *more]

    with on_one_core(), Nginx(servers(scratch, tls=False), scratch) as nginx:
        return in_turns((treatment, command()), (BARE, command("once")), ROUNDS)


VICTIM = Victim(
    sick="client",
    needs=("gcc", "nginx"),
    packages=("python3-venv", "python3-dev"),
    measure=measure,
    heavy=True,
    affected=Affected(
        software="geventhttpclient",
        version="1.3.1",
        source="Use a version with its change 85, which joins header and body.",
        observe="python3 client.py",
        words=("geventhttpclient",),
    ),
)
