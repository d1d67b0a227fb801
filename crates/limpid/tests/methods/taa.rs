//! Temporal anti-aliasing over a sequence: every schedule on every device matches the definition, frame by frame.

use crate::support;
use limpid::definition::taa::{Settings, taa};
use limpid::method::taa::jitter;
use limpid::method::{Method, Taa};
use limpid::{Denoiser, Device, Frame, Image, Kind, Options, Size};

/// A moving, noisy sequence with motion vectors, some of which lead outside.
fn sequence(size: Size, channels: usize, count: usize) -> Vec<Frame> {
    let (w, h) = (size.width, size.height);
    let mut state = 7u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    (0..count)
        .map(|t| {
            let color = Image::from_fn(w, h, channels, |x, y, c| {
                let edge = f32::from(u8::from((x + t) / 5 % 2 == y / 4 % 2));
                0.2 + 0.5 * edge + 0.1 * c as f32 + 0.3 * noise()
            });
            let mut frame = Frame::new(color).unwrap();
            let motion = Image::from_fn(w, h, 2, |x, y, c| {
                [1.0, -0.3][c] + 0.07 * ((x + 2 * y) % 9) as f32
            });
            frame.insert(Kind::Motion, motion).unwrap();
            frame
        })
        .collect()
}

#[test]
fn every_schedule_follows_the_definition_over_time() {
    for (size, channels) in [
        (Size::new(1, 1), 3),
        (Size::new(13, 9), 3),
        (Size::new(34, 21), 1),
    ] {
        let frames = sequence(size, channels, 4);
        for method in [
            Taa::default(),
            Taa::with(|m| {
                m.gamma = 0.75;
                m.blend = 0.4;
                m.radius = 4;
                m.highlights = 3.0;
                m.soften = 0.25;
                m.cubic = true;
            }),
        ] {
            let mut expected: Vec<Image> = Vec::new();
            for frame in &frames {
                let step = Settings {
                    radius: method.radius,
                    gamma: method.gamma,
                    blend: method.blend,
                    chroma: 0.0,
                    discount: false,
                    highlights: method.highlights,
                    soften: method.soften,
                    cubic: method.cubic,
                };
                let motion = frame.get(Kind::Motion);
                let made = taa(frame.color().unwrap(), motion, expected.last(), step);
                expected.push(made);
            }
            for device in Device::all_for_tests().unwrap() {
                for schedule in method.schedules(device.backend()) {
                    let mut options = Options::new(method.clone());
                    options.schedule = schedule.clone().into();
                    let mut denoiser =
                        Denoiser::new(&device, &frames[0].shape(), &options).unwrap();
                    for (t, (frame, want)) in frames.iter().zip(&expected).enumerate() {
                        let got = denoiser.run(frame).unwrap();
                        let case = format!("taa {schedule} {} {size} {t}", device.name());
                        let want = Frame::new(want.clone()).unwrap();
                        support::compare(&case, "taa", &want, &got);
                    }
                }
            }
        }
    }
}

fn denoiser(frame: &Frame, method: Taa) -> Denoiser {
    let device = Device::open("cpu").unwrap();
    Denoiser::new(&device, &frame.shape(), &Options::new(method)).unwrap()
}

#[test]
fn a_jittered_edge_becomes_its_coverage() {
    // A slanted half-plane, sampled at one point per pixel.
    let covered = |x: f32, y: f32| f32::from(u8::from(x + 0.3 * y < 8.1));
    let (w, h) = (16, 12);
    let sampled = |t: usize| {
        let [jx, jy] = jitter(t);
        let value = |x: usize, y: usize, _| covered(x as f32 + jx, y as f32 + jy);
        Frame::new(Image::from_fn(w, h, 3, value)).unwrap()
    };
    let area = Image::from_fn(w, h, 1, |x, y, _| {
        let at = |i: usize, o: usize| o as f32 + (i as f32 + 0.5) / 16.0 - 0.5;
        let hits = (0..256).map(|k| covered(at(k % 16, x), at(k / 16, y)));
        hits.sum::<f32>() / 256.0
    });
    let worst = |image: &Image| {
        let off = |(a, b): (&f32, &f32)| (a - b).abs();
        let pairs = image.plane(0).iter().zip(area.plane(0));
        pairs.map(off).fold(0.0f32, f32::max)
    };
    let mut denoiser = denoiser(&sampled(0), Taa::default());
    let mut last = sampled(0);
    for t in 0..64 {
        last = denoiser.run(&sampled(t)).unwrap();
    }
    let (raw, made) = (
        worst(sampled(0).color().unwrap()),
        worst(last.color().unwrap()),
    );
    assert!(
        raw > 0.4 && made < 0.2,
        "one frame {raw}, the sequence {made}"
    );
}

#[test]
fn what_the_frame_does_not_allow_does_not_stay() {
    let bright = Frame::new(Image::from_fn(8, 8, 3, |_, _, _| 10.0)).unwrap();
    let dark = Frame::new(Image::from_fn(8, 8, 3, |_, _, _| 0.5)).unwrap();
    let mut denoiser = denoiser(&bright, Taa::default());
    denoiser.run(&bright).unwrap();
    let ghost = denoiser.run(&dark).unwrap();
    let most = |f: &Frame| {
        f.color()
            .unwrap()
            .data()
            .iter()
            .fold(0.0f32, |m, v| m.max(*v))
    };
    assert!(most(&ghost) < 0.51, "{}", most(&ghost));
    denoiser.reset();
    assert_eq!(denoiser.run(&dark).unwrap(), dark);
}

#[test]
fn jitter_covers_the_pixel_evenly() {
    let points: Vec<[f32; 2]> = (0..8).map(jitter).collect();
    for axis in 0..2 {
        let mean = points.iter().map(|p| p[axis]).sum::<f32>() / 8.0;
        assert!(mean.abs() < 0.07, "{mean}");
        assert!(points.iter().all(|p| p[axis].abs() < 0.5));
    }
}
