//! The CPU body: SIMD across pixels, all taps of a few pixels at a time.
//!
//! Each block first makes the weights of its taps, then sums the planes with them. Sums run over the taps in order,
//! multiply then add, so that every SIMD level and every layout gives the same bits.

use super::{Atrous, Walk};
use crate::definition::atrous::LEAST;
use crate::kernel::fast_exp::fast_exp_simd;
use crate::kernel::{Job, View};
use crate::plan::Phases;
use fearless_simd::{dispatch, prelude::*};
use std::ops::Range;

/// Words of scratch memory: a row of each plane, and the weights of a block.
pub(super) fn scratch(planes: usize, taps: usize, width: usize) -> usize {
    planes * width + (taps * taps + 2) * MOST_LANES
}

/// Lanes of the widest vectors.
const MOST_LANES: usize = 16;

/// One row of work: the rows of its taps, and the columns that a tap may reach.
struct Row<'a> {
    /// For each row of taps inside the image: its `h`, and its rows of the planes that weigh, then of the payload.
    lines: Vec<(f32, Vec<&'a [f32]>)>,
    /// The same rows of the pixel itself.
    centre: Vec<&'a [f32]>,
    /// Columns that taps may reach.
    span: Range<usize>,
    /// Whether rows of taps hold samples.
    kernel: &'a Atrous,
    /// Distance of taps in x, in pixels of the slot.
    step: usize,
    /// Planes of the payload.
    payload: usize,
    /// How strongly the planes that weigh do so: one over σ², negative.
    scales: Vec<f32>,
}

pub(super) fn run(kernel: &Atrous, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

/// Most planes that weigh: three of colour and ten of features.
const MOST_PLANES: usize = 13;

#[inline(always)]
fn rows<S: Simd>(simd: S, kernel: &Atrous, job: &mut Job<'_>) {
    let size = job.reads[0].size();
    let moves = Moves::new(kernel, size.width);
    let payload = job.writes[0].planes();
    let (out, weights) = job.scratch.split_at_mut(payload * size.width);
    for y in job.rows.clone() {
        let from = kernel.source_row(size.height, y);
        let mut row = Row {
            lines: lines(kernel, &job.reads, from),
            centre: planes(kernel, &job.reads, from),
            span: 0..0,
            kernel,
            step: kernel.spacing(),
            payload: job.reads[0].planes(),
            scales: kernel.scales(&job.reads),
        };
        for span in &moves.spans {
            row.span = span.clone();
            segment(simd, &row, weights, out, size.width);
        }
        for plane in 0..payload {
            let made = &mut out[plane * size.width..][..size.width];
            if kernel.half && kernel.mode != super::Mode::Shares {
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

/// Rows of the planes that weigh, then of the payload, then of the shares.
fn planes<'a>(kernel: &Atrous, reads: &[View<'a>], y: usize) -> Vec<&'a [f32]> {
    let colors = (0..kernel.colors_that_weigh()).map(|k| reads[0].row(k, y));
    let features = (0..kernel.stops.features.len()).map(|k| reads[1].row(k, y));
    let payload = (0..reads[0].planes()).map(|k| reads[0].row(k, y));
    let mut all: Vec<&'a [f32]> = colors.chain(features).chain(payload).collect();
    if kernel.mode == super::Mode::Shared {
        all.extend(reads.last().map(|shares| shares.row(0, y)));
    }
    all
}

fn lines<'a>(kernel: &Atrous, reads: &[View<'a>], y: usize) -> Vec<(f32, Vec<&'a [f32]>)> {
    let span = kernel.reachable_rows(reads[0].size().height, y);
    let r = kernel.radius() as isize;
    let mut all = Vec::with_capacity(kernel.taps.len());
    for (h, d) in kernel.taps.iter().zip(-r..=r) {
        let q = y as isize + d * kernel.spacing() as isize;
        // An unsampled row takes no part; it stays in the list so that taps keep their numbers.
        let sampled = q.unsigned_abs().is_multiple_of(kernel.grid);
        if q >= span.start as isize && q < span.end as isize && sampled {
            all.push((*h, planes(kernel, reads, q as usize)));
        }
    }
    all
}

