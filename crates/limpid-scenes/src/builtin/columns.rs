//! A colonnade around a court in the sun: textures in light and shadow, and the thin shadow of a pole across the floor.

use super::pattern::{bricks, marble, sandstone, slabs};
use crate::{Camera, Material, Mesh, Sky, Sun, Texture, World};
use glam::{Vec2, Vec3};
use std::f32::consts::PI;

const SPACING: f32 = 3.0;
const BAYS: i32 = 6;
const ROW: f32 = 3.2;
const WALL: f32 = 6.4;
const SPRING: f32 = 3.6;
const TOP: f32 = 5.6;

/// The world.
pub(super) fn world() -> World {
    let mut world = World::new(Camera::pinhole([1.4, 1.75, 9.0], [-0.9, 1.9, 0.0], 52.0));
    world.sky = Some(Sky {
        zenith: Vec3::new(0.35, 0.55, 1.0).into(),
        horizon: Vec3::new(0.9, 0.95, 1.0).into(),
        ground: Vec3::new(0.2, 0.18, 0.15).into(),
        sun: Some(Sun::new(
            [0.42, 0.85, 0.3],
            0.6,
            [19_000.0, 17_000.0, 14_000.0],
        )),
    });
    let length = SPACING * BAYS as f32;
    world.add(
        Mesh::quad(
            [-WALL, 0.0, length / 2.0 + 6.0],
            [2.0 * WALL, 0.0, 0.0],
            [0.0, 0.0, -length - 6.0],
        )
        .scale_uv(Vec2::new(2.0 * WALL, length + 6.0)),
        Material::Coated {
            color: Texture::Pattern(slabs),
            alpha: 0.35,
        },
    );
    let mut columns = Mesh::default();
    let mut arches = Mesh::default();
    for side in [-1.0, 1.0] {
        for i in 0..=BAYS {
            let z = (i as f32 - BAYS as f32 / 2.0) * SPACING;
            columns.append(column().moved([side * ROW, 0.0, z]));
            if i < BAYS {
                arches.append(arch().moved([side * ROW, 0.0, z + SPACING / 2.0]));
            }
        }
    }
    world.add(columns, Material::diffuse(Texture::Pattern(marble)));
    world.add(arches, Material::diffuse(Texture::Pattern(sandstone)));
    let mut walls = Mesh::default();
    for (corner, u) in [
        ([-WALL, 0.0, length / 2.0 + 6.0], [0.0, 0.0, -length - 6.0]),
        ([WALL, 0.0, -length / 2.0], [0.0, 0.0, length + 6.0]),
        ([-WALL, 0.0, -length / 2.0], [2.0 * WALL, 0.0, 0.0]),
    ] {
        let wide = Vec3::from(u).length();
        walls.append(
            Mesh::quad(corner, u, [0.0, TOP + 1.2, 0.0])
                .scale_uv(Vec2::new(wide * 4.0, (TOP + 1.2) * 5.0)),
        );
    }
    world.add(walls, Material::diffuse(Texture::Pattern(bricks)));
    // Roofs of the aisles; the court between the rows is open.
    for side in [-1.0_f32, 1.0] {
        let x = if side < 0.0 { -WALL } else { ROW - 0.35 };
        world.add(
            Mesh::cuboid(
                [x, TOP, -length / 2.0],
                [x + WALL - ROW + 0.35, TOP + 0.25, length / 2.0 + 6.0],
            ),
            Material::diffuse([0.55, 0.42, 0.30]),
        );
    }
    for (i, color) in [[0.5, 0.05, 0.06], [0.06, 0.14, 0.42], [0.08, 0.3, 0.12]]
        .into_iter()
        .cycle()
        .take(5)
        .enumerate()
    {
        let z = (i as f32 - 2.5) * SPACING;
        world.add(
            curtain().moved([-ROW, SPRING - 1.75, z]),
            Material::diffuse(color),
        );
    }
    world.add(
        cylinder(0.05, 4.6).moved([-0.55, 0.0, 2.4]),
        Material::Rough {
            color: [0.75, 0.7, 0.62].into(),
            alpha: 0.25,
        },
    );
    world.add(
        Mesh::sphere(0.16, 48).moved([-0.55, 4.7, 2.4]),
        Material::Rough {
            color: [0.95, 0.75, 0.35].into(),
            alpha: 0.08,
        },
    );
    world
}

