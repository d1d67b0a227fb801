//! The CPU body: rows of taps in a ring buffer; for each strip of columns the guide distances, the weights, and the sums.
//!
//! The distance of two pixels is symmetric. It is computed once, by the pixel that comes first, and kept for the other.

use super::Level;
use fearless_simd::f32x16;
use fearless_simd::prelude::*;
use limpid_core::simd::dispatch;
use limpid_plan::fast_exp::{fast_exp2_x16, fast_ln};
use limpid_plan::ring;
use limpid_plan::ring::{HeldRows, PIECES, Ring, SMALLEST, Strip, Tap, WIDTH};
use limpid_plan::{Job, View};
use limpid_reference::definition::neural;
use limpid_reference::definition::neural::{DARK, GUIDES, LEAST, PRECISION, TAPS};
use std::f32::consts::LOG2_E;

/// Planes of the ring: distrust, which is so large in the margins that they have no weight, the guides, the payload with its
/// brightness.
const FIRST_GUIDE: usize = 1;
const PAYLOAD: usize = FIRST_GUIDE + GUIDES;
/// The plane of brightness in the payload.
const BRIGHT: usize = 3;
const SIDE: usize = TAPS.len();
const COUNT: usize = SIDE * SIDE;
const RADIUS: usize = SIDE / 2;
/// Taps after the pixel itself in row order: those to which it computes the distance.
const BEHIND: usize = COUNT / 2;
/// Planes that are accumulated while weights are computed.
const FIRST: usize = 3;

/// Layout of the scratch memory.
struct Scratch {
    ring: Ring,
    /// Words of the distances of a row.
    row: usize,
}

impl Scratch {
    fn new(kernel: &Level, width: usize) -> Self {
        let spans = std::iter::once(0..width).collect();
        let ring = Ring::new(RADIUS, kernel.step, PAYLOAD + kernel.planes, spans);
        let row = BEHIND * ring.stride();
        Self { ring, row }
    }

    /// Words of all distances: those of a row and of the earlier rows that reach it.
    fn distances(&self) -> usize {
        (RADIUS + 1) * self.row
    }

    /// Position of the distances of a row to the first following tap, for the first column.
    fn distance(&self, kernel: &Level, y: usize) -> usize {
        y / kernel.step % (RADIUS + 1) * self.row + self.ring.row(0)
    }
}

/// The ring, the distances, a row of each output plane, precisions (negated), and the weights of a strip.
pub(super) fn scratch(kernel: &Level, width: usize) -> usize {
    let scratch = Scratch::new(kernel, width);
    let made = scratch.ring.made();
    scratch.ring.words() + scratch.distances() + (kernel.planes + 2) * made + COUNT * WIDTH
}

