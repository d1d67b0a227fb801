//! Wavelet transforms of arrays.

use crate::error::{OrRaise, raise};
use crate::work::quick;
use limpid::bank::{self, Grid, Real};
use limpid::wavelet::{Boundary, Wavelet};
use numpy::ndarray::{Ix3, IxDyn};
use numpy::{
    Element, PyArray, PyArray3, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods,
    PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

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
    pub(crate) fn bank<T: Real>(&self, py: Python<'_>) -> PyResult<bank::Bank<T>> {
        let border: Boundary = self.2.parse().or_raise(py)?;
        if self.0.len() != self.1.len() || self.0.is_empty() || self.0.len() % 2 == 1 {
            let message = "filters must have one even length".to_owned();
            return Err(raise(py, "InputError", message));
        }
        Ok(bank::Bank::new(&self.0, &self.1, border))
    }
}

/// Filters and border along one axis, in both precisions.
#[pyclass(frozen, module = "limpid._limpid")]
pub(crate) struct Bank {
    single: bank::Bank<f32>,
    double: bank::Bank<f64>,
    number: u64,
}

impl Bank {
    /// The bank in double precision.
    pub(crate) fn double(&self) -> &bank::Bank<f64> {
        &self.double
    }

    /// A number that no other bank has.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

#[pymethods]
impl Bank {
    #[new]
    fn new(py: Python<'_>, low: Vec<f64>, high: Vec<f64>, mode: String) -> PyResult<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let axis = Axis(low, high, mode);
        Ok(Self {
            single: axis.bank(py)?,
            double: axis.bank(py)?,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        })
    }
}

/// A number of an array.
pub(crate) trait Number: Real + Element {
    fn bank(bank: &Bank) -> &bank::Bank<Self>;
}

impl Number for f32 {
    fn bank(bank: &Bank) -> &bank::Bank<Self> {
        &bank.single
    }
}

impl Number for f64 {
    fn bank(bank: &Bank) -> &bank::Bank<Self> {
        &bank.double
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

/// The numbers of a new array.
pub(crate) fn values<'a, T: Element + Copy>(
    array: &'a mut Bound<'_, PyArray<T, Ix3>>,
) -> PyResult<&'a mut [T]> {
    // SAFETY: the array was made here and has no other owner, and it is one block of memory.
    unsafe { Ok(array.as_slice_mut()?) }
}

type Made<'py, T> = Bound<'py, PyArrayDyn<T>>;

/// A new array of any number of axes.
pub(crate) fn made<'py, T: Element + Copy>(py: Python<'py>, shape: &[usize]) -> Made<'py, T> {
    // SAFETY: plain numbers; all of them are written before the array is returned.
    unsafe { PyArray::new(py, IxDyn(shape), false) }
}

/// The numbers of a new array.
pub(crate) fn fill<'a, T: Element + Copy>(array: &'a mut Made<'_, T>) -> PyResult<&'a mut [T]> {
    // SAFETY: the array was made here and has no other owner, and it is one block of memory.
    unsafe { Ok(array.as_slice_mut()?) }
}

/// The numbers of an array, copied where they do not lie side by side.
pub(crate) fn read<'py, T: Element>(x: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let array: PyReadonlyArrayDyn<'py, T> = x.extract()?;
    let aligned = array.data().align_offset(align_of::<T>()) == 0;
    if array.is_c_contiguous() && aligned {
        return Ok(array);
    }
    let copy = x.call_method1("copy", ("C",))?;
    copy.extract()
}

/// Whether an array is of single precision; all others are of double.
pub(crate) fn single(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    let array: &Bound<'_, PyUntypedArray> = x.cast()?;
    Ok(array.dtype().itemsize() == 4)
}

/// Calls a function with the type of an array's numbers.
macro_rules! by_type {
    ($array:expr, $function:ident($($argument:expr),*)) => {
        if $crate::wavelets::single($array)? {
            $function::<f32>($($argument),*)
        } else {
            $function::<f64>($($argument),*)
        }
    };
}
pub(crate) use by_type;

/// An array seen along an axis: what is before it, itself, what is after it.
pub(crate) fn along(py: Python<'_>, shape: &[usize], axis: usize) -> PyResult<[usize; 3]> {
    if axis >= shape.len() {
        let message = format!("an array of shape {shape:?} has no axis {axis}");
        return Err(raise(py, "InputError", message));
    }
    let (before, after) = (&shape[..axis], &shape[axis + 1..]);
    Ok([before.iter().product(), shape[axis], after.iter().product()])
}

/// A shape with another length along an axis.
pub(crate) fn with_length(shape: &[usize], axis: usize, length: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape[axis] = length;
    shape
}

