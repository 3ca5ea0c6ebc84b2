# SPDX-License-Identifier: MIT
"""The checks of a page.  Each yields a sentence for each fault; faults() runs them all."""

import collections
import io
import re

import numpy
from PIL import Image

WIDTHS = (400, 1400)           # CSS pixels: a telephone, a desktop
SCHEMES = ("light", "dark")
TEXT_CONTRAST = 4.5            # WCAG 2.2, 1.4.3: of text
SHAPE_CONTRAST = 3.0           # ... 1.4.11: of the parts of a picture
NEED_A_NAME = {"image", "SvgRoot", "graphics-document", "link", "button", "textbox", "region"}
TABLES = {"table", "grid", "LayoutTable"}

SCROLL_WIDTH = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
ROOT = "({title: document.title, language: document.documentElement.lang})"

# The boxes of all words, cut to the visible part of scrolling parents: [word, left, top, right, bottom].
WORDS = """(() => {
  const found = [];
  const walk = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    let [least, most] = [-Infinity, Infinity];
    for (let up = node.parentElement; up; up = up.parentElement)
      if (up.scrollWidth > up.clientWidth && getComputedStyle(up).overflowX !== "visible") {
        least = Math.max(least, up.getBoundingClientRect().left);
        most = Math.min(most, up.getBoundingClientRect().right);
      }
    for (const word of node.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      for (const box of range.getClientRects()) {
        const [left, right] = [Math.max(least, box.left), Math.min(most, box.right)];
        if (right - left >= 2 && box.height >= 2)
          found.push([word[0], left + scrollX, box.top + scrollY, right + scrollX, box.bottom + scrollY]);
      }
    }
  }
  return found;
})()"""

# For each picture its box, and the colours of its lines and areas except the variable --grid.
PICTURES = """Array.from(document.querySelectorAll("svg")).map(svg => {
  const box = svg.getBoundingClientRect();
  const probe = document.createElementNS("http://www.w3.org/2000/svg", "g");
  probe.style.stroke = "var(--grid)";
  svg.append(probe);
  const grid = getComputedStyle(probe).stroke;
  probe.remove();
  const colours = new Set();
  for (const shape of svg.querySelectorAll("path, line, rect, circle, ellipse, polygon, polyline, use")) {
    const style = getComputedStyle(shape);
    for (const colour of [style.stroke, style.fill])
      if (colour.startsWith("rgb(") && colour !== grid) colours.add(colour);
  }
  return [[box.left + scrollX, box.top + scrollY, box.right + scrollX, box.bottom + scrollY], [...colours]];
})"""

# The names of the regions that scroll.
SCROLLED = """[...document.querySelectorAll("[role=region]")].filter(region =>
  region.scrollWidth > region.clientWidth).map(region => region.getAttribute("aria-label"))"""

# The texts of pictures that reach beyond their picture.
CUT = """[...document.querySelectorAll("svg text")].filter(text => {
  const box = text.getBoundingClientRect(), all = text.ownerSVGElement.getBoundingClientRect();
  return box.left < all.left - 1 || box.right > all.right + 1 || box.top < all.top - 1 ||
         box.bottom > all.bottom + 1;
}).map(text => text.textContent)"""


CHANNELS = (0.2126, 0.7152, 0.0722)


def luminance(colours):
    """WCAG's relative luminance of colours from 0 to 255, in the last axis of an array."""
    share = numpy.arange(256) / 255
    linear = numpy.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return sum(weight * linear[colours[..., at]] for at, weight in enumerate(CHANNELS))


def ratio_of(first, second):
    """WCAG's contrast ratio of two luminances."""
    return (max(first, second) + 0.05) / (min(first, second) + 0.05)


def commonest(values):
    """The value that an array has most often."""
    found, counts = numpy.unique(values, return_counts=True)
    return found[counts.argmax()]


def cut(pixels, box):
    """The pixels in a box of CSS pixels."""
    left, top, right, bottom = (max(0, round(edge)) for edge in box)
    return pixels[top:bottom, left:right]


def console(page):
    """Errors and warnings on the console, and uncaught exceptions."""
    for name, event in page.events():
        if name == "Runtime.exceptionThrown":
            yield f"console: {event['exceptionDetails'].get('exception', {}).get('description', 'exception')}"
        if name == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            yield f"console: {' '.join(str(part.get('value')) for part in event['args'])}"
        if name == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            yield f"console: {event['entry']['text']}"


def network(page):
    """Requests for anything but the page itself."""
    for name, event in page.events():
        url = event["url"] if name == "Network.webSocketCreated" else event.get("request", {}).get("url")
        if name in ("Network.requestWillBeSent", "Network.webSocketCreated") and url != page.url and \
                not url.startswith("data:"):
            yield f"network: asks for {url}"


