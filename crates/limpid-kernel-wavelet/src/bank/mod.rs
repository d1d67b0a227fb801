//! Wavelet transforms of plain arrays by filter banks, in single and double precision, with PyWavelets' borders and layout.
//!
//! Along one axis, with filters of `L` taps, `low[o] = Σ lo[j] · x[2o + s - j]` over the extended signal, where `s` is 1, or
//! `L/2` for `periodization`. The inverse is `x[n] = Σ rec[n - s' - 2k + L - 2] · c[k]`, where `s'` is 0, or `L/2 - 1`.
//!
//! Everything comes down to sums of rows with weights (`sums.rs`): samples are first split into even and odd ones. In two
//! dimensions rows and columns are done in one pass over memory, a band of rows per thread.

mod adjoint;
mod axis;
mod line;
mod long;
mod plane;
mod spread;
mod sums;

pub use adjoint::adjoint;
pub use axis::{backward, first_samples, forward};
pub use long::{Filters, filter};
pub use plane::{Grid, join, split};
pub use spread::{gather, smooth, spread};
pub use sums::LEVEL;

use fearless_simd::SimdFloatElement;
use limpid_wavelet::{Boundary, mirrored};
use rayon::prelude::*;

/// `f32` or `f64`.
pub trait Real: SimdFloatElement + Send + Sync + 'static {
    /// Nearest value.
    fn of(value: f64) -> Self;
}

impl Real for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }
}

impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }
}

/// Two filters, and what stands beyond the ends of a signal.
#[derive(Debug)]
pub struct Bank<T> {
    pub(crate) lo: Vec<T>,
    pub(crate) hi: Vec<T>,
    pub(crate) border: Boundary,
}

/// The smallest work, in values, that is worth a second thread.
pub const SMALL: usize = 1 << 15;

impl<T: Real> Bank<T> {
    /// Filters of one even length.
    pub fn new(lo: &[f64], hi: &[f64], border: Boundary) -> Self {
        let values = |filter: &[f64]| filter.iter().map(|v| T::of(*v)).collect();
        Self {
            lo: values(lo),
            hi: values(hi),
            border,
        }
    }

    fn taps(&self) -> usize {
        self.lo.len()
    }

    pub(crate) fn half(&self) -> usize {
        self.lo.len() / 2
    }

    pub(crate) fn periodized(&self) -> bool {
        self.border == Boundary::Periodization
    }

    /// Coefficients of each band of `n` samples.
    pub fn coefficients(&self, n: usize) -> usize {
        if self.periodized() {
            n.div_ceil(2)
        } else {
            (n + self.taps() - 1) / 2
        }
    }

    /// Samples that `m` coefficients of each band give; none when they are too few.
    pub fn samples(&self, m: usize) -> usize {
        if self.periodized() {
            2 * m
        } else {
            (2 * m + 2).saturating_sub(self.taps())
        }
    }

    /// `s` of the module's text.
    pub(crate) fn shift(&self) -> i64 {
        if self.periodized() {
            self.half() as i64
        } else {
            1
        }
    }

    /// `s'` of the module's text.
    pub(crate) fn shift_back(&self) -> i64 {
        if self.periodized() {
            self.half() as i64 - 1
        } else {
            0
        }
    }

    /// Sample `i` of the extended signal, as a sum of samples.
    fn sample(&self, i: i64, n: usize) -> Vec<(usize, T)> {
        if self.periodized() {
            let at = i.rem_euclid((n + n % 2) as i64) as usize;
            return vec![(at.min(n - 1), T::of(1.0))];
        }
        let terms = self.border.sample(i, n);
        terms.into_iter().map(|(k, w)| (k, T::of(w))).collect()
    }

    /// Adds the terms of sample `i` of the extended signal to a list: [`Bank::sample`] without memory for each sample, which would take
    /// most of the time of short lines.
    fn terms(&self, i: i64, n: usize, terms: &mut Vec<(usize, T)>) {
        let length = n as i64;
        let at = match self.border {
            _ if (0..length).contains(&i) => i,
            Boundary::Zero => return,
            Boundary::Constant => i.clamp(0, length - 1),
            Boundary::Reflect => mirrored(i, n) as i64,
            Boundary::Periodic => i.rem_euclid(length),
            Boundary::Symmetric => {
                let at = i.rem_euclid(2 * length);
                at.min(2 * length - 1 - at)
            }
            _ => return terms.extend(self.sample(i, n)),
        };
        terms.push((at as usize, T::of(1.0)));
    }

    /// Weights of the samples `2o + s - j` in low and high coefficients, in the order of `j`.
    fn analysis(&self) -> Vec<[T; 2]> {
        let both = self.lo.iter().zip(&self.hi);
        both.map(|(l, h)| [*l, *h]).collect()
    }

