#!/usr/bin/env python3
"""Weights as a small file: safetensors, 16 bits of which the last two or three are zero, and a stored result to test readers against.

    pip install torch safetensors scikit-image
    python3 export.py run1/good/weights.pt ../../crates/limpid/weights/camera.safetensors
    python3 export.py run1/best/weights.pt ../../crates/limpid/weights/camera-best.safetensors

also writes a picture with its noise, and the network's result, to ../../crates/limpid/tests/data under the same name.
"""

import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import model
import noise


def load(path):
    """A network in 32 bits from either kind of file."""
    if path.endswith(".safetensors"):
        from safetensors.torch import load_file  # only here: training does without

        state = load_file(path)
    else:
        state = torch.load(path, map_location="cpu", weights_only=True)
    state = {k: v.float() for k, v in state.items()}
    net = model.Net(tuple(len(state[f"{k}.bias"]) for k in ("enc1a", "enc2", "enc3", "enc4")), "enc2b.bias" in state)
    net.load_state_dict(state)
    return net.eval()


def rounded(values, zeros):
    """In 16 bits, the last few of them zero: a packed file is a fifth smaller, and the result the same within 0.003 dB."""
    bits = values.half().view(torch.int16).int() & 0xFFFF
    bits = (bits + (1 << (zeros - 1))) >> zeros << zeros
    return torch.where(bits > 0x7FFF, bits - 0x10000, bits).short().view(torch.float16).contiguous()


def sample(net):
    """A small picture with white noise of 20 of 255, and what the network makes of it."""
    from skimage import data

    clean = torch.from_numpy(data.astronaut()[60:108, 200:256].copy()).permute(2, 0, 1)[None].float() / 255
    torch.manual_seed(1)
    sigma = 20 / 255
    noisy = (clean + sigma * torch.randn_like(clean)).half().float()
    ones = torch.ones(1, 3)
    profile = noise.Profile(sigma * torch.ones(1, 3, noise.ENTRIES), ones, torch.ones(1, 3, 8, 8))
    with torch.no_grad():
        result = model.denoise(net, noisy, profile)
    print(f"noisy {(noisy - clean).square().mean().log10() * -10:.2f} dB, result {(result - clean).square().mean().log10() * -10:.2f} dB")
    return {k: v[0].half().contiguous() for k, v in {"noisy": noisy, "result": result, "clean": clean}.items()}


if __name__ == "__main__":
    from safetensors.torch import save_file

    weights, output = sys.argv[1:]
    net = load(weights)
    zeros = 3 if net.deep else 2
    save_file({k: rounded(v, zeros) for k, v in net.state_dict().items()}, output, {"format": "limpid camera"})
    path = os.path.join(HERE, "../../crates/limpid/tests/data", os.path.basename(output))
    save_file(sample(load(output)), path)
    for made in (output, path):
        os.chmod(made, 0o644)
