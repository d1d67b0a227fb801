//! The weights of all taps for a row of a strip.

use super::LocalRegression;
use super::moments::Tap;
use super::region::{Beside, ROW, Region, WIDTH};
use fearless_simd::prelude::*;
use fearless_simd::{Simd, f32x16};
use limpid_core::Size;
use limpid_plan::fast_exp::fast_exp2_x16;
use limpid_plan::sweep::LANES;
use limpid_reference::definition::nfor::{LEAST, TINY};
use std::ops::Range;

/// Vectors of sixteen pixels in a row of a strip.
pub(super) const PIECES: usize = WIDTH / LANES;
/// Values in a line of distances: a strip and the patches beside it.
const LINE: usize = WIDTH + LANES;
/// Largest denominator of a distance; up to three of them are multiplied.
const MOST: f32 = 1e12;
/// A distance with zero weight.
const FAR: f32 = 1e9;

/// Working state for the weights of a strip.
pub(super) struct Weights<'a> {
    fit: &'a LocalRegression,
    taps: &'a [Tap],
    size: Size,
    /// The strip's first column.
    x: usize,
    /// Distances of single pixels for one row of taps.
    lines: &'a mut [f32],
    /// For each tap, the distances of the last rows, summed along the rows.
    ring: &'a mut [f32],
    /// One over the number of pairs along a row for each `dx`, zero if the partner is outside.
    over: &'a mut [f32],
    /// For each `k`, the weights of sixteen pixels that are not all zero, the indices of their taps, and their number.
    weights: &'a mut [f32],
    numbers: &'a mut [u32],
    counts: [usize; CANDIDATES],
}

/// Largest side of the squares of a checkerboard. Strips and vectors start at multiples of twice this.
const CELL: usize = 4;
/// Maximum number of candidates of a fit.
const CANDIDATES: usize = 4;

/// Weights of sixteen pixels, and the indices of their taps; taps without weight are left out.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    pub(super) weights: &'a [f32],
    pub(super) numbers: &'a [u32],
}

/// Words of each part.
fn parts(fit: &LocalRegression) -> [usize; 5] {
    let (across, taps) = (2 * fit.settings.window.radius + 1, fit.taps());
    [
        across * LINE,
        taps * (2 * fit.settings.patch + 1) * WIDTH,
        across * WIDTH,
        fit.k.len() * taps * LANES,
        fit.k.len() * taps,
    ]
}

/// Pixels of `0..length` whose partner at distance `d` is inside.
fn valid(length: usize, d: i64) -> Range<usize> {
    (-d).max(0) as usize..(length as i64 - d.max(0)).max(0) as usize
}

/// Number of pixels of a patch around `at` that lie in `range`.
fn pairs(at: usize, patch: usize, range: &Range<usize>) -> usize {
    (at + patch + 1)
        .min(range.end)
        .saturating_sub(at.saturating_sub(patch).max(range.start))
}

impl<'a> Weights<'a> {
    pub(super) fn words(fit: &LocalRegression) -> usize {
        parts(fit).iter().sum()
    }

    pub(super) fn new(
        fit: &'a LocalRegression,
        taps: &'a [Tap],
        size: Size,
        x: usize,
        scratch: &'a mut [f32],
    ) -> Self {
        debug_assert!(2 * fit.settings.patch <= LANES && fit.k.len() <= CANDIDATES);
        debug_assert!(fit.cell <= CELL);
        let mut rest = scratch;
        let [lines, ring, over, weights, numbers] = parts(fit).map(|n| {
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(n);
            rest = tail;
            head
        });
        ring.fill(0.0);
        let (f, r) = (fit.settings.patch, fit.settings.window.radius as i64);
        for (over, dx) in over.chunks_exact_mut(WIDTH).zip(-r..=r) {
            let across = valid(size.width, dx);
            for (i, o) in over.iter_mut().enumerate() {
                *o = match across.contains(&(x + i)) {
                    true => 1.0 / pairs(x + i, f, &across) as f32,
                    false => 0.0,
                };
            }
        }
        Self {
            fit,
            taps,
            size,
            x,

            lines,
            ring,
            over,
            weights,
            numbers: bytemuck::cast_slice_mut(numbers),
            counts: [0; CANDIDATES],
        }
    }

