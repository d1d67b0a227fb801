# SPDX-License-Identifier: GPL-3.0-or-later
"""The channels of an OpenEXR file, from its headers alone."""

import struct

MAGIC = 20000630
MULTIPART = 0x1000


class NoExr(ValueError):
    """The file is not an OpenEXR file, or its header is damaged."""


def channels(path):
    """The full names of all channels, of all parts: `ViewLayer.Combined.R`."""
    with open(path, "rb") as file:
        try:
            magic, version = struct.unpack("<ii", _exactly(file, 8))
            if magic != MAGIC:
                raise NoExr(f"{path}: not an OpenEXR file")
            names = []
            while _header(file, names) and version & MULTIPART:
                pass
            return names
        except (struct.error, EOFError, UnicodeDecodeError) as error:
            raise NoExr(f"{path}: the header of the file is damaged") from error


def _header(file, names):
    """Adds the channels of the next part; false at the end of all headers."""
    part, own = "", None
    while name := _text(file):
        kind = _text(file)
        (size,) = struct.unpack("<i", _exactly(file, 4))
        if size < 0:
            raise EOFError
        value = _exactly(file, size)
        if (name, kind) == ("channels", "chlist"):
            own = _list(value)
        elif (name, kind) == ("name", "string"):
            part = value.decode("utf-8", "replace")
    if own is None:
        return False
    # Blender repeats the name of the part before each channel; others do not.
    names += [name if not part or name.startswith(f"{part}.") else f"{part}.{name}" for name in own]
    return True


def _list(value):
    """Names of a list of channels."""
    names, at = [], 0
    while at < len(value) and value[at]:
        end = value.index(0, at)
        names.append(value[at:end].decode("utf-8", "replace"))
        at = end + 1 + 16
    return names


def _text(file):
    """Text up to a zero."""
    letters = bytearray()
    while (letter := _exactly(file, 1)) != b"\0":
        letters += letter
        if len(letters) > 255:
            raise EOFError
    return letters.decode("utf-8", "replace")


def _exactly(file, count):
    read = file.read(count)
    if len(read) != count:
        raise EOFError
    return read
