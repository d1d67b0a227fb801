//! One block during merging: of one component, or of two at once in vectors twice as long.
//!
//! With two components, a row of pixels holds one component after the other, and a transform interleaves them.

use crate::block::part;
use crate::cosines::{along, back, interleaved};
use fearless_simd::{Simd, SimdBase, SimdCombine, SimdFloat, f32x8, f32x16};
use limpid_reference::definition::film::{COARSE, FREQUENCY_SCALE, LAMBDA, cosine, is_coarse};
use limpid_reference::noise::SIDE;

/// Pixels, or frequencies, of a block.
pub(super) const BLOCK: usize = SIDE * SIDE;
/// Side of a block with the surrounding pixels that cubic interpolation needs.
const WIDER: usize = SIDE + 3;

/// A copy of a block that extends beyond the border.
pub(super) type Copy = [f32; WIDER * WIDER];
/// An unused copy.
pub(super) const COPY: Copy = [0.0; WIDER * WIDER];

/// Row `k` is the cosine basis function of frequency `k`.
pub(super) fn cosines() -> [f32; BLOCK] {
    std::array::from_fn(|at| cosine(at / SIDE, at % SIDE))
}

/// A plane of a frame, the position of a block in it, and its displacement in half pixels.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) plane: &'a [f32],
    pub(super) size: (i32, i32),
    pub(super) corner: (i32, i32),
    pub(super) vector: [i32; 2],
}

impl Place<'_> {
    /// The rows of the block.
    #[inline(always)]
    pub(super) fn rows<S: Simd>(&self, simd: S, copy: &mut Copy) -> [f32x8<S>; SIDE] {
        let [vx, vy] = self.vector;
        let (x, y) = (self.corner.0 + (vx >> 1), self.corner.1 + (vy >> 1));
        let mut rows = [f32x8::splat(simd, 0.0); SIDE];
        if (vx | vy) & 1 == 0 {
            let (from, pitch) = part::<SIDE, _>(self.plane, self.size, (x, y), copy);
            for j in 0..SIDE {
                rows[j] = f32x8::from_slice(simd, &from[j * pitch..][..SIDE]);
            }
            return rows;
        }
        let (from, pitch) = part::<WIDER, _>(self.plane, self.size, (x - 1, y - 1), copy);
        let near = f32x8::splat(simd, 0.5625);
        let far = f32x8::splat(simd, 0.0625);
        let mut wider = [f32x8::splat(simd, 0.0); WIDER];
        if vx & 1 == 1 {
            for j in 0..WIDER {
                let row = &from[j * pitch..][..WIDER];
                let a = f32x8::from_slice(simd, &row[..SIDE]);
                let b = f32x8::from_slice(simd, &row[1..1 + SIDE]);
                let c = f32x8::from_slice(simd, &row[2..2 + SIDE]);
                let d = f32x8::from_slice(simd, &row[3..3 + SIDE]);
                wider[j] = near * (b + c) - far * (a + d);
            }
        } else {
            for j in 0..WIDER {
                wider[j] = f32x8::from_slice(simd, &from[j * pitch + 1..][..SIDE]);
            }
        }
        for j in 0..SIDE {
            rows[j] = match vy & 1 {
                1 => near * (wider[j + 1] + wider[j + 2]) - far * (wider[j] + wider[j + 3]),
                _ => wider[j + 1],
            };
        }
        rows
    }
}

/// The rows of the same block of two planes.
#[inline(always)]
pub(super) fn both<S: Simd>(a: [f32x8<S>; SIDE], b: [f32x8<S>; SIDE]) -> [f32x16<S>; SIDE] {
    let mut rows = [a[0].combine(b[0]); SIDE];
    for j in 1..SIDE {
        rows[j] = a[j].combine(b[j]);
    }
    rows
}

/// Constants for the frequencies of one or two components, in the order of the transforms.
pub(super) struct Table<const SIZE: usize> {
    powers: [f32; SIZE],
    inverse: [f32; SIZE],
    /// Weights of squared differences when frames are matched; 0 for the mean of a block.
    counts: [f32; SIZE],
    /// The same for the longest waves alone.
    coarse: [f32; SIZE],
    /// λ², except for the mean of the block, where it is 0.
    looked: [f32; SIZE],
    /// For each component, one over the sum of its powers.
    over: [f32; 2],
}

