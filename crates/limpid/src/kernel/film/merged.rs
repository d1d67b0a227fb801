//! One block while it is merged: of one component, or of two at once in vectors twice as long.
//!
//! Of two components the numbers of a row stand one behind the other, those of a transform alternate.

use crate::definition::film::{FREQUENCY_SCALE, LAMBDA, cosine};
use crate::kernel::block::part;
use crate::kernel::cosines::{along, back, interleaved};
use crate::noise::SIDE;
use fearless_simd::{Simd, SimdBase, SimdCombine, SimdFloat, f32x8, f32x16};

/// Pixels, or frequencies, of a block.
pub(super) const BLOCK: usize = SIDE * SIDE;
/// A block with what cubics between pixels need around it.
const WIDER: usize = SIDE + 3;

/// A copy of a block where it is beyond the border.
pub(super) type Copy = [f32; WIDER * WIDER];
/// A copy that nothing was copied to.
pub(super) const COPY: Copy = [0.0; WIDER * WIDER];

/// Row `k` has the cosines of frequency `k`.
pub(super) fn cosines() -> [f32; BLOCK] {
    std::array::from_fn(|at| cosine(at / SIDE, at % SIDE))
}

/// A plane of a frame, where a block of it is, and by how much it is moved, in half pixels.
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

/// Numbers for the frequencies of one or two components, in the order of the transforms.
pub(super) struct Table<const SIZE: usize> {
    powers: [f32; SIZE],
    inverse: [f32; SIZE],
    /// What squares of differences count for, in whether a frame fits; the mean of a block does not.
    counts: [f32; SIZE],
    /// λ² but for the mean of the block, 0 there.
    looked: [f32; SIZE],
    /// For each component one over the sum of its powers.
    over: [f32; 2],
}

impl<const SIZE: usize> Table<SIZE> {
    /// Of these components.
    pub(super) fn new(powers: &[[f32; BLOCK]], counts: &[f32]) -> Self {
        let number = SIZE / BLOCK;
        // Which component and which frequency a number is of: transforms are transposed.
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
            looked: each(&|_, k| if k == 0 { 0.0 } else { LAMBDA * LAMBDA }),
            over: [0, number - 1].map(|c| 1.0 / powers[c].iter().sum::<f32>()),
        }
    }
}

/// One block: the sums over frames so far, for each frequency, and what is made of them. It is kept from block to block, so that
/// nothing is cleared in vain.
pub(super) struct MergedBlock<const SIZE: usize> {
    own: [f32; SIZE],
    sums: [f32; SIZE],
    weights: [f32; SIZE],
    squares: [f32; SIZE],
    /// Of the frame that is added.
    there: [f32; SIZE],
    /// Squares of its differences, relative to the power of the noise.
    apart: [f32; SIZE],
    /// Without noise, as pixels.
    pub(super) shrunk: [f32; SIZE],
    /// As merged, as pixels.
    pub(super) merged: [f32; SIZE],
    /// Of each component the weight, and the variance that is left in what was merged, relative to that of one frame.
    pub(super) shares: [[f32; 2]; 2],
}

impl<const SIZE: usize> MergedBlock<SIZE> {
    /// Numbers of a vector.
    const LANES: usize = SIZE / SIDE;
    /// How often rows are interleaved until they are columns.
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

    /// Begins with the rows of the frame that is made.
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

    /// Looks at the rows of another frame; gives by how much it differs.
    #[inline(always)]
    pub(super) fn look<S: Simd, V: SimdFloat<S, Element = f32>>(
        &mut self,
        simd: S,
        cosines: &[f32; BLOCK],
        table: &Table<SIZE>,
        rows: [V; SIDE],
    ) -> f32 {
        let rows = interleaved(along(simd, cosines, rows), Self::TIMES);
        let rows = along(simd, cosines, rows);
        let mut sums = V::splat(simd, 0.0);
        for j in 0..SIDE {
            Self::put(&mut self.there, j, rows[j]);
            let own: V = Self::row(simd, &self.own, j);
            let difference = rows[j] - own;
            let inverse: V = Self::row(simd, &table.inverse, j);
            let square: V = difference * difference * inverse;
            Self::put(&mut self.apart, j, square);
            let counts: V = Self::row(simd, &table.counts, j);
            sums = square.mul_add(counts, sums);
        }
        sums.reduce_sum()
    }

    /// By how much the mean of the frame that was looked at differs, of the first component.
    pub(super) fn brightness(&self) -> f32 {
        self.apart[0]
    }

    /// Adds the frame that was looked at.
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

    /// The block without noise, and as it was merged.
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
            // The mean of the block is not changed.
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
