//! Reconstruction with feature patches: Vicini 2015, section 5.3.
//!
//! Unless [`Input::thesis`] is set, the result differs from the text:
//! - The third candidate is not used; the plain fit is one, and candidates are mixed ([`mix`]) instead of chosen.
//! - The subspace of a patch always contains the constant patch, so that a change of brightness is never an error. The means of
//!   feature patches are subtracted, and each is scaled to unit length, so that a slight ramp of the position counts as much as
//!   a texture; variations below [`LEAST_DEVIATION`] of the feature's range are rounding errors.
//! - Beside the smallest singular vector, those below [`CUT`] of the largest, and all beyond [`MOST`] are dropped.
//!
//! Interpretations of the text:
//! - Singular vectors below [`ROUNDING`] of the largest are rounding errors, and of ten features at most [`MOST`] are used. A
//!   patch whose features are all zero has the constant patch, or it would be pulled to black.
//! - Feature distances are compared one feature plane at a time; patch distances use the pairs inside the image.
//! - The halves of the samples are solved with the weights of the last round, so they show how much noise passes through.

pub mod mix;
mod subspace;

pub use subspace::basis;

use super::poisson::{Problem, REG_INIT, REG_ITER};
use super::rdfc::image_variance;
use super::window::{gaussian, tent};
use limpid_core::Image;
use std::collections::BTreeMap;

/// `r`, the radius of the patches that are constrained.
pub const RADIUS: usize = 2;
/// Pixels of a patch.
pub const PATCH: usize = (2 * RADIUS + 1) * (2 * RADIUS + 1);
/// `f`, the radius of the patches that are compared.
pub const COMPARED: usize = 2;
/// Largest dimension of a subspace.
pub const MOST: usize = 8;
/// Singular values below this share of the largest are noise.
pub const CUT: f64 = 0.05;
/// The same in the thesis' form, which drops the smallest alone: smaller ones do not exist in single precision.
pub const ROUNDING: f64 = 3e-3;
/// Standard deviation in a patch, relative to the range, below which a feature is constant.
pub const LEAST_DEVIATION: f64 = 1e-4;
/// `δ`.
pub const LEAST_WEIGHT: f64 = 1e-11;
/// `ε` of the distances.
pub const EPSILON: f64 = 1e-10;
/// Minimum spread of a feature (Eq. 5.12).
pub const LEAST_SPREAD: f64 = 1e-3;
/// `α` of the second pass.
pub const SECOND_ALPHA: f64 = 0.05;
/// `α` of the fits for weights and error estimates.
pub const GUIDE_ALPHA: f64 = 0.2;
/// Radius of the mean of error estimates.
pub const ERROR_RADIUS: usize = 5;

/// `k_c`, `k_f` and `β`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Tolerated difference of colours.
    pub color: f64,
    /// Tolerated difference of features.
    pub feature: f64,
    /// Weight of the patches.
    pub beta: f64,
}

/// The three candidates of section 5.4.
pub const CANDIDATES: [Candidate; 3] = [
    Candidate {
        color: 0.5,
        feature: 2.0,
        beta: 0.5,
    },
    Candidate {
        color: 4.0,
        feature: 8.0,
        beta: 1.0,
    },
    Candidate {
        color: 8.0,
        feature: 8.0,
        beta: 2.0,
    },
];

/// Base image and differences.
#[derive(Debug, Clone, Copy)]
pub struct Samples<'a> {
    /// The base image.
    pub base: &'a Image,
    /// Differences to the right.
    pub dx: &'a Image,
    /// Differences downwards.
    pub dy: &'a Image,
}

impl<'a> Samples<'a> {
    fn problem(self, alpha: f64) -> Problem<'a> {
        let Self { base, dx, dy } = self;
        Problem {
            base,
            dx,
            dy,
            alpha,
        }
    }
}

