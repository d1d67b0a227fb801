//! Undecimated transforms: filters with gaps between their taps, around a periodic signal, along the middle axis of an array
//! of `outer × n × inner` values.

use super::line::{BLOCK, around, blocks};
use super::sums::{sum, sums};
use super::{Bank, Real, pieces, rows_each, small};
use limpid_wavelet::mirrored;
use rayon::prelude::*;

/// Low and high coefficients: `low[o] = Σ lo[j] · x[o + step · (L/2 - j)]`.
pub fn spread<T: Real>(
    bank: &Bank<T>,
    step: usize,
    x: &[T],
    (n, inner): (usize, usize),
    low: &mut [T],
    high: &mut [T],
) {
    if x.is_empty() {
        return;
    }
    let weights = bank.analysis();
    let starts: Vec<i64> = (0..bank.taps())
        .map(|j| step as i64 * (bank.half() as i64 - j as i64))
        .collect();
    let alone = small(x.len());
    if inner == 1 {
        let each = line_parts(x.len() / n, n);
        return pieces([low, high], each, alone, |piece, [low, high]| {
            let mut at = piece * each;
            let mut room = Vec::new();
            // A piece holds whole lines, or it is a part of one.
            for (low, high) in low.chunks_mut(n).zip(high.chunks_mut(n)) {
                let line = &x[at / n * n..][..n];
                for (low, high) in low.chunks_mut(BLOCK).zip(high.chunks_mut(BLOCK)) {
                    let length = low.len();
                    let rows = windows([line], at % n, length, &starts, &mut room);
                    sums(&rows, &weights, [low, high]);
                    at += length;
                }
            }
        });
    }
    let each = rows_each(x.len() / inner, inner) * inner;
    pieces([low, high], each, alone, |piece, [low, high]| {
        let lines = low.chunks_mut(inner).zip(high.chunks_mut(inner));
        for (i, (low, high)) in lines.enumerate() {
            let rows = lines_of(x, piece * each / inner + i, n, inner, &starts);
            sums(&rows, &weights, [low, high]);
        }
    });
}

/// The inverse: `x[i] = ½ Σ lo[j] · low[i - step · (j - L/2 + 1)]`, and the same of the high band.
pub fn gather<T: Real>(
    bank: &Bank<T>,
    step: usize,
    bands: [&[T]; 2],
    (n, inner): (usize, usize),
    out: &mut [T],
) {
    if out.is_empty() {
        return;
    }
    let half = T::of(0.5);
    let weights: Vec<T> = (bank.lo.iter().chain(&bank.hi))
        .map(|w| *w * half)
        .collect();
    let starts: Vec<i64> = (0..bank.taps())
        .map(|j| -(step as i64) * (j as i64 - bank.half() as i64 + 1))
        .collect();
    let in_lines = inner == 1;
    let each = if in_lines {
        line_parts(out.len() / n, n)
    } else {
        rows_each(out.len() / inner, inner) * inner
    };
    let alone = small(out.len());
    let work = |(piece, out): (usize, &mut [T])| {
        if in_lines {
            let mut at = piece * each;
            let mut room = Vec::new();
            for out in out.chunks_mut(n) {
                let lines = bands.map(|b| &b[at / n * n..][..n]);
                for out in out.chunks_mut(BLOCK) {
                    let rows = windows(lines, at % n, out.len(), &starts, &mut room);
                    sum(&rows, &weights, out);
                    at += out.len();
                }
            }
            return;
        }
        for (i, out) in out.chunks_mut(inner).enumerate() {
            let line = piece * each / inner + i;
            let mut rows = lines_of(bands[0], line, n, inner, &starts);
            rows.extend(lines_of(bands[1], line, n, inner, &starts));
            sum(&rows, &weights, out);
        }
    };
    if alone {
        out.chunks_mut(each).enumerate().for_each(work);
    } else {
        out.par_chunks_mut(each).enumerate().for_each(work);
    }
}

/// Values for each piece of work on lines: whole lines, or blocks of one line.
fn line_parts(lines: usize, n: usize) -> usize {
    if lines == 1 {
        blocks(n)
    } else {
        rows_each(lines, n) * n
    }
}

