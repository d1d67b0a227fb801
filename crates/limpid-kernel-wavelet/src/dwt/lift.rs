//! Streaming lifting, with pairs of steps of two taps each.
//!
//! Samples arrive in pairs, `odd[m]` with `even[m + 1]`; a pair of steps keeps the last even and the last lifted odd sample and
//! passes its results to the next pair of steps, delayed by one position. The same recurrence runs down the rows, where a lane
//! is a column, and along a row, where lanes are neighbours.
//!
//! Loops use indices: iterator adapters are not inlined into code for other SIMD levels, and cost a call per vector.

use fearless_simd::{Simd, SimdBase};

/// A lifting that processes a stream of samples, along a row or down the rows.
pub(super) trait Stream<S: Simd>: Copy {
    /// The state along a row.
    type Along;
    /// Delay of the results along a row, in vectors.
    const ALONG: usize;
    /// Delay of the results in row pairs.
    const DOWN: usize;
    /// Number of vectors of state per column.
    const KEPT: usize;

    /// Final scale factors of low and high samples.
    fn scales(&self) -> [f32; 2];

    /// The initial state.
    fn nothing(simd: S) -> Self::Along;

    /// Takes vectors `odd[i]` and `even[i + 1]` of a row, returns low and high vector `i + 1 - ALONG`.
    fn forward_along(&self, odd: S::f32s, even: S::f32s, kept: &mut Self::Along) -> Lanes<S>;

    /// Takes lanes of rows `odd[m]` and `even[m + 1]`, returns those of low and high row `m + 1 - DOWN`.
    fn forward_down(&self, simd: S, pair: Lanes<S>, kept: &mut [f32]) -> Lanes<S>;

    /// Takes low and high vector `i` of a row, returns `even[i - ALONG]` and `odd[i - ALONG]`.
    fn inverse_along(&self, low: S::f32s, high: S::f32s, kept: &mut Self::Along) -> Lanes<S>;

    /// Takes lanes of low and high row `m`, returns those of rows `even[m - DOWN]` and `odd[m - DOWN]`.
    fn inverse_down(&self, simd: S, pair: Lanes<S>, kept: &mut [f32]) -> Lanes<S>;
}

/// Lanes of a pair of samples.
pub(super) type Lanes<S> = (<S as Simd>::f32s, <S as Simd>::f32s);

/// `K` pairs of steps with two taps each: predict reads `even[m]` and `even[m + 1]`, update `odd[m - 1]` and `odd[m]`. With
/// `SYMMETRIC` both taps of every step are equal, which saves a multiplication.
#[derive(Debug, Clone, Copy)]
pub(super) struct TwoTap<const K: usize, const SYMMETRIC: bool> {
    /// Taps of predict, taps of update.
    pub pairs: [[f32; 4]; K],
    pub scales: [f32; 2],
}

impl<S: Simd, const K: usize, const SYMMETRIC: bool> Stream<S> for TwoTap<K, SYMMETRIC> {
    type Along = State<S::f32s, K>;
    const ALONG: usize = K;
    const DOWN: usize = K;
    const KEPT: usize = 2 * K;

    #[inline(always)]
    fn scales(&self) -> [f32; 2] {
        self.scales
    }

    #[inline(always)]
    fn nothing(simd: S) -> Self::Along {
        [[S::f32s::splat(simd, 0.0); 2]; K]
    }

    #[inline(always)]
    fn forward_along(&self, odd: S::f32s, even: S::f32s, kept: &mut Self::Along) -> Lanes<S> {
        forward::<S, K, SYMMETRIC, true>(&self.pairs, odd, even, kept)
    }

    #[inline(always)]
    fn forward_down(&self, simd: S, pair: Lanes<S>, kept: &mut [f32]) -> Lanes<S> {
        let mut state = load::<S, K>(simd, kept);
        let pair = forward::<S, K, SYMMETRIC, false>(&self.pairs, pair.0, pair.1, &mut state);
        store::<S, K>(&state, kept);
        pair
    }

    #[inline(always)]
    fn inverse_along(&self, low: S::f32s, high: S::f32s, kept: &mut Self::Along) -> Lanes<S> {
        inverse::<S, K, SYMMETRIC, true>(&self.pairs, low, high, kept)
    }

