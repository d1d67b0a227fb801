//! Merging on the CPU: block after block, a row of a block in a vector.

use super::Merge;
use super::cpu::{Clock, part};
use crate::Size;
use crate::definition::film::{AGAIN, APART, CELL, FIT, LAMBDA, STEP, WEIGHTS, cosine};
use crate::kernel::Job;
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
    2 * 3 * SIDE * pitch(size.width)
}

pub(super) fn merge(kernel: &Merge, job: &mut Job<'_>) {
    let level = job.level;
    match job.writes[0].planes() {
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
    let (sums, rest) = job.scratch.split_at_mut(PLANES * SIDE * pitch);
    let weights = &mut rest[..PLANES * SIDE * pitch];
    sums.fill(0.0);
    weights.fill(0.0);
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
                let (values, share) = merged.shrunk(simd, &tables, c);
                for j in 0..SIDE {
                    let at = (c * SIDE + j) * pitch + column * STEP;
                    let (sums, weights) = (&mut sums[at..at + SIDE], &mut weights[at..at + SIDE]);
                    for i in 0..SIDE {
                        let w = share * tables.window[SIDE * j + i];
                        sums[i] += w * values[SIDE * j + i];
                        weights[i] += w;
                    }
                }
            }
        }
        for row in 0..STEP {
            let at = y + row as i32;
            if at < job.rows.start as i32 || at >= job.rows.end as i32 {
                continue;
            }
            for c in 0..PLANES {
                let from = (c * SIDE + row) * pitch + STEP;
                let (sums, weights) = (&sums[from..from + width], &weights[from..from + width]);
                for (x, to) in job.writes[0].row(c, at as usize).iter_mut().enumerate() {
                    *to = sums[x] / weights[x];
                }
            }
        }
        for plane in 0..PLANES {
            let rows = plane * SIDE * pitch..(plane + 1) * SIDE * pitch;
            for list in [&mut sums[rows.clone()], &mut weights[rows.clone()]] {
                list.copy_within(STEP * pitch.., 0);
                list[(SIDE - STEP) * pitch..].fill(0.0);
            }
        }
        y += STEP as i32;
    }
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
        let own = spectra(simd, tables, planes, size, place, [0; 2]);
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
        let there = spectra(simd, tables, planes, size, self.place, vector);
        // Squares of the differences, beside the power of the noise.
        let mut apart = [[0.0f32; BLOCK]; PLANES];
        let mut differs = 0.0;
        for c in 0..PLANES {
            let mut sums = [0.0f32; SIDE];
            for row in 0..SIDE {
                for column in 0..SIDE {
                    let k = SIDE * row + column;
                    let difference = there[c][k] - self.own[c][k];
                    apart[c][k] = difference * difference * tables.inverse[c][k];
                    sums[column] += apart[c][k];
                }
            }
            differs += tables.counts[c] * (sum(&sums) - apart[c][0]);
        }
        let near = ((FIT[1] - differs) / (FIT[1] - FIT[0])).clamp(0.0, 1.0);
        let again = ((differs - AGAIN[0]) / (AGAIN[1] - AGAIN[0])).clamp(0.0, 1.0);
        let fit = near * again;
        if fit == 0.0 {
            return;
        }
        for c in 0..PLANES {
            for k in 0..BLOCK {
                let weight = fit / (1.0 + (apart[c][k] - 2.0).max(0.0) * (1.0 / APART));
                self.sums[c][k] += weight * there[c][k];
                self.weights[c][k] += weight;
                self.squares[c][k] += weight * weight;
            }
        }
    }

    /// A component's block without the noise, and what it counts.
    #[inline(always)]
    fn shrunk<S: Simd>(&self, simd: S, tables: &Tables<PLANES>, c: usize) -> (Block, f32) {
        let mut kept = [0.0; BLOCK];
        let mut left = [0.0f32; SIDE];
        for row in 0..SIDE {
            for column in 0..SIDE {
                let k = SIDE * row + column;
                let one = 1.0 / self.weights[c][k];
                let value = self.sums[c][k] * one;
                let variance = tables.powers[c][k] * self.squares[c][k] * one * one;
                // No noise is looked for on average of the block.
                let looked = tables.looked[k];
                let share = looked * variance / (value * value + 1e-12);
                let factor = (1.0 - share * share).max(0.0);
                kept[k] = factor * value;
                left[column] += factor * factor * variance;
            }
        }
        let left = sum(&left);
        let weight = 1.0 / (left / BLOCK as f32 + 1e-4);
        (inverse(simd, tables, &kept), weight)
    }
}

/// The blocks of a frame at a place, transformed.
#[inline(always)]
fn spectra<S: Simd, const PLANES: usize>(
    simd: S,
    tables: &Tables<PLANES>,
    planes: &[&[f32]; PLANES],
    size: (i32, i32),
    (x, y): (i32, i32),
    [vx, vy]: [i32; 2],
) -> [Block; PLANES] {
    let (x, y) = (x + (vx >> 1), y + (vy >> 1));
    let mut made = [[0.0; BLOCK]; PLANES];
    for (plane, made) in planes.iter().zip(&mut made) {
        let mut copy = [0.0; WIDER * WIDER];
        *made = if (vx | vy) & 1 == 0 {
            let (from, pitch) = part::<SIDE, _>(plane, size, (x, y), &mut copy);
            forward(simd, tables, from, pitch)
        } else {
            let (from, pitch) = part::<WIDER, _>(plane, size, (x - 1, y - 1), &mut copy);
            let block = between(from, pitch, [vx & 1 == 1, vy & 1 == 1]);
            forward(simd, tables, &block, SIDE)
        };
    }
    made
}

/// A block between pixels, from one that starts a pixel earlier.
#[inline(always)]
fn between(from: &[f32], pitch: usize, [along_x, along_y]: [bool; 2]) -> Block {
    let cubic = |a: f32, b: f32, c: f32, d: f32| 0.5625 * (b + c) - 0.0625 * (a + d);
    let mut rows = [0.0f32; WIDER * SIDE];
    for (j, to) in rows.chunks_exact_mut(SIDE).enumerate() {
        let row = &from[j * pitch..][..WIDER];
        for i in 0..SIDE {
            to[i] = match along_x {
                true => cubic(row[i], row[i + 1], row[i + 2], row[i + 3]),
                false => row[i + 1],
            };
        }
    }
    let mut block = [0.0; BLOCK];
    for k in 0..BLOCK {
        block[k] = match along_y {
            true => cubic(
                rows[k],
                rows[k + SIDE],
                rows[k + 2 * SIDE],
                rows[k + 3 * SIDE],
            ),
            false => rows[k + SIDE],
        };
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

/// A sum as a loop.
#[inline(always)]
fn sum(list: &[f32; SIDE]) -> f32 {
    let mut sum = 0.0;
    for v in list {
        sum += v;
    }
    sum
}
