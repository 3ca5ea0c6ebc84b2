# SPDX-License-Identifier: MIT
"""Python's http.server: end_headers() flushes, the body is a write of its own."""

from pathlib import Path

from runner import Affected, Daemon, Driver, Victim, measured

HERE = Path(__file__).parent
EXCHANGES = 25
BODY = b"a small file\n" * 20


def measure(treatment, scratch):
    files = scratch / "files"
    files.mkdir()
    (files / "small.txt").write_bytes(BODY)

    def command(port):
        return ["/usr/bin/python3", HERE / "server.py", port, files, *treatment.words]

    with Daemon(command, treatment.env(), scratch, "python") as server, Driver(server.port) as driver:
        treatment.assert_in(server.pid)
        for _ in range(EXCHANGES):
            answer = driver.exchange(b"GET /small.txt HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                     lambda so_far: so_far.endswith(b"\r\n\r\n" + BODY))
            head = answer[:-len(BODY)]
            assert head.startswith(b"HTTP/1.1 200 OK") and head.count(b"\r\n\r\n") == 1, answer
    return measured(driver.times_ms, driver.counts)


VICTIM = Victim(
    story="http.server with protocol_version HTTP/1.1 sends headers and file by two sends",
    sick="server",
    needs=("/usr/bin/python3",),
    measure=measure,
    verdict="it sends each answer in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
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
