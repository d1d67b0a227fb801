//! Any lifting on the CPU, one level: plain loops over lines, then over rows.

use super::plane::{Bands, Plane, halves};
use crate::wavelet::{Lifting, Taps, mirrored};

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
    fn line(&self, row: &mut [f32], back: bool) {
        let n = row.len();
        let (even, odd) = row.split_at_mut(halves(n).0);
        for (predict, taps, sign) in self.order(n, back) {
            let (to, from, parity) = if predict {
                (&mut *odd, &*even, 0)
            } else {
                (&mut *even, &*odd, 1)
            };
            for (k, t) in taps {
                // Where every sample is inside, a plain loop; near the ends the mirrored ones.
                let start = (-k).clamp(0, to.len() as i64) as usize;
                let end = (from.len() as i64 - k).clamp(start as i64, to.len() as i64) as usize;
                let t = sign * t;
                if start < end {
                    let inside = &from[(start as i64 + k) as usize..(end as i64 + k) as usize];
                    for (a, b) in to[start..end].iter_mut().zip(inside) {
                        *a += t * b;
                    }
                }
                for i in (0..start).chain(end..to.len()) {
                    to[i] += t * from[mirrored(2 * (i as i64 + k) + parity, n) / 2];
                }
            }
        }
    }

    /// Lifts the columns of rows in their natural order.
    fn columns(&self, rows: &mut [f32], width: usize, back: bool) {
        let n = rows.len() / width;
        for (predict, taps, sign) in self.order(n, back) {
            for y in (usize::from(predict)..n).step_by(2) {
                for (k, t) in taps {
                    let from = y as i64 + if predict { -1 } else { 1 } + 2 * k;
                    let (to, from) = two(rows, width, y, mirrored(from, n));
                    for (a, b) in to.iter_mut().zip(from) {
                        *a += sign * t * b;
                    }
                }
            }
        }
    }

    pub(super) fn forward(
        &self,
        src: &Plane<'_>,
        (packed, stride): (&mut [f32], usize),
        mut apart: Option<&mut [f32]>,
        work: &mut [f32],
    ) {
        let (w, h) = (src.size.width, src.size.height);
        let (lw, lh) = (halves(w).0, halves(h).0);
        let work = &mut work[..w * h];
        for (y, row) in work.chunks_exact_mut(w).enumerate() {
            let (even, odd) = row.split_at_mut(lw);
            for (i, v) in src.row(y as i64).iter().enumerate() {
                if i % 2 == 0 {
                    even[i / 2] = *v;
                } else {
                    odd[i / 2] = *v;
                }
            }
            self.line(row, false);
        }
        self.columns(work, w, false);
        for (y, row) in work.chunks_exact(w).enumerate() {
            let down = self.scale(h, y % 2 == 0);
            let (to, low_row) = (y / 2 + if y % 2 == 0 { 0 } else { lh }, y % 2 == 0);
            let (low, high) = (down * self.scale(w, true), down * self.scale(w, false));
            let to = &mut packed[to * stride..][..w];
            for (a, b) in to[lw..].iter_mut().zip(&row[lw..]) {
                *a = high * b;
            }
            let left = match &mut apart {
                Some(apart) if low_row => &mut apart[y / 2 * lw..][..lw],
                _ => &mut to[..lw],
            };
            for (a, b) in left.iter_mut().zip(&row[..lw]) {
                *a = low * b;
            }
        }
    }

    pub(super) fn inverse(
        &self,
        bands: &Bands<'_>,
        (out, stride): (&mut [f32], usize),
        work: &mut [f32],
    ) {
        let (w, h) = (bands.size.width, bands.size.height);
        let (lw, _) = halves(w);
        let work = &mut work[..w * h];
        for (y, row) in work.chunks_exact_mut(w).enumerate() {
            let m = (y / 2) as i64;
            let parts = if y % 2 == 0 {
                Some(bands.low(m))
            } else {
                bands.high(m)
            };
            let down = self.scale(h, y % 2 == 0);
            let (low, high) = (
                1.0 / (down * self.scale(w, true)),
                1.0 / (down * self.scale(w, false)),
            );
            if let Some([l, r]) = parts {
                for (a, b) in row[..lw].iter_mut().zip(l) {
                    *a = low * b;
                }
                for (a, b) in row[lw..].iter_mut().zip(r) {
                    *a = high * b;
                }
            }
        }
        self.columns(work, w, true);
        for (y, row) in work.chunks_exact_mut(w).enumerate() {
            self.line(row, true);
            let to = &mut out[y * stride..][..w];
            for (i, v) in to.iter_mut().enumerate() {
                *v = if i % 2 == 0 {
                    row[i / 2]
                } else {
                    row[lw + i / 2]
                };
            }
        }
    }
}

/// A row to change and another one to read.
fn two(rows: &mut [f32], width: usize, to: usize, from: usize) -> (&mut [f32], &[f32]) {
    let (a, b) = rows.split_at_mut(to.max(from) * width);
    let (low, high) = (&mut a[to.min(from) * width..][..width], &mut b[..width]);
    if to < from { (low, high) } else { (high, low) }
}
