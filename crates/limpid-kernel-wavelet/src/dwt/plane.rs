//! Planes and bands of coefficients in memory.

use fearless_simd::{Simd, SimdBase};
use limpid_core::Size;
use limpid_plan::stream;
use limpid_wavelet::mirrored;
use std::ops::Range;

/// Rows of an image, `stride` floats apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plane<'a> {
    pub data: &'a [f32],
    pub stride: usize,
    pub size: Size,
}

impl<'a> Plane<'a> {
    /// A row, mirrored beyond the borders.
    #[inline(always)]
    pub(super) fn row(&self, y: i64) -> &'a [f32] {
        &self.data[mirrored(y, self.size.height) * self.stride..][..self.size.width]
    }
}

/// Output rows, `stride` floats apart.
#[derive(Debug)]
pub(super) struct PlaneMut<'a> {
    pub data: &'a mut [f32],
    pub stride: usize,
}

impl PlaneMut<'_> {
    /// TwoTap segments of a row, the left before the right, and those of the next row, if there is one.
    #[inline(always)]
    pub(super) fn parts(
        &mut self,
        y: usize,
        left: &Range<usize>,
        right: &Range<usize>,
    ) -> ([&mut [f32]; 2], [&[f32]; 2]) {
        let rows = &mut self.data[y * self.stride..];
        let (row, next) = rows.split_at_mut(self.stride.min(rows.len()));
        let (a, b) = row.split_at_mut(left.end);
        let own = [
            &mut a[left.start..],
            &mut b[right.start - left.end..right.end - left.end],
        ];
        let part = |columns: &Range<usize>| next.get(columns.clone()).unwrap_or_default();
        (own, [part(left), part(right)])
    }
}

/// Number of values beyond the ends of a row that can affect results: two pairs of steps reach four samples, four taps in both
/// steps six.
pub(super) const NEAR: usize = 6;

/// A row that holds every `step`th sample of a line of `width`, starting at `parity`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub row: &'a [f32],
    pub step: i64,
    pub parity: i64,
    pub width: usize,
}

impl<'a> Line<'a> {
    /// All samples.
    #[inline(always)]
    pub(super) fn whole(row: &'a [f32]) -> Self {
        Self {
            row,
            step: 1,
            parity: 0,
            width: row.len(),
        }
    }

    /// The even (parity 0) or odd samples of a line of `width`.
    #[inline(always)]
    pub(super) fn half(row: &'a [f32], parity: i64, width: usize) -> Self {
        Self {
            row,
            step: 2,
            parity,
            width,
        }
    }

    /// Even and odd samples of two vectors starting at `at`; with `EDGE` some may be outside.
    #[inline(always)]
    pub(super) fn split<S: Simd, const EDGE: bool>(&self, simd: S, at: i64) -> (S::f32s, S::f32s) {
        let lanes = S::f32s::LEN;
        if !EDGE {
            let part = &self.row[at as usize..at as usize + 2 * lanes];
            let a = S::f32s::from_slice(simd, &part[..lanes]);
            return a.deinterleave(S::f32s::from_slice(simd, &part[lanes..]));
        }
        let a = self.gather::<S, EDGE>(simd, at);
        a.deinterleave(self.gather::<S, EDGE>(simd, at + lanes as i64))
    }

    /// A vector of samples starting at `at`; mirrored beyond the ends like the samples of the line. Values farther away than
    /// `NEAR` are undefined, since no stored result depends on them.
    #[inline(always)]
    pub(super) fn gather<S: Simd, const EDGE: bool>(&self, simd: S, at: i64) -> S::f32s {
        let (lanes, n) = (S::f32s::LEN, self.row.len());
        if !EDGE || (at >= 0 && at as usize + lanes <= n) {
            return S::f32s::from_slice(simd, &self.row[at as usize..at as usize + lanes]);
        }
        if n == 0 || at >= (n + NEAR) as i64 || at + ((lanes + NEAR) as i64) <= 0 {
            return S::f32s::splat(simd, 0.0);
        }
        // Entirely beyond an end, samples are reversed, unless they are mirrored twice.
        let (sample, last) = (self.step * at + self.parity, self.width as i64 - 1);
        let sample = if at < 0 { -sample } else { 2 * last - sample };
        let first = sample / self.step + 1;
        let outside = at >= n as i64 || at + lanes as i64 <= 0;
        if outside && (0..=last).contains(&sample) && (lanes as i64..=n as i64).contains(&first) {
            let first = first as usize;
            return S::f32s::from_slice(simd, &self.row[first - lanes..first]).reverse();
        }
        let mut edge = [0.0; 16];
        // Passes scalars instead of a reference, so that the line stays in registers.
        let Self {
            row,
            step,
            parity,
            width,
        } = *self;
        beyond(row, at, step, parity, width, &mut edge[..lanes]);
        S::f32s::from_slice(simd, &edge[..lanes])
    }
}

