//! Patch reconstruction beyond the shared tests: the projector, wide rows, and independence of threads.

use limpid::conformance::define;
use limpid::definition::patch::{MOST, PATCH, basis};
use limpid::method::{Backend, Method, Patch, patch};
use limpid::{Denoiser, Device, Frame, Image, Kind, Layer, Options, Part, Size};

/// Numbers of -1 … 1.
struct Random(u32);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// A ramp and an edge in light, over a texture, with noise in all that is sampled.
fn frame(size: Size) -> Frame {
    let Size {
        width: w,
        height: h,
    } = size;
    let mut random = Random(7);
    let albedo = Image::from_fn(w, h, 3, |x, y, c| {
        0.3 + 0.1 * ((x / 3 + y / 2 + c) % 5) as f32
    });
    let clean = Image::from_fn(w, h, 3, |x, y, c| {
        albedo.get(x, y, c) * (0.5 + f32::from(u8::from(x > w / 2)) + 0.01 * y as f32)
    });
    let position = Image::from_fn(w, h, 3, |x, y, c| [x as f32, y as f32, 1.0][c]);
    let mut frame = Frame::new(clean.clone()).unwrap();
    let step = |image: &Image, dx: usize, dy: usize| {
        Image::from_fn(w, h, 3, |x, y, c| {
            image.get((x + dx).min(w - 1), (y + dy).min(h - 1), c) - image.get(x, y, c)
        })
    };
    for (kind, image, noise) in [
        (Kind::Color, clean.clone(), 0.3),
        (Kind::Dx, step(&clean, 1, 0), 0.03),
        (Kind::Dy, step(&clean, 0, 1), 0.03),
    ] {
        let mut shaken = || image.map(|v| v + noise * random.next());
        let (a, b) = (shaken(), shaken());
        let mean = Image::from_fn(w, h, 3, |x, y, c| 0.5 * (a.get(x, y, c) + b.get(x, y, c)));
        for (part, image) in [(Part::Mean, mean), (Part::HalfA, a), (Part::HalfB, b)] {
            frame.insert(Layer::new(kind.clone(), part), image).unwrap();
        }
    }
    frame.insert(Kind::Albedo, albedo).unwrap();
    frame.insert(Kind::Position, position).unwrap();
    frame
}

fn run(device: &Device, frame: &Frame, settings: &Patch) -> Frame {
    let method = settings.prepared(frame).unwrap();
    let mut denoiser = Denoiser::new(device, &frame.shape(), &Options::of(method)).unwrap();
    denoiser.run(frame).unwrap()
}

/// `B Bᵀ v`.
fn project(basis: &[[f64; PATCH]], v: &[f64; PATCH]) -> [f64; PATCH] {
    let mut out = [0.0; PATCH];
    for b in basis {
        let along: f64 = b.iter().zip(v).map(|(b, v)| b * v).sum();
        for (o, b) in out.iter_mut().zip(b) {
            *o += along * b;
        }
    }
    out
}

fn apart(a: &[f64; PATCH], b: &[f64; PATCH]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).powi(2))
        .sum::<f64>()
        .sqrt()
}

#[test]
fn the_projector_is_idempotent_and_keeps_feature_patches() {
    let mut random = Random(3);
    for trial in 0..50 {
        // A few independent features, and linear combinations of them, as in renders: truncation loses nothing.
        let mut columns: Vec<[f64; PATCH]> = (0..1 + trial % 5)
            .map(|_| std::array::from_fn(|_| f64::from(random.next())))
            .collect();
        let mix = [0.3, -0.7, 1.1, 0.2, 0.5];
        columns.push(std::array::from_fn(|a| {
            let terms = columns.iter().zip(mix).map(|(c, m)| m * c[a]);
            0.4 + terms.sum::<f64>()
        }));
        let inside: [bool; PATCH] = std::array::from_fn(|a| a == PATCH / 2 || random.next() > -0.6);
        let basis = basis(&columns, &inside, false);
        assert!(basis.len() <= MOST);
        let masked = |v: &[f64; PATCH]| -> [f64; PATCH] {
            std::array::from_fn(|a| if inside[a] { v[a] } else { 0.0 })
        };
        for column in columns.iter().chain([&[1.0; PATCH]]) {
            let kept = project(&basis, &masked(column));
            let length = apart(&masked(column), &[0.0; PATCH]);
            assert!(
                apart(&kept, &masked(column)) < 1e-9 * length,
                "trial {trial}"
            );
        }
        let noise: [f64; PATCH] = std::array::from_fn(|_| f64::from(random.next()));
        let once = project(&basis, &noise);
        assert!(apart(&project(&basis, &once), &once) < 1e-12);
        // Pixels outside are excluded.
        assert!((0..PATCH).all(|a| inside[a] || once[a] == 0.0));
    }
}

