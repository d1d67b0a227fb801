"""Denoising: one call, or a denoiser that keeps history."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _limpid
from ._errors import DeviceError, InputError, OptionError, UnknownNameError
from ._frame import Frame, as_array, as_numpy, channels_last, packed, read, squeezed

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
    for name, about, options in _limpid.methods():
        named = (Option(k.replace("-", "_"), *rest) for k, *rest in options)
        listed[name] = Method(name, about, tuple(named))
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


def noise_profile(
    image: ArrayLike | Frame, *, channel_axis: int = -1, data_range: float | None = None
) -> dict[str, Any]:
    """What the noise of an image is like; can be given as the option ``noise``, or kept as JSON. ``channel_axis`` and ``data_range`` are those of
    :func:`denoise`.

    >>> import numpy as np, limpid
    >>> grey = 0.5 + 0.1 * np.random.default_rng(0).standard_normal((128, 128))
    >>> profile = limpid.noise_profile(grey)
    >>> clean = limpid.denoise(grey, method="nlm", noise=profile)
    """
    if isinstance(image, Frame):
        return json.loads(_limpid.profile(image.color))
    color, _ = _white(channels_last(image, "color", channel_axis), data_range)
    return json.loads(_limpid.profile(as_array(color, "color")))


def _white(color: NDArray[Any], data_range: float | None) -> tuple[NDArray[Any], Callable[[NDArray[Any]], NDArray[Any]]]:
    """Colour with its white at 1, and what gives results back as the colour came."""
    if data_range is None:
        return color, lambda made: made
    if not (isinstance(data_range, (int, float, np.number)) and 0 < data_range < float("inf")):
        raise OptionError(f"data_range {data_range!r}: expected a number above 0")
    kind = color.dtype
    if kind.kind not in "fui":
        raise InputError(f"color: an array of {kind} cannot be an image; numbers can")

    def back(made: NDArray[Any]) -> NDArray[Any]:
        made = made * np.float32(data_range)
        if kind.kind == "f":
            return made.astype(kind)
        limits = np.iinfo(kind)
        return np.clip(np.rint(made.astype(np.float64)), limits.min, limits.max).astype(kind)

    return color.astype(np.float32) / np.float32(data_range), back


def _shares(options: Mapping[str, object], data_range: float | None) -> dict[str, object]:
    """Options, with those in units of the values as shares of white."""
    sigma = options.get("sigma")
    if data_range is None or isinstance(sigma, bool) or not isinstance(sigma, (int, float, np.number)):
        return dict(options)
    return {**options, "sigma": float(sigma) / float(data_range)}


def engine(
    method: str,
    device_name: str,
    options: Mapping[str, object],
    sequence: bool = False,
    linear: bool = False,
) -> _limpid.Engine:
    """A method with its options, ready to run; ``linear`` says that colour is a render's light."""
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
        return _limpid.Engine(method, opened, given, sequence=sequence, linear=linear, **how)
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


def is_light(frame: Frame) -> bool:
    """Whether colour without features is a render's: scene-linear light. Float TIFF is as often a measurement as a picture."""
    return frame.transfer == "linear" and (frame.origin is None or frame.origin.format != "TIFF")


def finished(made: dict[str, NDArray[Any]], frame: Frame) -> Frame:
    """The result of a frame, in the form that its arrays had."""
    color = frame.color
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


class Given(NamedTuple):
    """What was given to be denoised."""

    frame: Frame
    #: Whether it came as a frame, and so is what it says it is.
    as_frame: bool
    #: What is given back: the frame, or an array like the one that came.
    back: Callable[[Frame], Any]

    @property
    def light(self) -> bool:
        return self.as_frame and is_light(self.frame)


