//! Results of neighbouring frames, blended along the motion.
//!
//! Each frame of a sequence has been denoised by itself. What is left of the noise differs from frame to frame, so results of frames
//! before and after are averaged with it, at the places where each pixel was and will be. The weight of a neighbour falls where its
//! surface is another (normal, albedo), and where its light differs by more than the noise of the frames explains: moving lamps, shadows
//! and reflections. Frames at the same distance before and after are judged by their mean, in which steady changes cancel.
//!
//! Weights of frames are positive and the same for all layers. Between pixels, layers are interpolated by splines, which are limited to the
//! range of the nearest pixels; light layers are limited where the colour is and as much, so that they still add up.

use super::front::divisor;
use super::neural::luminance;
use super::window::gaussian;
use limpid_core::{Image, Size};

/// Standard deviations of the two windows over which light is compared, and their radii; first of all, pixels are compared one by one.
pub const NARROW: (f32, usize) = (1.0, 3);
/// The wider window, over which noise is measured, too.
pub const WIDE: (f32, usize) = (4.0, 8);
/// The difference of light that counts as different, in units of the noise of a frame: pixel by pixel, and over the windows.
pub const DIFFERENT: [f32; 3] = [1.0, 0.45, 0.18];
/// The least noise relative to the light, and the largest deviation of a pixel that counts, so that fireflies do not stand for the noise.
pub const NOISE: [f32; 2] = [0.005, 4.0];
/// Light is compared relative to its brightness plus this.
pub const DARK: f32 = 0.02;
/// Squared differences of normals and of albedo that count as different.
pub const NORMAL: f32 = 0.05;
/// The same of albedo.
pub const ALBEDO: f32 = 0.02;
/// Steps that look for the place of a pixel in the next frame.
pub const STEPS: usize = 4;
/// How far from the pixel the motion from that place may end, in pixels.
pub const MISSED: f32 = 0.5;
/// Added to sums of weights.
pub const LEAST: f32 = 1e-3;

/// Planes of [`Seen::features`]: means of normal and albedo over 3×3 pixels, light, noise, and motion.
pub const FEATURES: usize = 10;
/// Where the albedo is among them.
pub const ALBEDO_AT: usize = 3;
/// Where the light is.
pub const LIGHT_AT: usize = 6;
/// Where the noise is.
pub const NOISE_AT: usize = 7;
/// Where the motion is.
pub const MOTION_AT: usize = 8;

/// A denoised frame.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Its layers, colour first.
    pub results: Vec<Image>,
    /// What is known of it.
    pub features: Image,
}

/// The layers of a frame before denoising.
#[derive(Debug, Clone, Copy)]
pub struct Layers<'a> {
    /// One or three channels.
    pub color: &'a Image,
    /// Three channels.
    pub albedo: Option<&'a Image>,
    /// Three channels.
    pub normal: Option<&'a Image>,
    /// Previous minus present position, in pixels.
    pub motion: &'a Image,
}

fn three(image: Option<&Image>, x: usize, y: usize) -> [f32; 3] {
    image.map_or([0.0; 3], |image| {
        std::array::from_fn(|c| image.get(x, y, c.min(image.channels() - 1)))
    })
}

/// Luminance of colour over albedo.
pub fn light(color: [f32; 3], albedo: [f32; 3]) -> f32 {
    let below = divisor(albedo.map(|a| a.clamp(0.0, 1.0)));
    luminance(std::array::from_fn(|c| color[c] / below[c]))
}

/// The features of a frame, from its layers and its denoised colour.
pub fn features(layers: &Layers<'_>, clean: &Image) -> Image {
    let Size { width, height } = clean.size();
    let lit = |color: &Image| {
        Image::from_fn(width, height, 1, |x, y, _| {
            light(three(Some(color), x, y), three(layers.albedo, x, y))
        })
    };
    let (noisy, clean) = (lit(layers.color), lit(clean));
    let squared = Image::from_fn(width, height, 1, |x, y, _| {
        let light = clean.get(x, y, 0);
        let off = (noisy.get(x, y, 0) - light) / (light.max(0.0) + DARK);
        off.abs().min(NOISE[1]).powi(2)
    });
    let squared = gaussian(&squared, WIDE.1, WIDE.0);
    let mean = |image: Option<&Image>, x: usize, y: usize, c: usize| {
        let (mut sum, mut count) = (0.0, 0.0);
        for qy in y.saturating_sub(1)..(y + 2).min(height) {
            for qx in x.saturating_sub(1)..(x + 2).min(width) {
                sum += three(image, qx, qy)[c];
                count += 1.0;
            }
        }
        sum / count
    };
    Image::from_fn(width, height, FEATURES, |x, y, c| match c {
        ..ALBEDO_AT => mean(layers.normal, x, y, c),
        ALBEDO_AT..LIGHT_AT => mean(layers.albedo, x, y, c - ALBEDO_AT),
        LIGHT_AT => clean.get(x, y, 0),
        NOISE_AT => squared.get(x, y, 0).sqrt().max(NOISE[0]),
        _ => layers.motion.get(x, y, c - MOTION_AT),
    })
}

