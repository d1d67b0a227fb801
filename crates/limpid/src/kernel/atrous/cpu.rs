//! The CPU body: strips of 64 columns, all taps of a strip at a time.
//!
//! A strip first makes the exponents of all its taps, a few planes at a time, then the weights, then the sums, again a few planes
//! at a time. So the loops do not multiply with the combinations of planes: what weighs costs by the plane, what is
//! filtered too. Sums run over the taps in order.

use super::{Atrous, Local, Mode, Walk};
use crate::definition::atrous::LEAST;
use crate::kernel::fast_exp::fast_exp2_x16;
use crate::kernel::sweep::LANES;
use crate::kernel::{Job, View};
use crate::plan::Phases;
use fearless_simd::prelude::*;
use fearless_simd::{dispatch, f32x16};
use std::ops::Range;

/// Columns of a strip.
const WIDTH: usize = 64;
/// Pieces of sixteen columns in a strip.
const PIECES: usize = WIDTH / LANES;
/// The exponent of what does not count; its power is 0.
const NEVER: f32 = -1e30;

/// One value for each column of a strip.
type Strip = [f32; WIDTH];

/// Words of scratch memory: a row of each plane, and the weights of a strip.
pub(super) fn scratch(planes: usize, taps: usize, width: usize) -> usize {
    planes * width + taps * taps * WIDTH
}

pub(super) fn run(kernel: &Atrous, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

#[inline(always)]
fn rows<S: Simd>(simd: S, kernel: &Atrous, job: &mut Job<'_>) {
    let size = job.reads[0].size();
    let moves = Moves::new(kernel, size.width);
    let payload = job.writes[0].planes();
    let (out, weights) = job.scratch.split_at_mut(payload * size.width);
    let weights = weights.as_chunks_mut::<WIDTH>().0;
    for y in job.rows.clone() {
        let from = kernel.source_row(size.height, y);
        let mut row = Row {
            kernel,
            reads: &job.reads,
            y: from,
            lines: lines(kernel, size.height, from),
            span: 0..0,
            width: size.width,
        };
        for span in &moves.spans {
            row.span = span.clone();
            let mut x = span.start;
            while x < span.end {
                // The last strip overlaps with the one before, where there is one.
                let at = match x + WIDTH > span.end && span.len() >= WIDTH {
                    true => span.end - WIDTH,
                    false => x,
                };
                row.strip(simd, at, weights, out);
                x = at + WIDTH;
            }
        }
        for plane in 0..payload {
            let made = &mut out[plane * size.width..][..size.width];
            if kernel.half && kernel.mode != Mode::Shares {
                crate::kernel::half::round(made);
            }
            moves.put(made, job.writes[0].row(plane, y));
        }
        if job.writes.len() > 1 {
            for plane in 0..job.writes[1].planes() {
                let carried = job.reads[1].row(plane, from);
                moves.put(carried, job.writes[1].row(plane, y));
            }
        }
    }
}

/// Where pixels of a row go.
pub(super) struct Moves {
    pub(super) spans: Vec<Range<usize>>,
    places: Option<Vec<usize>>,
}

impl Moves {
    pub(super) fn new(kernel: &Atrous, width: usize) -> Self {
        let Walk::Permuted { from, to, .. } = kernel.walk else {
            return Self {
                spans: std::iter::once(0..width).collect(),
                places: None,
            };
        };
        let mut spans: Vec<Range<usize>> = Vec::new();
        while spans.last().map_or(0, |s| s.end) < width {
            let next = spans.last().map_or(0, |s| s.end);
            spans.push(from.span(width, next));
        }
        let to = |x: usize| to.map_or(x, |t: Phases| t.place(width, x));
        Self {
            spans,
            places: Some((0..width).map(|x| to(from.pixel(width, x))).collect()),
        }
    }

    pub(super) fn put(&self, from: &[f32], to: &mut [f32]) {
        match &self.places {
            None => to.copy_from_slice(from),
            Some(places) => {
                for (v, place) in from.iter().zip(places) {
                    to[*place] = *v;
                }
            }
        }
    }
}

/// Rows of taps inside that hold samples: `log2` of their `h`, and where they are.
fn lines(kernel: &Atrous, height: usize, y: usize) -> Vec<(f32, usize)> {
    let span = kernel.reachable_rows(height, y);
    let r = kernel.radius() as isize;
    let line = |(h, d): (&f32, isize)| {
        let q = y as isize + d * kernel.spacing() as isize;
        let inside = q >= span.start as isize && q < span.end as isize;
        let sampled = q.unsigned_abs().is_multiple_of(kernel.grid);
        (inside && sampled).then_some((h.log2(), q as usize))
    };
    kernel.taps.iter().zip(-r..=r).filter_map(line).collect()
}

/// One row of work.
struct Row<'a> {
    kernel: &'a Atrous,
    reads: &'a [View<'a>],
    y: usize,
    lines: Vec<(f32, usize)>,
    /// Columns that taps may reach.
    span: Range<usize>,
    /// Columns of a row.
    width: usize,
}