    #[inline(always)]
    fn inverse_down(&self, simd: S, pair: Lanes<S>, kept: &mut [f32]) -> Lanes<S> {
        let mut state = load::<S, K>(simd, kept);
        let pair = inverse::<S, K, SYMMETRIC, false>(&self.pairs, pair.0, pair.1, &mut state);
        store::<S, K>(&state, kept);
        pair
    }
}

/// Last even and last lifted odd sample of each pair of steps.
type State<V, const K: usize> = [[V; 2]; K];

/// `a` shifted by one lane towards the front, filled from `b`.
#[inline(always)]
pub(super) fn next<S: Simd>(a: S::f32s, b: S::f32s) -> S::f32s {
    a.slide::<1>(b)
}

/// `b` shifted by one lane towards the back, filled from `a`.
#[inline(always)]
pub(super) fn last<S: Simd>(a: S::f32s, b: S::f32s) -> S::f32s {
    match S::f32s::LEN {
        4 => a.slide::<3>(b),
        8 => a.slide::<7>(b),
        _ => a.slide::<15>(b),
    }
}

/// `a` shifted by two lanes towards the front, filled from `b`.
#[inline(always)]
pub(super) fn second_next<S: Simd>(a: S::f32s, b: S::f32s) -> S::f32s {
    a.slide::<2>(b)
}

/// `b` shifted by two lanes towards the back, filled from `a`.
#[inline(always)]
pub(super) fn second_last<S: Simd>(a: S::f32s, b: S::f32s) -> S::f32s {
    match S::f32s::LEN {
        4 => a.slide::<2>(b),
        8 => a.slide::<6>(b),
        _ => a.slide::<14>(b),
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

/// Takes `odd[m]` and `even[m + 1]`, returns low and high sample `m + 1 - K`; along a row with `ALONG`, otherwise down the
/// rows.
///
/// One or two pairs of steps with constant indices: state indexed in a loop would not stay in registers.
#[inline(always)]
fn forward<S: Simd, const K: usize, const SYMMETRIC: bool, const ALONG: bool>(
    pairs: &[[f32; 4]; K],
    odd: S::f32s,
    even: S::f32s,
    state: &mut State<S::f32s, K>,
) -> (S::f32s, S::f32s) {
    let behind = state[0][1];
    let first = there::<S, SYMMETRIC, ALONG>(pairs[0], odd, even, &mut state[0]);
    if K == 1 {
        return first;
    }
    there::<S, SYMMETRIC, ALONG>(pairs[K - 1], behind, first.0, &mut state[K - 1])
}

/// A pair of forward steps: returns the low sample and the lifted odd one.
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

/// Takes low and high sample `m`, returns `even[m - K]` and `odd[m - K]`.
#[inline(always)]
fn inverse<S: Simd, const K: usize, const SYMMETRIC: bool, const ALONG: bool>(
    pairs: &[[f32; 4]; K],
    low: S::f32s,
    high: S::f32s,
    state: &mut State<S::f32s, K>,
) -> (S::f32s, S::f32s) {
    let last = K - 1;
    let pair = back::<S, SYMMETRIC, ALONG>(pairs[last], low, high, &mut state[last]);
    if K == 1 {
        return pair;
    }
    back::<S, SYMMETRIC, ALONG>(pairs[0], pair.0, pair.1, &mut state[0])
}

/// A pair of inverse steps: returns even and odd sample of the previous position.
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

/// Loads the state of a column of lanes.
#[inline(always)]
fn load<S: Simd, const K: usize>(simd: S, words: &[f32]) -> State<S::f32s, K> {
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

/// Stores the state.
#[inline(always)]
fn store<S: Simd, const K: usize>(state: &State<S::f32s, K>, words: &mut [f32]) {
    let lanes = S::f32s::LEN;
    let words = &mut words[..2 * K * lanes];
    state[0][0].store_slice(&mut words[..lanes]);
    state[0][1].store_slice(&mut words[lanes..2 * lanes]);
    if K > 1 {
        state[K - 1][0].store_slice(&mut words[2 * lanes..3 * lanes]);
        state[K - 1][1].store_slice(&mut words[3 * lanes..4 * lanes]);
    }
}

/// Soft-thresholds by `limit`.
#[inline(always)]
pub(super) fn soft<S: Simd>(v: S::f32s, limit: f32) -> S::f32s {
    if limit == 0.0 {
        return v;
    }
    let inside = v.max(-limit).min(limit);
    v - inside
}
