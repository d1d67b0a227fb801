"""Denoising: one call, or a denoiser that keeps history."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _limpid
from ._errors import DeviceError, InputError, OptionError, UnknownNameError
from ._frame import Frame, as_array, packed, read, squeezed

Progress = Callable[[float], object]


class Option(NamedTuple):
    """An option of a method, as the program has it."""

    name: str
    about: str
    default: str
    form: str


class Method(NamedTuple):
    """A method with its options."""

    name: str
    about: str
    options: tuple[Option, ...]


def methods() -> dict[str, Method]:
    """All methods with their options: the table that the program's options come from too.

    >>> import limpid
    >>> nlm = limpid.methods()["nlm"]
    >>> nlm.about
    'Non-local means: photographs, and renders without features'
    >>> [option.name for option in nlm.options][:3]
    ['sigma', 'noise', 'luminance']
    """
    listed = {}
    for name, about, knobs in _limpid.methods():
        options = (Option(k.replace("-", "_"), *rest) for k, *rest in knobs)
        listed[name] = Method(name, about, tuple(options))
    return listed


_devices: dict[tuple[int, str, int | None], _limpid.Device] = {}
_lock = threading.Lock()
#: The process that looked for GPUs.
_looked: int | None = None


def _after_fork() -> None:
    """A process that was forked has none of the threads of its parent, which may have held the lock."""
    global _lock
    _lock = threading.Lock()
    _devices.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _usable(name: str) -> str:
    """The device that this process can open: drivers of GPUs do not survive a fork."""
    global _looked
    if name == "cpu" or _looked in (None, os.getpid()):
        _looked = _looked if name == "cpu" else os.getpid()
        return name
    if name == "auto":
        return "cpu"
    raise DeviceError(
        f"device {name}: the process looked for GPUs before it was forked, and drivers do not survive that; "
        "use multiprocessing.get_context('spawn'), or device='cpu'"
    )


def device(name: str = "auto", threads: int | None = None) -> _limpid.Device:
    """Opens a device, once: ``auto``, ``cpu``, ``gpu``, ``gpu:NAME``, ``gpu:INDEX``; :func:`devices` lists them.

    In a process that was forked from one that looked for GPUs, ``auto`` is the CPU: drivers of GPUs do not survive a fork.

    >>> import limpid
    >>> limpid.device("cpu").kind
    'cpu'
    """
    with _lock:
        name = _usable(name)
        key = (os.getpid(), name, threads)
        if key not in _devices:
            _devices[key] = _limpid.Device(name, threads)
        return _devices[key]


def devices() -> list[str]:
    """The devices of this machine, as ``device`` takes them, with what they are: the CPU, and GPUs by their index.

    >>> import limpid
    >>> limpid.devices()[0].split()[0]
    'cpu'
    """
    if _looked not in (None, os.getpid()):
        return [_limpid.Device("cpu").name]
    _usable("auto")
    return _limpid.devices()


def _text(name: str, value: object) -> str:
    """A value as the program's command line would say it."""
    if name == "noise":
        return _noise(value)
    if value is None:
        return "auto"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(_text(name, v) for v in value)
    raise OptionError(f"{name.replace('_', '-')} {value!r}: expected a number, a text or a list of them")


def _noise(value: object) -> str:
    """A name, a profile, a file, or a picture that shows the noise."""
    if value is None:
        return "auto"
    if isinstance(value, Mapping) and not isinstance(value, Frame):
        return json.dumps(value)
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        known = text in ("auto", "gaussian") or text.startswith(("poisson:", "{"))
        if known:
            return text
        if text.lower().endswith(".json"):
            with open(text, encoding="utf-8") as file:
                return file.read()
        return _limpid.profile(read(text).color)
    color = value.color if isinstance(value, Frame) else as_array(value, "color")  # type: ignore[arg-type]
    return _limpid.profile(color)


