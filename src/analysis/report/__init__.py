# SPDX-License-Identifier: MIT
"""Shows results: text for the terminal, the progress bar.  Imports record/, pages."""

import sys
from pathlib import Path

# pages lies beside analysis, also where it is installed
sys.path.append(str(Path(__file__).resolve().parents[2]))
