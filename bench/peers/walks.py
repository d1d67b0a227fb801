#!/usr/bin/env python3
"""Limpid's methods on walks through scenes of Mitsuba, one sample per pixel, beside Open Image Denoise frame by frame.

    pip install numpy OpenEXR mitsuba pyoidn pillow
    python3 bench/peers/walks.py --limpid target/release/limpid --methods svgf,neural --cache target/walks

Renders the walks, denoises them and prints a table and a sheet of frames. <cache>/<walk>/ holds noisy-000.exr … (colour, albedo,
normal, depth and motion of one sample), reference-000.exr … and floor.json; what is there is not rendered again.

From the fourth frame on, means over the frames:
error      trimmed relMSE, as in renders.py, less the same measure of the reference's own noise
all        relMSE of all pixels; edges of lamps count here
temporal   mean |e(t) - e(t-1)| along the motion, where e is the difference of result and reference, both as c / (1 + c)
flicker    mean |c(t) - c(t-1)| along the motion, less the same of the reference: what `limpid compare` prints, as c / (1 + c)
Both leave out what was outside the last frame, and `temporal` also what was hidden in it. The noise of the reference counts in both, so give
it 256 samples or more.
"""

import argparse
import json
import os
import re
import subprocess

import numpy as np

import renders

FEATURES = "albedo:albedo,normal:sh_normal,position:position,depth:depth"
BEST = "OIDN, prefiltered"  # albedo and normal filtered by OIDN first; ratios are to it
FIRST = 3  # frames before this one are not judged


# Walks


def arcade():
    """Forward along a glossy floor under small lamps; columns, thin rails, pictures, a glass ball and a ball that rolls."""
    from render_shapes import ball, bitmap, box, diffuse, glass, lamp, metal, painting, plastic, rgb, room, stick, wall, wood

    paint = diffuse(rgb(0.65, 0.62, 0.58))
    parts = room((2.2, 9), 3.0, [paint, paint, diffuse(rgb(0.45, 0.2, 0.15)), paint, paint], plastic(bitmap(wood(91), 6), 0.13))
    for k in range(5):
        z, side = 5.5 - 2.6 * k, (-1, 1)[k % 2]
        parts[f"column {k}"] = stick((1.5 * side, 0, z), (1.5 * side, 3, z), 0.14, diffuse(rgb(0.75, 0.73, 0.7)))
        parts[f"picture {k}"] = box((2.17 * side, 1.6, z - 1.1), (0.02, 0.45, 0.6), diffuse(bitmap(painting(120 + k))))
        tint = ((1, 0.75, 0.45), (0.7, 0.85, 1), (1, 0.9, 0.75))[k % 3]
        parts[f"lamp {k}"] = lamp(ball((-0.9 * side, 2.6, z - 0.6), 0.12, None), *(18 * np.array(tint)))
        parts[f"wire {k}"] = stick((-0.9 * side, 2.72, z - 0.6), (-0.9 * side, 3, z - 0.6), 0.006, diffuse(rgb(0.05)))
    rail = metal("Al", 0.3)
    for k in range(22):
        parts[f"bar {k}"] = stick((-1.0, 0, 4.5 - 0.22 * k), (-1.0, 0.8, 4.5 - 0.22 * k), 0.009, rail)
    parts["rail"] = stick((-1.0, 0.8, 4.6), (-1.0, 0.8, -0.3), 0.02, rail)
    parts |= {
        "glass": ball((0.55, 0.3, 2.6), 0.3, glass()),
        "copper": ball((0.95, 0.22, 3.6), 0.22, metal("Cu", 0.12)),
        "crate": box((0.9, 0.3, 0.4), (0.3, 0.3, 0.3), diffuse(bitmap(wood(92))), 25),
        "mover": ball((0, 0.2, 0), 0.2, plastic(rgb(0.1, 0.3, 0.6), 0.1)),
        "panel": lamp(wall((0, 2.98, 1), (0.5, 0.5), "-y", None), 7, 7, 7.5),
    }

    def view(t):
        return (0.25 * np.sin(0.25 * t), 1.35 + 0.03 * np.sin(1.1 * t), 7.4 - 0.13 * t), (0.5 - 0.07 * t, 0.85, 0.5)

    return parts, view, lambda t: (-0.6 + 0.06 * t, 0.0, 2.2 + 0.05 * t), 60


