//! Directions: local frames and the maps from the unit square.

use glam::{Vec2, Vec3A};
use std::f32::consts::PI;

/// A right-handed orthonormal frame with `z` along a normal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Basis {
    x: Vec3A,
    y: Vec3A,
    z: Vec3A,
}

impl Basis {
    /// The frame around a unit vector (Duff 2017).
    pub(crate) fn around(z: Vec3A) -> Self {
        let sign = 1.0_f32.copysign(z.z);
        let a = -1.0 / (sign + z.z);
        let b = z.x * z.y * a;
        Self {
            x: Vec3A::new(1.0 + sign * z.x * z.x * a, sign * b, -sign * z.x),
            y: Vec3A::new(b, sign + z.y * z.y * a, -z.y),
            z,
        }
    }

    /// World to local.
    pub(crate) fn local(&self, v: Vec3A) -> Vec3A {
        Vec3A::new(v.dot(self.x), v.dot(self.y), v.dot(self.z))
    }

    /// Local to world.
    pub(crate) fn world(&self, v: Vec3A) -> Vec3A {
        self.x * v.x + self.y * v.y + self.z * v.z
    }
}

/// A point of the unit disk, uniform by area (Shirley's concentric map).
pub(crate) fn disk(u: Vec2) -> Vec2 {
    let p = u * 2.0 - Vec2::ONE;
    if p.x == 0.0 && p.y == 0.0 {
        return Vec2::ZERO;
    }
    let (radius, angle) = if p.x.abs() > p.y.abs() {
        (p.x, PI / 4.0 * (p.y / p.x))
    } else {
        (p.y, PI / 2.0 - PI / 4.0 * (p.x / p.y))
    };
    let (sin, cos) = angle.sin_cos();
    Vec2::new(radius * cos, radius * sin)
}

/// A direction of the upper hemisphere with density `cos / π`.
pub(crate) fn cosine_hemisphere(u: Vec2) -> Vec3A {
    let d = disk(u);
    Vec3A::new(d.x, d.y, (1.0 - d.length_squared()).max(0.0).sqrt())
}

/// Barycentric coordinates of a triangle, uniform by area.
pub(crate) fn triangle(u: Vec2) -> Vec2 {
    if u.x + u.y > 1.0 { Vec2::ONE - u } else { u }
}
