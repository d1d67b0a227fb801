//! Filters of rank one and two: columns first, into one padded row, then along it.

use super::clip;
use super::sweep::{Piece, mix, mix_many, sweep};
use crate::kernel::Job;
use fearless_simd::Simd;

/// The rows that `row(i)` gives, mixed, by the number of taps.
#[inline(always)]
fn mixed<'a, S: Simd>(simd: S, row: impl Fn(usize) -> &'a [f32], taps: &[f32], dst: &mut [f32]) {
    match taps.len() {
        1 => mix::<S, 1>(simd, std::array::from_fn(row), taps, dst),
        3 => mix::<S, 3>(simd, std::array::from_fn(row), taps, dst),
        5 => mix::<S, 5>(simd, std::array::from_fn(row), taps, dst),
        7 => mix::<S, 7>(simd, std::array::from_fn(row), taps, dst),
        n => mix_many(simd, &(0..n).map(row).collect::<Vec<_>>(), taps, dst),
    }
}

/// The taps divided by the sum of those that fall inside `0..n` around `at`.
fn scaled(taps: &[f32], at: usize, n: usize, into: &mut [f32]) {
    let r = taps.len() / 2;
    let window = clip(at, n, r);
    let sum: f32 = taps[window.start + r - at..window.end + r - at]
        .iter()
        .sum();
    for (s, t) in into.iter_mut().zip(taps) {
        *s = t / sum;
    }
}

/// What a value near the ends of a row must be multiplied by, since taps fell outside: `(x, factor)`.
fn edges(taps: &[f32], width: usize) -> Vec<(usize, f32)> {
    let r = taps.len() / 2;
    let all: f32 = taps.iter().sum();
    let near = |x: &usize| *x < r || x + r >= width;
    let factor = |x: usize| {
        let window = clip(x, width, r);
        all / taps[window.start + r - x..window.end + r - x]
            .iter()
            .sum::<f32>()
    };
    (0..width).filter(near).map(|x| (x, factor(x))).collect()
}

/// A padded row, a row of zeros, and two sets of taps.
pub(super) fn rank_one_scratch(radius: usize, width: usize) -> usize {
    (width + 2 * radius) + width + 2 * (2 * radius + 1)
}

#[inline(always)]
pub(super) fn rank_one<S: Simd>(simd: S, job: &mut Job<'_>, taps: &[f32]) {
    let src = job.reads[0].clone();
    let (width, height, r) = (src.size().width, src.size().height, taps.len() / 2);
    let (padded, rest) = job.scratch.split_at_mut(width + 2 * r);
    let (zero, rest) = rest.split_at_mut(width);
    let (down, along) = rest.split_at_mut(taps.len());
    let along = &mut along[..taps.len()];
    let all: f32 = taps.iter().sum();
    for (a, t) in along.iter_mut().zip(taps) {
        *a = t / all;
    }
    let edges = edges(taps, width);
    padded.fill(0.0);
    zero.fill(0.0);
    for y in job.rows.clone() {
        scaled(taps, y, height, down);
        for plane in 0..src.planes() {
            let row = |i: usize| match (y + i).checked_sub(r) {
                Some(j) if j < height => src.row(plane, j),
                _ => &*zero,
            };
            mixed(simd, row, down, &mut padded[r..r + width]);
            let out = job.writes[0].row(plane, y);
            mixed(simd, |i| &padded[i..i + width], along, out);
            for (x, factor) in &edges {
                out[*x] *= factor;
            }
        }
    }
}

#[inline(always)]
pub(super) fn vertical<S: Simd>(simd: S, job: &mut Job<'_>, taps: &[f32]) {
    let src = job.reads[0].clone();
    let (width, height, r) = (src.size().width, src.size().height, taps.len() / 2);
    let (zero, mut down) = (vec![0.0; width], taps.to_vec());
    for y in job.rows.clone() {
        scaled(taps, y, height, &mut down);
        for plane in 0..src.planes() {
            let row = |i: usize| match (y + i).checked_sub(r) {
                Some(j) if j < height => src.row(plane, j),
                _ => &zero,
            };
            mixed(simd, row, &down, job.writes[0].row(plane, y));
        }
    }
}

#[inline(always)]
pub(super) fn horizontal<S: Simd>(simd: S, job: &mut Job<'_>, taps: &[f32]) {
    let src = job.reads[0].clone();
    let (width, r) = (src.size().width, taps.len() / 2);
    let all: f32 = taps.iter().sum();
    let along: Vec<f32> = taps.iter().map(|t| t / all).collect();
    let edges = edges(taps, width);
    let padded = &mut job.scratch[..width + 2 * r];
    padded.fill(0.0);
    for y in job.rows.clone() {
        for plane in 0..src.planes() {
            padded[r..r + width].copy_from_slice(src.row(plane, y));
            let out = job.writes[0].row(plane, y);
            mixed(simd, |i| &padded[i..i + width], &along, out);
            for (x, factor) in &edges {
                out[*x] *= factor;
            }
        }
    }
}

/// Two padded rows, a row of zeros, and one over the weights of each column.
pub(super) fn tent2_scratch(radius: usize, width: usize) -> usize {
    2 * (width + 2 * radius) + 2 * width
}

