# SPDX-License-Identifier: MIT
"""Avast's urlite uses hyper 0.13 with http1_writev(true); its type around TcpStream has no vectored
writes."""

from pathlib import Path

from runner import Affected, Victim, build, made, run_http_server

HERE = Path(__file__).parent
EXCHANGES = 20


def server():
    """The binary, built from crates of 2020."""
    sources = [HERE / "Cargo.toml", HERE / "src"]

    def make(draft):
        build(["cp", "-r", *sources, draft])
        build(["cargo", "build", "--quiet", "--release", "--jobs", "1", "--target-dir", draft,
               "--manifest-path", f"{draft}/Cargo.toml"], seconds=500)

    return made(sources, make) / "release" / "hyper-writev"


def measure(treatment, scratch):
    binary = server()
    return run_http_server(treatment, scratch, lambda port: [binary, port], EXCHANGES, "/order",
                           b"you asked for /order\n")


VICTIM = Victim(
    sick="server",
    needs=("cargo",),
    measure=measure,
    heavy=True,
    affected=Affected(
        software="hyper behind a stream type without vectored writes",
        version="0.13",
        source="Forward `poll_write_vectored` in the type, or call `http1_writev(false)`.",
        observe="PROGRAM",
    ),
)
