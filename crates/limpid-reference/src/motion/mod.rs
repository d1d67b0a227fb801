//! Motion between rendered frames, found in their layers, for files without motion vectors.
//!
//! Surfaces are compared, not light: albedo, normal and depth, which have little noise and do not change with lamps and shadows. A pyramid of
//! both frames is searched from coarse to fine: for cells of 4×4 pixels the vectors of coarser cells are tried, then those around the best one.
//! Where nothing tells vectors apart, the one of the coarser cell stays. The motion of the camera is fitted to the vectors that are known best; it
//! moves everything that stands still, walls without texture too. At the end each pixel takes a mean of the vectors of the cells around it and
//! of that of the camera, weighted by how well they fit the pixel, so that motion ends at edges.

mod camera;
mod pixels;
mod search;
#[cfg(test)]
mod tests;

use camera::Camera;
use limpid_core::{Frame, Image, Kind, Shape, Size};
use pixels::Vectors;
use rayon::prelude::*;
use search::{CELL, Field};

/// What is compared in a pixel: albedo 3, normal 3, depth, and whether there is a surface.
const CHANNELS: usize = 8;
type Pixel = [f32; CHANNELS];

/// What counts as much as a difference of 1 in albedo: normals are unit vectors, depths are compared by their logarithms.
const NORMAL: f32 = 0.5;
const DEPTH: f32 = 0.5;
/// The largest difference of a pixel that counts: more of it says no more.
const MOST: f32 = 0.1;
/// Depths from here on are sky.
const FAR: f32 = 1e6;
/// How often the motion of the camera is fitted: it mends vectors, and they mend it.
const ROUNDS: usize = 3;
/// Levels are halved while they have so many pixels on both sides.
const SMALLEST: usize = 24;

/// The surfaces of a frame in several sizes.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub use limpid_reference::*; }
/// use limpid::{Frame, Image, Kind, motion::Surfaces};
/// let frame = |shift: usize| {
///     let mut frame = Frame::new(Image::new(64, 48, 3)).unwrap();
///     let albedo = Image::from_fn(64, 48, 3, |x, y, _| ((((x + shift) * 37) ^ (y * 101)) % 29) as f32 / 29.0);
///     frame.insert(Kind::Albedo, albedo).unwrap();
///     Surfaces::of(&frame)
/// };
/// // What is at 20 was at 23.
/// let motion = frame(0).motion_to(&frame(3));
/// assert!((motion.get(20, 20, 0) - 3.0).abs() < 0.2 && motion.get(20, 20, 1).abs() < 0.2);
/// ```
#[derive(Debug, Clone)]
pub struct Surfaces {
    levels: Vec<Level>,
}

/// One size.
#[derive(Debug, Clone)]
struct Level {
    size: Size,
    /// One channel after the other.
    planes: Vec<f32>,
}

/// Neighbours in a row, one channel after the other.
type Run<const N: usize> = [[f32; N]; CHANNELS];

impl Surfaces {
    /// Whether frames of this shape show surfaces that can be found again.
    pub fn are_in(shape: &Shape) -> bool {
        [Kind::Albedo, Kind::Normal].map(|kind| shape.channels(&kind.into()) == Some(3))
            != [false; 2]
    }

    /// The surfaces of a frame.
    pub fn of(frame: &Frame) -> Self {
        let mut levels = vec![Level::of(frame)];
        while let Some(last) = levels.last() {
            if last.size.width.min(last.size.height) < 2 * SMALLEST {
                break;
            }
            let next = last.halved();
            levels.push(next);
        }
        Self { levels }
    }

    /// Width and height.
    pub fn size(&self) -> Size {
        self.levels[0].size
    }

    /// For each pixel of a later frame, where it was in this one, minus where it is. No motion if the sizes differ.
    pub fn motion_to(&self, later: &Surfaces) -> Image {
        let Size { width, height } = later.size();
        let mut motion = Image::new(width, height, 2);
        if self.size() != later.size() {
            return motion;
        }
        let mut field: Option<Field> = None;
        for (before, now) in self.levels.iter().zip(&later.levels).rev() {
            field = Some(Field::found(before, now, field.as_ref()));
        }
        let (before, now) = (&self.levels[0], &later.levels[0]);
        let Some(mut field) = field else {
            return motion;
        };
        let mut camera = None;
        for _ in 0..ROUNDS {
            let known = field.known(&field.refined(before, now), now);
            camera = Camera::fitted(now, &known);
            if let Some(camera) = &camera {
                field = field.with(camera, before, now);
            }
        }
        let vectors = Vectors {
            levels: [before, now],
            cells: field.cells,
            refined: &field.refined(before, now),
            camera,
        };
        vectors.write(&mut motion);
        motion
    }
}

