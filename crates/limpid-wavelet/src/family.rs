//! Wavelets by name, and the user's own.

use super::{Lifting, Taps, factor, lifting_error};
use limpid_core::{Error, Result};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// Filters as PyWavelets prints them: `name kind: values`. Orthogonal families hold their analysis low-pass filter,
/// biorthogonal ones that of analysis and that of synthesis. Made with PyWavelets 1.8, seventeen digits.
const TABLE: &str = include_str!("family.txt");

/// Liftings whose error in f32 exceeds this share of the coefficients are replaced by convolution.
///
/// Convolution in f32 stays below 1e-6; five times that is still far below half-float storage and 8-bit images.
const WELL_CONDITIONED: f64 = 5e-6;

/// The four filters of a two-channel bank, all of one even length, in PyWavelets' order.
///
/// Analysis is `low[n] = Σ dec_lo[j] · x[2n + 1 - j]` over the extended signal.
#[derive(Debug, Clone, PartialEq)]
pub struct Bank {
    /// Analysis, low-pass.
    pub dec_lo: Vec<f64>,
    /// Analysis, high-pass.
    pub dec_hi: Vec<f64>,
    /// Synthesis, low-pass.
    pub rec_lo: Vec<f64>,
    /// Synthesis, high-pass.
    pub rec_hi: Vec<f64>,
}

/// The scale of coefficients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Normalisation {
    /// Preserves energy to the extent that the wavelet is orthogonal: `low` of a constant is √2 times it. PyWavelets.
    #[default]
    Orthonormal,
    /// `low` of a constant is the constant; `high` of an alternating signal is twice its amplitude. JPEG 2000.
    Unit,
}

impl Normalisation {
    /// Factors of low and high coefficients relative to the orthonormal ones.
    pub fn factors(self) -> (f64, f64) {
        match self {
            Self::Orthonormal => (1.0, 1.0),
            Self::Unit => (FRAC_1_SQRT_2, SQRT_2),
        }
    }
}

/// A wavelet: its filters, and its lifting steps if they exist and are well conditioned in `f32`.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod wavelet { pub use limpid_wavelet::*; } }
/// use limpid::wavelet::Wavelet;
/// let wavelet = Wavelet::named("cdf97")?;
/// assert_eq!(wavelet.lifting().map(|l| l.pairs.len()), Some(2));
/// assert_eq!(wavelet.bank().dec_lo.len(), 10);
/// # Ok::<(), limpid::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Wavelet {
    name: String,
    bank: Bank,
    lifting: Option<Lifting>,
}

/// Wavelets given by their lifting steps.
const LIFTED: [&str; 5] = ["haar", "cdf53", "cdf97", "dd137", "b3"];

impl Wavelet {
    /// A wavelet by name.
    pub fn named(name: &str) -> Result<Self> {
        if let Some(lifting) = lifted(name) {
            return Self::from_lifting(name, lifting);
        }
        let line = TABLE
            .lines()
            .find(|line| line.split(' ').next() == Some(name))
            .ok_or_else(|| Error::unknown("wavelet", name, Self::names()))?;
        let bank = Bank::parse(line.split_once(' ').map_or("", |(_, rest)| rest))?;
        Ok(Self::from_bank(name, bank))
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let tabled = TABLE.lines().filter_map(|line| line.split(' ').next());
        LIFTED.into_iter().chain(tabled)
    }

    /// A wavelet from its filters; it is factored if that is well conditioned.
    pub fn from_bank(name: &str, bank: Bank) -> Self {
        let lifting = factor(&bank).filter(|l| lifting_error(l, &bank) <= WELL_CONDITIONED);
        Self {
            name: name.to_owned(),
            bank,
            lifting,
        }
    }

