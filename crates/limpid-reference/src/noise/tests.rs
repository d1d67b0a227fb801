//! Noise and texture, told apart.

use super::Profile;
use limpid_core::Image;

/// Nearly normal numbers of deviation 1.
struct Random(u32);

impl Random {
    fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as f32 / (1 << 24) as f32
    }

    fn next(&mut self) -> f32 {
        (0..12).map(|_| self.uniform()).sum::<f32>() - 6.0
    }

    fn plane(&mut self) -> Vec<f32> {
        (0..N * N).map(|_| self.next()).collect()
    }
}

const N: usize = 256;

/// Blurred repeatedly, of deviation 1 again.
fn blurred(mut plane: Vec<f32>, times: usize) -> Vec<f32> {
    for _ in 0..times {
        plane = blurred_once(&plane);
    }
    let power = plane.iter().map(|v| v * v).sum::<f32>() / (N * N) as f32;
    plane.iter().map(|v| v / power.sqrt()).collect()
}

/// Blades of grass all over: short strokes in all directions, each brighter or darker than what it covers.
fn grass() -> Vec<f32> {
    let mut random = Random(5);
    let mut made = vec![0.4; N * N];
    for _ in 0..12_000 {
        let (x, y) = (random.uniform() * N as f32, random.uniform() * N as f32);
        let (angle, length) = (random.uniform() * 6.3, 4.0 + 24.0 * random.uniform());
        let value = 0.15 + 0.6 * random.uniform();
        for step in 0..(2.0 * length) as usize {
            let s = 0.5 * step as f32;
            let at = |v: f32| (v.rem_euclid(N as f32) as usize).min(N - 1);
            for side in [0.0, 1.0] {
                let (px, py) = (at(x + s * angle.cos() + side), at(y + s * angle.sin()));
                made[py * N + px] = value - 0.08 * side;
            }
        }
    }
    blurred_once(&made)
}

/// A lens, or a demosaicing filter.
fn blurred_once(plane: &[f32]) -> Vec<f32> {
    let at = |x: usize, y: usize| plane[(y % N) * N + x % N];
    let value = |i: usize| {
        let (x, y) = (i % N, i / N);
        let row = |y: usize| 0.25 * at(x, y) + 0.5 * at(x + 1, y) + 0.25 * at(x + 2, y);
        0.25 * row(y) + 0.5 * row(y + 1) + 0.25 * row(y + 2)
    };
    (0..N * N).map(value).collect()
}

/// The root mean square of measured deviations at the values of an image.
fn strength(profile: &Profile, image: &Image) -> f32 {
    let (mut sum, mut count) = (0.0f64, 0.0f64);
    for c in 0..image.channels() {
        for v in image.plane(c) {
            sum += f64::from(profile.deviation(c, *v)).powi(2);
            count += 1.0;
        }
    }
    (sum / count).sqrt() as f32
}

#[test]
fn texture_is_not_noise() {
    let grass = grass();
    for channels in [1, 3] {
        for sigma in [0.0, 2.0, 4.0, 8.0] {
            let mut random = Random(9);
            let image = Image::from_fn(N, N, channels, |x, y, _| {
                let v = grass[y * N + x] + sigma / 255.0 * random.next();
                (255.0 * v.clamp(0.0, 1.0)).round() / 255.0
            });
            let found = 255.0 * strength(&Profile::estimate(&image), &image);
            // One channel may hide its noise; three that are equal but for it may not.
            assert!(
                found < 1.2 * sigma + 0.5,
                "{channels} channels, {sigma}: {found}"
            );
            if channels == 3 && sigma > 0.0 {
                assert!(found > 0.8 * sigma, "{channels} channels, {sigma}: {found}");
            }
        }
    }
}

/// What is measured in a picture with white noise, in steps of 255.
fn measured(sigma: f32, channels: usize, value: impl Fn(usize, usize) -> f32) -> f32 {
    let mut random = Random(17);
    let image = Image::from_fn(N, N, channels, |x, y, c| {
        let v = value(y * N + x, c) + sigma / 255.0 * random.next();
        (255.0 * v.clamp(0.0, 1.0)).round() / 255.0
    });
    255.0 * strength(&Profile::estimate(&image), &image)
}

