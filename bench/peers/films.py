#!/usr/bin/env python3
"""Films as cameras make them: moving pictures with simulated noise, denoised by Limpid, OpenCV and ffmpeg.

    pip install numpy scikit-image opencv-python-headless colour-demosaicing
    python3 bench/peers/films.py --limpid target/release/limpid [--clips report] [--cameras 3200] [--peers opencv hqdn3d] [--write folder]

VapourSynth's filters need Python 3.12 or later; `--vspipe` names its `vspipe`:

    pip install vapoursynth vapoursynth-bestsource vapoursynth-bm3d vapoursynth-mvtools
    vapoursynth config
    python3 bench/peers/films.py --vspipe "$(which vspipe)" --peers vbm3d mvtools

Clips are made of pictures of scikit-image: pans by parts of pixels, zooms, turns, things that move in front, cuts, fades, repeated
frames; and a walk that bench/peers/walks.py has rendered with Mitsuba (`--walks`: its cache). Each frame gets noise as a camera makes
it (bench/peers/cameras.py), then 4:2:0 with 8 bits. `white20` is white noise of 20 of 255 in red, green and blue instead.
References are the same frames without noise, through 4:2:0 as well.

PSNR in dB over all frames; flicker is the root mean square of the difference of frame differences, result and reference, of 255.
Peers get the best of several settings for each clip, by the reference. `--keep` stores their scores, which later runs with the same
clips and settings use.

`--speed` adds frames per second: file to file, on a pan of 1920x1080 pixels in y4m, with all cores, each peer at the setting that was best on
most of the clips, one after the other; and the seconds of all processors for a frame, which depend less on what else the machine does. Two
runs of different length are compared, so that starting up does not count.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cameras

SIZE = (320, 224)
FRAMES = 10

# Settings were chosen with the first clips; the second tell how good they are.
CLIPS = {
    "tune": ["pan-astronaut", "zoom-rocket", "front-stereo_motorcycle", "still-astronaut", "cut-astronaut"],
    "report": ["pan-chelsea", "zoom-coffee", "front-retina", "cut-chelsea", "turn-immunohistochemistry", "walk-arcade"],
}


def source(name):
    """A picture as large as it is, 0 … 1."""
    return cameras.picture(name, side=1024)


def view(image, centre, scale, angle, size=SIZE):
    """A camera's view of a picture: `scale` pixels of the picture for one of the film, the centre in shares of the picture."""
    import cv2

    width, height = size
    c, s = np.cos(angle) * scale / 2, np.sin(angle) * scale / 2
    x, y = centre[0] * image.shape[1], centre[1] * image.shape[0]
    # Twice the size, then the mean of four: the same sharpness at every part of a pixel.
    matrix = np.array([[c, -s, x - c * width + s * height], [s, c, y - s * width - c * height]])
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    large = cv2.warpAffine(image, matrix, (2 * width, 2 * height), flags=flags, borderMode=cv2.BORDER_REFLECT)
    return np.clip(large.reshape(height, 2, width, 2, 3).mean((1, 3)), 0, 1)


def clip(name, walks, count=FRAMES):
    """The frames of a clip, without noise."""
    kind, _, picture = name.partition("-")
    if kind == "walk":
        return walk(picture, walks, count)
    image = source(picture)
    fit = 0.8 * min(image.shape[1] / SIZE[0], image.shape[0] / SIZE[1])
    t = np.arange(count) / (count - 1) - 0.5
    if kind == "still":
        return [view(image, (0.5, 0.5), fit, 0)] * count
    if kind == "pan":
        return [view(image, (0.5 + 0.12 * u, 0.5 + 0.07 * np.sin(5 * u)), 0.7 * fit, 0) for u in t]
    if kind == "zoom":
        return [view(image, (0.5, 0.5), fit * np.exp(-0.5 * u), 0) for u in t]
    if kind == "turn":
        return [view(image, (0.5, 0.5), 0.8 * fit, 0.35 * u) for u in t]
    if kind == "front":
        return [in_front(view(image, (0.5 - 0.05 * u, 0.5), 0.8 * fit, 0), image, u) for u in t]
    if kind == "cut":
        return cuts(image, source("rocket" if picture == "astronaut" else "coffee"))
    raise SystemExit(f"{name}: no such clip")


def in_front(frame, image, u):
    """A round piece of the picture that flies over the frame, seven pixels a frame."""
    height, width = frame.shape[:2]
    x, y = width * (0.5 + 0.25 * u), height * (0.5 + 0.3 * u)
    piece = view(image, (0.5 - 0.25 * u, 0.5 - 0.3 * u), 1.0, 0)[:, ::-1]
    yy, xx = np.mgrid[:height, :width]
    share = np.clip(60.5 - np.hypot(xx - x, yy - y), 0, 1)[..., None]
    return frame + (piece - frame) * share


