//! Frames seen with those before and after.

use crate::walk::sequence;
use limpid::method::neural::Quality;
use limpid::method::{Backend, Method, Neural};
use limpid::{Denoiser, Device, Frame, Image, Kind, Layer, Options, Sequence, Size, Watch};
use safetensors::{Dtype, SafeTensors};

/// With the small network, whose plans differ from those of the larger one in sizes only.
fn around(around: usize) -> Neural {
    Neural::with(|m| (m.around, m.quality) = (around, Quality::Fast))
}

/// The results of a sequence, pushed frame by frame.
fn pushed(device: &Device, method: Neural, frames: &[Frame]) -> Vec<Frame> {
    let mut sequence = Sequence::new(device, &Options::new(method));
    let mut out = Vec::new();
    for frame in frames {
        out.extend(sequence.push(frame, &Watch::default()).unwrap());
    }
    out.extend(sequence.finish(&Watch::default()).unwrap());
    out
}

/// The result of a frame by itself.
fn alone(device: &Device, frame: &Frame) -> Frame {
    alone_with(around(0), device, frame)
}

fn alone_with(method: Neural, device: &Device, frame: &Frame) -> Frame {
    let method = method.prepared(frame).unwrap();
    let mut denoiser = Denoiser::new(device, &frame.shape(), &Options::of(method)).unwrap();
    denoiser.run(frame).unwrap()
}

fn layers(frame: &Frame) -> Vec<Layer> {
    let mut all = vec![Layer::COLOR];
    all.extend(
        frame
            .layers()
            .map(|(l, _)| l.clone())
            .filter(|l| *l != Layer::COLOR),
    );
    all
}

fn error(a: &Frame, b: &Image) -> f32 {
    let pairs = a.color().unwrap().data().iter().zip(b.data());
    pairs.map(|(a, b)| (a - b).powi(2)).sum::<f32>() / b.data().len() as f32
}

/// Every device matches the definition, with layers of light, alpha, a change of the exposure, and both ends of the sequence.
#[test]
fn every_device_follows_the_definition() {
    let mut frames = sequence(Size::new(45, 31), 5);
    for (t, frame) in frames.iter_mut().enumerate() {
        let lit = |l: &Layer| *l == Layer::COLOR || matches!(l.kind, Kind::Light(_));
        for layer in layers(frame).into_iter().filter(lit) {
            let image = frame.remove(layer.clone()).unwrap();
            let brighter = image.map(|v| v * (1.0 + t as f32));
            frame.insert(layer, brighter).unwrap();
        }
    }
    let mut turned = around(1);
    turned.turns = Some(2);
    for method in [around(2), turned] {
        follows_the_definition(&method, &frames);
    }
}

fn follows_the_definition(method: &Neural, frames: &[Frame]) {
    let want: Vec<Frame> = (0..frames.len())
        .map(|at| method.define_among(frames, at).unwrap())
        .collect();
    for device in Device::all_for_tests().unwrap() {
        let got = pushed(&device, method.clone(), frames);
        assert_eq!(got.len(), frames.len());
        for (at, (got, want)) in got.iter().zip(&want).enumerate() {
            assert_eq!(layers(got), layers(want));
            for layer in layers(want) {
                let [got, want] = [got, want].map(|f| f.require(layer.clone()).unwrap());
                let values = want.data().iter().zip(got.data());
                let off = values.filter(|(a, b)| (*a - *b).abs() > 4e-3 * (a.abs() + 0.1));
                let share = off.count() as f32 / want.data().len() as f32;
                // Places on the border between two pixels are rounded to either.
                assert!(share < 0.01, "{device:?} {layer} of frame {at}: {share}");
            }
            let changed = error(got, alone(&device, &frames[at]).color().unwrap());
            assert!(
                changed > 1e-5,
                "{device:?} frame {at} sees others: {changed}"
            );
        }
    }
}

/// A sequence and PyTorch's result for its middle frame with the same weights, written by `train/export.py`.
const SAMPLES: [(Quality, &[u8]); 2] = [
    (
        Quality::Fast,
        include_bytes!("../data/neural-frames.safetensors"),
    ),
    (
        Quality::Good,
        include_bytes!("../data/neural-frames-best.safetensors"),
    ),
];

