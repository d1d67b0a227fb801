#!/usr/bin/env python3
"""Trains the guides. Makes its images itself, and goes on from a checkpoint if one is given.

    python3 train.py --forms default,best --seconds 500 --start 0 --end 0.5 --output run1 [--resume run0]

Networks of several forms learn side by side from the same batches. Writes weights.pt (moving average) and checkpoint.pt (to go on from)
into a folder per form, and log.txt. The learning rate follows one cosine over all runs: --start and --end say which part of it this
run covers.
"""

import argparse
import importlib
import json
import math
import os
import time

import torch

import data

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--output", required=True)
p.add_argument("--task", default="stills", choices=["stills", "frames"], help="single pictures, or frames of sequences")
p.add_argument("--resume", help="output folder of a run to go on from")
p.add_argument("--forms", default="default", help="FORM[=WEIGHTS],…: forms of model.py, and weights to begin with")
p.add_argument("--compare", help="weights to validate beside")
p.add_argument("--seconds", type=float, default=500)
p.add_argument("--start", type=float, default=0)
p.add_argument("--end", type=float, default=1)
p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
p.add_argument("--seed", type=int, default=1, help="of the weights and of the batches")
p.add_argument(
    "--first-scene", type=int, default=100_000, help="seed of the first training scene; below are validation scenes"
)
p.add_argument("--capacity", type=int, default=24_000, help="images in memory")
p.add_argument("--burst", type=int, default=512, help="images made at a time")
p.add_argument(
    "--making", type=float, default=0.42, help="share of the time for making images, all of it in the first part"
)
p.add_argument("--made-by", type=float, default=0.6, help="part of the time after which no images are made")
p.add_argument(
    "--reference", type=int, default=96, help="samples of a reference; 2 to 8 times as many for inputs of 16 to 256"
)
p.add_argument("--validation", type=int, default=96)
p.add_argument("--validation-reference", type=int, default=512)
p.add_argument("--batch", type=int, default=32)
p.add_argument("--patch", type=int, default=128)
p.add_argument("--rate", type=float, default=1.5e-3)
p.add_argument("--steps", type=int, default=0, help="stop after so many steps")
p.add_argument("--size", type=int, default=data.SIZE)
p.add_argument("--first-burst", type=int, default=0, help="images made before the first step; as many as --burst without it")
p.add_argument("--profile", action="store_true", help="print where the time of a step goes")
p.add_argument("--logs", type=int, default=16, help="validations on the way")
p.add_argument("--threads", type=int, default=14, help="of the generator")
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


task = importlib.import_module(a.task)
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True
torch.manual_seed(a.seed)
log(json.dumps(vars(a)), torch.__version__, torch.cuda.get_device_name() if cuda else "cpu")
validation = task.Pool(a.validation, a.device, a.size, a.threads)
validation.fill(1, a.validation, a.validation_reference)
pool = task.Pool(a.capacity, a.device, a.size, a.threads)
log("validation scenes made")

current = task.load(a.compare).to(a.device) if a.compare else None
rate = torch.zeros((), device=a.device)  # the steps before the recording change nothing
decay = torch.tensor(0.99, device=a.device)
scene, steps, images = a.first_scene, 0, 0


