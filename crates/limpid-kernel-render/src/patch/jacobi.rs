//! Eigenvectors of small symmetric matrices by Jacobi rotations, for sixteen matrices at once.

use super::{LANES, Lanes, ZERO, get};
use fearless_simd::{Select, Simd, SimdBase, SimdFloat, f32x16};
use limpid_plan::wgsl::{Wgsl, float};

/// Number of sweeps: 10×10 matrices in single precision are diagonal after five or six.
pub(super) const SWEEPS: usize = 7;

/// Entries of a smaller magnitude are not rotated.
pub(super) const SMALL: f32 = 1e-30;

/// Diagonalises `a` (n×n, row by row) and stores its eigenvectors in the columns of `v`.
#[inline(always)]
pub(super) fn diagonalise<S: Simd>(simd: S, a: &mut [Lanes], v: &mut [Lanes], n: usize) {
    for i in 0..n {
        for j in 0..n {
            v[i * n + j] = if i == j { [1.0; LANES] } else { ZERO };
        }
    }
    for _ in 0..SWEEPS {
        for p in 0..n {
            for q in p + 1..n {
                let ends = (get(simd, &a[p * n + p]), get(simd, &a[q * n + q]));
                let turned = rotation(simd, ends, get(simd, &a[p * n + q]));
                for k in 0..n {
                    rotate(simd, a, (k * n + p, k * n + q), turned);
                }
                for k in 0..n {
                    rotate(simd, a, (p * n + k, q * n + k), turned);
                }
                for k in 0..n {
                    rotate(simd, v, (k * n + p, k * n + q), turned);
                }
            }
        }
    }
}

/// Cosine and sine of the rotation that zeroes an entry.
#[inline(always)]
fn rotation<S: Simd>(
    simd: S,
    (pp, qq): (f32x16<S>, f32x16<S>),
    pq: f32x16<S>,
) -> (f32x16<S>, f32x16<S>) {
    let one = f32x16::splat(simd, 1.0);
    let zero = f32x16::splat(simd, 0.0);
    let small = pq.abs().simd_lt(f32x16::splat(simd, SMALL));
    let theta = (qq - pp) / (small.select(one, pq) * 2.0);
    let t = one / (theta.abs() + (theta * theta + one).sqrt());
    let t = small.select(zero, t.copysign(theta));
    let c = one / (t * t + one).sqrt();
    (c, t * c)
}

#[inline(always)]
fn rotate<S: Simd>(
    simd: S,
    a: &mut [Lanes],
    (i, j): (usize, usize),
    (c, s): (f32x16<S>, f32x16<S>),
) {
    let (x, y) = (get(simd, &a[i]), get(simd, &a[j]));
    (c * x - s * y).store_array(&mut a[i]);
    (s * x + c * y).store_array(&mut a[j]);
}

/// The same in WGSL: `diagonalise` on the private arrays `gram` and `vectors` of `M`×`M` numbers.
pub(super) fn with_diagonalise(text: Wgsl) -> Wgsl {
    text.constant("SWEEPS", "u32", SWEEPS)
        .constant("SMALL", "f32", float(SMALL))
        .body(include_str!("jacobi.wgsl"))
}
