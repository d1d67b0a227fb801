//! The CPU body of [`SpatialVariance`]: strips of columns in which some history is short.

use super::SpatialVariance;
use crate::atrous::{SURFACE, Slopes, Surfaces};
use fearless_simd::f32x16;
use fearless_simd::prelude::*;
use limpid_core::simd::dispatch;
use limpid_plan::Job;
use limpid_plan::half;
use limpid_plan::ring;
use limpid_plan::ring::{HeldRows, PIECES, Ring, WIDTH};
use limpid_reference::definition::svgf::{MIRROR_VARIANCE, SHORT, WINDOW};

/// Taps of the window.
const TAPS: usize = (2 * WINDOW + 1) * (2 * WINDOW + 1);

/// The surface and two moments.
fn ring(width: usize) -> Ring {
    Ring::new(WINDOW, 1, SURFACE + 2, std::iter::once(0..width).collect())
}

/// Words of scratch memory: the ring, slopes, a row of results, weights and tolerances of a strip.
pub(super) fn scratch(width: usize) -> usize {
    let ring = ring(width);
    ring.words() + 3 * ring.made() + (TAPS + TAPS / 2) * WIDTH
}

pub(super) fn run(kernel: &SpatialVariance, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

#[inline(always)]
fn rows<S: Simd>(simd: S, kernel: &SpatialVariance, job: &mut Job<'_>) {
    let (features, moments) = (job.reads[0].clone(), job.reads[1].clone());
    let size = features.size();
    let ring = ring(size.width);
    let (made, stride) = (ring.made(), ring.stride());
    let (memory, rest) = job.scratch.split_at_mut(ring.words());
    let (slope_x, rest) = rest.split_at_mut(made);
    let (slope_y, rest) = rest.split_at_mut(made);
    let (out, rest) = rest.split_at_mut(made);
    let (strips, _) = rest.as_chunks_mut().0.as_chunks_mut::<PIECES>();
    let (weights, tolerances) = strips.split_at_mut(TAPS);
    ring.clear(memory);
    slope_x.fill(0.0);
    slope_y.fill(0.0);
    let surfaces = Surfaces {
        depth: kernel.depth,
        squarings: kernel.squarings,
        objects: true,
        radius: WINDOW,
        step: 1,
    };
    let mut held = HeldRows::new(&ring);
    let mut taps = Vec::new();
    for y in job.rows.clone() {
        let frames = moments.row(2, y);
        let short = |frames: &[f32]| frames.iter().any(|n| *n < SHORT);
        if !short(frames) {
            continue;
        }
        let rows = ring.tap_rows(size.height, y);
        for (_, row) in &rows {
            if held.lacks(&ring, *row) {
                surfaces.copy(&ring, &features, *row, memory);
                for k in 0..2 {
                    ring.copy(memory, (*row, SURFACE + k), moments.row(k, *row), 1.0);
                }
            }
        }
        ring.taps(&rows, &mut taps);
        surfaces.slopes(&ring, &features, y, [&mut *slope_x, &mut *slope_y]);
        let slopes = Slopes([&*slope_x, &*slope_y]);
        let depths = features.row(3, y);
        let to = job.writes[0].row(kernel.colors, y);
        for x in (0..made).step_by(WIDTH) {
            let columns = x..(x + WIDTH).min(size.width);
            if !short(&frames[columns.clone()]) {
                continue;
            }
            let own = ring.row(y) + x;
            let depth = ring::load(simd, memory, own);
            surfaces.tolerances(simd, depth, (&slopes, x), tolerances);
            let mut sums = [f32x16::splat(simd, 0.0); PIECES];
            for (tap, to) in taps.iter().zip(&mut *weights) {
                let mut w = [f32x16::splat(simd, 1.0); PIECES];
                if !surfaces.here(tap) {
                    let tolerance = &tolerances[surfaces.tolerance(tap)];
                    let e = [f32x16::splat(simd, 0.0); PIECES];
                    let at = [own, tap.at + x];
                    w = surfaces.weigh(simd, (memory, stride), at, tolerance, e);
                }
                for k in 0..PIECES {
                    sums[k] += w[k];
                }
                ring::store(w, to);
            }
            let mean = |plane: usize| {
                let from = (memory as &[f32], (SURFACE + plane) * stride + x);
                let mut all = ring::sum(simd, from, &taps, weights, false);
                for k in 0..PIECES {
                    all[k] /= sums[k];
                }
                all
            };
            let (first, mut second) = (mean(0), mean(1));
            for k in 0..PIECES {
                second[k] -= first[k] * first[k];
            }
            ring::put(second, out, x);
            for x in columns.filter(|x| frames[*x] < SHORT) {
                let mut variance = out[x].max(0.0) * (SHORT / frames[x]);
                if kernel.mirrors && depths[x] < 0.0 {
                    variance *= MIRROR_VARIANCE;
                }
                to[x] = match kernel.half {
                    true => half::rounded(variance),
                    false => variance,
                };
            }
        }
    }
}
