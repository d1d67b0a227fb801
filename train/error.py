"""The error that is trained, and the one that is judged."""

import math

import torch
import torch.nn.functional as F


def loss_of(y, r):
    """Mean over the patches of log(error)."""
    return each_loss(y, r).mean()


def each_loss(y, r):
    """The logarithm of the error of each patch. The error is that of the judging measure, (y - r)^2 / (r^2 + 0.01), with a root for large
    differences, and the noise of the reference kept out of the divisor. The logarithm gives every patch the same weight,
    as the geometric mean of ratios does."""
    smooth = F.avg_pool2d(F.pad(r, (1, 1, 1, 1), mode="replicate"), 3, 1)
    x = (y - r).square() / (smooth.square() + 0.01)
    each = 0.5 * (torch.sqrt(1 + x / 0.25) - 1)
    return torch.log(each.mean((1, 2, 3)) + 5e-4)


def error(y, r):
    e = ((y - r).square() / (r.square() + 0.01)).mean(1).flatten().sort()[0]
    return e[: int(e.numel() * 0.999)].mean().item()


class Means:
    """Geometric means of errors by name, beside those of something else."""

    def __init__(self):
        self.logs = {}

    def add(self, name, y, other, r):
        pair = [math.log(max(error(v, r), 1e-7)) for v in (y, other)]
        self.logs.setdefault(name, []).append(pair)

    def text(self):
        mean = lambda v: math.exp(sum(v) / len(v))
        parts = []
        for name, pairs in sorted(self.logs.items(), reverse=True):
            result, other = (mean(v) for v in zip(*pairs))
            parts.append(f"{name} {result:.5f} ({other:.5f})")
        return "validation " + ", ".join(parts)
