"""What is left of coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import UnsupportedError
from .._frame import unmasked
from .._gpu import GpuArray


def threshold(data: Any, value: Any, mode: str = "soft", substitute: float = 0) -> Any:
    """Shrinks values: ``soft``, ``hard``, ``garrote`` (or ``garotte``), ``greater`` or ``less``.

    >>> threshold([1.0, 2.0, -3.0], 2, "soft")
    array([ 0.,  0., -1.])
    >>> threshold([1.0, 2.0, -3.0], 2, "hard")
    array([ 0.,  2., -3.])
    """
    if isinstance(data, GpuArray):
        rule = {"garotte": "garrote"}.get(mode, mode)
        if rule not in ("soft", "hard", "garrote"):
            raise UnsupportedError(f"mode {mode} on a GPU: soft, hard and garrote are done there; array.numpy() takes others")
        return data.shrunk(rule, limit=float(value), substitute=float(substitute))
    unmasked(data, "data")
    x = np.asarray(data)
    size = np.absolute(x)
    if mode == "soft":
        with np.errstate(divide="ignore", invalid="ignore"):
            # Complex values keep their direction.
            kept = x * np.maximum(1 - value / size, 0)
        return np.where(size < value, substitute, np.where(size == 0, x, kept))
    if mode == "hard":
        return np.where(size < value, substitute, x)
    if mode in ("garrote", "garotte"):
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = x * np.maximum(1 - value**2 / size**2, 0)
        return np.where(size < value, substitute, np.where(size == 0, x, kept))
    if mode in ("greater", "less"):
        if np.iscomplexobj(x):
            raise ValueError(f"{mode} thresholding needs values that have an order")
        return np.where(x < value if mode == "greater" else x > value, substitute, x)
    raise ValueError(f"The mode parameter only takes values from: garrote, greater, hard, less, soft, not '{mode}'")


def threshold_firm(data: Any, value_low: Any, value_high: Any) -> Any:
    """Firm shrinkage: values below the low threshold become zero, those above the high one stay, and those between rise from 0 to themselves.

    >>> threshold_firm([1.0, 2.5, -4.0], 1, 4)
    array([ 0.,  2., -4.])
    """
    if value_low < 0:
        raise ValueError("value_low must be non-negative.")
    if value_high < value_low:
        raise ValueError("value_high must be greater than or equal to value_low.")
    x = np.asarray(data)
    size = np.absolute(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(value_high * (1 - value_low / size) / (value_high - value_low), 0, 1)
    return x * np.where(size <= value_low, 0, np.where(size >= value_high, 1, share)).astype(size.dtype)
