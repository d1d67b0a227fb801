//! How a signal continues beyond its ends.

use limpid_core::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// How a signal continues beyond its ends: PyWavelets' nine modes, and mirrored lifting.
///
/// All but [`Mirror`](Self::Mirror) and [`Periodization`](Self::Periodization) give more coefficients than samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Boundary {
    /// Lifting steps read samples mirrored at the first and last one, as in JPEG 2000. As many coefficients as samples.
    #[default]
    Mirror,
    /// `… 0 0 | a b c | 0 0 …`
    Zero,
    /// `… a a | a b c | c c …`
    Constant,
    /// `… b a | a b c | c b …`
    Symmetric,
    /// `… c b | a b c | b a …`
    Reflect,
    /// `… b c | a b c | a b …`
    Periodic,
    /// Continued with the slope of the last two samples.
    Smooth,
    /// `… -b -a | a b c | -c -b …`
    Antisymmetric,
    /// Mirrored at the first and last sample, in position and value.
    Antireflect,
    /// Periodic with as many coefficients as samples; an odd signal repeats its last sample once.
    Periodization,
}

const NAMES: [(Boundary, &str); 10] = [
    (Boundary::Mirror, "mirror"),
    (Boundary::Zero, "zero"),
    (Boundary::Constant, "constant"),
    (Boundary::Symmetric, "symmetric"),
    (Boundary::Reflect, "reflect"),
    (Boundary::Periodic, "periodic"),
    (Boundary::Smooth, "smooth"),
    (Boundary::Antisymmetric, "antisymmetric"),
    (Boundary::Antireflect, "antireflect"),
    (Boundary::Periodization, "periodization"),
];

impl Boundary {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|n| n.0)
    }

    /// Whether a transform has more coefficients than samples.
    pub fn expands(self) -> bool {
        !matches!(self, Self::Mirror | Self::Periodization)
    }

    /// Sample `i` of the extended signal of `n` samples, as a sum of samples: `(index, weight)`.
    pub fn sample(self, i: i64, n: usize) -> Vec<(usize, f64)> {
        let len = n as i64;
        if len == 0 {
            return Vec::new();
        }
        if (0..len).contains(&i) {
            return vec![(i as usize, 1.0)];
        }
        let (first, last) = (0usize, n - 1);
        let near = if i < 0 { first } else { last };
        match self {
            Self::Zero => Vec::new(),
            Self::Constant => vec![(near, 1.0)],
            Self::Mirror | Self::Reflect => vec![(mirrored(i, n), 1.0)],
            Self::Periodic | Self::Periodization => vec![(i.rem_euclid(len) as usize, 1.0)],
            Self::Symmetric | Self::Antisymmetric => {
                let at = i.rem_euclid(2 * len);
                let flipped = i.div_euclid(len).rem_euclid(2) == 1;
                let index = if at < len { at } else { 2 * len - 1 - at };
                let turn = flipped && self == Self::Antisymmetric;
                vec![(index as usize, if turn { -1.0 } else { 1.0 })]
            }
            Self::Smooth if n == 1 => vec![(near, 1.0)],
            Self::Smooth => {
                let (next, steps) = if i < 0 {
                    (1, -i)
                } else {
                    (last - 1, i - len + 1)
                };
                let steps = steps as f64;
                vec![(near, 1.0 + steps), (next, -steps)]
            }
            Self::Antireflect if n == 1 => vec![(near, 1.0)],
            // Each reflection at an end flips the sign and adds twice the end's value.
            Self::Antireflect => {
                let mut sum = vec![(near, 2.0)];
                let back = if i < 0 { -i } else { 2 * (len - 1) - i };
                let rest = self.sample(back, n);
                sum.extend(rest.into_iter().map(|(k, w)| (k, -w)));
                sum
            }
        }
    }
}

/// The position of sample `i` in a signal of `n` samples mirrored at its first and last one.
#[inline]
pub fn mirrored(i: i64, n: usize) -> usize {
    let period = 2 * (n as i64 - 1);
    if period <= 0 {
        return 0;
    }
    // Near the signal no division is needed, which matters at the ends of every row.
    if -period / 2 <= i && i <= period {
        let at = i.abs();
        return at.min(period - at) as usize;
    }
    let at = i.rem_euclid(period);
    at.min(period - at) as usize
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|n| n.0 == *self).map_or("", |n| n.1))
    }
}

impl FromStr for Boundary {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        NAMES
            .iter()
            .find(|n| n.1 == text)
            .map(|n| n.0)
            .ok_or_else(|| Error::unknown("boundary", text, NAMES.iter().map(|n| n.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The extended signal `1 2 4` from -5 to 7.
    fn extended(border: Boundary) -> Vec<f64> {
        let signal = [1.0, 2.0, 4.0];
        let value = |i| {
            border
                .sample(i, 3)
                .iter()
                .map(|(k, w)| w * signal[*k])
                .sum()
        };
        (-5..8).map(value).collect()
    }

    #[test]
    fn borders_extend_as_drawn() {
        #[rustfmt::skip]
        let cases = [
            (Boundary::Zero, [0., 0., 0., 0., 0., 1., 2., 4., 0., 0., 0., 0., 0.]),
            (Boundary::Constant, [1., 1., 1., 1., 1., 1., 2., 4., 4., 4., 4., 4., 4.]),
            (Boundary::Symmetric, [2., 4., 4., 2., 1., 1., 2., 4., 4., 2., 1., 1., 2.]),
            (Boundary::Reflect, [2., 1., 2., 4., 2., 1., 2., 4., 2., 1., 2., 4., 2.]),
            (Boundary::Periodic, [2., 4., 1., 2., 4., 1., 2., 4., 1., 2., 4., 1., 2.]),
            (Boundary::Smooth, [-4., -3., -2., -1., 0., 1., 2., 4., 6., 8., 10., 12., 14.]),
            (Boundary::Antisymmetric, [2., 4., -4., -2., -1., 1., 2., 4., -4., -2., -1., 1., 2.]),
            (Boundary::Antireflect, [-6., -5., -4., -2., 0., 1., 2., 4., 6., 7., 8., 10., 12.]),
        ];
        for (border, wanted) in cases {
            assert_eq!(extended(border), wanted, "{border}");
        }
    }

    #[test]
    fn names_come_back() {
        for border in Boundary::all() {
            assert_eq!(border.to_string().parse::<Boundary>().unwrap(), border);
            assert!(border.sample(-7, 1).len() <= 1, "{border}");
        }
    }
}
