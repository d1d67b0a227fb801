//! Glass and mirrors on a table: caustics and long chains of specular bounces.

use super::pattern::planks;
use crate::{Camera, Material, Mesh, Sky, Texture, World};
use glam::{Vec2, Vec3, Vec3A};

/// The world.
pub(super) fn world() -> World {
    let mut world = World::new(Camera::pinhole([0.4, 1.9, 4.7], [0.0, 0.55, 0.0], 34.0));
    world.sky = Some(Sky::uniform([0.22, 0.25, 0.3]));
    world.add(
        Mesh::quad([-6.0, 0.0, 4.0], [12.0, 0.0, 0.0], [0.0, 0.0, -7.0])
            .scale_uv(Vec2::new(12.0, 7.0)),
        Material::diffuse(Texture::Pattern(planks)),
    );
    world.add(
        Mesh::quad([-6.0, 0.0, -3.0], [12.0, 0.0, 0.0], [0.0, 6.0, 0.0]),
        Material::diffuse([0.55, 0.56, 0.52]),
    );
    let clear = |color: [f32; 3]| Material::Glass {
        color: color.into(),
        ior: 1.5,
    };
    world.add(
        Mesh::sphere(0.55, 160).moved([-1.15, 0.552, 0.1]),
        clear([1.0, 1.0, 1.0]),
    );
    world.add(
        vase().moved([0.35, 0.002, -0.35]),
        clear([0.80, 0.95, 0.88]),
    );
    world.add(
        Mesh::cuboid([-0.3, 0.002, -0.3], [0.3, 0.602, 0.3])
            .turned(Vec3::Y, 28.0)
            .moved([0.1, 0.0, 0.95]),
        clear([0.99, 0.90, 0.80]),
    );
    world.add(
        Mesh::sphere(0.4, 128).moved([1.35, 0.4, 0.35]),
        Material::Mirror(Vec3A::new(0.93, 0.93, 0.95)),
    );
    world.add(
        Mesh::sphere(0.17, 64).moved([0.1, 0.19, 0.95]),
        Material::diffuse([0.7, 0.12, 0.06]),
    );
    for (x, z, color) in [
        (-0.55, 1.35, [0.65, 0.1, 0.08]),
        (0.85, 1.3, [0.08, 0.2, 0.55]),
        (-1.8, -0.9, [0.7, 0.55, 0.1]),
    ] {
        world.add(
            Mesh::sphere(0.16, 64).moved([x, 0.16, z]),
            Material::Coated {
                color: color.into(),
                alpha: 0.1,
            },
        );
    }
    world.add(
        Mesh::cuboid([-0.7, 0.0, -0.02], [0.7, 1.5, 0.02])
            .turned(Vec3::X, -10.0)
            .turned(Vec3::Y, 38.0)
            .moved([-1.75, 0.02, -1.6]),
        Material::Mirror(Vec3A::splat(0.9)),
    );
    world.add_light(
        Mesh::quad([-0.35, -0.35, 0.0], [0.7, 0.0, 0.0], [0.0, 0.7, 0.0])
            .turned(Vec3::X, 68.0)
            .turned(Vec3::Y, -35.0)
            .moved([2.1, 3.9, -1.6]),
        [48.0, 44.0, 38.0],
    );
    world
}

/// A thick-walled vase: up the outside, over the rim and down the inside, so that the surface is closed.
fn vase() -> Mesh {
    let outer = |t: f32| 0.30 + 0.16 * (t * 4.4 - 0.5).sin() * (1.0 - 0.25 * t);
    let (high, wall, steps) = (1.25, 0.045, 48);
    let mut profile = vec![Vec2::new(0.0, 0.0)];
    for i in 0..=steps {
        let t = i as f32 / steps as f32;
        profile.push(Vec2::new(outer(t), high * t.max(0.012)));
    }
    for i in 1..6 {
        let a = std::f32::consts::PI * i as f32 / 6.0;
        profile.push(Vec2::new(
            outer(1.0) - wall * 0.5 * (1.0 - a.cos()),
            high + wall * 0.5 * a.sin(),
        ));
    }
    for i in (3..=steps).rev() {
        let t = i as f32 / steps as f32;
        profile.push(Vec2::new(outer(t) - wall, high * t));
    }
    profile.push(Vec2::new(0.0, high * 3.0 / steps as f32));
    Mesh::lathe(&profile, 96)
}
