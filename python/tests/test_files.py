"""Files, metrics, pages, renders."""

import pickle

import numpy as np
import pytest

import limpid


def test_all_layers_come_back(render, tmp_path):
    path = tmp_path / "render.exr"
    limpid.write(path, render, texts={"shot": "12"})
    again = limpid.read(path)
    assert set(again) == set(render)
    for name in render:
        np.testing.assert_array_equal(again[name], render[name])
    assert again.origin.text("shot") == "12" and again.transfer == "linear"
    # What the frame does not change survives.
    clean = limpid.denoise(again)
    limpid.write(tmp_path / "clean.exr", clean)
    last = limpid.read(tmp_path / "clean.exr")
    assert set(last) == set(render) - {"color.a", "color.b", "color.variance"}
    np.testing.assert_array_equal(last["normal"], render["normal"])
    np.testing.assert_array_equal(last["color"], clean["color"])


@pytest.mark.parametrize("kind", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [0, 3, 4])
def test_whole_numbers_survive_png(tmp_path, kind, channels):
    shape = (5, 7, channels) if channels else (5, 7)
    top = np.iinfo(kind).max
    values = np.random.default_rng(0).integers(0, top, shape, dtype=kind, endpoint=True)
    limpid.write(tmp_path / "a.png", values)
    again = limpid.read(tmp_path / "a.png")
    assert again.transfer == "encoded"
    color = np.round(again["color"] * top).astype(kind)
    np.testing.assert_array_equal(color, values[..., :3] if channels else values)


def test_names_in_files_can_be_said(tmp_path):
    frame = limpid.Frame({"color": np.ones((4, 4, 3)), "light:N": np.full((4, 4, 3), 0.5)})
    limpid.write(tmp_path / "a.exr", frame)
    taken = limpid.read(tmp_path / "a.exr", layers={"normal": "N"})
    assert (taken["normal"] == 0.5).all()


def test_scores_are_those_of_numpy(photo):
    noisy = photo + 0.05
    scores = limpid.compare(noisy, photo, space="display")
    assert scores["mse"] == pytest.approx(np.mean((noisy.astype("f4") - photo.astype("f4")) ** 2), rel=1e-5)
    assert 0 < scores["flip"] < 1 and scores["ssim"] < 1 and scores["missing"] == 0
    shown = limpid.compare(noisy, photo, space="display", picture=True)
    assert shown["flip_picture"].shape == photo.shape
    assert limpid.compare(photo, photo)["psnr"] == np.inf
    whole = (photo * 255).astype("uint8")
    assert limpid.compare(whole, whole)["mse"] == 0


def test_floats_are_compared_as_they_are():
    rng = np.random.default_rng(3)
    clean = rng.uniform(0.3, 0.7, (128, 128))
    noisy = clean + rng.normal(0, 0.1, clean.shape)
    # The rule of denoise: arrays are used unchanged.
    assert limpid.compare(noisy, clean)["psnr"] == pytest.approx(20, abs=0.1)
    wide = limpid.compare(255 * noisy, 255 * clean, data_range=255)
    assert wide["psnr"] == pytest.approx(20, abs=0.1)
    assert wide["mse"] == pytest.approx(25.5**2, rel=0.03)
    # Frames know what they are.
    light = limpid.Frame(color=clean)
    assert limpid.compare(noisy, light) == limpid.compare(noisy, clean, space="linear")
    with pytest.raises(limpid.OptionError, match="data_range"):
        limpid.compare(noisy, light, data_range=2)
    with pytest.raises(limpid.OptionError, match="data_range"):
        limpid.compare(noisy, clean, data_range=0)


def test_a_page_is_written(photo, tmp_path):
    path = tmp_path / "page.html"
    scores = limpid.page({"noisy <1>": photo + 0.05, "grey": photo * 0 + 0.5}, photo, path, space="display")
    assert set(scores) == {"noisy <1>", "grey"} and scores["grey"]["mse"] > 0
    text = path.read_text()
    assert text.count("data:image/png") >= 5 and "noisy \\u003c1>" in text


def test_frames_show_themselves(render):
    assert render._repr_png_().startswith(b"\x89PNG")
    assert limpid.Frame(depth=np.ones((2, 2)))._repr_png_() is None
    assert "48x40" in repr(render)
    assert limpid.picture((np.ones((3, 3, 4)) * 255).astype("uint8")).startswith(b"\x89PNG")


def test_frames_are_mappings(render):
    copy = pickle.loads(pickle.dumps(render))
    assert set(copy) == set(render)
    copy["light:key"] = copy["color"]
    del copy["depth"]
    assert "depth" in render and "depth" not in copy
    np.testing.assert_array_equal(np.asarray(render), render.color)


def test_renders_are_repeatable():
    a = limpid.render("glossy", size=(20, 10), spp=2, seed=3)
    b = limpid.render("glossy", size=(20, 10), spp=2, seed=3)
    c = limpid.render("glossy", size=(20, 10), spp=2, seed=4)
    np.testing.assert_array_equal(a["color"], b["color"])
    assert (a["color"] != c["color"]).any()
    assert a["color"].shape == (10, 20, 3) and a["depth"].shape == (10, 20)
    gradients = limpid.render("glossy", size=(20, 10), spp=2, gradients=True)
    assert "dx" in gradients
    assert limpid.denoise(gradients, method="reconstruct:poisson", device="cpu").color.shape == (10, 20, 3)


def test_stacks_are_read_and_written_page_by_page(tmp_path):
    rng = np.random.default_rng(0)
    stack = rng.integers(0, 65536, (7, 20, 31), dtype=np.uint16)
    limpid.write_pages(tmp_path / "a.tif", stack)
    pages = limpid.read_pages(tmp_path / "a.tif")
    assert len(pages) == 7
    for page, own in zip(pages, stack):
        assert (np.rint(page["color"] * 65535).astype(np.uint16) == own).all()
    # What was read is written with the bits that it had.
    limpid.write_pages(tmp_path / "b.tif", pages)
    again = limpid.read_pages(tmp_path / "b.tif")
    assert all((a["color"] == b["color"]).all() for a, b in zip(again, pages))
    with pytest.raises(limpid.UnsupportedError, match="several pages"):
        limpid.read(tmp_path / "a.tif")
    with pytest.raises(limpid.UnsupportedError, match="in .tif"):
        limpid.write_pages(tmp_path / "a.png", stack)
    assert len(limpid.read_pages(tmp_path / "a.tif")) == 7
    limpid.write(tmp_path / "one.png", stack[0])
    assert len(limpid.read_pages(tmp_path / "one.png")) == 1


def test_stacks_of_other_programs_are_read(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    rng = np.random.default_rng(0)
    stack = rng.integers(0, 256, (5, 33, 40), dtype=np.uint8)
    kinds = [{}, {"bigtiff": True}, {"byteorder": ">"}, {"compression": "zlib"}, {"tile": (16, 16)}, {"imagej": True}, {"ome": True}]
    for how in kinds:
        tifffile.imwrite(tmp_path / "a.tif", stack, **how)
        pages = limpid.read_pages(tmp_path / "a.tif")
        assert len(pages) == 5, how
        assert all((np.rint(page["color"] * 255) == own).all() for page, own in zip(pages, stack)), how
        limpid.write_pages(tmp_path / "b.tif", pages)
        assert (tifffile.imread(tmp_path / "b.tif") == stack).all(), how
