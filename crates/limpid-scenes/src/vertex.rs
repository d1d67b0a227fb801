//! A point of a path: a surface, seen from a direction.

use crate::basis::Basis;
use crate::bsdf::Bsdf;
use crate::camera::Ray;
use crate::scene::{Scene, Surface};
use glam::{Vec2, Vec3A};

/// A surface seen from a direction. Its normals lie on the viewer's side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vertex {
    pub(crate) surface: Surface,
    pub(crate) bsdf: Bsdf,
    /// Of the triangle.
    pub(crate) normal: Vec3A,
    pub(crate) basis: Basis,
    /// Towards the viewer, local.
    pub(crate) wo: Vec3A,
}

/// The next direction of a path at a vertex.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) direction: Vec3A,
    /// Local direction.
    pub(crate) wi: Vec3A,
    /// Value times cosine, and density; see [`crate::bsdf::Sampled`].
    pub(crate) value: Vec3A,
    pub(crate) pdf: f32,
}

impl Vertex {
    /// The surface as seen from direction `wo` (away from it, world).
    pub(crate) fn new(scene: &Scene, surface: Surface, wo: Vec3A) -> Self {
        let front = wo.dot(surface.normal) >= 0.0;
        let (normal, mut shading) = if front {
            (surface.normal, surface.shading)
        } else {
            (-surface.normal, -surface.shading)
        };
        // Interpolated normals can turn away from a viewer who still sees the face.
        if wo.dot(shading) <= 1e-4 {
            shading = normal;
        }
        let basis = Basis::around(shading);
        Self {
            bsdf: scene.material(&surface).at(surface.uv, front),
            surface,
            normal,
            basis,
            wo: basis.local(wo),
        }
    }

    /// Value times cosine, and density, of light from a world direction.
    pub(crate) fn eval(&self, direction: Vec3A) -> (Vec3A, f32) {
        // Light must come from the viewer's side of the true face, whatever the shading normal says.
        if direction.dot(self.normal) <= 0.0 {
            return (Vec3A::ZERO, 0.0);
        }
        self.bsdf.eval(self.wo, self.basis.local(direction))
    }

    /// Samples the next direction.
    pub(crate) fn sample(&self, u: Vec2, choice: f32) -> Option<Step> {
        let s = self.bsdf.sample(self.wo, u, choice)?;
        self.step(s.wi, s.value, s.pdf)
    }

    /// The reflected or transmitted way on of a mirror or glass.
    pub(crate) fn delta(&self, through: bool) -> Option<Step> {
        let s = self.bsdf.delta(self.wo, through)?;
        self.step(s.wi, s.value, s.pdf)
    }

    /// A way on, unless the true face is in its way or it carries nothing.
    pub(crate) fn step(&self, wi: Vec3A, value: Vec3A, pdf: f32) -> Option<Step> {
        let direction = self.basis.world(wi);
        let through = wi.z < 0.0;
        let behind = direction.dot(self.normal) <= 0.0;
        (through == behind && value.max_element() > 0.0).then_some(Step {
            direction,
            wi,
            value,
            pdf,
        })
    }

    /// The ray that leaves in a direction, started a little off the face.
    pub(crate) fn leave(&self, direction: Vec3A) -> Ray {
        Ray {
            origin: offset(self.surface.position, self.normal, direction),
            direction,
        }
    }

    /// The ray towards a point, and the distance to just before it.
    pub(crate) fn towards(&self, point: Vec3A) -> (Ray, f32) {
        let straight = point - self.surface.position;
        let origin = offset(self.surface.position, self.normal, straight);
        let d = point - origin;
        let length = d.length();
        (
            Ray {
                origin,
                direction: d / length.max(f32::MIN_POSITIVE),
            },
            length * (1.0 - 1e-4),
        )
    }
}

/// A point moved off its face by more than the rounding of its coordinates, to the side of the direction.
fn offset(position: Vec3A, normal: Vec3A, direction: Vec3A) -> Vec3A {
    let far = 4e-5 * (0.1 + position.abs().max_element());
    position + normal * far.copysign(direction.dot(normal))
}
