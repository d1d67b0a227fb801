//! Spatio-temporal variance-guided filtering (Schied 2017).
//!
//! Colour is light divided by albedo. For each frame, history is reprojected tap by tap where depth, normal and object agree;
//! colour and the moments of luminance are blended with it; the variance from the moments tells the à-trous filter which
//! differences of luminance are noise. The result of the first level is the colour history for the next frame.
//!
//! At level `i`, with taps `2^i` pixels apart, `w = h · w_z · w_n · w_l` (Eq. 3 to 5): `w_z = exp(-|Δz| / (σ_z |∇z·Δp| + ε))`,
//! `w_n = max(0, n_p·n_q)^σ_n`, `w_l = exp(-|Δl| / (σ_l √g + ε))`. `g` is the variance, blurred by a 3×3 Gaussian with the
//! spacing of the level's taps. The pixel itself has weight `h`; variance is filtered with squared weights. The result is
//! blended with the previous one by temporal anti-aliasing ([`super::taa`]).
//!
//! Beyond the paper: where the light around a pixel has changed by more than noise explains, history counts for less, or not at
//! all; reflections and refractions do not move with their mirrors and glass, so new frames count for more there, and changes
//! over time are mostly not noise; other objects have no weight, or lamps would leak into the surface around them; the variance
//! is that of the blend of `N` frames, not of one frame, so that filtering stops where history has reduced the noise.

mod change;

pub use change::{AROUND, CHANGE, CHANGE_LEAST};

use super::atrous::stored;
use super::taa::Settings as Resolve;
use change::kept;
use limpid_core::{Image, LUMINANCE};

/// The settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Least share of a new frame.
    pub alpha: f32,
    /// Number of levels.
    pub levels: usize,
    /// σ_l.
    pub luminance: f32,
    /// σ_z.
    pub depth: f32,
    /// σ_n.
    pub normal: f32,
    /// Whether colour and variance are stored in half precision.
    pub half: bool,
    /// Whether negative depth marks mirrors, glass and emitters.
    pub mirrors: bool,
    /// The kernel along one axis: [`TAPS`] or [`WIDE_TAPS`].
    pub taps: &'static [f32],
    /// Channels of colour. Further planes, of light layers, are filtered with the same weights.
    pub colors: usize,
}

/// The features of a frame.
#[derive(Debug, Clone)]
pub struct Features {
    /// Unit length; zero where there is none.
    pub normal: Image,
    /// Distance from the camera.
    pub depth: Image,
    /// Change of depth from pixel to pixel, in x and y.
    pub gradient: Image,
    /// Object id.
    pub id: Image,
}

/// State kept from one frame to the next.
#[derive(Debug, Clone)]
pub struct History {
    /// Colour after the first level.
    pub color: Image,
    /// Mean of luminance, mean of its square, number of frames.
    pub moments: Image,
    /// The features.
    pub features: Features,
    /// The result, which the next one is blended with.
    pub shown: Option<Image>,
}

/// The kernel along one axis. With 3×3 taps a level takes two thirds of the time of the 5×5 of Schied 2017, with equal quality.
pub const TAPS: [f32; 3] = [0.25, 0.5, 0.25];
/// The B3 spline of Schied 2017 and Dolp 2024.
pub const WIDE_TAPS: [f32; 5] = [0.0625, 0.25, 0.375, 0.25, 0.0625];
/// Weights of the 3×3 Gaussian along one axis.
pub const GAUSS: [f32; 3] = [0.25, 0.5, 0.25];
/// ε of depth, relative to the depth: tolerates rounding and sampling within a pixel.
pub const DEPTH_LEAST: f32 = 0.02;
/// ε of luminance.
pub const LUMINANCE_LEAST: f32 = 1e-6;
/// History that differs by more than this share of the depth is another surface, unless the surface is steep.
pub const DEPTH_CHANGE: f32 = 0.1;
/// Normals with a smaller cosine between them belong to different surfaces.
pub const NORMAL_CHANGE: f32 = 0.9;
/// Bilinear taps with a smaller total weight are not used as history.
pub const TAPS_LEAST: f32 = 0.01;
/// Shorter histories use the variance of the surrounding pixels.
pub const SHORT: f32 = 4.0;
/// Pixels to each side of the window for short histories.
pub const WINDOW: usize = 3;
/// Frames beyond this number are not counted.
pub const MOST_FRAMES: f32 = 64.0;
/// Least share of a new frame in mirrors and glass.
pub const MIRROR_ALPHA: f32 = 0.4;
/// The part of the variance there that counts as noise.
pub const MIRROR_VARIANCE: f32 = 0.1;
/// How the result is blended with the previous one. Colours are not compressed, which would darken lamps.
pub const RESOLVE: Resolve = Resolve {
    radius: 1,
    // The corner of a lamp has five dark pixels of nine around it: its light must be inside the box, which needs at least 1.15.
    gamma: 1.2,
    blend: 0.3,
    chroma: 0.05,
    discount: true,
    highlights: 0.0,
    soften: 0.0,
    cubic: true,
};

