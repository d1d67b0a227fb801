//! Tells noise from texture, in the spectra of even blocks.
//!
//! Pixels of a sensor are independent, and demosaicing, JPEG and resizing blur their noise by a few pixels. So the spectrum of
//! noise is flat at long waves, while that of texture rises; and each colour has noise of its own, while texture is mostly
//! luminance.

use super::SIDE;
use super::blocks::AREA;
use super::flat::{Band, rise};

/// The noise of a colour difference.
pub(super) struct Colour {
    pub powers: [f32; AREA],
    /// The power at long waves that does not follow luminance, relative to that of luminance.
    pub own: f32,
}

/// How much more than noise a spectrum rises where it is all texture: in pictures whose colours have noise of a camera, and in
/// others, which may be texture all over.
const TEXTURE: [f32; 2] = [3.0, 1.5];

/// The least rise of pure texture; up to how much more than usual is still pure noise.
const LEAST: f32 = 2.4;
const NOISE: f32 = 1.25;

/// Noise of colour whose shortest waves have more than this share of the power of its long ones was neither demosaiced nor
/// subsampled.
const WHITE: f32 = 0.3;

/// Shares of the power at middle waves that the shortest ones have: where white noise begins to be certain, and where it is.
const EQUAL: [f32; 2] = [0.5, 0.72];

/// The largest ratio of a colour's noise to that of luminance at long waves: white balance and colour matrix amplify colours.
const COLOUR: f32 = 1.6;

/// The distance of the frequency of [`rise`] and of the middle of [`Band::Middle`] from the mean, in frequencies of a block.
const PLACES: [f32; 2] = [1.41, 3.2];

/// Noise of luminance and colour differences from measured powers, without texture.
pub(super) fn without_texture(light: [f32; AREA], colours: Vec<Colour>) -> Vec<[f32; AREA]> {
    let count = colours.len().max(1) as f32;
    let mean = |band: Band| colours.iter().map(|c| band.mean(&c.powers)).sum::<f32>() / count;
    let long = mean(Band::Long);
    let finest = mean(Band::Finest);
    let ratio = |band: Band| finest / mean(band).max(f32::MIN_POSITIVE);
    // Colours may have long waves of their own, so middle ones may tell it, too; blurred noise has a third of them at most.
    let white = ratio(Band::Long).max(ratio(Band::Middle) - 0.4);
    let own = (colours.iter().map(|c| c.own).sum::<f32>() / count).sqrt();
    let camera = ((own - 0.08) / 0.12).clamp(0.0, 1.0) * ((0.4 - white) / 0.2).clamp(0.0, 1.0);
    let mut noise = luminance(&light, camera);
    let mut all: Vec<[f32; AREA]> = colours.into_iter().map(|c| c.powers).collect();
    if white <= WHITE {
        for powers in &mut all {
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
        noise = light.map(|p| p.min(1.15 * level));
        noise[0] = noise[SIDE + 1];
        for powers in &mut all {
            *powers = powers.map(|p| p.clamp(0.75 * level, 1.25 * level));
        }
    }
    all.insert(0, noise);
    all
}

/// The noise of luminance. `camera` tells how much the noise of colours is like a camera's, 0 to 1.
fn luminance(powers: &[f32; AREA], camera: f32) -> [f32; AREA] {
    let middle = Band::Middle.mean(powers);
    if middle <= 0.0 {
        return [0.0; AREA];
    }
    // Blurred noise is coarse, and rises up to twice.
    let fine = (Band::Finest.mean(powers) / middle).sqrt();
    let usual = 1.0 + 1.2 * (1.0 - fine / 0.8).clamp(0.0, 1.0);
    let most = (usual * (TEXTURE[1] + (TEXTURE[0] - TEXTURE[1]) * camera)).max(LEAST);
    let share = ((most - rise(powers)) / (most - NOISE * usual)).clamp(0.0, 1.0);
    let slope = most.ln() / (PLACES[1] / PLACES[0]).ln();
    let mut noise: [f32; AREA] = std::array::from_fn(|k| {
        let place = (((k / SIDE).pow(2) + (k % SIDE).pow(2)) as f32)
            .sqrt()
            .max(1.0);
        let texture = (1.0 - share) * middle * (PLACES[1] / place).powf(slope);
        (powers[k] - texture).max(0.0).min(share * powers[k])
    });
    // Texture has less at shorter waves. If there is as much at the shortest ones as at middle ones, it is white noise.
    let sure = ((fine * fine - EQUAL[0]) / (EQUAL[1] - EQUAL[0])).clamp(0.0, 1.0);
    let level = Band::Finest.mean(powers);
    for noise in &mut noise {
        *noise += sure * (level - *noise);
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
