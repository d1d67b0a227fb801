//! Any lifting on the CPU, one level: rows first, then columns, whole rows at a time.
//!
//! Lines and rows stand with the even ones first, so that a step reads one half and changes the other.

use super::plane::{Bands, Plane, halves};
use crate::wavelet::{Lifting, Taps, mirrored};
use fearless_simd::{Level, Simd, dispatch};
use rayon::prelude::*;

/// A lifting in `f32`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct General {
    /// Taps of each step; `true` for predict steps.
    steps: Vec<(bool, Vec<(i64, f32)>)>,
    low: f32,
    high: f32,
    /// What the low-pass filter makes of a constant: the coefficient of a line of one sample.
    gain: f32,
}

impl General {
    pub(super) fn new(lifting: &Lifting, (low, high): (f64, f64)) -> Self {
        let taps = |t: &Taps| t.iter().map(|(k, v)| (i64::from(k), v as f32)).collect();
        let steps = lifting
            .pairs
            .iter()
            .flat_map(|p| [(true, taps(&p.predict)), (false, taps(&p.update))]);
        let gain: f64 = lifting.analysis().0.values.iter().sum();
        Self {
            steps: steps.collect(),
            low: (lifting.low_scale * low) as f32,
            high: (lifting.high_scale * high) as f32,
            gain: (gain * low) as f32,
        }
    }

    /// Words of scratch for a level.
    pub(super) fn scratch_words(width: usize, height: usize) -> usize {
        width * height
    }

    fn scale(&self, n: usize, low: bool) -> f32 {
        match (low, n) {
            (true, 1) => self.gain,
            (true, _) => self.low,
            (false, _) => self.high,
        }
    }

    /// The steps of a line of `n` samples, there or back: target parity, taps, sign.
    fn order(&self, n: usize, back: bool) -> impl Iterator<Item = (bool, &[(i64, f32)], f32)> {
        let count = if n == 1 { 0 } else { self.steps.len() };
        (0..count).map(move |i| {
            let i = if back { count - 1 - i } else { i };
            let (predict, taps) = &self.steps[i];
            (*predict, taps.as_slice(), if back { -1.0 } else { 1.0 })
        })
    }

    /// Lifts a row that holds its even samples, then its odd ones.
    fn line(&self, level: Level, row: &mut [f32], back: bool) {
        let n = row.len();
        let (even, odd) = row.split_at_mut(halves(n).0);
        for (predict, taps, sign) in self.order(n, back) {
            let (to, from, parity) = if predict {
                (&mut *odd, &*even, 0)
            } else {
                (&mut *even, &*odd, 1)
            };
            for (k, t) in taps {
                // Where every sample is inside, whole parts; near the ends the mirrored ones.
                let start = (-k).clamp(0, to.len() as i64) as usize;
                let end = (from.len() as i64 - k).clamp(start as i64, to.len() as i64) as usize;
                if start < end {
                    let inside = &from[(start as i64 + k) as usize..(end as i64 + k) as usize];
                    dispatch!(level, simd => add(simd, &mut to[start..end], inside, sign * t));
                }
                for i in (0..start).chain(end..to.len()) {
                    to[i] += sign * t * from[mirrored(2 * (i as i64 + k) + parity, n) / 2];
                }
            }
        }
    }

    /// Lifts the columns of rows, even rows first.
    fn columns(&self, level: Level, rows: &mut [f32], width: usize, back: bool) {
        let n = rows.len() / width;
        let (even, odd) = rows.split_at_mut(halves(n).0 * width);
        for (predict, taps, sign) in self.order(n, back) {
            let (to, from, parity) = if predict {
                (&mut *odd, &*even, 0)
            } else {
                (&mut *even, &*odd, 1)
            };
            let lifted = |(i, row): (usize, &mut [f32])| {
                for (k, t) in taps {
                    let other = mirrored(2 * (i as i64 + k) + parity, n) / 2;
                    let other = &from[other * width..][..width];
                    dispatch!(level, simd => add(simd, row, other, sign * t));
                }
            };
            to.par_chunks_exact_mut(width).enumerate().for_each(lifted);
        }
    }

