//! Sums over rows and along them, and the combination of opposite weights.

use super::SYMMETRIC_LIMIT;
use std::ops::Range;

/// How many of the pixels from `at - f` to `at + f` lie in `valid`.
pub(super) fn count(at: i64, f: usize, valid: &Range<usize>) -> usize {
    let low = (at - f as i64).max(valid.start as i64);
    let high = (at + f as i64 + 1).min(valid.end as i64);
    (high - low).max(0) as usize
}

/// The part of a block's columns that lies in `valid`, relative to the block's first column.
pub(super) fn overlap(columns: &Range<usize>, valid: &Range<usize>) -> Range<usize> {
    let start = columns.start.max(valid.start);
    let end = columns.end.min(valid.end).max(start);
    start - columns.start..end - columns.start
}

/// `out[x] = Σ src[x … x + 2f]`.
#[inline(always)]
pub(super) fn along(src: &[f32], f: usize, out: &mut [f32]) {
    let n = out.len();
    match f {
        1 => {
            let taps: [&[f32]; 3] = std::array::from_fn(|i| &src[i..i + n]);
            for x in 0..n {
                out[x] = (taps[0][x] + taps[1][x]) + taps[2][x];
            }
        }
        3 => {
            let taps: [&[f32]; 7] = std::array::from_fn(|i| &src[i..i + n]);
            for x in 0..n {
                out[x] = ((taps[0][x] + taps[1][x]) + (taps[2][x] + taps[3][x]))
                    + ((taps[4][x] + taps[5][x]) + taps[6][x]);
            }
        }
        _ => {
            out.copy_from_slice(&src[..n]);
            for i in 1..=2 * f {
                add(out, &src[i..i + n]);
            }
        }
    }
}

/// Sums the rows `y - f … y + f` of a ring of `2f + 1` rows.
#[inline(always)]
pub(super) fn down(ring: &[f32], length: usize, f: usize, y: i64, out: &mut [f32]) {
    let n = out.len();
    let slots = 2 * f as i64 + 1;
    let row = |i: usize| {
        let slot = (y - f as i64 + i as i64).rem_euclid(slots) as usize;
        &ring[slot * length..][..n]
    };
    match f {
        1 => {
            let rows: [&[f32]; 3] = std::array::from_fn(row);
            for x in 0..n {
                out[x] = (rows[0][x] + rows[1][x]) + rows[2][x];
            }
        }
        3 => {
            let rows: [&[f32]; 7] = std::array::from_fn(row);
            for x in 0..n {
                out[x] = ((rows[0][x] + rows[1][x]) + (rows[2][x] + rows[3][x]))
                    + ((rows[4][x] + rows[5][x]) + rows[6][x]);
            }
        }
        _ => {
            out.copy_from_slice(row(0));
            for i in 1..=2 * f {
                add(out, row(i));
            }
        }
    }
}

/// `sums[x] += values[x]`.
#[inline(always)]
pub(super) fn add(sums: &mut [f32], values: &[f32]) {
    for (s, v) in sums.iter_mut().zip(values) {
        *s += v;
    }
}

/// `sums[x] += weights[x] * values[x]`.
#[inline(always)]
pub(super) fn add_product(sums: &mut [f32], weights: &[f32], values: &[f32]) {
    for ((s, w), v) in sums.iter_mut().zip(weights).zip(values) {
        *s += w * v;
    }
}

/// Section 3.2.4: where the mean of two opposite pixels is closer than each of them, both get the weight of their mean.
#[inline(always)]
pub(super) fn combine(w: &mut [&mut [f32]; 3], d: &[&mut [f32]; 3], range: Range<usize>) {
    let [plus, minus, mean] = w;
    let (plus, minus) = (&mut plus[range.clone()], &mut minus[range.clone()]);
    let n = plus.len();
    let minus = &mut minus[..n];
    let mean = &mean[range.clone()][..n];
    let (d0, d1) = (&d[0][range.clone()][..n], &d[1][range][..n]);
    for x in 0..n {
        let near = d0[x].max(d1[x]) < SYMMETRIC_LIMIT;
        let a = (mean[x] / (plus[x] + minus[x]) - 1.0).clamp(0.0, 1.0);
        let a = if near { a } else { 0.0 };
        plus[x] = a * mean[x] + (1.0 - a) * plus[x];
        minus[x] = a * mean[x] + (1.0 - a) * minus[x];
    }
}
