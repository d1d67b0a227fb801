"""Arrays that stay on a GPU: here on a software driver."""

import gc
import multiprocessing
import os
import pickle
import threading

import numpy as np
import pytest

import limpid
import limpid.wavelets as pywt
from limpid import GpuArray
from limpid.restoration import denoise_wavelet

#: Rounding of single precision beside double, of transforms a few levels deep, relative to the largest value.
BOUND = 2e-6


@pytest.fixture(scope="module", autouse=True)
def _gpu():
    if len(limpid.devices()) < 2:
        pytest.skip("no GPU, and no software driver of one")


def noise(*shape):
    """Doubles that are exact in single precision."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32).astype(np.float64)


def near(made, wanted):
    assert isinstance(made, GpuArray)
    assert made.shape == wanted.shape
    scale = max(1.0, float(np.abs(wanted).max()))
    assert np.abs(made.numpy() - wanted).max() < BOUND * scale


def all_near(made, wanted):
    """Whatever a transform gives."""
    assert type(made) is type(wanted) or isinstance(made, GpuArray)
    if isinstance(wanted, np.ndarray):
        near(made, wanted)
    elif isinstance(wanted, dict):
        assert made.keys() == wanted.keys()
        for key, band in wanted.items():
            all_near(made[key], band)
    else:
        assert len(made) == len(wanted)
        for a, b in zip(made, wanted):
            all_near(a, b)


MODES = ["zero", "constant", "symmetric", "periodic", "smooth", "periodization", "reflect", "antisymmetric", "antireflect"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("wavelet", ["haar", "db4", "bior2.2", "sym20"])
def test_one_level_is_that_of_the_cpu(mode, wavelet):
    for shape, axes in [((37, 52), (-2, -1)), ((3, 16, 9), (0, 2)), ((2, 45, 3), (1, 2)), ((7, 8), (1, 0))]:
        x = noise(*shape)
        there = pywt.dwtn(x, wavelet, mode, axes, device="gpu")
        here = pywt.dwtn(x, wavelet, mode, axes)
        all_near(there, here)
        all_near(pywt.idwtn(there, wavelet, mode, axes), pywt.idwtn(here, wavelet, mode, axes))
    for axis in (0, 1, 2):
        x = noise(4, 33, 5)
        there, here = pywt.dwt(x, wavelet, mode, axis, device="gpu"), pywt.dwt(x, wavelet, mode, axis)
        all_near(there, here)
        near(pywt.idwt(None, there[1], wavelet, mode, axis), pywt.idwt(None, here[1], wavelet, mode, axis))


def test_many_levels_are_those_of_the_cpu():
    x = noise(2, 101, 77)
    for forward, backward in [(pywt.wavedec2, pywt.waverec2), (pywt.wavedecn, pywt.waverecn), (pywt.wavedec, pywt.waverec)]:
        more = {"axes": (1, 2)} if forward is pywt.wavedecn else {}
        there, here = forward(x, "db3", level=2, **more, device="gpu"), forward(x, "db3", level=2, **more)
        all_near(there, here)
        near(backward(there, "db3", **more), backward(here, "db3", **more))
    there, here = pywt.wavedec2(x, "db3", level=2, device="gpu"), pywt.wavedec2(x, "db3", level=2)
    there[1] = (None, there[1][1], None)
    here[1] = (None, here[1][1], None)
    near(pywt.waverec2(there, "db3"), pywt.waverec2(here, "db3"))


def test_complex_arrays():
    x = noise(40, 31) + 1j * noise(40, 31)[::-1]
    there, here = pywt.wavedec2(x, "db2", level=2, device="gpu"), pywt.wavedec2(x, "db2", level=2)
    all_near(there, here)
    assert there[0].dtype == np.complex64
    near(pywt.waverec2(there, "db2"), pywt.waverec2(here, "db2"))
    near(pywt.threshold(there[1][0], 0.7), pywt.threshold(here[1][0], 0.7))
    near(there[0].imag, here[0].imag)


def test_undecimated_transforms():
    x = noise(2, 48, 64)
    for norm in (False, True):
        there, here = pywt.swt2(x, "db2", 3, norm=norm, device="gpu"), pywt.swt2(x, "db2", 3, norm=norm)
        all_near(there, here)
        near(pywt.iswt2(there, "db2", norm), pywt.iswt2(here, "db2", norm))
    there, here = pywt.swtn(x, "sym4", 1, device="gpu"), pywt.swtn(x, "sym4", 1)
    all_near(there, here)
    there, here = pywt.swt(x, "haar", 2, trim_approx=True, device="gpu"), pywt.swt(x, "haar", 2, trim_approx=True)
    all_near(there, here)
    near(pywt.iswt(there, "haar"), pywt.iswt(here, "haar"))


def test_transforms_that_do_not_mind_shifts():
    for shape in [(96, 64), (2, 60, 67)]:
        x = noise(*shape)
        there, here = pywt.dtcwt2(x, 2, device="gpu"), pywt.dtcwt2(x, 2)
        all_near(there, here)
        near(pywt.idtcwt2(there, shape), pywt.idtcwt2(here, shape))
        for generation in (1, 2):
            there = pywt.starlet(x, 2, (-2, -1), generation, device="gpu")
            here = pywt.starlet(x, 2, (-2, -1), generation)
            all_near(there, here)
            near(pywt.istarlet(there, (-2, -1), generation), pywt.istarlet(here, (-2, -1), generation))
    with pytest.raises(NotImplementedError, match="last two axes"):
        pywt.dtcwt2(noise(32, 3, 32), 1, axes=(0, 2), device="gpu")


@pytest.mark.parametrize("transform", ["dwt", "swt", "dtcwt", "starlet"])
@pytest.mark.parametrize("method", ["BayesShrink", "VisuShrink"])
def test_denoising_is_that_of_the_cpu(transform, method):
    y, x = np.mgrid[0:90, 0:120]
    clean = (np.sin(x / 9) * np.cos(y / 7)).astype(np.float32).astype(np.float64)
    noisy = (clean + 0.2 * noise(90, 120)).astype(np.float32).astype(np.float64)
    for sigma in (None, 0.2):
        options = dict(sigma=sigma, wavelet="db2", method=method, transform=transform)
        here = denoise_wavelet(noisy, **options)
        there = denoise_wavelet(noisy, **options, device="gpu")
        near(there, here)
        assert np.mean((there.numpy() - clean) ** 2) < 0.3 * np.mean((noisy - clean) ** 2)
    channels = np.stack([noisy, noisy[::-1], 0.5 * noisy])
    near(
        denoise_wavelet(channels, transform=transform, channel_axis=0, device="gpu"),
        denoise_wavelet(channels, transform=transform, channel_axis=0),
    )


def test_volumes_are_denoised():
    z, y, x = np.mgrid[0:20, 0:33, 0:24]
    volume = (np.sin(x / 4) + np.cos(y / 5) * np.sin(z / 6) + noise(20, 33, 24)).astype(np.float32).astype(np.float64)
    for transform in ("dwt", "swt", "starlet"):
        options = dict(sigma=1.0, wavelet="db1", wavelet_levels=2, transform=transform)
        near(denoise_wavelet(volume, **options, device="gpu"), denoise_wavelet(volume, **options))


def test_thresholds():
    x = noise(1000)
    x[:3] = 0, 0.5, -0.5
    there = GpuArray(x)
    for mode in ("soft", "hard", "garrote"):
        for value in (0, 0.5):
            near(pywt.threshold(there, value, mode, substitute=2), pywt.threshold(x, value, mode, substitute=2))
    with pytest.raises(NotImplementedError, match="greater"):
        pywt.threshold(there, 1, "greater")


def test_nothing_is_copied_between_calls():
    device = limpid.device("gpu")
    x = GpuArray(noise(128, 96))
    before = device.transfers
    coeffs = pywt.wavedec2(x, "db4", level=3)
    coeffs[1:] = [tuple(pywt.threshold(band, 0.1) for band in level) for level in coeffs[1:]]
    y = pywt.waverec2(coeffs, "db4")
    y = pywt.istarlet(pywt.starlet(y, 2))
    y = pywt.iswt2(pywt.swt2(y, "db2", 2), "db2")
    y = pywt.idtcwt2(pywt.dtcwt2(y, 2))
    y = denoise_wavelet(y, sigma=0.1, transform="swt")
    y = 0.5 * (y + y[:, :] - y / 2.0)
    assert device.transfers == before
    y.numpy()
    assert device.transfers == (before[0], before[1] + 1)
    denoise_wavelet(x)                                      # measures the noise in one band
    assert device.transfers == (before[0], before[1] + 2)


def test_the_handle():
    x = noise(5, 6)
    there = GpuArray(x)
    assert repr(there) == "GpuArray(shape=(5, 6), dtype=float32, device='gpu')"
    assert (there.ndim, there.size, there.nbytes, len(there)) == (2, 30, 120, 5)
    assert (there.numpy() == x).all()
    assert np.asarray(there).dtype == np.float32
    assert np.asarray(there, np.float64).dtype == np.float64
    assert (np.from_dlpack(there) == x).all()
    assert there.__dlpack_device__() == (1, 0)
    assert (GpuArray(there).numpy() == x).all()
    assert (pickle.loads(pickle.dumps(there)).numpy() == x).all()
    for key in [1, -1, slice(1, 3), (slice(None), 2), (..., slice(2, 5)), (slice(-3, -1), slice(0, 4)), (2, 3)]:
        assert (there[key].numpy() == x[key]).all(), key
        assert there[key].shape == x[key].shape
    z = x + 1j * x[::-1]
    assert (GpuArray(z)[1:3, 2].numpy() == z[1:3, 2]).all()
    near(there * 2 - there / 4, x * 2 - x / 4)
    near(-there, -x)
    assert [row.shape for row in there] == [(6,)] * 5
    for wrong in [np.s_[::2], np.s_[[1, 2]], np.s_[None]]:
        with pytest.raises((NotImplementedError, IndexError)):
            there[wrong]
    with pytest.raises(IndexError):
        there[5]


def test_what_numpy_understands_is_taken():
    assert GpuArray([[1, 2], [3, 4]]).numpy().tolist() == [[1, 2], [3, 4]]
    assert GpuArray(np.arange(12).reshape(3, 4)[::-1, ::2].astype(">f8")).numpy().tolist() == [[8, 10], [4, 6], [0, 2]]
    assert GpuArray(memoryview(b"\1\2")).numpy().tolist() == [1, 2]
    torch = pytest.importorskip("torch")
    assert GpuArray(torch.ones(3)).numpy().tolist() == [1, 1, 1]
    assert torch.from_dlpack(GpuArray(np.ones(3))).tolist() == [1, 1, 1]


def test_devices_are_not_mixed():
    x = GpuArray(noise(16, 16))
    other = GpuArray(noise(16, 16), "gpu:0")
    low, bands = pywt.dwt2(x, "haar")
    with pytest.raises(limpid.DeviceError, match="NumPy's memory"):
        pywt.idwt2((low, (bands[0].numpy(), bands[1], bands[2])), "haar")
    with pytest.raises(limpid.DeviceError, match="on gpu, another on gpu:0"):
        x + other
    with pytest.raises(limpid.DeviceError, match="on gpu, not on cpu"):
        pywt.dwt2(x, "haar", device="cpu")
    with pytest.raises(TypeError):
        x + np.ones((16, 16))
    with pytest.raises(TypeError):
        np.ones((16, 16)) * x
    with pytest.raises(limpid.DeviceError, match="kept on a GPU"):
        GpuArray(np.ones(3), "cpu")
    with pytest.raises(limpid.InputError, match="cannot be added"):
        x + x[1:]
    assert isinstance(pywt.dwt2(noise(16, 16), "haar", device="cpu")[0], np.ndarray)


def test_what_a_gpu_does_not_do_says_so():
    x = GpuArray(noise(16, 16))
    with pytest.raises(limpid.InputError, match="empty"):
        x[0:0]
    with pytest.raises(ValueError, match="size zero"):
        pywt.dwt2(np.zeros((0, 4)), "haar", device="gpu")
    with pytest.raises(limpid.UnsupportedError, match="done on the CPU"):
        denoise_wavelet(x, spins=1)
    with pytest.raises(limpid.UnsupportedError, match="channel_axis=0"):
        denoise_wavelet(x, channel_axis=-1)
    with pytest.raises(limpid.InputError, match="floats"):
        denoise_wavelet(np.ones((8, 8), np.uint8), device="gpu")
    with pytest.raises(TypeError):
        pywt.dwt2(np.array([["a", "b"], ["c", "d"]]), "haar", device="gpu")


def test_what_is_made_of_transforms_stays_there_too():
    x = noise(32, 40)
    there, here = pywt.WaveletPacket2D(GpuArray(x), "db2", maxlevel=2), pywt.WaveletPacket2D(x, "db2", maxlevel=2)
    near(there["hd"].data, here["hd"].data)
    near(there.reconstruct(update=False), x)


def test_what_has_no_gpu_code_runs_on_the_cpu():
    x = noise(32, 40)
    assert isinstance(pywt.cwt(GpuArray(x[0]), [2, 4], "morl")[0], np.ndarray)
    for work in (lambda x: pywt.mra2(x, "db2", level=2)[0], lambda x: pywt.fswavedecn(x, "db2").coeffs):
        assert np.allclose(work(GpuArray(x)), work(x), atol=1e-5)
    assert np.allclose(pywt.pad(GpuArray(x), 2, "reflect"), pywt.pad(x, 2, "reflect"), atol=1e-6)
    assert pywt.coeffs_to_array(pywt.wavedec2(x, "haar", level=1, device="gpu"))[0].shape == (32, 40)


def test_denoise_takes_and_gives_them():
    x = np.clip(0.5 + 0.1 * noise(40, 56, 3), 0, 1)
    there = limpid.denoise(GpuArray(x), method="nlm", sigma=0.1)
    here = limpid.denoise(x, method="nlm", sigma=0.1, device="gpu")
    near(there, here)


def test_memory_stays_flat():
    x = GpuArray(noise(512, 512))

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def rounds(count):
        for _ in range(count):
            coeffs = pywt.wavedec2(x, "db2", level=3)
            pywt.waverec2(coeffs, "db2")
        x.numpy()
        gc.collect()

    if not os.path.exists("/proc/self/statm"):
        pytest.skip("no /proc")
    rounds(10)
    before = resident()
    rounds(60)
    # 60 rounds make 480 MiB of arrays.
    assert resident() - before < 40 << 20


def test_arrays_outlive_their_device():
    x = noise(33, 21)
    there = GpuArray(x)
    limpid._denoise._devices.pop((os.getpid(), "gpu", None))
    gc.collect()
    near(pywt.waverec2(pywt.wavedec2(there, "haar"), "haar")[:33, :21], x)
    # The device is another one now.
    with pytest.raises(limpid.DeviceError):
        there + GpuArray(x)


def test_threads_share_a_device():
    x = noise(64, 80)
    wanted = pywt.wavedec2(x, "db3", level=2)
    failed = []

    def work(seed):
        try:
            for i in range(8):
                factor = float(seed + i + 1)
                coeffs = pywt.wavedec2(GpuArray(factor * x), "db3", level=2)
                for a, b in zip(coeffs[1], wanted[1]):
                    near(a * (1 / factor), b)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(10 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def _in_child(there, answers):
    found = []
    for work in (lambda: there.numpy(), lambda: pywt.dwt2(there, "haar"), lambda: there + there):
        try:
            work()
            found.append("worked")
        except limpid.DeviceError as error:
            found.append(str(error))
    answers.put(found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_says_what_to_do():
    there = GpuArray(noise(8, 8))
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_in_child, args=(there, answers))
    child.start()
    found = answers.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    assert len(found) == 3
    assert all("spawn" in text for text in found)
    # The parent's array is as it was.
    assert there.numpy().shape == (8, 8)
