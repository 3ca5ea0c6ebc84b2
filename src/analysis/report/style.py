# SPDX-License-Identifier: MIT
"""The colours of the pictures that matplotlib draws: the light ones of src/pages.  themed() puts the
variables in their place."""

import re

from pages.style import COLOURS

LIGHT = {name: light for name, (light, _) in COLOURS.items()}


def themed(svg):
    """The SVG with variables in the place of its colours.  matplotlib does not write black as a fill: the
    style of the page sets it."""
    svg = re.sub(r'\bfill="(#[0-9a-f]{6})"', r'style="fill: \1"', svg)  # an attribute cannot have a variable
    for name, light in LIGHT.items():
        svg = svg.replace(light, f"var(--{name})")
    return svg
