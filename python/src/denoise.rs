//! Methods and devices.

use crate::array::{self, Form};
use crate::error::{OrRaise, raise};
use crate::gpu::Place;
use crate::work::work;
use limpid::method::{Auto, Entry, Method, Use};
use limpid::noise::Profile;
use limpid::{Denoiser, FittedPlan, Frame, Options, Sequence, Watch};
use limpid_lab::methods as listed;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A device that was opened.
#[pyclass(frozen, module = "limpid._limpid")]
pub(crate) struct Device(limpid::Device, Mutex<Option<Py<Place>>>);

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (name="auto", threads=None))]
    fn new(py: Python<'_>, name: &str, threads: Option<usize>) -> PyResult<Self> {
        if threads == Some(0) {
            return Err(limpid::Error::option("threads", 0, "at least 1")).or_raise(py);
        }
        let opened = py.detach(|| limpid::Device::open_with(name, threads, false));
        let opened = opened.or_raise(py)?;
        Ok(Self(opened, Mutex::new(None)))
    }

    /// Its display name.
    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    /// `cpu` or `gpu`.
    #[getter]
    fn kind(&self) -> String {
        self.0.backend().to_string()
    }

    /// Where arrays are kept; the CPU has no such place.
    #[getter]
    fn place(&self, py: Python<'_>) -> PyResult<Option<Py<Place>>> {
        let limpid::Device::Gpu(gpu) = &self.0 else {
            return Ok(None);
        };
        let mut place = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        if place.is_none() {
            *place = Some(Py::new(py, Place::new(gpu.clone()))?);
        }
        Ok(place.as_ref().map(|place| place.clone_ref(py)))
    }

    /// How often something was copied to the device, and from it.
    #[getter]
    fn transfers(&self) -> (u64, u64) {
        match &self.0 {
            limpid::Device::Gpu(gpu) => gpu.transfers(),
            limpid::Device::Cpu(_) => (0, 0),
        }
    }

    fn __repr__(&self) -> String {
        format!("<limpid.Device {}>", self.0.name())
    }
}

/// The devices of this machine, in words: the CPU, and GPUs with the names that open them.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Vec<String>> {
    let found = py.detach(|| {
        let mut all = vec![limpid::Device::open_with("cpu", None, false)?.name()];
        for adapter in limpid::exec::gpu::Adapter::all()? {
            all.push(format!("gpu:{} ({})", adapter.index, adapter.info.name));
        }
        limpid::Result::Ok(all)
    });
    found.or_raise(py)
}

/// A method with its options on a device; history between frames lives here.
#[pyclass(frozen, module = "limpid._limpid")]
pub(crate) struct Engine {
    device: limpid::Device,
    options: Options,
    sequence: Mutex<Sequence>,
}

fn entry(name: &str) -> limpid::Result<&'static Entry> {
    match name.split_once(':') {
        Some(_) => limpid_lab::entry(name),
        None => {
            let denoising = || listed().filter(|e| e.used == Use::Denoise);
            let found = denoising().find(|e| e.name == name);
            let names = || std::iter::once("auto").chain(denoising().map(|e| e.name));
            found.ok_or_else(|| limpid::Error::unknown("method", name, names()))
        }
    }
}

