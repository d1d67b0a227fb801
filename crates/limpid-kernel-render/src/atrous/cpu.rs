//! The CPU body: one loop for all combinations of planes.
//!
//! Rows of taps are copied into a ring buffer ([`Ring`]): guide planes scaled by one over σ, brightness if noise is the guide,
//! and the payload. For each strip of columns, the weights of all taps are computed first, then the weighted sums of the
//! payload, plane by plane. The cost is linear in the number of guide planes plus payload planes.

use super::moves::Moves;
use super::{Atrous, Local, Mode};
use fearless_simd::f32x16;
use fearless_simd::prelude::*;
use limpid_core::simd::dispatch;
use limpid_plan::fast_exp::fast_exp2_x16;
use limpid_plan::ring;
use limpid_plan::ring::{HeldRows, PIECES, Ring, Strip, Tap, Vectors, WIDTH};
use limpid_plan::{Job, View};
use limpid_reference::definition::atrous::LEAST;

/// The planes that a row of the ring holds.
struct Planes {
    /// Slot, plane and scale of each guide plane.
    weigh: Vec<(usize, usize, f32)>,
    /// Brightness.
    bright: Option<usize>,
    /// The plane that weights are multiplied by.
    factor: Option<usize>,
    /// The first plane of the payload.
    payload: usize,
    count: usize,
}

impl Planes {
    fn new(kernel: &Atrous) -> Self {
        let colors = kernel.colors_that_weigh();
        let weigh: Vec<_> = kernel
            .scales()
            .iter()
            .enumerate()
            .filter(|(_, scale)| **scale != 0.0)
            .map(|(i, scale)| {
                let (slot, plane) = if i < colors { (0, i) } else { (1, i - colors) };
                (slot, plane, (-scale).sqrt())
            })
            .collect();
        // At least one guide plane is needed to mark pixels outside the image.
        let mut count = weigh.len().max(1);
        let mut add = |there: bool| {
            there.then(|| {
                count += 1;
                count - 1
            })
        };
        let bright = add(kernel.stops.local.is_some());
        let factor = add(kernel.mode.factors() || kernel.grid > 1);
        Self {
            weigh,
            bright,
            factor,
            payload: count,
            count: count + kernel.planes,
        }
    }
}

fn ring(kernel: &Atrous, planes: &Planes, moves: &Moves) -> Ring {
    let spans = moves.spans.clone();
    Ring::new(kernel.radius(), kernel.spacing(), planes.count, spans)
}

/// Words of scratch memory: the ring, a row of each output plane, and the weights of a strip.
pub(super) fn scratch(kernel: &Atrous, width: usize) -> usize {
    let ring = ring(kernel, &Planes::new(kernel), &Moves::new(kernel, width));
    let taps = kernel.taps.len() * kernel.taps.len();
    ring.words() + kernel.planes * ring.made() + taps * WIDTH
}

pub(super) fn run(kernel: &Atrous, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

#[inline(always)]
fn rows<S: Simd>(simd: S, kernel: &Atrous, job: &mut Job<'_>) {
    let size = job.reads[0].size();
    let moves = Moves::new(kernel, size.width);
    let planes = Planes::new(kernel);
    let ring = ring(kernel, &planes, &moves);
    let (memory, rest) = job.scratch.split_at_mut(ring.words());
    let (out, rest) = rest.split_at_mut(kernel.planes * ring.made());
    let (weights, _) = rest.as_chunks_mut().0.as_chunks_mut::<PIECES>();
    ring.clear(memory);
    let mut held = HeldRows::new(&ring);
    let mut body = Body {
        kernel,
        ring: &ring,
        planes: &planes,
        taps: Vec::new(),
        logs: Vec::new(),
    };
    for y in ring.order(job.rows.clone()) {
        let from = kernel.source_row(size.height, y);
        let tap_rows = kernel.tap_rows(size.height, from);
        for (_, row) in &tap_rows {
            if held.lacks(&ring, *row) {
                body.copy(&job.reads, *row, memory);
            }
        }
        ring.taps(&tap_rows, &mut body.taps);
        body.logs.clear();
        let h = |tap: &Tap| kernel.taps[tap.place[0]].log2() + kernel.taps[tap.place[1]].log2();
        body.logs.extend(body.taps.iter().map(h));
        for x in (0..ring.made()).step_by(WIDTH) {
            body.strip(simd, (from, x), memory, weights, out);
        }
        if kernel.grid > 1 && !kernel.mode.balances() {
            body.fill(&job.reads[0], &tap_rows, from, out);
        }
        for plane in 0..job.writes[0].planes() {
            let made = &mut out[plane * ring.made()..][..ring.made()];
            if kernel.half && !kernel.mode.balances() {
                limpid_plan::half::round(made);
            }
            let to = job.writes[0].row(plane, y);
            ring.put(made, |span, made| moves.put(span, made, to));
        }
        if job.writes.len() > 1 {
            for plane in 0..job.writes[1].planes() {
                let carried = job.reads[1].row(plane, from);
                moves.put(0..size.width, carried, job.writes[1].row(plane, y));
            }
        }
    }
}

struct Body<'a> {
    kernel: &'a Atrous,
    ring: &'a Ring,
    planes: &'a Planes,
    /// Taps of the output row.
    taps: Vec<Tap>,
    /// `log2 h` of each tap.
    logs: Vec<f32>,
}

