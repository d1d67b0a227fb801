//! Pixels that do not measure light: hot ones, and dead ones.

use super::SensorNoise;
use crate::Image;
use limpid_io::dng::Pattern;
use rayon::prelude::*;

/// A defective pixel is further from all pixels of its colour around it than this many standard deviations.
const FAR: f32 = 8.0;

/// The light of a star or lamp falls on the pixels beside it, too: at least this share of it.
const BESIDE: f32 = 0.12;

/// A mosaic without defective pixels, and their number. Each is replaced by the median of its colour around it.
pub(super) fn replaced(image: &Image, pattern: &Pattern, noise: &SensorNoise) -> (Image, usize) {
    let (width, height) = (image.width(), image.height());
    let reach = pattern.size().0.max(pattern.size().1).clamp(2, 3);
    // The pixels of the same colour around a place, from the darkest to the brightest.
    let around = |x: usize, y: usize| {
        let own = pattern.color(x, y);
        let (mut list, mut count) = ([0.0f32; 49], 0);
        for j in y.saturating_sub(reach)..(y + reach + 1).min(height) {
            for i in x.saturating_sub(reach)..(x + reach + 1).min(width) {
                if (i, j) != (x, y) && pattern.color(i, j) == own {
                    list[count] = image.row(0, j)[i];
                    count += 1;
                }
            }
        }
        list[..count].sort_unstable_by(f32::total_cmp);
        (list, count)
    };
    let found: Vec<(usize, usize, f32)> = (0..height)
        .into_par_iter()
        .flat_map_iter(|y| {
            (0..width).filter_map(move |x| {
                let value = image.row(0, y)[x];
                // Most pixels are between their neighbours; only the others are looked at closely.
                let nearest = |d: i64| {
                    let i = x as i64 + d;
                    let inside = (0..width as i64).contains(&i);
                    inside.then(|| image.row(0, y)[i as usize])
                };
                let period = pattern.size().0 as i64;
                let pair = [nearest(-period), nearest(period)];
                let close = |v: f32| {
                    (value - v).abs() <= FAR * noise.deviation(pattern.color(x, y), v.max(value))
                };
                if pair.into_iter().flatten().any(close) {
                    return None;
                }
                let (list, count) = around(x, y);
                if count < 3 {
                    return None;
                }
                let (least, most, median) = (list[0], list[count - 1], list[count / 2]);
                let by = FAR * noise.deviation(pattern.color(x, y), most);
                let away = value - median;
                if value <= most + by && value >= least - by {
                    return None;
                }
                let beside =
                    [(-1, 0), (1, 0), (0, -1), (0, 1)]
                        .into_iter()
                        .any(|(dx, dy): (i64, i64)| {
                            let (i, j) = (x as i64 + dx, y as i64 + dy);
                            if !(0..width as i64).contains(&i) || !(0..height as i64).contains(&j) {
                                return false;
                            }
                            let (i, j) = (i as usize, j as usize);
                            let (list, count) = around(i, j);
                            count > 0 && (image.row(0, j)[i] - list[count / 2]) / away > BESIDE
                        });
                (!beside).then_some((x, y, median))
            })
        })
        .collect();
    let mut out = image.clone();
    for (x, y, value) in &found {
        out.set(*x, *y, 0, *value);
    }
    (out, found.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_and_dead_pixels_go_and_stars_stay() {
        let pattern = Pattern::new(2, 2, vec![0, 1, 1, 2]).unwrap();
        let noise = SensorNoise {
            pairs: [[1e-4, 1e-5]; 3],
        };
        let mut image = Image::from_fn(40, 30, 1, |x, y, _| {
            0.1 + 0.05 * pattern.color(x, y) as f32 + 0.001 * ((x * 7 + y * 3) % 5) as f32
        });
        let star = |x: usize, y: usize| {
            0.7 * (-0.5 * ((x as f32 - 30.0).powi(2) + (y as f32 - 20.0).powi(2))).exp()
        };
        image = Image::from_fn(40, 30, 1, |x, y, _| image.get(x, y, 0) + star(x, y));
        let clean = image.clone();
        image.set(7, 5, 0, 0.9);
        image.set(20, 11, 0, 0.0);
        image.set(0, 0, 0, 0.8);
        let (mended, count) = replaced(&image, &pattern, &noise);
        assert_eq!(count, 3);
        let worst = mended
            .data()
            .iter()
            .zip(clean.data())
            .fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
        assert!(worst < 0.01, "{worst}");
    }
}
