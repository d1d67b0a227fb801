//! Dual-domain denoising compared with reference numbers.

use limpid::conformance::{Define, prepared};
use limpid::method::NamedOptions;
use limpid::method::ddid::{Ddid, Noise, Poisson, Quality, Variant};
use limpid::{Denoiser, Device, Frame, Image, Options, Watch};
use std::sync::{Arc, Mutex};

/// The picture of `bench/peers/ddid_2013.py`.
fn picture(width: usize, height: usize, channels: usize, sigma: f64) -> Image {
    let mut state = 1u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24)
    };
    let mut image = Image::new(width, height, channels);
    for c in 0..channels {
        for y in 0..height {
            for x in 0..width {
                let noise = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                let edge = if x + y / 2 > width / 2 { 0.7 } else { 0.3 };
                let v = edge + 0.1 * ((x / 2 + c) % 2) as f64 + sigma * noise;
                image.set(x, y, c, v as f32);
            }
        }
    }
    image
}

const AT: [(usize, usize); 8] = [
    (0, 0),
    (1, 5),
    (11, 9),
    (12, 9),
    (22, 17),
    (3, 16),
    (20, 2),
    (9, 0),
];

const GREY: [f32; 8] = [
    0.308_718_7,
    0.294_451,
    0.800_287_5,
    0.727_069_5,
    0.808_124_4,
    0.387_610_2,
    0.698_300_4,
    0.340_675_4,
];

const COLOR: [[f32; 3]; 8] = [
    [0.320_906, 0.358_993, 0.317_285_5],
    [0.297_858_8, 0.350_677_5, 0.322_026_9],
    [0.804_909_3, 0.696_196_5, 0.825_427_6],
    [0.708_753_1, 0.784_524_5, 0.698_102_5],
    [0.804_949_1, 0.695_785_1, 0.825_067_9],
    [0.407_171_4, 0.285_755_5, 0.369_369_4],
    [0.702_304_2, 0.812_111_3, 0.697_482_5],
    [0.368_181_2, 0.369_567, 0.363_539_6],
];

/// Reference numbers of the authors' program in double precision; the documented tolerance is 0.01 of 255.
#[test]
fn the_first_form_is_exact() {
    let devices = Device::all_for_tests().unwrap();
    for channels in [1, 3] {
        let frame = Frame::new(picture(23, 18, channels, 0.1)).unwrap();
        let method = Ddid::with(|m| {
            m.sigma = Some(0.1);
            m.variant = Variant::Of2013;
        });
        let mut made = vec![method.define(&frame).unwrap()];
        for device in &devices {
            let mut denoiser =
                Denoiser::new(device, &frame.shape(), &Options::new(method.clone())).unwrap();
            made.push(denoiser.run(&frame).unwrap());
        }
        let mut worst = 0.0f32;
        for frame in &made {
            for (i, (x, y)) in AT.into_iter().enumerate() {
                for c in 0..channels {
                    let want = if channels == 1 { GREY[i] } else { COLOR[i][c] };
                    worst = worst.max((frame.color().unwrap().get(x, y, c) - want).abs());
                }
            }
        }
        assert!(worst < 0.01 / 255.0, "{worst}");
    }
}

fn made(method: &Ddid, image: &Image) -> Image {
    let frame = Frame::new(image.clone()).unwrap();
    let device = Device::open("cpu").unwrap();
    let mut denoiser =
        Denoiser::new(&device, &frame.shape(), &Options::new(method.clone())).unwrap();
    denoiser.run(&frame).unwrap().color().unwrap().clone()
}

/// The large windows of the published settings; the conformance test uses small ones.
#[test]
fn large_windows_give_the_definition() {
    let frame = Frame::new(picture(9, 6, 3, 0.1)).unwrap();
    let method = Ddid::with(|m| m.sigma = Some(0.1));
    let expected = method.define(&frame).unwrap();
    for device in Device::all_for_tests().unwrap() {
        let mut denoiser =
            Denoiser::new(&device, &frame.shape(), &Options::new(method.clone())).unwrap();
        let out = denoiser.run(&frame).unwrap();
        let pairs = expected.color().unwrap().data().iter();
        let worst = pairs
            .zip(out.color().unwrap().data())
            .fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
        assert!(worst < 1e-5, "{}: {worst}", device.name());
    }
}

