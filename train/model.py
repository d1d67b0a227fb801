"""Learned guides for the à-trous filter.

A small U-Net on blocks of 2x2 pixels reads colour, albedo, normal and depth. For every pixel it gives two sets of eight
guides (for near and for far levels), for each level a precision of the guides, a precision of the brightness and a trust in
the pixel as a tap, and three precisions for the albedo. The filter does the rest: colour over albedo is averaged in seven levels,
the albedo itself, which is noisy under depth of field, in three. All weights are positive and sum to one.

A learned divisor is a factor of the albedo that colour is divided by before the filter and multiplied with after it. A form may be wider and
have two convolutions at every level.
"""

from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F

from level import GUIDES, level

STEPS = [1, 2, 4, 8, 16, 32, 1]  # distance of the taps at each level of colour
NEAR = [True, True, True, False, False, False, True]  # which set of guides the level uses
ALBEDO_STEPS = [1, 2, 4]
INPUTS = 10
MORE = 6  # inputs where frames around are known
LEVELS = len(STEPS)
OUTPUTS = 2 * GUIDES + 3 * LEVELS + len(ALBEDO_STEPS)
TRUST = 12.0  # the log of the trust is between -TRUST and 0
FACTOR = 3.0  # the log of the learned factor of the divisor is between -FACTOR and FACTOR


class Form(NamedTuple):
    widths: tuple = (32, 48, 80, 112)  # channels at 1/2, 1/4, 1/8 and 1/16 of the size
    deep: bool = False  # two convolutions at every level of the encoder
    divisor: bool = False  # three more outputs: the factor of the divisor
    frames: bool = False  # reads frames around too, and has one more output: the share of their results (frames.py)

    @property
    def inputs(self):
        return INPUTS + MORE * self.frames

    @property
    def outputs(self):
        return OUTPUTS + 3 * self.divisor + self.frames


WIDE = (64, 96, 144, 192)
FORMS = {
    "default": Form(divisor=True),
    "best": Form(WIDE, True, True),
}


def form_of(state):
    """The form of weights, from their names and shapes."""
    widths = tuple(len(state[f"{k}.bias"]) for k in ("enc1a", "enc2", "enc3", "enc4"))
    more = len(state["out.bias"]) // 4 - OUTPUTS
    return Form(widths, "enc2b.bias" in state, more >= 3, more == 4)


def luminance(c):
    return 0.2126 * c[:, 0:1] + 0.7152 * c[:, 1:2] + 0.0722 * c[:, 2:3]


def act(t):
    return F.leaky_relu(t, 0.1)


def joined(t, skip):
    return F.interpolate(t, scale_factor=2.0, mode="nearest") + skip


class Guides(nn.Module):
    """The network: (n, inputs, h, w) to (n, outputs, h, w); h and w are multiples of 16.

    Skips are added, not concatenated: a third of the multiplications less, and no copies."""

    def __init__(self, form=Form()):
        super().__init__()
        self.form = form
        a, b, c, d = form.widths
        conv = lambda i, o: nn.Conv2d(i, o, 3, padding=1)
        point = lambda i, o: nn.Conv2d(i, o, 1)
        self.enc1a, self.enc1b = conv(4 * form.inputs, a), conv(a, a)
        self.enc2, self.enc3, self.enc4, self.mid = conv(a, b), conv(b, c), conv(c, d), conv(d, d)
        if form.deep:
            self.enc2b, self.enc3b = conv(b, b), conv(c, c)
        self.up3, self.dec3a, self.dec3b = point(d, c), conv(c, c), conv(c, c)
        self.up2, self.dec2a, self.dec2b = point(c, b), conv(b, b), conv(b, b)
        self.up1, self.dec1a, self.dec1b = point(b, a), conv(a, a), conv(a, a)
        self.out = point(a, 4 * form.outputs)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, 0.1)
                nn.init.zeros_(m.bias)
        self.out.weight.data *= 0.5
        self.out.weight.data[4 * OUTPUTS :] = 0

    def begin_with(self, state):
        """Takes the weights of a network that may lack the last inputs and outputs; those begin at zero."""
        with torch.no_grad():
            for name, own in self.state_dict().items():
                given = state[name]
                if given.shape != own.shape:
                    own.zero_()
                own[tuple(slice(n) for n in given.shape)].copy_(given)

    def forward(self, x, amp=False):
        down = lambda t: F.max_pool2d(t, 2)
        x = F.pixel_unshuffle(x, 2).contiguous(memory_format=torch.channels_last)
        with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=amp, cache_enabled=False):
            e1 = act(self.enc1b(act(self.enc1a(x))))
            e2 = act(self.enc2(down(e1)))
            if self.form.deep:
                e2 = act(self.enc2b(e2))
            e3 = act(self.enc3(down(e2)))
            if self.form.deep:
                e3 = act(self.enc3b(e3))
            d = act(self.mid(act(self.enc4(down(e3)))))
            d = act(self.dec3b(act(self.dec3a(joined(self.up3(d), e3)))))
            d = act(self.dec2b(act(self.dec2a(joined(self.up2(d), e2)))))
            d = act(self.dec1b(act(self.dec1a(joined(self.up1(d), e1)))))
        return F.pixel_shuffle(self.out(d.to(self.out.weight.dtype)), 2)  # the last step in full precision

    def multiplications(self):
        """Per pixel of the image."""
        at = {"enc1": 4, "dec1": 4, "out": 4, "enc2": 16, "dec2": 16, "up1": 16, "enc3": 64, "dec3": 64, "up2": 64}
        at |= {"enc4": 256, "mid": 256, "up3": 256}
        count = lambda name: next(v for k, v in at.items() if name.startswith(k))
        return sum(m.weight.numel() / count(k) for k, m in self.named_modules() if isinstance(m, nn.Conv2d))