/// The nearest pixel, if the position is inside the image.
pub fn nearest([x, y]: [f32; 2], size: Size) -> Option<(usize, usize)> {
    let inside = |v: f32, n: usize| v > -0.5 && v < n as f32 - 0.5;
    let to = |v: f32, n: usize| ((v + 0.5).floor().max(0.0) as usize).min(n - 1);
    (inside(x, size.width) && inside(y, size.height))
        .then(|| (to(x, size.width), to(y, size.height)))
}

/// Where a pixel of frame `at` is in another frame, following the motion from frame to frame.
pub fn place(frames: &[Seen], at: usize, other: usize, pixel: [f32; 2]) -> Option<[f32; 2]> {
    let size = frames[at].features.size();
    let motion = |frame: usize, from: [f32; 2]| {
        let (x, y) = nearest(from, size)?;
        let features = &frames[frame].features;
        Some([0, 1].map(|c| features.get(x, y, MOTION_AT + c)))
    };
    let mut found = pixel;
    for frame in (other + 1..=at).rev() {
        let [dx, dy] = motion(frame, found)?;
        found = [found[0] + dx, found[1] + dy];
    }
    // The next frame says where its pixels come from. One of them comes from here.
    for frame in at + 1..=other {
        let mut next = found;
        for _ in 0..STEPS {
            let [dx, dy] = motion(frame, next)?;
            next = [found[0] - dx, found[1] - dy];
        }
        let [dx, dy] = motion(frame, next)?;
        let missed = |c: usize, d: f32| (next[c] + d - found[c]).abs() < MISSED;
        if !missed(0, dx) || !missed(1, dy) {
            return None;
        }
        found = next;
    }
    nearest(found, size).map(|_| found)
}

/// A plane between pixels.
fn bilinear(image: &Image, [x, y]: [f32; 2], c: usize) -> f32 {
    let Size { width, height } = image.size();
    let (left, top) = (x.floor(), y.floor());
    let (fx, fy) = (x - left, y - top);
    let near = |v: f32, n: usize| v.clamp(0.0, (n - 1) as f32) as usize;
    let at = |dx: f32, dy: f32| image.get(near(left + dx, width), near(top + dy, height), c);
    let upper = at(0.0, 0.0) + fx * (at(1.0, 0.0) - at(0.0, 0.0));
    let lower = at(0.0, 1.0) + fx * (at(1.0, 1.0) - at(0.0, 1.0));
    upper + fy * (lower - upper)
}

/// The same by splines through sixteen pixels.
fn cubic(image: &Image, [x, y]: [f32; 2], c: usize) -> f32 {
    let (left, top) = (x.floor(), y.floor());
    let (wx, wy) = (spline(x - left), spline(y - top));
    let mut sum = 0.0;
    for (j, wy) in wy.into_iter().enumerate() {
        for (i, wx) in wx.into_iter().enumerate() {
            sum += wx * wy * around(image, [left, top], i, j, c);
        }
    }
    sum
}

/// One of the sixteen pixels around a position; the nearest have the numbers 1 and 2.
fn around(image: &Image, [left, top]: [f32; 2], i: usize, j: usize, c: usize) -> f32 {
    let near = |v: f32, n: usize| v.clamp(0.0, (n - 1) as f32) as usize;
    let (x, y) = (left + i as f32 - 1.0, top + j as f32 - 1.0);
    image.get(near(x, image.width()), near(y, image.height()), c)
}

/// How far to go from [`bilinear`] to [`cubic`] to stay in the range of the four nearest pixels: 0 … 1.
fn limit(image: &Image, place: [f32; 2], c: usize) -> f32 {
    let corner = place.map(f32::floor);
    let four = [(1, 1), (2, 1), (1, 2), (2, 2)].map(|(i, j)| around(image, corner, i, j, c));
    let least = four.into_iter().fold(f32::INFINITY, f32::min);
    let most = four.into_iter().fold(f32::NEG_INFINITY, f32::max);
    share(
        bilinear(image, place, c),
        cubic(image, place, c),
        least,
        most,
    )
}

