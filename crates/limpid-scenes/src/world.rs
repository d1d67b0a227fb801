//! The parts of a scene, before it is prepared for rendering.

use crate::{Camera, Material, Mesh, Sky};
use glam::Vec3A;

/// A mesh with its material; a light, if it emits.
#[derive(Debug, Clone)]
pub struct Object {
    /// Its triangles.
    pub mesh: Mesh,
    /// How it scatters light. Objects that emit must be diffuse.
    pub material: Material,
    /// Radiance that leaves the front of every triangle; zero for most objects.
    pub emission: Vec3A,
}

/// Camera, objects and sky at one moment. The unit of length is the scene's own; `y` is up.
///
/// ```
/// use limpid_scenes::{Camera, Material, Mesh, Scene, Sky, World};
/// let mut world = World::new(Camera::pinhole([0.0, 1.0, 4.0], [0.0, 1.0, 0.0], 40.0));
/// world.add(Mesh::sphere(1.0, 32).moved([0.0, 1.0, 0.0]), Material::diffuse([0.8, 0.3, 0.2]));
/// world.sky = Some(Sky::uniform([1.0; 3]));
/// let scene = Scene::new(&world, None)?;
/// # Ok::<(), limpid::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct World {
    /// The camera.
    pub camera: Camera,
    /// The objects; the number of an object in the id layer is its index here, counted from one.
    pub objects: Vec<Object>,
    /// Light from outside.
    pub sky: Option<Sky>,
}

impl World {
    /// An empty, dark world.
    pub fn new(camera: Camera) -> Self {
        Self {
            camera,
            objects: Vec::new(),
            sky: None,
        }
    }

    /// Adds an object.
    pub fn add(&mut self, mesh: Mesh, material: Material) {
        self.objects.push(Object {
            mesh,
            material,
            emission: Vec3A::ZERO,
        });
    }

    /// Adds a light: every triangle emits this radiance from its front.
    pub fn add_light(&mut self, mesh: Mesh, radiance: [f32; 3]) {
        self.objects.push(Object {
            mesh,
            material: Material::diffuse([0.5; 3]),
            emission: radiance.into(),
        });
    }
}