def cuts(image, other):
    """Five frames of a pan, a cut to another picture and a fast pan of 23 pixels a frame, a fade to black, a frame shown three times."""
    first = [view(image, (0.5 + 0.01 * i, 0.5), 0.6, 0) for i in range(5)]
    fast = [view(other, (0.25 + 23 * i / other.shape[1], 0.5), 1.0, 0) for i in range(5)]
    fade = [view(image, (0.4, 0.45 + 0.004 * i), 0.6, 0) * (1 - 0.15 * i) for i in range(5)]
    return first + fast + fade + [fade[-1]] * 3


def walk(name, folder, count):
    """The middle of the references of a walk that bench/peers/walks.py has rendered."""
    import OpenEXR

    frames = []
    for i in range(count):
        path = os.path.join(folder, name, f"reference-{i:03}.exr")
        channels = OpenEXR.File(path, separate_channels=True).channels()
        light = np.stack([channels[c].pixels for c in "RGB"], -1).astype(np.float64)
        y, x = (max(0, n - m) // 2 for n, m in zip(light.shape, SIZE[::-1]))
        frames.append(encode(light[y : y + SIZE[1], x : x + SIZE[0]]))
    return frames


def encode(light):
    """Display values of light."""
    v = np.clip(light, 0, 1)
    return np.where(v <= 0.0031308, v * 12.92, 1.055 * v ** (1 / 2.4) - 0.055)


def filmed(frames, camera, seed, repeats):
    """The frames with noise, and without, both as the camera develops them."""
    rng = np.random.default_rng([seed, len(frames)])
    # A frame that is shown again has the noise that it had, where the film `repeats`.
    noisy, clean, last = [], [], None
    for frame in frames:
        if repeats and frame is last:
            noisy.append(noisy[-1])
            clean.append(clean[-1])
            continue
        last = frame
        if camera.startswith("white"):
            deviation = float(camera[5:]) / 255
            clean.append(frame)
            noisy.append(np.clip(frame + rng.normal(0, deviation, frame.shape), 0, 1))
        else:
            iso, how, sharpen, _, _, _ = cameras.CAMERAS[camera]
            raw = cameras.sensor(frame)
            clean.append(cameras.develop(raw, how, sharpen, 1.0))
            noisy.append(cameras.develop(cameras.expose(raw, iso, rng), how, sharpen, 1.0))
    return noisy, clean


def planes(frame):
    """Y, Cb and Cr of BT.601 in 8 bits of the full range, 4:2:0, as bytes."""
    import cv2

    eight = (np.clip(frame, 0, 1) * 255).astype(np.float32)
    y = eight @ np.float32([0.299, 0.587, 0.114])
    cb = 128 + (eight[..., 2] - y) / 1.772
    cr = 128 + (eight[..., 0] - y) / 1.402
    half = (frame.shape[1] // 2, frame.shape[0] // 2)
    cb, cr = (cv2.resize(c, half, interpolation=cv2.INTER_AREA) for c in (cb, cr))
    return b"".join(np.clip(np.round(c), 0, 255).astype(np.uint8).tobytes() for c in (y, cb, cr))


def y4m(path, frames):
    height, width = frames[0].shape[:2]
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n".encode())
        for frame in frames:
            file.write(b"FRAME\n" + planes(frame))


def read(path):
    """The frames of a y4m with 4:2:0, 8 bits, full range."""
    import cv2

    with open(path, "rb") as file:
        words = file.readline().decode().split()[1:]
        width, height = (int(next(w[1:] for w in words if w[0] == kind)) for kind in "WH")
        quarter = (height // 2, width // 2)
        frames = []
        while file.readline():
            part = lambda h, w: np.frombuffer(file.read(h * w), np.uint8).reshape(h, w).astype(np.float32)
            y, cb, cr = part(height, width), part(*quarter), part(*quarter)
            cb, cr = (cv2.resize(c, (width, height), interpolation=cv2.INTER_LINEAR) - 128 for c in (cb, cr))
            rgb = np.stack([y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb], -1)
            frames.append(np.clip(rgb / 255, 0, 1))
    return frames


def opencv(h):
    def run(before, after):
        import cv2

        frames = [np.ascontiguousarray((f[..., ::-1] * 255 + 0.5).astype(np.uint8)) for f in read(before)]
        out = []
        for i in range(len(frames)):
            # Five frames where there are as many around it.
            side = min(i, len(frames) - 1 - i, 2)
            work = cv2.fastNlMeansDenoisingColoredMulti
            out.append(work(frames, i, 2 * side + 1, None, h, h, 7, 21)[..., ::-1] / 255.0)
        y4m(after, out)

    return run


def ffmpeg(filters):
    def run(before, after):
        command = ["ffmpeg", "-loglevel", "error", "-y", "-i", before, "-vf", filters, "-pix_fmt", "yuvj420p", after]
        subprocess.run(command, check=True)

    return run


def limpid(program, options):
    def run(before, after):
        command = [program, "denoise", before, "-o", after, "--device", "cpu", "--quiet", *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return run


VSPIPE = "vspipe"

# Reads 4:2:0 of 8 bits and writes it; `c` is 4:4:4 in floats for what needs that.
SCRIPT = """
import vapoursynth as vs
core = vs.core
clip = core.bs.VideoSource({path!r}, cachemode=0)
def wide(clip):
    return core.resize.Bicubic(clip, format=vs.YUV444PS)
def narrow(clip):
    return core.resize.Bicubic(clip, format=vs.YUV420P8)
def vbm3d(sigma, radius=2):
    c, s = wide(clip), [sigma] * 3
    basic = core.bm3d.VAggregate(core.bm3d.VBasic(c, sigma=s, radius=radius), radius=radius, sample=1)
    return narrow(core.bm3d.VAggregate(core.bm3d.VFinal(c, basic, sigma=s, radius=radius), radius=radius, sample=1))
def mvtools(thsad):
    # Motion is searched in a smoothed clip, as its users do where there is much noise.
    smooth = clip.std.Convolution([1, 2, 1, 2, 4, 2, 1, 2, 1]).std.Convolution([1, 2, 1, 2, 4, 2, 1, 2, 1])
    search = core.mv.Super(smooth, pel=2)
    find = lambda back, delta: core.mv.Analyse(search, isb=back, delta=delta, blksize=8, overlap=4, truemotion=True)
    vectors = dict((("mvbw" if back else "mvfw") + ("" if d == 1 else str(d)), find(back, d)) for d in (1, 2, 3) for back in (1, 0))
    return core.mv.Degrain3(clip, core.mv.Super(clip, pel=2), thsad=thsad, thsadc=thsad, **vectors)
{call}.set_output()
"""


def vapoursynth(call):
    def run(before, after):
        with tempfile.NamedTemporaryFile("w", suffix=".vpy") as script:
            script.write(SCRIPT.format(path=os.path.abspath(before), call=call))
            script.flush()
            subprocess.run([VSPIPE, "-c", "y4m", script.name, after], check=True, capture_output=True)

    return run


PEERS = {
    "opencv": {f"h {h}": opencv(h) for h in (3, 5, 8)},
    "hqdn3d": {f"{s}": ffmpeg(f"hqdn3d={s}") for s in (4, 8, 12)},
    "nlmeans": {f"s {s}": ffmpeg(f"nlmeans=s={s}:p=7:r=15") for s in (4, 6, 9)},
    "bm3d": {f"sigma {s}": ffmpeg(f"bm3d=sigma={s}:group=16:thmse=400000") for s in (14, 20, 28)},
    "vbm3d": {f"sigma {s}": vapoursynth(f"vbm3d({s})") for s in (10, 13, 17)},
    "mvtools": {f"thsad {s}": vapoursynth(f"mvtools({s})") for s in (250, 400, 700, 1200)},
}
# What runs without more than the packages above.
USUAL = ["opencv", "hqdn3d", "nlmeans", "bm3d"]


def scores(found, clean):
    """PSNR in dB and flicker of 255."""
    error = np.stack(found).astype(np.float64) - np.stack(clean)
    return -10 * np.log10(np.mean(error**2)), 255 * np.sqrt(np.mean(np.diff(error, axis=0) ** 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", default="limpid")
    parser.add_argument("--clips", nargs="+", default=["report"], help="tune, report or names")
    parser.add_argument("--cameras", nargs="+", default=["3200", "12800", "white20"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--methods", nargs="*", default=["--quality fast", "--quality good", "--quality best"])
    parser.add_argument("--peers", nargs="*", default=USUAL, choices=list(PEERS))
    parser.add_argument("--vspipe", help="the program of VapourSynth")
    parser.add_argument("--speed", action="store_true", help="frames per second, too")
    parser.add_argument("--walks", default="target/walks", help="the cache of walks.py")
    parser.add_argument("--keep", help="file for the scores of the peers, which are not computed again")
    parser.add_argument("--write", help="folder for all films")
    args = parser.parse_args()
    if args.vspipe:
        globals()["VSPIPE"] = args.vspipe
    args.kept = {}
    if args.keep and os.path.exists(args.keep):
        with open(args.keep) as file:
            args.kept = json.load(file)
    names = [n for c in args.clips for n in CLIPS.get(c, [c])]
    columns = {m.removeprefix("--quality ") or "default": {"": limpid(args.limpid, m.split())} for m in args.methods}
    columns.update({f"{p}*": PEERS[p] for p in args.peers})
    args.best = {column: collections.Counter() for column in columns}
    rows = {}
    print("PSNR, flicker".ljust(34), "noisy".rjust(12), *(c.rjust(12) for c in columns))
    for name in names:
        frames = clip(name, args.walks)
        for camera in args.cameras:
            noisy, clean = filmed(frames, camera, args.seed, name.startswith("cut"))
            row = measure(args, f"{name}-{camera}", noisy, clean, columns)
            rows.setdefault(camera, []).append(row)
            print(f"{name} {camera}".ljust(34), *(f"{p:6.2f} {f:5.2f}" for p, f in row), flush=True)
    rows["all"] = [r for found in rows.values() for r in found]
    for camera, found in rows.items():
        print(f"mean {camera}".ljust(34), *(f"{p:6.2f} {f:5.2f}" for p, f in np.mean(found, axis=0)))
    if args.speed:
        speed(columns, args.best)


def speed(columns, best):
    """Frames per second of each column, from the times that 3 and 24 frames take, or 3 and 9 if those are slow."""
    image = source("astronaut")
    rng = np.random.default_rng(0)
    frames = [view(image, (0.5 + 0.002 * i, 0.5), 0.25, 0, (1920, 1080)) for i in range(24)]
    frames = [np.clip(frame + rng.normal(0, 12 / 255, frame.shape), 0, 1) for frame in frames]
    with tempfile.TemporaryDirectory() as folder:
        path = lambda n: os.path.join(folder, n)
        for count in (3, 9, 24):
            y4m(path(f"{count}.y4m"), frames[:count])

        def seconds(run, count):
            begin, used = time.time(), sum(os.times()[:4])
            run(path(f"{count}.y4m"), path("out.y4m"))
            return np.array([time.time() - begin, sum(os.times()[:4]) - used])

        for column, settings in columns.items():
            setting = best[column].most_common(1)[0][0]
            few = seconds(settings[setting], 3)
            if few[0] > 60:
                # Starting up is little of that.
                time_of, used = few / 3
            else:
                count = 24 if few[0] < 20 else 9
                time_of, used = (seconds(settings[setting], count) - few) / (count - 3)
            print(f"{column:12} {setting:10} {1 / time_of:8.2f} frames/s {used:8.2f} s of processors", flush=True)


def measure(args, name, noisy, clean, columns):
    """For each column the best PSNR over its settings, with the flicker that goes with it."""
    with tempfile.TemporaryDirectory() as folder:
        path = lambda n: os.path.join(folder, n)
        y4m(path("clean.y4m"), clean)
        y4m(path("noisy.y4m"), noisy)
        reference = read(path("clean.y4m"))
        row = [scores(read(path("noisy.y4m")), reference)]
        kept = {"noisy": path("noisy.y4m"), "clean": path("clean.y4m")}
        for column, settings in columns.items():
            best = None
            key = f"{name} {args.seed} {column} {' '.join(settings)}"
            if key in args.kept:
                *found, setting = args.kept[key]
                row.append(tuple(found))
                args.best[column][setting] += 1
                continue
            for setting, run in settings.items():
                out = path(f"{column} {setting}.y4m".replace("--", "").replace("*", ""))
                begin = time.time()
                run(path("noisy.y4m"), out)
                found = scores(read(out), reference)
                if best is None or found[0] > best[0][0]:
                    best = (found, out, setting, time.time() - begin)
            row.append(best[0])
            args.best[column][best[2]] += 1
            if args.keep and column.endswith("*"):
                args.kept[key] = [*best[0], best[2]]
                with open(args.keep, "w") as file:
                    json.dump(args.kept, file)
            kept[column.strip("*")] = best[1]
            if best[2]:
                print(f"    {name} {column} {best[2]}, {best[3]:.1f} s", file=sys.stderr)
        if args.write:
            os.makedirs(args.write, exist_ok=True)
            for column, file in kept.items():
                column = column.replace("--", "")
                with open(file, "rb") as f, open(os.path.join(args.write, f"{name} {column}.y4m"), "wb") as to:
                    to.write(f.read())
        return row


if __name__ == "__main__":
    main()
