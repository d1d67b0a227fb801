//! The CPU body for pixels that stay in their rows: each weight is made once, and serves both of its pixels.
//!
//! Rows that are taps of each other are worked on from top to bottom. Of a row and those below it the weights are made, used,
//! and kept until the rows below are the ones worked on; of its own row's they are made on the spot. Rows are
//! copied with margins so far from every colour and feature that they weigh nothing: borders need no tests.

use super::{Atrous, Mode, Walk};
use crate::kernel::Job;
use crate::kernel::fast_exp::fast_exp2_simd;
use crate::kernel::stream;
use fearless_simd::{dispatch, prelude::*};

/// What the margins hold in planes that weigh: its square is finite.
const FAR: f32 = 1e18;

/// Rows are filled up to a multiple of the columns that are made at once.
const ROUND: usize = 32;

/// No plane goes with squared weights.
const NONE: usize = usize::MAX;

/// Runs the kernel, if this is for it.
pub(super) fn run(kernel: &Atrous, job: &mut Job<'_>) -> bool {
    let level = job.level;
    match case(kernel) {
        Some((1, 0, 1, None)) => {
            dispatch!(level, simd => rows::<_, 1, 0, 1, 2, NONE>(simd, kernel, job));
        }
        Some((3, 0, 3, None)) => {
            dispatch!(level, simd => rows::<_, 3, 0, 3, 2, NONE>(simd, kernel, job));
        }
        Some((3, 4, 3, None)) => {
            dispatch!(level, simd => rows::<_, 3, 4, 3, 2, NONE>(simd, kernel, job));
        }
        Some((3, 4, 4, Some(3))) => {
            dispatch!(level, simd => rows::<_, 3, 4, 4, 2, 3>(simd, kernel, job));
        }
        Some((3, 7, 3, None)) => {
            dispatch!(level, simd => rows::<_, 3, 7, 3, 2, NONE>(simd, kernel, job));
        }
        _ => return false,
    }
    true
}

/// Colours that weigh, features, planes that are filtered, and the plane with squared weights.
fn case(kernel: &Atrous) -> Option<(usize, usize, usize, Option<usize>)> {
    let mirrored = kernel.taps.iter().eq(kernel.taps.iter().rev());
    let here = kernel.walk == Walk::Dilated && kernel.mode == Mode::Mean && kernel.grid == 1;
    (here && mirrored).then(|| {
        let features = kernel.stops.features.len();
        let colors = kernel.colors_that_weigh();
        (colors, features, kernel.planes, kernel.squared)
    })
}

/// How the scratch memory is cut.
#[derive(Debug, Clone, Copy)]
struct Rooms {
    /// Taps to each side, and their distance.
    radius: usize,
    step: usize,
    width: usize,
    /// Planes of a row: the payload, then features.
    planes: usize,
    payload: usize,
}

impl Rooms {
    fn new(kernel: &Atrous, width: usize) -> Self {
        Self {
            radius: kernel.radius(),
            step: kernel.spacing(),
            width,
            planes: kernel.planes + kernel.stops.features.len(),
            payload: kernel.planes,
        }
    }

    fn side(self) -> usize {
        2 * self.radius + 1
    }

    fn margin(self) -> usize {
        self.radius * self.step
    }

    fn padded(self) -> usize {
        self.width.next_multiple_of(ROUND)
    }

    /// Words of a row with its margins.
    fn stride(self) -> usize {
        self.padded() + 2 * self.margin()
    }

    /// Words for the rows of taps.
    fn taps(self) -> usize {
        self.side() * self.planes * self.stride()
    }

    /// Words for the weights with rows below.
    fn weights(self) -> usize {
        (self.radius + 1) * self.radius * self.side() * self.stride()
    }

    /// Where a plane of a row of taps begins.
    fn tap(self, row: usize, plane: usize) -> usize {
        (row / self.step % self.side() * self.planes + plane) * self.stride()
    }

    /// Where the weights of a row with the row `down` below it begin, for the tap `i` of it.
    fn weight(self, row: usize, down: usize, i: usize) -> usize {
        let row = row / self.step % (self.radius + 1);
        ((row * self.radius + down - 1) * self.side() + i) * self.stride()
    }
}

/// Words of scratch memory.
pub(super) fn scratch(kernel: &Atrous, width: usize) -> usize {
    let rooms = Rooms::new(kernel, width);
    case(kernel).map_or(0, |_| {
        rooms.taps() + rooms.weights() + rooms.payload * rooms.padded()
    })
}

