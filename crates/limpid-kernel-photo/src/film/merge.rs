//! Merging on the CPU: block after block, with a row of a block in a vector.

use super::Merge;
use super::cpu::Clock;
use super::merged::{BLOCK, COPY, MergedBlock, Place, Table, both, cosines};
use crate::block::prefetch_rows;
use fearless_simd::{Simd, SimdBase, SimdFloat, f32x8, f32x16};
use limpid_core::Size;
use limpid_core::simd::dispatch;
use limpid_plan::Job;
use limpid_reference::definition::film::{
    BLOCK_MATCH, CELL, COARSE_COUNT, COARSE_MATCH, DUPLICATE, STEP, WEIGHTS,
};
use limpid_reference::noise::SIDE;

/// Columns computed at a time: the rows of all frames around a block stay in the cache from one row of blocks to the next.
const STRIP: usize = 384;
/// Row stride of the accumulators, including the columns left and right of the strip.
const PITCH: usize = STEP + STRIP + SIDE;
/// Size of one accumulator.
const LIST: usize = SIDE * PITCH;
/// Prefetch distance in columns, and the rows to prefetch.
const AHEAD: i32 = 3 * SIDE as i32;
const NEW: std::ops::Range<i32> = 5..10;
/// Maximum number of frames around the output frame.
const MOST: usize = 16;

pub(super) fn scratch(_: Size) -> usize {
    4 * 3 * LIST
}

pub(super) fn merge(kernel: &Merge, job: &mut Job<'_>) {
    let level = job.level;
    match kernel.step.powers.len() {
        1 => dispatch!(level, simd => band::<_, 1>(simd, kernel, job)),
        _ => dispatch!(level, simd => band::<_, 3>(simd, kernel, job)),
    }
}

/// A frame's planes.
#[derive(Clone, Copy)]
struct SurroundingFrame<'a, const PLANES: usize> {
    planes: [&'a [f32]; PLANES],
    /// Its index among the surrounding frames.
    number: usize,
}

/// The tables of luminance and, if there is colour, of the two colour differences.
fn tables(kernel: &Merge) -> (Table<BLOCK>, Table<{ 2 * BLOCK }>) {
    let powers = &kernel.step.powers;
    let share = |c: usize| match (powers.len(), c) {
        (1, _) => 1.0,
        (_, 0) => 0.5,
        _ => 0.25,
    };
    let count = |c: usize| share(c) * kernel.step.stronger[c].powi(2) / (2.0 * (BLOCK - 1) as f32);
    let counts: Vec<f32> = (0..powers.len()).map(count).collect();
    let coarse = |c: usize| share(c) / (2 * COARSE_COUNT) as f32;
    let colors = powers.len().saturating_sub(2);
    let both = [powers[colors], powers[powers.len() - 1]];
    let last = counts.len() - 1;
    (
        Table::new(&powers[..1], &counts[..1], &[coarse(0)]),
        Table::new(
            &both,
            &[counts[colors.min(last)], counts[last]],
            &[coarse(colors.min(last)), coarse(last)],
        ),
    )
}

