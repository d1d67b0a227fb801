//! A corridor with lamps: the camera walks, a ball rolls and a crate turns. One frame is a twenty-fourth of a second.

use super::pattern::{carpet, checker, clouds, marble, wood};
use crate::{Camera, Material, Mesh, Texture, World};
use glam::{Vec2, Vec3, Vec3A};

const HALF: f32 = 1.3;
const HIGH: f32 = 2.7;
const LONG: f32 = 18.0;

/// The world at a frame.
pub(super) fn world(frame: f32) -> World {
    let walked = 0.055 * frame;
    let sway = 0.05 * (frame * 0.22).sin();
    let position = [
        0.35 + sway,
        1.55 + 0.02 * (frame * 0.44).cos(),
        7.0 - walked,
    ];
    let target = [-0.1 + 0.5 * (frame * 0.06).sin(), 1.25, position[2] - 4.0];
    let mut world = World::new(Camera::pinhole(position, target, 55.0));
    walls(&mut world);
    furniture(&mut world);
    // The ball rolls from left to right and back, touching the floor: it turns by the way it goes.
    let x = 0.75 * (frame * 0.09).sin();
    let z = 3.4 - 0.02 * frame;
    world.add(
        Mesh::sphere(0.26, 64)
            .scale_uv(Vec2::new(8.0, 4.0))
            .turned(Vec3::Z, -(x / 0.26).to_degrees())
            .moved([x, 0.26, z]),
        Material::Coated {
            color: Texture::Pattern(ball),
            alpha: 0.15,
        },
    );
    world.add(
        Mesh::cuboid([-0.25, -0.25, -0.25], [0.25, 0.25, 0.25])
            .scale_uv(Vec2::splat(2.0))
            .turned(Vec3::new(0.3, 1.0, 0.2), 4.0 * frame)
            .moved([-0.55, 1.0 + 0.08 * (frame * 0.15).sin(), 1.2]),
        Material::diffuse(Texture::Pattern(wood)),
    );
    world
}

fn ball(uv: Vec2) -> Vec3A {
    if (uv.x.floor() as i32).rem_euclid(2) == 0 {
        Vec3A::new(0.70, 0.09, 0.06)
    } else {
        Vec3A::new(0.80, 0.76, 0.66)
    }
}

fn plaster(uv: Vec2) -> Vec3A {
    let stain = 0.85 + 0.2 * clouds(uv * Vec2::new(1.5, 3.0));
    let panel = uv.y < 0.95;
    if panel && (uv.y > 0.9 || (uv.x * 1.4).fract() < 0.03) {
        return Vec3A::new(0.20, 0.12, 0.07);
    }
    if panel {
        Vec3A::new(0.22, 0.30, 0.26) * stain
    } else {
        Vec3A::new(0.72, 0.68, 0.58) * stain
    }
}

fn walls(world: &mut World) {
    let far = 8.0 - LONG;
    world.add(
        Mesh::quad([-HALF, 0.0, 8.0], [2.0 * HALF, 0.0, 0.0], [0.0, 0.0, -LONG])
            .scale_uv(Vec2::new(2.0 * HALF, LONG) * 2.0),
        Material::Coated {
            color: Texture::Pattern(checker),
            alpha: 0.18,
        },
    );
    world.add(
        Mesh::quad([-0.55, 0.006, 8.0], [1.1, 0.0, 0.0], [0.0, 0.0, -LONG])
            .scale_uv(Vec2::new(1.1, LONG)),
        Material::diffuse(Texture::Pattern(carpet)),
    );
    world.add(
        Mesh::quad([-HALF, HIGH, far], [2.0 * HALF, 0.0, 0.0], [0.0, 0.0, LONG]),
        Material::diffuse([0.75, 0.73, 0.70]),
    );
    for (corner, along, wide) in [
        ([-HALF, 0.0, 8.0], [0.0, 0.0, -LONG], LONG),
        ([HALF, 0.0, far], [0.0, 0.0, LONG], LONG),
        ([-HALF, 0.0, far], [2.0 * HALF, 0.0, 0.0], 2.0 * HALF),
        ([HALF, 0.0, 8.0], [-2.0 * HALF, 0.0, 0.0], 2.0 * HALF),
    ] {
        world.add(
            Mesh::quad(corner, along, [0.0, HIGH, 0.0]).scale_uv(Vec2::new(wide, HIGH)),
            Material::diffuse(Texture::Pattern(plaster)),
        );
    }
    for i in 0..6 {
        let z = 6.2 - 3.0 * i as f32;
        let warm = if i % 2 == 0 {
            [15.0, 12.5, 9.0]
        } else {
            [11.0, 12.5, 15.0]
        };
        world.add_light(
            Mesh::quad(
                [-0.3, HIGH - 0.03, z - 0.3],
                [0.6, 0.0, 0.0],
                [0.0, 0.0, 0.6],
            ),
            warm,
        );
    }
}

fn furniture(world: &mut World) {
    for i in 0..5 {
        let z = 5.2 - 3.0 * i as f32;
        let side = if i % 2 == 0 { -1.0 } else { 1.0 };
        door(world, side, z);
        // A picture across from each door.
        let tint = [
            [0.12, 0.25, 0.45],
            [0.5, 0.32, 0.1],
            [0.15, 0.35, 0.18],
            [0.45, 0.12, 0.2],
            [0.3, 0.3, 0.3],
        ][i as usize];
        let x = -side * (HALF - 0.02);
        world.add(
            Mesh::cuboid([x - 0.02, 1.3, z - 0.45], [x + 0.02, 1.95, z + 0.45]),
            Material::Rough {
                color: [0.8, 0.62, 0.3].into(),
                alpha: 0.3,
            },
        );
        let x = -side * (HALF - 0.045);
        world.add(
            Mesh::cuboid([x - 0.005, 1.36, z - 0.39], [x + 0.005, 1.89, z + 0.39]),
            Material::Coated {
                color: tint.into(),
                alpha: 0.05,
            },
        );
    }
    let profile: Vec<Vec2> = (0..=20)
        .map(|i| {
            let t = i as f32 / 20.0;
            Vec2::new(0.10 + 0.09 * (t * 5.0).sin().max(-0.6), 0.75 * t)
        })
        .collect();
    for z in [0.4, -5.6] {
        world.add(
            Mesh::lathe(&profile, 48).moved([HALF - 0.3, 0.0, z]),
            Material::Coated {
                color: Texture::Pattern(marble),
                alpha: 0.08,
            },
        );
    }
}

fn door(world: &mut World, side: f32, z: f32) {
    let x = side * (HALF - 0.03);
    world.add(
        Mesh::cuboid([x - 0.03, 0.0, z - 0.5], [x + 0.03, 2.1, z + 0.5]),
        Material::Coated {
            color: Texture::Pattern(upright),
            alpha: 0.25,
        },
    );
    world.add(
        Mesh::sphere(0.05, 32).moved([side * (HALF - 0.11), 1.0, z + 0.38]),
        Material::Rough {
            color: [0.9, 0.75, 0.4].into(),
            alpha: 0.15,
        },
    );
}

/// Wood with grain upwards.
fn upright(uv: Vec2) -> Vec3A {
    let panel = |v: f32, low: f32, high: f32| (low..high).contains(&v);
    let inset = panel(uv.x, 0.15, 0.85) && (panel(uv.y, 0.2, 0.95) || panel(uv.y, 1.1, 1.95));
    wood(Vec2::new(uv.y, uv.x)) * if inset { 0.75 } else { 1.0 }
}
