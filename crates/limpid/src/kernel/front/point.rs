//! Operations on single pixels and their neighbours, said once.

use crate::Result;
use crate::definition::front::{
    BLACK, DIM, EMITTER, EMITTING, FAINT, FAR, LEAST_DIVISOR, MISS, NOISE_FLOOR, SURFACE,
    noise_share,
};
use crate::definition::nfor::parity;
use crate::kernel::front::per_pixel;
use crate::kernel::stencil::{Build, Mask, Read, Stencil, Value, stencil};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};

/// The sum of values.
fn sum<'g>(values: impl IntoIterator<Item = Value<'g>>) -> Option<Value<'g>> {
    values.into_iter().reduce(|a, b| a + b)
}

/// The first three planes.
fn three(read: Read<'_>) -> [Value<'_>; 3] {
    [0, 1, 2].map(|c| read.plane(c).here())
}

/// Whether an albedo is an emitter's.
fn emits(albedo: Read<'_>) -> Mask<'_> {
    let [r, g, b] = three(albedo);
    let most = r.max(g).max(b.max(0.0));
    most.lt(BLACK) | most.gt(EMITTING)
}

/// The class of a pixel. Reads: albedo, normal, depth, as far as they exist; the colour if none does.
pub(crate) fn class(albedo: bool, normal: bool, depth: bool) -> Stencil {
    stencil("class", |k| {
        let read = |there: bool| there.then(|| k.read());
        let (albedo, normal, depth) = (read(albedo), read(normal), read(depth));
        let nothing = match (depth, normal) {
            (Some(d), _) => {
                let d = d.plane(0).here();
                Some(d.le(0.0) | !d.lt(FAR))
            }
            (None, Some(n)) => {
                let [x, y, z] = three(n).map(|v| v.abs().lt(1e-2));
                Some(x & y & z)
            }
            (None, None) => None,
        };
        let emits = albedo.map(emits);
        if albedo.is_none() && nothing.is_none() {
            let _ = k.read();
        }
        let mut class = k.constant(SURFACE);
        class = emits.map_or(class, |emits| emits.pick(EMITTER, class));
        class = nothing.map_or(class, |nothing| nothing.pick(MISS, class));
        k.write_planes([class]);
    })
}

/// What colour is divided by ([`crate::definition::front::divisor`]). Reads albedo.
pub(crate) fn divisor() -> Stencil {
    stencil("divisor", |k| {
        let albedo = three(k.read()).map(|a| a.max(0.0).min(1.0));
        let most = albedo[0].max(albedo[1]).max(albedo[2]);
        let some = ((most - FAINT) * (1.0 / (DIM - FAINT))).max(0.0).min(1.0);
        k.write_planes(albedo.map(|a| some * (a.max(LEAST_DIVISOR) - 1.0) + 1.0));
    })
}

/// Depth, negative for emitters. Reads: depth, albedo.
pub(crate) fn signed_depth() -> Stencil {
    stencil("signed-depth", |k| {
        let [depth, albedo] = k.reads();
        k.write_planes([depth.plane(0).here() * emits(albedo).pick(-1.0, 1.0)]);
    })
}

/// `max(a, share · b)`.
pub(crate) fn at_least(share: f32) -> Stencil {
    stencil("at-least", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(a.max(b * k.param(share)));
    })
}

/// `a + share (b - a)`.
pub(crate) fn between(share: f32) -> Stencil {
    stencil("between", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(a + (b - a) * k.param(share));
    })
}

/// `a²`.
pub(crate) fn squared() -> Stencil {
    stencil("squared", |k| k.write(k.read().here().squared()))
}

/// Within 0 … 1.
pub(crate) fn clamp() -> Stencil {
    stencil("clamp", |k| k.write(k.read().here().max(0.0).min(1.0)))
}

/// `a / b`; with `one`, by the first plane of `b`.
pub(crate) fn divide(one: bool) -> Stencil {
    stencil("divide", |k| {
        let [a, b] = k.reads();
        let by = if one { b.plane(0) } else { b };
        k.write(a.here() / by.here());
    })
}

