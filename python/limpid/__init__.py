"""A fast denoiser for renders, photographs and films, on any GPU and on the CPU.

>>> import limpid
>>> frame = limpid.render("cornell", size=(64, 64), spp=4)
>>> clean = limpid.denoise(frame)
>>> reference = limpid.render("cornell", size=(64, 64), spp=64, seed=1)
>>> limpid.compare(clean, reference)["relmse"] < limpid.compare(frame, reference)["relmse"]
True

``limpid.wavelets`` has PyWavelets' functions, ``limpid.restoration`` those of scikit-image; ``limpid.dask`` and ``limpid.ray`` use several
machines.
"""

import os as _os
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

# Without a desktop, a layer of Mesa's Vulkan drivers complains on standard error that there is no Wayland display. It only sorts devices for windows.
if (
    _sys.platform == "linux"
    and not _os.environ.get("XDG_RUNTIME_DIR", "").startswith("/")
    and "MESA_VK_DEVICE_SELECT" not in _os.environ
):
    _os.environ.setdefault("NODEVICE_SELECT", "1")

from . import _errors as errors  # noqa: E402
from ._denoise import Denoiser, Method, Option, Plan, denoise, denoise_frames, device, devices, methods, noise_profile, plan
from ._errors import (
    DeviceError,
    Error,
    FileError,
    InputError,
    InternalError,
    MissingLayerError,
    NoFileError,
    OptionError,
    StoppedError,
    UnknownNameError,
    UnsupportedError,
)
from ._frame import Frame, picture, read, read_pages, write, write_pages
from ._gpu import GpuArray
from ._limpid import __version__
from ._measure import compare, page, render, scenes

__all__ = [
    "Denoiser",
    "DeviceError",
    "Error",
    "FileError",
    "Frame",
    "GpuArray",
    "InputError",
    "InternalError",
    "Method",
    "MissingLayerError",
    "NoFileError",
    "Option",
    "OptionError",
    "Plan",
    "StoppedError",
    "UnknownNameError",
    "UnsupportedError",
    "__version__",
    "compare",
    "denoise",
    "denoise_frames",
    "device",
    "devices",
    "errors",
    "methods",
    "noise_profile",
    "page",
    "picture",
    "plan",
    "read",
    "read_pages",
    "render",
    "scenes",
    "write",
    "write_pages",
]

if not _TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Modules that take time to import, or need packages of their own, are imported when they are used."""
        if name in ("dask", "ray", "restoration", "torch", "wavelets"):
            import importlib

            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