/// A column with base and capital, foot at the origin.
fn column() -> Mesh {
    let mut profile = vec![Vec2::new(0.46, 0.12), Vec2::new(0.46, 0.2)];
    // A torus at the foot and one at the neck, and a shaft that swells a little.
    let mut ring = |y: f32, r: f32, size: f32| {
        for i in 0..=8 {
            let a = -PI / 2.0 + PI * i as f32 / 8.0;
            profile.push(Vec2::new(r + size * a.cos(), y + size * (a.sin() + 1.0)));
        }
    };
    ring(0.2, 0.36, 0.08);
    for i in 0..=12 {
        let t = i as f32 / 12.0;
        profile.push(Vec2::new(0.35 - 0.06 * t * t, 0.38 + t * (SPRING - 0.9)));
    }
    for i in 0..=6 {
        let t = i as f32 / 6.0;
        profile.push(Vec2::new(0.29 + 0.15 * t * t, SPRING - 0.5 + 0.3 * t));
    }
    let mut mesh = Mesh::lathe(&profile, 40).scale_uv(Vec2::new(2.0, 3.0));
    mesh.append(Mesh::cuboid([-0.5, 0.0, -0.5], [0.5, 0.12, 0.5]));
    mesh.append(Mesh::cuboid(
        [-0.45, SPRING - 0.2, -0.45],
        [0.45, SPRING, 0.45],
    ));
    mesh
}

/// An arch over one bay along `z`, from the springing to the roof.
fn arch() -> Mesh {
    let (half, radius, deep) = (SPACING / 2.0, SPACING / 2.0 - 0.42, 0.34);
    let steps = 24;
    let rim = |i: usize| {
        let a = PI * i as f32 / steps as f32;
        (-radius * a.cos(), SPRING + radius * a.sin())
    };
    let mut mesh = Mesh::default();
    // Pieces of wall above the piers, then strips from the arc up to the roof.
    let mut strip = |(z0, y0): (f32, f32), (z1, y1): (f32, f32)| {
        for (x, flip) in [(deep, true), (-deep, false)] {
            let corners = [(z0, y0), (z1, y1), (z1, TOP), (z0, TOP)];
            let mut piece = Mesh {
                positions: corners
                    .iter()
                    .map(|(z, y)| Vec3::new(x, *y, *z).into())
                    .collect(),
                normals: Vec::new(),
                uvs: corners
                    .iter()
                    .map(|(z, y)| Vec2::new(*z, *y * 2.0))
                    .collect(),
                triangles: vec![[0, 1, 2], [0, 2, 3]],
            };
            if flip {
                piece.triangles = vec![[0, 2, 1], [0, 3, 2]];
            }
            mesh.append(piece);
        }
        mesh.append(
            Mesh::quad(
                [-deep, y0, z0],
                [0.0, y1 - y0, z1 - z0],
                [2.0 * deep, 0.0, 0.0],
            )
            .scale_uv(Vec2::new(0.2, 0.7)),
        );
    };
    strip((-half, SPRING), (-radius, SPRING));
    for i in 0..steps {
        strip(rim(i), rim(i + 1));
    }
    strip((radius, SPRING), (half, SPRING));
    mesh
}

/// A cloth in folds, hanging across one bay along `z`.
fn curtain() -> Mesh {
    let (across, down) = (48_u32, 16_u32);
    let mut mesh = Mesh::default();
    for j in 0..=down {
        for i in 0..=across {
            let (s, t) = (i as f32 / across as f32, j as f32 / down as f32);
            let fold = (s * 26.0 + 0.6 * t).sin() * (0.03 + 0.06 * t);
            let sag = 0.25 * (s - 0.5).powi(2);
            mesh.positions
                .push(Vec3::new(fold, 1.7 * (1.0 - t) - sag, (s - 0.5) * 1.9).into());
            let slope = (s * 26.0 + 0.6 * t).cos() * 26.0 / 1.9 * (0.03 + 0.06 * t);
            mesh.normals
                .push(Vec3::new(1.0, 0.0, -slope).normalize().into());
            mesh.uvs.push(Vec2::new(s, t));
            if i < across && j < down {
                let a = j * (across + 1) + i;
                let b = a + across + 1;
                mesh.triangles.push([a, b, b + 1]);
                mesh.triangles.push([a, b + 1, a + 1]);
            }
        }
    }
    mesh
}

fn cylinder(radius: f32, height: f32) -> Mesh {
    Mesh::lathe(&[Vec2::new(radius, 0.0), Vec2::new(radius, height)], 24)
}