def noise_profile(image: ArrayLike | Frame) -> dict[str, Any]:
    """What the noise of an image is like; can be given as the option ``noise``, or kept as JSON.

    >>> import numpy as np, limpid
    >>> grey = 0.5 + 0.1 * np.random.default_rng(0).standard_normal((128, 128))
    >>> profile = limpid.noise_profile(grey)
    >>> clean = limpid.denoise(grey, method="nlm", noise=profile)
    """
    color = image.color if isinstance(image, Frame) else as_array(image, "color")
    return json.loads(_limpid.profile(color))


def engine(
    method: str,
    device_name: str,
    options: Mapping[str, object],
    sequence: bool = False,
) -> _limpid.Engine:
    """A method with its options, ready to run."""
    if not isinstance(method, str):
        raise InputError(f"method {method!r}: expected a name; limpid.methods() lists them")
    how: dict[str, Any] = {}
    given = []
    threads = None
    for name, value in options.items():
        if name in ("strength", "tile", "schedule"):
            how[name] = value
        elif name == "threads":
            threads = value
        else:
            given.append((name.replace("_", "-"), _text(name, value)))
    opened = device(device_name, threads)  # type: ignore[arg-type]
    try:
        return _limpid.Engine(method, opened, given, sequence=sequence, **how)
    except UnknownNameError:
        raise
    except (TypeError, OverflowError) as error:
        raise OptionError(str(error)) from error


#: Layers that have a keyword of their own.
_LAYERS = (
    "albedo",
    "normal",
    "position",
    "depth",
    "visibility",
    "motion",
    "id",
    "alpha",
    "variance",
)


def frame_of(
    color: ArrayLike | Frame | Mapping[str, ArrayLike],
    layers: Mapping[str, ArrayLike | None],
    halves: tuple[ArrayLike, ArrayLike] | None,
    lights: Mapping[str, ArrayLike] | None,
) -> Frame:
    """A frame from the arguments of :func:`denoise`."""
    if isinstance(color, Frame):
        frame = color.copy()
    elif isinstance(color, Mapping):
        frame = Frame(color)
    else:
        frame = Frame(color=color)
    for name, value in layers.items():
        if value is not None:
            frame["color.variance" if name == "variance" else name] = value
    if halves is not None:
        try:
            first, second = halves
        except (TypeError, ValueError):
            raise InputError("halves: expected two arrays, (a, b)") from None
        frame["color.a"], frame["color.b"] = first, second
    for name, value in (lights or {}).items():
        frame[f"light:{name}"] = value
    return frame


def _planar(color: NDArray[Any]) -> bool:
    """Whether one plane follows the other in memory."""
    if color.ndim != 3 or color.shape[2] == 1:
        return False
    return color.strides[2] > max(color.strides[0], color.strides[1])


def _kind(color: NDArray[Any]) -> str:
    return color.dtype.str[1:]


def run(
    work: Callable[[dict[str, NDArray[Any]], str, bool], dict[str, NDArray[Any]]],
    frame: Frame,
) -> Frame:
    """Runs on a frame; arrays come back in the form they were given."""
    layers = packed(frame)
    color = frame.color
    made = work(layers, _kind(color), _planar(color))
    out = Frame(transfer=frame.transfer)
    out.origin = frame.origin
    result = made.pop("color", None)
    alpha = made.pop("alpha", None)
    if result is not None:
        if color.ndim == 3 and color.shape[2] in (2, 4) and result.shape[:2] == color.shape[:2]:
            # Colour and coverage in one array, as they came; coverage that the method leaves alone is the old one.
            kept = color[:, :, -1:] if alpha is None else alpha
            result = np.concatenate([result, kept.astype(result.dtype, copy=False)], axis=2)
            alpha = None
        elif color.ndim == 2:
            result = squeezed(result)
        out._layers["color"] = result
    if alpha is not None:
        made["alpha"] = alpha
    for name, array in made.items():
        out._layers[name] = squeezed(array)
    return out


