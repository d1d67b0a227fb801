//! Operations on single pixels and their neighbours.

use limpid_plan::stencil::{Build, Mask, Read, Stencil, Value, stencil};
use limpid_reference::definition::front::{NOISE_FLOOR, noise_share};

/// The sum of values.
fn sum<'g>(values: impl IntoIterator<Item = Value<'g>>) -> Option<Value<'g>> {
    values.into_iter().reduce(|a, b| a + b)
}

/// The first three planes.
pub(super) fn three(read: Read<'_>) -> [Value<'_>; 3] {
    [0, 1, 2].map(|c| read.plane(c).here())
}

/// `max(a, share · b)`.
pub fn at_least(share: f32) -> Stencil {
    stencil("at-least", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(a.max(b * k.param(share)));
    })
}

/// `a + share (b - a)`.
pub fn between(share: f32) -> Stencil {
    stencil("between", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(a + (b - a) * k.param(share));
    })
}

/// `a²`.
pub fn squared() -> Stencil {
    stencil("squared", |k| k.write(k.read().here().squared()))
}

/// Within 0 … 1.
pub fn clamp() -> Stencil {
    stencil("clamp", |k| k.write(k.read().here().max(0.0).min(1.0)))
}

/// `a / b`; with `one`, by the first plane of `b`.
pub fn divide(one: bool) -> Stencil {
    stencil("divide", |k| {
        let [a, b] = k.reads();
        let by = if one { b.plane(0) } else { b };
        k.write(a.here() / by.here());
    })
}

/// `a / b` as in [`divide`], and the mean of its `planes`.
pub fn light(planes: usize) -> Stencil {
    stencil("light", |k| {
        let [a, b] = k.reads();
        k.write(a.here() / b.here());
        let all = (0..planes).map(|c| a.plane(c).here() / b.plane(c).here());
        if let Some(sum) = sum(all) {
            k.write_planes([sum * (1.0 / planes as f32)]);
        }
    })
}

/// `max((a + b) / 2, 0) · c`; with `one`, by the first plane of `c`.
pub fn finish(one: bool) -> Stencil {
    stencil("finish", |k| {
        let [a, b, c] = k.reads();
        let by = if one { c.plane(0) } else { c };
        k.write(((a.here() + b.here()) * 0.5).max(0.0) * by.here());
    })
}

/// `share · (a - b)²`.
pub fn square_difference(share: f32) -> Stencil {
    stencil("square-difference", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write((a - b).squared() * share);
    })
}

/// `(a - b)² / (1 + c)`, for `c` with one plane.
pub fn off() -> Stencil {
    stencil("off", |k| {
        let [a, b, c] = k.reads();
        k.write((a.here() - b.here()).squared() / (c.plane(0).here() + 1.0));
    })
}

/// `(a + b) / 2`.
pub fn middle() -> Stencil {
    stencil("middle", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write((a + b) * 0.5);
    })
}

/// `(a + b) / 2` of a share: 0 … 1.
pub fn share() -> Stencil {
    stencil("share", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(((a + b) * 0.5).max(0.0).min(1.0));
    })
}

/// `a² + dark`.
pub fn square_plus(dark: f32) -> Stencil {
    stencil("square", |k| {
        let dark = k.param(dark);
        k.write(k.read().here().squared() + dark);
    })
}

/// `a - b - c`.
pub fn minus() -> Stencil {
    stencil("minus", |k| {
        let [a, b, c] = k.reads().map(|r| r.here());
        k.write(a - b - c);
    })
}

/// `max(a, b)`.
pub fn larger() -> Stencil {
    stencil("larger", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(a.max(b));
    })
}

/// `a · b / c` where `c` is above 0, otherwise `a`: applies to `a` the clamping from `c` to `b`. `b` and `c` have one plane.
pub fn follow() -> Stencil {
    stencil("follow", |k| {
        let [a, b, c] = k.reads();
        let (a, b, c) = (a.here(), b.plane(0).here(), c.plane(0).here());
        k.write(c.gt(0.0).pick(a * (b / c), a));
    })
}

