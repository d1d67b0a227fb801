//! Preprocessing for all methods for renders: surfaces, outliers, one buffer as two.
//!
//! - [`surface`]: features on a common scale, three classes of pixels that never mix, and the albedo that divides colour.
//!   Renderers differ here: Cycles writes emission into albedo, others write no albedo for lamps.
//! - [`limit_by_other`], [`limit_by_itself`]: single bright samples are clamped by the pixels around them.
//! - [`checkerboard`]: the two colours of a checkerboard replace two independent buffers.

use limpid_core::Image;

/// Albedo below this is black: an emitter, or a surface without albedo.
pub const BLACK: f32 = 1e-3;
/// Albedo above this contains emission.
pub const EMITTING: f32 = 1.2;
/// Depth from this value on is sky.
pub const FAR: f32 = 1e9;
/// Colour is not divided by albedo whose largest channel is below this, and fully divided by it from [`DIM`] on.
pub const FAINT: f32 = 0.02;
/// See [`FAINT`].
pub const DIM: f32 = 0.1;
/// The smallest channel of [`divisor`].
pub const LEAST_DIVISOR: f32 = 0.05;
/// Added to albedo before colour is divided by it.
pub const DARK: f32 = 0.05;
/// Radius of the window for detecting outliers.
pub const WINDOW: usize = 3;
/// The rank, from the largest, of the value in the other buffer's window that limits a pixel; and the factor by which it may be
/// exceeded.
pub const OTHER: (usize, f32) = (3, 1.2);
/// The same for the pixel's own window, excluding the pixel.
pub const ITSELF: (usize, f32) = (6, 1.4);

/// Pixels that show a surface.
pub const SURFACE: f32 = 0.0;
/// Pixels that show an emitter.
pub const EMITTER: f32 = 1.0;
/// Pixels that show nothing.
pub const MISS: f32 = 2.0;

/// Feature layers, if present.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layers<'a> {
    /// Albedo.
    pub albedo: Option<&'a Image>,
    /// Normals.
    pub normal: Option<&'a Image>,
    /// Depth with the range of its logarithm.
    pub depth: Option<(&'a Image, Depth)>,
    /// Position with its factor.
    pub position: Option<(&'a Image, f32)>,
}

/// The range of the logarithm of depth over an image.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Depth {
    /// Smaller values are clamped to this.
    pub low: f32,
    /// Subtracted from the logarithm.
    pub middle: f32,
    /// Larger values are clamped to this.
    pub high: f32,
}

/// The information of the features about each pixel.
#[derive(Debug, Clone)]
pub struct Surface {
    /// Albedo, normal, depth and position on a common scale, one plane after the other; `None` without features.
    pub features: Option<Image>,
    /// Number of planes of albedo and normal.
    pub sharp: usize,
    /// [`SURFACE`], [`EMITTER`] or [`MISS`].
    pub class: Image,
    /// The divisor of colour, including the exposure.
    pub divide: Image,
}

