//! The edge-avoiding à-trous filter (Dammertz 2010, section 2.2).
//!
//! At level `i` the taps lie `s = 2^i` pixels apart. For each pixel `p`, over its taps `q` inside the image,
//! `c_{i+1}(p) = Σ h(q) w(p,q) c_i(q) / Σ h(q) w(p,q)` (Eq. 2 and 3, with `c_i(q)` on the right), and
//! `w = exp(-|ΔI|²/(σ_c 2^-i)² - Σ |Δf|²/σ_f²)`: squared distances, as in the paper's listing. Normals and depth vary
//! along a surface, so their σ grows with the step.

use limpid_core::{Error, Image, Result};
use std::fmt;
use std::str::FromStr;

/// A feature whose edges stop the filter.
#[derive(Debug, Clone)]
pub struct Guide<'a> {
    /// The feature.
    pub image: &'a Image,
    /// Differences much larger than this stop the filter.
    pub sigma: f32,
    /// Whether σ grows with the distance between taps.
    pub widens: bool,
}

/// Border handling for taps outside the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Border {
    /// Taps outside have no weight.
    Zero,
    /// Taps outside are replaced by pixels close to the border, in the mirrored ascending order: a tap is looked up in the
    /// image split into even and odd pixels, and has no weight outside of that.
    Mirror,
    /// The same in the mirrored local order: sub-images are split in place.
    MirrorLocal,
}

impl fmt::Display for Border {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zero => "zero",
            Self::Mirror => "mirror",
            Self::MirrorLocal => "mirror-local",
        })
    }
}

impl FromStr for Border {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let all = [Self::Zero, Self::Mirror, Self::MirrorLocal];
        let found = all.into_iter().find(|border| border.to_string() == text);
        found.ok_or_else(|| Error::unknown("border", text, ["zero", "mirror", "mirror-local"]))
    }
}

/// Brightness is compared relative to the noise of the pixel: `exp(-Δ² / (2 k² v + least))`, with `v` from the first plane that
/// is filtered with squared weights. The noise of the tap is ignored, since a bright, noisy tap would be accepted everywhere;
/// with `energy`, which needs symmetric weights, `v` is the mean of both.
#[derive(Debug, Clone)]
pub struct Local<'a> {
    /// Number of standard deviations that count as equal.
    pub k: f32,
    /// Squared differences that always count as equal.
    pub least: f32,
    /// The brightness compared at the first level, with less noise, and its share of the variance.
    pub first: Option<(&'a Image, f32)>,
}

/// The filter's settings.
#[derive(Debug, Clone)]
pub struct Filter<'a> {
    /// The kernel `h` along one axis, an odd number of taps.
    pub taps: &'a [f32],
    /// Number of levels.
    pub levels: usize,
    /// σ of colour at level 0; half of it at each further level.
    pub color: Option<f32>,
    /// First level at which colour is compared: sub-sampled input must be filled before.
    pub color_from: usize,
    /// Samples are at multiples of this in x and y; other pixels of the input are ignored.
    pub grid: usize,
    /// The features.
    pub guides: Vec<Guide<'a>>,
    /// Borders.
    pub border: Border,
    /// Whether every pixel contributes as much as it receives, so that the sum over the image is preserved.
    pub energy: bool,
    /// Whether every level is stored in half precision.
    pub half: bool,
    /// Weights by the noise of the pixel, instead of σ of colour.
    pub local: Option<Local<'a>>,
    /// How the planes are weighted: `true` for variances, which are filtered with squared weights.
    pub squared: &'a [bool],
}

/// All levels `c_0 … c_N` of an image whose first `colors` planes are the colour that is compared.
pub fn levels(image: &Image, colors: usize, filter: &Filter<'_>) -> Vec<Image> {
    let mut all = vec![stored(image, filter.half)];
    for i in 0..filter.levels {
        let next = level(&all[i], colors, filter, i);
        all.push(stored(&next, filter.half));
    }
    all
}

