//! The complete filter on the CPU: variance per pixel, patch-wise and symmetric weights, features, risk.
//!
//! Works on blocks. For each pair of opposite offsets, rows pass through two ring buffers: distances summed along the row, and
//! weights summed along the row. The terms of a pixel's sums and their order do not depend on blocks, bands or SIMD lanes.

mod features;

use super::pair::{ALL, Channel, Offset, Partner, add_change, add_distance, partners, step};
use super::rows::{add, add_product, along, combine, count, down, overlap};
use super::{Nlm, Noise};
use fearless_simd::Simd;
use limpid_core::simd::dispatch;
use limpid_plan::fast_exp::fast_exp;
use limpid_plan::{Job, View};
use std::ops::Range;

/// Pixels in a row of a block.
const WIDTH: usize = 128;
/// Rows of a block.
const HEIGHT: usize = 64;
/// Pixels of a block.
const BLOCK: usize = WIDTH * HEIGHT;

/// Number of accumulated planes: weights, payload, perturbed weights and colours, squares.
fn planes(nlm: &Nlm) -> [usize; 5] {
    let risk = usize::from(nlm.risk);
    [
        1,
        nlm.payload.unwrap_or(nlm.channels),
        risk,
        risk * nlm.channels,
        usize::from(nlm.residual) * nlm.channels,
    ]
}

/// Rows besides the rings: counts, weights, perturbed weights, distances, feature distances and weights (3 each), one for
/// distances before they are summed, one for a uniform variance.
const LINES: usize = 3 * 6 + 2;

fn length(nlm: &Nlm) -> usize {
    WIDTH + 2 * (nlm.margin().max(nlm.patch))
}

pub(super) fn scratch(nlm: &Nlm) -> usize {
    let sums = planes(nlm).iter().sum::<usize>() * BLOCK;
    sums + (9 * (2 * nlm.patch + 1) + LINES) * length(nlm)
}

pub(super) fn run(job: &mut Job<'_>, nlm: &Nlm) {
    let level = job.level;
    dispatch!(level, simd => blocks(simd, job, nlm));
}

#[inline(always)]
fn blocks<S: Simd>(_simd: S, job: &mut Job<'_>, nlm: &Nlm) {
    let width = job.writes[0].size().width;
    for y in job.rows.clone().step_by(HEIGHT) {
        for x in (0..width).step_by(WIDTH) {
            let columns = x..(x + WIDTH).min(width);
            let rows = y..(y + HEIGHT).min(job.rows.end);
            block(job, nlm, columns, rows);
        }
    }
}

fn take<'a>(rest: &mut &'a mut [f32], n: usize) -> &'a mut [f32] {
    let (head, tail) = std::mem::take(rest).split_at_mut(n);
    *rest = tail;
    head
}

#[inline(always)]
fn block(job: &mut Job<'_>, nlm: &Nlm, columns: Range<usize>, rows: Range<usize>) {
    let mut rest = &mut job.scratch[..];
    let n = length(nlm);
    let ring = (2 * nlm.patch + 1) * n;
    let uniform = take(&mut rest, n);
    if let Noise::Uniform(variance) = nlm.noise {
        uniform.fill(variance);
    }
    let uniform = &*uniform;
    let mut three = |n: usize| -> [&mut [f32]; 3] { std::array::from_fn(|_| take(&mut rest, n)) };
    let mut work = BlockState {
        nlm,
        reads: &job.reads,
        columns,
        rows,
        distances: three(ring),
        weights: three(ring),
        centers: three(ring),
        counts: three(n),
        w: three(n),
        moved: three(n),
        d: three(n),
        feature_d: three(n),
        feature_w: three(n),
        line: take(&mut rest, n),
        uniform,
        sums: planes(nlm).map(|planes| take(&mut rest, planes * BLOCK)),
    };
    work.center();
    let r = nlm.radius as i64;
    let size = job.writes[0].size();
    for dy in 0..=r {
        for dx in -r..=r {
            if dy > 0 || dx > 0 {
                work.offset(Offset {
                    dx,
                    dy,
                    width: size.width,
                    height: size.height,
                });
            }
        }
    }
    let BlockState {
        columns,
        rows,
        sums,
        line,
        uniform,
        ..
    } = work;
    let reads = &job.reads;
    let n = columns.len();
    for y in rows.clone() {
        let at = (y - rows.start) * WIDTH;
        let weights = &sums[0][at..at + n];
        for (c, out) in job.writes[0].rows(y).enumerate() {
            let sum = &sums[1][c * BLOCK + at..][..n];
            for ((o, s), w) in out[columns.clone()].iter_mut().zip(sum).zip(weights) {
                *o = s / w;
            }
        }
        if nlm.risk {
            let [risk, slope] = job.writes[1].rows_n::<2>(y);
            let (risk, slope) = (&mut risk[columns.clone()], &mut slope[columns.clone()]);
            risk.fill(0.0);
            slope.fill(0.0);
            let moved_weights = &sums[2][at..at + n];
            for c in 0..nlm.channels {
                let u = &reads[0].row(c, y)[columns.clone()];
                let variance = match nlm.places().0 {
                    Some(v) => &reads[v].row(c, y)[columns.clone()],
                    None => &uniform[..n],
                };
                let (sum, moved) = (&sums[1][c * BLOCK + at..], &sums[3][c * BLOCK + at..]);
                for x in 0..n {
                    let f = sum[x] / weights[x];
                    let d = (moved[x] / moved_weights[x] - f) / step(u[x]);
                    let off = f - u[x];
                    risk[x] += off * off - variance[x] + 2.0 * variance[x] * d;
                    slope[x] += d / nlm.channels as f32;
                }
            }
        }
        if nlm.residual {
            let last = job.writes.len() - 1;
            let line = &mut line[..n];
            for ((s, w), l) in weights.iter().map(|w| 1.0 / w).zip(weights).zip(&mut *line) {
                *l = s / w;
            }
            for (c, out) in job.writes[last].rows(y).enumerate() {
                let sum = &sums[4][c * BLOCK + at..][..n];
                for ((o, s), l) in out[columns.clone()].iter_mut().zip(sum).zip(&*line) {
                    *o = s * l;
                }
            }
        }
    }
}