impl Body<'_> {
    #[inline(always)]
    fn copy(&self, reads: &[View<'_>], y: usize, memory: &mut [f32]) {
        let (ring, planes, kernel) = (self.ring, self.planes, self.kernel);
        for (k, (slot, plane, scale)) in planes.weigh.iter().enumerate() {
            ring.copy(memory, (y, k), reads[*slot].row(*plane, y), *scale);
        }
        if planes.weigh.is_empty() {
            ring.copy(memory, (y, 0), reads[0].row(0, y), 0.0);
        }
        if let (Some(to), Some(local)) = (planes.bright, kernel.stops.local) {
            if let Some(plane) = local.plane {
                ring.copy(memory, (y, to), reads[1].row(plane, y), 1.0);
            } else {
                let share = 1.0 / kernel.colors as f32;
                let colors: Vec<&[f32]> = (0..kernel.colors).map(|c| reads[0].row(c, y)).collect();
                let to = &mut memory[ring.row(y) + to * ring.stride()..][..ring.made()];
                for (at, span) in ring.columns() {
                    let to = &mut to[at..at + span.len()];
                    to.fill(0.0);
                    for color in &colors {
                        for (to, v) in to.iter_mut().zip(&color[span.clone()]) {
                            *to += share * v;
                        }
                    }
                }
            }
        }
        if let Some(to) = planes.factor {
            if kernel.mode.factors() {
                ring.copy(memory, (y, to), reads[reads.len() - 1].row(0, y), 1.0);
            }
            if kernel.grid > 1 {
                let to = &mut memory[ring.row(y) + to * ring.stride()..][..ring.made()];
                for (at, span) in ring.columns() {
                    for (to, x) in to[at..].iter_mut().zip(span) {
                        let sampled =
                            x.is_multiple_of(kernel.grid) && y.is_multiple_of(kernel.grid);
                        *to = match (sampled, kernel.mode) {
                            (false, _) => 0.0,
                            (true, Mode::Mean) => 1.0,
                            (true, _) => *to,
                        };
                    }
                }
            }
        }
        for plane in 0..kernel.planes {
            let to = (y, planes.payload + plane);
            ring.copy(memory, to, reads[0].row(plane, y), 1.0);
        }
    }

    /// Computes all planes of a strip of columns that starts at `x`.
    #[inline(always)]
    fn strip<S: Simd>(
        &self,
        simd: S,
        (y, x): (usize, usize),
        memory: &[f32],
        weights: &mut [Strip],
        out: &mut [f32],
    ) {
        let (kernel, made) = (self.kernel, self.ring.made());
        let sums = self.weigh(simd, (y, x), memory, weights);
        let one = f32x16::splat(simd, 1.0);
        let mut shares = sums;
        for k in 0..PIECES {
            shares[k] = one / sums[k];
            if kernel.grid > 1 {
                let counts = sums[k].simd_gt(f32x16::splat(simd, LEAST as f32));
                shares[k] = counts.select(shares[k], f32x16::splat(simd, f32::NAN));
            }
        }
        if kernel.mode.balances() {
            let before = self.planes.factor.map(|plane| {
                let own = self.ring.row(y) + plane * self.ring.stride() + x;
                ring::load(simd, memory, own)
            });
            for k in 0..PIECES {
                shares[k] = (before.map_or(one, |b| b[k]) * shares[k]).sqrt();
            }
            return ring::put(shares, out, x);
        }
        for plane in 0..kernel.planes {
            let from = (self.planes.payload + plane) * self.ring.stride() + x;
            let squared = kernel.squared == Some(plane);
            let mut sums = ring::sum(simd, (memory, from), &self.taps, weights, squared);
            for k in 0..PIECES {
                sums[k] *= shares[k];
                if squared {
                    sums[k] *= shares[k];
                }
            }
            ring::put(sums, out, plane * made + x);
        }
    }

    /// Computes the weights of all taps. Returns their sums.
    #[inline(always)]
    fn weigh<S: Simd>(
        &self,
        simd: S,
        (y, x): (usize, usize),
        memory: &[f32],
        weights: &mut [Strip],
    ) -> Vectors<S> {
        let (ring, planes) = (self.ring, self.planes);
        let stride = ring.stride();
        let zero = f32x16::splat(simd, 0.0);
        let own = ring.row(y) + x;
        let count = planes.weigh.len().max(1);
        // Factor of squared brightness differences, for base 2.
        let mut stop = [zero; PIECES];
        let (mut bright, mut noise) = (stop, stop);
        let noise_plane = planes.payload + self.kernel.colors;
        let local = self.kernel.stops.local;
        if let (Some(plane), Some(local)) = (planes.bright, &local) {
            noise = ring::load(simd, memory, own + noise_plane * stride);
            bright = ring::load(simd, memory, own + plane * stride);
            for k in 0..PIECES {
                stop[k] = stopping(simd, local, noise[k]);
            }
        }
        let (least, never) = (self.least(), ring::NEVER);
        let (least, never) = (f32x16::splat(simd, least), f32x16::splat(simd, never));
        let mut sums = [zero; PIECES];
        for ((tap, log), made) in self.taps.iter().zip(&self.logs).zip(weights) {
            let mut squares = [zero; PIECES];
            for plane in 0..count {
                let here = ring::load(simd, memory, own + plane * stride);
                let there = ring::load(simd, memory, tap.at + plane * stride + x);
                for k in 0..PIECES {
                    let off = there[k] - here[k];
                    squares[k] = off.mul_add(off, squares[k]);
                }
            }
            let mut e = [f32x16::splat(simd, *log); PIECES];
            for k in 0..PIECES {
                e[k] -= squares[k];
            }
            if let Some(plane) = planes.bright {
                let there = ring::load(simd, memory, tap.at + plane * stride + x);
                let mut stop = stop;
                if let Some(local) = local.filter(|l| l.symmetric) {
                    let other = ring::load(simd, memory, tap.at + noise_plane * stride + x);
                    for k in 0..PIECES {
                        stop[k] = stopping(simd, &local, (noise[k] + other[k]) * 0.5);
                    }
                }
                for k in 0..PIECES {
                    let off = there[k] - bright[k];
                    e[k] = (off * stop[k]).mul_add(off, e[k]);
                }
            }
            let mut w = e;
            for k in 0..PIECES {
                let counts = e[k].simd_gt(least);
                w[k] = fast_exp2_x16(simd, counts.select(e[k], never));
            }
            if let Some(plane) = planes.factor {
                let factor = ring::load(simd, memory, tap.at + plane * stride + x);
                for k in 0..PIECES {
                    w[k] *= factor[k];
                }
            }
            for k in 0..PIECES {
                sums[k] += w[k];
            }
            ring::store(w, made);
        }
        sums
    }

    /// Taps with exponents up to this have no weight.
    fn least(&self) -> f32 {
        // If the pixel itself may be unsampled, small weights matter.
        if self.kernel.grid > 1 {
            (LEAST as f32).log2()
        } else {
            ring::SMALLEST
        }
    }

    /// Pixels without any similar tap are set to the mean of the surrounding samples, or stay unchanged if there are none.
    #[inline(never)]
    fn fill(&self, payload: &View<'_>, rows: &[(usize, usize)], y: usize, out: &mut [f32]) {
        let (kernel, made) = (self.kernel, self.ring.made());
        let (radius, step) = (kernel.radius() as isize, kernel.spacing() as isize);
        for (at, span) in self.ring.columns() {
            for x in span.clone() {
                let to = at + x - span.start;
                if !out[to].is_nan() {
                    continue;
                }
                for plane in 0..kernel.planes {
                    let (mut sum, mut weights) = (0.0, 0.0);
                    for (j, row) in rows.iter().filter(|(_, row)| row % kernel.grid == 0) {
                        for (i, hx) in kernel.taps.iter().enumerate() {
                            let q = x.wrapping_add_signed((i as isize - radius) * step);
                            if span.contains(&q) && q.is_multiple_of(kernel.grid) {
                                let h = hx * kernel.taps[*j];
                                sum += h * payload.row(plane, *row)[q];
                                weights += h;
                            }
                        }
                    }
                    out[plane * made + to] = match weights > 0.0 {
                        true => sum / weights,
                        false => payload.row(plane, y)[x],
                    };
                }
            }
        }
    }
}

/// Factor of squared brightness differences for this noise, for base 2.
#[inline(always)]
fn stopping<S: Simd>(simd: S, local: &Local, noise: f32x16<S>) -> f32x16<S> {
    let alike = noise * local.square + local.least;
    f32x16::splat(simd, -std::f32::consts::LOG2_E) / alike
}
