//! Image pairs by formula, the same as in `tests/metric_oracle.py`, and the comparison of numbers.

use limpid_core::Image;

/// Image and reference as integers 0 … 255.
fn codes(x: usize, y: usize, c: usize) -> (i32, i32) {
    let reference = ((x * 5 + y * 3 + c * 40 + (x / 8 + y / 8) % 2 * 60) % 256) as i32;
    let noise = ((x * 71 + y * 113 + c * 29 + x * y * 17) % 41) as i32 - 20;
    ((reference + noise).clamp(0, 255), reference)
}

fn pair(width: usize, height: usize, value: impl Fn(usize, usize, i32) -> f32) -> (Image, Image) {
    (
        Image::from_fn(width, height, 3, |x, y, c| value(x, y, codes(x, y, c).0)),
        Image::from_fn(width, height, 3, |x, y, c| value(x, y, codes(x, y, c).1)),
    )
}

/// Image and reference of display values, 0 … 1.
pub(super) fn display(width: usize, height: usize) -> (Image, Image) {
    pair(width, height, |_, _, code| code as f32 / 255.0)
}

/// Image and reference of radiance, 0 … about 1000.
pub(super) fn linear(width: usize, height: usize) -> (Image, Image) {
    pair(width, height, |x, y, code| {
        let highlight = if (x + 3 * y) % 29 == 0 { 64.0 } else { 1.0 };
        code.pow(3) as f32 * highlight / (1 << 20) as f32
    })
}

/// Fails if `got` differs from `expected` by more than `relative`.
pub(super) fn assert_close(got: f64, expected: f64, relative: f64) {
    assert!(
        (got - expected).abs() <= relative * expected.abs(),
        "got {got}, expected {expected} within {relative} of it"
    );
}
