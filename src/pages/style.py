# SPDX-License-Identifier: MIT
"""The style of a page, and the colours of its pictures.

Every colour is a variable with two values: one for a light and one for a dark colour scheme, as the reader's
system asks for.
"""

# Name: (light, dark).  Text and arms have a contrast of 4.5 to 1 at least; tests/pages measures it.
COLOURS = {
    "ink": ("#000000", "#ececec"),
    "paper": ("#ffffff", "#15181b"),
    "shade": ("#f3f3f3", "#23282d"),
    "grid": ("#cccccc", "#454b52"),
    "line": ("#1f4e9e", "#8ab4f8"),
    "stall": ("#b00020", "#ff8a80"),
    "hold": ("#2e6b34", "#8fd19e"),
    "arm2": ("#555555", "#a9a9a9"),
    "arm4": ("#8a4b08", "#eda45c"),
    "arm5": ("#2e7d32", "#81c784"),
    "arm6": ("#7b1fa2", "#d39ae6"),
}


def variables(scheme, names=tuple(COLOURS)):
    """The declarations of these colours: 0 light, 1 dark."""
    return "".join(f"--{name}:{COLOURS[name][scheme]};" for name in names)


# Of a ladder, in a page and in a picture of its own: segments and calls are arrows.
LADDER = """svg{fill:var(--ink)}svg line{stroke:var(--ink)}.b{font-weight:bold}.e{text-anchor:end}
.m{text-anchor:middle}.a line{stroke:var(--line)}.a path{fill:var(--line)}.c line{stroke-dasharray:4 3}"""

STYLE = f"""
:root {{ color-scheme: light dark; {variables(0)} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {variables(1)} }} }}
{LADDER}
""" + """
body {
  font: 16px/1.45 sans-serif; max-width: 62em; margin: 1.5em auto; padding: 0 1em;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere;
}
h1 { font-size: 1.4em }
h2 { font-size: 1.1em; margin: 1.8em 0 .4em }
a { color: var(--line) }
.verdict { border-left: .4em solid var(--ink); padding: .5em 1em; background: var(--shade); font-size: 1.1em }
footer { margin-top: 2em; border-top: 1px solid var(--grid); font-size: .85em }
pre, code { font-family: monospace; background: var(--shade) }
pre { padding: .6em; white-space: pre-wrap }
.wide { overflow-x: auto }
table { border-collapse: collapse; overflow-wrap: normal }
th, td { padding: .2em .7em; text-align: right; vertical-align: top; border-bottom: 1px solid var(--grid) }
td, .sorted th { white-space: nowrap }
th:first-child, td:first-child, .words th, .words td { text-align: left }
.words td { white-space: normal; overflow-wrap: anywhere }
th button {
  font: inherit; font-weight: bold; color: inherit; background: none; border: 0; padding: 0; cursor: pointer;
}
small { display: block }
figure { margin: 0 0 .8em; flex: 1 1 22em; max-width: 40em }
figcaption { margin: .3em 0 }
.side { display: flex; flex-wrap: wrap; gap: 1em }
.side figure { max-width: 34em }
.side.small figure { flex: 1 1 16em; max-width: 20em }
svg { display: block; width: 100%; height: auto }
svg text { font: 13px sans-serif }
svg text.b { font-weight: bold }
/* Captions of two lines, so that pictures beside each other begin together. */
@media (min-width: 50em) { .ladders figcaption { display: flex; align-items: end; min-height: 2.9em } }
/* A table may take the room beside the text. */
@media (min-width: 66em) { .wide { width: fit-content; min-width: 100%; max-width: calc(50vw + 29em) } }
@media print { th button { cursor: auto } body { max-width: none } }
"""

# Sorts a table by the column of the clicked heading; a second click reverses the order.
SCRIPT = """
document.addEventListener('click', event => {
  const button = event.target.closest('th button');
  if (!button) return;
  const head = button.parentElement, body = head.closest('table').tBodies[0];
  const down = head.getAttribute('aria-sort') !== 'descending';
  for (const other of head.parentElement.children) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const key = row => {
    const cell = row.cells[head.cellIndex];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  const rows = [...body.rows].sort((a, b) => {
    const x = key(a), y = key(b), order = x < y ? -1 : x > y ? 1 : 0;
    return down ? -order : order;
  });
  body.append(...rows);
});
"""
