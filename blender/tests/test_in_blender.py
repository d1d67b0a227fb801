"""The operators in Blender without windows: `pip install bpy`."""

import os
import pathlib
import subprocess
import sys

import bpy
import numpy as np
import pytest
import scene as small

import extension
import limpid
from extension import exr, operators, process

SOURCE = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def registered():
    extension.register()
    yield
    extension.unregister()


def settings(scene, folder):
    made = scene.limpid
    made.device, made.folder = "cpu", str(folder)
    return made


def denoised(path, tmp_path, layer="ViewLayer"):
    """What the program makes of a file, or the module where there is no program."""
    program = os.environ.get("LIMPID")
    if program:
        target = str(tmp_path / "by-program.exr")
        subprocess.run([program, "denoise", path, "-o", target, "--device", "cpu", "--quiet"], check=True)
        return limpid.read(target, {"color": f"{layer}.Combined", "alpha": f"{layer}.Combined"})
    return limpid.denoise(limpid.read(path), device="cpu", quality="good")


def denoised_frames(folder, name, tmp_path):
    """What the program makes of numbered files, or the module; the result of each."""
    program = os.environ.get("LIMPID")
    if program:
        subprocess.run([program, "denoise", str(folder / name), "-o", str(tmp_path / name), "--device", "cpu", "--quiet"], check=True)
        read = lambda path: limpid.read(path, {"color": "ViewLayer.Combined", "alpha": "ViewLayer.Combined"})  # noqa: E731
        return [read(tmp_path / file) for file in sorted(os.listdir(folder))]
    frames = [limpid.read(folder / file) for file in sorted(os.listdir(folder))]
    return list(limpid.Denoiser(device="cpu", quality="good").frames(frames))


def same_image(path, wanted):
    found = limpid.read(path, {"color": "ViewLayer.Combined", "alpha": "ViewLayer.Combined"})
    for name in ("color", "alpha"):
        np.testing.assert_array_equal(found[name], wanted[name])


def add_up(path):
    """The largest difference of the sum of all passes and the image, and of all light groups."""
    long = "ViewLayer.Diffuse Color.R" in exr.channels(path)
    names = {
        True: ["Diffuse {}", "Glossy {}", "Transmission {}", "Volume {}", "Direct", "Indirect", "Color", "Emission", "Environment"],
        False: ["Diff{}", "Gloss{}", "Trans{}", "Volume{}", "Dir", "Ind", "Col", "Emit", "Env"],
    }[long]
    *lobes, volume, direct, indirect, color, emission, world = names
    get = lambda name: limpid.read(path, {"light:x": f"ViewLayer.{name}"})["light:x"]  # noqa: E731
    total = get(volume.format(direct)) + get(volume.format(indirect)) + get(emission)
    for lobe in lobes:
        total = total + get(lobe.format(color)) * (get(lobe.format(direct)) + get(lobe.format(indirect)))
    image = get("Combined")
    # The world is in a group, but the film is transparent.
    groups = get("Combined_key") + get("Combined_fill") - get(world)
    return max(np.abs(total - image).max(), np.abs(groups - image).max()) / max(1, image.max())


def same_channels(before, after, begin):
    names = [name for name in exr.channels(before) if name.startswith(f"ViewLayer.{begin}")]
    assert names
    for name in names:
        read = [limpid.read(path, {"light:x": name})["light:x"] for path in (before, after)]
        np.testing.assert_array_equal(*read)