#[inline(always)]
fn band<S: Simd, const PLANES: usize>(simd: S, kernel: &Merge, job: &mut Job<'_>) {
    let (bright, color) = tables(kernel);
    let cosines = cosines();
    let edge = |i: usize| WEIGHTS[i.min(SIDE - 1 - i)];
    let window: [f32; BLOCK] = std::array::from_fn(|at| edge(at / SIDE) * edge(at % SIDE));
    let ring = job.reads[0].clone();
    let clock = Clock::of(&job.reads[1]);
    let vectors = job.reads[2].clone();
    let Size { width, height } = ring.size();
    let planes = |place: usize| std::array::from_fn(|c| ring.plane(place * PLANES + c));
    let centre: [&[f32]; PLANES] = planes(clock.centre(kernel.reel));
    let mut others = [SurroundingFrame {
        planes: centre,
        number: 0,
    }; MOST];
    let mut count = 0;
    let radius = kernel.step.radius;
    let near = clock.around(kernel.reel, radius).enumerate();
    for (number, place) in near.take(MOST) {
        if let Some(place) = place {
            let planes = planes(place);
            others[count] = SurroundingFrame { planes, number };
            count += 1;
        }
    }
    // Frames that are used where nothing moves.
    let (moving, mut all) = (count, count);
    for place in clock.beyond(kernel.reel, radius).take(MOST - count) {
        others[all].planes = planes(place);
        all += 1;
    }
    let size = (width as i32, height as i32);
    let scratch = &mut job.scratch[..4 * PLANES * LIST];
    let (mut luma, mut chroma) = (
        MergedBlock::<BLOCK>::new(),
        MergedBlock::<{ 2 * BLOCK }>::new(),
    );
    let (mut copy, mut over) = (COPY, [0.0; STRIP]);
    let cell = |v: i32, n: usize| (v + SIDE as i32 / 2).clamp(0, n as i32 - 1) as usize / CELL;
    for strip in (0..width).step_by(STRIP) {
        let columns = strip..(strip + STRIP).min(width);
        // Accumulators of each component: shrunk, merged, variances, weights.
        scratch.fill(0.0);
        // Starts with the row of blocks that reaches the first row; the upper half of each row of blocks is then complete.
        for line in job.rows.start / STEP..(job.rows.end + STEP).div_ceil(STEP) {
            let y = (STEP * line) as i32 - STEP as i32;
            let cell_y = cell(y, height);
            // Every second block, in a checkerboard pattern.
            let first = strip / STEP;
            let first = first + (first + line) % 2;
            for column in (first..(columns.end + STEP).div_ceil(STEP)).step_by(2) {
                let x = (column * STEP) as i32 - STEP as i32;
                let cell_x = cell(x, width);
                let at = |plane, vector| Place {
                    plane,
                    size,
                    corner: (x, y),
                    vector,
                };
                // The blocks ahead in this row read new rows of each frame: too many streams for the hardware prefetcher.
                let ahead_x = (column % 4 < 2).then_some(x + AHEAD);
                if let Some(ahead_x) = ahead_x {
                    for c in 0..PLANES {
                        prefetch_rows(centre[c], size, (ahead_x, y), NEW);
                    }
                }
                let rows = at(centre[0], [0; 2]).rows(simd, &mut copy);
                luma.begin(simd, &cosines, rows);
                if PLANES == 3 {
                    let a = at(centre[1], [0; 2]).rows(simd, &mut copy);
                    let b = at(centre[2], [0; 2]).rows(simd, &mut copy);
                    chroma.begin(simd, &cosines, both(a, b));
                }
                let mut still = true;
                for i in 0..all {
                    if i == moving && !still {
                        break;
                    }
                    let other = &others[i];
                    let mut vector = [0; 2];
                    if i < moving {
                        let along_x = vectors.row(2 * other.number, cell_y);
                        let along_y = vectors.row(2 * other.number + 1, cell_y);
                        if let Some(ahead_x) = ahead_x {
                            let cell = cell(ahead_x, width);
                            let (vx, vy) = (along_x[cell] as i32, along_y[cell] as i32);
                            let place = (ahead_x + (vx >> 1), y + (vy >> 1));
                            for c in 0..PLANES {
                                prefetch_rows(other.planes[c], size, place, NEW);
                            }
                        }
                        vector = [along_x[cell_x] as i32, along_y[cell_x] as i32];
                        still &= vector == [0; 2];
                    }
                    let rows = at(other.planes[0], vector).rows(simd, &mut copy);
                    let [mut differs, mut coarse] = luma.look(simd, &cosines, &bright, rows);
                    // The other components can only increase the differences.
                    if differs >= BLOCK_MATCH[1] || coarse >= COARSE_MATCH[1] {
                        continue;
                    }
                    if PLANES == 3 {
                        let a = at(other.planes[1], vector).rows(simd, &mut copy);
                        let b = at(other.planes[2], vector).rows(simd, &mut copy);
                        let more = chroma.look(simd, &cosines, &color, both(a, b));
                        differs += more[0];
                        coarse += more[1];
                    }
                    let again =
                        ((differs - DUPLICATE[0]) / (DUPLICATE[1] - DUPLICATE[0])).clamp(0.0, 1.0);
                    let fit = below(differs, BLOCK_MATCH) * again * below(coarse, COARSE_MATCH);
                    if fit > 0.0 {
                        luma.add::<S, f32x8<S>>(simd, fit);
                        if PLANES == 3 {
                            chroma.add::<S, f32x16<S>>(simd, fit);
                        }
                    }
                }
                let to = column * STEP - strip;
                luma.make::<S, f32x8<S>>(simd, &cosines, &bright);
                let sums = &mut scratch[..4 * LIST];
                gather(simd, &luma, 0, &window, sums, to);
                if PLANES == 3 {
                    chroma.make::<S, f32x16<S>>(simd, &cosines, &color);
                    for c in 0..2 {
                        let sums = &mut scratch[4 * (1 + c) * LIST..4 * (2 + c) * LIST];
                        gather(simd, &chroma, c, &window, sums, to);
                    }
                }
            }
            for row in 0..STEP {
                let at = y + row as i32;
                if at < job.rows.start as i32 || at >= job.rows.end as i32 {
                    continue;
                }
                for c in 0..PLANES {
                    let from = |part: usize| {
                        let from = (4 * c + part) * LIST + row * PITCH + STEP;
                        &scratch[from..from + columns.len()]
                    };
                    let over = &mut over[..columns.len()];
                    for (over, weight) in over.iter_mut().zip(from(3)) {
                        *over = 1.0 / weight;
                    }
                    for part in 0..3 {
                        let to = job.writes[0].row(part * PLANES + c, at as usize);
                        let values = from(part).iter().zip(&*over);
                        for (to, (sum, over)) in to[columns.clone()].iter_mut().zip(values) {
                            *to = sum * over;
                        }
                    }
                }
            }
            for rows in scratch.chunks_exact_mut(LIST) {
                rows.copy_within(STEP * PITCH.., 0);
                rows[(SIDE - STEP) * PITCH..].fill(0.0);
            }
        }
    }
}

