# SPDX-License-Identifier: MIT
"""Shows results: text for the terminal, a page with pictures, the progress bar.  Imports record/ alone."""
