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
    let Some(history) = history else {
        return color.clone();
    };
    let (w, h, channels) = (color.width(), color.height(), color.channels());
    let convert = |c: [f64; 3]| if channels == 3 { to_ycocg(c) } else { c };
    let back = |c: [f64; 3]| if channels == 3 { from_ycocg(c) } else { c };
    let converted = Image::from_fn(w, h, channels, |x, y, c| {
        convert(pixel(color, x, y))[c] as f32
    });
    let (mean, deviation) = variance(&converted, step.radius);
    let mut out = color.clone();
    for y in 0..h {
        for x in 0..w {
            let moved = |c: usize| motion.map_or(0.0, |m| f64::from(m.get(x, y, c)));
            let Some(old) = bilinear(history, x as f64 + moved(0), y as f64 + moved(1)) else {
                continue;
            };
            let (mu, sigma) = (pixel(&mean, x, y), pixel(&deviation, x, y));
            let away: [f64; 3] = std::array::from_fn(|c| convert(old)[c] - mu[c]);
            // How many times too long the way from the mean is, to end inside the box.
            let ratio = (0..channels)
                .map(|c| away[c].abs() / (f64::from(step.gamma) * sigma[c]).max(1e-8))
                .fold(1.0, f64::max);
            let new = convert(pixel(color, x, y));
            let made = back(std::array::from_fn(|c| {
                let clipped = mu[c] + away[c] / ratio;
                clipped + f64::from(step.blend) * (new[c] - clipped)
            }));
            for c in 0..channels {
                out.set(x, y, c, made[c] as f32);
            }
        }
    }
    out
}

/// The four pixels around a place, those outside the image left out; none where nothing is left.
fn bilinear(image: &Image, x: f64, y: f64) -> Option<[f64; 3]> {
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
