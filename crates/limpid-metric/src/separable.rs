//! One-dimensional filters over rows and columns of a band.

use std::ops::{Add, Mul};

/// `f32`, or `f64` if differences of large sums matter.
pub(super) trait Value: Copy + Default + Add<Output = Self> + Mul<Output = Self> {}
impl Value for f32 {}
impl Value for f64 {}

/// `out[x] = Σ_k weights[k] · src[x + k·stride]`: along a padded row with stride 1, along columns with the row width.
///
/// Four taps at a time, so that the compiler sees a plain loop over `x` and the sums are rarely stored. Inlined into its
/// callers, which choose the SIMD level.
#[inline(always)]
pub(super) fn filter<T: Value>(src: &[T], stride: usize, weights: &[T], out: &mut [T]) {
    let width = out.len();
    out.fill(T::default());
    let mut fours = weights.chunks_exact(4);
    let mut from = 0;
    for w in &mut fours {
        let a = &src[from..][..width];
        let b = &src[from + stride..][..width];
        let c = &src[from + 2 * stride..][..width];
        let d = &src[from + 3 * stride..][..width];
        for x in 0..width {
            out[x] = out[x] + (w[0] * a[x] + w[1] * b[x]) + (w[2] * c[x] + w[3] * d[x]);
        }
        from += 4 * stride;
    }
    for &w in fours.remainder() {
        let a = &src[from..][..width];
        for x in 0..width {
            out[x] = out[x] + w * a[x];
        }
        from += stride;
    }
}

/// Repeats the border values of a padded row, whose middle is filled: `radius` values on either side.
#[inline(always)]
pub(super) fn extend(padded: &mut [f32], radius: usize) {
    let end = padded.len() - radius;
    let (first, last) = (padded[radius], padded[end - 1]);
    padded[..radius].fill(first);
    padded[end..].fill(last);
}

/// The index of a row or column beyond the border, mirrored so that the border pixel itself is repeated.
pub(super) fn mirror(i: isize, count: usize) -> usize {
    let i = i.rem_euclid(2 * count as isize) as usize;
    i.min(2 * count - 1 - i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirroring_repeats_the_border_pixel() {
        let of = |count: usize, range: std::ops::Range<isize>| -> Vec<usize> {
            range.map(|i| mirror(i, count)).collect()
        };
        assert_eq!(of(3, -4..7), [2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0]);
        assert!(of(1, -5..6).iter().all(|i| *i == 0));
    }

    #[test]
    fn fours_and_rest_are_one_sum() {
        let weights = [0.5, -1.0, 2.0, 0.25, 3.0];
        for (len, stride) in [(1, 1), (31, 1), (32, 3), (75, 2)] {
            let src: Vec<f32> = (0..len + 4 * stride).map(|i| (i * i % 17) as f32).collect();
            let mut out = vec![0.0; len];
            filter(&src, stride, &weights, &mut out);
            for x in 0..len {
                let taps = weights.iter().enumerate();
                let expected: f32 = taps.map(|(k, w)| w * src[x + k * stride]).sum();
                assert_eq!(out[x], expected);
            }
        }
    }
}
