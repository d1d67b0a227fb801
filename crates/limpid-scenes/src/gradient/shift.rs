//! Shifting a recorded path to a neighbouring pixel.
//!
//! The shifted path starts with the same offset within its pixel and on the lens. Where the path and its shift are both at a
//! rough vertex and the path goes on to another rough vertex, a light or the sky, the shift connects to it: the densities
//! differ by the ratio of the geometry terms. Everywhere else the shift copies the half vector, or the kind of specular
//! event, of the path in its own frame and is traced on; the densities differ by `|ω̃·h| / |ω·h|`, or not at all.

use super::{Direction, Record};
use crate::bsdf::{Class, reflect};
use crate::camera::Ray;
use crate::path::{Attempt, Continuation, End, Node, Tracer, emitted};
use crate::render::Film;
use crate::scene::Surface;
use crate::vertex::{Step, Vertex};
use glam::{Vec2, Vec3A};

/// One sample of the neighbour's value minus the pixel's own, weighted so that it adds up with the neighbour's sample.
pub(crate) fn difference(
    tracer: &Tracer<'_>,
    record: &Record,
    film: &Film,
    direction: Direction,
    glossy_below: f32,
) -> Vec3A {
    let Some(first) = &record.first else {
        return Vec3A::ZERO;
    };
    let (dx, dy) = direction.step();
    let ray = tracer
        .now
        .ray(film.pixel + Vec2::new(dx as f32, dy as f32), film.lens);
    let end = far_end(tracer, ray.origin, &ray);
    // Both paths to the first hit are made with the same density.
    let mut sum = 0.5 * (end.radiance - first.radiance);
    let Some(node) = record.nodes.first() else {
        return sum;
    };
    let mut shift = Shift {
        tracer,
        glossy_below,
        place: Place::Lost,
        weight: Vec3A::ONE,
        ratio: 1.0,
    };
    shift.arrive(end.surface, ray.direction, &node.vertex.surface);
    for node in &record.nodes {
        sum += shift.light(node);
        if let Some(continuation) = &node.continuation {
            sum += shift.advance(node, continuation);
        }
    }
    debug_assert!(sum.is_finite(), "a shifted path gave {sum}");
    if sum.is_finite() { sum } else { Vec3A::ZERO }
}

fn far_end(tracer: &Tracer<'_>, origin: Vec3A, ray: &Ray) -> End {
    tracer.end(origin, ray.direction, tracer.scene.intersect(ray).as_ref())
}

/// Where the shifted path is while the base path is at a vertex.
enum Place {
    /// At a vertex of its own, of the same class.
    Apart(Vertex),
    /// At the same vertex for the first time: it comes from elsewhere.
    Joining(Vertex),
    /// At the same vertex, from the same direction.
    Joined,
    /// The map has no inverse here, or the shifted path carries nothing.
    Lost,
}

struct Shift<'a> {
    tracer: &'a Tracer<'a>,
    glossy_below: f32,
    place: Place,
    /// Throughput of the shifted path, times the Jacobian, over the density of the base path.
    weight: Vec3A,
    /// Density of the shifted path, times the Jacobian, over the density of the base path; without the odds of survival,
    /// which need not enter weights that add up to one.
    ratio: f32,
}

/// The shifted path for a sample of the base path.
struct ShiftedPath {
    /// Value times cosine, times the Jacobian.
    value: Vec3A,
    radiance: Vec3A,
    /// Sum of the densities of both ways to make it, times the Jacobian.
    pdfs: f32,
}

