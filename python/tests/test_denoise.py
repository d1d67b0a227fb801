"""Arrays in, arrays out."""

import os
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import limpid


def test_a_render_comes_nearer_to_its_reference(render):
    reference = limpid.render("cornell", size=(48, 40), spp=256, seed=9)
    clean = limpid.denoise(render)
    before = limpid.compare(render, reference)["relmse"]
    assert limpid.compare(clean, reference)["relmse"] < 0.5 * before


def test_layers_by_keyword_are_those_of_the_frame(render):
    names = ["albedo", "normal", "position", "depth", "visibility"]
    whole = limpid.denoise(
        {"color": render["color"], "color.variance": render["color.variance"], **{n: render[n] for n in names}},
        method="nfor",
        device="cpu",
    )
    parts = limpid.denoise(
        render["color"],
        variance=render["color.variance"],
        method="nfor",
        device="cpu",
        **{n: render[n] for n in names},
    )
    np.testing.assert_array_equal(whole.color, parts)


def test_halves_and_lights(render):
    color = render["color"]
    lights = {"key": color * np.float32(0.75), "fill": color * np.float32(0.25)}
    clean = limpid.denoise(
        color,
        albedo=render["albedo"],
        normal=render["normal"],
        halves=(render["color.a"], render["color.b"]),
        lights=lights,
        device="cpu",
    )
    assert set(clean) >= {"color", "light:key", "light:fill"}
    total = clean["light:key"] + clean["light:fill"]
    np.testing.assert_allclose(total, clean.color, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "uint8", "uint16"])
@pytest.mark.parametrize("channels", [0, 1, 3, 4])
def test_type_and_shape_come_back(photo, kind, channels):
    color = photo[:, :, 0] if channels == 0 else np.concatenate([photo, np.ones((40, 56, 1))], 2)[:, :, :channels]
    scale = {"uint8": 255, "uint16": 65535}.get(kind, 1)
    given = np.round(color * scale).astype(kind) if scale > 1 else color.astype(kind)
    clean = limpid.denoise(given, method="nlm", sigma=0.08, device="cpu")
    assert clean.shape == given.shape and clean.dtype == given.dtype
    plain = limpid.denoise(color.astype("float32"), method="nlm", sigma=0.08, device="cpu")
    error = np.abs(clean.astype("float64") / scale - plain).max()
    assert error < {"float16": 2e-3, "uint8": 6e-3, "uint16": 1e-4}.get(kind, 1e-6), error
    if channels == 4:
        np.testing.assert_array_equal(clean[:, :, 3], given[:, :, 3])


def test_any_layout_gives_the_same(photo):
    color = photo.astype("float32")
    usual = limpid.denoise(color, sigma=0.1, device="cpu")
    planar = np.ascontiguousarray(color.transpose(2, 0, 1)).transpose(1, 2, 0)
    fortran = np.asfortranarray(color)
    every_other = np.zeros((80, 112, 3), "float32")
    every_other[::2, ::2] = color
    backwards = np.ascontiguousarray(color[::-1, ::-1])[::-1, ::-1]
    swapped = color.astype(">f4")
    locked = color.copy()
    locked.flags.writeable = False
    for given in (planar, fortran, every_other[::2, ::2], backwards, swapped, locked):
        np.testing.assert_array_equal(limpid.denoise(given, sigma=0.1, device="cpu"), usual)
    # Planes one after the other stay so.
    assert limpid.denoise(planar, sigma=0.1, device="cpu").transpose(2, 0, 1).flags.c_contiguous
    assert usual.flags.c_contiguous
    np.testing.assert_array_equal(color, photo.astype("float32"))


def test_what_speaks_array_or_dlpack_is_taken(photo):
    color = photo.astype("float32")

    class Array:
        def __array__(self, dtype=None, copy=None):
            return color

    class Dlpack:
        def __dlpack__(self, **more):
            return color.__dlpack__(**more)

        def __dlpack_device__(self):
            return color.__dlpack_device__()

    usual = limpid.denoise(color, sigma=0.1, device="cpu")
    for given in (Array(), Dlpack(), color.tolist()):
        np.testing.assert_allclose(limpid.denoise(given, sigma=0.1, device="cpu"), usual, atol=1e-6)


def test_torch_tensors(photo):
    torch = pytest.importorskip("torch")
    color = torch.tensor(photo, dtype=torch.float32)
    clean = limpid.denoise(color, sigma=0.1, device="cpu")
    np.testing.assert_array_equal(clean, limpid.denoise(color.numpy(), sigma=0.1, device="cpu"))


def test_missing_samples_do_not_spread(photo, caplog):
    color = photo.astype("float32")
    color[3, 4] = np.nan
    color[10, 11, 0] = np.inf
    clean = limpid.denoise(color, sigma=0.1, device="cpu")
    assert np.isfinite(clean).all()
    assert "2 pixels are NaN or infinite" in caplog.text


def test_options_are_those_of_the_table():
    listed = limpid.methods()
    assert {"auto", "nlm", "nfor", "svgf", "filter:gaussian", "reconstruct:poisson"} <= set(listed)
    color = np.full((16, 16, 3), 0.5, "float32")
    for name in ("nlm", "ddid", "eaw", "filter:gaussian"):
        options = {o.name: o.default for o in listed[name].options if o.default not in ("", "auto")}
        options.pop("noise", None)
        if any(o.name == "sigma" for o in listed[name].options):
            options["sigma"] = 0.1
        limpid.denoise(color, method=name, device="cpu", **options)


