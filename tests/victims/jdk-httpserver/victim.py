# SPDX-License-Identifier: MIT
"""The JDK's com.sun.net.httpserver: headers and body of a response are two writes."""

from pathlib import Path

from runner import Affected, Daemon, Driver, Victim, compile_java, joins_headers_and_body, measured

HERE = Path(__file__).parent
EXCHANGES = 25
# A small virtual machine that starts fast; none of these touches its sockets.
JVM = ("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")


def measure(treatment, scratch):
    classes = compile_java(HERE / "SmallServer.java")

    def command(port):
        own = ["-Dsun.net.httpserver.nodelay=true"] if treatment.own else []
        return ["java", *JVM, *own, "-cp", classes, "SmallServer", port]

    with Daemon(command, treatment.env(), scratch, "java") as server, Driver(server.port) as driver:
        treatment.assert_in(server.pid)
        for number in range(EXCHANGES):
            body = b"you asked for /order/%d\n" % number
            answer = driver.exchange(b"GET /order/%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % number,
                                     lambda so_far, body=body: so_far.endswith(body))
            head, _, rest = answer.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK") and rest == body, answer
            assert b"Content-length: %d" % len(body) in head, answer
    return measured(driver.times_ms, driver.counts)


VICTIM = Victim(
    story="com.sun.net.httpserver before OpenJDK 23 flushes headers before the body (its own cure: "
          "-Dsun.net.httpserver.nodelay); since then both are one write",
    sick="server",
    needs=("java", "javac"),
    measure=measure,
    well=joins_headers_and_body,
    verdict="it sends each answer in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
    affected=Affected(
        software="OpenJDK before 23, com.sun.net.httpserver",
        package="openjdk-17-jre-headless",
        own="`java -Dsun.net.httpserver.nodelay=true`",
        source="OpenJDK 23 writes both in one piece. Before, a program cannot change it: the server itself "
               "flushes the headers.",
        measured=True,
        observe="java ...",
    ),
)
