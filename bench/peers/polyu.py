#!/usr/bin/env python3
"""Real cameras, textures and pictures that must not suffer: PSNR of Limpid's defaults and of OpenCV's NL-means.

    pip install numpy scikit-image opencv-python-headless
    git clone --depth 1 https://github.com/csjunxu/PolyU-Real-World-Noisy-Images-Dataset polyu
    git clone --depth 1 https://github.com/csjunxu/MCWNNM-ICCV2017 nam
    python3 bench/peers/polyu.py --limpid target/release/limpid --set cameras --data nam
    python3 bench/peers/polyu.py --limpid target/release/limpid --set polyu --data polyu
    python3 bench/peers/polyu.py --limpid target/release/limpid --set texture
    python3 bench/peers/polyu.py --limpid target/release/limpid --set plain

`cameras`: 15 pairs of three cameras, ISO 1600 to 6400, PNG (Nam et al. 2016). `polyu`: JPEG pairs of five cameras (Xu et al.
2018), 512x512 pixels; constants were fitted on every second scene (`--half tune`), the others are reported. The reference is
the mean of many shots. `texture`: gravel, grass and brick of scikit-image, grey and with three equal channels, clean and with
white noise. `plain`: drawings, text, stars, screens and clean photographs; the reference is the file itself, unless noise was
added.

OpenCV gets the best of five settings for each picture, by the reference. `--strengths` also tries Limpid with more and less.
`--estimate` prints the measured noise over the true one, and in how many pictures it is within 20 %. Directories may be bare
repositories.
"""

import argparse
import glob
import json
import os
import subprocess
import tempfile

import cv2
import numpy as np

TEXTURES = ["gravel", "grass", "brick"]


def psnr(a, b):
    return 10 * np.log10(255.0**2 / max(np.mean((a.astype(float) - b) ** 2), 1e-4))


def decoded(bytes_):
    """Pixels of a file, as OpenCV has them: blue first; one channel if the file has one."""
    image = cv2.imdecode(np.frombuffer(bytes_, np.uint8), cv2.IMREAD_UNCHANGED)
    return image[..., None] if image.ndim == 2 else image


def files(data, ending):
    """Names and contents of files of a directory or a bare repository."""
    found = sorted(glob.glob(os.path.join(data, "**", "*" + ending), recursive=True))
    if found:
        return {f: open(f, "rb").read() for f in found}
    git = ["git", "-C", data]
    names = subprocess.run([*git, "ls-tree", "-r", "--name-only", "HEAD"], check=True, capture_output=True, text=True).stdout
    return {n: subprocess.run([*git, "show", "HEAD:" + n], check=True, capture_output=True).stdout
            for n in names.splitlines() if n.endswith(ending)}


def pairs(data, kind):
    """(name, file, reference) for each pair."""
    noisy, clean = files(data, f"_real.{kind}"), files(data, f"_mean.{kind}")
    for name, bytes_ in noisy.items():
        yield os.path.basename(name).replace("_real", ""), bytes_, decoded(clean[name.replace("_real", "_mean")])


def polyu(args):
    """Every second scene, in alphabetical order, is for fitting."""
    all_ = [p for p in pairs(args.data, "JPG")]
    scene = lambda p: p[0].rsplit("_", 1)[0]
    scenes = sorted({scene(p) for p in all_})
    odd = {"tune": 0, "report": 1}.get(args.half)
    kept = [p for p in all_ if odd is None or scenes.index(scene(p)) % 2 == odd]
    return kept[:: args.every]


def png(image):
    return cv2.imencode(".png", image)[1].tobytes()


def noisy(clean, sigma, seed):
    noise = np.random.default_rng(seed).normal(0, sigma, clean.shape) if sigma else 0.0
    return np.clip(np.round(clean + noise), 0, 255).astype(np.uint8)


def textures():
    from skimage import data

    for name in TEXTURES:
        grey = getattr(data, name)()[..., None]
        for channels in (1, 3):
            clean = np.repeat(grey, channels, 2)
            for sigma in (0, 2, 4, 8):
                yield f"{name}, {channels} channel{'s' * (channels > 1)}, {sigma}", png(noisy(clean, sigma, sigma)), clean


