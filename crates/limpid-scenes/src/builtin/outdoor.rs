//! A meadow with trees and a hut: lit by the sky alone.

use super::pattern::{bricks, clouds, hash, meadow, planks};
use crate::{Camera, Material, Mesh, Sky, Sun, Texture, World};
use glam::{Vec2, Vec3, Vec3A};
use std::f32::consts::TAU;

const LEAVES: [[f32; 3]; 3] = [[0.16, 0.30, 0.06], [0.24, 0.34, 0.07], [0.36, 0.30, 0.06]];

/// The world.
pub(super) fn world() -> World {
    let mut world = World::new(Camera::pinhole([6.0, 3.2, 15.5], [0.3, 2.2, 0.0], 38.0));
    world.sky = Some(Sky {
        zenith: Vec3A::new(0.30, 0.50, 0.95),
        horizon: Vec3A::new(0.95, 0.93, 0.88),
        ground: Vec3A::new(0.25, 0.22, 0.18),
        sun: Some(Sun::new([-0.55, 0.55, 0.45], 2.0, [900.0, 780.0, 600.0])),
    });
    world.add(terrain(), Material::diffuse(Texture::Pattern(meadow)));
    hut(&mut world);
    for i in 0..14 {
        let pick = |n: i32| hash(i * 5 + 1, n);
        let (x, z) = if i < 3 {
            ([-5.2, 4.6, -1.6][i as usize], [1.5, -3.5, -7.0][i as usize])
        } else {
            (-22.0 + 44.0 * pick(1), -8.0 - 16.0 * pick(2))
        };
        tree(&mut world, i, [x, height(x, z), z], 0.8 + 0.6 * pick(3));
    }
    fence(&mut world);
    for i in 0..26 {
        let pick = |n: i32| hash(i + 50, n);
        let (x, z) = (-9.0 + 18.0 * pick(1), 2.0 + 9.0 * pick(2));
        let r = 0.08 + 0.25 * pick(3) * pick(3);
        let mut rock = Mesh::sphere(r, 20);
        for p in &mut rock.positions {
            *p *=
                0.75 + 0.5 * clouds(Vec2::new(p.x + p.y * 0.7, p.z + p.y * 0.4) * 3.0 / r.max(0.1));
            p.y *= 0.7;
        }
        rock.normals.clear();
        let stone = Material::diffuse([0.40, 0.38, 0.36]);
        world.add(rock.moved([x, height(x, z) + r * 0.2, z]), stone);
    }
    world
}

fn height(x: f32, z: f32) -> f32 {
    let hills = 3.0 * (clouds(Vec2::new(x, z) * 0.06 + Vec2::splat(3.0)) - 0.5);
    let far = ((-z - 6.0) * 0.12).max(0.0);
    hills * (0.35 + 0.06 * (x * x + z * z).sqrt()).min(1.0) + far * far * 0.6
}

fn terrain() -> Mesh {
    let (n, half) = (140_u32, 34.0);
    let mut mesh = Mesh::default();
    let at = |i: u32| -half + 2.0 * half * i as f32 / n as f32;
    for j in 0..=n {
        for i in 0..=n {
            let (x, z) = (at(i), at(j));
            let e = 0.2;
            let slope =
                |dx: f32, dz: f32| (height(x + dx, z + dz) - height(x - dx, z - dz)) / (2.0 * e);
            mesh.positions.push(Vec3A::new(x, height(x, z), z));
            mesh.normals
                .push(Vec3A::new(-slope(e, 0.0), 1.0, -slope(0.0, e)).normalize());
            mesh.uvs.push(Vec2::new(x, z));
            if i < n && j < n {
                let a = j * (n + 1) + i;
                let b = a + n + 1;
                mesh.triangles.push([a, b, b + 1]);
                mesh.triangles.push([a, b + 1, a + 1]);
            }
        }
    }
    mesh
}

