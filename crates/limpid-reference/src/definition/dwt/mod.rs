//! The 2-D discrete wavelet transform in plain scalar code.
//!
//! One level filters rows, then columns, into four bands: `LL` (low in both directions), `HL` (high along x), `LH` (high
//! along y), `HH`. Further levels transform `LL` again (Mallat's decomposition).
//!
//! Invariants: `inverse(forward(image))` is the image, for any size, border, wavelet and number of levels; `adjoint` is the
//! transpose of `forward`.

mod line;
mod packed;
mod reversible;
mod table;
mod undecimated;
#[cfg(test)]
mod vectors;
mod volume;

pub use line::counts;
pub use packed::Arrangement;
pub use reversible::{reversible_forward, reversible_inverse};
pub use table::{Table, line_tables, spread_tables};
pub use undecimated::Undecimated;
pub use volume::Extent;
pub use volume::{extent, low_frames};

use limpid_core::{Error, Image, Result, Size};
use limpid_wavelet::{Boundary, Normalisation, Wavelet};
use line::Line;

/// The parameters of the transform.
#[derive(Debug, Clone)]
pub struct Dwt {
    /// The wavelet.
    pub wavelet: Wavelet,
    /// Border handling.
    pub border: Boundary,
    /// The normalisation of coefficients.
    pub normalisation: Normalisation,
    /// Number of levels.
    pub levels: usize,
}

/// The three detail bands of a level.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    /// Size of the input of this level; stored because odd and even sizes can have bands of equal size.
    pub size: Size,
    /// High along x.
    pub hl: Image,
    /// High along y.
    pub lh: Image,
    /// High along both.
    pub hh: Image,
}

/// All coefficients of an image.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficients {
    /// The low band of the last level.
    pub low: Image,
    /// Detail, finest level first.
    pub details: Vec<Detail>,
}

/// The operation on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Analysis.
    Forward,
    /// Synthesis.
    Inverse,
    /// The transpose of the analysis.
    Adjoint,
}

impl Dwt {
    /// The coefficients of an image.
    pub fn forward(&self, image: &Image) -> Result<Coefficients> {
        if image.size().pixels() == 0 {
            return Err(Error::input(
                "an image without pixels has no wavelet transform",
            ));
        }
        let mut low = image.clone();
        let mut details = Vec::with_capacity(self.levels);
        for _ in 0..self.levels {
            let size = low.size();
            let (across_low, across_high) = self.rows(&low)?;
            let (ll, lh) = self.rows(&transposed(&across_low))?;
            let (hl, hh) = self.rows(&transposed(&across_high))?;
            low = transposed(&ll);
            let (hl, lh, hh) = (transposed(&hl), transposed(&lh), transposed(&hh));
            details.push(Detail { size, hl, lh, hh });
        }
        Ok(Coefficients { low, details })
    }

    /// The image with these coefficients.
    pub fn inverse(&self, coefficients: &Coefficients) -> Result<Image> {
        self.back(coefficients, Pass::Inverse)
    }

    /// The transpose of [`forward`](Self::forward).
    pub fn adjoint(&self, coefficients: &Coefficients) -> Result<Image> {
        self.back(coefficients, Pass::Adjoint)
    }

    fn back(&self, coefficients: &Coefficients, pass: Pass) -> Result<Image> {
        let mut low = coefficients.low.clone();
        for detail in coefficients.details.iter().rev() {
            let Size { width, height } = detail.size;
            let down = |low: &Image, high: &Image| {
                self.join(&transposed(low), &transposed(high), height, pass)
            };
            let across_low = transposed(&down(&low, &detail.lh)?);
            let across_high = transposed(&down(&detail.hl, &detail.hh)?);
            low = self.join(&across_low, &across_high, width, pass)?;
        }
        Ok(low)
    }

