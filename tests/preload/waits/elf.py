# SPDX-License-Identifier: MIT
"""Reads the dynamic symbols of an ELF file, and takes one away in a copy."""

import struct
from dataclasses import dataclass
from pathlib import Path

_DYNSYM = 11
_UNDEFINED = 0
_SECTION_FIELDS = ("name", "type", "flags", "address", "offset", "size", "link")  # and others behind them


@dataclass(frozen=True)
class _Layout:
    """The parts that differ by the class of the file."""
    header: struct.Struct  # the offset of the sections, behind `before`; their size and count
    before: int
    section: struct.Struct
    symbol: struct.Struct
    fields: tuple  # of a symbol


_LAYOUTS = {
    b"\x7fELF\x01\x01": _Layout(struct.Struct("<I10xHH"), 0x20, struct.Struct("<10I"),
                                struct.Struct("<IIIBBH"),
                                ("name", "value", "size", "info", "other", "section")),
    b"\x7fELF\x02\x01": _Layout(struct.Struct("<Q10xHH"), 0x28, struct.Struct("<IIQQQQIIQQ"),
                                struct.Struct("<IBBHQQ"),
                                ("name", "info", "other", "section", "value", "size")),
}


def _layout(image):
    kind = bytes(image[:6])
    if kind not in _LAYOUTS:
        raise ValueError("not a little-endian ELF file")
    return _LAYOUTS[kind]


def _symbols(image):
    """(name, offset in the file, fields) of each dynamic symbol."""
    layout = _layout(image)
    at, size, count = layout.header.unpack_from(image, layout.before)
    sections = [dict(zip(_SECTION_FIELDS, layout.section.unpack_from(image, at + index * size)))
                for index in range(count)]
    table = next(section for section in sections if section["type"] == _DYNSYM)
    strings = sections[table["link"]]["offset"]
    for offset in range(table["offset"], table["offset"] + table["size"], layout.symbol.size):
        fields = dict(zip(layout.fields, layout.symbol.unpack_from(image, offset)))
        end = image.index(b"\0", strings + fields["name"])
        yield image[strings + fields["name"]:end].decode(), offset, fields


def exported(path):
    """The names that a file defines for others."""
    return {name for name, _, fields in _symbols(Path(path).read_bytes())
            if fields["section"] != _UNDEFINED}


def imported(path):
    """The names that a file needs from others."""
    return {name for name, _, fields in _symbols(Path(path).read_bytes())
            if fields["section"] == _UNDEFINED and name}


def without(path, lost, copy):
    """Write `copy`: the library at `path`, in which the symbol `lost` is undefined.

    A look-up passes by an entry without section and value, as if it were not in the table.
    """
    image = bytearray(Path(path).read_bytes())
    layout = _layout(image)
    found = [(offset, fields) for name, offset, fields in _symbols(image)
             if name == lost and fields["section"] != _UNDEFINED]
    if not found:
        raise ValueError(f"{path} does not define {lost}")
    for offset, fields in found:  # once for each version
        gone = {**fields, "section": _UNDEFINED, "value": 0}
        layout.symbol.pack_into(image, offset, *(gone[field] for field in layout.fields))
    Path(copy).write_bytes(image)
    return copy
