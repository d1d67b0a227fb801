#!/usr/bin/env python3
"""The Blender extension beside Open Image Denoise as Blender calls it, on the same samples: error and flicker.

    pip install bpy OpenEXR pillow     (and limpid: pip install ./python)
    python3 bench/peers/blender.py --cache target/blender --pictures docs/images

Cycles renders eight frames of each scene with its denoiser on (Open Image Denoise, albedo and normal, prefilter Accurate, quality High) and keeps
the noisy image beside the result. The extension's worker denoises the same files from the noisy image, blended over time as Denoise Animation
does, and each by itself. Frames 4 to 7 are compared with references. Files that are there are not rendered again.

studio     depth of field, glass, a half transparent plane, transparent film, two light groups (blender/tests/scene.py)
rolling    camera, a turning cube and a rolling metal ball (sequences.py)
lamp       still camera, a lamp that moves (sequences.py)

error      mean((x-r)^2/(r^2+0.01)) without the 0.1 % worst pixels, mean over the frames
flicker    mean |e(t) - e(t-1)| over neighbouring frames, e the difference of result and reference as c / (1 + c)
sums       the largest difference of the sum of all passes and the image, relative to values above 1
"""

import argparse
import os
import pathlib
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "blender"), str(HERE.parents[1] / "blender/tests")]

FRAMES = (4, 5, 6, 7)
ALL = range(1, 9)


def scene_of(name, size):
    import bpy
    import scene as studio

    if name == "studio":
        return studio.build(size=size, frames=(1, 8))
    import sequences

    bpy.ops.wm.read_factory_settings(use_empty=True)
    sequences.build(bpy, name)
    made = bpy.context.scene
    made.world = bpy.data.worlds.new("dim")
    made.render.engine, made.cycles.device = "CYCLES", "CPU"
    made.cycles.use_adaptive_sampling = False
    made.render.resolution_x, made.render.resolution_y = size
    made.render.resolution_percentage = 100
    return made


def render(name, folder, size, spp, reference):
    kinds = (("noisy", spp, ALL), ("reference", reference, FRAMES))
    wanted = [(f"{folder}/{kind}-{n}.exr", n, samples) for kind, samples, frames in kinds for n in frames]
    wanted = [item for item in wanted if not os.path.exists(item[0])]
    if not wanted:
        return
    import bpy
    from extension import operators

    os.makedirs(folder, exist_ok=True)
    scene = scene_of(name, size)
    scene.view_layers[0].cycles.denoising_store_passes = True
    scene.view_layers[0].use_pass_vector = True
    operators.multilayer(scene.render.image_settings)
    cycles = scene.cycles
    cycles.denoiser, cycles.denoising_prefilter = "OPENIMAGEDENOISE", "ACCURATE"
    cycles.denoising_input_passes, cycles.denoising_quality = "RGB_ALBEDO_NORMAL", "HIGH"
    for path, frame, samples in wanted:
        cycles.use_denoising = "noisy" in path
        cycles.samples, cycles.seed = samples, frame if "noisy" in path else 1000 + frame
        scene.frame_set(frame)
        scene.render.filepath = os.path.abspath(path)
        bpy.ops.render.render(write_still=True)


def denoise(folder, made, quality, blend, device):
    """All frames by the worker of the extension; seconds per frame, and the largest error of a sum."""
    from extension.process import Job

    frames = [
        {"frame": n, "source": os.path.abspath(f"{folder}/noisy-{n}.exr"), "target": os.path.abspath(f"{folder}/{made}/{n}.exr")}
        for n in ALL
    ]
    events = (job := Job(frames, {"quality": quality, "device": device}, blend)).wait()
    assert not job.errors, job.errors
    done = [event for event in events if event["event"] == "done"]
    sums = [after for event in done for _, after in event["sums"]]
    return np.mean([event["seconds"] for event in done]), max(sums, default=None)


def color(path, layer="Combined"):
    import limpid

    return limpid.read(path, {"color": f"ViewLayer.{layer}"})["color"]


def shown(image):
    image = np.maximum(image, 0)
    return image / (1 + image)


def score(images, references):
    error = lambda x, r: np.sort(((x - r) ** 2 / (r**2 + 0.01)).mean(-1).ravel())  # noqa: E731
    trimmed = [e[: int(e.size * 0.999)].mean() for e in map(error, images, references)]
    off = [shown(image) - shown(reference) for image, reference in zip(images, references, strict=True)]
    flicker = [np.abs(b - a).mean() for a, b in zip(off, off[1:], strict=False)]
    return float(np.mean(trimmed)), float(np.mean(flicker))


def picture(images, path, crop):
    """Details side by side, enlarged."""
    import io

    import limpid
    from PIL import Image

    x, y, w, h = crop
    tiles = [Image.open(io.BytesIO(limpid.picture(image[y : y + h, x : x + w]))).resize((4 * w, 4 * h), Image.Resampling.NEAREST) for image in images]
    sheet = Image.new("RGB", (sum(t.width for t in tiles) + 8 * (len(tiles) - 1), tiles[0].height), "white")
    at = 0
    for tile in tiles:
        sheet.paste(tile, (at, 0))
        at += tile.width + 8
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path, quality=88)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", default="studio,rolling,lamp")
    parser.add_argument("--size", default="240x136")
    parser.add_argument("--spp", type=int, default=16)
    parser.add_argument("--reference-spp", type=int, default=512)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--cache", default="target/blender")
    parser.add_argument("--pictures", help="folder for a picture of each scene")
    args = parser.parse_args()
    size = tuple(int(v) for v in args.size.split("x"))
    print(f"{'scene':10}{'':26}{'error':>9}{'flicker':>10}{'s/frame':>9}{'sums':>10}")
    for name in args.scenes.split(","):
        folder = f"{args.cache}/{name}-{args.spp}-{args.size}"
        begin = time.perf_counter()
        render(name, folder, size, args.spp, args.reference_spp)
        references = [color(f"{folder}/reference-{n}.exr") for n in FRAMES]
        results = {
            "noisy": ([color(f"{folder}/noisy-{n}.exr", "Noisy Image") for n in FRAMES], None, None),
            "OIDN, prefilter Accurate": ([color(f"{folder}/noisy-{n}.exr") for n in FRAMES], None, None),
        }
        for quality in ("good", "best"):
            for blend in (False, True):
                made = f"{quality}, {'blended' if blend else 'one by one'}"
                seconds, sums = denoise(folder, made, quality, blend, args.device)
                results[f"Limpid, {made}"] = ([color(f"{folder}/{made}/{n}.exr") for n in FRAMES], seconds, sums)
        for method, (images, seconds, sums) in results.items():
            error, flicker = score(images, references)
            more = "" if seconds is None else f"{seconds:9.2f}"
            more += "" if sums is None else f"{sums:10.1e}"
            print(f"{name:10}{method:26}{error:9.5f}{flicker:10.5f}{more}", flush=True)
        if args.pictures:
            crop = (size[0] // 4, size[1] // 4, size[0] // 2, size[1] // 2)
            shown_here = [images for name, (images, *_) in results.items() if "one by one" not in name]
            picture([images[1] for images in shown_here] + [references[1]], f"{args.pictures}/blender-{name}.jpg", crop)
        print(f"# {name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
