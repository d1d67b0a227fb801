//! The CPU bodies.
//!
//! Sums run over the taps in order, multiply then add, so that every SIMD level gives the same bits.

use crate::kernel::{Job, View};
use fearless_simd::{Simd, SimdBase, dispatch};
use std::ops::Range;

/// Rows, then columns, on a ring of filtered rows that stays in the cache.
pub(super) fn separable(job: &mut Job<'_>, taps: &[f32]) {
    let level = job.level;
    dispatch!(level, simd => separable_in(simd, job, taps));
}

/// A ring of `2r+1` filtered rows, the padded row, and one over the sum of taps at each column.
pub(super) fn separable_scratch(radius: usize, width: usize) -> usize {
    (2 * radius + 1) * width + (width + 2 * radius) + width
}

#[inline(always)]
fn separable_in<S: Simd>(simd: S, job: &mut Job<'_>, taps: &[f32]) {
    let src = &job.reads[0];
    let (width, height, r) = (src.size().width, src.size().height, taps.len() / 2);
    let (ring, rest) = job.scratch.split_at_mut(taps.len() * width);
    let (padded, rest) = rest.split_at_mut(width + 2 * r);
    let norm = &mut rest[..width];
    norms(taps, norm);
    padded.fill(0.0);
    for plane in 0..src.planes() {
        let mut next = job.rows.start.saturating_sub(r);
        for y in job.rows.clone() {
            let window = y.saturating_sub(r)..(y + r + 1).min(height);
            while next < window.end {
                padded[r..r + width].copy_from_slice(src.row(plane, next));
                let row = &mut ring[next % taps.len() * width..][..width];
                along(simd, padded, taps, norm, row);
                next += 1;
            }
            let used = &taps[window.start + r - y..window.end + r - y];
            let scale = 1.0 / used.iter().sum::<f32>();
            let rows: Vec<&[f32]> = window
                .map(|j| &ring[j % taps.len() * width..][..width])
                .collect();
            across(simd, &rows, used, scale, job.writes[0].row(plane, y));
        }
    }
}

/// One axis.
pub(super) fn axis(job: &mut Job<'_>, taps: &[f32], vertical: bool) {
    let level = job.level;
    if vertical {
        dispatch!(level, simd => vertical_in(simd, job, taps));
    } else {
        dispatch!(level, simd => horizontal_in(simd, job, taps));
    }
}

/// The padded row, and one over the sum of taps at each column.
pub(super) fn axis_scratch(radius: usize, width: usize) -> usize {
    (width + 2 * radius) + width
}

#[inline(always)]
fn vertical_in<S: Simd>(simd: S, job: &mut Job<'_>, taps: &[f32]) {
    let src = &job.reads[0];
    let (height, r) = (src.size().height, taps.len() / 2);
    for plane in 0..src.planes() {
        for y in job.rows.clone() {
            let window = y.saturating_sub(r)..(y + r + 1).min(height);
            let used = &taps[window.start + r - y..window.end + r - y];
            let scale = 1.0 / used.iter().sum::<f32>();
            let rows: Vec<&[f32]> = window.map(|j| src.row(plane, j)).collect();
            across(simd, &rows, used, scale, job.writes[0].row(plane, y));
        }
    }
}

#[inline(always)]
fn horizontal_in<S: Simd>(simd: S, job: &mut Job<'_>, taps: &[f32]) {
    let src = &job.reads[0];
    let (width, r) = (src.size().width, taps.len() / 2);
    let (padded, rest) = job.scratch.split_at_mut(width + 2 * r);
    let norm = &mut rest[..width];
    norms(taps, norm);
    padded.fill(0.0);
    for plane in 0..src.planes() {
        for y in job.rows.clone() {
            padded[r..r + width].copy_from_slice(src.row(plane, y));
            along(simd, padded, taps, norm, job.writes[0].row(plane, y));
        }
    }
}

