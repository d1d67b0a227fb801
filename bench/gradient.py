#!/usr/bin/env python3
"""Gradient-domain reconstruction of the built-in scenes: the table of docs/gradient.md, and references at equal cost.

    python3 bench/gradient.py --limpid target/release/limpid --folder /tmp/gradient [--parts quality caches]

Renders what is not in the folder yet: six scenes of 96×96 pixels at a few numbers of samples with three seeds, and references
of 3072 samples. Prints Markdown: geometric means over seeds of relMSE, mean((x - r)² / (r² + 0.01)).

caches: for each total of samples per pixel, an image with all of them, and images with fewer whose other samples are spent on
references for `patch` and `patch --thesis`, few pixels with many samples each or more with fewer. The last column is relative to
`patch` with all samples in the image.
"""

import argparse
import json
import math
import os
import subprocess

SCENES = ["cornell", "columns", "bookshelf", "glass", "glossy", "outdoor"]
METHODS = {
    "l2": ["--norm", "l2"],
    "l1": ["--norm", "l1"],
    "patch --thesis": ["--method", "patch", "--thesis"],
    "patch": ["--method", "patch"],
}
# Total samples per pixel and those of the image; samples of each reference pixel; who uses them.
TOTALS = {9: [8], 13: [12], 14: [12, 13], 16: [12, 14]}
EACH = [64, 256]
ARMS = ["patch", "patch --thesis"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", default="limpid")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--parts", nargs="*", default=["quality", "caches"], choices=["quality", "caches"])
    parser.add_argument("--scenes", nargs="*", default=SCENES)
    parser.add_argument("--samples", nargs="*", type=int, default=[8, 16, 64])
    parser.add_argument("--totals", nargs="*", type=int, default=list(TOTALS), choices=list(TOTALS), help="of caches")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--size", default="96x96")
    parser.add_argument("--reference", default="3072", help="samples per pixel of the references")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    width, height = map(int, args.size.split("x"))

    def limpid(*words):
        command = [args.limpid, *map(str, words)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

    def path(*words):
        return os.path.join(args.folder, "-".join(map(str, words)) + ".exr")

    def render(to, scene, samples, seed, *more):
        if not os.path.exists(to):
            limpid("render", scene, "-o", to, "--spp", samples, "--size", args.size, "--seed", seed, *more)
        return to

    def noisy(scene, samples, seed):
        return render(path(scene, samples, seed), scene, samples, f"1{seed}", "--gradients")

    def reference(scene):
        return render(path(scene, "ref"), scene, args.reference, 77, "--layers", "color")

    def error(image, scene):
        score = json.loads(limpid("compare", image, "--reference", reference(scene), "--json"))
        return score[0]["relmse"]

    def made(scene, samples, seed, options):
        out = path("result")
        limpid("reconstruct", noisy(scene, samples, seed), "-o", out, "--device", "cpu", *options)
        return error(out, scene)

    def mean(values):
        return math.exp(sum(map(math.log, values)) / len(values))

    def seeds():
        return range(1, args.seeds + 1)

    def quality():
        print("| scene | samples | base | " + " | ".join(f"`{m}`" for m in METHODS) + " | `l1` over `patch` |")
        print("|---|---|" + "---:|" * (len(METHODS) + 2))
        for samples in args.samples:
            rows = []
            for scene in args.scenes:
                row = [mean([error(noisy(scene, samples, s), scene) for s in seeds()])]
                row += [mean([made(scene, samples, s, o) for s in seeds()]) for o in METHODS.values()]
                rows.append(row)
                show(scene, samples, row)
            show("geometric mean", samples, [mean(column) for column in zip(*rows)])

    def show(name, samples, row):
        cells = " | ".join(f"{v:.5f}" for v in row)
        print(f"| {name} | {samples} | {cells} | {row[2] / row[4]:.1f} |", flush=True)

    def caches():
        print("| samples | spent on references | method | " + " | ".join(args.scenes) + " | geometric mean, relative |")
        print("|---|---|---|" + "---:|" * (len(args.scenes) + 1))
        for total in args.totals:
            base = []
            for method in ["l1", *reversed(ARMS)]:
                base.append(everywhere(total, METHODS[method]))
            for method, row in zip(["l1", *reversed(ARMS)], base):
                line(total, "–", method, row, base[-1])
            for own in TOTALS[total]:
                for each in EACH:
                    count = (total - own) * width * height // each
                    for method in ARMS:
                        row = everywhere(own, METHODS[method], ["--caches", count, "--cache-samples", each])
                        line(own, f"{count} × {each}", method, row, base[-1])

    def everywhere(samples, options, known=()):
        """Of each scene the mean over seeds; `known`: options of its references."""
        found = []
        for scene in args.scenes:
            more = ["--scene", scene, *known] if known else []
            found.append(mean([made(scene, samples, s, [*options, *more]) for s in seeds()]))
        return found

    def line(samples, spent, method, row, base):
        relative = mean([a / b for a, b in zip(row, base)])
        cells = " | ".join(f"{v:.5f}" for v in row)
        print(f"| {samples} | {spent} | `{method}` | {cells} | {relative:.2f} |", flush=True)

    known = {"quality": quality, "caches": caches}
    for part in args.parts:
        known[part]()


if __name__ == "__main__":
    main()
