//! A world prepared for rendering: triangles in an acceleration structure, lights that can be sampled.

use crate::camera::{Camera, Ray, View};
use crate::light::Lights;
use crate::material::Material;
use crate::world::World;
use glam::{Vec2, Vec3A};
use limpid::{Error, Result, Size};
use obvhs::BvhBuildParams;
use obvhs::cwbvh::CwBvh;
use obvhs::cwbvh::builder::build_cwbvh_from_tris;
use obvhs::ray::{Ray as BvhRay, RayHit};
use std::time::Duration;

/// A scene at one moment, ready to be rendered, with what is needed to know where everything was a frame earlier.
#[derive(Clone)]
pub struct Scene {
    pub(crate) camera: Camera,
    pub(crate) previous_camera: Camera,
    pub(crate) lights: Lights,
    parts: Vec<Part>,
    corners: Vec<Corner>,
    /// Triangles and faces in the order of the acceleration structure.
    triangles: Vec<Triangle>,
    faces: Vec<Face>,
    bvh: Option<CwBvh>,
}

#[derive(Clone)]
struct Part {
    material: Material,
    emission: Vec3A,
    smooth: bool,
}

#[derive(Clone, Copy)]
struct Corner {
    normal: Vec3A,
    previous: Vec3A,
    uv: Vec2,
}

#[derive(Clone, Copy)]
struct Face {
    part: u32,
    corners: [u32; 3],
}

#[derive(Clone, Copy)]
struct Triangle {
    origin: Vec3A,
    u: Vec3A,
    v: Vec3A,
}

/// The point where a ray hit a triangle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    pub(crate) distance: f32,
    face: u32,
    at: Vec2,
}

/// A point of a surface.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surface {
    pub(crate) position: Vec3A,
    /// Of the triangle, unit length, on its front.
    pub(crate) normal: Vec3A,
    /// Interpolated between corners.
    pub(crate) shading: Vec3A,
    pub(crate) uv: Vec2,
    pub(crate) part: u32,
    face: u32,
    at: Vec2,
}

impl Scene {
    /// Prepares a world. `previous` is the world one frame earlier, for motion vectors; it must contain the same objects
    /// with the same triangles. Without it, nothing moves.
    pub fn new(world: &World, previous: Option<&World>) -> Result<Self> {
        let mut parts = Vec::new();
        let mut corners = Vec::new();
        let mut faces = Vec::new();
        let mut shapes = Vec::new();
        for (number, object) in world.objects.iter().enumerate() {
            let mesh = &object.mesh;
            let count = mesh.positions.len();
            let fault = |what: &str| Error::input(format!("object {}: {what}", number + 1));
            if mesh.positions.iter().any(|p| !p.is_finite()) {
                return Err(fault("a corner is not a finite point"));
            }
            if mesh
                .triangles
                .iter()
                .flatten()
                .any(|i| *i as usize >= count)
            {
                return Err(fault("a triangle uses a corner that does not exist"));
            }
            let fits = |len: usize| len == 0 || len == count;
            if !fits(mesh.normals.len()) || !fits(mesh.uvs.len()) {
                return Err(fault(
                    "normals and texture coordinates must be given for all corners or none",
                ));
            }
            let emits = object.emission.max_element() > 0.0;
            if emits && !matches!(object.material, Material::Diffuse(_)) {
                return Err(fault("an object that emits light must be diffuse"));
            }
            let before = match previous {
                Some(p) => match p.objects.get(number) {
                    Some(o) if o.mesh.positions.len() == count => &o.mesh.positions,
                    _ => return Err(fault("it had other triangles in the previous frame")),
                },
                None => &mesh.positions,
            };
            let first = corners.len() as u32;
            for i in 0..count {
                corners.push(Corner {
                    normal: mesh.normals.get(i).copied().unwrap_or(Vec3A::Y),
                    previous: before[i],
                    uv: mesh.uvs.get(i).copied().unwrap_or(Vec2::ZERO),
                });
            }
            for t in &mesh.triangles {
                let [v0, v1, v2] = t.map(|i| mesh.positions[i as usize]);
                // Triangles without an area can neither be met nor emit.
                if (v1 - v0).cross(v2 - v0).length_squared() == 0.0 {
                    continue;
                }
                shapes.push(obvhs::triangle::Triangle { v0, v1, v2 });
                faces.push(Face {
                    part: parts.len() as u32,
                    corners: t.map(|i| i + first),
                });
            }
            parts.push(Part {
                material: object.material.clone(),
                emission: object.emission.max(Vec3A::ZERO),
                smooth: !mesh.normals.is_empty(),
            });
        }
        let bvh = (!shapes.is_empty()).then(|| {
            build_cwbvh_from_tris(
                &shapes,
                BvhBuildParams::medium_build(),
                &mut Duration::default(),
            )
        });
        let order: Vec<usize> = bvh
            .iter()
            .flat_map(|b| &b.primitive_indices)
            .map(|i| *i as usize)
            .collect();
        let faces: Vec<Face> = order.iter().map(|i| faces[*i]).collect();
        let triangles: Vec<Triangle> = order
            .iter()
            .map(|i| shapes[*i])
            .map(|s| Triangle {
                origin: s.v0,
                u: s.v1 - s.v0,
                v: s.v2 - s.v0,
            })
            .collect();
        let emitters = faces
            .iter()
            .zip(&triangles)
            .enumerate()
            .filter_map(|(i, (f, t))| {
                let emission = parts[f.part as usize].emission;
                let area = 0.5 * t.u.cross(t.v).length();
                (emission.max_element() > 0.0).then_some((i as u32, area * emission.max_element()))
            });
        let lights = Lights::new(emitters, world.sky);
        Ok(Self {
            camera: world.camera,
            previous_camera: previous.map_or(world.camera, |p| p.camera),
            lights,
            parts,
            corners,
            triangles,
            faces,
            bvh,
        })
    }

