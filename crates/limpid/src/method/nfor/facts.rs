//! Properties of a whole frame that the plan depends on.

use super::{features, halves};
use crate::method::lights;
use crate::method::measure::sum_of;
use crate::{Frame, Image, Kind, Layer, Part, Result};
use limpid_core::memory;
use limpid_reference::definition::front::{Depth, FAR, NOISE_FLOOR, brightness, noise_share};
use limpid_reference::definition::noise::spread;

/// Properties of a whole frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The factor from colours to an image of ordinary brightness.
    pub exposure: f32,
    /// The range of the logarithm of depth.
    pub depth: Depth,
    /// The factor of positions.
    pub position: f32,
    /// Whether feature layers are noisy.
    pub noisy: bool,
    /// Whether the light layers add up to the colour.
    pub adds_up: bool,
    /// Light layers without albedo.
    pub bare: Vec<Layer>,
    /// Whether there are two buffers.
    pub two: bool,
    /// The distance in pixels at which noise is independent, for one buffer: 1, or 2 or 4 with a wide pixel filter.
    pub cell: usize,
    /// The noise of the image's brightness, as a share of its mean.
    pub noise: f32,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            exposure: 1.0,
            depth: Depth {
                low: -10.0,
                middle: 0.0,
                high: 10.0,
            },
            position: 1.0,
            noisy: false,
            adds_up: false,
            bare: Vec::new(),
            two: false,
            cell: 1,
            noise: 0.0,
        }
    }
}

/// Mean brightness of an image of ordinary exposure.
const ORDINARY: f32 = 0.25;
/// Noise of the logarithm of depth above which a location counts as blurred, and the share of such locations above which a
/// frame does.
const BLURRED: (f32, f32) = (2e-5, 0.15);
/// The same for normals, which look noisy on bumpy surfaces.
const BLURRED_NORMAL: f32 = 1e-3;

impl Facts {
    pub(in crate::method) fn of(frame: &Frame) -> Result<Self> {
        let mut facts = Self::default();
        let color = if halves(&frame.shape()) {
            frame.require(Layer::new(Kind::Color, Part::HalfA))?
        } else {
            frame.color()?
        };
        facts.two = halves(&frame.shape());
        let ranges = || {
            let depth = frame.get(Kind::Depth).and_then(depth_range);
            (depth, frame.get(Kind::Position).map(scale))
        };
        let (exposure, (depth, position)) = rayon::join(|| exposure(color), ranges);
        facts.exposure = exposure;
        facts.depth = depth.unwrap_or(facts.depth);
        facts.position = position.unwrap_or(facts.position);
        let cell = || match facts.two {
            true => 1,
            false => cell(frame, color, exposure),
        };
        let spread = || {
            let size = color.size();
            let bright = |x, y, _| brightness(color, x, y);
            spread(&Image::from_fn(size.width, size.height, 1, bright))
        };
        let layers = || {
            let bare = lights::bare(frame);
            (
                noisy(frame, &facts),
                lights::add_up(frame, color.channels()),
                bare,
            )
        };
        let (layers, (cell, spread)) = rayon::join(layers, || rayon::join(cell, spread));
        (facts.noisy, facts.adds_up, facts.bare) = layers;
        facts.cell = cell;
        let one = spread * exposure / ORDINARY;
        // The mean of two buffers has half the variance of one.
        facts.noise = if facts.two { one * 0.5f32.sqrt() } else { one };
        Ok(facts)
    }
}

/// Second differences of neighbours over those of pixels three apart: 1 for independent noise. Below the first threshold noise
/// is correlated with the next pixel, below the second also with the one after it.
const SHARED: (f32, f32) = (0.78, 0.45);
/// Smaller differences of the logarithm of brightness are not noise.
const NO_NOISE: f32 = 0.008;