#[test]
fn tiles_leave_no_seam() {
    let frame = Frame::new(picture(72, 66, 1, 0.1)).unwrap();
    let method = Ddid::with(|m| {
        m.sigma = Some(0.1);
        m.quality = Quality::Fast;
    });
    let devices = Device::all_for_tests().unwrap();
    for device in [devices.first().unwrap(), devices.last().unwrap()] {
        let mut options = Options::new(method.clone());
        let mut run = |tile| {
            options.tile = tile;
            let mut denoiser = Denoiser::new(device, &frame.shape(), &options).unwrap();
            let out = denoiser.run(&frame).unwrap();
            (out, denoiser.tile_count())
        };
        let (whole, one) = run(None);
        let (tiled, many) = run(Some(69));
        assert!(one == 1 && many > 1);
        assert_eq!(whole, tiled, "{}", device.name());
    }
}

/// Progress advances during a step, in proportion to the work: the last step is most of it.
#[test]
fn progress_follows_the_work() {
    let frame = Frame::new(picture(40, 60, 1, 0.1)).unwrap();
    let device = Device::open("cpu").unwrap();
    let options = Options::new(Ddid::default());
    let mut denoiser = Denoiser::new(&device, &frame.shape(), &options).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let ears = told.clone();
    let watch = Watch::with_callback(move |share| ears.lock().unwrap().push(share));
    denoiser.run_watched(&frame, &watch).unwrap();
    let told = told.lock().unwrap();
    assert!(*told.last().unwrap() > 0.999, "{told:?}");
    assert!(told.iter().all(|s| (0.0..=1.001).contains(s)), "{told:?}");
    let steps = told.iter().filter(|s| (0.3..0.95).contains(*s)).count();
    assert!(
        steps > 3,
        "the last step tells nothing on its way: {told:?}"
    );
}

/// Nothing to do: noise of 0, by option or by estimate.
#[test]
fn pictures_without_noise_stay_as_they_are() {
    let flat = Image::from_fn(9, 7, 3, |_, _, c| 0.25 * c as f32);
    let frame = Frame::new(flat.clone()).unwrap();
    let method = prepared(&Ddid::default(), &frame).unwrap();
    let out = made(&method, &flat);
    assert!(
        flat.data()
            .iter()
            .zip(out.data())
            .all(|(a, b)| (a - b).abs() < 1e-6)
    );
    let wrong = Ddid::with(|m| {
        *m = method;
        m.sigma = Some(-1.0);
    });
    let device = Device::open("cpu").unwrap();
    assert!(Denoiser::new(&device, &frame.shape(), &Options::new(wrong)).is_err());
}

#[test]
fn options_are_read_as_written() {
    let mut method = Ddid::default();
    method.set("sigma", "25/255").unwrap();
    method.set("noise", "poisson:1/255,0.5").unwrap();
    method.set("variant", "2013").unwrap();
    method.set("quality", "fast").unwrap();
    assert_eq!(method.sigma, Some(25.0 / 255.0));
    let Noise::Poisson(p) = method.noise else {
        panic!("{:?}", method.noise)
    };
    assert_eq!((p.gain, p.read), (1.0 / 255.0, 0.5));
    for wrong in ["poisson:0,1", "poisson:1", "poisson:1,-1", "poison:1,1"] {
        assert!(method.set("noise", wrong).is_err(), "{wrong}");
    }
}

/// A grey wedge with sensor noise: the noise is removed and the mean preserved, in the dark too.
#[test]
fn sensors_keep_their_mean() {
    let (gain, read) = (0.01, 0.02);
    let (width, height) = (64, 48);
    let clean = |x: usize| 0.01 + 0.2 * (x / 16) as f32;
    let mut state = 1u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24)
    };
    let noisy = Image::from_fn(width, height, 1, |x, _, _| {
        // Counts up to the product of uniform numbers that falls below e^-mean.
        let (least, mut product, mut count) = ((-f64::from(clean(x) / gain)).exp(), uniform(), 0.0);
        while product > least {
            product *= uniform();
            count += 1.0;
        }
        let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        (f64::from(gain) * count + f64::from(read) * normal) as f32
    });
    let out = made(
        &Ddid::with(|m| {
            m.noise = Noise::Poisson(Poisson { gain, read });
            m.quality = Quality::Fast;
        }),
        &noisy,
    );
    for band in 0..4 {
        let all = (0..height).flat_map(|y| (16 * band..16 * band + 16).map(move |x| (x, y)));
        let off = |image: &Image| -> (f32, f32) {
            let differences = all.clone().map(|(x, y)| image.get(x, y, 0) - clean(x));
            let count = (16 * height) as f32;
            let mean = differences.clone().sum::<f32>() / count;
            (
                mean,
                (differences.map(|d| d * d).sum::<f32>() / count).sqrt(),
            )
        };
        let ((before, noise), (mean, left)) = (off(&noisy), off(&out));
        assert!(
            (mean - before).abs() < 0.3 * gain,
            "{band}: {mean}, before {before}"
        );
        assert!(left < 0.3 * noise, "{band}: {left}, before {noise}");
    }
}
