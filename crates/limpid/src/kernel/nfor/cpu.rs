//! The fit on the CPU, block by block.
//!
//! First the weights of all taps for all pixels of a block, then for sixteen pixels at a time the sums over all taps, with
//! sums in registers, and the solution. What a pixel sums, and in which order, does not depend on blocks or bands.

use super::Fit;
use super::moments::{self, Region, Tap};
use super::solve::solve;
use crate::definition::nfor::{LEAST, TINY};
use crate::kernel::fast_exp::fast_exp;
use crate::kernel::sweep::LANES;
use crate::kernel::{Job, View};
use fearless_simd::{Simd, dispatch};
use std::ops::Range;

/// Pixels in a row of a block.
const WIDTH: usize = 64;
/// Rows of a block.
const HEIGHT: usize = 8;
/// Pieces of sixteen pixels in a block.
const PIECES: usize = WIDTH / LANES * HEIGHT;

pub(super) fn scratch(fit: &Fit) -> usize {
    let region = Region::new(fit, WIDTH, HEIGHT);
    let weights = PIECES * fit.taps() * fit.k.len() * LANES;
    let numbers = PIECES * fit.taps() * fit.k.len();
    weights
        + numbers
        + PIECES * fit.k.len()
        + (region.planes + 1) * region.size()
        + LINES * line(fit)
        + rows(fit) * WIDTH
}

/// Rows of distances that are summed for a block.
fn rows(fit: &Fit) -> usize {
    HEIGHT + 2 * fit.settings.patch
}

/// Values of a row of a block with the patches around it.
fn line(fit: &Fit) -> usize {
    WIDTH + 2 * fit.settings.patch
}

/// Rows beside: distances, distances of features, counts, weights.
const LINES: usize = 4;

pub(super) fn run(job: &mut Job<'_>, fit: &Fit) {
    let level = job.level;
    dispatch!(level, simd => blocks(simd, job, fit));
}

#[inline(always)]
fn blocks<S: Simd>(simd: S, job: &mut Job<'_>, fit: &Fit) {
    let width = job.writes[0].size().width;
    let taps = moments::taps(fit, &Region::new(fit, WIDTH, HEIGHT));
    // Blocks begin at multiples of their height, so that bands do not matter.
    let mut y = job.rows.start;
    while y < job.rows.end {
        let end = ((y / HEIGHT + 1) * HEIGHT).min(job.rows.end);
        for x in (0..width).step_by(WIDTH) {
            block(simd, job, (fit, &taps), x..(x + WIDTH).min(width), y..end);
        }
        y = end;
    }
}

fn take<'a>(rest: &mut &'a mut [f32], n: usize) -> &'a mut [f32] {
    let (head, tail) = std::mem::take(rest).split_at_mut(n);
    *rest = tail;
    head
}

