#!/usr/bin/env python3
"""Wavelet transforms of PyWavelets, PyTorch, Halide and OpenJPEG beside Limpid's, on the CPU, in one run.

    pip install numpy PyWavelets halide ptwt
    cargo build --release -p limpid-cli
    python3 bench/peers/dwt.py [--limpid target/release/limpid] [--size 4096x4096] [--threads 1 2] [--rounds 7]

One plane of 32-bit floats, forward and inverse, CDF 5/3 and 9/7, one and five levels. Prints medians of nanoseconds per pixel,
and a copy. Peers that are not installed, or that have no such transform, are left out with a dash; PyWavelets has
one thread. What is not the same for all:

- PyWavelets and ptwt convolve (bior2.2, bior4.4) with periodic borders and give out new arrays.
- Halide lifts one level; its borders are mirrored before the clock starts.
- OpenJPEG, from the crate openjpeg-sys, compiled with `cc -O3 -march=native`, works in place; its 5/3 is that of whole numbers.

All of them must give the image back, or their figure is not printed.
"""

import argparse
import ctypes
import glob
import io
import json
import multiprocessing
import os
import subprocess
import tarfile
import tempfile
import time
import urllib.request

import numpy as np

WAVELETS = {"cdf53": "bior2.2", "cdf97": "bior4.4"}
STEPS = {
    "cdf53": ([-0.5, 0.25], 1.0, 0.5),
    "cdf97": ([-1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971], 0.8128930661, 0.6150870545),
}
CRATE = "https://static.crates.io/crates/openjpeg-sys/openjpeg-sys-1.0.12.crate"


def median_time(work, rounds, before=lambda: None):
    times = []
    for _ in range(rounds + 1):
        before()
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times[1:]))


def same(name, image, back, most=2e-3):
    worst = float(np.abs(np.asarray(back)[: image.shape[0], : image.shape[1]] - image).max())
    if worst > most:
        raise RuntimeError(f"{name} gives the image back only to {worst}")


def pywavelets(image, wavelet, levels, threads, rounds):
    import pywt

    if threads > 1:
        return None
    name = WAVELETS[wavelet]
    bands = pywt.wavedec2(image, name, "periodization", levels)
    same("PyWavelets", image, pywt.waverec2(bands, name, "periodization"))
    there = median_time(lambda: pywt.wavedec2(image, name, "periodization", levels), rounds)
    return there, median_time(lambda: pywt.waverec2(bands, name, "periodization"), rounds)


def torch(image, wavelet, levels, threads, rounds):
    import ptwt
    import torch

    torch.set_num_threads(threads)
    data, name = torch.from_numpy(image), WAVELETS[wavelet]
    with torch.inference_mode():
        bands = ptwt.wavedec2(data, name, mode="periodic", level=levels)
        same("ptwt", image, ptwt.waverec2(bands, name).squeeze())
        there = median_time(lambda: ptwt.wavedec2(data, name, mode="periodic", level=levels), rounds)
        return there, median_time(lambda: ptwt.waverec2(bands, name), rounds)


MARGIN = 8


def padded(array, first, last):
    """Margins, along y and x mirrored around the end sample (0) or beside it (1), at both ends."""
    extra = []
    for n, a, b in zip(array.shape, first, last):
        i = np.arange(-MARGIN, n + MARGIN)
        i = np.where(i < 0, -i - a, i)
        extra.append(np.where(i >= n, 2 * n - 2 - i + b, i))
    return np.ascontiguousarray(array[np.ix_(*extra)])


