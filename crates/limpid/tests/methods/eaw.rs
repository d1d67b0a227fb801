//! Photographs: edge-optimised wavelets remove white noise and preserve edges.

use limpid::method::Eaw;
use limpid::{Device, Frame, Image, Options, Watch, denoise_on, metric};

const SIGMA: f32 = 25.0 / 255.0;

/// Flat fields, ramps, edges and a fine texture.
fn picture(channels: usize) -> Image {
    Image::from_fn(160, 120, channels, |x, y, c| {
        let (u, v) = (x as f32 / 160.0, y as f32 / 120.0);
        let disc = f32::from(u8::from((u - 0.5).powi(2) + (v - 0.5).powi(2) < 0.06));
        let stripes = f32::from(u8::from(x > 120 && y / 6 % 2 == 0));
        0.2 + 0.3 * u + 0.1 * c as f32 * v + 0.3 * disc + 0.15 * stripes
    })
}

fn noisy(clean: &Image) -> Image {
    let mut state = 3u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    // The sum of twelve uniform numbers is nearly normal with standard deviation 1.
    clean.map(|v| v + SIGMA * ((0..12).map(|_| uniform()).sum::<f32>() - 6.0))
}

fn psnr(method: Eaw, channels: usize) -> f64 {
    let clean = picture(channels);
    let frame = Frame::new(noisy(&clean)).unwrap();
    let device = Device::open("cpu").unwrap();
    let out = denoise_on(&device, &frame, &Options::new(method), &Watch::default()).unwrap();
    metric::psnr(out.color().unwrap(), &clean, 1.0).unwrap()
}

#[test]
fn white_noise_goes() {
    let given = Eaw::with(|m| m.sigma = Some(SIGMA));
    for (channels, least) in [(1, LEAST_GREY), (3, LEAST_COLOR)] {
        let known = psnr(given.clone(), channels);
        assert!(known > least, "{channels} channels: {known} dB");
        // The estimated noise level is nearly as good as the known one.
        let estimated = psnr(Eaw::default(), channels);
        assert!(
            (known - estimated).abs() < 0.5,
            "{known} and {estimated} dB"
        );
    }
}

/// For this image, slightly below the measured values; the noisy one has 20.2 dB.
const LEAST_GREY: f64 = 30.0;
const LEAST_COLOR: f64 = 31.0;
