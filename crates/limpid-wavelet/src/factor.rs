//! Factoring of filters into lifting steps, by the Euclidean algorithm (Daubechies and Sweldens 1998).
//!
//! The even and odd parts of the low-pass filter are divided by each other until a single term remains. Division with remainder
//! of Laurent polynomials is not unique: terms can be removed at either end. A small beam search keeps the divisions with the
//! smallest quotients, since large quotients cancel later and lose precision. The error of the result is measured.

use super::{Bank, Lifting, Pair, Taps};

/// Partial factorisations kept per step.
const BEAM: usize = 24;

/// A Laurent polynomial in one variable; `first` is the offset of the first value.
#[derive(Debug, Clone)]
struct Line {
    first: i32,
    values: Vec<f64>,
}

impl Line {
    /// Removes zeros and rounding errors at the ends.
    fn trimmed(mut self, noise: f64) -> Self {
        while self.values.last().is_some_and(|v| v.abs() <= noise) {
            self.values.pop();
        }
        let zeros = self.values.iter().take_while(|v| v.abs() <= noise).count();
        self.values.drain(..zeros);
        self.first += zeros as i32;
        self
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    /// The quotient and remainder of a division by `by` that removes `left` terms at the front and the rest at the back.
    fn divided(&self, by: &Self, left: usize, keep: usize) -> (Taps, Self) {
        let count = self.len() - by.len() + 1 - keep;
        let mut rest = self.values.clone();
        let mut quotient = vec![0.0; self.len() - by.len() + 1];
        for i in 0..left {
            let q = rest[i] / by.values[0];
            quotient[i] = q;
            for (j, b) in by.values.iter().enumerate() {
                rest[i + j] -= q * b;
            }
            rest[i] = 0.0;
        }
        let last = by.len() - 1;
        for i in (left + keep..left + keep + (count - left)).rev() {
            let q = rest[i + last] / by.values[last];
            quotient[i] = q;
            for (j, b) in by.values.iter().enumerate() {
                rest[i + j] -= q * b;
            }
            rest[i + last] = 0.0;
        }
        (
            Taps::new(self.first - by.first, quotient),
            Self {
                first: self.first,
                values: rest,
            },
        )
    }

    /// `self - taps · other`.
    fn less(&self, other: &Self, taps: &Taps) -> Self {
        let mut terms: std::collections::BTreeMap<i32, f64> =
            (self.first..).zip(self.values.iter().copied()).collect();
        for (k, t) in taps.iter() {
            for (at, v) in (other.first..).zip(&other.values) {
                *terms.entry(at + k).or_insert(0.0) -= t * v;
            }
        }
        let first = terms.keys().next().copied().unwrap_or(0);
        let last = terms.keys().next_back().copied().unwrap_or(-1);
        let values = (first..=last).map(|k| terms.get(&k).copied().unwrap_or(0.0));
        Self {
            first,
            values: values.collect(),
        }
    }
}

/// One step of a partial factorisation.
#[derive(Debug, Clone)]
enum Step {
    Predict(Taps),
    Update(Taps),
}

/// The remainder of the low-pass filter, on even and odd samples, after some steps.
#[derive(Debug, Clone)]
struct State {
    even: Line,
    odd: Line,
    steps: Vec<Step>,
    cost: f64,
}

impl State {
    fn next(&self, noise: f64) -> Vec<Self> {
        let mut found = Vec::new();
        let (even, odd) = (self.even.len(), self.odd.len());
        let mut branch = |predict: bool, keep: usize| {
            let (large, small) = if predict {
                (&self.even, &self.odd)
            } else {
                (&self.odd, &self.even)
            };
            let count = large.len() - small.len() + 1 - keep;
            for left in 0..=count {
                let (taps, rest) = large.divided(small, left, keep);
                let largest = taps.largest();
                if !largest.is_finite() || taps.is_empty() {
                    continue;
                }
                let rest = rest.trimmed(noise);
                let mut next = self.clone();
                next.cost += (1.0 + largest).ln() + small.values.len() as f64 * 1e-3;
                if predict {
                    next.even = rest;
                    next.steps.push(Step::Predict(taps));
                } else {
                    next.odd = rest;
                    next.steps.push(Step::Update(taps));
                }
                found.push(next);
            }
        };
        if even >= odd {
            // A single odd term must not absorb the even part, which becomes the low-pass samples.
            branch(true, usize::from(odd == 1));
        }
        if odd >= even {
            branch(false, 0);
        }
        found
    }

