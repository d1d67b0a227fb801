//! Properties that users of the à-trous filter rely on.

use crate::support::frame;
use limpid::method::{Atrous, Backend, Method};
use limpid::{Denoiser, Device, Frame, Image, Kind, Layer, Options, Part, Size};

fn run(frame: &Frame, method: &Atrous, device: &Device) -> Frame {
    let method = method.prepared(frame).unwrap();
    let mut denoiser = Denoiser::new(device, &frame.shape(), &Options::of(method)).unwrap();
    denoiser.run(frame).unwrap()
}

/// The frame with its colour split into three lights.
fn lit(size: Size) -> Frame {
    let mut frame = frame(size);
    let color = frame.color().unwrap().clone();
    let share = |k: usize, x: usize, y: usize| match k {
        0 => 0.5 + 0.4 * ((x * 7 + y * 3) % 11) as f32 / 11.0,
        _ => 0.0,
    };
    let part = |k: usize| {
        Image::from_fn(size.width, size.height, 3, |x, y, c| {
            let first = share(0, x, y);
            let factor = [first, 0.7 * (1.0 - first), 0.3 * (1.0 - first)][k];
            color.get(x, y, c) * factor
        })
    };
    for (k, name) in ["sun", "lamp", "rest"].into_iter().enumerate() {
        frame.insert(Kind::Light(name.into()), part(k)).unwrap();
    }
    frame
}

#[test]
fn lights_still_add_up_to_the_beauty() {
    let frame = lit(Size::new(45, 33));
    for device in Device::all_for_tests().unwrap() {
        let out = run(&frame, &Atrous::with(|m| m.levels = 3), &device);
        let color = out.color().unwrap();
        let lights = ["sun", "lamp", "rest"].map(|n| out.require(Kind::Light(n.into())).unwrap());
        let most = color.data().iter().fold(0.0f32, |m, v| m.max(*v));
        for (i, c) in color.data().iter().enumerate() {
            let sum: f32 = lights.iter().map(|l| l.data()[i]).sum();
            assert!(
                (sum - c).abs() <= 1e-4 * most,
                "{}: {sum} is not {c}",
                device.name()
            );
        }
    }
}

#[test]
fn named_lights_only() {
    let frame = lit(Size::new(12, 9));
    let device = Device::open("cpu").unwrap();
    let method = Atrous::with(|m| m.aov = vec!["lamp".into()]);
    let out = run(&frame, &method, &device);
    assert!(out.get(Kind::Light("lamp".into())).is_some());
    assert!(out.get(Kind::Light("sun".into())).is_none());
}

/// Alpha is filtered with the colour's weights: where colour is opaque black next to white, it does not leak.
#[test]
fn alpha_has_the_weights_of_colour() {
    let (w, h) = (24, 16);
    let side = |x: usize| f32::from(u8::from(x < w / 2));
    let mut frame = Frame::new(Image::from_fn(w, h, 3, |x, _, _| side(x))).unwrap();
    let alpha = Image::from_fn(w, h, 1, |x, y, _| {
        side(x) * (0.8 + 0.2 * ((x + y) % 2) as f32)
    });
    frame.insert(Kind::Alpha, alpha).unwrap();
    let method = Atrous::with(|m| m.sigma_color = Some(0.1));
    let out = run(&frame, &method, &Device::open("cpu").unwrap());
    let alpha = out.require(Kind::Alpha).unwrap();
    for x in 0..w {
        let v = alpha.get(x, h / 2, 0);
        assert!(
            if x < w / 2 {
                (v - 0.9).abs() < 0.02
            } else {
                v == 0.0
            },
            "{x}: {v}"
        );
    }
}

/// Noise in a guide with variance does not prevent filtering; edges of the guide do.
#[test]
fn noisy_guides_are_calmed_first() {
    let (w, h) = (40, 30);
    let mut state = 5u32;
    let mut noise = |amount: f32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        amount * ((state >> 8) as f32 / (1 << 23) as f32 - 1.0)
    };
    let side = |x: usize| if x < w / 2 { 1.0 } else { 3.0 };
    let color = Image::from_fn(w, h, 3, |x, _, _| side(x) + noise(0.5));
    let depth = Image::from_fn(w, h, 1, |x, _, _| 10.0 * side(x) + noise(0.6));
    let mut frame = Frame::new(color).unwrap();
    frame.insert(Kind::Depth, depth).unwrap();
    let spread = Image::from_fn(w, h, 1, |_, _, _| 0.12);
    frame
        .insert(Layer::new(Kind::Depth, Part::Variance), spread)
        .unwrap();
    let device = Device::open("cpu").unwrap();
    let error = |no_prefilter: bool| {
        let method = Atrous::with(|m| {
            m.sigma_depth = Some(0.1);
            m.no_prefilter = no_prefilter;
            m.no_firefly_guard = true;
            m.levels = 3;
        });
        let out = run(&frame, &method, &device);
        let image = out.color().unwrap();
        let mut sum = 0.0;
        for y in 0..h {
            for x in 0..w {
                sum += (image.get(x, y, 0) - side(x)).powi(2);
            }
        }
        sum / (w * h) as f32
    };
    let (calm, raw) = (error(false), error(true));
    assert!(calm < 0.3 * raw, "{calm} against {raw}");
}

