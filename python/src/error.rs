//! Errors of the library as exceptions: the classes of `limpid._errors`, with the library's sentences.

use limpid::Error;
use pyo3::prelude::*;
use std::io::ErrorKind;

/// The exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error {
        Error::Option { .. } => "OptionError",
        Error::Unknown { .. } => "UnknownNameError",
        Error::Missing { .. } => "MissingLayerError",
        Error::Unsupported(_) => "UnsupportedError",
        Error::Device { .. } => "DeviceError",
        Error::Io { cause, .. } if cause.kind() == ErrorKind::NotFound => "NoFileError",
        Error::Io { .. } => "FileError",
        Error::Stopped => "StoppedError",
        _ => "InputError",
    };
    raise(py, class, error.to_string())
}

/// An exception of a class of `limpid._errors`.
pub(crate) fn raise(py: Python<'_>, class: &str, message: String) -> PyErr {
    let made = py
        .import("limpid._errors")
        .and_then(|module| module.getattr(class)?.call1((message,)));
    match made {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

/// The result of the library as a result for Python.
pub(crate) trait OrRaise<T> {
    /// Turns an error into an exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for limpid::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}
