#!/usr/bin/env python3
"""How far methods are from references: relMSE over the built-in scenes, as a table.

    python3 bench/quality.py --limpid target/release/limpid [--methods atrous,rdfc] [--samples 4,16,64]

Renders go to --folder and are kept there: a later run takes them again. A method may carry options: "rdfc --radius 20".
"""

import argparse
import json
import math
import os
import subprocess

SCENES = "cornell,columns,glossy,bookshelf,glass,outdoor,corridor"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def size(scene):
    """The corridor is made for wide frames."""
    return "256x144" if scene == "corridor" else "256x256"


def render(args, scene, name, samples, *more):
    path = os.path.join(args.folder, f"{scene}-{name}.exr")
    if not os.path.exists(path):
        run(args.limpid, "render", scene, "-o", path, "--spp", str(samples), "--size", size(scene), *more)
    return path


def relmse(args, images, reference):
    rows = json.loads(run(args.limpid, "compare", *images, "--reference", reference, "--json"))
    return [row["relmse"] for row in rows]


def mean(values):
    """Geometric: every scene counts alike, however noisy it is."""
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", default="limpid")
    parser.add_argument("--folder", default="renders")
    parser.add_argument("--scenes", default=SCENES)
    parser.add_argument("--samples", default="4,16,64")
    parser.add_argument("--methods", default="atrous,rdfc")
    parser.add_argument("--reference", type=int, default=4096, help="samples of the references")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    methods = args.methods.split(",")
    print("| scene | samples | input | " + " | ".join(methods) + " |")
    print("|---" * (3 + len(methods)) + "|")
    table = {}
    for scene in args.scenes.split(","):
        # Another seed, so that a reference shares no sample with its input.
        reference = render(args, scene, "reference", args.reference, "--seed", "1001", "--layers", "color")
        for samples in map(int, args.samples.split(",")):
            source = render(args, scene, samples, samples)
            images = [source]
            for number, method in enumerate(methods):
                out = os.path.join(args.folder, f"out-{number}.exr")
                run(args.limpid, "denoise", source, "-o", out, "--device", args.device, "--method", *method.split())
                images.append(out)
            row = relmse(args, images, reference)
            table.setdefault(samples, []).append(row)
            print(f"| {scene} | {samples} | " + " | ".join(f"{v:.5f}" for v in row) + " |", flush=True)
    for samples, rows in table.items():
        means = [mean(column) for column in zip(*rows)]
        print(f"| mean | {samples} | " + " | ".join(f"{v:.5f}" for v in means) + " |")


if __name__ == "__main__":
    main()
