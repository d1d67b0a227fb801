//! The CPU body of variance-guided filtering.

use super::super::Atrous;
use super::super::moves::Moves;
use super::{FEATURES, Guided, STEEP, light_weights};
use fearless_simd::f32x16;
use fearless_simd::prelude::*;
use limpid_core::simd::dispatch;
use limpid_plan::fast_exp::fast_exp2_x16;
use limpid_plan::ring;
use limpid_plan::ring::{HeldRows, PIECES, Ring, Strip, Tap, Vectors, WIDTH};
use limpid_plan::{Job, View};
use limpid_reference::definition::svgf::{DEPTH_LEAST, GAUSS, LUMINANCE_LEAST};
use std::f32::consts::LOG2_E;

/// Planes of the ring: depth, which is very large outside the image, normal, object; then luminance, then the payload.
pub const SURFACE: usize = 5;
const LUMINANCE: usize = SURFACE;
const PAYLOAD: usize = SURFACE + 1;

/// Planes of the features in the order of the ring.
const ORDER: [usize; SURFACE] = [3, 0, 1, 2, 6];

/// Weights of taps by surface.
#[derive(Debug, Clone, Copy)]
pub struct Surfaces {
    /// σ of depth.
    pub depth: f32,
    /// The cosine of normals is squared this many times.
    pub squarings: u32,
    /// Whether there are object ids.
    pub objects: bool,
    /// Taps to each side.
    pub radius: usize,
    /// The distance of the taps, in image pixels.
    pub step: usize,
}

/// Per-column data of a row besides the ring: the gradient of depth in x and y.
pub struct Slopes<'a>(pub [&'a [f32]; 2]);

impl Surfaces {
    /// Copies the features of a row into a ring.
    #[inline(always)]
    pub fn copy(self, ring: &Ring, features: &View<'_>, y: usize, memory: &mut [f32]) {
        for (to, plane) in ORDER.into_iter().enumerate() {
            ring.copy(memory, (y, to), features.row(plane, y), 1.0);
        }
    }

    /// Copies the gradient of a row to the columns of a ring.
    #[inline(always)]
    pub fn slopes(self, ring: &Ring, features: &View<'_>, y: usize, to: [&mut [f32]; 2]) {
        for (plane, to) in to.into_iter().enumerate() {
            let from = features.row(4 + plane, y);
            for (at, span) in ring.columns() {
                to[at..at + span.len()].copy_from_slice(&from[span]);
            }
        }
    }

    /// One over the tolerated change of depth at each distance, for base 2; shared by taps on opposite sides.
    #[inline(always)]
    pub fn tolerances<S: Simd>(
        self,
        simd: S,
        depth: Vectors<S>,
        (slopes, x): (&Slopes<'_>, usize),
        tolerances: &mut [Strip],
    ) {
        let [gx, gy] = [0, 1].map(|k| ring::load(simd, slopes.0[k], x));
        let scale = self.depth * self.step as f32;
        let side = 2 * self.radius + 1;
        for (i, to) in tolerances[..side * side / 2].iter_mut().enumerate() {
            let off = |k: usize| (k as f32 - self.radius as f32) * scale;
            let (dx, dy) = (off(i % side), off(i / side));
            let mut all = depth;
            for k in 0..PIECES {
                let slope = (gx[k] * dx + gy[k] * dy).abs();
                let allowed = depth[k].abs().mul_add(DEPTH_LEAST, slope) + 1e-6;
                all[k] = f32x16::splat(simd, LOG2_E) / allowed;
            }
            ring::store(all, to);
        }
    }

    /// The weight of a tap other than the pixel itself, added to the exponent `e`. Planes are the [`SURFACE`] planes of a ring.
    #[inline(always)]
    pub fn weigh<S: Simd>(
        self,
        simd: S,
        (memory, stride): (&[f32], usize),
        [own, tap]: [usize; 2],
        tolerance: &Strip,
        mut e: Vectors<S>,
    ) -> Vectors<S> {
        let zero = f32x16::splat(simd, 0.0);
        let pair = |plane: usize| {
            let [a, b] = [own, tap].map(|at| ring::load(simd, memory, at + plane * stride));
            (a, b)
        };
        let mut cosine = [zero; PIECES];
        for plane in 1..4 {
            let (a, b) = pair(plane);
            for k in 0..PIECES {
                cosine[k] = a[k].mul_add(b[k], cosine[k]);
            }
        }
        let steep = self.squarings >= STEEP;
        if steep {
            // See `turned`.
            let half = 0.5 * (self.squarings as f32).exp2() * LOG2_E;
            let (root, twice) = (f32x16::splat(simd, -half.sqrt()), 2.0 * half.sqrt());
            for k in 0..PIECES {
                let y = cosine[k].mul_add(root, f32x16::splat(simd, twice));
                e[k] = (zero - y).mul_add(y, e[k] + half);
            }
        }
        let (a, b) = pair(0);
        let tolerance = ring::vectors(simd, tolerance);
        for k in 0..PIECES {
            e[k] -= (a[k] - b[k]).abs() * tolerance[k];
        }
        if self.objects {
            // A different object; 0 marks a pixel that shows several.
            let (a, b) = pair(4);
            for k in 0..PIECES {
                let apart = (a[k] * b[k]).simd_gt(zero) & !a[k].simd_eq(b[k]);
                e[k] = apart.select(f32x16::splat(simd, -1e4), e[k]);
            }
        }
        let mut w = e;
        for k in 0..PIECES {
            let counts = e[k].simd_gt(f32x16::splat(simd, ring::SMALLEST));
            let e = counts.select(e[k], f32x16::splat(simd, ring::NEVER));
            w[k] = fast_exp2_x16(simd, e.min(zero));
        }
        if !steep {
            for k in 0..PIECES {
                let mut power = cosine[k].max(zero);
                for _ in 0..self.squarings {
                    power *= power;
                }
                w[k] *= power;
            }
        }
        w
    }

    /// The strip of tolerances for a tap.
    #[inline(always)]
    pub fn tolerance(self, tap: &Tap) -> usize {
        let side = 2 * self.radius + 1;
        let i = tap.place[1] * side + tap.place[0];
        i.min(side * side - 1 - i)
    }

    /// Whether a tap is the pixel itself.
    pub fn here(self, tap: &Tap) -> bool {
        tap.place == [self.radius; 2]
    }
}

fn ring(kernel: &Atrous, moves: &Moves) -> Ring {
    let planes = PAYLOAD + kernel.planes;
    let spans = moves.spans.clone();
    Ring::new(kernel.radius(), kernel.spacing(), planes, spans)
}

/// Rows besides the ring: results, slopes, stops, and the share of the 3×3 pixels around that is inside.
fn rows_beside(kernel: &Atrous) -> usize {
    kernel.planes + 4
}

/// Words of scratch memory: the ring, rows, weights and tolerances of a strip.
pub(in super::super) fn scratch(kernel: &Atrous, width: usize) -> usize {
    let ring = ring(kernel, &Moves::new(kernel, width));
    let taps = kernel.taps.len() * kernel.taps.len();
    ring.words() + rows_beside(kernel) * ring.made() + (taps + taps / 2) * WIDTH
}

pub(in super::super) fn run(kernel: &Atrous, guided: &Guided, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, guided, job));
}

