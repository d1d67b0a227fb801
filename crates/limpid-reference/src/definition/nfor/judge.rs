//! Candidates evaluated by the buffer that they were not computed from.

use super::{DARK_SQUARE, MARGIN, MOST, Pair, SMOOTH, mean, parity};
use crate::definition::front;
use limpid_core::Image;

/// Evaluates candidates by the buffer that they were not computed from.
pub(super) struct Judge {
    raw: Pair,
    /// With one buffer, the side of the squares of the checkerboard.
    cell: Option<usize>,
    /// One over the squared brightness around each pixel.
    scale: Image,
}

impl Judge {
    pub(super) fn new(raw: &Pair, cell: Option<usize>) -> Self {
        let (w, h) = (raw[0].width(), raw[0].height());
        let bright = Image::from_fn(w, h, 1, |x, y, _| {
            0.5 * (front::brightness(&raw[0], x, y) + front::brightness(&raw[1], x, y))
        });
        Self {
            raw: raw.clone(),
            cell,
            scale: mean(&bright, 2).map(|v| 1.0 / (v * v + DARK_SQUARE)),
        }
    }

    /// The relative squared error of a pair at a pixel, including the noise of the data it is compared with.
    fn at(&self, made: &Pair, x: usize, y: usize) -> f32 {
        let n = made[0].channels();
        let off =
            |i: usize, c: usize| (made[i].get(x, y, c) - self.raw[1 - i].get(x, y, c)).powi(2);
        let sum = |f: &dyn Fn(usize) -> f32| (0..n).map(f).sum::<f32>() / n as f32;
        let error = match self.cell {
            None => sum(&|c| 0.5 * (off(0, c) + off(1, c))),
            // A was computed from even pixels: it is evaluated on odd ones.
            Some(cell) => sum(&|c| off(1 - parity(x, y, cell), c)),
        };
        error * self.scale.get(x, y, 0)
    }

    /// Selects the candidate with the lowest error around each pixel.
    pub(super) fn choose(&self, candidates: &[Pair]) -> Image {
        let (w, h) = (self.raw[0].width(), self.raw[0].height());
        let off = Image::from_fn(w, h, candidates.len(), |x, y, k| {
            let difference = self.at(&candidates[k], x, y) - self.at(&candidates[0], x, y);
            difference.clamp(-MOST, MOST)
        });
        let off = mean(&mean(&off, SMOOTH.0), SMOOTH.0);
        let won = Image::from_fn(w, h, candidates.len(), |x, y, k| {
            let least = (0..candidates.len()).fold(0, |best, k| {
                if off.get(x, y, k) < off.get(x, y, best) - MARGIN {
                    k
                } else {
                    best
                }
            });
            f32::from(u8::from(least == k))
        });
        mean(&mean(&won, SMOOTH.1), SMOOTH.1)
    }

    /// The error estimate of the mean of a pair, over the squared brightness: the error against the other buffers beyond their
    /// noise, and the distance between the two.
    pub(super) fn error(&self, halves: &Pair, variance: &Image) -> [Image; 2] {
        let (w, h) = (variance.width(), variance.height());
        let n = variance.channels() as f32;
        let raw = Image::from_fn(w, h, 2, |x, y, k| {
            let sum = |f: &dyn Fn(usize) -> f32| {
                (0..variance.channels()).map(f).sum::<f32>() / n * self.scale.get(x, y, 0)
            };
            let apart = sum(&|c| 0.25 * (halves[0].get(x, y, c) - halves[1].get(x, y, c)).powi(2));
            match k {
                0 => self.at(halves, x, y) - sum(&|c| variance.get(x, y, c)) - apart,
                _ => apart,
            }
        });
        let smooth = mean(&mean(&raw, 3), 3);
        [0, 1].map(|k| Image::from_fn(w, h, 1, |x, y, _| smooth.get(x, y, k)))
    }
}
