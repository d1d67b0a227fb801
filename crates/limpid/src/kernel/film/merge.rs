//! Merging on the CPU: block after block, a row of a block in a vector.

use super::Merge;
use super::cpu::Clock;
use crate::Size;
use crate::definition::film::{AGAIN, APART, CELL, FIT, LAMBDA, STEP, WEIGHTS, cosine};
use crate::kernel::Job;
use crate::kernel::block::{expect, part};
use crate::noise::SIDE;
use crate::simd::dispatch;
use fearless_simd::{Simd, SimdBase, SimdFloat, f32x8};

/// Pixels, or frequencies, of a block.
const BLOCK: usize = SIDE * SIDE;
/// A block with what cubics between pixels need around it.
const WIDER: usize = SIDE + 3;
/// How many columns before they are needed the next rows of the frames are asked for, and which rows.
const AHEAD: i32 = 3 * SIDE as i32;
const NEW: std::ops::Range<i32> = 5..10;
/// Maximum number of frames around the one that is made.
const MOST: usize = 16;

type Block = [f32; BLOCK];

/// Columns that are made at a time: the rows of all frames around a block stay in the cache from one row of blocks to the next.
const STRIP: usize = 384;
/// Columns of the rows that blocks are added to, including those left and right of the strip.
const PITCH: usize = STEP + STRIP + SIDE;
/// One list of sums.
const LIST: usize = SIDE * PITCH;

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

/// Numbers that are the same for all blocks.
struct Tables<const PLANES: usize> {
    /// Row `k` has the cosines of frequency `k`.
    cosines: Block,
    window: Block,
    /// λ² but for the mean of the block, 0 there.
    looked: Block,
    powers: [Block; PLANES],
    inverse: [Block; PLANES],
    /// What differences over noise count for, in whether a frame fits.
    counts: [f32; PLANES],
    /// One over the sums of the powers.
    over: [f32; PLANES],
}

impl<const PLANES: usize> Tables<PLANES> {
    fn new(kernel: &Merge) -> Self {
        let weight = |i: usize| WEIGHTS[i.min(SIDE - 1 - i)];
        // Transposed, as the blocks' transforms are.
        let powers: [Block; PLANES] = std::array::from_fn(|c| {
            let powers = &kernel.step.powers[c];
            std::array::from_fn(|at| powers[SIDE * (at % SIDE) + at / SIDE])
        });
        Self {
            cosines: std::array::from_fn(|at| cosine(at / SIDE, at % SIDE)),
            window: std::array::from_fn(|at| weight(at / SIDE) * weight(at % SIDE)),
            looked: std::array::from_fn(|k| if k == 0 { 0.0 } else { LAMBDA * LAMBDA }),
            powers,
            inverse: powers.map(|p| p.map(|p| 1.0 / p)),
            counts: std::array::from_fn(|c| {
                let share = match (PLANES, c) {
                    (1, _) => 1.0,
                    (_, 0) => 0.5,
                    _ => 0.25,
                };
                share * kernel.step.stronger[c].powi(2) / (2.0 * (BLOCK - 1) as f32)
            }),
            over: powers.map(|p| 1.0 / p.iter().sum::<f32>()),
        }
    }
}

/// Where a frame's planes are, and its motion.
#[derive(Clone, Copy)]
struct Other<'a, const PLANES: usize> {
    planes: [&'a [f32]; PLANES],
    /// Which of the frames around it is.
    number: usize,
}

