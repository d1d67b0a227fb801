"""Many levels of the transform."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import _limpid
from .._gpu import GpuArray
from ._single import (
    Array,
    analysis,
    as_numbers,
    check,
    check_keys,
    dwt_coeff_len,
    dwt_max_level,
    join,
    linear,
    normal_axes,
    split,
    synthesis,
)
from ._wavelet import as_wavelet, mode_name, modes_per_axis, per_axis


#: Types that need no conversion.
_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))


def levels(sizes: Any, taps: Any, level: int | None) -> int:
    """The number of levels that is asked for, or all."""
    most = min(dwt_max_level(size, length) for size, length in zip(sizes, taps))
    if level is None:
        return most
    if level < 0:
        raise ValueError(f"Level value of {level} is too low . Minimum level is 0.")
    if level > most:
        warnings.warn(
            f"Level value of {level} is too high: all coefficients will experience boundary effects.",
            stacklevel=3,
        )
    return level


def _deep(data: Any, wavelet: Any, mode: Any, level: int | None, axes: tuple[int, ...], warn: int = 0) -> list[Any]:
    """The last low band, then the bands of each level, the coarsest first."""
    x = as_numbers(data)
    wavelets, modes = per_axis(wavelet, axes), modes_per_axis(mode, axes)
    banks = [analysis(w, m) for w, m in zip(wavelets, modes)]
    count = levels([x.shape[a] for a in axes], [w.dec_len for w in wavelets], level)
    details = []
    for _ in range(count):
        bands = split(x, axes, banks)
        x = bands.pop("a" * len(axes))
        details.append(bands)
    return [x, *reversed(details)]


def _trimmed(low: Array, bands: dict[str, Array]) -> Array:
    """The low band without the sample that odd sizes have too much."""
    shape = next(iter(bands.values())).shape
    if low.ndim != len(shape):
        raise ValueError(f"a low band of shape {low.shape} does not fit bands of shape {shape}")
    for axis, (have, want) in enumerate(zip(low.shape, shape)):
        if have == want + 1:
            low = low[(slice(None),) * axis + (slice(-1),)]
        elif have != want:
            raise ValueError(f"incompatible coefficient array sizes: {low.shape} and {shape}")
    return low


def _back(low: Any, details: list[dict[str, Any]], wavelet: Any, mode: Any, axes: tuple[int, ...]) -> Array:
    wavelets, modes = per_axis(wavelet, axes), modes_per_axis(mode, axes)
    banks = [synthesis(w, m) for w, m in zip(wavelets, modes)]
    x = None if low is None else as_numbers(low)
    for level in details:
        bands = {key: as_numbers(band) for key, band in level.items() if band is not None}
        if x is not None and bands:
            x = _trimmed(x, bands)
        if x is not None:
            bands["a" * len(axes)] = x
        if not bands:
            continue
        x = join(bands, axes, banks)
    if x is None:
        raise ValueError("At least one coefficient array must be given.")
    return x


def _as_it_is(array: Any) -> Any:
    """An array, wherever it is."""
    return array if isinstance(array, GpuArray) else np.asarray(array)


def _listed(coeffs: Any) -> None:
    if not isinstance(coeffs, (list, tuple)):
        raise ValueError("Expected sequence of coefficient arrays.")
    if len(coeffs) < 1:
        raise ValueError("Coefficient list too short (minimum 1 arrays required).")


def wavedec(
    data: Any, wavelet: Any, mode: Any = "symmetric", level: int | None = None, axis: int = -1, *, device: str | None = None
) -> list[Array]:
    """Many levels along one axis: ``[cAn, cDn, …, cD1]``.

    >>> [len(c) for c in wavedec(range(16), "haar", level=2)]
    [4, 4, 8]
    """
    x = as_numbers(data, device)
    if x.ndim < 1:
        raise ValueError("Input data must have at least one axis")
    (axis,) = normal_axes(axis, x.ndim)
    wavelet = as_wavelet(wavelet)
    bank = analysis(wavelet, mode_name(mode))
    count = levels([x.shape[axis]], [wavelet.dec_len], level)
    if count == 0:
        return [x]
    check(x, (axis,), (bank,))
    if isinstance(x, GpuArray):
        details = []
        for _ in range(count):
            bands = split(x, (axis,), (bank,))
            x = bands["a"]
            details.append(bands["d"])
        return [x, *reversed(details)]
    if x.dtype.kind == "c":
        return list(linear(lambda x: tuple(_limpid.wavedec(x, axis, bank[0], count)), x))
    return _limpid.wavedec(x, axis, bank[0], count)


def waverec(coeffs: Any, wavelet: Any, mode: Any = "symmetric", axis: int = -1) -> Array:
    """The inverse of :func:`wavedec`."""
    _listed(coeffs)
    if any(isinstance(c, dict) for c in coeffs[1:]):
        raise ValueError("Unexpected detail coefficient type: dict. Detail coefficients must be arrays as returned by wavedec.")
    if len(coeffs) == 1:
        return coeffs[0]
    first = coeffs[0]
    if type(first) is np.ndarray and first.dtype in _PLAIN and all(type(c) is np.ndarray and c.dtype is first.dtype for c in coeffs):
        # What wavedec gives, without a second look.
        bank = synthesis(as_wavelet(wavelet), mode_name(mode))
        made = _limpid.waverec(list(coeffs), normal_axes(axis, first.ndim)[0], bank[0])
        if made is not None:
            return made
    given = next((_as_it_is(c) for c in coeffs if c is not None), None)
    if given is None:
        raise ValueError("At least one coefficient array must be given.")
    axes = normal_axes(axis, given.ndim)
    if not any(c is None or isinstance(c, GpuArray) for c in coeffs):
        bands = [as_numbers(c) for c in coeffs]
        kind = np.result_type(*bands)
        if kind.kind != "c":
            bank = synthesis(as_wavelet(wavelet), mode_name(mode))
            made = _limpid.waverec([b.astype(kind, copy=False) for b in bands], axes[0], bank[0])
            if made is not None:
                return made
    details = [{"d": c} for c in coeffs[1:]]
    return _back(coeffs[0], details, as_wavelet(wavelet), mode, axes)


def wavedec2(
    data: Any,
    wavelet: Any,
    mode: Any = "symmetric",
    level: int | None = None,
    axes: Any = (-2, -1),
    *,
    device: str | None = None,
) -> list[Any]:
    """Many levels of a picture: ``[cAn, (cHn, cVn, cDn), …, (cH1, cV1, cD1)]``.

    >>> import numpy as np
    >>> coeffs = wavedec2(np.ones((64, 64)), "db2", level=3)
    >>> len(coeffs), coeffs[0].shape
    (4, (10, 10))
    """
    x = as_numbers(data, device)
    axes = tuple(axes)
    if x.ndim < 2:
        raise ValueError("Expected input data to have at least 2 dimensions.")
    if len(axes) != 2:
        raise ValueError("Expected 2 axes")
    low, *details = _deep(x, wavelet, mode, level, normal_axes(axes, x.ndim, unique=True))
    return [low, *((b["da"], b["ad"], b["dd"]) for b in details)]


def waverec2(coeffs: Any, wavelet: Any, mode: Any = "symmetric", axes: Any = (-2, -1)) -> Array:
    """The inverse of :func:`wavedec2`; bands that are None are zero."""
    _listed(coeffs)
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("Expected 2 axes")
    details = []
    for bands in coeffs[1:]:
        if not isinstance(bands, (list, tuple)) or len(bands) != 3:
            raise ValueError(
                f"Unexpected detail coefficient type: {type(bands).__name__}. Detail coefficients must be a 3-tuple of arrays "
                "as returned by wavedec2. If you are using pywt.array_to_coeffs or pywt.unravel_coeffs, please specify output_format='wavedec2'"
            )
        details.append(dict(zip(("da", "ad", "dd"), bands)))
    arrays = [coeffs[0], *(b for level in details for b in level.values())]
    given = next((_as_it_is(c) for c in arrays if c is not None), None)
    if given is None:
        raise ValueError("At least one coefficient array must be given.")
    axes = normal_axes(axes, given.ndim, unique=True)
    if not details:
        return _as_it_is(coeffs[0])
    return _back(coeffs[0], details, wavelet, mode, axes)


def wavedecn(
    data: Any, wavelet: Any, mode: Any = "symmetric", level: int | None = None, axes: Any = None, *, device: str | None = None
) -> list[Any]:
    """Many levels along several axes: ``[cAn, {bands}, …, {bands}]``."""
    x = as_numbers(data, device)
    if x.ndim < 1:
        raise ValueError("Expected at least 1D input data.")
    return _deep(x, wavelet, mode, level, normal_axes(axes, x.ndim, unique=True))


def waverecn(coeffs: Any, wavelet: Any, mode: Any = "symmetric", axes: Any = None) -> Array:
    """The inverse of :func:`wavedecn`."""
    _listed(coeffs)
    details = coeffs[1:]
    for bands in details:
        if not isinstance(bands, dict):
            raise ValueError(
                f"Unexpected detail coefficient type: {type(bands).__name__}. Detail coefficients must be a dictionary of "
                "arrays as returned by wavedecn."
            )
        if any(band is None for band in bands.values()):
            raise ValueError("Details of a level cannot be None; leave them out.")
    given = coeffs[0]
    letters = {len(key) for bands in details for key in bands}
    if given is None:
        given = next((band for bands in details for band in bands.values()), None)
        if given is None:
            raise ValueError("At least one coefficient array must be given.")
    ndim = _as_it_is(given).ndim
    axes = normal_axes(axes, ndim, unique=True)
    for bands in details:
        check_keys(bands, len(axes))
        if any(_as_it_is(band).ndim != ndim for band in bands.values()):
            raise ValueError("All coefficient arrays must have the same number of axes.")
    if letters and letters != {len(axes)}:
        raise ValueError("The number of axes must be that of the letters of a band's key.")
    if not details:
        return _as_it_is(coeffs[0])
    return _back(coeffs[0], details, wavelet, mode, axes)


def wavedecn_shapes(shape: Any, wavelet: Any, mode: Any = "symmetric", level: int | None = None, axes: Any = None) -> list[Any]:
    """Shapes of what :func:`wavedecn` gives, without doing it."""
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    axes = normal_axes(axes, len(shape), unique=True)
    wavelets, modes = per_axis(wavelet, axes), modes_per_axis(mode, axes)
    count = levels([shape[a] for a in axes], [w.dec_len for w in wavelets], level)
    keys = list(split_keys(len(axes)))
    shapes: list[Any] = []
    shape = list(shape)
    for _ in range(count):
        for axis, wavelet, mode in zip(axes, wavelets, modes):
            shape[axis] = dwt_coeff_len(shape[axis], wavelet, mode)
        shapes.append({key: tuple(shape) for key in keys})
    return [tuple(shape), *reversed(shapes)]


def split_keys(count: int) -> list[str]:
    """Keys of the detail bands along this many axes."""
    keys = [""]
    for _ in range(count):
        keys = [key + letter for key in keys for letter in "ad"]
    return keys[1:]


def wavedecn_size(shapes: Any) -> int:
    """Number of coefficients, from what :func:`wavedecn` or :func:`wavedecn_shapes` gives."""

    def size(item: Any) -> int:
        return int(item.size) if hasattr(item, "size") else int(np.prod(item))

    return size(shapes[0]) + sum(size(band) for level in shapes[1:] for band in level.values())