def divisor(albedo):
    """What colour is divided by. Where there is hardly any albedo (mirrors, glass, emitters, sky) it is filtered as it is."""
    some = ((albedo.amax(1, keepdim=True) - 0.02) / 0.08).clamp(0, 1)
    return 1 + some * (albedo.clamp(min=0.05) - 1)


def prepare(color, albedo, normal, depth, scale=None):
    """What the network reads, the colour to filter, the albedo and the scale of the exposure."""
    albedo = albedo.clamp(0, 1)
    if scale is None:
        light = luminance(color)
        mean = light.mean((2, 3), keepdim=True)
        scale = 0.3 / (torch.minimum(light, 4 * mean).mean((2, 3), keepdim=True) + 1e-6)
    below = divisor(albedo)
    value = (color * scale / below).clamp(0, 6e4)
    depth = torch.where(depth < 1e6, depth.clamp(min=0), torch.zeros_like(depth))
    near = depth / (depth.sum((2, 3), keepdim=True) / ((depth > 0).sum((2, 3), keepdim=True) + 1e-6) + 1e-6)
    x = torch.cat([torch.log1p(value), albedo, normal.clamp(-1, 1), near / (1 + near)], 1)
    return x, value, below, scale


def split(g):
    """Named parts of the network's output, in the ranges that the filter expects."""
    n, m = GUIDES, LEVELS
    parts = torch.split(g, [n, n, m, m, m, len(ALBEDO_STEPS)], 1)
    near, far, a, e, b, s = parts
    return near, far, F.softplus(a), F.softplus(e - 2), -TRUST * torch.sigmoid(b - 3), F.softplus(s + 3)


def brightness(c):
    return torch.log(0.05 + luminance(c))


def apply_filter(value, divisor, parts):
    """All levels on colour over albedo, and on the albedo."""
    near, far, a, e, b, s = parts
    for i, step in enumerate(ALBEDO_STEPS):
        divisor = level(divisor, near, None, s[:, i : i + 1], None, None, step)
    for i, step in enumerate(STEPS):
        one = slice(i, i + 1)
        value = level(value, near if NEAR[i] else far, brightness(value), a[:, one], e[:, one], b[:, one], step)
    return value, divisor


def padded(x):
    h, w = x.shape[-2:]
    return F.pad(x, (0, -w % 16, 0, -h % 16), mode="replicate") if h % 16 or w % 16 else x


def filtered(net, color, albedo, normal, depth, more=None, amp=False, scale=None):
    """(n,3,h,w), (n,3,h,w), (n,3,h,w), (n,1,h,w) to (n,3,h,w), and what the network gives beyond guides and divisor; missing layers are
    zero. Any size. `more` makes further inputs from the scale of the exposure and the divisor; a given scale is not measured."""
    x, value, divisor, scale = prepare(color, albedo, normal, depth, scale)
    if more is not None:
        x = torch.cat([x, more(scale, divisor)], 1)
    h, w = x.shape[-2:]
    g = net(padded(x), amp).float()[..., :h, :w]
    if net.form.divisor:
        divisor = divisor * torch.exp(FACTOR * torch.tanh(g[:, OUTPUTS : OUTPUTS + 3] / FACTOR))
        value = (color * scale / divisor).clamp(0, 6e4)
    value, divisor = apply_filter(value, divisor, split(g[:, :OUTPUTS]))
    return value * divisor / scale, g[:, OUTPUTS + 3 * net.form.divisor :]


def denoise(net, color, albedo, normal, depth, amp=False):
    """Only the result."""
    return filtered(net, color, albedo, normal, depth, amp=amp)[0]
