"""One level of the transform."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _limpid
from .. import _gpu as gpu
from .._frame import unmasked
from .._gpu import GpuArray
from ._wavelet import Wavelet, as_wavelet, mode_name, modes_per_axis, per_axis

Array = NDArray[Any]

#: Of an axis that is not there.
AxisError = getattr(np, "exceptions", np).AxisError

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def as_numbers(data: Any, device: str | None = None) -> Array:
    """An array of float32, float64, complex64 or complex128; or one on a GPU, where it is there or a device is named."""
    if type(data) is not np.ndarray or device is not None:
        data = gpu.placed(data, device)
        if isinstance(data, GpuArray):
            return data  # type: ignore[return-value]
        unmasked(data, "data")
    array = np.asarray(data)
    if array.dtype is _DOUBLE or array.dtype is _SINGLE:
        return array
    kind, size = array.dtype.kind, array.dtype.itemsize
    wanted: type[np.inexact[Any]]
    if kind == "f":
        wanted = np.float32 if size <= 4 else np.float64
    elif kind == "c":
        wanted = np.complex64 if size <= 8 else np.complex128
    elif kind in "biu":
        wanted = np.float64
    else:
        raise TypeError(f"an array of {array.dtype} cannot be transformed; numbers can")
    return array.astype(wanted, copy=False)


def on_cpu(data: Any) -> Array:
    """The same for what has no GPU code."""
    return as_numbers(np.asarray(data) if isinstance(data, GpuArray) else data)


def linear(work: Callable[..., Any], *arrays: Array | None) -> Any:
    """Calls a linear function of real arrays, twice where they are complex."""
    if not any(a is not None and a.dtype.kind == "c" for a in arrays):
        return work(*arrays)
    real = work(*(None if a is None else a.real for a in arrays))
    imaginary = work(*(None if a is None else a.imag for a in arrays))
    if isinstance(real, tuple):
        return tuple(_complex(r, i) for r, i in zip(real, imaginary))
    return _complex(real, imaginary)


def _complex(real: Array, imaginary: Array) -> Array:
    whole = np.empty(real.shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    whole.real, whole.imag = real, imaginary
    return whole


def normal_axes(axes: Any, ndim: int, unique: bool = False) -> tuple[int, ...]:
    """Axes counted from the first one."""
    if axes is None:
        return tuple(range(ndim))
    if isinstance(axes, (int, np.integer)):
        axes = (axes,)
    found = []
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise AxisError(f"Axis {axis} is greater than data dimensions: {ndim}")
        found.append(int(axis) % ndim)
    if unique and len(set(found)) != len(found):
        raise ValueError("The axes passed to must be unique.")
    return tuple(found)


#: Filters and border of one direction along an axis, with the border's name and the number of taps.
Bank = tuple[_limpid.Bank, str, int]


def analysis(wavelet: Wavelet, mode: str) -> Bank:
    """Filters and border of the forward transform."""
    return wavelet.bank(False, mode)


def synthesis(wavelet: Wavelet, mode: str) -> Bank:
    """Filters and border of the inverse transform."""
    return wavelet.bank(True, mode)


def check(x: Array, axes: Sequence[int], banks: Sequence[Bank]) -> None:
    for axis, bank in zip(axes, banks):
        if x.shape[axis] < 1:
            raise ValueError("Cannot apply a transform along an axis of size zero.")
        if x.shape[axis] == 1 and bank[1] in ("reflect", "antireflect"):
            raise ValueError(f"Input data length must be greater than 1 for {bank[1]} mode along the transformed axis.")


def split_axis(x: Array, axis: int, bank: Bank) -> tuple[Array, Array]:
    """Low and high coefficients along an axis."""
    check(x, (axis,), (bank,))
    if isinstance(x, GpuArray):
        return tuple(split_gpu(x, (axis,), (bank,)).values())
    if x.dtype.kind == "c":
        return linear(lambda x: _limpid.dwt(x, axis, bank[0]), x)
    return _limpid.dwt(x, axis, bank[0])


def join_axis(low: Array | None, high: Array | None, axis: int, bank: Bank) -> Array:
    """Samples along an axis; a band that is None is zero."""
    if gpu.alike(low, high):
        return join_gpu({"a": low, "d": high}, (axis,), (bank,))
    low, high = _alike([low, high])
    return linear(lambda low, high: _limpid.idwt([low, high], axis, bank[0]), low, high)


def _alike(bands: Sequence[Array | None]) -> list[Array | None]:
    """Bands of one type; they must have one shape."""
    given = [b for b in bands if b is not None]
    if not given:
        raise ValueError("At least one coefficient parameter must be specified.")
    if any(b.shape != given[0].shape for b in given):
        raise ValueError("All coefficient arrays must have the same shape, not " + ", ".join(str(b.shape) for b in given))
    kind = np.result_type(*given)
    return [None if b is None else b.astype(kind, copy=False) for b in bands]


def _last(array: Array, axes: tuple[int, int]) -> Array:
    """An array whose last two axes are `axes`."""
    last = (array.ndim - 2, array.ndim - 1)
    return array if axes == last else np.moveaxis(array, axes, last)


def _back(array: Array, axes: tuple[int, int]) -> Array:
    """The inverse of `_last`."""
    last = (array.ndim - 2, array.ndim - 1)
    return array if axes == last else np.moveaxis(array, last, axes)


Banks = Sequence[Bank]


def split_plane(x: Array, axes: tuple[int, int], banks: Banks) -> tuple[Array, Array, Array, Array]:
    """Bands aa, da, ad, dd."""
    check(x, axes, banks)

    def real(x: Array) -> tuple[Array, ...]:
        bands = _limpid.dwt2(_last(x, axes), banks[0][0], banks[1][0])
        return tuple(_back(b, axes) for b in bands)

    return linear(real, x)


def join_plane(bands: Sequence[Array | None], axes: tuple[int, int], banks: Banks) -> Array:
    """The inverse of `split_plane`."""

    def real(*bands: Array | None) -> Array:
        planes = [None if b is None else _last(b, axes) for b in bands]
        return _back(_limpid.idwt2(planes, banks[0][0], banks[1][0]), axes)

    return linear(real, *_alike(bands))


def split_gpu(x: Any, axes: Sequence[int], banks: Banks) -> dict[str, Any]:
    """All bands of an array on a GPU."""
    check(x, axes, banks)
    lengths = [dwt_coeff_len(x.shape[axis], bank[2], bank[1]) for axis, bank in zip(axes, banks)]
    keys = ("".join(letters) for letters in product("ad", repeat=len(axes)))
    return dict(zip(keys, x.split(axes, [bank[0] for bank in banks], lengths)))


def join_gpu(bands: Mapping[str, Any], axes: Sequence[int], banks: Banks) -> Any:
    """The inverse of `split_gpu`."""
    order = [bands.get("".join(letters)) for letters in product("ad", repeat=len(axes))]
    given = next((band for band in order if band is not None), None)
    if given is None:
        raise ValueError("At least one coefficient parameter must be specified.")
    lengths = []
    for axis, (_, mode, taps) in zip(axes, banks):
        count = given.shape[axis]
        lengths.append(2 * count if mode == "periodization" else max(2 * count + 2 - taps, 0))
    return gpu.join(order, axes, [bank[0] for bank in banks], lengths)


def split(x: Array, axes: tuple[int, ...], banks: Banks) -> dict[str, Array]:
    """All bands by their keys: a letter for each axis."""
    if isinstance(x, GpuArray) and len(set(axes)) == len(axes):
        return split_gpu(x, axes, banks)
    if len(axes) == 2 and axes[0] != axes[1] and not isinstance(x, GpuArray):
        aa, da, ad, dd = split_plane(x, (axes[0], axes[1]), banks)
        return {"aa": aa, "ad": ad, "da": da, "dd": dd}
    bands = {"": x}
    for axis, bank in zip(axes, banks):
        made = {}
        for key, band in bands.items():
            made[key + "a"], made[key + "d"] = split_axis(band, axis, bank)
        bands = made
    return bands


def join(bands: Mapping[str, Array | None], axes: tuple[int, ...], banks: Banks) -> Array:
    """The inverse of `split`; what is not there is zero."""
    if gpu.alike(*bands.values()) and len(set(axes)) == len(axes):
        return join_gpu(bands, axes, banks)
    if len(axes) == 2 and axes[0] != axes[1]:
        order = [bands.get(key) for key in ("aa", "da", "ad", "dd")]
        return join_plane(order, (axes[0], axes[1]), banks)
    left = {key: band for key, band in bands.items() if band is not None}
    _alike(list(left.values()))
    for i in reversed(range(len(axes))):
        made = {}
        for letters in product("ad", repeat=i):
            key = "".join(letters)
            low, high = left.get(key + "a"), left.get(key + "d")
            if low is not None or high is not None:
                made[key] = join_axis(low, high, axes[i], banks[i])
        left = made
    return left[""]


def dwt(data: Any, wavelet: Any, mode: Any = "symmetric", axis: int = -1, *, device: str | None = None) -> tuple[Array, Array]:
    """One level along one axis: ``(cA, cD)``.

    >>> cA, cD = dwt([1.0, 2.0, 3.0, 4.0], "haar")
    >>> cA
    array([2.12132034, 4.94974747])
    """
    x = as_numbers(data, device)
    if x.ndim < 1:
        raise ValueError("Input data must have at least one axis")
    axis = normal_axes(axis, x.ndim)[0]
    return split_axis(x, axis, analysis(as_wavelet(wavelet), mode_name(mode)))


def idwt(cA: Any, cD: Any, wavelet: Any, mode: Any = "symmetric", axis: int = -1) -> Array:
    """The inverse of :func:`dwt`; a band that is None is zero."""
    if cA is None and cD is None:
        raise ValueError("At least one coefficient parameter must be specified.")
    low = None if cA is None else as_numbers(cA)
    high = None if cD is None else as_numbers(cD)
    ndim = (low if low is not None else high).ndim  # type: ignore[union-attr]
    axis = normal_axes(axis, ndim)[0]
    bank = synthesis(as_wavelet(wavelet), mode_name(mode))
    given = low if low is not None else high
    if bank[1] != "periodization" and 2 * given.shape[axis] + 2 <= bank[2]:  # type: ignore[union-attr]
        raise ValueError("Invalid coefficient arrays length for specified wavelet. Wavelet and mode must be the same as used for decomposition.")
    return join_axis(low, high, axis, bank)


def _two(axes: Any) -> tuple[int, int]:
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("Expected 2 axes")
    return axes


def dwt2(
    data: Any, wavelet: Any, mode: Any = "symmetric", axes: Any = (-2, -1), *, device: str | None = None
) -> tuple[Array, tuple[Array, Array, Array]]:
    """One level of a picture: ``(cA, (cH, cV, cD))``.

    >>> import numpy as np
    >>> cA, (cH, cV, cD) = dwt2(np.ones((4, 6)), "db2", mode="periodization")
    >>> cA.shape
    (2, 3)
    """
    axes = _two(axes)
    x = as_numbers(data, device)
    if x.ndim < len(set(axes)):
        raise ValueError("Input array has fewer dimensions than the specified axes")
    bands = dwtn(x, wavelet, mode, axes)
    return bands["aa"], (bands["da"], bands["ad"], bands["dd"])


def idwt2(coeffs: Any, wavelet: Any, mode: Any = "symmetric", axes: Any = (-2, -1)) -> Array:
    """The inverse of :func:`dwt2`; bands that are None are zero."""
    cA, (cH, cV, cD) = coeffs
    return idwtn({"aa": cA, "da": cH, "ad": cV, "dd": cD}, wavelet, mode, _two(axes))


def dwtn(data: Any, wavelet: Any, mode: Any = "symmetric", axes: Any = None, *, device: str | None = None) -> dict[str, Array]:
    """One level along several axes: bands by keys like ``"ad"``, a letter for each axis."""
    x = as_numbers(data, device)
    if x.ndim < 1:
        raise ValueError("Input data must be at least 1D")
    axes = normal_axes(axes, x.ndim)
    wavelets, modes = per_axis(wavelet, axes), modes_per_axis(mode, axes)
    return split(x, axes, [analysis(w, m) for w, m in zip(wavelets, modes)])


def check_keys(bands: Mapping[str, Any], length: int | None = None) -> int:
    """How many letters the keys have."""
    lengths = {len(key) for key in bands}
    wrong = any(set(key) - set("ad") for key in bands)
    if wrong or len(lengths) > 1 or (length is not None and lengths - {length}):
        raise ValueError(f"Unexpected key for a band: {', '.join(sorted(bands))}; expected a or d for each axis")
    return lengths.pop() if lengths else length or 0


def idwtn(coeffs: Mapping[str, Any], wavelet: Any, mode: Any = "symmetric", axes: Any = None) -> Array:
    """The inverse of :func:`dwtn`; bands that are None or not there are zero."""
    bands = {key: as_numbers(band) for key, band in coeffs.items() if band is not None}
    if not bands:
        raise ValueError("At least one coefficient parameter must be specified.")
    check_keys(coeffs)
    ndim = next(iter(bands.values())).ndim
    letters = len(next(iter(coeffs)))
    if any(band.ndim != ndim for band in bands.values()):
        raise ValueError("All coefficient arrays must have the same number of axes.")
    axes = normal_axes(tuple(range(letters)) if axes is None else axes, ndim)
    if len(axes) != letters:
        raise ValueError("The number of axes must be that of the letters of a band's key.")
    wavelets, modes = per_axis(wavelet, axes), modes_per_axis(mode, axes)
    return join(bands, axes, [synthesis(w, m) for w, m in zip(wavelets, modes)])


def dwt_coeff_len(data_len: int, filter_len: Any, mode: Any) -> int:
    """Coefficients of a signal of this length.

    >>> dwt_coeff_len(100, "db4", "symmetric")
    53
    """
    taps = _taps(filter_len)
    if data_len < 1:
        raise ValueError("Value of data_len must be greater than zero.")
    if mode_name(mode) == "periodization":
        return (data_len + 1) // 2
    return (data_len + taps - 1) // 2


def _taps(filter_len: Any) -> int:
    if isinstance(filter_len, (int, np.integer)):
        if filter_len < 1:
            raise ValueError("Value of filter_len must be greater than zero.")
        return int(filter_len)
    if isinstance(filter_len, float):
        if filter_len != int(filter_len):
            raise ValueError("filter_len must be an integer")
        return int(filter_len)
    return as_wavelet(filter_len).dec_len


def dwt_max_level(data_len: Any, filter_len: Any) -> int:
    """Levels until a signal is shorter than the filter.

    >>> dwt_max_level(1000, "db4")
    7
    """
    taps = _taps(filter_len)
    if taps < 2:
        raise ValueError(f"invalid wavelet filter length: {taps}")
    if data_len < taps - 1:
        return 0
    # By whole numbers: logarithms round.
    return (int(data_len) // (taps - 1)).bit_length() - 1


def dwtn_max_level(shape: Any, wavelet: Any, axes: Any = None) -> int:
    """Levels until an array is smaller than the filter along some axis."""
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    axes = normal_axes(axes, len(shape), unique=True)
    wavelets = per_axis(wavelet, axes)
    return min(dwt_max_level(shape[axis], w) for axis, w in zip(axes, wavelets))


def downcoef(part: str, data: Any, wavelet: Any, mode: Any = "symmetric", level: int = 1) -> Array:
    """One band of a line after ``level`` levels: the low one with part ``a``, the high one with ``d``.

    >>> downcoef("a", [1.0, 2.0, 3.0, 4.0], "haar", level=2)
    array([5.])
    """
    x = as_numbers(data)
    if x.ndim != 1:
        raise ValueError("downcoef only supports 1d data.")
    if part not in ("a", "d"):
        raise ValueError(f"Argument 1 must be 'a' or 'd', not '{part}'.")
    if level < 1:
        raise ValueError("Value of level must be greater than 0.")
    bank = analysis(as_wavelet(wavelet), mode_name(mode))
    for _ in range(level - 1):
        x = split_axis(x, 0, bank)[0]
    return split_axis(x, 0, bank)["ad".index(part)]


def upcoef(part: str, coeffs: Any, wavelet: Any, level: int = 1, take: int = 0) -> Array:
    """What one band, low with part ``a`` or high with ``d``, gives through ``level`` levels; the middle ``take`` samples of it.

    >>> upcoef("a", [2.0], "haar", level=2)
    array([1., 1., 1., 1.])
    """
    x = as_numbers(coeffs)
    if x.ndim > 1:
        raise ValueError("upcoef only supports 1d coeffs.")
    if part not in ("a", "d"):
        raise ValueError(f"Argument 1 must be 'a' or 'd', not '{part}'.")
    if level < 1:
        raise ValueError("Value of level must be greater than 0.")
    x = np.atleast_1d(x)
    bank = synthesis(as_wavelet(wavelet), "zero")
    for i in range(level):
        # With zeros around them all samples are given that coefficients reach.
        around = np.pad(x, bank[2] // 2 - 1)
        x = join_axis(None, around, 0, bank) if part == "d" and i == 0 else join_axis(around, None, 0, bank)
    if 0 < take < len(x):
        first = (len(x) - take) // 2
        x = x[first : first + take]
    return x


def pad(x: Any, pad_widths: Any, mode: Any) -> Array:
    """An array continued beyond its ends as a mode says.

    >>> pad([1, 2, 3], 2, "antireflect")
    array([-1,  0,  1,  2,  3,  4,  5])
    """
    array = np.asanyarray(x)
    widths = np.broadcast_to(np.asarray(pad_widths).astype(np.intp), (array.ndim, 2))
    if widths.min() < 0:
        raise ValueError("index can't contain negative values")
    name = mode_name(mode)
    for axis, (before, after) in enumerate(widths):
        array = _continued(array, axis, int(before), int(after), name)
    return array


def _continued(x: Array, axis: int, before: int, after: int, mode: str) -> Array:
    def more(x: Array, how: str, before: int = before, after: int = after, **options: str) -> Array:
        widths = [(0, 0)] * x.ndim
        widths[axis] = (before, after)
        return np.pad(x, widths, how, **options)  # type: ignore[call-overload,no-any-return]

    if mode == "periodization":
        return more(more(x, "edge", 0, x.shape[axis] % 2), "wrap")
    plain = {"zero": "constant", "constant": "edge", "symmetric": "symmetric", "reflect": "reflect", "periodic": "wrap"}
    if mode in plain:
        return more(x, plain[mode])
    if mode == "antireflect":
        return more(x, "reflect", reflect_type="odd")
    n = x.shape[axis]
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    at = np.arange(-before, n + after)
    if mode == "antisymmetric":
        return more(x, "symmetric") * np.where(at // n % 2, -1, 1).astype(x.dtype).reshape(shape)
    # Smooth: with the slope of the last two samples.
    ends = more(x, "edge")
    slope = np.diff(x, axis=axis) if n > 1 else np.zeros_like(x)
    low, high = np.take(slope, [0], axis), np.take(slope, [-1], axis)
    steps = [np.minimum(at, 0).astype(x.dtype).reshape(shape), np.maximum(at - n + 1, 0).astype(x.dtype).reshape(shape)]
    return ends + low * steps[0] + high * steps[1]
