"""The parts of the extension that need no Blender."""

import importlib.util
import os
import pathlib
import re
import time
import zipfile

import numpy as np
import pytest

import limpid
from extension import exr, light, naming, passes, process, worker

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, where pytest brings it
    import tomli as tomllib

SOURCE = pathlib.Path(__file__).resolve().parents[2]
#: A file of Blender 5.0 with all passes of light, two light groups, Cryptomatte and two view layers (bench/peers/small_renders.py).
PASSES = SOURCE / "crates/limpid-cli/tests/renders/blender-passes.exr"
#: One with a single pass of light, whose colour was not rendered.
FEW = SOURCE / "crates/limpid-cli/tests/renders/blender-cycles.exr"
OPTIONS = {"device": "cpu", "quality": "good"}

spec = importlib.util.spec_from_file_location("build_extension", SOURCE / "blender/build.py")
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)


def denoised(source, folder, **options):
    """A file through the process; the events, and the path of the result."""
    target = str(folder / "results" / "clean.exr")
    job = process.Job([{"frame": 1, "source": str(source), "target": target}], OPTIONS | options)
    return job, job.wait(0.01), target


def layer(path, name, kind="light:x"):
    return limpid.read(path, {kind: name})[kind]


def test_channels_are_read_from_the_header():
    names = exr.channels(PASSES)
    assert len(names) == len(set(names))
    layers = passes.view_layers(names)
    assert [layer.name for layer in layers] == ["ViewLayer", "Back"]
    assert layers[0].passes["Combined"] == set("RGBA")
    assert layers[0].passes["Denoising Depth"] == {"Z"}
    assert {"Combined_key", "Combined_fill", "CryptoObject00", "Diffuse Color"} <= set(layers[0].passes)


def test_damaged_files_are_refused(tmp_path):
    whole = PASSES.read_bytes()
    for data, words in ((b"", "damaged"), (b"\x89PNG\r\n\x1a\n" + bytes(40), "not an OpenEXR"), (whole[:200], "damaged")):
        path = tmp_path / "bad.exr"
        path.write_bytes(data)
        with pytest.raises(exr.NoExr, match=words):
            exr.channels(path)


def test_names_of_old_and_new_files_mean_the_same():
    def plan(lights):
        names = ["Combined.R", "Combined.A", "Denoising Albedo.R", "Denoising Normal.X", *(f"{n}.R" for n in lights)]
        (found,) = passes.view_layers([f"View.Layer.{name}" for name in names])
        return passes.reading(found)

    old = plan(["DiffDir", "DiffInd", "DiffCol", "GlossDir", "Emit", "Combined_key.001"])
    assert old.layers["color"] == "View.Layer.Combined"
    assert old.products == {
        "light:DiffDir": "light:DiffCol",
        "light:DiffInd": "light:DiffCol",
        "light:GlossDir": passes.STAND_IN,
    }
    assert old.stand_in and not old.complete and old.noisy is None
    assert old.layers["light:Combined_key.001"] == "View.Layer.Combined_key.001"
    new = plan(["Diffuse Direct", "Diffuse Color", "Noisy Image"])
    assert new.products == {"light:Diffuse Direct": "light:Diffuse Color"}
    assert new.noisy == "View.Layer.Noisy Image"


def test_a_render_without_features_is_refused():
    (found,) = passes.view_layers(["L.Combined.R", "L.Combined.G", "L.Combined.B", "L.Depth.Z"])
    with pytest.raises(passes.NoPasses, match="Denoising Data"):
        passes.reading(found)
    assert passes.view_layers(["R", "G", "B", "Composite.Combined.R"]) == []


