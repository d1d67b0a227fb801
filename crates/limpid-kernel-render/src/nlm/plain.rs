//! Plain non-local means on the CPU: uniform variance, so that `w(p, q) = w(q, p)`.
//!
//! The image is divided into blocks whose sums stay in the cache. For each of half the offsets, rows of squared differences
//! pass through a ring buffer; four rows at a time are summed over patches (ten loads instead of 28), then along the row, and
//! each weight is used twice: for `p` and for `q`. The terms of a pixel's sums and their order depend neither on blocks nor on
//! SIMD lanes: groups of four rows start at multiples of four, and a row of weights is finished before it is used.

use super::rows::add;
use fearless_simd::{Simd, SimdBase, f32x16};
use limpid_core::simd::dispatch;
use limpid_plan::fast_exp::{fast_exp, fast_exp_x16};
use limpid_plan::sweep::{LANES, Piece, sweep, window};
use limpid_plan::{Job, View};
use std::ops::Range;

/// Pixels in a row of a block.
const WIDTH: usize = 256;
/// Rows of a block.
const HEIGHT: usize = 64;
/// Pixels of a block.
const BLOCK: usize = WIDTH * HEIGHT;
/// Rows summed at a time.
pub(super) const GROUP: usize = 4;

/// Parameters of the weights.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weights<'a> {
    /// Radius of the window.
    pub(super) radius: usize,
    /// Radius of patches.
    pub(super) patch: usize,
    /// The exponent is `least(0, bias - scale * mean distance)`.
    pub(super) bias: f32,
    /// See `bias`.
    pub(super) scale: f32,
    /// Factor of the bias for each offset; see [`super::Nlm::apart`].
    pub(super) apart: &'a [f32],
}

impl Weights<'_> {
    /// Length of a row of distances.
    fn row(&self) -> usize {
        (WIDTH + self.radius).next_multiple_of(LANES) + 2 * self.patch
    }
}

/// Sums and weights of a block; the ring; four summed rows; a row of weights and one of counts.
pub(super) fn scratch(weights: Weights<'_>, channels: usize) -> usize {
    (channels + 1) * BLOCK + (2 * weights.patch + 2 * GROUP + 2) * weights.row()
}

pub(super) fn run(job: &mut Job<'_>, weights: Weights<'_>) {
    let level = job.level;
    match job.reads[0].planes() {
        1 => dispatch!(level, simd => blocks::<_, 1>(simd, job, weights)),
        _ => dispatch!(level, simd => blocks::<_, 3>(simd, job, weights)),
    }
}

#[inline(always)]
fn blocks<S: Simd, const C: usize>(simd: S, job: &mut Job<'_>, weights: Weights<'_>) {
    let width = job.reads[0].size().width;
    for y in job.rows.clone().step_by(HEIGHT) {
        for x in (0..width).step_by(WIDTH) {
            let columns = x..(x + WIDTH).min(width);
            let rows = y..(y + HEIGHT).min(job.rows.end);
            block::<S, C>(simd, job, weights, (columns, rows));
        }
    }
}

#[inline(always)]
fn block<S: Simd, const C: usize>(
    simd: S,
    job: &mut Job<'_>,
    weights: Weights<'_>,
    (columns, rows): (Range<usize>, Range<usize>),
) {
    let src = &job.reads[0];
    let (sums, rest) = job.scratch.split_at_mut((C + 1) * BLOCK);
    let (ring, rest) = rest.split_at_mut((2 * weights.patch + GROUP) * weights.row());
    let (group, rest) = rest.split_at_mut(GROUP * weights.row());
    let (line, rest) = rest.split_at_mut(weights.row());
    let mut work = BlockState::<S, C> {
        simd,
        src,
        weights,
        columns: columns.clone(),
        rows: rows.clone(),
        sums,
        ring,
        group,
        line,
        counts: &mut rest[..weights.row()],
    };
    work.center();
    let r = weights.radius as i64;
    for dy in 0..=r {
        for dx in -r..=r {
            if dy > 0 || dx > 0 {
                work.offset(dx, dy as usize);
            }
        }
    }
    let n = columns.len();
    for y in rows.clone() {
        let at = (y - rows.start) * WIDTH;
        for c in 0..C {
            let out = &mut job.writes[0].row(c, y)[columns.clone()];
            let sum = &sums[c * BLOCK + at..][..n];
            for ((o, s), w) in out.iter_mut().zip(sum).zip(&sums[C * BLOCK + at..][..n]) {
                *o = s / w;
            }
        }
    }
}

/// The working state of a block.
struct BlockState<'a, 'b, S, const C: usize> {
    simd: S,
    src: &'a View<'b>,
    weights: Weights<'a>,
    columns: Range<usize>,
    rows: Range<usize>,
    /// Weighted sums of each channel, then the weights.
    sums: &'a mut [f32],
    ring: &'a mut [f32],
    group: &'a mut [f32],
    line: &'a mut [f32],
    counts: &'a mut [f32],
}

