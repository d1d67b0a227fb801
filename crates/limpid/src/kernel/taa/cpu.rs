//! The CPU bodies.

use super::Resolve;
use crate::definition::taa::{BEYOND, LEAST_SCALE, NARROWEST};
use crate::kernel::{Job, View};
use crate::simd::dispatch;
use fearless_simd::Simd;

#[inline(always)]
fn to_ycocg([r, g, b]: [f32; 3]) -> [f32; 3] {
    [
        0.25 * r + 0.5 * g + 0.25 * b,
        0.5 * r - 0.5 * b,
        -0.25 * r + 0.5 * g - 0.25 * b,
    ]
}

#[inline(always)]
fn from_ycocg([y, co, cg]: [f32; 3]) -> [f32; 3] {
    [y + co - cg, y + cg, y - co - cg]
}

/// A colour in the blending space: luma and differences, bright ones compressed.
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
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

#[inline(always)]
fn rows<S: Simd>(_simd: S, kernel: &Resolve, job: &mut Job<'_>) {
    let color = job.reads[0].clone();
    let history = kernel.history.then(|| job.reads[1].clone());
    let motion = kernel
        .motion
        .then(|| job.reads[job.reads.len() - 1].clone());
    let planes = color.planes().min(3);
    let three = planes == 3;
    let convert = |c| blendable(c, three, kernel.highlights);
    let back = |c| restored(c, three, kernel.highlights);
    let width = color.size().width;
    let mut columns = Columns {
        radius: kernel.window.unwrap_or(0),
        width,
        rows: 0.0,
        sums: &mut job.scratch[..scratch(width)],
    };
    for y in job.rows.clone() {
        if kernel.history && kernel.window.is_some() {
            columns.gather(&color, y, three, kernel.highlights);
        }
        for x in 0..width {
            let raw = pixel(&color, x, y);
            let moved = motion
                .as_ref()
                .map_or([0.0; 2], |m| [m.row(0, y)[x], m.row(1, y)[x]]);
            let place = [x as f32 + moved[0], y as f32 + moved[1]];
            let old = history.as_ref().and_then(|h| match kernel.cubic {
                true => cubic(h, planes, place),
                false => bilinear(h, planes, place),
            });
            let (made, kept) = match old {
                None if kernel.soften > 0.0 => {
                    let made = softened(&color, kernel, (x, y));
                    (made, convert(made))
                }
                None => (raw, convert(raw)),
                Some(old) => {
                    let (mean, deviation) = match kernel.window {
                        Some(_) => columns.at(x),
                        None => (pixel(&job.reads[2], x, y), pixel(&job.reads[3], x, y)),
                    };
                    let kept = blended(kernel, old, convert(raw), (mean, deviation));
                    let made = back(kept);
                    // Splines may undershoot.
                    (std::array::from_fn(|c| made[c].max(raw[c].min(0.0))), kept)
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

/// The old colour, drawn to the mean until it is inside the box, and a share of the new one.
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

/// Sums over the rows of a window, column by column: of the colours in the blending space, and of their squares.
struct Columns<'a> {
    radius: usize,
    width: usize,
    /// Rows of the window.
    rows: f32,
    sums: &'a mut [f32],
}

/// Words of scratch memory for windows of this radius.
pub(super) fn scratch(width: usize) -> usize {
    6 * width
}

impl Columns<'_> {
    /// Adds up the rows around `y`.
    #[inline(always)]
    fn gather(&mut self, color: &View<'_>, y: usize, three: bool, highlights: f32) {
        let rows = y.saturating_sub(self.radius)..(y + self.radius + 1).min(color.size().height);
        self.rows = rows.len() as f32;
        self.sums.fill(0.0);
        let (sums, squares) = self.sums.split_at_mut(3 * self.width);
        for row in rows {
            let plane = |p: usize| color.row(if three { p } else { 0 }, row);
            let (r, g, b) = (plane(0), plane(1), plane(2));
            let (s0, rest) = sums.split_at_mut(self.width);
            let (s1, s2) = rest.split_at_mut(self.width);
            let (q0, rest) = squares.split_at_mut(self.width);
            let (q1, q2) = rest.split_at_mut(self.width);
            let (q1, q2) = (&mut q1[..s0.len()], &mut q2[..s0.len()]);
            for x in 0..s0.len() {
                let raw = if three {
                    [r[x], g[x], b[x]]
                } else {
                    [r[x], 0.0, 0.0]
                };
                let c = blendable(raw, three, highlights);
                s0[x] += c[0];
                s1[x] += c[1];
                s2[x] += c[2];
                q0[x] += c[0] * c[0];
                q1[x] += c[1] * c[1];
                q2[x] += c[2] * c[2];
            }
        }
    }

    /// Mean and deviation around a pixel of the row.
    #[inline(always)]
    fn at(&self, x: usize) -> ([f32; 3], [f32; 3]) {
        let columns = x.saturating_sub(self.radius)..(x + self.radius + 1).min(self.width);
        let count = self.rows * columns.len() as f32;
        let sum = |plane: usize| {
            let row = &self.sums[plane * self.width..][..self.width];
            row[columns.clone()].iter().sum::<f32>()
        };
        let mean: [f32; 3] = std::array::from_fn(|p| sum(p) / count);
        let deviation = std::array::from_fn(|p| {
            // One pixel has no spread; rounding must not give it one.
            let spread = if count < 1.5 {
                0.0
            } else {
                sum(3 + p) / count - mean[p] * mean[p]
            };
            spread.max(0.0).sqrt()
        });
        (mean, deviation)
    }
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

/// The weights of the four pixels around a place.
#[inline(always)]
fn spline(f: f32) -> [f32; 4] {
    let near = |f: f32| 1.0 + f * f * (1.5 * f - 2.5);
    let g = 1.0 - f;
    [-0.5 * f * g * g, near(f), near(g), -0.5 * g * f * f]
}

/// The sixteen pixels around a place, no less and no more than the four nearest; none outside or without a history.
#[inline(always)]
fn cubic(history: &View<'_>, planes: usize, [x, y]: [f32; 2]) -> Option<[f32; 3]> {
    let size = history.size();
    let inside = |v: f32, n: usize| v >= -BEYOND && v <= (n - 1) as f32 + BEYOND;
    if !inside(x, size.width) || !inside(y, size.height) {
        return None;
    }
    let corner = [x.floor() as isize - 1, y.floor() as isize - 1];
    let near = |v: isize, n: usize| v.clamp(0, n as isize - 1) as usize;
    if history.row(planes, near(corner[1] + 1, size.height))[near(corner[0] + 1, size.width)] == 0.0
    {
        return None;
    }
    let (wx, wy) = (spline(x - x.floor()), spline(y - y.floor()));
    let rows: [usize; 4] = std::array::from_fn(|j| near(corner[1] + j as isize, size.height));
    let columns: [usize; 4] = std::array::from_fn(|i| near(corner[0] + i as isize, size.width));
    let whole = corner[0] >= 0 && corner[0] as usize + 4 <= size.width;
    let mut made = [0.0; 3];
    for (c, made) in made.iter_mut().enumerate().take(planes) {
        let taps = rows.map(|y| {
            let row = history.row(c, y);
            match row.get(columns[0]..columns[0] + 4) {
                Some(&[a, b, c, d]) if whole => [a, b, c, d],
                _ => columns.map(|x| row[x]),
            }
        });
        let column = |i: usize| (0..4).map(|j| wy[j] * taps[j][i]).sum::<f32>();
        let sum = (0..4).map(|i| wx[i] * column(i)).sum::<f32>();
        let [a, b, c, d] = [taps[1][1], taps[1][2], taps[2][1], taps[2][2]];
        *made = sum.max(a.min(b).min(c.min(d))).min(a.max(b).max(c.max(d)));
    }
    Some(made)
}
