"""Wavelet transforms of PyTorch's tensors that can be differentiated, as often as one likes.

Names, modes and coefficient layout are those of :mod:`limpid.wavelets`; coefficients are tensors. Tensors on the CPU are
transformed in their own memory on all cores, without copies. On other devices (CUDA, MPS) the same transforms are done by
PyTorch's own convolutions there: nothing is copied to the CPU, and nothing of Limpid's speed is to be expected.

>>> import torch
>>> import limpid.torch as ptw
>>> image = torch.rand(1, 3, 64, 64, dtype=torch.float64, requires_grad=True)
>>> coeffs = ptw.wavedec2(image, "db2", level=2)
>>> loss = sum(band.abs().sum() for level in coeffs[1:] for band in level)
>>> loss.backward()
>>> image.grad.shape
torch.Size([1, 3, 64, 64])
>>> bool(torch.allclose(ptw.waverec2(coeffs, "db2"), image))
True
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from . import _limpid
from .wavelets import dwt_coeff_len, pad
from .wavelets._multilevel import levels as _levels
from .wavelets._single import normal_axes
from .wavelets._swt import swt_max_level
from .wavelets._wavelet import mode_name, modes_per_axis, per_axis

__all__ = [
    "dwt",
    "dwt2",
    "idwt",
    "idwt2",
    "iswt",
    "iswt2",
    "packets",
    "packets2",
    "swt",
    "swt2",
    "unpackets",
    "unpackets2",
    "wavedec",
    "wavedec2",
    "waverec",
    "waverec2",
]

Filter = tuple[float, ...]


@functools.lru_cache(maxsize=1024)
def _bank(low: Filter, high: Filter, mode: str) -> _limpid.Bank:
    return _limpid.Bank(list(low), list(high), mode)


class _Pair:
    """Two filters and a border along one axis."""

    def __init__(self, low: Filter, high: Filter, mode: str) -> None:
        self.low, self.high, self.mode = low, high, mode

    @property
    def bank(self) -> _limpid.Bank:
        return _bank(self.low, self.high, self.mode)

    def turned(self, mode: str | None = None, factor: float = 1.0) -> _Pair:
        """Reversed in time."""
        low, high = (tuple(factor * v for v in f[::-1]) for f in (self.low, self.high))
        return _Pair(low, high, mode or self.mode)


@functools.lru_cache(maxsize=1024)
def _pair(wavelet: Any, mode: str, back: bool) -> _Pair:
    bank = wavelet.filter_bank
    low, high = (bank[2], bank[3]) if back else (bank[0], bank[1])
    return _Pair(tuple(low), tuple(high), mode)


Arrays = list[Any]


class _Operator:
    """A linear function of arrays, with its adjoint."""

    def __init__(self, run: Callable[[Arrays], Sequence[Any]], adjoint: Callable[[], _Operator]) -> None:
        self.run, self.adjoint = run, adjoint


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, operator: _Operator, *tensors: Tensor | None) -> Any:
        ctx.operator, ctx.inputs = operator, len(tensors)
        ctx.set_materialize_grads(False)
        made = operator.run([None if t is None else t.detach().numpy() for t in tensors])
        return tuple(torch.from_numpy(array) for array in made)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        if all(g is None for g in gradients):
            return (None, *(None for _ in range(ctx.inputs)))
        return (None, *_Linear.apply(ctx.operator.adjoint(), *gradients))  # type: ignore[no-untyped-call]


@torch.compiler.disable
def _apply(operator: _Operator, *tensors: Tensor | None) -> tuple[Tensor, ...]:
    return _Linear.apply(operator, *tensors)  # type: ignore[no-any-return,no-untyped-call]


def _split(axes: tuple[int, ...], pairs: tuple[_Pair, ...], sizes: tuple[int, ...]) -> _Operator:
    """Bands of arrays of these sizes along the last axes, or along the only one."""

    def run(arrays: Arrays) -> Sequence[Any]:
        (x,) = arrays
        if len(axes) == 2:
            return _limpid.dwt2(x, pairs[0].bank, pairs[1].bank)
        return _limpid.dwt(x, axes[0], pairs[0].bank)

    return _Operator(run, lambda: _unsplit(axes, pairs, sizes))


def _unsplit(axes: tuple[int, ...], pairs: tuple[_Pair, ...], sizes: tuple[int, ...]) -> _Operator:
    """The adjoint of `_split`: samples at the border collect what their copies beyond it weigh."""

    def run(arrays: Arrays) -> Sequence[Any]:
        if len(axes) == 1:
            return (_limpid.dwt_adjoint(arrays, axes[0], pairs[0].bank, sizes[0]),)
        plain = all(p.mode == "zero" or (p.mode == "periodization" and n % 2 == 0) for p, n in zip(pairs, sizes))
        if plain:
            made = _limpid.idwt2(arrays, pairs[0].turned().bank, pairs[1].turned().bank)
            return (made[..., : sizes[0], : sizes[1]],)
        aa, da, ad, dd = arrays

        def across(low: Any, high: Any) -> Any:
            if low is None and high is None:
                return None
            given = low if low is not None else high
            return _limpid.dwt_adjoint([low, high], given.ndim - 1, pairs[1].bank, sizes[1])

        halves = [across(aa, ad), across(da, dd)]
        ndim = next(h for h in halves if h is not None).ndim
        return (_limpid.dwt_adjoint(halves, ndim - 2, pairs[0].bank, sizes[0]),)

    return _Operator(run, lambda: _split(axes, pairs, sizes))


def _join(axes: tuple[int, ...], pairs: tuple[_Pair, ...]) -> _Operator:
    """Samples of bands."""

    def run(arrays: Arrays) -> Sequence[Any]:
        if len(axes) == 2:
            return (_limpid.idwt2(arrays, pairs[0].bank, pairs[1].bank),)
        return (_limpid.idwt(arrays, axes[0], pairs[0].bank),)

    def adjoint() -> _Operator:
        turned = tuple(p.turned("periodization" if p.mode == "periodization" else "zero") for p in pairs)

        def run(arrays: Arrays) -> Sequence[Any]:
            return _split(axes, turned, ()).run(arrays)

        return _Operator(run, lambda: _join(axes, pairs))

    return _Operator(run, adjoint)


def _spread(axis: int, pair: _Pair, step: int) -> _Operator:
    """Undecimated bands; their adjoint is the mean of shifts with turned filters, twice."""

    def adjoint() -> _Operator:
        return _gather(axis, pair.turned(factor=2.0), step)

    return _Operator(lambda arrays: _limpid.swt(arrays[0], axis, pair.bank, step), adjoint)


def _gather(axis: int, pair: _Pair, step: int) -> _Operator:
    def run(arrays: Arrays) -> Sequence[Any]:
        given = next(a for a in arrays if a is not None)
        filled = [np.zeros_like(given) if a is None else a for a in arrays]
        return (_limpid.iswt(filled, axis, pair.bank, step),)

    return _Operator(run, lambda: _spread(axis, pair.turned(factor=0.5), step))


def _weights(x: Tensor, *filters: Filter) -> Tensor:
    return torch.tensor(filters, dtype=x.dtype, device=x.device)


@functools.lru_cache(maxsize=64)
def _beyond(n: int, before: int, after: int, mode: str) -> tuple[Any, Any]:
    """What stands before and after a line, as matrices."""
    whole = pad(np.eye(n), ((before, after), (0, 0)), mode)[:, :n]
    return whole[:before], whole[before + n :]


def _split_elsewhere(x: Tensor, axis: int, pair: _Pair) -> tuple[Tensor, Tensor]:
    """`_split` along one axis by PyTorch's own functions."""
    lines = x.movedim(axis, -1)
    n, taps = lines.shape[-1], len(pair.low)
    count = dwt_coeff_len(n, taps, pair.mode)
    around = (taps // 2 - 1,) * 2 if pair.mode == "periodization" else (taps - 2, 2 * count - n)
    edges = [torch.from_numpy(np.ascontiguousarray(e)).to(x) for e in _beyond(n, *around, pair.mode)]
    extended = torch.cat([lines @ edges[0].T, lines, lines @ edges[1].T], dim=-1)
    weights = _weights(x, pair.low[::-1], pair.high[::-1]).unsqueeze(1)
    made = functional.conv1d(extended.reshape(-1, 1, extended.shape[-1]), weights, stride=2)
    low, high = (band.reshape(*lines.shape[:-1], count).movedim(-1, axis) for band in made.unbind(1))
    return low, high


def _join_elsewhere(low: Tensor, high: Tensor, axis: int, pair: _Pair) -> Tensor:
    """`_join` along one axis by PyTorch's own functions."""
    bands = torch.stack([low.movedim(axis, -1), high.movedim(axis, -1)], dim=-2)
    count, taps = bands.shape[-1], len(pair.low)
    shape = bands.shape[:-2]
    flat = bands.reshape(-1, 2, count)
    weights = _weights(low, pair.low, pair.high).unsqueeze(1)
    first, length = taps - 2, 2 * count - taps + 2
    if pair.mode == "periodization":
        beyond = taps // 2
        at = torch.arange(-beyond, count + beyond, device=low.device) % count
        flat = flat[..., at]
        first, length = 2 * beyond + taps // 2 - 1, 2 * count
    made = functional.conv_transpose1d(flat, weights, stride=2)[:, 0, first : first + length]
    return made.reshape(*shape, length).movedim(-1, axis)


def _split_any(x: Tensor, axes: tuple[int, ...], pairs: tuple[_Pair, ...], here: bool) -> tuple[Tensor, ...]:
    """Bands in the order low, high; or aa, da, ad, dd."""
    for axis, pair in zip(axes, pairs):
        if x.shape[axis] == 1 and pair.mode in ("reflect", "antireflect"):
            raise ValueError(f"mode {pair.mode} needs more than one sample along an axis")
        if x.shape[axis] < 1:
            raise ValueError("an axis of size zero cannot be transformed")
    if here:
        return _apply(_split(axes, pairs, tuple(x.shape[a] for a in axes)), x)
    if len(axes) == 1:
        return _split_elsewhere(x, axes[0], pairs[0])
    low, high = _split_elsewhere(x, axes[1], pairs[1])
    aa, da = _split_elsewhere(low, axes[0], pairs[0])
    ad, dd = _split_elsewhere(high, axes[0], pairs[0])
    return aa, da, ad, dd


def _join_any(bands: Sequence[Tensor], axes: tuple[int, ...], pairs: tuple[_Pair, ...], here: bool) -> Tensor:
    if here:
        return _apply(_join(axes, pairs), *bands)[0]
    if len(axes) == 1:
        return _join_elsewhere(bands[0], bands[1], axes[0], pairs[0])
    aa, da, ad, dd = bands
    low = _join_elsewhere(aa, da, axes[0], pairs[0])
    high = _join_elsewhere(ad, dd, axes[0], pairs[0])
    return _join_elsewhere(low, high, axes[1], pairs[1])


def _spread_any(x: Tensor, axis: int, pair: _Pair, step: int, here: bool) -> tuple[Tensor, ...]:
    if here:
        return _apply(_spread(axis, pair, step), x)
    half = len(pair.low) // 2

    def band(taps: Filter) -> Tensor:
        return sum(t * torch.roll(x, -step * (half - j), axis) for j, t in enumerate(taps))  # type: ignore[return-value]

    return band(pair.low), band(pair.high)


def _gather_any(low: Tensor, high: Tensor, axis: int, pair: _Pair, step: int, here: bool) -> Tensor:
    if here:
        return _apply(_gather(axis, pair, step), low, high)[0]
    half = len(pair.low) // 2
    both = ((low, pair.low), (high, pair.high))
    return sum(0.5 * t * torch.roll(band, step * (j - half + 1), axis) for band, taps in both for j, t in enumerate(taps))  # type: ignore[return-value]


def _here(*tensors: Tensor) -> bool:
    """Whether tensors are on the CPU; they must be real floats of 32 or 64 bits."""
    for x in tensors:
        if not isinstance(x, Tensor):
            raise TypeError(f"a tensor is needed, not {type(x).__name__}")
        if x.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"a tensor of {x.dtype} cannot be transformed; float32 and float64 can")
    return all(x.device.type == "cpu" for x in tensors)


