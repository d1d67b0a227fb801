//! Undecimated transforms: filters with gaps between their taps, around a periodic signal, along the middle axis of an array
//! of `outer × n × inner` values.

use super::sums::{sum, sums};
use super::{Bank, Real, rows_each};
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
    let weights = bank.analysis();
    let starts: Vec<usize> = (0..bank.taps())
        .map(|j| turned(step as i64 * (bank.half() as i64 - j as i64), n))
        .collect();
    let each = rows_each(x.len() / inner, inner) * inner;
    if inner == 1 {
        let each = each.div_ceil(n) * n;
        let pieces = (x.par_chunks(each), low.par_chunks_mut(each));
        let pieces = pieces.into_par_iter().zip(high.par_chunks_mut(each));
        pieces.for_each(|((x, low), high)| {
            let bands = low.chunks_mut(n).zip(high.chunks_mut(n));
            for (x, (low, high)) in x.chunks(n).zip(bands) {
                let twice = [x, x].concat();
                let rows: Vec<&[T]> = starts.iter().map(|s| &twice[*s..*s + n]).collect();
                sums(&rows, &weights, [low, high]);
            }
        });
        return;
    }
    let pieces = low.par_chunks_mut(each).zip(high.par_chunks_mut(each));
    pieces.enumerate().for_each(|(piece, (low, high))| {
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
    let half = T::of(0.5);
    let weights: Vec<T> = (bank.lo.iter().chain(&bank.hi))
        .map(|w| *w * half)
        .collect();
    let starts: Vec<usize> = (0..bank.taps())
        .map(|j| turned(-(step as i64) * (j as i64 - bank.half() as i64 + 1), n))
        .collect();
    let each = rows_each(out.len() / inner, inner) * inner;
    if inner == 1 {
        let each = each.div_ceil(n) * n;
        out.par_chunks_mut(each)
            .enumerate()
            .for_each(|(piece, out)| {
                for (i, out) in out.chunks_mut(n).enumerate() {
                    let at = piece * each + i * n;
                    let twice = bands.map(|b| [&b[at..at + n], &b[at..at + n]].concat());
                    let of = |b: usize| starts.iter().map(move |s| (b, *s));
                    let rows: Vec<&[T]> = (of(0).chain(of(1)))
                        .map(|(b, s)| &twice[b][s..s + n])
                        .collect();
                    sum(&rows, &weights, out);
                }
            });
        return;
    }
    out.par_chunks_mut(each)
        .enumerate()
        .for_each(|(piece, out)| {
            for (i, out) in out.chunks_mut(inner).enumerate() {
                let line = piece * each / inner + i;
                let mut rows = lines_of(bands[0], line, n, inner, &starts);
                rows.extend(lines_of(bands[1], line, n, inner, &starts));
                sum(&rows, &weights, out);
            }
        });
}

fn turned(i: i64, n: usize) -> usize {
    i.rem_euclid(n as i64) as usize
}

/// The rows that begin `starts` after a row, around its plane.
fn lines_of<'a, T>(
    x: &'a [T],
    row: usize,
    n: usize,
    inner: usize,
    starts: &[usize],
) -> Vec<&'a [T]> {
    let (plane, at) = (row / n, row % n);
    let rows = starts.iter().map(|s| plane * n + (at + s) % n);
    rows.map(|r| &x[r * inner..][..inner]).collect()
}