/// The working state of a block. Arrays of three belong to `p + o`, `p - o` and their mean.
struct BlockState<'a, 'b> {
    nlm: &'a Nlm,
    reads: &'a [View<'b>],
    columns: Range<usize>,
    rows: Range<usize>,
    /// Rings: distances and weights summed along the row, distances of whole patches.
    distances: [&'a mut [f32]; 3],
    weights: [&'a mut [f32]; 3],
    centers: [&'a mut [f32]; 3],
    /// One over the number of patch columns that have partners; 0 if the pixel has none.
    counts: [&'a mut [f32]; 3],
    w: [&'a mut [f32]; 3],
    moved: [&'a mut [f32]; 3],
    d: [&'a mut [f32]; 3],
    feature_d: [&'a mut [f32]; 3],
    feature_w: [&'a mut [f32]; 3],
    line: &'a mut [f32],
    uniform: &'a [f32],
    sums: [&'a mut [f32]; 5],
}

impl BlockState<'_, '_> {
    /// Number of comparisons.
    fn kinds(&self) -> usize {
        2 + usize::from(self.nlm.symmetric)
    }

    /// How far beyond the block weights are needed.
    fn outer(&self) -> usize {
        if self.nlm.patchwise {
            self.nlm.patch
        } else {
            0
        }
    }

    /// The centre has weight 1, perturbed or not.
    #[inline(always)]
    fn center(&mut self) {
        let n = self.columns.len();
        let (variance, payload, _) = self.nlm.places();
        for y in self.rows.clone() {
            let at = (y - self.rows.start) * WIDTH;
            self.sums[0][at..at + n].fill(1.0);
            for c in 0..self.reads[payload].planes() {
                let row = &self.reads[payload].row(c, y)[self.columns.clone()];
                self.sums[1][c * BLOCK + at..][..n].copy_from_slice(row);
            }
            if self.nlm.risk {
                self.sums[2][at..at + n].fill(1.0);
                for c in 0..self.nlm.channels {
                    let row = &self.reads[0].row(c, y)[self.columns.clone()];
                    for (s, u) in self.sums[3][c * BLOCK + at..].iter_mut().zip(row) {
                        *s = u + step(*u);
                    }
                }
            }
            if let (true, Some(v)) = (self.nlm.residual, variance) {
                for c in 0..self.nlm.channels {
                    let row = &self.reads[v].row(c, y)[self.columns.clone()];
                    self.sums[4][c * BLOCK + at..][..n].copy_from_slice(row);
                }
            }
        }
    }

    #[inline(always)]
    fn offset(&mut self, o: Offset) {
        let (f, outer) = (self.nlm.patch as i64, self.outer() as i64);
        self.count(o);
        let mut summed = self.rows.start as i64 - outer - f;
        let mut weighed = self.rows.start as i64 - outer;
        for y in self.rows.clone() {
            if self.nlm.color.is_some() {
                while weighed <= y as i64 + outer {
                    while summed <= weighed + f {
                        self.sum_distances(summed, o);
                        summed += 1;
                    }
                    self.weigh(weighed, o);
                    weighed += 1;
                }
            }
            self.color_weights(y, o);
            self.feature_weights(y, o);
            self.gather(y, o);
        }
    }

    fn count(&mut self, o: Offset) {
        let (f, outer) = (self.nlm.patch, self.outer());
        let n = self.columns.len() + 2 * outer;
        for (to, counts) in ALL.into_iter().zip(&mut self.counts) {
            let valid = o.columns(to);
            for (i, c) in counts[..n].iter_mut().enumerate() {
                let x = (self.columns.start + i) as i64 - outer as i64;
                let number = count(x, f, &valid);
                *c = if number == 0 {
                    0.0
                } else {
                    1.0 / number as f32
                };
            }
        }
    }

    /// Computes a row of pixel distances, summed along the row, into the first ring.
    #[inline(always)]
    fn sum_distances(&mut self, y: i64, o: Offset) {
        let (f, outer) = (self.nlm.patch, self.outer());
        let n = self.columns.len() + 2 * outer;
        let slot = y.rem_euclid(2 * f as i64 + 1) as usize * length(self.nlm);
        for k in 0..self.kinds() {
            let inside = y >= 0 && o.rows(ALL[k]).contains(&(y as usize));
            if inside {
                // The row starts `outer + f` pixels before the block.
                let before = outer + f;
                self.line[..n + 2 * f].fill(0.0);
                self.channel_distances(y as usize, ALL[k], o, before);
            }
            let sums = &mut self.distances[k][slot..slot + n];
            if inside {
                along(&self.line[..n + 2 * f], f, sums);
            } else {
                sums.fill(0.0);
            }
        }
    }

    /// Accumulates the distances of all channels into the line that starts `before` pixels before the block.
    #[inline(always)]
    fn channel_distances(&mut self, y: usize, to: Partner, o: Offset, before: usize) {
        let Some(k) = self.nlm.color else { return };
        let start = self.columns.start as i64 - before as i64;
        let valid = o.columns(to);
        let from = start.max(valid.start as i64) as usize;
        let until = (self.columns.end + before).min(valid.end);
        if from >= until {
            return;
        }
        let out = (from as i64 - start) as usize;
        for c in 0..self.nlm.channels {
            let p = color(self.reads, self.nlm, self.uniform, c, (from, y));
            let line = &mut self.line[out..out + until - from];
            let (q, number) = partners(to, o, (from, y), |at| {
                color(self.reads, self.nlm, self.uniform, c, at)
            });
            let scale = (k * k, self.nlm.apart(o.dx, o.dy));
            add_distance(line, p, &q[..number], scale, 0.0);
        }
    }

    /// Computes patch distances and their weights; weights summed along the row, into the second ring.
    #[inline(always)]
    fn weigh(&mut self, y: i64, o: Offset) {
        let (f, outer, length) = (self.nlm.patch, self.outer(), length(self.nlm));
        let (inner, n) = (self.columns.len(), self.columns.len() + 2 * outer);
        let slot = y.rem_euclid(2 * f as i64 + 1) as usize * length;
        for k in 0..self.kinds() {
            let rows = o.rows(ALL[k]);
            let out = &mut self.weights[k][slot..slot + inner];
            if y < 0 || !rows.contains(&(y as usize)) {
                out.fill(0.0);
                continue;
            }
            let scale = 1.0 / (count(y, f, &rows) * self.nlm.channels) as f32;
            let line = &mut self.line[..n];
            down(self.distances[k], length, f, y, line);
            for (l, c) in line.iter_mut().zip(&self.counts[k][..n]) {
                *l *= c * scale;
            }
            self.centers[k][slot..slot + inner].copy_from_slice(&line[outer..outer + inner]);
            let valid = o.columns(ALL[k]);
            let start = self.columns.start as i64 - outer as i64;
            for l in &mut *line {
                *l = fast_exp(-l.max(0.0));
            }
            // Pixels without a partner have no weight.
            let low = (valid.start as i64 - start).clamp(0, n as i64) as usize;
            let high = (valid.end as i64 - start).clamp(low as i64, n as i64) as usize;
            line[..low].fill(0.0);
            line[high..].fill(0.0);
            along(line, outer, out);
        }
    }

    /// Weights of the row from colour alone, and those of the perturbed centre.
    #[inline(always)]
    fn color_weights(&mut self, y: usize, o: Offset) {
        let (n, f, outer) = (self.columns.len(), self.nlm.patch, self.outer());
        let length = length(self.nlm);
        if self.nlm.color.is_none() {
            for k in 0..self.kinds() {
                self.w[k][..n].fill(1.0);
                self.moved[k][..n].fill(1.0);
            }
            return;
        }
        let slot = y % (2 * f + 1) * length;
        for k in 0..self.kinds() {
            let w = &mut self.w[k][..n];
            if outer == 0 {
                w.copy_from_slice(&self.weights[k][slot..slot + n]);
            } else {
                down(self.weights[k], length, f, y as i64, w);
                let number = count(y as i64, f, &o.rows(ALL[k])).max(1);
                let scale = 1.0 / number as f32;
                for (w, c) in w.iter_mut().zip(&self.counts[k][outer..outer + n]) {
                    *w *= c * scale;
                }
            }
            self.d[k][..n].copy_from_slice(&self.centers[k][slot..slot + n]);
            if self.nlm.risk {
                self.move_center(k, y, o);
            }
        }
        if self.nlm.symmetric && o.rows(Partner::Mean).contains(&y) {
            let range = overlap(&self.columns, &o.columns(Partner::Mean));
            combine(&mut self.w, &self.d, range.clone());
            if self.nlm.risk {
                combine(&mut self.moved, &self.d, range);
            }
        }
    }

    /// The weights when the centre is perturbed by its step.
    #[inline(always)]
    fn move_center(&mut self, k: usize, y: usize, o: Offset) {
        let (n, f, outer) = (self.columns.len(), self.nlm.patch, self.outer());
        self.moved[k][..n].copy_from_slice(&self.w[k][..n]);
        let (Some(kc), true) = (self.nlm.color, o.rows(ALL[k]).contains(&y)) else {
            return;
        };
        let range = overlap(&self.columns, &o.columns(ALL[k]));
        if range.is_empty() {
            return;
        }
        let from = self.columns.start + range.start;
        self.line[..n].fill(0.0);
        for c in 0..self.nlm.channels {
            let p = color(self.reads, self.nlm, self.uniform, c, (from, y));
            let line = &mut self.line[range.clone()];
            let (q, number) = partners(ALL[k], o, (from, y), |at| {
                color(self.reads, self.nlm, self.uniform, c, at)
            });
            add_change(line, p, &q[..number], kc * kc);
        }
        let scale = 1.0 / (count(y as i64, f, &o.rows(ALL[k])) * self.nlm.channels) as f32;
        let counts = &self.counts[k][outer..outer + n];
        let (d, moved) = (&self.d[k][..n], &mut self.moved[k][..n]);
        for x in range {
            let change = self.line[x] * (counts[x] * scale);
            let exponent = d[x].max(0.0) - (d[x] + change).max(0.0);
            moved[x] = (moved[x] * fast_exp(exponent.min(40.0))).min(1.0);
        }
    }

    /// Accumulates the weighted partners into the sums of the row.
    #[inline(always)]
    fn gather(&mut self, y: usize, o: Offset) {
        let at = (y - self.rows.start) * WIDTH;
        let (variance, payload, _) = self.nlm.places();
        for k in 0..2 {
            let range = overlap(&self.columns, &o.columns(ALL[k]));
            if range.is_empty() || !o.rows(ALL[k]).contains(&y) {
                continue;
            }
            let sign = if k == 0 { 1 } else { -1 };
            let row = (y as i64 + sign * o.dy) as usize;
            let from = ((self.columns.start + range.start) as i64 + sign * o.dx) as usize;
            let n = range.len();
            let to = at + range.start..at + range.end;
            let w = &self.w[k][range.clone()];
            add(&mut self.sums[0][to.clone()], w);
            for c in 0..self.reads[payload].planes() {
                let q = &self.reads[payload].row(c, row)[from..from + n];
                add_product(&mut self.sums[1][c * BLOCK + to.start..][..n], w, q);
            }
            if self.nlm.risk {
                let moved = &self.moved[k][range.clone()];
                add(&mut self.sums[2][to.clone()], moved);
                for c in 0..self.nlm.channels {
                    let q = &self.reads[0].row(c, row)[from..from + n];
                    add_product(&mut self.sums[3][c * BLOCK + to.start..][..n], moved, q);
                }
            }
            if let (true, Some(v)) = (self.nlm.residual, variance) {
                for c in 0..self.nlm.channels {
                    let q = &self.reads[v].row(c, row)[from..from + n];
                    let sums = &mut self.sums[4][c * BLOCK + to.start..][..n];
                    for ((s, w), q) in sums.iter_mut().zip(w).zip(q) {
                        *s += w * w * q;
                    }
                }
            }
        }
    }
}

/// A channel of the guide starting at a pixel.
#[inline(always)]
fn color<'a>(
    reads: &'a [View<'_>],
    nlm: &Nlm,
    uniform: &'a [f32],
    c: usize,
    (x, y): (usize, usize),
) -> Channel<'a> {
    let variance = match nlm.places().0 {
        Some(v) => &reads[v].row(c, y)[x..],
        None => uniform,
    };
    Channel {
        value: &reads[0].row(c, y)[x..],
        variance,
        spread: variance,
    }
}
