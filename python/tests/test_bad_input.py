"""Wrong input is told by exceptions; nothing aborts."""

import subprocess
import sys
import textwrap
import signal
import time

import numpy as np
import pytest

import limpid
from limpid import _limpid

GOOD = np.full((8, 8, 3), 0.5, "float32")


@pytest.mark.parametrize(
    "color",
    [
        np.zeros((0, 8, 3)),
        np.zeros((8, 0)),
        np.zeros((8, 8, 0)),
        np.zeros(8),
        np.zeros((2, 8, 8, 3)),
        np.zeros((8, 8, 5)),
        np.zeros((8, 8, 3), "complex64"),
        np.zeros((8, 8, 3), "int32"),
        np.zeros((8, 8, 3), "datetime64[s]"),
        np.array([["a", "b"], ["c", "d"]]),
        np.empty((4, 4), object),
        [[1, 2], [3]],
        None,
        "picture",
        {},
    ],
    ids=str,
)
def test_what_is_no_image_is_refused(color):
    with pytest.raises((ValueError, TypeError)):
        limpid.denoise(color, device="cpu")


def test_layers_must_fit():
    with pytest.raises(limpid.InputError, match="normal is 8x9, the frame is 8x8"):
        limpid.denoise(GOOD, normal=np.zeros((9, 8, 3)))
    with pytest.raises(limpid.InputError, match="layer normal has 2 channels; expected 3"):
        limpid.denoise(GOOD, normal=np.zeros((8, 8, 2)), device="cpu")
    with pytest.raises(limpid.InputError, match="whole numbers above"):
        limpid.denoise(GOOD, id=np.full((8, 8), 1 << 25))
    with pytest.raises(limpid.InputError, match="two arrays"):
        limpid.denoise(GOOD, halves=(GOOD,))
    with pytest.raises(limpid.MissingLayerError, match="color"):
        limpid.denoise(limpid.Frame(depth=np.ones((4, 4))), device="cpu")


def test_names_get_the_nearest():
    with pytest.raises(limpid.UnknownNameError, match="Did you mean 'nlm'"):
        limpid.denoise(GOOD, method="nml")
    with pytest.raises(limpid.UnknownNameError, match="Did you mean 'radius'"):
        limpid.denoise(GOOD, method="nlm", radios=3, device="cpu")
    with pytest.raises(limpid.UnknownNameError, match="Did you mean 'albedo'"):
        limpid.denoise({"color": GOOD, "albdo": GOOD}, device="cpu")
    with pytest.raises(limpid.UnknownNameError, match="unknown device"):
        limpid.denoise(GOOD, device="cpuu")
    with pytest.raises(limpid.DeviceError):
        limpid.denoise(GOOD, device="gpu:no such card")
    with pytest.raises(limpid.UnknownNameError, match="Did you mean 'cornell'"):
        limpid.render("cornel")


def test_values_of_options_are_checked():
    for options in (
        {"sigma": -1.0},
        {"sigma": "many"},
        {"sigma": float("nan")},
        {"radius": -1},
        {"radius": 1.5},
        {"radius": 1000},
        {"strength": 2.0},
        {"threads": 0},
        {"patchwise": "perhaps"},
        {"sigma": object()},
        {"tile": -5},
        {"strength": "much"},
        {"schedule": "none such"},
    ):
        with pytest.raises(limpid.Error):
            limpid.denoise(GOOD, method="nlm", device="cpu", **{"sigma": 0.1, **options})
    with pytest.raises(limpid.InputError, match="name"):
        limpid.denoise(GOOD, method=3)
    with pytest.raises(limpid.MissingLayerError):
        limpid.denoise(GOOD, method="reconstruct:poisson", device="cpu")


