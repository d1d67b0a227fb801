//! Filters over the square window of `2·radius + 1` pixels (Zubatov and Shcherbakov, Eq. 2–8).
//!
//! All sums are over the window's pixels `q` inside the image, and are normalised by their weights: taps outside have no
//! weight.

use limpid_core::Image;

/// Pixels of the window around `(x, y)` that are inside, with their offsets `(i, j)`.
fn inside(
    image: &Image,
    radius: usize,
    x: usize,
    y: usize,
) -> impl Iterator<Item = (usize, usize, f64, f64)> {
    let (w, h) = (image.width() as i64, image.height() as i64);
    let (r, x, y) = (radius as i64, x as i64, y as i64);
    ((y - r).max(0)..=(y + r).min(h - 1)).flat_map(move |qy| {
        ((x - r).max(0)..=(x + r).min(w - 1))
            .map(move |qx| (qx as usize, qy as usize, (qx - x) as f64, (qy - y) as f64))
    })
}

/// `Σ g(i, j) I(q) / Σ g(i, j)`, Eq. 2.
pub fn convolution(image: &Image, radius: usize, g: impl Fn(f64, f64) -> f64) -> Image {
    Image::from_fn(
        image.width(),
        image.height(),
        image.channels(),
        |x, y, c| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (qx, qy, i, j) in inside(image, radius, x, y) {
                sum += g(i, j) * f64::from(image.get(qx, qy, c));
                weights += g(i, j);
            }
            (sum / weights) as f32
        },
    )
}

/// The Gaussian filter, Eq. 3.
pub fn gaussian(image: &Image, radius: usize, sigma: f32) -> Image {
    let scale = -0.5 / f64::from(sigma).powi(2);
    convolution(image, radius, |i, j| ((i * i + j * j) * scale).exp())
}

/// The tent filter of rank one, Eq. 5: `max(k - b|i|, 0) · max(k - b|j|, 0)`.
pub fn tent(image: &Image, radius: usize, peak: f32, slope: f32) -> Image {
    let side = |i: f64| (f64::from(peak) - f64::from(slope) * i.abs()).max(0.0);
    convolution(image, radius, |i, j| side(i) * side(j))
}

/// The tent filter of rank two, Eq. 6: `k - b(|i| + |j|)`.
pub fn tent2(image: &Image, radius: usize, peak: f32, slope: f32) -> Image {
    convolution(image, radius, |i, j| {
        f64::from(peak) - f64::from(slope) * (i.abs() + j.abs())
    })
}

/// The bilateral filter, Eq. 4: the colour distance includes all channels.
pub fn bilateral(image: &Image, radius: usize, sigma_space: f32, sigma_range: f32) -> Image {
    let half = |sigma: f32| -0.5 / f64::from(sigma).powi(2);
    let (space, range) = (half(sigma_space), half(sigma_range));
    Image::from_fn(
        image.width(),
        image.height(),
        image.channels(),
        |x, y, c| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (qx, qy, i, j) in inside(image, radius, x, y) {
                let distance: f64 = (0..image.channels())
                    .map(|c| {
                        (f64::from(image.get(qx, qy, c)) - f64::from(image.get(x, y, c))).powi(2)
                    })
                    .sum();
                let g = ((i * i + j * j) * space + distance * range).exp();
                sum += g * f64::from(image.get(qx, qy, c));
                weights += g;
            }
            (sum / weights) as f32
        },
    )
}

/// Mean and standard deviation of the window, Eq. 7 and 8.
pub fn variance(image: &Image, radius: usize) -> (Image, Image) {
    let mean = convolution(image, radius, |_, _| 1.0);
    let deviation = Image::from_fn(
        image.width(),
        image.height(),
        image.channels(),
        |x, y, c| {
            let values =
                || inside(image, radius, x, y).map(|(qx, qy, ..)| f64::from(image.get(qx, qy, c)));
            let n = values().count() as f64;
            let mean = values().sum::<f64>() / n;
            // The sum of squared differences: equals Eq. 8 without its rounding errors.
            (values().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt() as f32
        },
    );
    (mean, deviation)
}