def given(
    color: ArrayLike | Frame | Mapping[str, ArrayLike],
    layers: Mapping[str, ArrayLike | None],
    halves: tuple[ArrayLike, ArrayLike] | None,
    lights: Mapping[str, ArrayLike] | None,
    channel_axis: int,
    data_range: float | None,
) -> Given:
    """What :func:`denoise` and :class:`Denoiser` work on."""
    if isinstance(color, (Frame, Mapping)):
        if channel_axis not in (-1, 2):
            raise OptionError("channel_axis is for arrays; layers of frames have their channels last")
        if data_range is not None:
            raise OptionError("data_range is for arrays; frames have their white at 1")
        return Given(frame_of(color, layers, halves, lights), True, lambda out: out)
    if data_range is not None and (halves is not None or lights or layers.get("variance") is not None):
        raise OptionError("data_range is for pictures; with layers of a render, divide all of them by their white")

    def last(value: Any, name: str) -> Any:
        return value if value is None else channels_last(value, name, channel_axis)

    array, unscaled = _white(last(color, "color"), data_range)
    if halves is not None and channel_axis not in (-1, 2):
        halves = tuple(last(half, "halves") for half in halves)  # type: ignore[assignment]
    lights = {name: last(light, f"light:{name}") for name, light in (lights or {}).items()}
    layers = {name: last(layer, name) for name, layer in layers.items()}

    def back(out: Frame) -> Any:
        made = unscaled(out.color)
        return made if made.ndim != 3 else np.moveaxis(made, -1, channel_axis)

    frame = frame_of(array, layers, halves, lights)
    return Given(frame, False, (lambda out: out) if lights else back)


