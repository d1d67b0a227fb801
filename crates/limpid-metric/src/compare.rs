//! All metrics at once, each on the appropriate values.

use super::{Flip, FlipOptions, Space, display, flip, mse, psnr, relmse, rmse_vicini, ssim};
use limpid_core::{Error, Frame, Image, Result};
use std::borrow::Cow;

/// The meaning of the values, and how radiance is displayed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The meaning of the values of both images.
    pub space: Space,
    /// Stops by which radiance is brightened before PSNR and SSIM are computed. No effect on display values.
    pub exposure: f32,
}

impl Options {
    /// The standard options for values of this space.
    pub const fn new(space: Space) -> Self {
        Self {
            space,
            exposure: 0.0,
        }
    }

    /// The same with radiance brightened by this many stops.
    #[must_use]
    pub const fn exposed(mut self, stops: f32) -> Self {
        self.exposure = stops;
        self
    }
}

/// The metrics.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Scores {
    /// Mean squared error of the values as given.
    pub mse: f64,
    /// Relative mean squared error of the values as given.
    pub relmse: f64,
    /// Vicini's relative mean squared error of the values as given.
    pub rmse_vicini: f64,
    /// Peak signal-to-noise ratio of display values; infinite when they are equal.
    pub psnr: f64,
    /// Structural similarity of display values.
    pub ssim: f64,
    /// Mean FLIP error: LDR-FLIP of display values, HDR-FLIP of radiance.
    pub flip: f64,
}

/// The result of [`compare`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The metrics.
    pub scores: Scores,
    /// The FLIP error of each pixel.
    pub flip: Flip,
    /// Pixels of the image that were not finite and counted as black.
    pub missing: usize,
    /// Pixels of the reference that were not finite and were filled from their neighbours.
    pub missing_in_reference: usize,
}

/// All metrics of an image against its reference.
///
/// MSE and the relative errors use the values as given. PSNR and SSIM use display values: radiance is exposed, clamped to 0 … 1
/// and sRGB-encoded first. FLIP is LDR-FLIP or HDR-FLIP, depending on the space.
///
/// A pixel that is not finite is repaired, so that one NaN does not hide all other errors: in the image it counts as
/// black, so that holes are penalised; in the reference it is filled from its neighbours. A reference
/// without any finite pixel is an error. A grey image can be compared with a colour reference, and vice versa.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod metric { pub use limpid_metric::*; } }
/// use limpid::{Image, metric::{compare, Options, Space}};
/// let reference = Image::from_fn(16, 16, 3, |x, y, _| (x * y) as f32 / 64.0);
/// let noisy = Image::from_fn(16, 16, 3, |x, y, c| reference.get(x, y, c) + ((x ^ y) % 3) as f32 / 9.0);
/// let found = compare(&noisy, &reference, &Options::new(Space::Linear))?;
/// assert!(found.scores.ssim < 1.0 && found.scores.flip > 0.0);
/// assert_eq!(found.missing, 0);
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn compare(image: &Image, reference: &Image, options: &Options) -> Result<Comparison> {
    if image.size() != reference.size() {
        return Err(Error::mismatch(format!(
            "the image is {}, the reference is {}; both must have the same size",
            image.size(),
            reference.size()
        )));
    }
    let channels = image.channels().max(reference.channels());
    let (image, missing) = blackened(image);
    let (reference, missing_in_reference) = filled(reference)?;
    let (image, reference) = (widened(image, channels)?, widened(reference, channels)?);
    let (x, r) = (&*image, &*reference);

    let (shown_x, shown_r) = match options.space {
        Space::Display => (Cow::Borrowed(x), Cow::Borrowed(r)),
        Space::Linear => {
            let shown = |image: &Image| Cow::Owned(display(image, options.exposure));
            rayon::join(|| shown(x), || shown(r))
        }
    };
    let flip = flip(x, r, &FlipOptions::new(options.space))?;
    Ok(Comparison {
        scores: Scores {
            mse: mse(x, r)?,
            relmse: relmse(x, r)?,
            rmse_vicini: rmse_vicini(x, r)?,
            psnr: psnr(&shown_x, &shown_r, 1.0)?,
            ssim: ssim(&shown_x, &shown_r)?,
            flip: flip.mean,
        },
        flip,
        missing,
        missing_in_reference,
    })
}

