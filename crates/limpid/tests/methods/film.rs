//! Films: every device matches the definition frame by frame, with and without delay; cuts, fades, repeated frames and fast
//! motion leave no ghosts.

use crate::support::{self, Random};
use limpid::method::{Film, Method};
use limpid::{Denoiser, Device, Frame, Image, Options, Sequence, Size, Watch};

/// A function with edges and texture that can be viewed from any position.
fn scene(x: f32, y: f32, c: usize) -> f32 {
    let checks = f32::from(u8::from(
        (x / 9.0).floor() as i64 % 2 == (y / 7.0).floor() as i64 % 2,
    ));
    let waves = (0.31 * x + 0.2 * y).sin() + (0.13 * x - 0.4 * y + c as f32).sin();
    0.3 + 0.25 * checks + 0.08 * waves
}

/// A view of the scene from a position.
fn view(size: Size, channels: usize, at: (f32, f32)) -> Image {
    Image::from_fn(size.width, size.height, channels, |x, y, c| {
        scene(x as f32 + at.0, y as f32 + at.1, c)
    })
}

/// The deviation of uniform noise of this amount.
const AMOUNT: f32 = 0.12;
const SIGMA: f32 = AMOUNT * 0.577;

fn noisy(image: &Image, random: &mut Random) -> Image {
    image.map(|v| v + AMOUNT * random.next())
}

fn film(merge: usize) -> Film {
    Film::with(|m| {
        m.sigma = Some(SIGMA);
        m.merge = merge;
    })
}

/// A pan with a cut in it.
fn pan(size: Size, channels: usize, count: usize) -> Vec<Image> {
    let mut random = Random(5);
    (0..count)
        .map(|t| {
            let jump = if t >= count / 2 { 500.0 } else { 0.0 };
            let at = (1.5 * t as f32 + jump, -0.5 * t as f32);
            noisy(&view(size, channels, at), &mut random)
        })
        .collect()
}

fn push_all(device: &Device, options: &Options, frames: &[Image]) -> Vec<Image> {
    let mut sequence = Sequence::new(device, options);
    let watch = Watch::default();
    let mut out = Vec::new();
    for frame in frames {
        let frame = Frame::new(frame.clone()).unwrap();
        out.extend(sequence.push(&frame, &watch).unwrap());
        // The contents of reused memory must not show.
        sequence.reuse(frame);
    }
    out.extend(sequence.finish(&watch).unwrap());
    out.iter().map(|f| f.color().unwrap().clone()).collect()
}

fn check(case: &str, want: Image, got: &Image) {
    let want = Frame::new(want).unwrap();
    support::compare(case, "film", &want, &Frame::new(got.clone()).unwrap());
}

#[test]
fn every_device_follows_the_definition_over_time() {
    for (size, channels, count, frames) in [
        (Size::new(1, 1), 3, 3, 3),
        (Size::new(61, 43), 3, 7, 5),
        (Size::new(34, 90), 1, 6, 3),
        (Size::new(40, 24), 3, 2, 7),
        (Size::new(19, 23), 3, 1, 5),
    ] {
        let shots = pan(size, channels, count);
        let method = film(frames);
        let late: Vec<Image> = (0..count)
            .map(|t| method.define_at(&shots, t).unwrap())
            .collect();
        let prompt: Vec<Image> = (0..count)
            .map(|t| method.define_at(&shots[..=t], t).unwrap())
            .collect();
        for device in Device::all_for_tests().unwrap() {
            let options = Options::new(method.clone());
            let case = format!("film {size} {frames} {}", device.name());
            let got = push_all(&device, &options, &shots);
            assert_eq!(got.len(), count, "{case}");
            for (t, (want, got)) in late.iter().zip(&got).enumerate() {
                check(&format!("{case} late {t}"), want.clone(), got);
            }
            let shape = Frame::new(shots[0].clone()).unwrap().shape();
            let mut denoiser = Denoiser::new(&device, &shape, &options).unwrap();
            for (t, want) in prompt.iter().enumerate() {
                let frame = Frame::new(shots[t].clone()).unwrap();
                let got = denoiser.run(&frame).unwrap();
                let got = got.color().unwrap();
                check(&format!("{case} prompt {t}"), want.clone(), got);
            }
        }
    }
}

