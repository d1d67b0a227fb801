//! Temporal anti-aliasing with variance clipping (Salvi 2016; Zubatov and Shcherbakov, section 2.1.4).

use super::window::variance;
use crate::Image;

/// Options of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Pixels to each side of the window of the statistics.
    pub radius: usize,
    /// Half the size of the box, in standard deviations.
    pub gamma: f32,
    /// Share of the new frame.
    pub blend: f32,
    /// Colours `c` of luma `y` are blended as `c / (1 + highlights y)`; otherwise a lamp would outshine its surroundings.
    pub highlights: f32,
    /// Without a previous result, the weight of neighbours along each axis: one sample of an edge is
    /// ragged. 0 leaves the frame unchanged.
    pub soften: f32,
}

/// `(r, g, b)` to luma and two colour differences.
pub fn to_ycocg([r, g, b]: [f64; 3]) -> [f64; 3] {
    [
        0.25 * r + 0.5 * g + 0.25 * b,
        0.5 * r - 0.5 * b,
        -0.25 * r + 0.5 * g - 0.25 * b,
    ]
}

/// The inverse of [`to_ycocg`].
pub fn from_ycocg([y, co, cg]: [f64; 3]) -> [f64; 3] {
    [y + co - cg, y + cg, y - co - cg]
}

/// A colour in the blending space; with one channel, its own luma.
fn compressed(c: [f64; 3], highlights: f32) -> [f64; 3] {
    let scale = 1.0 + f64::from(highlights) * c[0].max(0.0);
    c.map(|v| v / scale)
}

/// The inverse of [`compressed`].
fn expanded(c: [f64; 3], highlights: f32) -> [f64; 3] {
    let scale = 1.0 - f64::from(highlights) * c[0].max(0.0);
    c.map(|v| v / scale.max(f64::from(LEAST_SCALE)))
}

/// Half the size of a box is at least this share of the mean luma: differences of rounding are no reason to clip.
pub const NARROWEST: f32 = 1e-3;

/// The least half size of a box around a mean luma.
fn least(luma: f64) -> f64 {
    f64::from(NARROWEST) * luma.abs() + 1e-8
}

/// Luma is expanded to no more than one over this.
pub const LEAST_SCALE: f32 = 1e-6;

fn pixel(image: &Image, x: usize, y: usize) -> [f64; 3] {
    std::array::from_fn(|c| {
        if c < image.channels() {
            f64::from(image.get(x, y, c))
        } else {
            0.0
        }
    })
}

/// One frame: `history` is the last result, none for the first frame; `motion` leads from here to there.
pub fn taa(color: &Image, motion: Option<&Image>, history: Option<&Image>, step: Step) -> Image {
    taa_of(color, motion, history, None, step)
}

/// The same where `frames` tells how many frames have shown the surface of a pixel: until there are more than `1 / blend`, the new
/// one has its share of them. What was just uncovered is not blended.
pub fn taa_of(
    color: &Image,
    motion: Option<&Image>,
    history: Option<&Image>,
    frames: Option<&Image>,
    step: Step,
) -> Image {
    let (w, h, channels) = (color.width(), color.height(), color.channels());
    let convert =
        |c: [f64; 3]| compressed(if channels == 3 { to_ycocg(c) } else { c }, step.highlights);
    let back = |c: [f64; 3]| {
        let c = expanded(c, step.highlights);
        if channels == 3 { from_ycocg(c) } else { c }
    };
    let whole = |image: &Image| {
        Image::from_fn(w, h, channels, |x, y, c| {
            convert(pixel(image, x, y))[c] as f32
        })
    };
    let converted = whole(color);
    let history = history.map(whole);
    let (mean, deviation) = variance(&converted, step.radius);
    let mut out = color.clone();
    for y in 0..h {
        for x in 0..w {
            let moved = |c: usize| motion.map_or(0.0, |m| f64::from(m.get(x, y, c)));
            let place = [x as f64 + moved(0), y as f64 + moved(1)];
            let Some(old) = history.as_ref().and_then(|h| bilinear(h, place)) else {
                if step.soften > 0.0 {
                    let made = softened(color, [x, y], step);
                    (0..channels).for_each(|c| out.set(x, y, c, made[c] as f32));
                }
                continue;
            };
            let (mu, sigma) = (pixel(&mean, x, y), pixel(&deviation, x, y));
            let away: [f64; 3] = std::array::from_fn(|c| old[c] - mu[c]);
            // How many times too long the way from the mean is, to end inside the box.
            let ratio = (0..channels)
                .map(|c| away[c].abs() / (f64::from(step.gamma) * sigma[c]).max(least(mu[0])))
                .fold(1.0, f64::max);
            let new = convert(pixel(color, x, y));
            let frames = frames.map_or(f64::INFINITY, |f| f64::from(f.get(x, y, 0)));
            let share = f64::from(step.blend).max(1.0 / frames);
            let made = back(std::array::from_fn(|c| {
                let clipped = mu[c] + away[c] / ratio;
                clipped + share * (new[c] - clipped)
            }));
            for c in 0..channels {
                out.set(x, y, c, made[c] as f32);
            }
        }
    }
    out
}

/// The mean of the 3×3 pixels around one, weighted by `soften` for each step away, in the blending space: bright ones count less.
/// The weights express this directly, because very bright colours would lose precision in the blending space.
fn softened(color: &Image, [x, y]: [usize; 2], step: Step) -> [f64; 3] {
    let (mut sum, mut weights) = ([0.0; 3], 0.0);
    for qy in y.saturating_sub(1)..(y + 2).min(color.height()) {
        for qx in x.saturating_sub(1)..(x + 2).min(color.width()) {
            let steps = x.abs_diff(qx) + y.abs_diff(qy);
            let p = pixel(color, qx, qy);
            let luma = if color.channels() == 3 {
                to_ycocg(p)[0]
            } else {
                p[0]
            };
            let scale = 1.0 + f64::from(step.highlights) * luma.max(0.0);
            let weight = f64::from(step.soften).powi(steps as i32) / scale;
            for c in 0..3 {
                sum[c] += weight * p[c];
            }
            weights += weight;
        }
    }
    sum.map(|s| s / weights)
}

/// The four pixels around a place, those outside the image left out; none where nothing is left.
fn bilinear(image: &Image, [x, y]: [f64; 2]) -> Option<[f64; 3]> {
    let (mut sum, mut weights) = ([0.0; 3], 0.0);
    for (dx, dy) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
        let (qx, qy) = (x.floor() + dx, y.floor() + dy);
        let inside =
            qx >= 0.0 && qy >= 0.0 && qx < image.width() as f64 && qy < image.height() as f64;
        if inside {
            let weight = (1.0 - (x - qx).abs()) * (1.0 - (y - qy).abs());
            let p = pixel(image, qx as usize, qy as usize);
            for c in 0..3 {
                sum[c] += weight * p[c];
            }
            weights += weight;
        }
    }
    (weights > 1e-3).then(|| sum.map(|s| s / weights))
}
