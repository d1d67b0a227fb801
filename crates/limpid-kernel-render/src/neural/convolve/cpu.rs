//! The CPU body of 1×1 convolutions of a map: a block of pixels and outputs stays in registers while the products of all inputs
//! are accumulated.

use super::{Convolve, Into, OUTS};
use fearless_simd::prelude::*;
use limpid_core::simd::dispatch;
use limpid_plan::Job;
use limpid_plan::fast_exp::{fast_exp, fast_ln};
use limpid_reference::definition::around::SHARE;
use limpid_reference::definition::network::{BLOCK, LEAK};
use limpid_reference::definition::neural::{
    DISTRUST, DISTRUSTED, DIVISOR, FACTOR, FACTOR_MOST, PRECISION, SHARPNESS,
};

/// Values of the longest vectors.
const LANES: usize = 16;
/// Vectors of a block on targets with many registers.
const MANY: usize = 3;

/// Columns of the rows that are convolved.
fn columns(kernel: &Convolve, width: usize) -> usize {
    match kernel.into {
        Into::Guides => width.next_multiple_of(BLOCK) / 2,
        _ => width,
    }
}

/// Words of a row of one plane, in whole blocks.
fn stride(columns: usize) -> usize {
    columns.next_multiple_of(MANY * LANES)
}

/// A row of all inputs, and rows of outputs: for guides, all that form a row of the image.
pub(super) fn scratch(kernel: &Convolve, width: usize) -> usize {
    let rows = match kernel.into {
        Into::Guides => kernel.outputs_at_once(),
        _ => OUTS,
    };
    (kernel.inputs + rows) * stride(columns(kernel, width))
}

pub(super) fn run(kernel: &Convolve, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

#[inline(always)]
fn rows<S: Simd>(simd: S, kernel: &Convolve, job: &mut Job<'_>) {
    let Job {
        rows,
        reads,
        writes,
        scratch,
        ..
    } = job;
    let size = writes[0].size();
    let guides = kernel.into == Into::Guides;
    let width = match guides {
        true => columns(kernel, size.width),
        false => size.width,
    };
    let stride = stride(width);
    let (seen, out) = scratch.split_at_mut(kernel.inputs * stride);
    let table = reads[reads.len() - 1].plane(0);
    let block = OUTS * (1 + kernel.inputs);
    for y in rows.clone() {
        let at = if guides { y / 2 } else { y };
        for (plane, to) in seen.chunks_exact_mut(stride).enumerate() {
            to[..width].copy_from_slice(&reads[0].row(plane, at)[..width]);
            to[width..].fill(0.0);
        }
        // Guides of even image rows come first.
        let outputs = kernel.outputs_at_once();
        let before = if guides { y % 2 * outputs / OUTS } else { 0 };
        for first in (0..outputs).step_by(OUTS) {
            let index = before + first / OUTS;
            let layer = Layer {
                seen,
                stride,
                table: &table[index * block..][..block],
            };
            if guides {
                layer.outputs(simd, width, &mut out[first * stride..][..OUTS * stride]);
                continue;
            }
            layer.outputs(simd, width, &mut out[..OUTS * stride]);
            let leak = match kernel.into {
                Into::Rectified => LEAK,
                _ => 1.0,
            };
            for (k, made) in out.chunks_exact(stride).take(OUTS).enumerate() {
                for (to, v) in writes[0].row(first + k, y).iter_mut().zip(made) {
                    *to = v.max(leak * v);
                }
            }
        }
        if guides {
            for plane in 0..kernel.outputs / 4 {
                let both = &mut out[2 * plane * stride..][..2 * stride];
                let (left, right) = both.split_at_mut(stride);
                let (left, right) = (&mut left[..width], &mut right[..width]);
                let to = match plane.checked_sub(PRECISION) {
                    None => writes[0].row(plane, y),
                    Some(plane) => writes[1].row(plane, y),
                };
                shuffled(plane, left, right, to);
            }
        }
    }
}

/// The inputs of a block of outputs.
struct Layer<'a> {
    seen: &'a [f32],
    stride: usize,
    /// Biases, then weights by input.
    table: &'a [f32],
}

