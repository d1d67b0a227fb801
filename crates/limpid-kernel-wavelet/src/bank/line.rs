//! Lines whose samples lie side by side: in blocks that stay in the nearest cache, several threads to a long line.

use super::sums::{join_pairs, split_pairs, sums};
use super::{Bank, Real, pieces, rows_each, small};
use rayon::prelude::*;
use std::ops::Range;

/// Coefficients of a block.
pub(super) const BLOCK: usize = 1024;

/// How lines of equal length are extended and split into even and odd samples; worked out once for all lines.
pub(super) struct Line<'a, T> {
    bank: &'a Bank<T>,
    count: usize,
    /// Pairs of samples that lie inside: where they begin, in pairs and in samples, and how many there are.
    inside: (usize, usize, usize),
    /// Samples of the other pairs.
    outside: Vec<Outside>,
    /// Terms of all of them.
    terms: Vec<(usize, T)>,
    weights: Vec<[T; 2]>,
}

/// A sample beyond the ends of a line.
struct Outside {
    pair: usize,
    /// Whether it is the second of its pair.
    second: bool,
    /// The terms whose sum it is.
    terms: Range<usize>,
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
        // The first pair from sample 0 on, and the first that does not end before sample n.
        let begin = (half - 1 - (bank.shift() - 1).div_euclid(2)).clamp(0, pairs);
        let end = begin + ((n as i64 - first(begin)).div_euclid(2)).clamp(0, pairs - begin);
        let mut outside = Vec::with_capacity(2 * (pairs - (end - begin)) as usize);
        let mut terms = Vec::with_capacity(outside.capacity());
        for p in (0..begin).chain(end..pairs) {
            for second in [false, true] {
                let before = terms.len();
                bank.terms(first(p) + i64::from(second), n, &mut terms);
                outside.push(Outside {
                    pair: p as usize,
                    second,
                    terms: before..terms.len(),
                });
            }
        }
        let mut weights = bank.analysis();
        for pair in weights.chunks_exact_mut(2) {
            // 2o + s - 2t is the second sample of pair o - t, 2o + s - 2t - 1 its first.
            pair.swap(0, 1);
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
            terms,
            weights,
        }
    }

    /// Room for this many coefficients at a time.
    pub(super) fn halves(&self, most: usize) -> Halves<T> {
        let pairs = self.count.min(most) + self.bank.half() - 1;
        Halves {
            even: vec![T::default(); pairs],
            odd: vec![T::default(); pairs],
        }
    }

    /// Low and high coefficients of one line, from the coefficient `from` on.
    pub(super) fn split(
        &self,
        line: &[T],
        from: usize,
        room: &mut Halves<T>,
        [low, high]: [&mut [T]; 2],
    ) {
        let last = self.bank.half() - 1;
        let wanted = from..from + low.len() + last;
        let (begin, sample, pairs) = self.inside;
        let (a, b) = (wanted.start.max(begin), wanted.end.min(begin + pairs));
        if a < b {
            split_pairs(
                &line[sample + 2 * (a - begin)..][..2 * (b - a)],
                &mut room.even[a - from..b - from],
                &mut room.odd[a - from..b - from],
            );
        }
        for Outside {
            pair,
            second,
            terms,
        } in &self.outside
        {
            if !wanted.contains(pair) {
                continue;
            }
            let mut value = T::default();
            for (k, w) in &self.terms[terms.clone()] {
                value += line[*k] * *w;
            }
            let half = if *second {
                &mut room.odd
            } else {
                &mut room.even
            };
            half[*pair - from] = value;
        }
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
    /// First `m` of the module's text.
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

    /// Room for this many pairs at a time.
    pub(super) fn room(&self, most: usize) -> BackRoom<T> {
        let line = || vec![T::default(); self.count.min(most) + self.bank.half()];
        BackRoom {
            bands: [line(), line()],
            pairs: [line(), line()],
        }
    }

    /// Samples from low and high coefficients of one line, from the sample `2 · from` on; a band that is not there is zero.
    pub(super) fn join(
        &self,
        bands: [Option<&[T]>; 2],
        from: usize,
        room: &mut BackRoom<T>,
        out: &mut [T],
    ) {
        let half = self.bank.half();
        let aligned = 2 * self.first + self.bank.shift_back() == 0;
        // The first sample of the first pair stands before the line where they are not aligned.
        let pairs = (out.len() + usize::from(!aligned)).div_ceil(2);
        let pairs = pairs.min(self.count - from);
        let mut rows: Vec<&[T]> = Vec::with_capacity(2 * half);
        let mut weights: Vec<[T; 2]> = Vec::with_capacity(2 * half);
        for ((band, turned), own) in bands.into_iter().zip(&mut room.bands).zip(&self.weights) {
            let Some(band) = band else { continue };
            let line = if self.bank.periodized() {
                let turned = &mut turned[..pairs + half - 1];
                around(band, self.first + from as i64, turned);
                &turned[..]
            } else {
                &band[from..]
            };
            for (t, w) in own.iter().enumerate() {
                rows.push(&line[half - 1 - t..]);
                weights.push(*w);
            }
        }
        let [a, b] = &mut room.pairs;
        sums(&rows, &weights, [&mut a[..pairs], &mut b[..pairs]]);
        if aligned {
            join_pairs(a, b, out);
        } else {
            join_pairs(b, &a[1..], out);
        }
    }
}

