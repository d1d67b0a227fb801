//! Noise profiles: estimates compared with known noise, and results of methods that use them.

use limpid::method::{Auto, Ddid, Eaw, Method, NamedOptions, Nlm, Quality, Shrink};
use limpid::noise::{Profile, SIDE};
use limpid::{Device, Frame, Image, Options, Watch, denoise_on, metric};

/// Nearly normal numbers of deviation 1.
struct Random(u32);

impl Random {
    fn next(&mut self) -> f32 {
        let uniform = |_| {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (self.0 >> 8) as f32 / (1 << 24) as f32
        };
        (0..12).map(uniform).sum::<f32>() - 6.0
    }

    fn plane(&mut self, width: usize, height: usize) -> Vec<f32> {
        (0..width * height).map(|_| self.next()).collect()
    }
}

const WIDTH: usize = 320;
const HEIGHT: usize = 240;

/// Ramps, discs, stripes and a part with texture: brightness from 0.1 to 0.9.
fn picture(channels: usize) -> Image {
    Image::from_fn(WIDTH, HEIGHT, channels, |x, y, c| {
        let (u, v) = (x as f32 / WIDTH as f32, y as f32 / HEIGHT as f32);
        let disc = f32::from(u8::from((u - 0.3).powi(2) + (v - 0.5).powi(2) < 0.04));
        let stripes = f32::from(u8::from(x > 250 && y < 40 && y / 5 % 2 == 0));
        let texture = if y > 200 {
            0.05 * (x as f32 * 1.3).sin() * (y as f32 * 0.9).cos()
        } else {
            0.0
        };
        0.12 + 0.6 * u + 0.04 * c as f32 * v + 0.2 * disc + 0.1 * stripes + texture
    })
}

/// Means over 2×2 pixels: noise without fine components, rescaled to standard deviation 1.
fn coarse(plane: &[f32], width: usize, height: usize) -> Vec<f32> {
    let at = |x: usize, y: usize| plane[(y % height) * width + x % width];
    (0..width * height)
        .map(|i| {
            let (x, y) = (i % width, i / width);
            0.5 * (at(x, y) + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1))
        })
        .collect()
}

fn noisy(clean: &Image, sigma: impl Fn(usize, f32) -> f32, fine: bool) -> Image {
    let mut random = Random(7);
    let planes: Vec<Vec<f32>> = (0..clean.channels())
        .map(|_| {
            let plane = random.plane(clean.width(), clean.height());
            if fine {
                plane
            } else {
                coarse(&plane, clean.width(), clean.height())
            }
        })
        .collect();
    Image::from_fn(
        clean.width(),
        clean.height(),
        clean.channels(),
        |x, y, c| {
            let v = clean.get(x, y, c);
            v + sigma(c, v) * planes[c][y * clean.width() + x]
        },
    )
}

#[test]
fn strengths_are_found_within_a_tenth() {
    type Model = fn(usize, f32) -> f32;
    let models: [(&str, Model); 4] = [
        ("white", |_, _| 0.05),
        ("weak", |_, _| 0.01),
        ("sensor", |c, v| {
            (0.004 * (1 + c) as f32 * v + 0.0003).sqrt()
        }),
        ("display", |_, v| 0.08 - 0.06 * v),
    ];
    for channels in [1, 3] {
        for (name, model) in models {
            for fine in [true, false] {
                let profile = Profile::estimate(&noisy(&picture(channels), model, fine));
                let mut off = Vec::new();
                for c in 0..channels {
                    for v in [0.2f32, 0.35, 0.5, 0.6] {
                        let (found, known) = (profile.deviation(c, v), model(c, v));
                        off.push(found / known - 1.0);
                    }
                }
                // The mean within a tenth; single entries, where few blocks are smooth, within a sixth.
                let mean = off.iter().sum::<f32>() / off.len() as f32;
                let most = off.iter().fold(0.0f32, |m, o| m.max(o.abs()));
                let case = format!("{name}, {channels} channels, fine {fine}: {off:?}");
                assert!(mean.abs() < 0.1 && most < 1.0 / 6.0, "{case}");
            }
        }
    }
}