def denoise(
    color: ArrayLike | Frame | Mapping[str, ArrayLike],
    *,
    albedo: ArrayLike | None = None,
    normal: ArrayLike | None = None,
    position: ArrayLike | None = None,
    depth: ArrayLike | None = None,
    visibility: ArrayLike | None = None,
    motion: ArrayLike | None = None,
    id: ArrayLike | None = None,
    alpha: ArrayLike | None = None,
    variance: ArrayLike | str | None = None,
    halves: tuple[ArrayLike, ArrayLike] | None = None,
    lights: Mapping[str, ArrayLike] | None = None,
    method: str = "auto",
    device: str = "auto",
    channel_axis: int = -1,
    progress: Progress | None = None,
    **options: object,
) -> Any:
    """Denoises an image.

    ``color`` is an array of height × width (× 1 to 4 channels), or a :class:`Frame`. float16, float32 and float64 are used unchanged
    (linear light of renders, or display values of photographs), uint8 and uint16 as 0 … 1. The result is an array of the same
    shape, type and memory layout. A frame gives a frame; so do ``lights``, which are filtered with the colour's weights.

    The other layers are what a renderer writes: ``albedo``, ``normal``, ``position``, ``depth``, ``visibility``, ``motion``, ``id``, the ``variance`` of the
    colour, and two ``halves`` (means over half the samples each). NaN and infinity are missing samples and are filled.

    ``channel_axis`` is the axis of the channels in arrays of three axes: 0 for those of PyTorch.

    ``method="auto"`` chooses the method by the layers. ``device`` is ``auto``, ``cpu``, ``gpu``, ``gpu:NAME`` or ``gpu:INDEX``. Options
    are those of the program's ``limpid denoise --method NAME --help``, with underscores; :func:`methods` lists them. ``strength`` (0 … 1), ``tile``,
    ``threads`` and ``schedule`` work with every method; ``variance`` is the option of that name if it is a string. ``progress`` is called with the completed
    share. Ctrl-C interrupts the work.

    A photograph:

    >>> import numpy as np, limpid
    >>> noisy = np.random.default_rng(0).normal(0.5, 0.1, (32, 32, 3)).astype(np.float32)
    >>> clean = limpid.denoise(noisy, sigma=0.1)
    >>> bool(clean.std() < 0.5 * noisy.std())
    True

    A render, from its layers:

    >>> frame = limpid.render("cornell", size=(32, 32), spp=2)
    >>> clean = limpid.denoise(frame["color"], albedo=frame["albedo"], normal=frame["normal"], depth=frame["depth"])
    >>> clean.shape, clean.dtype
    ((32, 32, 3), dtype('float32'))
    """
    given = dict(locals())
    if isinstance(variance, str):
        # An option of that name, no layer.
        given["variance"], options["variance"] = None, variance
    if channel_axis not in (-1, 2):
        if isinstance(color, (Frame, Mapping)):
            raise OptionError("channel_axis is for arrays; layers of frames have their channels last")
        color, halves, lights, given = _channels_last(channel_axis, color, halves, lights, given)
    frame = frame_of(color, {name: given[name] for name in _LAYERS}, halves, lights)
    ready = engine(method, device, options)
    out = run(lambda layers, kind, planar: ready.run(layers, kind, planar, progress, frame.every), frame)
    if isinstance(color, (Frame, Mapping)) or lights:
        return out
    made = out.color
    return made if made.ndim != 3 else np.moveaxis(made, -1, channel_axis)


