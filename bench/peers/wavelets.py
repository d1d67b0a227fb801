#!/usr/bin/env python3
"""limpid.wavelets beside PyWavelets, limpid.torch beside ptwt, and volumes in three dimensions beside their slices, in one run.

    pip install ./python PyWavelets ptwt scikit-image nibabel dipy nilearn tifffile
    python3 bench/peers/wavelets.py [--rounds 5] [--only cwt] [--cells] [--volume STACK]

Libraries take turns in every round, as in `python.py`. Volumes are those that nibabel, dipy and nilearn bring along, and stacks that are named,
with noise of a tenth of the range (numpy's default_rng(0)); `--cells` adds the nuclei of scikit-image's `cells3d`, which it downloads.
Pictures with noise are eight of scikit-image's.
"""

import argparse
import importlib
import pathlib
import warnings

import numpy as np
from python import Bench, psnr

import limpid.restoration
import limpid.wavelets

warnings.simplefilter("ignore")


def lines(bench):
    import pywt

    rng = np.random.default_rng(0)
    for n in (1024, 1 << 20):
        x = rng.standard_normal(n)
        for name in ("haar", "db4", "sym8"):
            coeffs = pywt.wavedec(x, name)

            # A short call is over before a clock can tell, and the first one finds its code elsewhere.
            times = 100 if n == 1024 else 1

            def pair(call):
                def often(library):
                    def run():
                        for _ in range(times):
                            made = call(library)
                        return made

                    return run

                return {"limpid": often(limpid.wavelets), "PyWavelets": often(pywt)}

            title = f"{n} samples, float64, {name}" + (", 100 times" if times > 1 else "")
            bench.run(f"wavedec {title}", pair(lambda w: w.wavedec(x, name)))
            bench.run(f"waverec {title}", pair(lambda w: w.waverec(coeffs, name)))
            bench.run(f"swt {title}, 3 levels", pair(lambda w: w.swt(x, name, 3)))

    def pair(call):
        return {"limpid": lambda: call(limpid.wavelets), "PyWavelets": lambda: call(pywt)}

    x = rng.standard_normal(1 << 16)
    image = rng.standard_normal((1024, 1024))
    bench.run("WaveletPacket 65536, db4, level 6", pair(lambda w: w.WaveletPacket(x, "db4").get_level(6)))
    bench.run("WaveletPacket2D 1024², db4, level 3", pair(lambda w: w.WaveletPacket2D(image, "db4").get_level(3)))
    bench.run("fswavedecn 1024², db4, 4 levels", pair(lambda w: w.fswavedecn(image, "db4", levels=4)))
    bench.run("mra2 512², db2, 3 levels", pair(lambda w: w.mra2(image[:512, :512], "db2", 3)))
    short, long, scales = rng.standard_normal(2048), rng.standard_normal(1 << 15), np.arange(1, 65)
    for name in ("morl", "cmor1.5-1.0"):
        for method in ("conv", "fft"):
            bench.run(f"cwt 2048, 64 scales, {name}, {method}", pair(lambda w: w.cwt(short, scales, name, method=method)))
        bench.run(f"cwt 32768, 64 scales, {name}, fft", pair(lambda w: w.cwt(long, scales, name, method="fft")))


def gradients(bench):
    import ptwt
    import torch

    import limpid.torch

    x = torch.rand(4, 3, 512, 512, requires_grad=True)

    def back(library, mode):
        coeffs = library.wavedec2(x, "db4", mode=mode, level=4)
        again = library.waverec2(coeffs, "db4", mode) if library is limpid.torch else library.waverec2(coeffs, "db4")
        again.square().sum().backward()
        x.grad = None

    def forward(library, mode):
        with torch.no_grad():
            library.wavedec2(x, "db4", mode=mode, level=4)

    title = "4×3×512², float32, db4, 4 levels"
    for mode in ("symmetric", "zero"):
        bench.run(f"torch wavedec2 {title}, {mode}", {"limpid": lambda: forward(limpid.torch, mode), "ptwt": lambda: forward(ptwt, mode)})
        bench.run(f"torch both ways and gradient {title}, {mode}", {"limpid": lambda: back(limpid.torch, mode), "ptwt": lambda: back(ptwt, mode)})


