"""PSNR of photograph denoisers on pictures of scikit-image with seeded Gaussian noise.

    pip install scikit-image bm3d PyWavelets
    python3 bench/peers/photographs.py --limpid target/release/limpid --sigma 25

Noise comes from numpy's default_rng(0), is not clipped, and goes to limpid as a float file. Peers run with the true noise
level. Grey pictures are scikit-image's rgb2gray of the colour ones. Prints one line per picture, then means.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from skimage import color, data, restoration

NAMES = ["astronaut", "chelsea", "coffee", "rocket", "immunohistochemistry", "stereo_motorcycle"]


def picture(name, grey, side):
    """A picture on 0 … 1; its middle when it is larger than side."""
    image = getattr(data, name)()
    image = (image[0] if isinstance(image, tuple) else image)[..., :3] / 255.0
    y, x = (max(0, (n - side) // 2) for n in image.shape[:2])
    image = image[y : y + side, x : x + side]
    return color.rgb2gray(image) if grey else image


def write_pfm(path, image):
    head = "Pf" if image.ndim == 2 else "PF"
    with open(path, "wb") as file:
        file.write(f"{head}\n{image.shape[1]} {image.shape[0]}\n-1.0\n".encode())
        file.write(np.flipud(image).astype("<f4").tobytes())


def read_pfm(path):
    with open(path, "rb") as file:
        channels = 3 if file.readline().strip() == b"PF" else 1
        width, height = map(int, file.readline().split())
        order = "<f4" if float(file.readline()) < 0 else ">f4"
        image = np.frombuffer(file.read(), order).reshape(height, width, channels)
    return np.flipud(image).squeeze()


def limpid(program, options):
    def run(noisy, sigma):
        with tempfile.TemporaryDirectory() as folder:
            before, after = os.path.join(folder, "a.pfm"), os.path.join(folder, "b.pfm")
            write_pfm(before, noisy)
            command = [program, "denoise", before, "-o", after, "--method", "ddid", "--sigma", str(sigma), "--device", "cpu", *options]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            return read_pfm(after)

    return run


def bm3d(noisy, sigma):
    import bm3d as peer

    return peer.bm3d_rgb(noisy, sigma) if noisy.ndim == 3 else peer.bm3d(noisy, sigma)


def nl_means(noisy, sigma):
    axis = -1 if noisy.ndim == 3 else None
    return restoration.denoise_nl_means(
        noisy, patch_size=5, patch_distance=6, h=0.6 * sigma, sigma=sigma, fast_mode=True, channel_axis=axis
    )


def wavelet(noisy, sigma):
    axis = -1 if noisy.ndim == 3 else None
    return restoration.denoise_wavelet(noisy, sigma=sigma, channel_axis=axis, convert2ycbcr=noisy.ndim == 3, rescale_sigma=True)


def psnr(a, b):
    return -10 * np.log10(np.mean((a - b) ** 2))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limpid", help="the program; without it only the peers run")
    parser.add_argument("--sigma", type=float, nargs="+", default=[25.0], help="of 255")
    parser.add_argument("--names", nargs="+", default=NAMES)
    parser.add_argument("--kind", nargs="+", default=["grey", "color"])
    parser.add_argument("--side", type=int, default=10000, help="take the middle of larger pictures")
    parser.add_argument("--only", nargs="+", help="run only these")
    args = parser.parse_args()
    methods = {"bm3d": bm3d, "nl-means": nl_means, "wavelet": wavelet}
    if args.limpid:
        for name, options in {
            "best": [],
            "good": ["--quality", "good"],
            "fast": ["--quality", "fast"],
            "2013": ["--variant", "2013"],
        }.items():
            methods[f"ddid {name}"] = limpid(args.limpid, options)
    methods = {k: v for k, v in methods.items() if not args.only or k in args.only}
    for kind in args.kind:
        for sigma in args.sigma:
            found = {m: [] for m in methods}
            for name in args.names:
                clean = picture(name, kind == "grey", args.side)
                noisy = clean + np.random.default_rng(0).normal(0, sigma / 255, clean.shape)
                line = []
                for m, run in methods.items():
                    start = time.process_time()
                    found[m].append(psnr(run(noisy, sigma / 255), clean))
                    line.append(f"{m} {found[m][-1]:.2f} ({time.process_time() - start:.0f} s)")
                print(kind, sigma, name, *line, sep="  ")
                sys.stdout.flush()
            print(kind, sigma, "mean", *(f"{m} {np.mean(v):.2f}" for m, v in found.items()), sep="  ")


if __name__ == "__main__":
    main()