class _Setting:
    """Axes and filters of a call, with the axes of a picture moved to the end."""

    def __init__(self, ndim: int, axes: Any, wavelet: Any, mode: Any, back: bool, here: bool) -> None:
        self.given = normal_axes(axes, ndim, unique=True)
        wavelets, modes = per_axis(wavelet, self.given), modes_per_axis(mode, self.given)
        self.taps = [w.dec_len for w in wavelets]
        self.pairs = tuple(_pair(w, m, back) for w, m in zip(wavelets, modes))
        self.here = here
        self.axes = self.given if len(self.given) == 1 else (ndim - 2, ndim - 1)

    def moved(self, x: Tensor) -> Tensor:
        return x if self.axes == self.given else x.movedim(self.given, self.axes)

    def unmoved(self, x: Tensor) -> Tensor:
        return x if self.axes == self.given else x.movedim(self.axes, self.given)

    def split(self, x: Tensor) -> tuple[Tensor, ...]:
        bands = _split_any(self.moved(x), self.axes, self.pairs, self.here)
        return tuple(self.unmoved(band) for band in bands)

    def join(self, bands: Sequence[Tensor]) -> Tensor:
        return self.unmoved(_join_any([self.moved(b) for b in bands], self.axes, self.pairs, self.here))


def _two(axes: Any) -> tuple[int, int]:
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("Expected 2 axes")
    return axes


