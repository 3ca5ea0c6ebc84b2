# SPDX-License-Identifier: MIT
"""The style of the page, and the colours of its pictures.

Every colour is a variable with two values: one for a light and one for a dark colour scheme, as the reader's
system asks for.  matplotlib draws in the light colours; themed() replaces them by the variables.
"""

import re

# Name: (light, dark).  Text and arms have a contrast of 4.5 to 1 at least; tests/pages measures it.
COLOURS = {
    "ink": ("#000000", "#ececec"),
    "paper": ("#ffffff", "#15181b"),
    "shade": ("#f3f3f3", "#23282d"),
    "grid": ("#cccccc", "#454b52"),
    "arm2": ("#555555", "#a9a9a9"),
    "arm3": ("#1f4e9e", "#8ab4f8"),
    "arm4": ("#8a4b08", "#eda45c"),
    "arm5": ("#2e7d32", "#81c784"),
    "arm6": ("#7b1fa2", "#d39ae6"),
}
LIGHT = {name: light for name, (light, _) in COLOURS.items()}


def _variables(scheme):
    return " ".join(f"--{name}: {values[scheme]};" for name, values in COLOURS.items())


STYLE = f"""
:root {{ color-scheme: light dark; {_variables(0)} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(1)} }} }}
""" + """
body {
  font: 16px/1.45 sans-serif; max-width: 56em; margin: 1.5em auto; padding: 0 1em;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere;
}
h1 { font-size: 1.4em }
h2 { font-size: 1.1em; margin: 1.8em 0 .4em }
.verdict { border-left: .4em solid var(--ink); padding: .5em 1em; background: var(--shade); font-size: 1.1em }
pre, code { font-family: monospace; background: var(--shade) }
pre { padding: .6em; white-space: pre-wrap }
.wide { overflow-x: auto }
table { border-collapse: collapse; overflow-wrap: normal }
th, td { padding: .2em .7em; text-align: right; vertical-align: top; border-bottom: 1px solid var(--grid) }
td { white-space: nowrap }
th:first-child, .words th, .words td { text-align: left }
.words td { white-space: normal; overflow-wrap: anywhere }
small { display: block }
figure { margin: 0 0 .8em; max-width: 40em }
figcaption { margin: .3em 0 }
.side { display: flex; flex-wrap: wrap; gap: 1em }
.side figure { flex: 1 1 16em; max-width: 20em }
.side text { font: 12px sans-serif }
svg { display: block; width: 100%; height: auto; fill: var(--ink) }
"""


def themed(svg):
    """The SVG with variables in the place of its colours.  matplotlib does not write black as a fill:
    `svg` above sets it."""
    svg = re.sub(r'\bfill="(#[0-9a-f]{6})"', r'style="fill: \1"', svg)  # an attribute cannot have a variable
    for name, light in LIGHT.items():
        svg = svg.replace(light, f"var(--{name})")
    return svg
