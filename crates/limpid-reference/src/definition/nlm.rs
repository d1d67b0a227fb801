//! Non-local means with feature weights: the `FEATUREFILTER` of Vicini 2015, sections 3.2 to 3.4, Eq. 3.1 to 3.16.
//!
//! Reordered as in section 3.6: for each offset a plane of pixel distances, its box mean, the exponential, a weighted sum. A
//! pair of pixels counts if both are inside the image; box means are over the pairs that count.
//!
//! Interpretations of the text:
//! - Eq. 3.5 is the squared distance `Δ²`. With uniform variance, Eq. 3.7 is Eq. 3.6.
//! - The weights of two opposite pixels are combined after the patch-wise mean; both distances must be below 25.
//! - The finite difference of Eq. 3.16 perturbs all channels of the centre at once, by 1 % of their value (at least of 0.001).
//!   The pair of centres is in every patch of the patch-wise mean, so that the weight changes by the same factor as the weight
//!   of the centre patch.

use limpid_core::{Image, Size};

/// Keeps denominators above zero where there is no noise (Eq. 3.7, 3.10).
pub const EPSILON: f64 = 1e-10;

/// `d²max` of section 3.2.4.
pub const SYMMETRIC_LIMIT: f64 = 25.0;

/// Relative step of the finite difference (section 3.4.2).
pub const STEP: f64 = 0.01;

/// Smallest value from which the relative step is computed.
pub const STEP_FLOOR: f64 = 1e-3;

/// The colour from which weights are computed.
#[derive(Debug, Clone, Copy)]
pub struct Guide<'a> {
    /// The noisy colour.
    pub image: &'a Image,
    /// Its variance.
    pub variance: &'a Image,
    /// `k_c`: tolerated difference of colours, in standard deviations.
    pub k: f64,
    /// Radius `f` of patches.
    pub patch: usize,
}

/// One prefiltered feature (section 3.3).
#[derive(Debug, Clone, Copy)]
pub struct Feature<'a> {
    /// Its values.
    pub image: &'a Image,
    /// Their variance.
    pub variance: &'a Image,
    /// `k_f`.
    pub k: f64,
    /// `τ_j`, already scaled by the feature's range.
    pub tau: f64,
    /// Whether edges of the feature stop the filter like other differences; contrast is then ignored.
    pub hard: bool,
}

/// The filter with its weights.
#[derive(Debug, Clone)]
pub struct Filter<'a> {
    /// Radius `r` of the window.
    pub radius: usize,
    /// Colour weights; `None` for `k_c = ∞`.
    pub guide: Option<Guide<'a>>,
    /// Features; empty for `k_f = ∞`.
    pub features: Vec<Feature<'a>>,
    /// Whether weights are averaged over patches (section 3.2.3).
    pub patchwise: bool,
    /// Whether opposite pixels may be weighted by their mean (section 3.2.4).
    pub symmetric: bool,
}

/// The result.
#[derive(Debug, Clone)]
pub struct Filtered {
    /// The filtered image.
    pub image: Image,
    /// Sums of a second image with weights `Σ w² / (Σ w)²`: the remaining variance, if that image is the variance.
    pub residual: Option<Image>,
    /// `∂F_i/∂u_i`, one channel each.
    pub slope: Image,
}