pub(super) fn run(kernel: &Level, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

#[inline(always)]
fn rows<S: Simd>(simd: S, kernel: &Level, job: &mut Job<'_>) {
    let size = job.reads[0].size();
    let scratch = Scratch::new(kernel, size.width);
    let ring = &scratch.ring;
    let made = ring.made();
    let (memory, rest) = job.scratch.split_at_mut(ring.words());
    let (distances, rest) = rest.split_at_mut(scratch.distances());
    let (out, rest) = rest.split_at_mut(kernel.planes * made);
    let (precisions, rest) = rest.split_at_mut(2 * made);
    let (weights, _) = rest.as_chunks_mut().0.as_chunks_mut::<PIECES>();
    ring.clear(memory);
    distances.fill(0.0);
    precisions.fill(0.0);
    let mut held = HeldRows::new(ring);
    let mut last = None;
    let mut taps: Vec<Tap> = Vec::new();
    for y in ring.order(job.rows.clone()) {
        let tap_rows = ring.tap_rows(size.height, y);
        for (_, row) in &tap_rows {
            if held.lacks(ring, *row) {
                copy(kernel, ring, &job.reads, *row, memory);
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
                    *to = -LOG2_E * v;
                }
            }
        }
        ring.taps(&tap_rows, &mut taps);
        // Rows before the first of a band belong to another band, so that their distances are not available.
        let follows = last.replace(y).is_some_and(|last| last + kernel.step == y);
        if !follows {
            for (_, row) in tap_rows.iter().filter(|(j, _)| *j < RADIUS) {
                let behind = behind(ring, &ring.tap_rows(size.height, *row));
                let at = [ring.row(*row), scratch.distance(kernel, *row)];
                for x in (0..made).step_by(WIDTH) {
                    compare(simd, ring.stride(), (memory, distances), at, &behind, x);
                }
            }
        }
        let behind = behind(ring, &tap_rows);
        let at = [ring.row(y), scratch.distance(kernel, y)];
        let reached: Vec<Reached> = taps.iter().map(|t| reach(&scratch, kernel, t, y)).collect();
        for x in (0..made).step_by(WIDTH) {
            compare(simd, ring.stride(), (memory, distances), at, &behind, x);
            let strip = Columns {
                kernel,
                ring,
                taps: &reached,
                own: at[0],
                memory,
                distances,
                precisions,
            };
            let shares = strip.weigh(simd, x, weights, out);
            for plane in FIRST..kernel.planes {
                if kernel.guided.is_some() && plane == BRIGHT {
                    continue;
                }
                let from = (PAYLOAD + plane) * ring.stride() + x;
                let mut sums = ring::sum(simd, (memory, from), &taps, weights, false);
                for k in 0..PIECES {
                    sums[k] *= f32x16::load_array_ref(simd, &shares[k]);
                }
                ring::put(sums, out, plane * made + x);
            }
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

/// The following taps of a pixel, each with its index.
fn behind(ring: &Ring, rows: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut taps = Vec::new();
    ring.taps(rows, &mut taps);
    let number = |t: &Tap| (t.place[1] * SIDE + t.place[0]).checked_sub(BEHIND + 1);
    taps.iter()
        .filter_map(|t| Some((number(t)?, t.at)))
        .collect()
}

/// A tap with the data for its weight.
struct Reached {
    /// Position of its first plane in the ring.
    at: usize,
    /// Position of its distance from the pixel.
    distance: Option<usize>,
    /// `log2 h`.
    log: f32,
}

fn reach(scratch: &Scratch, kernel: &Level, tap: &Tap, y: usize) -> Reached {
    let [i, j] = tap.place;
    let number = j * SIDE + i;
    let stride = scratch.ring.stride();
    let distance = if number > BEHIND {
        Some(scratch.distance(kernel, y) + (number - BEHIND - 1) * stride)
    } else if number < BEHIND {
        // The tap precedes the pixel: from its point of view, the pixel is the tap with the opposite index.
        let row = y + j * kernel.step - RADIUS * kernel.step;
        let first = scratch.distance(kernel, row) + (BEHIND - 1 - number) * stride;
        Some(first + i * kernel.step - RADIUS * kernel.step)
    } else {
        None
    };
    Reached {
        at: tap.at,
        distance,
        log: (TAPS[i] * TAPS[j]).log2(),
    }
}

/// Distances of the guides of a strip of a row to the following taps.
#[inline(always)]
fn compare<S: Simd>(
    simd: S,
    stride: usize,
    (memory, distances): (&[f32], &mut [f32]),
    [own, to]: [usize; 2],
    behind: &[(usize, usize)],
    x: usize,
) {
    let load = |at: usize| f32x16::from_slice(simd, &memory[at..at + 16]);
    for x in (x..x + WIDTH).step_by(16) {
        let mut guides = [f32x16::splat(simd, 0.0); GUIDES];
        for (k, guide) in guides.iter_mut().enumerate() {
            *guide = load(own + (FIRST_GUIDE + k) * stride + x);
        }
        for (number, at) in behind {
            let mut squares = [f32x16::splat(simd, 0.0); 2];
            for (k, guide) in guides.iter().enumerate() {
                let off = load(at + (FIRST_GUIDE + k) * stride + x) - *guide;
                squares[k % 2] = off.mul_add(off, squares[k % 2]);
            }
            let to = to + number * stride + x;
            (squares[0] + squares[1]).store_slice(&mut distances[to..to + 16]);
        }
    }
}

/// An output row.
struct Columns<'a> {
    kernel: &'a Level,
    ring: &'a Ring,
    taps: &'a [Reached],
    /// The row's position in the ring.
    own: usize,
    memory: &'a [f32],
    distances: &'a [f32],
    precisions: &'a [f32],
}

impl Columns<'_> {
    /// Computes the weights of all taps of a strip and its first planes. Returns the factor of the others.
    #[inline(always)]
    fn weigh<S: Simd>(&self, simd: S, x: usize, weights: &mut [Strip], out: &mut [f32]) -> Strip {
        let (stride, made) = (self.ring.stride(), self.ring.made());
        let load = |from: &[f32], at: usize| f32x16::from_slice(simd, &from[at..at + 16]);
        let bright = (PAYLOAD + BRIGHT) * stride;
        let guided = self.kernel.guided.is_some();
        let kept = self.kernel.planes > FIRST + usize::from(guided);
        let zero = f32x16::splat(simd, 0.0);
        let mut shares = [[0.0; 16]; PIECES];
        for (piece, share) in shares.iter_mut().enumerate() {
            let x = x + 16 * piece;
            let precision = load(self.precisions, x);
            let sharpness = load(self.precisions, made + x);
            let here = match guided {
                true => load(self.memory, self.own + bright + x),
                false => zero,
            };
            let mut total = f32x16::splat(simd, LEAST);
            let mut sums = [zero; FIRST];
            for (tap, strip) in self.taps.iter().zip(weights.iter_mut()) {
                let mut e = f32x16::splat(simd, tap.log) - load(self.memory, tap.at + x);
                if let Some(distance) = tap.distance {
                    e = load(self.distances, distance + x).mul_add(precision, e);
                }
                if guided {
                    let off = load(self.memory, tap.at + bright + x) - here;
                    e = (off * off).mul_add(sharpness, e);
                }
                let w = fast_exp2_x16(simd, e.max(f32x16::splat(simd, SMALLEST)));
                total += w;
                for (plane, sum) in sums.iter_mut().enumerate() {
                    let v = load(self.memory, tap.at + (PAYLOAD + plane) * stride + x);
                    *sum = v.mul_add(w, *sum);
                }
                if kept {
                    w.store_array(&mut strip[piece]);
                }
            }
            let part = f32x16::splat(simd, 1.0) / total;
            part.store_array(share);
            for (plane, sum) in sums.iter().enumerate() {
                let to = &mut out[plane * made + x..][..16];
                (*sum * part).store_slice(to);
            }
        }
        shares
    }
}
