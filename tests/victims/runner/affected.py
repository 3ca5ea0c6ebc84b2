# SPDX-License-Identifier: MIT
"""docs/affected.md and the table of `unstall doctor`, from the victims' files.

The times come from docs/results/gallery.md, the versions from the packages on this machine.
"""

import json
import re
import subprocess
import textwrap

from harness import SOURCE_ROOT

from .document import old_rows
from .victims import load, victims

PAGE = SOURCE_ROOT / "docs" / "affected.md"
TABLE = SOURCE_ROOT / "src" / "cli" / "doctor" / "affected_table.inc"
_GALLERY = SOURCE_ROOT / "docs/results/gallery.md"
_WIDTH, _COLUMNS = 110, 100

_HEAD = """\
# Is mine affected?

The software of this page sends a message in small writes, or a small message behind one that is not
acknowledged yet, and then waits 40 ms. It was measured for [the gallery](results/gallery.md). Other versions
may stall, too. `scripts/gallery --affected` writes this page from the files `tests/victims/*/victim.py`.

`unstall observe -- COMMAND` runs a program and says if it stalls. `unstall scan` watches the whole host.
`unstall doctor COMMAND` says if a program is on this page.

The times are the median milliseconds of an exchange over loopback, bare (without the library) and in the mode
auto.

"""
_DETAILS = """
## What to do

A cure marked *measured* was measured like the modes of the gallery: the stall is gone with it.
"""
_C_HEAD = """\
/* SPDX-License-Identifier: MIT
 *
 * Software that is known to stall, for `unstall doctor`.  scripts/gallery --affected writes this file from
 * tests/victims.  Included by affected.c alone.
 */

"""


def all_affected():
    """(name of the victim, Victim) of all that stand for a software, by its name."""
    found = [(name, load(name)) for name in victims(heavy=True)]
    return sorted(((name, one) for name, one in found if one.affected),
                  key=lambda pair: pair[1].affected.software.lower())


def _version(affected):
    if affected.version:
        return affected.version
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", affected.package], check=False,
                          capture_output=True, text=True)
    # Debian's epoch, and its own part of the version, are no part of the software's
    return re.sub(r"^\d+:|[-+~].*$", "", done.stdout) if done.returncode == 0 else None


def _versions_before(text):
    """Software -> version, as the page has them."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    return {cells[0].strip(): cells[1].strip() for cells in rows}


def _wrapped(text, first="", rest="  "):
    return textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=rest,
                         break_on_hyphens=False, break_long_words=False) + "\n"


def _details(name, victim):
    one = victim.affected
    measured = " (measured)" if one.measured else ""
    lines = [f"\n**{one.software}** (`{name}`)\n\n", _wrapped(f"The stall: {victim.story}.", "- "),
             _wrapped(f"To see it: `unstall observe -- {one.observe}`", "- ")]
    if one.own:
        lines.append(_wrapped(f"Its own setting{measured}: {one.own}.", "- "))
    lines.append(_wrapped(f"In the source{'' if one.own else measured}: {one.source.rstrip('.')}.", "- "))
    lines.append(_wrapped(f"With unstall: `unstall run -- {one.observe}`", "- "))
    return "".join(lines)


def _time(cell):
    return re.match(r"[\d.]+", cell).group()


def page(before):
    """The text of docs/affected.md; a version that this machine does not tell stays as it was."""
    rows, old = old_rows(_GALLERY.read_text("utf-8")), _versions_before(before)
    lines = ["| software | version | side | bare | auto |\n", "|---|---|---|---|---|\n"]
    for name, victim in all_affected():
        one, times = victim.affected, rows[f"`{name}`"]
        version = (not victim.well_version() and _version(one)) or old.get(one.software, "?")
        lines.append(f"| {one.software} | {version} | {victim.sick} | {_time(times['bare'])} "
                     f"| {_time(times['auto'])} |\n")
    return _HEAD + "".join(lines) + _DETAILS + "".join(_details(*pair) for pair in all_affected())


def _c_text(indent, text):
    """A C string over as many lines as it takes."""
    parts = textwrap.wrap(text, _COLUMNS - indent - 8, drop_whitespace=False, break_on_hyphens=False)
    return ("\n" + " " * indent).join(json.dumps(part, ensure_ascii=True) for part in parts)


def _plain(text):
    return text.replace("`", "")


def _c_row(one):
    cure = one.own or one.source
    members = [f".software = {_c_text(16, one.software)}", f".cure = {_c_text(16, _plain(cure).rstrip('.'))}"]
    members += [f".{name} = {{{', '.join(json.dumps(text) for text in getattr(one, name))}}}"
                for name in ("programs", "words", "libraries") if getattr(one, name)]
    return "    {\n" + "".join(f"        {member},\n" for member in members) + "    },\n"


def table():
    """The text of the C table: the software that doctor can recognise."""
    known = [victim.affected for _, victim in all_affected()]
    return (_C_HEAD + "static const struct affected all_affected[] = {\n" +
            "".join(_c_row(one) for one in known if one.programs or one.words or one.libraries) + "};\n")


def write():
    """Write both files."""
    PAGE.write_text(page(PAGE.read_text("utf-8") if PAGE.exists() else ""), "utf-8")
    TABLE.write_text(table(), "utf-8")
