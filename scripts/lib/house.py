#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page docs/results/house.md: how large the house is, at some commits.

    house.py COMMIT...

Counted of the library is what is linked into libunstall.so, wherever it lies: .c, .h and .def of src/preload,
and what these include of src/stats_file; the assembly and portable.h apart.  Code is what is neither empty
nor a comment.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
INCLUDE = re.compile(r'^#include "(?:.*/)?([^"]+)"', re.MULTILINE)
OUR = ("src/preload/", "src/stats_file/")
BOTH_SIDES = "src/stats_file/control.c"  # meson.build links it into the library
RECORDED = re.compile(r"tests/(.*/recordings/|fuzz/corpus/|.*\.(json|pcap|pcapng|svg|strace|txt)$)")

HEAD = """<!-- scripts/house COMMIT... has made this file. -->

# How large the house is

Counted is what is linked into the library, sources and headers but for the assembly; code is what is neither
empty nor a comment. Of the tests recorded data is left out. Instructions are those of callgrind in `auto`
(tests/bench/instructions.json), with the answer.

"""


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True).stdout


def tree(commit):
    """path -> text, of all files of a commit that are text."""
    names = [line.split("\t") for line in git("ls-tree", "-r", commit).decode().splitlines()]
    wanted = [(about.split()[2], path) for about, path in names if not about.startswith("120000")]
    batch = subprocess.run(["git", "-C", ROOT, "cat-file", "--batch"], check=True, capture_output=True,
                           input="".join(f"{blob}\n" for blob, _ in wanted).encode()).stdout
    texts, at = {}, 0
    for _, path in wanted:
        end = batch.index(b"\n", at)
        size = int(batch[at:end].split()[2])
        body = batch[end + 1:end + 1 + size]
        at = end + size + 2
        if b"\0" not in body:
            texts[path] = body.decode(errors="replace")
    return texts


def linked(texts):
    """The paths of what is linked into the library."""
    ours = {path: text for path, text in texts.items() if path.startswith(OUR) and
            path.endswith((".c", ".h", ".def")) and not path.endswith("portable.h")}
    by_name = {path.rpartition("/")[2]: path for path in ours}
    found = {path for path in ours if path.startswith(OUR[0])} | {BOTH_SIDES}
    ahead = list(found)
    while ahead:
        for name in INCLUDE.findall(ours.get(ahead.pop(), "")):
            path = by_name.get(name)
            if path and path not in found:
                found.add(path)
                ahead.append(path)
    return found


def code(text):
    left = COMMENT.sub(lambda m: "\n" * m[0].count("\n"), text)
    return sum(1 for line in left.splitlines() if line.strip())


def lines(texts, *, of, end="", without=None):
    return sum(text.count("\n") for path, text in texts.items() if path.startswith(of) and
               path.endswith(end) and not (without and without.match(path)))


def counts(commit):
    """The cells of a column."""
    texts = tree(commit)
    library = [texts[path] for path in linked(texts)]
    added = json.loads(texts["tests/bench/instructions.json"])["added"]["auto"]
    return [
        len(library),
        sum(text.count("\n") for text in library),
        sum(map(code, library)),
        lines(texts, of="docs/", end=".md", without=re.compile("docs/results/")),
        lines(texts, of="tests/", without=RECORDED),
        lines(texts, of="tests/unit/"),
        round(added["plain_write"] + added["plain_read"]),
        round(added["first_of_two"] + added["last_of_two"] + added["read_after_two"]),
    ]


ROWS = ["files of the library", "lines", "lines of code", "lines of docs/*.md", "lines of tests/",
        "lines of tests/unit/", "instructions: a write", "instructions: a pair"]


def main(commits):
    columns = [counts(commit) for commit in commits]
    names = [git("log", "-1", "--format=%h, %cs", commit).decode().strip() for commit in commits]
    page = HEAD + f"| | {' | '.join(names)} |\n|---|{'---:|' * len(names)}\n"
    for row, name in enumerate(ROWS):
        page += f"| {name} | {' | '.join(str(column[row]) for column in columns)} |\n"
    (ROOT / "docs/results/house.md").write_text(page, encoding="utf-8")
    print(page[len(HEAD):], end="")


main(sys.argv[1:])
