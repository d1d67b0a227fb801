//! Direct solution of the system with unit weights: cosine transforms diagonalise its matrix.

use fearless_simd::Level;
use limpid_core::simd::dispatch;
use limpid_core::{Error, Result};
use limpid_plan::fourier::{Element, Fourier, LANES};
use limpid_plan::{Contract, Dispatch, Job, Kernel, PassSlots};
use rayon::prelude::*;
use std::f64::consts::PI;

/// Solves `A x = b` if all weights are one. Reads `b`. For the CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cosine {
    /// Weight of the base image.
    pub alpha: f32,
}

impl Kernel for Cosine {
    fn name(&self) -> &'static str {
        "cosine"
    }

    fn contract(&self) -> Contract {
        Contract::whole(1, 1)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let size = job.reads[0].size();
        let (along, down) = (Transform::new(size.width), Transform::new(size.height));
        let alpha = f64::from(self.alpha).powi(2);
        let (column, row) = (eigenvalues(size.width), eigenvalues(size.height));
        let (mut a, mut b) = (vec![0.0; size.pixels()], vec![0.0; size.pixels()]);
        let level = job.level;
        for c in 0..job.reads[0].planes() {
            // Each transform also transposes.
            down.run(level, true, job.reads[0].plane(c), &mut b);
            along.run(level, true, &b, &mut a);
            let lines = a.par_chunks_mut(size.width).zip(&row);
            lines.for_each(|(line, r)| {
                for (v, c) in line.iter_mut().zip(&column) {
                    *v /= (alpha + c + r) as f32;
                }
            });
            down.run(level, false, &a, &mut b);
            along.run(level, false, &b, job.writes[0].band(c));
        }
    }

    fn gpu(&self, _pass: &PassSlots<'_>) -> Result<Dispatch> {
        Err(Error::unsupported(
            "cosine transforms run on the CPU; use the schedule multigrid",
        ))
    }
}

/// `2 - 2 cos(πk/n)`: the eigenvalues of second differences with zero slope at the ends.
fn eigenvalues(n: usize) -> Vec<f64> {
    let one = |k: usize| 2.0 - 2.0 * (PI * k as f64 / n as f64).cos();
    (0..n).map(one).collect()
}

/// Columns that are transformed together: two per lane, by a complex transform.
const COLUMNS: usize = 2 * LANES;

/// Cosine transforms of columns.
struct Transform {
    fourier: Fourier,
    /// Cosine and sine of `-πk/2n`.
    twiddles: Vec<[f32; 2]>,
}

impl Transform {
    fn new(length: usize) -> Self {
        let twiddle = |k: usize| {
            let angle = -PI * k as f64 / (2 * length) as f64;
            [angle.cos() as f32, angle.sin() as f32]
        };
        Self {
            fourier: Fourier::new(length),
            twiddles: (0..length).map(twiddle).collect(),
        }
    }

    /// Transforms each column of `from` into a row of `to`: `X_k = Σ x_i cos(πk(2i + 1)/2n)`, or the inverse.
    fn run(&self, level: Level, forward: bool, from: &[f32], to: &mut [f32]) {
        let n = self.twiddles.len();
        let width = from.len() / n;
        to.par_chunks_mut(COLUMNS * n).enumerate().for_each_init(
            || (Vec::new(), Vec::new()),
            |(values, scratch), (block, rows)| {
                values.clear();
                values.resize(n, Element::ZERO);
                let first = block * COLUMNS;
                let count = COLUMNS.min(width - first);
                let column = |i: usize| &from[i * width + first..][..count];
                match forward {
                    true => dispatch!(level, _simd => self.enter(column, values)),
                    false => dispatch!(level, _simd => self.enter_spectrum(column, values)),
                }
                self.fourier.run(level, values, scratch);
                for (rows, second) in rows.chunks_mut(LANES * n).zip([false, true]) {
                    match forward {
                        true => {
                            dispatch!(level, _simd => self.leave_spectrum(second, values, rows));
                        }
                        false => dispatch!(level, _simd => self.leave(second, values, rows)),
                    }
                }
            },
        );
    }

