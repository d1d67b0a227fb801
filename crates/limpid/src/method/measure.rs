//! Measurements of whole frames, in parallel.

use rayon::prelude::*;
use std::ops::Range;

/// Values summed by one thread at a time.
const PART: usize = 1 << 16;

/// Sums over `0..count`: each part is summed by one thread and the parts in order, so that the result does not depend on the
/// number of threads.
pub(super) fn sum<const N: usize>(
    count: usize,
    part: impl Fn(Range<usize>) -> [f64; N] + Sync,
) -> [f64; N] {
    let starts = (0..count).into_par_iter().step_by(PART);
    let parts: Vec<[f64; N]> = starts
        .map(|start| part(start..count.min(start + PART)))
        .collect();
    let add = |sum: [f64; N], part: [f64; N]| std::array::from_fn(|k| sum[k] + part[k]);
    parts.into_iter().fold([0.0; N], add)
}

/// [`sum`] of a single value per index.
pub(super) fn sum_of(count: usize, value: impl Fn(usize) -> f64 + Sync) -> f64 {
    let [sum] = sum(count, |range| [range.map(&value).sum()]);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_all_parts() {
        let count = 3 * PART + 7;
        let expected = (count * (count - 1) / 2) as f64;
        assert_eq!(sum_of(count, |i| i as f64), expected);
        assert_eq!(sum(0, |_| [1.0, 2.0]), [0.0, 0.0]);
    }
}
