#!/usr/bin/env python3
"""Trains the guides. Makes its images itself, and goes on from a checkpoint if one is given.

    python3 train.py --forms default,best --seconds 500 --start 0 --end 0.5 --output run1 [--resume run0]

Networks of several forms learn side by side from the same batches. Writes weights.pt (moving average) and checkpoint.pt (to go on from)
into a folder per form, and log.txt. The learning rate follows one cosine over all runs: --start and --end say which part of it this
run covers.
"""

import argparse
import importlib
import time

import torch

import data
import learn

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
learn.arguments(p)
p.add_argument("--task", default="stills", choices=["stills", "frames"], help="single pictures, or frames of sequences")
p.add_argument("--forms", default="default", help="FORM[=WEIGHTS],…: forms of model.py, and weights to begin with")
p.add_argument("--compare", help="weights to validate beside")
p.add_argument("--seconds", type=float, default=500)
p.add_argument("--start", type=float, default=0)
p.add_argument("--end", type=float, default=1)
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
p.add_argument("--size", type=int, default=data.SIZE)
p.add_argument("--first-burst", type=int, default=0, help="images made before the first step; as many as --burst without it")
p.add_argument("--profile", action="store_true", help="print where the time of a step goes")
p.add_argument("--threads", type=int, default=14, help="of the generator")
a = p.parse_args()

log = learn.Log(a.output)
cuda = a.device == "cuda"
task = importlib.import_module(a.task)
learn.fast()
torch.manual_seed(a.seed)
log.settings(a)
forms = [one.split("=") for one in a.forms.split(",")]
names = [form[0] for form in forms]  # sequences are made from results of these
validation = task.Pool(a.validation, a.device, a.size, a.threads, names)
validation.fill(1, a.validation, a.validation_reference)
pool = task.Pool(a.capacity, a.device, a.size, a.threads, names)
log("validation scenes made")

current = task.load(a.compare).to(a.device) if a.compare else None
pace = learn.Pace(a.device)
scene, steps, images = a.first_scene, 0, 0


def trainer(form, weights=None):
    loss = lambda net, *batch: task.loss(net, *batch, cuda)
    return learn.Trainer(form, lambda form: task.network(form, weights), loss, pace, a, log, betas=(0.9, 0.98))


trainers = [trainer(*form) for form in forms]
if a.resume:
    saved = [t.resume(a.resume) for t in trainers][0]
    scene, steps, images = (saved[k] for k in ("scene", "steps", "images"))


def step():
    learn.step(trainers, *task.batch(pool, a.batch, a.patch))


def save():
    for t in trainers:
        t.save(scene=scene, steps=steps, images=images)


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
    learn.warm(5, step)
    if a.profile:
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as times:
            step()
            torch.cuda.synchronize()
        log(times.key_averages().table(sort_by="cuda_time_total", row_limit=24, max_name_column_width=60))
    run = learn.recorded(step, trainers)
    log("step recorded")
else:
    run = step

trained, next_log, first_step = 0.0, 0.0, steps
if current:
    log("compare:", task.validate(current, validation, cuda))
report("start")
while True:
    now = log.seconds()
    part = min(1.0, now / a.seconds)
    if part >= 1 or (a.steps and steps - first_step >= a.steps):
        break
    along = a.start + (a.end - a.start) * part
    pace.set(a.rate, steps, along)
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
        save()
        report(f"rate {pace.rate.item():.2e} {(steps - first_step) / max(trained, 1e-3):.0f} steps/s making {spent:.0f} s")
report("end")
save()
log("done")
