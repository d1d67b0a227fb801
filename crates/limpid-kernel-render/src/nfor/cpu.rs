//! The fit on the CPU, in strips of 64 columns, row by row.
//!
//! For each row, computes the weights of all taps and then, for sixteen pixels at a time, the sums over all taps, in registers,
//! and their solution. Patch distances are sums over rows that are kept in a ring buffer, so that each is computed once per
//! strip. The terms of a pixel's sums and their order do not depend on bands.

use super::LocalRegression;
use super::moments::{self, Tap};
use super::region::{Region, WIDTH};
use super::solve::solve;
use super::weights::{PIECES, Weights};
use fearless_simd::{Simd, SimdBase};
use limpid_core::simd::dispatch;
use limpid_plan::Job;
use limpid_plan::sweep::LANES;

pub(super) fn scratch(fit: &LocalRegression) -> usize {
    Region::guide(fit).words() + Region::values(fit).words() + Weights::words(fit)
}

pub(super) fn run(job: &mut Job<'_>, fit: &LocalRegression) {
    let level = job.level;
    dispatch!(level, simd => strips(simd, job, fit));
}

#[inline(always)]
fn strips<S: Simd>(simd: S, job: &mut Job<'_>, fit: &LocalRegression) {
    let width = job.writes[0].size().width;
    let taps = moments::taps(fit, &Region::values(fit));
    for x in (0..width).step_by(WIDTH) {
        strip(simd, job, (fit, &taps), (x, WIDTH.min(width - x)));
    }
}

#[inline(always)]
fn strip<S: Simd>(
    simd: S,
    job: &mut Job<'_>,
    (fit, taps): (&LocalRegression, &[Tap]),
    (x, wide): (usize, usize),
) {
    let (guide, region) = (Region::guide(fit), Region::values(fit));
    let (around, rest) = job.scratch.split_at_mut(guide.words());
    let (values, rest) = rest.split_at_mut(region.words());
    let mut weights = Weights::new(fit, taps, job.writes[0].size(), x, rest);
    let rows = job.rows.clone();
    let patch = fit.settings.patch;
    // Patches of the first row need the distances of the surrounding rows.
    let mut next = rows.start.saturating_sub(patch);
    for y in rows {
        while next <= y + patch {
            if next < job.writes[0].size().height {
                guide.fill_guide(around, &job.reads, fit, (x, next));
            }
            weights.distances(simd, around, next);
            next += 1;
        }
        region.fill_values(values, &job.reads, fit, (x, wide), y);
        for piece in 0..wide.div_ceil(LANES) {
            debug_assert!(piece < PIECES);
            weights.make(simd, values, y, piece);
            let from = piece * LANES;
            let at = region.place(from);
            for k in 0..fit.k.len() {
                let list = weights.list(k);
                let sums = moments::sums(simd, fit, values, taps, list, at);
                let made = solve(simd, fit, values, &sums, at);
                let wide = LANES.min(wide - from);
                for (d, made) in made[..fit.data].iter().enumerate() {
                    let out = job.writes[0].row(k * fit.data + d, y);
                    out[x + from..][..wide].copy_from_slice(&made.as_slice()[..wide]);
                }
            }
        }
    }
}