impl Level {
    fn of(frame: &Frame) -> Self {
        let size = frame.size();
        let layer = |kind: Kind, channels| frame.get(kind).filter(|i| i.channels() == channels);
        let (albedo, normal) = (layer(Kind::Albedo, 3), layer(Kind::Normal, 3));
        let depth = layer(Kind::Depth, 1);
        let sky = |d: f32| !(d > 0.0 && d < FAR);
        let value = |c: usize, i: usize| match c {
            0..3 => albedo.map_or(0.0, |a| a.plane(c)[i].clamp(0.0, 1.0)),
            3..6 => normal.map_or(0.0, |n| NORMAL * n.plane(c - 3)[i].clamp(-1.0, 1.0)),
            _ => match depth.map_or(0.0, |d| d.plane(0)[i]) {
                d if sky(d) => 0.0,
                d if c == 6 => DEPTH * d.max(1e-6).ln(),
                _ => 1.0,
            },
        };
        Self::made(size, value)
    }

    fn made(size: Size, value: impl Fn(usize, usize) -> f32 + Sync) -> Self {
        let mut planes = vec![0.0; CHANNELS * size.pixels()];
        let rows = planes.par_chunks_mut(size.width).enumerate();
        rows.for_each(|(row, to)| {
            let (c, y) = (row / size.height, row % size.height);
            for (x, to) in to.iter_mut().enumerate() {
                *to = value(c, y * size.width + x);
            }
        });
        Self { size, planes }
    }

    /// The means of 2×2 pixels; an odd last row or column is left out.
    fn halved(&self) -> Self {
        let (size, width) = (
            Size::new(self.size.width / 2, self.size.height / 2),
            self.size.width,
        );
        Self::made(size, |c, i| {
            let at = 2 * (i / size.width) * width + 2 * (i % size.width);
            let plane = self.plane(c);
            (plane[at] + plane[at + 1] + plane[at + width] + plane[at + width + 1]) / 4.0
        })
    }

    fn plane(&self, c: usize) -> &[f32] {
        &self.planes[c * self.size.pixels()..][..self.size.pixels()]
    }

    /// The middle of a cell, and the pixel there.
    fn middle(&self, [x, y]: [isize; 2]) -> ([f64; 2], Pixel) {
        let [x, y] = [x, y].map(|at| at * CELL as isize + CELL as isize / 2);
        ([x as f64 + 0.5, y as f64 + 0.5], self.at(x, y))
    }

    /// The pixel at a position, or the nearest one inside.
    #[inline]
    fn at(&self, x: isize, y: isize) -> Pixel {
        self.run::<1>(x, y).map(|[value]| value)
    }

    /// Pixels beside each other; those outside are the nearest ones inside.
    #[inline(always)]
    fn run<const N: usize>(&self, x: isize, y: isize) -> Run<N> {
        let Size { width, height } = self.size;
        let start = y.clamp(0, height as isize - 1) as usize * width;
        let inside = x >= 0 && x as usize + N <= width;
        let mut run = [[0.0; N]; CHANNELS];
        // Plain loops, here and below: builds for tests do not inline iterators.
        for c in 0..CHANNELS {
            let row = &self.planes[c * width * height + start..][..width];
            if inside {
                run[c].copy_from_slice(&row[x as usize..x as usize + N]);
            } else {
                for i in 0..N {
                    run[c][i] = row[(x + i as isize).clamp(0, width as isize - 1) as usize];
                }
            }
        }
        run
    }
}

/// How much pixels differ.
#[inline(always)]
fn differences<const N: usize>(a: &Run<N>, b: &Run<N>) -> [f32; N] {
    let mut sums = [0.0; N];
    for c in 0..CHANNELS {
        for i in 0..N {
            sums[i] += (a[c][i] - b[c][i]) * (a[c][i] - b[c][i]);
        }
    }
    for i in 0..N {
        sums[i] = f32::min(sums[i], MOST);
    }
    sums
}
