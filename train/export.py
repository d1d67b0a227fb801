#!/usr/bin/env python3
"""Weights as a small file: safetensors, 16 bits, and a stored result to test readers against.

    python3 export.py run/weights.pt ../crates/limpid/weights/guides.safetensors

writes the file, its SHA-256 beside it, and ../crates/limpid/tests/data/neural.safetensors; of weights named best.safetensors
../crates/limpid/tests/data/neural-best.safetensors. The form of the network follows from names and shapes, and is in the metadata too.

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


def load(path):
    """A network in 32 bits from either kind of file."""
    state = read(path) if path.endswith(".safetensors") else torch.load(path, map_location="cpu", weights_only=True)
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


def main():
    source, path = sys.argv[1:3]
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    state = {k: v.half() for k, v in export_state(source).items()}
    form = model.form_of(state)
    about = {"model": "limpid guides 1" if form == model.Form() else "limpid guides 2", "form": json.dumps(form._asdict())}
    about |= {"steps": str(model.STEPS), "albedo_steps": str(model.ALBEDO_STEPS)}
    save(path, state, about)
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    with open(path + ".sha256", "w") as file:
        file.write(f"{digest}  {os.path.basename(path)}\n")
    save(sample_of(path), sample(load(path)), {"of": digest})
    print(digest, os.path.getsize(path), "bytes")


def sample_of(path):
    """The stored result that belongs to weights."""
    kind = os.path.splitext(os.path.basename(path))[0]
    return os.path.join(SAMPLES, "neural.safetensors" if kind == "guides" else f"neural-{kind}.safetensors")


def export_state(path):
    return load(path).state_dict()


if __name__ == "__main__":
    main()
