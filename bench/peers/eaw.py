#!/usr/bin/env python3
"""PSNR of `eaw` on six pictures of scikit-image with white noise, grey and colour, beside BM3D.

    pip install numpy scikit-image bm3d
    python3 bench/peers/eaw.py --limpid target/release/limpid [--sigma 25] [--bm3d]

Noise comes from numpy's default_rng(0) and is not clipped; files are float, so nothing is rounded. Grey pictures are
scikit-image's, or its luminance of colour ones. Prints decibels for each picture and their mean.
"""

import argparse
import os
import subprocess
import tempfile

import numpy as np
from skimage import color, data

GREY = ["camera", "moon", "astronaut", "chelsea", "coffee", "rocket"]
COLOR = ["astronaut", "chelsea", "coffee", "rocket", "immunohistochemistry", "hubble_deep_field"]


def picture(name, grey):
    image = getattr(data, name)() / 255.0
    return color.rgb2gray(image) if grey and image.ndim == 3 else image


def write_pfm(path, image):
    with open(path, "wb") as file:
        file.write(f"{'Pf' if image.ndim == 2 else 'PF'}\n{image.shape[1]} {image.shape[0]}\n-1\n".encode())
        file.write(np.flipud(image).astype("<f4").tobytes())


def read_pfm(path):
    with open(path, "rb") as file:
        channels = 3 if file.readline().strip() == b"PF" else 1
        width, height = map(int, file.readline().split())
        order = "<f4" if float(file.readline()) < 0 else ">f4"
        return np.flipud(np.frombuffer(file.read(), order).reshape(height, width, channels)).squeeze()


def limpid(program, noisy, sigma):
    with tempfile.TemporaryDirectory() as folder:
        before, after = (os.path.join(folder, name) for name in ["before.pfm", "after.pfm"])
        write_pfm(before, noisy)
        command = [program, "denoise", before, "-o", after, "--method", "eaw", "--sigma", str(sigma), "--device", "cpu"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return read_pfm(after)


def bm3d(_program, noisy, sigma):
    import bm3d as peer

    return peer.bm3d_rgb(noisy, sigma) if noisy.ndim == 3 else peer.bm3d(noisy, sigma)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limpid", default="limpid")
    parser.add_argument("--sigma", type=float, default=25, help="of 255")
    parser.add_argument("--bm3d", action="store_true")
    args = parser.parse_args()
    sigma = args.sigma / 255
    for name, method in [("eaw", limpid)] + [("bm3d", bm3d)] * args.bm3d:
        for kind, names in [("grey", GREY), ("colour", COLOR)]:
            scores = []
            for picture_name in names:
                clean = picture(picture_name, kind == "grey")
                noisy = clean + sigma * np.random.default_rng(0).standard_normal(clean.shape)
                made = method(args.limpid, noisy, sigma)
                scores.append(-10 * np.log10(np.mean((made - clean) ** 2)))
            each = ", ".join(f"{n} {s:.2f}" for n, s in zip(names, scores))
            print(f"{name} {kind}: {np.mean(scores):.2f} dB ({each})", flush=True)


if __name__ == "__main__":
    main()
