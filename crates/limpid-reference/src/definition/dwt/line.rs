//! One level of the transform along a line.

use limpid_core::{Error, Result};
use limpid_wavelet::{Bank, Boundary, Lifting, Taps, Wavelet, mirrored};

/// The number of low and of high coefficients of a line of `n` samples.
pub fn counts(n: usize, wavelet: &Wavelet, border: Boundary) -> (usize, usize) {
    match border {
        Boundary::Mirror => (n.div_ceil(2), n / 2),
        Boundary::Periodization => (n.div_ceil(2), n.div_ceil(2)),
        _ => {
            let count = (n + wavelet.bank().len() - 1) / 2;
            (count, count)
        }
    }
}

/// A transform of lines of equal length.
pub(super) struct Line<'a> {
    wavelet: &'a Wavelet,
    border: Boundary,
    n: usize,
}

/// Lifting steps that a mirrored transform needs.
fn steps(wavelet: &Wavelet) -> Result<&Lifting> {
    wavelet.lifting().ok_or_else(|| {
        Error::unsupported(format!(
            "wavelet '{}' has no lifting steps that are well conditioned, and the boundary 'mirror' needs them; use 'periodization'",
            wavelet.name()
        ))
    })
}

impl<'a> Line<'a> {
    pub(super) fn new(wavelet: &'a Wavelet, border: Boundary, n: usize) -> Result<Self> {
        if border == Boundary::Mirror {
            steps(wavelet)?;
        }
        Ok(Self { wavelet, border, n })
    }

    /// Low and high coefficients.
    pub(super) fn forward(&self, x: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
        if self.border == Boundary::Mirror {
            return self.lift(x);
        }
        let (count, _) = counts(self.n, self.wavelet, self.border);
        let bank = self.wavelet.bank();
        let filter = |f: &[f64]| -> Vec<f64> {
            let value = |i| self.taps(f, i).iter().map(|(k, w)| w * x[*k]).sum();
            (0..count).map(value).collect()
        };
        Ok((filter(&bank.dec_lo), filter(&bank.dec_hi)))
    }

    /// The transpose of [`forward`](Self::forward).
    pub(super) fn adjoint(&self, low: &[f64], high: &[f64]) -> Result<Vec<f64>> {
        if self.border == Boundary::Mirror {
            return self.lift_adjoint(low, high);
        }
        let mut x = vec![0.0; self.n];
        let bank = self.wavelet.bank();
        for (f, coefficients) in [(&bank.dec_lo, low), (&bank.dec_hi, high)] {
            for (i, c) in coefficients.iter().enumerate() {
                for (k, w) in self.taps(f, i) {
                    x[k] += w * c;
                }
            }
        }
        Ok(x)
    }

    /// The line with these coefficients.
    pub(super) fn inverse(&self, low: &[f64], high: &[f64]) -> Result<Vec<f64>> {
        if self.border == Boundary::Mirror {
            return self.unlift(low, high);
        }
        let Bank { rec_lo, rec_hi, .. } = self.wavelet.bank();
        let mut x = vec![0.0; self.n];
        for (filter, coefficients) in [(rec_lo, low), (rec_hi, high)] {
            for (i, c) in coefficients.iter().enumerate() {
                for (at, f) in self.spread(filter, i, coefficients.len()) {
                    x[at] += f * c;
                }
            }
        }
        Ok(x)
    }

    /// The samples that coefficient `i` of `count` contributes to, by a synthesis filter.
    pub(super) fn spread(&self, filter: &[f64], i: usize, count: usize) -> Vec<(usize, f64)> {
        let len = filter.len() as i64;
        // The position of tap 0 of the filter of coefficient 0; that of coefficient i is 2i further on.
        let (start, period) = match self.border {
            Boundary::Periodization => (1 - len / 2, Some(2 * count as i64)),
            _ => (2 - len, None),
        };
        let place = |(j, f): (usize, &f64)| {
            let at = 2 * i as i64 + start + j as i64;
            let at = period.map_or(at, |p| at.rem_euclid(p));
            let inside = usize::try_from(at).ok().filter(|at| *at < self.n)?;
            Some((inside, *f))
        };
        filter.iter().enumerate().filter_map(place).collect()
    }