/// Large images are sampled.
#[test]
fn large_images_give_the_same_profile() {
    let model = |_: usize, v: f32| (0.004 * v + 0.0003).sqrt();
    let size = (3200, 2400);
    let clean = Image::from_fn(size.0, size.1, 1, |x, y, _| {
        0.12 + 0.6 * x as f32 / size.0 as f32 + 0.02 * (y as f32 * 0.9).cos()
    });
    let profile = Profile::estimate(&noisy(&clean, model, true));
    for v in [0.2f32, 0.35, 0.5, 0.6] {
        let (found, known) = (profile.deviation(0, v), model(0, v));
        assert!((found / known - 1.0).abs() < 0.05, "{v}: {found}, {known}");
    }
}

#[test]
fn spectra_are_found() {
    let clean = picture(3);
    let white = Profile::estimate(&noisy(&clean, |_, _| 0.05, true));
    for component in &white.components {
        assert!((component.deviation - 1.0).abs() < 0.1, "{component:?}");
        for (k, power) in component.spectrum.0.iter().enumerate() {
            assert!((power - 1.0).abs() < 0.4, "{k}: {power}");
        }
        assert!(component.spectrum.fineness() > 0.85);
    }
    // Means over 2×2 pixels have the power (2 cos πf)² along each axis, slightly blurred in a cosine transform of eight.
    let coarse = Profile::estimate(&noisy(&clean, |_, _| 0.05, false));
    for component in &coarse.components {
        let known = |k: usize| {
            let f = |i: usize| 2.0 * (std::f32::consts::PI * i as f32 / 16.0).cos().powi(2);
            f(k / SIDE) * f(k % SIDE) / 1.125f32.powi(2)
        };
        for k in (0..SIDE * SIDE).filter(|k| k / SIDE < 5 && k % SIDE < 5) {
            let (found, known) = (component.spectrum.0[k], known(k));
            assert!(
                (found - known).abs() < 0.35 * known + 0.2,
                "{k}: {found} for {known}"
            );
        }
        assert!(component.spectrum.fineness() < 0.4);
    }
}

#[test]
fn noise_of_luminance_is_found_where_jpeg_removed_that_of_colour() {
    let clean = picture(3);
    let mut random = Random(3);
    let grey = random.plane(WIDTH, HEIGHT);
    let colors: [Vec<f32>; 3] =
        std::array::from_fn(|_| coarse(&random.plane(WIDTH, HEIGHT), WIDTH, HEIGHT));
    for share in [0.1, 0.3] {
        let noisy = Image::from_fn(WIDTH, HEIGHT, 3, |x, y, c| {
            let at = y * WIDTH + x;
            clean.get(x, y, c) + 0.05 * (grey[at] + share * colors[c][at])
        });
        let profile = Profile::estimate(&noisy);
        let known = 0.05 * (1.0f32 + share * share).sqrt();
        for v in [0.2f32, 0.35, 0.5, 0.6] {
            let found = profile.deviation(1, v);
            assert!((found / known - 1.0).abs() < 0.15, "{share} {v}: {found}");
        }
    }
}

/// Images with next to nothing to measure: flat, clipped, tiny, all texture.
#[test]
fn odd_pictures_have_a_profile() {
    let flat = Image::from_fn(64, 64, 3, |_, _, _| 0.5);
    assert!(Profile::estimate(&flat).strength() < 1e-4);
    let mut random = Random(3);
    let clipped = Image::from_fn(64, 64, 3, |_, _, _| (1.0 + 0.1 * random.next()).min(1.0));
    let texture = Image::from_fn(96, 64, 3, |x, y, _| ((x * 7 + y * 13) % 5) as f32 / 5.0);
    for image in [&clipped, &texture, &flat] {
        for size in [1, 2, 7, 31, 33, 64] {
            let part = image.crop(0, 0, limpid::Size::new(size, size));
            let profile = Profile::estimate(&part);
            let all = profile.deviations.iter().flatten();
            assert!(
                all.clone().all(|d| d.is_finite() && *d >= 0.0),
                "{profile:?}"
            );
            assert!(
                Profile::from_json(&profile.to_json()).is_ok(),
                "{profile:?}"
            );
            let out = made(&Auto::default(), &part);
            assert_eq!(out.non_finite(), 0);
        }
    }
}