def test_a_frame_is_denoised_after_its_render(tmp_path):
    scene = small.build()
    settings(scene, tmp_path / "results")
    assert bpy.ops.limpid.enable_passes() == {"FINISHED"}
    assert not scene.cycles.use_denoising and scene.view_layers[0].cycles.denoising_store_passes
    scene.view_settings.view_transform = "AgX"
    before = scene.render.image_settings.file_format
    bpy.ops.render.render()
    assert bpy.ops.limpid.denoise_frame() == {"FINISHED"}
    assert scene.render.image_settings.file_format == before
    target = str(tmp_path / "results/render_0001.exr")
    noisy = str(tmp_path / "noisy.exr")
    operators.save_render(scene, noisy)
    assert exr.channels(target) == exr.channels(noisy)
    same_image(target, denoised(noisy, tmp_path))
    assert add_up(target) < 1e-4 and add_up(noisy) < 1e-4
    same_channels(noisy, target, "Crypto")
    same_channels(noisy, target, "Denoising")
    alpha = limpid.read(target, {"alpha": "ViewLayer.Combined"})["alpha"]
    assert alpha.min() < 1e-6 and 0.999 < alpha.max() < 1.0001
    # The image is there and is shown as the render is; in the compositor it has all passes.
    image = scene.limpid.after
    assert alpha.shape == (48, 64) and image.use_view_as_render
    assert bpy.path.abspath(image.filepath) == target and scene.limpid.before.type == "RENDER_RESULT"
    assert bpy.ops.limpid.to_compositor() == {"FINISHED"}
    (node,) = [node for node in operators.compositor(scene).nodes if node.label == "Denoised"]
    assert node.image == image and {"Combined", "Combined_key", "Denoising Albedo"} <= set(node.outputs.keys())
    assert bpy.ops.limpid.before_after() == {"FINISHED"}


def test_an_animation_is_denoised_from_its_files(tmp_path):
    scene = small.build()
    choices = settings(scene, tmp_path / "results")
    bpy.ops.limpid.enable_passes()
    scene.render.image_settings.file_format = "PNG"
    with pytest.raises(RuntimeError, match="Save All Passes"):
        bpy.ops.limpid.denoise_animation()
    bpy.ops.limpid.save_passes()
    scene.render.filepath = str(tmp_path / "renders/shot_")
    with pytest.raises(RuntimeError, match="Frames 1–8 are not there"):
        bpy.ops.limpid.denoise_animation()
    bpy.ops.render.render(animation=True)
    assert bpy.ops.limpid.denoise_animation() == {"FINISHED"}
    names = [f"shot_{n:04}.exr" for n in range(1, 9)]
    assert sorted(os.listdir(tmp_path / "results")) == names
    source, target = (str(tmp_path / folder / names[4]) for folder in ("renders", "results"))
    (tmp_path / "wanted").mkdir()
    for name, wanted in zip(names, denoised_frames(tmp_path / "renders", "shot_####.exr", tmp_path / "wanted"), strict=True):
        same_image(tmp_path / "results" / name, wanted)
        assert add_up(str(tmp_path / "results" / name)) < 1e-4
    # It is nearer to what it would be with more samples.
    scene.frame_set(5)
    scene.cycles.samples, scene.cycles.seed = 96, 1
    bpy.ops.render.render()
    operators.save_render(scene, str(tmp_path / "reference.exr"))
    color = lambda path: limpid.read(path, {"color": "ViewLayer.Combined"})["color"]  # noqa: E731
    noisy, clean, reference = map(color, (source, target, tmp_path / "reference.exr"))
    # Relative, or a single reflection of the lamp decides.
    error = lambda image: ((image - reference) ** 2 / (reference**2 + 0.01)).mean()  # noqa: E731
    assert error(clean) < 0.3 * error(noisy)
    for name in names:
        sizes = [color(tmp_path / folder / name).shape for folder in ("renders", "results")]
        assert sizes == [(48, 64, 3)] * 2
    same_channels(source, target, "Vector")
    assert choices.after.source == choices.before.source == "SEQUENCE"
    # Once more: nothing to do, and nothing is done.
    choices.keep = True
    assert bpy.ops.limpid.denoise_animation() == {"CANCELLED"}
    choices.source = str(tmp_path / "renders/shot_####.exr")
    first, others = (tmp_path / "results" / names[0]).read_bytes(), {n: os.path.getmtime(tmp_path / "results" / n) for n in names[1:]}
    os.remove(tmp_path / "results" / names[0])
    assert bpy.ops.limpid.denoise_animation() == {"FINISHED"}
    assert (tmp_path / "results" / names[0]).read_bytes() == first
    assert {n: os.path.getmtime(tmp_path / "results" / n) for n in names[1:]} == others
    # Frames one by one: what is left of the noise changes more from frame to frame.
    choices.keep, choices.blend, choices.folder = False, False, str(tmp_path / "alone")
    assert bpy.ops.limpid.denoise_animation() == {"FINISHED"}
    same_image(tmp_path / "alone" / names[4], denoised(str(tmp_path / "renders" / names[4]), tmp_path))
    color = lambda path: limpid.read(path, {"color": "ViewLayer.Combined"})["color"]  # noqa: E731
    assert not np.array_equal(color(tmp_path / "alone" / names[4]), color(target))
    choices.keep, choices.folder = False, str(tmp_path / "renders")
    with pytest.raises(RuntimeError, match="another folder"):
        bpy.ops.limpid.denoise_animation()


