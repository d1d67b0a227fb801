//! Eigenvectors of small symmetric matrices by Jacobi's rotations, for sixteen matrices side by side.

use super::{LANES, Lanes, ZERO, get};
use fearless_simd::{Select, Simd, SimdBase, SimdFloat, f32x16};

/// Times that each pair is turned: 10×10 matrices of single precision are diagonal after five or six.
pub(super) const SWEEPS: usize = 7;

/// What an entry must be of its row's diagonals to be turned away.
pub(super) const SMALL: f32 = 1e-30;

/// Turns `a` (n×n, row by row) into a diagonal, and `v` into its eigenvectors, in columns.
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
                    turn(simd, a, (k * n + p, k * n + q), turned);
                }
                for k in 0..n {
                    turn(simd, a, (p * n + k, q * n + k), turned);
                }
                for k in 0..n {
                    turn(simd, v, (k * n + p, k * n + q), turned);
                }
            }
        }
    }
}

/// Cosine and sine of the turn that makes an entry 0.
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
fn turn<S: Simd>(simd: S, a: &mut [Lanes], (i, j): (usize, usize), (c, s): (f32x16<S>, f32x16<S>)) {
    let (x, y) = (get(simd, &a[i]), get(simd, &a[j]));
    (c * x - s * y).store_array(&mut a[i]);
    (s * x + c * y).store_array(&mut a[j]);
}

/// The same as WGSL: `diagonalise` on the private arrays `gram` and `vectors`.
pub(super) fn wgsl(n: usize) -> String {
    format!(
        "var<private> gram: array<f32, {}>;
var<private> vectors: array<f32, {}>;
fn diagonalise() {{
    for (var i = 0u; i < {n}u; i++) {{
        for (var j = 0u; j < {n}u; j++) {{
            vectors[i * {n}u + j] = select(0.0, 1.0, i == j);
        }}
    }}
    for (var sweep = 0u; sweep < {SWEEPS}u; sweep++) {{
        for (var a = 0u; a < {n}u; a++) {{
            for (var b = a + 1u; b < {n}u; b++) {{
                let ab = gram[a * {n}u + b];
                if abs(ab) < {SMALL:e} {{ continue; }}
                let theta = (gram[b * {n}u + b] - gram[a * {n}u + a]) / (2.0 * ab);
                // Far from 45 degrees theta's square would overflow; there t is half of one over it.
                let root = select(sqrt(theta * theta + 1.0), abs(theta), abs(theta) > 1e15);
                let t = select(-1.0, 1.0, theta >= 0.0) / (abs(theta) + root);
                let c = 1.0 / sqrt(t * t + 1.0);
                let s = t * c;
                for (var k = 0u; k < {n}u; k++) {{
                    let x = gram[k * {n}u + a];
                    let y = gram[k * {n}u + b];
                    gram[k * {n}u + a] = c * x - s * y;
                    gram[k * {n}u + b] = s * x + c * y;
                    let u = vectors[k * {n}u + a];
                    let w = vectors[k * {n}u + b];
                    vectors[k * {n}u + a] = c * u - s * w;
                    vectors[k * {n}u + b] = s * u + c * w;
                }}
                for (var k = 0u; k < {n}u; k++) {{
                    let x = gram[a * {n}u + k];
                    let y = gram[b * {n}u + k];
                    gram[a * {n}u + k] = c * x - s * y;
                    gram[b * {n}u + k] = s * x + c * y;
                }}
            }}
        }}
    }}
}}
",
        n * n,
        n * n
    )
}
