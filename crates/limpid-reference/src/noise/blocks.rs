//! Blocks of 8×8 pixels of an image, and their measurements.

use super::SIDE;
use limpid_core::Image;
use rayon::prelude::*;
use std::f64::consts::PI;

/// Pixels of a block.
pub(super) const AREA: usize = SIDE * SIDE;

/// Number of pixels at an end of the range from which a block counts as clipped.
const CUT: usize = 4;

/// Number of pixels that suffices to measure noise.
const ENOUGH: usize = 1 << 22;

/// Width and height of the tiles that are sampled from larger images.
const TILE: usize = 8 * SIDE;

/// Tiles spread evenly over an image that is larger than needed, side by side. They are aligned with the blocks of a JPEG file.
pub(super) fn sampled(image: &Image) -> Option<Image> {
    let size = image.size();
    let share = (ENOUGH as f64 / size.pixels() as f64).sqrt();
    if share >= 1.0 {
        return None;
    }
    // The positions of tiles along an axis, and their side there.
    let along = |n: usize, taken: usize| {
        let side = TILE.min(n / SIDE * SIDE);
        let count = (taken / side).max(1);
        let corner = move |i: usize| i * (n - side) / (count - 1).max(1) / SIDE * SIDE;
        ((0..count).map(corner).collect::<Vec<usize>>(), side)
    };
    let (xs, width) = along(size.width, (size.width as f64 * share) as usize);
    let (ys, height) = along(size.height, ENOUGH / (xs.len() * width));
    let mut out = Image::new(xs.len() * width, ys.len() * height, image.channels());
    for c in 0..image.channels() {
        let rows = out.plane_mut(c).par_chunks_exact_mut(xs.len() * width);
        rows.enumerate().for_each(|(y, row)| {
            let from = image.row(c, ys[y / height] + y % height);
            for (to, x) in row.chunks_exact_mut(width).zip(&xs) {
                to.copy_from_slice(&from[*x..x + width]);
            }
        });
    }
    Some(out)
}

/// The positions of blocks.
pub(super) struct Grid {
    columns: usize,
    rows: usize,
    step: usize,
    first: (usize, usize),
}

impl Grid {
    /// The grid whose first block is at `first`.
    pub(super) fn new(image: &Image, first: (usize, usize)) -> Self {
        // Blocks of small images overlap, so that there are enough of them.
        let step = if image.size().pixels() < 1 << 20 {
            SIDE / 2
        } else {
            SIDE
        };
        let count = |n: usize| (n - SIDE) / step + 1;
        Self {
            columns: count(image.width() - first.0),
            rows: count(image.height() - first.1),
            step,
            first,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.columns * self.rows
    }

    pub(super) fn corner(&self, block: usize) -> (usize, usize) {
        (
            self.first.0 + block % self.columns * self.step,
            self.first.1 + block / self.columns * self.step,
        )
    }

    /// Computes a value for each block.
    pub(super) fn each<T: Send>(&self, make: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        (0..self.count()).into_par_iter().map(make).collect()
    }

    /// The block and the eight around it that neither overlap it nor each other, row by row; mirrored at the borders.
    pub(super) fn neighbours(&self, block: usize) -> [usize; 9] {
        let reach = (SIDE / self.step) as i64;
        let place = |at: i64, n: usize| {
            let last = n as i64 - 1;
            let at = at.abs();
            (if at > last { 2 * last - at } else { at }).clamp(0, last) as usize
        };
        let (x, y) = ((block % self.columns) as i64, (block / self.columns) as i64);
        std::array::from_fn(|k| {
            let (dx, dy) = (reach * (k as i64 % 3 - 1), reach * (k as i64 / 3 - 1));
            place(y + dy, self.rows) * self.columns + place(x + dx, self.columns)
        })
    }
}

/// The orthonormal cosine transform of a block, in the order of frequencies: `[fy * 8 + fx]`. Holds the cosines of each
/// frequency, and their transpose.
pub(super) struct Cosine([[[f32; SIDE]; SIDE]; 2]);

impl Cosine {
    pub(super) fn new() -> Self {
        let n = SIDE as f64;
        let entry = |k: usize, i: usize| {
            let scale = (if k == 0 { 1.0 } else { 2.0 } / n).sqrt();
            (scale * (PI / n * (i as f64 + 0.5) * k as f64).cos()) as f32
        };
        Self([
            std::array::from_fn(|k| std::array::from_fn(|i| entry(k, i))),
            std::array::from_fn(|i| std::array::from_fn(|k| entry(k, i))),
        ])
    }

