# SPDX-License-Identifier: MIT
"""Includes and symbols of src/preload and of src/cli go downward only, and the check finds one that goes up.

Meson gives each folder the headers of its own and of lower folders.  The objects show the rest.
"""

import copy
import json
import shlex
import subprocess

import layers
import pytest

from harness import BUILD_ROOT, SOURCE_ROOT, skip

pytestmark = pytest.mark.no_library

TREES = [layers.PRELOAD, layers.CLI]
HEADER = SOURCE_ROOT / layers.PRELOAD.folder / layers.PRELOAD.upcalls
UPCALLS = layers.upcalls(HEADER.read_text(encoding="utf-8"))
BUILT = {}


def built(tree):
    """The modules of a tree; they are read once."""
    if tree.folder not in BUILT:
        if not (BUILD_ROOT / tree.folder / tree.archive.format(tree.layers(SOURCE_ROOT)[0])).exists():
            skip(f"{tree.folder} was not built")
        BUILT[tree.folder] = layers.built(tree, SOURCE_ROOT, BUILD_ROOT)
    return copy.deepcopy(BUILT[tree.folder])


@pytest.fixture(name="tree", params=TREES, ids=lambda tree: tree.folder)
def _tree(request):
    return request.param


@pytest.fixture(name="modules")
def _modules():
    return built(layers.PRELOAD)


@pytest.fixture(name="plant")
def _plant(modules, tmp_path):
    """plant(layer, name, source) adds a module to the built ones."""
    def plant(layer, name, source):
        (tmp_path / f"{name}.c").write_text(source)
        subprocess.run(["cc", "-c", "-o", tmp_path / f"{name}.o", tmp_path / f"{name}.c"], check=True)
        modules.add(layer, f"{layer}/{name}", *layers.symbols(tmp_path / f"{name}.o")[name])
        return f"{layer}/{name}"
    return plant


def unlisted(modules):
    return [rise for rise in modules.rises() if rise[1] not in UPCALLS]


# ---- the trees ---------------------------------------------------------------

def test_symbols_go_downward(tree):
    assert unlisted(built(tree)) == []


def test_each_upcall_is_needed(modules):
    assert {symbol for _, symbol, _ in modules.rises()} == UPCALLS


def test_no_circle_of_modules(tree):
    assert built(tree).circles(UPCALLS) == []


def test_policy_is_pure(modules):
    assert modules.impure("policy") == []


def test_every_source_is_in_a_layer(tree):
    modules = built(tree)
    folders = {layer: SOURCE_ROOT / tree.place(layer) for layer in modules.layers[1:]}
    sources = {f"{layer}/{path.stem}" for layer, folder in folders.items() for path in folder.glob("*.[cS]")}
    found = {name for name, layer in modules.layer.items() if layer in folders}
    assert found <= sources and sources - found <= tree.unbuilt
    assert {path.parent for path in (SOURCE_ROOT / tree.folder).rglob("*.[chS]")
                if path.parent.name != "bpf"} <= set(folders.values())


def test_includes_name_one_file_each_and_go_round_nowhere(tree):
    files = layers.included(*(SOURCE_ROOT / tree.place(layer) for layer in tree.layers(SOURCE_ROOT)))
    names = [path.name for path in files if path.suffix == ".h"]
    assert sorted(names) == sorted(set(names)), "a name stands in two folders"
    assert not [(path.name, name) for path, all_of in files.items() for name in all_of if ".." in name]
    assert layers.include_circles(files) == []


# ---- planted violations ------------------------------------------------------

def compiles(tree, layer, header, tmp_path):
    """Does a source of this layer that includes this header compile, as Meson compiles the layer?"""
    commands = json.loads((BUILD_ROOT / "compile_commands.json").read_text(encoding="utf-8"))
    words = next(shlex.split(each["command"]) for each in commands
                 if f"/{tree.archive.format(layer)}.p/" in f"/{each['output']}")
    options = [word for word in words[1:] if word.startswith(("-I", "-D", "-U", "-std"))]
    source = tmp_path / "planted.c"
    source.write_text(f'#include "{header.name}"\n')
    done = subprocess.run(["cc", *options, "-fsyntax-only", source], cwd=BUILD_ROOT, check=False,
                          capture_output=True, text=True)
    assert done.returncode == 0 or f"{header.name}: No such file" in done.stderr, done.stderr
    return done.returncode == 0


