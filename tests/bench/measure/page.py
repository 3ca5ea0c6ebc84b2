# SPDX-License-Identifier: MIT
"""The sections of the pages of scripts/bench: a new measurement replaces its section, the others stay."""

HEAD = "## "


def head(text):
    """The text before the first section."""
    return text.partition("\n" + HEAD)[0].strip("\n")


def split(text):
    """Title -> text of each section, in order."""
    parts = ("\n" + text).split("\n" + HEAD)[1:]
    return {title: body.strip("\n") for title, _, body in (part.partition("\n") for part in parts)}


def merge(old, new):
    """Both are title -> text.  A new title comes behind the one before it, else before the one behind it."""
    titles = list(old)
    wanted = list(new)
    for at, title in enumerate(wanted):
        if title in titles:
            continue
        behind = next((other for other in wanted[at + 1:] if other in titles), None)
        if at > 0:
            titles.insert(titles.index(wanted[at - 1]) + 1, title)
        else:
            titles.insert(titles.index(behind) if behind else len(titles), title)
    return {title: new.get(title, old.get(title)) for title in titles}


def written(found):
    return "\n\n".join(f"{HEAD}{title}\n\n{text.strip()}" for title, text in found.items())