/// The maximum number of frames that a blend with this smallest share of the new one amounts to: `(Σ w)² / Σ w²` of its
/// weights.
pub fn deepest(alpha: f32) -> f32 {
    (2.0 - alpha) / alpha
}

/// The features from their layers. Without normals or depth they come from positions: the normal of the surface through
/// neighbouring positions, and the distance from the origin.
pub fn features(
    normal: Option<&Image>,
    depth: Option<&Image>,
    position: Option<&Image>,
    id: Option<&Image>,
    size: limpid_core::Size,
) -> Features {
    let (w, h) = (size.width, size.height);
    let place = |x: usize, y: usize| -> [f64; 3] {
        std::array::from_fn(|k| position.map_or(0.0, |p| f64::from(p.get(x, y, k))))
    };
    let depth = Image::from_fn(w, h, 1, |x, y, _| match depth {
        Some(depth) => depth.get(x, y, 0),
        None => length(place(x, y)) as f32,
    });
    let normal = Image::from_fn(w, h, 3, |x, y, k| {
        let n = match normal {
            Some(normal) => std::array::from_fn(|c| f64::from(normal.get(x, y, c))),
            None => {
                let along = |axis: usize| -> [f64; 3] {
                    let Some((p, q)) = nearer(&depth, [x, y], axis) else {
                        return [0.0; 3];
                    };
                    let (p, q) = (place(p[0], p[1]), place(q[0], q[1]));
                    std::array::from_fn(|c| q[c] - p[c])
                };
                cross(along(0), along(1))
            }
        };
        let long = length(n);
        packed_unit(if long > 0.0 { n[k] / long } else { 0.0 })
    });
    let gradient = Image::from_fn(w, h, 2, |x, y, axis| {
        let slope = nearer(&depth, [x, y], axis).map_or(0.0, |(p, q)| {
            depth.get(q[0], q[1], 0) - depth.get(p[0], p[1], 0)
        });
        // Features are stored as half floats.
        let most = half::f16::MAX.to_f32();
        half::f16::from_f32(slope.clamp(-most, most)).to_f32()
    });
    let id = id.cloned().unwrap_or_else(|| Image::new(w, h, 1));
    Features {
        normal,
        depth,
        gradient,
        id,
    }
}

/// The pixel and its neighbour before or after it along an axis, in order: the neighbour with the smaller depth difference.
fn nearer(depth: &Image, p: [usize; 2], axis: usize) -> Option<([usize; 2], [usize; 2])> {
    let end = [depth.width(), depth.height()][axis];
    let step = |by: i64| {
        let mut q = p;
        q[axis] = (p[axis] as i64 + by) as usize;
        q
    };
    let before = (p[axis] > 0).then(|| step(-1));
    let after = (p[axis] + 1 < end).then(|| step(1));
    let change = |q: [usize; 2]| (depth.get(q[0], q[1], 0) - depth.get(p[0], p[1], 0)).abs();
    match (before, after) {
        (Some(b), Some(a)) if change(b) < change(a) => Some((b, p)),
        (_, Some(a)) => Some((p, a)),
        (Some(b), None) => Some((b, p)),
        (None, None) => None,
    }
}

fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|c| c * c).sum::<f64>().sqrt()
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|k| {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        a[i] * b[j] - a[j] * b[i]
    })
}

/// A number in -1 … 1 rounded to 16 bits.
fn packed_unit(v: f64) -> f32 {
    ((v.clamp(-1.0, 1.0) * 32767.0 + 0.5).floor() / 32767.0) as f32
}

/// The packed object id: 1 and up; 0 for pixels that show several objects, whose mean id is not an integer.
#[inline(always)]
pub fn object(id: f32) -> f32 {
    if (0.0..65535.0).contains(&id) && id.fract() == 0.0 {
        id + 1.0
    } else {
        0.0
    }
}

/// Luminance of a pixel; its value if there is one channel.
pub fn light(color: &Image, colors: usize, x: usize, y: usize) -> f64 {
    if colors == 1 {
        return f64::from(color.get(x, y, 0));
    }
    (0..3)
        .map(|k| f64::from(LUMINANCE[k] * color.get(x, y, k)))
        .sum()
}

/// One frame: returns the filtered colour, and the state for the next frame. Without `motion` history is not used.
pub fn svgf(
    color: &Image,
    features: &Features,
    motion: Option<&Image>,
    history: Option<&History>,
    settings: &Settings,
) -> (Image, History) {
    let (integrated, moments) = integrate(color, features, motion.zip(history), settings);
    let mut variance = variance(&integrated, &moments, features, settings);
    let mut c = stored(&integrated, settings.half);
    variance = stored(&variance, settings.half);
    let mut first = c.clone();
    for i in 0..settings.levels {
        let (next, spread) = level(&c, &variance, features, settings, i);
        c = stored(&next, settings.half);
        variance = stored(&spread, settings.half);
        if i == 0 {
            first = c.clone();
        }
    }
    let left = History {
        color: first,
        moments,
        features: features.clone(),
        shown: None,
    };
    (c, left)
}

/// Colour and moments, blended with history.
pub fn integrate(
    color: &Image,
    features: &Features,
    past: Option<(&Image, &History)>,
    settings: &Settings,
) -> (Image, Image) {
    let mut out = color.clone();
    let mut moments = Image::new(color.width(), color.height(), 3);
    for y in 0..color.height() {
        for x in 0..color.width() {
            let l = light(color, settings.colors, x, y);
            let mut new = [l, l * l, 1.0];
            if let Some((old_color, old, kept)) = past.and_then(|(motion, history)| {
                let (old_color, old) = reproject(features, motion, history, [x, y])?;
                let there = previous(motion, [x, y]);
                let light = |x, y| light(color, settings.colors, x, y);
                Some((old_color, old, kept(light, &history.moments, [x, y], there)))
            }) {
                let frames = (old[2] * kept + 1.0).min(f64::from(MOST_FRAMES));
                let least = match mirror(features, settings, [x, y]) {
                    true => settings.alpha.max(MIRROR_ALPHA),
                    false => settings.alpha,
                };
                let alpha = (1.0 - (1.0 - f64::from(least)) * kept).max(1.0 / frames);
                for k in 0..color.channels() {
                    let v = f64::from(color.get(x, y, k));
                    out.set(x, y, k, (old_color[k] + alpha * (v - old_color[k])) as f32);
                }
                for k in 0..2 {
                    new[k] = old[k] + alpha * (new[k] - old[k]);
                }
                new[2] = frames;
            }
            for k in 0..3 {
                moments.set(x, y, k, new[k] as f32);
            }
        }
    }
    (out, moments)
}

/// Whether a pixel shows a mirror, glass or an emitter.
fn mirror(f: &Features, s: &Settings, [x, y]: [usize; 2]) -> bool {
    s.mirrors && f.depth.get(x, y, 0) < 0.0
}

