//! The vectors of pixels, from those of the cells around them and the motion of the camera.

use super::camera::Camera;
use super::search::{CELL, Refined};
use super::{CHANNELS, Level, Run, differences};
use limpid_core::simd::{best, dispatch};
use limpid_core::{Image, Size};
use rayon::prelude::*;

/// How much worse a vector may fit a pixel than another one before it hardly counts.
const FITS: f32 = 0.004;
/// How much the motion of the camera counts where it fits as well as others; the four cells share 1 and this much each.
const STILL: f32 = 8.0;
const ANY: f32 = 0.02;
/// Rows of a square with those beside it, and pixels that are read of each.
const ROWS: usize = CELL + 2;
const LANES: usize = 8;

/// What vectors of pixels are made from.
pub(super) struct Vectors<'a> {
    pub(super) levels: [&'a Level; 2],
    pub(super) cells: Size,
    pub(super) refined: &'a [Refined],
    pub(super) camera: Option<Camera>,
}

impl Vectors<'_> {
    /// Pixels with the same four cells around them are a square between the middles of these cells. A band is a row of squares;
    /// the first has two rows of pixels, since the image begins between the middles.
    pub(super) fn write(&self, motion: &mut Image) {
        let (count, width) = (motion.size().pixels(), motion.width());
        let first = (CELL / 2 * width).min(count);
        let [(top, below), (upper, lower)] = {
            let (xs, ys) = motion.data_mut().split_at_mut(count);
            [xs.split_at_mut(first), ys.split_at_mut(first)]
        };
        let bands = below.par_chunks_mut(CELL * width);
        let bands = bands.zip(lower.par_chunks_mut(CELL * width));
        let bands = rayon::iter::once((top, upper)).chain(bands).enumerate();
        bands.for_each(|(row, (xs, ys))| {
            dispatch!(best(), _simd => {
                for column in 0..=self.cells.width {
                    self.square([column, row], [&mut *xs, &mut *ys]);
                }
            });
        });
    }

    /// Writes a square into its band.
    #[inline(always)]
    fn square(&self, [column, row]: [usize; 2], band: [&mut [f32]; 2]) {
        let Size { width, height } = self.levels[1].size;
        let [xs, ys] = band;
        let [left, top] = [column, row].map(|at| (at * CELL) as isize - (CELL / 2) as isize);
        let vectors: [[f32; 2]; 4] = std::array::from_fn(|k| {
            let clamped = |at: usize, k: usize, cells: usize| (at + k).clamp(1, cells) - 1;
            let x = clamped(column, k % 2, self.cells.width);
            let y = clamped(row, k / 2, self.cells.height);
            self.refined[y * self.cells.width + x].vector
        });
        let mut pixels = [[[0.0; LANES]; CHANNELS]; ROWS];
        for j in 0..ROWS {
            pixels[j] = self.levels[1].run(left - 1, top - 1 + j as isize);
        }
        let mut fits = [[[0.0; CELL]; CELL]; 4];
        for k in 0..4 {
            let off = self.moved(&pixels, [left - 1, top - 1], vectors[k]);
            for j in 0..CELL {
                for i in 0..CELL {
                    fits[k][j][i] = around([&off[j], &off[j + 1], &off[j + 2]], i);
                }
            }
        }
        let inside = |first: isize, end: usize| {
            let last = (end as isize - first).clamp(0, CELL as isize);
            (-first).clamp(0, last) as usize..last as usize
        };
        let start = top.max(0) as usize;
        for j in inside(top, height) {
            for i in inside(left, width) {
                let (x, y) = ((left + i as isize) as usize, (top + j as isize) as usize);
                let part = |at: usize| (at as f32 + 0.5) / CELL as f32;
                let mut all = [([0.0; 2], 0.0, f32::MAX); 5];
                for (k, one) in all.iter_mut().take(4).enumerate() {
                    let along = [1.0 - part(i), part(i)][k % 2];
                    let down = [1.0 - part(j), part(j)][k / 2];
                    *one = (vectors[k], along * down + ANY, fits[k][j][i]);
                }
                if let Some(camera) = &self.camera {
                    let (vector, fit) = self.still(camera, [x as isize, y as isize]);
                    all[4] = (vector, STILL, fit);
                }
                let at = (y - start) * width + x;
                [xs[at], ys[at]] = mean(&all);
            }
        }
    }

    /// How much pixels differ from what a vector points at. They begin at a place.
    #[inline(always)]
    fn moved<const N: usize, const ROWS: usize>(
        &self,
        pixels: &[Run<N>; ROWS],
        place: [isize; 2],
        [dx, dy]: [f32; 2],
    ) -> [[f32; N]; ROWS] {
        let (left, top) = (dx.floor(), dy.floor());
        let (right, below) = (dx - left, dy - top);
        let (x, y) = (place[0] + left as isize, place[1] + top as isize);
        let before = self.levels[0];
        let mut upper = between(&before.run(x, y), &before.run(x + 1, y), right);
        let mut off = [[0.0; N]; ROWS];
        for j in 0..ROWS {
            let y = y + 1 + j as isize;
            let lower = between(&before.run(x, y), &before.run(x + 1, y), right);
            off[j] = differences(&pixels[j], &between(&upper, &lower, below));
            upper = lower;
        }
        off
    }

    /// The motion that the camera gives to a pixel, and how badly it fits.
    #[inline(always)]
    fn still(&self, camera: &Camera, [x, y]: [isize; 2]) -> ([f32; 2], f32) {
        let now = self.levels[1];
        let mut pixels = [[[0.0; 4]; CHANNELS]; 3];
        for j in 0..3 {
            pixels[j] = now.run(x - 1, y - 1 + j as isize);
        }
        let place = [x as f64 + 0.5, y as f64 + 0.5];
        let vector = camera.at(place, &now.at(x, y));
        let [above, row, below] = self.moved(&pixels, [x - 1, y - 1], vector);
        (vector, around([&above, &row, &below], 0))
    }
}

/// How badly a vector fits the 3×3 pixels in three rows from a column on.
#[inline(always)]
fn around<const N: usize>(rows: [&[f32; N]; 3], column: usize) -> f32 {
    let mut sum = rows[1][column + 1];
    for row in rows {
        sum += row[column] + row[column + 1] + row[column + 2];
    }
    0.1 * sum
}

/// The mean of vectors, by their shares and by how well they fit.
#[inline(always)]
fn mean(all: &[([f32; 2], f32, f32); 5]) -> [f32; 2] {
    let least = all.iter().fold(f32::MAX, |least, one| least.min(one.2));
    let (mut sum, mut total) = ([0.0; 2], 0.0);
    for (vector, share, fit) in all {
        let weight = share * (-(fit - least) / FITS).exp();
        sum = [sum[0] + weight * vector[0], sum[1] + weight * vector[1]];
        total += weight;
    }
    sum.map(|v| v / total)
}

/// What lies between two runs.
#[inline(always)]
fn between<const N: usize>(a: &Run<N>, b: &Run<N>, part: f32) -> Run<N> {
    let mut out = *a;
    for c in 0..CHANNELS {
        for i in 0..N {
            out[c][i] += part * (b[c][i] - a[c][i]);
        }
    }
    out
}
