//! FLIP of a band of rows: filters along rows into scratch rows, then along columns, then the error.

use super::color::COLORS;
use super::exposure::tone;
use super::power::power;
use super::weights::Weights;
use crate::separable::{extend, filter};
use limpid_core::{Image, srgb_to_linear};
use std::f32::consts::FRAC_1_SQRT_2;

/// How values are converted to the linear light of the screen.
pub(super) enum Source {
    /// Display values.
    Display,
    /// Radiance, multiplied and tone mapped.
    Exposed(f32),
}

/// Lightness, red-green, blue-yellow.
const OPPONENTS: usize = 3;
/// Filtered rows per image: lightness, red-green, twice blue-yellow, Gaussian, edge, point.
const KEPT: usize = 7;
/// Rows computed from them per image: lightness, red-green, twice blue-yellow, edges along x and y, points along x and y.
const MADE: usize = 8;

/// Scratch memory for a band.
pub(super) struct Band<'a> {
    width: usize,
    top: usize,
    rows: usize,
    weights: &'a Weights,
    /// One row of opponent colours with repeated borders.
    padded: Vec<f32>,
    /// Rows filtered horizontally: `KEPT` planes for each image.
    across: [Vec<f32>; 2],
    /// One row also filtered vertically: `MADE` rows for each image.
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

    /// Updates each pixel of `out` to the maximum of itself and this band's error.
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
            for side in 0..2 {
                self.filter_down(side, line);
                perceive(&mut self.down[side], width);
            }
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
    /// For each kept row: its source among the opponent colours, and the horizontal filter.
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

    /// For each computed row: its source among the kept rows, and the vertical filter.
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
    let colors = *COLORS;
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

/// Converts computed rows to the compared quantities: lightness and two colours in rows 0 to 2, edges in row 4, points in row
/// 6.
#[inline(always)]
fn perceive(made: &mut [f32], width: usize) {
    let colors = *COLORS;
    let (lightness, rest) = made.split_at_mut(width);
    let (red_green, rest) = rest.split_at_mut(width);
    let (narrow, rest) = rest.split_at_mut(width);
    let (wide, rest) = rest.split_at_mut(width);
    for x in 0..width {
        let opponent = [lightness[x], red_green[x], narrow[x] + wide[x]];
        [lightness[x], red_green[x], narrow[x]] = colors.perceived(opponent);
    }
    for feature in rest.chunks_exact_mut(2 * width) {
        let (across, down) = feature.split_at_mut(width);
        for x in 0..width {
            across[x] = (across[x] * across[x] + down[x] * down[x]).sqrt();
        }
    }
}

/// Updates `out` to the maximum of itself and the errors of one row.
#[inline(always)]
fn errors(a: &[f32], b: &[f32], out: &mut [f32]) {
    let colors = *COLORS;
    let width = out.len();
    let (light_a, red_a, blue_a) = (row(a, 0, width), row(a, 1, width), row(a, 2, width));
    let (light_b, red_b, blue_b) = (row(b, 0, width), row(b, 1, width), row(b, 2, width));
    let (edge_a, point_a) = (row(a, 4, width), row(a, 6, width));
    let (edge_b, point_b) = (row(b, 4, width), row(b, 6, width));
    for x in 0..width {
        let edges = (edge_a[x] - edge_b[x]).abs();
        let points = (point_a[x] - point_b[x]).abs();
        let feature_error = (FRAC_1_SQRT_2 * edges.max(points)).sqrt().min(1.0);
        let color_error = colors.error(
            [light_a[x], red_a[x], blue_a[x]],
            [light_b[x], red_b[x], blue_b[x]],
        );
        let error = power(color_error, 1.0 - feature_error).min(1.0);
        out[x] = out[x].max(error);
    }
}

#[inline(always)]
fn row(rows: &[f32], at: usize, width: usize) -> &[f32] {
    &rows[at * width..][..width]
}
