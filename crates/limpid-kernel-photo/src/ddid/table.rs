//! The tables of a window: cosines, sines and the spatial kernel.
//!
//! A window of `2r+1` pixels around its centre is folded into even and odd parts along both axes before its spectrum is
//! taken. The even part needs cosines for coordinates and frequencies 0 … r, the odd part sines for 1 … r.

use std::f64::consts::TAU;

/// `cos(2π f·i / (2r+1))` for coordinate and frequency 0 … r, row by row.
pub(super) fn cosines(radius: usize) -> Vec<f32> {
    entries(radius, 0, f64::cos)
}

/// `sin(2π f·i / (2r+1))` for coordinate and frequency 1 … r, row by row.
pub(super) fn sines(radius: usize) -> Vec<f32> {
    entries(radius, 1, f64::sin)
}

fn entries(radius: usize, first: usize, wave: fn(f64) -> f64) -> Vec<f32> {
    let side = 2 * radius + 1;
    let entry = |f: usize, i: usize| wave(TAU * (f * i % side) as f64 / side as f64) as f32;
    (first..=radius)
        .flat_map(|f| (first..=radius).map(move |i| entry(f, i)))
        .collect()
}

/// `exp(-i²/space)` for `i` in `-r … r`: the spatial kernel along one axis.
pub(super) fn space(radius: usize, space: f32) -> Vec<f32> {
    let r = radius as i64;
    (-r..=r)
        .map(|i| (-(i * i) as f64 / f64::from(space)).exp() as f32)
        .collect()
}

/// Maps `at` into an image of `n` pixels that is mirrored beyond its borders, with the edge pixel repeated.
#[inline]
pub(super) fn mirror(at: isize, n: usize) -> usize {
    if (0..n as isize).contains(&at) {
        return at as usize;
    }
    let folded = at.rem_euclid(2 * n as isize) as usize;
    folded.min(2 * n - 1 - folded)
}

/// `cos(√t)` as a polynomial in `t`, for `t` in 0 … π²/4: the Taylor series, whose next term is below 1e-8 there.
pub(super) const COSINE: [f32; 7] = [
    1.0,
    -0.5,
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
];

/// The first zero of the cosine: π²/4.
pub(super) const COSINE_END: f32 = (std::f64::consts::PI * std::f64::consts::PI / 4.0) as f32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_polynomial_is_the_cosine() {
        for i in 0..=1000 {
            let t = COSINE_END * i as f32 / 1000.0;
            let p = COSINE.iter().rev().fold(0.0, |p, c| p * t + c);
            assert!(
                (f64::from(p) - f64::from(t).sqrt().cos()).abs() < 2e-7,
                "{t}"
            );
        }
    }

    #[test]
    fn mirrored_images_repeat_their_edge() {
        let row: Vec<usize> = (-5..8).map(|i| mirror(i, 3)).collect();
        assert_eq!(row, [1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
        assert!((-9..9).all(|i| mirror(i, 1) == 0));
    }
}
