//! Merging on the CPU: block after block, a row of a block in a vector.

use super::Merge;
use super::cpu::Clock;
use crate::Size;
use crate::definition::film::{AGAIN, APART, CELL, FIT, LAMBDA, STEP, WEIGHTS, cosine};
use crate::kernel::Job;
use crate::kernel::block::part;
use crate::noise::SIDE;
use crate::simd::dispatch;
use fearless_simd::{Simd, SimdBase, SimdFloat, f32x8};

/// Pixels, or frequencies, of a block.
const BLOCK: usize = SIDE * SIDE;
/// A block with what cubics between pixels need around it.
const WIDER: usize = SIDE + 3;
/// Maximum number of frames around the one that is made.
const MOST: usize = 16;

type Block = [f32; BLOCK];

/// Columns of the rows that blocks are added to, including those left and right of the image.
fn pitch(width: usize) -> usize {
    STEP + width.next_multiple_of(STEP) + SIDE
}

pub(super) fn scratch(size: Size) -> usize {
    4 * 3 * SIDE * pitch(size.width)
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
    forward: Block,
    /// The same, transposed.
    back: Block,
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
        let powers: [Block; PLANES] = std::array::from_fn(|c| kernel.step.powers[c]);
        Self {
            forward: std::array::from_fn(|at| cosine(at / SIDE, at % SIDE)),
            back: std::array::from_fn(|at| cosine(at % SIDE, at / SIDE)),
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
    let pitch = pitch(width);
    let scratch = &mut job.scratch[..4 * PLANES * SIDE * pitch];
    scratch.fill(0.0);
    // For each component: shrunk, merged, variances, weights.
    let list = SIDE * pitch;
    // Rows of blocks from the one that reaches the first row on; the upper half of each is then whole.
    let first = (job.rows.start / STEP * STEP) as i32 - STEP as i32;
    let mut y = first;
    while y < job.rows.end as i32 {
        let cell = |v: i32, n: usize| (v + SIDE as i32 / 2).clamp(0, n as i32 - 1) as usize / CELL;
        let cell_y = cell(y, height);
        for column in 0..(width + STEP).div_ceil(STEP) {
            let x = (column * STEP) as i32 - STEP as i32;
            let cell_x = cell(x, width);
            let mut merged = Merged::new(simd, &tables, &centre, size, (x, y));
            for other in &others[..count] {
                let vector = [2 * other.number, 2 * other.number + 1]
                    .map(|plane| vectors.row(plane, cell_y)[cell_x] as i32);
                merged.add(simd, &tables, &other.planes, size, vector);
            }
            for c in 0..PLANES {
                let made = merged.made(simd, &tables, c);
                let share = f32x8::splat(simd, made.share);
                let variance = f32x8::splat(simd, made.variance);
                let sums = &mut scratch[4 * c * list..4 * (c + 1) * list];
                for j in 0..SIDE {
                    let w = share * row(simd, &tables.window, j);
                    let at = j * pitch + column * STEP;
                    add(
                        simd,
                        &mut sums[at..at + SIDE],
                        w * row(simd, &made.shrunk, j),
                    );
                    let at = at + list;
                    add(
                        simd,
                        &mut sums[at..at + SIDE],
                        w * row(simd, &made.merged, j),
                    );
                    let at = at + list;
                    add(simd, &mut sums[at..at + SIDE], w * variance);
                    let at = at + list;
                    add(simd, &mut sums[at..at + SIDE], w);
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
                    let from = (4 * c + part) * list + row * pitch + STEP;
                    &scratch[from..from + width]
                };
                let weights = from(3);
                for part in 0..3 {
                    let sums = from(part);
                    let to = &mut job.writes[0].row(part * PLANES + c, at as usize)[..width];
                    for x in 0..width {
                        to[x] = sums[x] / weights[x];
                    }
                }
            }
        }
        for rows in scratch.chunks_exact_mut(list) {
            rows.copy_within(STEP * pitch.., 0);
            rows[(SIDE - STEP) * pitch..].fill(0.0);
        }
        y += STEP as i32;
    }
}

#[inline(always)]
fn row<S: Simd>(simd: S, block: &Block, j: usize) -> f32x8<S> {
    f32x8::from_slice(simd, &block[SIDE * j..SIDE * (j + 1)])
}

#[inline(always)]
fn add<S: Simd>(simd: S, to: &mut [f32], values: f32x8<S>) {
    (f32x8::from_slice(simd, to) + values).store_slice(to);
}

/// A block of a component.
struct Made {
    shrunk: Block,
    merged: Block,
    /// The variance that is left in what was merged, relative to that of one frame.
    variance: f32,
    share: f32,
}

/// A block of all components with what was merged so far.
struct Merged<const PLANES: usize> {
    place: (i32, i32),
    own: [Block; PLANES],
    sums: [Block; PLANES],
    weights: [Block; PLANES],
    squares: [Block; PLANES],
}

impl<const PLANES: usize> Merged<PLANES> {
    #[inline(always)]
    fn new<S: Simd>(
        simd: S,
        tables: &Tables<PLANES>,
        planes: &[&[f32]; PLANES],
        size: (i32, i32),
        place: (i32, i32),
    ) -> Self {
        let mut own = [[0.0; BLOCK]; PLANES];
        for c in 0..PLANES {
            own[c] = spectrum(simd, tables, planes[c], size, place, [0; 2]);
        }
        Self {
            place,
            own,
            sums: own,
            weights: [[1.0; BLOCK]; PLANES],
            squares: [[1.0; BLOCK]; PLANES],
        }
    }

    #[inline(always)]
    fn add<S: Simd>(
        &mut self,
        simd: S,
        tables: &Tables<PLANES>,
        planes: &[&[f32]; PLANES],
        size: (i32, i32),
        vector: [i32; 2],
    ) {
        let mut there = [[0.0; BLOCK]; PLANES];
        // Squares of the differences, relative to the power of the noise.
        let mut apart = [[0.0f32; BLOCK]; PLANES];
        let mut differs = 0.0;
        for c in 0..PLANES {
            there[c] = spectrum(simd, tables, planes[c], size, self.place, vector);
            let mut sums = f32x8::splat(simd, 0.0);
            for j in 0..SIDE {
                let difference = row(simd, &there[c], j) - row(simd, &self.own[c], j);
                let square = difference * difference * row(simd, &tables.inverse[c], j);
                square.store_slice(&mut apart[c][SIDE * j..SIDE * (j + 1)]);
                sums += square;
            }
            differs += tables.counts[c] * (total(sums) - apart[c][0]);
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
        let zero = f32x8::splat(simd, 0.0);
        let one = f32x8::splat(simd, 1.0);
        let two = f32x8::splat(simd, 2.0);
        let (fit, apart_by) = (f32x8::splat(simd, fit), f32x8::splat(simd, 1.0 / APART));
        for c in 0..PLANES {
            for j in 0..SIDE {
                let at = SIDE * j..SIDE * (j + 1);
                let beyond = (row(simd, &apart[c], j) - two).max(zero);
                let weight = fit / (one + beyond * apart_by);
                add(
                    simd,
                    &mut self.sums[c][at.clone()],
                    weight * row(simd, &there[c], j),
                );
                add(simd, &mut self.weights[c][at.clone()], weight);
                add(simd, &mut self.squares[c][at], weight * weight);
            }
        }
    }

    /// A component's block without the noise, and as it was merged.
    #[inline(always)]
    fn made<S: Simd>(&self, simd: S, tables: &Tables<PLANES>, c: usize) -> Made {
        let (mut kept, mut merged) = ([0.0; BLOCK], [0.0; BLOCK]);
        let zero = f32x8::splat(simd, 0.0);
        let one = f32x8::splat(simd, 1.0);
        let least = f32x8::splat(simd, 1e-12);
        let (mut left, mut variances) = (zero, zero);
        for j in 0..SIDE {
            let at = SIDE * j..SIDE * (j + 1);
            let over = one / row(simd, &self.weights[c], j);
            let value = row(simd, &self.sums[c], j) * over;
            let variance =
                row(simd, &tables.powers[c], j) * row(simd, &self.squares[c], j) * over * over;
            // The mean of the block is not changed.
            let looked = row(simd, &tables.looked, j);
            let share = looked * variance / (value * value + least);
            let factor = (one - share * share).max(zero);
            (factor * value).store_slice(&mut kept[at.clone()]);
            value.store_slice(&mut merged[at]);
            left = (factor * factor).mul_add(variance, left);
            variances += variance;
        }
        Made {
            shrunk: inverse(simd, tables, &kept),
            merged: inverse(simd, tables, &merged),
            variance: total(variances) * tables.over[c],
            share: 1.0 / (total(left) / BLOCK as f32 + 1e-4),
        }
    }
}

/// The block of a plane at a place, transformed.
#[inline(always)]
fn spectrum<S: Simd, const PLANES: usize>(
    simd: S,
    tables: &Tables<PLANES>,
    plane: &[f32],
    size: (i32, i32),
    (x, y): (i32, i32),
    [vx, vy]: [i32; 2],
) -> Block {
    let (x, y) = (x + (vx >> 1), y + (vy >> 1));
    let mut copy = [0.0; WIDER * WIDER];
    if (vx | vy) & 1 == 0 {
        let (from, pitch) = part::<SIDE, _>(plane, size, (x, y), &mut copy);
        return forward(simd, tables, from, pitch);
    }
    let (from, pitch) = part::<WIDER, _>(plane, size, (x - 1, y - 1), &mut copy);
    let block = between(simd, from, pitch, [vx & 1 == 1, vy & 1 == 1]);
    forward(simd, tables, &block, SIDE)
}

/// A block between pixels, from one that starts a pixel earlier.
#[inline(always)]
fn between<S: Simd>(simd: S, from: &[f32], pitch: usize, [along_x, along_y]: [bool; 2]) -> Block {
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
    let mut block = [0.0; BLOCK];
    for j in 0..SIDE {
        let mut made = rows[j + 1];
        if along_y {
            made = near * (rows[j + 1] + rows[j + 2]) - far * (rows[j] + rows[j + 3]);
        }
        made.store_slice(&mut block[SIDE * j..SIDE * (j + 1)]);
    }
    block
}

/// The transform of a block whose rows are `pitch` apart.
#[inline(always)]
fn forward<S: Simd, const PLANES: usize>(
    simd: S,
    tables: &Tables<PLANES>,
    from: &[f32],
    pitch: usize,
) -> Block {
    // Loops rather than closures, which would be calls. Rows and their mirror images share the products.
    let zero = f32x8::splat(simd, 0.0);
    let (mut even, mut odd) = ([zero; SIDE / 2], [zero; SIDE / 2]);
    for j in 0..SIDE / 2 {
        let upper = f32x8::from_slice(simd, &from[j * pitch..][..SIDE]);
        let lower = f32x8::from_slice(simd, &from[(SIDE - 1 - j) * pitch..][..SIDE]);
        (even[j], odd[j]) = (upper + lower, upper - lower);
    }
    let mut columns = [0.0; BLOCK];
    for l in 0..SIDE {
        let rows = if l % 2 == 0 { &even } else { &odd };
        let mut sum = rows[0] * f32x8::splat(simd, tables.forward[SIDE * l]);
        for j in 1..SIDE / 2 {
            sum = rows[j].mul_add(f32x8::splat(simd, tables.forward[SIDE * l + j]), sum);
        }
        sum.store_slice(&mut columns[SIDE * l..][..SIDE]);
    }
    along_rows(simd, &tables.back, &columns)
}

/// The inverse of [`forward`].
#[inline(always)]
fn inverse<S: Simd, const PLANES: usize>(simd: S, tables: &Tables<PLANES>, block: &Block) -> Block {
    let zero = f32x8::splat(simd, 0.0);
    let mut rows = [zero; SIDE];
    for l in 0..SIDE {
        rows[l] = f32x8::from_slice(simd, &block[SIDE * l..][..SIDE]);
    }
    let mut columns = [0.0; BLOCK];
    for j in 0..SIDE / 2 {
        let entry = |l: usize| f32x8::splat(simd, tables.forward[SIDE * l + j]);
        let (mut even, mut odd) = (rows[0] * entry(0), rows[1] * entry(1));
        for l in 1..SIDE / 2 {
            even = rows[2 * l].mul_add(entry(2 * l), even);
            odd = rows[2 * l + 1].mul_add(entry(2 * l + 1), odd);
        }
        (even + odd).store_slice(&mut columns[SIDE * j..][..SIDE]);
        (even - odd).store_slice(&mut columns[SIDE * (SIDE - 1 - j)..][..SIDE]);
    }
    along_rows(simd, &tables.forward, &columns)
}

/// Each row times a matrix.
#[inline(always)]
fn along_rows<S: Simd>(simd: S, matrix: &Block, block: &Block) -> Block {
    let zero = f32x8::splat(simd, 0.0);
    let mut across = [zero; SIDE];
    for i in 0..SIDE {
        across[i] = f32x8::from_slice(simd, &matrix[SIDE * i..][..SIDE]);
    }
    let mut made = [0.0; BLOCK];
    for j in 0..SIDE {
        let mut sum = across[0] * f32x8::splat(simd, block[SIDE * j]);
        for i in 1..SIDE {
            sum = across[i].mul_add(f32x8::splat(simd, block[SIDE * j + i]), sum);
        }
        sum.store_slice(&mut made[SIDE * j..][..SIDE]);
    }
    made
}

/// The sum of a vector.
#[inline(always)]
fn total<S: Simd>(vector: f32x8<S>) -> f32 {
    let mut list = [0.0; SIDE];
    vector.store_slice(&mut list);
    let mut sum = 0.0;
    for v in list {
        sum += v;
    }
    sum
}
