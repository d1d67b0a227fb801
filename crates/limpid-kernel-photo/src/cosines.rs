//! Discrete cosine transforms of square blocks on the CPU: along columns only, where no data crosses SIMD lanes, before and
//! after a transposition. The transform of a block is transposed.
//!
//! Uses loops instead of closures and functions of arrays, which would not be inlined.

use fearless_simd::{Simd, SimdFloat};

/// The transform along columns of `N` rows; row `k` of `cosines` is the basis function of frequency `k`. Symmetric pairs of
/// rows share products, recursively.
#[inline(always)]
pub(crate) fn along<S: Simd, V: SimdFloat<S, Element = f32>, const N: usize>(
    simd: S,
    cosines: &[f32],
    rows: [V; N],
) -> [V; N] {
    let zero = V::splat(simd, 0.0);
    let (mut even, mut odd) = ([zero; N], [zero; N]);
    for j in 0..N / 2 {
        (even[j], odd[j]) = (rows[j] + rows[N - 1 - j], rows[j] - rows[N - 1 - j]);
    }
    let (mut fourth, mut second) = ([zero; N], [zero; N]);
    for j in 0..N / 4 {
        let mirror = even[N / 2 - 1 - j];
        (fourth[j], second[j]) = (even[j] + mirror, even[j] - mirror);
    }
    let mut made = [zero; N];
    for l in 0..N / 2 {
        let rows = if l % 2 == 0 { &fourth } else { &second };
        let l = 2 * l;
        made[l] = rows[0] * V::splat(simd, cosines[N * l]);
        for j in 1..N / 4 {
            made[l] = rows[j].mul_add(V::splat(simd, cosines[N * l + j]), made[l]);
        }
        let l = l + 1;
        made[l] = odd[0] * V::splat(simd, cosines[N * l]);
        for j in 1..N / 2 {
            made[l] = odd[j].mul_add(V::splat(simd, cosines[N * l + j]), made[l]);
        }
    }
    made
}

/// The inverse of [`along`].
#[inline(always)]
pub(crate) fn back<S: Simd, V: SimdFloat<S, Element = f32>, const N: usize>(
    simd: S,
    cosines: &[f32],
    rows: [V; N],
) -> [V; N] {
    let zero = V::splat(simd, 0.0);
    let mut even = [zero; N];
    for j in 0..N / 4 {
        let mut fourth = rows[0] * V::splat(simd, cosines[j]);
        let mut second = rows[2] * V::splat(simd, cosines[2 * N + j]);
        for l in 1..N / 4 {
            let at = 4 * l * N + j;
            fourth = rows[4 * l].mul_add(V::splat(simd, cosines[at]), fourth);
            let at = at + 2 * N;
            second = rows[4 * l + 2].mul_add(V::splat(simd, cosines[at]), second);
        }
        (even[j], even[N / 2 - 1 - j]) = (fourth + second, fourth - second);
    }
    let mut made = [zero; N];
    for j in 0..N / 2 {
        let mut odd = rows[1] * V::splat(simd, cosines[N + j]);
        for l in 1..N / 2 {
            let at = (2 * l + 1) * N + j;
            odd = rows[2 * l + 1].mul_add(V::splat(simd, cosines[at]), odd);
        }
        (made[j], made[N - 1 - j]) = (even[j] + odd, even[j] - odd);
    }
    made
}

/// Interleaves the first half of the rows with the second, this many times. After log2 `N` times the block is transposed.
#[inline(always)]
pub(crate) fn interleaved<S: Simd, V: SimdFloat<S, Element = f32>, const N: usize>(
    mut rows: [V; N],
    times: usize,
) -> [V; N] {
    for _ in 0..times {
        let from = rows;
        for i in 0..N / 2 {
            rows[2 * i] = from[i].zip_low(from[N / 2 + i]);
            rows[2 * i + 1] = from[i].zip_high(from[N / 2 + i]);
        }
    }
    rows
}
