//! One level of wavelet packets: all nodes of a level are entries of one array, and so are the parts of them.
//!
//! The array of the parts is the caller's: all levels of a tree share one block of memory.

use crate::error::raise;
use crate::wavelets::{Bank, Number, by_type, read};
use crate::work::quick;
use limpid::bank::{self, Grid};
use numpy::{PyReadwriteArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;

/// Low and high coefficients of the last axis of each entry along the first axis, as two entries of one array.
#[pyfunction]
pub(crate) fn parts<'py>(
    x: &Bound<'py, PyAny>,
    bank: &Bank,
    out: &Bound<'py, PyAny>,
) -> PyResult<()> {
    fn typed<'py, T: Number>(
        x: &Bound<'py, PyAny>,
        bank: &Bank,
        out: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let py = x.py();
        let x = read::<T>(x)?;
        let bank = T::bank(bank);
        let [nodes, rest @ .., n] = x.shape() else {
            return Err(few_axes(py));
        };
        let (rows, count) = (rest.iter().product::<usize>(), bank.coefficients(*n));
        let mut all = given::<T>(out, &[&[2 * nodes], rest, &[count]].concat())?;
        let (out, data) = (all.as_slice_mut()?, x.as_slice()?);
        let work = |(x, out): (&[T], &mut [T])| {
            let (low, high) = out.split_at_mut(rows * count);
            bank::forward(bank, x, (*n, 1), low, high);
        };
        each(py, (data, rows * n), (out, 2 * rows * count), work)
    }
    by_type!(x, typed(x, bank, out))
}

/// Bands `aa`, `da`, `ad`, `dd` of the last two axes of each entry along the first axis, as four entries of one array.
#[pyfunction]
pub(crate) fn parts2<'py>(
    x: &Bound<'py, PyAny>,
    down: &Bank,
    across: &Bank,
    out: &Bound<'py, PyAny>,
) -> PyResult<()> {
    fn typed<'py, T: Number>(
        x: &Bound<'py, PyAny>,
        down: &Bank,
        across: &Bank,
        out: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let py = x.py();
        let x = read::<T>(x)?;
        let banks = [T::bank(down), T::bank(across)];
        let [nodes, rest @ .., height, width] = x.shape() else {
            return Err(few_axes(py));
        };
        let (h, w) = (
            banks[0].coefficients(*height),
            banks[1].coefficients(*width),
        );
        let mut all = given::<T>(out, &[&[4 * nodes], rest, &[h, w]].concat())?;
        let (out, data) = (all.as_slice_mut()?, x.as_slice()?);
        let (pixels, band) = (height * width, h * w);
        let planes: usize = rest.iter().product();
        let work = |(x, out): (&[T], &mut [T])| {
            let mut parts = out.chunks_mut((planes * band).max(1));
            let [aa, da, ad, dd] = std::array::from_fn(|_| parts.next().unwrap_or_default());
            let bands = aa.chunks_mut(band).zip(da.chunks_mut(band));
            let bands = bands.zip(ad.chunks_mut(band).zip(dd.chunks_mut(band)));
            for (x, ((aa, da), (ad, dd))) in x.chunks(pixels).zip(bands) {
                bank::split(banks, x, Grid::dense(*width, *height), [aa, da, ad, dd]);
            }
        };
        each(py, (data, planes * pixels), (out, 4 * planes * band), work)
    }
    by_type!(x, typed(x, down, across, out))
}

/// The array for the parts, which must have this shape.
fn given<'py, T: Number>(
    out: &Bound<'py, PyAny>,
    shape: &[usize],
) -> PyResult<PyReadwriteArrayDyn<'py, T>> {
    let array: PyReadwriteArrayDyn<'py, T> = out.extract()?;
    if array.shape() != shape {
        let message = format!("an array of {:?} for parts of {shape:?}", array.shape());
        return Err(raise(out.py(), "InputError", message));
    }
    Ok(array)
}

fn few_axes(py: Python<'_>) -> PyErr {
    let message = "an axis of entries and those of the transform are needed".to_owned();
    raise(py, "InputError", message)
}

/// Works on the entries one by one, on all threads where there is much to do.
fn each<T: Number>(
    py: Python<'_>,
    (data, from): (&[T], usize),
    (out, to): (&mut [T], usize),
    work: impl Fn((&[T], &mut [T])) + Sync + Send,
) -> PyResult<()> {
    quick(py, data.len().max(out.len()), || {
        if data.is_empty() || out.is_empty() {
        } else if data.len() > from && data.len() >= bank::SMALL {
            let entries = data.par_chunks(from).zip(out.par_chunks_mut(to));
            entries.for_each(work);
        } else {
            data.chunks(from).zip(out.chunks_mut(to)).for_each(work);
        }
    })
}