def _cropped(x: Tensor, like: Tensor) -> Tensor:
    """Without the sample that odd sizes have too much."""
    for axis, (have, want) in enumerate(zip(x.shape, like.shape)):
        if have == want + 1:
            x = x.narrow(axis, 0, want)
        elif have != want:
            raise ValueError(f"incompatible coefficients: {tuple(x.shape)} and {tuple(like.shape)}")
    return x


def dwt(data: Tensor, wavelet: Any, mode: Any = "symmetric", axis: int = -1) -> tuple[Tensor, Tensor]:
    """One level along one axis: ``(cA, cD)``."""
    low, high = _Setting(data.ndim, axis, wavelet, mode, False, _here(data)).split(data)
    return low, high


def idwt(cA: Tensor, cD: Tensor, wavelet: Any, mode: Any = "symmetric", axis: int = -1) -> Tensor:
    """The inverse of :func:`dwt`."""
    return _Setting(cA.ndim, axis, wavelet, mode, True, _here(cA, cD)).join([cA, cD])


def dwt2(data: Tensor, wavelet: Any, mode: Any = "symmetric", axes: Any = (-2, -1)) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    """One level of a picture: ``(cA, (cH, cV, cD))``."""
    low, *details = _Setting(data.ndim, _two(axes), wavelet, mode, False, _here(data)).split(data)
    return low, (details[0], details[1], details[2])