/// The image with pixels that are not finite set to black, and their number.
fn blackened(image: &Image) -> (Cow<'_, Image>, usize) {
    if image.non_finite() == 0 {
        return (Cow::Borrowed(image), 0);
    }
    let mut out = image.clone();
    let mut missing = 0;
    for i in 0..image.size().pixels() {
        if image.planes().any(|p| !p[i].is_finite()) {
            missing += 1;
            (0..image.channels()).for_each(|c| out.plane_mut(c)[i] = 0.0);
        }
    }
    (Cow::Owned(out), missing)
}

/// The reference with pixels that are not finite filled from their neighbours, and their number.
fn filled(reference: &Image) -> Result<(Cow<'_, Image>, usize)> {
    if reference.non_finite() == 0 {
        return Ok((Cow::Borrowed(reference), 0));
    }
    let frame = Frame::new(reference.clone())?;
    let mended = frame
        .mend()
        .map_err(|e| Error::input(format!("the reference cannot be used: {e}")))?;
    let missing = mended.missing.iter().map(|(_, count)| count).sum();
    Ok((Cow::Owned(mended.frame.color()?.clone()), missing))
}

/// A grey image as colour, if colour is required.
fn widened(image: Cow<'_, Image>, channels: usize) -> Result<Cow<'_, Image>> {
    match image.channels() {
        have if have == channels => Ok(image),
        1 => {
            let data = image.data().repeat(channels);
            Image::from_planes(image.width(), image.height(), channels, data).map(Cow::Owned)
        }
        have => Err(Error::mismatch(format!(
            "an image of {have} channels cannot be compared with one of {channels}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use crate::sample::assert_close;

    /// Expected: see `tests/metric_oracle.py`, the rows of HDR images.
    #[test]
    fn radiance_is_measured_where_each_metric_has_a_meaning() {
        let (x, r) = sample::linear(97, 61);
        let got = compare(&x, &r, &Options::new(Space::Linear))
            .unwrap()
            .scores;
        assert_close(got.mse, 1.267_083_916e2, 1e-6);
        assert_close(got.relmse, 1.269_337_850e-1, 1e-6);
        assert_close(got.rmse_vicini, 1.046_560_099e-1, 1e-6);
        assert_close(got.psnr, 22.206_836_4, 1e-5);
        assert_close(got.ssim, 0.906_167_994, 1e-5);
        assert_close(got.flip, 0.150_679_2, 1e-4);
    }

    #[test]
    fn holes_in_the_image_cost_holes_in_the_reference_do_not() {
        let reference = Image::new(20, 20, 3).map(|_| 0.5);
        let hole = |mut image: Image| {
            image.set(3, 4, 1, f32::NAN);
            image.set(3, 4, 2, f32::INFINITY);
            image.set(9, 9, 0, f32::NEG_INFINITY);
            image
        };
        let options = Options::new(Space::Linear);
        let got = compare(&hole(reference.clone()), &reference, &options).unwrap();
        assert_eq!((got.missing, got.missing_in_reference), (2, 0));
        assert_close(got.scores.mse, 0.25 * 2.0 / 400.0, 1e-6);
        let got = compare(&reference, &hole(reference.clone()), &options).unwrap();
        assert_eq!((got.missing, got.missing_in_reference), (0, 2));
        assert_eq!(got.scores.mse, 0.0);
    }

    #[test]
    fn all_nan_is_black_or_an_error() {
        let gone = Image::new(5, 5, 1).map(|_| f32::NAN);
        let there = Image::new(5, 5, 1).map(|_| 1.0);
        let options = Options::new(Space::Display);
        let got = compare(&gone, &there, &options).unwrap();
        assert_eq!((got.missing, got.scores.mse), (25, 1.0));
        let message = compare(&there, &gone, &options).unwrap_err().to_string();
        assert!(message.contains("reference"), "{message}");
    }

    #[test]
    fn grey_compares_with_colour() {
        let grey = Image::from_fn(12, 12, 1, |x, y, _| (x + y) as f32 / 24.0);
        let color = Image::from_fn(12, 12, 3, |x, y, _| grey.get(x, y, 0));
        let options = Options::new(Space::Display);
        for (a, b) in [(&grey, &color), (&color, &grey)] {
            let got = compare(a, b, &options).unwrap().scores;
            assert_eq!((got.mse, got.flip, got.ssim), (0.0, 0.0, 1.0));
            assert_eq!(got.psnr, f64::INFINITY);
        }
    }
}