/// `c_N + Σ g_i d_i` with the details `d_i = c_i - c_{i+1}`; with all gains 1 this is `c_0`.
pub fn synthesis(levels: &[Image], gains: &[f32]) -> Image {
    let mut out = levels[levels.len() - 1].clone();
    for (i, gain) in gains.iter().enumerate().take(levels.len() - 1) {
        for (k, o) in out.data_mut().iter_mut().enumerate() {
            *o += gain * (levels[i].data()[k] - levels[i + 1].data()[k]);
        }
    }
    out
}

/// One level.
pub fn level(c: &Image, colors: usize, filter: &Filter<'_>, i: usize) -> Image {
    let mut out = c.clone();
    let grid = if i == 0 { filter.grid } else { 1 };
    let factors = filter.energy.then(|| balance(c, colors, filter, i));
    for y in 0..c.height() {
        for x in 0..c.width() {
            let mut sums = vec![0.0; c.channels()];
            let mut weights = 0.0;
            // If no tap is similar enough, any nearby sample is better than none.
            let mut near = vec![0.0; c.channels()];
            let mut near_weights = 0.0;
            for (h, q) in taps(c, filter, i, [x, y]) {
                if q[0] % grid != 0 || q[1] % grid != 0 {
                    continue;
                }
                let factor = factors.as_ref().map_or(1.0, |f| f[q[1] * c.width() + q[0]]);
                let w = h * factor * weight(c, colors, filter, i, [x, y], q);
                weights += w;
                near_weights += h;
                for k in 0..c.channels() {
                    let v = f64::from(c.get(q[0], q[1], k));
                    sums[k] += if filter.squared[k] { w * w * v } else { w * v };
                    near[k] += h * v;
                }
            }
            for k in 0..c.channels() {
                if weights > LEAST {
                    let norm = if filter.squared[k] {
                        weights.powi(2)
                    } else {
                        weights
                    };
                    out.set(x, y, k, (sums[k] / norm) as f32);
                } else if near_weights > 0.0 {
                    out.set(x, y, k, (near[k] / near_weights) as f32);
                }
            }
        }
    }
    out
}

/// Sums of weights at or below this count as zero.
pub const LEAST: f64 = 1e-30;

/// `w(p, q)` at level `i`.
fn weight(
    c: &Image,
    colors: usize,
    filter: &Filter<'_>,
    i: usize,
    p: [usize; 2],
    q: [usize; 2],
) -> f64 {
    let step = (1u64 << i) as f64;
    let mut d = 0.0;
    if let Some(sigma) = filter.color.filter(|_| i >= filter.color_from) {
        d += distance(c, colors, p, q) / (f64::from(sigma) / step).powi(2);
    }
    if let Some(local) = &filter.local {
        let plane = filter.squared.iter().position(|s| *s).unwrap_or(0);
        let noise = |p: [usize; 2]| f64::from(c.get(p[0], p[1], plane));
        let noise = match filter.energy {
            true => 0.5 * (noise(p) + noise(q)),
            false => noise(p),
        };
        let bright = |p: [usize; 2]| {
            let sum = (0..colors)
                .map(|k| f64::from(c.get(p[0], p[1], k)))
                .sum::<f64>();
            sum / colors as f64
        };
        let (off, share) = match local.first.filter(|_| i == 0) {
            Some((image, share)) => {
                let at = |p: [usize; 2]| f64::from(image.get(p[0], p[1], 0));
                (at(p) - at(q), f64::from(share))
            }
            None => (bright(p) - bright(q), 1.0),
        };
        let square = 2.0 * f64::from(local.k).powi(2) * share;
        d += off * off / (square * noise + f64::from(local.least));
    }
    for g in &filter.guides {
        let sigma = f64::from(g.sigma) * if g.widens { step } else { 1.0 };
        d += distance(g.image, g.image.channels(), p, q) / sigma.powi(2);
    }
    (-d).exp()
}