#[test]
fn what_was_started_ends_with_its_film() {
    let (first, second) = (pan(Size::new(40, 24), 3, 4), pan(Size::new(33, 20), 3, 5));
    let options = Options::new(film(5));
    let watch = Watch::default();
    for device in Device::all_for_tests().unwrap() {
        let mut sequence = Sequence::new(&device, &options);
        let mut push = |image: &Image| sequence.push(&Frame::new(image.clone()).unwrap(), &watch);
        let mut got = Vec::new();
        for image in &first[..3] {
            got.extend(push(image).unwrap());
        }
        // A frame without any finite value is an error. It ends the film before it, whose results are returned by the next call.
        assert!(push(&first[3].map(|_| f32::NAN)).is_err());
        for image in first.iter().chain(&second) {
            got.extend(push(image).unwrap());
        }
        got.extend(sequence.finish(&watch).unwrap());
        let films = [&first[..3], &first[..], &second[..]];
        let alone = films.map(|film| push_all(&device, &options, film));
        let count: usize = films.iter().map(|film| film.len()).sum();
        assert_eq!(got.len(), count, "{}", device.name());
        for (got, want) in got.iter().zip(alone.iter().flatten()) {
            check(&device.name(), want.clone(), got.color().unwrap());
        }
    }
}

/// Root mean square of the difference.
fn error(a: &Image, b: &Image) -> f32 {
    let pairs = a.data().iter().zip(b.data());
    let sum: f64 = pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum();
    (sum / a.data().len() as f64).sqrt() as f32
}

/// Denoises noisy frames on the CPU as a film, and one by one; returns the errors of both.
fn errors(merge: usize, clean: &[Image], noise: impl Fn(usize) -> u64) -> Vec<[f32; 2]> {
    let shots: Vec<Image> = clean
        .iter()
        .enumerate()
        .map(|(t, f)| noisy(f, &mut Random(noise(t))))
        .collect();
    let device = Device::open("cpu").unwrap();
    let options = Options::new(film(merge));
    let made = push_all(&device, &options, &shots);
    (0..clean.len())
        .map(|t| {
            let alone = push_all(&device, &options, &shots[t..=t]);
            [error(&made[t], &clean[t]), error(&alone[0], &clean[t])]
        })
        .collect()
}

const SIZE: Size = Size::new(96, 80);

#[test]
fn frames_that_move_help_each_other() {
    let clean: Vec<Image> = (0..7)
        .map(|t| view(SIZE, 3, (2.0 * t as f32, 1.5 * t as f32)))
        .collect();
    for [together, alone] in errors(5, &clean, |t| t as u64) {
        assert!(together < 0.88 * alone, "{together} {alone}");
        assert!(together < 0.5 * SIGMA);
    }
}

#[test]
fn more_frames_are_merged_where_nothing_moves() {
    let clean = vec![view(SIZE, 3, (0.0, 0.0)); 9];
    let middle = |merge: usize| errors(merge, &clean, |t| t as u64)[4][0];
    let [few, usual, most] = [3, 5, 9].map(middle);
    assert!(usual < 0.75 * few, "{usual} {few}");
    assert!(usual < 1.03 * most, "{usual} {most}");
}

#[test]
fn noise_is_measured_again_after_a_cut() {
    let size = Size::new(128, 96);
    // A slow pan, then another location with four times the noise.
    let (clean, shots): (Vec<Image>, Vec<Image>) = (0..16)
        .map(|t| {
            let (jump, amount) = if t < 8 { (0.0, 0.03) } else { (333.0, 0.12) };
            let clean = view(size, 3, (jump + 1.5 * t as f32, 0.0));
            let clean = if t < 8 { clean } else { clean.map(|v| 1.0 - v) };
            let mut random = Random(t);
            let noisy = clean.map(|v| v + amount * random.next());
            (clean, noisy)
        })
        .unzip();
    let device = Device::open("cpu").unwrap();
    let options = Options::new(Film::default());
    let made = push_all(&device, &options, &shots);
    assert_eq!(made.len(), 16);
    let apart = push_all(&device, &options, &shots[8..]);
    for t in 8..16 {
        let [whole, alone, before] =
            [&made[t], &apart[t - 8], &shots[t]].map(|image| error(image, &clean[t]));
        assert!(whole < 1.05 * alone, "frame {t}: {whole} {alone}");
        assert!(whole < 0.6 * before, "frame {t}: {whole} {before}");
    }
    // Given noise is kept.
    let given = Options::new(film(5));
    assert_eq!(push_all(&device, &given, &shots).len(), 16);
}

