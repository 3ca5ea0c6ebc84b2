# SPDX-License-Identifier: MIT
"""No line of a source or a page has more than 110 columns; three pages are short."""

import re
import subprocess

import pytest

from harness import SOURCE_ROOT

pytestmark = pytest.mark.no_library

COLUMNS, TAB = 110, 8
LINES = {"docs/design.md": 300, "docs/decisions.md": 500, "README.md": 120}

# Pattern of a path -> why its lines may be longer.
EXEMPT = {
    r"docs/[\w-]+\.svg": "a picture, as matplotlib writes it",
    r"docs/pictures/[\w-]+\.svg": "a picture, as scripts/pictures writes it",
    r"docs/results/releases\.md": "a table, one run a line, as scripts/releases writes it",
    r"data/prometheus/[\w-]+\.json": "a dashboard, as Grafana exports one: a query is one string",
    r"tests/experiments/data/.*": "recorded rounds, one a line, as scripts/experiments writes them",
    r"tests/fuzz/corpus/.*": "inputs of the fuzzer, byte for byte",
    r"tests/fuzz/targets": "a table that scripts/fuzz and Meson read line by line",
    r"tests/mutants/equivalent": "a table that scripts/lib/mutate.py reads line by line",
}
ADDRESS = re.compile(r"\S*https?://\S*")  # a link cannot be wrapped


def exempt(path):
    """Whether a file may have longer lines."""
    return any(re.fullmatch(pattern, path) for pattern in EXEMPT)


def too_long(text):
    """(number, columns) of each line that is too long without its links."""
    lines = ((number, ADDRESS.sub("", line.expandtabs(TAB)))
             for number, line in enumerate(text.split("\n"), 1))
    return [(number, len(line)) for number, line in lines if len(line) > COLUMNS]


def files():
    """The files of the tree: the ones in git, or all where it is no working tree (a release)."""
    listed = subprocess.run(["git", "-C", SOURCE_ROOT, "ls-files", "--cached", "--others",
                             "--exclude-standard"],
                            check=False, capture_output=True, text=True)
    if listed.returncode == 0:
        return listed.stdout.splitlines()
    return [str(path.relative_to(SOURCE_ROOT)) for folder in ("src", "tests", "scripts", "docs", "data")
            for path in (SOURCE_ROOT / folder).rglob("*") if path.is_file() and
            "__pycache__" not in path.parts]


def text_of(path):
    """The text of a file of the tree; none if it is no text, or gone."""
    try:
        return (SOURCE_ROOT / path).read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError):
        return ""


def test_no_line_is_too_long():
    found = [f"{path}:{number}: {columns} columns" for path in files() if not exempt(path)
             for number, columns in too_long(text_of(path))]
    assert found == []


def test_the_check_reads_sources_and_pages():
    paths = files()
    for path in ("README.md", "docs/design.md", "docs/unstall.1.scd", "scripts/test",
                 "tests/house/test_lines.py", "src/preload/sys/surface.def", "data/completions/unstall.bash"):
        assert path in paths and not exempt(path) and text_of(path)


@pytest.mark.parametrize("pattern", EXEMPT)
def test_each_exemption_is_needed(pattern):
    assert any(too_long(text_of(path)) for path in files() if re.fullmatch(pattern, path))


@pytest.mark.parametrize("line, found", [
    ("x" * 110, []),
    ("x" * 111, [(2, 111)]),
    ("µ" * 110, []),
    ("\t" + "x" * 103, [(2, 111)]),
    ("see https://example.org/" + "x" * 200 + " and more", []),
    ("see https://example.org/x " + "x" * 107, [(2, 112)]),
])
def test_a_planted_line_is_found(line, found):
    assert too_long(f"short\n{line}\nshort") == found


@pytest.mark.parametrize("page", LINES)
def test_a_page_that_is_to_be_short_is_short(page):
    assert 0 < len(text_of(page).splitlines()) <= LINES[page]
