"""Arrays that stay on a GPU from call to call."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _limpid
from ._denoise import device as open_device
from ._errors import DeviceError, InputError, UnsupportedError
from ._frame import whole_array

_FLOAT, _COMPLEX = np.dtype(np.float32), np.dtype(np.complex64)


class GpuArray:
    """An array on a GPU, in single precision. Transforms of it give arrays there, and nothing is copied in between.

    ``GpuArray(x, device)`` copies anything that NumPy understands, and what speaks DLPack, to ``gpu``, ``gpu:NAME`` or ``gpu:INDEX``;
    ``array.numpy()``, ``np.asarray(array)`` and DLPack copy it back.

    >>> import numpy as np, limpid
    >>> import limpid.wavelets as pywt
    >>> x = limpid.GpuArray(np.ones((32, 32)))                    # doctest: +SKIP
    >>> low, (cH, cV, cD) = pywt.dwt2(x, "db2")                   # doctest: +SKIP
    >>> low                                                       # doctest: +SKIP
    GpuArray(shape=(17, 17), dtype=float32, device='gpu')
    >>> low.numpy().shape                                         # doctest: +SKIP
    (17, 17)

    Float64 is rounded to float32, and complex128 to complex64. Arithmetic takes arrays of the same shape on the same device, and numbers as factors. What
    has no GPU code takes the array as NumPy does, with a copy, and runs on the CPU.
    """

    __slots__ = ("_device", "_dtype", "_numbers", "_place", "_shape")
    #: NumPy does not mix its arrays with these: one of them has to be moved first.
    __array_ufunc__ = None

    _numbers: _limpid.Numbers
    _place: _limpid.Place
    _shape: tuple[int, ...]
    _dtype: np.dtype[Any]
    _device: str

    def __init__(self, data: Any, device: str = "gpu") -> None:
        if isinstance(data, GpuArray) and device == data._device:
            array: Any = data
            self._numbers, self._place = data._numbers, data._place
        else:
            place = place_of(device)
            if place is None:
                raise DeviceError(f"device {device}: a GpuArray is kept on a GPU; limpid.devices() lists them")
            array = _numbers(data)
            parts = np.stack([array.real, array.imag]) if array.dtype.kind == "c" else array
            flat = np.ascontiguousarray(parts, np.float32).reshape(-1)
            if not flat.flags.aligned:
                flat = flat.copy()
            self._numbers, self._place = place.upload(flat), place
        self._shape, self._dtype, self._device = tuple(array.shape), _kind(array.dtype.kind == "c"), device

    def _like(self, numbers: _limpid.Numbers, shape: Sequence[int], complex_: bool = False) -> GpuArray:
        """Numbers that were made from this array."""
        made = object.__new__(GpuArray)
        made._numbers, made._place, made._device = numbers, self._place, self._device
        made._shape, made._dtype = tuple(shape), _kind(complex_)
        return made

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or complex64."""
        return self._dtype

    @property
    def device(self) -> str:
        """The device, as it was named."""
        return self._device

    @property
    def _on_gpu(self) -> str:
        return self._device

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self._shape)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self.size * self._dtype.itemsize

    def __repr__(self) -> str:
        return f"GpuArray(shape={self._shape}, dtype={self._dtype}, device={self._device!r})"

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of an array without axes")
        return self._shape[0]

    def numpy(self) -> NDArray[Any]:
        """A copy in NumPy's memory. Waits for the device."""
        flat = np.empty(len(self._numbers), np.float32)
        self._numbers.read_into(flat)
        if self._dtype == _FLOAT:
            return flat.reshape(self._shape)
        parts = flat.reshape((2, *self._shape))
        whole = np.empty(self._shape, np.complex64)
        whole.real, whole.imag = parts
        return whole

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array on a GPU cannot be seen without a copy")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack__(self, **how: Any) -> Any:
        return self.numpy().__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[int, int]:
        # Memory of Vulkan and Metal has no DLPack device that others can open: a copy on the CPU is given.
        return (1, 0)

    def __reduce__(self) -> Any:
        return GpuArray, (self.numpy(), self._device)

    @property
    def real(self) -> GpuArray:
        """Real parts."""
        return self._half(0) if self._dtype == _COMPLEX else self

    @property
    def imag(self) -> GpuArray:
        """Imaginary parts."""
        return self._half(1) if self._dtype == _COMPLEX else self * 0.0

    def _half(self, part: int) -> GpuArray:
        return combined([self], self._shape, [((0, part * self.size, 1.0), _NOTHING)])

    def __getitem__(self, key: Any) -> GpuArray:
        keys = key if isinstance(key, tuple) else (key,)
        if sum(k is Ellipsis for k in keys) > 1:
            raise IndexError("an index can have one ellipsis")
        if Ellipsis in keys:
            at = keys.index(Ellipsis)
            keys = (*keys[:at], *[slice(None)] * (self.ndim + 1 - len(keys)), *keys[at + 1 :])
        if len(keys) > self.ndim:
            raise IndexError(f"{len(keys)} indices for an array of {self.ndim} axes")
        made, dropped = self, []
        for axis, one in enumerate(keys):
            n = self._shape[axis]
            if isinstance(one, slice):
                start, stop, step = one.indices(n)
                if step != 1:
                    raise UnsupportedError("an array on a GPU is sliced with a step of 1; array.numpy() takes others")
                count = max(stop - start, 0)
            else:
                try:
                    start, count = operator.index(one), 1
                except TypeError:
                    raise UnsupportedError("an array on a GPU is indexed by whole numbers and slices; array.numpy() takes others") from None
                if not -n <= start < n:
                    raise IndexError(f"index {start} is out of range for axis {axis} of length {n}")
                start %= n
                dropped.append(axis)
            if (start, count) != (0, n):
                made = made._part(axis, start, count)
        if not dropped:
            return made
        shape = [side for axis, side in enumerate(made._shape) if axis not in dropped]
        return made._like(made._numbers, shape, made._dtype == _COMPLEX)

    def __iter__(self) -> Iterator[GpuArray]:
        return (self[i] for i in range(len(self)))

    def __add__(self, other: Any) -> GpuArray:
        return self._sum(other, 1.0, 1.0)

    def __sub__(self, other: Any) -> GpuArray:
        return self._sum(other, 1.0, -1.0)

    def __mul__(self, by: Any) -> GpuArray:
        return self._scaled(by, float)

    __rmul__ = __mul__

    def __truediv__(self, by: Any) -> GpuArray:
        return self._scaled(by, lambda by: 1 / float(by))

    def __neg__(self) -> GpuArray:
        return self * -1.0

    def _scaled(self, by: Any, factor: Any) -> GpuArray:
        if isinstance(by, (GpuArray, np.ndarray)) or not np.isscalar(by) or np.iscomplexobj(by):
            return NotImplemented
        return self._with(combined([self], self._planes, [((0, 0, factor(by)), _NOTHING)]))

    def _sum(self, other: Any, by: float, other_by: float) -> GpuArray:
        if not isinstance(other, GpuArray):
            return NotImplemented
        alike(self, other)
        if self._shape != other._shape or self._dtype != other._dtype:
            raise InputError(f"arrays of {self._shape} {self._dtype} and {other._shape} {other._dtype} cannot be added")
        return self._with(combined([self, other], self._planes, [((0, 0, by), (1, 0, other_by))]))

    @property
    def _planes(self) -> tuple[int, ...]:
        """The shape of the numbers: real parts, then imaginary ones."""
        return self._shape if self._dtype == _FLOAT else (2, *self._shape)

    def _with(self, made: GpuArray) -> GpuArray:
        """The array with other numbers."""
        return self._like(made._numbers, self._shape, self._dtype == _COMPLEX)

    def _back(self, numbers: _limpid.Numbers, lengths: dict[int, int]) -> GpuArray:
        """The array with other lengths of some axes."""
        shape = [lengths.get(axis, side) for axis, side in enumerate(self._shape)]
        return self._like(numbers, shape, self._dtype == _COMPLEX)

    def _axis(self, axis: int) -> int:
        """The place of an axis among those of the numbers."""
        return axis + len(self._planes) - len(self._shape)

    def _part(self, axis: int, start: int, count: int) -> GpuArray:
        """Samples along an axis, mirrored beyond its ends."""
        made = self._place.part(self._numbers, list(self._planes), self._axis(axis), (start, count))
        return self._back(made, {axis: count})

    def smoothed(self, axis: int, taps: Sequence[float], step: int) -> GpuArray:
        """Smoothed along an axis, with gaps between the taps."""
        return self._back(self._place.smooth(self._numbers, list(self._planes), self._axis(axis), (list(taps), step)), {})

    def split(self, axes: Sequence[int], banks: Sequence[_limpid.Bank], lengths: Sequence[int], step: int = 0) -> list[GpuArray]:
        """All bands along some axes."""
        along = [(self._axis(axis), bank) for axis, bank in zip(axes, banks)]
        made = self._place.split(self._numbers, list(self._planes), along, step)
        return [self._back(numbers, dict(zip(axes, lengths))) for numbers in made]

    def shrunk(self, rule: str, **how: float) -> GpuArray:
        """With its values shrunk by a threshold."""
        return self._with(self._like(self._place.shrink(self._numbers, rule, self._dtype == _COMPLEX, **how), self._shape))


