"""Parts of large images and sequences, for engines that spread work over processes and machines."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _limpid
from ._denoise import Denoiser, denoise, engine
from ._errors import InputError
from ._frame import Frame, read, write

Array = NDArray[Any]

#: Frames before a run's first one that give it its history.
WARM_UP = 16


class Task(NamedTuple):
    """What is done to every part: small, and the same for all."""

    method: str
    device: str
    options: dict[str, Any]
    #: Names of the layers, with their channels, in the order they are stacked.
    layers: tuple[tuple[str, int], ...]
    #: Type of the colour that is given back.
    kind: str

    def split(self, stacked: Array) -> dict[str, Array]:
        """Layers by name."""
        # What came over a network may begin at any byte.
        stacked = np.require(stacked, requirements="A")
        layers, at = {}, 0
        for name, channels in self.layers:
            layers[name] = stacked[:, :, at : at + channels]
            at += channels
        return layers


_engines: dict[Any, _limpid.Engine] = {}


def engine_of(task: Task) -> _limpid.Engine:
    """The method of a task, made once in each process."""
    key = (os.getpid(), task.method, task.device, repr(sorted(task.options.items())))
    if key not in _engines:
        _engines[key] = engine(task.method, task.device, task.options)
    return _engines[key]


def part(stacked: Array, whole: Array, task: Task) -> Array:
    """The colour of a part, with its surroundings; numbers of the whole image come from `whole`."""
    made = engine_of(task).run_part(task.split(stacked), task.split(whole), task.kind, False)
    return made["color"]


class Run(NamedTuple):
    """Frames of a sequence that one process works on in order."""

    #: Read for their history only.
    before: tuple[tuple[str, str], ...]
    #: Read and written.
    frames: tuple[tuple[str, str], ...]


def numbered(pattern: str, number: int) -> str:
    """The name with a number in place of its last run of #."""
    folder, name = os.path.split(pattern)
    found = list(re.finditer("#+", name))
    if not found:
        return pattern
    start, end = found[-1].span()
    return os.path.join(folder, f"{name[:start]}{number:0{end - start}d}{name[end:]}")


def frames_of(pattern: str) -> list[int]:
    """Numbers of the existing frames, in order."""
    folder, name = os.path.split(pattern)
    found = list(re.finditer("#+", name))
    if not found:
        raise InputError(f"{pattern}: no ####")
    start, end = found[-1].span()
    form = re.compile(re.escape(name[:start]) + r"(\d+)" + re.escape(name[end:]))
    numbers = []
    for file in os.listdir(folder or "."):
        match = form.fullmatch(file)
        if match and os.path.basename(numbered(pattern, int(match[1]))) == file:
            numbers.append(int(match[1]))
    if not numbers:
        raise InputError(f"{pattern}: no such frames")
    return sorted(numbers)


def tasks(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    *,
    frames: Iterable[int] | None = None,
    run: int = 48,
    warm_up: int = WARM_UP,
    method: str = "auto",
    device: str = "auto",
    resume: bool = False,
    **options: Any,
) -> list[Callable[[], list[str]]]:
    """Functions that can be sent to other processes: each denoises a run of a sequence, or one file of a list or a folder, and returns the names of the
    written files."""
    runs = _runs(source, target, frames, run, warm_up)
    return [
        functools.partial(_work, one, method, device, options, resume)
        for one in runs
        if not (resume and all(os.path.exists(result) for _, result in one.frames))
    ]


def _runs(source: Any, target: Any, frames: Iterable[int] | None, length: int, warm_up: int) -> list[Run]:
    if length < 1 or warm_up < 0:
        raise InputError("run must be at least 1 and warm_up at least 0")
    to = os.fspath(target)
    if isinstance(source, (str, os.PathLike)) and "#" in os.path.basename(os.fspath(source)):
        pattern = os.fspath(source)
        if "#" not in os.path.basename(to):
            raise InputError(f"{to}: several frames need a placeholder for their number, like OUT.####.exr")
        numbers = list(frames) if frames is not None else frames_of(pattern)
        pairs = [(numbered(pattern, n), numbered(to, n)) for n in numbers]
    else:
        if isinstance(source, (str, os.PathLike)):
            folder = os.fspath(source)
            names = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if not name.startswith(".")]
            files = [name for name in names if os.path.isfile(name)]
        else:
            files = [os.fspath(name) for name in source]
        if not os.path.isdir(to):
            raise InputError(f"{to}: several inputs need an output folder")
        pairs = [(name, os.path.join(to, os.path.basename(name))) for name in files]
        length, warm_up = 1, 0
    runs = []
    for at in range(0, len(pairs), length):
        runs.append(Run(tuple(pairs[max(at - warm_up, 0) : at]), tuple(pairs[at : at + length])))
    return runs


def _work(run: Run, method: str, device: str, options: dict[str, Any], resume: bool) -> list[str]:
    """Processes a run; each result is written completely or not at all, so that a run can be repeated at any time."""
    several = len(run.before) + len(run.frames) > 1

    def alone(frame: Frame) -> Any:
        return denoise(frame, method=method, device=device, **options)

    apply: Callable[[Frame], Any] = Denoiser(method, device, **options) if several else alone
    for source, _ in run.before:
        apply(read(source))
    for source, target in run.frames:
        clean = apply(read(source))
        if not (resume and os.path.exists(target)):
            write(target, clean)
    return [target for _, target in run.frames]


def mosaic(crops: Sequence[Array], columns: int) -> Array:
    """Crops of one size side by side."""
    rows = [np.concatenate(crops[i : i + columns], axis=1) for i in range(0, len(crops), columns)]
    rows = [row for row in rows if row.shape == rows[0].shape]
    return np.concatenate(rows, axis=0)
