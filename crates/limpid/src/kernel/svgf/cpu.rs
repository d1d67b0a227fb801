//! The CPU bodies.

use super::{FEATURES, From, Gather, MOMENTS, Spread, Temporal};
use crate::definition::atrous::BLACK;
use crate::definition::svgf::{
    DEPTH_CHANGE, DEPTH_LEAST, MOST_FRAMES, NORMAL_CHANGE, TAPS_LEAST, WINDOW, YOUNG, deepest,
    object,
};
use crate::kernel::atrous::light_weights;
use crate::kernel::fast_exp::fast_exp;
use crate::kernel::half;
use crate::kernel::{Job, View};
use crate::plan::Phases;

/// Values of the planes of a pixel.
#[inline(always)]
fn pixel<const N: usize>(view: &View<'_>, x: usize, y: usize) -> [f32; N] {
    let mut values = [0.0; N];
    for (plane, v) in values.iter_mut().enumerate().take(view.planes()) {
        *v = view.row(plane, y)[x];
    }
    values
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The layers that features are made of.
struct Surface<'a> {
    normal: Option<View<'a>>,
    depth: Option<View<'a>>,
    position: Option<View<'a>>,
}

impl Surface<'_> {
    fn place(&self, x: usize, y: usize) -> [f32; 3] {
        self.position.as_ref().map_or([0.0; 3], |p| pixel(p, x, y))
    }

    fn depth(&self, x: usize, y: usize) -> f32 {
        match &self.depth {
            Some(depth) => depth.row(0, y)[x],
            None => {
                let p = self.place(x, y);
                dot(p, p).sqrt()
            }
        }
    }

    /// The pixel and the neighbour along an axis that is nearer in depth, in order.
    fn nearer(&self, p: [usize; 2], axis: usize, end: usize) -> Option<[[usize; 2]; 2]> {
        let z = self.depth(p[0], p[1]);
        let step = |q: usize| {
            let mut at = p;
            at[axis] = q;
            at
        };
        let change = |q: [usize; 2]| (self.depth(q[0], q[1]) - z).abs();
        let before = (p[axis] > 0).then(|| step(p[axis] - 1));
        let after = (p[axis] + 1 < end).then(|| step(p[axis] + 1));
        match (before, after) {
            (Some(b), Some(a)) if change(b) < change(a) => Some([b, p]),
            (_, Some(a)) => Some([p, a]),
            (Some(b), None) => Some([b, p]),
            (None, None) => None,
        }
    }

    fn normal(&self, p: [usize; 2], pairs: [Option<[[usize; 2]; 2]>; 2]) -> [f32; 3] {
        let n = match &self.normal {
            Some(normal) => pixel(normal, p[0], p[1]),
            None => {
                let along = |pair: Option<[[usize; 2]; 2]>| {
                    pair.map_or([0.0; 3], |[p, q]| {
                        let (a, b) = (self.place(p[0], p[1]), self.place(q[0], q[1]));
                        [b[0] - a[0], b[1] - a[1], b[2] - a[2]]
                    })
                };
                let [a, b] = pairs.map(along);
                [
                    a[1] * b[2] - a[2] * b[1],
                    a[2] * b[0] - a[0] * b[2],
                    a[0] * b[1] - a[1] * b[0],
                ]
            }
        };
        let long = dot(n, n).sqrt();
        let unit = if long > 0.0 { 1.0 / long } else { 0.0 };
        n.map(|v| ((v * unit).clamp(-1.0, 1.0) * 32767.0 + 0.5).floor() / 32767.0)
    }
}

