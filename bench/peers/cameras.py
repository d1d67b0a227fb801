#!/usr/bin/env python3
"""Photographs as cameras make them: simulated raw noise, developed, denoised by Limpid, OpenCV, BM3D and MAXIM (see maxim.py).

    pip install numpy scikit-image opencv-python-headless bm3d colour-demosaicing
    python3 bench/peers/cameras.py --limpid target/release/limpid [--pictures report] [--seeds 0 1] [--peers opencv] [--write folder]
                                   [--side 256] [--keep peers.json]

A picture of scikit-image is taken back to the sensor: sRGB undone, colour matrix and white balance undone, one colour for
each pixel (Bayer RGGB), Poisson noise of the electrons and Gaussian read noise, 12 bits with an offset. Then it is
developed as cameras do: demosaic, white balance, colour matrix, sRGB curve and some contrast, perhaps sharpened or made smaller, JPEG. The
reference is the same picture developed without noise and without JPEG.

Each row is one picture; means follow. OpenCV's NL-means and BM3D get the best of five settings for each picture, by the
reference; so does Limpid's `--sigma`, in the columns that end with a star. Limpid without a star knows nothing but the file.
The cameras white15, white25 and so on only add white noise, without JPEG; BM3D gets two more settings there.
BM3D takes about a minute for 512x512 pixels and setting: `--side` takes smaller parts of the pictures, and `--keep` stores the peers'
scores, which later runs with the same pictures use.
"""

import argparse
import json
import os
import subprocess
import tempfile

import numpy as np

# Settings were chosen with the first pictures; the second tell how good they are.
PICTURES = {
    "tune": ["astronaut", "rocket", "stereo_motorcycle", "colorwheel"],
    "report": ["chelsea", "coffee", "immunohistochemistry", "retina", "hubble_deep_field"],
}

# ISO, demosaic, sharpening, scale, JPEG quality, chroma subsampling.
CAMERAS = {
    "800": (800, "menon", 0.0, 1.0, 95, "444"),
    "3200": (3200, "malvar", 0.0, 1.0, 90, "420"),
    "3200s": (3200, "edges", 0.6, 1.0, 80, "420"),
    "6400h": (6400, "malvar", 0.0, 0.5, 90, "420"),
    "12800": (12800, "malvar", 0.0, 1.0, 90, "420"),
    "12800m": (12800, "menon", 0.0, 1.0, 92, "422"),
}

FULL_WELL = 16000.0  # electrons at white at ISO 100
READ = 2.5  # electrons
CONTRAST = 0.4
BALANCE = np.array([2.0, 1.0, 1.6])
# From the sensor's colours, after white balance, to linear sRGB; rows sum to 1.
MATRIX = np.array([[1.55, -0.45, -0.10], [-0.20, 1.40, -0.20], [0.02, -0.42, 1.40]])


