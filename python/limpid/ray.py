"""Sequences and folders on many machines, with Ray."""

from __future__ import annotations

from typing import Any

try:
    import ray
except ImportError as error:  # pragma: no cover
    raise ImportError("limpid.ray needs Ray: pip install 'limpid[ray]'") from error

from ._parts import tasks


def files(source: Any, target: Any, *, retries: int = 3, cpus: float = 1, gpus: float = 0, **settings: Any) -> list[Any]:
    """Denoises files with a Ray task for each run of frames; returns references to the names of the written files.

    Source, target and settings are those of :func:`limpid.dask.files`. A task whose worker dies is repeated up to ``retries`` times, and uses as many threads
    as ``cpus`` unless ``threads`` says otherwise. ``ray.get(limpid.ray.files(…))`` waits.
    """
    settings.setdefault("threads", max(int(cpus), 1))
    task = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=retries, retry_exceptions=[OSError])(_call)
    return [task.remote(one) for one in tasks(source, target, **settings)]


def _call(task: Any) -> list[str]:
    return task()
