#!/usr/bin/env python3
"""Raw files: simulated sensors as DNG, denoised by Limpid as DNG, and developed by LibRaw before and after.

    pip install numpy scikit-image rawpy opencv-python-headless
    python3 bench/peers/raw.py --limpid target/release/limpid [--pictures report] [--isos 800 6400] [--xtrans]
    python3 bench/peers/raw.py --limpid target/release/limpid --check [FILE ...]

Pictures of scikit-image are taken back to the sensor as in `cameras.py`, written as 16-bit DNG files with noise and without, and
developed by LibRaw (through rawpy) with the white balance of the camera. PSNR is against the developed file without noise:

    noisy        the developed noisy file
    developed    the same, denoised by Limpid after it was developed, as 16-bit PNG
    raw          denoised by Limpid as DNG, then developed

`--check` compares what LibRaw finds in files before and after, in DNG files as in those of cameras (CR2, NEF, ...): mosaic, pattern, levels
(which may be finer by a power of two), white balance, matrix, size, orientation, and the developed colours of the file that `--strength 0`
writes, which must be the same pixel by pixel. Without files, two made ones are checked.
"""

import argparse
import os
import struct
import subprocess
import tempfile

import numpy as np

from cameras import BALANCE, MATRIX, PICTURES, READ, FULL_WELL, linear, picture

BLACK, WHITE = 256, 4056
TO_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])
PATTERN = np.array([[0, 1], [1, 2]])
XTRANS = np.array([["RGB".index(c) for c in row] for row in ("GBGGRG", "RGRBGB", "GBGGRG", "GRGGBG", "BGBRGR", "GRGGBG")])


