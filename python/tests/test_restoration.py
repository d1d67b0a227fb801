"""limpid.restoration against scikit-image."""

import numpy as np
import pytest

import limpid
from limpid import restoration as ours

theirs = pytest.importorskip("skimage.restoration")
data = pytest.importorskip("skimage.data")


@pytest.fixture(scope="module")
def picture():
    """A photograph, grey and in colour, with noise of 0.1."""
    rng = np.random.default_rng(0)
    color = data.astronaut()[100:260, 120:310] / 255.0
    noisy = color + rng.normal(0, 0.1, color.shape)
    return color, noisy


def psnr(a, b):
    return -10 * np.log10(np.mean((a - b) ** 2))


def test_sigma_is_the_same(picture):
    _, noisy = picture
    assert ours.estimate_sigma(noisy[..., 0]) == pytest.approx(theirs.estimate_sigma(noisy[..., 0]), rel=1e-12)
    np.testing.assert_allclose(
        ours.estimate_sigma(noisy, channel_axis=-1), theirs.estimate_sigma(noisy, channel_axis=-1), rtol=1e-12
    )
    first = np.moveaxis(noisy, -1, 0).astype("float32")
    mean = ours.estimate_sigma(first, True, channel_axis=0)
    assert mean == pytest.approx(theirs.estimate_sigma(first, True, channel_axis=0), rel=1e-5)
    whole = np.clip(noisy * 255, 0, 255).astype("uint8")[..., 1]
    assert ours.estimate_sigma(whole) == pytest.approx(theirs.estimate_sigma(whole), rel=1e-12)


