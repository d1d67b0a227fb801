"""The fused level against the plain one: values and gradients.   python3 test_level.py [cuda]"""

import sys

import torch

import level

torch.manual_seed(1)
device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
torch.set_num_threads(1)
worst = 0
for full in (True, False):
    for step in (1, 4, 16):
        n, h, w = 2, 37, 50
        c = torch.rand(n, 3, h, w) * 4
        f = torch.randn(n, 8, h, w)
        one = lambda scale: torch.rand(n, 1, h, w) * scale
        inputs = [c, f, one(2), one(0.3), one(1), -one(3)]
        if not full:
            inputs[2] = inputs[4] = inputs[5] = None
        weight = torch.randn(n, 3, h, w)
        results = []
        for run, kind in ((level.plain, torch.float64), (level.level, torch.float32)):
            x = [None if t is None else t.to(device, kind).requires_grad_() for t in inputs]
            y = run(*x, step)
            (y * weight.to(device, kind)).sum().backward()
            results.append([y.detach()] + [t.grad for t in x if t is not None])
        for name, p, q in zip("y c f v a e b".split() if full else "y c f a".split(), *results):
            error = ((p - q.double()).norm() / p.norm()).item()
            worst = max(worst, error)
            print(f"step {step:2} {'all' if full else 'few'} {name}: {error:.1e}")
assert level.library(device) is not None, "the kernels are not built"
assert worst < 1e-4, worst
print("worst", worst)
