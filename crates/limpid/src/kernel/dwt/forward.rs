//! One level forward: rows are lifted as they stream in, columns right behind them, in registers and a few lines of state.

use super::lift::{self, State, Steps};
use super::plane::{Plane, PlaneMut, beyond, halves};
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

/// Words of scratch for strips of this many low columns.
pub(super) fn scratch_words(pairs: usize, columns: usize) -> usize {
    let columns = columns.next_multiple_of(16);
    4 * pairs * columns + 4 * columns
}

/// Makes the coefficients of row pairs `rows` and low columns `columns`.
#[inline(always)]
pub(super) fn strip<S: Simd, const K: usize, const SYMMETRIC: bool>(
    simd: S,
    steps: &Steps<K>,
    src: &Plane<'_>,
    (rows, columns): (Range<usize>, Range<usize>),
    out: &mut Out<'_>,
    scratch: &mut [f32],
) {
    let lanes = S::f32s::LEN;
    let blocks = columns.len().div_ceil(lanes);
    let (state, lines) = scratch.split_at_mut(4 * K * blocks * lanes);
    state.fill(0.0);
    let mut lines = lines.chunks_exact_mut(blocks * lanes);
    let mut line = || lines.next().unwrap_or_default();
    let mut lines = [line(), line(), line(), line()];
    let (_, high_rows) = halves(src.size.height);
    // Rows before the first one fill the state; what they give is not stored.
    for t in rows.start as i64 - K as i64 - 1..(rows.end + K) as i64 - 1 {
        let pair = [src.row(2 * t + 1), src.row(2 * t + 2)];
        let place = (columns.start, out.limits);
        row_pair::<S, K, SYMMETRIC>(simd, steps, pair, place, state, &mut lines);
        let m = t + 1 - K as i64;
        if m >= rows.start as i64 {
            let m = m as usize;
            let kept = (m - rows.start, m < high_rows);
            write(&lines, kept, src.size.width, &columns, out);
        }
    }
    if out.past_cache {
        stream::fence();
    }
}

/// An odd row and the even row after it, on their way through the horizontal steps.
///
/// Plain functions that are always inlined: closures are not, and would lose the SIMD level they are called from.
struct Across<'a, S: Simd, const K: usize> {
    rows: [&'a [f32]; 2],
    at: i64,
    held: [S::f32s; 2],
    state: [State<S::f32s, K>; 2],
}

impl<'a, S: Simd, const K: usize> Across<'a, S, K> {
    #[inline(always)]
    fn new(simd: S, rows: [&'a [f32]; 2], first: usize) -> Self {
        let zero = S::f32s::splat(simd, 0.0);
        Self {
            rows,
            at: 2 * (first as i64 - S::f32s::LEN as i64),
            held: [zero; 2],
            state: [[[zero; 2]; K]; 2],
        }
    }

    /// The next lanes of both rows: low and high of the odd row, low and high of the even row.
    #[inline(always)]
    fn feed<const SYMMETRIC: bool>(
        &mut self,
        simd: S,
        steps: &Steps<K>,
    ) -> [(S::f32s, S::f32s); 2] {
        let (even, odd) = split::<S>(simd, self.rows[0], self.at);
        let first =
            lift::forward::<S, K, SYMMETRIC, true>(steps, self.held[0], even, &mut self.state[0]);
        self.held[0] = odd;
        let (even, odd) = split::<S>(simd, self.rows[1], self.at);
        let second =
            lift::forward::<S, K, SYMMETRIC, true>(steps, self.held[1], even, &mut self.state[1]);
        self.held[1] = odd;
        self.at += 2 * S::f32s::LEN as i64;
        [first, second]
    }
}

/// Lifts an odd row and the even row after it, and their columns.
#[inline(always)]
fn row_pair<S: Simd, const K: usize, const SYMMETRIC: bool>(
    simd: S,
    steps: &Steps<K>,
    rows: [&[f32]; 2],
    (first, limits): (usize, [f32; 3]),
    state: &mut [f32],
    lines: &mut [&mut [f32]; 4],
) {
    let lanes = S::f32s::LEN;
    let mut across = Across::<S, K>::new(simd, rows, first);
    let scales = [
        steps.low * steps.low,
        steps.low * steps.high,
        steps.high * steps.high,
    ];
    for _ in 0..=K {
        across.feed::<SYMMETRIC>(simd, steps);
    }
    let [a, b, c, d] = lines;
    for i in 0..a.len() / lanes {
        let [odd, even] = across.feed::<SYMMETRIC>(simd, steps);
        let state = &mut state[4 * K * lanes * i..4 * K * lanes * (i + 1)];
        let (state_low, state_high) = state.split_at_mut(2 * K * lanes);
        let to = i * lanes..(i + 1) * lanes;
        let (s, t) = column::<S, K, SYMMETRIC>(simd, steps, odd.0, even.0, state_low);
        (s * scales[0]).store_slice(&mut a[to.clone()]);
        lift::soft::<S>(t * scales[1], limits[1]).store_slice(&mut c[to.clone()]);
        let (s, t) = column::<S, K, SYMMETRIC>(simd, steps, odd.1, even.1, state_high);
        lift::soft::<S>(s * scales[1], limits[0]).store_slice(&mut b[to.clone()]);
        lift::soft::<S>(t * scales[2], limits[2]).store_slice(&mut d[to]);
    }
}

/// Lanes of an odd and an even row through the vertical steps.
#[inline(always)]
fn column<S: Simd, const K: usize, const SYMMETRIC: bool>(
    simd: S,
    steps: &Steps<K>,
    odd: S::f32s,
    even: S::f32s,
    words: &mut [f32],
) -> (S::f32s, S::f32s) {
    let mut state = lift::load::<S, K>(simd, words);
    let pair = lift::forward::<S, K, SYMMETRIC, false>(steps, odd, even, &mut state);
    lift::store::<S, K>(&state, words);
    pair
}

/// Even and odd samples from place `at` on; beyond the ends the row is mirrored.
#[inline(always)]
fn split<S: Simd>(simd: S, row: &[f32], at: i64) -> (S::f32s, S::f32s) {
    let lanes = S::f32s::LEN;
    if at >= 0 && at as usize + 2 * lanes <= row.len() {
        let part = &row[at as usize..at as usize + 2 * lanes];
        let a = S::f32s::from_slice(simd, &part[..lanes]);
        return a.deinterleave(S::f32s::from_slice(simd, &part[lanes..]));
    }
    let mut edge = [0.0; 32];
    beyond(row, at, 1, 0, row.len(), &mut edge[..2 * lanes]);
    let a = S::f32s::from_slice(simd, &edge[..lanes]);
    a.deinterleave(S::f32s::from_slice(simd, &edge[lanes..2 * lanes]))
}

/// Copies a row pair's coefficients to their places.
#[inline(always)]
fn write(
    lines: &[&mut [f32]; 4],
    (row, high): (usize, bool),
    width: usize,
    columns: &Range<usize>,
    out: &mut Out<'_>,
) {
    let (lw, hw) = halves(width);
    let low = columns.start..columns.end;
    let right = lw + columns.start..lw + columns.end.min(hw).max(columns.start);
    match &mut out.ll {
        Some(ll) => stream::copy(lines[0], ll.part(row, low.clone()), false),
        None => stream::copy(lines[0], out.top.part(row, low.clone()), out.past_cache),
    }
    stream::copy(lines[1], out.top.part(row, right.clone()), out.past_cache);
    if high {
        stream::copy(lines[2], out.bottom.part(row, low), out.past_cache);
        stream::copy(lines[3], out.bottom.part(row, right), out.past_cache);
    }
}
