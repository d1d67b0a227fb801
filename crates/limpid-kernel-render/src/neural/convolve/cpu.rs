//! The CPU body of 1×1 convolutions of a map, row by row.

use super::product::products;
use super::{Convolve, Into};
use fearless_simd::prelude::*;
use limpid_core::simd::dispatch;
use limpid_plan::Job;
use limpid_plan::fast_exp::{fast_exp, fast_ln};
use limpid_reference::definition::around::SHARE;
use limpid_reference::definition::network::{BLOCK, LEAK};
use limpid_reference::definition::neural::{
    DISTRUST, DISTRUSTED, DIVISOR, FACTOR, FACTOR_MOST, PRECISION, SHARPNESS,
};

/// Values of the longest vectors, and columns that are convolved at once.
const LANES: usize = 16;
const MOST: usize = 6 * LANES;

/// Columns of the rows that are convolved.
fn columns(kernel: &Convolve, width: usize) -> usize {
    match kernel.into {
        Into::Guides => width.next_multiple_of(BLOCK) / 2,
        _ => width,
    }
}

/// Columns of all inputs, and of all outputs.
pub(super) fn scratch(kernel: &Convolve) -> usize {
    (kernel.inputs + kernel.outputs_at_once()) * MOST
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
    // Guides of even image rows come first.
    let (outputs, halves) = (kernel.outputs_at_once(), 1 + usize::from(guides));
    let table = reads[reads.len() - 1].plane(0);
    let (biases, weights) = table.split_at(halves * outputs);
    let (seen, made) = scratch.split_at_mut(kernel.inputs * MOST);
    for y in rows.clone() {
        let (at, half) = (y / halves, y % halves);
        let table = (
            &biases[half * outputs..][..outputs],
            &weights[half * outputs * kernel.inputs..][..outputs * kernel.inputs],
        );
        for first in (0..width).step_by(MOST) {
            let count = MOST.min(width - first);
            let stride = count.next_multiple_of(LANES);
            let (seen, made) = (
                &mut seen[..kernel.inputs * stride],
                &mut made[..outputs * stride],
            );
            for (plane, to) in seen.chunks_exact_mut(stride).enumerate() {
                to[..count].copy_from_slice(&reads[0].row(plane, at)[first..][..count]);
                to[count..].fill(0.0);
            }
            products(simd, seen, table, stride, made);
            if guides {
                for plane in 0..kernel.outputs / 4 {
                    let (left, right) = made[2 * plane * stride..].split_at_mut(stride);
                    let to = match plane.checked_sub(PRECISION) {
                        None => writes[0].row(plane, y),
                        Some(plane) => writes[1].row(plane, y),
                    };
                    let end = to.len().min(2 * (first + count));
                    let to = to.get_mut(2 * first..end).unwrap_or_default();
                    shuffled(plane, &mut left[..count], &mut right[..count], to);
                }
                continue;
            }
            let leak = match kernel.into {
                Into::Rectified => LEAK,
                _ => 1.0,
            };
            for (plane, made) in made.chunks_exact(stride).enumerate() {
                let to = &mut writes[0].row(plane, y)[first..][..count];
                for (to, v) in to.iter_mut().zip(made) {
                    *to = v.max(leak * v);
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
