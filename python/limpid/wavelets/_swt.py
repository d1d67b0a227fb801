"""Undecimated transforms: as many coefficients as samples in every band, around a periodic signal."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from .. import _gpu as gpu
from .. import _limpid
from .._gpu import GpuArray
from ._multilevel import split_keys
from ._single import Array, as_numbers, linear, normal_axes
from ._wavelet import Wavelet, per_axis

_HALF = float(np.sqrt(0.5))


def swt_max_level(input_len: int) -> int:
    """How often a length can be halved.

    >>> swt_max_level(48)
    4
    """
    length = int(input_len)
    if length != input_len or length < 1:
        raise ValueError(f"a signal of length {input_len} cannot be halved")
    if length % 2:
        warnings.warn(f"No levels of stationary wavelet decomposition are possible. The signal length along the transformed axis must be even, not {length}.", stacklevel=2)
    return (length & -length).bit_length() - 1


@functools.lru_cache(maxsize=256)
def _scaled(wavelet: Wavelet, back: bool, norm: bool) -> _limpid.Bank:
    low, high = (wavelet.rec_lo, wavelet.rec_hi) if back else (wavelet.dec_lo, wavelet.dec_hi)
    factor = (1 / _HALF if back else _HALF) if norm else 1.0
    return _limpid.Bank([v * factor for v in low], [v * factor for v in high], "periodic")


def _spread(x: Array, axis: int, bank: _limpid.Bank, step: int) -> tuple[Array, Array]:
    return linear(lambda x: _limpid.swt(x, axis, bank, step), x)


def _gather(low: Array, high: Array, axis: int, bank: _limpid.Bank, step: int) -> Array:
    kind = np.result_type(low, high)
    bands = low.astype(kind, copy=False), high.astype(kind, copy=False)
    return linear(lambda low, high: _limpid.iswt([low, high], axis, bank, step), *bands)


def _forward(
    data: Any, wavelet: Any, level: int | None, start: int, axes: tuple[int, ...], norm: bool
) -> list[dict[str, Array]]:
    """Bands of each level, the coarsest first."""
    x = as_numbers(data)
    wavelets = per_axis(wavelet, axes)
    if len(set(axes)) != len(axes):
        raise ValueError("The axes passed to swtn must be unique.")
    if any(x.shape[axis] < 1 for axis in axes):
        raise ValueError("Cannot apply a transform along an axis of size zero.")
    if norm and not all(w.orthogonal for w in wavelets):
        warnings.warn("norm=True, but the wavelet is not orthogonal: \n\tThe conditions for energy preservation are not satisfied.", stacklevel=3)
    most = min(swt_max_level(x.shape[axis]) for axis in axes)
    if level is None:
        level = most - start
    if level < 0 or start < 0:
        raise ValueError("level and start_level must not be negative")
    if level and level > most - start:
        raise ValueError(
            f"Level value too high (max level for current data size and start_level is {most - start}); "
            "lengths must be multiples of 2**(start_level + level)"
        )
    banks = [_scaled(w, False, norm) for w in wavelets]
    levels = []
    for i in range(start, start + level):
        if isinstance(x, GpuArray):
            keys = ("".join(letters) for letters in product("ad", repeat=len(axes)))
            found = dict(zip(keys, x.split(axes, banks, [x.shape[a] for a in axes], 1 << i)))
            x = found["a" * len(axes)]
            levels.append(found)
            continue
        bands = {"": x}
        for axis, bank in zip(axes, banks):
            made = {}
            for key, band in bands.items():
                made[key + "a"], made[key + "d"] = _spread(band, axis, bank, 1 << i)
            bands = made
        x = bands["a" * len(axes)]
        levels.append(bands)
    return levels[::-1]


def _backward(low: Any, details: list[dict[str, Any]], wavelet: Any, axes: tuple[int, ...], norm: bool) -> Array:
    wavelets = per_axis(wavelet, axes)
    banks = [_scaled(w, True, norm) for w in wavelets]
    if norm and not all(w.orthogonal for w in wavelets):
        warnings.warn("norm=True, but the wavelets used are not orthogonal: \n\tThe conditions for energy preservation are not satisfied.", stacklevel=3)
    x = as_numbers(low)
    for i, level in zip(reversed(range(len(details))), details):
        bands = {key: as_numbers(band) for key, band in level.items()}
        bands["a" * len(axes)] = x
        if any(band.shape != x.shape for band in bands.values()):
            raise RuntimeError("Mismatch in shape of intermediate coefficient arrays")
        if gpu.alike(*bands.values()):
            order: Any = [bands["".join(letters)] for letters in product("ad", repeat=len(axes))]
            x = gpu.join(order, axes, banks, [x.shape[a] for a in axes], 1 << i)  # type: ignore[assignment]
            continue
        for place in reversed(range(len(axes))):
            made = {}
            for letters in product("ad", repeat=place):
                key = "".join(letters)
                made[key] = _gather(bands[key + "a"], bands[key + "d"], axes[place], banks[place], 1 << i)
            bands = made
        x = bands[""]
    return x


def swt(
    data: Any,
    wavelet: Any,
    level: int | None = None,
    start_level: int = 0,
    axis: int = -1,
    trim_approx: bool = False,
    norm: bool = False,
    *,
    device: str | None = None,
) -> list[Any]:
    """Along one axis: ``[(cAn, cDn), …, (cA1, cD1)]``, or ``[cAn, cDn, …, cD1]`` when trimmed."""
    x = as_numbers(data, device)
    if x.size < 1:
        raise ValueError("Cannot apply a transform to an empty array.")
    levels = _forward(x, wavelet, level, start_level, normal_axes(axis, x.ndim), norm)
    if trim_approx:
        return [levels[0]["a"], *(bands["d"] for bands in levels)] if levels else [x]
    return [(bands["a"], bands["d"]) for bands in levels]


def iswt(coeffs: Any, wavelet: Any, norm: bool = False, axis: int = -1) -> Array:
    """The inverse of :func:`swt`."""
    if isinstance(coeffs[0], (tuple, list)):
        low, details = coeffs[0][0], [{"d": pair[1]} for pair in coeffs]
    else:
        low, details = coeffs[0], [{"d": band} for band in coeffs[1:]]
    return _backward(low, details, wavelet, normal_axes(axis, np.ndim(low)), norm)


def swt2(
    data: Any,
    wavelet: Any,
    level: int | None = None,
    start_level: int = 0,
    axes: Any = (-2, -1),
    trim_approx: bool = False,
    norm: bool = False,
    *,
    device: str | None = None,
) -> list[Any]:
    """Of a picture: ``[(cAn, (cHn, cVn, cDn)), …]``, or ``[cAn, (cHn, cVn, cDn), …]`` when trimmed.

    >>> import numpy as np
    >>> (cA2, (cH2, cV2, cD2)), first = swt2(np.ones((8, 16)), "db2", level=2)
    >>> cA2.shape
    (8, 16)
    """
    x = as_numbers(data, device)
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("Expected 2 axes")
    if len(set(axes)) != 2:
        raise ValueError("The axes passed to swt2 must be unique.")
    if x.ndim < 2:
        raise ValueError("Input array has fewer dimensions than the specified axes")
    levels = _forward(x, wavelet, level, start_level, normal_axes(axes, x.ndim), norm)
    details = [(b["da"], b["ad"], b["dd"]) for b in levels]
    if trim_approx:
        return [levels[0]["aa"], *details] if levels else [x]
    return [(b["aa"], d) for b, d in zip(levels, details)]


def iswt2(coeffs: Any, wavelet: Any, norm: bool = False, axes: Any = (-2, -1)) -> Array:
    """The inverse of :func:`swt2`."""
    if len(axes) != 2:
        raise ValueError("Expected 2 axes")
    if isinstance(coeffs[0], (tuple, list)):
        low, details = coeffs[0][0], [pair[1] for pair in coeffs]
    else:
        low, details = coeffs[0], coeffs[1:]
    bands = [dict(zip(("da", "ad", "dd"), three)) for three in details]
    return _backward(low, bands, wavelet, normal_axes(axes, np.ndim(low), unique=True), norm)


def swtn(
    data: Any,
    wavelet: Any,
    level: int | None = None,
    start_level: int = 0,
    axes: Any = None,
    trim_approx: bool = False,
    norm: bool = False,
    *,
    device: str | None = None,
) -> list[Any]:
    """Along several axes: a dictionary of bands for each level, the coarsest first."""
    x = as_numbers(data, device)
    if x.ndim < 1 or x.size < 1:
        raise ValueError("Input data must be at least 1D and not empty")
    axes = normal_axes(axes, x.ndim)
    levels = _forward(x, wavelet, level, start_level, axes, norm)
    if trim_approx:
        key = "a" * len(axes)
        low = levels[0][key] if levels else x
        return [low, *({k: b for k, b in bands.items() if k != key} for bands in levels)]
    return levels


def iswtn(coeffs: Any, wavelet: Any, norm: bool = False, axes: Any = None) -> Array:
    """The inverse of :func:`swtn`."""
    letters = max((len(k) for level in coeffs if isinstance(level, Mapping) for k in level), default=0)
    key = "a" * letters
    trimmed = not isinstance(coeffs[0], Mapping)
    low = coeffs[0] if trimmed else coeffs[0][key]
    details = [{k: b for k, b in level.items() if k != key} for level in coeffs[1 if trimmed else 0 :]]
    axes = normal_axes(tuple(range(letters)) if axes is None else axes, np.ndim(low), unique=True)
    if len(axes) != letters:
        raise ValueError("The number of axes used in iswtn must match the number of dimensions transformed in swtn.")
    if any(set(level) != set(split_keys(letters)) for level in details):
        raise ValueError("Each level needs all bands.")
    return _backward(low, details, wavelet, axes, norm)
