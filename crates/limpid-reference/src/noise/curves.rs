//! The strength of noise at each brightness, up to a factor.

use super::blocks::{AREA, Cosine, Grid, clipped, pixels, power};
use super::estimate::middles;
use super::flat::{Band, BlockFacts, even, near, rise, spectrum, unevenness};
use super::{SIDE, estimate};
use limpid_core::Image;

/// Steps of brightness.
const BINS: usize = 16;

/// The minimum number of even blocks of a brightness.
const FEW: usize = 16;

/// The weight of the shape that all channels have in common, relative to the best measurement of one of them.
const COMMON: f64 = 0.3;

/// What the blocks of an image tell.
pub(super) struct Curves {
    pub range: [f32; 2],
    /// For each channel, the standard deviation of noise without the longest waves.
    pub deviations: Vec<Vec<f32>>,
    /// The blocks in which no channel is clipped or near the ends of the range; more if they are few.
    pub whole: Vec<usize>,
    /// For each block, whether hardly anything varies there.
    pub blank: Vec<bool>,
}

/// The deviation, relative to the range of an image, below which a block is blank: less than one of 255 steps.
const BLANK: f32 = 0.8 / 255.0;

/// The measurements of a channel of a block.
struct ChannelStatistics {
    mean: f32,
    clipped: bool,
    /// Mean power without the longest waves.
    middle: f32,
}

/// Measures the noise of each channel over the range of its values.
pub(super) fn curves(image: &Image, grid: &Grid, ends: &[[f32; 2]]) -> Option<Curves> {
    let cosine = Cosine::new();
    let middles = middles();
    let channels = image.channels();
    let of = |c: usize, block: usize| cosine.block(&pixels(image, c, grid.corner(block)));
    let light = |block: usize| {
        let mut sum = of(0, block);
        for c in 1..channels {
            let more = of(c, block);
            (sum.iter_mut().zip(more)).for_each(|(s, m)| *s += m);
        }
        sum
    };
    let seen: Vec<Vec<ChannelStatistics>> = (0..channels)
        .map(|c| {
            grid.each(|block| {
                let pixels = pixels(image, c, grid.corner(block));
                let found = cosine.block(&pixels);
                ChannelStatistics {
                    mean: found[0] / SIDE as f32,
                    clipped: clipped(&pixels, ends[c]),
                    middle: power(&found, &middles),
                }
            })
        })
        .collect();
    let means: Vec<f32> = (0..grid.count())
        .map(|block| seen.iter().map(|s| s[block].mean).sum())
        .collect();
    let uneven = unevenness(grid, &means);
    let powers = grid.each(|block| power(&light(block), &middles));
    let mut sorted: Vec<usize> = (0..grid.count()).collect();
    sorted.sort_unstable_by(|a, b| uneven[*a].total_cmp(&uneven[*b]));
    let span = ends
        .iter()
        .fold([f32::MAX, f32::MIN], |[l, h], [low, high]| {
            [l.min(*low), h.max(*high)]
        });
    let least = (BLANK * (span[1] - span[0]) * channels as f32).powi(2);
    let blank: Vec<bool> = powers.iter().map(|p| *p < least).collect();
    let known = BlockFacts {
        middles: &powers,
        near: &near(grid, &powers),
        blank: &blank,
    };
    let chosen = even(&sorted, &known, &light);
    let (first, width) = bins(&seen);
    let range = [first + 0.5 * width, first + (BINS as f32 - 0.5) * width];
    let bin = |v: f32| ((v - first) / width).clamp(0.0, (BINS - 1) as f32) as usize;
    let found: Vec<Vec<Option<Measured>>> = (seen.iter().enumerate())
        .map(|(c, channel)| {
            let whole = channel.iter().filter(|s| !s.clipped).count();
            let few = whole < channel.len() / 20;
            let mut bins = vec![Vec::new(); BINS];
            for block in sorted.iter().filter(|b| few || !channel[**b].clipped) {
                bins[bin(channel[*block].mean)].push(*block);
            }
            let middles: Vec<f32> = channel.iter().map(|s| s.middle).collect();
            let known = BlockFacts {
                middles: &middles,
                near: &near(grid, &middles),
                blank: &blank,
            };
            let usual = EvenNoise::new(&chosen.blocks, &middles, &|b| of(c, b));
            let one = |blocks: Vec<usize>| {
                let point = point(&blocks, (chosen.share, &usual), &known, &|b| of(c, b))?;
                Some((point, blocks.len()))
            };
            bins.into_iter().map(one).collect()
        })
        .collect();
    let [low, high] = range;
    let room = 0.03 * (high - low);
    let below = |most: f32| -> Vec<usize> {
        let within = |s: &ChannelStatistics| !s.clipped && s.mean >= low + room && s.mean < most;
        let usable = |block: &usize| seen.iter().all(|s| within(&s[*block]));
        (0..grid.count()).filter(usable).collect()
    };
    let mut whole = below(high - room);
    // The paper of a page is brighter than all else, and most of it.
    let all = below(f32::MAX);
    if 2 * whole.len() < all.len() {
        whole = all;
    }
    if whole.len() < estimate::FEW.max(grid.count() / 20) {
        whole = (0..grid.count()).collect();
    }
    let mut deviations = fitted(&found)?;
    let darkest = ends
        .iter()
        .fold(f32::MAX, |low, [first, _]| low.min(*first));
    for curve in &mut deviations {
        limit_growth(curve, range, darkest);
    }
    // Within the noise itself a curve has no shape that could be known, and what follows from its slope would be wrong outside.
    for curve in &mut deviations {
        let mean = curve.iter().sum::<f32>() / curve.len() as f32;
        if high - low < 2.0 * mean {
            curve.fill(mean);
        }
    }
    Some(Curves {
        range,
        deviations,
        whole,
        blank,
    })
}

