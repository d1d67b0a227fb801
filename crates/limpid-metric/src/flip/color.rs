//! The colour spaces of FLIP.
//!
//! Opponent colours are the linear form of L\*a\*b\*: lightness is `Y`, red-green is `X - Y`, blue-yellow is `Y - Z`, all
//! relative to white. Their usual scales and offsets (116, 500, 200, 16) cancel, since every filter over them sums to one.

use super::power::power;
use std::sync::LazyLock;

type Matrix = [[f32; 3]; 3];

/// Linear sRGB to CIE XYZ, D65, as fractions.
const XYZ: [[f64; 3]; 3] = [
    [
        10_135_552.0 / 24_577_794.0,
        8_788_810.0 / 24_577_794.0,
        4_435_075.0 / 24_577_794.0,
    ],
    [
        2_613_072.0 / 12_288_897.0,
        8_788_810.0 / 12_288_897.0,
        887_015.0 / 12_288_897.0,
    ],
    [
        1_425_312.0 / 73_733_382.0,
        8_788_810.0 / 73_733_382.0,
        70_074_185.0 / 73_733_382.0,
    ],
];

/// Exponent of the colour distance.
const POWER: f32 = 0.7;
/// Distances up to this share of the largest …
const KNEE: f32 = 0.4;
/// … map to this share of the error.
const KNEE_ERROR: f32 = 0.95;

/// Linear sRGB to XYZ relative to white, and back.
#[derive(Clone, Copy)]
pub(super) struct Colors {
    to_white: Matrix,
    from_white: Matrix,
    greatest: f32,
}

/// The shared table of colour constants.
pub(super) static COLORS: LazyLock<Colors> = LazyLock::new(Colors::new);

impl Colors {
    fn new() -> Self {
        // White is RGB (1, 1, 1): its XYZ values are the row sums.
        let relative = XYZ.map(|row| row.map(|v| v / row.iter().sum::<f64>()));
        let to_white = relative.map(|row| row.map(|v| v as f32));
        let mut colors = Self {
            to_white,
            from_white: inverse(&relative),
            greatest: 1.0,
        };
        let lab = |rgb| colors.hunt_lab(rgb);
        colors.greatest = distance(lab([0.0, 1.0, 0.0]), lab([0.0, 0.0, 1.0])).powf(POWER);
        colors
    }

    /// Linear sRGB to opponent colours.
    #[inline(always)]
    pub(super) fn opponent(&self, rgb: [f32; 3]) -> [f32; 3] {
        let [x, y, z] = times(&self.to_white, rgb);
        [y, x - y, y - z]
    }

    /// Opponent colours to L\*a\*b\* of the nearest displayable colour, with the Hunt effect: colours appear stronger where it
    /// is bright.
    #[inline(always)]
    pub(super) fn perceived(&self, [y, red, blue]: [f32; 3]) -> [f32; 3] {
        let [r, g, b] = times(&self.from_white, [y + red, y, y - blue]);
        self.hunt_lab([r.clamp(0.0, 1.0), g.clamp(0.0, 1.0), b.clamp(0.0, 1.0)])
    }

    #[inline(always)]
    fn hunt_lab(&self, rgb: [f32; 3]) -> [f32; 3] {
        let [x, y, z] = times(&self.to_white, rgb);
        let (x, y, z) = (lab_curve(x), lab_curve(y), lab_curve(z));
        let lightness = 116.0 * y - 16.0;
        let hunt = 0.01 * lightness;
        [lightness, hunt * 500.0 * (x - y), hunt * 200.0 * (y - z)]
    }

    /// The error of a pair of perceived colours, 0 … 1.
    #[inline(always)]
    pub(super) fn error(&self, a: [f32; 3], b: [f32; 3]) -> f32 {
        let powered = power(distance(a, b), POWER);
        let knee = KNEE * self.greatest;
        if powered < knee {
            powered * (KNEE_ERROR / knee)
        } else {
            KNEE_ERROR + (powered - knee) / (self.greatest - knee) * (1.0 - KNEE_ERROR)
        }
    }
}

// Written out, here and below: a closure would be compiled separately, without the caller's vector instructions.
#[inline(always)]
fn times(m: &Matrix, [x, y, z]: [f32; 3]) -> [f32; 3] {
    [
        m[0][0] * x + m[0][1] * y + m[0][2] * z,
        m[1][0] * x + m[1][1] * y + m[1][2] * z,
        m[2][0] * x + m[2][1] * y + m[2][2] * z,
    ]
}

/// City-block in lightness, Euclidean in colour (HyAB).
#[inline(always)]
fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let [l, x, y] = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    l.abs() + (x * x + y * y).sqrt()
}

/// The curve of L\*a\*b\*.
#[inline(always)]
fn lab_curve(t: f32) -> f32 {
    const DELTA: f32 = 6.0 / 29.0;
    if t > DELTA * DELTA * DELTA {
        power(t, 1.0 / 3.0)
    } else {
        t / (3.0 * DELTA * DELTA) + 4.0 / 29.0
    }
}

fn inverse(m: &[[f64; 3]; 3]) -> Matrix {
    let minor = |r: usize, c: usize| {
        let (r1, r2, c1, c2) = ((r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3);
        m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]
    };
    let determinant: f64 = (0..3).map(|c| m[0][c] * minor(0, c)).sum();
    [0, 1, 2].map(|r| [0, 1, 2].map(|c| (minor(c, r) / determinant) as f32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opponent_colours_come_back() {
        // Green, then a colour outside the gamut.
        let [l, a, b] = COLORS.perceived(COLORS.opponent([0.0, 1.0, 0.0]));
        // CIE L*a*b* of sRGB green is (87.73, -86.18, 83.18); Hunt scales the last two by 0.8773.
        assert!((l - 87.73).abs() < 0.02, "{l}");
        assert!((a + 86.18 * 0.8773).abs() < 0.05, "{a}");
        assert!((b - 83.18 * 0.8773).abs() < 0.05, "{b}");
        let beyond = COLORS.perceived(COLORS.opponent([2.0, 2.0, 2.0]));
        assert!((beyond[0] - 100.0).abs() < 1e-3);
    }

    #[test]
    fn the_greatest_error_is_one() {
        let green = COLORS.perceived(COLORS.opponent([0.0, 1.0, 0.0]));
        let blue = COLORS.perceived(COLORS.opponent([0.0, 0.0, 1.0]));
        assert!((COLORS.error(green, blue) - 1.0).abs() < 1e-4);
        assert_eq!(COLORS.error(green, green), 0.0);
    }
}
