//! First-order regression for renders, after Bitterli et al. 2016, *Nonlinearly Weighted First-order Regression for Denoising
//! Monte Carlo Renderings*.
//!
//! Around each pixel, colour is fitted as a linear function of features and position; the value of the fit at the pixel is the
//! result. Neighbours are weighted by the similarity of their patches. Two independent buffers A and B keep weights and noise
//! independent: the weights of B filter A and vice versa, and the result of A is evaluated by B.
//!
//! Beyond the paper: pixels of different classes never mix ([`super::front`]); one buffer serves as two by the colours of a
//! checkerboard; a last fit smooths the remaining noise, over a wider, sparse window. The paper's collaborative vote is
//! omitted: it has no benefit.

mod judge;

use super::front::{self, Checkerboard, Surface};
use super::window::tent;
use judge::Judge;
use limpid_core::Image;

/// The taps of a fit: all offsets within a radius, or those of a lattice, `dx + 2·dy` divisible by `stride`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Largest offset along an axis.
    pub radius: usize,
    /// One in this many offsets is used.
    pub stride: usize,
}

impl Window {
    /// The offsets, row by row.
    pub fn offsets(self) -> impl Iterator<Item = (i64, i64)> {
        let (r, stride) = (self.radius as i64, self.stride as i64);
        (-r..=r)
            .flat_map(move |dy| (-r..=r).map(move |dx| (dx, dy)))
            .filter(move |(dx, dy)| (dx + 2 * dy) % stride == 0)
    }
}

/// One fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitSettings {
    /// Its taps.
    pub window: Window,
    /// Radius of the compared patches.
    pub patch: usize,
    /// Minimum variance.
    pub floor: f32,
    /// Weight of albedo and normal in the distance.
    pub feature: f32,
    /// Ridge: relative to each feature's own square, added for features, and added for x and y.
    pub ridge: [f32; 3],
}

/// The parameters of the whole method.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The first fit.
    pub first: FitSettings,
    /// Tolerated difference of patches, in standard deviations: one candidate each.
    pub first_k: Vec<f32>,
    /// A second fit of the noisy data, guided by the first result.
    pub second: Option<FitSettings>,
    /// Its candidates.
    pub second_k: Vec<f32>,
    /// The last fit, of the result itself.
    pub last: FitSettings,
    /// Its candidate.
    pub last_k: f32,
    /// Radius over which variances are averaged.
    pub variance: usize,
    /// Side of the squares of the checkerboard that replaces two buffers: more than a pixel if the noise of neighbours is
    /// correlated.
    pub cell: usize,
}

/// Unit of position in pixels.
pub const STEP: f32 = 9.0;
/// Smaller weights count as zero.
pub const LEAST: f32 = 1e-8;
/// Keeps quotients of distances finite.
pub const TINY: f32 = 1e-8;
/// Brightness that is always accepted, and the square that is added to squares of brightness.
pub const DARK: f32 = 1e-3;
/// See [`DARK`].
pub const DARK_SQUARE: f32 = 0.01;
/// Maximum difference between the error of a candidate and that of the first.
pub const MOST: f32 = 0.2;
/// The margin by which it must be lower, so that the choice among equal candidates does not depend on rounding.
pub const MARGIN: f32 = 1e-5;
/// Radii over which errors and choices are averaged, twice each.
pub const SMOOTH: (usize, usize) = (2, 1);

/// The guide of a fit, and the pixels that count.
#[derive(Debug, Clone, Copy)]
pub struct Guide<'a> {
    /// Colours that are compared.
    pub color: &'a Image,
    /// Their variance.
    pub variance: &'a Image,
    /// Features, classes.
    pub surface: &'a Surface,
    /// If set, only pixels of this parity of the checkerboard count.
    pub parity: Option<usize>,
    /// Side of its squares.
    pub cell: usize,
}

/// The parity of a pixel on a checkerboard with squares of this side.
pub fn parity(x: usize, y: usize, cell: usize) -> usize {
    (x / cell + y / cell) % 2
}

/// Two estimates of one image.
pub type Pair = [Image; 2];

/// The input buffers.
#[derive(Debug, Clone)]
pub enum Buffers {
    /// Two independent buffers.
    Two(Pair),
    /// One buffer.
    One(Image),
}

