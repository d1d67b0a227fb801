//! Filters a stabilised mosaic with a method for photographs.
//!
//! The mosaic is demosaiced, the noise of the picture removed, and its pixels put back into the mosaic. Demosaicing blurs the noise; how it
//! does is measured, so that the method knows. This is better than to filter the phases of the mosaic apart, which lack half of the
//! picture's resolution (compare Jin, Facciolo and Morel, *A review of an old dilemma: demosaicking first, or denoising first?*, 2020).

use super::noise::mapped;
use crate::noise::{Component, Profile, SIDE, Spectrum};
use crate::{Frame, Image, Options, Result, Sequence, Watch};
use limpid_exec::Device;
use limpid_io::dng::{self, Pattern};
use limpid_reference::definition::shrink::OPPONENT;
use std::f64::consts::PI;

/// Filters a mosaic whose noise has standard deviation 1; `balance` makes grey light grey, and green ends at `white`. Also returns the
/// name of the method.
pub(super) fn filtered(
    noisy: &Image,
    (pattern, balance, white): (&Pattern, [f32; 3], f32),
    (device, options, watch): (&Device, &Options, &Watch),
) -> Result<(Image, &'static str)> {
    // Stabilised values are like square roots; the method sees them as a picture, from 0 to 1.
    let factors = balance.map(|b| b.sqrt() / (balance[1].sqrt() * white));
    let mut options = options.clone();
    // What is left of the noise is decided at the end.
    options.strength = 1.0;
    let profile = demosaiced(pattern, factors)?;
    options.method.set("noise", &profile.to_json())?;
    let mut sequence = Sequence::new(device, &options);
    let full = dng::demosaic(&scaled(noisy, pattern, factors), pattern)?;
    let made = sequence.run(&Frame::new(full)?, watch)?;
    let made = made.color()?;
    let out = mapped(noisy, pattern, |_, (x, y), c| {
        made.row(c, y)[x] / factors[c]
    });
    Ok((out, sequence.method().name()))
}

/// A mosaic with a factor for each colour.
fn scaled(image: &Image, pattern: &Pattern, factors: [f32; 3]) -> Image {
    mapped(image, pattern, |v, _, c| v * factors[c])
}

/// The profile of white noise of deviation 1 that was demosaiced: measured.
fn demosaiced(pattern: &Pattern, factors: [f32; 3]) -> Result<Profile> {
    const N: usize = 192;
    let mut state = 1u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    // The sum of twelve uniform numbers is nearly normal.
    let noise: Vec<f32> = (0..N * N)
        .map(|_| (0..12).map(|_| uniform()).sum::<f32>() - 6.0)
        .collect();
    let noise = scaled(&Image::from_planes(N, N, 1, noise)?, pattern, factors);
    let made = dng::demosaic(&noise, pattern)?;
    let power = |c: usize| {
        made.plane(c)
            .iter()
            .map(|v| f64::from(*v).powi(2))
            .sum::<f64>()
            / (N * N) as f64
    };
    let deviations: Vec<f32> = (0..3).map(|c| power(c).sqrt() as f32).collect();
    let component = |k: usize| {
        let value = |x: usize, y: usize| -> f64 {
            (0..3)
                .map(|c| f64::from(OPPONENT[k][c] * made.get(x, y, c) / deviations[c]))
                .sum()
        };
        let mut powers = [0.0f64; SIDE * SIDE];
        for at in 0..(N / SIDE).pow(2) {
            let (left, top) = (at % (N / SIDE) * SIDE, at / (N / SIDE) * SIDE);
            for (k, power) in powers.iter_mut().enumerate() {
                let sum: f64 = (0..SIDE * SIDE)
                    .map(|i| {
                        value(left + i % SIDE, top + i / SIDE)
                            * cosine(k % SIDE, i % SIDE)
                            * cosine(k / SIDE, i / SIDE)
                    })
                    .sum();
                *power += sum * sum;
            }
        }
        let count = (N / SIDE).pow(2) as f64;
        let (spectrum, mean) = Spectrum::normalised(powers.map(|p| (p / count) as f32));
        Component {
            deviation: mean.sqrt(),
            spectrum,
        }
    };
    Ok(Profile {
        range: [0.0, 1.0],
        deviations: deviations.iter().map(|d| vec![*d; 2]).collect(),
        components: (0..3).map(component).collect(),
    })
}

/// Entry `k`, `x` of the discrete cosine transform of a block.
fn cosine(k: usize, x: usize) -> f64 {
    let n = SIDE as f64;
    let scale = if k == 0 { 1.0 / n } else { 2.0 / n };
    scale.sqrt() * (PI * (2 * x + 1) as f64 * k as f64 / (2.0 * n)).cos()
}
