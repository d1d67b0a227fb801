//! Detects whether the noise of a film still matches the measured noise: it may change at a cut or with the lighting.

use crate::Image;
use limpid_reference::noise::Profile;
use std::sync::Arc;

/// Cells of a frame's thumbnail, along x and y.
const CELLS: [usize; 2] = [32, 18];

/// Frames after which noise is measured again in any case, and the minimum number of frames between measurements.
const EVERY: [usize; 2] = [24, 4];

/// Mean difference of two frames' thumbnails, relative to the deviation of the first, above which there may have been a cut.
const CUT: f32 = 0.3;

/// Relative change of strength that counts as different noise: larger than the spread of estimates within one scene.
const OTHER: f32 = 0.25;

/// The frames since noise was measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scene {
    thumbnail: Vec<f32>,
    /// What was measured in its first frame alone, to compare others with.
    noise: Arc<Profile>,
    frames: usize,
}

impl Scene {
    /// A scene that begins with this frame, and the noise of the frame alone.
    pub(super) fn new(image: &Image, noise: Arc<Profile>) -> Self {
        Self {
            noise,
            thumbnail: thumbnail(image),
            frames: 0,
        }
    }

    /// Whether the noise of the next frame differs.
    pub(super) fn ends(&mut self, image: &Image) -> bool {
        let next = thumbnail(image);
        let cut = apart(&self.thumbnail, &next) > CUT;
        self.thumbnail = next;
        self.frames += 1;
        if self.frames < EVERY[0] && !(cut && self.frames >= EVERY[1]) {
            return false;
        }
        self.frames = 0;
        other(&self.noise, &Profile::estimate(image))
    }
}

/// Means over cells, from a subset of the pixels of each.
fn thumbnail(image: &Image) -> Vec<f32> {
    let [columns, rows] = CELLS;
    // Green carries the most signal.
    let plane = image.channels() / 2;
    let (width, height) = (image.width(), image.height());
    let place = |i: usize, part: usize, parts: usize, n: usize| {
        let at = (4 * i + part) * n / (4 * parts);
        at.min(n - 1)
    };
    let mut made = Vec::with_capacity(columns * rows);
    for j in 0..rows {
        for i in 0..columns {
            let mut sum = 0.0;
            for v in 0..4 {
                let row = image.row(plane, place(j, v, rows, height));
                for u in 0..4 {
                    sum += row[place(i, u, columns, width)];
                }
            }
            made.push(sum / 16.0);
        }
    }
    made
}

/// The mean difference of two thumbnails, relative to the deviation of the first.
fn apart(a: &[f32], b: &[f32]) -> f32 {
    let count = a.len().max(1) as f32;
    let mean = a.iter().sum::<f32>() / count;
    let spread = a.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / count;
    let apart = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f32>() / count;
    apart / spread.sqrt().max(1e-6)
}

/// Whether two profiles differ by more than the spread of estimates.
fn other(old: &Profile, new: &Profile) -> bool {
    if old.channels() != new.channels() {
        return true;
    }
    let [low, high] = new.range;
    let [from, to] = old.range;
    // Values outside the old range, with some margin, were not measured.
    let room = 0.2 * (to - from);
    if low < from - room || high > to + room {
        return true;
    }
    const POINTS: usize = 9;
    let mut sum = 0.0;
    for c in 0..new.channels() {
        for i in 0..POINTS {
            let value = low + (high - low) * i as f32 / (POINTS - 1) as f32;
            let ratio = new.deviation(c, value) / old.deviation(c, value).max(1e-9);
            sum += ratio.max(1e-9).ln();
        }
    }
    (sum / (POINTS * new.channels()) as f32).abs() > (1.0 + OTHER).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(seed: u32, sigma: f32) -> Image {
        let mut state = seed.wrapping_mul(747_796_405).wrapping_add(1);
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        Image::from_fn(96, 64, 3, |x, _, _| {
            let noise = next() + next() + next();
            0.2 + 0.005 * x as f32 + 2.0 * sigma * noise
        })
    }

    #[test]
    fn other_noise_is_seen_after_a_cut_and_the_same_is_not() {
        let first = frame(1, 0.02);
        let noise = Arc::new(Profile::estimate(&first));
        let run = |next: &dyn Fn(u32) -> Image| {
            let mut scene = Scene::new(&first, noise.clone());
            (2..40).find(|i| scene.ends(&next(*i)))
        };
        assert_eq!(run(&|i| frame(i, 0.02)), None);
        let seen = run(&|i| frame(i, 0.05));
        assert!(seen.is_some_and(|i| i < 28), "{seen:?}");
        // A change from dark to bright is a cut, which triggers an early measurement.
        let cut = run(&|i| {
            frame(i, if i < 8 { 0.02 } else { 0.05 }).map(|v| if i < 8 { v } else { 1.0 - v })
        });
        assert_eq!(cut, Some(8));
    }
}
