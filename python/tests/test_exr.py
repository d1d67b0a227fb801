"""EXR files beside the OpenEXR library: what one writes, the other reads bit for bit."""

import numpy as np
import pytest

import limpid

OpenEXR = pytest.importorskip("OpenEXR")
HTJ2K = [name for name in ("HTJ2K256_COMPRESSION", "HTJ2K32_COMPRESSION") if hasattr(OpenEXR, name)]


def field(height, width, k, kind):
    y, x = np.mgrid[:height, :width]
    smooth = np.sin(x / 17 + k) * 2 + np.cos(y / 9 - k) + np.random.default_rng(k).standard_normal((height, width)) * 0.02
    if kind == "u4":
        return (np.abs(smooth) * 1e6).astype("u4") + np.uint32(3 << 30)
    made = smooth.astype(kind)
    made.ravel()[: min(made.size, 4)] = [np.inf, -np.inf, -0.0, np.finfo(kind).max][: min(made.size, 4)]
    return made


def channels_of(path):
    return {name: c.pixels for name, c in OpenEXR.File(str(path), separate_channels=True).channels().items()}


def equal(a, b):
    return a.keys() == b.keys() and all(a[k].dtype == b[k].dtype and a[k].tobytes() == b[k].tobytes() for k in a)


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (65, 131), (300, 77)])
@pytest.mark.parametrize("tiles", [False, True])
@pytest.mark.parametrize("compression", HTJ2K)
def test_files_of_the_library_come_back(tmp_path, size, tiles, compression):
    kinds = {"R": "f2", "G": "f2", "B": "f2", "A": "f2", "Z": "f4", "id": "u4", "n.R": "f4", "n.G": "f4", "n.B": "f4"}
    given = {name: field(*size, k, kind) for k, (name, kind) in enumerate(kinds.items())}
    header = {"compression": getattr(OpenEXR, compression), "type": OpenEXR.tiledimage if tiles else OpenEXR.scanlineimage}
    if tiles:
        header["tiles"] = OpenEXR.TileDescription()
        header["tiles"].xSize, header["tiles"].ySize = 48, 40
    source, target = tmp_path / "a.exr", tmp_path / "b.exr"
    OpenEXR.File(header, {k: OpenEXR.Channel(v) for k, v in given.items()}).write(str(source))
    frame = limpid.read(source)
    color = np.stack([given[k] for k in "RGB"], -1).astype(np.float32)
    np.testing.assert_array_equal(frame["color"], color)
    limpid.write(target, frame)
    assert equal(channels_of(target), given)
    assert OpenEXR.File(str(target)).header()["compression"] == getattr(OpenEXR, compression)


@pytest.mark.parametrize("sample", ["half", "float"])
def test_new_files_are_read_by_the_library(tmp_path, sample):
    path = tmp_path / "a.exr"
    color = np.stack([field(70, 91, k, "f2") for k in range(3)], -1).astype(np.float32)
    color[~np.isfinite(color)] = 1
    limpid.write(path, color, compression="htj2k", sample=sample)
    found = channels_of(path)
    assert OpenEXR.File(str(path)).header()["compression"] == OpenEXR.HTJ2K256_COMPRESSION
    for c, name in enumerate("RGB"):
        assert found[name].dtype == (np.float16 if sample == "half" else np.float32)
        np.testing.assert_array_equal(found[name].astype(np.float32), color[..., c])


