# SPDX-License-Identifier: MIT
"""com.sun.net.httpserver before OpenJDK 23 flushes headers before the body (its own cure:
-Dsun.net.httpserver.nodelay); since then both are one write."""

from runner import Affected, Victim, joins_headers_and_body, run_http_server, small_server

# A small virtual machine that starts fast; none of these touches its sockets.
JVM = ("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")


def measure(treatment, scratch):
    def command(port):
        own = ["-Dsun.net.httpserver.nodelay=true"] if treatment.own else []
        return ["java", *JVM, *own, "-cp", small_server(), "SmallServer", port]

    return run_http_server(treatment, scratch, command, 25, "/order/1", b"you asked for /order/1\n")


VICTIM = Victim(
    sick="server",
    needs=("java", "javac"),
    measure=measure,
    well=joins_headers_and_body,
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
