# SPDX-License-Identifier: MIT
"""The JSON of a report on standard input becomes a page on standard output.  src/cli/base/render.c runs this
folder with /usr/bin/python3."""

import json
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parent.parent)  # so that the parts have the name of their folder before them

from pages import of_ab, of_explain, of_report, of_scan  # noqa: E402

FORMS = {"unstall-ab": of_ab.page, "unstall-explain": of_explain.page, "unstall-report": of_report.page,
         "unstall-report-folder": of_report.page, "unstall-scan": of_scan.page}


def main():
    """One page."""
    data = json.load(sys.stdin)
    first = data[0] if isinstance(data, list) else data
    sys.stdout.write(FORMS[first["format"]](data))


if __name__ == "__main__":
    main()
