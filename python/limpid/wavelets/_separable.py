"""Fully separable transforms: all levels along one axis, then all along the next."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np

from ._multilevel import levels as all_levels
from ._multilevel import wavedec, waverec
from ._single import Array, normal_axes, on_cpu
from ._wavelet import Modes, Wavelet, modes_per_axis, per_axis


class FswavedecnResult:
    """Coefficients of :func:`fswavedecn`: all in the array ``coeffs``, one band by a tuple of levels, 0 for the lowest band."""

    def __init__(self, coeffs: Array, coeff_slices: list[Any], wavelets: list[Wavelet], mode_enums: list[int], axes: tuple[int, ...]) -> None:
        self.coeffs = coeffs
        self._slices = coeff_slices
        self._axes = tuple(axes)
        if not all(isinstance(w, Wavelet) for w in wavelets):
            raise ValueError("wavelets must contain pywt.Wavelet objects")
        self._wavelets = list(wavelets)
        self._modes = list(mode_enums)

    @property
    def coeff_slices(self) -> list[Any]:
        """Where the bands along each axis are."""
        return self._slices

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that were transformed."""
        return self._axes

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self.coeffs.ndim)

    @property
    def ndim_transform(self) -> int:
        """The number of axes that were transformed."""
        return len(self._axes)

    @property
    def levels(self) -> list[int]:
        """Levels along each axis."""
        return [len(s) - 1 for s in self._slices]

    @property
    def modes(self) -> list[str]:
        """Modes along each axis."""
        return [name for mode in self._modes for name in Modes.modes if getattr(Modes, name) == mode]

    @property
    def wavelets(self) -> list[Wavelet]:
        """Wavelets along each axis."""
        return self._wavelets

    @property
    def wavelet_names(self) -> list[str]:
        """Names of the wavelets along each axis."""
        return [w.name for w in self._wavelets]

    def _place(self, levels: Any) -> tuple[slice, ...]:
        levels = tuple(levels) if np.iterable(levels) else (levels,)
        if len(levels) != len(self._axes):
            raise ValueError("levels must match the number of transformed axes")
        place = [slice(None)] * self.coeffs.ndim
        for axis, slices, level in zip(self._axes, self._slices, levels):
            if not 0 <= level < len(slices):
                raise ValueError(f"level {level} along axis {axis} is not within 0 … {len(slices) - 1}")
            place[axis] = slices[level]
        return tuple(place)

    def __getitem__(self, levels: Any) -> Array:
        return self.coeffs[self._place(levels)]

    def __setitem__(self, levels: Any, x: Array) -> None:
        place = self._place(levels)
        band = self.coeffs[place]
        if band.shape != x.shape:
            raise ValueError(f"x does not match the shape of the requested coefficient: {x.shape} and {band.shape}")
        if x.dtype != band.dtype:
            warnings.warn("dtype mismatch:  converting the provided array to dtype {}".format(band.dtype), stacklevel=2)
        self.coeffs[place] = x

    @property
    def approx(self) -> Array:
        """The lowest band."""
        return self[(0,) * len(self._axes)]

    @approx.setter
    def approx(self, a: Array) -> None:
        self[(0,) * len(self._axes)] = a

    def detail_keys(self) -> list[tuple[int, ...]]:
        """The levels of all bands but the lowest."""
        return list(product(*(range(len(s)) for s in self._slices)))[1:]


def fswavedecn(data: Any, wavelet: Any, mode: Any = "symmetric", levels: Any = None, axes: Any = None) -> FswavedecnResult:
    """The fully separable transform: any number of levels along each axis.

    >>> import numpy as np
    >>> result = fswavedecn(np.ones((32, 32)), "sym2", levels=(1, 3))
    >>> result.detail_keys()
    [(0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]
    >>> bool(np.allclose(fswaverecn(result), 1))
    True
    """
    x = on_cpu(data)
    if x.ndim < 1:
        raise ValueError("Expected at least 1D input data.")
    axes = normal_axes(axes, x.ndim, unique=True)
    wavelets, modes = per_axis(wavelet, axes), modes_per_axis(mode, axes)
    counts: list[Any] = list(levels) if np.iterable(levels) else [levels] * len(axes)
    if len(counts) != len(axes):
        raise ValueError("levels must match the length of the axes list")
    slices = []
    for axis, own, border, count in zip(axes, wavelets, modes, counts):
        count = all_levels([x.shape[axis]], [own.dec_len], count)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            bands = wavedec(x, own, border, count, axis)
        ends = np.cumsum([0, *(band.shape[axis] for band in bands)]).tolist()
        slices.append([slice(a, b) for a, b in zip(ends, ends[1:])])
        x = np.concatenate(bands, axis=axis) if len(bands) > 1 else x
    return FswavedecnResult(x, slices, wavelets, [getattr(Modes, m) for m in modes], axes)


def fswaverecn(fswavedecn_result: FswavedecnResult) -> Array:
    """The inverse of :func:`fswavedecn`."""
    result = fswavedecn_result
    x = result.coeffs
    for axis, slices, wavelet, mode in zip(result.axes, result.coeff_slices, result.wavelets, result.modes):
        if len(slices) > 1:
            bands = [x[(slice(None),) * axis + (s,)] for s in slices]
            x = waverec(bands, wavelet, mode, axis)
    return x