#[inline(always)]
fn rows<S, const C: usize, const F: usize, const P: usize, const N: usize, const Q: usize>(
    simd: S,
    kernel: &Atrous,
    job: &mut Job<'_>,
) where
    S: Simd,
{
    let size = job.reads[0].size();
    let rooms = Rooms::new(kernel, size.width);
    let (step, reach) = (rooms.step, rooms.margin());
    let (taps, rest) = job.scratch.split_at_mut(rooms.taps());
    let (weights, rest) = rest.split_at_mut(rooms.weights());
    let out = &mut rest[..P * rooms.padded()];
    weights.fill(0.0);
    for (k, plane) in taps.chunks_exact_mut(rooms.stride()).enumerate() {
        let weighs = k % rooms.planes < C || k % rooms.planes >= P;
        plane.fill(if weighs { FAR } else { 0.0 });
    }
    let factors = Factors::<F>::new(kernel);
    let logs: Vec<f32> = kernel.taps.iter().map(|h| h.log2()).collect();
    for first in job.rows.clone().take(step) {
        // The rows above give weights.
        let mut y = first - (first / step).min(rooms.radius) * step;
        let mut next = y;
        while y < job.rows.end {
            while next < size.height.min(y + reach + 1) {
                for plane in 0..rooms.planes {
                    let row = match plane.checked_sub(P) {
                        None => job.reads[0].row(plane, next),
                        Some(feature) => job.reads[1].row(feature, next),
                    };
                    taps[rooms.tap(next, plane) + reach..][..size.width].copy_from_slice(row);
                }
                next += step;
            }
            let at = At::new(&rooms, &logs, (y, size.height), y < first);
            let wanted = next < size.height && y + step < job.rows.end;
            for x in (0..rooms.padded()).step_by(N * S::f32s::LEN) {
                block::<S, C, F, P, N, Q>(simd, (&rooms, &factors), &at, x, (taps, weights, out));
                if wanted {
                    for plane in 0..P {
                        let row = job.reads[0].row(plane, next);
                        stream::prefetch::<false>(row, x);
                        stream::prefetch::<false>(row, x + S::f32s::LEN);
                    }
                }
            }
            if y >= first {
                for plane in 0..P {
                    let made = &mut out[plane * rooms.padded()..][..size.width];
                    if kernel.half {
                        crate::kernel::half::round(made);
                    }
                    job.writes[0].row(plane, y).copy_from_slice(made);
                }
            }
            y += step;
        }
    }
}

/// How strongly what weighs.
struct Factors<const F: usize> {
    /// What a pixel weighs for itself.
    own: f32,
    /// One over σ², negative, for base 2.
    color: f32,
    features: [f32; F],
}

impl<const F: usize> Factors<F> {
    fn new(kernel: &Atrous) -> Self {
        let (scales, colors) = (kernel.scales(), kernel.colors_that_weigh());
        let mut features = [0.0; F];
        features.copy_from_slice(&scales[colors..]);
        Self {
            own: kernel.taps[kernel.radius()].powi(2),
            color: scales[0],
            features,
        }
    }
}

/// A tap of all pixels of a row: where it and its weight are for the first of them, and `log2 h`.
struct Tap {
    from: usize,
    weight: usize,
    log: f32,
}

/// The row that is worked on.
struct At {
    /// Where it is.
    row: usize,
    /// Taps in rows below, whose weights are kept; in the row itself; and in rows above, whose weights are there. Without the last
    /// two only weights are made.
    below: Vec<Tap>,
    beside: Vec<Tap>,
    above: Vec<Tap>,
}

impl At {
    fn new(rooms: &Rooms, logs: &[f32], (y, height): (usize, usize), only_weights: bool) -> Self {
        let (r, step) = (rooms.radius, rooms.step);
        let tap = |row: usize, i: usize, weight: usize, down: usize| Tap {
            from: rooms.tap(row, 0) + i * step,
            weight,
            log: logs[r + down] + logs[i],
        };
        let side = |down: usize| (0..rooms.side()).map(move |i| (down, i));
        let below = (1..=((height - 1 - y) / step).min(r)).rev().flat_map(side);
        let mut at = Self {
            row: rooms.tap(y, 0) + rooms.margin(),
            below: below
                .map(|(down, i)| {
                    let weight = rooms.weight(y, down, i) + rooms.margin();
                    tap(y + down * step, i, weight, down)
                })
                .collect(),
            beside: Vec::new(),
            above: Vec::new(),
        };
        if only_weights {
            return at;
        }
        at.beside = side(0)
            .filter(|(_, i)| *i != r)
            .map(|(_, i)| tap(y, i, 0, 0))
            .collect();
        at.above = (1..=(y / step).min(r))
            .flat_map(side)
            .map(|(up, i)| {
                // The pixel whose tap `i` this one is.
                let back = rooms.side() - 1 - i;
                let weight = rooms.weight(y - up * step, up, i) + back * step;
                tap(y - up * step, back, weight, up)
            })
            .collect();
        at
    }
}

