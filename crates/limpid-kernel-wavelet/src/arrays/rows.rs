//! Linear maps along an axis: each output is a sum of a few inputs, everywhere of the same ones but near the ends.

use crate::bank::Bank;
use limpid_wavelet::Boundary;
use std::collections::BTreeMap;
use std::ops::Range;

/// One or two maps along an axis that read the same samples: two bands of a line, or a line of two bands.
///
/// Output `o` is `Σ w · x[stride · (o / phases) + offset]` over the terms of the phase `o % phases`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Samples along the axis.
    pub from: usize,
    /// Outputs along the axis.
    pub count: usize,
    stride: usize,
    /// Offsets and weights, one for each map.
    phases: Vec<Vec<(i64, Vec<f64>)>>,
    border: Boundary,
}

/// Inputs of an output, and their weights in each map.
type Terms = Vec<(usize, Vec<f64>)>;

impl Rows {
    /// Sample `i` of the line continued beyond its ends.
    fn sample(&self, i: i64) -> Vec<(usize, f64)> {
        if self.border == Boundary::Periodization {
            let n = self.from;
            let at = i.rem_euclid((n + n % 2) as i64) as usize;
            return vec![(at.min(n - 1), 1.0)];
        }
        self.border.sample(i, self.from)
    }

    /// Number of maps.
    pub fn maps(&self) -> usize {
        let terms = self.phases.iter().flatten().next();
        terms.map_or(1, |(_, weights)| weights.len())
    }

    /// One of the maps alone.
    #[must_use]
    pub fn only(&self, map: usize) -> Self {
        let mut own = self.clone();
        for (_, weights) in own.phases.iter_mut().flatten() {
            *weights = vec![weights[map]];
        }
        own
    }

    fn terms(&self, o: usize) -> impl Iterator<Item = (i64, &[f64])> {
        let first = (self.stride * (o / self.phases.len())) as i64;
        let phase = &self.phases[o % self.phases.len()];
        phase.iter().map(move |(k, w)| (first + k, &**w))
    }

    /// Inputs of output `o`, each named once.
    pub fn row(&self, o: usize) -> Terms {
        let mut sums = BTreeMap::new();
        for (at, weights) in self.terms(o) {
            for (i, share) in self.sample(at) {
                let sum = sums.entry(i).or_insert_with(|| vec![0.0; weights.len()]);
                for (sum, w) in sum.iter_mut().zip(weights) {
                    *sum += share * w;
                }
            }
        }
        sums.into_iter().collect()
    }

    /// The outputs whose inputs all lie inside the line.
    fn regular(&self) -> Range<usize> {
        let inside = |o: &usize| {
            let mut terms = self.terms(*o);
            terms.all(|(at, _)| (0..self.from as i64).contains(&at))
        };
        let first = (0..self.count).find(inside).unwrap_or(self.count);
        let last = (first..self.count).rev().find(inside);
        first..last.map_or(first, |o| o + 1)
    }

    /// The maps as words.
    pub(super) fn table(&self) -> Table {
        let regular = self.regular();
        let (phases, maps) = (self.phases.len(), self.maps());
        let (width, longest) = (1 + maps, |rows: &[Terms]| {
            rows.iter().map(Vec::len).max().unwrap_or(0)
        });
        let mut words = Vec::new();
        let terms = self.phases.iter().map(Vec::len).max().unwrap_or(0);
        for phase in &self.phases {
            for (offset, weights) in phase {
                words.push(*offset as i32 as u32);
                words.extend(weights.iter().map(|w| (*w as f32).to_bits()));
            }
            words.resize(words.len() + (terms - phase.len()) * width, 0);
        }
        let ends = (0..regular.start).chain(regular.end..self.count);
        let ends: Vec<Terms> = ends.map(|o| self.row(o)).collect();
        let end_terms = longest(&ends);
        for row in &ends {
            for (i, weights) in row {
                words.push(*i as u32);
                words.extend(weights.iter().map(|w| (*w as f32).to_bits()));
            }
            words.resize(words.len() + (end_terms - row.len()) * width, 0);
        }
        // A slot has a word at least.
        words.resize(words.len().max(1), 0);
        Table {
            words,
            regular,
            phases,
            stride: self.stride,
            terms,
            end_terms,
        }
    }
}

