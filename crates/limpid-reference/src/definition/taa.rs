//! Temporal anti-aliasing with variance clipping (Salvi 2016; Zubatov and Shcherbakov, section 2.1.4).

use super::window::variance;
use limpid_core::Image;

/// Options of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Pixels to each side of the window of the statistics.
    pub radius: usize,
    /// Half the size of the box, in standard deviations.
    pub gamma: f32,
    /// Share of the new frame.
    pub blend: f32,
    /// The box of a chroma channel is at least this share of that of luma. Otherwise noise of chroma beside an edge in luma alone, where the
    /// box of chroma is narrow, draws all channels to the mean and blurs the edge.
    pub chroma: f32,
    /// Whether history outside the box counts less, by the factor by which its difference from the mean exceeds the box, or [`NOTICED`] if that
    /// is more: what was clipped is still wrong, and would stay for some frames.
    pub discount: bool,
    /// Colours `c` of luma `y` are blended as `c / (1 + highlights y)`; otherwise a lamp would outshine its surroundings.
    pub highlights: f32,
    /// Without a previous result, the weight of neighbours along each axis: a single sample per pixel aliases at edges. 0
    /// leaves the frame unchanged.
    pub soften: f32,
    /// Whether the previous result is sampled with Catmull-Rom splines: bilinear samples would blur it from frame to frame.
    pub cubic: bool,
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

/// Lower bound of half the box size relative to the mean luma, so that rounding errors do not cause clipping.
pub const NARROWEST: f32 = 1e-3;

/// History that differs by less than this share of the luminance is never discounted: on plain surfaces the box is as narrow as
/// what is left of the noise, which history is there to remove.
pub const NOTICED: f32 = 0.05;

/// The smallest half size of a box around a mean luma.
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

/// The depth of pixels where nothing was hit.
pub const FAR: f32 = 1e30;

/// The motion of the nearest of the 3×3 pixels around each: edge pixels, which are partly covered by an object, move with it.
pub fn nearest_motion(motion: &Image, depth: &Image) -> Image {
    let (w, h) = (motion.width(), motion.height());
    let far = |x: usize, y: usize| match depth.get(x, y, 0).abs() {
        d if d > 0.0 => d,
        _ => FAR,
    };
    let nearest = |x: usize, y: usize| {
        let mut best = (x, y);
        for qy in y.saturating_sub(1)..(y + 2).min(h) {
            for qx in x.saturating_sub(1)..(x + 2).min(w) {
                if far(qx, qy) < far(best.0, best.1) {
                    best = (qx, qy);
                }
            }
        }
        best
    };
    Image::from_fn(w, h, 2, |x, y, c| {
        let (qx, qy) = nearest(x, y);
        motion.get(qx, qy, c)
    })
}

/// A second difference of depth above this share is an edge.
pub const EDGE: f32 = 0.05;

/// Weight of neighbours along each axis, for a pixel at an edge.
pub const EDGE_SHARE: f32 = 0.15;

/// Smooths a colour along the edges of objects, where one sample per pixel aliases. Bright neighbours count less than dark
/// ones. Pixels next to a non-positive depth are unchanged: lamps would leak into their surroundings.
pub fn soften_edges(color: &Image, depth: &Image) -> Image {
    let (w, h) = (color.width(), color.height());
    let near = |v: usize, d: i64, n: usize| (v as i64 + d).clamp(0, n as i64 - 1) as usize;
    let luma = |x: usize, y: usize| {
        let p = pixel(color, x, y);
        let luma = if color.channels() == 3 {
            to_ycocg(p)[0]
        } else {
            p[0]
        };
        luma.max(0.0)
    };
    Image::from_fn(w, h, color.channels(), |x, y, c| {
        let around = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy)));
        let place = |(dx, dy): (i64, i64)| (near(x, dx, w), near(y, dy, h));
        let z = |at: (i64, i64)| {
            let (x, y) = place(at);
            depth.get(x, y, 0)
        };
        let bends = [(1, 0), (0, 1), (1, 1), (1, -1)]
            .map(|(dx, dy)| (z((dx, dy)) + z((-dx, -dy)) - 2.0 * z((0, 0))).abs());
        let bent = bends.into_iter().fold(0.0, f32::max) > EDGE * z((0, 0));
        if !bent || !around.clone().all(|at| z(at) > 0.0) {
            return color.get(x, y, c);
        }
        let light = |at: (i64, i64)| {
            let (x, y) = place(at);
            luma(x, y)
        };
        let (mut sum, mut weights) = (0.0, 0.0);
        for at in around {
            let steps = at.0.abs() + at.1.abs();
            let share = f64::from(EDGE_SHARE).powi(steps as i32);
            let weight = share / (light((0, 0)) + light(at) + 1e-6);
            let (x, y) = place(at);
            sum += weight * f64::from(color.get(x, y, c));
            weights += weight;
        }
        (sum / weights) as f32
    })
}