#[test]
fn truncation_leaves_the_smallest_singular_vector_out() {
    let ramp: [f64; PATCH] = std::array::from_fn(|a| (a % 5) as f64);
    let edge: [f64; PATCH] = std::array::from_fn(|a| f64::from(u8::from(a / 5 > 2)));
    // Nearly the same as the ramp: the remaining component is small.
    let nearly: [f64; PATCH] = std::array::from_fn(|a| ramp[a] + 0.02 * ((a * 7) % 3) as f64);
    let basis = basis(&[ramp, edge, nearly], &[true; PATCH], false);
    assert_eq!(basis.len(), 3, "constant, ramp and edge");
    assert!(apart(&project(&basis, &edge), &edge) < 0.1);
    assert!(apart(&project(&basis, &ramp), &ramp) < 0.1);
    assert!(apart(&project(&basis, &ramp), &ramp) > 1e-6);
}

/// In the thesis, features are used as they are: neither their means nor their scale are removed, there is no constant patch,
/// and the smallest singular vector alone is dropped.
#[test]
fn the_thesis_has_bases_of_features_alone() {
    let ramp: [f64; PATCH] = std::array::from_fn(|a| 0.2 + 0.1 * (a % 5) as f64);
    let edge: [f64; PATCH] = std::array::from_fn(|a| f64::from(u8::from(a / 5 > 2)));
    let texture: [f64; PATCH] = std::array::from_fn(|a| 0.1 * ((a * 7) % 4) as f64);
    let all = basis(&[ramp, edge, texture], &[true; PATCH], true);
    assert_eq!(all.len(), 2);
    // The product with the dropped vector is what the features have least of.
    let lost = |v: &[f64; PATCH]| apart(&project(&all, v), v);
    let least = lost(&ramp).hypot(lost(&edge)).hypot(lost(&texture));
    for other in [[ramp, edge], [ramp, texture], [edge, texture]] {
        let two = basis(&[other[0], other[1], other[1]], &[true; PATCH], true);
        assert_eq!(two.len(), 2);
        let lost = |v: &[f64; PATCH]| apart(&project(&two, v), v);
        let all = lost(&ramp).hypot(lost(&edge)).hypot(lost(&texture));
        assert!(least <= all + 1e-9, "{least} {all}");
    }
    let constant = [1.0; PATCH];
    assert!(apart(&project(&all, &constant), &constant) > 0.1);
    // Nothing but zeros: the constant patch.
    let none = basis(&[[0.0; PATCH]; 2], &[true; PATCH], true);
    assert!(apart(&project(&none, &constant), &constant) < 1e-9);
}

#[test]
fn results_do_not_depend_on_threads_and_rows_may_be_wide() {
    // Wider than a workgroup, and not a multiple of sixteen.
    let frame = frame(Size::new(275, 3));
    let settings = Patch::with(|m| {
        m.rounds = 1;
        m.layers = patch::Layers::All;
    });
    let made: Vec<(Device, Frame)> = Device::all_for_tests()
        .unwrap()
        .into_iter()
        .map(|device| {
            let out = run(&device, &frame, &settings);
            (device, out)
        })
        .collect();
    let candidates = [1, 2, 3].map(|k| Layer::from(Kind::Light(format!("candidate-{k}").into())));
    for (device, out) in &made[1..] {
        for layer in candidates.clone() {
            let (a, b) = (made[0].1.require(layer.clone()), out.require(layer.clone()));
            let (a, b) = (a.unwrap(), b.unwrap());
            if device.backend() == Backend::Cpu {
                assert_eq!(a, b, "{layer} on {}", device.name());
            } else {
                let pairs = a.data().iter().zip(b.data());
                let worst = pairs.fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
                assert!(worst < 2e-3, "{layer} on {}: {worst}", device.name());
            }
        }
    }
}

#[test]
fn files_without_halves_run_on_every_device() {
    let whole = frame(Size::new(21, 14));
    let means = |features: bool| {
        let mut out = Frame::empty(whole.size()).unwrap();
        for (layer, image) in whole.layers().filter(|(l, _)| l.part == Part::Mean) {
            let sampled = [Kind::Color, Kind::Dx, Kind::Dy].contains(&layer.kind);
            if sampled || features {
                out.insert(layer.clone(), image.clone()).unwrap();
            }
        }
        out
    };
    let devices = Device::all_for_tests().unwrap();
    for (frame, layers) in [
        (means(true), patch::Layers::Color),
        (means(false), patch::Layers::All),
    ] {
        let settings = Patch::with(|m| {
            m.rounds = 2;
            m.tolerance = 1e-6;
            m.layers = layers;
        });
        let method = settings.prepared(&frame).unwrap();
        let expected = define(method.as_ref(), &frame).unwrap();
        for device in &devices {
            let out = run(device, &frame, &settings);
            assert_eq!(out.layers().count(), expected.layers().count());
            for (layer, want) in expected.layers() {
                let have = out.require(layer.clone()).unwrap();
                let size = want.size();
                for i in 0..want.data().len() {
                    let (a, b) = (want.data()[i], have.data()[i]);
                    let (x, y) = (i % size.width, i / size.width % size.height);
                    let close = (a - b).abs() < 2e-3;
                    assert!(close, "{layer} {x},{y} on {}: {a} and {b}", device.name());
                }
            }
        }
    }
}