/// The result.
#[derive(Debug, Clone)]
pub struct Output {
    /// The result.
    pub color: Image,
    /// The error of each result as measured by the other buffer, beyond its noise: squared, over the squared brightness. May be
    /// negative.
    pub excess: Image,
    /// The distance between the results of both buffers, as the variance of their mean.
    pub spread: Image,
    /// The share of each candidate in the result, in the order of computation.
    pub choice: Image,
    /// Other layers, filtered by the same fits.
    pub others: Vec<Image>,
}

/// The whole method on buffers that were divided by [`Surface::divide`]. `others` are layers in the same units.
pub fn nfor(buffers: &Buffers, surface: &Surface, others: &[Image], s: &Settings) -> Output {
    // Outliers.
    let raw = match buffers {
        Buffers::Two([a, b]) => [
            front::limit_by_other(a, b, &surface.class, DARK),
            front::limit_by_other(b, a, &surface.class, DARK),
        ],
        Buffers::One(y) => {
            let y = front::limit_by_itself(y, &surface.class, DARK, s.cell);
            [y.clone(), y]
        }
    };
    // The guide of the first fit: the other buffer; with one buffer, its other parity.
    let two = matches!(buffers, Buffers::Two(_));
    let (guides, variances, noise, parities) = if two {
        let noise = zip(&raw[0], &raw[1], |a, b| 0.5 * (a - b).powi(2));
        let v = mean(&noise, s.variance);
        (raw.clone(), [v.clone(), v], noise, [None, None])
    } else {
        let sharp = surface.sharp;
        let board = front::checkerboard(
            &raw[0],
            surface.features.as_ref(),
            sharp,
            &surface.class,
            s.cell,
        );
        let (guides, variances, noise) = split(&raw[0], &board, s);
        (guides, variances, noise, [Some(0), Some(1)])
    };
    let guide = |k: usize| Guide {
        color: &guides[k],
        variance: &variances[k],
        surface,
        parity: parities[1 - k],
        cell: s.cell,
    };
    let judge = Judge::new(&raw, (!two).then_some(s.cell));
    let mut chain: Vec<Chain> = Vec::new();
    chain.push(Chain::new(raw.clone()));
    chain.extend(others.iter().map(|o| Chain::new([o.clone(), o.clone()])));
    // Data k is fitted with the weights of the other one.
    for c in &mut chain {
        for k in &s.first_k {
            let made = [0, 1].map(|i| fit(&guide(1 - i), &c.data[i], *k, &s.first));
            c.candidates.push(made);
        }
    }
    let mut maps = judge.choose(&chain[0].candidates);
    let (pilot, spread) = result(&chain[0], &maps);
    if let Some(second) = &s.second {
        let again = |i: usize| Guide {
            color: &pilot[i],
            variance: &spread,
            surface,
            parity: parities[1 - i],
            cell: s.cell,
        };
        for c in &mut chain {
            for k in &s.second_k {
                let made = [0, 1].map(|i| fit(&again(1 - i), &c.data[i], *k, second));
                c.candidates.push(made);
            }
        }
        maps = judge.choose(&chain[0].candidates);
    }
    // Fits the result once more.
    let (pilot, spread) = result(&chain[0], &maps);
    let last = |i: usize| Guide {
        color: &pilot[i],
        variance: &spread,
        surface,
        parity: None,
        cell: s.cell,
    };
    for c in &mut chain {
        let now = c.mix(&maps);
        let made = [0, 1].map(|i| fit(&last(1 - i), &now[i], s.last_k, &s.last));
        c.candidates.push(made);
    }
    let maps = judge.choose(&chain[0].candidates);
    let halves = chain[0].mix(&maps);
    let middle = |pair: &Pair| zip(&pair[0], &pair[1], |a, b| 0.5 * (a + b));
    let [excess, spread] = judge.error(&halves, &noise);
    Output {
        color: middle(&halves),
        excess,
        spread,
        choice: maps.clone(),
        others: chain[1..].iter().map(|c| middle(&c.mix(&maps))).collect(),
    }
}

/// A layer being processed: the data of the fits, and their results.
struct Chain {
    data: Pair,
    candidates: Vec<Pair>,
}