def halide(image, wavelet, levels, threads, rounds):
    """One level of lifting, columns and rows fused in strips, vectorised, parallel over strips."""
    os.environ["HL_NUM_THREADS"] = str(threads)
    import halide as hl

    if levels > 1:
        return None
    height, width = image.shape
    steps, low, high = STEPS[wavelet]
    x, y, yo, yi = (hl.Var(n) for n in ("x", "y", "yo", "yi"))
    made, kept = [], []

    def note(func):
        made.append(func)
        return func

    def lift(even, odd, down, back):
        """Lifting steps along y, or along x."""
        at = (lambda f, k: f[x, y + k]) if down else (lambda f, k: f[x + k, y])
        scale = [(low, high), (1 / low, 1 / high)][back]
        order = list(enumerate(steps))[:: -1 if back else 1]
        if back:
            even, odd = scaled(even, scale[0]), scaled(odd, scale[1])
        for k, a in order:
            a = hl.f32(-a if back else a)
            new = note(hl.Func(f"step{len(made)}"))
            if k % 2 == 0:
                new[x, y] = at(odd, 0) + a * (at(even, 0) + at(even, 1))
                odd = new
            else:
                new[x, y] = at(even, 0) + a * (at(odd, -1) + at(odd, 0))
                even = new
        return (even, odd) if back else (scaled(even, scale[0]), scaled(odd, scale[1]))

    def scaled(f, s):
        out = hl.Func(f"scaled{len(made)}_{id(f)}")
        out[x, y] = f[x, y] * hl.f32(s)
        return out

    def pick(f, dx, dy, sx, sy):
        out = hl.Func(f"pick{len(made)}_{dx}{dy}_{id(f)}")
        out[x, y] = f[sx * x + dx, sy * y + dy]
        return out

    def run(func, shapes, rows):
        """Strips of rows; all steps of a strip stay in the cache."""
        func.split(y, yo, yi, rows).parallel(yo).vectorize(x, 16)
        for step in made:
            step.compute_at(func, yo).vectorize(x, 16)
        func.compile_jit(hl.get_jit_target_from_environment())
        out = [hl.Buffer(hl.Float(32), list(s)) for s in shapes]
        func.realize(out if len(out) > 1 else out[0])
        return out, median_time(lambda: func.realize(out if len(out) > 1 else out[0]), rounds)

    def source(array):
        kept.append(array)  # a buffer does not own its memory
        buffer = hl.Buffer(array)
        buffer.set_min([-MARGIN, -MARGIN])
        return buffer

    data = source(padded(image, (0, 0), (0, 0)))
    whole = hl.Func("whole")
    whole[x, y] = data[x, y]
    lows = lift(pick(whole, 0, 0, 1, 2), pick(whole, 0, 1, 1, 2), True, False)
    columns = [lift(pick(f, 0, 0, 2, 1), pick(f, 1, 0, 2, 1), False, False) for f in lows]
    out = hl.Func("bands")
    out[x, y] = tuple(f[x, y] for pair in columns for f in pair)
    half = (width // 2, height // 2)
    bands, there = run(out, [half] * 4, 8)

    made.clear()
    quads = []
    for k, band in enumerate(bands):
        odd = (k // 2, k % 2)
        buffer = source(padded(np.array(band), odd, tuple(1 - o for o in odd)))
        f = hl.Func(f"band{k}")
        f[x, y] = buffer[x, y]
        quads.append(f)
    ll, hl_, lh, hh = quads
    pairs = [lift(ll, hl_, False, True), lift(lh, hh, False, True)]
    halves = []
    for even, odd in pairs:
        both = note(hl.Func(f"row{len(made)}"))
        both[x, y] = hl.select(x % 2 == 0, even[x / 2, y], odd[x / 2, y])
        halves.append(both)
    even, odd = lift(halves[0], halves[1], True, True)
    full = hl.Func("full")
    full[x, y] = hl.select(y % 2 == 0, even[x, y / 2], odd[x, y / 2])
    result, back = run(full, [(width, height)], 16)
    same("Halide", image, np.array(result[0]))
    return there, back


def openjpeg_library():
    """Its sources from the registry, compiled once with a function that calls its transforms."""
    folder = os.path.join(tempfile.gettempdir(), "limpid-peer-openjpeg")
    library = os.path.join(folder, "openjpeg.so")
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "openjpeg_dwt.c")
    if not os.path.exists(library) or os.path.getmtime(library) < os.path.getmtime(here):
        with urllib.request.urlopen(CRATE) as answer, tarfile.open(fileobj=io.BytesIO(answer.read())) as file:
            file.extractall(folder, filter="data")
        root = glob.glob(f"{folder}/openjpeg-sys-*")[0]
        source = f"{root}/vendor/src/lib/openjp2"
        skip = ("bench_", "test_", "t1_generate", "t1_ht_generate", "cidx_", "phix_", "ppix_", "thix_", "tpix_")
        files = [f for f in glob.glob(f"{source}/*.c") if not os.path.basename(f).startswith(skip)]
        defines = ["-DOPJ_STATIC", "-DMUTEX_pthread", "-DOPJ_HAVE_POSIX_MEMALIGN"]
        command = ["cc", "-O3", "-march=native", "-DNDEBUG", "-shared", "-fPIC", "-w", *defines]
        subprocess.run(
            [*command, f"-I{source}", f"-I{root}/config", here, *files, "-lm", "-lpthread", "-o", library], check=True
        )
    return ctypes.CDLL(library)


def openjpeg(image, wavelet, levels, threads, rounds):
    library, real = openjpeg_library(), wavelet == "cdf97"
    height, width = image.shape
    start = image.copy() if real else (image * 255).astype(np.int32)
    data = start.copy()

    def turn(back):
        pointer = data.ctypes.data_as(ctypes.c_void_p)
        if not library.limpid_peer_dwt(pointer, width, height, levels, threads, int(real), back):
            raise RuntimeError("OpenJPEG failed")

    there = median_time(lambda: turn(0), rounds, lambda: np.copyto(data, start))
    bands = data.copy()
    for level in range(levels if real else 0):
        # Its quantiser stands between the two: details come to the inverse at half their size, in each direction.
        w, h = (-(-n // 2**level) for n in (width, height))
        bands[-(-h // 2) : h, :w] *= 0.5
        bands[:h, -(-w // 2) : w] *= 0.5
    back = median_time(lambda: turn(1), rounds, lambda: np.copyto(data, bands))
    same("OpenJPEG", start, data)
    return there, back


def measure(name, size, wavelet, levels, threads, rounds):
    """One peer, in a process of its own: some read their number of threads only once."""
    width, height = map(int, size.split("x"))
    image = np.random.default_rng(1).random((height, width), dtype=np.float32)
    try:
        found = PEERS[name](image, wavelet, levels, threads, rounds)
    except (ImportError, OSError, RuntimeError, subprocess.CalledProcessError) as error:
        return f"{name}: {error}"
    return found and [1e9 * t / image.size for t in found]


def limpid(program, size, threads, rounds):
    command = [
        program,
        "bench",
        "dwt",
        "--device",
        "cpu",
        "--threads",
        str(threads),
        "--runs",
        str(rounds),
        "--size",
        size,
        "--json",
    ]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    rows = [r for r in report["rows"] if r["size"] == size]
    best = {}
    for r in rows:
        key = (r["wavelet"], r["levels"])
        if key not in best or r["forward"] + r["inverse"] < sum(best[key][:2]):
            best[key] = (r["forward"], r["inverse"], r["copy"])
    return best


PEERS = {"PyWavelets": pywavelets, "ptwt": torch, "Halide": halide, "OpenJPEG": openjpeg}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", default="target/release/limpid")
    parser.add_argument("--size", default="4096x4096")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    missing = set()
    alone = multiprocessing.get_context("spawn")
    print(f"{args.size}, one plane of floats, ns per pixel forward / inverse")
    print(f"{'':28}{'copy':>7}{'Limpid':>17}" + "".join(f"{name:>17}" for name in PEERS))
    for threads in args.threads:
        own = limpid(args.limpid, args.size, threads, args.rounds)
        for (wavelet, levels), (there, back, copy) in own.items():
            if wavelet not in WAVELETS:
                continue
            cells = [(there, back)]
            for name in PEERS:
                with alone.Pool(1) as pool:
                    found = pool.apply(measure, (name, args.size, wavelet, levels, threads, args.rounds))
                if isinstance(found, str):
                    missing.add(found)
                    found = None
                cells.append(found)
            label = f"{wavelet}, {levels} level{'s'[: levels > 1]}, {threads} thread{'s'[: threads > 1]}"
            texts = ["-" if c is None else f"{c[0]:.2f} / {c[1]:.2f}" for c in cells]
            print(f"{label:28}{copy:7.2f}" + "".join(f"{t:>17}" for t in texts), flush=True)
    for line in sorted(missing):
        print("left out:", line)


if __name__ == "__main__":
    main()