def terrace():
    """Sideways past plants, a fence and pots on tiles in daylight: thin things in front of others, so that much is uncovered."""
    from render_shapes import (
        ball,
        bitmap,
        blades,
        box,
        bricks,
        diffuse,
        floor,
        foliage,
        lamp,
        metal,
        place,
        plastic,
        rgb,
        stick,
        vase,
        wall,
        wood,
    )

    tiles = {
        "type": "checkerboard",
        "color0": rgb(0.2, 0.17, 0.15),
        "color1": rgb(0.6, 0.57, 0.5),
        "to_uv": place(scale=(16, 16, 1)),
    }
    parts = {
        "floor": floor(plastic(tiles, 0.12), 6),
        "house": wall((0, 1.6, -2.6), (6, 1.6), "+z", diffuse(bitmap(bricks(93), 4))),
    }
    for k in range(34):
        parts[f"bar {k}"] = stick((-3.3 + 0.2 * k, 0, 1.1), (-3.3 + 0.2 * k, 0.62, 1.1), 0.011, diffuse(rgb(0.8)))
    for k in range(5):
        x, z = -2.3 + 1.15 * k, (-0.9, -1.5, -0.5, -1.7, -1.0)[k]
        tint = ((0.5, 0.15, 0.08), (0.2, 0.3, 0.45), (0.55, 0.5, 0.4))[k % 3]
        parts[f"pot {k}"] = vase(f"pot {k}", plastic(rgb(*tint), 0.15), place((x, 0, z), 0.55), [0.3, 0.4, 0.45, 0.5])
        leaf = plastic(rgb(0.1 + 0.08 * (k % 2), 0.36, 0.08), 0.2)
        parts[f"plant {k}"] = foliage(f"plant {k}", leaf, 220 + 60 * k, 130 + k, (x, 0.95, z), 0.42 + 0.05 * k, 0.11)
    parts |= {
        "rail": stick((-3.4, 0.62, 1.1), (3.4, 0.62, 1.1), 0.022, diffuse(rgb(0.8))),
        "grass": blades("terrace grass", diffuse(rgb(0.15, 0.34, 0.07)), 1200, 140, 0.5, 0.35, 0.012),
        "mirror": ball((1.2, 0.35, 0.2), 0.35, metal("Al")),
        "table": box((-1.2, 0.5, 0.1), (0.5, 0.02, 0.35), plastic(bitmap(wood(94)), 0.1), 12),
        "leg": stick((-1.2, 0, 0.1), (-1.2, 0.5, 0.1), 0.035, metal("Al", 0.2)),
        "mover": ball((0, 0.16, 0), 0.16, diffuse(rgb(0.75, 0.2, 0.12))),
        "lantern": lamp(ball((-1.2, 0.62, 0.1), 0.08, None), 26, 18, 9),
        "bulb": lamp(ball((0.4, 1.9, -2.3), 0.07, None), 40, 32, 22),
        "sun": lamp(wall((-4.5, 4.2, 3.0), (1.0, 1.0), "+x", None), 34, 31, 26),
        "sky": {"type": "constant", "radiance": rgb(0.28, 0.34, 0.45)},
    }

    def view(t):
        return (-1.0 + 0.14 * t, 1.2 + 0.01 * t, 4.0 - 0.03 * t), (-0.55 + 0.09 * t, 0.7, -0.5)

    return parts, view, lambda t: (0.9 - 0.07 * t, 0.0, 0.65), 52


