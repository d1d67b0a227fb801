//! Half precision on the CPU: rounds values like storage in half floats.

/// The largest half float.
pub const MOST: f32 = 65_504.0;

/// The smallest normal half float: subnormal ones have the same spacing as the first normals.
const SMALLEST_NORMAL: f32 = 1.0 / 16_384.0;

/// A value rounded to half precision; values beyond the range are clamped.
///
/// Plain arithmetic, so that loops over it vectorise.
#[inline(always)]
pub fn rounded(v: f32) -> f32 {
    let v = v.clamp(-MOST, MOST);
    // Rounds the last 13 bits of the mantissa away, to nearest even.
    let bits = v.to_bits();
    let normal = f32::from_bits((bits + 0x0fff + ((bits >> 13) & 1)) & !0x1fff);
    // Numbers between 0.5 and 1 have the spacing of subnormal half floats.
    let small = (v + 0.75) - 0.75;
    if v.abs() < SMALLEST_NORMAL {
        small
    } else {
        normal
    }
}

/// Rounds a row.
#[inline(always)]
pub fn round(row: &mut [f32]) {
    for v in row {
        *v = rounded(*v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn values_are_rounded_as_half_floats() {
        let wanted = |v: f32| f16::from_f32(v.clamp(-MOST, MOST)).to_f32();
        // All half floats, the values between them, and the neighbours of those.
        let near = |bits: u16| {
            let [a, b] = [bits, bits + 1].map(|b| f16::from_bits(b).to_f32());
            let middle = 0.5 * (a + b);
            [a, middle, middle.next_down(), middle.next_up()]
        };
        for v in (0..0x7bff).flat_map(near).chain([1e30, 1e-30, MOST]) {
            assert_eq!(rounded(v), wanted(v), "{v:e}");
            assert_eq!(rounded(-v), wanted(-v), "-{v:e}");
        }
        assert!(rounded(f32::NAN).is_nan());
    }
}
