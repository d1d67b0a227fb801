#!/usr/bin/env python3
"""Limpid on short animations of Cycles with moving things, beside the same frames one by one and Open Image Denoise.

    pip install numpy OpenEXR bpy pyoidn pillow
    python3 bench/peers/sequences.py --limpid target/release/limpid --methods "neural,svgf"

Renders the sequences, denoises them and prints a table. <cache>/<sequence>/ holds noisy-001.exr … with Cycles's Vector pass and
denoising features, and reference-NNN.exr for the frames that are judged; what is there is not rendered again.

rolling    camera, a turning cube and a rolling metal ball
lamp       still camera, a lamp that moves, so that light and shadows move over surfaces that stay
walk       only the camera moves

error      trimmed relMSE, as in renders.py, mean over the judged frames, which have three others on each side; less the
           noise of the reference, which is that of the noisy frame at so many samples
all        relMSE of all pixels; edges of lamps count here
temporal   mean |e(t) - e(t-1)| of two neighbouring judged frames, e the difference of result and reference as c / (1 + c)
"each frame" is the default method on each file alone: no sequence may be worse.
"""

import argparse
import math
import os
import re
import subprocess

import numpy as np

import renders

FRAMES = 8
JUDGED = (4, 5)


def material(bpy, name, color, metal=0.0, rough=0.5):
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    shader = made.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*color, 1)
    shader.inputs["Metallic"].default_value = metal
    shader.inputs["Roughness"].default_value = rough
    return made


def checks(bpy, name, scale):
    made = material(bpy, name, (0.5, 0.5, 0.5))
    tree = made.node_tree
    checker = tree.nodes.new("ShaderNodeTexChecker")
    checker.inputs["Scale"].default_value = scale
    checker.inputs["Color1"].default_value = (0.7, 0.65, 0.55, 1)
    checker.inputs["Color2"].default_value = (0.25, 0.3, 0.35, 1)
    tree.links.new(checker.outputs["Color"], tree.nodes["Principled BSDF"].inputs["Base Color"])
    return made


def keyed(thing, path, values):
    """Values at the first and the last frame, linear in between."""
    for frame, value in zip((1, FRAMES), values):
        setattr(thing, path, value)
        thing.keyframe_insert(path, frame=frame)


def build(bpy, name):
    """The scene of a sequence."""
    bpy.context.preferences.edit.keyframe_new_interpolation_type = "LINEAR"

    def add(kind, place, look, **more):
        getattr(bpy.ops.mesh, f"primitive_{kind}_add")(location=place, **more)
        thing = bpy.context.object
        thing.data.materials.append(look)
        return thing

    add("plane", (0, 0, 0), checks(bpy, "floor", 24), size=14)
    add("plane", (0, 4, 3), material(bpy, "wall", (0.6, 0.5, 0.42)), size=14, rotation=(math.pi / 2, 0, 0))
    cube = add("cube", (-1.1, 0.2, 0.6), material(bpy, "cube", (0.75, 0.2, 0.12)), size=1.2)
    ball = add("uv_sphere", (0.9, -0.4, 0.5), material(bpy, "ball", (0.9, 0.8, 0.6), 1.0, 0.15), radius=0.5, segments=48, ring_count=24)
    bpy.ops.object.shade_smooth()
    add("cylinder", (0.1, 1.9, 0.9), checks(bpy, "column", 9), radius=0.35, depth=1.8)
    add("torus", (2.1, 1.2, 0.25), material(bpy, "ring", (0.15, 0.35, 0.6), 0, 0.2), major_radius=0.6, minor_radius=0.22)
    bpy.ops.object.light_add(type="AREA", location=(2.5, -2.5, 4))
    lamp = bpy.context.object
    lamp.data.energy, lamp.data.size = 320, 0.8
    lamp.rotation_euler = (0.6, 0.45, 0)
    bpy.ops.object.light_add(type="POINT", location=(-3, 1, 2.5))
    bpy.context.object.data.energy = 60
    bpy.ops.object.camera_add(location=(0.3, -6, 2.4), rotation=(1.25, 0, 0.03))
    camera = bpy.context.object
    bpy.context.scene.camera = camera
    if name in ("rolling", "walk"):
        keyed(camera, "location", [(-0.3, -6, 2.3), (0.6, -5.5, 2.5)])
    if name in ("rolling", "lamp"):
        keyed(cube, "rotation_euler", [(0, 0, 0), (0, 0, 1.1)])
        keyed(ball, "location", [(0.3, -0.8, 0.5), (1.5, -0.2, 0.5)])
    if name == "lamp":
        keyed(lamp, "location", [(2.8, -2.5, 3.6), (-1.0, -2.5, 4.0)])
        keyed(lamp, "rotation_euler", [(0.6, 0.5, 0), (0.6, -0.15, 0)])


def render(folder, name, size, spp, reference):
    wanted = [(f"{folder}/noisy-{k:03}.exr", k, spp) for k in range(1, FRAMES + 1)]
    wanted += [(f"{folder}/reference-{k:03}.exr", k, reference) for k in JUDGED]
    wanted = [w for w in wanted if not os.path.exists(w[0])]
    if not wanted:
        return
    import bpy

    os.makedirs(folder, exist_ok=True)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    build(bpy, name)
    scene = bpy.context.scene
    scene.world = bpy.data.worlds.new("dim")
    scene.render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.cycles.use_denoising = False
    scene.cycles.use_adaptive_sampling = False
    scene.render.resolution_x, scene.render.resolution_y = size
    scene.render.resolution_percentage = 100
    scene.frame_start, scene.frame_end = 1, FRAMES
    layer = bpy.context.view_layer
    layer.use_pass_vector = True
    layer.use_pass_z = True
    layer.cycles.denoising_store_passes = True
    if hasattr(scene.render.image_settings, "media_type"):
        scene.render.image_settings.media_type = "MULTI_LAYER_IMAGE"
    scene.render.image_settings.file_format = "OPEN_EXR_MULTILAYER"
    scene.render.image_settings.color_depth = "32"
    for path, frame, samples in wanted:
        scene.cycles.samples = samples
        scene.cycles.seed = frame if samples == spp else 1000 + frame
        scene.frame_set(frame)
        scene.render.filepath = os.path.abspath(path)
        bpy.ops.render.render(write_still=True)


