"""Prints the numbers that the tests of limpid's metrics hold as expected values.

    pip install numpy==2.4.6 scikit-image==0.26.0 flip-evaluator==1.7
    python3 crates/limpid/tests/metric_oracle.py

The images are the ones of `metric/sample.rs`: integer formulas, so both sides have the same bits.
"""

import numpy as np
import flip_evaluator
from skimage.metrics import mean_squared_error, peak_signal_noise_ratio, structural_similarity


def codes(width, height):
    """Reference and image as integers 0 … 255, height × width × 3."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    reference = (x * 5 + y * 3 + c * 40 + (x // 8 + y // 8) % 2 * 60) % 256
    noise = (x * 71 + y * 113 + c * 29 + x * y * 17) % 41 - 20
    return reference, np.clip(reference + noise, 0, 255)


def display(codes):
    return (codes.astype(np.float32) / np.float32(255)).astype(np.float32)


def linear(codes):
    """0 … about 1000: true black, and a lattice of highlights. All values are exact in 32 bits."""
    y, x = np.indices(codes.shape[:2])
    highlight = np.where((x + 3 * y) % 29 == 0, 64, 1)[..., None]
    return (codes**3 * highlight).astype(np.float32) / np.float32(2**20)


def encode(linear):
    """The sRGB curve, after clamping to 0 … 1: what a screen shows without tone mapping."""
    v = np.clip(linear, 0, 1)
    return np.where(v <= 0.0031308, 12.92 * v, 1.055 * v ** (1 / 2.4) - 0.055)


def flip(reference, image, kind):
    error, mean, parameters = flip_evaluator.evaluate(
        reference, image, kind, inputsRGB=(kind == "LDR"), applyMagma=False
    )
    return np.squeeze(error), mean, parameters


for width, height in [(1, 1), (3, 2), (1, 23), (32, 17), (97, 61)]:
    r, x = codes(width, height)
    print(f"== {width}x{height}")
    for kind, to_values in [("LDR", display), ("HDR", linear)]:
        reference, image = to_values(r), to_values(x)
        r64, x64 = reference.astype(np.float64), image.astype(np.float64)
        print(f"{kind} mse {mean_squared_error(r64, x64):.9e}")
        print(f"{kind} relmse {np.mean((x64 - r64) ** 2 / (r64**2 + 0.01)):.9e}")
        grey = r64.mean(axis=2, keepdims=True)
        print(f"{kind} rmse-vicini {np.mean((x64 - r64) ** 2 / (grey**2 + 1e-3)):.9e}")
        if kind == "HDR":
            r64, x64 = encode(r64), encode(x64)
        print(f"{kind} psnr {peak_signal_noise_ratio(r64, x64, data_range=1):.7f}")
        if min(width, height) >= 11:
            ssim = structural_similarity(
                r64, x64, gaussian_weights=True, sigma=1.5, use_sample_covariance=False,
                data_range=1, channel_axis=2,
            )
            print(f"{kind} ssim {ssim:.9f}")
        error, mean, parameters = flip(reference, image, kind)
        print(f"{kind} flip {mean:.7f} max {error.max():.7f}")
        if kind == "HDR":
            print({k: parameters[k] for k in ("startExposure", "stopExposure", "numExposures")})
        if (width, height) == (97, 61):
            corners = [error[0, 0], error[0, -1], error[-1, 0], error[30, 48]]
            print(f"{kind} flip at corners and centre", " ".join(f"{v:.6f}" for v in corners))
