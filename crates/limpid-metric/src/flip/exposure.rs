//! The exposures of HDR-FLIP (Andersson et al. 2021, section 4).

use limpid_core::{Image, luminance};
use rayon::prelude::*;

/// The tone curve `(a·x² + b·x + c) / (d·x² + e·x + f)`: the fit of ACES by Narkowicz 2015, its input scaled by 0.6 as
/// the authors of FLIP do.
const ACES: [f32; 6] = [
    0.6 * 0.6 * 2.51,
    0.6 * 0.03,
    0.0,
    0.6 * 0.6 * 2.43,
    0.6 * 0.59,
    0.14,
];
/// The brightest and the median luminance are exposed so that the tone curve maps them here.
const TARGET: f32 = 0.85;

/// A series of exposures in stops, from the one for the brightest pixel to the one for the median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exposures {
    /// The first exposure.
    pub start: f32,
    /// The last exposure.
    pub stop: f32,
    /// How many there are, evenly spaced; at least two.
    pub count: usize,
}

impl Exposures {
    /// The exposures that the reference determines.
    ///
    /// If more than half of the reference is black, the median is taken over the other pixels, because the published rule is
    /// undefined there.
    pub fn of(reference: &Image) -> Self {
        let at = |i: usize| {
            let grey = reference.plane(0)[i];
            if reference.channels() < 3 {
                return grey;
            }
            luminance([grey, reference.plane(1)[i], reference.plane(2)[i]])
        };
        let mut all: Vec<f32> = (0..reference.size().pixels())
            .into_par_iter()
            .map(|i| at(i).max(0.0))
            .collect();
        let mut median = middle(&mut all);
        if median <= 0.0 {
            all.retain(|v| *v > 0.0);
            median = middle(&mut all);
        }
        let brightest = all.iter().copied().fold(0.0, f32::max);
        if median <= 0.0 {
            // A black reference determines no exposure: use the image unchanged.
            return Self {
                start: 0.0,
                stop: 0.0,
                count: 2,
            };
        }
        let stops = |luminance: f32| (target_input() / luminance).log2();
        let (start, stop) = (stops(brightest), stops(median));
        Self {
            start,
            stop,
            count: (stop - start).ceil().max(2.0) as usize,
        }
    }

    /// The factors by which radiance is multiplied.
    pub(super) fn iter(&self) -> impl Iterator<Item = f32> + '_ {
        let step = (self.stop - self.start) / (self.count - 1) as f32;
        (0..self.count).map(move |i| (self.start + i as f32 * step).exp2())
    }
}

fn middle(values: &mut [f32]) -> f32 {
    let half = values.len() / 2;
    match values.len() {
        0 => 0.0,
        _ => *values.select_nth_unstable_by(half, f32::total_cmp).1,
    }
}

/// The tone curve, 0 … 1.
#[inline(always)]
pub(super) fn tone(v: f32) -> f32 {
    // Far beyond the shoulder the curve is flat; the limit keeps squares finite.
    let v = v.clamp(0.0, 1e9);
    let above = v * v * ACES[0] + v * ACES[1] + ACES[2];
    let below = v * v * ACES[3] + v * ACES[4] + ACES[5];
    (above / below).clamp(0.0, 1.0)
}

/// The input that the tone curve maps to [`TARGET`].
fn target_input() -> f32 {
    let [a, b, c] = [0, 1, 2].map(|i| ACES[i] - TARGET * ACES[i + 3]);
    let half = -0.5 * b / a;
    half + (half * half - c / a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_on_the_curve() {
        assert!((tone(target_input()) - TARGET).abs() < 1e-6);
        assert_eq!((tone(-1.0), tone(f32::MAX)), (0.0, 1.0));
    }

    #[test]
    fn mostly_black_references_have_exposures() {
        let lamp = Image::from_fn(10, 10, 3, |x, _, _| if x == 0 { 4.0 } else { 0.0 });
        let got = Exposures::of(&lamp);
        assert!(got.start.is_finite() && got.start == got.stop && got.count == 2);
        assert_eq!(Exposures::of(&Image::new(3, 3, 1)).stop, 0.0);
    }
}
