//! Vectorised operations on segments of rows.
//!
//! Plain indexed loops, which the compiler vectorises for the SIMD level of the caller.

use fearless_simd::{Level, Simd, SimdBase};
use limpid_core::simd::dispatch;
use limpid_plan::stream;

/// A segment of a row, and its factor.
pub(super) type Term<'a> = (&'a [f32], f32);

/// Adds products to a row, in order.
pub(super) fn add(level: Level, to: &mut [f32], terms: &[Term<'_>]) {
    for group in terms.chunks(4) {
        match group {
            [a] => dispatch!(level, simd => one(simd, to, *a)),
            [a, b] => dispatch!(level, simd => two(simd, to, [*a, *b])),
            [a, b, c] => {
                dispatch!(level, simd => two(simd, to, [*a, *b]));
                dispatch!(level, simd => one(simd, to, *c));
            }
            [a, b, c, d] => dispatch!(level, simd => four(simd, to, [*a, *b, *c, *d])),
            _ => {}
        }
    }
}

#[inline(always)]
fn one<S: Simd>(_: S, to: &mut [f32], (a, s): Term<'_>) {
    let a = &a[..to.len()];
    for i in 0..to.len() {
        to[i] += s * a[i];
    }
}

#[inline(always)]
fn two<S: Simd>(_: S, to: &mut [f32], [(a, s), (b, t)]: [Term<'_>; 2]) {
    let n = to.len();
    let (a, b) = (&a[..n], &b[..n]);
    for i in 0..n {
        to[i] = to[i] + s * a[i] + t * b[i];
    }
}

#[inline(always)]
fn four<S: Simd>(_: S, to: &mut [f32], terms: [Term<'_>; 4]) {
    let n = to.len();
    let [(a, s), (b, t), (c, u), (d, v)] = terms;
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    for i in 0..n {
        to[i] = to[i] + s * a[i] + t * b[i] + u * c[i] + v * d[i];
    }
}

/// Scales a row, then soft-thresholds it by `limit`.
pub(super) fn scale(level: Level, row: &mut [f32], factor: f32, limit: f32) {
    dispatch!(level, simd => scaled(simd, row, factor, limit));
}

#[inline(always)]
fn scaled<S: Simd>(_: S, row: &mut [f32], factor: f32, limit: f32) {
    for i in 0..row.len() {
        let v = factor * row[i];
        row[i] = v - v.clamp(-limit, limit);
    }
}

/// Soft-thresholds a row by `limit`, then scales it. The `next` row is prefetched.
pub(super) fn load(
    level: Level,
    [from, next]: [&[f32]; 2],
    to: &mut [f32],
    factor: f32,
    limit: f32,
) {
    for at in (0..to.len()).step_by(16) {
        stream::prefetch::<false>(next, at);
    }
    dispatch!(level, simd => loaded(simd, from, to, factor, limit));
}

#[inline(always)]
fn loaded<S: Simd>(_: S, from: &[f32], to: &mut [f32], factor: f32, limit: f32) {
    let from = &from[..to.len()];
    for i in 0..to.len() {
        let v = from[i];
        to[i] = factor * (v - v.clamp(-limit, limit));
    }
}

/// Splits a row into even and odd values; there may be one more even value. The `next` row is prefetched.
pub(super) fn split(level: Level, [from, next]: [&[f32]; 2], even: &mut [f32], odd: &mut [f32]) {
    dispatch!(level, simd => halved(simd, [from, next], even, odd));
}

#[inline(always)]
fn halved<S: Simd>(simd: S, [from, next]: [&[f32]; 2], even: &mut [f32], odd: &mut [f32]) {
    let lanes = S::f32s::LEN;
    let whole = odd.len() / lanes;
    for i in 0..whole {
        stream::prefetch::<false>(next, 2 * lanes * i);
        stream::prefetch::<false>(next, 2 * lanes * i + lanes);
        let part = &from[2 * lanes * i..2 * lanes * (i + 1)];
        let a = S::f32s::from_slice(simd, &part[..lanes]);
        let (e, o) = a.deinterleave(S::f32s::from_slice(simd, &part[lanes..]));
        e.store_slice(&mut even[lanes * i..lanes * (i + 1)]);
        o.store_slice(&mut odd[lanes * i..lanes * (i + 1)]);
    }
    for i in whole * lanes..even.len() {
        even[i] = from[2 * i];
    }
    for i in whole * lanes..odd.len() {
        odd[i] = from[2 * i + 1];
    }
}

/// Interleaves even and odd values into a row.
pub(super) fn join(level: Level, even: &[f32], odd: &[f32], to: &mut [f32]) {
    dispatch!(level, simd => joined(simd, even, odd, to));
}

#[inline(always)]
fn joined<S: Simd>(simd: S, even: &[f32], odd: &[f32], to: &mut [f32]) {
    let lanes = S::f32s::LEN;
    let whole = odd.len() / lanes;
    for i in 0..whole {
        let part = lanes * i..lanes * (i + 1);
        let e = S::f32s::from_slice(simd, &even[part.clone()]);
        let (a, b) = e.interleave(S::f32s::from_slice(simd, &odd[part]));
        let to = &mut to[2 * lanes * i..2 * lanes * (i + 1)];
        a.store_slice(&mut to[..lanes]);
        b.store_slice(&mut to[lanes..]);
    }
    for i in whole * lanes..even.len() {
        to[2 * i] = even[i];
    }
    for i in whole * lanes..odd.len() {
        to[2 * i + 1] = odd[i];
    }
}
