//! One `exp(-x)`-like function for Rust and WGSL.
//!
//! `fast_exp(x)` is `e^x` for `x <= 0`, to a relative error of 3e-7 near 0 and 1e-5 at -87; for smaller `x` it is exactly 0. It
//! consists of adds, multiplies, a rounding and a shift, so that plain loops over it vectorise: a loop over `f32::exp` is some
//! forty times slower. Its WGSL counterpart in `shared.wgsl` uses the hardware's `exp2`.

use fearless_simd::prelude::*;
use fearless_simd::{f32x16, u32x16};

/// `e^x` for `x <= 0`; 0 below -87. NaN gives 0.
///
/// ```
/// # mod limpid { pub mod plan { pub use limpid_plan::*; } pub mod kernel { pub use limpid_plan::*; } }
/// use limpid::kernel::fast_exp::fast_exp;
/// assert_eq!(fast_exp(0.0), 1.0);
/// assert!((fast_exp(-1.0) / (-1.0f32).exp() - 1.0).abs() < 2e-6);
/// assert_eq!(fast_exp(-1000.0), 0.0);
/// ```
#[inline(always)]
pub fn fast_exp(x: f32) -> f32 {
    // The order of the comparison makes NaN take the branch.
    let inside = x > -87.0;
    let t = (if inside { x } else { 0.0 }) * std::f32::consts::LOG2_E;
    // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer.
    const MAGIC: f32 = 12_582_912.0;
    let shifted = t + MAGIC;
    let f = t - (shifted - MAGIC);
    let p = polynomial(f);
    // The integer is in the low bits of the shifted number; the left shift discards all other bits.
    let scale = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    if inside { p * scale } else { 0.0 }
}

/// `ln x` for normal `x > 0`, to an absolute error of 3e-7 and a relative one of 3e-7 away from 1. Plain loops over it vectorise.
///
/// ```
/// # mod limpid { pub mod plan { pub use limpid_plan::*; } pub mod kernel { pub use limpid_plan::*; } }
/// use limpid::kernel::fast_exp::fast_ln;
/// assert_eq!(fast_ln(1.0), 0.0);
/// assert!((fast_ln(0.05) - 0.05f32.ln()).abs() < 1e-6);
/// ```
#[inline(always)]
pub fn fast_ln(x: f32) -> f32 {
    // Mantissas from √½ on belong to the next exponent.
    let bits = x
        .to_bits()
        .wrapping_sub(std::f32::consts::FRAC_1_SQRT_2.to_bits());
    let exponent = (bits as i32) >> 23;
    let mantissa = f32::from_bits((bits & 0x007f_ffff) + std::f32::consts::FRAC_1_SQRT_2.to_bits());
    // ln m = 2 artanh ((m - 1) / (m + 1)), as a series.
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let s = t * t;
    let series = 2.0 + s * (2.0 / 3.0 + s * (2.0 / 5.0 + s * (2.0 / 7.0 + s * (2.0 / 9.0))));
    exponent as f32 * std::f32::consts::LN_2 + t * series
}

/// The arithmetic of [`fast_exp`] on a vector type.
macro_rules! on_vectors {
    ($simd:ident, $x:ident, $floats:ty, $words:ty) => {{
        const MAGIC: f32 = 12_582_912.0;
        let zero = <$floats>::splat($simd, 0.0);
        let inside = $x.simd_gt(<$floats>::splat($simd, -87.0));
        let t = inside.select($x, zero) * std::f32::consts::LOG2_E;
        let shifted = t + MAGIC;
        let f = t - (shifted - MAGIC);
        let mut p = <$floats>::splat($simd, COEFFICIENTS[5]);
        for c in [4, 3, 2, 1, 0] {
            p = p * f + COEFFICIENTS[c];
        }
        // The sum's low bits hold the rounded integer: shifted up they are the exponent.
        let bits: $words = shifted.bitcast();
        let scale: $floats = ((bits << 23) + 0x3f80_0000).bitcast();
        inside.select(p * scale, zero)
    }};
}

/// [`fast_exp`] on vectors, bit-identical.
#[inline(always)]
pub fn fast_exp_simd<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    on_vectors!(simd, x, S::f32s, S::u32s)
}

/// [`fast_exp`] on sixteen values, bit-identical.
#[inline(always)]
pub fn fast_exp_x16<S: Simd>(simd: S, x: f32x16<S>) -> f32x16<S> {
    on_vectors!(simd, x, f32x16<S>, u32x16<S>)
}