/// With gains of 1 all details are kept: the result is the input.
#[test]
fn the_plain_transform_reconstructs() {
    let frame = frame(Size::new(37, 21));
    let method = Atrous::with(|m| {
        m.gains = vec![1.0; 5];
        m.sigma_color = Some(1e9);
        m.no_demodulate = true;
        m.no_firefly_guard = true;
    });
    let out = run(&frame, &method, &Device::open("cpu").unwrap());
    for (a, b) in out
        .color()
        .unwrap()
        .data()
        .iter()
        .zip(frame.color().unwrap().data())
    {
        assert!((a - b).abs() < 1e-5, "{a} is not {b}");
    }
}

/// A noisy room: two walls with a textured albedo, a lamp, and outliers of a hundred times the light around them.
fn room(size: Size) -> Frame {
    let (w, h) = (size.width, size.height);
    let hash = |x: usize, y: usize, c: usize| {
        let v = (x * 7919 + y * 104_729 + c * 1_299_709) as u32;
        let v = (v ^ (v >> 15)).wrapping_mul(0x2c1b_3c6d);
        let v = (v ^ (v >> 12)).wrapping_mul(0x297a_2d39);
        (v >> 8) as f32 / 16_777_216.0
    };
    let lamp = |x: usize, y: usize| x < w / 6 && y < h / 6;
    let albedo = |x: usize, y: usize, c: usize| match lamp(x, y) {
        true => 0.0,
        false => 0.2 + 0.15 * c as f32 + 0.3 * f32::from(u8::from(x / 5 % 2 == y / 7 % 2)),
    };
    let color = Image::from_fn(w, h, 3, |x, y, c| {
        let light = 0.5 + 2.0 * (1.0 - x as f32 / w as f32) * (1.0 - y as f32 / h as f32);
        let noise = -(1.0 - hash(x, y, c)).ln();
        let spark = if hash(x, y, 9) > 0.999 { 100.0 } else { 1.0 };
        match lamp(x, y) {
            true => 20.0,
            false => albedo(x, y, c) * light * noise * spark,
        }
    });
    let mut frame = Frame::new(color).unwrap();
    let normal = Image::from_fn(w, h, 3, |x, _, c| {
        f32::from(u8::from(c == usize::from(x > w / 2)))
    });
    let albedo = Image::from_fn(w, h, 3, albedo);
    frame.insert(Kind::Albedo, albedo).unwrap();
    frame.insert(Kind::Normal, normal).unwrap();
    frame
}

/// `--energy` preserves the mean of every channel to a thousandth, guided by local noise as well as by σ.
#[test]
fn energy_keeps_the_mean() {
    let by_sigma = Atrous::with(|m| {
        m.sigma_color = Some(2.0);
        m.sigma_normal = Some(0.3);
    });
    for (w, h) in [(160, 120), (97, 211)] {
        let frame = room(Size::new(w, h));
        for device in Device::all_for_tests().unwrap() {
            for method in [Atrous::default(), by_sigma.clone()] {
                let method = Atrous::with(|m| {
                    *m = method;
                    m.energy = true;
                });
                let made = run(&frame, &method, &device);
                for c in 0..3 {
                    let sum = |frame: &Frame| -> f64 {
                        let plane = frame.color().unwrap().plane(c).iter();
                        plane.map(|v| f64::from(*v)).sum()
                    };
                    let off = sum(&made) / sum(&frame) - 1.0;
                    assert!(
                        off.abs() < 1e-3,
                        "{} {w}x{h} channel {c}: {off}",
                        device.name()
                    );
                }
            }
        }
    }
}

/// Energy cannot be combined with sub-sampled input.
#[test]
fn energy_needs_all_samples() {
    let method = Atrous::with(|m| {
        m.energy = true;
        m.subsample = Some(2);
    });
    let device = Device::open("cpu").unwrap();
    let shape = room(Size::new(16, 16)).shape();
    let error = Denoiser::new(&device, &shape, &Options::new(method)).map(drop);
    assert!(error.unwrap_err().to_string().contains("energy"));
}

