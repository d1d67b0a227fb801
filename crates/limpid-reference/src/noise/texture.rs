//! Tells noise from texture, in the spectra of even blocks.
//!
//! Pixels of a sensor are independent, and demosaicing, JPEG and resizing blur their noise by a few pixels. So the spectrum of
//! noise is flat at long waves, while that of texture rises; each colour has noise of its own, while texture is mostly
//! luminance; and noise is as often brighter as darker than its surroundings, while stars are bright. Without colours, only white
//! noise is certain, and blurred noise that is the same everywhere.

use super::SIDE;
use super::blocks::AREA;
use super::flat::{Band, rise};

/// The measured luminance.
pub(super) struct Light {
    pub powers: [f32; AREA],
    /// The skewness of its pixels without long waves.
    pub skew: f32,
    /// How unequal the powers of its blocks are; 2.7 for Gaussian noise.
    pub spread: f32,
}

/// A measured colour difference.
pub(super) struct Colour {
    pub powers: [f32; AREA],
    /// The power at long waves that does not follow luminance, relative to that of luminance.
    pub own: f32,
}

/// Limits of the deviation of colours that does not follow luminance, relative to that of luminance. Below the first ones
/// colours have no noise of a camera; between the second ones they have more and more of it.
const SOME: [f32; 2] = [0.06, 0.11];
const CAMERA: [f32; 2] = [0.15, 0.4];

/// Where noise of colour is too white for a camera: the power of its shortest waves, relative to that of long ones.
const BLURRED: [f32; 2] = [0.2, 0.4];

/// Where details are too skewed for noise, and blocks too unequal, or too equal, for noise that was only blurred.
const SKEWED: [f32; 2] = [0.15, 0.45];
const UNEQUAL: [f32; 2] = [2.76, 2.88];
const STEPS: [f32; 2] = [2.4, 2.6];

/// Where noise is coarse: the power of its shortest waves, relative to that of middle ones.
const FINE: [f32; 2] = [0.1, 0.25];

/// How much more than noise a spectrum rises where it is all texture: in pictures that may be texture all over; how much is
/// added if colours have noise of a camera; and if they are much coarser than luminance, as cameras make them.
const TEXTURE: [f32; 3] = [1.4, 1.3, 0.6];

/// How many times more than luminance colours rise if a camera has made them coarse.
const COARSE: [f32; 2] = [4.0, 6.0];

/// The least rise of pure texture in pictures without noise of a camera; up to how much more than usual is still pure noise.
const LEAST: f32 = 2.4;
const NOISE: f32 = 1.25;

/// The slope of the power of texture at waves shorter than the middle ones.
const STEEP: f32 = 2.2;

/// How much more noise there may be than at the shortest waves, if it is not blurred.
const FLAT: f32 = 1.3;

/// At middle waves noise of luminance has at least this many times the power of that of colour, on all cameras.
const MIDDLE: f32 = 3.5;

/// Noise of colour whose shortest waves have more than this share of the power of its long ones was neither demosaiced nor
/// subsampled.
const WHITE: f32 = 0.3;

/// Shares of the power at middle waves that the shortest ones have: where white noise begins to be certain, and where it is.
const EQUAL: [f32; 2] = [0.5, 0.72];

/// The largest ratio of a colour's noise to that of luminance at long waves: white balance and colour matrix amplify colours.
const COLOUR: f32 = 1.6;

/// The distance of the frequency of [`rise`] and of the middle of [`Band::Middle`] from the mean, in frequencies of a block.
const PLACES: [f32; 2] = [1.41, 3.2];

/// What colours tell of the noise of luminance.
struct Evidence {
    /// Whether there may be noise of a camera at all, 0 to 1.
    some: f32,
    /// Whether there may be noise that is not white, 0 to 1.
    blurred: f32,
    /// How sure it is, 0 to 1.
    camera: f32,
    /// How much the spectra of colours rise.
    rise: f32,
    /// The least power of noise at middle waves.
    least: f32,
}

impl Evidence {
    /// `white` is the power of the shortest waves of colours, relative to that of long ones.
    fn new(light: &Light, colours: &[Colour], white: f32) -> Self {
        let count = colours.len().max(1) as f32;
        let mean = |of: &dyn Fn(&Colour) -> f32| colours.iter().map(of).sum::<f32>() / count;
        let middle = mean(&|c| Band::Middle.mean(&c.powers));
        // A dye has one colour, noise has all.
        let least = colours.iter().map(|c| c.own).reduce(f32::min);
        let own = least.unwrap_or(0.0).sqrt();
        let some = step(own, SOME);
        let camera = step(own, CAMERA) * (1.0 - step(white, BLURRED));
        // Less than Gaussian are steps of few values. Coarse noise has fewer independent ones, and may seem less equal.
        let of_light = [Band::Finest, Band::Middle].map(|b| b.mean(&light.powers));
        let fine = of_light[0] / of_light[1].max(f32::MIN_POSITIVE);
        let coarse = 1.0 - step(fine, FINE);
        let unequal = UNEQUAL.map(|v| v + 0.14 * coarse);
        let equal = step(light.spread, STEPS) * (1.0 - step(light.spread, unequal));
        Self {
            some,
            blurred: some.max(equal) * (1.0 - step(light.skew.abs(), SKEWED)),
            camera,
            rise: mean(&|c| c.powers[SIDE + 1]) / middle.max(f32::MIN_POSITIVE),
            least: MIDDLE * middle * camera,
        }
    }
}