    /// The position of element `i` during a transform: even ones from the front, odd ones from the back.
    fn place(&self, i: usize) -> usize {
        match i.is_multiple_of(2) {
            true => i / 2,
            false => self.twiddles.len() - 1 - i / 2,
        }
    }

    #[inline(always)]
    fn enter<'a>(&self, row: impl Fn(usize) -> &'a [f32], values: &mut [Element]) {
        for i in 0..values.len() {
            let value = &mut values[self.place(i)];
            let (first, second) = halves(row(i));
            value.re[..first.len()].copy_from_slice(first);
            value.im[..second.len()].copy_from_slice(second);
        }
    }

    /// Rows of the columns in the real parts, or of those in the imaginary parts: both are real, so the part that is even in
    /// `k` belongs to the first, the odd part to the second.
    #[inline(always)]
    fn leave_spectrum(&self, second: bool, values: &[Element], rows: &mut [f32]) {
        let n = values.len();
        transpose(
            n,
            rows,
            #[inline(always)]
            |k: usize| {
                let (v, w) = (&values[k], &values[if k == 0 { 0 } else { n - k }]);
                let [c, s] = self.twiddles[k].map(|t| 0.5 * t);
                let mut line = [0.0; LANES];
                for l in 0..LANES {
                    line[l] = match second {
                        false => (v.re[l] + w.re[l]) * c - (v.im[l] - w.im[l]) * s,
                        true => (v.im[l] + w.im[l]) * c - (w.re[l] - v.re[l]) * s,
                    };
                }
                line
            },
        );
    }

    /// The spectrum of a forward transform, with real and imaginary parts exchanged so that the next transform is the inverse.
    #[inline(always)]
    fn enter_spectrum<'a>(&self, row: impl Fn(usize) -> &'a [f32], values: &mut [Element]) {
        let n = values.len();
        let scale = 1.0 / n as f32;
        for (k, value) in values.iter_mut().enumerate() {
            let [c, s] = self.twiddles[k].map(|v| v * scale);
            let (first, second) = halves(row(k));
            let mirrored = row(if k == 0 { 0 } else { n - k });
            let (other_first, other_second) = halves(mirrored);
            let there = if k == 0 { 0.0 } else { 1.0 };
            for l in 0..first.len() {
                let (a, b) = (first[l], -there * other_first[l]);
                value.im[l] += a * c + b * s;
                value.re[l] += b * c - a * s;
            }
            for l in 0..second.len() {
                let (a, b) = (second[l], -there * other_second[l]);
                value.im[l] -= b * c - a * s;
                value.re[l] += a * c + b * s;
            }
        }
    }

    #[inline(always)]
    fn leave(&self, second: bool, values: &[Element], rows: &mut [f32]) {
        transpose(
            values.len(),
            rows,
            #[inline(always)]
            |i: usize| {
                let value = &values[self.place(i)];
                // Real and imaginary parts are exchanged, see `enter_spectrum`.
                if second { value.re } else { value.im }
            },
        );
    }
}

/// `row[k] = line(k)[row]`, in square blocks: rows are often a power of two apart, and the cache holds few such lines.
#[inline(always)]
fn transpose(length: usize, rows: &mut [f32], line: impl Fn(usize) -> [f32; LANES]) {
    for start in (0..length).step_by(LANES) {
        let end = length.min(start + LANES);
        let mut square = [[0.0; LANES]; LANES];
        for k in start..end {
            square[k - start] = line(k);
        }
        for (l, row) in rows.chunks_exact_mut(length).enumerate() {
            for (to, line) in row[start..end].iter_mut().zip(&square) {
                *to = line[l];
            }
        }
    }
}

/// The columns in real and in imaginary parts.
fn halves(row: &[f32]) -> (&[f32], &[f32]) {
    row.split_at(LANES.min(row.len()))
}