/// The arithmetic of [`fast_exp2_simd`] on a vector type.
macro_rules! power_on_vectors {
    ($simd:ident, $x:ident, $floats:ty, $words:ty) => {{
        const MAGIC: f32 = 12_582_912.0;
        // At -127 the fraction is 0 and the exponent bits become 0, so the result is 0.
        let x = $x.max(<$floats>::splat($simd, -127.0));
        let shifted = x + MAGIC;
        let f = x - (shifted - MAGIC);
        let mut p = <$floats>::splat($simd, COEFFICIENTS[5]);
        for c in [4, 3, 2, 1, 0] {
            p = p.mul_add(f, <$floats>::splat($simd, COEFFICIENTS[c]));
        }
        // The low bits of the sum hold the rounded integer: shifted up they are added to the exponent.
        let (bits, shifted): ($words, $words) = (p.bitcast(), shifted.bitcast());
        (bits + (shifted << 23)).bitcast()
    }};
}

/// `2^x` for `x <= 0`, to a relative error of 3e-7 down to -125; from there to -127 it is below 1e-37, and from -127 on exactly
/// 0.
///
/// Half the work of [`fast_exp_simd`].
#[inline(always)]
pub fn fast_exp2_simd<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    power_on_vectors!(simd, x, S::f32s, S::u32s)
}

/// [`fast_exp2_simd`] on sixteen values.
#[inline(always)]
pub fn fast_exp2_x16<S: Simd>(simd: S, x: f32x16<S>) -> f32x16<S> {
    power_on_vectors!(simd, x, f32x16<S>, u32x16<S>)
}

/// `2^f` for `f` in -0.5 … 0.5.
#[inline(always)]
fn polynomial(f: f32) -> f32 {
    let mut p = COEFFICIENTS[5];
    for c in [4, 3, 2, 1, 0] {
        p = p * f + COEFFICIENTS[c];
    }
    p
}

/// Minimax coefficients of `2^f` with the first fixed at 1, largest relative error 2e-7.
pub const COEFFICIENTS: [f32; 6] = [
    1.0,
    std::f32::consts::LN_2,
    0.240_222_42,
    0.055_507_336,
    0.009_671_513,
    0.001_326_472_7,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_close() {
        for i in 0..20_000 {
            let x = 1e-6f32 * 1.0015f32.powi(i);
            let (want, have) = (f64::from(x).ln(), f64::from(fast_ln(x)));
            let allowed = 3e-7 + 3e-7 * want.abs();
            assert!((want - have).abs() < allowed, "{x}: {have}, not {want}");
        }
    }

    #[test]
    fn vectors_have_the_bits_of_the_scalar() {
        fn check<S: Simd>(simd: S) {
            let lanes = S::f32s::LEN;
            for i in 0..4000 {
                let x = |k: usize| -0.0231 * (i + k) as f32;
                let v = fast_exp_simd(simd, S::f32s::from_fn(simd, x));
                for k in 0..lanes {
                    assert_eq!(v.as_slice()[k].to_bits(), fast_exp(x(k)).to_bits());
                }
            }
            for i in 0..4000 {
                let x = |k: usize| -0.0231 * (i + k) as f32;
                let v = fast_exp_x16(simd, f32x16::from_fn(simd, x)).to_array();
                for k in 0..16 {
                    assert_eq!(v[k].to_bits(), fast_exp(x(k)).to_bits());
                }
            }
            let odd = fast_exp_simd(simd, S::f32s::splat(simd, f32::NAN));
            assert_eq!(odd.as_slice()[0], 0.0);
        }
        for (_, level) in limpid_core::simd::levels() {
            fearless_simd::dispatch!(level, simd => check(simd));
        }
    }

    #[test]
    fn powers_of_two_stay_within_their_error() {
        fn check<S: Simd>(simd: S) {
            for i in 0..125_000 {
                let x = -0.001 * i as f32;
                let got = fast_exp2_simd(simd, S::f32s::splat(simd, x)).as_slice()[0];
                let error = (f64::from(got) / f64::from(x).exp2() - 1.0).abs();
                assert!(error < 3e-7, "{x}: {error}");
            }
            for i in 0..=4000 {
                let x = -125.0 - 0.001 * i as f32;
                let got = fast_exp2_simd(simd, S::f32s::splat(simd, x)).as_slice()[0];
                let most = if x > -127.0 { 3e-38 } else { 0.0 };
                assert!((0.0..=most).contains(&got), "{x}: {got}");
            }
            let least = fast_exp2_simd(simd, S::f32s::splat(simd, f32::NEG_INFINITY));
            assert_eq!(least.as_slice()[0], 0.0);
        }
        for (_, level) in limpid_core::simd::levels() {
            fearless_simd::dispatch!(level, simd => check(simd));
        }
    }

    #[test]
    fn stays_within_its_error() {
        let mut x = -86.9f32;
        while x <= 0.0 {
            let exact = f64::from(x).exp();
            let error = (f64::from(fast_exp(x)) - exact).abs() / exact;
            // The product with log2(e) is rounded, which costs up to |x| * 2^-24 in the exponent.
            assert!(error < 3e-7 + f64::from(-x) * 1.2e-7, "{x}: {error}");
            x += 0.000_7;
        }
        assert_eq!(fast_exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(fast_exp(f32::NAN), 0.0);
    }
}