@overload
def denoise(color: Frame | Mapping[str, ArrayLike], **more: Any) -> Frame: ...  # type: ignore[overload-overlap]
@overload
def denoise(color: ArrayLike, *, lights: Mapping[str, ArrayLike], **more: Any) -> Frame: ...
@overload
def denoise(color: ArrayLike, **more: Any) -> NDArray[Any]: ...
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
    data_range: float | None = None,
    progress: Progress | None = None,
    **options: object,
) -> Frame | NDArray[Any]:
    """Denoises an image.

    ``color`` is an array of height × width (× 1 to 4 channels), or a :class:`Frame`. float16, float32 and float64 are used unchanged
    (linear light of renders, or display values of photographs), uint8 and uint16 as 0 … 1. The result is an array of the same
    shape, type and memory layout. A frame gives a frame; so do ``lights``, which are filtered with the colour's weights.

    The other layers are what a renderer writes: ``albedo``, ``normal``, ``position``, ``depth``, ``visibility``, ``motion``, ``id``, the ``variance`` of the
    colour, and two ``halves`` (means over half the samples each). NaN and infinity are missing samples and are filled.

    ``channel_axis`` is the axis of the channels in arrays of three axes: 0 for those of PyTorch. ``data_range`` is the value of white in an array of
    any whole numbers or floats, 4095 for those of a camera of 12 bits; ``sigma`` is then in the same units.

    ``method="auto"`` chooses the method by the layers: arrays without layers are photographs, frames of linear light are renders. ``device`` is ``auto``,
    ``cpu``, ``gpu``, ``gpu:NAME`` or ``gpu:INDEX``. Options are those of the program's ``limpid denoise --method NAME --help``, with underscores;
    :func:`methods` lists them. ``strength`` (0 … 1), ``tile``, ``threads`` and ``schedule`` work with every method; ``variance`` is the option of that name
    if it is a string. A :class:`GpuArray` is denoised on its GPU, and the result is there; methods measure images on the CPU, so it is copied there and back.
    ``progress`` is called with the completed share. Ctrl-C interrupts the work.

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
    named = dict(locals())
    kept = getattr(color, "_on_gpu", None)
    if kept is not None and device == "auto":
        device = kept
    if isinstance(variance, str):
        # An option of that name, no layer.
        named["variance"], options["variance"] = None, variance
    what = given(color, {name: named[name] for name in _LAYERS}, halves, lights, channel_axis, data_range)
    ready = engine(method, device, _shares(options, data_range), linear=what.light)
    frame = what.frame
    made = ready.run(packed(frame), _kind(frame.color), _planar(frame.color), progress, frame.every)
    out = what.back(finished(made, frame))
    return out if kept is None or isinstance(out, Frame) else type(color)(out, kept)  # type: ignore[call-arg, return-value]


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

    A call gives the result of its frame at once, from this frame and those before. ``film`` is better with frames on both sides: :meth:`frames` takes all
    frames of a film and gives their results, some frames later.

    >>> import numpy as np
    >>> film = np.random.default_rng(0).normal(0.5, 0.1, (5, 32, 32, 3)).astype(np.float32)
    >>> len(list(limpid.Denoiser("film", device="cpu").frames(film)))
    5

    Frames of one shape share compiled shaders and memory. One denoiser works on one frame at a time; give each thread its own. ``channel_axis`` and
    ``data_range`` are those of :func:`denoise`.
    """

    def __init__(
        self,
        method: str = "auto",
        device: str = "auto",
        *,
        channel_axis: int = -1,
        data_range: float | None = None,
        **options: object,
    ) -> None:
        self._given = (method, device, channel_axis, data_range, options)
        self._light = False
        self._waiting: list[Given] = []
        self._engine = self._made()

    def _made(self) -> _limpid.Engine:
        method, device, _, data_range, options = self._given
        self._owner = os.getpid()
        self._waiting.clear()
        return engine(method, device, _shares(options, data_range), sequence=True, linear=self._light)

    def _takes(self, color: Any, layers: Mapping[str, Any], halves: Any, lights: Any) -> Given:
        """What a frame is, with an engine that is ready for it."""
        for name in layers:
            if name not in _LAYERS:
                raise UnknownNameError(f"unknown layer '{name}'. Known: {', '.join(_LAYERS)}")
        method, _, channel_axis, data_range, _ = self._given
        what = given(color, layers, halves, lights, channel_axis, data_range)
        # Threads and history stayed in the process that this one was forked from.
        if self._owner != os.getpid() or (method == "auto" and what.light != self._light):
            self._light = what.light
            self._engine = self._made()
        return what

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
        what = self._takes(color, layers, halves, lights)
        if self._waiting:
            raise InputError("frames of a film are waiting for those after them; end it with finish() or reset() first")
        frame = what.frame
        made = self._engine.run(packed(frame), _kind(frame.color), _planar(frame.color), progress, frame.every)
        return what.back(finished(made, frame))

    run = __call__

    def push(
        self,
        color: ArrayLike | Frame | Mapping[str, ArrayLike],
        *,
        halves: tuple[ArrayLike, ArrayLike] | None = None,
        lights: Mapping[str, ArrayLike] | None = None,
        progress: Progress | None = None,
        **layers: ArrayLike,
    ) -> list[Any]:
        """Takes the next frame of a film and returns the results that are complete: of frames before it, if the method looks ahead.

        After an exception, results that were not complete are lost, and the next frame is a first one.
        """
        what = self._takes(color, layers, halves, lights)
        color = what.frame.color
        made = self._pushed(packed(what.frame), _kind(color), _planar(color), progress, what.frame.every)
        self._waiting.append(what)
        return self._came(made)

    def finish(self, *, progress: Progress | None = None) -> list[Any]:
        """Ends a film and returns the results that are left. The next frame is a first one."""
        if not self._waiting:
            self.reset()
            return []
        color = self._waiting[0].frame.color
        return self._came(self._pushed(None, _kind(color), _planar(color), progress))

    def _pushed(self, *given: Any) -> list[dict[str, NDArray[Any]]]:
        try:
            return self._engine.push(*given)
        except BaseException:
            # Unless another thread is at work, whose frames these are.
            with contextlib.suppress(InputError):
                self.reset()
            raise

    def _came(self, made: list[dict[str, NDArray[Any]]]) -> list[Any]:
        """Results, which belong to the oldest frames that wait."""
        old, self._waiting = self._waiting[: len(made)], self._waiting[len(made) :]
        return [what.back(finished(one, what.frame)) for one, what in zip(made, old)]

    def frames(self, frames: Iterable[ArrayLike | Frame | Mapping[str, ArrayLike]]) -> Iterator[Any]:
        """Results of all frames of a film, in order; each is computed as soon as the frames that it needs are there."""
        self.reset()
        for frame in frames:
            yield from self.push(frame)
        yield from self.finish()

    def reset(self) -> None:
        """Forgets history: the next frame is a first one."""
        self._engine.reset()
        self._waiting.clear()

    @property
    def method(self) -> str:
        """The method that was chosen for the last frame."""
        return self._engine.summary()[0]

    @property
    def summary(self) -> str | None:
        """What the method measured in the last frame, in a few words."""
        return self._engine.summary()[1]

    def __repr__(self) -> str:
        method, device, channel_axis, data_range, options = self._given
        more = {"channel_axis": channel_axis, "data_range": data_range}
        usual = {"channel_axis": -1, "data_range": None}
        said = {**{name: value for name, value in more.items() if value != usual[name]}, **options}
        return f"limpid.Denoiser({method!r}, {device!r}{''.join(f', {name}={value!r}' for name, value in said.items())})"

    def __reduce__(self) -> Any:
        # History stays behind.
        return _unpickled, self._given


