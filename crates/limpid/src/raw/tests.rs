//! Simulated sensors: more of the noise goes than of the picture, and brightness stays.

use super::SensorNoise;
use super::first::filtered;
use crate::{Device, Image, Options, Watch};
use limpid_io::dng::Pattern;

const N: usize = 192;

fn pattern() -> Pattern {
    Pattern::new(2, 2, vec![1, 0, 2, 1]).unwrap()
}

/// Edges, ramps and lines, of a colour.
fn light(x: usize, y: usize, c: usize) -> f32 {
    let (x, y) = (x as f32, y as f32);
    let disc = f32::from(u8::from((x - 60.0).hypot(y - 50.0) < 30.0));
    let line = f32::from(u8::from((x + y) as usize % 23 < 3));
    let grey = 0.04 + 0.25 * (y / N as f32) + 0.2 * disc + 0.06 * line;
    grey * [0.5 + 0.2 * disc, 1.0, 0.7 - 0.3 * disc][c]
}

/// The noise of a sensor, nearly normal.
fn noisy(clean: &Image, pattern: &Pattern, noise: &SensorNoise) -> Image {
    let mut state = 3u32;
    let mut normal = || {
        let mut sum = -6.0;
        for _ in 0..12 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            sum += (state >> 8) as f32 / (1 << 24) as f32;
        }
        sum
    };
    Image::from_fn(N, N, 1, |x, y, _| {
        let v = clean.get(x, y, 0);
        v + noise.deviation(pattern.color(x, y), v) * normal()
    })
}

fn error(a: &Image, b: &Image) -> f64 {
    let squares = a
        .data()
        .iter()
        .zip(b.data())
        .map(|(a, b)| f64::from(a - b).powi(2));
    squares.sum::<f64>() / a.data().len() as f64
}

fn mean(image: &Image) -> f64 {
    image.data().iter().map(|v| f64::from(*v)).sum::<f64>() / image.data().len() as f64
}

#[test]
fn noise_of_sensors_is_measured_and_goes() {
    let device = Device::open("cpu").unwrap();
    let known = SensorNoise {
        pairs: [[4e-3, 2e-5]; 3],
    };
    let pattern = pattern();
    let clean = Image::from_fn(N, N, 1, |x, y, _| light(x, y, pattern.color(x, y)));
    let noisy = noisy(&clean, &pattern, &known);
    let found = SensorNoise::measure(&noisy, &pattern);
    for v in [0.05, 0.2, 0.5] {
        let ratio = found.deviation(1, v) / known.deviation(1, v);
        assert!((ratio - 1.0).abs() < 0.25, "{ratio} at {v}: {found:?}");
    }
    let (options, watch) = (Options::default(), Watch::default());
    let stable = known.stabilised(&noisy, &pattern);
    let about = (&pattern, [2.0, 1.0, 1.5], known.stabilised_value(1, 1.0));
    let (made, method) = filtered(&stable, about, (&device, &options, &watch)).unwrap();
    assert_eq!(method, "camera");
    let made = known.restored(&made, &pattern);
    let gain = 10.0 * (error(&noisy, &clean) / error(&made, &clean)).log10();
    assert!(gain > 6.0, "{gain} dB");
    let off = mean(&made) / mean(&clean) - 1.0;
    // A network keeps the light less exactly than a filter whose weights sum to one.
    assert!(off.abs() < 0.01, "{off}");
}

#[test]
fn stabilised_values_come_back() {
    let pattern = &pattern();
    for pairs in [[4e-3, 2e-5], [1e-4, 1e-3], [0.0, 1e-4], [2e-2, 0.0]] {
        let noise = SensorNoise { pairs: [pairs; 3] };
        let image = Image::from_fn(N, N, 1, |x, y, _| {
            0.1 + 0.8 * (x + N * y) as f32 / (N * N) as f32
        });
        let back = noise.restored(&noise.stabilised(&image, pattern), pattern);
        // The inverse is that of a mean of noisy values, a quarter of a step lower at most.
        let most = 0.3 * pairs[0] + 1e-4;
        for (a, b) in back.data().iter().zip(image.data()) {
            assert!((a - b).abs() <= most, "{pairs:?}: {a} for {b}");
        }
    }
}
