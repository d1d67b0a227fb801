//! Continuous transforms: lines filtered by long filters, directly or by Fourier transforms.

use crate::wavelets::{Number, by_type, fill, made, read};
use crate::work::{quick, short};
use limpid::bank::{self, Filters};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{FftNum, FftPlanner};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

/// A filter as Python gives it: real parts, imaginary parts or none, and where the first tap reads.
#[derive(FromPyObject)]
pub(crate) struct Taps<'py>(
    PyReadonlyArray1<'py, f64>,
    Option<PyReadonlyArray1<'py, f64>>,
    usize,
);

/// Numbers whose Fourier transforms are planned once for each length: there are few, because lengths are powers of two or three times one.
trait Planned: FftNum {
    /// Works with the planner, or with a new one while another thread has it: that thread may not exist any more after a fork.
    fn plan<R>(work: impl FnOnce(&mut FftPlanner<Self>) -> R) -> R;
}

macro_rules! planned {
    ($kind:ty) => {
        impl Planned for $kind {
            fn plan<R>(work: impl FnOnce(&mut FftPlanner<Self>) -> R) -> R {
                static PLANNER: LazyLock<Mutex<FftPlanner<$kind>>> =
                    LazyLock::new(|| Mutex::new(FftPlanner::new()));
                match PLANNER.try_lock() {
                    Ok(mut planner) => work(&mut planner),
                    Err(_) => work(&mut FftPlanner::new()),
                }
            }
        }
    };
}

planned!(f32);
planned!(f64);

/// Lines of the last axis filtered by each filter. Complex results are pairs along another axis.
#[pyfunction]
pub(crate) fn filter_lines<'py>(
    x: &Bound<'py, PyAny>,
    filters: Vec<Taps<'py>>,
    fourier: bool,
) -> PyResult<Bound<'py, PyAny>> {
    fn typed<'py, T: Number + Planned>(
        x: &Bound<'py, PyAny>,
        filters: &[Taps<'py>],
        fourier: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = x.py();
        let x = read::<T>(x)?;
        let of = |values: &[f64]| values.iter().map(|v| T::of(*v)).collect();
        let filter = |Taps(real, imaginary, shift): &Taps<'py>| {
            Ok(Filters {
                real: of(real.as_slice()?),
                imaginary: match imaginary {
                    Some(values) => of(values.as_slice()?),
                    None => Vec::new(),
                },
                shift: *shift,
            })
        };
        let filters: Vec<Filters<T>> = filters.iter().map(filter).collect::<PyResult<_>>()?;
        let complex = filters.iter().any(|f| !f.imaginary.is_empty());
        let mut shape = vec![filters.len()];
        shape.extend(x.shape());
        if complex {
            shape.push(2);
        }
        let n = x.shape().last().copied().unwrap_or_default();
        let mut all = made::<T>(py, &shape);
        let out = fill(&mut all)?;
        let data = x.as_slice()?;
        if fourier {
            short(py, || by_fourier(&filters, data, n, complex, out))?;
        } else {
            let taps: usize = filters.iter().map(|f| f.real.len()).sum();
            quick(py, taps * data.len(), || {
                bank::filter(&filters, data, n, out);
            })?;
        }
        Ok(all.into_any())
    }
    by_type!(x, typed(x, &filters, fourier))
}

/// The smallest length from `least` on whose only factors are 2 and one 3.
fn fast_length(least: usize) -> usize {
    let two = least.next_power_of_two();
    if two >= 4 && two / 4 * 3 >= least {
        two / 4 * 3
    } else {
        two
    }
}

/// The same as [`bank::filter`], by products of Fourier transforms. Two real filters are done as one complex one.
fn by_fourier<T: Number + Planned>(
    filters: &[Filters<T>],
    x: &[T],
    n: usize,
    complex: bool,
    out: &mut [T],
) {
    if x.is_empty() || out.is_empty() {
        return;
    }
    let lines = x.len() / n;
    let at_once = if complex { 1 } else { 2 };
    let groups: Vec<&[Filters<T>]> = filters.chunks(at_once).collect();
    let length = |group: &[Filters<T>]| {
        let taps = group.iter().map(|f| f.real.len()).max();
        fast_length(n + taps.unwrap_or_default())
    };
    let mut spectra = HashMap::new();
    for group in &groups {
        spectra.entry(length(group)).or_insert_with_key(|length| {
            let (forward, inverse) = T::plan(|planner| {
                let forward = planner.plan_fft_forward(*length);
                (forward, planner.plan_fft_inverse(*length))
            });
            let scale = T::of(1.0 / *length as f64);
            let of: Vec<Vec<Complex<T>>> = x
                .par_chunks(n)
                .map(|line| {
                    let mut padded: Vec<_> = line.iter().map(|v| (*v * scale).into()).collect();
                    padded.resize(*length, Complex::default());
                    forward.process(&mut padded);
                    padded
                })
                .collect();
            (forward, inverse, of)
        });
    }
    let values = if complex { 2 } else { 1 };
    let pieces = out.par_chunks_mut(at_once * lines * values * n);
    pieces.zip(&groups).for_each(|(out, group)| {
        let length = length(group);
        let (forward, inverse, lines_of) = &spectra[&length];
        let mut taps = vec![Complex::default(); length];
        let (first, second) = (&group[0], group.get(1));
        for (to, v) in taps.iter_mut().zip(&first.real) {
            to.re = *v;
        }
        let imaginary = second.map_or(&first.imaginary, |s| &s.real);
        for (to, v) in taps.iter_mut().zip(imaginary) {
            to.im = *v;
        }
        forward.process(&mut taps);
        let mut made = taps.clone();
        for (i, line) in lines_of.iter().enumerate() {
            for (to, (a, b)) in made.iter_mut().zip(taps.iter().zip(line)) {
                *to = *a * *b;
            }
            inverse.process(&mut made);
            if complex {
                let out = &mut out[2 * i * n..][..2 * n];
                for (to, v) in out.chunks_exact_mut(2).zip(&made[first.shift..]) {
                    (to[0], to[1]) = (v.re, v.im);
                }
                continue;
            }
            for (to, v) in out[i * n..][..n].iter_mut().zip(&made[first.shift..]) {
                *to = v.re;
            }
            if let Some(second) = second {
                let out = &mut out[(lines + i) * n..][..n];
                for (to, v) in out.iter_mut().zip(&made[second.shift..]) {
                    *to = v.im;
                }
            }
        }
    });
}
