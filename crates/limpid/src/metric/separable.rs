//! One-dimensional filters over rows and columns of a band.

use std::ops::{Add, Mul};

/// Outputs computed together, so that their sums stay in registers.
const TOGETHER: usize = 32;

/// `f32`, or `f64` where differences of large sums matter.
pub(super) trait Value: Copy + Default + Add<Output = Self> + Mul<Output = Self> {}
impl Value for f32 {}
impl Value for f64 {}

/// `out[x] = Σ_k weights[k] · src[x + k·stride]`: across a padded row with stride 1, down rows with their width.
///
/// Inlined into its callers, which choose the SIMD level.
#[inline(always)]
pub(super) fn filter<T: Value>(src: &[T], stride: usize, weights: &[T], out: &mut [T]) {
    let mut blocks = out.chunks_exact_mut(TOGETHER);
    let mut x = 0;
    for block in &mut blocks {
        let mut sums = [T::default(); TOGETHER];
        for (k, &w) in weights.iter().enumerate() {
            let from = &src[x + k * stride..][..TOGETHER];
            for (sum, &v) in sums.iter_mut().zip(from) {
                *sum = *sum + w * v;
            }
        }
        block.copy_from_slice(&sums);
        x += TOGETHER;
    }
    for (i, o) in blocks.into_remainder().iter_mut().enumerate() {
        let mut sum = T::default();
        for (k, &w) in weights.iter().enumerate() {
            sum = sum + w * src[x + i + k * stride];
        }
        *o = sum;
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
    fn blocks_and_rest_are_one_sum() {
        let weights = [0.5, -1.0, 2.0];
        for (len, stride) in [(1, 1), (31, 1), (32, 3), (75, 2)] {
            let src: Vec<f32> = (0..len + 2 * stride).map(|i| (i * i % 17) as f32).collect();
            let mut out = vec![0.0; len];
            filter(&src, stride, &weights, &mut out);
            for x in 0..len {
                let expected = 0.5 * src[x] - src[x + stride] + 2.0 * src[x + 2 * stride];
                assert_eq!(out[x], expected);
            }
        }
    }
}
