//! Wavelet transforms of arrays.

use crate::error::{OrRaise, raise};
use crate::work::short;
use limpid::bank::{self, Bank, Grid, Real};
use limpid::wavelet::{Boundary, Wavelet};
use numpy::ndarray::Ix3;
use numpy::{Element, PyArray, PyArray3, PyArrayMethods, PyReadonlyArray3};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Names of all wavelets.
#[pyfunction]
pub(crate) fn wavelet_names() -> Vec<&'static str> {
    Wavelet::names().collect()
}

/// Filters in PyWavelets' order: low and high of analysis, low and high of synthesis.
#[pyfunction]
pub(crate) fn filters(py: Python<'_>, name: &str) -> PyResult<[Vec<f64>; 4]> {
    let wavelet = Wavelet::named(name).or_raise(py)?;
    let bank = wavelet.bank().clone();
    Ok([bank.dec_lo, bank.dec_hi, bank.rec_lo, bank.rec_hi])
}

/// Filters and border along one axis.
#[derive(FromPyObject)]
pub(crate) struct Axis(Vec<f64>, Vec<f64>, String);

impl Axis {
    pub(crate) fn bank<T: Real>(&self, py: Python<'_>) -> PyResult<Bank<T>> {
        let border: Boundary = self.2.parse().or_raise(py)?;
        if self.0.len() != self.1.len() || self.0.is_empty() || self.0.len() % 2 == 1 {
            let message = "filters must have one even length".to_owned();
            return Err(raise(py, "InputError", message));
        }
        Ok(Bank::new(&self.0, &self.1, border))
    }
}

/// A new array, whose memory NumPy takes from the system in large pages where it can.
pub(crate) fn empty<T: Element + Copy>(
    py: Python<'_>,
    shape: [usize; 3],
) -> Bound<'_, PyArray3<T>> {
    // SAFETY: plain numbers; all of them are written before the array is returned.
    unsafe { PyArray::new(py, shape, false) }
}

type Out<'py, T> = Bound<'py, PyArray<T, Ix3>>;

/// The numbers of a new array.
pub(crate) fn values<'a, T: Element + Copy>(array: &'a mut Out<'_, T>) -> PyResult<&'a mut [T]> {
    // SAFETY: the array was made here and has no other owner, and it is one block of memory.
    unsafe { Ok(array.as_slice_mut()?) }
}

/// Calls a function with the type of an array's numbers.
macro_rules! by_type {
    ($array:expr, $function:ident($($argument:expr),*)) => {
        if $array.extract::<PyReadonlyArray3<'_, f32>>().is_ok() {
            $function::<f32>($($argument),*)
        } else {
            $function::<f64>($($argument),*)
        }
    };
}

/// Bands `aa`, `da`, `ad`, `dd` of the last two axes of an array of three.
#[pyfunction]
pub(crate) fn dwt2<'py>(
    x: &Bound<'py, PyAny>,
    down: Axis,
    across: Axis,
) -> PyResult<Bound<'py, PyTuple>> {
    fn typed<'py, T: Real + Element>(
        x: &Bound<'py, PyAny>,
        down: &Axis,
        across: &Axis,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = x.py();
        let x: PyReadonlyArray3<'_, T> = x.extract()?;
        let (down, across) = (down.bank::<T>(py)?, across.bank::<T>(py)?);
        let [planes, height, width] = x.as_array().dim().into();
        let shape = [
            planes,
            down.coefficients(height),
            across.coefficients(width),
        ];
        let mut made = [(); 4].map(|()| empty::<T>(py, shape));
        let mut out = Vec::new();
        for array in &mut made {
            out.push(values(array)?);
        }
        let data = x.as_slice()?;
        let each = shape[1] * shape[2];
        short(py, || {
            let Ok([aa, da, ad, dd]) = <[&mut [T]; 4]>::try_from(out) else {
                return;
            };
            let bands = aa.chunks_mut(each).zip(da.chunks_mut(each));
            let bands = bands.zip(ad.chunks_mut(each).zip(dd.chunks_mut(each)));
            for (x, ((aa, da), (ad, dd))) in data.chunks(width * height).zip(bands) {
                let grid = Grid::dense(width, height);
                bank::split([&down, &across], x, grid, [aa, da, ad, dd]);
            }
        })?;
        PyTuple::new(py, made)
    }
    by_type!(x, typed(x, &down, &across))
}

/// The inverse of [`dwt2`]; bands that are `None` are zero.
#[pyfunction]
pub(crate) fn idwt2<'py>(
    py: Python<'py>,
    bands: [Option<Bound<'py, PyAny>>; 4],
    down: Axis,
    across: Axis,
) -> PyResult<Bound<'py, PyAny>> {
    fn typed<'py, T: Real + Element>(
        py: Python<'py>,
        bands: &[Option<Bound<'py, PyAny>>; 4],
        down: &Axis,
        across: &Axis,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arrays = typed_bands::<T, 4>(bands)?;
        let (down, across) = (down.bank::<T>(py)?, across.bank::<T>(py)?);
        let [planes, height, width] = one_shape(py, &arrays)?;
        let shape = [planes, down.samples(height), across.samples(width)];
        let mut made = empty::<T>(py, shape);
        let out = values(&mut made)?;
        let data = slices(&arrays)?;
        let each = (width * height).max(1);
        short(py, || {
            let planes = out.chunks_mut((shape[1] * shape[2]).max(1));
            for (i, out) in planes.enumerate() {
                let bands = data.map(|b| b.map(|b| &b[i * each..(i + 1) * each]));
                let grid = Grid::dense(shape[2], shape[1]);
                bank::join([&down, &across], bands, (width, height), out, grid);
            }
        })?;
        Ok(made.into_any())
    }
    let first = any_of(py, &bands)?;
    by_type!(first, typed(py, &bands, &down, &across))
}