/// One frame: `history` is the previous result, `None` for the first frame; `motion` points from a pixel to its previous
/// position.
pub fn taa(
    color: &Image,
    motion: Option<&Image>,
    history: Option<&Image>,
    step: Settings,
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
            let read = if step.cubic { cubic } else { bilinear };
            let Some(old) = history.as_ref().and_then(|h| read(h, place)) else {
                if step.soften > 0.0 {
                    let made = softened(color, [x, y], step);
                    (0..channels).for_each(|c| out.set(x, y, c, made[c] as f32));
                }
                continue;
            };
            let (mu, sigma) = (pixel(&mean, x, y), pixel(&deviation, x, y));
            let away: [f64; 3] = std::array::from_fn(|c| old[c] - mu[c]);
            // The factor by which the difference from the mean exceeds the box.
            let half = |c: usize| f64::from(step.gamma) * sigma[c];
            let floor = |c: usize| {
                if c == 0 {
                    0.0
                } else {
                    f64::from(step.chroma) * half(0)
                }
            };
            let ratio = (0..channels)
                .map(|c| away[c].abs() / half(c).max(floor(c)).max(least(mu[0])))
                .fold(1.0, f64::max);
            let new = convert(pixel(color, x, y));
            let most = away.iter().fold(0.0f64, |most, a| most.max(a.abs()));
            let noticed = f64::from(NOTICED) * mu[0].abs() / most;
            let counts = if step.discount {
                (1.0 / ratio).max(noticed).min(1.0)
            } else {
                1.0
            };
            let kept = (1.0 - f64::from(step.blend)) * counts;
            let made = back(std::array::from_fn(|c| {
                let clipped = mu[c] + away[c] / ratio;
                clipped + (1.0 - kept) * (new[c] - clipped)
            }));
            for c in 0..channels {
                // Splines may undershoot.
                let least = color.get(x, y, c).min(0.0);
                out.set(x, y, c, (made[c] as f32).max(least));
            }
        }
    }
    out
}

/// The mean of the 3×3 pixels around one, weighted by `soften` for each step away, in the blending space: bright ones count
/// less. The weights express this directly, because very bright colours would lose precision in the blending space.
fn softened(color: &Image, [x, y]: [usize; 2], step: Settings) -> [f64; 3] {
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

/// The four pixels around a position, without those outside the image; `None` if none are left.
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

/// Distance in pixels by which a previous position may lie beyond the first and last pixel.
pub const BEYOND: f32 = 0.999;

/// The weights of the four pixels around a position, `f` after the second of them.
fn spline(f: f64) -> [f64; 4] {
    let near = |f: f64| 1.0 + f * f * (1.5 * f - 2.5);
    let g = 1.0 - f;
    [-0.5 * f * g * g, near(f), near(g), -0.5 * g * f * f]
}

/// The sixteen pixels around a position, repeated beyond the border, clamped to the range of the four nearest. `None` outside.
fn cubic(image: &Image, [x, y]: [f64; 2]) -> Option<[f64; 3]> {
    let (w, h) = (image.width() as i64, image.height() as i64);
    let beyond = f64::from(BEYOND);
    let inside = |v: f64, n: i64| v >= -beyond && v <= (n - 1) as f64 + beyond;
    if !inside(x, w) || !inside(y, h) {
        return None;
    }
    let (wx, wy) = (spline(x - x.floor()), spline(y - y.floor()));
    let at = |i: usize, j: usize| {
        let qx = (x.floor() as i64 - 1 + i as i64).clamp(0, w - 1);
        let qy = (y.floor() as i64 - 1 + j as i64).clamp(0, h - 1);
        pixel(image, qx as usize, qy as usize)
    };
    Some(std::array::from_fn(|c| {
        let taps = (0..16).map(|k| wx[k % 4] * wy[k / 4] * at(k % 4, k / 4)[c]);
        let near = [(1, 1), (2, 1), (1, 2), (2, 2)].map(|(i, j)| at(i, j)[c]);
        let least = near.into_iter().fold(f64::INFINITY, f64::min);
        let most = near.into_iter().fold(f64::NEG_INFINITY, f64::max);
        taps.sum::<f64>().clamp(least, most)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::svgf::RESOLVE;

    /// A result of the last frame that is far from everything around the pixel now.
    #[test]
    fn history_outside_the_box_counts_less_in_svgf() {
        let new = Image::from_fn(8, 8, 1, |x, y, _| if (x + y) % 2 == 0 { 0.9 } else { 1.1 });
        let old = Image::from_fn(8, 8, 1, |_, _, _| 3.0);
        let apart = |discount| {
            let made = taa(
                &new,
                None,
                Some(&old),
                Settings {
                    discount,
                    ..RESOLVE
                },
            );
            (made.get(4, 4, 0) - new.get(4, 4, 0)).abs()
        };
        assert!(apart(false) > 0.1, "{}", apart(false));
        assert!(
            apart(RESOLVE.discount) < 0.02,
            "{}",
            apart(RESOLVE.discount)
        );
    }

    /// An edge in luma, and chroma that hardly differs between frames and not at all within one.
    #[test]
    fn noise_of_chroma_does_not_blur_edges() {
        let step = |x: usize| if x < 4 { 0.3 } else { 0.7 };
        let new = Image::from_fn(8, 8, 3, |x, _, _| step(x));
        let old = Image::from_fn(8, 8, 3, |x, _, c| {
            step(x) + if c == 0 { 0.004 } else { 0.0 }
        });
        let off = |chroma| {
            let made = taa(&new, None, Some(&old), Settings { chroma, ..RESOLVE });
            (made.get(3, 4, 1) - new.get(3, 4, 1)).abs()
        };
        assert!(off(0.0) > 0.01, "{}", off(0.0));
        assert!(off(RESOLVE.chroma) < 0.005, "{}", off(RESOLVE.chroma));
    }
}
