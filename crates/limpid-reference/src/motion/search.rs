//! The search on a level.

use super::camera::{Camera, Known};
use super::{CHANNELS, Level, Run, differences};
use limpid_core::Size;
use limpid_core::simd::{best, dispatch};
use rayon::prelude::*;

/// Side of a cell with one vector, and how far around it pixels are compared.
pub(super) const CELL: usize = 4;
const MARGIN: isize = 2;
const SIDE: usize = CELL + 2 * MARGIN as usize;
const AREA: f32 = (SIDE * SIDE) as f32;
/// What a pixel of distance from the expected vector costs, per compared pixel.
const STRAY: f32 = 2e-4;
/// How far vectors are searched on the coarsest level, and how often around the best one on finer ones.
const FIRST: isize = 4;
const ROUNDS: usize = 3;
/// A component of a vector is known where the costs around it bend by so much more per compared pixel.
const SURE: f64 = 0.004;

const AROUND: [Vector; 8] = [
    [-1, 0],
    [1, 0],
    [0, -1],
    [0, 1],
    [-1, -1],
    [1, -1],
    [-1, 1],
    [1, 1],
];

type Vector = [isize; 2];

/// A vector for each cell of a level.
pub(super) struct Field {
    pub(super) cells: Size,
    vectors: Vec<Vector>,
}

/// A vector with parts of pixels, and how much the costs around it bend along x and y.
#[derive(Clone, Copy, Default)]
pub(super) struct Refined {
    pub(super) vector: [f32; 2],
    bends: [f32; 2],
}

impl Field {
    pub(super) fn found(before: &Level, now: &Level, coarser: Option<&Field>) -> Self {
        let cells = Size::new(
            now.size.width.div_ceil(CELL),
            now.size.height.div_ceil(CELL),
        );
        let search = Search { before, now };
        let mut field = Self::of(
            cells,
            #[inline(always)]
            |cell| match coarser {
                Some(coarser) => search.around(cell, &coarser.near(cell)),
                None => search.everywhere(cell),
            },
        );
        // What fits a cell may fit those beside it.
        for _ in 0..2 {
            field = Self::of(
                cells,
                #[inline(always)]
                |cell| {
                    search
                        .best(&search.cell(cell), &field.beside(cell), field.get(cell))
                        .0
                },
            );
        }
        field
    }

    fn of(cells: Size, vector: impl Fn(Vector) -> Vector + Sync) -> Self {
        let vectors = each(cells, [0, 0], vector);
        Self { cells, vectors }
    }

    /// With the motion of the camera where nothing fits better.
    pub(super) fn with(&self, camera: &Camera, before: &Level, now: &Level) -> Self {
        let search = Search { before, now };
        Self::of(
            self.cells,
            #[inline(always)]
            |cell| {
                let (place, pixel) = now.middle(cell);
                let expected = camera.at(place, &pixel).map(|v| v.round() as isize);
                let mut tried = [self.get(cell); 9];
                tried[1..].copy_from_slice(&self.beside(cell));
                search.best(&search.cell(cell), &tried, expected).0
            },
        )
    }

    pub(super) fn refined(&self, before: &Level, now: &Level) -> Vec<Refined> {
        let search = Search { before, now };
        each(
            self.cells,
            Refined::default(),
            #[inline(always)]
            |cell| search.within(&search.cell(cell), self.get(cell)),
        )
    }

    /// What refined vectors tell of the motion of the camera.
    pub(super) fn known(&self, refined: &[Refined], now: &Level) -> Vec<Known> {
        let cells = refined.par_iter().enumerate();
        let known = |(i, refined): (usize, &Refined)| {
            let cell = [i % self.cells.width, i / self.cells.width].map(|at| at as isize);
            let (place, pixel) = now.middle(cell);
            let sure = SURE * f64::from(AREA);
            Known {
                place,
                pixel,
                vector: refined.vector,
                weights: refined.bends.map(|b| f64::from(b) / (f64::from(b) + sure)),
            }
        };
        cells.map(known).collect()
    }

    fn get(&self, [x, y]: Vector) -> Vector {
        let x = x.clamp(0, self.cells.width as isize - 1) as usize;
        let y = y.clamp(0, self.cells.height as isize - 1) as usize;
        self.vectors[y * self.cells.width + x]
    }

    /// The vectors of the coarser cell that contains a cell of the next level, and of those beside it, in its pixels.
    fn near(&self, [x, y]: Vector) -> [Vector; 5] {
        let (x, y) = (x / 2, y / 2);
        let all = [[x, y], [x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]];
        all.map(|cell| self.get(cell).map(|v| 2 * v))
    }

