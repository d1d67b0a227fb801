"""Properties of the exported weights.   python3 test_model.py"""

import glob
import hashlib
import os

import torch

import export
import frames
import model

torch.set_num_threads(2)
FOLDERS = [export.beside(f"../crates/{crate}/weights") for crate in ("limpid", "limpid-weights")]


def close(a, b, limit):
    error = ((a - b).abs() / (b.abs() + 0.01)).max().item()
    assert error < limit, error


def stored_of(path):
    """The stored result of weights, after a look at their sum."""
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    with open(path + ".sha256") as file:
        assert file.read().split()[0] == digest
    assert os.path.getsize(path) <= 4 << 20
    kind = os.path.splitext(os.path.basename(path))[0]
    return export.read(export.sample_path(kind))


@torch.no_grad()
def check_frames(path):
    net, stored = export.load(path), stored_of(path)
    layers = torch.cat([stored[k].float() for k in ("color", "albedo", "normal", "depth")], 1)[None]
    parts = layers[0]
    first = frames.first("best" if net.guides.form.deep else "default")
    results = model.denoise(first, parts[:, 0:3], parts[:, 3:6], parts[:, 6:9], parts[:, 9:10])[None]
    own, depth, result, neighbours = frames.parts(frames.seen(layers, results, stored["motion"].float()[None]))
    made = frames.denoise(net, own, depth, result, neighbours)[0]
    close(made[0], stored["result"], 1e-3)
    # Without neighbours the result is the frame's own.
    close(frames.denoise(net, own, depth, result, torch.zeros_like(neighbours))[0], result, 1e-6)


@torch.no_grad()
def check(path):
    net, stored = export.load(path), stored_of(path)
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


for path in sorted(p for folder in FOLDERS for p in glob.glob(os.path.join(folder, "*.safetensors"))):
    name = os.path.basename(path)
    if not name.startswith("camera"):  # those of train/photo
        (check_frames if name.startswith("frames") else check)(path)
        print(name, "holds")
