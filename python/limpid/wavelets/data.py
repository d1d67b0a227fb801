"""Signals to try things on: WaveLab's by formulas, and PyWavelets' pictures and recordings where it is installed."""

from __future__ import annotations

import importlib.machinery
import math
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["aero", "ascent", "camera", "demo_signal", "ecg", "nino"]

Array = NDArray[Any]

#: Donoho and Johnstone's places of jumps and peaks, with the heights of jumps, and the heights and widths of peaks.
_PLACES = (0.1, 0.13, 0.15, 0.23, 0.25, 0.4, 0.44, 0.65, 0.76, 0.78, 0.81)
_JUMPS = (4, -5, 3, -4, 5, -4.2, 2.1, 4.3, -3.1, 2.1, -4.2)
_PEAKS = (4, 5, 3, 4, 5, 4.2, 2.1, 4.3, 3.1, 5.1, 4.2)
_WIDTHS = (0.005, 0.005, 0.006, 0.01, 0.01, 0.03, 0.01, 0.01, 0.005, 0.008, 0.005)


def _blocks(t: Array) -> Array:
    return sum(h * (1 + np.sign(t - at)) / 2 for at, h in zip(_PLACES, _JUMPS))  # type: ignore[return-value]


def _bumps(t: Array) -> Array:
    return sum(h / (1 + np.abs((t - at) / w)) ** 4 for at, h, w in zip(_PLACES, _PEAKS, _WIDTHS))  # type: ignore[return-value]


def _wave(t: Array, periods: float, power: int) -> Array:
    """A sine whose phase rises with a power of time, by this many half periods."""
    return np.sin(np.pi * periods * t**power)


def _rise(count: int, steps: float) -> Array:
    """From 0 to 1 along half a cosine."""
    return (1 - np.cos(np.arange(count) / steps * np.pi)) / 2


