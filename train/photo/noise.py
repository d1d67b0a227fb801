"""The noise of a batch of patches as Limpid describes it, and the map to values with uniform noise: `limpid_reference::noise`."""

import math

import torch

import camera

ENTRIES, FINE = 17, 4  # of the curves of deviations; knots for each entry
OPPONENT = [
    [1 / math.sqrt(3)] * 3,
    [1 / math.sqrt(2), 0, -1 / math.sqrt(2)],
    [1 / math.sqrt(6), -2 / math.sqrt(6), 1 / math.sqrt(6)],
]
FEATURES = 12


def interpolated(curve, at):
    """Curves (n,c,k) at places (n,c,h,w) counted in knots; linear beyond the ends."""
    n, c, h, w = at.shape
    i = at.detach().clamp(0, curve.shape[2] - 2).floor().long()
    low = curve.gather(2, i.flatten(2)).view(n, c, h, w)
    high = curve.gather(2, (i + 1).flatten(2)).view(n, c, h, w)
    return low + (high - low) * (at - i)


class Profile:
    """`deviations` (n,3,ENTRIES), `components` (n,3): deviations of luminance and colour differences, `spectra` (n,3,8,8)."""

    def __init__(self, deviations, components, spectra):
        self.components, self.spectra = components, spectra
        self.deviations = deviations
        most = deviations.amax(2, keepdim=True)
        d = torch.maximum(deviations, 0.15 * most)
        # Four knots for each entry.
        count = (ENTRIES - 1) * FINE
        k = torch.arange(count + 1, device=d.device)
        i, f = (k // FINE).clamp(max=ENTRIES - 2), None
        f = k / FINE - i
        fine = d[..., i] + (d[..., i + 1] - d[..., i]) * f
        step = 1.0 / count
        rise = step * 0.5 * (1 / fine[..., :-1] + 1 / fine[..., 1:])
        self.into = torch.cat([torch.zeros_like(rise[..., :1]), rise.cumsum(2)], 2)
        a, b = (k - FINE).clamp(min=0), (k + FINE).clamp(max=count)
        back = self.into - 0.5 * (fine[..., b] - fine[..., a]) / (step * (b - a))
        # The curve must increase: at least a tenth as fast as the first one.
        excess = back - 0.1 * self.into
        self.back = excess.cummax(2)[0] + 0.1 * self.into
        self.count = count
        self.opponent = camera.constant(camera.frozen(OPPONENT), d.device)

    def stabilised(self, v):
        s = interpolated(self.into, v * self.count)
        s = torch.einsum("kc,nchw->nkhw", self.opponent, s)
        return s / self.components[:, :, None, None]

    def restored(self, s):
        n, _, h, w = s.shape
        s = torch.einsum("kc,nkhw->nchw", self.opponent, s * self.components[:, :, None, None])
        flat = s.detach().flatten(2).contiguous()
        i = (torch.searchsorted(self.back.contiguous(), flat, right=True) - 1).clamp(0, self.count - 1)
        low, high = self.back.gather(2, i), self.back.gather(2, i + 1)
        v = (i + (s.flatten(2) - low) / (high - low)) / self.count
        return v.view(n, 3, h, w)

    def features(self):
        """What the network is told, (n,FEATURES): the strength, the shares of luminance and colour, and the power in three bands of each."""
        k = torch.arange(8, device=self.components.device)
        most = torch.maximum(k[:, None], k[None])
        bands = [(most < 2), (most >= 2) & (most < 5), (most >= 5)]
        powers = [torch.sqrt((self.spectra * b).sum((2, 3)) / b.sum() + 1e-6) for b in bands]
        strength = torch.sqrt(self.deviations.square().mean((1, 2)))
        logs = [torch.log(255 * strength.clamp(min=1e-5))[:, None] / 4, torch.log(self.components[:, 1:] / self.components[:, :1])]
        return torch.cat([*logs, *powers], 1)


def measured(noisy, reference, wrong=0.0):
    """The profile of the noise of each patch; `wrong`: how far a measurement without the reference is off."""
    n, _, h, w = noisy.shape
    device = noisy.device
    noise = noisy - reference
    at = (reference.clamp(0, 1) * (ENTRIES - 1)).flatten(2)
    squares = noise.square().flatten(2)
    powers, weights = [], []
    for k in range(ENTRIES):
        near = (1 - (at - k).abs()).clamp(min=0)
        powers.append((near * squares).sum(2))
        weights.append(near.sum(2))
    powers, weights = torch.stack(powers, 2), torch.stack(weights, 2)
    # Where few pixels are, those of near values count.
    k = torch.arange(ENTRIES, device=device)
    near = torch.exp(-(k[:, None] - k[None]).float().square() / 4.5)
    wide = (powers @ near) / (weights @ near + 1e-6)
    least = 0.01 * h * w
    square = (powers + least * wide) / (weights + least)
    deviations = torch.sqrt(square.clamp(min=1e-8)) * torch.exp(wrong * torch.randn(n, 1, 1, device=device))
    floor = torch.maximum(deviations, 0.15 * deviations.amax(2, keepdim=True)).clamp(min=1e-4)
    ones = torch.ones(n, 3, device=device)
    first = Profile(floor, ones, None)
    even = first.stabilised(noisy) - first.stabilised(reference)
    m = camera.cosines(device)
    found = m @ camera.blocks(even[..., : h // 8 * 8, : w // 8 * 8]) @ m.T
    spectra = found.square().mean((2, 3))
    mean = spectra.mean((2, 3), keepdim=True).clamp(min=1e-6)
    scale = mean.mean((1, 2, 3)).sqrt()
    # As the library does: deviations take the mean over components, which keep their ratios.
    apart = torch.exp(wrong * torch.randn(n, 3, device=device))
    components = (mean[:, :, 0, 0].sqrt() / scale[:, None] * apart).clamp(min=1e-3)
    return Profile(floor * scale[:, None, None].clamp(min=0.05), components, spectra / mean)
