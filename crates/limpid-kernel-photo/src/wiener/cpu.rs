//! The CPU body: block after block, with a row of a block in a vector.

use super::Wiener;
use crate::block::part;
use crate::cosines::{along, back, interleaved};
use fearless_simd::{Simd, SimdBase, SimdFloat, f32x16};
use limpid_core::Size;
use limpid_core::simd::dispatch;
use limpid_plan::Job;
use limpid_reference::definition::wiener::{AREA, SIDE, Settings, WEIGHTS, cosine};

type Block = [f32; AREA];

/// Number of interleavings that transpose a block.
const TIMES: usize = SIDE.ilog2() as usize;

/// Row stride of the accumulators, including the columns left and right of the image.
fn pitch(width: usize) -> usize {
    width + 3 * SIDE
}

pub(super) fn scratch(size: Size) -> usize {
    2 * SIDE * pitch(size.width)
}

pub(super) fn wiener(kernel: &Wiener, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => band(simd, kernel, job));
}

/// Constants for all blocks.
struct Tables {
    /// Row `k` is the cosine basis function of frequency `k`.
    cosines: Block,
    window: Block,
    /// The powers of a component, transposed like the transforms of the blocks.
    powers: Block,
}

#[inline(always)]
fn band<S: Simd>(simd: S, kernel: &Wiener, job: &mut Job<'_>) {
    let weight = |i: usize| WEIGHTS[i.min(SIDE - 1 - i)];
    let mut tables = Tables {
        cosines: std::array::from_fn(|at| cosine(at / SIDE, at % SIDE)),
        window: std::array::from_fn(|at| weight(at / SIDE) * weight(at % SIDE)),
        powers: [0.0; AREA],
    };
    for c in 0..job.writes[0].planes() {
        let powers = &kernel.by.powers[c];
        for (at, to) in tables.powers.iter_mut().enumerate() {
            *to = powers[SIDE * (at % SIDE) + at / SIDE];
        }
        plane(simd, &tables, kernel, job, c);
    }
}

/// One component of a band of rows.
#[inline(always)]
fn plane<S: Simd>(simd: S, tables: &Tables, kernel: &Wiener, job: &mut Job<'_>, c: usize) {
    let first = job.reads[0].clone();
    let planes = job.writes[0].planes();
    let (noisy, estimate, variance) = match kernel.joined {
        true => (
            first.plane(planes + c),
            first.plane(c),
            Some(first.plane(2 * planes + c)),
        ),
        false => (first.plane(c), job.reads[1].clone().plane(c), None),
    };
    let Size { width, height } = first.size();
    let size = (width as i32, height as i32);
    let Settings {
        step, chessboard, ..
    } = kernel.by;
    let pitch = pitch(width);
    let (sums, rest) = job.scratch.split_at_mut(SIDE * pitch);
    let weights = &mut rest[..SIDE * pitch];
    sums.fill(0.0);
    weights.fill(0.0);
    let before = SIDE - step;
    let (mut own, mut expected, mut copy) = ([0.0; AREA], [0.0; AREA], [0.0; AREA]);
    // Starts with the row of blocks that reaches the first row; the upper rows of each are then complete.
    for line in job.rows.start / step..(job.rows.end + before).div_ceil(step) {
        let y = (line * step) as i32 - before as i32;
        // All blocks, or every second in a checkerboard pattern.
        let (start, stride) = if chessboard { (line % 2, 2) } else { (0, 1) };
        for column in (start..(width + before).div_ceil(step)).step_by(stride) {
            let x = (column * step) as i32 - before as i32;
            let (from, by) = part::<SIDE, _>(noisy, size, (x, y), &mut copy);
            forward(simd, &tables.cosines, from, by, &mut own);
            let level = match variance {
                None => 1.0,
                Some(variance) => {
                    let (from, by) = part::<SIDE, _>(variance, size, (x, y), &mut copy);
                    mean(simd, from, by)
                }
            };
            let (from, by) = part::<SIDE, _>(estimate, size, (x, y), &mut copy);
            forward(simd, &tables.cosines, from, by, &mut expected);
            let share = filter(simd, &mut own, &expected, &tables.powers, level);
            inverse(simd, &tables.cosines, &mut own);
            let share = f32x16::splat(simd, share);
            for j in 0..SIDE {
                let at = j * pitch + column * step;
                let w = share * row(simd, &tables.window, j);
                let sum = f32x16::from_slice(simd, &sums[at..at + SIDE]);
                let sum = row(simd, &own, j).mul_add(w, sum);
                sum.store_slice(&mut sums[at..at + SIDE]);
                let weight = f32x16::from_slice(simd, &weights[at..at + SIDE]);
                (weight + w).store_slice(&mut weights[at..at + SIDE]);
            }
        }
        for j in 0..step {
            let at = y + j as i32;
            if at < job.rows.start as i32 || at >= job.rows.end as i32 {
                continue;
            }
            let from = j * pitch + before;
            let values = (sums[from..from + width].iter()).zip(&weights[from..from + width]);
            for (to, (sum, weight)) in job.writes[0].row(c, at as usize).iter_mut().zip(values) {
                *to = sum / weight;
            }
        }
        for list in [&mut *sums, &mut *weights] {
            list.copy_within(step * pitch.., 0);
            list[(SIDE - step) * pitch..].fill(0.0);
        }
    }
}

