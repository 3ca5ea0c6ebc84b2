# SPDX-License-Identifier: MIT
"""The code that writes the pieces, of the few processes that lost most."""

from pathlib import PurePosixPath

from pages import document

PROCESSES_SHOWN, SITES_SHOWN = 3, 4


def section(processes):
    """Each of these has `pid`, `program` and `patterns`; nothing where no pattern is known."""
    known = [process for process in processes if process["patterns"]]
    known.sort(key=lambda process: -sum(pattern["stall_ns"] for pattern in process["patterns"]))
    lines = []
    for process in known[:PROCESSES_SHOWN]:
        if len(processes) > 1:
            lines.append(f"{PurePosixPath(process['program']).name} (pid {process['pid']}):")
        worst = sorted(process["patterns"], key=lambda pattern: (-pattern["stall_ns"], -pattern["count"]))
        lines += [f"- {pattern['sentence']}" for pattern in worst[:SITES_SHOWN]]
    return document.heading("Who wrote the pieces") + document.verbatim("\n".join(lines)) if lines else ""
