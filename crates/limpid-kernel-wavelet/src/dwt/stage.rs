//! The stages of a scheme on the CPU: rows of quads at a time, as sums of shifted rows.
//!
//! Only the first matrix of a stage reads other quads, from the planes before the stage. The other matrices then change the new
//! row, which is still in the first-level cache. Loops are compiled for each number of terms.

use fearless_simd::{Level, Simd, SimdBase, f32x16};
use limpid_core::simd::dispatch;
use limpid_wavelet::{Matrix, Scheme};
use std::ops::Range;

/// Quads of a vector. Rows have this much room behind them, so that vectors need no end.
pub(super) const LANES: usize = 16;

/// Most terms of one loop; longer sums take several.
const MOST: usize = 4;

/// One term of a sum: the index of the sample, the offset of its quad, and whether it was changed before in this stage.
#[derive(Debug, Clone, Copy)]
struct Term {
    sample: usize,
    at: (i32, i32),
    weight: f32,
    new: bool,
}

/// A sum that replaces a sample.
#[derive(Debug, Clone)]
struct Sum {
    sample: usize,
    /// Weight of the value that is replaced, if the sample was changed before in this stage.
    own: Option<f32>,
    terms: Vec<Term>,
}

/// One stage: what reads other quads, then what does not.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    sums: Vec<Sum>,
    /// Samples that are changed.
    pub changed: [bool; 4],
    /// Reach to the left, right, above and below.
    pub reach: [usize; 4],
}

/// The stages of a scheme.
pub(super) fn stages(scheme: &Scheme) -> Vec<Stage> {
    let mut all: Vec<Stage> = Vec::new();
    for stage in scheme.stages.iter().filter(|stage| !stage.is_empty()) {
        for (i, matrix) in stage.iter().enumerate() {
            // A matrix whose sums need each other's old values starts a stage of its own.
            let fits = match all.last_mut() {
                Some(last) => i > 0 && last.extend(matrix),
                None => false,
            };
            if !fits {
                all.push(Stage::new(matrix));
            }
        }
    }
    all
}

/// The terms of one row of a matrix.
fn terms(matrix: &Matrix, row: usize, new: [bool; 4]) -> Vec<Term> {
    let each = |sample: usize| {
        let all: Vec<_> = matrix.entry(row, sample).terms().collect();
        all.into_iter().map(move |(at, weight)| Term {
            sample,
            at,
            weight: weight as f32,
            new: new[sample],
        })
    };
    (0..4).flat_map(each).collect()
}

impl Stage {
    fn new(matrix: &Matrix) -> Self {
        let mut stage = Self {
            sums: Vec::new(),
            changed: [false; 4],
            reach: [0; 4],
        };
        for sample in (0..4).filter(|row| matrix.changes(*row)) {
            let terms = terms(matrix, sample, [false; 4]);
            for Term { at: (x, y), .. } in &terms {
                for (r, by) in stage.reach.iter_mut().zip([-x, *x, -y, *y]) {
                    *r = (*r).max(by.max(0) as usize);
                }
            }
            stage.changed[sample] = true;
            stage.sums.push(Sum {
                sample,
                own: None,
                terms,
            });
        }
        stage
    }