/// Bands `aa`, `da`, `ad`, `dd` of the last two axes of an array.
#[pyfunction]
pub(crate) fn dwt2<'py>(
    x: &Bound<'py, PyAny>,
    down: &Bank,
    across: &Bank,
) -> PyResult<Bound<'py, PyTuple>> {
    fn typed<'py, T: Number>(
        x: &Bound<'py, PyAny>,
        down: &Bank,
        across: &Bank,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = x.py();
        let x = read::<T>(x)?;
        let (down, across) = (T::bank(down), T::bank(across));
        let (mut shape, height, width) = plane(py, x.shape())?;
        let (h, w) = (down.coefficients(height), across.coefficients(width));
        shape.extend([h, w]);
        let mut all = [(); 4].map(|()| made::<T>(py, &shape));
        let mut out = Vec::new();
        for array in &mut all {
            out.push(fill(array)?);
        }
        let (data, each) = (x.as_slice()?, h * w);
        let work = |(x, ((aa, da), (ad, dd))): (&[T], Pairs<'_, T>)| {
            let grid = Grid::dense(width, height);
            bank::split([down, across], x, grid, [aa, da, ad, dd]);
        };
        quick(py, data.len().max(4 * out[0].len()), || {
            let Ok([aa, da, ad, dd]) = <[&mut [T]; 4]>::try_from(out) else {
                return;
            };
            if data.is_empty() {
                return;
            }
            let pixels = width * height;
            if data.len() > pixels && data.len() >= bank::SMALL {
                let bands = aa.par_chunks_mut(each).zip(da.par_chunks_mut(each));
                let bands = bands.zip(ad.par_chunks_mut(each).zip(dd.par_chunks_mut(each)));
                data.par_chunks(pixels).zip(bands).for_each(work);
            } else {
                let bands = aa.chunks_mut(each).zip(da.chunks_mut(each));
                let bands = bands.zip(ad.chunks_mut(each).zip(dd.chunks_mut(each)));
                data.chunks(pixels).zip(bands).for_each(work);
            }
        })?;
        PyTuple::new(py, all)
    }
    by_type!(x, typed(x, down, across))
}

/// Four bands of a plane.
type Pairs<'a, T> = ((&'a mut [T], &'a mut [T]), (&'a mut [T], &'a mut [T]));

/// The shape without its last two axes, and those.
fn plane(py: Python<'_>, shape: &[usize]) -> PyResult<(Vec<usize>, usize, usize)> {
    match shape {
        [rest @ .., height, width] => Ok((rest.to_vec(), *height, *width)),
        _ => {
            let message = "an array of two axes or more is needed".to_owned();
            Err(raise(py, "InputError", message))
        }
    }
}

/// The inverse of [`dwt2`]; bands that are `None` are zero.
#[pyfunction]
pub(crate) fn idwt2<'py>(
    py: Python<'py>,
    bands: [Option<Bound<'py, PyAny>>; 4],
    down: &Bank,
    across: &Bank,
) -> PyResult<Bound<'py, PyAny>> {
    fn typed<'py, T: Number>(
        py: Python<'py>,
        bands: &[Option<Bound<'py, PyAny>>; 4],
        down: &Bank,
        across: &Bank,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arrays = typed_bands::<T, 4>(bands)?;
        let (down, across) = (T::bank(down), T::bank(across));
        let (mut shape, height, width) = plane(py, &one_shape(py, &arrays)?)?;
        let (h, w) = (down.samples(height), across.samples(width));
        shape.extend([h, w]);
        let mut all = made::<T>(py, &shape);
        let out = fill(&mut all)?;
        let data = slices(&arrays)?;
        let (each, pixels) = (width * height, h * w);
        let work = |(i, out): (usize, &mut [T])| {
            let bands = data.map(|b| b.map(|b| &b[i * each..(i + 1) * each]));
            bank::join(
                [down, across],
                bands,
                (width, height),
                out,
                Grid::dense(w, h),
            );
        };
        quick(py, out.len(), || {
            if out.is_empty() {
            } else if out.len() > pixels && out.len() >= bank::SMALL {
                out.par_chunks_mut(pixels).enumerate().for_each(work);
            } else {
                out.chunks_mut(pixels).enumerate().for_each(work);
            }
        })?;
        Ok(all.into_any())
    }
    let first = any_of(py, &bands)?;
    by_type!(first, typed(py, &bands, down, across))
}

pub(crate) type Band<'py, T> = Option<PyReadonlyArrayDyn<'py, T>>;

pub(crate) fn typed_bands<'py, T: Element, const N: usize>(
    bands: &[Option<Bound<'py, PyAny>>; N],
) -> PyResult<[Band<'py, T>; N]> {
    let mut typed = [const { None }; N];
    for (to, from) in typed.iter_mut().zip(bands) {
        *to = from.as_ref().map(read).transpose()?;
    }
    Ok(typed)
}

