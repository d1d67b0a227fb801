//! The estimated error of a whole result, and how many samples would reduce it.

use super::error_layer;
use crate::{Frame, Image};

/// Side of the squares over which both error estimates are averaged before the larger one is used. With single pixels the
/// noise of the estimate would count as error.
const SQUARE: usize = 32;
/// Both estimates miss part of the error: the ratio of true to estimated error, geometric mean over eleven renders with
/// references.
const UNSEEN: f32 = 1.4;
/// True over estimated error: nine of ten renders lie between these, measured with references on twenty others (four scenes, 1 to 64
/// samples, one buffer and two).
const RANGE: [f32; 2] = [0.15, 2.5];
/// The error falls with this power of the number of samples, on average over those renders.
const POWER: f32 = 0.7;

/// The estimated error of a whole result.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// Mean squared error over squared brightness, for an image of ordinary exposure. Accurate to a factor of two for most
    /// renders; see [`Estimate::range`].
    pub error: f32,
}

impl Estimate {
    /// From the layers that [`super::Layers::All`] adds to a result.
    pub fn of(result: &Frame) -> Option<Self> {
        let layer = |name| result.get(error_layer(name));
        let (excess, spread) = (layer("excess")?, layer("spread")?);
        let size = excess.size();
        let (mut sum, mut count) = (0.0, 0);
        for y in (0..size.height).step_by(SQUARE) {
            for x in (0..size.width).step_by(SQUARE) {
                let mean = |image: &Image| {
                    let (w, h) = (SQUARE.min(size.width - x), SQUARE.min(size.height - y));
                    let rows = (y..y + h).map(|y| &image.plane(0)[y * size.width + x..][..w]);
                    let pixels = (w * h) as f64;
                    (
                        rows.flatten().map(|v| f64::from(*v)).sum::<f64>() / pixels,
                        pixels,
                    )
                };
                let ((a, pixels), (b, _)) = (mean(excess), mean(spread));
                sum += a.max(b) * pixels;
                count += (pixels) as usize;
            }
        }
        Some(Self {
            error: UNSEEN * (sum / count.max(1) as f64) as f32,
        })
    }

    /// The errors between which nine of ten renders with this estimate lie.
    pub fn range(self) -> [f32; 2] {
        RANGE.map(|share| share * self.error)
    }

    /// How many times as many samples would reduce the error to the target.
    pub fn samples(self, target: f32) -> f32 {
        (self.error / target).powf(1.0 / POWER)
    }

    /// Removes the layers of the estimate from a result.
    pub fn remove_layers(result: &mut Frame) {
        let added = |name: &str| super::ERROR.contains(&name) || name.starts_with(super::CHOICE);
        let layers: Vec<_> = result.layers().map(|(l, _)| l.clone()).collect();
        for layer in layers {
            if matches!(&layer.kind, crate::Kind::Light(name) if added(name)) {
                result.remove(layer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_count_the_larger_estimate_by_their_pixels() {
        let mut frame = Frame::new(Image::new(40, 32, 3)).unwrap();
        assert_eq!(Estimate::of(&frame), None);
        // The first square: 0.1 against -1; the second, 8 columns wide: 0.5 against 0.1.
        let excess = Image::from_fn(40, 32, 1, |x, _, _| if x < 32 { -1.0 } else { 0.5 });
        let spread = Image::from_fn(40, 32, 1, |_, _, _| 0.1);
        frame.insert(error_layer("excess"), excess).unwrap();
        frame.insert(error_layer("spread"), spread).unwrap();
        let made = Estimate::of(&frame).unwrap();
        assert!((made.error - UNSEEN * (0.1 * 32.0 + 0.5 * 8.0) / 40.0).abs() < 1e-6);
        assert!((made.samples(made.error) - 1.0).abs() < 1e-6);
        let [least, most] = made.range();
        assert!(least < made.error && made.error < most);
        Estimate::remove_layers(&mut frame);
        assert_eq!(frame.layers().count(), 1);
    }
}
