# SPDX-License-Identifier: MIT
"""Results and statistics files of many hosts, merged into one: histograms are added, hosts become strata.

Nothing is compared across hosts.  The arms of a round ran on one host, and a connection is compared with
connections of its own host.  So an arm does not look slow because a slow machine carries more of it.
"""

import os

from experiment.stats_files import add_connection, empty_unit, key_of, report, sum_rows
from record.arms import numbered
from record.results import USUAL, BadFile, Results, load


def merge(options):
    """The results of all files of `unstall ab --merge FILE...`."""
    parts = []
    for name in options.files:
        host, equals, path = name.partition("=")
        if not equals or os.path.exists(name):
            host, path = None, name
        parts.append(read(options, path, host))
    return join(parts, options)


def read(options, path, host):
    """The results of one host, from a file of results, a statistics file or a folder of statistics files."""
    if os.path.isdir(path) or path.endswith(".unstall"):
        return from_stats_files(options, path, host)
    part = load(path)
    return renamed(part, host) if host else part


def renamed(part, host):
    """The same results under another host's name."""
    if len(part.machines) > 1:
        raise BadFile(f"{host}: the file has {len(part.machines)} hosts, so it cannot be renamed to one")
    part.machines = {host: facts for facts in part.machines.values()}
    for unit in part.units + part.totals:
        unit.stratum = host
    return part


def from_stats_files(options, path, host):
    """The results in statistics files of processes that ran with UNSTALL_ARMS."""
    host = host or os.path.basename(os.path.dirname(os.path.abspath(path)) if
                                    path.endswith(".unstall") else os.path.abspath(path))
    units, totals, arms, control = {}, {}, [], None
    for process in report(options.unstall, path):
        names = numbered(arm["mode"] for arm in process["control"]["arms"])
        control = control or process["control"]
        for name in names:
            if name not in arms:
                arms.append(name)
        for connection in process["connections"]:
            if connection["arm"] is None or not connection["exchanges"] or \
                    connection["arm"] >= len(names):
                continue
            key = key_of(connection, process, process["control"]["assignment"])
            arm = names[connection["arm"]]
            add_connection(units.setdefault(key, empty_unit(arm, host, key)), connection)
        for row in process["rows"]:
            if row["arm"] is not None and row["arm"] < len(names):
                totals.setdefault(names[row["arm"]], []).append(row)
    if not arms:
        raise BadFile(f"{path}: no experiment: its processes ran without UNSTALL_ARMS")
    made = Results("live", {"arms": arms, "base": "off" if "off" in arms else arms[0],
                            "seed": control["seed"] % 10 ** 9,
                            "assignment": control["assignment"]}, {host: None},
                   list(units.values()), began=None, ended=None, ending="complete")
    made.totals = [sum_rows(rows, arm, host) for arm, rows in totals.items()]
    return made


def join(parts, options):
    """Results of many hosts -> one; BadFile if they are of different experiments.  One file alone stays what
    it is, so that its report is the same again."""
    first, alone = parts[0], len(parts) == 1
    whole = Results(first.kind, dict(first.experiment), {}, ending=first.ending if alone else "complete")
    for name, usual in USUAL.items():  # statistics files lack them
        whole.experiment.setdefault(name, usual)
    if not alone:
        whole.experiment.update(until_sure=False, stop_if=False, aa=False)
    for name in ("metric", "base", "seed", "confidence", "margin"):
        if getattr(options, name) is not None:
            whole.experiment[name] = getattr(options, name)
    blocks, seen = {}, set()
    for part in parts:
        same = part.began, part.ended, part.experiment.get("seed"), *part.machines
        if part.began and same in seen:
            raise BadFile(f"{', '.join(part.machines)}: the same file is given twice")
        seen.add(same)
        if part.paired != first.paired:
            raise BadFile("rounds and live connections cannot be merged: their units differ")
        if sorted(part.arms) != sorted(first.arms):
            raise BadFile(f"the files have different arms: {', '.join(first.arms)} and "
                          f"{', '.join(part.arms)}")
        for stratum, facts in part.machines.items():
            whole.machines.setdefault(stratum, facts)
        for unit in part.units:
            if part.paired and not alone:  # rounds of another file are other rounds, also on the same host
                unit.block = blocks.setdefault((id(part), unit.stratum, unit.block),
                                               len(blocks) + 1)
            whole.units.append(unit)
        whole.totals += part.totals
        whole.failures += part.failures
        whole.events += part.events
    whole.began = min(filter(None, (part.began for part in parts)), default=None)
    whole.ended = max(filter(None, (part.ended for part in parts)), default=None)
    if whole.experiment["base"] not in whole.arms:
        raise BadFile(f"--base {whole.experiment['base']}: no such arm; there are "
                      f"{', '.join(whole.arms)}")
    return whole