pub(super) fn gather(kernel: &Gather, job: &mut Job<'_>) {
    let layer = |i: usize| kernel.read(i).map(|at| job.reads[at].clone());
    let (albedo, id) = (layer(0), layer(4));
    let surface = Surface {
        normal: layer(1).filter(|_| kernel.normal == From::Layer),
        depth: layer(2).filter(|_| kernel.depth == From::Layer),
        position: layer(3),
    };
    let size = job.reads[0].size();
    for y in job.rows.clone() {
        for k in 0..kernel.colors {
            let to = job.writes[0].row(k, y);
            to.copy_from_slice(job.reads[0].row(k, y));
            if let Some(albedo) = &albedo {
                for (t, a) in to.iter_mut().zip(albedo.row(k, y)) {
                    *t /= if *a > BLACK { *a } else { 1.0 };
                }
            }
        }
        let to = job.writes[0].row(kernel.colors, y);
        match &id {
            Some(id) => to.copy_from_slice(id.row(0, y)),
            None => to.fill(0.0),
        }
        let out: [&mut [f32]; FEATURES] = job.writes[1].rows_n(y);
        match &id {
            Some(id) => {
                for (o, id) in out[6].iter_mut().zip(id.row(0, y)) {
                    *o = object(*id);
                }
            }
            None => out[6].fill(1.0),
        }
        for x in 0..size.width {
            let pairs = [
                surface.nearer([x, y], 0, size.width),
                surface.nearer([x, y], 1, size.height),
            ];
            let n = surface.normal([x, y], pairs);
            for k in 0..3 {
                out[k][x] = n[k];
            }
            out[3][x] = surface.depth(x, y);
            for (k, pair) in pairs.into_iter().enumerate() {
                let slope = pair.map_or(0.0, |[p, q]| {
                    surface.depth(q[0], q[1]) - surface.depth(p[0], p[1])
                });
                out[4 + k][x] = half::rounded(slope);
            }
        }
    }
}

pub(super) fn temporal(kernel: &Temporal, job: &mut Job<'_>) {
    let size = job.reads[0].size();
    let weights = light_weights(kernel.colors);
    for y in job.rows.clone() {
        for x in 0..size.width {
            let light: [f32; 4] = pixel(&job.reads[0], x, y);
            let mut color = [0.0; 3];
            color[..kernel.colors].copy_from_slice(&light[..kernel.colors]);
            let l = dot(weights, color);
            let mut moments = [l, l * l, 1.0, light[kernel.colors]];
            if let Some((old, past)) = reproject(kernel, &job.reads, [x, y], moments[3]) {
                let frames = (past[2] + 1.0).min(MOST_FRAMES);
                let alpha = kernel.alpha.max(1.0 / frames);
                for k in 0..3 {
                    color[k] = old[k] + alpha * (color[k] - old[k]);
                }
                for k in 0..2 {
                    moments[k] = past[k] + alpha * (moments[k] - past[k]);
                }
                moments[2] = frames;
            }
            for k in 0..kernel.colors {
                job.writes[0].row(k, y)[x] = color[k];
            }
            job.writes[0].row(kernel.colors, y)[x] = moments[3];
            for k in 0..MOMENTS {
                job.writes[1].row(k, y)[x] = moments[k];
            }
        }
    }
}

/// Colour and moments of the history of a pixel, from the four taps around where it was.
fn reproject(
    kernel: &Temporal,
    reads: &[View<'_>],
    [x, y]: [usize; 2],
    id: f32,
) -> Option<([f32; 3], [f32; 3])> {
    let size = reads[0].size();
    let now: [f32; FEATURES] = pixel(&reads[1], x, y);
    let motion: [f32; 2] = pixel(&reads[2], x, y);
    // Far away is as good as just outside, and fits an integer.
    let far = |v: f32, n: usize| v.clamp(-2.0, n as f32 + 1.0);
    let (px, py) = (
        far(x as f32 + motion[0], size.width),
        far(y as f32 + motion[1], size.height),
    );
    let (mut color, mut moments, mut weights) = ([0.0; 3], [0.0; 3], 0.0);
    for (dx, dy) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
        let (qx, qy) = (px.floor() + dx, py.floor() + dy);
        if qx < 0.0 || qy < 0.0 || qx >= size.width as f32 || qy >= size.height as f32 {
            continue;
        }
        let q = [qx as usize, qy as usize];
        let past: [f32; MOMENTS] = pixel(&reads[4], q[0], q[1]);
        let then: [f32; FEATURES] = pixel(&reads[5], q[0], q[1]);
        if past[2] <= 0.0 || past[3] != id || !alike(&now, &then) {
            continue;
        }
        let weight = (1.0 - (px - qx).abs()) * (1.0 - (py - qy).abs());
        let place = |n: usize, x: usize| kernel.order.map_or(x, |o: Phases| o.place(n, x));
        let old: [f32; 4] = pixel(&reads[3], place(size.width, q[0]), place(size.height, q[1]));
        for k in 0..kernel.colors {
            color[k] += weight * old[k];
        }
        for k in 0..3 {
            moments[k] += weight * past[k];
        }
        weights += weight;
    }
    (weights > TAPS_LEAST).then(|| (color.map(|c| c / weights), moments.map(|m| m / weights)))
}

