# SPDX-License-Identifier: MIT
"""The JDK's HttpServer under load; its own cure is a property."""

from runner import Victim, compile_java, measure_load
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
    story="JRuby and Puma: 1405 requests a second without TCP_CORK, 12245 with; here the JDK's own server",
    sick="server",
    needs=("java", "javac", "wrk"),
    measure=measure,
    verdict="it sends each answer in two small writes and Nagle holds the second",
    heavy=True,
)
