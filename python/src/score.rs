//! How far images are from a reference.

use crate::array::{self, Form};
use crate::error::OrRaise;
use crate::work::work;
use limpid::Image;
use limpid::metric::page::{self as pages, Item, Page};
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
    Ok(Options { space, exposure })
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
        let mut items = Vec::new();
        let item = |name: &str, image: &Image, found: Option<&Comparison>| Item {
            name: name.to_owned(),
            image: image.clone(),
            space: options.space,
            scores: found.map(|f| f.scores),
            map: found.map(|f| f.flip.picture()),
            seconds: None,
        };
        for (i, (name, image)) in named.iter().enumerate() {
            watch.go_on()?;
            watch.done(i as f32 / count);
            let found = metric::compare(image, &clean, &options)?;
            items.push(item(name, image, Some(&found)));
            all.push((name.clone(), found));
        }
        items.push(item(&reference.0, &clean, None));
        let exposures = all.first().and_then(|(_, found)| found.flip.exposures);
        let page = Page {
            title: reference.0.clone(),
            facts: pages::facts(clean.size(), exposures, &options),
            reference: Some(items.len() - 1),
            items,
        };
        page.write(&path)?;
        Ok(all)
    })?;
    let dict = PyDict::new(py);
    for (name, found) in &all {
        dict.set_item(name, facts(py, found)?)?;
    }
    Ok(dict)
}