fn alike(now: &[f32; FEATURES], then: &[f32; FEATURES]) -> bool {
    let slope = now[4].abs() + now[5].abs();
    let near = (now[3] - then[3]).abs() <= DEPTH_CHANGE * now[3].abs() + 2.0 * slope;
    let ([ax, ay, az, ..], [bx, by, bz, ..]) = (now, then);
    let (a, b) = ([*ax, *ay, *az], [*bx, *by, *bz]);
    near && (a == b || dot(a, b) >= NORMAL_CHANGE)
}

pub(super) fn spread(kernel: &Spread, job: &mut Job<'_>) {
    let size = job.reads[0].size();
    let planes = kernel.colors;
    for y in job.rows.clone() {
        for k in 0..planes {
            let to = job.writes[0].row(k, y);
            to.copy_from_slice(job.reads[0].row(k, y));
            if kernel.half {
                half::round(to);
            }
        }
        for x in 0..size.width {
            let (own, frames) = moments(kernel, &job.reads, x, y);
            let variance = if frames >= YOUNG {
                (own[1] - own[0] * own[0]) / frames.min(deepest(kernel.alpha))
            } else {
                window(kernel, &job.reads, x, y) * (YOUNG / frames)
            };
            job.writes[0].row(planes, y)[x] = variance.max(0.0);
        }
        if kernel.half {
            half::round(job.writes[0].row(planes, y));
        }
        if kernel.history {
            for k in 0..MOMENTS {
                job.writes[1]
                    .row(k, y)
                    .copy_from_slice(job.reads[2].row(k, y));
            }
            for k in 0..FEATURES {
                job.writes[2]
                    .row(k, y)
                    .copy_from_slice(job.reads[1].row(k, y));
            }
        }
    }
}

/// Mean of luminance, mean of its square; number of frames.
fn moments(kernel: &Spread, reads: &[View<'_>], x: usize, y: usize) -> ([f32; 2], f32) {
    if kernel.history {
        let [m1, m2, frames, _] = pixel(&reads[2], x, y);
        return ([m1, m2], frames);
    }
    let weights = light_weights(kernel.colors);
    let l: f32 = (0..kernel.colors)
        .map(|k| weights[k] * reads[0].row(k, y)[x])
        .sum();
    ([l, l * l], 1.0)
}

/// Variance over the pixels around that show the same surface.
fn window(kernel: &Spread, reads: &[View<'_>], x: usize, y: usize) -> f32 {
    let size = reads[0].size();
    let own: [f32; FEATURES] = pixel(&reads[1], x, y);
    let (mut sums, mut weights) = ([0.0; 2], 0.0);
    for qy in y.saturating_sub(WINDOW)..(y + WINDOW + 1).min(size.height) {
        for qx in x.saturating_sub(WINDOW)..(x + WINDOW + 1).min(size.width) {
            let other: [f32; FEATURES] = pixel(&reads[1], qx, qy);
            let mut weight = (own[0] * other[0] + own[1] * other[1] + own[2] * other[2]).max(0.0);
            for _ in 0..kernel.squarings {
                weight *= weight;
            }
            let slope = own[4] * (qx as f32 - x as f32) + own[5] * (qy as f32 - y as f32);
            let allowed = kernel.depth * slope.abs() + DEPTH_LEAST * own[3].abs() + 1e-6;
            weight *= fast_exp(-(own[3] - other[3]).abs() / allowed);
            if (qx, qy) == (x, y) {
                weight = 1.0;
            }
            if own[6] != other[6] && own[6] * other[6] > 0.0 {
                continue;
            }
            let (m, _) = moments(kernel, reads, qx, qy);
            for k in 0..2 {
                sums[k] += weight * m[k];
            }
            weights += weight;
        }
    }
    let mean = sums[0] / weights;
    (sums[1] / weights - mean * mean).max(0.0)
}