    /// A wavelet from its lifting steps.
    pub fn from_lifting(name: &str, lifting: Lifting) -> Result<Self> {
        let good = |t: &Taps| {
            t.values.iter().all(|v| v.is_finite()) && t.values.len() <= 256 && t.reach() <= 256
        };
        let tapped = (lifting.pairs.iter()).all(|p| good(&p.predict) && good(&p.update));
        let scaled = (lifting.low_scale * lifting.high_scale).is_normal();
        if !(tapped && scaled && lifting.pairs.len() <= 64) {
            return Err(Error::input(format!(
                "wavelet '{name}': taps and scales must be finite, scales not zero, at most 64 pairs of 256 taps"
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            bank: Bank::of(&lifting),
            lifting: Some(lifting),
        })
    }

    /// A wavelet from the text of a small file.
    ///
    /// Lines of `predict OFFSET: VALUES`, `update OFFSET: VALUES`, `low SCALE` and `high SCALE` give lifting steps in order
    /// (scales as in the orthonormal normalisation); or lines `dec_lo: VALUES`, `dec_hi:`, `rec_lo:`, `rec_hi:` give filters
    /// as PyWavelets prints them, of which `dec_lo` alone suffices for an orthogonal wavelet. `#` starts a comment.
    ///
    /// ```
    /// # mod limpid { pub use limpid_core::*; pub mod wavelet { pub use limpid_wavelet::*; } }
    /// use limpid::wavelet::Wavelet;
    /// let text = "predict 0: -0.5 -0.5\nupdate -1: 0.25 0.25\nlow 1.4142135623730951\nhigh 0.7071067811865476";
    /// let own = Wavelet::parse("own", text)?;
    /// assert_eq!(own.lifting(), Wavelet::named("cdf53")?.lifting());
    /// # Ok::<(), limpid::Error>(())
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        super::parse::wavelet(name, text)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its filters, orthonormal.
    pub fn bank(&self) -> &Bank {
        &self.bank
    }

    /// Its lifting steps, if they are well conditioned.
    pub fn lifting(&self) -> Option<&Lifting> {
        self.lifting.as_ref()
    }
}

impl Bank {
    /// The filters of lifting steps.
    pub fn of(lifting: &Lifting) -> Self {
        let (low, high) = lifting.analysis();
        // Synthesis filters of lifting are the analysis filters of the inverse steps; with a determinant of one they are the
        // analysis filters of the other channel with alternating signs.
        let ends = |t: &Taps| (t.first, t.first + t.values.len() as i32 - 1);
        let ((a, b), (c, d)) = (ends(&low), ends(&high));
        let half = (1 - a.min(c)).max(b.max(d)).max(1);
        let place = |t: &Taps| {
            let mut filter = vec![0.0; 2 * half as usize];
            for (k, v) in t.iter() {
                filter[(half - k) as usize] = v;
            }
            filter
        };
        Self::from_analysis(place(&low), place(&high))
    }

    /// The bank of two analysis filters of one even length, which must form a bank with a determinant of magnitude one.
    pub fn from_analysis(dec_lo: Vec<f64>, dec_hi: Vec<f64>) -> Self {
        let sign = determinant(&dec_lo, &dec_hi);
        let alternate = |filter: &[f64], start: f64| -> Vec<f64> {
            let signs = [start, -start].into_iter().cycle();
            filter.iter().zip(signs).map(|(v, s)| v * s).collect()
        };
        Self {
            rec_lo: alternate(&dec_hi, -sign),
            rec_hi: alternate(&dec_lo, sign),
            dec_lo,
            dec_hi,
        }
    }

    /// The bank of an orthogonal wavelet from its analysis low-pass filter.
    pub fn orthogonal(dec_lo: Vec<f64>) -> Self {
        let rec_lo: Vec<f64> = dec_lo.iter().rev().copied().collect();
        Self::biorthogonal(dec_lo, rec_lo)
    }

    /// The bank of a biorthogonal wavelet from its two low-pass filters, with PyWavelets' signs.
    pub fn biorthogonal(dec_lo: Vec<f64>, rec_lo: Vec<f64>) -> Self {
        let dec_hi = rec_lo.iter().enumerate();
        let rec_hi = dec_lo.iter().enumerate();
        Self {
            dec_hi: dec_hi
                .map(|(i, v)| if i % 2 == 0 { -v } else { *v })
                .collect(),
            rec_hi: rec_hi
                .map(|(i, v)| if i % 2 == 0 { *v } else { -v })
                .collect(),
            dec_lo,
            rec_lo,
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let mut filters = text.split(';').map(|part| {
            let values = part.split_ascii_whitespace().map(str::parse::<f64>);
            values
                .collect::<std::result::Result<Vec<f64>, _>>()
                .map_err(|e| Error::input(format!("wavelet filters: {e}")))
        });
        match (filters.next(), filters.next()) {
            (Some(dec), Some(rec)) => Ok(Self::biorthogonal(dec?, rec?)),
            (Some(dec), None) => Ok(Self::orthogonal(dec?)),
            _ => Err(Error::input("wavelet filters: none given")),
        }
    }

    /// The length of its filters.
    pub fn len(&self) -> usize {
        self.dec_lo.len()
    }

    /// Whether there are no filters.
    pub fn is_empty(&self) -> bool {
        self.dec_lo.is_empty()
    }

    /// Its reconstruction error: the largest deviation of its product filter from a unit impulse.
    pub fn reconstruction_error(&self) -> f64 {
        let n = self.len();
        let convolve = |a: &[f64], b: &[f64], lag: usize| -> f64 {
            (0..=lag.min(n - 1))
                .filter(|j| lag - j < n)
                .map(|j| a[j] * b[lag - j])
                .sum()
        };
        if n == 0
            || [&self.dec_hi, &self.rec_lo, &self.rec_hi]
                .iter()
                .any(|f| f.len() != n)
        {
            return f64::INFINITY;
        }
        let mut worst = 0.0f64;
        for lag in 0..2 * n - 1 {
            let same = convolve(&self.dec_lo, &self.rec_lo, lag)
                + convolve(&self.dec_hi, &self.rec_hi, lag);
            let alias = |dec: &[f64], rec: &[f64]| -> f64 {
                (0..=lag.min(n - 1))
                    .filter(|j| lag - j < n)
                    .map(|j| if j % 2 == 0 { dec[j] } else { -dec[j] } * rec[lag - j])
                    .sum()
            };
            let wanted = if lag == n - 1 { 2.0 } else { 0.0 };
            let aliased = alias(&self.dec_lo, &self.rec_lo) + alias(&self.dec_hi, &self.rec_hi);
            worst = worst.max((same - wanted).abs()).max(aliased.abs());
        }
        worst
    }
}

/// The sign of a bank's determinant, from the term that must be `±2` in the product of the filters.
fn determinant(dec_lo: &[f64], dec_hi: &[f64]) -> f64 {
    let n = dec_lo.len();
    let sum: f64 = (0..n)
        .map(|j| dec_lo[j] * dec_hi[n - 1 - j] * if j % 2 == 0 { 1.0 } else { -1.0 })
        .sum();
    if sum < 0.0 { -1.0 } else { 1.0 }
}

/// The wavelets of Kula 2021, and B-spline and Haar wavelets, in lifting steps.
fn lifted(name: &str) -> Option<Lifting> {
    let two = |first, a: f64| Taps::new(first, [a, a]);
    Some(match name {
        "haar" => Lifting::new(
            [(Taps::new(0, [-1.0]), Taps::new(0, [0.5]))],
            SQRT_2,
            -FRAC_1_SQRT_2,
        ),
        // Eq. 8.35, whose update prints z^-1 for z.
        "cdf53" => Lifting::new([(two(0, -0.5), two(-1, 0.25))], SQRT_2, FRAC_1_SQRT_2),
        // Eq. 8.36 with the constants of Daubechies and Sweldens 1998; K as in JPEG 2000.
        "cdf97" => {
            const K: f64 = 1.230_174_104_914_001;
            Lifting::new(
                [
                    (
                        two(0, -1.586_134_342_059_924),
                        two(-1, -0.052_980_118_572_961),
                    ),
                    (
                        two(0, 0.882_911_075_530_934),
                        two(-1, 0.443_506_852_043_971),
                    ),
                ],
                SQRT_2 / K,
                K / SQRT_2,
            )
        }
        // Eq. 8.37.
        "dd137" => Lifting::new(
            [(
                Taps::new(-1, [1.0, -9.0, -9.0, 1.0].map(|v| v / 16.0)),
                Taps::new(-2, [-1.0, 9.0, 9.0, -1.0].map(|v| v / 32.0)),
            )],
            SQRT_2,
            FRAC_1_SQRT_2,
        ),
        // The analysis low-pass filter is the B3 spline [1 4 6 4 1] / 16.
        "b3" => Lifting::new(
            [
                (two(0, 0.25), two(-1, 1.0)),
                (two(0, -0.1875), Taps::none()),
            ],
            SQRT_2 / 4.0,
            4.0 / SQRT_2,
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bank_reconstructs() {
        for name in Wavelet::names() {
            let error = Wavelet::named(name).unwrap().bank().reconstruction_error();
            // Meyer's wavelet has no finite filter; its 62 taps are truncated. The tables of the others have this many digits.
            let allowed = match name {
                "dmey" => 1e-2,
                _ if name.starts_with("coif") || name.starts_with("sym") => 1e-8,
                _ => 1e-9,
            };
            assert!(error < allowed, "{name}: {error:.1e}");
        }
        assert_eq!(Wavelet::names().count(), 110);
    }

    #[test]
    fn cdf97_and_bior44_differ_by_the_sign_of_the_high_pass() {
        let (a, b) = (
            Wavelet::named("cdf97").unwrap(),
            Wavelet::named("bior4.4").unwrap(),
        );
        for (a, b, sign) in [
            (&a.bank().dec_lo, &b.bank().dec_lo, 1.0),
            (&a.bank().dec_hi, &b.bank().dec_hi, -1.0),
            (&a.bank().rec_lo, &b.bank().rec_lo, 1.0),
            (&a.bank().rec_hi, &b.bank().rec_hi, -1.0),
        ] {
            assert_eq!(a.len(), b.len());
            for (a, b) in a.iter().zip(b) {
                assert!((a - sign * b).abs() < 1e-9, "{a} {b}");
            }
        }
    }

    #[test]
    fn b3_has_the_spline_as_its_low_pass() {
        let (low, _) = lifted("b3").unwrap().analysis();
        let spline = [1.0, 4.0, 6.0, 4.0, 1.0].map(|v| v * SQRT_2 / 16.0);
        assert_eq!(low.first, -2);
        for (a, b) in low.values.iter().zip(spline) {
            assert!((a - b).abs() < 1e-12);
        }
    }

    #[test]
    fn an_unknown_name_is_told_with_the_nearest() {
        let error = Wavelet::named("cdf79").unwrap_err().to_string();
        assert!(
            error.contains("unknown wavelet 'cdf79'") && error.contains("Did you mean"),
            "{error}"
        );
    }
}