pub(crate) fn one_shape<T: Element, const N: usize>(
    py: Python<'_>,
    bands: &[Band<'_, T>; N],
) -> PyResult<Vec<usize>> {
    let mut shapes = bands.iter().flatten().map(|b| b.shape());
    let first = shapes.next().unwrap_or_default();
    if shapes.any(|shape| shape != first) {
        let message = "all bands must have one shape".to_owned();
        return Err(raise(py, "InputError", message));
    }
    Ok(first.to_vec())
}

pub(crate) fn slices<'a, T: Element, const N: usize>(
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

/// Low and high coefficients along an axis.
#[pyfunction]
pub(crate) fn dwt<'py>(
    x: &Bound<'py, PyAny>,
    axis: usize,
    bank: &Bank,
) -> PyResult<Bound<'py, PyTuple>> {
    by_type!(x, split(x, axis, bank, Along::Decimated))
}

/// Undecimated low and high coefficients along an axis, with gaps of `step`.
#[pyfunction]
pub(crate) fn swt<'py>(
    x: &Bound<'py, PyAny>,
    axis: usize,
    bank: &Bank,
    step: usize,
) -> PyResult<Bound<'py, PyTuple>> {
    by_type!(x, split(x, axis, bank, Along::Undecimated(step)))
}

fn split<'py, T: Number>(
    x: &Bound<'py, PyAny>,
    axis: usize,
    bank: &Bank,
    how: Along,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = x.py();
    let x = read::<T>(x)?;
    let bank = T::bank(bank);
    let [_, n, inner] = along(py, x.shape(), axis)?;
    let count = match how {
        Along::Decimated => bank.coefficients(n),
        Along::Undecimated(_) => n,
    };
    let shape = with_length(x.shape(), axis, count);
    let mut all = [(); 2].map(|()| made::<T>(py, &shape));
    let [low, high] = &mut all;
    let (low, high) = (fill(low)?, fill(high)?);
    let data = x.as_slice()?;
    quick(py, data.len(), || match how {
        Along::Decimated => bank::forward(bank, data, (n, inner), low, high),
        Along::Undecimated(step) => bank::spread(bank, step, data, (n, inner), low, high),
    })?;
    PyTuple::new(py, all)
}

/// The inverse of [`dwt`]; a band that is `None` is zero.
#[pyfunction]
pub(crate) fn idwt<'py>(
    py: Python<'py>,
    bands: [Option<Bound<'py, PyAny>>; 2],
    axis: usize,
    bank: &Bank,
) -> PyResult<Bound<'py, PyAny>> {
    let first = any_of(py, &bands)?;
    by_type!(first, join(py, &bands, axis, bank, Along::Decimated))
}

/// The inverse of [`swt`].
#[pyfunction]
pub(crate) fn iswt<'py>(
    py: Python<'py>,
    bands: [Option<Bound<'py, PyAny>>; 2],
    axis: usize,
    bank: &Bank,
    step: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let first = any_of(py, &bands)?;
    let how = Along::Undecimated(step);
    by_type!(first, join(py, &bands, axis, bank, how))
}

fn join<'py, T: Number>(
    py: Python<'py>,
    bands: &[Option<Bound<'py, PyAny>>; 2],
    axis: usize,
    bank: &Bank,
    how: Along,
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = typed_bands::<T, 2>(bands)?;
    let bank = T::bank(bank);
    let shape = one_shape(py, &arrays)?;
    let [_, count, inner] = along(py, &shape, axis)?;
    let n = match how {
        Along::Decimated => bank.samples(count),
        Along::Undecimated(_) => count,
    };
    let mut all = made::<T>(py, &with_length(&shape, axis, n));
    let out = fill(&mut all)?;
    let data = slices(&arrays)?;
    match (how, data) {
        (Along::Decimated, _) => quick(py, out.len(), || {
            bank::backward(bank, data, (count, inner), out);
        })?,
        (Along::Undecimated(step), [Some(low), Some(high)]) => quick(py, out.len(), || {
            bank::gather(bank, step, [low, high], (n, inner), out);
        })?,
        (Along::Undecimated(_), _) => {
            let message = "both bands must be given".to_owned();
            return Err(raise(py, "InputError", message));
        }
    }
    Ok(all.into_any())
}

/// A band that is there.
pub(crate) fn any_of<'a, 'py, const N: usize>(
    py: Python<'py>,
    bands: &'a [Option<Bound<'py, PyAny>>; N],
) -> PyResult<&'a Bound<'py, PyAny>> {
    let first = bands.iter().flatten().next();
    first.ok_or_else(|| {
        let message = "at least one band must be given".to_owned();
        raise(py, "InputError", message)
    })
}
