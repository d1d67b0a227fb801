//! Triangle meshes and the shapes the scenes are built from.

use glam::{Affine3A, Quat, Vec2, Vec3, Vec3A};
use std::f32::consts::{PI, TAU};

/// Triangles of one material.
#[derive(Debug, Clone, Default)]
pub struct Mesh {
    /// Corners.
    pub positions: Vec<Vec3A>,
    /// Shading normals, one for each corner, or none for flat faces.
    pub normals: Vec<Vec3A>,
    /// Texture coordinates, one for each corner, or none.
    pub uvs: Vec<Vec2>,
    /// Three corners for each triangle, counter-clockwise from the front.
    pub triangles: Vec<[u32; 3]>,
}

impl Mesh {
    /// A parallelogram. Its front looks along `u × v`; texture coordinates run 0 … 1 along both edges.
    pub fn quad(corner: [f32; 3], u: [f32; 3], v: [f32; 3]) -> Self {
        let (c, u, v) = (Vec3A::from(corner), Vec3A::from(u), Vec3A::from(v));
        Self {
            positions: vec![c, c + u, c + u + v, c + v],
            normals: Vec::new(),
            uvs: vec![Vec2::ZERO, Vec2::X, Vec2::ONE, Vec2::Y],
            triangles: vec![[0, 1, 2], [0, 2, 3]],
        }
    }

    /// A box between two corners. Texture coordinates are lengths in scene units on every face.
    pub fn cuboid(low: [f32; 3], high: [f32; 3]) -> Self {
        let (l, h) = (Vec3A::from(low), Vec3A::from(high));
        let d = h - l;
        let (x, y, z) = (Vec3A::X * d.x, Vec3A::Y * d.y, Vec3A::Z * d.z);
        let mut mesh = Self::default();
        for (corner, u, v) in [
            (l + z, x, y),
            (l + x, -x, y),
            (l, z, y),
            (l + x + z, -z, y),
            (l + y + z, x, -z),
            (l, x, z),
        ] {
            let face = Self::quad(corner.into(), u.into(), v.into());
            mesh.append(face.scale_uv(Vec2::new(u.length(), v.length())));
        }
        mesh
    }

    /// A surface of revolution around the `y` axis from a profile of `(radius, height)`, bottom to top, with smooth
    /// normals around and across. Texture coordinates run 0 … 1 around and along the profile.
    pub fn lathe(profile: &[Vec2], segments: usize) -> Self {
        let mut mesh = Self::default();
        if profile.len() < 2 || segments < 3 {
            return mesh;
        }
        let last = profile.len() - 1;
        let row = segments as u32 + 1;
        for (i, p) in profile.iter().enumerate() {
            let along = profile[(i + 1).min(last)] - profile[i.saturating_sub(1)];
            for s in 0..=segments {
                let turn = s as f32 / segments as f32;
                let (sin, cos) = (turn * TAU).sin_cos();
                mesh.positions.push(Vec3A::new(p.x * cos, p.y, -p.x * sin));
                let normal = Vec3A::new(along.y * cos, -along.x, -along.y * sin);
                mesh.normals.push(normal.normalize_or(Vec3A::Y));
                mesh.uvs.push(Vec2::new(turn, i as f32 / last as f32));
                if i < last && s < segments {
                    let a = i as u32 * row + s as u32;
                    mesh.triangles.push([a, a + 1, a + row + 1]);
                    mesh.triangles.push([a, a + row + 1, a + row]);
                }
            }
        }
        mesh
    }

    /// A sphere around the origin with smooth normals.
    pub fn sphere(radius: f32, segments: usize) -> Self {
        let rings = (segments / 2).max(2);
        let profile: Vec<Vec2> = (0..=rings)
            .map(|i| {
                let angle = PI * i as f32 / rings as f32;
                Vec2::new(angle.sin().max(0.0), -angle.cos()) * radius
            })
            .collect();
        let mut mesh = Self::lathe(&profile, segments);
        // The exact normals; the lathe's are differences along the profile.
        mesh.normals = mesh.positions.iter().map(|p| *p / radius).collect();
        mesh
    }

    /// The mesh with its texture coordinates multiplied.
    #[must_use]
    pub fn scale_uv(mut self, scale: Vec2) -> Self {
        for uv in &mut self.uvs {
            *uv *= scale;
        }
        self
    }

    /// The mesh with its texture coordinates moved.
    #[must_use]
    pub fn move_uv(mut self, by: Vec2) -> Self {
        for uv in &mut self.uvs {
            *uv += by;
        }
        self
    }

    /// The mesh moved.
    #[must_use]
    pub fn moved(self, by: [f32; 3]) -> Self {
        self.placed(Affine3A::from_translation(by.into()))
    }

    /// The mesh turned around an axis through the origin, degrees counter-clockwise.
    #[must_use]
    pub fn turned(self, axis: Vec3, degrees: f32) -> Self {
        self.placed(Affine3A::from_quat(Quat::from_axis_angle(
            axis.normalize_or(Vec3::Y),
            degrees.to_radians(),
        )))
    }

    /// The mesh under an affine map.
    #[must_use]
    pub fn placed(mut self, map: Affine3A) -> Self {
        let normals = map.matrix3.inverse().transpose();
        for p in &mut self.positions {
            *p = map.transform_point3a(*p);
        }
        for n in &mut self.normals {
            *n = (normals * *n).normalize_or(Vec3A::Y);
        }
        self
    }

    /// Adds the triangles of another mesh. Both must agree on having normals and texture coordinates: where only one
    /// has them, flat normals and zero coordinates stand in.
    pub fn append(&mut self, other: Self) {
        if self.positions.is_empty() {
            *self = other;
            return;
        }
        let base = self.positions.len() as u32;
        let mut other = other;
        if self.normals.is_empty() != other.normals.is_empty() {
            self.flatten();
            other.flatten();
            return self.append(other);
        }
        if self.uvs.is_empty() != other.uvs.is_empty() {
            self.uvs.resize(self.positions.len(), Vec2::ZERO);
            other.uvs.resize(other.positions.len(), Vec2::ZERO);
        }
        self.positions.extend(other.positions);
        self.normals.extend(other.normals);
        self.uvs.extend(other.uvs);
        self.triangles
            .extend(other.triangles.iter().map(|t| t.map(|i| i + base)));
    }

    /// Gives every triangle its own corners with the face's normal, if there are no normals.
    fn flatten(&mut self) {
        if !self.normals.is_empty() {
            return;
        }
        let old = std::mem::take(self);
        for (i, t) in old.triangles.iter().enumerate() {
            let [a, b, c] = t.map(|i| old.positions[i as usize]);
            let normal = (b - a).cross(c - a).normalize_or(Vec3A::Y);
            self.positions.extend([a, b, c]);
            self.normals.extend([normal; 3]);
            if !old.uvs.is_empty() {
                self.uvs.extend(t.map(|i| old.uvs[i as usize]));
            }
            let first = 3 * i as u32;
            self.triangles.push([first, first + 1, first + 2]);
        }
    }
}
