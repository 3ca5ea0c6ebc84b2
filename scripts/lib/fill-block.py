#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Replaces a marked block of a Markdown file by the text of another file, as a code block.

    fill-block.py README.md demo table.txt

The block lies between <!-- demo:begin --> and <!-- demo:end -->.  The machine of the measurement is named
below the numbers.
"""

import os
import platform
import sys
from pathlib import Path


def system():
    """One line on this machine."""
    release = platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    return (f"{release}, Linux {platform.release().split('-')[0]}, {' '.join(platform.libc_ver())}, "
            f"{platform.machine()}, {os.cpu_count()} cores")


def filled(text, name, block):
    """`text` with `block` between the marks of `name`."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    head, found, rest = text.partition(begin)
    _, found_too, tail = rest.partition(end)
    if not found or not found_too:
        raise SystemExit(f"fill-block.py: no block {begin} ... {end}")
    return f"{head}{begin}\n```\n{block.strip(chr(10))}\n```\n({system()})\n{end}{tail}"


def main(document, name, source):
    """Rewrites `document`."""
    document = Path(document)
    block = Path(source).read_text(encoding="utf-8")
    document.write_text(filled(document.read_text(encoding="utf-8"), name, block), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
