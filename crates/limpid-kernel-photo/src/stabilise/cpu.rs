//! The CPU body: segments of rows pass through one step after the other, so that everything except the look-up is vectorised.

use super::Stabilise;
use fearless_simd::{Simd, SimdBase, SimdCvtFloat, SimdCvtTruncate, f32x16, i32x16};
use limpid_core::simd::dispatch;
use limpid_plan::Job;
use limpid_reference::definition::shrink::OPPONENT;

/// Pixels of a segment.
const PIECE: usize = 64;

/// Cells of the table at which the search for a knot starts: so many that the search mostly ends at the first or second knot.
const CELLS: usize = 2048;

/// Values of a vector.
const LANES: usize = 16;

type Piece = [f32; PIECE];

pub(super) fn stabilise(kernel: &Stabilise, job: &mut Job<'_>) {
    let level = job.level;
    match (job.reads[0].planes(), kernel.back) {
        (3, false) => dispatch!(level, simd => enter::<_, 3>(simd, kernel, job)),
        (3, true) => dispatch!(level, simd => leave::<_, 3>(simd, kernel, job)),
        (_, false) => dispatch!(level, simd => enter::<_, 1>(simd, kernel, job)),
        (_, true) => dispatch!(level, simd => leave::<_, 1>(simd, kernel, job)),
    }
}

/// A segment of a row; the last one is padded with its last value.
#[inline(always)]
fn taken(row: &[f32], x: usize) -> (Piece, usize) {
    let count = PIECE.min(row.len() - x);
    let mut piece = [row[x + count - 1]; PIECE];
    piece[..count].copy_from_slice(&row[x..x + count]);
    (piece, count)
}

#[inline(always)]
fn enter<S: Simd, const PLANES: usize>(simd: S, kernel: &Stabilise, job: &mut Job<'_>) {
    let by = &kernel.by;
    // Values at the knots, and the differences to the next ones.
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
                let [low, step] = [by.low, by.step];
                curved(simd, &piece, [low, step], &knots[c], &mut made[c]);
            }
            let turned = mixed::<PLANES>(&made, false);
            for c in 0..PLANES {
                let scale = 1.0 / by.scales[c];
                let to = &mut job.writes[0].row(c, y)[x..x + count];
                for (to, v) in to.iter_mut().zip(&turned[c]) {
                    *to = v * scale;
                }
            }
        }
    }
}

/// The curve of a channel, by linear interpolation between knots.
#[inline(always)]
fn curved<S: Simd>(
    simd: S,
    piece: &Piece,
    [low, step]: [f32; 2],
    knots: &[[f32; 2]],
    made: &mut Piece,
) {
    let (at, index) = places(simd, piece, [low, 1.0 / step], knots.len() as i32 - 1);
    let (mut value, mut rise) = ([0.0; PIECE], [0.0; PIECE]);
    for i in 0..PIECE {
        [value[i], rise[i]] = knots[index[i] as usize];
    }
    for i in 0..PIECE {
        made[i] = value[i] + rise[i] * at[i];
    }
}

/// Locates values among positions that start at `low`, with `scale` positions per unit: returns the position, at most `last`,
/// and the fraction. Uses explicit vectors, because casts from float to integer do not vectorise: they saturate.
#[inline(always)]
fn places<S: Simd>(
    simd: S,
    values: &Piece,
    [low, scale]: [f32; 2],
    last: i32,
) -> (Piece, [i32; PIECE]) {
    let (mut beyond, mut index) = ([0.0; PIECE], [0; PIECE]);
    for i in (0..PIECE).step_by(LANES) {
        let value = f32x16::from_slice(simd, &values[i..i + LANES]);
        let at = (value - low) * scale;
        let whole = i32x16::truncate_from(at.max(0.0).min(last as f32));
        // NaN maps to the first position.
        let whole = whole.max(0).min(last);
        (at - f32x16::float_from(whole)).store_slice(&mut beyond[i..i + LANES]);
        whole.store_slice(&mut index[i..i + LANES]);
    }
    (beyond, index)
}

/// Converts red, green and blue to luminance and colour differences, or back.
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

/// The inverse of a channel's curve: line segments, and a table for finding the one of a value.
struct Inverse {
    /// For each segment the value where it starts, the value where the next one does, its result there, and its slope.
    lines: Vec<[f32; 4]>,
    /// For equal cells over the values, the last segment that starts at or below all values of the cell.
    first: Vec<u16>,
    low: f32,
    /// Cells per unit.
    scale: f32,
}

impl Inverse {
    fn new(knots: &[f32], low: f32, step: f32) -> Self {
        let mut lines: Vec<[f32; 4]> = (knots.windows(2).enumerate())
            .map(|(i, w)| [w[0], w[1], low + step * i as f32, step / (w[1] - w[0])])
            .collect();
        let (from, to) = (knots[0], knots[knots.len() - 1]);
        let scale = CELLS as f32 / (to - from);
        let mut at = 0;
        let first = (0..=CELLS).map(|cell| {
            // Slightly less, so that rounding cannot skip the knot.
            let start = from + (cell as f32 - 0.01) / scale;
            while at + 1 < lines.len() && lines[at][1] <= start {
                at += 1;
            }
            at as u16
        });
        let first = first.collect();
        // No value is beyond the last segment, not even infinity.
        if let Some(last) = lines.last_mut() {
            last[1] = f32::NAN;
        }
        Self {
            first,
            lines,
            low: from,
            scale,
        }
    }

    /// The results for a segment of values.
    #[inline(always)]
    fn of<S: Simd>(&self, simd: S, values: &Piece, made: &mut Piece) {
        let (_, cells) = places(simd, values, [self.low, self.scale], CELLS as i32);
        for i in 0..PIECE {
            let v = values[i];
            let at = usize::from(self.first[cells[i] as usize]);
            let mut at = at + usize::from(self.lines[at][1] <= v);
            while self.lines[at][1] <= v {
                at += 1;
            }
            let [low, _, base, slope] = self.lines[at];
            made[i] = base + slope * (v - low);
        }
    }
}

#[inline(always)]
fn leave<S: Simd, const PLANES: usize>(simd: S, kernel: &Stabilise, job: &mut Job<'_>) {
    let by = &kernel.by;
    let curves: [Inverse; PLANES] =
        std::array::from_fn(|c| Inverse::new(&by.back[c], by.low, by.step));
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
                let mut made = [0.0; PIECE];
                curves[c].of(simd, &turned[c], &mut made);
                job.writes[0].row(c, y)[x..x + count].copy_from_slice(&made[..count]);
            }
        }
    }
}
