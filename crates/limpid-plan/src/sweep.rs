//! Sixteen columns at a time.
//!
//! Uses explicit vectors, because the compiler does not vectorise loops over many rows: it would have to check that no two of
//! them overlap. The last vector of a row overlaps with the one before it.

use fearless_simd::{Simd, SimdBase, f32x16};

/// Columns per vector.
pub const LANES: usize = 16;

/// The values of up to three groups of rows at sixteen columns.
pub type Piece<S, const A: usize, const B: usize, const C: usize> =
    ([f32x16<S>; A], [f32x16<S>; B], [f32x16<S>; C]);

/// The first `n` values of each row, so that one bounds check covers all. Short rows are copied to `filled`.
#[inline(always)]
fn cut<'a, const N: usize>(
    rows: [&'a [f32]; N],
    n: usize,
    filled: &'a mut Option<[[f32; LANES]; N]>,
) -> [&'a [f32]; N] {
    let mut made: [&[f32]; N] = [&[]; N];
    if n < LANES {
        let filled = filled.insert(fill(rows));
        for i in 0..N {
            made[i] = &filled[i];
        }
    } else {
        for i in 0..N {
            made[i] = &rows[i][..n];
        }
    }
    made
}

/// Rows of fewer than sixteen values, padded with ones.
#[cold]
#[inline(never)]
fn fill<const N: usize>(rows: [&[f32]; N]) -> [[f32; LANES]; N] {
    let mut filled = [[1.0; LANES]; N];
    for i in 0..N {
        filled[i][..rows[i].len()].copy_from_slice(rows[i]);
    }
    filled
}

/// The sixteen values of each row starting at column `x`.
#[inline(always)]
fn load<S: Simd, const N: usize>(simd: S, rows: &[&[f32]; N], x: usize) -> [f32x16<S>; N] {
    let mut made = [f32x16::splat(simd, 0.0); N];
    for i in 0..N {
        made[i] = f32x16::from_slice(simd, &rows[i][x..x + LANES]);
    }
    made
}

/// A vector, padded with zeros if there are fewer values.
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

/// Writes a vector, clipped to the row.
#[inline(always)]
pub fn store<S: Simd>(made: f32x16<S>, to: &mut [f32]) {
    match <&mut [f32; LANES]>::try_from(&mut *to) {
        Ok(to) => made.store_array(to),
        Err(_) => store_part(&made.to_array(), to),
    }
}

#[cold]
#[inline(never)]
fn store_part(made: &[f32; LANES], to: &mut [f32]) {
    to.copy_from_slice(&made[..to.len()]);
}

/// Three groups of rows.
type Rows<'a, const A: usize, const B: usize, const C: usize> =
    ([&'a [f32]; A], [&'a [f32]; B], [&'a [f32]; C]);

/// `out[k][m][x] = f(a[..][x], b[..][x], c[..][x])[k][m]`.
#[inline(always)]
pub fn sweep<
    S: Simd,
    const A: usize,
    const B: usize,
    const C: usize,
    const M: usize,
    const K: usize,
>(
    simd: S,
    (a, b, c): Rows<'_, A, B, C>,
    mut out: [[&mut [f32]; M]; K],
    f: impl Fn(Piece<S, A, B, C>) -> [[f32x16<S>; M]; K],
) {
    let n = out.as_flattened().first().map_or(0, |o| o.len());
    let mut filled = (None, None, None);
    let a = cut(a, n, &mut filled.0);
    let b = cut(b, n, &mut filled.1);
    let c = cut(c, n, &mut filled.2);
    // Short rows are computed as a whole piece beside their place.
    let mut spare = None;
    let whole = if n < LANES {
        slices(spare.insert([[[0.0; LANES]; M]; K]))
    } else {
        slices(&mut out)
    };
    for i in 0..n.div_ceil(LANES) {
        // The last piece overlaps with the one before; what both make is the same.
        let x = (i * LANES).min(n.saturating_sub(LANES));
        let made = f((load(simd, &a, x), load(simd, &b, x), load(simd, &c, x)));
        for k in 0..K {
            for m in 0..M {
                made[k][m].store_slice(&mut whole[k][m][x..x + LANES]);
            }
        }
    }
    if let Some(spare) = spare {
        for (out, made) in out.as_flattened_mut().iter_mut().zip(spare.as_flattened()) {
            out.copy_from_slice(&made[..n]);
        }
    }
}

/// Rows of any kind as slices.
#[inline(always)]
fn slices<T: AsMut<[f32]>, const M: usize, const K: usize>(
    rows: &mut [[T; M]; K],
) -> [[&mut [f32]; M]; K] {
    rows.each_mut().map(
        #[inline(always)]
        |rows| {
            rows.each_mut().map(
                #[inline(always)]
                |row| row.as_mut(),
            )
        },
    )
}

/// `k_0 v[c] + Σ k_i (v[c-i] + v[c+i])`, for `half` of symmetric taps.
#[inline(always)]
pub fn mix<S: Simd>(v: &[f32x16<S>], centre: usize, half: &[f32]) -> f32x16<S> {
    let mut sum = v[centre] * half[0];
    for i in 1..half.len() {
        sum += (v[centre - i] + v[centre + i]) * half[i];
    }
    sum
}

/// The sums of `v[q..q + R - 3]` for four `q`, sharing as many additions as possible.
#[inline(always)]
pub fn window<S: Simd, const R: usize>(v: &[f32x16<S>; R]) -> [f32x16<S>; 4] {
    let length = R - 3;
    if length == 1 {
        return [v[0], v[1], v[2], v[3]];
    }
    // The terms before and after those that all four have in common.
    let before = [v[0] + (v[1] + v[2]), v[1] + v[2], v[2]];
    let after = [
        v[R - 3],
        v[R - 3] + v[R - 2],
        (v[R - 3] + v[R - 2]) + v[R - 1],
    ];
    if length == 3 {
        return [
            before[0],
            before[1] + after[0],
            before[2] + after[1],
            after[2],
        ];
    }
    let mut both = v[3];
    for i in 4..length {
        both += v[i];
    }
    [
        before[0] + both,
        (before[1] + both) + after[0],
        (before[2] + both) + after[1],
        both + after[2],
    ]
}

/// `dst[x] = Σ taps[i] rows[i][x]` with any number of rows, for symmetric taps.
#[inline(always)]
pub fn mix_many<'a, S: Simd>(
    simd: S,
    row: &impl Fn(usize) -> &'a [f32],
    taps: &[f32],
    dst: &mut [f32],
) {
    let (n, r) = (dst.len(), taps.len() / 2);
    let rows: Vec<&[f32]> = (0..taps.len()).map(row).collect();
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
