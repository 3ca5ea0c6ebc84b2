# SPDX-License-Identifier: MIT
"""The site that scripts/docs makes: it opens from its files, leads everywhere, has a search, and is refused
if a link leads nowhere."""

import io
import re
import shutil
import subprocess

import numpy
import pytest
from browser import Page
from checks import SCHEMES, WIDTHS, console, fits, follows, printed, readable, spoken, whole
from PIL import Image

from harness import SOURCE_ROOT, wait_for

pytestmark = pytest.mark.no_library

OPENED = ["index", "docs/how-it-works", "docs/affected", "docs/unstall.1"]
PICTURED = ["index", "docs/how-it-works"]  # a picture of a long page takes seconds
GROUPS = ["See it", "Use it", "Deploy it", "Understand it", "Reference", "Results"]
# The theme's own parts are left out: its icons have no names, and its headings no order.
THE_ARTICLE_ALONE = """(article => {
  document.body.replaceChildren(article);
  for (const link of article.querySelectorAll(".headerlink")) link.remove();
})(document.querySelector("article"))"""
FOUND = "[...document.querySelectorAll('#search-results li a')].map(a => a.textContent)"


def make(root, to):
    """One run of scripts/docs."""
    return subprocess.run([root / "scripts/docs", "--to", to], check=False, timeout=300, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True)


@pytest.fixture(name="site", scope="module")
def the_site(tmp_path_factory):
    to = tmp_path_factory.mktemp("docs") / "site"
    done = make(SOURCE_ROOT, to)
    assert done.returncode == 0, done.stderr
    return to


def requests_outside(page, site):
    """Addresses that a page asked for and that are not files of the site."""
    asked = [event["request"]["url"] for name, event in page.events() if name == "Network.requestWillBeSent"]
    assert page.url in asked
    return [url for url in asked if not url.startswith((site.as_uri(), "data:"))]


CUT_BLOCKS = """[...document.querySelectorAll("article pre")].filter(
  block => block.scrollWidth > block.clientWidth).map(block => block.textContent.trim().split("\\n")[0])"""


@pytest.mark.parametrize("name", OPENED)
def test_a_page_opens(site, browser, name):
    page = Page(browser, site / f"{name}.html")
    faults = [*console(page), *requests_outside(page, site)]
    for width in WIDTHS:
        page.show(width, "light")
        faults += fits(page, width)
    faults += page.evaluate(CUT_BLOCKS)  # comments behind commands ended at the edge of a desktop
    for scheme in SCHEMES if name in PICTURED else ():
        page.show(WIDTHS[0], scheme)
        faults += follows(numpy.asarray(Image.open(io.BytesIO(page.screenshot()))), scheme)
    assert faults == []


@pytest.mark.parametrize("name", OPENED)
def test_what_we_wrote_is_readable_and_can_be_read_aloud(site, browser, name):
    page = Page(browser, site / f"{name}.html")
    page.evaluate(THE_ARTICLE_ALONE)
    faults = [*spoken(page), *whole(page), *printed(page)]
    for scheme in SCHEMES if name in PICTURED else ():
        page.show(WIDTHS[1], scheme)
        faults += readable(page, numpy.asarray(Image.open(io.BytesIO(page.screenshot()))))
    assert faults == []


BUTTON = """(() => {
  const shown = [...document.querySelectorAll(".theme-toggle")].filter(button => button.offsetParent);
  shown.forEach(button => button.click());
  return shown.length;
})()"""
BEHIND = "getComputedStyle(document.body).backgroundColor"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_button_changes_the_colours_of_a_page_in_a_folder(site, browser, scheme):
    """furo's script is a module in Debian, which a browser refuses from a file: the button was hidden."""
    page = Page(browser, site / "index.html")
    page.show(WIDTHS[0], scheme)
    browser.load(page.url)
    colours = [page.evaluate(BEHIND)]
    for _ in range(2):
        assert page.evaluate(BUTTON) == 1
        colours.append(page.evaluate(BEHIND))
    assert colours[0] == colours[2] != colours[1]
    browser.load(page.url)
    assert page.evaluate(BEHIND) == colours[2] and page.evaluate(BUTTON) == 1
    assert page.evaluate("localStorage.theme") == "auto"  # the next test begins as a new reader


