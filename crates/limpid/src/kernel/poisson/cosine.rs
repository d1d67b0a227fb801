//! The system with weights of one, solved at once: cosine transforms turn its matrix into a diagonal.

use super::super::{Contract, Dispatch, Job, Kernel, Site, fourier};
use crate::{Error, Result, Size};
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};
use std::f64::consts::PI;
use std::sync::Arc;

/// Solves `A x = b` where all weights are one. Reads `b`. For the CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cosine {
    /// How much the base image counts.
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
        let turned = Size::new(size.height, size.width);
        for c in 0..job.reads[0].planes() {
            a.copy_from_slice(job.reads[0].plane(c));
            along.forward(&mut a);
            transpose(&a, &mut b, size);
            down.forward(&mut b);
            b.par_chunks_mut(size.height)
                .zip(&column)
                .for_each(|(line, c)| {
                    for (v, r) in line.iter_mut().zip(&row) {
                        *v /= (alpha + c + r) as f32;
                    }
                });
            down.backward(&mut b);
            transpose(&b, &mut a, turned);
            along.backward(&mut a);
            job.writes[0].band(c).copy_from_slice(&a);
        }
    }

    fn gpu(&self, _site: &Site<'_>) -> Result<Dispatch> {
        Err(Error::unsupported(
            "cosine transforms run on the CPU; use the schedule multigrid",
        ))
    }
}

/// `2 - 2 cos(πk/n)`: what second differences without slope at the ends make of the cosines.
fn eigenvalues(n: usize) -> Vec<f64> {
    let one = |k: usize| 2.0 - 2.0 * (PI * k as f64 / n as f64).cos();
    (0..n).map(one).collect()
}

fn transpose(from: &[f32], to: &mut [f32], size: Size) {
    // Squares of this side stay in the cache, read and written.
    const SIDE: usize = 16;
    to.par_chunks_mut(SIDE * size.height)
        .enumerate()
        .for_each(|(k, lines)| {
            for y in (0..size.height).step_by(SIDE) {
                for (i, line) in lines.chunks_mut(size.height).enumerate() {
                    for (j, v) in line[y..].iter_mut().take(SIDE).enumerate() {
                        *v = from[(y + j) * size.width + k * SIDE + i];
                    }
                }
            }
        });
}

/// Cosine transforms of lines of equal length, two lines in one complex transform.
struct Transform {
    length: usize,
    forward: Arc<dyn Fft<f32>>,
    backward: Arc<dyn Fft<f32>>,
    /// `exp(-iπk/2n)`.
    turns: Vec<Complex<f32>>,
}

impl Transform {
    fn new(length: usize) -> Self {
        let turn = |k: usize| {
            let angle = -PI * k as f64 / (2 * length) as f64;
            Complex::new(angle.cos() as f32, angle.sin() as f32)
        };
        Self {
            length,
            forward: fourier::plan(length, FftDirection::Forward),
            backward: fourier::plan(length, FftDirection::Inverse),
            turns: (0..length).map(turn).collect(),
        }
    }

    /// Where element `i` goes before a transform: even ones to the front, odd ones from the back.
    fn place(&self, i: usize) -> usize {
        if i.is_multiple_of(2) {
            i / 2
        } else {
            self.length - 1 - i / 2
        }
    }

    /// `X_k = Σ x_i cos(πk(2i + 1)/2n)` of every line.
    fn forward(&self, lines: &mut [f32]) {
        let n = self.length;
        lines.par_chunks_mut(2 * n).for_each_init(
            || self.buffers(&self.forward),
            |(values, scratch), pair| {
                let (a, b) = pair.split_at_mut(n);
                for i in 0..n {
                    let second = b.get(i).copied().unwrap_or(0.0);
                    values[self.place(i)] = Complex::new(a[i], second);
                }
                self.forward.process_with_scratch(values, scratch);
                for k in 0..n {
                    // Both lines are real: what is even in k belongs to the first, what is odd to the second.
                    let (v, w) = (values[k], values[(n - k) % n].conj());
                    let first = (v + w) * 0.5;
                    let second = (v - w) * Complex::new(0.0, -0.5);
                    a[k] = (first * self.turns[k]).re;
                    if let Some(b) = b.get_mut(k) {
                        *b = (second * self.turns[k]).re;
                    }
                }
            },
        );
    }

    /// The inverse of [`Self::forward`].
    fn backward(&self, lines: &mut [f32]) {
        let n = self.length;
        let scale = 1.0 / n as f32;
        lines.par_chunks_mut(2 * n).for_each_init(
            || self.buffers(&self.backward),
            |(values, scratch), pair| {
                let (a, b) = pair.split_at_mut(n);
                let spectrum = |line: &[f32], k: usize| {
                    let at = |k: usize| line.get(k).copied().unwrap_or(0.0);
                    let mirrored = if k == 0 { 0.0 } else { at(n - k) };
                    Complex::new(at(k), -mirrored) * self.turns[k].conj()
                };
                for (k, v) in values.iter_mut().enumerate() {
                    *v = spectrum(a, k) + spectrum(b, k) * Complex::new(0.0, 1.0);
                }
                self.backward.process_with_scratch(values, scratch);
                for i in 0..n {
                    let v = values[self.place(i)] * scale;
                    a[i] = v.re;
                    if let Some(b) = b.get_mut(i) {
                        *b = v.im;
                    }
                }
            },
        );
    }

    fn buffers(&self, fft: &Arc<dyn Fft<f32>>) -> (Vec<Complex<f32>>, Vec<Complex<f32>>) {
        let zero = Complex::new(0.0, 0.0);
        (
            vec![zero; self.length],
            vec![zero; fft.get_inplace_scratch_len()],
        )
    }
}
