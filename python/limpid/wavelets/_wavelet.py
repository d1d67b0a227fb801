"""Wavelets and modes by name."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _limpid

_FAMILIES = {
    "haar": ("Haar", "asymmetric"),
    "db": ("Daubechies", "asymmetric"),
    "sym": ("Symlets", "near symmetric"),
    "coif": ("Coiflets", "near symmetric"),
    "bior": ("Biorthogonal", "symmetric"),
    "rbio": ("Reverse biorthogonal", "symmetric"),
    "dmey": ("Discrete Meyer (FIR Approximation)", "symmetric"),
}

#: Families of continuous wavelets, with the number of their members that have a number.
CONTINUOUS = {
    "gaus": ("Gaussian", 8),
    "mexh": ("Mexican hat wavelet", 0),
    "morl": ("Morlet wavelet", 0),
    "cgau": ("Complex Gaussian wavelets", 8),
    "shan": ("Shannon wavelets", 0),
    "fbsp": ("Frequency B-Spline wavelets", 0),
    "cmor": ("Complex Morlet wavelets", 0),
}


def _family(name: str) -> str | None:
    short = name.rstrip("0123456789.")
    return short if short in _FAMILIES else None


@functools.cache
def _names() -> tuple[str, ...]:
    """Names that PyWavelets has, in its order."""
    order = list(_FAMILIES)
    known = {name for name in _limpid.wavelet_names() if _family(name)}

    def place(name: str) -> tuple[Any, ...]:
        short = _family(name) or ""
        numbers = name[len(short) :].split(".")
        return (order.index(short), *(int(n) for n in numbers if n))

    return tuple(sorted(known, key=place))


@functools.cache
def _filters(name: str) -> tuple[tuple[float, ...], ...]:
    banks = _limpid.filters("db1" if name == "haar" else name)
    return tuple(tuple(float(v) for v in bank) for bank in banks)


def families(short: bool = True) -> list[str]:
    """Names of the families, discrete ones first.

    >>> families()[:7]
    ['haar', 'db', 'sym', 'coif', 'bior', 'rbio', 'dmey']
    >>> families()[7:]
    ['gaus', 'mexh', 'morl', 'cgau', 'shan', 'fbsp', 'cmor']
    """
    both = [*_FAMILIES.items(), *CONTINUOUS.items()]
    return [name if short else str(facts[0]) for name, facts in both]


def _members(family: str) -> list[str]:
    if family in _FAMILIES:
        return [name for name in _names() if _family(name) == family]
    count = CONTINUOUS[family][1]
    return [f"{family}{i}" for i in range(1, count + 1)] if count else [family]


def wavelist(family: str | None = None, kind: str = "all") -> list[str]:
    """Names of the wavelets, of one family or of all, discrete, continuous or both.

    >>> wavelist("coif")[:3]
    ['coif1', 'coif2', 'coif3']
    >>> len(wavelist(kind="discrete")), len(wavelist(kind="continuous"))
    (106, 21)
    """
    kinds = {"all": [*_FAMILIES, *CONTINUOUS], "continuous": list(CONTINUOUS), "discrete": list(_FAMILIES)}
    if kind not in kinds:
        raise ValueError(f"Unrecognized value for `kind`: {kind}; expected all, continuous or discrete")
    if family is None:
        return [name for short in sorted(kinds[kind]) for name in _members(short)]
    if family not in kinds["all"]:
        raise ValueError(f"Invalid short family name '{family}'; known: {', '.join(kinds['all'])}")
    return _members(family)


class _OlderNames(type):
    def __getattr__(cls, name: str) -> int:
        if name in _ALIASES:
            return int(getattr(cls, mode_name(name)))
        raise AttributeError(f"there is no mode '{name}'")


class Modes(metaclass=_OlderNames):
    """How a signal continues beyond its ends.

    >>> Modes.modes[:3]
    ['zero', 'constant', 'symmetric']
    """

    zero = 0
    symmetric = 1
    constant = 2
    smooth = 3
    periodic = 4
    periodization = 5
    reflect = 6
    antisymmetric = 7
    antireflect = 8

    #: PyWavelets' order.
    modes = [
        "zero",
        "constant",
        "symmetric",
        "periodic",
        "smooth",
        "periodization",
        "reflect",
        "antisymmetric",
        "antireflect",
    ]

    @classmethod
    def from_object(cls, mode: Any) -> int:
        """The number of a mode, from its name or number."""
        return int(getattr(cls, mode_name(mode)))


#: Older and shorter names.
_ALIASES = {
    "zpd": "zero",
    "cpd": "constant",
    "sp1": "smooth",
    "ppd": "periodic",
    "sym": "symmetric",
    "per": "periodization",
    "asym": "antisymmetric",
    "rfl": "reflect",
    "asymmetric": "antisymmetric",
}


_NUMBERS = {getattr(Modes, name): name for name in Modes.modes}
_KNOWN = frozenset(Modes.modes)


def mode_name(mode: Any) -> str:
    """The name of a mode, from its name or number."""
    if isinstance(mode, str):
        if mode in _KNOWN:
            return mode
        if mode in _ALIASES:
            warnings.warn(f"the mode '{mode}' is now called '{_ALIASES[mode]}'", DeprecationWarning, stacklevel=3)
            return _ALIASES[mode]
    elif isinstance(mode, (int, np.integer)) and not isinstance(mode, bool):
        if int(mode) in _NUMBERS:
            return _NUMBERS[int(mode)]
    else:
        raise TypeError(f"a mode is a name or a number, not {type(mode).__name__}")
    raise ValueError(f"Unknown mode name '{mode}'. Known: {', '.join(Modes.modes)}")


class Wavelet:
    """A wavelet by name, or by its four filters: ``dec_lo``, ``dec_hi``, ``rec_lo``, ``rec_hi``.

    >>> db2 = Wavelet("db2")
    >>> db2.dec_len, db2.orthogonal, db2.family_name
    (4, True, 'Daubechies')
    >>> half = [0.5 ** 0.5, 0.5 ** 0.5]
    >>> Wavelet("mine", [half, [-half[0], half[0]], half, [half[0], -half[0]]]).dec_len
    2
    """

    def __init__(self, name: str = "", filter_bank: Any = None) -> None:
        if not name and filter_bank is None:
            raise TypeError("Wavelet name or filter bank must be specified.")
        if filter_bank is None:
            if not isinstance(name, str):
                raise TypeError(f"a wavelet is named by a text, not by {type(name).__name__}")
            name = name.lower()
            short = _family(name)
            if name.rstrip("0123456789.-") in CONTINUOUS:
                raise ValueError(f"The `Wavelet` class is for discrete wavelets; {name} is made by `ContinuousWavelet` or `DiscreteContinuousWavelet`.")
            if any(name.startswith(known) for known in CONTINUOUS):
                raise ValueError(f"Invalid wavelet name '{name}'.")
            if short is None or name not in _names():
                near = _limpid_unknown(name)
                raise ValueError(f"Unknown wavelet name '{name}', check wavelist() for the list of available builtin wavelets.{near}")
            self._bank = _filters(name)
        else:
            short = None
            bank = getattr(filter_bank, "filter_bank", filter_bank)
            bank = getattr(bank, "get_filters_coeffs", lambda: bank)()
            if len(bank) != 4:
                raise ValueError(f"Expected filter bank with 4 filters, got filter bank with {len(bank)} filters.")
            try:
                self._bank = tuple(tuple(float(v) for v in f) for f in bank)
            except TypeError:
                raise ValueError("Filter bank with numeric values required.") from None
            lengths = {len(f) for f in self._bank}
            if len(lengths) != 1 or lengths & {0} or next(iter(lengths)) % 2:
                raise ValueError("Filters must have one even length, not " + ", ".join(str(len(f)) for f in self._bank))
        self.name = name
        self.short_family_name = short or ""
        self.family_name, self.symmetry = _FAMILIES.get(short or "", ("", "unknown"))
        self.orthogonal = short in ("haar", "db", "sym", "coif", "dmey")
        self.biorthogonal = short is not None
        self.vanishing_moments_psi, self.vanishing_moments_phi = _moments(name, short)
        self._banks: dict[tuple[bool, str], tuple[_limpid.Bank, str, int]] = {}

    def bank(self, back: bool, mode: str) -> tuple[_limpid.Bank, str, int]:
        """Filters and border of one direction for the compiled part, with the border's name and the number of taps."""
        found = self._banks.get((back, mode))
        if found is None:
            low, high = self._bank[2:] if back else self._bank[:2]
            found = self._banks[back, mode] = (_limpid.Bank(list(low), list(high), mode), mode, len(low))
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_banks": {}}

    def wavefun(self, level: int = 8) -> list[NDArray[Any]]:
        """Scaling function, wavelet and positions, ``2**level`` to a unit; of a biorthogonal wavelet those of analysis and of synthesis.

        >>> phi, psi, x = Wavelet("db2").wavefun(level=5)
        >>> round(float(phi.sum()) / 2**5, 6), bool(abs(psi.sum()) < 1e-9)
        (1.0, True)
        """
        from ._functions import wavefun

        return wavefun(self, level)

    @property
    def family_number(self) -> int | None:
        """The number in its name: 2 of db2, 13 of bior1.3, 0 where there is none."""
        if not self.short_family_name:
            return None
        return int(self.name[len(self.short_family_name) :].replace(".", "") or 0)

    number = family_number

    @property
    def dec_lo(self) -> list[float]:
        """Low-pass filter of analysis."""
        return list(self._bank[0])

    @property
    def dec_hi(self) -> list[float]:
        """High-pass filter of analysis."""
        return list(self._bank[1])

    @property
    def rec_lo(self) -> list[float]:
        """Low-pass filter of synthesis."""
        return list(self._bank[2])

    @property
    def rec_hi(self) -> list[float]:
        """High-pass filter of synthesis."""
        return list(self._bank[3])

    @property
    def filter_bank(self) -> tuple[list[float], ...]:
        """All four filters."""
        return self.dec_lo, self.dec_hi, self.rec_lo, self.rec_hi

    @property
    def inverse_filter_bank(self) -> tuple[list[float], ...]:
        """The filters of the inverse wavelet, reversed in time."""
        return self.rec_lo[::-1], self.rec_hi[::-1], self.dec_lo[::-1], self.dec_hi[::-1]

    @property
    def dec_len(self) -> int:
        """Taps of the filters of analysis."""
        return len(self._bank[0])

    @property
    def rec_len(self) -> int:
        """Taps of the filters of synthesis."""
        return len(self._bank[2])

    def get_filters_coeffs(self) -> tuple[list[float], ...]:
        """All four filters, by an older name."""
        return self.filter_bank

    def get_reverse_filters_coeffs(self) -> tuple[list[float], ...]:
        """The filters of the inverse wavelet, by an older name."""
        return self.inverse_filter_bank

    def __len__(self) -> int:
        return max(self.dec_len, self.rec_len)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Wavelet) and (self.name, self._bank) == (other.name, other._bank)

    def __hash__(self) -> int:
        return hash((self.name, self._bank[0]))

    def __repr__(self) -> str:
        return f"pywt.Wavelet(name='{self.name}', filter_bank={self.filter_bank})"

    def __str__(self) -> str:
        facts = [
            ("Family name:", self.family_name),
            ("Short name:", self.short_family_name),
            ("Filters length:", self.dec_len),
            ("Orthogonal:", self.orthogonal),
            ("Biorthogonal:", self.biorthogonal),
            ("Symmetry:", self.symmetry),
            ("DWT:", True),
            ("CWT:", False),
        ]
        return "\n".join([f"Wavelet {self.name}", *(f"  {name:<16}{value}" for name, value in facts)])