    /// Number of triangles.
    pub fn triangles(&self) -> usize {
        self.triangles.len()
    }

    /// The camera for a picture size, now and a frame earlier.
    pub(crate) fn views(&self, size: Size) -> [View; 2] {
        [self.camera.view(size), self.previous_camera.view(size)]
    }

    pub(crate) fn intersect(&self, ray: &Ray) -> Option<Hit> {
        let bvh = self.bvh.as_ref()?;
        let mut found = RayHit::none();
        let mut at = Vec2::ZERO;
        let ray = BvhRay::new_inf(ray.origin, ray.direction);
        bvh.ray_traverse(ray, &mut found, |ray, i| {
            match self.triangles[i].meet(ray.origin, ray.direction) {
                Some((t, uv)) if t < ray.tmax => {
                    at = uv;
                    t
                }
                _ => f32::INFINITY,
            }
        });
        found.t.is_finite().then_some(Hit {
            distance: found.t,
            face: found.primitive_id,
            at,
        })
    }

    /// Whether nothing blocks the ray up to `distance`.
    pub(crate) fn free(&self, ray: &Ray, distance: f32) -> bool {
        let Some(bvh) = &self.bvh else { return true };
        let ray = BvhRay::new(ray.origin, ray.direction, 0.0, distance);
        bvh.ray_traverse_miss(ray, |ray, i| {
            self.triangles[i]
                .meet(ray.origin, ray.direction)
                .map_or(f32::INFINITY, |(t, _)| t)
        })
    }

    pub(crate) fn surface(&self, hit: &Hit) -> Surface {
        self.point(hit.face, hit.at)
    }

    /// The point of a triangle at barycentric coordinates.
    pub(crate) fn point(&self, face: u32, at: Vec2) -> Surface {
        let t = &self.triangles[face as usize];
        let f = &self.faces[face as usize];
        let [a, b, c] = f.corners.map(|i| &self.corners[i as usize]);
        let w = 1.0 - at.x - at.y;
        let normal = t.u.cross(t.v).normalize();
        let shading = if self.parts[f.part as usize].smooth {
            (a.normal * w + b.normal * at.x + c.normal * at.y).normalize_or(normal)
        } else {
            normal
        };
        Surface {
            position: t.origin + t.u * at.x + t.v * at.y,
            normal,
            shading,
            uv: a.uv * w + b.uv * at.x + c.uv * at.y,
            part: f.part,
            face,
            at,
        }
    }

    /// Where a point of a surface was a frame earlier.
    pub(crate) fn previous_position(&self, s: &Surface) -> Vec3A {
        let f = &self.faces[s.face as usize];
        let [a, b, c] = f.corners.map(|i| self.corners[i as usize].previous);
        // As positions are made, so that what stands still has no motion at all.
        a + (b - a) * s.at.x + (c - a) * s.at.y
    }

    pub(crate) fn material(&self, s: &Surface) -> &Material {
        &self.parts[s.part as usize].material
    }

    /// Radiance a point emits if seen from its front; zero for what is not a light.
    pub(crate) fn emission(&self, s: &Surface) -> Vec3A {
        self.parts[s.part as usize].emission
    }
}

impl Triangle {
    /// Möller and Trumbore's test; the edges belong to both neighbours, so that nothing slips between them.
    fn meet(&self, origin: Vec3A, direction: Vec3A) -> Option<(f32, Vec2)> {
        let p = direction.cross(self.v);
        let scale = 1.0 / self.u.dot(p);
        let s = origin - self.origin;
        let u = s.dot(p) * scale;
        let q = s.cross(self.u);
        let v = direction.dot(q) * scale;
        let t = self.v.dot(q) * scale;
        // NaN, from a ray in the triangle's plane, fails the test.
        (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t > 0.0).then(|| (t, Vec2::new(u, v)))
    }
}