type Band<'py, T> = Option<PyReadonlyArray3<'py, T>>;

fn typed_bands<'py, T: Element, const N: usize>(
    bands: &[Option<Bound<'py, PyAny>>; N],
) -> PyResult<[Band<'py, T>; N]> {
    let mut typed = [const { None }; N];
    for (to, from) in typed.iter_mut().zip(bands) {
        *to = from.as_ref().map(|b| b.extract()).transpose()?;
    }
    Ok(typed)
}

fn one_shape<T: Element, const N: usize>(
    py: Python<'_>,
    bands: &[Band<'_, T>; N],
) -> PyResult<[usize; 3]> {
    let mut shapes = bands
        .iter()
        .flatten()
        .map(|b| <[usize; 3]>::from(b.as_array().dim()));
    let first = shapes.next().unwrap_or_default();
    if shapes.any(|shape| shape != first) {
        let message = "all bands must have one shape".to_owned();
        return Err(raise(py, "InputError", message));
    }
    Ok(first)
}

fn slices<'a, T: Element, const N: usize>(
    bands: &'a [Band<'_, T>; N],
) -> PyResult<[Option<&'a [T]>; N]> {
    let mut all = [None; N];
    for (to, from) in all.iter_mut().zip(bands) {
        *to = from.as_ref().map(|b| b.as_slice()).transpose()?;
    }
    Ok(all)
}

/// Transforms along one axis: with half as many coefficients in each band, or undecimated with gaps of a step.
#[derive(Clone, Copy)]
enum Along {
    Decimated,
    Undecimated(usize),
}

/// Low and high coefficients along the middle axis of three.
#[pyfunction]
pub(crate) fn dwt<'py>(x: &Bound<'py, PyAny>, axis: Axis) -> PyResult<Bound<'py, PyTuple>> {
    by_type!(x, split(x, &axis, Along::Decimated))
}

/// Undecimated low and high coefficients along the middle axis of three, with gaps of `step`.
#[pyfunction]
pub(crate) fn swt<'py>(
    x: &Bound<'py, PyAny>,
    axis: Axis,
    step: usize,
) -> PyResult<Bound<'py, PyTuple>> {
    by_type!(x, split(x, &axis, Along::Undecimated(step)))
}

fn split<'py, T: Real + Element>(
    x: &Bound<'py, PyAny>,
    axis: &Axis,
    along: Along,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = x.py();
    let x: PyReadonlyArray3<'_, T> = x.extract()?;
    let bank = axis.bank::<T>(py)?;
    let [outer, n, inner] = x.as_array().dim().into();
    let count = match along {
        Along::Decimated => bank.coefficients(n),
        Along::Undecimated(_) => n,
    };
    let mut made = [(); 2].map(|()| empty::<T>(py, [outer, count, inner]));
    let [low, high] = &mut made;
    let (low, high) = (values(low)?, values(high)?);
    let data = x.as_slice()?;
    short(py, || match along {
        Along::Decimated => bank::forward(&bank, data, (n, inner), low, high),
        Along::Undecimated(step) => bank::spread(&bank, step, data, (n, inner), low, high),
    })?;
    PyTuple::new(py, made)
}

/// The inverse of [`dwt`]; a band that is `None` is zero.
#[pyfunction]
pub(crate) fn idwt<'py>(
    py: Python<'py>,
    bands: [Option<Bound<'py, PyAny>>; 2],
    axis: Axis,
) -> PyResult<Bound<'py, PyAny>> {
    let first = any_of(py, &bands)?;
    by_type!(first, join(py, &bands, &axis, Along::Decimated))
}

/// The inverse of [`swt`].
#[pyfunction]
pub(crate) fn iswt<'py>(
    py: Python<'py>,
    bands: [Option<Bound<'py, PyAny>>; 2],
    axis: Axis,
    step: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let first = any_of(py, &bands)?;
    by_type!(first, join(py, &bands, &axis, Along::Undecimated(step)))
}

fn join<'py, T: Real + Element>(
    py: Python<'py>,
    bands: &[Option<Bound<'py, PyAny>>; 2],
    axis: &Axis,
    along: Along,
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = typed_bands::<T, 2>(bands)?;
    let bank = axis.bank::<T>(py)?;
    let [outer, count, inner] = one_shape(py, &arrays)?;
    let n = match along {
        Along::Decimated => bank.samples(count),
        Along::Undecimated(_) => count,
    };
    let mut made = empty::<T>(py, [outer, n, inner]);
    let out = values(&mut made)?;
    let data = slices(&arrays)?;
    match (along, data) {
        (Along::Decimated, _) => {
            short(py, || bank::backward(&bank, data, (count, inner), out))?;
        }
        (Along::Undecimated(step), [Some(low), Some(high)]) => {
            short(py, || {
                bank::gather(&bank, step, [low, high], (n, inner), out);
            })?;
        }
        (Along::Undecimated(_), _) => {
            let message = "both bands must be given".to_owned();
            return Err(raise(py, "InputError", message));
        }
    }
    Ok(made.into_any())
}

/// A band that is there.
fn any_of<'a, 'py, const N: usize>(
    py: Python<'py>,
    bands: &'a [Option<Bound<'py, PyAny>>; N],
) -> PyResult<&'a Bound<'py, PyAny>> {
    let first = bands.iter().flatten().next();
    first.ok_or_else(|| {
        let message = "at least one band must be given".to_owned();
        raise(py, "InputError", message)
    })
}
