"""Metrics, pages and renders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike, NDArray

from . import _limpid
from ._denoise import Progress
from ._errors import OptionError
from ._frame import Frame, as_array, channels_last, split_alpha, squeezed


def _shown(image: ArrayLike | Frame, axis: int) -> tuple[NDArray[Any], str | None]:
    """An image, and what its values are if it says so."""
    if isinstance(image, Frame):
        color, _ = split_alpha(image.color)
        return color, "display" if image.transfer == "encoded" else "linear"
    color, _ = split_alpha(as_array(channels_last(image, "color", axis), "color"))
    return color, None


def _space(asked: str, *known: str | None) -> str:
    """The space that was asked for, or that of the first frame, or display values."""
    if asked != "auto":
        return asked
    return next((space for space in known if space), "display")


def _scaled(image: NDArray[Any], data_range: float | None) -> NDArray[Any]:
    """Floats whose white is ``data_range`` as 0 … 1; whole numbers already are."""
    if data_range is None or image.dtype.kind != "f":
        return image
    return image / image.dtype.type(data_range)


def _checked(data_range: float | None, space: str) -> None:
    if data_range is None:
        return
    if not (isinstance(data_range, (int, float)) and 0 < data_range < float("inf")):
        raise OptionError(f"data_range {data_range!r}: expected a number above 0")
    if space == "linear":
        raise OptionError("data_range is for display values; light has no largest value. Leave it out")


def compare(
    image: ArrayLike | Frame,
    reference: ArrayLike | Frame,
    *,
    space: str = "auto",
    exposure: float = 0.0,
    data_range: float | None = None,
    channel_axis: int = -1,
    picture: bool = False,
) -> dict[str, Any]:
    """Compares an image with a reference: MSE, relative errors, PSNR, SSIM, FLIP.

    ``space`` is ``"display"`` (display values, 0 … 1) or ``"linear"`` (light: PSNR and SSIM of display values after ``exposure`` stops, FLIP
    over a range of exposures). ``"auto"`` takes arrays as they are, as display values, and frames as what they say they are: renders are light,
    photographs display values. ``data_range`` is the white of float arrays, 1 unless given, as in scikit-image, and ``channel_axis`` the axis of
    their channels. With ``picture=True`` the result includes the FLIP error of each pixel as the image ``flip_picture``.

    >>> import numpy as np, limpid
    >>> reference = np.linspace(0, 1, 256).reshape(16, 16)
    >>> round(limpid.compare(reference + 0.01, reference)["psnr"], 3)
    40.0
    >>> round(limpid.compare(255 * reference + 2.55, 255 * reference, data_range=255)["psnr"], 3)
    40.0
    """
    (a, own), (b, natural) = _shown(image, channel_axis), _shown(reference, channel_axis)
    space = _space(space, natural, own)
    _checked(data_range, space)
    scores = _limpid.compare(_scaled(a, data_range), _scaled(b, data_range), space, exposure, picture)
    if data_range is not None and a.dtype.kind == b.dtype.kind == "f":
        # The error of the values as given.
        scores["mse"] *= float(data_range) ** 2
    return scores


def page(
    images: Mapping[str, ArrayLike | Frame],
    reference: ArrayLike | Frame,
    path: str | os.PathLike[str],
    *,
    space: str = "auto",
    exposure: float = 0.0,
    data_range: float | None = None,
    channel_axis: int = -1,
    name: str = "reference",
) -> dict[str, dict[str, Any]]:
    """Writes an HTML page with images and their errors against a reference, in one file; returns the scores by name.

    ``space``, ``exposure``, ``data_range`` and ``channel_axis`` are those of :func:`compare`.

    >>> import numpy as np, limpid, tempfile, pathlib
    >>> clean = np.full((16, 16, 3), 0.5)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "page.html"
    >>> sorted(limpid.page({"dark": clean * 0.9, "bright": clean * 1.1}, clean, path))
    ['bright', 'dark']
    """
    clean, natural = _shown(reference, channel_axis)
    shown = {str(key): _shown(image, channel_axis) for key, image in images.items()}
    space = _space(space, natural, *(own for _, own in shown.values()))
    _checked(data_range, space)
    named = [(key, _scaled(image, data_range)) for key, (image, _) in shown.items()]
    return _limpid.page(named, (name, _scaled(clean, data_range)), os.fspath(path), space, exposure)


def scenes() -> dict[str, str]:
    """The built-in scenes, and what they show.

    >>> import limpid
    >>> "cornell" in limpid.scenes()
    True
    """
    return dict(_limpid.scenes())


def render(
    scene: str,
    *,
    size: tuple[int, int] = (512, 512),
    spp: int = 4,
    seed: int = 0,
    frame: int = 0,
    bounces: int = 32,
    every: int = 1,
    gradients: bool = False,
    progress: Progress | None = None,
) -> Frame:
    """Renders a built-in scene as noisy input: colour, halves, variances, features, motion.

    ``size`` is width and height; ``spp`` samples per pixel; a different ``seed`` gives different noise.

    >>> import limpid
    >>> limpid.render("glossy", size=(8, 6), spp=2)["color"].shape
    (6, 8, 3)
    """
    layers = _limpid.render(scene, tuple(size), spp, seed, frame, bounces, every, gradients, progress)
    made = Frame(every=every)
    made._layers = {name: squeezed(array) for name, array in layers.items()}
    return made
