//! Thresholds of wavelet coefficients, in place.

use crate::bank::{LEVEL, Real};
use crate::error::raise;
use crate::work::short;
use fearless_simd::{Simd, dispatch};
use numpy::{Element, PyReadonlyArrayDyn, PyReadwriteArrayDyn};
use pyo3::prelude::*;
use rayon::prelude::*;

/// Values for each piece of work.
const PIECE: usize = 1 << 15;

/// The bits of a magnitude: in the order of the magnitudes.
trait Magnitude: Real + Element {
    fn magnitude(self) -> u64;
    fn from_magnitude(bits: u64) -> f64;
    fn wide(self) -> f64;
    /// Bits of a magnitude.
    const WIDTH: u32;
}

impl Magnitude for f32 {
    fn magnitude(self) -> u64 {
        u64::from(self.abs().to_bits())
    }
    fn from_magnitude(bits: u64) -> f64 {
        f64::from(Self::from_bits(bits as u32))
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
    const WIDTH: u32 = 32;
}

impl Magnitude for f64 {
    fn magnitude(self) -> u64 {
        self.abs().to_bits()
    }
    fn from_magnitude(bits: u64) -> f64 {
        Self::from_bits(bits)
    }
    fn wide(self) -> f64 {
        self
    }
    const WIDTH: u32 = 64;
}

/// The median magnitude of the values that are not zero; none when all are.
fn median<T: Magnitude>(values: &[T]) -> Option<f64> {
    // First by the upper bits, in one pass; then among those that share them.
    let shift = T::WIDTH - 16;
    let each = values
        .len()
        .div_ceil(2 * rayon::current_num_threads())
        .max(1);
    let count = |part: &[T]| {
        let mut counts = vec![0u32; 1 << 16];
        let mut zeros = 0;
        for v in part {
            let bits = v.magnitude();
            counts[(bits >> shift) as usize] += 1;
            zeros += u32::from(bits == 0);
        }
        // Zeros do not count.
        counts[0] -= zeros;
        counts
    };
    let parts: Vec<Vec<u32>> = values.par_chunks(each).map(count).collect();
    let mut counts = vec![0usize; 1 << 16];
    for part in parts {
        for (sum, more) in counts.iter_mut().zip(part) {
            *sum += more as usize;
        }
    }
    let total: usize = counts.iter().sum();
    if total == 0 {
        return None;
    }
    let nth = |rank: usize| {
        let mut before = 0;
        let place = counts.iter().position(|c| {
            let found = before + c > rank;
            if !found {
                before += c;
            }
            found
        });
        let place = place.unwrap_or(0) as u64;
        let pick = |part: &[T]| -> Vec<u64> {
            let bits = part.iter().map(|v| v.magnitude());
            bits.filter(|b| *b != 0 && b >> shift == place).collect()
        };
        let parts: Vec<Vec<u64>> = values.par_chunks(each).map(pick).collect();
        let mut near = parts.concat();
        let (_, found, _) = near.select_nth_unstable(rank - before);
        T::from_magnitude(*found)
    };
    Some(match total % 2 {
        1 => nth(total / 2),
        _ => 0.5 * (nth(total / 2 - 1) + nth(total / 2)),
    })
}

/// The median magnitude of the values that are not zero.
#[pyfunction]
pub(crate) fn median_abs(py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    fn typed<T: Magnitude>(py: Python<'_>, x: &PyReadonlyArrayDyn<'_, T>) -> PyResult<Option<f64>> {
        let data = x.as_slice()?;
        short(py, || median(data))
    }
    if let Ok(x) = values.extract::<PyReadonlyArrayDyn<'_, f32>>() {
        return typed(py, &x);
    }
    typed::<f64>(py, &values.extract()?)
}

/// Shrinks bands of coefficients in place, `soft` or `hard`: each by the threshold that is given, or by that of BayesShrink for
/// this variance of the noise.
#[pyfunction]
pub(crate) fn shrink(
    py: Python<'_>,
    bands: Vec<Bound<'_, PyAny>>,
    soft: bool,
    threshold: Option<f64>,
    variance: f64,
) -> PyResult<()> {
    fn typed<T: Magnitude>(
        py: Python<'_>,
        mut bands: Vec<PyReadwriteArrayDyn<'_, T>>,
        soft: bool,
        given: impl Fn(&[T]) -> f64 + Send + Sync,
    ) -> PyResult<()> {
        let mut slices = Vec::new();
        for band in &mut bands {
            slices.push(band.as_slice_mut()?);
        }
        // One call for all bands: waking the threads takes as long as a small band.
        short(py, || {
            for data in slices {
                let t = T::of(given(data));
                data.par_chunks_mut(PIECE).for_each(|part| match soft {
                    true => part.iter_mut().for_each(|v| *v = (*v).nearer(t)),
                    false => part.iter_mut().for_each(|v| *v = (*v).kept(t)),
                });
            }
        })
    }
    /// BayesShrink: the noise's variance over the signal's deviation.
    fn bayes<T: Magnitude>(data: &[T], variance: f64, epsilon: f64) -> f64 {
        let sums: Vec<f64> = data
            .par_chunks(PIECE)
            .map(|part| dispatch!(*LEVEL, simd => squares(simd, part)))
            .collect();
        let mean = sums.iter().sum::<f64>() / data.len().max(1) as f64;
        variance / (mean - variance).max(epsilon).sqrt()
    }
    fn writable<'py, T: Element>(
        bands: &[Bound<'py, PyAny>],
    ) -> Option<Vec<PyReadwriteArrayDyn<'py, T>>> {
        bands.iter().map(|band| band.extract().ok()).collect()
    }
    if let Some(bands) = writable::<f32>(&bands) {
        let epsilon = f64::from(f32::EPSILON);
        let by = |d: &[f32]| threshold.unwrap_or_else(|| bayes(d, variance, epsilon));
        return typed(py, bands, soft, by);
    }
    if let Some(bands) = writable::<f64>(&bands) {
        let by = |d: &[f64]| threshold.unwrap_or_else(|| bayes(d, variance, f64::EPSILON));
        return typed(py, bands, soft, by);
    }
    let message = "coefficients must be float32 or float64, and writable".to_owned();
    Err(raise(py, "InputError", message))
}

/// The sum of squares, several at a time.
#[inline(always)]
fn squares<S: Simd, T: Magnitude>(_: S, values: &[T]) -> f64 {
    let mut sums = [0.0; 16];
    let chunks = values.chunks_exact(sums.len());
    let rest: f64 = (chunks.remainder().iter())
        .map(|v| v.wide() * v.wide())
        .sum();
    for chunk in chunks {
        for (sum, v) in sums.iter_mut().zip(chunk) {
            *sum += v.wide() * v.wide();
        }
    }
    rest + sums.iter().sum::<f64>()
}

/// What a threshold leaves of a coefficient.
trait Left: Sized {
    /// Soft: nearer to zero by the threshold.
    fn nearer(self, threshold: Self) -> Self;
    /// Hard: itself or nothing.
    fn kept(self, threshold: Self) -> Self;
}

impl<T: Magnitude> Left for T {
    #[inline(always)]
    fn nearer(self, threshold: T) -> T {
        // Less what lies between minus and plus the threshold, without a branch.
        let above = if self < -threshold { -threshold } else { self };
        self - if above > threshold { threshold } else { above }
    }

    #[inline(always)]
    fn kept(self, threshold: T) -> T {
        if self >= threshold || -self >= threshold {
            self
        } else {
            T::default()
        }
    }
}
