# SPDX-License-Identifier: GPL-3.0-or-later
"""The frames of a job in order. Results of an animation are blended with the frames before and after them, so they come some frames late."""

import os
import tempfile
from collections import deque

if __package__:
    from . import exr, light, memory, passes
else:
    import exr
    import light
    import memory
    import passes


class Waiting:
    """A frame that was read, and its results so far: one for each view layer."""

    def __init__(self, item, taken):
        self.item, self.taken = item, taken
        self.made = [None] * len(taken)


class Shot:
    """Takes frames and writes their results. `done` is called with each frame and how far its passes are from adding up, `fail` with a
    frame that cannot be read or written and why; neither hurts other frames. `note` is told what is done otherwise than asked.

    Frames whose item has no target are read for the sake of those beside them. Only neighbours are blended: after a gap a new shot begins.
    """

    def __init__(self, limpid, options, blend, done, fail, note=lambda message: None):
        self.limpid, self.done, self.fail, self.note = limpid, done, fail, note
        self.faults = (limpid.Error, OSError, ValueError, MemoryError)
        self.options = dict(options)
        # The fast method for sequences keeps the light of earlier frames; a preview of each frame by itself is nearer.
        self.blend = blend and options.get("quality") != "fast"
        self.names, self.denoisers = [], []
        self.waiting = deque()
        self.last = None

    def take(self, item, progress):
        """Takes the next frame."""
        if not (self.blend or item["target"]):
            return
        if self.last is not None and item["frame"] != self.last + 1:
            self.finish(still(progress))
        try:
            names, taken = self._read(item)
        except self.faults as error:
            self.finish(still(progress))
            self.fail(item, error)
            return
        if self.blend and not self._fits(taken):
            self.finish(still(progress))
            self.blend = False
        if not self.blend:
            self._alone(Waiting(item, taken), progress)
            return
        if names != self.names:
            self.finish(still(progress))
            self.names, self.denoisers = names, [self.limpid.Denoiser(**self.options) for _ in names]
        self.last = item["frame"]
        self.waiting.append(Waiting(item, taken))
        self._come(progress, lambda i, denoiser, tell: denoiser.push(taken[i].frame, progress=tell))

    def finish(self, progress):
        """Ends the shot: the results that are left."""
        self.last = None
        self._come(progress, lambda _, denoiser, tell: denoiser.finish(progress=tell))

    def _fits(self, taken):
        """Whether there is memory to blend such frames. On a GPU the library finds out by itself."""
        frames = [one.frame for one in taken]
        if self.limpid.device(self.options.get("device", "auto")).kind != "cpu" or memory.fits(frames):
            return True
        size = sum(map(memory.needed, frames)) / 2**30
        self.note(f"Frames are denoised one by one: to blend them, {size:.0f} GiB of memory would be needed")
        return False

    def _read(self, item):
        """The names of all view layers of a file, and what is in them."""
        source = item["source"]
        layers = passes.view_layers(exr.channels(source))
        if not layers:
            raise passes.NoPasses(f"{source}: no passes of a render; save as OpenEXR MultiLayer")
        plans = [passes.reading(layer) for layer in layers]
        return [layer.name for layer in layers], [light.Taken(self.limpid, source, plan) for plan in plans]

    def _come(self, progress, results):
        """Takes results of all view layers, which belong to the oldest frames that have none, and writes what is complete."""
        try:
            for i, denoiser in enumerate(self.denoisers):
                for made in results(i, denoiser, part(progress, i, len(self.denoisers))):
                    next(one for one in self.waiting if one.made[i] is None).made[i] = made
        except self.faults:
            # The library gave up the results that waited. Each frame by itself needs less memory.
            lost, self.last = list(self.waiting), None
            self.waiting.clear()
            self.names, self.denoisers = [], []
            for one in lost:
                self._alone(one, still(progress))
        while self.waiting and all(made is not None for made in self.waiting[0].made):
            self._write(self.waiting.popleft())

    def _alone(self, one, progress):
        """A frame by itself."""
        if not one.item["target"]:
            return
        try:
            for i, taken in enumerate(one.taken):
                one.made[i] = self.limpid.denoise(taken.frame, progress=part(progress, i, len(one.taken)), **self.options)
        except self.faults as error:
            self.fail(one.item, error)
            return
        self._write(one)

    def _write(self, one):
        """Writes all view layers of a frame into one file."""
        target, errors = one.item["target"], []
        if not target:
            return
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="limpid-") as folder:
                source = None
                for i, (taken, made) in enumerate(zip(one.taken, one.made)):
                    last = i + 1 == len(one.taken)
                    path = target if last else os.path.join(folder, f"{i}.exr")
                    errors += taken.write(made, source, path)
                    source = path
        except self.faults as error:
            self.fail(one.item, error)
            return
        self.done(one.item, errors)


def part(progress, i, count):
    """Progress of one view layer of several."""
    return lambda share: progress((i + share) / count)


def still(progress):
    """Work that does not count, but may be stopped."""
    return lambda _: progress(0.0)
