//! Gradients against finite differences of a reference: unbiased for every class of path.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use limpid::{Frame, Kind, Layer, Part, Size};
use limpid_scenes::glam::{Vec2, Vec3A};
use limpid_scenes::{Camera, Material, Mesh, RenderOptions, Scene, Sky, Texture, World, render};

const SIZE: Size = Size {
    width: 9,
    height: 8,
};

fn stripes(uv: Vec2) -> Vec3A {
    if (uv.x * 5.0).fract() < 0.5 {
        Vec3A::new(0.8, 0.7, 0.6)
    } else {
        // Black, so that some paths carry nothing where their shifted twins do.
        Vec3A::ZERO
    }
}

/// Two balls and a block in a corner, under a lamp and a sky.
fn corner(balls: [Material; 2], sky: [f32; 3]) -> World {
    let mut world = World::new(Camera::pinhole([0.4, 1.3, 3.6], [0.0, 0.55, 0.0], 36.0));
    if sky != [0.0; 3] {
        world.sky = Some(Sky::uniform(sky));
    }
    world.add(
        Mesh::quad([-2.0, 0.0, 2.0], [4.0, 0.0, 0.0], [0.0, 0.0, -3.0]),
        Material::diffuse(Texture::Pattern(stripes)),
    );
    world.add(
        Mesh::quad([-2.0, 0.0, -1.0], [4.0, 0.0, 0.0], [0.0, 3.0, 0.0]),
        Material::diffuse([0.6, 0.5, 0.4]),
    );
    let [left, right] = balls;
    world.add(Mesh::sphere(0.45, 48).moved([-0.6, 0.46, 0.0]), left);
    world.add(Mesh::sphere(0.45, 48).moved([0.55, 0.46, 0.2]), right);
    world.add(
        Mesh::cuboid([-0.2, 0.0, 0.5], [0.2, 0.3, 0.9]),
        Material::diffuse([0.2, 0.6, 0.3]),
    );
    world.add_light(
        Mesh::quad([-0.8, 2.2, -0.5], [1.6, 0.0, 0.0], [0.0, 0.0, 1.2]),
        [4.0, 3.5, 3.0],
    );
    world
}

fn shot(scene: &Scene, samples: u32, seed: u64, gradients: bool) -> Frame {
    let options = RenderOptions {
        size: SIZE,
        samples,
        seed,
        gradients,
        bounces: 12,
        ..RenderOptions::default()
    };
    render(scene, &options).unwrap()
}

/// How far gradients are from the differences of a reference, in standard deviations: for each pixel, and for sums over
/// the picture with fixed signs, which see a bias too small for a single pixel.
fn check(name: &str, world: &World, samples: u32) {
    let scene = Scene::new(world, None).unwrap();
    let gradient = shot(&scene, samples, 1, true);
    let reference = shot(&scene, 5 * samples, 2, false);
    let color = |part| reference.require(Layer::new(Kind::Color, part)).unwrap();
    let (mean, variance) = (color(Part::Mean), color(Part::Variance));
    let (mut squares, mut count) = (0.0, 0.0);
    for (kind, dx, dy) in [(Kind::Dx, 1, 0), (Kind::Dy, 0, 1)] {
        let get = |part| gradient.require(Layer::new(kind.clone(), part)).unwrap();
        let (value, claimed) = (get(Part::Mean), get(Part::Variance));
        let mut sums = [[0.0_f64; 2]; 3];
        for y in 0..SIZE.height - dy {
            for x in 0..SIZE.width - dx {
                let at = |i: &limpid::Image, x, y| f64::from(i.get(x, y, 1));
                let difference = at(mean, x + dx, y + dy) - at(mean, x, y);
                let error = at(value, x, y) - difference;
                let spread = at(claimed, x, y) + at(variance, x, y) + at(variance, x + dx, y + dy);
                let z = error / spread.sqrt();
                assert!(
                    z.abs() < 6.0,
                    "{name} {kind:?} at ({x}, {y}): {z} standard deviations"
                );
                squares += z * z;
                count += 1.0;
                let signs = [
                    1.0,
                    difference.signum(),
                    if (x + y) % 2 == 0 { 1.0 } else { -1.0 },
                ];
                for (sum, sign) in sums.iter_mut().zip(signs) {
                    sum[0] += sign * error;
                    // Neighbouring differences share a pixel's samples, which can double the variance of a sum.
                    sum[1] += 2.0 * at(claimed, x, y);
                }
            }
        }
        // Differences of the reference telescope or cancel; its noise enters at the most twice for each pixel and axis.
        let noise: f64 = variance.plane(1).iter().map(|v| f64::from(*v)).sum();
        for sum in sums {
            let z = sum[0] / (sum[1] + 4.0 * noise).sqrt();
            assert!(
                z.abs() < 4.0,
                "{name} {kind:?}: {z} standard deviations over the picture"
            );
        }
    }
    let ratio = squares / count;
    assert!((0.55..1.6).contains(&ratio), "{name}: mean square {ratio}");
}

