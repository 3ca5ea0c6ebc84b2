# SPDX-License-Identifier: MIT
"""Results as text for the terminal and for two pages; the picture is picture.py's.

docs/benchmarks.md has the tables of what the README and the manual claim, docs/results/benchmarks.md all
others."""

from . import page, report_fleet
from .configurations import ONE
from .exchanges import ROWS
from .instructions import BUDGETS
from .machine import ROOT
from .tables import digits, paragraph, ratio, table

DOCS = ROOT / "docs/benchmarks.md"
OTHERS = ROOT / "docs/results/benchmarks.md"
BEGIN, END = "<!-- written by scripts/bench -->", "<!-- end of what scripts/bench writes -->"
OTHERS_HEAD = """<!-- scripts/bench --update-docs has made this file. -->

# All other tables of scripts/bench

[Benchmarks](../benchmarks.md) has the tables of what the pages claim, and says how all are measured."""

PICTURE = "![Ratio of each configuration to one send](benchmarks.svg)"

TITLES = {row.name: row.title for row in ROWS}


def verdict(row, name, statistics):
    target = row.targets.get(name)
    if target is None:
        return ""
    got = statistics[f"ratio to {target.of}"]["median"]
    reached = "reached" if round(got, 3) <= target.most else "missed"
    if target.of == ONE.name:
        return f"≤ {target.most:g}: {reached}"
    return f"≤ {target.most:g} of MORE: {reached} ({got:.3f})"


def row_table(row, results):
    lines = []
    for name, s in results.items():
        lines.append([name, ratio(s["ratio"]), f"{s['ns']['median'] / 1000:.2f}",
                      f"{s['segments']['median']:.2f}", f"{s['calls']:.1f}", verdict(row, name, s)])
    return table(["configuration", "ratio (quartiles)", "µs", "segments", "calls", "target"], lines)


def calls_table(calls):
    return table(["call", "bare ns", "added ns (quartiles)"], [
        [name, digits(s["bare"]),
         f"{s['added']['median']:.1f} ({s['added']['low']:.1f}–{s['added']['high']:.1f})"]
        for name, s in calls.items()])


def start_line(start):
    return paragraph(
        f"Loading adds {start['added']['median']:.0f} µs to the {start['bare']['median']:.0f} µs "
        f"of `true` (quartiles {start['added']['low']:.0f} to {start['added']['high']:.0f}; target 50).")


def memory_line(memory):
    connection = ", ".join(f"{n:.0f} B in `{mode}`" for mode, n in memory["connection"].items())
    return paragraph(
        f"A process has {memory['process']['own']} KiB of its own more (target 64). The library's file has "
        f"{memory['process']['library']} KiB resident, most of them shared by all processes under it. "
        f"A living connection costs {connection} (target 256).")


def thread_table(threads):
    return table(["server at full speed", "of a core (target 0.3)", "ended when idle"], [
        [name, f"{100 * t['share']:.2f} %", "yes" if t["ended when idle"] else "no"]
        for name, t in threads.items()])


def scan_table(rows):
    return table(["a program with", "µs an exchange", "added ns", "ratio (target 1.01)", "ns a send",
                  "ns a segment"], [
        [name, f"{s['exchange ns'] / 1000:.1f}", f"{s['added ns']:.0f}", f"{s['ratio']:.4f}",
         f"{s['ns a run']['after_send']:.0f}", f"{s['ns a run']['before_receive']:.0f}"]
        for name, s in rows.items()])


def attach_table(rows):
    def target(s):
        if s["target"] is None:
            return ""
        return f"≤ {s['target']:.2f}" + ("" if round(s["ratio"], 4) <= s["target"] else ": missed")
    return table(["attached", "µs an exchange", "runs", "added ns", "ratio", "target"], [
        [name, f"{s['exchange ns'] / 1000:.1f}", f"{s['runs']:.2f}", f"{s['added ns']:.0f}",
         f"{s['ratio']:.4f}", target(s)] for name, s in rows.items()])


def scale_table(scale):
    names = list(next(iter(scale.values())))
    lines = []
    for point, rows in scale.items():
        lines.append([point, f"{rows[names[0]]['ns']['median'] / 1000:.1f}",
                      *[ratio(rows[name]["ratio"]) for name in names[1:]]])
    return table(["server with", "µs", *names[1:]], lines)


def path_table(rows):
    return table(["configuration", "ms an exchange", "ratio (quartiles)"], [
        [name, f"{s['ns']['median'] / 1e6:.1f}", ratio(s["ratio"])] for name, s in rows.items()])


def real_table(rows):
    names = [key for key in next(iter(rows.values())) if key.startswith("p")]
    lines = []
    for name, s in rows.items():
        lines.append([name, digits(s["rate"]["median"]), ratio(s["ratio"]),
                      *[digits(s[key]["median"]) for key in names]])
    return table(["configuration", "a second", "time, ratio to the first with preload"
                  if "bare, again" not in rows else "time, ratio to bare", *names], lines)


