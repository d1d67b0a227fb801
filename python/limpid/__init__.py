"""Limpid takes noise out of images, fast, on any GPU and on the CPU.

>>> import limpid
>>> frame = limpid.render("cornell", size=(64, 64), spp=4)
>>> clean = limpid.denoise(frame)
>>> reference = limpid.render("cornell", size=(64, 64), spp=64, seed=1)
>>> limpid.compare(clean, reference)["relmse"] < limpid.compare(frame, reference)["relmse"]
True

``limpid.wavelets`` has PyWavelets' names, ``limpid.restoration`` those of scikit-image; ``limpid.dask`` and ``limpid.cluster`` work past one
machine.
"""

from . import _errors as errors
from ._denoise import Denoiser, Method, Option, Plan, denoise, device, methods, noise_profile, plan
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
from ._frame import Frame, picture, read, write
from ._limpid import __version__
from ._measure import compare, page, render, scenes

__all__ = [
    "Denoiser",
    "DeviceError",
    "Error",
    "FileError",
    "Frame",
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
    "device",
    "errors",
    "methods",
    "noise_profile",
    "page",
    "picture",
    "plan",
    "read",
    "render",
    "scenes",
    "write",
]
