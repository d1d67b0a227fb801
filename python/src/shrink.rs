//! Shrinkage of wavelet coefficients: transform, thresholds and inverse in one call.

use crate::wavelets::{Axis, empty, values};
use crate::work::short;
use fearless_simd::{Simd, dispatch};
use limpid::bank::{self, Bank, Grid, LEVEL, Real};
use numpy::{Element, PyReadonlyArray3, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::mem;
use std::sync::{Mutex, PoisonError};

/// Values for each piece of work.
const PIECE: usize = 1 << 15;

/// The bits of a magnitude: in the order of the magnitudes.
trait Magnitude: Real + Element + bytemuck::Pod {
    fn magnitude(self) -> u64;
    fn from_magnitude(bits: u64) -> f64;
    fn wide(self) -> f64;
    /// Bits of a magnitude.
    const WIDTH: u32;
    /// The spacing of numbers near 1.
    const EPSILON: f64;
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
    const EPSILON: f64 = f32::EPSILON as f64;
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
    const EPSILON: f64 = Self::EPSILON;
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

/// How coefficients are shrunk.
#[derive(Clone, Copy)]
struct Rule {
    soft: bool,
    /// The threshold is this times the noise's deviation; none is BayesShrink, a threshold for each band.
    factor: Option<f64>,
}

impl Rule {
    /// Shrinks a band, for this deviation of the noise.
    fn apply<T: Magnitude>(self, band: &mut [T], sigma: f64) {
        let t = match self.factor {
            Some(factor) => T::of(factor * sigma),
            None => T::of(bayes(band, sigma * sigma)),
        };
        band.par_chunks_mut(PIECE).for_each(|part| match self.soft {
            true => part.iter_mut().for_each(|v| *v = (*v).nearer(t)),
            false => part.iter_mut().for_each(|v| *v = (*v).kept(t)),
        });
    }
}

/// BayesShrink: the noise's variance over the signal's deviation.
fn bayes<T: Magnitude>(band: &[T], variance: f64) -> f64 {
    let sums: Vec<f64> = band
        .par_chunks(PIECE)
        .map(|part| dispatch!(*LEVEL, simd => squares(simd, part)))
        .collect();
    let mean = sums.iter().sum::<f64>() / band.len().max(1) as f64;
    variance / (mean - variance).max(T::EPSILON).sqrt()
}

/// Memory for coefficients, kept for the next call: mapping fresh memory takes longer than the transform.
static SPARE: Mutex<Vec<f64>> = Mutex::new(Vec::new());

/// The most that is kept, in numbers: 64 MiB.
const SPARE_MOST: usize = 8 << 20;

fn spare(length: usize) -> Vec<f64> {
    let kept = mem::take(&mut *SPARE.lock().unwrap_or_else(PoisonError::into_inner));
    match kept.len() >= length {
        true => kept,
        false => vec![0.0; length],
    }
}

fn keep(room: Vec<f64>) {
    if room.len() <= SPARE_MOST {
        *SPARE.lock().unwrap_or_else(PoisonError::into_inner) = room;
    }
}

/// One level of coefficients.
struct Level<'a, T> {
    width: usize,
    height: usize,
    bands: [&'a mut [T]; 4],
}

/// Banks of a transform and its inverse, and the number of levels.
struct Transform<T> {
    forward: Bank<T>,
    inverse: Bank<T>,
    levels: usize,
}

impl<T: Magnitude> Transform<T> {
    /// Sides of the bands of all levels, the finest first.
    fn sizes(&self, grid: Grid) -> impl Iterator<Item = (usize, usize)> {
        let next = |(w, h): (usize, usize)| {
            let bank = &self.forward;
            (bank.coefficients(w), bank.coefficients(h))
        };
        let first = next((grid.width, grid.height));
        std::iter::successors(Some(first), move |size| Some(next(*size))).take(self.levels)
    }

    /// A plane with its coefficients shrunk; without a deviation of the noise, that of the finest diagonal band.
    fn shrink(&self, rule: Rule, sigma: Option<f64>, x: &[T], out: &mut [T], grid: Grid) {
        let total: usize = self.sizes(grid).map(|(w, h)| 4 * w * h).sum();
        let mut room = spare((total * size_of::<T>()).div_ceil(size_of::<f64>()));
        let mut free: &mut [T] = bytemuck::cast_slice_mut(&mut room);
        let mut levels: Vec<Level<'_, T>> = Vec::new();
        for (width, height) in self.sizes(grid) {
            let mut bands = [(); 4].map(|()| {
                let (band, rest) = mem::take(&mut free).split_at_mut(width * height);
                free = rest;
                band
            });
            let (x, from) = match levels.last() {
                Some(finer) => (&*finer.bands[0], Grid::dense(finer.width, finer.height)),
                None => (x, grid),
            };
            bank::split(
                [&self.forward; 2],
                x,
                from,
                bands.each_mut().map(|b| &mut **b),
            );
            levels.push(Level {
                width,
                height,
                bands,
            });
        }
        let sigma = sigma.or_else(|| {
            let finest = levels.first()?;
            Some(median(finest.bands[3])? / NORMAL_MEDIAN)
        });
        for level in &mut levels {
            for band in &mut level.bands[1..] {
                rule.apply(band, sigma.unwrap_or(f64::NAN));
            }
        }
        for i in (0..levels.len()).rev() {
            let (finer, level) = levels.split_at_mut(i);
            let bands = level[0].bands.each_ref().map(|b| Some(&**b));
            let size = (level[0].width, level[0].height);
            let (out, grid) = match finer.last_mut() {
                Some(f) => (&mut *f.bands[0], Grid::dense(f.width, f.height)),
                None => (&mut *out, grid),
            };
            bank::join([&self.inverse; 2], bands, size, out, grid);
        }
        if levels.is_empty() {
            out.copy_from_slice(x);
        }
        keep(room);
    }
}

/// The median magnitude of a normal distribution of deviation 1.
const NORMAL_MEDIAN: f64 = 0.674_489_750_196_081_7;

/// An image of `height × width × channels` with its wavelet coefficients shrunk, `soft` or `hard`: by `factor` times the noise's
/// deviation, or by BayesShrink. Deviations, one for each channel, are measured where they are not given.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "a row of plain numbers, called in one place"
)]
pub(crate) fn denoise_wavelet<'py>(
    image: &Bound<'py, PyAny>,
    forward: Axis,
    inverse: Axis,
    levels: usize,
    soft: bool,
    factor: Option<f64>,
    sigmas: Vec<Option<f64>>,
) -> PyResult<Bound<'py, PyAny>> {
    fn typed<'py, T: Magnitude>(
        image: &Bound<'py, PyAny>,
        [forward, inverse]: [Axis; 2],
        levels: usize,
        rule: Rule,
        sigmas: &[Option<f64>],
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = image.py();
        let image: PyReadonlyArray3<'_, T> = image.extract()?;
        let transform = Transform::<T> {
            forward: forward.bank(py)?,
            inverse: inverse.bank(py)?,
            levels,
        };
        let [height, width, channels] = image.as_array().dim().into();
        let grid = Grid {
            width,
            height,
            stride: width * channels,
            step: channels,
        };
        let mut made = empty::<T>(py, [height, width, channels]);
        let out = values(&mut made)?;
        let x = image.as_slice()?;
        short(py, || {
            for (c, sigma) in sigmas.iter().enumerate().take(channels) {
                transform.shrink(rule, *sigma, &x[c..], &mut out[c..], grid);
            }
        })?;
        Ok(made.into_any())
    }
    let rule = Rule { soft, factor };
    let axes = [forward, inverse];
    if image.extract::<PyReadonlyArray3<'_, f32>>().is_ok() {
        typed::<f32>(image, axes, levels, rule, &sigmas)
    } else {
        typed::<f64>(image, axes, levels, rule, &sigmas)
    }
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
