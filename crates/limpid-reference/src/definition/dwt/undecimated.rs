//! The undecimated transform: every band keeps the image's size, filters spread by `2^level` instead.
//!
//! Shifting the image shifts the coefficients. Borders are periodic; any length works, not only multiples of `2^levels`.

use super::{Coefficients, Detail};
use limpid_core::{Error, Image, Result};
use limpid_wavelet::Wavelet;

/// The parameters; coefficients are orthonormal.
#[derive(Debug, Clone)]
pub struct Undecimated {
    /// The wavelet.
    pub wavelet: Wavelet,
    /// Number of levels.
    pub levels: usize,
}

impl Undecimated {
    /// The coefficients of an image.
    pub fn forward(&self, image: &Image) -> Result<Coefficients> {
        if image.size().pixels() == 0 || self.levels > 31 {
            return Err(Error::input(
                "the undecimated transform needs pixels, and at most 31 levels",
            ));
        }
        let bank = self.wavelet.bank();
        let mut low = image.clone();
        let mut details = Vec::new();
        for level in 0..self.levels {
            let half = bank.len() as i64 / 2;
            // out[n] = Σ f[j] · in[n + 2^level (half - j)], as the decimated transform under periodization.
            let filter =
                |image: &Image, f: &[f64], down| spread(image, f, level, down, |j| half - j);
            let (l, h) = (
                filter(&low, &bank.dec_lo, false),
                filter(&low, &bank.dec_hi, false),
            );
            details.push(Detail {
                size: image.size(),
                hl: filter(&h, &bank.dec_lo, true),
                lh: filter(&l, &bank.dec_hi, true),
                hh: filter(&h, &bank.dec_hi, true),
            });
            low = filter(&l, &bank.dec_lo, true);
        }
        Ok(Coefficients { low, details })
    }

    /// The image with these coefficients: the mean over all shifts of the decimated inverse.
    pub fn inverse(&self, coefficients: &Coefficients) -> Result<Image> {
        let bank = self.wavelet.bank();
        let half = bank.len() as i64 / 2;
        let mut low = coefficients.low.clone();
        if coefficients.details.len() != self.levels
            || (coefficients.details.iter()).any(|d| {
                [&d.hl, &d.lh, &d.hh]
                    .iter()
                    .any(|b| (b.size(), b.channels()) != (low.size(), low.channels()))
            })
        {
            return Err(Error::input("undecimated bands must all have one size"));
        }
        for (level, detail) in coefficients.details.iter().enumerate().rev() {
            let filter =
                |image: &Image, f: &[f64], down| spread(image, f, level, down, |j| half - 1 - j);
            let join = |a: &Image, b: &Image, down| {
                let (a, b) = (filter(a, &bank.rec_lo, down), filter(b, &bank.rec_hi, down));
                Image::from_fn(a.width(), a.height(), a.channels(), |x, y, c| {
                    0.5 * (a.get(x, y, c) + b.get(x, y, c))
                })
            };
            let l = join(&low, &detail.lh, true);
            let h = join(&detail.hl, &detail.hh, true);
            low = join(&l, &h, false);
        }
        Ok(low)
    }
}

/// `out[n] = Σ f[j] · in[n + 2^level · offset(j)]` along x or y, periodic.
fn spread(
    image: &Image,
    filter: &[f64],
    level: usize,
    down: bool,
    offset: impl Fn(i64) -> i64,
) -> Image {
    Image::from_fn(
        image.width(),
        image.height(),
        image.channels(),
        |x, y, c| {
            let (at, n) = if down {
                (y, image.height())
            } else {
                (x, image.width())
            };
            let value = |(j, f): (usize, &f64)| {
                let from = at as i64 + (offset(j as i64) << level);
                let from = from.rem_euclid(n as i64) as usize;
                f * f64::from(if down {
                    image.get(x, from, c)
                } else {
                    image.get(from, y, c)
                })
            };
            filter.iter().enumerate().map(value).sum::<f64>() as f32
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn any_size_comes_back(width in 1usize..24, height in 1usize..24, levels in 0usize..4, pick in 0usize..6) {
            let name = ["haar", "cdf97", "b3", "db3", "bior3.3", "sym8"][pick];
            let transform = Undecimated { wavelet: Wavelet::named(name).unwrap(), levels };
            let image = Image::from_fn(width, height, 1, |x, y, _| ((x * 31 + y * 17) % 23) as f32 / 23.0);
            let back = transform.inverse(&transform.forward(&image).unwrap()).unwrap();
            let error = image.data().iter().zip(back.data()).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
            prop_assert!(error < 1e-4, "{name} {error}");
        }
    }

    #[test]
    fn shifting_the_image_shifts_the_coefficients() {
        let transform = Undecimated {
            wavelet: Wavelet::named("db2").unwrap(),
            levels: 2,
        };
        let image =
            |shift: usize| Image::from_fn(11, 1, 1, |x, _, _| (((x + shift) % 11) * 5 % 7) as f32);
        let (a, b) = (
            transform.forward(&image(0)).unwrap(),
            transform.forward(&image(3)).unwrap(),
        );
        for x in 0..11 {
            assert!(
                (a.details[1].hl.get((x + 3) % 11, 0, 0) - b.details[1].hl.get(x, 0, 0)).abs()
                    < 1e-5
            );
        }
    }
}
