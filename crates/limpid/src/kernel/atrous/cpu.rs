//! The CPU body for all that [`super::pairs`] does not take: SIMD across pixels, all taps of a few pixels at a time.
//!
//! Each block first makes the weights of its taps, then sums the planes with them. Sums run over the taps in order, so that
//! every layout gives the same bits. Multiply and add are one operation where the machine has it: that is a fifth of the time.

use super::{Atrous, Walk};
use crate::definition::atrous::LEAST;
use crate::kernel::fast_exp::fast_exp2_simd;
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
    /// For each row of taps inside the image: `log2` of its `h`, and its rows of the planes that weigh, then of the payload.
    lines: Vec<(f32, Vec<&'a [f32]>)>,
    /// The same rows of the pixel itself.
    centre: Vec<&'a [f32]>,
    /// Columns that taps may reach.
    span: Range<usize>,
    /// Whether rows of taps hold samples.
    kernel: &'a Atrous,
    /// `log2` of the kernel along one axis.
    logs: &'a [f32],
    /// Distance of taps in x, in pixels of the slot.
    step: usize,
    /// Planes of the payload.
    payload: usize,
    /// Planes of colour that weigh; they have one scale, and come first.
    colors: usize,
    /// How strongly the planes that weigh do so: one over σ², negative, for base 2.
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
    let logs: Vec<f32> = kernel.taps.iter().map(|h| h.log2()).collect();
    let (out, weights) = job.scratch.split_at_mut(payload * size.width);
    for y in job.rows.clone() {
        let from = kernel.source_row(size.height, y);
        let mut row = Row {
            lines: lines(kernel, &job.reads, from),
            centre: planes(kernel, &job.reads, from),
            span: 0..0,
            kernel,
            logs: &logs,
            step: kernel.spacing(),
            payload: job.reads[0].planes(),
            colors: kernel.colors_that_weigh(),
            scales: kernel.scales(),
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
            all.push((h.log2(), planes(kernel, reads, q as usize)));
        }
    }
    all
}

#[inline(always)]
fn segment<S: Simd>(simd: S, row: &Row<'_>, weights: &mut [f32], out: &mut [f32], width: usize) {
    let lanes = S::f32s::LEN;
    let reach = row.kernel.radius() * row.step;
    let plain = row.kernel.grid == 1 && row.kernel.mode == super::Mode::Mean;
    // Loops are written out for the usual numbers of colours and features that weigh, and of planes that are filtered.
    let features = row.scales.len() - row.colors;
    let written = match (row.colors, features, row.payload, row.kernel.squared) {
        _ if !plain => 0,
        (1, 0, 1, None) => 1,
        (3, 0, 3, None) => 2,
        (3, 4, 3, None) => 3,
        (3, 4, 4, Some(3)) => 4,
        (3, 7, 3, None) => 5,
        _ => 0,
    };
    let mut x = row.span.start;
    while x < row.span.end {
        // The last block overlaps the one before it, where there is one.
        let at = if x + lanes > row.span.end && row.span.len() >= lanes {
            row.span.end - lanes
        } else {
            x
        };
        let inside = |count: usize| {
            at >= row.span.start + reach && at + count * lanes + reach <= row.span.end
        };
        // Two blocks at a time where there are two: one has to wait for itself.
        let count = 1 + usize::from(inside(2));
        match (inside(1), written, count) {
            (true, 1, 2) => inner::<S, 1, 0, 1, 2, NONE>(simd, row, at, out, width),
            (true, 2, 2) => inner::<S, 3, 0, 3, 2, NONE>(simd, row, at, out, width),
            (true, 3, 2) => inner::<S, 3, 4, 3, 2, NONE>(simd, row, at, out, width),
            (true, 4, 2) => inner::<S, 3, 4, 4, 2, 3>(simd, row, at, out, width),
            (true, 5, 2) => inner::<S, 3, 7, 3, 2, NONE>(simd, row, at, out, width),
            (true, 1, _) => inner::<S, 1, 0, 1, 1, NONE>(simd, row, at, out, width),
            (true, 2, _) => inner::<S, 3, 0, 3, 1, NONE>(simd, row, at, out, width),
            (true, 3, _) => inner::<S, 3, 4, 3, 1, NONE>(simd, row, at, out, width),
            (true, 4, _) => inner::<S, 3, 4, 4, 1, 3>(simd, row, at, out, width),
            (true, 5, _) => inner::<S, 3, 7, 3, 1, NONE>(simd, row, at, out, width),
            _ => {
                block(simd, row, at, weights, out, width);
                x = at + lanes;
                continue;
            }
        }
        x = at + count * lanes;
    }
}