/// Features, classes, and the divisor of a colour with `channels` channels: albedo if `divide` is set, over the exposure.
pub fn surface(
    layers: &Layers<'_>,
    size: limpid_core::Size,
    channels: usize,
    divide: bool,
    exposure: f32,
) -> Surface {
    let (w, h) = (size.width, size.height);
    let class = Image::from_fn(w, h, 1, |x, y, _| class(layers, x, y));
    let mut planes: Vec<Box<dyn Fn(usize, usize) -> f32 + '_>> = Vec::new();
    for c in 0..3 {
        if let Some(a) = layers.albedo {
            planes.push(Box::new(move |x, y| a.get(x, y, c).clamp(0.0, 1.0)));
        }
    }
    for c in 0..3 {
        if let Some(n) = layers.normal {
            planes.push(Box::new(move |x, y| n.get(x, y, c).clamp(-1.0, 1.0)));
        }
    }
    let sharp = planes.len();
    if let Some((d, range)) = layers.depth {
        let class = &class;
        planes.push(Box::new(move |x, y| match class.get(x, y, 0) {
            MISS => 0.0,
            _ => d.get(x, y, 0).max(1e-30).ln().clamp(range.low, range.high) - range.middle,
        }));
    }
    for c in 0..3 {
        if let Some((p, scale)) = layers.position {
            planes.push(Box::new(move |x, y| scale * p.get(x, y, c)));
        }
    }
    let features =
        (!planes.is_empty()).then(|| Image::from_fn(w, h, planes.len(), |x, y, c| planes[c](x, y)));
    let divide = Image::from_fn(w, h, channels, |x, y, c| match layers.albedo {
        Some(a) if divide && class.get(x, y, 0) == SURFACE => {
            let one = |c: usize| a.get(x, y, c).clamp(0.0, 1.0);
            let albedo = match channels {
                1 => (one(0) + one(1) + one(2)) / 3.0,
                _ => one(c),
            };
            (albedo + DARK) / exposure
        }
        _ => 1.0 / exposure,
    });
    Surface {
        features,
        sharp,
        class: class.clone(),
        divide,
    }
}

/// The first planes of albedo, depth, normal, brightness and position in [`packed`].
pub const ALBEDO: usize = 0;
/// Depth and class.
pub const DEPTH: usize = 3;
/// Normal.
pub const NORMAL: usize = 4;
/// Brightness.
pub const GUIDE: usize = 7;
/// Position, if present.
pub const POSITION: usize = 8;
/// Albedo is rounded to multiples of one over this.
pub const ALBEDO_STEPS: f32 = 1023.0;
/// Channels of normals are rounded to multiples of one over this.
pub const NORMAL_STEPS: f32 = 511.0;
/// Distance in depth between pixels of different classes.
pub const APART: f32 = 1024.0;

/// The nearest multiple of one over `steps`.
#[inline(always)]
pub fn rounded(v: f32, steps: f32) -> f32 {
    (v * steps + 0.5).floor() / steps
}

/// The guides in few planes: albedo, depth with the class, normal, a brightness, and position if present. Missing ones are 0.
pub fn packed(layers: &Layers<'_>, surface: &Surface, guide: &Image) -> Image {
    let (w, h) = (guide.width(), guide.height());
    let there = [
        (ALBEDO, 3, layers.albedo.is_some()),
        (NORMAL, 3, layers.normal.is_some()),
        (DEPTH, 1, layers.depth.is_some()),
        (POSITION, 3, layers.position.is_some()),
    ];
    let planes = if there[3].2 { POSITION + 3 } else { POSITION };
    let mut out = Image::new(w, h, planes);
    let mut next = 0;
    for (start, count, there) in there {
        let Some(features) = surface.features.as_ref().filter(|_| there) else {
            continue;
        };
        for k in 0..count {
            for y in 0..h {
                for x in 0..w {
                    let v = features.get(x, y, next + k);
                    let v = match start {
                        ALBEDO => rounded(v, ALBEDO_STEPS),
                        NORMAL => rounded(v, NORMAL_STEPS),
                        _ => v,
                    };
                    out.set(x, y, start + k, v);
                }
            }
        }
        next += count;
    }
    for y in 0..h {
        for x in 0..w {
            let deep = out.get(x, y, DEPTH) + APART * surface.class.get(x, y, 0);
            out.set(x, y, DEPTH, deep);
            out.set(x, y, GUIDE, guide.get(x, y, 0));
        }
    }
    out
}

/// The divisor of a pixel's colour while it is filtered: its albedo, clamped to at least a twentieth. Where there is hardly any
/// albedo (mirrors, glass, emitters, sky) it is 1, with a smooth transition in between.
#[inline(always)]
pub fn divisor(albedo: [f32; 3]) -> [f32; 3] {
    let [r, g, b] = albedo;
    let [r, g, b] = [r.clamp(0.0, 1.0), g.clamp(0.0, 1.0), b.clamp(0.0, 1.0)];
    let some = ((r.max(g).max(b) - FAINT) / (DIM - FAINT)).clamp(0.0, 1.0);
    let over = |a: f32| 1.0 + some * (a.max(LEAST_DIVISOR) - 1.0);
    [over(r), over(g), over(b)]
}

