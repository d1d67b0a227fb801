//! The sums of the normal equations, sixteen pixels at a time.
//!
//! With `c` the features and then the data, the sums are: `Σw`, `Σwx`, `Σwy`, `Σwxx`, `Σwxy`, `Σwyy`; `Σw c`, `Σwx c`, `Σwy c`; and
//! `Σw f c` for each feature `f` and every `c` from it on. They are made tile by tile: a few factors times a few columns,
//! in registers, over all taps.

use super::{FEATURES, Fit};
use crate::kernel::View;
use crate::kernel::sweep::LANES;
use fearless_simd::{Simd, SimdBase, SimdFloat, f32x16};

/// Most planes of data that one fit takes.
pub(super) const DATA: usize = 8;
/// Most sums.
pub(super) const SUMS: usize =
    6 + 3 * (FEATURES + DATA) + FEATURES * (FEATURES + 1) / 2 + FEATURES * DATA;

/// A copy of features and data around a block, with zeros outside the image. Features have the value of a pixel of the block
/// taken off, which keeps sums of their products small.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) radius: usize,
    pub(super) planes: usize,
}

impl Region {
    pub(super) fn new(fit: &Fit, width: usize, height: usize) -> Self {
        let radius = fit.settings.window.radius;
        Self {
            width: width + 2 * radius,
            height: height + 2 * radius,
            radius,
            planes: fit.features + fit.data,
        }
    }

    /// Values of a plane, with room for a piece behind its end.
    pub(super) fn size(&self) -> usize {
        self.width * self.height + LANES
    }

    /// Copies what a block of `rows` rows needs of a plane, less `minus`; `at` is the block's first pixel.
    #[inline(always)]
    pub(super) fn copy(
        &self,
        to: &mut [f32],
        from: &View<'_>,
        plane: usize,
        (at, rows): ((usize, usize), usize),
        minus: f32,
    ) {
        let size = from.size();
        to.fill(0.0);
        let rows = rows + 2 * self.radius;
        for (j, row) in to.chunks_exact_mut(self.width).take(rows).enumerate() {
            let y = (at.1 + j) as i64 - self.radius as i64;
            if y < 0 || y >= size.height as i64 {
                continue;
            }
            let start = at.0 as i64 - self.radius as i64;
            let from_x = start.max(0) as usize;
            let until = ((start + self.width as i64) as usize).min(size.width);
            let src = match from_x < until {
                true => &from.row(plane, y as usize)[from_x..until],
                false => continue,
            };
            let to = &mut row[(from_x as i64 - start) as usize..][..until - from_x];
            for (t, s) in to.iter_mut().zip(src) {
                *t = s - minus;
            }
        }
    }

    /// Copies features and data.
    #[inline(always)]
    pub(super) fn fill(
        &self,
        to: &mut [f32],
        reads: &[View<'_>],
        fit: &Fit,
        at: (usize, usize),
        block: (usize, usize),
    ) {
        for (c, plane) in to.chunks_exact_mut(self.size()).enumerate() {
            if c < fit.features {
                let middle = reads[4].row(c, at.1 + block.1 / 2)[at.0 + block.0 / 2];
                self.copy(plane, &reads[4], c, (at, block.1), middle);
            } else {
                self.copy(plane, &reads[3], c - fit.features, (at, block.1), 0.0);
            }
        }
    }

    /// Where a pixel of the block is in a plane.
    #[inline(always)]
    pub(super) fn place(&self, (x, y): (usize, usize)) -> usize {
        (y + self.radius) * self.width + x + self.radius
    }
}

/// Sixteen values from `at` on.
#[inline(always)]
pub(super) fn load<S: Simd>(simd: S, plane: &[f32], at: usize) -> f32x16<S> {
    // Planes have room for a piece behind their end, so the zeros are never taken.
    let piece = plane[at..].first_chunk().unwrap_or(&[0.0; LANES]);
    f32x16::load_array_ref(simd, piece)
}

/// A tap of the window.
#[derive(Clone, Copy)]
pub(super) struct Tap {
    pub(super) dx: i64,
    pub(super) dy: i64,
    /// How far away it is in a plane.
    shift: isize,
}

/// All taps, row by row.
pub(super) fn taps(fit: &Fit, region: &Region) -> Vec<Tap> {
    let r = region.radius as i64;
    let row = |dy: i64| fit.row(dy).map(move |dx| (dx, dy));
    let all = (-r..=r).flat_map(row);
    all.map(|(dx, dy)| Tap {
        dx,
        dy,
        shift: (dy * region.width as i64 + dx) as isize,
    })
    .collect()
}

/// What is summed for sixteen pixels.
struct Window<'a> {
    fit: &'a Fit,
    region: &'a Region,
    values: &'a [f32],
    /// Weights of sixteen pixels, and the numbers of their taps; taps that weigh nothing are left out.
    weights: &'a [f32],
    numbers: &'a [u32],
    taps: &'a [Tap],
    /// The place of the first pixel in a plane.
    at: usize,
}

