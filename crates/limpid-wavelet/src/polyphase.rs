//! 4×4 matrices of Laurent polynomials: the effect of one step of a scheme on a quad.

use super::Laurent;
use std::fmt;
use std::ops::Mul;

/// The four samples of a quad by their position in vectors and matrices: `LL` top left, `HL` to its right, `LH` below, `HH`.
pub const QUAD: [&str; 4] = ["LL", "HL", "LH", "HH"];

/// A matrix that maps the quads `[LL HL LH HH]` of an image to new ones.
///
/// Invariants: column vectors are transformed, so the product `b * a` applies `a` first.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    entries: [[Laurent; 4]; 4],
}

impl Matrix {
    /// The identity.
    pub fn identity() -> Self {
        Self {
            entries: std::array::from_fn(|r| {
                std::array::from_fn(|c| {
                    if r == c {
                        Laurent::one()
                    } else {
                        Laurent::zero()
                    }
                })
            }),
        }
    }

    /// The identity with some entries replaced: `(row, column, polynomial)`.
    pub fn with(entries: impl IntoIterator<Item = (usize, usize, Laurent)>) -> Self {
        let mut matrix = Self::identity();
        for (r, c, p) in entries {
            matrix.entries[r][c] = p;
        }
        matrix
    }

    /// One entry.
    pub fn entry(&self, row: usize, column: usize) -> &Laurent {
        &self.entries[row][column]
    }

    /// Whether it is the identity.
    pub fn is_identity(&self) -> bool {
        (0..4).all(|r| !self.changes(r))
    }

    /// Whether it changes this sample of the quad.
    pub fn changes(&self, row: usize) -> bool {
        (0..4).any(|c| {
            let p = &self.entries[row][c];
            if row == c { !p.is_one() } else { !p.is_empty() }
        })
    }

    /// Whether it reads samples of other quads.
    pub fn reaches_out(&self) -> bool {
        self.reads().any(|(_, at)| at != (0, 0))
    }

    /// The samples that are read for the rows that change, each once: position in the quad and offset of the quad.
    pub fn reads(&self) -> impl Iterator<Item = (usize, (i32, i32))> {
        let mut set = std::collections::BTreeSet::new();
        for row in (0..4).filter(|&r| self.changes(r)) {
            for (c, p) in self.entries[row].iter().enumerate() {
                set.extend(p.terms().map(|(at, _)| (c, at)));
            }
        }
        set.into_iter()
    }

    /// Multiplications: the terms of all polynomials, without the units of the diagonal (Kula 2021, section 9.2).
    pub fn operations(&self) -> usize {
        let unit = |r: usize, c: usize| r == c && self.entries[r][c].is_one();
        (0..16)
            .map(|i| (i / 4, i % 4))
            .filter(|&(r, c)| !unit(r, c))
            .map(|(r, c)| self.entries[r][c].len())
            .sum()
    }

    /// The same step with the axes exchanged: filters transposed, `HL` and `LH` exchanged.
    pub fn transposed(&self) -> Self {
        self.permuted([0, 2, 1, 3])
            .map(|polynomial| polynomial.transposed())
    }

    /// The same step on permuted samples: sample `i` becomes sample `order[i]`.
    pub fn permuted(&self, order: [usize; 4]) -> Self {
        let mut out = Self::identity();
        for (r, row) in self.entries.iter().enumerate() {
            for (c, p) in row.iter().enumerate() {
                out.entries[order[r]][order[c]] = p.clone();
            }
        }
        out
    }

    fn map(&self, f: impl Fn(&Laurent) -> Laurent) -> Self {
        Self {
            entries: std::array::from_fn(|r| std::array::from_fn(|c| f(&self.entries[r][c]))),
        }
    }
}

impl Mul for &Matrix {
    type Output = Matrix;

    fn mul(self, first: Self) -> Matrix {
        Matrix {
            entries: std::array::from_fn(|r| {
                std::array::from_fn(|c| {
                    (0..4).fold(Laurent::zero(), |sum, k| {
                        &sum + &(&self.entries[r][k] * &first.entries[k][c])
                    })
                })
            }),
        }
    }
}

impl fmt::Display for Matrix {
    /// One line per sample that changes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (r, name) in QUAD.iter().enumerate().filter(|(r, _)| self.changes(*r)) {
            let terms: Vec<String> = QUAD
                .iter()
                .zip(&self.entries[r])
                .filter(|(_, p)| !p.is_empty())
                .map(|(from, p)| match p {
                    p if p.is_one() => (*from).to_owned(),
                    p => format!("({p}) {from}"),
                })
                .collect();
            write!(f, "{separator}{name} = {}", terms.join(" + "))?;
            separator = "\n";
        }
        Ok(())
    }
}
