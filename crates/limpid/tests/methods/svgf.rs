//! Variance-guided filtering over a sequence: every schedule on every device matches the definition, frame by frame.

use crate::support;
use crate::walk::sequence;
use limpid::conformance::Define;
use limpid::definition::svgf::History;
use limpid::method::atrous::Storage;
use limpid::method::{Backend, Method, Svgf};
use limpid::{Denoiser, Device, Frame, Image, Kind, Options, Sequence, Size, Watch};

fn without(frame: &Frame, kinds: &[Kind]) -> Frame {
    let mut left = Frame::empty(frame.size()).unwrap();
    for (layer, image) in frame.layers() {
        if !kinds.contains(&layer.kind) {
            left.insert(layer.clone(), image.clone()).unwrap();
        }
    }
    left
}

/// The results of the definition for a sequence.
fn defined(method: &Svgf, frames: &[Frame]) -> Vec<Frame> {
    let mut history: Option<History> = None;
    let mut made = Vec::new();
    for frame in frames {
        let (next, left) = method.define_next(frame, history.as_ref()).unwrap();
        made.push(next);
        history = Some(left);
    }
    made
}

#[test]
fn every_schedule_follows_the_definition_over_time() {
    let frames = sequence(Size::new(37, 22), 6);
    let from_positions = [Kind::Normal, Kind::Depth, Kind::Id, Kind::Albedo];
    let all = [
        (Svgf::with(|m| m.levels = 3), &[][..]),
        (
            Svgf::with(|m| {
                m.levels = 1;
                m.alpha = 0.05;
            }),
            &from_positions[..],
        ),
        (
            Svgf::with(|m| {
                m.levels = 2;
                m.no_taa = true;
                m.storage = Storage::F16;
            }),
            &[][..],
        ),
    ];
    for (turn, (method, left_out)) in all.into_iter().enumerate() {
        let frames: Vec<Frame> = frames.iter().map(|f| without(f, left_out)).collect();
        let expected = defined(&method, &frames);
        for device in Device::all_for_tests().unwrap() {
            for (k, schedule) in method.schedules(device.backend()).into_iter().enumerate() {
                // A software driver takes long to compile shaders: later settings run with the best schedule and one other.
                let elsewhere = turn > 0 && k != 0 && k != turn;
                if device.backend() == Backend::Gpu && elsewhere {
                    continue;
                }
                let mut options = Options::new(method.clone());
                options.schedule = schedule.clone().into();
                let mut denoiser = Denoiser::new(&device, &frames[0].shape(), &options).unwrap();
                for (t, (frame, want)) in frames.iter().zip(&expected).enumerate() {
                    let got = denoiser.run(frame).unwrap();
                    let case = format!(
                        "svgf {schedule} storage: {:?} {} frame {t}",
                        method.storage,
                        device.name()
                    );
                    support::compare(&case, "svgf", want, &got);
                }
            }
        }
    }
}

#[test]
fn a_frame_without_motion_starts_again() {
    let frames = sequence(Size::new(20, 12), 3);
    let method = Svgf::default();
    let cut = without(&frames[2], &[Kind::Motion]);
    let alone = method.define(&frames[2]).unwrap();
    for device in Device::all_for_tests().unwrap() {
        let mut sequence = Sequence::new(&device, &Options::new(method.clone()));
        let mut run = |frame: &Frame| sequence.run(frame, &Watch::default()).unwrap();
        run(&frames[0]);
        run(&frames[1]);
        support::compare("cut", "svgf", &alone, &run(&cut));
        support::compare("after the cut", "svgf", &alone, &run(&frames[2]));
    }
}

/// A still picture under a light of this strength, each frame with noise of its own.
fn still(light: f32, t: usize) -> Frame {
    let mut frame = sequence(Size::new(32, 20), 1).remove(0);
    let mut state = 99 + t as u32;
    let noisy = frame.color().unwrap().map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        light * (0.5 + (state >> 8) as f32 / (1 << 24) as f32)
    });
    frame.insert(Kind::Color, noisy).unwrap();
    frame.insert(Kind::Motion, Image::new(32, 20, 2)).unwrap();
    frame
}

/// Light that becomes brighter or darker is shown at once; history of a moment ago would remain for many frames.
#[test]
fn changes_of_light_are_followed() {
    let device = Device::open("cpu").unwrap();
    for after in [3.0, 0.2] {
        let method = Svgf::with(|m| m.no_demodulate = true);
        let mut sequence = Sequence::new(&device, &Options::new(method));
        let mut mean = |light: f32, t: usize| {
            let made = sequence.run(&still(light, t), &Watch::default()).unwrap();
            let data = made.color().unwrap().data();
            data.iter().sum::<f32>() / data.len() as f32
        };
        for t in 0..8 {
            let made = mean(1.0, t);
            assert!((made - 1.0).abs() < 0.03, "{made} before the change");
        }
        let made = [mean(after, 8), mean(after, 9)];
        let off = made.map(|made| (made / after - 1.0).abs());
        assert!(off[0] < 0.06 && off[1] < 0.03, "{made:?} of {after}");
    }
}

