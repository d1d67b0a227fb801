#!/usr/bin/env python3
"""JPEG artefacts and the dual-domain filter: what `ddid` gains on compressed pictures of scikit-image, in decibels.

    pip install numpy scikit-image pillow
    python3 bench/peers/jpeg.py --limpid target/release/limpid [--size 256] [--colour]

Knaus and Zwicker name the removal of these artefacts as a use of their filter; Vicini 2015 leaves it out. Artefacts are treated
as white noise whose standard deviation follows from the file's quantisation: 3.8 √l, in steps of 8 bits, where l is the root
mean square of the ten smallest entries of the luminance table over √12. The factor and the root were chosen on camera,
astronaut and coffee at qualities 10, 20 and 40; those are printed apart from the others.
"""

import argparse
import io
import os
import subprocess
import tempfile

import numpy as np
from eaw import picture, read_pfm, write_pfm
from PIL import Image

CHOSEN = ["camera", "astronaut", "coffee"]
OTHERS = ["chelsea", "rocket", "moon", "brick", "grass", "page"]
QUALITIES = [10, 20, 40, 60, 80, 90]


def compressed(image, quality):
    """The decoded file, and the standard deviation for it."""
    file = io.BytesIO()
    Image.fromarray(np.round(image * 255).astype("uint8")).save(file, "JPEG", quality=quality)
    file.seek(0)
    decoded = Image.open(file)
    table = np.sort(np.array(decoded.quantization[0], float))
    low = np.sqrt(np.mean(table[:10] ** 2) / 12)
    return np.asarray(decoded) / 255.0, 3.8 * np.sqrt(low) / 255


def cleaned(program, image, sigma):
    with tempfile.TemporaryDirectory() as folder:
        before, after = (os.path.join(folder, name) for name in ["before.pfm", "after.pfm"])
        write_pfm(before, image)
        command = [program, "denoise", before, "-o", after, "--method", "ddid", "--sigma", str(sigma), "--device", "cpu"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return read_pfm(after)


def psnr(image, reference):
    return -10 * np.log10(np.mean((image - reference) ** 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", default="limpid")
    parser.add_argument("--size", type=int, default=256, help="pixels of a side, from the middle of each picture")
    parser.add_argument("--colour", action="store_true")
    args = parser.parse_args()
    print("| | " + " | ".join(f"quality {q}" for q in QUALITIES) + " |")
    print("|---|" + "---:|" * len(QUALITIES))
    for kind, names in [("chosen on", CHOSEN), ("others", OTHERS)]:
        gains = []
        for name in names:
            image = picture(name, not args.colour)
            if args.colour and image.ndim == 2:
                continue
            y, x = ((n - min(n, args.size)) // 2 for n in image.shape[:2])
            image = image[y : y + args.size, x : x + args.size]
            row = []
            for quality in QUALITIES:
                noisy, sigma = compressed(image, quality)
                before, after = psnr(noisy, image), psnr(cleaned(args.limpid, noisy, sigma), image)
                row.append((before, after))
            gains.append([after - before for before, after in row])
            print(f"| {name} | " + " | ".join(f"{b:.2f} → {a:.2f}" for b, a in row) + " |", flush=True)
        print(f"| gain, {kind} | " + " | ".join(f"{g:+.2f}" for g in np.mean(gains, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
