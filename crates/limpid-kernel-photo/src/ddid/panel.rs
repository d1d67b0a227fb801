//! Products of small constant matrices with many windows at once.
//!
//! An entry is a vector of lanes, one lane per window. Entries are stored in panels of `ROWS` rows, so that the inner loop
//! reads memory sequentially, like the matrix products of BLIS (Van Zee and van de Geijn 2015).

use fearless_simd::{Simd, SimdBase, SimdFloat};

/// Rows of a panel.
const ROWS: usize = 3;

/// Frequencies computed at a time.
const BLOCK: usize = 4;

/// Memory layout of a plane with this many columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Panel {
    columns: usize,
}

impl Panel {
    /// A plane with this many columns.
    pub(super) fn new(columns: usize) -> Self {
        Self { columns }
    }

    /// Entries of a square plane, including those that pad the last panel.
    pub(super) fn entries(self) -> usize {
        self.columns.next_multiple_of(ROWS) * self.columns
    }

    /// The index of an entry.
    #[inline(always)]
    pub(super) fn at(self, row: usize, column: usize) -> usize {
        (row / ROWS * self.columns + column) * ROWS + row % ROWS
    }
}

/// A constant square matrix, `BLOCK` rows side by side, padded with zeros.
#[derive(Debug)]
pub(super) struct Matrix {
    count: usize,
    blocks: Vec<f32>,
}

impl Matrix {
    /// From its entries, row by row.
    pub(super) fn new(entries: &[f32], count: usize) -> Self {
        let mut blocks = vec![0.0; count.next_multiple_of(BLOCK) * count];
        for f in 0..count {
            for i in 0..count {
                blocks[(f / BLOCK * count + i) * BLOCK + f % BLOCK] = entries[f * count + i];
            }
        }
        Self { count, blocks }
    }

    /// Rows and columns.
    pub(super) fn count(&self) -> usize {
        self.count
    }
}

/// `to[f][j] = Σ_i matrix[f][i] · from[j][i]` for `rows` rows of `from`. The result is transposed.
#[inline(always)]
pub(super) fn transform<S: Simd>(
    simd: S,
    matrix: &Matrix,
    rows: usize,
    from: &[f32],
    to: &mut [f32],
) {
    let lanes = S::f32s::LEN;
    let count = matrix.count;
    let place = Panel::new(rows);
    for (panel, source) in from
        .chunks_exact(count * ROWS * lanes)
        .take(rows.div_ceil(ROWS))
        .enumerate()
    {
        for (block, factors) in matrix.blocks.chunks_exact(count * BLOCK).enumerate() {
            let mut sums = [[S::f32s::splat(simd, 0.0); ROWS]; BLOCK];
            for (column, factor) in source
                .chunks_exact(ROWS * lanes)
                .zip(factors.chunks_exact(BLOCK))
            {
                let mut values = [S::f32s::splat(simd, 0.0); ROWS];
                for j in 0..ROWS {
                    values[j] = S::f32s::from_slice(simd, &column[j * lanes..][..lanes]);
                }
                for f in 0..BLOCK {
                    let factor = S::f32s::splat(simd, factor[f]);
                    for j in 0..ROWS {
                        sums[f][j] = values[j].mul_add(factor, sums[f][j]);
                    }
                }
            }
            for (f, sums) in sums.iter().enumerate() {
                for (j, sum) in sums.iter().enumerate() {
                    let (row, column) = (block * BLOCK + f, panel * ROWS + j);
                    if row < count && column < rows {
                        sum.store_slice(&mut to[place.at(row, column) * lanes..][..lanes]);
                    }
                }
            }
        }
    }
}
