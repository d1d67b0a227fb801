//! The vectors of pixels, from those of the cells around them and the motion of the camera.

use super::camera::Camera;
use super::search::{CELL, Field, Refined};
use super::{CHANNELS, Level, Pixel, difference};
use limpid_core::Image;
use rayon::prelude::*;

/// How much worse a vector may fit a pixel than another one before it hardly counts.
const FITS: f32 = 0.004;
/// How much the motion of the camera counts where it fits as well as others; the four cells share 1 and this much each.
const STILL: f32 = 8.0;
const ANY: f32 = 0.02;

/// What vectors of pixels are made from.
pub(super) struct Vectors<'a> {
    pub(super) levels: [&'a Level; 2],
    pub(super) field: &'a Field,
    pub(super) refined: &'a [Refined],
    pub(super) camera: Option<Camera>,
}

impl Vectors<'_> {
    pub(super) fn write(&self, motion: &mut Image) {
        let size = motion.size();
        let (xs, ys) = motion.data_mut().split_at_mut(size.pixels());
        let rows = xs
            .par_chunks_mut(size.width)
            .zip(ys.par_chunks_mut(size.width));
        rows.enumerate().for_each(|(y, (xs, ys))| {
            for (x, to) in xs.iter_mut().zip(ys).enumerate() {
                [*to.0, *to.1] = self.of([x, y]);
            }
        });
    }

    /// The mean of the vectors of the four cells around a pixel, by distance and by how well they fit, and of that of the camera.
    fn of(&self, [x, y]: [usize; 2]) -> [f32; 2] {
        let cells = self.field.cells;
        let near = |at: usize, cells: usize| {
            let place = (at as f32 + 0.5) / CELL as f32 - 0.5;
            let first = place.floor();
            let inside = |i: f32| (i.max(0.0) as usize).min(cells - 1);
            ([inside(first), inside(first + 1.0)], place - first)
        };
        let ((columns, right), (rows, below)) = (near(x, cells.width), near(y, cells.height));
        let mut all = [([0.0; 2], 0.0, f32::MAX); 5];
        for (k, one) in all.iter_mut().take(4).enumerate() {
            let vector = self.refined[rows[k / 2] * cells.width + columns[k % 2]].vector;
            let share = [1.0 - right, right][k % 2] * [1.0 - below, below][k / 2] + ANY;
            *one = (vector, share, self.fit([x, y], vector));
        }
        if let Some(camera) = &self.camera {
            let now = self.levels[1];
            let place = [x as f64 + 0.5, y as f64 + 0.5];
            let vector = camera.at(place, now.at(x as isize, y as isize));
            all[4] = (vector, STILL, self.fit([x, y], vector));
        }
        let least = all.iter().fold(f32::MAX, |least, one| least.min(one.2));
        let (mut sum, mut total) = ([0.0; 2], 0.0);
        for (vector, share, cost) in all {
            let weight = share * (-(cost - least) / FITS).exp();
            sum = [sum[0] + weight * vector[0], sum[1] + weight * vector[1]];
            total += weight;
        }
        sum.map(|v| v / total)
    }

    /// How badly a vector fits the 3×3 pixels around a pixel.
    fn fit(&self, [x, y]: [usize; 2], [dx, dy]: [f32; 2]) -> f32 {
        let [before, now] = self.levels;
        let (left, top) = (dx.floor(), dy.floor());
        let (right, below) = (dx - left, dy - top);
        let (x, y) = (x as isize, y as isize);
        let (left, top) = (x + left as isize, y + top as isize);
        let mut sum = 0.0;
        for j in -1..=1 {
            for i in -1..=1 {
                let four = [(0, 0), (1, 0), (0, 1), (1, 1)];
                let four = four.map(|(k, l)| before.at(left + i + k, top + j + l));
                let mut there: Pixel = [0.0; CHANNELS];
                for (c, to) in there.iter_mut().enumerate() {
                    let upper = four[0][c] + right * (four[1][c] - four[0][c]);
                    let lower = four[2][c] + right * (four[3][c] - four[2][c]);
                    *to = upper + below * (lower - upper);
                }
                let weight = if i == 0 && j == 0 { 0.2 } else { 0.1 };
                sum += weight * difference(now.at(x + i, y + j), &there);
            }
        }
        sum
    }
}