fn rough(alpha: f32) -> Material {
    Material::Rough {
        color: [0.9, 0.8, 0.7].into(),
        alpha,
    }
}

fn coated(alpha: f32) -> Material {
    Material::Coated {
        color: [0.5, 0.3, 0.2].into(),
        alpha,
    }
}

fn glass() -> Material {
    Material::Glass {
        color: Vec3A::new(0.95, 1.0, 0.95),
        ior: 1.5,
    }
}

#[test]
fn diffuse_paths() {
    let matte = |v: f32| Material::diffuse([v; 3]);
    check("lamp", &corner([matte(0.7), matte(0.3)], [0.0; 3]), 1024);
    check("sky", &corner([matte(0.7), matte(0.3)], [0.8; 3]), 1024);
}

#[test]
fn glossy_paths() {
    check(
        "glossy",
        &corner([rough(0.08), coated(0.1)], [0.3; 3]),
        1536,
    );
    check("rough", &corner([rough(0.5), coated(0.4)], [0.3; 3]), 1024);
}

#[test]
fn specular_paths() {
    let mirror = Material::Mirror(Vec3A::splat(0.9));
    check("specular", &corner([mirror, glass()], [0.4; 3]), 1536);
}

#[test]
fn a_wide_lens() {
    let mut world = corner([rough(0.1), glass()], [0.4; 3]);
    world.camera.lens = 0.15;
    world.camera.focus = 3.0;
    check("lens", &world, 1024);
}

#[test]
fn the_base_image_is_the_plain_image() {
    let world = corner([rough(0.1), glass()], [0.2; 3]);
    let scene = Scene::new(&world, None).unwrap();
    let (plain, both) = (shot(&scene, 8, 3, false), shot(&scene, 8, 3, true));
    for (layer, image) in plain.layers() {
        assert_eq!(both.get(layer.clone()), Some(image), "{layer}");
    }
}

#[test]
fn gradients_are_less_noisy_than_differences() {
    let matte = |v: f32| Material::diffuse([v; 3]);
    let world = corner([matte(0.7), matte(0.3)], [0.0; 3]);
    let scene = Scene::new(&world, None).unwrap();
    let options = RenderOptions {
        size: Size::new(48, 40),
        samples: 16,
        gradients: true,
        ..RenderOptions::default()
    };
    let frame = render(&scene, &options).unwrap();
    let total = |kind: Kind| -> f64 {
        let image = frame.require(Layer::new(kind, Part::Variance)).unwrap();
        image.plane(1).iter().map(|v| f64::from(*v)).sum()
    };
    // Differences of independent pixels have twice the variance of a pixel.
    let gain = 2.0 * total(Kind::Color) / total(Kind::Dx);
    assert!(gain > 4.0, "{gain}");
}
