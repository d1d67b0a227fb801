//! Wiener filtering with a first estimate: the second step of many methods (as in Dabov et al., *Image denoising by sparse 3-D
//! transform-domain collaborative filtering*, 2007).
//!
//! For overlapping blocks of 16×16 pixels of the noisy image and of the estimate: discrete cosine transform; each frequency of
//! the noisy block is multiplied by `e²/(e² + n)`, where `e` is the estimate and `n` the power of the noise there; inverse
//! transform. Blocks with less remaining noise have a higher weight.
//!
//! Values are normalised (`super::stabilise`). If the noise is not uniform, a third image holds its variance, relative to the
//! powers.

use limpid_core::Image;
use std::f64::consts::PI;

/// Side of a block in pixels.
pub const SIDE: usize = 16;
/// Pixels, or frequencies, of a block.
pub const AREA: usize = SIDE * SIDE;
/// Half of the synthesis window: Kaiser, β = 2.
pub const WEIGHTS: [f32; SIDE / 2] = [
    0.438_676_3,
    0.554_842_3,
    0.666_111_7,
    0.767_675,
    0.855_048_5,
    0.924_313_9,
    0.972_329_8,
    0.996_901_8,
];

/// The parameters of the filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Distance between blocks.
    pub step: usize,
    /// Whether only every second block is filtered, in a checkerboard pattern.
    pub chessboard: bool,
    /// For each component, the power of its noise at the frequencies of a block, above 0.
    pub powers: Vec<[f32; AREA]>,
}

/// Filters an image with an estimate of it; `variance` is that of the noise, relative to the powers, 1 if `None`.
pub fn wiener(noisy: &Image, estimate: &Image, variance: Option<&Image>, by: &Settings) -> Image {
    let (width, height, planes) = (noisy.width(), noisy.height(), noisy.channels());
    let mut sum = Image::new(width, height, planes);
    let mut weight = Image::new(width, height, planes);
    let starts = |n: usize| {
        let before = (SIDE - by.step) as i32;
        (0..(n + SIDE - by.step).div_ceil(by.step)).map(move |i| (by.step * i) as i32 - before)
    };
    for (row, y) in starts(height).enumerate() {
        let (skip, every) = if by.chessboard { (row % 2, 2) } else { (0, 1) };
        for x in starts(width).skip(skip).step_by(every) {
            for c in 0..planes {
                let at = |image: &Image| transformed(&fetched(image, c, (x, y)), false);
                let level = variance.map_or(1.0, |v| mean(&fetched(v, c, (x, y))));
                let (own, expected) = (at(noisy), at(estimate));
                let mut left = 0.0;
                let kept: [f32; AREA] = std::array::from_fn(|k| {
                    let noise = by.powers[c][k] * level;
                    let square = expected[k] * expected[k];
                    let factor = square / (square + noise);
                    left += factor * factor * noise;
                    factor * own[k]
                });
                let share = 1.0 / (left / AREA as f32 + 1e-4);
                let made = transformed(&kept, true);
                for (k, value) in made.into_iter().enumerate() {
                    let (i, j) = (k % SIDE, k / SIDE);
                    let (px, py) = (x + i as i32, y + j as i32);
                    if px < 0 || py < 0 || px >= width as i32 || py >= height as i32 {
                        continue;
                    }
                    let (px, py) = (px as usize, py as usize);
                    let w = share * window(i) * window(j);
                    sum.set(px, py, c, sum.get(px, py, c) + w * value);
                    weight.set(px, py, c, weight.get(px, py, c) + w);
                }
            }
        }
    }
    Image::from_fn(width, height, planes, |x, y, c| {
        sum.get(x, y, c) / weight.get(x, y, c)
    })
}

/// The weight of a pixel of a block along one axis.
fn window(i: usize) -> f32 {
    WEIGHTS[i.min(SIDE - 1 - i)]
}

/// The block at a position, clamped to the border.
fn fetched(image: &Image, c: usize, (x, y): (i32, i32)) -> [f32; AREA] {
    let (w, h) = (image.width() as i32, image.height() as i32);
    std::array::from_fn(|k| {
        let (px, py) = (x + (k % SIDE) as i32, y + (k / SIDE) as i32);
        image.get(px.clamp(0, w - 1) as usize, py.clamp(0, h - 1) as usize, c)
    })
}

fn mean(block: &[f32; AREA]) -> f32 {
    block.iter().sum::<f32>() / AREA as f32
}

/// Entry `k`, `x` of the discrete cosine transform.
pub fn cosine(k: usize, x: usize) -> f32 {
    let n = SIDE as f64;
    let scale = if k == 0 { 1.0 / n } else { 2.0 / n };
    (scale.sqrt() * (PI * (2 * x + 1) as f64 * k as f64 / (2.0 * n)).cos()) as f32
}

/// The discrete cosine transform of a block, or its inverse.
fn transformed(block: &[f32; AREA], back: bool) -> [f32; AREA] {
    let entry = |k: usize, x: usize| f64::from(if back { cosine(x, k) } else { cosine(k, x) });
    let table: Vec<f64> = (0..AREA).map(|at| entry(at / SIDE, at % SIDE)).collect();
    let mut rows = [0.0f64; AREA];
    for j in 0..SIDE {
        for k in 0..SIDE {
            rows[SIDE * j + k] = (0..SIDE)
                .map(|i| table[SIDE * k + i] * f64::from(block[SIDE * j + i]))
                .sum();
        }
    }
    std::array::from_fn(|at| {
        let (l, k) = (at / SIDE, at % SIDE);
        let sum: f64 = (0..SIDE)
            .map(|j| table[SIDE * l + j] * rows[SIDE * j + k])
            .sum();
        sum as f32
    })
}