STEPS = [(tree, layer, higher) for tree in TREES for order in [tree.layers(SOURCE_ROOT)]
         for layer, higher in zip(order[1:], order[2:])]


@pytest.mark.parametrize("tree, layer, higher", STEPS, ids=lambda each: getattr(each, "folder", each))
def test_an_upward_include_does_not_compile(tree, layer, higher, tmp_path):
    built(tree)
    for header in sorted((SOURCE_ROOT / tree.place(layer)).glob("*.h"))[:2]:
        assert compiles(tree, layer, header, tmp_path)
    for header in (SOURCE_ROOT / tree.place(higher)).glob("*.h"):
        assert not compiles(tree, layer, header, tmp_path)


def test_a_need_of_something_higher_is_found(modules, plant):
    planted = plant("sys", "planted", "void hold_end_turn_slow(int); void f(void) { hold_end_turn_slow(0); }")
    assert unlisted(modules) == [(planted, "hold_end_turn_slow", "hold/turn")]


def test_a_part_that_needs_a_verb_is_found():
    modules = built(layers.CLI)
    modules.add("base", "base/planted", set(), {"verb_run", "complain"})
    assert unlisted(modules) == [("base/planted", "verb_run", "verbs/run")]


def test_an_upcall_of_another_name_is_found(modules, plant):
    planted = plant("conn", "planted", "int planted_above(void); int f(void) { return planted_above(); }")
    above = plant("process", "above", "int planted_above(void) { return 1; }")
    assert unlisted(modules) == [(planted, "planted_above", above)]


def test_an_upcall_that_nobody_needs_is_found(modules):
    declared = layers.upcalls("/* not_this(void) */\n"
                              "void conn_ends(struct conn *c);\nstruct conn *planted(void);\n")
    assert declared == {"conn_ends", "planted"}
    assert declared - {symbol for _, symbol, _ in modules.rises()} == {"planted"}


def test_a_circle_of_five_is_found_and_one_of_four_is_none(modules, plant):
    for name, needs in zip("abcd", "bcda"):
        plant("hold", name, f"int {needs}(void); int {name}(void) {{ return {needs}(); }}")
    assert modules.circles(UPCALLS) == []
    plant("hold", "d", "int e(void); int d(void) { return e(); }")
    plant("hold", "e", "int a(void); int e(void) { return a(); }")
    assert modules.circles(UPCALLS) == [{f"hold/{name}" for name in "abcde"}]


@pytest.mark.parametrize("source, needs", [
    ("int getpid(void); int f(void) { return getpid(); }", "getpid"),
    ("unsigned long clock_now(void); int f(void) { return clock_now() > 0; }", "clock_now"),
    ("extern int text_planted; int f(void) { return text_planted; }", "text_planted"),
])
def test_what_is_not_pure_is_found(modules, plant, source, needs):
    planted = plant("policy", "planted", source)
    assert modules.impure("policy") == [(planted, needs)]


def test_a_pure_module_is_no_violation(modules, plant):
    plant("policy", "planted", "unsigned long strlen(const char *); const char *const mode_names[];"
                               "int f(void) { return (int)strlen(mode_names[0]); }")
    assert modules.impure("policy") == []


def test_an_include_circle_is_found(tmp_path):
    (tmp_path / "sys").mkdir()
    (tmp_path / "conn").mkdir()
    (tmp_path / "sys/a.h").write_text('#include "b.h"\n')
    (tmp_path / "conn/b.h").write_text('#include "c.h"\n')
    (tmp_path / "conn/c.h").write_text('#include <stdio.h>\n')
    folders = [tmp_path / "sys", tmp_path / "conn"]
    assert layers.include_circles(layers.included(*folders)) == []
    (tmp_path / "conn/c.h").write_text('#include "a.h"\n')
    (circle,) = layers.include_circles(layers.included(*folders))
    assert {path.name for path in circle} == {"a.h", "b.h", "c.h"}
