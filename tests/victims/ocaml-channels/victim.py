# SPDX-License-Identifier: MIT
"""A server by OCaml's Unix.establish_server flushes its channel (%!) after each line of an answer."""

from pathlib import Path

from runner import Affected, Victim, build, line_server, made

HERE = Path(__file__).parent


def binary():
    def make(draft):
        build(["cp", HERE / "server.ml", draft])
        build(["ocamlopt", "unix.cmxa", "server.ml", "-o", "server"], cwd=draft)

    return made(HERE / "server.ml", make) / "server"


VICTIM = Victim(
    sick="server",
    needs=("ocamlopt",),
    measure=line_server(binary),
    affected=Affected(
        software="OCaml, Unix.establish_server",
        package="ocaml",
        source="Flush once an answer.",
        observe="PROGRAM",
    ),
)