/// The first value of the bins, and their width.
fn bins(seen: &[Vec<ChannelStatistics>]) -> (f32, f32) {
    let mut means: Vec<f32> = seen.iter().flatten().map(|s| s.mean).collect();
    let most = (means.len() - 1) * 999 / 1000;
    let (below, high, _) = means.select_nth_unstable_by(most, f32::total_cmp);
    let high = *high;
    let low = below.iter().fold(high, |low, v| low.min(*v));
    let room = (0.02 * (high - low)).max(1e-3 * high.abs()).max(1e-6);
    (low - room, (high - low + 2.0 * room) / BINS as f32)
}

/// The logarithm of a deviation, and its weight.
type Point = (f64, f64);

/// A point, and the number of blocks of its brightness.
type Measured = (Point, usize);

/// Ranges of short waves, and their powers relative to middle ones from which and at which they tell how much noise there is: if a
/// camera has blurred them they tell nothing.
const SHORT: [(Band, f32, f32); 2] = [(Band::Short, 0.4, 0.7), (Band::Finest, 0.3, 0.5)];

/// Noise at a brightness may be this much stronger than its quietest blocks tell, which are few.
const QUIET: f32 = 1.1;

/// The noise of a channel in even blocks of any brightness. If at one brightness more is added to long waves than to short ones, or
/// to some blocks than to others, it is texture.
struct EvenNoise {
    /// For each range of short waves: its power, relative to that of all but the longest, and how much it tells, 0 to 1.
    shares: [(f32, f32); 2],
    /// The power of the quietest blocks, relative to the mean.
    low: f32,
}

impl EvenNoise {
    fn new(blocks: &[usize], middles: &[f32], of: &(impl Fn(usize) -> [f32; AREA] + Sync)) -> Self {
        let powers = spectrum(blocks, of);
        let all = total(&powers).max(f32::MIN_POSITIVE);
        let middle = Band::Middle.mean(&powers).max(f32::MIN_POSITIVE);
        let share = |(band, least, most): (Band, f32, f32)| {
            let power = band.mean(&powers);
            let tells = ((power / middle - least) / (most - least)).clamp(0.0, 1.0);
            ((power / all).max(f32::MIN_POSITIVE), tells)
        };
        Self {
            shares: SHORT.map(share),
            low: (low(blocks, middles) / all).max(f32::MIN_POSITIVE),
        }
    }

    /// The power of noise in blocks of one brightness, whose quietest have the power `low`.
    fn limited(&self, powers: &[f32; AREA], low: f32) -> f32 {
        let all = total(powers);
        let limit = |((band, ..), (share, tells)): (&(Band, f32, f32), &(f32, f32))| {
            let most = band.mean(powers) / share;
            all.powf(1.0 - tells) * all.min(most).powf(*tells)
        };
        let limits = SHORT.iter().zip(&self.shares).map(limit);
        limits.fold(all.min(QUIET * low / self.low), f32::min)
    }
}

/// The value that a fifth of some blocks does not reach.
fn low(blocks: &[usize], values: &[f32]) -> f32 {
    let mut all: Vec<f32> = blocks.iter().map(|b| values[*b]).collect();
    let at = all.len() / 5;
    match all.is_empty() {
        true => 0.0,
        false => *all.select_nth_unstable_by(at, f32::total_cmp).1,
    }
}