    /// Computes the distances of row `y` for all taps; `guide` holds the surrounding rows.
    #[inline(always)]
    pub(super) fn distances<S: Simd>(&mut self, simd: S, guide: &[f32], y: usize) {
        let (f, r) = (
            self.fit.settings.patch,
            self.fit.settings.window.radius as i64,
        );
        let region = Region::guide(self.fit);
        let slot = y % (2 * f + 1);
        let slots = 2 * f + 1;
        let mut taps = 0;
        for dy in -r..=r {
            let columns = || self.fit.row(dy);
            let count = columns().count();
            let ring = &mut self.ring[taps * slots * WIDTH..][..count * slots * WIDTH];
            let ring = ring.chunks_exact_mut(slots * WIDTH);
            taps += count;
            if !valid(self.size.height, dy).contains(&y) {
                ring.for_each(|rows| rows[slot * WIDTH..][..WIDTH].fill(0.0));
                continue;
            }
            let lines = self.lines.chunks_exact_mut(LINE);
            for (line, dx) in lines.zip(columns()) {
                let shift = region.shift(dx, dy);
                match self.fit.channels {
                    3 => distance::<S, 3>(simd, guide, &region, shift, line),
                    _ => distance::<S, 1>(simd, guide, &region, shift, line),
                }
                // Pairs that are not inside count as zero.
                let (across, first) = (valid(self.size.width, dx), self.x as i64 - f as i64);
                let index = |x: usize| ((x as i64 - first).max(0) as usize).min(LINE);
                line[..index(across.start)].fill(0.0);
                line[index(across.end)..].fill(0.0);
            }
            let lines = self.lines.chunks_exact(LINE);
            for (line, rows) in lines.zip(ring) {
                let out = rows[slot * WIDTH..][..WIDTH].as_chunks_mut::<LANES>().0;
                for (p, out) in out.iter_mut().enumerate() {
                    let mut sum = piece(simd, line, p * LANES);
                    for i in 1..slots {
                        sum += piece(simd, line, p * LANES + i);
                    }
                    sum.store_array(out);
                }
            }
        }
    }

    /// Computes the weights of a vector of row `y`; `values` holds features, data and classes around the row.
    #[inline(always)]
    pub(super) fn make<S: Simd>(&mut self, simd: S, values: &[f32], y: usize, piece: usize) {
        match self.fit.sharp {
            6 => self.make_with::<S, 6>(simd, values, y, piece),
            3 => self.make_with::<S, 3>(simd, values, y, piece),
            _ => self.make_with::<S, 0>(simd, values, y, piece),
        }
    }

