"""Transforms that do not mind shifts, denoising with them, and whole numbers."""

import numpy as np
import pytest

import limpid.restoration as restoration
import limpid.wavelets as ours

pytestmark = pytest.mark.filterwarnings("ignore:Level value")


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["symmetric", "periodization", "reflect"])
def test_dual_trees_come_back(kind, mode):
    x = np.random.default_rng(1).random((2, 61, 90)).astype(kind)
    coeffs = ours.dtcwt2(x, 3, mode)
    assert coeffs[-1].shape[:2] == (6, 2) and coeffs[-1].real.dtype == kind
    np.testing.assert_allclose(ours.idtcwt2(coeffs, x.shape, mode), x, atol=1e-12 if kind == "float64" else 1e-5)
    turned = ours.dtcwt2(np.moveaxis(x, 0, -1), 3, mode, axes=(0, 1))
    np.testing.assert_allclose(turned[1], coeffs[1], atol=1e-5)


def test_dual_trees_preserve_energy_and_mind_no_shift():
    x = np.random.default_rng(2).random((128, 64))
    energy = sum((np.abs(band) ** 2).sum() for band in ours.dtcwt2(x, 3, "periodization"))
    assert abs(energy / (x**2).sum() - 1) < 1e-10

    def spread(energies):
        energies = np.array(energies)
        return (energies.std(axis=0) / energies.mean(axis=0)).max()

    edges = [np.tile(np.arange(128) < 60 + shift, (128, 1)).astype(float) for shift in range(16)]
    complex_ones = spread([[(np.abs(b) ** 2).sum() for b in ours.dtcwt2(e, 4, "periodization")[1:]] for e in edges])
    real_ones = spread([[sum((b**2).sum() for b in bands) for bands in ours.wavedec2(e, "sym7", "periodization", 4)[1:]] for e in edges])
    assert complex_ones < 0.04 < 0.2 < real_ones


def test_dual_trees_know_directions():
    y, x = np.mgrid[0:128, 0:128]
    for k, angle in enumerate((15, -15, 75, -75, 45, -45)):
        # Stripes along the angle, which goes up to the right.
        along = np.deg2rad(angle)
        # Of the diagonal bands both frequencies are high.
        frequency = 0.26 if abs(angle) == 45 else 0.16
        wave = np.cos(2 * np.pi * frequency * (x * np.sin(along) + y * np.cos(along)))
        energies = (np.abs(ours.dtcwt2(wave, 3, "periodization")[2]) ** 2).sum(axis=(1, 2))
        assert energies.argmax() == k, (angle, energies)


def test_starlets():
    x = np.random.default_rng(3).random((40, 33, 20))
    for generation in (1, 2):
        for axes in (None, (0, 2)):
            coeffs = ours.starlet(x, 2, axes, generation)
            np.testing.assert_allclose(ours.istarlet(coeffs, axes, generation), x, atol=1e-14)
    # By hand: a spline with gaps, mirrored at the ends.
    line = np.random.default_rng(4).random(2100)
    padded = np.pad(line, 2, mode="reflect")
    smooth = np.convolve(padded, np.array([1, 4, 6, 4, 1]) / 16, "valid")
    padded = np.pad(smooth, 4, mode="reflect")
    again = np.convolve(padded, np.array([1, 0, 4, 0, 6, 0, 4, 0, 1]) / 16, "valid")
    low, coarse, fine = ours.starlet(line, 2)
    np.testing.assert_allclose(fine, line - smooth, atol=1e-14)
    np.testing.assert_allclose(coarse, smooth - again, atol=1e-14)
    noise = np.random.default_rng(5).standard_normal((256, 256))
    found = [band.std() for band in ours.starlet(noise, 3)[1:]]
    np.testing.assert_allclose(found, ours._invariant.starlet_deviations(3, 2), rtol=0.05)


def test_denoising_gets_better():
    peer = pytest.importorskip("skimage.restoration")
    data = pytest.importorskip("skimage.data")
    clean = data.camera()[100:300, 100:340] / 255
    noisy = clean + np.random.default_rng(6).normal(0, 0.1, clean.shape)

    def psnr(image):
        return -10 * np.log10(np.mean((image - clean) ** 2))

    plain = psnr(restoration.denoise_wavelet(noisy))
    spun = restoration.denoise_wavelet(noisy, spins=2)
    np.testing.assert_allclose(spun, peer.cycle_spin(noisy, func=peer.denoise_wavelet, max_shifts=2), atol=1e-12)
    assert psnr(spun) > plain + 1
    for transform, more in (("swt", 1.5), ("dtcwt", 1.0), ("starlet", 0.4)):
        assert psnr(restoration.denoise_wavelet(noisy, transform=transform)) > plain + more, transform
        color = np.repeat(noisy[..., None], 3, axis=-1)
        made = restoration.denoise_wavelet(color, transform=transform, channel_axis=-1)
        assert made.shape == color.shape
    with pytest.raises(ValueError, match="expected dwt, swt"):
        restoration.denoise_wavelet(noisy, transform="fft")
    with pytest.raises(NotImplementedError):
        restoration.denoise_wavelet(np.zeros((8, 8, 8)), transform="dtcwt")


