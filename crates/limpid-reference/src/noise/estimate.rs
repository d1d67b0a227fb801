//! Estimates the profile of an image from blocks of 8×8 pixels with little detail.
//!
//! - Blocks are chosen by what is around them at long waves, and measured at shorter ones (`super::flat`).
//! - In blocks of one brightness their mean power is the noise there, up to a factor (`super::curves`). Blocks with clipped
//!   pixels have less noise than others of their brightness, and are ignored.
//! - Channels are divided by those curves. The mean spectra of all even blocks are those of noise and texture.
//! - What is texture is decided by what noise cannot look like (`super::texture`).

use super::blocks::{AREA, Cosine, Grid, ends, pixels, power, sampled};
use super::curves::{Curves, curves};
use super::flat::{Band, BlockFacts, clamped, even, near, unevenness};
use super::texture::{Colour, Light, without_texture};
use super::{Component, Profile, SIDE, Spectrum};
use crate::definition::noise;
use crate::definition::shrink::OPPONENT;
use limpid_core::Image;

/// The minimum number of even blocks.
pub(super) const FEW: usize = 256;

/// Sum of frequencies above which a block's power counts as noise.
const MIDDLE: usize = 3;

/// How much more power than at the quietest places of the same brightness noise may have in even blocks.
const QUIET: f32 = 1.2;

/// Where the grids of blocks begin that small images are measured on. In small images that are all texture the result depends on
/// where the blocks are; the least noise is believed.
const FIRSTS: [(usize, usize); 4] = [(0, 0), (2, 1), (1, 3), (3, 2)];

/// Images with fewer pixels are small.
const SMALL: usize = 1 << 17;

/// Deviations below this share of the largest value count as noise-free.
const LEAST: f32 = 1e-5;

impl Profile {
    /// Measures the profile of a grey or colour image. Images that are too small get white noise.
    ///
    /// Where noise and texture cannot be told apart, the profile has less noise, or none.
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
        let ends: Vec<[f32; 2]> = (0..channels).map(|c| ends(image, c)).collect();
        let small = image.size().pixels() < SMALL;
        let firsts = &FIRSTS[..if small { FIRSTS.len() } else { 1 }];
        let found = firsts
            .iter()
            .filter_map(|first| Self::on(image, &Grid::new(image, *first), &ends));
        found
            .min_by(|a, b| a.strength().total_cmp(&b.strength()))
            .unwrap_or_else(white)
    }

    /// Measures on a grid of blocks.
    fn on(image: &Image, grid: &Grid, ends: &[[f32; 2]]) -> Option<Self> {
        let channels = image.channels();
        let found = curves(image, grid, ends)?;
        let Curves {
            range,
            deviations,
            whole,
            blank,
        } = found;
        let mut profile = Self {
            range,
            deviations,
            components: Self::white(1.0, channels).components,
        };
        spectra(image, grid, (&whole, &blank), &mut profile);
        let least = (LEAST * range[0].abs().max(range[1].abs())).max(1e-9);
        for d in profile.deviations.iter_mut().flatten() {
            *d = d.max(least);
        }
        Some(profile)
    }
}

/// Whether a frequency is not among the longest waves.
pub(super) fn middle(k: &usize) -> bool {
    k / SIDE + k % SIDE >= MIDDLE
}

/// Weights for the mean power of those frequencies.
pub(super) fn middles() -> [f32; AREA] {
    let share = 1.0 / (0..AREA).filter(middle).count() as f32;
    std::array::from_fn(|k| if middle(&k) { share } else { 0.0 })
}

