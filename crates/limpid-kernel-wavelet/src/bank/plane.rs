//! One level of a plane: rows and columns in one pass over memory.

use super::axis::Down;
use super::line::{Back, Line};
use super::sums::sums;
use super::{Bank, Real, rows_each};
use rayon::prelude::*;

/// Where the samples of a plane are: a row begins every `stride` values, and its samples are `step` values apart.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    /// Samples of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Values from one row to the next.
    pub stride: usize,
    /// Values from one sample to the next.
    pub step: usize,
}

impl Grid {
    /// Sample after sample.
    pub fn dense(width: usize, height: usize) -> Self {
        Self {
            width,
            height,
            stride: width,
            step: 1,
        }
    }

    /// A row, gathered in `room` where its samples are apart.
    fn row<'a, T: Real>(&self, x: &'a [T], y: usize, room: &'a mut Vec<T>) -> &'a [T] {
        let row = &x[y * self.stride..];
        if self.step == 1 {
            return &row[..self.width];
        }
        room.clear();
        room.extend(row.iter().step_by(self.step).take(self.width));
        room
    }
}

/// The bands of a plane, in the order `aa`, `da`, `ad`, `dd`: the first letter is the axis of columns.
///
/// `[down, across]` are the banks along columns and along rows.
pub fn split<T: Real>([down, across]: [&Bank<T>; 2], x: &[T], grid: Grid, bands: [&mut [T]; 4]) {
    let Grid { width, height, .. } = grid;
    let (w, h) = (across.coefficients(width), down.coefficients(height));
    let line = Line::new(across, width);
    let weights = down.analysis();
    let taps = down.taps();
    let each = rows_each(h, 4 * w);
    let work = |(piece, (aa, da, ad, dd)): (usize, Four<'_, T>)| {
        let mut room = line.halves(w);
        let (mut blend, mut gathered) = (Vec::new(), Vec::new());
        // The last rows, transformed along themselves: low coefficients, then high ones.
        let mut ring = vec![vec![T::default(); 2 * w]; taps];
        let slot = |i: i64| i.rem_euclid(taps as i64) as usize;
        let first = 2 * (piece * each) as i64 + down.shift() - taps as i64 + 1;
        let mut next = first;
        let lines = aa.chunks_mut(w).zip(da.chunks_mut(w));
        let lines = lines.zip(ad.chunks_mut(w).zip(dd.chunks_mut(w)));
        for (o, ((aa, da), (ad, dd))) in lines.enumerate() {
            let last = first + taps as i64 - 1 + 2 * o as i64;
            while next <= last {
                let (low, high) = ring[slot(next)].split_at_mut(w);
                if (0..height as i64).contains(&next) {
                    let row = grid.row(x, next as usize, &mut gathered);
                    line.split(row, 0, &mut room, [low, high]);
                } else {
                    blend.clear();
                    blend.resize(width, T::default());
                    for (k, weight) in down.sample(next, height) {
                        for (to, from) in blend.iter_mut().zip(grid.row(x, k, &mut gathered)) {
                            *to += *from * weight;
                        }
                    }
                    line.split(&blend, 0, &mut room, [low, high]);
                }
                next += 1;
            }
            let rows = |at: usize| -> Vec<&[T]> {
                let order = (0..taps as i64).map(|j| slot(last - j));
                order.map(|s| &ring[s][at..at + w]).collect()
            };
            sums(&rows(0), &weights, [aa, da]);
            sums(&rows(w), &weights, [ad, dd]);
        }
    };
    if each >= h {
        let [aa, da, ad, dd] = bands;
        return work((0, (aa, da, ad, dd)));
    }
    let [aa, da, ad, dd] = bands.map(|band| band.par_chunks_mut(each * w));
    (aa, da, ad, dd).into_par_iter().enumerate().for_each(work);
}

/// Rows of the four bands.
type Four<'a, T> = (&'a mut [T], &'a mut [T], &'a mut [T], &'a mut [T]);

/// A plane from its bands, which have `width × height` coefficients each; one that is not there is zero. The plane may be
/// smaller than what the coefficients give; other values of `out` stay as they are.
pub fn join<T: Real>(
    [down, across]: [&Bank<T>; 2],
    [aa, da, ad, dd]: [Option<&[T]>; 4],
    (width, height): (usize, usize),
    out: &mut [T],
    grid: Grid,
) {
    let (w, h) = (grid.width, grid.height);
    if w == 0 || h == 0 {
        return;
    }
    let back = Back::new(across, w);
    let lines = Down::new(down, height);
    let each = rows_each(h, w);
    let work = |(piece, out): (usize, &mut [T])| {
        let from = piece * each;
        let rows = each.min(h - from);
        let mut room = back.room(w);
        let mut apart = vec![T::default(); if grid.step == 1 { 0 } else { w }];
        let line = || vec![T::default(); width];
        let mut made = [[line(), line()], [line(), line()]];
        let there = [aa.or(da).is_some(), ad.or(dd).is_some()];
        for m in lines.pairs(from, from + rows) {
            let [low, high] = &mut made;
            for (bands, [a, b]) in [([aa, da], low), ([ad, dd], high)] {
                if bands.iter().any(Option::is_some) {
                    lines.pair(bands, width, m, [a, b]);
                }
            }
            for i in 0..2 {
                let at = lines.first(m) + i as i64 - from as i64;
                if (0..rows as i64).contains(&at) {
                    let band = |b: usize| there[b].then_some(&made[b][i][..]);
                    let out = &mut out[at as usize * grid.stride..];
                    if grid.step == 1 {
                        back.join([band(0), band(1)], 0, &mut room, &mut out[..w]);
                        continue;
                    }
                    back.join([band(0), band(1)], 0, &mut room, &mut apart);
                    for (to, from) in out.iter_mut().step_by(grid.step).zip(&apart) {
                        *to = *from;
                    }
                }
            }
        }
    };
    if each >= h {
        return work((0, out));
    }
    let pieces = out.par_chunks_mut(each * grid.stride);
    pieces.enumerate().for_each(work);
}
