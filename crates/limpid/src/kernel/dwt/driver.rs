//! A strip of a level, in either direction: rows are lifted as they stream in, columns right behind them, in registers and a
//! few lines of state.
//!
//! Traits and plain functions that are always inlined: closures are not, and would lose the SIMD level they are called from.

use super::lift::{Lanes, Stream};
use super::pieces::Piece;
use super::plane::NEAR;
use crate::kernel::stream;
use fearless_simd::{Simd, SimdBase};

/// A direction of a level: what it reads, and the `LINES` parts of rows that each row pair gives.
pub(super) trait Pass<S: Simd, L: Stream<S>, const LINES: usize> {
    /// How many row pairs beyond its own the rows of a pair reach.
    const AHEAD: usize;
    /// The rows of a pair.
    type Rows: Rows<S, L, LINES>;

    /// The rows of pair `t`, to be read.
    fn rows(&self, simd: S, steps: &L, t: i64) -> Self::Rows;

    /// Where the results of row pair `m` go, the `row`th of those that are written, and those of the pair after it.
    fn lines(&mut self, m: i64, row: usize) -> Lines<'_, LINES>;

    /// How many results the longest line takes.
    fn length(&self) -> usize;

    /// Whether the first line, and the others, are stored past the cache.
    fn past_cache(&self) -> [bool; 2];

    /// How many lanes stand before the first low column if they begin where lines of the cache do; `None` if these do not
    /// agree.
    fn before(&self) -> Option<usize>;
}

/// Parts of rows to be written, and of those after them.
pub(super) type Lines<'a, const LINES: usize> = ([&'a mut [f32]; LINES], [&'a [f32]; LINES]);

/// Rows on their way through the horizontal steps.
pub(super) trait Rows<S: Simd, L: Stream<S>, const LINES: usize> {
    /// Samples that are read of each row per low column.
    const READ: usize;
    /// Samples that are written to each line per low column.
    const WRITTEN: usize;

    /// The length of the shortest row.
    fn length(&self) -> usize;

    /// Fetches what will be read next from here on.
    fn prefetch(&self, at: usize);

    /// The next lanes, from sample `at` of the rows on: a pair of each row. At an `EDGE` rows may end.
    fn feed<const EDGE: bool>(&mut self, simd: S, steps: &L, at: i64) -> [Lanes<S>; 2];

    /// The vertical steps of a pair.
    fn down(simd: S, steps: &L, pair: Lanes<S>, kept: &mut [f32]) -> Lanes<S>;

    /// Writes what both pairs have become, from sample `at` of the lines on.
    fn store<const EDGE: bool>(
        &self,
        simd: S,
        steps: &L,
        pairs: [Lanes<S>; 2],
        to: &mut Places<'_, LINES>,
        at: i64,
    );
}

/// Where the results of a row pair go.
pub(super) struct Places<'a, const LINES: usize> {
    /// The first low column, and lanes before it.
    columns: (usize, usize),
    pub(super) lines: [&'a mut [f32]; LINES],
    kept: bool,
    /// Where those of the next row pair go.
    below: [&'a [f32]; LINES],
    /// Whether the first line, and the others, are stored past the cache.
    pub(super) past_cache: [bool; 2],
}

/// Takes a piece of a level through a direction.
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
    // Past the cache whole lines must be written: lanes start where those of all lines do, or results go through lines of
    // their own.
    let (apart, before) = match (past_cache[1], pass.before()) {
        (true, Some(before)) => (false, before),
        (true, None) => (true, 0),
        (false, _) => (false, 0),
    };
    let blocks = (columns.len() + before).div_ceil(lanes);
    let (state, own) = scratch.split_at_mut(2 * L::KEPT * blocks * lanes);
    // Rows before the first one fill the state; what they give is not stored.
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

/// Lines of scratch.
fn cut<const LINES: usize>(lines: &mut [f32], length: usize) -> [&mut [f32]; LINES] {
    let mut lines = lines.chunks_exact_mut(length.max(1));
    [(); LINES].map(|()| lines.next().unwrap_or_default())
}

/// Lifts a pair of rows, and their columns.
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
    // Steps look a few columns back.
    let lead = usize::from(before < NEAR);
    let mut at = R::READ as i64 * (first as i64 - (before + lead * lanes) as i64);
    for _ in 0..L::ALONG + lead {
        rows.feed::<true>(simd, steps, at);
        at += (R::READ * lanes) as i64;
    }
    // Most lanes are read and written far from the ends: code that knows it keeps everything in registers.
    let blocks = state.len() / (2 * L::KEPT * lanes);
    let readable = (rows.length() as i64 - at).max(0) as usize / (R::READ * lanes);
    let writable = match to.kept {
        true => (shortest(&to.lines) / R::WRITTEN + before) / lanes,
        false => blocks,
    };
    let start = usize::from(before > 0 || at < 0).min(blocks);
    let end = readable.min(writable).clamp(start, blocks);
    // One place for each of the two: every copy is compiled for all wavelets and SIMD levels.
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

/// Lanes of all lines.
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