def test_a_render_that_cycles_denoised_is_taken_noisy(tmp_path):
    scene = small.build()
    settings(scene, tmp_path)
    bpy.ops.limpid.enable_passes()
    bpy.ops.render.render()
    operators.save_render(scene, str(tmp_path / "noisy.exr"))
    scene.cycles.use_denoising = True
    bpy.ops.render.render()
    assert bpy.ops.limpid.denoise_frame() == {"FINISHED"}
    same_image(tmp_path / "render_0001.exr", denoised(str(tmp_path / "noisy.exr"), tmp_path))


def test_two_view_layers_are_denoised_both(tmp_path):
    scene = small.build()
    settings(scene, tmp_path)
    second = scene.view_layers.new("Second")
    second.samples = 2
    bpy.ops.limpid.enable_passes()
    bpy.ops.render.render()
    assert bpy.ops.limpid.denoise_frame() == {"FINISHED"}
    operators.save_render(scene, str(tmp_path / "noisy.exr"))
    read = lambda name, layer: limpid.read(tmp_path / name, {"color": f"{layer}.Combined"})["color"]  # noqa: E731
    for layer in ("ViewLayer", "Second"):
        assert not np.array_equal(read("noisy.exr", layer), read("render_0001.exr", layer))
    assert not np.array_equal(read("render_0001.exr", "ViewLayer"), read("render_0001.exr", "Second"))


def test_a_render_without_passes_says_what_to_do(tmp_path):
    scene = small.build()
    settings(scene, tmp_path)
    bpy.ops.render.render()
    with pytest.raises(RuntimeError, match="enable the passes and render again"):
        bpy.ops.limpid.denoise_frame()
    assert operators.current is None and os.listdir(tmp_path) == []
    scene.render.engine = next(e for e in ("BLENDER_EEVEE", "BLENDER_EEVEE_NEXT") if e != scene.render.engine and has(scene, e))
    with pytest.raises(RuntimeError, match="choose it as render engine"):
        bpy.ops.limpid.enable_passes()


def has(scene, engine):
    try:
        scene.render.engine = engine
    except TypeError:
        return False
    return True


def test_blender_accepts_the_extension(tmp_path):
    import test_parts

    number = test_parts.build.version((test_parts.build.SOURCE / "blender_manifest.toml").read_text())
    wheel = tmp_path / f"limpid_denoise-{number}-cp310-abi3-manylinux_2_28_x86_64.whl"
    wheel.write_bytes(b"a wheel")
    path = test_parts.build.build(wheel, tmp_path)
    tool = pathlib.Path(bpy.utils.system_resource("SCRIPTS")) / "addons_core/bl_pkg/cli/blender_ext.py"
    out = subprocess.run([sys.executable, tool, "validate", path], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stdout + out.stderr


def test_the_process_finds_its_modules():
    folders = process.environment()["PYTHONPATH"].split(os.pathsep)
    assert pathlib.Path(limpid.__file__).parents[1] == pathlib.Path(folders[0])