#[inline(always)]
fn segment<S: Simd>(simd: S, row: &Row<'_>, weights: &mut [f32], out: &mut [f32], width: usize) {
    let lanes = S::f32s::LEN;
    let reach = row.kernel.radius() * row.step;
    let plain = row.kernel.grid == 1 && row.kernel.mode == super::Mode::Mean;
    let mut x = row.span.start;
    while x < row.span.end {
        // The last block overlaps the one before it, where there is one.
        let at = if x + lanes > row.span.end && row.span.len() >= lanes {
            row.span.end - lanes
        } else {
            x
        };
        let inside = at >= row.span.start + reach && at + lanes + reach <= row.span.end;
        // Loops are written out for the usual numbers of planes that weigh, and that are filtered.
        match (plain && inside, row.scales.len(), row.payload) {
            (true, 1, 1) => inner::<S, 1, 1>(simd, row, at, out, width),
            (true, 3, 3) => inner::<S, 3, 3>(simd, row, at, out, width),
            (true, 7, 3) => inner::<S, 7, 3>(simd, row, at, out, width),
            (true, 7, 4) => inner::<S, 7, 4>(simd, row, at, out, width),
            (true, 10, 3) => inner::<S, 10, 3>(simd, row, at, out, width),
            _ => block(simd, row, at, weights, out, width),
        }
        x = at + lanes;
    }
}

/// A block whose taps all lie inside: what [`block`] does, with everything in registers. `D` planes weigh, `P` are filtered.
#[inline(always)]
fn inner<S: Simd, const D: usize, const P: usize>(
    simd: S,
    row: &Row<'_>,
    x: usize,
    out: &mut [f32],
    width: usize,
) {
    let lanes = S::f32s::LEN;
    let zero = S::f32s::splat(simd, 0.0);
    let taps = &row.kernel.taps[..];
    let first = x - row.kernel.radius() * row.step;
    let mut centre = [zero; D];
    let mut scales = [zero; D];
    for d in 0..D {
        centre[d] = S::f32s::from_slice(simd, &row.centre[d][x..x + lanes]);
        scales[d] = S::f32s::splat(simd, row.scales[d]);
    }
    let squared = row.kernel.squared.unwrap_or(P);
    let mut sum = zero;
    let mut sums = [zero; P];
    for (hy, line) in &row.lines {
        let line = &line[..D + P];
        let mut at = first;
        for hx in taps {
            let mut e = zero;
            for d in 0..D {
                let delta = S::f32s::from_slice(simd, &line[d][at..at + lanes]) - centre[d];
                e += delta * delta * scales[d];
            }
            let w = fast_exp_simd(simd, e) * (hy * hx);
            sum += w;
            for p in 0..P {
                let w = if p == squared { w * w } else { w };
                sums[p] += S::f32s::from_slice(simd, &line[D + p][at..at + lanes]) * w;
            }
            at += row.step;
        }
    }
    for p in 0..P {
        let norm = if p == squared { sum * sum } else { sum };
        (sums[p] / norm).store_slice(&mut out[p * width + x..][..lanes]);
    }
}

/// Values of a row at `at …`; columns outside are taken from the border and must not count.
#[inline(always)]
fn fetch<S: Simd>(simd: S, row: &[f32], at: isize, whole: bool, span: &Range<usize>) -> S::f32s {
    if whole {
        let at = at as usize;
        S::f32s::from_slice(simd, &row[at..at + S::f32s::LEN])
    } else {
        let mut values = [0.0; MOST_LANES];
        gather(row, at, span, &mut values[..S::f32s::LEN]);
        S::f32s::from_slice(simd, &values[..S::f32s::LEN])
    }
}

/// Kept out of line: it is rare, and copies of it in every tap would drown the rest.
#[inline(never)]
fn gather(row: &[f32], at: isize, span: &Range<usize>, values: &mut [f32]) {
    let last = span.end as isize - 1;
    for (k, v) in values.iter_mut().enumerate() {
        *v = row[(at + k as isize).clamp(span.start as isize, last) as usize];
    }
}

/// Where taps of a block lie: their number in x, first column, `h`, and whether all, or only some, lanes are inside.
#[inline(always)]
fn columns<'r>(
    row: &'r Row<'_>,
    x: usize,
    lanes: usize,
) -> impl Iterator<Item = (isize, f32, bool)> + 'r {
    let r = row.kernel.radius() as isize;
    let (start, end) = (row.span.start as isize, row.span.end as isize);
    row.kernel
        .taps
        .iter()
        .zip(-r..=r)
        .filter_map(move |(h, d)| {
            let at = x as isize + d * row.step as isize;
            let whole = at >= start && at + lanes as isize <= end;
            (at + lanes as isize > start && at < end).then_some((at, *h, whole))
        })
}