#[test]
fn results_are_those_of_the_training() {
    for (quality, bytes) in SAMPLES {
        let layers = ["color", "albedo", "normal", "depth", "motion"];
        let layers = layers.map(|name| stored(bytes, name));
        let frames: Vec<Frame> = (0..layers[0].len())
            .map(|t| {
                let mut frame = Frame::new(layers[0][t].clone()).unwrap();
                for (layer, kind) in
                    layers[1..]
                        .iter()
                        .zip([Kind::Albedo, Kind::Normal, Kind::Depth, Kind::Motion])
                {
                    frame.insert(kind, layer[t].clone()).unwrap();
                }
                frame
            })
            .collect();
        let middle = frames.len() / 2;
        let want = &stored(bytes, "result")[0];
        let check = |who: &str, have: &Image, limit: f32| {
            for (i, (a, b)) in want.data().iter().zip(have.data()).enumerate() {
                assert!(
                    (a - b).abs() < limit * (a.abs() + 0.1),
                    "{quality} {who}, value {i}: {b}, not {a}"
                );
            }
        };
        let mut method = around(3);
        method.quality = quality;
        let made = method.define_among(&frames, middle).unwrap();
        check("definition", made.color().unwrap(), 1e-3);
        for device in Device::all_for_tests().unwrap() {
            let made = pushed(&device, method.clone(), &frames);
            let limit = match device.backend() {
                Backend::Gpu => 4e-3,
                Backend::Cpu => 1e-3,
            };
            check(&device.name(), made[middle].color().unwrap(), limit);
        }
    }
}

/// The images of a tensor.
fn stored(bytes: &[u8], name: &str) -> Vec<Image> {
    let file = SafeTensors::deserialize(bytes).unwrap();
    let tensor = file.tensor(name).unwrap();
    let values: Vec<f32> = match tensor.dtype() {
        Dtype::F16 => {
            let halves = tensor.data().as_chunks::<2>().0.iter();
            halves
                .map(|b| half::f16::from_le_bytes(*b).to_f32())
                .collect()
        }
        _ => {
            let words = tensor.data().as_chunks::<4>().0.iter();
            words.map(|b| f32::from_le_bytes(*b)).collect()
        }
    };
    let shape = tensor.shape();
    let [planes, height, width] = shape[shape.len() - 3..] else {
        panic!("{name} has another shape");
    };
    values
        .chunks(planes * height * width)
        .map(|v| Image::from_planes(width, height, planes, v.to_vec()).unwrap())
        .collect()
}

/// Light that falls on the left or on the right of edges that move by parts of a pixel, in layers that are mixed per channel.
#[test]
fn parts_of_moving_light_add_up() {
    let size = Size::new(48, 32);
    let mut random = crate::support::Random(5);
    let mut frame = |t: usize| {
        let at = |x: usize| (x as f32 + 0.37 * t as f32) / 5.0;
        let left = |x: usize| f32::from(u8::from(at(x).fract() < 0.5));
        let mut image = |share: &dyn Fn(usize) -> f32| {
            Image::from_fn(size.width, size.height, 3, |x, _, c| {
                share(x) * (1.0 + 0.3 * c as f32) * (1.0 + 0.2 * random.next())
            })
        };
        let key = image(&|x| left(x));
        // Together the two are even: where both have edges, the colour has none.
        let fill = image(&|x| 1.0 - left(x));
        let sum = key.data().iter().zip(fill.data()).map(|(a, b)| a + b);
        let mut color = Image::new(size.width, size.height, 3);
        color.data_mut().copy_from_slice(&sum.collect::<Vec<_>>());
        let mut frame = Frame::new(color).unwrap();
        frame.insert(Kind::Light("key".into()), key).unwrap();
        frame.insert(Kind::Light("fill".into()), fill).unwrap();
        let motion = Image::from_fn(size.width, size.height, 2, |_, _, c| [0.37, 0.21][c]);
        frame.insert(Kind::Motion, motion).unwrap();
        frame
    };
    let frames: Vec<Frame> = (0..5).map(&mut frame).collect();
    for device in Device::all_for_tests().unwrap() {
        for made in pushed(&device, around(2), &frames) {
            let light = |name: &str| made.require(Kind::Light(name.into())).unwrap();
            let (key, fill, color) = (light("key"), light("fill"), made.color().unwrap());
            for (i, color) in color.data().iter().enumerate() {
                let sum = key.data()[i] + fill.data()[i];
                assert!(
                    (sum - color).abs() < 1e-5 * color.abs().max(1.0),
                    "{device:?} {sum} {color}"
                );
            }
        }
    }
}

/// A still wall with noise, lit by so much in each frame.
fn wall(
    count: usize,
    light: impl Fn(usize, usize) -> f32,
    motion: f32,
) -> (Vec<Frame>, Vec<Image>) {
    wall_of(Size::new(64, 48), count, light, motion)
}

