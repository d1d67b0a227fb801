//! One forward level: its input rows, and the output of its four bands.

use super::driver::{self, Lines, Pass, Places, Rows};
use super::lift::{self, Lanes, Stream};
use super::pieces::{Piece, Span, band};
use super::plane::{Line, Plane, PlaneMut, halves, put};
use fearless_simd::{Simd, SimdBase};
use limpid_core::Size;
use limpid_plan::stream;
use std::ops::Range;

/// The output of a band of rows.
#[derive(Debug)]
pub(super) struct OutputRows<'a> {
    /// `LL`, if it is separate from the packed image.
    pub ll: Option<PlaneMut<'a>>,
    /// Rows of `LL` and `HL`.
    pub top: PlaneMut<'a>,
    /// Rows of `LH` and `HH`.
    pub bottom: PlaneMut<'a>,
    /// Whether to use non-temporal stores.
    pub past_cache: bool,
    /// Soft thresholds of `HL`, `LH` and `HH`.
    pub limits: [f32; 3],
}

impl OutputRows<'_> {
    /// Output segments of a row pair's coefficients, bands in order, and those of the next pair. The last pair may have no high
    /// row.
    #[inline(always)]
    fn places(&mut self, (row, high): (usize, bool), spans: &[Range<usize>; 2]) -> Lines<'_, 4> {
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

/// Splits the output of a level into bands of row pairs.
pub(super) fn split_out<'a>(
    (dst, stride): (&'a mut [f32], usize),
    level: Size,
    apart: Option<(&'a mut [f32], usize)>,
    threads: usize,
) -> Vec<(Span, OutputRows<'a>)> {
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
            let out = OutputRows {
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

/// Computes the coefficients of row pairs `rows` and low columns `columns`.
#[inline(always)]
pub(super) fn strip<S: Simd, L: Stream<S>>(
    simd: S,
    steps: &L,
    src: &Plane<'_>,
    piece: &Piece,
    out: &mut OutputRows<'_>,
    scratch: &mut [f32],
) {
    let columns = piece.columns.clone();
    let (lw, hw) = halves(src.size.width);
    let right = lw + columns.start..lw + columns.end.min(hw).max(columns.start);
    let mut pass = Forward {
        src: *src,
        spans: [columns, right],
        out,
    };
    driver::strip(simd, steps, &mut pass, piece, scratch);
}

/// Transforms the rows of an image into four bands.
struct Forward<'a, 'b, 'c> {
    src: Plane<'a>,
    out: &'b mut OutputRows<'c>,
    /// Columns of the low and of the high bands.
    spans: [Range<usize>; 2],
}

impl<'a, S: Simd, L: Stream<S>> Pass<S, L, 4> for Forward<'a, '_, '_> {
    const AHEAD: usize = 1;
    type Rows = Pair<'a, S, L>;

    /// An odd row and the even row after it.
    #[inline(always)]
    fn rows(&self, simd: S, _: &L, t: i64) -> Self::Rows {
        let (src, limits) = (&self.src, self.out.limits);
        let zero = S::f32s::splat(simd, 0.0);
        Pair {
            rows: [
                Line::whole(src.row(2 * t + 1)),
                Line::whole(src.row(2 * t + 2)),
            ],
            next: [src.row(2 * t + 3), src.row(2 * t + 4)],
            held: [zero; 2],
            state: [L::nothing(simd), L::nothing(simd)],
            limits: (limits != [0.0; 3]).then_some(limits),
        }
    }

    #[inline(always)]
    fn lines(&mut self, m: i64, row: usize) -> Lines<'_, 4> {
        let (_, high_rows) = halves(self.src.size.height);
        self.out
            .places((row, (m as usize) < high_rows), &self.spans)
    }

    #[inline(always)]
    fn length(&self) -> usize {
        self.spans[0].len()
    }

    #[inline(always)]
    fn past_cache(&self) -> [bool; 2] {
        let past = self.out.past_cache;
        [past && self.out.ll.is_none(), past]
    }

    #[inline(always)]
    fn before(&self) -> Option<usize> {
        let (lanes, (lw, _)) = (S::f32s::LEN, halves(self.src.size.width));
        let top = &self.out.top;
        let agree = lw.is_multiple_of(lanes) && top.stride.is_multiple_of(lanes);
        let first = top.data[self.spans[0].start..].as_ptr() as usize / 4;
        agree.then_some(first % lanes)
    }
}

/// An odd row and the even row after it, in the horizontal steps.
struct Pair<'a, S: Simd, L: Stream<S>> {
    rows: [Line<'a>; 2],
    /// The rows that are read next.
    next: [&'a [f32]; 2],
    held: [S::f32s; 2],
    state: [L::Along; 2],
    limits: Option<[f32; 3]>,
}

impl<S: Simd, L: Stream<S>> Rows<S, L, 4> for Pair<'_, S, L> {
    const READ: usize = 2;
    const WRITTEN: usize = 1;

    #[inline(always)]
    fn length(&self) -> usize {
        self.rows[0].row.len()
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        stream::prefetch::<false>(self.next[0], at);
        stream::prefetch::<false>(self.next[1], at);
    }

    /// Returns low and high of the odd row, then of the even row.
    #[inline(always)]
    fn feed<const EDGE: bool>(&mut self, simd: S, steps: &L, at: i64) -> [Lanes<S>; 2] {
        let (even, odd) = self.rows[0].split::<S, EDGE>(simd, at);
        let first = steps.forward_along(self.held[0], even, &mut self.state[0]);
        self.held[0] = odd;
        let (even, odd) = self.rows[1].split::<S, EDGE>(simd, at);
        let second = steps.forward_along(self.held[1], even, &mut self.state[1]);
        self.held[1] = odd;
        [first, second]
    }

    #[inline(always)]
    fn down(simd: S, steps: &L, pair: Lanes<S>, kept: &mut [f32]) -> Lanes<S> {
        steps.forward_down(simd, pair, kept)
    }

    #[inline(always)]
    fn store<const EDGE: bool>(
        &self,
        simd: S,
        steps: &L,
        [low, high]: [Lanes<S>; 2],
        to: &mut Places<'_, 4>,
        at: i64,
    ) {
        let [low_scale, high_scale] = steps.scales();
        let [a, b, c] = [
            low_scale * low_scale,
            low_scale * high_scale,
            high_scale * high_scale,
        ];
        let (ll, mut hl) = (low.0 * a, high.0 * b);
        let (mut lh, mut hh) = (low.1 * b, high.1 * c);
        if let Some([a, b, c]) = self.limits {
            hl = lift::soft::<S>(hl, a);
            lh = lift::soft::<S>(lh, b);
            hh = lift::soft::<S>(hh, c);
        }
        let [past_ll, past] = to.past_cache;
        put::<S, EDGE>(simd, ll, to.lines[0], at, past_ll);
        put::<S, EDGE>(simd, hl, to.lines[1], at, past);
        put::<S, EDGE>(simd, lh, to.lines[2], at, past);
        put::<S, EDGE>(simd, hh, to.lines[3], at, past);
    }
}
