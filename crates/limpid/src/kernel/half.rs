//! Half precision on the CPU: rounds values as storage in half floats does.

use half::f16;

/// The largest half float.
pub(crate) const MOST: f32 = 65_504.0;

/// A value as a half float holds it; values beyond the range stay at its end.
#[inline]
pub(crate) fn rounded(v: f32) -> f32 {
    f16::from_f32(v.clamp(-MOST, MOST)).to_f32()
}

/// Rounds a row.
pub(crate) fn round(row: &mut [f32]) {
    for v in row {
        *v = rounded(*v);
    }
}
