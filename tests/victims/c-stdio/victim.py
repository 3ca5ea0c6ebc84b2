# SPDX-License-Identifier: MIT
"""stdio over a socket: the writes happen inside libc."""

from pathlib import Path

from harness import compile_c
from runner import Affected, Victim, run_client

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    binary = compile_c(HERE / "client.c")
    return run_client(treatment, scratch, lambda port: [binary, port, EXCHANGES], b"order=one", EXCHANGES)


VICTIM = Victim(
    story="a C program sends a request by fdopen, fprintf and fflush on a socket, as textbooks show it",
    sick="client",
    needs=("gcc",),
    measure=measure,
    verdict="writes bypass the library: with 127.0.0.1:",
    segments={"nodelay": 2, "cork": 2, "coalesce": 2, "auto": 2},
    affected=Affected(
        software="stdio over a socket",
        package="libc6",
        source="Flush once a message, or give the stream a buffer that a message fits into (setvbuf).",
        observe="PROGRAM",
    ),
)
