//! One level back: rows are lifted as they stream in, columns right behind them.

use super::lift::{self, Stream};
use super::pieces::Piece;
use super::plane::{Bands, Line, NEAR, PlaneMut, put};
use crate::kernel::stream;
use fearless_simd::{Simd, SimdBase};
use std::ops::Range;

/// Makes the rows of row pairs `rows`, columns of low columns `columns`.
#[inline(always)]
pub(super) fn strip<S: Simd, L: Stream<S>>(
    simd: S,
    steps: &L,
    bands: &Bands<'_>,
    piece: &Piece,
    (out, past_cache): (&mut PlaneMut<'_>, bool),
    scratch: &mut [f32],
) {
    let lanes = S::f32s::LEN;
    let Piece { rows, columns, .. } = piece;
    let pixels = 2 * columns.start..(2 * columns.end).min(bands.size.width);
    // Past the cache whole lines must be written: lanes start where they do, or rows go through lines of their own.
    let ahead = out.data[pixels.start..].as_ptr() as usize / 4 % lanes;
    let lines_agree = out.stride.is_multiple_of(lanes) && ahead.is_multiple_of(2);
    let apart = past_cache && !lines_agree;
    let before = if past_cache && lines_agree {
        ahead / 2
    } else {
        0
    };
    let blocks = (columns.len() + before).div_ceil(lanes);
    let (state, lines) = scratch.split_at_mut(2 * L::KEPT * blocks * lanes);
    // Rows before the first one fill the state; what they give is not stored.
    let (delay, end) = (L::DOWN as i64, (rows.end + L::DOWN) as i64);
    let start = match piece.goes_on {
        true => rows.start as i64 + delay,
        false => rows.start as i64 - delay,
    };
    if !piece.goes_on {
        state.fill(0.0);
    }
    for t in start..end {
        let across = Across::new(simd, bands, t, steps);
        let ([ll, hl], [lh, hh]) = (bands.low(t + 1), bands.high(t + 1).unwrap_or_default());
        let m = t - delay;
        let kept = m >= rows.start as i64;
        let pair = m.max(0) as usize - rows.start.min(m.max(0) as usize);
        let odd = 2 * m + 1 < bands.size.height as i64;
        let (rows, below) = match kept {
            _ if apart => (cut(lines, pixels.len()), [&[][..]; 2]),
            true => places(out, pair, odd, &pixels),
            false => (cut(&mut [], 0), [&[][..]; 2]),
        };
        let mut to = Places {
            columns: (columns.start, before),
            rows,
            kept,
            next: [ll, hl, lh, hh],
            below,
            past_cache: past_cache && !apart,
        };
        row_pair::<S, L>(simd, steps, across, &mut to, state);
        if apart && kept {
            for (i, to) in places(out, pair, odd, &pixels).0.into_iter().enumerate() {
                stream::copy(&lines[i * pixels.len()..], to, past_cache);
            }
        }
    }
    if past_cache {
        stream::fence();
    }
}

/// Parts of rows to be written, and of those after them.
type Rows<'a> = ([&'a mut [f32]; 2], [&'a [f32]; 2]);

/// Parts of an even and an odd row, and of the rows after them; the last pair may have no odd row.
#[inline(always)]
fn places<'a>(
    out: &'a mut PlaneMut<'_>,
    pair: usize,
    odd: bool,
    pixels: &Range<usize>,
) -> Rows<'a> {
    let stride = out.stride;
    let rows = &mut out.data[2 * pair * stride..];
    if !odd {
        return ([&mut rows[pixels.clone()], &mut []], [&[]; 2]);
    }
    let (even, rows) = rows.split_at_mut(stride);
    let (odd, rows) = rows.split_at_mut(stride);
    let next = |y: usize| {
        rows.get(y * stride + pixels.start..y * stride + pixels.end)
            .unwrap_or_default()
    };
    let own = [&mut even[pixels.clone()], &mut odd[pixels.clone()]];
    (own, [next(0), next(1)])
}

/// Two lines of scratch.
fn cut(lines: &mut [f32], pixels: usize) -> [&mut [f32]; 2] {
    let (a, b) = lines.split_at_mut(pixels);
    [a, &mut b[..pixels]]
}