/// A page in uneven light, and a screen with a coloured bar: values between those of paper and ink occur at edges only, where
/// they vary much.
#[test]
fn edges_of_text_are_not_noise() {
    let mut random = Random(7);
    let mut ink = vec![0.0; N * N];
    for letter in 0..140 {
        let (x, y) = (8 + 8 * (letter % 14), 32 + 16 * (letter / 14));
        for _ in 0..2 {
            let [dx, dy] = [0; 2].map(|_| (7.0 * random.uniform()) as usize);
            let down = random.uniform() < 0.5;
            for s in 0..7 {
                let (px, py) = if down { (dx, s) } else { (s, dy) };
                ink[(y + py) * N + x + px] = 0.8;
            }
        }
    }
    let ink = blurred_once(&ink);
    let bar = [0.5, 0.3, 0.15];
    let page = measured(3.0, 1, |at, _| {
        0.9 - 0.2 * at as f32 / (N * N) as f32 - ink[at]
    });
    let screen = measured(
        3.0,
        3,
        |at, c| if at < 24 * N { bar[c] } else { 0.96 - ink[at] },
    );
    for found in [page, screen] {
        assert!((found / 3.0 - 1.0).abs() < 0.2, "{page} {screen}");
    }
}

/// Stars and galaxies: all over the picture, in all colours, always brighter than the sky.
#[test]
fn stars_are_not_noise() {
    let mut random = Random(11);
    let light: Vec<f32> = (0..N * N)
        .map(|_| 0.8 * random.uniform() * f32::from(u8::from(random.uniform() > 0.97)))
        .collect();
    let colours: [Vec<f32>; 3] = std::array::from_fn(|_| {
        let shade = light.iter().map(|v| v * (0.5 + random.uniform()));
        blurred_once(&shade.collect::<Vec<f32>>())
    });
    let found = measured(0.0, 3, |at, c| 0.1 + colours[c][at]);
    assert!(found < 1.0, "{found}");
}

/// Cells under a microscope: one dye, which varies by itself.
#[test]
fn dyed_texture_is_not_noise() {
    let mut random = Random(13);
    let light = blurred(random.plane(), 2);
    let dye = blurred(random.plane(), 6);
    let found = measured(0.0, 3, |at, c| {
        0.5 + 0.04 * light[at] + 0.01 * [1.0, -0.5, -0.5][c] * dye[at]
    });
    assert!(found < 1.0, "{found}");
}

/// Grey texture without long waves looks like noise of a camera, but there is more of it in some places than in others, and no
/// colours tell what it is.
#[test]
fn blurred_grey_texture_is_left_alone() {
    let mut random = Random(19);
    let texture = blurred(random.plane(), 2);
    let strong = blurred(random.plane(), 12);
    for sigma in [0.0, 3.0] {
        let found = measured(sigma, 1, |at, _| {
            0.5 + 0.04 * texture[at] * (0.7 * strong[at]).exp()
        });
        assert!(found < 1.3 * sigma + 1.0, "{sigma}: {found}");
    }
}

/// Noise as a camera leaves it: blurred, that of colour more and weaker, dependent on brightness, with texture in a part.
fn shot(blue: impl Fn(usize, f32) -> f32) -> (Image, Image, f32) {
    let grass = grass();
    let clean = Image::from_fn(N, N, 3, |x, y, c| {
        let ramp = 0.15 + 0.6 * y as f32 / N as f32 + 0.03 * c as f32;
        let v = if x < N / 2 {
            ramp
        } else {
            ramp + 0.5 * (grass[y * N + x] - 0.4)
        };
        if c == 2 { blue(x, v) } else { v }
    });
    let mut random = Random(3);
    let light = blurred(random.plane(), 1);
    let colours: [Vec<f32>; 3] = std::array::from_fn(|_| blurred(random.plane(), 2));
    let (mut sum, mut count) = (0.0f64, 0.0f64);
    let noisy = Image::from_fn(N, N, 3, |x, y, c| {
        let (at, v) = (y * N + x, clean.get(x, y, c));
        let sigma = 0.012 + 0.02 * v * (1.0 - v);
        let noise = sigma * (light[at] + 0.5 * colours[c][at]);
        let made = (v + noise).clamp(0.0, 1.0);
        if v > 0.0 {
            sum += f64::from(noise).powi(2);
            count += 1.0;
        }
        if v > 0.0 { made } else { 0.0 }
    });
    (noisy, clean, (sum / count).sqrt() as f32)
}