/// Rows of taps, weights, and a row for each result.
type Memory<'a> = (&'a [f32], &'a mut [f32], &'a mut [f32]);

/// `N` vectors side by side: one test of bounds for all.
#[inline(always)]
fn load<S: Simd, const N: usize>(simd: S, memory: &[f32], at: usize) -> [S::f32s; N] {
    let lanes = S::f32s::LEN;
    let line = &memory[at..][..N * lanes];
    let mut values = [S::f32s::splat(simd, 0.0); N];
    for n in 0..N {
        values[n] = S::f32s::from_slice(simd, &line[n * lanes..(n + 1) * lanes]);
    }
    values
}

/// `N` vectors of a row. `C` colours, the first of the `P` planes that are filtered, and `F` features weigh; plane `Q` goes with
/// squared weights.
#[inline(always)]
fn block<S, const C: usize, const F: usize, const P: usize, const N: usize, const Q: usize>(
    simd: S,
    (rooms, factors): (&Rooms, &Factors<F>),
    at: &At,
    x: usize,
    (taps, weights, out): Memory<'_>,
) where
    S: Simd,
{
    let lanes = S::f32s::LEN;
    let zero = S::f32s::splat(simd, 0.0);
    let stride = rooms.stride();
    let mut value = [[zero; N]; P];
    let mut feature = [[zero; N]; F];
    for p in 0..P {
        value[p] = load(simd, taps, at.row + x + p * stride);
    }
    for f in 0..F {
        feature[f] = load(simd, taps, at.row + x + (P + f) * stride);
    }
    let color = S::f32s::splat(simd, factors.color);
    let mut sum = [S::f32s::splat(simd, factors.own); N];
    let mut sums = value;
    for p in 0..P {
        for n in 0..N {
            sums[p][n] *= if p == Q {
                factors.own * factors.own
            } else {
                factors.own
            };
        }
    }
    for (list, keeps) in [(&at.below, true), (&at.beside, false)] {
        for tap in list {
            let there = tap.from + x;
            let mut values = [[zero; N]; P];
            for p in 0..P {
                values[p] = load(simd, taps, there + p * stride);
            }
            let mut e = [S::f32s::splat(simd, tap.log); N];
            for n in 0..N {
                let mut squares = zero;
                for c in 0..C {
                    let delta = values[c][n] - value[c][n];
                    squares = delta.mul_add(delta, squares);
                }
                e[n] = squares.mul_add(color, e[n]);
            }
            for f in 0..F {
                let other: [_; N] = load(simd, taps, there + (P + f) * stride);
                for n in 0..N {
                    let delta = other[n] - feature[f][n];
                    e[n] = (delta * factors.features[f]).mul_add(delta, e[n]);
                }
            }
            let mut kept = if keeps {
                Some(&mut weights[tap.weight + x..][..N * lanes])
            } else {
                None
            };
            for n in 0..N {
                let w = fast_exp2_simd(simd, e[n]);
                if let Some(kept) = &mut kept {
                    w.store_slice(&mut kept[n * lanes..(n + 1) * lanes]);
                }
                sum[n] += w;
                for p in 0..P {
                    let w = if p == Q { w * w } else { w };
                    sums[p][n] = values[p][n].mul_add(w, sums[p][n]);
                }
            }
        }
    }
    if at.beside.is_empty() {
        return;
    }
    for tap in &at.above {
        let w: [_; N] = load(simd, weights, tap.weight + x);
        for n in 0..N {
            sum[n] += w[n];
        }
        for p in 0..P {
            let value: [_; N] = load(simd, taps, tap.from + x + p * stride);
            for n in 0..N {
                let w = if p == Q { w[n] * w[n] } else { w[n] };
                sums[p][n] = value[n].mul_add(w, sums[p][n]);
            }
        }
    }
    for p in 0..P {
        for n in 0..N {
            let norm = if p == Q { sum[n] * sum[n] } else { sum[n] };
            let to = &mut out[p * rooms.padded() + x + n * lanes..][..lanes];
            (sums[p][n] / norm).store_slice(to);
        }
    }
}
