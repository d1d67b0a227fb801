#!/usr/bin/env python3
"""Time of one 1920x1080 frame on an NVIDIA GPU: the network in PyTorch, 16 bits, and the levels in CUDA, 16-bit storage.

    python3 measure.py [WIDTH HEIGHT]

Reading and preparing the layers and the last product with the albedo are left out: one pass each over memory.
"""

import ctypes
import sys

import torch

import level
import model


class Half(ctypes.Structure):
    names = "guides colour brightness precision next_trust out out_brightness".split()
    _fields_ = [(n, ctypes.c_void_p) for n in names] + [(n, ctypes.c_int) for n in "height width step".split()]


def median_time(run, runs=50):
    """Milliseconds of a recorded graph of the work."""
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    times = []
    for _ in range(runs):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[runs // 2]


def run_half(guides, colour, light, precision, trust, out, out_light, h, w, step):
    pointers = [t.data_ptr() for t in (guides, colour, light, precision, trust, out, out_light)]
    level.library("cuda").level_half(Half(*pointers, h, w, step), torch.cuda.current_stream().cuda_stream)


@torch.no_grad()
def main():
    w, h = (int(v) for v in sys.argv[1:3]) if len(sys.argv) > 2 else (1920, 1080)
    level.library("cuda").level_half.argtypes = [Half, ctypes.c_void_p]
    torch.manual_seed(1)
    half = lambda *shape: torch.rand(*shape, device="cuda").half()
    guides, colour, light = half(h, w, 8), half(h, w, 4), torch.zeros(h, w, device="cuda").half()
    colour[..., 3] *= -1
    precision, trust = half(h, w, 2), half(h, w)
    out, out_light = torch.empty_like(colour), torch.empty_like(light)
    light[:] = model.brightness(colour[..., :3].float().permute(2, 0, 1)[None])[0, 0].half()
    planes = lambda t: t.float().permute(2, 0, 1)[None].contiguous()
    run_half(guides, colour, light, precision, trust, out, out_light, h, w, 4)
    p, c = planes(precision), planes(colour)
    f32 = level.level(c[:, :3], planes(guides), light.float()[None, None], p[:, :1], p[:, 1:], c[:, 3:], 4)
    error = ((planes(out)[:, :3] - f32).norm() / f32.norm()).item()
    print(f"16-bit level against 32 bits: {error:.1e}")
    assert error < 2e-3
    total = 0
    for step in sorted(set(model.STEPS)):
        t = median_time(lambda: run_half(guides, colour, light, precision, trust, out, out_light, h, w, step))
        count = model.STEPS.count(step) + model.ALBEDO_STEPS.count(step)
        total += t * count
        print(f"level, step {step:2}: {t:.3f} ms, {count} times")
    net = model.Guides().cuda().half().to(memory_format=torch.channels_last).eval()
    x = half(1, model.INPUTS, h + -h % 16, w + -w % 16)
    network = median_time(lambda: net(x))
    print(f"network: {network:.3f} ms, {net.multiplications():.0f} multiplications per pixel")
    fused = 0
    sizes = {"1": 2, "2": 4, "3": 8, "4": 16}
    for name, m in net.named_children():
        scale = (
            2 if name == "out" else 16 if name == "mid" else 2 * sizes[name[2]] if name[:2] == "up" else sizes[name[3]]
        )
        x = half(1, m.in_channels, (h + -h % 16) // scale, (w + -w % 16) // scale).contiguous(
            memory_format=torch.channels_last
        )
        t = median_time(lambda: torch.cudnn_convolution_relu(x, m.weight, m.bias, (1, 1), m.padding, (1, 1), 1))
        print(f"{name} {m.in_channels}->{m.out_channels} at 1/{scale}: {t:.3f} ms")
        fused += t
    print(f"convolutions with bias and threshold alone: {fused:.3f} ms")
    print(
        f"levels: {total:.3f} ms, network and levels: {network + total:.3f} ms, with fused convolutions {fused + total:.3f} ms"
    )


main()