/// All inputs. Features are scaled to a range of one.
#[derive(Debug)]
pub struct Input<'a> {
    /// All samples.
    pub all: Samples<'a>,
    /// Two halves of them.
    pub halves: Option<[Samples<'a>; 2]>,
    /// Features, one plane each, and their variances.
    pub features: Vec<(Image, Image)>,
    /// `α` of the candidates.
    pub alpha: f64,
    /// Number of reweighting rounds.
    pub rounds: usize,
    /// As in the thesis: bases of features as they are, three candidates, one of which is chosen.
    pub thesis: bool,
}

/// All results.
#[derive(Debug)]
pub struct Output {
    /// The candidates after the second pass: the first two and the plain fit, or all three.
    pub candidates: Vec<Image>,
    /// Estimates of their squared errors, including the noise of the fits they are compared with; `None` without halves.
    pub errors: Option<Vec<Image>>,
    /// The mix of candidates, or the best one at each pixel.
    pub color: Image,
    /// The share of each candidate, in its plane.
    pub selection: Image,
}

/// Section 5.3 as a whole.
pub fn reconstruct(input: &Input<'_>) -> Output {
    let guide = input.all.problem(GUIDE_ALPHA).l1();
    let fits = input
        .halves
        .map(|halves| halves.map(|h| h.problem(GUIDE_ALPHA).l1()));
    let variance = match &fits {
        Some([a, b]) => {
            let raw = half_squares(a, b);
            larger(&raw, &gaussian(&raw, 2, 1.0))
        }
        None => image_variance(&guide),
    };
    let unbiased = input
        .halves
        .map(|halves| halves.map(|h| h.problem(GUIDE_ALPHA).l2()));
    let mut candidates = Vec::new();
    let mut errors = Vec::new();
    for candidate in CANDIDATES.into_iter().take(used(input.thesis)) {
        let weights = weights(&guide, &variance, &input.features, candidate);
        let patches = Patches::new(
            (&input.features, input.thesis),
            &weights,
            guide.width(),
            candidate.beta,
        );
        let (x, half) = patches.solve(input);
        let made = second_pass(input.all.base, &x);
        if let (Some([a, _]), Some(half), Some(unbiased)) = (&input.halves, half, &unbiased) {
            let half = second_pass(a.base, &half);
            errors.push(error(&made, &half, unbiased));
        }
        candidates.push(made);
    }
    if !input.thesis {
        if let (Some([a, b]), Some(unbiased)) = (&fits, &unbiased) {
            // The mean of the fits of both halves has the error of their fit, nearly.
            let mean = Image::from_fn(a.width(), a.height(), a.channels(), |x, y, c| {
                0.5 * (a.get(x, y, c) + b.get(x, y, c))
            });
            errors.push(error(&mean, a, unbiased));
        }
        candidates.push(guide.clone());
    }
    let errors = (errors.len() == candidates.len()).then_some(errors);
    let (width, height) = (guide.width(), guide.height());
    let selection = match (&errors, &unbiased) {
        (Some(errors), Some(unbiased)) if !input.thesis => {
            mix::shares(&candidates, errors, unbiased)
        }
        _ => {
            let best = |x: usize, y: usize| match &errors {
                // Without an estimate the most cautious candidate is used.
                None => 0,
                Some(e) => least([0, 1, 2].map(|k: usize| e[k].get(x, y, 0))),
            };
            Image::from_fn(width, height, 3, |x, y, k| {
                f32::from(u8::from(best(x, y) == k))
            })
        }
    };
    let color = Image::from_fn(width, height, guide.channels(), |x, y, c| {
        let one = |k: usize| selection.get(x, y, k) * candidates[k].get(x, y, c);
        one(0) + one(1) + one(2)
    });
    Output {
        candidates,
        errors,
        color,
        selection,
    }
}

/// How many of the candidates are used.
pub const fn used(thesis: bool) -> usize {
    if thesis { 3 } else { 2 }
}

