//! The power of noise over frequencies.

use std::f64::consts::PI;

/// Frequencies along each axis.
pub const SIDE: usize = 8;

/// Power of noise at the frequencies `i/16` and `j/16` cycles per pixel along y and x, row by row; its mean is 1.
///
/// Between them it is interpolated; beyond the last, and at all longer waves than the second stands for, it stays.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum(pub [f32; SIDE * SIDE]);

impl Spectrum {
    /// The same power everywhere.
    pub fn white() -> Self {
        Self([1.0; SIDE * SIDE])
    }

    /// From powers of any mean, which is given too.
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

    /// The power at the frequencies 0 … radius of a window of `2·radius + 1` pixels, row by row, no less than `least`.
    pub(crate) fn window(&self, radius: usize, least: f32) -> Vec<f32> {
        let f = |i: usize| i as f64 / (2 * radius + 1) as f64;
        (0..=radius)
            .flat_map(|y| (0..=radius).map(move |x| (y, x)))
            .map(|(y, x)| (self.at(f(y), f(x)) as f32).max(least))
            .collect()
    }

    /// The variance of noise behind filters along y and x, given by their taps, which add to a white noise's variance as the
    /// squares of their taps do.
    pub(crate) fn behind(&self, along_y: &[f64], along_x: &[f64]) -> f64 {
        self.over(|fy, fx| response(along_y, fy) * response(along_x, fx))
    }

    /// The mean over all frequencies of the power times a response.
    pub(crate) fn over(&self, response: impl Fn(f64, f64) -> f64) -> f64 {
        const STEPS: usize = 32;
        let f = |i: usize| (i as f64 + 0.5) / (2 * STEPS) as f64;
        let all = (0..STEPS * STEPS).map(|k| (f(k / STEPS), f(k % STEPS)));
        let sum: f64 = all.map(|(fy, fx)| self.at(fy, fx) * response(fy, fx)).sum();
        sum / (STEPS * STEPS) as f64
    }

    /// How much of two pixels' noise is the same, at an offset.
    pub(crate) fn correlation(&self, dx: i64, dy: i64) -> f64 {
        let wave = |d: i64, f: f64| (2.0 * PI * d as f64 * f).cos();
        self.over(|fy, fx| wave(dy, fy) * wave(dx, fx)) / self.over(|_, _| 1.0)
    }

    /// The power at high frequencies beside the mean: 1 for white noise, near 0 for what demosaicing and JPEG leave.
    pub fn fineness(&self) -> f32 {
        let high = (0..SIDE * SIDE).filter(|k| (k / SIDE).max(k % SIDE) >= 5);
        let (sum, count) = high.fold((0.0, 0), |(s, n), k| (s + self.0[k], n + 1));
        (sum / count as f32).clamp(0.0, 1.0)
    }
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
    fn white_noise_behind_filters_has_the_variance_of_their_taps() {
        let (a, b) = ([0.5, -0.25, 0.1], [0.3, 0.3]);
        let squares = |t: &[f64]| t.iter().map(|v| v * v).sum::<f64>();
        let found = Spectrum::white().behind(&a, &b);
        assert!((found - squares(&a) * squares(&b)).abs() < 1e-9, "{found}");
        assert!(Spectrum::white().correlation(1, 0).abs() < 1e-9);
    }
}
