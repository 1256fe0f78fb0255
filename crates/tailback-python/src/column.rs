//! One numeric column as a read-only buffer (PEP 3118), so that numpy reads the engine's memory without a copy.

use arrow_array::{Float64Array, UInt64Array};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

pub enum Numbers {
    Count(UInt64Array),
    Real(Float64Array),
}

/// Memory of one column; `numpy.asarray` of it is an array that shares it.
#[pyclass(frozen, module = "tailback._core")]
pub struct ColumnBuffer {
    numbers: Numbers,
    /// The number of rows, at an address to which the buffer protocol can point.
    shape: [ffi::Py_ssize_t; 1],
}

impl ColumnBuffer {
    pub fn new(numbers: Numbers) -> ColumnBuffer {
        let rows = match &numbers {
            Numbers::Count(a) => a.len(),
            Numbers::Real(a) => a.len(),
        };
        ColumnBuffer {
            numbers,
            shape: [rows as ffi::Py_ssize_t],
        }
    }
}

/// Every column has items of eight bytes.
static STRIDES: [ffi::Py_ssize_t; 1] = [8];

#[pymethods]
impl ColumnBuffer {
    unsafe fn __getbuffer__(slf: Bound<Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err(
                "results are read-only; copy the array to change it",
            ));
        }
        let this = slf.get();
        let (pointer, format): (*const c_void, &'static CStr) = match &this.numbers {
            Numbers::Count(a) => (a.values().as_ptr().cast(), c"Q"),
            Numbers::Real(a) => (a.values().as_ptr().cast(), c"d"),
        };
        let shape: *const ffi::Py_ssize_t = this.shape.as_ptr();
        // SAFETY: Python passes a view to fill. Data, shape, format and strides live as long as this object (or
        // forever), and the view holds a reference to it. No code writes through them: the view is read-only.
        unsafe {
            (*view).buf = pointer.cast_mut();
            (*view).len = this.shape[0] * 8;
            (*view).readonly = 1;
            (*view).itemsize = 8;
            (*view).format = if flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT {
                format.as_ptr().cast_mut()
            } else {
                null_mut()
            };
            (*view).ndim = 1;
            (*view).shape = if flags & ffi::PyBUF_ND == ffi::PyBUF_ND {
                shape.cast_mut()
            } else {
                null_mut()
            };
            (*view).strides = if flags & ffi::PyBUF_STRIDES == ffi::PyBUF_STRIDES {
                STRIDES.as_ptr().cast_mut()
            } else {
                null_mut()
            };
            (*view).suboffsets = null_mut();
            (*view).internal = null_mut();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }

    fn __len__(&self) -> usize {
        self.shape[0] as usize
    }
}
