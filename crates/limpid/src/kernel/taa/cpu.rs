//! The CPU bodies.

use super::Resolve;
use crate::definition::taa::{LEAST_SCALE, NARROWEST};
use crate::kernel::{Job, View};

fn to_ycocg([r, g, b]: [f32; 3]) -> [f32; 3] {
    [
        0.25 * r + 0.5 * g + 0.25 * b,
        0.5 * r - 0.5 * b,
        -0.25 * r + 0.5 * g - 0.25 * b,
    ]
}

fn from_ycocg([y, co, cg]: [f32; 3]) -> [f32; 3] {
    [y + co - cg, y + cg, y - co - cg]
}

/// A colour as it is blended: luma and differences, bright ones compressed.
#[inline(always)]
fn blendable(c: [f32; 3], three: bool, highlights: f32) -> [f32; 3] {
    let c = if three { to_ycocg(c) } else { c };
    let scale = 1.0 / (1.0 + highlights * c[0].max(0.0));
    c.map(|v| v * scale)
}

/// The inverse of [`blendable`].
#[inline(always)]
fn restored(c: [f32; 3], three: bool, highlights: f32) -> [f32; 3] {
    let scale = 1.0 / (1.0 - highlights * c[0].max(0.0)).max(LEAST_SCALE);
    let c = c.map(|v| v * scale);
    if three { from_ycocg(c) } else { c }
}

pub(super) fn convert(highlights: f32, job: &mut Job<'_>) {
    let src = job.reads[0].clone();
    for y in job.rows.clone() {
        if src.planes() != 3 {
            for plane in 0..src.planes() {
                let to = job.writes[0].row(plane, y);
                for (t, v) in to.iter_mut().zip(src.row(plane, y)) {
                    *t = blendable([*v, 0.0, 0.0], false, highlights)[0];
                }
            }
            continue;
        }
        let [r, g, b] = [0, 1, 2].map(|p| src.row(p, y));
        let out = job.writes[0].rows_n::<3>(y);
        for x in 0..r.len() {
            let c = blendable([r[x], g[x], b[x]], true, highlights);
            for (plane, v) in c.into_iter().enumerate() {
                out[plane][x] = v;
            }
        }
    }
}

/// A pixel of up to three planes.
#[inline(always)]
fn pixel(view: &View<'_>, x: usize, y: usize) -> [f32; 3] {
    pixel_of(view, view.planes(), x, y)
}

/// The first planes of a pixel.
#[inline(always)]
fn pixel_of(view: &View<'_>, planes: usize, x: usize, y: usize) -> [f32; 3] {
    std::array::from_fn(|p| {
        if p < planes.min(3) {
            view.row(p, y)[x]
        } else {
            0.0
        }
    })
}

pub(super) fn resolve(kernel: &Resolve, job: &mut Job<'_>) {
    let color = job.reads[0].clone();
    let history = kernel.history.then(|| job.reads[1].clone());
    let motion = kernel
        .motion
        .then(|| job.reads[job.reads.len() - 1].clone());
    let planes = color.planes().min(3);
    let three = planes == 3;
    let convert = |c| blendable(c, three, kernel.highlights);
    let back = |c| restored(c, three, kernel.highlights);
    for y in job.rows.clone() {
        for x in 0..color.size().width {
            let raw = pixel(&color, x, y);
            let moved = motion
                .as_ref()
                .map_or([0.0; 2], |m| [m.row(0, y)[x], m.row(1, y)[x]]);
            let place = [x as f32 + moved[0], y as f32 + moved[1]];
            let old = history.as_ref().and_then(|h| bilinear(h, planes, place));
            let (made, kept) = match old {
                None if kernel.soften > 0.0 => {
                    let made = softened(&color, kernel, (x, y));
                    (made, convert(made))
                }
                None => (raw, convert(raw)),
                Some(old) => {
                    let (mean, deviation) = match kernel.window {
                        Some(radius) => statistics(&color, radius, (x, y), convert),
                        None => (pixel(&job.reads[2], x, y), pixel(&job.reads[3], x, y)),
                    };
                    let kept = blended(kernel, old, convert(raw), (mean, deviation));
                    (back(kept), kept)
                }
            };
            for plane in 0..planes {
                job.writes[0].row(plane, y)[x] = made[plane];
                if kernel.history {
                    job.writes[1].row(plane, y)[x] = kept[plane];
                }
            }
        }
        if kernel.history {
            job.writes[1].row(planes, y).fill(1.0);
        }
    }
}

