"""Metrics, pages and renders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike, NDArray

from . import _limpid
from ._denoise import Progress
from ._frame import Frame, as_array, split_alpha, squeezed


def _shown(image: ArrayLike | Frame) -> tuple[NDArray[Any], str]:
    """An image, and whether it is light or display values."""
    frame = image if isinstance(image, Frame) else Frame(color=as_array(image, "color"))
    color, _ = split_alpha(frame.color)
    return color, "display" if frame.transfer == "encoded" else "linear"


def _space(asked: str, reference: str) -> str:
    return reference if asked == "auto" else asked


def compare(
    image: ArrayLike | Frame,
    reference: ArrayLike | Frame,
    *,
    space: str = "auto",
    exposure: float = 0.0,
    picture: bool = False,
) -> dict[str, Any]:
    """Compares an image with a reference: MSE, relative errors, PSNR, SSIM, FLIP.

    ``space`` is ``"linear"`` (light: PSNR and SSIM of display values after ``exposure`` stops, FLIP over a range of exposures) or
    ``"display"`` (display values, 0 … 1); ``"auto"`` treats integers and frames of encoded files as display values, floats as light. With
    ``picture=True`` the result includes the FLIP error of each pixel as the image ``flip_picture``.

    >>> import numpy as np, limpid
    >>> reference = np.linspace(0, 1, 256).reshape(16, 16)
    >>> scores = limpid.compare(reference + 0.01, reference, space="display")
    >>> round(scores["psnr"], 3)
    40.0
    """
    a, _ = _shown(image)
    b, natural = _shown(reference)
    return _limpid.compare(a, b, _space(space, natural), exposure, picture)


def page(
    images: Mapping[str, ArrayLike | Frame],
    reference: ArrayLike | Frame,
    path: str | os.PathLike[str],
    *,
    space: str = "auto",
    exposure: float = 0.0,
    name: str = "reference",
) -> dict[str, dict[str, Any]]:
    """Writes an HTML page with images and their errors against a reference, in one file; returns the scores by name.

    >>> import numpy as np, limpid, tempfile, pathlib
    >>> clean = np.full((16, 16, 3), 0.5)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "page.html"
    >>> sorted(limpid.page({"dark": clean * 0.9, "bright": clean * 1.1}, clean, path))
    ['bright', 'dark']
    """
    clean, natural = _shown(reference)
    named = [(str(key), _shown(image)[0]) for key, image in images.items()]
    return _limpid.page(named, (name, clean), os.fspath(path), _space(space, natural), exposure)


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
