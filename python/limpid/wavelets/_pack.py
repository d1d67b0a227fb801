"""Coefficients of many levels in one array, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._single import Array, check_keys

#: The detail bands of a picture, in the order of PyWavelets' tuples.
_THREE = ("da", "ad", "dd")


def _uniform(coeffs: Any) -> tuple[Array, list[dict[str, Array]]]:
    """The low band, and the bands of each level by keys, from any of the three forms."""
    if not isinstance(coeffs, (list, tuple)) or len(coeffs) == 0:
        raise ValueError("input must be a list of coefficients from wavedecn")
    if coeffs[0] is None:
        raise ValueError("coeffs_to_array does not support missing coefficients.")
    low = np.asarray(coeffs[0])
    details: list[dict[str, Array]] = []
    for level in coeffs[1:]:
        if isinstance(level, dict):
            bands = level
            check_keys(bands)
        elif isinstance(level, (tuple, list)):
            if len(level) != 3 or any(b is None for b in level):
                raise ValueError("a level of a picture must have three bands")
            bands = dict(zip(_THREE, level))
        elif isinstance(level, np.ndarray):
            if level.ndim != 1:
                raise ValueError("bands in arrays are for one axis; give wavedec2's tuples or wavedecn's dictionaries")
            bands = {"d": level}
        else:
            raise ValueError(f"invalid coefficient list: a level is {type(level).__name__}")
        if any(b is None for b in bands.values()):
            raise ValueError("coefficients that are None cannot be packed")
        details.append({key: np.asarray(b) for key, b in bands.items()})
    return low, details


def _kind(low: Array, details: list[dict[str, Array]]) -> Any:
    return np.result_type(low, *(b for level in details for b in level.values()))


def coeffs_to_array(coeffs: Any, padding: float | None = 0, axes: Any = None) -> tuple[Array, list[Any]]:
    """All coefficients in one array, the low band in its corner, and the slices that take them out.

    >>> import numpy as np
    >>> from limpid.wavelets import wavedec2
    >>> array, slices = coeffs_to_array(wavedec2(np.ones((8, 8)), "haar", level=2))
    >>> array.shape, slices[0]
    ((8, 8), (slice(None, 2, None), slice(None, 2, None)))
    """
    low, details = _uniform(coeffs)
    ndim = low.ndim
    axes = tuple(range(ndim)) if axes is None else tuple(axes)
    if not details:
        return low, [tuple(slice(None) for _ in range(ndim))]
    letters = {len(key) for level in details for key in level}
    if letters != {len(axes)} or len(axes) > ndim:
        raise ValueError("coeffs does not have the number of transformed axes that axes says")
    axes = tuple(axis % ndim for axis in axes)
    # Each level's bands stand beyond what is finer than nothing and coarser than themselves.
    shape = list(low.shape)
    count = low.size
    corners = []
    for level in details:
        band = next(iter(level.values()))
        count += sum(b.size for b in level.values())
        corner = list(shape)
        for axis in axes:
            corner[axis] = max(shape[axis], band.shape[axis])
            shape[axis] = corner[axis] + band.shape[axis]
        corners.append(corner)
    if padding is None and count != int(np.prod(shape)):
        raise ValueError("array coefficients cannot be tightly packed")
    packed = np.full(shape, 0 if padding is None else padding, _kind(low, details))
    first = tuple(slice(None, n) for n in low.shape)
    packed[first] = low
    slices: list[Any] = [first]
    for level, corner in zip(details, corners):
        own = {}
        for key, band in level.items():
            place = [slice(None, n) for n in band.shape]
            for letter, axis in zip(key, axes):
                if letter == "d":
                    place[axis] = slice(corner[axis], corner[axis] + band.shape[axis])
            own[key] = tuple(place)
            packed[own[key]] = band
        slices.append(own)
    return packed, slices


def _formatted(low: Array, details: list[dict[str, Array]], form: str) -> list[Any]:
    if form in ("wavedec", "swt"):
        return [low, *(level["d"] for level in details)]
    if form in ("wavedec2", "swt2"):
        return [low, *(tuple(level[key] for key in _THREE) for level in details)]
    return [low, *details]


_FORMS = ("wavedec", "wavedec2", "wavedecn")


def _taken(slices: Any, take: Callable[[Any], Array], form: str, forms: tuple[str, ...]) -> list[Any]:
    if form not in forms:
        raise ValueError(f"Unrecognized output format: {form}; expected {', '.join(forms)}")
    if len(slices) == 0:
        raise ValueError("empty list of coefficient slices")
    details = [{key: take(place) for key, place in level.items()} for level in slices[1:]]
    return _formatted(take(slices[0]), details, form)


def array_to_coeffs(arr: Any, coeff_slices: Any, output_format: str = "wavedecn") -> list[Any]:
    """The inverse of :func:`coeffs_to_array`."""
    array = np.asarray(arr)
    return _taken(coeff_slices, lambda place: array[place], output_format, _FORMS)


def ravel_coeffs(coeffs: Any, axes: Any = None) -> tuple[Array, list[Any], list[Any]]:
    """All coefficients in a row, with the slices and shapes to take them out."""
    low, details = _uniform(coeffs)
    parts: list[Array] = [low.ravel()]
    slices: list[Any] = [slice(low.size)]
    shapes: list[Any] = [low.shape]
    at = low.size
    for level in details:
        own = {}
        for key, band in level.items():
            own[key] = slice(at, at + band.size)
            at += band.size
            parts.append(band.ravel())
        slices.append(own)
        shapes.append({key: band.shape for key, band in level.items()})
    return np.concatenate(parts), slices, shapes


def unravel_coeffs(arr: Any, coeff_slices: Any, coeff_shapes: Any, output_format: str = "wavedecn") -> list[Any]:
    """The inverse of :func:`ravel_coeffs`."""
    array = np.asarray(arr)
    if len(coeff_slices) != len(coeff_shapes):
        raise ValueError("coeff_shapes and coeff_slices have unequal length")
    pairs: list[Any] = [(coeff_slices[0], coeff_shapes[0])] if len(coeff_slices) else []
    for places, shapes in zip(coeff_slices[1:], coeff_shapes[1:]):
        pairs.append({key: (places[key], shapes[key]) for key in places})
    forms = (*_FORMS, "swt", "swt2", "swtn")
    return _taken(pairs, lambda pair: array[pair[0]].reshape(pair[1]), output_format, forms)
