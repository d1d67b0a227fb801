//! A thin-lens camera.

use crate::basis::disk;
use glam::{Vec2, Vec3A};
use limpid::Size;

/// A camera. Pixels have their origin at the top left, `y` down; pixel `(0, 0)` covers 0 … 1 on both axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// Centre of the lens.
    pub position: Vec3A,
    /// The point at the centre of the image.
    pub target: Vec3A,
    /// The approximate up direction.
    pub up: Vec3A,
    /// Vertical field of view, degrees.
    pub field_of_view: f32,
    /// Radius of the lens, scene units; 0 is a pinhole.
    pub lens: f32,
    /// Distance of the plane in focus, scene units.
    pub focus: f32,
}

impl Camera {
    /// A pinhole camera.
    pub fn pinhole(position: [f32; 3], target: [f32; 3], field_of_view: f32) -> Self {
        Self {
            position: position.into(),
            target: target.into(),
            up: Vec3A::Y,
            field_of_view,
            lens: 0.0,
            focus: 1.0,
        }
    }

    /// Where a point appears in a picture of some size, if it is in front of the camera: pixels, `x` to the right, `y` down.
    pub fn project(&self, point: Vec3A, size: Size) -> Option<Vec2> {
        self.view(size).project(point)
    }

    /// The camera prepared for images of one size.
    pub(crate) fn view(&self, size: Size) -> View {
        let forward = (self.target - self.position).normalize_or(Vec3A::NEG_Z);
        let right = forward
            .cross(self.up)
            .try_normalize()
            .unwrap_or_else(|| forward.any_orthonormal_vector());
        let half = (self.field_of_view.to_radians() * 0.5).tan();
        View {
            position: self.position,
            forward,
            right,
            up: right.cross(forward),
            scale: 2.0 * half / size.height as f32,
            centre: Vec2::new(size.width as f32, size.height as f32) * 0.5,
            lens: self.lens.max(0.0),
            focus: self.focus.max(1e-6),
        }
    }
}

/// A ray; its direction has unit length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ray {
    /// Where it starts.
    pub(crate) origin: Vec3A,
    /// Where it goes.
    pub(crate) direction: Vec3A,
}

/// A camera with a picture size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    position: Vec3A,
    forward: Vec3A,
    right: Vec3A,
    up: Vec3A,
    scale: f32,
    centre: Vec2,
    lens: f32,
    focus: f32,
}

impl View {
    /// The ray through a point of the picture, from a point of the lens given by two numbers in 0 … 1.
    pub(crate) fn ray(&self, pixel: Vec2, lens: Vec2) -> Ray {
        let p = (pixel - self.centre) * self.scale;
        let direction = self.forward + self.right * p.x - self.up * p.y;
        if self.lens == 0.0 {
            return Ray {
                origin: self.position,
                direction: direction.normalize(),
            };
        }
        let l = disk(lens) * self.lens;
        let offset = self.right * l.x + self.up * l.y;
        Ray {
            origin: self.position + offset,
            direction: (direction * self.focus - offset).normalize(),
        }
    }

    /// Where a point appears, if it is in front of the camera.
    pub(crate) fn project(&self, point: Vec3A) -> Option<Vec2> {
        self.project_direction(point - self.position)
    }

    /// Where a point infinitely far away appears.
    pub(crate) fn project_direction(&self, d: Vec3A) -> Option<Vec2> {
        let z = d.dot(self.forward);
        (z > 1e-6 * d.length())
            .then(|| self.centre + Vec2::new(d.dot(self.right), -d.dot(self.up)) / (z * self.scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rays_project_back() {
        let mut camera = Camera::pinhole([1.0, 2.0, 3.0], [0.0, 0.5, -1.0], 40.0);
        camera.lens = 0.2;
        camera.focus = 5.0;
        let view = camera.view(Size::new(64, 48));
        let pixel = Vec2::new(10.25, 40.5);
        for lens in [Vec2::new(0.5, 0.5), Vec2::new(0.9, 0.1)] {
            let ray = view.ray(pixel, lens);
            // A point on the plane that is sharp appears where its ray started, from everywhere on the lens.
            let t = 5.0
                / ray
                    .direction
                    .dot((camera.target - camera.position).normalize());
            let seen = view.project(ray.origin + ray.direction * t).unwrap();
            assert!((seen - pixel).length() < 1e-3, "{seen}");
        }
        assert!(view.project(Vec3A::new(1.0, 2.5, 30.0)).is_none());
    }
}
