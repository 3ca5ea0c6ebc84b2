# SPDX-License-Identifier: MIT
"""The JDK's own HTTP server before OpenJDK 23, for the report that Puma on JRuby makes 1405 requests a second
without TCP_CORK and 12245 with it."""

from runner import Victim, joins_headers_and_body, measure_load, small_server


def measure(treatment, scratch):
    def command(port, *more):
        return ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:-UsePerfData", *more, "-cp", small_server(),
                "SmallServer", port]

    return measure_load(treatment, scratch, command, "/order/1",
                        own_cure=lambda port: command(port, "-Dsun.net.httpserver.nodelay=true"))


VICTIM = Victim(
    sick="server",
    needs=("java", "javac", "wrk"),
    measure=measure,
    well=joins_headers_and_body,
    heavy=True,
)