#[test]
fn a_still_image_becomes_calm() {
    let method = Svgf::with(|m| m.no_demodulate = true);
    let device = Device::open("cpu").unwrap();
    let mut sequence = Sequence::new(&device, &Options::new(method));
    let off = |frame: &Frame| {
        let data = frame.color().unwrap().data();
        data.iter().map(|v| (v - 1.0).powi(2)).sum::<f32>() / data.len() as f32
    };
    let errors: Vec<f32> = (0..12)
        .map(|t| off(&sequence.run(&still(1.0, t), &Watch::default()).unwrap()))
        .collect();
    assert!(errors[11] < 0.5 * errors[0], "{errors:?}");
    assert!(errors[0] < 0.1 * off(&still(1.0, 0)), "{errors:?}");
}

#[test]
fn what_is_missing_is_said() {
    let frame = without(
        &sequence(Size::new(4, 4), 1)[0],
        &[Kind::Depth, Kind::Position],
    );
    let error = Svgf::default().define(&frame).unwrap_err().to_string();
    assert!(error.contains("layer depth is missing"), "{error}");
}

/// Radiance in physical units is far above 1: no step may lose it without history.
#[test]
fn very_bright_light_comes_through_a_first_frame() {
    let mut frame = sequence(Size::new(20, 12), 1).remove(0);
    let bright = frame.color().unwrap().map(|_| 1e6);
    frame.insert(Kind::Color, bright).unwrap();
    let method = Svgf::with(|m| m.no_demodulate = true);
    for device in Device::all_for_tests().unwrap() {
        let mut sequence = Sequence::new(&device, &Options::new(method.clone()));
        let made = sequence.run(&frame, &Watch::default()).unwrap();
        let off = |v: &f32| (v / 1e6 - 1.0).abs();
        let most = made
            .color()
            .unwrap()
            .data()
            .iter()
            .map(off)
            .fold(0.0, f32::max);
        assert!(most < 1e-4, "{}: off by {most}", device.name());
    }
}

/// A clean ceiling with a lamp, whose albedo is black, and sky on the right.
fn clean(size: Size) -> Frame {
    let (w, h) = (size.width, size.height);
    let lamp = |x: usize, y: usize| x > w / 3 && x < w / 2 && y > h / 3 && y < h / 2;
    let sky = |x: usize| x > 4 * w / 5;
    let color = Image::from_fn(w, h, 3, |x, y, c| match (lamp(x, y), sky(x)) {
        (true, _) => 20.0,
        (_, true) => 3.0,
        _ => 0.2 + 0.3 * x as f32 / w as f32 + 0.05 * c as f32,
    });
    let mut frame = Frame::new(color).unwrap();
    let mut add = |kind: Kind, channels: usize, f: &dyn Fn(usize, usize, usize) -> f32| {
        frame
            .insert(kind, Image::from_fn(w, h, channels, f))
            .unwrap();
    };
    add(Kind::Albedo, 3, &|x, y, _| match lamp(x, y) || sky(x) {
        true => 0.0,
        false => 0.6,
    });
    add(Kind::Normal, 3, &|x, _, c| match sky(x) {
        true => 0.0,
        false => [0.0, 0.0, 1.0][c],
    });
    add(Kind::Depth, 1, &|x, _, _| if sky(x) { 0.0 } else { 5.0 });
    add(Kind::Motion, 2, &|_, _, _| 0.0);
    frame
}

#[test]
fn clean_frames_keep_their_light() {
    for size in [Size::new(40, 30), Size::new(97, 61), Size::new(160, 128)] {
        let frame = clean(size);
        for device in Device::all_for_tests().unwrap() {
            let mut sequence = Sequence::new(&device, &Options::new(Svgf::default()));
            for number in 0..5 {
                let out = sequence.run(&frame, &Watch::default()).unwrap();
                let mean = |image: &Image, bright: bool| {
                    let color = frame.color().unwrap().data();
                    let all = image.data().iter().zip(color);
                    let some: Vec<f64> = all
                        .filter(|(_, c)| !bright || **c > 10.0)
                        .map(|(v, _)| f64::from(*v))
                        .collect();
                    some.iter().sum::<f64>() / some.len() as f64
                };
                for bright in [false, true] {
                    let kept =
                        mean(out.color().unwrap(), bright) / mean(frame.color().unwrap(), bright);
                    assert!(
                        (kept - 1.0).abs() < 0.01,
                        "{} {size:?} frame {number}, bright {bright}: {kept}",
                        device.name()
                    );
                }
            }
        }
    }
}