def test_all_passes_add_up_and_the_rest_stays(tmp_path):
    job, events, target = denoised(PASSES, tmp_path)
    assert not job.errors and job.progress == 1
    (done,) = [event for event in events if event["event"] == "done"]
    assert len(done["sums"]) == 2 and all(after < 1e-4 for _, after in done["sums"])
    names = exr.channels(PASSES)
    assert exr.channels(target) == names
    changed = {name.rpartition(".")[0] for name in names if not np.array_equal(layer(PASSES, name), layer(target, name))}
    wanted = {"Combined", "Combined_key", "Combined_fill", "Diffuse Direct", "Diffuse Color", "Glossy Indirect"}
    own = {name.removeprefix("ViewLayer.") for name in changed if name.startswith("ViewLayer.")}
    assert wanted <= own and {f"Back.{name}" for name in ("Combined", "Diffuse Direct")} <= changed
    assert not [name for name in own if name.startswith(("Crypto", "Denoising", "Vector", "Depth"))]
    # The sums once more, from the file.
    for view in ("ViewLayer", "Back"):
        get = lambda name: layer(target, f"{view}.{name}")  # noqa: B023, E731
        color = get("Combined")
        lobes = [get(f"{lobe} Color") * (get(f"{lobe} Direct") + get(f"{lobe} Indirect")) for lobe in ("Diffuse", "Glossy", "Transmission")]
        total = sum(lobes) + get("Volume Direct") + get("Volume Indirect") + get("Emission")
        assert np.abs(total - color).max() <= 1e-4 * max(1, color.max())
        # The world is in a group, but the film is transparent.
        groups = get("Combined_key") + get("Combined_fill") - get("Environment")
        assert np.abs(groups - color).max() <= 1e-4 * max(1, color.max())
    # Light stays within what was there, and is smoother.
    before, after = layer(PASSES, "ViewLayer.Diffuse Direct"), layer(target, "ViewLayer.Diffuse Direct")
    assert after.min() >= 0 and after.max() <= before.max() * 1.001
    assert np.abs(np.diff(after, axis=1)).mean() < 0.8 * np.abs(np.diff(before, axis=1)).mean()


def test_light_stays_light_whatever_was_filtered():
    """Splines may leave a part below zero, or a colour too dark for its light."""
    plan = passes.Reading({}, {"light:Direct": "light:Color", "light:Indirect": "light:Color"}, False, None, True)
    given = {"light:Direct": [0.5, -0.1, 0.2, 0.3], "light:Indirect": [0.1, 0.3, 0.1, -0.4], "light:Color": [0.4, 0.2, 0.0, 0.5], "light:Emit": [0, 0.1, 0, 0]}
    frame = {name: np.array(values, "float32") for name, values in given.items()}
    parts = [name for name in frame if name != "light:Color"]
    total = sum(frame[name] for name in parts)
    frame["light:Color"] *= np.float32(light.SHARE)
    light.settle(frame, parts)
    light.divide(frame, plan, {"light:Direct": 2.0, "light:Indirect": 4.0})
    made = frame["light:Color"] * (frame["light:Direct"] + frame["light:Indirect"]) + frame["light:Emit"]
    np.testing.assert_allclose(made, total, atol=1e-6)
    for name, most in (("light:Direct", 2), ("light:Indirect", 4)):
        assert (frame[name][:3] >= 0).all() and (frame[name] <= 1.001 * most).all()
    assert (frame["light:Color"] >= 0).all() and frame["light:Color"][0] == np.float32(0.4)


def test_the_image_is_that_of_one_call(tmp_path):
    job, _, target = denoised(FEW, tmp_path, strength=0.5)
    assert not job.errors
    frame = limpid.denoise(limpid.read(FEW), strength=0.5, **OPTIONS)
    found = limpid.read(target)
    # The file has half floats.
    for name in ("color", "alpha"):
        assert np.array_equal(found[name], frame[name].astype(np.float16)), name
    assert np.array_equal(found["albedo"], limpid.read(FEW)["albedo"])
    # Light without its colour becomes a mean of the light around.
    before, after = layer(FEW, "ViewLayer.Diffuse Direct"), layer(target, "ViewLayer.Diffuse Direct")
    assert not np.array_equal(before, after) and after.max() <= before.max() * 1.001


def test_what_fails_is_said_and_the_next_frame_follows(tmp_path):
    frames = [
        {"frame": 1, "source": str(tmp_path / "none.exr"), "target": str(tmp_path / "out" / "1.exr")},
        {"frame": 2, "source": str(SOURCE / "crates/limpid-cli/tests/renders/mitsuba-dd.exr"), "target": str(tmp_path / "2.exr")},
        {"frame": 3, "source": str(FEW), "target": str(tmp_path / "out" / "3.exr")},
    ]
    job = process.Job(frames, OPTIONS)
    events = job.wait(0.01)
    assert [event["event"] for event in events if event["event"] != "progress"] == ["start", "failed", "failed", "done", "end"]
    assert len(job.errors) == 2 and "none.exr" in job.errors[0] and "MultiLayer" in job.errors[1]
    assert sorted(os.listdir(tmp_path / "out")) == ["3.exr"]


