//! Squared errors relative to the reference, so that bright pixels do not dominate.

use super::{check, mean, mean_of_values};
use limpid_core::{Image, Result};

/// Keeps dark values from dominating [`relmse`].
const RELMSE_FLOOR: f64 = 0.01;
/// Keeps dark pixels from dominating [`rmse_vicini`] (Vicini 2015, Eq. 2.4).
const VICINI_FLOOR: f64 = 1e-3;

/// Relative mean squared error, channel by channel: `mean((x - r)² / (r² + 0.01))`.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod metric { pub use limpid_metric::*; } }
/// use limpid::{Image, metric};
/// let reference = Image::new(4, 4, 3).map(|_| 2.0);
/// let error = metric::relmse(&reference.map(|v| v + 1.0), &reference)?;
/// assert!((error - 1.0 / 4.01).abs() < 1e-9);
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn relmse(image: &Image, reference: &Image) -> Result<f64> {
    check(image, reference)?;
    Ok(mean_of_values(image, reference, |x, r| {
        (x - r) * (x - r) / (r * r + RELMSE_FLOOR)
    }))
}

/// The relative mean squared error of Vicini 2015, Eq. 2.4: each channel's squared error is divided by the square of
/// the reference pixel's channel average plus 0.001; then the mean over channels and pixels.
///
/// Despite its name, no square root is taken.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod metric { pub use limpid_metric::*; } }
/// use limpid::{Image, metric};
/// let reference = Image::from_fn(1, 1, 3, |_, _, c| c as f32);
/// let error = metric::rmse_vicini(&reference.map(|v| v + 1.0), &reference)?;
/// assert!((error - 1.0 / 1.001).abs() < 1e-9);
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn rmse_vicini(image: &Image, reference: &Image) -> Result<f64> {
    check(image, reference)?;
    let channels = image.channels();
    let row_sum = |y: usize| {
        let mut sum = 0.0;
        for i in y * image.width()..(y + 1) * image.width() {
            let (mut grey, mut squares) = (0.0, 0.0);
            for c in 0..channels {
                let (x, r) = (
                    f64::from(image.plane(c)[i]),
                    f64::from(reference.plane(c)[i]),
                );
                grey += r;
                squares += (x - r) * (x - r);
            }
            grey /= channels as f64;
            sum += squares / (grey * grey + VICINI_FLOOR);
        }
        sum
    };
    Ok(mean(image.height(), image.data().len(), row_sum))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use crate::sample::assert_close;

    /// Expected: the formulas in numpy, `f64`, see `tests/metric_oracle.py`.
    #[test]
    fn as_numpy() {
        for (width, height, rel, vicini) in [
            (1, 1, 2.379_883_924e-1, 5.384_440_040e-2),
            (1, 23, 1.513_308_195e-1, 2.141_482_466e-1),
            (97, 61, 1.269_337_850e-1, 1.046_560_099e-1),
        ] {
            let (x, r) = sample::linear(width, height);
            assert_close(relmse(&x, &r).unwrap(), rel, 1e-6);
            assert_close(rmse_vicini(&x, &r).unwrap(), vicini, 1e-6);
        }
        let (x, r) = sample::display(32, 17);
        assert_close(relmse(&x, &r).unwrap(), 2.140_820_163e-2, 1e-6);
        assert_close(rmse_vicini(&x, &r).unwrap(), 9.485_069_989e-3, 1e-6);
    }
}
