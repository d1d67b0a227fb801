//! RDFC beyond the shared tests: frames with few layers, consistency, layers that add up.

use crate::support;
use limpid::conformance::{Define, prepared};
use limpid::method::{Method, Rdfc};
use limpid::{
    Denoiser, Device, DeviceLimits, FittedPlan, Frame, Image, Kind, Layer, Options, Part, Size,
};

fn run(device: &Device, frame: &Frame, method: &Rdfc) -> Frame {
    let method = method.prepared(frame).unwrap();
    let mut denoiser = Denoiser::new(device, &frame.shape(), &Options::of(method)).unwrap();
    denoiser.run(frame).unwrap()
}

/// A frame with the layers that pass a test.
fn only(frame: &Frame, keep: impl Fn(&Layer) -> bool) -> Frame {
    let mut out = Frame::empty(frame.size()).unwrap();
    for (layer, image) in frame.layers().filter(|(l, _)| keep(l)) {
        out.insert(layer.clone(), image.clone()).unwrap();
    }
    out
}

#[test]
fn any_subset_of_layers_gives_the_definition() {
    let all = support::frame(Size::new(29, 21));
    let halves = |l: &Layer| matches!(l.part, Part::HalfA | Part::HalfB);
    type Keep<'a> = &'a dyn Fn(&Layer) -> bool;
    let cases: [(&str, Keep<'_>); 5] = [
        ("no halves", &|l| !halves(l)),
        ("no variance", &|l| l.part != Part::Variance),
        ("means alone", &|l| l.part == Part::Mean),
        ("color alone", &|l| *l == Layer::COLOR),
        ("depth, and halves of color", &|l| {
            matches!(l.kind, Kind::Color | Kind::Depth)
                && (l.part == Part::Mean || (halves(l) && l.kind == Kind::Color))
        }),
    ];
    let method = Rdfc::with(|m| {
        m.radius = 2;
        m.layers = limpid::method::rdfc::Layers::All;
    });
    for (number, (name, keep)) in cases.into_iter().enumerate() {
        let frame = only(&all, keep);
        let mut method = method.clone();
        method.second_pass = number > 0;
        let prepared = prepared(&method, &frame).unwrap();
        let expected = prepared.define(&frame).unwrap();
        // The shaders of the other cases are those of the shared tests.
        let devices = if number == 0 { 2 } else { 1 };
        let all = Device::all_for_tests().unwrap();
        for device in all.into_iter().rev().take(2).rev().take(devices) {
            let got = run(&device, &frame, &method);
            support::compare(
                &format!("rdfc {name} {}", device.name()),
                "rdfc",
                &expected,
                &got,
            );
        }
    }
}

/// A small scene without noise, and its features.
fn scene(size: Size) -> (Image, Frame) {
    let (w, h) = (size.width, size.height);
    let wall = |x: usize, y: usize| (x / 20 + 2 * (y / 24)) as f32;
    let albedo = Image::from_fn(w, h, 3, |x, y, c| {
        0.3 + 0.4 * f32::from(u8::from((x / 4 + y / 4) % 2 == 0)) - 0.1 * c as f32
    });
    let normal = Image::from_fn(w, h, 3, |x, y, c| {
        let t = wall(x, y);
        [t.cos(), t.sin(), 0.0][c]
    });
    let clean = Image::from_fn(w, h, 3, |x, y, c| {
        // A shadow that appears in no feature.
        let shadow = if x + y > 60 { 0.5 } else { 1.0 };
        albedo.get(x, y, c) * (0.5 + 0.2 * wall(x, y)) * shadow
    });
    let mut frame = Frame::new(clean.clone()).unwrap();
    frame.insert(Kind::Albedo, albedo).unwrap();
    frame.insert(Kind::Normal, normal).unwrap();
    (clean, frame)
}

/// Colour, halves and variance of this many samples, each with a standard deviation of its value.
fn sampled(clean: &Image, mut frame: Frame, samples: usize, seed: u64) -> Frame {
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    // The sum of four uniform numbers in -1 … 1 has variance 4/3.
    let mut normal = || (0..4).map(|_| random()).sum::<f32>() / (4.0f32 / 3.0).sqrt();
    let half = samples as f32 / 2.0;
    let mut noisy = |v: f32| v + v * normal() / half.sqrt();
    let (a, b) = (clean.map(&mut noisy), clean.map(&mut noisy));
    let mean = Image::from_fn(clean.width(), clean.height(), 3, |x, y, c| {
        0.5 * (a.get(x, y, c) + b.get(x, y, c))
    });
    let variance = clean.map(|v| v * v / samples as f32);
    frame.insert(Kind::Color, mean).unwrap();
    for (part, image) in [
        (Part::HalfA, a),
        (Part::HalfB, b),
        (Part::Variance, variance),
    ] {
        frame.insert(Layer::new(Kind::Color, part), image).unwrap();
    }
    frame
}

fn error(a: &Image, b: &Image) -> f64 {
    let pairs = a.data().iter().zip(b.data());
    let sum: f64 = pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum();
    sum / a.data().len() as f64
}

#[test]
fn the_error_falls_towards_zero_as_samples_grow() {
    let (clean, features) = scene(Size::new(60, 48));
    let device = Device::open("cpu").unwrap();
    let method = Rdfc::with(|m| m.radius = 5);
    let mut last = f64::INFINITY;
    for samples in [4, 16, 64, 256, 1024] {
        let frame = sampled(&clean, features.clone(), samples, 7);
        let before = error(frame.color().unwrap(), &clean);
        let after = error(run(&device, &frame, &method).color().unwrap(), &clean);
        println!("{samples} samples: {before:.2e} -> {after:.2e}");
        assert!(
            after < 0.5 * before,
            "{samples} samples: {after} of {before}"
        );
        assert!(
            after < 0.5 * last,
            "{samples} samples: {after} after {last}"
        );
        last = after;
    }
    assert!(last < 1e-4);
}

/// A flat wall where each of four samples hits the light or not. Often all agree, and their variance is zero.
#[test]
fn samples_that_agree_by_chance_leave_no_specks() {
    let (w, h) = (48, 36);
    let mut state = 9u64;
    let mut seen = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        f32::from(u8::from(state >> 33 < (7 << 31) / 10))
    };
    let samples: Vec<[f32; 4]> = (0..w * h)
        .map(|_| [seen(), seen(), seen(), seen()])
        .collect();
    let image = |channels: usize, value: &dyn Fn(&[f32]) -> f32| {
        Image::from_fn(w, h, channels, |x, y, _| value(&samples[y * w + x]))
    };
    let mean = |s: &[f32]| s.iter().sum::<f32>() / s.len() as f32;
    let mut frame = Frame::empty(Size::new(w, h)).unwrap();
    for (kind, channels) in [(Kind::Color, 3), (Kind::Visibility, 1)] {
        let mut insert = |part, value: &dyn Fn(&[f32]) -> f32| {
            let layer = Layer::new(kind.clone(), part);
            frame.insert(layer, image(channels, value)).unwrap();
        };
        insert(Part::Mean, &mean);
        insert(Part::HalfA, &|s| mean(&s[..2]));
        insert(Part::HalfB, &|s| mean(&s[2..]));
        insert(Part::Variance, &|s| mean(s) * (1.0 - mean(s)) / 3.0);
    }
    let wall = image(3, &|_| 0.7);
    for device in Device::all_for_tests().unwrap() {
        let off = |variance_floor: bool| {
            let method = Rdfc::with(|m| {
                m.radius = 4;
                m.variance_floor = variance_floor;
            });
            error(run(&device, &frame, &method).color().unwrap(), &wall)
        };
        let (with, without) = (off(true), off(false));
        assert!(
            with < 0.5 * without,
            "{}: {with} with a floor, {without} without",
            device.name()
        );
    }
}

