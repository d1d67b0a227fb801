//! Colour against what can be computed by hand.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use limpid::{Frame, Kind, Layer, Part, Size};
use limpid_scenes::glam::Vec3A;
use limpid_scenes::{Camera, Material, Mesh, RenderOptions, Scene, Sky, World, render};

fn shot(world: &World, samples: u32) -> Frame {
    shot_with(world, samples, 200)
}

fn shot_with(world: &World, samples: u32, bounces: usize) -> Frame {
    let options = RenderOptions {
        size: Size::new(8, 8),
        samples,
        bounces,
        ..RenderOptions::default()
    };
    render(&Scene::new(world, None).unwrap(), &options).unwrap()
}

/// The mean over the picture and its standard deviation.
fn mean(frame: &Frame, channel: usize) -> (f64, f64) {
    let sum = |layer: Layer| -> f64 {
        let plane = frame.require(layer).unwrap().plane(channel);
        plane.iter().map(|v| f64::from(*v)).sum()
    };
    let n = frame.size().pixels() as f64;
    (
        sum(Layer::COLOR) / n,
        sum(Layer::new(Kind::Color, Part::Variance)).sqrt() / n,
    )
}

fn assert_mean(frame: &Frame, expected: [f64; 3]) {
    for (c, expected) in expected.into_iter().enumerate() {
        let (value, deviation) = mean(frame, c);
        let allowed = 4.5 * deviation + 1e-4 * expected;
        assert!(
            (value - expected).abs() < allowed,
            "channel {c}: {value} ± {deviation}, expected {expected}"
        );
        assert!(deviation < 0.02 * expected, "too noisy to tell");
    }
}

/// A cube that fills the picture, under a sky of radiance one.
fn under_the_sky(material: Material) -> World {
    let mut world = World::new(Camera::pinhole([1.5, 2.0, 2.5], [0.0; 3], 10.0));
    world.sky = Some(Sky::uniform([1.0; 3]));
    world.add(Mesh::cuboid([-1.0; 3], [1.0; 3]), material);
    world
}

#[test]
fn a_convex_body_under_a_white_sky_shows_its_albedo() {
    let frame = shot(&under_the_sky(Material::diffuse([0.8, 0.5, 0.2])), 64);
    assert_mean(&frame, [f64::from(0.8_f32), 0.5, f64::from(0.2_f32)]);
}

#[test]
fn clear_glass_and_white_mirrors_vanish_under_a_white_sky() {
    let glass = Material::Glass {
        color: Vec3A::ONE,
        ior: 1.5,
    };
    assert_mean(&shot(&under_the_sky(glass), 64), [1.0; 3]);
    assert_mean(
        &shot(&under_the_sky(Material::Mirror(Vec3A::ONE)), 4),
        [1.0; 3],
    );
}

#[test]
fn a_room_of_lamps_is_a_furnace() {
    // Radiance e + ρ e + ρ² e + … = e / (1 - ρ), and ρ is one half for lights.
    let mut world = World::new(Camera::pinhole([0.1, 0.2, 0.3], [1.0, 0.5, 0.0], 60.0));
    let mut room = Mesh::cuboid([-1.0; 3], [1.0; 3]);
    for t in &mut room.triangles {
        t.swap(1, 2);
    }
    world.add_light(room, [1.0, 0.5, 2.0]);
    assert_mean(&shot(&world, 64), [2.0, 1.0, 4.0]);
}

#[test]
fn a_rectangle_lights_the_point_below_it() {
    let mut world = World::new(Camera::pinhole([0.0, 1.0, 0.0001], [0.0; 3], 0.4));
    world.add(
        Mesh::quad([-9.0, 0.0, 9.0], [18.0, 0.0, 0.0], [0.0, 0.0, -18.0]),
        Material::diffuse([0.5; 3]),
    );
    let (a, b, h) = (0.8_f32, 0.5_f32, 1.2_f32);
    world.add_light(
        Mesh::quad([-a, h, -b], [2.0 * a, 0.0, 0.0], [0.0, 0.0, 2.0 * b]),
        [10.0, 5.0, 1.0],
    );
    // Form factor of a rectangle above a point (Howell, C-15), four quarters.
    let (x, y) = (f64::from(a / h), f64::from(b / h));
    let part = |x: f64, y: f64| {
        let r = (1.0 + x * x).sqrt();
        x / r * (y / r).atan()
    };
    let factor = 2.0 / std::f64::consts::PI * (part(x, y) + part(y, x));
    assert_mean(
        &shot_with(&world, 256, 1),
        [5.0 * factor, 2.5 * factor, 0.5 * factor],
    );
}

#[test]
fn metal_under_a_white_sky_shows_what_it_reflects() {
    // The material's own energy is held to an integral elsewhere; here the whole path must give the same at normal
    // incidence, with light from choosing lights and from scattering together.
    let world = |sky: bool| {
        let metal = Material::Rough {
            color: [0.9, 0.6, 0.3].into(),
            alpha: 0.3,
        };
        let mut world = under_the_sky(metal);
        world.camera = Camera::pinhole([0.0, 0.0, 30.0], [0.0; 3], 1.0);
        if !sky {
            world.sky = None;
            let mut shell = Mesh::cuboid([-40.0; 3], [40.0; 3]);
            for t in &mut shell.triangles {
                t.swap(1, 2);
            }
            world.add_light(shell, [1.0; 3]);
        }
        world
    };
    let (sky, deviation) = mean(&shot(&world(true), 256), 0);
    // The lamps around reflect each other's light too: radiance 2 (see the furnace), less what the small cube takes away.
    let (room, other) = mean(&shot(&world(false), 256), 0);
    assert!(
        (room / 2.0 - sky).abs() < 4.5 * (deviation + other) + 0.002,
        "{sky} {room}"
    );
    // Seen head on, all depends on one angle: the integral of Walter 2007, Eq. 20, with wi at twice the angle of the half
    // vector.
    let (n, a2) = (20_000, 0.09_f64);
    let mut exact = 0.0;
    for i in 0..n {
        let theta = (f64::from(i) + 0.5) / f64::from(n) * std::f64::consts::FRAC_PI_2;
        let cos = (theta / 2.0).cos();
        let density = a2 / (cos * cos * (a2 - 1.0) + 1.0).powi(2);
        let masking = 2.0 / (1.0 + (1.0 + a2 * theta.tan().powi(2)).sqrt());
        let fresnel = 0.9 + 0.1 * (1.0 - cos).powi(5);
        exact += density * masking * fresnel * 0.5 * theta.sin();
    }
    exact *= std::f64::consts::FRAC_PI_2 / f64::from(n);
    assert!(
        (sky - exact).abs() < 4.5 * deviation,
        "{sky} ± {deviation}, expected {exact}"
    );
}
