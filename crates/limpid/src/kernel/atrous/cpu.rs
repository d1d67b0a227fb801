//! The CPU body: strips of 64 columns, all taps of a strip at a time.
//!
//! A strip first makes the exponents of all its taps, a few planes at a time, then the weights, then the sums, again a few planes
//! at a time. So the loops do not multiply with the combinations of planes: what weighs costs by the plane, what is
//! filtered too. Sums run over the taps in order.

use super::moves::Moves;
use super::{Atrous, Local, Mode};
use crate::definition::atrous::LEAST;
use crate::kernel::fast_exp::fast_exp2_x16;
use crate::kernel::sweep::LANES;
use crate::kernel::{Job, View};
use fearless_simd::prelude::*;
use fearless_simd::{dispatch, f32x16};
use std::ops::Range;

/// Columns of a strip.
const WIDTH: usize = 64;
/// Pieces of sixteen columns in a strip.
const PIECES: usize = WIDTH / LANES;
/// Taps that are worked on together.
const CHUNK: usize = 25;
/// Most planes that are.
const TOGETHER: usize = 4;
/// The exponent of what does not count; its power is 0.
const NEVER: f32 = -1e30;

/// A strip of nothing.
static ZERO: Strip = [[0.0; LANES]; PIECES];

/// One value for each column of a strip.
type Strip = [[f32; LANES]; PIECES];
/// A slot that is read, and the first of some of its planes.
type Planes = (usize, usize);
/// Strips of some planes for some taps.
type Strips<'a, const N: usize> = [[&'a Strip; N]; CHUNK];

