//! The CPU bodies.

use super::{FEATURES, Layers, MOMENTS, Origin, Past, Temporal};
use crate::atrous::light_weights;
use fearless_simd::Simd;
use limpid_core::Size;
use limpid_core::simd::dispatch;
use limpid_plan::half;
use limpid_plan::{Job, View};
use limpid_reference::definition::atrous::BLACK;
use limpid_reference::definition::svgf::{
    DEPTH_CHANGE, MIRROR_ALPHA, MIRROR_VARIANCE, MOST_FRAMES, NORMAL_CHANGE, TAPS_LEAST, deepest,
    object,
};

/// Values of all planes at a pixel.
#[inline(always)]
fn pixel<const N: usize>(view: &View<'_>, x: usize, y: usize) -> [f32; N] {
    let mut values = [0.0; N];
    for (plane, v) in values.iter_mut().enumerate().take(view.planes()) {
        *v = view.row(plane, y)[x];
    }
    values
}

#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The layers of a frame.
struct Surface<'a> {
    color: View<'a>,
    albedo: Option<View<'a>>,
    normal: Option<View<'a>>,
    depth: Option<View<'a>>,
    position: Option<View<'a>>,
    id: Option<View<'a>>,
}

impl<'a> Surface<'a> {
    fn new(layers: &Layers, reads: &[View<'a>]) -> Self {
        let layer = |i: usize| layers.read(i).map(|at| reads[at].clone());
        Self {
            color: reads[0].clone(),
            albedo: layer(0),
            normal: layer(1).filter(|_| layers.normal == Origin::Layer),
            depth: layer(2).filter(|_| layers.depth == Origin::Layer),
            position: layer(3),
            id: layer(4),
        }
    }

    /// Colour divided by albedo.
    #[inline(always)]
    fn light(&self, y: usize, rows: &mut [&mut [f32]]) {
        for (k, to) in rows.iter_mut().enumerate() {
            let color = self.color.row(k, y);
            match &self.albedo {
                Some(albedo) => {
                    for ((to, c), a) in to.iter_mut().zip(color).zip(albedo.row(k, y)) {
                        *to = c / if *a > BLACK { *a } else { 1.0 };
                    }
                }
                None => to.copy_from_slice(color),
            }
        }
    }

    /// Normal, depth, gradient, object.
    #[inline(always)]
    fn features(&self, y: usize, rows: &mut [&mut [f32]; FEATURES], depths: &mut [f32]) {
        let size = self.color.size();
        let [nx, ny, nz, z, gx, gy, ids] = rows;
        let (above, below) = depths.split_at_mut(size.width);
        self.depths(y, z);
        let others = [
            (y > 0, y.wrapping_sub(1), above),
            (y + 1 < size.height, y + 1, below),
        ];
        let [above, below] = others.map(|(there, y, to)| {
            there.then(|| {
                self.depths(y, to);
                &*to
            })
        });
        let z = &**z;
        let across = |x: usize| (x > 0).then(|| z[x - 1]);
        let slope = |before: Option<f32>, z: f32, after: Option<f32>| match (before, after) {
            (Some(b), Some(a)) => nearer(b, z, a),
            (None, Some(a)) => a - z,
            (Some(b), None) => z - b,
            (None, None) => 0.0,
        };
        for x in [0, size.width - 1] {
            gx[x] = half::rounded(slope(across(x), z[x], z.get(x + 1).copied()));
        }
        for (to, near) in gx.iter_mut().skip(1).zip(z.windows(3)) {
            *to = half::rounded(nearer(near[0], near[1], near[2]));
        }
        match (above, below) {
            (Some(above), Some(below)) => {
                for (((to, z), b), a) in gy.iter_mut().zip(z).zip(above).zip(below) {
                    *to = half::rounded(nearer(*b, *z, *a));
                }
            }
            (above, below) => {
                let at = |row: Option<&[f32]>, x: usize| row.map(|row| row[x]);
                for (x, to) in gy.iter_mut().enumerate() {
                    *to = half::rounded(slope(at(above, x), z[x], at(below, x)));
                }
            }
        }
        match &self.normal {
            Some(normal) => {
                let from = [0, 1, 2].map(|k| normal.row(k, y));
                let from = from[0].iter().zip(from[1]).zip(from[2]);
                let to = nx.iter_mut().zip(ny.iter_mut()).zip(nz.iter_mut());
                for (((tx, ty), tz), ((x, y), z)) in to.zip(from) {
                    [*tx, *ty, *tz] = packed([*x, *y, *z]);
                }
            }
            None => {
                for x in 0..size.width {
                    let pairs = [
                        self.nearer([x, y], 0, size.width),
                        self.nearer([x, y], 1, size.height),
                    ];
                    [nx[x], ny[x], nz[x]] = packed(self.normal(pairs));
                }
            }
        }
        match &self.id {
            Some(id) => {
                let pairs = ids.iter_mut().zip(id.row(0, y));
                pairs.for_each(|(to, id)| *to = object(*id));
            }
            None => ids.fill(object(0.0)),
        }
    }

    /// A row of depths.
    #[inline(always)]
    fn depths(&self, y: usize, to: &mut [f32]) {
        match &self.depth {
            Some(depth) => to.copy_from_slice(depth.row(0, y)),
            None => {
                for (x, to) in to.iter_mut().enumerate() {
                    *to = self.depth(x, y);
                }
            }
        }
    }

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

    /// The pixel and the neighbour along an axis with the smaller depth difference, in order.
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

    /// The normal of the surface through neighbouring positions.
    fn normal(&self, pairs: [Option<[[usize; 2]; 2]>; 2]) -> [f32; 3] {
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
}

/// The slope to the neighbour with the smaller depth difference.
#[inline(always)]
fn nearer(before: f32, z: f32, after: f32) -> f32 {
    if (before - z).abs() < (after - z).abs() {
        z - before
    } else {
        after - z
    }
}

/// A unit normal in its stored precision.
#[inline(always)]
fn packed(n: [f32; 3]) -> [f32; 3] {
    let long = dot(n, n).sqrt();
    let unit = if long > 0.0 { 1.0 / long } else { 0.0 };
    let stored = |v: f32| ((v * unit).clamp(-1.0, 1.0) * 32767.0 + 0.5).floor() / 32767.0;
    [stored(n[0]), stored(n[1]), stored(n[2])]
}

/// Words of scratch memory: depths of two rows, and the shares of the history that count.
pub(super) fn scratch(width: usize) -> usize {
    3 * width
}

pub(super) fn temporal(kernel: &Temporal, job: &mut Job<'_>) {
    let level = job.level;
    dispatch!(level, simd => rows(simd, kernel, job));
}

#[inline(always)]
fn rows<S: Simd>(_simd: S, kernel: &Temporal, job: &mut Job<'_>) {
    let surface = Surface::new(&kernel.layers, &job.reads);
    let (colors, width) = (kernel.layers.colors, job.reads[0].size().width);
    let weights = light_weights(colors);
    let past = kernel
        .past
        .map(|past| (past, History::new(&job.reads, colors)));
    let lights = kernel
        .lights
        .then(|| job.reads[kernel.layers.count()].clone());
    let mut taps = vec![Taps::default(); if kernel.lights { width } else { 0 }];
    let (depths, kept) = job.scratch[..scratch(width)].split_at_mut(2 * width);
    let [payload_out, features_out, moments_out] = &mut job.writes[..] else {
        return;
    };
    for y in job.rows.clone() {
        let mut payload: [&mut [f32]; 4] = payload_out.rows_n(y);
        let mut features: [&mut [f32]; FEATURES] = features_out.rows_n(y);
        let mut seen: [&mut [f32]; MOMENTS] = moments_out.rows_n(y);
        taps.fill(Taps::default());
        surface.features(y, &mut features, depths);
        surface.light(y, &mut payload[..colors]);
        kept.copy_from_slice(payload[colors]);
        payload[colors].fill(0.0);
        let [first, second, frames, ids] = &mut seen;
        first.fill(0.0);
        for (row, weight) in payload.iter().zip(weights).take(colors) {
            let pairs = first.iter_mut().zip(&**row);
            pairs.for_each(|(sum, v)| *sum += weight * v);
        }
        let squares = second.iter_mut().zip(&**first);
        squares.for_each(|(to, l)| *to = l * l);
        frames.fill(1.0);
        match &surface.id {
            Some(id) => ids.copy_from_slice(id.row(0, y)),
            None => ids.fill(0.0),
        }
        if let Some((past, old)) = &past {
            for x in 0..width {
                let mut now = [0.0; FEATURES];
                for (now, row) in now.iter_mut().zip(&features) {
                    *now = row[x];
                }
                let Some((color, then, mut from)) = old.at(past, &now, [x, y], seen[3][x]) else {
                    continue;
                };
                let kept = kept[x];
                let frames = (then[2] * kept + 1.0).min(MOST_FRAMES);
                let (least, noise) = match past.mirrors && now[3] < 0.0 {
                    true => (past.alpha.max(MIRROR_ALPHA), MIRROR_VARIANCE),
                    false => (past.alpha, 1.0),
                };
                let alpha = (1.0 - (1.0 - least) * kept).max(1.0 / frames);
                from.alpha = alpha;
                if let Some(taps) = taps.get_mut(x) {
                    *taps = from;
                }
                for (row, old) in payload.iter_mut().zip(color).take(colors) {
                    row[x] = old + alpha * (row[x] - old);
                }
                let blend = |k: usize| then[k] + alpha * (seen[k][x] - then[k]);
                let moments = [blend(0), blend(1)];
                let spread = moments[1] - moments[0] * moments[0];
                payload[colors][x] = (noise * spread / frames.min(deepest(past.alpha))).max(0.0);
                [seen[0][x], seen[1][x], seen[2][x]] = [moments[0], moments[1], frames];
            }
        }
        if kernel.half {
            for row in payload {
                half::round(row);
            }
        }
        for plane in 0..lights.as_ref().map_or(0, View::planes) {
            let Some(lights) = &lights else { continue };
            let to = payload_out.row(colors + 1 + plane, y);
            to.copy_from_slice(lights.row(plane, y));
            if let Some((_, old)) = &past {
                let old = old.payload.plane(colors + 1 + plane);
                for (to, taps) in to.iter_mut().zip(&taps) {
                    *to = taps.blend(old, *to);
                }
            }
            if kernel.half {
                half::round(to);
            }
        }
    }
}

/// The source of a pixel's history, and the share of the new frame.
#[derive(Debug, Clone, Copy)]
struct Taps {
    at: [usize; 4],
    weights: [f32; 4],
    alpha: f32,
}

impl Default for Taps {
    fn default() -> Self {
        Self {
            at: [0; 4],
            weights: [0.0; 4],
            alpha: 1.0,
        }
    }
}

impl Taps {
    fn blend(&self, old: &[f32], new: f32) -> f32 {
        let taps = self.at.iter().zip(self.weights);
        let then: f32 = taps.map(|(at, w)| w * old[*at]).sum();
        then + self.alpha * (new - then)
    }
}

/// The history and the motion, as whole planes.
struct History<'a> {
    size: Size,
    motion: [&'a [f32]; 2],
    payload: View<'a>,
    color: [&'a [f32]; 3],
    colors: usize,
    features: [&'a [f32]; FEATURES],
    moments: [&'a [f32]; MOMENTS],
}

impl<'a> History<'a> {
    /// The history is read last.
    fn new(reads: &[View<'a>], colors: usize) -> Self {
        let [motion, color, features, moments] =
            std::array::from_fn(|k| &reads[reads.len() - 4 + k]);
        Self {
            size: motion.size(),
            motion: [0, 1].map(|k| motion.plane(k)),
            payload: color.clone(),
            color: [0, 1, 2].map(|k| color.plane(k.min(colors - 1))),
            colors,
            features: std::array::from_fn(|k| features.plane(k)),
            moments: std::array::from_fn(|k| moments.plane(k)),
        }
    }

    /// Colour and moments of the history of a pixel, from the four taps around its previous position, and these taps.
    #[inline(always)]
    fn at(
        &self,
        kernel: &Past,
        now: &[f32; FEATURES],
        [x, y]: [usize; 2],
        id: f32,
    ) -> Option<([f32; 3], [f32; 3], Taps)> {
        let size = self.size;
        let own = y * size.width + x;
        // Clamps to just outside the image, so that it fits an integer.
        let far = |v: f32, n: usize| v.clamp(-2.0, n as f32 + 1.0);
        let px = far(x as f32 + self.motion[0][own], size.width);
        let py = far(y as f32 + self.motion[1][own], size.height);
        let (mut color, mut moments, mut weights) = ([0.0; 3], [0.0; 3], 0.0);
        let mut taps = Taps::default();
        // Loops instead of `map`, because its closure would not be inlined.
        for k in 0..4 {
            let qx = px.floor() + (k % 2) as f32;
            let qy = py.floor() + (k / 2) as f32;
            if qx < 0.0 || qy < 0.0 || qx >= size.width as f32 || qy >= size.height as f32 {
                continue;
            }
            let q = [qx as usize, qy as usize];
            let i = q[1] * size.width + q[0];
            if self.moments[2][i] <= 0.0 || self.moments[3][i] != id || !self.alike(now, i) {
                continue;
            }
            let weight = (1.0 - (px - qx).abs()) * (1.0 - (py - qy).abs());
            let at = match kernel.order {
                Some(order) => {
                    order.place(size.height, q[1]) * size.width + order.place(size.width, q[0])
                }
                None => i,
            };
            (taps.at[k], taps.weights[k]) = (at, weight);
            for (sum, plane) in color.iter_mut().zip(self.color).take(self.colors) {
                *sum += weight * plane[at];
            }
            for (sum, plane) in moments.iter_mut().zip(self.moments) {
                *sum += weight * plane[i];
            }
            weights += weight;
        }
        if weights <= TAPS_LEAST {
            return None;
        }
        let inverse = 1.0 / weights;
        for v in color
            .iter_mut()
            .chain(&mut moments)
            .chain(&mut taps.weights)
        {
            *v *= inverse;
        }
        Some((color, moments, taps))
    }

    /// Whether a pixel and one of the last frame show the same surface.
    #[inline(always)]
    fn alike(&self, now: &[f32; FEATURES], i: usize) -> bool {
        let [x, y, z, depth, ..] = &self.features;
        let slope = now[4].abs() + now[5].abs();
        let near = (now[3] - depth[i]).abs() <= DEPTH_CHANGE * now[3].abs() + 2.0 * slope;
        let (a, b) = ([now[0], now[1], now[2]], [x[i], y[i], z[i]]);
        near && (a == b || dot(a, b) >= NORMAL_CHANGE)
    }
}