/// The distance in pixels at which noise is independent. A wide pixel filter (Gaussian, Blackman–Harris) spreads each sample
/// over its neighbours, so that on smooth surfaces they differ less than pixels further apart.
fn cell(frame: &Frame, color: &Image, exposure: f32) -> usize {
    let size = color.size();
    let albedo = frame.get(Kind::Albedo);
    let bright = Image::from_fn(size.width, size.height, 1, |x, y, _| {
        let n = color.channels();
        let light = |c: usize| {
            let by = albedo.map_or(1.0, |a| a.get(x, y, c).clamp(0.0, 1.0) + 0.05);
            color.get(x, y, c).max(0.0) / by
        };
        ((0..n).map(light).sum::<f32>() / n as f32 * exposure / ORDINARY + 0.05).ln()
    });
    let features: Vec<&Image> = [Kind::Normal]
        .into_iter()
        .filter_map(|k| frame.get(k))
        .collect();
    let mut largest = 0.0f32;
    for axis in [0, 1] {
        let room = || memory::gathered(size.pixels().min(1 << 21), std::iter::empty());
        let (mut near, mut far): (Vec<f32>, Vec<f32>) = (room(), room());
        let (mx, my) = if axis == 0 { (3, 0) } else { (0, 3) };
        if size.width <= 2 * mx || size.height <= 2 * my {
            continue;
        }
        // A million pixels are enough.
        let rows = (size.pixels() / (1 << 20)).max(1);
        for y in (my..size.height - my).step_by(rows) {
            for x in mx..size.width - mx {
                let at = |d: i64| match axis {
                    0 => ((x as i64 + d) as usize, y),
                    _ => (x, (y as i64 + d) as usize),
                };
                let same = |f: &&Image| {
                    (0..f.channels()).all(|c| {
                        let v = |d: i64| f.get(at(d).0, at(d).1, c);
                        (v(0) - v(-3)).abs() < 0.05 && (v(0) - v(3)).abs() < 0.05
                    })
                };
                if features.iter().all(same) {
                    let v = |d: i64| bright.get(at(d).0, at(d).1, 0);
                    near.push((2.0 * v(0) - v(-1) - v(1)).abs());
                    far.push((2.0 * v(0) - v(-3) - v(3)).abs());
                }
            }
        }
        let median = |values: &mut Vec<f32>| {
            let middle = values.len() / 2;
            *values.select_nth_unstable_by(middle, f32::total_cmp).1
        };
        if near.len() < 64 {
            return 1;
        }
        let (near, far) = (median(&mut near), median(&mut far));
        if near.is_nan() || near < NO_NOISE {
            return 1;
        }
        largest = largest.max(near / far);
    }
    match largest {
        0.0 => 1,
        r if r < SHARED.1 => 4,
        r if r < SHARED.0 => 2,
        _ => 1,
    }
}

/// From the mean brightness, with the brightest hundredth clamped.
fn exposure(color: &Image) -> f32 {
    let n = color.channels();
    let pixels = color.size().pixels();
    let brightness = |i: usize| color.planes().map(|p| p[i]).sum::<f32>() / n as f32;
    let mut bright = memory::gathered(pixels, (0..pixels).map(brightness));
    let at = (bright.len() - 1) * 99 / 100;
    let (_, most, _) = bright.select_nth_unstable_by(at, f32::total_cmp);
    let most = *most;
    let sum = sum_of(bright.len(), |i| {
        f64::from(bright[i].clamp(0.0, most.max(0.0)))
    });
    let mean = (sum / bright.len() as f64) as f32;
    if mean > 1e-35 && mean < 1e35 {
        ORDINARY / mean
    } else {
        1.0
    }
}

fn hit(depth: f32) -> bool {
    depth > 0.0 && depth < FAR
}

fn depth_range(depth: &Image) -> Option<Depth> {
    let found = depth.data().iter().filter(|d| hit(**d));
    let mut logs = memory::gathered(depth.data().len(), found.map(|d| d.ln()));
    let last = logs.len().checked_sub(1)?;
    let mut at = |share: usize| {
        let (_, v, _) = logs.select_nth_unstable_by(last * share / 100, f32::total_cmp);
        *v
    };
    Some(Depth {
        low: at(1) - 0.7,
        middle: at(50),
        high: at(99) + 0.7,
    })
}