#[inline(always)]
fn rows<S: Simd>(simd: S, kernel: &Atrous, guided: &Guided, job: &mut Job<'_>) {
    let size = job.reads[0].size();
    let moves = Moves::new(kernel, size.width);
    let ring = ring(kernel, &moves);
    let made = ring.made();
    let (memory, rest) = job.scratch.split_at_mut(ring.words());
    let (rows, rest) = rest.split_at_mut(rows_beside(kernel) * made);
    let (out, rows) = rows.split_at_mut(kernel.planes * made);
    let (slopes, rows) = rows.split_at_mut(2 * made);
    let (slope_x, slope_y) = slopes.split_at_mut(made);
    let (stops, inside) = rows.split_at_mut(made);
    let (strips, _) = rest.as_chunks_mut().0.as_chunks_mut::<PIECES>();
    let (weights, tolerances) = strips.split_at_mut(kernel.taps.len() * kernel.taps.len());
    ring.clear(memory);
    slope_x.fill(0.0);
    slope_y.fill(0.0);
    inside.fill(1.0);
    for (at, span) in ring.columns() {
        let n = kernel.spacing().min(span.len());
        for x in 0..n {
            inside[at + x] -= GAUSS[0];
            inside[at + span.len() - 1 - x] -= GAUSS[2];
        }
    }
    let mut held = HeldRows::new(&ring);
    let surfaces = Surfaces {
        depth: guided.depth,
        squarings: guided.squarings,
        objects: guided.objects,
        radius: kernel.radius(),
        step: 1 << kernel.level,
    };
    let mut taps = Vec::new();
    for y in ring.order(job.rows.clone()) {
        let from = kernel.source_row(size.height, y);
        let tap_rows = kernel.tap_rows(size.height, from);
        for (_, row) in &tap_rows {
            if held.lacks(&ring, *row) {
                copy(kernel, &ring, &job.reads, (*row, surfaces), memory);
            }
        }
        ring.taps(&tap_rows, &mut taps);
        let features = &job.reads[1];
        surfaces.slopes(&ring, features, from, [&mut *slope_x, &mut *slope_y]);
        stop(kernel, guided, &ring, (&tap_rows, memory, inside), stops);
        let row = Row {
            kernel,
            surfaces,
            ring: &ring,
            own: ring.row(from),
            taps: &taps,
            slopes: Slopes([slope_x, slope_y]),
            stops,
        };
        for x in (0..made).step_by(WIDTH) {
            row.strip(simd, x, memory, (weights, tolerances), out);
        }
        for plane in 0..kernel.planes {
            let made = &mut out[plane * made..][..made];
            if kernel.half {
                limpid_plan::half::round(made);
            }
            let to = job.writes[0].row(plane, y);
            ring.put(made, |span, made| moves.put(span, made, to));
        }
        if job.writes.len() > 1 {
            for plane in 0..FEATURES {
                let carried = job.reads[1].row(plane, from);
                moves.put(0..size.width, carried, job.writes[1].row(plane, y));
            }
        }
    }
}

