//! The CPU body: rows of taps in a ring, the weights of a strip of columns, then the sums of one plane after the other.

use super::Level;
use crate::definition::neural::{self, DARK, GUIDES, LEAST, PRECISION, TAPS};
use crate::kernel::fast_exp::{fast_exp2_x16, fast_ln};
use crate::kernel::ring::{self, Held, NEVER, PIECES, Ring, SMALLEST, Strip, Tap, Vectors, WIDTH};
use crate::kernel::{Job, View};
use fearless_simd::prelude::*;
use fearless_simd::{dispatch, f32x16};
use std::f32::consts::LOG2_E;

/// Planes of the ring: distrust, whose margins are so large that they weigh nothing, the guides, the payload with its brightness.
const FIRST_GUIDE: usize = 1;
const PAYLOAD: usize = FIRST_GUIDE + GUIDES;
/// Where brightness is in the payload.
const BRIGHT: usize = 3;
const COUNT: usize = TAPS.len() * TAPS.len();

fn ring(kernel: &Level, width: usize) -> Ring {
    let spans = std::iter::once(0..width).collect();
    Ring::new(TAPS.len() / 2, kernel.step, PAYLOAD + kernel.planes, spans)
}

/// The ring, a row of each plane that is made, precisions, and the weights of a strip.
pub(super) fn scratch(kernel: &Level, width: usize) -> usize {
    let ring = ring(kernel, width);
    ring.words() + (kernel.planes + 2) * ring.made() + COUNT * WIDTH
}

