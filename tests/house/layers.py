# SPDX-License-Identifier: MIT
"""The layers of src/preload and of src/cli, by the symbols that their objects define and need (nm).

A layer is a folder, and an archive in the build folder.  A module is one object.
"""

import dataclasses
import re
import subprocess

LARGEST_CIRCLE = 4  # modules of one layer that may need each other: a write, a read, a close and a buffer do
PURE = re.compile(r"(mem|str)\w+|_GLOBAL_OFFSET_TABLE_")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Tree:
    """A folder of layers; its meson.build lists them, lowest first."""

    folder: str
    archive: str    # of a layer, in the build folder
    listed: str     # pattern of the list in meson.build
    layer: str      # pattern of a name in that list
    elsewhere: dict  # layer -> folder, of layers that are not in `folder`; the first of them is beneath all
    upcalls: str = ""  # header that declares the allowed needs of something higher
    unbuilt: frozenset = frozenset()  # modules of another target or configuration, or empty in this one

    def layers(self, source):
        """The names of the layers, lowest first."""
        meson = (source / self.folder / "meson.build").read_text(encoding="utf-8")
        listed = re.search(self.listed, meson, re.MULTILINE | re.DOTALL)[1]
        return [next(iter(self.elsewhere)), *re.findall(self.layer, listed, re.MULTILINE)]

    def place(self, layer):
        """The folder of a layer."""
        return self.elsewhere.get(layer, f"{self.folder}/{layer}")


PRELOAD = Tree("src/preload", "libunstall-{}.a", r"^layers = \[([^]]*)\]", r"'(\w+)'",
               {"stats-control": "src/stats_file"}, "conn/upcalls.h",
               frozenset({"exports/hook", "exports/jump_more"}))
CLI = Tree("src/cli", "libcli-{}.a", r"^cli_folders = \{(.*?)^\}", r"^  '(\w+)': \{",
           {"stats_file": "src/stats_file"}, "",
           frozenset({"scan/exact", "scan/exact_none", "attach/kernel", "attach/kernel_none", "attach/pins",
                      "supervise/supervise", "supervise/supervise_none"}))


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


def built(tree, source, build):
    """The modules of a tree in a build folder."""
    modules = Modules(tree.layers(source))
    for layer in modules.layers:
        for name, (defined, needed) in symbols(build / tree.folder / tree.archive.format(layer)).items():
            modules.add(layer, f"{layer}/{re.sub(rf'^(.._)?{layer}_', '', name)}", defined, needed)
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


def included(*folders):
    """path -> the names that it includes, of all sources of some folders."""
    return {path: INCLUDE.findall(path.read_text(encoding="utf-8"))
            for folder in folders for path in sorted(folder.glob("*.[chS]"))}


def include_circles(files):
    """Sets of files that include, by some way, each other; `files` as included() gives them."""
    named = {path.name: path for path in files}
    edges = {path: {named[name] for name in names if name in named} for path, names in files.items()}
    return [circle for circle in components(edges) if len(circle) > 1]
