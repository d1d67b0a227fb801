# SPDX-License-Identifier: GPL-3.0-or-later
"""Denoises files, in a process of its own.

Standard input is one line with the job as JSON, then lines that may say `stop`; the end of standard input stops the work too. Standard
output is one JSON object per line: `start`, `progress`, `done`, `failed`, `end`.
"""

import json
import os
import sys
import tempfile
import threading
import time

import numpy as np

# As a program this file has no package; its neighbours are found beside it.
if __package__:
    from . import exr, passes
else:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import exr
    import passes

#: Colours are filtered as this share of themselves, so that rounding does not hide dark light beside them. A power of two: nothing is lost.
SHARE = 2.0**-10
#: What the layers lack to add up to the image.
REST = "light:rest"

#: Least time between two lines on progress, in seconds.
EVERY = 0.1


class Stopped(Exception):
    """Somebody wants no more."""


def denoise_file(limpid, source, target, options, progress):
    """Denoises all view layers of a file. Gives how far passes are from adding up: before and after, where all are there."""
    layers = passes.view_layers(exr.channels(source))
    if not layers:
        raise passes.NoPasses(f"{source}: no passes of a render; save as OpenEXR MultiLayer")
    plans = [passes.reading(layer) for layer in layers]
    errors = []
    with tempfile.TemporaryDirectory(prefix="limpid-") as folder:
        for i, plan in enumerate(plans):
            last = i + 1 == len(plans)
            made = target if last else os.path.join(folder, f"{i}.exr")
            errors += denoise_layer(limpid, source, made, plan, options, lambda p, i=i: progress((i + p) / len(plans)))
            source = made
    return errors


def denoise_layer(limpid, source, target, plan, options, progress):
    """Denoises one view layer of a file; everything else in the file stays as it is."""
    frame = limpid.read(source, plan.layers)
    for name in [name for name in frame if name not in plan.layers]:
        del frame[name]
    if plan.noisy:
        frame["color"] = limpid.read(source, {"color": plan.noisy})["color"]
    before, environment = min((off(passes.total(plan, frame, e), frame["color"]), e) for e in (True, False))
    multiply(frame, plan)
    out = limpid.denoise(frame, progress=progress, **options)
    divide(out, plan)
    after = off(passes.total(plan, out, environment), out["color"])
    limpid.write(target, out)
    return [(before, after)] if plan.complete else []


def multiply(frame, plan):
    """Light becomes what it adds to the image."""
    if plan.stand_in:
        # The albedo that limpid divides by: what comes out of the division is then a mean of the light itself.
        frame[passes.STAND_IN] = np.clip(frame["albedo"], 1e-3, 1)
    for light, color in plan.products.items():
        frame[light] = frame[light] * frame[color]
    for color in set(plan.products.values()):
        frame[color] = frame[color] * np.float32(SHARE)
    # Layers that add up to the image are filtered exactly as it is; others may be taken for pictures of their own.
    lights = [frame[name] for name in frame if name.startswith("light:")]
    if lights:
        frame[REST] = frame["color"] - sum(lights)


def divide(frame, plan):
    """And becomes light again. Where a colour is black, nothing was added."""
    if REST in frame:
        del frame[REST]
    for color in set(plan.products.values()):
        frame[color] = frame[color] / np.float32(SHARE)
    for light, color in plan.products.items():
        color = frame[color]
        frame[light] = np.divide(frame[light], color, out=np.zeros_like(color), where=color > 0)
    if plan.stand_in:
        del frame[passes.STAND_IN]


def off(total, color):
    """The largest difference of the sum of all passes and the image, relative to what is bright."""
    if total is None:
        return 0.0
    difference = np.abs(total - color) / np.maximum(1, np.abs(color))
    return float(np.nanmax(difference)) if difference.size else 0.0


class Teller:
    """Says how far the work is, and ends it when it should stop."""

    def __init__(self, say, stop):
        self.say, self.stop, self.last = say, stop, 0.0

    def __call__(self, frame, share):
        if self.stop.is_set():
            raise Stopped
        now = time.monotonic()
        if now - self.last >= EVERY:
            self.last = now
            self.say(event="progress", frame=frame, share=share)


def work(job, say, stop):
    """Works through a job; what goes wrong with a frame is said, and the next one follows."""
    import limpid

    say(event="start", version=limpid.__version__, device=limpid.device(job["options"].get("device", "auto")).name)
    tell = Teller(say, stop)
    done = failed = 0
    try:
        for item in job["frames"]:
            frame, begin = item["frame"], time.monotonic()
            try:
                tell(frame, 0.0)
                os.makedirs(os.path.dirname(item["target"]), exist_ok=True)
                errors = denoise_file(
                    limpid, item["source"], item["target"], job["options"], lambda share, frame=frame: tell(frame, share)
                )
                done += 1
                seconds = time.monotonic() - begin
                say(event="done", frame=frame, target=item["target"], seconds=seconds, sums=errors)
            except (limpid.Error, OSError, ValueError, MemoryError) as error:
                failed += 1
                say(event="failed", frame=frame, message=str(error) or type(error).__name__)
    except Stopped:
        pass
    say(event="end", done=done, failed=failed, stopped=stop.is_set())
    return failed


def listen(stop):
    """Waits for `stop`, or for the end of the one who would say it."""
    for line in sys.stdin:
        if line.strip() == "stop":
            break
    stop.set()


def main():
    # Libraries that print do not garble the protocol.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lock = threading.Lock()

    def say(**what):
        with lock:
            out.write(json.dumps(what) + "\n")
            out.flush()

    job = json.loads(sys.stdin.readline())
    stop = threading.Event()
    threading.Thread(target=listen, args=(stop,), daemon=True).start()
    failed = work(job, say, stop)
    out.flush()
    # Not waiting for the thread that listens.
    os._exit(1 if failed else 0)


if __name__ == "__main__":
    main()
