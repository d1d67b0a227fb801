"""Sequences and folders on many machines, with Ray."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

try:
    import ray
except ImportError as error:  # pragma: no cover
    raise ImportError("limpid.ray needs Ray: pip install 'limpid[ray]'") from error

from ._parts import WARM_UP, runs_of, work


def files(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    *,
    frames: Iterable[int] | None = None,
    run: int = 48,
    warm_up: int = WARM_UP,
    method: str = "auto",
    device: str = "auto",
    resume: bool = False,
    retries: int = 3,
    cpus: float = 1,
    gpus: float = 0,
    **options: Any,
) -> list[Any]:
    """Denoises files with a Ray task for each run of frames; returns references to the names of the written files.

    Arguments are those of :func:`limpid.dask.files`. A task whose worker dies is repeated up to ``retries`` times. ``ray.get(limpid.ray.files(…))`` waits.
    """
    options.setdefault("threads", max(int(cpus), 1))
    task = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=retries, retry_exceptions=[OSError])(work)
    runs = runs_of(source, target, frames, run, warm_up, resume)
    return [task.remote(one, method, device, options, resume) for one in runs]
