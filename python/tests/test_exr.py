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


def test_unknown_compressions_are_refused(tmp_path):
    with pytest.raises(limpid.OptionError, match="htj2k"):
        limpid.write(tmp_path / "a.exr", np.zeros((4, 4, 3), np.float32), compression="jpeg")