/// The frame alone, with a share of its neighbours; bright ones count less.
fn softened(color: &View<'_>, kernel: &Resolve, (x, y): (usize, usize)) -> [f32; 3] {
    let (mut sum, mut weights) = ([0.0f32; 3], 0.0f32);
    let size = color.size();
    for qy in y.saturating_sub(1)..(y + 2).min(size.height) {
        for qx in x.saturating_sub(1)..(x + 2).min(size.width) {
            let share = |apart: bool| if apart { kernel.soften } else { 1.0 };
            let c = pixel(color, qx, qy);
            let luma = if color.planes() == 3 {
                to_ycocg(c)[0]
            } else {
                c[0]
            };
            let scale = 1.0 + kernel.highlights * luma.max(0.0);
            let weight = share(qx != x) * share(qy != y) / scale;
            for p in 0..3 {
                sum[p] += weight * c[p];
            }
            weights += weight;
        }
    }
    sum.map(|s| s / weights)
}

/// The old colour, drawn to the mean until it is inside the box, and the share of the new one.
#[inline(always)]
fn blended(
    kernel: &Resolve,
    old: [f32; 3],
    new: [f32; 3],
    (mean, deviation): ([f32; 3], [f32; 3]),
) -> [f32; 3] {
    let away: [f32; 3] = std::array::from_fn(|c| old[c] - mean[c]);
    let least = NARROWEST * mean[0].abs() + 1e-8;
    let ratio = (0..3).fold(1.0f32, |most, c| {
        most.max(away[c].abs() / (kernel.gamma * deviation[c]).max(least))
    });
    std::array::from_fn(|c| {
        let clipped = mean[c] + away[c] / ratio;
        clipped + kernel.blend * (new[c] - clipped)
    })
}

fn statistics(
    color: &View<'_>,
    radius: usize,
    (x, y): (usize, usize),
    convert: impl Fn([f32; 3]) -> [f32; 3],
) -> ([f32; 3], [f32; 3]) {
    let (mut sum, mut squares, mut count) = ([0.0f32; 3], [0.0f32; 3], 0.0f32);
    let size = color.size();
    for qy in y.saturating_sub(radius)..(y + radius + 1).min(size.height) {
        for qx in x.saturating_sub(radius)..(x + radius + 1).min(size.width) {
            let c = convert(pixel(color, qx, qy));
            for p in 0..3 {
                sum[p] += c[p];
                squares[p] += c[p] * c[p];
            }
            count += 1.0;
        }
    }
    let mean = sum.map(|s| s / count);
    let deviation = std::array::from_fn(|p| {
        // One pixel has no spread; rounding must not give it one.
        let spread = if count < 1.5 {
            0.0
        } else {
            squares[p] / count - mean[p] * mean[p]
        };
        spread.max(0.0).sqrt()
    });
    (mean, deviation)
}

/// The four pixels around a place that lie inside and have a history; none where nothing is left.
#[inline(always)]
fn bilinear(history: &View<'_>, planes: usize, [x, y]: [f32; 2]) -> Option<[f32; 3]> {
    let size = history.size();
    // Far away is as good as just outside, and fits an integer.
    let (x, y) = (
        x.clamp(-2.0, size.width as f32 + 1.0),
        y.clamp(-2.0, size.height as f32 + 1.0),
    );
    let (mut sum, mut weights) = ([0.0f32; 3], 0.0f32);
    for (dx, dy) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
        let (qx, qy) = (x.floor() + dx, y.floor() + dy);
        if qx < 0.0 || qy < 0.0 || qx >= size.width as f32 || qy >= size.height as f32 {
            continue;
        }
        let (i, j) = (qx as usize, qy as usize);
        let weight = (1.0 - (x - qx).abs()) * (1.0 - (y - qy).abs()) * history.row(planes, j)[i];
        let p = pixel_of(history, planes, i, j);
        for c in 0..planes {
            sum[c] += weight * p[c];
        }
        weights += weight;
    }
    (weights > 1e-3).then(|| sum.map(|s| s / weights))
}
