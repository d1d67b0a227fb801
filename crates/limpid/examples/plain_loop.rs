//! The à-trous filter as a plain loop over pixels, beside the library, on the same machine with the same flags.
//!
//! ```sh
//! cargo run --release -p limpid --example plain_loop
//! ```
//!
//! 1920×1080, five levels, weights by colour, normal and depth, two threads each. Prints milliseconds, the median of five.

use limpid::method::Atrous;
use limpid::{Denoiser, Device, Frame, Image, Kind, Options, Result};
use rayon::prelude::*;
use std::time::Instant;

const WIDTH: usize = 1920;
const HEIGHT: usize = 1080;
const THREADS: usize = 2;
const LEVELS: usize = 5;
const SIGMAS: [f32; 3] = [1.0, 0.3, 0.5];
const TAPS: [f32; 5] = [0.0625, 0.25, 0.375, 0.25, 0.0625];

fn main() -> Result<()> {
    let frame = noise()?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(THREADS)
        .build()
        .map_err(|e| limpid::Error::input(e.to_string()))?;
    let layers = [
        frame.color()?,
        frame.require(Kind::Normal)?,
        frame.require(Kind::Depth)?,
    ];
    let mut made = Vec::new();
    let plain = median(|| made = pool.install(|| filter(&interleaved(layers))));
    let device = Device::open_with("cpu", Some(THREADS), false)?;
    let method = Atrous::with(|m| {
        m.sigma_color = Some(SIGMAS[0]);
        m.sigma_normal = Some(SIGMAS[1]);
        m.sigma_depth = Some(SIGMAS[2]);
        m.no_firefly_guard = true;
    });
    let mut denoiser = Denoiser::new(&device, &frame.shape(), &Options::new(method))?;
    let mut out = denoiser.run(&frame)?;
    let limpid = median(|| {
        if let Ok(next) = denoiser.run(&frame) {
            out = next;
        }
    });
    let color = out.color()?;
    let off = (0..WIDTH * HEIGHT)
        .flat_map(|i| (0..3).map(move |c| (i, c)))
        .map(|(i, c)| (made[i][c] - color.plane(c)[i]).abs())
        .fold(0.0f32, f32::max);
    println!(
        "plain loop {plain:.0} ms, limpid {limpid:.0} ms: {:.1} times faster",
        plain / limpid
    );
    println!("largest difference {off:.1e}");
    Ok(())
}

fn noise() -> Result<Frame> {
    let mut state = 1u32;
    let mut image = |channels| {
        Image::from_fn(WIDTH, HEIGHT, channels, |_, _, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            0.1 + (state >> 8) as f32 / (1 << 24) as f32
        })
    };
    let mut frame = Frame::new(image(3))?;
    frame.insert(Kind::Normal, image(3))?;
    frame.insert(Kind::Depth, image(1))?;
    Ok(frame)
}

fn median(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let start = Instant::now();
            work();
            1e3 * start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[2]
}

/// Colour, normal and depth of a pixel side by side.
type Pixel = [f32; 7];

fn interleaved([color, normal, depth]: [&Image; 3]) -> Vec<Pixel> {
    let value = |i: usize, k: usize| match k {
        0..3 => color.plane(k)[i],
        3..6 => normal.plane(k - 3)[i],
        _ => depth.plane(0)[i],
    };
    (0..WIDTH * HEIGHT)
        .map(|i| std::array::from_fn(|k| value(i, k)))
        .collect()
}

fn filter(image: &[Pixel]) -> Vec<Pixel> {
    let mut now = image.to_vec();
    for level in 0..LEVELS {
        let step = 1i64 << level;
        let mut next = now.clone();
        next.par_chunks_mut(WIDTH).enumerate().for_each(|(y, row)| {
            for (x, out) in row.iter_mut().enumerate() {
                let made = pixel(&now, x as i64, y as i64, step);
                out[..3].copy_from_slice(&made);
            }
        });
        now = next;
    }
    now
}

fn pixel(image: &[Pixel], x: i64, y: i64, step: i64) -> [f32; 3] {
    let centre = image[y as usize * WIDTH + x as usize];
    let s = step as f32;
    let scales = [s / SIGMAS[0], 1.0 / (s * SIGMAS[1]), 1.0 / (s * SIGMAS[2])].map(|v| v * v);
    let (mut sum, mut weights) = ([0.0; 3], 0.0);
    for (j, hy) in TAPS.iter().enumerate() {
        for (i, hx) in TAPS.iter().enumerate() {
            let (qx, qy) = (x + (i as i64 - 2) * step, y + (j as i64 - 2) * step);
            if qx < 0 || qy < 0 || qx >= WIDTH as i64 || qy >= HEIGHT as i64 {
                continue;
            }
            let tap = &image[qy as usize * WIDTH + qx as usize];
            let mut e = 0.0;
            for k in 0..7 {
                let d = tap[k] - centre[k];
                e += d * d * scales[[0, 0, 0, 1, 1, 1, 2][k]];
            }
            let w = hx * hy * (-e).exp();
            for k in 0..3 {
                sum[k] += w * tap[k];
            }
            weights += w;
        }
    }
    sum.map(|v| v / weights)
}
