"""Properties of the exported weights.   python3 test_model.py"""

import glob
import hashlib
import os

import torch

import export
import model

torch.set_num_threads(2)
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../crates/limpid/weights")


def close(a, b, limit):
    error = ((a - b).abs() / (b.abs() + 0.01)).max().item()
    assert error < limit, error


@torch.no_grad()
def check(path):
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    with open(path + ".sha256") as file:
        assert file.read().split()[0] == digest
    assert os.path.getsize(path) <= 4 << 20
    net, stored = export.load(path), export.read(export.sample_of(path))
    run = lambda *layers: model.denoise(net, *layers)
    layers = [stored[k].float()[None] for k in ("color", "albedo", "normal", "depth")]
    color, albedo, normal, depth = layers
    result = run(*layers)
    close(result[0], stored["result"], 1e-3)

    for stops in (-10, -5, 5, 10):  # exposure
        close(run(color * 2.0**stops, albedo, normal, depth) / 2.0**stops, result, 0.03)

    close(run(color, albedo, normal, depth * 1000), result, 1e-3)  # unit of the depth

    for h, w in ((1, 1), (1, 7), (17, 5), (40, 33)):  # any size
        part = run(*(t[..., :h, :w] for t in layers))
        assert part.shape[-2:] == (h, w) and part.isfinite().all()

    nothing = [torch.zeros_like(t) for t in layers]
    for keep in ((0,), (0, 1), (0, 2), (0, 3), (0, 1, 2)):  # layers may be missing
        y = run(*(t if i in keep else nothing[i] for i, t in enumerate(layers)))
        assert y.isfinite().all() and y.min() >= 0

    assert run(*nothing).abs().max() == 0
    if not net.form.divisor:  # weights sum to one; a learned divisor is not constant, so neither is the quotient
        flat = run(torch.full_like(color, 0.7), torch.ones_like(albedo), normal, depth)
        close(flat, torch.full_like(color, 0.7), 1e-4)

    # Nothing is invented: filtered values stay in the range of the inputs.
    x, value, divisor, scale = model.prepare(*layers)
    h, w = x.shape[-2:]
    g = net(model.padded(x))[..., :h, :w]
    filtered, smooth = model.apply_filter(value, divisor, model.split(g[:, : model.OUTPUTS]))
    assert filtered.amax() <= value.amax() * 1.0001 and filtered.amin() >= value.amin() * 0.9999
    assert smooth.amax() <= divisor.amax() * 1.0001 and smooth.amin() >= divisor.amin() * 0.9999


for path in sorted(glob.glob(os.path.join(FOLDER, "*.safetensors"))):
    check(path)
    print(os.path.basename(path), "holds")
