"""Wavelets as functions: their shape, integral and frequency; filters from filters."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._continuous import any_wavelet
from ._single import upcoef
from ._wavelet import Wavelet

Array = NDArray[Any]


def wavefun(wavelet: Wavelet, level: int) -> list[Array]:
    """What `Wavelet.wavefun` gives: one coefficient, refined `level` times."""
    if level < 1:
        raise ValueError("Value of level must be greater than 0.")
    unit = 2**level
    taps = wavelet.dec_len
    filled = (unit - 1) * (taps - 1) + 1

    def refined(part: str, wavelet: Wavelet, total: int) -> Array:
        out = np.zeros(total)
        out[1 : 1 + filled] = upcoef(part, [math.sqrt(unit)], wavelet, level)
        return out

    if wavelet.orthogonal:
        total = max((taps - 1) * unit + 1, filled + 2)
        x = np.linspace(0, (total - 1) / unit, total)
        return [refined("a", wavelet, total), refined("d", wavelet, total), x]
    total = max((taps - 1) * unit, filled + 2)
    x = np.linspace(0, (total - 1) / unit, total)
    turned = Wavelet(wavelet.name, wavelet.inverse_filter_bank)
    # The sign by which splines are drawn.
    upright = wavelet.short_family_name == "" or wavelet.number in (11, 13, 15, 55)
    sign = 1.0 if upright else -1.0
    return [
        refined("a", turned, total),
        sign * refined("d", turned, total),
        refined("a", wavelet, total),
        sign * refined("d", wavelet, total),
        x,
    ]


def integrate_wavelet(wavelet: Any, precision: int = 8) -> tuple[Array, ...]:
    """The integral of a wavelet from its beginning on, at ``2**precision`` positions to a unit, and the positions.

    Of a biorthogonal wavelet the integrals of both: of analysis, then of synthesis.

    >>> integral, x = integrate_wavelet("db2", precision=5)
    >>> bool(abs(integral[-1]) < 1e-9)
    True
    """
    if isinstance(wavelet, tuple):
        warnings.warn("Integration of a general signal is deprecated and will be removed in a future version.", DeprecationWarning, stacklevel=2)
        values, x = np.asarray(wavelet[0]), np.asarray(wavelet[1])
        return np.cumsum(values) * (x[1] - x[0]), x
    made = any_wavelet(wavelet).wavefun(level=precision)
    x = made[-1]
    step = x[1] - x[0]
    functions = made[:1] if len(made) == 2 else made[1:-1:2]
    return (*(np.cumsum(f) * step for f in functions), x)


def central_frequency(wavelet: Any, precision: int = 8) -> float:
    """The frequency that a wavelet has most of, in periods to a unit.

    >>> round(central_frequency("db2"), 4)
    0.6667
    """
    made = any_wavelet(wavelet).wavefun(precision)
    psi, x = made[0] if len(made) == 2 else made[1], made[-1]
    periods = int(np.argmax(np.abs(np.fft.fft(psi)[1:]))) + 1
    return float(min(periods, len(psi) - periods) / (x[-1] - x[0]))


def scale2frequency(wavelet: Any, scale: Any, precision: int = 8) -> Any:
    """The central frequency at a scale, in periods to a sample.

    >>> bool(np.allclose(scale2frequency("morl", [1, 2, 4]), [0.8125, 0.40625, 0.203125], rtol=1e-3))
    True
    """
    return central_frequency(wavelet, precision) / np.asarray(scale)[()]


def frequency2scale(wavelet: Any, freq: Any, precision: int = 8) -> Any:
    """The scale at which a wavelet has this central frequency."""
    return central_frequency(wavelet, precision) / np.asarray(freq)[()]


def qmf(filt: Any) -> Array:
    """The quadrature mirror of a filter: reversed, every other sign turned.

    >>> qmf([1, 2, 3, 4])
    array([ 4, -3,  2, -1])
    """
    out = np.array(filt)[::-1].copy()
    out[1::2] = -out[1::2]
    return out


def orthogonal_filter_bank(scaling_filter: Any) -> tuple[Array, Array, Array, Array]:
    """The four filters of an orthogonal wavelet, from its scaling filter of even length.

    >>> dec_lo, dec_hi, rec_lo, rec_hi = orthogonal_filter_bank([1, 1])
    >>> rec_lo.round(4), dec_hi.round(4)
    (array([0.7071, 0.7071]), array([-0.7071,  0.7071]))
    """
    scaling = np.asarray(scaling_filter, dtype=np.float64)
    if scaling.ndim != 1 or len(scaling) % 2:
        raise ValueError("`scaling_filter` length has to be even.")
    low = math.sqrt(2) * scaling / scaling.sum()
    high = qmf(low)
    return low[::-1], high[::-1], low, high


def _older(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def older(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"{name} is now called {function.__name__}", DeprecationWarning, stacklevel=2)
        return function(*args, **kwargs)

    older.__name__ = older.__qualname__ = name
    older.__doc__ = f"The older name of :func:`{function.__name__}`."
    return older


intwave = _older("intwave", integrate_wavelet)
centrfrq = _older("centrfrq", central_frequency)
scal2frq = _older("scal2frq", scale2frequency)
orthfilt = _older("orthfilt", orthogonal_filter_bank)