impl<const SIZE: usize> Table<SIZE> {
    /// The table of these components.
    pub(super) fn new(powers: &[[f32; BLOCK]], counts: &[f32], coarse: &[f32]) -> Self {
        let number = SIZE / BLOCK;
        // The component and frequency of an entry: transforms are transposed.
        let of = |at: usize| {
            let (along_x, rest) = (at / (SIZE / SIDE), at % (SIZE / SIDE));
            (rest % number, SIDE * (rest / number) + along_x)
        };
        let each = |make: &dyn Fn(usize, usize) -> f32| {
            std::array::from_fn(|at| {
                let (c, k) = of(at);
                make(c, k)
            })
        };
        Self {
            powers: each(&|c, k| powers[c][k]),
            inverse: each(&|c, k| 1.0 / powers[c][k]),
            counts: each(&|c, k| if k == 0 { 0.0 } else { counts[c] }),
            coarse: each(&|c, k| if is_coarse(k) { coarse[c] } else { 0.0 }),
            looked: each(&|_, k| if k == 0 { 0.0 } else { LAMBDA * LAMBDA }),
            over: [0, number - 1].map(|c| 1.0 / powers[c].iter().sum::<f32>()),
        }
    }
}

/// One block: the sums over frames for each frequency, and the results. It is reused for all blocks, so that nothing has to be
/// cleared.
pub(super) struct MergedBlock<const SIZE: usize> {
    own: [f32; SIZE],
    sums: [f32; SIZE],
    weights: [f32; SIZE],
    squares: [f32; SIZE],
    /// The transform of the frame being added.
    there: [f32; SIZE],
    /// Squared differences of this frame, relative to the power of the noise.
    apart: [f32; SIZE],
    /// The shrunk block, as pixels.
    pub(super) shrunk: [f32; SIZE],
    /// The merged block, as pixels.
    pub(super) merged: [f32; SIZE],
    /// For each component, the weight, and the variance that remains after merging, relative to that of one frame.
    pub(super) shares: [[f32; 2]; 2],
}

impl<const SIZE: usize> MergedBlock<SIZE> {
    /// Values per vector.
    const LANES: usize = SIZE / SIDE;
    /// Number of interleavings that transpose the block.
    const TIMES: usize = 2 + SIZE / BLOCK;

    pub(super) fn new() -> Self {
        let zero = [0.0; SIZE];
        Self {
            own: zero,
            sums: zero,
            weights: zero,
            squares: zero,
            there: zero,
            apart: zero,
            shrunk: zero,
            merged: zero,
            shares: [[0.0; 2]; 2],
        }
    }

    #[inline(always)]
    fn row<S: Simd, V: SimdFloat<S, Element = f32>>(simd: S, from: &[f32; SIZE], j: usize) -> V {
        V::from_slice(simd, &from[Self::LANES * j..Self::LANES * (j + 1)])
    }

    #[inline(always)]
    fn put<S: Simd, V: SimdFloat<S, Element = f32>>(to: &mut [f32; SIZE], j: usize, values: V) {
        values.store_slice(&mut to[Self::LANES * j..Self::LANES * (j + 1)]);
    }

    /// Starts with the rows of the output frame.
    #[inline(always)]
    pub(super) fn begin<S: Simd, V: SimdFloat<S, Element = f32>>(
        &mut self,
        simd: S,
        cosines: &[f32; BLOCK],
        rows: [V; SIDE],
    ) {
        let rows = interleaved(along(simd, cosines, rows), Self::TIMES);
        let rows = along(simd, cosines, rows);
        let one = V::splat(simd, 1.0);
        for j in 0..SIDE {
            Self::put(&mut self.own, j, rows[j]);
            Self::put(&mut self.sums, j, rows[j]);
            Self::put(&mut self.weights, j, one);
            Self::put(&mut self.squares, j, one);
        }
    }

