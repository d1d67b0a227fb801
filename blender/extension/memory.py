# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory frames need that are blended, and how much this machine has."""

import os

#: Values per pixel of three frames on each side, with what a frame itself needs; and of each layer of light, which is kept noisy and denoised.
FRAME, LIGHT = 300, 50
#: Share of the machine's memory that may be used.
SHARE = 0.6


def needed(frame):
    """Bytes for blending such frames."""
    width, height = frame.size
    lights = sum(1 for name in frame if name.startswith("light:"))
    return 4 * width * height * (FRAME + LIGHT * lights)


def total():
    """Bytes of this machine, or None."""
    if hasattr(os, "sysconf"):
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (OSError, ValueError):
            return None
    try:
        import ctypes

        class Status(ctypes.Structure):
            _fields_ = [("length", ctypes.c_ulong), ("load", ctypes.c_ulong), *((name, ctypes.c_ulonglong) for name in "abcdefg")]

        status = Status(length=ctypes.sizeof(Status))
        return status.a if ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)) else None
    except (ImportError, AttributeError):
        return None


def fits(frames):
    """Whether all of these, one for each view layer, can be blended at once."""
    there = total()
    return there is None or sum(map(needed, frames)) <= SHARE * there