def _limpid_unknown(name: str) -> str:
    """The nearest name, as the library says it."""
    try:
        _limpid.filters(name)
    except ValueError as error:
        text = str(error)
        if "Did you mean" in text:
            return " " + text[text.index("Did you mean") :].split(" Known:")[0]
    return ""


def _moments(name: str, short: str | None) -> tuple[int | None, int | None]:
    if short is None or short == "dmey":
        return (None, None) if short else (0, 0)
    if short == "haar":
        return 1, 0
    numbers = [int(n) for n in name[len(short) :].split(".")]
    if short == "coif":
        return 2 * numbers[0], 2 * numbers[0] - 1
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (numbers[0], 0)


@functools.lru_cache(maxsize=256)
def _named(name: str) -> Wavelet:
    return Wavelet(name)


def as_wavelet(wavelet: Any) -> Wavelet:
    """A wavelet from a name, filters, or another library's wavelet."""
    if isinstance(wavelet, Wavelet):
        return wavelet
    if isinstance(wavelet, str):
        return _named(wavelet)
    if getattr(wavelet, "complex_cwt", None) is not None:
        raise ValueError(f"{wavelet!r} is a continuous wavelet; a discrete one is needed")
    if hasattr(wavelet, "filter_bank"):
        return Wavelet(str(getattr(wavelet, "name", "own")) or "own", wavelet)
    if isinstance(wavelet, (tuple, list)):
        return Wavelet("own", wavelet)
    raise ValueError(f"{wavelet!r} is no discrete wavelet")


def per_axis(wavelet: Any, axes: Sequence[int]) -> list[Wavelet]:
    """A wavelet for each axis: one for all, or as many as axes."""
    several = isinstance(wavelet, (tuple, list)) and all(
        isinstance(w, (str, Wavelet)) or hasattr(w, "filter_bank") for w in wavelet
    )
    given = [as_wavelet(w) for w in wavelet] if several else [as_wavelet(wavelet)]
    return _each(given, axes, "wavelets")


def modes_per_axis(mode: Any, axes: Sequence[int]) -> list[str]:
    """A mode for each axis: one for all, or as many as axes."""
    several = isinstance(mode, (tuple, list))
    given = [mode_name(m) for m in mode] if several else [mode_name(mode)]
    return _each(given, axes, "modes")


def _each(given: list[Any], axes: Sequence[int], what: str) -> list[Any]:
    if len(given) == 1:
        return given * len(axes)
    if len(given) != len(axes):
        raise ValueError(f"The number of {what} must match the number of axes to be transformed.")
    return given
