#!/usr/bin/env python3
"""Wavelet shrinkage of scikit-image beside `limpid denoise --method shrink`, on six of its pictures.

    pip install numpy scikit-image PyWavelets pooch
    python3 bench/peers/shrink.py --limpid target/release/limpid [--sigma 25] [--threads 2] [-- --wavelet db2 --threshold bayes]

scikit-image's BayesShrink with cycle spinning over all shifts up to `--shifts` along each axis, Limpid's defaults or what
stands behind `--`; noise of a known deviation (numpy's
default_rng(0), not clipped). Grey pictures are scikit-image's rgb2gray of the colour ones. Prints PSNR and milliseconds of each picture, grey and in colour, and their means. Limpid's time is that of
`limpid bench shrink` on a picture of the same size.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time

import numpy as np
from skimage import color, data
from skimage.restoration import cycle_spin, denoise_wavelet

NAMES = ["astronaut", "chelsea", "coffee", "rocket", "immunohistochemistry", "stereo_motorcycle"]


def pictures(kind):
    for name in NAMES:
        image = getattr(data, name)()
        image = (image[0] if isinstance(image, tuple) else image)[..., :3] / 255.0
        yield name, color.rgb2gray(image) if kind == "grey" else image


def psnr(a, b):
    return -10 * np.log10(np.mean((a.astype(np.float64) - b) ** 2))


def scikit(noisy, sigma, shifts):
    axis = -1 if noisy.ndim == 3 else None
    options = dict(method="BayesShrink", mode="soft", sigma=sigma, rescale_sigma=True, channel_axis=axis)
    if axis is not None:
        options["convert2ycbcr"] = True
    start = time.perf_counter()
    out = cycle_spin(noisy, func=denoise_wavelet, max_shifts=shifts, func_kw=options, channel_axis=axis, workers=1)
    return out, 1e3 * (time.perf_counter() - start)


def write_pfm(path, image):
    with open(path, "wb") as f:
        kind = b"PF" if image.ndim == 3 else b"Pf"
        f.write(kind + b"\n%d %d\n-1\n" % (image.shape[1], image.shape[0]))
        f.write(np.ascontiguousarray(image[::-1], "<f4").tobytes())


def read_pfm(path):
    with open(path, "rb") as f:
        kind = f.readline().strip()
        width, height = map(int, f.readline().split())
        f.readline()
        values = np.frombuffer(f.read(), "<f4")
    shape = (height, width, 3) if kind == b"PF" else (height, width)
    return values.reshape(shape)[::-1]


def limpid(program, noisy, sigma, threads, extra):
    with tempfile.TemporaryDirectory() as folder:
        here, there = os.path.join(folder, "in.pfm"), os.path.join(folder, "out.pfm")
        write_pfm(here, noisy)
        run = ["--device", "cpu", "--threads", str(threads), "--sigma", str(sigma)] + extra
        subprocess.run([program, "denoise", here, "-o", there, "--method", "shrink"] + run, check=True)
        size = f"{noisy.shape[1]}x{noisy.shape[0]}"
        bench = [program, "bench", "shrink", "--layers", "color", "--size", size, "--runs", "5", "--json"] + run
        report = json.loads(subprocess.run(bench, check=True, capture_output=True, text=True).stdout)
        ms = report["rows"][0]["median_ms"]
        # The bench runs on three planes.
        return read_pfm(there), ms if noisy.ndim == 3 else ms / 3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limpid", default="target/release/limpid")
    parser.add_argument("--sigma", type=float, default=25)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shifts", type=int, default=3, help="scikit-image's largest shift along each axis")
    parser.add_argument("--kinds", nargs="+", default=["grey", "colour"])
    parser.add_argument("options", nargs="*", help="further options of limpid, behind --")
    args = parser.parse_args()
    sigma = args.sigma / 255
    for kind in args.kinds:
        rows = []
        for name, clean in pictures(kind):
            noise = np.random.default_rng(0).standard_normal(clean.shape)
            noisy = (clean + sigma * noise).astype(np.float32)
            theirs, their_ms = scikit(noisy, sigma, args.shifts)
            ours, our_ms = limpid(args.limpid, noisy, sigma, args.threads, args.options)
            row = psnr(noisy, clean), psnr(theirs, clean), psnr(ours, clean), their_ms, our_ms
            rows.append(row)
            print(f"{name:22} noisy {row[0]:6.2f} dB   scikit-image {row[1]:6.2f} dB {row[3]:8.0f} ms   "
                  f"limpid {row[2]:6.2f} dB {row[4]:7.1f} ms   {row[3] / row[4]:6.0f} times faster", flush=True)
        mean = np.mean(rows, axis=0)
        print(f"{kind + ', mean':22} noisy {mean[0]:6.2f} dB   scikit-image {mean[1]:6.2f} dB {mean[3]:8.0f} ms   "
              f"limpid {mean[2]:6.2f} dB {mean[4]:7.1f} ms   {mean[3] / mean[4]:6.0f} times faster")


if __name__ == "__main__":
    main()
