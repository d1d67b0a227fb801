//! The transform of a volume: along x, y and time, then recursively of the band that is low along all three.
//!
//! A volume is an image with its frames stacked vertically. Coefficients replace the samples: along each axis the low ones come
//! first, and the next level is in the corner where all are low. These are the coefficients of PyWavelets' `wavedecn`.

use super::line::{Line, counts};
use super::{Dwt, Pass};
use limpid_core::{Error, Image, Result, Size};

/// Width and height of a frame, and the number of frames.
pub type Extent = [usize; 3];

impl Dwt {
    /// The extents that the levels transform. The number of coefficients must equal the number of samples.
    pub fn extents(&self, whole: Extent) -> Result<Vec<Extent>> {
        let mut all = Vec::new();
        let mut extent = whole;
        for _ in 0..self.levels {
            for n in extent {
                let (low, high) = counts(n, &self.wavelet, self.border);
                if self.border.expands() || low + high != n {
                    return Err(Error::unsupported(format!(
                        "coefficients of boundary '{}' do not fit {n} samples, as those of a volume must; use boundary 'mirror'",
                        self.border
                    )));
                }
            }
            all.push(extent);
            extent = extent.map(|n| counts(n, &self.wavelet, self.border).0);
        }
        Ok(all)
    }

    /// The coefficients of a volume of this many frames.
    pub fn forward_volume(&self, image: &Image, frames: usize) -> Result<Image> {
        let mut out = image.clone();
        for extent in self.extents(extent(image.size(), frames)?)? {
            for axis in 0..3 {
                self.along(&mut out, frames, extent, (axis, Pass::Forward))?;
            }
        }
        Ok(out)
    }

    /// The volume with these coefficients.
    pub fn inverse_volume(&self, packed: &Image, frames: usize) -> Result<Image> {
        self.back_volume(packed, frames, Pass::Inverse)
    }

    /// The transpose of [`forward_volume`](Self::forward_volume).
    pub fn adjoint_volume(&self, packed: &Image, frames: usize) -> Result<Image> {
        self.back_volume(packed, frames, Pass::Adjoint)
    }

    fn back_volume(&self, packed: &Image, frames: usize, pass: Pass) -> Result<Image> {
        let mut out = packed.clone();
        let extents = self.extents(extent(packed.size(), frames)?)?;
        for extent in extents.into_iter().rev() {
            for axis in (0..3).rev() {
                self.along(&mut out, frames, extent, (axis, pass))?;
            }
        }
        Ok(out)
    }

