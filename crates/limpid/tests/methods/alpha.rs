//! Colour where nothing is: no method leaves light in clear areas that a file would show as a colour.

use limpid::io::{self, ReadOptions, WriteOptions};
use limpid::method::{METHODS, Use};
use limpid::{Device, Frame, Image, Kind, Options, Watch, denoise_on};

const SIDE: usize = 48;

/// Methods that know no alpha.
const PHOTOGRAPHS: [&str; 5] = ["camera", "ddid", "eaw", "nlm", "shrink"];

/// A noisy surface on the right, nothing on the left: light and alpha are 0 there.
fn frame() -> Frame {
    let mut state = 9u32;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let there = |x: usize| f32::from(u8::from(x >= SIDE / 2));
    let plane = |value: &mut dyn FnMut(usize) -> f32| {
        Image::from_fn(SIDE, SIDE, 3, |x, _, c| there(x) * value(c))
    };
    let mut frame = Frame::new(plane(&mut |_| 0.4 + random())).unwrap();
    let layers = [
        (Kind::Albedo, plane(&mut |c| [0.7, 0.6, 0.5][c])),
        (Kind::Normal, plane(&mut |c| [0.0, 0.0, 1.0][c])),
        (
            Kind::Alpha,
            Image::from_fn(SIDE, SIDE, 1, |x, _, _| there(x)),
        ),
    ];
    for (kind, image) in layers {
        frame.insert(kind, image).unwrap();
    }
    let depth = |x, _, _| if x < SIDE / 2 { f32::INFINITY } else { 3.0 };
    let depth = Image::from_fn(SIDE, SIDE, 1, depth);
    frame.insert(Kind::Depth, depth).unwrap();
    frame
}

#[test]
fn clear_areas_stay_clear_in_every_method_and_format() {
    let folder = tempfile::tempdir().unwrap();
    let frame = frame();
    let (mut tried, mut wrong) = (0, Vec::new());
    for entry in METHODS {
        if entry.used != Use::Denoise {
            continue;
        }
        tried += 1;
        let name = entry.name;
        let options = Options::of((entry.make)());
        let mut clean = denoise_on(
            &Device::open("cpu").unwrap(),
            &frame,
            &options,
            &Watch::default(),
        )
        .unwrap();
        if clean.get(Kind::Alpha).is_none() {
            let alpha = frame.get(Kind::Alpha).unwrap().clone();
            clean.insert(Kind::Alpha, alpha).unwrap();
        }
        let alpha = clean.get(Kind::Alpha).unwrap().data();
        let [low, high] = [f32::min, f32::max].map(|f| alpha.iter().copied().fold(0.5, f));
        assert!(
            low >= 0.0 && high < 1.0001,
            "{name}: alpha from {low} to {high}"
        );
        // Far from the surface nothing is left of its light: a hundredth.
        let light = |image: &Image| {
            let pixels = (0..SIDE).flat_map(|y| (0..8).map(move |x| (x, y)));
            pixels
                .flat_map(|(x, y)| (0..3).map(move |c| (x, y, c)))
                .map(|(x, y, c)| image.get(x, y, c).abs())
                .fold(0.0, f32::max)
        };
        for format in ["exr", "hdr", "tif", "pfm", "png", "webp", "jpg"] {
            let path = folder.path().join(format!("{name}.{format}"));
            io::write(&path, &clean, None, &WriteOptions::default()).unwrap();
            let read = io::read(&path, &ReadOptions::default()).unwrap().frame;
            let found = light(read.color().unwrap());
            // Display values of a hundredth are a tenth.
            let shown = ["png", "webp", "jpg"].contains(&format);
            // Methods for photographs take the surface for noise, and leave some of it in what is black.
            let most = match (PHOTOGRAPHS.contains(&name), shown) {
                (true, false) => 0.3,
                (true, true) => 0.6,
                (false, false) => 0.01,
                // Display values of a hundredth are a tenth.
                (false, true) => 0.1,
            };
            if found > most {
                wrong.push(format!("{name}, {format}: {found}"));
            }
        }
    }
    assert!(tried >= 10, "{tried} methods");
    assert!(wrong.is_empty(), "{wrong:?}");
}
