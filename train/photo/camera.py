"""Simulated cameras for whole batches, on the device that trains: what a sensor sees of clean pictures, noise, and what cameras do to it.

A picture is taken back to the sensor (curve, colour matrix and white balance undone, one colour per pixel), gets the noise of electrons
and of reading, and is developed: demosaiced in one of three ways, white balance, matrix, curve and contrast, blurred colours, sharpening, a
smaller size, JPEG. The reference is the same without noise and JPEG. Each picture of a batch draws parameters of its own.
"""

import functools
import math

import torch
import torch.nn.functional as F

# From the sensor's colours, after white balance, to linear sRGB; rows sum to 1.
MATRIX = [[1.55, -0.45, -0.10], [-0.20, 1.40, -0.20], [0.02, -0.42, 1.40]]


@functools.cache
def constant(rows, device):
    """A table on the device, made once: recorded steps cannot make it."""
    return torch.tensor(rows, device=device, dtype=torch.float32)


def frozen(rows):
    return tuple(frozen(r) if isinstance(r, (list, tuple)) else float(r) for r in rows)


def draw(n, low, high, device, log=False):
    """A number for each picture, (n,1,1,1)."""
    u = torch.rand(n, 1, 1, 1, device=device)
    return torch.exp(math.log(low) + u * math.log(high / low)) if log else low + u * (high - low)


def some(n, share, device):
    """1 for a share of the pictures, otherwise 0."""
    return (torch.rand(n, 1, 1, 1, device=device) < share).float()


def linear(v):
    v = v.clamp(0, 1)
    return torch.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def encoded(v, contrast):
    v = v.clamp(0, 1)
    v = torch.where(v <= 0.0031308, v * 12.92, 1.055 * v.clamp(min=1e-6) ** (1 / 2.4) - 0.055)
    return v + contrast * (v * v * (3 - 2 * v) - v)


def blurred(x, sigma, radius=4):
    """Gaussians of a width for each picture; sigma may be 0."""
    n, c, h, w = x.shape
    k = torch.arange(-radius, radius + 1, device=x.device).float()
    taps = torch.exp(-k * k / (2 * sigma.view(n, 1).square() + 1e-3))
    taps = (taps / taps.sum(1, keepdim=True)).repeat_interleave(c, 0)
    y = F.pad(x, [radius] * 4, mode="replicate").reshape(1, n * c, h + 2 * radius, w + 2 * radius)
    y = F.conv2d(y, taps.view(n * c, 1, -1, 1), groups=n * c)
    return F.conv2d(y, taps.view(n * c, 1, 1, -1), groups=n * c).view(n, c, h, w)


def masks(n, size, device):
    """Where the sensor sees red, green and blue (n,3,h,w), in one of four positions."""
    y = torch.arange(size, device=device).view(1, size, 1) + (torch.rand(n, 1, 1, device=device) < 0.5)
    x = torch.arange(size, device=device).view(1, 1, size) + (torch.rand(n, 1, 1, device=device) < 0.5)
    red, blue = (y % 2 == 0) & (x % 2 == 0), (y % 2 == 1) & (x % 2 == 1)
    return torch.stack([red, ~(red | blue), blue], 1).float()


def convolved(x, kernel):
    r = len(kernel) // 2
    k = constant(frozen(kernel), x.device).view(1, 1, len(kernel), -1)
    n, c, h, w = x.shape
    return F.conv2d(F.pad(x, [r] * 4, mode="reflect").reshape(n * c, 1, h + 2 * r, w + 2 * r), k).view(n, c, h, w)


CROSS = [[0, 0.25, 0], [0.25, 1, 0.25], [0, 0.25, 0]]
FULL = [[0.25, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 0.25]]


def bilinear(raw, mask):
    part = raw * mask
    return torch.cat([convolved(part[:, 0:1], FULL), convolved(part[:, 1:2], CROSS), convolved(part[:, 2:3], FULL)], 1)


def malvar(raw, mask):
    """Malvar, He and Cutler 2004."""
    g = [[0, 0, -1, 0, 0], [0, 0, 2, 0, 0], [-1, 2, 4, 2, -1], [0, 0, 2, 0, 0], [0, 0, -1, 0, 0]]
    rows = [[0, 0, 0.5, 0, 0], [0, -1, 0, -1, 0], [-1, 4, 5, 4, -1], [0, -1, 0, -1, 0], [0, 0, 0.5, 0, 0]]
    columns = [list(r) for r in zip(*rows)]
    other = [[0, 0, -1.5, 0, 0], [0, 2, 0, 2, 0], [-1.5, 0, 6, 0, -1.5], [0, 2, 0, 2, 0], [0, 0, -1.5, 0, 0]]
    green, row, column, cross = (convolved(raw, [[v / 8 for v in r] for r in k]) for k in (g, rows, columns, other))
    red, middle, blue = mask[:, 0:1], mask[:, 1:2], mask[:, 2:3]
    # Green pixels whose neighbours left and right are red.
    beside = middle * (convolved(red, [[0, 0, 0], [1, 0, 1], [0, 0, 0]]) > 0).float()
    above = middle - beside
    r = red * raw + blue * cross + beside * row + above * column
    b = blue * raw + red * cross + above * row + beside * column
    return torch.cat([r, middle * raw + (1 - middle) * green, b], 1)