/// Whether the albedo of a pixel is that of an emitter.
pub fn emits(albedo: &Image, x: usize, y: usize) -> bool {
    let most = (0..3).fold(0.0f32, |m, c| m.max(albedo.get(x, y, c)));
    !(BLACK..=EMITTING).contains(&most)
}

fn class(layers: &Layers<'_>, x: usize, y: usize) -> f32 {
    let nothing = match (layers.depth, layers.normal) {
        (Some((d, _)), _) => {
            let d = d.get(x, y, 0);
            d <= 0.0 || d >= FAR
        }
        (None, Some(n)) => (0..3).all(|c| n.get(x, y, c).abs() < 1e-2),
        (None, None) => false,
    };
    let emits = layers.albedo.is_some_and(|a| emits(a, x, y));
    match (nothing, emits) {
        (true, _) => MISS,
        (false, true) => EMITTER,
        (false, false) => SURFACE,
    }
}

/// The mean of the channels.
pub fn brightness(image: &Image, x: usize, y: usize) -> f32 {
    let n = image.channels();
    (0..n).map(|c| image.get(x, y, c)).sum::<f32>() / n as f32
}

/// The `rank` largest brightnesses around a pixel, of pixels of its class; -1 if there are fewer.
fn largest(
    image: &Image,
    class: &Image,
    at: (usize, usize),
    (rank, own): (usize, bool),
    step: usize,
) -> Vec<f32> {
    let along = |length: usize, at: usize| {
        let r = WINDOW as i64;
        let places = (-r..=r).map(move |d| at as i64 + d * step as i64);
        places
            .filter(move |q| (0..length as i64).contains(q))
            .map(|q| q as usize)
    };
    let mut found = vec![-1.0; rank];
    for y in along(image.height(), at.1) {
        for x in along(image.width(), at.0) {
            let same = class.get(x, y, 0) == class.get(at.0, at.1, 0);
            if same && (own || (x, y) != at) {
                found.push(brightness(image, x, y).max(0.0));
            }
        }
    }
    found.sort_by(|a, b| b.total_cmp(a));
    found.truncate(rank);
    found
}

/// Clamps a buffer by another, independent one: a pixel may be as bright as the other's pixel, or slightly brighter than the
/// third brightest around it. `floor` is a brightness that is always accepted.
pub fn limit_by_other(image: &Image, other: &Image, class: &Image, floor: f32) -> Image {
    let (rank, factor) = OTHER;
    limited(image, |x, y| {
        let found = largest(other, class, (x, y), (rank, true), 1);
        (factor * found[rank - 1]).max(brightness(other, x, y)) + floor
    })
}

/// Clamps a buffer by itself: a pixel may be slightly brighter than the sixth brightest around it. If there are not that many
/// of its class, the brightest is used; a lone pixel has no limit. Compared pixels are `step` apart: a wide pixel filter
/// spreads one bright sample over several.
pub fn limit_by_itself(image: &Image, class: &Image, floor: f32, step: usize) -> Image {
    let (rank, factor) = ITSELF;
    limited(image, |x, y| {
        let found = largest(image, class, (x, y), (rank, false), step);
        match (found[rank - 1] >= 0.0, found[0] >= 0.0) {
            (true, _) => factor * found[rank - 1] + floor,
            (false, true) => factor * found[0] + floor,
            (false, false) => f32::MAX,
        }
    })
}

fn limited(image: &Image, limit: impl Fn(usize, usize) -> f32) -> Image {
    let (w, h) = (image.width(), image.height());
    let scale = Image::from_fn(w, h, 1, |x, y, _| {
        let (limit, bright) = (limit(x, y), brightness(image, x, y));
        if bright > limit { limit / bright } else { 1.0 }
    });
    Image::from_fn(w, h, image.channels(), |x, y, c| {
        image.get(x, y, c) * scale.get(x, y, 0)
    })
}

