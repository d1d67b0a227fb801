//! The box of Cornell University, with a light of modest size: one unit is a metre.

use crate::{Camera, Material, Mesh, World};
use glam::Vec3;

/// The world.
pub(super) fn world() -> World {
    let mut world = World::new(Camera::pinhole([0.0, 1.0, 3.9], [0.0, 1.0, 0.0], 38.0));
    let white = || Material::diffuse([0.73, 0.71, 0.68]);
    world.add(
        Mesh::quad([-1.0, 0.0, 1.0], [2.0, 0.0, 0.0], [0.0, 0.0, -2.0]),
        white(),
    );
    world.add(
        Mesh::quad([-1.0, 2.0, -1.0], [2.0, 0.0, 0.0], [0.0, 0.0, 2.0]),
        white(),
    );
    world.add(
        Mesh::quad([-1.0, 0.0, -1.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]),
        white(),
    );
    world.add(
        Mesh::quad([-1.0, 0.0, 1.0], [0.0, 0.0, -2.0], [0.0, 2.0, 0.0]),
        Material::diffuse([0.61, 0.06, 0.05]),
    );
    world.add(
        Mesh::quad([1.0, 0.0, -1.0], [0.0, 0.0, 2.0], [0.0, 2.0, 0.0]),
        Material::diffuse([0.13, 0.43, 0.09]),
    );
    world.add(
        Mesh::cuboid([-0.3, 0.0, -0.3], [0.3, 1.2, 0.3])
            .turned(Vec3::Y, 17.0)
            .moved([-0.35, 0.0, -0.3]),
        white(),
    );
    world.add(
        Mesh::cuboid([-0.3, 0.0, -0.3], [0.3, 0.6, 0.3])
            .turned(Vec3::Y, -17.0)
            .moved([0.35, 0.0, 0.35]),
        white(),
    );
    world.add_light(
        Mesh::quad([-0.3, 1.998, -0.25], [0.6, 0.0, 0.0], [0.0, 0.0, 0.5]),
        [19.0, 14.5, 8.5],
    );
    world
}
