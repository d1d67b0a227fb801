//! The power of noise over frequencies.

use std::f64::consts::PI;

/// Frequencies along each axis.
pub const SIDE: usize = 8;

/// Power of noise at the frequencies `i/16` and `j/16` cycles per pixel along y and x, row by row; its mean is 1.
///
/// It is interpolated in between, and constant beyond the last frequency and at wavelengths longer than that of the second.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum(pub [f32; SIDE * SIDE]);

impl Spectrum {
    /// The same power everywhere.
    pub fn white() -> Self {
        Self([1.0; SIDE * SIDE])
    }

    /// Normalises powers to a mean of 1. Also returns their mean.
    pub fn normalised(powers: [f32; SIDE * SIDE]) -> (Self, f32) {
        let mean = powers.iter().sum::<f32>() / powers.len() as f32;
        if mean > 0.0 && mean.is_finite() {
            (Self(powers.map(|p| p / mean)), mean)
        } else {
            (Self::white(), 0.0)
        }
    }

    /// The power at a frequency in cycles per pixel, 0 … 0.5 along each axis.
    pub fn at(&self, fy: f64, fx: f64) -> f64 {
        let place = |f: f64| {
            let at = (f.abs() * 16.0).min(SIDE as f64 - 1.0);
            let i = (at as usize).min(SIDE - 2);
            (i, at - i as f64)
        };
        let ((i, a), (j, b)) = (place(fy), place(fx));
        let v = |i: usize, j: usize| f64::from(self.0[SIDE * i + j]);
        let row = |i: usize| (1.0 - b) * v(i, j) + b * v(i, j + 1);
        (1.0 - a) * row(i) + a * row(i + 1)
    }

    /// The power at the frequencies 0 … radius of a window of `2·radius + 1` pixels, row by row, at least `least`.
    pub fn window(&self, radius: usize, least: f32) -> Vec<f32> {
        let f = |i: usize| i as f64 / (2 * radius + 1) as f64;
        (0..=radius)
            .flat_map(|y| (0..=radius).map(move |x| (y, x)))
            .map(|(y, x)| (self.at(f(y), f(x)) as f32).max(least))
            .collect()
    }

    /// The variance of noise after filters along y and x, given by their taps, relative to that of white noise.
    pub fn behind(&self, along_y: &[f64], along_x: &[f64]) -> f64 {
        let lines = |taps: &[f64]| -> Vec<f64> {
            let frequencies = (0..FINE).map(|i| frequency(i, FINE));
            frequencies.map(|f| response(taps, f)).collect()
        };
        let (y, x) = (lines(along_y), lines(along_x));
        self.share(FINE, |j, i| y[j] * x[i])
    }

    /// The variance of noise in the details of a level of the à-trous transform with the B3 spline, relative to that of white noise.
    pub fn in_details(&self, level: usize) -> f64 {
        let smooth = |f: f64, level: usize| {
            let angle = 2.0 * PI * f * (1u64 << level) as f64;
            0.375 + 0.5 * angle.cos() + 0.125 * (2.0 * angle).cos()
        };
        let before = |f: f64| (0..level).map(|l| smooth(f, l)).product::<f64>();
        let lines: Vec<[f64; 2]> = (0..FINE)
            .map(|i| frequency(i, FINE))
            .map(|f| [before(f), smooth(f, level)])
            .collect();
        self.share(FINE, |j, i| {
            let (y, x) = (lines[j], lines[i]);
            (y[0] * x[0] * (1.0 - y[1] * x[1])).powi(2)
        })
    }

    /// The mean power, weighted by a response at each of `steps × steps` frequencies.
    fn share(&self, steps: usize, response: impl Fn(usize, usize) -> f64) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for j in 0..steps {
            for i in 0..steps {
                let weight = response(j, i);
                sum += weight * self.at(frequency(j, steps), frequency(i, steps));
                weights += weight;
            }
        }
        sum / weights
    }

    /// The correlation of the noise of two pixels, at an offset.
    pub fn correlation(&self, dx: i64, dy: i64) -> f64 {
        // Sufficient for the offsets of any window: at most 64.
        const STEPS: usize = 40;
        let wave = |d: i64| -> Vec<f64> {
            let frequencies = (0..STEPS).map(|i| frequency(i, STEPS));
            frequencies
                .map(|f| (2.0 * PI * d as f64 * f).cos())
                .collect()
        };
        let (x, y) = (wave(dx), wave(dy));
        let (mut sum, mut all) = (0.0, 0.0);
        for j in 0..STEPS {
            for i in 0..STEPS {
                let power = self.at(frequency(j, STEPS), frequency(i, STEPS));
                sum += power * y[j] * x[i];
                all += power;
            }
        }
        sum / all
    }

    /// The power at high frequencies relative to the mean: 1 for white noise, near 0 after demosaicing and JPEG.
    pub fn fineness(&self) -> f32 {
        let high = (0..SIDE * SIDE).filter(|k| (k / SIDE).max(k % SIDE) >= 5);
        let (sum, count) = high.fold((0.0, 0), |(s, n), k| (s + self.0[k], n + 1));
        (sum / count as f32).clamp(0.0, 1.0)
    }
}

/// Steps along an axis of the spectrum for long filters.
const FINE: usize = 128;

/// The centre of one of several equal parts of the frequencies of an axis.
fn frequency(i: usize, parts: usize) -> f64 {
    (i as f64 + 0.5) / (2 * parts) as f64
}

/// The squared magnitude of a filter's response.
fn response(taps: &[f64], f: f64) -> f64 {
    let (mut re, mut im) = (0.0, 0.0);
    for (k, t) in taps.iter().enumerate() {
        let angle = 2.0 * PI * f * k as f64;
        re += t * angle.cos();
        im += t * angle.sin();
    }
    re * re + im * im
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_noise_is_as_white_behind_filters() {
        let white = Spectrum::white();
        assert!((white.behind(&[0.5, -0.25, 0.1], &[0.3, 0.3]) - 1.0).abs() < 1e-9);
        assert!((white.in_details(3) - 1.0).abs() < 1e-9);
        assert!(white.correlation(1, 0).abs() < 1e-9);
    }

    #[test]
    fn coarse_noise_is_behind_smooth_filters_and_correlated() {
        let power = |k: usize| if k % SIDE < 2 { 1.0 } else { 0.0 };
        let (coarse, _) = Spectrum::normalised(std::array::from_fn(power));
        let smooth = coarse.behind(&[1.0], &[0.25, 0.5, 0.25]);
        let rough = coarse.behind(&[1.0], &[0.25, -0.5, 0.25]);
        assert!(smooth > 1.5 && rough < 0.1, "{smooth} {rough}");
        assert!(coarse.correlation(1, 0) > 0.9);
        assert!(coarse.correlation(0, 1).abs() < 1e-6);
    }
}
