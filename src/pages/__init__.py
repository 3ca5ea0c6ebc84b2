# SPDX-License-Identifier: MIT
"""The one renderer of pages, and of ladders in pictures: the JSON that a verb prints becomes HTML and SVG.

It imports the standard library alone.  src/cli/base/render.c starts it with the JSON on its standard input,
src/analysis calls it, and scripts/pictures uses its parts.
"""