def study():
    """Turning at a desk: a window with blinds, shelves of books, a mirror, a plant, a lamp, a glass vase."""
    from render_shapes import (
        ball,
        bitmap,
        box,
        diffuse,
        foliage,
        glass,
        lamp,
        metal,
        painting,
        place,
        plastic,
        rgb,
        room,
        stick,
        text,
        vase,
        wall,
        wood,
    )

    paint = diffuse(rgb(0.7, 0.7, 0.66))
    parts = room((2.4, 2.4), 2.7, [paint, paint, diffuse(rgb(0.4, 0.48, 0.5)), paint, paint], diffuse(bitmap(wood(95), 3)))
    rng = np.random.default_rng(96)
    for shelf in range(3):
        y = 0.75 + 0.5 * shelf
        parts[f"board {shelf}"] = box((-0.2, y, -2.2), (1.3, 0.015, 0.18), plastic(bitmap(wood(97)), 0.15))
        for k in range(17):
            tall, tone = rng.uniform(0.13, 0.2), rng.uniform(0.05, 0.6, 3)
            parts[f"book {shelf} {k}"] = box((-1.35 + 0.14 * k, y + 0.015 + tall, -2.2), (0.045, tall, 0.13), diffuse(rgb(*tone)))
    for k in range(16):
        parts[f"blind {k}"] = box((2.3, 0.95 + 0.1 * k, -0.4), (0.05, 0.004, 0.85), diffuse(rgb(0.8)))
    parts |= {
        "window": lamp(wall((2.38, 1.7, -0.4), (0.8, 0.8), "-x", None), 9, 10, 12),
        "desk": box((0.3, 0.72, -0.9), (0.9, 0.025, 0.45), plastic(bitmap(wood(98)), 0.08)),
        "leg a": stick((-0.5, 0, -0.6), (-0.5, 0.7, -0.6), 0.025, metal("Al", 0.15)),
        "leg b": stick((1.1, 0, -0.6), (1.1, 0.7, -0.6), 0.025, metal("Al", 0.15)),
        "page": box((0.15, 0.75, -0.75), (0.16, 0.004, 0.22), diffuse(bitmap(text(99), 2)), 12),
        "vase": vase("study vase", glass(), place((0.75, 0.745, -1.0), 0.3), [0.25, 0.4, 0.35, 0.2, 0.3]),
        "arm": stick((-0.35, 0.745, -1.1), (-0.2, 1.15, -1.0), 0.012, metal("Cu", 0.1)),
        "bulb": lamp(ball((-0.2, 1.2, -0.98), 0.05, None), 45, 34, 20),
        "mirror": box((-2.37, 1.5, -0.6), (0.01, 0.5, 0.4), metal("Al")),
        "picture": box((1.7, 1.7, -2.37), (0.35, 0.45, 0.02), diffuse(bitmap(painting(150)))),
        "plant": foliage("study plant", plastic(rgb(0.12, 0.35, 0.1), 0.2), 260, 151, (-1.5, 0.9, -1.2), 0.4, 0.1),
        "pot": vase("study pot", plastic(rgb(0.45, 0.2, 0.12), 0.2), place((-1.5, 0, -1.2), 0.6), [0.3, 0.35, 0.4, 0.45]),
        "mover": ball((0, 0.045, 0), 0.05, plastic(rgb(0.75, 0.1, 0.1), 0.1)),
    }

    def view(t):
        turn = -0.35 + 0.045 * t
        return (0.1 + 0.02 * t, 1.35, 1.9 - 0.03 * t), (0.1 + 3 * np.sin(turn), 1.05, 1.9 - 3 * np.cos(turn))

    return parts, view, lambda t: (-0.3 + 0.07 * t, 0.745, -0.62), 65


WALKS = {"arcade": arcade, "terrace": terrace, "study": study}


# Rendering


def load(walk, frame, size, sampler, features):
    """A frame's scene; the shape named `mover` stands where the walk says."""
    import mitsuba as mi
    from render_shapes import camera

    parts, view, moved, fov = walk
    parts = dict(parts)
    parts["mover"] = {**parts["mover"], "center": list(np.add(parts["mover"]["center"], moved(frame)))}
    film = {"type": "hdrfilm", "width": size[0], "height": size[1], "pixel_format": "rgb", "component_format": "float32"}
    sensor = camera(*view(frame), fov) | {"film": film | {"rfilter": {"type": "box"}}, "sampler": {"type": sampler}}
    integrator = {"type": "path", "max_depth": 7, "rr_depth": 4}
    if features:
        integrator = {"type": "aov", "aovs": FEATURES, "color": integrator}
    return mi.load_dict({"type": "scene", "integrator": integrator, "sensor": sensor, **parts})


def project(points, origin, target, fov, size):
    """Pixel positions of points in the world, y down."""
    forward = np.subtract(target, origin) / np.linalg.norm(np.subtract(target, origin))
    right = np.cross(forward, (0, 1, 0))
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    away = points - origin
    scale = size[0] / 2 / np.tan(np.radians(fov) / 2) / np.maximum(away @ forward, 1e-6)
    return np.stack([size[0] / 2 + away @ right * scale, size[1] / 2 - away @ up * scale], -1)


