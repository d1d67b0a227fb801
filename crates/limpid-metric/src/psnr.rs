//! Peak signal-to-noise ratio.

use super::mse;
use limpid_core::{Image, Result};

/// Peak signal-to-noise ratio in decibels: `10·log10(peak² / mse)`; infinite when the images are equal.
///
/// `peak` is the largest value of a pixel: 1 for display values. Radiance has no such value, so the ratio of a
/// render is computed from [`display`](super::display) values, with peak 1.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod metric { pub use limpid_metric::*; } }
/// use limpid::{Image, metric};
/// let reference = Image::new(4, 4, 3);
/// assert_eq!(metric::psnr(&reference.map(|_| 0.1), &reference, 1.0)?.round(), 20.0);
/// assert_eq!(metric::psnr(&reference, &reference, 1.0)?, f64::INFINITY);
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn psnr(image: &Image, reference: &Image, peak: f64) -> Result<f64> {
    Ok(10.0 * (peak * peak / mse(image, reference)?).log10())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use crate::sample::assert_close;

    /// Expected: `skimage.metrics.peak_signal_noise_ratio(data_range=1)`, see `tests/metric_oracle.py`.
    #[test]
    fn as_scikit_image() {
        for (width, height, expected) in [
            (1, 1, 33.359_591_6),
            (32, 17, 26.860_272_1),
            (97, 61, 26.853_286_1),
        ] {
            let (x, r) = sample::display(width, height);
            assert_close(psnr(&x, &r, 1.0).unwrap(), expected, 1e-6);
            let decibels_of_255 = 20.0 * 255f64.log10();
            assert_close(
                psnr(&x, &r, 255.0).unwrap(),
                expected + decibels_of_255,
                1e-6,
            );
        }
    }
}
