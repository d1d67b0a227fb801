//! The noise of an image, estimated from the image alone; and a floor for the variances that renderers write.
//!
//! Donoho and Johnstone 1994: the finest diagonal wavelet details of a photograph are mostly noise, and the median of
//! their magnitudes is robust against the few that are edges. For Gaussian noise the median magnitude is
//! 0.6745 standard deviations.

use limpid_core::{Image, memory};

/// The high-pass filter of Daubechies' wavelet with two vanishing moments: zero on ramps. Its squares sum to 1, so details of
/// white noise have the noise's own standard deviation.
const HIGH_PASS: [f64; 4] = [
    -0.129_409_522_551_260_37,
    -0.224_143_868_042_013_4,
    0.836_516_303_737_807_9,
    -0.482_962_913_144_534_1,
];

/// Median magnitude of a normal deviate of standard deviation 1.
const MEDIAN_MAGNITUDE: f64 = 0.674_489_750_196_081_7;

/// The standard deviation of white Gaussian noise in an image: the root mean square over its channels.
///
/// Exact zero for constant images, and for images of one pixel.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub use limpid_reference::*; }
/// use limpid::{Image, definition::noise::estimate};
/// let mut state = 1u32;
/// let mut uniform = || {
///     state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
///     (state >> 8) as f32 / 16_777_216.0
/// };
/// // The sum of twelve uniform numbers is nearly normal with standard deviation 1.
/// let noisy = Image::from_fn(128, 128, 1, |x, _, _| {
///     0.004 * x as f32 + 0.1 * ((0..12).map(|_| uniform()).sum::<f32>() - 6.0)
/// });
/// assert!((estimate(&noisy) - 0.1).abs() < 0.005);
/// ```
pub fn estimate(image: &Image) -> f32 {
    let variance: f64 = (0..image.channels())
        .map(|c| of_plane(image.plane(c), image.width(), image.height()).powi(2))
        .sum::<f64>()
        / image.channels() as f64;
    variance.sqrt() as f32
}

/// The root mean square of noise in a render's luminance, which varies from pixel to pixel, so that the median would measure
/// the flat parts only: from differences across 2×2 pixels, with the largest 2 %, edges and fireflies, clamped to the next
/// ones.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub use limpid_reference::*; }
/// use limpid::{Image, definition::noise::spread};
/// let ramp = Image::from_fn(32, 32, 1, |x, y, _| (x + y) as f32);
/// assert_eq!(spread(&ramp), 0.0);
/// let checks = Image::from_fn(32, 32, 1, |x, y, _| ((x + y) % 2) as f32);
/// assert_eq!(spread(&checks), 1.0);
/// ```
pub fn spread(luminance: &Image) -> f32 {
    let (w, h) = (luminance.width(), luminance.height());
    let at = |x: usize, y: usize| luminance.get(x, y, 0);
    let mut squares: Vec<f32> = memory::gathered(w * h, std::iter::empty());
    for y in 1..h {
        for x in 1..w {
            let d = at(x - 1, y - 1) - at(x, y - 1) - at(x - 1, y) + at(x, y);
            squares.push(0.25 * d * d);
        }
    }
    let Some(last) = squares.len().checked_sub(1) else {
        return 0.0;
    };
    let (_, most, _) = squares.select_nth_unstable_by(last * 49 / 50, f32::total_cmp);
    let most = *most;
    let sum: f64 = squares.iter().map(|s| f64::from(s.min(most))).sum();
    (sum / squares.len() as f64).sqrt() as f32
}

/// [`estimate`] for one plane.
pub fn of_plane(plane: &[f32], width: usize, height: usize) -> f64 {
    // Rows, then columns; where the filter would extend beyond the image it starts earlier, unless the image is shorter.
    let start = |at: usize, n: usize| at.min(n.saturating_sub(HIGH_PASS.len()));
    let mut rows = memory::zeros::<f64>(width * height);
    for y in 0..height {
        for x in 0..width {
            rows[y * width + x] = HIGH_PASS
                .iter()
                .enumerate()
                .map(|(i, h)| h * f64::from(plane[y * width + (start(x, width) + i) % width]))
                .sum();
        }
    }
    let mut details = vec![0.0f32; width * height];
    for y in 0..height {
        for (i, h) in HIGH_PASS.iter().enumerate() {
            let row = (start(y, height) + i) % height;
            for x in 0..width {
                details[y * width + x] += (h * rows[row * width + x]) as f32;
            }
        }
    }
    // Rounding errors of a constant are not noise.
    let least = 1e-6 * plane.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    for d in &mut details {
        *d = if d.abs() < least { 0.0 } else { d.abs() };
    }
    let middle = details.len() / 2;
    let (_, median, _) = details.select_nth_unstable_by(middle, f32::total_cmp);
    f64::from(*median) / MEDIAN_MAGNITUDE
}

/// A floor for sample variances: each value, or the fourth smallest of the 3×3 around it if that is larger. Borders are
/// repeated.
///
/// A few samples often agree by chance, especially where none hit a light. Their variance is then near zero, nothing around
/// resembles such a pixel, and a filter that relies on it leaves a speck. A mean would spread the variance of single bright
/// samples, a median that of lights into thin gaps between them.
pub fn floor(image: &Image) -> Image {
    let (w, h) = (image.width(), image.height());
    Image::from_fn(w, h, image.channels(), |x, y, c| {
        let at = |i: usize, j: usize| {
            let (x, y) = ((x + i).saturating_sub(1), (y + j).saturating_sub(1));
            image.get(x.min(w - 1), y.min(h - 1), c)
        };
        let mut around: [f32; 9] = std::array::from_fn(|k| at(k % 3, k / 3));
        around.sort_by(f32::total_cmp);
        image.get(x, y, c).max(around[3])
    })
}
