//! The noise of a sensor, and the map that makes it uniform.

use super::greens;
use crate::Image;
use crate::noise::Profile;
use limpid_io::dng::Pattern;
use rayon::prelude::*;

/// Noise whose variance grows with the light: that of electrons, and that of reading them.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SensorNoise {
    /// For red, green and blue: the variance at a value `v` is `a·v + b`, where white is 1.
    pub pairs: [[f32; 2]; 3],
}

/// What is added to values before their square root is taken, to measure noise: black is not the least of them.
const BLACK: f32 = 0.02;

/// Variances below this are not noise but steps of 16 bits.
const LEAST: f32 = 1e-9;

/// The least stabilised value: that of no light and no read noise.
const DARK: f32 = 1.224_744_9;

impl SensorNoise {
    /// Noise with these factors.
    pub fn new(pairs: [[f32; 2]; 3]) -> Self {
        Self { pairs }
    }

    /// The standard deviation of noise of a colour at a value.
    ///
    /// ```
    /// use limpid::raw::SensorNoise;
    /// let noise = SensorNoise::new([[0.01, 0.0001]; 3]);
    /// assert!((noise.deviation(1, 0.25) - 0.051).abs() < 1e-3);
    /// ```
    pub fn deviation(&self, color: usize, value: f32) -> f32 {
        let [a, b] = self.pairs[color];
        (a * value.max(0.0) + b).max(LEAST).sqrt()
    }

    /// Measures the noise of a mosaic. It is the same for all colours, as one amplifier serves them.
    pub fn measure(image: &Image, pattern: &Pattern) -> Self {
        match greens::measured(image, pattern) {
            Some(pair) => Self { pairs: [pair; 3] },
            None => Self::of_phases(image, pattern),
        }
    }

    /// The noise of a mosaic of any pattern: that of a picture of one pixel of each colour in each repetition.
    fn of_phases(image: &Image, pattern: &Pattern) -> Self {
        let phases = sampled(image, pattern);
        let roots = Image::from_fn(phases.width(), phases.height(), 3, |x, y, c| {
            (phases.get(x, y, c) + BLACK).max(0.0).sqrt()
        });
        let profile = Profile::estimate(&roots);
        // Variances at values that occur, and their weights.
        let mut points: Vec<[f64; 3]> = Vec::new();
        let steps = profile.deviations[0].len();
        for (c, list) in profile.deviations.iter().enumerate() {
            let [low, high] = profile.range;
            let width = (high - low) / (steps.max(2) - 1) as f32;
            let mut counts = vec![0.0f64; steps];
            for v in roots.plane(c) {
                let at = ((v - low) / width).round().clamp(0.0, (steps - 1) as f32);
                counts[at as usize] += 1.0;
            }
            for (i, deviation) in list.iter().enumerate() {
                let root = low + width * i as f32;
                let variance = f64::from((2.0 * root * deviation).powi(2)).max(1e-12);
                points.push([
                    f64::from(root * root - BLACK),
                    variance,
                    counts[i].sqrt() / variance.powi(2),
                ]);
            }
        }
        Self {
            pairs: [fitted(&points); 3],
        }
    }

    /// A mosaic whose noise has standard deviation 1 (the generalised Anscombe transform).
    pub(super) fn stabilised(&self, image: &Image, pattern: &Pattern) -> Image {
        mapped(image, pattern, |v, _, c| self.stabilised_value(c, v))
    }

    /// A value of a colour, mapped in the same way.
    pub(super) fn stabilised_value(&self, color: usize, value: f32) -> f32 {
        let [a, b] = self.pairs[color];
        match is_even(a, b) {
            true => value / b.max(LEAST).sqrt(),
            false => 2.0 / a * (a * value + 0.375 * a * a + b).max(0.0).sqrt(),
        }
    }

    /// The values whose stabilised noisy values have these means (Mäkitalo and Foi, *A closed-form approximation of the exact
    /// unbiased inverse of the Anscombe variance-stabilizing transformation*, 2011).
    pub(super) fn restored(&self, image: &Image, pattern: &Pattern) -> Image {
        mapped(image, pattern, |v, _, c| {
            let [a, b] = self.pairs[c];
            if is_even(a, b) {
                return v * b.max(LEAST).sqrt();
            }
            let d = v.max(DARK);
            let root = 1.5f32.sqrt();
            let more = 0.25 * root / d - 1.375 / (d * d) + 0.625 * root / (d * d * d) - 0.125;
            a * (0.25 * d * d + more) - b / a
        })
    }
}

/// Whether noise hardly grows with the light.
fn is_even(a: f32, b: f32) -> bool {
    a < 1e-8 || a < 1e-4 * b
}

/// Maps each value of a mosaic by its place and colour.
pub(super) fn mapped(
    image: &Image,
    pattern: &Pattern,
    value: impl Fn(f32, (usize, usize), usize) -> f32 + Sync,
) -> Image {
    let width = image.width();
    let mut out = Image::new(width, image.height(), 1);
    let rows = out.plane_mut(0).par_chunks_exact_mut(width).enumerate();
    rows.for_each(|(y, row)| {
        for (x, (to, from)) in row.iter_mut().zip(image.row(0, y)).enumerate() {
            *to = value(*from, (x, y), pattern.color(x, y));
        }
    });
    out
}

/// An image of one pixel of each colour of each repetition of a pattern.
fn sampled(image: &Image, pattern: &Pattern) -> Image {
    let (width, height) = pattern.size();
    let place = |c: usize| {
        let all = (0..width * height).map(|i| (i % width, i / width));
        all.into_iter()
            .find(|(x, y)| pattern.color(*x, *y) == c)
            .unwrap_or((0, 0))
    };
    let places = [place(0), place(1), place(2)];
    let size = (
        (image.width() / width).max(1),
        (image.height() / height).max(1),
    );
    Image::from_fn(size.0, size.1, 3, |x, y, c| {
        let (i, j) = (x * width + places[c].0, y * height + places[c].1);
        image.get(i.min(image.width() - 1), j.min(image.height() - 1), 0)
    })
}

/// The line through variances at values, with weights; neither part is negative.
pub(super) fn fitted(points: &[[f64; 3]]) -> [f32; 2] {
    let sum = |f: &dyn Fn(&[f64; 3]) -> f64| points.iter().map(f).sum::<f64>();
    let (w, x, y) = (sum(&|p| p[2]), sum(&|p| p[2] * p[0]), sum(&|p| p[2] * p[1]));
    let (xx, xy) = (sum(&|p| p[2] * p[0] * p[0]), sum(&|p| p[2] * p[0] * p[1]));
    if w <= 0.0 {
        return [0.0, LEAST];
    }
    let determinant = w * xx - x * x;
    let slope = if determinant > 0.0 {
        (w * xy - x * y) / determinant
    } else {
        0.0
    };
    let level = (y - slope * x) / w;
    let [a, b] = match (slope > 0.0, level > 0.0) {
        (true, true) => [slope, level],
        (true, false) if xx > 0.0 => [xy / xx, 0.0],
        _ => [0.0, y / w],
    };
    [a as f32, (b as f32).max(LEAST)]
}