/// Maps as words: for each phase offsets with their weights, then for each output near the ends indices with their weights.
pub(super) struct Table {
    pub(super) words: Vec<u32>,
    pub(super) regular: Range<usize>,
    pub(super) phases: usize,
    pub(super) stride: usize,
    /// Terms of each phase, and of each output near the ends.
    pub(super) terms: usize,
    pub(super) end_terms: usize,
}

/// Transforms of a bank along an axis.
impl Bank<f64> {
    fn both(&self) -> impl Iterator<Item = (i64, Vec<f64>)> {
        let pairs = self.lo.iter().zip(&self.hi).enumerate();
        pairs.map(|(j, (lo, hi))| (j as i64, vec![*lo, *hi]))
    }

    /// Low and high coefficients of `n` samples.
    pub fn analysis_rows(&self, n: usize) -> Rows {
        let terms = self.both().map(|(j, w)| (self.shift() - j, w));
        Rows {
            from: n,
            count: self.coefficients(n),
            stride: 2,
            phases: vec![terms.collect()],
            border: self.border,
        }
    }

    /// Samples from `count` low and as many high coefficients.
    pub fn synthesis_rows(&self, count: usize) -> Rows {
        let half = self.half() as i64;
        let phase = |r: i64| {
            let at = r - self.shift_back();
            let (pair, odd) = (at.div_euclid(2), at.rem_euclid(2) as usize);
            let term = |t: i64| {
                let tap = 2 * t as usize + odd;
                (pair + half - 1 - t, vec![self.lo[tap], self.hi[tap]])
            };
            (0..half).map(term).collect()
        };
        Rows {
            from: count,
            count: self.samples(count),
            stride: 1,
            phases: vec![phase(0), phase(1)],
            border: match self.periodized() {
                true => Boundary::Periodic,
                false => Boundary::Zero,
            },
        }
    }

    /// Undecimated low and high coefficients of a periodic line of `n` samples, with gaps of `step`.
    pub fn spread_rows(&self, n: usize, step: usize) -> Rows {
        let half = self.half() as i64;
        let terms = self.both().map(|(j, w)| (step as i64 * (half - j), w));
        around(n, terms.collect(), Boundary::Periodic)
    }

    /// The inverse of [`Bank::spread_rows`].
    pub fn gather_rows(&self, n: usize, step: usize) -> Rows {
        let half = self.half() as i64;
        let halved = |w: Vec<f64>| w.iter().map(|w| 0.5 * w).collect();
        let terms = (self.both()).map(|(j, w)| (step as i64 * (half - 1 - j), halved(w)));
        around(n, terms.collect(), Boundary::Periodic)
    }
}

/// As many outputs as inputs.
fn around(n: usize, terms: Vec<(i64, Vec<f64>)>, border: Boundary) -> Rows {
    Rows {
        from: n,
        count: n,
        stride: 1,
        phases: vec![terms],
        border,
    }
}

/// A line smoothed with gaps of `step` between an odd number of taps, mirrored at its first and last sample.
pub fn smoothed(taps: &[f64], n: usize, step: usize) -> Rows {
    let half = (taps.len() / 2) as i64;
    let terms = taps.iter().enumerate();
    let terms = terms.map(|(j, w)| (step as i64 * (j as i64 - half), vec![*w]));
    around(n, terms.collect(), Boundary::Reflect)
}

