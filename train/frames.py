"""Frames of a sequence: what is taken from those before and after, and a second look at what they make together.

Each frame has been denoised by itself. Its neighbours are fetched along the motion, noisy layers and results. A small network compares
them with the frame, for each distance those before and after together, and gives each three weights per pixel: for its noisy light, for
its result, and for albedo and normal, which stay the same where only light changes. The weighted means are a frame of more samples, and a
result with less noise. The network of guides sees both and filters the former; the share of the latter is its last output. All weights
are positive and sum to one.
"""

import ctypes

import torch
import torch.nn as nn
import torch.nn.functional as F

import data
import export
import model
from error import Means, each_loss, error, loss_of

AROUND = 3
FRAME = 12  # planes of a rendered frame: colour 3, albedo 3, normal 3, depth 1, motion 2
SEQUENCE = (2 * AROUND + 1) * FRAME + 4
SEEN = 13  # planes of a neighbour: colour 3, albedo 3, normal 3, result 3, whether it is there
OWN = 13  # planes of the frame: colour 3, albedo 3, normal 3, depth 1, result 3
PLANES = OWN + 2 * AROUND * SEEN + 4
DARK = 0.05  # colours are compared by the logarithm of themselves plus this, at the exposure that the network reads
NOISE = (4.0, 8)  # the window over which noise is measured
LEAST, MOST = 0.005, 4.0  # the least noise, and the largest deviation of a pixel that counts
BRIGHTER = 2.0  # how many times as bright as the frame's result a neighbour's may be before it counts less
STEPS, MISSED = 4, 0.5  # how the place of a pixel in a later frame is found

COMPARED = 15  # what the network of weights reads
WEIGHTS = 8  # before and after: of noisy light, of results, of albedo and normal; the last two are not used


class Form(model.Form):
    """The network of weights."""

    inputs, outputs = COMPARED, WEIGHTS


class Frames(nn.Module):
    """Both networks."""

    def __init__(self, form, weights=WEIGHTS):
        super().__init__()
        self.weigh = model.Guides(Form(widths=(16, 16, 32, 32)))
        if weights != WEIGHTS:
            self.weigh.out = nn.Conv2d(16, 4 * weights, 1)
        self.guides = model.Guides(form._replace(frames=True))
        self.weigh.out.weight.data *= 0.2

    def multiplications(self):
        return AROUND * self.weigh.multiplications() + self.guides.multiplications()


def luminance(c):
    return model.luminance(c).clamp(min=0)


def blurred(x, sigma, radius):
    """A Gaussian window, over what is inside."""
    line = torch.exp(-torch.arange(-radius, radius + 1, device=x.device).float() ** 2 / (2 * sigma * sigma))
    along = lambda t: F.conv2d(F.conv2d(t, line.view(1, 1, 1, -1), padding=(0, radius)), line.view(1, 1, -1, 1), padding=(radius, 0))
    return along(x) / along(torch.ones_like(x))


def noise_of(color, result, scale):
    """The deviation of a frame from its result, relative to it."""
    noisy, clean = luminance(color * scale), luminance(result * scale)
    off = ((noisy - clean).abs() / (clean + DARK)).clamp(max=MOST).square()
    return blurred(off, *NOISE).sqrt().clamp(min=LEAST)


def compared(own, result, noise, sides, distance, scale):
    """What the network of weights reads: the frame (colour, albedo, normal), its result, its noise, and two neighbours (n,13,h,w)."""
    log = lambda c: torch.log(DARK + (c * scale).clamp(0, 6e4))
    planes = [log(luminance(result)), torch.log(noise) / 4, torch.full_like(noise, distance / AROUND)]
    for side in sides:
        there = side[:, 12:13]
        squared = lambda a, b: (a - b).square().sum(1, keepdim=True)
        planes.append((log(side[:, 9:12]) - log(result)) * there)
        both = luminance(side[:, 9:12] * scale) + luminance(result * scale) + 2 * DARK
        planes.append((luminance(side[:, :3] * scale) - luminance(own[:, :3] * scale)).div(both).clamp(-4, 4) * there)
        planes.append(2 + (squared(side[:, 6:9].clamp(-1, 1), own[:, 6:9].clamp(-1, 1)) - 2) * there)
        planes.append(2 + (squared(side[:, 3:6].clamp(0, 1), own[:, 3:6].clamp(0, 1)) - 2) * there)
    return torch.cat(planes, 1)


