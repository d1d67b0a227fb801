//! Computes a strip of a level, in either direction: rows are lifted as they stream in, and columns directly after them, in
//! registers and a few rows of state.
//!
//! Uses traits and plain functions that are always inlined: closures are not, and would lose the SIMD level of their caller.

use super::lift::{Lanes, Stream};
use super::pieces::Piece;
use super::plane::NEAR;
use fearless_simd::{Simd, SimdBase};
use limpid_plan::stream;

/// A direction of a level: its inputs, and the `LINES` row segments that each row pair produces.
pub(super) trait Pass<S: Simd, L: Stream<S>, const LINES: usize> {
    /// Number of row pairs by which the rows of a pair are ahead.
    const AHEAD: usize;
    /// The rows of a pair.
    type Rows: Rows<S, L, LINES>;

    /// The input rows of pair `t`.
    fn rows(&self, simd: S, steps: &L, t: i64) -> Self::Rows;

    /// Output segments of row pair `m`, the `row`th that is written, and those of the next pair.
    fn lines(&mut self, m: i64, row: usize) -> Lines<'_, LINES>;

    /// Number of results in the longest segment.
    fn length(&self) -> usize;

    /// Whether the first segment, and the others, use non-temporal stores.
    fn past_cache(&self) -> [bool; 2];

    /// Number of lanes before the first low column if vectors are aligned to cache lines; `None` if the segments differ in
    /// alignment.
    fn before(&self) -> Option<usize>;
}