/// Where a pixel was in the last frame, at most just outside of it.
fn previous(motion: &Image, [x, y]: [usize; 2]) -> [f64; 2] {
    let far =
        |at: usize, by: f32, end: usize| (at as f64 + f64::from(by)).clamp(-2.0, end as f64 + 1.0);
    [
        far(x, motion.get(x, y, 0), motion.width()),
        far(y, motion.get(x, y, 1), motion.height()),
    ]
}

/// Colour and moments of the history of a pixel, from the four taps around its previous position.
fn reproject(
    now: &Features,
    motion: &Image,
    history: &History,
    [x, y]: [usize; 2],
) -> Option<(Vec<f64>, [f64; 3])> {
    let (w, h) = (motion.width() as f64, motion.height() as f64);
    let there = previous(motion, [x, y]);
    let channels = history.color.channels();
    let (mut color, mut moments, mut weights) = (vec![0.0; channels], [0.0; 3], 0.0);
    for (dx, dy) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
        let (qx, qy) = (there[0].floor() + dx, there[1].floor() + dy);
        if qx < 0.0 || qy < 0.0 || qx >= w || qy >= h {
            continue;
        }
        let q = [qx as usize, qy as usize];
        let lived = history.moments.get(q[0], q[1], 2) > 0.0;
        if !lived || !alike(now, &history.features, [x, y], q) {
            continue;
        }
        let weight = (1.0 - (there[0] - qx).abs()) * (1.0 - (there[1] - qy).abs());
        for k in 0..channels {
            color[k] += weight * f64::from(history.color.get(q[0], q[1], k));
        }
        for k in 0..3 {
            moments[k] += weight * f64::from(history.moments.get(q[0], q[1], k));
        }
        weights += weight;
    }
    (weights > f64::from(TAPS_LEAST)).then(|| {
        (
            color.iter().map(|c| c / weights).collect(),
            moments.map(|m| m / weights),
        )
    })
}

/// Whether pixel `p` now and pixel `q` of the last frame show the same surface.
fn alike(now: &Features, then: &Features, p: [usize; 2], q: [usize; 2]) -> bool {
    let (z, old) = (now.depth.get(p[0], p[1], 0), then.depth.get(q[0], q[1], 0));
    let slope: f32 = (0..2).map(|k| now.gradient.get(p[0], p[1], k).abs()).sum();
    let near = (z - old).abs() <= DEPTH_CHANGE * z.abs() + 2.0 * slope;
    let n = |f: &Features, p: [usize; 2]| [0, 1, 2].map(|k| f.normal.get(p[0], p[1], k));
    let (a, b) = (n(now, p), n(then, q));
    let turned = a != b && (0..3).map(|k| a[k] * b[k]).sum::<f32>() < NORMAL_CHANGE;
    near && !turned && now.id.get(p[0], p[1], 0) == then.id.get(q[0], q[1], 0)
}

/// `w_z · w_n` between two pixels; 0 if they show different objects.
fn surface(f: &Features, s: &Settings, p: [usize; 2], q: [usize; 2]) -> f64 {
    let at = |image: &Image, p: [usize; 2], k: usize| f64::from(image.get(p[0], p[1], k));
    let [a, b] = [p, q].map(|p| object(f.id.get(p[0], p[1], 0)));
    if a != b && a > 0.0 && b > 0.0 {
        return 0.0;
    }
    let (z, other) = (at(&f.depth, p, 0), at(&f.depth, q, 0));
    let slope: f64 = (0..2)
        .map(|k| at(&f.gradient, p, k) * (q[k] as f64 - p[k] as f64))
        .sum();
    let allowed = f64::from(s.depth) * slope.abs() + f64::from(DEPTH_LEAST) * z.abs() + 1e-6;
    let cosine: f64 = (0..3)
        .map(|k| at(&f.normal, p, k) * at(&f.normal, q, k))
        .sum();
    cosine.max(0.0).powf(f64::from(s.normal)) * (-(z - other).abs() / allowed).exp()
}

