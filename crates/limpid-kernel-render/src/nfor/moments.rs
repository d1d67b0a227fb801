//! The sums of the normal equations, sixteen pixels at a time.
//!
//! With `c` the features and then the data, the sums are: `Σw`, `Σwx`, `Σwy`, `Σwxx`, `Σwxy`, `Σwyy`; `Σw c`, `Σwx c`, `Σwy c`;
//! and `Σw f c` for each feature `f` and every `c` from it on. They are accumulated tile by tile: a few factors times a few
//! columns, in registers, over all taps.

use super::region::{Beside, ROW, Region};
use super::weights::List;
use super::{FEATURES, LocalRegression};
use fearless_simd::{Simd, SimdBase, SimdFloat, f32x16};
use limpid_plan::sweep::LANES;

/// Maximum number of planes of data that one fit takes.
pub(super) const DATA: usize = 8;
/// Maximum number of sums.
pub(super) const SUMS: usize =
    6 + 3 * (FEATURES + DATA) + FEATURES * (FEATURES + 1) / 2 + FEATURES * DATA;

/// A tap of the window.
#[derive(Clone, Copy)]
pub(super) struct Tap {
    pub(super) dx: i64,
    pub(super) dy: i64,
    /// Its offset in a region.
    pub(super) shift: isize,
}

/// All taps, row by row.
pub(super) fn taps(fit: &LocalRegression, region: &Region) -> Vec<Tap> {
    let r = region.radius as i64;
    let row = |dy: i64| fit.row(dy).map(move |dx| (dx, dy));
    let all = (-r..=r).flat_map(row);
    all.map(|(dx, dy)| Tap {
        dx,
        dy,
        shift: region.shift(dx, dy),
    })
    .collect()
}

/// The inputs of the sums for sixteen pixels.
struct Window<'a> {
    fit: &'a LocalRegression,
    values: &'a [f32],
    list: List<'a>,
    taps: &'a [Tap],
    /// The index of the first pixel.
    at: usize,
}

impl Window<'_> {
    /// Each weight with its offset and its index.
    #[inline(always)]
    fn each<S: Simd>(&self, simd: S) -> impl Iterator<Item = (f32x16<S>, [f32; 2], usize)> {
        let weights = self.list.weights.as_chunks::<LANES>().0;
        weights.iter().zip(self.list.numbers).map(
            #[inline(always)]
            move |(weight, number)| {
                let tap = &self.taps[*number as usize];
                let at = self.at.wrapping_add_signed(tap.shift);
                let w = f32x16::load_array_ref(simd, weight);
                (w, [tap.dx as f32, tap.dy as f32], at)
            },
        )
    }

    /// `Σw c`, `Σwx c` and `Σwy c` of `C` columns starting at `first`.
    #[inline(always)]
    fn places<S: Simd, const C: usize>(&self, simd: S, first: usize, all: &mut Sums<S>) {
        let zero = f32x16::splat(simd, 0.0);
        let mut sums = [[zero; C]; 3];
        for (w, [dx, dy], at) in self.each(simd) {
            let (wx, wy) = (w * dx, w * dy);
            let columns = Beside::new(self.values, at + first * ROW);
            for c in 0..C {
                let v = columns.load(simd, c);
                sums[0][c] = w.mul_add(v, sums[0][c]);
                sums[1][c] = wx.mul_add(v, sums[1][c]);
                sums[2][c] = wy.mul_add(v, sums[2][c]);
            }
        }
        let count = self.fit.features + self.fit.data;
        for k in 0..3 {
            all[6 + k * count + first..][..C].copy_from_slice(&sums[k]);
        }
    }

    /// `Σw f c` of `R` features starting at `from` and `C` columns starting at `first`.
    #[inline(always)]
    fn features<S: Simd, const R: usize, const C: usize>(
        &self,
        simd: S,
        from: usize,
        first: usize,
        all: &mut Sums<S>,
    ) {
        let zero = f32x16::splat(simd, 0.0);
        let mut sums = [[zero; C]; R];
        for (w, _, at) in self.each(simd) {
            let rows = Beside::new(self.values, at + from * ROW);
            let columns = Beside::new(self.values, at + first * ROW);
            let mut factors = [zero; R];
            for k in 0..R {
                factors[k] = w * rows.load(simd, k);
            }
            for c in 0..C {
                let v = columns.load(simd, c);
                for k in 0..R {
                    sums[k][c] = factors[k].mul_add(v, sums[k][c]);
                }
            }
        }
        for k in 0..R {
            for c in 0..C {
                if first + c >= from + k {
                    all[feature_sums(self.fit, from + k) + first + c - (from + k)] = sums[k][c];
                }
            }
        }
    }

    /// The sums without `c`.
    #[inline(always)]
    fn alone<S: Simd>(&self, simd: S, all: &mut Sums<S>) {
        let mut sums = [f32x16::splat(simd, 0.0); 6];
        for (w, [dx, dy], _) in self.each(simd) {
            let (wx, wy) = (w * dx, w * dy);
            sums[0] += w;
            sums[1] += wx;
            sums[2] += wy;
            sums[3] += wx * dx;
            sums[4] += wx * dy;
            sums[5] += wy * dy;
        }
        all[..6].copy_from_slice(&sums);
    }
}

/// All sums.
pub(super) type Sums<S> = [f32x16<S>; SUMS];

/// The index of the first sum `Σ w f c` of feature `f`.
pub(super) fn feature_sums(fit: &LocalRegression, f: usize) -> usize {
    let columns = fit.features + fit.data;
    // Feature f is multiplied by the columns from itself on.
    6 + 3 * columns + f * columns - f * f.saturating_sub(1) / 2
}

/// The widest tile that still fits this many columns. There are few widths, because each is compiled for every SIMD level; with
/// three rows, fifteen sums and their factors fit the registers of AVX-512.
fn wide(columns: usize) -> usize {
    match columns {
        0..2 => 1,
        2..5 => 2,
        _ => 5,
    }
}

/// All sums for the sixteen pixels starting at `at`.
#[inline(always)]
pub(super) fn sums<S: Simd>(
    simd: S,
    fit: &LocalRegression,
    values: &[f32],
    taps: &[Tap],
    list: List<'_>,
    at: usize,
) -> Sums<S> {
    let mut all = [f32x16::splat(simd, 0.0); SUMS];
    let taps = Window {
        fit,
        values,
        list,
        taps,
        at,
    };
    taps.alone(simd, &mut all);
    let end = fit.features + fit.data;
    let mut first = 0;
    while first < end {
        match wide(end - first) {
            1 => taps.places::<S, 1>(simd, first, &mut all),
            2 => taps.places::<S, 2>(simd, first, &mut all),
            _ => taps.places::<S, 5>(simd, first, &mut all),
        }
        first += wide(end - first);
    }
    let mut from = 0;
    while from < fit.features {
        let rows = if fit.features - from >= 3 { 3 } else { 1 };
        let mut first = from;
        while first < end {
            match (rows, wide(end - first)) {
                (1, 1) => taps.features::<S, 1, 1>(simd, from, first, &mut all),
                (1, 2) => taps.features::<S, 1, 2>(simd, from, first, &mut all),
                (1, _) => taps.features::<S, 1, 5>(simd, from, first, &mut all),
                (_, 1) => taps.features::<S, 3, 1>(simd, from, first, &mut all),
                (_, 2) => taps.features::<S, 3, 2>(simd, from, first, &mut all),
                (_, _) => taps.features::<S, 3, 5>(simd, from, first, &mut all),
            }
            first += wide(end - first);
        }
        from += rows;
    }
    all
}
