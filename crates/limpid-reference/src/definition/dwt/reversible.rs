//! The reversible 5/3 transform of JPEG 2000 (ITU-T T.800, annex F): integers to integers, lossless.

use limpid_core::{Error, Result, Size};
use limpid_wavelet::mirrored;

/// Transforms integers in place, with coefficients interleaved: level `l` with a spacing of `2^l`.
///
/// Sums wrap around, so that even the largest numbers are restored.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub use limpid_reference::*; }
/// use limpid::{Size, definition::dwt::{reversible_forward, reversible_inverse}};
/// let mut data = vec![3, 1, 4, 1, 5, 9];
/// reversible_forward(&mut data, Size::new(3, 2), 2)?;
/// reversible_inverse(&mut data, Size::new(3, 2), 2)?;
/// assert_eq!(data, [3, 1, 4, 1, 5, 9]);
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn reversible_forward(data: &mut [i32], size: Size, levels: usize) -> Result<()> {
    check(data, size)?;
    for level in 0..levels.min(31) {
        for_lines(data, size, level, [false, true], forward);
    }
    Ok(())
}

/// The inverse of [`reversible_forward`].
pub fn reversible_inverse(data: &mut [i32], size: Size, levels: usize) -> Result<()> {
    check(data, size)?;
    for level in (0..levels.min(31)).rev() {
        for_lines(data, size, level, [true, false], inverse);
    }
    Ok(())
}

fn check(data: &[i32], size: Size) -> Result<()> {
    if data.len() == size.pixels() {
        return Ok(());
    }
    Err(Error::mismatch(format!(
        "an image of {size} has {} values, not {}",
        size.pixels(),
        data.len()
    )))
}

/// Calls `f` with every line of a level, along the axes in the given order (`true`: columns).
fn for_lines(data: &mut [i32], size: Size, level: usize, axes: [bool; 2], f: fn(&mut [i32])) {
    let step = 1usize << level;
    for columns in axes {
        let (along, across) = if columns {
            (size.height, size.width)
        } else {
            (size.width, size.height)
        };
        let at = |i: usize, j: usize| {
            if columns {
                i * size.width + j
            } else {
                j * size.width + i
            }
        };
        for j in (0..across).step_by(step) {
            let mut line: Vec<i32> = (0..along).step_by(step).map(|i| data[at(i, j)]).collect();
            f(&mut line);
            for (i, v) in (0..along).step_by(step).zip(line) {
                data[at(i, j)] = v;
            }
        }
    }
}

fn predicted(x: &[i32], i: usize) -> i32 {
    let next = mirrored(i as i64 + 1, x.len());
    (i64::from(x[i - 1]) + i64::from(x[next])).div_euclid(2) as i32
}

fn updated(x: &[i32], i: usize) -> i32 {
    let before = mirrored(i as i64 - 1, x.len());
    let after = mirrored(i as i64 + 1, x.len());
    (i64::from(x[before]) + i64::from(x[after]) + 2).div_euclid(4) as i32
}

fn forward(x: &mut [i32]) {
    if x.len() == 1 {
        return;
    }
    for i in (1..x.len()).step_by(2) {
        x[i] = x[i].wrapping_sub(predicted(x, i));
    }
    for i in (0..x.len()).step_by(2) {
        x[i] = x[i].wrapping_add(updated(x, i));
    }
}

fn inverse(x: &mut [i32]) {
    if x.len() == 1 {
        return;
    }
    for i in (0..x.len()).step_by(2) {
        x[i] = x[i].wrapping_sub(updated(x, i));
    }
    for i in (1..x.len()).step_by(2) {
        x[i] = x[i].wrapping_add(predicted(x, i));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_of_jpeg_2000() {
        // Worked by hand from Eq. F-9 and F-10: d = x[1] - ⌊(x[0] + x[2]) / 2⌋, s = x[0] + ⌊(d[-1] + d[0] + 2) / 4⌋.
        let mut x = vec![10, 13, 25, 26, 29];
        forward(&mut x);
        assert_eq!(x, [8, -4, 24, -1, 29]);
        inverse(&mut x);
        assert_eq!(x, [10, 13, 25, 26, 29]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(width in 1usize..20, height in 1usize..20, levels in 0usize..6, seed: u64) {
            let mut state = seed | 1;
            let data: Vec<i32> = (0..width * height).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 32) as i32
            }).collect();
            let size = Size::new(width, height);
            let mut there = data.clone();
            reversible_forward(&mut there, size, levels).unwrap();
            reversible_inverse(&mut there, size, levels).unwrap();
            prop_assert_eq!(there, data);
        }
    }

    #[test]
    fn a_wrong_size_is_refused() {
        assert!(reversible_forward(&mut [1, 2, 3], Size::new(2, 2), 1).is_err());
    }
}