#[test]
fn lights_add_up_to_the_colour_frame_after_frame() {
    let frames = sequence(Size::new(37, 22), 4);
    for device in Device::all_for_tests().unwrap() {
        let mut sequence = Sequence::new(&device, &Options::new(Svgf::default()));
        for (t, frame) in frames.iter().enumerate() {
            let out = sequence.run(frame, &Watch::default()).unwrap();
            let light = |name: &str| out.get(Kind::Light(name.into())).unwrap();
            let (color, key, fill) = (out.color().unwrap(), light("key"), light("fill"));
            for (k, c) in color.data().iter().enumerate() {
                let sum = key.data()[k] + fill.data()[k];
                let off = (sum - c).abs();
                assert!(
                    off <= 1e-4 * c.abs() + 1e-6,
                    "{} frame {t}: {sum} {c}",
                    device.name()
                );
            }
            // They are filtered, not passed through.
            let before = frame.get(Kind::Light("key".into())).unwrap();
            assert!(key.data() != before.data());
            assert!(out.get(Kind::Alpha).is_some());
        }
    }
}

/// A static flat surface of this albedo, with an image that moves over it.
fn moving_picture(albedo: f32, t: usize) -> Frame {
    let (w, h) = (48, 24);
    let stripes = |x: usize| {
        // So faint that it does not count as a change of light.
        if ((x + t) / 12).is_multiple_of(2) {
            0.95
        } else {
            1.0
        }
    };
    let mut frame = Frame::new(Image::from_fn(w, h, 3, |x, _, _| stripes(x))).unwrap();
    let layers = [
        (Kind::Albedo, Image::from_fn(w, h, 3, |_, _, _| albedo)),
        (
            Kind::Normal,
            Image::from_fn(w, h, 3, |_, _, c| f32::from(c == 2)),
        ),
        (Kind::Depth, Image::from_fn(w, h, 1, |_, _, _| 2.0)),
        (Kind::Motion, Image::new(w, h, 2)),
    ];
    for (kind, image) in layers {
        frame.insert(kind, image).unwrap();
    }
    frame
}

/// Reflections do not move with their mirror. A surface with albedo shows the result without special handling.
#[test]
fn mirrors_show_the_present() {
    let device = Device::open("cpu").unwrap();
    let [surface, mirror] = [1.0, 0.0].map(|albedo| {
        let mut sequence = Sequence::new(&device, &Options::new(Svgf::default()));
        let mut error = 0.0;
        for t in 0..8 {
            let frame = moving_picture(albedo, t);
            let made = sequence.run(&frame, &Watch::default()).unwrap();
            error = limpid::metric::mse(made.color().unwrap(), frame.color().unwrap()).unwrap();
        }
        error
    });
    assert!(mirror < 0.6 * surface, "{mirror} against {surface}");
}

/// Edges of objects are blended with their surroundings, but lamps do not leak over theirs.
#[test]
fn edges_are_soft_but_not_those_of_lamps() {
    let device = Device::open("cpu").unwrap();
    let (w, h) = (24, 16);
    let made = |albedo: f32| {
        let near = |x: usize| x < w / 2;
        let mut frame = moving_picture(1.0, 0);
        frame = frame.crop(0, 0, Size::new(w, h));
        let pick = |a: f32, b: f32| move |x: usize, _: usize, _: usize| if near(x) { a } else { b };
        for (kind, image) in [
            (Kind::Color, Image::from_fn(w, h, 3, pick(0.3, 0.9))),
            (Kind::Depth, Image::from_fn(w, h, 1, pick(1.0, 4.0))),
            (Kind::Albedo, Image::from_fn(w, h, 3, pick(1.0, albedo))),
        ] {
            frame.insert(kind, image).unwrap();
        }
        let mut sequence = Sequence::new(&device, &Options::new(Svgf::default()));
        let out = sequence.run(&frame, &Watch::default()).unwrap();
        [2, 11, 12, 21].map(|x| out.color().unwrap().get(x, 8, 0))
    };
    let [far, dark, bright, away] = made(1.0);
    assert!((far - 0.3).abs() < 1e-3 && (away - 0.9).abs() < 1e-3);
    assert!(
        (0.31..0.5).contains(&dark) && (0.5..0.89).contains(&bright),
        "{dark} {bright}"
    );
    let [_, dark, bright, _] = made(0.0);
    assert!(
        (dark - 0.3).abs() < 1e-3 && (bright - 0.9).abs() < 1e-3,
        "{dark} {bright}"
    );
}