class Trainer:
    """A network with its moving average. Several learn side by side from the same batches."""

    def __init__(self, form, weights):
        torch.manual_seed(a.seed)
        place = lambda n: n.to(a.device).to(memory_format=torch.channels_last)
        self.form, self.net, self.average = form, *(place(task.network(form, weights)) for _ in range(2))
        self.average.load_state_dict(self.net.state_dict())
        self.average.requires_grad_(False)
        self.optimizer = torch.optim.AdamW(
            self.net.parameters(), rate, betas=(0.9, 0.98), weight_decay=1e-4, fused=cuda, capturable=cuda
        )
        self.weights, self.averages = list(self.net.parameters()), list(self.average.parameters())
        self.recent = torch.zeros((), device=a.device)
        self.stream = torch.cuda.Stream() if cuda else None
        count = sum(x.numel() for x in self.weights)
        log(f"{form}: {count} parameters, {self.net.multiplications():.0f} multiplications per pixel")

    def step(self, *batch):
        loss = task.loss(self.net, *batch, cuda)
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

    def folder(self):
        return f"{a.output}/{self.form}"

    def save(self):
        """The average, and what is needed to go on."""
        os.makedirs(self.folder(), exist_ok=True)
        cpu = lambda n: {k: v.cpu().contiguous() for k, v in n.state_dict().items()}
        write(cpu(self.average), f"{self.folder()}/weights.pt")
        state = {"net": cpu(self.net), "average": cpu(self.average), "optimizer": self.optimizer.state_dict()}
        write(state | {"scene": scene, "steps": steps, "images": images}, f"{self.folder()}/checkpoint.pt")

    def resume(self, folder):
        saved = torch.load(f"{folder}/{self.form}/checkpoint.pt", map_location=a.device, weights_only=True)
        self.net.load_state_dict(saved["net"])
        self.average.load_state_dict(saved["average"])
        self.optimizer.load_state_dict(saved["optimizer"])
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return saved["scene"], saved["steps"], saved["images"]


def write(state, path):
    torch.save(state, path + ".part")
    os.replace(path + ".part", path)


trainers = [Trainer(*(one.split("=") + [None])[:2]) for one in a.forms.split(",")]
if a.resume:
    scene, steps, images = [t.resume(a.resume) for t in trainers][0]


def step():
    """One batch for all networks, each on a stream of its own."""
    batch = task.batch(pool, a.batch, a.patch)
    if not cuda:
        for t in trainers:
            t.step(*batch)
        return
    main = torch.cuda.current_stream()
    for t in trainers:
        t.stream.wait_stream(main)
        with torch.cuda.stream(t.stream):
            t.step(*batch)
    for t in trainers:
        main.wait_stream(t.stream)


def make(count):
    global scene, images
    at = time.time()
    pool.fill(scene, count, a.reference)
    scene, images = scene + count, images + count
    return time.time() - at


def report(title):
    for t in trainers:
        log(f"{title} {t.form}: step {steps} images {images} loss {t.recent.item():.4f}", task.validate(t.average, validation, cuda))


spent = make(a.first_burst or a.burst)
log(f"{images} images in {spent:.1f} s")
if cuda:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(side)
    if a.profile:
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as report:
            step()
            torch.cuda.synchronize()
        log(report.key_averages().table(sort_by="cuda_time_total", row_limit=24, max_name_column_width=60))
    graph = torch.cuda.CUDAGraph()
    for t in trainers:
        t.optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        step()
    run = graph.replay
    log("step recorded")
else:
    run = step

trained, next_log, first_step = 0.0, 0.0, steps
if current:
    log("compare:", task.validate(current, validation, cuda))
report("start")
while True:
    now = time.time() - began
    part = min(1.0, now / a.seconds)
    if part >= 1 or (a.steps and steps - first_step >= a.steps):
        break
    along = a.start + (a.end - a.start) * part
    rate.fill_(a.rate * min(1.0, (steps + 1) / 1000) * (0.5 * (1 + math.cos(math.pi * along)) + 0.005))
    decay.fill_(min(0.9995, 1 - 1 / (steps / 10 + 2)))
    if part < a.made_by and spent < a.making * a.seconds * part / a.made_by:
        took = make(a.burst)
        spent += took
    at = time.time()
    for _ in range(50 if cuda else 1):
        run()
        steps += 1
    if cuda:
        torch.cuda.synchronize()
    trained += time.time() - at
    if now >= next_log:
        next_log = now + a.seconds / a.logs
        for t in trainers:
            t.save()
        report(f"rate {rate.item():.2e} {(steps - first_step) / max(trained, 1e-3):.0f} steps/s making {spent:.0f} s")
report("end")
for t in trainers:
    t.save()
log("done")