/// Output row segments, and those of the rows after them.
pub(super) type Lines<'a, const LINES: usize> = ([&'a mut [f32]; LINES], [&'a [f32]; LINES]);

/// Rows in the horizontal lifting steps.
pub(super) trait Rows<S: Simd, L: Stream<S>, const LINES: usize> {
    /// Samples read from each row per low column.
    const READ: usize;
    /// Samples written to each segment per low column.
    const WRITTEN: usize;

    /// The length of the shortest row.
    fn length(&self) -> usize;

    /// Prefetches the samples that are read next, starting at `at`.
    fn prefetch(&self, at: usize);

    /// Feeds the next vectors, starting at sample `at` of the rows, and returns a pair for each row. With `EDGE` rows may end.
    fn feed<const EDGE: bool>(&mut self, simd: S, steps: &L, at: i64) -> [Lanes<S>; 2];

    /// The vertical lifting steps of a pair.
    fn down(simd: S, steps: &L, pair: Lanes<S>, kept: &mut [f32]) -> Lanes<S>;

    /// Writes the results of both pairs, starting at sample `at` of the segments.
    fn store<const EDGE: bool>(
        &self,
        simd: S,
        steps: &L,
        pairs: [Lanes<S>; 2],
        to: &mut Places<'_, LINES>,
        at: i64,
    );
}

/// Output of a row pair.
pub(super) struct Places<'a, const LINES: usize> {
    /// The first low column, and the number of lanes before it.
    columns: (usize, usize),
    pub(super) lines: [&'a mut [f32]; LINES],
    kept: bool,
    /// The output of the next row pair.
    below: [&'a [f32]; LINES],
    /// Whether the first segment, and the others, use non-temporal stores.
    pub(super) past_cache: [bool; 2],
}

/// Computes a piece of a level in one direction.
#[inline(always)]
pub(super) fn strip<S: Simd, L: Stream<S>, P: Pass<S, L, LINES>, const LINES: usize>(
    simd: S,
    steps: &L,
    pass: &mut P,
    piece: &Piece,
    scratch: &mut [f32],
) {
    let lanes = S::f32s::LEN;
    let Piece { rows, columns, .. } = piece;
    let past_cache = pass.past_cache();
    // Non-temporal stores must write whole cache lines: vectors are aligned with all segments, or results go through scratch
    // rows.
    let (apart, before) = match (past_cache[1], pass.before()) {
        (true, Some(before)) => (false, before),
        (true, None) => (true, 0),
        (false, _) => (false, 0),
    };
    let blocks = (columns.len() + before).div_ceil(lanes);
    let (state, own) = scratch.split_at_mut(2 * L::KEPT * blocks * lanes);
    // Rows before the first one fill the state; their results are not stored.
    let delay = L::DOWN as i64 - P::AHEAD as i64;
    let start = match piece.goes_on {
        true => rows.start as i64 + delay,
        false => rows.start as i64 - (L::DOWN + P::AHEAD) as i64,
    };
    if !piece.goes_on {
        state.fill(0.0);
    }
    let length = pass.length();
    for t in start..rows.end as i64 + delay {
        let mut read = pass.rows(simd, steps, t);
        let m = t - delay;
        let kept = m >= rows.start as i64;
        let row = (m - rows.start as i64).max(0) as usize;
        let (lines, below) = match kept {
            _ if apart => (cut(own, length), [&[][..]; LINES]),
            true => pass.lines(m, row),
            false => (cut(&mut [], 0), [&[][..]; LINES]),
        };
        let mut to = Places {
            columns: (columns.start, before),
            lines,
            kept,
            below,
            past_cache: [past_cache[0] && !apart, past_cache[1] && !apart],
        };
        row_pair::<S, L, P::Rows, LINES>(simd, steps, &mut read, &mut to, state);
        if apart && kept {
            for (i, to) in pass.lines(m, row).0.into_iter().enumerate() {
                stream::copy(&own[i * length..], to, past_cache[i.min(1)]);
            }
        }
    }
    if past_cache[1] {
        stream::fence();
    }
}

/// Scratch rows.
fn cut<const LINES: usize>(lines: &mut [f32], length: usize) -> [&mut [f32]; LINES] {
    let mut lines = lines.chunks_exact_mut(length.max(1));
    [(); LINES].map(|()| lines.next().unwrap_or_default())
}

/// Lifts a pair of rows horizontally, then vertically.
#[inline(always)]
fn row_pair<S: Simd, L: Stream<S>, R: Rows<S, L, LINES>, const LINES: usize>(
    simd: S,
    steps: &L,
    rows: &mut R,
    to: &mut Places<'_, LINES>,
    state: &mut [f32],
) {
    let lanes = S::f32s::LEN;
    let (first, before) = to.columns;
    // The steps look a few columns back.
    let lead = usize::from(before < NEAR);
    let mut at = R::READ as i64 * (first as i64 - (before + lead * lanes) as i64);
    for _ in 0..L::ALONG + lead {
        rows.feed::<true>(simd, steps, at);
        at += (R::READ * lanes) as i64;
    }
    // Most vectors are far from the ends: a specialised loop for them keeps everything in registers.
    let blocks = state.len() / (2 * L::KEPT * lanes);
    let readable = (rows.length() as i64 - at).max(0) as usize / (R::READ * lanes);
    let writable = match to.kept {
        true => (shortest(&to.lines) / R::WRITTEN + before) / lanes,
        false => blocks,
    };
    let start = usize::from(before > 0 || at < 0).min(blocks);
    let end = readable.min(writable).clamp(start, blocks);
    // Each of the two loops has a single call site, because every copy is compiled for all wavelets and SIMD levels.
    let mut i = 0;
    while i < blocks {
        if i < start || i >= end {
            block::<S, L, R, LINES, true>(simd, steps, (rows, at), to, (i, state));
            at += (R::READ * lanes) as i64;
            i += 1;
            continue;
        }
        while i < end {
            block::<S, L, R, LINES, false>(simd, steps, (rows, at), to, (i, state));
            at += (R::READ * lanes) as i64;
            i += 1;
        }
    }
}

#[inline(always)]
fn shortest<const LINES: usize>(lines: &[&mut [f32]; LINES]) -> usize {
    let mut least = lines[0].len();
    for line in &lines[1..] {
        least = least.min(line.len());
    }
    least
}

/// Computes one vector of all segments.
#[inline(always)]
fn block<S: Simd, L: Stream<S>, R: Rows<S, L, LINES>, const LINES: usize, const EDGE: bool>(
    simd: S,
    steps: &L,
    (rows, from): (&mut R, i64),
    to: &mut Places<'_, LINES>,
    (i, state): (usize, &mut [f32]),
) {
    let lanes = S::f32s::LEN;
    let at = R::WRITTEN as i64 * ((i * lanes) as i64 - to.columns.1 as i64);
    if !EDGE {
        for k in 0..R::READ {
            rows.prefetch(from as usize + k * lanes);
        }
        for line in 0..LINES {
            if !to.past_cache[line.min(1)] {
                for k in 0..R::WRITTEN {
                    stream::prefetch::<true>(to.below[line], at as usize + k * lanes);
                }
            }
        }
    }
    let [a, b] = rows.feed::<EDGE>(simd, steps, from);
    let state = &mut state[2 * L::KEPT * lanes * i..2 * L::KEPT * lanes * (i + 1)];
    let (first, second) = state.split_at_mut(L::KEPT * lanes);
    let pairs = [
        R::down(simd, steps, (a.0, b.0), first),
        R::down(simd, steps, (a.1, b.1), second),
    ];
    if to.kept {
        rows.store::<EDGE>(simd, steps, pairs, to, at);
    }
}
