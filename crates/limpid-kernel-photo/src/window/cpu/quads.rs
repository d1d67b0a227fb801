//! Sums along columns, then along rows, four rows at a time.
//!
//! The four rows share most of their inputs, which would otherwise be read from the second-level cache once for each. Quads of
//! rows start at multiples of four regardless of the band, so that sums always have the same order. Small filters are limited
//! by memory: then a few hundred columns are computed at a time, so that their sums stay in the first-level cache, and results
//! use non-temporal stores.

use fearless_simd::Simd;
use limpid_core::Size;
use limpid_plan::Job;
use limpid_plan::stream;
use limpid_plan::stream::STREAM_BYTES;
use limpid_plan::sweep::LANES;
use std::ops::Range;

/// Rows computed together.
pub(super) const QUAD: usize = 4;

/// A row of sums for each row of a quad.
pub(super) type Quad<'a> = [&'a mut [f32]; QUAD];

/// A range of columns of a row.
#[derive(Debug)]
pub(super) struct Stretch {
    pub y: usize,
    pub columns: Range<usize>,
}

/// A filter that computes `SUMS` sums along columns, and then `RESULTS` results from these along rows.
pub(super) trait Axes<const SUMS: usize, const RESULTS: usize> {
    /// Taps to each side, along columns and rows.
    fn reach(&self) -> [usize; 2];

    /// The sums of four rows; `row(i)` returns the rows of their windows, starting with the first row of the first window.
    fn down<'a, S: Simd>(&self, simd: S, row: impl Fn(usize) -> &'a [f32], sums: [Quad<'_>; SUMS]);

    /// Whether the sums along columns already are the results, except for [`Axes::finish`].
    fn stays_down(&self) -> bool {
        false
    }

    /// The results of a stretch from its sums, which have the reach along rows as a margin at both sides.
    fn along<S: Simd>(
        &self,
        simd: S,
        sums: [&[f32]; SUMS],
        at: &Stretch,
        made: [&mut [f32]; RESULTS],
    );

    /// Post-processes the results of a stretch.
    fn finish(&self, _at: &Stretch, _made: [&mut [f32]; RESULTS]) {}
}

/// How the columns of a row are processed: a stretch of sums, then the results that they suffice for.
#[derive(Debug, Clone, Copy)]
struct Pace {
    along: usize,
    /// Columns of a stretch.
    columns: usize,
    /// Columns by which sums are ahead of results: whole vectors, so that results start at vector boundaries.
    ahead: usize,
    /// Whether results use non-temporal stores.
    streams: bool,
}

/// Columns of a stretch, and the maximum number of sums per result, for results with non-temporal stores.
///
/// Measured for 3840 columns on two threads, stretches with non-temporal stores and whole rows without: Gaussian of 3, 5, 7
/// taps 1.21, 1.45, 1.82 and 1.60, 1.58, 1.56 ns a pixel (with 1024 columns 1.25, 1.46, 1.56); mean and deviation 2.1, 2.6, 3.2
/// and 2.4, 2.3, 2.9 (with 1024 columns 2.5 for the first).
const COLUMNS: usize = 512;
const LIGHT: usize = 3;

impl Pace {
    fn new(along: usize, sums: usize, size: Size) -> Self {
        let bytes = size.pixels() * size_of::<f32>();
        let streams = sums * along <= LIGHT && bytes > STREAM_BYTES;
        Self {
            along,
            columns: if streams { COLUMNS } else { size.width },
            ahead: LANES,
            streams,
        }
    }

    /// Columns of sums that the next stretch needs again.
    fn kept(self) -> usize {
        self.ahead + self.along
    }