/// The taps of a pixel: `h`, and the position of each.
fn taps(c: &Image, filter: &Filter<'_>, i: usize, p: [usize; 2]) -> Vec<(f64, [usize; 2])> {
    let [columns, rows] =
        [(c.width(), p[0]), (c.height(), p[1])].map(|(n, x)| along(n, x, filter, i));
    let mut all = Vec::new();
    for (hy, y) in &rows {
        for (hx, x) in &columns {
            all.push((hx * hy, [*x, *y]));
        }
    }
    all
}

/// The taps along one axis of `n` pixels.
fn along(n: usize, x: usize, filter: &Filter<'_>, i: usize) -> Vec<(f64, usize)> {
    let r = filter.taps.len() as i64 / 2;
    let inside = |q: i64| (0..n as i64).contains(&q).then_some(q as usize);
    let order = match filter.border {
        Border::Zero => Vec::new(),
        Border::Mirror => mirrored(n, i, false),
        Border::MirrorLocal => mirrored(n, i, true),
    };
    let place = order.iter().position(|pixel| *pixel == x);
    let tap = |(h, d): (&f32, i64)| {
        let q = match place {
            None => inside(x as i64 + (d << i)),
            Some(place) => inside(place as i64 + d).map(|place| order[place]),
        };
        q.map(|q| (f64::from(*h), q))
    };
    filter.taps.iter().zip(-r..=r).filter_map(tap).collect()
}

/// The pixels of an axis after `level` splits into even and odd ones, with every other sub-image flipped (Dolp 2024, section
/// 3.4: those at odd positions in the grid).
pub fn mirrored(n: usize, level: usize, local: bool) -> Vec<usize> {
    if level == 0 {
        return (0..n).collect();
    }
    if local {
        let step = 1 << level;
        let sub_image = |place: usize| {
            let first = place.reverse_bits() >> (usize::BITS as usize - level);
            let pixels: Vec<usize> = (first..n).step_by(step).collect();
            match place % 2 {
                0 => pixels,
                _ => pixels.into_iter().rev().collect(),
            }
        };
        return (0..step).flat_map(sub_image).collect();
    }
    // The first split flips the odd half; later splits treat the result as the image.
    let odd = (1..n).step_by(2).rev();
    let halves: Vec<usize> = (0..n).step_by(2).chain(odd).collect();
    let step = 1 << (level - 1);
    let sub_image = |first: usize| halves.iter().skip(first).step_by(step).copied();
    (0..step).flat_map(sub_image).collect()
}

/// Factors `a` for which the weights `a(p) h w(p,q) a(q)` around every pixel sum to about 1. They are symmetric, so the weights
/// that a pixel contributes also sum to 1 (symmetric Sinkhorn scaling).
fn balance(c: &Image, colors: usize, filter: &Filter<'_>, i: usize) -> Vec<f64> {
    let mut factors = vec![1.0; c.width() * c.height()];
    for _ in 0..BALANCING {
        let mut next = Vec::with_capacity(factors.len());
        for y in 0..c.height() {
            for x in 0..c.width() {
                let weigh = |(h, q): (f64, [usize; 2])| {
                    h * factors[q[1] * c.width() + q[0]] * weight(c, colors, filter, i, [x, y], q)
                };
                let sum: f64 = taps(c, filter, i, [x, y]).into_iter().map(weigh).sum();
                next.push((factors[y * c.width() + x] / sum).sqrt());
            }
        }
        factors = next;
    }
    factors
}

/// Number of balancing steps. Each at least halves the remaining error; four leave less than a thousandth of the mean.
pub const BALANCING: usize = 4;

fn distance(image: &Image, planes: usize, p: [usize; 2], q: [usize; 2]) -> f64 {
    let square = |k| f64::from(image.get(p[0], p[1], k) - image.get(q[0], q[1], k)).powi(2);
    (0..planes).map(square).sum()
}

