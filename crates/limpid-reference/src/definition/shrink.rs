//! Wavelet shrinkage in plain scalar code: attenuates coefficients that noise alone explains.
//!
//! Thresholds: BayesShrink (Chang, Yu and Vetterli 2000), VisuShrink (Donoho and Johnstone 1994), SURE (Donoho and Johnstone
//! 1995). Cycle spinning (Coifman and Donoho 1995) averages over shifts of the image.

use super::dwt::{Detail, Dwt};
use crate::noise::Spectrum;
use limpid_core::{Image, Result, Size};
use limpid_wavelet::Wavelet;

/// The rule for a band's threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// `σ² / σ_signal`: optimal in mean square for Laplacian coefficients.
    Bayes,
    /// `σ √(2 ln n)`: removes all noise, with high probability.
    Visu,
    /// The threshold with the lowest estimated risk.
    Sure,
}

/// Candidates of [`Rule::Sure`]: thresholds of `i / 8` deviations.
pub const CANDIDATES: usize = 41;

/// Standard deviation of unit noise in the bands `hl`, `lh` and `hh` of a level, level 0 the finest, for each of the spectra.
pub fn deviations(wavelet: &Wavelet, level: usize, spectra: &[Spectrum]) -> Vec<[f64; 3]> {
    let bank = wavelet.bank();
    let energy = |f: &[f64]| f.iter().map(|v| v * v).sum::<f64>();
    // Low-pass filters of the previous levels, convolved; each dilated by its sample spacing.
    let mut before = vec![1.0];
    for l in 0..level.min(8) {
        before = convolved(&before, &bank.dec_lo, 1 << l);
    }
    let filter = |f: &[f64]| convolved(&before, f, 1 << level.min(8));
    let (low, high) = (filter(&bank.dec_lo), filter(&bank.dec_hi));
    let of = |spectrum: &Spectrum| {
        [(&low, &high), (&high, &low), (&high, &high)].map(|(y, x)| {
            let share = match *spectrum == Spectrum::white() {
                true => 1.0,
                false => spectrum.behind(y, x),
            };
            (energy(y) * energy(x) * share).sqrt()
        })
    };
    spectra.iter().map(of).collect()
}

fn convolved(a: &[f64], b: &[f64], spread: usize) -> Vec<f64> {
    let mut out = vec![0.0; a.len() + (b.len() - 1) * spread];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            out[i + j * spread] += x * y;
        }
    }
    out
}

/// The threshold of a band whose noise has deviation `sigma`, in an image of this many pixels.
pub fn threshold(band: &[f32], sigma: f64, pixels: usize, rule: Rule) -> f64 {
    let squares = |v: &f32| f64::from(*v).powi(2);
    match rule {
        Rule::Bayes => {
            let signal =
                band.iter().map(squares).sum::<f64>() / band.len().max(1) as f64 - sigma * sigma;
            // If the band contains nothing but noise, all coefficients are removed.
            if signal > 0.0 {
                sigma * sigma / signal.sqrt()
            } else {
                f64::from(f32::MAX)
            }
        }
        Rule::Visu => visu(sigma, pixels),
        Rule::Sure => {
            let candidates = (0..CANDIDATES).map(|i| i as f64 / 8.0 * sigma);
            let risk = |t: f64| -> f64 {
                let one = |v: &f32| {
                    let small = f64::from(v.abs()) <= t;
                    squares(v).min(t * t) - if small { 2.0 * sigma * sigma } else { 0.0 }
                };
                band.iter().map(one).sum()
            };
            candidates
                .map(|t| (risk(t), t))
                .fold((f64::INFINITY, 0.0), |a, b| if b.0 < a.0 { b } else { a })
                .1
        }
    }
}

/// The threshold that noise does not exceed, in an image of this many pixels.
pub fn visu(sigma: f64, pixels: usize) -> f64 {
    sigma * (2.0 * (pixels.max(1) as f64).ln()).sqrt()
}

/// Soft-thresholds by `t`.
pub fn soft(v: f32, t: f32) -> f32 {
    (v.abs() - t).max(0.0).copysign(v)
}

/// Red, green and blue to one luminance and two chroma channels, and back: a rotation, so noise stays white.
pub const OPPONENT: [[f32; 3]; 3] = [
    [0.577_350_26, 0.577_350_26, 0.577_350_26],
    [0.707_106_77, 0.0, -0.707_106_77],
    [0.408_248_3, -0.816_496_6, 0.408_248_3],
];

/// Rotates the colours of an image of three channels.
pub fn opponent(image: &Image, back: bool) -> Image {
    if image.channels() != 3 {
        return image.clone();
    }
    Image::from_fn(image.width(), image.height(), 3, |x, y, c| {
        (0..3)
            .map(|k| image.get(x, y, k) * if back { OPPONENT[k][c] } else { OPPONENT[c][k] })
            .sum()
    })
}

/// The image shifted circularly by `(dx, dy)`: `out(x, y) = in(x + dx, y + dy)`.
pub fn rolled(image: &Image, dx: usize, dy: usize) -> Image {
    let Size { width, height } = image.size();
    Image::from_fn(width, height, image.channels(), |x, y, c| {
        image.get((x + dx) % width, (y + dy) % height, c)
    })
}

/// Removes unit noise with these spectra from stabilised values (see `super::stabilise`), averaged over `shifts × shifts`
/// shifts. Thresholds are those of the unshifted image: shifted, its bands contain the same values at other positions.
pub fn shrink(
    image: &Image,
    dwt: &Dwt,
    spectra: &[Spectrum],
    rule: Rule,
    shifts: usize,
) -> Result<Image> {
    let Size { width, height } = image.size();
    let mut sum = Image::new(width, height, image.channels());
    let mut thresholds = Vec::new();
    for s in 0..shifts * shifts {
        let (dx, dy) = (s % shifts % width, s / shifts % height);
        let mut coefficients = dwt.forward(&rolled(image, dx, dy))?;
        if s == 0 {
            for (level, detail) in coefficients.details.iter_mut().enumerate() {
                let sigmas = deviations(&dwt.wavelet, level, spectra);
                for (plane, (band, channel)) in planes(detail) {
                    let sigma = sigmas[channel][band];
                    thresholds.push(threshold(plane, sigma, image.size().pixels(), rule) as f32);
                }
            }
        }
        let all = coefficients.details.iter_mut().flat_map(planes);
        for ((plane, _), t) in all.zip(&thresholds) {
            plane.iter_mut().for_each(|v| *v = soft(*v, *t));
        }
        let out = dwt.inverse(&coefficients)?;
        let out = rolled(&out, width - dx, height - dy);
        for (a, b) in sum.data_mut().iter_mut().zip(out.data()) {
            *a += b / (shifts * shifts) as f32;
        }
    }
    Ok(sum)
}

/// The planes of a level's bands, each with the indices of its band and channel.
fn planes(detail: &mut Detail) -> Vec<(&mut [f32], (usize, usize))> {
    let Detail { hl, lh, hh, .. } = detail;
    let mut found = Vec::new();
    for (number, band) in [hl, lh, hh].into_iter().enumerate() {
        let plane = band.size().pixels();
        let all = band.data_mut().chunks_exact_mut(plane.max(1)).enumerate();
        found.extend(all.map(|(channel, p)| (p, (number, channel))));
    }
    found
}
