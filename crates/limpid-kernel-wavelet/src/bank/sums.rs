//! Sums of rows with weights. Products are rounded before they are added: fused, `a · w - a · w` would not be zero, and plain
//! parts of a picture would have details.

use super::Real;
use fearless_simd::{Level, Simd, SimdBase, dispatch};
use std::sync::LazyLock;

/// What the processor can do.
pub static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);

/// `out[p][i] = Σ weights[k][p] · rows[k][i]` for both outputs, which are as long as the shortest row or shorter.
pub(super) fn sums<T: Real>(rows: &[&[T]], weights: &[[T; 2]], out: [&mut [T]; 2]) {
    dispatch!(*LEVEL, simd => sums_simd(simd, rows, weights, out));
}

/// The same with one output.
pub(super) fn sum<T: Real>(rows: &[&[T]], weights: &[T], out: &mut [T]) {
    dispatch!(*LEVEL, simd => sum_simd(simd, rows, weights, out));
}

#[inline(always)]
fn sums_simd<S: Simd, T: Real>(simd: S, rows: &[&[T]], weights: &[[T; 2]], out: [&mut [T]; 2]) {
    let [a, b] = out;
    let length = a.len().min(b.len());
    let lanes = T::Native::<S>::LEN;
    let zero = T::Native::<S>::splat(simd, T::default());
    let mut x = 0;
    // Four vectors of both outputs stay in registers.
    while x + 4 * lanes <= length {
        let mut sums = [zero; 8];
        for (row, [wa, wb]) in rows.iter().zip(weights) {
            let row = &row[x..x + 4 * lanes];
            let wa = T::Native::<S>::splat(simd, *wa);
            let wb = T::Native::<S>::splat(simd, *wb);
            for i in 0..4 {
                let v = T::Native::<S>::from_slice(simd, &row[i * lanes..(i + 1) * lanes]);
                sums[i] += v * wa;
                sums[4 + i] += v * wb;
            }
        }
        for i in 0..4 {
            sums[i].store_slice(&mut a[x + i * lanes..][..lanes]);
            sums[4 + i].store_slice(&mut b[x + i * lanes..][..lanes]);
        }
        x += 4 * lanes;
    }
    // Short lines are mostly what is left of them.
    while x + lanes <= length {
        let mut sums = [zero; 2];
        for (row, [wa, wb]) in rows.iter().zip(weights) {
            let v = T::Native::<S>::from_slice(simd, &row[x..x + lanes]);
            sums[0] += v * T::Native::<S>::splat(simd, *wa);
            sums[1] += v * T::Native::<S>::splat(simd, *wb);
        }
        sums[0].store_slice(&mut a[x..x + lanes]);
        sums[1].store_slice(&mut b[x..x + lanes]);
        x += lanes;
    }
    for x in x..length {
        let mut sums = [T::default(); 2];
        for (row, [wa, wb]) in rows.iter().zip(weights) {
            sums[0] += row[x] * *wa;
            sums[1] += row[x] * *wb;
        }
        [a[x], b[x]] = sums;
    }
}

#[inline(always)]
fn sum_simd<S: Simd, T: Real>(simd: S, rows: &[&[T]], weights: &[T], out: &mut [T]) {
    let lanes = T::Native::<S>::LEN;
    let zero = T::Native::<S>::splat(simd, T::default());
    let mut x = 0;
    while x + 4 * lanes <= out.len() {
        let mut sums = [zero; 4];
        for (row, w) in rows.iter().zip(weights) {
            let row = &row[x..x + 4 * lanes];
            let w = T::Native::<S>::splat(simd, *w);
            for i in 0..4 {
                let v = T::Native::<S>::from_slice(simd, &row[i * lanes..(i + 1) * lanes]);
                sums[i] += v * w;
            }
        }
        for i in 0..4 {
            sums[i].store_slice(&mut out[x + i * lanes..][..lanes]);
        }
        x += 4 * lanes;
    }
    while x + lanes <= out.len() {
        let mut sum = zero;
        for (row, w) in rows.iter().zip(weights) {
            let v = T::Native::<S>::from_slice(simd, &row[x..x + lanes]);
            sum += v * T::Native::<S>::splat(simd, *w);
        }
        sum.store_slice(&mut out[x..x + lanes]);
        x += lanes;
    }
    for x in x..out.len() {
        let mut sum = T::default();
        for (row, w) in rows.iter().zip(weights) {
            sum += row[x] * *w;
        }
        out[x] = sum;
    }
}

/// Splits pairs of samples: `even[i] = pairs[2i]`, `odd[i] = pairs[2i + 1]`.
pub(super) fn split_pairs<T: Real>(pairs: &[T], even: &mut [T], odd: &mut [T]) {
    #[inline(always)]
    fn work<S: Simd, T: Real>(_: S, pairs: &[T], even: &mut [T], odd: &mut [T]) {
        for (pair, (e, o)) in pairs.chunks_exact(2).zip(even.iter_mut().zip(odd)) {
            *e = pair[0];
            *o = pair[1];
        }
    }
    dispatch!(*LEVEL, simd => work(simd, pairs, even, odd));
}

/// Puts samples side by side: `pairs[2i] = a[i]`, `pairs[2i + 1] = b[i]`; the last may be half a pair.
pub(super) fn join_pairs<T: Real>(a: &[T], b: &[T], pairs: &mut [T]) {
    #[inline(always)]
    fn work<S: Simd, T: Real>(_: S, a: &[T], b: &[T], pairs: &mut [T]) {
        for (pair, (a, b)) in pairs.chunks_exact_mut(2).zip(a.iter().zip(b)) {
            pair[0] = *a;
            pair[1] = *b;
        }
    }
    if pairs.len() % 2 == 1 {
        let last = pairs.len() - 1;
        pairs[last] = a[last / 2];
    }
    dispatch!(*LEVEL, simd => work(simd, a, b, pairs));
}
