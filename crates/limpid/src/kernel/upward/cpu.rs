//! The CPU body: details of a row are made once, their squares summed along the row, then down a ring of rows.

use super::{RADIUS, Shrink, shrunk};
use crate::kernel::{Job, View, ViewMut};
use crate::simd::dispatch;
use fearless_simd::Simd;

const SIDE: usize = 2 * RADIUS + 1;
const _: () = assert!(SIDE == 13, "windows are summed as 8 + 4 + 1 columns");

/// For each channel a ring of rows of sums, and a row of details, of sums, of squares and of shares; three for sums of few.
pub(super) fn scratch(colors: usize, width: usize) -> usize {
    (SIDE * colors + colors + 6) * width
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
    let (shares, rest) = rest.split_at_mut(width);
    let steps = &mut rest[..3 * width];
    for (x, share) in shares.iter_mut().enumerate() {
        let columns = (x + RADIUS + 1).min(width) - x.saturating_sub(RADIUS);
        *share = 1.0 / columns as f32;
    }
    let mut next = job.rows.start.saturating_sub(RADIUS);
    for y in job.rows.clone() {
        let window = y.saturating_sub(RADIUS)..(y + RADIUS + 1).min(size.height);
        while next < window.end {
            subtracted(kernel, &job.reads, next, details);
            for k in 0..colors {
                for (s, d) in squares.iter_mut().zip(&details[k * width..][..width]) {
                    *s = d * d;
                }
                along(
                    squares,
                    steps,
                    &mut ring[(next % SIDE * colors + k) * width..][..width],
                );
            }
            next += 1;
        }
        subtracted(kernel, &job.reads, y, details);
        for k in 0..colors {
            sums.fill(0.0);
            let row = |j: usize| &ring[(j % SIDE * colors + k) * width..][..width];
            let mut from = window.start;
            // Four rows at a time: the sums are read and written less often.
            while from + 4 <= window.end {
                let [a, b, c, d] = [row(from), row(from + 1), row(from + 2), row(from + 3)];
                let sums = &mut sums[..width];
                for x in 0..width {
                    sums[x] += (a[x] + b[x]) + (c[x] + d[x]);
                }
                from += 4;
            }
            for j in from..window.end {
                for (s, v) in sums.iter_mut().zip(row(j)) {
                    *s += v;
                }
            }
            let noise = kernel.noise[k.min(2)];
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
fn along(squares: &[f32], steps: &mut [f32], out: &mut [f32]) {
    let width = out.len();
    let inside = RADIUS.min(width)..width.saturating_sub(RADIUS).max(RADIUS.min(width));
    for x in (0..inside.start).chain(inside.end..width) {
        let window = x.saturating_sub(RADIUS)..(x + RADIUS + 1).min(width);
        out[x] = squares[window].iter().sum();
    }
    let count = inside.len();
    // Sums over 2, 4 and 8 columns; one over all is made of the last two and the columns left. Slices of one length, or the
    // loops would check each index.
    let (twos, rest) = steps.split_at_mut(width);
    let (fours, eights) = rest.split_at_mut(width);
    pairs(squares, 1, twos);
    pairs(twos, 2, fours);
    pairs(fours, 4, eights);
    if count > 0 {
        let (eights, fours) = (&eights[..count], &fours[8..8 + count]);
        let (last, out) = (&squares[12..12 + count], &mut out[inside]);
        for x in 0..count {
            out[x] = eights[x] + fours[x] + last[x];
        }
    }
}

/// The sum of each value and the one `step` after it; the last ones are left.
#[inline(always)]
fn pairs(from: &[f32], step: usize, to: &mut [f32]) {
    let count = from.len().saturating_sub(step);
    let (a, b) = (&from[..count], &from[from.len() - count..]);
    let to = &mut to[..count];
    for x in 0..count {
        to[x] = a[x] + b[x];
    }
}

/// The details of a row.
#[inline(always)]
fn subtracted(kernel: &Shrink, reads: &[View<'_>], y: usize, out: &mut [f32]) {
    let width = reads[0].size().width;
    for k in 0..kernel.colors {
        let (fine, coarse) = (reads[0].row(k, y), reads[1].row(k, y));
        let out = out[k * width..][..width].iter_mut();
        for ((o, f), c) in out.zip(fine).zip(coarse) {
            *o = f - c;
        }
    }
}

/// Adds the details of a row to the sum.
#[inline(always)]
fn back(kernel: &Shrink, reads: &[View<'_>], write: &mut ViewMut<'_>, y: usize, details: &[f32]) {
    let width = reads[0].size().width;
    for c in 0..kernel.colors {
        let coarse = &reads[1].row(c, y)[..width];
        let sum = &mut write.row(c, y)[..width];
        if kernel.first {
            sum.fill(0.0);
        }
        let kept = &details[c * width..][..width];
        for x in 0..width {
            sum[x] += kernel.gain * kept[x];
        }
        if kernel.last {
            for x in 0..width {
                sum[x] += coarse[x];
            }
        }
    }
}