def directed(raw, mask):
    """Green along the direction in which the picture changes least (Hamilton and Adams), then colour differences."""
    h = convolved(raw, [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [-0.25, 0.5, 0.5, 0.5, -0.25], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]])
    v = convolved(raw, [[0, 0, -0.25, 0, 0], [0, 0, 0.5, 0, 0], [0, 0, 0.5, 0, 0], [0, 0, 0.5, 0, 0], [0, 0, -0.25, 0, 0]])
    steep = lambda k, second: convolved(raw, k).abs() + convolved(raw, second).abs()
    zero = [0, 0, 0, 0, 0]
    dh = steep([[0, 0, 0], [-1, 0, 1], [0, 0, 0]], [zero, zero, [-1, 0, 2, 0, -1], zero, zero])
    dv = steep([[0, -1, 0], [0, 0, 0], [0, 1, 0]], [[0, 0, k, 0, 0] for k in (-1, 0, 2, 0, -1)])
    share = ((dv + 1e-4) / (dh + dv + 2e-4)).square()
    share = share / (share + ((dh + 1e-4) / (dh + dv + 2e-4)).square())
    middle = mask[:, 1:2]
    green = middle * raw + (1 - middle) * (share * h + (1 - share) * v)
    apart = (raw - green) * mask
    return torch.cat([green + convolved(apart[:, 0:1], FULL), green, green + convolved(apart[:, 2:3], FULL)], 1)


def cosines(device):
    k = torch.arange(8, device=device).float()
    m = torch.cos(math.pi * (2 * k[None] + 1) * k[:, None] / 16) / 2
    m[0] /= math.sqrt(2)
    return m


LIGHT = [
    [16, 11, 10, 16, 24, 40, 51, 61],
    [12, 12, 14, 19, 26, 58, 60, 55],
    [14, 13, 16, 24, 40, 57, 69, 56],
    [14, 17, 22, 29, 51, 87, 80, 62],
    [18, 22, 37, 56, 68, 109, 103, 77],
    [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101],
    [72, 92, 95, 98, 112, 100, 103, 99],
]
COLOUR = [[min(99, v) for v in row] for row in (
    [17, 18, 24, 47, 99, 99, 99, 99],
    [18, 21, 26, 66, 99, 99, 99, 99],
    [24, 26, 56, 99, 99, 99, 99, 99],
    [47, 66, 99, 99, 99, 99, 99, 99],
    *([[99] * 8] * 4),
)]