fn made(method: &dyn Method, image: &Image) -> Image {
    let frame = Frame::new(image.clone()).unwrap();
    let device = Device::open("cpu").unwrap();
    let options = Options::of(method.boxed());
    let out = denoise_on(&device, &frame, &options, &Watch::default()).unwrap();
    out.color().unwrap().clone()
}

fn all() -> Vec<Box<dyn Method>> {
    let mut ddid = Ddid::default();
    ddid.set("quality", "fast").unwrap();
    vec![
        Box::new(Eaw::default()),
        Box::new(Shrink::default()),
        Box::new(Nlm::default()),
        Box::new(ddid),
    ]
}

/// Synthetic images without noise: 8-bit ramps and edges change by less than one 8-bit step.
#[test]
fn pictures_without_noise_stay() {
    let drawn = Image::from_fn(160, 128, 3, |x, y, c| {
        let disc = f32::from(u8::from((x as f32 - 80.0).hypot(y as f32 - 64.0) < 40.0));
        let v = 0.1 + 0.5 * x as f32 / 160.0 + 0.3 * disc * (c as f32 + 1.0) / 3.0;
        (255.0 * v).round() / 255.0
    });
    for method in all() {
        let out = made(method.as_ref(), &drawn);
        let off =
            (out.data().iter().zip(drawn.data())).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
        assert!(255.0 * off < 1.0, "{}: {}", method.name(), 255.0 * off);
    }
}

/// Coarse noise that depends on brightness and channel: every method improves the image with the estimated profile, nearly as
/// much as with the true one.
#[test]
fn noise_as_cameras_have_it_goes() {
    let clean = picture(3);
    let image = noisy(
        &clean,
        |c, v| (0.002 * (1 + c) as f32 * v + 0.0002).sqrt(),
        false,
    );
    let psnr = |image: &Image| metric::psnr(image, &clean, 1.0).unwrap();
    let before = psnr(&image);
    for method in all() {
        let after = psnr(&made(method.as_ref(), &image));
        assert!(
            after > before + 4.0,
            "{}: {before} → {after}",
            method.name()
        );
    }
}

/// The options of a photograph are passed to the chosen method.
#[test]
fn options_are_passed_on() {
    let image = noisy(&picture(3), |_, _| 0.05, true);
    let mut auto = Auto::default();
    auto.set("luminance", "0").unwrap();
    auto.set("chroma", "0").unwrap();
    for quality in ["fast", "good", "best"] {
        auto.set("quality", quality).unwrap();
        let out = made(&auto, &image);
        let off = metric::psnr(&out, &image, 1.0).unwrap();
        assert!(off > 60.0, "{quality}: {off} dB from the input");
    }
    assert_eq!(auto.quality, Some(Quality::Best));
    let wrong = Nlm::with(|m| m.sigma = Some(25.0));
    let error = wrong.prepared(&Frame::new(image).unwrap()).unwrap_err();
    assert!(error.to_string().contains("25/255"), "{error}");
}

/// Noise clipped at black is weaker; measurements there do not apply to other values.
#[test]
fn clipped_parts_do_not_count() {
    let clean = Image::from_fn(WIDTH, HEIGHT, 3, |x, y, c| {
        let (u, v) = (x as f32 / WIDTH as f32, y as f32 / HEIGHT as f32);
        match u < 0.6 {
            true => 0.01 + 0.05 * v,
            false => 0.1 + 1.6 * (u - 0.6) + 0.03 * c as f32,
        }
    });
    let sigma = 0.04;
    for fine in [true, false] {
        let noisy = noisy(&clean, |_, _| sigma, fine).map(|v| v.clamp(0.0, 1.0));
        let profile = Profile::estimate(&noisy);
        for c in 0..3 {
            for value in [0.15, 0.3, 0.6] {
                let found = profile.deviation(c, value);
                let error = found / sigma - 1.0;
                assert!(error.abs() < 0.15, "{fine} channel {c} at {value}: {found}");
            }
        }
    }
}