def _unpickled(method: str, device: str, channel_axis: int, data_range: float | None, options: dict[str, object]) -> Denoiser:
    return Denoiser(method, device, channel_axis=channel_axis, data_range=data_range, **options)


def denoise_frames(
    frames: ArrayLike | Iterable[Any],
    *,
    over_time: bool = True,
    method: str = "auto",
    device: str = "auto",
    channel_axis: int = -1,
    data_range: float | None = None,
    progress: Progress | None = None,
    **options: object,
) -> Any:
    """Denoises the frames of a film, or the slices of a stack.

    ``frames`` is an array of frames × height × width (× channels, at ``channel_axis``: 1 for those of PyTorch), which gives such an array, or a list of
    images or frames, which gives a list. Frames are filtered along their motion, with those before and after; with ``over_time=False`` each alone, for
    slices that do not follow each other. Other arguments are those of :func:`denoise`; ``progress`` is called after each frame.

    >>> import numpy as np, limpid
    >>> stack = np.random.default_rng(0).integers(900, 1100, (4, 32, 24)).astype(np.int16)
    >>> clean = limpid.denoise_frames(stack, data_range=4095)
    >>> clean.shape, clean.dtype, bool(clean.std() < stack.std())
    ((4, 32, 24), dtype('int16'), True)
    """
    if isinstance(frames, (Frame, Mapping)):
        raise InputError("frames: this is one frame; limpid.denoise takes it")
    stacked = hasattr(frames, "__array__") or hasattr(frames, "__dlpack__")
    axis = channel_axis
    if stacked:
        array = as_numpy(frames, "frames")  # type: ignore[arg-type]
        if array.ndim not in (3, 4):
            raise InputError(f"frames: an array of shape {array.shape} is no stack; expected (frames, height, width) or with channels")
        if array.ndim == 4:
            if channel_axis in (0, -4) or not -4 < channel_axis < 4:
                raise OptionError(f"channel_axis {channel_axis!r}: expected the axis of the channels, after that of the frames")
            array = np.moveaxis(array, channel_axis, -1)
        if not len(array):
            raise InputError(f"frames: an array of shape {array.shape} has no frames")
        frames, axis = array, -1
    images = list(frames)  # type: ignore[arg-type]
    made: list[Any] = []

    def add(results: Iterable[Any]) -> None:
        for result in results:
            made.append(result)
            if progress is not None:
                progress(len(made) / len(images))

    if over_time:
        ready = Denoiser(method, device, channel_axis=axis, data_range=data_range, **options)
        add(ready.frames(images))
    else:
        how: dict[str, Any] = {"method": method, "device": device, "channel_axis": axis, "data_range": data_range, **options}
        add(denoise(image, **how) for image in images)
    if not stacked:
        return made
    out = np.stack(made)
    return out if out.ndim == 3 else np.moveaxis(out, -1, channel_axis)


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
    light = isinstance(color, (Frame, Mapping)) and is_light(frame)
    return Plan(*engine(method, device, options, linear=light).plan(packed(frame)))


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
