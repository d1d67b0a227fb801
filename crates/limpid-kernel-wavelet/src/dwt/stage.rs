//! The stages of a scheme on the CPU: blocks of quads at a time, as sums of shifted rows.
//!
//! Only the first matrix of a stage reads other quads. A block's new samples stay in the first-level cache while the other
//! matrices of the stage are applied, and are stored once.

use fearless_simd::{Simd, SimdBase, f32x16};
use limpid_wavelet::{Matrix, Scheme};
use std::ops::Range;

/// Quads of a block, four vectors of sixteen. Planes have this much room behind them, so that blocks need no end.
pub(super) const BLOCK: usize = 64;

/// One term of a sample: the index of the input sample, and the offset of its quad.
#[derive(Debug, Clone, Copy)]
struct Term {
    sample: usize,
    at: (i32, i32),
    weight: f32,
}

/// The terms of each changed sample.
type Sums = Vec<(usize, Vec<Term>)>;

/// One stage: what reads other quads, then what does not.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    first: Sums,
    local: Vec<Sums>,
    /// Samples that are changed.
    touched: [bool; 4],
    /// Samples that are read or changed in the quad itself.
    loaded: [bool; 4],
    /// Reach to the left, right, above and below.
    pub reach: [usize; 4],
}

fn sums(matrix: &Matrix) -> Sums {
    let changed = (0..4).filter(|row| matrix.changes(*row));
    let terms = |row: usize| {
        let each = |sample: usize| {
            let all: Vec<_> = matrix.entry(row, sample).terms().collect();
            all.into_iter().map(move |(at, weight)| Term {
                sample,
                at,
                weight: weight as f32,
            })
        };
        (0..4).flat_map(each).collect()
    };
    changed.map(|row| (row, terms(row))).collect()
}

/// The stages of a scheme.
pub(super) fn stages(scheme: &Scheme) -> Vec<Stage> {
    let all = scheme.stages.iter().filter(|stage| !stage.is_empty());
    all.map(|stage| Stage::new(stage)).collect()
}

impl Stage {
    fn new(matrices: &[Matrix]) -> Self {
        let mut all = matrices.iter().map(sums);
        let first = all.next().unwrap_or_default();
        let local: Vec<Sums> = all.collect();
        let mut touched = [false; 4];
        let mut loaded = [false; 4];
        let mut reach = [0usize; 4];
        for (sample, _) in first.iter().chain(local.iter().flatten()) {
            touched[*sample] = true;
            loaded[*sample] = true;
        }
        for (_, terms) in local.iter().flatten() {
            for term in terms {
                loaded[term.sample] = true;
            }
        }
        for (_, terms) in &first {
            for Term { at: (x, y), .. } in terms {
                for (r, by) in reach.iter_mut().zip([-x, *x, -y, *y]) {
                    *r = (*r).max(by.max(0) as usize);
                }
            }
        }
        // What the first matrix computes is not loaded.
        for (sample, _) in &first {
            loaded[*sample] = false;
        }
        Self {
            first,
            local,
            touched,
            loaded,
            reach,
        }
    }

    /// Samples that are changed.
    pub(super) fn changed(&self) -> impl Iterator<Item = usize> + '_ {
        (0..4).filter(|c| self.touched[*c])
    }

    /// Computes these rows of the new planes from the old ones; `outs` are the rows of each changed sample.
    #[inline(always)]
    pub(super) fn apply<S: Simd>(
        &self,
        simd: S,
        planes: [&[f32]; 4],
        outs: &mut [&mut [f32]],
        (width, rows, columns): (usize, Range<usize>, Range<usize>),
    ) {
        let mut now = [[0.0f32; BLOCK]; 4];
        let mut next = [[0.0f32; BLOCK]; 4];
        for y in rows.clone() {
            for x in columns.clone().step_by(BLOCK) {
                let here = y * width + x;
                for (c, block) in now.iter_mut().enumerate() {
                    if self.loaded[c] {
                        block.copy_from_slice(&planes[c][here..here + BLOCK]);
                    }
                }
                for (c, terms) in &self.first {
                    let value = |term: &Term| {
                        let by = term.at.1 as isize * width as isize + term.at.0 as isize;
                        &planes[term.sample][here.wrapping_add_signed(by)..]
                    };
                    sum(simd, terms, value, &mut now[*c]);
                }
                for sums in &self.local {
                    for (c, terms) in sums {
                        sum(simd, terms, |term| &now[term.sample], &mut next[*c]);
                    }
                    for (c, _) in sums {
                        now[*c] = next[*c];
                    }
                }
                let to = (y - rows.start) * width + x;
                for (c, out) in self.changed().zip(outs.iter_mut()) {
                    // The last block of the last row may have less room.
                    let room = (out.len() - to).min(BLOCK);
                    out[to..to + room].copy_from_slice(&now[c][..room]);
                }
            }
        }
    }
}

/// A block of sums.
#[inline(always)]
fn sum<'a, S: Simd>(
    simd: S,
    terms: &[Term],
    value: impl Fn(&Term) -> &'a [f32],
    out: &mut [f32; BLOCK],
) {
    let zero = f32x16::splat(simd, 0.0);
    let mut sums = [zero; BLOCK / 16];
    for term in terms {
        let weight = f32x16::splat(simd, term.weight);
        let (parts, _) = value(term)[..BLOCK].as_chunks::<16>();
        for (sum, part) in sums.iter_mut().zip(parts) {
            *sum += weight * f32x16::load_array_ref(simd, part);
        }
    }
    let (parts, _) = out.as_chunks_mut::<16>();
    for (part, sum) in parts.iter_mut().zip(sums) {
        sum.store_array(part);
    }
}
