# SPDX-License-Identifier: MIT
"""A server by OCaml's Unix.establish_server flushes its channel (%!) after each line of an answer."""

from runner import Affected, Victim, compiled, line_server

VICTIM = Victim(
    sick="server",
    needs=("ocamlopt",),
    measure=line_server(lambda: compiled("ocaml-channels/server.ml", "ocamlopt", "unix.cmxa")),
    affected=Affected(
        software="OCaml, Unix.establish_server",
        package="ocaml",
        source="Flush once an answer.",
        observe="PROGRAM",
    ),
)