impl<S: Simd, const C: usize> BlockState<'_, '_, S, C> {
    /// The centre has weight 1.
    #[inline(always)]
    fn center(&mut self) {
        let n = self.columns.len();
        for y in self.rows.clone() {
            let at = (y - self.rows.start) * WIDTH;
            for c in 0..C {
                let row = &self.src.row(c, y)[self.columns.clone()];
                self.sums[c * BLOCK + at..][..n].copy_from_slice(row);
            }
            self.sums[C * BLOCK + at..][..n].fill(1.0);
        }
    }

    /// Processes all pairs `p`, `p + (dx, dy)` with at least one pixel in the block.
    #[inline(always)]
    fn offset(&mut self, dx: i64, dy: usize) {
        let (width, height) = (self.src.size().width, self.src.size().height);
        // Pixels p whose partner is inside, restricted to those that the block needs.
        let valid = (-dx).max(0) as usize..(width as i64 - dx.max(0)).max(0) as usize;
        let left = self.columns.start as i64 - dx.max(0);
        let right = self.columns.end as i64 + (-dx).max(0);
        let from = valid.start.max(left.max(0) as usize);
        let to = valid.end.min(right as usize);
        let rows = self.rows.start.saturating_sub(dy)..self.rows.end.min(height.saturating_sub(dy));
        if from >= to || rows.is_empty() {
            return;
        }
        let span = from..to;
        let f = self.weights.patch;
        let apart = super::apart(self.weights.apart, self.weights.radius, dx, dy as i64);
        let count = |at: usize, valid: &Range<usize>| {
            (at + f + 1).min(valid.end) - at.saturating_sub(f).max(valid.start)
        };
        for (n, x) in self.counts.iter_mut().zip(span.clone()) {
            *n = 1.0 / count(x, &valid) as f32;
        }
        let mut next = (rows.start / GROUP * GROUP) as i64 - f as i64;
        for first in (rows.start / GROUP * GROUP..rows.end).step_by(GROUP) {
            while next < (first + GROUP + f) as i64 {
                self.distances(next, &span, &valid, (dx, dy));
                next += 1;
            }
            // Whole vectors: values beyond the row's end are summed too, but not used.
            let whole = span.len().next_multiple_of(LANES);
            self.down(first, whole + 2 * f);
            for y in first.max(rows.start)..(first + GROUP).min(rows.end) {
                let scale = self.weights.scale / (C * count(y, &(0..height - dy))) as f32;
                self.along(y - first, whole, (scale, self.weights.bias * apart));
                self.use_twice(y, &span, (dx, dy));
            }
        }
    }

    /// Computes one row of squared differences with its halo, zero where there is no pair, into the ring.
    #[inline(always)]
    fn distances(
        &mut self,
        y: i64,
        span: &Range<usize>,
        valid: &Range<usize>,
        (dx, dy): (i64, usize),
    ) {
        let (f, length) = (self.weights.patch, self.weights.row());
        let slots = (2 * f + GROUP) as i64;
        let row = &mut self.ring[y.rem_euclid(slots) as usize * length..][..span.len() + 2 * f];
        if y < 0 || y as usize + dy >= self.src.size().height {
            row.fill(0.0);
            return;
        }
        let y = y as usize;
        let start = span.start.saturating_sub(f).max(valid.start);
        let end = (span.end + f).min(valid.end);
        let lead = start + f - span.start;
        row[..lead].fill(0.0);
        row[lead + end - start..].fill(0.0);
        let other = (start as i64 + dx) as usize;
        let row = &mut row[lead..lead + end - start];
        let n = row.len();
        let a: [&[f32]; C] = std::array::from_fn(|c| &self.src.row(c, y)[start..start + n]);
        let b: [&[f32]; C] = std::array::from_fn(|c| &self.src.row(c, y + dy)[other..other + n]);
        sweep(
            self.simd,
            (a, b, []),
            [[row]],
            #[inline(always)]
            |(a, b, []): Piece<S, C, C, 0>| {
                let d = a[0] - b[0];
                let mut sum = d * d;
                for c in 1..C {
                    let d = a[c] - b[c];
                    sum += d * d;
                }
                [[sum]]
            },
        );
    }