impl Filter<'_> {
    /// Filters an image; `variance` is summed with squared weights, `center` is the guide of the finite difference.
    pub fn run(&self, image: &Image, variance: Option<&Image>) -> Filtered {
        self.run_apart(image, variance, &|_| 1.0)
    }

    /// The same with noise correlated between pixels: `apart` is 1 minus the correlation at an offset.
    pub fn run_apart(
        &self,
        image: &Image,
        variance: Option<&Image>,
        apart: &dyn Fn((i64, i64)) -> f64,
    ) -> Filtered {
        let size = image.size();
        let (width, height) = (size.width, size.height);
        let channels = image.channels();
        let count = size.pixels();
        let at = |c: usize, i: usize| f64::from(image.data()[c * count + i]);
        let step = |c: usize, i: usize| STEP * at(c, i).abs().max(STEP_FLOOR);
        // The centre has weight 1, perturbed or not.
        let mut weights = vec![1.0; count];
        let mut sums: Vec<f64> = (0..channels * count).map(|k| at(0, k)).collect();
        let mut moved_weights = vec![1.0; count];
        let mut moved: Vec<f64> = (0..channels * count)
            .map(|k| at(0, k) + step(k / count, k % count))
            .collect();
        let mut squares: Option<Vec<f64>> =
            variance.map(|v| v.data().iter().map(|v| f64::from(*v)).collect());
        for offset in half_window(self.radius) {
            let pair = self.pair(size, offset, apart(offset));
            for (sign, w, w_moved) in [
                (1, &pair.weights[0], &pair.moved[0]),
                (-1, &pair.weights[1], &pair.moved[1]),
            ] {
                let o = (sign * offset.0, sign * offset.1);
                for p in inside(width, height, &[o]) {
                    let i = p.1 * width + p.0;
                    let q = shift(p, o, width);
                    weights[i] += w[i];
                    moved_weights[i] += w_moved[i];
                    for c in 0..channels {
                        sums[c * count + i] += w[i] * at(c, q);
                        moved[c * count + i] += w_moved[i] * at(c, q);
                        if let (Some(s), Some(v)) = (&mut squares, variance) {
                            s[c * count + i] += w[i] * w[i] * f64::from(v.data()[c * count + q]);
                        }
                    }
                }
            }
        }
        let make = |f: &dyn Fn(usize, usize) -> f64| {
            Image::from_fn(width, height, channels, |x, y, c| {
                f(c, y * width + x) as f32
            })
        };
        Filtered {
            image: make(&|c, i| sums[c * count + i] / weights[i]),
            residual: squares.map(|s| make(&|c, i| s[c * count + i] / weights[i].powi(2))),
            slope: make(&|c, i| {
                let before = sums[c * count + i] / weights[i];
                (moved[c * count + i] / moved_weights[i] - before) / step(c, i)
            }),
        }
    }

    /// The weights of `p + o` and `p - o` at each `p`, and those with a perturbed centre.
    fn pair(&self, Size { width, height }: Size, o: (i64, i64), apart: f64) -> Pair {
        let count = width * height;
        let mut weights = [vec![1.0; count], vec![1.0; count]];
        let mut moved = weights.clone();
        if let Some(guide) = &self.guide {
            let term = Term::color(guide, apart);
            let mut w = Vec::new();
            let mut d = Vec::new();
            let mut w_moved = Vec::new();
            for to in Partner::ALL {
                let pairs = inside(width, height, &to.offsets(o));
                let mut plane = vec![0.0; count];
                for p in &pairs {
                    plane[p.1 * width + p.0] = term.distance(*p, to, o);
                }
                let mean = box_mean(&plane, &pairs, guide.patch, width, height);
                let mut weight = vec![0.0; count];
                for p in &pairs {
                    let i = p.1 * width + p.0;
                    weight[i] = (-mean.0[i].max(0.0)).exp();
                }
                if self.patchwise {
                    weight = box_mean(&weight, &pairs, guide.patch, width, height).0;
                }
                let mut other = weight.clone();
                for p in &pairs {
                    let i = p.1 * width + p.0;
                    let change = term.change(*p, to, o) / mean.1[i];
                    let factor = (mean.0[i].max(0.0) - (mean.0[i] + change).max(0.0)).exp();
                    other[i] = (weight[i] * factor).min(1.0);
                }
                w.push(weight);
                d.push(mean.0);
                w_moved.push(other);
            }
            let both = inside(width, height, &Partner::Mean.offsets(o));
            if self.symmetric {
                for p in both {
                    let i = p.1 * width + p.0;
                    combine([d[0][i], d[1][i]], &mut w, i);
                    combine([d[0][i], d[1][i]], &mut w_moved, i);
                }
            }
            for side in 0..2 {
                weights[side].copy_from_slice(&w[side]);
                moved[side].copy_from_slice(&w_moved[side]);
            }
        }
        for feature in &self.features {
            let term = Term::feature(feature);
            let near = |p, to| term.distance(p, to, o);
            let mut w = Vec::new();
            let mut d = Vec::new();
            for to in Partner::ALL {
                let mut plane = vec![0.0; count];
                let mut weight = vec![0.0; count];
                for p in inside(width, height, &to.offsets(o)) {
                    let i = p.1 * width + p.0;
                    plane[i] = near(p, to);
                    weight[i] = (-plane[i].max(0.0)).exp();
                }
                d.push(plane);
                w.push(weight);
            }
            if self.symmetric {
                for p in inside(width, height, &Partner::Mean.offsets(o)) {
                    let i = p.1 * width + p.0;
                    combine([d[0][i], d[1][i]], &mut w, i);
                }
            }
            for side in 0..2 {
                for i in 0..count {
                    weights[side][i] = f64::min(weights[side][i], w[side][i]);
                    moved[side][i] = f64::min(moved[side][i], w[side][i]);
                }
            }
        }
        Pair { weights, moved }
    }
}