    fn beside(&self, [x, y]: Vector) -> [Vector; 8] {
        AROUND.map(|[i, j]| self.get([x + i, y + j]))
    }
}

/// A value for each cell.
fn each<T: Clone + Send>(cells: Size, empty: T, value: impl Fn(Vector) -> T + Sync) -> Vec<T> {
    let mut all = vec![empty; cells.pixels()];
    let rows = all.par_chunks_mut(cells.width).enumerate();
    rows.for_each(|(y, row)| {
        dispatch!(best(), _simd => for (x, to) in row.iter_mut().enumerate() {
            *to = value([x as isize, y as isize]);
        });
    });
    all
}

/// The pixels of a cell and around it.
struct Cell {
    x: isize,
    y: isize,
    rows: [Run<SIDE>; SIDE],
}

struct Search<'a> {
    before: &'a Level,
    now: &'a Level,
}

impl Search<'_> {
    #[inline(always)]
    fn cell(&self, [x, y]: Vector) -> Cell {
        let [x, y] = [x, y].map(|at| at * CELL as isize - MARGIN);
        let mut rows = [[[0.0; SIDE]; CHANNELS]; SIDE];
        for j in 0..SIDE {
            rows[j] = self.now.run(x, y + j as isize);
        }
        Cell { x, y, rows }
    }

    /// The best vector near that of the coarser cell, or one beside it.
    #[inline(always)]
    fn around(&self, cell: Vector, near: &[Vector; 5]) -> Vector {
        let expected = near[0];
        let cell = self.cell(cell);
        let (mut best, mut least) = self.best(&cell, &near[1..], expected);
        for _ in 0..ROUNDS {
            let middle = best;
            for [i, j] in AROUND {
                let tried = [middle[0] + i, middle[1] + j];
                let cost = self.cost(&cell, tried, expected, least);
                if cost < least {
                    (best, least) = (tried, cost);
                }
            }
            if best == middle {
                break;
            }
        }
        best
    }

    fn everywhere(&self, cell: Vector) -> Vector {
        let side = -FIRST..=FIRST;
        let all: Vec<Vector> = side
            .clone()
            .flat_map(|y| side.clone().map(move |x| [x, y]))
            .collect();
        self.best(&self.cell(cell), &all, [0, 0]).0
    }

    /// The best of several vectors, and its cost; the expected one where nothing tells them apart.
    #[inline(always)]
    fn best(&self, cell: &Cell, tried: &[Vector], expected: Vector) -> (Vector, f32) {
        let mut best = expected;
        let mut least = self.cost(cell, expected, expected, f32::MAX);
        for (i, vector) in tried.iter().enumerate() {
            if *vector == expected || tried[..i].contains(vector) {
                continue;
            }
            let cost = self.cost(cell, *vector, expected, least);
            if cost < least {
                (best, least) = (*vector, cost);
            }
        }
        (best, least)
    }

    /// How badly a vector fits a cell; no less than `enough`, if it is not less.
    #[inline(always)]
    fn cost(&self, cell: &Cell, [dx, dy]: Vector, expected: Vector, enough: f32) -> f32 {
        let away = ((dx - expected[0]).abs() + (dy - expected[1]).abs()).min(8);
        let mut cost = STRAY * AREA * away as f32;
        let mut sums = [0.0; SIDE];
        for j in 0..SIDE {
            let there = self.before.run(cell.x + dx, cell.y + dy + j as isize);
            let more = differences(&cell.rows[j], &there);
            for i in 0..SIDE {
                sums[i] += more[i];
            }
            // Adding up is worth it half-way and at the end.
            if j % 4 == 3 {
                for sum in &mut sums {
                    cost += *sum;
                    *sum = 0.0;
                }
                if cost >= enough {
                    break;
                }
            }
        }
        cost
    }

    /// The least value of parabolas through the costs around a vector.
    #[inline(always)]
    fn within(&self, cell: &Cell, vector: Vector) -> Refined {
        let [x, y] = vector;
        let mut costs = [0.0; 5];
        for (cost, v) in
            costs
                .iter_mut()
                .zip([vector, [x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]])
        {
            *cost = self.cost(cell, v, v, f32::MAX);
        }
        let [middle, before, after, above, below] = costs;
        let part = |before: f32, after: f32| {
            let bend = before - 2.0 * middle + after;
            match bend > 1e-3 {
                true => ((0.5 * (before - after) / bend).clamp(-0.5, 0.5), bend),
                false => (0.0, 0.0),
            }
        };
        let (right, along) = part(before, after);
        let (down, across) = part(above, below);
        Refined {
            vector: [x as f32 + right, y as f32 + down],
            bends: [along, across],
        }
    }
}
