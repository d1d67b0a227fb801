//! The wavelet transform as a whole: plans for GPUs also run on the CPU, images are reconstructed, shrinkage denoises.

use limpid::conformance::{Define, define};
use limpid::definition::dwt::Arrangement;
use limpid::exec::Runner;
use limpid::exec::cpu::{Cpu, CpuRunner};
use limpid::kernel::Target;
use limpid::method::{Backend, Dwt, Idwt, Method, Scale, Shrink, Threshold, schedule};
use limpid::wavelet::Boundary;
use limpid::{
    Denoiser, Device, DeviceLimits, FittedPlan, Frame, Image, Options, Result, Shape, Size, Watch,
    denoise_on,
};
use std::collections::HashSet;

fn noise(width: usize, height: usize, channels: usize) -> Image {
    let mut state = 7u32;
    Image::from_fn(width, height, channels, |_, _, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    })
}

fn difference(a: &Image, b: &Image) -> f32 {
    assert_eq!((a.size(), a.channels()), (b.size(), b.channels()));
    let pairs = a.data().iter().zip(b.data());
    pairs.fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

fn run(method: impl Method + 'static, image: &Image) -> Result<Image> {
    let device = Device::open("cpu")?;
    let frame = Frame::new(image.clone())?;
    let out = denoise_on(&device, &frame, &Options::new(method), &Watch::default())?;
    Ok(out.color()?.clone())
}

#[test]
fn kernels_of_compute_shaders_have_a_cpu_body_too() {
    let cpu = Cpu::new(Some(2)).unwrap();
    let image = noise(23, 18, 3);
    let frame = Frame::new(image).unwrap();
    for wavelet in ["cdf97", "db2"] {
        let (wavelet, levels) = (wavelet.to_owned(), 2);
        let there = Dwt::with(|m| {
            m.wavelet = wavelet.clone();
            m.levels = levels;
        });
        let back = Idwt::with(|m| {
            m.wavelet = wavelet;
            m.levels = levels;
        });
        for method in [&there as &dyn Method, &back] {
            let wanted = define(method, &frame).unwrap();
            for schedule in method.schedules(Backend::Gpu) {
                let plan = method.plan(&frame.shape(), &schedule).unwrap();
                let mut out = frame.clone();
                let textures = [":fragment", ":texture"];
                if textures.iter().any(|t| schedule.as_str().ends_with(t)) {
                    // Only GPUs have textures; the conformance test compares them with the definition.
                    assert!(CpuRunner::new(&cpu, plan).is_err());
                    continue;
                }
                let mut runner = CpuRunner::new(&cpu, plan).unwrap();
                runner.run(&frame, &mut out, &Watch::default()).unwrap();
                let error = difference(out.color().unwrap(), wanted.color().unwrap());
                assert!(error < 1e-4, "{method:?} {schedule}: {error}");
            }
        }
    }
}

/// Most regions of a large image use the code for its inside, and lanes process two quads side by side if rows have an even
/// number of them. From 2²³ quads on they process more rows at a time; that is the maximum that lavapipe binds.
#[test]
fn large_images_are_the_same_on_every_device() {
    let both = ["lifting*:shuffle", "lifting*"];
    let gpu = Device::all_for_tests().unwrap().pop().unwrap();
    assert_eq!(gpu.backend(), Backend::Gpu);
    for (width, height, schedules) in [(2056, 2048, &both[..]), (8190, 4097, &both[..1])] {
        let frame = Frame::new(noise(width, height, 1)).unwrap();
        let (there, back) = (Dwt::default(), Idwt::default());
        for method in [&there as &dyn Method, &back] {
            let on = |device: &Device, schedule: &str| {
                let mut options = Options::of(method.boxed());
                options.schedule = schedule.into();
                let out = denoise_on(device, &frame, &options, &Watch::default()).unwrap();
                out.color().unwrap().clone()
            };
            let wanted = on(&Device::open("cpu").unwrap(), "fused");
            for schedule in schedules {
                let error = difference(&on(&gpu, schedule), &wanted);
                assert!(
                    error < 1e-4,
                    "{method:?} {schedule} {width}x{height}: {error}"
                );
            }
        }
    }
}

#[test]
fn images_come_back_whatever_the_border_is() {
    for (width, height) in [(1, 1), (7, 5), (32, 16), (33, 20)] {
        let image = noise(width, height, 1);
        for boundary in Boundary::all() {
            for wavelet in ["db2", "bior4.4", "coif3"] {
                if boundary == Boundary::Mirror && wavelet == "coif3" {
                    continue;
                }
                let there = Dwt::with(|m| {
                    m.wavelet = wavelet.to_owned();
                    m.levels = 2;
                    m.boundary = boundary;
                });
                let back = Idwt::with(|m| {
                    m.wavelet = wavelet.to_owned();
                    m.levels = 2;
                    m.boundary = boundary;
                    m.size = Some(image.size());
                });
                let packed = run(there, &image).unwrap();
                let error = difference(&run(back, &packed).unwrap(), &image);
                // Smooth and antireflecting borders of short lines grow, and so does rounding.
                assert!(
                    error < 2e-3,
                    "{wavelet} {boundary} {width}x{height}: {error}"
                );
            }
        }
    }
}

#[test]
fn undecimated_and_own_wavelets_come_back() {
    let image = noise(13, 10, 3);
    let own = "predict 0: -0.5 -0.5\nupdate -1: 0.25 0.25\nlow 1.4142135623730951\nhigh 0.7071067811865476";
    for (wavelet, undecimated, layout) in [
        ("sym4", true, Arrangement::Subbands),
        (own, false, Arrangement::Interleaved),
        (own, true, Arrangement::Subbands),
    ] {
        let wavelet = wavelet.to_owned();
        let there = Dwt::with(|m| {
            m.wavelet = wavelet.clone();
            m.undecimated = undecimated;
            m.layout = layout;
        });
        let back = Idwt::with(|m| {
            m.wavelet = wavelet;
            m.undecimated = undecimated;
            m.layout = layout;
        });
        let packed = run(there, &image).unwrap();
        if undecimated {
            assert_eq!(packed.size(), Size::new(13, 100));
        }
        assert!(difference(&run(back, &packed).unwrap(), &image) < 1e-5);
    }
    let same = |wavelet: &str| {
        Dwt::with(|m| {
            m.wavelet = wavelet.to_owned();
            m.scale = Scale::Unit;
        })
    };
    let (a, b) = (
        run(same(own), &image).unwrap(),
        run(same("cdf53"), &image).unwrap(),
    );
    assert!(difference(&a, &b) < 1e-6);
}

#[test]
fn what_does_not_fit_is_told() {
    let image = noise(9, 9, 1);
    let without_size = Idwt::with(|m| m.boundary = Boundary::Zero);
    let error = run(without_size, &image).unwrap_err().to_string();
    assert!(error.contains("size auto: expected"), "{error}");
    let unknown = Dwt::with(|m| m.wavelet = "cfd97".to_owned());
    let error = run(unknown, &image).unwrap_err().to_string();
    assert!(error.contains("cdf97"), "{error}");
}

/// Edges, a ramp and a fine pattern.
fn picture(x: usize, y: usize) -> f32 {
    let disc = (x as f32 - 60.0).hypot(y as f32 - 50.0) < 30.0;
    let stripes = 0.08 * ((x / 2 + y / 3) % 2) as f32 * f32::from(u8::from(y > 80));
    0.2 + 0.3 * (x as f32 / 128.0) + if disc { 0.35 } else { 0.0 } + stripes
}

fn psnr(a: &Image, b: &Image) -> f32 {
    let pairs = a.data().iter().zip(b.data());
    let sum: f32 = pairs.map(|(a, b)| (a - b) * (a - b)).sum();
    -10.0 * (sum / a.data().len() as f32).log10()
}

#[test]
fn shrinkage_takes_noise_out() {
    let clean = Image::from_fn(128, 128, 1, |x, y, _| picture(x, y));
    let grain = noise(128 * 12, 128, 1);
    let sigma = 25.0 / 255.0;
    // The sum of twelve uniform numbers is nearly normal.
    let noisy = Image::from_fn(128, 128, 1, |x, y, _| {
        let sum: f32 = (0..12).map(|i| grain.get(12 * x + i, y, 0)).sum();
        picture(x, y) + sigma * (sum - 6.0)
    });
    let before = psnr(&noisy, &clean);
    assert!((before - 20.2).abs() < 0.3, "{before}");
    for (threshold, gain) in [
        (Threshold::Bayes, 8.4),
        (Threshold::Sure, 8.0),
        (Threshold::Visu, 5.0),
    ] {
        let shrink = Shrink::with(|m| m.threshold = threshold);
        let after = psnr(&run(shrink, &noisy).unwrap(), &clean);
        assert!(after - before > gain, "{threshold:?}: {before} {after}");
    }
}

/// Volumes on every device and schedule: their coefficients are those of the definition, and they are reconstructed.
#[test]
fn volumes_are_the_same_on_every_device() {
    let by = |wavelet: &str, boundary, levels, frames| {
        Dwt::with(|m| {
            m.wavelet = wavelet.to_owned();
            m.boundary = boundary;
            m.levels = levels;
            m.frames = Some(frames);
        })
    };
    let devices = Device::all_for_tests().unwrap();
    for (method, width, height, channels) in [
        (by("cdf97", Boundary::Mirror, 3, 5), 13, 9, 3),
        (by("cdf53", Boundary::Mirror, 1, 2), 40, 33, 1),
        (by("db2", Boundary::Mirror, 2, 6), 7, 11, 1),
        (by("bior2.2", Boundary::Periodization, 2, 8), 12, 8, 3),
        (by("dmey", Boundary::Periodization, 1, 4), 8, 6, 1),
    ] {
        let frames = method.frames.unwrap();
        let frame = Frame::new(noise(width, height * frames, channels)).unwrap();
        let back = Idwt::with(|m| {
            m.wavelet = method.wavelet.clone();
            m.boundary = method.boundary;
            m.levels = method.levels;
            m.frames = method.frames;
        });
        let adjoint = Idwt::with(|m| {
            *m = back.clone();
            m.adjoint = true;
        });
        let there = method.define(&frame).unwrap();
        let again = back.define(&there).unwrap();
        let error = difference(again.color().unwrap(), frame.color().unwrap());
        assert!(error < 2e-5, "{method:?}: {error}");
        let all: [(&dyn Method, &Frame); 3] =
            [(&method, &frame), (&back, &there), (&adjoint, &there)];
        for (method, input) in all {
            let wanted = define(method, input).unwrap();
            for device in &devices {
                let mut mappings = HashSet::new();
                for schedule in method.schedules(device.backend()) {
                    // Frames are transformed level by level with any scheme: a GPU runs one scheme of each mapping.
                    let mapping = schedule
                        .as_str()
                        .split_once(':')
                        .map(|(_, by)| by.to_owned());
                    if !mappings.insert(mapping) && device.backend() == Backend::Gpu {
                        continue;
                    }
                    let mut options = Options::of(method.boxed());
                    options.schedule = schedule.clone().into();
                    let out = denoise_on(device, input, &options, &Watch::default()).unwrap();
                    let error = difference(out.color().unwrap(), wanted.color().unwrap());
                    let name = device.name();
                    assert!(error < 1e-4, "{method:?} {schedule} on {name}: {error}");
                }
            }
        }
    }
}

/// `dmey` truncates an infinite filter: the error of its filters alone is 4e-3.
#[test]
fn approximate_filters_are_solved_for() {
    let image = noise(96, 80, 1);
    let size = Some(Size::new(96, 80));
    for (boundary, undecimated) in [
        (Boundary::Periodization, false),
        (Boundary::Symmetric, false),
        (Boundary::Periodization, true),
    ] {
        let wavelet = "dmey".to_owned();
        let there = Dwt::with(|m| {
            m.wavelet = wavelet.clone();
            m.boundary = boundary;
            m.undecimated = undecimated;
        });
        let back = Idwt::with(|m| {
            m.wavelet = wavelet;
            m.boundary = boundary;
            m.undecimated = undecimated;
            m.size = size.filter(|_| !undecimated);
        });
        let coefficients = run(there, &image).unwrap();
        let defined = back
            .define(&Frame::new(coefficients.clone()).unwrap())
            .unwrap();
        let made = run(back.clone(), &coefficients).unwrap();
        for back in [defined.color().unwrap(), &made] {
            let error = difference(back, &image);
            assert!(error < 2e-5, "{boundary} {undecimated}: {error}");
        }
    }
}

/// Quads per thread, threads, double buffers and textures are the user's choice, for every scheme.
#[test]
fn schemes_take_the_parameters_of_the_generator() {
    let gpu = Device::all_for_tests().unwrap().pop().unwrap();
    assert_eq!(gpu.backend(), Backend::Gpu);
    let frame = Frame::new(noise(150, 83, 1)).unwrap();
    let (there, back) = (Dwt::default(), Idwt::default());
    let coefficients = there.define(&frame).unwrap();
    for (method, input) in [(&there as &dyn Method, &frame), (&back, &coefficients)] {
        let wanted = define(method, input).unwrap();
        for name in [
            "lifting*:4q-32x8",
            "separable-lifting:pipeline-1",
            "separable-lifting:pipeline-2",
            "lifting*:2x2q-16x8",
            "separable-lifting+:3x1q-16x8-double",
            "explosion:1q-16x16-double",
            "kula2016:2q-16x8-texture",
            "separable-convolution*:3q-32x4-double-texture",
            "convolution:1q-16x16",
        ] {
            let found = schedule(method, Backend::Gpu, name).unwrap();
            let mut options = Options::of(method.boxed());
            options.schedule = found.into();
            let out = denoise_on(&gpu, input, &options, &Watch::default()).unwrap();
            let error = difference(out.color().unwrap(), wanted.color().unwrap());
            assert!(error < 1e-4, "{method:?} {name}: {error}");
        }
    }
    // Names of the thesis.
    for (name, listed) in [
        ("kula2016", "lifting-y"),
        ("Monolithic*:shuffle", "lifting*:shuffle"),
        ("explosive#:fragment", "explosion#:fragment"),
    ] {
        let found = schedule(&there, Backend::Gpu, name).unwrap();
        assert_eq!(found.as_str(), listed);
    }
    let found = schedule(&back, Backend::Cpu, "kula2016:strips").unwrap();
    assert_eq!(found.as_str(), "lifting-y:strips");
    for (name, part) in [
        ("lifting*:0q-32x8", "1 to 16"),
        ("lifting*:5x4q-32x8", "1 to 16"),
        ("separable-lifting:pipeline-0", "1 to 16 pairs"),
        ("lifting*:4q-32x8-dubble", "such as 4q-32x8"),
        ("liftin:4q-32x8", "lifting"),
    ] {
        let error = schedule(&there, Backend::Gpu, name)
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{name}: {error}");
    }
    // An error if the device has too little memory.
    let name = "lifting*:16q-32x32-double";
    let mut options = Options::new(there.clone());
    options.schedule = schedule(&there, Backend::Gpu, name).unwrap().into();
    let error = denoise_on(&gpu, &frame, &options, &Watch::default()).unwrap_err();
    assert!(error.to_string().contains("workgroup memory"), "{error}");
    // Only single steps support mirroring for asymmetric wavelets.
    let daubechies = Dwt::with(|m| {
        *m = there;
        m.wavelet = "db2".to_owned();
    });
    assert!(schedule(&daubechies, Backend::Gpu, "lifting*:4q-32x8").is_err());
    assert!(schedule(&daubechies, Backend::Gpu, "separable-lifting:4q-32x8").is_ok());
}

/// Tiles of all sizes, whose threads work apart or together, give the transform; so do sizes that leave a tile nearly empty.
#[test]
fn schemes_run_in_tiles_on_the_cpu() {
    let cpu = Device::open("cpu").unwrap();
    let (there, back) = (Dwt::default(), Idwt::default());
    for (width, height) in [(150, 83), (17, 130), (1, 9)] {
        let frame = Frame::new(noise(width, height, 1)).unwrap();
        let coefficients = there.define(&frame).unwrap();
        for (method, input) in [(&there as &dyn Method, &frame), (&back, &coefficients)] {
            let wanted = define(method, input).unwrap();
            for name in [
                "separable-lifting:strips",
                "lifting*:strips-16x8",
                "explosion*:strips-32x32-shared",
                "convolution:strips-64x16",
                "polyconvolution*:strips-8x64-shared",
            ] {
                let mut options = Options::of(method.boxed());
                options.schedule = schedule(method, Backend::Cpu, name).unwrap().into();
                let out = denoise_on(&cpu, input, &options, &Watch::default()).unwrap();
                let error = difference(out.color().unwrap(), wanted.color().unwrap());
                assert!(error < 1e-4, "{method:?} {name} {width}x{height}: {error}");
            }
        }
    }
    let error = schedule(&there, Backend::Cpu, "lifting*:strips-4x4").unwrap_err();
    assert!(error.to_string().contains("8 to 4096"), "{error}");
}

/// On a device with small bindings, and if tiles are requested, levels run in tiles in the order of the image.
#[test]
fn tiles_leave_no_seam_in_coefficients() {
    let image = noise(201, 150, 1);
    let frame = Frame::new(image).unwrap();
    let devices = Device::all_for_tests().unwrap();
    for (wavelet, levels) in [("cdf97", 2), ("cdf53", 3), ("db2", 2)] {
        let there = Dwt::with(|m| {
            m.wavelet = wavelet.to_owned();
            m.levels = levels;
        });
        let back = Idwt::with(|m| {
            m.wavelet = wavelet.to_owned();
            m.levels = levels;
        });
        let coefficients = there.define(&frame).unwrap();
        for (method, input) in [(&there as &dyn Method, &frame), (&back, &coefficients)] {
            let wanted = define(method, input).unwrap();
            for device in &devices {
                let mut options = Options::of(method.boxed());
                options.tile = Some(128);
                let mut denoiser = Denoiser::new(device, &input.shape(), &options).unwrap();
                assert!(denoiser.tile_count() > 1, "{method:?}");
                let out = denoiser.run(input).unwrap();
                let error = difference(out.color().unwrap(), wanted.color().unwrap());
                assert!(error < 1e-4, "{method:?} on {}: {error}", device.name());
            }
        }
    }
}

#[test]
fn a_hundred_megapixels_run_on_a_gpu_that_binds_little() {
    let small = Target::with(|target| target.binding_bytes = 128 << 20);
    let shape = Shape::color(Size::new(11_585, 8640), 3);
    let limits = DeviceLimits::Gpu(small);
    for method in [&Dwt::default() as &dyn Method, &Idwt::default()] {
        let fit = FittedPlan::new(limits, &shape, &Options::of(method.boxed())).unwrap();
        assert!(fit.tile_count() > 1);
        let largest = fit.plan.slots().iter().map(|s| s.bytes()).max();
        assert!(largest.is_some_and(|b| b <= 128 << 20), "{largest:?}");
    }
    // An error says why, and which options work.
    let shrink = Options::new(Shrink::with(|m| m.sigma = Some(0.1)));
    let error = FittedPlan::new(limits, &shape, &shrink).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("MiB") && error.contains("CPU"), "{error}");
}
