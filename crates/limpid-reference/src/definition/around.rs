//! Frames before and after, as the network for sequences sees them.
//!
//! Each frame of a sequence has been denoised by itself. Its neighbours are fetched along the motion: noisy layers and results. A small
//! network compares them with the frame, for each distance those before and after together, and gives each of them three weights per pixel:
//! for its noisy light, for its results, and for albedo and normal, which stay the same where only light changes. The weighted means are a
//! frame of more samples, and results with less noise. The network of guides sees both and filters the former; its last output is the share
//! of the latter.
//!
//! All weights are positive, sum to one and are the same for all layers of light, so that these still add up. Light of places whose results are
//! much brighter than the frame's own counts less than the network says: at the edge of a lamp a small weight is a large error.

use super::network::Network;
use super::neural::{self, FACTOR, INPUTS, ImageFacts, MOST, luminance};
use super::window::gaussian;
use limpid_core::{Image, Size};

/// The largest number of frames on each side.
pub const FARTHEST: usize = 3;
/// The window over which noise is measured: standard deviation and radius.
pub const WINDOW: (f32, usize) = (4.0, 8);
/// The least noise relative to the light, and the largest deviation of a pixel that counts, so that fireflies do not stand for the noise.
pub const NOISE: [f32; 2] = [0.005, 4.0];
/// Light is compared by its logarithm, or relative to its brightness, plus this.
pub const DARK: f32 = neural::DARK;
/// The largest difference of noisy light that counts.
pub const APART: f32 = 4.0;
/// The squared difference of features where there is nothing to compare with.
pub const DIFFERENT: f32 = 2.0;
/// Steps that look for the place of a pixel in the next frame.
pub const STEPS: usize = 4;
/// How far from the pixel the motion from that place may end, in pixels.
pub const MISSED: f32 = 0.5;
/// How many times as bright as the frame's result another one may be before it counts less.
pub const BRIGHTER: f32 = 2.0;
/// Planes that the network of weights reads for each distance.
pub const COMPARED: usize = 15;
/// Planes that it computes: before and after, weights of noisy light, of results, and of albedo and normal. The last two are not used.
pub const WEIGHTS: usize = 8;
/// The first two weights.
pub const OF_LIGHT: usize = 0;
/// Those of results.
pub const OF_RESULTS: usize = 1;
/// Those of albedo and normal.
pub const OF_FEATURES: usize = 2;
/// Planes that the network of guides reads besides [`INPUTS`].
pub const MORE: usize = 6;
/// The plane of its outputs that is the share of the results' mean.
pub const SHARE: usize = FACTOR + 3;

/// A denoised frame.
#[derive(Debug, Clone)]
pub struct DenoisedFrame {
    /// Its noisy layers, colour first.
    pub layers: Vec<Image>,
    /// The results of those layers, and of further ones.
    pub results: Vec<Image>,
    /// Which of these layers are parts of the colour, with its channels. Between pixels they are limited as it is, so that they add up.
    pub parts: Vec<usize>,
    /// Three channels.
    pub albedo: Option<Image>,
    /// Three channels.
    pub normal: Option<Image>,
    /// One channel.
    pub depth: Option<Image>,
    /// Previous minus present position, in pixels.
    pub motion: Image,
}

/// The nearest pixel, if the position is inside the image.
pub fn nearest([x, y]: [f32; 2], size: Size) -> Option<(usize, usize)> {
    let inside = |v: f32, n: usize| v > -0.5 && v < n as f32 - 0.5;
    let to = |v: f32, n: usize| ((v + 0.5).floor().max(0.0) as usize).min(n - 1);
    (inside(x, size.width) && inside(y, size.height))
        .then(|| (to(x, size.width), to(y, size.height)))
}

