//! One level back: columns first, rows right behind them.

use super::lift::{self, State, Steps};
use super::plane::{Bands, PlaneMut, beyond};
use crate::kernel::stream;
use fearless_simd::{Simd, SimdBase};
use std::ops::Range;

/// Words of scratch for strips of this many low columns.
pub(super) fn scratch_words(pairs: usize, columns: usize) -> usize {
    let columns = columns.next_multiple_of(16);
    4 * pairs * (columns + 16 * (pairs + 1)) + 4 * columns
}

/// Makes the rows of row pairs `rows`, columns of low columns `columns`.
#[inline(always)]
pub(super) fn strip<S: Simd, const K: usize, const SYMMETRIC: bool>(
    simd: S,
    steps: &Steps<K>,
    bands: &Bands<'_>,
    (rows, columns): (Range<usize>, Range<usize>),
    (out, past_cache): (&mut PlaneMut<'_>, bool),
    scratch: &mut [f32],
) {
    let lanes = S::f32s::LEN;
    let blocks = columns.len().div_ceil(lanes);
    let (state, lines) = scratch.split_at_mut(4 * K * (blocks + K + 1) * lanes);
    state.fill(0.0);
    let (even, odd) = lines.split_at_mut(2 * blocks * lanes);
    let pixels = 2 * columns.start..(2 * columns.end).min(bands.size.width);
    for t in rows.start as i64 - K as i64..(rows.end + K) as i64 {
        let sources = (bands.low(t), bands.high(t));
        let place = (columns.start, bands.limits);
        row_pair::<S, K, SYMMETRIC>(simd, steps, sources, place, state, [even, odd]);
        let m = t - K as i64;
        if m >= rows.start as i64 {
            let row = 2 * (m as usize - rows.start);
            stream::copy(even, out.part(row, pixels.clone()), past_cache);
            if 2 * (m as usize) + 1 < bands.size.height {
                stream::copy(odd, out.part(row + 1, pixels.clone()), past_cache);
            }
        }
    }
    if past_cache {
        stream::fence();
    }
}

/// Coefficients of a row pair on their way through the steps.
struct Down<'a, S: Simd, const K: usize> {
    low: [&'a [f32]; 2],
    high: Option<[&'a [f32]; 2]>,
    scales: [f32; 3],
    limits: [f32; 3],
    width: usize,
    at: i64,
    across: [State<S::f32s, K>; 2],
}

impl<S: Simd, const K: usize> Down<'_, S, K> {
    /// The next lanes: even and odd samples of the even row, then of the odd row.
    #[inline(always)]
    fn feed<const SYMMETRIC: bool>(
        &mut self,
        simd: S,
        steps: &Steps<K>,
        state: &mut [f32],
    ) -> [(S::f32s, S::f32s); 2] {
        let (at, width, [a, b, c]) = (self.at, self.width, self.scales);
        let zero = S::f32s::splat(simd, 0.0);
        let ll = gather::<S>(simd, self.low[0], at, 0, width) * a;
        let [p, q, r] = self.limits;
        let hl = lift::soft::<S>(gather::<S>(simd, self.low[1], at, 1, width), p) * b;
        let (lh, hh) = match self.high {
            Some([lh, hh]) => (
                lift::soft::<S>(gather::<S>(simd, lh, at, 0, width), q) * b,
                lift::soft::<S>(gather::<S>(simd, hh, at, 1, width), r) * c,
            ),
            None => (zero, zero),
        };
        let (state_low, state_high) = state.split_at_mut(2 * K * S::f32s::LEN);
        let lows = column::<S, K, SYMMETRIC>(simd, steps, ll, lh, state_low);
        let highs = column::<S, K, SYMMETRIC>(simd, steps, hl, hh, state_high);
        self.at += S::f32s::LEN as i64;
        let [even, odd] = &mut self.across;
        [
            lift::inverse::<S, K, SYMMETRIC, true>(steps, lows.0, highs.0, even),
            lift::inverse::<S, K, SYMMETRIC, true>(steps, lows.1, highs.1, odd),
        ]
    }
}

/// Lanes of low and high rows through the vertical steps.
#[inline(always)]
fn column<S: Simd, const K: usize, const SYMMETRIC: bool>(
    simd: S,
    steps: &Steps<K>,
    low: S::f32s,
    high: S::f32s,
    words: &mut [f32],
) -> (S::f32s, S::f32s) {
    let mut state = lift::load::<S, K>(simd, words);
    let pair = lift::inverse::<S, K, SYMMETRIC, false>(steps, low, high, &mut state);
    lift::store::<S, K>(&state, words);
    pair
}

/// Takes the coefficients of a row pair, gives an even and an odd row, `K` pairs before.
#[inline(always)]
fn row_pair<'a, S: Simd, const K: usize, const SYMMETRIC: bool>(
    simd: S,
    steps: &Steps<K>,
    (low, high): ([&'a [f32]; 2], Option<[&'a [f32]; 2]>),
    (first, limits): (usize, [f32; 3]),
    state: &mut [f32],
    [even, odd]: [&mut [f32]; 2],
) {
    let lanes = S::f32s::LEN;
    let mut down = Down::<S, K> {
        low,
        high,
        scales: [
            1.0 / (steps.low * steps.low),
            1.0 / (steps.low * steps.high),
            1.0 / (steps.high * steps.high),
        ],
        limits,
        width: low[0].len() + low[1].len(),
        at: first as i64 - lanes as i64,
        across: [[[S::f32s::splat(simd, 0.0); 2]; K]; 2],
    };
    let (warm, main) = state.split_at_mut(4 * K * (K + 1) * lanes);
    for i in 0..=K {
        let state = &mut warm[4 * K * lanes * i..4 * K * lanes * (i + 1)];
        down.feed::<SYMMETRIC>(simd, steps, state);
    }
    for i in 0..even.len() / (2 * lanes) {
        let state = &mut main[4 * K * lanes * i..4 * K * lanes * (i + 1)];
        let [(e, o), (f, p)] = down.feed::<SYMMETRIC>(simd, steps, state);
        let (left, right) = (2 * lanes * i, 2 * lanes * i + lanes);
        let (a, b) = e.interleave(o);
        a.store_slice(&mut even[left..right]);
        b.store_slice(&mut even[right..right + lanes]);
        let (a, b) = f.interleave(p);
        a.store_slice(&mut odd[left..right]);
        b.store_slice(&mut odd[right..right + lanes]);
    }
}

/// Coefficients from place `at` on, of a line of `width` samples; beyond the ends they are mirrored like its samples.
#[inline(always)]
fn gather<S: Simd>(simd: S, row: &[f32], at: i64, parity: i64, width: usize) -> S::f32s {
    let lanes = S::f32s::LEN;
    if at >= 0 && at as usize + lanes <= row.len() {
        return S::f32s::from_slice(simd, &row[at as usize..at as usize + lanes]);
    }
    let mut edge = [0.0; 16];
    beyond(row, at, 2, parity, width, &mut edge[..lanes]);
    S::f32s::from_slice(simd, &edge[..lanes])
}
