//! What frames promise: halves, variances, motion, missing pixels, and the same picture every time.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use limpid::{Error, Frame, Kind, Layer, Part, Size, Watch};
use limpid_scenes::glam::Vec3A;
use limpid_scenes::{
    BUILTIN, Camera, Material, Mesh, Render, RenderOptions, Scene, Sky, World, builtin,
    builtin_world, render, sample_pixels,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

fn small(samples: u32) -> RenderOptions {
    RenderOptions {
        size: Size::new(20, 14),
        samples,
        ..RenderOptions::default()
    }
}

fn plane(frame: &Frame, kind: Kind, part: Part, channel: usize) -> &[f32] {
    frame
        .require(Layer::new(kind, part))
        .unwrap()
        .plane(channel)
}

#[test]
fn all_scenes_render_all_layers() {
    for (name, _) in BUILTIN {
        let frame = render(&builtin(name, 3).unwrap(), &small(2)).unwrap();
        assert_eq!(frame.layers().count(), 4 * 7 + 1, "{name}");
        let color = frame.color().unwrap();
        assert_eq!(color.non_finite(), 0, "{name}");
        let mean = color.data().iter().sum::<f32>() / color.data().len() as f32;
        assert!((0.05..3.0).contains(&mean), "{name}: mean {mean}");
    }
    let error = builtin("cornel", 0).err().unwrap().to_string();
    assert!(error.contains("Did you mean 'cornell'"), "{error}");
}

#[test]
fn halves_average_to_the_mean() {
    let frame = render(&builtin("glossy", 0).unwrap(), &small(18)).unwrap();
    for kind in [
        Kind::Color,
        Kind::Albedo,
        Kind::Normal,
        Kind::Position,
        Kind::Depth,
    ] {
        let (a, b) = (
            plane(&frame, kind.clone(), Part::HalfA, 0),
            plane(&frame, kind.clone(), Part::HalfB, 0),
        );
        let mean = plane(&frame, kind.clone(), Part::Mean, 0);
        for i in 0..mean.len() {
            let average = 0.5 * (a[i] + b[i]);
            assert!(
                (average - mean[i]).abs() <= 1e-6 * (1.0 + mean[i].abs()),
                "{kind:?}"
            );
        }
        if kind == Kind::Color {
            assert!(a.iter().zip(b).any(|(a, b)| a != b));
        }
    }
}

#[test]
fn variance_is_the_spread_over_seeds() {
    let scene = builtin("cornell", 0).unwrap();
    let size = Size::new(12, 12);
    let seeds = 150;
    let pixels = size.pixels();
    // Sums over seeds of the value, its square, and the variance the render claims, for noisy layers.
    let layers = [(Kind::Color, 1), (Kind::Visibility, 0), (Kind::Normal, 2)];
    let mut sums = vec![[0.0_f64; 3]; layers.len() * pixels];
    for seed in 0..seeds {
        let options = RenderOptions {
            size,
            samples: 16,
            seed,
            ..RenderOptions::default()
        };
        let frame = render(&scene, &options).unwrap();
        for (l, (kind, channel)) in layers.iter().enumerate() {
            let value = plane(&frame, kind.clone(), Part::Mean, *channel);
            let claim = plane(&frame, kind.clone(), Part::Variance, *channel);
            for i in 0..pixels {
                let (v, c) = (f64::from(value[i]), f64::from(claim[i]));
                let s = &mut sums[l * pixels + i];
                *s = [s[0] + v, s[1] + v * v, s[2] + c];
            }
        }
    }
    let n = seeds as f64;
    for (l, (kind, _)) in layers.iter().enumerate() {
        let (mut ratios, mut count) = (0.0, 0.0);
        for s in &sums[l * pixels..][..pixels] {
            let spread = (s[1] - s[0] * s[0] / n) / (n - 1.0);
            let claimed = s[2] / n;
            if claimed > 1e-9 {
                ratios += spread / claimed;
                count += 1.0;
            }
        }
        // One pixel's ratio is good to sqrt(2 / seeds) = 12 %; few pixels of the normal layer have any spread.
        let ratio = ratios / count;
        assert!(count > 20.0, "{kind:?}: {count}");
        assert!((0.93..1.07).contains(&ratio), "{kind:?}: {ratio}");
    }
}

#[test]
fn threads_do_not_change_the_picture() {
    let scene = builtin("glass", 0).unwrap();
    let options = RenderOptions {
        gradients: true,
        ..small(18)
    };
    let on = |threads| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
            .install(|| render(&scene, &options).unwrap())
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn a_continued_render_is_the_same_render() {
    let scene = builtin("cornell", 0).unwrap();
    let options = small(40);
    let whole = render(&scene, &options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("render.state");
    let mut first = Render::new(&scene, &options).unwrap();
    first.step(&Watch::default()).unwrap();
    // Stopped in the middle of the second batch.
    let flag: Arc<OnceLock<Arc<AtomicBool>>> = Arc::default();
    let inner = flag.clone();
    let watch = Watch::with_callback(move |share| {
        if share > 0.5
            && let Some(stop) = inner.get()
        {
            stop.store(true, Ordering::Relaxed);
        }
    });
    flag.set(watch.stop_flag()).unwrap();
    assert!(matches!(first.finish(&watch), Err(Error::Stopped)));
    first.save(&path, "cornell").unwrap();
    let mut second = Render::new(&scene, &options).unwrap();
    assert!(!second.resume(&path, "glossy").unwrap());
    assert!(second.resume(&path, "cornell").unwrap());
    second.finish(&Watch::default()).unwrap();
    assert_eq!(second.frame().unwrap(), whole);
    // A broken file is not taken.
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    assert!(
        !Render::new(&scene, &options)
            .unwrap()
            .resume(&path, "cornell")
            .unwrap()
    );
}

#[test]
fn chosen_pixels_get_the_samples_of_the_render() {
    let scene = builtin("cornell", 0).unwrap();
    let options = small(16);
    let frame = render(&scene, &options).unwrap();
    let pixels = [(0, 0), (7, 3), (19, 13)];
    let same = sample_pixels(&scene, &options, &pixels, 0..16).unwrap();
    let more = sample_pixels(&scene, &options, &pixels, 16..32).unwrap();
    for (i, (x, y)) in pixels.into_iter().enumerate() {
        let variance = frame
            .require(Layer::new(Kind::Color, Part::Variance))
            .unwrap();
        for c in 0..3 {
            let mean = frame.color().unwrap().get(x, y, c);
            assert!((same[i].color[c] - mean).abs() < 1e-6);
            assert!((same[i].variance[c] - variance.get(x, y, c)).abs() < 1e-6);
        }
    }
    assert_ne!(same[1], more[1]);
    assert!(sample_pixels(&scene, &options, &[(20, 0)], 0..1).is_err());
}

#[test]
fn skipped_pixels_are_marked_and_keep_their_features() {
    let scene = builtin("columns", 0).unwrap();
    let full = render(&scene, &small(2)).unwrap();
    let part = render(
        &scene,
        &RenderOptions {
            every: 4,
            ..small(2)
        },
    )
    .unwrap();
    for y in 0..14 {
        for x in 0..20 {
            let there = x % 4 == 0 && y % 4 == 0;
            assert_eq!(part.color().unwrap().get(x, y, 0).is_finite(), there);
        }
    }
    for kind in [Kind::Albedo, Kind::Normal, Kind::Depth, Kind::Position] {
        assert_eq!(part.get(kind.clone()), full.get(kind));
    }
}

#[test]
fn motion_leads_to_the_previous_frame() {
    let size = Size::new(48, 32);
    let shift = Vec3A::new(0.11, -0.07, 0.2);
    let mut now = World::new(Camera::pinhole([0.3, 0.4, 4.0], [0.0, 0.1, 0.0], 45.0));
    now.sky = Some(Sky::uniform([1.0; 3]));
    now.add(Mesh::sphere(0.8, 64), Material::diffuse([0.5; 3]));
    now.add(
        Mesh::quad([-3.0, -1.0, -2.0], [6.0, 0.0, 0.0], [0.0, 3.0, -1.0]),
        Material::diffuse([0.5; 3]),
    );
    let mut before = now.clone();
    before.camera.position += Vec3A::new(0.2, 0.05, 0.1);
    before.camera.target += Vec3A::new(-0.1, 0.0, 0.1);
    before.objects[0].mesh = Mesh::sphere(0.8, 64).moved(shift.into());
    let options = RenderOptions {
        size,
        samples: 1,
        ..RenderOptions::default()
    };
    let frame = render(&Scene::new(&now, Some(&before)).unwrap(), &options).unwrap();
    let at = |kind: Kind, c: usize, i: usize| frame.require(kind).unwrap().plane(c)[i];
    let mut seen = [0; 3];
    for i in 0..size.pixels() {
        let id = at(Kind::Normal, 0, i).abs()
            + at(Kind::Normal, 1, i).abs()
            + at(Kind::Normal, 2, i).abs();
        let p = Vec3A::new(
            at(Kind::Position, 0, i),
            at(Kind::Position, 1, i),
            at(Kind::Position, 2, i),
        );
        let (m_x, m_y) = (at(Kind::Motion, 0, i), at(Kind::Motion, 1, i));
        if id == 0.0 {
            seen[0] += 1;
            continue;
        }
        let moving = p.length() < 0.85;
        seen[if moving { 1 } else { 2 }] += 1;
        let earlier = if moving { p + shift } else { p };
        let there = before.camera.project(earlier, size).unwrap();
        let here = now.camera.project(p, size).unwrap();
        let off = ((there.x - here.x - m_x).powi(2) + (there.y - here.y - m_y).powi(2)).sqrt();
        assert!(off < 0.01, "{off} pixels off");
        // The point lies in its pixel, so the sum is where to look in the previous picture.
        let pixel = (i % size.width, i / size.width);
        assert_eq!((here.x as usize, here.y as usize), pixel);
    }
    assert!(seen.iter().all(|n| *n > 20), "{seen:?}");
}

#[test]
fn the_sequence_moves() {
    let frame = render(&builtin("corridor", 5).unwrap(), &small(1)).unwrap();
    let motion = frame.require(Kind::Motion).unwrap();
    assert!(motion.data().iter().any(|v| v.abs() > 0.05));
    assert!(motion.data().iter().all(|v| v.abs() < 10.0));
    let still = render(&builtin("cornell", 5).unwrap(), &small(1)).unwrap();
    assert!(
        still
            .require(Kind::Motion)
            .unwrap()
            .data()
            .iter()
            .all(|v| *v == 0.0)
    );
}

#[test]
fn wrong_input_is_an_error() {
    let scene = builtin("cornell", 0).unwrap();
    for options in [
        RenderOptions {
            samples: 0,
            ..small(1)
        },
        RenderOptions {
            size: Size::new(0, 5),
            ..small(1)
        },
        RenderOptions {
            size: Size::new(1 << 20, 1 << 20),
            ..small(1)
        },
        RenderOptions {
            every: 2,
            gradients: true,
            ..small(1)
        },
    ] {
        assert!(Render::new(&scene, &options).is_err());
    }
    let mut world = builtin_world("cornell", 0.0).unwrap();
    world.objects[0].mesh.triangles.push([0, 1, 99]);
    assert!(Scene::new(&world, None).is_err());
    let mut world = builtin_world("cornell", 0.0).unwrap();
    world.objects[7].material = Material::Mirror(Vec3A::ONE);
    assert!(Scene::new(&world, None).is_err());
    let other = builtin_world("glossy", 0.0).unwrap();
    assert!(Scene::new(&builtin_world("cornell", 0.0).unwrap(), Some(&other)).is_err());
    // An empty world is dark, not an error.
    let empty = World::new(Camera::pinhole([0.0; 3], [0.0; 3], 40.0));
    let frame = render(&Scene::new(&empty, None).unwrap(), &small(2)).unwrap();
    assert!(frame.color().unwrap().data().iter().all(|v| *v == 0.0));
}
