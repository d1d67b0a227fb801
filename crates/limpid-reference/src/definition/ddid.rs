//! Dual-domain image denoising: Knaus and Zwicker 2013 and 2015, after Vicini 2015, chapter 4.
//!
//! A bilateral filter preserves edges and loses texture; shrinkage of a local Fourier spectrum preserves texture and rings at
//! edges. Here the bilateral weights mask the window before its spectrum is computed, which combines the advantages of both.
//! The filter is iterated in a few steps, each guided by the result of the previous one.
//!
//! [`steps_2015`] and [`steps_2013`] return the parameters, [`filter_2015`] and [`filter_2013`] compute one step, [`ddid`] all
//! steps.

use crate::noise::Spectrum;
use limpid_core::Image;
use num_complex::Complex;
use rayon::prelude::*;
use std::f64::consts::{FRAC_PI_2, TAU};

/// The parameters of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Pixels to each side of the window.
    pub radius: usize,
    /// Scale of the squared distance between pixels in the spatial kernel `exp(-|q-p|²/space)`.
    pub space: f64,
    /// Scale of the squared difference of values in the range kernel.
    pub range: f64,
    /// Scale of the squared Fourier coefficients, to be multiplied by the sum of squared weights.
    pub shrink: f64,
    /// Power of the cosine in both kernels (2015), or `None` for exponentials (2013).
    pub power: Option<u32>,
    /// How far the noise estimates are trusted: `a` and `A` of the thesis.
    pub confidence: f64,
}

/// The eight steps of 2015 for noise of standard deviation `sigma`: Vicini 2015, Eq. 4.9, 4.10 and the listing after 4.12.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub use limpid_reference::*; }
/// let radii: Vec<usize> = limpid::definition::ddid::steps_2015(0.1).iter().map(|s| s.radius).collect();
/// assert_eq!(radii, [4, 4, 4, 4, 6, 10, 16, 26]);
/// ```
pub fn steps_2015(sigma: f64) -> Vec<Step> {
    steps_of(sigma, 8)
}

/// The same with another number of steps, as supported by the paper's formulas.
pub fn steps_of(sigma: f64, count: u32) -> Vec<Step> {
    const SPACE: f64 = 13.0;
    const LN_ALPHA: f64 = 15.0;
    let total = f64::from(count);
    let (range, shrink) = (5.3 / total, 13.0 / total);
    let step = |n: u32| {
        let ahead = f64::from(n - 1) / total;
        let space = 2.0 * SPACE.powi(2) * (-LN_ALPHA * ahead / 2.0).exp();
        Step {
            radius: ((2.0 * (space / 2.0).sqrt()).round() as usize).max(4),
            space,
            range: range * sigma * sigma * (LN_ALPHA * ahead).exp() * f64::from(n),
            shrink: shrink * sigma * sigma * f64::from(n),
            power: Some(n),
            confidence: (ahead * FRAC_PI_2).cos(),
        }
    };
    (1..=count).rev().map(step).collect()
}

/// The three steps of 2013, with the constants of the authors' published program.
pub fn steps_2013(sigma: f64) -> Vec<Step> {
    const SPACE: f64 = 7.0;
    [(100.0, 4.0), (8.7, 0.4), (0.7, 0.8)]
        .map(|(range, shrink)| Step {
            radius: 15,
            space: 2.0 * SPACE * SPACE,
            range: range * sigma * sigma,
            shrink: shrink * sigma * sigma,
            power: None,
            confidence: 1.0,
        })
        .to_vec()
}

/// Removes noise from a grey or colour image by the given steps.
pub fn ddid(image: &Image, steps: &[Step]) -> Image {
    let noisy = Planes::of(image).dct();
    walk(&noisy, steps, &[]).dct_back().to_image()
}

/// The same for stabilised values (see `crate::definition::stabilise`), whose noise has these spectra.
pub fn stabilised(image: &Image, steps: &[Step], spectra: &[Spectrum]) -> Image {
    walk(&Planes::of(image), steps, spectra).to_image()
}

/// The least power of noise at a frequency, relative to the mean: in flat regions JPEG removes all high frequencies, but at
/// edges they contain noise.
pub const LEAST_POWER: f32 = 0.1;

/// The power of noise at each frequency of a window, for each channel; 1 without spectra.
fn powers(spectra: &[Spectrum], channel: usize, radius: usize) -> Vec<f64> {
    let side = 2 * radius + 1;
    let Some(spectrum) = spectra.get(channel) else {
        return vec![1.0; side * side];
    };
    let f = |i: usize| i.min(side - i) as f64 / side as f64;
    (0..side * side)
        .map(|k| {
            spectrum
                .at(f(k / side), f(k % side))
                .max(f64::from(LEAST_POWER))
        })
        .collect()
}

