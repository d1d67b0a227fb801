//! The CPU bodies.

use super::Resolve;
use fearless_simd::Simd;
use limpid_core::Size;
use limpid_core::simd::dispatch;
use limpid_plan::{Job, View};
use limpid_reference::definition::taa::{BEYOND, LEAST_SCALE, NARROWEST, NOTICED};

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
    [c[0] * scale, c[1] * scale, c[2] * scale]
}

/// The inverse of [`blendable`].
#[inline(always)]
fn restored(c: [f32; 3], three: bool, highlights: f32) -> [f32; 3] {
    let scale = 1.0 / (1.0 - highlights * c[0].max(0.0)).max(LEAST_SCALE);
    let c = [c[0] * scale, c[1] * scale, c[2] * scale];
    if three { from_ycocg(c) } else { c }
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
    let planes = color.planes().min(3);
    let three = planes == 3;
    let width = color.size().width;
    if !kernel.history {
        for y in job.rows.clone() {
            for x in 0..width {
                let made = alone(&color, kernel, (x, y));
                for (plane, v) in made.into_iter().enumerate().take(planes) {
                    job.writes[0].row(plane, y)[x] = v;
                }
            }
        }
        return;
    }
    let history = History::new(&job.reads[1], planes);
    let motion = kernel
        .motion
        .then(|| job.reads[job.reads.len() - 1].clone());
    job.scratch.fill(0.0);
    let mut scratch = job.scratch[..scratch(width)].chunks_exact_mut(width);
    let mut rows =
        || -> [&mut [f32]; 3] { std::array::from_fn(|_| scratch.next().unwrap_or_default()) };
    let (mut new, mut old) = (rows(), rows());
    let mut sums = [rows(), rows()];
    let mut statistics = [rows(), rows()];
    let [there, ..] = rows();
    let [first, last] = &mut job.writes[..] else {
        return;
    };
    for y in job.rows.clone() {
        match &motion {
            Some(motion) => {
                let (dx, dy) = (motion.row(0, y), motion.row(1, y));
                for (x, (dx, dy)) in dx.iter().zip(dy).enumerate() {
                    let place = [x as f32 + dx, y as f32 + dy];
                    there[x] = history.fetch(kernel.cubic, place, x, &mut old);
                }
            }
            None => {
                for x in 0..width {
                    let place = [x as f32, y as f32];
                    there[x] = history.fetch(kernel.cubic, place, x, &mut old);
                }
            }
        }
        converted(&color, y, three, kernel.highlights, &mut new);
        match kernel.window {
            Some(radius) => {
                let shape = (radius, three, kernel.highlights);
                around(&color, y, shape, &mut sums, &mut statistics);
            }
            None => {
                for (to, from) in statistics.iter_mut().zip(&job.reads[2..4]) {
                    for (plane, to) in to.iter_mut().enumerate().take(planes) {
                        to.copy_from_slice(from.row(plane, y));
                    }
                }
            }
        }
        blend(kernel, three, &mut old, &mut new, &statistics);
        let made: [&mut [f32]; 3] = first.rows_n(y);
        let kept: [&mut [f32]; 4] = last.rows_n(y);
        for p in 0..planes {
            for ((to, v), c) in made[p].iter_mut().zip(&*new[p]).zip(color.row(p, y)) {
                // Splines may undershoot.
                *to = v.max(c.min(0.0));
            }
            kept[p].copy_from_slice(old[p]);
        }
        // Pixels without history show the frame alone.
        for x in (0..width).filter(|x| there[*x] == 0.0) {
            let now = alone(&color, kernel, (x, y));
            let space = blendable(now, three, kernel.highlights);
            for p in 0..planes {
                (made[p][x], kept[p][x]) = (now[p], space[p]);
            }
        }
        kept[planes].fill(1.0);
    }
}

/// A pixel without history.
fn alone(color: &View<'_>, kernel: &Resolve, (x, y): (usize, usize)) -> [f32; 3] {
    match kernel.soften > 0.0 {
        true => softened(color, kernel, (x, y)),
        false => pixel(color, x, y),
    }
}

/// A row in the blending space.
#[inline(always)]
fn converted(color: &View<'_>, y: usize, three: bool, highlights: f32, to: &mut [&mut [f32]; 3]) {
    let [r, g, b] = [0, 1, 2].map(|p| color.row(if three { p } else { 0 }, y));
    let [t0, t1, t2] = to.each_mut().map(|t| &mut t[..r.len()]);
    let (g, b) = (&g[..r.len()], &b[..r.len()]);
    for x in 0..r.len() {
        let raw = if three {
            [r[x], g[x], b[x]]
        } else {
            [r[x], 0.0, 0.0]
        };
        [t0[x], t1[x], t2[x]] = blendable(raw, three, highlights);
    }
}