impl Shift<'_> {
    /// The weighted difference for one try: `chosen` is the density of the way it was made, `pdfs` the sum over both ways.
    fn weigh(
        &self,
        base: Vec3A,
        chosen: f32,
        pdfs: f32,
        twin: Option<(ShiftedPath, f32)>,
    ) -> Vec3A {
        match twin {
            None => -base * (chosen / pdfs),
            Some((twin, scale)) => {
                let other = self.weight * twin.value * twin.radiance * scale;
                (other - base) * (chosen / (pdfs + self.ratio * twin.pdfs))
            }
        }
    }

    /// The light chosen at a vertex of the base path.
    fn light(&self, node: &Node) -> Vec3A {
        let Some(l) = node.light.filter(|l| l.pdf > 0.0) else {
            return Vec3A::ZERO;
        };
        let base = if l.visible {
            node.weight * l.value * l.radiance / l.pdf
        } else {
            Vec3A::ZERO
        };
        let twin = match &self.place {
            Place::Lost => None,
            Place::Joined => Some(ShiftedPath {
                value: if l.visible { l.value } else { Vec3A::ZERO },
                radiance: l.radiance,
                pdfs: l.pdf + l.bsdf_pdf,
            }),
            Place::Joining(v) => Some(self.reach(v, &l)),
            Place::Apart(v) if self.class(&v.surface) == Class::Rough => Some(self.reach(v, &l)),
            // A hidden light has no half vector that leads back to it, and nothing to lose either.
            Place::Apart(_) if !l.visible => return Vec3A::ZERO,
            Place::Apart(v) => self.follow_light(node, v, &l),
        };
        self.weigh(
            base,
            l.pdf,
            l.pdf + l.bsdf_pdf,
            twin.map(|t| (t, 1.0 / l.pdf)),
        )
    }

    /// Connects a vertex to the base path's light.
    fn reach(&self, vertex: &Vertex, light: &Attempt) -> ShiftedPath {
        let a = self.tracer.attempt(vertex, light.source, false, true);
        // Lights are chosen by area, so the ratio of the geometry terms is that of the densities; for the sky it is one.
        let jacobian = light.pdf / a.pdf.max(f32::MIN_POSITIVE);
        ShiftedPath {
            value: if a.visible {
                a.value * jacobian
            } else {
                Vec3A::ZERO
            },
            radiance: a.radiance,
            pdfs: jacobian * (a.pdf + a.bsdf_pdf),
        }
    }

    /// Follows the half vector that led a glossy vertex to its light.
    fn follow_light(&self, node: &Node, vertex: &Vertex, light: &Attempt) -> Option<ShiftedPath> {
        let wi = node.vertex.basis.local(light.direction);
        let (step, jacobian) = copy_half_vector(&node.vertex, wi, vertex)?;
        let end = self.trace(vertex, &step);
        Some(ShiftedPath {
            value: step.value * jacobian,
            radiance: end.radiance,
            pdfs: jacobian * (end.light_pdf + step.pdf),
        })
    }

    /// The base path's way on: the difference of what both paths meet there, and the step to the next vertex.
    fn advance(&mut self, node: &Node, continuation: &Continuation) -> Vec3A {
        let step = &continuation.step;
        let scale = 1.0 / (step.pdf * continuation.survival);
        let base = node.weight * step.value * continuation.end.radiance * scale;
        let light_pdf = if node.vertex.bsdf.is_delta() {
            0.0
        } else {
            continuation.end.light_pdf
        };
        let pdfs = step.pdf + light_pdf;
        let next = match std::mem::replace(&mut self.place, Place::Lost) {
            Place::Lost => None,
            Place::Joined => Some(Next {
                value: step.value,
                pdf: step.pdf,
                jacobian: 1.0,
                radiance: continuation.end.radiance,
                light_pdf,
                place: Place::Joined,
            }),
            Place::Joining(v) => {
                let (value, pdf) = v.eval(step.direction);
                Some(Next {
                    value,
                    pdf,
                    jacobian: 1.0,
                    radiance: continuation.end.radiance,
                    light_pdf,
                    place: Place::Joined,
                })
            }
            Place::Apart(v) => self.advance_apart(node, continuation, &v),
        };
        let Some(next) = next else {
            return self.weigh(base, step.pdf, pdfs, None);
        };
        let twin = ShiftedPath {
            value: next.value * next.jacobian,
            radiance: next.radiance,
            pdfs: next.jacobian * (next.light_pdf + next.pdf),
        };
        let sum = self.weigh(base, step.pdf, pdfs, Some((twin, scale)));
        if next.pdf > 0.0 {
            self.weight *= next.value * next.jacobian * scale;
            self.ratio *= next.jacobian * next.pdf / step.pdf;
            self.place = next.place;
        }
        sum
    }

    fn advance_apart(
        &self,
        node: &Node,
        continuation: &Continuation,
        vertex: &Vertex,
    ) -> Option<Next> {
        match (self.class(&vertex.surface), &continuation.end.surface) {
            (Class::Rough, None) => Some(self.to_sky(continuation, vertex)),
            (Class::Rough, Some(s)) if self.class(s) == Class::Rough => {
                Some(self.connect(node, vertex, s))
            }
            (Class::Rough | Class::Glossy, _) => {
                let (step, jacobian) =
                    copy_half_vector(&node.vertex, continuation.step.wi, vertex)?;
                let mut next = self.follow(continuation, vertex, &step, jacobian);
                if self.class(&vertex.surface) == Class::Rough {
                    // Met by the half vector of a rough vertex, a light would be mapped back by connecting to it.
                    next.radiance = Vec3A::ZERO;
                }
                Some(next)
            }
            (Class::Delta, _) => {
                let step = vertex.delta(continuation.step.wi.z < 0.0)?;
                let mut next = self.follow(continuation, vertex, &step, 1.0);
                next.light_pdf = 0.0;
                Some(next)
            }
        }
    }

    /// Both paths go on to the same direction of the sky.
    fn to_sky(&self, continuation: &Continuation, vertex: &Vertex) -> Next {
        let (value, pdf) = vertex.eval(continuation.step.direction);
        let ray = vertex.leave(continuation.step.direction);
        let visible = pdf > 0.0 && self.tracer.scene.free(&ray, f32::INFINITY);
        Next {
            value: if visible { value } else { Vec3A::ZERO },
            pdf: if visible { pdf } else { 0.0 },
            jacobian: 1.0,
            radiance: continuation.end.radiance,
            light_pdf: continuation.end.light_pdf,
            place: Place::Lost,
        }
    }

    /// Connects the shifted path to the base path's next vertex.
    fn connect(&self, node: &Node, vertex: &Vertex, s: &Surface) -> Next {
        let scene = self.tracer.scene;
        let (own, base) = (
            s.position - vertex.surface.position,
            s.position - node.vertex.surface.position,
        );
        let direction = own.normalize_or_zero();
        let (value, pdf) = vertex.eval(direction);
        let (ray, reach) = vertex.towards(s.position);
        let visible = pdf > 0.0 && scene.free(&ray, reach);
        let geometry = |d: Vec3A| d.dot(s.normal).abs() / d.length().powi(3);
        let emission = scene.emission(s);
        Next {
            value: if visible { value } else { Vec3A::ZERO },
            pdf: if visible { pdf } else { 0.0 },
            jacobian: geometry(own) / geometry(base).max(f32::MIN_POSITIVE),
            radiance: emitted(emission, s, direction),
            light_pdf: scene.lights.point_pdf(emission, s, vertex.surface.position),
            place: Place::Joining(Vertex::new(scene, *s, -direction)),
        }
    }

    /// Traces the shifted path on; it stays apart if both paths meet a surface of the same class.
    fn follow(
        &self,
        continuation: &Continuation,
        vertex: &Vertex,
        step: &Step,
        jacobian: f32,
    ) -> Next {
        let end = self.trace(vertex, step);
        let place = match (&continuation.end.surface, end.surface) {
            (Some(base), Some(own)) if self.class(base) == self.class(&own) => {
                Place::Apart(Vertex::new(self.tracer.scene, own, -step.direction))
            }
            _ => Place::Lost,
        };
        Next {
            value: step.value,
            pdf: step.pdf,
            jacobian,
            radiance: end.radiance,
            light_pdf: end.light_pdf,
            place,
        }
    }

    /// The first vertex.
    fn arrive(&mut self, surface: Option<Surface>, direction: Vec3A, base: &Surface) {
        if let Some(s) = surface.filter(|s| self.class(s) == self.class(base)) {
            self.place = Place::Apart(Vertex::new(self.tracer.scene, s, -direction));
        }
    }

    fn class(&self, s: &Surface) -> Class {
        self.tracer.scene.material(s).class(self.glossy_below)
    }

    fn trace(&self, vertex: &Vertex, step: &Step) -> End {
        let ray = vertex.leave(step.direction);
        far_end(self.tracer, vertex.surface.position, &ray)
    }
}

/// A step of the shifted path.
struct Next {
    value: Vec3A,
    pdf: f32,
    jacobian: f32,
    radiance: Vec3A,
    light_pdf: f32,
    place: Place,
}

/// The way on with the half vector of `wi` at `base`, and how much it spreads solid angle.
fn copy_half_vector(base: &Vertex, wi: Vec3A, own: &Vertex) -> Option<(Step, f32)> {
    let h = (base.wo + wi).try_normalize()?;
    let cos = own.wo.dot(h);
    let base_cos = base.wo.dot(h);
    if cos <= 0.0 || base_cos <= 0.0 {
        return None;
    }
    let wi = reflect(own.wo, h);
    let (value, pdf) = own.bsdf.eval(own.wo, wi);
    let step = own.step(wi, value, pdf)?;
    Some((step, cos / base_cos))
}