/// Where a pixel of frame `at` is in another frame, following the motion from frame to frame.
pub fn place(
    frames: &[DenoisedFrame],
    at: usize,
    other: usize,
    pixel: [f32; 2],
) -> Option<[f32; 2]> {
    let size = frames[at].motion.size();
    let motion = |frame: usize, from: [f32; 2]| {
        let (x, y) = nearest(from, size)?;
        Some([0, 1].map(|c| frames[frame].motion.get(x, y, c)))
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

/// One of the sixteen pixels around a position; the nearest have the numbers 1 and 2.
fn near(image: &Image, [x, y]: [f32; 2], i: usize, j: usize, c: usize) -> f32 {
    let at = |v: f32, n: usize| v.clamp(0.0, (n - 1) as f32) as usize;
    let (x, y) = (x.floor() + i as f32 - 1.0, y.floor() + j as f32 - 1.0);
    image.get(at(x, image.width()), at(y, image.height()), c)
}

/// A plane between pixels: by straight lines, and by splines through sixteen of them.
fn between(image: &Image, place: [f32; 2], c: usize) -> [f32; 2] {
    let [fx, fy] = place.map(|v| v - v.floor());
    let row = |j: usize| {
        let (a, b) = (near(image, place, 1, j, c), near(image, place, 2, j, c));
        a + fx * (b - a)
    };
    let plain = row(1) + fy * (row(2) - row(1));
    let mut sharp = 0.0;
    for (j, wy) in spline(fy).into_iter().enumerate() {
        for (i, wx) in spline(fx).into_iter().enumerate() {
            sharp += wx * wy * near(image, place, i, j, c);
        }
    }
    [plain, sharp]
}

/// How far to go from straight lines to splines to stay in the range of the four nearest pixels: 0 … 1.
fn limit(image: &Image, place: [f32; 2], c: usize) -> f32 {
    let four = [(1, 1), (2, 1), (1, 2), (2, 2)].map(|(i, j)| near(image, place, i, j, c));
    let least = four.into_iter().fold(f32::INFINITY, f32::min);
    let most = four.into_iter().fold(f32::NEG_INFINITY, f32::max);
    let [plain, sharp] = between(image, place, c);
    share(plain, sharp, least, most)
}

/// The share of the way from `plain` to `sharp` that is inside the range.
#[inline(always)]
pub fn share(plain: f32, sharp: f32, least: f32, most: f32) -> f32 {
    let way = sharp - plain;
    if way == 0.0 {
        return 1.0;
    }
    ((sharp.max(least).min(most) - plain) / way).clamp(0.0, 1.0)
}

/// A plane between pixels, by splines that are limited where another one is and as much.
fn limited(image: &Image, by: &Image, place: [f32; 2], c: usize) -> f32 {
    let [plain, sharp] = between(image, place, c);
    plain + limit(by, place, c) * (sharp - plain)
}

/// A plane between pixels, by splines that are limited to the range of the four nearest.
fn cubic(image: &Image, place: [f32; 2], c: usize) -> f32 {
    limited(image, image, place, c)
}

/// The weights of the four pixels around a position.
pub fn spline(f: f32) -> [f32; 4] {
    let near = |f: f32| 1.0 + f * f * (1.5 * f - 2.5);
    let g = 1.0 - f;
    [-0.5 * f * g * g, near(f), near(g), -0.5 * g * f * f]
}

/// For each pixel of frame `at` its place in another frame.
type Places = Vec<Option<[f32; 2]>>;

/// The frames at some distance before and after, with places in them.
type Sides = [Option<(usize, Places)>; 2];

fn sides(frames: &[DenoisedFrame], at: usize, away: usize) -> Sides {
    let Size { width, height } = frames[at].motion.size();
    let there = [
        at.checked_sub(away),
        Some(at + away).filter(|o| *o < frames.len()),
    ];
    there.map(|other| {
        let other = other?;
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| [x as f32, y as f32]));
        Some((other, pixels.map(|p| place(frames, at, other, p)).collect()))
    })
}

fn three(image: Option<&Image>, x: usize, y: usize) -> [f32; 3] {
    image.map_or([0.0; 3], |image| {
        std::array::from_fn(|c| image.get(x, y, c.min(image.channels() - 1)))
    })
}

fn three_at(image: Option<&Image>, place: [f32; 2]) -> [f32; 3] {
    image.map_or([0.0; 3], |image| {
        std::array::from_fn(|c| cubic(image, place, c.min(image.channels() - 1)))
    })
}

/// The squared deviation of noisy light from its result, relative to it.
#[inline(always)]
pub fn deviation(noisy: [f32; 3], clean: [f32; 3], exposure: f32) -> f32 {
    let light = |c: [f32; 3]| (luminance(c) * exposure).max(0.0);
    let off = (light(noisy) - light(clean)).abs() / (light(clean) + DARK);
    off.min(NOISE[1]).powi(2)
}

/// The noise of a frame relative to its light.
pub fn noise(color: &Image, result: &Image, exposure: f32) -> Image {
    let Size { width, height } = color.size();
    let squared = Image::from_fn(width, height, 1, |x, y, _| {
        deviation(
            three(Some(color), x, y),
            three(Some(result), x, y),
            exposure,
        )
    });
    gaussian(&squared, WINDOW.1, WINDOW.0).map(|v| v.sqrt().max(NOISE[0]))
}

/// What is compared of a pixel: noisy colour and result times the exposure, albedo and normal.
#[derive(Debug, Clone, Copy)]
pub struct Pixel {
    /// Noisy colour.
    pub color: [f32; 3],
    /// Its result.
    pub result: [f32; 3],
    /// Albedo, or zero.
    pub albedo: [f32; 3],
    /// Normal, or zero.
    pub normal: [f32; 3],
}