def _hyperbolic_chirps(n: int) -> Array:
    # WaveLab's positions are a thousandth of a sample late.
    t = (np.arange(1, n + 1) + 0.001) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        slow = np.where((0.1 < t) & (t < 0.68), np.sin(15 * n * np.pi / 1024 / (0.8 - t)), 0)
        fast = np.where((0.1 < t) & (t < 0.75), np.sin(5 * n * np.pi / 1024 / (0.8 - t)), 0)
    length = int(np.round(0.65 * n))
    quarter = length // 4
    shape = np.ones(length)
    shape[:quarter] = _rise(quarter, quarter - 1)
    shape[length - quarter :] = shape[:quarter][::-1]
    first = -(-n // 10) - 1
    window = np.zeros(n)
    window[first : first + length] = shape
    return (slow + fast) * window


def _linear_chirps(n: int) -> Array:
    t = np.arange(1, n + 1) / n
    a, b = 250 * n * np.pi / 1024, 100 * n * np.pi / 1024
    return np.sqrt((t - 1 / n) * (1 - t)) * (np.cos(a * t**2) + np.cos(b * t + a * t**2))


def _chirps(n: int) -> Array:
    t = np.arange(1, n + 1) / n
    bell = np.exp(-((np.arange(-n, n + 1) / n * 20) ** 2) * 4 * n / 1024)
    f = np.cos((10 * np.pi * t) ** 2 * n / 1024) + np.cos(30 * n / 1024 * (np.pi * t) ** 3)[::-1]
    f = f + bell[n // 2 : n // 2 + n] * np.cos(50 * np.pi * t * n / 1024)
    f = f + bell[n // 8 : n // 8 + n] * np.cos(350 * np.pi * t * n / 1024)
    window = np.ones(n)
    window[: n // 8] = _rise(n // 8, n / 8 - 1)
    window[7 * n // 8 :] = window[: n // 8][::-1]
    return f * window


def _gabor() -> Array:
    n = 512
    bell = np.exp(-((np.arange(-n, n + 1) * 5 / n) ** 2) * 20)
    t = np.arange(1, n + 1) / n
    parts = ((n // 2, n // 16), (n // 4, n // 4))
    return sum(3 * bell[at : at + n] * np.exp(1j * turns * np.pi * t) for at, turns in parts)  # type: ignore[return-value]


def _sine_one_over_x() -> Array:
    n = 1024
    x = np.arange(-n + 1, n + 1, dtype=np.float64)
    x[x == 0] = 0.01
    return np.sin(1.5 * (n - 1) / x)[n // 2 : n // 2 + n]


def _repeated_end(f: Array, whole: int) -> None:
    """Fills what five equal parts leave with the beginning, turned around."""
    left = len(f) - whole
    f[whole:] = f[:left][::-1]


def _piece_regular(n: int) -> Array:
    n2, n3, n5, n7, n12, n20 = (n // k for k in (2, 3, 5, 7, 12, 20))
    f = np.zeros(n)
    hill = -70 * np.exp(-((np.arange(1, n3 + 1) / n3 - 0.5) ** 2) / (2 * 0.15**2))
    f[:n3] = hill
    f[n7:n5] *= 0.5
    f[n3:n2] = -15 * _bumps(_times(n))[n3:n2]
    cusp = -np.exp(4 * np.arange(1, n12 + 1) / n12)
    f[n2 : n2 + n12] = cusp
    f[n2 + n12 : n2 + 2 * n12] = cusp[::-1]
    at = n2 + 2 * n12
    f[at + n20 : at + 3 * n20] = -25
    f[at + 3 * n20 : at + 3 * n20 + n7] = np.exp(4 * np.arange(1, n7 + 1) / n7) - np.exp(4)
    _repeated_end(f, 5 * n5)
    return f.sum() / n - f


def _piece_polynomial(n: int) -> Array:
    n5, n10, n20 = n // 5, n // 10, n // 20
    t = np.arange(1, n5 + 1) / n5
    f = np.zeros(n)
    pieces = (
        20 * (t**3 + t**2 + 4),
        (10 * t**3 + 45)[::-1],
        40 * (2 * t**3 + t) + 100,
        16 * t**2 + 8 * t + 16,
        (20 * (t + 4))[::-1],
    )
    f[: 5 * n5] = np.concatenate(pieces)
    _repeated_end(f, 5 * n5)
    f[n20 : n20 + n10] = 10
    f[n - n10 : n - n10 + n20] = 150
    return f - f.sum() / n


def _riemann(n: int) -> Array:
    roots = np.arange(1, math.isqrt(n) + 1)
    spectrum = np.zeros(n)
    spectrum[roots**2 - 1] = 1 / roots
    return np.fft.ifft(spectrum).real


def _times(n: int) -> Array:
    return np.arange(1 / n, 1 + 1 / n, 1 / n)[:n]


_SIGNALS: dict[str, Callable[[int, Array], Array]] = {
    "Blocks": lambda n, t: _blocks(t),
    "Bumps": lambda n, t: _bumps(t),
    "HeaviSine": lambda n, t: 4 * np.sin(4 * np.pi * t) - np.sign(t - 0.3) - np.sign(0.72 - t),
    "Doppler": lambda n, t: np.sqrt(np.maximum(t * (1 - t), 0)) * np.sin(2.1 * np.pi / (t + 0.05)),
    "Ramp": lambda n, t: t - (t >= 0.37),
    "HiSine": lambda n, t: _wave(t, 0.6902 * n, 1),
    "LoSine": lambda n, t: _wave(t, 0.3333 * n, 1),
    "LinChirp": lambda n, t: _wave(t, 0.5 * n, 2),
    "TwoChirp": lambda n, t: _wave(t, n, 2) + _wave(t, n / 3, 2),
    "QuadChirp": lambda n, t: _wave(t, n / 3, 3),
    "MishMash": lambda n, t: _wave(t, n / 3, 3) + _wave(t, 0.6902 * n, 1) + _wave(t, 0.125 * n, 2),
    "WernerSorrows": lambda n, t: _wave(t, n / 2, 3) + _wave(t, 0.6902 * n, 1) + _wave(t, n, 2) + _bumps(t),
    "HypChirps": lambda n, t: _hyperbolic_chirps(n),
    "LinChirps": lambda n, t: _linear_chirps(n),
    "Chirps": lambda n, t: _chirps(n),
    "Gabor": lambda n, t: _gabor(),
    "sineoneoverx": lambda n, t: _sine_one_over_x(),
    "Piece-Regular": lambda n, t: _piece_regular(n),
    "Piece-Polynomial": lambda n, t: _piece_polynomial(n),
    "Riemann": lambda n, t: _riemann(n),
}
_FIXED = ("gabor", "sineoneoverx")


def demo_signal(name: str = "Bumps", n: int | None = None) -> Any:
    """A test signal of ``n`` samples by Donoho, Johnstone and Mallat, as WaveLab defines it; ``list`` gives the names.

    ``Gabor`` and ``sineoneoverx`` have a length of their own.

    >>> len(demo_signal("list")), demo_signal("Doppler", 512).shape
    (20, (512,))
    """
    name = name.lower()
    if name == "list":
        return list(_SIGNALS)
    known = {key.lower(): make for key, make in _SIGNALS.items()}
    if name not in known:
        raise ValueError(f"unknown name: {name}.  name must be one of: {list(_SIGNALS)}")
    if name in _FIXED:
        if n is not None:
            raise ValueError(f"Parameter n must be set to None when name is {name}")
        return known[name](0, np.empty(0))
    if n is None:
        raise ValueError(f"Parameter n must be provided when name is {name}")
    if n < 1 or n % 1:
        raise ValueError("n must be an integer >= 1")
    return known[name](int(n), _times(int(n)))


def _file(name: str) -> Array:
    found = importlib.machinery.PathFinder.find_spec("pywt")
    if found is None or found.origin is None:
        raise ImportError(f"{name} is a file of PyWavelets, which is not installed: pip install PyWavelets")
    with np.load(pathlib.Path(found.origin).parent / "data" / f"{name}.npz") as file:
        return file["data"]  # type: ignore[no-any-return]


def aero() -> Array:
    """PyWavelets' picture of an aeroplane, 512², 8 bits."""
    return _file("aero")


def ascent() -> Array:
    """PyWavelets' picture of a stairway, 512², 8 bits."""
    return _file("ascent")


def camera() -> Array:
    """PyWavelets' picture of a photographer, 512², 8 bits."""
    return _file("camera")


def ecg() -> Array:
    """PyWavelets' electrocardiogram, 1024 samples."""
    return _file("ecg")


def nino() -> tuple[Array, Array]:
    """Sea surface temperatures of the region Niño 3: years in quarters from 1950 on, and deviations from the mean in standard deviations."""
    months = _file("sst_nino3")[:, 4]
    quarters = months[: len(months) // 12 * 12].reshape(-1, 3).mean(axis=1)
    years = 1950 + np.arange(len(quarters)) * 0.25
    return years, (quarters - quarters.mean()) / quarters.std(ddof=1)