/// The same where `b` is not above `c`, otherwise `a`.
pub fn lower() -> Stencil {
    stencil("lower", |k| {
        let [a, b, c] = k.reads();
        let (a, b, c) = (a.here(), b.plane(0).here(), c.plane(0).here());
        k.write(c.gt(0.0).pick(a * (b / c).min(1.0), a));
    })
}

/// `a · b / c` where `c` is above 0, otherwise `a`, plane by plane.
pub fn follow_each() -> Stencil {
    stencil("follow-each", |k| {
        let [a, b, c] = k.reads().map(|r| r.here());
        k.write(c.gt(0.0).pick(a * (b / c), a));
    })
}

/// The variance of a logarithm: `a / b²` where `b` is above 0, otherwise 0.
pub fn log_variance() -> Stencil {
    stencil("log-variance", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(b.gt(0.0).pick(a / (b * b), 0.0));
    })
}

/// The mean of all planes, of one slot or of two.
pub fn brightness(planes: usize, slots: usize) -> Stencil {
    stencil("brightness", |k| {
        let reads: Vec<_> = (0..slots).map(|_| k.read()).collect();
        let all = reads
            .iter()
            .flat_map(|r| (0..planes).map(|c| r.plane(c).here()));
        if let Some(sum) = sum(all) {
            k.write(sum * (1.0 / (planes * slots) as f32));
        }
    })
}

/// The mean of a pixel's four neighbours, weighted by the similarity of their surfaces (`definition::front::checkerboard`).
/// Reads: the image, classes, features if present, of which the first `sharp` planes distinguish surfaces. Writes: the means,
/// and their variance relative to a pixel's.
pub fn checkerboard(features: bool, sharp: usize, step: usize) -> Stencil {
    stencil("checkerboard", |k| {
        let [picture, class] = k.reads();
        let features = features.then(|| k.read());
        let planes = features.into_iter();
        let planes: Vec<Read<'_>> = planes
            .flat_map(|f| (0..sharp).map(move |c| f.plane(c)))
            .collect();
        let weights = beside(k, class, &planes, step);
        let Some(total) = sum(weights.map(|(.., w)| w)) else {
            return;
        };
        let total = total + 1e-6;
        if let Some(mean) = sum(weights.map(|(dx, dy, w)| w * picture.at(dx, dy))) {
            k.write(mean / total);
        }
        if let Some(squares) = sum(weights.map(|(.., w)| w * w)) {
            k.write_planes([squares / (total * total)]);
        }
    })
}

