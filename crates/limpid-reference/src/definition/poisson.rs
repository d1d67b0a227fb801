//! Screened Poisson reconstruction: Vicini 2015, section 5.2, Eq. 5.1 to 5.3 and `SOLVEL1`.
//!
//! Interpretations of the text:
//! - `W` squared is `1 / (|e| + reg)`: this turns the reweighted squares into a sum of absolute errors.
//! - `W` is not scaled to a mean of one: a common factor does not move the minimum.
//! - The last column of `dx` and the last row of `dy` are undefined and have no rows in `A`.

use limpid_core::Image;

/// `regInit`.
pub const REG_INIT: f64 = 0.05;
/// `regIter`.
pub const REG_ITER: f64 = 0.5;
/// `numIter`.
pub const ROUNDS: usize = 7;

/// The rows of `A x = b`, without their weights.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// The base image.
    pub base: &'a Image,
    /// Its differences to the right.
    pub dx: &'a Image,
    /// Its differences downwards.
    pub dy: &'a Image,
    /// Weight of the base image.
    pub alpha: f64,
}

/// Squared weights: of the base image, of the differences to the right and down, one each per pixel.
pub struct Weights([Vec<f64>; 3]);

/// A row of `A`: the index of its weight, its pixels with their factors, and the image of its right-hand side.
struct Row<'a> {
    kind: usize,
    at: usize,
    factors: Vec<(usize, f64)>,
    image: &'a Image,
    scale: f64,
}

impl Problem<'_> {
    /// The least-squares solution.
    pub fn l2(&self) -> Image {
        let ones = self.ones();
        self.image(&self.solve(&ones, &[]))
    }

    /// The solution with least absolute errors (per pixel: of the length of its colour).
    pub fn l1(&self) -> Image {
        let rounds = self.l1_rounds();
        rounds
            .last()
            .map_or_else(|| self.base.clone(), |x| self.image(x))
    }

    /// The solution after each round of reweighting.
    pub fn l1_rounds(&self) -> Vec<Vec<f64>> {
        let mut weights = self.ones();
        let mut reg = REG_INIT;
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let x = self.solve(&weights, &[]);
            weights = self.weigh(&x, reg);
            reg *= REG_ITER;
            rounds.push(x);
        }
        rounds
    }

    /// Unit weights.
    pub fn ones(&self) -> Weights {
        let count = self.base.size().pixels();
        Weights(std::array::from_fn(|_| vec![1.0; count]))
    }

    /// The weights that turn squared errors into absolute ones near `x`.
    pub fn weigh(&self, x: &[f64], reg: f64) -> Weights {
        let mut weights = self.ones();
        for row in self.rows() {
            weights.0[row.kind][row.at] = 1.0 / (self.error(&row, x) + reg);
        }
        weights
    }

    /// `Σ |A x - b|`, which [`Self::l1`] minimises.
    pub fn objective(&self, x: &[f64]) -> f64 {
        self.rows().iter().map(|row| self.error(row, x)).sum()
    }

    /// The length of a row's error over all channels.
    fn error(&self, row: &Row<'_>, x: &[f64]) -> f64 {
        let count = self.base.size().pixels();
        let one = |c: usize| {
            let product: f64 = row.factors.iter().map(|(i, f)| f * x[c * count + i]).sum();
            product - row.right_side(c, count)
        };
        let squares = (0..self.base.channels()).map(|c| one(c).powi(2));
        squares.sum::<f64>().sqrt()
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let (w, h) = (self.base.width(), self.base.height());
        let mut rows = Vec::new();
        for at in 0..w * h {
            let (x, y) = (at % w, at / w);
            let mut add = |kind, factors, image, scale| {
                rows.push(Row {
                    kind,
                    at,
                    factors,
                    image,
                    scale,
                });
            };
            add(0, vec![(at, self.alpha)], self.base, self.alpha);
            if x + 1 < w {
                add(1, vec![(at, -1.0), (at + 1, 1.0)], self.dx, 1.0);
            }
            if y + 1 < h {
                add(2, vec![(at, -1.0), (at + w, 1.0)], self.dy, 1.0);
            }
        }
        rows
    }

    /// `(Aᵀ W² A + M)⁻¹ Aᵀ W² b` by conjugate gradients with a diagonal preconditioner, far beyond single precision. `M` is
    /// given by its rows, which are the same for all channels; it may be empty.
    pub fn solve(&self, weights: &Weights, more: &[Vec<(usize, f64)>]) -> Vec<f64> {
        let rows = self.rows();
        let (count, channels) = (self.base.size().pixels(), self.base.channels());
        let n = count * channels;
        let matrix = |x: &[f64]| {
            let mut out = vec![0.0; n];
            for row in &rows {
                let weight = weights.0[row.kind][row.at];
                for c in 0..channels {
                    let sum: f64 = row.factors.iter().map(|(i, f)| f * x[c * count + i]).sum();
                    for (i, f) in &row.factors {
                        out[c * count + i] += weight * f * sum;
                    }
                }
            }
            for (i, row) in more.iter().enumerate() {
                for c in 0..channels {
                    out[c * count + i] +=
                        row.iter().map(|(j, m)| m * x[c * count + j]).sum::<f64>();
                }
            }
            out
        };
        let mut r = vec![0.0; n];
        let mut diagonal = vec![0.0; n];
        for row in &rows {
            let weight = weights.0[row.kind][row.at];
            for c in 0..channels {
                for (i, f) in &row.factors {
                    r[c * count + i] += weight * f * row.right_side(c, count);
                    diagonal[c * count + i] += weight * f * f;
                }
            }
        }
        for (i, row) in more.iter().enumerate() {
            let own: f64 = row.iter().filter(|(j, _)| *j == i).map(|(_, m)| m).sum();
            (0..channels).for_each(|c| diagonal[c * count + i] += own);
        }
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let scaled =
            |r: &[f64]| -> Vec<f64> { r.iter().zip(&diagonal).map(|(r, d)| r / d).collect() };
        let mut x = vec![0.0; n];
        let mut p = scaled(&r);
        let mut rz = dot(&r, &p);
        let enough = 1e-20 * rz;
        for _ in 0..20 * n {
            if rz <= enough {
                break;
            }
            let q = matrix(&p);
            let alpha = rz / dot(&p, &q);
            for i in 0..n {
                x[i] += alpha * p[i];
                r[i] -= alpha * q[i];
            }
            let z = scaled(&r);
            let next = dot(&r, &z);
            for i in 0..n {
                p[i] = z[i] + next / rz * p[i];
            }
            rz = next;
        }
        x
    }

    /// Numbers as an image.
    pub fn image(&self, x: &[f64]) -> Image {
        let count = self.base.size().pixels();
        let width = self.base.width();
        Image::from_fn(
            width,
            self.base.height(),
            self.base.channels(),
            |u, v, c| x[c * count + v * width + u] as f32,
        )
    }
}

impl Row<'_> {
    fn right_side(&self, c: usize, count: usize) -> f64 {
        self.scale * f64::from(self.image.data()[c * count + self.at])
    }
}
