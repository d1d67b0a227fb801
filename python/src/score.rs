//! How far images are from a reference.

use crate::array::{self, Form};
use crate::error::OrRaise;
use crate::work::work;
use limpid::metric::page::{self as pages, Compared};
use limpid::metric::{self, Comparison, Options, Space};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

fn options(py: Python<'_>, space: &str, exposure: f32) -> PyResult<Options> {
    let space = match space {
        "linear" => Space::Linear,
        "display" => Space::Display,
        other => {
            return Err(limpid::Error::unknown(
                "space",
                other,
                ["linear", "display"],
            ))
            .or_raise(py);
        }
    };
    Ok(Options::new(space).exposed(exposure))
}

fn facts<'py>(py: Python<'py>, found: &Comparison) -> PyResult<Bound<'py, PyDict>> {
    let scores = found.scores;
    let dict = PyDict::new(py);
    for (name, value) in [
        ("mse", scores.mse),
        ("relmse", scores.relmse),
        ("rmse_vicini", scores.rmse_vicini),
        ("psnr", scores.psnr),
        ("ssim", scores.ssim),
        ("flip", scores.flip),
    ] {
        dict.set_item(name, value)?;
    }
    dict.set_item("missing", found.missing)?;
    dict.set_item("missing_in_reference", found.missing_in_reference)?;
    Ok(dict)
}

/// The scores, and if asked for the picture of FLIP errors.
#[pyfunction]
pub(crate) fn compare<'py>(
    image: &Bound<'py, PyAny>,
    reference: &Bound<'py, PyAny>,
    space: &str,
    exposure: f32,
    picture: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let py = image.py();
    let options = options(py, space, exposure)?;
    let (a, b) = (
        array::image("image", image)?,
        array::image("reference", reference)?,
    );
    let found = work(py, None, |_| metric::compare(&a, &b, &options))?;
    let dict = facts(py, &found)?;
    if picture {
        let map = array::array(py, found.flip.picture(), Form::PLAIN)?;
        dict.set_item("flip_picture", map)?;
    }
    Ok(dict)
}

/// Writes a page to look at; gives the scores by name.
#[pyfunction]
pub(crate) fn page<'py>(
    py: Python<'py>,
    images: Vec<(String, Bound<'py, PyAny>)>,
    reference: (String, Bound<'py, PyAny>),
    path: PathBuf,
    space: &str,
    exposure: f32,
) -> PyResult<Bound<'py, PyDict>> {
    let options = options(py, space, exposure)?;
    let clean = array::image(&reference.0, &reference.1)?;
    let named = images.iter().map(|(name, image)| {
        let image = array::image(name, image)?;
        PyResult::Ok((name.clone(), image))
    });
    let named = named.collect::<PyResult<Vec<_>>>()?;
    let all = work(py, None, |watch| {
        let count = named.len() as f32;
        let mut all = Vec::new();
        for (i, (name, image)) in named.iter().enumerate() {
            watch.check()?;
            watch.done(i as f32 / count);
            all.push(Compared {
                name: name.clone(),
                comparison: metric::compare(image, &clean, &options)?,
                shown: Some(pages::shown(image, &options)),
            });
        }
        let shown = pages::shown(&clean, &options);
        pages::write(&path, &reference.0, &shown, &all, &options)?;
        Ok(all)
    })?;
    let dict = PyDict::new(py);
    for compared in &all {
        dict.set_item(&compared.name, facts(py, &compared.comparison)?)?;
    }
    Ok(dict)
}
