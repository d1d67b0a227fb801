//! Which blocks show noise and little else.
//!
//! Blocks are ranked by how uneven the picture is around them at wavelengths of 16 pixels and more; the noise is measured at
//! shorter ones. Noise there does not influence the rank, so that choosing even blocks does not choose low noise.

use super::SIDE;
use super::blocks::{AREA, Grid};
use limpid_core::memory;
use rayon::prelude::*;

/// Shares of all blocks that may count as even.
const SHARES: [f32; 5] = [0.03, 0.06, 0.12, 0.2, 0.3];

/// Blocks in which hardly anything varies, with less than this share of the mean power, were emptied by a JPEG encoder.
const EMPTY: f32 = 0.15;

/// More blocks are taken as long as their spectrum rises towards long waves, and their power is, at most this much more than
/// in the most even ones: where there is texture, both grow.
const RISES: f32 = 1.2;
const GROWS: f32 = 1.4;

/// The spectrum of blocks after empty ones may rise this much.
const MOST: f32 = 3.0;

/// The part of even blocks that is measured, sorted by the power around them.
const TYPICAL: [f32; 2] = [0.2, 0.7];

/// Single values count as at most this many means: a few blocks have edges.
const CLAMP: f32 = 6.0;

/// A range of wavelengths: frequencies of a block by their distance from its mean.
#[derive(Debug, Clone, Copy)]
pub(super) enum Band {
    /// 7 pixels and more, without the mean.
    Long,
    /// 4 to 7 pixels.
    Middle,
    /// 2.7 to 4 pixels.
    Short,
    /// Less.
    Finest,
}

impl Band {
    /// Whether it contains a frequency.
    pub(super) fn has(self, k: usize) -> bool {
        let square = (k / SIDE) * (k / SIDE) + (k % SIDE) * (k % SIDE);
        match self {
            Self::Long => (1..=6).contains(&square),
            Self::Middle => (7..16).contains(&square),
            Self::Short => (16..36).contains(&square),
            Self::Finest => square >= 36,
        }
    }

    /// The mean of powers in it.
    pub(super) fn mean(self, powers: &[f32; AREA]) -> f32 {
        mean(powers, |k| self.has(k))
    }
}

/// The mean of some powers.
pub(super) fn mean(powers: &[f32; AREA], which: impl Fn(usize) -> bool) -> f32 {
    let (mut sum, mut count) = (0.0, 0.0f32);
    for k in (0..AREA).filter(|k| which(*k)) {
        sum += powers[k];
        count += 1.0;
    }
    sum / count.max(1.0)
}

/// How much a spectrum rises from middle to long waves. Neither frequency sees a ramp. Noise of any camera rises 1 to 2 times
/// (its pixels are independent before demosaicing), texture 3 times and more.
pub(super) fn rise(powers: &[f32; AREA]) -> f32 {
    powers[SIDE + 1] / Band::Middle.mean(powers).max(f32::MIN_POSITIVE)
}

/// For each block, the power of the means of the nine blocks there, without that of a plane, as the power of one frequency.
pub(super) fn unevenness(grid: &Grid, means: &[f32]) -> Vec<f32> {
    grid.each(|block| {
        let near = grid.neighbours(block);
        let own = means[block];
        let (mut sum, mut squares, mut slopes) = (0.0, 0.0, [0.0; 2]);
        for (k, at) in near.into_iter().enumerate() {
            let v = means[at] - own;
            sum += v;
            squares += v * v;
            slopes[0] += v * (k as f32 % 3.0 - 1.0);
            slopes[1] += v * ((k / 3) as f32 - 1.0);
        }
        let plane = sum * sum / 9.0 + (slopes[0] * slopes[0] + slopes[1] * slopes[1]) / 6.0;
        (squares - plane).max(0.0) / 6.0 * AREA as f32
    })
}

/// The mean power of blocks at each frequency, in which single blocks count for little.
pub(super) fn spectrum(
    blocks: &[usize],
    of: &(impl Fn(usize) -> [f32; AREA] + Sync),
) -> [f32; AREA] {
    let mut all: Vec<[f32; AREA]> = memory::zeros(blocks.len());
    let pairs = all.par_iter_mut().zip(blocks);
    pairs.for_each(|(powers, block)| *powers = of(*block).map(|v| v * v));
    let mut most = [f32::MAX; AREA];
    let mut found = [0.0; AREA];
    for _ in 0..5 {
        let mut sums = [0.0f64; AREA];
        for powers in &all {
            for k in 0..AREA {
                sums[k] += f64::from(powers[k].min(most[k]));
            }
        }
        found = sums.map(|s| (s / all.len().max(1) as f64) as f32);
        most = found.map(|v| CLAMP * v);
    }
    found
}

