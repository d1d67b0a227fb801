//! One level along one axis of an array of `outer × n × inner` values.

use super::sums::sums;
use super::{Bank, Real, line, pieces, rows_each, small};
use rayon::prelude::*;

/// Low and high coefficients along the middle axis.
pub fn forward<T: Real>(
    bank: &Bank<T>,
    x: &[T],
    (n, inner): (usize, usize),
    low: &mut [T],
    high: &mut [T],
) {
    if x.is_empty() {
        return;
    }
    if inner == 1 {
        return line::forward(bank, x, n, low, high);
    }
    let count = bank.coefficients(n);
    let each = rows_each(count, n * inner / count.max(1));
    let weights = bank.analysis();
    let alone = small(x.len());
    pieces([low, high], count * inner, alone, |plane, [low, high]| {
        let x = &x[plane * n * inner..][..n * inner];
        let around = Around::new(bank, x, n, count);
        let alone = small(x.len());
        pieces([low, high], each * inner, alone, |piece, [low, high]| {
            let lines = low.chunks_mut(inner).zip(high.chunks_mut(inner));
            for (o, (low, high)) in lines.enumerate() {
                let last = 2 * (piece * each + o) as i64 + bank.shift();
                let rows: Vec<&[T]> = (0..bank.taps() as i64)
                    .map(|j| around.row(x, last - j))
                    .collect();
                sums(&rows, &weights, [low, high]);
            }
        });
    });
}

/// Rows of an extended plane.
pub(super) struct Around<T> {
    n: i64,
    width: usize,
    before: i64,
    /// Rows before the first, then those after the last.
    made: Vec<Vec<T>>,
}

impl<T: Real> Around<T> {
    /// All rows that `count` coefficients of `n` rows read.
    pub(super) fn new(bank: &Bank<T>, x: &[T], n: usize, count: usize) -> Self {
        let width = x.len() / n;
        let from = bank.shift() - bank.taps() as i64 + 1;
        let to = 2 * (count as i64 - 1) + bank.shift();
        let outside = (from..0).chain(n as i64..=to);
        let made = outside.map(|i| {
            let mut row = vec![T::default(); width];
            for (k, w) in bank.sample(i, n) {
                for (to, from) in row.iter_mut().zip(&x[k * width..][..width]) {
                    *to += *from * w;
                }
            }
            row
        });
        Self {
            n: n as i64,
            width,
            before: (-from).max(0),
            made: made.collect(),
        }
    }

    pub(super) fn row<'a>(&'a self, x: &'a [T], i: i64) -> &'a [T] {
        if i < 0 {
            &self.made[(i + self.before) as usize]
        } else if i >= self.n {
            &self.made[(i - self.n + self.before) as usize]
        } else {
            &x[i as usize * self.width..][..self.width]
        }
    }
}

/// Rows of coefficients that rows of samples are made of.
pub(super) struct Down<'a, T> {
    bank: &'a Bank<T>,
    count: usize,
    weights: [Vec<[T; 2]>; 2],
}

impl<'a, T: Real> Down<'a, T> {
    pub(super) fn new(bank: &'a Bank<T>, count: usize) -> Self {
        Self {
            bank,
            count,
            weights: [bank.synthesis(false), bank.synthesis(true)],
        }
    }

    /// The pairs `m` that the samples `from .. to` belong to.
    pub(super) fn pairs(&self, from: usize, to: usize) -> std::ops::RangeInclusive<i64> {
        let pair = |n: i64| (n - self.bank.shift_back()).div_euclid(2);
        pair(from as i64)..=pair(to as i64 - 1)
    }

    /// The first sample of a pair.
    pub(super) fn first(&self, m: i64) -> i64 {
        2 * m + self.bank.shift_back()
    }

    /// Both samples of pair `m`.
    pub(super) fn pair(&self, bands: [Option<&[T]>; 2], width: usize, m: i64, out: [&mut [T]; 2]) {
        let half = self.bank.half() as i64;
        let mut rows: Vec<&[T]> = Vec::with_capacity(2 * half as usize);
        let mut weights: Vec<[T; 2]> = Vec::with_capacity(2 * half as usize);
        for (band, own) in bands.into_iter().zip(&self.weights) {
            let Some(band) = band else { continue };
            for (t, w) in own.iter().enumerate() {
                let k = m + half - 1 - t as i64;
                let k = if self.bank.periodized() {
                    k.rem_euclid(self.count as i64)
                } else if (0..self.count as i64).contains(&k) {
                    k
                } else {
                    continue;
                };
                rows.push(&band[k as usize * width..][..width]);
                weights.push(*w);
            }
        }
        sums(&rows, &weights, out);
    }
}

/// Samples along the middle axis from low and high coefficients.
pub fn backward<T: Real>(
    bank: &Bank<T>,
    bands: [Option<&[T]>; 2],
    (count, inner): (usize, usize),
    out: &mut [T],
) {
    first_samples(bank, bands, [count, bank.samples(count), inner], out);
}

/// The first `n` samples along the middle axis from `count` coefficients.
pub fn first_samples<T: Real>(
    bank: &Bank<T>,
    bands: [Option<&[T]>; 2],
    [count, n, inner]: [usize; 3],
    out: &mut [T],
) {
    if n == 0 || out.is_empty() {
        return;
    }
    if inner == 1 {
        return line::backward(bank, bands, (count, n), out);
    }
    let down = Down::new(bank, count);
    let each = rows_each(n, inner);
    let plane = |(plane, out): (usize, &mut [T])| {
        let bands = bands.map(|b| b.map(|b| &b[plane * count * inner..][..count * inner]));
        let rows = |(piece, out): (usize, &mut [T])| {
            let (from, rows) = (piece * each, out.len() / inner);
            let mut room = [vec![T::default(); inner], vec![T::default(); inner]];
            for m in down.pairs(from, from + rows) {
                let [a, b] = &mut room;
                down.pair(bands, inner, m, [a, b]);
                for (i, made) in room.iter().enumerate() {
                    let at = down.first(m) + i as i64 - from as i64;
                    if (0..rows as i64).contains(&at) {
                        out[at as usize * inner..][..inner].copy_from_slice(made);
                    }
                }
            }
        };
        if small(n * inner) {
            out.chunks_mut(each * inner).enumerate().for_each(rows);
        } else {
            out.par_chunks_mut(each * inner).enumerate().for_each(rows);
        }
    };
    if small(out.len()) {
        out.chunks_mut(n * inner).enumerate().for_each(plane);
    } else {
        out.par_chunks_mut(n * inner).enumerate().for_each(plane);
    }
}