    /// Transforms all lines along an axis within an extent, in place.
    fn along(
        &self,
        image: &mut Image,
        frames: usize,
        extent: Extent,
        (axis, pass): (usize, Pass),
    ) -> Result<()> {
        let height = image.height() / frames;
        let n = extent[axis];
        let line = Line::new(&self.wavelet, self.border, n)?;
        let low = counts(n, &self.wavelet, self.border).0;
        let (l, h) = self.factors(pass);
        let factor = |i: usize| if i < low { l } else { h };
        let others = [1, 2].map(|k| (axis + k) % 3);
        for c in 0..image.channels() {
            for a in 0..extent[others[0]] {
                for b in 0..extent[others[1]] {
                    let place = |i: usize| {
                        let mut at = [0; 3];
                        (at[axis], at[others[0]], at[others[1]]) = (i, a, b);
                        (at[0], at[2] * height + at[1])
                    };
                    let value = |i: usize| {
                        let (x, y) = place(i);
                        f64::from(image.get(x, y, c))
                    };
                    let made: Vec<f64> = if pass == Pass::Forward {
                        let (low, high) = line.forward(&(0..n).map(value).collect::<Vec<_>>())?;
                        let all = low.iter().chain(&high).enumerate();
                        all.map(|(i, v)| v * factor(i)).collect()
                    } else {
                        let all: Vec<f64> = (0..n).map(|i| value(i) * factor(i)).collect();
                        let (low, high) = all.split_at(low);
                        match pass {
                            Pass::Adjoint => line.adjoint(low, high)?,
                            Pass::Forward | Pass::Inverse => line.inverse(low, high)?,
                        }
                    };
                    for (i, v) in made.into_iter().enumerate() {
                        let (x, y) = place(i);
                        image.set(x, y, c, v as f32);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The extent of this many vertically stacked frames.
pub fn extent(size: Size, frames: usize) -> Result<Extent> {
    if frames == 0 || !size.height.is_multiple_of(frames) {
        return Err(Error::input(format!(
            "an image of {size} cannot be split into {frames} frames of equal height"
        )));
    }
    Ok([size.width, size.height / frames, frames])
}

/// The number of low frames after one level.
pub fn low_frames(frames: usize, dwt: &Dwt) -> usize {
    counts(frames, &dwt.wavelet, dwt.border).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid_wavelet::{Boundary, Normalisation, Wavelet};
    use proptest::prelude::*;

    fn dwt(name: &str, border: Boundary, levels: usize) -> Dwt {
        Dwt {
            wavelet: Wavelet::named(name).unwrap(),
            border,
            normalisation: Normalisation::Orthonormal,
            levels,
        }
    }

    fn volume([w, h, t]: Extent) -> Image {
        Image::from_fn(w, h * t, 1, |x, y, _| {
            let (y, t) = (y % h, y / h);
            ((x * 37 + y * 61 + t * 43 + x * y * 13 + y * t * 7 + 7) % 101) as f32 / 101.0
        })
    }

    fn dot(a: &Image, b: &Image) -> f64 {
        let products = a.data().iter().zip(b.data());
        products.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn any_volume_comes_back(w in 1usize..12, h in 1usize..12, t in 1usize..12, levels in 0usize..4, pick in 0usize..4) {
            let dwt = dwt(["cdf97", "cdf53", "db2", "haar"][pick], Boundary::Mirror, levels);
            let image = volume([w, h, t]);
            let there = dwt.forward_volume(&image, t).unwrap();
            let back = dwt.inverse_volume(&there, t).unwrap();
            let worst = image.data().iter().zip(back.data()).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
            prop_assert!(worst < 2e-5, "{worst}");
            // The transpose: <A x, y> = <x, Aᵀ y>.
            let other = volume([w, h, t]).map(|v| 1.0 - 3.0 * v * v);
            let [left, right] = [dot(&there, &other), dot(&image, &dwt.adjoint_volume(&other, t).unwrap())];
            prop_assert!((left - right).abs() < 1e-4 * (1.0 + left.abs()), "{left} {right}");
        }
    }

    /// Coefficients computed by PyWavelets 1.8, `coeffs_to_array(wavedecn(…, 'periodization'))`: `wavelet width height frames
    /// levels: …`, x fastest.
    const VECTORS: &str = include_str!("volumes.txt");

    #[test]
    fn coefficients_equal_those_of_pywavelets() {
        let mut seen = 0;
        for line in VECTORS.lines() {
            let (head, numbers) = line.split_once(':').unwrap();
            let [name, rest @ ..] = &head.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{head}");
            };
            let [w, h, t, levels] = rest[..] else {
                panic!("{head}");
            };
            let [w, h, t, levels] = [w, h, t, levels].map(|n| n.parse::<usize>().unwrap());
            let found = dwt(name, Boundary::Periodization, levels)
                .forward_volume(&volume([w, h, t]), t)
                .unwrap();
            let wanted: Vec<f32> = numbers
                .split_ascii_whitespace()
                .map(|v| v.parse().unwrap())
                .collect();
            assert_eq!(found.data().len(), wanted.len(), "{head}");
            for (i, (a, b)) in found.data().iter().zip(wanted).enumerate() {
                assert!(
                    (a - b).abs() < 3e-6 * (1.0 + b.abs()),
                    "{head} at {i}: {a} {b}"
                );
            }
            seen += 1;
        }
        assert_eq!(seen, 6);
    }

    #[test]
    fn volumes_that_do_not_fit_are_refused() {
        let image = volume([6, 4, 3]);
        assert!(
            dwt("haar", Boundary::Mirror, 1)
                .forward_volume(&image, 5)
                .is_err()
        );
        for border in [Boundary::Periodization, Boundary::Zero] {
            let error = dwt("db2", border, 1).forward_volume(&image, 3).unwrap_err();
            assert!(error.to_string().contains("mirror"), "{error}");
        }
    }
}
