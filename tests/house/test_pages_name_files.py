# SPDX-License-Identifier: MIT
"""Links of a page lead to a file or a heading, and the files that a page names exist.

A page of docs/results names the script that makes it."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from harness import SOURCE_ROOT

pytestmark = pytest.mark.no_library

RELEASES = SOURCE_ROOT / "docs/results/releases.md"
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
NAMED = re.compile(r"`([\w.][\w./-]*)`")
FOLDERS = re.compile(r"(?:src|tests|scripts|docs|data|\.ci)/")
ENDING = re.compile(r"\.(?:c|h|py|def|S|md|supp|build)$")


def pages():
    """The pages of the tree: the ones in git, or all where it is no working tree (a release)."""
    listed = subprocess.run(["git", "-C", SOURCE_ROOT, "ls-files", "--cached", "--others",
                             "--exclude-standard", "*.md"],
                            check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return listed.stdout.split() or [str(path.relative_to(SOURCE_ROOT))
                                     for path in Path(SOURCE_ROOT).rglob("*.md")]


def without_code(text):
    """The page without its blocks of code: the files there are not in this tree."""
    return re.sub(r"^( *)```.*?^\1```", "", text, flags=re.MULTILINE | re.DOTALL)


def headings(text):
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(text, folder):
    """The links of a page that lead nowhere."""
    found = []
    for target, heading in LINK.findall(without_code(text)):
        if re.match(r"\w+:", target):
            continue
        path = folder / target
        if not path.exists():
            found.append(target)
        elif heading and heading not in headings(path.read_text(encoding="utf-8") if target else text):
            found.append(f"{target}#{heading}")
    return found


def missing_files(text, names):
    """The files in `backquotes` that are not in the tree.  A name may lack the front of its path."""
    found = []
    for name in NAMED.findall(without_code(text)):
        if FOLDERS.match(name):
            if not (SOURCE_ROOT / name).exists():
                found.append(name)
        elif ENDING.search(name) and not any(f"/{path}".endswith(f"/{name}") for path in names):
            found.append(name)
    return found


@pytest.fixture(name="names", scope="module")
def fixture_names():
    """All paths of the tree, except build folders and git's own."""
    root = Path(SOURCE_ROOT)
    return [str(path.relative_to(root)) for folder in ("src", "tests", "scripts", "docs", "data")
            for path in (root / folder).rglob("*")] + [path.name for path in root.iterdir()]


@pytest.mark.parametrize("page", pages())
def test_a_page_leads_to_what_is_there(page, names):
    path = Path(SOURCE_ROOT) / page
    text = path.read_text(encoding="utf-8")
    assert broken_links(text, path.parent) == []
    assert missing_files(text, names) == []


def maker(text):
    """The script that the first line names as the one that has made the page; None: no such line."""
    made = re.match(r"<!-- (\S+)( [^\n]*)? has made this file[.:][^\n]* -->\n", text)
    return made and made.group(1)


@pytest.mark.parametrize("page", [page for page in pages() if page.startswith("docs/results/")])
def test_a_page_of_results_names_the_script_that_makes_it(page):
    name = maker((SOURCE_ROOT / page).read_text(encoding="utf-8"))
    assert name and os.access(SOURCE_ROOT / name, os.X_OK)


def last_runs(text):
    """Release -> the date of its last run, of the table that scripts/releases makes."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| 2")]
    return {release: date for date, _, release, *_ in rows}


def named_runs(text):
    """The same, as the README names them: `trixie (Debian 13) on 2026-11-28`."""
    return dict(re.findall(r"(\w+)(?:\s\([^)]*\))?\son\s(\d{4}-\d\d-\d\d)", text))


def test_the_readme_names_the_last_run_on_each_release():
    readme = (SOURCE_ROOT / "README.md").read_text(encoding="utf-8")
    assert named_runs(readme) == last_runs(RELEASES.read_text(encoding="utf-8"))


def test_an_old_date_is_found():
    table = "| 2026-11-01 | a | trixie | Debian | good | 5 passed, 0 failed | 9 |\n"
    table += table.replace("-01", "-02")
    assert last_runs(table) == {"trixie": "2026-11-02"} == named_runs("trixie (Debian\n13) on 2026-11-02.")


LOOKS = {"maker": lambda text, _: maker(text), "files": missing_files,
         "links": lambda text, _: broken_links(text, Path(SOURCE_ROOT))}


@pytest.mark.parametrize("look, text, expected", [
    ("maker", "<!-- .ci/run has made this file. -->\n# Page", ".ci/run"),
    ("maker", "<!-- scripts/releases RELEASE... has made this file: each run adds a row. -->\n",
     "scripts/releases"),
    ("maker", "# Page\n<!-- .ci/run has made this file. -->\n", None),
    ("links", "[a](README.md)", []),
    ("links", "[a](README.md#install) and [b](#here)\n## Here", []),
    ("links", "[a](https://example.org/none.md)", []),
    ("links", "[a](docs/none.md)", ["docs/none.md"]),
    ("links", "[a](README.md#none)", ["README.md#none"]),
    ("links", "[a](#none)", ["#none"]),
    ("files", "`src/preload/conn/conn.c`, `conn/conn.c`, `conn.c` and `write`", []),
    ("files", "`src/preload/none.c`, `none.c`, `conn/hold.c`",
     ["src/preload/none.c", "none.c", "conn/hold.c"]),
    ("files", "```\n`none.c`\n```", []),
])
def test_a_planted_page_is_seen_through(look, text, expected, names):
    """By whom it was made, links that lead nowhere, files that are gone."""
    assert LOOKS[look](text, names) == expected