/// `a / b` as [`divide`] makes it, and the mean of its `planes`.
pub(crate) fn light(planes: usize) -> Stencil {
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
pub(crate) fn finish(one: bool) -> Stencil {
    stencil("finish", |k| {
        let [a, b, c] = k.reads();
        let by = if one { c.plane(0) } else { c };
        k.write(((a.here() + b.here()) * 0.5).max(0.0) * by.here());
    })
}

/// `share · (a - b)²`.
pub(crate) fn square_difference(share: f32) -> Stencil {
    stencil("square-difference", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write((a - b).squared() * share);
    })
}

/// `(a - b)² / (1 + c)`, for `c` of one plane.
pub(crate) fn off() -> Stencil {
    stencil("off", |k| {
        let [a, b, c] = k.reads();
        k.write((a.here() - b.here()).squared() / (c.plane(0).here() + 1.0));
    })
}

/// `(a + b) / 2`.
pub(crate) fn middle() -> Stencil {
    stencil("middle", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write((a + b) * 0.5);
    })
}

/// `a² +` a number.
pub(crate) fn square_plus(dark: f32) -> Stencil {
    stencil("square", |k| {
        let dark = k.param(dark);
        k.write(k.read().here().squared() + dark);
    })
}

/// `a - b - c`.
pub(crate) fn minus() -> Stencil {
    stencil("minus", |k| {
        let [a, b, c] = k.reads().map(|r| r.here());
        k.write(a - b - c);
    })
}

/// `max(a, b)`.
pub(crate) fn larger() -> Stencil {
    stencil("larger", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(a.max(b));
    })
}

/// `a · b / c` where `c` is above 0, else `a`: applies to `a` the clamping of `c` to `b`. `b` and `c` have one plane.
pub(crate) fn follow() -> Stencil {
    stencil("follow", |k| {
        let [a, b, c] = k.reads();
        let (a, b, c) = (a.here(), b.plane(0).here(), c.plane(0).here());
        k.write(c.gt(0.0).pick(a * (b / c), a));
    })
}

/// The same where `b` is not above `c`, else `a`.
pub(crate) fn lower() -> Stencil {
    stencil("lower", |k| {
        let [a, b, c] = k.reads();
        let (a, b, c) = (a.here(), b.plane(0).here(), c.plane(0).here());
        k.write(c.gt(0.0).pick(a * (b / c).min(1.0), a));
    })
}

/// `a · b / c` where `c` is above 0, else `a`, plane by plane.
pub(crate) fn follow_each() -> Stencil {
    stencil("follow-each", |k| {
        let [a, b, c] = k.reads().map(|r| r.here());
        k.write(c.gt(0.0).pick(a * (b / c), a));
    })
}

/// The variance of a logarithm: `a / b²` where `b` is above 0, else 0.
pub(crate) fn log_variance() -> Stencil {
    stencil("log-variance", |k| {
        let [a, b] = k.reads().map(|r| r.here());
        k.write(b.gt(0.0).pick(a / (b * b), 0.0));
    })
}