/// The first of the smallest of three numbers.
pub fn least(e: [f32; 3]) -> usize {
    let second = usize::from(e[1] < e[0]);
    if e[2] < e[second] { 2 } else { second }
}

/// `((a - b) / 2)²`.
fn half_squares(a: &Image, b: &Image) -> Image {
    Image::from_fn(a.width(), a.height(), a.channels(), |x, y, c| {
        (0.5 * (a.get(x, y, c) - b.get(x, y, c))).powi(2)
    })
}

fn larger(a: &Image, b: &Image) -> Image {
    Image::from_fn(a.width(), a.height(), a.channels(), |x, y, c| {
        a.get(x, y, c).max(b.get(x, y, c))
    })
}

/// The differences of the result with the brightness of the base image.
fn second_pass(base: &Image, x: &Image) -> Image {
    let step = |i: usize, j: usize| {
        Image::from_fn(x.width(), x.height(), x.channels(), |u, v, c| {
            if u + i < x.width() && v + j < x.height() {
                x.get(u + i, v + j, c) - x.get(u, v, c)
            } else {
                0.0
            }
        })
    };
    let (dx, dy) = (step(1, 0), step(0, 1));
    Samples {
        base,
        dx: &dx,
        dy: &dy,
    }
    .problem(SECOND_ALPHA)
    .l2()
}

/// Compares each half of a candidate with the unbiased fit of the other half, whose noise is independent. Filtering with given
/// weights is linear: the second half is twice the candidate minus the first. A half has twice the noise of the whole, which is
/// estimated from their difference; without this correction, cautious candidates would be penalised for noise that they do not
/// have.
fn error(made: &Image, half: &Image, unbiased: &[Image; 2]) -> Image {
    let squares = Image::from_fn(made.width(), made.height(), 1, |x, y, _| {
        let one = |c: usize| {
            let (a, y) = (half.get(x, y, c), (x, y));
            let b = 2.0 * made.get(y.0, y.1, c) - a;
            let other = |k: usize| unbiased[k].get(y.0, y.1, c);
            let noise = (made.get(y.0, y.1, c) - a).powi(2);
            0.5 * ((a - other(1)).powi(2) + (b - other(0)).powi(2)) - noise
        };
        (0..made.channels()).map(one).sum()
    });
    tent(&squares, ERROR_RADIUS, 1.0, 0.0)
}

/// Offsets of the pixels of a patch, row by row.
fn offsets() -> impl Iterator<Item = (isize, isize)> {
    let r = RADIUS as isize;
    (-r..=r).flat_map(move |dy| (-r..=r).map(move |dx| (dx, dy)))
}

/// The pixel at an offset, if it is inside.
fn moved(
    p: (usize, usize),
    by: (isize, isize),
    width: usize,
    height: usize,
) -> Option<(usize, usize)> {
    let x = p.0.checked_add_signed(by.0).filter(|x| *x < width)?;
    let y = p.1.checked_add_signed(by.1).filter(|y| *y < height)?;
    Some((x, y))
}

