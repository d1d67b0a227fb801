//! The CPU body: sums over the window, tap by tap along rows.

use super::{DEVIATIONS, Guard, RADIUS};
use fearless_simd::Simd;
use limpid_core::simd::dispatch;
use limpid_plan::{Job, View};

const SIDE: usize = 2 * RADIUS + 1;

pub(super) fn scratch(width: usize) -> usize {
    (SIDE + 2) * width
}

pub(super) fn run(kernel: &Guard, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

#[inline(always)]
fn rows<S: Simd>(_simd: S, kernel: &Guard, job: &mut Job<'_>) {
    let size = job.reads[0].size();
    let width = size.width;
    let (ring, rest) = job.scratch.split_at_mut(SIDE * width);
    let (mean, rest) = rest.split_at_mut(width);
    let squares = &mut rest[..width];
    let mut next = job.rows.start.saturating_sub(RADIUS);
    for y in job.rows.clone() {
        let window = y.saturating_sub(RADIUS)..(y + RADIUS + 1).min(size.height);
        while next < window.end {
            let row = &mut ring[next % SIDE * width..][..width];
            luminance(kernel, &job.reads[0], next, row);
            next += 1;
        }
        let row = |j: usize| &ring[j % SIDE * width..][..width];
        let own = row(y);
        let count = |x: usize| {
            let columns = (x + RADIUS + 1).min(width) - x.saturating_sub(RADIUS);
            (columns * window.len() - 1).max(1) as f32
        };
        mean.fill(0.0);
        for j in window.clone() {
            taps(width, j == y, |to, from| {
                for (m, l) in mean[to.clone()].iter_mut().zip(&row(j)[from]) {
                    *m += l;
                }
            });
        }
        for x in 0..width {
            mean[x] /= count(x);
        }
        squares.fill(0.0);
        for j in window.clone() {
            taps(width, j == y, |to, from| {
                let means = &mean[to.clone()];
                for ((s, l), m) in squares[to].iter_mut().zip(&row(j)[from]).zip(means) {
                    *s += (l - m) * (l - m);
                }
            });
        }
        // From here on `squares` holds the factors.
        for x in 0..width {
            let limit = mean[x] + DEVIATIONS * (squares[x] / count(x)).sqrt();
            squares[x] = if own[x] > limit && limit > 0.0 {
                limit / own[x]
            } else {
                1.0
            };
        }
        for (plane, power) in kernel.powers.planes.iter().enumerate() {
            let (from, to) = (job.reads[0].row(plane, y), job.writes[0].row(plane, y));
            for ((t, f), s) in to.iter_mut().zip(from).zip(&*squares) {
                *t = match power {
                    0 => *f,
                    1 => f * s,
                    _ => f * s * s,
                };
            }
            if kernel.half {
                limpid_plan::half::round(to);
            }
        }
    }
}

/// Columns of each tap of a row: those written and those read. The middle one is left out if requested.
#[inline(always)]
fn taps(
    width: usize,
    skip: bool,
    mut each: impl FnMut(std::ops::Range<usize>, std::ops::Range<usize>),
) {
    for i in 0..SIDE {
        if skip && i == RADIUS {
            continue;
        }
        let start = RADIUS.saturating_sub(i);
        let end = (width + RADIUS).saturating_sub(i).min(width);
        if start < end {
            each(start..end, start + i - RADIUS..end + i - RADIUS);
        }
    }
}

#[inline(always)]
fn luminance(kernel: &Guard, view: &View<'_>, y: usize, out: &mut [f32]) {
    let weights = kernel.weights();
    out.fill(0.0);
    for k in 0..kernel.colors {
        for (o, v) in out.iter_mut().zip(view.row(k, y)) {
            *o += weights[k] * v;
        }
    }
}