#: Names of compressions, and how large errors of half floats between 0 and 1 are, beside one unit of the last place.
COMPRESSIONS = {
    "none": ("NO", 0), "rle": ("RLE", 0), "zips": ("ZIPS", 0), "zip": ("ZIP", 0), "piz": ("PIZ", 0), "pxr24": ("PXR24", 0), "b44": ("B44", 0.03),
    "b44a": ("B44A", 0.03), "dwaa": ("DWAA", 0.03), "dwab": ("DWAB", 0.03), "htj2k": ("HTJ2K256", 0), "HTJ2K32": ("HTJ2K32", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_files_are_compressed_as_asked(tmp_path, name):
    theirs, most = COMPRESSIONS[name]
    path = tmp_path / "a.exr"
    y, x = np.mgrid[:70, :91]
    smooth = 0.5 + 0.3 * np.sin(x / 17)[..., None] * np.cos(y[..., None] / 9 + np.arange(3))
    color = smooth.astype(np.float16).astype(np.float32)
    limpid.write(path, color, compression=name, sample="half")
    file = OpenEXR.File(str(path))
    assert file.header()["compression"] == getattr(OpenEXR, theirs + "_COMPRESSION")
    found = file.channels()["RGB"].pixels.astype(np.float32)
    assert np.abs(found - color).max() <= most
    # What is read keeps it.
    limpid.write(tmp_path / "b.exr", limpid.read(path))
    assert OpenEXR.File(str(tmp_path / "b.exr")).header()["compression"] == getattr(OpenEXR, theirs + "_COMPRESSION")


def test_unknown_compressions_are_refused(tmp_path):
    with pytest.raises(limpid.UnknownNameError, match="none, rle, zips, zip, piz, pxr24, b44, b44a, dwaa, dwab, htj2k, htj2k32"):
        limpid.write(tmp_path / "a.exr", np.zeros((4, 4, 3), np.float32), compression="jpeg")


def deep(path, pixels, kind=OpenEXR.deepscanline, compression=OpenEXR.ZIPS_COMPRESSION, types=None):
    """A deep file: for each pixel a dictionary of lists, one number for each sample."""
    height, width = len(pixels), len(pixels[0])
    channels = {}
    for name in pixels[0][0]:
        channels[name] = np.empty((height, width), object)
        for y in range(height):
            for x in range(width):
                channels[name][y, x] = np.array(pixels[y][x][name], (types or {}).get(name, "f4"))
    header = {"type": kind, "compression": compression}
    if kind == OpenEXR.deeptile:
        header["tiles"] = OpenEXR.TileDescription()
        header["tiles"].xSize, header["tiles"].ySize = 16, 12
    OpenEXR.File(header, channels).write(str(path))


def over(pixel):
    """Samples composited front to back, in the order of their depths."""
    out, clear = np.zeros(4), 1.0
    for i in np.argsort(pixel["Z"], kind="stable"):
        out += clear * np.array([pixel[c][i] for c in "RGBA"], np.float64)
        clear *= 1 - pixel["A"][i]
        if clear <= 0:
            break
    return out


@pytest.mark.parametrize("kind", [OpenEXR.deepscanline, OpenEXR.deeptile])
@pytest.mark.parametrize("compression", ["NO", "RLE", "ZIPS"])
def test_deep_images_are_flattened(tmp_path, kind, compression):
    rng = np.random.default_rng(0)

    def pixel():
        n = rng.integers(0, 6)
        alpha = np.where(rng.random(n) < 0.2, 1, rng.random(n)).astype("f2").astype("f4")
        made = {c: (alpha * rng.random(n)).astype("f2").astype("f4") for c in "RGB"}
        return {**made, "A": alpha, "Z": (1 + 9 * rng.random(n)).astype("f4"), "id": rng.integers(0, 1 << 32, n)}

    pixels = [[pixel() for _ in range(45)] for _ in range(31)]
    types = {"R": "f2", "id": "u4"}
    path = tmp_path / "deep.exr"
    deep(path, pixels, kind, getattr(OpenEXR, compression + "_COMPRESSION"), types)
    with pytest.raises(limpid.UnsupportedError, match="deep image.*'flatten'"):
        limpid.read(path)
    frame = limpid.read(path, flatten=True)
    assert any("flattened" in note for note in frame.notes)
    wanted = np.array([[over(p) for p in row] for row in pixels])
    made = np.concatenate([frame["color"], frame["alpha"][..., None]], axis=-1)
    assert np.abs(made[..., 1:] - wanted[..., 1:]).max() < 1e-6
    # Half floats stay such.
    assert np.abs(made[..., 0] - wanted[..., 0]).max() < 1e-3
    for y, row in enumerate(pixels):
        for x, p in enumerate(row):
            depth = frame["depth"][y, x]
            assert min(p["Z"], default=0) - 1e-5 <= depth <= max(p["Z"], default=0) + 1e-5
            assert frame["id"][y, x] in p["id"].astype("f4") or not len(p["Z"])
    # The flat image is written and read like any other.
    limpid.write(tmp_path / "flat.exr", frame)
    found = channels_of(tmp_path / "flat.exr")
    assert sorted(found) == ["A", "B", "G", "R", "Z", "id"]
    assert found["R"].dtype == np.float16 and found["id"].dtype == np.uint32
    np.testing.assert_array_equal(found["G"], frame["color"][..., 1])


def test_volumes_are_seen_through_each_other(tmp_path):
    """Two volumes that overlap: light of a mixture, integrated in steps."""
    first = {"z": (3.7, 4.8), "a": 0.53, "r": 0.07}
    second = {"z": (4.0, 4.6), "a": 0.75, "r": 0.37}
    both = {"A": [first["a"], second["a"]], "R": [first["r"], second["r"]], "Z": [3.7, 4.0], "ZBack": [4.8, 4.6]}
    path = tmp_path / "deep.exr"
    deep(path, [[both, both]])
    made = limpid.read(path, layers={"color": "R"}, flatten=True)
    steps = np.linspace(3.7, 4.8, 200_001)
    middle, length = (steps[1:] + steps[:-1]) / 2, steps[1] - steps[0]
    depth, light = np.zeros_like(middle), np.zeros_like(middle)
    for s in (first, second):
        inside = (middle > s["z"][0]) & (middle < s["z"][1])
        density = -np.log1p(-s["a"]) / (s["z"][1] - s["z"][0])
        depth += inside * density
        light += inside * density * s["r"] / s["a"]
    clear = np.exp(-np.cumsum(depth) * length)
    assert abs(made["alpha"][0, 0] - (1 - clear[-1])) < 1e-5
    assert abs(made["color"].ravel()[0] - np.sum(clear * light) * length) < 1e-4


def test_damaged_deep_files_are_refused(tmp_path):
    path = tmp_path / "deep.exr"
    pixels = [[{"R": [0.5] * n, "A": [0.5] * n, "Z": list(range(n))} for n in (0, 3, 1, 2)]] * 3
    deep(path, pixels)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        broken = bytearray(whole)
        for at in rng.integers(8, len(whole), rng.integers(1, 4)):
            broken[at] = rng.integers(256)
        path.write_bytes(bytes(broken[: rng.integers(len(whole) // 2, len(whole) + 1)]))
        try:
            limpid.read(path, flatten=True)
        except limpid.Error as error:
            assert not isinstance(error, limpid.InternalError), error