/// The same across the ends of a row.
#[inline(never)]
fn beyond(row: &[f32], at: i64, step: i64, parity: i64, width: usize, to: &mut [f32]) {
    let (n, len) = (row.len() as i64, to.len() as i64);
    let (start, end) = (at.clamp(0, n), (at + len).clamp(0, n));
    if start < end {
        let to = &mut to[(start - at) as usize..(end - at) as usize];
        few(&row[start as usize..end as usize], to);
    }
    let near = NEAR as i64;
    for i in (at.max(-near)..(at + len).min(0)).chain(at.max(n)..(at + len).min(n + near)) {
        to[(i - at) as usize] = row[mirrored(step * i + parity, width) / step as usize];
    }
}

/// Stores a vector at `at` of a segment; with `EDGE` lanes beyond its ends are dropped.
#[inline(always)]
pub(super) fn put<S: Simd, const EDGE: bool>(
    simd: S,
    v: S::f32s,
    to: &mut [f32],
    at: i64,
    past_cache: bool,
) {
    let lanes = S::f32s::LEN;
    if !EDGE || at >= 0 && at as usize + lanes <= to.len() {
        let to = &mut to[at as usize..at as usize + lanes];
        return stream::store(simd, v, to, past_cache);
    }
    let mut edge = [0.0; 16];
    v.store_slice(&mut edge[..lanes]);
    put_part(&edge[..lanes], to, at);
}

#[inline(never)]
fn put_part(from: &[f32], to: &mut [f32], at: i64) {
    let n = to.len() as i64;
    let (start, end) = (at.clamp(0, n), (at + from.len() as i64).clamp(0, n));
    if start < end {
        let from = &from[(start - at) as usize..(end - at) as usize];
        few(from, &mut to[start as usize..end as usize]);
    }
}

/// Copies a few values inline, which is faster than a call.
#[inline(always)]
fn few(from: &[f32], to: &mut [f32]) {
    let (fours, rest) = to.as_chunks_mut::<4>();
    let (from_fours, from_rest) = from.as_chunks::<4>();
    for (a, b) in fours.iter_mut().zip(from_fours) {
        *a = *b;
    }
    for (a, b) in rest.iter_mut().zip(from_rest) {
        *a = *b;
    }
}

/// Low and high counts of `n` samples.
pub(super) fn halves(n: usize) -> (usize, usize) {
    (n.div_ceil(2), n / 2)
}

/// The four input bands of a level; `LL` may be separate from the packed image.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bands<'a> {
    pub ll: Plane<'a>,
    /// The packed image, which holds the other bands.
    pub packed: &'a [f32],
    pub stride: usize,
    /// Size of the level's image.
    pub size: Size,
    /// Soft thresholds of `HL`, `LH` and `HH`.
    pub limits: [f32; 3],
}

impl<'a> Bands<'a> {
    /// Low halves (`LL`, `HL`) of row pair `m`.
    #[inline(always)]
    pub(super) fn low(&self, m: i64) -> [&'a [f32]; 2] {
        let (lw, hw) = halves(self.size.width);
        let row = mirrored(2 * m, self.size.height) / 2;
        [
            &self.ll.data[row * self.ll.stride..][..lw],
            &self.packed[row * self.stride + lw..][..hw],
        ]
    }

    /// High halves (`LH`, `HH`) of row pair `m`; a single row has none.
    #[inline(always)]
    pub(super) fn high(&self, m: i64) -> Option<[&'a [f32]; 2]> {
        let (lw, hw) = halves(self.size.width);
        let (lh, hh) = halves(self.size.height);
        if hh == 0 {
            return None;
        }
        let row = lh + mirrored(2 * m + 1, self.size.height) / 2;
        let row = &self.packed[row * self.stride..];
        Some([&row[..lw], &row[lw..lw + hw]])
    }
}
