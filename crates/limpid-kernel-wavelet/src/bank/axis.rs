//! One level along one axis of an array of `outer × n × inner` values.

use super::sums::{join_pairs, split_pairs, sums};
use super::{Bank, Real, rows_each};
use rayon::prelude::*;

/// How lines of equal length are extended and split into even and odd samples; worked out once for all lines.
pub(super) struct Line<'a, T> {
    bank: &'a Bank<T>,
    count: usize,
    /// Pairs of samples that lie inside: where they begin, in pairs and in samples, and how many there are.
    inside: (usize, usize, usize),
    /// Samples of the other pairs.
    outside: Vec<Outside<T>>,
    weights: Vec<[T; 2]>,
}

/// A sample beyond the ends of a line.
struct Outside<T> {
    pair: usize,
    /// Whether it is the second of its pair.
    second: bool,
    /// The sum of samples that it is.
    sum: Vec<(usize, T)>,
}

/// Room for the even and odd samples of a line.
pub(super) struct Halves<T> {
    even: Vec<T>,
    odd: Vec<T>,
}

impl<'a, T: Real> Line<'a, T> {
    pub(super) fn new(bank: &'a Bank<T>, n: usize) -> Self {
        let count = bank.coefficients(n);
        let half = bank.half() as i64;
        // Pair p holds the samples 2(p - half + 1) + s - 1 and the next.
        let first = |p: i64| 2 * (p - half + 1) + bank.shift() - 1;
        let pairs = count as i64 + half - 1;
        let is_inside = |p: &i64| first(*p) >= 0 && first(*p) + 1 < n as i64;
        let begin = (0..pairs).find(is_inside).unwrap_or(pairs);
        let end = (begin..pairs).find(|p| !is_inside(p)).unwrap_or(pairs);
        let mut outside = Vec::new();
        for p in (0..begin).chain(end..pairs) {
            for second in [false, true] {
                let sum = bank.sample(first(p) + i64::from(second), n);
                outside.push(Outside {
                    pair: p as usize,
                    second,
                    sum,
                });
            }
        }
        let mut weights = Vec::new();
        for pair in bank.analysis().chunks_exact(2) {
            // 2o + s - 2t is the second sample of pair o - t, 2o + s - 2t - 1 its first.
            weights.extend([pair[1], pair[0]]);
        }
        Self {
            bank,
            count,
            inside: (
                begin as usize,
                first(begin).max(0) as usize,
                (end - begin) as usize,
            ),
            outside,
            weights,
        }
    }

    pub(super) fn halves(&self) -> Halves<T> {
        let pairs = self.count + self.bank.half() - 1;
        Halves {
            even: vec![T::default(); pairs],
            odd: vec![T::default(); pairs],
        }
    }

    /// Low and high coefficients of one line.
    pub(super) fn split(&self, line: &[T], room: &mut Halves<T>, low: &mut [T], high: &mut [T]) {
        let (pair, sample, pairs) = self.inside;
        split_pairs(
            &line[sample.min(line.len())..][..2 * pairs],
            &mut room.even[pair..][..pairs],
            &mut room.odd[pair..][..pairs],
        );
        for Outside { pair, second, sum } in &self.outside {
            let mut value = T::default();
            for (k, w) in sum {
                value += line[*k] * *w;
            }
            let half = if *second {
                &mut room.odd
            } else {
                &mut room.even
            };
            half[*pair] = value;
        }
        let last = self.bank.half() - 1;
        let mut rows = Vec::with_capacity(2 * self.bank.half());
        for t in 0..self.bank.half() {
            rows.extend([&room.even[last - t..], &room.odd[last - t..]]);
        }
        sums(&rows, &self.weights, [low, high]);
    }
}

/// How lines of coefficients become samples again.
pub(super) struct Back<'a, T> {
    bank: &'a Bank<T>,
    /// First and last `m` of the module's text.
    first: i64,
    count: usize,
    weights: [Vec<[T; 2]>; 2],
}

/// Scratch memory for the inverse of a line.
pub(super) struct BackRoom<T> {
    bands: [Vec<T>; 2],
    pairs: [Vec<T>; 2],
}

