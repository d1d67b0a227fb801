//! Rows of taps on the CPU, copied so that loops over them need no border handling.
//!
//! A filter whose taps are `step` pixels apart reads `2 radius + 1` rows at a time. They are kept in a ring buffer: each row
//! once, all its planes side by side, with margins whose first plane differs so much from every value that they have no weight.
//! The copies also avoid cache conflicts: in a slot, planes are often a multiple of 4096 bytes apart.

use fearless_simd::f32x16;
use fearless_simd::prelude::*;
use std::ops::Range;

/// Columns computed together: a strip.
pub const WIDTH: usize = 64;
/// Lanes of a vector, and vectors of a strip.
const LANES: usize = 16;
pub const PIECES: usize = WIDTH / LANES;

/// The value of the first plane in the margins: its square is finite.
const FAR: f32 = 1e18;

/// Exponents below which weights are negligible beside that of the pixel itself. Smaller weights would be slow: their squares
/// are subnormal.
pub const SMALLEST: f32 = -62.0;
/// The exponent of 0.
pub const NEVER: f32 = -127.0;

/// One value for each column of a strip.
pub type Strip = [[f32; LANES]; PIECES];
/// The same in registers.
pub type Vectors<S> = [f32x16<S>; PIECES];

/// Layout of the rows of taps.
#[derive(Debug, Clone)]
pub struct Ring {
    radius: usize,
    step: usize,
    planes: usize,
    /// Ranges of columns within which taps may reach each other.
    spans: Vec<Range<usize>>,
    /// Margin before the first column of a plane.
    left: usize,
    /// Words of a plane.
    stride: usize,
    /// Number of output columns.
    made: usize,
}

/// A tap.
#[derive(Debug, Clone, Copy)]
pub struct Tap {
    /// Position of the first plane of its row, shifted by its offset in x.
    pub at: usize,
    /// Its index along x and y, starting at 0.
    pub place: [usize; 2],
}

impl Ring {
    pub fn new(radius: usize, step: usize, planes: usize, spans: Vec<Range<usize>>) -> Self {
        let margin = radius * step;
        let columns: usize = spans.iter().map(|s| s.len() + margin).sum();
        let made = columns.saturating_sub(margin).next_multiple_of(WIDTH);
        let left = margin.next_multiple_of(LANES);
        let stride = (left + made + margin).next_multiple_of(LANES);
        Self {
            radius,
            step,
            planes,
            spans,
            left,
            // An odd number of cache lines.
            stride: if (stride / LANES).is_multiple_of(2) {
                stride + LANES
            } else {
                stride
            },
            made,
        }
    }

    /// Number of output columns, in whole strips.
    #[inline]
    pub fn made(&self) -> usize {
        self.made
    }

    /// Stride between planes in words.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Words of all rows.
    #[inline]
    pub fn words(&self) -> usize {
        (2 * self.radius + 1) * self.planes * self.stride
    }

    /// Fills the margins.
    pub fn clear(&self, memory: &mut [f32]) {
        for (k, plane) in memory[..self.words()]
            .chunks_exact_mut(self.stride)
            .enumerate()
        {
            plane.fill(if k.is_multiple_of(self.planes) {
                FAR
            } else {
                0.0
            });
        }
    }

    /// Position of the first output column of the first plane of a row.
    #[inline]
    pub fn row(&self, y: usize) -> usize {
        y / self.step % (2 * self.radius + 1) * self.planes * self.stride + self.left
    }

    /// The spans, each with its first column in a plane, relative to the first output column.
    #[inline]
    pub fn columns(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let mut at = 0;
        self.spans.iter().map(move |span| {
            let start = at;
            at += span.len() + self.radius * self.step;
            (start, span.clone())
        })
    }

    /// Copies a row into a plane, scaled.
    #[inline(always)]
    pub fn copy(&self, memory: &mut [f32], (y, plane): (usize, usize), from: &[f32], scale: f32) {
        let to = &mut memory[self.row(y) + plane * self.stride..][..self.made];
        for (at, span) in self.columns() {
            let to = &mut to[at..at + span.len()];
            for (to, v) in to.iter_mut().zip(&from[span]) {
                *to = v * scale;
            }
        }
    }

