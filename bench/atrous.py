#!/usr/bin/env python3
"""The quality table of docs/atrous.md: renders of three scenes, filtered by `atrous` and the methods it is compared with.

    python3 bench/atrous.py --limpid target/release/limpid --folder /tmp/quality [--size 256x256] [--reference 1024]

Renders what is not in the folder yet, runs every method with its defaults, and prints one table in Markdown for each scene:
relMSE, SSIM and FLIP at 1, 4 and 16 samples per pixel.
"""

import argparse
import json
import os
import subprocess

SCENES = ["cornell", "columns", "glossy"]
SAMPLES = [1, 4, 16]
METHODS = ["atrous", "cdf22", "redblack", "eaw-cdf22", "eaw-redblack", "bilateral", "multilateral"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limpid", default="limpid")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--size", default="256x256")
    parser.add_argument("--reference", default="1024", help="samples per pixel of the references")
    parser.add_argument("--scenes", nargs="*", default=SCENES)
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="options of the methods")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)

    def path(*words):
        return os.path.join(args.folder, "-".join(map(str, words)) + ".exr")

    def limpid(*words):
        command = [args.limpid, *map(str, words)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

    def render(to, scene, samples, *more):
        if not os.path.exists(to):
            limpid("render", scene, "-o", to, "--spp", samples, "--size", args.size, *more)

    for scene in args.scenes:
        reference = path(scene, "ref")
        # With the inputs' seed the reference would hold their very samples.
        render(reference, scene, args.reference, "--seed", 0, "--layers", "color")
        rows = {name: [] for name in ["input", *args.methods]}
        for samples in SAMPLES:
            noisy = path(scene, samples)
            render(noisy, scene, samples, "--seed", 7)
            files = [noisy]
            for method in args.methods:
                made = path(scene, samples, method)
                limpid("denoise", noisy, "-o", made, "--device", "cpu", "--method", method, *args.options)
                files.append(made)
            scores = json.loads(limpid("compare", *files, "--reference", reference, "--json"))
            for name, score in zip(rows, scores):
                rows[name] += [f"{score['relmse']:.4f}", f"{score['ssim']:.3f}", f"{score['flip']:.3f}"]
        print(f"\n| {scene} | " + " | ".join(f"relMSE {n} | SSIM {n} | FLIP {n}" for n in SAMPLES) + " |")
        print("|---|" + "---:|" * (3 * len(SAMPLES)))
        for name, cells in rows.items():
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
