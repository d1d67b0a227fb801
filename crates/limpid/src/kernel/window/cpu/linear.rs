//! Filters of rank one and two: columns first, into one padded row, then along it.

use super::clip;
use crate::kernel::Job;
use fearless_simd::Simd;

/// `dst[x] = k_0 rows[r][x] + Σ k_i (rows[r-i][x] + rows[r+i][x])`, for symmetric taps.
#[inline(always)]
fn mix<const N: usize>(rows: [&[f32]; N], taps: &[f32], dst: &mut [f32]) {
    let (n, r) = (dst.len(), N / 2);
    let rows = rows.map(|row| &row[..n]);
    let mut half = [0.0; N];
    half[..=r].copy_from_slice(&taps[r..]);
    for x in 0..n {
        let mut sum = rows[r][x] * half[0];
        for i in 1..=r {
            sum += (rows[r - i][x] + rows[r + i][x]) * half[i];
        }
        dst[x] = sum;
    }
}

/// The same with any number of taps, a piece of the row at a time.
#[inline(always)]
fn mix_many<'a>(rows: impl Fn(usize) -> &'a [f32], taps: &[f32], dst: &mut [f32]) {
    const PIECE: usize = 64;
    let r = taps.len() / 2;
    for (piece, out) in dst.chunks_mut(PIECE).enumerate() {
        let span = piece * PIECE..piece * PIECE + out.len();
        let mut sum = [0.0; PIECE];
        let sum = &mut sum[..out.len()];
        for (s, v) in sum.iter_mut().zip(&rows(r)[span.clone()]) {
            *s = v * taps[r];
        }
        for i in 1..=r {
            let (a, b) = (&rows(r - i)[span.clone()], &rows(r + i)[span.clone()]);
            for ((s, a), b) in sum.iter_mut().zip(a).zip(b) {
                *s += (a + b) * taps[r + i];
            }
        }
        out.copy_from_slice(sum);
    }
}

/// `mix` of the rows that `row(i)` gives, by the number of taps.
#[inline(always)]
fn mixed<'a>(row: impl Fn(usize) -> &'a [f32], taps: &[f32], dst: &mut [f32]) {
    match taps.len() {
        1 => mix::<1>(std::array::from_fn(row), taps, dst),
        3 => mix::<3>(std::array::from_fn(row), taps, dst),
        5 => mix::<5>(std::array::from_fn(row), taps, dst),
        7 => mix::<7>(std::array::from_fn(row), taps, dst),
        _ => mix_many(row, taps, dst),
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
pub(super) fn rank_one<S: Simd>(_: S, job: &mut Job<'_>, taps: &[f32]) {
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
            mixed(row, down, &mut padded[r..r + width]);
            let out = job.writes[0].row(plane, y);
            mixed(|i| &padded[i..i + width], along, out);
            for (x, factor) in &edges {
                out[*x] *= factor;
            }
        }
    }
}

#[inline(always)]
pub(super) fn vertical<S: Simd>(_: S, job: &mut Job<'_>, taps: &[f32]) {
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
            mixed(row, &down, job.writes[0].row(plane, y));
        }
    }
}

#[inline(always)]
pub(super) fn horizontal<S: Simd>(_: S, job: &mut Job<'_>, taps: &[f32]) {
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
            mixed(|i| &padded[i..i + width], &along, out);
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
pub(super) fn tent2<S: Simd>(_: S, job: &mut Job<'_>, r: usize, [peak, slope]: [f32; 2]) {
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
                    tent_down::<3>(std::array::from_fn(row), [peak, slope], t_row, u_row);
                    tent_along::<3>(t, u, slope, norm, out);
                }
                2 => {
                    tent_down::<5>(std::array::from_fn(row), [peak, slope], t_row, u_row);
                    tent_along::<5>(t, u, slope, norm, out);
                }
                3 => {
                    tent_down::<7>(std::array::from_fn(row), [peak, slope], t_row, u_row);
                    tent_along::<7>(t, u, slope, norm, out);
                }
                _ => tent_many(row, [peak, slope], (t, u), norm, out),
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
fn tent_down<const N: usize>(
    rows: [&[f32]; N],
    [peak, slope]: [f32; 2],
    t: &mut [f32],
    u: &mut [f32],
) {
    let (n, r) = (t.len(), N / 2);
    let rows = rows.map(|row| &row[..n]);
    let u = &mut u[..n];
    for x in 0..n {
        let mut plain = rows[r][x];
        let mut sum = plain * peak;
        for j in 1..=r {
            let pair = rows[r - j][x] + rows[r + j][x];
            plain += pair;
            sum += pair * (peak - slope * j as f32);
        }
        t[x] = sum;
        u[x] = plain;
    }
}

#[inline(always)]
fn tent_along<const N: usize>(t: &[f32], u: &[f32], slope: f32, norm: &[f32], out: &mut [f32]) {
    let (n, r) = (out.len(), N / 2);
    let t: [&[f32]; N] = std::array::from_fn(|i| &t[i..i + n]);
    let u: [&[f32]; N] = std::array::from_fn(|i| &u[i..i + n]);
    let norm = &norm[..n];
    for x in 0..n {
        let mut sum = t[r][x];
        for i in 1..=r {
            let pair = u[r - i][x] + u[r + i][x];
            sum += (t[r - i][x] + t[r + i][x]) - pair * (slope * i as f32);
        }
        out[x] = sum * norm[x];
    }
}

/// The same for any radius.
fn tent_many<'a>(
    row: impl Fn(usize) -> &'a [f32],
    [peak, slope]: [f32; 2],
    (t, u): (&mut [f32], &mut [f32]),
    norm: &[f32],
    out: &mut [f32],
) {
    let (n, r) = (out.len(), (t.len() - out.len()) / 2);
    let tent: Vec<f32> = (0..=2 * r)
        .map(|j| peak - slope * j.abs_diff(r) as f32)
        .collect();
    mix_many(&row, &tent, &mut t[r..r + n]);
    mix_many(&row, &vec![1.0; 2 * r + 1], &mut u[r..r + n]);
    let distance: Vec<f32> = (0..=2 * r).map(|i| slope * i.abs_diff(r) as f32).collect();
    mix_many(|i| &t[i..i + n], &vec![1.0; 2 * r + 1], out);
    // The column sums are done with: their row holds the second sum.
    let (second, rest) = t.split_at_mut(n);
    debug_assert_eq!(rest.len(), 2 * r);
    mix_many(|i| &u[i..i + n], &distance, second);
    for ((o, s), k) in out.iter_mut().zip(second.iter_mut()).zip(norm) {
        *o = (*o - *s) * k;
    }
    // The next row expects zeros at both ends.
    t[..r].fill(0.0);
    t[r + n..].fill(0.0);
}