/// An image as stored between passes: rounded to half precision if requested.
pub fn stored(image: &Image, half: bool) -> Image {
    let rounded = |v: f32| half::f16::from_f32(v.clamp(-MOST_HALF, MOST_HALF)).to_f32();
    if half {
        image.map(rounded)
    } else {
        image.clone()
    }
}

/// The largest half float.
const MOST_HALF: f32 = 65_504.0;

/// Divides by albedo, where it is not black, or multiplies by it (Dammertz 2010, deferred shading).
pub fn modulate(image: &Image, albedo: &Image, divide: bool) -> Image {
    Image::from_fn(
        image.width(),
        image.height(),
        image.channels(),
        |x, y, k| {
            let a = albedo.get(x, y, k.min(albedo.channels() - 1));
            let a = if a > BLACK { a } else { 1.0 };
            if divide {
                image.get(x, y, k) / a
            } else {
                image.get(x, y, k) * a
            }
        },
    )
}

/// Albedo at or below this is black.
pub const BLACK: f32 = 0.01;

/// Removes noise from a feature: the mean over the surrounding pixels whose difference is explained by its variance. A pixel
/// without variance is unchanged.
pub fn prefilter(feature: &Image, variance: &Image) -> Image {
    let (w, h, r) = (feature.width(), feature.height(), PREFILTER_RADIUS);
    let at = |image: &Image, p: [usize; 2], k: usize| f64::from(image.get(p[0], p[1], k));
    let mut out = feature.clone();
    for y in 0..h {
        for x in 0..w {
            let (mut sums, mut weights) = (vec![0.0; feature.channels()], 0.0);
            for qy in y.saturating_sub(r)..(y + r + 1).min(h) {
                for qx in x.saturating_sub(r)..(x + r + 1).min(w) {
                    let (p, q) = ([x, y], [qx, qy]);
                    let (mut d2, mut v) = (0.0, 0.0);
                    for k in 0..feature.channels() {
                        let (own, other) = (at(variance, p, k), at(variance, q, k));
                        d2 += (at(feature, p, k) - at(feature, q, k)).powi(2);
                        v += own + own.min(other);
                    }
                    let weight = (-(d2 - v).max(0.0) / (v + f64::from(PREFILTER_LEAST))).exp();
                    for (k, sum) in sums.iter_mut().enumerate() {
                        *sum += weight * at(feature, q, k);
                    }
                    weights += weight;
                }
            }
            for (k, sum) in sums.iter().enumerate() {
                out.set(x, y, k, (sum / weights) as f32);
            }
        }
    }
    out
}

/// Pixels to each side of the window of [`prefilter`].
pub const PREFILTER_RADIUS: usize = 3;
/// Minimum variance of every feature.
pub const PREFILTER_LEAST: f32 = 1e-6;

/// The factor by which the firefly guard dims each pixel: to the mean of its 5×5 window plus four standard deviations of
/// luminance, both excluding the pixel.
pub fn dimming(luminance: &Image) -> Image {
    let (w, h) = (luminance.width() as i64, luminance.height() as i64);
    Image::from_fn(luminance.width(), luminance.height(), 1, |x, y, _| {
        let mut others = Vec::new();
        for j in -2..=2 {
            for i in -2..=2 {
                let (qx, qy) = (x as i64 + i, y as i64 + j);
                if (i, j) != (0, 0) && (0..w).contains(&qx) && (0..h).contains(&qy) {
                    others.push(f64::from(luminance.get(qx as usize, qy as usize, 0)));
                }
            }
        }
        let n = others.len().max(1) as f64;
        let mean = others.iter().sum::<f64>() / n;
        let deviation = (others.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / n).sqrt();
        let (limit, l) = (mean + 4.0 * deviation, f64::from(luminance.get(x, y, 0)));
        if l > limit && limit > 0.0 {
            (limit / l) as f32
        } else {
            1.0
        }
    })
}