def idwt2(coeffs: Any, wavelet: Any, mode: Any = "symmetric", axes: Any = (-2, -1)) -> Tensor:
    """The inverse of :func:`dwt2`."""
    low, details = coeffs
    return _Setting(low.ndim, _two(axes), wavelet, mode, True, _here(low, *details)).join([low, *details])


def _deep(data: Tensor, wavelet: Any, mode: Any, level: int | None, axes: Any) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
    setting = _Setting(data.ndim, axes, wavelet, mode, False, _here(data))
    details = []
    for _ in range(_levels([data.shape[a] for a in setting.given], setting.taps, level)):
        data, *bands = setting.split(data)
        details.append(tuple(bands))
    return data, details[::-1]


def _back(low: Tensor, details: Sequence[Sequence[Tensor]], wavelet: Any, mode: Any, axes: Any) -> Tensor:
    setting = _Setting(low.ndim, axes, wavelet, mode, True, _here(low, *(b for bands in details for b in bands)))
    for bands in details:
        low = setting.join([_cropped(low, bands[0]), *bands])
    return low


def wavedec(data: Tensor, wavelet: Any, mode: Any = "symmetric", level: int | None = None, axis: int = -1) -> list[Tensor]:
    """Many levels along one axis: ``[cAn, cDn, …, cD1]``."""
    low, details = _deep(data, wavelet, mode, level, axis)
    return [low, *(bands[0] for bands in details)]