/// Light is not larger than this.
#[inline(always)]
fn bounded(c: [f32; 3]) -> [f32; 3] {
    let [r, g, b] = c;
    [r.clamp(0.0, MOST), g.clamp(0.0, MOST), b.clamp(0.0, MOST)]
}

/// What logarithms are taken of: the brightness of a result, and its channels.
#[inline(always)]
pub fn logarithms(own: &Pixel) -> [f32; 4] {
    let [r, g, b] = bounded(own.result);
    let light = luminance(own.result).clamp(0.0, MOST);
    [light + DARK, r + DARK, g + DARK, b + DARK]
}

/// The difference of noisy light, and the squared differences of normals and albedo.
#[inline(always)]
pub fn differences(own: &Pixel, there: &Pixel) -> [f32; 3] {
    let light = |c: [f32; 3]| luminance(c).max(0.0);
    let both = light(own.result) + light(there.result) + 2.0 * DARK;
    let off = (light(there.color) - light(own.color)) / both;
    let squared = |a: [f32; 3], b: [f32; 3], least: f32| {
        let one = |c: usize| {
            let d = a[c].clamp(least, 1.0) - b[c].clamp(least, 1.0);
            d * d
        };
        one(0) + one(1) + one(2)
    };
    [
        off.clamp(-APART, APART),
        squared(there.normal, own.normal, -1.0),
        squared(there.albedo, own.albedo, 0.0),
    ]
}

/// What the network of weights reads for frames at a distance.
fn compared(
    frames: &[DenoisedFrame],
    at: usize,
    away: usize,
    noise: &Image,
    sides: &Sides,
    exposure: f32,
) -> Image {
    let Size { width, height } = noise.size();
    let mut planes = Image::new(width, height, COMPARED);
    let light = |c: [f32; 3]| c.map(|v| v * exposure);
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
        let frame = &frames[at];
        let own = Pixel {
            color: light(three(frame.layers.first(), x, y)),
            result: light(three(frame.results.first(), x, y)),
            albedo: three(frame.albedo.as_ref(), x, y),
            normal: three(frame.normal.as_ref(), x, y),
        };
        let logs = logarithms(&own).map(f32::ln);
        planes.set(x, y, 0, logs[0]);
        planes.set(x, y, 1, noise.get(x, y, 0).ln() / 4.0);
        planes.set(x, y, 2, away as f32 / FARTHEST as f32);
        for (k, side) in sides.iter().enumerate() {
            let mut made = [0.0, 0.0, 0.0, 0.0, DIFFERENT, DIFFERENT];
            let found = side
                .as_ref()
                .and_then(|(other, places)| Some((*other, places[y * width + x]?)));
            if let Some((other, place)) = found {
                let frame = &frames[other];
                let there = Pixel {
                    color: light(three_at(frame.layers.first(), place)),
                    result: light(three_at(frame.results.first(), place)),
                    albedo: three_at(frame.albedo.as_ref(), place),
                    normal: three_at(frame.normal.as_ref(), place),
                };
                let seen = logarithms(&there).map(f32::ln);
                let [off, normal, albedo] = differences(&own, &there);
                made = [
                    seen[1] - logs[1],
                    seen[2] - logs[2],
                    seen[3] - logs[3],
                    off,
                    normal,
                    albedo,
                ];
            }
            for (c, v) in made.into_iter().enumerate() {
                planes.set(x, y, 3 + 6 * k + c, v);
            }
        }
    }
    planes
}

/// A weight, from the output of the network.
#[inline(always)]
pub fn weight(v: f32) -> f32 {
    1.0 / (1.0 + (-1.0 - v).exp())
}

/// What the weights of light and of results are multiplied by, from the results of a pixel and of its place in another frame, times the exposure.
#[inline(always)]
pub fn trust(own: [f32; 3], there: [f32; 3]) -> f32 {
    let light = |c: [f32; 3]| luminance(c).clamp(0.0, MOST) + DARK;
    let share = (BRIGHTER * light(own) / light(there)).min(1.0);
    share * share
}

/// A frame with what is taken from those around.
#[derive(Debug, Clone)]
pub struct Blended {
    /// The frame of more samples. Its results are means, too.
    pub seen: DenoisedFrame,
    /// Whether anything was found of a pixel in other frames.
    pub found: Image,
    /// What the network of guides reads besides it: the mean result's logarithm over albedo, how much was taken of light and of features, and the noise.
    pub more: Image,
}