def mosaic(image):
    """What a sensor sees of a picture, 1 where its well is full."""
    seen = np.clip(linear(image) @ np.linalg.inv(MATRIX).T, 0, None) / BALANCE
    h, w = seen.shape[:2]
    rows, columns = PATTERN.shape
    which = np.tile(PATTERN, (-(-h // rows), -(-w // columns)))[:h, :w]
    return np.take_along_axis(seen, which[..., None], 2)[..., 0]


def digits(raw, iso=None, rng=None):
    """The values of a file."""
    if iso:
        white = FULL_WELL * 100 / iso
        raw = (rng.poisson(raw * white) + rng.normal(0, READ, raw.shape)) / white
    return np.clip(np.round(raw * (WHITE - BLACK) + BLACK), 0, 4095).astype(np.uint16)


def dng(values, orientation=1):
    """The bytes of a file: one directory, one strip."""
    h, w = values.shape
    matrix = (np.diag(1 / BALANCE) @ np.linalg.inv(MATRIX) @ np.linalg.inv(TO_XYZ)).ravel()
    neutral = (1 / BALANCE) / (1 / BALANCE).max()
    rational = lambda v: b"".join(struct.pack("<ii", round(x * 1e6), 10**6) for x in v)
    shorts, longs = (lambda *v: struct.pack(f"<{len(v)}H", *v)), (lambda *v: struct.pack(f"<{len(v)}I", *v))
    name = b"Limpid simulated\0"
    entries = [
        (254, 4, longs(0)), (256, 4, longs(w)), (257, 4, longs(h)), (258, 3, shorts(16)), (259, 3, shorts(1)), (262, 3, shorts(32803)),
        (271, 2, b"Limpid\0"), (272, 2, b"simulated\0"), (273, 4, longs(8)), (274, 3, shorts(orientation)), (277, 3, shorts(1)),
        (278, 4, longs(h)), (279, 4, longs(2 * h * w)), (284, 3, shorts(1)), (33421, 3, shorts(*PATTERN.shape)),
        (33422, 1, bytes(int(c) for c in PATTERN.ravel())), (50706, 1, bytes([1, 4, 0, 0])), (50708, 2, name), (50714, 3, shorts(BLACK)),
        (50717, 4, longs(WHITE)), (50721, 10, rational(matrix)), (50728, 5, rational(neutral)), (50778, 3, shorts(21)),
    ]
    sizes = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 10: 8}
    data, out = values.astype("<u2").tobytes(), b""
    start = 8 + len(data)
    listed = struct.pack("<H", len(entries))
    for tag, kind, value in entries:
        place = value.ljust(4, b"\0")
        if len(value) > 4:
            place = longs(start + len(out))
            out += value + b"\0" * (len(value) % 2)
        listed += struct.pack("<HHI", tag, kind, len(value) // sizes[kind]) + place
    return b"II*\0" + longs(start + len(out)) + data + out + listed + b"\0" * 4


def developed(path):
    """Sixteen bits, as LibRaw develops a file."""
    import rawpy

    with rawpy.imread(path) as raw:
        return raw.postprocess(use_camera_wb=True, no_auto_bright=True, output_bps=16, gamma=(2.4, 12.92), adjust_maximum_thr=0)


def psnr(a, b):
    return 10 * np.log10(65535.0**2 / np.mean((a.astype(float) - b) ** 2))


def run(program, before, after, options):
    subprocess.run([program, "denoise", before, "-o", after, "--device", "cpu", "--quiet", *options], check=True)


def compare(args):
    import cv2

    print("ISO    picture".ljust(34), "noisy  developed        raw")
    means = {}
    for iso in args.isos:
        for name in PICTURES[args.pictures]:
            image = picture(name, args.side)
            if args.xtrans:  # LibRaw does not demosaic smaller ones.
                image = np.pad(image, [(0, max(0, 528 - n)) for n in image.shape[:2]] + [(0, 0)], mode="reflect")
            clean = mosaic(image)
            rng = np.random.default_rng([args.seed, iso, len(name)])
            with tempfile.TemporaryDirectory() as folder:
                path = lambda n: os.path.join(folder, n)
                for file, values in (("clean.dng", digits(clean)), ("noisy.dng", digits(clean, iso, rng))):
                    with open(path(file), "wb") as out:
                        out.write(dng(values))
                reference, noisy = developed(path("clean.dng")), developed(path("noisy.dng"))
                cv2.imwrite(path("noisy.png"), noisy[..., ::-1])
                run(args.limpid, path("noisy.png"), path("after.png"), args.options.split())
                after = cv2.imread(path("after.png"), cv2.IMREAD_UNCHANGED)[..., ::-1]
                run(args.limpid, path("noisy.dng"), path("raw.dng"), args.options.split())
                row = [psnr(made, reference) for made in (noisy, after, developed(path("raw.dng")))]
            means.setdefault(iso, []).append(row)
            print(f"{iso:<6} {name}".ljust(34), *(f"{v:5.2f}" + " " * 5 for v in row), flush=True)
    for iso, rows in means.items():
        print(f"{iso:<6} mean".ljust(34), *(f"{v:5.2f}" + " " * 5 for v in np.mean(rows, 0)))


def facts(raw):
    """What LibRaw finds in a file: white balance relative to green, or none if LibRaw finds none that is possible."""
    white = np.array(raw.camera_whitebalance[:3]) / (raw.camera_whitebalance[1] or 1)
    return {
        "pattern": raw.raw_pattern.tolist() if raw.raw_pattern is not None else None,
        "black": np.array(raw.black_level_per_channel),
        "white": raw.white_level,
        "white balance": np.round(white, 3).tolist() if (white > 0).all() else None,
        "matrix": np.round(raw.rgb_xyz_matrix[:3], 3).tolist(),
        "sizes": [getattr(raw.sizes, n) for n in ("raw_width", "raw_height", "width", "height", "left_margin", "top_margin", "flip")],
    }


def differences(a, b, scale):
    """The names of facts that differ. Levels may be finer by a power of two; LibRaw rounds those of each channel."""
    names = [n for n in ("pattern", "white balance", "matrix", "sizes") if a[n] != b[n] and a[n] is not None]
    names += ["white"] * (abs(a["white"] * scale - b["white"]) > scale)
    return names + ["black"] * bool((abs(a["black"] * scale - b["black"]) > scale).any())


def check(args):
    import rawpy

    with tempfile.TemporaryDirectory() as folder:
        files = list(args.files)
        if not files:
            for orientation in (1, 6):
                files.append(os.path.join(folder, f"turned{orientation}.dng"))
                values = digits(mosaic(picture("astronaut", 370)), 3200, np.random.default_rng(0))
                with open(files[-1], "wb") as out:
                    out.write(dng(values, orientation))
        bad = 0
        for file in files:
            name = os.path.basename(file)
            same, clean = os.path.join(folder, "same.dng"), os.path.join(folder, "clean.dng")
            done = subprocess.run([args.limpid, "denoise", file, "-o", same, "--device", "cpu", "--quiet", "--strength", "0"], stderr=subprocess.PIPE, text=True)
            if done.returncode:
                print(f"{name}: not read: {done.stderr.strip()}")
                continue
            run(args.limpid, file, clean, args.options.split())
            with rawpy.imread(same) as made, rawpy.imread(clean) as after:
                made_facts = facts(made)
                scale = after.white_level / made_facts["white"]
                assert scale in 2.0 ** np.arange(9), scale
                wrong = differences(made_facts, facts(after), scale)
            try:
                with rawpy.imread(file) as raw:
                    wrong += differences(facts(raw), made_facts, 1)
                    with rawpy.imread(same) as made:
                        values = lambda r: r.raw_image if r.raw_type == rawpy.RawType.Flat else None
                        mosaics = values(raw), values(made)
                        if mosaics[0] is not None and not np.array_equal(*mosaics):
                            wrong.append("mosaic")
                before, unchanged = developed(file), developed(same)
                # LibRaw's demosaicing decides by comparisons: white balance rounded elsewhere changes single pixels.
                if before.shape != unchanged.shape or np.mean(before != unchanged) > 0.02 or np.abs(before / 1.0 - unchanged).mean() > 6:
                    wrong.append("developed pixels")
                by = "LibRaw's reading of it"
            except rawpy.LibRawError as error:
                print(f"{name}: LibRaw does not read it ({error}); the two results are compared")
                before, by = developed(same), "the unchanged copy"
            after = developed(clean)
            off = np.abs(before.mean((0, 1)) - after.mean((0, 1))) / np.maximum(before.mean((0, 1)), 1)
            print(f"{name}: {', '.join(sorted(set(wrong))) + ' differ' if wrong else 'the same facts and pixels'} against {by}; denoised, mean colours change by {100 * off.max():.2f} %", flush=True)
            bad += bool(wrong) or off.max() > 0.02
        assert not bad, f"{bad} files differ"


def main():
    global PATTERN
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", default="limpid")
    parser.add_argument("--pictures", choices=PICTURES, default="report")
    parser.add_argument("--isos", type=int, nargs="*", default=[800, 3200, 6400, 12800])
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", default="", help="options of limpid denoise, in one text")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--xtrans", action="store_true", help="sensors of that pattern")
    args = parser.parse_args()
    PATTERN = XTRANS if args.xtrans else PATTERN
    check(args) if args.check else compare(args)


if __name__ == "__main__":
    main()