    /// Columns of sums in memory.
    fn length(self) -> usize {
        self.kept() + self.columns + self.along
    }
}

/// Words of scratch memory for [`quads`]: a row of zeros, sums, and two results.
pub(super) fn scratch(along: usize, sums: usize, size: Size) -> usize {
    let pace = Pace::new(along, sums, size);
    size.width + sums * QUAD * pace.length() + 2 * (pace.columns + pace.ahead)
}

/// The next `N` slices.
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
    let pace = Pace::new(along, SUMS, src.size());
    let length = pace.length();
    let (zero, rest) = job.scratch.split_at_mut(width);
    let (sums, made) = rest.split_at_mut(SUMS * QUAD * length);
    zero.fill(0.0);
    // Rows of a quad outside the band are not stored, so their inputs beyond this range are arbitrary.
    let known = job.rows.start.saturating_sub(down)..height.min(job.rows.end + down);
    for first in (job.rows.start / QUAD * QUAD..job.rows.end).step_by(QUAD) {
        for plane in 0..src.planes() {
            let row = |i: usize| match (first + i).checked_sub(down) {
                Some(y) if known.contains(&y) => src.row(plane, y),
                _ => &*zero,
            };
            // Whether the sums are written directly to the results.
            let straight =
                axes.stays_down() && job.rows.start <= first && first + QUAD <= job.rows.end;
            for row in sums.chunks_exact_mut(length) {
                row[..pace.kept()].fill(0.0);
            }
            for start in (0..width).step_by(pace.columns) {
                let end = width.min(start + pace.columns);
                let new = pace.kept()..pace.kept() + end - start;
                let to: [Quad<'_>; SUMS] = if straight {
                    let at = (first - job.rows.start) * width;
                    let mut out = job.writes.iter_mut().flat_map(|out| {
                        let rows = out.band(plane)[at..at + QUAD * width].chunks_exact_mut(width);
                        rows.map(|row| &mut row[start..end])
                    });
                    std::array::from_fn(|_| take(&mut out))
                } else {
                    let mut inner = sums
                        .chunks_exact_mut(length)
                        .map(|row| &mut row[new.clone()]);
                    std::array::from_fn(|_| take(&mut inner))
                };
                axes.down(
                    simd,
                    #[inline(always)]
                    |i| &row(i)[start..end],
                    to,
                );
                if straight {
                    for y in first..first + QUAD {
                        let columns = start..end;
                        let mut rows = job
                            .writes
                            .iter_mut()
                            .map(|out| &mut out.row(plane, y)[columns.clone()]);
                        let to = take(&mut rows);
                        axes.finish(&Stretch { y, columns }, to);
                    }
                    continue;
                }
                let last = end == width;
                if last {
                    for row in sums.chunks_exact_mut(length) {
                        row[new.end..new.end + along].fill(0.0);
                    }
                }
                let columns =
                    start.saturating_sub(pace.ahead)..if last { width } else { end - pace.ahead };
                let from = columns.start + pace.ahead - start;
                for y in first.max(job.rows.start)..job.rows.end.min(first + QUAD) {
                    let at = Stretch {
                        y,
                        columns: columns.clone(),
                    };
                    let n = columns.len();
                    let sums = std::array::from_fn(|k| {
                        &sums[(k * QUAD + y - first) * length + from..][..n + 2 * along]
                    });
                    let mut to: [&mut [f32]; RESULTS] = if pace.streams {
                        take(&mut made.chunks_exact_mut(n))
                    } else {
                        let rows = job.writes.iter_mut();
                        take(&mut rows.map(|out| &mut out.row(plane, y)[columns.clone()]))
                    };
                    axes.along(simd, sums, &at, to.each_mut().map(|row| &mut **row));
                    axes.finish(&at, to);
                    if pace.streams {
                        for (out, made) in job.writes.iter_mut().zip(made.chunks_exact(n)) {
                            stream::copy(made, &mut out.row(plane, y)[columns.clone()], true);
                        }
                    }
                }
                for row in sums.chunks_exact_mut(length) {
                    row.copy_within(end - start..end - start + pace.kept(), 0);
                }
            }
        }
    }
    if pace.streams {
        stream::fence();
    }
}