/// Blends frame `at` with up to `radius` frames on each side.
pub fn blended(
    frames: &[DenoisedFrame],
    at: usize,
    radius: usize,
    network: &Network,
    whole: ImageFacts,
) -> Blended {
    let own = &frames[at];
    let Size { width, height } = own.motion.size();
    let noise = noise(&own.layers[0], &own.results[0], whole.exposure);
    let around: Vec<(Sides, Image)> = (1..=radius)
        .map(|away| {
            let sides = sides(frames, at, away);
            let planes = compared(frames, at, away, &noise, &sides, whole.exposure);
            (sides, network.run(&planes))
        })
        .collect();
    let light = |c: [f32; 3]| c.map(|v| v * whole.exposure);
    let trusted = |x: usize, y: usize, other: usize, place: [f32; 2]| {
        let here = three(own.results.first(), x, y);
        let there = three_at(frames[other].results.first(), place);
        trust(light(here), light(there))
    };
    // Weights and places of a pixel.
    let taken = |x: usize, y: usize, of: usize| {
        let mut all = Vec::new();
        for (sides, weights) in &around {
            for (k, side) in sides.iter().enumerate() {
                if let Some((other, places)) = side
                    && let Some(place) = places[y * width + x]
                {
                    let factor = match of {
                        OF_FEATURES => 1.0,
                        _ => trusted(x, y, *other, place),
                    };
                    let weight = factor * weight(weights.get(x, y, 2 * of + k));
                    all.push((*other, place, weight));
                }
            }
        }
        all
    };
    let sum = |x, y, of| 1.0 + taken(x, y, of).iter().map(|t| t.2).sum::<f32>();
    type Pick<'a> = &'a dyn Fn(&DenoisedFrame) -> Option<&Image>;
    let mean = |of: usize, layer: Pick<'_>, by: Pick<'_>| {
        let image = layer(own)?;
        Some(Image::from_fn(
            width,
            height,
            image.channels(),
            |x, y, c| {
                let mut total = image.get(x, y, c);
                for (other, place, weight) in taken(x, y, of) {
                    let there = layer(&frames[other]).zip(by(&frames[other]));
                    total += weight * there.map_or(0.0, |(i, by)| limited(i, by, place, c));
                }
                total / sum(x, y, of)
            },
        ))
    };
    // Parts of the colour are limited as it is.
    let by = |k: usize| if own.parts.contains(&k) { 0 } else { k };
    let layer = |k: usize| mean(OF_LIGHT, &|s| s.layers.get(k), &|s| s.layers.get(by(k)));
    let result = |k: usize| mean(OF_RESULTS, &|s| s.results.get(k), &|s| s.results.get(by(k)));
    let feature = |pick: Pick<'_>| mean(OF_FEATURES, pick, pick);
    let seen = DenoisedFrame {
        layers: (0..own.layers.len()).filter_map(layer).collect(),
        results: (0..own.results.len()).filter_map(result).collect(),
        parts: own.parts.clone(),
        albedo: feature(&|s| s.albedo.as_ref()),
        normal: feature(&|s| s.normal.as_ref()),
        depth: own.depth.clone(),
        motion: own.motion.clone(),
    };
    let more = Image::from_fn(width, height, MORE, |x, y, c| match c {
        0..3 => {
            let albedo = three(seen.albedo.as_ref(), x, y).map(|a| a.clamp(0.0, 1.0));
            let below = super::front::divisor(albedo)[c];
            let light = three(seen.results.first(), x, y)[c] * whole.exposure / below;
            light.clamp(0.0, MOST).ln_1p()
        }
        3 => sum(x, y, OF_LIGHT).log2() / 3.0,
        4 => sum(x, y, OF_FEATURES).log2() / 3.0,
        _ => noise.get(x, y, 0).ln() / 4.0,
    });
    let found = Image::from_fn(width, height, 1, |x, y, _| {
        f32::from(!taken(x, y, OF_LIGHT).is_empty())
    });
    Blended { seen, found, more }
}

/// What the network of guides reads, and the divisor of colour.
pub fn inputs(blended: &Blended, whole: ImageFacts) -> (Image, Image) {
    let seen = &blended.seen;
    let layers = neural::Layers {
        color: &seen.layers[0],
        albedo: seen.albedo.as_ref(),
        normal: seen.normal.as_ref(),
        depth: seen.depth.as_ref(),
    };
    let (x, divisor) = neural::inputs(&layers, whole);
    let all = Image::from_fn(x.width(), x.height(), INPUTS + MORE, |i, j, k| {
        match k.checked_sub(INPUTS) {
            None => x.get(i, j, k),
            Some(k) => blended.more.get(i, j, k),
        }
    });
    (all, divisor)
}

/// The result of a layer: what the filter makes of the frame of more samples, and the mean of results. Where nothing was found in other
/// frames, it is the frame's own result.
pub fn mixed(filtered: &Image, mean: &Image, guides: &Image, found: &Image) -> Image {
    let Size { width, height } = filtered.size();
    Image::from_fn(width, height, filtered.channels(), |x, y, c| {
        let (a, b) = (filtered.get(x, y, c), mean.get(x, y, c));
        let share = if found.get(x, y, 0) > 0.0 {
            guides.get(x, y, SHARE)
        } else {
            1.0
        };
        a + share * (b - a)
    })
}