/// `w(p, q)` of Eq. 5.14, 0 if it is at most `δ`: for each pixel, one number for each pixel of its patch.
pub fn weights(
    guide: &Image,
    variance: &Image,
    features: &[(Image, Image)],
    candidate: Candidate,
) -> Vec<[f64; PATCH]> {
    let (width, height) = (guide.width(), guide.height());
    let spreads: Vec<Vec<f64>> = features.iter().map(|(f, v)| spread(f, v)).collect();
    let get = |i: &Image, p: (usize, usize), c: usize| f64::from(i.get(p.0, p.1, c));
    // Eq. 5.9 and 5.12, of colour or of a feature.
    let distance = |p: (usize, usize), q: (usize, usize), what: Option<usize>| match what {
        None => {
            let one = |c: usize| {
                let noise = get(variance, p, c) + get(variance, q, c);
                let apart = (get(guide, p, c) - get(guide, q, c)).powi(2) - noise;
                apart / (EPSILON + candidate.color.powi(2) * noise)
            };
            (0..guide.channels()).map(one).sum::<f64>() / guide.channels() as f64
        }
        Some(j) => {
            let (f, v) = &features[j];
            let noise = get(v, p, 0) + get(v, q, 0);
            let apart = (get(f, p, 0) - get(f, q, 0)).powi(2) - noise;
            let spread = |p: (usize, usize)| spreads[j][p.1 * width + p.0].max(LEAST_SPREAD);
            apart / (EPSILON + candidate.feature.powi(2) * (spread(p) + spread(q)))
        }
    };
    // Eq. 5.10.
    let patch = |p: (usize, usize), by: (isize, isize), what: Option<usize>| {
        let (mut sum, mut count) = (0.0, 0.0);
        for n in offsets() {
            if let Some(a) = moved(p, n, width, height)
                && let Some(b) = moved(a, by, width, height)
            {
                sum += distance(a, b, what);
                count += 1.0;
            }
        }
        sum / count
    };
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    pixels
        .map(|p| {
            let mut all = [0.0; PATCH];
            for (w, by) in all.iter_mut().zip(offsets()) {
                if moved(p, by, width, height).is_some() {
                    let mut far = patch(p, by, None);
                    for j in 0..features.len() {
                        far = far.max(patch(p, by, Some(j)));
                    }
                    let near = (-far.max(0.0)).exp();
                    *w = if near > LEAST_WEIGHT { near } else { 0.0 };
                }
            }
            all
        })
        .collect()
}

/// The larger of variance and squared gradient.
fn spread(feature: &Image, variance: &Image) -> Vec<f64> {
    let (w, h) = (feature.width(), feature.height());
    let one = |x: usize, y: usize| {
        let (l, r) = (x.saturating_sub(1), (x + 1).min(w - 1));
        let (t, b) = (y.saturating_sub(1), (y + 1).min(h - 1));
        let slope = |a: f32, b: f32, n: usize| f64::from(b - a) / n.max(1) as f64;
        let dx = slope(feature.get(l, y, 0), feature.get(r, y, 0), r - l);
        let dy = slope(feature.get(x, t, 0), feature.get(x, b, 0), b - t);
        f64::from(variance.get(x, y, 0)).max(dx * dx + dy * dy)
    };
    (0..h)
        .flat_map(|y| (0..w).map(move |x| one(x, y)))
        .collect()
}

/// The constraints of Eq. 5.6 for all pixels.
#[derive(Debug)]
pub struct Patches {
    width: usize,
    /// The diagonal of each `D_p`.
    weights: Vec<[f64; PATCH]>,
    /// The columns of each `B_p`.
    bases: Vec<Vec<[f64; PATCH]>>,
}

impl Patches {
    /// Bases of all patches, in which pixels without weight are excluded.
    pub fn new(
        (features, thesis): (&[(Image, Image)], bool),
        weights: &[[f64; PATCH]],
        width: usize,
        beta: f64,
    ) -> Self {
        let height = weights.len() / width;
        let basis = |p: usize| {
            let at = (p % width, p / width);
            let values = |f: &Image| {
                let mut all = [0.0; PATCH];
                for (v, by) in all.iter_mut().zip(offsets()) {
                    if let Some((x, y)) = moved(at, by, width, height) {
                        let here = if thesis { 0.0 } else { f.get(at.0, at.1, 0) };
                        *v = f64::from(f.get(x, y, 0) - here);
                    }
                }
                all
            };
            let columns: Vec<_> = features.iter().map(|(f, _)| values(f)).collect();
            basis(&columns, &weights[p].map(|w| w > 0.0), thesis)
        };
        Self {
            width,
            bases: (0..weights.len()).map(basis).collect(),
            weights: weights.iter().map(|w| w.map(|w| beta * w)).collect(),
        }
    }

