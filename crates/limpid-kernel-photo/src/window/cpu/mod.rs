//! The CPU bodies.
//!
//! Sums have a fixed order, multiply then add, so that neither the SIMD level nor the height of bands changes a bit. Only the
//! bilateral filter, which is limited by arithmetic, depends on the SIMD level.

mod bilateral;
mod linear;
mod quads;
mod variance;

use super::Filter;
use limpid_core::Size;
use limpid_core::simd::dispatch;
use limpid_plan::{Job, View};
use quads::quads;
use std::ops::Range;

/// One axis after the other, in one pass over memory; the bilateral filter, which is not separable, with vectors.
pub(super) fn separable(job: &mut Job<'_>, filter: Filter, radius: usize) {
    let (level, size) = (job.level, job.reads[0].size());
    match filter {
        Filter::Gaussian { .. } | Filter::Tent { .. } => {
            let taps = filter.taps(radius);
            rank_one(job, &taps, &taps);
        }
        Filter::Tent2 { peak, slope } => {
            let tent = linear::Tent2 {
                radius,
                peak,
                slope,
                width: size.width,
                height: size.height,
            };
            dispatch!(level, simd => quads(simd, job, &tent));
        }
        Filter::Variance => match variance::SmallWindow::new(radius, size) {
            Some(small) => dispatch!(level, simd => quads(simd, job, &small)),
            None => dispatch!(level, simd => variance::large(simd, job, radius)),
        },
        Filter::Bilateral { space, range } => {
            dispatch!(level, simd => bilateral::bilateral(simd, job, radius, [space, range]));
        }
    }
}

fn rank_one(job: &mut Job<'_>, down: &[f32], along: &[f32]) {
    let (level, size) = (job.level, job.reads[0].size());
    let filter = linear::RankOne::new(down, along, size.width, size.height);
    dispatch!(level, simd => quads(simd, job, &filter));
}

/// Words of scratch memory for [`separable`].
pub(super) fn scratch(filter: Filter, radius: usize, size: Size) -> usize {
    let width = size.width;
    match filter {
        Filter::Gaussian { .. } | Filter::Tent { .. } => quads::scratch(radius, 1, size),
        Filter::Tent2 { .. } => quads::scratch(radius, 2, size),
        Filter::Variance => quads::scratch(radius, 2, size).max(variance::scratch(radius, width)),
        Filter::Bilateral { .. } => bilateral::scratch(radius, width),
    }
}

/// One axis of a filter of rank one.
pub(super) fn axis(job: &mut Job<'_>, taps: &[f32], vertical: bool) {
    if vertical {
        rank_one(job, taps, &[1.0]);
    } else {
        rank_one(job, &[1.0], taps);
    }
}

/// Words of scratch memory for [`axis`].
pub(super) fn axis_scratch(radius: usize, size: Size) -> usize {
    quads::scratch(radius, 1, size)
}

/// The part of the window around `at` that lies in `0..n`.
fn clip(at: usize, n: usize, radius: usize) -> Range<usize> {
    at.saturating_sub(radius)..(at + radius + 1).min(n)
}

/// All taps of the window, pixel by pixel.
pub(super) fn direct(job: &mut Job<'_>, filter: Filter, radius: usize) {
    let src = job.reads[0].clone();
    let taps = filter.taps(radius);
    let planes = src.planes();
    let mut sums = vec![[0.0f32; 3]; planes];
    for y in job.rows.clone() {
        for x in 0..src.size().width {
            sums.fill([0.0; 3]);
            walk(&src, filter, &taps, (x, y), &mut sums);
            for (plane, s) in sums.iter().enumerate() {
                let (first, second) = finish(*s);
                job.writes[0].row(plane, y)[x] = first;
                if let Some(other) = job.writes.get_mut(1) {
                    other.row(plane, y)[x] = second;
                }
            }
        }
    }
}

/// For each plane: sum, sum of squares, weights.
fn walk(src: &View<'_>, filter: Filter, taps: &[f32], at: (usize, usize), sums: &mut [[f32; 3]]) {
    let (size, r, (x, y)) = (src.size(), taps.len() / 2, at);
    for qy in clip(y, size.height, r) {
        for qx in clip(x, size.width, r) {
            let (i, j) = (qx.abs_diff(x), qy.abs_diff(y));
            let distance = |planes: usize| {
                let d = |p: usize| src.row(p, qy)[qx] - src.row(p, y)[x];
                (0..planes).map(|p| d(p) * d(p)).sum::<f32>()
            };
            let weight = weight(filter, taps, (i, j), || distance(src.planes()));
            for (plane, [sum, squares, weights]) in sums.iter_mut().enumerate() {
                let v = src.row(plane, qy)[qx];
                *sum += weight * v;
                *squares += weight * v * v;
                *weights += weight;
            }
        }
    }
}

fn weight(filter: Filter, taps: &[f32], (i, j): (usize, usize), distance: impl Fn() -> f32) -> f32 {
    let r = taps.len() / 2;
    match filter {
        Filter::Gaussian { .. } | Filter::Tent { .. } => taps[r + i] * taps[r + j],
        Filter::Tent2 { peak, slope } => peak - slope * (i + j) as f32,
        Filter::Variance => 1.0,
        Filter::Bilateral { space, range } => {
            let near = -0.5 / (space * space) * (i * i + j * j) as f32;
            limpid_plan::fast_exp::fast_exp(near - 0.5 / (range * range) * distance())
        }
    }
}

/// Mean and standard deviation from sum, sum of squares and weights.
fn finish([sum, squares, weights]: [f32; 3]) -> (f32, f32) {
    let mean = sum / weights;
    // A single pixel has no deviation, not even by rounding.
    let spread = if weights < 1.5 {
        0.0
    } else {
        squares / weights - mean * mean
    };
    (mean, spread.max(0.0).sqrt())
}