def read(path):
    """The channels of all parts of a file by their last names: Combined.R."""
    import OpenEXR

    with OpenEXR.File(path, separate_channels=True) as file:
        channels = {n: c for part in file.parts for n, c in part.channels.items()}
        return {".".join(n.split(".")[-2:]): np.asarray(c.pixels, np.float32) for n, c in channels.items()}


def stack(channels, name, axes):
    return np.ascontiguousarray(np.stack([channels[f"{name}.{a}"] for a in axes], -1))


def combined(path):
    """The colour of a file of Cycles, or of one that Limpid made from it."""
    channels = read(path)
    return stack(channels, "Combined", "RGB") if "Combined.R" in channels else np.stack([channels[a] for a in "RGB"], -1)


def oidn(path, prefilter):
    """Open Image Denoise on a frame; at its best with filtered albedo and normal."""
    channels = read(path)
    albedo, normal = stack(channels, "Denoising Albedo", "RGB"), stack(channels, "Denoising Normal", "XYZ")
    return renders.oidn(stack(channels, "Combined", "RGB"), albedo, normal, prefilter)


def shown(image):
    image = np.maximum(image, 0)
    return image / (1 + image)


def score(pictures, references, floor):
    errors = [renders.error(pictures[k], references[k]) - floor for k in JUDGED]
    off = {k: shown(pictures[k]) - shown(references[k]) for k in JUDGED[-2:]}
    whole = [renders.error(pictures[k], references[k], 1) for k in JUDGED]
    return float(np.mean(errors)), float(np.mean(whole)), float(np.abs(off[JUDGED[-1]] - off[JUDGED[-2]]).mean())


def limpid(program, options, folder, made):
    """A sequence by one call."""
    os.makedirs(made, exist_ok=True)
    command = [program, "denoise", f"{folder}/noisy-%03d.exr", "-o", f"{made}/%03d.exr", "-q", *options]
    subprocess.run(command, check=True)
    return {k: combined(f"{made}/{k:03}.exr") for k in JUDGED}


def one_by_one(program, folder, made):
    os.makedirs(made, exist_ok=True)
    for k in JUDGED:
        subprocess.run([program, "denoise", f"{folder}/noisy-{k:03}.exr", "-o", f"{made}/{k:03}.exr", "-q"], check=True)
    return {k: combined(f"{made}/{k:03}.exr") for k in JUDGED}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", required=True)
    parser.add_argument("--methods", default="svgf", help="comma between methods, options after a space")
    parser.add_argument("--sequences", default="rolling,lamp,walk")
    parser.add_argument("--size", default="240x136")
    parser.add_argument("--spp", type=int, default=8)
    parser.add_argument("--reference-spp", type=int, default=256)
    parser.add_argument("--cache", default="target/sequences")
    parser.add_argument("--output", default="target/sequences-results")
    parser.add_argument("--without-vectors", action="store_true", help="also the default on files without motion vectors")
    parser.add_argument("--render-only", action="store_true")
    args = parser.parse_args()
    size = tuple(int(v) for v in args.size.split("x"))
    print(f"{'sequence':10}{'method':28}{'error':>9}{'all':>9}{'temporal':>10}")
    for name in args.sequences.split(","):
        folder = f"{args.cache}/{name}-{args.spp}"
        render(folder, name, size, args.spp, args.reference_spp)
        if args.render_only:
            continue
        references = {k: combined(f"{folder}/reference-{k:03}.exr") for k in JUDGED}
        made = f"{args.output}/{name}-{args.spp}"
        results = {"noisy": {k: combined(f"{folder}/noisy-{k:03}.exr") for k in JUDGED}}
        results["each frame"] = one_by_one(args.limpid, folder, f"{made}/each")
        results["default"] = limpid(args.limpid, [], folder, f"{made}/default")
        for method in filter(None, (m.strip() for m in args.methods.split(","))):
            place = f"{made}/{re.sub('[^a-z0-9.]+', '-', method)}"
            results[method] = limpid(args.limpid, ["--method", *method.split()], folder, place)
        if args.without_vectors:
            bare = f"{made}/without-vectors"
            renders.without_vectors([f"{folder}/noisy-{k:03}.exr" for k in range(1, FRAMES + 1)], bare)
            results["default, no vectors"] = limpid(args.limpid, [], bare, f"{bare}/out")
        try:
            for name_of, prefilter in (("OIDN", False), ("OIDN, prefiltered", True)):
                results[name_of] = {k: oidn(f"{folder}/noisy-{k:03}.exr", prefilter) for k in JUDGED}
        except ImportError:
            print("OIDN: pip install pyoidn")
        floor = score(results["noisy"], references, 0)[0] * args.spp / (args.spp + args.reference_spp)
        for method, pictures in results.items():
            error, whole, temporal = score(pictures, references, floor)
            print(f"{name:10}{method:28}{error:9.5f}{whole:9.5f}{temporal:10.4f}", flush=True)


if __name__ == "__main__":
    main()