    /// The rows of a band in an order in which rows that share taps are consecutive.
    #[inline]
    pub fn order(&self, rows: Range<usize>) -> impl Iterator<Item = usize> + use<> {
        let step = self.step;
        let starts = rows.clone().take(step);
        starts.flat_map(move |first| (first..rows.end).step_by(step))
    }

    /// The rows of taps for a row in an image of this height: the index of the tap, starting at 0, and the row.
    #[inline]
    pub fn tap_rows(&self, height: usize, y: usize) -> Vec<(usize, usize)> {
        let row = |tap: usize| {
            let q = (y + tap * self.step).checked_sub(self.radius * self.step)?;
            (q < height).then_some((tap, q))
        };
        (0..=2 * self.radius).filter_map(row).collect()
    }

    /// Lists the taps of a row: those in these rows, each with its index along y.
    #[inline]
    pub fn taps(&self, rows: &[(usize, usize)], taps: &mut Vec<Tap>) {
        taps.clear();
        for (j, row) in rows {
            for i in 0..=2 * self.radius {
                taps.push(Tap {
                    at: self.row(*row) + i * self.step - self.radius * self.step,
                    place: [i, *j],
                });
            }
        }
    }

    /// Passes the results of a row to `put`, span by span.
    pub fn put(&self, made: &[f32], mut put: impl FnMut(Range<usize>, &[f32])) {
        for (at, span) in self.columns() {
            put(span.clone(), &made[at..at + span.len()]);
        }
    }
}

/// The rows that a ring holds.
#[derive(Debug)]
pub struct HeldRows(Vec<Option<usize>>);

impl HeldRows {
    pub fn new(ring: &Ring) -> Self {
        Self(vec![None; 2 * ring.radius + 1])
    }

    /// Whether a row has to be copied; it counts as held afterwards.
    #[inline]
    pub fn lacks(&mut self, ring: &Ring, y: usize) -> bool {
        let slot = &mut self.0[y / ring.step % (2 * ring.radius + 1)];
        slot.replace(y) != Some(y)
    }
}

/// Loads the vectors of a strip from a position in memory.
#[inline(always)]
pub fn load<S: Simd>(simd: S, memory: &[f32], at: usize) -> Vectors<S> {
    let line = &memory[at..at + WIDTH];
    let mut all = [f32x16::splat(simd, 0.0); PIECES];
    for (k, v) in all.iter_mut().enumerate() {
        *v = f32x16::from_slice(simd, &line[k * LANES..(k + 1) * LANES]);
    }
    all
}

/// The vectors of a strip.
#[inline(always)]
pub fn vectors<S: Simd>(simd: S, strip: &Strip) -> Vectors<S> {
    let mut all = [f32x16::splat(simd, 0.0); PIECES];
    for k in 0..PIECES {
        all[k] = f32x16::load_array_ref(simd, &strip[k]);
    }
    all
}

/// Stores vectors in a strip.
#[inline(always)]
pub fn store<S: Simd>(vectors: Vectors<S>, strip: &mut Strip) {
    for k in 0..PIECES {
        vectors[k].store_array(&mut strip[k]);
    }
}

/// Stores vectors side by side.
#[inline(always)]
pub fn put<S: Simd>(vectors: Vectors<S>, out: &mut [f32], x: usize) {
    let (to, _) = out[x..x + WIDTH].as_chunks_mut();
    for k in 0..PIECES {
        vectors[k].store_array(&mut to[k]);
    }
}

/// `Σ w v` over taps of a plane that lies `plane` words after their first one; `Σ w² v` if `squared`.
#[inline(always)]
pub fn sum<S: Simd>(
    simd: S,
    (memory, plane): (&[f32], usize),
    taps: &[Tap],
    weights: &[Strip],
    squared: bool,
) -> Vectors<S> {
    let mut sums = [f32x16::splat(simd, 0.0); PIECES];
    for (tap, weights) in taps.iter().zip(weights) {
        let values = load(simd, memory, tap.at + plane);
        let weights = vectors(simd, weights);
        for k in 0..PIECES {
            let w = if squared {
                weights[k] * weights[k]
            } else {
                weights[k]
            };
            sums[k] = values[k].mul_add(w, sums[k]);
        }
    }
    sums
}