/// Words of scratch memory: a row of each plane, the weights of a strip, and copies at borders.
pub(super) fn scratch(planes: usize, taps: usize, width: usize) -> usize {
    planes * width + (taps * taps + TOGETHER * (CHUNK + 1)) * WIDTH
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
    let strips = weights.as_chunks_mut::<LANES>().0;
    let strips = strips.as_chunks_mut::<PIECES>().0;
    let (weights, pool) = strips.split_at_mut(kernel.taps.len() * kernel.taps.len());
    for y in job.rows.clone() {
        let from = kernel.source_row(size.height, y);
        let mut row = Row {
            kernel,
            reads: &job.reads,
            y: from,
            taps: taps(kernel, size.height, from),
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
                row.strip(simd, at, (&mut *weights, &mut *pool), out);
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

/// The taps of a row in order, without rows outside or without samples.
fn taps(kernel: &Atrous, height: usize, y: usize) -> Vec<Tap> {
    let span = kernel.reachable_rows(height, y);
    let (r, step) = (kernel.radius() as isize, kernel.spacing() as isize);
    let mut all = Vec::with_capacity(kernel.taps.len() * kernel.taps.len());
    for (hy, dy) in kernel.taps.iter().zip(-r..=r) {
        let q = y as isize + dy * step;
        let inside = q >= span.start as isize && q < span.end as isize;
        if inside && q.unsigned_abs().is_multiple_of(kernel.grid) {
            for (hx, dx) in kernel.taps.iter().zip(-r..=r) {
                all.push(Tap {
                    row: q as usize,
                    by: dx * step,
                    log: hy.log2() + hx.log2(),
                });
            }
        }
    }
    all
}

/// One row of work.
struct Row<'a> {
    kernel: &'a Atrous,
    reads: &'a [View<'a>],
    y: usize,
    taps: Vec<Tap>,
    /// Columns that taps may reach.
    span: Range<usize>,
    /// Columns of a row.
    width: usize,
}

/// A tap.
#[derive(Clone, Copy)]
struct Tap {
    /// Its row.
    row: usize,
    /// How many columns away it is.
    by: isize,
    /// `log2 h`.
    log: f32,
}

impl<'a> Row<'a> {
    /// The pixel itself.
    fn here(&self) -> Tap {
        Tap {
            row: self.y,
            by: 0,
            log: 0.0,
        }
    }

    /// Strips of `N` planes for some taps; columns outside are taken from the border and must not count. Kept apart from the
    /// arithmetic, whose registers a call would spill.
    #[inline(never)]
    fn collect<'b, const N: usize>(
        &self,
        (read, first): Planes,
        taps: &[Tap],
        x: usize,
        pool: &'b mut [Strip],
    ) -> Strips<'b, N>
    where
        'a: 'b,
    {
        let mut all = [[&ZERO; N]; CHUNK];
        let mut rest = pool;
        for (strips, tap) in all.iter_mut().zip(taps) {
            for (n, strip) in strips.iter_mut().enumerate() {
                let row = self.reads[read].row(first + n, tap.row);
                // Far to the right if it is before the row.
                let at = x.wrapping_add_signed(tap.by);
                let inside = row.get(at..at.wrapping_add(WIDTH));
                let inside = inside.and_then(|values| values.as_chunks().0.first_chunk());
                match inside {
                    Some(inside) => *strip = inside,
                    None => {
                        if let Some((near, others)) = std::mem::take(&mut rest).split_first_mut() {
                            gather(
                                row,
                                x as isize + tap.by,
                                &self.span,
                                near.as_flattened_mut(),
                            );
                            *strip = near;
                            rest = others;
                        }
                    }
                }
            }
        }
        all
    }

    #[inline(always)]
    fn strip<S: Simd>(
        &self,
        simd: S,
        x: usize,
        (weights, pool): (&mut [Strip], &mut [Strip]),
        out: &mut [f32],
    ) {
        let kernel = self.kernel;
        self.start(x, weights);
        let colors = kernel.colors_that_weigh();
        let scales = kernel.scales();
        let mut plane = 0;
        while plane < colors {
            match colors - plane {
                1 => self.weigh::<S, 1>(simd, x, (0, plane), &scales[plane..], (weights, pool)),
                2 => self.weigh::<S, 2>(simd, x, (0, plane), &scales[plane..], (weights, pool)),
                _ => self.weigh::<S, 3>(simd, x, (0, plane), &scales[plane..], (weights, pool)),
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
                1 => self.weigh::<S, 1>(simd, x, (1, plane), scales, (weights, pool)),
                2 => self.weigh::<S, 2>(simd, x, (1, plane), scales, (weights, pool)),
                3 => self.weigh::<S, 3>(simd, x, (1, plane), scales, (weights, pool)),
                _ => self.weigh::<S, 4>(simd, x, (1, plane), scales, (weights, pool)),
            }
            plane += count.min(4);
        }
        if let Some(local) = kernel.stops.local {
            match (local.plane, kernel.colors) {
                (Some(plane), _) => {
                    self.weigh_locally::<S, 1>(simd, x, (1, plane), local, (weights, pool));
                }
                (None, 3) => self.weigh_locally::<S, 3>(simd, x, (0, 0), local, (weights, pool)),
                (None, _) => self.weigh_locally::<S, 1>(simd, x, (0, 0), local, (weights, pool)),
            }
        }
        let sums = self.powers(simd, x, (weights, pool));
        let valid = WIDTH.min(self.span.end - x);
        if kernel.mode == Mode::Shares {
            for (o, s) in out[x..x + valid].iter_mut().zip(sums.as_flattened()) {
                *o = 1.0 / s;
            }
            return;
        }
        let planes = self.reads[0].planes();
        let mut plane = 0;
        while plane < planes {
            match planes - plane {
                1 => self.sum::<S, 1>(simd, x, plane, (weights, &sums, pool), out),
                2 => self.sum::<S, 2>(simd, x, plane, (weights, &sums, pool), out),
                3 => self.sum::<S, 3>(simd, x, plane, (weights, &sums, pool), out),
                _ => self.sum::<S, 4>(simd, x, plane, (weights, &sums, pool), out),
            }
            plane += 4;
        }
        if kernel.grid > 1 {
            for k in 0..valid {
                if f64::from(sums.as_flattened()[k]) <= LEAST {
                    self.nearest(x + k, out);
                }
            }
        }
    }

    /// `log2 h` for taps that count.
    fn start(&self, x: usize, weights: &mut [Strip]) {
        let (start, end) = (self.span.start as isize, self.span.end as isize);
        let grid = self.kernel.grid;
        for (tap, e) in self.taps.iter().zip(weights) {
            let e = e.as_flattened_mut();
            e.fill(tap.log);
            let at = x as isize + tap.by;
            if at < start || at + WIDTH as isize > end || grid > 1 {
                for (k, e) in e.iter_mut().enumerate() {
                    let q = at + k as isize;
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
        planes: Planes,
        scales: &[f32],
        (exponents, pool): (&mut [Strip], &mut [Strip]),
    ) {
        let (near, pool) = pool.split_at_mut(TOGETHER);
        let own = self.collect::<N>(planes, &[self.here()], x, near)[0];
        let mut factors = [0.0; N];
        factors.copy_from_slice(&scales[..N]);
        let chunks = self.taps.chunks(CHUNK).zip(exponents.chunks_mut(CHUNK));
        for (taps, exponents) in chunks {
            let all = self.collect::<N>(planes, taps, x, pool);
            for t in 0..taps.len() {
                let (strips, e) = (all[t], &mut exponents[t]);
                for piece in 0..PIECES {
                    let mut sum = f32x16::load_array_ref(simd, &e[piece]);
                    for n in 0..N {
                        let delta = f32x16::load_array_ref(simd, &strips[n][piece])
                            - f32x16::load_array_ref(simd, &own[n][piece]);
                        sum = (delta * factors[n]).mul_add(delta, sum);
                    }
                    sum.store_array(&mut e[piece]);
                }
            }
        }
    }

    /// Adds the difference of brightness, the mean of `N` planes, over the variance of the pixel.
    #[inline(always)]
    fn weigh_locally<S: Simd, const N: usize>(
        &self,
        simd: S,
        x: usize,
        planes: Planes,
        local: Local,
        (exponents, pool): (&mut [Strip], &mut [Strip]),
    ) {
        let (near, pool) = pool.split_at_mut(TOGETHER);
        // Brightness as a sum, and how strongly its square weighs: for base 2, and for the mean of the planes.
        let mut own = ZERO;
        for strip in self.collect::<N>(planes, &[self.here()], x, near)[0] {
            let own = own.as_flattened_mut();
            for (o, v) in own.iter_mut().zip(strip.as_flattened()) {
                *o += v;
            }
        }
        let scale = -std::f32::consts::LOG2_E / (N * N) as f32;
        let noise = self.collect::<1>((0, self.kernel.colors), &[self.here()], x, near)[0][0];
        let stop = noise.map(|piece| piece.map(|v| scale / (local.square * v + local.least)));
        let chunks = self.taps.chunks(CHUNK).zip(exponents.chunks_mut(CHUNK));
        for (taps, exponents) in chunks {
            let all = self.collect::<N>(planes, taps, x, pool);
            for t in 0..taps.len() {
                let (strips, e) = (all[t], &mut exponents[t]);
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
    }

    /// Exponents become weights; gives their sums.
    #[inline(always)]
    fn powers<S: Simd>(
        &self,
        simd: S,
        x: usize,
        (weights, pool): (&mut [Strip], &mut [Strip]),
    ) -> Strip {
        let mut sums = [f32x16::splat(simd, 0.0); PIECES];
        let shared = self.kernel.mode == Mode::Shared;
        for (taps, weights) in self.taps.chunks(CHUNK).zip(weights.chunks_mut(CHUNK)) {
            if shared {
                let last = (self.reads.len() - 1, 0);
                let shares = self.collect::<1>(last, taps, x, pool);
                for ([shares], e) in shares.iter().zip(&mut *weights) {
                    let all = e.as_flattened_mut().iter_mut();
                    for (e, share) in all.zip(shares.as_flattened()) {
                        *e += share.log2();
                    }
                }
            }
            for t in 0..taps.len() {
                let strip = &mut weights[t];
                for piece in 0..PIECES {
                    let e = f32x16::load_array_ref(simd, &strip[piece]);
                    let w = fast_exp2_x16(simd, e);
                    sums[piece] += w;
                    w.store_array(&mut strip[piece]);
                }
            }
        }
        let mut made = ZERO;
        for piece in 0..PIECES {
            sums[piece].store_array(&mut made[piece]);
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
        (weights, sums, pool): (&[Strip], &Strip, &mut [Strip]),
        out: &mut [f32],
    ) {
        let mut made = [ZERO; N];
        let square = self.kernel.squared.map(|s| s.wrapping_sub(first));
        for (taps, weights) in self.taps.chunks(CHUNK).zip(weights.chunks(CHUNK)) {
            let all = self.collect::<N>((0, first), taps, x, pool);
            for piece in 0..PIECES {
                let mut acc = [f32x16::splat(simd, 0.0); N];
                for n in 0..N {
                    acc[n] = f32x16::load_array_ref(simd, &made[n][piece]);
                }
                for t in 0..taps.len() {
                    let w = f32x16::load_array_ref(simd, &weights[t][piece]);
                    for n in 0..N {
                        let v = f32x16::load_array_ref(simd, &all[t][n][piece]);
                        let v = if square == Some(n) { v * w } else { v };
                        acc[n] = v.mul_add(w, acc[n]);
                    }
                }
                for n in 0..N {
                    acc[n].store_array(&mut made[n][piece]);
                }
            }
        }
        let valid = WIDTH.min(self.span.end - x);
        for (n, made) in made.iter().enumerate() {
            let to = &mut out[(first + n) * self.width + x..][..valid];
            let values = made.as_flattened().iter().zip(sums.as_flattened());
            for (to, (v, s)) in to.iter_mut().zip(values) {
                *to = v / if square == Some(n) { s * s } else { *s };
            }
        }
    }

    /// A pixel without any tap that is alike: the mean of the samples around it, or what it was.
    fn nearest(&self, x: usize, out: &mut [f32]) {
        for plane in 0..self.reads[0].planes() {
            let (mut sum, mut weights) = (0.0, 0.0);
            for tap in &self.taps {
                let q = x.wrapping_add_signed(tap.by);
                if !self.span.contains(&q) {
                    continue;
                }
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
fn gather(row: &[f32], at: isize, span: &Range<usize>, values: &mut [f32]) {
    let last = span.end as isize - 1;
    for (k, v) in values.iter_mut().enumerate() {
        *v = row[(at + k as isize).clamp(span.start as isize, last) as usize];
    }
}
