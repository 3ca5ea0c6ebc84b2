# SPDX-License-Identifier: MIT
"""Sphinx, as scripts/docs runs it."""

import os

from pygments.lexers import DockerLexer
from sphinx.highlighting import lexers

project = "unstall"
release = os.environ["UNSTALL_VERSION"]
html_title = f"unstall {release}"
language = "en"

extensions = ["myst_parser"]
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
smartquotes = False       # "--help" has two hyphens
highlight_language = "none"  # most blocks are commands and tables
lexers["Containerfile"] = DockerLexer()  # Pygments knows it by its older name

html_theme = "furo"       # light and dark, narrow and wide, nothing from a network
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_show_search_summary = False  # it would fetch pages, which a browser refuses from a file