/// A trunk and a crown of leaves.
fn tree(world: &mut World, number: i32, at: [f32; 3], scale: f32) {
    let trunk: Vec<Vec2> = (0..=10)
        .map(|i| {
            let t = i as f32 / 10.0;
            Vec2::new(0.22 * (1.0 - t).powi(3) + 0.13 * (1.0 - 0.7 * t), 3.4 * t) * scale
        })
        .collect();
    world.add(
        Mesh::lathe(&trunk, 14).moved(at),
        Material::diffuse([0.20, 0.14, 0.09]),
    );
    let mut crown = Mesh::default();
    for i in 0..2600 {
        let pick = |n: i32| hash(number * 9973 + i, n);
        // Blobs of leaves around branch ends, not a ball.
        let blob = (pick(0) * 9.0) as i32;
        let turn = TAU * hash(blob + number * 31, 4);
        let out = 0.9 * hash(blob + number * 31, 5);
        let centre = Vec3::new(
            out * turn.cos(),
            3.0 + 1.6 * hash(blob + number * 31, 6),
            out * turn.sin(),
        );
        let (z, a) = (pick(1) * 2.0 - 1.0, TAU * pick(2));
        let ring = (1.0 - z * z).sqrt();
        let radius = 0.85 * pick(3).powf(0.4);
        let p = (centre + Vec3::new(ring * a.cos(), z * 0.8, ring * a.sin()) * radius) * scale;
        let size = (0.07 + 0.06 * pick(4)) * scale;
        let leaf = Mesh::quad(
            [-size, -size * 0.6, 0.0],
            [2.0 * size, 0.0, 0.0],
            [0.0, 1.2 * size, 0.0],
        )
        .turned(Vec3::X, 360.0 * pick(5))
        .turned(Vec3::Y, 360.0 * pick(6))
        .moved((p + Vec3::from(at)).to_array());
        crown.append(leaf);
    }
    world.add(
        crown,
        Material::diffuse(LEAVES[number.unsigned_abs() as usize % 3]),
    );
}

fn hut(world: &mut World) {
    let y = height(0.8, 0.0) - 0.3;
    let (w, d, wall, ridge) = (2.2, 1.7, 2.5, 3.9);
    world.add(
        Mesh::cuboid([-w, 0.0, -d], [w, wall, d])
            .scale_uv(Vec2::new(4.0, 6.0))
            .moved([0.8, y, 0.0]),
        Material::diffuse(Texture::Pattern(bricks)),
    );
    let (eave, over) = (wall - 0.12, 0.3);
    let rise = ridge - eave;
    for side in [-1.0_f32, 1.0] {
        let corner = if side < 0.0 {
            [w + over, eave, -d - over]
        } else {
            [-w - over, eave, d + over]
        };
        let along = [side * (2.0 * w + 2.0 * over), 0.0, 0.0];
        world.add(
            Mesh::quad(corner, along, [0.0, rise, -side * (d + over)])
                .scale_uv(Vec2::new(5.0, 2.5))
                .moved([0.8, y, 0.0]),
            Material::diffuse(Texture::Pattern(planks)),
        );
    }
    let gable = |x: f32, front: bool| Mesh {
        positions: vec![
            Vec3A::new(x, wall, if front { d } else { -d }),
            Vec3A::new(x, wall, if front { -d } else { d }),
            Vec3A::new(x, ridge - 0.25, 0.0),
        ],
        normals: Vec::new(),
        uvs: vec![Vec2::ZERO, Vec2::X * 14.0, Vec2::new(7.0, 7.0)],
        triangles: vec![[0, 1, 2]],
    };
    for mesh in [gable(w, true), gable(-w, false)] {
        world.add(
            mesh.moved([0.8, y, 0.0]),
            Material::diffuse(Texture::Pattern(bricks)),
        );
    }
    for (x, low, wide, high, color) in [
        (-0.5_f32, 0.3_f32, 0.9_f32, 1.9_f32, [0.22, 0.10, 0.05]),
        (-1.75, 1.1, 0.8, 0.8, [0.05, 0.07, 0.09]),
        (0.95, 1.1, 0.8, 0.8, [0.05, 0.07, 0.09]),
    ] {
        world.add(
            Mesh::cuboid([x, low, d], [x + wide, low + high, d + 0.05]).moved([0.8, y, 0.0]),
            Material::Coated {
                color: color.into(),
                alpha: 0.1,
            },
        );
    }
}

fn fence(world: &mut World) {
    let mut mesh = Mesh::default();
    for i in 0..22 {
        let x = -11.0 + i as f32;
        let z = 4.2 + 0.4 * (x * 0.4).sin();
        let y = height(x, z);
        mesh.append(Mesh::cuboid([-0.06, -0.2, -0.06], [0.06, 1.0, 0.06]).moved([x, y, z]));
        let next = [x + 1.0, 4.2 + 0.4 * ((x + 1.0) * 0.4).sin()];
        for rail in [0.45, 0.8] {
            let rise = height(next[0], next[1]) - y;
            mesh.append(Mesh::quad(
                [x, y + rail, z + 0.07],
                [1.0, rise, next[1] - z],
                [0.0, 0.1, 0.0],
            ));
        }
    }
    world.add(mesh, Material::diffuse([0.42, 0.33, 0.24]));
}