def motion(walk, frame, position, hit, size):
    """Where each point was one frame earlier minus where it is, in pixels; for what is infinitely far by the rotation alone."""
    parts, view, moved, fov = walk
    mover = parts["mover"]
    distance = np.linalg.norm(position - np.add(mover["center"], moved(frame)), axis=-1, keepdims=True)
    on_it = np.abs(distance - mover["radius"]) < 0.003
    earlier = position - np.where(on_it, np.subtract(moved(frame), moved(frame - 1)), 0)
    now, before = (project(p, *view(t), fov, size) for p, t in ((position, frame), (earlier, frame - 1)))
    y, x = np.mgrid[: size[1], : size[0]]
    (origin, target), reach = view(frame), 2 * np.tan(np.radians(fov) / 2) / size[0]
    forward = np.subtract(target, origin) / np.linalg.norm(np.subtract(target, origin))
    right = np.cross(forward, (0, 1, 0))
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    ray = forward + ((x + 0.5 - size[0] / 2) * reach)[..., None] * right - ((y + 0.5 - size[1] / 2) * reach)[..., None] * up
    last = view(frame - 1)
    far = project(ray * 1e6 + last[0], *last, fov, size) - np.stack([x + 0.5, y + 0.5], -1)
    return np.where(hit[..., None], before - now, far)


