# SPDX-License-Identifier: MIT
"""Reads the dynamic symbols of an ELF file, and takes one away in a copy."""

import struct
from pathlib import Path

_DYNSYM = 11
_UNDEFINED = 0
_SYMBOL = struct.Struct("<IBBHQQ")  # name, info, other, section, value, size
_SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, ...


def _symbols(image):
    """(name, offset in the file, section) of each dynamic symbol of a 64-bit little-endian file."""
    if image[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    at, = struct.unpack_from("<Q", image, 0x28)
    size, count = struct.unpack_from("<HH", image, 0x3A)
    sections = [_SECTION.unpack_from(image, at + index * size) for index in range(count)]
    table = next(section for section in sections if section[1] == _DYNSYM)
    strings = sections[table[6]][4]
    for offset in range(table[4], table[4] + table[5], _SYMBOL.size):
        name, _, _, section, _, _ = _SYMBOL.unpack_from(image, offset)
        end = image.index(b"\0", strings + name)
        yield image[strings + name:end].decode(), offset, section


def exported(path):
    """The names that a file defines for others."""
    return {name for name, _, section in _symbols(Path(path).read_bytes()) if section != _UNDEFINED}


def imported(path):
    """The names that a file needs from others."""
    return {name for name, _, section in _symbols(Path(path).read_bytes())
            if section == _UNDEFINED and name}


def without(path, lost, copy):
    """Write `copy`: the library at `path`, in which the symbol `lost` is undefined.

    A look-up passes by an entry without section and value, as if it were not in the table.
    """
    image = bytearray(Path(path).read_bytes())
    found = [offset for name, offset, section in _symbols(image)
             if name == lost and section != _UNDEFINED]
    if not found:
        raise ValueError(f"{path} does not define {lost}")
    for offset in found:  # once for each version
        name, info, other, _, _, size = _SYMBOL.unpack_from(image, offset)
        _SYMBOL.pack_into(image, offset, name, info, other, _UNDEFINED, 0, size)
    Path(copy).write_bytes(image)
    return copy