/// The mean of all planes, of one slot or of two.
pub(crate) fn brightness(planes: usize, slots: usize) -> Stencil {
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

/// The mean of a pixel's four neighbours, weighted by how alike their surfaces are (`definition::front::checkerboard`).
/// Reads: the picture, classes, features if there are any, of which the first `sharp` planes tell surfaces apart. Writes: the
/// means, and their variance as a share of a pixel's.
pub(crate) fn checkerboard(features: bool, sharp: usize, step: usize) -> Stencil {
    stencil("checkerboard", |k| {
        let [picture, class] = k.reads();
        let features = features.then(|| k.read());
        let weights = beside(k, class, features.map(|f| (f, sharp)), step);
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

/// The four neighbours of a pixel: where they are, and how alike their surfaces.
fn beside<'g>(
    k: &'g Build,
    class: Read<'g>,
    features: Option<(Read<'g>, usize)>,
    step: usize,
) -> [(i32, i32, Value<'g>); 4] {
    let step = step as i32;
    [(1, 0), (0, 1), (-1, 0), (0, -1)].map(|(dx, dy)| {
        let (dx, dy) = (step * dx, step * dy);
        let apart = features.and_then(|(f, sharp)| {
            let planes = (0..sharp).map(|c| f.plane(c));
            sum(planes.map(|p| (p.here() - p.at(dx, dy)).squared()))
        });
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

/// The noise of a pixel seen from its neighbours: the squared difference to their mean as [`checkerboard`] makes it, over what
/// that is for noise of variance 1; the mean of `planes`. Reads: the picture, classes, features if there are any.
pub(crate) fn unrest(planes: usize, features: bool, sharp: usize) -> Stencil {
    stencil("unrest", |k| {
        let [picture, class] = k.reads();
        let features = features.then(|| k.read());
        let weights = beside(k, class, features.map(|f| (f, sharp)), 1);
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
    })
}

/// The squared difference of a pixel and the mean of its four neighbours, averaged over planes
/// (`definition::front::feature_noise`).
pub(crate) fn roughness(planes: usize) -> Stencil {
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

/// What of a pixel depends on its colour on a checkerboard, or needs functions that stencils have not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Point {
    /// `a` where the colour is this one, else `b`. Last, the side of the squares.
    Pick(u32, u32),
    /// `a` where the colour is this one, else `a · b`, for `b` of one plane. Last, the side of the squares.
    Share(u32, u32),
    /// The logarithm of `a` and a little.
    Logarithm,
    /// Back from a mean of logarithms to a variance, in all planes of what is written.
    Variance,
}

impl Kernel for Point {
    fn name(&self) -> &'static str {
        match self {
            Self::Pick(..) => "pick",
            Self::Share(..) => "share",
            Self::Logarithm => "logarithm",
            Self::Variance => "variance",
        }
    }

    fn contract(&self) -> Contract {
        let reads = if let Self::Pick(..) | Self::Share(..) = self {
            2
        } else {
            1
        };
        Contract::rows(reads, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let planes = job.writes[0].planes();
        let over = 1.0 / noise_share(planes);
        for plane in 0..planes {
            for y in job.rows.clone() {
                let row = |k: usize| {
                    let read = &job.reads[k];
                    read.row(plane.min(read.planes() - 1), y)
                };
                let own = |p: u32, cell: u32, x: usize| parity(x, y, cell as usize) == p as usize;
                let a = row(0);
                for (x, o) in job.writes[0].row(plane, y).iter_mut().enumerate() {
                    *o = match *self {
                        Self::Pick(p, cell) if own(p, cell, x) => a[x],
                        Self::Pick(..) => row(1)[x],
                        Self::Share(p, cell) if own(p, cell, x) => a[x],
                        Self::Share(..) => a[x] * row(1)[x],
                        Self::Logarithm => (a[x] + NOISE_FLOOR).ln(),
                        Self::Variance => (a[x].exp() - NOISE_FLOOR).max(0.0) * over,
                    };
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let planes = site.writes[0].planes;
        let cell = match *self {
            Self::Pick(_, cell) | Self::Share(_, cell) => cell,
            _ => 1,
        };
        let (value, number) = match *self {
            Self::Pick(p, _) => ("select(read1[at], read0[at], parity == p.a)", p as f32),
            Self::Share(p, _) => (
                "select(read0[at] * read1[i], read0[at], parity == p.a)",
                p as f32,
            ),
            Self::Logarithm => ("log(read0[at] + p.b)", 0.0),
            Self::Variance => (
                "max(exp(read0[i]) - p.b, 0.0) * p.a",
                1.0 / noise_share(planes),
            ),
        };
        let body = format!(
            "    let parity = f32((x / u32(p.c) + y / u32(p.c)) % 2u);
    for (var k = 0u; k < p.planes; k++) {{
        let at = k * p.pixels + i;
        write0[at] = {value};
    }}
"
        );
        Ok(per_pixel(
            site,
            [number, NOISE_FLOOR, cell as f32, 0.0, 0.0],
            "",
            &body,
        ))
    }
}