#[inline(always)]
fn row<S: Simd>(simd: S, block: &Block, j: usize) -> f32x16<S> {
    f32x16::from_slice(simd, &block[SIDE * j..SIDE * (j + 1)])
}

#[inline(always)]
fn put<S: Simd>(block: &mut Block, j: usize, values: f32x16<S>) {
    values.store_slice(&mut block[SIDE * j..SIDE * (j + 1)]);
}

#[inline(always)]
fn mean<S: Simd>(simd: S, from: &[f32], pitch: usize) -> f32 {
    let mut sum = f32x16::splat(simd, 0.0);
    for j in 0..SIDE {
        sum += f32x16::from_slice(simd, &from[j * pitch..][..SIDE]);
    }
    sum.reduce_sum() / AREA as f32
}

/// Attenuates the noise of each frequency; returns the weight of the block.
#[inline(always)]
fn filter<S: Simd>(simd: S, own: &mut Block, expected: &Block, powers: &Block, level: f32) -> f32 {
    let level = f32x16::splat(simd, level);
    let mut left = f32x16::splat(simd, 0.0);
    for j in 0..SIDE {
        let noise = row(simd, powers, j) * level;
        let e = row(simd, expected, j);
        let square = e * e;
        let factor = square / (square + noise);
        left = (factor * factor).mul_add(noise, left);
        put(own, j, factor * row(simd, own, j));
    }
    1.0 / (left.reduce_sum() / AREA as f32 + 1e-4)
}

/// The transform of a block with rows `pitch` apart, transposed.
#[inline(always)]
fn forward<S: Simd>(simd: S, cosines: &Block, from: &[f32], pitch: usize, made: &mut Block) {
    let mut rows = [f32x16::splat(simd, 0.0); SIDE];
    for j in 0..SIDE {
        rows[j] = f32x16::from_slice(simd, &from[j * pitch..][..SIDE]);
    }
    let rows = interleaved(along(simd, cosines, rows), TIMES);
    let rows = along(simd, cosines, rows);
    for j in 0..SIDE {
        put(made, j, rows[j]);
    }
}

/// The inverse of [`forward`], in place.
#[inline(always)]
fn inverse<S: Simd>(simd: S, cosines: &Block, block: &mut Block) {
    let mut rows = [f32x16::splat(simd, 0.0); SIDE];
    for l in 0..SIDE {
        rows[l] = row(simd, block, l);
    }
    let rows = interleaved(back(simd, cosines, rows), TIMES);
    let rows = back(simd, cosines, rows);
    for j in 0..SIDE {
        put(block, j, rows[j]);
    }
}
