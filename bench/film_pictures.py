#!/usr/bin/env python3
"""The pictures of docs/films.md: three clips with simulated noise, before and after the commands of its recipes.

    pip install numpy scikit-image opencv-python-headless colour-demosaicing
    python3 bench/film_pictures.py --limpid target/release/limpid

Pictures of scikit-image move (chelsea and coffee are CC0, the astronaut is a picture of NASA in the public domain), with the noise of a
camera at ISO 3200 (bench/peers/cameras.py): a phone's H.264, ProRes of 10 bits, and a tape whose frames consist of fields, with
much noise in its colours.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import films

# The clip, the options of ffmpeg for the source and of limpid for the result, and where to look.
ROWS = [
    ("pan-chelsea", "phone.mp4", "-c:v libx264 -crf 16", "clean.mp4", "", (60, 20)),
    ("zoom-coffee", "camera.mov", "-pix_fmt yuv422p10le -c:v prores_ks -profile:v 3", "edit.mov", "--encoder prores", (40, 40)),
    (
        "pan-astronaut",
        "tape.mkv",
        "-vf noise=c1s=26:c1f=t:c2s=26:c2f=t,tinterlace=interleave_top -flags +ildct+ilme -c:v ffv1",
        "clean.mkv",
        "--fields top --chroma 1.5 --quality best --encoder ffv1",
        (70, 30),
    ),
]
SIZE = (200, 140)


def frame(path, number):
    """A frame of a film in 8 bits, without fields."""
    filters = ("bwdif=mode=send_frame," if path.endswith(".mkv") else "") + f"select=eq(n\\,{number})"
    command = ["ffmpeg", "-v", "error", "-i", path, "-vf", filters, "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    data = subprocess.run(command, check=True, capture_output=True).stdout
    return np.frombuffer(data, np.uint8).reshape(-1, films.SIZE[0], 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", default="limpid")
    parser.add_argument("--write", default="docs/images/films.jpg")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        for clip, source, encoded, result, options, (x, y) in ROWS:
            noisy, _ = films.filmed(films.clip(clip, None, 20), "3200", 0, False)
            films.y4m(path("noisy.y4m"), noisy)
            subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", path("noisy.y4m"), *encoded.split(), path(source)], check=True)
            command = [args.limpid, "denoise", path(source), "-o", path(result), "--device", "cpu", "--quiet", *options.split()]
            subprocess.run(command, check=True)
            cut = lambda image: image[y : y + SIZE[1], x : x + SIZE[0]].repeat(2, 0).repeat(2, 1)
            rows.append(np.hstack([cut(frame(path(name), 5)) for name in (source, result)]))
    import cv2

    cv2.imwrite(args.write, np.vstack(rows)[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 80])


if __name__ == "__main__":
    main()