impl Chain {
    fn new(data: Pair) -> Self {
        Self {
            data,
            candidates: Vec::new(),
        }
    }

    /// The candidates weighted by the maps, clamped to at least 0.
    fn mix(&self, maps: &Image) -> Pair {
        [0, 1].map(|i| {
            let first = &self.candidates[0][i];
            Image::from_fn(
                first.width(),
                first.height(),
                first.channels(),
                |x, y, c| {
                    let share =
                        |(k, made): (usize, &Pair)| maps.get(x, y, k) * made[i].get(x, y, c);
                    self.candidates
                        .iter()
                        .enumerate()
                        .map(share)
                        .sum::<f32>()
                        .max(0.0)
                },
            )
        })
    }
}

/// The chosen pair, and its remaining noise.
fn result(chain: &Chain, maps: &Image) -> (Pair, Image) {
    let pilot = chain.mix(maps);
    let spread = mean(&zip(&pilot[0], &pilot[1], |a, b| 0.5 * (a - b).powi(2)), 1);
    (pilot, spread)
}

/// One buffer as two guides with their variances: pixels of one parity, and the estimate of the others from them. The last
/// result is the squared noise of single pixels.
fn split(y: &Image, board: &Checkerboard, s: &Settings) -> (Pair, Pair, Image) {
    let (w, h) = (y.width(), y.height());
    let own = |x: usize, j: usize, p: usize| parity(x, j, s.cell) == p;
    let raw = Image::from_fn(w, h, y.channels(), |x, j, c| {
        (y.get(x, j, c) - board.mean.get(x, j, c)).powi(2) / (1.0 + board.share.get(x, j, 0))
    });
    let variance = mean(&raw, s.variance);
    let guide = |parity| {
        Image::from_fn(w, h, y.channels(), |x, j, c| {
            let from = if own(x, j, parity) { y } else { &board.mean };
            from.get(x, j, c)
        })
    };
    let spread = |parity| {
        Image::from_fn(w, h, y.channels(), |x, j, c| {
            let share = if own(x, j, parity) {
                1.0
            } else {
                board.share.get(x, j, 0)
            };
            share * variance.get(x, j, c)
        })
    };
    let variances = [spread(0), spread(1)];
    ([guide(0), guide(1)], variances, raw)
}

/// Fits the data around each pixel and returns the value of the fit there.
pub fn fit(guide: &Guide<'_>, data: &Image, k: f32, fit: &FitSettings) -> Image {
    let (w, h) = (data.width(), data.height());
    let features = guide.surface.features.as_ref();
    let planes = features.map_or(0, Image::channels);
    let size = planes + 3;
    let mut out = data.clone();
    for y in 0..h {
        for x in 0..w {
            let mut sums = vec![vec![0.0f64; size + data.channels()]; size];
            for (dx, dy) in fit.window.offsets() {
                let (i, j) = (x as i64 + dx, y as i64 + dy);
                if !(0..w as i64).contains(&i) || !(0..h as i64).contains(&j) {
                    continue;
                }
                let (i, j) = (i as usize, j as usize);
                let weight = weight(guide, (x, y), (i, j), k, fit);
                if guide.parity.is_some_and(|p| parity(i, j, guide.cell) != p) || weight == 0.0 {
                    continue;
                }
                let mut row = vec![
                    1.0,
                    dx as f64 / f64::from(STEP),
                    dy as f64 / f64::from(STEP),
                ];
                let near =
                    |f: &Image, c: usize| f64::from(f.get(i, j, c)) - f64::from(f.get(x, y, c));
                row.extend(
                    features
                        .iter()
                        .flat_map(|f| (0..planes).map(|c| near(f, c))),
                );
                let values = (0..data.channels()).map(|c| f64::from(data.get(i, j, c)));
                let all: Vec<f64> = row.iter().copied().chain(values).collect();
                for (sums, r) in sums.iter_mut().zip(&row) {
                    for (s, v) in sums.iter_mut().zip(&all) {
                        *s += weight * r * v;
                    }
                }
            }
            if sums[0][0] > 0.0 {
                let at = solve(&mut sums, fit.ridge);
                for c in 0..data.channels() {
                    let value: f64 = (0..size).map(|r| at[r] * sums[r][size + c]).sum();
                    out.set(x, y, c, value as f32);
                }
            }
        }
    }
    out
}

