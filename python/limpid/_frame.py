"""Named layers of one size."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _limpid
from ._errors import InputError, OptionError

#: Layers whose whole numbers fill 0 … 1, as in image files.
_SHADES = ("color", "albedo", "alpha", "visibility")


def _kind(name: str) -> str:
    """`albedo` of `albedo.variance`."""
    for part in (".a", ".b", ".variance"):
        if name.endswith(part):
            return name[: -len(part)]
    return name


def unmasked(value: Any, name: str) -> None:
    """Refuses arrays whose masks would be lost."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InputError(
            f"{name}: a masked array, and its mask would be lost; array.filled(np.nan) marks missing samples of floats, which limpid.denoise fills, "
            "and array.data is the array without its mask"
        )


def whole_array(value: Any, name: str) -> NDArray[Any]:
    """An array of anything NumPy understands, and of what speaks DLPack, of which nothing is lost."""
    unmasked(value, name)
    return as_numpy(value, name)


def as_numpy(value: ArrayLike, name: str) -> NDArray[Any]:
    """An array of anything NumPy understands, and of what speaks DLPack."""
    if isinstance(value, np.ndarray):
        unmasked(value, name)
        return value
    if isinstance(value, (str, os.PathLike)):
        raise InputError(f"{name}: {os.fspath(value)!r} is a name; limpid.read opens the file of that name")
    try:
        if hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
            return np.asarray(value)
        return np.from_dlpack(value)  # type: ignore[arg-type]
    except Exception as error:
        raise InputError(f"{name}: {error}") from error


def channels_last(value: ArrayLike, name: str, axis: int) -> NDArray[Any]:
    """An array whose channels, if it has three axes, are its last one."""
    if axis not in (-3, -2, -1, 0, 1, 2):
        raise OptionError(f"channel_axis {axis!r}: expected an axis of an array of three axes")
    array = as_numpy(value, name)
    return array if array.ndim != 3 else np.moveaxis(array, axis, -1)


def as_array(value: ArrayLike, name: str) -> NDArray[Any]:
    """An array that limpid takes."""
    array = as_numpy(value, name)
    kind = array.dtype.kind
    if array.dtype.byteorder not in ("=", "|"):
        array = array.astype(array.dtype.newbyteorder("="))
    shade = _kind(name) in _SHADES or name.startswith("light:")
    if kind == "f":
        if array.dtype.itemsize > 8:
            array = array.astype(np.float64)
    elif kind in "ui" and array.dtype.itemsize <= 2 and kind == "u" and shade:
        pass
    elif kind == "b" or (kind in "ui" and not shade):
        # Numbers of objects: exact as long as a float32 holds them.
        if array.size and kind != "b" and int(np.abs(array.astype(np.int64)).max()) > 1 << 24:
            raise InputError(f"{name}: whole numbers above {1 << 24} are not exact as float32")
        array = array.astype(np.float32)
    elif kind in "ui":
        raise InputError(
            f"{name}: an array of {array.dtype} does not say what white is; float16, float32, float64, uint8 and uint16 do, "
            "and limpid.denoise takes others with data_range, such as data_range=255"
        )
    else:
        raise InputError(
            f"{name}: an array of {array.dtype} cannot be an image; "
            "float16, float32, float64, uint8 and uint16 can"
        )
    if not array.flags.aligned:
        array = array.copy()
    if array.ndim not in (2, 3):
        raise InputError(
            f"{name}: an array of shape {array.shape} is no image; "
            "expected (height, width) or (height, width, channels)"
            + ("; limpid.denoise_frames takes stacks and films" if array.ndim == 4 else "")
        )
    if name == "color" and array.ndim == 3 and array.shape[2] > 4 >= array.shape[0]:
        raise InputError(
            f"{name}: an array of shape {array.shape} has {array.shape[2]} channels, and 1 to 4 are expected; "
            "if they come first, as in PyTorch, add channel_axis=0"
        )
    if name == "color" and array.ndim == 3 and array.shape[2] > 4:
        raise InputError(
            f"{name}: an array of shape {array.shape} has {array.shape[2]} channels, and 1 to 4 are expected; "
            "limpid.denoise_frames takes stacks and films"
        )
    if 0 in array.shape:
        raise InputError(
            f"{name}: an array of shape {array.shape} has no pixels; at least 1x1 is needed"
        )
    return array