struct Pair {
    weights: [Vec<f64>; 2],
    moved: [Vec<f64>; 2],
}

/// Section 3.2.4: `w = a·w_mean + (1 - a)·w` for both sides.
fn combine(d: [f64; 2], w: &mut [Vec<f64>], i: usize) {
    if d[0] < SYMMETRIC_LIMIT && d[1] < SYMMETRIC_LIMIT {
        let a = (w[2][i] / (w[0][i] + w[1][i]) - 1.0).clamp(0.0, 1.0);
        for side in 0..2 {
            w[side][i] = a * w[2][i] + (1.0 - a) * w[side][i];
        }
    }
}

/// The partner that the centre is compared with.
#[derive(Clone, Copy)]
enum Partner {
    /// `p + o`.
    Plus,
    /// `p - o`.
    Minus,
    /// The mean of both.
    Mean,
}

impl Partner {
    const ALL: [Self; 3] = [Self::Plus, Self::Minus, Self::Mean];

    /// The offsets of the pixels that it is made of.
    fn offsets(self, o: (i64, i64)) -> [(i64, i64); 2] {
        let back = (-o.0, -o.1);
        match self {
            Self::Plus => [o, o],
            Self::Minus => [back, back],
            Self::Mean => [o, back],
        }
    }
}

/// A pixel distance: Eq. 3.7 and 3.9 for colour, Eq. 3.10 for features.
struct Term<'a> {
    image: &'a Image,
    variance: &'a Image,
    /// The decorrelation of the noise of two pixels.
    apart: f64,
    /// `k² V`: for colour the variance, for features the largest of `τ`, variance and contrast.
    spread: Box<dyn Fn(usize, usize) -> f64 + 'a>,
}

impl<'a> Term<'a> {
    fn color(guide: &'a Guide<'_>, apart: f64) -> Self {
        let (k2, count) = (guide.k * guide.k, guide.image.size().pixels());
        let variance = guide.variance.data();
        Self {
            image: guide.image,
            variance: guide.variance,
            apart,
            spread: Box::new(move |c, i| k2 * f64::from(variance[c * count + i])),
        }
    }

    fn feature(feature: &'a Feature<'_>) -> Self {
        let (k2, count, tau) = (
            feature.k * feature.k,
            feature.image.size().pixels(),
            feature.tau,
        );
        let variance = feature.variance.data();
        let contrast = match feature.hard {
            true => vec![0.0; feature.image.data().len()],
            false => contrast(feature.image),
        };
        Self {
            image: feature.image,
            variance: feature.variance,
            apart: 1.0,
            spread: Box::new(move |c, i| {
                let k = c * count + i;
                k2 * tau.max(f64::from(variance[k])).max(contrast[k])
            }),
        }
    }

    /// Centre, other value, subtrahend and denominator, in channel `c`.
    fn parts(&self, p: (usize, usize), to: Partner, o: (i64, i64), c: usize) -> [f64; 4] {
        let (width, count) = (self.image.width(), self.image.size().pixels());
        let value = |i: usize| f64::from(self.image.data()[c * count + i]);
        let variance = |i: usize| f64::from(self.variance.data()[c * count + i]);
        let i = p.1 * width + p.0;
        let [a, b] = to.offsets(o).map(|o| shift(p, o, width));
        let least = |q: usize| variance(i).min(variance(q));
        match to {
            Partner::Mean => [
                value(i),
                0.5 * (value(a) + value(b)),
                self.apart * (variance(i) + 0.25 * (least(a) + least(b))),
                EPSILON + (self.spread)(c, i) + 0.25 * ((self.spread)(c, a) + (self.spread)(c, b)),
            ],
            Partner::Plus | Partner::Minus => [
                value(i),
                value(a),
                self.apart * (variance(i) + least(a)),
                EPSILON + (self.spread)(c, i) + (self.spread)(c, a),
            ],
        }
    }