fn wall_of(
    size: Size,
    count: usize,
    light: impl Fn(usize, usize) -> f32,
    motion: f32,
) -> (Vec<Frame>, Vec<Image>) {
    let mut random = crate::support::Random(3);
    let frame = |t: usize| {
        let clean = Image::from_fn(size.width, size.height, 3, |x, y, c| {
            light(t, x) * (0.4 + 0.2 * ((x / 9 + y / 7 + c) % 2) as f32)
        });
        let noisy = Image::from_fn(size.width, size.height, 3, |x, y, c| {
            clean.get(x, y, c) * (1.0 + 0.8 * random.next())
        });
        let mut frame = Frame::new(noisy).unwrap();
        let albedo = Image::from_fn(size.width, size.height, 3, |x, y, c| {
            0.4 + 0.2 * ((x / 9 + y / 7 + c) % 2) as f32
        });
        frame.insert(Kind::Albedo, albedo).unwrap();
        let moves = Image::from_fn(size.width, size.height, 2, |_, _, _| motion);
        frame.insert(Kind::Motion, moves).unwrap();
        (frame, clean)
    };
    (0..count).map(frame).unzip()
}

/// The errors of the network that users have when they choose none, and those of its frames one by one.
fn errors(frames: &[Frame], clean: &[Image]) -> [f32; 2] {
    let device = Device::open("cpu").unwrap();
    let usual = |around: usize| Neural::with(|m| m.around = around);
    let mean = |all: &[Frame]| {
        let each = all.iter().zip(clean).map(|(a, b)| error(a, b));
        each.sum::<f32>() / clean.len() as f32
    };
    let by_itself = |f: &Frame| alone_with(usual(0), &device, f);
    let one_by_one: Vec<Frame> = frames.iter().map(by_itself).collect();
    [mean(&pushed(&device, usual(3), frames)), mean(&one_by_one)]
}

#[test]
fn frames_that_stay_help_each_other() {
    let (frames, clean) = wall(7, |_, _| 1.0, 0.0);
    let [blended, alone] = errors(&frames, &clean);
    assert!(blended < 0.5 * alone, "{blended} {alone}");
}

#[test]
fn light_that_moves_is_no_worse_than_frames_one_by_one() {
    // A shadow that moves by four pixels a frame, and a lamp that blinks.
    let shadow = |t: usize, x: usize| if x > 10 + 4 * t { 1.0f32 } else { 0.15 };
    let blinks = |t: usize, _: usize| if t.is_multiple_of(2) { 1.0f32 } else { 0.4 };
    for light in [&shadow as &dyn Fn(usize, usize) -> f32, &blinks] {
        let (frames, clean) = wall(7, light, 0.0);
        let [blended, alone] = errors(&frames, &clean);
        assert!(blended < 1.02 * alone, "{blended} {alone}");
    }
}

#[test]
fn motion_that_leads_nowhere_leaves_frames_alone() {
    for motion in [1e30, -1e30, 500.0] {
        let (frames, clean) = wall_of(Size::new(32, 24), 3, |_, _| 1.0, motion);
        let [blended, alone] = errors(&frames, &clean);
        assert!(
            (blended - alone).abs() <= 1e-6 * alone,
            "{motion}: {blended} {alone}"
        );
    }
}

#[test]
fn as_many_frames_come_out_as_went_in() {
    let device = Device::open("cpu").unwrap();
    for count in 1..=5 {
        let (frames, _) = wall(count, |_, _| 1.0, 0.0);
        assert_eq!(pushed(&device, around(2), &frames).len(), count);
    }
    let told = around(4).prepared(&wall(1, |_, _| 1.0, 0.0).0[0]).unwrap();
    let options = Options::of(told);
    let shape = wall(1, |_, _| 1.0, 0.0).0[0].shape();
    let error = Denoiser::new(&device, &shape, &options).unwrap_err();
    assert!(error.to_string().contains("around"), "{error}");
}

/// In tiles each frame is by itself, comes at once, and says so.
#[test]
fn tiles_know_no_other_frames() {
    let (frames, _) = wall_of(Size::new(620, 20), 3, |_, _| 1.0, 0.0);
    let device = Device::open("cpu").unwrap();
    let mut options = Options::new(around(3));
    options.tile = Some(560);
    let mut sequence = Sequence::new(&device, &options);
    for frame in &frames {
        let made = sequence.push(frame, &Watch::default()).unwrap();
        assert_eq!(made.len(), 1);
        let apart = error(&made[0], alone(&device, frame).color().unwrap());
        assert!(apart < 1e-6, "{apart}");
        let told = sequence.method().summary().unwrap();
        assert!(told.ends_with("without history"), "{told}");
    }
}
