# SPDX-License-Identifier: MIT
"""The server of hyper-writev, asked two things at once: an exchange ends with the second answer."""

from runner import Daemon, Driver, Victim, load, measured

EXCHANGES = 20
ANSWERS = (b"you asked for /first\n", b"you asked for /second\n")
REQUESTS = b"".join(b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % name for name in (b"first", b"second"))


def measure(treatment, scratch):
    binary = load("hyper-writev").measure.__globals__["server"]()
    with Daemon(lambda port: [binary,
                              port], treatment.env(), scratch) as server, Driver(server.port) as driver:
        for _ in range(EXCHANGES):
            answer = driver.exchange(REQUESTS, lambda so_far: so_far.endswith(ANSWERS[1]))
            assert answer.count(b"HTTP/1.1 200 OK\r\n") == 2 and ANSWERS[0] in answer, answer
        treatment.assert_in(server.pid)
    return measured(driver.times_ms, driver.counts)


VICTIM = Victim(
    story="Avast's urlite gets two requests before it answers; the second answer waits behind the stall of "
          "the first",
    sick="server",
    needs=("cargo",),
    measure=measure,
    verdict="it sends each answer in many small writes and Nagle holds all but the first",
    segments={"nodelay": 4, "cork": 2, "coalesce": 2, "auto": 2},
    heavy=True,
)