#[test]
fn light_layers_add_up_to_colour() {
    let (clean, features) = scene(Size::new(40, 33));
    let mut frame = sampled(&clean, features, 8, 3);
    let color = frame.color().unwrap().clone();
    let share = |x: usize| 0.2 + 0.6 * f32::from(u8::from(x % 7 < 3));
    let part = |mine: bool| {
        Image::from_fn(40, 33, 3, |x, y, c| {
            color.get(x, y, c) * if mine { share(x) } else { 1.0 - share(x) }
        })
    };
    let lights = ["key", "fill"].map(|n| Kind::Light(n.into()));
    frame.insert(lights[0].clone(), part(true)).unwrap();
    frame.insert(lights[1].clone(), part(false)).unwrap();
    let method = Rdfc::with(|m| m.radius = 4);
    let out = run(&Device::open("cpu").unwrap(), &frame, &method);
    let parts = lights.clone().map(|l| out.get(l).unwrap().clone());
    let sum = Image::from_fn(40, 33, 3, |x, y, c| {
        parts[0].get(x, y, c) + parts[1].get(x, y, c)
    });
    assert!(error(&sum, out.color().unwrap()) < 1e-11);
}

#[test]
fn tiles_of_any_size_give_the_same_picture() {
    let method = Rdfc::with(|m| {
        m.radius = 2;
        m.layers = limpid::method::rdfc::Layers::All;
    });
    let device = &Device::open("cpu").unwrap();
    // Tiles side by side and stacked; they are the same on all devices.
    for (size, tile) in [
        (Size::new(191, 9), 170),
        (Size::new(191, 9), 180),
        (Size::new(9, 191), 170),
    ] {
        let frame = support::frame(size);
        let whole = run(device, &frame, &method);
        let mut options = Options::of(method.prepared(&frame).unwrap());
        options.tile = Some(tile);
        let mut denoiser = Denoiser::new(device, &frame.shape(), &options).unwrap();
        let case = format!("{size} in tiles of {tile} on {}", device.name());
        assert!(denoiser.tile_count() > 1, "{case}");
        let tiled = denoiser.run(&frame).unwrap();
        for (layer, image) in whole.layers() {
            assert!(Some(image) == tiled.get(layer.clone()), "{layer}, {case}");
        }
    }
}