def trust(result, there, scale):
    """What the weights of light and results are multiplied by: less than 1 where a neighbour's result is much brighter."""
    light = lambda c: luminance(c * scale).clamp(max=6e4) + DARK
    return (BRIGHTER * light(result) / light(there)).clamp(max=1).square()


def blend(net, own, result, neighbours, scale, amp=False):
    """The frame with the noisy layers of its neighbours, the blend of the results, and what the second look reads of them.
    own (n,9,h,w), result (n,3,h,w), neighbours (n,2·AROUND,13,h,w): before and after at distance 1, 2, …"""
    noise = noise_of(own[:, :3], result, scale)
    count = neighbours.shape[1] // 2
    x = torch.cat([compared(own, result, noise, neighbours[:, 2 * i : 2 * i + 2].unbind(1), i + 1, scale) for i in range(count)])
    h, w = x.shape[-2:]
    given = torch.sigmoid(net(model.padded(x), amp).float()[..., :h, :w] + 1).chunk(count)
    # Of light, results and features: sums, and sums of weights.
    sums, totals = [own[:, :3], result, own[:, 3:]], [torch.ones_like(noise)] * 3
    for i, weights in enumerate(given):
        for k in range(2):
            there = neighbours[:, 2 * i + k]
            trusted = trust(result, there[:, 9:12], scale)
            for j, planes in enumerate((there[:, :3], there[:, 9:12], there[:, 3:9])):
                weight = weights[:, 2 * j + k : 2 * j + k + 1] * there[:, 12:13] * (trusted if j < 2 else 1)
                sums[j], totals[j] = sums[j] + weight * planes, totals[j] + weight
    light, mean, features = (a / b for a, b in zip(sums, totals))
    known = torch.cat([torch.log2(totals[0]) / 3, torch.log2(totals[2]) / 3, torch.log(noise) / 4], 1)
    return torch.cat([light, features], 1), mean, known


def denoise(net, own, depth, result, neighbours, amp=False):
    """The result, and its two parts: what the second look made and the blend of the first."""
    color, albedo = own[:, :3], own[:, 3:6]
    scale = model.prepare(color, albedo, own[:, 6:9], depth)[3]
    layers, mean, known = blend(net.weigh, own, result, neighbours, scale, amp)
    more = lambda scale2, divisor: torch.cat([torch.log1p((mean * scale2 / divisor).clamp(0, 6e4)), known], 1)
    second, share = model.filtered(net.guides, layers[:, :3], layers[:, 3:6], layers[:, 6:9], depth, more, amp, scale)
    # Where nothing was found, the result is the frame's own.
    share = torch.where(neighbours[:, :, 12].amax(1, keepdim=True) > 0, torch.sigmoid(share), torch.ones_like(share))
    return second + share * (mean - second), second, mean


def nearest(x, y, h, w):
    """The nearest pixel of positions, and whether they are inside."""
    inside = (x > -0.5) & (x < w - 0.5) & (y > -0.5) & (y < h - 0.5)
    at = (y + 0.5).floor().clamp(0, h - 1).long() * w + (x + 0.5).floor().clamp(0, w - 1).long()
    return at, inside


