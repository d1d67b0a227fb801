//! The CPU bodies of [`Across`] and [`Change`].

use super::{Across, Change, MOMENTS};
use crate::atrous::light_weights;
use fearless_simd::Simd;
use limpid_core::Size;
use limpid_core::simd::dispatch;
use limpid_plan::{Job, View};
use limpid_reference::definition::atrous::BLACK;
use limpid_reference::definition::svgf::{AROUND, CHANGE, CHANGE_LEAST};
use std::ops::Range;

/// Words of scratch memory: three rows, of luminance, its square, and the history's variance.
pub(super) fn scratch(width: usize) -> usize {
    3 * width
}

pub(super) fn across(kernel: &Across, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

#[inline(always)]
fn rows<S: Simd>(_simd: S, kernel: &Across, job: &mut Job<'_>) {
    let color = job.reads[0].clone();
    let albedo = kernel.albedo.then(|| job.reads[1].clone());
    let moments = job.reads[job.reads.len() - 1].clone();
    let weights = light_weights(kernel.colors);
    let width = color.size().width;
    let (light, rest) = job.scratch[..scratch(width)].split_at_mut(width);
    let (square, spread) = rest.split_at_mut(width);
    for y in job.rows.clone() {
        light.fill(0.0);
        for (k, weight) in weights.iter().enumerate().take(kernel.colors) {
            let pairs = light.iter_mut().zip(color.row(k, y));
            match &albedo {
                Some(albedo) => {
                    for ((sum, c), a) in pairs.zip(albedo.row(k, y)) {
                        *sum += weight * (c / if *a > BLACK { *a } else { 1.0 });
                    }
                }
                None => pairs.for_each(|(sum, c)| *sum += weight * c),
            }
        }
        let pairs = square.iter_mut().zip(&*light);
        pairs.for_each(|(to, l)| *to = l * l);
        let then = [moments.row(0, y), moments.row(1, y)];
        for ((to, m), s) in spread.iter_mut().zip(then[0]).zip(then[1]) {
            *to = (s - m * m).max(0.0);
        }
        let out: [&mut [f32]; MOMENTS] = job.writes[0].rows_n(y);
        let from = [&*light, &*square, then[0], &*spread];
        for (out, from) in out.into_iter().zip(from) {
            mean(from, out);
        }
    }
}

/// Means over the pixels around each one, of those inside the row.
#[inline(always)]
fn mean(from: &[f32], out: &mut [f32]) {
    const TAPS: usize = 2 * AROUND + 1;
    let width = from.len();
    let edge = |x: usize| {
        let near = &from[x.saturating_sub(AROUND)..(x + AROUND + 1).min(width)];
        near.iter().sum::<f32>() / near.len() as f32
    };
    let inner = AROUND..width.saturating_sub(AROUND).max(AROUND);
    for x in (0..inner.start.min(width)).chain(inner.end.min(width)..width) {
        out[x] = edge(x);
    }
    for (out, near) in out.iter_mut().skip(AROUND).zip(from.windows(TAPS)) {
        *out = near.iter().sum::<f32>() * (1.0 / TAPS as f32);
    }
}

pub(super) fn change(kernel: &Change, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => compare(simd, kernel, job));
}

#[inline(always)]
fn compare<S: Simd>(_simd: S, kernel: &Change, job: &mut Job<'_>) {
    const PIXELS: f32 = ((2 * AROUND + 1) * (2 * AROUND + 1)) as f32;
    let (across, motion) = (job.reads[0].clone(), job.reads[1].clone());
    let size = across.size();
    let old = [2, 3].map(|k| across.plane(k));
    let (mean, rest) = job.scratch[..scratch(size.width)].split_at_mut(size.width);
    let spread = &mut rest[..size.width];
    for y in job.rows.clone() {
        around(&across, 0, y, mean);
        around(&across, 1, y, spread);
        for (s, m) in spread.iter_mut().zip(&*mean) {
            *s -= m * m;
        }
        let moves = [motion.row(0, y), motion.row(1, y)];
        let out = job.writes[0].row(kernel.colors, y);
        for (x, to) in out.iter_mut().enumerate() {
            // Motion may be anything, even no number.
            let nearest = |at: usize, by: f32, end: usize| {
                let place = (at as f32 + by).clamp(-2.0, end as f32 + 1.0);
                ((place + 0.5).floor().max(0.0) as usize).min(end - 1)
            };
            let there = [
                nearest(x, moves[0][x], size.width),
                nearest(y, moves[1][x], size.height),
            ];
            let rows = window(there[1], size);
            let inverse = 1.0 / rows.len() as f32;
            let mut then = [0.0; 2];
            for row in rows {
                let at = row * size.width + there[0];
                then[0] += old[0][at];
                then[1] += old[1][at];
            }
            let noise = spread[x].max(then[1] * inverse).max(0.0);
            let before = then[0] * inverse;
            let bound = CHANGE * (noise / PIXELS).sqrt() + CHANGE_LEAST * before.abs();
            *to = (2.0 - (mean[x] - before).abs() / bound.max(1e-20)).clamp(0.0, 1.0);
        }
    }
}

/// Rows of the windows around a row.
fn window(y: usize, size: Size) -> Range<usize> {
    y.saturating_sub(AROUND)..(y + AROUND + 1).min(size.height)
}

/// Means over the windows around the pixels of a row, from those along rows.
#[inline(always)]
fn around(across: &View<'_>, plane: usize, y: usize, to: &mut [f32]) {
    let rows = window(y, across.size());
    to.fill(0.0);
    for row in rows.clone() {
        let from = across.row(plane, row);
        to.iter_mut().zip(from).for_each(|(sum, v)| *sum += v);
    }
    let inverse = 1.0 / rows.len() as f32;
    to.iter_mut().for_each(|sum| *sum *= inverse);
}
