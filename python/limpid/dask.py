"""Limpid on many machines, with Dask: images as ``dask.array``, sequences and folders as bags.

Works with every scheduler of Dask: threads, processes, a cluster. A task uses one thread unless ``threads`` says otherwise, as Dask's tasks do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

try:
    import dask
    import dask.array as da
    from dask.array.overlap import overlap, trim_internal
except ImportError as error:  # pragma: no cover
    raise ImportError("limpid.dask needs Dask: pip install 'limpid[dask]'") from error

from ._denoise import _LAYERS
from ._errors import InputError, UnsupportedError
from ._parts import Task, engine_of, mosaic, part, tasks

#: Pixels up to which numbers of the whole image are taken from the image itself.
WHOLE = 1 << 22
#: Side and number of the crops that stand for a larger one.
CROP, CROPS = 256, 49


def _stack(layers: Mapping[str, Any]) -> tuple[da.Array, tuple[tuple[str, int], ...]]:
    """All layers in one array, channel by channel."""
    arrays, names = [], []
    shape = None
    for name, value in layers.items():
        array = da.asarray(value)
        if array.ndim == 2:
            array = array[:, :, None]
        if array.ndim != 3 or array.dtype.kind not in "fu":
            raise InputError(
                f"{name}: an array of shape {array.shape} and type {array.dtype} is not an image; expected floats or uint8 or uint16 of (height, width) or "
                "(height, width, channels)"
            )
        if any(math.isnan(n) for n in array.shape):
            raise InputError(f"{name}: the sizes of its chunks are not known; call compute_chunk_sizes() first")
        if shape is not None and array.shape[:2] != shape:
            (h, w), (height, width) = array.shape[:2], shape
            raise InputError(f"layer {name} is {w}x{h}, the frame is {width}x{height}; all layers must have the same size")
        shape = array.shape[:2]
        if array.dtype.kind == "u":
            array = array.astype(np.float32) / np.float32(np.iinfo(array.dtype).max)
        arrays.append(array.astype(np.float32))
        names.append((name, int(array.shape[2])))
    stacked = da.concatenate(arrays, axis=2) if len(arrays) > 1 else arrays[0]
    return stacked, tuple(names)


def _sample(stacked: da.Array) -> Any:
    """A sample of the image: itself, or crops from all over it."""
    height, width = stacked.shape[:2]
    if height * width <= WHOLE:
        return np.asarray(stacked.compute())
    side = min(CROP, height, width)
    columns = math.isqrt(CROPS)
    crops = []
    for j in range(columns):
        for i in range(columns):
            y = (height - side) * j // (columns - 1)
            x = (width - side) * i // (columns - 1)
            crops.append(stacked[y : y + side, x : x + side])
    return mosaic(dask.compute(*crops), columns)


def _sizes(length: int, chunk: int, depth: int, align: int) -> tuple[int, ...]:
    """Chunks that begin at multiples of `align` and are no smaller than their margin."""
    chunk = max(-(-max(chunk, depth) // align) * align, align)
    count = max(length // chunk, 1)
    if length - count * chunk >= max(depth, 1):
        count += 1
    return (chunk,) * (count - 1) + (length - (count - 1) * chunk,)


def denoise(
    color: Any,
    *,
    halves: tuple[Any, Any] | None = None,
    method: str = "auto",
    device: str = "auto",
    whole: Any = None,
    **more: Any,
) -> da.Array:
    """Denoises a huge image chunk by chunk, with the same result as for the whole image.

    ``color`` and the other layers (keywords as in :func:`limpid.denoise`) are Dask or NumPy arrays, height × width (× channels). Chunks are read
    with the margin that the plan of the method states, so that there are no seams.

    There are two passes. The first runs immediately: properties of the whole image, such as its noise or exposure, are measured in the image itself
    up to four megapixels, otherwise in 49 crops of 256 × 256 from all over it. ``whole`` (an array of all layers, see :func:`sample`) replaces these
    crops. The second pass is lazy.

    >>> import dask.array as da, limpid.dask
    >>> noisy = da.random.default_rng(0).normal(0.5, 0.1, (200, 300), chunks=(100, 100))
    >>> clean = limpid.dask.denoise(noisy, method="nlm", radius=4, patch=1)
    >>> clean.shape, bool(clean.std().compute() < 0.06)
    ((200, 300), True)
    """
    layers, options = _layers(color, halves, more)
    stacked, names = _stack(layers)
    given = da.asarray(color)
    kind = given.dtype.str[1:] if given.dtype.itemsize <= 8 else "f8"
    options.setdefault("threads", 1)
    task = Task(method, device, options, names, kind)
    seen = _sample(stacked) if whole is None else np.asarray(whole, np.float32)
    if seen.ndim != 3 or seen.shape[2] != stacked.shape[2]:
        raise InputError(f"whole has shape {seen.shape}; expected (height, width, {stacked.shape[2]}), see limpid.dask.sample")
    reach, align, _ = engine_of(task).plan(task.split(seen))
    if reach is None:
        raise UnsupportedError(
            f"{method}: a pixel depends on the whole image or on earlier frames, so that parts would change the result; "
            "run it on whole frames with limpid.denoise, or on sequences with limpid.dask.files"
        )
    depth = -(-reach // align) * align
    height, width = stacked.shape[:2]
    chunks = [
        _sizes(n, max(size), depth, align) for n, size in zip((height, width), stacked.chunks[:2])
    ]
    # The three steps of map_overlap; the number of channels may change between them.
    around = {0: depth if len(chunks[0]) > 1 else 0, 1: depth if len(chunks[1]) > 1 else 0, 2: 0}
    wide = overlap(stacked.rechunk((*chunks, -1)), depth=around, boundary="none", allow_rechunk=False)
    dtype = np.dtype(kind)
    made = wide.map_blocks(
        part,
        whole=dask.delayed(seen, pure=True),
        task=task,
        chunks=(wide.chunks[0], wide.chunks[1], (names[0][1],)),
        meta=np.empty((0, 0, 0), dtype),
    )
    made = trim_internal(made, around, boundary="none")
    return made[:, :, 0] if given.ndim == 2 else made


def sample(color: Any, *, halves: tuple[Any, Any] | None = None, **layers: Any) -> Any:
    """A sample of an image: all its layers, or those of crops from all over it, as one array.

    >>> import dask.array as da, limpid.dask
    >>> limpid.dask.sample(da.zeros((100, 200, 3)), depth=da.ones((100, 200))).shape
    (100, 200, 4)
    """
    return _sample(_stack(_layers(color, halves, layers)[0])[0])


def _layers(color: Any, halves: tuple[Any, Any] | None, more: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Layers by name, and what is left: options."""
    layers = {"color": color}
    options = {}
    for name, value in more.items():
        if name not in _LAYERS:
            options[name] = value
        elif value is not None:
            layers["color.variance" if name == "variance" else name] = value
    if halves is not None:
        layers["color.a"], layers["color.b"] = halves
    return layers, options


