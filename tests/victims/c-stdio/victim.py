# SPDX-License-Identifier: MIT
"""A C program sends a request by fdopen, fprintf and fflush on a socket, as textbooks show it."""

from runner import Affected, Victim, compiled, posts

VICTIM = Victim(
    sick="client",
    needs=("gcc",),
    measure=posts(lambda: compiled("c-stdio/client.c", "gcc", "-O1", "-Wall", "-Wextra", "-Werror"),
                  exchanges=15),
    verdict="writes bypass the library: with 127.0.0.1:",
    segments={"nodelay": 2, "cork": 2, "coalesce": 2, "auto": 2},
    affected=Affected(
        software="stdio over a socket",
        package="libc6",
        source="Flush once a message, or give the stream a buffer that a message fits into (setvbuf).",
        observe="PROGRAM",
    ),
)
