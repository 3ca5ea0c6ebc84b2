# SPDX-License-Identifier: MIT
"""Two simple preloads: columns of the table that are not judged."""

import shutil

from harness import compile_c

from .treatments import Treatment
from .victims import HOME

SIMPLE = ("socket-nodelay", "cork-nodelay")


def simple(name):
    """The Treatment of one of SIMPLE, compiled if need be."""
    built = compile_c(HOME / "preloads" / f"{name.replace('-', '_')}.c", "-shared", "-fPIC")
    library = built.with_name(built.name + ".so")
    if not library.exists():
        shutil.copy(built, library)
    return Treatment(name, "any", library)
