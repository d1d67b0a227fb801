//! Properties that users of the filter with learned guides rely on.

use crate::support;
use crate::support::frame;
use crate::walk::sequence;
use limpid::conformance::{Define, prepared};
use limpid::method::neural::Quality;
use limpid::method::{Backend, Method, NamedOptions, Neural};
use limpid::{Denoiser, Device, Error, Frame, Image, Kind, Layer, Options, Size};
use safetensors::{Dtype, SafeTensors};

/// An image and PyTorch's result for it with the same weights, written by `train/export.py`.
const SAMPLES: [(Quality, &[u8]); 2] = [
    (Quality::Fast, include_bytes!("../data/neural.safetensors")),
    (
        Quality::Good,
        include_bytes!("../data/neural-best.safetensors"),
    ),
];

fn sample(bytes: &[u8], name: &str) -> Image {
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
    let [planes, height, width] = tensor.shape()[..] else {
        panic!("{name} has another shape");
    };
    Image::from_planes(width, height, planes, values).unwrap()
}

fn of(quality: Quality) -> Neural {
    let mut method = Neural::default();
    method.quality = quality;
    method
}

/// The small network, whose plans differ from those of the larger one in sizes only.
fn small() -> Neural {
    of(Quality::Fast)
}

fn run(frame: &Frame, device: &Device) -> Frame {
    run_with(&small(), frame, device)
}

fn run_with(method: &Neural, frame: &Frame, device: &Device) -> Frame {
    let method = method.prepared(frame).unwrap();
    let mut denoiser = Denoiser::new(device, &frame.shape(), &Options::of(method)).unwrap();
    denoiser.run(frame).unwrap()
}

/// The definition and CPUs match PyTorch to a thousandth, GPUs, which compute in half precision, to two.
#[test]
fn results_are_those_of_the_training() {
    for (quality, bytes) in SAMPLES {
        let mut frame = Frame::new(sample(bytes, "color")).unwrap();
        for kind in [Kind::Albedo, Kind::Normal, Kind::Depth] {
            let name = Layer::from(kind.clone()).to_string();
            frame.insert(kind, sample(bytes, &name)).unwrap();
        }
        let want = sample(bytes, "result");
        let check = |who: &str, have: &Image, limit: f32| {
            for (i, (a, b)) in want.data().iter().zip(have.data()).enumerate() {
                let allowed = limit * (a.abs() + 0.1);
                assert!(
                    (a - b).abs() < allowed,
                    "{quality} {who}, value {i}: {b}, not {a}"
                );
            }
        };
        let method = prepared(&of(quality), &frame).unwrap();
        check(
            "definition",
            method.define(&frame).unwrap().color().unwrap(),
            1e-3,
        );
        for device in Device::all_for_tests().unwrap() {
            let made = run_with(&of(quality), &frame, &device);
            let limit = match device.backend() {
                Backend::Gpu => 2e-3,
                Backend::Cpu => 1e-3,
            };
            check(&device.name(), made.color().unwrap(), limit);
        }
    }
}

/// Light layers add up to the colour, and alpha stays within its range.
#[test]
fn lights_add_up() {
    let size = Size::new(61, 43);
    let mut frame = frame(size);
    let color = frame.color().unwrap().clone();
    let part = |k: usize| {
        Image::from_fn(size.width, size.height, 3, |x, y, c| {
            let share = 0.2 + 0.6 * ((x * 7 + y * 3) % 11) as f32 / 11.0;
            color.get(x, y, c) * [share, 1.0 - share][k]
        })
    };
    for (k, name) in ["sun", "lamp"].into_iter().enumerate() {
        frame.insert(Kind::Light(name.into()), part(k)).unwrap();
    }
    let qualities = [Quality::Fast, Quality::Good];
    let devices = Device::all_for_tests().unwrap();
    for (device, quality) in devices.iter().flat_map(|d| qualities.map(|q| (d, q))) {
        let made = run_with(&of(quality), &frame, device);
        let layer = |name: &str| made.require(Layer::from(Kind::Light(name.into()))).unwrap();
        let (sun, lamp) = (layer("sun"), layer("lamp"));
        for (i, v) in made.color().unwrap().data().iter().enumerate() {
            let sum = sun.data()[i] + lamp.data()[i];
            assert!(
                (sum - v).abs() < 1e-4 * v.abs().max(0.01),
                "{quality} {}: {sum}, not {v}",
                device.name()
            );
        }
        let alpha = made.get(Kind::Alpha).unwrap().data();
        assert!(alpha.iter().all(|a| (0.4999..=1.0001).contains(a)));
    }
}