impl<'a> Window<'a> {
    #[inline(always)]
    fn planes<const N: usize>(&self, first: usize) -> [&'a [f32]; N] {
        let size = self.region.size();
        std::array::from_fn(|c| &self.values[(first + c) * size..][..size])
    }

    /// Calls `f` with each weight, its offset, and its place in a plane.
    #[inline(always)]
    fn each<S: Simd, T>(
        &self,
        simd: S,
        sums: &mut T,
        f: impl Fn(&mut T, f32x16<S>, [f32; 2], usize),
    ) {
        let weights = self.weights.as_chunks::<LANES>().0;
        for (weight, number) in weights.iter().zip(self.numbers) {
            let tap = &self.taps[*number as usize];
            let w = f32x16::load_array_ref(simd, weight);
            let at = self.at.wrapping_add_signed(tap.shift);
            f(sums, w, [tap.dx as f32, tap.dy as f32], at);
        }
    }

    /// `Σw c`, `Σwx c` and `Σwy c` of `C` columns from `first` on.
    #[inline(always)]
    fn places<S: Simd, const C: usize>(&self, simd: S, first: usize, all: &mut Sums<S>) {
        let zero = f32x16::splat(simd, 0.0);
        let columns: [&[f32]; C] = self.planes(first);
        let mut sums = [[zero; C]; 3];
        self.each(
            simd,
            &mut sums,
            #[inline(always)]
            |[one, x, y], w, [dx, dy], at| {
                let (wx, wy) = (w * dx, w * dy);
                for c in 0..C {
                    let v = load(simd, columns[c], at);
                    one[c] = w.mul_add(v, one[c]);
                    x[c] = wx.mul_add(v, x[c]);
                    y[c] = wy.mul_add(v, y[c]);
                }
            },
        );
        let count = self.fit.features + self.fit.data;
        for k in 0..3 {
            all[6 + k * count + first..][..C].copy_from_slice(&sums[k]);
        }
    }

    /// `Σw f c` of `R` features from `from` on and `C` columns from `first` on.
    #[inline(always)]
    fn features<S: Simd, const R: usize, const C: usize>(
        &self,
        simd: S,
        from: usize,
        first: usize,
        all: &mut Sums<S>,
    ) {
        let zero = f32x16::splat(simd, 0.0);
        let (rows, columns): ([&[f32]; R], [&[f32]; C]) = (self.planes(from), self.planes(first));
        let mut sums = [[zero; C]; R];
        self.each(
            simd,
            &mut sums,
            #[inline(always)]
            |sums, w, _, at| {
                let mut factors = [zero; R];
                for k in 0..R {
                    factors[k] = w * load(simd, rows[k], at);
                }
                for c in 0..C {
                    let v = load(simd, columns[c], at);
                    for k in 0..R {
                        sums[k][c] = factors[k].mul_add(v, sums[k][c]);
                    }
                }
            },
        );
        for k in 0..R {
            for c in 0..C {
                if first + c >= from + k {
                    all[feature_sums(self.fit, from + k) + first + c - (from + k)] = sums[k][c];
                }
            }
        }
    }

    /// The sums without columns.
    #[inline(always)]
    fn alone<S: Simd>(&self, simd: S, all: &mut Sums<S>) {
        let zero = f32x16::splat(simd, 0.0);
        let mut sums = [zero; 6];
        self.each(
            simd,
            &mut sums,
            #[inline(always)]
            |sums, w, [dx, dy], _| {
                let (wx, wy) = (w * dx, w * dy);
                sums[0] += w;
                sums[1] += wx;
                sums[2] += wy;
                sums[3] += wx * dx;
                sums[4] += wx * dy;
                sums[5] += wy * dy;
            },
        );
        all[..6].copy_from_slice(&sums);
    }
}

/// All sums.
pub(super) type Sums<S> = [f32x16<S>; SUMS];

/// Where `Σ w f c` of feature `f` begins among the sums.
pub(super) fn feature_sums(fit: &Fit, f: usize) -> usize {
    let columns = fit.features + fit.data;
    // Feature f has the columns from itself on.
    6 + 3 * columns + f * columns - f * f.saturating_sub(1) / 2
}

/// The widest of the tiles that still fits so many columns. Few widths, because each is compiled for every SIMD level; with three
/// rows, fifteen sums and what they are made of fit the registers of AVX-512.
fn wide(columns: usize) -> usize {
    match columns {
        0..2 => 1,
        2..5 => 2,
        _ => 5,
    }
}

/// All sums for the sixteen pixels from `at` on.
#[inline(always)]
pub(super) fn sums<S: Simd>(
    simd: S,
    fit: &Fit,
    region: &Region,
    values: &[f32],
    (taps, weights, numbers): (&[Tap], &[f32], &[u32]),
    at: (usize, usize),
) -> Sums<S> {
    let mut all = [f32x16::splat(simd, 0.0); SUMS];
    let taps = Window {
        fit,
        region,
        values,
        weights,
        numbers,
        taps,
        at: region.place(at),
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