def render(folder, name, frames, size, spp):
    """Noisy frames and references, where they are missing; floors of the references in floor.json."""
    os.makedirs(folder, exist_ok=True)
    floors = {int(k): v for k, v in renders.read_json(f"{folder}/floor.json").items()}
    if all(k in floors for k in range(frames)):
        return
    renders.start_mitsuba()
    walk = WALKS[name]()
    for frame in (k for k in range(frames) if k not in floors):
        scene = load(walk, frame, size, "independent", True)
        a = renders.sample(scene, 1, 7000 + frame)
        position, depth = renders.pick(a, "position.", "XYZ"), renders.pick(a, "depth.", "T")
        layers = {"color": renders.pick(a, "", "RGB"), "albedo": renders.pick(a, "albedo.", "RGB")}
        layers |= {"normal": renders.pick(a, "normal.", "XYZ"), "depth": depth}
        layers["motion"] = motion(walk, frame, position, depth[..., 0] > 0, size)
        renders.write_exr(f"{folder}/noisy-{frame:03}.exr", layers)
        scene = load(walk, frame, size, "multijitter", False)
        halves = [renders.pick(renders.sample(scene, spp // 2, 9000 + 2 * frame + k), "", "RGB") for k in range(2)]
        mean = (halves[0] + halves[1]) / 2
        renders.write_exr(f"{folder}/reference-{frame:03}.exr", {"reference": mean})
        floors[frame] = renders.error(halves[0], mean)
        with open(f"{folder}/floor.json", "w") as file:
            json.dump(floors, file, indent=1)
        print(f"{name} {frame}: floor {floors[frame]:.4f}", flush=True)


# Judging


def fetch(image, at):
    """Bilinear values of an image at positions counted from the first pixel's centre."""
    h, w = image.shape[:2]
    x, y = at[..., 0].clip(0, w - 1), at[..., 1].clip(0, h - 1)
    left, top = x.astype(int), y.astype(int)
    right, bottom, fx, fy = (left + 1).clip(max=w - 1), (top + 1).clip(max=h - 1), x - left, y - top
    if image.ndim == 3:
        fx, fy = fx[..., None], fy[..., None]
    along = lambda row: image[row, left] * (1 - fx) + image[row, right] * fx
    return along(top) * (1 - fy) + along(bottom) * fy


def shown(image):
    image = np.maximum(np.nan_to_num(image), 0)
    return image / (1 + image)


class Judge:
    """References of a walk, and which points of a frame were seen in the one before."""

    def __init__(self, folder, frames):
        self.folder, self.frames = folder, range(frames)
        self.floors = {int(k): v for k, v in renders.read_json(f"{folder}/floor.json").items()}
        self.references = [renders.read_exr(f"{folder}/reference-{k:03}.exr") for k in self.frames]
        self.before, self.inside, self.same = [], [], []
        depths = [renders.read_exr(f"{folder}/noisy-{k:03}.exr", "depth.", "Z")[..., 0] for k in self.frames]
        h, w = depths[0].shape
        y, x = np.mgrid[:h, :w]
        for k in self.frames:
            at = np.stack([x, y], -1) + renders.read_exr(f"{folder}/noisy-{k:03}.exr", "motion.", "XY")
            inside = (at >= 0).all(-1) & (at[..., 0] <= w - 1) & (at[..., 1] <= h - 1)
            last = depths[max(k - 1, 0)]
            nearest = last[np.rint(at[..., 1]).astype(int).clip(0, h - 1), np.rint(at[..., 0]).astype(int).clip(0, w - 1)]
            self.before.append(at)
            self.inside.append(inside)
            self.same.append(inside & (np.abs(nearest - depths[k]) < 0.1 * np.maximum(depths[k], 1e-3) + 0.05))

    def score(self, pictures):
        """Error, error of all pixels, temporal error and flicker."""
        error, whole, temporal, flicker = [], [], [], []
        for k in self.frames[FIRST:]:
            whole.append(renders.error(pictures[k], self.references[k], 1))
            error.append(renders.error(pictures[k], self.references[k]) - self.floors[k])
            now, last = shown(pictures[k]), fetch(shown(pictures[k - 1]), self.before[k])
            still, stood = shown(self.references[k]), fetch(shown(self.references[k - 1]), self.before[k])
            temporal.append(np.abs((now - still) - (last - stood))[self.same[k]].mean())
            flicker.append((np.abs(now - last) - np.abs(still - stood))[self.inside[k]].mean())
        return [float(np.mean(v)) for v in (error, whole, temporal, flicker)]


def limpid(program, method, folder, made, frames):
    """The whole sequence by one call; method may carry options."""
    name, *options = method.split()
    os.makedirs(made, exist_ok=True)
    command = [program, "denoise", f"{folder}/noisy-%03d.exr", "-o", f"{made}/%03d.exr", "--method", name, *options]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return [renders.read_exr(f"{made}/{k:03}.exr") for k in range(frames)]


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", help="the program; without it only OIDN is judged")
    parser.add_argument(
        "--methods", default="svgf,neural", help='comma between methods, options after a space: "svgf --no-taa"'
    )
    parser.add_argument("--walks", default=",".join(WALKS))
    parser.add_argument("--frames", type=int, default=12)
    parser.add_argument("--size", default="320x180")
    parser.add_argument("--reference-spp", type=int, default=256)
    parser.add_argument("--cache", default="target/walks", help="renders are kept here; one folder for one size")
    parser.add_argument("--output", default="target/walks-results", help="results and sheets")
    parser.add_argument("--without-vectors", action="store_true", help="also `neural` on files without motion vectors")
    parser.add_argument("--render-only", action="store_true")
    return parser.parse_args()


def main():
    args = options()
    size = tuple(int(v) for v in args.size.split("x"))
    methods = [m.strip() for m in args.methods.split(",")] if args.limpid else []
    print(f"{'walk':10}{'method':28}{'error':>9}{'to OIDN':>9}{'all':>9}{'temporal':>10}{'flicker':>10}")
    for name in args.walks.split(","):
        folder = f"{args.cache}/{name}"
        render(folder, name, args.frames, size, args.reference_spp)
        if args.render_only:
            continue
        judge = Judge(folder, args.frames)
        files = [f"{folder}/noisy-{k:03}.exr" for k in range(args.frames)]
        results = {"noisy": [renders.read_exr(f) for f in files]}
        for peer, prefilter in (("OIDN", False), (BEST, True)):
            results[peer] = [renders.oidn_on(f, False, prefilter)[0] for f in files]
        for method in methods:
            made = f"{args.output}/{name}/{re.sub('[^a-z0-9.]+', '-', method)}"
            results[method] = limpid(args.limpid, method, folder, made, args.frames)
        if args.without_vectors and args.limpid:
            bare = f"{args.output}/{name}/without-vectors"
            renders.without_vectors(files, bare)
            results["neural, no vectors"] = limpid(args.limpid, "neural", bare, f"{bare}/out", args.frames)
        scores = {m: judge.score(p) for m, p in results.items()}
        for method, (error, whole, temporal, flicker) in scores.items():
            ratio = error / max(scores[BEST][0], 1e-6)
            print(f"{name:10}{method:28}{error:9.4f}{ratio:9.2f}{whole:9.4f}{temporal:10.4f}{flicker:10.4f}", flush=True)
        picked = [args.frames // 2, args.frames - 1]
        results["reference"] = judge.references
        os.makedirs(args.output, exist_ok=True)
        renders.sheet([(f"{name} {k}", [(m, p[k]) for m, p in results.items()]) for k in picked], f"{args.output}/{name}.png")


if __name__ == "__main__":
    main()
