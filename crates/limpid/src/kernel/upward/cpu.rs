//! The CPU body: details of a row are made once, their squares summed along the row, then down a ring of rows.

use super::{OPPONENT, RADIUS, Shrink, shrunk};
use crate::kernel::{Job, View, ViewMut};
use fearless_simd::{Simd, dispatch};

const SIDE: usize = 2 * RADIUS + 1;

/// For each channel a ring of rows of sums, and a row of details, of sums, of squares and of shares.
pub(super) fn scratch(colors: usize, width: usize) -> usize {
    (SIDE * colors + colors + 3) * width
}

pub(super) fn run(kernel: &Shrink, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

#[inline(always)]
fn rows<S: Simd>(_simd: S, kernel: &Shrink, job: &mut Job<'_>) {
    let size = job.reads[0].size();
    let (width, colors) = (size.width, kernel.colors);
    let (ring, rest) = job.scratch.split_at_mut(SIDE * colors * width);
    let (details, rest) = rest.split_at_mut(colors * width);
    let (squares, rest) = rest.split_at_mut(width);
    let (sums, rest) = rest.split_at_mut(width);
    // One over the columns of each pixel's window.
    let shares = &mut rest[..width];
    for (x, share) in shares.iter_mut().enumerate() {
        let columns = (x + RADIUS + 1).min(width) - x.saturating_sub(RADIUS);
        *share = 1.0 / columns as f32;
    }
    let mut next = job.rows.start.saturating_sub(RADIUS);
    for y in job.rows.clone() {
        let window = y.saturating_sub(RADIUS)..(y + RADIUS + 1).min(size.height);
        while next < window.end {
            turned(kernel, &job.reads, next, details);
            for k in 0..colors {
                for (s, d) in squares.iter_mut().zip(&details[k * width..][..width]) {
                    *s = d * d;
                }
                along(
                    squares,
                    &mut ring[(next % SIDE * colors + k) * width..][..width],
                );
            }
            next += 1;
        }
        turned(kernel, &job.reads, y, details);
        for k in 0..colors {
            sums.fill(0.0);
            for j in window.clone() {
                let row = &ring[(j % SIDE * colors + k) * width..][..width];
                for (s, v) in sums.iter_mut().zip(row) {
                    *s += v;
                }
            }
            let noise = kernel.noise[usize::from(k > 0)];
            let share = 1.0 / window.len() as f32;
            let details = &mut details[k * width..][..width];
            for ((d, sum), columns) in details.iter_mut().zip(&*sums).zip(&*shares) {
                *d = shrunk(*d, sum * (columns * share), noise);
            }
        }
        back(kernel, &job.reads, &mut job.writes[0], y, details);
    }
}

/// Sums over the window along a row.
#[inline(always)]
fn along(squares: &[f32], out: &mut [f32]) {
    let width = out.len();
    let inside = RADIUS.min(width)..width.saturating_sub(RADIUS).max(RADIUS.min(width));
    for x in (0..inside.start).chain(inside.end..width) {
        let window = x.saturating_sub(RADIUS)..(x + RADIUS + 1).min(width);
        out[x] = squares[window].iter().sum();
    }
    let count = inside.len();
    let shifted: [&[f32]; SIDE] = std::array::from_fn(|i| {
        // Where nothing is inside, there may be fewer than `SIDE` columns.
        let from = i.min(width - count);
        &squares[from..from + count]
    });
    for (x, o) in out[inside].iter_mut().enumerate() {
        let mut sum = 0.0;
        for row in &shifted {
            sum += row[x];
        }
        *o = sum;
    }
}

/// The details of a row, as luminance and differences of colour.
#[inline(always)]
fn turned(kernel: &Shrink, reads: &[View<'_>], y: usize, out: &mut [f32]) {
    let width = reads[0].size().width;
    if kernel.colors == 1 {
        let (fine, coarse) = (reads[0].row(0, y), reads[1].row(0, y));
        for ((o, f), c) in out[..width].iter_mut().zip(fine).zip(coarse) {
            *o = f - c;
        }
        return;
    }
    let fine: [&[f32]; 3] = std::array::from_fn(|k| &reads[0].row(k, y)[..width]);
    let coarse: [&[f32]; 3] = std::array::from_fn(|k| &reads[1].row(k, y)[..width]);
    for (k, turn) in OPPONENT.iter().enumerate() {
        let out = &mut out[k * width..][..width];
        for x in 0..width {
            let mut sum = 0.0;
            for c in 0..3 {
                sum += turn[c] * (fine[c][x] - coarse[c][x]);
            }
            out[x] = sum;
        }
    }
}

/// Adds the details of a row, turned back, to the sum.
#[inline(always)]
fn back(kernel: &Shrink, reads: &[View<'_>], write: &mut ViewMut<'_>, y: usize, details: &[f32]) {
    let width = reads[0].size().width;
    for c in 0..kernel.colors {
        let coarse = reads[1].row(c, y);
        let sum = &mut write.row(c, y)[..width];
        for x in 0..width {
            let mut kept = 0.0;
            if kernel.colors == 1 {
                kept = details[x];
            } else {
                for k in 0..3 {
                    kept += OPPONENT[k][c] * details[k * width + x];
                }
            }
            let before = if kernel.first { 0.0 } else { sum[x] };
            let end = if kernel.last { coarse[x] } else { 0.0 };
            sum[x] = before + kernel.gain * kept + end;
        }
    }
}
