"""Training images in memory: the pool that the scene generator fills, and random batches of it."""

import ctypes
import os

import torch
import torch.nn.functional as F

import model

BUILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "build")
CHANNELS, INPUT, SIZE = 24, 10, 256
BLUR = 2  # radius of the widest pixel filter


def library(device):
    """The scene generator."""
    return ctypes.CDLL(os.path.join(BUILD, "libscenes.so" if device == "cuda" else "libscenes_host.so"))


class Pool:
    """Images of seeds, on the device that trains."""

    def __init__(self, capacity, device, size=SIZE, threads=12, forms=()):
        self.lib = library(device)
        self.lib.scenes_fill.argtypes = [ctypes.c_void_p, ctypes.c_uint32] + [ctypes.c_int] * 4
        self.images = torch.zeros(capacity, size, size, CHANNELS, dtype=torch.float16, device=device)
        self.count = torch.zeros((), device=device)  # on the device: recorded steps read it
        self.filled, self.size, self.threads = 0, size, threads

    def fill(self, seed, count, reference):
        """Adds images of seeds from `seed` on; when full, the oldest are replaced."""
        count = min(count, len(self.images))
        if self.images.is_cuda:
            torch.cuda.synchronize()
        at = self.filled % len(self.images)
        at = min(at, len(self.images) - count)
        made = self.lib.scenes_fill(self.images[at].data_ptr(), seed, count, self.size, reference, self.threads)
        if made != count:
            raise RuntimeError(f"{count - made} scenes of {count} were rejected")
        self.filled += count
        self.count.fill_(min(self.filled, len(self.images)))


def rotations(n, device):
    """Random rotations, from quaternions."""
    q = torch.nn.functional.normalize(torch.randn(n, 4, device=device), dim=1)
    w, x, y, z = q.unbind(1)
    rows = [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)]
    rows += [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)]
    rows += [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]
    return torch.stack(rows, 1).view(n, 3, 3)


def pixel_filter(x, sigma):
    """A Gaussian over pixels, as renderers splat it; sigma (n,1,1,1), zero for none. Takes BLUR pixels off each side."""
    weights = [torch.exp(-k * k / (2 * sigma.square() + 1e-4)) for k in range(-BLUR, BLUR + 1)]
    total = sum(weights)
    h, w = x.shape[-2] - 2 * BLUR, x.shape[-1] - 2 * BLUR
    x = sum(g * x[:, :, i : i + h] for i, g in enumerate(weights)) / total
    return sum(g * x[..., i : i + w] for i, g in enumerate(weights)) / total


def masks(n, size, device):
    """Shares of the older samples where history is as old as it happens to be: smooth patches, blocks, and single pixels."""
    kind, level, gain = torch.rand(3, n, 1, 1, 1, device=device)
    smooth = F.interpolate(torch.rand(n, 1, 9, 9, device=device), size=(size, size), mode="bilinear")
    blocks = F.interpolate(torch.rand(n, 1, 23, 23, device=device), size=(size, size), mode="nearest")
    single = torch.rand(n, 1, size, size, device=device)
    soft = ((smooth - 0.15 - 0.6 * level) * torch.exp(4 * gain) + 0.5).clamp(0, 1)
    hard = (torch.where(kind < 0.75, blocks, 0.5 * (smooth + single)) > level).float()
    return torch.where(kind < 0.5, soft, hard)


def history(few, many):
    """An input as it is accumulated over frames: its light is old in places, fetched between pixels many times and so blurred,
    and young in others; its features are those of the last frame, or accumulated too."""
    n, size = len(few), few.shape[-1]
    light, old = (x[:, 0:3] / model.divisor(x[:, 3:6].clamp(0, 1)) for x in (few, many))
    sigma = 0.7 * torch.rand(n, 1, 1, 1, device=few.device)
    old = pixel_filter(F.pad(old, [BLUR] * 4, mode="replicate"), sigma)
    mask = masks(n, size, few.device)
    light = light + mask * (old - light)
    both = (torch.rand(n, 1, 1, 1, device=few.device) < 0.5).float()
    features = few[:, 3:] + both * mask * (many[:, 3:] - few[:, 3:])
    return torch.cat([light * model.divisor(features[:, :3].clamp(0, 1)), features], 1)


def batch(pool, n, patch):
    """Colour, albedo, normal, depth and reference of n random patches. No value leaves the device, so it can be recorded."""
    device, q = pool.images.device, patch + 2 * BLUR
    r = torch.rand(16, n, device=device)
    index = (r[0] * pool.count).long()
    line = torch.arange(q, device=device)
    span = pool.size - q + 1
    along = lambda start, flip: (start * span).long()[:, None] + torch.where((flip < 0.5)[:, None], line, q - 1 - line)
    y, x, turn = along(r[1], r[2])[:, :, None], along(r[3], r[4])[:, None, :], (r[5] < 0.5)[:, None, None]
    yt, xt = along(r[1], r[2])[:, None, :], along(r[3], r[4])[:, :, None]
    rows, columns = torch.where(turn, yt.expand(n, q, q), y.expand(n, q, q)), torch.where(turn, xt, x)
    b = pool.images[index[:, None, None], rows, columns].permute(0, 3, 1, 2).float()
    one = lambda k: r[k].view(n, 1, 1, 1)
    few, many = b[:, :INPUT], b[:, INPUT : 2 * INPUT]
    noisy = torch.where(one(6) < 0.5, few, many)
    noisy = torch.where(one(12) < 0.2, history(few, many), noisy)
    sigma = torch.where(one(7) < 0.2, 0.3 + 0.9 * one(8), torch.zeros_like(one(8)))
    b = pixel_filter(torch.cat([noisy, b[:, 2 * INPUT : 2 * INPUT + 3]], 1), sigma)
    order = torch.rand(n, 3, device=device).argsort(1)[:, :, None, None].expand(n, 3, patch, patch)
    color, albedo, reference = (b[:, i : i + 3].gather(1, order) for i in (0, 3, 10))
    normal = (rotations(n, device) @ b[:, 6:9].flatten(2)).view(n, 3, patch, patch)
    # Files with colour alone are common.
    keep = lambda k, missing: (one(k) >= missing).float() * (one(13) >= 0.08).float()
    exposure = torch.exp2(1.0 * torch.randn(n, 1, 1, 1, device=device))
    return (
        color * exposure,
        albedo * keep(9, 0.06),
        normal * keep(10, 0.06),
        b[:, 9:10] * keep(11, 0.15),
        reference * exposure,
    )