#: A part that adds nothing.
_NOTHING = (0, 0, 0.0)

#: Which input, its first number, its weight.
Term = tuple[int, int, float]


def _kind(complex_: bool) -> np.dtype[Any]:
    return _COMPLEX if complex_ else _FLOAT


def _numbers(data: Any) -> NDArray[Any]:
    """An array of numbers in NumPy's memory."""
    if hasattr(data, "__dlpack_device__") and not isinstance(data, (np.ndarray, GpuArray)) and data.__dlpack_device__()[0] != 1:
        raise DeviceError("an array on another library's device: move it to the CPU first, such as by tensor.cpu()")
    array = whole_array(data, "data")
    if array.dtype.kind not in "fciub":
        raise TypeError(f"an array of {array.dtype} cannot be transformed; numbers can")
    return array


def place_of(device: Any) -> _limpid.Place | None:
    """Where arrays of a device are kept: none for the CPU."""
    if not isinstance(device, str):
        raise InputError(f"device {device!r}: expected a name, such as 'gpu'")
    return open_device(device).place


def alike(*arrays: Any) -> bool:
    """Whether arrays are on a GPU: all of them, and on one, or none."""
    given = [a for a in arrays if a is not None]
    here = [a for a in given if isinstance(a, GpuArray)]
    if not here:
        return False
    if len(here) != len(given):
        raise DeviceError(
            f"one array is on {here[0].device}, another in NumPy's memory: move one of them, by limpid.GpuArray(x, {here[0].device!r}) or array.numpy()"
        )
    other = next((a for a in here if a._place is not here[0]._place), None)
    if other is not None:
        raise DeviceError(f"one array is on {here[0].device}, another on {other.device}: open the device by one name")
    return True


