"""Restoration of images with scikit-image's names and signatures, on all cores.

Replace ``from skimage.restoration import denoise_wavelet`` by ``from limpid.restoration import denoise_wavelet``; each function says how far its results
agree with those of scikit-image. Images have two axes, or three with ``channel_axis``.

>>> import numpy as np
>>> from limpid.restoration import denoise_wavelet, estimate_sigma
>>> rng = np.random.default_rng(0)
>>> noisy = np.clip(0.5 + 0.1 * rng.standard_normal((128, 128)), 0, 1)
>>> bool(abs(estimate_sigma(noisy) - 0.1) < 0.01)
True
>>> bool(denoise_wavelet(noisy).std() < 0.03)
True
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _limpid
from ._denoise import denoise
from ._errors import InputError, OptionError, UnsupportedError
from .wavelets import Wavelet, dwt2, dwtn_max_level, wavedec2, waverec2

__all__ = ["denoise_bilateral", "denoise_nl_means", "denoise_wavelet", "estimate_sigma"]

Array = NDArray[Any]

#: Median magnitude of a normal distribution of deviation 1.
_MEDIAN = 0.6744897501960817


def _as_float(image: Any, preserve_range: bool = False) -> Array:
    """Floats unchanged, integers as -1 … 1 or 0 … 1 unless their range is preserved."""
    array = np.asarray(image)
    kind = array.dtype.kind
    if kind == "f":
        return array.astype(np.float32) if array.dtype == np.float16 else array
    if kind == "b" or preserve_range:
        return array.astype(np.float64)
    if kind == "u":
        return array / np.float64(np.iinfo(array.dtype).max)
    if kind == "i":
        limits = np.iinfo(array.dtype)
        return (array.astype(np.float64) * 2 + 1) / (float(limits.max) - float(limits.min))
    raise InputError(f"an array of {array.dtype} is no image")


def _last(image: Array, channel_axis: int | None) -> Array:
    """The image with its channels last; a grey image gets one channel."""
    if channel_axis is None:
        if image.ndim != 2:
            raise UnsupportedError(
                f"an array of shape {image.shape} without channel_axis has {image.ndim} axes; only pictures of two axes are done here"
            )
        return image[:, :, None]
    if image.ndim != 3:
        raise UnsupportedError(
            f"an array of shape {image.shape} with channel_axis has {image.ndim} axes; only pictures of two axes and channels are done here"
        )
    return np.moveaxis(image, channel_axis, -1)


def _first(image: Array, channel_axis: int | None) -> Array:
    """The inverse of `_last`."""
    return image[:, :, 0] if channel_axis is None else np.moveaxis(image, -1, channel_axis)


def _deviation(band: Array) -> float:
    """The standard deviation of noise in a band, by the median of its magnitudes; zeros do not count."""
    middle = _limpid.median_abs(np.require(band, requirements="CA"))
    return math.nan if middle is None else middle / _MEDIAN


def estimate_sigma(image: Any, average_sigmas: bool = False, *, channel_axis: int | None = None) -> Any:
    """The standard deviation of white noise, by the median of the finest diagonal wavelet coefficients, as in scikit-image.

    With ``channel_axis`` a list, or its mean with ``average_sigmas``.
    """
    array = np.asarray(image)
    if array.dtype.kind not in "fiub":
        raise InputError(f"an array of {array.dtype} is no image")
    if channel_axis is None and array.ndim == 2 and array.shape[-1] <= 4:
        warnings.warn(
            f"image is size {array.shape[-1]} on the last axis, but channel_axis is None. If this is a color image, please set "
            "channel_axis=-1 for proper noise estimation.",
            stacklevel=2,
        )
    planes = _last(array, channel_axis)
    found = [_deviation(dwt2(planes[:, :, c], "db2")[1][2]) for c in range(planes.shape[2])]
    if channel_axis is None:
        return found[0]
    return float(np.mean(found)) if average_sigmas else found


def _shrunk(planes: Array, wavelet: Wavelet, method: str, sigmas: list[Any], mode: str, levels: int | None) -> Array:
    """Planes, one after the other in memory, with their coefficients shrunk."""
    height, width = planes.shape[1:]
    if levels is None:
        levels = max(dwtn_max_level((height, width), wavelet) - 3, 1)
    low, *details = wavedec2(planes, wavelet, level=levels)
    for c, sigma in enumerate(sigmas):
        if sigma is None:
            sigma = _deviation(details[-1][2][c]) if details else 0.0
        threshold = sigma * math.sqrt(2 * math.log(height * width)) if method == "VisuShrink" else None
        # The bands are new arrays, so they can be changed in place.
        bands = [band[c] for level in details for band in level]
        _limpid.shrink(bands, mode == "soft", threshold, float(sigma) ** 2)
    return waverec2([low, *details], wavelet)[:, :height, :width]


#: Studio colours of 8 bits, ITU-R BT.601.
_YCBCR = np.array(
    [[65.481, 128.553, 24.966], [-37.797, -74.203, 112.0], [112.0, -93.786, -18.214]]
)
_OFFSET = np.array([16.0, 128.0, 128.0])


def denoise_wavelet(
    image: Any,
    sigma: Any = None,
    wavelet: Any = "db1",
    mode: str = "soft",
    wavelet_levels: int | None = None,
    convert2ycbcr: bool = False,
    method: str = "BayesShrink",
    rescale_sigma: bool = True,
    *,
    channel_axis: int | None = None,
) -> Array:
    """Shrinks wavelet coefficients by BayesShrink or VisuShrink, with the results of scikit-image up to rounding.

    Arguments are those of ``skimage.restoration.denoise_wavelet``.
    """
    if method not in ("BayesShrink", "VisuShrink"):
        raise OptionError(f"method {method}: expected BayesShrink or VisuShrink")
    if mode not in ("soft", "hard"):
        raise OptionError(f"mode {mode}: expected soft or hard")
    if convert2ycbcr and channel_axis is None:
        raise OptionError("convert2ycbcr requires channel_axis to be set")
    wavelet = wavelet if isinstance(wavelet, Wavelet) else Wavelet(wavelet)
    if not wavelet.orthogonal:
        warnings.warn(
            f"Wavelet thresholding was designed for use with orthogonal wavelets. For nonorthogonal wavelets such as {wavelet.name}, "
            "results are likely to be suboptimal.",
            stacklevel=2,
        )
    given = np.asarray(image)
    planes = _last(_as_float(given), channel_axis)
    count = planes.shape[2]
    sigmas = list(sigma) if np.iterable(sigma) else [sigma] * count
    if len(sigmas) != count:
        raise OptionError("sigma must be a scalar or have length equal to the number of channels")
    whole = given.dtype.kind != "f"
    if whole and rescale_sigma and given.size:
        before = float(given.max()) - float(given.min())
        after = float(planes.max()) - float(planes.min())
        scale = after / before if before else 1.0
        sigmas = [None if s is None else s * scale for s in sigmas]
    shrunk = lambda x, own: _shrunk(np.ascontiguousarray(x), wavelet, method, own, mode, wavelet_levels)  # noqa: E731
    if convert2ycbcr:
        if count != 3:
            raise InputError(f"convert2ycbcr is for three channels, not {count}")
        coded = planes @ _YCBCR.T.astype(planes.dtype) + _OFFSET.astype(planes.dtype)
        if rescale_sigma and sigmas[0] is not None:
            # Of independent channels variances add up.
            squares = np.asarray(sigmas, np.float64) ** 2
            sigmas = [float(np.sqrt(np.sum(row * row * squares))) for row in _YCBCR]
        for c in range(3):
            plane = coded[:, :, c]
            low, width = plane.min(), plane.max() - plane.min()
            if width == 0:
                continue
            own = None if sigmas[c] is None else sigmas[c] / float(width)
            coded[:, :, c] = shrunk((plane - low)[None] / width, [own])[0] * width + low
        out = ((coded - _OFFSET) @ np.linalg.inv(_YCBCR).T).astype(planes.dtype)
    else:
        out = np.moveaxis(shrunk(np.moveaxis(planes, -1, 0), sigmas), 0, -1)
    if whole:
        np.clip(out, -1 if planes.min() < 0 else 0, 1, out=out)
    return _first(out, channel_axis)


def _channels(planes: Array, what: str) -> None:
    if planes.shape[2] not in (1, 3):
        raise UnsupportedError(f"{what} of {planes.shape[2]} channels: 1 and 3 are done here")


def denoise_nl_means(
    image: Any,
    patch_size: int = 7,
    patch_distance: int = 11,
    h: float = 0.1,
    fast_mode: bool = True,
    sigma: float = 0.0,
    *,
    preserve_range: bool = False,
    channel_axis: int | None = None,
) -> Array:
    """Non-local means with scikit-image's weights: ``exp(-max(d² - 2σ², 0) / h²)``, where ``d²`` is the mean squared difference of patches.

    Arguments are those of ``skimage.restoration.denoise_nl_means``. Patches are unweighted, as in its fast mode, whatever ``fast_mode`` is, and pixels
    beyond the border are ignored instead of mirrored. Computed in single precision. Results differ slightly, because scikit-image omits weights below
    ``exp(-5)`` and the last row and column of a patch; ``h`` has the same effect.
    """
    planes = _last(_as_float(image, preserve_range), channel_axis)
    _channels(planes, "non-local means")
    if not h > 0:
        raise OptionError(f"h {h}: expected a number above 0")
    if patch_size < 1 or patch_distance < 0 or not sigma >= 0:
        raise OptionError("patch_size must be at least 1, patch_distance and sigma at least 0")
    # scikit-image sums over one row and column less than it divides by, which acts like a larger h, and leaves out small
    # weights, which undoes about half of that.
    side = 2 * (int(patch_size) // 2) + 1
    h = h * math.sqrt(side / (side - 1)) if side > 1 else h
    # In the library's words the weight is exp(-max(d² - 2s², 0) / (2 k² s²)); without any noise s only has to be small.
    small = max(float(sigma), 1e-3 * h)
    made = denoise(
        planes,
        method="nlm",
        device="cpu",
        sigma=small,
        k=h / (math.sqrt(2) * small),
        radius=int(patch_distance),
        patch=int(patch_size) // 2,
        variance="uniform",
    )
    return _first(made, channel_axis)


def denoise_bilateral(
    image: Any,
    win_size: int | None = None,
    sigma_color: float | None = None,
    sigma_spatial: float = 1,
    bins: int = 10000,
    mode: str = "constant",
    cval: float = 0,
    *,
    channel_axis: int | None = None,
) -> Array:
    """The bilateral filter. Arguments are those of ``skimage.restoration.denoise_bilateral``; weights are not rounded to ``bins``.

    The weights are those of its documentation, with its colour distance (the Euclidean one over the number of channels). scikit-image 0.26 itself
    reads its table of spatial weights shifted by a row and a column, so that its results differ. Computed in single precision.
    """
    planes = _last(_as_float(image), channel_axis)
    _channels(planes, "the bilateral filter")
    if mode not in ("constant", "edge", "symmetric", "reflect", "wrap"):
        raise OptionError(f"mode {mode}: expected constant, edge, symmetric, reflect or wrap")
    if planes.size and planes.min() == planes.max():
        return np.asarray(image)
    if win_size is None:
        win_size = max(5, 2 * math.ceil(3 * sigma_spatial) + 1)
    radius = (int(win_size) - 1) // 2
    more = {"constant_values": cval} if mode == "constant" else {}
    padded = np.pad(planes, ((radius, radius), (radius, radius), (0, 0)), mode=mode, **more)  # type: ignore[call-overload]
    made = denoise(
        padded,
        method="filter:bilateral",
        device="cpu",
        radius=radius,
        sigma_space=float(sigma_spatial),
        sigma_range=float(sigma_color or planes.std()) * planes.shape[2],
    )
    inside = made[radius : made.shape[0] - radius, radius : made.shape[1] - radius]
    return _first(inside, channel_axis)