/// Mean and deviation of the window around each pixel of a row, in the blending space.
#[inline(always)]
fn around(
    color: &View<'_>,
    y: usize,
    (radius, three, highlights): (usize, bool, f32),
    sums: &mut [[&mut [f32]; 3]; 2],
    statistics: &mut [[&mut [f32]; 3]; 2],
) {
    let rows = y.saturating_sub(radius)..(y + radius + 1).min(color.size().height);
    let count = rows.len() as f32;
    for row in sums.iter_mut().flatten() {
        row.fill(0.0);
    }
    let [means, deviations] = statistics;
    for row in rows {
        converted(color, row, three, highlights, means);
        for (from, p) in means.iter().zip(0..3) {
            let [sums, squares] = sums.each_mut().map(|s| &mut s[p][..from.len()]);
            for ((sum, square), v) in sums.iter_mut().zip(squares).zip(&**from) {
                *sum += v;
                *square += v * v;
            }
        }
    }
    for p in 0..if three { 3 } else { 1 } {
        let (sums, squares) = (&*sums[0][p], &*sums[1][p]);
        let (mean, deviation) = (&mut *means[p], &mut *deviations[p]);
        let whole = |x: usize| (x + radius + 1).min(sums.len()) - x.saturating_sub(radius);
        across(sums, radius, mean);
        across(squares, radius, deviation);
        for (x, (m, d)) in mean.iter_mut().zip(deviation).enumerate() {
            let n = count * whole(x) as f32;
            *m /= n;
            // A single pixel has no deviation, not even by rounding.
            let spread = if n < 1.5 { 0.0 } else { *d / n - *m * *m };
            *d = spread.max(0.0).sqrt();
        }
    }
}

/// Sums over the columns around each.
#[inline(always)]
fn across(from: &[f32], radius: usize, to: &mut [f32]) {
    to.copy_from_slice(from);
    for k in 1..=radius.min(from.len().saturating_sub(1)) {
        let ahead = &from[k..];
        to.iter_mut().zip(ahead).for_each(|(to, v)| *to += v);
        to[k..].iter_mut().zip(from).for_each(|(to, v)| *to += v);
    }
}

/// The frame alone, blended with its neighbours; bright ones count less.
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

/// Clips old colours towards the mean until they are inside the box, and blends them with the new ones. Stores the blend in
/// `old`, and its colour in `new`.
#[inline(always)]
fn blend(
    kernel: &Resolve,
    three: bool,
    old: &mut [&mut [f32]; 3],
    new: &mut [&mut [f32]; 3],
    [mean, deviation]: &[[&mut [f32]; 3]; 2],
) {
    let n = old[0].len();
    let [o0, o1, o2] = old.each_mut().map(|row| &mut row[..n]);
    let [n0, n1, n2] = new.each_mut().map(|row| &mut row[..n]);
    let [m0, m1, m2] = mean.each_ref().map(|row| &row[..n]);
    let [d0, d1, d2] = deviation.each_ref().map(|row| &row[..n]);
    for x in 0..n {
        let [a0, a1, a2] = [o0[x] - m0[x], o1[x] - m1[x], o2[x] - m2[x]];
        let least = NARROWEST * m0[x].abs() + 1e-8;
        let luma = (kernel.gamma * d0[x]).max(least);
        let least = least.max(kernel.chroma * kernel.gamma * d0[x]);
        let most = |deviation: f32| (kernel.gamma * deviation).max(least);
        let over = (a0.abs() / luma).max(a1.abs() / most(d1[x]));
        let inverse = 1.0 / over.max(a2.abs() / most(d2[x])).max(1.0);
        let noticed = NOTICED * m0[x].abs() / a0.abs().max(a1.abs()).max(a2.abs()).max(1e-30);
        let counts = if kernel.discount {
            inverse.max(noticed).min(1.0)
        } else {
            1.0
        };
        let share = 1.0 - (1.0 - kernel.blend) * counts;
        let mix = |mean: f32, away: f32, now: f32| {
            let clipped = mean + away * inverse;
            clipped + share * (now - clipped)
        };
        let made = [
            mix(m0[x], a0, n0[x]),
            mix(m1[x], a1, n1[x]),
            mix(m2[x], a2, n2[x]),
        ];
        [o0[x], o1[x], o2[x]] = made;
        [n0[x], n1[x], n2[x]] = restored(made, three, kernel.highlights);
    }
}