def test_a_job_stops_within_a_second(tmp_path):
    frames = [{"frame": n, "source": str(PASSES), "target": str(tmp_path / f"{n}.exr")} for n in range(500)]
    job = process.Job(frames, OPTIONS)
    while not (job.finished or job.ended):
        job.poll()
        time.sleep(0.01)
    begin = time.monotonic()
    job.stop()
    while not (job.ended and job.gone):
        job.poll()
        time.sleep(0.01)
    # A second, and as much again for a busy machine.
    assert time.monotonic() - begin < 2
    assert not job.errors and 0 < job.finished < 500
    # Files are whole or not there; one may be done that was not spoken of any more.
    made = list(tmp_path.glob("[0-9]*.exr"))
    assert len(made) - job.finished in (0, 1)
    assert all(exr.channels(path) == exr.channels(PASSES) for path in made)


def test_a_process_that_dies_is_noticed(tmp_path):
    job = process.Job([], OPTIONS | {"device": "gpu:no such device"})
    job.wait(0.01)
    assert "ended with code" in job.errors[0] and "no such device" in job.errors[0]


def test_stopping_counts_for_the_worker_too():
    said = []
    stop = worker.threading.Event()
    tell = worker.Teller(lambda **what: said.append(what), stop, 4)
    tell(1, 0.5)
    tell(1, 0.6)
    assert said == [{"event": "progress", "share": 0.375}]
    stop.set()
    with pytest.raises(worker.Stopped):
        tell(1, 0.7)


def test_files_get_their_numbers(tmp_path):
    assert naming.numbered("a/shot_####.exr", 7) == os.path.join("a", "shot_0007.exr")
    assert naming.numbered("shot_##_v2.exr", 123) == "shot_123_v2.exr"
    assert naming.numbered("a#b/shot.exr", 7) == "a#b/shot0007.exr"
    assert naming.ranges([5, 1, 2, 3, 9]) == "1–3, 5, 9"
    sources = {n: str(tmp_path / f"{n}.exr") for n in (1, 2, 3)}
    for n in (1, 2):
        pathlib.Path(sources[n]).write_bytes(b"")
    results = tmp_path / "denoised"
    results.mkdir()
    (results / "2.exr").write_bytes(b"")
    todo, missing = naming.jobs(sources, str(results), keep=True)
    assert [item["frame"] for item in todo if item["target"]] == [1] and missing == [3]
    todo, _ = naming.jobs(sources, str(results), keep=False)
    assert [item["frame"] for item in todo] == [1, 2]
    with pytest.raises(ValueError, match="another folder"):
        naming.jobs(sources, str(tmp_path), keep=False)


def test_the_manifest_is_that_of_the_release():
    manifest = tomllib.loads((build.SOURCE / "blender_manifest.toml").read_text())
    assert manifest["version"] == re.search(r'^version = "(.+)"$', (SOURCE / "Cargo.toml").read_text(), re.M).group(1)
    assert manifest["license"] == ["SPDX:GPL-3.0-or-later"] and manifest["blender_version_min"] == "4.2.0"
    # Blender's own rules for texts.
    for text in (manifest["tagline"], *manifest["permissions"].values()):
        assert len(text) <= 64 and text[-1].isalnum()


def test_the_extension_has_its_wheel(tmp_path):
    number = build.version((build.SOURCE / "blender_manifest.toml").read_text())
    name = f"limpid_denoise-{number}-cp310-abi3-manylinux_2_34_x86_64.whl"
    (tmp_path / name).write_bytes(b"a wheel")
    path = build.build(tmp_path / name, tmp_path)
    assert path.name == f"limpid-blender-{number}-linux-x64.zip"
    with zipfile.ZipFile(path) as archive:
        manifest = tomllib.loads(archive.read("blender_manifest.toml").decode())
        assert manifest["wheels"] == [f"./wheels/{name}"] and manifest["platforms"] == ["linux-x64"]
        assert archive.read(f"wheels/{name}") == b"a wheel"
        listed = set(archive.namelist())
    assert {"__init__.py", "worker.py", "LICENSE"} <= listed and not [name for name in listed if "pycache" in name]
    for tag, wanted in {"win_amd64": "windows-x64", "macosx_11_0_arm64": "macos-arm64", "macosx_10_12_x86_64": "macos-x64"}.items():
        assert build.platform(f"limpid_denoise-{number}-cp310-abi3-{tag}.whl") == wanted
    with pytest.raises(ValueError, match="the extension has version"):
        build.build(tmp_path / "limpid_denoise-9.9.9-cp310-abi3-win_amd64.whl", tmp_path)
