#!/usr/bin/env python3
"""Gradient-domain reconstruction on renders of Mitsuba.

    pip install numpy OpenEXR mitsuba
    python3 bench/peers/gradients.py --limpid target/release/limpid --cache target/gradients

Mitsuba has no gradient-domain integrator, but differences between neighbouring pixels can be taken from outside: the image is
rendered three times with the same random numbers, the second time moved by one pixel to the right, the third time by one down.
Each pixel then has a path and the same path through its neighbour, as the random-sequence shift of gradient-domain Metropolis
sampling makes it. Samples count once; the shifted paths are not counted, as in the thesis.

Error: relMSE, mean((x-r)^2/(r^2+0.01)), minus that of the reference's own noise, from its two independent halves.
"""

import argparse
import functools
import math
import os
import subprocess

import numpy as np
import OpenEXR
from renders import FEATURES, pick, read_exr, sample, start_mitsuba

NAMES = "door,balls,shelf,lamps,hall,kitchen"
METHODS = {"l2": ["--norm", "l2"], "l1": ["--norm", "l1"], "patch": ["--method", "patch"]}


@functools.lru_cache(maxsize=1)
def load(name, size, offset, features):
    """A scene, seen through a window of `size` that is moved by `offset` on a film one pixel larger."""
    mi = start_mitsuba()
    from render_scenes import SCENES

    parts = SCENES[name][1]()
    parts.pop("filter", None)
    film = {"type": "hdrfilm", "width": size[0] + 1, "height": size[1] + 1, "pixel_format": "rgb"}
    film |= {"crop_width": size[0], "crop_height": size[1], "crop_offset_x": offset[0], "crop_offset_y": offset[1]}
    film |= {"component_format": "float32", "rfilter": {"type": "box"}, "sample_border": False}
    parts["sensor"] |= {"film": film, "sampler": {"type": "independent"}}
    integrator = parts.pop("integrator", {"type": "path", "max_depth": 12})
    if features:
        integrator = {"type": "aov", "aovs": FEATURES, "color": integrator}
    return mi.load_dict({"type": "scene", "integrator": integrator, **parts})


def write(path, layers):
    channels = {}
    for name, image in layers.items():
        axes = "XYZ" if name.split(".")[0] in ("normal", "position") else "RGB"
        prefix = "" if name == "color" else name + "."
        for k, axis in enumerate(axes):
            channels[prefix + axis] = np.ascontiguousarray(image[..., k].astype(np.float32))
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    OpenEXR.File(header, channels).write(path + ".part")
    os.replace(path + ".part", path)


def render(folder, name, counts, size):
    """Files of two halves with differences and features."""
    counts = [n for n in counts if not os.path.exists(f"{folder}/{n}.exr")]
    layers = {n: {} for n in counts}
    for kind, offset in [("base", (0, 0)), ("dx", (1, 0)), ("dy", (0, 1))]:
        for n in counts:
            scene = load(name, size, offset, kind == "base")
            for half, seed in [("a", 2 * n), ("b", 2 * n + 1)]:
                planes = sample(scene, n // 2, seed)
                color = pick(planes, "", "RGB")
                if kind == "base":
                    layers[n][half] = color
                    for feature, axes in [("albedo", "RGB"), ("normal", "XYZ"), ("position", "XYZ")]:
                        layers[n][f"{feature}.{half}"] = pick(planes, feature + ".", axes)
                else:
                    layers[n][f"{kind}.{half}"] = color - layers[n][half]
    for n in counts:
        all_of = layers[n]
        for key in [k for k in all_of if k.endswith("a")]:
            other = key[:-1] + "b"
            all_of[key[:-2] or "color"] = (all_of[key] + all_of[other]) / 2
        write(f"{folder}/{n}.exr", all_of)


def reference(folder, name, spp, size):
    for half, seed in [("a", 9001), ("b", 9002)]:
        path = f"{folder}/ref-{half}.exr"
        if not os.path.exists(path):
            write(path, {"color": pick(sample(load(name, size, (0, 0), False), spp // 2, seed), "", "RGB")})
    return [read_exr(f"{folder}/ref-{half}.exr") for half in "ab"]


def error(image, truth):
    return float(((image - truth) ** 2 / (truth**2 + 0.01)).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limpid", default="target/release/limpid")
    parser.add_argument("--cache", default="target/gradients")
    parser.add_argument("--scenes", default=NAMES)
    parser.add_argument("--spp", default="16,64,128")
    parser.add_argument("--reference-spp", type=int, default=1024)
    parser.add_argument("--size", default="256x192")
    args = parser.parse_args()
    size = tuple(int(v) for v in args.size.split("x"))
    counts = [int(n) for n in args.spp.split(",")]
    print("| scene | samples | base | `l2` | `l1` | `patch` | `l1` over `patch` |\n|---|---|---|---|---|---|---|", flush=True)
    ratios = {n: [] for n in counts}
    for name in args.scenes.split(","):
        folder = f"{args.cache}/{name}"
        os.makedirs(folder, exist_ok=True)
        render(folder, name, counts, size)
        a, b = reference(folder, name, args.reference_spp, size)
        truth = (a + b) / 2
        floor = error(truth + (a - b) / 2, truth)
        for n in counts:
            errors = [error(read_exr(f"{folder}/{n}.exr"), truth) - floor]
            for method, options in METHODS.items():
                out = f"{folder}/{n}-{method}.exr"
                command = [args.limpid, "reconstruct", f"{folder}/{n}.exr", "-o", out, "--overwrite", "--device", "cpu", *options]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                errors.append(error(read_exr(out), truth) - floor)
            ratios[n].append(errors[2] / errors[3])
            row = " | ".join(f"{e:.5f}" for e in errors)
            print(f"| {name} | {n} | {row} | {ratios[n][-1]:.1f} |", flush=True)
    for n in counts:
        mean = math.exp(sum(math.log(r) for r in ratios[n]) / len(ratios[n]))
        print(f"| geometric mean | {n} | | | | | {mean:.1f} |")


if __name__ == "__main__":
    main()