def place(motion, other):
    """Where pixels of the middle frame are in another one, following the motion (n,7,2,h,w) from frame to frame; x, y, whether found."""
    n, _, _, h, w = motion.shape
    y, x = torch.meshgrid(torch.arange(h, device=motion.device), torch.arange(w, device=motion.device), indexing="ij")
    x, y = (t.float().expand(n, h, w).clone() for t in (x, y))
    found = torch.ones(n, h, w, dtype=torch.bool, device=motion.device)

    def moved(frame, x, y):
        at, inside = nearest(x, y, h, w)
        m = motion[:, frame].flatten(2)
        return (*(m[:, c].gather(1, at.flatten(1)).view(n, h, w) for c in (0, 1)), inside)

    for frame in range(AROUND, other, -1):
        dx, dy, inside = moved(frame, x, y)
        x, y, found = x + dx, y + dy, found & inside
    for frame in range(AROUND + 1, other + 1):
        nx, ny = x, y
        for _ in range(STEPS):
            dx, dy, inside = moved(frame, nx, ny)
            nx, ny, found = x - dx, y - dy, found & inside
        dx, dy, inside = moved(frame, nx, ny)
        found = found & inside & ((nx + dx - x).abs() < MISSED) & ((ny + dy - y).abs() < MISSED)
        x, y = nx, ny
    return x, y, found & nearest(x, y, h, w)[1]


def spline(f):
    near = lambda f: 1 + f * f * (1.5 * f - 2.5)
    g = 1 - f
    return [-0.5 * f * g * g, near(f), near(g), -0.5 * g * f * f]


def fetched(planes, x, y):
    """Planes (n,c,h,w) at positions, by splines through sixteen pixels, limited to the range of the four nearest."""
    n, c, h, w = planes.shape
    left, top = x.floor(), y.floor()
    wx, wy = spline(x - left), spline(y - top)
    flat, total, least, most = planes.flatten(2), 0, None, None
    for j in range(4):
        row = (top + j - 1).clamp(0, h - 1).long() * w
        for i in range(4):
            at = (row + (left + i - 1).clamp(0, w - 1).long()).flatten(1)[:, None].expand(n, c, h * w)
            value = flat.gather(2, at).view(n, c, h, w)
            total = total + (wx[i] * wy[j])[:, None] * value
            if 1 <= i <= 2 and 1 <= j <= 2:
                least = value if least is None else torch.minimum(least, value)
                most = value if most is None else torch.maximum(most, value)
    return torch.maximum(torch.minimum(total, most), least)


def seen(layers, results, motion):
    """The middle frame with its result, and its neighbours along the motion; of layers (n,7,10,h,w)."""
    planes = [layers[:, AROUND], results[:, AROUND]]
    for away in range(1, AROUND + 1):
        for other in (AROUND - away, AROUND + away):
            x, y, found = place(motion, other)
            there = torch.cat([layers[:, other, :9], results[:, other]], 1)
            planes += [fetched(there, x, y) * found[:, None], found[:, None].float()]
    return torch.cat(planes, 1)


def first(form):
    """The network that frames are denoised with by themselves."""
    name = "guides" if form == "default" else form
    return export.load(export.beside(f"../crates/limpid/weights/{name}.safetensors"))


