//! Handles missing values, and values whose squares overflow an `f32`.
//!
//! Methods square colour, and some square the result again. A frame with extremely large values is divided by a power of two
//! before it runs, and its result is multiplied by it, which rounds nothing.

use crate::{Frame, Image, Kind, Layer, Part, Result};
use rayon::prelude::*;
use std::borrow::Cow;

/// Exponent of the scale applied to a frame, in units of [`STEP`] bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Range(i32);

/// Largest magnitude that needs no scaling, as a power of two: about 10¹².
const LARGE: i32 = 40;
/// Bits per scaling step.
const STEP: i32 = 32;

impl Range {
    /// Returns a frame that methods can process, with missing values filled and colour scaled to a safe range, and its scale.
    pub(super) fn of(frame: &Frame) -> Result<(Cow<'_, Frame>, Self)> {
        // A single scan checks for both missing and large values in nearly all frames.
        let mut most = light(frame);
        let there =
            |(layer, image): (&Layer, &Image)| power(layer) == 1 || image.magnitude().is_finite();
        let whole = frame.sample_spacing() == 1 && most.is_finite() && frame.layers().all(there);
        let frame = match whole {
            true => Cow::Borrowed(frame),
            false => frame.mended()?,
        };
        if most.is_infinite() {
            most = light(&frame);
        }
        if most <= 2f32.powi(LARGE) {
            return Ok((frame, Self::default()));
        }
        let over = most.log2() as i32 - LARGE;
        let range = Self(over / STEP + 1);
        Ok((Cow::Owned(range.scaled(frame.into_owned(), -1)), range))
    }

    /// Restores the original scale in a result.
    pub(super) fn back(self, frame: Frame) -> Frame {
        match self {
            Self(0) => frame,
            range => range.scaled(frame, 1),
        }
    }

    fn scaled(self, mut frame: Frame, sign: i32) -> Frame {
        let layers: Vec<Layer> = frame.layers().map(|(layer, _)| layer.clone()).collect();
        let factor = 2f32.powi(sign * STEP);
        for layer in layers {
            // Multiplies step by step, because the whole factor may overflow.
            let times = self.0 * power(&layer);
            if let Some(image) = frame.get_mut(layer).filter(|_| times > 0) {
                let scale = |v: &mut f32| {
                    let made = (0..times).fold(*v, |v, _| v * factor);
                    *v = made.clamp(f32::MIN, f32::MAX);
                };
                image.data_mut().par_iter_mut().for_each(scale);
            }
        }
        frame
    }
}

/// The power with which a layer scales with light: 2 for variances, 0 for features.
fn power(layer: &Layer) -> i32 {
    match (&layer.kind, layer.part) {
        (Kind::Color | Kind::Light(_) | Kind::Dx | Kind::Dy, Part::Variance) => 2,
        (Kind::Color | Kind::Light(_) | Kind::Dx | Kind::Dy, _) => 1,
        _ => 0,
    }
}

/// The largest magnitude of light in a frame; infinite if any value is missing.
fn light(frame: &Frame) -> f32 {
    let images = frame.layers().filter(|(layer, _)| power(layer) == 1);
    let magnitudes = images.map(|(_, image)| image.magnitude());
    magnitudes.fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_too_large_is_scaled_and_comes_back() {
        let frame = |v: f32| Frame::new(Image::from_fn(3, 2, 3, |x, y, _| v * (x + y) as f32));
        for v in [0.0, 1e-30, 1.0, 1e10] {
            let frame = frame(v).unwrap();
            let (same, range) = Range::of(&frame).unwrap();
            assert!(matches!(same, Cow::Borrowed(_)) && range == Range::default());
        }
        // Missing values do not affect the scale.
        let holes = |layer: Layer, v: f32| {
            let mut frame = frame(2.0).unwrap();
            frame.insert(Kind::Depth, Image::new(3, 2, 1)).unwrap();
            let image = frame.get_mut(layer).unwrap();
            image.set(1, 1, 0, v);
            let (mended, range) = Range::of(&frame).unwrap();
            let finite = mended.layers().all(|(_, i)| i.magnitude().is_finite());
            assert!(matches!(mended, Cow::Owned(_)) && finite && range == Range::default());
        };
        for v in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            holes(Layer::COLOR, v);
            holes(Kind::Depth.into(), v);
        }
        for v in [1e13, 3e19, 1e30, 1e38] {
            let frame = frame(v).unwrap();
            let (small, range) = Range::of(&frame).unwrap();
            let most = small.color().unwrap().magnitude();
            assert!(most > 1.0 && most <= 2f32.powi(LARGE), "{v}: {most}");
            assert_eq!(range.back(small.into_owned()), frame);
        }
    }
}
