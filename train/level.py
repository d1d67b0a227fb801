"""One level of the filter: a fused kernel where it is built, plain PyTorch otherwise. The formula is in filter/level.cu."""

import ctypes
import functools
import os

import torch
import torch.nn.functional as F

GUIDES = 8
SPLINE = [1 / 16, 1 / 4, 3 / 8, 1 / 4, 1 / 16]
BUILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "build")


class Forward(ctypes.Structure):
    _fields_ = [(n, ctypes.c_void_p) for n in "c f v a e b out inv".split()]
    _fields_ += [(n, ctypes.c_int) for n in "images height width step".split()]


class Backward(ctypes.Structure):
    _fields_ = [(n, ctypes.c_void_p) for n in "c f v a e b out inv g dc df dv da de db".split()]
    _fields_ += [(n, ctypes.c_int) for n in "images height width step".split()]


@functools.cache
def library(device):
    """The kernels for a kind of device, or nothing where they are not built."""
    path = os.path.join(BUILD, "liblevel.so" if device == "cuda" else "liblevel_host.so")
    if not os.path.exists(path):
        return None
    lib = ctypes.CDLL(path)
    lib.level_forward.argtypes = [Forward, ctypes.c_void_p]
    lib.level_backward.argtypes = [Backward, ctypes.c_void_p]
    return lib


def pointer(t):
    return None if t is None else t.data_ptr()


def stream(t):
    return torch.cuda.current_stream().cuda_stream if t.is_cuda else None


class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, c, f, v, a, e, b, step):
        n, _, h, w = c.shape
        out, inv = torch.empty_like(c), torch.empty_like(a)
        lib = library(c.device.type)
        args = [pointer(t) for t in (c, f, v, a, e, b, out, inv)]
        lib.level_forward(Forward(*args, n, h, w, step), stream(c))
        ctx.save_for_backward(c, f, v, a, e, b, out, inv)
        ctx.step = step
        return out

    @staticmethod
    def backward(ctx, g):
        c, f, v, a, e, b, out, inv = ctx.saved_tensors
        n, _, h, w = c.shape
        g = g.contiguous()
        wanted = [t is not None and need for t, need in zip((c, f, v, a, e, b), ctx.needs_input_grad)]
        wanted[1] = wanted[3] = True
        grads = [torch.empty_like(t) if want else None for t, want in zip((c, f, v, a, e, b), wanted)]
        args = [pointer(t) for t in (c, f, v, a, e, b, out, inv, g, *grads)]
        library(c.device.type).level_backward(Backward(*args, n, h, w, ctx.step), stream(c))
        return *grads, None


def shift(x, dy, dx):
    """The value at (y + dy, x + dx), zero outside."""
    h, w = x.shape[-2:]
    y0, y1, x0, x1 = max(0, -dy), min(h, h - dy), max(0, -dx), min(w, w - dx)
    if y0 >= y1 or x0 >= x1:
        return torch.zeros_like(x)
    return F.pad(x[..., y0 + dy : y1 + dy, x0 + dx : x1 + dx], (x0, w - x1, y0, h - y1))


def plain(c, f, v, a, e, b, step):
    """The same in PyTorch operations: the definition that the kernels are held to."""
    total, weights, inside = torch.zeros_like(c), torch.zeros_like(a), torch.ones_like(a)
    for j in range(-2, 3):
        for i in range(-2, 3):
            move = lambda t: shift(t, j * step, i * step)
            exponent = -a * (f - move(f)).square().sum(1, keepdim=True)
            if v is not None:
                exponent = exponent - e * (v - move(v)).square()
            if b is not None:
                exponent = exponent + move(b)
            w = torch.exp(exponent) * (SPLINE[j + 2] * SPLINE[i + 2]) * move(inside)
            total, weights = total + w * move(c), weights + w
    return total / (weights + 1e-12)


def level(c, f, v, a, e, b, step):
    """c (n,3,h,w) filtered by guides f (n,8,h,w) and v (n,1,h,w), precisions a, e and log trust b (n,1,h,w)."""
    if library(c.device.type) is None or c.dtype != torch.float32:
        return plain(c, f, v, a, e, b, step)
    whole = [None if t is None else t.contiguous() for t in (c, f, v, a, e, b)]
    return Fused.apply(*whole, step)
