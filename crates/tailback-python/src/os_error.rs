//! Errors of the file system as Python exceptions.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// An error of the file system as the exception Python would raise for it.
pub fn os_error(py: Python, e: std::io::Error, path: Option<PathBuf>) -> PyErr {
    let e = system_error(e);
    let Some(code) = e.raw_os_error() else {
        return PyErr::from(e);
    };
    let text = py
        .import("os")
        .and_then(|os| os.getattr("strerror")?.call1((code,))?.extract::<String>());
    // OSError chooses its subclass, such as PermissionError, by the number.
    PyOSError::new_err((code, text.unwrap_or_else(|_| e.to_string()), path))
}

/// The error of the system inside an error of Arrow or Parquet, so that its number is not lost.
fn system_error(e: std::io::Error) -> std::io::Error {
    if e.raw_os_error().is_some() {
        return e;
    }
    let mut inner: Option<&(dyn std::error::Error + 'static)> = e.get_ref().map(|x| x as _);
    while let Some(cause) = inner {
        if let Some(code) = cause
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::raw_os_error)
        {
            return std::io::Error::from_raw_os_error(code);
        }
        inner = cause.source();
    }
    e
}
