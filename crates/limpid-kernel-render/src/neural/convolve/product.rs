//! The product of a matrix of weights and rows of values, for targets with many and with few registers.

use super::OUTS;
#[cfg(target_arch = "x86_64")]
use super::early;
use fearless_simd::prelude::*;

/// Vectors that are multiplied together.
const WIDE: usize = 3;

/// Values that are multiplied at once.
#[inline(always)]
pub(super) fn lanes<S: Simd>() -> usize {
    #[cfg(target_arch = "x86_64")]
    if S::f32s::LEN == 8 && early::there() {
        return early::LANES;
    }
    S::f32s::LEN
}

/// Sums over rows of values, each times a weight of its own for each output, from biases on. Weights are in blocks of outputs.
#[inline(always)]
pub(super) fn products<S: Simd>(
    simd: S,
    seen: &[f32],
    table: (&[f32], &[f32]),
    width: usize,
    made: &mut [f32],
) {
    #[cfg(target_arch = "x86_64")]
    if S::f32s::LEN == 8 && early::products(seen, table, width, made) {
        return;
    }
    // Outputs and vectors are as many as fit into registers.
    if S::f32s::LEN == 16 {
        blocks::<S, OUTS>(simd, seen, table, width, made);
    } else {
        blocks::<S, 4>(simd, seen, table, width, made);
    }
}

#[inline(always)]
fn blocks<S: Simd, const O: usize>(
    simd: S,
    seen: &[f32],
    (biases, weights): (&[f32], &[f32]),
    width: usize,
    made: &mut [f32],
) {
    let lanes = S::f32s::LEN;
    let wide = width / (WIDE * lanes) * (WIDE * lanes);
    let blocks = weights.chunks_exact(seen.len() / width * OUTS);
    let outputs = made.chunks_exact_mut(OUTS * width);
    for ((weights, biases), made) in blocks.zip(biases.chunks_exact(OUTS)).zip(outputs) {
        let parts = made.chunks_exact_mut(O * width);
        for ((first, biases), made) in (0..).step_by(O).zip(biases.chunks_exact(O)).zip(parts) {
            let table = (biases, weights, first);
            for x in (0..wide).step_by(WIDE * lanes) {
                sums::<S, O, WIDE>(simd, (seen, x), table, width, made);
            }
            for x in (wide..width).step_by(lanes) {
                sums::<S, O, 1>(simd, (seen, x), table, width, made);
            }
        }
    }
}

/// Some outputs for some vectors.
#[inline(always)]
fn sums<S: Simd, const O: usize, const V: usize>(
    simd: S,
    (seen, x): (&[f32], usize),
    (biases, weights, first): (&[f32], &[f32], usize),
    width: usize,
    made: &mut [f32],
) {
    let lanes = S::f32s::LEN;
    let mut sums = [[S::f32s::splat(simd, 0.0); V]; O];
    for (sums, bias) in sums.iter_mut().zip(biases) {
        *sums = [S::f32s::splat(simd, *bias); V];
    }
    for (seen, weights) in seen.chunks_exact(width).zip(weights.as_chunks::<OUTS>().0) {
        let (line, weights) = (&seen[x..][..V * lanes], &weights[first..][..O]);
        let mut values = [S::f32s::splat(simd, 0.0); V];
        for (value, part) in values.iter_mut().zip(line.chunks_exact(lanes)) {
            *value = S::f32s::from_slice(simd, part);
        }
        for (sums, weight) in sums.iter_mut().zip(weights) {
            let weight = S::f32s::splat(simd, *weight);
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum = value.mul_add(weight, *sum);
            }
        }
    }
    for (made, sums) in made.chunks_exact_mut(width).zip(&sums) {
        for (to, sum) in made[x..].chunks_exact_mut(lanes).zip(sums) {
            to.copy_from_slice(sum.as_slice());
        }
    }
}