    #[inline(always)]
    fn make_with<S: Simd, const SHARP: usize>(
        &mut self,
        simd: S,
        values: &[f32],
        y: usize,
        number: usize,
    ) {
        let fit = self.fit;
        let (f, r) = (fit.settings.patch, fit.settings.window.radius as i64);
        let (region, slots) = (Region::values(fit), 2 * f + 1);
        let (zero, far) = (f32x16::splat(simd, 0.0), f32x16::splat(simd, FAR));
        let square = fit.settings.feature * fit.settings.feature;
        let at = region.place(number * LANES);
        let class_at = (region.planes - 1) * ROW;
        let class = Beside::new(values, at + class_at).load(simd, 0);
        let mut own = [zero; SHARP];
        for c in 0..SHARP {
            own[c] = Beside::new(values, at).load(simd, c);
        }
        // With one buffer, pixels of the other parity have no weight; the pattern depends on the first pixel's position within
        // two squares.
        let other = |first: usize| {
            f32x16::from_fn(simd, |i| match fit.parity {
                Some(parity) if (i + first) / fit.cell % 2 != parity => FAR,
                _ => 0.0,
            })
        };
        let period = 2 * fit.cell;
        let mut others = [zero; 2 * CELL];
        for (first, other_of) in others.iter_mut().enumerate().take(period) {
            *other_of = other(first);
        }
        let stop = f32x16::splat(simd, 18.5);
        let widest = fit.k.iter().fold(0.0f32, |a, k| a.max(*k));
        let least = f32x16::splat(simd, 1.0 / (widest * widest));
        let mut over_k = [0.0; CANDIDATES];
        for (over, k) in over_k.iter_mut().zip(&fit.k) {
            *over = 1.0 / (k * k);
        }
        self.counts = [0; CANDIDATES];
        let mut at_tap = 0;
        for dy in -r..=r {
            let first = at_tap;
            at_tap += fit.row(dy).count();
            let down = valid(self.size.height, dy);
            if !down.contains(&y) {
                continue;
            }
            let scale = 1.0 / (pairs(y, f, &down) * fit.channels) as f32;
            for t in first..at_tap {
                let tap = &self.taps[t];
                let over = &self.over[(tap.dx + r) as usize * WIDTH..][..WIDTH];
                let over = piece(simd, over, number * LANES);
                let rows = &self.ring[t * slots * WIDTH..][..slots * WIDTH];
                let mut distance = piece(simd, rows, number * LANES);
                for k in 1..slots {
                    distance += piece(simd, rows, k * WIDTH + number * LANES);
                }
                let distance = (distance * over * scale).max(zero);
                let there = at.wrapping_add_signed(tap.shift);
                let partner = Beside::new(values, there);
                let mut apart = zero;
                for c in 0..SHARP {
                    let off = own[c] - partner.load(simd, c);
                    apart = off.mul_add(off, apart);
                }
                // Different classes, and partners outside, have no weight.
                let same = class.simd_eq(Beside::new(values, there + class_at).load(simd, 0))
                    & over.simd_gt(zero);
                let row = (y as i64 + tap.dy)
                    .div_euclid(fit.cell as i64)
                    .rem_euclid(2);
                let first = self.x as i64 + tap.dx + row * fit.cell as i64;
                let first = first.rem_euclid(period as i64) as usize;
                let apart = same.select(apart * square, far) + others[first % (2 * CELL)];
                if !distance.mul_add(least, apart).simd_lt(stop).any_true() {
                    continue;
                }
                for k in 0..fit.k.len() {
                    let x = distance.mul_add(f32x16::splat(simd, over_k[k]), apart);
                    // Base 2, so that the exponential needs no further multiplication; NaN has no weight.
                    let x = x * -std::f32::consts::LOG2_E;
                    let weight = fast_exp2_x16(simd, x);
                    let some = weight.simd_ge(f32x16::splat(simd, LEAST));
                    if !some.any_true() {
                        continue;
                    }
                    let at = k * self.taps.len() + self.counts[k];
                    self.counts[k] += 1;
                    self.numbers[at] = t as u32;
                    let to = &mut self.weights[at * LANES..][..LANES];
                    to.copy_from_slice(&some.select(weight, zero).to_array());
                }
            }
        }
    }

    /// The weights of candidate `k`.
    pub(super) fn list(&self, k: usize) -> List<'_> {
        let first = k * self.taps.len();
        List {
            weights: &self.weights[first * LANES..][..self.counts[k] * LANES],
            numbers: &self.numbers[first..][..self.counts[k]],
        }
    }
}

/// Sixteen values starting at `at`.
#[inline(always)]
fn piece<S: Simd>(simd: S, values: &[f32], at: usize) -> f32x16<S> {
    let piece = values[at..].first_chunk().unwrap_or(&[0.0; LANES]);
    f32x16::load_array_ref(simd, piece)
}

/// The distances of single pixels along a row. All channels share one division.
#[inline(always)]
fn distance<S: Simd, const C: usize>(
    simd: S,
    guide: &[f32],
    region: &Region,
    shift: isize,
    out: &mut [f32],
) {
    let most = f32x16::splat(simd, MOST);
    let at = region.place(0);
    for (p, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let at = at + p * LANES;
        let here = Beside::new(guide, at);
        let there = Beside::new(guide, at.wrapping_add_signed(shift));
        let (mut above, mut below) = (f32x16::splat(simd, 0.0), f32x16::splat(simd, 1.0));
        for c in 0..C {
            let off = here.load(simd, 2 * c) - there.load(simd, 2 * c);
            let (u, v) = (here.load(simd, 2 * c + 1), there.load(simd, 2 * c + 1));
            let one = off * off - (u + u.min(v));
            let sum = (u + v + TINY).min(most);
            above = above.mul_add(sum, one * below);
            below *= sum;
        }
        (above / below).store_array(out);
    }
}