    /// The coefficients of a block.
    pub(super) fn block(&self, pixels: &[f32; AREA]) -> [f32; AREA] {
        let [cosines, transposed] = &self.0;
        along_both(pixels, transposed, cosines)
    }

    /// The pixels of a block, from its coefficients.
    pub(super) fn pixels(&self, block: &[f32; AREA]) -> [f32; AREA] {
        let [cosines, transposed] = &self.0;
        along_both(block, cosines, transposed)
    }
}

/// Applies matrices to the rows and to the columns of a block. Whole rows at a time, so that both loops vectorise.
fn along_both(
    from: &[f32; AREA],
    across: &[[f32; SIDE]; SIDE],
    down: &[[f32; SIDE]; SIDE],
) -> [f32; AREA] {
    let (mut rows, mut out) = ([0.0; AREA], [0.0; AREA]);
    for y in 0..SIDE {
        for x in 0..SIDE {
            let value = from[y * SIDE + x];
            for k in 0..SIDE {
                rows[y * SIDE + k] += value * across[x][k];
            }
        }
    }
    for k in 0..SIDE {
        for y in 0..SIDE {
            let factor = down[k][y];
            for x in 0..SIDE {
                out[k * SIDE + x] += factor * rows[y * SIDE + x];
            }
        }
    }
    out
}

/// The sum of squares with these weights.
pub(super) fn power(values: &[f32; AREA], weights: &[f32; AREA]) -> f32 {
    let mut sums = [0.0; SIDE];
    for (values, weights) in values.chunks_exact(SIDE).zip(weights.chunks_exact(SIDE)) {
        for i in 0..SIDE {
            sums[i] += weights[i] * values[i] * values[i];
        }
    }
    sums.iter().sum()
}

/// The pixels of a block.
pub(super) fn pixels(image: &Image, channel: usize, (x, y): (usize, usize)) -> [f32; AREA] {
    let mut out = [0.0; AREA];
    for (j, row) in out.chunks_exact_mut(SIDE).enumerate() {
        row.copy_from_slice(&image.row(channel, y + j)[x..x + SIDE]);
    }
    out
}

/// Whether values in a block are clipped at the ends of their range: noise there is lost, at least partly.
pub(super) fn clipped(pixels: &[f32; AREA], [low, high]: [f32; 2]) -> bool {
    let count = |end: f32| pixels.iter().filter(|v| **v == end).count();
    [low, high].map(count).iter().any(|n| *n >= CUT)
}

/// The ends of a channel's range.
pub(super) fn ends(image: &Image, channel: usize) -> [f32; 2] {
    let pieces = image.plane(channel).par_chunks(1 << 16);
    let ends = pieces.map(|piece| {
        let all = piece.iter();
        all.fold([f32::MAX, f32::MIN], |[l, h], v| [l.min(*v), h.max(*v)])
    });
    ends.reduce(
        || [f32::MAX, f32::MIN],
        |[l, h], [low, high]| [l.min(low), h.max(high)],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_large_images() {
        assert!(sampled(&Image::new(2048, 2048, 1)).is_none());
        for (width, height) in [(6003, 4001), (40, 300_000), (90_000, 71)] {
            let image = Image::from_fn(width, height, 1, |x, y, _| (x + y) as f32);
            let tiles = sampled(&image).unwrap();
            let pixels = tiles.size().pixels();
            assert!(
                (ENOUGH / 2..=ENOUGH / 4 * 5).contains(&pixels),
                "{}",
                tiles.size()
            );
            // From corner to corner, except for partial blocks.
            let [low, high] = ends(&tiles, 0);
            assert_eq!(low, 0.0);
            assert!(high >= (width + height - 4 * SIDE) as f32, "{high}");
        }
    }
}