/// `count` samples of a line from the `start`-th on, which may lie before its first one: ends are mirrored with their sample.
pub fn part(n: usize, start: i64, count: usize) -> Rows {
    Rows {
        count,
        ..around(n, vec![(start, vec![1.0])], Boundary::Symmetric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank;

    /// The maps by their table, as the shader reads it.
    fn applied(rows: &Rows, x: &[f64]) -> Vec<Vec<f64>> {
        assert_eq!(rows.from, x.len());
        let (table, maps) = (rows.table(), rows.maps());
        let word = |i: usize| f64::from(f32::from_bits(table.words[i]));
        let mut out = vec![vec![0.0; rows.count]; maps];
        for o in 0..rows.count {
            let regular = table.regular.contains(&o);
            let (row, terms) = match regular {
                true => (o % table.phases * table.terms, table.terms),
                false => {
                    let end = o - if o < table.regular.start {
                        0
                    } else {
                        table.regular.len()
                    };
                    let before = table.phases * table.terms;
                    (before + end * table.end_terms, table.end_terms)
                }
            };
            for t in row..row + terms {
                let at = table.words[t * (1 + maps)];
                let at = match regular {
                    true => (table.stride * (o / table.phases)) as i32 + at as i32,
                    false => at as i32,
                };
                for (map, out) in out.iter_mut().enumerate() {
                    out[o] += word(t * (1 + maps) + 1 + map) * x[at as usize];
                }
            }
        }
        out
    }

    fn near(a: &[f64], b: &[f64], what: &str) {
        assert_eq!(a.len(), b.len(), "{what}");
        for (a, b) in a.iter().zip(b) {
            assert!(
                (a - b).abs() < 1e-5 * (1.0 + b.abs()),
                "{what}: {a} and {b}"
            );
        }
    }

    /// Both bands together: the maps of a synthesis read one of them each.
    fn joined(rows: &Rows, bands: [&[f64]; 2]) -> Vec<f64> {
        let parts = [0, 1].map(|k| applied(&rows.only(k), bands[k]).remove(0));
        parts[0].iter().zip(&parts[1]).map(|(a, b)| a + b).collect()
    }

    /// Tables are the transforms of the CPU, for lines shorter than the filters, odd and even, with every border.
    #[test]
    fn tables_are_the_transforms() {
        let low = [0.4, -0.3, 0.9, 0.7, 0.2, -0.1];
        let high = [0.1, 0.5, -0.6, 0.8, -0.2, 0.3];
        for border in Boundary::all().filter(|b| *b != Boundary::Mirror) {
            let own = Bank::<f64>::new(&low, &high, border);
            for n in [2, 3, 5, 8, 17, 64] {
                let x: Vec<f64> = (0..n).map(|i| ((i * 7 + 3) % 11) as f64).collect();
                let what = format!("{border}, {n}");
                let count = own.coefficients(n);
                let (mut a, mut d) = (vec![0.0; count], vec![0.0; count]);
                bank::forward(&own, &x, (n, 1), &mut a, &mut d);
                let made = applied(&own.analysis_rows(n), &x);
                near(&made[0], &a, &what);
                near(&made[1], &d, &what);
                let mut back = vec![0.0; own.samples(count)];
                bank::backward(&own, [Some(&a), Some(&d)], (count, 1), &mut back);
                let made = joined(&own.synthesis_rows(count), [&a, &d]);
                near(&made, &back, &format!("{what}, back"));
            }
        }
    }

    #[test]
    fn tables_of_undecimated_transforms_are_theirs() {
        let (low, high) = ([0.4, -0.3, 0.9, 0.7], [0.1, 0.5, -0.6, 0.8]);
        let own = Bank::<f64>::new(&low, &high, Boundary::Periodic);
        for (n, step) in [(1, 1), (6, 2), (16, 4), (10, 8), (50, 4)] {
            let x: Vec<f64> = (0..n).map(|i| ((i * 5 + 1) % 7) as f64).collect();
            let (mut a, mut d) = (vec![0.0; n], vec![0.0; n]);
            bank::spread(&own, step, &x, (n, 1), &mut a, &mut d);
            let made = applied(&own.spread_rows(n, step), &x);
            near(&made[0], &a, "low");
            near(&made[1], &d, "high");
            let mut back = vec![0.0; n];
            bank::gather(&own, step, [&a, &d], (n, 1), &mut back);
            near(&joined(&own.gather_rows(n, step), [&a, &d]), &back, "back");
            let taps = [0.25, 0.5, 0.25];
            let mut smooth = vec![0.0; n];
            bank::smooth(&taps, step, &x, (n, 1), &mut smooth);
            near(
                &applied(&smoothed(&taps, n, step), &x)[0],
                &smooth,
                "smooth",
            );
        }
        let x = [1.0, 2.0, 3.0];
        near(&applied(&part(3, 1, 2), &x)[0], &[2.0, 3.0], "part");
        let ends = applied(&part(3, -2, 9), &x);
        near(
            &ends[0],
            &[2.0, 1.0, 1.0, 2.0, 3.0, 3.0, 2.0, 1.0, 1.0],
            "ends",
        );
    }

    /// A line of a million samples has a table of a few terms.
    #[test]
    fn tables_of_long_lines_are_short() {
        let own = Bank::<f64>::new(&[0.5; 8], &[0.25; 8], Boundary::Symmetric);
        assert!(own.analysis_rows(1 << 20).table().words.len() < 1000);
        assert!(own.synthesis_rows(1 << 19).table().words.len() < 1000);
    }
}
