//! How much of each candidate the result has: where the estimated errors say so by more than their own noise.
//!
//! The error of a mix `c₁ + t (c_j - c₁)` is a parabola in `t` that follows from the errors of both and their distance. Its
//! minimum is noisy, because the fits that errors are measured against are: their difference gives the variance of `t`, and `t`
//! shrinks by it. Not in the thesis, which chooses one of three candidates: choosing by these estimates has a higher error than
//! always taking the first one.

use super::super::window::tent;
use super::ERROR_RADIUS;
use limpid_core::Image;

/// How many times its own variance an estimate has to exceed. Noise of neighbouring pixels of a fit is alike, so that a mean
/// over pixels has more of it than the pixels suggest: the factor with the lowest errors on six scenes at 8, 16 and 64 samples
/// lies between 9 and 30.
pub const CAUTION: f32 = 16.0;
/// Pixels of the window in which errors are compared.
pub const PIXELS: f32 = ((2 * ERROR_RADIUS + 1) * (2 * ERROR_RADIUS + 1)) as f32;
/// A plain fit that is farther from the first candidate than this many times the usual distance around it is an outlier, and
/// less so one time below.
pub const OUTLIER: f32 = 2.5;
/// Smallest distance of candidates.
pub const LEAST_APART: f32 = 1e-12;
/// Smallest share.
pub const LEAST_SHARE: f32 = 1e-6;

/// Shares of the first candidate, of the second and of the plain fit, as three planes.
pub fn shares(candidates: &[Image], errors: &[Image], unbiased: &[Image; 2]) -> Image {
    let first = &candidates[0];
    let (w, h, channels) = (first.width(), first.height(), first.channels());
    let mean = |image: &Image| tent(image, ERROR_RADIUS, 1.0, 0.0);
    let [a, b] = unbiased;
    let noise = mean(&Image::from_fn(w, h, channels, |x, y, c| {
        (a.get(x, y, c) - b.get(x, y, c)).powi(2)
    }));
    // The squared distance from the first candidate, and the same times the noise.
    let apart = |other: &Image| {
        mean(&Image::from_fn(w, h, 2, |x, y, k| {
            let one = |c: usize| {
                let square = (other.get(x, y, c) - first.get(x, y, c)).powi(2);
                if k == 0 {
                    square
                } else {
                    square * noise.get(x, y, c)
                }
            };
            (0..channels).map(one).sum()
        }))
    };
    let others = [apart(&candidates[1]), apart(&candidates[2])];
    Image::from_fn(w, h, 3, |x, y, k| {
        let share = |j: usize| {
            let of = |plane: usize| others[j].get(x, y, plane);
            let better = errors[0].get(x, y, 0) - errors[1 + j].get(x, y, 0);
            one(better, of(0), of(1))
        };
        let second = share(0);
        let gap: f32 = (0..channels)
            .map(|c| (candidates[2].get(x, y, c) - first.get(x, y, c)).abs())
            .sum();
        let usual = others[1].get(x, y, 0).sqrt() + LEAST_APART;
        let plain = share(1) * (OUTLIER - gap / usual).clamp(0.0, 1.0);
        let sum = (second + plain).max(1.0);
        [1.0 - (second + plain) / sum, second / sum, plain / sum][k]
    })
}

/// The share of a candidate whose error is this much lower, at this mean squared distance from the first, with that times the
/// noise.
fn one(better: f32, apart: f32, noisy: f32) -> f32 {
    let apart = apart + LEAST_APART;
    let best = ((apart + better) / (2.0 * apart)).clamp(0.0, 1.0);
    let variance = CAUTION / PIXELS * (noisy / apart) / (4.0 * apart);
    (best - variance / best.max(LEAST_SHARE)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_the_minimum_of_the_error_less_its_noise() {
        // Errors 4 and 1 at a distance of 5: the parabola 4 - 8t + 5t² is least at 0.8.
        assert!((one(3.0, 5.0, 0.0) - 0.8).abs() < 1e-6);
        // The same candidate, twice as noisy, counts less; a worse one not at all; a far better one entirely.
        let noisy = one(3.0, 5.0, 50.0);
        assert!(noisy < 0.8 && noisy > 0.0, "{noisy}");
        assert_eq!(one(3.0, 5.0, 1e6), 0.0);
        assert_eq!(one(-6.0, 5.0, 0.0), 0.0);
        assert_eq!(one(9.0, 5.0, 0.0), 1.0);
    }

    #[test]
    fn outliers_of_the_plain_fit_are_left_out() {
        let flat = |v: f32| Image::from_fn(16, 16, 1, |_, _, _| v);
        let spot = Image::from_fn(
            16,
            16,
            1,
            |x, y, _| {
                if (x, y) == (8, 8) { 9.0 } else { 0.5 }
            },
        );
        let candidates = [flat(0.0), flat(0.0), spot];
        let errors = [flat(2.0), flat(2.0), flat(0.1)];
        let made = shares(&candidates, &errors, &[flat(1.0), flat(1.0)]);
        assert_eq!(made.get(8, 8, 2), 0.0);
        assert!(made.get(7, 8, 2) > 0.4);
        for k in 0..256 {
            let sum: f32 = (0..3).map(|c| made.plane(c)[k]).sum();
            assert!((sum - 1.0).abs() < 1e-6);
        }
    }
}
