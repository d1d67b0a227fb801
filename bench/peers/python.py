#!/usr/bin/env python3
"""The Python module beside PyWavelets, scikit-image, OpenCV and bm3d, on the same arrays in one run.

    pip install ./python PyWavelets scikit-image opencv-python-headless bm3d
    python3 bench/peers/python.py [--rounds 5] [--size 4096] [--only wavedec2] [--svg python.svg] [--json python.json]

Libraries take turns in every round, after one call each that does not count; the median of the rounds is told, with the threads that
each library uses by itself, and the processor time behind it: on a busy machine that is the better number. PSNR is against the picture without noise (numpy's default_rng(0)), where there is one. With `--limpid
target/release/limpid` the program's own time (`limpid bench nlm`) stands beside the module's.
"""

import argparse
import json
import statistics
import subprocess
import time

import numpy as np

import limpid
import limpid.restoration
import limpid.wavelets


def psnr(a, b):
    return -10 * np.log10(np.mean((np.asarray(a, np.float64) - b) ** 2))


class Bench:
    def __init__(self, rounds, only):
        self.rounds, self.only, self.rows = rounds, only, []

    def run(self, task, calls, clean=None):
        """Measures calls of libraries by name; the first is Limpid."""
        if self.only and self.only not in task:
            return
        results = {name: call() for name, call in calls.items()}
        times, busy = {name: [] for name in calls}, {name: [] for name in calls}
        for _ in range(self.rounds):
            for name, call in calls.items():
                begin, used = time.perf_counter(), time.process_time()
                call()
                times[name].append(1e3 * (time.perf_counter() - begin))
                busy[name].append(1e3 * (time.process_time() - used))
        row = {
            "task": task,
            "ms": {name: statistics.median(t) for name, t in times.items()},
            "cpu_ms": {name: statistics.median(t) for name, t in busy.items()},
        }
        if clean is not None:
            row["psnr"] = {name: float(psnr(r / 255 if r.dtype == np.uint8 else r, clean)) for name, r in results.items()}
        self.rows.append(row)
        ours = row["ms"]["limpid"]
        parts = []
        for name, ms in row["ms"].items():
            cpu = row["cpu_ms"][name]
            text = f"{name} {ms:.1f} ms, processor {cpu:.1f} ms"
            if "psnr" in row:
                text += f", {row['psnr'][name]:.2f} dB"
            if name != "limpid":
                text += f" ({ms / ours:.1f}x, processor {cpu / row['cpu_ms']['limpid']:.1f}x)"
            parts.append(text)
        print(f"{task:48} " + "; ".join(parts), flush=True)


def wavelets(bench, size):
    import pywt

    rng = np.random.default_rng(0)
    for kind in ("float32", "float64"):
        x = rng.standard_normal((size, size)).astype(kind)
        for name in ("haar", "db2", "db4", "bior4.4"):
            coeffs = pywt.wavedec2(x, name, level=5)

            def both(library, name=name, x=x):
                return library.waverec2(library.wavedec2(x, name, level=5), name)

            title = f"{size}², {kind}, {name}, 5 levels"
            bench.run(
                f"wavedec2 {title}",
                {"limpid": lambda: limpid.wavelets.wavedec2(x, name, level=5), "PyWavelets": lambda: pywt.wavedec2(x, name, level=5)},
            )
            bench.run(
                f"waverec2 {title}",
                {"limpid": lambda: limpid.wavelets.waverec2(coeffs, name), "PyWavelets": lambda: pywt.waverec2(coeffs, name)},
            )
            bench.run(f"both {title}", {"limpid": lambda: both(limpid.wavelets), "PyWavelets": lambda: both(pywt)})
    x = rng.standard_normal((1024, 1024)).astype("float32")
    bench.run(
        "swt2 + iswt2 1024², float32, db2, 3 levels",
        {
            "limpid": lambda: limpid.wavelets.iswt2(limpid.wavelets.swt2(x, "db2", 3), "db2"),
            "PyWavelets": lambda: pywt.iswt2(pywt.swt2(x, "db2", 3), "db2"),
        },
    )