/// `k - b(|i| + |j|)`: with column sums `t = Σ (k - b|j|) I` and `u = Σ I`, a pixel is `Σ t - b Σ |i| u` along the row.
#[inline(always)]
pub(super) fn tent2<S: Simd>(simd: S, job: &mut Job<'_>, r: usize, [peak, slope]: [f32; 2]) {
    let src = job.reads[0].clone();
    let (width, height) = (src.size().width, src.size().height);
    let (t, rest) = job.scratch.split_at_mut(width + 2 * r);
    let (u, rest) = rest.split_at_mut(width + 2 * r);
    let (zero, rest) = rest.split_at_mut(width);
    let norm = &mut rest[..width];
    t.fill(0.0);
    u.fill(0.0);
    zero.fill(0.0);
    let mut normed = None;
    for y in job.rows.clone() {
        let inside = counts(y, height, r);
        if normed != Some(inside) {
            for (x, n) in norm.iter_mut().enumerate() {
                let ((ny, sy), (nx, sx)) = (inside, counts(x, width, r));
                *n = 1.0 / (peak * nx * ny - slope * (ny * sx + nx * sy));
            }
            normed = Some(inside);
        }
        for plane in 0..src.planes() {
            let row = |i: usize| match (y + i).checked_sub(r) {
                Some(j) if j < height => src.row(plane, j),
                _ => &*zero,
            };
            let (t_row, u_row) = (&mut t[r..r + width], &mut u[r..r + width]);
            let out = job.writes[0].row(plane, y);
            match r {
                1 => {
                    tent_down::<S, 3>(
                        simd,
                        std::array::from_fn(row),
                        [peak, slope],
                        [t_row, u_row],
                    );
                    tent_along::<S, 3>(simd, [t, u], slope, norm, out);
                }
                2 => {
                    tent_down::<S, 5>(
                        simd,
                        std::array::from_fn(row),
                        [peak, slope],
                        [t_row, u_row],
                    );
                    tent_along::<S, 5>(simd, [t, u], slope, norm, out);
                }
                3 => {
                    tent_down::<S, 7>(
                        simd,
                        std::array::from_fn(row),
                        [peak, slope],
                        [t_row, u_row],
                    );
                    tent_along::<S, 7>(simd, [t, u], slope, norm, out);
                }
                _ => {
                    let rows: Vec<&[f32]> = (0..=2 * r).map(row).collect();
                    tent_many(simd, &rows, [peak, slope], (t, u), (norm, out));
                }
            }
        }
    }
}

/// Taps inside, and the sum of their distances.
fn counts(at: usize, n: usize, radius: usize) -> (f32, f32) {
    let window = clip(at, n, radius);
    let distance: usize = window.clone().map(|q| q.abs_diff(at)).sum();
    (window.len() as f32, distance as f32)
}

#[inline(always)]
fn tent_down<S: Simd, const N: usize>(
    simd: S,
    rows: [&[f32]; N],
    [peak, slope]: [f32; 2],
    into: [&mut [f32]; 2],
) {
    let r = N / 2;
    sweep(
        simd,
        (rows, [], []),
        into,
        #[inline(always)]
        |(v, [], []): Piece<S, N, 0, 0>| {
            let mut plain = v[r];
            let mut sum = plain * peak;
            for j in 1..=r {
                let pair = v[r - j] + v[r + j];
                plain += pair;
                sum += pair * (peak - slope * j as f32);
            }
            [sum, plain]
        },
    );
}

#[inline(always)]
fn tent_along<S: Simd, const N: usize>(
    simd: S,
    [t, u]: [&[f32]; 2],
    slope: f32,
    norm: &[f32],
    out: &mut [f32],
) {
    let (n, r) = (out.len(), N / 2);
    let t: [&[f32]; N] = std::array::from_fn(|i| &t[i..i + n]);
    let u: [&[f32]; N] = std::array::from_fn(|i| &u[i..i + n]);
    sweep(
        simd,
        (t, u, [norm]),
        [out],
        #[inline(always)]
        |(t, u, [norm]): Piece<S, N, N, 1>| {
            let mut sum = t[r];
            for i in 1..=r {
                let pair = u[r - i] + u[r + i];
                sum += (t[r - i] + t[r + i]) - pair * (slope * i as f32);
            }
            [sum * norm]
        },
    );
}

/// A padded row as `2r + 1` rows, each one later than the one before.
fn shifts(row: &[f32], r: usize) -> Vec<&[f32]> {
    let n = row.len() - 2 * r;
    (0..=2 * r).map(|i| &row[i..i + n]).collect()
}

/// The same for any radius.
#[inline(always)]
fn tent_many<S: Simd>(
    simd: S,
    rows: &[&[f32]],
    [peak, slope]: [f32; 2],
    (t, u): (&mut [f32], &mut [f32]),
    (norm, out): (&[f32], &mut [f32]),
) {
    let (n, r) = (out.len(), rows.len() / 2);
    let taps = |tap: &dyn Fn(f32) -> f32| -> Vec<f32> {
        (0..=2 * r).map(|j| tap(j.abs_diff(r) as f32)).collect()
    };
    let ones = taps(&|_| 1.0);
    mix_many(simd, rows, &taps(&|j| peak - slope * j), &mut t[r..r + n]);
    mix_many(simd, rows, &ones, &mut u[r..r + n]);
    mix_many(simd, &shifts(t, r), &ones, out);
    // The column sums are done with: their row takes the second sum.
    mix_many(simd, &shifts(u, r), &taps(&|i| slope * i), &mut t[..n]);
    for ((o, s), k) in out.iter_mut().zip(&t[..n]).zip(norm) {
        *o = (*o - s) * k;
    }
    // The next row expects zeros at both ends.
    t[..r].fill(0.0);
    t[r + n..].fill(0.0);
}