/// The mean power without the longest waves.
fn total(powers: &[f32; AREA]) -> f32 {
    super::flat::mean(powers, |k| estimate::middle(&k))
}

/// The deviation in blocks of one brightness, sorted by unevenness.
fn point(
    blocks: &[usize],
    (share, usual): (f32, &EvenNoise),
    known: &BlockFacts<'_>,
    of: &(impl Fn(usize) -> [f32; AREA] + Sync),
) -> Option<Point> {
    if blocks.len() < 2 * FEW {
        return None;
    }
    let count = ((share * blocks.len() as f32) as usize).max(FEW);
    let used = known.typical(&blocks[..count]);
    let powers = spectrum(&used, of);
    let power = f64::from(usual.limited(&powers, low(&used, known.middles)));
    // Where the spectrum rises much there is texture.
    let trust = ((6.0 - rise(&powers)) / 4.0).clamp(0.02, 1.0);
    let sure = (used.len() as f64).sqrt() * f64::from(trust);
    Some((power.sqrt().max(1e-9).ln(), sure))
}

/// The logarithm of how much less noise than usual there may be: where values are constant, they are clipped or painted.
const LEAST: f64 = 2.0;

/// The logarithm of how much more noise than in most of the picture there may be at a brightness, and the weight of what is above:
/// values between those of a page and of its text occur at edges only.
const MOST: (f64, f64) = (1.8, 0.02);

/// The points, limited by the noise of most blocks.
fn believable(found: &[Vec<Option<Measured>>]) -> Vec<Vec<Option<Point>>> {
    let mut all: Vec<(f64, usize)> = (found.iter().flatten().flatten())
        .map(|((y, _), blocks)| (*y, *blocks))
        .collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = all.iter().map(|(_, blocks)| blocks).sum::<usize>() / 2;
    let mut below = 0;
    let middle = all.iter().find(|(_, blocks)| {
        below += blocks;
        below >= half
    });
    let top = middle.map_or(f64::MAX, |(y, _)| y + MOST.0);
    let limited = |point: &Option<Measured>| {
        point.map(|((y, w), _)| match y > top {
            true => (top, MOST.1 * w),
            false => (y, w),
        })
    };
    let channel = |points: &Vec<Option<Measured>>| points.iter().map(limited).collect();
    found.iter().map(channel).collect()
}

/// Curves of all channels. Their shape comes from the same display curve and is similar, so that each is drawn towards what
/// they have in common.
fn fitted(found: &[Vec<Option<Measured>>]) -> Option<Vec<Vec<f32>>> {
    let found = believable(found);
    let most = found
        .iter()
        .flatten()
        .flatten()
        .fold(0.0f64, |m, p| m.max(p.1));
    if most == 0.0 {
        return None;
    }
    let mut values: Vec<f64> = found.iter().flatten().flatten().map(|p| p.0).collect();
    values.sort_unstable_by(f64::total_cmp);
    let least = values[values.len() / 2] - LEAST;
    let raised = |p: &Option<Point>| p.map(|(y, w)| (y.max(least), w));
    let found: Vec<Vec<Option<Point>>> = found
        .iter()
        .map(|channel| channel.iter().map(raised).collect())
        .collect();
    let mut offsets = vec![0.0; found.len()];
    let mut common = vec![0.0; BINS];
    for _ in 0..3 {
        let joined = |b: usize| -> Option<Point> {
            let (mut sum, mut weight) = (0.0, 0.0);
            for (channel, offset) in found.iter().zip(&offsets) {
                if let Some((y, w)) = channel[b] {
                    sum += w * (y - offset);
                    weight += w;
                }
            }
            (weight > 0.0).then(|| (sum / weight, weight))
        };
        common = smooth(&(0..BINS).map(joined).collect::<Vec<_>>())?;
        for (channel, offset) in found.iter().zip(&mut offsets) {
            let (mut sum, mut weight) = (0.0, 0.0);
            for (point, c) in channel.iter().zip(&common) {
                if let Some((y, w)) = point {
                    sum += w * (y - c);
                    weight += w;
                }
            }
            *offset = if weight > 0.0 { sum / weight } else { 0.0 };
        }
    }
    let own = |(channel, offset): (&Vec<Option<Point>>, &f64)| {
        let points: Vec<Option<Point>> = (channel.iter().zip(&common))
            .map(|(point, c)| {
                let (y, w) = point.unwrap_or((0.0, 0.0));
                let weight = w + COMMON * most;
                Some(((w * y + COMMON * most * (c + offset)) / weight, weight))
            })
            .collect();
        let curve = smooth(&points)?;
        Some(curve.into_iter().map(|z| z.exp() as f32).collect())
    };
    found.iter().zip(&offsets).map(own).collect()
}

