//! Lifting as a stream: pairs of steps with two taps each.
//!
//! Samples come in pairs, `odd[m]` with `even[m + 1]`; a pair of steps keeps the last even and the last lifted odd sample
//! and hands on what the next pair of steps needs, one place later. The same recurrence runs down the rows, where a
//! lane is a column, and along a row, where neighbours are lanes.
//!
//! Loops go by index: adapters of iterators are not inlined into code for other SIMD levels, and cost a call per vector.

use fearless_simd::{Simd, SimdBase};

/// `K` pairs of steps with two taps each: predict reads `even[m]` and `even[m + 1]`, update `odd[m - 1]` and `odd[m]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Steps<const K: usize> {
    /// Taps of predict, taps of update.
    pub pairs: [[f32; 4]; K],
    /// Factors of low and high samples at the end.
    pub low: f32,
    pub high: f32,
}

impl<const K: usize> Steps<K> {
    /// Whether both taps of every step are the same, which saves a multiplication.
    pub(super) fn symmetric(&self) -> bool {
        self.pairs.iter().all(|[a, b, c, d]| a == b && c == d)
    }
}

/// Last even and last lifted odd sample of each pair of steps.
pub(super) type State<V, const K: usize> = [[V; 2]; K];

/// `a` by one lane towards the front, filled up from `b`.
#[inline(always)]
pub(super) fn next<S: Simd>(a: S::f32s, b: S::f32s) -> S::f32s {
    a.slide::<1>(b)
}

/// `b` by one lane towards the back, filled up from `a`.
#[inline(always)]
pub(super) fn last<S: Simd>(a: S::f32s, b: S::f32s) -> S::f32s {
    match S::f32s::LEN {
        4 => a.slide::<3>(b),
        8 => a.slide::<7>(b),
        _ => a.slide::<15>(b),
    }
}

/// `t0·a + t1·b`.
#[inline(always)]
fn taps<S: Simd, const SYMMETRIC: bool>(a: S::f32s, b: S::f32s, t0: f32, t1: f32) -> S::f32s {
    if SYMMETRIC {
        (a + b) * t0
    } else {
        a * t0 + b * t1
    }
}

/// Takes `odd[m]` and `even[m + 1]`, gives low and high sample `m + 1 - K`; `ALONG` a row or down rows.
///
/// One or two pairs of steps, by constant indices: state that is indexed in a loop would not stay in registers.
#[inline(always)]
pub(super) fn forward<S: Simd, const K: usize, const SYMMETRIC: bool, const ALONG: bool>(
    steps: &Steps<K>,
    odd: S::f32s,
    even: S::f32s,
    state: &mut State<S::f32s, K>,
) -> (S::f32s, S::f32s) {
    let behind = state[0][1];
    let first = there::<S, SYMMETRIC, ALONG>(steps.pairs[0], odd, even, &mut state[0]);
    if K == 1 {
        return first;
    }
    there::<S, SYMMETRIC, ALONG>(steps.pairs[K - 1], behind, first.0, &mut state[K - 1])
}

/// A pair of steps there: low sample and lifted odd one.
#[inline(always)]
fn there<S: Simd, const SYMMETRIC: bool, const ALONG: bool>(
    [p0, p1, u0, u1]: [f32; 4],
    odd: S::f32s,
    even: S::f32s,
    state: &mut [S::f32s; 2],
) -> (S::f32s, S::f32s) {
    let [e, d] = *state;
    let ahead = if ALONG { next::<S>(e, even) } else { even };
    let new = odd + taps::<S, SYMMETRIC>(e, ahead, p0, p1);
    let behind = if ALONG { last::<S>(d, new) } else { d };
    let low = e + taps::<S, SYMMETRIC>(behind, new, u0, u1);
    *state = [even, new];
    (low, new)
}

/// Takes low and high sample `m`, gives `even[m - K]` and `odd[m - K]`.
#[inline(always)]
pub(super) fn inverse<S: Simd, const K: usize, const SYMMETRIC: bool, const ALONG: bool>(
    steps: &Steps<K>,
    low: S::f32s,
    high: S::f32s,
    state: &mut State<S::f32s, K>,
) -> (S::f32s, S::f32s) {
    let (pairs, last) = (&steps.pairs, K - 1);
    let pair = back::<S, SYMMETRIC, ALONG>(pairs[last], low, high, &mut state[last]);
    if K == 1 {
        return pair;
    }
    back::<S, SYMMETRIC, ALONG>(pairs[0], pair.0, pair.1, &mut state[0])
}

/// A pair of steps back: even and odd sample of the place before.
#[inline(always)]
fn back<S: Simd, const SYMMETRIC: bool, const ALONG: bool>(
    [p0, p1, u0, u1]: [f32; 4],
    low: S::f32s,
    high: S::f32s,
    state: &mut [S::f32s; 2],
) -> (S::f32s, S::f32s) {
    let [e, d] = *state;
    let behind = if ALONG { last::<S>(d, high) } else { d };
    let even = low - taps::<S, SYMMETRIC>(behind, high, u0, u1);
    let ahead = if ALONG { next::<S>(e, even) } else { even };
    let odd = d - taps::<S, SYMMETRIC>(e, ahead, p0, p1);
    *state = [even, high];
    (e, odd)
}

/// Reads the state of a column of lanes.
#[inline(always)]
pub(super) fn load<S: Simd, const K: usize>(simd: S, words: &[f32]) -> State<S::f32s, K> {
    let lanes = S::f32s::LEN;
    let words = &words[..2 * K * lanes];
    let mut state = [[S::f32s::splat(simd, 0.0); 2]; K];
    state[0][0] = S::f32s::from_slice(simd, &words[..lanes]);
    state[0][1] = S::f32s::from_slice(simd, &words[lanes..2 * lanes]);
    if K > 1 {
        state[K - 1][0] = S::f32s::from_slice(simd, &words[2 * lanes..3 * lanes]);
        state[K - 1][1] = S::f32s::from_slice(simd, &words[3 * lanes..4 * lanes]);
    }
    state
}

/// Writes it back.
#[inline(always)]
pub(super) fn store<S: Simd, const K: usize>(state: &State<S::f32s, K>, words: &mut [f32]) {
    let lanes = S::f32s::LEN;
    let words = &mut words[..2 * K * lanes];
    state[0][0].store_slice(&mut words[..lanes]);
    state[0][1].store_slice(&mut words[lanes..2 * lanes]);
    if K > 1 {
        state[K - 1][0].store_slice(&mut words[2 * lanes..3 * lanes]);
        state[K - 1][1].store_slice(&mut words[3 * lanes..4 * lanes]);
    }
}

/// Towards zero by `limit`.
#[inline(always)]
pub(super) fn soft<S: Simd>(v: S::f32s, limit: f32) -> S::f32s {
    if limit == 0.0 {
        return v;
    }
    let inside = v.max(-limit).min(limit);
    v - inside
}
