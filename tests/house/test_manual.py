# SPDX-License-Identifier: MIT
"""The manual and the README name all that the source has, and no more."""

import re
import subprocess

import pytest
from scripts import load

from harness import SOURCE_ROOT, filled_manual

pytestmark = pytest.mark.no_library

surface_list = load("surface-list")


def text_of(path):
    """A file of the source tree."""
    return (SOURCE_ROOT / path).read_text(encoding="utf-8")


MANUAL = text_of("docs/libunstall.7.scd")
README = text_of("README.md")
CONFIG = text_of("src/preload/config/config.c")
SURFACE = surface_list.rows(text_of("src/preload/sys/surface.def"))


def paragraph_of(name):
    """The manual's text on one term: the indented lines below `*name*`."""
    found = re.search(rf"^\*{re.escape(name)}\*\n((?:\t.*\n)+)", MANUAL, re.MULTILINE)
    assert found, f"libunstall(7) has no paragraph *{name}*"
    return found[1]


def known_variables():
    """Name -> the form that the warning about a bad value names."""
    return dict(re.findall(r'VARIABLE\("(UNSTALL_\w+)",\s*"([^"]+)"', CONFIG))


def names_in(text):
    """All UNSTALL_ names of a text."""
    return set(re.findall(r"\bUNSTALL_[A-Z][A-Z_]*[A-Z]", text))


@pytest.mark.parametrize("name", sorted(known_variables()))
def test_the_manual_explains_each_variable_and_its_default(name):
    assert "Default: " in paragraph_of(name)


@pytest.mark.parametrize("name, form", sorted(known_variables().items()))
def test_the_manual_gives_the_range_and_the_words_that_the_warning_gives(name, form):
    told = paragraph_of(name)
    for limit in re.findall(r"\b\d+\b", form) if "whole number" in form else ():
        assert limit in told
    if name == "UNSTALL_MODE":
        for word in re.findall(r"[a-z]+", form.replace(" or ", " ")):
            assert f"_{word}_" in told


def test_documents_name_no_variable_that_does_not_exist():
    known = known_variables().keys()
    assert names_in(MANUAL) == known
    assert names_in(README) <= known


def modes():
    """The modes, in the order of the source."""
    listed = re.search(r"mode_names\[MODES\] = \{([^}]*)\}", text_of("src/preload/policy/policy.c"))
    return re.findall(r'"(\w+)"', listed[1])


@pytest.mark.parametrize("mode", modes())
def test_the_manual_and_the_readme_explain_each_mode(mode):
    assert paragraph_of(mode)
    assert re.search(rf"^\| `{mode}`", README, re.MULTILINE)


def test_the_readme_explains_no_other_modes():
    assert set(re.findall(r"^\| `(\w+)`", README, re.MULTILINE)) == set(modes())


def test_the_manual_explains_each_member_of_the_report():
    source = text_of("src/preload/stats/report.c")
    members = set(re.findall(r'\\"(\w+)\\": ', source))
    named = re.findall(r"NAME\([A-Z]\w+, (\w+),", text_of("src/stats_file/stats_format.h"))
    pushes = {name for name in named if name.startswith("pushes_")}
    members |= set(named) - pushes - set(named[named.index("connections_ended"):])
    terms = re.search(r"^# REPORT\n(.*?)^# ", MANUAL, re.MULTILINE | re.DOTALL)[1]
    explained = set(re.findall(r"\*(\w+)\*", "\n".join(
        line for line in terms.splitlines() if line.startswith("*"))))
    assert explained == members


def test_the_manual_names_each_cause_of_a_push():
    causes = re.findall(r"NAME\(PUSH_\w+, pushes_(\w+),", text_of("src/stats_file/stats_format.h"))
    assert len(causes) > 5
    for cause in causes:
        assert f"*{cause}*" in paragraph_of("pushes")


@pytest.mark.parametrize("warning", [
    "expected ", "using the default", "no such variable; expected a name listed in libunstall(7)",
    "the report goes to stderr"])
def test_the_warnings_that_the_manual_lists_are_those_of_the_source(warning):
    source = CONFIG + text_of("src/preload/stats/report.c")
    assert warning in source
    assert warning in re.search(r"^# DIAGNOSTICS\n(.*?)^# ", MANUAL, re.MULTILINE | re.DOTALL)[1]


def test_the_filled_manual_lists_each_call_of_the_surface():
    calls = re.search(r"^# INTERPOSED NAMES\n(.*?)^# ", filled_manual("libunstall.7"),
                      re.MULTILINE | re.DOTALL)[1]
    listed = re.findall(r"\*([\w\\]+)\*", calls)
    assert sorted(name.replace("\\", "") for name in listed) == sorted(name for name, *_ in SURFACE)


def test_the_filled_manual_has_no_open_place():
    filled = filled_manual("libunstall.7")
    assert "1.2.3" in filled
    assert not re.search(r"@[A-Z]+@", filled)


def test_the_manual_becomes_a_page_without_complaint():
    page = subprocess.run(["scdoc"], input=filled_manual("libunstall.7"), check=True, capture_output=True,
                          text=True)
    assert page.stderr == ""
    assert '.TH "libunstall" "7"' in page.stdout
    assert "_Fork" in page.stdout


def test_a_role_without_a_heading_is_an_error():
    with pytest.raises(SystemExit, match="no heading for role novel"):
        surface_list.section([("write", "required", "write", "novel")])


def test_a_row_of_another_form_is_an_error():
    with pytest.raises(SystemExit, match="has not the form"):
        surface_list.rows("ROW(one, required, write, write)\nROW(two, required, write)\n")
