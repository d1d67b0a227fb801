"""What is left of coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np


def threshold(data: Any, value: Any, mode: str = "soft", substitute: float = 0) -> Any:
    """Shrinks values: ``soft``, ``hard``, ``garrote``, ``greater`` or ``less``.

    >>> threshold([1.0, 2.0, -3.0], 2, "soft")
    array([ 0.,  0., -1.])
    >>> threshold([1.0, 2.0, -3.0], 2, "hard")
    array([ 0.,  2., -3.])
    """
    x = np.asarray(data)
    size = np.absolute(x)
    if mode == "soft":
        with np.errstate(divide="ignore", invalid="ignore"):
            # Complex values keep their direction.
            kept = x * np.maximum(1 - value / size, 0)
        return np.where(size < value, substitute, np.where(size == 0, x, kept))
    if mode == "hard":
        return np.where(size < value, substitute, x)
    if mode == "garrote":
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = x * np.maximum(1 - value**2 / size**2, 0)
        return np.where(size < value, substitute, np.where(size == 0, x, kept))
    if mode in ("greater", "less"):
        if np.iscomplexobj(x):
            raise ValueError(f"{mode} thresholding needs values that have an order")
        return np.where(x < value if mode == "greater" else x > value, substitute, x)
    raise ValueError(f"The mode parameter only takes values from: garrote, greater, hard, less, soft, not '{mode}'")
