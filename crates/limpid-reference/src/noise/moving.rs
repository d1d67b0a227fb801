//! Noise of films: from two frames.
//!
//! One frame does not always tell texture from noise. Two do: texture moves with things, noise is new in each frame. Blocks of
//! the second frame are fetched along the motion; what differs is the noise of both, and errors of interpolation. With the
//! brightness of the first frame added, this is measured like any image ([`Profile::estimate`]).
//!
//! Compression may copy noise from frame to frame, and frames may be shown twice. Therefore the
//! fine waves of the difference must be as strong as those of the frame itself, where the frame has least of them; otherwise one
//! frame is measured. Compression may also leave no fine waves. Then neither is certain: one frame may show texture, two may
//! have been moved wrongly, and whichever shows less noise counts.

use super::blocks::{AREA, Cosine, clipped, ends, pixels, power};
use super::{Profile, SIDE};
use crate::definition::film::{FINE, fetched, motion, pyramid};
use limpid_core::Image;
use rayon::prelude::*;
use std::f64::consts::PI;

/// Side of the windows that are measured in large frames, and how far around them motion may lead.
const WINDOW: usize = 256;
const AROUND: usize = 32;
/// The most windows along x and y.
const WINDOWS: [usize; 2] = [4, 2];
/// Deviations below this share of the largest value are not looked for.
const LEAST: f32 = 0.002;
/// How strong fine waves of the difference must be, relative to those of the frame.
const LIKE_NOISE: [f32; 2] = [0.7, 1.4];
/// Sum of the numbers of a frequency from which on a wave is fine.
const FINE_WAVE: usize = SIDE;

impl Profile {
    /// Measures the profile of a frame of a film, with the frame after it; and that of the frame alone.
    ///
    /// ```
    /// # mod limpid { pub use limpid_core::*; pub use limpid_reference::*; }
    /// use limpid::{Image, noise::Profile};
    /// let grain = |x: usize, y: usize, n: usize| ((x * 31 + y * 57 + n * 91) % 23) as f32 / 23.0 - 0.5;
    /// let frame = |n| Image::from_fn(64, 64, 1, |x, y, _| 0.5 + 0.1 * grain(x, y, n));
    /// assert!(Profile::estimate_moving(&frame(0), &frame(1)).0.strength() > 0.01);
    /// ```
    pub fn estimate_moving(frame: &Image, after: &Image) -> (Self, Self) {
        let alone = Self::estimate(frame);
        let fits = frame.size() == after.size() && frame.channels() == after.channels();
        let (width, height) = (frame.width(), frame.height());
        if !fits || width.min(height) < 8 * SIDE || !matches!(frame.channels(), 1 | 3) {
            return (alone.clone(), alone);
        }
        let Some((image, certain)) = without_texture(frame, after, alone.strength()) else {
            return (alone.clone(), alone);
        };
        let both = Self::estimate(&image);
        match certain || both.strength() < alone.strength() {
            true => (both, alone),
            false => (alone.clone(), alone),
        }
    }
}

/// The noise of a frame on its brightness, and whether it is certain; `None` if the frames do not tell. `sigma` is roughly the
/// deviation of the noise.
fn without_texture(frame: &Image, after: &Image, sigma: f32) -> Option<(Image, bool)> {
    let most = frame.magnitude();
    let least = LEAST * most;
    let parts: Vec<Part> = windows(frame)
        .into_par_iter()
        .map(|window| Part::of([frame, after], &window, sigma.max(2.0 * least)))
        .collect();
    let mut seen: Vec<[f32; 3]> = parts.iter().flat_map(|p| p.seen.clone()).collect();
    // The quarter with the least fine waves in the other frame, whose noise is independent.
    seen.sort_by(|a, b| a[2].total_cmp(&b[2]));
    seen.truncate((seen.len() / 4).max(1));
    let [own, apart] = [0, 1].map(|i| seen.iter().map(|s| s[i]).sum::<f32>() / seen.len() as f32);
    let like = apart / own.max(1e-20);
    let certain = own.sqrt() >= least;
    if !(LIKE_NOISE[0]..=LIKE_NOISE[1]).contains(&like) {
        return None;
    }
    let all = windows(frame);
    let columns = all.iter().filter(|w| w.row == 0).count();
    let (wide, high) = (parts[0].image.width(), parts[0].image.height());
    let rows = all.len() / columns;
    let (width, height) = (columns * wide, rows * high);
    let image = Image::from_fn(width, height, frame.channels(), |x, y, c| {
        let part = &parts[y / high * columns + x / wide];
        part.image.get(x % wide, y % high, c)
    });
    Some((image, certain))
}

/// A part of a frame, with what is around it.
struct Window {
    row: usize,
    /// Corner and size of the part with what is around it.
    corner: [usize; 2],
    size: [usize; 2],
    /// Where the part begins, and its size.
    inner: [usize; 2],
    side: [usize; 2],
}

