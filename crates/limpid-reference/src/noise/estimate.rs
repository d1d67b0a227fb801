//! Estimates the profile of an image from blocks of 8×8 pixels with little detail.
//!
//! - Whether a block has detail is decided by the eight blocks around it: their noise is independent, so that choosing the
//!   smoothest ones does not select low noise (a block's own variance would).
//! - Among the smoothest blocks of a brightness, the median of a block's power, without its longest waves, is the noise there,
//!   up to a factor. With texture everywhere this is too high, so a smooth curve is fitted along the lower values.
//! - Channels are divided by that curve. The mean spectra of the smoothest of all blocks are those of the noise.
//! - Blocks with clipped pixels have less noise than others of their brightness, and are ignored.
//! - The noise is limited to that of the smoothest hundredth of blocks, by their own power.
//! - Texture is mostly luminance, but sensors have noise in each colour: at long waves luminance has hardly more noise than
//!   colour, so it is limited to that, or to the noise of luminance at short waves.

use super::blocks::{AREA, Cosine, Grid, clipped, ends, pixels, power, sampled};
use super::{Component, Profile, SIDE, Spectrum};
use crate::definition::noise;
use crate::definition::shrink::OPPONENT;
use limpid_core::Image;
use rayon::prelude::*;

/// Steps of brightness.
const BINS: usize = 16;

/// One in this many blocks counts as smooth.
const CALM: usize = 20;

/// The minimum number of smooth blocks of a brightness, and in total.
const FEW: [usize; 2] = [16, 256];

/// Sum of frequencies above which a block's power counts as noise.
const MIDDLE: usize = 3;

/// Deviations below this share of the largest value count as noise-free.
const LEAST: f32 = 1e-5;

/// Median over mean of the square of a normal deviate.
const MEDIAN_SQUARE: f32 = 0.454_936;

impl Profile {
    /// Measures the profile of a grey or colour image. Images that are too small get white noise.
    ///
    /// ```
    /// # mod limpid { pub use limpid_core::*; pub use limpid_reference::*; }
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
        let sampled = sampled(image);
        let image = sampled.as_ref().unwrap_or(image);
        let grid = Grid::new(image);
        let ends: Vec<[f32; 2]> = (0..channels).map(|c| ends(image, c)).collect();
        let Some((range, curves)) = strengths(image, &grid, &ends) else {
            return white();
        };
        let mut profile = Self {
            range,
            deviations: curves,
            components: Self::white(1.0, channels).components,
        };
        spectra(image, &grid, &ends, &mut profile);
        let least = (LEAST * range[0].abs().max(range[1].abs())).max(1e-9);
        for d in profile.deviations.iter_mut().flatten() {
            *d = d.max(least);
        }
        profile
    }
}

/// Whether a frequency is not among the longest waves.
fn middle(k: &usize) -> bool {
    k / SIDE + k % SIDE >= MIDDLE
}

/// One over the number of those frequencies.
fn share() -> f32 {
    1.0 / (0..AREA).filter(middle).count() as f32
}

/// Weights for the mean power of those frequencies.
fn middles() -> [f32; AREA] {
    let share = share();
    std::array::from_fn(|k| if middle(&k) { share } else { 0.0 })
}

/// Weights for the sum of all powers except the constant's.
fn waves() -> [f32; AREA] {
    std::array::from_fn(|k| if k > 0 { 1.0 } else { 0.0 })
}

/// A frequency of luminance or of a colour difference, from the channels of a block.
fn component(block: &[[f32; AREA]], k: usize, f: usize) -> f32 {
    match block {
        [r, g, b] => OPPONENT[k][0] * r[f] + OPPONENT[k][1] * g[f] + OPPONENT[k][2] * b[f],
        _ => block[k][f],
    }
}

/// The measurements of a channel of a block.
struct Seen {
    mean: f32,
    clipped: bool,
    /// Mean power without the constant.
    all: f32,
    /// Mean power without the longest waves.
    middle: f32,
}