    /// Factors of low and high coefficients.
    fn factors(&self, pass: Pass) -> (f64, f64) {
        let (l, h) = self.normalisation.factors();
        match pass {
            Pass::Inverse => (1.0 / l, 1.0 / h),
            Pass::Forward | Pass::Adjoint => (l, h),
        }
    }

    /// Transforms all rows.
    fn rows(&self, image: &Image) -> Result<(Image, Image)> {
        let n = image.width();
        let (l, h) = counts(n, &self.wavelet, self.border);
        let line = Line::new(&self.wavelet, self.border, n)?;
        let (fl, fh) = self.normalisation.factors();
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for c in 0..image.channels() {
            for y in 0..image.height() {
                let row: Vec<f64> = image.row(c, y).iter().map(|v| f64::from(*v)).collect();
                let (a, b) = line.forward(&row)?;
                low.extend(a.iter().map(|v| (v * fl) as f32));
                high.extend(b.iter().map(|v| (v * fh) as f32));
            }
        }
        let image = |w, data| Image::from_planes(w, image.height(), image.channels(), data);
        Ok((image(l, low)?, image(h, high)?))
    }

    /// Merges all rows to rows of `n` samples.
    fn join(&self, low: &Image, high: &Image, n: usize, pass: Pass) -> Result<Image> {
        let wanted = counts(n, &self.wavelet, self.border);
        if (low.width(), high.width()) != wanted || low.height() != high.height() {
            return Err(Error::input(format!(
                "coefficients of {} and {} do not belong to {n} samples of wavelet '{}' with boundary '{}'",
                low.size(),
                high.size(),
                self.wavelet.name(),
                self.border
            )));
        }
        let line = Line::new(&self.wavelet, self.border, n)?;
        let (fl, fh) = self.factors(pass);
        let mut data = Vec::new();
        for c in 0..low.channels() {
            for y in 0..low.height() {
                let part = |image: &Image, f: f64| -> Vec<f64> {
                    image.row(c, y).iter().map(|v| f64::from(*v) * f).collect()
                };
                let (a, b) = (part(low, fl), part(high, fh));
                let row = match pass {
                    Pass::Adjoint => line.adjoint(&a, &b)?,
                    Pass::Forward | Pass::Inverse => line.inverse(&a, &b)?,
                };
                data.extend(row.iter().map(|v| *v as f32));
            }
        }
        Image::from_planes(n, low.height(), low.channels(), data)
    }
}