fn windows(frame: &Image) -> Vec<Window> {
    let size = [frame.width(), frame.height()];
    let along = |axis: usize| -> Vec<[usize; 4]> {
        let n = size[axis] / SIDE * SIDE;
        let count = (n / WINDOW).clamp(1, WINDOWS[axis]);
        let side = if count == 1 {
            n.min(2 * WINDOW)
        } else {
            WINDOW
        };
        let place = |i: usize| {
            let at = i * (n - side) / (count - 1).max(1) / SIDE * SIDE;
            let before = at.min(AROUND);
            let end = (at + side + AROUND).min(size[axis]);
            [at - before, end - (at - before), before, side]
        };
        (0..count).map(place).collect()
    };
    let (xs, ys) = (along(0), along(1));
    let mut all = Vec::new();
    for (row, y) in ys.iter().enumerate() {
        for x in &xs {
            let both = |i: usize| [x[i], y[i]];
            let (corner, size, inner, side) = (both(0), both(1), both(2), both(3));
            all.push(Window {
                row,
                corner,
                size,
                inner,
                side,
            });
        }
    }
    all
}

/// A measured part.
struct Part {
    image: Image,
    /// For each block, the power of its fine waves, of those of the difference, and of those of the other frame.
    seen: Vec<[f32; 3]>,
}

impl Part {
    fn of(frames: [&Image; 2], window: &Window, sigma: f32) -> Self {
        let [left, top] = window.corner;
        let cut = |image: &Image| {
            let [width, height] = window.size;
            Image::from_fn(width, height, image.channels(), |x, y, c| {
                image.get(left + x, top + y, c)
            })
        };
        let [frame, after] = frames.map(cut);
        let channels = frame.channels();
        let gain = FINE * (channels as f32).sqrt() / sigma;
        let grey = |image: &Image| {
            Image::from_fn(image.width(), image.height(), 1, |x, y, _| {
                (0..channels).map(|c| image.get(x, y, c)).sum::<f32>() / channels as f32
            })
        };
        let [from, to] = [&frame, &after].map(|image| pyramid(&grey(image), gain));
        let field = motion(&from, &to);
        let ends: Vec<[f32; 2]> = (0..channels).map(|c| ends(&frame, c)).collect();
        let cosine = Cosine::new();
        let fine: [f32; AREA] =
            std::array::from_fn(|k| f32::from(u8::from(k / SIDE + k % SIDE >= FINE_WAVE)));
        let brightness = smooth(&frame);
        let [width, height] = window.side;
        let mut image = Image::new(width, height, channels);
        let mut seen = Vec::new();
        for y in (0..height).step_by(SIDE) {
            for x in (0..width).step_by(SIDE) {
                let corner = (window.inner[0] + x, window.inner[1] + y);
                let vector = field.at((corner.0 / SIDE) as i32, (corner.1 / SIDE) as i32);
                let by = divisors(vector);
                let mut powers = [0.0; 3];
                for c in 0..channels {
                    let own = pixels(&frame, c, corner);
                    let place = (corner.0 as i32, corner.1 as i32);
                    let there = fetched(&after, c, place, vector);
                    let mut apart = cosine.block(&std::array::from_fn(|k| own[k] - there[k]));
                    for (apart, by) in apart.iter_mut().zip(&by) {
                        *apart *= by;
                    }
                    for (power_of, block) in
                        powers
                            .iter_mut()
                            .zip([&cosine.block(&own), &apart, &cosine.block(&there)])
                    {
                        *power_of += power(block, &fine);
                    }
                    // Clipped blocks stay as they are, so that they are known for it.
                    let lost = clipped(&own, ends[c]) || clipped(&there, ends[c]);
                    let noise = cosine.pixels(&apart);
                    for k in 0..AREA {
                        let (i, j) = (k % SIDE, k / SIDE);
                        let value = match lost {
                            true => own[k],
                            false => brightness.get(corner.0 + i, corner.1 + j, c) + noise[k],
                        };
                        image.set(x + i, y + j, c, value);
                    }
                }
                let count = fine.iter().sum::<f32>() * channels as f32;
                seen.push(powers.map(|p| p / count));
            }
        }
        Self { image, seen }
    }
}

/// What makes the difference of two blocks as strong as the noise of one: interpolation has weakened that of the other.
fn divisors([vx, vy]: [i32; 2]) -> [f32; AREA] {
    let gain = |v: i32, k: usize| {
        let f = PI * k as f64 / (2 * SIDE) as f64;
        match v & 1 {
            0 => 1.0,
            _ => 1.125 * f.cos() - 0.125 * (3.0 * f).cos(),
        }
    };
    std::array::from_fn(|k| {
        let gain = gain(vx, k % SIDE) * gain(vy, k / SIDE);
        (1.0 / (1.0 + gain * gain).sqrt()) as f32
    })
}

