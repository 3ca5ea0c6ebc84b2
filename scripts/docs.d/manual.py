#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads a manual page in Markdown, as pandoc writes it, and prints it as a page of the site.

    manual.py PAGE <MARKDOWN

It gets a title, its terms with their explanations become lists of definitions, and the names of our other
manual pages become links.
"""

import re
import sys

PAGES = ("unstall.1", "libunstall.7", "unstall.conf.5")


def definitions(text):
    """A paragraph and a quotation behind it are a term and its definition."""
    lines, found, quoted = text.split("\n"), [], False
    for line in lines:
        is_quoted = line.startswith(">")
        if is_quoted and not quoted:
            while found and not found[-1]:
                found.pop()
            found.append(":   " + line[2:])
        else:
            found.append(("    " + line[2:]).rstrip() if is_quoted else line)
        quoted = is_quoted
    return "\n".join(found)


def links(text, own):
    """Our other pages by name."""
    for page in PAGES:
        name, section = page.rsplit(".", 1)
        if page != own:
            text = text.replace(f"**{name}**({section})", f"[**{name}**({section})]({page}.md)")
    return text


def main(page):
    """From standard input to standard output."""
    name, section = page.rsplit(".", 1)
    print(f"# {name}({section})\n\n{links(definitions(sys.stdin.read()), page)}")


if __name__ == "__main__":
    main(sys.argv[1])