/// The weight of pixel `q` for pixel `p`: patches of colour compared relative to their noise, albedo and normal directly.
fn weight(
    guide: &Guide<'_>,
    p: (usize, usize),
    q: (usize, usize),
    k: f32,
    fit: &FitSettings,
) -> f64 {
    let surface = guide.surface;
    if surface.class.get(p.0, p.1, 0) != surface.class.get(q.0, q.1, 0) {
        return 0.0;
    }
    let apart: f64 = surface.features.as_ref().map_or(0.0, |f| {
        let d = |c| f64::from(f.get(p.0, p.1, c)) - f64::from(f.get(q.0, q.1, c));
        (0..surface.sharp).map(|c| d(c).powi(2)).sum()
    });
    let distance = distance(guide, p, q, fit).max(0.0) / f64::from(k).powi(2);
    let weight = (-distance - apart * f64::from(fit.feature).powi(2)).exp();
    if weight < f64::from(LEAST) {
        0.0
    } else {
        weight
    }
}

/// The mean over patches and channels of `((a - b)² - (va + min(va, vb))) / (va + vb)`.
fn distance(guide: &Guide<'_>, p: (usize, usize), q: (usize, usize), fit: &FitSettings) -> f64 {
    let (w, h) = (guide.color.width() as i64, guide.color.height() as i64);
    let f = fit.patch as i64;
    let (mut sum, mut count) = (0.0, 0);
    for dy in -f..=f {
        for dx in -f..=f {
            let shift = |(x, y): (usize, usize)| (x as i64 + dx, y as i64 + dy);
            let inside = |(x, y): (i64, i64)| (0..w).contains(&x) && (0..h).contains(&y);
            let (a, b) = (shift(p), shift(q));
            if !inside(a) || !inside(b) {
                continue;
            }
            for c in 0..guide.color.channels() {
                let at =
                    |i: &Image, (x, y): (i64, i64)| f64::from(i.get(x as usize, y as usize, c));
                let floor = f64::from(fit.floor);
                let (va, vb) = (at(guide.variance, a) + floor, at(guide.variance, b) + floor);
                let off = at(guide.color, a) - at(guide.color, b);
                sum += (off * off - (va + va.min(vb))) / (f64::from(TINY) + va + vb);
                count += 1;
            }
        }
    }
    sum / f64::from(count)
}

/// The first row of the inverse of the matrix with its ridge: its product with the right-hand sides is the value of the fit at
/// the pixel. Uses a Cholesky factorisation with pivots of at least the ridge.
fn solve(sums: &mut [Vec<f64>], ridge: [f32; 3]) -> Vec<f64> {
    let n = sums.len();
    let [share, feature, place] = ridge.map(f64::from);
    let all = sums[0][0];
    let mut low = vec![vec![0.0f64; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let least = match i {
                0 => 1e-6 * all,
                1 | 2 => place * all,
                _ => feature * all,
            };
            let mut v = sums[j][i];
            if i == j && i > 0 {
                v = v * (1.0 + share) + least;
            }
            for q in 0..j {
                v -= low[i][q] * low[j][q];
            }
            low[i][j] = if i == j {
                v.max(least).sqrt()
            } else {
                v / low[j][j]
            };
        }
    }
    let mut at = vec![0.0; n];
    for i in 0..n {
        let first = if i == 0 { 1.0 } else { 0.0 };
        let v = first - (0..i).map(|q| low[i][q] * at[q]).sum::<f64>();
        at[i] = v / low[i][i];
    }
    for i in (0..n).rev() {
        let v = at[i] - (i + 1..n).map(|q| low[q][i] * at[q]).sum::<f64>();
        at[i] = v / low[i][i];
    }
    at
}

/// The mean over a square.
fn mean(image: &Image, radius: usize) -> Image {
    tent(image, radius, 1.0, 0.0)
}

fn zip(a: &Image, b: &Image, f: impl Fn(f32, f32) -> f32) -> Image {
    let mut out = a.clone();
    for (o, b) in out.data_mut().iter_mut().zip(b.data()) {
        *o = f(*o, *b);
    }
    out
}