/// The weight of a difference: 1 up to the first, 0 from the second on.
#[inline(always)]
fn below(value: f32, [full, none]: [f32; 2]) -> f32 {
    ((none - value) / (none - full)).clamp(0.0, 1.0)
}

/// Accumulates a component of a block into the sums of its pixels.
#[inline(always)]
fn gather<S: Simd, const SIZE: usize>(
    simd: S,
    made: &MergedBlock<SIZE>,
    c: usize,
    window: &[f32; BLOCK],
    sums: &mut [f32],
    to: usize,
) {
    let [share, variance] = made.shares[c];
    let share = f32x8::splat(simd, share);
    let variance = f32x8::splat(simd, variance);
    let (shrunk, sums) = sums.split_at_mut(LIST);
    let (merged, sums) = sums.split_at_mut(LIST);
    let (variances, weights) = sums.split_at_mut(LIST);
    for j in 0..SIDE {
        let w = share * f32x8::from_slice(simd, &window[SIDE * j..SIDE * (j + 1)]);
        let at = j * PITCH + to;
        let at = at..at + SIDE;
        let from = SIZE / SIDE * j + SIDE * c;
        let from = from..from + SIDE;
        let value = f32x8::from_slice(simd, &made.shrunk[from.clone()]);
        add(simd, &mut shrunk[at.clone()], w, value);
        let value = f32x8::from_slice(simd, &made.merged[from]);
        add(simd, &mut merged[at.clone()], w, value);
        add(simd, &mut variances[at.clone()], w, variance);
        let to = &mut weights[at];
        (f32x8::from_slice(simd, to) + w).store_slice(to);
    }
}

/// Accumulates a product.
#[inline(always)]
fn add<S: Simd>(simd: S, to: &mut [f32], a: f32x8<S>, b: f32x8<S>) {
    a.mul_add(b, f32x8::from_slice(simd, to)).store_slice(to);
}