def plain():
    """Pictures of scikit-image and drawn ones."""
    from skimage import data

    rng = np.random.default_rng(0)
    made = {}
    for name in ("astronaut", "chelsea", "coffee", "rocket", "colorwheel", "retina", "immunohistochemistry", "hubble_deep_field"):
        made[name] = np.ascontiguousarray(getattr(data, name)()[:512, :512, 2::-1])
    for name in ("text", "page", "camera", "coins", "moon"):
        made[name] = getattr(data, name)()[..., None]
    stars = np.full((384, 512, 3), 8.0)
    for y, x, light in zip(rng.integers(4, 380, 500), rng.integers(4, 508, 500), rng.exponential(60, 500)):
        stars[y, x] += light * rng.uniform(0.7, 1, 3)
    made["stars"] = np.clip(cv2.GaussianBlur(stars, (0, 0), 0.8), 0, 255).astype(np.uint8)
    screen = np.full((384, 512, 3), 245, np.uint8)
    cv2.rectangle(screen, (0, 0), (512, 28), (120, 80, 40), -1)
    for line in range(20):
        cv2.putText(screen, f"{line:3}  let v = image.get({line * 7}, y);", (12, 48 + 16 * line), cv2.FONT_HERSHEY_PLAIN, 0.9, (40, 40, 40), 1, cv2.LINE_AA)
    made["screen"] = screen
    comic = np.full((384, 512, 3), 255, np.uint8)
    for k in range(30):
        at = tuple(int(v) for v in rng.integers(0, 512, 2))
        cv2.circle(comic, at, int(rng.integers(10, 60)), tuple(int(v) for v in rng.integers(0, 255, 3)), -1, cv2.LINE_AA)
        cv2.circle(comic, at, int(rng.integers(10, 60)), (0, 0, 0), 2, cv2.LINE_AA)
    made["comic"] = comic
    for name, clean in made.items():
        for sigma in (0, 3):
            yield f"{name}, {sigma}", png(noisy(clean, sigma, 1)), clean
    for name in ("astronaut", "coffee"):
        clean = made[name]
        sharp = np.clip(clean + 0.6 * (clean.astype(float) - cv2.GaussianBlur(clean.astype(float), (0, 0), 1.2)), 0, 255)
        jpeg = cv2.imencode(".jpg", np.round(sharp).astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, 80])[1].tobytes()
        yield f"{name}, sharpened, JPEG 80", jpeg, sharp


def limpid(program, options):
    def run(bytes_):
        with tempfile.TemporaryDirectory() as folder:
            before = os.path.join(folder, "a.png" if bytes_[:4] == b"\x89PNG" else "a.jpg")
            after = os.path.join(folder, "b.png")
            with open(before, "wb") as file:
                file.write(bytes_)
            subprocess.run([program, "denoise", before, "-o", after, "--device", "cpu", "--quiet", *options], check=True, stdout=subprocess.DEVNULL)
            return decoded(open(after, "rb").read())

    return run


def estimate(program, bytes_, clean):
    """The measured deviation of noise over the true one, as root mean squares over the picture."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.png" if bytes_[:4] == b"\x89PNG" else "a.jpg")
        with open(path, "wb") as file:
            file.write(bytes_)
        text = subprocess.run([program, "info", "--noise", path, "--json"], check=True, capture_output=True, text=True).stdout
    profile = json.loads(text)
    noise = decoded(bytes_).astype(float) - clean
    noise -= noise.mean((0, 1))
    rgb = clean[..., ::-1] / 255.0
    places = np.linspace(*profile["range"], len(profile["deviations"][0]))
    found = [np.interp(rgb[..., c], places, d) for c, d in enumerate(profile["deviations"])]
    return 255 * np.sqrt(np.mean(np.square(found))) / noise.std()


def opencv(bytes_, clean):
    image = decoded(bytes_)
    work = cv2.fastNlMeansDenoising if image.shape[2] == 1 else cv2.fastNlMeansDenoisingColored
    settings = [(h,) if image.shape[2] == 1 else (h, h) for h in (3, 5, 8, 12, 18)]
    return max(psnr(work(image, None, *h, 7, 21).reshape(clean.shape), clean) for h in settings)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limpid", default="limpid")
    parser.add_argument("--set", choices=["cameras", "polyu", "texture", "plain"], required=True)
    parser.add_argument("--data", help="directory of the pairs")
    parser.add_argument("--half", choices=["tune", "report", "all"], default="report", help="scenes of polyu")
    parser.add_argument("--every", type=int, default=1, help="only every so many pictures of polyu")
    parser.add_argument("--methods", nargs="*", default=["", "--quality best"])
    parser.add_argument("--strengths", type=float, nargs="*", default=[], help="values of --luminance and --chroma")
    parser.add_argument("--peers", nargs="*", default=["opencv"])
    parser.add_argument("--estimate", action="store_true")
    args = parser.parse_args()
    make = {"cameras": lambda: pairs(args.data, "png"), "polyu": lambda: polyu(args), "texture": textures, "plain": plain}
    options = list(args.methods) + [f"--luminance {s} --chroma {s}" for s in args.strengths]
    columns = [o.replace("--", "") or "default" for o in options] + args.peers + ["estimate"] * args.estimate
    print("picture".ljust(44), "noisy", *(c.rjust(12) for c in columns))
    rows = []
    for name, bytes_, clean in make[args.set]():
        row = [psnr(decoded(bytes_), clean)]
        row += [psnr(limpid(args.limpid, o.split())(bytes_).reshape(clean.shape), clean) for o in options]
        row += [opencv(bytes_, clean) for _ in args.peers]
        row += [estimate(args.limpid, bytes_, clean) for _ in range(args.estimate)]
        rows.append(row)
        print(name[:44].ljust(44), f"{row[0]:5.2f}", *(f"{v:12.2f}" for v in row[1:]), flush=True)
    rows = np.array(rows)
    print(f"mean of {len(rows)}".ljust(44), f"{rows[:, 0].mean():5.2f}", *(f"{v:12.2f}" for v in rows[:, 1:].mean(0)))
    if args.estimate:
        right = np.abs(np.log(rows[:, -1])) < np.log(1.2)
        print(f"estimate within 20 % in {right.sum()} of {len(rows)}, median {np.median(rows[:, -1]):.2f}")


if __name__ == "__main__":
    main()
