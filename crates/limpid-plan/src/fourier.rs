//! Fourier transforms of many lines of equal length at once: one line per SIMD lane.
//!
//! Lengths with small prime factors are transformed in passes over all elements, one for each factor (Stockham order, which
//! needs no permutation); other lengths use Bluestein's convolution, whose length is a power of two.

use fearless_simd::Level;
use limpid_core::simd::dispatch;
use std::f64::consts::PI;

/// Lines that are transformed together.
pub const LANES: usize = 16;

/// The largest prime factor with its own pass: a pass needs this many products per element.
const LARGEST: usize = 31;

/// The same element of all lines: real and imaginary parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Element {
    pub re: [f32; LANES],
    pub im: [f32; LANES],
}

impl Element {
    pub const ZERO: Self = Self {
        re: [0.0; LANES],
        im: [0.0; LANES],
    };

    #[inline(always)]
    fn plus(&self, other: &Self) -> Self {
        let mut sum = *self;
        for i in 0..LANES {
            sum.re[i] += other.re[i];
            sum.im[i] += other.im[i];
        }
        sum
    }

    #[inline(always)]
    fn minus(&self, other: &Self) -> Self {
        let mut difference = *self;
        for i in 0..LANES {
            difference.re[i] -= other.re[i];
            difference.im[i] -= other.im[i];
        }
        difference
    }

    /// Times `-i`.
    #[inline(always)]
    fn turned(&self) -> Self {
        let mut turned = *self;
        for i in 0..LANES {
            turned.re[i] = self.im[i];
            turned.im[i] = -self.re[i];
        }
        turned
    }

    #[inline(always)]
    fn times(&self, [c, s]: [f32; 2]) -> Self {
        let mut product = *self;
        for i in 0..LANES {
            product.re[i] = self.re[i] * c - self.im[i] * s;
            product.im[i] = self.re[i] * s + self.im[i] * c;
        }
        product
    }

    /// Exchanges real and imaginary parts: a forward transform between two exchanges is the inverse.
    pub fn swap(&mut self) {
        std::mem::swap(&mut self.re, &mut self.im);
    }
}

/// `exp(-iπ·turns)`.
fn root(turns: f64) -> [f32; 2] {
    let angle = -PI * turns;
    [angle.cos() as f32, angle.sin() as f32]
}

/// A transform of one length, `X_k = Σ x_j exp(-2πijk/n)`.
pub struct Fourier {
    length: usize,
    /// Factors of the length, in the order of the passes.
    factors: Vec<usize>,
    /// `exp(-2πik/n)`.
    roots: Vec<[f32; 2]>,
    chirp: Option<Box<Chirp>>,
}

/// Bluestein's convolution.
struct Chirp {
    /// The transform of the convolution, whose length is a power of two.
    inner: Fourier,
    /// `exp(-iπk²/n)`.
    turns: Vec<[f32; 2]>,
    /// The transform of the convolution kernel, over its length.
    spectrum: Vec<[f32; 2]>,
}

impl Fourier {
    pub fn new(length: usize) -> Self {
        let (mut rest, mut factors) = (length, Vec::new());
        for factor in [4].into_iter().chain(2..=LARGEST) {
            while rest > 1 && rest.is_multiple_of(factor) {
                factors.push(factor);
                rest /= factor;
            }
        }
        let roots = (0..length).map(|k| root(2.0 * k as f64 / length as f64));
        Self {
            length,
            factors,
            roots: roots.collect(),
            chirp: (rest > 1).then(|| Box::new(Chirp::new(length))),
        }
    }

    /// Transforms all lines; `scratch` may have any length.
    pub fn run(&self, level: Level, values: &mut Vec<Element>, scratch: &mut Vec<Element>) {
        if let Some(chirp) = &self.chirp {
            return chirp.run(level, values, scratch);
        }
        scratch.resize(self.length, Element::ZERO);
        let mut stride = 1;
        for &factor in &self.factors {
            let pass = Pass {
                roots: &self.roots,
                factor,
                stride,
            };
            dispatch!(level, _simd => pass.run(values, scratch));
            std::mem::swap(values, scratch);
            stride *= factor;
        }
    }
}

impl Chirp {
    fn new(length: usize) -> Self {
        let inner = Fourier::new((2 * length - 1).next_power_of_two());
        // Squares beyond 2n only add full turns.
        let turn = |k: usize| root(((k * k) % (2 * length)) as f64 / length as f64);
        let turns: Vec<[f32; 2]> = (0..length).map(turn).collect();
        let scale = 1.0 / inner.length as f32;
        let mut values = vec![Element::ZERO; inner.length];
        for (k, [c, s]) in turns.iter().enumerate() {
            for at in [k, (inner.length - k) % inner.length] {
                values[at].re[0] = c * scale;
                values[at].im[0] = -s * scale;
            }
        }
        inner.run(Level::baseline(), &mut values, &mut Vec::new());
        let spectrum = values.iter().map(|v| [v.re[0], v.im[0]]).collect();
        Self {
            inner,
            turns,
            spectrum,
        }
    }

