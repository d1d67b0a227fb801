"""Window filters of Halide and OpenCV beside Limpid's, on the CPU, in one run.

    pip install halide opencv-python-headless numpy
    cargo build --release -p limpid-cli
    python3 bench/peers/filters.py [--limpid target/release/limpid] [--size 3840x2160] [--threads 2] [--rounds 7]

RGB of 32-bit floats, planar for Limpid and Halide, side by side for OpenCV, which is how each likes it. Prints the median
of nanoseconds per pixel. The peers' borders repeat the last pixel. OpenCV's bilateral filter has a round window and the
sum of absolute differences as distance in colour: less work than the square window and the squared distance of the
others.
"""

import argparse
import json
import os
import subprocess
import time

import cv2
import halide as hl
import numpy as np

RANGE = 0.1


def median_time(work, rounds):
    work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


class Halide:
    """Pipelines that are fused, vectorised and parallel over bands of rows."""

    def __init__(self, image):
        self.image = hl.Buffer(image)
        self.height, self.width = image.shape[1:]
        self.source = hl.BoundaryConditions.repeat_edge(self.image)
        self.x, self.y, self.c = hl.Var("x"), hl.Var("y"), hl.Var("c")

    def realize(self, func, outputs=1):
        shape = [self.width, self.height, 3]
        out = [hl.Buffer(hl.Float(32), shape) for _ in range(outputs)]
        func.compile_jit(hl.get_jit_target_from_environment())
        target = out[0] if outputs == 1 else out
        return lambda: func.realize(target)

    def gaussian(self, r):
        x, y, c = self.x, self.y, self.c
        sigma = max(r / 2, 0.5)
        taps = np.exp(-np.arange(-r, r + 1) ** 2 / (2 * sigma**2))
        taps /= taps.sum()
        down, out = hl.Func("down"), hl.Func("out")
        weigh = lambda f: sum((hl.f32(float(k)) * f(i) for i, k in zip(range(-r, r + 1), taps)), hl.f32(0))
        down[x, y, c] = weigh(lambda i: self.source[x, y + i, c])
        out[x, y, c] = weigh(lambda i: down[x + i, y, c])
        yo, yi = hl.Var("yo"), hl.Var("yi")
        out.split(y, yo, yi, 32).parallel(c).parallel(yo).vectorize(x, 16)
        down.compute_at(out, yi).vectorize(x, 16)
        return self.realize(out)

    def variance(self, r):
        x, y, c = self.x, self.y, self.c
        window = range(-r, r + 1)
        s, q, out = (hl.Func(n) for n in ("s", "q", "out"))
        s[x, y, c] = sum((self.source[x, y + i, c] for i in window), hl.f32(0))
        q[x, y, c] = sum((self.source[x, y + i, c] * self.source[x, y + i, c] for i in window), hl.f32(0))
        n = hl.f32(1.0 / (2 * r + 1) ** 2)
        m = sum((s[x + i, y, c] for i in window), hl.f32(0)) * n
        v = sum((q[x + i, y, c] for i in window), hl.f32(0)) * n - m * m
        out[x, y, c] = (m, hl.sqrt(hl.max(v, hl.f32(0))))
        yo, yi = hl.Var("yo"), hl.Var("yi")
        out.split(y, yo, yi, 32).parallel(c).parallel(yo).vectorize(x, 16)
        s.compute_at(out, yi).vectorize(x, 16)
        q.compute_at(out, yi).vectorize(x, 16)
        return self.realize(out, 2)

    def bilateral(self, r):
        x, y, c = self.x, self.y, self.c
        sigma = max(r / 2, 0.5)
        sums, out = hl.Func("sums"), hl.Func("out")
        near, alike = -0.5 / sigma**2, hl.f32(-0.5 / RANGE**2)
        total = [hl.f32(0)] * 4
        for j in range(-r, r + 1):
            for i in range(-r, r + 1):
                d = [self.source[x + i, y + j, p] - self.source[x, y, p] for p in range(3)]
                d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
                w = hl.fast_exp(d2 * alike + hl.f32(near * (i * i + j * j)))
                for p in range(3):
                    total[p] = total[p] + w * self.source[x + i, y + j, p]
                total[3] = total[3] + w
        sums[x, y] = tuple(total)
        s = sums[x, y]
        out[x, y, c] = hl.select(c == 0, s[0], c == 1, s[1], s[2]) / s[3]
        yo, yi = hl.Var("yo"), hl.Var("yi")
        out.bound(c, 0, 3).reorder(x, c, y).unroll(c).split(y, yo, yi, 16).parallel(yo).vectorize(x, 16)
        sums.compute_at(out, yi).vectorize(x, 16)
        return self.realize(out)


class OpenCv:
    def __init__(self, image, threads):
        cv2.setNumThreads(threads)
        self.image = np.ascontiguousarray(image.transpose(1, 2, 0))
        self.out = np.empty_like(self.image)

    def gaussian(self, r):
        side = 2 * r + 1
        return lambda: cv2.GaussianBlur(self.image, (side, side), max(r / 2, 0.5), self.out)

    def tent2(self, r):
        i = np.abs(np.arange(-r, r + 1))
        kernel = (2 * r + 1 - (i[:, None] + i[None, :])).astype(np.float32)
        kernel /= kernel.sum()
        return lambda: cv2.filter2D(self.image, -1, kernel, self.out)

    def variance(self, r):
        side = (2 * r + 1, 2 * r + 1)

        def work():
            mean = cv2.blur(self.image, side)
            squares = cv2.sqrBoxFilter(self.image, -1, side)
            return mean, cv2.sqrt(cv2.max(squares - mean * mean, 0))

        return work

    def bilateral(self, r):
        side = 2 * r + 1
        return lambda: cv2.bilateralFilter(self.image, side, RANGE, max(r / 2, 0.5), self.out)


def limpid(program, name, r, schedule, args):
    command = [program, "bench", f"filter:{name}", "--radius", str(r), "--device", "cpu", "--json"]
    command += ["--schedule", schedule, "--threads", str(args.threads), "--size", args.size]
    command += ["--runs", str(args.rounds)]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return report["rows"][0]["ns_per_pixel"], report["copy_gbps"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limpid", default="target/release/limpid")
    parser.add_argument("--size", default="3840x2160")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    os.environ["HL_NUM_THREADS"] = str(args.threads)
    width, height = map(int, args.size.split("x"))
    image = np.random.default_rng(1).random((3, height, width), dtype=np.float32)
    halide, opencv = Halide(image), OpenCv(image, args.threads)
    print(f"{args.size} RGB, {args.threads} threads, ns per pixel")
    print(f"{'filter':<14} {'limpid':>8} {'halide':>8} {'opencv':>8}")
    schedules = {"gaussian": "separable", "tent2": "separable", "variance": "sliding", "bilateral": "direct"}
    copy = None
    for name, schedule in schedules.items():
        for r in (1, 2, 3):
            own, copy = limpid(args.limpid, name, r, schedule, args)
            cells = [own]
            for peer in (halide, opencv):
                make = getattr(peer, name, None)
                cells.append(median_time(make(r), args.rounds) / (width * height) * 1e9 if make else None)
            text = " ".join(f"{'-' if v is None else format(v, '.2f'):>8}" for v in cells)
            print(f"{name} {2 * r + 1}x{2 * r + 1:<6} {text}", flush=True)
    print(f"copy: {24 / copy:.2f}")


if __name__ == "__main__":
    main()
