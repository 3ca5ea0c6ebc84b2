# SPDX-License-Identifier: MIT
"""The JDK's own HTTP server."""

import re
import subprocess

from .compiled import build, made
from .victims import HOME


def small_server():
    """The folder of the classes of SmallServer."""
    source = HOME / "jdk-httpserver" / "SmallServer.java"
    return made(source, lambda draft: build(["javac", "-d", draft, source]))


def joins_headers_and_body():
    """`OpenJDK 25`, or "" before 23: since then com.sun.net.httpserver sends both in one write."""
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    version = re.search(r'version "(\d+)', said).group(1)
    return f"OpenJDK {version}" if int(version) >= 23 else ""
