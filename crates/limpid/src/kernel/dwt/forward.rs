//! One level forward: rows are lifted as they stream in, columns right behind them, in registers and a few lines of state.

use super::lift::{self, Stream};
use super::pieces::{Piece, Span, band};
use super::plane::{Line, NEAR, Plane, PlaneMut, halves, put};
use crate::Size;
use crate::kernel::stream;
use fearless_simd::{Simd, SimdBase};
use std::ops::Range;

/// Where a band of rows is written.
#[derive(Debug)]
pub(super) struct Out<'a> {
    /// `LL`, if it stands apart from the packed image.
    pub ll: Option<PlaneMut<'a>>,
    /// Rows of `LL` and `HL`.
    pub top: PlaneMut<'a>,
    /// Rows of `LH` and `HH`.
    pub bottom: PlaneMut<'a>,
    /// Whether to store past the cache.
    pub past_cache: bool,
    /// What coefficients of `HL`, `LH` and `HH` are moved towards zero by.
    pub limits: [f32; 3],
}

impl Out<'_> {
    /// The places of a row pair's coefficients, bands in order, and those of the next pair. The last one may have no high row.
    #[inline(always)]
    fn places(&mut self, (row, high): (usize, bool), spans: &[Range<usize>; 2]) -> Bands<'_> {
        let [low, right] = spans;
        let ([mut ll, hl], [mut next_ll, next_hl]) = self.top.parts(row, low, right);
        if let Some(apart) = &mut self.ll {
            ([ll, _], [next_ll, _]) = apart.parts(row, low, &(low.end..low.end));
        }
        if !high {
            let none = (&mut [][..], &mut [][..]);
            return ([ll, hl, none.0, none.1], [next_ll, next_hl, &[], &[]]);
        }
        let ([lh, hh], [next_lh, next_hh]) = self.bottom.parts(row, low, right);
        ([ll, hl, lh, hh], [next_ll, next_hl, next_lh, next_hh])
    }
}

