#!/usr/bin/env python3
"""Non-local means of OpenCV, scikit-image and Halide beside `limpid bench nlm`, on one picture in one run.

    pip install numpy opencv-python-headless scikit-image halide
    python3 bench/peers/nlm.py --limpid target/release/limpid [--size 1920x1080] [--threads 2] [--rounds 5]

Patches of 7x7, a window of 21x21. Prints nanoseconds per pixel (the median of the rounds) and PSNR. OpenCV works on
8-bit values, all others on 32-bit floats. A peer that is not installed is left out.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np


def picture(width, height, sigma):
    """Ramps, edges and texture, and the same with white noise."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    clean = np.stack([
        0.5 + 0.3 * np.sin(x / 97) * np.cos(y / 71),
        0.2 + 0.6 * ((x // 64 + y // 48) % 2),
        0.4 + 0.2 * np.sin((x + y) / 5) * ((x // 256) % 2) + 0.1 * x / width,
    ], axis=-1).astype(np.float32)
    noise = np.random.default_rng(1).standard_normal(clean.shape).astype(np.float32)
    return clean, np.clip(clean + sigma * noise, 0, 1)


def psnr(a, b):
    return -10 * np.log10(np.mean((np.asarray(a, np.float64) - b) ** 2))


def timed(work, rounds):
    times, result = [], None
    for _ in range(rounds):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


def opencv(noisy, sigma, threads, rounds):
    import cv2
    cv2.setNumThreads(threads)
    eight = (noisy * 255 + 0.5).astype(np.uint8)
    h = 0.7 * 255 * sigma
    t, out = timed(lambda: cv2.fastNlMeansDenoising(eight, None, h=h, templateWindowSize=7, searchWindowSize=21), rounds)
    return t, out.astype(np.float32) / 255


def scikit(noisy, sigma, _threads, rounds):
    from skimage.restoration import denoise_nl_means
    return timed(lambda: denoise_nl_means(
        noisy, patch_size=7, patch_distance=10, h=0.6 * sigma, sigma=sigma, fast_mode=True, channel_axis=-1), rounds)


def halide(noisy, sigma, threads, rounds):
    import halide as hl
    height, width, _ = noisy.shape
    planar = np.ascontiguousarray(np.moveaxis(noisy, -1, 0))
    source = hl.Buffer(planar)  # x, y, c
    x, y, c, dx, dy = (hl.Var(n) for n in ["x", "y", "c", "dx", "dy"])
    near = hl.BoundaryConditions.repeat_edge(source)
    far = hl.Func("far")
    square = lambda v: v * v
    far[x, y, dx, dy] = sum((square(near[x, y, k] - near[x + dx, y + dy, k]) for k in range(3)), hl.f32(0))
    down, along = hl.Func("down"), hl.Func("along")
    down[x, y, dx, dy] = sum((far[x, y + k, dx, dy] for k in range(-3, 4)), hl.f32(0))
    along[x, y, dx, dy] = sum((down[x + k, y, dx, dy] for k in range(-3, 4)), hl.f32(0))
    k = 0.4
    over = 2 * k * k * sigma * sigma
    weight = hl.Func("weight")
    mean = along[x, y, dx, dy] / 147.0
    weight[x, y, dx, dy] = hl.fast_exp(-hl.max(mean - 2 * sigma * sigma, 0.0) / over)
    window = hl.RDom([(-10, 21), (-10, 21)])
    four = hl.Func("four")
    four[x, y, c] = hl.select(c == 3, hl.f32(1), near[x, y, hl.min(c, 2)])
    total = hl.Func("total")
    total[x, y, c] = hl.f32(0)
    total[x, y, c] += weight[x, y, window.x, window.y] * four[x + window.x, y + window.y, c]
    out = hl.Func("out")
    out[x, y, c] = total[x, y, c] / total[x, y, 3]
    tx, ty, xi, yi = (hl.Var(n) for n in ["tx", "ty", "xi", "yi"])
    lanes = hl.get_jit_target_from_environment().natural_vector_size(hl.Float(32))
    out.compute_root().reorder(c, x, y).bound(c, 0, 3).tile(x, y, tx, ty, xi, yi, 4 * lanes, 16).parallel(ty)
    out.vectorize(xi, lanes)
    total.compute_at(out, tx).reorder(c, x, y).bound(c, 0, 4).unroll(c).vectorize(x, lanes)
    total.update(0).reorder(c, x, y, window.x, window.y).unroll(c).vectorize(x, lanes)
    along.compute_at(total, window.x).vectorize(x, lanes)
    down.compute_at(total, window.x).vectorize(x, lanes)
    far.compute_at(total, window.x).vectorize(x, lanes)
    os.environ["HL_NUM_THREADS"] = str(threads)
    result = hl.Buffer(np.zeros((3, height, width), np.float32))
    out.realize(result)
    t, _ = timed(lambda: out.realize(result), rounds)
    return t, np.moveaxis(np.array(result), 0, -1)


def limpid(program, noisy, sigma, threads, rounds):
    """Times the filter inside the program, as the peers are timed, and takes the picture through a file."""
    height, width, _ = noisy.shape
    device = ["--device", "cpu", "--threads", str(threads)]
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in.pfm"), os.path.join(folder, "out.pfm")
        write_pfm(source, noisy)
        options = ["--method", "nlm", "--sigma", str(sigma), *device]
        subprocess.run([program, "denoise", source, "-o", target, *options], check=True)
        out = read_pfm(target, width, height)
    frame = ["--size", f"{width}x{height}", "--layers", "color", "--schedule", "paired", "--runs", str(rounds)]
    report = subprocess.run(
        [program, "bench", "nlm", "--json", "--sigma", str(sigma), *frame, *device],
        check=True, capture_output=True, text=True).stdout
    return json.loads(report)["rows"][0]["median_ms"] / 1e3, out


def write_pfm(path, image):
    with open(path, "wb") as file:
        file.write(f"PF\n{image.shape[1]} {image.shape[0]}\n-1.0\n".encode())
        file.write(np.ascontiguousarray(image[::-1]).astype("<f4").tobytes())


def read_pfm(path, width, height):
    data = open(path, "rb").read()
    return np.frombuffer(data[-12 * width * height:], "<f4").reshape(height, width, 3)[::-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", default="limpid")
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--sigma", type=float, default=25 / 255)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="limpid,halide,opencv,scikit-image")
    args = parser.parse_args()
    width, height = map(int, args.size.split("x"))
    clean, noisy = picture(width, height, args.sigma)
    print(f"{args.size}, sigma {args.sigma:.4f}, {args.threads} threads; noisy {psnr(noisy, clean):.2f} dB")
    peers = {"halide": halide, "opencv": opencv, "scikit-image": scikit}
    for name in args.only.split(","):
        try:
            if name == "limpid":
                t, out = limpid(args.limpid, noisy, args.sigma, args.threads, args.rounds)
            else:
                t, out = peers[name](noisy, args.sigma, args.threads, args.rounds)
        except ImportError as missing:
            print(f"{name:14} not installed: {missing}")
            continue
        print(f"{name:14} {1e9 * t / (width * height):8.0f} ns/pixel  {psnr(out, clean):6.2f} dB", flush=True)


if __name__ == "__main__":
    main()
