//! The search on a level.

use super::camera::{Camera, Known};
use super::{Level, difference};
use limpid_core::Size;
use rayon::prelude::*;

/// Side of a cell with one vector, and how far around it pixels are compared.
pub(super) const CELL: usize = 4;
const MARGIN: isize = 2;
const SIDE: isize = CELL as isize + 2 * MARGIN;
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
#[derive(Clone, Copy)]
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
        let mut field = Self::of(cells, |cell| match coarser {
            Some(coarser) => search.around(cell, &coarser.near(cell)),
            None => search.everywhere(cell),
        });
        // What fits a cell may fit those beside it.
        for _ in 0..2 {
            field = Self::of(cells, |cell| {
                let own = field.get(cell);
                search.best(cell, &field.beside(cell), own)
            });
        }
        field
    }

    fn of(cells: Size, vector: impl Fn(Vector) -> Vector + Sync) -> Self {
        let cell = |i: usize| [(i % cells.width) as isize, (i / cells.width) as isize];
        let all = (0..cells.pixels()).into_par_iter();
        Self {
            cells,
            vectors: all.map(|i| vector(cell(i))).collect(),
        }
    }

    /// With the motion of the camera where nothing fits better.
    pub(super) fn with(&self, camera: &Camera, before: &Level, now: &Level) -> Self {
        let search = Search { before, now };
        Self::of(self.cells, |cell| {
            let (place, pixel) = now.middle(cell);
            let expected = camera.at(place, pixel).map(|v| v.round() as isize);
            let own = self.get(cell);
            let tried: Vec<Vector> = std::iter::once(own).chain(self.beside(cell)).collect();
            search.best(cell, &tried, expected)
        })
    }

    pub(super) fn refined(&self, before: &Level, now: &Level) -> Vec<Refined> {
        let search = Search { before, now };
        let cells = self.vectors.par_iter().enumerate();
        let cell = |i: usize| [i % self.cells.width, i / self.cells.width].map(|at| at as isize);
        cells.map(|(i, v)| search.within(cell(i), *v)).collect()
    }

    /// What refined vectors tell of the motion of the camera.
    pub(super) fn known(&self, refined: &[Refined], now: &Level) -> Vec<Known> {
        let cells = refined.par_iter().enumerate();
        let known = |(i, refined): (usize, &Refined)| {
            let cell = [i % self.cells.width, i / self.cells.width].map(|at| at as isize);
            let (place, pixel) = now.middle(cell);
            let sure = SURE * (SIDE * SIDE) as f64;
            Known {
                place,
                pixel: *pixel,
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

struct Search<'a> {
    before: &'a Level,
    now: &'a Level,
}

impl Search<'_> {
    /// The best vector near that of the coarser cell, or one beside it.
    fn around(&self, cell: Vector, near: &[Vector]) -> Vector {
        let expected = near[0];
        let mut best = self.best(cell, &near[1..], expected);
        let mut least = self.cost(cell, best, expected, f32::MAX);
        for _ in 0..ROUNDS {
            let middle = best;
            for [i, j] in AROUND {
                let tried = [middle[0] + i, middle[1] + j];
                let cost = self.cost(cell, tried, expected, least);
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
        self.best(cell, &all, [0, 0])
    }

    /// The best of several vectors; the expected one where nothing tells them apart.
    fn best(&self, cell: Vector, tried: &[Vector], expected: Vector) -> Vector {
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
        best
    }

    /// How badly a vector fits a cell; no less than `enough`, if it is not less.
    fn cost(&self, [x, y]: Vector, [dx, dy]: Vector, expected: Vector, enough: f32) -> f32 {
        let (x, y) = (x * CELL as isize - MARGIN, y * CELL as isize - MARGIN);
        let away = ((dx - expected[0]).abs() + (dy - expected[1]).abs()).min(8);
        let mut sum = STRAY * (SIDE * SIDE * away) as f32;
        for j in y..y + SIDE {
            for i in x..x + SIDE {
                sum += difference(self.now.at(i, j), self.before.at(i + dx, j + dy));
            }
            if sum >= enough {
                return sum;
            }
        }
        sum
    }

    /// The least value of parabolas through the costs around a vector.
    fn within(&self, cell: Vector, vector: Vector) -> Refined {
        let [x, y] = vector;
        let cost = |v: Vector| self.cost(cell, v, v, f32::MAX);
        let middle = cost(vector);
        let part = |before: f32, after: f32| {
            let bend = before - 2.0 * middle + after;
            match bend > 1e-3 {
                true => ((0.5 * (before - after) / bend).clamp(-0.5, 0.5), bend),
                false => (0.0, 0.0),
            }
        };
        let (right, along) = part(cost([x - 1, y]), cost([x + 1, y]));
        let (down, across) = part(cost([x, y - 1]), cost([x, y + 1]));
        Refined {
            vector: [x as f32 + right, y as f32 + down],
            bends: [along, across],
        }
    }
}