    fn run(&self, level: Level, values: &mut Vec<Element>, scratch: &mut Vec<Element>) {
        let length = values.len();
        multiply(level, values, &self.turns);
        values.resize(self.inner.length, Element::ZERO);
        self.inner.run(level, values, scratch);
        multiply(level, values, &self.spectrum);
        values.iter_mut().for_each(Element::swap);
        self.inner.run(level, values, scratch);
        values.iter_mut().for_each(Element::swap);
        values.truncate(length);
        multiply(level, values, &self.turns);
    }
}

fn multiply(level: Level, values: &mut [Element], by: &[[f32; 2]]) {
    #[inline(always)]
    fn all(values: &mut [Element], by: &[[f32; 2]]) {
        for (value, by) in values.iter_mut().zip(by) {
            *value = value.times(*by);
        }
    }
    dispatch!(level, _simd => all(values, by));
}

/// One pass: transforms of the length of a factor, with twiddle factors.
struct Pass<'a> {
    roots: &'a [[f32; 2]],
    factor: usize,
    /// Product of the earlier factors.
    stride: usize,
}

impl Pass<'_> {
    #[inline(always)]
    fn run(&self, from: &[Element], to: &mut [Element]) {
        let (factor, stride) = (self.factor, self.stride);
        let apart = from.len() / factor;
        for group in 0..apart / stride {
            let root = |k: usize| self.roots[group * k * stride];
            for q in 0..stride {
                let read = |j: usize| &from[q + stride * group + apart * j];
                let first = q + stride * factor * group;
                match factor {
                    2 => {
                        to[first] = read(0).plus(read(1));
                        to[first + stride] = read(0).minus(read(1)).times(root(1));
                    }
                    4 => {
                        let (even, odd) = (read(0).plus(read(2)), read(1).plus(read(3)));
                        let other = read(0).minus(read(2));
                        let turned = read(1).minus(read(3)).turned();
                        to[first] = even.plus(&odd);
                        to[first + stride] = other.plus(&turned).times(root(1));
                        to[first + 2 * stride] = even.minus(&odd).times(root(2));
                        to[first + 3 * stride] = other.minus(&turned).times(root(3));
                    }
                    _ => {
                        let mut all = *read(0);
                        for j in 1..factor {
                            all = all.plus(read(j));
                        }
                        to[first] = all;
                        // Mirrored elements have the same even part and opposite odd parts.
                        for k in 1..=factor / 2 {
                            let (mut even, mut odd) = (*read(0), Element::ZERO);
                            for j in 1..=factor / 2 {
                                let [c, s] = self.roots[apart * (j * k % factor)];
                                let (a, b) = (read(j), read(factor - j));
                                for i in 0..LANES {
                                    even.re[i] += (a.re[i] + b.re[i]) * c;
                                    even.im[i] += (a.im[i] + b.im[i]) * c;
                                    odd.re[i] -= (a.im[i] - b.im[i]) * s;
                                    odd.im[i] += (a.re[i] - b.re[i]) * s;
                                }
                            }
                            let other = factor - k;
                            to[first + k * stride] = even.plus(&odd).times(root(k));
                            to[first + other * stride] = even.minus(&odd).times(root(other));
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(length: usize) -> f64 {
        let value = |i: usize, l: usize, part: usize| {
            ((i * 31 + l * 17 + part * 7) as u64 * 2_654_435_761 % 1000) as f32 / 500.0 - 1.0
        };
        let mut values: Vec<Element> = (0..length)
            .map(|i| Element {
                re: std::array::from_fn(|l| value(i, l, 0)),
                im: std::array::from_fn(|l| value(i, l, 1)),
            })
            .collect();
        let before = values.clone();
        Fourier::new(length).run(limpid_core::simd::best(), &mut values, &mut Vec::new());
        let mut worst = 0.0f64;
        for l in [0, LANES - 1] {
            for (k, result) in values.iter().enumerate() {
                let (mut re, mut im) = (0.0, 0.0);
                for (j, v) in before.iter().enumerate() {
                    let (s, c) = (-2.0 * PI * (j * k % length) as f64 / length as f64).sin_cos();
                    let (a, b) = (f64::from(v.re[l]), f64::from(v.im[l]));
                    re += a * c - b * s;
                    im += a * s + b * c;
                }
                let off = (re - f64::from(result.re[l])).hypot(im - f64::from(result.im[l]));
                worst = worst.max(off / (length as f64).sqrt());
            }
        }
        worst
    }

    #[test]
    fn transforms_are_those_of_the_definition() {
        for length in (1..=70).chain([96, 97, 120, 127, 210, 256, 323, 509, 1024, 1080]) {
            let error = error(length);
            assert!(error < 4e-6, "{length}: {error}");
        }
    }
}