/// The values from `from` on, around a periodic line.
pub(super) fn around<T: Real>(line: &[T], from: i64, out: &mut [T]) {
    let mut at = from.rem_euclid(line.len() as i64) as usize;
    let mut rest = out;
    while !rest.is_empty() {
        let length = rest.len().min(line.len() - at);
        let (now, later) = rest.split_at_mut(length);
        now.copy_from_slice(&line[at..at + length]);
        (at, rest) = (0, later);
    }
}

/// Low and high coefficients of lines of `n` samples.
pub(super) fn forward<T: Real>(bank: &Bank<T>, x: &[T], n: usize, low: &mut [T], high: &mut [T]) {
    let count = bank.coefficients(n);
    let line = Line::new(bank, n);
    if count > BLOCK {
        for ((x, low), high) in x
            .chunks(n)
            .zip(low.chunks_mut(count))
            .zip(high.chunks_mut(count))
        {
            let each = blocks(count);
            pieces([low, high], each, small(n), |piece, [low, high]| {
                let mut room = line.halves(BLOCK);
                let parts = low.chunks_mut(BLOCK).zip(high.chunks_mut(BLOCK));
                for (i, (low, high)) in parts.enumerate() {
                    line.split(x, piece * each + i * BLOCK, &mut room, [low, high]);
                }
            });
        }
        return;
    }
    let each = rows_each(x.len() / n, n);
    let alone = small(x.len());
    pieces([low, high], each * count, alone, |piece, [low, high]| {
        let mut room = line.halves(count);
        let bands = low.chunks_mut(count).zip(high.chunks_mut(count));
        for (x, (low, high)) in x[piece * each * n..].chunks(n).zip(bands) {
            line.split(x, 0, &mut room, [low, high]);
        }
    });
}

/// Samples of lines of `count` coefficients: the first `n` of each line.
pub(super) fn backward<T: Real>(
    bank: &Bank<T>,
    bands: [Option<&[T]>; 2],
    (count, n): (usize, usize),
    out: &mut [T],
) {
    let back = Back::new(bank, n);
    let of = |line: usize| bands.map(|b| b.map(|b| &b[line * count..][..count]));
    if n > 2 * BLOCK {
        for (line, out) in out.chunks_mut(n).enumerate() {
            let each = 2 * blocks(n / 2);
            let work = |(piece, out): (usize, &mut [T])| {
                let mut room = back.room(BLOCK + 1);
                for (i, out) in out.chunks_mut(2 * BLOCK).enumerate() {
                    back.join(of(line), piece * each / 2 + i * BLOCK, &mut room, out);
                }
            };
            if small(n) {
                out.chunks_mut(each).enumerate().for_each(work);
            } else {
                out.par_chunks_mut(each).enumerate().for_each(work);
            }
        }
        return;
    }
    let each = rows_each(out.len() / n, n);
    let alone = small(out.len());
    let work = |(piece, out): (usize, &mut [T])| {
        let mut room = back.room(n);
        for (i, out) in out.chunks_mut(n).enumerate() {
            back.join(of(piece * each + i), 0, &mut room, out);
        }
    };
    if alone {
        out.chunks_mut(each * n).enumerate().for_each(work);
    } else {
        out.par_chunks_mut(each * n).enumerate().for_each(work);
    }
}

/// Whole blocks for each piece of a line, so that every thread gets a few.
pub(super) fn blocks(count: usize) -> usize {
    if small(count) {
        return count.next_multiple_of(BLOCK);
    }
    count
        .div_ceil(4 * rayon::current_num_threads())
        .next_multiple_of(BLOCK)
}
