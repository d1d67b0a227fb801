//! The CPU body: squared details are summed along each row once, and rows of sums are kept in a ring buffer.

use super::{Upward, shrunk};
use fearless_simd::f32x16;
use fearless_simd::prelude::*;
use limpid_core::simd::dispatch;
use limpid_plan::ring;
use limpid_plan::ring::{PIECES, WIDTH};
use limpid_plan::{Job, View};

/// Output columns, in whole strips.
fn made(width: usize) -> usize {
    width.next_multiple_of(WIDTH)
}

/// Words of a row of squares with its margins.
fn padded(kernel: &Upward, width: usize) -> usize {
    made(width) + 2 * (kernel.radius() << kernel.level)
}

/// A row of squares, the ring, a row of sums, and one over the number of columns of each window.
pub(super) fn scratch(kernel: &Upward, width: usize) -> usize {
    let rows = (2 * kernel.radius() + 1) * kernel.colors + 2;
    padded(kernel, width) + rows * made(width)
}

pub(super) fn run(kernel: &Upward, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

#[inline(always)]
fn rows<S: Simd>(simd: S, kernel: &Upward, job: &mut Job<'_>) {
    let size = job.reads[0].size();
    let (width, made, colors) = (size.width, made(size.width), kernel.colors);
    let (radius, step) = (kernel.radius(), 1 << kernel.level);
    let side = 2 * radius + 1;
    let (squares, rest) = job.scratch.split_at_mut(padded(kernel, width));
    let (held, rest) = rest.split_at_mut(side * colors * made);
    let (sums, shares) = rest.split_at_mut(made);
    squares.fill(0.0);
    for (x, share) in shares[..width].iter_mut().enumerate() {
        let columns = 1 + (x / step).min(radius) + ((width - 1 - x) / step).min(radius);
        *share = 1.0 / columns as f32;
    }
    // Rows whose windows share rows are consecutive.
    let starts = job.rows.clone().take(step);
    let end = job.rows.end;
    let mut holds = vec![None; side];
    for y in starts.flat_map(|first| (first..end).step_by(step)) {
        let above = (y / step).min(radius);
        let below = ((size.height - 1 - y) / step).min(radius);
        let window = || (0..=above + below).map(|k| y - above * step + k * step);
        for row in window() {
            let slot = row / step % side;
            if holds[slot].replace(row) == Some(row) {
                continue;
            }
            for k in 0..colors {
                let to = &mut squares[radius * step..][..width];
                squared(&job.reads, k, row, to);
                let to = &mut held[(slot * colors + k) * made..][..made];
                let starts = (0..side).map(|tap| tap * step);
                add_up(simd, squares, starts, to);
            }
        }
        let share = 1.0 / (above + below + 1) as f32;
        for k in 0..colors {
            let starts = window().map(|row| (row / step % side * colors + k) * made);
            add_up(simd, held, starts, sums);
            let (fine, coarse) = (job.reads[0].row(k, y), job.reads[1].row(k, y));
            let (noise, gain) = (kernel.noise[k.min(2)], kernel.gain);
            let out = &mut job.writes[0].row(k, y)[..width];
            match job.reads.get(2) {
                Some(finer) => out.copy_from_slice(&finer.row(k, y)[..width]),
                None => out.fill(0.0),
            }
            let windows = sums.iter().zip(&*shares);
            let levels = fine.iter().zip(coarse);
            for ((out, (f, c)), (sum, columns)) in out.iter_mut().zip(levels).zip(windows) {
                let base = if kernel.last { *c } else { 0.0 };
                *out += base + gain * shrunk(f - c, sum * (columns * share), noise);
            }
        }
    }
}

/// The squares of a row's details.
#[inline(always)]
fn squared(reads: &[View<'_>], k: usize, y: usize, out: &mut [f32]) {
    let (fine, coarse) = (reads[0].row(k, y), reads[1].row(k, y));
    for ((o, f), c) in out.iter_mut().zip(fine).zip(coarse) {
        *o = (f - c) * (f - c);
    }
}

/// The sum of all lines that start at these positions.
#[inline(always)]
fn add_up<S: Simd>(
    simd: S,
    memory: &[f32],
    starts: impl Iterator<Item = usize> + Clone,
    out: &mut [f32],
) {
    for x in (0..out.len()).step_by(WIDTH) {
        let mut sums = [f32x16::splat(simd, 0.0); PIECES];
        for start in starts.clone() {
            let line = ring::load(simd, memory, start + x);
            for k in 0..PIECES {
                sums[k] += line[k];
            }
        }
        ring::put(sums, out, x);
    }
}
