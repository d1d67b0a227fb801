//! Structural similarity (Wang, Bovik, Sheikh, Simoncelli 2004).

use super::separable::{filter, mirror};
use super::{check, mean};
use fearless_simd::Level;
use limpid_core::simd::dispatch;
use limpid_core::{Image, Result};

/// Half the width of the window.
const RADIUS: usize = 5;
const SIGMA: f64 = 1.5;
/// `(K1·L)²` and `(K2·L)²` with K1 = 0.01, K2 = 0.03 and values from 0 to L = 1.
const C1: f64 = 0.01 * 0.01;
const C2: f64 = 0.03 * 0.03;
/// Rows filtered together.
const BAND: usize = 32;
/// The values averaged under the window: x, r, x², r², x·r.
const MOMENTS: usize = 5;

/// Mean structural similarity of display values, 1 for equal images.
///
/// The window is an 11×11 Gaussian of σ 1.5, variances are those of the population, the value range is 1. Channels are
/// measured separately and averaged. The mean omits the five pixels along the border, whose window is incomplete; an
/// image smaller than the window is mirrored at its borders instead, and the mean covers all pixels. For images
/// of at least 11×11 this is scikit-image's `structural_similarity` with `gaussian_weights=True`,
/// `use_sample_covariance=False`, `data_range=1`.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod metric { pub use limpid_metric::*; } }
/// use limpid::{Image, metric};
/// let reference = Image::from_fn(20, 20, 3, |x, y, _| ((x + y) % 4) as f32 / 3.0);
/// assert_eq!(metric::ssim(&reference, &reference)?, 1.0);
/// assert!(metric::ssim(&reference.map(|v| 1.0 - v), &reference)? < 0.0);
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn ssim(image: &Image, reference: &Image) -> Result<f64> {
    check(image, reference)?;
    let whole = image.width().min(image.height()) > 2 * RADIUS;
    let border = if whole { RADIUS } else { 0 };
    let (columns, rows) = (image.width() - 2 * border, image.height() - 2 * border);
    let bands = rows.div_ceil(BAND);
    let weights = window();
    let level = Level::new();
    Ok(mean(
        bands * image.channels(),
        rows * columns * image.channels(),
        |i| {
            let (channel, top) = (i / bands, border + i % bands * BAND);
            let part = Rows {
                image: image.plane(channel),
                reference: reference.plane(channel),
                width: image.width(),
                height: image.height(),
                border,
                rows: top..(top + BAND).min(image.height() - border),
            };
            dispatch!(level, _simd => sum(&part, &weights))
        },
    ))
}

/// The Gaussian, summing to one.
fn window() -> [f64; 2 * RADIUS + 1] {
    let g = |k: usize| (-(k as f64 - RADIUS as f64).powi(2) / (2.0 * SIGMA * SIGMA)).exp();
    let total: f64 = (0..=2 * RADIUS).map(g).sum();
    std::array::from_fn(|k| g(k) / total)
}

/// Rows of one channel of both images.
struct Rows<'a> {
    image: &'a [f32],
    reference: &'a [f32],
    width: usize,
    height: usize,
    border: usize,
    rows: std::ops::Range<usize>,
}

/// The sum of the similarity over a part. In `f64`: the variance of flat regions is a small difference of large sums.
#[inline(always)]
fn sum(part: &Rows<'_>, weights: &[f64]) -> f64 {
    let width = part.width;
    let lines = part.rows.len() + 2 * RADIUS;
    let mut across = vec![0.0f64; MOMENTS * lines * width];
    let mut padded = vec![0.0f64; MOMENTS * (width + 2 * RADIUS)];
    for line in 0..lines {
        let y = mirror(
            (part.rows.start + line) as isize - RADIUS as isize,
            part.height,
        );
        let row = y * width..(y + 1) * width;
        moments(&part.image[row.clone()], &part.reference[row], &mut padded);
        for (m, source) in padded.chunks_exact(width + 2 * RADIUS).enumerate() {
            let at = (m * lines + line) * width;
            filter(source, 1, weights, &mut across[at..at + width]);
        }
    }
    let mut down = vec![0.0f64; MOMENTS * width];
    let mut total = 0.0;
    for line in 0..part.rows.len() {
        for (m, out) in down.chunks_exact_mut(width).enumerate() {
            filter(&across[(m * lines + line) * width..], width, weights, out);
        }
        total += similarity(&down, width, part.border);
    }
    total
}

/// Fills five padded rows with the values whose averages are needed.
#[inline(always)]
fn moments(image: &[f32], reference: &[f32], padded: &mut [f64]) {
    let (width, stride) = (image.len(), image.len() + 2 * RADIUS);
    for i in 0..stride {
        // Only the ends need mirroring; a division per pixel would cost more than the filter.
        let x = match i.checked_sub(RADIUS) {
            Some(x) if x < width => x,
            _ => mirror(i as isize - RADIUS as isize, width),
        };
        let (a, b) = (f64::from(image[x]), f64::from(reference[x]));
        for (m, v) in [a, b, a * a, b * b, a * b].into_iter().enumerate() {
            padded[m * stride + i] = v;
        }
    }
}

/// The sum of the similarity along one row of moments.
#[inline(always)]
fn similarity(down: &[f64], width: usize, border: usize) -> f64 {
    let row = |m: usize| &down[m * width + border..(m + 1) * width - border];
    let (x, r, xx, rr, xr) = (row(0), row(1), row(2), row(3), row(4));
    let mut total = 0.0;
    for i in 0..x.len() {
        let (mx, mr) = (x[i], r[i]);
        let (vx, vr, cov) = (xx[i] - mx * mx, rr[i] - mr * mr, xr[i] - mx * mr);
        let above = (2.0 * mx * mr + C1) * (2.0 * cov + C2);
        let below = (mx * mx + mr * mr + C1) * (vx + vr + C2);
        total += above / below;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use crate::sample::assert_close;

    /// Expected: `skimage.metrics.structural_similarity` in `f64`, see `tests/metric_oracle.py`.
    #[test]
    fn as_scikit_image() {
        for (width, height, expected) in [(32, 17, 0.913_569_575), (97, 61, 0.923_864_302)] {
            let (x, r) = sample::display(width, height);
            assert_close(ssim(&x, &r).unwrap(), expected, 1e-7);
        }
    }

    #[test]
    fn small_images_have_a_similarity_too() {
        for (width, height) in [(1, 1), (3, 2), (1, 23), (10, 40), (11, 11)] {
            let (x, r) = sample::display(width, height);
            assert_eq!(ssim(&r, &r).unwrap(), 1.0);
            let similar = ssim(&x, &r).unwrap();
            assert!(
                (-1.0..1.0).contains(&similar),
                "{width}x{height}: {similar}"
            );
        }
    }

    /// Two flat images: only the first factor is left, `(2·x·r + C1) / (x² + r² + C1)`.
    #[test]
    fn flat_images_as_the_formula() {
        let flat = |v: f32| Image::new(7, 40, 1).map(|_| v);
        let expected = (2.0 * 0.25 * 0.75 + 1e-4) / (0.0625 + 0.5625 + 1e-4);
        assert_close(ssim(&flat(0.25), &flat(0.75)).unwrap(), expected, 1e-7);
    }
}
