//! A shelf full of books: much small detail, lit by a lamp and a window.

use super::pattern::{hash, marble, planks, spine, wood};
use crate::{Camera, Material, Mesh, Sky, Texture, World};
use glam::{Vec2, Vec3};

const HALF: f32 = 1.15;
const BOARD: f32 = 0.025;
const STEP: f32 = 0.36;
const SHELVES: i32 = 5;
const DEEP: f32 = 0.3;

/// The world.
pub(super) fn world() -> World {
    let mut camera = Camera::pinhole([0.35, 1.0, 2.15], [0.02, 0.93, 0.15], 43.0);
    camera.lens = 0.008;
    camera.focus = 1.9;
    let mut world = World::new(camera);
    world.sky = Some(Sky::uniform([0.5, 0.58, 0.7]));
    shelf(&mut world);
    let mut number = 0;
    for row in 0..SHELVES - 1 {
        let floor = STEP * row as f32 + BOARD;
        let mut x = -HALF + 0.02;
        while x < HALF - 0.12 {
            number += 1;
            let pick = |n: i32| hash(number * 7 + n, row * 13 + 5);
            // Now and then something else stands on the shelf.
            if pick(9) > 0.94 && x < HALF - 0.3 {
                ornament(&mut world, pick(8), [x + 0.1, floor, 0.17]);
                x += 0.22;
                continue;
            }
            let wide = 0.016 + 0.04 * pick(1) * pick(2);
            let high = 0.19 + 0.11 * pick(3);
            let deep = 0.13 + 0.08 * pick(4);
            let lean = if pick(5) > 0.9 { 9.0 } else { 0.0 };
            book(&mut world, number, [wide, high, deep], ([x, floor], lean));
            x += wide + 0.0015 + if lean > 0.0 { high * 0.16 } else { 0.0 };
        }
    }
    world.add_light(
        Mesh::quad([-0.22, -0.16, 0.0], [0.44, 0.0, 0.0], [0.0, 0.32, 0.0])
            .turned(Vec3::X, 150.0)
            .turned(Vec3::Y, 25.0)
            .moved([-0.7, 2.25, 1.5]),
        [46.0, 36.0, 24.0],
    );
    world
}

fn shelf(world: &mut World) {
    let mut boards = Mesh::default();
    for i in 0..SHELVES {
        let y = STEP * i as f32;
        boards.append(
            Mesh::cuboid([-HALF, y, 0.0], [HALF, y + BOARD, DEEP])
                .move_uv(Vec2::new(i as f32 * 3.3, i as f32 * 0.7)),
        );
    }
    for x in [-HALF - BOARD, HALF] {
        boards.append(Mesh::cuboid([x, -0.1, 0.0], [x + BOARD, STEP * 5.0, DEEP]));
    }
    boards.append(Mesh::cuboid([-HALF, -0.1, -0.012], [HALF, STEP * 5.0, 0.0]));
    world.add(
        boards,
        Material::Coated {
            color: Texture::Pattern(wood),
            alpha: 0.3,
        },
    );
    world.add(
        Mesh::quad([-4.0, -0.1, 4.0], [8.0, 0.0, 0.0], [0.0, 0.0, -4.1])
            .scale_uv(Vec2::new(8.0, 4.1)),
        Material::Coated {
            color: Texture::Pattern(planks),
            alpha: 0.25,
        },
    );
    world.add(
        Mesh::quad([-4.0, -0.1, -0.02], [8.0, 0.0, 0.0], [0.0, 3.5, 0.0]),
        Material::diffuse([0.66, 0.62, 0.52]),
    );
}

/// A book with a printed spine and pale pages, its lower left corner at a point of the shelf, leaning by some degrees.
fn book(world: &mut World, number: i32, [w, h, d]: [f32; 3], ([x, y], lean): ([f32; 2], f32)) {
    let front = DEEP - 0.03 - 0.05 * hash(number, 77);
    // Leaning to the right around its lower left corner would sink the right one; lift it by that.
    let place = |m: Mesh| {
        m.turned(Vec3::Z, -lean)
            .moved([x, y + w * lean.to_radians().sin(), front])
    };
    let cover = Vec2::new(number as f32 + 0.1, 0.2);
    let mut mesh = Mesh::quad([0.0, 0.0, 0.0], [w, 0.0, 0.0], [0.0, h, 0.0])
        .scale_uv(Vec2::new(0.998, 1.0))
        .move_uv(Vec2::new(number as f32 + 0.001, 0.0));
    let board = w * 0.12;
    for left in [0.0, w - board] {
        let mut side = Mesh::cuboid([left, 0.0, -d], [left + board, h, -0.0005]);
        side.uvs.fill(cover);
        mesh.append(side);
    }
    world.add(
        place(mesh),
        Material::Coated {
            color: Texture::Pattern(spine),
            alpha: 0.35,
        },
    );
    let pages = Mesh::cuboid([board, 0.004, -d + 0.004], [w - board, h - 0.005, -0.001]);
    world.add(place(pages), Material::diffuse([0.74, 0.68, 0.55]));
}

fn ornament(world: &mut World, pick: f32, at: [f32; 3]) {
    if pick < 0.35 {
        let profile: Vec<Vec2> = (0..=24)
            .map(|i| {
                let t = i as f32 / 24.0;
                let r = 0.03 + 0.035 * (t * 3.4 + 0.35).sin().max(-0.5);
                Vec2::new(r.max(0.012), t * 0.22)
            })
            .collect();
        world.add(
            Mesh::lathe(&profile, 48)
                .scale_uv(Vec2::new(2.0, 2.0))
                .moved(at),
            Material::Coated {
                color: Texture::Pattern(marble),
                alpha: 0.06,
            },
        );
    } else if pick < 0.7 {
        world.add(
            Mesh::sphere(0.075, 64).moved([at[0], at[1] + 0.075, at[2]]),
            Material::Rough {
                color: [0.95, 0.72, 0.38].into(),
                alpha: 0.12,
            },
        );
    } else {
        world.add(
            Mesh::sphere(0.07, 64).moved([at[0], at[1] + 0.07, at[2]]),
            Material::Glass {
                color: Vec3::new(0.96, 0.99, 0.98).into(),
                ior: 1.5,
            },
        );
    }
}