/// The share of the way from `plain` to `sharp` that is inside the range.
pub fn share(plain: f32, sharp: f32, least: f32, most: f32) -> f32 {
    let way = sharp - plain;
    match way == 0.0 {
        true => 1.0,
        false => ((sharp.max(least).min(most) - plain) / way).clamp(0.0, 1.0),
    }
}

/// The weights of the four pixels around a position.
pub fn spline(f: f32) -> [f32; 4] {
    let near = |f: f32| 1.0 + f * f * (1.5 * f - 2.5);
    let g = 1.0 - f;
    [-0.5 * f * g * g, near(f), near(g), -0.5 * g * f * f]
}

/// The layers of frame `at`, blended with up to `radius` frames on each side. `parts` are those that are parts of the colour, and have its
/// channels.
pub fn steady(frames: &[Seen], at: usize, radius: usize, parts: &[usize]) -> Vec<Image> {
    let own = &frames[at];
    let Size { width, height } = own.features.size();
    // For each distance, the places in the frames before and after with their weights, and how alike they are.
    let around: Vec<_> = (1..=radius)
        .map(|away| {
            let others = [at.checked_sub(away), Some(at + away)];
            let others = others.map(|other| other.filter(|o| *o < frames.len()));
            let sides = others.map(|other| other.map(|other| traced(frames, at, other)));
            let alike = alike(own, frames, &others, &sides);
            (others, sides, alike)
        })
        .collect();
    let blended = |layer: usize| {
        let image = &own.results[layer];
        let limiting = if parts.contains(&layer) { 0 } else { layer };
        Image::from_fn(width, height, image.channels(), |x, y, c| {
            let (mut sum, mut weights) = (image.get(x, y, c), 1.0);
            for (others, sides, alike) in &around {
                for (other, side) in others.iter().zip(sides) {
                    let (Some(other), Some(side)) = (other, side) else {
                        continue;
                    };
                    let (place, weight) = side[y * width + x];
                    let weight = weight * alike.get(x, y, 0);
                    if weight > 0.0 {
                        let results = &frames[*other].results;
                        let plain = bilinear(&results[layer], place, c);
                        let way = cubic(&results[layer], place, c) - plain;
                        let share = limit(&results[limiting], place, c);
                        sum += weight * (plain + share * way);
                        weights += weight;
                    }
                }
            }
            sum / weights
        })
    };
    (0..own.results.len()).map(blended).collect()
}

/// Places of pixels in another frame, with their weights.
type Traces = Vec<([f32; 2], f32)>;

/// The place of each pixel in another frame, and the weight by its surface.
fn traced(frames: &[Seen], at: usize, other: usize) -> Traces {
    let (own, there) = (&frames[at].features, &frames[other].features);
    let Size { width, height } = own.size();
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let one = |(x, y): (usize, usize)| {
        let from = [x as f32, y as f32];
        let Some(place) = place(frames, at, other, from) else {
            return (from, 0.0);
        };
        let apart = |first: usize| -> f32 {
            let squared = |c| (bilinear(there, place, c) - own.get(x, y, c)).powi(2);
            (first..first + 3).map(squared).sum()
        };
        let apart = apart(0) / NORMAL + apart(ALBEDO_AT) / ALBEDO;
        (place, (-apart).exp())
    };
    pixels.map(one).collect()
}

/// How alike the light of a frame and the mean of two others is.
fn alike(
    own: &Seen,
    frames: &[Seen],
    others: &[Option<usize>; 2],
    sides: &[Option<Traces>; 2],
) -> Image {
    let Size { width, height } = own.features.size();
    // The difference in units of the noise, times its weight; and the weight.
    let differences = Image::from_fn(width, height, 2, |x, y, c| {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (other, side) in others.iter().zip(sides) {
            let (Some(other), Some(side)) = (other, side) else {
                continue;
            };
            let (place, weight) = side[y * width + x];
            sum += weight * bilinear(&frames[*other].features, place, LIGHT_AT);
            weights += weight;
        }
        let mean = sum / weights.max(1e-6);
        let light = own.features.get(x, y, LIGHT_AT);
        let relative = (mean - light) / (0.5 * (mean + light).max(0.0) + DARK);
        [
            weights * relative / own.features.get(x, y, NOISE_AT),
            weights,
        ][c]
    });
    let narrow = gaussian(&differences, NARROW.1, NARROW.0);
    let wide = gaussian(&differences, WIDE.1, WIDE.0);
    Image::from_fn(width, height, 1, |x, y, _| {
        let scales = [&differences, &narrow, &wide];
        let each = scales.into_iter().zip(DIFFERENT).map(|(image, unit)| {
            let mean = image.get(x, y, 0) / (image.get(x, y, 1) + LEAST);
            (mean / unit).powi(2)
        });
        (-each.sum::<f32>()).exp()
    })
}
