"""Continuous wavelets, which are functions rather than filters."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._wavelet import CONTINUOUS, Wavelet

Array = NDArray[Any]

#: Where the functions are not zero: from minus this to this.
_REACH = {"gaus": 5.0, "cgau": 5.0, "mexh": 8.0, "morl": 8.0, "cmor": 8.0, "shan": 20.0, "fbsp": 20.0}
_COMPLEX = ("cgau", "shan", "fbsp", "cmor")
#: Bandwidth and centre of those that are named without.
_DEFAULTS = {"shan": (0.5, 1.0), "fbsp": (1.0, 0.5), "cmor": (1.0, 0.5)}


def _odd_factorial(n: int) -> int:
    """1 · 3 · 5 · … · (2n - 1)."""
    return math.prod(range(1, 2 * n, 2))


def _gaussian(x: Array, order: int) -> Array:
    """The derivative of this order of exp(-x²), with energy 1; the sign goes + - - + as the order rises."""
    poly = np.polynomial.Polynomial([1.0])
    for _ in range(order):
        poly = poly.deriv() + np.polynomial.Polynomial([0.0, -2.0]) * poly
    sign = -1.0 if order % 4 in (2, 3) else 1.0
    scale = sign * (2 / math.pi) ** 0.25 / math.sqrt(_odd_factorial(order))
    return scale * poly(x) * np.exp(-x * x)


def _complex_gaussian(x: Array, order: int) -> Array:
    """The derivative of this order of exp(-ix) exp(-x²), with energy 1."""
    poly = np.polynomial.Polynomial([1.0 + 0j])
    for _ in range(order):
        poly = poly.deriv() + np.polynomial.Polynomial([-1j, -2.0]) * poly
    # The spectrum is a Gaussian around -1, whose moments the energies of the derivatives are.
    moment = sum(math.comb(2 * order, 2 * k) * _odd_factorial(k) for k in range(order + 1))
    return poly(x) * np.exp(-1j * x) * np.exp(-x * x) / math.sqrt(math.sqrt(math.pi / 2) * moment)


class ContinuousWavelet:
    """A continuous wavelet by name: ``gaus1`` … ``gaus8``, ``mexh``, ``morl``, ``cgau1`` … ``cgau8``, ``shanB-C``, ``fbspM-B-C``, ``cmorB-C``.

    ``B`` is the bandwidth, ``C`` the centre frequency, ``M`` the order of the spline.

    >>> wavelet = ContinuousWavelet("cmor1.5-1.0")
    >>> wavelet.bandwidth_frequency, wavelet.center_frequency, wavelet.complex_cwt
    (1.5, 1.0, True)
    >>> psi, x = ContinuousWavelet("mexh").wavefun(length=5)
    >>> psi.round(3)
    array([-0.   , -0.004,  0.867, -0.004, -0.   ])
    """

    orthogonal = False
    biorthogonal = False

    def __init__(self, name: str = "", dtype: Any = np.float64) -> None:
        self.name = name.lower()
        self.dt = np.dtype(dtype).type
        if self.dt not in (np.float32, np.float64):
            raise ValueError("Only np.float32 and np.float64 are supported.")
        family = self.name[:4]
        if family not in CONTINUOUS:
            raise ValueError(f"Unknown wavelet name '{name}', check wavelist() for the list of available builtin wavelets.")
        self.short_family_name = family
        self.family_name = CONTINUOUS[family][0]
        self.complex_cwt = family in _COMPLEX
        self.upper_bound = _REACH[family]
        self.lower_bound = -self.upper_bound
        self.family_number = 0
        self.fbsp_order: int | None = None
        self.bandwidth_frequency: float | None = None
        self.center_frequency: float | None = None
        rest = self.name[4:]
        if family in _DEFAULTS:
            self._numbers(rest)
        elif CONTINUOUS[family][1]:
            if not rest.isdigit() or not 1 <= int(rest) <= CONTINUOUS[family][1]:
                raise ValueError(f"Unknown wavelet name '{name}': a number from 1 to {CONTINUOUS[family][1]} is needed")
            self.family_number = int(rest)
        elif rest:
            raise ValueError(f"Unknown wavelet name '{name}', check wavelist() for the list of available builtin wavelets.")
        odd = self.family_number % 2 == 1
        self.symmetry = "asymmetric" if family in _DEFAULTS else "anti-symmetric" if odd else "symmetric"

    def _numbers(self, text: str) -> None:
        """Order, bandwidth and centre from `M-B-C` or `B-C`."""
        family = self.short_family_name
        self.bandwidth_frequency, self.center_frequency = _DEFAULTS[family]
        if family == "fbsp":
            self.fbsp_order = 2
        form = "M-B-C" if family == "fbsp" else "B-C"
        if not text:
            warnings.warn(
                f"Wavelets from the family {family}, without parameters specified in the name are deprecated. The name should take the "
                f"form {family}{form} where the letters are numbers; the default is used.",
                FutureWarning,
                stacklevel=3,
            )
            return
        try:
            numbers = [float(part) for part in text.split("-")]
        except ValueError:
            numbers = []
        if len(numbers) != len(form.split("-")):
            raise ValueError(f"For the {family} family, the wavelet name is expected to be of the form {family}{form}, not '{self.name}'.")
        if family == "fbsp":
            order = numbers.pop(0)
            if order % 1 or order < 1:
                raise ValueError(f"The order of a B-spline is a whole number from 1 on, not {order}.")
            self.fbsp_order = int(order)
        self.bandwidth_frequency, self.center_frequency = numbers

    @property
    def number(self) -> int:
        """The number in its name; 0 where there is none."""
        return self.family_number

    def _values(self, x: Array) -> Array:
        family = self.short_family_name
        if family == "gaus":
            return _gaussian(x, self.family_number)
        if family == "cgau":
            return _complex_gaussian(x, self.family_number)
        if family == "mexh":
            return 2 / (math.sqrt(3) * math.pi**0.25) * np.exp(-x * x / 2) * (1 - x * x)
        if family == "morl":
            return np.exp(-x * x / 2) * np.cos(5 * x)
        width, centre = self.bandwidth_frequency or 0.0, self.center_frequency or 0.0
        wave = np.exp(2j * np.pi * centre * x)
        if family == "cmor":
            return wave * np.exp(-x * x / width) / math.sqrt(math.pi * width)
        order = self.fbsp_order or 1
        return math.sqrt(width) * np.sinc(width * x / order) ** order * wave

    def wavefun(self, level: int = 8, length: int | None = None) -> tuple[Array, Array]:
        """The wavelet at ``2**level`` positions, or at ``length``, and the positions."""
        x = np.linspace(self.lower_bound, self.upper_bound, length or 2**level)
        kind = np.result_type(self.dt, np.complex64) if self.complex_cwt else self.dt
        return self._values(x).astype(kind), x.astype(self.dt)

    def __repr__(self) -> str:
        return f"pywt.ContinuousWavelet(name='{self.name}')"

    def __str__(self) -> str:
        facts = [
            ("Family name:", self.family_name),
            ("Short name:", self.short_family_name),
            ("Symmetry:", self.symmetry),
            ("DWT:", False),
            ("CWT:", True),
            ("Complex CWT:", self.complex_cwt),
        ]
        return "\n".join([f"ContinuousWavelet {self.name}", *(f"  {name:<16}{value}" for name, value in facts)])


def DiscreteContinuousWavelet(name: str = "", filter_bank: Any = None) -> Wavelet | ContinuousWavelet:  # noqa: N802
    """A discrete or a continuous wavelet, whichever has this name.

    >>> type(DiscreteContinuousWavelet("db2")).__name__, type(DiscreteContinuousWavelet("morl")).__name__
    ('Wavelet', 'ContinuousWavelet')
    """
    if not name and filter_bank is None:
        raise TypeError("Wavelet name or filter bank must be specified.")
    if filter_bank is None and isinstance(name, str) and name.lower()[:4] in CONTINUOUS:
        return ContinuousWavelet(name)
    return Wavelet(name, filter_bank)


def any_wavelet(wavelet: Any) -> Any:
    """A wavelet of either kind from its name or itself."""
    return DiscreteContinuousWavelet(wavelet) if isinstance(wavelet, str) else wavelet
