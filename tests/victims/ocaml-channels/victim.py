# SPDX-License-Identifier: MIT
"""OCaml's channels over a socket; a process a connection."""

from pathlib import Path

from runner import Affected, Victim, build, line_server, made

HERE = Path(__file__).parent


def binary():
    def make(draft):
        build(["cp", HERE / "server.ml", draft])
        build(["ocamlopt", "unix.cmxa", "server.ml", "-o", "server"], cwd=draft)

    return made(HERE / "server.ml", make) / "server"


VICTIM = Victim(
    story="a server by OCaml's Unix.establish_server flushes its channel (%!) after each line of an answer",
    sick="server",
    needs=("ocamlopt",),
    measure=line_server(binary),
    verdict="it sends each answer in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
    affected=Affected(
        software="OCaml, Unix.establish_server",
        package="ocaml",
        source="Flush once an answer.",
        observe="PROGRAM",
    ),
)