fn walk(noisy: &Planes, steps: &[Step], spectra: &[Spectrum]) -> Planes {
    let mut guide = noisy.clone();
    for step in steps {
        let all: Vec<Vec<f64>> = (0..noisy.data.len())
            .map(|c| powers(spectra, c, step.radius))
            .collect();
        guide = match step.power {
            Some(power) => filter_2015(&guide, noisy, step, power, &all),
            None => filter_2013(&guide, noisy, step, &all),
        };
    }
    guide
}

/// The dual-domain filter as a guided filter on `z = g + iy`: Vicini 2015, Eq. 4.2 to 4.8. Returns `y - Im DDF`.
///
/// `powers` are those of the noise at each frequency of the window, for each channel.
pub fn filter_2015(
    guide: &Planes,
    noisy: &Planes,
    step: &Step,
    power: u32,
    powers: &[Vec<f64>],
) -> Planes {
    let fourier = Fourier::new(2 * step.radius + 1);
    let cosine = |x: f64| x.sqrt().min(FRAC_PI_2).cos().powi(power as i32);
    noisy.each_pixel(|p| {
        let around = guide.window(p, step.radius);
        let k: Vec<f64> = (0..around.len())
            .map(|q| {
                let (difference, distance) = guide.distance(p, around[q], q, step.radius);
                cosine(difference / step.range) * (-distance / step.space).exp()
            })
            .collect();
        let (sum, squares) = (k.iter().sum::<f64>(), k.iter().map(|k| k * k).sum::<f64>());
        let one = |channel: usize| {
            let z = |q: usize| Complex::new(guide.data[channel][q], noisy.data[channel][q]);
            let mean = around
                .iter()
                .zip(&k)
                .map(|(&q, k)| z(q) * k)
                .sum::<Complex<f64>>()
                / sum;
            let bilateral = (z(p) - mean) * step.confidence;
            let d = around
                .iter()
                .zip(&k)
                .map(|(&q, k)| (z(q) - (z(p) - bilateral)) * k);
            let spectrum = fourier.transform(d);
            let total: Complex<f64> = (0..spectrum.len())
                .map(|f| {
                    let g = 0.5 * (spectrum[f] + spectrum[fourier.opposite(f)].conj());
                    spectrum[f]
                        * cosine(g.norm_sqr() / (step.shrink * squares * powers[channel][f]))
                })
                .sum();
            noisy.data[channel][p] - (step.confidence * total / k.len() as f64).im
        };
        (0..noisy.data.len()).map(one).collect()
    })
}

/// The filter as first published: Knaus and Zwicker 2013, Eq. 2 to 10, on one or more channels.
pub fn filter_2013(guide: &Planes, noisy: &Planes, step: &Step, powers: &[Vec<f64>]) -> Planes {
    let fourier = Fourier::new(2 * step.radius + 1);
    noisy.each_pixel(|p| {
        let around = guide.window(p, step.radius);
        let k: Vec<f64> = (0..around.len())
            .map(|q| {
                let (difference, distance) = guide.distance(p, around[q], q, step.radius);
                (-difference / step.range).exp() * (-distance / step.space).exp()
            })
            .collect();
        let (sum, squares) = (k.iter().sum::<f64>(), k.iter().map(|k| k * k).sum::<f64>());
        let one = |channel: usize| {
            let spectrum_of = |image: &[f64]| {
                let mean = around
                    .iter()
                    .zip(&k)
                    .map(|(&q, k)| image[q] * k)
                    .sum::<f64>()
                    / sum;
                let d = around
                    .iter()
                    .zip(&k)
                    .map(|(&q, k)| ((image[q] - mean) * k).into());
                (mean, fourier.transform(d))
            };
            let (_, g) = spectrum_of(&guide.data[channel]);
            let (mean, s) = spectrum_of(&noisy.data[channel]);
            let total: Complex<f64> = g
                .iter()
                .zip(&s)
                .zip(&powers[channel])
                .map(|((g, s), p)| s * (-step.shrink * squares * p / g.norm_sqr()).exp())
                .sum();
            mean + total.re / k.len() as f64
        };
        (0..noisy.data.len()).map(one).collect()
    })
}

/// Channels in double precision.
#[derive(Debug, Clone, PartialEq)]
pub struct Planes {
    width: usize,
    height: usize,
    data: Vec<Vec<f64>>,
}

impl Planes {
    /// The channels of an image.
    pub fn of(image: &Image) -> Self {
        Self {
            width: image.width(),
            height: image.height(),
            data: image
                .planes()
                .map(|p| p.iter().map(|v| f64::from(*v)).collect())
                .collect(),
        }
    }