#[test]
fn noise_of_cameras_is_found() {
    let (noisy, clean, known) = shot(|_, v| v);
    let found = strength(&Profile::estimate(&noisy), &clean);
    assert!((found / known - 1.0).abs() < 0.2, "{found} for {known}");
}

/// Saturated colours lack a channel. Nothing can be measured where it is zero; its noise elsewhere is not zero.
#[test]
fn a_channel_without_light_does_not_hide_noise() {
    let (noisy, clean, known) = shot(|x, v| if x % 64 < 32 { 0.0 } else { v });
    let profile = Profile::estimate(&noisy);
    let lit = Image::from_fn(N, N, 3, |x, y, c| clean.get(x, y, c).max(0.15));
    let found = strength(&profile, &lit);
    assert!((found / known - 1.0).abs() < 0.25, "{found} for {known}");
}

/// Edges, a ramp and a fine pattern.
fn drawn(x: usize, y: usize) -> f32 {
    let disc = (x as f32 - 60.0).hypot(y as f32 - 50.0) < 30.0;
    let stripes = 0.08 * ((x / 2 + y / 3) % 2) as f32 * f32::from(u8::from(y > 80));
    0.2 + 0.3 * (x as f32 / 128.0) + if disc { 0.35 } else { 0.0 } + stripes
}

/// Noise on a plain surface: where values differ by noise alone, its strength does not seem to depend on them.
#[test]
fn noise_alone_has_a_flat_curve() {
    let mut random = Random(5);
    let image = Image::from_fn(200, 160, 1, |_, _, _| 0.5 + 0.1 * random.next());
    let profile = Profile::estimate(&image);
    let curve = &profile.deviations[0];
    assert!(curve.iter().all(|d| *d == curve[0]), "{curve:?}");
    assert!((curve[0] - 0.1).abs() < 0.01, "{curve:?}");
}

/// White noise is found in a small grey picture, too, where no colours tell what it is.
#[test]
fn white_noise_of_grey_pictures_is_found() {
    for channels in [1, 3] {
        for seed in 1..7 {
            let mut random = Random(seed);
            let grain: Vec<f32> = (0..128 * 128).map(|_| random.next()).collect();
            let image = Image::from_fn(128, 128, channels, |x, y, _| {
                drawn(x, y) + 25.0 / 255.0 * grain[y * 128 + x]
            });
            let profile = Profile::estimate(&image);
            let light = profile.components[0].deviation / (channels as f32).sqrt();
            let found = 255.0 * strength(&profile, &image) * light;
            assert!(
                (found - 25.0).abs() < 1.5,
                "{channels} channels, seed {seed}: {found}"
            );
            let fine = profile.components[0].spectrum.fineness();
            assert!(fine > 0.9, "{channels} channels, seed {seed}: {fine}");
        }
    }
}

/// The ISO speed bounds what a camera can have added, and never raises what was measured.
#[test]
fn the_iso_speed_limits_noise() {
    let profile = Profile::white(12.0 / 255.0, 3);
    let strength = |iso| 255.0 * profile.clone().at_iso(iso).strength();
    assert!((strength(100) - 4.0).abs() < 1e-3);
    assert!((strength(400) - 8.0).abs() < 1e-3);
    assert!((strength(3200) - 12.0).abs() < 1e-3);
}
