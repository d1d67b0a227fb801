//! The profile of one picture, from blocks of 8×8 pixels where little happens.
//!
//! - Whether something happens at a block is told from the eight blocks around it: their noise is another, so that choosing the
//!   calmest ones does not choose low noise (a block's own variance would).
//! - Among the calmest tenth of the blocks of a brightness, the median of a block's power, without its longest waves, is the
//!   noise there. Where all is texture this is too much: a smooth curve that runs along the lower values takes care of it.
//! - Channels are divided by that curve. The mean spectra of the calmest tenth of all blocks are those of the noise.

use super::{Component, Profile, SIDE, Spectrum};
use crate::Image;
use crate::definition::noise;
use crate::definition::shrink::OPPONENT;
use rayon::prelude::*;
use std::f64::consts::PI;

/// Steps of brightness.
const BINS: usize = 16;

/// Pixels of a block.
const AREA: usize = SIDE * SIDE;

/// The share of blocks that count as calm.
const CALM: usize = 10;

/// Sum of frequencies from which on a block's power counts as noise.
const MIDDLE: usize = 3;

/// Less noise than this share of the largest value is none.
const LEAST: f32 = 1e-5;

/// Median over mean of the square of a normal deviate.
const MEDIAN_SQUARE: f32 = 0.454_936;

impl Profile {
    /// Finds the profile of a grey or colour picture. Pictures too small for it have white noise.
    ///
    /// ```
    /// use limpid::{Image, noise::Profile};
    /// let flat = Image::from_fn(64, 64, 3, |_, _, _| 0.5);
    /// assert!(Profile::estimate(&flat).strength() < 1e-4);
    /// ```
    pub fn estimate(image: &Image) -> Self {
        let channels = image.channels();
        let white = || Self::white(noise::estimate(image), channels);
        if image.width() < 4 * SIDE || image.height() < 4 * SIDE || !matches!(channels, 1 | 3) {
            return white();
        }
        let grid = Grid::new(image);
        let Some((range, curves)) = strengths(image, &grid) else {
            return white();
        };
        let mut profile = Self {
            range,
            deviations: curves,
            components: Self::white(1.0, channels).components,
        };
        spectra(image, &grid, &mut profile);
        let least = (LEAST * range[0].abs().max(range[1].abs())).max(1e-9);
        for d in profile.deviations.iter_mut().flatten() {
            *d = d.max(least);
        }
        profile
    }
}

/// Where blocks are.
struct Grid {
    columns: usize,
    rows: usize,
    step: usize,
}

impl Grid {
    fn new(image: &Image) -> Self {
        // Blocks of small pictures overlap, so that there are enough of them.
        let step = if image.size().pixels() < 1 << 20 {
            SIDE / 2
        } else {
            SIDE
        };
        let count = |n: usize| (n - SIDE) / step + 1;
        Self {
            columns: count(image.width()),
            rows: count(image.height()),
            step,
        }
    }

    fn count(&self) -> usize {
        self.columns * self.rows
    }

    fn corner(&self, block: usize) -> (usize, usize) {
        (
            block % self.columns * self.step,
            block / self.columns * self.step,
        )
    }

    /// Something for each block.
    fn each<T: Send>(&self, make: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        (0..self.count()).into_par_iter().map(make).collect()
    }

    /// For each block the mean of its eight neighbours that have no pixel in common with it; mirrored at the borders.
    fn around(&self, values: &[f32]) -> Vec<f32> {
        let reach = (SIDE / self.step) as i64;
        let place = |at: i64, n: usize| {
            let last = n as i64 - 1;
            let at = at.abs();
            (if at > last { 2 * last - at } else { at }).clamp(0, last) as usize
        };
        self.each(|block| {
            let (x, y) = (
                (block % self.columns) as i64,
                (block / self.columns) as i64,
            );
            let mut sum = 0.0;
            for dy in [-reach, 0, reach] {
                for dx in [-reach, 0, reach] {
                    if (dx, dy) != (0, 0) {
                        let (i, j) = (place(x + dx, self.columns), place(y + dy, self.rows));
                        sum += values[j * self.columns + i];
                    }
                }
            }
            sum / 8.0
        })
    }
}

/// The orthonormal cosine transform of a block, in the order of frequencies: `[fy * 8 + fx]`.
struct Cosine([[f32; SIDE]; SIDE]);

impl Cosine {
    fn new() -> Self {
        let n = SIDE as f64;
        let entry = |k: usize, i: usize| {
            let scale = (if k == 0 { 1.0 } else { 2.0 } / n).sqrt();
            (scale * (PI / n * (i as f64 + 0.5) * k as f64).cos()) as f32
        };
        Self(std::array::from_fn(|k| std::array::from_fn(|i| entry(k, i))))
    }

