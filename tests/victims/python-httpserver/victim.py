# SPDX-License-Identifier: MIT
"""http.server with protocol_version HTTP/1.1 sends headers and file by two sends."""

from pathlib import Path

from runner import Affected, Victim, run_http_server

HERE = Path(__file__).parent
BODY = b"a small file\n" * 20


def measure(treatment, scratch):
    (scratch / "small.txt").write_bytes(BODY)

    def command(port):
        return ["/usr/bin/python3", HERE / "server.py", port, scratch, *treatment.words]

    return run_http_server(treatment, scratch, command, 25, "/small.txt", BODY)


VICTIM = Victim(
    sick="server",
    needs=("/usr/bin/python3",),
    measure=measure,
    affected=Affected(
        software="CPython, http.server with HTTP/1.1",
        package="python3.11",
        source="`disable_nagle_algorithm = True` in the handler's class, or `wbufsize = -1` and "
               "one flush an answer.",
        measured=True,
        observe="python3 server.py",
        words=("http.server", "HTTPServer"),
    ),
)