/// One buffer as two: each pixel, and the mean of its four neighbours, which are of the other parity.
#[derive(Debug, Clone)]
pub struct Checkerboard {
    /// The mean of the neighbours, weighted by the similarity of their surfaces.
    pub mean: Image,
    /// The variance of that mean, relative to a pixel's.
    pub share: Image,
}

/// The means of the four neighbours, `step` pixels away. The first `sharp` planes of the features determine the similarity of
/// surfaces.
pub fn checkerboard(
    image: &Image,
    features: Option<&Image>,
    sharp: usize,
    class: &Image,
    step: usize,
) -> Checkerboard {
    let (w, h) = (image.width(), image.height());
    let weights = |x: usize, y: usize| -> Vec<(usize, usize, f64)> {
        let beside = [(1i64, 0i64), (0, 1), (-1, 0), (0, -1)];
        let inside = beside.into_iter().filter_map(|(dx, dy)| {
            let by = step as i64;
            let (i, j) = (x as i64 + by * dx, y as i64 + by * dy);
            let ok = (0..w as i64).contains(&i) && (0..h as i64).contains(&j);
            ok.then_some((i as usize, j as usize))
        });
        inside
            .map(|(i, j)| {
                let apart: f64 = features.map_or(0.0, |f| {
                    let d = |c| f64::from(f.get(x, y, c)) - f64::from(f.get(i, j, c));
                    (0..sharp).map(|c| d(c).powi(2)).sum()
                });
                let other = class.get(x, y, 0) != class.get(i, j, 0);
                let far = 50.0 * apart + if other { 9.0 } else { 0.0 };
                (i, j, (-far).exp() + 1e-4)
            })
            .collect()
    };
    let sum = |x, y| weights(x, y).iter().map(|(.., w)| w).sum::<f64>() + 1e-6;
    Checkerboard {
        mean: Image::from_fn(w, h, image.channels(), |x, y, c| {
            let near = weights(x, y);
            let total = near
                .iter()
                .map(|(i, j, w)| w * f64::from(image.get(*i, *j, c)));
            (total.sum::<f64>() / sum(x, y)) as f32
        }),
        share: Image::from_fn(w, h, 1, |x, y, _| {
            let squares: f64 = weights(x, y).iter().map(|(.., w)| w * w).sum();
            (squares / sum(x, y).powi(2)) as f32
        }),
    }
}

/// Squared differences below this are not noise.
pub const NOISE_FLOOR: f32 = 1e-9;

/// The geometric mean of the squared differences of white noise, relative to its variance: for one plane, and for the mean of
/// three.
pub fn noise_share(planes: usize) -> f32 {
    if planes == 1 { 0.28 } else { 0.7 }
}

/// The variance of the noise of a feature, estimated from the feature alone: its difference from the mean of four neighbours.
/// The geometric mean over 9×9 pixels is insensitive to edges and texture, where many differences are small; with noise none
/// are.
pub fn feature_noise(feature: &Image) -> Image {
    let (w, h, n) = (feature.width(), feature.height(), feature.channels());
    let raw = Image::from_fn(w, h, 1, |x, y, _| {
        let off = |c: usize| {
            let at = |x: usize, y: usize| f64::from(feature.get(x, y, c));
            let (right, below) = ((x + 1).min(w - 1), (y + 1).min(h - 1));
            let around = at(x.saturating_sub(1), y)
                + at(right, y)
                + at(x, y.saturating_sub(1))
                + at(x, below);
            (0.25 * around - at(x, y)).powi(2)
        };
        let mean = (0..n).map(off).sum::<f64>() * 0.8 / n as f64;
        (mean + f64::from(NOISE_FLOOR)).ln() as f32
    });
    let mean = super::window::tent(&raw, 4, 1.0, 0.0);
    let noise = mean.map(|v| (v.exp() - NOISE_FLOOR).max(0.0) / noise_share(n));
    super::window::tent(&noise, 2, 1.0, 0.0)
}