    fn block(&self, pixels: &[f32; AREA]) -> [f32; AREA] {
        let mut rows = [0.0; AREA];
        for y in 0..SIDE {
            for k in 0..SIDE {
                let row = pixels[y * SIDE..][..SIDE].iter();
                rows[y * SIDE + k] = row.zip(&self.0[k]).map(|(v, c)| v * c).sum();
            }
        }
        let mut out = [0.0; AREA];
        for k in 0..SIDE {
            for y in 0..SIDE {
                let factor = self.0[k][y];
                for x in 0..SIDE {
                    out[k * SIDE + x] += factor * rows[y * SIDE + x];
                }
            }
        }
        out
    }
}

/// The pixels of a block.
fn pixels(image: &Image, channel: usize, (x, y): (usize, usize)) -> [f32; AREA] {
    let mut out = [0.0; AREA];
    for (j, row) in out.chunks_exact_mut(SIDE).enumerate() {
        row.copy_from_slice(&image.row(channel, y + j)[x..x + SIDE]);
    }
    out
}

/// What is known of a channel of a block.
struct Seen {
    mean: f32,
    /// Mean power without the constant.
    all: f32,
    /// Mean power without the longest waves.
    middle: f32,
}

/// For each channel the deviation of its noise over the range of values; not to scale: without the longest waves.
fn strengths(image: &Image, grid: &Grid) -> Option<([f32; 2], Vec<Vec<f32>>)> {
    let cosine = Cosine::new();
    let middle = |k: &usize| k / SIDE + k % SIDE >= MIDDLE;
    let share = 1.0 / (0..AREA).filter(middle).count() as f32;
    let seen: Vec<Vec<Seen>> = (0..image.channels())
        .map(|c| {
            grid.each(|block| {
                let found = cosine.block(&pixels(image, c, grid.corner(block)));
                let power = |k: usize| found[k] * found[k];
                Seen {
                    mean: found[0] / SIDE as f32,
                    all: (1..AREA).map(power).sum::<f32>() / (AREA - 1) as f32,
                    middle: (0..AREA).filter(middle).map(power).sum::<f32>() * share,
                }
            })
        })
        .collect();
    let mut means: Vec<f32> = seen.iter().flatten().map(|s| s.mean).collect();
    means.sort_unstable_by(f32::total_cmp);
    let (low, high) = (means[0], means[(means.len() - 1) * 999 / 1000]);
    let room = (0.02 * (high - low)).max(1e-3 * high.abs()).max(1e-6);
    // Entries of a profile stand at the ends of its range, bins have their values in the middle.
    let half = 0.5 * (high - low + 2.0 * room) / BINS as f32;
    let (first, width) = (low - room, 2.0 * half);
    let range = [first + half, first + (2 * BINS - 1) as f32 * half];
    let mut curves = Vec::new();
    for channel in &seen {
        let calm = grid.around(&channel.iter().map(|s| s.all).collect::<Vec<f32>>());
        let mut bins = vec![Vec::new(); BINS];
        for (block, s) in channel.iter().enumerate() {
            let bin = ((s.mean - first) / width).clamp(0.0, (BINS - 1) as f32);
            bins[bin as usize].push((calm[block], s.middle));
        }
        let found: Vec<Option<(f64, f64)>> = bins.into_iter().map(deviation).collect();
        curves.push(smooth(&found)?);
    }
    Some((range, curves))
}

/// The deviation in a bin of blocks, and how sure it is.
fn deviation(mut bin: Vec<(f32, f32)>) -> Option<(f64, f64)> {
    if bin.len() < 20 {
        return None;
    }
    let count = (bin.len() / CALM).max(10);
    bin.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0));
    let calm = &mut bin[..count];
    let (_, median, _) = calm.select_nth_unstable_by(count / 2, |a, b| a.1.total_cmp(&b.1));
    Some((f64::from(median.1).sqrt(), (count as f64).sqrt()))
}

/// A smooth curve along the lower of some values (asymmetric least squares, Eilers 2003), on the logarithm.
fn smooth(found: &[Option<(f64, f64)>]) -> Option<Vec<f32>> {
    const SMOOTHNESS: f64 = 3.0;
    const ABOVE: f64 = 0.2;
    const ROUNDS: usize = 12;
    let n = found.len();
    let most = found.iter().flatten().fold(0.0f64, |m, f| m.max(f.1));
    if most == 0.0 {
        return None;
    }
    // What rounding leaves of a constant is no noise.
    let value = |f: &(f64, f64)| f.0.max(1e-9).ln();
    let known = |i: usize| found[i].as_ref().map_or((0.0, 0.0), |f| (value(f), f.1 / most));
    let (low, high) = found.iter().flatten().fold((f64::MAX, f64::MIN), |(l, h), f| {
        (l.min(value(f)), h.max(value(f)))
    });
    let mut z = vec![high; n];
    for _ in 0..ROUNDS {
        let mut matrix = vec![vec![0.0; n + 1]; n];
        for i in 0..n - 2 {
            for (a, p) in [1.0, -2.0, 1.0].into_iter().enumerate() {
                for (b, q) in [1.0, -2.0, 1.0].into_iter().enumerate() {
                    matrix[i + a][i + b] += SMOOTHNESS * p * q;
                }
            }
        }
        for (i, row) in matrix.iter_mut().enumerate() {
            let (y, sure) = known(i);
            let weight = sure * if y > z[i] { ABOVE } else { 1.0 - ABOVE };
            row[i] += weight + 1e-9;
            row[n] = weight * y + 1e-9 * low;
        }
        z = solve(matrix);
    }
    let back = |z: f64| z.clamp(low, high).exp() as f32;
    Some(z.into_iter().map(back).collect())
}