def _line(x):
    """JPEG 2000's steps as they are written there, for one line."""
    n = len(x)
    if n == 1:
        return x, x[:0]
    at = lambda v, i: v[-i if i < 0 else 2 * (len(v) - 1) - i if i >= len(v) else i]  # noqa: E731
    d = [x[2 * i + 1] - (at(x, 2 * i) + at(x, 2 * i + 2)) // 2 for i in range(n // 2)]
    detail = lambda i: d[min(max(i, 0), len(d) - 1)]  # noqa: E731
    s = [x[2 * i] + (detail(i - 1) + detail(i) + 2) // 4 for i in range((n + 1) // 2)]
    return np.array(s), np.array(d)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 64, 4001])
def test_whole_numbers_come_back(n):
    x = np.random.default_rng(n).integers(-(2**15), 2**15, (2, n), dtype=np.int16)
    low, high = ours.wavedec53(x, level=1, axes=(1,))[0], ours.wavedec53(x, level=1, axes=(1,))[1]["d"]
    for line, s, d in zip(x.astype(int), low, high):
        expected = _line(line)
        np.testing.assert_array_equal(s, expected[0])
        np.testing.assert_array_equal(d, expected[1])
    for shape in ((n, 3), (3, n, 5), (2, 9, 8, 7)):
        y = np.random.default_rng(n).integers(-(2**31), 2**31, shape, dtype=np.int32)
        np.testing.assert_array_equal(ours.waverec53(ours.wavedec53(y, level=2)), y)
    with pytest.raises(TypeError):
        ours.wavedec53(np.ones(4))


@pytest.mark.parametrize("shape", [(20, 31, 7), (9, 8, 30), (6, 12, 13, 3)])
def test_the_order_of_axes_does_not_matter(shape):
    volume = np.random.default_rng(3).normal(0.5, 0.1, shape)
    options = dict(sigma=0.1, wavelet="db2", wavelet_levels=1, transform="swt")
    made = restoration.denoise_wavelet(volume, **options)
    turned = restoration.denoise_wavelet(volume.T, **options).T
    np.testing.assert_allclose(made, turned, atol=1e-12)
    assert made.std() < 0.8 * volume.std()


def test_volumes_go_from_zarr_to_zarr(tmp_path):
    """Whole numbers of a detector in chunks on disk, denoised chunk by chunk, as the whole volume is."""
    dask = pytest.importorskip("dask")
    da = pytest.importorskip("dask.array")
    zarr = pytest.importorskip("zarr")
    import limpid.dask

    counts = np.clip(np.random.default_rng(8).normal(3000, 300, (26, 50, 41)), 0, 4095).astype(np.uint16)
    stored = zarr.create_array(tmp_path / "noisy.zarr", shape=counts.shape, chunks=(13, 20, 41), dtype=counts.dtype)
    stored[:] = counts
    options = dict(sigma=0.07, wavelet="db2", wavelet_levels=1, method="VisuShrink")
    clean = limpid.dask.denoise_wavelet(da.from_zarr(stored) / np.float32(4095), **options)
    made = (clean.clip(0, 1) * 4095).round().astype(np.uint16).rechunk(stored.chunks)
    with dask.config.set(scheduler="threads"):
        made.to_zarr(tmp_path / "clean.zarr")
    whole = restoration.denoise_wavelet(counts / np.float32(4095), **{**options, "transform": "swt"})
    expected = (whole.clip(0, 1) * 4095).round()
    found = zarr.open_array(tmp_path / "clean.zarr", mode="r")
    assert found.dtype == np.uint16 and found.shape == counts.shape
    # Rounding to whole numbers may turn a last bit of a sum into one count.
    assert np.abs(found[:].astype(float) - expected).max() <= 1
    assert found[:].std() < 0.5 * counts.std()


@pytest.mark.parametrize("transform", ["swt", "starlet"])
def test_volumes_in_chunks_are_whole_volumes(transform):
    da = pytest.importorskip("dask.array")
    import limpid.dask

    volume = np.random.default_rng(7).normal(0.5, 0.1, (18, 50, 41))
    options = dict(sigma=0.1, wavelet="db2", wavelet_levels=2, method="VisuShrink", transform=transform)
    chunks = da.from_array(volume, chunks=(18, 21, 20))
    made = limpid.dask.denoise_wavelet(chunks, **options).compute(scheduler="threads")
    np.testing.assert_allclose(made, restoration.denoise_wavelet(volume, **options), atol=1e-12)
    four = da.from_array(volume[None].repeat(2, axis=0), chunks=(1, 18, 25, 41))
    assert limpid.dask.denoise_wavelet(four, transform=transform).compute(scheduler="threads").shape == (2, 18, 50, 41)
    with pytest.raises(limpid.InputError, match="no range"):
        limpid.dask.denoise_wavelet(da.ones((4, 4), dtype=int))
