//! The Anscombe transform for sensor noise, and its exact unbiased inverse.

use std::fmt;

/// Sensor noise: the count `x/gain` has a Poisson distribution, and reading it adds Gaussian noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Poisson {
    /// Value of one count, in the image's units.
    pub gain: f32,
    /// Standard deviation of the read noise, in the image's units.
    pub read: f32,
}

impl Poisson {
    /// The Anscombe transform for counts with read noise (Starck, Murtagh and Bijaoui 1998): the result has noise of standard
    /// deviation 1.
    #[inline]
    pub fn stabilise(self, v: f32) -> f32 {
        2.0 * (v / self.gain + 0.375 + self.square()).max(0.0).sqrt()
    }

    /// Variance of the read noise in counts.
    pub fn square(self) -> f32 {
        (self.read / self.gain).powi(2)
    }

    /// The mean of transformed samples whose mean count is `mean`.
    fn mean_stabilised(self, mean: f64) -> f64 {
        let spread = f64::from(self.square()).sqrt();
        let normal: Vec<(f64, f64)> = match spread {
            0.0 => vec![(0.0, 1.0)],
            _ => (-40..=40)
                .map(|i| f64::from(i) * 0.15)
                .map(|u| (u * spread, (-0.5 * u * u).exp()))
                .collect(),
        };
        let total: f64 = normal.iter().map(|(_, weight)| weight).sum();
        let shift = 0.375 + spread * spread;
        let mut chance = (-mean).exp();
        let mut sum = 0.0;
        for count in 0..=(mean + 10.0 * mean.sqrt()) as u32 + 10 {
            let count = f64::from(count);
            let root = |(u, weight): &(f64, f64)| weight * (count + u + shift).max(0.0).sqrt();
            sum += 2.0 * chance * normal.iter().map(root).sum::<f64>() / total;
            chance *= mean / (count + 1.0);
        }
        sum
    }
}

/// Entries of the table of an [`Inverse`].
pub const ENTRIES: usize = 64;

/// End of the table: beyond it, corrections are below 0.005 counts.
pub const END: f32 = 10.0;

/// The inverse that maps the mean of transformed samples to the mean of the samples (Mäkitalo and Foi 2013).
///
/// It is the asymptotic form `¼d² - ⅛ - (read/gain)²` plus, below [`END`], a tabulated correction to the exact inverse.
#[derive(Clone, PartialEq)]
pub struct Inverse {
    /// The noise.
    pub noise: Poisson,
    /// The mean of the transform for zero light, where the table begins.
    pub first: f32,
    /// The correction of the asymptotic form, in equal steps from `first` to [`END`].
    pub table: [f32; ENTRIES],
}

impl Inverse {
    /// The inverse for a sensor's noise.
    pub fn new(noise: Poisson) -> Self {
        const MEANS: usize = 400;
        let mean = |i: usize| 30.0 * (i as f64 / MEANS as f64).powi(2);
        let first = match 2.0 * (0.125 + noise.square()).sqrt() {
            // If the asymptotic form reaches 0 beyond the table, it is used alone.
            d if d >= END => d,
            _ => noise.mean_stabilised(0.0) as f32,
        };
        let mut table = [0.0; ENTRIES];
        if first < END {
            let known: Vec<(f64, f64)> = (0..=MEANS)
                .map(|i| (noise.mean_stabilised(mean(i)), mean(i)))
                .collect();
            for (i, entry) in table.iter_mut().enumerate() {
                let d = f64::from(first + (END - first) * i as f32 / (ENTRIES - 1) as f32);
                let at = known.partition_point(|k| k.0 <= d).clamp(1, MEANS);
                let ((d0, m0), (d1, m1)) = (known[at - 1], known[at]);
                let exact = m0 + (m1 - m0) * (d - d0) / (d1 - d0);
                *entry = (exact - (0.25 * d * d - 0.125 - f64::from(noise.square()))) as f32;
            }
        }
        Self {
            noise,
            first,
            table,
        }
    }

    /// Entries of the table per unit of the transform.
    pub fn scale(&self) -> f32 {
        (ENTRIES - 1) as f32 / (END - self.first)
    }

    /// The mean of the samples; black for values below that of zero light.
    #[inline]
    pub fn restore(&self, d: f32) -> f32 {
        let d = d.max(self.first);
        let mut counts = 0.25 * d * d - 0.125 - self.noise.square();
        if d < END {
            let at = (d - self.first) * self.scale();
            let i = (at as usize).min(ENTRIES - 2);
            counts += self.table[i] + (self.table[i + 1] - self.table[i]) * (at - i as f32);
        }
        counts.max(0.0) * self.noise.gain
    }
}

impl fmt::Debug for Inverse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.noise.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_come_back() {
        for (gain, read) in [(1.0, 0.0), (0.01, 0.0), (1.0, 0.5), (0.1, 0.2), (1.0, 6.0)] {
            let noise = Poisson { gain, read };
            let inverse = Inverse::new(noise);
            for mean in [0.0, 0.03, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 27.0, 100.0] {
                let back = inverse.restore(noise.mean_stabilised(mean) as f32) / gain;
                let off = f64::from(back) - mean;
                assert!(off.abs() < 0.005 + 1e-5 * mean, "{noise:?} {mean}: {back}");
            }
        }
        let dark = Inverse::new(Poisson {
            gain: 1.0,
            read: 0.0,
        })
        .restore(0.0);
        assert!((0.0..1e-6).contains(&dark), "{dark}");
    }
}