def split_alpha(color: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Colour and coverage of an array with two or four channels."""
    if color.ndim == 3 and color.shape[2] in (2, 4):
        return color[:, :, :-1], color[:, :, -1:]
    return color, None


class Frame(Mapping[str, NDArray[Any]]):
    """Named layers of one size, as a render has them: ``color``, ``albedo``, ``normal``, ``color.a``, ``light:key``, …

    :func:`limpid.read` and :func:`limpid.render` return frames, and :func:`limpid.denoise` and :func:`limpid.write`
    accept them. A frame is a mapping of names to arrays, and is displayed as a picture in a notebook.

    >>> import numpy as np, limpid
    >>> frame = limpid.Frame(color=np.ones((4, 6, 3)), depth=np.ones((4, 6)))
    >>> frame
    <limpid.Frame 6x4: color, depth>
    >>> frame["depth"].shape
    (4, 6)
    >>> "normal" in frame
    False

    Parts of an estimate have a dot in their name, which keywords cannot have; use a mapping for them:

    >>> sorted(limpid.Frame({"color": np.ones((4, 6)), "color.variance": np.ones((4, 6))}))
    ['color', 'color.variance']

    ``transfer`` says what colour is: ``"linear"`` light, or ``"encoded"`` for a screen. Arrays of whole numbers are taken
    as encoded.
    """

    def __init__(
        self,
        layers: Mapping[str, ArrayLike] | None = None,
        /,
        *,
        transfer: str | None = None,
        every: int = 1,
        **more: ArrayLike,
    ) -> None:
        self._layers: dict[str, NDArray[Any]] = {}
        self.origin: _limpid.Origin | None = None
        self.notes: list[str] = []
        self.every = every
        for name, value in {**(layers or {}), **more}.items():
            self[name] = value
        if transfer is None:
            whole = "color" in self and self["color"].dtype.kind == "u"
            transfer = "encoded" if whole else "linear"
        self.transfer = transfer

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._layers[name]

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        array = as_array(value, name)
        for other, first in self._layers.items():
            if other != name and first.shape[:2] != array.shape[:2]:
                (h, w), (height, width) = array.shape[:2], first.shape[:2]
                raise InputError(
                    f"layer {name} is {w}x{h}, the frame is {width}x{height}; all layers must have the same size"
                )
        self._layers[name] = array

    def __delitem__(self, name: str) -> None:
        del self._layers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._layers)

    def __len__(self) -> int:
        return len(self._layers)

    @property
    def color(self) -> NDArray[Any]:
        """The colour, which must be there."""
        try:
            return self._layers["color"]
        except KeyError:
            have = ", ".join(self._layers) or "nothing"
            from ._errors import MissingLayerError

            raise MissingLayerError(f"layer color is missing; the frame has: {have}") from None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        for array in self._layers.values():
            return array.shape[1], array.shape[0]
        return 0, 0

    def copy(self) -> Frame:
        """Another frame with the same arrays."""
        made = Frame(self._layers, transfer=self.transfer, every=self.every)
        made.origin, made.notes = self.origin, list(self.notes)
        return made

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        color = self.color
        if dtype is not None and color.dtype != dtype:
            return color.astype(dtype)
        return color.copy() if copy else color

    def __repr__(self) -> str:
        width, height = self.size
        return f"<limpid.Frame {width}x{height}: {', '.join(self._layers)}>"

    def _repr_png_(self) -> bytes | None:
        return picture(self) if "color" in self else None

    def __reduce__(self) -> Any:
        # Where the frame came from stays behind: it belongs to a file of this machine.
        return _unpickled, (self._layers, self.transfer, self.every)


def _unpickled(layers: dict[str, NDArray[Any]], transfer: str, every: int) -> Frame:
    return Frame(layers, transfer=transfer, every=every)


def picture(image: ArrayLike | Frame, exposure: float = 0.0, *, channel_axis: int = -1) -> bytes:
    """An image for a screen, as the bytes of a PNG file. ``channel_axis`` is that of :func:`limpid.denoise`.

    >>> import numpy as np, limpid
    >>> limpid.picture(np.zeros((2, 2, 3)))[:4]
    b'\\x89PNG'
    """
    if isinstance(image, Frame):
        array, transfer = image.color, image.transfer
    else:
        array = as_array(channels_last(image, "color", channel_axis), "color")
        transfer = "encoded" if array.dtype.kind == "u" else "linear"
    color, _ = split_alpha(array)
    return _limpid.png(color, transfer, exposure)


def read(path: str | os.PathLike[str], layers: Mapping[str, str] | None = None, *, flatten: bool = False) -> Frame:
    """Reads an image file with all layers that it has: EXR, PNG, JPEG, TIFF, WebP, HDR, PFM.

    ``layers`` takes layers from other names in the file: ``{"normal": "N"}``. What a file has that is no layer is kept in
    ``frame.origin`` and written again by :func:`write`. Deep EXR images, with many samples in a pixel, are refused unless ``flatten`` composites
    these into one, front to back.

    >>> import limpid, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "render.exr"
    >>> limpid.write(path, limpid.render("cornell", size=(16, 16), spp=2))
    >>> sorted(limpid.read(path))[:3]
    ['albedo', 'albedo.a', 'albedo.b']
    """
    given = [f"{layer}={name}" for layer, name in (layers or {}).items()]
    return _read(*_limpid.read(os.fspath(path), given, flatten))


def _read(arrays: dict[str, NDArray[Any]], origin: _limpid.Origin, transfer: str, notes: list[str], every: int) -> Frame:
    frame = Frame(transfer=transfer, every=every)
    frame._layers = {name: squeezed(array) for name, array in arrays.items()}
    frame.origin, frame.notes = origin, notes
    return frame


def read_pages(path: str | os.PathLike[str]) -> list[Frame]:
    """Reads all pages of a TIFF file, such as the stack of a microscope, each as a frame; other files have one.

    >>> import limpid, numpy as np, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "stack.tif"
    >>> limpid.write_pages(path, np.zeros((3, 4, 5), np.uint16))
    >>> len(limpid.read_pages(path))
    3
    """
    return [_read(*page) for page in _limpid.read_pages(os.fspath(path))]


def squeezed(array: NDArray[Any]) -> NDArray[Any]:
    """H×W of H×W×1."""
    return array[:, :, 0] if array.shape[2] == 1 else array


def packed(frame: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Layers as the library takes them: coverage apart from colour."""
    layers = dict(frame)
    if "color" in layers:
        layers["color"], alpha = split_alpha(layers["color"])
        if alpha is not None:
            layers.setdefault("alpha", alpha)
    return layers


def write(
    path: str | os.PathLike[str],
    image: ArrayLike | Frame,
    *,
    channel_axis: int = -1,
    transfer: str | None = None,
    bits: int | None = None,
    quality: int | None = None,
    sample: str | None = None,
    compression: str | None = None,
    texts: Mapping[str, str] | None = None,
) -> None:
    """Writes an array or a frame to a file, in the format of the extension, whole or not at all.

    ``transfer`` says what the colour is, ``"linear"`` light or ``"encoded"`` for a screen; a frame knows it, floats are taken as
    linear and whole numbers as encoded. ``bits`` (8, 16) is for PNG and TIFF, ``quality`` (1 … 100) for JPEG, ``sample`` (``"half"``,
    ``"float"``), ``compression`` (``"none"``, ``"rle"``, ``"zips"``, ``"zip"``, ``"piz"``, ``"htj2k"``, ``"htj2k32"``; with loss ``"pxr24"``, ``"b44"``,
    ``"b44a"``, ``"dwaa"``, ``"dwab"``) and ``texts`` for EXR. ``channel_axis`` is that of :func:`limpid.denoise`.
    """
    frame = image if isinstance(image, Frame) else Frame(color=channels_last(image, "color", channel_axis))
    if bits is None and frame.origin is None and "color" in frame:
        bits = {"u1": 8, "u2": 16}.get(frame["color"].dtype.str[1:])
    how = {
        "transfer": transfer or frame.transfer,
        "bits": bits,
        "quality": quality,
        "sample": sample,
        "compression": compression,
        "texts": list((texts or {}).items()),
    }
    frame.notes = _limpid.write(os.fspath(path), packed(frame), frame.origin, how)


def write_pages(
    path: str | os.PathLike[str],
    pages: Iterable[ArrayLike | Frame],
    *,
    transfer: str | None = None,
    bits: int | None = None,
) -> None:
    """Writes frames, or the slices of a stack, as the pages of a TIFF file, whole or not at all. ``transfer`` and ``bits`` are those of :func:`write`."""
    frames = [page if isinstance(page, Frame) else Frame(color=page) for page in pages]
    if not frames:
        raise InputError(f"{os.fspath(path)}: no pages")
    first = frames[0]
    if bits is None and first.origin is None and "color" in first:
        bits = {"u1": 8, "u2": 16}.get(first["color"].dtype.str[1:])
    how: dict[str, Any] = {
        "transfer": transfer or first.transfer,
        "bits": bits,
        "quality": None,
        "sample": None,
        "compression": None,
        "texts": [],
    }
    _limpid.write_pages(os.fspath(path), [(packed(frame), frame.origin) for frame in frames], how)
