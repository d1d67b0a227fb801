#!/usr/bin/env python3
"""A volume on disk, denoised chunk by chunk from Zarr to Zarr with limpid.dask: seconds, peak memory, and PSNR.

    pip install './python[dask]' zarr nibabel
    python3 bench/peers/zarr_volume.py [--copies 8]

The volume is nibabel's `example4d.nii.gz` (magnetic resonance, 128×96×24, as whole numbers of 16 bits) with noise of a tenth of its range
(numpy's default_rng(0)), `--copies` times along each axis, in chunks of one copy. Two threads.
"""

import argparse
import pathlib
import resource
import tempfile
import time

import dask
import dask.array as da
import nibabel
import numpy as np
import zarr

import limpid.dask


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copies", type=int, default=8)
    copies = parser.parse_args().copies
    path = pathlib.Path(nibabel.__file__).parent / "tests/data/example4d.nii.gz"
    one = np.clip(np.asarray(nibabel.load(path).dataobj)[..., 0], 0, None).astype(np.uint16)
    top, rng = np.float32(one.max()), np.random.default_rng(0)
    folder = tempfile.TemporaryDirectory()
    names = [f"{folder.name}/{name}.zarr" for name in ("noisy", "clean")]
    noisy = zarr.create_array(names[0], shape=[copies * n for n in one.shape], chunks=one.shape, dtype=one.dtype)
    for corner in np.ndindex(copies, copies, copies):
        place = tuple(slice(c * n, (c + 1) * n) for c, n in zip(corner, one.shape))
        noisy[place] = np.clip(one + rng.normal(0, 0.1 * top, one.shape), 0, 65535).astype(np.uint16)

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    before, begin = peak(), time.perf_counter()
    volume = da.from_zarr(names[0]).astype(np.float32) / top
    clean = limpid.dask.denoise_wavelet(volume, sigma=0.1, wavelet="db2", wavelet_levels=1)
    counts = (clean.clip(0, 1) * top).round().astype(np.uint16).rechunk(one.shape)
    with dask.config.set(scheduler="threads", num_workers=2):
        counts.to_zarr(names[1])
    print(f"{time.perf_counter() - begin:.1f} s, peak of {peak():.0f} MiB ({before:.0f} MiB before), for {noisy.nbytes / 2**20:.0f} MiB of counts, "
          f"{noisy.size * 4 / 2**20:.0f} MiB of floats")
    first = tuple(slice(n) for n in one.shape)
    for name, path in zip(("noisy", "clean"), names):
        error = (zarr.open_array(path, mode="r")[first].astype(np.float64) - one) / float(top)
        print(f"{name}: {-10 * np.log10(np.mean(error**2)):.2f} dB")


if __name__ == "__main__":
    main()
