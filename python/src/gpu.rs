//! Arrays that stay on a GPU, and their transforms. Shapes are known in Python; here are numbers and plans.

use crate::error::{OrRaise, raise};
use crate::wavelets::Bank;
use limpid::arrays::{self, Part, Rows, Rule};
use limpid::exec::gpu::{Gpu, Recorder, Values};
use limpid::plan::Plan;
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// A GPU with plans that were prepared for it.
#[pyclass(frozen, module = "limpid._limpid")]
pub(crate) struct Place {
    gpu: Gpu,
    process: u32,
    kept: Mutex<Kept>,
}

/// The most recently used recorders.
#[derive(Default)]
struct Kept {
    all: HashMap<Vec<u64>, (u64, Arc<Recorder>)>,
    uses: u64,
}

/// Recorders that are kept: each has the tables of a plan.
const MOST: usize = 128;

/// Numbers on a GPU.
#[pyclass(frozen, module = "limpid._limpid")]
pub(crate) struct Numbers {
    values: Option<Values>,
    process: u32,
}

impl Drop for Numbers {
    fn drop(&mut self) {
        // After a fork the driver belongs to the parent.
        if std::process::id() != self.process {
            mem::forget(self.values.take());
        }
    }
}

#[pymethods]
impl Numbers {
    /// How many there are.
    fn __len__(&self) -> usize {
        self.values.as_ref().map_or(0, Values::count)
    }

    /// Copies them to an array.
    fn read_into(&self, py: Python<'_>, to: &Bound<'_, PyAny>) -> PyResult<()> {
        check_process(py, self.process)?;
        let mut to: PyReadwriteArray1<'_, f32> = to.extract()?;
        let to = to.as_slice_mut()?;
        match &self.values {
            Some(values) => py.detach(|| values.download(to)).or_raise(py),
            None => Ok(()),
        }
    }
}

fn check_process(py: Python<'_>, process: u32) -> PyResult<()> {
    if std::process::id() == process {
        return Ok(());
    }
    let message = "the array is on a GPU of the process that this one was forked from, and drivers do not survive a fork; use \
                   multiprocessing.get_context('spawn'), or pass array.numpy()";
    Err(raise(py, "DeviceError", message.to_owned()))
}

/// One of two parts: which input, its first number, its weight.
type Term = (usize, usize, f32);

/// An axis with its filters.
type Along<'py> = (usize, PyRef<'py, Bank>);

impl Place {
    pub(crate) fn new(gpu: Gpu) -> Self {
        Self {
            gpu,
            process: std::process::id(),
            kept: Mutex::default(),
        }
    }

    fn recorder(
        &self,
        key: Vec<u64>,
        plan: impl FnOnce() -> limpid::Result<Plan>,
    ) -> limpid::Result<Arc<Recorder>> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut kept = kept();
            kept.uses += 1;
            let now = kept.uses;
            if let Some((used, recorder)) = kept.all.get_mut(&key) {
                *used = now;
                return Ok(recorder.clone());
            }
        }
        let made = Arc::new(Recorder::new(&self.gpu, plan()?)?);
        let mut kept = kept();
        if kept.all.len() >= MOST {
            let oldest = kept.all.values().map(|(used, _)| *used).min();
            kept.all.retain(|_, (used, _)| Some(*used) != oldest);
        }
        let now = kept.uses;
        kept.all.insert(key, (now, made.clone()));
        Ok(made)
    }

    /// Runs a plan; the first `count` outputs.
    fn run(
        &self,
        py: Python<'_>,
        inputs: &[&Numbers],
        count: usize,
        key: Vec<u64>,
        plan: impl FnOnce() -> limpid::Result<Plan> + Send,
    ) -> PyResult<Vec<Numbers>> {
        check_process(py, self.process)?;
        let mut given = Vec::new();
        for numbers in inputs {
            check_process(py, numbers.process)?;
            given.extend(numbers.values.as_ref());
        }
        let made = py.detach(|| self.recorder(key, plan)?.apply(&given));
        let made = made.or_raise(py)?;
        let process = self.process;
        let wrapped = made.into_iter().take(count).map(|values| Numbers {
            values: Some(values),
            process,
        });
        Ok(wrapped.collect())
    }

    fn one(
        &self,
        py: Python<'_>,
        inputs: &[&Numbers],
        key: Vec<u64>,
        plan: impl FnOnce() -> limpid::Result<Plan> + Send,
    ) -> PyResult<Numbers> {
        let mut made = self.run(py, inputs, 1, key, plan)?;
        let none = || {
            let message = "a plan has no output".to_owned();
            raise(py, "InternalError", message)
        };
        made.pop().ok_or_else(none)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
            mem::forget(mem::take(kept));
            mem::forget(self.gpu.clone());
        }
    }
}

/// What a plan is for, and its shape.
fn key(what: u64, shape: &[usize]) -> Vec<u64> {
    let sides = shape.iter().map(|side| *side as u64);
    [what, shape.len() as u64]
        .into_iter()
        .chain(sides)
        .collect()
}

