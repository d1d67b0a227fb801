#!/usr/bin/env python3
"""The measurements of Dammertz 2010 with `atrous`: figure 10, figure 12 and table 2.

    python3 bench/atrous.py --limpid target/release/limpid --folder /tmp/quality [--parts figure10 figure12 table2] [--device cpu]

figure10: renders of three scenes at 1, 4 and 16 samples per pixel, filtered as in the paper (`atrous --paper`), by the default
(`atrous`), and by the filters it is compared with: relMSE, SSIM and FLIP, one table in Markdown for each scene.
figure12: the mean square error of all scenes at 1 sample per pixel, before and after.
table2: milliseconds for weights × iterations × resolution.

Renders that are in the folder already are not rendered again.
"""

import argparse
import json
import os
import subprocess

SCENES = ["cornell", "columns", "glossy"]
ALL_SCENES = ["cornell", "columns", "glossy", "bookshelf", "glass", "outdoor"]
SAMPLES = [1, 4, 16]
METHODS = ["atrous --paper", "atrous", "cdf22", "redblack", "eaw-cdf22", "eaw-redblack", "bilateral", "multilateral"]
PARTS = ["figure10", "figure12", "table2"]
SIZES = ["512x512", "1024x1024", "1920x1080"]
LEVELS = [1, 5, 10]
# The layers and options for 0 to 3 weights, as in the paper: none, colour, normal, position.
WEIGHTS = [
    ("color", ["--sigma-color", "1e30"]),
    ("color", ["--sigma-color", "1"]),
    ("color,normal", ["--sigma-color", "1", "--sigma-normal", "0.3"]),
    ("color,normal,position", ["--sigma-color", "1", "--sigma-normal", "0.3", "--sigma-position", "0.5"]),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", default="limpid")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--device", default="cpu", help="device of table 2")
    parser.add_argument("--size", default="256x256")
    parser.add_argument("--reference", default="1024", help="samples per pixel of the references")
    parser.add_argument("--scenes", nargs="*", help="scenes of the figures")
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="options of the methods")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)

    def path(*words):
        words = [str(word).replace(" --", "-") for word in words]
        return os.path.join(args.folder, "-".join(words) + ".exr")

    def limpid(*words):
        command = [args.limpid, *map(str, words)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

    def render(scene, samples, seed, *more):
        to = path(scene, "ref") if more else path(scene, samples)
        if not os.path.exists(to):
            limpid("render", scene, "-o", to, "--spp", samples, "--size", args.size, "--seed", seed, *more)
        return to

    def reference(scene):
        # With the inputs' seed the reference would hold their very samples.
        return render(scene, args.reference, 0, "--layers", "color")

    def filtered(scene, samples, methods):
        noisy = render(scene, samples, 7)
        files = [noisy]
        for method in methods:
            made = path(scene, samples, method)
            limpid("denoise", noisy, "-o", made, "--device", "cpu", "--method", *method.split(), *args.options)
            files.append(made)
        return json.loads(limpid("compare", *files, "--reference", reference(scene), "--json"))

    def head(first, cells):
        print(f"\n| {first} | " + " | ".join(cells) + " |")
        print("|---|" + "---:|" * len(cells))

    def row(first, cells):
        print(f"| {first} | " + " | ".join(cells) + " |", flush=True)

    def figure10():
        for scene in args.scenes or SCENES:
            rows = {name: [] for name in ["input", *args.methods]}
            for samples in SAMPLES:
                for name, score in zip(rows, filtered(scene, samples, args.methods)):
                    rows[name] += [f"{score['relmse']:.4f}", f"{score['ssim']:.3f}", f"{score['flip']:.3f}"]
            head(scene, [f"{what} {n}" for n in SAMPLES for what in ["relMSE", "SSIM", "FLIP"]])
            for name, cells in rows.items():
                row(name, cells)

    def figure12():
        methods = args.methods[:2]
        head("MSE, 1 sample", ["input", *methods])
        for scene in args.scenes or ALL_SCENES:
            row(scene, [f"{score['mse']:.4f}" for score in filtered(scene, 1, methods)])

    def table2():
        schedule = "dilated" if args.device == "cpu" else "permuted:ascending:exact:tile"
        head("weights", [f"{size}, {levels}" for size in SIZES for levels in LEVELS])
        for weights, (layers, options) in enumerate(WEIGHTS):
            cells = []
            for size in SIZES:
                for levels in LEVELS:
                    words = ["--size", size, "--levels", levels, "--layers", layers, *options, "--no-firefly-guard"]
                    words += ["--device", args.device, "--schedule", schedule, "--json", "--runs", "5"]
                    time = json.loads(limpid("bench", "atrous", *words))["rows"][0]["median_ms"]
                    cells.append(f"{time:.3g}")
            row(weights, cells)

    known = {"figure10": figure10, "figure12": figure12, "table2": table2}
    for part in args.parts:
        known[part]()


if __name__ == "__main__":
    main()