def _channels_last(axis: int, color: Any, halves: Any, lights: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    """Arrays of three axes with their channels last."""
    if axis not in (0, 1, -2, -3):
        raise OptionError(f"channel_axis {axis!r}: expected an axis of an array of three axes")

    def moved(value: Any) -> Any:
        if value is None or isinstance(value, str):
            return value
        array = as_array(value, "color")
        return array if array.ndim != 3 else np.moveaxis(array, axis, -1)

    halves = halves if halves is None else tuple(moved(half) for half in halves)
    lights = lights if lights is None else {name: moved(light) for name, light in lights.items()}
    return moved(color), halves, lights, {**given, **{name: moved(given[name]) for name in _LAYERS}}


class Denoiser:
    """A method prepared once for many frames, which keeps the history between the frames of a sequence.

    >>> import limpid
    >>> denoiser = limpid.Denoiser("svgf", device="cpu")
    >>> for i in range(3):
    ...     frame = limpid.render("corridor", size=(32, 32), spp=1, frame=i)
    ...     clean = denoiser(frame)
    >>> clean
    <limpid.Frame 32x32: color>
    >>> denoiser.method
    'svgf'

    Frames of one shape share compiled shaders and memory. One denoiser works on one frame at a time; give each thread its own.
    """

    def __init__(self, method: str = "auto", device: str = "auto", **options: object) -> None:
        self._given = (method, device, options)
        self._made()

    def _made(self) -> None:
        method, device, options = self._given
        self._engine = engine(method, device, options, sequence=True)
        self._owner = os.getpid()

    def __call__(
        self,
        color: ArrayLike | Frame | Mapping[str, ArrayLike],
        *,
        halves: tuple[ArrayLike, ArrayLike] | None = None,
        lights: Mapping[str, ArrayLike] | None = None,
        progress: Progress | None = None,
        **layers: ArrayLike,
    ) -> Any:
        """Runs on the next frame; arguments as those of :func:`denoise`."""
        for name in layers:
            if name not in _LAYERS:
                raise UnknownNameError(f"unknown layer '{name}'. Known: {', '.join(_LAYERS)}")
        if self._owner != os.getpid():
            # Threads and history stayed in the process that this one was forked from.
            self._made()
        frame = frame_of(color, layers, halves, lights)
        out = run(
            lambda arrays, kind, planar: self._engine.run(arrays, kind, planar, progress, frame.every), frame
        )
        if isinstance(color, (Frame, Mapping)) or lights:
            return out
        return out.color

    run = __call__

    def reset(self) -> None:
        """Forgets history: the next frame is a first one."""
        self._engine.reset()

    @property
    def method(self) -> str:
        """The method that was chosen for the last frame."""
        return self._engine.summary()[0]

    @property
    def summary(self) -> str | None:
        """What the method measured in the last frame, in a few words."""
        return self._engine.summary()[1]

    def __repr__(self) -> str:
        method, device, options = self._given
        more = "".join(f", {name}={value!r}" for name, value in options.items())
        return f"limpid.Denoiser({method!r}, {device!r}{more})"

    def __reduce__(self) -> Any:
        # History stays behind.
        method, device, options = self._given
        return _unpickled, (method, device, options)


def _unpickled(method: str, device: str, options: dict[str, object]) -> Denoiser:
    return Denoiser(method, device, **options)


def plan(
    color: ArrayLike | Frame | Mapping[str, ArrayLike],
    *,
    method: str = "auto",
    device: str = "auto",
    **options: object,
) -> Plan:
    """How a method would run on such a frame: passes, memory, and how far a pixel depends on others.

    >>> import numpy as np, limpid
    >>> limpid.plan(np.ones((64, 64, 3)), method="nlm", sigma=0.1, device="cpu").reach
    13
    """
    frame = frame_of(color, {}, None, None)
    return Plan(*engine(method, device, options).plan(packed(frame)))


class Plan(NamedTuple):
    """What runs, before it runs."""

    #: How far, in pixels, a pixel of the result depends on pixels of the frame; None when it depends on all of them.
    reach: int | None
    #: To what the parts of a larger frame must be aligned.
    align: int
    #: The passes.
    text: str

    def __str__(self) -> str:
        return self.text