/// Tiles give the same image as the whole.
#[test]
fn tiles_leave_no_seam() {
    let frame = frame(Size::new(700, 90));
    for device in Device::all_for_tests().unwrap() {
        let method = prepared(&small(), &frame).unwrap();
        let whole = run(&frame, &device);
        let mut options = Options::new(method);
        options.tile = Some(560);
        let mut denoiser = Denoiser::new(&device, &frame.shape(), &options).unwrap();
        assert!(denoiser.tile_count() > 1, "{}", device.name());
        let tiled = denoiser.run(&frame).unwrap();
        support::compare("neural in tiles", "neural", &whole, &tiled);
    }
}

/// In sequences with motion every schedule on every device matches the definition, frame by frame, with changing exposure.
#[test]
fn sequences_follow_the_definition() {
    let mut frames = sequence(Size::new(37, 22), 4);
    for (t, frame) in frames.iter_mut().enumerate() {
        let color = frame.color().unwrap().clone();
        let brighter = Image::from_fn(37, 22, 3, |x, y, c| color.get(x, y, c) * (1.0 + t as f32));
        let mut next = Frame::new(brighter).unwrap();
        for (layer, image) in frame.layers() {
            if layer.kind != Kind::Color {
                next.insert(layer.clone(), image.clone()).unwrap();
            }
        }
        *frame = next;
    }
    let devices = Device::all_for_tests().unwrap();
    for no_taa in [false, true] {
        let mut method = small();
        method.alpha = 0.3;
        method.no_taa = no_taa;
        let (mut expected, mut history) = (Vec::new(), None);
        for frame in &frames {
            let prepared = prepared(&method, frame).unwrap();
            let (next, left) = prepared.define_next(frame, history.as_ref()).unwrap();
            assert!(left.is_some(), "history counts");
            (history, _) = (left, expected.push(next));
        }
        for device in &devices {
            for schedule in method.schedules(device.backend()) {
                let mut options = Options::new(method.clone());
                options.schedule = schedule.clone().into();
                let mut made = limpid::Sequence::new(device, &options);
                for (t, (frame, want)) in frames.iter().zip(&expected).enumerate() {
                    let got = made.run(frame, &limpid::Watch::default()).unwrap();
                    let case = format!("neural {schedule} {} frame {t}", device.name());
                    support::compare(&case, "neural", want, &got);
                }
            }
        }
    }
}

/// History may show the light of earlier frames, so it is used only where it is asked for.
#[test]
fn frames_of_a_sequence_are_filtered_by_themselves() {
    let device = Device::open("cpu").unwrap();
    let frames = sequence(Size::new(37, 22), 3);
    let watch = limpid::Watch::default();
    let all = |alpha: f32| {
        let mut method = small();
        method.alpha = alpha;
        let mut made = limpid::Sequence::new(&device, &Options::new(method));
        let run = |frame| made.run(frame, &watch).unwrap();
        let out: Vec<Frame> = frames.iter().map(run).collect();
        (out, made.method().summary().unwrap())
    };
    let (out, told) = all(Neural::default().alpha);
    assert!(told.ends_with("without history"), "{told}");
    for (frame, out) in frames.iter().zip(&out) {
        assert_eq!(out, &run(frame, &device));
    }
    let (blended, told) = all(0.3);
    assert!(told.ends_with("with history"), "{told}");
    assert_ne!(blended[2], out[2]);
}