/// For each channel, the standard deviation of its noise over the range of values, without the longest waves and thus not to
/// scale.
fn strengths(image: &Image, grid: &Grid, ends: &[[f32; 2]]) -> Option<([f32; 2], Vec<Vec<f32>>)> {
    let cosine = Cosine::new();
    let (middles, waves) = (middles(), waves());
    let seen: Vec<Vec<Seen>> = (0..image.channels())
        .map(|c| {
            grid.each(|block| {
                let pixels = pixels(image, c, grid.corner(block));
                let found = cosine.block(&pixels);
                Seen {
                    mean: found[0] / SIDE as f32,
                    clipped: clipped(&pixels, ends[c]),
                    all: power(&found, &waves) / (AREA - 1) as f32,
                    middle: power(&found, &middles),
                }
            })
        })
        .collect();
    let mut means: Vec<f32> = seen.iter().flatten().map(|s| s.mean).collect();
    let most = (means.len() - 1) * 999 / 1000;
    let (below, high, _) = means.select_nth_unstable_by(most, f32::total_cmp);
    let high = *high;
    let low = below.iter().fold(high, |low, v| low.min(*v));
    let room = (0.02 * (high - low)).max(1e-3 * high.abs()).max(1e-6);
    // Entries of a profile are at the ends of its range, values of bins in the middle.
    let half = 0.5 * (high - low + 2.0 * room) / BINS as f32;
    let (first, width) = (low - room, 2.0 * half);
    let range = [first + half, first + (2 * BINS - 1) as f32 * half];
    let mut curves = Vec::new();
    for channel in &seen {
        let calm = grid.around(&channel.iter().map(|s| s.all).collect::<Vec<f32>>());
        let mut bins = vec![Vec::new(); BINS];
        let whole = channel.iter().filter(|s| !s.clipped).count();
        let few = whole < channel.len() / CALM;
        for (block, s) in channel
            .iter()
            .enumerate()
            .filter(|(_, s)| few || !s.clipped)
        {
            let bin = ((s.mean - first) / width).clamp(0.0, (BINS - 1) as f32);
            bins[bin as usize].push((calm[block], s.middle));
        }
        let found: Vec<Option<(f64, f64)>> = bins.into_iter().map(deviation).collect();
        curves.push(smooth(&found)?);
    }
    Some((range, curves))
}

/// The deviation in a bin of blocks, and its confidence.
fn deviation(mut bin: Vec<(f32, f32)>) -> Option<(f64, f64)> {
    if bin.len() < 2 * FEW[0] {
        return None;
    }
    let count = (bin.len() / CALM).max(FEW[0]);
    bin.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0));
    let calm = &mut bin[..count];
    let (_, median, _) = calm.select_nth_unstable_by(count / 2, |a, b| a.1.total_cmp(&b.1));
    let median = median.1;
    let at = bin.len() * 3 / 100;
    let (_, low, _) = bin.select_nth_unstable_by(at, |a, b| a.1.total_cmp(&b.1));
    let low = low.1 / LOW_3;
    let middle = bin.len() / 2;
    let (_, usual, _) = bin.select_nth_unstable_by(middle, |a, b| a.1.total_cmp(&b.1));
    // Where most blocks have much more power than the smoothest there is texture, which the smoothest may also contain.
    let pure = (low / usual.1.max(f32::MIN_POSITIVE)).clamp(0.02, 1.0);
    let power = median.min(low);
    let sure = (count as f64).sqrt() * f64::from(pure);
    Some((f64::from(power).sqrt(), sure))
}

/// The power that three of a hundred blocks of noise are below, relative to the mean.
const LOW_3: f32 = 0.6;

/// The same for one of a hundred blocks, for noise with this spectrum: a sum of squares (Wilson and Hilferty 1931) of the
/// effective number of frequencies.
fn low_1(powers: &[f32; AREA]) -> f32 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for f in (0..AREA).filter(middle) {
        sum += powers[f];
        squares += powers[f] * powers[f];
    }
    let spread = 2.0 / 9.0 * squares / (sum * sum).max(f32::MIN_POSITIVE);
    let spread = spread.clamp(0.0, 2.0 / (9.0 * 15.0));
    (1.0 - spread - 2.326 * spread.sqrt()).powi(3)
}

