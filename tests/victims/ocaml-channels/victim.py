# SPDX-License-Identifier: MIT
"""OCaml's channels over a socket; a process a connection."""

from pathlib import Path

from runner import Affected, Victim, build, made, run_line_server

HERE = Path(__file__).parent
EXCHANGES = 15


def binary():
    def make(draft):
        build(["cp", HERE / "server.ml", draft])
        build(["ocamlopt", "unix.cmxa", "server.ml", "-o", "server"], cwd=draft)

    return made(HERE / "server.ml", make) / "server"


def measure(treatment, scratch):
    server = binary()
    return run_line_server(treatment, scratch, lambda port: [server, port], EXCHANGES)


VICTIM = Victim(
    story="a server by OCaml's Unix.establish_server flushes its channel (%!) after each line of an answer",
    sick="server",
    needs=("ocamlopt",),
    measure=measure,
    verdict="it sends each answer in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
    affected=Affected(
        software="OCaml, Unix.establish_server",
        package="ocaml",
        source="Flush once an answer.",
        observe="PROGRAM",
    ),
)