def waverec(coeffs: Sequence[Tensor], wavelet: Any, mode: Any = "symmetric", axis: int = -1) -> Tensor:
    """The inverse of :func:`wavedec`."""
    return _back(coeffs[0], [(c,) for c in coeffs[1:]], wavelet, mode, axis)


def wavedec2(data: Tensor, wavelet: Any, mode: Any = "symmetric", level: int | None = None, axes: Any = (-2, -1)) -> list[Any]:
    """Many levels of pictures: ``[cAn, (cHn, cVn, cDn), …, (cH1, cV1, cD1)]``."""
    low, details = _deep(data, wavelet, mode, level, _two(axes))
    return [low, *details]


def waverec2(coeffs: Sequence[Any], wavelet: Any, mode: Any = "symmetric", axes: Any = (-2, -1)) -> Tensor:
    """The inverse of :func:`wavedec2`."""
    return _back(coeffs[0], list(coeffs[1:]), wavelet, mode, _two(axes))


def _undecimated(data: Tensor, wavelet: Any, level: int | None, axes: Any) -> list[tuple[Tensor, ...]]:
    """All bands of each level, the coarsest first."""
    setting = _Setting(data.ndim, axes, wavelet, "periodic", False, _here(data))
    most = min(swt_max_level(data.shape[a]) for a in setting.given)
    level = most if level is None else level
    if not 0 <= level <= most:
        raise ValueError(f"Level value too high (max level for current data size is {most}); lengths must be multiples of 2**level")
    made = []
    for i in range(level):
        bands: tuple[Tensor, ...] = (data,)
        for axis, pair in reversed(list(zip(setting.given, setting.pairs))):
            # The first axis is done last, so that the bands come in the order aa, da, ad, dd.
            bands = tuple(b for band in bands for b in _spread_any(band, axis, pair, 1 << i, setting.here))
        made.append(bands)
        data = bands[0]
    return made[::-1]


def _decimated(low: Tensor, details: Sequence[Sequence[Tensor]], wavelet: Any, axes: Any) -> Tensor:
    setting = _Setting(low.ndim, axes, wavelet, "periodic", True, _here(low, *(b for bands in details for b in bands)))
    for i, level in zip(reversed(range(len(details))), details):
        bands = [low, *level]
        for axis, pair in zip(setting.given, setting.pairs):
            bands = [_gather_any(a, b, axis, pair, 1 << i, setting.here) for a, b in zip(bands[::2], bands[1::2])]
        (low,) = bands
    return low


def swt(data: Tensor, wavelet: Any, level: int | None = None, axis: int = -1) -> list[tuple[Tensor, Tensor]]:
    """Undecimated, along one axis: ``[(cAn, cDn), …, (cA1, cD1)]``."""
    return [(bands[0], bands[1]) for bands in _undecimated(data, wavelet, level, axis)]


def iswt(coeffs: Sequence[Any], wavelet: Any, axis: int = -1) -> Tensor:
    """The inverse of :func:`swt`."""
    return _decimated(coeffs[0][0], [(high,) for _, high in coeffs], wavelet, axis)