pub(super) fn run(kernel: &Level, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

#[inline(always)]
fn rows<S: Simd>(simd: S, kernel: &Level, job: &mut Job<'_>) {
    let size = job.reads[0].size();
    let ring = ring(kernel, size.width);
    let made = ring.made();
    let (memory, rest) = job.scratch.split_at_mut(ring.words());
    let (out, rest) = rest.split_at_mut(kernel.planes * made);
    let (precisions, rest) = rest.split_at_mut(2 * made);
    let (weights, _) = rest.as_chunks_mut().0.as_chunks_mut::<PIECES>();
    ring.clear(memory);
    precisions.fill(0.0);
    let mut held = Held::new(&ring);
    let mut taps: Vec<Tap> = Vec::new();
    let mut logs = Vec::new();
    for y in ring.order(job.rows.clone()) {
        let tap_rows = ring.tap_rows(size.height, y);
        for (_, row) in &tap_rows {
            if held.lacks(&ring, *row) {
                copy(kernel, &ring, &job.reads, *row, memory);
            }
        }
        let others = &job.reads[2];
        for (k, plane) in [Some(kernel.precision), kernel.guided.map(|g| g.sharpness)]
            .into_iter()
            .enumerate()
        {
            if let Some(plane) = plane {
                let from = others.row(plane - PRECISION, y);
                for (to, v) in precisions[k * made..].iter_mut().zip(from) {
                    *to = LOG2_E * v;
                }
            }
        }
        ring.taps(&tap_rows, &mut taps);
        logs.clear();
        logs.extend(
            taps.iter()
                .map(|t| (TAPS[t.place[0]] * TAPS[t.place[1]]).log2()),
        );
        let strip = Columns {
            kernel,
            ring: &ring,
            taps: &taps,
            logs: &logs,
            own: ring.row(y),
            memory,
            precisions,
        };
        for x in (0..made).step_by(WIDTH) {
            strip.make(simd, x, weights, out);
        }
        for plane in 0..kernel.planes {
            if kernel.guided.is_none() || plane != BRIGHT {
                let to = job.writes[0].row(plane, y);
                to.copy_from_slice(&out[plane * made..][..size.width]);
            }
        }
        if kernel.guided.is_some() {
            let [r, g, b] = [0, 1, 2].map(|k| &out[k * made..][..size.width]);
            let to = job.writes[0].row(BRIGHT, y);
            for (x, to) in to.iter_mut().enumerate() {
                *to = fast_ln(neural::luminance([r[x], g[x], b[x]]).max(0.0) + DARK);
            }
        }
    }
}

#[inline(always)]
fn copy(kernel: &Level, ring: &Ring, reads: &[View<'_>], y: usize, memory: &mut [f32]) {
    match kernel.guided {
        Some(guided) => {
            let from = reads[2].row(guided.distrust - PRECISION, y);
            ring.copy(memory, (y, 0), from, LOG2_E);
        }
        None => ring.copy(memory, (y, 0), reads[0].row(0, y), 0.0),
    }
    for k in 0..GUIDES {
        let from = reads[1].row(kernel.first + k, y);
        ring.copy(memory, (y, FIRST_GUIDE + k), from, 1.0);
    }
    for k in 0..kernel.planes {
        ring.copy(memory, (y, PAYLOAD + k), reads[0].row(k, y), 1.0);
    }
}

/// A row that is made.
struct Columns<'a> {
    kernel: &'a Level,
    ring: &'a Ring,
    taps: &'a [Tap],
    /// `log2 h` of each tap.
    logs: &'a [f32],
    /// Where the row is in the ring.
    own: usize,
    memory: &'a [f32],
    precisions: &'a [f32],
}

impl Columns<'_> {
    #[inline(always)]
    fn make<S: Simd>(&self, simd: S, x: usize, weights: &mut [Strip], out: &mut [f32]) {
        let (made, stride) = (self.ring.made(), self.ring.stride());
        let sums = self.weigh(simd, x, weights);
        let mut shares = sums;
        for k in 0..PIECES {
            shares[k] = f32x16::splat(simd, 1.0) / (sums[k] + LEAST);
        }
        for plane in 0..self.kernel.planes {
            if self.kernel.guided.is_some() && plane == BRIGHT {
                continue;
            }
            let from = (PAYLOAD + plane) * stride + x;
            let mut sums = ring::sum(simd, (self.memory, from), self.taps, weights, false);
            for k in 0..PIECES {
                sums[k] *= shares[k];
            }
            ring::put(sums, out, plane * made + x);
        }
    }

    /// The weights of all taps, and their sums.
    #[inline(always)]
    fn weigh<S: Simd>(&self, simd: S, x: usize, weights: &mut [Strip]) -> Vectors<S> {
        let (memory, stride) = (self.memory, self.ring.stride());
        let load = |plane: usize, at: usize| ring::load(simd, memory, at + plane * stride + x);
        let bright = PAYLOAD + BRIGHT;
        let guided = self.kernel.guided.is_some();
        let precision = ring::load(simd, self.precisions, x);
        let sharpness = ring::load(simd, self.precisions, self.ring.made() + x);
        let (least, never) = (f32x16::splat(simd, SMALLEST), f32x16::splat(simd, NEVER));
        let mut sums = [f32x16::splat(simd, 0.0); PIECES];
        for ((tap, log), made) in self.taps.iter().zip(self.logs).zip(weights) {
            let mut squares = [f32x16::splat(simd, 0.0); PIECES];
            for plane in FIRST_GUIDE..FIRST_GUIDE + GUIDES {
                let (here, there) = (load(plane, self.own), load(plane, tap.at));
                for k in 0..PIECES {
                    let off = there[k] - here[k];
                    squares[k] = off.mul_add(off, squares[k]);
                }
            }
            let mut e = load(0, tap.at);
            for k in 0..PIECES {
                e[k] = f32x16::splat(simd, *log) - e[k] - squares[k] * precision[k];
            }
            if guided {
                let (here, there) = (load(bright, self.own), load(bright, tap.at));
                for k in 0..PIECES {
                    let off = there[k] - here[k];
                    e[k] -= off * off * sharpness[k];
                }
            }
            for k in 0..PIECES {
                let counts = e[k].simd_gt(least);
                e[k] = fast_exp2_x16(simd, counts.select(e[k], never));
                sums[k] += e[k];
            }
            ring::store(e, made);
        }
        sums
    }
}
