#!/usr/bin/env python3
"""The picture of docs/svgf.md: frames of the built-in sequence `corridor` at one sample, after `atrous` and `svgf`, and the reference.

    python3 bench/svgf_picture.py --limpid target/release/limpid --output docs/images/svgf.jpg
"""

import argparse
import os
import subprocess
import tempfile

from PIL import Image

FRAMES = [0, 5]
SIZE = (256, 144)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limpid", default="limpid")
    parser.add_argument("--output", required=True)
    parser.add_argument("--reference", type=int, default=1024, help="samples per pixel of the reference")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:

        def limpid(*words):
            command = [args.limpid, "--quiet", *map(str, words)]
            subprocess.run(command, check=True, cwd=folder)

        size = "{}x{}".format(*SIZE)
        limpid("render", "corridor", "-o", "noisy.##.exr", "--size", size, "--spp", 1, "--seed", 7, "--frames", f"0..{FRAMES[-1]}")
        for method in ["atrous", "svgf"]:
            limpid("denoise", "noisy.##.exr", "-o", f"{method}.##.exr", "--method", method, "--device", "cpu")
        sheet = Image.new("RGB", (4 * SIZE[0], len(FRAMES) * SIZE[1]))
        for row, frame in enumerate(FRAMES):
            limpid("render", "corridor", "-o", "reference.##.exr", "--size", size, "--spp", args.reference, "--layers", "color", "--frames", f"{frame}..{frame}")
            for column, name in enumerate(["noisy", "atrous", "svgf", "reference"]):
                # Filtering with a radius of 0 only converts the file.
                limpid("filter", "gaussian", f"{name}.{frame:02}.exr", "-o", "shown.png", "--radius", 0)
                shown = Image.open(os.path.join(folder, "shown.png")).convert("RGB")
                sheet.paste(shown, (column * SIZE[0], row * SIZE[1]))
        sheet.save(args.output, quality=90)


if __name__ == "__main__":
    main()
