"""Whole numbers: the reversible 5/3 transform, for data that must come back bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _limpid
from ._multilevel import split_keys
from ._single import Array, dwt_max_level, normal_axes


def _numbers(data: Any) -> Array:
    array = np.asarray(data)
    if array.dtype.kind not in "biu" or array.dtype.itemsize > 4 or array.dtype == np.uint32:
        raise TypeError(f"an array of {array.dtype} cannot be transformed reversibly; whole numbers of up to 16 bits, and int32, can")
    return array.astype(np.int32, copy=False)


def wavedec53(data: Any, level: int | None = None, axes: Any = None) -> list[Any]:
    """Many levels of JPEG 2000's reversible 5/3 transform along several axes: ``[low, {bands n}, …, {bands 1}]`` of ``int32``.

    Bands have keys like those of :func:`wavedecn`. There are as many coefficients as samples, and the inverse is exact.

    >>> import numpy as np
    >>> volume = np.random.default_rng(0).integers(0, 4096, (5, 16, 17), dtype=np.uint16)
    >>> coeffs = wavedec53(volume, level=1)
    >>> coeffs[0].shape, coeffs[1]["add"].shape
    ((3, 8, 9), (3, 8, 8))
    >>> bool((waverec53(coeffs) == volume).all())
    True
    """
    x = _numbers(data)
    axes = normal_axes(axes, x.ndim, unique=True)
    if level is None:
        level = min(dwt_max_level(x.shape[a], 5) for a in axes)
    if level < 0:
        raise ValueError(f"Level value of {level} is too low . Minimum level is 0.")
    found = []
    for _ in range(level):
        bands = {"": x}
        for axis in axes:
            made = {}
            for key, band in bands.items():
                made[key + "a"], made[key + "d"] = _limpid.split53(band, axis)
            bands = made
        x = bands.pop("a" * len(axes))
        found.append(bands)
    return [x, *reversed(found)]


def waverec53(coeffs: Any, axes: Any = None) -> Array:
    """The inverse of :func:`wavedec53`."""
    low, *details = coeffs
    x = np.asarray(low)
    axes = normal_axes(axes, x.ndim, unique=True)
    for level in details:
        if set(level) != set(split_keys(len(axes))):
            raise ValueError("Each level needs all bands.")
        bands = {"a" * len(axes): x, **level}
        for axis in reversed(axes):
            keys = [key[:-1] for key in bands if key.endswith("a")]
            bands = {key: _limpid.join53(bands[key + "a"], bands[key + "d"], axis) for key in keys}
        x = bands[""]
    return x