def files(source: Any, target: Any, *, threads: int = 1, **settings: Any) -> dask.bag.Bag:
    """Denoises files, as a bag of the names of the written files.

    ``source`` is ``"shot.####.exr"`` for a sequence with ``target`` such as ``"clean.####.exr"``, or a folder or a list of files with a folder as target.
    All machines must share the files. Results are written completely or not at all, so that a run can be repeated.

    Settings: ``frames`` are the numbers of a sequence's frames (default: all that exist). A sequence is split into runs of ``run`` frames (48); each
    begins ``warm_up`` frames earlier (16), which are read for their history and not written. ``resume=True`` keeps existing results. ``method``,
    ``device`` and options are those of :func:`limpid.denoise`.

    >>> import limpid, limpid.dask, tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> for i in range(4):
    ...     limpid.write(f"{folder}/shot.{i:04}.exr", limpid.render("corridor", size=(16, 16), spp=1, frame=i))
    >>> bag = limpid.dask.files(f"{folder}/shot.####.exr", f"{folder}/clean.####.exr", run=2, method="svgf")
    >>> [os.path.basename(name) for name in bag.compute(scheduler="threads")]
    ['clean.0000.exr', 'clean.0001.exr', 'clean.0002.exr', 'clean.0003.exr']
    """
    import dask.bag

    # A bag has at least one part.
    parts = tasks(source, target, threads=threads, **settings) or [list]
    return dask.bag.from_sequence(parts, partition_size=1).map(_call).flatten()