fn rows_of(
    axes: &[Along<'_>],
    shape: &[usize],
    rows: impl Fn(&limpid::bank::Bank<f64>, usize) -> Rows,
) -> Vec<(usize, Rows)> {
    let each = axes.iter().map(|(axis, bank)| {
        let n = shape.get(*axis).copied().unwrap_or(0);
        (*axis, rows(bank.double(), n))
    });
    each.collect()
}

fn axes_key(key: &mut Vec<u64>, axes: &[Along<'_>], step: usize) {
    key.push(step as u64);
    for (axis, bank) in axes {
        key.extend([*axis as u64, bank.number()]);
    }
}

#[pymethods]
impl Place {
    /// Name of the GPU.
    #[getter]
    fn name(&self) -> &str {
        self.gpu.name()
    }

    fn upload(&self, py: Python<'_>, numbers: &Bound<'_, PyAny>) -> PyResult<Numbers> {
        check_process(py, self.process)?;
        let numbers: PyReadonlyArray1<'_, f32> = numbers.extract()?;
        let numbers = numbers.as_slice()?;
        let made = py.detach(|| Values::upload(&self.gpu, numbers));
        Ok(Numbers {
            values: Some(made.or_raise(py)?),
            process: self.process,
        })
    }

    /// All bands of an array along some axes, the first axis slowest, low before high; undecimated with gaps of a step that is
    /// not 0.
    fn split(
        &self,
        py: Python<'_>,
        x: &Numbers,
        shape: Vec<usize>,
        axes: Vec<Along<'_>>,
        step: usize,
    ) -> PyResult<Vec<Numbers>> {
        let mut key = key(0, &shape);
        axes_key(&mut key, &axes, step);
        let rows = rows_of(&axes, &shape, |bank, n| match step {
            0 => bank.analysis_rows(n),
            step => bank.spread_rows(n, step),
        });
        let plan = || arrays::split(&shape, &rows);
        self.run(py, &[x], 1 << axes.len(), key, plan)
    }

    /// The inverse of `split`; bands of this shape, of which some may be `None`.
    fn join(
        &self,
        py: Python<'_>,
        bands: Vec<Option<PyRef<'_, Numbers>>>,
        shape: Vec<usize>,
        axes: Vec<Along<'_>>,
        step: usize,
    ) -> PyResult<Numbers> {
        let mut key = key(1, &shape);
        axes_key(&mut key, &axes, step);
        let given: Vec<bool> = bands.iter().map(Option::is_some).collect();
        key.extend(given.iter().map(|given| u64::from(*given)));
        let inputs: Vec<&Numbers> = bands.iter().flatten().map(|band| &**band).collect();
        let rows = rows_of(&axes, &shape, |bank, n| match step {
            0 => bank.synthesis_rows(n),
            step => bank.gather_rows(n, step),
        });
        let plan = || arrays::join(&shape, &rows, &given);
        self.one(py, &inputs, key, plan)
    }

    /// Samples along an axis, from which on and how many, mirrored beyond the ends.
    fn part(
        &self,
        py: Python<'_>,
        x: &Numbers,
        shape: Vec<usize>,
        axis: usize,
        range: (i64, usize),
    ) -> PyResult<Numbers> {
        let (start, count) = range;
        let mut key = key(2, &shape);
        key.extend([axis as u64, start as u64, count as u64]);
        let plan = || arrays::along(&shape, axis, &arrays::part(shape[axis], start, count));
        self.one(py, &[x], key, plan)
    }

    /// An array smoothed along an axis with gaps.
    fn smooth(
        &self,
        py: Python<'_>,
        x: &Numbers,
        shape: Vec<usize>,
        axis: usize,
        filter: (Vec<f64>, usize),
    ) -> PyResult<Numbers> {
        let (taps, step) = filter;
        let mut key = key(3, &shape);
        key.extend([axis as u64, step as u64]);
        key.extend(taps.iter().map(|tap| tap.to_bits()));
        let plan = || arrays::along(&shape, axis, &arrays::smoothed(&taps, shape[axis], step));
        self.one(py, &[x], key, plan)
    }

    /// Pieces of `count` numbers, each the weighted sum of two parts of the inputs.
    fn combine(
        &self,
        py: Python<'_>,
        inputs: Vec<PyRef<'_, Numbers>>,
        count: usize,
        pieces: Vec<(Term, Term)>,
    ) -> PyResult<Numbers> {
        let inputs: Vec<&Numbers> = inputs.iter().map(|numbers| &**numbers).collect();
        let lengths: Vec<usize> = inputs.iter().map(|numbers| numbers.__len__()).collect();
        let mut key = key(4, &lengths);
        key.push(count as u64);
        let part = |(of, at, by): Term| Part { of, at, by };
        let mut parts = Vec::new();
        for (a, b) in pieces {
            for (of, at, by) in [a, b] {
                key.extend([of as u64, at as u64, u64::from(by.to_bits())]);
            }
            parts.push([part(a), part(b)]);
        }
        let plan = || arrays::combined(&lengths, count, &parts);
        self.one(py, &inputs, key, plan)
    }

    /// Coefficients shrunk by a threshold, or by that of BayesShrink for a variance of the noise.
    #[pyo3(signature = (x, rule, complex, *, limit=None, substitute=0.0, variance=None))]
    #[expect(clippy::too_many_arguments, reason = "named in Python")]
    fn shrink(
        &self,
        py: Python<'_>,
        x: &Numbers,
        rule: &str,
        complex: bool,
        limit: Option<f32>,
        substitute: f32,
        variance: Option<f32>,
    ) -> PyResult<Numbers> {
        let (number, rule) = match rule {
            "hard" => (0, Rule::Hard),
            "garrote" => (1, Rule::Garrote),
            _ => (2, Rule::Soft),
        };
        let count = x.__len__() / if complex { 2 } else { 1 };
        let mut key = key(5, &[count]);
        let numbers = [limit, Some(substitute), variance];
        key.extend([number, u64::from(complex)]);
        key.extend(numbers.map(|v| v.map_or(u64::MAX, |v| u64::from(v.to_bits()))));
        let plan = || match (limit, variance) {
            (_, Some(variance)) => arrays::shrunk_by_band(count, complex, rule, variance),
            (limit, None) => {
                let limit = limit.unwrap_or(0.0);
                arrays::shrunk(count, complex, rule, (limit, substitute))
            }
        };
        self.one(py, &[x], key, plan)
    }
}
