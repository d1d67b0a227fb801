//! The CPU body of 3×3 convolutions: tiles of 4×4 outputs by the fast algorithm of Winograd (Lavin and Gray 2016, F(4×4, 3×3)),
//! with a quarter of the multiplications.
//!
//! A tile of 6×6 inputs is transformed to 36 values, as the kernels are in the table. For each of these values all inputs of a
//! row of tiles are multiplied by all weights, and the sums are transformed back. Tiles start at multiples of 4, whatever the
//! band, so that the result does not depend on it.

use super::product::{lanes, products};
use super::{Convolve, Into, OUTS, Source};
use fearless_simd::prelude::*;
use limpid_core::simd::dispatch;
use limpid_plan::{Job, View, ViewMut};
use limpid_reference::definition::network::{Convolution, LEAK};

/// Outputs of a tile along an axis.
const TILE: usize = 4;
/// Inputs of a tile along an axis, and of the whole tile.
const SIDE: usize = 6;
const AREA: usize = SIDE * SIDE;

/// The largest number of tiles side by side, on targets with vectors of 16 and with shorter ones.
const MANY: usize = 48;
const FEW: usize = 24;

/// Values of every fourth column of a row, with a tile on each side.
const LINE: usize = MANY + 2;

/// Words for the rows of an input, and for the transformed inputs and outputs of a row of tiles.
pub(super) fn scratch(kernel: &Convolve) -> usize {
    SIDE * TILE * LINE + AREA * MANY * (kernel.inputs + kernel.outputs)
}

/// Biases, then for each value of a transformed kernel, block of outputs, and input: the weights of the block.
pub(super) fn table(from: &Convolution) -> Vec<u32> {
    let mut weights = vec![0.0f32; AREA * from.outputs * from.inputs];
    let plane = from.outputs * from.inputs;
    for o in 0..from.outputs {
        for i in 0..from.inputs {
            let at = (o / OUTS * from.inputs + i) * OUTS + o % OUTS;
            let kernel = |y: usize, x: usize| f64::from(from.weight(o, i, 3 * y + x));
            for (k, v) in transformed(kernel).into_iter().flatten().enumerate() {
                weights[k * plane + at] = v as f32;
            }
        }
    }
    (from.bias.iter().chain(&weights))
        .map(|v| v.to_bits())
        .collect()
}

/// A kernel at the points 0, 1, -1, 2, -2 and infinity along both axes.
fn transformed(kernel: impl Fn(usize, usize) -> f64) -> [[f64; SIDE]; SIDE] {
    let line = |[a, b, c]: [f64; 3]| {
        let (even, odd) = ((a + c) / 6.0, b / 6.0);
        let (far, slope) = (a / 24.0 + c / 6.0, b / 12.0);
        [
            a / 4.0,
            -even - odd,
            odd - even,
            far + slope,
            far - slope,
            c,
        ]
    };
    let columns: [[f64; SIDE]; 3] =
        std::array::from_fn(|x| line(std::array::from_fn(|y| kernel(y, x))));
    std::array::from_fn(|y| line(std::array::from_fn(|x| columns[x][y])))
}