/// All taps of the window, for each pixel.
pub(super) fn direct(job: &mut Job<'_>, taps: &[f32]) {
    let src = &job.reads[0];
    for plane in 0..src.planes() {
        for y in job.rows.clone() {
            for x in 0..src.size().width {
                job.writes[0].row(plane, y)[x] = direct_at(src, plane, x, y, taps);
            }
        }
    }
}

#[inline(always)]
fn direct_at(src: &View<'_>, plane: usize, x: usize, y: usize, taps: &[f32]) -> f32 {
    let (rows, ky) = clip(y, src.size().height, taps);
    let (columns, kx) = clip(x, src.size().width, taps);
    let (mut sum, mut weights) = (0.0, 0.0);
    for (j, wy) in rows.zip(ky) {
        for (v, wx) in src.row(plane, j)[columns.clone()].iter().zip(kx) {
            sum += wy * wx * v;
            weights += wy * wx;
        }
    }
    sum / weights
}

/// The part of the window around `at` that lies in `0..n`, and its taps.
fn clip(at: usize, n: usize, taps: &[f32]) -> (Range<usize>, &[f32]) {
    let r = taps.len() / 2;
    let window = at.saturating_sub(r)..(at + r + 1).min(n);
    let used = &taps[window.start + r - at..window.end + r - at];
    (window, used)
}

/// One over the sum of the taps that fall inside, for each column.
fn norms(taps: &[f32], norm: &mut [f32]) {
    let width = norm.len();
    for (x, n) in norm.iter_mut().enumerate() {
        *n = 1.0 / clip(x, width, taps).1.iter().sum::<f32>();
    }
}

/// `dst[x] = norm[x] * sum_i taps[i] * padded[x + i]`.
#[inline(always)]
fn along<S: Simd>(simd: S, padded: &[f32], taps: &[f32], norm: &[f32], dst: &mut [f32]) {
    let step = 4 * S::f32s::LEN;
    let whole = dst.len() / step * step;
    for x in (0..whole).step_by(step) {
        let mut sums = [S::f32s::splat(simd, 0.0); 4];
        for (i, k) in taps.iter().enumerate() {
            add(simd, &mut sums, &padded[x + i..x + i + step], *k);
        }
        let scale = norm[x..x + step].chunks_exact(S::f32s::LEN);
        let parts = dst[x..x + step].chunks_exact_mut(S::f32s::LEN);
        for ((sum, scale), part) in sums.into_iter().zip(scale).zip(parts) {
            (sum * S::f32s::from_slice(simd, scale)).store_slice(part);
        }
    }
    for x in whole..dst.len() {
        let sum = taps
            .iter()
            .zip(&padded[x..])
            .fold(0.0, |s, (k, v)| s + v * k);
        dst[x] = sum * norm[x];
    }
}

/// `dst[x] = scale * sum_i taps[i] * rows[i][x]`.
#[inline(always)]
fn across<S: Simd>(simd: S, rows: &[&[f32]], taps: &[f32], scale: f32, dst: &mut [f32]) {
    let step = 4 * S::f32s::LEN;
    let whole = dst.len() / step * step;
    for x in (0..whole).step_by(step) {
        let mut sums = [S::f32s::splat(simd, 0.0); 4];
        for (row, k) in rows.iter().zip(taps) {
            add(simd, &mut sums, &row[x..x + step], *k);
        }
        let parts = dst[x..x + step].chunks_exact_mut(S::f32s::LEN);
        for (sum, part) in sums.into_iter().zip(parts) {
            (sum * scale).store_slice(part);
        }
    }
    for x in whole..dst.len() {
        dst[x] = scale
            * rows
                .iter()
                .zip(taps)
                .fold(0.0, |s, (row, k)| s + row[x] * k);
    }
}

/// Adds `k` times four vectors of values: enough sums side by side to hide the latency of an addition.
#[inline(always)]
fn add<S: Simd>(simd: S, sums: &mut [S::f32s; 4], values: &[f32], k: f32) {
    for (sum, v) in sums.iter_mut().zip(values.chunks_exact(S::f32s::LEN)) {
        *sum += S::f32s::from_slice(simd, v) * k;
    }
}