def _call(task: Any) -> list[str]:
    return task()


def denoise_wavelet(
    volume: Any,
    sigma: float | None = None,
    wavelet: Any = "db1",
    mode: str = "soft",
    wavelet_levels: int = 2,
    method: str = "BayesShrink",
    *,
    transform: str = "swt",
) -> da.Array:
    """Shrinks wavelet coefficients of an array of any number of axes, chunk by chunk, by :func:`limpid.restoration.denoise_wavelet`.

    Chunks are read with as much margin as coefficients of ``wavelet_levels`` levels reach. ``swt`` and
    ``starlet`` have no grid, so that with a given ``sigma`` and ``VisuShrink`` the result is that for the whole array; BayesShrink's
    thresholds are those of each chunk, with its margin. Without ``sigma`` the noise is the mean over the chunks.

    >>> import dask.array as da, limpid.dask
    >>> noisy = da.random.default_rng(0).normal(0.5, 0.1, (20, 64, 64), chunks=(20, 32, 32))
    >>> clean = limpid.dask.denoise_wavelet(noisy)
    >>> clean.shape, bool(clean.std().compute() < 0.03)
    ((20, 64, 64), True)
    """
    from . import restoration
    from .wavelets import Wavelet

    if transform not in ("swt", "starlet"):
        raise InputError(f"transform {transform}: expected swt or starlet, whose results do not depend on where chunks begin")
    array = da.asarray(volume)
    if array.dtype.kind not in "f":
        raise InputError(f"an array of {array.dtype} has no range of its own; give floats, such as volume / 65535")
    own = wavelet if isinstance(wavelet, Wavelet) else Wavelet(wavelet)
    if sigma is None:
        found = [dask.delayed(restoration.estimate_sigma)(block) for block in array.to_delayed().ravel()]
        seen = [value for value in dask.compute(*found) if math.isfinite(value)]
        sigma = float(np.mean(seen)) if seen else 0.0
    # Analysis and synthesis, each over all levels.
    taps = 5 if transform == "starlet" else own.dec_len
    reach = 2 * (taps - 1) * ((1 << wavelet_levels) - 1)
    depth = {axis: min(reach, side - 1) for axis, side in enumerate(array.shape)}
    array = array.rechunk({axis: _sizes(side, array.chunks[axis][0], depth[axis], 1) for axis, side in enumerate(array.shape)})
    options = dict(sigma=sigma, wavelet=own, mode=mode, wavelet_levels=wavelet_levels, method=method, transform=transform)
    if method == "VisuShrink":
        # The universal threshold is that of the whole array.
        options["sigma"] = sigma * math.sqrt(math.log(max(array.size, 2)))
    # At the ends of the array a chunk has no margin: the transform goes on there as it does for the whole.
    ends = dict.fromkeys(depth, "none")
    parts = overlap(array, depth, ends)
    done = parts.map_blocks(_shrunk_part, options, dtype=array.dtype)
    return trim_internal(done, depth, ends)


def _shrunk_part(block: Any, options: dict[str, Any]) -> Any:
    from . import restoration

    own = dict(options)
    if own["method"] == "VisuShrink":
        own["sigma"] /= math.sqrt(math.log(max(block.size, 2)))
    return restoration.denoise_wavelet(block, **own)
