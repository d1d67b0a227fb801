//! The motion that a camera gives to everything that stands still.
//!
//! For a camera that moves and turns a little, both components are sums of few functions of place and inverse depth, whatever its angle of view.
//! Their factors are fitted to the vectors of cells; cells that move otherwise, or fit nothing, lose their weight step by step.

use super::{DEPTH, Level, Pixel};
use limpid_core::Size;

/// The functions: 1, x, y, x², xy, y², and 1, x, y over the depth.
const TERMS: usize = 9;
/// The least number of cells that a fit rests on.
const LEAST: usize = 24;
/// The number of cells up to which all are fitted; of more, some are left out.
const ENOUGH: usize = 16_384;
/// From step to step, deviations in pixels that halve the weight of a cell.
const SCALES: [f64; 8] = [16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.3, 0.3];
/// What keeps factors at zero that nothing determines, relative to the weight of all cells.
const RIDGE: f64 = 1e-7;

type Terms = [f64; TERMS];

/// A fitted motion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Camera {
    size: Size,
    /// The inverse depth that counts as 1.
    unit: f64,
    factors: [Terms; 2],
}

/// What is known of the motion of a place: the vector, and how well each component is determined.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) place: [f64; 2],
    pub(super) pixel: Pixel,
    pub(super) vector: [f32; 2],
    pub(super) weights: [f64; 2],
}

/// Zero where there is no depth.
fn inverse_depth(pixel: &Pixel) -> f64 {
    f64::from(pixel[7]) * f64::from(-pixel[6] / DEPTH).exp()
}

impl Camera {
    /// Fits the motion; `None` if too little is known.
    pub(super) fn fitted(now: &Level, known: &[Known]) -> Option<Self> {
        let known: Vec<Known> = known
            .iter()
            .step_by(known.len().div_ceil(ENOUGH).max(1))
            .copied()
            .collect();
        let sum: f64 = known.iter().map(|k| inverse_depth(&k.pixel)).sum();
        let unit = (sum / known.len().max(1) as f64).max(1e-30);
        let mut camera = Self {
            size: now.size,
            unit,
            factors: [[0.0; TERMS]; 2],
        };
        let terms: Vec<Terms> = known
            .iter()
            .map(|k| camera.terms(k.place, &k.pixel))
            .collect();
        for component in 0..2 {
            let sure = |k: &&Known| k.weights[component] > 0.3;
            if known.iter().filter(sure).count() < LEAST {
                return None;
            }
            let mut factors = [0.0; TERMS];
            for (step, scale) in SCALES.iter().enumerate() {
                let weight = |(k, t): (&Known, &Terms)| {
                    let off = f64::from(k.vector[component]) - dot(&factors, t);
                    match step {
                        0 => k.weights[component],
                        _ => k.weights[component] / (1.0 + (off / scale).powi(2)).powi(2),
                    }
                };
                let weights: Vec<f64> = known.iter().zip(&terms).map(weight).collect();
                factors = solved(&weights, &known, &terms, component)?;
            }
            camera.factors[component] = factors;
        }
        Some(camera)
    }

    fn terms(&self, [x, y]: [f64; 2], pixel: &Pixel) -> Terms {
        let (w, h) = (self.size.width as f64, self.size.height as f64);
        let (x, y) = ((2.0 * x - w) / w, (2.0 * y - h) / w);
        let near = (inverse_depth(pixel) / self.unit).min(20.0);
        [1.0, x, y, x * x, x * y, y * y, near, near * x, near * y]
    }

    /// The motion of a place that stands still.
    pub(super) fn at(&self, place: [f64; 2], pixel: &Pixel) -> [f32; 2] {
        let terms = self.terms(place, pixel);
        self.factors.map(|factors| dot(&factors, &terms) as f32)
    }
}

fn dot(a: &Terms, b: &Terms) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Weighted least squares by elimination; `None` if nothing is determined.
fn solved(weights: &[f64], known: &[Known], terms: &[Terms], component: usize) -> Option<Terms> {
    let mut rows = [[0.0; TERMS + 1]; TERMS];
    let mut total = 0.0;
    for ((weight, known), terms) in weights.iter().zip(known).zip(terms) {
        total += weight;
        for (row, a) in rows.iter_mut().zip(terms) {
            for (to, b) in row.iter_mut().zip(terms) {
                *to += weight * a * b;
            }
            row[TERMS] += weight * a * f64::from(known.vector[component]);
        }
    }
    if total < 1.0 {
        return None;
    }
    for (i, row) in rows.iter_mut().enumerate() {
        row[i] += RIDGE * total;
    }
    for i in 0..TERMS {
        let pivot = rows[i];
        for (j, row) in rows.iter_mut().enumerate() {
            let factor = row[i] / pivot[i];
            if j != i {
                for (to, from) in row.iter_mut().zip(&pivot) {
                    *to -= factor * from;
                }
            }
        }
    }
    let factors = std::array::from_fn(|i| rows[i][TERMS] / rows[i][i]);
    factors
        .iter()
        .all(|f: &f64| f.is_finite())
        .then_some(factors)
}
