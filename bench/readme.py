#!/usr/bin/env python3
"""The table of README.md in one run: Limpid beside Open Image Denoise, BM3D, OpenCV and PyWavelets, on this machine's CPU.

    pip install numpy OpenEXR pyoidn bm3d PyWavelets scikit-image opencv-python-headless
    python3 bench/readme.py [--limpid target/release/limpid]

Renders: three built-in scenes, 320x240, 16 samples per pixel, against 256; trimmed relMSE (without the worst thousandth of the
pixels), geometric means. Photographs: the central 256x256 of three pictures of scikit-image in colour, white noise of 25/255, the
level given to all; mean PSNR. Wavelets: one plane of 2048x2048, five levels of CDF 9/7, forward and inverse, one thread. Times are CPU
seconds of all threads, so that other work on the machine does not count: of Limpid the whole program, with reading and writing
(wavelets: the transform alone), of the others the call; the least of three runs.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "peers"))
import photographs
import renders

SCENES = ["columns", "bookshelf", "glass"]
PICTURES = ["astronaut", "chelsea", "coffee"]


def least_of_three(work):
    """The result, and the least CPU time of this process."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        result = work()
        times.append(time.process_time() - begin)
    return result, min(times)


def program_of(*command):
    """The least CPU time of a program."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command, "--device", "cpu", "--quiet"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def trimmed(image, reference):
    error = ((image - reference) ** 2).mean(2) / (reference.mean(2) ** 2 + 0.01)
    error = np.sort(error.ravel())
    return error[: len(error) - len(error) // 1000].mean()


def bench(program, *arguments):
    out = subprocess.run([program, "bench", *arguments, "--device", "cpu", "--json"], check=True, capture_output=True)
    return json.loads(out.stdout)


def of_renders(program, folder):
    run = lambda *a: subprocess.run([program, *a, "--quiet"], check=True)
    rows = {name: ([], []) for name in ["nfor", "atrous", "Open Image Denoise"]}
    for scene in SCENES:
        noisy, truth = f"{folder}/{scene}.exr", f"{folder}/{scene}-truth.exr"
        run("render", scene, "--size", "320x240", "--spp", "16", "-o", noisy)
        run("render", scene, "--size", "320x240", "--spp", "256", "--seed", "1", "--layers", "color", "-o", truth)
        reference = renders.read_exr(truth)
        # The same one buffer for all: no halves, no variance.
        single = f"{folder}/{scene}-single.exr"
        layers = {"": renders.read_exr(noisy), "albedo.": renders.read_exr(noisy, "albedo."),
                  "normal.": renders.read_exr(noisy, "normal.", "XYZ"), "depth.": renders.read_exr(noisy, "depth.", "Z")}
        planes = {}
        for prefix, axes in [("", "RGB"), ("albedo.", "RGB"), ("normal.", "XYZ"), ("depth.", "Z")]:
            for k, axis in enumerate(axes):
                planes[prefix + axis] = np.ascontiguousarray(layers[prefix][..., k])
        import OpenEXR
        OpenEXR.File({"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}, planes).write(single)
        for method in ["nfor", "atrous"]:
            out = f"{folder}/{scene}-{method}.exr"
            seconds = program_of(program, "denoise", single, "-o", out, "--method", method)
            rows[method][0].append(trimmed(renders.read_exr(out), reference))
            rows[method][1].append(seconds)
        import pyoidn
        color, albedo, normal = layers[""], layers["albedo."].clip(0, 1), layers["normal."]
        image, seconds = least_of_three(lambda: pyoidn.denoise(np.maximum(color, 0), albedo, normal, hdr=True))
        rows["Open Image Denoise"][0].append(trimmed(image, reference))
        rows["Open Image Denoise"][1].append(seconds)
    for name, (errors, seconds) in rows.items():
        print(f"| renders | {name} | relMSE {np.exp(np.log(errors).mean()):.4f} | {np.mean(seconds):.2f} s |", flush=True)


def of_photographs(program, folder):
    import bm3d
    import cv2

    noise = np.random.default_rng(0)
    rows = {}
    for name in PICTURES:
        clean = photographs.picture(name, False, 256)
        noisy = (clean + noise.normal(0, 25 / 255, clean.shape)).astype(np.float32)
        photographs.write_pfm(f"{folder}/noisy.pfm", noisy)
        for method in ["ddid", "nlm"]:
            noisy_file, out = f"{folder}/noisy.pfm", f"{folder}/out.pfm"
            seconds = program_of(program, "denoise", noisy_file, "-o", out, "--method", method, "--sigma", "25/255")
            rows.setdefault(method, []).append((photographs.psnr(photographs.read_pfm(out), clean), seconds))
        result, seconds = least_of_three(lambda: bm3d.bm3d_rgb(noisy, 25 / 255))
        rows.setdefault("BM3D", []).append((photographs.psnr(result, clean), seconds))
        bytes_of = (noisy.clip(0, 1) * 255).round().astype(np.uint8)
        result, seconds = least_of_three(lambda: cv2.fastNlMeansDenoisingColored(bytes_of, None, 15, 15, 7, 21))
        rows.setdefault("OpenCV NL-means", []).append((photographs.psnr(result / 255, clean), seconds))
    for name, found in rows.items():
        decibels, seconds = np.mean(found, axis=0)
        print(f"| photographs | {name} | {decibels:.2f} dB | {seconds:.2f} s |", flush=True)


def of_wavelets(program):
    import pywt

    size = 2048
    image = np.random.default_rng(0).random((size, size), dtype=np.float32)
    coefficients, forward = least_of_three(lambda: pywt.wavedec2(image, "bior4.4", "periodization", 5))
    back, inverse = least_of_three(lambda: pywt.waverec2(coefficients, "bior4.4", "periodization"))
    rows = bench(program, "dwt", "--size", f"{size}x{size}", "--threads", "1", "--runs", "5")["rows"]
    row = next(r for r in rows if r["wavelet"] == "cdf97" and r["levels"] == 5 and r["size"] == f"{size}x{size}")
    ms = (row["forward"] + row["inverse"]) * size * size / 1e6
    print(f"| wavelets | dwt and idwt | {ms:.1f} ms |")
    print(f"| wavelets | PyWavelets | {1e3 * (forward + inverse):.1f} ms (error {abs(back - image).max():.0e}) |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", default="target/release/limpid")
    program = os.path.abspath(parser.parse_args().limpid)
    with tempfile.TemporaryDirectory() as folder:
        of_wavelets(program)
        of_photographs(program, folder)
        of_renders(program, folder)


if __name__ == "__main__":
    main()