    /// The image of the channels.
    pub fn to_image(&self) -> Image {
        Image::from_fn(self.width, self.height, self.data.len(), |x, y, c| {
            self.data[c][y * self.width + x] as f32
        })
    }

    /// The orthonormal discrete cosine transform along the channels, Eq. 4.11: white noise stays white.
    fn dct(&self) -> Self {
        self.mixed(|to, from| dct(to, from, self.data.len()))
    }

    /// Its inverse, which is its transpose.
    fn dct_back(&self) -> Self {
        self.mixed(|to, from| dct(from, to, self.data.len()))
    }

    fn mixed(&self, weight: impl Fn(usize, usize) -> f64) -> Self {
        let count = self.data.len();
        let data = (0..count)
            .map(|to| {
                (0..self.width * self.height)
                    .map(|i| {
                        (0..count)
                            .map(|from| weight(to, from) * self.data[from][i])
                            .sum()
                    })
                    .collect()
            })
            .collect();
        Self { data, ..*self }
    }

    /// The pixels of the window around `p`, row by row. Beyond the border the image is mirrored, with the edge pixel repeated.
    fn window(&self, p: usize, radius: usize) -> Vec<usize> {
        let (x, y, r) = (
            (p % self.width) as i64,
            (p / self.width) as i64,
            radius as i64,
        );
        let pixel = |j, i| mirror(y + j, self.height) * self.width + mirror(x + i, self.width);
        (-r..=r)
            .flat_map(|j| (-r..=r).map(move |i| pixel(j, i)))
            .collect()
    }

    /// The squared difference of values over all channels between pixels `p` and `q`, and the squared distance of position `at`
    /// from the centre of the window.
    fn distance(&self, p: usize, q: usize, at: usize, radius: usize) -> (f64, f64) {
        let side = 2 * radius + 1;
        let values = self.data.iter().map(|d| (d[p] - d[q]).powi(2)).sum();
        let step = |i: usize| (i as f64 - radius as f64).powi(2);
        (values, step(at % side) + step(at / side))
    }

    fn each_pixel(&self, make: impl Fn(usize) -> Vec<f64> + Sync + Send) -> Self {
        let count = self.width * self.height;
        let made: Vec<Vec<f64>> = (0..count).into_par_iter().map(make).collect();
        let plane = |c: usize| made.iter().map(|m| m[c]).collect();
        Self {
            data: (0..self.data.len()).map(plane).collect(),
            ..*self
        }
    }
}

/// Maps `at` into an image of `n` pixels that is mirrored beyond its borders, with the edge pixel repeated.
pub fn mirror(at: i64, n: usize) -> usize {
    let n = n as i64;
    let folded = at.rem_euclid(2 * n);
    folded.min(2 * n - 1 - folded) as usize
}

/// Entry of the orthonormal cosine transform of length `n`, Eq. 4.11 and 4.12.
pub fn dct(k: usize, i: usize, n: usize) -> f64 {
    let scale = if k == 0 { 1.0 } else { 2.0 } / n as f64;
    scale.sqrt() * (FRAC_PI_2 / n as f64 * ((2 * i + 1) * k) as f64).cos()
}

/// The two-dimensional Fourier transform of a square window whose centre has the coordinates (0, 0), Eq. 4.4.
struct Fourier {
    side: usize,
    /// `exp(-2πik/n)`.
    roots: Vec<Complex<f64>>,
}

impl Fourier {
    fn new(side: usize) -> Self {
        Self {
            side,
            roots: (0..side)
                .map(|k| Complex::cis(-TAU * k as f64 / side as f64))
                .collect(),
        }
    }

    fn transform(&self, window: impl Iterator<Item = Complex<f64>>) -> Vec<Complex<f64>> {
        let (n, r) = (self.side, self.side / 2);
        let mut data = vec![Complex::ZERO; n * n];
        for (q, value) in window.enumerate() {
            let shifted = |i: usize| (i + n - r) % n;
            data[shifted(q / n) * n + shifted(q % n)] = value;
        }
        for _axis in 0..2 {
            let value = |i: usize| {
                let (k, line) = (i / n, &data[i % n * n..][..n]);
                let terms = line.iter().enumerate();
                terms.map(|(j, v)| v * self.roots[j * k % n]).sum()
            };
            data = (0..n * n).map(value).collect();
        }
        data
    }

    /// The index of the frequency `-f`.
    fn opposite(&self, f: usize) -> usize {
        let n = self.side;
        (n - f / n) % n * n + (n - f % n) % n
    }
}