fn method(name: &str, sequence: bool, linear: bool) -> limpid::Result<Box<dyn Method>> {
    let auto = match sequence {
        true => Auto::sequence(),
        false => Auto::default(),
    };
    Ok(match name {
        "auto" if linear => Box::new(auto.scene_linear()),
        "auto" => Box::new(auto),
        name => (entry(name)?.make)(),
    })
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (method_name, device, options, *, sequence=false, linear=false, strength=1.0, tile=None, schedule=None))]
    #[expect(clippy::too_many_arguments, reason = "named in Python")]
    fn new(
        py: Python<'_>,
        method_name: &str,
        device: &Device,
        options: Vec<(String, String)>,
        sequence: bool,
        linear: bool,
        strength: f32,
        tile: Option<usize>,
        schedule: Option<&str>,
    ) -> PyResult<Self> {
        let mut method = method(method_name, sequence, linear).or_raise(py)?;
        let given = options.iter().map(|(name, value)| (&**name, &**value));
        method.set_all(given).or_raise(py)?;
        let mut options = Options::of(method);
        if !(0.0..=1.0).contains(&strength) {
            return Err(limpid::Error::option("strength", strength, "0 … 1")).or_raise(py);
        }
        options.strength = strength;
        options.tile = tile;
        if let Some(name) = schedule {
            options.schedule = name.into();
            if method_name != "auto" {
                let found = options
                    .schedule
                    .look_up(options.method.as_ref(), device.0.backend());
                found.or_raise(py)?;
            }
        }
        Ok(Self {
            device: device.0.clone(),
            sequence: Mutex::new(Sequence::new(&device.0, &options)),
            options,
        })
    }

    /// Runs on the next frame.
    #[pyo3(signature = (layers, kind, planar, progress=None, every=1))]
    fn run<'py>(
        &self,
        layers: &Bound<'py, PyDict>,
        kind: &str,
        planar: bool,
        progress: Option<Py<PyAny>>,
        every: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = layers.py();
        let frame = array::frame(layers, every)?;
        let mut sequence = self.free(py)?;
        let sequence = &mut *sequence;
        let made = work(py, progress, |watch| sequence.run(&frame, watch))?;
        array::layers(py, made, Form { kind, planar })
    }

    /// Takes the next frame of a film, or the end of it; gives the results that are complete, which may be of frames before.
    #[pyo3(signature = (layers, kind, planar, progress=None, every=1))]
    #[expect(clippy::too_many_arguments, reason = "named in Python")]
    fn push<'py>(
        &self,
        py: Python<'py>,
        layers: Option<&Bound<'py, PyDict>>,
        kind: &str,
        planar: bool,
        progress: Option<Py<PyAny>>,
        every: usize,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let frame = layers.map(|layers| array::frame(layers, every));
        let frame = frame.transpose()?;
        let mut sequence = self.free(py)?;
        let sequence = &mut *sequence;
        let made = work(py, progress, |watch| match &frame {
            Some(frame) => sequence.push(frame, watch),
            None => sequence.finish(watch),
        })?;
        let form = Form { kind, planar };
        let made = made.into_iter().map(|made| array::layers(py, made, form));
        made.collect()
    }

    /// Runs on a part of a larger frame: numbers of the whole frame are taken from `whole`.
    #[pyo3(signature = (layers, whole, kind, planar, progress=None))]
    fn run_part<'py>(
        &self,
        layers: &Bound<'py, PyDict>,
        whole: &Bound<'py, PyDict>,
        kind: &str,
        planar: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = layers.py();
        let (frame, whole) = (array::frame(layers, 1)?, array::frame(whole, 1)?);
        let made = work(py, progress, |watch| self.part(&frame, &whole, watch))?;
        array::layers(py, made, Form { kind, planar })
    }

    /// Forgets history.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        *self.free(py)? = Sequence::new(&self.device, &self.options);
        Ok(())
    }

    /// The method that was chosen for the last frame, and what it measured in it.
    fn summary(&self) -> (String, Option<String>) {
        let sequence = self.sequence.lock().unwrap_or_else(PoisonError::into_inner);
        let method = sequence.method();
        (method.name().to_owned(), method.summary())
    }

    /// How far a pixel of the result depends on pixels of such a frame (None: on the whole frame or on frames before it), to
    /// what parts must be aligned, and the plan as text.
    fn plan(&self, layers: &Bound<'_, PyDict>) -> PyResult<(Option<usize>, usize, String)> {
        let py = layers.py();
        let frame = array::frame(layers, 1)?;
        let plan = work(py, None, |_| {
            let options = self.prepared(&frame)?;
            Ok(FittedPlan::new(self.device.limits(), &frame.shape(), &options)?.plan)
        })?;
        Ok((plan.reach(), plan.align(), plan.to_string()))
    }
}

impl Engine {
    /// The sequence. One that another thread uses is not waited for with the interpreter's lock in hand.
    fn free(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Sequence>> {
        match self.sequence.try_lock() {
            Ok(sequence) => Ok(sequence),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                let message = "another thread is using this denoiser; give each thread its own";
                Err(raise(py, "InputError", message.to_owned()))
            }
        }
    }

    fn prepared(&self, whole: &Frame) -> limpid::Result<Options> {
        let mut options = self.options.clone();
        options.method = options.method.prepared(&whole.mend()?.frame)?;
        Ok(options)
    }

    fn part(&self, frame: &Frame, whole: &Frame, watch: &Watch) -> limpid::Result<Frame> {
        let options = self.prepared(whole)?;
        let frame = frame.mend()?.frame;
        let mut denoiser = Denoiser::new(&self.device, &frame.shape(), &options)?;
        denoiser.run_watched(&frame, watch)
    }
}

/// All methods: path, what they are for, and their options as (name, about, default, form).
#[pyfunction]
pub(crate) fn methods(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let all = PyList::empty(py);
    let auto = Auto::default();
    let add = |path: String, about: &str, method: &dyn Method| -> PyResult<()> {
        let options: Vec<(String, &str, String, &str)> = method
            .named_options()
            .into_iter()
            .map(|k| (k.name, k.about, k.value, k.form))
            .collect();
        all.append((path, about, options))
    };
    let about = "The method that the layers of the image suggest";
    add("auto".to_owned(), about, &auto)?;
    for entry in listed() {
        add(entry.path(), entry.about, (entry.make)().as_ref())?;
    }
    Ok(all)
}

/// The noise of an image, as JSON.
#[pyfunction]
pub(crate) fn profile(image: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = image.py();
    let image = array::image("image", image)?;
    work(py, None, |_| Ok(Profile::estimate(&image).to_json()))
}
