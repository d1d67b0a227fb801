//! Sums down columns, then along rows, in pieces that stay in the first cache.
//!
//! Four rows are made together: they share most of the rows that they read, which would otherwise come from the second
//! cache once for each. Column sums of a strip of columns are used up along the rows before the next strip begins.
//! Quads of rows start at multiples of four wherever a band does, so that sums are always made in the same order.

use crate::kernel::sweep::LANES;
use crate::kernel::{Job, stream};
use fearless_simd::Simd;
use std::ops::Range;

/// Rows made together.
pub(super) const QUAD: usize = 4;

/// Columns of a strip.
const STRIP: usize = 512;

/// Rows of column sums: one for each row of a quad.
pub(super) type Quad<'a> = [&'a mut [f32]; QUAD];

/// A row, and the columns of it that are made now.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub y: usize,
    pub columns: Range<usize>,
}

/// A filter that is `SUMS` sums down columns, and then sums of these along rows with `RESULTS` results.
pub(super) trait Axes<const SUMS: usize, const RESULTS: usize> {
    /// Taps to each side, down and along.
    fn reach(&self) -> [usize; 2];

    /// The sums of four rows; `row(i)` gives the rows of their windows, from the first row of the first window on.
    fn down<'a, S: Simd>(&self, simd: S, row: impl Fn(usize) -> &'a [f32], sums: [Quad<'_>; SUMS]);

    /// The results of one row from its sums, which have the reach along as a margin at both sides.
    fn along<S: Simd>(
        &self,
        simd: S,
        sums: [&[f32]; SUMS],
        place: &Place,
        made: [&mut [f32]; RESULTS],
    );
}

/// Zeros beyond the image's sides: whole vectors, so that strips start where vectors do.
const fn margin(along: usize) -> usize {
    along.next_multiple_of(LANES)
}

/// Words of scratch memory for [`strips`]: a row of zeros, column sums with their margins, and results.
pub(super) const fn scratch(along: usize, sums: usize, results: usize) -> usize {
    let margin = margin(along);
    (STRIP + margin) + results * STRIP + sums * QUAD * (STRIP + 2 * margin)
}

/// Parts of equal length. There are as many as were asked for in [`scratch`].
#[inline(always)]
fn parts<'a, const N: usize>(
    chunks: &mut impl Iterator<Item = &'a mut [f32]>,
) -> [&'a mut [f32]; N] {
    std::array::from_fn(|_| chunks.next().unwrap_or_default())
}

/// All rows of a band.
#[inline(always)]
pub(super) fn strips<S: Simd, const SUMS: usize, const RESULTS: usize>(
    simd: S,
    job: &mut Job<'_>,
    axes: &impl Axes<SUMS, RESULTS>,
) {
    let src = job.reads[0].clone();
    let (width, height) = (src.size().width, src.size().height);
    let [down, along] = axes.reach();
    let margin = margin(along);
    let length = STRIP + 2 * margin;
    let past_cache = src.size().pixels() * src.planes() * 4 > stream::STREAM_BYTES;
    let (zero, rest) = job.scratch.split_at_mut(STRIP + margin);
    let (staged, sums) = rest.split_at_mut(RESULTS * STRIP);
    let sums = &mut sums[..SUMS * QUAD * length];
    zero.fill(0.0);
    // Rows of a quad that lie outside the band are not made, so what they would need beyond this may be anything.
    let known = job.rows.start.saturating_sub(down)..height.min(job.rows.end + down);
    for first in (job.rows.start / QUAD * QUAD..job.rows.end).step_by(QUAD) {
        for plane in 0..src.planes() {
            for x in (0..width).step_by(STRIP) {
                let columns = x..width.min(x + STRIP);
                let from = if x == 0 { 0 } else { width.min(x + margin) };
                let to = width.min(x + STRIP + margin);
                for row in sums.chunks_exact_mut(length) {
                    if x == 0 {
                        row[..margin].fill(0.0);
                    } else {
                        row.copy_within(STRIP.., 0);
                    }
                    row[margin + to - x..].fill(0.0);
                }
                let rows = |i: usize| match (first + i).checked_sub(down) {
                    Some(y) if known.contains(&y) => &src.row(plane, y)[from..to],
                    _ => &zero[..to - from],
                };
                let fresh = margin + from - x..margin + to - x;
                let mut chunks = sums
                    .chunks_exact_mut(length)
                    .map(|row| &mut row[fresh.clone()]);
                let quads = std::array::from_fn(|_| parts(&mut chunks));
                axes.down(simd, rows, quads);
                for (q, y) in (first..first + QUAD).enumerate() {
                    if !job.rows.contains(&y) {
                        continue;
                    }
                    let n = columns.len();
                    let sums: [&[f32]; SUMS] = std::array::from_fn(|k| {
                        let row = &sums[(k * QUAD + q) * length..][..length];
                        &row[margin - along..margin + n + along]
                    });
                    let place = Place {
                        y,
                        columns: columns.clone(),
                    };
                    if past_cache {
                        let mut chunks = staged.chunks_exact_mut(STRIP).map(|row| &mut row[..n]);
                        axes.along(simd, sums, &place, parts(&mut chunks));
                        for (made, out) in staged.chunks_exact(STRIP).zip(&mut job.writes) {
                            let out = &mut out.row(plane, y)[columns.clone()];
                            stream::copy(&made[..n], out, true);
                        }
                    } else {
                        let mut rows = job
                            .writes
                            .iter_mut()
                            .map(|out| &mut out.row(plane, y)[columns.clone()]);
                        axes.along(simd, sums, &place, parts(&mut rows));
                    }
                }
            }
        }
    }
    if past_cache {
        stream::fence();
    }
}
