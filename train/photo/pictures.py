#!/usr/bin/env python3
"""Collects clean pictures for training: tiles of 512x512 pixels of photographs that anyone can get.

    apt-get download gnome-backgrounds lomiri-wallpapers lomiri-wallpapers-16.04 lomiri-wallpapers-20.04 mate-backgrounds \\
      plasma-workspace-wallpapers sway-backgrounds ukui-wallpapers
    for d in *.deb; do dpkg -x $d debian; done
    git clone https://github.com/imazen/codec-corpus corpus
    git clone https://github.com/BuddiesOfBudgie/budgie-backgrounds budgie
    git clone https://github.com/UbuntuBudgie/budgie-wallpapers ubuntu-budgie
    git clone https://github.com/pop-os/wallpapers pop
    git clone https://github.com/elementary/wallpapers elementary
    python3 pictures.py tiles corpus/CID22/CID22-512/training corpus/clic2025 debian/usr/share budgie ubuntu-budgie pop elementary

Licences: CID22 CC BY-SA 4.0, CLIC 2025 the Unsplash licence, Debian's packages CC BY-SA or free in Debian's sense, the four collections of
wallpapers CC0, CC BY-SA 4.0, Unsplash's, or as their lists say. Pictures larger
than a tile are made smaller by two to four, which takes their own noise and JPEG's traces away. Tiles with hardly any content are left
out, and so are pictures that occur twice. The pictures of scikit-image, scikit-learn, OpenCV and Kodak judge, and are never
trained on.
"""

import os
import sys

import numpy as np
from PIL import Image

SIDE = 512


def tiles(path):
    """Tiles of a picture, of a large one at two sizes."""
    whole = Image.open(path).convert("RGB")
    least = min(whole.size)
    if least < SIDE:
        return
    most = 1 if least < 2 * SIDE else min(4, least // (SIDE + 128))
    for by in {most, 2 if most > 2 else most}:
        image = whole.reduce(by) if by > 1 else whole
        width, height = image.size
        across, down = (max(1, min(3, n // SIDE)) for n in (width, height))
        for j in range(down):
            for i in range(across):
                x = (width - SIDE) * (2 * i + 1) // (2 * across)
                y = (height - SIDE) * (2 * j + 1) // (2 * down)
                yield image.crop((x, y, x + SIDE, y + SIDE))


def content(tile):
    """How much a tile changes from pixel to pixel, of 255."""
    grey = np.asarray(tile.convert("L"), float)
    return np.abs(np.diff(grey, axis=0)).mean() + np.abs(np.diff(grey, axis=1)).mean()


def main(output, *folders):
    os.makedirs(output, exist_ok=True)
    seen, count, size = set(), 0, 0
    for folder in folders:
        for root, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                if not name.lower().endswith((".png", ".jpg", ".jpeg", ".webp")):
                    continue
                try:
                    found = list(tiles(os.path.join(root, name)))
                except (OSError, ValueError, Image.DecompressionBombError) as error:
                    print(name, error)
                    continue
                for tile in found:
                    key = tile.resize((8, 8)).quantize(16).tobytes()
                    if content(tile) < 4.0 or key in seen:
                        continue
                    seen.add(key)
                    path = os.path.join(output, f"{count:04}.jpg")
                    tile.save(path, quality=int(os.environ.get("QUALITY", "95")), subsampling=0)
                    count, size = count + 1, size + os.path.getsize(path)
    print(f"{count} tiles, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
