//! The à-trous filter with learned guides (after Işık 2021).
//!
//! A U-Net on blocks of 2×2 pixels computes for every pixel two sets of eight guides, and for each level the precision of
//! guides and brightness, and the distrust of the pixel as a tap. The weights of the filter are `w(p,q) = h exp(-a(p) |f(p) -
//! f(q)|² - e(p) (v(p) - v(q))² - t(q))`, which are positive and normalised. Colour is filtered over albedo, in seven levels;
//! the divisor, which is noisy under depth of field, in three. Larger networks may multiply the divisor by a factor of their own.

use super::around::SHARE;
use super::front;
use super::network::Network;
use limpid_core::Image;

/// Distance of the taps at each level of colour.
pub const STEPS: [usize; 7] = [1, 2, 4, 8, 16, 32, 1];
/// Whether a level uses the first set of guides.
pub const NEAR: [bool; 7] = [true, true, true, false, false, false, true];
/// Distance of the taps at each level of the divisor, which uses the first set of guides.
pub const DIVISOR_STEPS: [usize; 3] = [1, 2, 4];
/// Input planes of the network.
pub const INPUTS: usize = 10;
/// Guides of a set.
pub const GUIDES: usize = 8;
/// Output planes of the network: two sets of guides; for each level a precision of the guides, one of the brightness, and a
/// distrust; a precision for each level of the divisor.
pub const OUTPUTS: usize = 2 * GUIDES + 3 * STEPS.len() + DIVISOR_STEPS.len();
/// The first plane after the guides: precisions.
pub const PRECISION: usize = 2 * GUIDES;
/// Precisions of the brightness.
pub const SHARPNESS: usize = PRECISION + STEPS.len();
/// Distrust.
pub const DISTRUST: usize = SHARPNESS + STEPS.len();
/// Precisions for the divisor.
pub const DIVISOR: usize = DISTRUST + STEPS.len();
/// The factor of the divisor, three planes that not all networks have.
pub const FACTOR: usize = OUTPUTS;
/// The largest logarithm of the factor.
pub const FACTOR_MOST: f32 = 3.0;
/// The B3 spline.
pub const TAPS: [f32; 5] = [0.0625, 0.25, 0.375, 0.25, 0.0625];
/// Added to sums of weights.
pub const LEAST: f32 = 1e-12;
/// Brightness is the logarithm of luminance plus this.
pub const DARK: f32 = 0.05;
/// Inputs of the network are clamped to this.
pub const MOST: f32 = 6e4;
/// The largest distrust.
pub const DISTRUSTED: f32 = 12.0;

/// Global properties of the image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImageFacts {
    /// The factor of colour: scales the mean luminance, without outliers far above it, to 0.3.
    pub exposure: f32,
    /// The mean depth of the pixels that have any.
    pub depth: f32,
}

/// The layers of an image; missing ones count as zero.
#[derive(Debug, Clone, Copy)]
pub struct Layers<'a> {
    /// One or three channels.
    pub color: &'a Image,
    /// Three channels.
    pub albedo: Option<&'a Image>,
    /// Three channels.
    pub normal: Option<&'a Image>,
    /// One channel.
    pub depth: Option<&'a Image>,
}

/// Depths from this value on are not a surface.
pub const FAR: f32 = 1e6;

/// Luminance of three channels.
#[inline(always)]
pub fn luminance(c: [f32; 3]) -> f32 {
    0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]
}

/// The data of a pixel: the network inputs, and the divisor of colour.
pub struct Pixel {
    /// The input planes of the network.
    pub inputs: [f32; INPUTS],
    /// Albedo, if there is any; otherwise 1.
    pub divisor: [f32; 3],
}

/// A pixel of the layers, which are zero if missing. Mirrors, glass, emitters and sky have hardly any albedo: their colour is
/// filtered undivided.
#[inline(always)]
pub fn pixel(
    color: [f32; 3],
    albedo: [f32; 3],
    normal: [f32; 3],
    depth: f32,
    whole: ImageFacts,
) -> Pixel {
    let [r, g, b] = albedo;
    let albedo = [r.clamp(0.0, 1.0), g.clamp(0.0, 1.0), b.clamp(0.0, 1.0)];
    let divisor = front::divisor(albedo);
    let near = if depth > 0.0 && depth < FAR {
        depth / (whole.depth + 1e-6)
    } else {
        0.0
    };
    let mut inputs = [0.0; INPUTS];
    for c in 0..3 {
        let value = (color[c] * whole.exposure / divisor[c]).clamp(0.0, MOST);
        inputs[c] = value;
        inputs[3 + c] = albedo[c];
        inputs[6 + c] = normal[c].clamp(-1.0, 1.0);
    }
    inputs[9] = near / (1.0 + near);
    Pixel { inputs, divisor }
}

/// The inputs of the network, and the divisor of colour.
pub fn inputs(layers: &Layers<'_>, whole: ImageFacts) -> (Image, Image) {
    let (w, h) = (layers.color.width(), layers.color.height());
    let (mut x, mut divisor) = (Image::new(w, h, INPUTS), Image::new(w, h, 3));
    for j in 0..h {
        for i in 0..w {
            let three = |image: Option<&Image>| -> [f32; 3] {
                std::array::from_fn(|c| image.map_or(0.0, |m| m.get(i, j, c.min(m.channels() - 1))))
            };
            let depth = layers.depth.map_or(0.0, |d| d.get(i, j, 0));
            let (albedo, normal) = (three(layers.albedo), three(layers.normal));
            let p = pixel(three(Some(layers.color)), albedo, normal, depth, whole);
            for (k, v) in p.inputs.into_iter().enumerate() {
                x.set(i, j, k, if k < 3 { v.ln_1p() } else { v });
            }
            for (k, v) in p.divisor.into_iter().enumerate() {
                divisor.set(i, j, k, v);
            }
        }
    }
    (x, divisor)
}

