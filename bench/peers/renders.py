#!/usr/bin/env python3
"""Limpid's methods on renders of Mitsuba beside Open Image Denoise, in one run.

    pip install numpy OpenEXR mitsuba pyoidn pillow
    python3 bench/peers/renders.py --limpid target/release/limpid --methods "neural,neural --quality best" --output target/renders

Renders the scenes of render_scenes.py, denoises them with OIDN (colour, albedo and normal, HDR) and with Limpid, prints a
table and writes a contact sheet. OIDN runs twice: with albedo and normal as they are, and at its best, with both filtered by
OIDN first ("Accurate" in Blender). Two runs in one: files with one buffer and clean layers only, as most renderers write
them, or with --halves two buffers of as many samples (`R,G,B` and `b.*`) and the variance, where OIDN gets the mean of both.

Error: trimmed relMSE, mean((x-r)^2/(r^2+0.01)) without the 0.1 % worst pixels, minus the floor: the same measure of the
reference's own noise, from its two independent halves. Ratios are to OIDN at its best on as many samples, and in the summary
also to OIDN with albedo and normal as they are. Renders are kept in --cache
and made once, references grow to --reference-spp; anchors.json there holds the errors of the input and of OIDN.
"""

import argparse
import ctypes.util
import functools
import glob
import itertools
import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import OpenEXR

PASS = 64  # samples per pixel of one call, so that memory stays bounded
FEATURES = "albedo:albedo,normal:sh_normal,position:position,depth:depth"


# Files


def write_exr(path, layers):
    """Half for what renderers write in half, float for depth, motion, variance and references."""
    channels = {}
    for name, image in layers.items():
        kind = np.float32 if name in ("depth", "motion", "variance", "reference") else np.float16
        image = np.clip(image, -65504, 65504).astype(kind)
        axes = {"depth": "Z", "normal": "XYZ", "position": "XYZ", "motion": "XY"}.get(name, "RGB")
        prefix = "" if name in ("color", "reference") else name + "."
        for k, axis in enumerate(axes):
            channels[prefix + axis] = np.ascontiguousarray(image[..., k])
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    OpenEXR.File(header, channels).write(path + ".part")
    os.replace(path + ".part", path)


def without_vectors(paths, folder):
    """Copies of files without their motion vectors, with the same names."""
    os.makedirs(folder, exist_ok=True)
    for path in paths:
        with OpenEXR.File(path, separate_channels=True) as file:
            parts = []
            for part in file.parts:
                kept = {n: c.pixels for n, c in part.channels.items() if not re.search(r"(^|\.)(motion|vector)\.\w+$", n, re.I)}
                header = {k: v for k, v in part.header.items() if k != "channels"}
                if kept:
                    parts.append(OpenEXR.Part(header, kept, part.name()))
            OpenEXR.File(parts).write(f"{folder}/{os.path.basename(path)}")


def read_exr(path, prefix="", axes="RGB"):
    with OpenEXR.File(path, separate_channels=True) as file:
        channels = file.channels()
        return np.stack([np.asarray(channels[prefix + a].pixels, np.float32) for a in axes], -1)


