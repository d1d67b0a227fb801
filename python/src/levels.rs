//! Many levels along an axis in one call, adjoints, and smoothing with gaps.

use crate::error::raise;
use crate::wavelets::{
    Bank, Number, along, any_of, by_type, fill, made, one_shape, read, slices, typed_bands,
    with_length,
};
use crate::work::quick;
use limpid::bank;
use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// The adjoint of one level of an array with `n` samples along the axis.
#[pyfunction]
pub(crate) fn dwt_adjoint<'py>(
    py: Python<'py>,
    bands: [Option<Bound<'py, PyAny>>; 2],
    axis: usize,
    bank: &Bank,
    n: usize,
) -> PyResult<Bound<'py, PyAny>> {
    fn typed<'py, T: Number>(
        py: Python<'py>,
        bands: &[Option<Bound<'py, PyAny>>; 2],
        axis: usize,
        bank: &Bank,
        n: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arrays = typed_bands::<T, 2>(bands)?;
        let bank = T::bank(bank);
        let shape = one_shape(py, &arrays)?;
        let [_, count, inner] = along(py, &shape, axis)?;
        if count != bank.coefficients(n) {
            let message = format!("{n} samples do not have {count} coefficients");
            return Err(raise(py, "InputError", message));
        }
        let mut all = made::<T>(py, &with_length(&shape, axis, n));
        let out = fill(&mut all)?;
        let data = slices(&arrays)?;
        quick(py, out.len(), || bank::adjoint(bank, data, (n, inner), out))?;
        Ok(all.into_any())
    }
    let first = any_of(py, &bands)?;
    by_type!(first, typed(py, &bands, axis, bank, n))
}

/// An array smoothed along an axis with gaps between the taps, mirrored at its ends.
#[pyfunction]
pub(crate) fn smooth<'py>(
    x: &Bound<'py, PyAny>,
    axis: usize,
    taps: Vec<f64>,
    step: usize,
) -> PyResult<Bound<'py, PyAny>> {
    fn typed<'py, T: Number>(
        x: &Bound<'py, PyAny>,
        axis: usize,
        taps: &[f64],
        step: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = x.py();
        let x = read::<T>(x)?;
        let [_, n, inner] = along(py, x.shape(), axis)?;
        let taps: Vec<T> = taps.iter().map(|t| T::of(*t)).collect();
        let mut all = made::<T>(py, x.shape());
        let out = fill(&mut all)?;
        let data = x.as_slice()?;
        quick(py, data.len(), || {
            bank::smooth(&taps, step, data, (n, inner), out);
        })?;
        Ok(all.into_any())
    }
    if taps.len().is_multiple_of(2) {
        let message = "an odd number of taps is needed".to_owned();
        return Err(raise(x.py(), "InputError", message));
    }
    by_type!(x, typed(x, axis, &taps, step))
}

/// Many levels along an axis: the low band, then the high ones, the coarsest first.
#[pyfunction]
pub(crate) fn wavedec<'py>(
    x: &Bound<'py, PyAny>,
    axis: usize,
    bank: &Bank,
    levels: usize,
) -> PyResult<Bound<'py, PyList>> {
    fn typed<'py, T: Number>(
        x: &Bound<'py, PyAny>,
        axis: usize,
        bank: &Bank,
        levels: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = x.py();
        let x = read::<T>(x)?;
        let bank = T::bank(bank);
        let [outer, n, inner] = along(py, x.shape(), axis)?;
        let mut lengths = vec![n];
        for level in 0..levels {
            lengths.push(bank.coefficients(lengths[level]));
        }
        let last = lengths[levels];
        let shape = |length| with_length(x.shape(), axis, length);
        let mut all: Vec<_> = (lengths.iter().skip(1).chain([&last]))
            .map(|l| made::<T>(py, &shape(*l)))
            .collect();
        let mut out = Vec::new();
        for array in &mut all {
            out.push(fill(array)?);
        }
        let data = x.as_slice()?;
        quick(py, data.len(), || {
            let Some((low, high)) = out.split_last_mut() else {
                return;
            };
            let mut now: Vec<T> = Vec::new();
            for (level, high) in high.iter_mut().enumerate() {
                let from = if level == 0 { data } else { &now };
                let size = (lengths[level], inner);
                if level + 1 == levels {
                    bank::forward(bank, from, size, low, high);
                    return;
                }
                let mut next = vec![T::default(); outer * lengths[level + 1] * inner];
                bank::forward(bank, from, size, &mut next, high);
                now = next;
            }
            low.copy_from_slice(data);
        })?;
        all.reverse();
        PyList::new(py, all)
    }
    by_type!(x, typed(x, axis, bank, levels))
}

/// The inverse of [`wavedec`]; `None` where the bands do not fit each other.
#[pyfunction]
pub(crate) fn waverec<'py>(
    py: Python<'py>,
    bands: Vec<Bound<'py, PyAny>>,
    axis: usize,
    bank: &Bank,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    fn typed<'py, T: Number>(
        py: Python<'py>,
        bands: &[Bound<'py, PyAny>],
        axis: usize,
        bank: &Bank,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let bank = T::bank(bank);
        let mut arrays = Vec::new();
        for band in bands {
            match read::<T>(band) {
                Ok(array) => arrays.push(array),
                Err(_) => return Ok(None),
            }
        }
        let Some((low, high)) = arrays.split_first() else {
            return Ok(None);
        };
        let [outer, first, inner] = along(py, low.shape(), axis)?;
        let mut have = first;
        for band in high {
            let Some(&n) = band.shape().get(axis) else {
                return Ok(None);
            };
            let fits = with_length(low.shape(), axis, n) == band.shape();
            if !fits || (have != n && have != n + 1) || bank.samples(n) == 0 {
                return Ok(None);
            }
            have = bank.samples(n);
        }
        let mut all = made::<T>(py, &with_length(low.shape(), axis, have));
        let out = fill(&mut all)?;
        let low = low.as_slice()?;
        let mut data = Vec::new();
        for band in high {
            data.push((band.as_slice()?, band.shape()[axis]));
        }
        // One sample too many of the first band cannot be left uncomputed, as the others' can.
        if data.first().is_none_or(|(_, n)| *n != first) {
            return Ok(None);
        }
        quick(py, out.len(), || {
            let mut now: Vec<T> = Vec::new();
            for (i, (band, count)) in data.iter().enumerate() {
                let from = if i == 0 { low } else { &now };
                let both = [Some(from), Some(*band)];
                match data.get(i + 1) {
                    None => bank::backward(bank, both, (*count, inner), out),
                    Some((_, n)) => {
                        let mut next = vec![T::default(); outer * n * inner];
                        bank::first_samples(bank, both, [*count, *n, inner], &mut next);
                        now = next;
                    }
                }
            }
        })?;
        Ok(Some(all.into_any()))
    }
    let Some(first) = bands.first() else {
        return Ok(None);
    };
    by_type!(first, typed(py, &bands, axis, bank))
}
