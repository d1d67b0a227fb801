//! The CPU body: block after block, a row of a block in a vector.

use super::Wiener;
use crate::Size;
use crate::definition::wiener::{AREA, SIDE, WEIGHTS, cosine};
use crate::kernel::Job;
use crate::kernel::block::part;
use crate::simd::dispatch;
use fearless_simd::{Simd, SimdBase, SimdFloat, f32x16};

type Block = [f32; AREA];

/// Columns of the rows that blocks are added to, including those left and right of the image.
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

/// Numbers that are the same for all blocks.
struct Tables {
    /// Row `k` has the cosines of frequency `k`.
    forward: Block,
    /// The same, transposed.
    back: Block,
    window: Block,
}

#[inline(always)]
fn band<S: Simd>(simd: S, kernel: &Wiener, job: &mut Job<'_>) {
    let weight = |i: usize| WEIGHTS[i.min(SIDE - 1 - i)];
    let tables = Tables {
        forward: std::array::from_fn(|at| cosine(at / SIDE, at % SIDE)),
        back: std::array::from_fn(|at| cosine(at % SIDE, at / SIDE)),
        window: std::array::from_fn(|at| weight(at / SIDE) * weight(at % SIDE)),
    };
    let planes = job.writes[0].planes();
    for c in 0..planes {
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
    let step = kernel.by.step;
    let powers = &kernel.by.powers[c];
    let pitch = pitch(width);
    let (sums, rest) = job.scratch.split_at_mut(SIDE * pitch);
    let weights = &mut rest[..SIDE * pitch];
    sums.fill(0.0);
    weights.fill(0.0);
    // Rows of blocks from the one that reaches the first row on; the upper rows of each are then whole.
    let before = SIDE - step;
    let mut y = (job.rows.start / step * step) as i32 - before as i32;
    let mut copies = [[0.0; AREA]; 2];
    while y < job.rows.end as i32 {
        for column in 0..(width + before).div_ceil(step) {
            let x = (column * step) as i32 - before as i32;
            let [one, two] = &mut copies;
            let (from, by) = part::<SIDE, _>(noisy, size, (x, y), one);
            let own = forward(simd, tables, from, by);
            let level = match variance {
                None => 1.0,
                Some(variance) => {
                    let (from, by) = part::<SIDE, _>(variance, size, (x, y), one);
                    mean(simd, from, by)
                }
            };
            let (from, by) = part::<SIDE, _>(estimate, size, (x, y), two);
            let expected = forward(simd, tables, from, by);
            let (kept, share) = filtered(simd, &own, &expected, powers, level);
            let made = inverse(simd, tables, &kept);
            let share = f32x16::splat(simd, share);
            for j in 0..SIDE {
                let at = j * pitch + column * step;
                let w = share * row(simd, &tables.window, j);
                let value = row(simd, &made, j);
                let sum = f32x16::from_slice(simd, &sums[at..at + SIDE]);
                value.mul_add(w, sum).store_slice(&mut sums[at..at + SIDE]);
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
            let (sums, weights) = (&sums[from..from + width], &weights[from..from + width]);
            let to = &mut job.writes[0].row(c, at as usize)[..width];
            for x in 0..width {
                to[x] = sums[x] / weights[x];
            }
        }
        for list in [&mut *sums, &mut *weights] {
            list.copy_within(step * pitch.., 0);
            list[(SIDE - step) * pitch..].fill(0.0);
        }
        y += step as i32;
    }
}

#[inline(always)]
fn row<S: Simd>(simd: S, block: &Block, j: usize) -> f32x16<S> {
    f32x16::from_slice(simd, &block[SIDE * j..SIDE * (j + 1)])
}

#[inline(always)]
fn mean<S: Simd>(simd: S, from: &[f32], pitch: usize) -> f32 {
    let mut sum = f32x16::splat(simd, 0.0);
    for j in 0..SIDE {
        sum += f32x16::from_slice(simd, &from[j * pitch..][..SIDE]);
    }
    total(sum) / AREA as f32
}

#[inline(always)]
fn total<S: Simd>(vector: f32x16<S>) -> f32 {
    let mut list = [0.0; SIDE];
    vector.store_slice(&mut list);
    let mut sum = 0.0;
    for v in list {
        sum += v;
    }
    sum
}

/// The frequencies that are kept, and the weight of the block.
#[inline(always)]
fn filtered<S: Simd>(
    simd: S,
    own: &Block,
    expected: &Block,
    powers: &Block,
    level: f32,
) -> (Block, f32) {
    let level = f32x16::splat(simd, level);
    let mut left = f32x16::splat(simd, 0.0);
    let mut kept = [0.0; AREA];
    for j in 0..SIDE {
        let noise = row(simd, powers, j) * level;
        let e = row(simd, expected, j);
        let square = e * e;
        let factor = square / (square + noise);
        left = (factor * factor).mul_add(noise, left);
        (factor * row(simd, own, j)).store_slice(&mut kept[SIDE * j..SIDE * (j + 1)]);
    }
    (kept, 1.0 / (total(left) / AREA as f32 + 1e-4))
}

/// The transform of a block whose rows are `pitch` apart.
#[inline(always)]
fn forward<S: Simd>(simd: S, tables: &Tables, from: &[f32], pitch: usize) -> Block {
    // Loops rather than closures, which would be calls. Rows and their mirror images share the products.
    let zero = f32x16::splat(simd, 0.0);
    let (mut even, mut odd) = ([zero; SIDE / 2], [zero; SIDE / 2]);
    for j in 0..SIDE / 2 {
        let upper = f32x16::from_slice(simd, &from[j * pitch..][..SIDE]);
        let lower = f32x16::from_slice(simd, &from[(SIDE - 1 - j) * pitch..][..SIDE]);
        (even[j], odd[j]) = (upper + lower, upper - lower);
    }
    let mut columns = [0.0; AREA];
    for half in 0..SIDE / 2 {
        let l = 2 * half;
        let mut sums = [zero; 2];
        for j in 0..SIDE / 2 {
            let entry = |l: usize| f32x16::splat(simd, tables.forward[SIDE * l + j]);
            sums[0] = even[j].mul_add(entry(l), sums[0]);
            sums[1] = odd[j].mul_add(entry(l + 1), sums[1]);
        }
        sums[0].store_slice(&mut columns[SIDE * l..SIDE * (l + 1)]);
        sums[1].store_slice(&mut columns[SIDE * (l + 1)..SIDE * (l + 2)]);
    }
    along_rows(simd, &tables.back, &columns)
}

/// The inverse of [`forward`].
#[inline(always)]
fn inverse<S: Simd>(simd: S, tables: &Tables, block: &Block) -> Block {
    let zero = f32x16::splat(simd, 0.0);
    let mut rows = [zero; SIDE];
    for l in 0..SIDE {
        rows[l] = row(simd, block, l);
    }
    let mut columns = [0.0; AREA];
    for j in 0..SIDE / 2 {
        let (mut even, mut odd) = (zero, zero);
        for half in 0..SIDE / 2 {
            let l = 2 * half;
            let entry = |l: usize| f32x16::splat(simd, tables.forward[SIDE * l + j]);
            even = rows[l].mul_add(entry(l), even);
            odd = rows[l + 1].mul_add(entry(l + 1), odd);
        }
        let mirror = SIDE - 1 - j;
        (even + odd).store_slice(&mut columns[SIDE * j..SIDE * (j + 1)]);
        (even - odd).store_slice(&mut columns[SIDE * mirror..SIDE * (mirror + 1)]);
    }
    along_rows(simd, &tables.forward, &columns)
}

/// Each row times a matrix, four rows at a time.
#[inline(always)]
fn along_rows<S: Simd>(simd: S, matrix: &Block, block: &Block) -> Block {
    let zero = f32x16::splat(simd, 0.0);
    let mut made = [0.0; AREA];
    for four in 0..SIDE / 4 {
        let mut sums = [zero; 4];
        for i in 0..SIDE {
            let across = row(simd, matrix, i);
            for j in 0..4 {
                let entry = f32x16::splat(simd, block[SIDE * (4 * four + j) + i]);
                sums[j] = across.mul_add(entry, sums[j]);
            }
        }
        for j in 0..4 {
            let at = SIDE * (4 * four + j);
            sums[j].store_slice(&mut made[at..at + SIDE]);
        }
    }
    made
}
