# SPDX-License-Identifier: MIT
"""geventhttpclient before its change 85, from source: header and body by two sends."""

from pathlib import Path
from statistics import median

from runner import BARE, Measurement, Victim, build, made, run_client

HERE = Path(__file__).parent
VERSIONS = ("geventhttpclient==1.3.1", "gevent>=22,<27")
EXCHANGES = 25
BODY = "order=" + "x" * 94


def interpreter():
    """A Python with the package in it; it cannot be moved once it is made."""
    def make(draft):
        # Environments know their own path: this folder's name is only a mark of what was installed.
        home = Path(draft).parent / "python-geventhttpclient"
        build(["/usr/bin/python3", "-m", "venv", "--clear", home])
        build([home / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *VERSIONS], seconds=200)

    return made(Path(__file__), make, VERSIONS).parent / "python-geventhttpclient" / "bin" / "python3"


def measure(treatment, scratch):
    python = interpreter()

    def command(port, *more):
        return [python, HERE / "client.py", port, EXCHANGES, BODY, *more]

    found = run_client(treatment, scratch, command, BODY.encode(), EXCHANGES)
    once = run_client(BARE, scratch, lambda port: command(port, "once"), BODY.encode(), EXCHANGES)
    return Measurement(found.times_ms, found.segments, compared={"sent once, bare": median(once.times_ms)})


VICTIM = Victim(
    story="geventhttpclient 1.3.1, before its change 85: sendall for the head, sendall for the body",
    sick="client",
    needs=("gcc",),
    packages=("python3-venv", "python3-dev"),
    measure=measure,
    verdict="it sends each message in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
    heavy=True,
)