/// Rows as columns.
fn transposed(image: &Image) -> Image {
    Image::from_fn(
        image.height(),
        image.width(),
        image.channels(),
        |x, y, c| image.get(y, x, c),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn noise(width: usize, height: usize, seed: u32) -> Image {
        let mut state = seed | 1;
        Image::from_fn(width, height, 1, |_, _, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
    }

    fn dot(a: &Image, b: &Image) -> f64 {
        let products = a.data().iter().zip(b.data());
        products.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    /// Largest difference of two images of one size.
    fn difference(a: &Image, b: &Image) -> f32 {
        assert_eq!(a.size(), b.size());
        let pairs = a.data().iter().zip(b.data());
        pairs.fold(0.0, |m, (a, b)| m.max((a - b).abs()))
    }

    const WAVELETS: [&str; 12] = [
        "haar", "cdf53", "cdf97", "dd137", "b3", "db2", "db7", "sym5", "coif2", "bior3.5",
        "rbio2.4", "bior4.4",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn any_image_comes_back(
            width in 1usize..40, height in 1usize..40, levels in 0usize..5, seed: u32,
            wavelet in 0..WAVELETS.len(), border in 0usize..10, unit: bool,
        ) {
            let dwt = Dwt {
                wavelet: Wavelet::named(WAVELETS[wavelet]).unwrap(),
                border: Boundary::all().nth(border).unwrap(),
                normalisation: if unit { Normalisation::Unit } else { Normalisation::Orthonormal },
                levels,
            };
            let image = noise(width, height, seed);
            let coefficients = dwt.forward(&image).unwrap();
            let back = dwt.inverse(&coefficients).unwrap();
            // Smooth and antireflecting borders of short signals grow from level to level, and so does rounding.
            let largest = coefficients.details.iter().map(|d| d.hh.data().iter().chain(d.hl.data()).chain(d.lh.data())
                .fold(0.0f32, |m, v| m.max(v.abs()))).fold(1.0f32, f32::max);
            let largest = coefficients.low.data().iter().fold(largest, |m, v| m.max(v.abs()));
            prop_assert!(difference(&image, &back) < 2e-5 * largest, "{}", difference(&image, &back) / largest);
        }

        #[test]
        fn adjoint_is_the_transpose(
            width in 1usize..20, height in 1usize..20, levels in 0usize..3, seed: u32,
            wavelet in 0..WAVELETS.len(), border in 0usize..10,
        ) {
            let dwt = Dwt {
                wavelet: Wavelet::named(WAVELETS[wavelet]).unwrap(),
                border: Boundary::all().nth(border).unwrap(),
                normalisation: Normalisation::Orthonormal,
                levels,
            };
            let image = noise(width, height, seed);
            let a = dwt.forward(&image).unwrap();
            let like = |i: &Image, s: u32| noise(i.width(), i.height(), seed ^ s);
            let b = Coefficients {
                low: like(&a.low, 77),
                details: a.details.iter().map(|d| Detail {
                    size: d.size, hl: like(&d.hl, 5), lh: like(&d.lh, 6), hh: like(&d.hh, 7),
                }).collect(),
            };
            let details = a.details.iter().zip(&b.details);
            let left = dot(&a.low, &b.low) + details
                .map(|(a, b)| dot(&a.hl, &b.hl) + dot(&a.lh, &b.lh) + dot(&a.hh, &b.hh)).sum::<f64>();
            let adjoint = dwt.adjoint(&b).unwrap();
            let scale = dot(&adjoint, &adjoint).sqrt() * dot(&image, &image).sqrt() + 1.0;
            prop_assert!((left - dot(&image, &adjoint)).abs() < 1e-5 * scale);
        }
    }

    #[test]
    fn lifting_equals_convolution_under_periodization() {
        // PyWavelets' bior4.4 under periodization is lifting with cA = √2·L and cD = -H/√2, without a shift.
        let image = noise(32, 1, 3);
        let dwt = |name: &str, border| Dwt {
            wavelet: Wavelet::named(name).unwrap(),
            border,
            normalisation: Normalisation::Orthonormal,
            levels: 1,
        };
        let cyclic = dwt("bior4.4", Boundary::Periodization)
            .forward(&image)
            .unwrap();
        let lifted = dwt("cdf97", Boundary::Mirror).forward(&image).unwrap();
        for x in 4..12 {
            assert!((cyclic.low.get(x, 0, 0) - lifted.low.get(x, 0, 0)).abs() < 1e-5);
            assert!(
                (cyclic.details[0].hl.get(x, 0, 0) + lifted.details[0].hl.get(x, 0, 0)).abs()
                    < 1e-5
            );
        }
    }

    #[test]
    fn wrong_coefficients_are_refused() {
        let dwt = Dwt {
            wavelet: Wavelet::named("cdf53").unwrap(),
            border: Boundary::Mirror,
            normalisation: Normalisation::Unit,
            levels: 1,
        };
        let mut coefficients = dwt.forward(&noise(8, 8, 1)).unwrap();
        coefficients.details[0].size = Size::new(9, 8);
        assert!(dwt.inverse(&coefficients).is_err());
        let convolved = Dwt {
            wavelet: Wavelet::named("dmey").unwrap(),
            ..dwt
        };
        let error = convolved.forward(&noise(8, 8, 1)).unwrap_err().to_string();
        assert!(error.contains("periodization"), "{error}");
    }
}
