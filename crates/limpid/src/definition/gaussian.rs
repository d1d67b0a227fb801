//! `out(p) = Σ w(q-p) in(q) / Σ w(q-p)` over the window's pixels `q` inside the image, `w(d) = exp(-|d|² / 2σ²)`.

use crate::Image;

/// The Gaussian filter with a square window of `2·radius + 1`.
pub fn gaussian(image: &Image, radius: usize, sigma: f32) -> Image {
    let r = radius as i64;
    let (width, height) = (image.width() as i64, image.height() as i64);
    Image::from_fn(
        image.width(),
        image.height(),
        image.channels(),
        |x, y, c| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for j in -r..=r {
                for i in -r..=r {
                    let (qx, qy) = (x as i64 + i, y as i64 + j);
                    if (0..width).contains(&qx) && (0..height).contains(&qy) {
                        let w =
                            (-((i * i + j * j) as f64) / (2.0 * f64::from(sigma).powi(2))).exp();
                        sum += w * f64::from(image.get(qx as usize, qy as usize, c));
                        weights += w;
                    }
                }
            }
            (sum / weights) as f32
        },
    )
}
