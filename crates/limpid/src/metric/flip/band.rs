//! FLIP of a band of rows: filters across into scratch rows, then down, then the error.

use super::color::COLORS;
use super::exposure::tone;
use super::power::power;
use super::weights::Weights;
use crate::metric::separable::{extend, filter};
use crate::{Image, srgb_to_linear};
use std::f32::consts::FRAC_1_SQRT_2;

/// How values become what the screen shows, in linear light.
pub(super) enum Source {
    /// Display values.
    Display,
    /// Radiance, multiplied and tone mapped.
    Exposed(f32),
}

/// Lightness, red-green, blue-yellow.
const OPPONENTS: usize = 3;
/// Filtered rows that are kept per image: lightness, red-green, twice blue-yellow, Gaussian, edge, point.
const KEPT: usize = 7;
/// Rows made from them per image: lightness, red-green, twice blue-yellow, edges across and down, points across and down.
const MADE: usize = 8;

/// Scratch memory for a band.
pub(super) struct Band<'a> {
    width: usize,
    top: usize,
    rows: usize,
    weights: &'a Weights,
    /// One row of opponent colours with repeated borders.
    padded: Vec<f32>,
    /// Rows filtered across: `KEPT` planes for each image.
    across: [Vec<f32>; 2],
    /// One row filtered down as well: `MADE` rows for each image.
    down: [Vec<f32>; 2],
}

impl<'a> Band<'a> {
    pub(super) fn new(width: usize, top: usize, rows: usize, weights: &'a Weights) -> Self {
        let lines = rows + 2 * weights.radius;
        let across = vec![0.0; KEPT * lines * width];
        let down = vec![0.0; MADE * width];
        Self {
            width,
            top,
            rows,
            weights,
            padded: vec![0.0; OPPONENTS * (width + 2 * weights.radius)],
            across: [across.clone(), across],
            down: [down.clone(), down],
        }
    }

    /// Raises each pixel of `out` to this band's error, where it is greater.
    #[inline(always)]
    pub(super) fn measure(&mut self, images: [&Image; 2], source: &Source, out: &mut [f32]) {
        let (width, radius) = (self.width, self.weights.radius);
        for (side, image) in images.into_iter().enumerate() {
            for line in 0..self.rows + 2 * radius {
                let y = (self.top + line).saturating_sub(radius);
                let y = y.min(image.height() - 1);
                opponents(image, y, source, radius, &mut self.padded);
                self.filter_across(side, line);
            }
        }
        for (line, out) in out.chunks_exact_mut(width).enumerate() {
            self.filter_down(0, line);
            self.filter_down(1, line);
            errors(&self.down[0], &self.down[1], out);
        }
    }

    #[inline(always)]
    fn filter_across(&mut self, side: usize, line: usize) {
        let (width, radius) = (self.width, self.weights.radius);
        let lines = self.rows + 2 * radius;
        let stride = width + 2 * radius;
        for (kept, (opponent, weights)) in self.weights.across().into_iter().enumerate() {
            let from = opponent * stride + radius - weights.len() / 2;
            let to = (kept * lines + line) * width;
            let out = &mut self.across[side][to..to + width];
            filter(&self.padded[from..], 1, weights, out);
        }
    }

    #[inline(always)]
    fn filter_down(&mut self, side: usize, line: usize) {
        let (width, radius) = (self.width, self.weights.radius);
        let lines = self.rows + 2 * radius;
        for (made, (kept, weights)) in self.weights.down().into_iter().enumerate() {
            let from = (kept * lines + line + radius - weights.len() / 2) * width;
            let out = &mut self.down[side][made * width..(made + 1) * width];
            filter(&self.across[side][from..], width, weights, out);
        }
    }
}

impl Weights {
    /// For each kept row: the opponent colour it is made from, and the filter across.
    fn across(&self) -> [(usize, &[f32]); KEPT] {
        let [gauss, edge, point] = &self.feature;
        [
            (0, &self.lightness),
            (1, &self.red_green),
            (2, &self.blue_yellow[0]),
            (2, &self.blue_yellow[1]),
            (0, gauss),
            (0, edge),
            (0, point),
        ]
    }

    /// For each made row: the kept row it is made from, and the filter down.
    fn down(&self) -> [(usize, &[f32]); MADE] {
        let [gauss, edge, point] = &self.feature;
        [
            (0, &self.lightness),
            (1, &self.red_green),
            (2, &self.blue_yellow[0]),
            (3, &self.blue_yellow[1]),
            (5, gauss),
            (4, edge),
            (6, gauss),
            (4, point),
        ]
    }
}

/// Fills three padded rows with the opponent colours of row `y`.
#[inline(always)]
fn opponents(image: &Image, y: usize, source: &Source, radius: usize, padded: &mut [f32]) {
    let last = image.channels() - 1;
    let rgb = [0, 1, 2].map(|c: usize| image.row(c.min(last), y));
    let (first, rest) = padded.split_at_mut(padded.len() / OPPONENTS);
    let (second, third) = rest.split_at_mut(first.len());
    let inner = [&mut *first, &mut *second, &mut *third].map(|row| &mut row[radius..]);
    match *source {
        Source::Display => fill(rgb, inner, |v| srgb_to_linear(v.clamp(0.0, 1.0))),
        Source::Exposed(gain) => fill(rgb, inner, |v| tone(v * gain)),
    }
    for row in [first, second, third] {
        extend(row, radius);
    }
}

#[inline(always)]
fn fill(
    [r, g, b]: [&[f32]; 3],
    [first, second, third]: [&mut [f32]; 3],
    shown: impl Fn(f32) -> f32,
) {
    let colors = &*COLORS;
    let width = r.len();
    let (g, b) = (&g[..width], &b[..width]);
    let (first, second, third) = (
        &mut first[..width],
        &mut second[..width],
        &mut third[..width],
    );
    for x in 0..width {
        let rgb = [shown(r[x]), shown(g[x]), shown(b[x])];
        [first[x], second[x], third[x]] = colors.opponent(rgb);
    }
}

/// Raises `out` to the errors of one row.
#[inline(always)]
fn errors(a: &[f32], b: &[f32], out: &mut [f32]) {
    let width = out.len();
    let a: [&[f32]; MADE] = std::array::from_fn(|m| &a[m * width..][..width]);
    let b: [&[f32]; MADE] = std::array::from_fn(|m| &b[m * width..][..width]);
    let colors = &*COLORS;
    for (x, out) in out.iter_mut().enumerate() {
        let perceived =
            |r: &[&[f32]; MADE]| colors.perceived([r[0][x], r[1][x], r[2][x] + r[3][x]]);
        let feature = |across: f32, down: f32| (across * across + down * down).sqrt();
        let edges = feature(a[4][x], a[5][x]) - feature(b[4][x], b[5][x]);
        let points = feature(a[6][x], a[7][x]) - feature(b[6][x], b[7][x]);
        let feature_error = (FRAC_1_SQRT_2 * edges.abs().max(points.abs()))
            .sqrt()
            .min(1.0);
        let color_error = colors.error(perceived(&a), perceived(&b));
        *out = out.max(power(color_error, 1.0 - feature_error).min(1.0));
    }
}
