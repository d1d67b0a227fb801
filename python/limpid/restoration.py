"""Restoration of images with scikit-image's names and signatures, on all cores.

Replace ``from skimage.restoration import denoise_wavelet`` by ``from limpid.restoration import denoise_wavelet``; each function says how far its results
agree with those of scikit-image. Images have two axes, or three with ``channel_axis``; wavelets take volumes too.

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
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _gpu as gpu
from . import _limpid
from ._denoise import denoise
from ._errors import InputError, OptionError, UnsupportedError
from ._frame import unmasked
from ._gpu import GpuArray
from .wavelets import (
    Wavelet,
    dtcwt2,
    dwtn,
    dwtn_max_level,
    idtcwt2,
    istarlet,
    iswtn,
    starlet,
    swtn,
    threshold,
    wavedecn,
    waverecn,
)
from .wavelets._invariant import starlet_deviations
from .wavelets._multilevel import levels

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


def _last(image: Array, channel_axis: int | None, axes: int | None = 2) -> Array:
    """The image with its channels last, of which there may be only one; pictures have two more axes, volumes any number."""
    planes = image[..., None] if channel_axis is None else np.moveaxis(image, channel_axis, -1)
    if (axes is not None and planes.ndim != axes + 1) or planes.ndim < 2:
        given = "without" if channel_axis is None else "with"
        raise UnsupportedError(
            f"an array of shape {image.shape} {given} channel_axis has {image.ndim} axes; "
            "only pictures of two axes, and channels, are done here"
        )
    return planes


def _first(image: Array, channel_axis: int | None) -> Array:
    """The inverse of `_last`."""
    return image[..., 0] if channel_axis is None else np.moveaxis(image, -1, channel_axis)


def _deviation(band: Array) -> float:
    """The standard deviation of noise in a band, by the median of its magnitudes; zeros do not count."""
    middle = _limpid.median_abs(np.require(band, requirements=("C", "A")))
    return math.nan if middle is None else middle / _MEDIAN


def estimate_sigma(image: Any, average_sigmas: bool = False, *, channel_axis: int | None = None) -> Any:
    """The standard deviation of white noise, by the median of the finest diagonal wavelet coefficients, as in scikit-image.

    With ``channel_axis`` a list, or its mean with ``average_sigmas``.
    """
    unmasked(image, "image")
    array = np.asarray(image)
    if array.dtype.kind not in "fiub":
        raise InputError(f"an array of {array.dtype} is no image")
    if channel_axis is None and array.ndim == 2 and array.shape[-1] <= 4:
        warnings.warn(
            f"image is size {array.shape[-1]} on the last axis, but channel_axis is None. If this is a color image, please set "
            "channel_axis=-1 for proper noise estimation.",
            stacklevel=2,
        )
    planes = _last(array, channel_axis, None)
    finest = "d" * (planes.ndim - 1)
    found = [_deviation(dwtn(planes[..., c], "db2")[finest]) for c in range(planes.shape[-1])]
    if channel_axis is None:
        return found[0]
    return float(np.mean(found)) if average_sigmas else found


def _shrunk(image: Array, wavelet: Wavelet, method: str, sigmas: list[Any], mode: str, count: int | None) -> Array:
    """An image with its coefficients shrunk, channel by channel; the last axis is that of channels."""
    if not image.size:
        raise InputError(f"an array of shape {image.shape} is empty")
    if image.ndim != 3:
        volumes = [_shrunk_volume(image[..., c], wavelet, method, s, mode, count) for c, s in enumerate(sigmas)]
        return np.stack(volumes, axis=-1)
    height, width = image.shape[:2]
    if count is None:
        count = max(dwtn_max_level((height, width), wavelet) - 3, 1)
    count = levels((height, width), [wavelet.dec_len] * 2, count)
    factor = math.sqrt(2 * math.log(height * width)) if method == "VisuShrink" else None
    sigmas = [None if s is None else float(s) for s in sigmas]
    banks = (wavelet.dec_lo, wavelet.dec_hi, "symmetric"), (wavelet.rec_lo, wavelet.rec_hi, "symmetric")
    return _limpid.denoise_wavelet(np.require(image, requirements=("C", "A")), *banks, count, mode == "soft", factor, sigmas)


def _shrunk_volume(
    volume: Array, wavelet: Wavelet, method: str, sigma: float | None, mode: str, count: int | None
) -> Array:
    """A line, a volume, or an array of more axes with its coefficients shrunk."""
    if count is None:
        count = max(dwtn_max_level(volume.shape, wavelet) - 3, 1)
    rough, *details = wavedecn(volume, wavelet, level=count)
    if sigma is None:
        sigma = _deviation(details[-1]["d" * volume.ndim])
    square = float(sigma) ** 2

    def limit(band: Array) -> float:
        if method == "VisuShrink":
            return float(sigma) * math.sqrt(2 * math.log(volume.size))  # type: ignore[arg-type]
        signal = float(np.mean(band * band)) - square
        return square / math.sqrt(max(signal, float(np.finfo(volume.dtype).eps)))

    shrunk = [{name: threshold(band, limit(band), mode) for name, band in level.items()} for level in details]
    made = waverecn([rough, *shrunk], wavelet)
    return made[tuple(slice(side) for side in volume.shape)]


def _shrunk_invariant(
    volume: Array, wavelet: Wavelet, transform: str, method: str, sigma: float | None, mode: str, count: int | None
) -> Array:
    """One channel with its coefficients shrunk in a transform that does not depend on where the picture begins."""
    if transform == "dtcwt" and volume.ndim != 2:
        raise UnsupportedError(f"transform dtcwt is for pictures of two axes, not for {volume.ndim}")
    if sigma is None:
        sigma = _deviation(dwtn(volume, "db2")["d" * volume.ndim])
    if count is None:
        count = max(dwtn_max_level(volume.shape, wavelet if transform == "swt" else "db1") - 3, 1)
    universal = math.sqrt(2 * math.log(max(volume.size, 2)))

    def shrunk(band: Array, deviation: float) -> Array:
        if method == "VisuShrink":
            return threshold(band, deviation * universal, mode)  # type: ignore[no-any-return]
        # Of a complex band the magnitude is shrunk, whose square has both parts.
        parts = 2 if band.dtype.kind == "c" else 1
        square = parts * deviation**2
        signal = float(np.mean(np.abs(band) ** 2)) - square
        return threshold(band, square / math.sqrt(max(signal, float(np.finfo(volume.dtype).eps))), mode)  # type: ignore[no-any-return]

    with warnings.catch_warnings():
        # Levels are chosen for the finer ones.
        warnings.simplefilter("ignore", UserWarning)
        if transform == "starlet":
            low, *details = starlet(volume, count)
            noise = [sigma * d for d in starlet_deviations(count, volume.ndim)]
            return istarlet([low, *(shrunk(band, d) for band, d in zip(details, noise))])
        if transform == "dtcwt":
            low, *details = dtcwt2(volume, count)
            return idtcwt2([low, *(np.stack([shrunk(b, sigma / 2) for b in bands]) for bands in details)], volume.shape)
        # Lines along a short last axis would be short, and slow. The order of axes makes no difference to the result.
        order = np.argsort(volume.shape, kind="stable") if volume.ndim > 2 else np.arange(volume.ndim)
        volume = np.ascontiguousarray(volume.transpose(order))
        # Around itself a picture would meet its other side: it is mirrored as far as filters reach.
        unit = 1 << count
        reach = wavelet.dec_len * (unit - 1)
        widths = [(reach, reach + -(side + 2 * reach) % unit) for side in volume.shape]
        rough, *levels = swtn(np.pad(volume, widths, mode="symmetric"), wavelet, count, trim_approx=True, norm=True)
        for i, bands in enumerate(levels):
            # One by one: a band and what is left of it are in memory, not all of them twice.
            for key in bands:
                bands[key] = shrunk(bands[key], sigma * 2 ** (-0.5 * volume.ndim * (count - i)))
        whole = iswtn([rough, *levels], wavelet, norm=True)
        inside = whole[tuple(slice(before, before + side) for (before, _), side in zip(widths, volume.shape))]
        return inside.transpose(np.argsort(order))


def _shrunk_gpu(
    x: GpuArray, wavelet: Wavelet, transform: str, method: str, sigma: float | None, mode: str, count: int | None
) -> GpuArray:
    """One channel on a GPU with its coefficients shrunk."""
    if transform == "dtcwt" and x.ndim != 2:
        raise UnsupportedError(f"transform dtcwt is for pictures of two axes, not for {x.ndim}")
    diagonal = "d" * x.ndim
    if sigma is None and transform != "dwt":
        sigma = _deviation(dwtn(x, "db2")[diagonal].numpy())  # type: ignore[attr-defined]
    if count is None:
        count = max(dwtn_max_level(x.shape, wavelet if transform in ("dwt", "swt") else "db1") - 3, 1)
    universal = math.sqrt(2 * math.log(max(x.size, 2)))

    def shrunk(band: GpuArray, deviation: float) -> GpuArray:
        if method == "VisuShrink":
            return band.shrunk(mode, limit=deviation * universal)
        return band.shrunk(mode, variance=deviation**2 * (2 if band.dtype.kind == "c" else 1))

    with warnings.catch_warnings():
        if transform != "dwt":
            warnings.simplefilter("ignore", UserWarning)
        whole: Any
        if transform == "dwt":
            rough, *details = wavedecn(x, wavelet, level=count)
            if sigma is None:
                sigma = _deviation(details[-1][diagonal].numpy())
            levels = [{name: shrunk(band, sigma) for name, band in level.items()} for level in details]
            whole = waverecn([rough, *levels], wavelet)
        elif transform == "starlet":
            low, *bands = starlet(x, count)
            noise = [sigma * d for d in starlet_deviations(count, x.ndim)]  # type: ignore[operator]
            whole = istarlet([low, *(shrunk(band, d) for band, d in zip(bands, noise))])  # type: ignore[arg-type]
        elif transform == "dtcwt":
            low, *bands = dtcwt2(x, count)
            made = [gpu.stack([shrunk(b, sigma / 2) for b in level]) for level in bands]  # type: ignore[operator, arg-type]
            whole = idtcwt2([low, *made])
        else:
            return _shrunk_swt_gpu(x, wavelet, count, lambda band, deviation: shrunk(band, sigma * deviation))  # type: ignore[operator]
    return whole[tuple(slice(side) for side in x.shape)]  # type: ignore[no-any-return]


def _shrunk_swt_gpu(x: GpuArray, wavelet: Wavelet, count: int, shrunk: Any) -> GpuArray:
    """The undecimated transform of a picture with mirrored ends."""
    unit = 1 << count
    reach = wavelet.dec_len * (unit - 1)
    wide = x
    for axis, side in enumerate(x.shape):
        wide = wide._part(axis, -reach, side + 2 * reach + -(side + 2 * reach) % unit)
    rough, *levels = swtn(wide, wavelet, count, trim_approx=True, norm=True)
    for i, bands in enumerate(levels):
        for key in bands:
            bands[key] = shrunk(bands[key], 2 ** (-0.5 * x.ndim * (count - i)))
    whole = iswtn([rough, *levels], wavelet, norm=True)
    return whole[tuple(slice(reach, reach + side) for side in x.shape)]  # type: ignore[return-value]


def _denoised_gpu(
    x: GpuArray, sigma: Any, wavelet: Wavelet, options: tuple[str, str, str, int | None], channel_axis: int | None
) -> GpuArray:
    """A picture or volume on a GPU."""
    transform, method, mode, count = options
    if x.dtype.kind == "c":
        raise InputError("a complex array is no image")
    if channel_axis is None:
        return _shrunk_gpu(x, wavelet, transform, method, None if sigma is None else float(sigma), mode, count)
    if channel_axis % x.ndim:
        raise UnsupportedError("on a GPU channels come first: channel_axis=0; the CPU takes them anywhere")
    sigmas = list(sigma) if np.iterable(sigma) else [sigma] * len(x)
    if len(sigmas) != len(x):
        raise OptionError("sigma must be a scalar or have length equal to the number of channels")
    each = [None if s is None else float(s) for s in sigmas]
    return gpu.stack([_shrunk_gpu(c, wavelet, transform, method, s, mode, count) for c, s in zip(x, each)])


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
    transform: str = "dwt",
    spins: int = 0,
    device: str | None = None,
) -> Array:
    """Shrinks wavelet coefficients by BayesShrink or VisuShrink, with the results of scikit-image up to rounding.

    Arguments are those of ``skimage.restoration.denoise_wavelet``, and two more; images may have any number of axes. With
    ``spins=n`` the results for all shifts by 0 … n pixels along each axis are averaged, as by ``skimage.restoration.cycle_spin`` with
    ``max_shifts=n``. Other transforms than ``dwt`` are invariant to shifts by themselves: ``swt`` (the wavelet undecimated, which is
    the average over all shifts), ``dtcwt`` (complex and directional, for pictures) and ``starlet`` (isotropic).

    A :class:`limpid.GpuArray`, or an array of floats with ``device="gpu"``, is transformed on its GPU in single precision, and the result is there; without ``sigma``
    one band is copied back to measure the noise. Channels come first there, and ``spins`` and ``convert2ycbcr`` are for the CPU.
    """
    unmasked(image, "image")
    image = gpu.placed(image, device, floats=True)
    if isinstance(image, GpuArray) and (spins or convert2ycbcr):
        raise UnsupportedError("spins and convert2ycbcr are done on the CPU: give image.numpy(), or transform='swt' without spins")
    if transform not in ("dwt", "swt", "dtcwt", "starlet"):
        raise OptionError(f"transform {transform}: expected dwt, swt, dtcwt or starlet")
    if spins < 0:
        raise OptionError(f"spins {spins}: expected a number from 0 on")
    if spins:
        options = dict(sigma=sigma, wavelet=wavelet, mode=mode, wavelet_levels=wavelet_levels, convert2ycbcr=convert2ycbcr)
        options |= dict(method=method, rescale_sigma=rescale_sigma, channel_axis=channel_axis, transform=transform)
        return _spun(np.asarray(image), spins, channel_axis, options)
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
    if isinstance(image, GpuArray):
        return _denoised_gpu(image, sigma, wavelet, (transform, method, mode, wavelet_levels), channel_axis)  # type: ignore[return-value]
    given = np.asarray(image)
    planes = _last(_as_float(given), channel_axis, None)
    count = planes.shape[-1]
    sigmas = list(sigma) if np.iterable(sigma) else [sigma] * count
    if len(sigmas) != count:
        raise OptionError("sigma must be a scalar or have length equal to the number of channels")
    whole = given.dtype.kind != "f"
    if whole and rescale_sigma and given.size:
        before = float(given.max()) - float(given.min())
        after = float(planes.max()) - float(planes.min())
        scale = after / before if before else 1.0
        sigmas = [None if s is None else s * scale for s in sigmas]

    def shrunk(image: Array, sigmas: list[Any]) -> Array:
        if transform == "dwt" or not image.size:
            return _shrunk(image, wavelet, method, sigmas, mode, wavelet_levels)
        settings = (wavelet, transform, method)
        made = [_shrunk_invariant(image[..., c], *settings, s, mode, wavelet_levels) for c, s in enumerate(sigmas)]
        return np.stack(made, axis=-1)

    if convert2ycbcr:
        if count != 3:
            raise InputError(f"convert2ycbcr is for three channels, not {count}")
        coded = planes @ _YCBCR.T.astype(planes.dtype) + _OFFSET.astype(planes.dtype)
        if rescale_sigma and sigmas[0] is not None:
            # Of independent channels variances add up.
            squares = np.asarray(sigmas, np.float64) ** 2
            sigmas = [float(np.sqrt(np.sum(row * row * squares))) for row in _YCBCR]
        for c in range(3):
            plane = coded[..., c]
            low, width = plane.min(), plane.max() - plane.min()
            if width == 0:
                continue
            own = None if sigmas[c] is None else sigmas[c] / float(width)
            coded[..., c] = shrunk((plane - low)[..., None] / width, [own])[..., 0] * width + low
        out = ((coded - _OFFSET) @ np.linalg.inv(_YCBCR).T).astype(planes.dtype)
    else:
        out = shrunk(planes, sigmas)
    if whole:
        np.clip(out, -1 if planes.min() < 0 else 0, 1, out=out)
    return _first(out, channel_axis)


def _spun(image: Array, spins: int, channel_axis: int | None, options: dict[str, Any]) -> Array:
    """The mean over all shifts by 0 … `spins` pixels of what is left of the shifted image, shifted back."""
    axes = [a for a in range(image.ndim) if channel_axis is None or a != channel_axis % image.ndim]
    total: Any = 0
    shifts = list(product(range(spins + 1), repeat=len(axes)))
    for shift in shifts:
        made = denoise_wavelet(np.roll(image, shift, axes), **options)
        total = total + np.roll(made, [-s for s in shift], axes)
    return total / made.dtype.type(len(shifts))  # type: ignore[no-any-return]


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