/// Variance of the blend's luminance: over time, or for short histories over the surrounding pixels, increased.
fn variance(color: &Image, moments: &Image, f: &Features, s: &Settings) -> Image {
    let (w, h) = (color.width(), color.height());
    Image::from_fn(w, h, 1, |x, y, _| {
        let at = |x: usize, y: usize, k: usize| f64::from(moments.get(x, y, k));
        let frames = at(x, y, 2);
        let noise = match mirror(f, s, [x, y]) {
            true => f64::from(MIRROR_VARIANCE),
            false => 1.0,
        };
        if frames >= f64::from(SHORT) {
            let spread = (at(x, y, 1) - at(x, y, 0).powi(2)).max(0.0);
            return (noise * spread / frames.min(f64::from(deepest(s.alpha)))) as f32;
        }
        let (mut sums, mut weights) = ([0.0; 2], 0.0);
        for qy in y.saturating_sub(WINDOW)..(y + WINDOW + 1).min(h) {
            for qx in x.saturating_sub(WINDOW)..(x + WINDOW + 1).min(w) {
                let weight = if (qx, qy) == (x, y) {
                    1.0
                } else {
                    surface(f, s, [x, y], [qx, qy])
                };
                for k in 0..2 {
                    sums[k] += weight * at(qx, qy, k);
                }
                weights += weight;
            }
        }
        let mean = sums[0] / weights;
        let spread = (sums[1] / weights - mean * mean).max(0.0);
        (noise * spread * f64::from(SHORT) / frames) as f32
    })
}

/// One level.
fn level(c: &Image, variance: &Image, f: &Features, s: &Settings, i: usize) -> (Image, Image) {
    let (mut out, mut spread) = (c.clone(), variance.clone());
    for y in 0..c.height() {
        for x in 0..c.width() {
            let around = around(variance, [x, y], 1 << i);
            let stop = f64::from(s.luminance) * around.sqrt() + f64::from(LUMINANCE_LEAST);
            let l = light(c, s.colors, x, y);
            let (mut sums, mut squares, mut weights) = (vec![0.0; c.channels()], 0.0, 0.0);
            for (h, q) in taps(s.taps, c, [x, y], 1 << i) {
                let w = if q == [x, y] {
                    h
                } else {
                    let delta = (l - light(c, s.colors, q[0], q[1])).abs();
                    h * surface(f, s, [x, y], q) * (-delta / stop).exp()
                };
                for k in 0..c.channels() {
                    sums[k] += w * f64::from(c.get(q[0], q[1], k));
                }
                squares += w * w * f64::from(variance.get(q[0], q[1], 0));
                weights += w;
            }
            for k in 0..c.channels() {
                out.set(x, y, k, (sums[k] / weights) as f32);
            }
            spread.set(x, y, 0, (squares / (weights * weights)) as f32);
        }
    }
    (out, spread)
}

/// The taps inside the image: `h`, and the position of each.
fn taps(h: &[f32], c: &Image, p: [usize; 2], step: i64) -> Vec<(f64, [usize; 2])> {
    let mut all = Vec::new();
    let r = h.len() as i64 / 2;
    for (hy, j) in h.iter().zip(-r..=r) {
        for (hx, i) in h.iter().zip(-r..=r) {
            if let Some(q) = moved(c, p, [i * step, j * step]) {
                all.push((f64::from(hx * hy), q));
            }
        }
    }
    all
}

/// The mean variance over the taps next to a pixel.
fn around(variance: &Image, p: [usize; 2], step: i64) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (gy, j) in GAUSS.iter().zip(-1..=1) {
        for (gx, i) in GAUSS.iter().zip(-1..=1) {
            if let Some(q) = moved(variance, p, [i * step, j * step]) {
                sum += f64::from(gx * gy) * f64::from(variance.get(q[0], q[1], 0));
                weights += f64::from(gx * gy);
            }
        }
    }
    sum / weights
}

/// A pixel `by` pixels away, if it is inside.
fn moved(image: &Image, p: [usize; 2], by: [i64; 2]) -> Option<[usize; 2]> {
    let q = [p[0] as i64 + by[0], p[1] as i64 + by[1]];
    let inside =
        q[0] >= 0 && q[1] >= 0 && q[0] < image.width() as i64 && q[1] < image.height() as i64;
    inside.then_some([q[0] as usize, q[1] as usize])
}