impl Layer<'_> {
    /// Computes all columns, each output in its own row.
    #[inline(always)]
    fn outputs<S: Simd>(&self, simd: S, width: usize, out: &mut [f32]) {
        if S::f32s::LEN == LANES {
            self.blocks::<S, MANY>(simd, width, out);
        } else {
            self.blocks::<S, 1>(simd, width, out);
        }
    }

    #[inline(always)]
    fn blocks<S: Simd, const V: usize>(&self, simd: S, width: usize, out: &mut [f32]) {
        let lanes = S::f32s::LEN;
        let (bias, weights) = self.table.split_at(OUTS);
        for x in (0..width).step_by(V * lanes) {
            let mut sums = [[S::f32s::splat(simd, 0.0); V]; OUTS];
            for (sums, bias) in sums.iter_mut().zip(bias) {
                *sums = [S::f32s::splat(simd, *bias); V];
            }
            let weights = weights.as_chunks::<OUTS>().0;
            for (seen, weights) in self.seen.chunks_exact(self.stride).zip(weights) {
                let line = &seen[x..][..V * lanes];
                let mut values = [S::f32s::splat(simd, 0.0); V];
                for (value, part) in values.iter_mut().zip(line.chunks_exact(lanes)) {
                    *value = S::f32s::from_slice(simd, part);
                }
                for k in 0..OUTS {
                    let weight = S::f32s::splat(simd, weights[k]);
                    for i in 0..V {
                        sums[k][i] = values[i].mul_add(weight, sums[k][i]);
                    }
                }
            }
            for (to, sums) in out.chunks_exact_mut(self.stride).zip(&sums) {
                for (to, sum) in to[x..].chunks_exact_mut(lanes).zip(sums) {
                    to.copy_from_slice(sum.as_slice());
                }
            }
        }
    }
}

/// Interleaves the left and right pixels of an image row, and maps them to the range that the filter expects.
#[inline(always)]
fn shuffled(plane: usize, left: &mut [f32], right: &mut [f32], to: &mut [f32]) {
    let ranged = |row: &mut [f32]| match plane {
        0..PRECISION => {}
        PRECISION..SHARPNESS => softplus(row, 0.0),
        SHARPNESS..DISTRUST => softplus(row, -2.0),
        DISTRUST..DIVISOR => {
            for v in row {
                // The logistic function, with exponents that are never positive.
                let v3 = *v - 3.0;
                let power = fast_exp(-v3.abs());
                let small = power / (1.0 + power);
                *v = DISTRUSTED * if v3 > 0.0 { 1.0 - small } else { small };
            }
        }
        DIVISOR..FACTOR => softplus(row, 3.0),
        FACTOR..SHARE => {
            for v in row {
                // The hyperbolic tangent, with exponents that are never positive.
                let power = fast_exp(-2.0 / FACTOR_MOST * v.abs());
                let bounded = (1.0 - power) / (1.0 + power);
                *v = fast_exp(FACTOR_MOST * bounded.copysign(*v));
            }
        }
        _ => {
            for v in row {
                // The logistic function, likewise.
                let power = fast_exp(-v.abs());
                let small = power / (1.0 + power);
                *v = if *v > 0.0 { 1.0 - small } else { small };
            }
        }
    };
    ranged(left);
    ranged(right);
    let (pairs, rest) = to.as_chunks_mut::<2>();
    for ((to, left), right) in pairs.iter_mut().zip(&*left).zip(&*right) {
        *to = [*left, *right];
    }
    if let [last] = rest {
        *last = left[pairs.len()];
    }
}

#[inline(always)]
fn softplus(row: &mut [f32], offset: f32) {
    for v in row {
        let t = *v + offset;
        *v = t.max(0.0) + fast_ln(1.0 + fast_exp(-t.abs()));
    }
}