    /// Applies a matrix to the new samples of a quad. Returns whether it can be: sums are made one after the other, in place, so
    /// each comes before those that replace what it reads.
    fn extend(&mut self, matrix: &Matrix) -> bool {
        let new = self.changed;
        let mut left: Vec<Sum> = Vec::new();
        for sample in (0..4).filter(|row| matrix.changes(*row)) {
            let mut terms = terms(matrix, sample, new);
            if terms.iter().any(|term| term.at != (0, 0)) {
                return false;
            }
            let own = terms.iter().position(|t| t.new && t.sample == sample);
            let own = own.map(|at| terms.remove(at).weight);
            left.push(Sum { sample, own, terms });
        }
        let mut sorted = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let free = |sum: &Sum| {
                let reads = |other: &Sum| {
                    let mut terms = other.terms.iter();
                    terms.any(|t| t.new && t.sample == sum.sample)
                };
                !left.iter().any(reads)
            };
            match left.iter().position(free) {
                Some(at) => sorted.push(left.remove(at)),
                None => return false,
            }
        }
        for sum in &sorted {
            self.changed[sum.sample] = true;
        }
        self.sums.extend(sorted);
        true
    }

    /// Computes a row of the new samples from the old planes. `row` gives the index at which a row of a plane starts, relative to
    /// this one; `outs` are the new rows of the changed samples, from the first of these columns on.
    pub(super) fn apply(
        &self,
        level: Level,
        planes: [&[f32]; 4],
        row: &dyn Fn(i32) -> usize,
        columns: &Range<usize>,
        outs: &mut [&mut [f32]; 4],
    ) {
        dispatch!(level, simd => self.apply_on(simd, planes, row, columns, outs));
    }

    #[inline(always)]
    fn apply_on<S: Simd>(
        &self,
        simd: S,
        planes: [&[f32]; 4],
        row: &dyn Fn(i32) -> usize,
        columns: &Range<usize>,
        outs: &mut [&mut [f32]; 4],
    ) {
        let length = columns.len().next_multiple_of(LANES);
        for sum in &self.sums {
            let out = std::mem::take(&mut outs[sum.sample]);
            let value = |term: &Term| match term.new {
                true => &outs[term.sample][..length],
                false => {
                    let from = row(term.at.1) + columns.start;
                    &planes[term.sample][from.wrapping_add_signed(term.at.0 as isize)..][..length]
                }
            };
            let mut own = sum.own;
            for terms in sum.terms.chunks(MOST) {
                add_all(simd, own, terms, value, &mut out[..length]);
                own = Some(1.0);
            }
            match own {
                _ if !sum.terms.is_empty() => {}
                Some(weight) => out[..length].iter_mut().for_each(|v| *v *= weight),
                None => out[..length].fill(0.0),
            }
            outs[sum.sample] = out;
        }
    }
}

/// Adds up to four terms to what is there, times a weight, or replaces it.
#[inline(always)]
fn add_all<'a, S: Simd>(
    simd: S,
    own: Option<f32>,
    terms: &[Term],
    value: impl Fn(&Term) -> &'a [f32],
    out: &mut [f32],
) {
    match terms {
        [a] => add(simd, own, [a], value, out),
        [a, b] => add(simd, own, [a, b], value, out),
        [a, b, c] => add(simd, own, [a, b, c], value, out),
        [a, b, c, d] => add(simd, own, [a, b, c, d], value, out),
        _ => {}
    }
}

#[inline(always)]
fn add<'a, S: Simd, const N: usize>(
    simd: S,
    own: Option<f32>,
    terms: [&Term; N],
    value: impl Fn(&Term) -> &'a [f32],
    out: &mut [f32],
) {
    let (out, _) = out.as_chunks_mut::<LANES>();
    let rows = terms.map(|term| &value(term).as_chunks::<LANES>().0[..out.len()]);
    let weights = terms.map(|term| f32x16::splat(simd, term.weight));
    let sum = |i: usize, mut sum: f32x16<S>, from: usize| {
        for k in from..N {
            sum += weights[k] * f32x16::load_array_ref(simd, &rows[k][i]);
        }
        sum
    };
    match own {
        Some(own) => {
            let own = f32x16::splat(simd, own);
            for i in 0..out.len() {
                let first = own * f32x16::load_array_ref(simd, &out[i]);
                sum(i, first, 0).store_array(&mut out[i]);
            }
        }
        None => {
            for i in 0..out.len() {
                let first = weights[0] * f32x16::load_array_ref(simd, &rows[0][i]);
                sum(i, first, 1).store_array(&mut out[i]);
            }
        }
    }
}
