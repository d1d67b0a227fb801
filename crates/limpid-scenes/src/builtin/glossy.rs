//! Metal spheres from near-mirror to dull on a polished floor, under lights from small and bright to large and dim.

use super::pattern::checker;
use crate::{Camera, Material, Mesh, Sky, Texture, World};
use glam::{Vec2, Vec3};

/// The world.
pub(super) fn world() -> World {
    let mut camera = Camera::pinhole([0.0, 2.3, 8.6], [0.0, 0.85, -0.3], 33.0);
    camera.lens = 0.035;
    camera.focus = 8.5;
    let mut world = World::new(camera);
    world.add(
        Mesh::quad([-14.0, 0.0, 8.0], [28.0, 0.0, 0.0], [0.0, 0.0, -14.0])
            .scale_uv(Vec2::new(35.0, 17.5)),
        Material::Coated {
            color: Texture::Pattern(checker),
            alpha: 0.12,
        },
    );
    world.add(
        Mesh::quad([-14.0, 0.0, -4.5], [28.0, 0.0, 0.0], [0.0, 9.0, 0.0]),
        Material::diffuse([0.34, 0.38, 0.45]),
    );
    let spheres = [
        (0.02, [0.95, 0.93, 0.88]),
        (0.08, [1.0, 0.78, 0.34]),
        (0.18, [0.95, 0.64, 0.54]),
        (0.35, [0.56, 0.68, 0.90]),
        (0.6, [0.55, 0.80, 0.50]),
    ];
    for (i, (alpha, color)) in spheres.into_iter().enumerate() {
        let x = (i as f32 - 2.0) * 1.55;
        world.add(
            Mesh::sphere(0.7, 128).moved([x, 0.7, -0.15 * (i as f32 - 2.0).powi(2)]),
            Material::Rough {
                color: color.into(),
                alpha,
            },
        );
    }
    for (i, (x, color)) in [
        (-2.3, [0.6, 0.07, 0.05]),
        (-0.75, [0.05, 0.22, 0.5]),
        (0.8, [0.7, 0.5, 0.08]),
        (2.3, [0.08, 0.35, 0.14]),
    ]
    .into_iter()
    .enumerate()
    {
        world.add(
            Mesh::sphere(0.28, 64).moved([x, 0.28, 1.1]),
            Material::Coated {
                color: color.into(),
                alpha: [0.05, 0.12, 0.25, 0.45][i],
            },
        );
    }
    for (x, size, power) in [
        (-3.3_f32, 0.2_f32, 22.0_f32),
        (-1.3, 0.4, 22.0),
        (1.1, 0.8, 26.0),
        (3.9, 1.6, 32.0),
    ] {
        let radiance = power / (size * size);
        let panel = Mesh::quad(
            [-size / 2.0, -size / 2.0, 0.0],
            [size, 0.0, 0.0],
            [0.0, size, 0.0],
        )
        .turned(Vec3::X, 50.0)
        .moved([x, 4.6, -1.6]);
        world.add_light(panel, [radiance, radiance * 0.93, radiance * 0.82]);
    }
    world.sky = Some(Sky::uniform([0.16, 0.18, 0.22]));
    world
}