/// No plane goes with squared weights.
const NONE: usize = usize::MAX;

/// `N` blocks whose taps all lie inside: what [`block`] does, with everything in registers. `C` colours, the first of the `P`
/// planes that are filtered, and `F` features weigh; plane `Q` goes with squared weights.
#[inline(always)]
fn inner<
    S: Simd,
    const C: usize,
    const F: usize,
    const P: usize,
    const N: usize,
    const Q: usize,
>(
    simd: S,
    row: &Row<'_>,
    x: usize,
    out: &mut [f32],
    width: usize,
) {
    let lanes = S::f32s::LEN;
    let zero = S::f32s::splat(simd, 0.0);
    let first = x - row.kernel.radius() * row.step;
    let mut color = [[zero; N]; C];
    let mut feature = [[zero; N]; F];
    let mut scales = [0.0; F];
    for c in 0..C {
        for n in 0..N {
            color[c][n] = S::f32s::from_slice(simd, &row.centre[c][x + n * lanes..][..lanes]);
        }
    }
    for f in 0..F {
        for n in 0..N {
            let at = x + n * lanes;
            feature[f][n] = S::f32s::from_slice(simd, &row.centre[C + f][at..][..lanes]);
        }
        scales[f] = row.scales[C + f];
    }
    let scale = S::f32s::splat(simd, row.scales[0]);
    let mut sum = [zero; N];
    let mut sums = [[zero; N]; P];
    for (hy, line) in &row.lines {
        let line = &line[..C + F + P];
        let mut from = first;
        for hx in row.logs {
            let mut e = [zero; N];
            let mut values = [[zero; N]; P];
            for n in 0..N {
                let at = from + n * lanes;
                for p in 0..P {
                    values[p][n] = S::f32s::from_slice(simd, &line[C + F + p][at..at + lanes]);
                }
                let mut squares = zero;
                for c in 0..C {
                    let delta = values[c][n] - color[c][n];
                    squares = delta.mul_add(delta, squares);
                }
                e[n] = squares.mul_add(scale, S::f32s::splat(simd, hy + hx));
                for f in 0..F {
                    let value = S::f32s::from_slice(simd, &line[C + f][at..at + lanes]);
                    let delta = value - feature[f][n];
                    e[n] = (delta * scales[f]).mul_add(delta, e[n]);
                }
            }
            for n in 0..N {
                let w = fast_exp2_simd(simd, e[n]);
                sum[n] += w;
                for p in 0..P {
                    let w = if p == Q { w * w } else { w };
                    sums[p][n] = values[p][n].mul_add(w, sums[p][n]);
                }
            }
            from += row.step;
        }
    }
    for p in 0..P {
        for n in 0..N {
            let norm = if p == Q { sum[n] * sum[n] } else { sum[n] };
            let to = &mut out[p * width + x + n * lanes..][..lanes];
            (sums[p][n] / norm).store_slice(to);
        }
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

/// Where taps of a block lie: first column, `log2 h`, and whether all, or only some, lanes are inside.
#[inline(always)]
fn columns<'r>(
    row: &'r Row<'_>,
    x: usize,
    lanes: usize,
) -> impl Iterator<Item = (isize, f32, bool)> + 'r {
    let r = row.kernel.radius() as isize;
    let (start, end) = (row.span.start as isize, row.span.end as isize);
    row.logs.iter().zip(-r..=r).filter_map(move |(h, d)| {
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
            let mut squares = zero;
            for c in 0..row.colors {
                let delta = fetch(simd, line[c], at, whole, &row.span) - centre[c];
                squares = delta.mul_add(delta, squares);
            }
            let mut e = S::f32s::splat(simd, hy + hx);
            if row.colors > 0 {
                e = squares.mul_add(S::f32s::splat(simd, row.scales[0]), e);
            }
            for f in row.colors..dims {
                let delta = fetch(simd, line[f], at, whole, &row.span) - centre[f];
                e = (delta * row.scales[f]).mul_add(delta, e);
            }
            let mut w = if dims > 0 {
                fast_exp2_simd(simd, e)
            } else {
                S::f32s::splat(simd, (hy + hx).exp2())
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
                acc = fetch(simd, line[dims + plane], at, whole, &row.span).mul_add(w, acc);
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
                    let h = (hy + hx).exp2();
                    sum += h * line[dims + plane][at as usize];
                    weights += h;
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
