# SPDX-License-Identifier: MIT
"""The layers of src/preload, by what their objects define and need (nm).

A layer is a folder; its objects lie in the build folder, in libunstall-FOLDER.a.p.  A module is one object.
"""

import re
import subprocess

FIRST = "segment"  # src/segment, beneath all folders
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
    """(defined, needed): the symbols of one object."""
    lines = subprocess.run(["nm", "-P", path], check=True, capture_output=True, text=True).stdout.splitlines()
    both = [line.split()[:2] for line in lines]
    return ({name for name, kind in both if kind.isupper() and kind != "U"},
            {name for name, kind in both if kind in ("U", "w", "v")})


class Modules:
    """name -> layer, defined and needed symbols; and which module defines a symbol."""

    def __init__(self, layers):
        self.layers = layers
        self.layer, self.needs, self.of = {}, {}, {}

    def add(self, layer, name, path):
        defined, needed = symbols(path)
        self.layer[name], self.needs[name] = layer, needed
        self.of.update(dict.fromkeys(defined, name))

    def depth(self, module):
        return self.layers.index(self.layer[module])

    def rises(self):
        """(module, symbol, module that defines it) of each need of something higher."""
        return sorted((module, symbol, self.of[symbol]) for module, needed in self.needs.items()
                      for symbol in needed if symbol in self.of and self.depth(self.of[symbol]) > self.depth(module))

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
        objects = sorted((folder / f"libunstall-{layer}.a.p").glob("*.o"))
        assert objects, f"no objects of {layer} in {folder}"
        for path in objects:
            stem = re.sub(r"\.[cS]\.o$", "", path.name)
            modules.add(layer, stem.replace(f"{layer}_", f"{layer}/", 1) if layer != FIRST else f"{layer}/{stem}", path)
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