    /// The samples that contribute to coefficient `i` of a filter.
    pub(super) fn taps(&self, filter: &[f64], i: usize) -> Vec<(usize, f64)> {
        let mut sum = Vec::new();
        for (j, f) in filter.iter().enumerate() {
            let (i, j, half) = (i as i64, j as i64, filter.len() as i64 / 2);
            let samples = match self.border {
                Boundary::Periodization => {
                    let even = self.n.next_multiple_of(2) as i64;
                    let at = (2 * i + half - j).rem_euclid(even) as usize;
                    vec![(at.min(self.n - 1), 1.0)]
                }
                border => border.sample(2 * i + 1 - j, self.n),
            };
            sum.extend(samples.into_iter().map(|(k, w)| (k, w * f)));
        }
        sum
    }

    /// A line of one sample is constant: its only coefficient is the low-pass response to a constant.
    fn constant_gain(&self) -> f64 {
        self.wavelet.bank().dec_lo.iter().sum()
    }

    /// Applies a lifting step: adds the filtered samples of the other parity to those of one parity.
    fn step(&self, x: &mut [f64], parity: usize, taps: &Taps, sign: f64, transposed: bool) {
        for at in (parity..self.n).step_by(2) {
            for (k, t) in taps.iter() {
                // Even samples are left of the odd ones of the same pair.
                let from = at as i64 - (2 * parity as i64 - 1) + 2 * i64::from(k);
                let from = mirrored(from, self.n);
                if transposed {
                    x[from] += sign * t * x[at];
                } else {
                    x[at] += sign * t * x[from];
                }
            }
        }
    }

    fn lift(&self, x: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
        let lifting = steps(self.wavelet)?;
        if self.n == 1 {
            return Ok((vec![self.constant_gain() * x[0]], Vec::new()));
        }
        let mut x = x.to_vec();
        for pair in &lifting.pairs {
            self.step(&mut x, 1, &pair.predict, 1.0, false);
            self.step(&mut x, 0, &pair.update, 1.0, false);
        }
        let part = |parity: usize, scale: f64| {
            x.iter()
                .skip(parity)
                .step_by(2)
                .map(|v| v * scale)
                .collect()
        };
        Ok((part(0, lifting.low_scale), part(1, lifting.high_scale)))
    }

    fn interleave(&self, low: &[f64], high: &[f64], scales: [f64; 2]) -> Vec<f64> {
        let value = |i: usize| [low, high][i % 2][i / 2] * scales[i % 2];
        (0..self.n).map(value).collect()
    }

    fn unlift(&self, low: &[f64], high: &[f64]) -> Result<Vec<f64>> {
        let lifting = steps(self.wavelet)?;
        if self.n == 1 {
            return Ok(vec![low[0] / self.constant_gain()]);
        }
        let scales = [1.0 / lifting.low_scale, 1.0 / lifting.high_scale];
        let mut x = self.interleave(low, high, scales);
        for pair in lifting.pairs.iter().rev() {
            self.step(&mut x, 0, &pair.update, -1.0, false);
            self.step(&mut x, 1, &pair.predict, -1.0, false);
        }
        Ok(x)
    }

    fn lift_adjoint(&self, low: &[f64], high: &[f64]) -> Result<Vec<f64>> {
        let lifting = steps(self.wavelet)?;
        if self.n == 1 {
            return Ok(vec![low[0] * self.constant_gain()]);
        }
        let mut x = self.interleave(low, high, [lifting.low_scale, lifting.high_scale]);
        for pair in lifting.pairs.iter().rev() {
            self.step(&mut x, 0, &pair.update, 1.0, true);
            self.step(&mut x, 1, &pair.predict, 1.0, true);
        }
        Ok(x)
    }
}