#[test]
fn cuts_fades_and_fast_motion_are_no_worse_than_frames_alone() {
    let cut: Vec<Image> = (0..6)
        .map(|t| view(SIZE, 3, (if t < 3 { 0.0 } else { 777.0 }, 0.0)))
        .collect();
    let fade: Vec<Image> = (0..6)
        .map(|t| view(SIZE, 3, (0.0, 0.0)).map(|v| v * (1.0 - 0.15 * t as f32)))
        .collect();
    let fast: Vec<Image> = (0..6)
        .map(|t| view(SIZE, 3, (61.0 * t as f32, 0.0)))
        .collect();
    for (name, clean) in [("cut", cut), ("fade", fade), ("fast", fast)] {
        for (t, [together, alone]) in errors(5, &clean, |t| t as u64).into_iter().enumerate() {
            assert!(together < 1.03 * alone, "{name} {t}: {together} {alone}");
        }
    }
}

#[test]
fn soft_things_in_a_fade_are_not_merged_with_others_of_their_brightness() {
    // Noise hides how little these places have in common.
    let soft = |x: f32, y: f32, c: usize| {
        let waves = (0.11 * x + 0.07 * y).sin() * 0.16 + (0.31 * x + 0.2 * y).sin() * 0.05;
        0.55 + waves + (0.06 * x - 0.13 * y + c as f32).sin() * 0.14
    };
    let clean: Vec<Image> = (0..6)
        .map(|t| {
            let at = t as f32;
            Image::from_fn(160, 112, 3, |x, y, c| {
                soft(x as f32 + 1.5 * at, y as f32 + 0.5 * at, c) * (1.0 - 0.12 * at)
            })
        })
        .collect();
    // It was more than alone when all blocks were merged that noise does not tell apart.
    for (merge, most) in [(5, 1.008), (9, 0.995)] {
        let errors = errors(merge, &clean, |t| t as u64);
        let [together, alone] =
            [0, 1].map(|i| errors.iter().map(|e| e[i].powi(2)).sum::<f32>().sqrt());
        assert!(together < most * alone, "{merge}: {together} {alone}");
    }
}

#[test]
fn a_frame_that_is_shown_again_has_no_news() {
    let clean = vec![view(SIZE, 3, (0.0, 0.0)); 5];
    for [together, alone] in errors(5, &clean, |_| 3) {
        assert!(
            (together - alone).abs() < 0.01 * alone,
            "{together} {alone}"
        );
    }
}

#[test]
fn without_noise_nothing_changes() {
    let frames: Vec<Image> = (0..4)
        .map(|t| view(SIZE, 3, (2.0 * t as f32, 0.0)))
        .collect();
    let device = Device::open("cpu").unwrap();
    let film = Film::with(|m| m.sigma = Some(1e-4));
    let made = push_all(&device, &Options::new(film), &frames);
    for (a, b) in made.iter().zip(&frames) {
        assert!(error(a, b) < 2e-4, "{}", error(a, b));
    }
}

#[test]
fn another_size_is_another_film() {
    let device = Device::open("cpu").unwrap();
    let options = Options::new(film(3));
    let (a, b) = (pan(Size::new(30, 20), 3, 3), pan(Size::new(20, 30), 3, 2));
    let both = push_all(&device, &options, &[a.clone(), b.clone()].concat());
    let apart = [
        push_all(&device, &options, &a),
        push_all(&device, &options, &b),
    ]
    .concat();
    assert_eq!(both, apart);
}

#[test]
fn strength_blends_each_frame_with_itself() {
    let device = Device::open("cpu").unwrap();
    let shots = pan(Size::new(30, 20), 3, 4);
    let mut options = Options::new(film(3));
    let full = push_all(&device, &options, &shots);
    options.strength = 0.25;
    let part = push_all(&device, &options, &shots);
    for t in 0..4 {
        for ((f, p), s) in (full[t].data().iter().zip(part[t].data())).zip(shots[t].data()) {
            assert!((s + 0.25 * (f - s) - p).abs() < 1e-6);
        }
    }
    options.strength = 0.0;
    assert_eq!(push_all(&device, &options, &shots), shots);
}

#[test]
fn wrong_options_are_told() {
    let mut method = Film::default();
    method.merge = 4;
    let frame = Frame::new(Image::new(9, 9, 3)).unwrap();
    let error = limpid::denoise(&frame, &Options::new(method)).unwrap_err();
    assert!(error.to_string().contains("3, 5, 7 or 9"), "{error}");
    assert_eq!(Film::default().lookahead(), 4);
}