#[test]
fn refused_weights_say_why() {
    let own = include_bytes!("../../weights/guides.safetensors");
    let folder = tempfile::tempdir().unwrap();
    let mut infinite = own.to_vec();
    let end = infinite.len();
    infinite[end - 2..].copy_from_slice(&half::f16::INFINITY.to_le_bytes());
    for (name, bytes, why) in [
        ("absent", None, "no such file"),
        ("short", Some(own[..1000].to_vec()), "header"),
        ("infinite", Some(infinite), "not finite"),
    ] {
        let path = folder.path().join(name);
        if let Some(bytes) = bytes {
            std::fs::write(&path, bytes).unwrap();
        }
        let set = Neural::default().set("weights", path.to_str().unwrap());
        let error = set.unwrap_err();
        let Error::Option { expected, .. } = &error else {
            panic!("{error:?}");
        };
        assert!(expected.starts_with("builtin|FILE"), "{error}");
        assert!(expected.to_lowercase().contains(why), "{error}");
    }
}

/// A file may hold a network of another form; one that does not fit together says where.
#[test]
fn weights_of_other_forms() {
    let folder = tempfile::tempdir().unwrap();
    let best = include_bytes!("../../weights/best.safetensors");
    let path = folder.path().join("larger");
    std::fs::write(&path, best).unwrap();
    let mut method = Neural::default();
    method.set("weights", path.to_str().unwrap()).unwrap();
    let frame = frame(Size::new(33, 20));
    let device = Device::open("cpu").unwrap();
    let larger = run_with(&of(Quality::Good), &frame, &device);
    assert_eq!(run_with(&method, &frame, &device), larger);
    assert_ne!(run_with(&of(Quality::Fast), &frame, &device), larger);

    let file = SafeTensors::deserialize(best).unwrap();
    let without = |left_out: &str| {
        let tensors = file.tensors().into_iter();
        let kept = tensors.filter(|(name, _)| !name.starts_with(left_out));
        safetensors::serialize(kept, None).unwrap()
    };
    let odd = {
        let data = vec![0; 2 * 30];
        let bias = safetensors::tensor::TensorView::new(Dtype::F16, vec![30], &data).unwrap();
        safetensors::serialize([("enc1a.bias", bias)], None).unwrap()
    };
    for (name, bytes, why) in [
        ("lacking", without("dec1a"), "dec1a"),
        ("half", without("enc2b"), "enc2b"),
        ("odd", odd, "multiple of 16"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let set = Neural::default().set("weights", path.to_str().unwrap());
        let error = set.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// With all turns a mirrored image gives the mirrored result, which a single network does not; other numbers are refused.
#[test]
fn all_turns_know_no_direction() {
    // Whole blocks on each side of the axis.
    let size = Size::new(64, 48);
    let frame = frame(size);
    let mirrored = |from: &Frame| {
        let mut out = Frame::empty(size).unwrap();
        for (layer, image) in from.layers() {
            let (w, h) = (image.width(), image.height());
            let flip = Image::from_fn(w, h, image.channels(), |x, y, c| image.get(w - 1 - x, y, c));
            out.insert(layer.clone(), flip).unwrap();
        }
        out
    };
    let device = Device::open("cpu").unwrap();
    let apart = |turns: usize| {
        let mut method = of(Quality::Fast);
        method.turns = Some(turns);
        let one = run_with(&method, &frame, &device);
        let other = mirrored(&run_with(&method, &mirrored(&frame), &device));
        let (one, other) = (one.color().unwrap(), other.color().unwrap());
        let pairs = one.data().iter().zip(other.data());
        let off = |(a, b): (&f32, &f32)| (a - b).abs() / (a.abs() + 0.1);
        pairs.map(off).fold(0.0, f32::max)
    };
    assert!(apart(8) < 1e-3, "{}", apart(8));
    assert!(apart(1) > 1e-2, "{}", apart(1));
    for turns in [0, 9] {
        let mut method = Neural::default();
        method.turns = Some(turns);
        let error = Denoiser::new(&device, &frame.shape(), &Options::new(method)).unwrap_err();
        assert!(error.to_string().contains("turns"), "{error}");
    }
}

/// Quality best is the mean of four turned networks, unless it is told another number.
#[test]
fn best_is_a_mean_of_turned_networks() {
    let frame = frame(Size::new(33, 20));
    let device = Device::open("cpu").unwrap();
    let turned = |quality: Quality, turns: Option<usize>| {
        let method = Neural::with(|m| (m.quality, m.turns) = (quality, turns));
        run_with(&method, &frame, &device)
    };
    assert_eq!(turned(Quality::Best, None), turned(Quality::Good, Some(4)));
    assert_eq!(turned(Quality::Best, Some(1)), turned(Quality::Good, None));
}

/// Small frames, wide ones, and the memory of an 8K frame.
#[test]
fn sizes_from_one_pixel_to_8k() {
    let device = Device::open("cpu").unwrap();
    for (width, height) in [(1, 1), (64, 64), (3, 500), (7680, 9)] {
        let frame = frame(Size::new(width, height));
        let made = run(&frame, &device);
        let values = made.color().unwrap().data();
        assert!(values.iter().all(|v| v.is_finite()), "{width}x{height}");
    }
    let mut shape = frame(Size::new(16, 16)).shape();
    shape.layers.retain(|l, _| l.kind != Kind::Motion);
    shape.size = Size::new(7680, 4320);
    let method = prepared(&Neural::default(), &frame(Size::new(16, 16))).unwrap();
    let mut options = Options::new(method);
    options.memory = Some(8 << 30);
    let fit = limpid::FittedPlan::new(device.limits(), &shape, &options).unwrap();
    assert!(fit.tile_count() > 1 && fit.bytes(2) < 8 << 30);
}

/// Light without albedo, as Cycles writes it, is a picture of its own: it does not get the edges of a floor's tiles.
#[test]
fn light_without_albedo_gets_no_edges_of_textures() {
    let size = Size::new(64, 48);
    let picture = |f: &dyn Fn(usize, usize) -> f32| {
        Image::from_fn(size.width, size.height, 3, |x, y, _| f(x, y))
    };
    let tile = |x: usize, y: usize| {
        if (x / 8 + y / 8).is_multiple_of(2) {
            0.8
        } else {
            0.15
        }
    };
    let grain = |x: usize, y: usize| {
        let hash = (x * 73 + y * 151 + 7).wrapping_mul(2_654_435_761) >> 7;
        0.4 + 0.4 * (hash % 1024) as f32 / 1024.0
    };
    let mut frame = Frame::new(picture(&|x, y| tile(x, y) * grain(x, y))).unwrap();
    let bare = Layer::from(Kind::Light("Diffuse Indirect".into()));
    let key = Layer::from(Kind::Light("key".into()));
    frame.insert(Kind::Albedo, picture(&tile)).unwrap();
    let up = Image::from_fn(size.width, size.height, 3, |_, _, c| {
        f32::from(u8::from(c == 2))
    });
    frame.insert(Kind::Normal, up).unwrap();
    frame.insert(bare.clone(), picture(&grain)).unwrap();
    let half = picture(&|x, y| 0.5 * tile(x, y) * grain(x, y));
    frame.insert(key.clone(), half).unwrap();
    let want = prepared(&small(), &frame).unwrap().define(&frame).unwrap();
    // The mean change from pixel to pixel where tiles meet, over that inside them.
    let light = want.require(bare.clone()).unwrap();
    let change = |edge: bool| {
        let at = |x: usize| x % 8 == 7;
        let xs: Vec<usize> = (0..63).filter(|x| at(*x) == edge).collect();
        let all = xs.iter().flat_map(|x| (0..48).map(|y| (*x, y)));
        let off = all.map(|(x, y)| (light.get(x + 1, y, 0) - light.get(x, y, 0)).abs());
        off.sum::<f32>() / (48 * xs.len()) as f32
    };
    assert!(
        change(true) < 1.3 * change(false),
        "{} at edges, {} elsewhere",
        change(true),
        change(false)
    );
    // Other light has the tiles, as the colour has.
    let key = want.require(key).unwrap();
    assert!(key.get(12, 4, 0) < 0.5 * key.get(4, 4, 0));
    for device in Device::all_for_tests().unwrap() {
        let got = run(&frame, &device);
        support::compare(
            &format!("neural, light, {}", device.name()),
            "neural",
            &want,
            &got,
        );
    }
}