/// Cuts the places that a level writes into bands of row pairs.
pub(super) fn split_out<'a>(
    (dst, stride): (&'a mut [f32], usize),
    level: Size,
    apart: Option<(&'a mut [f32], usize)>,
    threads: usize,
) -> Vec<(Span, Out<'a>)> {
    let (lh, _) = halves(level.height);
    let per = band(lh, threads);
    let (top, bottom) = dst.split_at_mut(lh * stride);
    let mut bottom = bottom.chunks_mut(per * stride);
    let (mut apart, apart_stride) = match apart {
        Some((data, stride)) => (Some(data.chunks_mut(per * stride)), stride),
        None => (None, 0),
    };
    top.chunks_mut(per * stride)
        .enumerate()
        .map(|(i, top)| {
            let ll = apart.as_mut().and_then(Iterator::next);
            let out = Out {
                ll: ll.map(|data| PlaneMut {
                    data,
                    stride: apart_stride,
                }),
                top: PlaneMut { data: top, stride },
                bottom: PlaneMut {
                    data: bottom.next().unwrap_or_default(),
                    stride,
                },
                past_cache: false,
                limits: [0.0; 3],
            };
            (i * per..((i + 1) * per).min(lh), out)
        })
        .collect()
}

/// Parts of rows to be written, and of those after them.
type Bands<'a> = ([&'a mut [f32]; 4], [&'a [f32]; 4]);

/// Makes the coefficients of row pairs `rows` and low columns `columns`.
#[inline(always)]
pub(super) fn strip<S: Simd, L: Stream<S>>(
    simd: S,
    steps: &L,
    src: &Plane<'_>,
    piece: &Piece,
    out: &mut Out<'_>,
    scratch: &mut [f32],
) {
    let lanes = S::f32s::LEN;
    let Piece { rows, columns, .. } = piece;
    let (lw, hw) = halves(src.size.width);
    let spans = [
        columns.clone(),
        lw + columns.start..lw + columns.end.min(hw).max(columns.start),
    ];
    // Past the cache whole lines must be written: lanes start where those of all bands do, or bands go through lines of
    // their own.
    let lines_agree = lw.is_multiple_of(lanes) && out.top.stride.is_multiple_of(lanes);
    let apart = out.past_cache && !lines_agree;
    let before = if out.past_cache && lines_agree {
        (out.top.data[columns.start..].as_ptr() as usize / 4) % lanes
    } else {
        0
    };
    let blocks = (columns.len() + before).div_ceil(lanes);
    let (state, lines) = scratch.split_at_mut(2 * L::KEPT * blocks * lanes);
    // Rows before the first one fill the state; what they give is not stored.
    let (delay, end) = (L::DOWN as i64 - 1, (rows.end + L::DOWN) as i64 - 1);
    let start = match piece.goes_on {
        true => rows.start as i64 + delay,
        false => rows.start as i64 - delay - 2,
    };
    if !piece.goes_on {
        state.fill(0.0);
    }
    let limits = (out.limits != [0.0; 3]).then_some(out.limits);
    let past_cache = [out.past_cache && out.ll.is_none(), out.past_cache];
    let (_, high_rows) = halves(src.size.height);
    for t in start..end {
        let across = Across::new(simd, [src.row(2 * t + 1), src.row(2 * t + 2)]);
        let next = [src.row(2 * t + 3), src.row(2 * t + 4)];
        let m = t - delay;
        let kept = m >= rows.start as i64;
        let pair = (
            m.max(0) as usize - rows.start.min(m.max(0) as usize),
            (m as usize) < high_rows,
        );
        let (bands, below) = match kept {
            _ if apart => (cut(lines, columns.len()), [&[][..]; 4]),
            true => out.places(pair, &spans),
            false => (cut(&mut [], 1), [&[][..]; 4]),
        };
        let mut to = Places {
            columns: (columns.start, before),
            bands,
            kept,
            next,
            below,
            past_cache: past_cache.map(|p| p && !apart),
            limits,
        };
        row_pair::<S, L>(simd, steps, across, &mut to, state);
        if apart && kept {
            for (i, to) in out.places(pair, &spans).0.into_iter().enumerate() {
                stream::copy(&lines[i * columns.len()..], to, past_cache[i.min(1)]);
            }
        }
    }
    if out.past_cache {
        stream::fence();
    }
}

/// Four lines of scratch.
fn cut(lines: &mut [f32], columns: usize) -> [&mut [f32]; 4] {
    let mut lines = lines.chunks_exact_mut(columns);
    [(); 4].map(|()| lines.next().unwrap_or_default())
}

/// Where a row pair's coefficients go.
struct Places<'a> {
    /// The first low column, and lanes before it.
    columns: (usize, usize),
    bands: [&'a mut [f32]; 4],
    kept: bool,
    /// The rows that will be read next.
    next: [&'a [f32]; 2],
    /// Where the next row pair's coefficients go.
    below: [&'a [f32]; 4],
    /// Whether `LL`, and other bands, are stored past the cache.
    past_cache: [bool; 2],
    limits: Option<[f32; 3]>,
}

/// An odd row and the even row after it, on their way through the horizontal steps.
///
/// Plain functions that are always inlined: closures are not, and would lose the SIMD level they are called from.
struct Across<'a, S: Simd, L: Stream<S>> {
    rows: [Line<'a>; 2],
    at: i64,
    held: [S::f32s; 2],
    state: [L::Along; 2],
}

impl<'a, S: Simd, L: Stream<S>> Across<'a, S, L> {
    #[inline(always)]
    fn new(simd: S, rows: [&'a [f32]; 2]) -> Self {
        let zero = S::f32s::splat(simd, 0.0);
        Self {
            rows: rows.map(Line::whole),
            at: 0,
            held: [zero; 2],
            state: [L::nothing(simd), L::nothing(simd)],
        }
    }

    /// The next lanes of both rows: low and high of the odd row, low and high of the even row. At an `EDGE` rows may end.
    #[inline(always)]
    fn feed<const EDGE: bool>(&mut self, simd: S, steps: &L) -> [(S::f32s, S::f32s); 2] {
        let (even, odd) = self.rows[0].split::<S, EDGE>(simd, self.at);
        let first = steps.forward_along(self.held[0], even, &mut self.state[0]);
        self.held[0] = odd;
        let (even, odd) = self.rows[1].split::<S, EDGE>(simd, self.at);
        let second = steps.forward_along(self.held[1], even, &mut self.state[1]);
        self.held[1] = odd;
        self.at += 2 * S::f32s::LEN as i64;
        [first, second]
    }
}

/// Lifts an odd row and the even row after it, and their columns.
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
    across.at = 2 * (first as i64 - (before + lead * lanes) as i64);
    for _ in 0..L::ALONG + lead {
        across.feed::<true>(simd, steps);
    }
    // Most lanes are read and written far from the ends: code that knows it keeps everything in registers.
    let blocks = state.len() / (2 * L::KEPT * lanes);
    let readable = (across.rows[0].row.len() as i64 - across.at).max(0) as usize / (2 * lanes);
    let writable = match to.kept {
        true => (to.bands[3].len().min(to.bands[1].len()) + before) / lanes,
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

/// Lanes of four bands.
#[inline(always)]
fn block<S: Simd, L: Stream<S>, const EDGE: bool>(
    simd: S,
    steps: &L,
    across: &mut Across<'_, S, L>,
    to: &mut Places<'_>,
    (i, state): (usize, &mut [f32]),
) {
    let lanes = S::f32s::LEN;
    let at = (i * lanes) as i64 - to.columns.1 as i64;
    let [past_ll, past] = to.past_cache;
    if !EDGE {
        let from = across.at as usize;
        for row in to.next {
            stream::prefetch::<false>(row, from);
            stream::prefetch::<false>(row, from + lanes);
        }
        if !past_ll {
            stream::prefetch::<true>(to.below[0], at as usize);
        }
        if !past {
            stream::prefetch::<true>(to.below[1], at as usize);
            stream::prefetch::<true>(to.below[2], at as usize);
            stream::prefetch::<true>(to.below[3], at as usize);
        }
    }
    let [odd, even] = across.feed::<EDGE>(simd, steps);
    let state = &mut state[2 * L::KEPT * lanes * i..2 * L::KEPT * lanes * (i + 1)];
    let (state_low, state_high) = state.split_at_mut(L::KEPT * lanes);
    let low = steps.forward_down(simd, (odd.0, even.0), state_low);
    let high = steps.forward_down(simd, (odd.1, even.1), state_high);
    if !to.kept {
        return;
    }
    let [low_scale, high_scale] = steps.scales();
    let [a, b, c] = [
        low_scale * low_scale,
        low_scale * high_scale,
        high_scale * high_scale,
    ];
    let (ll, mut hl) = (low.0 * a, high.0 * b);
    let (mut lh, mut hh) = (low.1 * b, high.1 * c);
    if let Some([a, b, c]) = to.limits {
        hl = lift::soft::<S>(hl, a);
        lh = lift::soft::<S>(lh, b);
        hh = lift::soft::<S>(hh, c);
    }
    put::<S, EDGE>(simd, ll, to.bands[0], at, past_ll);
    put::<S, EDGE>(simd, hl, to.bands[1], at, past);
    put::<S, EDGE>(simd, lh, to.bands[2], at, past);
    put::<S, EDGE>(simd, hh, to.bands[3], at, past);
}
