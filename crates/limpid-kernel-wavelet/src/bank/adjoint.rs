//! The adjoint of one level: what gradients of coefficients are as gradients of samples.
//!
//! Inside, the adjoint of analysis is synthesis with the filters of analysis reversed in time. A sample that also stands beyond
//! the ends collects the gradients of its copies there.

use super::axis::first_samples;
use super::{Bank, Real};

/// For `analysis`, whose filters and border the forward transform had: gradients of `n` samples along the middle axis from
/// gradients of `count` low and high coefficients.
pub fn adjoint<T: Real>(
    analysis: &Bank<T>,
    bands: [Option<&[T]>; 2],
    (n, inner): (usize, usize),
    out: &mut [T],
) {
    let reversed = |filter: &[T]| filter.iter().rev().copied().collect();
    let back = Bank {
        lo: reversed(&analysis.lo),
        hi: reversed(&analysis.hi),
        border: analysis.border,
    };
    let count = analysis.coefficients(n);
    first_samples(&back, bands, [count, n, inner], out);
    let copies = copies(analysis, n, count);
    if copies.is_empty() || inner == 0 {
        return;
    }
    for (line, out) in out.chunks_mut(n * inner).enumerate() {
        for (band, high) in bands.into_iter().zip([false, true]) {
            let Some(band) = band else { continue };
            let band = &band[line * count * inner..][..count * inner];
            for copy in &copies {
                let weight = copy.weights[usize::from(high)];
                let from = &band[copy.coefficient * inner..][..inner];
                let to = &mut out[copy.sample * inner..][..inner];
                for (to, from) in to.iter_mut().zip(from) {
                    *to += *from * weight;
                }
            }
        }
    }
}

/// How much a sample's copies beyond the ends weigh in a coefficient, low and high.
struct Copy<T> {
    coefficient: usize,
    sample: usize,
    weights: [T; 2],
}

fn copies<T: Real>(bank: &Bank<T>, n: usize, count: usize) -> Vec<Copy<T>> {
    let taps = bank.analysis();
    let whole = (n + n % 2) as i64;
    let mut found = Vec::new();
    for o in 0..count {
        let last = 2 * o as i64 + bank.shift();
        if last < n as i64 && last + 1 >= taps.len() as i64 {
            continue;
        }
        for (j, [lo, hi]) in taps.iter().enumerate() {
            let i = last - j as i64;
            let outside = if bank.periodized() {
                // Synthesis goes around; only the sample that an odd line repeats is a copy.
                i.rem_euclid(whole) >= n as i64
            } else {
                !(0..n as i64).contains(&i)
            };
            if outside {
                for (sample, w) in bank.sample(i, n) {
                    found.push(Copy {
                        coefficient: o,
                        sample,
                        weights: [*lo * w, *hi * w],
                    });
                }
            }
        }
    }
    found
}