def placed(data: Any, device: str | None, floats: bool = False) -> Any:
    """Data on the device that is asked for."""
    if isinstance(data, GpuArray):
        if device is not None and place_of(device) is not data._place:
            raise DeviceError(f"the array is on {data.device}, not on {device}; GpuArray(array.numpy(), {device!r}) moves it")
        return data
    if device is None or place_of(device) is None:
        return data
    if floats and whole_array(data, "image").dtype.kind != "f":
        raise InputError("on a GPU images are floats: divide whole numbers by their white, and sigma too")
    return GpuArray(data, device)


def join(
    bands: Sequence[GpuArray | None], axes: Sequence[int], banks: Sequence[_limpid.Bank], lengths: Sequence[int], step: int = 0
) -> GpuArray:
    """The inverse of `GpuArray.split`; a band that is None is zero."""
    given = [b for b in bands if b is not None]
    alike(*given)
    first = given[0]
    if any(b._shape != first._shape or b._dtype != first._dtype for b in given):
        raise ValueError("All coefficient arrays must have the same shape and type, not " + ", ".join(map(repr, given)))
    along = [(first._axis(axis), bank) for axis, bank in zip(axes, banks)]
    numbers = [None if b is None else b._numbers for b in bands]
    made = first._place.join(numbers, list(first._planes), along, step)
    return first._back(made, dict(zip(axes, lengths)))


def combined(arrays: Sequence[GpuArray], shape: Sequence[int], pieces: Sequence[tuple[Term, Term]], complex_: bool = False) -> GpuArray:
    """Pieces one after the other, each the weighted sum of two parts of arrays."""
    alike(*arrays)
    count = math.prod(shape) * (2 if complex_ else 1) // max(len(pieces), 1)
    first = arrays[0]
    made = first._place.combine([a._numbers for a in arrays], count, list(pieces))
    return first._like(made, shape, complex_)


def stack(arrays: Sequence[GpuArray]) -> GpuArray:
    """Arrays of one shape along a new first axis."""
    first = arrays[0]
    size, complex_ = first.size, first.dtype.kind == "c"
    parts = (0, size) if complex_ else (0,)
    pieces = [((i, at, 1.0), _NOTHING) for at in parts for i in range(len(arrays))]
    return combined(arrays, (len(arrays), *first.shape), pieces, complex_)