#[inline(always)]
fn copy(
    kernel: &Atrous,
    ring: &Ring,
    reads: &[View<'_>],
    (y, surfaces): (usize, Surfaces),
    memory: &mut [f32],
) {
    surfaces.copy(ring, &reads[1], y, memory);
    let weights = light_weights(kernel.colors);
    let to = &mut memory[ring.row(y) + LUMINANCE * ring.stride()..][..ring.made()];
    for (at, span) in ring.columns() {
        let to = &mut to[at..at + span.len()];
        to.fill(0.0);
        for plane in 0..kernel.colors {
            let from = &reads[0].row(plane, y)[span.clone()];
            for (to, v) in to.iter_mut().zip(from) {
                *to += weights[plane] * v;
            }
        }
    }
    for plane in 0..kernel.planes {
        ring.copy(memory, (y, PAYLOAD + plane), reads[0].row(plane, y), 1.0);
    }
}

/// One over σ of luminance for each pixel of a row, for base 2.
#[inline(always)]
fn stop(
    kernel: &Atrous,
    guided: &Guided,
    ring: &Ring,
    (rows, memory, inside): (&[(usize, usize)], &[f32], &[f32]),
    out: &mut [f32],
) {
    let (radius, step) = (kernel.radius(), kernel.spacing());
    let plane = (PAYLOAD + kernel.colors) * ring.stride();
    let mut weights = 0.0;
    out.fill(0.0);
    for (tap, row) in rows {
        let Some(g) = (tap + 1).checked_sub(radius).and_then(|i| GAUSS.get(i)) else {
            continue;
        };
        weights += g;
        let at = ring.row(*row) + plane;
        let variance = |from: usize| &memory[from..][..ring.made()];
        let (a, b, c) = (variance(at - step), variance(at), variance(at + step));
        for x in 0..ring.made() {
            out[x] += g * (GAUSS[0] * a[x] + GAUSS[1] * b[x] + GAUSS[2] * c[x]);
        }
    }
    for (out, inside) in out.iter_mut().zip(inside) {
        let deviation = (*out / (weights * inside)).max(0.0).sqrt();
        *out = LOG2_E / (guided.luminance * deviation + LUMINANCE_LEAST);
    }
}

/// An output row.
struct Row<'a> {
    kernel: &'a Atrous,
    surfaces: Surfaces,
    ring: &'a Ring,
    /// Its position in the ring.
    own: usize,
    taps: &'a [Tap],
    slopes: Slopes<'a>,
    stops: &'a [f32],
}

impl Row<'_> {
    #[inline(always)]
    fn strip<S: Simd>(
        &self,
        simd: S,
        x: usize,
        memory: &[f32],
        (weights, tolerances): (&mut [Strip], &mut [Strip]),
        out: &mut [f32],
    ) {
        let (kernel, surfaces, stride) = (self.kernel, self.surfaces, self.ring.stride());
        let own = self.own + x;
        let depth = ring::load(simd, memory, own);
        surfaces.tolerances(simd, depth, (&self.slopes, x), tolerances);
        let light = ring::load(simd, memory, own + LUMINANCE * stride);
        let stops = ring::load(simd, self.stops, x);
        let mut sums = [f32x16::splat(simd, 0.0); PIECES];
        for (tap, to) in self.taps.iter().zip(&mut *weights) {
            let h = kernel.taps[tap.place[0]] * kernel.taps[tap.place[1]];
            let mut w = [f32x16::splat(simd, h); PIECES];
            if !surfaces.here(tap) {
                let at = tap.at + x;
                let there = ring::load(simd, memory, at + LUMINANCE * stride);
                let mut e = [f32x16::splat(simd, h.log2()); PIECES];
                for k in 0..PIECES {
                    e[k] -= (light[k] - there[k]).abs() * stops[k];
                }
                let tolerance = &tolerances[surfaces.tolerance(tap)];
                w = surfaces.weigh(simd, (memory, stride), [own, at], tolerance, e);
            }
            for k in 0..PIECES {
                sums[k] += w[k];
            }
            ring::store(w, to);
        }
        for k in 0..PIECES {
            sums[k] = f32x16::splat(simd, 1.0) / sums[k];
        }
        for plane in 0..kernel.planes {
            let from = (PAYLOAD + plane) * stride + x;
            let squared = plane == kernel.colors;
            let mut made = ring::sum(simd, (memory, from), self.taps, weights, squared);
            for k in 0..PIECES {
                made[k] *= sums[k];
                if squared {
                    made[k] *= sums[k];
                }
            }
            ring::put(made, out, plane * self.ring.made() + x);
        }
    }
}
