# SPDX-License-Identifier: MIT
"""The folders of src/analysis are layers: a module imports its own folder and lower ones, never a higher one,
and no modules import each other in a circle. Imports inside functions count, too."""

import ast
import graphlib
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src/analysis"
LAYERS = ["record", "inference", "experiment", "report", ""]  # lowest first; "" is src/analysis itself

# A calculation is the same in an experiment, in a merge and in a resampled test, so inference/ reaches
# nothing outside its arguments: no file, no process, no clock.
PURE = {"bisect", "copy", "dataclasses", "functools", "math", "numpy", "random", "shlex", "statistics"}


def imported(path):
    """The dotted names that a file imports; of `from a import b` both a and a.b."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import; write it from src/analysis"
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def modules(folder):
    """Dotted name -> path, of all modules below a folder."""
    return {".".join(path.relative_to(folder).with_suffix("").parts): path for path in folder.rglob("*.py")}


def arrows(folder):
    """Dotted name -> the modules of the same tree that it imports."""
    found = modules(folder)
    return {name: imported(path) & set(found) for name, path in found.items()}


def layer_of(module):
    """The folder of a module; "" at the top."""
    return module.rpartition(".")[0]


def violations(folder):
    """Sentences: each import that goes up, and the first circle."""
    graph = arrows(folder)
    found = [f"{name}: its folder is no layer" for name in graph if layer_of(name) not in LAYERS]
    found += [f"{name} imports {target}, which is in a higher layer"
              for name, targets in sorted(graph.items()) for target in sorted(targets) if not found and
              LAYERS.index(layer_of(target)) > LAYERS.index(layer_of(name))]
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        found.append("a circle: " + " -> ".join(error.args[1]))
    return found


def planted(folder, **texts):
    """A tree of modules, as small as it can be; record__a is record/a.py."""
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_imports_go_downward_and_in_no_circle():
    assert len(modules(SOURCE)) > 15
    assert violations(SOURCE) == []


def test_inference_is_pure():
    for name, path in modules(SOURCE / "inference").items():
        outside = {word.partition(".")[0] for word in imported(path)} - {"inference", "record"}
        assert outside <= PURE, f"inference/{name}.py imports {outside - PURE}"


def test_pages_need_nothing_beside_python():
    for path in (SOURCE.parent / "pages").glob("*.py"):
        names = {name.partition(".")[0] for name in imported(path)}
        assert names <= {*sys.stdlib_module_names, "pages"}, path


@pytest.mark.parametrize("texts, complaint", [
    ({"record__a": "import report.b", "report__b": ""},
     "record.a imports report.b, which is in a higher layer"),
    ({"record__a": "from report import b", "report__b": ""},
     "record.a imports report.b, which is in a higher layer"),
    ({"record__a": "def f():\n  from report.b import c", "report__b": ""}, "record.a imports report.b"),
    ({"record__a": "from options import x", "options": ""}, "record.a imports options"),
    ({"record__a": "import record.b", "record__b": "def f():\n  from record import a"}, "a circle: "),
    ({"options": "import outcome", "outcome": "import options"}, "a circle: "),
    ({"more__a": ""}, "more.a: its folder is no layer"),
], ids=["import", "from", "in a function", "the top", "a circle", "a circle at the top", "a new folder"])
def test_a_planted_violation_is_found(tmp_path, texts, complaint):
    found = violations(planted(tmp_path, **texts))
    assert len(found) == 1 and found[0].startswith(complaint)


def test_downward_imports_are_no_violation(tmp_path):
    assert violations(planted(tmp_path, report__b="import record.a", record__a="import os",
                              options="import report.b")) == []