#[inline(always)]
fn block<S: Simd>(
    simd: S,
    row: &Row<'_>,
    x: usize,
    weights: &mut [f32],
    out: &mut [f32],
    width: usize,
) {
    let lanes = S::f32s::LEN;
    let here = x + lanes <= row.span.end;
    let zero = S::f32s::splat(simd, 0.0);
    let dims = row.scales.len().min(MOST_PLANES);
    let mut centre = [zero; MOST_PLANES];
    for d in 0..dims {
        centre[d] = fetch(simd, row.centre[d], x as isize, here, &row.span);
    }
    let mut sum = zero;
    let mut count = 0;
    for (hy, line) in &row.lines {
        for (at, hx, whole) in columns(row, x, lanes) {
            let mut e = zero;
            for ((row_d, centre), scale) in line[..dims].iter().zip(&centre).zip(&row.scales) {
                let delta = fetch(simd, row_d, at, whole, &row.span) - *centre;
                e += delta * delta * *scale;
            }
            let mut w = if dims > 0 {
                fast_exp_simd(simd, e) * (hy * hx)
            } else {
                S::f32s::splat(simd, hy * hx)
            };
            if row.kernel.mode == super::Mode::Shared {
                w *= fetch(simd, line[dims + row.payload], at, whole, &row.span);
            }
            if !whole || row.kernel.grid > 1 {
                w *= counted(simd, row, at);
            }
            w.store_slice(&mut weights[count * lanes..][..lanes]);
            sum += w;
            count += 1;
        }
    }
    let valid = lanes.min(row.span.end - x);
    if row.kernel.mode == super::Mode::Shares {
        let one = S::f32s::splat(simd, 1.0) / sum;
        out[x..x + valid].copy_from_slice(&one.as_slice()[..valid]);
        return;
    }
    for plane in 0..row.payload {
        let squared = row.kernel.squared == Some(plane);
        let mut acc = zero;
        let mut tap = 0;
        for (_, line) in &row.lines {
            for (at, _, whole) in columns(row, x, lanes) {
                let mut w = S::f32s::from_slice(simd, &weights[tap * lanes..][..lanes]);
                if squared {
                    w *= w;
                }
                acc += fetch(simd, line[dims + plane], at, whole, &row.span) * w;
                tap += 1;
            }
        }
        let norm = if squared { sum * sum } else { sum };
        let made = acc / norm;
        out[plane * width + x..][..valid].copy_from_slice(&made.as_slice()[..valid]);
    }
    if row.kernel.grid > 1 {
        for k in 0..valid {
            if f64::from(sum.as_slice()[k]) <= LEAST {
                nearest(row, x + k, out, width);
            }
        }
    }
}

/// 1 for lanes whose tap lies inside and holds a sample, else 0.
#[inline(always)]
fn counted<S: Simd>(simd: S, row: &Row<'_>, at: isize) -> S::f32s {
    let mut values = [0.0; MOST_LANES];
    count(row, at, &mut values[..S::f32s::LEN]);
    S::f32s::from_slice(simd, &values[..S::f32s::LEN])
}

#[inline(never)]
fn count(row: &Row<'_>, at: isize, values: &mut [f32]) {
    for (k, v) in values.iter_mut().enumerate() {
        let q = at + k as isize;
        let inside = q >= row.span.start as isize && q < row.span.end as isize;
        let sampled = q.unsigned_abs().is_multiple_of(row.kernel.grid);
        *v = f32::from(u8::from(inside && sampled));
    }
}

/// A pixel without any tap that is alike: the mean of the samples around it, or what it was.
fn nearest(row: &Row<'_>, x: usize, out: &mut [f32], width: usize) {
    let dims = row.scales.len();
    for plane in 0..row.payload {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (hy, line) in &row.lines {
            for (at, hx, _) in columns(row, x, 1) {
                if at.unsigned_abs().is_multiple_of(row.kernel.grid) {
                    sum += hy * hx * line[dims + plane][at as usize];
                    weights += hy * hx;
                }
            }
        }
        out[plane * width + x] = if weights > 0.0 {
            sum / weights
        } else {
            row.centre[dims + plane][x]
        };
    }
}