def swt2(data: Tensor, wavelet: Any, level: int | None = None, axes: Any = (-2, -1)) -> list[Any]:
    """Undecimated, of pictures: ``[(cAn, (cHn, cVn, cDn)), …]``."""
    return [(bands[0], bands[1:]) for bands in _undecimated(data, wavelet, level, _two(axes))]


def iswt2(coeffs: Sequence[Any], wavelet: Any, axes: Any = (-2, -1)) -> Tensor:
    """The inverse of :func:`swt2`."""
    return _decimated(coeffs[0][0], [details for _, details in coeffs], wavelet, _two(axes))


def _packets(data: Tensor, wavelet: Any, mode: Any, level: int | None, axes: tuple[int, ...], letters: str) -> dict[str, Tensor]:
    setting = _Setting(data.ndim + 1, tuple(a + 1 for a in normal_axes(axes, data.ndim, unique=True)), wavelet, mode, False, _here(data))
    stack = data.unsqueeze(0)
    count = _levels([stack.shape[a] for a in setting.given], setting.taps, level)
    for _ in range(count):
        stack = torch.stack(setting.split(stack), dim=1).flatten(0, 1)
    paths = ["".join(path) for path in product(letters, repeat=count)]
    return dict(zip(paths, stack.unbind(0)))


def _unpackets(bands: dict[str, Tensor], shape: Any, wavelet: Any, mode: Any, axes: tuple[int, ...], letters: str) -> Tensor:
    first = next(iter(bands))
    paths = ["".join(path) for path in product(letters, repeat=len(first))]
    if sorted(paths) != sorted(bands):
        raise ValueError(f"all {len(paths)} nodes of a level are needed, from {paths[0]} to {paths[-1]}")
    stack = torch.stack([bands[path] for path in paths])
    given = tuple(a + 1 for a in normal_axes(axes, stack.ndim - 1, unique=True))
    setting = _Setting(stack.ndim, given, wavelet, mode, True, _here(stack))
    sizes = [tuple(shape)[a - 1] for a in given]
    history = [sizes]
    for _ in range(len(first) - 1):
        history.append([dwt_coeff_len(n, t, mode_name(p.mode)) for n, t, p in zip(history[-1], setting.taps, setting.pairs)])
    for sizes in reversed(history):
        parts = stack.reshape(-1, len(letters), *stack.shape[1:])
        stack = setting.join(parts.unbind(1))
        for axis, size in zip(given, sizes):
            stack = stack.narrow(axis, 0, size)
    return stack[0]


def packets(data: Tensor, wavelet: Any, mode: Any = "symmetric", level: int | None = None, axis: int = -1) -> dict[str, Tensor]:
    """All nodes of a level of the packet tree along one axis, by their paths of ``a`` and ``d``."""
    return _packets(data, wavelet, mode, level, (axis,), "ad")


def unpackets(nodes: dict[str, Tensor], shape: Any, wavelet: Any, mode: Any = "symmetric", axis: int = -1) -> Tensor:
    """The inverse of :func:`packets`, for data of this shape."""
    return _unpackets(nodes, shape, wavelet, mode, (axis,), "ad")


def packets2(data: Tensor, wavelet: Any, mode: Any = "symmetric", level: int | None = None, axes: Any = (-2, -1)) -> dict[str, Tensor]:
    """All nodes of a level of the packet tree of pictures, by their paths of ``a``, ``h``, ``v`` and ``d``."""
    return _packets(data, wavelet, mode, level, _two(axes), "ahvd")


def unpackets2(nodes: dict[str, Tensor], shape: Any, wavelet: Any, mode: Any = "symmetric", axes: Any = (-2, -1)) -> Tensor:
    """The inverse of :func:`packets2`, for data of this shape."""
    return _unpackets(nodes, shape, wavelet, mode, _two(axes), "ahvd")
