//! Lifting: a wavelet as alternating steps between even and odd samples.

use super::Laurent;

/// A filter along one axis: `out[n] = Σ values[i] · in[n + first + i]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Taps {
    /// Offset of the first value, in samples ahead.
    pub first: i32,
    /// The values, in order of increasing offset.
    pub values: Vec<f64>,
}

impl Taps {
    /// A filter whose first value has offset `first`.
    pub fn new(first: i32, values: impl Into<Vec<f64>>) -> Self {
        Self {
            first,
            values: values.into(),
        }
    }

    /// The empty filter.
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether the filter is empty.
    pub fn is_empty(&self) -> bool {
        self.values.iter().all(|v| *v == 0.0)
    }

    /// The largest magnitude.
    pub fn largest(&self) -> f64 {
        self.values.iter().fold(0.0, |m, v| m.max(v.abs()))
    }

    /// Offset and value of each tap.
    pub fn iter(&self) -> impl Iterator<Item = (i32, f64)> + '_ {
        (self.first..).zip(self.values.iter().copied())
    }

    /// Each value times a factor.
    pub fn scaled(&self, factor: f64) -> Self {
        Self::new(
            self.first,
            self.values.iter().map(|v| v * factor).collect::<Vec<_>>(),
        )
    }

    /// The reversed filter.
    pub fn reversed(&self) -> Self {
        let last = self.first + self.values.len() as i32 - 1;
        Self::new(-last, self.values.iter().rev().copied().collect::<Vec<_>>())
    }

    /// The filter as a polynomial along x.
    pub fn polynomial(&self) -> Laurent {
        Laurent::row(self.first, &self.values)
    }

    /// The distance of the farthest tap.
    pub fn reach(&self) -> i32 {
        self.iter()
            .filter(|(_, v)| *v != 0.0)
            .map(|(k, _)| k.abs())
            .max()
            .unwrap_or(0)
    }
}

/// A predict step and the update step after it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pair {
    /// `odd[n] += Σ predict · even`: the difference from the prediction by even samples.
    pub predict: Taps,
    /// `even[n] += Σ update · odd`.
    pub update: Taps,
}

/// A wavelet in lifting steps (Daubechies and Sweldens 1998).
///
/// Even samples `x[2n]` and odd samples `x[2n+1]` lift each other, pair after pair; then `low = low_scale · even` and
/// `high = high_scale · odd`, read `low_shift` and `high_shift` samples ahead. The scales are those of the orthonormal
/// normalisation.
///
/// Invariants: undoing the steps in reverse order restores the input, for any border handling.
#[derive(Debug, Clone, PartialEq)]
pub struct Lifting {
    /// The pairs in order.
    pub pairs: Vec<Pair>,
    /// Final factor of the even samples.
    pub low_scale: f64,
    /// Final factor of the odd samples.
    pub high_scale: f64,
    /// `low[n] = low_scale · even[n + low_shift]`.
    pub low_shift: i32,
    /// `high[n] = high_scale · odd[n + high_shift]`.
    pub high_shift: i32,
}

impl Lifting {
    /// Lifting without shifts, from pairs of predict and update taps.
    pub fn new(pairs: impl IntoIterator<Item = (Taps, Taps)>, low: f64, high: f64) -> Self {
        Self {
            pairs: pairs
                .into_iter()
                .map(|(predict, update)| Pair { predict, update })
                .collect(),
            low_scale: low,
            high_scale: high,
            low_shift: 0,
            high_shift: 0,
        }
    }

    /// The degree `D` of Kula 2021, Eq. 5.3: the reach of a step beyond its own pair of samples.
    pub fn degree(&self) -> usize {
        self.pairs
            .iter()
            .flat_map(|p| [&p.predict, &p.update])
            .map(|t| t.values.len().saturating_sub(1))
            .max()
            .unwrap_or(0)
    }

    /// Analysis filters: `low[n] = Σ l[k] · x[2n + k]` and `high[n] = Σ h[k] · x[2n + k]`.
    pub fn analysis(&self) -> (Taps, Taps) {
        let (mut even, mut odd) = (Line::unit(0), Line::unit(1));
        for pair in &self.pairs {
            odd = odd.plus(&even, &pair.predict);
            even = even.plus(&odd, &pair.update);
        }
        (
            even.taps(2 * self.low_shift, self.low_scale),
            odd.taps(2 * self.high_shift, self.high_scale),
        )
    }
}

/// The input samples that contribute to a lifted sample.
#[derive(Clone)]
struct Line(std::collections::BTreeMap<i32, f64>);

impl Line {
    fn unit(at: i32) -> Self {
        Self([(at, 1.0)].into())
    }

    fn plus(&self, other: &Self, taps: &Taps) -> Self {
        let mut sum = self.0.clone();
        for (k, t) in taps.iter() {
            for (at, v) in &other.0 {
                *sum.entry(at + 2 * k).or_insert(0.0) += t * v;
            }
        }
        Self(sum)
    }

    fn taps(&self, shift: i32, scale: f64) -> Taps {
        let first = self.0.keys().next().copied().unwrap_or(0);
        let last = self.0.keys().next_back().copied().unwrap_or(0);
        let values = (first..=last).map(|k| scale * self.0.get(&k).copied().unwrap_or(0.0));
        Taps::new(first + shift, values.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cdf53_expands_to_the_filters_of_jpeg_2000() {
        let lifting = Lifting::new(
            [(Taps::new(0, [-0.5, -0.5]), Taps::new(-1, [0.25, 0.25]))],
            1.0,
            1.0,
        );
        let (low, high) = lifting.analysis();
        assert_eq!(low, Taps::new(-2, [-0.125, 0.25, 0.75, 0.25, -0.125]));
        assert_eq!(high, Taps::new(0, [-0.5, 1.0, -0.5]));
        assert_eq!(lifting.degree(), 1);
    }

    #[test]
    fn reversal_reads_the_other_way() {
        let taps = Taps::new(-1, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(taps.reversed(), Taps::new(-2, [4.0, 3.0, 2.0, 1.0]));
        assert_eq!(taps.reach(), 2);
    }
}