pub(super) fn run(kernel: &Convolve, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

#[inline(always)]
fn rows<S: Simd>(simd: S, kernel: &Convolve, job: &mut Job<'_>) {
    let Job {
        rows,
        reads,
        writes,
        scratch,
        ..
    } = job;
    let size = writes[0].size();
    let lanes = lanes::<S>();
    let most = if lanes == 16 { MANY } else { FEW };
    let (lines, rest) = scratch.split_at_mut(SIDE * TILE * LINE);
    let (bias, weights) = reads[reads.len() - 1].plane(0).split_at(kernel.outputs);
    let (plane, zeros) = (kernel.inputs * kernel.outputs, vec![0.0; kernel.outputs]);
    for top in (rows.start / TILE * TILE..rows.end).step_by(TILE) {
        for first in (0..size.width).step_by(TILE * most) {
            let tiles = (size.width - first).div_ceil(TILE);
            let tiles = tiles.next_multiple_of(lanes).min(most);
            let (seen, made) = rest.split_at_mut(AREA * kernel.inputs * tiles);
            for input in 0..kernel.inputs {
                for (r, row) in lines.chunks_exact_mut(TILE * LINE).enumerate() {
                    // The row above the first is -1.
                    let from = (top + r).checked_sub(1).filter(|y| *y < size.height);
                    let columns = (first, tiles, size.width);
                    apart(kernel.source, reads, (input, from), columns, row);
                }
                forward(
                    simd,
                    lines,
                    tiles,
                    kernel.inputs * tiles,
                    &mut seen[input * tiles..],
                );
            }
            for (k, weights) in weights.chunks_exact(plane).enumerate() {
                let seen = &seen[k * kernel.inputs * tiles..][..kernel.inputs * tiles];
                let made = &mut made[k * kernel.outputs * tiles..][..kernel.outputs * tiles];
                products(simd, seen, (&zeros, weights), tiles, made);
            }
            let leak = match kernel.into {
                Into::Rectified => LEAK,
                _ => 1.0,
            };
            for (output, bias) in bias.iter().enumerate() {
                let made = &made[output * tiles..];
                back(
                    simd,
                    made,
                    tiles,
                    kernel.outputs * tiles,
                    (*bias, leak),
                    lines,
                );
                for (r, row) in lines.chunks_exact(TILE * LINE).take(TILE).enumerate() {
                    if rows.contains(&(top + r)) {
                        together(row, &mut writes[0], (output, top + r), (first, tiles));
                    }
                }
            }
        }
    }
}

/// Transforms the tiles of an input.
#[inline(always)]
fn forward<S: Simd>(simd: S, lines: &[f32], tiles: usize, plane: usize, to: &mut [f32]) {
    let lanes = S::f32s::LEN;
    let zero = S::f32s::splat(simd, 0.0);
    for x in (0..tiles).step_by(lanes) {
        let mut half = [[zero; SIDE]; SIDE];
        for column in 0..SIDE {
            // Columns -1, 0 … 4 of a tile are 3, 0 … 3, 0 of three tiles.
            let (phase, tile) = ((column + 3) % TILE, (column + 3) / TILE);
            let mut values = [zero; SIDE];
            for (r, value) in values.iter_mut().enumerate() {
                let from = &lines[(r * TILE + phase) * LINE + tile + x..][..lanes];
                *value = S::f32s::from_slice(simd, from);
            }
            for (half, v) in half.iter_mut().zip(to_points(simd, values)) {
                half[column] = v;
            }
        }
        for (y, half) in half.into_iter().enumerate() {
            for (c, v) in to_points(simd, half).into_iter().enumerate() {
                to[(y * SIDE + c) * plane + x..][..lanes].copy_from_slice(v.as_slice());
            }
        }
    }
}

/// Transforms the sums of an output back, and adds bias and rectifier.
#[inline(always)]
fn back<S: Simd>(
    simd: S,
    made: &[f32],
    tiles: usize,
    plane: usize,
    (bias, leak): (f32, f32),
    lines: &mut [f32],
) {
    let lanes = S::f32s::LEN;
    let zero = S::f32s::splat(simd, 0.0);
    let (bias, leak) = (S::f32s::splat(simd, bias), S::f32s::splat(simd, leak));
    for x in (0..tiles).step_by(lanes) {
        let mut half = [[zero; SIDE]; TILE];
        for column in 0..SIDE {
            let mut values = [zero; SIDE];
            for (y, value) in values.iter_mut().enumerate() {
                let from = &made[(y * SIDE + column) * plane + x..][..lanes];
                *value = S::f32s::from_slice(simd, from);
            }
            for (half, v) in half.iter_mut().zip(from_points(simd, values)) {
                half[column] = v;
            }
        }
        for (y, half) in half.into_iter().enumerate() {
            for (phase, v) in from_points(simd, half).into_iter().enumerate() {
                let v = v + bias;
                let v = v.max(leak * v);
                lines[(y * TILE + phase) * LINE + x..][..lanes].copy_from_slice(v.as_slice());
            }
        }
    }
}

/// Six inputs along an axis at the points of [`transformed`].
#[inline(always)]
fn to_points<S: Simd>(simd: S, d: [S::f32s; SIDE]) -> [S::f32s; SIDE] {
    let by = |v: f32| S::f32s::splat(simd, v);
    let (near, far) = (d[4] - d[2] * by(4.0), d[3] - d[1] * by(4.0));
    let (even, odd) = (d[4] - d[2], (d[3] - d[1]) * by(2.0));
    [
        (d[0] - d[2]) * by(4.0) + even,
        near + far,
        near - far,
        even + odd,
        even - odd,
        (d[1] - d[3]) * by(4.0) + (d[5] - d[3]),
    ]
}

/// Four outputs along an axis from their values at these points.
#[inline(always)]
fn from_points<S: Simd>(simd: S, m: [S::f32s; SIDE]) -> [S::f32s; TILE] {
    let by = |v: f32| S::f32s::splat(simd, v);
    let (even, odd) = (m[1] + m[2], m[1] - m[2]);
    let (far, slope) = (m[3] + m[4], m[3] - m[4]);
    [
        m[0] + even + far,
        odd + slope * by(2.0),
        even + far * by(4.0),
        odd + slope * by(8.0) + m[5],
    ]
}

/// A row of an input, each of four columns in a line: `tiles` tiles from column `first` on, and one on each side. Zero outside.
#[inline(always)]
fn apart(
    source: Source,
    reads: &[View<'_>],
    (plane, y): (usize, Option<usize>),
    (first, tiles, width): (usize, usize, usize),
    to: &mut [f32],
) {
    let Some(y) = y else {
        to.fill(0.0);
        return;
    };
    let mut row = [0.0; TILE * LINE];
    let start = first.saturating_sub(TILE);
    let end = width.min(first + TILE * (tiles + 1));
    let inside = &mut row[start + TILE - first..][..end - start];
    let from = &reads[0];
    match source {
        Source::Plain => inside.copy_from_slice(&from.row(plane, y)[start..end]),
        Source::Pooled => {
            let above = &from.row(plane, 2 * y).as_chunks::<2>().0[start..];
            let below = &from.row(plane, 2 * y + 1).as_chunks::<2>().0[start..];
            for ((to, a), b) in inside.iter_mut().zip(above).zip(below) {
                *to = a[0].max(a[1]).max(b[0].max(b[1]));
            }
        }
        Source::Joined => {
            let (fine, coarse) = (from.row(plane, y), reads[1].row(plane, y / 2));
            let fine = fine[start..end].as_chunks::<2>().0;
            let pairs = inside.as_chunks_mut::<2>().0.iter_mut().zip(fine);
            for ((to, f), c) in pairs.zip(&coarse[start / 2..]) {
                *to = [f[0] + c, f[1] + c];
            }
        }
        Source::Blocks => {
            let size = from.size();
            let row = from.row(plane / 4, (2 * y + plane / 2 % 2).min(size.height - 1));
            let (last, dx) = (size.width - 1, plane % 2);
            for (to, x) in inside.iter_mut().zip(start..) {
                *to = row[(2 * x + dx).min(last)];
            }
        }
    }
    let (a, rest) = to.split_at_mut(LINE);
    let (b, rest) = rest.split_at_mut(LINE);
    let (c, d) = rest.split_at_mut(LINE);
    let lines = a.iter_mut().zip(b).zip(c).zip(d);
    for ((((a, b), c), d), v) in lines.zip(row.as_chunks::<TILE>().0).take(tiles + 2) {
        [*a, *b, *c, *d] = *v;
    }
}

/// A row of an output, from lines of each of four columns.
#[inline(always)]
fn together(
    lines: &[f32],
    to: &mut ViewMut<'_>,
    (plane, y): (usize, usize),
    (first, tiles): (usize, usize),
) {
    let row = &mut to.row(plane, y)[first..];
    let count = row.len().min(TILE * tiles);
    let (chunks, rest) = row[..count].as_chunks_mut::<TILE>();
    let (a, b) = lines.split_at(2 * LINE);
    let ((a, b), (c, d)) = (a.split_at(LINE), b.split_at(LINE));
    for ((((to, a), b), c), d) in chunks.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *to = [*a, *b, *c, *d];
    }
    for (phase, to) in rest.iter_mut().enumerate() {
        *to = lines[phase * LINE + count / TILE];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid_core::simd::best;

    /// The outputs of one tile.
    fn tile<S: Simd>(simd: S, input: &[[f32; SIDE]; SIDE], kernel: &[[f64; 3]; 3]) -> Vec<f32> {
        let line = |d: [f32; SIDE]| to_points(simd, d.map(|v| S::f32s::splat(simd, v)));
        let columns: [[S::f32s; SIDE]; SIDE] =
            std::array::from_fn(|x| line(std::array::from_fn(|y| input[y][x])));
        let weights = transformed(|y, x| kernel[y][x]);
        let mut half = [[S::f32s::splat(simd, 0.0); SIDE]; TILE];
        for x in 0..SIDE {
            let products = |y: usize| {
                let seen = to_points(simd, std::array::from_fn(|x| columns[x][y]));
                seen[x] * S::f32s::splat(simd, weights[y][x] as f32)
            };
            let made = from_points(simd, std::array::from_fn(products));
            for (half, v) in half.iter_mut().zip(made) {
                half[x] = v;
            }
        }
        let rows = half.into_iter().map(|half| from_points(simd, half));
        rows.flatten().map(|v| v.as_slice()[0]).collect()
    }

    #[test]
    fn a_tile_has_the_direct_sums() {
        let number = |k: usize| ((k * 7919 + 104_729) % 1000) as f32 / 500.0 - 1.0;
        let input = std::array::from_fn(|y| std::array::from_fn(|x| number(SIDE * y + x)));
        let kernel: [[f64; 3]; 3] =
            std::array::from_fn(|y| std::array::from_fn(|x| f64::from(number(100 + 3 * y + x))));
        let made = dispatch!(best(), simd => tile(simd, &input, &kernel));
        for (k, made) in made.into_iter().enumerate() {
            let taps = (0..9).map(|t| (t / 3, t % 3));
            let at = |(y, x): (usize, usize)| {
                kernel[y][x] * f64::from(input[k / TILE + y][k % TILE + x])
            };
            let direct: f64 = taps.map(at).sum();
            assert!(
                (f64::from(made) - direct).abs() < 1e-5,
                "{k}: {made}, {direct}"
            );
        }
    }
}
