//! The filters of FLIP: contrast sensitivity of the eye, and detectors of edges and points.

use limpid_core::{Error, Result};
use std::f64::consts::PI;

/// Taps below this share of the sum do not change a 32-bit sum.
const NEGLIGIBLE: f64 = 1e-9;
/// The width of the detected features in degrees of view.
const FEATURE_WIDTH: f64 = 0.082;

/// One-dimensional weights; all filters are separable or sums of two that are.
#[derive(Debug)]
pub(super) struct Weights {
    /// Achromatic sensitivity.
    pub(super) lightness: Vec<f32>,
    /// Red-green sensitivity.
    pub(super) red_green: Vec<f32>,
    /// Blue-yellow sensitivity: the sum of a narrow and a wide Gaussian.
    pub(super) blue_yellow: [Vec<f32>; 2],
    /// A Gaussian, its first derivative (edges), its second derivative (points).
    pub(super) feature: [Vec<f32>; 3],
    /// The widest radius of all.
    pub(super) radius: usize,
}

impl Weights {
    /// The filters for an observer who sees this many pixels per degree.
    pub(super) fn new(pixels_per_degree: f32) -> Result<Self> {
        if !(1.0..=1000.0).contains(&pixels_per_degree) {
            return Err(Error::input(format!(
                "{pixels_per_degree} pixels per degree is out of range; expected 1 to 1000, usually 67"
            )));
        }
        let density = f64::from(pixels_per_degree);
        // The Fourier transform of a sensitivity exp(-b·f²) is a Gaussian exp(-π²x²/b), x in degrees.
        let sensitivity = |b: f64| move |x: f64| (-(PI * x / density).powi(2) / b).exp();
        let spread = |b: f64| (b / (2.0 * PI * PI)).sqrt() * density;
        let radius = (3.0 * spread(0.04)).ceil() as usize;
        let narrow = |b: f64| {
            let all = taps(radius, sensitivity(b));
            let sum: f64 = all.iter().sum();
            trimmed(all.iter().map(|v| v / sum).collect())
        };
        let wide = |a: f64, b: f64| {
            // The square root of the amplitude, since the filter is applied along both axes.
            let amplitude = (a * (PI / b).sqrt()).sqrt();
            taps(radius, |x| amplitude * sensitivity(b)(x))
        };
        let pair = [wide(34.1, 0.04), wide(13.5, 0.025)];
        let volume: f64 = pair.iter().map(|p| p.iter().sum::<f64>().powi(2)).sum();
        let blue_yellow = pair.map(|p| p.iter().map(|v| (v / volume.sqrt()) as f32).collect());
        let feature = features(0.5 * FEATURE_WIDTH * density);
        Ok(Self {
            lightness: narrow(0.0047),
            red_green: narrow(0.0053),
            blue_yellow,
            radius: radius.max(feature[0].len() / 2),
            feature,
        })
    }
}

fn taps(radius: usize, f: impl Fn(f64) -> f64) -> Vec<f64> {
    (0..=2 * radius)
        .map(|k| f(k as f64 - radius as f64))
        .collect()
}

/// Drops negligible taps at both ends.
fn trimmed(weights: Vec<f64>) -> Vec<f32> {
    let cut = weights.iter().take_while(|w| **w < NEGLIGIBLE).count();
    let kept = &weights[cut..weights.len() - cut];
    kept.iter().map(|w| *w as f32).collect()
}

/// A Gaussian of this spread and its derivatives; positive and negative weights each sum to one.
fn features(sigma: f64) -> [Vec<f32>; 3] {
    let radius = (3.0 * sigma).ceil() as usize;
    let gauss = |x: f64| (-x * x / (2.0 * sigma * sigma)).exp();
    let normal = |all: Vec<f64>| {
        let sum = |sign: f64| all.iter().map(|v| (v * sign).max(0.0)).sum::<f64>();
        let (above, below) = (sum(1.0), sum(-1.0));
        all.iter()
            .map(|v| match *v > 0.0 {
                true => (v / above) as f32,
                // The Gaussian itself has no negative weights.
                false => (v / below.max(f64::MIN_POSITIVE)) as f32,
            })
            .collect()
    };
    [
        normal(taps(radius, gauss)),
        normal(taps(radius, |x| -x * gauss(x))),
        normal(taps(radius, |x| (x * x / (sigma * sigma) - 1.0) * gauss(x))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_images_stay_flat() {
        for density in [1.0, 20.0, 67.0, 1000.0] {
            let w = Weights::new(density).unwrap();
            let sum = |v: &[f32]| v.iter().map(|v| f64::from(*v)).sum::<f64>();
            assert!((sum(&w.lightness) - 1.0).abs() < 1e-5);
            assert!((sum(&w.red_green) - 1.0).abs() < 1e-5);
            let both: f64 = w.blue_yellow.iter().map(|v| sum(v).powi(2)).sum();
            assert!((both - 1.0).abs() < 1e-5);
            assert!(sum(&w.feature[1]).abs() < 1e-5);
            assert!(sum(&w.feature[2]).abs() < 1e-5);
        }
        assert!(Weights::new(0.0).is_err());
        assert!(Weights::new(f32::NAN).is_err());
    }

    /// Radii of the default observer, as in the published filters.
    #[test]
    fn radii_of_the_default_observer() {
        let w = Weights::new(67.020_645).unwrap();
        assert_eq!(w.radius, 10);
        assert_eq!(w.feature[0].len(), 2 * 9 + 1);
        assert_eq!(w.lightness.len(), 2 * 6 + 1);
    }
}
