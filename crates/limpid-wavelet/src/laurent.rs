//! Laurent polynomials in two variables: the filters of a polyphase matrix.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Add, Mul, Neg};

/// Sums smaller than this share of their terms are rounding errors, and count as zero.
const CANCELLED: f64 = 1e-12;

/// A Laurent polynomial in `x` and `y`: a finite filter over quads.
///
/// A term is identified by its *offset*: the term `c·x^-i·y^-j` has offset `(i, j)` and reads the quad `i` columns to the right
/// and `j` rows below (Kula 2021, section 9.2, writes `z_m` and `z_n`). A term with offset `(0, 0)` reads its own quad, and
/// needs no barrier.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod wavelet { pub use limpid_wavelet::*; } }
/// use limpid::wavelet::Laurent;
/// let predict = Laurent::row(0, &[-0.5, -0.5]);
/// assert_eq!(predict.to_string(), "-0.5 - 0.5x^-1");
/// assert_eq!((&predict * &predict.transposed()).terms().count(), 4);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Laurent {
    terms: BTreeMap<(i32, i32), f64>,
}

impl Laurent {
    /// The zero polynomial.
    pub fn zero() -> Self {
        Self::default()
    }

    /// The number 1.
    pub fn one() -> Self {
        Self::constant(1.0)
    }

    /// A constant: a term in its own quad.
    pub fn constant(value: f64) -> Self {
        Self::row(0, &[value])
    }

    /// A filter along x whose first value has offset `first`.
    pub fn row(first: i32, values: &[f64]) -> Self {
        let terms = values.iter().zip(first..);
        Self {
            terms: terms
                .filter(|(v, _)| **v != 0.0)
                .map(|(v, i)| ((i, 0), *v))
                .collect(),
        }
    }

    /// The terms: offset and coefficient, by offset.
    pub fn terms(&self) -> impl Iterator<Item = ((i32, i32), f64)> + '_ {
        self.terms.iter().map(|(at, c)| (*at, *c))
    }

    /// The number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether it is zero.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether this is the number 1.
    pub fn is_one(&self) -> bool {
        self.terms.len() == 1 && self.terms.get(&(0, 0)) == Some(&1.0)
    }

    /// The same filter along the other axis: `G*(x, y) = G(y, x)`.
    pub fn transposed(&self) -> Self {
        Self {
            terms: self.terms().map(|((i, j), c)| ((j, i), c)).collect(),
        }
    }

    /// The reversed filter, `G(1/x, 1/y)`: its adjoint.
    pub fn reversed(&self) -> Self {
        Self {
            terms: self.terms().map(|((i, j), c)| ((-i, -j), c)).collect(),
        }
    }

    /// The constant term and the rest, `P = P0 + P1` (Kula 2021, section 8.4): the first never reads another quad.
    pub fn split(&self) -> (Self, Self) {
        let part = |own: bool| Self {
            terms: self
                .terms()
                .filter(|(at, _)| (*at == (0, 0)) == own)
                .collect(),
        };
        (part(true), part(false))
    }

    fn add_term(&mut self, at: (i32, i32), value: f64) {
        let slot = self.terms.entry(at).or_insert(0.0);
        let sum = *slot + value;
        if sum.abs() <= CANCELLED * slot.abs().max(value.abs()) {
            self.terms.remove(&at);
        } else {
            *slot = sum;
        }
    }
}

impl Add for &Laurent {
    type Output = Laurent;

    fn add(self, other: Self) -> Laurent {
        let mut sum = self.clone();
        for (at, c) in other.terms() {
            sum.add_term(at, c);
        }
        sum
    }
}

impl Mul for &Laurent {
    type Output = Laurent;

    fn mul(self, other: Self) -> Laurent {
        let mut product = Laurent::zero();
        for ((i, j), a) in self.terms() {
            for ((k, l), b) in other.terms() {
                product.add_term((i + k, j + l), a * b);
            }
        }
        product
    }
}

impl Neg for &Laurent {
    type Output = Laurent;

    fn neg(self) -> Laurent {
        Laurent {
            terms: self.terms().map(|(at, c)| (at, -c)).collect(),
        }
    }
}

impl fmt::Display for Laurent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("0");
        }
        for (n, ((i, j), c)) in self.terms().enumerate() {
            match (n, c < 0.0) {
                (0, true) => f.write_str("-")?,
                (0, false) => {}
                (_, true) => f.write_str(" - ")?,
                (_, false) => f.write_str(" + ")?,
            }
            let digits = format!("{:.6}", c.abs());
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            if c.abs() != 1.0 || (i, j) == (0, 0) {
                f.write_str(digits)?;
            }
            for (name, offset) in [("x", i), ("y", j)] {
                match -offset {
                    0 => {}
                    1 => f.write_str(name)?,
                    power => write!(f, "{name}^{power}")?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polynomial_is_its_split_parts() {
        let p = Laurent::row(-1, &[0.0625, -0.5625, -0.5625, 0.0625]);
        let (own, rest) = p.split();
        assert_eq!(own, Laurent::constant(-0.5625));
        assert_eq!(rest.len(), 3);
        assert_eq!(&own + &rest, p);
    }

    #[test]
    fn what_cancels_is_gone() {
        let p = Laurent::row(0, &[0.1, 0.3]);
        assert!((&p + &-&p).is_empty());
        assert!((&Laurent::zero() * &p).is_empty());
    }

    #[test]
    fn reversal_and_transposition_are_their_own_inverse() {
        let p = &Laurent::row(-2, &[1.0, 2.0, 3.0]) * &Laurent::row(0, &[1.0, -1.0]).transposed();
        assert_eq!(p.reversed().reversed(), p);
        assert_eq!(p.transposed().transposed(), p);
        assert_eq!(p.to_string(), "x^2 - x^2y^-1 + 2x - 2xy^-1 + 3 - 3y^-1");
    }
}
