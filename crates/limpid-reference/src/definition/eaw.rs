//! Edge-optimised à-trous wavelets for photographs (Hanika 2011).
//!
//! Analysis: levels `c_i` of the edge-avoiding transform, which uses no features and stops at colour differences of a few noise
//! deviations. Synthesis: `c_N + Σ g_i shrink(d_i)`. Values are stabilised (see `super::stabilise`): luminance and colour
//! differences, each shrunk by its own threshold: the noise variance over the signal's standard deviation around the pixel
//! (BayesShrink).

use super::atrous::{Border, Filter, level};
use limpid_core::Image;

/// For each level, the radius of the window in which the signal's standard deviation is estimated. Its pixels have the spacing
/// of the level's taps.
pub const RADII: [usize; 8] = [6, 4, 3, 2, 2, 2, 2, 2];

/// The settings.
#[derive(Debug, Clone)]
pub struct Eaw<'a> {
    /// The kernel along one axis.
    pub taps: &'a [f32],
    /// Number of levels.
    pub levels: usize,
    /// Colour differences above this stop the filter, at every level.
    pub range: f32,
    /// For each level, the variance of noise in the details of each channel.
    pub noise: &'a [[f32; 3]],
    /// For each level, the factor of the shrunk details; 1 if not given.
    pub gains: &'a [f32],
}

/// The whole method.
pub fn eaw(image: &Image, settings: &Eaw<'_>) -> Image {
    let squared = vec![false; image.channels()];
    let mut all = vec![image.clone()];
    for i in 0..settings.levels {
        // The à-trous filter halves σ of colour at each level; here it is constant.
        let filter = Filter {
            taps: settings.taps,
            levels: settings.levels,
            color: Some(settings.range * (1u64 << i) as f32),
            color_from: 0,
            local: None,
            grid: 1,
            guides: Vec::new(),
            border: Border::Zero,
            energy: false,
            half: false,
            squared: &squared,
        };
        all.push(level(&all[i], image.channels(), &filter, i));
    }
    let mut out = all[settings.levels].clone();
    for i in 0..settings.levels {
        let gain = settings.gains.get(i).copied().unwrap_or(1.0);
        let kept = shrunk(&all[i], &all[i + 1], i, settings.noise[i]);
        for (o, k) in out.data_mut().iter_mut().zip(kept.data()) {
            *o += gain * k;
        }
    }
    out
}

/// The details between a level and the next, shrunk.
fn shrunk(fine: &Image, coarse: &Image, level: usize, noise: [f32; 3]) -> Image {
    let (width, height, channels) = (fine.width(), fine.height(), fine.channels());
    let window = |n: usize, x: usize| {
        let (r, step) = (RADII[level] as i64, 1i64 << level);
        let taps = (-r..=r).map(move |k| x as i64 + k * step);
        taps.filter(move |q| (0..n as i64).contains(q))
            .map(|q| q as usize)
    };
    Image::from_fn(width, height, channels, |x, y, k| {
        let detail = |x: usize, y: usize| f64::from(fine.get(x, y, k) - coarse.get(x, y, k));
        let (mut sum, mut count) = (0.0, 0.0);
        for j in window(height, y) {
            for i in window(width, x) {
                sum += detail(i, j).powi(2);
                count += 1.0;
            }
        }
        let (noise, d) = (f64::from(noise[k.min(2)]), detail(x, y));
        let signal = sum / count - noise;
        if signal <= 0.0 {
            return 0.0;
        }
        let left = (d.abs() - noise / signal.sqrt()).max(0.0);
        left.copysign(d) as f32
    })
}