def photographs(bench):
    import cv2
    import skimage.restoration as peer
    from skimage import data

    ours = limpid.restoration
    rng = np.random.default_rng(0)
    clean = data.astronaut() / 255.0
    noisy = clean + rng.normal(0, 0.1, clean.shape)
    grey, grey_noisy = clean[..., 1], noisy[..., 1]
    large = np.tile(grey, (4, 4))
    large_noisy = large + rng.normal(0, 0.1, large.shape)
    for kind in ("float32", "float64"):
        x = large_noisy.astype(kind)
        bench.run(
            f"denoise_wavelet 2048², grey, {kind}",
            {"limpid": lambda: ours.denoise_wavelet(x), "scikit-image": lambda: peer.denoise_wavelet(x)},
            large,
        )
    color = np.tile(noisy, (2, 2, 1)).astype("float32")
    bench.run(
        "denoise_wavelet 1024², colour, float32, db2",
        {
            "limpid": lambda: ours.denoise_wavelet(color, wavelet="db2", channel_axis=-1),
            "scikit-image": lambda: peer.denoise_wavelet(color, wavelet="db2", channel_axis=-1),
        },
        np.tile(clean, (2, 2, 1)),
    )
    x = large_noisy.astype("float32")
    bench.run(
        "estimate_sigma 2048², grey, float32",
        {"limpid": lambda: np.array(ours.estimate_sigma(x)), "scikit-image": lambda: np.array(peer.estimate_sigma(x))},
    )
    eight = (np.clip(grey_noisy, 0, 1) * 255).round().astype(np.uint8)
    g = grey_noisy.astype("float32")
    options = {"h": 0.08, "sigma": 0.1, "patch_size": 7, "patch_distance": 11}
    bench.run(
        "denoise_nl_means 512², grey",
        {
            "limpid": lambda: ours.denoise_nl_means(g, **options),
            "scikit-image": lambda: peer.denoise_nl_means(g, fast_mode=True, **options),
            "OpenCV": lambda: cv2.fastNlMeansDenoising(eight, None, 25.5, 7, 23),
        },
        grey,
    )
    c = noisy.astype("float32")
    bench.run(
        "denoise_nl_means 512², colour",
        {
            "limpid": lambda: ours.denoise_nl_means(c, channel_axis=-1, **options),
            "scikit-image": lambda: peer.denoise_nl_means(c, fast_mode=True, channel_axis=-1, **options),
        },
        clean,
    )
    bench.run(
        "denoise_bilateral 512², grey, 7×7",
        {
            "limpid": lambda: ours.denoise_bilateral(g, win_size=7, sigma_color=0.25, sigma_spatial=2, mode="edge"),
            "scikit-image": lambda: peer.denoise_bilateral(np.clip(g, 0, 1), win_size=7, sigma_color=0.25, sigma_spatial=2, mode="edge"),
            "OpenCV": lambda: cv2.bilateralFilter(g, 7, 0.25, 2, borderType=cv2.BORDER_REPLICATE),
        },
        grey,
    )


def collaborative(bench):
    import bm3d
    from skimage import data

    clean = data.astronaut()[:256, 128:384] / 255.0
    noisy = (clean + np.random.default_rng(0).normal(0, 0.1, clean.shape)).astype("float32")
    bench.run(
        "ddid, bm3d 256², colour",
        {
            "limpid": lambda: limpid.denoise(noisy, method="ddid", sigma=0.1, device="cpu"),
            "bm3d": lambda: bm3d.bm3d_rgb(noisy, 0.1),
        },
        clean,
    )


def program(bench, path):
    x = np.random.default_rng(0).random((1080, 1920, 3), dtype="float32")
    out = subprocess.run(
        [path, "bench", "nlm", "--size", "1920x1080", "--device", "cpu", "--json", "--runs", "5"], capture_output=True, text=True
    )
    print("limpid bench nlm, as the program tells it:", out.stdout.strip() or out.stderr.strip())
    bench.run("nlm 1920×1080, colour", {"limpid": lambda: limpid.denoise(x, method="nlm", sigma=0.1, device="cpu")})


def plot(rows, path):
    """Bars: how many times as long the others take."""
    bars = [(r["task"], name, ms / r["ms"]["limpid"]) for r in rows for name, ms in r["ms"].items() if name != "limpid"]
    width, line = 900, 22
    most = max(b[2] for b in bars)
    parts = []
    for i, (task, name, ratio) in enumerate(bars):
        y = 40 + i * line
        length = 380 * ratio / most
        parts.append(f'<text x="8" y="{y + 14}">{task} / {name}</text>')
        parts.append(f'<rect x="440" y="{y + 3}" width="{length:.1f}" height="14" fill="#4878a8"/>')
        parts.append(f'<text x="{446 + length:.1f}" y="{y + 14}">{ratio:.1f}</text>')
    height = 50 + line * len(bars)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    title = '<rect width="100%" height="100%" fill="#fff"/><text x="8" y="22" font-size="14">Time of other libraries as a multiple of Limpid\'s</text>'
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + title + "".join(parts) + "</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--only", help="tasks with this in their name")
    parser.add_argument("--limpid", help="the program, to compare with")
    parser.add_argument("--svg")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    bench = Bench(arguments.rounds, arguments.only)
    print(f"limpid {limpid.__version__} on {limpid.device('cpu').name}")
    wavelets(bench, arguments.size)
    photographs(bench)
    collaborative(bench)
    if arguments.limpid:
        program(bench, arguments.limpid)
    if arguments.svg and bench.rows:
        plot(bench.rows, arguments.svg)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(bench.rows, file, indent=1)


if __name__ == "__main__":
    main()
