# SPDX-License-Identifier: MIT
"""The layers of src/preload, by what their objects define and need (nm).

A layer is a folder, and libunstall-FOLDER.a in the build folder.  A module is one object.
"""

import re
import subprocess

FIRST = "segment"  # src/stats_file, beneath all folders
LARGEST_CIRCLE = 2  # modules that may need each other
PURE = re.compile(r"(mem|str)\w+|_GLOBAL_OFFSET_TABLE_")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def order(meson):
    """The folders, lowest first, as src/preload/meson.build names them."""
    listed = re.search(r"^layers = \[([^]]*)\]", meson, re.MULTILINE)[1]
    return [FIRST, *re.findall(r"'(\w+)'", listed)]


def upcalls(header):
    """The functions that upcalls.h declares."""
    return set(re.findall(r"^\w[\w *]*\b(\w+)\(", COMMENT.sub("", header), re.MULTILINE))


def symbols(path):
    """name -> (defined, needed): the symbols of an object, or of each object of an archive."""
    found = {}
    listed = subprocess.run(["nm", "-A", "-P", path], check=True, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        place, symbol, kind = line.split()[:3]
        name = re.search(r"([^/[]+?)(\.[cS])?\.o\]?:$", place)[1]
        if kind.isupper() or kind in "wv":
            found.setdefault(name, (set(), set()))[kind in "Uwv"].add(symbol)
    return found


class Modules:
    """name -> layer, defined and needed symbols; and which module defines a symbol."""

    def __init__(self, layers):
        self.layers = layers
        self.layer, self.needs, self.of = {}, {}, {}

    def add(self, layer, name, defined, needed):
        self.layer[name], self.needs[name] = layer, needed
        self.of.update(dict.fromkeys(defined, name))

    def depth(self, module):
        return self.layers.index(self.layer[module])

    def rises(self):
        """(module, symbol, module that defines it) of each need of something higher."""
        known = [(module, symbol, self.of[symbol]) for module, needed in self.needs.items()
                 for symbol in needed if symbol in self.of]
        return sorted(rise for rise in known if self.depth(rise[2]) > self.depth(rise[0]))

    def circles(self, without):
        """Sets of more than LARGEST_CIRCLE modules each of which needs, by some way, each other."""
        edges = {module: {self.of[symbol] for symbol in needed - without if symbol in self.of} - {module}
                 for module, needed in self.needs.items()}
        return [circle for circle in components(edges) if len(circle) > LARGEST_CIRCLE]

    def impure(self, layer):
        """(module, symbol) of each need of the layer beside its own symbols and mem* and str*."""
        return sorted((module, symbol) for module, needed in self.needs.items() if self.layer[module] == layer
                      for symbol in needed
                      if self.layer.get(self.of.get(symbol)) != layer and not PURE.fullmatch(symbol))


def built(folder, layers):
    """The modules in a build folder's src/preload."""
    modules = Modules(layers)
    for layer in layers:
        for name, (defined, needed) in symbols(folder / f"libunstall-{layer}.a").items():
            modules.add(layer, f"{layer}/{name.removeprefix(layer + '_')}", defined, needed)
    return modules


def reached(edges, start):
    """All that can be reached from a module."""
    seen, ahead = set(), [start]
    while ahead:
        ahead.extend(new := edges.get(ahead.pop(), set()) - seen)
        seen |= new
    return seen


def components(edges):
    """The strongly connected components."""
    reach = {module: reached(edges, module) for module in edges}
    return {frozenset({module, *(other for other in reach[module] if module in reach.get(other, ()))})
            for module in edges}


INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def included(folder):
    """path -> the names that it includes, of all sources of a folder's folders."""
    return {path: INCLUDE.findall(path.read_text(encoding="utf-8"))
            for path in sorted(folder.glob("*/*.[chS]"))}


def include_circles(files):
    """Sets of files that include, by some way, each other; `files` as included() gives them."""
    named = {path.name: path for path in files}
    edges = {path: {named[name] for name in names if name in named} for path, names in files.items()}
    return [circle for circle in components(edges) if len(circle) > 1]