/// The four neighbours of a pixel: their offsets, and the similarity of their surfaces.
fn beside<'g>(
    k: &'g Build,
    class: Read<'g>,
    features: &[Read<'g>],
    step: usize,
) -> [(i32, i32, Value<'g>); 4] {
    let step = step as i32;
    [(1, 0), (0, 1), (-1, 0), (0, -1)].map(|(dx, dy)| {
        let (dx, dy) = (step * dx, step * dy);
        let apart = features
            .iter()
            .map(|plane| (plane.here() - plane.at(dx, dy)).squared());
        // Surfaces this far apart have no weight; NaN is treated the same.
        let apart = sum(apart).map(|apart| apart.min(4.0));
        let (here, there) = (class.plane(0).here(), class.plane(0).at(dx, dy));
        let other = (here - there).abs().gt(0.5).pick(9.0, 0.0);
        let far = match apart {
            Some(apart) => apart * 50.0 + other,
            None => other,
        };
        let weight = (far * -1.0).exp() + 1e-4;
        (dx, dy, k.inside(dx, dy).pick(weight, 0.0))
    })
}

/// The noise of a pixel relative to its neighbours: the squared difference from their mean as in [`checkerboard`], over its
/// expectation for noise of variance 1; averaged over `planes`. Reads: the image, classes, its brightness for a `guide`, and
/// the layers of albedo and normals if present. For a guide it also writes the mean brightness of 3×3 pixels.
pub fn unrest(planes: usize, albedo: bool, normal: bool, guide: bool) -> Stencil {
    stencil("unrest", |k| {
        let [picture, class] = k.reads();
        let bright = guide.then(|| k.read());
        let mut sharp: Vec<Read<'_>> = Vec::new();
        for _ in [albedo, normal].into_iter().filter(|there| *there) {
            let layer = k.read();
            sharp.extend((0..3).map(|c| layer.plane(c)));
        }
        let weights = beside(k, class, &sharp, 1);
        let (total, squares) = (
            sum(weights.map(|(.., w)| w)),
            sum(weights.map(|(.., w)| w * w)),
        );
        let (Some(total), Some(squares)) = (total, squares) else {
            return;
        };
        let over = k.constant(1.0) / (total + 1e-6);
        let off = (0..planes).filter_map(|c| {
            let plane = picture.plane(c);
            let mean = sum(weights.map(|(dx, dy, w)| w * plane.at(dx, dy)))? * over;
            Some((plane.here() - mean).squared())
        });
        if let Some(off) = sum(off) {
            let share = squares * over * over + 1.0;
            k.write(off / share * (1.0 / planes as f32));
        }
        let Some(bright) = bright else { return };
        let around = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy)));
        let (mut sum, mut count) = (k.constant(0.0), k.constant(0.0));
        for (dx, dy) in around {
            let inside = k.inside(dx, dy);
            sum = sum + inside.pick(bright.plane(0).at(dx, dy), 0.0);
            count = count + inside.pick(1.0, 0.0);
        }
        k.write_planes([sum / count]);
    })
}

/// The squared difference of a pixel and the mean of its four neighbours, averaged over planes
/// (`definition::front::feature_noise`).
pub fn roughness(planes: usize) -> Stencil {
    stencil("roughness", |k| {
        let read = k.read();
        let squares = (0..planes).map(|c| {
            let p = read.plane(c);
            let around = (p.at(-1, 0) + p.at(1, 0)) + (p.at(0, -1) + p.at(0, 1));
            (around * 0.25 - p.here()).squared()
        });
        if let Some(sum) = sum(squares) {
            k.write(sum * (0.8 / planes as f32));
        }
    })
}

/// `a` on the squares of this parity of a checkerboard, otherwise `b`. Its squares have a side of `side` pixels.
pub fn pick(parity: usize, side: usize) -> Stencil {
    stencil("pick", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(field(k, parity, side).pick(a, b));
    })
}

/// `a` on those squares, otherwise `a · b`, for `b` with one plane.
pub fn scale_others(parity: usize, side: usize) -> Stencil {
    stencil("scale-others", |k| {
        let [a, b] = k.reads();
        let (a, b) = (a.here(), b.plane(0).here());
        k.write(field(k, parity, side).pick(a, a * b));
    })
}

fn field(k: &Build, parity: usize, side: usize) -> Mask<'_> {
    match parity {
        0 => !k.odd(side),
        _ => k.odd(side),
    }
}

/// The logarithm of `a` plus a small constant.
pub fn logarithm() -> Stencil {
    stencil("logarithm", |k| {
        k.write((k.read().here() + NOISE_FLOOR).ln());
    })
}

/// The variance from a mean of logarithms, in all `planes` of the output.
pub fn variance(planes: usize) -> Stencil {
    stencil("variance", |k| {
        let mean = k.read().plane(0).here();
        let below = (-mean.abs()).exp();
        let noise = mean.gt(0.0).pick(1.0 / below, below) - NOISE_FLOOR;
        let noise = noise.max(0.0) * (1.0 / noise_share(planes));
        k.write_planes(vec![noise; planes]);
    })
}
