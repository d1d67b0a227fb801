# SPDX-License-Identifier: GPL-3.0-or-later
"""View layers as the filter takes them: light as what it adds to the image, and back again."""

import numpy as np

# The worker is no package.
if __package__:
    from . import passes
else:
    import passes

#: Colours are filtered as this share of themselves, so that rounding does not hide dark light beside them. A power of two: nothing is lost.
SHARE = 2.0**-10
#: What the layers lack to add up to the image.
REST = "light:rest"


class Taken:
    """A view layer of a file, ready for the filter, and what is needed to write its result."""

    def __init__(self, limpid, source, plan):
        self.limpid, self.plan = limpid, plan
        self.frame = frame = limpid.read(source, plan.layers)
        for name in [name for name in frame if name not in plan.layers]:
            del frame[name]
        if plan.noisy:
            frame["color"] = limpid.read(source, {"color": plan.noisy})["color"]
        sums = [(off(passes.total(plan, frame, e), frame["color"]), e) for e in (True, False)]
        self.before, self.environment = min(sums)
        self.most = {name: float(np.nanmax(frame[name], initial=0)) for name in plan.products}
        multiply(frame, plan)

    def partitions(self):
        """Layers that add up: passes, and light groups."""
        lights = [name for name in self.plan.layers if name.startswith("light:") and name not in self.plan.products.values()]
        groups = [name for name in lights if name.startswith("light:Combined_")]
        world = () if self.environment else passes.ENVIRONMENT
        return [name for name in lights if name not in groups and name.removeprefix("light:") not in world], groups

    def write(self, made, source, target):
        """Writes a result; everything else of the file `source` stays as it is. Gives how far passes are from adding up, before and after."""
        for parts in self.partitions():
            settle(made, parts)
        divide(made, self.plan, self.most)
        after = off(passes.total(self.plan, made, self.environment), made["color"])
        if source is not None:
            made.origin = self.limpid.read(source, self.plan.layers).origin
        self.limpid.write(target, made)
        return [(self.before, after)] if self.plan.complete else []


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


def settle(frame, parts):
    """Splines between the pixels of other frames may leave a part below zero; the others then give what it lacks."""
    if not any((frame[name] < 0).any() for name in parts):
        return
    total = sum(frame[name] for name in parts)
    positive = sum(np.maximum(frame[name], 0) for name in parts)
    share = np.divide(total, positive, out=np.ones_like(total), where=positive > 0)
    # Light that was below zero in the render is left as it is.
    lacks = (total >= 0) & (total < positive)
    for name in parts:
        frame[name] = np.where(lacks, np.maximum(frame[name], 0) * share, frame[name])


def divide(frame, plan, most):
    """And becomes light again, no more than the `most` that there was. Where a colour is too dark for its light, it is as bright as that needs."""
    if REST in frame:
        del frame[REST]
    for color in set(plan.products.values()):
        frame[color] = frame[color] / np.float32(SHARE)
    for light, color in plan.products.items():
        if most[light] > 0:
            frame[color] = np.maximum(frame[color], frame[light] / np.float32(1.0001 * most[light]))
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
