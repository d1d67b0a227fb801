# SPDX-License-Identifier: GPL-3.0-or-later
"""What the passes of Cycles are, by name: in files of Blender 4.2 (`DiffDir`) and 5.0 (`Diffuse Direct`).

    Combined = DiffCol * (DiffDir + DiffInd) + GlossCol * (GlossDir + GlossInd) + TransCol * (TransDir + TransInd)
             + VolumeDir + VolumeInd + Emit + Env

Cycles divides the light of a lobe by its colour. The products are what adds up, so the products are filtered, and so are the colours; the
quotient is the denoised light. Products and colours get the filter weights of the image, so the sum holds, and the light stays within the
values that its neighbours have.
"""

from dataclasses import dataclass, field

#: Colour of a lobe, and the light that is to be multiplied by it; each with its names.
LOBES = (
    (("DiffCol", "Diffuse Color"), ("DiffDir", "Diffuse Direct"), ("DiffInd", "Diffuse Indirect")),
    (("GlossCol", "Glossy Color"), ("GlossDir", "Glossy Direct"), ("GlossInd", "Glossy Indirect")),
    (("TransCol", "Transmission Color"), ("TransDir", "Transmission Direct"), ("TransInd", "Transmission Indirect")),
)

#: Light that is added as it is.
ENVIRONMENT = ("Env", "Environment")
ADDED = (("VolumeDir", "Volume Direct"), ("VolumeInd", "Volume Indirect"), ("Emit", "Emission"), ENVIRONMENT)

#: What guides the filter, with the names of the passes, the best first.
FEATURES = {
    "albedo": ("Denoising Albedo",),
    "normal": ("Denoising Normal", "Normal"),
    "depth": ("Denoising Depth", "Depth", "Z"),
    "position": ("Position",),
    "motion": ("Vector",),
    "id": ("Object Index", "IndexOB"),
}

#: What stands in for the colour of a lobe that was not rendered.
STAND_IN = "light:stand-in"


class NoPasses(ValueError):
    """A file has no passes, or not those that are needed."""


@dataclass
class ViewLayer:
    """The passes of a view layer in a file: names of passes with the letters of their channels."""

    name: str
    passes: dict = field(default_factory=dict)

    def first(self, names):
        """The first of these passes that is there."""
        return next((name for name in names if name in self.passes), None)

    def full(self, name):
        """The name of a pass in the file."""
        return f"{self.name}.{name}"


def view_layers(channels):
    """The view layers of a file, from the full names of its channels: what is before `.Combined.R`."""
    end = ".Combined.R"
    # What the compositor made is not the render.
    names = [name[: -len(end)] for name in channels if name.endswith(end)]
    layers = {name: ViewLayer(name) for name in names if name != "Composite"}
    for channel in channels:
        rest, _, letter = channel.rpartition(".")
        # Names may have dots: the longest one that fits.
        owners = [name for name in layers if rest.startswith(f"{name}.")]
        if owners:
            owner = max(owners, key=len)
            layers[owner].passes.setdefault(rest[len(owner) + 1 :], set()).add(letter)
    return list(layers.values())


@dataclass
class Reading:
    """How a view layer is read and put together: layers of limpid with the names of passes in the file."""

    layers: dict
    #: Layers of light with those of the colours that they are multiplied by.
    products: dict
    #: Whether there is light whose colour was not rendered.
    stand_in: bool
    #: The noisy image where Cycles' own denoiser ran: it replaces the colour.
    noisy: str | None
    #: Whether the passes add up to the image.
    complete: bool


def reading(layer):
    """What to read of a view layer."""
    features = {kind: layer.first(names) for kind, names in FEATURES.items()}
    if not features["albedo"] or not features["normal"]:
        raise NoPasses(f"view layer {layer.name} has no Denoising Data: enable the passes and render again")
    layers = {"color": layer.full("Combined")}
    if "A" in layer.passes["Combined"]:
        layers["alpha"] = layer.full("Combined")
    layers |= {kind: layer.full(name) for kind, name in features.items() if name}
    products, stand_in, complete = {}, False, True
    for lobe in LOBES:
        color, *lights = (layer.first(names) for names in lobe)
        complete &= bool(color) and all(lights)
        lights = [f"light:{light}" for light in lights if light]
        if color and lights:
            layers[f"light:{color}"] = layer.full(color)
        for light in lights:
            layers[light] = layer.full(light.removeprefix("light:"))
            products[light] = f"light:{color}" if color else STAND_IN
            stand_in |= not color
    for names in ADDED:
        name = layer.first(names)
        complete &= bool(name)
        if name:
            layers[f"light:{name}"] = layer.full(name)
    for name in layer.passes:
        if name.startswith("Combined_"):
            layers[f"light:{name}"] = layer.full(name)
    noisy = layer.full("Noisy Image") if "Noisy Image" in layer.passes else None
    return Reading(layers, products, stand_in, noisy, complete)


def total(plan, frame, environment=True):
    """The sum of all passes of light, without light groups; None where some were not rendered. Cycles writes the environment also where
    the film is transparent and the image does not have it."""
    if not plan.complete:
        return None
    lights = [name for name in plan.layers if name.startswith("light:") and not name.startswith("light:Combined_")]
    lights = [name for name in lights if name not in plan.products.values()]
    if not environment:
        lights = [name for name in lights if name.removeprefix("light:") not in ENVIRONMENT]
    return sum(frame[name] * frame[plan.products[name]] if name in plan.products else frame[name] for name in lights)
