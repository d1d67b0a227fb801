#!/usr/bin/env python3
"""Weights as a small file: safetensors, 16 bits, and a stored result to test readers against.

    python3 export.py run/weights.pt ../crates/limpid/weights/guides.safetensors

writes the file, its SHA-256 beside it, and ../crates/limpid/tests/data/neural.safetensors; of weights named best.safetensors
../crates/limpid/tests/data/neural-best.safetensors, and so on. The form of the network follows from names and shapes, and is in the metadata too.

The format is that of https://github.com/huggingface/safetensors: eight bytes with the length of the header (little endian), the
header (JSON: name, type, shape, offsets) and the values. Kernels are ordered output, input, row, column.
"""

import hashlib
import json
import os
import sys

import torch

import model

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../crates/limpid/tests/data")
KINDS = {"F16": torch.float16, "F32": torch.float32}


def save(path, tensors, about):
    header, parts, at = {"__metadata__": about}, [], 0
    for name, t in tensors.items():
        kind = next(k for k, v in KINDS.items() if v == t.dtype)
        raw = t.contiguous().numpy().tobytes()
        header[name] = {"dtype": kind, "shape": list(t.shape), "data_offsets": [at, at + len(raw)]}
        parts.append(raw)
        at += len(raw)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))


def read(path):
    with open(path, "rb") as file:
        raw = file.read()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    out = {}
    for name, t in header.items():
        if name != "__metadata__":
            first, last = (8 + size + o for o in t["data_offsets"])
            out[name] = torch.frombuffer(bytearray(raw[first:last]), dtype=KINDS[t["dtype"]]).view(t["shape"])
    return out


def beside(path):
    """A path relative to this folder."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), path)


def load(path):
    """A network in 32 bits from either kind of file; those of sequences are two."""
    state = read(path) if path.endswith(".safetensors") else torch.load(path, map_location="cpu", weights_only=True)
    if "weigh.out.bias" in state:
        import frames

        guides = {k.removeprefix("guides."): v for k, v in state.items() if k.startswith("guides.")}
        net = frames.Frames(model.form_of(guides), len(state["weigh.out.bias"]) // 4)
    else:
        net = model.Guides(model.form_of(state))
    net.load_state_dict({k: v.float() for k, v in state.items()})
    return net.eval()


@torch.no_grad()
def sample(net):
    """A small picture with everything that matters: an edge, a texture, a mirror, noise, fireflies, layers that differ."""
    torch.manual_seed(7)
    h, w = 40, 56
    y, x = torch.meshgrid(torch.arange(h) / h, torch.arange(w) / w, indexing="ij")
    right = (x > 0.5).float()
    albedo = torch.stack([0.2 + 0.6 * right, 0.5 + 0.3 * ((x * 28).floor() % 2), 0.7 - 0.5 * right])[None]
    albedo = torch.where((y > 0.8)[None, None], torch.zeros(()), albedo)
    normal = torch.stack([right, 1 - right, torch.zeros(h, w)])[None]
    depth = (1 + 3 * y + 2 * right)[None, None]
    light = (0.3 + y) * (0.2 + torch.distributions.Exponential(1.0).sample((1, 1, h, w)))
    color = (albedo + 0.05) * light
    color[0, :, 11, 17] = 400
    inputs = {"color": color, "albedo": albedo, "normal": normal, "depth": depth}
    inputs = {k: v.half().float() for k, v in inputs.items()}
    out = {k: v[0].half() for k, v in inputs.items()}
    return out | {"result": model.denoise(net, *inputs.values())[0]}


@torch.no_grad()
def sample_of_frames(net, kind):
    """A small sequence, the middle frame's result: a surface that moves over another one, with noise."""
    import frames

    torch.manual_seed(8)
    h, w, count = 40, 56, 2 * frames.AROUND + 1
    y, x = torch.meshgrid(torch.arange(h).float(), torch.arange(w).float(), indexing="ij")
    made = {k: [] for k in ("color", "albedo", "normal", "depth", "motion")}
    for t in range(count):
        moves = ((x > 20) & (y > 10)).float()
        u, v = x - 1.25 * t * moves, y + 0.75 * t * moves
        albedo = torch.stack([0.5 + 0.4 * torch.sin(u / 3), 0.5 + 0.4 * torch.cos(v / 4), 0.3 + 0.5 * moves])
        light = (0.3 + y / h) * (0.2 + torch.distributions.Exponential(1.0).sample((1, h, w)))
        made["albedo"].append(albedo)
        made["color"].append((albedo + 0.05) * light * (1 + 0.1 * t))
        made["normal"].append(torch.stack([moves, 1 - moves, torch.zeros(h, w)]))
        made["depth"].append((2 - moves)[None])
        made["motion"].append(torch.stack([-1.25 * moves, 0.75 * moves]))
    made = {k: torch.stack(v)[None].half() for k, v in made.items()}
    layers = torch.cat([made[k].float() for k in ("color", "albedo", "normal", "depth")], 2)
    first, parts = frames.first(kind), layers[0]
    results = model.denoise(first, parts[:, 0:3], parts[:, 3:6], parts[:, 6:9], parts[:, 9:10])[None]
    own, depth, result, neighbours = frames.parts(frames.seen(layers, results, made["motion"].float()))
    out = {k: v[0] for k, v in made.items()}
    return out | {"result": frames.denoise(net, own, depth, result, neighbours)[0][0]}


def main():
    source, path = sys.argv[1:3]
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    net = load(source)
    state = {k: v.half() for k, v in net.state_dict().items()}
    frames = hasattr(net, "weigh")
    form = net.guides.form if frames else net.form
    about = {"model": "limpid frames 1" if frames else "limpid guides 2", "form": json.dumps(form._asdict())}
    about |= {"steps": str(model.STEPS), "albedo_steps": str(model.ALBEDO_STEPS)}
    save(path, state, about)
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    with open(path + ".sha256", "w") as file:
        file.write(f"{digest}  {os.path.basename(path)}\n")
    kind = os.path.splitext(os.path.basename(path))[0]
    exported = load(path)
    made = sample_of_frames(exported, "best" if form.deep else "default") if frames else sample(exported)
    save(sample_path(kind), made, {"of": digest})
    print(digest, os.path.getsize(path), "bytes")


def sample_path(kind):
    """The stored result that belongs to weights."""
    return os.path.join(SAMPLES, "neural.safetensors" if kind == "guides" else f"neural-{kind}.safetensors")


if __name__ == "__main__":
    main()