    /// The distance, mean over channels.
    fn distance(&self, p: (usize, usize), to: Partner, o: (i64, i64)) -> f64 {
        let channels = self.image.channels();
        let one = |c| {
            let [u, v, less, over] = self.parts(p, to, o, c);
            ((u - v).powi(2) - less) / over
        };
        (0..channels).map(one).sum::<f64>() / channels as f64
    }

    /// The increase of the distance when the centre is perturbed by its step.
    fn change(&self, p: (usize, usize), to: Partner, o: (i64, i64)) -> f64 {
        let channels = self.image.channels();
        let one = |c| {
            let [u, v, _, over] = self.parts(p, to, o, c);
            let step = STEP * u.abs().max(STEP_FLOOR);
            step * (2.0 * (u - v) + step) / over
        };
        (0..channels).map(one).sum::<f64>() / channels as f64
    }
}

/// `|∇f|²` by central differences, one-sided at the border.
pub fn contrast(image: &Image) -> Vec<f64> {
    let (width, height) = (image.width(), image.height());
    let mut out = Vec::with_capacity(image.data().len());
    for c in 0..image.channels() {
        let value = |x: usize, y: usize| f64::from(image.get(x, y, c));
        for y in 0..height {
            for x in 0..width {
                let (l, r) = (x.saturating_sub(1), (x + 1).min(width - 1));
                let (t, b) = (y.saturating_sub(1), (y + 1).min(height - 1));
                let dx = (value(r, y) - value(l, y)) / (r - l).max(1) as f64;
                let dy = (value(x, b) - value(x, t)) / (b - t).max(1) as f64;
                out.push(dx * dx + dy * dy);
            }
        }
    }
    out
}

/// One of each two opposite offsets: rows below, and pixels to the right in the same row.
pub fn half_window(radius: usize) -> Vec<(i64, i64)> {
    let r = radius as i64;
    (0..=r)
        .flat_map(|dy| (-r..=r).map(move |dx| (dx, dy)))
        .filter(|(dx, dy)| *dy > 0 || *dx > 0)
        .collect()
}

fn shift(p: (usize, usize), o: (i64, i64), width: usize) -> usize {
    (p.1 as i64 + o.1) as usize * width + (p.0 as i64 + o.0) as usize
}

/// The pixels whose partners are inside.
fn inside(width: usize, height: usize, offsets: &[(i64, i64)]) -> Vec<(usize, usize)> {
    let ok = |x: usize, y: usize| {
        offsets.iter().all(|(dx, dy)| {
            (0..width as i64).contains(&(x as i64 + dx))
                && (0..height as i64).contains(&(y as i64 + dy))
        })
    };
    (0..height)
        .flat_map(|y| (0..width).map(move |x| (x, y)))
        .filter(|(x, y)| ok(*x, *y))
        .collect()
}

/// The mean over the square of radius `f`, of the pixels in `pairs`; and their number.
fn box_mean(
    plane: &[f64],
    pairs: &[(usize, usize)],
    f: usize,
    width: usize,
    height: usize,
) -> (Vec<f64>, Vec<f64>) {
    let mut counts = vec![0.0; plane.len()];
    for p in pairs {
        counts[p.1 * width + p.0] = 1.0;
    }
    let (sums, number) = (
        box_sum(plane, f, width, height),
        box_sum(&counts, f, width, height),
    );
    let mut mean = vec![0.0; plane.len()];
    for p in pairs {
        let i = p.1 * width + p.0;
        mean[i] = sums[i] / number[i];
    }
    (mean, number)
}

/// The sum over the square of radius `f`: of rows, then of columns.
fn box_sum(plane: &[f64], f: usize, width: usize, height: usize) -> Vec<f64> {
    let near = |at: usize, end: usize| at.saturating_sub(f)..(at + f + 1).min(end);
    let mut rows = vec![0.0; plane.len()];
    for (from, to) in plane.chunks_exact(width).zip(rows.chunks_exact_mut(width)) {
        for (x, sum) in to.iter_mut().enumerate() {
            *sum = from[near(x, width)].iter().sum();
        }
    }
    let mut squares = vec![0.0; plane.len()];
    for (y, to) in squares.chunks_exact_mut(width).enumerate() {
        for row in
            rows[width * near(y, height).start..width * near(y, height).end].chunks_exact(width)
        {
            for (sum, value) in to.iter_mut().zip(row) {
                *sum += value;
            }
        }
    }
    squares
}
