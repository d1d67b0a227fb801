//! Divides levels into bands for threads and strips for the cache.

use super::plane::{PlaneMut, halves};
use fearless_simd::Level;
use limpid_core::Size;

/// Low columns of a strip, whose state stays in the second-level cache. Narrower strips would fit the first-level cache, but
/// the cost of shorter rows outweighs the gain.
const STRIP: usize = 2048;

/// Minimum number of row pairs of the pieces that threads share.
const PIECE: usize = 8;

/// Division of the work among threads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Threading {
    /// The SIMD level.
    pub level: Level,
    /// Bands: one per thread.
    pub threads: usize,
    /// Low columns of a strip.
    pub strip: usize,
}

impl Threading {
    /// Strips of the usual width.
    pub(super) fn new(level: Level, threads: usize) -> Self {
        Self {
            level,
            threads,
            strip: STRIP,
        }
    }

    /// Number of pieces that threads share. The state of a single strip is reused from piece to piece; with several strips it
    /// is not, so each thread gets one piece.
    pub(super) fn pieces(&self, strips: usize) -> usize {
        match (self.threads, strips) {
            (2.., 1) => 8 * self.threads,
            (threads, _) => threads,
        }
    }

    pub(super) fn strip_columns(&self) -> usize {
        self.strip.max(16).next_multiple_of(16)
    }
}

/// Words of state for levels of this width on this many threads.
pub(super) fn state_words(width: usize, layout: &Threading) -> usize {
    let columns = halves(width).0.min(layout.strip_columns());
    let columns = columns.next_multiple_of(16);
    // The state of low and high columns, at most seven rows, with room for lanes before the first column; and scratch rows for
    // results that cannot be stored directly.
    layout.threads.max(1) * (2 * 7 * (columns + 16) + 4 * columns)
}

/// Sizes of the images that levels transform.
pub(super) fn sizes(size: Size, levels: usize) -> Vec<Size> {
    let next = |s: &Size| Some(Size::new(halves(s.width).0, halves(s.height).0));
    std::iter::successors(Some(size), next)
        .take(levels)
        .collect()
}

pub(super) type Span = std::ops::Range<usize>;

/// A range of row pairs and low columns.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub rows: Span,
    pub columns: Span,
    /// Whether the state is that of the previous rows, so that it need not be filled.
    pub goes_on: bool,
}

/// Low columns in strips; the first one is shorter by `head`.
pub(super) fn strips(columns: usize, strip: usize, head: usize) -> impl Iterator<Item = Span> {
    (0..columns + head).step_by(strip).map(move |c| {
        let cut = |c: usize| c.saturating_sub(head).min(columns);
        cut(c)..cut(c + strip)
    })
}

/// Number of floats between the start of the data's first cache line and the data.
pub(super) fn ahead(data: &[f32]) -> usize {
    data.as_ptr() as usize / 4 % 16
}

/// Row pairs per band.
pub(super) fn band(pairs: usize, threads: usize) -> usize {
    pairs.div_ceil(threads.max(1)).max(PIECE)
}

/// Splits an image into bands of row pairs.
pub(super) fn split_rows(
    data: &mut [f32],
    stride: usize,
    level: Size,
    threads: usize,
) -> Vec<(Span, PlaneMut<'_>)> {
    let (lh, _) = halves(level.height);
    let per = band(lh, threads);
    let rows = &mut data[..level.height * stride];
    rows.chunks_mut(2 * per * stride)
        .enumerate()
        .map(|(i, data)| (i * per..((i + 1) * per).min(lh), PlaneMut { data, stride }))
        .collect()
}
