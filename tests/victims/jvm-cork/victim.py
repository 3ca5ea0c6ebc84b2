# SPDX-License-Identifier: MIT
"""The JDK's HttpServer under load; its own cure is a property."""

from runner import Victim, compile_java, joins_headers_and_body, measure_load
from runner.victims import HOME

SOURCE = HOME / "jdk-httpserver" / "SmallServer.java"


def measure(treatment, scratch):
    classes = compile_java(SOURCE)

    def command(port, *more):
        return ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:-UsePerfData", *more, "-cp", classes,
                "SmallServer", port]

    return measure_load(treatment, scratch, command, "/order/1",
                        own_cure=lambda port: command(port, "-Dsun.net.httpserver.nodelay=true"))


VICTIM = Victim(
    story="the JDK's own HTTP server before OpenJDK 23, for the report that Puma on JRuby makes 1405 "
          "requests a second without TCP_CORK and 12245 with it",
    sick="server",
    needs=("java", "javac", "wrk"),
    measure=measure,
    well=joins_headers_and_body,
    verdict="it sends each answer in two small writes and Nagle holds the second",
    heavy=True,
)
