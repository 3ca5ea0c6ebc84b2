# SPDX-License-Identifier: MIT
"""Puma on JRuby was reported with 1405 requests a second without TCP_CORK and 12245 with it; the JRuby
measured here does not set TCP_CORK."""

import subprocess
from pathlib import Path

from runner import Victim, build, made, measure_load

HERE = Path(__file__).parent


def puma():
    """The folder of Puma with its parser in Java."""
    script = HERE / "build.sh"
    return made(script, lambda draft: build([script, draft]))


def nio4r():
    """Where Debian put the library that Puma waits with."""
    files = subprocess.run(["dpkg", "-L", "ruby-nio4r"], check=True, capture_output=True,
                           text=True).stdout.split()
    return next(Path(name).parent for name in files if name.endswith("/lib/nio.rb"))


def measure(treatment, scratch):
    home, waiting = puma(), nio4r()

    def command(port, *more):
        return ["jruby", "-I", home / "lib", "-I", waiting, "-r", HERE / "here.rb", *more,
                home / "bin" / "puma",
                "--bind", f"tcp://127.0.0.1:{port}", "--threads", "10:10", "--environment", "production",
                HERE / "app.ru"]

    return measure_load(treatment, scratch, command, "/order",
                        own_cure=lambda port: command(port, "-r", HERE / "corked.rb"))


VICTIM = Victim(
    sick="server",
    needs=("jruby", "javac", "jar", "wrk"),
    packages=("ruby-nio4r",),
    measure=measure,
    heavy=True,
)
