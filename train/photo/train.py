#!/usr/bin/env python3
"""Trains the networks for photographs on tiles of `pictures.py`, with simulated cameras.

    python3 train.py --pictures tiles --validation kept --output run1 --seconds 1300 [--resume run0]

Networks of both forms learn side by side from the same batches. Writes weights.pt (moving average) and checkpoint.pt into a folder per
form, and log.txt.
"""

import argparse
import glob
import json
import math
import os
import sys
import time

import numpy as np
import torch
from PIL import Image

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import camera
import model
import noise

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--pictures", required=True)
p.add_argument("--validation", required=True, help="pictures that are not trained on")
p.add_argument("--output", required=True)
p.add_argument("--resume", help="output folder of a run to go on from")
p.add_argument("--forms", default="good,best")
p.add_argument("--seconds", type=float, default=1300)
p.add_argument("--steps", type=int, default=0)
p.add_argument("--batch", type=int, default=48)
p.add_argument("--patch", type=int, default=128)
p.add_argument("--rate", type=float, default=1.5e-3)
p.add_argument("--wrong", type=float, default=0.12, help="by how much measured noise differs from the true one")
p.add_argument("--logs", type=int, default=16)
p.add_argument("--seed", type=int, default=1)
p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
a = p.parse_args()
os.makedirs(a.output, exist_ok=True)
log_file = open(f"{a.output}/log.txt", "a")
began = time.time()
cuda = a.device == "cuda"


def log(*text):
    line = f"{time.time() - began:6.1f}s " + " ".join(str(t) for t in text)
    print(line, flush=True)
    log_file.write(line + "\n")
    log_file.flush()


def loaded(folder, side=None):
    files = sorted(glob.glob(f"{folder}/*.jpg") + glob.glob(f"{folder}/*.png"))
    images = [np.asarray(Image.open(f).convert("RGB")) for f in files]
    images = [i[:side, :side] for i in images] if side else images
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous().to(a.device)


def psnr(x, r):
    return (-10 * torch.log10((x - r).square().mean((1, 2, 3)).clamp(min=1e-7))).mean().item()


def white(sigma, n):
    """The profile of white noise."""
    ones = torch.ones(n, 3, device=a.device)
    return noise.Profile(sigma / 255 * torch.ones(n, 3, noise.ENTRIES, device=a.device), ones, torch.ones(n, 3, 8, 8, device=a.device))


torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True
torch.manual_seed(0)
pictures, kept = loaded(a.pictures), loaded(a.validation, 256).float() / 255
log(json.dumps(vars(a)), torch.__version__, torch.cuda.get_device_name() if cuda else "cpu", tuple(pictures.shape), tuple(kept.shape))
checks = {f"white {s}": (kept + s / 255 * torch.randn_like(kept), kept, white(s, len(kept))) for s in (5, 15, 25, 50)}
for k in range(2):
    reference, noisy = camera.exposed(kept)
    n = len(kept)
    stored = camera.jpeg((noisy * 255).round() / 255, camera.draw(n, 80, 98, a.device).round(), camera.some(n, 0.5, a.device))
    checks[f"camera {k}"] = (stored, reference, noise.measured(stored, reference))


@torch.no_grad()
def validate(net):
    found = []
    for name, (noisy, reference, profile) in checks.items():
        clean = model.denoise(net, noisy, profile, cuda)
        found.append(f"{name} {psnr(clean, reference):.2f} ({psnr(noisy, reference):.2f})")
    return "validation " + ", ".join(found)


rate = torch.zeros((), device=a.device)
decay = torch.tensor(0.99, device=a.device)
steps = 0


