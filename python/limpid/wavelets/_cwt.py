"""The continuous transform."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _limpid
from ._continuous import any_wavelet
from ._functions import integrate_wavelet, scale2frequency
from ._single import Array, as_numbers, normal_axes


def _taps(integral: Array, x: Array, scale: float) -> tuple[Array, Array | None, int]:
    """A scaled wavelet as a filter: differences of its integral, reversed; and where the filter's first tap reads."""
    step = x[1] - x[0]
    at = (np.arange(scale * (x[-1] - x[0]) + 1) / (scale * step)).astype(np.intp)
    whole = integral[at[at < len(integral)]][::-1]
    if len(whole) < 2:
        raise ValueError(f"Selected scale of {scale} too small.")
    taps = np.empty(len(whole) + 1, np.complex128 if whole.dtype.kind == "c" else np.float64)
    taps[0], taps[-1] = whole[0], -whole[-1]
    np.subtract(whole[1:], whole[:-1], out=taps[1:-1])
    taps *= -math.sqrt(scale)
    imaginary = np.ascontiguousarray(taps.imag) if taps.dtype.kind == "c" else None
    return np.ascontiguousarray(taps.real), imaginary, (len(whole) - 2) // 2 + 1


def cwt(
    data: Any,
    scales: Any,
    wavelet: Any,
    sampling_period: float = 1.0,
    method: str = "conv",
    axis: int = -1,
    *,
    precision: int = 12,
) -> tuple[Array, Array]:
    """The continuous transform along one axis: coefficients, whose first axis is that of the scales, and the scales' frequencies.

    ``method`` is ``conv`` (sums), ``fft`` (products of Fourier transforms, for long filters) or ``auto``, which takes what is
    quicker. ``precision`` is the logarithm of the number of samples of the wavelet.

    >>> import numpy as np
    >>> y = np.sin(np.arange(512) / 4)
    >>> coefficients, frequencies = cwt(y, [2, 4, 8, 16, 32], "morl")
    >>> coefficients.shape
    (5, 512)
    >>> round(float(frequencies[np.abs(coefficients).sum(axis=1).argmax()]), 3)
    0.051
    """
    x = as_numbers(data)
    if x.ndim < 1:
        raise ValueError("data must have at least one axis")
    if method not in ("conv", "fft", "auto"):
        raise ValueError(f"method must be conv, fft or auto, not {method}")
    # A line has one axis, whatever is said.
    (axis,) = normal_axes(axis, x.ndim) if x.ndim > 1 else (0,)
    wavelet = any_wavelet(wavelet)
    lengths = np.atleast_1d(np.asarray(scales))
    if lengths.size == 0 or np.any(lengths <= 0):
        raise ValueError("`scales` must only include positive values")
    integral, *_, positions = integrate_wavelet(wavelet, precision)
    single = x.real.dtype
    positions = positions.astype(single)
    complex_wavelet = integral.dtype.kind == "c"
    integral = np.conj(integral).astype(np.result_type(single, np.complex64) if complex_wavelet else single)
    filters = [_taps(integral, positions, scale) for scale in lengths]
    lines = np.moveaxis(x, axis, -1)
    if method == "auto":
        # A tap of a sum against the two transforms of the padded line, per sample.
        longest = max(len(f[0]) for f in filters)
        mean = sum(len(f[0]) for f in filters) / len(filters)
        size = lines.shape[-1] + longest
        method = "fft" if mean * lines.shape[-1] > 20 * size * math.log2(size) else "conv"

    def real(lines: Array) -> Array:
        made = _limpid.filter_lines(lines, filters, method == "fft")
        if complex_wavelet:
            made = made.view(np.result_type(single, np.complex64))[..., 0]
        return np.moveaxis(made, -1, axis + 1)

    out = real(lines.real) + 1j * real(lines.imag) if x.dtype.kind == "c" else real(lines)
    frequencies = np.atleast_1d(scale2frequency(wavelet, lengths, precision)) / sampling_period
    return out, frequencies