def instructions_table(added):
    modes = list(added)
    names = [(name,) for name in added[modes[0]]]
    names += [calls for budgets in BUDGETS.values() for calls in budgets
              if calls not in names and calls[0] in added[modes[0]]]
    return table(["path", *modes, "budget"], [
        [" + ".join(calls).replace("_", " "), *[digits(sum(added[m][name] for name in calls)) for m in modes],
         ", ".join(f"{mode} {budgets[calls]}" for mode, budgets in BUDGETS.items() if calls in budgets)]
        for calls in names])


def sections(results):
    """(section, title, text) of each measurement."""
    for row in ROWS:
        if row.name in results["rows"]:
            yield row.name, row.title, row_table(row, results["rows"][row.name])
    if "calls" in results:
        yield "calls", "Calls that have nothing to do with TCP", calls_table(results["calls"]) + (
            "\n\nTargets: 10 ns for a write or read, 3 ns for a wait with nothing held.")
    if "start" in results or "memory" in results:
        yield "memory", "Start and memory", "\n".join(
            ([start_line(results["start"])] if "start" in results else [])
            + ([memory_line(results["memory"])] if "memory" in results else []))
    yield from report_fleet.sections(results)
    if "thread" in results:
        yield "thread", "The window's thread", thread_table(results["thread"])
    if results.get("scan"):
        yield "scan", "A scan of the host, source exact", (
            paragraph("What the two BPF programs of `unstall scan` and `unstall metrics --host` add to an "
                      "exchange of any program, both ends on this host, by the kernel's run-time statistics, "
                      "whose own cost is in it. The least of five rounds, because other traffic of the "
                      "machine counts too.")
            + "\n\n" + scan_table(results["scan"]))
    if results.get("attach"):
        yield "attach", "unstall attach, a program that does not stall", (
            paragraph("What the BPF programs of `unstall attach` and of `unstall ab --live` add to an "
                      "exchange of a program in the cgroup, whose peer is outside (`the peer too`: inside), "
                      "by the kernel's run-time statistics, whose own cost is in it. The exchange is the "
                      "fastest of all rounds, the other numbers are medians; those of an experiment are the "
                      "least, because its tracepoints count other traffic of the machine too.")
            + "\n\n" + attach_table(results["attach"]))
    if "instructions" in results:
        yield "instructions", "Instructions added to a call", (
            paragraph("The path is the library's own; callgrind counts it. A change that raises one of these "
                      "by more than 5 % fails the suite `bench`.")
            + "\n\n" + instructions_table(results["instructions"]))
    if "scale" in results:
        yield ("scale", "Scale",
               paragraph("Ratio to one send, whose time is under µs. The server has so many connections "
                         "(conns) under epoll, or so many threads with a connection each. Server and load "
                         "share one core, but the unpinned 64 threads have all.")
               + "\n\n" + scale_table(results["scale"]))
    if results.get("path"):
        yield "path", "A long path (round trip 20 ms)", path_table(results["path"])
    for name, rows in results.get("real", {}).items():
        yield "real", name, real_table(rows)


def told(section, results):
    """Its tables, as the terminal shows them."""
    return "\n".join(f"\n{title}\n{text}" for name, title, text in sections(results) if name == section)


def machine_line(results):
    m = results["machine"]
    return paragraph(
        f"Kernel {m['kernel']}, {m['libc']}, {m['compiler']}, "
        f"{m['processor']} with {m['cores']} cores, congestion control {m['congestion control']}; "
        "client and server on one core. Below each table: date, commit, and the load of the "
        "machine before the run (0 is best; other work adds noise).")


def new_sections(results, head):
    """Title -> text with its stamp, which names the processor if `head` does not."""
    found = {}
    for section, title, text in sections(results):
        if stamp := results["stamps"].get(section):
            processor = stamp.get("processor", "")  # stamps of older results have none
            where = "" if processor in " ".join(head.split()) else f", {processor}"
            text += (f"\n\n<sub>{stamp['kind']} run, {stamp['date']}, commit {stamp['commit']}, "
                     f"load {stamp['load before']}{where}</sub>")
        found[title] = text
    if results["skipped"]:
        found["Not measured"] = "\n".join(f"- {what}: {why}" for what, why in results["skipped"].items())
    return found


def draw_pictures(results):
    from .picture import draw
    if set(results["rows"]) == set(TITLES):
        draw(results, DOCS.with_suffix(".svg"))


def update_docs(results, complete):
    """docs/benchmarks.md keeps its choice of sections, OTHERS has the rest.  A section without a result stays
    as it is, but not in OTHERS if the results are complete.  Text outside the two marks always stays."""
    before, old = DOCS.read_text(encoding="utf-8").split(BEGIN)
    written, after = old.split(END)
    others = OTHERS.read_text(encoding="utf-8")
    line = machine_line(results) if complete else page.head(written).split("\n\n", maxsplit=1)[0]
    found = new_sections(results, line)
    claims = {title: found.pop(title, text) for title, text in page.split(written).items()}
    if not complete:
        found = page.merge(page.split(others), found)
    draw_pictures(results)
    DOCS.write_text("".join([before, "\n\n".join([BEGIN, line, PICTURE, page.written(claims), END]), after]),
                    encoding="utf-8")
    OTHERS.write_text("\n\n".join([OTHERS_HEAD, line, page.written(found)]) + "\n", encoding="utf-8")
