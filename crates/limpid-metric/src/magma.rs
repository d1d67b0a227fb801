//! The colour map of error images.

/// The map `magma` of matplotlib (van der Walt and Smith, public domain), sampled at 33 even steps.
const STEPS: [[u8; 3]; 33] = [
    [0, 0, 4],
    [3, 3, 17],
    [10, 8, 34],
    [19, 13, 51],
    [29, 17, 70],
    [40, 17, 90],
    [54, 16, 106],
    [67, 15, 118],
    [80, 18, 124],
    [93, 23, 127],
    [105, 28, 129],
    [118, 33, 129],
    [130, 38, 129],
    [143, 42, 129],
    [156, 46, 127],
    [169, 50, 125],
    [182, 55, 121],
    [195, 59, 117],
    [207, 65, 112],
    [219, 72, 106],
    [230, 81, 99],
    [238, 92, 94],
    [245, 105, 92],
    [249, 120, 93],
    [251, 135, 97],
    [253, 150, 104],
    [254, 165, 113],
    [254, 180, 123],
    [254, 195, 135],
    [254, 209, 148],
    [253, 224, 162],
    [252, 238, 176],
    [252, 253, 191],
];

/// The colour of an error, from 0 (black) via purple and orange to 1 (pale yellow), as display values.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod metric { pub use limpid_metric::*; } }
/// use limpid::metric::magma;
/// assert!(magma(0.0).iter().all(|v| *v < 0.02));
/// assert_eq!(magma(7.0), magma(1.0));
/// ```
pub fn magma(error: f32) -> [f32; 3] {
    let last = STEPS.len() - 1;
    let at = error.clamp(0.0, 1.0) * last as f32;
    // NaN counts as no error: its index and fraction become zero.
    let low = (at as usize).min(last - 1);
    let t = (at - low as f32).max(0.0);
    std::array::from_fn(|c| {
        let [a, b] = [STEPS[low][c], STEPS[low + 1][c]].map(f32::from);
        (a + (b - a) * t) / 255.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lightness_rises_with_the_error() {
        let shades: Vec<f32> = (0..=100)
            .map(|i| {
                limpid_core::luminance(magma(i as f32 / 100.0).map(limpid_core::srgb_to_linear))
            })
            .collect();
        assert!(shades.windows(2).all(|w| w[0] <= w[1]));
        assert_eq!(magma(f32::NAN), magma(0.0));
    }
}
