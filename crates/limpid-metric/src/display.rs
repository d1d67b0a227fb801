//! Conversion from radiance to display values.

use limpid_core::{Image, linear_to_srgb, srgb_to_linear};
use rayon::prelude::*;

/// The meaning of the values of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Values for a screen, 0 … 1 with the sRGB curve applied: PNG, JPEG, photographs.
    Display,
    /// Radiance, linear, without an upper bound: EXR, HDR, PFM, renders.
    Linear,
}

impl Space {
    /// Converts an image from the space `self` to the space `to`.
    ///
    /// Nothing is clamped: display values above 1 stand for radiance above 1.
    pub fn convert(self, image: &Image, to: Self) -> Image {
        match (self, to) {
            (Self::Display, Self::Linear) => mapped(image, srgb_to_linear),
            (Self::Linear, Self::Display) => mapped(image, linear_to_srgb),
            _ => image.clone(),
        }
    }
}

/// Display values of radiance: multiplied by 2 to the power of `exposure`, clamped to 0 … 1, with the sRGB curve applied.
/// NaN becomes black.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod metric { pub use limpid_metric::*; } }
/// use limpid::{Image, metric};
/// let shown = metric::display(&Image::new(1, 1, 3).map(|_| 0.25), 2.0);
/// assert!((shown.get(0, 0, 0) - 1.0).abs() < 1e-6);
/// ```
pub fn display(radiance: &Image, exposure: f32) -> Image {
    let gain = exposure.exp2();
    mapped(radiance, |v| {
        // `clamp` propagates NaN, `max` does not.
        linear_to_srgb((v * gain).max(0.0).clamp(0.0, 1.0))
    })
}

fn mapped(image: &Image, f: impl Fn(f32) -> f32 + Sync) -> Image {
    let mut out = image.clone();
    out.data_mut()
        .par_chunks_mut(1 << 14)
        .for_each(|chunk| chunk.iter_mut().for_each(|v| *v = f(*v)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_shows_everything_as_0_to_1() {
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -3.0, 0.5, 9.0];
        let shown = display(&Image::from_fn(6, 1, 1, |x, _, _| odd[x]), 0.0);
        let expected = [0.0, 1.0, 0.0, 0.0, 0.735_357, 1.0];
        for (got, expected) in shown.data().iter().zip(expected) {
            assert!((got - expected).abs() < 1e-5 && (0.0..=1.0).contains(got));
        }
    }

    #[test]
    fn spaces_convert_back() {
        let image = Image::from_fn(9, 9, 1, |x, y, _| (x * y) as f32 / 16.0);
        let there = Space::Display.convert(&image, Space::Linear);
        let back = Space::Linear.convert(&there, Space::Display);
        for (a, b) in image.data().iter().zip(back.data()) {
            assert!((a - b).abs() < 1e-5);
        }
        assert_eq!(Space::Linear.convert(&image, Space::Linear), image);
    }
}
