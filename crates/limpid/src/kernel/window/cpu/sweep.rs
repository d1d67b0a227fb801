//! Sixteen columns at a time.
//!
//! Explicit vectors, because loops over many rows are not vectorised by the compiler: it would have to test that no two
//! of them overlap. The last, partial piece of a row is copied out and goes through the same arithmetic.

use fearless_simd::{Simd, SimdBase, f32x16};

/// Columns in a piece.
pub(super) const LANES: usize = 16;

/// The values of up to three groups of rows at sixteen columns.
pub(super) type Piece<S, const A: usize, const B: usize, const C: usize> =
    ([f32x16<S>; A], [f32x16<S>; B], [f32x16<S>; C]);

/// Rows as whole pieces and a last one filled up with ones.
#[inline(always)]
fn pieces<const N: usize>(
    rows: [&[f32]; N],
    n: usize,
) -> ([&[[f32; LANES]]; N], [[f32; LANES]; N]) {
    let whole = n / LANES;
    let last = rows.map(|row| {
        let mut last = [1.0; LANES];
        last[..n - whole * LANES].copy_from_slice(&row[whole * LANES..n]);
        last
    });
    (
        rows.map(|row| &row[..n].as_chunks::<LANES>().0[..whole]),
        last,
    )
}

/// The piece `k` of each row.
#[inline(always)]
fn load<S: Simd, const N: usize>(
    simd: S,
    (whole, last): &([&[[f32; LANES]]; N], [[f32; LANES]; N]),
    k: usize,
) -> [f32x16<S>; N] {
    let mut made = [f32x16::splat(simd, 0.0); N];
    for i in 0..N {
        made[i] = f32x16::load_array_ref(simd, whole[i].get(k).unwrap_or(&last[i]));
    }
    made
}

/// A piece, or as many values as there are and zeros.
#[inline(always)]
fn piece<S: Simd>(simd: S, row: &[f32]) -> f32x16<S> {
    match <&[f32; LANES]>::try_from(row) {
        Ok(whole) => f32x16::load_array_ref(simd, whole),
        Err(_) => {
            let mut part = [0.0; LANES];
            part[..row.len()].copy_from_slice(row);
            f32x16::load_array_ref(simd, &part)
        }
    }
}

/// Writes a piece, or what fits of it.
#[inline(always)]
pub(super) fn store<S: Simd>(made: f32x16<S>, to: &mut [f32]) {
    match <&mut [f32; LANES]>::try_from(&mut *to) {
        Ok(to) => made.store_array(to),
        Err(_) => {
            let n = to.len();
            to.copy_from_slice(&made.to_array()[..n]);
        }
    }
}

/// Three groups of rows.
type Rows<'a, const A: usize, const B: usize, const C: usize> =
    ([&'a [f32]; A], [&'a [f32]; B], [&'a [f32]; C]);

/// `out[m][x] = f(a[..][x], b[..][x], c[..][x])[m]`.
#[inline(always)]
pub(super) fn sweep<S: Simd, const A: usize, const B: usize, const C: usize, const M: usize>(
    simd: S,
    (a, b, c): Rows<'_, A, B, C>,
    mut out: [&mut [f32]; M],
    f: impl Fn(Piece<S, A, B, C>) -> [f32x16<S>; M],
) {
    let n = out.first().map_or(0, |o| o.len());
    let (a, b, c) = (pieces(a, n), pieces(b, n), pieces(c, n));
    for k in 0..n.div_ceil(LANES) {
        let made = f((load(simd, &a, k), load(simd, &b, k), load(simd, &c, k)));
        for (out, made) in out.iter_mut().zip(made) {
            let to = &mut out[k * LANES..n.min((k + 1) * LANES)];
            store(made, to);
        }
    }
}

/// `dst[x] = k_0 rows[r][x] + Σ k_i (rows[r-i][x] + rows[r+i][x])`, for symmetric taps.
#[inline(always)]
pub(super) fn mix<S: Simd, const N: usize>(
    simd: S,
    rows: [&[f32]; N],
    taps: &[f32],
    dst: &mut [f32],
) {
    let r = N / 2;
    let mut half = [0.0; N];
    half[..=r].copy_from_slice(&taps[r..]);
    sweep(
        simd,
        (rows, [], []),
        [dst],
        #[inline(always)]
        |(v, [], []): Piece<S, N, 0, 0>| {
            let mut sum = v[r] * half[0];
            for i in 1..=r {
                sum += (v[r - i] + v[r + i]) * half[i];
            }
            [sum]
        },
    );
}

/// The same with any number of rows.
#[inline(always)]
pub(super) fn mix_many<S: Simd>(simd: S, rows: &[&[f32]], taps: &[f32], dst: &mut [f32]) {
    let (n, r) = (dst.len(), taps.len() / 2);
    for (k, out) in dst.chunks_mut(LANES).enumerate() {
        let span = k * LANES..n.min((k + 1) * LANES);
        let mut sum = piece(simd, &rows[r][span.clone()]) * taps[r];
        for i in 1..=r {
            let before = piece(simd, &rows[r - i][span.clone()]);
            let after = piece(simd, &rows[r + i][span.clone()]);
            sum += (before + after) * taps[r + i];
        }
        store(sum, out);
    }
}
