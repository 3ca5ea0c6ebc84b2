# SPDX-License-Identifier: MIT
"""A line server on Rust's std::net::TcpStream makes a send for each write_all."""

from runner import Affected, Victim, compiled, line_server

VICTIM = Victim(
    sick="server",
    needs=("rustc",),
    measure=line_server(lambda: compiled("rust-tcpstream/server.rs", "rustc", "--edition=2018", "-O")),
    affected=Affected(
        software="Rust, std::net::TcpStream",
        version="1.95.0",
        source="`stream.set_nodelay(true)`. Better: a BufWriter and one flush an answer.",
        measured=True,
        observe="PROGRAM",
    ),
)