    /// The pixels of a patch with weight, by their index in it.
    fn members(&self, p: usize) -> impl Iterator<Item = (usize, usize)> {
        let (width, height) = (self.width, self.weights.len() / self.width);
        offsets().enumerate().filter_map(move |(a, by)| {
            let (x, y) = moved((p % width, p / width), by, width, height)?;
            (self.weights[p][a] > 0.0).then_some((a, y * width + x))
        })
    }

    /// `(B_p B_pᵀ - I) Γ_p x` for one channel.
    pub fn off(&self, p: usize, x: &[f64]) -> [f64; PATCH] {
        let mut patch = [0.0; PATCH];
        for (a, q) in self.members(p) {
            patch[a] = x[q];
        }
        project(&self.bases[p], &patch)
    }

    /// `Σ_p Γᵀ (BBᵀ - I) Ω_p (BBᵀ - I) Γ`: for each pixel, its row of the matrix.
    fn matrix(&self, omega: &[[f64; PATCH]]) -> Vec<Vec<(usize, f64)>> {
        let mut matrix: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); self.weights.len()];
        for (p, omega) in omega.iter().enumerate() {
            let members: Vec<_> = self.members(p).collect();
            let unit = |a: usize| std::array::from_fn(|i| f64::from(u8::from(i == a)));
            let columns = members
                .iter()
                .map(|(a, _)| project(&self.bases[p], &unit(*a)));
            let columns: Vec<_> = columns.collect();
            for ((_, i), left) in members.iter().zip(&columns) {
                for ((_, j), right) in members.iter().zip(&columns) {
                    let product = |a: usize| left[a] * omega[a] * right[a];
                    let entry = matrix[*i].entry(*j).or_default();
                    *entry += members.iter().map(|(a, _)| product(*a)).sum::<f64>();
                }
            }
        }
        let rows = matrix.into_iter();
        rows.map(|row| row.into_iter().collect()).collect()
    }

    /// Squared weights of all rows, `1 / (|e| + reg)` of the residual at `x`; unchanged without `x`.
    fn omega(&self, at: Option<(&[f64], f64)>) -> Vec<[f64; PATCH]> {
        let count = self.weights.len();
        let one = |p: usize| {
            let mut omega = self.weights[p].map(|w| w * w);
            if let Some((x, reg)) = at {
                let off: Vec<_> = x.chunks(count).map(|x| self.off(p, x)).collect();
                for a in 0..PATCH {
                    let squares: f64 = off.iter().map(|o| o[a].powi(2)).sum();
                    omega[a] /= self.weights[p][a] * squares.sqrt() + reg;
                }
            }
            omega
        };
        (0..count).map(one).collect()
    }

    /// Eq. 5.8 with least absolute errors; and the same weights on the first half of the samples.
    fn solve(&self, input: &Input<'_>) -> (Image, Option<Image>) {
        let problem = input.all.problem(input.alpha);
        let mut weights = problem.ones();
        let mut omega = self.omega(None);
        let mut reg = REG_INIT;
        for _ in 1..input.rounds {
            let matrix = self.matrix(&omega);
            let x = problem.solve(&weights, &matrix);
            weights = problem.weigh(&x, reg);
            omega = self.omega(Some((&x, reg)));
            reg *= REG_ITER;
        }
        let matrix = self.matrix(&omega);
        let last = |samples: Samples<'_>| {
            let problem = samples.problem(input.alpha);
            problem.image(&problem.solve(&weights, &matrix))
        };
        (last(input.all), input.halves.map(|[a, _]| last(a)))
    }
}

/// `(B Bᵀ - I) v`.
fn project(basis: &[[f64; PATCH]], v: &[f64; PATCH]) -> [f64; PATCH] {
    let mut out = v.map(|v| -v);
    for b in basis {
        let along: f64 = b.iter().zip(v).map(|(b, v)| b * v).sum();
        for (o, b) in out.iter_mut().zip(b) {
            *o += along * b;
        }
    }
    out
}