def test_values_of_options(photo):
    color = photo.astype("float32")
    by_text = limpid.denoise(color, method="nlm", sigma="20/255", patchwise="true", device="cpu")
    by_value = limpid.denoise(color, method="nlm", sigma=20 / 255, patchwise=True, device="cpu")
    np.testing.assert_allclose(by_text, by_value, atol=1e-6)
    half = limpid.denoise(color, method="nlm", sigma=20 / 255, patchwise=True, strength=0.5, device="cpu")
    np.testing.assert_allclose(half, (color + by_value) / 2, atol=1e-6)
    tiled = limpid.denoise(color, method="nlm", sigma=20 / 255, patchwise=True, tile=48, device="cpu")
    np.testing.assert_allclose(tiled, by_value, atol=1e-6)


def test_a_denoiser_keeps_history():
    frames = [limpid.render("corridor", size=(40, 32), spp=1, frame=i) for i in range(4)]
    denoiser = limpid.Denoiser("svgf", device="cpu")
    first = [denoiser(f).color for f in frames]
    alone = [limpid.denoise(f, method="svgf", device="cpu").color for f in frames]
    np.testing.assert_array_equal(first[0], alone[0])
    assert np.abs(first[3] - alone[3]).max() > 1e-4
    denoiser.reset()
    again = [denoiser(f).color for f in frames]
    for a, b in zip(first, again):
        np.testing.assert_array_equal(a, b)
    other = pickle.loads(pickle.dumps(denoiser))
    np.testing.assert_array_equal(other(frames[0]).color, first[0])


def test_progress_goes_up_to_one():
    told = []
    limpid.render("cornell", size=(160, 160), spp=24, progress=told.append)
    assert told[-1] == 1.0
    assert all(0 <= share <= 1 for share in told) and told == sorted(told)


def test_a_fault_of_progress_stops_the_work():
    def fail(share):
        raise LookupError("enough")

    begin = time.monotonic()
    with pytest.raises(LookupError, match="enough"):
        limpid.render("cornell", size=(512, 512), spp=4096, progress=fail)
    assert time.monotonic() - begin < 20


def test_the_lock_is_free_meanwhile():
    color = np.random.default_rng(0).random((128, 128, 3), dtype="float32")
    counted = [0]
    done = threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    limpid.denoise(color, method="ddid", sigma=0.1, device="cpu")
    done.set()
    thread.join()
    assert counted[0] > 10


def test_many_threads_at_once(photo):
    color = photo.astype("float32")
    usual = limpid.denoise(color, sigma=0.1, device="cpu")
    made = []
    threads = [
        threading.Thread(target=lambda: made.append(limpid.denoise(color, sigma=0.1, device="cpu")))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 6
    for one in made:
        np.testing.assert_array_equal(one, usual)


def test_plans_state_their_reach(photo):
    assert limpid.plan(photo, method="nlm", radius=5, patch=2, sigma=0.1, device="cpu").reach == 7
    assert limpid.plan(photo, method="filter:gaussian", radius=4, device="cpu").reach == 4
    assert "nlm" in str(limpid.plan(photo, method="nlm", sigma=0.1, device="cpu"))


def test_noise_profiles_can_be_kept(photo):
    profile = limpid.noise_profile(photo)
    by_profile = limpid.denoise(photo, method="nlm", noise=profile, device="cpu")
    by_picture = limpid.denoise(photo, method="nlm", noise=photo, device="cpu")
    np.testing.assert_allclose(by_profile, by_picture, atol=1e-5)


def test_every_device_that_is_there(photo):
    color = photo.astype("float32")
    cpu = limpid.denoise(color, method="nlm", sigma=0.1, device="cpu")
    try:
        limpid.device("gpu")
    except limpid.DeviceError as error:
        assert "driver" in str(error)
        return
    gpu = limpid.denoise(color, method="nlm", sigma=0.1, device="gpu")
    np.testing.assert_allclose(gpu, cpu, atol=2e-3)


_FORK = """
import functools, multiprocessing
import numpy as np, limpid
a = np.random.default_rng(0).random((32, 32, 3)).astype("float32")
one = functools.partial(limpid.denoise, sigma=0.1)
expected = one(a)
kept = limpid.Denoiser("nlm", sigma=0.1)
again = kept(a)
limpid.device("cpu", 1)
with multiprocessing.get_context("fork").Pool(2) as pool:
    for made in pool.map(one, [a, a]) + pool.map(functools.partial(one, threads=1), [a, a]):
        np.testing.assert_allclose(made, expected, atol=1e-4)

def child():
    np.testing.assert_allclose(kept(a), again, atol=1e-4)
    try:
        limpid.denoise(a, device="gpu", sigma=0.1)
    except limpid.DeviceError as error:
        assert "spawn" in str(error)
    else:
        raise AssertionError("a driver does not survive a fork")

process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
assert process.exitcode == 0
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_denoises():
    # A process of its own, which can be ended: it used to wait for ever.
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", _FORK], capture_output=True, text=True, timeout=120)
    assert ran.stdout == "done\n", ran.stderr


def test_channels_may_come_first(photo):
    color = photo.astype("float32")
    usual = limpid.denoise(color, sigma=0.1, device="cpu")
    first = limpid.denoise(color.transpose(2, 0, 1), sigma=0.1, device="cpu", channel_axis=0)
    np.testing.assert_array_equal(first.transpose(1, 2, 0), usual)
    with pytest.raises(limpid.OptionError, match="channel_axis"):
        limpid.denoise(color, channel_axis=7)


def test_devices_say_what_they_are():
    assert limpid.devices()[0].startswith("cpu (")
    assert repr(limpid.device("cpu")).startswith("<limpid.Device cpu (")