def fits(page, width):
    """A horizontal scroll bar."""
    wanted, given = page.evaluate(SCROLL_WIDTH)
    if wanted > given:
        yield f"width: {wanted} pixels, where the window has {width}"


def scrolls(page, width):
    """A table that is wider than its place, on a desktop."""
    for name in page.evaluate(SCROLLED) if width == WIDTHS[-1] else ():
        yield f"width: the table {name!r} scrolls at {width} pixels"


def whole(page):
    """Texts of a picture that it cuts off."""
    for text in page.evaluate(CUT):
        yield f"cut: {text!r} of a picture"


def readable(page, pixels):
    """Words and shapes with a colour too near to the background."""
    for word, *box in page.evaluate(WORDS):
        part = luminance(cut(pixels, box))
        paper = commonest(part) if part.size else 0
        best = max(ratio_of(part.min(), paper), ratio_of(part.max(), paper)) if part.size else 1
        if best < TEXT_CONTRAST:
            yield f"contrast: {best:.1f} of the word {word[:40]!r}"
    for box, colours in page.evaluate(PICTURES):
        part = cut(pixels, box)[::4, ::4]
        paper = commonest(luminance(part)) if part.size else None  # none: it is hidden
        for colour in colours if part.size else ():
            ratio = ratio_of(luminance(numpy.array([int(part) for part in colour[4:-1].split(",")])), paper)
            if 1.01 < ratio < SHAPE_CONTRAST:
                yield f"contrast: {ratio:.1f} of the shapes in {colour}"


def follows(pixels, scheme):
    """A background that is not of the colour scheme which the reader's system asks for."""
    paper = commonest(luminance(pixels[:8]))
    if (paper > 0.4) != (scheme == "light"):
        yield f"scheme: the background has a luminance of {paper:.2f}"


def in_order(nodes):
    """The nodes of an accessibility tree, each with its ancestors' roles, parents first."""
    by_id = {node["nodeId"]: node for node in nodes}
    ahead = [(node, ()) for node in nodes if node.get("parentId") not in by_id]
    while ahead:
        node, above = ahead.pop()
        yield node, above
        inside = (*above, node["nodeId"])
        ahead += [(by_id[child], inside) for child in reversed(node.get("childIds", [])) if child in by_id]


def role_of(node):
    """Its role; empty where a screen reader does not come upon it."""
    return "" if node["ignored"] else node["role"]["value"]


def name_of(node):
    """Its name, as it is read aloud."""
    return node.get("name", {}).get("value", "").strip()


def spoken(page):
    """Faults for a screen reader: names, the order of headings, headers of tables."""
    root = page.evaluate(ROOT)
    for what, text in root.items():
        if not text.strip():
            yield f"names: the page has no {what}"
    level, first, headers = 0, 0, collections.defaultdict(list)
    tables = {}
    for node, above in in_order(page.accessibility_tree()):
        role = role_of(node)
        if role in NEED_A_NAME and not name_of(node):
            yield f"names: an element of the role {role} has none"
        if role == "heading":
            now = next(p["value"]["value"] for p in node["properties"] if p["name"] == "level")
            first += now == 1
            if now > level + 1:
                yield f"headings: {name_of(node)!r} of level {now} comes after level {level}"
            level = now
        if role in TABLES:
            tables[node["nodeId"]] = node
        if role == "columnheader":
            headers[next(at for at in reversed(above) if at in tables)].append(name_of(node))
    if first != 1:
        yield f"headings: {first} of level 1"
    for at in tables:
        if not headers[at] or not all(headers[at]):
            yield "tables: one has a column without a header"


def printed(page):
    """Paper that is printed dark."""
    page.call("Emulation.setEmulatedMedia", media="print",
              features=[{"name": "prefers-color-scheme", "value": "dark"}])
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.call("Emulation.setEmulatedMedia", media="", features=[])
    channels = numpy.array([int(part) for part in re.findall(r"\d+", colour)[:3]])
    if not colour.endswith(" 0)") and luminance(channels) < 0.4:
        yield f"print: on paper of {colour}"


def faults(page):
    """All faults of a page, at each width and in each colour scheme."""
    found = [*spoken(page)]
    for width in WIDTHS:
        page.show(width, "light")
        found += [*fits(page, width), *scrolls(page, width)]
    found += whole(page)
    for scheme in SCHEMES:  # at the last width, where tables do not scroll and every word is there to be seen
        page.show(width, scheme)
        pixels = numpy.asarray(Image.open(io.BytesIO(page.screenshot())))
        found += [f"{fault} ({scheme})" for fault in (*follows(pixels, scheme), *readable(page, pixels))]
    return [*console(page), *network(page), *found, *printed(page)]
