//! Mean squared error.

use super::{check, mean_of_values};
use limpid_core::{Image, Result};

/// Mean squared error over all channels and pixels: `mean((x - r)²)`.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod metric { pub use limpid_metric::*; } }
/// use limpid::{Image, metric};
/// let reference = Image::new(4, 4, 3);
/// assert_eq!(metric::mse(&reference.map(|_| 0.5), &reference)?, 0.25);
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn mse(image: &Image, reference: &Image) -> Result<f64> {
    check(image, reference)?;
    Ok(mean_of_values(image, reference, |x, r| (x - r) * (x - r)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use crate::sample::assert_close;

    /// Expected: `skimage.metrics.mean_squared_error`, see `tests/metric_oracle.py`.
    #[test]
    fn as_scikit_image() {
        for (width, height, display, linear) in [
            (1, 1, 4.613_609_600e-4, 7.394_456_975),
            (1, 23, 2.037_120_773e-3, 5.727_124_770e-1),
            (97, 61, 2.063_817_969e-3, 1.267_083_916e2),
        ] {
            let (x, r) = sample::display(width, height);
            assert_close(mse(&x, &r).unwrap(), display, 1e-6);
            let (x, r) = sample::linear(width, height);
            assert_close(mse(&x, &r).unwrap(), linear, 1e-6);
        }
    }

    #[test]
    fn threads_do_not_change_the_sum() {
        let (x, r) = sample::linear(301, 203);
        let with = |n| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(n)
                .build()
                .unwrap()
                .install(|| mse(&x, &r).unwrap())
        };
        assert_eq!(with(1).to_bits(), with(5).to_bits());
    }
}