#[inline(always)]
fn block<S: Simd>(
    simd: S,
    job: &mut Job<'_>,
    (fit, taps): (&Fit, &[Tap]),
    columns: Range<usize>,
    rows: Range<usize>,
) {
    let region = Region::new(fit, WIDTH, HEIGHT);
    let mut rest = &mut job.scratch[..];
    let weights = take(&mut rest, PIECES * taps.len() * fit.k.len() * LANES);
    let numbers = take(&mut rest, PIECES * taps.len() * fit.k.len());
    let numbers: &mut [u32] = bytemuck::cast_slice_mut(numbers);
    let counts: &mut [u32] = bytemuck::cast_slice_mut(take(&mut rest, PIECES * fit.k.len()));
    counts.fill(0);
    let values = take(&mut rest, region.planes * region.size());
    let class = take(&mut rest, region.size());
    let n = line(fit);
    let lines: [&mut [f32]; LINES] = std::array::from_fn(|_| take(&mut rest, n));
    let sums = take(&mut rest, self::rows(fit) * WIDTH);
    let (x, y) = (columns.start, rows.start);
    region.fill(values, &job.reads, fit, (x, y), (columns.len(), rows.len()));
    region.copy(class, &job.reads[2], 0, ((x, y), rows.len()), 0.0);
    let mut work = Work {
        fit,
        reads: &job.reads,
        region,
        values,
        class,
        columns: columns.clone(),
        rows: rows.clone(),
        weights,
        numbers,
        counts,
        taps: taps.len(),
        lines,
        sums,
    };
    for (number, tap) in taps.iter().enumerate() {
        work.tap(number, tap.dx, tap.dy);
    }
    let Work {
        values,
        weights,
        numbers,
        counts,
        ..
    } = work;
    let (values, weights, numbers) = (&*values, &*weights, &*numbers);
    for row in 0..rows.len() {
        for from in (0..columns.len()).step_by(LANES) {
            let piece = row * (WIDTH / LANES) + from / LANES;
            for k in 0..fit.k.len() {
                let list = piece * fit.k.len() + k;
                let (first, count) = (list * taps.len(), counts[list] as usize);
                let weights = &weights[first * LANES..][..count * LANES];
                let numbers = &numbers[first..][..count];
                let taps = (taps, weights, numbers);
                let sums = moments::sums(simd, fit, &region, values, taps, (from, row));
                let made = solve(simd, fit, &region, values, &sums, (from, row));
                let wide = LANES.min(columns.len() - from);
                for (d, made) in made[..fit.data].iter().enumerate() {
                    let out = job.writes[0].row(k * fit.data + d, y + row);
                    out[x + from..][..wide].copy_from_slice(&made.as_slice()[..wide]);
                }
            }
        }
    }
}

/// A block at work on its weights.
struct Work<'a, 'b> {
    fit: &'a Fit,
    reads: &'a [View<'b>],
    region: Region,
    values: &'a mut [f32],
    class: &'a mut [f32],
    columns: Range<usize>,
    rows: Range<usize>,
    /// Of each piece and candidate the weights that are not all zero, the numbers of their taps, and how many there are.
    weights: &'a mut [f32],
    numbers: &'a mut [u32],
    counts: &'a mut [u32],
    taps: usize,
    lines: [&'a mut [f32]; LINES],
    /// Distances summed along rows.
    sums: &'a mut [f32],
}

