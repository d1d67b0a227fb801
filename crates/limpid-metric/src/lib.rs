//! Comparison of an image with a reference.
//!
//! | metric | values | best | meaning |
//! |---|---|---|---|
//! | [`mse`] | values as given | 0 | mean squared error |
//! | [`relmse`] | values as given | 0 | squared error relative to the reference's square, per channel |
//! | [`rmse_vicini`] | values as given | 0 | squared error relative to the reference's grey value, per pixel |
//! | [`psnr`] | display values | ∞ | peak signal to noise, decibels |
//! | [`ssim`] | display values | 1 | structural similarity under an 11×11 Gaussian window |
//! | [`flip`] | either | 0 | the difference that an observer sees when the two images alternate, 0 … 1 |
//! | [`change`] | values as given | the reference's | how much a sequence changes beyond its motion |
//!
//! [`compare`] computes all of them, each on the appropriate values.
//!
//! Invariants: images of different size or channel count are an error. Sums are computed in `f64`, in an order that does not
//! depend on the number of threads. The functions of single metrics reject values that are not finite; [`compare`] repairs them
//! first and reports their number.

mod compare;
mod display;
mod flicker;
mod flip;
mod magma;
mod mse;
#[cfg(feature = "page")]
pub mod page;
mod psnr;
mod relmse;
#[cfg(test)]
mod sample;
mod separable;
mod ssim;

pub use compare::{Comparison, Options, Scores, compare};
pub use display::{Space, display};
pub use flicker::change;
pub use flip::{Exposures, Flip, FlipOptions, flip};
pub use magma::magma;
pub use mse::mse;
pub use psnr::psnr;
pub use relmse::{relmse, rmse_vicini};
pub use ssim::ssim;

use limpid_core::{Error, Image, Result};
use rayon::prelude::*;

/// Checks that both images have the same size and channel count, and finite values.
fn check(image: &Image, reference: &Image) -> Result<()> {
    if image.size() != reference.size() {
        return Err(Error::mismatch(format!(
            "the image is {}, the reference is {}; both must have the same size",
            image.size(),
            reference.size()
        )));
    }
    if image.channels() != reference.channels() {
        return Err(Error::mismatch(format!(
            "the image has {} channels, the reference has {}; both must have the same number",
            image.channels(),
            reference.channels()
        )));
    }
    if image.data().is_empty() {
        return Err(Error::input("images without pixels cannot be compared"));
    }
    for (name, side) in [("image", image), ("reference", reference)] {
        let count = side.non_finite();
        if count > 0 {
            return Err(Error::input(format!(
                "{count} values of the {name} are NaN or infinite; metric::compare repairs and counts them"
            )));
        }
    }
    Ok(())
}

/// The mean of `sum(chunk index)` over all `values`, where each chunk returns the sum of its values.
///
/// Chunks are summed in order, so the result does not depend on the number of threads.
fn mean(chunks: usize, values: usize, sum: impl Fn(usize) -> f64 + Sync + Send) -> f64 {
    let sums: Vec<f64> = (0..chunks).into_par_iter().map(sum).collect();
    sums.iter().sum::<f64>() / values as f64
}

/// The mean over all values of a function of an image's and a reference's value.
fn mean_of_values(
    image: &Image,
    reference: &Image,
    error: impl Fn(f64, f64) -> f64 + Sync + Send,
) -> f64 {
    const CHUNK: usize = 1 << 16;
    let (x, r) = (image.data(), reference.data());
    mean(x.len().div_ceil(CHUNK), x.len(), |i| {
        let range = i * CHUNK..((i + 1) * CHUNK).min(x.len());
        x[range.clone()]
            .iter()
            .zip(&r[range])
            .map(|(&x, &r)| error(f64::from(x), f64::from(r)))
            .sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let a = Image::new(4, 3, 3);
        let says = |b: &Image, words: [&str; 2]| {
            let message = mse(b, &a).unwrap_err().to_string();
            assert!(words.iter().all(|w| message.contains(w)), "{message}");
        };
        says(&Image::new(3, 4, 3), ["3x4", "4x3"]);
        says(&Image::new(4, 3, 1), ["1 channels", "3"]);
        says(&a.map(|_| f32::NAN), ["36 values", "image"]);
        assert!(mse(&Image::new(0, 0, 3), &Image::new(0, 0, 3)).is_err());
    }
}