def test_the_navigation_leads_a_user(site, browser):
    page = Page(browser, site / "index.html")
    assert page.evaluate("[...document.querySelectorAll('.sidebar-tree .caption')].map(a => a.textContent)") \
        == GROUPS
    links = page.evaluate("[...document.querySelectorAll('.sidebar-tree a')]"
                          ".map(a => a.getAttribute('href'))")
    pages = {path.stem for path in (SOURCE_ROOT / "docs").glob("*.md")} | \
        {path.stem for path in (SOURCE_ROOT / "docs").glob("*.scd")}
    assert {link.removeprefix("docs/").removesuffix(".html") for link in links} >= pages


def test_the_search_finds_words_of_pages_and_of_manual_pages(site, browser):
    page = Page(browser, site / "search.html")
    for words, title in (("delayed acknowledgement", "How it works"), ("UNSTALL_QUICKACK", "libunstall(7)")):
        browser.load(f"{page.url}?q={words.replace(' ', '+')}")
        wait_for(lambda title=title: any(found.startswith(title) for found in page.evaluate(FOUND)))
        assert [*console(page)] == []


def small_tree(tree):
    """A tree of few pages, with the real scripts: a site of all pages takes 7 seconds of a processor."""
    for name in ("meson.build", "scripts", "src/preload/sys/surface.def", "src/stats_file/stats_format.h",
                 *(f"docs/{page.name}" for page in (SOURCE_ROOT / "docs").glob("*.scd"))):
        copy = shutil.copytree if (SOURCE_ROOT / name).is_dir() else shutil.copy
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        copy(SOURCE_ROOT / name, tree / name)
    (tree / "docs/pictures").mkdir()
    for name in ("docs/pictures/dot.svg", "docs/dot.svg"):
        (tree / name).write_text('<svg xmlns="http://www.w3.org/2000/svg"/>', encoding="utf-8")
    listed = ["NEWS", "CONTRIBUTING", "tests/fuzz/README", "docs/sound",
              *(f"docs/{page.stem}" for page in (tree / "docs").glob("*.scd"))]
    for name in ("README", *(name for name in listed if not (tree / f"{name}.scd").exists())):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / f"{name}.md").write_text("# A page\n\n## A heading\n", encoding="utf-8")
    (tree / "scripts/docs.d/navigation.md").write_text(
        "\n".join(["", "```{toctree}", *listed, "```", ""]), encoding="utf-8")


def test_a_link_that_leads_nowhere_is_refused(tmp_path):
    tree = tmp_path / "tree"
    small_tree(tree)
    with (tree / "docs/sound.md").open("a", encoding="utf-8") as page:
        page.write("\n[a](none.md) [b](../NEWS.md#no-such-heading) ![c](pictures/none.svg)\n"
                   "[d](../README.md#a-heading) [e](../NEWS.md#a-heading) ![f](pictures/dot.svg)\n")
    (tree / "docs/lost.md").write_text("# A page that no page leads to\n", encoding="utf-8")
    done = make(tree, tmp_path / "site")
    assert done.returncode == 1 and not (tmp_path / "site").exists()
    for fault in ("none.md", "no-such-heading", "pictures/none.svg", r"lost.md.*toctree"):
        assert re.search(fault, done.stderr), fault
    assert done.stderr.count("WARNING") == 4, done.stderr


def test_a_folder_that_is_no_site_is_kept(tmp_path):
    (tmp_path / "kept").write_text("mine", encoding="utf-8")
    done = make(SOURCE_ROOT, tmp_path)
    assert done.returncode == 1 and "expected a folder that is new" in done.stderr
    assert (tmp_path / "kept").read_text(encoding="utf-8") == "mine"