/// A tap of a strip.
#[derive(Clone, Copy)]
struct Tap {
    /// Its row, and its column for the first column of the strip.
    row: usize,
    at: isize,
    /// `log2 h`.
    log: f32,
}

impl Row<'_> {
    /// The taps of a strip in order.
    #[inline(always)]
    fn taps(&self, x: usize) -> impl Iterator<Item = Tap> {
        let r = self.kernel.radius() as isize;
        let step = self.kernel.spacing() as isize;
        self.lines.iter().flat_map(move |(hy, row)| {
            let columns = self.kernel.taps.iter().zip(-r..=r);
            columns.map(move |(hx, d)| Tap {
                row: *row,
                at: x as isize + d * step,
                log: hy + hx.log2(),
            })
        })
    }

    /// Values of a plane for a strip; columns outside are taken from the border and must not count.
    #[inline(always)]
    fn fetch<'b>(&'b self, read: usize, plane: usize, tap: Tap, near: &'b mut Strip) -> &'b Strip {
        let row = self.reads[read].row(plane, tap.row);
        let inside = usize::try_from(tap.at)
            .ok()
            .filter(|at| at + WIDTH <= self.width);
        match inside.and_then(|at| row[at..].first_chunk()) {
            Some(strip) => strip,
            None => {
                gather(row, tap.at, &self.span, near);
                near
            }
        }
    }

    #[inline(always)]
    fn strip<S: Simd>(&self, simd: S, x: usize, weights: &mut [Strip], out: &mut [f32]) {
        let kernel = self.kernel;
        self.start(x, weights);
        let colors = kernel.colors_that_weigh();
        let scales = kernel.scales();
        let mut plane = 0;
        while plane < colors {
            match colors - plane {
                1 => self.weigh::<S, 1>(simd, x, (0, plane), &scales[plane..], weights),
                2 => self.weigh::<S, 2>(simd, x, (0, plane), &scales[plane..], weights),
                _ => self.weigh::<S, 3>(simd, x, (0, plane), &scales[plane..], weights),
            }
            plane += 3;
        }
        let features = &scales[colors..];
        let mut plane = 0;
        while plane < features.len() {
            // Planes that do not weigh are carried only.
            if features[plane] == 0.0 {
                plane += 1;
                continue;
            }
            let count = features[plane..].iter().take_while(|s| **s != 0.0).count();
            let scales = &features[plane..];
            match count {
                1 => self.weigh::<S, 1>(simd, x, (1, plane), scales, weights),
                2 => self.weigh::<S, 2>(simd, x, (1, plane), scales, weights),
                3 => self.weigh::<S, 3>(simd, x, (1, plane), scales, weights),
                _ => self.weigh::<S, 4>(simd, x, (1, plane), scales, weights),
            }
            plane += count.min(4);
        }
        if let Some(local) = kernel.stops.local {
            match (local.plane, kernel.colors) {
                (Some(plane), _) => self.weigh_locally::<S, 1>(simd, x, (1, plane), local, weights),
                (None, 3) => self.weigh_locally::<S, 3>(simd, x, (0, 0), local, weights),
                (None, _) => self.weigh_locally::<S, 1>(simd, x, (0, 0), local, weights),
            }
        }
        let sums = self.powers(simd, x, weights);
        let valid = WIDTH.min(self.span.end - x);
        if kernel.mode == Mode::Shares {
            for (o, s) in out[x..x + valid].iter_mut().zip(&sums) {
                *o = 1.0 / s;
            }
            return;
        }
        let planes = self.reads[0].planes();
        let mut plane = 0;
        while plane < planes {
            match planes - plane {
                1 => self.sum::<S, 1>(simd, x, plane, (weights, &sums), out),
                2 => self.sum::<S, 2>(simd, x, plane, (weights, &sums), out),
                3 => self.sum::<S, 3>(simd, x, plane, (weights, &sums), out),
                _ => self.sum::<S, 4>(simd, x, plane, (weights, &sums), out),
            }
            plane += 4;
        }
        if kernel.grid > 1 {
            for k in 0..valid {
                if f64::from(sums[k]) <= LEAST {
                    self.nearest(x + k, out);
                }
            }
        }
    }

    /// `log2 h` for taps that count.
    fn start(&self, x: usize, weights: &mut [Strip]) {
        let (start, end) = (self.span.start as isize, self.span.end as isize);
        let grid = self.kernel.grid;
        for (tap, e) in self.taps(x).zip(weights) {
            e.fill(tap.log);
            if tap.at < start || tap.at + WIDTH as isize > end || grid > 1 {
                for (k, e) in e.iter_mut().enumerate() {
                    let q = tap.at + k as isize;
                    if q < start || q >= end || !q.unsigned_abs().is_multiple_of(grid) {
                        *e = NEVER;
                    }
                }
            }
        }
    }

    /// Adds `scale · Δ²` of `N` planes of a slot to the exponents.
    #[inline(always)]
    fn weigh<S: Simd, const N: usize>(
        &self,
        simd: S,
        x: usize,
        (read, first): (usize, usize),
        scales: &[f32],
        exponents: &mut [Strip],
    ) {
        let here = Tap {
            row: self.y,
            at: x as isize,
            log: 0.0,
        };
        let mut near = [[0.0; WIDTH]; N];
        let mut own = [[0.0; WIDTH]; N];
        for (n, (own, near)) in own.iter_mut().zip(&mut near).enumerate() {
            *own = *self.fetch(read, first + n, here, near);
        }
        let own = own.each_ref().map(|o| o.as_chunks::<LANES>().0);
        for (tap, e) in self.taps(x).zip(exponents) {
            let mut strips = [own[0]; N];
            for (n, (strip, near)) in strips.iter_mut().zip(&mut near).enumerate() {
                *strip = self.fetch(read, first + n, tap, near).as_chunks().0;
            }
            let e = e.as_chunks_mut::<LANES>().0;
            for piece in 0..PIECES {
                let mut sum = f32x16::load_array_ref(simd, &e[piece]);
                for n in 0..N {
                    let there = f32x16::load_array_ref(simd, &strips[n][piece]);
                    let delta = there - f32x16::load_array_ref(simd, &own[n][piece]);
                    sum = (delta * scales[n]).mul_add(delta, sum);
                }
                sum.store_array(&mut e[piece]);
            }
        }
    }

    /// Adds the difference of brightness, the mean of `N` planes, over the variance of the pixel.
    #[inline(always)]
    fn weigh_locally<S: Simd, const N: usize>(
        &self,
        simd: S,
        x: usize,
        (read, first): (usize, usize),
        local: Local,
        exponents: &mut [Strip],
    ) {
        let here = Tap {
            row: self.y,
            at: x as isize,
            log: 0.0,
        };
        let mut near = [[0.0; WIDTH]; N];
        // Brightness as a sum, and how strongly its square weighs: for base 2, and for the mean of the planes.
        let mut own = [0.0; WIDTH];
        for (n, near) in near.iter_mut().enumerate() {
            let strip = self.fetch(read, first + n, here, near);
            for (o, v) in own.iter_mut().zip(strip) {
                *o += v;
            }
        }
        let scale = -std::f32::consts::LOG2_E / (N * N) as f32;
        let noise = self.fetch(0, self.kernel.colors, here, &mut near[0]);
        let stop = noise.map(|v| scale / (local.square * v + local.least));
        let (own, stop) = (own.as_chunks::<LANES>().0, stop.as_chunks::<LANES>().0);
        for (tap, e) in self.taps(x).zip(exponents) {
            let mut strips = [own; N];
            for (n, (strip, near)) in strips.iter_mut().zip(&mut near).enumerate() {
                *strip = self.fetch(read, first + n, tap, near).as_chunks().0;
            }
            let e = e.as_chunks_mut::<LANES>().0;
            for piece in 0..PIECES {
                let mut there = f32x16::load_array_ref(simd, &strips[0][piece]);
                for n in 1..N {
                    there += f32x16::load_array_ref(simd, &strips[n][piece]);
                }
                let off = there - f32x16::load_array_ref(simd, &own[piece]);
                let sum = f32x16::load_array_ref(simd, &e[piece]);
                let stop = f32x16::load_array_ref(simd, &stop[piece]);
                (off * stop).mul_add(off, sum).store_array(&mut e[piece]);
            }
        }
    }

    /// Exponents become weights; gives their sums.
    #[inline(always)]
    fn powers<S: Simd>(&self, simd: S, x: usize, weights: &mut [Strip]) -> Strip {
        let zero = f32x16::splat(simd, 0.0);
        let mut sums = [zero; PIECES];
        let mut near = [0.0; WIDTH];
        for (tap, strip) in self.taps(x).zip(weights) {
            let shares = (self.kernel.mode == Mode::Shared)
                .then(|| *self.fetch(self.reads.len() - 1, 0, tap, &mut near));
            let strip = strip.as_chunks_mut::<LANES>().0;
            for piece in 0..PIECES {
                let e = f32x16::load_array_ref(simd, &strip[piece]);
                let mut w = fast_exp2_x16(simd, e);
                if let Some(shares) = &shares {
                    w *= f32x16::load_array_ref(simd, &shares.as_chunks::<LANES>().0[piece]);
                }
                sums[piece] += w;
                w.store_array(&mut strip[piece]);
            }
        }
        let mut made = [0.0; WIDTH];
        for (to, sum) in made.as_chunks_mut::<LANES>().0.iter_mut().zip(sums) {
            sum.store_array(to);
        }
        made
    }

    /// The weighted means of `N` planes of the payload.
    #[inline(always)]
    fn sum<S: Simd, const N: usize>(
        &self,
        simd: S,
        x: usize,
        first: usize,
        (weights, sums): (&[Strip], &Strip),
        out: &mut [f32],
    ) {
        let zero = f32x16::splat(simd, 0.0);
        let mut made = [[0.0; WIDTH]; N];
        let mut near = [[0.0; WIDTH]; N];
        let squared = self.kernel.squared;
        for half in [0, PIECES / 2] {
            let mut all = [[zero; PIECES / 2]; N];
            for (tap, w) in self.taps(x).zip(weights) {
                let w = w.as_chunks::<LANES>().0;
                let mut w2 = [zero; PIECES / 2];
                for k in 0..PIECES / 2 {
                    w2[k] = f32x16::load_array_ref(simd, &w[half + k]);
                }
                for n in 0..N {
                    let strip = self.fetch(0, first + n, tap, &mut near[n]);
                    let strip = strip.as_chunks::<LANES>().0;
                    let square = squared == Some(first + n);
                    for k in 0..PIECES / 2 {
                        let v = f32x16::load_array_ref(simd, &strip[half + k]);
                        let w = if square { w2[k] * w2[k] } else { w2[k] };
                        all[n][k] = v.mul_add(w, all[n][k]);
                    }
                }
            }
            for n in 0..N {
                let square = squared == Some(first + n);
                let to = made[n].as_chunks_mut::<LANES>().0;
                for k in 0..PIECES / 2 {
                    let sum = &sums.as_chunks::<LANES>().0[half + k];
                    let sum = f32x16::load_array_ref(simd, sum);
                    let norm = if square { sum * sum } else { sum };
                    (all[n][k] / norm).store_array(&mut to[half + k]);
                }
            }
        }
        let valid = WIDTH.min(self.span.end - x);
        for (n, made) in made.iter().enumerate() {
            out[(first + n) * self.width + x..][..valid].copy_from_slice(&made[..valid]);
        }
    }

    /// A pixel without any tap that is alike: the mean of the samples around it, or what it was.
    fn nearest(&self, x: usize, out: &mut [f32]) {
        for plane in 0..self.reads[0].planes() {
            let (mut sum, mut weights) = (0.0, 0.0);
            for tap in self.taps(x) {
                let Some(q) = usize::try_from(tap.at)
                    .ok()
                    .filter(|q| self.span.contains(q))
                else {
                    continue;
                };
                if q.is_multiple_of(self.kernel.grid) {
                    let h = tap.log.exp2();
                    sum += h * self.reads[0].row(plane, tap.row)[q];
                    weights += h;
                }
            }
            out[plane * self.width + x] = match weights > 0.0 {
                true => sum / weights,
                false => self.reads[0].row(plane, self.y)[x],
            };
        }
    }
}

/// Kept out of line: it is rare, and copies of it in every loop would drown the rest.
#[inline(never)]
fn gather(row: &[f32], at: isize, span: &Range<usize>, values: &mut Strip) {
    let last = span.end as isize - 1;
    for (k, v) in values.iter_mut().enumerate() {
        *v = row[(at + k as isize).clamp(span.start as isize, last) as usize];
    }
}