/// Words of scratch memory: rows of current and previous colours in the blending space, of sums, and of mean and deviation; and
/// of the validity of history.
pub(super) fn scratch(width: usize) -> usize {
    21 * width
}

/// The last result, as whole planes.
struct History<'a> {
    size: Size,
    planes: [&'a [f32]; 3],
    /// 1 where history is valid.
    there: &'a [f32],
    count: usize,
}

impl<'a> History<'a> {
    fn new(history: &View<'a>, count: usize) -> Self {
        Self {
            size: history.size(),
            planes: std::array::from_fn(|p| history.plane(p.min(count - 1))),
            there: history.plane(count),
            count,
        }
    }

    /// Samples a position into column `x` of some rows; returns 1 if there is history, otherwise 0.
    #[inline(always)]
    fn fetch(&self, cubic: bool, place: [f32; 2], x: usize, to: &mut [&mut [f32]; 3]) -> f32 {
        let found = match cubic {
            true => self.cubic(place),
            false => self.bilinear(place),
        };
        let values = found.unwrap_or_default();
        for (to, v) in to.iter_mut().zip(values).take(self.count) {
            to[x] = v;
        }
        f32::from(found.is_some())
    }

    /// The four pixels around a position that lie inside and have history; `None` if there are none.
    #[inline(always)]
    fn bilinear(&self, [x, y]: [f32; 2]) -> Option<[f32; 3]> {
        let size = self.size;
        // Clamps to just outside the image, so that it fits an integer.
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
            let i = qy as usize * size.width + qx as usize;
            let weight = (1.0 - (x - qx).abs()) * (1.0 - (y - qy).abs()) * self.there[i];
            for (sum, plane) in sum.iter_mut().zip(self.planes) {
                *sum += weight * plane[i];
            }
            weights += weight;
        }
        let inverse = 1.0 / weights;
        (weights > 1e-3).then_some([sum[0] * inverse, sum[1] * inverse, sum[2] * inverse])
    }

    /// The sixteen pixels around a position, clamped to the range of the four nearest; `None` outside or without history.
    #[inline(always)]
    fn cubic(&self, [x, y]: [f32; 2]) -> Option<[f32; 3]> {
        let Size { width, height } = self.size;
        let inside = |v: f32, n: usize| v >= -BEYOND && v <= (n - 1) as f32 + BEYOND;
        if !inside(x, width) || !inside(y, height) {
            return None;
        }
        let (left, top) = (x.floor() as isize - 1, y.floor() as isize - 1);
        let near = |v: isize, n: usize| v.clamp(0, n as isize - 1) as usize;
        if self.there[near(top + 1, height) * width + near(left + 1, width)] == 0.0 {
            return None;
        }
        let (wx, wy) = (spline(x - x.floor()), spline(y - y.floor()));
        let whole = left >= 0 && left as usize + 4 <= width;
        let mut made = [0.0; 3];
        // Loops instead of `map`, because its closure would not be inlined.
        for (made, plane) in made.iter_mut().zip(self.planes).take(self.count) {
            let (mut sum, mut least, mut most) = (0.0, f32::INFINITY, f32::NEG_INFINITY);
            for (j, wy) in wy.into_iter().enumerate() {
                let row = &plane[near(top + j as isize, height) * width..][..width];
                let [a, b, c, d] = if whole {
                    let taps = &row[left as usize..left as usize + 4];
                    [taps[0], taps[1], taps[2], taps[3]]
                } else {
                    let at = |i: isize| row[near(left + i, width)];
                    [at(0), at(1), at(2), at(3)]
                };
                sum += wy * (wx[0] * a + wx[1] * b + wx[2] * c + wx[3] * d);
                if j == 1 || j == 2 {
                    (least, most) = (least.min(b.min(c)), most.max(b.max(c)));
                }
            }
            *made = sum.max(least).min(most);
        }
        Some(made)
    }
}

/// The weights of the four pixels around a position.
#[inline(always)]
fn spline(f: f32) -> [f32; 4] {
    let near = |f: f32| 1.0 + f * f * (1.5 * f - 2.5);
    let g = 1.0 - f;
    [-0.5 * f * g * g, near(f), near(g), -0.5 * g * f * f]
}
