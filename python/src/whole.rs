//! The reversible 5/3 transform of whole numbers along one axis, as in JPEG 2000: `d = x₁ - ⌊(x₀ + x₂) / 2⌋`,
//! `s = x₀ + ⌊(d₋₁ + d₀ + 2) / 4⌋`, mirrored at both ends. Sums go around where they do not fit, in both directions alike.

use crate::error::raise;
use crate::wavelets::{along, fill, made, read, with_length};
use crate::work::quick;
use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use rayon::prelude::*;

/// Rows for each piece of work.
const ROWS: usize = 16;

/// `⌊(a + b) / 2⌋`, without the sum, which might not fit.
fn mean(a: i32, b: i32) -> i32 {
    (a & b).wrapping_add((a ^ b) >> 1)
}

fn update(a: i32, b: i32) -> i32 {
    ((i64::from(a) + i64::from(b) + 2) >> 2) as i32
}

/// Calls a function for rows of `inner` values, with their number, on all threads where there are many.
fn rows(out: &mut [i32], inner: usize, work: impl Fn(usize, &mut [i32]) + Sync) {
    let piece = |(p, rows): (usize, &mut [i32])| {
        for (i, row) in rows.chunks_mut(inner).enumerate() {
            work(p * ROWS + i, row);
        }
    };
    if out.len() < limpid::bank::SMALL {
        out.chunks_mut(ROWS * inner).enumerate().for_each(piece);
    } else {
        out.par_chunks_mut(ROWS * inner).enumerate().for_each(piece);
    }
}

/// Low and high numbers of lines of `n` samples with `inner` values each.
fn split(x: &[i32], (n, inner): (usize, usize), low: &mut [i32], high: &mut [i32]) {
    let (lows, highs) = (n.div_ceil(2), n / 2);
    if n == 1 || x.is_empty() {
        return low.copy_from_slice(x);
    }
    let row = |line: usize, i: usize| &x[(line * n + i) * inner..][..inner];
    rows(high, inner, |r, out| {
        let (line, i) = (r / highs, r % highs);
        // The sample after the last is the one before it.
        let next = if 2 * i + 2 < n { 2 * i + 2 } else { 2 * i };
        let around = row(line, 2 * i).iter().zip(row(line, next));
        for ((to, x), (a, b)) in out.iter_mut().zip(row(line, 2 * i + 1)).zip(around) {
            *to = x.wrapping_sub(mean(*a, *b));
        }
    });
    let high = &*high;
    let detail = |line: usize, i: usize| &high[(line * highs + i) * inner..][..inner];
    rows(low, inner, |r, out| {
        let (line, i) = (r / lows, r % lows);
        let (before, after) = (i.saturating_sub(1), i.min(highs - 1));
        let around = detail(line, before).iter().zip(detail(line, after));
        for ((to, x), (a, b)) in out.iter_mut().zip(row(line, 2 * i)).zip(around) {
            *to = x.wrapping_add(update(*a, *b));
        }
    });
}

/// The inverse of [`split`].
fn join(low: &[i32], high: &[i32], (n, inner): (usize, usize), out: &mut [i32]) {
    let (lows, highs) = (n.div_ceil(2), n / 2);
    if n == 1 || out.is_empty() {
        return out.copy_from_slice(low);
    }
    let detail = |line: usize, i: usize| &high[(line * highs + i) * inner..][..inner];
    // Even samples first, in their own memory, because odd ones need those around them.
    let mut even = vec![0; low.len()];
    rows(&mut even, inner, |r, out| {
        let (line, i) = (r / lows, r % lows);
        let (before, after) = (i.saturating_sub(1), i.min(highs - 1));
        let around = detail(line, before).iter().zip(detail(line, after));
        for ((to, s), (a, b)) in out.iter_mut().zip(&low[r * inner..][..inner]).zip(around) {
            *to = s.wrapping_sub(update(*a, *b));
        }
    });
    let sample = |line: usize, i: usize| &even[(line * lows + i) * inner..][..inner];
    rows(out, inner, |r, out| {
        let (line, i) = (r / n, r % n);
        if i % 2 == 0 {
            return out.copy_from_slice(sample(line, i / 2));
        }
        let next = (i / 2 + 1).min(lows - 1);
        let around = sample(line, i / 2).iter().zip(sample(line, next));
        for ((to, d), (a, b)) in out.iter_mut().zip(detail(line, i / 2)).zip(around) {
            *to = d.wrapping_add(mean(*a, *b));
        }
    });
}

/// Low and high numbers of an array of `int32` along an axis.
#[pyfunction]
pub(crate) fn split53<'py>(
    x: &Bound<'py, PyAny>,
    axis: usize,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = x.py();
    let x = read::<i32>(x)?;
    let [_, n, inner] = along(py, x.shape(), axis)?;
    let mut low = made::<i32>(py, &with_length(x.shape(), axis, n.div_ceil(2)));
    let mut high = made::<i32>(py, &with_length(x.shape(), axis, n / 2));
    let (a, b, data) = (fill(&mut low)?, fill(&mut high)?, x.as_slice()?);
    quick(py, data.len(), || split(data, (n, inner), a, b))?;
    Ok((low.into_any(), high.into_any()))
}

/// The inverse of [`split53`].
#[pyfunction]
pub(crate) fn join53<'py>(
    low: &Bound<'py, PyAny>,
    high: &Bound<'py, PyAny>,
    axis: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = low.py();
    let (low, high) = (read::<i32>(low)?, read::<i32>(high)?);
    let [_, lows, inner] = along(py, low.shape(), axis)?;
    let highs = high.shape().get(axis).copied().unwrap_or_default();
    if with_length(low.shape(), axis, highs) != high.shape() || lows < highs || lows > highs + 1 {
        let message = format!(
            "bands of {:?} and {:?} do not fit",
            low.shape(),
            high.shape()
        );
        return Err(raise(py, "InputError", message));
    }
    let n = lows + highs;
    let mut all = made::<i32>(py, &with_length(low.shape(), axis, n));
    let (out, a, b) = (fill(&mut all)?, low.as_slice()?, high.as_slice()?);
    quick(py, out.len(), || join(a, b, (n, inner), out))?;
    Ok(all.into_any())
}
