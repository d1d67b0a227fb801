//! Files ↔ arrays.

use crate::array::{self, Form};
use crate::error::{OrRaise, raise};
use crate::work::work;
use limpid::io::{self, Bits, Compression, ReadOptions, Sample, Transfer, WriteOptions};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;

/// Where a frame came from: everything of the file that must survive.
#[pyclass(frozen, module = "limpid._limpid")]
pub(crate) struct Origin(io::Origin);

#[pymethods]
impl Origin {
    /// The file's format.
    #[getter]
    fn format(&self) -> String {
        self.0.format().to_string()
    }

    /// A text attribute of the file.
    fn text(&self, name: &str) -> Option<String> {
        self.0.text(name)
    }
}

fn transfer_name(transfer: Transfer) -> &'static str {
    match transfer {
        Transfer::Linear => "linear",
        Transfer::Encoded => "encoded",
    }
}

/// What a frame's colour is, by name.
pub(crate) fn transfer(py: Python<'_>, name: &str) -> PyResult<Transfer> {
    match name {
        "linear" => Ok(Transfer::Linear),
        "encoded" => Ok(Transfer::Encoded),
        other => Err(limpid::Error::unknown(
            "transfer",
            other,
            ["linear", "encoded"],
        ))
        .or_raise(py),
    }
}

/// Layers, origin, transfer, notes and sampling of a file.
type Read<'py> = (Bound<'py, PyDict>, Origin, &'static str, Vec<String>, usize);

/// Reads a file.
#[pyfunction]
pub(crate) fn read(
    py: Python<'_>,
    path: PathBuf,
    layers: Vec<String>,
    flatten: bool,
) -> PyResult<Read<'_>> {
    let mut options = ReadOptions::default();
    options.flatten = flatten;
    for layer in &layers {
        options = options.layer(layer).or_raise(py)?;
    }
    let picture = work(py, None, |_| io::read(&path, &options))?;
    parts(py, picture)
}

fn parts(py: Python<'_>, picture: io::Picture) -> PyResult<Read<'_>> {
    let every = picture.frame.sample_spacing();
    Ok((
        array::layers(py, picture.frame, Form::PLAIN)?,
        Origin(picture.origin.clone()),
        transfer_name(picture.origin.transfer()),
        picture.notes,
        every,
    ))
}

/// Reads all pages of a file.
#[pyfunction]
pub(crate) fn read_pages(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Read<'_>>> {
    let options = ReadOptions::default();
    let pictures = work(py, None, |watch| {
        let Some(mut pages) = io::Pages::open(&path, &options)? else {
            return Ok(vec![io::read(&path, &options)?]);
        };
        let mut all = Vec::with_capacity(pages.count());
        for page in 0..pages.count() {
            watch.check()?;
            all.push(pages.read(page, &options)?);
        }
        Ok(all)
    })?;
    pictures.into_iter().map(|p| parts(py, p)).collect()
}

/// Writes a file of several pages, whole or not at all; gives notes.
#[pyfunction]
pub(crate) fn write_pages(
    py: Python<'_>,
    path: PathBuf,
    pages: Vec<(Bound<'_, PyDict>, Option<PyRef<'_, Origin>>)>,
    how: WriteArgs,
) -> PyResult<Vec<String>> {
    let options = how.options(py)?;
    let mut writer = io::PageWriter::default();
    let mut notes = Vec::new();
    for (layers, origin) in pages {
        let frame = array::frame(&layers, 1)?;
        let origin = origin.as_ref().map(|origin| &origin.0);
        notes.extend(work(py, None, |_| writer.push(&frame, origin, &options))?);
    }
    work(py, None, |_| writer.write(&path))?;
    notes.sort();
    notes.dedup();
    Ok(notes)
}

/// How a file is written, as Python says it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct WriteArgs {
    transfer: Option<String>,
    bits: Option<u8>,
    quality: Option<u8>,
    sample: Option<String>,
    compression: Option<String>,
    texts: Vec<(String, String)>,
}

impl WriteArgs {
    fn options(&self, py: Python<'_>) -> PyResult<WriteOptions> {
        let wrong = |name: &str, value: &dyn ToString, expected: &str| {
            let error = limpid::Error::option(name, value.to_string(), expected);
            Err(raise(py, "OptionError", error.to_string()))
        };
        let mut options = WriteOptions::default();
        options.texts.clone_from(&self.texts);
        if let Some(name) = &self.transfer {
            options.transfer = Some(transfer(py, name)?);
        }
        options.bits = match self.bits {
            None => None,
            Some(8) => Some(Bits::Eight),
            Some(16) => Some(Bits::Sixteen),
            Some(other) => return wrong("bits", &other, "8 or 16"),
        };
        options.quality = match self.quality {
            Some(q) if !(1..=100).contains(&q) => return wrong("quality", &q, "1 … 100"),
            other => other,
        };
        options.sample = match self.sample.as_deref() {
            None => None,
            Some("half") => Some(Sample::Half),
            Some("float") => Some(Sample::Float),
            Some(other) => return wrong("sample", &other, "half or float"),
        };
        let named = self.compression.as_deref().map(str::parse::<Compression>);
        options.compression = named.transpose().or_raise(py)?;
        Ok(options)
    }
}

/// Writes a file, whole or not at all; gives notes.
#[pyfunction]
pub(crate) fn write(
    py: Python<'_>,
    path: PathBuf,
    layers: &Bound<'_, PyDict>,
    origin: Option<&Origin>,
    how: WriteArgs,
) -> PyResult<Vec<String>> {
    // A wrong extension is reported before anything else.
    io::Format::from_path(&path).or_raise(py)?;
    let options = how.options(py)?;
    let frame = array::frame(layers, 1)?;
    work(py, None, |_| {
        io::write(&path, &frame, origin.map(|o| &o.0), &options)
    })
}

/// A picture for a screen, as the bytes of a PNG file.
#[pyfunction]
pub(crate) fn png<'py>(
    py: Python<'py>,
    image: &Bound<'py, PyAny>,
    from: &str,
    exposure: f32,
) -> PyResult<Bound<'py, PyBytes>> {
    let image = array::image("image", image)?;
    let linear = transfer(py, from)? == Transfer::Linear;
    let bytes = work(py, None, |_| {
        let shown = match linear {
            true => limpid::metric::display(&image, exposure),
            false => image,
        };
        let mut options = WriteOptions::default();
        options.bits = Some(Bits::Eight);
        options.transfer = Some(Transfer::Encoded);
        io::encode(io::Format::Png, &limpid::Frame::new(shown)?, &options)
    })?;
    Ok(PyBytes::new(py, &bytes))
}