def kept(bench):
    """Five calls on a GPU: with the array there from the first to the last, and with a copy each way around each of them."""
    if len(limpid.devices()) < 2:
        print("gpu: this machine has none, nor a software driver of one")
        return
    image = np.random.default_rng(0).standard_normal((2048, 2048)).astype(np.float32)
    w = limpid.wavelets

    def chain(x, moved):
        for _ in range(2):
            coeffs = moved(w.wavedec2, x, "db4", level=3)
            x = moved(w.waverec2, coeffs, "db4")
        return moved(limpid.restoration.denoise_wavelet, x, sigma=0.1, wavelet="db2", wavelet_levels=3)

    def there(call, x, *more, **named):
        return call(x, *more, **named)

    def numpy(made):
        return [numpy(part) for part in made] if isinstance(made, (list, tuple)) else made.numpy()

    def copied(call, x, *more, **named):
        if isinstance(x, list):
            x = [limpid.GpuArray(x[0]), *(tuple(limpid.GpuArray(band) for band in level) for level in x[1:])]
        else:
            x = limpid.GpuArray(x)
        return numpy(call(x, *more, **named))

    calls = {
        "limpid": lambda: chain(limpid.GpuArray(image), there).numpy(),
        "copied around each call": lambda: chain(image, copied),
        "CPU": lambda: chain(image, there),
    }
    bench.run("gpu: five calls, 2048², float32, kept there", calls)


def shifts(only):
    """Denoising with transforms that do not mind shifts."""
    if only and only not in "shifts":
        return
    from skimage import color, data

    pictures = [getattr(data, name)() for name in ("camera", "astronaut", "coins", "moon", "brick", "grass", "text", "coffee")]
    pictures = [color.rgb2gray(p) if p.ndim == 3 else p / 255 for p in pictures]
    ways = {"noisy": None, "db1": {}, "db2": {"wavelet": "db2"}, "db1, 3 spins": {"spins": 3}}
    ways |= {f"swt, {w}": {"transform": "swt", "wavelet": w} for w in ("db1", "db2")}
    ways |= {t: {"transform": t} for t in ("dtcwt", "starlet")}
    rng = np.random.default_rng(0)
    for noise in (0.05, 0.1):
        noisy = [p + rng.normal(0, noise, p.shape) for p in pictures]
        for name, own in ways.items():
            made = noisy if own is None else [limpid.restoration.denoise_wavelet(x, **own) for x in noisy]
            print(f"shifts: noise {noise}, {name}: {np.mean([psnr(a, b) for a, b in zip(made, pictures)]):.2f} dB")


def stored(package, name):
    """A volume that a package brings along, its shortest axis first; none where the package is not installed."""
    import nibabel

    try:
        folder = pathlib.Path(importlib.import_module(package).__file__).parent
    except ImportError:
        return None
    volume = np.asarray(nibabel.load(folder / name).dataobj).astype(np.float64)
    while volume.ndim > 3:
        volume = volume[..., 0]
    return np.moveaxis(volume, np.argmin(volume.shape), 0)


def volumes(only, cells, files):
    if only and only not in "volumes":
        return
    found = {
        "nibabel, MR": stored("nibabel", "tests/data/example4d.nii.gz"),
        "dipy, diffusion MR": stored("dipy", "data/files/S0_10slices.nii.gz"),
        "nilearn, mean of 152 heads": stored("nilearn", "datasets/data/mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz"),
    }
    found = {name: volume for name, volume in found.items() if volume is not None}
    for path in files:
        import tifffile

        names = sorted(path.glob("*.tif*")) if path.is_dir() else [path]
        found[path.name] = np.squeeze(np.stack([tifffile.imread(name) for name in names])).astype(np.float64)
    if cells:
        from skimage.data import cells3d

        found["cells3d"] = cells3d()[:, 1].astype(np.float64)
    for name, volume in found.items():
        clean = (volume - volume.min()) / (volume.max() - volume.min())
        noisy = clean + np.random.default_rng(0).normal(0, 0.1, clean.shape)
        for transform in ("dwt", "swt", "starlet"):
            own = {"wavelet": "db2", "transform": transform, "wavelet_levels": 2}
            whole = limpid.restoration.denoise_wavelet(noisy, **own)
            slices = np.stack([limpid.restoration.denoise_wavelet(s, **own) for s in noisy])
            print(f"volumes: {name} {clean.shape}, {transform}: slices {psnr(slices, clean):.2f} dB, volume {psnr(whole, clean):.2f} dB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="tasks with this in their name")
    parser.add_argument("--cells", action="store_true")
    parser.add_argument("--volume", type=pathlib.Path, action="append", default=[], help="a TIFF stack, or a folder of slices")
    arguments = parser.parse_args()
    bench = Bench(arguments.rounds, arguments.only)
    lines(bench)
    if not arguments.only or "torch" in arguments.only:
        gradients(bench)
    if not arguments.only or "gpu" in arguments.only:
        kept(bench)
    shifts(arguments.only)
    volumes(arguments.only, arguments.cells, arguments.volume)


if __name__ == "__main__":
    main()
