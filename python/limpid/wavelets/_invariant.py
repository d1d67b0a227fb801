"""Transforms that do not mind where a picture begins: the dual-tree complex transform and the starlet transform."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .. import _gpu as gpu
from .. import _limpid
from .._errors import UnsupportedError
from .._gpu import GpuArray
from ._multilevel import levels as all_levels
from ._single import Array, as_numbers, join_gpu, normal_axes, split_gpu
from ._wavelet import mode_name

#: Scaling filter of the first level, nearly symmetric (Abdelnour and Selesnick 2001).
_FIRST = (
    -0.08838834764832, 0.08838834764832, 0.695879989034, 0.695879989034,
    0.08838834764832, -0.08838834764832, 0.01122679215254, 0.01122679215254,
)  # fmt: skip

#: Scaling filter of the other levels, whose delay is a quarter of a sample off the middle (Kingsbury 2003, 14 taps).
_QUARTER = (
    0.00325314276365318, -0.00388321199915849, 0.03466034684485349, -0.03887280126882779, -0.11720388769911527,
    0.27529538466888204, 0.75614564389252248, 0.56881042071212273, 0.01186609203379700, -0.10671180468666540,
    0.02382538479492030, 0.01702522388155399, -0.00543947593727412, -0.00455689562847549,
)  # fmt: skip

#: Filter of the starlet transform: a cubic B-spline.
_SPLINE = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)


def _scaling(first: bool, tree: int) -> tuple[float, ...]:
    if first:
        # The second tree is one sample late.
        return (0.0, *_FIRST, 0.0) if tree == 0 else (0.0, 0.0, *_FIRST)
    return _QUARTER if tree == 0 else _QUARTER[::-1]


@functools.lru_cache(maxsize=64)
def _bank(first: bool, tree: int, mode: str, back: bool) -> _limpid.Bank:
    """Filters of a tree, orthonormal."""
    low = _scaling(first, tree)
    high = tuple(-v if i % 2 else v for i, v in enumerate(reversed(low)))
    if not back:
        low, high = low[::-1], high[::-1]
    return _limpid.Bank(list(low), list(high), mode)


_TREES = ((0, 0), (0, 1), (1, 0), (1, 1))

#: Directions of the bands of :func:`dtcwt2`, in degrees from the horizontal.
ANGLES = (15, -15, 75, -75, 45, -45)


def dtcwt2(
    data: Any, level: int | None = None, mode: Any = "symmetric", axes: Any = (-2, -1), *, device: str | None = None
) -> list[Array]:
    """The dual-tree complex transform of a picture: ``[low, bands n, …, bands 1]``.

    ``low`` has a leading axis for the four trees. The bands of a level are complex, with a leading axis of six directions, 15°, -15°, 75°,
    -75°, 45° and -45° from the horizontal. Their magnitudes hardly change when the picture is shifted. With ``periodization`` and sizes that can be halved
    the energy of all coefficients is that of the picture.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).random((64, 64))
    >>> low, coarse, fine = dtcwt2(x, level=2)
    >>> fine.shape, fine.dtype
    ((6, 36, 36), dtype('complex128'))
    >>> bool(np.allclose(idtcwt2([low, coarse, fine]), x))
    True
    """
    x = as_numbers(data, device)
    if x.dtype.kind == "c":
        raise TypeError("a complex picture cannot be transformed; its parts can")
    axes = normal_axes(axes, x.ndim, unique=True)
    if len(axes) != 2:
        raise ValueError("Expected 2 axes")
    border = mode_name(mode)
    count = all_levels([x.shape[a] for a in axes], [len(_QUARTER)] * 2, level)
    if isinstance(x, GpuArray):
        return _dtcwt2_gpu(x, count, border, axes)
    x = np.moveaxis(x, axes, (-2, -1)) / x.dtype.type(2)
    low = [x] * 4
    found = []
    for i in range(count):
        split = [
            _limpid.dwt2(x, *(_bank(i == 0, tree, border, False) for tree in trees)) for x, trees in zip(low, _TREES)
        ]
        low = [bands[0] for bands in split]
        found.append(np.stack([band for k in (1, 2, 3) for band in _complex(*(bands[k] for bands in split))]))
    return [np.stack(low), *reversed(found)]


#: Weights of the four trees in the real and imaginary parts of both directions of a band: of one tree and of another.
_PARTS = (((0, 1.0), (3, -1.0)), ((0, 1.0), (3, 1.0)), ((1, 1.0), (2, 1.0)), ((2, 1.0), (1, -1.0)))


def _both(x: Any, axes: tuple[int, ...]) -> tuple[int, int]:
    both = (x.ndim - 2, x.ndim - 1)
    if axes != both:
        raise UnsupportedError("the dual-tree transform on a GPU is along the last two axes; array.numpy() takes others")
    return both


def _dtcwt2_gpu(x: Any, count: int, border: str, axes: tuple[int, ...]) -> list[Any]:
    """The transform of an array on a GPU."""
    both = _both(x, axes)
    half = math.sqrt(0.5)
    low = [x * 0.5] * 4
    found = []
    for i in range(count):
        split = []
        for tree, (down, across) in zip(low, _TREES):
            banks = [(_bank(i == 0, which, border, False), border, len(_scaling(i == 0, which))) for which in (down, across)]
            split.append(split_gpu(tree, both, banks))
        low = [bands["aa"] for bands in split]
        bands = [tree[key] for key in ("da", "ad", "dd") for tree in split]
        pieces = []
        # Real parts of the six directions, then imaginary ones.
        for parts in (_PARTS[:2], _PARTS[2:]):
            for k in range(3):
                for one, other in parts:
                    a, b = ((4 * k + tree, 0, half * weight) for tree, weight in (one, other))
                    pieces.append((a, b))
        found.append(gpu.combined(bands, (6, *bands[0].shape), pieces, True))
    return [gpu.stack(low), *reversed(found)]


def _idtcwt2_gpu(low: Any, details: list[Any], border: str, axes: Any) -> Any:
    """The inverse of `_dtcwt2_gpu`."""
    gpu.alike(low, *details)
    trees = list(low)
    both = _both(trees[0], normal_axes(axes, trees[0].ndim, unique=True))
    half = math.sqrt(0.5)
    for i, bands in zip(reversed(range(len(details))), details):
        each = math.prod(bands.shape[1:])
        imaginary = 6 * each
        joined = []
        for n, (x, trees_of) in enumerate(zip(trees, _TREES)):
            own = {}
            for k, key in enumerate(("da", "ad", "dd")):
                one, other = 2 * k * each, (2 * k + 1) * each
                # Of real parts for the trees of two equal filters, of imaginary ones for the others.
                at, signs = ((one, other), (1, 1)) if n == 0 else ((other, one), (1, -1))
                if n in (1, 2):
                    at, signs = (imaginary + one, imaginary + other), (1, -1 if n == 1 else 1)
                a, b = ((0, place, sign * half) for place, sign in zip(at, signs))
                own[key] = gpu.combined([bands], bands.shape[1:], [(a, b)])
            own["aa"] = x[(..., slice(bands.shape[-2]), slice(bands.shape[-1]))]
            banks = [(_bank(i == 0, which, border, True), border, len(_scaling(i == 0, which))) for which in trees_of]
            joined.append(join_gpu(own, both, banks))
        trees = joined
    return ((trees[0] + trees[1]) + (trees[2] + trees[3])) * 0.5


def _complex(aa: Array, ab: Array, ba: Array, bb: Array) -> tuple[Array, Array]:
    """Both directions of a band from its four trees."""
    half = aa.dtype.type(math.sqrt(0.5))
    kind = np.result_type(aa, np.complex64)
    one, other = np.empty(aa.shape, kind), np.empty(aa.shape, kind)
    one.real, one.imag = (aa - bb) * half, (ab + ba) * half
    other.real, other.imag = (aa + bb) * half, (ba - ab) * half
    return one, other


def idtcwt2(coeffs: Any, shape: Any = None, mode: Any = "symmetric", axes: Any = (-2, -1)) -> Array:
    """The inverse of :func:`dtcwt2`; ``shape`` is that of the picture, where a side of it is odd."""
    low, *details = coeffs
    border = mode_name(mode)
    if gpu.alike(*coeffs):
        out = _idtcwt2_gpu(low, details, border, axes)
        return out if shape is None else out[tuple(slice(side) for side in shape)]
    trees = list(np.asarray(low))
    for i, bands in zip(reversed(range(len(details))), details):
        half = bands.real.dtype.type(math.sqrt(0.5))
        split: list[list[Array]] = [[], [], [], []]
        for one, other in zip(bands[::2], bands[1::2]):
            parts = (one.real + other.real, one.imag - other.imag, one.imag + other.imag, other.real - one.real)
            for own, part in zip(split, parts):
                own.append(part * half)
        height, width = bands.shape[-2:]
        trees = [
            _limpid.idwt2([x[..., :height, :width], *own], *(_bank(i == 0, tree, border, True) for tree in pair))
            for x, own, pair in zip(trees, split, _TREES)
        ]
    out = sum(trees[1:], trees[0]) / trees[0].dtype.type(2)
    axes = normal_axes(axes, out.ndim, unique=True)
    out = np.moveaxis(out, (-2, -1), axes)
    return out if shape is None else out[tuple(slice(side) for side in shape)]


def _smoothed(x: Array, axes: tuple[int, ...], step: int) -> Array:
    for axis in axes:
        if isinstance(x, GpuArray):
            x = x.smoothed(axis, _SPLINE, step)
            continue
        x = _limpid.smooth(x, axis, list(_SPLINE), step)
    return x


def starlet(
    data: Any, level: int | None = None, axes: Any = None, generation: int = 1, *, device: str | None = None
) -> list[Array]:
    """The isotropic undecimated transform of Starck and Murtagh by a cubic spline: ``[low, details n, …, details 1]``, each as large as the data.

    Details are what smoothing with gaps takes away; beyond the ends data are mirrored. The second generation smooths twice,
    which makes its inverse positive where coefficients are.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).random((40, 50))
    >>> low, coarse, fine = starlet(x, level=2)
    >>> bool(np.allclose(low + coarse + fine, x))
    True
    """
    x = as_numbers(data, device)
    if x.dtype.kind == "c":
        raise TypeError("complex data cannot be transformed; its parts can")
    if generation not in (1, 2):
        raise ValueError(f"generation {generation}: expected 1 or 2")
    axes = normal_axes(axes, x.ndim, unique=True)
    if any(x.shape[a] < 1 for a in axes):
        raise ValueError("Cannot apply a transform along an axis of size zero.")
    count = all_levels([x.shape[a] for a in axes], [len(_SPLINE)] * len(axes), level)
    found = []
    for i in range(count):
        smooth = _smoothed(x, axes, 1 << i)
        found.append(x - (smooth if generation == 1 else _smoothed(smooth, axes, 1 << i)))
        x = smooth
    return [x, *reversed(found)]


def istarlet(coeffs: Any, axes: Any = None, generation: int = 1) -> Array:
    """The inverse of :func:`starlet`."""
    x, *details = (as_numbers(c) for c in coeffs)
    axes = normal_axes(axes, x.ndim, unique=True)
    for i, band in zip(reversed(range(len(details))), details):
        x = band + (x if generation == 1 else _smoothed(x, axes, 1 << i))
    return x


def starlet_deviations(level: int, ndim: int) -> list[float]:
    """Standard deviations of white noise of deviation 1 in the details of :func:`starlet`'s first generation, the coarsest first."""
    before = np.array([1.0])
    found = []
    for i in range(level):
        gaps = np.zeros(4 * (1 << i) + 1)
        gaps[:: 1 << i] = _SPLINE
        after = np.convolve(before, gaps)
        wide = np.pad(before, (len(after) - len(before)) // 2)
        # Both kernels are products over the axes.
        square = np.dot(wide, wide) ** ndim - 2 * np.dot(wide, after) ** ndim + np.dot(after, after) ** ndim
        found.append(math.sqrt(square))
        before = after
    return found[::-1]
