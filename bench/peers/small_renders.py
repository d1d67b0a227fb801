"""Small renders with the layers that renderers write themselves: the files of crates/limpid-cli/tests/renders.

    python bench/peers/small_renders.py mitsuba FOLDER      (pip install mitsuba)
    python bench/peers/small_renders.py blender FOLDER      (pip install bpy)
    python bench/peers/small_renders.py passes FOLDER       (pip install bpy)
    python bench/peers/small_renders.py pbrt FOLDER         (pip install mitsuba OpenEXR)

PBRT is not on PyPI: its file has the channels, types and attributes that the `gbuffer` film of pbrt-v4 writes (`src/pbrt/film.cpp` and
`Image::WriteEXR`), with pixels from Mitsuba, through the same library.
"""

import sys

WIDTH, HEIGHT, SAMPLES = 32, 24, 4


def mitsuba(folder):
    import mitsuba as mi

    mi.set_variant("scalar_rgb")
    layers = {
        "mitsuba-aov": "dd.y:depth,nn:sh_normal,pos:position,idx:shape_index,alb:albedo",
        "mitsuba-dd": "dd:depth,nn:sh_normal,alb:albedo,idx:shape_index,gn:geo_normal,uv:uv,prim:prim_index",
    }
    for name, aovs in layers.items():
        scene = mi.cornell_box()
        film = scene["sensor"]["film"]
        film["width"], film["height"], film["rfilter"] = WIDTH, HEIGHT, {"type": "box"}
        scene["integrator"] = {"type": "aov", "aovs": aovs, "img": {"type": "path", "max_depth": 4}}
        scene = mi.load_dict(scene)
        mi.render(scene, spp=SAMPLES)
        scene.sensors()[0].film().bitmap().write(f"{folder}/{name}.exr")


def blender(folder):
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=False)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.use_denoising = SAMPLES, False
    render = scene.render
    render.resolution_x, render.resolution_y, render.resolution_percentage = WIDTH, HEIGHT, 100
    view = scene.view_layers[0]
    view.use_pass_z = view.use_pass_normal = view.use_pass_vector = view.use_pass_object_index = True
    view.use_pass_ambient_occlusion = view.use_pass_diffuse_direct = True
    view.cycles.denoising_store_passes = True
    render.image_settings.media_type = "MULTI_LAYER_IMAGE"
    render.image_settings.file_format = "OPEN_EXR_MULTILAYER"
    render.image_settings.color_depth = "16"
    render.filepath = f"{folder}/blender-cycles.exr"
    bpy.ops.render.render(write_still=True)


def passes(folder):
    """All passes of light in two view layers, light groups and Cryptomatte: the scene of the tests of the Blender extension."""
    import pathlib

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "blender/tests"))
    import bpy
    import scene as small

    scene = small.build(size=(20, 15), samples=SAMPLES)
    back = scene.view_layers.new("Back")
    for group in ("key", "fill"):
        back.lightgroups.add(name=group)
    small.passes(back)
    scene.cycles.use_denoising = False
    for view in scene.view_layers:
        view.use_pass_vector = view.cycles.denoising_store_passes = True
    back.use_pass_cryptomatte_object = False
    settings = scene.render.image_settings
    settings.media_type, settings.file_format, settings.color_depth = "MULTI_LAYER_IMAGE", "OPEN_EXR_MULTILAYER", "32"
    scene.render.filepath = f"{folder}/blender-passes.exr"
    bpy.ops.render.render(write_still=True)


def pbrt(folder):
    import mitsuba as mi
    import numpy as np
    import OpenEXR

    mi.set_variant("scalar_rgb")
    scene = mi.cornell_box()
    film = scene["sensor"]["film"]
    film["width"], film["height"], film["rfilter"], film["pixel_format"] = WIDTH, HEIGHT, {"type": "box"}, "rgb"
    aovs = "alb:albedo,pos:position,ng:geo_normal,ns:sh_normal,uv:uv"
    scene["integrator"] = {"type": "aov", "aovs": aovs, "img": {"type": "path", "max_depth": 4}}
    scene = mi.load_dict(scene)
    sensor = scene.sensors()[0]
    to_camera = np.array(sensor.world_transform().inverse().matrix, np.float32).reshape(4, 4)
    samples = [np.array(mi.render(scene, spp=1, seed=seed)) for seed in range(SAMPLES)]
    names = [name for name in scene.integrator().aov_names() if not name.startswith("img.")]
    mean, variance = np.mean(samples, axis=0), np.var(samples, axis=0, ddof=1)
    at = {name: mean[..., i + 3] for i, name in enumerate(names)}
    stack = lambda name, letters: np.stack([at[f"{name}.{c}"] for c in letters], -1)  # noqa: E731
    camera = lambda v, w: v @ to_camera[:3, :3].T + w * to_camera[:3, 3]  # noqa: E731
    unit = lambda v: v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-8)  # noqa: E731
    position = camera(stack("pos", "XYZ"), 1)
    layers = {
        ("R", "G", "B"): mean[..., :3],
        ("Albedo.R", "Albedo.G", "Albedo.B"): stack("alb", "RGB"),
        ("P.X", "P.Y", "P.Z"): position,
        ("dzdx", "dzdy"): np.abs(np.stack([np.gradient(position[..., 2], axis=a) for a in (1, 0)], -1)),
        ("N.X", "N.Y", "N.Z"): unit(camera(stack("ng", "XYZ"), 0)),
        ("Ns.X", "Ns.Y", "Ns.Z"): unit(camera(stack("ns", "XYZ"), 0)),
        ("u", "v"): stack("uv", "UV"),
        ("Variance.R", "Variance.G", "Variance.B"): variance[..., :3],
        ("RelativeVariance.R", "RelativeVariance.G", "RelativeVariance.B"): variance[..., :3] / np.maximum(mean[..., :3], 1e-6),
    }
    channels = {n: np.ascontiguousarray(v[..., i].astype(np.float16)) for group, v in layers.items() for i, n in enumerate(group)}
    header = {
        "compression": OpenEXR.ZIP_COMPRESSION,
        "type": OpenEXR.scanlineimage,
        "renderTimeSeconds": 0.5,
        "samplesPerPixel": SAMPLES,
        "worldToCamera": to_camera.T.copy(),
    }
    with OpenEXR.File(header, channels) as file:
        file.write(f"{folder}/pbrt-gbuffer.exr")


if __name__ == "__main__":
    {"mitsuba": mitsuba, "blender": blender, "passes": passes, "pbrt": pbrt}[sys.argv[1]](sys.argv[2])
