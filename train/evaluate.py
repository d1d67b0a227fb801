#!/usr/bin/env python3
"""Judges weights on renders of other renderers, beside Open Image Denoise and Limpid's own methods.

    python3 bench/peers/renders.py --limpid target/release/limpid --methods nfor --output target/renders --cache target/cache
    python3 train/evaluate.py crates/limpid/weights/guides.safetensors --renders target/cache --limpid target/release/limpid --output target/evaluation

Reads what renders.py keeps: <scene>/N.exr (two buffers, `b.*` the second), ref.exr and anchors.json with the errors of OIDN.
One buffer of N samples is judged, and the mean of both as 2N samples. Error: trimmed relMSE less that of the reference's own
noise; the table has the ratio to OIDN on as many samples, or to another entry of anchors.json (--anchor). None of these renders was
used in training or to choose anything.
"""

import argparse
import glob
import json
import math
import os
import subprocess

import numpy as np
import OpenEXR
import torch

import export
import model

WIDE = ("wide", "kitchen", "hall")  # Gaussian pixel filters: OIDN keeps their noise


def read(path):
    with OpenEXR.File(path, separate_channels=True) as file:
        return {k: np.asarray(c.pixels, np.float32) for k, c in file.channels().items()}


def stack(channels, prefix, axes):
    return np.stack([channels[prefix + x] for x in axes], -1)


def write(path, channels):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    OpenEXR.File(header, {k: np.ascontiguousarray(v) for k, v in channels.items()}).write(path)


def error(image, reference):
    each = np.sort(((image - reference) ** 2 / (reference**2 + 0.01)).mean(-1).ravel())
    return float(each[: int(each.size * 0.999)].mean())


@torch.no_grad()
def learned(net, color, albedo, normal, depth, turns=1):
    """The mean over so many mirrored and turned copies."""
    planes = lambda x: torch.from_numpy(np.ascontiguousarray(np.nan_to_num(x).transpose(2, 0, 1)))[None]
    layers, total = [planes(x) for x in (color, albedo, normal, depth)], 0
    for turn in range(turns):
        sides = [s for s, bit in ((-1, 1), (-2, 2)) if turn & bit]
        across = lambda x: x.transpose(-1, -2) if turn & 4 else x
        there = lambda x: across(x.flip(sides)).contiguous()
        total = total + across(model.denoise(net, *(there(x) for x in layers))).flip(sides)
    return (total / turns)[0].permute(1, 2, 0).numpy()


def limpid(program, method, folder, channels):
    os.makedirs(folder, exist_ok=True)
    source, result = f"{folder}/input.exr", f"{folder}/result-{method.split()[0]}.exr"
    write(source, channels)
    name, *options = method.split()
    subprocess.run([program, "-q", "denoise", source, "-o", result, "--method", name, *options], check=True)
    return stack(read(result), "", "RGB")


def tone(image):
    return ((image / (1 + image)).clip(0, 1) ** (1 / 2.2) * 255 + 0.5).astype(np.uint8)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("weights", nargs="*", help="files of weights; more than one are compared")
    p.add_argument("--renders", action="append", required=True)
    p.add_argument("--output", default="target/evaluation")
    p.add_argument("--limpid", help="the program, to run --methods on the same files")
    p.add_argument("--methods", default="nfor,atrous")
    p.add_argument("--samples", default="1,2,4,8,16")
    p.add_argument("--scenes", help="names with commas; all without it")
    p.add_argument("--without", default="", help="layers to leave out: albedo,normal,depth")
    p.add_argument("--sheet", help="scene/samples,... to show: noisy, OIDN, each method, reference")
    p.add_argument("--turns", type=int, default=1, help="mean over so many mirrored and turned copies, up to 8")
    p.add_argument("--anchor", default="oidn", help="what to compare with: an entry of anchors.json, such as oidn_prefiltered")
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    nets = {os.path.relpath(w): export.load(w) for w in a.weights}
    methods = a.methods.split(",") if a.limpid else []
    counts, sheet = [int(n) for n in a.samples.split(",")], (a.sheet or "").split(",")
    results, strips = {}, []
    for root in a.renders:
        with open(f"{root}/anchors.json") as file:
            anchors = json.load(file)
        wanted = a.scenes.split(",") if a.scenes else {k.split("/")[0] for k in anchors}
        for name in sorted({k.split("/")[0] for k in anchors}.intersection(wanted)):
            reference = stack(read(f"{root}/{name}/ref.exr"), "", "RGB")
            for path in sorted(glob.glob(f"{root}/{name}/[0-9]*.exr")):
                n = int(os.path.basename(path)[:-4])
                anchor = anchors.get(f"{name}/{n}")
                for pair in (False, True):
                    samples = n * (2 if pair else 1)
                    # A file of twice the samples with one buffer says the same; the mean of two stands in where there is none.
                    if not anchor or samples not in counts or (pair and f"{name}/{samples}" in anchors):
                        continue
                    channels = read(path)
                    color = stack(channels, "", "RGB")
                    if pair:
                        color = (color + stack(channels, "b.", "RGB")) / 2
                    features = [
                        stack(channels, f, x) for f, x in (("albedo.", "RGB"), ("normal.", "XYZ"), ("depth.", "Z"))
                    ]
                    for i, layer in enumerate(("albedo", "normal", "depth")):
                        if layer in a.without.split(","):
                            features[i] = np.zeros_like(features[i])
                    plain = {k: v for k, v in channels.items() if k.startswith(("albedo", "normal", "depth"))}
                    plain |= {c: color[..., i] for i, c in enumerate("RGB")}
                    floor = anchor["floor"]
                    oidn = max(anchor[a.anchor + ("_twice_the_samples" if pair else "")] - floor, 1e-6)
                    row = {}
                    images = {w: learned(net, color, *features, a.turns) for w, net in nets.items()}
                    for method in methods:
                        images[method] = limpid(a.limpid, method, f"{a.output}/{name}-{samples}", plain)
                    for key, image in images.items():
                        row[key] = max(error(image, reference) - floor, 1e-6) / oidn
                    results[name, samples] = row
                    print(
                        f"{name + '/' + str(samples):24}", "  ".join(f"{k} {v:.2f}" for k, v in row.items()), flush=True
                    )
                    if f"{name}/{samples}" in sheet:
                        import pyoidn

                        clean = pyoidn.denoise(np.maximum(color, 0), features[0].clip(0, 1), features[1], hdr=True)
                        strips.append(
                            np.concatenate(
                                [tone(np.maximum(x, 0)) for x in [color, clean, *images.values(), reference]], 1
                            )
                        )
    for samples in counts:
        for wide in (False, True):
            rows = [r for (name, n), r in results.items() if n == samples and (name in WIDE) == wide]
            if not rows:
                continue
            mean = {k: math.exp(sum(math.log(r[k]) for r in rows) / len(rows)) for k in rows[0]}
            title = f"{samples} samples, {'wide' if wide else 'box'} filter, {len(rows)} renders:"
            print(f"{title:40}", "  ".join(f"{k} {v:.2f}" for k, v in mean.items()))
    os.makedirs(a.output, exist_ok=True)
    with open(f"{a.output}/ratios.json", "w") as file:
        json.dump({f"{n}/{s}": r for (n, s), r in results.items()}, file, indent=1)
    if strips:
        from PIL import Image

        width = max(s.shape[1] for s in strips)
        padded = [np.pad(s, ((0, 4), (0, width - s.shape[1]), (0, 0))) for s in strips]
        Image.fromarray(np.concatenate(padded)).save(f"{a.output}/sheet.png")


if __name__ == "__main__":
    main()