/// A smooth curve along the lower of some values (asymmetric least squares, Eilers 2003), on the logarithm.
fn smooth(found: &[Option<(f64, f64)>]) -> Option<Vec<f32>> {
    const SMOOTHNESS: f64 = 5.0;
    const ABOVE: f64 = 0.2;
    const ROUNDS: usize = 12;
    let n = found.len();
    let most = found.iter().flatten().fold(0.0f64, |m, f| m.max(f.1));
    if most == 0.0 {
        return None;
    }
    // Rounding errors of a constant are not noise.
    let value = |f: &(f64, f64)| f.0.max(1e-9).ln();
    let known = |i: usize| {
        found[i]
            .as_ref()
            .map_or((0.0, 0.0), |f| (value(f), f.1 / most))
    };
    let (low, high) = found
        .iter()
        .flatten()
        .fold((f64::MAX, f64::MIN), |(l, h), f| {
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

/// Scales the curves of a profile and measures its components, in the smoothest blocks.
fn spectra(image: &Image, grid: &Grid, ends: &[[f32; 2]], profile: &mut Profile) {
    let cosine = Cosine::new();
    let channels = image.channels();
    let stabiliser = profile.stabiliser(&[1.0; 3][..channels]);
    let of = |block: usize| -> Vec<[f32; AREA]> {
        let one = |c: usize| {
            let settled = pixels(image, c, grid.corner(block)).map(|v| stabiliser.value(c, v));
            cosine.block(&settled)
        };
        (0..channels).map(one).collect()
    };
    // The power of all frequencies except the mean; and that of luminance without the longest waves, where nothing is clipped.
    let [low, high] = profile.range;
    let inside = low + 0.03 * (high - low)..high - 0.03 * (high - low);
    let (middles, waves) = (middles(), waves());
    let powers: Vec<(f32, Option<f32>)> = grid.each(|block| {
        let all = of(block);
        let sum = all.iter().map(|c| power(c, &waves)).sum::<f32>();
        let whole = |c: usize| {
            let pixels = pixels(image, c, grid.corner(block));
            inside.contains(&(pixels.iter().sum::<f32>() / AREA as f32))
                && !clipped(&pixels, ends[c])
        };
        let clipped = !(0..channels).all(whole);
        let luminance = || std::array::from_fn(|f| component(&all, 0, f));
        (sum, (!clipped).then(|| power(&luminance(), &middles)))
    });
    let around = grid.around(&powers.iter().map(|p| p.0).collect::<Vec<f32>>());
    let whole = (0..grid.count()).filter(|block| powers[*block].1.is_some());
    let mut order: Vec<usize> = whole.collect();
    if order.len() < FEW[1].max(grid.count() / CALM) {
        order = (0..grid.count()).collect();
    }
    let mut lowest: Vec<f32> = powers.into_iter().filter_map(|p| p.1).collect();
    let count = (grid.count() / CALM).max(FEW[1]).min(order.len());
    order.select_nth_unstable_by(count - 1, |a, b| around[*a].total_cmp(&around[*b]));
    let calm: Vec<Vec<[f32; AREA]>> = order[..count].par_iter().map(|b| of(*b)).collect();
    let mut all: Vec<[f32; AREA]> = (0..channels)
        .map(|k| spectrum(&calm, |block, f| component(block, k, f)))
        .collect();
    // Smooth blocks are most often where the curves are too high: only the shape of their spectra is used. The curves are
    // scaled so that the power without the longest waves is 1.
    let known = |powers: &[f32; AREA]| (0..AREA).filter(middle).map(|f| powers[f]).sum::<f32>();
    let mean = all.iter().map(known).sum::<f32>() * share() / channels as f32;
    if mean > 0.0 {
        all.iter_mut().flatten().for_each(|p| *p /= mean);
    }
    if let [luminance, colors @ ..] = &mut all[..]
        && let Some(least) = colors.iter().map(longer).reduce(f32::min)
        && longer(luminance) < GRAIN * least
    {
        // If a camera amplifies one colour much more than the other, luminance has more noise than the weaker one.
        let both = colors.iter().map(longer).product::<f32>().sqrt();
        let most = (LUMINANCE * least).max(BOTH * both).max(finer(luminance));
        luminance.iter_mut().for_each(|p| *p = p.min(most));
    }
    if lowest.len() > 100 {
        let at = lowest.len() / 100;
        let (_, low, _) = lowest.select_nth_unstable_by(at, f32::total_cmp);
        let most = *low / low_1(&all[0]);
        limit(&mut all[0], most);
    }
    let found: Vec<(Spectrum, f32)> = all.into_iter().map(Spectrum::normalised).collect();
    // Scales the curves so that normalised values have standard deviation 1 on average.
    let scale = found.iter().map(|f| f.1).sum::<f32>() / channels as f32;
    let scale = scale.sqrt().max(1e-6);
    for d in profile.deviations.iter_mut().flatten() {
        *d *= scale;
    }
    for (component, (spectrum, mean)) in profile.components.iter_mut().zip(found) {
        *component = Component {
            deviation: mean.sqrt() / scale,
            spectrum,
        };
    }
}

/// Clamps a spectrum so that its mean without the longest waves is at most `most`: texture adds more power at some waves than
/// at others.
fn limit(powers: &mut [f32; AREA], most: f32) {
    let mean = |level: f32| {
        let all = (0..AREA).filter(middle).map(|f| powers[f].min(level));
        all.sum::<f32>() * share()
    };
    let (mut low, mut high) = (0.0, powers.iter().fold(0.0f32, |m, p| m.max(*p)));
    // The curves are not exact, so the powers of blocks are spread slightly more than those of noise.
    if mean(high) <= 1.35 * most {
        return;
    }
    for _ in 0..40 {
        let level = 0.5 * (low + high);
        if mean(level) > most {
            high = level;
        } else {
            low = level;
        }
    }
    powers.iter_mut().for_each(|p| *p = p.min(high));
}

/// The maximum ratio of luminance noise at long waves to that of the colour difference with less of it, and to the geometric
/// mean of both.
const LUMINANCE: f32 = 1.4;
const BOTH: f32 = 1.2;

/// Above this ratio, luminance has noise of its own, such as film grain.
const GRAIN: f32 = 50.0;

/// The mean power of long waves: of 8 and more pixels.
fn longer(powers: &[f32; AREA]) -> f32 {
    let long = |k: &usize| (1..3).contains(&(k / SIDE).max(k % SIDE));
    let all: Vec<f32> = (0..AREA).filter(long).map(|k| powers[k]).collect();
    all.iter().sum::<f32>() / all.len() as f32
}

/// The mean power of short waves: of 4 and fewer pixels. Texture has little of it, but noise whose colour JPEG has removed, by
/// 4:2:0 and coarse quantisation, has.
fn finer(powers: &[f32; AREA]) -> f32 {
    let short = |k: &usize| (k / SIDE).max(k % SIDE) >= 4;
    let all: Vec<f32> = (0..AREA).filter(short).map(|k| powers[k]).collect();
    all.iter().sum::<f32>() / all.len() as f32
}

/// The mean power of smooth blocks at each frequency. Blocks with much more power than the others are clamped to nine times the
/// median.
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
    // Smooth areas are ramps, which have long waves. These are extrapolated from the next frequencies.
    let next = (at(0, 2) + at(2, 0) + at(1, 2) + at(2, 1) + at(2, 2)) / 5.0;
    let further = (at(0, 3) + at(3, 0) + at(1, 3) + at(3, 1) + at(2, 3) + at(3, 2)) / 6.0;
    let rise = (next / further.max(f32::MIN_POSITIVE)).clamp(1.0, 2.5);
    powers[0] = (at(0, 1) + at(1, 0) + at(1, 1)) / 3.0;
    for k in [0, 1, SIDE, SIDE + 1] {
        powers[k] = powers[k].min(1.1 * rise * next);
    }
    powers
}
