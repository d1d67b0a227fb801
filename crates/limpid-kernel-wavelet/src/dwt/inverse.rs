//! One inverse level: its input from four bands, and its output rows.

use super::driver::{self, Lines, Pass, Places, Rows};
use super::lift::{self, Lanes, Stream};
use super::pieces::Piece;
use super::plane::{Bands, Line, PlaneMut, put};
use fearless_simd::{Simd, SimdBase};
use limpid_plan::stream;
use std::ops::Range;

/// Computes the rows of row pairs `rows`, for the columns of low columns `columns`.
#[inline(always)]
pub(super) fn strip<S: Simd, L: Stream<S>>(
    simd: S,
    steps: &L,
    bands: &Bands<'_>,
    piece: &Piece,
    (out, past_cache): (&mut PlaneMut<'_>, bool),
    scratch: &mut [f32],
) {
    let columns = &piece.columns;
    let mut pass = Inverse {
        bands: *bands,
        pixels: 2 * columns.start..(2 * columns.end).min(bands.size.width),
        out,
        past_cache,
    };
    driver::strip(simd, steps, &mut pass, piece, scratch);
}

/// Transforms four bands into the rows of an image.
struct Inverse<'a, 'b, 'c> {
    bands: Bands<'a>,
    out: &'b mut PlaneMut<'c>,
    /// Columns of the image.
    pixels: Range<usize>,
    past_cache: bool,
}

impl<'a, S: Simd, L: Stream<S>> Pass<S, L, 2> for Inverse<'a, '_, '_> {
    const AHEAD: usize = 0;
    type Rows = FourRows<'a, S, L>;

    #[inline(always)]
    fn rows(&self, simd: S, steps: &L, t: i64) -> Self::Rows {
        let (bands, width) = (&self.bands, self.bands.size.width);
        let ([ll, hl], [lh, hh]) = (bands.low(t), bands.high(t).unwrap_or_default());
        let (low, high) = (bands.low(t + 1), bands.high(t + 1).unwrap_or_default());
        let [low_scale, high_scale] = steps.scales();
        FourRows {
            lines: [
                Line::half(ll, 0, width),
                Line::half(hl, 1, width),
                Line::half(lh, 0, width),
                Line::half(hh, 1, width),
            ],
            next: [low[0], low[1], high[0], high[1]],
            scales: [
                1.0 / (low_scale * low_scale),
                1.0 / (low_scale * high_scale),
                1.0 / (high_scale * high_scale),
            ],
            limits: (bands.limits != [0.0; 3]).then_some(bands.limits),
            state: [L::nothing(simd), L::nothing(simd)],
        }
    }

    /// Segments of an even and an odd row, and of the rows after them; the last pair may have no odd row.
    #[inline(always)]
    fn lines(&mut self, m: i64, row: usize) -> Lines<'_, 2> {
        let (stride, pixels) = (self.out.stride, &self.pixels);
        let rows = &mut self.out.data[2 * row * stride..];
        if 2 * m + 1 >= self.bands.size.height as i64 {
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

    #[inline(always)]
    fn length(&self) -> usize {
        self.pixels.len()
    }

    #[inline(always)]
    fn past_cache(&self) -> [bool; 2] {
        [self.past_cache; 2]
    }

    #[inline(always)]
    fn before(&self) -> Option<usize> {
        let lanes = S::f32s::LEN;
        let first = self.out.data[self.pixels.start..].as_ptr() as usize / 4 % lanes;
        let agree = self.out.stride.is_multiple_of(lanes) && first.is_multiple_of(2);
        agree.then_some(first / 2)
    }
}

/// Rows of coefficients in the horizontal steps.
struct FourRows<'a, S: Simd, L: Stream<S>> {
    /// Low and high half of the low row, then of the high row.
    lines: [Line<'a>; 4],
    /// The rows that are read next.
    next: [&'a [f32]; 4],
    scales: [f32; 3],
    limits: Option<[f32; 3]>,
    state: [L::Along; 2],
}

impl<S: Simd, L: Stream<S>> Rows<S, L, 2> for FourRows<'_, S, L> {
    const READ: usize = 1;
    const WRITTEN: usize = 2;

    #[inline(always)]
    fn length(&self) -> usize {
        self.lines[3].row.len()
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        for row in self.next {
            stream::prefetch::<false>(row, at);
        }
    }

    /// Returns even and odd columns of the low row, then of the high row.
    #[inline(always)]
    fn feed<const EDGE: bool>(&mut self, simd: S, steps: &L, at: i64) -> [Lanes<S>; 2] {
        let [a, b, c] = self.scales;
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
        [low, high]
    }

    #[inline(always)]
    fn down(simd: S, steps: &L, pair: Lanes<S>, kept: &mut [f32]) -> Lanes<S> {
        steps.inverse_down(simd, pair, kept)
    }

    #[inline(always)]
    fn store<const EDGE: bool>(
        &self,
        simd: S,
        _: &L,
        [even, odd]: [Lanes<S>; 2],
        to: &mut Places<'_, 2>,
        at: i64,
    ) {
        let (lanes, past) = (S::f32s::LEN as i64, to.past_cache[0]);
        let (a, b) = even.0.interleave(odd.0);
        put::<S, EDGE>(simd, a, to.lines[0], at, past);
        put::<S, EDGE>(simd, b, to.lines[0], at + lanes, past);
        let (a, b) = even.1.interleave(odd.1);
        put::<S, EDGE>(simd, a, to.lines[1], at, past);
        put::<S, EDGE>(simd, b, to.lines[1], at + lanes, past);
    }
}