#[test]
fn a_hundred_megapixels_run_in_tiles_of_a_gigabyte() {
    let shape = support::frame(Size::new(8, 8)).shape();
    let shape = shape.resized(Size::new(11_585, 8640));
    let fit = FittedPlan::new(DeviceLimits::Cpu, &shape, &Options::new(Rdfc::default())).unwrap();
    assert!(fit.tile_count() > 1);
    let transient = fit.plan.memory().transient_bytes();
    assert!(transient <= 1 << 30, "{transient} bytes");
}

#[test]
fn defaults_are_those_of_the_thesis() {
    let rdfc = Rdfc::default();
    assert_eq!((rdfc.k_color, rdfc.k_feature), (0.45, 0.6));
    assert_eq!((rdfc.tau, rdfc.tau_features), (1e-3, 1e-4));
    let text = format!(
        "{:?}",
        Rdfc::default()
            .plan(
                &support::frame(Size::new(8, 8)).shape(),
                &rdfc.schedules(limpid::method::Backend::Cpu)[0]
            )
            .unwrap()
            .passes()
            .iter()
            .map(|p| format!("{:?}", p.kernel()))
            .collect::<Vec<_>>()
    );
    // Prefilter, candidates and second pass have the window and patch radii of the pseudocode.
    for wanted in [
        "Nlm { radius: 5, patch: 3, color: Some(1.0)",
        "Nlm { radius: 10, patch: 1, color: Some(0.45)",
        "Nlm { radius: 10, patch: 3, color: Some(0.45)",
        "color: None",
        "Nlm { radius: 1, patch: 3, color: Some(1.0)",
        "Nlm { radius: 5, patch: 3, color: Some(0.45)",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
}

/// `τ` of a position is scaled by the squared maximum in the thesis, by the squared range otherwise.
#[test]
fn the_thesis_scales_by_the_maximum() {
    let mut frame = support::frame(Size::new(12, 9));
    let far = |x: usize| 100.0 + x as f32 / 11.0;
    let position = Image::from_fn(12, 9, 3, |x, _, _| far(x));
    frame.insert(Kind::Position, position).unwrap();
    for (thesis, expected) in [(false, 1.0), (true, 101.0)] {
        let method = Rdfc::with(|m| m.thesis = thesis);
        let made = method.prepared(&frame).unwrap();
        let text = made.value_of("position-range").unwrap();
        assert_eq!(text.parse::<f32>().unwrap(), expected);
    }
}