class Trainer:
    def __init__(self, form):
        torch.manual_seed(a.seed)
        place = lambda n: n.to(a.device).to(memory_format=torch.channels_last)
        self.form, self.net, self.average = form, *(place(model.Net(*model.FORMS[form])) for _ in range(2))
        self.average.load_state_dict(self.net.state_dict())
        self.average.requires_grad_(False)
        self.weights, self.averages = list(self.net.parameters()), list(self.average.parameters())
        self.optimizer = torch.optim.AdamW(self.weights, rate, betas=(0.9, 0.99), weight_decay=1e-4, fused=cuda, capturable=cuda)
        self.recent = torch.zeros((), device=a.device)
        self.stream = torch.cuda.Stream() if cuda else None
        log(f"{form}: {sum(x.numel() for x in self.weights)} parameters, {self.net.multiplications():.0f} multiplications per pixel")

    def step(self, b):
        clean = self.net(b["stabilised"], b["value"], b["features"], cuda)
        profile = noise.Profile.__new__(noise.Profile)
        profile.back, profile.components, profile.count, profile.opponent = b["back"], b["components"], b["count"], b["opponent"]
        # The mean over patches of the logarithm of the squared error, as PSNR is.
        error = (profile.restored(clean) - b["reference"]).square().mean((1, 2, 3))
        loss = torch.log(error + 2e-6).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        with torch.no_grad():
            grads = [w.grad.nan_to_num_(0, 0, 0) for w in self.weights]
            norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
            torch._foreach_mul_(grads, (1 / (norm + 1e-6)).clamp(max=1))
            self.optimizer.step()
            torch._foreach_mul_(self.averages, decay)
            torch._foreach_add_(self.averages, torch._foreach_mul(self.weights, 1 - decay))
            self.recent.lerp_(loss.detach().nan_to_num(), 0.01)

    def save(self):
        folder = f"{a.output}/{self.form}"
        os.makedirs(folder, exist_ok=True)
        cpu = lambda n: {k: v.cpu().contiguous() for k, v in n.state_dict().items()}
        write(cpu(self.average), f"{folder}/weights.pt")
        state = {"net": cpu(self.net), "average": cpu(self.average), "optimizer": self.optimizer.state_dict(), "steps": steps}
        write(state, f"{folder}/checkpoint.pt")

    def resume(self, folder):
        saved = torch.load(f"{folder}/{self.form}/checkpoint.pt", map_location=a.device, weights_only=True)
        self.net.load_state_dict(saved["net"])
        self.average.load_state_dict(saved["average"])
        self.optimizer.load_state_dict(saved["optimizer"])
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return saved["steps"]


def write(state, path):
    torch.save(state, path + ".part")
    os.replace(path + ".part", path)


@torch.no_grad()
def made():
    """A batch, with what is known of its noise."""
    noisy, reference = camera.batch(pictures, a.batch, a.patch)
    grey = camera.some(a.batch, 0.08, a.device) > 0.5
    noisy, reference = (torch.where(grey, x.mean(1, keepdim=True), x) for x in (noisy, reference))
    profile = noise.measured(noisy, reference, a.wrong)
    b = {"stabilised": profile.stabilised(noisy), "value": noisy.mean(1, keepdim=True).clamp(0, 1), "features": profile.features()}
    return b | {"back": profile.back, "components": profile.components, "reference": reference, "opponent": profile.opponent}


trainers = [Trainer(form) for form in a.forms.split(",")]
if a.resume:
    steps = [t.resume(a.resume) for t in trainers][0]
torch.manual_seed(a.seed + 100)
static = made()
static["count"] = (noise.ENTRIES - 1) * noise.FINE


def fill():
    for name, value in made().items():
        static[name].copy_(value)


def learn():
    if not cuda:
        for t in trainers:
            t.step(static)
        return
    main = torch.cuda.current_stream()
    for t in trainers:
        t.stream.wait_stream(main)
        with torch.cuda.stream(t.stream):
            t.step(static)
    for t in trainers:
        main.wait_stream(t.stream)


if cuda:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(4):
            fill()
            learn()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    for t in trainers:
        t.optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        learn()
    learn = graph.replay
    making = torch.cuda.CUDAGraph()
    with torch.cuda.graph(making):
        fill()
    fill = making.replay
    log("step recorded")
first, next_log, first_at = steps, 0.0, time.time()
while True:
    now = time.time() - began
    part = min(1.0, now / a.seconds)
    if part >= 1 or (a.steps and steps - first >= a.steps):
        break
    rate.fill_(a.rate * min(1.0, (steps + 1) / 1000) * (0.5 * (1 + math.cos(math.pi * part)) + 0.005))
    decay.fill_(min(0.9995, 1 - 1 / (steps / 10 + 2)))
    for _ in range(20 if cuda else 1):
        fill()
        learn()
        steps += 1
    if cuda:
        torch.cuda.synchronize()
    if now >= next_log:
        next_log = now + a.seconds / a.logs
        for t in trainers:
            t.save()
            text = f"{t.form}: step {steps}, {(steps - first) / (time.time() - first_at):.0f} steps/s, loss {t.recent.item():.4f}"
            log(text, validate(t.average))
for t in trainers:
    t.save()
    log(f"end {t.form}: step {steps}", validate(t.average))
