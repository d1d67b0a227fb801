//! Properties that users of the network for photographs rely on.

use limpid::conformance::Define;
use limpid::method::camera::Quality;
use limpid::method::{Auto, Backend, Camera, Method};
use limpid::{Denoiser, Device, Frame, Image, Kind, Options};
use safetensors::SafeTensors;

/// A picture with white noise of 20 of 255, and PyTorch's result for it with the same weights, written by `train/photo/export.py`.
const SAMPLES: [(Quality, &[u8]); 2] = [
    (Quality::Fast, include_bytes!("../data/camera.safetensors")),
    (
        Quality::Good,
        include_bytes!("../data/camera-best.safetensors"),
    ),
];

fn sample(bytes: &[u8], name: &str) -> Image {
    let file = SafeTensors::deserialize(bytes).unwrap();
    let tensor = file.tensor(name).unwrap();
    let halves = tensor.data().as_chunks::<2>().0.iter();
    let values = halves.map(|b| half::f16::from_le_bytes(*b).to_f32());
    let [planes, height, width] = tensor.shape()[..] else {
        panic!("{name} has another shape");
    };
    Image::from_planes(width, height, planes, values.collect()).unwrap()
}

fn psnr(a: &Image, b: &Image) -> f64 {
    let pairs = a.data().iter().zip(b.data());
    let sum: f64 = pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum();
    -10.0 * (sum / a.data().len() as f64).log10()
}

fn run(method: &Camera, image: &Image, device: &Device) -> Image {
    let frame = Frame::new(image.clone()).unwrap();
    let method = method.prepared(&frame).unwrap();
    let mut denoiser = Denoiser::new(device, &frame.shape(), &Options::of(method)).unwrap();
    let mut made = denoiser.run(&frame).unwrap();
    made.remove(Kind::Color).unwrap()
}

/// The definition and all devices match PyTorch, and the noise is gone.
#[test]
fn results_are_those_of_the_training() {
    for (quality, bytes) in SAMPLES {
        let method = Camera::with(|o| (o.quality, o.sigma) = (quality, Some(20.0 / 255.0)));
        let (noisy, want) = (sample(bytes, "noisy"), sample(bytes, "result"));
        let defined = method.define(&Frame::new(noisy.clone()).unwrap()).unwrap();
        let mut made = vec![(
            "definition".to_owned(),
            defined.color().unwrap().clone(),
            1e-3,
        )];
        for device in &Device::all_for_tests().unwrap() {
            let limit = match device.backend() {
                Backend::Cpu => 1e-3,
                Backend::Gpu => 4e-3,
            };
            made.push((
                device.name().to_owned(),
                run(&method, &noisy, device),
                limit,
            ));
        }
        for (who, have, limit) in &made {
            for (i, (a, b)) in want.data().iter().zip(have.data()).enumerate() {
                assert!((a - b).abs() < *limit, "{quality} {who} {i}: {b}, not {a}");
            }
        }
        let clean = sample(bytes, "clean");
        let (before, after) = (psnr(&noisy, &clean), psnr(&want, &clean));
        assert!(after > before + 5.0, "{quality}: {before} to {after} dB");
    }
}

/// Quality best is the mean of the results for mirrored pictures, mirrored back.
#[test]
fn best_is_a_mean_of_mirrored_pictures() {
    let (width, height) = (64, 48);
    let mut random = crate::support::Random(7);
    let noise: Vec<f32> = (0..width * height * 3)
        .map(|_| random.next() - 0.5)
        .collect();
    let image = Image::from_fn(width, height, 3, |x, y, c| {
        let edge = if x > y { 0.2 } else { 0.0 };
        0.3 + edge + 0.002 * (x + 20 * c) as f32 + 0.1 * noise[(c * height + y) * width + x]
    });
    let mirrored = |image: &Image, how: usize| {
        Image::from_fn(width, height, 3, |x, y, c| {
            let x = if how & 1 == 0 { x } else { width - 1 - x };
            let y = if how & 2 == 0 { y } else { height - 1 - y };
            image.get(x, y, c)
        })
    };
    let of = |quality| Camera::with(|o| (o.quality, o.sigma) = (quality, Some(0.06)));
    for device in &Device::all_for_tests().unwrap() {
        let best = run(&of(Quality::Best), &image, device);
        let each =
            (0..4).map(|k| mirrored(&run(&of(Quality::Good), &mirrored(&image, k), device), k));
        let each: Vec<Image> = each.collect();
        let limit = match device.backend() {
            Backend::Cpu => 1e-4,
            Backend::Gpu => 4e-3,
        };
        for (i, v) in best.data().iter().enumerate() {
            let mean = each.iter().map(|e| e.data()[i]).sum::<f32>() / 4.0;
            assert!(
                (v - mean).abs() < limit,
                "{} {i}: {v}, not {mean}",
                device.name()
            );
        }
        let off = psnr(&best, &each[0]);
        assert!(
            off < 60.0,
            "{}: nothing was averaged, {off} dB",
            device.name()
        );
    }
}

/// Pictures without noise hardly change.
#[test]
fn clean_pictures_stay() {
    let image = Image::from_fn(96, 64, 3, |x, y, c| {
        0.2 + 0.006 * (x + 20 * c) as f32 + if (x / 8 + y / 8) % 2 == 0 { 0.1 } else { 0.0 }
    });
    for device in &Device::all_for_tests().unwrap() {
        let made = run(&Camera::default(), &image, device);
        let found = psnr(&made, &image);
        assert!(found > 45.0, "{}: {found} dB", device.name());
    }
}

/// Weak white noise is left to the method that knows it better; the network is used for noise as cameras leave it.
#[test]
fn the_network_is_used_where_it_is_better() {
    let picture = |x: usize, y: usize, c: usize| 0.3 + 0.002 * (x + y / 2 + 10 * c) as f32;
    let white = |sigma: f32| {
        let mut random = crate::support::Random(1);
        // Nearly Gaussian, with a standard deviation of 1.
        let mut noise = || (0..12).map(|_| 0.5 * random.next()).sum::<f32>();
        let noise: Vec<f32> = (0..128 * 96 * 3).map(|_| noise()).collect();
        Image::from_fn(128, 96, 3, |x, y, c| {
            picture(x, y, c) + sigma * noise[(c * 96 + y) * 128 + x]
        })
    };
    let blurred = |image: &Image| {
        Image::from_fn(124, 92, 3, |x, y, c| {
            let sum: f32 = (0..9).map(|k| image.get(x + k % 3, y + k / 3, c)).sum();
            sum / 9.0
        })
    };
    use limpid::method::Quality::{Best, Fast, Good};
    for (image, want) in [
        (white(0.015), "eaw"),
        (white(0.15), "camera"),
        (blurred(&white(0.05)), "camera"),
    ] {
        let frame = Frame::new(image).unwrap();
        for (quality, want) in [
            (None, want),
            (Some(Good), want),
            (Some(Best), want),
            (Some(Fast), "eaw"),
        ] {
            let auto = Auto::with(|o| o.quality = quality);
            let chosen = auto.prepared(&frame).unwrap();
            assert_eq!(chosen.name(), want, "{quality:?}: {:?}", chosen.summary());
        }
    }
}
