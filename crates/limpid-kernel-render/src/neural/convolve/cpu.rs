//! The CPU body: rows of the source are kept in a ring buffer with margins; a block of pixels and outputs stays in registers
//! while the products of all inputs and taps are accumulated.

use super::{Convolve, Into, OUTS, Source};
use fearless_simd::prelude::*;
use limpid_core::simd::dispatch;
use limpid_plan::fast_exp::{fast_exp, fast_ln};
use limpid_plan::{Job, View};
use limpid_reference::definition::around::SHARE;
use limpid_reference::definition::network::{BLOCK, LEAK};
use limpid_reference::definition::neural::{
    DISTRUST, DISTRUSTED, DIVISOR, FACTOR, FACTOR_MOST, PRECISION, SHARPNESS,
};

/// Values of the longest vectors, and width of the margins.
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

/// Words of a row of one plane, with margins.
fn stride(columns: usize) -> usize {
    columns.next_multiple_of(MANY * LANES) + 2 * LANES
}

/// The ring, and rows of outputs: for guides, all that form a row of the image.
pub(super) fn scratch(kernel: &Convolve, width: usize) -> usize {
    let rows = match kernel.into {
        Into::Guides => kernel.outputs_at_once(),
        _ => OUTS,
    };
    (kernel.side * kernel.inputs + rows) * stride(columns(kernel, width))
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
    let (width, height) = match guides {
        true => (columns(kernel, size.width), reads[0].size().height),
        false => (size.width, size.height),
    };
    let stride = stride(width);
    let row = kernel.inputs * stride;
    let (ring, out) = scratch.split_at_mut(kernel.side * row);
    ring.fill(0.0);
    let table = reads[reads.len() - 1].plane(0);
    let block = OUTS * (1 + kernel.inputs * kernel.side * kernel.side);
    // The row that each entry of the ring holds, counted from the first above the map.
    let mut holds = vec![usize::MAX; kernel.side];
    for y in rows.clone() {
        let at = if guides { y / 2 } else { y };
        for tap in 0..kernel.side {
            let place = (at + tap) % kernel.side;
            if holds[place] == at + tap {
                continue;
            }
            holds[place] = at + tap;
            let to = &mut ring[place * row..][..row];
            match (at + tap).checked_sub(kernel.side / 2) {
                Some(from) if from < height => copy(kernel.source, reads, from, width, to),
                _ => to.fill(0.0),
            }
        }
        // Guides of even image rows come first.
        let outputs = kernel.outputs_at_once();
        let before = if guides { y % 2 * outputs / OUTS } else { 0 };
        for first in (0..outputs).step_by(OUTS) {
            let index = before + first / OUTS;
            let layer = Layer {
                ring,
                starts: std::array::from_fn(|tap| (at + tap) % kernel.side * row),
                side: kernel.side,
                inputs: kernel.inputs,
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
    ring: &'a [f32],
    /// The positions of the tap rows in the ring.
    starts: [usize; 3],
    side: usize,
    inputs: usize,
    stride: usize,
    /// Biases, then weights by input and tap.
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
            let mut weights = weights.as_chunks::<OUTS>().0.iter();
            for input in 0..self.inputs {
                for start in &self.starts[..self.side] {
                    let from = start + input * self.stride + LANES + x - self.side / 2;
                    let line = &self.ring[from..][..V * lanes + self.side - 1];
                    for dx in 0..self.side {
                        let mut values = [S::f32s::splat(simd, 0.0); V];
                        for (i, value) in values.iter_mut().enumerate() {
                            *value = S::f32s::from_slice(simd, &line[dx + i * lanes..][..lanes]);
                        }
                        let Some(weights) = weights.next() else {
                            return;
                        };
                        for k in 0..OUTS {
                            let weight = S::f32s::splat(simd, weights[k]);
                            for i in 0..V {
                                sums[k][i] = values[i].mul_add(weight, sums[k][i]);
                            }
                        }
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

/// A row of all planes of the source.
#[inline(always)]
fn copy(source: Source, reads: &[View<'_>], y: usize, width: usize, to: &mut [f32]) {
    let from = &reads[0];
    let planes = match source {
        Source::Blocks => 4 * from.planes(),
        _ => from.planes(),
    };
    let stride = to.len() / planes;
    for (plane, to) in to.chunks_exact_mut(stride).enumerate() {
        let to = &mut to[LANES..][..width];
        match source {
            Source::Plain => to.copy_from_slice(&from.row(plane, y)[..width]),
            Source::Pooled => {
                let above = from.row(plane, 2 * y).as_chunks::<2>().0;
                let below = from.row(plane, 2 * y + 1).as_chunks::<2>().0;
                for ((to, a), b) in to.iter_mut().zip(above).zip(below) {
                    *to = a[0].max(a[1]).max(b[0].max(b[1]));
                }
            }
            Source::Joined => {
                let (fine, coarse) = (from.row(plane, y), reads[1].row(plane, y / 2));
                let fine = fine.as_chunks::<2>().0;
                for ((to, f), c) in to.as_chunks_mut::<2>().0.iter_mut().zip(fine).zip(coarse) {
                    *to = [f[0] + c, f[1] + c];
                }
            }
            Source::Blocks => {
                let size = from.size();
                let row = from.row(plane / 4, (2 * y + plane / 2 % 2).min(size.height - 1));
                let (last, dx) = (size.width - 1, plane % 2);
                for (x, to) in to.iter_mut().enumerate() {
                    *to = row[(2 * x + dx).min(last)];
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
