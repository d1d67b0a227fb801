//! Renders of built-in scenes, as noisy input.

use crate::array::{self, Form};
use crate::work::work;
use limpid::Size;
use limpid_scenes::{BUILTIN, Render, RenderOptions, builtin};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Names of the built-in scenes, and what they show.
#[pyfunction]
pub(crate) fn scenes() -> Vec<(&'static str, &'static str)> {
    BUILTIN.to_vec()
}

/// Renders a built-in scene: all layers by name.
#[pyfunction]
#[pyo3(signature = (scene, size, spp, seed, frame, bounces, every, gradients, progress=None))]
#[expect(clippy::too_many_arguments, reason = "named in Python")]
pub(crate) fn render<'py>(
    py: Python<'py>,
    scene: &str,
    size: (usize, usize),
    spp: u32,
    seed: u64,
    frame: u32,
    bounces: usize,
    every: usize,
    gradients: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = RenderOptions {
        size: Size::new(size.0, size.1),
        samples: spp,
        seed,
        frame: u64::from(frame),
        bounces,
        every,
        gradients,
        ..RenderOptions::default()
    };
    let frame = work(py, progress, |watch| {
        let scene = builtin(scene, frame)?;
        let mut render = Render::new(&scene, &options)?;
        render.finish(watch)?;
        render.frame()
    })?;
    array::layers(py, frame, Form::PLAIN)
}