def blocks(x):
    """(n,c,h,w) to (n,c,h/8,w/8,8,8)."""
    n, c, h, w = x.shape
    return x.view(n, c, h // 8, 8, w // 8, 8).transpose(3, 4)


def jpeg(x, quality, halved):
    """8-bit values through JPEG; quality (n,1,1,1), halved (n,1,1,1): whether colours are stored at half the size."""
    n, _, h, w = x.shape
    m = cosines(x.device)
    r, g, b = x[:, 0:1] * 255, x[:, 1:2] * 255, x[:, 2:3] * 255
    light = 0.299 * r + 0.587 * g + 0.114 * b - 128
    colours = torch.cat([-0.168736 * r - 0.331264 * g + 0.5 * b, 0.5 * r - 0.418688 * g - 0.081312 * b], 1)
    scale = torch.where(quality < 50, 5000 / quality, 200 - 2 * quality).view(n, 1, 1, 1, 1, 1) / 100

    def stored(plane, table):
        table = (constant(frozen(table), x.device) * scale).round().clamp(1, 255)
        found = m @ blocks(plane) @ m.T
        back = m.T @ ((found / table).round() * table) @ m
        return back.transpose(3, 4).reshape(plane.shape)

    light = stored(light, LIGHT)
    small = F.interpolate(stored(F.avg_pool2d(colours, 2), COLOUR), scale_factor=2.0, mode="bilinear")
    colours = torch.where(halved > 0.5, small, stored(colours, COLOUR))
    light, cb, cr = light + 128, colours[:, 0:1], colours[:, 1:2]
    back = torch.cat([light + 1.402 * cr, light - 0.344136 * cb - 0.714136 * cr, light + 1.772 * cb], 1)
    return back.round().clamp(0, 255) / 255


def inverse(m):
    """Of matrices (n,3,3): the cross products of their rows, as columns, over the determinant."""
    a, b, c = m.unbind(1)
    columns = torch.stack([torch.linalg.cross(b, c), torch.linalg.cross(c, a), torch.linalg.cross(a, b)], 2)
    return columns / (a * columns[:, :, 0]).sum(1)[:, None, None]


def exposed(clean):
    """Clean pictures as the camera's file without noise, and with it, before JPEG. Sizes are even."""
    n, _, h, _ = clean.shape
    device = clean.device
    # Lenses are softer than pictures that were made smaller.
    clean = blurred(clean, some(n, 0.5, device) * draw(n, 0.3, 1.3, device))
    light = linear(clean) * torch.exp2(some(n, 0.5, device) * draw(n, -2.5, 0.3, device))
    by = draw(n, 0, 1.2, device).view(n, 1, 1)
    eye = torch.eye(3, device=device)
    matrix = eye + by * (constant(frozen(MATRIX), device) - eye)
    balance = torch.cat([draw(n, 1.2, 2.6, device), torch.ones(n, 1, 1, 1, device=device), draw(n, 1.2, 2.4, device)], 1)
    seen = (inverse(matrix) @ light.flatten(2)).view_as(light).clamp(min=0) / balance
    mask = masks(n, h, device)
    raw = (seen * mask).sum(1, keepdim=True)
    white, read = draw(n, 60, 12000, device, log=True), draw(n, 1, 6, device, log=True)
    noisy = (torch.poisson(raw * white) + read * torch.randn_like(raw)) / white
    levels = 2.0 ** 12
    noisy = (noisy * levels).round() / levels
    kind, contrast = torch.rand(n, 1, 1, 1, device=device), draw(n, 0, 0.6, device)
    soft, wide = some(n, 0.35, device) * draw(n, 0.6, 2.5, device), some(n, 0.25, device) * draw(n, 0.3, 0.8, device)
    sharp, radius = some(n, 0.5, device) * draw(n, 0, 1.0, device), draw(n, 0.6, 1.5, device)
    made = []
    for one in (raw, noisy):
        x = torch.where(kind < 0.2, bilinear(one, mask), torch.where(kind < 0.55, malvar(one, mask), directed(one, mask)))
        x = (matrix @ (x * balance).clamp(max=1).flatten(2)).view_as(x)
        x = encoded(x, contrast)
        # Cameras blur colours more than brightness.
        grey = x.mean(1, keepdim=True)
        x = blurred(grey, wide) + blurred(x - grey, torch.maximum(soft, wide))
        x = (x + sharp * (x - blurred(x, radius))).clamp(0, 1)
        made.append(x)
    return made


def shaken(clean):
    """Clean pictures, and with noise that is added to the file: even or growing with brightness, white or coarse."""
    n, _, h, w = clean.shape
    device = clean.device
    sigma = draw(n, 1.0, 80, device, log=True) / 255
    rises = some(n, 0.3, device) * draw(n, 0, 1, device)
    noise = torch.randn_like(clean)
    coarse = blurred(noise, some(n, 0.2, device) * draw(n, 0.4, 1.5, device))
    coarse = coarse / coarse.std((1, 2, 3), keepdim=True)
    noisy = clean + sigma * coarse * torch.sqrt((1 - rises) + 2 * rises * clean)
    stored = (noisy * 255).round().clamp(0, 255) / 255
    return clean, torch.where(torch.rand(n, 1, 1, 1, device=device) < 0.5, stored, noisy)


def batch(pictures, n, patch):
    """Noisy patches and their references (n,3,patch,patch), on 0 … 1, of pictures (k,3,h,w) with 8 bits."""
    device, q = pictures.device, patch + 16
    parts = []
    for count, size, smaller in ((n * 5 // 8, q, 1), (n // 8, 2 * q, 2), (n - n * 5 // 8 - n // 8, q, 0)):
        index = torch.randint(0, len(pictures), (count,), device=device)
        span = pictures.shape[-1] - size + 1
        start = torch.randint(0, span, (2, count), device=device)
        line = torch.arange(size, device=device)
        rows, columns = start[0, :, None, None] + line[:, None], start[1, :, None, None] + line
        clean = pictures[index[:, None, None], :, rows, columns].permute(0, 3, 1, 2).float() / 255
        flip = torch.rand(3, count, 1, 1, 1, device=device) < 0.5
        clean = torch.where(flip[0], clean.flip(2), clean)
        clean = torch.where(flip[1], clean.flip(3), clean)
        clean = torch.where(flip[2], clean.transpose(2, 3), clean)
        if smaller == 0:
            reference, noisy = shaken(clean)
        else:
            reference, noisy = exposed(clean)
            if smaller == 2:
                reference, noisy = F.avg_pool2d(reference, 2), F.avg_pool2d(noisy, 2)
        quality = draw(count, 60, 100, device).round()
        halved = some(count, 0.6, device)
        stored = jpeg((noisy * 255).round().clamp(0, 255) / 255, quality, halved)
        share = 0.15 if smaller == 0 else 0.65
        noisy = torch.where(torch.rand(count, 1, 1, 1, device=device) < share, stored, noisy)
        parts.append((noisy, reference))
    noisy, reference = (torch.cat(p) for p in zip(*parts))
    # JPEG's blocks begin anywhere.
    start = torch.randint(0, 17, (2, n, 1, 1), device=device)
    line = torch.arange(patch, device=device)
    rows, columns = start[0] + line[:, None], start[1] + line
    each = torch.arange(n, device=device)[:, None, None]
    cut = lambda t: t[each, :, rows, columns].permute(0, 3, 1, 2).contiguous()
    return cut(noisy), cut(reference)
