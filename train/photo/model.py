"""A network for photographs: it reads values whose noise has a standard deviation of 1, and gives the noise of each pixel.

The body is that of the guides (`../model.py`): a U-Net on blocks of 2x2 pixels. What is known of the noise, its strength and its spectrum,
sets the biases of all convolutions. The noise that is taken away is at most MOST standard deviations, so nothing is put into
the picture that noise could not have hidden.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

from noise import FEATURES

FORMS = {"good": ((32, 48, 80, 112), False), "best": ((64, 96, 144, 192), True)}
INPUTS, OUTPUTS, HIDDEN = 4, 3, 32
SCALE = 8.0  # inputs are stabilised values over this
MOST = 4.0


def act(t):
    return F.leaky_relu(t, 0.1)


class Net(nn.Module):
    def __init__(self, widths=FORMS["good"][0], deep=False):
        super().__init__()
        self.widths, self.deep = widths, deep
        a, b, c, d = widths
        shapes = {"enc1a": (4 * INPUTS, a, 3), "enc1b": (a, a, 3), "enc2": (a, b, 3), "enc2b": (b, b, 3), "enc3": (b, c, 3), "enc3b": (c, c, 3)}
        shapes |= {"enc4": (c, d, 3), "mid": (d, d, 3), "up3": (d, c, 1), "dec3a": (c, c, 3), "dec3b": (c, c, 3), "up2": (c, b, 1)}
        shapes |= {"dec2a": (b, b, 3), "dec2b": (b, b, 3), "up1": (b, a, 1), "dec1a": (a, a, 3), "dec1b": (a, a, 3), "out": (a, 4 * OUTPUTS, 1)}
        self.shapes = {k: v for k, v in shapes.items() if deep or k not in ("enc2b", "enc3b")}
        for name, (i, o, side) in self.shapes.items():
            conv = nn.Conv2d(i, o, side, padding=side // 2)
            nn.init.kaiming_normal_(conv.weight, 0.1)
            nn.init.zeros_(conv.bias)
            self.add_module(name, conv)
        self.out.weight.data *= 0.1
        self.told = nn.Linear(FEATURES, HIDDEN)
        self.biases = nn.Linear(HIDDEN, sum(o for _, o, _ in self.shapes.values()), bias=False)
        nn.init.zeros_(self.biases.weight)

    def forward(self, stabilised, value, features, amp=False):
        """Values with noise of 1 (n,3,h,w), the mean of the picture's channels (n,1,h,w), what is known of the noise. Sides are multiples of 16."""
        more = self.biases(act(self.told(features)))[:, :, None, None]
        parts = dict(zip(self.shapes, torch.split(more, [o for _, o, _ in self.shapes.values()], 1)))
        down = lambda t: F.max_pool2d(t, 2)
        joined = lambda t, skip: F.interpolate(t, scale_factor=2.0, mode="nearest") + skip
        on = lambda t, name: getattr(self, name)(t) + parts[name].to(t.dtype)
        x = torch.cat([stabilised / SCALE, value], 1)
        x = F.pixel_unshuffle(x, 2).contiguous(memory_format=torch.channels_last)
        x = act(on(x, "enc1a"))  # in full precision: weak noise is small beside the values
        with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=amp, cache_enabled=False):
            e1 = act(on(x, "enc1b"))
            e2 = act(on(down(e1), "enc2"))
            e2 = act(on(e2, "enc2b")) if self.deep else e2
            e3 = act(on(down(e2), "enc3"))
            e3 = act(on(e3, "enc3b")) if self.deep else e3
            d = act(on(act(on(down(e3), "enc4")), "mid"))
            d = act(on(act(on(joined(on(d, "up3"), e3), "dec3a")), "dec3b"))
            d = act(on(act(on(joined(on(d, "up2"), e2), "dec2a")), "dec2b"))
            d = act(on(act(on(joined(on(d, "up1"), e1), "dec1a")), "dec1b"))
        noise = F.pixel_shuffle(F.conv2d(d.float(), self.out.weight, self.out.bias) + parts["out"], 2)
        return stabilised - MOST * torch.tanh(noise / MOST)

    def multiplications(self):
        at = {"enc1": 4, "dec1": 4, "out": 4, "enc2": 16, "dec2": 16, "up1": 16, "enc3": 64, "dec3": 64, "up2": 64, "enc4": 256, "mid": 256, "up3": 256}
        count = lambda name: next(v for k, v in at.items() if name.startswith(k))
        return sum(i * o * s * s / count(k) for k, (i, o, s) in self.shapes.items())


def denoise(net, noisy, profile, amp=False, grey=False):
    """Clean values of noisy ones (n,3,h,w)."""
    s = profile.stabilised(noisy)
    value = noisy.mean(1, keepdim=True).clamp(0, 1)
    h, w = s.shape[-2:]
    pad = (0, -w % 16, 0, -h % 16)
    s, value = (F.pad(t, pad, mode="replicate") for t in (s, value)) if h % 16 or w % 16 else (s, value)
    clean = net(s, value, profile.features(), amp)[..., :h, :w]
    return profile.restored(clean)