class Pool:
    """Sequences of seeds with everything fetched: the middle frame, its neighbours along the motion, the reference."""

    STAGE = 96

    def __init__(self, capacity, device, size=data.SIZE, threads=12, forms=("default", "best")):
        self.lib = data.library(device)
        self.lib.sequences_fill.argtypes = [ctypes.c_void_p, ctypes.c_uint32] + [ctypes.c_int] * 4
        self.images = torch.zeros(capacity, size, size, PLANES, dtype=torch.float16, device=device)
        self.stage = torch.zeros(self.STAGE, size, size, SEQUENCE, dtype=torch.float16, device=device)
        self.count = torch.zeros((), device=device)
        self.filled, self.size, self.threads = 0, size, threads
        self.firsts = [first(name).to(device) for name in forms]

    @torch.no_grad()
    def fill(self, seed, count, reference):
        count = min(count, len(self.images))
        at = self.filled % len(self.images)
        at = min(at, len(self.images) - count)
        for first in range(0, count, self.STAGE):
            some = min(self.STAGE, count - first)
            if self.images.is_cuda:
                torch.cuda.synchronize()
            made = self.lib.sequences_fill(self.stage.data_ptr(), seed + first, some, self.size, reference, self.threads)
            if made != some:
                raise RuntimeError(f"{some - made} scenes of {some} were rejected")
            for i in range(0, some, 4):
                part = self.stage[i : min(i + 4, some)].permute(0, 3, 1, 2).float()
                self.images[at + first + i : at + first + i + len(part)] = self.learned(part).half().permute(0, 2, 3, 1)
        self.filled += count
        self.count.fill_(min(self.filled, len(self.images)))

    def learned(self, b):
        """Sequences as they are learned from."""
        n, _, h, w = b.shape
        device = b.device
        frames = b[:, : SEQUENCE - 4].view(n, 2 * AROUND + 1, FRAME, h, w)
        layers, motion = frames[:, :, :10].clone(), frames[:, :, 10:].clone()
        chance = lambda p: (torch.rand(n, 1, 1, 1, 1, device=device) < p).float()
        # A pixel filter, layers that are missing, motion that does not reach the sky, or is not there, or wrong.
        sigma = chance(0.2) * (0.3 + 0.7 * torch.rand(n, 1, 1, 1, 1, device=device))
        wide = F.pad(layers.flatten(0, 1), [data.BLUR] * 4, mode="replicate")
        layers = data.pixel_filter(wide, sigma.expand(n, 2 * AROUND + 1, 1, 1, 1).flatten(0, 1)).view_as(layers)
        middle = F.pad(b[:, -4:-1], [data.BLUR] * 4, mode="replicate")
        middle = data.pixel_filter(middle, sigma[:, 0])
        bare = chance(0.06)
        layers[:, :, 3:6] *= (1 - bare) * (1 - chance(0.05))
        layers[:, :, 6:9] *= (1 - bare) * (1 - chance(0.05))
        layers[:, :, 9:10] *= (1 - bare) * (1 - chance(0.12))
        sky = (frames[:, :, 9:10] == 0).float()
        motion *= 1 - sky * chance(0.4)
        motion *= torch.where(chance(0.03) > 0, -chance(0.3), torch.ones_like(sigma))
        net = self.firsts[int(torch.randint(len(self.firsts), ()))]
        amp = b.is_cuda
        parts = layers.flatten(0, 1)
        results = [model.denoise(net, p[:, 0:3], p[:, 3:6], p[:, 6:9], p[:, 9:10], amp) for p in parts.split(14)]
        results = torch.cat(results).view(n, 2 * AROUND + 1, 3, h, w)
        return torch.cat([seen(layers, results, motion), middle, b[:, -1:]], 1).clamp(-6e4, 6e4)


def parts(b):
    """Colour, albedo and normal of the frame, its depth, its result, its neighbours."""
    n, _, h, w = b.shape
    return b[:, :9], b[:, 9:10], b[:, 10:13], b[:, OWN:].reshape(n, 2 * AROUND, SEEN, h, w)


