//! Dual-domain denoising against numbers made elsewhere.

use limpid::method::Method;
use limpid::method::ddid::{Ddid, Variant};
use limpid::{Denoiser, Device, Frame, Image, Options};

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

/// The authors' program in double precision gave these numbers; 0.01 of 255 is what is promised.
#[test]
fn the_first_form_is_exact() {
    for channels in [1, 3] {
        let frame = Frame::new(picture(23, 18, channels, 0.1)).unwrap();
        let method = Ddid {
            sigma: Some(0.1),
            variant: Variant::Of2013,
            ..Ddid::default()
        };
        let mut made = vec![method.define(&frame).unwrap()];
        for device in Device::all_for_tests().unwrap() {
            let mut denoiser =
                Denoiser::new(&device, &frame.shape(), &Options::new(method.clone())).unwrap();
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

#[test]
fn tiles_leave_no_seam() {
    let frame = Frame::new(picture(150, 90, 1, 0.1)).unwrap();
    let method = Ddid {
        sigma: Some(0.1),
        quality: Quality::Fast,
        ..Ddid::default()
    };
    for device in Device::all_for_tests().unwrap() {
        let mut options = Options::new(method.clone());
        let mut run = |tile| {
            options.tile = tile;
            let mut denoiser = Denoiser::new(&device, &frame.shape(), &options).unwrap();
            let out = denoiser.run(&frame).unwrap();
            (out, denoiser.tile_count())
        };
        let (whole, one) = run(None);
        let (tiled, many) = run(Some(85));
        assert!(one == 1 && many > 1);
        assert_eq!(whole, tiled, "{}", device.name());
    }
}

/// Nothing to do: noise of 0, by option or by estimate.
#[test]
fn pictures_without_noise_stay_as_they_are() {
    let flat = Image::from_fn(9, 7, 3, |_, _, c| 0.25 * c as f32);
    let frame = Frame::new(flat.clone()).unwrap();
    let mut method = Ddid::default();
    method.prepare(&frame).unwrap();
    assert_eq!(method.sigma, Some(0.0));
    let out = made(&method, &flat);
    assert!(
        flat.data()
            .iter()
            .zip(out.data())
            .all(|(a, b)| (a - b).abs() < 1e-6)
    );
    assert!(
        Ddid {
            sigma: Some(-1.0),
            ..method
        }
        .steps()
        .is_err()
    );
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

/// The mean of transformed counts, taken back, is the mean of counts; their deviation is 1.
#[test]
fn counts_are_stabilised_and_come_back_unbiased() {
    for (gain, read) in [(1.0, 0.0), (0.01, 0.0), (1.0, 2.0)] {
        let noise = Poisson { gain, read };
        for mean in [0.5f64, 1.0, 2.0, 5.0, 20.0, 100.0] {
            let (mut first, mut second) = (0.0, 0.0);
            // Poisson's probabilities times a normal density on a grid of 1/8.
            let mut chance = (-mean).exp();
            for count in 0..400 {
                let spread = f64::from(read / gain);
                let grid = if spread > 0.0 { -48..=48 } else { 0..=0 };
                let density = |i: i32| {
                    let u = f64::from(i) / 8.0;
                    (u, (-0.5 * u * u).exp())
                };
                let total: f64 = grid.clone().map(|i| density(i).1).sum();
                for i in grid {
                    let (u, weight) = density(i);
                    let value = (f64::from(count) + spread * u) * f64::from(gain);
                    let d = f64::from(noise.stabilise(value as f32));
                    first += chance * weight / total * d;
                    second += chance * weight / total * d * d;
                }
                chance *= mean / f64::from(count + 1);
            }
            let back = f64::from(noise.restore(first as f32) / gain);
            let allowed = 0.02 + 0.01 * mean;
            assert!(
                (back - mean).abs() < allowed,
                "{noise:?} mean {mean}: {back}"
            );
            if mean >= 5.0 {
                let deviation = (second - first * first).sqrt();
                assert!(
                    (deviation - 1.0).abs() < 0.06,
                    "{noise:?} mean {mean}: {deviation}"
                );
            }
        }
    }
}