/// One over the range of the axis along which positions differ most, without the outermost hundredths.
fn scale(position: &Image) -> f32 {
    let range = |plane: &[f32]| {
        let mut values = memory::copied(plane);
        let last = values.len() - 1;
        let mut at = |share: usize| {
            let (_, v, _) = values.select_nth_unstable_by(last * share / 100, f32::total_cmp);
            *v
        };
        at(99) - at(1)
    };
    let most = position.planes().map(range).fold(0.0, f32::max);
    if most > 1e-20 && most < 1e20 {
        1.0 / most
    } else {
        1.0
    }
}

/// Whether features are noisy in many places: judged by their own variance if it is known, otherwise by the local differences
/// of depth, position or normals.
fn noisy(frame: &Frame, facts: &Facts) -> bool {
    let share = |values: &mut dyn Iterator<Item = f32>, above: f32| {
        let (mut count, mut larger) = (0, 0);
        for v in values {
            count += 1;
            larger += usize::from(v > above);
        }
        larger as f32 / count.max(1) as f32
    };
    let known = features(&frame.shape()).into_iter().find_map(|kind| {
        let variance = frame.get(Layer::new(kind.clone(), Part::Variance))?;
        let mean = frame.get(kind.clone())?;
        let values = variance.data().iter().copied();
        let relative = |(v, d): (f32, &f32)| if hit(*d) { v / (d * d) } else { 0.0 };
        Some(match kind {
            Kind::Depth => share(&mut values.zip(mean.data()).map(relative), 1e-4),
            Kind::Position => share(&mut values.map(|v| v * facts.position.powi(2)), 1e-4),
            _ => share(&mut { values }, 1e-4),
        })
    });
    if let Some(share) = known {
        return share > BLURRED.1;
    }
    let (seen, above): (Vec<f32>, f32) = if let Some(depth) = frame.get(Kind::Depth) {
        let range = facts.depth;
        let log = |d: f32| match hit(d) {
            true => d.ln().clamp(range.low, range.high) - range.middle,
            false => 0.0,
        };
        (places(depth, log), BLURRED.0)
    } else if let Some(position) = frame.get(Kind::Position) {
        (places(position, |v| v * facts.position), BLURRED.0)
    } else if let Some(normal) = frame.get(Kind::Normal) {
        (places(normal, |v| v), BLURRED_NORMAL)
    } else {
        return false;
    };
    share(&mut seen.into_iter(), above) > BLURRED.1
}

/// The noise of a feature at places all over the picture, as in `definition::front::feature_noise`.
fn places(feature: &Image, value: impl Fn(f32) -> f32) -> Vec<f32> {
    const RADIUS: usize = 4;
    let (w, h, n) = (feature.width(), feature.height(), feature.channels());
    let step = |length: usize| (length / 64).max(1);
    let mut seen = Vec::new();
    for y in (RADIUS + 1..h.saturating_sub(RADIUS + 1)).step_by(step(h)) {
        for x in (RADIUS + 1..w.saturating_sub(RADIUS + 1)).step_by(step(w)) {
            let mut sum = 0.0f64;
            for j in y - RADIUS..=y + RADIUS {
                for i in x - RADIUS..=x + RADIUS {
                    let square = |c: usize| {
                        let at = |x: usize, y: usize| value(feature.get(x, y, c));
                        let around = at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1);
                        (0.25 * around - at(i, j)).powi(2)
                    };
                    let mean = (0..n).map(square).sum::<f32>() * 0.8 / n as f32;
                    sum += f64::from((mean + NOISE_FLOOR).ln());
                }
            }
            let count = (2 * RADIUS + 1).pow(2) as f64;
            let noise = (sum / count).exp() as f32 - NOISE_FLOOR;
            seen.push(noise.max(0.0) / noise_share(n));
        }
    }
    seen
}