@pytest.mark.parametrize("kind", ["float64", "float32", "uint8"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "VisuShrink", "mode": "hard", "wavelet": "db2"},
        {"sigma": 0.1, "wavelet": "sym4", "wavelet_levels": 3},
        {"convert2ycbcr": True},
        {"convert2ycbcr": True, "sigma": 0.1},
    ],
    ids=str,
)
def test_wavelet_shrinkage_is_the_same(picture, kind, options):
    _, noisy = picture
    given = (np.clip(noisy, 0, 1) * 255).astype("uint8") if kind == "uint8" else noisy.astype(kind)
    if kind == "uint8" and "sigma" in options:
        options = {**options, "sigma": 25.5}
    mine = ours.denoise_wavelet(given, channel_axis=-1, **options)
    expected = theirs.denoise_wavelet(given, channel_axis=-1, **options)
    assert mine.dtype == expected.dtype and mine.shape == expected.shape
    tolerance = 1e-10 if kind != "float32" else 2e-5
    if options.get("mode") == "hard" and kind == "float32":
        # A coefficient at the threshold itself may fall either way.
        assert np.mean(np.abs(mine - expected) > tolerance) < 1e-3
    else:
        np.testing.assert_allclose(mine, expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("channels", [None, -1])
@pytest.mark.parametrize("options", [{}, {"h": 0.08, "sigma": 0.1}, {"patch_size": 5, "patch_distance": 6, "h": 0.12}], ids=str)
def test_non_local_means_is_as_good(picture, channels, options):
    clean, noisy = picture
    if channels is None:
        clean, noisy = clean[..., 1], noisy[..., 1]
    mine = ours.denoise_nl_means(noisy, channel_axis=channels, **options)
    expected = theirs.denoise_nl_means(noisy, fast_mode=True, channel_axis=channels, **options)
    assert mine.dtype == expected.dtype
    assert np.abs(mine - expected).mean() < 0.01
    assert psnr(mine, clean) > psnr(expected, clean) - 0.1


def bilateral(image, radius, space, color, mode):
    """The definition, in NumPy."""
    height, width, channels = image.shape
    padded = np.pad(image, ((radius, radius), (radius, radius), (0, 0)), mode=mode)
    total, weights = 0, 0
    for j in range(2 * radius + 1):
        for i in range(2 * radius + 1):
            other = padded[j : j + height, i : i + width]
            apart = ((other - image) ** 2).sum(2, keepdims=True) / channels**2
            far = (i - radius) ** 2 + (j - radius) ** 2
            weight = np.exp(-far / (2 * space**2) - apart / (2 * color**2))
            total, weights = total + weight * other, weights + weight
    return total / weights


@pytest.mark.parametrize("mode", ["constant", "edge", "symmetric", "reflect", "wrap"])
def test_bilateral_is_its_definition(picture, mode):
    clean, noisy = picture
    clean, given = clean[:80, :90], np.clip(noisy[:80, :90], 0, 1)
    mine = ours.denoise_bilateral(given, sigma_color=0.1, sigma_spatial=2, mode=mode, channel_axis=-1)
    np.testing.assert_allclose(mine, bilateral(given, 6, 2, 0.1, mode), atol=1e-5)
    grey = ours.denoise_bilateral(given[..., 0], win_size=5, mode=mode)
    expected = bilateral(given[..., :1], 2, 1, given[..., 0].std(), mode)
    np.testing.assert_allclose(grey, expected[..., 0], atol=1e-5)
    peer = theirs.denoise_bilateral(given, sigma_color=0.1, sigma_spatial=2, mode=mode, channel_axis=-1)
    assert psnr(mine, clean) > psnr(peer, clean)


def test_wrong_input_is_told():
    flat = np.ones((8, 8))
    for call in (
        lambda: ours.denoise_wavelet(flat, method="Sure"),
        lambda: ours.denoise_wavelet(flat, mode="softer"),
        lambda: ours.denoise_wavelet(flat, convert2ycbcr=True),
        lambda: ours.denoise_wavelet(flat, wavelet="db99"),
        lambda: ours.denoise_wavelet(np.ones((8, 8, 3)), sigma=[1, 2], channel_axis=-1),
        lambda: ours.denoise_nl_means(flat, h=0),
        lambda: ours.denoise_nl_means(flat, patch_size=0),
        lambda: ours.denoise_bilateral(flat + np.eye(8), mode="mirror"),
        lambda: ours.estimate_sigma(np.ones((8, 8), complex)),
    ):
        with pytest.raises(ValueError):
            call()
    for call in (
        lambda: ours.denoise_nl_means(np.ones((4, 4, 4))),
        lambda: ours.denoise_nl_means(np.ones((4, 4, 4)), channel_axis=-1),
    ):
        with pytest.raises(NotImplementedError):
            call()
    assert issubclass(limpid.UnsupportedError, NotImplementedError)


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("options", [{}, {"method": "VisuShrink", "wavelet": "db2"}, {"sigma": 0.1}], ids=str)
def test_volumes_are_shrunk_as_by_scikit_image(kind, options):
    rng = np.random.default_rng(2)
    z, y, x = np.mgrid[0:20, 0:33, 0:24]
    volume = (np.sin(x / 5) * np.cos(y / 6) + z / 20 + rng.normal(0, 0.1, x.shape)).astype(kind)
    assert ours.estimate_sigma(volume) == pytest.approx(theirs.estimate_sigma(volume), rel=1e-4)
    mine, expected = ours.denoise_wavelet(volume, **options), theirs.denoise_wavelet(volume, **options)
    assert mine.dtype == expected.dtype
    np.testing.assert_allclose(mine, expected, atol=1e-10 if kind == "float64" else 2e-5)
    colors = np.stack([volume, 0.5 * volume], axis=0)
    mine, expected = (f(colors, channel_axis=0) for f in (ours.denoise_wavelet, theirs.denoise_wavelet))
    np.testing.assert_allclose(mine, expected, atol=1e-10 if kind == "float64" else 2e-5)


def test_signals_are_shrunk_as_by_scikit_image():
    rng = np.random.default_rng(3)
    signal = np.sin(np.arange(300) / 20) + rng.normal(0, 0.1, 300)
    np.testing.assert_allclose(ours.denoise_wavelet(signal), theirs.denoise_wavelet(signal), atol=1e-10)


def test_functions_of_scikit_image_take_ours(picture):
    _, noisy = picture
    small = noisy[:64, :64].astype("float32")
    grey = small[..., 0]
    calibrated = theirs.calibrate_denoiser(grey, ours.denoise_wavelet, {"sigma": [0.05, 0.1, 0.2]})
    assert calibrated(grey).shape == grey.shape
    spun = theirs.cycle_spin(small, ours.denoise_wavelet, max_shifts=1, func_kw={"channel_axis": -1}, channel_axis=-1)
    np.testing.assert_allclose(
        spun,
        theirs.cycle_spin(small, theirs.denoise_wavelet, max_shifts=1, func_kw={"channel_axis": -1}, channel_axis=-1),
        atol=1e-4,
    )
