"""Films, stacks, channels and ranges as people have them."""

import numpy as np
import pytest

import limpid


@pytest.fixture
def film():
    """A static picture with fresh grain in each frame, and the picture."""
    rng = np.random.default_rng(3)
    y, x = np.mgrid[0:32, 0:48]
    clean = 0.5 + 0.3 * (np.sin(x / 5) * np.cos(y / 6))[..., None] * np.ones(3)
    noisy = clean + rng.normal(0, 0.08, (6, *clean.shape))
    return noisy.astype("float32"), clean


def error(made, clean):
    return float(np.mean((np.asarray(made, "float64") - clean) ** 2))


def test_a_film_is_better_with_frames_on_both_sides(film):
    noisy, clean = film
    denoiser = limpid.Denoiser("film", "cpu")
    one_sided = [denoiser(frame) for frame in noisy]
    first = denoiser.push(noisy[0])
    assert first == []
    with pytest.raises(limpid.InputError, match="waiting"):
        denoiser(noisy[1])
    denoiser.reset()
    both = list(denoiser.frames(noisy))
    assert len(both) == len(noisy) and denoiser.finish() == []
    assert all(frame.shape == noisy[0].shape for frame in both)
    # The first frame has nothing before it, but frames after it.
    assert error(both[0], clean) < 0.8 * error(one_sided[0], clean)
    np.testing.assert_array_equal(limpid.denoise_frames(noisy, method="film", device="cpu"), both)


def test_a_film_that_was_stopped_begins_anew(film):
    noisy, _ = film
    denoiser = limpid.Denoiser("film", "cpu")
    both = list(denoiser.frames(noisy))
    told = []
    made = [one for frame in noisy[:4] for one in denoiser.push(frame, progress=told.append)]
    assert len(made) < 4 and told.count(1.0) == 4

    def stop(share):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        denoiser.push(noisy[4], progress=stop)
    # Nothing of the frames before is left.
    assert denoiser.finish() == []
    made = [one for frame in noisy for one in denoiser.push(frame)] + denoiser.finish(progress=told.append)
    np.testing.assert_array_equal(made, both)


def test_frames_of_a_stack_may_be_alone(film):
    noisy, _ = film
    told = []
    alone = limpid.denoise_frames(noisy, over_time=False, device="cpu", progress=told.append)
    np.testing.assert_array_equal(alone[2], limpid.denoise(noisy[2], device="cpu"))
    assert told[-1] == 1.0 and len(told) == len(noisy)
    # Channels first, grey, and a list.
    first = limpid.denoise_frames(np.moveaxis(noisy, -1, 1), over_time=False, device="cpu", channel_axis=1)
    np.testing.assert_array_equal(np.moveaxis(first, 1, -1), alone)
    grey = limpid.denoise_frames(noisy[:2, :, :, 1], over_time=False, device="cpu")
    np.testing.assert_array_equal(grey[1], limpid.denoise(noisy[1, :, :, 1], device="cpu"))
    listed = limpid.denoise_frames(list(noisy[:2]), over_time=False, device="cpu")
    np.testing.assert_array_equal(listed[1], alone[1])


def test_stacks_that_are_none_are_refused():
    for wrong in (np.zeros((4, 4)), np.zeros((0, 8, 8)), limpid.Frame(color=np.zeros((4, 4, 3)))):
        with pytest.raises(limpid.InputError):
            limpid.denoise_frames(wrong, device="cpu")
    with pytest.raises(limpid.OptionError, match="channel_axis"):
        limpid.denoise_frames(np.zeros((2, 8, 8, 3)), device="cpu", channel_axis=0)
    with pytest.raises(limpid.InputError, match="denoise_frames"):
        limpid.denoise(np.zeros((2, 8, 8, 3)), device="cpu")
    with pytest.raises(limpid.InputError, match="channel_axis=0"):
        limpid.denoise(np.zeros((3, 8, 8)), device="cpu")


@pytest.mark.parametrize("kind", ["int16", "uint16", "int32", "int64", "float32", "float64"])
def test_white_may_be_any_number(photo, kind):
    white = 4095
    given = np.rint(photo * white).astype(kind)
    clean = limpid.denoise(given, data_range=white, sigma=0.08 * white, method="nlm", device="cpu")
    assert clean.dtype == given.dtype
    plain = limpid.denoise((given / white).astype("float32"), sigma=0.08, method="nlm", device="cpu")
    np.testing.assert_allclose(clean / white, plain, atol=0.6 / white)


def test_white_must_be_known(photo):
    whole = (photo * 255).astype("int64")
    with pytest.raises(limpid.InputError, match="data_range"):
        limpid.denoise(whole, device="cpu")
    for wrong in (0, -1, float("inf"), "white"):
        with pytest.raises(limpid.OptionError, match="data_range"):
            limpid.denoise(whole, device="cpu", data_range=wrong)
    with pytest.raises(limpid.OptionError, match="layers"):
        limpid.denoise(whole, device="cpu", data_range=255, halves=(whole, whole))
    profile = limpid.noise_profile(whole, data_range=255)
    assert profile == limpid.noise_profile((whole / 255).astype("float32"))


def test_frames_of_light_are_renders(photo, tmp_path):
    color = photo.astype("float32")
    light = limpid.Frame(color=color)
    np.testing.assert_array_equal(
        limpid.denoise(light, device="cpu").color, limpid.denoise(color, method="neural", device="cpu")
    )
    denoiser = limpid.Denoiser(device="cpu")
    for given, method in [
        (light, "neural"),
        (color, "film"),
        (limpid.Frame(color=color, transfer="encoded"), "film"),
    ]:
        denoiser(given)
        assert denoiser.method == method
    for name, method in [("light.exr", "neural"), ("light.pfm", "neural"), ("floats.tif", "film")]:
        limpid.write(tmp_path / name, color)
        denoiser(limpid.read(tmp_path / name))
        assert denoiser.method == method, name


def test_channels_may_come_first_everywhere(photo, tmp_path):
    color = photo.astype("float32")
    first = np.ascontiguousarray(np.moveaxis(color, -1, 0))
    assert limpid.picture(first, channel_axis=0) == limpid.picture(color)
    darker = limpid.compare(0.9 * first, first, channel_axis=0)
    assert darker == limpid.compare(0.9 * color, color)
    assert limpid.noise_profile(first, channel_axis=0) == limpid.noise_profile(color)
    limpid.write(tmp_path / "first.exr", first, channel_axis=0)
    np.testing.assert_array_equal(limpid.read(tmp_path / "first.exr")["color"], color)
    page = limpid.page({"darker": 0.9 * first}, first, tmp_path / "page.html", channel_axis=0)
    assert page["darker"]["psnr"] == darker["psnr"]
    denoiser = limpid.Denoiser("nlm", "cpu", channel_axis=0, sigma=0.08)
    clean = denoiser(first)
    assert clean.shape == first.shape and clean.flags.c_contiguous
    assert repr(denoiser) == "limpid.Denoiser('nlm', 'cpu', channel_axis=0, sigma=0.08)"
    np.testing.assert_array_equal(np.moveaxis(clean, 0, -1), limpid.denoise(color, method="nlm", device="cpu", sigma=0.08))