    /// Compares the rows of another frame; returns the difference, and that of the longest waves.
    #[inline(always)]
    pub(super) fn look<S: Simd, V: SimdFloat<S, Element = f32>>(
        &mut self,
        simd: S,
        cosines: &[f32; BLOCK],
        table: &Table<SIZE>,
        rows: [V; SIDE],
    ) -> [f32; 2] {
        let rows = interleaved(along(simd, cosines, rows), Self::TIMES);
        let rows = along(simd, cosines, rows);
        let (mut sums, mut coarse) = (V::splat(simd, 0.0), V::splat(simd, 0.0));
        for j in 0..SIDE {
            Self::put(&mut self.there, j, rows[j]);
            let own: V = Self::row(simd, &self.own, j);
            let difference = rows[j] - own;
            let inverse: V = Self::row(simd, &table.inverse, j);
            let square: V = difference * difference * inverse;
            Self::put(&mut self.apart, j, square);
            let counts: V = Self::row(simd, &table.counts, j);
            sums = square.mul_add(counts, sums);
            if j <= COARSE {
                let counts: V = Self::row(simd, &table.coarse, j);
                coarse = square.mul_add(counts, coarse);
            }
        }
        [sums.reduce_sum(), coarse.reduce_sum()]
    }

    /// Adds the compared frame.
    #[inline(always)]
    pub(super) fn add<S: Simd, V: SimdFloat<S, Element = f32>>(&mut self, simd: S, fit: f32) {
        let (fit, one) = (V::splat(simd, fit), V::splat(simd, 1.0));
        let over = V::splat(simd, 1.0 / FREQUENCY_SCALE);
        let (zero, two) = (V::splat(simd, 0.0), V::splat(simd, 2.0));
        for j in 0..SIDE {
            let apart: V = Self::row(simd, &self.apart, j);
            let beyond: V = (apart - two).max(zero) * over;
            let weight: V = fit / beyond.mul_add(beyond, one);
            let there: V = Self::row(simd, &self.there, j);
            let sums: V = Self::row(simd, &self.sums, j);
            Self::put(&mut self.sums, j, there.mul_add(weight, sums));
            let weights: V = Self::row(simd, &self.weights, j);
            Self::put(&mut self.weights, j, weights + weight);
            let squares: V = Self::row(simd, &self.squares, j);
            Self::put(&mut self.squares, j, weight.mul_add(weight, squares));
        }
    }

    /// Computes the shrunk and the merged block.
    #[inline(always)]
    pub(super) fn make<S: Simd, V: SimdFloat<S, Element = f32>>(
        &mut self,
        simd: S,
        cosines: &[f32; BLOCK],
        table: &Table<SIZE>,
    ) {
        let (zero, one) = (V::splat(simd, 0.0), V::splat(simd, 1.0));
        let least = V::splat(simd, 1e-12);
        let (mut left, mut variances) = (zero, zero);
        let (mut kept, mut merged) = ([zero; SIDE], [zero; SIDE]);
        for j in 0..SIDE {
            let weights: V = Self::row(simd, &self.weights, j);
            let sum: V = Self::row(simd, &self.sums, j);
            let over: V = one / weights;
            let value: V = sum * over;
            let (powers, squares): (V, V) = (
                Self::row(simd, &table.powers, j),
                Self::row(simd, &self.squares, j),
            );
            let variance = powers * squares * over * over;
            // The mean of the block is unchanged.
            let looked: V = Self::row(simd, &table.looked, j);
            let share = looked * variance / value.mul_add(value, least);
            let factor = (one - share * share).max(zero);
            (kept[j], merged[j]) = (factor * value, value);
            left = (factor * factor).mul_add(variance, left);
            variances += variance;
        }
        for (made, rows) in [(&mut self.shrunk, kept), (&mut self.merged, merged)] {
            let rows = interleaved(back(simd, cosines, rows), 3);
            let rows = back(simd, cosines, rows);
            for j in 0..SIDE {
                Self::put(made, j, rows[j]);
            }
        }
        let number = SIZE / BLOCK;
        let (left, variances) = (left.as_slice(), variances.as_slice());
        for c in 0..number {
            let mut sums = [0.0; 2];
            for i in 0..SIDE {
                sums[0] += left[number * i + c];
                sums[1] += variances[number * i + c];
            }
            self.shares[c] = [
                1.0 / (sums[0] / BLOCK as f32 + 1e-4),
                sums[1] * table.over[c],
            ];
        }
    }
}
