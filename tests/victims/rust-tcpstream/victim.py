# SPDX-License-Identifier: MIT
"""A server on Rust's standard library: TcpStream buffers nothing."""

from pathlib import Path

from runner import Affected, Victim, compiled, run_line_server

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    own = ["nodelay"] if treatment.own else []
    binary = compiled(HERE / "server.rs", "rustc", "--edition=2018", "-O")
    return run_line_server(treatment, scratch, lambda port: [binary, port, *own], EXCHANGES)


VICTIM = Victim(
    story="a line server on Rust's std::net::TcpStream makes a send for each write_all",
    sick="server",
    needs=("rustc",),
    measure=measure,
    verdict="it sends each answer in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
    affected=Affected(
        software="Rust, std::net::TcpStream",
        version="1.95.0",
        source="`stream.set_nodelay(true)`. Better: a BufWriter and one flush an answer.",
        measured=True,
        observe="PROGRAM",
    ),
)
