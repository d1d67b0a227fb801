//! The CPU body: pieces of rows go through one step after the other, so that all but the look-up are vectors.

use super::Settle;
use crate::definition::shrink::OPPONENT;
use crate::kernel::Job;
use crate::simd::dispatch;

/// Pixels of a piece.
const PIECE: usize = 64;

/// Cells of the table that starts the search for a knot.
const CELLS: usize = 256;

type Piece = [f32; PIECE];

pub(super) fn settle(kernel: &Settle, job: &mut Job<'_>) {
    let level = job.level;
    match (job.reads[0].planes(), kernel.back) {
        (3, false) => dispatch!(level, _simd => enter::<3>(kernel, job)),
        (3, true) => dispatch!(level, _simd => leave::<3>(kernel, job)),
        (_, false) => dispatch!(level, _simd => enter::<1>(kernel, job)),
        (_, true) => dispatch!(level, _simd => leave::<1>(kernel, job)),
    }
}

/// A piece of a row; the last is filled up with its last value.
#[inline(always)]
fn taken(row: &[f32], x: usize) -> (Piece, usize) {
    let count = PIECE.min(row.len() - x);
    let mut piece = [row[x + count - 1]; PIECE];
    piece[..count].copy_from_slice(&row[x..x + count]);
    (piece, count)
}

#[inline(always)]
fn enter<const PLANES: usize>(kernel: &Settle, job: &mut Job<'_>) {
    let by = &kernel.by;
    // Values at the knots, and the steps to the next ones.
    let knots: [Vec<[f32; 2]>; PLANES] = std::array::from_fn(|c| {
        let pairs = by.into[c].windows(2);
        pairs.map(|w| [w[0], w[1] - w[0]]).collect()
    });
    let width = job.reads[0].size().width;
    for y in job.rows.clone() {
        for x in (0..width).step_by(PIECE) {
            let mut made = [[0.0; PIECE]; PLANES];
            let mut count = 0;
            for c in 0..PLANES {
                let (piece, valid) = taken(job.reads[0].row(c, y), x);
                count = valid;
                curved(&piece, by.low, by.step, &knots[c], &mut made[c]);
            }
            let turned = mixed::<PLANES>(&made, false);
            for c in 0..PLANES {
                let scale = by.scales[c];
                let to = &mut job.writes[0].row(c, y)[x..x + count];
                for (to, v) in to.iter_mut().zip(&turned[c]) {
                    *to = v / scale;
                }
            }
        }
    }
}

/// The curve of a channel, by straight lines between knots.
#[inline(always)]
fn curved(piece: &Piece, low: f32, step: f32, knots: &[[f32; 2]], made: &mut Piece) {
    let last = knots.len() as i32 - 1;
    let mut at = [0.0f32; PIECE];
    let mut index = [0i32; PIECE];
    for i in 0..PIECE {
        at[i] = (piece[i] - low) / step;
        index[i] = (at[i].max(0.0) as i32).min(last);
        at[i] -= index[i] as f32;
    }
    let (mut value, mut rise) = ([0.0; PIECE], [0.0; PIECE]);
    for i in 0..PIECE {
        [value[i], rise[i]] = knots[index[i] as usize];
    }
    for i in 0..PIECE {
        made[i] = value[i] + rise[i] * at[i];
    }
}

/// Luminance and colour differences of red, green and blue, or the inverse.
#[inline(always)]
fn mixed<const PLANES: usize>(from: &[Piece; PLANES], back: bool) -> [Piece; PLANES] {
    if PLANES != 3 {
        return *from;
    }
    let mut made = [[0.0; PIECE]; PLANES];
    for c in 0..PLANES {
        let entry = |k: usize| if back { OPPONENT[k][c] } else { OPPONENT[c][k] };
        let [a, b, d] = [entry(0), entry(1), entry(2)];
        for i in 0..PIECE {
            made[c][i] = a * from[0][i] + b * from[1][i] + d * from[2][i];
        }
    }
    made
}

/// The inverse of a channel's curve: knots, and where in them to look for a value.
struct Inverse<'a> {
    knots: &'a [f32],
    /// For equal cells over the knots, the last knot that is not above any value of the cell.
    first: Vec<u16>,
    /// Cells for a step of one.
    scale: f32,
}

impl<'a> Inverse<'a> {
    fn new(knots: &'a [f32]) -> Self {
        let (low, high) = (knots[0], knots[knots.len() - 1]);
        let scale = CELLS as f32 / (high - low);
        let last = knots.len() - 2;
        let mut at = 0;
        let first = (0..=CELLS).map(|cell| {
            // A little less, so that rounding cannot pass the knot.
            let start = low + (cell as f32 - 0.01) / scale;
            while at < last && knots[at + 1] <= start {
                at += 1;
            }
            at as u16
        });
        Self {
            first: first.collect(),
            knots,
            scale,
        }
    }

    /// The last knot that is not above, among all but the last.
    #[inline(always)]
    fn knot(&self, v: f32) -> usize {
        let last = self.knots.len() - 2;
        let cell = ((v - self.knots[0]) * self.scale).clamp(0.0, CELLS as f32) as usize;
        let mut at = usize::from(self.first[cell.min(CELLS)]);
        while at < last && self.knots[at + 1] <= v {
            at += 1;
        }
        at
    }
}

#[inline(always)]
fn leave<const PLANES: usize>(kernel: &Settle, job: &mut Job<'_>) {
    let by = &kernel.by;
    let curves: [Inverse<'_>; PLANES] = std::array::from_fn(|c| Inverse::new(&by.back[c]));
    let width = job.reads[0].size().width;
    for y in job.rows.clone() {
        for x in (0..width).step_by(PIECE) {
            let mut scaled = [[0.0; PIECE]; PLANES];
            let mut count = 0;
            for c in 0..PLANES {
                let (piece, valid) = taken(job.reads[0].row(c, y), x);
                count = valid;
                for i in 0..PIECE {
                    scaled[c][i] = piece[i] * by.scales[c];
                }
            }
            let turned = mixed::<PLANES>(&scaled, true);
            for c in 0..PLANES {
                let curve = &curves[c];
                let (mut low, mut high) = ([0.0; PIECE], [0.0; PIECE]);
                let mut index = [0.0f32; PIECE];
                for i in 0..PIECE {
                    let at = curve.knot(turned[c][i]);
                    (low[i], high[i]) = (curve.knots[at], curve.knots[at + 1]);
                    index[i] = at as f32;
                }
                let mut made = [0.0; PIECE];
                for i in 0..PIECE {
                    let share = (turned[c][i] - low[i]) / (high[i] - low[i]);
                    made[i] = by.low + by.step * (index[i] + share);
                }
                job.writes[0].row(c, y)[x..x + count].copy_from_slice(&made[..count]);
            }
        }
    }
}