    /// Sums over the rows of a patch, for the four rows starting at `first`.
    #[inline(always)]
    fn down(&mut self, first: usize, n: usize) {
        let (f, length) = (self.weights.patch, self.weights.row());
        let slots = 2 * f + GROUP;
        let mut out = self.group.chunks_exact_mut(length);
        let [Some(o0), Some(o1), Some(o2), Some(o3)] = std::array::from_fn(|_| out.next()) else {
            return;
        };
        let (o0, o1, o2, o3) = (&mut o0[..n], &mut o1[..n], &mut o2[..n], &mut o3[..n]);
        let ring = &*self.ring;
        // Row `first - f + i` of the ring.
        let row = |i: usize| &ring[(first + slots - f + i) % slots * length..][..n];
        if f < 2 {
            for (k, out) in [o0, o1, o2, o3].into_iter().enumerate() {
                out.copy_from_slice(row(k));
                for i in 1..=2 * f {
                    add(out, row(k + i));
                }
            }
            return;
        }
        if f == 3 {
            let rows: [&[f32]; 10] = std::array::from_fn(row);
            sweep(
                self.simd,
                (rows, [], []),
                [[o0, o1, o2, o3]],
                #[inline(always)]
                |(v, [], []): Piece<S, 10, 0, 0>| [window(&v)],
            );
            return;
        }
        // Rows 3 … 2f are common to all four; three rows before and three after are shared by some.
        let before: [&[f32]; 3] = std::array::from_fn(row);
        let after: [&[f32]; 3] = std::array::from_fn(|i| row(2 * f + 1 + i));
        o3.copy_from_slice(row(3));
        for i in 4..=2 * f {
            add(o3, row(i));
        }
        for x in 0..n {
            let c = o3[x];
            let b1 = before[1][x] + before[2][x];
            let a1 = after[0][x] + after[1][x];
            o0[x] = (before[0][x] + b1) + c;
            o1[x] = (b1 + c) + after[0][x];
            o2[x] = (before[2][x] + c) + a1;
            o3[x] = c + (a1 + after[2][x]);
        }
    }

    /// Sums along the row of a patch, and computes the weights.
    #[inline(always)]
    fn along(&mut self, k: usize, n: usize, (scale, bias): (f32, f32)) {
        let f = self.weights.patch;
        let row = &self.group[k * self.weights.row()..][..n + 2 * f];
        let line = &mut self.line[..n];
        let counts = &self.counts[..n];
        if f == 3 {
            let taps: [&[f32]; 7] = std::array::from_fn(|i| &row[i..i + n]);
            let simd = self.simd;
            sweep(
                simd,
                (taps, [counts], []),
                [[line]],
                #[inline(always)]
                |(t, [count], []): Piece<S, 7, 1, 0>| {
                    let sum = ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + t[6]);
                    let exponent = sum * (count * scale);
                    let zero = f32x16::splat(simd, 0.0);
                    [[fast_exp_x16(simd, (zero + bias - exponent).min(zero))]]
                },
            );
            return;
        }
        line.copy_from_slice(&row[..n]);
        for i in 1..=2 * f {
            add(line, &row[i..i + n]);
        }
        for (l, c) in line.iter_mut().zip(counts) {
            *l = fast_exp((bias - *l * (c * scale)).min(0.0));
        }
    }

    /// Accumulates the partner's value at `p` and the value of `p` at the partner, if they are in the block.
    #[inline(always)]
    fn use_twice(&mut self, y: usize, span: &Range<usize>, (dx, dy): (i64, usize)) {
        if self.rows.contains(&y) {
            let start = span.start.max(self.columns.start);
            let end = span.end.min(self.columns.end);
            let from = (start as i64 + dx) as usize;
            self.take(start..end, start - span.start, (y, start), (y + dy, from));
        }
        if self.rows.contains(&(y + dy)) {
            let start = (self.columns.start as i64 - dx).max(span.start as i64) as usize;
            let end = (self.columns.end as i64 - dx).min(span.end as i64).max(0) as usize;
            let to = (start as i64 + dx) as usize;
            self.take(
                start..end,
                start.saturating_sub(span.start),
                (y + dy, to),
                (y, start),
            );
        }
    }

    /// Adds weighted pixels from `(row, column)` to the sums at `(row, column)`.
    #[inline(always)]
    fn take(
        &mut self,
        range: Range<usize>,
        weight: usize,
        to: (usize, usize),
        from: (usize, usize),
    ) {
        if range.is_empty() {
            return;
        }
        let n = range.len();
        let line = &self.line[weight..weight + n];
        let at = (to.0 - self.rows.start) * WIDTH + to.1 - self.columns.start;
        for c in 0..C {
            let row = &self.src.row(c, from.0)[from.1..from.1 + n];
            let sums = &mut self.sums[c * BLOCK + at..][..n];
            for ((s, w), v) in sums.iter_mut().zip(line).zip(row) {
                *s += w * v;
            }
        }
        let sums = &mut self.sums[C * BLOCK + at..][..n];
        for (s, w) in sums.iter_mut().zip(line) {
            *s += w;
        }
    }
}