/// How much faster than that of counted photons, with the root of brightness, noise may grow. Display curves grow less; where noise
/// seems to grow more, it is texture. On real pairs it is at most 1.5.
const GROWTH: f32 = 1.5;

/// Limits noise by that of darker values.
fn limit_growth(curve: &mut [f32], [first, last]: [f32; 2], darkest: f32) {
    let count = curve.len();
    let step = (last - first) / (count - 1).max(1) as f32;
    // From the middle of the first bin, which is at the darkest values.
    let light = |bin: usize| (first + bin as f32 * step - darkest.min(first)).max(0.5 * step);
    let mut most = f32::MAX;
    for bin in 0..count {
        let root = light(bin).sqrt();
        curve[bin] = curve[bin].min(most * root);
        most = most.min(GROWTH * curve[bin] / root);
    }
}

/// A smooth curve along the lower of some values (asymmetric least squares, Eilers 2003).
fn smooth(found: &[Option<Point>]) -> Option<Vec<f64>> {
    const SMOOTHNESS: f64 = 1.0;
    const ABOVE: f64 = 0.3;
    // What is further above is texture.
    const NEAR: f64 = 0.2;
    const ROUNDS: usize = 12;
    let n = found.len();
    let most = found.iter().flatten().fold(0.0f64, |m, f| m.max(f.1));
    if most == 0.0 {
        return None;
    }
    let known = |i: usize| found[i].map_or((0.0, 0.0), |(y, w)| (y, w / most));
    let (low, high) =
        (found.iter().flatten()).fold((f64::MAX, f64::MIN), |(l, h), f| (l.min(f.0), h.max(f.0)));
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
            let far = ((y - z[i]) / NEAR).max(1.0);
            let weight = sure
                * if y > z[i] {
                    ABOVE / (far * far)
                } else {
                    1.0 - ABOVE
                };
            row[i] += weight + 1e-9;
            row[n] = weight * y + 1e-9 * low;
        }
        z = solve(matrix);
    }
    Some(z.into_iter().map(|z| z.clamp(low, high)).collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Ink and paper with a deviation of 3, and few blocks in between, with edges.
    #[test]
    fn few_blocks_with_edges_do_not_raise_the_noise_of_paper() {
        let at = |bin: usize| match bin {
            0 => Some(((3.0f64.ln(), 8.0), 100)),
            15 => Some(((3.0f64.ln(), 20.0), 3000)),
            8..=14 => Some(((60.0f64.ln(), 6.0), 40)),
            _ => None,
        };
        let found: Vec<Vec<Option<Measured>>> = vec![(0..BINS).map(at).collect(); 3];
        let curves = fitted(&found).unwrap();
        for curve in &curves {
            assert!(curve[15] < 5.0 && curve[0] < 5.0, "{curve:?}");
            let most = 3.0 * MOST.0.exp() as f32;
            assert!(curve.iter().all(|d| *d < 1.01 * most), "{curve:?}");
        }
    }

    /// Leaves of middle brightness behind dark suits and under a white sky: measured in a photograph, of 255.
    #[test]
    fn noise_grows_no_faster_than_light() {
        let leaves = [
            2.3, 3.9, 7.1, 12.5, 19.9, 27.3, 32.3, 33.9, 31.4, 25.5, 18.3, 11.8, 7.5, 4.9, 3.2, 2.1,
        ];
        let mut limited = leaves;
        limit_growth(&mut limited, [8.0, 247.0], 0.0);
        assert!(limited.iter().all(|d| *d < 21.0), "{limited:?}");
        assert_eq!(limited[0], leaves[0]);
        assert_eq!(limited[15], leaves[15]);
        // Photons with the noise of reading, and what a display curve makes of it, stay as they are.
        let of = |noise: &dyn Fn(f32) -> f32| -> [f32; BINS] {
            std::array::from_fn(|bin| noise((bin as f32 + 0.5) / BINS as f32))
        };
        let photons = of(&|v| (0.01 * v + 1e-4).sqrt());
        let shown = of(&|v| (0.01 * v.powf(2.2) + 1e-5).sqrt() / (2.2 * v.powf(1.2)));
        for curve in [photons, shown] {
            let mut same = curve;
            limit_growth(&mut same, [0.5 / BINS as f32, 1.0 - 0.5 / BINS as f32], 0.0);
            assert_eq!(same, curve);
        }
    }
}