def test_files_tell_what_is_wrong(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.exr"):
        limpid.read(tmp_path / "none.exr")
    (tmp_path / "broken.exr").write_bytes(b"\x76\x2f\x31\x01\x02\x00\x00\x00 and no more")
    with pytest.raises(limpid.InputError, match="broken.exr"):
        limpid.read(tmp_path / "broken.exr")
    with pytest.raises(limpid.Error, match="jpg"):
        limpid.write(tmp_path / "picture.jpgg", GOOD)
    with pytest.raises(limpid.OptionError, match="8 or 16"):
        limpid.write(tmp_path / "picture.png", GOOD, bits=12)
    with pytest.raises(limpid.Error, match="does not exist"):
        limpid.write(tmp_path / "no" / "picture.png", GOOD)
    assert [p.name for p in tmp_path.iterdir()] == ["broken.exr"]
    with pytest.raises(limpid.InputError, match="same size"):
        limpid.compare(GOOD, GOOD[:4])
    with pytest.raises(limpid.UnknownNameError, match="display"):
        limpid.compare(GOOD, GOOD, space="displ")


def test_a_panic_is_an_exception():
    with pytest.raises(limpid.InternalError, match="as asked"):
        _limpid.panic_for_tests(0.0)
    # And all goes on.
    assert limpid.denoise(GOOD, sigma=0.1, device="cpu").shape == GOOD.shape


def test_one_denoiser_is_for_one_thread_at_a_time():
    import threading

    denoiser = limpid.Denoiser("ddid", device="cpu", sigma=0.1)
    color = np.random.default_rng(0).random((120, 120, 3), dtype="float32")
    faults = []

    def work():
        try:
            denoiser(color)
        except limpid.InputError as error:
            faults.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("another thread" in fault for fault in faults) and len(faults) < 3


SCRIPT = """
import limpid, signal, sys
# A shell starts what runs in the background with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
try:
    limpid.render("glossy", size=(1024, 1024), spp=100000)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
"""


def test_ctrl_c_stops_the_work():
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(SCRIPT)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline().strip() == "ready"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    begin = time.monotonic()
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 7 and "interrupted" in out
    assert time.monotonic() - begin < 30


def test_arrays_may_begin_at_any_byte():
    import limpid.wavelets

    room = bytearray(8 * 8 * 3 * 4 + 1)
    odd = np.frombuffer(room, "float32", offset=1, count=8 * 8 * 3).reshape(8, 8, 3)
    assert not odd.flags.aligned
    assert limpid.denoise(odd, sigma=0.1, device="cpu").shape == odd.shape
    assert limpid.wavelets.dwt2(odd, "db2", axes=(0, 1))[0].shape == (5, 5, 3)
    assert limpid.compare(odd, odd)["mse"] == 0


def test_a_name_of_a_file_is_no_picture(tmp_path):
    for name in ("photo.png", tmp_path / "photo.png"):
        with pytest.raises(limpid.InputError, match="photo.png' is a name; limpid.read opens"):
            limpid.denoise(name)


def test_modules_come_with_their_package():
    code = "import limpid; print(limpid.wavelets.dwt2.__name__, limpid.restoration.estimate_sigma.__name__, hasattr(limpid, 'nothere'))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["dwt2", "estimate_sigma", "False"]


def test_masks_are_not_lost():
    x = np.ma.masked_greater(np.random.default_rng(0).random((32, 32)), 0.9)
    calls = [
        lambda x: limpid.denoise(x),
        lambda x: limpid.compare(x, np.zeros((32, 32))),
        lambda x: limpid.noise_profile(x),
        lambda x: limpid.Frame(color=x),
        lambda x: limpid.denoise_frames(x[None]),
        lambda x: limpid.wavelets.wavedec2(x, "db1", level=1),
        lambda x: limpid.wavelets.idwt(x, None, "db1"),
        lambda x: limpid.wavelets.threshold(x, 0.5),
        lambda x: limpid.restoration.denoise_wavelet(x),
        lambda x: limpid.restoration.estimate_sigma(x),
        lambda x: limpid.GpuArray(x),
    ]
    for call in calls:
        with pytest.raises(limpid.InputError, match="its mask would be lost"):
            call(x)
    # Without a masked value there is nothing to lose, and missing samples are filled.
    assert limpid.denoise(np.ma.array(x.data)).shape == (32, 32)
    assert np.isfinite(limpid.denoise(x.filled(np.nan))).all()
