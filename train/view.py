#!/usr/bin/env python3
"""A contact sheet of generated scenes: two inputs, albedo, normal and reference.   python3 view.py OUT.png [SEED COUNT SIZE REFERENCE DEVICE]"""

import sys

import numpy as np
from PIL import Image

import data

seed, count, size, reference = (int(v) for v in (sys.argv[2:6] + ["1", "8", "256", "256"][len(sys.argv) - 2 :])[:4])
device = sys.argv[6] if len(sys.argv) > 6 else "cpu"
pool = data.Pool(count, device, size)
pool.fill(seed, count, reference)
x = pool.images.float().cpu().numpy()
tone = lambda c: (c / (1 + c)) ** (1 / 2.2)
strips = [
    tone(x[..., 0:3]),
    tone(x[..., 10:13]),
    x[..., 3:6].clip(0, 1) ** (1 / 2.2),
    x[..., 6:9] / 2 + 0.5,
    tone(x[..., 20:23]),
]
rows = np.concatenate(strips, 2)
half = (count + 1) // 2
if count % 2:
    rows = np.concatenate([rows, np.zeros_like(rows[:1])])
sheet = np.concatenate([rows[:half].reshape(-1, *rows.shape[2:]), rows[half:].reshape(-1, *rows.shape[2:])], 1)
Image.fromarray((sheet.clip(0, 1) * 255 + 0.5).astype(np.uint8)).save(sys.argv[1])
