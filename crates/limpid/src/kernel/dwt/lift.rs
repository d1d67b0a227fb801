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
#[inline(always)]
pub(super) fn forward<S: Simd, const K: usize, const SYMMETRIC: bool, const ALONG: bool>(
    steps: &Steps<K>,
    mut odd: S::f32s,
    mut even: S::f32s,
    state: &mut State<S::f32s, K>,
) -> (S::f32s, S::f32s) {
    let mut lifted = odd;
    for k in 0..K {
        let ([p0, p1, u0, u1], [e, d]) = (steps.pairs[k], state[k]);
        let ahead = if ALONG { next::<S>(e, even) } else { even };
        let new = odd + taps::<S, SYMMETRIC>(e, ahead, p0, p1);
        let behind = if ALONG { last::<S>(d, new) } else { d };
        let low = e + taps::<S, SYMMETRIC>(behind, new, u0, u1);
        state[k] = [even, new];
        (odd, even, lifted) = (d, low, new);
    }
    (even, lifted)
}

/// Takes low and high sample `m`, gives `even[m - K]` and `odd[m - K]`.
#[inline(always)]
pub(super) fn inverse<S: Simd, const K: usize, const SYMMETRIC: bool, const ALONG: bool>(
    steps: &Steps<K>,
    mut low: S::f32s,
    mut high: S::f32s,
    state: &mut State<S::f32s, K>,
) -> (S::f32s, S::f32s) {
    for i in 0..K {
        let k = K - 1 - i;
        let ([p0, p1, u0, u1], [e, d]) = (steps.pairs[k], state[k]);
        let behind = if ALONG { last::<S>(d, high) } else { d };
        let even = low - taps::<S, SYMMETRIC>(behind, high, u0, u1);
        let ahead = if ALONG { next::<S>(e, even) } else { even };
        let odd = d - taps::<S, SYMMETRIC>(e, ahead, p0, p1);
        state[k] = [even, high];
        (low, high) = (e, odd);
    }
    (low, high)
}

/// Reads the state of a column of lanes.
#[inline(always)]
pub(super) fn load<S: Simd, const K: usize>(simd: S, words: &[f32]) -> State<S::f32s, K> {
    let lanes = S::f32s::LEN;
    let mut state = [[S::f32s::splat(simd, 0.0); 2]; K];
    for k in 0..K {
        let at = 2 * k * lanes;
        state[k] = [
            S::f32s::from_slice(simd, &words[at..at + lanes]),
            S::f32s::from_slice(simd, &words[at + lanes..at + 2 * lanes]),
        ];
    }
    state
}

/// Writes it back.
#[inline(always)]
pub(super) fn store<S: Simd, const K: usize>(state: &State<S::f32s, K>, words: &mut [f32]) {
    let lanes = S::f32s::LEN;
    for k in 0..K {
        let at = 2 * k * lanes;
        state[k][0].store_slice(&mut words[at..at + lanes]);
        state[k][1].store_slice(&mut words[at + lanes..at + 2 * lanes]);
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