    fn done(&self) -> bool {
        self.odd.len() == 0 && self.even.len() == 1
    }
}

/// The best conditioned lifting of a bank that the search finds, with orthonormal scales.
///
/// `None` if the filters' parts have a common factor, as for filters that do not reconstruct.
pub fn factor(bank: &Bank) -> Option<Lifting> {
    let (low, high) = (polyphase(&bank.dec_lo), polyphase(&bank.dec_hi));
    let noise = 1e-9 * bank.dec_lo.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let [even, odd] = low.clone().map(|l| l.trimmed(noise * 1e-4));
    if even.len() == 0 {
        return None;
    }
    let start = State {
        even,
        odd,
        steps: Vec::new(),
        cost: 0.0,
    };
    let (mut beam, mut finished) = (vec![start], Vec::new());
    for _ in 0..2 * bank.len() + 4 {
        let (done, open): (Vec<State>, Vec<State>) = beam.into_iter().partition(State::done);
        finished.extend(done);
        let mut next: Vec<State> = open
            .iter()
            .filter(|s| s.odd.len() > 0 && s.even.len() > 0)
            .flat_map(|s| s.next(noise))
            .collect();
        next.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        next.truncate(BEAM);
        beam = next;
    }
    let liftings = finished.iter().filter_map(|state| finish(state, &high));
    let measured = liftings.map(|l| (lifting_error(&l, bank), l));
    let best = measured.filter(|(e, _)| e.is_finite()).min_by(|a, b| {
        // Among equally good ones, the one with the fewest and shortest steps.
        let weight = |(error, l): &(f64, Lifting)| {
            let taps = l.pairs.iter().flat_map(|p| [&p.predict, &p.update]);
            (
                error.max(1e-6).log2().ceil(),
                taps.map(|t| t.values.len()).sum::<usize>(),
            )
        };
        let ((ea, na), (eb, nb)) = (weight(a), weight(b));
        ea.total_cmp(&eb).then(na.cmp(&nb))
    });
    best.map(|(_, l)| l)
}

/// Even and odd part of a filter in PyWavelets' order: `low[n] = Σ even[k] x[2(n+k)] + Σ odd[k] x[2(n+k)+1]`, aligned as
/// under periodization.
fn polyphase(filter: &[f64]) -> [Line; 2] {
    let half = filter.len() as i32 / 2;
    [0, 1].map(|parity| {
        let at = |k: i32| filter.get((half - k) as usize).copied().unwrap_or(0.0);
        let offsets = (1 - half..=half).filter(|k| k.rem_euclid(2) == parity);
        let first = offsets.clone().next().unwrap_or(0);
        Line {
            first: (first - parity) / 2,
            values: offsets.map(at).collect(),
        }
    })
}

/// Applies the steps to the high-pass filter, whose remainder is the last predict step, and combines the steps into pairs.
fn finish(state: &State, high: &[Line; 2]) -> Option<Lifting> {
    let [mut even, mut odd] = high.clone();
    for step in &state.steps {
        match step {
            Step::Predict(taps) => even = even.less(&odd, taps),
            Step::Update(taps) => odd = odd.less(&even, taps),
        }
    }
    // The determinant of a bank is a single term, so the remainder on the odd samples is too, except for rounding.
    let peak = odd.values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let odd = odd.trimmed(peak * 0.5);
    let (&[high_scale], &[low_scale]) = (odd.values.as_slice(), state.even.values.as_slice())
    else {
        return None;
    };
    let rounding = 1e-9 * even.values.iter().fold(peak, |m, v| m.max(v.abs()));
    let even = even.trimmed(rounding);
    let last = Taps::new(even.first - odd.first, even.values).scaled(1.0 / high_scale);
    let mut lifting = Lifting::new([], low_scale, high_scale);
    lifting.low_shift = state.even.first;
    lifting.high_shift = odd.first;
    let steps = state.steps.iter().cloned().chain([Step::Predict(last)]);
    for step in steps {
        match step {
            Step::Predict(taps) if taps.is_empty() => {}
            Step::Predict(predict) => lifting.pairs.push(Pair {
                predict,
                update: Taps::none(),
            }),
            Step::Update(update) => match lifting.pairs.last_mut() {
                Some(pair) if pair.update.is_empty() => pair.update = update,
                _ => lifting.pairs.push(Pair {
                    predict: Taps::none(),
                    update,
                }),
            },
        }
    }
    Some(lifting)
}

/// The largest error of a lifting in `f32` relative to convolution in `f64`, relative to the largest coefficient, forward and
/// inverse: white noise of 256 samples, periodic.
pub fn lifting_error(lifting: &Lifting, bank: &Bank) -> f64 {
    const N: usize = 256;
    let half = N as i32 / 2;
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let signal: Vec<f32> = (0..N)
        .map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect();
    let at = |n: i32| n.rem_euclid(half) as usize;
    let lift = |to: &mut [f32], from: &[f32], taps: &Taps, sign: f32| {
        for n in 0..half {
            for (k, t) in taps.iter() {
                to[n as usize] += sign * t as f32 * from[at(n + k)];
            }
        }
    };
    let mut even: Vec<f32> = signal.iter().step_by(2).copied().collect();
    let mut odd: Vec<f32> = signal.iter().skip(1).step_by(2).copied().collect();
    for pair in &lifting.pairs {
        lift(&mut odd, &even, &pair.predict, 1.0);
        lift(&mut even, &odd, &pair.update, 1.0);
    }
    let (mut error, mut peak) = (0.0f64, 0.0f64);
    let centre = bank.len() as i32 / 2;
    for n in 0..half {
        let exact = |filter: &[f64]| -> f64 {
            (filter.iter().enumerate())
                .map(|(j, f)| {
                    f * f64::from(signal[(2 * n + centre - j as i32).rem_euclid(N as i32) as usize])
                })
                .sum()
        };
        let low = lifting.low_scale * f64::from(even[at(n + lifting.low_shift)]);
        let high = lifting.high_scale * f64::from(odd[at(n + lifting.high_shift)]);
        let (l, h) = (exact(&bank.dec_lo), exact(&bank.dec_hi));
        error = error.max((low - l).abs()).max((high - h).abs());
        peak = peak.max(l.abs()).max(h.abs());
    }
    for pair in lifting.pairs.iter().rev() {
        lift(&mut even, &odd, &pair.update, -1.0);
        lift(&mut odd, &even, &pair.predict, -1.0);
    }
    for n in 0..half as usize {
        error = error.max(f64::from((even[n] - signal[2 * n]).abs()));
        error = error.max(f64::from((odd[n] - signal[2 * n + 1]).abs()));
    }
    if error.is_finite() {
        error / peak
    } else {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wavelet;

    #[test]
    fn cdf97_is_found_again() {
        let bank = Wavelet::named("bior4.4").unwrap().bank().clone();
        let found = factor(&bank).unwrap();
        let known = Wavelet::named("cdf97").unwrap();
        let known = known.lifting().unwrap();
        assert_eq!(found.pairs.len(), 2);
        assert_eq!((found.low_shift, found.high_shift), (0, 0));
        for (f, k) in found.pairs.iter().zip(&known.pairs) {
            for (f, k) in [(&f.predict, &k.predict), (&f.update, &k.update)] {
                assert_eq!(f.first, k.first);
                for (f, k) in f.values.iter().zip(&k.values) {
                    assert!((f - k).abs() < 1e-9, "{f} {k}");
                }
            }
        }
        // PyWavelets' high-pass filter has the opposite sign.
        assert!((found.low_scale - known.low_scale).abs() < 1e-9);
        assert!((found.high_scale + known.high_scale).abs() < 1e-9);
    }

    #[test]
    fn which_wavelets_lift_well() {
        let lifted: Vec<&str> = Wavelet::names()
            .filter(|n| Wavelet::named(n).unwrap().lifting().is_some())
            .collect();
        for name in [
            "haar", "db2", "db4", "db8", "sym4", "sym8", "coif1", "bior2.2", "bior3.3", "bior6.8",
            "rbio4.4",
        ] {
            assert!(lifted.contains(&name), "{name} not in {lifted:?}");
        }
        // Sixty-two taps without a small factorisation.
        assert!(!lifted.contains(&"dmey"), "{lifted:?}");
    }
}