def read_json(path):
    """The content of a file, or nothing if there is none."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        return json.load(file)


# Rendering


def start_mitsuba():
    """LLVM where one that Dr.Jit can use (16 or newer) is found, else the scalar variant, which is slower."""
    found = [os.environ.get("DRJIT_LIBLLVM_PATH")]
    found += [
        p
        for n in range(24, 15, -1)
        for p in glob.glob(f"/usr/lib/*/libLLVM*{n}*") + glob.glob(f"/usr/lib/llvm-{n}/lib/libLLVM*.so")
    ]
    found += [p for p in [ctypes.util.find_library("LLVM")] if p and not p.endswith(("-14.so.1", "-15.so.1"))]
    path = next((p for p in found if p), None)
    if path:
        os.environ["DRJIT_LIBLLVM_PATH"] = path
    import mitsuba

    mitsuba.set_variant("llvm_ad_rgb" if path else "scalar_rgb")
    return mitsuba


@functools.lru_cache(maxsize=2)
def load(name, size, features):
    """A scene; with features its integrator also gives albedo, normal, position, depth and second moments."""
    mi = start_mitsuba()
    from render_scenes import SCENES

    parts = SCENES[name][1]()
    film = {"type": "hdrfilm", "width": size[0], "height": size[1], "pixel_format": "rgb", "component_format": "float32"}
    film |= {"rfilter": parts.pop("filter", {"type": "box"}), "sample_border": True}
    parts["sensor"] |= {"film": film, "sampler": {"type": "independent"}}
    integrator = parts.pop("integrator", {"type": "path", "max_depth": 12})
    if features:
        integrator = {"type": "moment", "m": {"type": "aov", "aovs": FEATURES, "color": integrator}}
    return mi.load_dict({"type": "scene", "integrator": integrator, **parts})


def sample(scene, spp, seed):
    """The mean of spp samples per pixel as a dictionary of planes."""
    import mitsuba as mi

    aovs = [n for n in scene.integrator().aov_names() if not n.startswith("color.")]  # those are R, G, B again
    names, total, done = ["R", "G", "B"] + aovs, 0, 0
    while done < spp:
        step = min(PASS, spp - done)
        image = np.array(mi.render(scene, spp=step, seed=seed * 100003 + done), np.float64)
        total, done = total + step * np.nan_to_num(image, posinf=0, neginf=0), done + step
    return dict(zip(names, np.moveaxis(total / spp, -1, 0)))


def pick(planes, prefix, axes):
    return np.stack([planes[prefix + a] for a in axes], -1)


def render(folder, name, counts, size):
    """Files of two buffers, `N.exr`, and of one, `single-N.exr`, where they are missing."""
    counts = [n for n in counts if not os.path.exists(f"{folder}/single-{n}.exr")]
    if not counts:
        return
    rich, plain = load(name, size, True), load(name, size, False)
    for n in counts:
        a, b = sample(rich, n, 2 * n), sample(plain, n, 2 * n + 1)
        color = pick(a, "", "RGB")
        layers = {"color": color, "albedo": pick(a, "m.albedo.", "RGB"), "normal": pick(a, "m.normal.", "XYZ")}
        layers["depth"] = pick(a, "m.depth.", "T")
        more = {"b": pick(b, "", "RGB"), "position": pick(a, "m.position.", "XYZ")}
        if n > 1:
            more["variance"] = np.maximum(pick(a, "m2_m.color.", "RGB") - color**2, 0) / (n - 1)
        write_exr(f"{folder}/{n}.exr", layers | more)
        write_exr(f"{folder}/single-{n}.exr", layers)


def grow_reference(folder, name, spp, size):
    """Two independent halves of at least spp / 2 samples each, in steps, and their mean."""
    state = f"{folder}/ref.json"
    have = read_json(state).get("half_samples", 0)
    if 2 * have >= spp:
        return
    scene, step = load(name, size, False), (spp + 1) // 2 - have
    halves = []
    for k, half in enumerate("ab"):
        path = f"{folder}/ref-{half}.exr"
        new = pick(sample(scene, step, 1001 + 2 * have + k), "", "RGB")
        halves.append((have * read_exr(path) + step * new) / (have + step) if have else new)
    for half, image in zip("ab", halves):
        write_exr(f"{folder}/ref-{half}.exr", {"reference": image})
    write_exr(f"{folder}/ref.exr", {"reference": (halves[0] + halves[1]) / 2})
    with open(state, "w") as file:
        json.dump({"half_samples": have + step}, file)


# Judging


def error(image, reference, kept=0.999):
    """The relMSE of the best 99.9 % of the pixels, or of another share."""
    each = np.sort(((image - reference) ** 2 / (reference**2 + 0.01)).mean(-1).ravel())
    return float(each[: int(each.size * kept)].mean())


def floor_of(folder):
    """Noise of the reference: half the difference of its halves has the noise of their mean."""
    a, b, mean = (read_exr(f"{folder}/ref{k}.exr") for k in ["-a", "-b", ""])
    return error(mean + (a - b) / 2, mean)


def filtered(kind, image):
    """Albedo or normal, filtered by Open Image Denoise alone."""
    import pyoidn

    made = np.zeros_like(image)
    with pyoidn.Device() as device:
        device.commit()
        with pyoidn.Filter(device, pyoidn.OIDN_FILTER_TYPE_RT) as one:
            one.set_image(kind, image, pyoidn.OIDN_FORMAT_FLOAT3)
            one.set_image(pyoidn.OIDN_IMAGE_OUTPUT, made, pyoidn.OIDN_FORMAT_FLOAT3)
            one.commit()
            one.execute()
        if device.get_error():
            raise SystemExit(f"Open Image Denoise: {device.get_error()}")
    return made


def oidn(color, albedo, normal, prefilter):
    """Open Image Denoise; at its best with filtered albedo and normal."""
    import pyoidn

    albedo = np.ascontiguousarray(albedo.clip(0, 1))
    if prefilter:
        albedo, normal = filtered("albedo", albedo), filtered("normal", normal)
    return pyoidn.denoise(np.maximum(color, 0), albedo, normal, hdr=True, clean_aux=prefilter)


def oidn_on(path, halves, prefilter):
    """The same on a file, with the seconds that it took."""
    color = read_exr(path)
    if halves:
        color = (color + read_exr(path, "b.")) / 2
    start = time.perf_counter()
    picture = oidn(color, read_exr(path, "albedo."), read_exr(path, "normal.", "XYZ"), prefilter)
    return picture, time.perf_counter() - start


def limpid(program, method, path, output):
    """The picture and the wall time of the program, reading and writing included; method may carry options."""
    name, *options = method.split()
    command = [program, "denoise", path, "-o", output, "--method", name, *options]
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return read_exr(output), time.perf_counter() - start


def anchor(halves, prefilter):
    return "oidn" + "_prefiltered" * prefilter + "_twice_the_samples" * halves


def update_anchors(cache, jobs):
    """Errors of the input and of OIDN for each file, in the form of a score file; made again where the reference grew."""
    path = f"{cache}/anchors.json"
    anchors = read_json(path)
    for name, n in jobs:
        folder = f"{cache}/{name}"
        floor, reference = floor_of(folder), read_exr(f"{folder}/ref.exr")
        known = anchors.get(f"{name}/{n}", {})
        if known.get("floor") == floor and "oidn_prefiltered" in known:
            continue
        file = f"{folder}/{n}.exr"
        found = {"floor": floor, "noisy": error(read_exr(file), reference)}
        for halves, prefilter in itertools.product((False, True), repeat=2):
            key = anchor(halves, prefilter)
            picture, found[key + "_seconds"] = oidn_on(file, halves, prefilter)
            found[key] = error(picture, reference)
        anchors[f"{name}/{n}"] = found
    with open(path + ".part", "w") as file:
        json.dump(anchors, file, indent=1, sort_keys=True)
    os.replace(path + ".part", path)
    return anchors


# Pictures


def tone(image):
    """Exposure is the caller's; a shoulder above 0.8, then sRGB's gamma roughly."""
    image = np.maximum(np.nan_to_num(image), 0)
    image = np.where(image > 0.8, 0.8 + 0.2 * np.tanh((image - 0.8) * 1.5), image)
    return (255 * image ** (1 / 2.2) + 0.5).clip(0, 255).astype(np.uint8)


def busiest(reference, side):
    """Corner of the crop with the most structure in the logarithm."""
    log = np.log(reference.mean(-1) + 0.01)
    edge = np.abs(np.diff(log, axis=0))[:, :-1] + np.abs(np.diff(log, axis=1))[:-1]
    total = np.pad(np.minimum(edge, 0.3), ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    sums = total[side:, side:] - total[:-side, side:] - total[side:, :-side] + total[:-side, :-side]
    coarse = sums[::8, ::8]
    top, left = np.unravel_index(coarse.argmax(), coarse.shape)
    return int(8 * top), int(8 * left)


def sheet(rows, path):
    """One row per file: (label, [(title, picture), …]) with the reference last; a crop, magnified, below each picture."""
    from PIL import Image, ImageDraw

    height, width = rows[0][1][0][1].shape[:2]
    side = min(width, height) // 4
    zoom = width // side
    cell = (width + 6, height + side * zoom + 26)
    page = Image.new("RGB", (cell[0] * max(len(r[1]) for r in rows), cell[1] * len(rows)), (30, 30, 30))
    draw = ImageDraw.Draw(page)
    for y, (label, pictures) in enumerate(rows):
        reference = pictures[-1][1]
        exposure = 0.6 / max(np.percentile(reference.mean(-1), 80), 1e-3)
        top, left = busiest(reference, side)
        for x, (title, picture) in enumerate(pictures):
            image = Image.fromarray(tone(picture * exposure))
            crop = image.crop((left, top, left + side, top + side)).resize((side * zoom, side * zoom), Image.Resampling.NEAREST)
            at = (x * cell[0], y * cell[1] + 18)
            draw.text((at[0] + 4, at[1] - 15), f"{label}  {title}", fill=(230, 230, 230))
            page.paste(image, at)
            page.paste(crop, (at[0], at[1] + height + 2))
            draw.rectangle([at[0] + left, at[1] + top, at[0] + left + side, at[1] + top + side], outline=(255, 220, 0))
    page.save(path)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", help="the program; without it only renders and anchors are made")
    parser.add_argument(
        "--methods", default="neural,nfor,atrous,rdfc", help='comma between methods, options after a space: "rdfc --quality fast"'
    )
    parser.add_argument("--scenes", default="report", help="tune, report, all, or names with commas")
    parser.add_argument("--spp", default="4,16", help="samples of each buffer, with commas")
    parser.add_argument("--size", default="320x240")
    parser.add_argument("--halves", action="store_true", help="two buffers and the variance in one file")
    parser.add_argument("--reference-spp", type=int, default=512)
    parser.add_argument("--cache", default="target/renders-cache", help="renders are kept here; one folder for one size")
    parser.add_argument("--output", default="target/renders", help="results, table and contact sheet")
    parser.add_argument("--render-only", action="store_true")
    return parser.parse_args()


def chosen(names):
    start_mitsuba()
    from render_scenes import SCENES

    if names in ("tune", "report", "all"):
        return [n for n, (group, _) in SCENES.items() if names in (group, "all")]
    unknown = [n for n in names.split(",") if n not in SCENES]
    if unknown:
        raise SystemExit(f"no scene {', '.join(unknown)}; there are {', '.join(SCENES)}")
    return names.split(",")


def wide_filter(name):
    """OIDN keeps nearly all noise that neighbours share, so ratios on these scenes have a mean of their own."""
    from render_scenes import SCENES

    return "filter" in SCENES[name][1]()


def table(args, names, counts, anchors):
    methods = [m.strip() for m in args.methods.split(",")] if args.limpid else []
    plain, best = anchor(args.halves, False), anchor(args.halves, True)
    lines, rows, ratios, seconds = [], [], {}, {}
    wide = {name: wide_filter(name) for name in names}

    def say(line):
        lines.append(line)
        print(line, flush=True)

    say(f"{'two buffers' if args.halves else 'one buffer'}; error × 1000 over the floor, ratio to OIDN at its best, seconds")
    say(f"{'render':16}{'floor':>7}{'noisy':>9}{'oidn':>8}{'best':>8}" + "".join(f"{m:>24}" for m in methods))
    for n in counts:
        for name in names:
            a, folder = anchors[f"{name}/{n}"], f"{args.cache}/{name}"
            reference = read_exr(f"{folder}/ref.exr")
            path = f"{folder}/{n}.exr" if args.halves else f"{folder}/single-{n}.exr"
            noisy = (read_exr(path) + read_exr(path, "b.")) / 2 if args.halves else read_exr(path)
            peers = {key: max(a[key] - a["floor"], 1e-6) for key in (plain, best)}
            pictures, cells = [("noisy", noisy)], ""
            for method in methods:
                made = f"{args.output}/{method.replace(' ', '')}/{name}"
                os.makedirs(made, exist_ok=True)
                picture, wall = limpid(args.limpid, method, path, f"{made}/{n}.exr")
                e = max(error(picture, reference) - a["floor"], 1e-6)
                for key, peer in peers.items():
                    ratios.setdefault((key, wide[name], n, method), []).append(e / peer)
                seconds.setdefault(method, []).append(wall)
                ratio = e / peers[best]
                pictures.append((f"{method} {ratio:.2f}", picture))
                cells += f"{e * 1e3:10.2f} {ratio:6.2f} {wall:5.1f}s"
            say(
                f"{name + '/' + str(n):16}{a['floor'] * 1e3:7.2f}{(error(noisy, reference) - a['floor']) * 1e3:9.1f}{peers[plain] * 1e3:8.2f}{peers[best] * 1e3:8.2f}{cells}"
            )
            for key in peers:
                seconds.setdefault(key, []).append(a[key + "_seconds"])
            rows.append((f"{name}/{n}", pictures + [("OIDN", oidn_on(path, args.halves, True)[0]), ("reference", reference)]))
    for key, kind, n in itertools.product((best, plain), (False, True), counts):
        means = [f"{m} {np.exp(np.mean(np.log(ratios[key, kind, n, m]))):.2f}" for m in methods if (key, kind, n, m) in ratios]
        if means:
            filters = "Gaussian pixel filter" if kind else "box pixel filter"
            say(f"{n} samples, {filters}, geometric mean of the ratios to {key}: " + ", ".join(means))
    say("mean seconds: " + ", ".join(f"{m} {np.mean(v):.2f}" for m, v in seconds.items()))
    kind = "halves" if args.halves else "single"
    sheet(rows, f"{args.output}/sheet-{kind}.png")
    with open(f"{args.output}/table-{kind}.txt", "w") as file:
        file.write("\n".join(lines) + "\n")


def main():
    args = options()
    size, counts = tuple(map(int, args.size.split("x"))), [int(n) for n in args.spp.split(",")]
    names = chosen(args.scenes)
    for name in names:
        folder, start = f"{args.cache}/{name}", time.perf_counter()
        os.makedirs(folder, exist_ok=True)
        render(folder, name, counts, size)
        grow_reference(folder, name, args.reference_spp, size)
        if (took := time.perf_counter() - start) > 0.5:
            print(f"{name}: rendered in {took:.0f} s", file=sys.stderr, flush=True)
    anchors = update_anchors(args.cache, [(name, n) for name in names for n in counts])
    if not args.render_only:
        os.makedirs(args.output, exist_ok=True)
        table(args, names, counts, anchors)


if __name__ == "__main__":
    main()