/// 0 up to the first of two values, 1 from the second on.
fn step(value: f32, [low, high]: [f32; 2]) -> f32 {
    ((value - low) / (high - low)).clamp(0.0, 1.0)
}

/// Noise of luminance and colour differences from measured powers, without texture.
pub(super) fn without_texture(light: &Light, colours: Vec<Colour>) -> Vec<[f32; AREA]> {
    let count = colours.len().max(1) as f32;
    let mean = |band: Band| colours.iter().map(|c| band.mean(&c.powers)).sum::<f32>() / count;
    let long = mean(Band::Long);
    let finest = mean(Band::Finest);
    let ratio = |band: Band| finest / mean(band).max(f32::MIN_POSITIVE);
    // Colours may have long waves of their own, so middle ones may tell it, too; blurred noise has a third of them at most.
    let white = ratio(Band::Long).max(ratio(Band::Middle) - 0.4);
    let evidence = Evidence::new(light, &colours, white);
    let mut noise = luminance(light, &evidence);
    let mut all: Vec<[f32; AREA]> = colours.into_iter().map(|c| c.powers).collect();
    if white <= WHITE {
        for powers in &mut all {
            let finest = Band::Finest.mean(powers);
            limit(powers, finest, evidence.blurred);
            for k in (0..AREA).filter(|k| *k == 0 || Band::Long.has(*k)) {
                powers[k] = powers[k].min(COLOUR * noise[k]);
            }
        }
    }
    if white > 0.05 && long > 0.0 {
        // The finer the noise of colour, the less was done to it, and the more that of luminance is like it.
        let most = 1.2 * (0.4 / white.min(0.4)).powi(3) * long;
        noise = noise.map(|p| p.min(most));
    }
    if white > WHITE && long > 0.0 {
        // White noise, as much in luminance as in colour.
        let short = |powers: &[f32; AREA]| {
            super::flat::mean(powers, |k| Band::Short.has(k) || Band::Finest.has(k))
        };
        let level = all.iter().map(short).sum::<f32>() / count;
        noise = light.powers.map(|p| p.min(1.15 * level));
        noise[0] = noise[SIDE + 1];
        for powers in &mut all {
            *powers = powers.map(|p| p.clamp(0.75 * level, 1.25 * level));
        }
    }
    all.insert(0, noise);
    all
}

/// Limits noise by the power of the shortest waves, unless it may be blurred: otherwise only white noise is certain.
fn limit(noise: &mut [f32; AREA], finest: f32, blurred: f32) {
    for noise in noise {
        let certain = noise.min(FLAT * finest);
        *noise = certain + blurred * (*noise - certain);
    }
}

/// The noise of luminance.
fn luminance(light: &Light, colours: &Evidence) -> [f32; AREA] {
    let powers = &light.powers;
    let middle = Band::Middle.mean(powers);
    if middle <= 0.0 {
        return [0.0; AREA];
    }
    // Blurred noise is coarse, and rises up to twice.
    let finest = Band::Finest.mean(powers);
    let fine = (finest / middle).sqrt();
    let usual = 1.0 + 1.2 * (1.0 - fine / 0.6).clamp(0.0, 1.0);
    let rise = rise(powers);
    let coarser =
        step(colours.rise / rise.max(f32::MIN_POSITIVE), COARSE) * step(colours.camera, [0.0, 0.2]);
    let mut most = usual * (TEXTURE[0] + TEXTURE[1] * colours.camera + TEXTURE[2] * coarser);
    if colours.some == 0.0 {
        most = most.max(LEAST);
    }
    let share = (1.0 - step(rise, [NOISE * usual, most])) * (1.0 - step(light.skew.abs(), SKEWED));
    let share = share.max((colours.least / middle).min(1.0));
    let slope = most.ln() / (PLACES[1] / PLACES[0]).ln();
    let mut noise: [f32; AREA] = std::array::from_fn(|k| {
        let place = (((k / SIDE).pow(2) + (k % SIDE).pow(2)) as f32)
            .sqrt()
            .max(1.0);
        let slope = if place > PLACES[1] { STEEP } else { slope };
        let texture = (1.0 - share) * middle * (PLACES[1] / place).powf(slope);
        // The shorter the waves, the more of their power is noise.
        let left = share.powf((PLACES[1] / place).min(1.0));
        (powers[k] - texture).max(0.0).min(left * powers[k])
    });
    limit(&mut noise, finest, colours.blurred);
    // Texture has less at shorter waves. If there is as much at the shortest ones as at middle ones, it is white noise.
    let sure = step(fine * fine, EQUAL);
    for noise in &mut noise {
        *noise += sure * (finest - *noise);
    }
    // Even areas are ramps, which have the longest waves.
    let long = noise[SIDE + 1];
    noise[0] = usual.min(1.4) * long;
    for k in [1, SIDE] {
        noise[k] = noise[k].min(1.2 * long);
    }
    let most = 1.4 * usual * Band::Middle.mean(&noise);
    for (k, p) in noise.iter_mut().enumerate() {
        if k == 0 || Band::Long.has(k) {
            *p = p.min(most);
        }
    }
    noise
}