def batch(pool, n, patch):
    """Random patches, mirrored and turned, with neighbours that are missing or show something else."""
    device = pool.images.device
    r = torch.rand(14, n, device=device)
    index = (r[0] * pool.count).long()
    line = torch.arange(patch, device=device)
    span = pool.size - patch + 1
    along = lambda start, flip: (start * span).long()[:, None] + torch.where((flip < 0.5)[:, None], line, patch - 1 - line)
    y, x, turn = along(r[1], r[2])[:, :, None], along(r[3], r[4])[:, None, :], (r[5] < 0.5)[:, None, None]
    yt, xt = along(r[1], r[2])[:, None, :], along(r[3], r[4])[:, :, None]
    rows, columns = torch.where(turn, yt.expand(n, patch, patch), y.expand(n, patch, patch)), torch.where(turn, xt, x)
    b = pool.images[index[:, None, None], rows, columns].permute(0, 3, 1, 2).float()
    own, depth, result, neighbours, reference = *parts(b[:, :-4]), b[:, -4:-1]
    one = lambda k: r[k].view(n, 1, 1, 1, 1)
    # Backwards in time.
    neighbours = torch.where(one(6) < 0.5, neighbours, neighbours.view(n, AROUND, 2, SEEN, patch, patch).flip(2).view_as(neighbours))
    away = torch.arange(2 * AROUND, device=device).view(1, -1, 1, 1, 1) // 2
    later = (torch.arange(2 * AROUND, device=device).view(1, -1, 1, 1, 1) % 2).bool()
    # A cut: from some distance on, frames of something else.
    cut = later & (one(7) < 0.05) & (away >= (one(8) * 3).long())
    neighbours = torch.where(cut, neighbours.roll(1, 0), neighbours)
    # The ends of a sequence.
    there = ~(later & (one(9) < 0.3) & (away >= (one(10) * 3).long()))
    there &= ~(~later & (one(11) < 0.12) & (away >= (one(12) * 3).long()))
    neighbours = neighbours * there
    order = torch.rand(n, 3, device=device).argsort(1)
    color = lambda t: t.gather(t.dim() - 3, order.view(n, *[1] * (t.dim() - 4), 3, 1, 1).expand_as(t))
    turned = rotations = data.rotations(n, device)
    normal = lambda t: (rotations @ t.flatten(2)).view_as(t)
    several = lambda t: torch.einsum("nij,nkjhw->nkihw", turned, t)
    exposure = torch.exp2(torch.randn(n, 1, 1, 1, device=device))
    own = torch.cat([color(own[:, :3]) * exposure, color(own[:, 3:6]), normal(own[:, 6:9])], 1)
    e = exposure[:, None]
    neighbours = torch.cat(
        [
            color(neighbours[:, :, :3]) * e,
            color(neighbours[:, :, 3:6]),
            several(neighbours[:, :, 6:9]),
            color(neighbours[:, :, 9:12]) * e,
            neighbours[:, :, 12:],
        ],
        2,
    )
    return own, depth, color(result) * exposure, neighbours, color(reference) * exposure


def network(form, weights):
    net = Frames(model.FORMS[form])
    if weights:
        begin(net, export.load(weights))
    return net


def begin(net, given):
    """From weights of both networks, or of the one for single frames."""
    if isinstance(given, Frames):
        state = given.state_dict()
        for name in ("weigh.out.weight", "weigh.out.bias"):
            if len(state[name]) < 4 * WEIGHTS:  # without weights of features, which begin as those of light
                old = state[name]
                state[name] = torch.cat([old[:16], old[:8], torch.zeros_like(old[:8])])
        net.load_state_dict(state)
    else:
        net.guides.begin_with(given.state_dict())


load = export.load


def loss(net, own, depth, result, neighbours, reference, amp):
    y, second, mean = denoise(net, own, depth, result, neighbours, amp)
    worse = F.relu(each_loss(y, reference) - each_loss(result, reference)).mean()
    return loss_of(y, reference) + worse + 0.3 * loss_of(second, reference) + 0.3 * loss_of(mean, reference)


@torch.no_grad()
def validate(net, pool, amp):
    """Geometric means of the trimmed relMSE by number of samples; in brackets those of the frame alone. Beside them those of both parts,
    and with frames before alone."""
    means, worst = Means(), []
    for i in range(pool.filled):
        b = pool.images[i : i + 1].permute(0, 3, 1, 2).float()
        own, depth, result, neighbours, reference = *parts(b[:, :-4]), b[:, -4:-1]
        counts = int(b[0, -1, 0, 0])
        name = f"{'garden' if counts // 16 == 3 else 'other'} {'few' if counts % 16 < 2 else 'more' if counts % 16 < 4 else 'many'}"
        y, second, mean = denoise(net, own, depth, result, neighbours, amp)
        past = neighbours.clone()
        past[:, 1::2] = 0
        before = denoise(net, own, depth, result, past, amp)[0]
        for part, c in (("", y), (" second", second), (" mean", mean), (" before", before)):
            means.add(name + part, c, result, reference)
        worst.append(error(y, reference) / max(error(result, reference), 1e-7))
    worst.sort()
    return means.text() + f", worst {worst[-1]:.2f} {worst[-2]:.2f}, worse than alone {sum(w > 1.02 for w in worst)} of {len(worst)}"