/// The parts of lines that begin `starts` after `at`, around their ends; those that go around are copied to `room`.
fn windows<'a, T: Real, const N: usize>(
    lines: [&'a [T]; N],
    at: usize,
    length: usize,
    starts: &[i64],
    room: &'a mut Vec<T>,
) -> Vec<&'a [T]> {
    let n = lines[0].len();
    let from = |s: i64| turned(at as i64 + s, n);
    let goes_around = |s: i64| from(s) + length > n;
    let copies = N * starts.iter().filter(|s| goes_around(**s)).count();
    let (first, last) = (
        starts.iter().copied().min().unwrap_or(0),
        starts.iter().copied().max().unwrap_or(0),
    );
    let whole = length + (last - first) as usize;
    if N * whole < copies * length {
        // One copy that reaches from the first to the last is shorter than many.
        room.resize(room.len().max(N * whole), T::default());
        let mut parts = room.chunks_exact_mut(whole);
        for line in lines {
            if let Some(part) = parts.next() {
                around(line, at as i64 + first, part);
            }
        }
        let parts = room.chunks_exact(whole).take(N);
        let rows = parts.flat_map(|part| starts.iter().map(move |s| (part, (s - first) as usize)));
        return rows.map(|(part, s)| &part[s..s + length]).collect();
    }
    room.resize(room.len().max(copies * length), T::default());
    let mut next = room.chunks_exact_mut(length);
    for line in lines {
        for s in starts.iter().filter(|s| goes_around(**s)) {
            if let Some(copy) = next.next() {
                around(line, at as i64 + *s, copy);
            }
        }
    }
    let mut next = room.chunks_exact(length);
    let mut rows = Vec::with_capacity(N * starts.len());
    for line in lines {
        for s in starts {
            let there = || Some(&line[from(*s)..][..length]);
            rows.extend(if goes_around(*s) {
                next.next()
            } else {
                there()
            });
        }
    }
    rows
}

/// A line or plane smoothed with gaps of `step` between the taps, mirrored at the first and last sample:
/// `out[o] = Σ taps[j] · x[o + step · (j - L/2)]` along the middle axis, for an odd number of taps.
pub fn smooth<T: Real>(
    taps: &[T],
    step: usize,
    x: &[T],
    (n, inner): (usize, usize),
    out: &mut [T],
) {
    if x.is_empty() {
        return;
    }
    let half = (taps.len() / 2) as i64;
    let offset = |j: usize| step as i64 * (j as i64 - half);
    let each = if inner == 1 {
        line_parts(x.len() / n, n)
    } else {
        rows_each(x.len() / inner, inner) * inner
    };
    let work = |(piece, out): (usize, &mut [T])| {
        if inner > 1 {
            for (i, out) in out.chunks_mut(inner).enumerate() {
                let row = piece * each / inner + i;
                let (plane, at) = (row / n, (row % n) as i64);
                let place = |j| plane * n + mirrored(at + offset(j), n);
                let rows: Vec<&[T]> = (0..taps.len())
                    .map(|j| &x[place(j) * inner..][..inner])
                    .collect();
                sum(&rows, taps, out);
            }
            return;
        }
        let mut at = piece * each;
        let mut room = vec![T::default(); taps.len() * BLOCK];
        for out in out.chunks_mut(n) {
            let line = &x[at / n * n..][..n];
            for out in out.chunks_mut(BLOCK) {
                let (from, length) = ((at % n) as i64, out.len());
                let inside = |j: usize| {
                    let first = from + offset(j);
                    first >= 0 && first as usize + length <= n
                };
                for (j, copy) in room.chunks_exact_mut(BLOCK).enumerate() {
                    if !inside(j) {
                        for (i, v) in copy[..length].iter_mut().enumerate() {
                            *v = line[mirrored(from + offset(j) + i as i64, n)];
                        }
                    }
                }
                let copies = room.chunks_exact(BLOCK).enumerate();
                let rows: Vec<&[T]> = copies
                    .map(|(j, copy)| match inside(j) {
                        true => &line[(from + offset(j)) as usize..][..length],
                        false => &copy[..length],
                    })
                    .collect();
                sum(&rows, taps, out);
                at += length;
            }
        }
    };
    if small(x.len()) {
        out.chunks_mut(each).enumerate().for_each(work);
    } else {
        out.par_chunks_mut(each).enumerate().for_each(work);
    }
}

fn turned(i: i64, n: usize) -> usize {
    i.rem_euclid(n as i64) as usize
}

/// The rows that begin `starts` after a row, around its plane.
fn lines_of<'a, T>(x: &'a [T], row: usize, n: usize, inner: usize, starts: &[i64]) -> Vec<&'a [T]> {
    let (plane, at) = (row / n, row % n);
    let rows = starts.iter().map(|s| plane * n + turned(at as i64 + s, n));
    rows.map(|r| &x[r * inner..][..inner]).collect()
}