impl<'a, T: Real> Back<'a, T> {
    pub(super) fn new(bank: &'a Bank<T>, samples: usize) -> Self {
        let shift = bank.shift_back();
        let first = (-shift).div_euclid(2);
        let last = (samples as i64 - 1 - shift).div_euclid(2);
        Self {
            bank,
            first,
            count: (last - first + 1).max(0) as usize,
            weights: [bank.synthesis(false), bank.synthesis(true)],
        }
    }

    pub(super) fn room(&self) -> BackRoom<T> {
        let line = || vec![T::default(); self.count + self.bank.half() - 1];
        BackRoom {
            bands: [line(), line()],
            pairs: [line(), line()],
        }
    }

    /// Samples from low and high coefficients of one line; a band that is not there is zero.
    pub(super) fn join(&self, bands: [Option<&[T]>; 2], room: &mut BackRoom<T>, out: &mut [T]) {
        let half = self.bank.half();
        let mut rows: Vec<&[T]> = Vec::with_capacity(2 * half);
        let mut weights: Vec<[T; 2]> = Vec::with_capacity(2 * half);
        for ((band, turned), own) in bands.into_iter().zip(&mut room.bands).zip(&self.weights) {
            let Some(band) = band else { continue };
            let line = if self.bank.periodized() {
                for (i, v) in turned.iter_mut().enumerate() {
                    *v = band[(self.first + i as i64).rem_euclid(band.len() as i64) as usize];
                }
                &turned[..]
            } else {
                band
            };
            for (t, w) in own.iter().enumerate() {
                rows.push(&line[half - 1 - t..]);
                weights.push(*w);
            }
        }
        let [a, b] = &mut room.pairs;
        sums(
            &rows,
            &weights,
            [&mut a[..self.count], &mut b[..self.count]],
        );
        if 2 * self.first + self.bank.shift_back() == 0 {
            join_pairs(a, b, out);
        } else {
            // The first sample of the first pair stands before the line.
            join_pairs(b, &a[1..], out);
        }
    }
}

/// Low and high coefficients along the middle axis.
pub fn forward<T: Real>(
    bank: &Bank<T>,
    x: &[T],
    (n, inner): (usize, usize),
    low: &mut [T],
    high: &mut [T],
) {
    let count = bank.coefficients(n);
    if inner == 1 {
        let line = Line::new(bank, n);
        let each = rows_each(x.len() / n, n);
        let pieces = (x.par_chunks(each * n), low.par_chunks_mut(each * count));
        let pieces = pieces
            .into_par_iter()
            .zip(high.par_chunks_mut(each * count));
        pieces.for_each(|((x, low), high)| {
            let mut room = line.halves();
            let bands = low.chunks_mut(count).zip(high.chunks_mut(count));
            for (x, (low, high)) in x.chunks(n).zip(bands) {
                line.split(x, &mut room, low, high);
            }
        });
        return;
    }
    let each = rows_each(count, n * inner / count.max(1));
    let weights = bank.analysis();
    let planes = (x.par_chunks(n * inner), low.par_chunks_mut(count * inner));
    let planes = planes
        .into_par_iter()
        .zip(high.par_chunks_mut(count * inner));
    planes.for_each(|((x, low), high)| {
        let around = Around::new(bank, x, n, count);
        let bands = low.par_chunks_mut(each * inner);
        let bands = bands.zip(high.par_chunks_mut(each * inner)).enumerate();
        bands.for_each(|(piece, (low, high))| {
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
    let n = bank.samples(count);
    if n == 0 || out.is_empty() {
        return;
    }
    if inner == 1 {
        let back = Back::new(bank, n);
        let each = rows_each(out.len() / n, n);
        out.par_chunks_mut(each * n)
            .enumerate()
            .for_each(|(piece, out)| {
                let mut room = back.room();
                for (i, out) in out.chunks_mut(n).enumerate() {
                    let at = (piece * each + i) * count;
                    back.join(bands.map(|b| b.map(|b| &b[at..at + count])), &mut room, out);
                }
            });
        return;
    }
    let down = Down::new(bank, count);
    let each = rows_each(n, inner);
    out.par_chunks_mut(n * inner)
        .enumerate()
        .for_each(|(plane, out)| {
            let bands = bands.map(|b| b.map(|b| &b[plane * count * inner..][..count * inner]));
            out.par_chunks_mut(each * inner)
                .enumerate()
                .for_each(|(piece, out)| {
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
                });
        });
}