    /// One level; `limits` make the details smaller.
    pub(super) fn forward(
        &self,
        (level, limits): (Level, [f32; 3]),
        src: &Plane<'_>,
        (packed, stride): (&mut [f32], usize),
        mut apart: Option<&mut [f32]>,
        work: &mut [f32],
    ) {
        let (w, h) = (src.size.width, src.size.height);
        let (lw, lh) = (halves(w).0, halves(h).0);
        let work = &mut work[..w * h];
        let rows = work.par_chunks_exact_mut(w).enumerate();
        rows.for_each(|(i, row)| {
            let from = src.row(natural(i, lh));
            let (even, odd) = row.split_at_mut(lw);
            for (v, pair) in even.iter_mut().zip(from.chunks(2)) {
                *v = pair[0];
            }
            for (v, pair) in odd.iter_mut().zip(from.chunks_exact(2)) {
                *v = pair[1];
            }
            self.line(level, row, false);
        });
        self.columns(level, work, w, false);
        for (i, row) in work.chunks_exact(w).enumerate() {
            let low_row = i < lh;
            let down = self.scale(h, low_row);
            let (low, high) = (down * self.scale(w, true), down * self.scale(w, false));
            let [left_limit, right_limit] = if low_row {
                [0.0, limits[0]]
            } else {
                [limits[1], limits[2]]
            };
            let to = &mut packed[i * stride..][..w];
            for (a, b) in to[lw..].iter_mut().zip(&row[lw..]) {
                *a = soft(high * b, right_limit);
            }
            let left = match &mut apart {
                Some(apart) if low_row => &mut apart[i * lw..][..lw],
                _ => &mut to[..lw],
            };
            for (a, b) in left.iter_mut().zip(&row[..lw]) {
                *a = soft(low * b, left_limit);
            }
        }
    }

    /// One level back.
    pub(super) fn inverse(
        &self,
        level: Level,
        bands: &Bands<'_>,
        (out, stride): (&mut [f32], usize),
        work: &mut [f32],
    ) {
        let (w, h) = (bands.size.width, bands.size.height);
        let (lw, lh) = (halves(w).0, halves(h).0);
        let work = &mut work[..w * h];
        let [hl, lh_limit, hh] = bands.limits;
        for (i, row) in work.chunks_exact_mut(w).enumerate() {
            let low_row = i < lh;
            let (parts, limits) = if low_row {
                (Some(bands.low(i as i64)), [0.0, hl])
            } else {
                (bands.high((i - lh) as i64), [lh_limit, hh])
            };
            let down = self.scale(h, low_row);
            let (low, high) = (
                1.0 / (down * self.scale(w, true)),
                1.0 / (down * self.scale(w, false)),
            );
            if let Some([l, r]) = parts {
                for (a, b) in row[..lw].iter_mut().zip(l) {
                    *a = low * soft(*b, limits[0]);
                }
                for (a, b) in row[lw..].iter_mut().zip(r) {
                    *a = high * soft(*b, limits[1]);
                }
            }
        }
        self.columns(level, work, w, true);
        work.par_chunks_exact_mut(w)
            .for_each(|row| self.line(level, row, true));
        for (i, row) in work.chunks_exact(w).enumerate() {
            let to = &mut out[natural(i, lh) as usize * stride..][..w];
            let (even, odd) = row.split_at(lw);
            for (pair, v) in to.chunks_mut(2).zip(even) {
                pair[0] = *v;
            }
            for (pair, v) in to.chunks_exact_mut(2).zip(odd) {
                pair[1] = *v;
            }
        }
    }
}

/// Where row `i` of even and odd rows stands in the image.
fn natural(i: usize, even: usize) -> i64 {
    (if i < even { 2 * i } else { 2 * (i - even) + 1 }) as i64
}

fn soft(v: f32, limit: f32) -> f32 {
    v - v.clamp(-limit, limit)
}

#[inline(always)]
fn add<S: Simd>(_: S, to: &mut [f32], from: &[f32], t: f32) {
    for (a, b) in to.iter_mut().zip(from) {
        *a += t * b;
    }
}