    /// Weights of the coefficients `m + L/2 - 1 - t`, in the order of `t`, in the samples `2m + s'` and `2m + 1 + s'`: of the
    /// low band when `high` is false.
    fn synthesis(&self, high: bool) -> Vec<[T; 2]> {
        let filter = if high { &self.hi } else { &self.lo };
        filter.chunks_exact(2).map(|p| [p[0], p[1]]).collect()
    }
}

/// Whether work on this many values is done by one thread, without asking for others.
fn small(values: usize) -> bool {
    values < SMALL
}

/// Calls a function for pieces of two outputs, on this thread alone or on all.
fn pieces<T: Real>(
    [a, b]: [&mut [T]; 2],
    each: usize,
    alone: bool,
    work: impl Fn(usize, [&mut [T]; 2]) + Sync,
) {
    if alone {
        let both = a.chunks_mut(each).zip(b.chunks_mut(each)).enumerate();
        both.for_each(|(i, (a, b))| work(i, [a, b]));
    } else {
        let both = a.par_chunks_mut(each).zip(b.par_chunks_mut(each));
        both.enumerate().for_each(|(i, (a, b))| work(i, [a, b]));
    }
}

/// Rows for each piece of work, so that every thread gets a few.
fn rows_each(rows: usize, width: usize) -> usize {
    if small(rows * width) {
        return rows.max(1);
    }
    rows.div_ceil(4 * rayon::current_num_threads()).max(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both directions with the filters of Daubechies 2, whatever stands beyond the ends.
    #[test]
    fn signals_come_back() {
        let r = 3f64.sqrt();
        let lo = [1.0 + r, 3.0 + r, 3.0 - r, 1.0 - r].map(|v| v / 32f64.sqrt());
        let hi: [f64; 4] = std::array::from_fn(|i| [1.0, -1.0][i % 2] * lo[3 - i]);
        let reversed = |filter: [f64; 4]| std::array::from_fn::<f64, 4, _>(|i| filter[3 - i]);
        for border in [Boundary::Symmetric, Boundary::Zero, Boundary::Periodization] {
            let analysis = Bank::<f64>::new(&reversed(lo), &reversed(hi), border);
            let synthesis = Bank::<f64>::new(&lo, &hi, border);
            let (n, inner) = (22, 3);
            let x: Vec<f64> = (0..n * inner).map(|i| ((i * i) % 17) as f64).collect();
            let count = analysis.coefficients(n);
            let (mut low, mut high) = (vec![0.0; count * inner], vec![0.0; count * inner]);
            forward(&analysis, &x, (n, inner), &mut low, &mut high);
            let mut back = vec![0.0; synthesis.samples(count) * inner];
            backward(
                &synthesis,
                [Some(&low), Some(&high)],
                (count, inner),
                &mut back,
            );
            for (a, b) in x.iter().zip(&back) {
                assert!((a - b).abs() < 1e-12, "{border:?}: {a} became {b}");
            }
        }
    }

    /// `⟨A x, y⟩ = ⟨x, A* y⟩`, for lines that are shorter than the filters, odd or even, whatever stands beyond their ends.
    #[test]
    fn adjoints_are_adjoint() {
        let taps: [f64; 6] = [0.4, -0.3, 0.9, 0.7, 0.2, -0.1];
        let other: [f64; 6] = [0.1, 0.5, -0.6, 0.8, -0.2, 0.3];
        let values = |n: usize, k: usize| -> Vec<f64> {
            (0..n).map(|i| ((i * k + 3) % 11) as f64 - 5.0).collect()
        };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        for border in Boundary::all().filter(|b| *b != Boundary::Mirror) {
            let bank = Bank::<f64>::new(&taps, &other, border);
            for (n, inner) in [(2, 1), (3, 2), (7, 1), (8, 3), (33, 1)] {
                let x = values(n * inner, 7);
                let count = bank.coefficients(n) * inner;
                let (mut low, mut high) = (vec![0.0; count], vec![0.0; count]);
                forward(&bank, &x, (n, inner), &mut low, &mut high);
                let (a, b) = (values(count, 5), values(count, 4));
                let mut back = vec![0.0; n * inner];
                adjoint(&bank, [Some(&a), Some(&b)], (n, inner), &mut back);
                let (left, right) = (dot(&low, &a) + dot(&high, &b), dot(&x, &back));
                assert!(
                    (left - right).abs() < 1e-9 * (1.0 + left.abs()),
                    "{border:?}, {n} × {inner}: {left} and {right}"
                );
            }
        }
    }
}