/// Runs the network: returns guides and all other planes, in the ranges that the filter expects.
pub fn guides(x: &Image, network: &Network) -> Image {
    let raw = network.run(x);
    Image::from_fn(raw.width(), raw.height(), raw.channels(), |i, j, k| {
        ranged(raw.get(i, j, k), k)
    })
}

/// The divisor times the factor of the network, if it has one.
pub fn divided(divisor: &Image, guides: &Image) -> Image {
    if guides.channels() == OUTPUTS {
        return divisor.clone();
    }
    Image::from_fn(divisor.width(), divisor.height(), 3, |x, y, c| {
        divisor.get(x, y, c) * guides.get(x, y, FACTOR + c)
    })
}

/// Maps a plane of the network to the range that the filter expects.
pub fn ranged(v: f32, plane: usize) -> f32 {
    let softplus = |v: f32| v.max(0.0) + (-v.abs()).exp().ln_1p();
    match plane {
        0..PRECISION => v,
        PRECISION..SHARPNESS => softplus(v),
        SHARPNESS..DISTRUST => softplus(v - 2.0),
        DISTRUST..DIVISOR => DISTRUSTED / (1.0 + (3.0 - v).exp()),
        DIVISOR..FACTOR => softplus(v + 3.0),
        FACTOR..SHARE => (FACTOR_MOST * (v / FACTOR_MOST).tanh()).exp(),
        _ => 1.0 / (1.0 + (-v).exp()),
    }
}

/// The weights of a level.
struct Level<'a> {
    guides: &'a Image,
    /// The first plane of the guides.
    first: usize,
    precision: usize,
    /// Brightness, with the planes of its precision and of the distrust.
    bright: Option<(Vec<f32>, usize, usize)>,
    step: usize,
}

impl Level<'_> {
    fn weight(&self, p: [usize; 2], q: [usize; 2]) -> f64 {
        let at = |p: [usize; 2], k: usize| f64::from(self.guides.get(p[0], p[1], k));
        let square = |k: usize| (at(p, self.first + k) - at(q, self.first + k)).powi(2);
        let apart: f64 = (0..GUIDES).map(square).sum();
        let mut exponent = at(p, self.precision) * apart;
        if let Some((bright, sharpness, distrust)) = &self.bright {
            let v = |p: [usize; 2]| f64::from(bright[p[1] * self.guides.width() + p[0]]);
            exponent += at(p, *sharpness) * (v(p) - v(q)).powi(2) + at(q, *distrust);
        }
        (-exponent).exp()
    }

    fn run(&self, image: &Image) -> Image {
        let (w, h) = (image.width(), image.height());
        let mut out = image.clone();
        let near = |n: usize, x: usize| {
            let step = self.step;
            let q = move |k: usize| (x + k * step).checked_sub(2 * step).filter(|q| *q < n);
            (0..5).filter_map(move |k| q(k).map(|q| (f64::from(TAPS[k]), q)))
        };
        for y in 0..h {
            for x in 0..w {
                let (mut sums, mut total) = (vec![0.0; image.channels()], f64::from(LEAST));
                for (hy, j) in near(h, y) {
                    for (hx, i) in near(w, x) {
                        let weight = hx * hy * self.weight([x, y], [i, j]);
                        total += weight;
                        for (k, sum) in sums.iter_mut().enumerate() {
                            *sum += weight * f64::from(image.get(i, j, k));
                        }
                    }
                }
                for (k, sum) in sums.iter().enumerate() {
                    out.set(x, y, k, (sum / total) as f32);
                }
            }
        }
        out
    }
}

/// Logarithm of luminance.
pub fn brightness(value: [f32; 3]) -> f32 {
    (luminance(value).max(0.0) + DARK).ln()
}

/// All levels of colour, which is the first three planes, and of the layers filtered along with it.
pub fn filtered(value: &Image, guides: &Image) -> Image {
    let mut image = value.clone();
    for (i, step) in STEPS.into_iter().enumerate() {
        let bright = |k: usize| brightness(std::array::from_fn(|c| image.plane(c)[k]));
        let level = Level {
            guides,
            first: if NEAR[i] { 0 } else { GUIDES },
            precision: PRECISION + i,
            bright: Some((
                (0..value.width() * value.height()).map(bright).collect(),
                SHARPNESS + i,
                DISTRUST + i,
            )),
            step,
        };
        image = level.run(&image);
    }
    image
}

/// All levels of the divisor.
pub fn filtered_divisor(divisor: &Image, guides: &Image) -> Image {
    let mut image = divisor.clone();
    for (i, step) in DIVISOR_STEPS.into_iter().enumerate() {
        let level = Level {
            guides,
            first: 0,
            precision: DIVISOR + i,
            bright: None,
            step,
        };
        image = level.run(&image);
    }
    image
}
