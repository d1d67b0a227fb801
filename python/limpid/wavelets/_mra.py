"""Multiresolution analysis: what each band alone gives. The parts add up to the data."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ._multilevel import wavedecn
from ._single import Array, join, normal_axes, on_cpu, synthesis
from ._swt import iswtn, swtn
from ._wavelet import modes_per_axis, per_axis


def _parts(
    data: Any, wavelet: Any, level: int | None, axes: Any, transform: str, mode: Any, names: tuple[str, str]
) -> tuple[Array, list[dict[str, Array]]]:
    """The part of the low band, and the parts of each level's bands by keys, the coarsest first."""
    if transform not in names:
        raise ValueError(f"unrecognized transform: {transform}; expected {' or '.join(names)}")
    data = on_cpu(data)
    # In double precision, so that the parts of single precision add up.
    x = data.astype(np.result_type(data, np.float64), copy=False)
    axes = normal_axes(axes, x.ndim, unique=True)
    modes = modes_per_axis(mode, axes)
    if transform == names[1]:
        if set(modes) != {"periodization"}:
            raise ValueError(f"transform='{transform}' only supports mode='periodization'")
        whole = swtn(x, wavelet, level, axes=axes, trim_approx=True, norm=True)
        zero = np.zeros_like(x)

        def inverse(low: Array | None, details: list[dict[str, Array]]) -> Array:
            filled = [{key: bands.get(key, zero) for key in whole[-1]} for bands in details]
            made = iswtn([zero if low is None else low, *filled], wavelet, norm=True, axes=axes)
            return made.astype(data.dtype, copy=False)

    else:
        whole = wavedecn(x, wavelet, mode, level, axes)
        banks = [synthesis(w, m) for w, m in zip(per_axis(wavelet, axes), modes)]

        def inverse(low: Array | None, details: list[dict[str, Array]]) -> Array:
            for bands, full in zip(details, whole[-len(details) :]):
                given = dict(bands)
                if low is not None:
                    given["a" * len(axes)] = _cropped(low, next(iter(full.values())).shape)
                low = join(given, axes, banks)
            return _cropped(low, x.shape).astype(data.dtype, copy=False)  # type: ignore[arg-type]

    low, *details = whole
    if not details:
        return low.astype(data.dtype, copy=False), []
    # Levels that are finer than a band have nothing of their own.
    parts = [
        {key: inverse(None, [{key: band}, *({} for _ in details[i + 1 :])]) for key, band in bands.items()}
        for i, bands in enumerate(details)
    ]
    return inverse(low, [{} for _ in details]), parts


def _cropped(array: Array, shape: tuple[int, ...]) -> Array:
    return array[tuple(slice(side) for side in shape)]


def _sum(arrays: list[Array]) -> Array:
    return reduce(np.add, arrays)


def mra(data: Any, wavelet: Any, level: int | None = None, axis: int = -1, transform: str = "swt", mode: Any = "periodization") -> list[Array]:
    """Parts of a signal along one axis: ``[An, Dn, …, D1]``, each as large as the signal. ``transform`` is ``swt`` or ``dwt``.

    >>> import numpy as np
    >>> x = np.arange(16.0)
    >>> parts = mra(x, "db2", level=2)
    >>> len(parts), bool(np.allclose(imra(parts), x))
    (3, True)
    """
    low, details = _parts(data, wavelet, level, (axis,), transform, mode, ("dwt", "swt"))
    return [low, *(bands["d"] for bands in details)]


def imra(mra_coeffs: list[Array]) -> Array:
    """The inverse of :func:`mra`: the sum."""
    return _sum(list(mra_coeffs))


def mra2(data: Any, wavelet: Any, level: int | None = None, axes: Any = (-2, -1), transform: str = "swt2", mode: Any = "periodization") -> list[Any]:
    """Parts of a picture: ``[An, (Hn, Vn, Dn), …]``. ``transform`` is ``swt2`` or ``dwt2``."""
    if len(tuple(axes)) != 2:
        raise ValueError("Expected 2 axes")
    low, details = _parts(data, wavelet, level, tuple(axes), transform, mode, ("dwt2", "swt2"))
    return [low, *((bands["da"], bands["ad"], bands["dd"]) for bands in details)]


def imra2(mra_coeffs: list[Any]) -> Array:
    """The inverse of :func:`mra2`: the sum."""
    return _sum([mra_coeffs[0], *(band for bands in mra_coeffs[1:] for band in bands)])


def mran(data: Any, wavelet: Any, level: int | None = None, axes: Any = None, transform: str = "swtn", mode: Any = "periodization") -> list[Any]:
    """Parts along several axes: ``[An, {parts}, …]``. ``transform`` is ``swtn`` or ``dwtn``."""
    low, details = _parts(data, wavelet, level, axes, transform, mode, ("dwtn", "swtn"))
    return [low, *details]


def imran(mra_coeffs: list[Any]) -> Array:
    """The inverse of :func:`mran`: the sum."""
    return _sum([mra_coeffs[0], *(band for bands in mra_coeffs[1:] for band in bands.values())])