/// The solution of a small positive definite system, right-hand side in the last column.
fn solve(mut m: Vec<Vec<f64>>) -> Vec<f64> {
    let n = m.len();
    for i in 0..n {
        for j in i + 1..n {
            let factor = m[j][i] / m[i][i];
            for k in i..=n {
                m[j][k] -= factor * m[i][k];
            }
        }
    }
    let mut out = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| m[i][k] * out[k]).sum();
        out[i] = (m[i][n] - known) / m[i][i];
    }
    out
}

/// Brings the curves of a profile to scale and finds its components, in the calmest blocks.
fn spectra(image: &Image, grid: &Grid, profile: &mut Profile) {
    let cosine = Cosine::new();
    let channels = image.channels();
    let settling = profile.settling(&[1.0; 3][..channels]);
    let of = |block: usize| -> Vec<[f32; AREA]> {
        let one = |c: usize| {
            let settled = pixels(image, c, grid.corner(block)).map(|v| settling.value(c, v));
            cosine.block(&settled)
        };
        (0..channels).map(one).collect()
    };
    let powers = grid.each(|block| {
        let all = of(block);
        all.iter().flat_map(|c| &c[1..]).map(|v| v * v).sum::<f32>()
    });
    let around = grid.around(&powers);
    let mut order: Vec<usize> = (0..grid.count()).collect();
    let count = (order.len() / CALM).max(50).min(order.len());
    order.select_nth_unstable_by(count - 1, |a, b| around[*a].total_cmp(&around[*b]));
    let calm: Vec<Vec<[f32; AREA]>> = order[..count].par_iter().map(|b| of(*b)).collect();
    // Channels to scale, then the components of what that makes of them.
    let mut scales = vec![1.0f32; channels];
    for (c, scale) in scales.iter_mut().enumerate() {
        *scale = Spectrum::normalised(spectrum(&calm, |block, k| block[c][k])).1.sqrt().max(1e-6);
        profile.deviations[c].iter_mut().for_each(|d| *d *= *scale);
    }
    for (k, component) in profile.components.iter_mut().enumerate() {
        let powers = spectrum(&calm, |block, f| {
            let part = |c: usize| match channels {
                3 => OPPONENT[k][c] * block[c][f] / scales[c],
                _ => block[c][f] / scales[c],
            };
            if channels == 3 {
                (0..3).map(part).sum()
            } else {
                part(k)
            }
        });
        let (spectrum, mean) = Spectrum::normalised(powers);
        *component = Component {
            deviation: mean.sqrt(),
            spectrum,
        };
    }
}

/// The mean power of calm blocks at each frequency. Few blocks with much more than the others do not count for more than
/// nine times the middle one; the longest waves, where pictures have most, not for much more than the next.
fn spectrum(
    calm: &[Vec<[f32; AREA]>],
    value: impl Fn(&Vec<[f32; AREA]>, usize) -> f32 + Sync,
) -> [f32; AREA] {
    let mean = |k: usize| {
        let mut all: Vec<f32> = calm.iter().map(|block| value(block, k).powi(2)).collect();
        let middle = all.len() / 2;
        let (_, median, _) = all.select_nth_unstable_by(middle, f32::total_cmp);
        let most = 9.0 * *median / MEDIAN_SQUARE;
        all.iter().map(|v| v.min(most)).sum::<f32>() / all.len() as f32
    };
    let found: Vec<f32> = (0..AREA).into_par_iter().map(mean).collect();
    let mut powers: [f32; AREA] = std::array::from_fn(|k| found[k]);
    let at = |i: usize, j: usize| found[i * SIDE + j];
    let next = (at(0, 2) + at(2, 0) + 2.0 * at(1, 1) + at(1, 2) + at(2, 1)) / 6.0;
    powers[0] = (at(0, 1) + at(1, 0) + at(1, 1)) / 3.0;
    for k in [0, 1, SIDE, SIDE + 1] {
        powers[k] = powers[k].min(LONGEST * next);
    }
    powers
}

/// How much more power the longest waves may have than the next.
const LONGEST: f32 = 2.0;