/// A clean image: a wall with textured light, a lamp with black albedo, sky.
fn clean(size: Size) -> Frame {
    let (w, h) = (size.width, size.height);
    let lamp = |x: usize, y: usize| x > w / 3 && x < w / 2 && y > h / 3 && y < h / 2;
    let sky = |x: usize| x > 4 * w / 5;
    let color = Image::from_fn(w, h, 3, |x, y, c| match (lamp(x, y), sky(x)) {
        (true, _) => 50.0,
        (_, true) => 3.0,
        _ => 0.3 + 0.2 * f32::from(u8::from(x / 8 % 2 == y / 8 % 2)) + 0.05 * c as f32,
    });
    let mut frame = Frame::new(color).unwrap();
    let shown = |x: usize, y: usize| if lamp(x, y) || sky(x) { 0.0 } else { 0.6 };
    let mut add = |kind: Kind, channels: usize, f: &dyn Fn(usize, usize, usize) -> f32| {
        frame
            .insert(kind, Image::from_fn(w, h, channels, f))
            .unwrap();
    };
    add(Kind::Albedo, 3, &|x, y, _| shown(x, y));
    add(Kind::Normal, 3, &|x, _, c| match sky(x) {
        true => 0.0,
        false => [0.0, 0.0, 1.0][c],
    });
    add(Kind::Depth, 1, &|x, _, _| if sky(x) { 0.0 } else { 5.0 });
    frame
}

/// `color`, with noise of this deviation on the wall.
fn noisy(frame: &Frame, deviation: f32) -> Frame {
    let mut state = 5u32;
    let mut out = frame.clone();
    for v in out.get_mut(Layer::COLOR).unwrap().data_mut() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let even = (state >> 8) as f32 / (1 << 24) as f32 - 0.5;
        if *v < 1.0 {
            *v = (*v + deviation * 3.46 * even).max(0.0);
        }
    }
    out
}

fn error(a: &Frame, b: &Frame, counts: impl Fn(f32) -> bool) -> f64 {
    let (a, b) = (a.color().unwrap(), b.color().unwrap());
    let all = a.data().iter().zip(b.data()).filter(|(_, b)| counts(**b));
    let all: Vec<f64> = all.map(|(a, b)| f64::from(a - b).powi(2)).collect();
    all.iter().sum::<f64>() / all.len() as f64
}

#[test]
fn clean_frames_stay_and_lamps_do_not_bleed() {
    let frame = clean(Size::new(128, 96));
    for device in Device::all_for_tests().unwrap() {
        let out = run(&frame, &Atrous::default(), &device);
        let all = error(&out, &frame, |_| true);
        // Edges of light that appear in no feature look like noise to the pixels beside them, and are slightly smoothed.
        assert!(
            all < 1e-3,
            "{}: clean frame changed by {all}",
            device.name()
        );
        let grainy = noisy(&frame, 0.1);
        let out = run(&grainy, &Atrous::default(), &device);
        // The wall, with a pattern of light that appears in no feature: less than half of the squared noise remains, and the
        // lamp of 50 does not leak into it.
        let wall = error(&out, &frame, |v| v < 1.0);
        assert!(wall < 5e-3, "{}: {wall} is left on the wall", device.name());
        let lamp = error(&out, &frame, |v| v > 10.0).sqrt();
        assert!(lamp < 0.5, "{}: the lamp lost {lamp}", device.name());
    }
}

#[test]
fn depth_alone_acts() {
    // Two planes at different depths with the same colour except for noise: depth must separate them where colour does not.
    let size = Size::new(64, 48);
    let color = Image::from_fn(64, 48, 3, |x, _, _| if x < 32 { 0.4 } else { 0.5 });
    let mut frame = noisy(&Frame::new(color).unwrap(), 0.3);
    let plain = run(&frame, &Atrous::default(), &Device::open("cpu").unwrap());
    let depth = Image::from_fn(
        size.width,
        size.height,
        1,
        |x, _, _| {
            if x < 32 { 1.0 } else { 4.0 }
        },
    );
    frame.insert(Kind::Depth, depth).unwrap();
    for device in Device::all_for_tests().unwrap() {
        let out = run(&frame, &Atrous::default(), &device);
        assert!(error(&out, &plain, |_| true) > 1e-6, "{}", device.name());
        let mean = |from: usize| {
            let plane = out.color().unwrap().plane(0);
            (0..48)
                .map(|y| f64::from(plane[y * 64 + from]))
                .sum::<f64>()
                / 48.0
        };
        assert!((mean(33) - mean(30)).abs() > 0.07, "{}", device.name());
    }
}

/// `1e30`, which can be typed, is no weight, as infinity is.
#[test]
fn a_huge_sigma_is_no_weight() {
    let frame = frame(Size::new(24, 17));
    let device = Device::open("cpu").unwrap();
    let with = |sigma: f32| Atrous::with(|m| m.sigma_color = Some(sigma));
    let typed = run(&frame, &with(1e30), &device);
    let none = run(&frame, &with(f32::INFINITY), &device);
    assert_eq!(typed.color().unwrap().data(), none.color().unwrap().data());
    let plan = |sigma: f32| {
        let schedule = with(sigma).schedules(Backend::Gpu).remove(0);
        with(sigma).plan(&frame.shape(), &schedule).unwrap()
    };
    assert_eq!(plan(1e30).to_string(), plan(f32::INFINITY).to_string());
}