impl Work<'_, '_> {
    /// The weights of all pixels for one tap.
    #[inline(always)]
    fn tap(&mut self, tap: usize, dx: i64, dy: i64) {
        let fit = self.fit;
        let (f, n) = (fit.settings.patch, self.columns.len());
        let size = self.reads[0].size();
        // Pixels whose partners lie inside.
        let valid = |length: usize, d: i64| {
            (-d).max(0) as usize..((length as i64 - d.max(0)).max(0) as usize)
        };
        let (across, down) = (valid(size.width, dx), valid(size.height, dy));
        let [distance, apart, counts, line] = &mut self.lines;
        for (i, c) in counts[..n].iter_mut().enumerate() {
            let x = self.columns.start + i;
            let number =
                (x + f + 1).min(across.end) as i64 - x.saturating_sub(f).max(across.start) as i64;
            *c = if across.contains(&x) {
                1.0 / number as f32
            } else {
                0.0
            };
        }
        let first = self.rows.start as i64 - f as i64;
        for (k, sums) in self.sums.chunks_exact_mut(WIDTH).enumerate() {
            let y = first + k as i64;
            if y < 0 || !down.contains(&(y as usize)) || k >= self.rows.len() + 2 * f {
                sums.fill(0.0);
                continue;
            }
            let distance = &mut distance[..n + 2 * f];
            distance.fill(0.0);
            let start = self.columns.start as i64 - f as i64;
            let from = start.max(across.start as i64) as usize;
            let until = (self.columns.end + f).min(across.end);
            if from < until {
                let part = &mut distance[(from as i64 - start) as usize..][..until - from];
                let other = ((from as i64 + dx) as usize, (y + dy) as usize);
                for c in 0..fit.channels {
                    let row = |read: usize, (x, y): (usize, usize)| {
                        &self.reads[read].row(c, y)[x..x + until - from]
                    };
                    let here = (from, y as usize);
                    add_distance(
                        part,
                        [row(0, here), row(0, other)],
                        [row(1, here), row(1, other)],
                        fit.settings.floor,
                    );
                }
            }
            along(distance, f, &mut sums[..n]);
        }
        let width = self.region.width;
        let r = self.region.radius;
        for row in 0..self.rows.len() {
            let y = self.rows.start + row;
            let number =
                (y + f + 1).min(down.end) as i64 - y.saturating_sub(f).max(down.start) as i64;
            let inside = down.contains(&y);
            if inside {
                let scale = 1.0 / (number * fit.channels as i64) as f32;
                let distance = &mut distance[..n];
                distance.copy_from_slice(&self.sums[row * WIDTH..][..n]);
                for k in 1..=2 * f {
                    let sums = &self.sums[(row + k) * WIDTH..][..n];
                    for (d, s) in distance.iter_mut().zip(sums) {
                        *d += s;
                    }
                }
                for (d, c) in distance.iter_mut().zip(&counts[..n]) {
                    *d = (*d * c * scale).max(0.0);
                }
                let here = (row + r) * width + r;
                let there = (here as i64 + dy * width as i64 + dx) as usize;
                let apart = &mut apart[..n];
                apart.fill(0.0);
                for c in 0..fit.sharp {
                    let plane = &self.values[c * self.region.size()..][..self.region.size()];
                    let (p, q) = (&plane[here..here + n], &plane[there..there + n]);
                    for ((a, p), q) in apart.iter_mut().zip(p).zip(q) {
                        *a += (p - q) * (p - q);
                    }
                }
                let square = fit.settings.feature * fit.settings.feature;
                let (p, q) = (&self.class[here..here + n], &self.class[there..there + n]);
                for (((a, p), q), c) in apart.iter_mut().zip(p).zip(q).zip(&counts[..n]) {
                    // Other classes, and partners outside, weigh nothing.
                    *a = if p == q && *c > 0.0 { *a * square } else { 1e9 };
                }
                if let Some(parity) = fit.parity {
                    let odd = (self.columns.start as i64 + dx + y as i64 + dy).rem_euclid(2);
                    let skip = usize::from(odd as usize == parity);
                    for a in apart.iter_mut().skip(skip).step_by(2) {
                        *a = 1e9;
                    }
                }
            }
            if !inside {
                continue;
            }
            for (k, value) in fit.k.iter().enumerate() {
                let line = &mut line[..n];
                let over = 1.0 / (value * value);
                for ((w, d), a) in line.iter_mut().zip(&distance[..n]).zip(&apart[..n]) {
                    let weight = fast_exp(-(*d * over + *a));
                    *w = if weight < LEAST { 0.0 } else { weight };
                }
                for (i, part) in line.chunks(LANES).enumerate() {
                    if part.iter().fold(0, |bits, w| bits | w.to_bits()) == 0 {
                        continue;
                    }
                    let list = (row * (WIDTH / LANES) + i) * fit.k.len() + k;
                    let at = list * self.taps + self.counts[list] as usize;
                    self.counts[list] += 1;
                    self.numbers[at] = tap as u32;
                    let to = &mut self.weights[at * LANES..][..LANES];
                    to[..part.len()].copy_from_slice(part);
                    to[part.len()..].fill(0.0);
                }
            }
        }
    }
}

/// Adds the distances of one channel.
#[inline(always)]
fn add_distance(out: &mut [f32], [a, b]: [&[f32]; 2], [va, vb]: [&[f32]; 2], floor: f32) {
    let n = out.len();
    let (a, b, va, vb) = (&a[..n], &b[..n], &va[..n], &vb[..n]);
    for x in 0..n {
        let (u, v) = (va[x] + floor, vb[x] + floor);
        let off = a[x] - b[x];
        out[x] += (off * off - (u + u.min(v))) / (TINY + (u + v));
    }
}

/// `out[x] = Σ src[x … x + 2f]`.
#[inline(always)]
fn along(src: &[f32], f: usize, out: &mut [f32]) {
    let n = out.len();
    out.copy_from_slice(&src[..n]);
    for i in 1..=2 * f {
        for (o, s) in out.iter_mut().zip(&src[i..i + n]) {
            *o += s;
        }
    }
}