/// Scales the curves of a profile and measures its components.
fn spectra(image: &Image, grid: &Grid, (whole, blank): (&[usize], &[bool]), profile: &mut Profile) {
    let cosine = Cosine::new();
    let channels = image.channels();
    let stabiliser = profile.stabiliser(&[1.0; 3][..channels]);
    // Luminance or a colour difference of a block, of one channel the channel itself.
    let of = |k: usize, block: usize| -> [f32; AREA] {
        let at = grid.corner(block);
        let settled = |c: usize| pixels(image, c, at).map(|v| stabiliser.value(c, v));
        if channels == 1 {
            return cosine.block(&settled(0));
        }
        let mut sum = [0.0; AREA];
        for c in 0..channels {
            let by = OPPONENT[k][c];
            (sum.iter_mut().zip(settled(c))).for_each(|(s, v)| *s += by * v);
        }
        cosine.block(&sum)
    };
    let middles = middles();
    let light: Vec<(f32, f32)> = grid.each(|block| {
        let found = of(0, block);
        (found[0] / SIDE as f32, power(&found, &middles))
    });
    let (means, powers): (Vec<f32>, Vec<f32>) = light.into_iter().unzip();
    let uneven = unevenness(grid, &means);
    let mut sorted = whole.to_vec();
    sorted.sort_unstable_by(|a, b| uneven[*a].total_cmp(&uneven[*b]));
    let known = BlockFacts {
        middles: &powers,
        near: &near(grid, &powers),
        blank,
    };
    let even = even(&sorted, &known, &|block| of(0, block));
    let colours: Vec<Colour> = (1..channels)
        .map(|k| {
            let means = grid.each(|block| of(k, block)[0] / SIDE as f32);
            let mut powers = super::flat::spectrum(&even.blocks, &|block| of(k, block));
            // Colour noise is coarser than a block. The longest waves are measured among blocks; a ramp is not among them.
            let long = clamped(&even.blocks, &unevenness(grid, &means));
            powers[0] = long.min(2.0 * (powers[1] + powers[SIDE]));
            Colour {
                powers,
                own: own(&even.blocks, |b| of(0, b), |b| of(k, b)),
            }
        })
        .collect();
    let spread = spread(&even.blocks, &even.powers, |b| of(0, b));
    let detail = |block: usize| {
        let mut found = of(0, block);
        for k in (0..AREA).filter(|k| !Band::Middle.has(*k) && !Band::Short.has(*k)) {
            found[k] = 0.0;
        }
        cosine.pixels(&found)
    };
    let light = Light {
        powers: even.powers,
        skew: skewness(&even.blocks, detail),
        spread,
    };
    // The curves were measured in the quietest blocks of each brightness. Where even blocks have much more, it is texture.
    let each = |powers: &[f32; AREA]| super::flat::mean(powers, |k| middle(&k));
    let total = each(&light.powers) + colours.iter().map(|c| each(&c.powers)).sum::<f32>();
    let excess = (total / channels as f32 / QUIET).max(1.0);
    let all = without_texture(&light, colours);
    let found: Vec<(Spectrum, f32)> = all.into_iter().map(Spectrum::normalised).collect();
    // Scales the curves so that normalised values have standard deviation 1 on average.
    let scale = found.iter().map(|f| f.1).sum::<f32>() / channels as f32;
    let scale = scale.sqrt().max(1e-6);
    for d in profile.deviations.iter_mut().flatten() {
        *d *= scale * emptied(spread) / excess.sqrt();
    }
    for (component, (spectrum, mean)) in profile.components.iter_mut().zip(found) {
        *component = Component {
            deviation: mean.sqrt() / scale,
            spectrum,
        };
    }
}

/// The power at long waves of a colour difference that does not follow luminance, relative to that of luminance.
fn own(
    blocks: &[usize],
    light: impl Fn(usize) -> [f32; AREA],
    colour: impl Fn(usize) -> [f32; AREA],
) -> f32 {
    let (mut both, mut lights, mut colours) = (0.0f64, 0.0f64, 0.0f64);
    for block in blocks {
        let (light, colour) = (light(*block), colour(*block));
        for k in (0..AREA).filter(|k| Band::Long.has(*k)) {
            let (l, c) = (f64::from(light[k]), f64::from(colour[k]));
            both += l * c;
            lights += l * l;
            colours += c * c;
        }
    }
    if lights <= 0.0 {
        return 0.0;
    }
    ((colours - both * both / lights) / lights).max(0.0) as f32
}

/// The skewness of the pixels of blocks with a mean of 0.
fn skewness(blocks: &[usize], of: impl Fn(usize) -> [f32; AREA]) -> f32 {
    let (mut squares, mut cubes, mut count) = (0.0f64, 0.0f64, 0.0f64);
    for block in blocks {
        for v in of(*block) {
            let v = f64::from(v);
            squares += v * v;
            cubes += v * v * v;
            count += 1.0;
        }
    }
    if squares <= 0.0 {
        return 0.0;
    }
    ((cubes / count) / (squares / count).powf(1.5)) as f32
}

/// How unequal the powers of blocks are: the mean of their squares, each at most six means; 2.7 for Gaussian noise.
fn spread(blocks: &[usize], means: &[f32; AREA], of: impl Fn(usize) -> [f32; AREA]) -> f32 {
    let (mut sum, mut count) = (0.0f64, 0.0f64);
    for block in blocks {
        let found = of(*block);
        for k in (0..AREA).filter(|k| Band::Middle.has(*k) || Band::Short.has(*k)) {
            let relative = (found[k] * found[k] / means[k].max(f32::MIN_POSITIVE)).min(6.0);
            sum += f64::from(relative * relative);
            count += 1.0;
        }
    }
    (sum / count.max(1.0)) as f32
}

/// JPEG and cameras remove part of the noise from even blocks, not from others. The remaining powers are unequal, which tells
/// how much: fitted on half of the scenes of PolyU's set (`bench/peers/polyu.py`).
fn emptied(spread: f32) -> f32 {
    1.0 + 0.35 * ((spread - 3.0) / 0.7).clamp(0.0, 1.0)
}
