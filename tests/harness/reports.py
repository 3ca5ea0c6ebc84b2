# SPDX-License-Identifier: MIT
"""Reads the JSON reports that UNSTALL_REPORT=FOLDER/NAME.%p.json leaves."""

import json


def report_pattern(folder):
    """The value for UNSTALL_REPORT that read_reports() reads back."""
    return f"{folder}/report.%p.json"


def read_reports(folder):
    """The reports of all processes, as a list of dicts."""
    return [json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(folder.glob("report.*.json"))]


def total(reports, key):
    """The sum of one number over the reports."""
    return sum(report[key] for report in reports)
