//! Streaming lifting: one pair of steps with four taps each.

use super::lift::{Lanes, Stream, last, next, second_last, second_next};
use fearless_simd::{Simd, SimdBase};

/// A pair of steps with four taps, where the two inner taps are equal and so are the two outer ones: predict reads `even[m -
/// 1]` to `even[m + 2]`, update `odd[m - 2]` to `odd[m + 1]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct FourTaps {
    /// Inner and outer tap.
    pub predict: [f32; 2],
    pub update: [f32; 2],
    pub scales: [f32; 2],
}

impl<S: Simd> Stream<S> for FourTaps {
    type Along = [S::f32s; 5];
    const ALONG: usize = 2;
    const DOWN: usize = 3;
    const KEPT: usize = 7;

    #[inline(always)]
    fn scales(&self) -> [f32; 2] {
        self.scales
    }

    #[inline(always)]
    fn nothing(simd: S) -> Self::Along {
        [S::f32s::splat(simd, 0.0); 5]
    }

    /// State: even vectors `i - 1` and `i`, lifted odd vectors `i - 2` and `i - 1`.
    #[inline(always)]
    fn forward_along(&self, odd: S::f32s, even: S::f32s, kept: &mut Self::Along) -> Lanes<S> {
        let ([p0, p1], [u0, u1]) = (self.predict, self.update);
        let [a, b, c, d, unused] = *kept;
        let near = (b + next::<S>(b, even)) * p0;
        let new = odd + near + (last::<S>(a, b) + second_next::<S>(b, even)) * p1;
        let near = (last::<S>(c, d) + d) * u0;
        let low = a + near + (second_last::<S>(c, d) + next::<S>(d, new)) * u1;
        *kept = [b, even, d, new, unused];
        (low, d)
    }

    /// State: even rows `m - 2` to `m`, odd row `m - 1`, lifted odd rows `m - 4` to `m - 2`.
    #[inline(always)]
    fn forward_down(&self, simd: S, (odd, even): Lanes<S>, kept: &mut [f32]) -> Lanes<S> {
        let ([p0, p1], [u0, u1]) = (self.predict, self.update);
        let [e0, e1, e2, o, d0, d1, d2] = load::<S>(simd, kept);
        let new = o + (e1 + e2) * p0 + (e0 + even) * p1;
        let low = e0 + (d1 + d2) * u0 + (d0 + new) * u1;
        store::<S>([e1, e2, even, odd, d1, d2, new], kept);
        (low, d2)
    }

    /// State: low vector `i - 1`, high vectors `i - 2` and `i - 1`, even vectors `i - 3` and `i - 2`.
    #[inline(always)]
    fn inverse_along(&self, low: S::f32s, high: S::f32s, kept: &mut Self::Along) -> Lanes<S> {
        let ([p0, p1], [u0, u1]) = (self.predict, self.update);
        let [l, c, d, e, f] = *kept;
        let near = (last::<S>(c, d) + d) * u0;
        let even = l - near - (second_last::<S>(c, d) + next::<S>(d, high)) * u1;
        let near = (f + next::<S>(f, even)) * p0;
        let odd = c - near - (last::<S>(e, f) + second_next::<S>(f, even)) * p1;
        *kept = [low, d, high, f, even];
        (f, odd)
    }

    /// State: low row `m - 1`, high rows `m - 3` to `m - 1`, even rows `m - 4` to `m - 2`.
    #[inline(always)]
    fn inverse_down(&self, simd: S, (low, high): Lanes<S>, kept: &mut [f32]) -> Lanes<S> {
        let ([p0, p1], [u0, u1]) = (self.predict, self.update);
        let [l, d0, d1, d2, e0, e1, e2] = load::<S>(simd, kept);
        let even = l - (d1 + d2) * u0 - (d0 + high) * u1;
        let odd = d0 - (e1 + e2) * p0 - (e0 + even) * p1;
        store::<S>([low, d1, d2, high, e1, e2, even], kept);
        (e1, odd)
    }
}

/// Loads the state of a column of lanes.
#[inline(always)]
fn load<S: Simd>(simd: S, words: &[f32]) -> [S::f32s; 7] {
    let lanes = S::f32s::LEN;
    let words = &words[..7 * lanes];
    [
        S::f32s::from_slice(simd, &words[..lanes]),
        S::f32s::from_slice(simd, &words[lanes..2 * lanes]),
        S::f32s::from_slice(simd, &words[2 * lanes..3 * lanes]),
        S::f32s::from_slice(simd, &words[3 * lanes..4 * lanes]),
        S::f32s::from_slice(simd, &words[4 * lanes..5 * lanes]),
        S::f32s::from_slice(simd, &words[5 * lanes..6 * lanes]),
        S::f32s::from_slice(simd, &words[6 * lanes..]),
    ]
}

/// Stores the state.
#[inline(always)]
fn store<S: Simd>([a, b, c, d, e, f, g]: [S::f32s; 7], words: &mut [f32]) {
    let lanes = S::f32s::LEN;
    let words = &mut words[..7 * lanes];
    a.store_slice(&mut words[..lanes]);
    b.store_slice(&mut words[lanes..2 * lanes]);
    c.store_slice(&mut words[2 * lanes..3 * lanes]);
    d.store_slice(&mut words[3 * lanes..4 * lanes]);
    e.store_slice(&mut words[4 * lanes..5 * lanes]);
    f.store_slice(&mut words[5 * lanes..6 * lanes]);
    g.store_slice(&mut words[6 * lanes..]);
}
