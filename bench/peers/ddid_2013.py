"""Knaus and Zwicker 2013 with numpy's fft2, one window at a time, in double precision: prints the golden numbers of
crates/limpid/tests/methods/ddid.rs. The image is made by a small generator, so that no file is needed.

    python3 bench/peers/ddid_2013.py
"""

import numpy as np


def uniform(state=1):
    while True:
        state = (state * 1664525 + 1013904223) % 2**32
        yield (state >> 8) / 2.0**24


def picture(width, height, channels, sigma):
    """Two flat halves with a slanted edge, a grating, and noise of standard deviation sigma, rounded to f32."""
    source = uniform()
    out = np.zeros((height, width, channels))
    for c in range(channels):
        for y in range(height):
            for x in range(width):
                noise = sum(next(source) for _ in range(12)) - 6.0
                edge = 0.7 if x + y // 2 > width // 2 else 0.3
                out[y, x, c] = edge + 0.1 * ((x // 2 + c) % 2) + sigma * noise
    return out.astype(np.float32).astype(np.float64)


def step(x, y, sigma2, gamma_r, gamma_f, r=15, sigma_s=7.0):
    dy, dx = np.mgrid[-r : r + 1, -r : r + 1]
    h = np.exp(-(dx**2 + dy**2) / (2 * sigma_s**2))
    pad = ((r, r), (r, r), (0, 0))
    xp, yp = np.pad(x, pad, mode="symmetric"), np.pad(y, pad, mode="symmetric")
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            g = xp[i : i + 2 * r + 1, j : j + 2 * r + 1]
            w = yp[i : i + 2 * r + 1, j : j + 2 * r + 1]
            k = np.exp(-((g - g[r, r]) ** 2).sum(axis=2) / (gamma_r * sigma2)) * h
            v = sigma2 * (k**2).sum()
            for c in range(x.shape[2]):
                gt = (g[..., c] * k).sum() / k.sum()
                st = (w[..., c] * k).sum() / k.sum()
                big_g = np.fft.fft2(np.fft.ifftshift((g[..., c] - gt) * k))
                big_s = np.fft.fft2(np.fft.ifftshift((w[..., c] - st) * k))
                with np.errstate(divide="ignore"):
                    shrink = np.exp(-gamma_f * v / np.abs(big_g) ** 2)
                out[i, j, c] = st + (big_s * shrink).sum().real / shrink.size
    return out


def ddid(y, sigma):
    n = y.shape[2]
    k, i = np.mgrid[0:n, 0:n]
    dct = np.sqrt(np.where(k == 0, 1.0, 2.0) / n) * np.cos(np.pi / (2 * n) * (2 * i + 1) * k)
    y = y @ dct.T
    x = step(y, y, sigma**2, 100.0, 4.0)
    x = step(x, y, sigma**2, 8.7, 0.4)
    x = step(x, y, sigma**2, 0.7, 0.8)
    return x @ dct


if __name__ == "__main__":
    for channels in (1, 3):
        out = ddid(picture(23, 18, channels, 0.1), 0.1)
        samples = [(0, 0), (1, 5), (11, 9), (12, 9), (22, 17), (3, 16), (20, 2), (9, 0)]
        print(channels, [[round(float(v), 7) for v in out[y, x]] for x, y in samples], f"mean {out.mean():.8f}")