def picture(name, side=512):
    """A picture on 0 … 1; its middle when it is larger than side."""
    from skimage import data

    image = getattr(data, name)()
    image = (image[0] if isinstance(image, tuple) else image)[..., :3] / 255.0
    y, x = (max(0, (n - side) // 2) for n in image.shape[:2])
    image = image[y : y + side, x : x + side]
    return image[: image.shape[0] // 2 * 2, : image.shape[1] // 2 * 2]


def linear(v):
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def encoded(v):
    """The sRGB curve, and some of the contrast that cameras add to it."""
    v = np.clip(v, 0, 1)
    v = np.where(v <= 0.0031308, v * 12.92, 1.055 * v ** (1 / 2.4) - 0.055)
    return v + CONTRAST * (v * v * (3 - 2 * v) - v)


def demosaic(raw, how):
    """One colour per pixel (RGGB) to three, 0 … 1."""
    if how == "edges":
        import cv2

        sixteen = np.clip(raw * 60000 + 2000, 0, 65535).astype(np.uint16)
        return (cv2.demosaicing(sixteen, cv2.COLOR_BayerRGGB2RGB_EA).astype(float) - 2000) / 60000
    import colour_demosaicing as peer

    work = peer.demosaicing_CFA_Bayer_Menon2007 if how == "menon" else peer.demosaicing_CFA_Bayer_Malvar2004
    return work(raw, "RGGB")


def sensor(image):
    """What a sensor sees of a picture: one colour per pixel, 1 where its well is full."""
    seen = np.clip(linear(image) @ np.linalg.inv(MATRIX).T, 0, None) / BALANCE
    raw = seen[..., 1].copy()
    raw[0::2, 0::2] = seen[0::2, 0::2, 0]
    raw[1::2, 1::2] = seen[1::2, 1::2, 2]
    return raw


def expose(raw, iso, rng):
    """Noise, and 12 bits with an offset of 256."""
    white = FULL_WELL * 100 / iso
    electrons = rng.poisson(raw * white) + rng.normal(0, READ, raw.shape)
    digits = np.clip(np.round(electrons / white * 3800 + 256), 0, 4095)
    return (digits - 256) / 3800


def develop(raw, how, sharpen, scale):
    import cv2

    image = demosaic(raw, how) * BALANCE
    image = encoded(np.minimum(image, 1.0) @ MATRIX.T)
    if sharpen:
        image = np.clip(image + sharpen * (image - cv2.GaussianBlur(image, (0, 0), 1.2)), 0, 1)
    if scale != 1.0:
        size = (round(image.shape[1] * scale), round(image.shape[0] * scale))
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return image


def jpeg(image, quality, chroma):
    """The bytes of a file."""
    import cv2

    factors = {"444": cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444, "422": cv2.IMWRITE_JPEG_SAMPLING_FACTOR_422,
               "420": cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420}[chroma]
    eight = (image[..., ::-1] * 255 + 0.5).astype(np.uint8)
    return cv2.imencode(".jpg", eight, [cv2.IMWRITE_JPEG_QUALITY, quality, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, factors])[1].tobytes()


def shoot(name, camera, seed, side=512):
    """The JPEG that a camera writes, or a PNG file with white noise, and the picture without noise."""
    if camera.startswith("white"):
        import cv2

        clean = picture(name, side)
        noisy = clean + int(camera[5:]) / 255 * np.random.default_rng([seed, len(name)]).standard_normal(clean.shape)
        eight = (np.clip(noisy, 0, 1)[..., ::-1] * 255 + 0.5).astype(np.uint8)
        return cv2.imencode(".png", eight)[1].tobytes(), clean
    iso, how, sharpen, scale, quality, chroma = CAMERAS[camera]
    raw = sensor(picture(name, side))
    rng = np.random.default_rng([seed, iso, len(name)])
    noisy = develop(expose(raw, iso, rng), how, sharpen, scale)
    return jpeg(noisy, quality, chroma), develop(raw, how, sharpen, scale)


def eight_bits(bytes_):
    import cv2

    return cv2.imdecode(np.frombuffer(bytes_, np.uint8), cv2.IMREAD_COLOR)[..., ::-1]


def opencv(h):
    def run(bytes_):
        import cv2

        image = np.ascontiguousarray(eight_bits(bytes_)[..., ::-1])
        return cv2.fastNlMeansDenoisingColored(image, None, h, h, 7, 21)[..., ::-1] / 255.0

    return run


def bm3d(sigma):
    def run(bytes_):
        import bm3d as peer

        return peer.bm3d_rgb(eight_bits(bytes_) / 255.0, sigma / 255)

    return run


def learned(bytes_):
    import maxim

    return maxim.denoise(eight_bits(bytes_) / 255.0)


def limpid(program, options):
    def run(bytes_):
        import cv2

        with tempfile.TemporaryDirectory() as folder:
            before, after = os.path.join(folder, "a.jpg" if bytes_[:2] == b"\xff\xd8" else "a.png"), os.path.join(folder, "b.png")
            with open(before, "wb") as file:
                file.write(bytes_)
            command = [program, "denoise", before, "-o", after, "--device", "cpu", "--quiet", *options]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            image = cv2.imread(after, cv2.IMREAD_UNCHANGED)[..., ::-1]
            return image / (65535.0 if image.dtype == np.uint16 else 255.0)

    return run


def psnr(a, b):
    return -10 * np.log10(np.mean((a - b) ** 2))


def candidates(args):
    """Names of columns, each with the settings that are tried."""
    found = {}
    for method in args.methods:
        words = method.split()
        name = method.removeprefix("--").replace("quality ", "")
        found[name or "default"] = [limpid(args.limpid, words)]
    for method in args.fixed:
        sigmas = [f"{s}/255" for s in args.sigmas]
        found[method.removeprefix("--method ") + "*"] = [limpid(args.limpid, [*method.split(), "--sigma", s]) for s in sigmas]
    sigmas = (5, 8, 12, 18, 26, 37, 50) if any(c.startswith("white") for c in args.cameras) else (5, 8, 12, 18, 26)
    peers = {"opencv": [opencv(h) for h in (3, 5, 8, 12, 18)], "bm3d": [bm3d(s) for s in sigmas], "maxim": [learned]}
    found.update({f"{name}*": peers[name] for name in args.peers})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", default="limpid")
    parser.add_argument("--pictures", nargs="+", default=["report"], help="tune, report or names")
    parser.add_argument("--cameras", nargs="+", default=list(CAMERAS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--methods", nargs="*", default=["--quality fast", "--quality good", "--quality best", "--method shrink"])
    parser.add_argument("--fixed", nargs="*", default=["--method eaw", "--method nlm", "--method ddid --quality fast"])
    parser.add_argument("--sigmas", type=float, nargs="+", default=[5, 8, 12, 18, 26])
    parser.add_argument("--peers", nargs="*", default=["opencv", "bm3d"])
    parser.add_argument("--side", type=int, default=512, help="largest width and height of the pictures")
    parser.add_argument("--keep", help="file for the scores of the peers, which are not computed again")
    parser.add_argument("--write", help="folder for all pictures")
    args = parser.parse_args()
    names = [n for p in args.pictures for n in PICTURES.get(p, [p])]
    methods = candidates(args)
    rows = {}
    kept = {}
    if args.keep and os.path.exists(args.keep):
        with open(args.keep) as file:
            kept = json.load(file)
    print("picture camera seed".ljust(38), "noisy", *(m.rjust(12) for m in methods))
    for camera in args.cameras:
        for name in names:
            for seed in args.seeds:
                bytes_, clean = shoot(name, camera, seed, args.side)
                noisy = eight_bits(bytes_) / 255.0
                row = [psnr(noisy, clean)]
                outs = {"noisy": noisy, "clean": clean}
                for method, settings in methods.items():
                    key = f"{name} {camera} {seed} {args.side} {method}"
                    if key in kept:
                        row.append(kept[key])
                        continue
                    all_ = [run(bytes_) for run in settings]
                    scores = [psnr(out, clean) for out in all_]
                    row.append(max(scores))
                    outs[method] = all_[int(np.argmax(scores))]
                    if args.keep and method.strip("*") in args.peers:
                        kept[key] = max(scores)
                        with open(args.keep, "w") as file:
                            json.dump(kept, file)
                rows.setdefault(camera, []).append(row)
                print(f"{name} {camera} {seed}".ljust(38), f"{row[0]:5.2f}", *(f"{v:12.2f}" for v in row[1:]), flush=True)
                if args.write:
                    save(args.write, f"{name}-{camera}-{seed}", outs, bytes_)
    for camera, found in rows.items():
        mean = np.mean(found, axis=0)
        print(f"mean {camera}".ljust(38), f"{mean[0]:5.2f}", *(f"{v:12.2f}" for v in mean[1:]))
    mean = np.mean([r for found in rows.values() for r in found], axis=0)
    print("mean".ljust(38), f"{mean[0]:5.2f}", *(f"{v:12.2f}" for v in mean[1:]))


def save(folder, name, outs, bytes_):
    import cv2

    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".jpg"), "wb") as file:
        file.write(bytes_)
    for method, image in outs.items():
        path = os.path.join(folder, f"{name} {method.strip('*')}.png".replace("--", ""))
        cv2.imwrite(path, (np.clip(image, 0, 1)[..., ::-1] * 255 + 0.5).astype(np.uint8))


if __name__ == "__main__":
    main()
