#!/usr/bin/env python3
"""Trains the networks for photographs on tiles of `pictures.py`, with simulated cameras.

    python3 train.py --pictures tiles --validation kept --output run1 --seconds 1300 [--forms best=run0/best/weights.pt] [--resume run0]

Networks of both forms learn side by side from the same batches. Writes weights.pt (moving average) and checkpoint.pt into a folder per
form, and log.txt.
"""

import argparse
import glob
import os
import sys
import time

import numpy as np
import torch
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
# `model` and `noise` are those of this folder, not of the one above.
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import camera
import export
import learn
import model
import noise

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
learn.arguments(p)
p.add_argument("--pictures", required=True)
p.add_argument("--validation", required=True, help="pictures that are not trained on")
p.add_argument("--forms", default="good,best", help="FORM[=WEIGHTS],…: forms of model.py, and weights to begin with")
p.add_argument("--seconds", type=float, default=1300)
p.add_argument("--batch", type=int, default=48)
p.add_argument("--patch", type=int, default=128)
p.add_argument("--wrong", type=float, default=0.12, help="by how much measured noise differs from the true one")
a = p.parse_args()
log = learn.Log(a.output)
cuda = a.device == "cuda"


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


learn.fast()
torch.manual_seed(0)
pictures, kept = loaded(a.pictures), loaded(a.validation, 256).float() / 255
log.settings(a)
log("pictures", tuple(pictures.shape), tuple(kept.shape))
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


def loss(net, b):
    clean = net(b["stabilised"], b["value"], b["features"], cuda)
    profile = noise.Profile.__new__(noise.Profile)
    profile.back, profile.components, profile.count, profile.opponent = b["back"], b["components"], b["count"], b["opponent"]
    # The mean over patches of the logarithm of the squared error, as PSNR is.
    error = (profile.restored(clean) - b["reference"]).square().mean((1, 2, 3))
    return torch.log(error + 2e-6).mean()


@torch.no_grad()
def made():
    """A batch, with what is known of its noise."""
    noisy, reference = camera.batch(pictures, a.batch, a.patch)
    grey = camera.some(a.batch, 0.08, a.device) > 0.5
    noisy, reference = (torch.where(grey, x.mean(1, keepdim=True), x) for x in (noisy, reference))
    profile = noise.measured(noisy, reference, a.wrong)
    b = {"stabilised": profile.stabilised(noisy), "value": noisy.mean(1, keepdim=True).clamp(0, 1), "features": profile.features()}
    return b | {"back": profile.back, "components": profile.components, "reference": reference, "opponent": profile.opponent}


pace, steps = learn.Pace(a.device), 0
forms = dict((one + "=").split("=")[:2] for one in a.forms.split(","))


def network(form):
    return export.load(forms[form]) if forms[form] else model.Net(*model.FORMS[form])


trainers = [learn.Trainer(form, network, loss, pace, a, log, betas=(0.9, 0.99)) for form in forms]
if a.resume:
    steps = [t.resume(a.resume)["steps"] for t in trainers][0]
torch.manual_seed(a.seed + 100)
static = made()
static["count"] = (noise.ENTRIES - 1) * noise.FINE


def fill():
    for name, value in made().items():
        static[name].copy_(value)


def train():
    learn.step(trainers, static)


if cuda:
    learn.warm(4, lambda: (fill(), train()))
    train, fill = learn.recorded(train, trainers), learn.recorded(fill)
    log("step recorded")
first, next_log, first_at = steps, 0.0, time.time()
while True:
    now = log.seconds()
    part = min(1.0, now / a.seconds)
    if part >= 1 or (a.steps and steps - first >= a.steps):
        break
    pace.set(a.rate, steps, part)
    for _ in range(20 if cuda else 1):
        fill()
        train()
        steps += 1
    if cuda:
        torch.cuda.synchronize()
    if now >= next_log:
        next_log = now + a.seconds / a.logs
        for t in trainers:
            t.save(steps=steps)
            text = f"{t.form}: step {steps}, {(steps - first) / (time.time() - first_at):.0f} steps/s, loss {t.recent.item():.4f}"
            log(text, validate(t.average))
for t in trainers:
    t.save(steps=steps)
    log(f"end {t.form}: step {steps}", validate(t.average))