#[inline(always)]
fn band<S: Simd, const PLANES: usize>(simd: S, kernel: &Merge, job: &mut Job<'_>) {
    let tables = Tables::<PLANES>::new(kernel);
    let ring = job.reads[0].clone();
    let clock = Clock::of(&job.reads[1]);
    let vectors = job.reads[2].clone();
    let Size { width, height } = ring.size();
    let planes = |place: usize| std::array::from_fn(|c| ring.plane(place * PLANES + c));
    let centre: [&[f32]; PLANES] = planes(clock.centre(kernel.reel));
    let mut others = [Other {
        planes: centre,
        number: 0,
    }; MOST];
    let mut count = 0;
    for (number, place) in clock.around(kernel.reel).enumerate().take(MOST) {
        if let Some(place) = place {
            let planes = planes(place);
            others[count] = Other { planes, number };
            count += 1;
        }
    }
    let size = (width as i32, height as i32);
    let scratch = &mut job.scratch[..4 * PLANES * LIST];
    let mut work = Work::<PLANES>::new();
    let mut over = [0.0; STRIP];
    let cell = |v: i32, n: usize| (v + SIDE as i32 / 2).clamp(0, n as i32 - 1) as usize / CELL;
    for strip in (0..width).step_by(STRIP) {
        let columns = strip..(strip + STRIP).min(width);
        // For each component: shrunk, merged, variances, weights.
        scratch.fill(0.0);
        // Rows of blocks from the one that reaches the first row on; the upper half of each is then whole.
        for line in job.rows.start / STEP..(job.rows.end + STEP).div_ceil(STEP) {
            let y = (STEP * line) as i32 - STEP as i32;
            let cell_y = cell(y, height);
            // Every second place, as on a chessboard.
            let first = strip / STEP;
            let first = first + (first + line) % 2;
            for column in (first..(columns.end + STEP).div_ceil(STEP)).step_by(2) {
                let x = (column * STEP) as i32 - STEP as i32;
                let cell_x = cell(x, width);
                // Blocks of this row that come soon have new rows of each frame, too many for the processor to foresee.
                let soon = (column % 4 < 2).then(|| x + AHEAD);
                if let Some(soon) = soon {
                    for c in 0..PLANES {
                        expect(centre[c], size, (soon, y), NEW);
                    }
                }
                work.begin(simd, &tables, &centre, size, (x, y));
                for other in &others[..count] {
                    let along_x = vectors.row(2 * other.number, cell_y);
                    let along_y = vectors.row(2 * other.number + 1, cell_y);
                    if let Some(soon) = soon {
                        let cell = cell(soon, width);
                        let (vx, vy) = (along_x[cell] as i32, along_y[cell] as i32);
                        for c in 0..PLANES {
                            let place = (soon + (vx >> 1), y + (vy >> 1));
                            expect(other.planes[c], size, place, NEW);
                        }
                    }
                    let (vx, vy) = (along_x[cell_x] as i32, along_y[cell_x] as i32);
                    work.add(simd, &tables, &other.planes, size, (x, y), [vx, vy]);
                }
                for c in 0..PLANES {
                    let (share, variance) = work.made(simd, &tables, c);
                    let share = f32x8::splat(simd, share);
                    let variance = f32x8::splat(simd, variance);
                    let sums = &mut scratch[4 * c * LIST..4 * (c + 1) * LIST];
                    let (shrunk, sums) = sums.split_at_mut(LIST);
                    let (merged, sums) = sums.split_at_mut(LIST);
                    let (variances, weights) = sums.split_at_mut(LIST);
                    for j in 0..SIDE {
                        let w = share * row(simd, &tables.window, j);
                        let at = j * PITCH + column * STEP - strip;
                        let at = at..at + SIDE;
                        add(simd, &mut shrunk[at.clone()], w, row(simd, &work.shrunk, j));
                        add(simd, &mut merged[at.clone()], w, row(simd, &work.merged, j));
                        add(simd, &mut variances[at.clone()], w, variance);
                        let to = &mut weights[at];
                        (f32x8::from_slice(simd, to) + w).store_slice(to);
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

#[inline(always)]
fn row<S: Simd>(simd: S, block: &Block, j: usize) -> f32x8<S> {
    f32x8::from_slice(simd, &block[SIDE * j..SIDE * (j + 1)])
}

#[inline(always)]
fn put<S: Simd>(block: &mut Block, j: usize, values: f32x8<S>) {
    values.store_slice(&mut block[SIDE * j..SIDE * (j + 1)]);
}

/// Adds a product.
#[inline(always)]
fn add<S: Simd>(simd: S, to: &mut [f32], a: f32x8<S>, b: f32x8<S>) {
    a.mul_add(b, f32x8::from_slice(simd, to)).store_slice(to);
}

/// One block of all components: the sums over frames so far, for each frequency, and what is made of them. It is kept from block to
/// block, so that nothing is cleared in vain.
struct Work<const PLANES: usize> {
    own: [Block; PLANES],
    sums: [Block; PLANES],
    weights: [Block; PLANES],
    squares: [Block; PLANES],
    /// Of the frame that is added.
    there: [Block; PLANES],
    /// Squares of its differences, relative to the power of the noise.
    apart: [Block; PLANES],
    shrunk: Block,
    merged: Block,
    copy: [f32; WIDER * WIDER],
}

impl<const PLANES: usize> Work<PLANES> {
    fn new() -> Self {
        let blocks = [[0.0; BLOCK]; PLANES];
        Self {
            own: blocks,
            sums: blocks,
            weights: blocks,
            squares: blocks,
            there: blocks,
            apart: blocks,
            shrunk: [0.0; BLOCK],
            merged: [0.0; BLOCK],
            copy: [0.0; WIDER * WIDER],
        }
    }

    #[inline(always)]
    fn begin<S: Simd>(
        &mut self,
        simd: S,
        tables: &Tables<PLANES>,
        planes: &[&[f32]; PLANES],
        size: (i32, i32),
        place: (i32, i32),
    ) {
        let one = f32x8::splat(simd, 1.0);
        for c in 0..PLANES {
            let (own, copy) = (&mut self.own[c], &mut self.copy);
            spectrum(simd, tables, (planes[c], size), (place, [0; 2]), copy, own);
            for j in 0..SIDE {
                put(&mut self.sums[c], j, row(simd, &self.own[c], j));
                put(&mut self.weights[c], j, one);
                put(&mut self.squares[c], j, one);
            }
        }
    }

    #[inline(always)]
    fn add<S: Simd>(
        &mut self,
        simd: S,
        tables: &Tables<PLANES>,
        planes: &[&[f32]; PLANES],
        size: (i32, i32),
        place: (i32, i32),
        vector: [i32; 2],
    ) {
        let mut differs = 0.0;
        for c in 0..PLANES {
            let (there, copy) = (&mut self.there[c], &mut self.copy);
            spectrum(
                simd,
                tables,
                (planes[c], size),
                (place, vector),
                copy,
                there,
            );
            let mut sums = f32x8::splat(simd, 0.0);
            for j in 0..SIDE {
                let difference = row(simd, there, j) - row(simd, &self.own[c], j);
                let square = difference * difference * row(simd, &tables.inverse[c], j);
                put(&mut self.apart[c], j, square);
                sums += square;
            }
            differs += tables.counts[c] * (sums.reduce_sum() - self.apart[c][0]);
            // The other components only add to it.
            if differs >= FIT[1] {
                return;
            }
        }
        let near = ((FIT[1] - differs) / (FIT[1] - FIT[0])).clamp(0.0, 1.0);
        let again = ((differs - AGAIN[0]) / (AGAIN[1] - AGAIN[0])).clamp(0.0, 1.0);
        let fit = near * again;
        if fit == 0.0 {
            return;
        }
        let (fit, apart_by) = (f32x8::splat(simd, APART * fit), f32x8::splat(simd, APART));
        let two = f32x8::splat(simd, 2.0);
        let zero = f32x8::splat(simd, 0.0);
        for c in 0..PLANES {
            for j in 0..SIDE {
                let beyond = (row(simd, &self.apart[c], j) - two).max(zero);
                let weight = fit / (apart_by + beyond);
                let sum = weight.mul_add(row(simd, &self.there[c], j), row(simd, &self.sums[c], j));
                put(&mut self.sums[c], j, sum);
                let weights = weight + row(simd, &self.weights[c], j);
                put(&mut self.weights[c], j, weights);
                let squares = weight.mul_add(weight, row(simd, &self.squares[c], j));
                put(&mut self.squares[c], j, squares);
            }
        }
    }

    /// A component's block without the noise, and as it was merged. Gives its weight and the variance that is left in what was
    /// merged, relative to that of one frame.
    #[inline(always)]
    fn made<S: Simd>(&mut self, simd: S, tables: &Tables<PLANES>, c: usize) -> (f32, f32) {
        let zero = f32x8::splat(simd, 0.0);
        let one = f32x8::splat(simd, 1.0);
        let least = f32x8::splat(simd, 1e-12);
        let (mut left, mut variances) = (zero, zero);
        // No frame is read any more: these are free.
        let [kept, merged] = [&mut self.there[c], &mut self.apart[c]];
        for j in 0..SIDE {
            let over = one / row(simd, &self.weights[c], j);
            let value = row(simd, &self.sums[c], j) * over;
            let variance =
                row(simd, &tables.powers[c], j) * row(simd, &self.squares[c], j) * over * over;
            // The mean of the block is not changed.
            let looked = row(simd, &tables.looked, j);
            let share = looked * variance / value.mul_add(value, least);
            let factor = (one - share * share).max(zero);
            put(kept, j, factor * value);
            put(merged, j, value);
            left = (factor * factor).mul_add(variance, left);
            variances += variance;
        }
        inverse(simd, tables, kept, &mut self.shrunk);
        inverse(simd, tables, merged, &mut self.merged);
        let share = 1.0 / (left.reduce_sum() / BLOCK as f32 + 1e-4);
        (share, variances.reduce_sum() * tables.over[c])
    }
}

/// The block of a plane at a place, moved, transformed.
#[inline(always)]
fn spectrum<S: Simd, const PLANES: usize>(
    simd: S,
    tables: &Tables<PLANES>,
    (plane, size): (&[f32], (i32, i32)),
    ((x, y), [vx, vy]): ((i32, i32), [i32; 2]),
    copy: &mut [f32; WIDER * WIDER],
    made: &mut Block,
) {
    let (x, y) = (x + (vx >> 1), y + (vy >> 1));
    if (vx | vy) & 1 == 0 {
        let (from, pitch) = part::<SIDE, _>(plane, size, (x, y), copy);
        return forward(simd, tables, from, pitch, made);
    }
    let (from, pitch) = part::<WIDER, _>(plane, size, (x - 1, y - 1), copy);
    let mut block = [0.0; BLOCK];
    between(simd, from, pitch, [vx & 1 == 1, vy & 1 == 1], &mut block);
    forward(simd, tables, &block, SIDE, made);
}

/// A block between pixels, from one that starts a pixel earlier.
#[inline(always)]
fn between<S: Simd>(
    simd: S,
    from: &[f32],
    pitch: usize,
    [along_x, along_y]: [bool; 2],
    block: &mut Block,
) {
    let near = f32x8::splat(simd, 0.5625);
    let far = f32x8::splat(simd, 0.0625);
    let mut rows = [f32x8::splat(simd, 0.0); WIDER];
    for j in 0..WIDER {
        let row = &from[j * pitch..][..WIDER];
        let b = f32x8::from_slice(simd, &row[1..1 + SIDE]);
        rows[j] = b;
        if along_x {
            let a = f32x8::from_slice(simd, &row[..SIDE]);
            let c = f32x8::from_slice(simd, &row[2..2 + SIDE]);
            let d = f32x8::from_slice(simd, &row[3..3 + SIDE]);
            rows[j] = near * (b + c) - far * (a + d);
        }
    }
    for j in 0..SIDE {
        let mut made = rows[j + 1];
        if along_y {
            made = near * (rows[j + 1] + rows[j + 2]) - far * (rows[j] + rows[j + 3]);
        }
        put(block, j, made);
    }
}

/// The transform of a block whose rows are `pitch` apart, transposed: transforms along columns, for which nothing crosses the
/// vectors, before and after its rows become columns.
#[inline(always)]
fn forward<S: Simd, const PLANES: usize>(
    simd: S,
    tables: &Tables<PLANES>,
    from: &[f32],
    pitch: usize,
    made: &mut Block,
) {
    // Loops rather than closures, which would be calls.
    let mut rows = [f32x8::splat(simd, 0.0); SIDE];
    for j in 0..SIDE {
        rows[j] = f32x8::from_slice(simd, &from[j * pitch..][..SIDE]);
    }
    let rows = transposed(along(simd, &tables.cosines, rows));
    let rows = along(simd, &tables.cosines, rows);
    for j in 0..SIDE {
        put(made, j, rows[j]);
    }
}

/// The inverse of [`forward`].
#[inline(always)]
fn inverse<S: Simd, const PLANES: usize>(
    simd: S,
    tables: &Tables<PLANES>,
    block: &Block,
    made: &mut Block,
) {
    let mut rows = [f32x8::splat(simd, 0.0); SIDE];
    for l in 0..SIDE {
        rows[l] = row(simd, block, l);
    }
    let rows = transposed(back(simd, &tables.cosines, rows));
    let rows = back(simd, &tables.cosines, rows);
    for j in 0..SIDE {
        put(made, j, rows[j]);
    }
}

/// The transform along columns. Rows and their mirror images share the products.
#[inline(always)]
fn along<S: Simd>(simd: S, cosines: &Block, rows: [f32x8<S>; SIDE]) -> [f32x8<S>; SIDE] {
    let zero = f32x8::splat(simd, 0.0);
    let (mut even, mut odd) = ([zero; SIDE / 2], [zero; SIDE / 2]);
    for j in 0..SIDE / 2 {
        (even[j], odd[j]) = (rows[j] + rows[SIDE - 1 - j], rows[j] - rows[SIDE - 1 - j]);
    }
    let mut made = [zero; SIDE];
    for l in 0..SIDE {
        let rows = if l % 2 == 0 { &even } else { &odd };
        made[l] = rows[0] * f32x8::splat(simd, cosines[SIDE * l]);
        for j in 1..SIDE / 2 {
            made[l] = rows[j].mul_add(f32x8::splat(simd, cosines[SIDE * l + j]), made[l]);
        }
    }
    made
}

/// The inverse of [`along`].
#[inline(always)]
fn back<S: Simd>(simd: S, cosines: &Block, rows: [f32x8<S>; SIDE]) -> [f32x8<S>; SIDE] {
    let mut made = [f32x8::splat(simd, 0.0); SIDE];
    for j in 0..SIDE / 2 {
        let mut even = rows[0] * f32x8::splat(simd, cosines[j]);
        let mut odd = rows[1] * f32x8::splat(simd, cosines[SIDE + j]);
        for l in 1..SIDE / 2 {
            let at = 2 * l * SIDE + j;
            even = rows[2 * l].mul_add(f32x8::splat(simd, cosines[at]), even);
            odd = rows[2 * l + 1].mul_add(f32x8::splat(simd, cosines[at + SIDE]), odd);
        }
        made[j] = even + odd;
        made[SIDE - 1 - j] = even - odd;
    }
    made
}

/// Columns of rows: halves are interleaved three times.
#[inline(always)]
fn transposed<S: Simd>(mut rows: [f32x8<S>; SIDE]) -> [f32x8<S>; SIDE] {
    for _ in 0..3 {
        let from = rows;
        for i in 0..SIDE / 2 {
            rows[2 * i] = from[i].zip_low(from[SIDE / 2 + i]);
            rows[2 * i + 1] = from[i].zip_high(from[SIDE / 2 + i]);
        }
    }
    rows
}
