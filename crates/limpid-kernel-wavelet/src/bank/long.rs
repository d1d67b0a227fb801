//! Lines filtered by long filters, real or complex, as continuous transforms need them.

use super::line::BLOCK;
use super::sums::{join_pairs, sum, sums};
use super::{Real, small};
use rayon::prelude::*;

/// A filter: `out[o] = Σ taps[j] · x[o + shift - j]`, with zeros beyond the ends of `x`.
#[derive(Debug, Clone)]
pub struct Filters<T> {
    /// Real parts.
    pub real: Vec<T>,
    /// Imaginary parts, as many; none for a real filter.
    pub imaginary: Vec<T>,
    /// Where the first tap reads.
    pub shift: usize,
}

/// Filters each line of `n` samples by each filter: `out` has a block of lines for each filter. Complex results are pairs.
pub fn filter<T: Real>(filters: &[Filters<T>], x: &[T], n: usize, out: &mut [T]) {
    if n == 0 || x.is_empty() || filters.is_empty() {
        return;
    }
    let (before, after) = filters.iter().fold((0, 0), |(before, after), f| {
        let first = f.shift as i64 - f.real.len() as i64 + 1;
        (before.max(-first), after.max(f.shift))
    });
    let before = before.max(0) as usize;
    let padded: Vec<Vec<T>> = x
        .chunks(n)
        .map(|line| {
            let mut padded = vec![T::default(); before + n + after];
            padded[before..before + n].copy_from_slice(line);
            padded
        })
        .collect();
    let values = if filters[0].imaginary.is_empty() {
        1
    } else {
        2
    };
    let work: usize = filters.iter().map(|f| f.real.len()).sum::<usize>() * x.len();
    let line = |(i, out): (usize, &mut [T])| {
        let (filter, padded) = (&filters[i / padded.len()], &padded[i % padded.len()]);
        let part = |(piece, out): (usize, &mut [T])| {
            let from = piece * BLOCK + before + filter.shift;
            let rows: Vec<&[T]> = (0..filter.real.len())
                .map(|j| &padded[from - j..])
                .collect();
            if values == 1 {
                return sum(&rows, &filter.real, out);
            }
            let both = filter.real.iter().zip(&filter.imaginary);
            let weights: Vec<[T; 2]> = both.map(|(a, b)| [*a, *b]).collect();
            let mut made = [(); 2].map(|()| vec![T::default(); out.len() / 2]);
            let [a, b] = &mut made;
            sums(&rows, &weights, [a, b]);
            join_pairs(a, b, out);
        };
        if small(work) {
            out.chunks_mut(values * BLOCK).enumerate().for_each(part);
        } else {
            out.par_chunks_mut(values * BLOCK)
                .enumerate()
                .for_each(part);
        }
    };
    if small(work) {
        out.chunks_mut(values * n).enumerate().for_each(line);
    } else {
        out.par_chunks_mut(values * n).enumerate().for_each(line);
    }
}
