//! Solves the normal equations of sixteen pixels.

use super::moments::{DATA, Sums, feature_sums};
use super::region::{Beside, ROW};
use super::{FEATURES, LocalRegression};
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16};
use limpid_reference::definition::nfor::STEP;

/// Maximum number of unknowns: 1, x, y and the features.
const SIZE: usize = FEATURES + 3;

/// The value of the fit at each of the sixteen pixels starting at `at`; the data itself if all weights are zero.
#[inline(always)]
pub(super) fn solve<S: Simd>(
    simd: S,
    fit: &LocalRegression,
    values: &[f32],
    sums: &Sums<S>,
    at: usize,
) -> [f32x16<S>; DATA] {
    let zero = f32x16::splat(simd, 0.0);
    let (n, columns) = (fit.features, fit.features + fit.data);
    let here = |c: usize| Beside::new(values, at + c * ROW).load(simd, 0);
    let all = sums[0];
    let place = |k: usize, c: usize| sums[6 + k * columns + c];
    let scale = [1.0, 1.0 / STEP, 1.0 / STEP];
    // The matrix and the right-hand sides relative to the pixel: its own features are subtracted.
    let mut low = [[zero; SIZE]; SIZE];
    let mut right = [[zero; SIZE]; DATA];
    let pairs = [[0, 1, 2], [1, 3, 4], [2, 4, 5]];
    for i in 0..3 {
        for j in 0..=i {
            low[i][j] = sums[pairs[i][j]] * (scale[i] * scale[j]);
        }
        for d in 0..fit.data {
            right[d][i] = place(i, n + d) * scale[i];
        }
    }
    for f in 0..n {
        let own = here(f);
        for (k, row) in [0, 1, 2].into_iter().zip(scale) {
            low[3 + f][k] = (place(k, f) - own * sums[pairs[k][0]]) * row;
        }
        for j in 0..=f {
            let other = here(j);
            let product = sums[feature_sums(fit, j) + f - j];
            let less = own * place(0, j) + other * place(0, f) - own * other * all;
            low[3 + f][3 + j] = product - less;
        }
        for d in 0..fit.data {
            let product = sums[feature_sums(fit, f) + n + d - f];
            right[d][3 + f] = product - own * place(0, n + d);
        }
    }
    // Cholesky decomposition in place, with pivots clamped to the ridge; `over` is one over the diagonal.
    let [share, feature, step] = fit.settings.ridge;
    let mut over = [zero; SIZE];
    for i in 0..n + 3 {
        let least = all
            * match i {
                0 => 1e-6,
                1 | 2 => step,
                _ => feature,
            };
        for j in 0..=i {
            let mut v = low[i][j];
            if i == j && i > 0 {
                v = v.max(zero) * (1.0 + share) + least;
            }
            for q in 0..j {
                v -= low[i][q] * low[j][q];
            }
            if i == j {
                over[i] = f32x16::splat(simd, 1.0) / v.max(least).sqrt();
            } else {
                low[i][j] = v * over[j];
            }
        }
    }
    // The first row of the inverse.
    let mut row = [zero; SIZE];
    for i in 0..n + 3 {
        let mut v = f32x16::splat(simd, if i == 0 { 1.0 } else { 0.0 });
        for q in 0..i {
            v -= low[i][q] * row[q];
        }
        row[i] = v * over[i];
    }
    for i in (0..n + 3).rev() {
        let mut v = row[i];
        for q in i + 1..n + 3 {
            v -= low[q][i] * row[q];
        }
        row[i] = v * over[i];
    }
    let some = all.simd_gt(zero);
    let mut out = [zero; DATA];
    for d in 0..fit.data {
        let mut value = zero;
        for i in 0..n + 3 {
            value += row[i] * right[d][i];
        }
        out[d] = some.select(value, here(n + d));
    }
    out
}
