//! Planes and bands of coefficients in memory.

use crate::Size;
use crate::wavelet::mirrored;
use std::ops::Range;

/// Rows of an image, `stride` floats apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plane<'a> {
    pub data: &'a [f32],
    pub stride: usize,
    pub size: Size,
}

impl<'a> Plane<'a> {
    /// A row by its place in the mirrored image.
    #[inline(always)]
    pub(super) fn row(&self, y: i64) -> &'a [f32] {
        &self.data[mirrored(y, self.size.height) * self.stride..][..self.size.width]
    }
}

/// Rows to be written, `stride` floats apart.
#[derive(Debug)]
pub(super) struct PlaneMut<'a> {
    pub data: &'a mut [f32],
    pub stride: usize,
}

impl PlaneMut<'_> {
    /// Part of a row.
    #[inline(always)]
    pub(super) fn part(&mut self, y: usize, columns: Range<usize>) -> &mut [f32] {
        &mut self.data[y * self.stride..][columns]
    }
}

/// Samples beyond the ends that can matter: two pairs of steps look four samples far.
const NEAR: i64 = 4;

/// Values from place `at` on where a row ends: the row's own, and near its ends mirrored ones. The row holds every `step`th
/// sample of a line of `width`, from `parity` on. What is farther away is left as it is: no kept result depends on it.
pub(super) fn beyond(row: &[f32], at: i64, step: i64, parity: i64, width: usize, to: &mut [f32]) {
    // A line of one sample has no high coefficients.
    if row.is_empty() {
        return;
    }
    let (n, len) = (row.len() as i64, to.len() as i64);
    let (start, end) = (at.clamp(0, n), (at + len).clamp(0, n));
    if start < end {
        to[(start - at) as usize..(end - at) as usize]
            .copy_from_slice(&row[start as usize..end as usize]);
    }
    for i in (at.max(-NEAR)..(at + len).min(0)).chain(at.max(n)..(at + len).min(n + NEAR)) {
        to[(i - at) as usize] = row[mirrored(step * i + parity, width) / step as usize];
    }
}

/// Low and high counts of `n` samples.
pub(super) fn halves(n: usize) -> (usize, usize) {
    (n.div_ceil(2), n / 2)
}

/// The four bands of a level, to be read: `LL` may stand apart from the packed image.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bands<'a> {
    pub ll: Plane<'a>,
    /// The packed image, which holds the other bands.
    pub packed: &'a [f32],
    pub stride: usize,
    /// Size of the level's image.
    pub size: Size,
    /// What coefficients of `HL`, `LH` and `HH` are moved towards zero by.
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