/// Where a row pair's samples go.
struct Places<'a> {
    /// The first low column, and lanes before it.
    columns: (usize, usize),
    /// Even and odd row.
    rows: [&'a mut [f32]; 2],
    kept: bool,
    /// The bands' rows that will be read next.
    next: [&'a [f32]; 4],
    /// Where the next row pair goes.
    below: [&'a [f32]; 2],
    past_cache: bool,
}

/// Rows of coefficients on their way through the horizontal steps.
struct Across<'a, S: Simd, L: Stream<S>> {
    /// Low and high half of the low row, then of the high row.
    lines: [Line<'a>; 4],
    scales: [f32; 3],
    limits: Option<[f32; 3]>,
    at: i64,
    state: [L::Along; 2],
}

impl<'a, S: Simd, L: Stream<S>> Across<'a, S, L> {
    /// The rows of row pair `m`.
    #[inline(always)]
    fn new(simd: S, bands: &Bands<'a>, m: i64, steps: &L) -> Self {
        let ([ll, hl], [lh, hh]) = (bands.low(m), bands.high(m).unwrap_or_default());
        let line = |row, parity| Line {
            row,
            step: 2,
            parity,
            width: bands.size.width,
        };
        let [low, high] = steps.scales();
        Self {
            lines: [line(ll, 0), line(hl, 1), line(lh, 0), line(hh, 1)],
            scales: [1.0 / (low * low), 1.0 / (low * high), 1.0 / (high * high)],
            limits: (bands.limits != [0.0; 3]).then_some(bands.limits),
            at: 0,
            state: [L::nothing(simd), L::nothing(simd)],
        }
    }

    /// The next lanes: even and odd columns of the low row, then of the high row. At an `EDGE` rows may end.
    #[inline(always)]
    fn feed<const EDGE: bool>(&mut self, simd: S, steps: &L) -> [(S::f32s, S::f32s); 2] {
        let (at, [a, b, c]) = (self.at, self.scales);
        let ll = self.lines[0].gather::<S, EDGE>(simd, at) * a;
        let mut hl = self.lines[1].gather::<S, EDGE>(simd, at);
        let mut lh = self.lines[2].gather::<S, EDGE>(simd, at);
        let mut hh = self.lines[3].gather::<S, EDGE>(simd, at);
        if let Some([a, b, c]) = self.limits {
            hl = lift::soft::<S>(hl, a);
            lh = lift::soft::<S>(lh, b);
            hh = lift::soft::<S>(hh, c);
        }
        let [low, high] = &mut self.state;
        let low = steps.inverse_along(ll, hl * b, low);
        let high = steps.inverse_along(lh * b, hh * c, high);
        self.at += S::f32s::LEN as i64;
        [low, high]
    }
}

/// Takes the coefficients of a row pair, gives an even and an odd row, some pairs before.
#[inline(always)]
fn row_pair<S: Simd, L: Stream<S>>(
    simd: S,
    steps: &L,
    mut across: Across<'_, S, L>,
    to: &mut Places<'_>,
    state: &mut [f32],
) {
    let lanes = S::f32s::LEN;
    let (first, before) = to.columns;
    // Steps look a few columns back.
    let lead = usize::from(before < NEAR);
    across.at = first as i64 - (before + lead * lanes) as i64;
    for _ in 0..L::ALONG + lead {
        across.feed::<true>(simd, steps);
    }
    // Most lanes are read and written far from the ends: code that knows it keeps everything in registers.
    let blocks = state.len() / (2 * L::KEPT * lanes);
    let readable = (across.lines[3].row.len() as i64 - across.at).max(0) as usize / lanes;
    let writable = match to.kept {
        true => (to.rows[1].len() / 2 + before) / lanes,
        false => blocks,
    };
    let start = usize::from(before > 0 || across.at < 0).min(blocks);
    let end = readable.min(writable).clamp(start, blocks);
    // One place for each of the two: every copy is compiled for all wavelets and SIMD levels.
    let mut i = 0;
    while i < blocks {
        if i < start || i >= end {
            block::<S, L, true>(simd, steps, &mut across, to, (i, state));
            i += 1;
            continue;
        }
        while i < end {
            block::<S, L, false>(simd, steps, &mut across, to, (i, state));
            i += 1;
        }
    }
}

/// Lanes of an even and an odd row.
#[inline(always)]
fn block<S: Simd, L: Stream<S>, const EDGE: bool>(
    simd: S,
    steps: &L,
    across: &mut Across<'_, S, L>,
    to: &mut Places<'_>,
    (i, state): (usize, &mut [f32]),
) {
    let lanes = S::f32s::LEN;
    let at = 2 * ((i * lanes) as i64 - to.columns.1 as i64);
    let past = to.past_cache;
    if !EDGE {
        for row in to.next {
            stream::prefetch::<false>(row, across.at as usize);
        }
        if !past {
            for row in to.below {
                stream::prefetch::<true>(row, at as usize);
                stream::prefetch::<true>(row, at as usize + lanes);
            }
        }
    }
    let [low, high] = across.feed::<EDGE>(simd, steps);
    let state = &mut state[2 * L::KEPT * lanes * i..2 * L::KEPT * lanes * (i + 1)];
    let (state_even, state_odd) = state.split_at_mut(L::KEPT * lanes);
    let (e, f) = steps.inverse_down(simd, (low.0, high.0), state_even);
    let (o, p) = steps.inverse_down(simd, (low.1, high.1), state_odd);
    if !to.kept {
        return;
    }
    let (a, b) = e.interleave(o);
    put::<S, EDGE>(simd, a, to.rows[0], at, past);
    put::<S, EDGE>(simd, b, to.rows[0], at + lanes as i64, past);
    let (a, b) = f.interleave(p);
    put::<S, EDGE>(simd, a, to.rows[1], at, past);
    put::<S, EDGE>(simd, b, to.rows[1], at + lanes as i64, past);
}