/// The brightness of an image: means over squares, twice.
fn smooth(image: &Image) -> Image {
    const REACH: usize = SIDE;
    let (width, height) = (image.width(), image.height());
    let mut made = image.clone();
    for _ in 0..2 {
        let along = |made: &Image, turned: bool| {
            let n = if turned { height } else { width };
            let last = n as i64 - 1;
            let mut out = Image::new(width, height, image.channels());
            for c in 0..image.channels() {
                for line in 0..if turned { width } else { height } {
                    let get = |i: i64| {
                        let i = i.clamp(0, last) as usize;
                        let (x, y) = if turned { (line, i) } else { (i, line) };
                        made.get(x, y, c)
                    };
                    let mut sum: f32 = (-(REACH as i64)..=REACH as i64).map(get).sum();
                    for i in 0..n {
                        let (x, y) = if turned { (line, i) } else { (i, line) };
                        out.set(x, y, c, sum / (2 * REACH + 1) as f32);
                        let i = i as i64;
                        sum += get(i + 1 + REACH as i64) - get(i - REACH as i64);
                    }
                }
            }
            out
        };
        made = along(&along(&made, false), true);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u32) -> f32 {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (*state >> 8) as f32 / (1 << 24) as f32 - 0.5
    }

    /// Grass: fine texture below the sky, which moves by this many pixels.
    fn grass(at: usize) -> Image {
        let mut state = 5;
        let wide: Vec<f32> = (0..320 * 160).map(|_| random(&mut state)).collect();
        Image::from_fn(256, 128, 1, |x, y, _| {
            let near = |dx: usize| wide[320 * y + x + at + dx];
            // The sky above it is even.
            let share = if y < 48 { 0.0 } else { 0.25 };
            0.5 + share * (near(0) + 0.6 * near(1) + 0.3 * near(2))
        })
    }

    fn noisy(image: &Image, seed: u32, amount: f32) -> Image {
        let mut state = seed * 7919 + 1;
        image.map(|v| v + amount * (random(&mut state) + random(&mut state) + random(&mut state)))
    }

    #[test]
    fn noise_is_found_in_texture_that_moves() {
        for (step, amount) in [(0, 0.04), (3, 0.04), (3, 0.1)] {
            let frames = [0, step].map(grass);
            let pair = [0, 1].map(|n| noisy(&frames[n], 1 + n as u32, amount));
            let found = Profile::estimate_moving(&pair[0], &pair[1])
                .0
                .deviation(0, 0.5);
            let wanted = 0.5 * amount;
            assert!(
                (found / wanted - 1.0).abs() < 0.15,
                "{step}: {found} {wanted}"
            );
        }
    }

    #[test]
    fn texture_without_fine_waves_is_not_noise() {
        let mut state = 5;
        let wide: Vec<f32> = (0..320 * 160).map(|_| random(&mut state)).collect();
        let leaves = Image::from_fn(264, 128, 1, |x, y, _| {
            let near = |k: usize| wide[320 * (y + k / 3) + x + k % 3];
            0.85 + (0..9).map(|k| 0.04 * near(k)).sum::<f32>()
        });
        // What compression leaves: no fine waves, moved as a whole, and values rounded to 255 steps.
        let cosine = Cosine::new();
        let mut soft = leaves.clone();
        for at in 0..16 * 33 {
            let (x, y) = (at % 33 * SIDE, at / 33 * SIDE);
            let mut block = cosine.block(&pixels(&leaves, 0, (x, y)));
            for (k, value) in block.iter_mut().enumerate() {
                if k / SIDE + k % SIDE >= FINE_WAVE - 1 {
                    *value = 0.0;
                }
            }
            for (k, value) in cosine.pixels(&block).into_iter().enumerate() {
                soft.set(x + k % SIDE, y + k / SIDE, 0, value);
            }
        }
        let [first, after] = [(0, 1), (SIDE, 2)].map(|(step, seed)| {
            let moved = Image::from_fn(256, 128, 1, |x, y, _| soft.get(x + step, y, 0));
            noisy(&moved, seed, 0.002).map(|v| (255.0 * v).round() / 255.0)
        });
        let (both, alone) = Profile::estimate_moving(&first, &after);
        let (both, alone) = (255.0 * both.strength(), 255.0 * alone.strength());
        assert!(both < 0.3 * alone && both < 1.0, "{both} {alone}");
    }

    #[test]
    fn frames_that_do_not_tell_are_measured_alone() {
        let first = noisy(&grass(0), 1, 0.04);
        let alone = Profile::estimate(&first);
        let faint = grass(0).map(|v| 0.5 + 0.001 * v);
        // Shown twice, most of the noise copied, and no noise at all.
        let copied = noisy(&first, 3, 0.01);
        for after in [&first, &copied] {
            assert!(Profile::estimate_moving(&first, after).0 == alone);
        }
        let found = Profile::estimate_moving(&faint, &faint).0;
        assert!(found == Profile::estimate(&faint));
    }
}
