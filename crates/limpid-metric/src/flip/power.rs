//! Powers in plain arithmetic, so that loops over pixels vectorise.

use std::f32::consts::{FRAC_1_SQRT_2, LN_2};

/// `base` to the `exponent`, for bases from 0 to 1e30 and exponents from 0 to 1; within 1e-6 of the true value.
#[inline(always)]
pub(super) fn power(base: f32, exponent: f32) -> f32 {
    let result = exp2(exponent * log2(base.max(f32::MIN_POSITIVE)));
    if base < f32::MIN_POSITIVE {
        0.0
    } else {
        result
    }
}

/// The logarithm of a positive, normal number.
#[inline(always)]
fn log2(v: f32) -> f32 {
    // v = m · 2^e with m around one, between √½ and √2.
    const HALF_ROOT: u32 = FRAC_1_SQRT_2.to_bits();
    let shifted = v.to_bits().wrapping_sub(HALF_ROOT);
    let e = (shifted as i32) >> 23;
    let m = f32::from_bits((shifted & 0x007f_ffff).wrapping_add(HALF_ROOT));
    // ln m = 2·artanh t
    let t = (m - 1.0) / (m + 1.0);
    let tt = t * t;
    let series = 1.0 + tt * (1.0 / 3.0 + tt * (1.0 / 5.0 + tt * (1.0 / 7.0 + tt * (1.0 / 9.0))));
    e as f32 + (2.0 / LN_2) * t * series
}

/// Two to the power of a number from -126 to 126.
#[inline(always)]
fn exp2(v: f32) -> f32 {
    // Adding and subtracting 1.5·2^23 rounds to the nearest integer.
    const ROUND: f32 = 12_582_912.0;
    let shifted = v.clamp(-126.0, 126.0) + ROUND;
    let whole = shifted - ROUND;
    let x = (v - whole) * LN_2;
    let series = 1.0
        + x * (1.0
            + x * (1.0 / 2.0
                + x * (1.0 / 6.0 + x * (1.0 / 24.0 + x * (1.0 / 120.0 + x * (1.0 / 720.0))))));
    // The same integer is in the low bits. No cast, because Rust's checks for NaN first, which prevents vectorisation.
    let exponent = shifted.to_bits().wrapping_sub(ROUND.to_bits());
    f32::from_bits(exponent.wrapping_add(127) << 23) * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_library_function() {
        for exponent in [0.0, 0.1, 1.0 / 3.0, 0.5, 0.7, 0.999, 1.0] {
            for i in 0..20_000 {
                let base = (i as f32 * 0.005 - 60.0).exp2();
                let (got, expected) = (power(base, exponent), base.powf(exponent));
                assert!(
                    (got - expected).abs() <= 2e-6 * expected,
                    "{base}^{exponent}: {got}, not {expected}"
                );
            }
            assert_eq!(power(0.0, exponent), 0.0);
        }
    }
}