/// The mean of values of blocks, clamped likewise.
pub(super) fn clamped(blocks: &[usize], values: &[f32]) -> f32 {
    let (mut most, mut found) = (f32::MAX, 0.0);
    for _ in 0..5 {
        let sum: f64 = blocks.iter().map(|b| f64::from(values[*b].min(most))).sum();
        found = (sum / blocks.len().max(1) as f64) as f32;
        most = CLAMP * found;
    }
    found
}

/// What is known of each block.
pub(super) struct BlockFacts<'a> {
    /// The power without the longest waves.
    pub middles: &'a [f32],
    /// The mean of that in the eight blocks around it.
    pub near: &'a [f32],
    /// Whether hardly anything varies there.
    pub blank: &'a [bool],
}

/// The mean of a value in the eight blocks around each block.
pub(super) fn near(grid: &Grid, values: &[f32]) -> Vec<f32> {
    grid.each(|block| {
        let sum: f32 = grid.neighbours(block).iter().map(|b| values[*b]).sum();
        (sum - values[block]) / 8.0
    })
}

impl BlockFacts<'_> {
    /// The blocks that are not empty.
    fn filled(&self, blocks: &[usize]) -> Vec<usize> {
        let mut left = blocks.to_vec();
        for _ in 0..3 {
            let sum: f64 = left.iter().map(|b| f64::from(self.middles[*b])).sum();
            let least = EMPTY * (sum / left.len().max(1) as f64) as f32;
            let keep = |b: &usize| !self.blank[*b] || self.middles[*b] >= least;
            left = blocks.iter().copied().filter(keep).collect();
        }
        left
    }

    /// Those of them whose surroundings are neither among the strongest, which may be texture without long waves such as
    /// fabric, nor among the weakest.
    pub(super) fn typical(&self, blocks: &[usize]) -> Vec<usize> {
        let mut left = self.filled(blocks);
        if left.len() >= 12 {
            left.sort_unstable_by(|a, b| self.near[*a].total_cmp(&self.near[*b]));
            let at = |share: f32| (share * left.len() as f32) as usize;
            left = left[at(TYPICAL[0])..at(TYPICAL[1])].to_vec();
        }
        left
    }
}

/// The even blocks of a picture.
pub(super) struct Even {
    /// How many of all blocks they are, before empty ones are left out.
    pub share: f32,
    pub blocks: Vec<usize>,
    pub powers: [f32; AREA],
}

/// Chooses even blocks from those that are sorted by unevenness.
pub(super) fn even(
    sorted: &[usize],
    known: &BlockFacts<'_>,
    of: &(impl Fn(usize) -> [f32; AREA] + Sync),
) -> Even {
    let found = |blocks: &[usize]| spectrum(&known.filled(blocks), of);
    let total = |powers: &[f32; AREA]| mean(powers, |k| super::estimate::middle(&k));
    let count = |share: f32| {
        let wanted = (share * sorted.len() as f32) as usize;
        wanted.max(super::estimate::FEW).min(sorted.len())
    };
    let mut taken = count(SHARES[0]);
    let mut share = SHARES[0];
    let first = found(&sorted[..taken]);
    let (mut rises, mut power) = (rise(&first), total(&first));
    for next in &SHARES[1..] {
        let upto = count(*next);
        if upto > taken {
            let more = found(&sorted[taken..upto]);
            let (its_rise, its_power) = (rise(&more), total(&more));
            let blank = sorted[..taken].iter().filter(|b| known.blank[**b]).count();
            if power < EMPTY * its_power && 2 * blank > taken {
                if its_rise > MOST {
                    break;
                }
                (rises, power) = (its_rise, its_power);
            } else if its_rise > RISES * rises.max(1.0) || its_power > GROWS * power {
                break;
            }
        }
        (taken, share) = (upto, *next);
    }
    let blocks = known.typical(&sorted[..taken]);
    let powers = spectrum(&blocks, of);
    Even {
        share,
        blocks,
        powers,
    }
}
