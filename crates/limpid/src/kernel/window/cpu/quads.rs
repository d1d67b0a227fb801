//! Sums down columns, then along rows, four rows at a time.
//!
//! The four share most of the rows that they read, which would otherwise come from the second cache once for each. Quads
//! of rows start at multiples of four wherever a band does, so that sums are always made in the same order. (Narrower
//! strips, prefetches and stores past the cache were all measured to be slower.)

use crate::kernel::Job;
use fearless_simd::Simd;

/// Rows made together.
pub(super) const QUAD: usize = 4;

/// A row of sums for each row of a quad.
pub(super) type Quad<'a> = [&'a mut [f32]; QUAD];

/// A filter that is `SUMS` sums down columns, and then sums of these along rows with `RESULTS` results.
pub(super) trait Axes<const SUMS: usize, const RESULTS: usize> {
    /// Taps to each side, down and along.
    fn reach(&self) -> [usize; 2];

    /// The sums of four rows; `row(i)` gives the rows of their windows, from the first row of the first window on.
    fn down<'a, S: Simd>(&self, simd: S, row: impl Fn(usize) -> &'a [f32], sums: [Quad<'_>; SUMS]);

    /// Whether the sums down columns are the results already, but for [`Axes::finish`].
    fn stays_down(&self) -> bool {
        false
    }

    /// The results of row `y` from its sums, which have the reach along as a margin at both sides.
    fn along<S: Simd>(&self, simd: S, sums: [&[f32]; SUMS], y: usize, made: [&mut [f32]; RESULTS]);

    /// What is left to do with the results of row `y`.
    fn finish(&self, _y: usize, _made: [&mut [f32]; RESULTS]) {}
}

/// Words of scratch memory for [`quads`]: a row of zeros, and sums with their margins.
pub(super) const fn scratch(along: usize, sums: usize, width: usize) -> usize {
    width + sums * QUAD * (width + 2 * along)
}

/// As many slices as are asked for.
#[inline(always)]
fn take<'a, const N: usize>(rows: &mut impl Iterator<Item = &'a mut [f32]>) -> [&'a mut [f32]; N] {
    std::array::from_fn(|_| rows.next().unwrap_or_default())
}

/// All rows of a band.
#[inline(always)]
pub(super) fn quads<S: Simd, const SUMS: usize, const RESULTS: usize>(
    simd: S,
    job: &mut Job<'_>,
    axes: &impl Axes<SUMS, RESULTS>,
) {
    let src = job.reads[0].clone();
    let (width, height) = (src.size().width, src.size().height);
    let [down, along] = axes.reach();
    let length = width + 2 * along;
    let (zero, sums) = job.scratch.split_at_mut(width);
    let sums = &mut sums[..SUMS * QUAD * length];
    zero.fill(0.0);
    sums.fill(0.0);
    // Rows of a quad that lie outside the band are not made, so what they would need beyond this may be anything.
    let known = job.rows.start.saturating_sub(down)..height.min(job.rows.end + down);
    for first in (job.rows.start / QUAD * QUAD..job.rows.end).step_by(QUAD) {
        for plane in 0..src.planes() {
            let row = |i: usize| match (first + i).checked_sub(down) {
                Some(y) if known.contains(&y) => src.row(plane, y),
                _ => &*zero,
            };
            if axes.stays_down() && job.rows.start <= first && first + QUAD <= job.rows.end {
                let at = (first - job.rows.start) * width;
                let mut out = job
                    .writes
                    .iter_mut()
                    .flat_map(|out| out.band(plane)[at..at + QUAD * width].chunks_exact_mut(width));
                axes.down(simd, row, std::array::from_fn(|_| take(&mut out)));
                for y in first..first + QUAD {
                    let mut rows = job.writes.iter_mut().map(|out| out.row(plane, y));
                    axes.finish(y, take(&mut rows));
                }
                continue;
            }
            let mut inner = sums
                .chunks_exact_mut(length)
                .map(|row| &mut row[along..along + width]);
            axes.down(simd, row, std::array::from_fn(|_| take(&mut inner)));
            for y in first.max(job.rows.start)..job.rows.end.min(first + QUAD) {
                let sums =
                    std::array::from_fn(|k| &sums[(k * QUAD + y - first) * length..][..length]);
                let mut rows = job.writes.iter_mut().map(|out| out.row(plane, y));
                axes.along(simd, sums, y, take(&mut rows));
                let mut rows = job.writes.iter_mut().map(|out| out.row(plane, y));
                axes.finish(y, take(&mut rows));
            }
        }
    }
}
